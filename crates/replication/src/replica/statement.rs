//! A statement of the other server: what it is, and the settings under which it ran there, made those of the session here.

use sql::Session;
use sql_expr::vars::VarInput;
use sql_expr::{Coercibility, ExprType, UserVar, Val};
use sql_parser::ast::Statement;
use types::error::codes;
use types::{CollationId, SqlError};
use wire::binlog::column::{ColumnType, code};
use wire::binlog::control::{Context, VariableValue};
use wire::binlog::query::{Own, Settings, flags2};
use wire::read::Reader;

/// Bits of `sql_mode` that servers before MySQL 8.0 had, and that change nothing of what a statement does now: MySQL 8.0 takes them off as well
/// (its `MODE_IGNORED_MASK`).
const OLD_MODES: u64 = 0x3_FF00 | 1 << 28;
/// The one of them that MariaDB still goes by: it reads other statements.
const ORACLE: u64 = 1 << 9;
/// Bits of `sql_mode` that mean the same for MySQL and MariaDB.
const COMMON_MODES: u64 = u32::MAX as u64;
/// MariaDB's TIME_ROUND_FRACTIONAL: without it digits of a second that a column has no room for are cut off, which MySQL does with
/// TIME_TRUNCATE_FRACTIONAL alone.
const MARIA_ROUNDS: u64 = 1 << 34;
const TRUNCATES: u64 = 1 << 32;
/// `sql_mode` of rows: a number is what it is, and so is a date.
const MODE_OF_ROWS: u64 = 1 << 19 | 1 << 25;

/// What a statement does to the transaction around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// It changes rows, in the transaction.
    Rows,
    /// It changes something of the session or the transaction alone, a temporary table included.
    Session,
    /// It commits by itself.
    Definition,
    /// A part of a distributed transaction.
    Distributed,
}

/// Classifies a statement.
pub(super) fn classify(statement: &Statement) -> Class {
    match statement {
        Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Query(_)
        | Statement::Do(_)
        | Statement::LoadData(_)
        | Statement::Call(_) => Class::Rows,
        Statement::Savepoint(_)
        | Statement::RollbackTo(_)
        | Statement::ReleaseSavepoint(_)
        | Statement::Set(_)
        | Statement::Nothing
        | Statement::Use(_) => Class::Session,
        Statement::CreateTable(t) if t.temporary => Class::Session,
        Statement::DropTable(t) if t.temporary => Class::Session,
        Statement::Xa(_) => Class::Distributed,
        _ => Class::Definition,
    }
}

/// Settings that last from one statement to the next, as they were last made the session's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Lasting {
    flags2: u32,
    sql_mode: u64,
    auto_increment: (u16, u16),
    /// Of client, connection and server.
    collations: Option<(u16, u16, u16)>,
    time_zone: Vec<u8>,
    /// `lc_time_names`, by its number.
    time_names: u16,
    /// What only servers of this kind say; else it is what this server's own is.
    own: Option<Own>,
}

/// Makes settings those of a session.
#[derive(Debug, Default)]
pub(super) struct Setter {
    last: Option<Lasting>,
    /// Of the transaction's beginning: what this server's own binary log says of its rows. A replica may know no other.
    collations: Option<(u16, u16, u16)>,
}

/// Error 1273.
fn unknown_collation(id: u16) -> SqlError {
    SqlError::new(
        codes::ER_UNKNOWN_COLLATION,
        format!("Unknown collation: '#{id}'"),
    )
}

fn collation(id: u16) -> Result<CollationId, SqlError> {
    let c = CollationId(id);
    c.is_known()
        .then_some(c)
        .ok_or_else(|| unknown_collation(id))
}

/// MySQL's `sql_mode` for that of MariaDB.
fn of_maria(mode: u64) -> u64 {
    let common = mode & COMMON_MODES;
    match mode & MARIA_ROUNDS {
        0 => common | TRUNCATES,
        _ => common,
    }
}

