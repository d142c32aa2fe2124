//! Errors and notes of statements about accounts.

use types::error::codes;
use types::{Level, SqlError, Warning};

use sql_access::AccountId;

/// 1396: what a statement could not do, and to whom.
pub(super) fn failed(operation: &str, names: &[String]) -> SqlError {
    SqlError::new(
        codes::ER_CANNOT_USER,
        format!("Operation {operation} failed for {}", names.join(",")),
    )
}

/// 1141.
pub(super) fn no_such_grant(id: &AccountId) -> SqlError {
    SqlError::new(
        codes::ER_NONEXISTING_GRANT,
        format!(
            "There is no such grant defined for user '{}' on host '{}'",
            id.user, id.host
        ),
    )
}

/// 1147.
pub(super) fn no_such_table_grant(id: &AccountId, table: &str) -> SqlError {
    SqlError::new(
        codes::ER_NONEXISTING_TABLE_GRANT,
        format!(
            "There is no such grant defined for user '{}' on host '{}' on table '{table}'",
            id.user, id.host
        ),
    )
}

/// 1403.
pub(super) fn no_such_routine_grant(id: &AccountId, routine: &str) -> SqlError {
    SqlError::new(
        codes::ER_NONEXISTING_PROC_GRANT,
        format!(
            "There is no such grant defined for user '{}' on host '{}' on routine '{routine}'",
            id.user, id.host
        ),
    )
}

/// 1227, where no list of rights says what is missing.
pub(super) fn missing(what: &str) -> SqlError {
    SqlError::new(
        codes::ER_SPECIFIC_ACCESS_DENIED_ERROR,
        format!(
            "Access denied; you need (at least one of) the {what} privilege(s) for this operation"
        ),
    )
}

/// 1144.
pub(super) fn illegal_grant() -> SqlError {
    SqlError::new(
        codes::ER_ILLEGAL_GRANT_FOR_TABLE,
        "Illegal GRANT/REVOKE command; please consult the manual to see which privileges can be used",
    )
}

/// 3523.
pub(super) fn unknown_authorization(id: &AccountId) -> SqlError {
    SqlError::new(
        codes::ER_UNKNOWN_AUTHID,
        format!("Unknown authorization ID {}", id.ticked()),
    )
}

/// 3530.
pub(super) fn role_not_granted(role: &AccountId, to: &AccountId) -> SqlError {
    SqlError::new(
        codes::ER_ROLE_NOT_GRANTED,
        format!("{} is not granted to {}", role.ticked(), to.ticked()),
    )
}

/// 3628.
pub(super) fn mandatory(role: &AccountId) -> SqlError {
    SqlError::new(
        codes::ER_MANDATORY_ROLE,
        format!(
            "The role {} is a mandatory role and can't be revoked or dropped. The restriction can be lifted by excluding the role \
             identifier from the global variable mandatory_roles.",
            role.ticked()
        ),
    )
}

/// 4027.
pub(super) fn loop_of_roles(to: &AccountId, role: &AccountId) -> SqlError {
    SqlError::new(
        codes::ER_ROLE_GRANTED_TO_ITSELF,
        format!(
            "User account {} is directly or indirectly granted to the role {}. The GRANT would create a loop",
            to.ticked(),
            role.ticked()
        ),
    )
}

/// 1524.
pub(super) fn no_plugin(plugin: &str) -> SqlError {
    SqlError::new(
        codes::ER_PLUGIN_IS_NOT_LOADED,
        format!("Plugin '{plugin}' is not loaded"),
    )
}

/// 3162, as a note.
pub(super) fn does_not_exist(id: &AccountId) -> Warning {
    let text = format!("Authorization ID {} does not exist.", id.quoted());
    Warning::new(Level::Note, codes::ER_USER_DOES_NOT_EXIST, text)
}

/// 3163, as a note.
pub(super) fn exists_already(id: &AccountId) -> Warning {
    let text = format!("Authorization ID {} already exists.", id.quoted());
    Warning::new(Level::Note, codes::ER_USER_ALREADY_EXISTS, text)
}
