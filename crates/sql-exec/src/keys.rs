//! Search keys: from the values of an access path to ranges of encoded keys.
//!
//! A value that the column cannot hold exactly cannot be a key. For whole numbers the answer is then known (no row, or no bound);
//! for anything else the whole index is read in the same direction and the condition checked on every row.

use engine::{KeyBound, LockWait, ReadMode, Table};
use types::keyenc::{KeyPart, NOT_NULL_MARK, NULL_MARK};
use types::{DataType, SqlError, ValueRef};

pub(crate) use super::union::KeyRange;
use super::union::union;
use sql_expr::{EvalCtx, Expr, Node, RowSource, Val, as_column_value};
use sql_parser::ast;
use sql_plan::plan::{Access, Beginning, Block, KeyExpr, LockSpec, RangeAccess};

/// What an access path comes to for the values at hand.
pub(crate) enum Ranges {
    /// These ranges, in the direction of the scan.
    Some(Vec<KeyRange>),
    /// Everything, checking the conditions the access would imply.
    Inexact,
}

/// Whether a value could be put into a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// It is there.
    Exact,
    /// NULL, which equals nothing.
    Null,
    /// A whole number above everything the column holds.
    Above,
    /// A whole number below everything the column holds.
    Below,
    /// A whole-number column is compared with a value that is none, or something else that has to be looked at.
    No,
}

/// Appends a value as a key part.
#[inline]
pub(crate) fn append(
    part: &KeyPart,
    key: &KeyExpr,
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
    out: &mut Vec<u8>,
) -> Result<Fit, SqlError> {
    let v = key.expr.eval(cx, row)?;
    if v.is_null() {
        if key.null_safe && part.nullable {
            part.encode(ValueRef::Null, out);
            return Ok(Fit::Exact);
        }
        return Ok(Fit::Null);
    }
    if let DataType::Int {
        width, unsigned, ..
    } = &part.ty
    {
        let n = match v {
            Val::Int(i) => Some(i128::from(i)),
            Val::Uint(u) => Some(i128::from(u)),
            _ => None,
        };
        if let Some(n) = n {
            let (min, max) = if *unsigned {
                (0, i128::from(width.unsigned_max()))
            } else {
                let (a, b) = width.signed_range();
                (i128::from(a), i128::from(b))
            };
            if n < min {
                return Ok(Fit::Below);
            }
            if n > max {
                return Ok(Fit::Above);
            }
            let v = if *unsigned {
                ValueRef::UInt(n as u64)
            } else {
                ValueRef::Int(n as i64)
            };
            part.encode(v, out);
            return Ok(Fit::Exact);
        }
    }
    match as_column_value(&v, &key.expr.ty, &part.ty, cx) {
        Some(v) => {
            part.encode(v.as_ref(), out);
            Ok(Fit::Exact)
        }
        None => Ok(Fit::No),
    }
}

/// Encodes a full clustered key; `Exact` where it is one.
pub(crate) fn point(
    table: &Table,
    keys: &[KeyExpr],
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
    out: &mut Vec<u8>,
) -> Result<Fit, SqlError> {
    out.clear();
    for (part, k) in table.key_parts(0).iter().zip(keys) {
        match append(part, k, cx, row, out)? {
            Fit::Exact => {}
            // Equality with what the column cannot hold finds nothing.
            Fit::Above | Fit::Below => return Ok(Fit::Null),
            other => return Ok(other),
        }
    }
    Ok(Fit::Exact)
}

/// The ranges of an access path.
pub(crate) fn ranges(
    table: &Table,
    access: &Access,
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
) -> Result<Ranges, SqlError> {
    match access {
        Access::Nothing => Ok(Ranges::Some(Vec::new())),
        Access::Full { .. } => Ok(Ranges::Some(vec![(KeyBound::None, KeyBound::None)])),
        Access::Get(keys) => {
            let mut key = Vec::new();
            Ok(match point(table, keys, cx, row, &mut key)? {
                Fit::Exact => Ranges::Some(vec![equal(key)]),
                Fit::No => Ranges::Inexact,
                _ => Ranges::Some(Vec::new()),
            })
        }
        Access::Range(r) => index_ranges(table, r, cx, row),
        // Its parts are of several indexes: see `parts`.
        Access::Union(_) => Ok(Ranges::Inexact),
    }
}

fn equal(key: Vec<u8>) -> KeyRange {
    (KeyBound::Included(key.clone()), KeyBound::Included(key))
}

