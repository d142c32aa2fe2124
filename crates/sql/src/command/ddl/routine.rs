//! CREATE, ALTER and DROP of procedures.
//!
//! What is kept is the text, with the settings that it was read under: it is compiled when it is made, which checks it, and again by each session that runs it.

use engine::{Existing, ObjectDef, ObjectKind};
use types::error::codes;
use types::{CollationId, Level, SqlError, Warning};

use super::identifier::comment;
use crate::context::routine_def::RoutineDef;
use crate::context::{Session, TableName};
use sql_access::account::{RoutineGrant, RoutineId};
use sql_access::context::no_such_definer;
use sql_access::statement::SET_DEFINER;
use sql_access::{Priv, PrivSet};
use sql_parser::ast::{AlterRoutine, CreateRoutine, ObjectName, RoutineTraits};
use sql_plan::sink::Done;

/// Longest name of a routine, in characters.
const MAX_NAME: usize = 64;

/// How a routine is called in the catalog.
pub(crate) fn kind_of(function: bool) -> ObjectKind {
    match function {
        true => ObjectKind::Function,
        false => ObjectKind::Procedure,
    }
}

/// 1305.
pub(crate) fn does_not_exist(kind: &str, name: &TableName) -> SqlError {
    SqlError::new(
        codes::ER_SP_DOES_NOT_EXIST,
        format!("{kind} {}.{} does not exist", name.schema, name.name),
    )
}

/// 1304.
fn exists(def: &RoutineDef) -> SqlError {
    SqlError::new(
        codes::ER_SP_ALREADY_EXISTS,
        format!("{} {} already exists", def.kind(), def.name),
    )
}

fn check_name(name: &str) -> Result<(), SqlError> {
    if name.chars().count() > MAX_NAME {
        return Err(SqlError::new(
            codes::ER_TOO_LONG_IDENT,
            format!("Identifier name '{name}' is too long"),
        ));
    }
    match name.is_empty() || name.ends_with(' ') || name.contains('\0') {
        true => Err(SqlError::new(
            codes::ER_SP_WRONG_NAME,
            format!("Incorrect routine name '{name}'"),
        )),
        false => Ok(()),
    }
}

/// The definition that a statement makes, by its text.
///
/// # Errors
/// 1049; 1815: the text is not there.
pub(super) fn definition(s: &mut Session, stmt: &CreateRoutine) -> Result<RoutineDef, SqlError> {
    let schema = s.schema_or_current(stmt.name.schema.as_deref())?;
    let (_, collation): (_, CollationId) = s.find_schema(&schema)?;
    let text = s.programs.text.clone();
    let text = text.ok_or_else(|| SqlError::internal("a routine without its text"))?;
    let options = s.parse_options();
    let part = |span: sql_parser::ast::Span| {
        let bytes = options.utf8(span.of(&text));
        String::from_utf8_lossy(&bytes).trim().to_owned()
    };
    let definer = match &stmt.definer {
        Some(account) => s.account_id(account)?,
        None => s.security().account().clone(),
    };
    let now = s.now_micros();
    let access = stmt.traits.data_access.as_deref();
    Ok(RoutineDef {
        function: stmt.returns.is_some(),
        name: stmt.name.name.to_string(),
        definer,
        invoker: stmt.traits.invoker.unwrap_or_default(),
        deterministic: stmt.traits.deterministic.unwrap_or_default(),
        data_access: access.unwrap_or("CONTAINS SQL").to_owned(),
        comment: comment(stmt.traits.comment.as_deref(), "routine", &stmt.name.name)?,
        params: part(stmt.params_span),
        returns: String::new(),
        body: part(stmt.body_span),
        sql_mode: s.vars.hot().sql_mode.bits(),
        charset: s.vars.text("character_set_client").to_string(),
        collation: s.vars.connection_collation().name().to_owned(),
        db_collation: collation.name().to_owned(),
        created_us: now,
        altered_us: now,
    })
}

/// CREATE PROCEDURE.
pub async fn create(s: &mut Session, stmt: &CreateRoutine) -> Result<Done, SqlError> {
    let name = s.changeable_name(&stmt.name)?;
    s.implicit_commit().await?;
    check_name(&name.name)?;
    if stmt.returns.is_some() {
        return Err(SqlError::not_supported("CREATE FUNCTION"));
    }
    let def = definition(s, stmt)?;
    let made = crate::describe::compiled::compiled(&def)?;
    made.warnings.into_iter().for_each(|w| s.warn(w));
    if def.definer != *s.security().account() {
        s.security().require(SET_DEFINER)?;
        let state = s.instance().accounts().snapshot();
        if state.find(&def.definer).is_none() {
            let e = no_such_definer(&def.definer);
            s.warn(Warning::new(Level::Note, e.code, e.message));
        }
    }
    let kind = kind_of(def.function);
    let key = name.name.to_lowercase();
    let object = ObjectDef::new(kind, &name.schema, &key, def.encode());
    if !s.engine.put_program(object, Existing::Refused).await? {
        let e = exists(&def);
        if !stmt.if_not_exists {
            return Err(e);
        }
        s.warn(Warning::new(Level::Note, e.code, e.message));
        return Ok(Done::default());
    }
    grant_to_maker(s, &name.schema, &key, def.function).await?;
    Ok(Done::default())
}