fn text(s: &str) -> VarInput {
    VarInput::Text(s.to_owned())
}

impl Setter {
    /// Those of a statement. `maria`: MariaDB writes.
    ///
    /// # Errors
    /// What is not known here.
    pub fn of_statement(
        &mut self,
        s: &mut Session,
        settings: &Settings<'_>,
        maria: bool,
    ) -> Result<(), SqlError> {
        let mode = settings.sql_mode.unwrap_or(0);
        let wanted = Lasting {
            flags2: settings.flags2.unwrap_or(0),
            sql_mode: match maria {
                true => of_maria(mode) & !(OLD_MODES & !ORACLE),
                false => mode & !OLD_MODES,
            },
            auto_increment: settings.auto_increment.unwrap_or((1, 1)),
            collations: settings.collations,
            time_zone: settings.time_zone.unwrap_or(b"SYSTEM").to_vec(),
            time_names: settings.lc_time_names.unwrap_or(0),
            own: settings.own,
        };
        // The collation of what names utf8mb4 alone is always the same here.
        let other = |id: u16| CollationId(id) != CollationId::DEFAULT;
        if settings.utf8mb4_collation.is_some_and(other) {
            let what = "default_collation_for_utf8mb4 of a statement of the source";
            return Err(SqlError::not_supported(what));
        }
        self.set(s, wanted)
    }

    /// A transaction begins under these.
    pub fn of_transaction(&mut self, settings: &Settings<'_>) {
        let known = |id: u16| CollationId(id).is_known();
        let all = |c: &(u16, u16, u16)| known(c.0) && known(c.1) && known(c.2);
        self.collations = settings.collations.filter(all);
    }

    /// Those of rows.
    ///
    /// # Errors
    /// What setting a variable fails with.
    pub fn of_rows(
        &mut self,
        s: &mut Session,
        foreign_keys: bool,
        unique: bool,
    ) -> Result<(), SqlError> {
        let mut bits = 0;
        if !foreign_keys {
            bits |= flags2::NO_FOREIGN_KEY_CHECKS;
        }
        if !unique {
            bits |= flags2::RELAXED_UNIQUE_CHECKS;
        }
        s.set_applied_time(None);
        self.set(
            s,
            Lasting {
                flags2: bits,
                sql_mode: MODE_OF_ROWS,
                auto_increment: (1, 1),
                collations: self
                    .collations
                    .or_else(|| self.last.as_ref().and_then(|l| l.collations)),
                time_zone: b"+00:00".to_vec(),
                time_names: 0,
                own: None,
            },
        )
    }

    fn set(&mut self, s: &mut Session, wanted: Lasting) -> Result<(), SqlError> {
        if self.last.as_ref() == Some(&wanted) {
            return Ok(());
        }
        // After an error nothing is known of what is set.
        let before = self.last.take();
        let differs =
            |of: fn(&Lasting, &Lasting) -> bool| before.as_ref().is_none_or(|b| of(b, &wanted));
        if differs(|a, b| a.flags2 != b.flags2) {
            let off = |bit| VarInput::Int(i64::from(wanted.flags2 & bit == 0));
            s.set_applied("foreign_key_checks", &off(flags2::NO_FOREIGN_KEY_CHECKS))?;
        }
        if differs(|a, b| a.sql_mode != b.sql_mode) {
            s.set_applied_mode(wanted.sql_mode)?;
        }
        if differs(|a, b| a.auto_increment != b.auto_increment) {
            let (increment, offset) = wanted.auto_increment;
            s.set_applied("auto_increment_increment", &VarInput::Int(increment.into()))?;
            s.set_applied("auto_increment_offset", &VarInput::Int(offset.into()))?;
        }
        if let Some((client, connection, server)) = wanted.collations
            && differs(|a, b| a.collations != b.collations)
        {
            let client = collation(client)?.charset().name();
            s.set_applied("character_set_client", &text(client))?;
            s.set_applied("collation_connection", &text(collation(connection)?.name()))?;
            s.set_applied("collation_server", &text(collation(server)?.name()))?;
        }
        if differs(|a, b| a.time_zone != b.time_zone) {
            let zone = String::from_utf8_lossy(&wanted.time_zone);
            s.set_applied("time_zone", &text(&zone))?;
        }
        if differs(|a, b| a.time_names != b.time_names) {
            s.set_applied("lc_time_names", &VarInput::Int(wanted.time_names.into()))?;
        }
        if differs(|a, b| a.own != b.own) {
            let value = |of: fn(Own) -> u8| {
                let own = wanted.own.map(of);
                own.map_or(VarInput::Default, |n| VarInput::Int(n.into()))
            };
            s.set_applied("default_week_format", &value(|o| o.week_format))?;
            s.set_applied("div_precision_increment", &value(|o| o.div_precision))?;
            s.set_applied("innodb_strict_mode", &value(|o| o.strict_storage.into()))?;
        }
        self.last = Some(wanted);
        Ok(())
    }
}