fn index_ranges(
    table: &Table,
    r: &RangeAccess,
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
) -> Result<Ranges, SqlError> {
    if !r.arms.is_empty() {
        return any_of(table, r, cx, row);
    }
    let parts = table.key_parts(r.index);
    let mut prefix = Vec::new();
    for (part, k) in parts.iter().zip(&r.prefix) {
        match append(part, k, cx, row, &mut prefix)? {
            Fit::Exact => {}
            Fit::No => return Ok(Ranges::Inexact),
            _ => return Ok(Ranges::Some(Vec::new())),
        }
    }
    let Some(part) = parts.get(r.prefix.len()) else {
        return Ok(Ranges::Some(vec![equal(prefix)]));
    };
    if !r.points.is_empty() {
        return points(part, r, prefix, cx, row);
    }
    match &r.begins {
        Some(Beginning::Text(text)) => {
            return Ok(Ranges::Some(vec![beginning(part, text, prefix)]));
        }
        Some(Beginning::Pattern(l)) => match l.prefix_now(cx, row)? {
            None => return Ok(Ranges::Some(Vec::new())),
            Some((text, _)) if Beginning::is_range(&text) => {
                return Ok(Ranges::Some(vec![beginning(part, &text, prefix)]));
            }
            // What has the equal ones.
            Some(_) => {}
        },
        None => {}
    }
    if r.low.is_none() && r.high.is_none() && !r.not_null {
        let range = if prefix.is_empty() {
            (KeyBound::None, KeyBound::None)
        } else {
            equal(prefix)
        };
        return Ok(Ranges::Some(vec![range]));
    }
    bounded(part, r, &prefix, cx, row)
}

/// A range of an index of a table.
pub(crate) type Part = (usize, KeyRange);

/// The parts of indexes that an access path comes to for the values at hand, in the order in which they are read; `true` where they are
/// everything, and the conditions that the access would imply have to be checked.
pub(crate) fn parts(
    table: &Table,
    access: &Access,
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
) -> Result<(Vec<Part>, bool), SqlError> {
    let everything = |index| (vec![(index, (KeyBound::None, KeyBound::None))], true);
    let Access::Union(arms) = access else {
        let index = access.index().0;
        return Ok(match ranges(table, access, cx, row)? {
            Ranges::Some(list) => (list.into_iter().map(|r| (index, r)).collect(), false),
            // What has not each row once is never read as a whole.
            Ranges::Inexact if table.list_part(index).is_some() => everything(0),
            Ranges::Inexact => everything(index),
        });
    };
    let mut out = Vec::new();
    for arm in arms {
        match index_ranges(table, arm, cx, row)? {
            Ranges::Some(list) => out.extend(list.into_iter().map(|r| (arm.index, r))),
            Ranges::Inexact => return Ok(everything(0)),
        }
    }
    Ok((out, false))
}

/// The ranges of alternatives. Where two alternatives overlap, what they share is in one range only.
fn any_of(
    table: &Table,
    r: &RangeAccess,
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
) -> Result<Ranges, SqlError> {
    let mut all = Vec::with_capacity(r.arms.len());
    for arm in &r.arms {
        match index_ranges(table, arm, cx, row)? {
            Ranges::Some(list) => all.extend(list),
            Ranges::Inexact => return Ok(Ranges::Inexact),
        }
    }
    let mut all = union(all);
    if r.backward {
        all.reverse();
    }
    Ok(Ranges::Some(all))
}

/// The keys of texts that begin with a text: they begin with its key without the end mark.
fn beginning(part: &KeyPart, text: &[u8], mut key: Vec<u8>) -> KeyRange {
    let ascending = KeyPart {
        descending: false,
        ..part.clone()
    };
    let start = key.len();
    ascending.encode(ValueRef::Str(text, part.ty.collation()), &mut key);
    key.pop();
    if part.descending {
        key[start..].iter_mut().for_each(|b| *b = !*b);
    }
    equal(key)
}

fn points(
    part: &KeyPart,
    r: &RangeAccess,
    prefix: Vec<u8>,
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
) -> Result<Ranges, SqlError> {
    let mut keys = Vec::with_capacity(r.points.len());
    for k in &r.points {
        let mut key = prefix.clone();
        match append(part, k, cx, row, &mut key)? {
            Fit::Exact => keys.push(key),
            Fit::No => return Ok(Ranges::Inexact),
            Fit::Null | Fit::Above | Fit::Below => {}
        }
    }
    keys.sort_unstable();
    keys.dedup();
    if r.backward {
        keys.reverse();
    }
    Ok(Ranges::Some(keys.into_iter().map(equal).collect()))
}

