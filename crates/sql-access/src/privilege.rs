//! The privileges: static ones, which are columns of `mysql.user` and its kin, and dynamic ones, which are names; sets of the
//! former; and at which level (server, database, table, column, routine) each can be given.
//!
//! Plain data. What a statement needs is [`super::needs`]'s, whether somebody has it [`super::context`]'s.

use std::fmt;

use types::SqlError;

macro_rules! privileges {
    ($($id:ident = $name:literal, $column:literal, $levels:expr, $context:literal, $comment:literal;)*) => {
        /// A static privilege, in the order of `mysql.user`'s columns.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        #[allow(missing_docs)]
        pub enum Priv { $($id,)* }

        /// Every static privilege and what is known of it, by its number.
        pub const PRIVILEGES: &[Facts] = &[$(Facts {
            id: Priv::$id, name: $name, column: $column, levels: $levels, context: $context, comment: $comment,
        },)*];
    };
}

/// What is known of a static privilege.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Which.
    pub id: Priv,
    /// As GRANT writes it.
    pub name: &'static str,
    /// Its column in `mysql.user` and `mysql.db`.
    pub column: &'static str,
    /// Where it can be given beside `*.*`: sums of [`ON_DB`], [`ON_TABLE`], [`ON_COLUMN`], [`ON_ROUTINE`].
    pub levels: u8,
    /// Where it applies, for SHOW PRIVILEGES.
    pub context: &'static str,
    /// What it allows, for SHOW PRIVILEGES.
    pub comment: &'static str,
}

/// Can be given on a database.
pub const ON_DB: u8 = 1;
/// Can be given on a table.
pub const ON_TABLE: u8 = 2;
/// Can be given on columns.
pub const ON_COLUMN: u8 = 4;
/// Can be given on a routine.
pub const ON_ROUTINE: u8 = 8;

const TABLES: u8 = ON_DB | ON_TABLE;
const COLUMNS: u8 = TABLES | ON_COLUMN;
const ROUTINES: u8 = ON_DB | ON_ROUTINE;

privileges! {
    Select = "SELECT", "Select_priv", COLUMNS, "Tables", "To retrieve rows from table";
    Insert = "INSERT", "Insert_priv", COLUMNS, "Tables", "To insert data into tables";
    Update = "UPDATE", "Update_priv", COLUMNS, "Tables", "To update existing rows";
    Delete = "DELETE", "Delete_priv", TABLES, "Tables", "To delete existing rows";
    Create = "CREATE", "Create_priv", TABLES, "Databases,Tables,Indexes", "To create new databases and tables";
    Drop = "DROP", "Drop_priv", TABLES, "Databases,Tables", "To drop databases, tables, and views";
    Reload = "RELOAD", "Reload_priv", 0, "Server Admin", "To reload or refresh tables, logs and privileges";
    Shutdown = "SHUTDOWN", "Shutdown_priv", 0, "Server Admin", "To shut down the server";
    Process = "PROCESS", "Process_priv", 0, "Server Admin", "To view the plain text of currently executing queries";
    File = "FILE", "File_priv", 0, "File access on server", "To read and write files on the server";
    GrantOption = "GRANT OPTION", "Grant_priv", TABLES | ON_ROUTINE, "Databases,Tables,Functions,Procedures", "To give to other users those privileges you possess";
    References = "REFERENCES", "References_priv", COLUMNS, "Databases,Tables", "To have references on tables";
    Index = "INDEX", "Index_priv", TABLES, "Tables", "To create or drop indexes";
    Alter = "ALTER", "Alter_priv", TABLES, "Tables", "To alter the table";
    ShowDatabases = "SHOW DATABASES", "Show_db_priv", 0, "Server Admin", "To see all databases with SHOW DATABASES";
    Super = "SUPER", "Super_priv", 0, "Server Admin", "To use KILL thread, SET GLOBAL, CHANGE MASTER, etc.";
    CreateTemporaryTables = "CREATE TEMPORARY TABLES", "Create_tmp_table_priv", ON_DB, "Databases", "To use CREATE TEMPORARY TABLE";
    LockTables = "LOCK TABLES", "Lock_tables_priv", ON_DB, "Databases", "To use LOCK TABLES (together with SELECT privilege)";
    Execute = "EXECUTE", "Execute_priv", ROUTINES, "Functions,Procedures", "To execute stored routines";
    ReplicationSlave = "REPLICATION SLAVE", "Repl_slave_priv", 0, "Server Admin", "To read binary log events from the master";
    ReplicationClient = "REPLICATION CLIENT", "Repl_client_priv", 0, "Server Admin", "To ask where the slave or master servers are";
    CreateView = "CREATE VIEW", "Create_view_priv", TABLES, "Tables", "To create new views";
    ShowView = "SHOW VIEW", "Show_view_priv", TABLES, "Tables", "To see views with SHOW CREATE VIEW";
    CreateRoutine = "CREATE ROUTINE", "Create_routine_priv", ON_DB, "Databases", "To use CREATE FUNCTION/PROCEDURE";
    AlterRoutine = "ALTER ROUTINE", "Alter_routine_priv", ROUTINES, "Functions,Procedures", "To alter or drop stored functions/procedures";
    CreateUser = "CREATE USER", "Create_user_priv", 0, "Server Admin", "To create new users";
    Event = "EVENT", "Event_priv", ON_DB, "Server Admin", "To create, alter, drop and execute events";
    Trigger = "TRIGGER", "Trigger_priv", TABLES, "Tables", "To use triggers";
    CreateTablespace = "CREATE TABLESPACE", "Create_tablespace_priv", 0, "Server Admin", "To create/alter/drop tablespaces";
    CreateRole = "CREATE ROLE", "Create_role_priv", 0, "Server Admin", "To create new roles";
    DropRole = "DROP ROLE", "Drop_role_priv", 0, "Server Admin", "To drop roles";
}