/// Gives a session what the next statement uses: numbers, seeds, a user variable.
///
/// # Errors
/// What makes no sense.
pub(super) fn set_context(s: &mut Session, context: &Context<'_>) -> Result<(), SqlError> {
    match *context {
        Context::LastInsertId(id) => s.set_applied("last_insert_id", &VarInput::Uint(id)),
        Context::InsertId(id) => s.set_applied("insert_id", &VarInput::Uint(id)),
        Context::Rand(a, b) => {
            s.set_applied("rand_seed1", &VarInput::Uint(a))?;
            s.set_applied("rand_seed2", &VarInput::Uint(b))
        }
        Context::Variable { name, value } => {
            let name = String::from_utf8_lossy(name);
            s.set_applied_user_variable(&name, user_variable(value)?);
            Ok(())
        }
    }
}

fn user_variable(value: Option<VariableValue<'_>>) -> Result<UserVar, SqlError> {
    let (value, ty) = match value {
        None => (Val::Null, ExprType::null()),
        Some(VariableValue::Int(n)) => (Val::Int(n), ExprType::int(20, true)),
        Some(VariableValue::UInt(n)) => (Val::Uint(n), ExprType::uint(20, true)),
        Some(VariableValue::Real(n)) => (Val::Double(n), ExprType::double(true)),
        Some(VariableValue::Decimal(bytes)) => {
            let malformed = || SqlError::internal("a decimal that is none");
            let (about, digits) = bytes.split_at_checked(2).ok_or_else(malformed)?;
            let ty = ColumnType {
                code: code::DECIMAL,
                about: [about[0], about[1]],
            };
            let v = ty.read(&mut Reader::new(digits), false);
            match v.map_err(|_| malformed())? {
                types::Value::Decimal(d) => {
                    (Val::Decimal(d), ExprType::decimal(about[0], about[1], true))
                }
                _ => return Err(malformed()),
            }
        }
        Some(VariableValue::Text(bytes, id)) => {
            let id = u16::try_from(id).unwrap_or(u16::MAX);
            let c = collation(id)?;
            let chars = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            let ty = match c.is_binary() {
                true => ExprType::bytes(chars, true),
                false => ExprType::text(chars, c, Coercibility::Implicit, true),
            };
            (Val::Bytes(bytes.to_vec().into()), ty)
        }
    };
    Ok(UserVar { value, ty })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_of_mariadb_keeps_what_it_means() {
        assert_eq!(of_maria(1 << 21), 1 << 21 | 1 << 32);
        assert_eq!(of_maria(1 << 21 | 1 << 34), 1 << 21);
        // EMPTY_STRING_IS_NULL and SIMULTANEOUS_ASSIGNMENT have no bits here.
        assert_eq!(of_maria(3 << 32), 1 << 32);
    }
}
