//! CREATE INDEX, DROP INDEX and ALTER TABLE. [`altered_table`] says what all actions together make of the definition. Where rows stay as they are the
//! engine changes the definition, builds what indexes are new and drops what is gone; where not, [`rebuild`] writes the rows again.
//!
//! Must never do: look up a position in one definition of a table and use it in another. What comes of the actions is worked out from the
//! definition that the engine then finds unchanged, or else once more.

use std::sync::Arc;

use engine::{ColumnDef, ColumnDefault, IndexDef, IndexKind, Table, TableDef};
use types::error::codes;
use types::{DataType, SqlError};

use crate::context::Session;
use crate::context::TableName;
use sql_expr::vars::SqlMode;
use sql_parser::ast::{AlterAction, AlterTable, CreateIndex, DropIndex, KeyDef, Name, TableOption};
use sql_plan::sink::Done;

use super::altered::{AlteredTable, Origin};
use super::columns::DefCtx;
use super::identifier::check_identifier;
use super::{altered_table, default, rebuild, tablespace, temporary};

fn done() -> Done {
    Done {
        info: "Records: 0  Duplicates: 0  Warnings: 0".into(),
        ..Done::default()
    }
}

/// CREATE INDEX.
pub async fn create_index(s: &mut Session, stmt: &CreateIndex) -> Result<Done, SqlError> {
    let alter = AlterTable {
        name: stmt.table.clone(),
        actions: vec![AlterAction::AddKey(KeyDef::Index(stmt.index.clone()))],
        algorithm: stmt.algorithm.clone(),
        lock: stmt.lock.clone(),
    };
    run(s, &alter).await
}

/// DROP INDEX.
pub async fn drop_index(s: &mut Session, stmt: &DropIndex) -> Result<Done, SqlError> {
    let alter = AlterTable {
        name: stmt.table.clone(),
        actions: vec![AlterAction::DropIndex(stmt.name.clone())],
        algorithm: stmt.algorithm.clone(),
        lock: stmt.lock.clone(),
    };
    run(s, &alter).await
}

/// How the statement wants to be carried out.
struct AlterMethod<'a> {
    algorithm: &'a str,
    lock: &'a str,
}

impl<'a> AlterMethod<'a> {
    /// # Errors
    /// 1800, 1801; 1221, 1846 where the clauses do not go together.
    fn of(
        algorithm: &'a Option<Name>,
        lock: &'a Option<Name>,
    ) -> Result<AlterMethod<'a>, SqlError> {
        let algorithm = algorithm.as_deref().unwrap_or("DEFAULT");
        let lock = lock.as_deref().unwrap_or("DEFAULT");
        if !matches!(algorithm, "DEFAULT" | "INSTANT" | "INPLACE" | "COPY") {
            return Err(SqlError::new(
                codes::ER_UNKNOWN_ALTER_ALGORITHM,
                format!("Unknown ALGORITHM '{algorithm}'"),
            ));
        }
        if !matches!(lock, "DEFAULT" | "NONE" | "SHARED" | "EXCLUSIVE") {
            return Err(SqlError::new(
                codes::ER_UNKNOWN_ALTER_LOCK,
                format!("Unknown LOCK type '{lock}'"),
            ));
        }
        match (algorithm, lock) {
            ("INSTANT", "NONE" | "SHARED" | "EXCLUSIVE") => Err(SqlError::new(
                codes::ER_WRONG_USAGE,
                "Incorrect usage of ALGORITHM=INSTANT and LOCK=NONE/SHARED/EXCLUSIVE",
            )),
            ("COPY", "NONE") => Err(SqlError::new(
                codes::ER_ALTER_OPERATION_NOT_SUPPORTED_REASON,
                "LOCK=NONE is not supported. Reason: COPY algorithm requires a lock. Try LOCK=SHARED.",
            )),
            _ => Ok(AlterMethod { algorithm, lock }),
        }
    }

    /// Refuses what takes more than a change of the definition where nothing else is wanted.
    fn allow_work(&self) -> Result<(), SqlError> {
        match self.algorithm {
            "INSTANT" => Err(SqlError::new(
                codes::ER_ALTER_OPERATION_NOT_SUPPORTED,
                "ALGORITHM=INSTANT is not supported for this operation. Try ALGORITHM=COPY/INPLACE.",
            )),
            _ => Ok(()),
        }
    }
}

