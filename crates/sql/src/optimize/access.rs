//! The access path of one table: full clustered key, part of an index, or everything, chosen by a rough count of the rows each
//! would touch.
//!
//! There are no histograms. A table is taken to have at least [`FEWEST_ROWS`] rows, so that a plan made while it was nearly
//! empty still uses indexes when it has grown.

use engine::{IndexKind, Table};
use types::SqlError;
use types::error::codes;

use super::joins::CondInfo;
use super::range::{Sarg, sarg};
use crate::bind::from::row_equals;
use crate::bind::scope::FromTable;
use crate::bind::source::TableSource;
use crate::plan::{Access, KeyExpr, RangeAccess};
use sql_expr::{Comparer, Expr, Members, Node, Val};
use sql_parser::ast;

/// Fewest rows a table is taken to have.
const FEWEST_ROWS: f64 = 1000.0;
/// Rows of a table that says nothing about itself.
const VIRTUAL_ROWS: f64 = 200.0;

/// Share of a table that ranges whose ends are not known are taken to hold together at most: who lists many means small ones.
const MOST_GUESSED: f64 = 0.4;

/// A way to read a table.
pub(crate) struct Choice {
    /// The way.
    pub access: Access,
    /// Conditions it implies, by number.
    pub used: Vec<usize>,
    /// Rows it yields, roughly.
    pub rows: f64,
    /// What they cost.
    cost: f64,
}

/// Which indexes of a table a statement may use.
pub(crate) struct Allowed {
    usable: Vec<bool>,
    /// A hint forbids reading everything where an index can be used.
    forced: bool,
}

impl Allowed {
    /// What the hints of FROM leave.
    ///
    /// # Errors
    /// 1176 for an index that is not there.
    pub fn new(t: &FromTable) -> Result<Allowed, SqlError> {
        let TableSource::Engine(table) = &t.source else {
            return Ok(Allowed {
                usable: Vec::new(),
                forced: false,
            });
        };
        let mut usable: Vec<bool> = table.def.indexes.iter().map(|i| !i.invisible).collect();
        let mut forced = false;
        let mut only: Option<Vec<bool>> = None;
        for h in &t.hints {
            let mut named = vec![false; usable.len()];
            for name in &h.indexes {
                let i = table.def.index(name).ok_or_else(|| {
                    SqlError::new(
                        codes::ER_KEY_DOES_NOT_EXITS,
                        format!("Key '{name}' doesn't exist in table '{}'", t.alias),
                    )
                })?;
                named[i] = true;
            }
            if h.scope != ast::IndexHintScope::All && h.scope != ast::IndexHintScope::Join {
                continue;
            }
            match h.kind {
                ast::IndexHintKind::Ignore => {
                    for (u, n) in usable.iter_mut().zip(&named) {
                        *u &= !n;
                    }
                }
                kind => {
                    forced |= kind == ast::IndexHintKind::Force;
                    let all = only.get_or_insert_with(|| vec![false; named.len()]);
                    for (o, n) in all.iter_mut().zip(&named) {
                        *o |= n;
                    }
                }
            }
        }
        if let Some(only) = only {
            for (u, o) in usable.iter_mut().zip(&only) {
                *u &= o;
            }
        }
        Ok(Allowed { usable, forced })
    }

    /// Whether an index may be used.
    pub fn index(&self, i: usize) -> bool {
        self.usable.get(i).copied().unwrap_or(false)
    }
}

/// Rows of a table, for comparing plans.
pub(crate) fn table_rows(t: &FromTable) -> f64 {
    match &t.source {
        TableSource::Engine(t) => (t.row_count_estimate() as f64).max(FEWEST_ROWS),
        _ => VIRTUAL_ROWS,
    }
}

/// Chooses how to read a table when the tables of `bound` have been read.
pub(crate) fn choose(
    t: &FromTable,
    allowed: &Allowed,
    conds: &[CondInfo],
    nest: u16,
    bound: u64,
) -> Choice {
    let rows = table_rows(t);
    let full = Choice {
        access: Access::Full {
            index: 0,
            backward: false,
        },
        used: Vec::new(),
        rows,
        cost: if allowed.forced { rows * 1e6 } else { rows },
    };
    let TableSource::Engine(table) = &t.source else {
        return full;
    };
    let conds: Vec<(usize, &CondInfo)> = conds
        .iter()
        .enumerate()
        .filter(|(_, c)| c.nest == nest && !c.late)
        .collect();
    let Some((_, any)) = conds.first() else {
        return full;
    };
    let seek = Seek {
        from: t,
        table,
        allowed: &|e| any.reads_only(e, bound),
        rows,
    };
    let conds: Vec<(usize, &Expr)> = conds.iter().map(|(n, c)| (*n, &c.expr)).collect();
    let alternatives: Vec<Vec<Vec<Expr>>> = conds.iter().filter_map(|(_, c)| arms_of(c)).collect();
    let mut best = full;
    for i in 0..table.def.indexes.len() {
        if table.def.indexes[i].kind == IndexKind::Hidden || !allowed.index(i) {
            continue;
        }
        let any = alternatives.iter().filter_map(|arms| seek.any(i, arms));
        for c in seek.all(i, &conds).into_iter().chain(any) {
            if c.cost < best.cost {
                best = c;
            }
        }
    }
    best
}

