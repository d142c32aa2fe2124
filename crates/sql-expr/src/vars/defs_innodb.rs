//! The `innodb_*` variables. Those that still mean something here (pool and log size, flush method,
//! durability, io capacity) are obeyed; the others are accepted and marked inert. A table only.

use super::def::*;

const U32: u64 = u32::MAX as u64;
const U64: u64 = u64::MAX;

/// The table.
pub(super) const INNODB: &[VarDef] = &[
    // Obeyed.
    blocks(
        "innodb_buffer_pool_size",
        Global,
        134_217_728,
        5_242_880,
        U64,
        1,
    ),
    word(
        "innodb_flush_method",
        Global,
        "O_DIRECT",
        &[
            "fsync",
            "O_DSYNC",
            "littlesync",
            "nosync",
            "O_DIRECT",
            "O_DIRECT_NO_FSYNC",
        ],
    )
    .ro(),
    uint("innodb_flush_log_at_trx_commit", Global, 1, 0, 2),
    blocks(
        "innodb_redo_log_capacity",
        Global,
        104_857_600,
        8_388_608,
        137_438_953_472,
        1_048_576,
    ),
    blocks(
        "innodb_log_file_size",
        Global,
        50_331_648,
        4_194_304,
        U64,
        1_048_576,
    )
    .ro(),
    uint("innodb_log_files_in_group", Global, 2, 2, 100).ro(),
    blocks(
        "innodb_log_buffer_size",
        Global,
        16_777_216,
        262_144,
        U32,
        1024,
    ),
    uint("innodb_io_capacity", Global, 200, 100, U64),
    uint("innodb_io_capacity_max", Global, 2000, 100, U64),
    word(
        "innodb_doublewrite",
        Global,
        "ON",
        &["OFF", "ON", "DETECT_ONLY", "DETECT_AND_RECOVER"],
    ),
    text("innodb_doublewrite_dir", Global, "").ro(),
    uint("innodb_page_size", Global, 16_384, 4096, 65_536).ro(),
    flag("innodb_deadlock_detect", Global, true),
    flag("innodb_defragment", Global, true),
    flag("innodb_print_all_deadlocks", Global, false),
    flag("innodb_rollback_on_timeout", Global, false).ro(),
    flag("innodb_read_only", Global, false).ro(),
    uint("innodb_force_recovery", Global, 0, 0, 6).ro(),
    flag("innodb_file_per_table", Global, true),
    flag("innodb_use_native_aio", Global, true).ro(),
    uint("innodb_fast_shutdown", Global, 1, 0, 2),
    text("innodb_data_home_dir", Global, "").ro(),
    text("innodb_data_file_path", Global, "ibdata1:12M:autoextend").ro(),
    text("innodb_log_group_home_dir", Global, "./").ro(),
    text("innodb_undo_directory", Global, "./").ro(),
    text(
        "innodb_temp_data_file_path",
        Global,
        "ibtmp1:12M:autoextend",
    )
    .ro(),
    text("innodb_temp_tablespaces_dir", Global, "./#innodb_temp/").ro(),
    text("innodb_directories", Global, "").ro(),
    text("innodb_version", Global, "8.0.36").ro(),
    uint("innodb_autoinc_lock_mode", Global, 2, 0, 2).ro(),
    word(
        "innodb_checksum_algorithm",
        Global,
        "crc32",
        &[
            "crc32",
            "strict_crc32",
            "innodb",
            "strict_innodb",
            "none",
            "strict_none",
        ],
    )
    .inert(),
    flag("innodb_log_checksums", Global, true).inert(),
    word(
        "innodb_default_row_format",
        Global,
        "dynamic",
        &["redundant", "compact", "dynamic"],
    ),
    flag("innodb_validate_tablespace_paths", Global, true).ro(),
    flag("innodb_dedicated_server", Global, false).ro(),
    flag("innodb_snapshot_isolation", Both, false),
    // Statistics.
    flag("innodb_stats_persistent", Global, true),
    flag("innodb_stats_auto_recalc", Global, true),
    flag("innodb_stats_on_metadata", Global, false),
    flag("innodb_stats_include_delete_marked", Global, false),
    uint("innodb_stats_persistent_sample_pages", Global, 20, 1, U64),
    uint("innodb_stats_transient_sample_pages", Global, 8, 1, U64),
    word(
        "innodb_stats_method",
        Global,
        "nulls_equal",
        &["nulls_equal", "nulls_unequal", "nulls_ignored"],
    ),
    flag("innodb_status_output", Global, false),
    flag("innodb_status_output_locks", Global, false),
    text("innodb_monitor_enable", Global, ""),
    text("innodb_monitor_disable", Global, ""),
    text("innodb_monitor_reset", Global, ""),
    text("innodb_monitor_reset_all", Global, ""),
    flag("innodb_cmp_per_index_enabled", Global, false),
    uint("innodb_compression_level", Global, 6, 0, 9),
    // Not MySQL's: KEY_BLOCK_SIZE of tables with ROW_FORMAT=COMPRESSED that name none; 0: what each page needs.
    uint("innodb_default_key_block_size", Both, 0, 0, 16),
    uint(
        "innodb_compression_failure_threshold_pct",
        Global,
        5,
        0,
        100,
    ),
    uint("innodb_compression_pad_pct_max", Global, 50, 0, 75),
    flag("innodb_log_compressed_pages", Global, true).inert(),
    uint("innodb_max_purge_lag", Global, 0, 0, U32),
    uint("innodb_max_purge_lag_delay", Global, 0, 0, 10_000_000).inert(),
    uint(
        "innodb_online_alter_log_max_size",
        Global,
        134_217_728,
        65_536,
        U64,
    ),
    uint("innodb_open_files", Global, 4000, 10, 2_147_483_647).ro(),
    uint("innodb_flush_log_at_timeout", Global, 1, 1, 2700),
    uint("innodb_fill_factor", Global, 100, 10, 100),
    flag("innodb_optimize_fulltext_only", Global, false),
    flag("innodb_print_ddl_logs", Global, false),
    text("innodb_redo_log_archive_dirs", Global, ""),
    flag("innodb_redo_log_encrypt", Global, false),
    flag("innodb_undo_log_encrypt", Global, false),
    flag("innodb_undo_log_truncate", Global, true).inert(),
    uint("innodb_undo_tablespaces", Global, 2, 2, 127).inert(),
    uint(
        "innodb_max_undo_log_size",
        Global,
        1_073_741_824,
        10_485_760,
        U64,
    )
    .inert(),
    uint("innodb_rollback_segments", Global, 128, 1, 128).inert(),
    uint("innodb_merge_threshold_set_all_debug", Global, 50, 1, 50).hidden(),
    // Nothing left to tune.
    flag("innodb_adaptive_flushing", Global, true).inert(),
    uint("innodb_adaptive_flushing_lwm", Global, 10, 0, 70).inert(),
    flag("innodb_adaptive_hash_index", Global, true).inert(),
    uint("innodb_adaptive_hash_index_parts", Global, 8, 1, 512)
        .ro()
        .inert(),
    uint(
        "innodb_adaptive_max_sleep_delay",
        Global,
        150_000,
        0,
        1_000_000,
    )
    .inert(),
    uint("innodb_api_bk_commit_interval", Global, 5, 1, 1_073_741_824).inert(),
    flag("innodb_api_disable_rowlock", Global, false)
        .ro()
        .inert(),
    flag("innodb_api_enable_binlog", Global, false).ro().inert(),
    flag("innodb_api_enable_mdl", Global, false).ro().inert(),
    uint("innodb_api_trx_level", Global, 0, 0, 3).inert(),
    uint("innodb_autoextend_increment", Global, 64, 1, 1000).inert(),
    blocks(
        "innodb_buffer_pool_chunk_size",
        Global,
        134_217_728,
        1_048_576,
        U64,
        1_048_576,
    )
    .ro()
    .inert(),
    flag("innodb_buffer_pool_dump_at_shutdown", Global, true).inert(),
    flag("innodb_buffer_pool_dump_now", Global, false).inert(),
    uint("innodb_buffer_pool_dump_pct", Global, 25, 1, 100).inert(),
    text("innodb_buffer_pool_filename", Global, "ib_buffer_pool").inert(),
    flag("innodb_buffer_pool_in_core_file", Global, true).inert(),
    uint("innodb_buffer_pool_instances", Global, 1, 1, 64)
        .ro()
        .inert(),
    flag("innodb_buffer_pool_load_abort", Global, false).inert(),
    flag("innodb_buffer_pool_load_at_startup", Global, true)
        .ro()
        .inert(),
    flag("innodb_buffer_pool_load_now", Global, false).inert(),
    uint("innodb_change_buffer_max_size", Global, 25, 0, 50).inert(),
    word(
        "innodb_change_buffering",
        Global,
        "all",
        &["none", "inserts", "deletes", "changes", "purges", "all"],
    )
    .inert(),
    uint("innodb_commit_concurrency", Global, 0, 0, 1000).inert(),
    uint("innodb_concurrency_tickets", Global, 5000, 1, U32).inert(),
    flag("innodb_disable_sort_file_cache", Global, false).inert(),
    uint("innodb_doublewrite_batch_size", Global, 0, 0, 256)
        .ro()
        .inert(),
    uint("innodb_doublewrite_files", Global, 2, 1, 256)
        .ro()
        .inert(),
    uint("innodb_doublewrite_pages", Global, 4, 1, 512)
        .ro()
        .inert(),
    uint("innodb_flush_neighbors", Global, 0, 0, 2).inert(),
    flag("innodb_flush_sync", Global, true).inert(),
    uint("innodb_flushing_avg_loops", Global, 30, 1, 1000).inert(),
    flag("innodb_force_load_corrupted", Global, false).ro(),
    uint("innodb_fsync_threshold", Global, 0, 0, U64).inert(),
    text("innodb_ft_aux_table", Global, ""),
    uint(
        "innodb_ft_cache_size",
        Global,
        8_000_000,
        1_600_000,
        80_000_000,
    )
    .ro()
    .inert(),
    flag("innodb_ft_enable_diag_print", Global, false).inert(),
    uint("innodb_ft_max_token_size", Global, 84, 10, 84).ro(),
    uint("innodb_ft_min_token_size", Global, 3, 0, 16).ro(),
    uint("innodb_ft_num_word_optimize", Global, 2000, 1000, 10_000).inert(),
    uint(
        "innodb_ft_result_cache_limit",
        Global,
        2_000_000_000,
        1_000_000,
        U32,
    )
    .inert(),
    nullable("innodb_ft_server_stopword_table", Global),
    uint("innodb_ft_sort_pll_degree", Global, 2, 1, 16)
        .ro()
        .inert(),
    uint(
        "innodb_ft_total_cache_size",
        Global,
        640_000_000,
        32_000_000,
        1_600_000_000,
    )
    .ro()
    .inert(),
    uint("innodb_idle_flush_pct", Global, 100, 0, 100).inert(),
    uint("innodb_log_spin_cpu_abs_lwm", Global, 80, 0, U32).inert(),
    uint("innodb_log_spin_cpu_pct_hwm", Global, 50, 0, 100).inert(),
    uint("innodb_log_wait_for_flush_spin_hwm", Global, 400, 0, U64).inert(),
    uint("innodb_log_write_ahead_size", Global, 8192, 512, 16_384).inert(),
    flag("innodb_log_writer_threads", Global, true).inert(),
    uint("innodb_lru_scan_depth", Global, 1024, 100, U64).inert(),
    double("innodb_max_dirty_pages_pct", Global, 90.0, 0.0, 99.999).inert(),
    double("innodb_max_dirty_pages_pct_lwm", Global, 10.0, 0.0, 99.999).inert(),
    flag("innodb_numa_interleave", Global, false).ro().inert(),
    uint("innodb_old_blocks_pct", Global, 37, 5, 95).inert(),
    uint("innodb_old_blocks_time", Global, 1000, 0, U32).inert(),
    uint("innodb_page_cleaners", Global, 1, 1, 64).ro().inert(),
    uint("innodb_purge_batch_size", Global, 300, 1, 5000).inert(),
    uint("innodb_purge_rseg_truncate_frequency", Global, 128, 1, 128).inert(),
    uint("innodb_purge_threads", Global, 4, 1, 32).ro().inert(),
    flag("innodb_random_read_ahead", Global, false).inert(),
    uint("innodb_read_ahead_threshold", Global, 56, 0, 64).inert(),
    uint("innodb_read_io_threads", Global, 4, 1, 64)
        .ro()
        .inert(),
    uint("innodb_replication_delay", Global, 0, 0, U32).inert(),
    uint("innodb_segment_reserve_factor", Global, 12, 0, 40).inert(),
    uint(
        "innodb_sort_buffer_size",
        Global,
        1_048_576,
        65_536,
        67_108_864,
    )
    .ro(),
    uint("innodb_spin_wait_delay", Global, 6, 0, 1000).inert(),
    uint("innodb_spin_wait_pause_multiplier", Global, 50, 1, 100).inert(),
    uint("innodb_sync_array_size", Global, 1, 1, 1024)
        .ro()
        .inert(),
    uint("innodb_sync_spin_loops", Global, 30, 0, U32).inert(),
    uint("innodb_thread_concurrency", Global, 0, 0, 1000).inert(),
    uint("innodb_thread_sleep_delay", Global, 10_000, 0, 1_000_000).inert(),
    flag("innodb_use_fdatasync", Global, true).inert(),
    uint("innodb_write_io_threads", Global, 4, 1, 64)
        .ro()
        .inert(),
    flag("innodb_extend_and_initialize", Global, true).inert(),
];
