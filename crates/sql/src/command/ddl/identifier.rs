//! Names and comments that a definition gives to something.

use types::SqlError;
use types::error::codes;

/// Bytes of a comment as text; `kind` and `name` are of what it is about.
///
/// # Errors
/// 4088: they are no UTF-8.
pub(super) fn comment(bytes: Option<&[u8]>, kind: &str, name: &str) -> Result<String, SqlError> {
    let bytes = bytes.unwrap_or_default();
    let Err(e) = std::str::from_utf8(bytes) else {
        return Ok(String::from_utf8_lossy(bytes).into_owned());
    };
    let shown: String = bytes[e.valid_up_to()..]
        .iter()
        .take(6)
        .map(|b| format!("\\x{b:02X}"))
        .collect();
    Err(SqlError::new(
        codes::ER_COMMENT_CONTAINS_INVALID_STRING,
        format!(
            "Comment for {kind} '{name}' contains an invalid utf8mb4 character string: '{shown}'."
        ),
    ))
}

/// Longest name of a database, table, column or index, in characters.
const MAX_NAME: usize = 64;

/// Checks a name that is to be given to something; an empty index name means that none was written.
///
/// # Errors
/// 1059, 1102, 1103, 1166.
pub(super) fn check_identifier(name: &str, kind: &str) -> Result<(), SqlError> {
    if name.chars().count() > MAX_NAME {
        return Err(SqlError::new(
            codes::ER_TOO_LONG_IDENT,
            format!("Identifier name '{name}' is too long"),
        ));
    }
    let bad = name.is_empty() || name.ends_with(' ') || name.contains('\0');
    match kind {
        "database" if bad => Err(SqlError::new(
            codes::ER_WRONG_DB_NAME,
            format!("Incorrect database name '{name}'"),
        )),
        "table" if bad => Err(SqlError::new(
            codes::ER_WRONG_TABLE_NAME,
            format!("Incorrect table name '{name}'"),
        )),
        "column" if bad => Err(SqlError::new(
            codes::ER_WRONG_COLUMN_NAME,
            format!("Incorrect column name '{name}'"),
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        let code = |n: &str, k: &str| check_identifier(n, k).map_err(|e| e.code);
        assert_eq!(code("t", "table"), Ok(()));
        assert_eq!(code("t ", "table"), Err(1103));
        assert_eq!(code("", "database"), Err(1102));
        assert_eq!(code("c ", "column"), Err(1166));
        assert_eq!(code(&"x".repeat(65), "column"), Err(1059));
    }
}
