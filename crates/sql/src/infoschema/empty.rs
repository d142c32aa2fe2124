//! Tables of things that do not exist here (triggers, events …): MySQL's columns and no rows, so that
//! tools that look find what they may look at.

use types::Value;

use super::spec::{Spec, View, name, no_rows, text, uint};

/// One row a table that is not partitioned, as MySQL has it.
fn partitions(v: &View<'_>) -> Vec<Vec<Value>> {
    v.tables()
        .into_iter()
        .map(|t| {
            let mut row = vec![name("def"), name(&t.def.schema), name(&t.def.name)];
            row.extend(std::iter::repeat_n(Value::Null, 9));
            row.push(uint(t.row_count_estimate()));
            let sizes = v.ctx.engine.table_sizes(t);
            row.extend([
                uint(0),
                uint(sizes.data),
                uint(0),
                uint(sizes.index),
                uint(sizes.free),
            ]);
            row.extend(std::iter::repeat_n(Value::Null, 4));
            row.extend([text(""), Value::Null, Value::Null]);
            row
        })
        .collect()
}

const fn none(name: &'static str, columns: &'static str) -> Spec {
    Spec {
        name,
        columns,
        rows: no_rows,
    }
}

/// The tables of `information_schema` in this file.
pub(super) const SPECS: &[Spec] = &[
    Spec {
        name: "PARTITIONS",
        columns: "TABLE_CATALOG n64, TABLE_SCHEMA n64, TABLE_NAME n64, PARTITION_NAME v64?, SUBPARTITION_NAME v64?, \
            PARTITION_ORDINAL_POSITION u?, SUBPARTITION_ORDINAL_POSITION u?, PARTITION_METHOD v13?, \
            SUBPARTITION_METHOD v13?, PARTITION_EXPRESSION v2048?, SUBPARTITION_EXPRESSION v2048?, \
            PARTITION_DESCRIPTION x?, TABLE_ROWS U?, AVG_ROW_LENGTH U?, DATA_LENGTH U?, MAX_DATA_LENGTH U?, \
            INDEX_LENGTH U?, DATA_FREE U?, CREATE_TIME t?, UPDATE_TIME t?, CHECK_TIME t?, CHECKSUM I?, \
            PARTITION_COMMENT x, NODEGROUP v256?, TABLESPACE_NAME v268?",
        rows: partitions,
    },
    none(
        "TRIGGERS",
        "TRIGGER_CATALOG n64, TRIGGER_SCHEMA n64, TRIGGER_NAME v64, EVENT_MANIPULATION v6, EVENT_OBJECT_CATALOG n64, \
         EVENT_OBJECT_SCHEMA n64, EVENT_OBJECT_TABLE n64, ACTION_ORDER u, ACTION_CONDITION x?, ACTION_STATEMENT x, \
         ACTION_ORIENTATION v3, ACTION_TIMING v6, ACTION_REFERENCE_OLD_TABLE v1?, ACTION_REFERENCE_NEW_TABLE v1?, \
         ACTION_REFERENCE_OLD_ROW v3, ACTION_REFERENCE_NEW_ROW v3, CREATED t6, SQL_MODE v520, DEFINER v288, \
         CHARACTER_SET_CLIENT v64, COLLATION_CONNECTION v64, DATABASE_COLLATION v64",
    ),
    none(
        "EVENTS",
        "EVENT_CATALOG n64, EVENT_SCHEMA n64, EVENT_NAME v64, DEFINER v288, TIME_ZONE v64, EVENT_BODY v3, \
         EVENT_DEFINITION x?, EVENT_TYPE v9, EXECUTE_AT t?, INTERVAL_VALUE v256?, INTERVAL_FIELD v18?, SQL_MODE v520, \
         STARTS t?, ENDS t?, STATUS v21, ON_COMPLETION v12, CREATED t, LAST_ALTERED t, LAST_EXECUTED t?, EVENT_COMMENT v2048, \
         ORIGINATOR u, CHARACTER_SET_CLIENT v64, COLLATION_CONNECTION v64, DATABASE_COLLATION v64",
    ),
    none(
        "FILES",
        "FILE_ID I?, FILE_NAME x?, FILE_TYPE v256?, TABLESPACE_NAME v268, TABLE_CATALOG v0, TABLE_SCHEMA v0?, \
         TABLE_NAME v0?, LOGFILE_GROUP_NAME v256?, LOGFILE_GROUP_NUMBER I?, ENGINE v64, FULLTEXT_KEYS v0?, DELETED_ROWS v0?, \
         UPDATE_COUNT v0?, FREE_EXTENTS I?, TOTAL_EXTENTS I?, EXTENT_SIZE I?, INITIAL_SIZE I?, MAXIMUM_SIZE I?, \
         AUTOEXTEND_SIZE I?, CREATION_TIME v0?, LAST_UPDATE_TIME v0?, LAST_ACCESS_TIME v0?, RECOVER_TIME v0?, \
         TRANSACTION_COUNTER v0?, VERSION I?, ROW_FORMAT v256?, TABLE_ROWS v0?, AVG_ROW_LENGTH v0?, DATA_LENGTH v0?, \
         MAX_DATA_LENGTH v0?, INDEX_LENGTH v0?, DATA_FREE I?, CREATE_TIME v0?, UPDATE_TIME v0?, CHECK_TIME v0?, \
         CHECKSUM v0?, STATUS v256?, EXTRA v256?",
    ),
    // Of NDB alone: InnoDB's are not in it.
    none(
        "TABLESPACES",
        "TABLESPACE_NAME v64, ENGINE v64, TABLESPACE_TYPE v64?, LOGFILE_GROUP_NAME v64?, EXTENT_SIZE U?, AUTOEXTEND_SIZE U?, \
         MAXIMUM_SIZE U?, NODEGROUP_ID U?, TABLESPACE_COMMENT v2048?",
    ),
    none(
        "INNODB_CMPMEM",
        "page_size i, buffer_pool_instance i, pages_used i, pages_free i, relocation_ops I, relocation_time i",
    ),
    none(
        "OPTIMIZER_TRACE",
        "QUERY x, TRACE x, MISSING_BYTES_BEYOND_MAX_MEM_SIZE i, INSUFFICIENT_PRIVILEGES i",
    ),
    none(
        "PROFILING",
        "QUERY_ID u, SEQ u, STATE v30, DURATION f, CPU_USER f?, CPU_SYSTEM f?, CONTEXT_VOLUNTARY u?, \
         CONTEXT_INVOLUNTARY u?, BLOCK_OPS_IN u?, BLOCK_OPS_OUT u?, MESSAGES_SENT u?, MESSAGES_RECEIVED u?, \
         PAGE_FAULTS_MAJOR u?, PAGE_FAULTS_MINOR u?, SWAPS u?, SOURCE_FUNCTION v30?, SOURCE_FILE v20?, SOURCE_LINE u?",
    ),
    none(
        "SCHEMATA_EXTENSIONS",
        "CATALOG_NAME n64, SCHEMA_NAME n64, OPTIONS v256?",
    ),
];

