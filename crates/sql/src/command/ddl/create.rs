//! CREATE TABLE with columns, LIKE another table, or from a query.

use std::sync::Arc;

use engine::{ColumnDef, ColumnDefault, IndexKind, TableDef, UNFINISHED};
use types::error::codes;
use types::{CollationId, Level, SqlError, Value, Warning};

use crate::command::planned::REPLANS;
use crate::context::Session;
use sql_exec::ExecError;
use sql_expr::vars::SqlMode;
use sql_parser::ast::{self, CreateTable};
use sql_plan::plan::Plan;
use sql_plan::sink::{ColumnMeta, Done, ResultSink};

use super::binlog_text;
use super::checks;
use super::columns::DefCtx;
use super::identifier::check_identifier;
use super::invisible_key;
use super::keys;
use super::table;
use super::temporary;

/// CREATE TABLE.
pub async fn run(
    s: &mut Session,
    stmt: &CreateTable,
    params: &[Value],
    sink: &mut dyn ResultSink,
) -> Result<Done, SqlError> {
    let name = s.changeable_name(&stmt.name)?;
    if !stmt.temporary {
        s.implicit_commit().await?;
    }
    let (schema, collation) = s.find_schema(&name.schema)?;
    let taken = match stmt.temporary {
        true => s.temporary_table(&name).is_some(),
        false => {
            let catalog = s.engine.catalog();
            catalog.base_table(&schema, &name.name).is_some()
                || catalog.view(&schema, &name.name).is_some()
        }
    };
    if taken {
        return exists(s, &name.name, stmt.if_not_exists);
    }
    may_start_transaction(s, stmt)?;
    if let Some(other) = &stmt.like {
        check_identifier(&name.name, "table")?;
        let def = like(s, other, &schema, &name.name)?;
        return make(s, def, stmt).await;
    }
    let Some(query) = &stmt.query else {
        let def = define(s, stmt, Vec::new(), &schema, collation)?;
        let columns = def.columns.len();
        let def = with_key(s, def)?;
        if def.columns.len() > columns && !stmt.temporary {
            binlog_text::log_with_key(s, &def, stmt.if_not_exists);
        }
        return make(s, def, stmt).await;
    };
    for _ in 0..REPLANS {
        let made = from_query(s, stmt, query, &schema, collation, params, sink).await;
        if let Some(made) = ExecError::unless_stale(made) {
            return made;
        }
    }
    Err(SqlError::fixed(codes::ER_TABLE_DEF_CHANGED))
}

/// Whether a transaction begins with the table, in which its rows come.
fn starts_transaction(stmt: &CreateTable) -> bool {
    stmt.options.iter().any(table::is_start_of_transaction)
}

/// Refuses START TRANSACTION where it means nothing, and of whoever is not to say it: rows of such a table are those of a binary log.
fn may_start_transaction(s: &Session, stmt: &CreateTable) -> Result<(), SqlError> {
    if !starts_transaction(stmt) {
        return Ok(());
    }
    if stmt.temporary {
        return Err(table::no_start_of_transaction(
            "to create temporary tables.",
        ));
    }
    if stmt.query.is_some() {
        let what = "with CREATE TABLE ... AS SELECT statement.";
        return Err(table::no_start_of_transaction(what));
    }
    match s.makes_with_rows {
        true => Ok(()),
        false => {
            let what = "CREATE TABLE .. START TRANSACTION that is not a replica's";
            Err(SqlError::not_supported(what))
        }
    }
}

/// Foreign keys of a table that is made with its rows: where a binary log is to have it, as MySQL has it.
fn may_refer(s: &Session, def: &TableDef, as_mysql: bool) -> Result<(), SqlError> {
    match def.foreign_keys.is_empty() || !as_mysql || s.binlog_context(&[]).is_none() {
        true => Ok(()),
        false => Err(SqlError::fixed(
            codes::ER_FOREIGN_KEY_WITH_ATOMIC_CREATE_SELECT,
        )),
    }
}

