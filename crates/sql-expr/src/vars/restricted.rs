//! System variables of which a session may not set even its own value without a privilege (the manual: "System Variable
//! Privileges").

/// The names, sorted.
const RESTRICTED: &[&str] = &[
    "auto_increment_increment",
    "auto_increment_offset",
    "binlog_direct_non_transactional_updates",
    "binlog_format",
    "binlog_row_image",
    "binlog_row_value_options",
    "binlog_rows_query_log_events",
    "binlog_transaction_compression",
    "binlog_transaction_compression_level_zstd",
    "bulk_insert_buffer_size",
    "character_set_database",
    "character_set_filesystem",
    "collation_database",
    "connection_memory_chunk_size",
    "connection_memory_limit",
    "default_collation_for_utf8mb4",
    "explicit_defaults_for_timestamp",
    "global_connection_memory_tracking",
    "gtid_next",
    "histogram_generation_max_mem_size",
    "immediate_server_version",
    "internal_tmp_mem_storage_engine",
    "original_commit_timestamp",
    "original_server_version",
    "pseudo_replica_mode",
    "pseudo_slave_mode",
    "pseudo_thread_id",
    "rbr_exec_mode",
    "show_create_table_skip_secondary_engine",
    "sql_generate_invisible_primary_key",
    "sql_log_bin",
    "sql_log_off",
    "sql_require_primary_key",
    "transaction_write_set_extraction",
];

/// Whether a session needs a privilege to set its own value of a variable.
pub fn is_restricted(name: &str) -> bool {
    RESTRICTED
        .binary_search_by(|r| {
            let name = name.bytes().map(|b| b.to_ascii_lowercase());
            r.bytes().cmp(name)
        })
        .is_ok()
}

/// Those of them that REPLICATION_APPLIER lets a session set too: what a client says that repeats a binary log.
const OF_APPLIERS: &[&str] = &[
    "gtid_next",
    "immediate_server_version",
    "original_commit_timestamp",
    "original_server_version",
    "pseudo_replica_mode",
    "pseudo_slave_mode",
];

/// Whether the privilege of appliers is enough to set a variable.
pub fn is_of_appliers(name: &str) -> bool {
    OF_APPLIERS.iter().any(|n| n.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_case() {
        assert!(RESTRICTED.is_sorted());
        assert!(is_restricted("SQL_LOG_BIN") && is_restricted("gtid_next"));
        assert!(!is_restricted("sql_mode") && !is_restricted(""));
        // MySQL looks at the transaction alone: whoever writes may ask what it is called.
        assert!(!is_restricted("session_track_gtids"));
    }
}
