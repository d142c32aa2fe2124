//! One constructor for each error that several crates raise, so that the text is written once.

use super::SqlError;
use super::codes::*;

/// Cuts `s` to at most `max` bytes without splitting a character, as MySQL's `%-.Ns` does.
fn cut(s: &str, max: usize) -> &str {
    if s.len() <= max {
        return s;
    }
    let mut end = max;
    while !s.is_char_boundary(end) {
        end -= 1;
    }
    &s[..end]
}

macro_rules! ctors {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $ty:ty),*) = $code:ident, $fmt:literal $(, $val:expr)*;)*) => {
        impl SqlError {
            $($(#[$doc])* #[cold] pub fn $name($($arg: $ty),*) -> Self {
                SqlError::new($code, format!($fmt $(, $val)*))
            })*
        }
    };
}

ctors! {
    /// 1062: `key` is `table.index`, `entry` the values joined by `-`.
    dup_entry(entry: &str, key: &str) = ER_DUP_ENTRY, "Duplicate entry '{}' for key '{}'", cut(entry, 64), key;
    /// 1064: `near` is the text from the fault on, cut to 80 bytes here.
    parse_error(near: &str, line: usize) = ER_PARSE_ERROR, "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use near '{}' at line {}", cut(near, 80), line;
    /// 1051, of DROP TABLE; `name` is `db.table`.
    bad_table(name: &str) = ER_BAD_TABLE_ERROR, "Unknown table '{name}'";
    /// 1772.
    malformed_gtid_set(text: &str) = ER_MALFORMED_GTID_SET_SPECIFICATION, "Malformed GTID set specification '{}'.", cut(text, 200);
    /// 1774.
    malformed_gtid(text: &str) = ER_MALFORMED_GTID_SPECIFICATION, "Malformed GTID specification '{}'.", cut(text, 200);
    /// 1790: `owned` is a GTID, or ANONYMOUS.
    owning_gtid(owned: &str) = ER_CANT_SET_GTID_NEXT_WHEN_OWNING_GTID, "@@SESSION.GTID_NEXT cannot be changed by a client that owns a GTID. The client owns {owned}. Ownership is released on COMMIT or ROLLBACK.";
    /// 3138: `owned` is a GTID, or ANONYMOUS.
    variable_while_owning_gtid(variable: &str, owned: &str) = ER_CANT_SET_VARIABLE_WHEN_OWNING_GTID, "Variable {variable} cannot be changed by a client that owns a GTID. The client owns {owned}. Ownership is released on COMMIT or ROLLBACK.";
    /// 1837: `next` is the GTID that is over.
    undefined_gtid(next: &str) = ER_GTID_NEXT_TYPE_UNDEFINED_GTID, "When @@SESSION.GTID_NEXT is set to a GTID, you must explicitly set it to a different value after a COMMIT or ROLLBACK. Please check GTID_NEXT variable manual page for detailed explanation. Current @@SESSION.GTID_NEXT is '{next}'.";
    /// 1766.
    not_settable_in_transaction(variable: &str) = ER_VARIABLE_NOT_SETTABLE_IN_TRANSACTION, "The system variable {variable} cannot be set when there is an ongoing transaction.";
    /// 1220: of what is asked of the binary log's files.
    binlog_command(command: &str, why: &str) = ER_ERROR_WHEN_EXECUTING_COMMAND, "Error when executing command {command}: {}", cut(why, 128);
    /// 1109: `clause` is such as `field list` or `MULTI DELETE`.
    unknown_table(name: &str, clause: &str) = ER_UNKNOWN_TABLE, "Unknown table '{name}' in {clause}";
    /// 1054: `clause` is such as `field list`, `where clause`, `order clause`, `on clause`.
    unknown_column(name: &str, clause: &str) = ER_BAD_FIELD_ERROR, "Unknown column '{name}' in '{clause}'";
    /// 1052.
    ambiguous_column(name: &str, clause: &str) = ER_NON_UNIQ_ERROR, "Column '{name}' in {clause} is ambiguous";
    /// 1146.
    no_such_table(db: &str, table: &str) = ER_NO_SUCH_TABLE, "Table '{db}.{table}' doesn't exist";
    /// 1814.
    tablespace_discarded(table: &str) = ER_TABLESPACE_DISCARDED, "Tablespace has been discarded for table '{}'", cut(table, 192);
    /// 1808: `why` says what differs.
    table_schema_mismatch(why: &str) = ER_TABLE_SCHEMA_MISMATCH, "Schema mismatch ({why})";
    /// 1451 of a whole table, which is a parent.
    table_is_referenced(key: &str) = ER_ROW_IS_REFERENCED_2, "Cannot delete or update a parent row: a foreign key constraint fails ({})", cut(key, 192);
    /// 1050.
    table_exists(table: &str) = ER_TABLE_EXISTS_ERROR, "Table '{table}' already exists";
    /// 1049.
    unknown_db(db: &str) = ER_BAD_DB_ERROR, "Unknown database '{db}'";
    /// 1007.
    db_exists(db: &str) = ER_DB_CREATE_EXISTS, "Can't create database '{db}'; database exists";
    /// 1008.
    db_drop_missing(db: &str) = ER_DB_DROP_EXISTS, "Can't drop database '{db}'; database doesn't exist";
    /// 1046.
    no_db() = ER_NO_DB_ERROR, "No database selected";
    /// 1044.
    db_access_denied(user: &str, host: &str, db: &str) = ER_DBACCESS_DENIED_ERROR, "Access denied for user '{user}'@'{host}' to database '{db}'";
    /// 1045.
    access_denied(user: &str, host: &str, password: bool) = ER_ACCESS_DENIED_ERROR, "Access denied for user '{}'@'{}' (using password: {})", user, host, if password { "YES" } else { "NO" };
    /// 1048.
    bad_null(column: &str) = ER_BAD_NULL_ERROR, "Column '{column}' cannot be null";
    /// 1364.
    no_default(column: &str) = ER_NO_DEFAULT_FOR_FIELD, "Field '{column}' doesn't have a default value";
    /// 1406; `row` counts from 1.
    data_too_long(column: &str, row: u64) = ER_DATA_TOO_LONG, "Data too long for column '{column}' at row {row}";
    /// 1264; `row` counts from 1.
    out_of_range(column: &str, row: u64) = ER_WARN_DATA_OUT_OF_RANGE, "Out of range value for column '{column}' at row {row}";
    /// 1265; `row` counts from 1.
    data_truncated(column: &str, row: u64) = WARN_DATA_TRUNCATED, "Data truncated for column '{column}' at row {row}";
    /// 1366: `kind` is such as `integer`, `decimal`, `string`.
    incorrect_value(kind: &str, value: &str, column: &str, row: u64) = ER_TRUNCATED_WRONG_VALUE_FOR_FIELD, "Incorrect {} value: '{}' for column '{}' at row {}", kind, cut(value, 128), column, row;
    /// 1292 of an assignment: `kind` is such as `datetime`.
    incorrect_temporal(kind: &str, value: &str, column: &str, row: u64) = ER_TRUNCATED_WRONG_VALUE, "Incorrect {} value: '{}' for column '{}' at row {}", kind, cut(value, 128), column, row;
    /// 1292 of an expression: `kind` is such as `DOUBLE`, `INTEGER`.
    truncated_wrong_value(kind: &str, value: &str) = ER_TRUNCATED_WRONG_VALUE, "Truncated incorrect {} value: '{}'", kind, cut(value, 128);
    /// 1292 of a temporal expression.
    incorrect_datetime(kind: &str, value: &str) = ER_TRUNCATED_WRONG_VALUE, "Incorrect {} value: '{}'", kind, cut(value, 128);
    /// 1690: `kind` is such as `BIGINT UNSIGNED`.
    expr_out_of_range(kind: &str, expr: &str) = ER_DATA_OUT_OF_RANGE, "{kind} value is out of range in '{expr}'";
    /// 1365.
    division_by_zero() = ER_DIVISION_BY_ZERO, "Division by 0";
    /// 1213.
    lock_deadlock() = ER_LOCK_DEADLOCK, "Deadlock found when trying to get lock; try restarting transaction";
    /// 1205.
    lock_wait_timeout() = ER_LOCK_WAIT_TIMEOUT, "Lock wait timeout exceeded; try restarting transaction";
    /// 3572.
    lock_nowait() = ER_LOCK_NOWAIT, "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.";
    /// 1114.
    table_full(table: &str) = ER_RECORD_FILE_FULL, "The table '{table}' is full";
    /// 1021.
    disk_full(path: &str, errno: i32, text: &str) = ER_DISK_FULL, "Disk full ({path}); waiting for someone to free some space... (errno: {errno} - {text})";
    /// 1712.
    index_corrupt(index: &str) = ER_INDEX_CORRUPT, "Index {index} is corrupted";
    /// 1317.
    query_interrupted() = ER_QUERY_INTERRUPTED, "Query execution was interrupted";
    /// 3024.
    query_timeout() = ER_QUERY_TIMEOUT, "Query execution was interrupted, maximum statement execution time exceeded";
    /// 1053.
    server_shutdown() = ER_SERVER_SHUTDOWN, "Server shutdown in progress";
    /// 1235.
    not_supported(what: &str) = ER_NOT_SUPPORTED_YET, "This version of MySQL doesn't yet support '{what}'";
    /// 1105 with a text of our own.
    unknown(text: &str) = ER_UNKNOWN_ERROR, "{text}";
    /// 1815: a broken invariant of ours.
    internal(text: &str) = ER_INTERNAL_ERROR, "Internal error: {text}";
    /// 1193.
    unknown_system_variable(name: &str) = ER_UNKNOWN_SYSTEM_VARIABLE, "Unknown system variable '{}'", cut(name, 64);
    /// 1231.
    wrong_value_for_var(name: &str, value: &str) = ER_WRONG_VALUE_FOR_VAR, "Variable '{}' can't be set to the value of '{}'", cut(name, 64), cut(value, 200);
    /// 1232.
    wrong_type_for_var(name: &str) = ER_WRONG_TYPE_FOR_VAR, "Incorrect argument type to variable '{name}'";
    /// 1238: `kind` is `read only`, `GLOBAL`, …
    incorrect_var_kind(name: &str, kind: &str) = ER_INCORRECT_GLOBAL_LOCAL_VAR, "Variable '{name}' is a {kind} variable";
    /// 1115.
    unknown_charset(name: &str) = ER_UNKNOWN_CHARACTER_SET, "Unknown character set: '{}'", cut(name, 64);
    /// 1273.
    unknown_collation(name: &str) = ER_UNKNOWN_COLLATION, "Unknown collation: '{}'", cut(name, 64);
    /// 1253.
    collation_mismatch(collation: &str, charset: &str) = ER_COLLATION_CHARSET_MISMATCH, "COLLATION '{collation}' is not valid for CHARACTER SET '{charset}'";
    /// 1300.
    invalid_character_string(charset: &str, text: &str) = ER_INVALID_CHARACTER_STRING, "Invalid {} character string: '{}'", charset, cut(text, 64);
    /// 1299; `row` counts from 1.
    invalid_timestamp(column: &str, row: u64) = ER_WARN_INVALID_TIMESTAMP, "Invalid TIMESTAMP value in column '{column}' at row {row}";
    /// 1298.
    unknown_time_zone(name: &str) = ER_UNKNOWN_TIME_ZONE, "Unknown or incorrect time zone: '{}'", cut(name, 64);
    /// 1060.
    dup_column(name: &str) = ER_DUP_FIELDNAME, "Duplicate column name '{name}'";
    /// 1061.
    dup_key_name(name: &str) = ER_DUP_KEYNAME, "Duplicate key name '{name}'";
    /// 1067.
    invalid_default(column: &str) = ER_INVALID_DEFAULT, "Invalid default value for '{column}'";
    /// 1072.
    key_column_missing(column: &str) = ER_KEY_COLUMN_DOES_NOT_EXITS, "Key column '{column}' doesn't exist in table";
    /// 1071; `max` in bytes.
    key_too_long(max: usize) = ER_TOO_LONG_KEY, "Specified key was too long; max key length is {max} bytes";
    /// 1118; `max` in bytes.
    row_too_big(max: usize) = ER_TOO_BIG_ROWSIZE, "Row size too large. The maximum row size for the used table type, not counting BLOBs, is {max}. This includes storage overhead, check the manual. You have to change some columns to TEXT or BLOBs";
    /// 1091.
    cant_drop(name: &str) = ER_CANT_DROP_FIELD_OR_KEY, "Can't DROP '{name}'; check that column/key exists";
    /// 1136; `row` counts from 1.
    value_count_mismatch(row: u64) = ER_WRONG_VALUE_COUNT_ON_ROW, "Column count doesn't match value count at row {row}";
    /// 1305.
    no_such_function(name: &str) = ER_SP_DOES_NOT_EXIST, "FUNCTION {name} does not exist";
    /// 1582.
    wrong_param_count(function: &str) = ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT, "Incorrect parameter count in the call to native function '{function}'";
    /// 1094.
    no_such_thread(id: u64) = ER_NO_SUCH_THREAD, "Unknown thread id: {id}";
    /// 1243.
    unknown_stmt(handler: &str, command: &str) = ER_UNKNOWN_STMT_HANDLER, "Unknown prepared statement handler ({handler}) given to {command}";
    /// 1792.
    read_only_transaction() = ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, "Cannot execute statement in a READ ONLY transaction.";
    /// 1467.
    autoinc_exhausted() = ER_AUTOINC_READ_FAILED, "Failed to read auto-increment value from storage engine";
    /// 1305 for a savepoint.
    no_such_savepoint(name: &str) = ER_SP_DOES_NOT_EXIST, "SAVEPOINT {name} does not exist";
    /// 1399: `state` is such as `ACTIVE`.
    xaer_rmfail(state: &str) = ER_XAER_RMFAIL, "XAER_RMFAIL: The command cannot be executed when global transaction is in the  {state} state";
    /// 1451: `key` is the foreign key in words, behind its table.
    row_is_referenced(key: &str) = ER_ROW_IS_REFERENCED_2, "Cannot delete or update a parent row: a foreign key constraint fails ({key})";
    /// 1452: as [`row_is_referenced`](Self::row_is_referenced).
    no_referenced_row(key: &str) = ER_NO_REFERENCED_ROW_2, "Cannot add or update a child row: a foreign key constraint fails ({key})";
    /// 1553.
    drop_index_fk(index: &str) = ER_DROP_INDEX_FK, "Cannot drop index '{index}': needed in a foreign key constraint";
    /// 1701: the child's full name and the constraint, in backticks.
    truncate_illegal_fk(key: &str) = ER_TRUNCATE_ILLEGAL_FK, "Cannot truncate a table referenced in a foreign key constraint ({key})";
    /// 1761: the parent and its row, the child and its index.
    foreign_duplicate_key(parent: &str, row: &str, child: &str, index: &str) = ER_FOREIGN_DUPLICATE_KEY_WITH_CHILD_INFO, "Foreign key constraint for table '{parent}', record '{}' would lead to a duplicate entry in table '{child}', key '{index}'", cut(row, 192);
    /// 1822.
    fk_no_index_parent(key: &str, parent: &str) = ER_FK_NO_INDEX_PARENT, "Failed to add the foreign key constraint. Missing index for constraint '{key}' in the referenced table '{parent}'";
    /// 1824.
    fk_cannot_open_parent(parent: &str) = ER_FK_CANNOT_OPEN_PARENT, "Failed to open the referenced table '{parent}'";
    /// 1826.
    fk_dup_name(key: &str) = ER_FK_DUP_NAME, "Duplicate foreign key constraint name '{key}'";
    /// 1828.
    fk_column_cannot_drop(column: &str, key: &str) = ER_FK_COLUMN_CANNOT_DROP, "Cannot drop column '{column}': needed in a foreign key constraint '{key}'";
    /// 1829.
    fk_column_cannot_drop_child(column: &str, key: &str, child: &str) = ER_FK_COLUMN_CANNOT_DROP_CHILD, "Cannot drop column '{column}': needed in a foreign key constraint '{key}' of table '{child}'";
    /// 1830.
    fk_column_not_null(column: &str, key: &str) = ER_FK_COLUMN_NOT_NULL, "Column '{column}' cannot be NOT NULL: needed in a foreign key constraint '{key}' SET NULL";
    /// 1832.
    fk_column_cannot_change(column: &str, key: &str) = ER_FK_COLUMN_CANNOT_CHANGE, "Cannot change column '{column}': used in a foreign key constraint '{key}'";
    /// 1833: `child` is `db.table`.
    fk_column_cannot_change_child(column: &str, key: &str, child: &str) = ER_FK_COLUMN_CANNOT_CHANGE_CHILD, "Cannot change column '{column}': used in a foreign key constraint '{key}' of table '{child}'";
    /// 3008.
    fk_depth_exceeded(most: usize) = ER_FK_DEPTH_EXCEEDED, "Foreign key cascade delete/update exceeds max depth of {most}.";
    /// 3730.
    fk_cannot_drop_parent(parent: &str, key: &str, child: &str) = ER_FK_CANNOT_DROP_PARENT, "Cannot drop table '{parent}' referenced by a foreign key constraint '{key}' on table '{child}'.";
    /// 3734.
    fk_no_column_parent(column: &str, key: &str, parent: &str) = ER_FK_NO_COLUMN_PARENT, "Failed to add the foreign key constraint. Missing column '{column}' for constraint '{key}' in the referenced table '{parent}'";
    /// 3780: the child's column, the parent's, the constraint.
    fk_incompatible_columns(child: &str, parent: &str, key: &str) = ER_FK_INCOMPATIBLE_COLUMNS, "Referencing column '{child}' and referenced column '{parent}' in foreign key constraint '{key}' are incompatible.";
    /// 1267: collation and coercibility of both sides, then the operation.
    mix_of_collations(a: &str, ca: &str, b: &str, cb: &str, op: &str) = ER_CANT_AGGREGATE_2COLLATIONS, "Illegal mix of collations ({a},{ca}) and ({b},{cb}) for operation '{op}'";
}

/// Of replication.
impl SqlError {
    /// 3074: there is no such channel.
    pub fn no_such_channel(name: &str) -> SqlError {
        SqlError::new(
            ER_REPLICA_CHANNEL_DOES_NOT_EXIST,
            format!("Replica channel '{name}' does not exist."),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_match_mysql() {
        let e = SqlError::dup_entry("1", "t.PRIMARY");
        assert_eq!((e.code, &*e.sqlstate), (1062, "23000"));
        assert_eq!(e.message, "Duplicate entry '1' for key 't.PRIMARY'");
        assert_eq!(
            SqlError::lock_deadlock().to_string(),
            "ERROR 1213 (40001): Deadlock found when trying to get lock; try restarting transaction"
        );
        assert_eq!(
            SqlError::access_denied("root", "localhost", true).message,
            "Access denied for user 'root'@'localhost' (using password: YES)"
        );
    }

    #[test]
    fn long_values_are_cut_at_a_character() {
        let e = SqlError::dup_entry(&"é".repeat(60), "k");
        assert_eq!(
            e.message,
            format!("Duplicate entry '{}' for key 'k'", "é".repeat(32))
        );
    }
}