impl Priv {
    /// What is known of it.
    #[inline]
    pub fn facts(self) -> &'static Facts {
        &PRIVILEGES[self as usize]
    }

    /// As GRANT writes it.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The privilege that GRANT writes so, in upper case.
    pub fn by_name(name: &str) -> Option<Priv> {
        PRIVILEGES.iter().find(|f| f.name == name).map(|f| f.id)
    }
}

/// Dynamic privileges: `root` has them from the start, and GRANT ALL on `*.*` gives them. Each is checked where a statement that it
/// guards exists; the others can be granted, as in MySQL, for tools that do so.
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

/// The dynamic privilege of that name, in any case.
pub fn dynamic(name: &str) -> Option<&'static str> {
    DYNAMIC
        .iter()
        .find(|d| d.eq_ignore_ascii_case(name))
        .copied()
}

/// A set of static privileges.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct PrivSet(u64);

impl PrivSet {
    /// None.
    pub const NONE: PrivSet = PrivSet(0);

    /// Of one.
    pub const fn of(p: Priv) -> PrivSet {
        PrivSet(1 << p as u8)
    }

    /// With one more.
    #[must_use]
    pub const fn with(self, p: Priv) -> PrivSet {
        PrivSet(self.0 | 1 << p as u8)
    }

    /// Without one.
    #[must_use]
    pub const fn without(self, p: Priv) -> PrivSet {
        PrivSet(self.0 & !(1 << p as u8))
    }

    /// What `ALL` means on `*.*`: everything but GRANT OPTION.
    pub const fn all() -> PrivSet {
        PrivSet((1 << PRIVILEGES.len()) - 1).without(Priv::GrantOption)
    }

    /// Everything that can be given at one of these levels, GRANT OPTION included.
    pub const fn at(levels: u8) -> PrivSet {
        let mut set = PrivSet::NONE;
        let mut i = 0;
        while i < PRIVILEGES.len() {
            if PRIVILEGES[i].levels & levels != 0 {
                set = set.with(PRIVILEGES[i].id);
            }
            i += 1;
        }
        set
    }

