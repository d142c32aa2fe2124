//! INSERT and REPLACE: which column gets which value, what the others get, and what happens to rows that are there already.

use std::sync::Arc;

use engine::Table;
use types::SqlError;

use super::Planner;
use super::guard::Usage;
use super::names::{Names, same_name};
use super::scope::{BlockScope, InsertedRow};
use super::tree::{Assign, DefaultPlan, InsertPlan, InsertRows, InsertValue, SubPlan};
use crate::access::Priv;
use crate::expr::Expr;
use crate::expr::bind::{Binder, Clause, column_text};
use crate::parse::ast;

impl Planner<'_> {
    /// Plans INSERT and REPLACE.
    pub(crate) fn insert(&self, i: &ast::Insert) -> Result<InsertPlan, SqlError> {
        if !i.returning.is_empty() {
            return Err(SqlError::not_supported("RETURNING"));
        }
        let usage = Usage::Insert {
            replace: i.replace,
            update: !i.on_duplicate.is_empty(),
        };
        let table = self.stored_table(&i.table, usage)?;
        let slot = self.take_slots(1)?;
        let mut names = self.table_names(&table, slot);
        let (schema, name) = (&table.def.schema, &table.def.name);
        names.tables[0].seen = Some(self.watch(schema, name));
        let columns = insert_columns(&table, &i.columns).map_err(|e| match i.columns.first() {
            Some(c) => self.hide_column(&names, c, e),
            None => e,
        })?;
        let given = columns.iter().map(|&c| column_name(&table, c)).collect();
        self.require_columns(schema, name, Priv::Insert, given)?;
        let mut subqueries = Vec::new();
        let source = match &i.source {
            ast::InsertSource::Values(rows) => {
                let implied = i.columns.is_empty();
                let rows =
                    self.insert_values(rows, columns.len(), implied, &names, &mut subqueries)?;
                InsertRows::Values(rows)
            }
            ast::InsertSource::Query(q) => {
                let (plan, _) = self.query(q, None)?;
                if plan.types.len() != columns.len() {
                    return Err(SqlError::value_count_mismatch(1));
                }
                InsertRows::Query(Box::new(plan))
            }
        };
        let on_duplicate = self.on_duplicate(i, &names, &columns, &mut subqueries)?;
        let assigned = on_duplicate.iter();
        let assigned = assigned.map(|a| column_name(&table, a.column)).collect();
        self.require_columns(schema, name, Priv::Update, assigned)?;
        let touch = touched(&table, &on_duplicate);
        let defaults = (0..table.def.columns.len())
            .map(|c| self.default_plan(&table, c))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(InsertPlan {
            slot,
            replace: i.replace,
            ignore: i.ignore,
            columns,
            source,
            defaults,
            on_duplicate,
            touch,
            subqueries,
            table,
        })
    }

    fn insert_values(
        &self,
        rows: &[Vec<ast::Expr>],
        width: usize,
        implied: bool,
        names: &Names<'_>,
        subqueries: &mut Vec<SubPlan>,
    ) -> Result<Vec<Vec<InsertValue>>, SqlError> {
        let mut out = Vec::with_capacity(rows.len());
        for (n, row) in rows.iter().enumerate() {
            if row.len() != width && !(implied && row.is_empty()) {
                return Err(SqlError::value_count_mismatch(n as u64 + 1));
            }
            let mut values = Vec::with_capacity(row.len());
            for e in row {
                values.push(match e {
                    ast::Expr::Default => InsertValue::Default,
                    e => InsertValue::Expr(self.bind(e, Clause::FieldList, names, subqueries)?),
                });
            }
            out.push(values);
        }
        Ok(out)
    }

    fn on_duplicate(
        &self,
        i: &ast::Insert,
        names: &Names<'_>,
        columns: &[u16],
        subqueries: &mut Vec<SubPlan>,
    ) -> Result<Vec<Assign>, SqlError> {
        let mut out = Vec::with_capacity(i.on_duplicate.len());
        for a in &i.on_duplicate {
            let column = names.tables[0].find(&a.column.name).ok_or_else(|| {
                SqlError::unknown_column(&column_text(&a.column), Clause::FieldList.text())
            })?;
            let value = match &a.value {
                ast::Expr::Default => None,
                e => {
                    let mut scope = BlockScope {
                        planner: self,
                        names,
                        subqueries: &mut *subqueries,
                        inserted: Some(InsertedRow {
                            alias: i.row_alias.as_deref(),
                            columns,
                        }),
                    };
                    let e: Expr =
                        Binder::new(self.ctx.cx, &mut scope, Clause::FieldList).bind(e)?;
                    self.note_params(&e);
                    Some(e)
                }
            };
            out.push(Assign {
                column: column as u16,
                value,
            });
        }
        Ok(out)
    }

    /// The defaults of the columns that are assigned DEFAULT.
    pub(crate) fn assigned_defaults(
        &self,
        table: &Arc<Table>,
        assigns: &[Assign],
    ) -> Result<Vec<(u16, DefaultPlan)>, SqlError> {
        assigns
            .iter()
            .filter(|a| a.value.is_none())
            .map(|a| Ok((a.column, self.default_plan(table, usize::from(a.column))?)))
            .collect()
    }
}

/// The name of a column.
pub(crate) fn column_name(table: &Table, column: u16) -> Box<str> {
    table.def.columns[usize::from(column)].name.as_str().into()
}

/// The columns with ON UPDATE CURRENT_TIMESTAMP that are not assigned.
pub(crate) fn touched(table: &Table, assigns: &[Assign]) -> Vec<u16> {
    if assigns.is_empty() {
        return Vec::new();
    }
    (0..table.def.columns.len() as u16)
        .filter(|&c| table.def.columns[usize::from(c)].on_update_now)
        .filter(|c| assigns.iter().all(|a| a.column != *c))
        .collect()
}

fn insert_columns(table: &Table, given: &[ast::ColumnRef]) -> Result<Vec<u16>, SqlError> {
    let defs = &table.def.columns;
    if given.is_empty() {
        return Ok((0..defs.len() as u16)
            .filter(|&c| !defs[usize::from(c)].invisible)
            .collect());
    }
    let mut out: Vec<u16> = Vec::with_capacity(given.len());
    for c in given {
        let fits = c.qualifier.as_ref().is_none_or(|q| {
            *q.table == *table.def.name
                && q.schema.as_deref().is_none_or(|s| *s == *table.def.schema)
        });
        let at = defs
            .iter()
            .position(|d| fits && same_name(&d.name, &c.name))
            .ok_or_else(|| SqlError::unknown_column(&column_text(c), Clause::FieldList.text()))?
            as u16;
        if out.contains(&at) {
            return Err(SqlError::new(
                1110,
                format!("Column '{}' specified twice", c.name),
            ));
        }
        out.push(at);
    }
    Ok(out)
}