fn exists(s: &mut Session, name: &str, if_not_exists: bool) -> Result<Done, SqlError> {
    let e = SqlError::table_exists(name);
    if !if_not_exists {
        return Err(e);
    }
    s.warn(Warning::new(Level::Note, e.code, e.message));
    Ok(Done::default())
}

async fn make(s: &mut Session, def: TableDef, stmt: &CreateTable) -> Result<Done, SqlError> {
    let name = def.name.clone();
    let made = match stmt.temporary {
        true => {
            temporary::check(s, &def)?;
            s.engine.create_temporary_table(def).await
        }
        false if s.makes_with_rows => {
            may_refer(s, &def, starts_transaction(stmt))?;
            let begun = s.engine.begin_table(def.clone(), &name).await;
            begun.inspect(|()| binlog_text::log_making(s, &def))
        }
        false => s.engine.create_table(def).await,
    };
    match made {
        Err(e) if e.code == 1050 => exists(s, &name, stmt.if_not_exists),
        r => r.map(|()| Done::default()),
    }
}

/// The definition a statement's columns, keys and options make.
fn define(
    s: &mut Session,
    stmt: &CreateTable,
    of_query: Vec<ColumnDef>,
    schema: &str,
    collation: CollationId,
) -> Result<TableDef, SqlError> {
    let substitute = !s.vars.hot().sql_mode.has(SqlMode::NO_ENGINE_SUBSTITUTION);
    let (made, warnings) = s.with_ctx(Session::NO_PARAMS, |cx| {
        let mut ctx = DefCtx {
            schema,
            collation,
            cx,
            substitute_engines: substitute,
            warnings: Vec::new(),
        };
        let made = table::definition(stmt, of_query, &mut ctx);
        Ok((made, ctx.warnings))
    })?;
    warnings.into_iter().for_each(|w| s.warn(w));
    made
}

/// The definition with an invisible primary key, where the session wants one for tables that have none.
fn with_key(s: &mut Session, mut def: TableDef) -> Result<TableDef, SqlError> {
    s.with_ctx(Session::NO_PARAMS, |cx| {
        invisible_key::add(&mut def, cx)?;
        Ok(def)
    })
}

fn like(
    s: &mut Session,
    other: &ast::ObjectName,
    schema: &str,
    name: &str,
) -> Result<TableDef, SqlError> {
    let from = s.full_name(other)?;
    let mut def = s.find_base_table(&from)?.def.clone();
    schema.clone_into(&mut def.schema);
    name.clone_into(&mut def.name);
    def.id = 0;
    def.options.auto_increment = 0;
    def.options.created_us = 0;
    def.options.discarded = false;
    def.columns.iter_mut().for_each(|c| c.fill = None);
    def.checks = checks::copied(&def.checks, name)?;
    def.indexes.retain(|i| i.kind != IndexKind::Hidden);
    for i in &mut def.indexes {
        i.id = 0;
        i.asked.for_foreign_key = false;
    }
    // As in MySQL: a copy refers to nothing.
    def.foreign_keys.clear();
    Ok(def)
}

/// CREATE TABLE .. SELECT: the session alone sees the table until all rows are there. Without them there is no table either.
async fn from_query(
    s: &mut Session,
    stmt: &CreateTable,
    query: &ast::Query,
    schema: &str,
    collation: CollationId,
    params: &[Value],
    sink: &mut dyn ResultSink,
) -> Result<Done, ExecError> {
    if query.into.is_some() {
        return Err(SqlError::fixed(codes::ER_MISPLACED_INTO).into());
    }
    let plan = s.plan_for(&ast::Statement::Query(Box::new(query.clone())), params)?;
    let plan = Arc::clone(plan.peek());
    let of_query = query_columns(s, &plan)?;
    let def = define(s, stmt, of_query, schema, collation)?;
    if stmt.temporary {
        temporary::check(s, &def)?;
    }
    let def = with_key(s, def)?;
    let name = def.name.clone();
    let begun = match stmt.temporary {
        true => s.engine.begin_temporary_table(def).await,
        false => {
            may_refer(s, &def, true)?;
            let begun = s.engine.begin_table(def.clone(), UNFINISHED).await;
            begun.inspect(|()| binlog_text::log_making(s, &def))
        }
    };
    if let Err(e) = begun {
        let there = e.code == 1050 && stmt.if_not_exists;
        return match there {
            true => Ok(exists(s, &name, true)?),
            false => Err(e.into()),
        };
    }
    let filled = fill(s, stmt, &plan, query, schema, params, sink).await;
    let done = match filled {
        Ok(done) => done,
        Err(e) => {
            if stmt.temporary {
                s.engine.give_up_unfinished(schema);
                return Err(e);
            }
            // Its rows go with its file: a transaction that the statement has begun is not to be left.
            let undone = s.engine.rollback().await;
            s.engine.give_up_making().await?;
            undone?;
            return Err(e);
        }
    };
    match stmt.temporary {
        true => s.engine.finish_temporary_table(schema)?,
        false => s.engine.finish_table().await?,
    }
    Ok(done)
}

