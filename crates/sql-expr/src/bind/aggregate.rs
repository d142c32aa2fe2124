//! Aggregates: collected into the list of the query block, each once, and referred to by their place in it.

use types::SqlError;
use types::error::codes;

use super::{AggregatePlace, Binder, Clause, WindowUse};
use crate::agg::AggSpec;
use crate::node::{Expr, Node};
use crate::ty::Shape;
use sql_parser::ast;

/// Error 1111: an aggregate where none may stand.
fn invalid_use() -> SqlError {
    SqlError::new(
        codes::ER_INVALID_GROUP_FUNC_USE,
        "Invalid use of group function",
    )
}

impl Binder<'_> {
    pub(super) fn aggregate(&mut self, a: &ast::Aggregate) -> Result<Expr, SqlError> {
        if a.over.is_some() {
            return self.window(WindowUse::Aggregate(a));
        }
        let list = self.aggregates.take();
        if list.is_none() && !self.scope.has_around() {
            return Err(invalid_use());
        }
        let clause = self.clause;
        if clause == Clause::Having {
            self.clause = Clause::HavingAggregate;
        }
        // An aggregate inside this one is refused.
        let nested = self.scope.in_aggregate(true);
        let inside = std::mem::replace(&mut self.inside_aggregate, true);
        let spec = if inside {
            Err(invalid_use())
        } else {
            self.spec(a)
        };
        self.inside_aggregate = inside;
        self.scope.in_aggregate(nested);
        self.clause = clause;
        let placed = spec.and_then(|spec| self.scope.aggregate_around(Box::new(spec)));
        let (result, list) = match (placed, list) {
            (Ok(AggregatePlace::Around(e)), list) => (Ok(e), list),
            (Ok(AggregatePlace::Here(_)), None) => (Err(invalid_use()), None),
            (Ok(AggregatePlace::Here(spec)), Some(list)) => {
                let at = match list.iter().position(|s| s.same_as(&spec)) {
                    Some(at) => at,
                    None => {
                        list.push(*spec);
                        list.len() - 1
                    }
                };
                let ty = list[at].ty;
                let node = Node::Aggregate(at as u32);
                (Ok(Expr { node, ty }), Some(list))
            }
            (Err(e), list) => (Err(e), list),
        };
        self.aggregates = list;
        result
    }

    /// A member of GROUP_CONCAT's ORDER BY: a whole number is the place of an argument.
    fn concat_order(&mut self, e: &ast::Expr, args: &[Expr]) -> Result<Expr, SqlError> {
        let ast::Expr::Int(n) = e else {
            return self.bind(e);
        };
        let at = usize::try_from(*n).ok().and_then(|n| n.checked_sub(1));
        at.and_then(|i| args.get(i).cloned())
            .ok_or_else(|| SqlError::unknown_column(&n.to_string(), "order clause"))
    }

    pub(super) fn spec(&mut self, a: &ast::Aggregate) -> Result<AggSpec, SqlError> {
        let args = self.bind_all(&a.args)?;
        if args.iter().any(|e| matches!(e.ty.shape, Shape::Row(_))) {
            return Err(super::wrong_columns(1));
        }
        let order_by = a
            .order_by
            .iter()
            .map(|o| Ok((self.concat_order(&o.expr, &args)?, o.desc)))
            .collect::<Result<Vec<_>, SqlError>>()?;
        let separator = a.separator.as_deref().unwrap_or(b",").to_vec();
        AggSpec::new(
            a.func,
            a.distinct,
            args,
            order_by,
            separator,
            a.clone(),
            self.cx,
        )
    }
}
