//! The table of options: which are obeyed, which are a variable's first value, and how each takes its value.

use super::known_option::{Argument, Kind, Known, Setter};
use super::{set, without_effect};
use Argument::{Required, Switch};

/// Finds an option by its canonical name.
pub(super) fn find(name: &str) -> Option<Known> {
    if let Some(&(name, argument, set)) = OBEYED.iter().find(|(known, ..)| *known == name) {
        return Some(Known {
            name,
            argument,
            kind: Kind::Obeyed(set),
        });
    }
    if let Some(&(name, argument)) = VARIABLES.iter().find(|(known, _)| *known == name) {
        return Some(Known {
            name,
            argument,
            kind: Kind::Variable,
        });
    }
    without_effect::find(name)
}

/// Options that fill a field of [`Options`].
pub(super) const OBEYED: &[(&str, Argument, Setter)] = &[
    ("datadir", Required, set::datadir),
    ("port", Required, set::port),
    ("bind_address", Required, set::bind_address),
    ("skip_networking", Switch, set::skip_networking),
    ("admin_address", Required, set::admin_address),
    ("admin_port", Required, set::admin_port),
    ("socket", Required, set::socket),
    ("ssl", Switch, set::ssl),
    ("pid_file", Required, set::pid_file),
    ("log_error", Required, set::log_error),
    ("tmpdir", Required, set::tmpdir),
    ("max_connections", Required, set::max_connections),
    ("open_files_limit", Required, set::open_files_limit),
    ("table_open_cache", Required, set::table_open_cache),
    ("table_cache", Required, set::table_open_cache),
    ("innodb_open_files", Required, set::innodb_open_files),
    ("max_allowed_packet", Required, set::max_allowed_packet),
    ("connect_timeout", Required, set::connect_timeout),
    ("wait_timeout", Required, set::wait_timeout),
    ("interactive_timeout", Required, set::interactive_timeout),
    ("innodb_buffer_pool_size", Required, set::buffer_pool_size),
    ("innodb_redo_log_capacity", Required, set::redo_log_capacity),
    ("innodb_log_file_size", Required, set::log_file_size),
    (
        "innodb_log_files_in_group",
        Required,
        set::log_files_in_group,
    ),
    ("innodb_log_buffer_size", Required, set::log_buffer_size),
    (
        "innodb_flush_log_at_trx_commit",
        Required,
        set::flush_log_at_trx_commit,
    ),
    ("innodb_flush_method", Required, set::flush_method),
    ("innodb_doublewrite", Switch, set::doublewrite),
    ("innodb_io_capacity", Required, set::io_capacity),
    ("innodb_io_capacity_max", Required, set::io_capacity_max),
    ("innodb_lock_wait_timeout", Required, set::lock_wait_timeout),
    ("innodb_page_size", Required, set::page_size),
    ("innodb_force_recovery", Required, set::force_recovery),
    (
        "transaction_isolation",
        Required,
        set::transaction_isolation,
    ),
    ("tx_isolation", Required, set::transaction_isolation),
    ("transaction_read_only", Switch, set::transaction_read_only),
    ("autocommit", Switch, set::autocommit),
    ("sql_mode", Required, set::sql_mode),
    ("character_set_server", Required, set::character_set_server),
    ("default_character_set", Required, set::character_set_server),
    ("collation_server", Required, set::collation_server),
    ("default_collation", Required, set::collation_server),
    ("default_time_zone", Required, set::default_time_zone),
    (
        "lower_case_table_names",
        Required,
        set::lower_case_table_names,
    ),
    ("server_id", Required, set::server_id),
    ("log_bin", Switch, set::log_bin),
    ("log_bin_index", Required, set::log_bin_index),
    ("log_replica_updates", Switch, set::log_replica_updates),
    ("log_slave_updates", Switch, set::log_replica_updates),
    ("sync_binlog", Required, set::sync_binlog),
    (
        "default_storage_engine",
        Required,
        set::default_storage_engine,
    ),
];

