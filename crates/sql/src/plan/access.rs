//! The access path of one table: full clustered key, part of an index, or everything, chosen by a rough count of the rows each
//! would touch.
//!
//! There are no histograms. A table is taken to have at least [`FEWEST_ROWS`] rows, so that a plan made while it was nearly
//! empty still uses indexes when it has grown.

use engine::{IndexKind, Table};
use types::SqlError;

use super::optimize::CondInfo;
use super::range::{Sarg, sarg};
use super::scope::FromTable;
use super::source::TableSource;
use super::tree::{Access, KeyExpr, RangeAccess};
use crate::expr::{Expr, Val};
use crate::parse::ast;

/// Fewest rows a table is taken to have.
const FEWEST_ROWS: f64 = 1000.0;
/// Rows of a table that says nothing about itself.
const VIRTUAL_ROWS: f64 = 200.0;

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
                        1176,
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
    let usable = |e: &CondInfo| e.nest == nest && !e.late;
    let conds: Vec<(usize, &CondInfo)> = conds
        .iter()
        .enumerate()
        .filter(|(_, c)| usable(c))
        .collect();
    let mut best = full;
    for i in 0..table.def.indexes.len() {
        if table.def.indexes[i].kind == IndexKind::Hidden || !allowed.index(i) {
            continue;
        }
        if let Some(c) = index_choice(t, table, i, &conds, bound, rows)
            && c.cost < best.cost
        {
            best = c;
        }
    }
    best
}

fn key(expr: Expr, null_safe: bool) -> KeyExpr {
    KeyExpr { expr, null_safe }
}

/// What the conditions make of one index; `None` where they say nothing about its first column.
fn index_choice(
    t: &FromTable,
    table: &Table,
    index: usize,
    conds: &[(usize, &CondInfo)],
    bound: u64,
    rows: f64,
) -> Option<Choice> {
    let def = &table.def.indexes[index];
    let mut range = RangeAccess {
        index,
        prefix: Vec::new(),
        points: Vec::new(),
        low: None,
        high: None,
        begins: None,
        not_null: false,
        backward: false,
    };
    let mut used = Vec::new();
    let mut exact = true;
    for part in &def.parts {
        let ty = t.expr_type(usize::from(part.column));
        let column = (t.slot, part.column);
        let says = |c: &CondInfo| {
            let allowed = |e: &Expr| c.reads_only(e, bound);
            sarg(&c.expr, column, &ty, &allowed)
        };
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
    let prefix = &range.prefix;
    let whole = prefix.len() == def.parts.len();
    let plain = prefix.iter().all(|k| !k.null_safe);
    let unique = matches!(def.kind, IndexKind::Primary | IndexKind::Unique);
    if index == 0 && whole && exact && plain {
        let prefix = range.prefix;
        return Some(Choice {
            access: Access::Get(prefix),
            used,
            rows: 1.0,
            cost: 0.5,
        });
    }
    let yields = estimate(&range, def.parts.len(), unique && plain, rows);
    let cost = if index == 0 {
        yields + 1.0
    } else {
        yields * 2.0 + 1.0
    };
    Some(Choice {
        access: Access::Range(Box::new(range)),
        used,
        rows: yields,
        cost,
    })
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