fn bounded(
    part: &KeyPart,
    r: &RangeAccess,
    prefix: &[u8],
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
) -> Result<Ranges, SqlError> {
    let whole = || {
        if prefix.is_empty() {
            KeyBound::None
        } else {
            KeyBound::Included(prefix.to_vec())
        }
    };
    let none = Ok(Ranges::Some(Vec::new()));
    // Where NULLs lie: before everything, or behind it in a descending part.
    let null_end = || {
        let mark = if part.descending {
            !NULL_MARK
        } else {
            NULL_MARK
        };
        debug_assert_ne!(NULL_MARK, NOT_NULL_MARK);
        let mut key = prefix.to_vec();
        key.push(mark);
        KeyBound::Excluded(key)
    };
    let mut ends = [None, None];
    for (end, bound, is_low) in [(0, &r.low, true), (1, &r.high, false)] {
        let Some((k, inside)) = bound else { continue };
        let mut key = prefix.to_vec();
        match append(part, k, cx, row, &mut key)? {
            Fit::Exact if *inside => ends[end] = Some(KeyBound::Included(key)),
            Fit::Exact => ends[end] = Some(KeyBound::Excluded(key)),
            Fit::Null => return none,
            Fit::No => return Ok(Ranges::Inexact),
            // A bound beyond the column's values is no bound, or lets nothing through.
            fit => {
                if is_low == (fit == Fit::Above) {
                    return none;
                }
            }
        }
    }
    let [mut low, mut high] = ends;
    if part.descending {
        std::mem::swap(&mut low, &mut high);
    }
    if part.nullable {
        if part.descending {
            high = high.or_else(|| Some(null_end()));
        } else {
            low = low.or_else(|| Some(null_end()));
        }
    }
    let range = (low.unwrap_or_else(whole), high.unwrap_or_else(whole));
    Ok(Ranges::Some(vec![range]))
}

/// How a table of a block is read, by its place.
pub(crate) fn mode(block: &Block, table: usize) -> ReadMode {
    read_mode(block.tables[table].lock)
}

/// How a table is read under a locking clause.
pub(crate) fn read_mode(lock: Option<LockSpec>) -> ReadMode {
    match lock {
        None => ReadMode::Consistent,
        Some(l) => ReadMode::Lock {
            exclusive: l.exclusive,
            wait: match l.wait {
                ast::LockWait::Wait => engine::LockWait::Wait,
                ast::LockWait::NoWait => engine::LockWait::NoWait,
                ast::LockWait::SkipLocked => engine::LockWait::SkipLocked,
            },
        },
    }
}

/// What a table is to a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// Alone: each row is judged and computed anew when it is locked to be changed.
    Alone,
    /// What was found in it is changed as it was found.
    Target,
    /// What was found in it tells what becomes of the targets.
    Read,
}

impl Role {
    /// What a table of the block is, given whether its rows are changed.
    pub(crate) fn of(block: &Block, is_target: bool) -> Role {
        match is_target {
            _ if can_look_again(block) => Role::Alone,
            true => Role::Target,
            false => Role::Read,
        }
    }
}

/// How a change that gathers its rows first reads a table.
///
/// The rows of its targets are locked as they are found: what was found is what is written, or, of one table alone, what is judged anew when it is its turn
/// ([`ReadMode::Gathered`]). The rows beside them are locked for sharing, until the transaction ends. InnoDB locks the same rows (the manual: "Locks Set by
/// Different SQL Statements in InnoDB"), at every level.
pub(crate) fn change_mode(role: Role) -> ReadMode {
    let lock = |exclusive| ReadMode::Lock {
        exclusive,
        wait: LockWait::Wait,
    };
    match role {
        Role::Alone => ReadMode::Gathered,
        Role::Target => lock(true),
        Role::Read if base::mutant!("read-rows-not-locked") => ReadMode::Consistent,
        Role::Read => lock(false),
    }
}

/// Whether the rows of a change can be judged and computed anew, each by itself, when it is their turn. A condition that counts, or that is
/// left to chance, says something else the second time.
pub(crate) fn can_look_again(block: &Block) -> bool {
    let acts = |e: &Expr| match &e.node {
        Node::AssignVar(..) => true,
        Node::Call(c) => c.def.volatile(),
        _ => false,
    };
    let mut conditions = block
        .join
        .steps
        .iter()
        .flat_map(|s| s.filter.iter().chain(&s.implied));
    block.tables.len() == 1
        && block.join.steps.iter().all(|s| s.late.is_empty())
        && !block.subqueries.iter().any(|s| s.correlated)
        && !conditions.any(|e| e.any(&acts))
}
