//! CREATE TABLE with columns, LIKE another table, or from a query.

use std::sync::Arc;

use engine::{ColumnDef, ColumnDefault, IndexKind, TableDef};
use types::{CollationId, DataType, Level, SqlError, Warning};

use crate::context::Session;
use crate::plan::Plan;
use crate::sink::{Done, ResultSink};
use sql_expr::vars::SqlMode;
use sql_parser::ast::{self, CreateTable};

use super::checks;
use super::identifier::check_identifier;
use super::invisible_key;
use super::keys;
use super::table::{self, DefCtx};

/// CREATE TABLE.
pub async fn run(
    s: &mut Session,
    stmt: &CreateTable,
    sink: &mut dyn ResultSink,
) -> Result<Done, SqlError> {
    if stmt.temporary {
        return Err(SqlError::not_supported("CREATE TEMPORARY TABLE"));
    }
    let name = s.changeable_name(&stmt.name)?;
    s.implicit_commit().await?;
    let (schema, collation) = s.find_schema(&name.schema)?;
    let taken = s.engine.catalog().view(&schema, &name.name).is_some();
    if taken || s.engine.catalog().table(&schema, &name.name).is_some() {
        return exists(s, &name.name, stmt.if_not_exists);
    }
    if let Some(other) = &stmt.like {
        check_identifier(&name.name, "table")?;
        let def = like(s, other, &schema, &name.name)?;
        return make(s, def, stmt.if_not_exists).await;
    }
    let Some(query) = &stmt.query else {
        let def = define(s, stmt, &schema, collation)?;
        let def = with_key(s, def)?;
        return make(s, def, stmt.if_not_exists).await;
    };
    from_query(s, stmt, query, &schema, collation, sink).await
}

fn exists(s: &mut Session, name: &str, if_not_exists: bool) -> Result<Done, SqlError> {
    let e = SqlError::table_exists(name);
    if !if_not_exists {
        return Err(e);
    }
    s.warn(Warning::new(Level::Note, e.code, e.message));
    Ok(Done::default())
}

async fn make(s: &mut Session, def: TableDef, if_not_exists: bool) -> Result<Done, SqlError> {
    let name = def.name.clone();
    match s.engine.create_table(def).await {
        Err(e) if e.code == 1050 => exists(s, &name, if_not_exists),
        r => r.map(|()| Done::default()),
    }
}

/// The definition a statement's columns, keys and options make.
fn define(
    s: &mut Session,
    stmt: &CreateTable,
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
        let made = table::definition(stmt, &mut ctx);
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

/// CREATE TABLE .. SELECT: the query's columns follow the written ones, or define those of the same name.
async fn from_query(
    s: &mut Session,
    stmt: &CreateTable,
    query: &ast::Query,
    schema: &str,
    collation: CollationId,
    sink: &mut dyn ResultSink,
) -> Result<Done, SqlError> {
    let plan = s.plan(&ast::Statement::Query(Box::new(query.clone())))?;
    let plan = Arc::clone(plan.peek());
    let def = if stmt.columns.is_empty() && stmt.keys.is_empty() {
        check_identifier(&stmt.name.name, "table")?;
        let mut bare = stmt.clone();
        bare.columns.push(placeholder());
        let mut def = define(s, &bare, schema, collation)?;
        def.columns = query_columns(&plan, &[])?;
        def
    } else if stmt.columns.is_empty() {
        return Err(SqlError::not_supported("keys in CREATE TABLE .. SELECT"));
    } else {
        let mut def = define(s, stmt, schema, collation)?;
        let more = query_columns(&plan, &def.columns)?;
        def.columns.extend(more);
        def
    };
    let def = with_key(s, def)?;
    make(s, def, false).await?;
    let insert = ast::Insert {
        replace: stmt.on_duplicate == Some(ast::DuplicatePolicy::Replace),
        hints: ast::Hints::default(),
        priority: ast::WritePriority::Normal,
        ignore: stmt.on_duplicate == Some(ast::DuplicatePolicy::Ignore),
        table: ast::ObjectName {
            schema: Some(schema.into()),
            name: stmt.name.name.clone(),
        },
        partitions: Vec::new(),
        columns: plan
            .columns
            .iter()
            .map(|c| ast::ColumnRef {
                name: c.name.as_str().into(),
                qualifier: None,
            })
            .collect(),
        may_repeat: false,
        source: ast::InsertSource::Query(Box::new(query.clone())),
        row_alias: None,
        on_duplicate: Vec::new(),
        returning: Vec::new(),
    };
    let r = match s.plan(&ast::Statement::Insert(Box::new(insert))) {
        Ok(plan) => {
            let outcome = s.run_plan(&plan, Session::NO_PARAMS, sink).await;
            outcome.map_err(SqlError::from)
        }
        Err(e) => Err(e),
    };
    if r.is_err() {
        // The statement is one: without its rows there is no table either.
        s.engine.rollback().await?;
        s.engine.drop_table(schema, &stmt.name.name).await?;
        return r;
    }
    s.implicit_commit().await?;
    r
}

fn placeholder() -> ast::ColumnDef {
    ast::ColumnDef {
        name: "c".into(),
        data_type: ast::DataType {
            kind: ast::TypeKind::Int(None),
            unsigned: false,
            zerofill: false,
            charset: None,
            binary: false,
        },
        attributes: Vec::new(),
    }
}

/// Columns for those of a query that `known` does not have.
fn query_columns(plan: &Plan, known: &[ColumnDef]) -> Result<Vec<ColumnDef>, SqlError> {
    let mut out: Vec<ColumnDef> = Vec::new();
    for c in plan.columns.iter() {
        check_identifier(&c.name, "column")?;
        if keys::column_index(known, &c.name).is_some() {
            continue;
        }
        if keys::column_index(&out, &c.name).is_some() {
            return Err(SqlError::dup_column(&c.name));
        }
        let ty = match &c.ty {
            DataType::Null => DataType::Binary(0),
            t => t.clone(),
        };
        out.push(ColumnDef {
            name: c.name.clone(),
            default: match (c.nullable, ty.is_lob()) {
                (true, _) => ColumnDefault::Null,
                (false, true) => ColumnDefault::None,
                // A computed or copied NOT NULL column gets its type's zero as default, as in MySQL.
                (false, false) => ColumnDefault::Literal(types::convert::zero_value(&ty)),
            },
            ty,
            nullable: c.nullable,
            fill: None,
            on_update_now: false,
            auto_increment: false,
            comment: String::new(),
            generated: None,
            invisible: false,
        });
    }
    Ok(out)
}
