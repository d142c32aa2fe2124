//! INSERT and REPLACE: which column gets which value, what the others get, and what happens to rows that are there already.

use std::sync::Arc;

use engine::Table;
use types::error::codes;
use types::{DataType, SqlError};

use super::StatementBinder;
use super::guard::Usage;
use super::names::{Listed, Names, same_name};
use super::query::{MoreColumns, refuse_into};
use super::related::Changes;
use super::row_rules::RowRules;
use super::scope::{BlockScope, FromTable, InsertedRow};
use super::source::TableSource;
use super::tree::{
    Assign, Body, BoundBlock, BoundSub, DefaultPlan, Insert, InsertRows, InsertValue, Yields,
};
use sql_access::Priv;
use sql_expr::bind::{Binder, Clause, column_text};
use sql_expr::func::assigned_to;
use sql_expr::{Expr, Node};
use sql_parser::ast;

/// The values of VALUES as they are assigned to their columns.
fn assigned_in_place(rows: &mut [Vec<InsertValue>], table: &Table, columns: &[u16]) {
    for row in rows {
        for (v, &c) in row.iter_mut().zip(columns) {
            if let InsertValue::Expr(e) = v {
                let given = std::mem::replace(e, Expr::null());
                *e = assigned_to(given, &table.def.columns[usize::from(c)].ty);
            }
        }
    }
}

/// The select list of a block whose rows are assigned to columns of these types.
fn assigned_output(block: &mut BoundBlock, types: &[DataType]) {
    for (e, ty) in block.output.iter_mut().zip(types) {
        let given = std::mem::replace(e, Expr::null());
        *e = assigned_to(given, ty);
    }
}

