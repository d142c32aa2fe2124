//! Variables in place of names: in a program an unqualified name is a variable where there is one, whatever columns there are.
//!
//! Source: MySQL 8.0's manual, "Local Variable Scope and Resolution".

use sql_parser::ast::{Expr, Part, Statement};

use crate::code::Slot;

fn replace(part: Part<'_>, find: &dyn Fn(&str) -> Option<Slot>) {
    if let Part::Expr(e) = part
        && let Expr::Column(c) = e
        && c.qualifier.is_none()
        && let Some(slot) = find(&c.name)
    {
        *e = Expr::Param(slot);
    }
}

/// Puts variables in place of a statement's names.
pub(crate) fn in_statement(statement: &mut Statement, find: &dyn Fn(&str) -> Option<Slot>) {
    statement.walk_parts_mut(&mut |p| replace(p, find));
}

/// The same of an expression.
pub(crate) fn in_expr(expr: &mut Expr, find: &dyn Fn(&str) -> Option<Slot>) {
    expr.walk_parts_mut(&mut |p| replace(p, find));
}