/// The tables of `performance_schema` in this file.
pub(super) const PERFORMANCE_SPECS: &[Spec] = &[
    // Names of hosts are not looked up: there is nothing to remember of them.
    none(
        "host_cache",
        "IP v64, HOST v255?, HOST_VALIDATED v3, SUM_CONNECT_ERRORS I, COUNT_HOST_BLOCKED_ERRORS I, \
         COUNT_NAMEINFO_TRANSIENT_ERRORS I, COUNT_NAMEINFO_PERMANENT_ERRORS I, COUNT_FORMAT_ERRORS I, \
         COUNT_ADDRINFO_TRANSIENT_ERRORS I, COUNT_ADDRINFO_PERMANENT_ERRORS I, COUNT_FCRDNS_ERRORS I, \
         COUNT_HOST_ACL_ERRORS I, COUNT_NO_AUTH_PLUGIN_ERRORS I, COUNT_AUTH_PLUGIN_ERRORS I, COUNT_HANDSHAKE_ERRORS I, \
         COUNT_PROXY_USER_ERRORS I, COUNT_PROXY_USER_ACL_ERRORS I, COUNT_AUTHENTICATION_ERRORS I, COUNT_SSL_ERRORS I, \
         COUNT_MAX_USER_CONNECTIONS_ERRORS I, COUNT_MAX_USER_CONNECTIONS_PER_HOUR_ERRORS I, \
         COUNT_DEFAULT_DATABASE_ERRORS I, COUNT_INIT_CONNECT_ERRORS I, COUNT_LOCAL_ERRORS I, COUNT_UNKNOWN_ERRORS I, \
         FIRST_SEEN t, LAST_SEEN t, FIRST_ERROR_SEEN t?, LAST_ERROR_SEEN t?",
    ),
    none(
        "events_statements_summary_by_digest",
        "SCHEMA_NAME v64?, DIGEST v64?, DIGEST_TEXT x?, COUNT_STAR U, SUM_TIMER_WAIT U, MIN_TIMER_WAIT U, AVG_TIMER_WAIT U, \
         MAX_TIMER_WAIT U, SUM_LOCK_TIME U, SUM_ERRORS U, SUM_WARNINGS U, SUM_ROWS_AFFECTED U, SUM_ROWS_SENT U, \
         SUM_ROWS_EXAMINED U, SUM_CREATED_TMP_DISK_TABLES U, SUM_CREATED_TMP_TABLES U, SUM_SORT_MERGE_PASSES U, \
         SUM_SORT_ROWS U, SUM_NO_INDEX_USED U, SUM_NO_GOOD_INDEX_USED U, SUM_CPU_TIME U, FIRST_SEEN t6, LAST_SEEN t6",
    ),
    none(
        "table_io_waits_summary_by_table",
        "OBJECT_TYPE v64?, OBJECT_SCHEMA n64?, OBJECT_NAME n64?, COUNT_STAR U, SUM_TIMER_WAIT U, COUNT_READ U, \
         SUM_TIMER_READ U, COUNT_WRITE U, SUM_TIMER_WRITE U, COUNT_FETCH U, SUM_TIMER_FETCH U, COUNT_INSERT U, \
         SUM_TIMER_INSERT U, COUNT_UPDATE U, SUM_TIMER_UPDATE U, COUNT_DELETE U, SUM_TIMER_DELETE U",
    ),
    none(
        "table_io_waits_summary_by_index_usage",
        "OBJECT_TYPE v64?, OBJECT_SCHEMA n64?, OBJECT_NAME n64?, INDEX_NAME v64?, COUNT_STAR U, SUM_TIMER_WAIT U, \
         COUNT_FETCH U, SUM_TIMER_FETCH U, COUNT_INSERT U, SUM_TIMER_INSERT U, COUNT_UPDATE U, SUM_TIMER_UPDATE U, \
         COUNT_DELETE U, SUM_TIMER_DELETE U",
    ),
    // There is no group replication.
    none(
        "replication_group_members",
        "CHANNEL_NAME v64, MEMBER_ID v36, MEMBER_HOST v255, MEMBER_PORT i?, MEMBER_STATE v64, MEMBER_ROLE v64, \
         MEMBER_VERSION v64, MEMBER_COMMUNICATION_STACK v64",
    ),
    none(
        "replication_group_member_stats",
        "CHANNEL_NAME v64, VIEW_ID v60, MEMBER_ID v36, COUNT_TRANSACTIONS_IN_QUEUE U, COUNT_TRANSACTIONS_CHECKED U, \
         COUNT_CONFLICTS_DETECTED U, COUNT_TRANSACTIONS_ROWS_VALIDATING U, TRANSACTIONS_COMMITTED_ALL_MEMBERS x, \
         LAST_CONFLICT_FREE_TRANSACTION x, COUNT_TRANSACTIONS_REMOTE_IN_APPLIER_QUEUE U, \
         COUNT_TRANSACTIONS_REMOTE_APPLIED U, COUNT_TRANSACTIONS_LOCAL_PROPOSED U, COUNT_TRANSACTIONS_LOCAL_ROLLBACK U",
    ),
];

/// Tables of the system schema that have no rows here, since what they hold does not exist.
pub(super) const MYSQL_SPECS: &[Spec] = &[
    none("func", "name v64, ret i, dl v128, type v9"),
    none("plugin", "name v64, dl v128"),
    none(
        "servers",
        "Server_name v64, Host v255, Db v64, Username v64, Password v64, Port i, Socket v64, Wrapper v64, Owner v64",
    ),
    // Logs are files; mysqldump and mariadb-dump fail where the tables are not there.
    none(
        "general_log",
        "event_time t6, user_host m, thread_id U, server_id u, command_type v64, argument b",
    ),
    none(
        "slow_log",
        "start_time t6, user_host m, query_time T6, lock_time T6, rows_sent i, rows_examined i, db v512, last_insert_id i, \
         insert_id i, server_id u, sql_text b, thread_id U",
    ),
];
