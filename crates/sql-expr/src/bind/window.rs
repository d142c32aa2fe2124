//! Window functions: where one may stand, its arguments and the window behind OVER, bound.

use types::SqlError;
use types::error::codes;
use types::temporal::IntervalUnit;

use super::{Binder, Clause, WindowUse};
use crate::arms::adopt;
use crate::infer::Arith;
use crate::node::{Expr, Node};
use crate::ty::ExprType;
use crate::window::{
    Bound, BoundFrame, BoundOver, BoundSpec, WindowFn, WindowKind, is_count, one_type,
};
use sql_parser::ast::{self, WindowFunc};

/// How messages call a window without a name.
pub const UNNAMED: &str = "<unnamed window>";

/// Error 3593: a window function where none may stand.
fn misplaced(name: &str) -> SqlError {
    SqlError::new(
        codes::ER_WINDOW_INVALID_WINDOW_FUNC_USE,
        format!("You cannot use the window function '{name}' in this context.'"),
    )
}

/// Error 3594: the name of a window function where none may stand.
pub fn misplaced_alias(name: &str) -> SqlError {
    SqlError::new(
        codes::ER_WINDOW_INVALID_WINDOW_FUNC_ALIAS_USE,
        format!(
            "You cannot use the alias '{name}' of an expression containing a window function in this context.'"
        ),
    )
}

fn wrong_arguments(name: &str) -> SqlError {
    SqlError::new(
        codes::ER_WRONG_ARGUMENTS,
        format!("Incorrect arguments to {name}"),
    )
}

