//! JSON_TABLE in FROM: a table like a LATERAL derived one, whose document may be of the tables that stand before it (the manual, "JSON Table
//! Functions").
//!
//! Never here: what its paths and columns mean, which [`sql_expr::bind::json_table`] knows.

use std::sync::Arc;

use types::SqlError;
use types::error::codes;

use super::StatementBinder;
use super::from::FromState;
use super::reads;
use super::tree::{Body, BoundQuery, Destination, JsonRows};
use crate::sink::ColumnMeta;
use sql_expr::bind::Clause;
use sql_expr::json::table::Document;
use sql_expr::{Expr, ExprType, Node, eval_constant};
use sql_parser::ast;

impl StatementBinder<'_> {
    /// Binds a JSON_TABLE and adds it.
    ///
    /// # Errors
    /// 1210: the document is of a subquery; 1054, 1109; 3141: it is a constant and none; those of paths and columns.
    pub(super) fn json_table(
        &self,
        j: &ast::JsonTable,
        nest: u16,
        st: &mut FromState<'_, '_>,
    ) -> Result<(), SqlError> {
        let (table, shown) = sql_expr::bind::json_table(j, self.ctx.cx)?;
        self.json_table_means(j, shown);
        let first = self.next_slot.get();
        let mut subqueries = Vec::new();
        let bound = self.bind(&j.doc, Clause::TableFunction, st.names, &mut subqueries);
        let doc = bound.map_err(|e| unknown_table(e, &j.doc, st))?;
        if !subqueries.is_empty() || doc.has_window() || asks(&j.doc) {
            return Err(SqlError::new(
                codes::ER_WRONG_ARGUMENTS,
                "Incorrect arguments to JSON_TABLE",
            ));
        }
        self.check_constant(&doc)?;
        let types: Vec<ExprType> = { table.columns.iter() }
            .map(|c| ExprType::of_column(&c.ty, true))
            .collect();
        let outputs = { table.columns.iter() }
            .map(|c| ColumnMeta::computed(&c.name, c.ty.clone(), true))
            .collect();
        let mut plan = BoundQuery {
            body: Body::Json(Box::new(JsonRows {
                doc,
                table: Arc::new(table),
            })),
            types,
            order: Vec::new(),
            limit: None,
            into: Destination::Client,
            lowest: u16::MAX,
            shared: None,
        };
        let mut read = Vec::new();
        reads::outer_columns(&plan, first, &mut read);
        plan.lowest = read.iter().map(|c| c.0).min().unwrap_or(u16::MAX);
        self.sideways_table((plan, outputs), (&j.alias, &[]), read, nest, st)
    }

    /// A constant is a document, or the statement does not begin.
    fn check_constant(&self, doc: &Expr) -> Result<(), SqlError> {
        if matches!(doc.node, Node::Const(_)) {
            let v = eval_constant(doc, self.ctx.cx)?;
            Document::of(&v, &doc.ty, self.ctx.cx)?;
        }
        Ok(())
    }
}

/// Whether an expression has a subquery, be it of a constant.
fn asks(e: &ast::Expr) -> bool {
    use ast::Expr::{Exists, InSubquery, Quantified, Subquery};
    let mut found = false;
    // Looked at only: it is a copy.
    let _: Result<(), ()> = e.clone().walk_mut(&mut |e| {
        found |= matches!(e, Exists(_) | InSubquery(_) | Quantified(_) | Subquery(_));
        Ok(())
    });
    found
}

/// Where no table stands before it, the table that a name is qualified by is what is not known.
fn unknown_table(e: SqlError, doc: &ast::Expr, st: &FromState<'_, '_>) -> SqlError {
    let nothing = st.names.tables.is_empty() && st.names.parent.is_none();
    if e.code != codes::ER_BAD_FIELD_ERROR || !nothing {
        return e;
    }
    match doc {
        ast::Expr::Column(c) => match &c.qualifier {
            Some(q) => SqlError::unknown_table(&q.table, Clause::TableFunction.text()),
            None => e,
        },
        _ => e,
    }
}
