//! CREATE INDEX, DROP INDEX and ALTER TABLE: which actions change the definition alone, and what is done for these. Where rows
//! have to be written again, [`reform`] says what comes of all actions together, and [`rebuild`] does it.

use std::sync::Arc;

use engine::{ColumnDef, ColumnDefault, IndexDef, IndexKind, Table, TableDef};
use types::error::codes;
use types::{DataType, Level, SqlError, Warning};

use crate::parse::ast::{
    self, AlterAction, AlterTable, CreateIndex, DropIndex, KeyDef, ObjectName, TableOption,
};
use crate::session::Session;
use crate::session::TableName;
use crate::sink::Done;
use crate::vars::SqlMode;

use super::row_format::{self, Asked};
use super::table::{self, DefCtx};
use super::{check_identifier, default, keys, rebuild, reform};

fn done() -> Done {
    Done {
        info: "Records: 0  Duplicates: 0  Warnings: 0".to_owned(),
        ..Done::default()
    }
}

/// Finds the table of an ALTER after committing what is open.
async fn open(s: &mut Session, name: &ObjectName) -> Result<(TableName, Arc<Table>), SqlError> {
    let n = s.changeable_name(name)?;
    s.implicit_commit().await?;
    let t = s.find_table(&n)?;
    Ok((n, t))
}

/// CREATE INDEX.
pub async fn create_index(s: &mut Session, stmt: &CreateIndex) -> Result<Done, SqlError> {
    let (n, _) = open(s, &stmt.table).await?;
    add_index(s, &n, &stmt.index).await?;
    Ok(done())
}

/// DROP INDEX.
pub async fn drop_index(s: &mut Session, stmt: &DropIndex) -> Result<Done, SqlError> {
    let (n, _) = open(s, &stmt.table).await?;
    remove_index(s, &n, &stmt.name).await?;
    Ok(done())
}

async fn add_index(s: &mut Session, n: &TableName, def: &ast::IndexDef) -> Result<(), SqlError> {
    let t = s.find_table(n)?;
    let longest = row_format::longest_part(&t.def.options, &s.vars);
    let index = keys::build(&t.def.columns, def, longest)?;
    let shown = t.def.indexes.iter().filter(|i| i.kind != IndexKind::Hidden);
    let mut all: Vec<IndexDef> = shown.cloned().collect();
    if index.kind == IndexKind::Primary {
        return Err(SqlError::internal(
            "a primary key is added to rows that stay",
        ));
    }
    all.push(index);
    keys::name_all(&t.def.columns, &mut all)?;
    let Some(index) = all.pop() else {
        return Ok(());
    };
    if let Some(same) = all
        .iter()
        .find(|i| i.parts == index.parts && i.kind == index.kind)
    {
        let _ = same;
        s.warn(Warning::new(
            Level::Warning,
            codes::ER_DUP_INDEX,
            format!(
                "Duplicate index '{}' defined on the table '{}.{}'. This is deprecated and will be disallowed in a future release.",
                index.name, n.schema, n.name
            ),
        ));
    }
    s.engine.create_index(&n.schema, &n.name, index).await
}

async fn remove_index(s: &mut Session, n: &TableName, name: &str) -> Result<(), SqlError> {
    let t = s.find_table(n)?;
    let at = keys::index_position(&t.def.indexes, name).ok_or_else(|| SqlError::cant_drop(name))?;
    let mut left = t.def.indexes.clone();
    let index = left.remove(at);
    keys::check_auto_increment(&t.def.columns, &left)?;
    s.engine.drop_index(&n.schema, &n.name, &index.name).await
}