impl StatementBinder<'_> {
    /// Plans INSERT and REPLACE.
    pub(crate) fn insert(&self, i: &ast::Insert) -> Result<Insert<BoundBlock>, SqlError> {
        if !i.returning.is_empty() {
            return Err(SqlError::not_supported("RETURNING"));
        }
        let usage = Usage::Insert {
            replace: i.replace,
            update: !i.on_duplicate.is_empty(),
        };
        self.note_block(1, &i.hints);
        let InsertTarget {
            table,
            slot,
            names,
            columns,
        } = self.insert_target(i, usage)?;
        if let Some(alias) = &i.row_alias {
            check_row_alias(alias, &i.table, columns.len())?;
        }
        let mut subqueries = Vec::new();
        let mut source_columns = Vec::new();
        let (source, on_duplicate) = match &i.source {
            ast::InsertSource::Values(rows) => {
                let implied = i.columns.is_empty();
                let mut rows =
                    self.insert_values(rows, columns.len(), implied, &names, &mut subqueries)?;
                assigned_in_place(&mut rows, &table, &columns);
                refuse_values(&table, &columns, &rows)?;
                let on_duplicate = self.on_duplicate(i, &names, None, &columns, &mut subqueries)?;
                (InsertRows::Values(rows), on_duplicate)
            }
            ast::InsertSource::Query(q) => {
                refuse_into(q).and_then(|()| refuse_generated(&table, columns.iter().copied()))?;
                let mut bound: Option<Vec<Assign>> = None;
                let mut more = |from: &Names<'_>| {
                    let names = self.names_and_source(&table, slot, &names, from);
                    let around = from.clause.replace(Some(Clause::Where));
                    let assigns =
                        self.on_duplicate(i, &names, Some(from), &columns, &mut subqueries);
                    from.clause.set(around);
                    let assigns = bound.insert(assigns?);
                    let read = source_columns_read(assigns, &subqueries, from);
                    // The values that the query yields are in the session's time zone.
                    for e in assigns.iter_mut().filter_map(|a| a.value.as_mut()) {
                        e.map_columns(&mut |c| c.utc &= from.table(c.slot).is_none());
                    }
                    source_columns = read.iter().map(|l| (l.slot, l.ordinal)).collect();
                    let column = |l: &Listed| {
                        let t = from.table(l.slot);
                        t.map(|t| t.column_expr(usize::from(l.ordinal)))
                    };
                    Ok(read.iter().filter_map(column).collect())
                };
                let asked = !i.on_duplicate.is_empty();
                let more: Option<MoreColumns<'_>> = if asked { Some(&mut more) } else { None };
                let (mut plan, _) = self.query_and_more(q, None, more)?;
                if plan.types.len() != columns.len() + source_columns.len() {
                    return Err(SqlError::value_count_mismatch(1));
                }
                let on_duplicate = match bound {
                    Some(assigns) => assigns,
                    None => self.on_duplicate(i, &names, None, &columns, &mut subqueries)?,
                };
                if let Body::Block(block) = &mut plan.body
                    && !block.distinct
                {
                    let ty = |&c: &u16| table.def.columns[usize::from(c)].ty.clone();
                    let types: Vec<DataType> = columns.iter().map(ty).collect();
                    assigned_output(block, &types);
                    block.yields = Yields::Assigned(types);
                }
                (InsertRows::Query(Box::new(plan)), on_duplicate)
            }
        };
        self.require_assigned(&names, i, &table, &on_duplicate)?;
        let touch = touched(&table, &on_duplicate);
        let changes = Changes::inserted(i.replace, &on_duplicate, &touch);
        let relations = self.relations(vec![(&table, changes)])?;
        let (rules, rules_of_changes) =
            self.rules_of_insert((&*table, slot), &names, &on_duplicate, &touch)?;
        let defaults = (0..table.def.columns.len())
            .map(|c| self.default_plan(&table, c))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Insert {
            slot,
            replace: i.replace,
            ignore: i.ignore,
            columns,
            source,
            source_columns,
            defaults,
            on_duplicate,
            touch,
            rules,
            rules_of_changes,
            subqueries,
            relations,
            through: names.views.first().map(|v| v.full().into()),
            checks: self.check_subqueries.take(),
            table,
        })
    }

    /// What is to hold of new rows, and of rows that ON DUPLICATE KEY UPDATE changes.
    fn rules_of_insert(
        &self,
        (table, slot): (&Table, u16),
        names: &Names<'_>,
        on_duplicate: &[Assign],
        touch: &[u16],
    ) -> Result<(RowRules, RowRules), SqlError> {
        let mut rules = RowRules::of(&table.def, &|_| true, self.ctx.cx)?;
        let mut changes = self.rules_of_changes(table, on_duplicate, touch)?;
        rules.views = self.view_checks_of(names, slot)?;
        if !on_duplicate.is_empty() && !base::mutant!("check-option-skipped-on-duplicate-key") {
            changes.views.clone_from(&rules.views);
        }
        Ok((rules, changes))
    }

    /// UPDATE is asked for, of the columns that ON DUPLICATE KEY UPDATE assigns.
    fn require_assigned(
        &self,
        names: &Names<'_>,
        i: &ast::Insert,
        table: &Table,
        assigns: &[Assign],
    ) -> Result<(), SqlError> {
        if let Some(v) = names.views.first() {
            let named = i.on_duplicate.iter().filter_map(|a| v.find(&a.column.name));
            let columns = named.map(|i| &*v.columns[i].name).collect();
            self.require_columns(&v.schema, &v.name, Priv::Update, columns, true)?;
        }
        let columns = assigns.iter().map(|a| column_name(table, a.column));
        let (schema, name) = (&table.def.schema, &table.def.name);
        self.as_read(&names.tables[0], || {
            self.require_columns(schema, name, Priv::Update, columns.collect(), true)
        })
    }

    fn insert_values(
        &self,
        rows: &[Vec<ast::Expr>],
        width: usize,
        implied: bool,
        names: &Names<'_>,
        subqueries: &mut Vec<BoundSub>,
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
        source: Option<&Names<'_>>,
        columns: &[u16],
        subqueries: &mut Vec<BoundSub>,
    ) -> Result<Vec<Assign>, SqlError> {
        let mut out = Vec::with_capacity(i.on_duplicate.len());
        for a in &i.on_duplicate {
            let (table, column) = match names.locate(&a.column, Clause::FieldList)? {
                Some(found) => found,
                None => {
                    let e =
                        SqlError::unknown_column(&column_text(&a.column), Clause::FieldList.text());
                    return Err(self.hide_column_for(Priv::Update, names, &a.column, e));
                }
            };
            if is_left_to_itself(table, column, &a.value)? {
                continue;
            }
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
                            source,
                        }),
                    };
                    let e: Expr =
                        Binder::new(self.ctx.cx, &mut scope, Clause::FieldList).bind(e)?;
                    self.note_params(&e);
                    Some(assigned_to(e, table.data_type(column)))
                }
            };
            out.push(Assign {
                column: column as u16,
                value,
            });
        }
        Ok(out)
    }

    /// The names of ON DUPLICATE KEY UPDATE beside a SELECT: the table's columns, and around them the SELECT's.
    fn names_and_source<'n>(
        &self,
        table: &Arc<Table>,
        slot: u16,
        own: &Names<'_>,
        from: &'n Names<'n>,
    ) -> Names<'n> {
        let mut names = Names {
            parent: Some(from),
            views: own.views.clone(),
            ..self.table_names(table, slot)
        };
        names.tables[0].seen.clone_from(&own.tables[0].seen);
        names.tables[0].hidden = own.tables[0].hidden;
        names
    }

    /// What is to hold of rows that these assignments change.
    pub(crate) fn rules_of_changes(
        &self,
        table: &Table,
        assigns: &[Assign],
        touch: &[u16],
    ) -> Result<RowRules, SqlError> {
        if assigns.is_empty() {
            return Ok(RowRules::default());
        }
        let changes = |c: u16| touch.contains(&c) || assigns.iter().any(|a| a.column == c);
        RowRules::of(&table.def, &changes, self.ctx.cx)
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

/// What an INSERT writes to.
pub(super) struct InsertTarget {
    /// The table.
    pub table: Arc<Table>,
    /// Its slot.
    pub slot: u16,
    /// Its names, or those of the view that it is written through.
    pub names: Names<'static>,
    /// Its columns that get values, in order.
    pub columns: Vec<u16>,
}

impl StatementBinder<'_> {
    fn insert_target(&self, i: &ast::Insert, usage: Usage) -> Result<InsertTarget, SqlError> {
        if let Some(view) = self.named_view(&i.table, usage)? {
            return self.view_target(i, &view.name, usage);
        }
        let table = self.stored_table(&i.table, usage)?;
        let slot = self.take_slots(1)?;
        let mut names = self.table_names(&table, slot);
        // As the statement calls it: a table that is being made from a query is not known by its name yet.
        let (schema, name) = (self.schema_of(&i.table)?, &*i.table.name);
        names.tables[0].seen = Some(self.watch(schema, name));
        let columns = insert_columns(&table, &i.columns, i.may_repeat);
        let columns = columns.map_err(|(c, e)| self.hide_column_for(Priv::Insert, &names, c, e))?;
        let given = columns.iter().map(|&c| column_name(&table, c)).collect();
        let named = !i.columns.is_empty();
        self.require_columns(schema, name, Priv::Insert, given, named)?;
        Ok(InsertTarget {
            table,
            slot,
            names,
            columns,
        })
    }
}