/// `automatic_sp_privileges`: whoever makes a routine may run, change and drop it.
async fn grant_to_maker(
    s: &mut Session,
    schema: &str,
    name: &str,
    function: bool,
) -> Result<(), SqlError> {
    let wanted = PrivSet::of(Priv::Execute).with(Priv::AlterRoutine);
    let automatic = s.instance.globals.value_by_name("automatic_sp_privileges");
    let has = s.security().on_routine(schema, !function, name);
    if s.security().is_server() || automatic.is_none_or(|v| v.as_u64() == 0) || has.has_all(wanted)
    {
        return Ok(());
    }
    let account = s.security().account().clone();
    let id = RoutineId {
        schema: schema.into(),
        procedure: !function,
        name: name.into(),
    };
    let grantor: Box<str> = account.plain().into();
    let instance = std::sync::Arc::clone(s.instance());
    let change = |state: &mut sql_access::AccountState| {
        if let Some(a) = state.find_mut(&account) {
            let grant = a.routines.entry(id).or_insert_with(|| RoutineGrant {
                grantor,
                ..RoutineGrant::default()
            });
            grant.privileges = grant.privileges.union(wanted);
        }
        Ok(())
    };
    instance.accounts.change(&instance.engine, change).await
}

/// What is granted on a routine that is gone goes with it.
async fn forget_grants(s: &mut Session, id: RoutineId) -> Result<(), SqlError> {
    let instance = std::sync::Arc::clone(s.instance());
    let state = instance.accounts.snapshot();
    let owners: Vec<_> = state
        .iter()
        .filter(|a| a.routines.contains_key(&id))
        .map(|a| a.id.clone())
        .collect();
    if owners.is_empty() {
        return Ok(());
    }
    let change = |state: &mut sql_access::AccountState| {
        for owner in &owners {
            if let Some(a) = state.find_mut(owner) {
                a.routines.remove(&id);
            }
        }
        Ok(())
    };
    instance.accounts.change(&instance.engine, change).await
}

/// ALTER PROCEDURE and ALTER FUNCTION.
pub async fn alter(s: &mut Session, stmt: &AlterRoutine) -> Result<Done, SqlError> {
    let name = s.changeable_name(&stmt.name)?;
    s.implicit_commit().await?;
    let kind = kind_of(stmt.function);
    let key = name.name.to_lowercase();
    let catalog = std::sync::Arc::clone(s.engine.catalog());
    let word = if stmt.function {
        "FUNCTION"
    } else {
        "PROCEDURE"
    };
    let Some(old) = catalog.object(kind, &name.schema, &key) else {
        return Err(does_not_exist(word, &name));
    };
    let RoutineTraits {
        comment: text,
        deterministic,
        data_access,
        invoker,
    } = &stmt.traits;
    if deterministic.is_some() {
        return Err(SqlError::parse_error("DETERMINISTIC", 1));
    }
    let mut def = RoutineDef::of(old)?;
    if text.is_some() {
        def.comment = comment(text.as_deref(), "routine", &def.name)?;
    }
    if let Some(access) = data_access {
        def.data_access = access.to_string();
    }
    def.invoker = invoker.unwrap_or(def.invoker);
    def.altered_us = s.now_micros();
    let object = ObjectDef::new(kind, &name.schema, &key, def.encode());
    match s.engine.put_program(object, Existing::Required).await? {
        true => Ok(Done::default()),
        false => Err(does_not_exist(word, &name)),
    }
}

/// DROP PROCEDURE and DROP FUNCTION.
pub async fn drop(
    s: &mut Session,
    function: bool,
    if_exists: bool,
    name: &ObjectName,
) -> Result<Done, SqlError> {
    s.implicit_commit().await?;
    let name = s.changeable_name(name)?;
    let key = name.name.to_lowercase();
    let kind = kind_of(function);
    if s.engine.drop_program(kind, &name.schema, &key).await? {
        let id = RoutineId {
            schema: name.schema.as_str().into(),
            procedure: !function,
            name: key.into(),
        };
        forget_grants(s, id).await?;
        return Ok(Done::default());
    }
    let word = if function { "FUNCTION" } else { "PROCEDURE" };
    let e = does_not_exist(word, &name);
    if !if_exists {
        return Err(e);
    }
    s.warn(Warning::new(Level::Note, e.code, e.message));
    Ok(Done::default())
}