/// ALTER TABLE. What cannot be carried out is refused before anything is.
pub async fn run(s: &mut Session, stmt: &AlterTable) -> Result<Done, SqlError> {
    let way = AlterMethod::of(&stmt.algorithm, &stmt.lock)?;
    let n = s.changeable_name(&stmt.name)?;
    s.implicit_commit().await?;
    s.find_base_table(&n)?;
    for a in &stmt.actions {
        refuse(a)?;
    }
    if s.temporary_table(&n).is_some() {
        temporary::refuse_foreign_keys_of(&stmt.actions)?;
    }
    if let Some(verb) = tablespace::verb(&stmt.actions) {
        return tablespace::run(s, &n, verb).await;
    }
    let renamed = target(s, &n, &stmt.actions)?;
    loop {
        let t = s.find_base_table(&n)?;
        if t.def.options.discarded && stmt.actions.iter().any(changes_definition) {
            return Err(SqlError::tablespace_discarded(&n.name));
        }
        let mut made = with_def_ctx(s, &t.def, |ctx| {
            altered_table::apply(&t.def, &stmt.actions, ctx)
        })?;
        match t.def.is_temporary() {
            true => temporary::check(s, &made.def)?,
            false => refuse_unsafe(s, &made)?,
        }
        let again = way.algorithm == "COPY" || stmt.actions.iter().any(writes_rows);
        let stays = match again {
            true => None,
            false => unwritten(s, &t.def, &made)?,
        };
        let Some(def) = stays else {
            way.allow_work()?;
            // Foreign keys follow in a step of their own.
            let apart = renamed
                .as_ref()
                .filter(|to| is_tied(s, &t.def, &made.def, to));
            if let (Some(to), None) = (&renamed, apart) {
                made.def.rename(&to.schema, &to.name);
            }
            let counted = way.algorithm == "COPY" || !is_in_place(&t.def, &made);
            let Some(done) = rewrite(s, &t, &made, way.lock, counted).await? else {
                continue;
            };
            if let Some(to) = apart {
                let to = (to.schema.clone(), to.name.clone());
                let pair = ((n.schema, n.name), to);
                s.engine.rename_tables(&[pair]).await?;
            }
            return Ok(done);
        };
        if !same_indexes(&t.def, &def) || t.def.foreign_keys != def.foreign_keys {
            way.allow_work()?;
        }
        let change = stmt.actions.iter().any(changes_definition);
        if change && !s.engine.alter_table(&t, def).await? {
            continue;
        }
        if let Some(to) = renamed {
            if let Some(t) = s.temporary_table(&n).cloned() {
                s.engine.rename_temporary_table(&t, &to.schema, &to.name)?;
                return Ok(done());
            }
            let pair = ((n.schema, n.name), (to.schema, to.name));
            s.engine.rename_tables(&[pair]).await?;
        }
        return Ok(done());
    }
}

/// Refuses what cannot be done at all.
fn refuse(a: &AlterAction) -> Result<(), SqlError> {
    let refused = |what: &str| Err(SqlError::not_supported(&format!("ALTER TABLE {what}")));
    match a {
        AlterAction::PartitionBy(_)
        | AlterAction::RemovePartitioning
        | AlterAction::AddPartition(..)
        | AlterAction::Partitions(..)
        | AlterAction::CoalescePartition(_)
        | AlterAction::ReorganizePartition(..)
        | AlterAction::ExchangePartition(..) => refused("PARTITION"),
        _ => Ok(()),
    }
}

/// Refuses to give rows what a replica would give them otherwise: the binary log has the statement, and not the rows.
///
/// # Errors
/// 1674.
fn refuse_unsafe(s: &Session, made: &AlteredTable) -> Result<(), SqlError> {
    let columns = made.def.columns.iter().zip(&made.origins);
    let mut new = columns.filter(|(_, o)| **o == Origin::New);
    match s.binlog_context(&[]).is_some() && new.any(|(c, _)| default::differs_again(&c.default)) {
        true => Err(SqlError::fixed(codes::ER_BINLOG_UNSAFE_SYSTEM_FUNCTION)),
        false => Ok(()),
    }
}

