//! `x IN (..)`: a sorted list that is searched where every member is a constant of one kind, member by member otherwise.

use std::cmp::Ordering;

use types::SqlError;

use super::compare::Comparer;
use super::ctx::{EvalCtx, RowSource};
use super::eval::row_equal;
use super::node::{Expr, InList, Members};
use super::ty::ExprType;
use super::val::Val;

impl InList {
    /// Chooses the fast form where it applies. `members` come with the comparer of each with the left operand.
    pub(super) fn new(
        expr: Expr,
        members: Vec<(Comparer, Expr)>,
        negated: bool,
        cx: &EvalCtx<'_>,
    ) -> InList {
        let first = members.first().map(|(c, _)| c.clone());
        let uniform = members.iter().all(|(c, e)| {
            e.as_const()
                .is_some_and(|v| v.is_null() || Some(c) == first.as_ref())
                && !matches!(c, Comparer::Row(_) | Comparer::Json(..))
        });
        let one = members.iter().find_map(|(c, e)| {
            let same_kind = e.as_const().is_some_and(|v| !v.is_null());
            same_kind.then(|| (c.clone(), e.ty))
        });
        let (true, Some((comparer, ty))) = (uniform, one) else {
            return InList {
                expr,
                members: Members::Each(members),
                has_null: false,
                negated,
            };
        };
        let mut has_null = false;
        let mut items: Vec<Val<'static>> = Vec::with_capacity(members.len());
        for (_, e) in members {
            match e.as_const() {
                Some(Val::Null) | None => has_null = true,
                Some(v) => items.push(v.clone()),
            }
        }
        let order = |a: &Val<'_>, b: &Val<'_>| {
            comparer
                .order(a, &ty, b, &ty, cx)
                .unwrap_or(Ordering::Equal)
        };
        items.sort_by(order);
        items.dedup_by(|a, b| order(a, b).is_eq());
        InList {
            expr,
            members: Members::Sorted(comparer, items, ty),
            has_null,
            negated,
        }
    }

    /// The constants it looks for, where it is of that kind: what an index can be asked for.
    pub fn constants(&self) -> Option<(&[Val<'static>], &ExprType)> {
        match &self.members {
            Members::Sorted(_, items, ty) => Some((items, ty)),
            Members::Each(_) => None,
        }
    }

    pub(super) fn each_child<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        f(&self.expr);
        if let Members::Each(m) = &self.members {
            m.iter().for_each(|(_, e)| f(e));
        }
    }

    pub(super) fn each_child_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        f(&mut self.expr);
        if let Members::Each(m) = &mut self.members {
            m.iter_mut().for_each(|(_, e)| f(e));
        }
    }

    pub(super) fn truth(
        &self,
        cx: &EvalCtx<'_>,
        row: &dyn RowSource,
    ) -> Result<Option<bool>, SqlError> {
        Ok(self.found(cx, row)?.map(|f| f != self.negated))
    }

    /// Whether the value is one of the sorted constants.
    pub(super) fn found_among(&self, x: &Val<'_>, cx: &EvalCtx<'_>) -> Option<bool> {
        let Members::Sorted(comparer, items, ty) = &self.members else {
            return None;
        };
        if x.is_null() {
            return None;
        }
        let mut unknown = self.has_null;
        let hit = items.binary_search_by(|item| {
            comparer
                .order(item, ty, x, &self.expr.ty, cx)
                .unwrap_or_else(|| {
                    unknown = true;
                    Ordering::Greater
                })
        });
        match hit {
            Ok(_) => Some(true),
            Err(_) if unknown => None,
            Err(_) => Some(false),
        }
    }

    fn found(&self, cx: &EvalCtx<'_>, row: &dyn RowSource) -> Result<Option<bool>, SqlError> {
        match &self.members {
            Members::Sorted(..) => {
                let x = self.expr.eval(cx, row)?;
                Ok(self.found_among(&x, cx))
            }
            Members::Each(members) => {
                let mut unknown = false;
                if let Some((Comparer::Row(_), _)) = members.first() {
                    for (c, m) in members {
                        match row_equal(c, &self.expr, m, cx, row)? {
                            Some(true) => return Ok(Some(true)),
                            None => unknown = true,
                            Some(false) => {}
                        }
                    }
                } else {
                    let x = self.expr.eval(cx, row)?;
                    if x.is_null() {
                        return Ok(None);
                    }
                    for (c, m) in members {
                        let y = m.eval(cx, row)?;
                        match c.equal(&x, &self.expr.ty, &y, &m.ty, cx) {
                            Some(true) => return Ok(Some(true)),
                            None => unknown = true,
                            Some(false) => {}
                        }
                    }
                }
                Ok(if unknown { None } else { Some(false) })
            }
        }
    }
}
