//! SHOW STATUS: the names clients expect, and where their values come from. Crates that count something register a
//! [`StatusSource`]; a name that nobody reports is shown as zero, so that monitoring finds every name it asks for.

use base::lock::RwLock;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The value of a status variable.
#[derive(Debug, Clone, PartialEq)]
pub enum StatusValue {
    /// A counter or gauge.
    Count(u64),
    /// A fraction, shown with six digits.
    Ratio(f64),
    /// A word.
    Text(String),
}

impl fmt::Display for StatusValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StatusValue::Count(n) => write!(f, "{n}"),
            StatusValue::Ratio(r) => write!(f, "{r:.6}"),
            StatusValue::Text(t) => f.write_str(t),
        }
    }
}

/// Something that reports status variables.
pub trait StatusSource: Send + Sync {
    /// Calls `out` with each name and value. A name may be reported by several sources; counts then add up.
    fn report(&self, out: &mut dyn FnMut(&str, StatusValue));
}

/// The server's status variables.
#[derive(Default)]
pub struct StatusRegistry {
    sources: RwLock<Vec<Arc<dyn StatusSource>>>,
}

impl fmt::Debug for StatusRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatusRegistry").finish_non_exhaustive()
    }
}

impl StatusRegistry {
    /// No sources yet.
    pub fn new() -> StatusRegistry {
        StatusRegistry::default()
    }

    /// Adds a source for the life of the server.
    pub fn register(&self, source: Arc<dyn StatusSource>) {
        self.sources.write().push(source);
    }

    /// The rows of SHOW GLOBAL STATUS in the order of names. With `session`, its reports replace the
    /// server's of the same name, as SHOW STATUS does.
    pub fn rows(&self, session: Option<&dyn StatusSource>) -> Vec<(String, String)> {
        let mut all: BTreeMap<String, StatusValue> = KNOWN
            .iter()
            .map(|(n, v)| {
                let v = if v.is_empty() {
                    StatusValue::Count(0)
                } else {
                    StatusValue::Text((*v).to_owned())
                };
                ((*n).to_owned(), v)
            })
            .collect();
        let sources = self.sources.read();
        let mut seen: BTreeMap<String, StatusValue> = BTreeMap::new();
        for s in sources.iter() {
            s.report(&mut |name, value| {
                match (seen.get_mut(name), value) {
                    (Some(StatusValue::Count(old)), StatusValue::Count(n)) => {
                        *old = old.wrapping_add(n);
                    }
                    (_, value) => {
                        seen.insert(name.to_owned(), value);
                    }
                };
            });
        }
        all.append(&mut seen);
        if let Some(s) = session {
            s.report(&mut |name, value| {
                all.insert(name.to_owned(), value);
            });
        }
        let mut rows: Vec<(String, String)> =
            all.into_iter().map(|(n, v)| (n, v.to_string())).collect();
        rows.sort_by_key(|(n, _)| n.to_ascii_lowercase());
        rows
    }
}