/// ALTER TABLE. What cannot be carried out is refused before anything is.
pub async fn run(s: &mut Session, stmt: &AlterTable) -> Result<Done, SqlError> {
    check_way(stmt)?;
    let (mut n, mut t) = open(s, &stmt.name).await?;
    loop {
        let instant = added_columns(s, &t.def, &stmt.actions)?;
        if let Some(columns) = instant {
            let (id, had) = (t.def.id, t.def.columns.len());
            let mut stale = false;
            let f = |d: &mut TableDef| {
                stale = d.id != id || d.columns.len() != had;
                if !stale {
                    d.columns.extend(columns);
                }
            };
            meta(s, &n, f).await?;
            if !stale {
                return Ok(done());
            }
            t = s.find_table(&n)?;
            continue;
        }
        let mut rewrites = false;
        for a in &stmt.actions {
            rewrites |= check_action(s, &t.def, a)?;
        }
        if !rewrites {
            break;
        }
        if let Some(done) = rewrite(s, &n, &t, stmt).await? {
            return Ok(done);
        }
        t = s.find_table(&n)?;
    }
    for a in &stmt.actions {
        action(s, &mut n, a).await?;
    }
    let options: Vec<&TableOption> = stmt
        .actions
        .iter()
        .filter_map(|a| match a {
            AlterAction::Option(o) => Some(o),
            _ => None,
        })
        .collect();
    if !options.is_empty() {
        set_options(s, &n, &options).await?;
    }
    Ok(done())
}

/// Refuses names of algorithms and locks that there are none of.
fn check_way(stmt: &AlterTable) -> Result<(), SqlError> {
    if let Some(a) = &stmt.algorithm
        && !matches!(&**a, "DEFAULT" | "INSTANT" | "INPLACE" | "COPY")
    {
        return Err(SqlError::new(
            codes::ER_UNKNOWN_ALTER_ALGORITHM,
            format!("Unknown ALGORITHM '{a}'"),
        ));
    }
    match &stmt.lock {
        Some(l) if !matches!(&**l, "DEFAULT" | "NONE" | "SHARED" | "EXCLUSIVE") => {
            Err(SqlError::new(
                codes::ER_UNKNOWN_ALTER_LOCK,
                format!("Unknown LOCK type '{l}'"),
            ))
        }
        _ => Ok(()),
    }
}

/// The new columns, where there is nothing else to do than to add them at the end, and they can be filled with what is the same for
/// all rows: then none has to be written.
fn added_columns(
    s: &mut Session,
    def: &TableDef,
    actions: &[AlterAction],
) -> Result<Option<Vec<ColumnDef>>, SqlError> {
    let last = |a: &AlterAction| matches!(a, AlterAction::AddColumn { position: None, .. });
    if actions.is_empty() || !actions.iter().all(last) {
        return Ok(None);
    }
    let mut made = with_def_ctx(s, def, |ctx| reform::reform(def, actions, ctx))?;
    let same_keys = made.def.indexes.len()
        == def
            .indexes
            .iter()
            .filter(|i| i.kind != IndexKind::Hidden)
            .count();
    let strict_dates = {
        let mode = s.vars.hot().sql_mode;
        mode.strict() && mode.has(SqlMode::NO_ZERO_DATE)
    };
    let mut columns = made.def.columns.split_off(def.columns.len());
    let same_for_all = columns.iter().all(|c| {
        let dated = matches!(
            c.ty,
            DataType::Date | DataType::DateTime(_) | DataType::Timestamp(_)
        );
        let zero = dated && !c.nullable && matches!(c.default, ColumnDefault::None);
        let computed = matches!(c.default, ColumnDefault::Expr(_)) || c.auto_increment;
        !(computed || zero && strict_dates)
    });
    if !same_keys || !same_for_all {
        return Ok(None);
    }
    s.with_ctx(Session::NO_PARAMS, |cx| {
        for c in &mut columns {
            c.fill = Some(rebuild::filling(c, cx));
        }
        Ok(())
    })?;
    Ok(Some(columns))
}

/// Rebuilds the table as all the actions say; `None` where it has changed meanwhile.
async fn rewrite(
    s: &mut Session,
    n: &TableName,
    t: &Arc<Table>,
    stmt: &AlterTable,
) -> Result<Option<Done>, SqlError> {
    if stmt.algorithm.as_deref() == Some("INSTANT") {
        return Err(SqlError::new(
            codes::ER_ALTER_OPERATION_NOT_SUPPORTED,
            "ALGORITHM=INSTANT is not supported for this operation. Try ALGORITHM=COPY/INPLACE.",
        ));
    }
    let mut made = with_def_ctx(s, &t.def, |ctx| reform::reform(&t.def, &stmt.actions, ctx))?;
    for a in &stmt.actions {
        if let AlterAction::RenameTo(to) = a {
            let target = renamed(s, n, to)?;
            made.def.schema = target.schema;
            made.def.name = target.name;
        }
    }
    let rows = rebuild::run(s, t, &made, stmt.lock.as_deref()).await?;
    let warnings = s.diagnostics.total();
    Ok(rows.map(|rows| Done {
        info: format!("Records: {rows}  Duplicates: 0  Warnings: {warnings}"),
        affected: rows,
        ..Done::default()
    }))
}

