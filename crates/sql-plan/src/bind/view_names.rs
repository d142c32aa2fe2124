//! A view that has become part of a statement's own block, as names see it: its columns are expressions over tables that no name of the
//! statement leads to.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use super::seen::Seen;
use super::spelling::same_name;
use sql_expr::{Expr, Node};
use sql_parser::ast;

/// A column of such a view.
#[derive(Debug, Clone)]
pub(crate) struct ViewColumn {
    /// Its name.
    pub name: Box<str>,
    /// What it is.
    pub value: Expr,
}

impl ViewColumn {
    /// The slot and the place of the table's column that it is, where it is one.
    pub fn base(&self) -> Option<(u16, u16)> {
        match &self.value.node {
            Node::Column(c) => Some((c.slot, c.ordinal)),
            _ => None,
        }
    }
}

/// Such a view.
#[derive(Clone)]
pub(crate) struct ViewNames {
    /// Its schema.
    pub schema: Arc<str>,
    /// How the statement calls it.
    pub alias: Arc<str>,
    /// Its own name.
    pub name: Arc<str>,
    /// The places of its tables in FROM.
    pub tables: Range<usize>,
    /// The slot of the first of them.
    pub slot: u16,
    /// Its columns.
    pub columns: Vec<ViewColumn>,
    /// Conditions that rows have to meet which are written through it.
    pub checks: Vec<Expr>,
    /// Where it is noted which columns are read.
    pub seen: Rc<Seen>,
}

impl ViewNames {
    /// The column of that name.
    pub fn find(&self, name: &str) -> Option<usize> {
        let mut columns = self.columns.iter();
        columns.position(|c| same_name(&c.name, name))
    }

    /// Whether a name qualified so is one of its columns'.
    pub fn answers_to(&self, q: &ast::Qualifier) -> bool {
        *self.alias == *q.table && q.schema.as_deref().is_none_or(|s| *self.schema == *s)
    }

    /// The place in the table of that slot of the column of that name.
    pub fn base_column(&self, name: &str, slot: u16) -> Option<usize> {
        let (s, ordinal) = self.columns[self.find(name)?].base()?;
        (s == slot).then_some(usize::from(ordinal))
    }

    /// Whether the account may see single columns only of the one that is meant.
    pub fn hides(&self, c: &ast::ColumnRef) -> bool {
        self.seen.partial && c.qualifier.as_ref().is_none_or(|q| self.answers_to(q))
    }

    /// Its full name, as messages show it.
    pub fn full(&self) -> String {
        format!("{}.{}", self.schema, self.name)
    }
}
