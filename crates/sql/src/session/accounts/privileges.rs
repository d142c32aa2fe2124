//! The static privileges: their names in SQL, their columns in `mysql.user` and `mysql.db`, and sets of them.

use types::SqlError;

/// One static privilege.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Privilege {
    /// As GRANT writes it.
    pub name: &'static str,
    /// Its column.
    pub column: &'static str,
    /// Can be granted on a database.
    pub on_db: bool,
    /// Where it applies, for SHOW PRIVILEGES.
    pub context: &'static str,
    /// What it allows, for SHOW PRIVILEGES.
    pub comment: &'static str,
}

const fn p(
    name: &'static str,
    column: &'static str,
    on_db: bool,
    context: &'static str,
    comment: &'static str,
) -> Privilege {
    Privilege {
        name,
        column,
        on_db,
        context,
        comment,
    }
}

/// Every static privilege in the order of `mysql.user`.
pub const GLOBAL_PRIVILEGES: &[Privilege] = &[
    p(
        "SELECT",
        "Select_priv",
        true,
        "Tables",
        "To retrieve rows from table",
    ),
    p(
        "INSERT",
        "Insert_priv",
        true,
        "Tables",
        "To insert data into tables",
    ),
    p(
        "UPDATE",
        "Update_priv",
        true,
        "Tables",
        "To update existing rows",
    ),
    p(
        "DELETE",
        "Delete_priv",
        true,
        "Tables",
        "To delete existing rows",
    ),
    p(
        "CREATE",
        "Create_priv",
        true,
        "Databases,Tables,Indexes",
        "To create new databases and tables",
    ),
    p(
        "DROP",
        "Drop_priv",
        true,
        "Databases,Tables",
        "To drop databases, tables, and views",
    ),
    p(
        "RELOAD",
        "Reload_priv",
        false,
        "Server Admin",
        "To reload or refresh tables, logs and privileges",
    ),
    p(
        "SHUTDOWN",
        "Shutdown_priv",
        false,
        "Server Admin",
        "To shut down the server",
    ),
    p(
        "PROCESS",
        "Process_priv",
        false,
        "Server Admin",
        "To view the plain text of currently executing queries",
    ),
    p(
        "FILE",
        "File_priv",
        false,
        "File access on server",
        "To read and write files on the server",
    ),
    p(
        "GRANT OPTION",
        "Grant_priv",
        true,
        "Databases,Tables,Functions,Procedures",
        "To give to other users those privileges you possess",
    ),
    p(
        "REFERENCES",
        "References_priv",
        true,
        "Databases,Tables",
        "To have references on tables",
    ),
    p(
        "INDEX",
        "Index_priv",
        true,
        "Tables",
        "To create or drop indexes",
    ),
    p("ALTER", "Alter_priv", true, "Tables", "To alter the table"),
    p(
        "SHOW DATABASES",
        "Show_db_priv",
        false,
        "Server Admin",
        "To see all databases with SHOW DATABASES",
    ),
    p(
        "SUPER",
        "Super_priv",
        false,
        "Server Admin",
        "To use KILL thread, SET GLOBAL, CHANGE MASTER, etc.",
    ),
    p(
        "CREATE TEMPORARY TABLES",
        "Create_tmp_table_priv",
        true,
        "Databases",
        "To use CREATE TEMPORARY TABLE",
    ),
    p(
        "LOCK TABLES",
        "Lock_tables_priv",
        true,
        "Databases",
        "To use LOCK TABLES (together with SELECT privilege)",
    ),
    p(
        "EXECUTE",
        "Execute_priv",
        true,
        "Functions,Procedures",
        "To execute stored routines",
    ),
    p(
        "REPLICATION SLAVE",
        "Repl_slave_priv",
        false,
        "Server Admin",
        "To read binary log events from the master",
    ),
    p(
        "REPLICATION CLIENT",
        "Repl_client_priv",
        false,
        "Server Admin",
        "To ask where the slave or master servers are",
    ),
    p(
        "CREATE VIEW",
        "Create_view_priv",
        true,
        "Tables",
        "To create new views",
    ),
    p(
        "SHOW VIEW",
        "Show_view_priv",
        true,
        "Tables",
        "To see views with SHOW CREATE VIEW",
    ),
    p(
        "CREATE ROUTINE",
        "Create_routine_priv",
        true,
        "Databases",
        "To use CREATE FUNCTION/PROCEDURE",
    ),
    p(
        "ALTER ROUTINE",
        "Alter_routine_priv",
        true,
        "Functions,Procedures",
        "To alter or drop stored functions/procedures",
    ),
    p(
        "CREATE USER",
        "Create_user_priv",
        false,
        "Server Admin",
        "To create new users",
    ),
    p(
        "EVENT",
        "Event_priv",
        true,
        "Server Admin",
        "To create, alter, drop and execute events",
    ),
    p("TRIGGER", "Trigger_priv", true, "Tables", "To use triggers"),
    p(
        "CREATE TABLESPACE",
        "Create_tablespace_priv",
        false,
        "Server Admin",
        "To create/alter/drop tablespaces",
    ),
    p(
        "CREATE ROLE",
        "Create_role_priv",
        false,
        "Server Admin",
        "To create new roles",
    ),
    p(
        "DROP ROLE",
        "Drop_role_priv",
        false,
        "Server Admin",
        "To drop roles",
    ),
];