/// Rebuilds a table as it is.
pub(super) async fn rebuild_as_is(s: &mut Session, n: &TableName) -> Result<(), SqlError> {
    loop {
        let t = s.find_table(n)?;
        let made = with_def_ctx(s, &t.def, |ctx| reform::reform(&t.def, &[], ctx))?;
        if rebuild::run(s, &t, &made, None).await?.is_some() {
            return Ok(());
        }
    }
}

fn with_def_ctx<R>(
    s: &mut Session,
    def: &TableDef,
    f: impl FnOnce(&mut DefCtx<'_, '_>) -> Result<R, SqlError>,
) -> Result<R, SqlError> {
    let substitute = !s.vars.hot().sql_mode.has(SqlMode::NO_ENGINE_SUBSTITUTION);
    let (r, warnings) = s.with_ctx(Session::NO_PARAMS, |cx| {
        let mut ctx = DefCtx {
            schema: &def.schema,
            collation: def.options.collation,
            cx,
            substitute_engines: substitute,
            warnings: Vec::new(),
        };
        let r = f(&mut ctx);
        Ok((r, ctx.warnings))
    })?;
    warnings.into_iter().for_each(|w| s.warn(w));
    r
}

fn refused(what: &str) -> Result<bool, SqlError> {
    Err(SqlError::not_supported(&format!("ALTER TABLE {what}")))
}

/// Whether rows have to be written again; refuses what cannot be done at all.
fn check_action(s: &mut Session, def: &TableDef, a: &AlterAction) -> Result<bool, SqlError> {
    match a {
        AlterAction::AddColumn { .. }
        | AlterAction::DropColumn(_)
        | AlterAction::DropPrimaryKey
        | AlterAction::Force
        | AlterAction::Option(
            TableOption::Engine(_) | TableOption::RowFormat(_) | TableOption::KeyBlockSize(_),
        ) => Ok(true),
        AlterAction::Option(TableOption::Other(name, _)) => Ok(name.as_ref() == "COMPRESSION"),
        AlterAction::ModifyColumn { column, position } => {
            let name = column.name.clone();
            Ok(!changed_column(s, def, &name, column, position.is_some())?.1)
        }
        AlterAction::ChangeColumn {
            old,
            column,
            position,
        } => Ok(!changed_column(s, def, old, column, position.is_some())?.1),
        AlterAction::AddKey(KeyDef::Index(i)) => Ok(i.kind == ast::IndexKind::Primary),
        AlterAction::AddKey(k) => table::refuse_constraint(k).map(|()| false),
        AlterAction::DropForeignKey(name)
        | AlterAction::DropCheck(name)
        | AlterAction::DropConstraint(name) => Err(SqlError::cant_drop(name)),
        AlterAction::Enforce(name, _) => Err(SqlError::new(
            3821,
            format!("Check constraint '{name}' is not found in the table."),
        )),
        AlterAction::ConvertTo { charset, collation } => {
            let wanted = table::table_collation(charset.as_deref(), collation.as_deref())?;
            let character = |t: &DataType| t.is_character() && !matches!(t, DataType::Json);
            let same = |c: &engine::ColumnDef| {
                !character(&c.ty) || wanted.is_some_and(|w| c.ty.collation() == w)
            };
            Ok(!def.columns.iter().all(same))
        }
        AlterAction::Tablespace(_) => refused("TABLESPACE"),
        AlterAction::PartitionBy(_)
        | AlterAction::RemovePartitioning
        | AlterAction::AddPartition(..)
        | AlterAction::Partitions(..)
        | AlterAction::CoalescePartition(_)
        | AlterAction::ReorganizePartition(..)
        | AlterAction::ExchangePartition(..) => refused("PARTITION"),
        _ => Ok(false),
    }
}

