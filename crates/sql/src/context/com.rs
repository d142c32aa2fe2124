//! The `Com_` counters: how often which statement ran.

macro_rules! com {
    ($($name:ident = $text:literal,)*) => {
        /// A `Com_` counter.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        #[allow(missing_docs)]
        pub enum Com { $($name,)* }

        /// The counters' names in the order of their numbers.
        pub const COM_NAMES: &[&str] = &[$(concat!("Com_", $text),)*];

        /// How many there are.
        pub const COM_COUNT: usize = COM_NAMES.len();
    };
}

com! {
    Select = "select", Insert = "insert", InsertSelect = "insert_select", Update = "update",
    UpdateMulti = "update_multi", Delete = "delete", DeleteMulti = "delete_multi", Replace = "replace",
    ReplaceSelect = "replace_select", Begin = "begin", Commit = "commit", Rollback = "rollback",
    Savepoint = "savepoint", RollbackTo = "rollback_to_savepoint", ReleaseSavepoint = "release_savepoint",
    Set = "set_option", ChangeDb = "change_db", Do = "do", Call = "call_procedure", Load = "load",
    CreateDb = "create_db", AlterDb = "alter_db", DropDb = "drop_db", CreateTable = "create_table",
    AlterTable = "alter_table", DropTable = "drop_table", RenameTable = "rename_table", Truncate = "truncate",
    CreateIndex = "create_index", DropIndex = "drop_index", CreateView = "create_view", DropView = "drop_view",
    LockTables = "lock_tables", UnlockTables = "unlock_tables", Kill = "kill",
    HandlerOpen = "ha_open", HandlerRead = "ha_read", HandlerClose = "ha_close", Flush = "flush", Reset = "reset",
    Check = "check", Analyze = "analyze", Optimize = "optimize", Repair = "repair", Checksum = "checksum",
    CreateUser = "create_user", AlterUser = "alter_user", AlterInstance = "alter_instance", DropUser = "drop_user", Grant = "grant", Revoke = "revoke",
    PrepareSql = "prepare_sql", ExecuteSql = "execute_sql", DeallocSql = "dealloc_sql",
    StmtPrepare = "stmt_prepare", StmtExecute = "stmt_execute", StmtClose = "stmt_close", StmtReset = "stmt_reset",
    StmtReprepare = "stmt_reprepare", Explain = "explain_other", AdminCommands = "admin_commands",
    ShowDatabases = "show_databases", ShowTables = "show_tables", ShowFields = "show_fields", ShowKeys = "show_keys",
    ShowCreateTable = "show_create_table", ShowCreateDb = "show_create_db", ShowVariables = "show_variables",
    ShowStatus = "show_status", ShowWarnings = "show_warnings", ShowErrors = "show_errors",
    ShowProcesslist = "show_processlist", ShowTableStatus = "show_table_status", ShowEngines = "show_storage_engines",
    ShowEngineStatus = "show_engine_status", ShowGrants = "show_grants", ShowPlugins = "show_plugins",
    ShowMasterStatus = "show_master_status", ShowSlaveStatus = "show_slave_status", ShowBinlogs = "show_binlogs",
    ShowCharsets = "show_charsets", ShowCollations = "show_collations", ShowOther = "show_profiles",
    XaStart = "xa_start", XaEnd = "xa_end", XaPrepare = "xa_prepare", XaCommit = "xa_commit", XaRollback = "xa_rollback",
    XaRecover = "xa_recover",
    Other = "other",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_agree() {
        assert_eq!(COM_NAMES[Com::Select as usize], "Com_select");
        assert_eq!(COM_NAMES[Com::Other as usize], "Com_other");
    }
}