/// The privileges that a database can have, in the order of `mysql.db`.
pub const DB_PRIVILEGES: &[&str] = &[
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "CREATE",
    "DROP",
    "GRANT OPTION",
    "REFERENCES",
    "INDEX",
    "ALTER",
    "CREATE TEMPORARY TABLES",
    "LOCK TABLES",
    "CREATE VIEW",
    "SHOW VIEW",
    "CREATE ROUTINE",
    "ALTER ROUTINE",
    "EXECUTE",
    "EVENT",
    "TRIGGER",
];

/// Dynamic privileges that `root` has from the start, and that GRANT ALL gives.
pub const DYNAMIC: &[&str] = &[
    "APPLICATION_PASSWORD_ADMIN",
    "AUDIT_ABORT_EXEMPT",
    "AUDIT_ADMIN",
    "AUTHENTICATION_POLICY_ADMIN",
    "BACKUP_ADMIN",
    "BINLOG_ADMIN",
    "BINLOG_ENCRYPTION_ADMIN",
    "CLONE_ADMIN",
    "CONNECTION_ADMIN",
    "ENCRYPTION_KEY_ADMIN",
    "FIREWALL_EXEMPT",
    "FLUSH_OPTIMIZER_COSTS",
    "FLUSH_STATUS",
    "FLUSH_TABLES",
    "FLUSH_USER_RESOURCES",
    "GROUP_REPLICATION_ADMIN",
    "GROUP_REPLICATION_STREAM",
    "INNODB_REDO_LOG_ARCHIVE",
    "INNODB_REDO_LOG_ENABLE",
    "PASSWORDLESS_USER_ADMIN",
    "PERSIST_RO_VARIABLES_ADMIN",
    "REPLICATION_APPLIER",
    "REPLICATION_SLAVE_ADMIN",
    "RESOURCE_GROUP_ADMIN",
    "RESOURCE_GROUP_USER",
    "ROLE_ADMIN",
    "SENSITIVE_VARIABLES_OBSERVER",
    "SERVICE_CONNECTION_ADMIN",
    "SESSION_VARIABLES_ADMIN",
    "SET_USER_ID",
    "SHOW_ROUTINE",
    "SYSTEM_USER",
    "SYSTEM_VARIABLES_ADMIN",
    "TABLE_ENCRYPTION_ADMIN",
    "TELEMETRY_LOG_ADMIN",
    "XA_RECOVER_ADMIN",
];

/// A set of static privileges, by their place in [`GLOBAL_PRIVILEGES`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PrivSet(u64);

impl PrivSet {
    /// Every privilege but GRANT OPTION.
    pub fn all() -> PrivSet {
        let mut s = PrivSet((1 << GLOBAL_PRIVILEGES.len()) - 1);
        s.remove("GRANT OPTION");
        s
    }

    /// Every privilege of a database but GRANT OPTION.
    pub fn all_db() -> PrivSet {
        let mut s = PrivSet::default();
        for (i, p) in GLOBAL_PRIVILEGES.iter().enumerate() {
            if p.on_db && p.name != "GRANT OPTION" {
                s.0 |= 1 << i;
            }
        }
        s
    }

    fn bit(name: &str) -> Option<u64> {
        GLOBAL_PRIVILEGES
            .iter()
            .position(|p| p.name == name)
            .map(|i| 1 << i)
    }

    /// Whether it has none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it has that one.
    pub fn has(self, name: &str) -> bool {
        Self::bit(name).is_some_and(|b| self.0 & b != 0)
    }

    /// Adds one.
    ///
    /// # Errors
    /// 1064 for a name that is none.
    pub fn add(&mut self, name: &str) -> Result<(), SqlError> {
        let b = Self::bit(name).ok_or_else(|| SqlError::parse_error(name, 1))?;
        self.0 |= b;
        Ok(())
    }

    /// Takes one away.
    pub fn remove(&mut self, name: &str) {
        if let Some(b) = Self::bit(name) {
            self.0 &= !b;
        }
    }

    /// Adds all of another.
    pub fn add_all(&mut self, other: PrivSet) {
        self.0 |= other.0;
    }

    /// Takes all of another away.
    pub fn remove_all(&mut self, other: PrivSet) {
        self.0 &= !other.0;
    }

    /// The names in it but GRANT OPTION, in order, joined for GRANT.
    pub fn text(self) -> String {
        let names: Vec<&str> = GLOBAL_PRIVILEGES
            .iter()
            .map(|p| p.name)
            .filter(|n| *n != "GRANT OPTION" && self.has(n))
            .collect();
        if names.is_empty() {
            "USAGE".to_owned()
        } else {
            names.join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_print_as_grants() {
        let mut s = PrivSet::default();
        assert_eq!(s.text(), "USAGE");
        s.add("INSERT").unwrap();
        s.add("SELECT").unwrap();
        assert_eq!(s.text(), "SELECT, INSERT");
        s.remove("SELECT");
        assert!(!s.has("SELECT") && s.has("INSERT"));
        assert!(s.add("FLY").is_err());
        assert!(PrivSet::all_db().has("TRIGGER") && !PrivSet::all_db().has("SUPER"));
        assert!(
            DB_PRIVILEGES
                .iter()
                .all(|n| *n == "GRANT OPTION" || PrivSet::all_db().has(n))
        );
    }
}