async fn action(s: &mut Session, n: &mut TableName, a: &AlterAction) -> Result<(), SqlError> {
    match a {
        AlterAction::AddKey(KeyDef::Index(i)) => add_index(s, n, i).await,
        AlterAction::DropIndex(name) => remove_index(s, n, name).await,
        AlterAction::ModifyColumn { column, .. } => {
            replace_column(s, n, &column.name, column).await
        }
        AlterAction::ChangeColumn { old, column, .. } => replace_column(s, n, old, column).await,
        AlterAction::SetDefault {
            column,
            expr,
            parenthesised,
        } => set_default(s, n, column, Some((expr, *parenthesised))).await,
        AlterAction::DropDefault(column) => set_default(s, n, column, None).await,
        AlterAction::ColumnVisibility(column, visible) => {
            let at = find_column(s, n, column)?;
            let visible = *visible;
            meta(s, n, move |d| d.columns[at].invisible = !visible).await
        }
        AlterAction::IndexVisibility(index, visible) => {
            let t = s.find_table(n)?;
            let at = find_index(&t.def, n, index)?;
            let visible = *visible;
            meta(s, n, move |d| d.indexes[at].invisible = !visible).await
        }
        AlterAction::RenameColumn(from, to) => {
            check_identifier(to, "column")?;
            let at = find_column(s, n, from)?;
            let t = s.find_table(n)?;
            if keys::column_index(&t.def.columns, to).is_some_and(|i| i != at) {
                return Err(SqlError::dup_column(to));
            }
            let to = to.to_string();
            meta(s, n, move |d| d.columns[at].name = to).await
        }
        AlterAction::RenameIndex(from, to) => {
            check_identifier(to, "")?;
            let t = s.find_table(n)?;
            let at = find_index(&t.def, n, from)?;
            if keys::index_position(&t.def.indexes, to).is_some_and(|i| i != at) {
                return Err(SqlError::dup_key_name(to));
            }
            let to = to.to_string();
            meta(s, n, move |d| d.indexes[at].name = to).await
        }
        AlterAction::RenameTo(to) => rename_to(s, n, to).await,
        AlterAction::ConvertTo { charset, collation } => {
            let wanted = table::table_collation(charset.as_deref(), collation.as_deref())?;
            match wanted {
                Some(w) => meta(s, n, move |d| d.options.collation = w).await,
                None => Ok(()),
            }
        }
        // What is left changes nothing here: FORCE, ENABLE KEYS, ORDER BY, options (taken together later).
        _ => Ok(()),
    }
}

fn renamed(s: &mut Session, n: &TableName, to: &ObjectName) -> Result<TableName, SqlError> {
    let schema = to.schema.as_deref().unwrap_or(&n.schema).to_owned();
    s.check_schema_change(&schema)?;
    check_identifier(&to.name, "table")?;
    Ok(TableName {
        schema,
        name: to.name.to_string(),
    })
}

async fn rename_to(s: &mut Session, n: &mut TableName, to: &ObjectName) -> Result<(), SqlError> {
    let target = renamed(s, n, to)?;
    if target != *n {
        let pair = (
            (n.schema.clone(), n.name.clone()),
            (target.schema.clone(), target.name.clone()),
        );
        s.engine.rename_tables(&[pair]).await?;
        *n = target;
    }
    Ok(())
}

async fn meta(
    s: &mut Session,
    n: &TableName,
    f: impl FnOnce(&mut TableDef) + Send,
) -> Result<(), SqlError> {
    s.engine.alter_table_meta(&n.schema, &n.name, f).await
}

fn find_column(s: &mut Session, n: &TableName, name: &str) -> Result<usize, SqlError> {
    let t = s.find_table(n)?;
    keys::column_index(&t.def.columns, name)
        .ok_or_else(|| SqlError::unknown_column(name, &t.def.name))
}

/// Position of an index by name; error 1176 where there is none.
fn find_index(def: &TableDef, n: &TableName, name: &str) -> Result<usize, SqlError> {
    position_of(&def.indexes, &n.name, name)
}

/// Position of one of a table's indexes by name.
///
/// # Errors
/// 1176.
pub(super) fn position_of(
    indexes: &[IndexDef],
    table: &str,
    name: &str,
) -> Result<usize, SqlError> {
    keys::index_position(indexes, name).ok_or_else(|| {
        SqlError::new(
            codes::ER_KEY_DOES_NOT_EXITS,
            format!("Key '{name}' doesn't exist in table '{table}'"),
        )
    })
}

