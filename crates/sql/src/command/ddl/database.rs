//! CREATE, ALTER and DROP DATABASE.

use engine::SchemaDef;
use types::error::codes;
use types::{CollationId, Level, SqlError, Warning};

use crate::context::Session;
use sql_parser::ast::{AlterDatabase, CreateDatabase, DatabaseOptions};
use sql_plan::sink::Done;

use super::identifier::check_identifier;
use super::table;

fn server_collation(s: &Session) -> CollationId {
    let name = s.vars.text("collation_server");
    CollationId::by_name(&name).unwrap_or(CollationId::DEFAULT)
}

fn collation(o: &DatabaseOptions) -> Result<Option<CollationId>, SqlError> {
    if o.encryption
        .as_deref()
        .is_some_and(|e| e.eq_ignore_ascii_case(b"Y"))
    {
        return Err(SqlError::not_supported("ENCRYPTION='Y'"));
    }
    if o.read_only.flatten() == Some(true) {
        return Err(SqlError::not_supported("READ ONLY = 1"));
    }
    table::table_collation(o.charset.as_deref(), o.collation.as_deref())
}

/// CREATE DATABASE.
pub async fn create(s: &mut Session, stmt: &CreateDatabase) -> Result<Done, SqlError> {
    let name = stmt.name.as_ref();
    check_identifier(name, "database")?;
    s.check_schema_change(name)?;
    let collation = collation(&stmt.options)?.unwrap_or_else(|| server_collation(s));
    s.implicit_commit().await?;
    if s.engine.catalog().schema(name).is_some() {
        return exists(s, name, stmt.if_not_exists);
    }
    let def = SchemaDef {
        name: name.to_owned(),
        collation,
    };
    match s.engine.create_schema(def).await {
        Err(e) if e.code == 1007 => exists(s, name, stmt.if_not_exists),
        r => r.map(|()| Done {
            affected: 1,
            ..Done::default()
        }),
    }
}

fn exists(s: &mut Session, name: &str, if_not_exists: bool) -> Result<Done, SqlError> {
    let e = SqlError::db_exists(name);
    if !if_not_exists {
        return Err(e);
    }
    s.warn(Warning::new(Level::Note, e.code, e.message));
    Ok(Done {
        affected: 1,
        ..Done::default()
    })
}

/// ALTER DATABASE.
pub async fn alter(s: &mut Session, stmt: &AlterDatabase) -> Result<Done, SqlError> {
    let name = s.schema_or_current(stmt.name.as_deref())?;
    s.check_schema_change(&name)?;
    let wanted = collation(&stmt.options)?;
    s.implicit_commit().await?;
    let (name, old) = s.find_schema(&name)?;
    let collation = wanted.unwrap_or(old);
    s.engine
        .alter_schema(SchemaDef {
            name: name.clone(),
            collation,
        })
        .await?;
    if s.database() == Some(name.as_str()) {
        s.set_database(Some(name), collation);
    }
    Ok(Done {
        affected: 1,
        ..Done::default()
    })
}

/// DROP DATABASE.
pub async fn drop(s: &mut Session, if_exists: bool, name: &str) -> Result<Done, SqlError> {
    s.check_schema_change(name)?;
    s.implicit_commit().await?;
    if s.engine.catalog().schema(name).is_none() {
        let e = SqlError::db_drop_missing(name);
        if !if_exists {
            return Err(e);
        }
        s.warn(Warning::new(Level::Note, e.code, e.message));
        return Ok(Done::default());
    }
    if name == "mysql" {
        return Err(SqlError::new(
            codes::ER_NO_SYSTEM_SCHEMA_ACCESS,
            "Access to system schema 'mysql' is rejected.",
        ));
    }
    let tables = s.engine.drop_schema(name).await?;
    if s.database() == Some(name) {
        let collation = server_collation(s);
        s.set_database(None, collation);
    }
    Ok(Done {
        affected: tables as u64,
        ..Done::default()
    })
}
