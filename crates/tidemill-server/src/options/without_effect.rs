//! Options of MySQL and MariaDB that have nothing left to tune here, each with its reason.

use super::known_option::{Argument, Kind, Known};
use Argument::{Required, Switch};

/// Options that share a reason.
struct Reason {
    text: &'static str,
    options: &'static [(&'static str, Argument)],
}

/// Finds an option by its canonical name.
pub(super) fn find(name: &str) -> Option<Known> {
    let families = [
        "performance_schema_",
        "thread_pool_",
        "mysqlx_",
        "binlog_",
        "relay_log_",
    ];
    for reason in REASONS {
        if let Some(&(name, argument)) = reason.options.iter().find(|(known, _)| *known == name) {
            return Some(Known {
                name,
                argument,
                kind: Kind::WithoutEffect(reason.text),
            });
        }
    }
    let family = families.iter().find(|family| name.starts_with(**family))?;
    let head = find(family.trim_end_matches('_'))?;
    Some(Known {
        argument: Required,
        ..head
    })
}

/// Every name listed here.
#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    REASONS
        .iter()
        .flat_map(|reason| reason.options.iter().map(|entry| entry.0))
}

const REASONS: &[Reason] = &[
    Reason {
        text: "the buffer pool is one array found by page number, there is nothing to split or resize in chunks",
        options: &[
            ("innodb_buffer_pool_instances", Required),
            ("innodb_buffer_pool_chunk_size", Required),
            ("innodb_numa_interleave", Switch),
        ],
    },
    Reason {
        text: "eviction is a scan-resistant clock without an age list",
        options: &[
            ("innodb_old_blocks_pct", Required),
            ("innodb_old_blocks_time", Required),
            ("innodb_lru_scan_depth", Required),
        ],
    },
    Reason {
        text: "the page cleaner paces itself by log age and free frames",
        options: &[
            ("innodb_page_cleaners", Required),
            ("innodb_max_dirty_pages_pct", Required),
            ("innodb_max_dirty_pages_pct_lwm", Required),
            ("innodb_flush_neighbors", Required),
            ("innodb_adaptive_flushing", Switch),
            ("innodb_adaptive_flushing_lwm", Required),
            ("innodb_flushing_avg_loops", Required),
            ("innodb_flush_sync", Switch),
            ("innodb_idle_flush_pct", Required),
            ("innodb_adaptive_checkpoint", Required),
        ],
    },
    Reason {
        text: "reads ahead follow the scan that asks for them",
        options: &[
            ("innodb_random_read_ahead", Switch),
            ("innodb_read_ahead_threshold", Required),
        ],
    },
    Reason {
        text: "the pool is not dumped at shutdown",
        options: &[
            ("innodb_buffer_pool_dump_at_shutdown", Switch),
            ("innodb_buffer_pool_dump_now", Switch),
            ("innodb_buffer_pool_dump_pct", Required),
            ("innodb_buffer_pool_filename", Required),
            ("innodb_buffer_pool_load_abort", Switch),
            ("innodb_buffer_pool_load_at_startup", Switch),
            ("innodb_buffer_pool_load_now", Switch),
        ],
    },
    Reason {
        text: "there is no change buffer",
        options: &[
            ("innodb_change_buffering", Required),
            ("innodb_change_buffer_max_size", Required),
        ],
    },
    Reason {
        text: "there is no adaptive hash index to latch",
        options: &[
            ("innodb_adaptive_hash_index", Switch),
            ("innodb_adaptive_hash_index_parts", Required),
            ("innodb_adaptive_hash_index_partitions", Required),
        ],
    },
    Reason {
        text: "statements run on one thread a core and wait for events, there is no queue to enter and nothing to spin on",
        options: &[
            ("innodb_thread_concurrency", Required),
            ("innodb_thread_sleep_delay", Required),
            ("innodb_adaptive_max_sleep_delay", Required),
            ("innodb_concurrency_tickets", Required),
            ("innodb_commit_concurrency", Required),
            ("innodb_spin_wait_delay", Required),
            ("innodb_spin_wait_pause_multiplier", Required),
            ("innodb_sync_spin_loops", Required),
            ("innodb_sync_array_size", Required),
            ("thread_cache_size", Required),
            ("thread_handling", Required),
            ("thread_pool", Required),
            ("thread_stack", Required),
            ("back_log", Required),
        ],
    },
    Reason {
        text: "page reads and writes are asynchronous, no threads wait for them",
        options: &[
            ("innodb_read_io_threads", Required),
            ("innodb_write_io_threads", Required),
            ("innodb_use_native_aio", Switch),
            ("innodb_use_fdatasync", Switch),
            ("innodb_parallel_read_threads", Required),
            ("innodb_ddl_threads", Required),
            ("innodb_ddl_buffer_size", Required),
            ("innodb_sort_buffer_size", Required),
            ("innodb_online_alter_log_max_size", Required),
        ],
    },
    Reason {
        text: "old versions live in the log, purge follows the oldest snapshot by itself",
        options: &[
            ("innodb_purge_threads", Required),
            ("innodb_purge_batch_size", Required),
            ("innodb_purge_rseg_truncate_frequency", Required),
            ("innodb_max_purge_lag", Required),
            ("innodb_max_purge_lag_delay", Required),
            ("innodb_undo_tablespaces", Required),
            ("innodb_undo_directory", Required),
            ("innodb_undo_log_truncate", Switch),
            ("innodb_undo_logs", Required),
            ("innodb_max_undo_log_size", Required),
            ("innodb_rollback_segments", Required),
        ],
    },
    Reason {
        text: "the catalog is read without locks and files are opened as they are needed",
        options: &[
            ("table_open_cache_instances", Required),
            ("table_definition_cache", Required),
            ("schema_definition_cache", Required),
            ("tablespace_definition_cache", Required),
            ("stored_program_definition_cache", Required),
            ("stored_program_cache", Required),
            ("metadata_locks_cache_size", Required),
            ("metadata_locks_hash_instances", Required),
        ],
    },
    Reason {
        text: "commits group themselves: whatever is complete is written and synced at once",
        options: &[
            ("innodb_flush_log_at_timeout", Required),
            ("innodb_log_write_ahead_size", Required),
            ("innodb_log_writer_threads", Switch),
            ("innodb_log_spin_cpu_abs_lwm", Required),
            ("innodb_log_spin_cpu_pct_hwm", Required),
            ("innodb_log_wait_for_flush_spin_hwm", Required),
            ("innodb_log_compressed_pages", Switch),
            ("innodb_log_checksums", Switch),
            ("innodb_log_group_home_dir", Required),
        ],
    },
    Reason {
        text: "there is nothing to tune of this in the binary log",
        options: &[
            ("log_bin_trust_function_creators", Switch),
            ("binlog", Required),
            ("max_binlog_cache_size", Required),
            ("max_binlog_stmt_cache_size", Required),
        ],
    },
    Reason {
        text: "how far a replica has come is committed with each transaction",
        options: &[
            ("replica_checkpoint_group", Required),
            ("replica_checkpoint_period", Required),
            ("slave_checkpoint_group", Required),
            ("slave_checkpoint_period", Required),
        ],
    },
    Reason {
        text: "a replica asks its source again for what it has not applied: there is no relay log",
        options: &[
            ("relay_log", Required),
            ("sync_relay_log", Required),
            ("sync_master_info", Required),
            ("master_info_repository", Required),
        ],
    },
    Reason {
        text: "the doublewrite file needs no arranging, and every page always has its checksum",
        options: &[
            ("innodb_doublewrite_batch_size", Required),
            ("innodb_doublewrite_dir", Required),
            ("innodb_doublewrite_files", Required),
            ("innodb_doublewrite_pages", Required),
            ("innodb_checksum_algorithm", Required),
            ("innodb_checksums", Switch),
        ],
    },
    Reason {
        text: "a table is a file that grows by extents, and there is no system tablespace",
        options: &[
            ("innodb_file_per_table", Switch),
            ("innodb_file_format", Required),
            ("innodb_data_file_path", Required),
            ("innodb_data_home_dir", Required),
            ("innodb_directories", Required),
            ("innodb_temp_tablespaces_dir", Required),
            ("innodb_autoextend_increment", Required),
            ("innodb_extend_and_initialize", Switch),
            ("innodb_fill_factor", Required),
            ("innodb_large_prefix", Switch),
            ("innodb_fsync_threshold", Required),
        ],
    },
    Reason {
        text: "shutdown is always clean and start-up never waits for rollback",
        options: &[
            ("innodb_fast_shutdown", Required),
            ("innodb_max_recovery_time", Required),
            ("innodb_validate_tablespace_paths", Switch),
        ],
    },
    Reason {
        text: "sizes are taken from the options that name them",
        options: &[("innodb_dedicated_server", Switch)],
    },
    Reason {
        text: "there is no query cache",
        options: &[
            ("query_cache_size", Required),
            ("query_cache_type", Required),
            ("query_cache_limit", Required),
        ],
    },
    Reason {
        text: "there is one storage engine",
        options: &[
            ("innodb", Switch),
            ("key_buffer_size", Required),
            ("key_buffer", Required),
            ("bulk_insert_buffer_size", Required),
            ("concurrent_insert", Required),
            ("delay_key_write", Required),
            ("flush", Switch),
            ("flush_time", Required),
            ("internal_tmp_mem_storage_engine", Required),
            ("low_priority_updates", Switch),
            ("myisam_max_sort_file_size", Required),
            ("myisam_recover_options", Required),
            ("myisam_sort_buffer_size", Required),
            ("aria_pagecache_buffer_size", Required),
            ("aria_log_file_size", Required),
            ("skip_external_locking", Switch),
            ("external_locking", Switch),
            ("symbolic_links", Switch),
            ("skip_symbolic_links", Switch),
            ("temptable_max_ram", Required),
            ("temptable_max_mmap", Required),
        ],
    },
    Reason {
        text: "host names are not resolved, accounts match addresses",
        options: &[
            ("skip_name_resolve", Switch),
            ("skip_host_cache", Switch),
            ("host_cache_size", Required),
        ],
    },
    Reason {
        text: "the program is one file, needs no other, and runs as whoever starts it",
        options: &[
            ("basedir", Required),
            ("character_sets_dir", Required),
            ("language", Required),
            ("lc_messages_dir", Required),
            ("plugin_dir", Required),
            ("plugin_load", Required),
            ("plugin_load_add", Required),
            ("early_plugin_load", Required),
            ("user", Required),
            ("chroot", Required),
            ("console", Switch),
            ("core_file", Switch),
            ("daemonize", Switch),
            ("gdb", Switch),
            ("large_pages", Switch),
            ("memlock", Switch),
            ("standalone", Switch),
            ("tc_heuristic_recover", Required),
        ],
    },
    Reason {
        text: "statistics are always collected, in counters of each core",
        options: &[
            ("performance_schema", Switch),
            ("innodb_monitor_enable", Required),
            ("innodb_status_file", Switch),
            ("userstat", Switch),
        ],
    },
    Reason {
        text: "the X protocol is not spoken",
        options: &[("mysqlx", Switch)],
    },
];
