//! Which blocks are answered by jumping through an index: where equal leading parts of its entries say all that is asked, one entry of
//! each run of them is looked up, and perhaps the last one, and the others are left out.
//!
//! That is so for `GROUP BY` and `DISTINCT` over leading parts, for aggregates to which duplicates mean nothing (`COUNT(DISTINCT a)`), and
//! for MIN and MAX of the part behind them. MySQL calls it a loose index scan (the manual: "GROUP BY Optimization").
//!
//! Never here: what a group's row is, which the grouping makes of the entries that it is given.

use engine::{IndexKind, Table};

use crate::bind::source::TableSource;
use crate::optimize::conditions::{CondInfo, Request};
use crate::optimize::physical::access::{Choice, Paths};
use crate::optimize::physical::order::{Ordered, ordered_column};
use crate::plan::{Access, Jump};
use sql_expr::Node;
use sql_expr::agg::AggSpec;
use sql_parser::ast::AggregateFunc;
use types::DataType;

/// By how much jumping has to be cheaper than reading: what it costs is known less well.
const PAYS: f64 = 0.5;

/// What is asked of a table.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked {
    /// Columns of which each combination of values is wanted once.
    once: Vec<u16>,
    /// The column whose least or greatest value is wanted for each combination.
    end: Option<u16>,
    least: bool,
    greatest: bool,
}

impl Asked {
    fn add(&mut self, column: u16) {
        if !self.once.contains(&column) {
            self.once.push(column);
        }
    }

    /// Adds what an aggregate wants; `None` where it wants more.
    fn aggregate(&mut self, a: &AggSpec, t: &Table, slot: u16) -> Option<()> {
        let greatest = match a.func {
            AggregateFunc::Min => false,
            AggregateFunc::Max => true,
            AggregateFunc::Count | AggregateFunc::Sum | AggregateFunc::Avg if a.distinct => {
                for e in &a.args {
                    self.add(ordered_column(e, t, slot)?.ordinal);
                }
                return Some(());
            }
            _ => return None,
        };
        let column = ordered_column(a.args.first()?, t, slot)?.ordinal;
        // Words of a list are compared as text, and are in the order of the list here.
        let ty = &t.def.columns[usize::from(column)].ty;
        let listed = matches!(ty, DataType::Enum(_) | DataType::Set(_));
        if listed || self.end.is_some_and(|end| end != column) {
            return None;
        }
        self.end = Some(column);
        self.least |= !greatest;
        self.greatest |= greatest;
        Some(())
    }

    fn of(req: &Request<'_>, t: &Table, slot: u16) -> Option<Asked> {
        let mut asked = Asked::default();
        let (keys, aggregates) = match (req.group, req.distinct) {
            (Some((keys, aggregates)), _) => (keys, aggregates),
            (None, Some(output)) => (output, &[][..]),
            (None, None) => return None,
        };
        for k in keys {
            asked.add(ordered_column(k, t, slot)?.ordinal);
        }
        for a in aggregates {
            asked.aggregate(a, t, slot)?;
        }
        let anything = !asked.once.is_empty() || asked.end.is_some();
        anything.then_some(asked)
    }
}

/// Chooses an index to jump through for a block of one table, where that is cheaper than `cost`; the way to read it takes the place of
/// the one that was found. Gives the jumps, what comes out of them and what they cost.
pub(crate) fn choose(
    req: &Request<'_>,
    paths: &[Paths<'_>],
    conds: &[CondInfo],
    found: &mut Ordered,
    cost: f64,
) -> Option<(Jump, f64, f64)> {
    let &[place] = &found.tables[..] else {
        return None;
    };
    let from = &req.tables[place];
    let TableSource::Engine(t) = &from.source else {
        return None;
    };
    let plain = req.joins.nest_of[place] == 0 && !req.changes && !req.locks;
    if !plain || conds.iter().any(|c| c.late) {
        return None;
    }
    let asked = Asked::of(req, t, from.slot)?;
    let mut best: Option<(Jump, f64, f64, Choice)> = None;
    for (i, def) in t.def.indexes.iter().enumerate() {
        if def.kind == IndexKind::Hidden || !paths[place].groups(i) {
            continue;
        }
        let choice = paths[place].by_index(i);
        let Some(jump) = jump(t, i, &choice, conds, &asked, from.slot) else {
            continue;
        };
        let Some(groups) = paths[place].runs(i, &choice, jump.parts) else {
            continue;
        };
        let looks = 1.0 + f64::from(u8::from(jump.least)) + f64::from(u8::from(jump.greatest));
        let costs = groups * looks * paths[place].look_up_of(i);
        let cheaper = best.as_ref().is_none_or(|b| costs < b.2);
        if costs < cost * PAYS && cheaper {
            best = Some((jump, groups, costs, choice));
        }
    }
    let (jump, groups, costs, mut choice) = best?;
    if let Access::Range(r) = &mut choice.access {
        r.backward = false;
    }
    found.choices[0] = choice;
    Some((jump, groups, costs))
}

/// How an index read so is jumped through; `None` where its entries do not say what is asked.
fn jump(
    t: &Table,
    index: usize,
    choice: &Choice,
    conds: &[CondInfo],
    asked: &Asked,
    slot: u16,
) -> Option<Jump> {
    let def = &t.def.indexes[index];
    let part = |n: usize| def.parts.get(n).filter(|p| p.prefix == 0);
    let fixed = match &choice.access {
        Access::Full { .. } => 0,
        Access::Range(r) if r.arms.is_empty() && r.begins.is_none() => {
            r.prefix.len() + usize::from(!r.points.is_empty())
        }
        _ => return None,
    };
    let mut once = asked.once.clone();
    for (n, c) in conds.iter().enumerate() {
        if choice.used.contains(&n) {
            continue;
        }
        // It holds for all entries of a run or for none: equal keys are equal values here.
        let mut same = true;
        c.expr.walk(&mut |e| {
            match &e.node {
                Node::Column(c) if c.slot == slot => {
                    let ty = &t.def.columns[usize::from(c.ordinal)].ty;
                    same &= !ty.is_lob() && !ty.is_string();
                    if !once.contains(&c.ordinal) {
                        once.push(c.ordinal);
                    }
                }
                Node::Call(c) => same &= !c.def.volatile(),
                Node::AssignVar(..) | Node::Subquery(_) | Node::Exists(_) | Node::Quantified(_) => {
                    same = false;
                }
                _ => {}
            }
            true
        });
        if !same {
            return None;
        }
    }
    let mut parts = fixed;
    for column in &once {
        let at = (0..def.parts.len()).find(|&n| part(n).is_some_and(|p| p.column == *column))?;
        parts = parts.max(at + 1);
    }
    (0..parts).all(|n| part(n).is_some()).then_some(())?;
    let mut jump = Jump {
        parts,
        one_run: parts == fixed,
        least: asked.least,
        greatest: asked.greatest,
    };
    if let Some(end) = asked.end {
        if (0..parts).any(|n| part(n).is_some_and(|p| p.column == end)) {
            // All entries of a run have the same.
            jump.least = false;
            jump.greatest = false;
        } else if part(parts).is_none_or(|p| p.column != end || p.descending) {
            return None;
        }
    }
    Some(jump)
}
