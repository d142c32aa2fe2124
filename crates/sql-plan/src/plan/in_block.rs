//! The text of expressions of a block. What an expression takes from its block is for `words` to say.

use std::fmt::Write;

use super::block::Block;
use sql_expr::agg::AggSpec;
use sql_expr::{Expr, text_in};
use sql_parser::ast::AggregateFunc;

/// The surroundings of a block's expressions.
pub(crate) struct InBlock<'p> {
    pub(super) block: &'p Block,
    /// As in FORMAT=TREE: names without schema and quotes, subqueries by number.
    pub(super) bare: bool,
}

impl<'p> InBlock<'p> {
    /// For canonical text.
    pub fn new(block: &'p Block) -> InBlock<'p> {
        InBlock { block, bare: false }
    }

    /// For FORMAT=TREE.
    pub fn bare(block: &'p Block) -> InBlock<'p> {
        InBlock { block, bare: true }
    }

    /// The text of an expression.
    pub fn text(&self, e: &Expr) -> String {
        text_in(e, self)
    }

    /// The text of several that hold together.
    pub fn all<'e>(&self, conds: impl IntoIterator<Item = &'e Expr>) -> String {
        let all: Vec<String> = conds.into_iter().map(|e| self.text(e)).collect();
        match &all[..] {
            [one] => one.clone(),
            all => format!("({})", all.join(" and ")),
        }
    }

    /// The text of an aggregate.
    pub fn aggregate_text(&self, a: &AggSpec) -> String {
        let mut out = format!("{}(", a.func.name());
        if a.distinct {
            out.push_str("distinct ");
        }
        if a.args.is_empty() {
            out.push('0');
        }
        let args: Vec<String> = a.args.iter().map(|e| self.text(e)).collect();
        out.push_str(&args.join(","));
        for (i, (e, desc)) in a.order_by.iter().enumerate() {
            out.push_str(if i == 0 { " order by " } else { "," });
            out.push_str(&self.text(e));
            out.push_str(if *desc { " DESC" } else { " ASC" });
        }
        if a.func == AggregateFunc::GroupConcat {
            let separator = String::from_utf8_lossy(&a.separator);
            let _ = write!(out, " separator '{separator}'");
        }
        out.push(')');
        out
    }
}

/// A name between backquotes.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}