/// System variables whose first value SQL checks and takes.
const VARIABLES: &[(&str, Argument)] = &[
    ("auto_generate_certs", Switch),
    ("auto_increment_increment", Required),
    ("auto_increment_offset", Required),
    ("activate_all_roles_on_login", Switch),
    ("big_tables", Switch),
    ("binlog_checksum", Required),
    ("binlog_expire_logs_seconds", Required),
    ("binlog_row_image", Required),
    ("binlog_row_metadata", Required),
    ("binlog_rows_query_log_events", Switch),
    ("binlog_transaction_dependency_history_size", Required),
    ("block_encryption_mode", Required),
    ("completion_type", Required),
    ("connection_memory_chunk_size", Required),
    ("connection_memory_limit", Required),
    ("cte_max_recursion_depth", Required),
    ("default_authentication_plugin", Required),
    ("default_password_lifetime", Required),
    ("default_tmp_storage_engine", Required),
    ("default_week_format", Required),
    ("div_precision_increment", Required),
    ("eq_range_index_dive_limit", Required),
    ("enforce_gtid_consistency", Required),
    ("event_scheduler", Required),
    ("explain_format", Required),
    ("explicit_defaults_for_timestamp", Switch),
    ("foreign_key_checks", Switch),
    ("ft_max_word_len", Required),
    ("ft_min_word_len", Required),
    ("general_log", Switch),
    ("general_log_file", Required),
    ("global_connection_memory_limit", Required),
    ("global_connection_memory_tracking", Switch),
    ("group_concat_max_len", Required),
    ("gtid_mode", Required),
    ("max_binlog_size", Required),
    ("expire_logs_days", Required),
    ("histogram_generation_max_mem_size", Required),
    ("init_connect", Required),
    ("init_file", Required),
    ("innodb_autoinc_lock_mode", Required),
    ("innodb_cmp_per_index_enabled", Switch),
    ("innodb_compression_failure_threshold_pct", Required),
    ("innodb_compression_level", Required),
    ("innodb_compression_pad_pct_max", Required),
    ("innodb_deadlock_detect", Switch),
    ("innodb_default_key_block_size", Required),
    ("innodb_default_row_format", Required),
    ("innodb_print_all_deadlocks", Switch),
    ("innodb_rollback_on_timeout", Switch),
    ("innodb_snapshot_isolation", Switch),
    ("innodb_stats_auto_recalc", Switch),
    ("innodb_stats_include_delete_marked", Switch),
    ("innodb_stats_method", Required),
    ("innodb_stats_on_metadata", Switch),
    ("innodb_stats_persistent", Switch),
    ("innodb_stats_persistent_sample_pages", Required),
    ("innodb_stats_transient_sample_pages", Required),
    ("innodb_status_output", Switch),
    ("innodb_status_output_locks", Switch),
    ("innodb_strict_mode", Switch),
    ("innodb_table_locks", Switch),
    ("innodb_temp_data_file_path", Required),
    ("join_buffer_size", Required),
    ("lc_messages", Required),
    ("lc_time_names", Required),
    ("local_infile", Switch),
    ("lock_wait_timeout", Required),
    ("log_error_verbosity", Required),
    ("log_output", Required),
    ("log_queries_not_using_indexes", Switch),
    ("log_timestamps", Required),
    ("long_query_time", Required),
    ("max_connect_errors", Required),
    ("max_error_count", Required),
    ("max_execution_time", Required),
    ("max_heap_table_size", Required),
    ("max_join_size", Required),
    ("max_length_for_sort_data", Required),
    ("max_prepared_stmt_count", Required),
    ("max_seeks_for_key", Required),
    ("max_sort_length", Required),
    ("max_user_connections", Required),
    ("min_examined_row_limit", Required),
    ("net_buffer_length", Required),
    ("net_read_timeout", Required),
    ("net_retry_count", Required),
    ("net_write_timeout", Required),
    ("ngram_token_size", Required),
    ("old_alter_table", Switch),
    ("optimizer_prune_level", Required),
    ("optimizer_search_depth", Required),
    ("optimizer_switch", Required),
    ("parser_max_mem_size", Required),
    ("persisted_globals_load", Switch),
    ("range_alloc_block_size", Required),
    ("range_optimizer_max_mem_size", Required),
    ("read_buffer_size", Required),
    ("read_only", Switch),
    ("read_rnd_buffer_size", Required),
    ("report_host", Required),
    ("report_port", Required),
    ("require_secure_transport", Switch),
    ("secure_file_priv", Required),
    ("session_track_gtids", Required),
    ("session_track_schema", Switch),
    ("session_track_state_change", Switch),
    ("session_track_system_variables", Required),
    ("session_track_transaction_info", Required),
    ("slow_query_log", Switch),
    ("slow_query_log_file", Required),
    ("sort_buffer_size", Required),
    ("sql_generate_invisible_primary_key", Switch),
    ("sql_require_primary_key", Switch),
    ("ssl_ca", Required),
    ("ssl_capath", Required),
    ("ssl_cert", Required),
    ("ssl_cipher", Required),
    ("ssl_crl", Required),
    ("ssl_crlpath", Required),
    ("ssl_key", Required),
    ("ssl_session_cache_mode", Switch),
    ("ssl_session_cache_timeout", Required),
    ("super_read_only", Switch),
    ("tls_ciphersuites", Required),
    ("tls_version", Required),
    ("tmp_table_size", Required),
    ("unique_checks", Switch),
    ("updatable_views_with_limit", Switch),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_canonical_and_stand_once() {
        let mut seen = BTreeSet::new();
        let obeyed = OBEYED.iter().map(|entry| entry.0);
        let variables = VARIABLES.iter().map(|entry| entry.0);
        for name in obeyed.chain(variables).chain(without_effect::names()) {
            assert_eq!(super::super::value::canonical(name), name);
            assert!(seen.insert(name), "{name} stands twice");
            assert_eq!(find(name).map(|known| known.name), Some(name));
        }
        assert!(find("no_such_option").is_none());
    }
}
