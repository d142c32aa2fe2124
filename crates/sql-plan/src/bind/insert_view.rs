//! INSERT through a view: which table is written, and which of its columns are those that the statement names.

use types::SqlError;
use types::error::codes;

use super::StatementBinder;
use super::expanded::stored;
use super::guard::Usage;
use super::insert::{InsertTarget, column_name};
use super::names::Names;
use super::update::more_than_one_table;
use super::view_names::ViewNames;
use sql_access::Priv;
use sql_expr::Expr;
use sql_expr::bind::{Clause, column_text};
use sql_parser::ast;

impl StatementBinder<'_> {
    /// The table behind a view that is inserted into.
    ///
    /// # Errors
    /// 1471: nothing can be; 1393, 1394: it has several tables, and the statement does not say one of them.
    pub(super) fn view_target(
        &self,
        i: &ast::Insert,
        view: &str,
        usage: Usage,
    ) -> Result<InsertTarget, SqlError> {
        let factor = ast::TableFactor {
            name: i.table.clone(),
            alias: None,
            partitions: Vec::new(),
            hints: Vec::new(),
        };
        let from = [ast::TableRef::Table(Box::new(factor))];
        let mut names = self.change_tables(&from, None, usage)?.names;
        let Some(v) = names.views.first() else {
            return Err(not_insertable(view));
        };
        if repeats(v) {
            return Err(not_insertable(view));
        }
        let joins = v.tables.len() > 1;
        if joins && i.columns.is_empty() {
            return Err(SqlError::new(
                codes::ER_VIEW_NO_INSERT_FIELD_LIST,
                format!(
                    "Can not insert into join view '{}' without fields list",
                    v.full()
                ),
            ));
        }
        if joins && !i.on_duplicate.is_empty() {
            return Err(SqlError::not_supported(
                "ON DUPLICATE KEY UPDATE of a view of several tables",
            ));
        }
        let named = self.named_columns(&names, v, i)?;
        let bases: Vec<(u16, u16)> = named.iter().filter_map(|&n| v.columns[n].base()).collect();
        let slot = bases.first().map_or(v.slot, |b| b.0);
        if bases.iter().any(|b| b.0 != slot) {
            return Err(more_than_one_table(&v.full()));
        }
        let given = named.iter().map(|&n| &*v.columns[n].name).collect();
        let written = !i.columns.is_empty();
        self.require_columns(&v.schema, &v.name, Priv::Insert, given, written)?;
        let table = stored(&names, slot).ok_or_else(|| not_insertable(view))?;
        let columns: Vec<u16> = bases.iter().map(|b| b.1).collect();
        if let ast::InsertSource::Query(q) = &i.source
            && q.limit.is_some()
            && matches!(q.body, ast::QueryBody::Select(_))
        {
            // As in MySQL, where the LIMIT of the rows that come is taken for one of those that change.
            let place = names.tables.iter().position(|t| t.slot == slot);
            self.limited(&names, place.unwrap_or(0), "INSERT")?;
        }
        only_table(&mut names, slot);
        let base = &names.tables[0];
        let given = columns.iter().map(|&c| column_name(&table, c)).collect();
        self.as_read(base, || {
            self.guard_table(&base.schema, &base.name, usage)?;
            self.require_columns(&base.schema, &base.name, Priv::Insert, given, written)
        })?;
        Ok(InsertTarget {
            table,
            slot,
            names,
            columns,
        })
    }

    /// The columns of the view that get values.
    fn named_columns(
        &self,
        names: &Names<'_>,
        v: &ViewNames,
        i: &ast::Insert,
    ) -> Result<Vec<usize>, SqlError> {
        if i.columns.is_empty() {
            return Ok((0..v.columns.len()).collect());
        }
        let mut out: Vec<usize> = Vec::with_capacity(i.columns.len());
        for c in &i.columns {
            let fits = c.qualifier.as_ref().is_none_or(|q| v.answers_to(q));
            let Some(at) = v.find(&c.name).filter(|_| fits) else {
                let e = SqlError::unknown_column(&column_text(c), Clause::FieldList.text());
                return Err(self.hide_column_for(Priv::Insert, names, c, e));
            };
            if !i.may_repeat && out.contains(&at) {
                return Err(SqlError::new(
                    codes::ER_FIELD_SPECIFIED_TWICE,
                    format!("Column '{}' specified twice", c.name),
                ));
            }
            out.push(at);
        }
        Ok(out)
    }

    /// What CHECK OPTION says of rows that are inserted at a slot.
    pub(super) fn view_checks_of(
        &self,
        names: &Names<'_>,
        slot: u16,
    ) -> Result<Vec<(Box<str>, Expr)>, SqlError> {
        let Some(v) = names.views.first() else {
            return Ok(Vec::new());
        };
        self.checks_of_row(v, slot)
    }
}

/// Whether a column of the view is computed, or stands for the same column as another.
fn repeats(v: &ViewNames) -> bool {
    let bases: Vec<_> = v.columns.iter().map(|c| c.base()).collect();
    let twice = |(i, b): (usize, &Option<(u16, u16)>)| b.is_none() || bases[..i].contains(b);
    bases.iter().enumerate().any(twice)
}

/// Leaves nothing in sight but the table of a slot, and of the view its columns.
fn only_table(names: &mut Names<'_>, slot: u16) {
    names.tables.retain(|t| t.slot == slot);
    for v in &mut names.views {
        v.columns.retain(|c| c.base().is_some_and(|b| b.0 == slot));
        v.tables = 0..1;
        v.slot = slot;
    }
}

/// 1471.
fn not_insertable(view: &str) -> SqlError {
    SqlError::new(
        codes::ER_NON_INSERTABLE_TABLE,
        format!("The target table {view} of the INSERT is not insertable-into"),
    )
}