/// The conjuncts of each arm of an OR, or of each member of a list of rows, which is the same; `None` for what is neither.
fn arms_of(cond: &Expr) -> Option<Vec<Vec<Expr>>> {
    fn flatten<'e>(e: &'e Expr, or: bool, out: &mut Vec<&'e Expr>) {
        match &e.node {
            Node::Or(parts) if or => parts.iter().for_each(|p| flatten(p, or, out)),
            Node::And(parts) if !or => parts.iter().for_each(|p| flatten(p, or, out)),
            _ => out.push(e),
        }
    }
    match &cond.node {
        Node::Or(_) => {}
        Node::In(list) if !list.negated => {
            let Members::Each(members) = &list.members else {
                return None;
            };
            let equal = |(c, e): &(Comparer, Expr)| row_equals(&list.expr, e, c, &cond.ty);
            return members.iter().map(equal).collect();
        }
        _ => return None,
    }
    let mut arms = Vec::new();
    flatten(cond, true, &mut arms);
    let conjuncts = |arm| {
        let mut all = Vec::new();
        flatten(arm, false, &mut all);
        all.into_iter().cloned().collect()
    };
    Some(arms.into_iter().map(conjuncts).collect())
}

fn key(expr: Expr, null_safe: bool) -> KeyExpr {
    KeyExpr { expr, null_safe }
}

/// What all ways to read a table by an index have in common.
struct Seek<'a> {
    from: &'a FromTable,
    table: &'a Table,
    /// Whether an expression can be evaluated before the table is read.
    allowed: &'a dyn Fn(&Expr) -> bool,
    /// Rows of the table.
    rows: f64,
}

/// What conditions make of an index.
struct Part {
    range: RangeAccess,
    /// Conditions it implies, by number.
    used: Vec<usize>,
    /// The values of the prefix are whole columns.
    exact: bool,
    /// It has a value for every part.
    whole: bool,
    /// No value of the prefix finds NULL.
    plain: bool,
    /// Rows it yields, roughly.
    yields: f64,
}

impl Seek<'_> {
    /// Reading by an index what all conditions say; `None` where they say nothing about its first column.
    fn all(&self, index: usize, conds: &[(usize, &Expr)]) -> Option<Choice> {
        let part = self.part(index, conds)?;
        if index == 0 && part.whole && part.exact && part.plain {
            return Some(Choice {
                access: Access::Get(part.range.prefix),
                used: part.used,
                rows: 1.0,
                cost: 0.5,
            });
        }
        Some(Choice {
            access: Access::Range(Box::new(part.range)),
            used: part.used,
            rows: part.yields,
            cost: reading(index, part.yields) + 1.0,
        })
    }

    /// Reading by an index what any of the arms of an OR says, each given as its conjuncts; `None` where one of them says
    /// nothing about its first column. It implies no condition: the OR is checked on every row.
    fn any(&self, index: usize, arms: &[Vec<Expr>]) -> Option<Choice> {
        let (mut known, mut guessed) = (0.0, 0.0);
        let mut range = RangeAccess {
            index,
            ..RangeAccess::default()
        };
        for conds in arms {
            // What the arms use says nothing of the whole.
            let conds: Vec<(usize, &Expr)> = conds.iter().map(|e| (0, e)).collect();
            let part = self.part(index, &conds)?;
            if is_guess(&part.range, self.table.def.indexes[index].parts.len()) {
                guessed += part.yields;
            } else {
                known += part.yields;
            }
            range.arms.push(part.range);
        }
        let yields = (known + f64::min(guessed, self.rows * MOST_GUESSED)).min(self.rows);
        Some(Choice {
            cost: reading(index, yields) + range.arms.len() as f64,
            access: Access::Range(Box::new(range)),
            used: Vec::new(),
            rows: yields,
        })
    }

    /// What the conditions make of one index; `None` where they say nothing about its first column.
    fn part(&self, index: usize, conds: &[(usize, &Expr)]) -> Option<Part> {
        let def = &self.table.def.indexes[index];
        let mut range = RangeAccess {
            index,
            ..RangeAccess::default()
        };
        let mut used = Vec::new();
        let mut exact = true;
        for part in &def.parts {
            let ty = self.from.expr_type(usize::from(part.column));
            let column = (self.from.slot, part.column);
            let says = |c: &Expr| sarg(c, column, &ty, self.allowed);
            let equal = conds.iter().find_map(|(n, c)| match says(c)? {
                Sarg::Equal(e, null_safe) => Some((*n, e, null_safe)),
                Sarg::OneOf(mut v) if v.len() == 1 => Some((*n, v.pop()?, false)),
                _ => None,
            });
            if let Some((n, e, null_safe)) = equal {
                range.prefix.push(key(e, null_safe));
                if part.prefix == 0 {
                    used.push(n);
                } else {
                    exact = false;
                }
                continue;
            }
            if part.prefix == 0 {
                for (n, c) in conds {
                    if let Some(s) = says(c) {
                        bounds(&mut range, s, *n, &mut used);
                    }
                }
                if range.low.is_some() || range.high.is_some() || !range.points.is_empty() {
                    range.begins = None;
                }
            }
            break;
        }
        if range.prefix.is_empty() && !range.is_bounded() {
            return None;
        }
        let plain = range.prefix.iter().all(|k| !k.null_safe);
        let unique = matches!(def.kind, IndexKind::Primary | IndexKind::Unique);
        Some(Part {
            used,
            exact,
            whole: range.prefix.len() == def.parts.len(),
            plain,
            yields: estimate(&range, def.parts.len(), unique && plain, self.rows),
            range,
        })
    }
}