async fn set_default(
    s: &mut Session,
    n: &TableName,
    column: &str,
    value: Option<(&ast::Expr, bool)>,
) -> Result<(), SqlError> {
    let at = find_column(s, n, column)?;
    let t = s.find_table(n)?;
    let c = &t.def.columns[at];
    let new = match value {
        None => ColumnDefault::None,
        Some((expr, parenthesised)) => s.with_ctx(Session::NO_PARAMS, |cx| {
            default::resolve(
                &c.name,
                &c.ty,
                c.nullable,
                expr,
                parenthesised,
                &t.def.columns,
                cx,
            )
        })?,
    };
    meta(s, n, move |d| d.columns[at].default = new).await
}

/// The new definition of a column, and whether it leaves all rows as they are.
fn changed_column(
    s: &mut Session,
    def: &TableDef,
    old: &str,
    written: &ast::ColumnDef,
    moved: bool,
) -> Result<(table::BuiltColumn, bool), SqlError> {
    let at = keys::column_index(&def.columns, old)
        .ok_or_else(|| SqlError::unknown_column(old, &def.name))?;
    let mut built = with_def_ctx(s, def, |ctx| {
        table::column(written, &def.columns, def.options.collation, ctx)
    })?;
    let taken = keys::column_index(&def.columns, &built.def.name);
    if taken.is_some_and(|i| i != at) {
        return Err(SqlError::dup_column(&built.def.name));
    }
    let now = &def.columns[at];
    let in_primary = def
        .indexes
        .iter()
        .filter(|i| i.kind == IndexKind::Primary)
        .flat_map(|i| &i.parts)
        .any(|p| usize::from(p.column) == at);
    if in_primary && !built.explicit_null {
        built.def.nullable = false;
        if matches!(built.def.default, ColumnDefault::Null) {
            built.def.default = ColumnDefault::None;
        }
    }
    let primary_again = built.keys.iter().any(|k| k.kind == ast::IndexKind::Primary);
    let same = fits(&now.ty, &built.def.ty)
        && now.nullable == built.def.nullable
        && now.auto_increment == built.def.auto_increment
        && !primary_again
        && !moved;
    Ok((built, same))
}

/// Whether values stored as `old` are values of `new` as they are.
pub(super) fn fits(old: &DataType, new: &DataType) -> bool {
    match (old, new) {
        (
            DataType::Int {
                width: a,
                unsigned: ua,
                ..
            },
            DataType::Int {
                width: b,
                unsigned: ub,
                ..
            },
        ) => a == b && ua == ub,
        (
            DataType::VarChar {
                chars: a,
                collation: ca,
            },
            DataType::VarChar {
                chars: b,
                collation: cb,
            },
        ) => a <= b && ca == cb,
        (DataType::VarBinary(a), DataType::VarBinary(b)) => a <= b,
        (a, b) => a == b,
    }
}

async fn replace_column(
    s: &mut Session,
    n: &TableName,
    old: &str,
    written: &ast::ColumnDef,
) -> Result<(), SqlError> {
    let t = s.find_table(n)?;
    let (built, _) = changed_column(s, &t.def, old, written, false)?;
    let at = find_column(s, n, old)?;
    let def = built.def;
    meta(s, n, move |d| d.columns[at] = def).await?;
    for k in &built.keys {
        add_index(s, n, k).await?;
    }
    Ok(())
}

async fn set_options(
    s: &mut Session,
    n: &TableName,
    options: &[&TableOption],
) -> Result<(), SqlError> {
    let t = s.find_table(n)?;
    let substitute = !s.vars.hot().sql_mode.has(SqlMode::NO_ENGINE_SUBSTITUTION);
    let mut o = t.def.options.clone();
    let mut warnings = Vec::new();
    let (mut charset, mut collation) = (None, None);
    for w in options {
        match w {
            TableOption::Charset(c) => charset = Some(c.as_ref()),
            TableOption::Collate(c) => collation = Some(c.as_ref()),
            _ => {}
        }
        table::option(&n.name, &mut o, w, substitute, &mut warnings)?;
    }
    if let Some(c) = table::table_collation(charset, collation)? {
        o.collation = c;
    }
    let checked = row_format::check(&n.name, &o, Asked::Alter, &s.vars, &mut warnings);
    warnings.into_iter().for_each(|w| s.warn(w));
    checked?;
    meta(s, n, move |d| d.options = o).await
}