/// The columns of a SELECT that ON DUPLICATE KEY UPDATE reads.
fn source_columns_read(
    assigns: &[Assign],
    subqueries: &[BoundSub],
    from: &Names<'_>,
) -> Vec<Listed> {
    let mut out: Vec<Listed> = Vec::new();
    let mut add = |slot: u16, ordinal: u16| {
        let l = Listed { slot, ordinal };
        if from.table(slot).is_some() && !out.contains(&l) {
            out.push(l);
        }
    };
    for e in assigns.iter().filter_map(|a| a.value.as_ref()) {
        e.walk(&mut |x| {
            if let Node::Column(c) = &x.node {
                add(c.slot, c.ordinal);
            }
            true
        });
    }
    let outer = subqueries.iter().flat_map(|s| &s.outer);
    outer.for_each(|&(slot, ordinal)| add(slot, ordinal));
    out
}

/// Checks `AS new(a, b)`.
///
/// # Errors
/// 1066 for the table's own name, 1353 for another number of columns, 1060 for a name twice.
fn check_row_alias(
    alias: &ast::RowAlias,
    table: &ast::ObjectName,
    columns: usize,
) -> Result<(), SqlError> {
    if *alias.name == *table.name {
        return Err(SqlError::new(
            codes::ER_NONUNIQ_TABLE,
            format!("Not unique table/alias: '{}'", alias.name),
        ));
    }
    if !alias.columns.is_empty() && alias.columns.len() != columns {
        return Err(SqlError::new(
            codes::ER_VIEW_WRONG_LIST,
            "In definition of view, derived table or common table expression, SELECT list and column names list have different column counts",
        ));
    }
    for (n, name) in alias.columns.iter().enumerate() {
        if alias.columns[..n].iter().any(|o| same_name(o, name)) {
            return Err(SqlError::dup_column(name));
        }
    }
    Ok(())
}

