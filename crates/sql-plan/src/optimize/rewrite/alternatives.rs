//! Conditions with OR: what all arms say is a condition of its own (`(a AND b) OR (a AND c)` is `a AND (b OR c)`), and what every arm
//! says about one table is one on that table, so that joins and indexes see it.
//!
//! As "predicate factoring" and "implied predicates" in the literature; TPC-H's queries 7 and 19 are the known cases.

use crate::bind::group::Known;
use crate::bind::places::Places;
use crate::bind::reads::tables_of;
use crate::bind::tree::BoundBlock;
use crate::optimize::conditions::CondInfo;
use sql_expr::{Expr, ExprType, Node};

/// Most arms and conjuncts that are looked at in one condition.
const MOST_PARTS: usize = 200;

/// The members of a conjunction, or the expression itself.
fn conjuncts(e: Expr) -> Vec<Expr> {
    match e.node {
        Node::And(parts) => parts.into_iter().flat_map(conjuncts).collect(),
        _ => vec![e],
    }
}

fn all_of(mut parts: Vec<Expr>) -> Option<Expr> {
    if parts.len() == 1 {
        return parts.pop();
    }
    let nullable = parts.iter().any(|p| p.ty.nullable);
    (!parts.is_empty()).then(|| Expr {
        node: Node::And(parts),
        ty: ExprType::truth(nullable),
    })
}

fn any_of(mut arms: Vec<Expr>) -> Option<Expr> {
    if arms.len() == 1 {
        return arms.pop();
    }
    let nullable = arms.iter().any(|p| p.ty.nullable);
    (!arms.is_empty()).then(|| Expr {
        node: Node::Or(arms),
        ty: ExprType::truth(nullable),
    })
}

/// Whether a condition can be taken apart and asked more than once.
fn is_plain(e: &Expr) -> bool {
    !e.any(&|x| match &x.node {
        Node::AssignVar(..)
        | Node::UserVar(_)
        | Node::Subquery(_)
        | Node::Exists(_)
        | Node::Quantified(_) => true,
        Node::Call(c) => c.def.volatile() || c.def.special(),
        _ => false,
    })
}

/// Takes what all arms of an OR say out of it: conditions that hold together where it does. `None` where they have nothing in common.
pub(crate) fn factored(e: &Expr) -> Option<Vec<Expr>> {
    let Node::Or(arms) = &e.node else {
        return None;
    };
    if !is_plain(e) {
        return None;
    }
    let arms: Vec<Vec<Expr>> = arms.iter().map(|a| conjuncts(a.clone())).collect();
    if arms.iter().map(Vec::len).sum::<usize>() > MOST_PARTS {
        return None;
    }
    let sets: Vec<Known> = arms.iter().map(|a| Known::of(a.iter())).collect();
    let mut out = Vec::new();
    let mut taken = Known::default();
    for c in &arms[0] {
        if sets.iter().all(|s| s.has(c)) && taken.add(c) {
            out.push(c.clone());
        }
    }
    if out.is_empty() {
        return None;
    }
    let mut left = Vec::with_capacity(arms.len());
    for arm in arms {
        let rest: Vec<Expr> = arm.into_iter().filter(|c| !taken.has(c)).collect();
        match all_of(rest) {
            Some(rest) => left.push(rest),
            // That arm says no more: neither does the whole.
            None => return Some(out),
        }
    }
    out.extend(any_of(left));
    Some(out)
}

/// The conditions on single tables that follow from those with OR over several.
pub(crate) fn implied(conds: &[CondInfo], places: &Places) -> Vec<CondInfo> {
    let mut out = Vec::new();
    for c in conds.iter().filter(|c| c.nest == 0 && !c.late) {
        let Node::Or(arms) = &c.expr.node else {
            continue;
        };
        if c.tables.count_ones() < 2 || !is_plain(&c.expr) {
            continue;
        }
        let arms: Vec<Vec<Expr>> = arms.iter().map(|a| conjuncts(a.clone())).collect();
        if arms.iter().map(Vec::len).sum::<usize>() > MOST_PARTS {
            continue;
        }
        let mut tables = c.tables;
        while tables != 0 {
            let own = tables & tables.wrapping_neg();
            tables &= !own;
            let of_table = |arm: &Vec<Expr>| {
                let own = arm
                    .iter()
                    .filter(|e| tables_of::<BoundBlock>(e, places, &[]) == own);
                all_of(own.cloned().collect())
            };
            let said: Option<Vec<Expr>> = arms.iter().map(of_table).collect();
            if let Some(e) = said.and_then(any_of) {
                out.push(CondInfo::made(e, places, None));
            }
        }
    }
    out
}
