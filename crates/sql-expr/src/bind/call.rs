//! Calls by name.

use types::SqlError;
use types::error::codes;

use super::Binder;
use crate::func::{self, InferCx};
use crate::node::RegexpUse;
use crate::node::{Call, Expr, Node};
use sql_parser::ast;

/// Whether a value is written as itself.
fn is_literal(e: &ast::Expr) -> bool {
    use ast::Expr as E;
    matches!(
        e,
        E::Null
            | E::Bool(_)
            | E::Int(_)
            | E::Decimal(_)
            | E::Float(_)
            | E::Str(_)
            | E::Introduced(_)
            | E::Hex(_)
            | E::Bit(_)
            | E::Temporal(..)
            | E::Param(_)
    )
}

/// Whether NAME_CONST takes it: a literal, with a sign or a collation.
fn is_named_constant(e: &ast::Expr) -> bool {
    match e {
        ast::Expr::Unary(ast::UnaryOp::Neg, x) | ast::Expr::Collate(x, _) => is_literal(x),
        e => is_literal(e),
    }
}

impl Binder<'_> {
    /// CHAR columns among a function's arguments, as long as the session wants to see them.
    pub(super) fn show_padded(&self, args: &mut [Expr]) {
        for a in args {
            *a = func::padded(std::mem::replace(a, Expr::null()), self.cx);
        }
    }

    pub(super) fn call(&mut self, c: &ast::Call) -> Result<Expr, SqlError> {
        if let Some(schema) = &c.schema {
            return Err(SqlError::no_such_function(&format!("{schema}.{}", c.name)));
        }
        let usage = match c.name.to_ascii_lowercase().as_str() {
            "regexp_like" => Some((RegexpUse::Like, 2..=3)),
            "regexp_instr" => Some((RegexpUse::Instr, 2..=6)),
            "regexp_substr" => Some((RegexpUse::Substr, 2..=5)),
            "regexp_replace" => Some((RegexpUse::Replace, 3..=6)),
            _ => None,
        };
        if let Some((usage, arity)) = usage {
            if !arity.contains(&c.args.len()) {
                return Err(SqlError::wrong_param_count(&c.name));
            }
            let args = self.bind_all(&c.args)?;
            return self.regexp_node(usage, args, false);
        }
        let Some(def) = func::find(&c.name) else {
            let name = match &self.cx.facts.database {
                Some(db) => format!("{db}.{}", c.name),
                None => c.name.to_string(),
            };
            return Err(SqlError::no_such_function(&name));
        };
        if let ("name_const", [name, value]) = (def.name, &c.args[..])
            && !(is_literal(name) && is_named_constant(value))
        {
            return Err(SqlError::new(
                codes::ER_WRONG_ARGUMENTS,
                "Incorrect arguments to NAME_CONST",
            ));
        }
        let mut args = self.bind_all(&c.args)?;
        self.show_padded(&mut args);
        let mut ty = def
            .bind(
                &InferCx::new(self.cx, self.connection(), def.name),
                &mut args,
            )
            .map_err(|e| {
                if e.code == 1582 {
                    SqlError::wrong_param_count(&c.name)
                } else {
                    e
                }
            })?;
        if def.name == "last_insert_id" && args.is_empty() {
            ty.nullable = false;
        }
        Ok(Expr {
            node: Node::Call(Call { def, args }),
            ty,
        })
    }
}