/// Puts the query's rows into the table that is being made.
async fn fill(
    s: &mut Session,
    stmt: &CreateTable,
    plan: &Plan,
    query: &ast::Query,
    schema: &str,
    params: &[Value],
    sink: &mut dyn ResultSink,
) -> Result<Done, ExecError> {
    let column = |name: &str| ast::ColumnRef {
        name: name.into(),
        qualifier: None,
    };
    let insert = ast::Insert {
        replace: stmt.on_duplicate == Some(ast::DuplicatePolicy::Replace),
        hints: ast::Hints::default(),
        priority: ast::WritePriority::Normal,
        ignore: stmt.on_duplicate == Some(ast::DuplicatePolicy::Ignore),
        table: ast::ObjectName {
            schema: Some(schema.into()),
            name: UNFINISHED.into(),
        },
        partitions: Vec::new(),
        columns: plan.columns.iter().map(|c| column(&c.name)).collect(),
        may_repeat: false,
        source: ast::InsertSource::Query(Box::new(query.clone())),
        row_alias: None,
        on_duplicate: Vec::new(),
        returning: Vec::new(),
    };
    let plan = s.plan_for(&ast::Statement::Insert(Box::new(insert)), params)?;
    s.run_plan(&plan, params, sink).await
}

/// The stored column that a column of a query is, and nothing else.
fn copied(s: &mut Session, c: &ColumnMeta) -> Option<ColumnDef> {
    let table = s.engine.catalog().table(&c.schema, &c.org_table)?;
    let column = &table.def.columns[table.def.column(&c.org_name)?];
    (column.ty == c.ty).then(|| column.clone())
}

/// Columns for those of a query. A stored column keeps its default and its comment.
fn query_columns(s: &mut Session, plan: &Plan) -> Result<Vec<ColumnDef>, SqlError> {
    let mut out: Vec<ColumnDef> = Vec::new();
    for c in plan.columns.iter() {
        check_identifier(&c.name, "column")?;
        if keys::column_index(&out, &c.name).is_some() {
            return Err(SqlError::dup_column(&c.name));
        }
        let ty = c.column_type();
        let was = copied(s, c);
        let comment = was.as_ref().map(|w| w.comment.clone());
        let was = was.filter(|w| !w.auto_increment && w.generated.is_none());
        out.push(ColumnDef {
            name: c.name.clone(),
            default: match (was.map(|w| w.default), c.nullable, ty.is_lob()) {
                (Some(d @ (ColumnDefault::Literal(_) | ColumnDefault::Now)), ..) => d,
                (_, true, _) => ColumnDefault::Null,
                (Some(_), ..) | (_, false, true) => ColumnDefault::None,
                // One that is computed or numbered and NOT NULL gets its type's zero, as in MySQL.
                (None, false, false) => ColumnDefault::Literal(types::convert::zero_value(&ty)),
            },
            ty,
            nullable: c.nullable,
            fill: None,
            on_update_now: false,
            auto_increment: false,
            comment: comment.unwrap_or_default(),
            generated: None,
            invisible: false,
        });
    }
    Ok(out)
}