    /// Whether it has none.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it has that one.
    #[inline]
    pub const fn has(self, p: Priv) -> bool {
        self.0 & 1 << p as u8 != 0
    }

    /// Whether it has all of these.
    #[inline]
    pub const fn has_all(self, other: PrivSet) -> bool {
        other.0 & !self.0 == 0
    }

    /// Whether it has one of these at least.
    #[inline]
    pub const fn has_any(self, other: PrivSet) -> bool {
        other.0 & self.0 != 0
    }

    /// The members of either.
    #[must_use]
    #[inline]
    pub const fn union(self, other: PrivSet) -> PrivSet {
        PrivSet(self.0 | other.0)
    }

    /// The members of both.
    #[must_use]
    #[inline]
    pub const fn both(self, other: PrivSet) -> PrivSet {
        PrivSet(self.0 & other.0)
    }

    /// The members that the other has not.
    #[must_use]
    #[inline]
    pub const fn minus(self, other: PrivSet) -> PrivSet {
        PrivSet(self.0 & !other.0)
    }

    /// Its members in order.
    pub fn iter(self) -> impl Iterator<Item = Priv> {
        PRIVILEGES
            .iter()
            .map(|f| f.id)
            .filter(move |p| self.has(*p))
    }

    /// The names of its members but GRANT OPTION, in order, joined for GRANT and for messages; `USAGE` for none.
    pub fn text(self) -> String {
        let names: Vec<&str> = self
            .without(Priv::GrantOption)
            .iter()
            .map(Priv::name)
            .collect();
        if names.is_empty() {
            "USAGE".to_owned()
        } else {
            names.join(", ")
        }
    }

    /// Adds the static privilege that GRANT writes so.
    ///
    /// # Errors
    /// 1064 for a name that is none.
    pub fn add_named(&mut self, name: &str) -> Result<(), SqlError> {
        let p = Priv::by_name(name).ok_or_else(|| SqlError::parse_error(name, 1))?;
        *self = self.with(p);
        Ok(())
    }
}

impl fmt::Debug for PrivSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(Priv::name)).finish()
    }
}

impl FromIterator<Priv> for PrivSet {
    fn from_iter<I: IntoIterator<Item = Priv>>(iter: I) -> PrivSet {
        iter.into_iter().fold(PrivSet::NONE, PrivSet::with)
    }
}

/// Privileges of a database, GRANT OPTION included.
pub const DB_SET: PrivSet = PrivSet::at(ON_DB);
/// Privileges of a table, GRANT OPTION included.
pub const TABLE_SET: PrivSet = PrivSet::at(ON_TABLE);
/// Privileges of columns.
pub const COLUMN_SET: PrivSet = PrivSet::at(ON_COLUMN);
/// Privileges of a routine, GRANT OPTION included.
pub const ROUTINE_SET: PrivSet = PrivSet::at(ON_ROUTINE);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_facts_agree() {
        for (i, f) in PRIVILEGES.iter().enumerate() {
            assert_eq!(f.id as usize, i);
            assert_eq!(Priv::by_name(f.name), Some(f.id));
        }
        assert!(DYNAMIC.is_sorted());
    }

    #[test]
    fn sets_print_as_grants() {
        let mut s = PrivSet::NONE;
        assert_eq!(s.text(), "USAGE");
        s.add_named("INSERT").unwrap();
        s.add_named("SELECT").unwrap();
        assert_eq!(s.text(), "SELECT, INSERT");
        assert!(s.without(Priv::Select).has(Priv::Insert));
        assert!(s.add_named("FLY").is_err());
        assert!(DB_SET.has(Priv::Trigger) && !DB_SET.has(Priv::Super));
        assert!(TABLE_SET.has(Priv::GrantOption) && !TABLE_SET.has(Priv::LockTables));
        assert_eq!(COLUMN_SET.text(), "SELECT, INSERT, UPDATE, REFERENCES");
        assert_eq!(ROUTINE_SET.text(), "EXECUTE, ALTER ROUTINE");
    }
}