/// Names that are always shown; an empty value is the count zero.
const KNOWN: &[(&str, &str)] = &[
    ("Aborted_clients", ""),
    ("Aborted_connects", ""),
    ("Acl_cache_items_count", ""),
    ("Binlog_cache_disk_use", ""),
    ("Binlog_cache_use", ""),
    ("Binlog_stmt_cache_disk_use", ""),
    ("Binlog_stmt_cache_use", ""),
    ("Bytes_received", ""),
    ("Bytes_sent", ""),
    ("Com_admin_commands", ""),
    ("Com_alter_db", ""),
    ("Com_alter_table", ""),
    ("Com_alter_user", ""),
    ("Com_analyze", ""),
    ("Com_begin", ""),
    ("Com_call_procedure", ""),
    ("Com_change_db", ""),
    ("Com_check", ""),
    ("Com_checksum", ""),
    ("Com_commit", ""),
    ("Com_create_db", ""),
    ("Com_create_index", ""),
    ("Com_create_table", ""),
    ("Com_create_user", ""),
    ("Com_create_view", ""),
    ("Com_dealloc_sql", ""),
    ("Com_delete", ""),
    ("Com_delete_multi", ""),
    ("Com_do", ""),
    ("Com_drop_db", ""),
    ("Com_drop_index", ""),
    ("Com_drop_table", ""),
    ("Com_drop_user", ""),
    ("Com_drop_view", ""),
    ("Com_execute_sql", ""),
    ("Com_explain_other", ""),
    ("Com_flush", ""),
    ("Com_grant", ""),
    ("Com_insert", ""),
    ("Com_insert_select", ""),
    ("Com_kill", ""),
    ("Com_load", ""),
    ("Com_lock_tables", ""),
    ("Com_optimize", ""),
    ("Com_prepare_sql", ""),
    ("Com_rename_table", ""),
    ("Com_repair", ""),
    ("Com_replace", ""),
    ("Com_replace_select", ""),
    ("Com_reset", ""),
    ("Com_revoke", ""),
    ("Com_rollback", ""),
    ("Com_rollback_to_savepoint", ""),
    ("Com_savepoint", ""),
    ("Com_select", ""),
    ("Com_set_option", ""),
    ("Com_show_binlogs", ""),
    ("Com_show_create_db", ""),
    ("Com_show_create_table", ""),
    ("Com_show_databases", ""),
    ("Com_show_engine_status", ""),
    ("Com_show_errors", ""),
    ("Com_show_fields", ""),
    ("Com_show_grants", ""),
    ("Com_show_keys", ""),
    ("Com_show_master_status", ""),
    ("Com_show_plugins", ""),
    ("Com_show_processlist", ""),
    ("Com_show_slave_status", ""),
    ("Com_show_status", ""),
    ("Com_show_storage_engines", ""),
    ("Com_show_table_status", ""),
    ("Com_show_tables", ""),
    ("Com_show_variables", ""),
    ("Com_show_warnings", ""),
    ("Com_stmt_close", ""),
    ("Com_stmt_execute", ""),
    ("Com_stmt_fetch", ""),
    ("Com_stmt_prepare", ""),
    ("Com_stmt_reprepare", ""),
    ("Com_stmt_reset", ""),
    ("Com_stmt_send_long_data", ""),
    ("Com_truncate", ""),
    ("Com_unlock_tables", ""),
    ("Com_update", ""),
    ("Com_update_multi", ""),
    ("Com_xa_commit", ""),
    ("Com_xa_end", ""),
    ("Com_xa_prepare", ""),
    ("Com_xa_recover", ""),
    ("Com_xa_rollback", ""),
    ("Com_xa_start", ""),
    ("Compression", "OFF"),
    ("Compression_algorithm", ""),
    ("Compression_level", "0"),
    ("Connection_errors_accept", ""),
    ("Connection_errors_internal", ""),
    ("Connection_errors_max_connections", ""),
    ("Connection_errors_peer_address", ""),
    ("Connection_errors_select", ""),
    ("Connection_errors_tcpwrap", ""),
    ("Connections", ""),
    ("Created_tmp_disk_tables", ""),
    ("Created_tmp_files", ""),
    ("Created_tmp_tables", ""),
    ("Flush_commands", ""),
    ("Handler_commit", ""),
    ("Handler_delete", ""),
    ("Handler_discover", ""),
    ("Handler_external_lock", ""),
    ("Handler_mrr_init", ""),
    ("Handler_prepare", ""),
    ("Handler_read_first", ""),
    ("Handler_read_key", ""),
    ("Handler_read_last", ""),
    ("Handler_read_next", ""),
    ("Handler_read_prev", ""),
    ("Handler_read_rnd", ""),
    ("Handler_read_rnd_next", ""),
    ("Handler_rollback", ""),
    ("Handler_savepoint", ""),
    ("Handler_savepoint_rollback", ""),
    ("Handler_update", ""),
    ("Handler_write", ""),
    ("Innodb_buffer_pool_bytes_data", ""),
    ("Innodb_buffer_pool_bytes_dirty", ""),
    (
        "Innodb_buffer_pool_dump_status",
        "Dumping of buffer pool not started",
    ),
    (
        "Innodb_buffer_pool_load_status",
        "Loading of buffer pool not started",
    ),
    ("Innodb_buffer_pool_pages_data", ""),
    ("Innodb_buffer_pool_pages_dirty", ""),
    ("Innodb_buffer_pool_pages_flushed", ""),
    ("Innodb_buffer_pool_pages_free", ""),
    ("Innodb_buffer_pool_pages_misc", ""),
    ("Innodb_buffer_pool_pages_total", ""),
    ("Innodb_buffer_pool_read_ahead", ""),
    ("Innodb_buffer_pool_read_ahead_evicted", ""),
    ("Innodb_buffer_pool_read_ahead_rnd", ""),
    ("Innodb_buffer_pool_read_requests", ""),
    ("Innodb_buffer_pool_reads", ""),
    ("Innodb_buffer_pool_resize_status", ""),
    ("Innodb_buffer_pool_wait_free", ""),
    ("Innodb_buffer_pool_write_requests", ""),
    ("Innodb_data_fsyncs", ""),
    ("Innodb_data_pending_fsyncs", ""),
    ("Innodb_data_pending_reads", ""),
    ("Innodb_data_pending_writes", ""),
    ("Innodb_data_read", ""),
    ("Innodb_data_reads", ""),
    ("Innodb_data_writes", ""),
    ("Innodb_data_written", ""),
    ("Innodb_dblwr_pages_written", ""),
    ("Innodb_dblwr_writes", ""),
    ("Innodb_log_waits", ""),
    ("Innodb_log_write_requests", ""),
    ("Innodb_log_writes", ""),
    ("Innodb_num_open_files", ""),
    ("Innodb_os_log_fsyncs", ""),
    ("Innodb_os_log_pending_fsyncs", ""),
    ("Innodb_os_log_pending_writes", ""),
    ("Innodb_os_log_written", ""),
    ("Innodb_page_size", "16384"),
    ("Innodb_pages_created", ""),
    ("Innodb_pages_read", ""),
    ("Innodb_pages_written", ""),
    ("Innodb_redo_log_capacity_resized", ""),
    ("Innodb_redo_log_checkpoint_lsn", ""),
    ("Innodb_redo_log_current_lsn", ""),
    ("Innodb_redo_log_flushed_to_disk_lsn", ""),
    ("Innodb_row_lock_current_waits", ""),
    ("Innodb_row_lock_time", ""),
    ("Innodb_row_lock_time_avg", ""),
    ("Innodb_row_lock_time_max", ""),
    ("Innodb_row_lock_waits", ""),
    ("Innodb_rows_deleted", ""),
    ("Innodb_rows_inserted", ""),
    ("Innodb_rows_read", ""),
    ("Innodb_rows_updated", ""),
    ("Innodb_truncated_status_writes", ""),
    ("Key_blocks_not_flushed", ""),
    ("Key_blocks_unused", ""),
    ("Key_blocks_used", ""),
    ("Key_read_requests", ""),
    ("Key_reads", ""),
    ("Key_write_requests", ""),
    ("Key_writes", ""),
    ("Last_query_cost", "0.000000"),
    ("Last_query_partial_plans", ""),
    ("Locked_connects", ""),
    ("Max_execution_time_exceeded", ""),
    ("Max_used_connections", ""),
    ("Not_flushed_delayed_rows", ""),
    ("Open_files", ""),
    ("Open_streams", ""),
    ("Open_table_definitions", ""),
    ("Open_tables", ""),
    ("Opened_files", ""),
    ("Opened_table_definitions", ""),
    ("Opened_tables", ""),
    ("Prepared_stmt_count", ""),
    ("Queries", ""),
    ("Questions", ""),
    ("Replica_open_temp_tables", ""),
    ("Secondary_engine_execution_count", ""),
    ("Select_full_join", ""),
    ("Select_full_range_join", ""),
    ("Select_range", ""),
    ("Select_range_check", ""),
    ("Select_scan", ""),
    ("Slave_open_temp_tables", ""),
    ("Slow_launch_threads", ""),
    ("Slow_queries", ""),
    ("Sort_merge_passes", ""),
    ("Sort_range", ""),
    ("Sort_rows", ""),
    ("Sort_scan", ""),
    ("Ssl_accept_renegotiates", ""),
    ("Ssl_accepts", ""),
    ("Ssl_callback_cache_hits", ""),
    ("Ssl_client_connects", ""),
    ("Ssl_connect_renegotiates", ""),
    ("Ssl_ctx_verify_depth", ""),
    ("Ssl_ctx_verify_mode", ""),
    ("Ssl_finished_accepts", ""),
    ("Ssl_finished_connects", ""),
    ("Ssl_session_cache_hits", ""),
    ("Ssl_session_cache_misses", ""),
    ("Ssl_session_cache_overflows", ""),
    ("Ssl_session_cache_size", ""),
    ("Ssl_session_cache_timeout", ""),
    ("Ssl_session_cache_timeouts", ""),
    ("Ssl_used_session_cache_entries", ""),
    ("Table_locks_immediate", ""),
    ("Table_locks_waited", ""),
    ("Table_open_cache_hits", ""),
    ("Table_open_cache_misses", ""),
    ("Table_open_cache_overflows", ""),
    ("Tc_log_max_pages_used", ""),
    ("Tc_log_page_size", ""),
    ("Tc_log_page_waits", ""),
    ("Threads_cached", ""),
    ("Threads_connected", ""),
    ("Threads_created", ""),
    ("Threads_running", ""),
    ("Tidemill_lock_memory", ""),
    ("Tidemill_locks", ""),
    ("Tidemill_purge_given_up", ""),
    ("Tidemill_rollbacks_given_up", ""),
    ("Uptime", ""),
    ("Uptime_since_flush_status", ""),
];
