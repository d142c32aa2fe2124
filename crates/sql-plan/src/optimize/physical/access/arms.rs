//! Conditions with OR as ways to read a table: several parts of one index, or parts of several indexes whose rows are united.

use engine::{IndexKind, Table};

use super::bounds::{bounds, key};
use super::{Any, FIRST_EQUAL, NEXT_EQUAL, Paths, Weight};
use crate::bind::from::row_equals;
use crate::bind::scope::FromTable;
use crate::optimize::physical::range::{Sarg, sarg};
use crate::optimize::statistics::selectivity::Selectivity;
use crate::plan::{Beginning, RangeAccess};
use sql_expr::{Comparer, Expr, Members, Node};

/// Share of a table that ranges whose ends are not known are taken to hold together at most: who lists many means small ones.
const MOST_GUESSED: f64 = 0.25;

impl Paths<'_> {
    /// What the arms of an OR, each given as its conjuncts, say about an index; `None` where one of them says nothing about its first
    /// column. It implies no condition: the OR is checked on every row.
    pub(super) fn any_of(
        &self,
        index: usize,
        arms: &[Vec<Expr>],
        table: &Table,
        foreign: &dyn Fn(&Expr) -> bool,
        read: &dyn Fn(&Expr) -> u64,
        selectivity: &Selectivity<'_>,
    ) -> Option<Any> {
        let def = &table.def.indexes[index];
        let (mut keys, mut known, mut guessed) = (0.0, 0.0, 0.0);
        let mut range = RangeAccess {
            index,
            ..RangeAccess::default()
        };
        let mut needs = 0;
        for conds in arms {
            let (arm, weight) = self.arm(index, def, conds, foreign, selectivity)?;
            match weight {
                Weight::Key => keys += 1.0,
                Weight::Known(s) => known += s,
                Weight::Guess(s) => guessed += s,
            }
            arm.each_key(&mut |e| {
                needs |= read(e);
            });
            range.arms.push(arm);
        }
        Some(Any {
            range,
            needs,
            share: known + f64::min(guessed, MOST_GUESSED),
            keys,
        })
    }

    /// What an arm of an OR says about an index, and how much of the table that is.
    fn arm(
        &self,
        index: usize,
        def: &engine::IndexDef,
        conds: &[Expr],
        foreign: &dyn Fn(&Expr) -> bool,
        selectivity: &Selectivity<'_>,
    ) -> Option<(RangeAccess, Weight)> {
        let arm = arm_range(self.from, index, def, conds, foreign)?;
        if !self.pins_elements(index, arm.prefix.len()) {
            return None;
        }
        let mut own = conds.iter().filter_map(|c| {
            let says = |p: &engine::IndexPart| {
                let ty = self.from.expr_type(usize::from(p.column));
                sarg(c, (self.from.slot, p.column), &ty, foreign).is_some()
            };
            let parts = &mut def.parts.iter().take(arm.parts());
            parts
                .any(says)
                .then(|| selectivity.known(c).filter(|_| !self.small))
        });
        let share = own.try_fold(1.0, |all, s| Some(all * s?));
        let unique = matches!(def.kind, IndexKind::Primary | IndexKind::Unique)
            && arm.prefix.len() == def.parts.len();
        let weight = match share {
            _ if unique => Weight::Key,
            Some(s) => Weight::Known(s),
            None if arm.prefix.is_empty() => Weight::Guess(0.05),
            None => {
                let deeper = arm.prefix.len() as i32 - 1;
                let bounded = if arm.is_bounded() { 0.33 } else { 1.0 };
                Weight::Known(FIRST_EQUAL * NEXT_EQUAL.powi(deeper) * bounded)
            }
        };
        Some((arm, weight))
    }

    /// What the arms of an OR say about several indexes, the best for each; `None` where one says nothing about any, or all speak of the
    /// same.
    pub(super) fn union_of(
        &self,
        arms: &[Vec<Expr>],
        table: &Table,
        foreign: &dyn Fn(&Expr) -> bool,
        read: &dyn Fn(&Expr) -> u64,
        selectivity: &Selectivity<'_>,
    ) -> Option<Any> {
        let mut union = Any {
            range: RangeAccess::default(),
            needs: 0,
            share: 0.0,
            keys: 0.0,
        };
        for conds in arms {
            let mut best: Option<(RangeAccess, Weight)> = None;
            for (i, def) in table.def.indexes.iter().enumerate() {
                let usable = def.kind != IndexKind::Hidden && self.allowed.index(i);
                if !usable || !self.merges(i) || !self.has_ranges(i) {
                    continue;
                }
                let Some(found) = self.arm(i, def, conds, foreign, selectivity) else {
                    continue;
                };
                if best.as_ref().is_none_or(|b| found.1.share() < b.1.share()) {
                    best = Some(found);
                }
            }
            let (arm, weight) = best?;
            match weight {
                Weight::Key => union.keys += 1.0,
                weight => union.share += weight.share(),
            }
            arm.each_key(&mut |e| {
                union.needs |= read(e);
            });
            union.range.arms.push(arm);
        }
        let first = union.range.arms.first()?.index;
        // A row may be found by several of its elements.
        let several = union.range.arms.iter().any(|a| a.index != first);
        (several || self.list_part(first).is_some()).then_some(union)
    }
}

/// What the conjuncts of an arm of an OR make of an index; `None` where they say nothing about its first column.
fn arm_range(
    from: &FromTable,
    index: usize,
    def: &engine::IndexDef,
    conds: &[Expr],
    foreign: &dyn Fn(&Expr) -> bool,
) -> Option<RangeAccess> {
    let mut range = RangeAccess {
        index,
        ..RangeAccess::default()
    };
    // What the arms use says nothing of the whole.
    let mut used = Vec::new();
    for part in &def.parts {
        let ty = from.expr_type(usize::from(part.column));
        let says = |c: &Expr| match sarg(c, (from.slot, part.column), &ty, foreign)? {
            // It may begin with nothing, and then the other arms are in vain.
            Sarg::Begins(Beginning::Pattern(_)) => None,
            said => Some(said),
        };
        let equal = conds.iter().find_map(|c| match says(c)? {
            Sarg::Equal(e, null_safe) => Some((e, null_safe)),
            Sarg::OneOf(mut v) if v.len() == 1 => Some((v.pop()?, false)),
            _ => None,
        });
        if let Some((e, null_safe)) = equal {
            range.prefix.push(key(e, null_safe));
            continue;
        }
        if part.prefix == 0 {
            for s in conds.iter().filter_map(says) {
                bounds(&mut range, s, 0, &mut used);
            }
            if range.low.is_some() || range.high.is_some() || !range.points.is_empty() {
                range.begins = None;
            }
        }
        break;
    }
    (!range.prefix.is_empty() || range.is_bounded()).then_some(range)
}

impl Paths<'_> {
    /// The conjuncts of each arm of an OR, or of each member of a list of rows, which is the same; `None` for what is neither.
    pub(super) fn arms_of(cond: &Expr) -> Option<Vec<Vec<Expr>>> {
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
}