/// Whether rows are written again whatever comes of the definition.
fn writes_rows(a: &AlterAction) -> bool {
    match a {
        AlterAction::Force
        | AlterAction::Option(
            TableOption::Engine(_) | TableOption::RowFormat(_) | TableOption::KeyBlockSize(_),
        ) => true,
        AlterAction::Option(TableOption::Other(name, _)) => name.as_ref() == "COMPRESSION",
        _ => false,
    }
}

/// Whether it has anything to do with the table's definition under its present name.
pub(super) fn changes_definition(a: &AlterAction) -> bool {
    !matches!(
        a,
        AlterAction::RenameTo(_)
            | AlterAction::OrderBy(_)
            | AlterAction::Keys(_)
            | AlterAction::Validation(_)
    )
}

/// The table's new name, if it gets one: of the current database where it names none, whatever the table is in.
///
/// # Errors
/// 1044, 1046, 1049; 1050: there is a table of that name.
fn target(
    s: &mut Session,
    n: &TableName,
    actions: &[AlterAction],
) -> Result<Option<TableName>, SqlError> {
    let to = actions.iter().rev().find_map(|a| match a {
        AlterAction::RenameTo(to) => Some(to),
        _ => None,
    });
    let Some(to) = to else {
        return Ok(None);
    };
    let to = s.changeable_name(to)?;
    check_identifier(&to.name, "table")?;
    if to == *n {
        return Ok(None);
    }
    let temporary = s.temporary_table(n).is_some();
    let catalog = s.engine.catalog();
    if catalog.schema(&to.schema).is_none() {
        return Err(SqlError::unknown_db(&to.schema));
    }
    let taken = match temporary {
        true => catalog.own_table(&to.schema, &to.name).is_some(),
        false => {
            catalog.defines(&to.schema, &to.name) || catalog.view(&to.schema, &to.name).is_some()
        }
    };
    if taken {
        return Err(SqlError::table_exists(&to.name));
    }
    Ok(Some(to))
}

/// The definition that the actions make, where no row has to be written for it: those there are mean the same under it, also in columns that
/// are added at the end and can be filled with what is the same for all of them.
fn unwritten(
    s: &mut Session,
    old: &TableDef,
    made: &AlteredTable,
) -> Result<Option<TableDef>, SqlError> {
    let had = old.columns.len();
    if made.verify || made.recomputed(old).contains(&true) {
        return Ok(None);
    }
    let mut def = made.def.clone();
    let columns = old.columns.iter().zip(&def.columns).zip(&made.origins);
    let kept = columns.enumerate().all(|(i, ((was, is), origin))| {
        *origin == Origin::Kept(i as u16)
            && was.nullable == is.nullable
            && was.auto_increment == is.auto_increment
    });
    let strict_dates = {
        let mode = s.vars.hot().sql_mode;
        mode.strict() && mode.has(SqlMode::NO_ZERO_DATE)
    };
    let new = def.columns.get(had..);
    let filled = new.is_some_and(|new| new.iter().all(|c| same_for_all(c, strict_dates)));
    if !kept || !filled {
        return Ok(None);
    }
    let Some(indexes) = unwritten_indexes(old, &def.indexes) else {
        return Ok(None);
    };
    if def.columns.len() > had && indexes.iter().any(|x| x.id == 0) {
        return Ok(None);
    }
    def.indexes = indexes;
    for (is, was) in def.columns.iter_mut().zip(&old.columns) {
        is.fill.clone_from(&was.fill);
    }
    s.with_ctx(Session::NO_PARAMS, |cx| {
        for c in &mut def.columns[had..] {
            c.fill = Some(rebuild::filling(c, cx));
        }
        Ok(())
    })?;
    def.id = old.id;
    Ok(Some(def))
}

/// Whether rows that are there get the same in a new column.
fn same_for_all(c: &ColumnDef, strict_dates: bool) -> bool {
    let dated = matches!(
        c.ty,
        DataType::Date | DataType::DateTime(_) | DataType::Timestamp(_)
    );
    let zero = dated && !c.nullable && matches!(c.default, ColumnDefault::None);
    let computed = matches!(c.default, ColumnDefault::Expr(_)) || c.auto_increment;
    !(computed || zero && strict_dates)
}