/// The name of a column.
pub(crate) fn column_name(table: &Table, column: u16) -> &str {
    &table.def.columns[usize::from(column)].name
}

/// Refuses values that are given to generated columns: they may be named, and nothing but DEFAULT assigned to them.
///
/// # Errors
/// 3105.
pub(crate) fn refuse_generated(
    table: &Table,
    given: impl IntoIterator<Item = u16>,
) -> Result<(), SqlError> {
    let mut given = given.into_iter();
    let generated = given.find(|&c| table.def.columns[usize::from(c)].generated.is_some());
    match generated {
        None => Ok(()),
        Some(c) => Err(SqlError::new(
            codes::ER_NON_DEFAULT_VALUE_FOR_GENERATED_COLUMN,
            format!(
                "The value specified for generated column '{}' in table '{}' is not allowed.",
                column_name(table, c),
                table.def.name
            ),
        )),
    }
}

/// The same of the rows of VALUES.
fn refuse_values(
    table: &Table,
    columns: &[u16],
    rows: &[Vec<InsertValue>],
) -> Result<(), SqlError> {
    for row in rows {
        let given = columns.iter().zip(row);
        let given = given.filter(|(_, v)| matches!(v, InsertValue::Expr(_)));
        refuse_generated(table, given.map(|(&c, _)| c))?;
    }
    Ok(())
}

/// Whether it is a generated column that is assigned DEFAULT, which changes nothing of it.
///
/// # Errors
/// 3105 for any other value.
pub(crate) fn is_left_to_itself(
    table: &FromTable,
    column: usize,
    value: &ast::Expr,
) -> Result<bool, SqlError> {
    let TableSource::Engine(table) = &table.source else {
        return Ok(false);
    };
    if table.def.columns[column].generated.is_none() {
        return Ok(false);
    }
    if !matches!(value, ast::Expr::Default) {
        refuse_generated(table, [column as u16])?;
    }
    Ok(true)
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

fn insert_columns<'c>(
    table: &Table,
    given: &'c [ast::ColumnRef],
    may_repeat: bool,
) -> Result<Vec<u16>, (&'c ast::ColumnRef, SqlError)> {
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
            .position(|d| fits && d.is_named(&c.name))
            .ok_or_else(|| {
                let e = SqlError::unknown_column(&column_text(c), Clause::FieldList.text());
                (c, e)
            })? as u16;
        if !may_repeat && out.contains(&at) {
            let e = SqlError::new(
                codes::ER_FIELD_SPECIFIED_TWICE,
                format!("Column '{}' specified twice", c.name),
            );
            return Err((c, e));
        }
        out.push(at);
    }
    Ok(out)
}