/// What it costs to read rows by an index: what is not in the clustered one is looked up there.
fn reading(index: usize, rows: f64) -> f64 {
    if index == 0 { rows } else { rows * 2.0 }
}

/// Whether nothing is known of a range but that it has two ends.
fn is_guess(r: &RangeAccess, parts: usize) -> bool {
    let known = parts == 1 && whole(&r.low).is_some() && whole(&r.high).is_some();
    r.prefix.is_empty() && r.low.is_some() && r.high.is_some() && !known
}

/// Adds a condition on the part behind the equal ones.
fn bounds(range: &mut RangeAccess, s: Sarg, n: usize, used: &mut Vec<usize>) {
    match s {
        Sarg::OneOf(values)
            if range.points.is_empty() && range.low.is_none() && range.high.is_none() =>
        {
            range.points = values.into_iter().map(|e| key(e, false)).collect();
            used.push(n);
        }
        _ if !range.points.is_empty() => {}
        Sarg::Low(e, inside) if range.low.is_none() => {
            range.low = Some((key(e, false), inside));
            used.push(n);
        }
        Sarg::High(e, inside) if range.high.is_none() => {
            range.high = Some((key(e, false), inside));
            used.push(n);
        }
        Sarg::Between(a, b) if range.low.is_none() && range.high.is_none() => {
            range.low = Some((key(a, false), true));
            range.high = Some((key(b, false), true));
            used.push(n);
        }
        Sarg::NotNull => range.not_null = true,
        Sarg::Begins(text) if range.begins.is_none() => range.begins = Some(text),
        _ => {}
    }
}

fn estimate(r: &RangeAccess, parts: usize, unique: bool, rows: f64) -> f64 {
    let equal = r.prefix.len();
    if equal == parts && unique {
        return 1.0;
    }
    // A first equal column leaves a hundredth, each further one a tenth of the rest.
    let mut yields = match equal {
        0 => rows,
        n => rows * 0.01 * 0.1f64.powi(n as i32 - 1),
    };
    if !r.points.is_empty() {
        let each = if equal + 1 == parts && unique {
            1.0
        } else {
            yields * 0.01
        };
        yields = (each.max(1.0) * r.points.len() as f64).min(yields);
    } else if r.begins.is_some() {
        yields *= 0.05;
    } else if r.low.is_some() || r.high.is_some() {
        yields = match (whole(&r.low), whole(&r.high)) {
            (Some(a), Some(b)) if equal + 1 == parts => ((b - a + 1.0).max(0.0)).min(yields * 0.9),
            _ if r.low.is_some() && r.high.is_some() => yields * 0.05,
            _ => yields * 0.33,
        };
    }
    yields.max(1.0)
}

/// A bound that is a known whole number.
fn whole(bound: &Option<(KeyExpr, bool)>) -> Option<f64> {
    match bound.as_ref()?.0.expr.as_const()? {
        Val::Int(i) => Some(*i as f64),
        Val::Uint(u) => Some(*u as f64),
        _ => None,
    }
}