impl Binder<'_> {
    pub(super) fn window(&mut self, call: WindowUse<'_>) -> Result<Expr, SqlError> {
        let (name, over) = match call {
            WindowUse::Function(w) => (w.func.name(), Some(&w.over)),
            WindowUse::Aggregate(a) => (a.func.name(), a.over.as_ref()),
        };
        if let Some(window) = &self.window_of {
            return Err(SqlError::new(
                codes::ER_WINDOW_NESTED_WINDOW_FUNC_USE_IN_WINDOW_SPEC,
                format!(
                    "You cannot nest a window function in the specification of window '{window}'."
                ),
            ));
        }
        let fits = matches!(self.clause, Clause::FieldList | Clause::OrderBy);
        if !fits || self.inside_aggregate || self.inside_window || !self.scope.has_windows() {
            return Err(misplaced(name));
        }
        self.inside_window = true;
        let function = self.window_fn(call, name);
        self.inside_window = false;
        let function = function?;
        let over = match over {
            Some(ast::Over::Named(n)) => BoundOver::Named(n.clone()),
            Some(ast::Over::Spec(spec)) => BoundOver::Spec(self.window_spec(spec, UNNAMED)?),
            None => return Err(misplaced(name)),
        };
        let ty = function.ty;
        let at = self.scope.window(function, over)?;
        Ok(Expr {
            node: Node::Window(at),
            ty,
        })
    }

    /// What a name stands for, where a window function may be in it.
    pub(super) fn unless_window(&self, e: Expr, c: &ast::ColumnRef) -> Result<Expr, SqlError> {
        let apart = self.inside_aggregate
            || self.inside_window
            || self.window_of.is_some()
            || matches!(self.clause, Clause::Having | Clause::HavingAggregate);
        match apart && e.has_window() {
            true => Err(misplaced_alias(&c.name)),
            false => Ok(e),
        }
    }

    fn window_fn(&mut self, call: WindowUse<'_>, name: &str) -> Result<WindowFn, SqlError> {
        let w = match call {
            WindowUse::Function(w) => w,
            WindowUse::Aggregate(a) => {
                let spec = self.spec(a)?;
                return Ok(WindowFn {
                    ty: spec.ty,
                    kind: WindowKind::Aggregate(Box::new(spec)),
                    ignore_nulls: false,
                    from_last: false,
                });
            }
        };
        let mut args = self.bind_all(&w.args)?;
        let counts = |args: &mut Vec<Expr>, at: usize, least: i64| match args.get_mut(at) {
            Some(n) if !is_count(n, least) => Err(wrong_arguments(name)),
            Some(n) => {
                adopt(n, &ExprType::int(20, true));
                Ok(())
            }
            None => Ok(()),
        };
        let ty = match w.func {
            WindowFunc::RowNumber | WindowFunc::Rank | WindowFunc::DenseRank => {
                ExprType::uint(21, false)
            }
            WindowFunc::PercentRank | WindowFunc::CumeDist => ExprType::double(false),
            WindowFunc::Ntile => {
                counts(&mut args, 0, 1)?;
                ExprType::uint(21, true)
            }
            WindowFunc::Lag | WindowFunc::Lead => {
                counts(&mut args, 1, 0)?;
                let ty = one_type(&mut args, &[0, 2], name, self.cx)?;
                ty.nullable_if(args.len() < 3)
            }
            WindowFunc::FirstValue | WindowFunc::LastValue => {
                one_type(&mut args, &[0], name, self.cx)?.or_null()
            }
            WindowFunc::NthValue => {
                counts(&mut args, 1, 1)?;
                one_type(&mut args, &[0], name, self.cx)?.or_null()
            }
        };
        Ok(WindowFn {
            kind: WindowKind::Function(w.func, args),
            ty,
            ignore_nulls: w.ignore_nulls,
            from_last: w.from_last,
        })
    }

    /// Binds a window as it is written; `name` is how messages call it.
    ///
    /// # Errors
    /// 3592 for a position, 3595 for a window function in it, 1054 for an alias, and as [`bind`](Self::bind).
    pub fn window_spec(
        &mut self,
        spec: &ast::WindowSpec,
        name: &str,
    ) -> Result<BoundSpec, SqlError> {
        let clause = self.clause;
        let around = self.window_of.replace(name.into());
        let bound = self.bound_spec(spec, name);
        self.window_of = around;
        self.clause = clause;
        bound
    }

    fn bound_spec(&mut self, spec: &ast::WindowSpec, name: &str) -> Result<BoundSpec, SqlError> {
        self.clause = Clause::WindowPartition;
        let mut partition = Vec::with_capacity(spec.partition_by.len());
        for e in &spec.partition_by {
            partition.push(self.window_key(e, name)?);
        }
        self.clause = Clause::WindowOrder;
        let mut order = Vec::with_capacity(spec.order_by.len());
        for o in &spec.order_by {
            order.push((self.window_key(&o.expr, name)?, o.desc));
        }
        self.clause = Clause::WindowFrame;
        let frame = match &spec.frame {
            None => None,
            Some(f) => Some(BoundFrame {
                unit: f.unit,
                start: self.frame_bound(&f.start)?,
                end: match &f.end {
                    Some(end) => self.frame_bound(end)?,
                    None => Bound::CurrentRow,
                },
                exclude: f.exclude.is_some(),
            }),
        };
        Ok(BoundSpec {
            base: spec.base.clone(),
            partition,
            order,
            frame,
        })
    }

    /// A member of PARTITION BY or ORDER BY.
    fn window_key(&mut self, e: &ast::Expr, name: &str) -> Result<Expr, SqlError> {
        if matches!(e, ast::Expr::Int(_)) {
            return Err(SqlError::new(
                codes::ER_WINDOW_ILLEGAL_ORDER_BY,
                format!(
                    "Window '{name}': ORDER BY or PARTITION BY uses legacy position indication which is not supported, use expression."
                ),
            ));
        }
        self.bind(e)
    }

    fn frame_bound(&mut self, b: &ast::FrameBound) -> Result<Bound, SqlError> {
        use ast::FrameBound as F;
        Ok(match b {
            F::UnboundedPreceding => Bound::UnboundedPreceding,
            F::CurrentRow => Bound::CurrentRow,
            F::UnboundedFollowing => Bound::UnboundedFollowing,
            F::Preceding(e, unit) => Bound::Preceding(self.bind(e)?, *unit),
            F::Following(e, unit) => Bound::Following(self.bind(e)?, *unit),
        })
    }

    /// `key + amount` or `key - amount`, as the end of a RANGE frame.
    pub fn shifted(
        &self,
        key: Expr,
        mut amount: Expr,
        unit: Option<IntervalUnit>,
        minus: bool,
    ) -> Expr {
        match unit {
            Some(unit) => self.moved_date(key, amount, unit, minus),
            None => {
                let key = key.into_number();
                adopt(&mut amount, &key.ty);
                let op = if minus { Arith::Sub } else { Arith::Add };
                self.arithmetic(op, [key, amount.into_number()])
            }
        }
    }
}