/// The indexes in the table's own order, new ones behind; `None` where the clustered one would be another.
fn unwritten_indexes(old: &TableDef, made: &[IndexDef]) -> Option<Vec<IndexDef>> {
    let mut indexes = Vec::with_capacity(made.len() + 1);
    for was in &old.indexes {
        if was.kind == IndexKind::Hidden {
            indexes.push(was.clone());
        } else if let Some(is) = made.iter().find(|x| x.id == was.id) {
            if is.parts != was.parts || is.kind != was.kind {
                return None;
            }
            indexes.push(is.clone());
        }
    }
    let primary = |x: &&IndexDef| x.kind == IndexKind::Primary && x.id == 0;
    if indexes.first()?.id != old.indexes.first()?.id || made.iter().any(|x| primary(&x)) {
        return None;
    }
    indexes.extend(made.iter().filter(|x| x.id == 0).cloned());
    Some(indexes)
}

/// Whether foreign keys have to do with a table that gets another name.
fn is_tied(s: &mut Session, old: &TableDef, def: &TableDef, to: &TableName) -> bool {
    let catalog = s.engine.catalog();
    if old.is_temporary() {
        return false;
    }
    let named = |schema: &str, name: &str| !catalog.children_of(schema, name).is_empty();
    !old.foreign_keys.is_empty()
        || !def.foreign_keys.is_empty()
        || named(&old.schema, &old.name)
        || named(&to.schema, &to.name)
}

fn same_indexes(old: &TableDef, new: &TableDef) -> bool {
    let ids = |d: &TableDef| d.indexes.iter().map(|x| x.id).collect::<Vec<_>>();
    ids(old) == ids(new)
}

/// Whether MySQL changes the table in place, though it may write its rows again: it counts no rows as copied then.
fn is_in_place(old: &TableDef, made: &AlteredTable) -> bool {
    let primary = |d: &TableDef| d.indexes.iter().any(|x| x.kind == IndexKind::Primary);
    let computed = |c: &ColumnDef| {
        let stored = c.generated.as_ref().is_some_and(|g| g.stored);
        stored || matches!(c.default, ColumnDefault::Expr(_))
    };
    let new = made.origins.iter().zip(&made.def.columns);
    let as_they_are = new.into_iter().all(|(origin, c)| match origin {
        Origin::Kept(_) => true,
        // That it may not be NULL is found out in place.
        Origin::Converted(i) => old.columns[usize::from(*i)].ty == c.ty && c.generated.is_none(),
        Origin::New => !computed(c),
    });
    // The values of a virtual column are nowhere; but InnoDB adds one in place only where nothing else is changed.
    let is_virtual = |(origin, c): (&Origin, &ColumnDef)| {
        matches!(origin, Origin::New) && c.generated.as_ref().is_some_and(|g| !g.stored)
    };
    let added = { made.origins.iter().zip(&made.def.columns) }
        .filter(|x| is_virtual(*x))
        .count();
    let alone = made.def.columns.len() == old.columns.len() + added
        && { made.origins.iter().zip(&made.def.columns) }
            .all(|x| matches!(x.0, Origin::Kept(_)) || is_virtual(x))
        && same_indexes(old, &made.def);
    if added > 0 {
        return alone && !old.is_temporary() && !made.verify;
    }
    as_they_are
        && !old.is_temporary()
        && !made.verify
        && !made.recomputed(old).contains(&true)
        && (primary(&made.def) || !primary(old))
}

/// Rebuilds the table as `made` says; `None` where it has changed meanwhile. `counted`: the rows count as copied.
async fn rewrite(
    s: &mut Session,
    t: &Arc<Table>,
    made: &AlteredTable,
    lock: &str,
    counted: bool,
) -> Result<Option<Done>, SqlError> {
    let rows = rebuild::run(s, t, made, lock).await?;
    let rows = rows.map(|rows| if counted { rows } else { 0 });
    let warnings = s.diagnostics.total();
    Ok(rows.map(|rows| Done {
        info: format!("Records: {rows}  Duplicates: 0  Warnings: {warnings}").into(),
        affected: rows,
        ..Done::default()
    }))
}

/// Rebuilds a table as it is.
pub(crate) async fn rebuild_as_is(s: &mut Session, n: &TableName) -> Result<(), SqlError> {
    loop {
        let t = s.find_base_table(n)?;
        if t.def.options.discarded {
            return Err(SqlError::tablespace_discarded(&n.name));
        }
        let made = with_def_ctx(s, &t.def, |ctx| altered_table::apply(&t.def, &[], ctx))?;
        if rebuild::run(s, &t, &made, "DEFAULT").await?.is_some() {
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
