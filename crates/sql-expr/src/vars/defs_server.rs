//! Variables of the server as a whole: identity, directories, network, caches, logs, security. A table only.

use super::def::*;

const U32: u64 = u32::MAX as u64;
const U64: u64 = u64::MAX;
const YEAR_SECONDS: u64 = 31_536_000;

/// The table.
pub(super) const SERVER: &[VarDef] = &[
    // Identity.
    text("version", Global, "8.0.36-tidemill").ro(),
    text("version_comment", Global, "Tidemill").ro(),
    text("version_compile_machine", Global, std::env::consts::ARCH).ro(),
    text("version_compile_os", Global, "Linux").ro(),
    text("version_compile_zlib", Global, "1.2.13").ro(),
    text("license", Global, "GPL").ro(),
    text("hostname", Global, "localhost").ro(),
    uint("protocol_version", Global, 10, 0, U32).ro(),
    text("pid_file", Global, "").ro(),
    text("system_time_zone", Global, "UTC").ro(),
    uint("lower_case_table_names", Global, 0, 0, 2).ro(),
    flag("lower_case_file_system", Global, false).ro(),
    uint("port", Global, 3306, 0, 65_535).ro(),
    text("socket", Global, "").ro(),
    text("bind_address", Global, "127.0.0.1").ro(),
    text("basedir", Global, "/usr/").ro(),
    text("datadir", Global, "./tidemill-data/").ro(),
    text("tmpdir", Global, "/tmp").ro(),
    text("plugin_dir", Global, "/usr/lib/mysql/plugin/").ro(),
    text("character_sets_dir", Global, "/usr/share/mysql/charsets/").ro(),
    text("lc_messages_dir", Global, "/usr/share/mysql/").ro(),
    text("secure_file_priv", Global, "/var/lib/mysql-files/").ro(),
    special(
        "character_set_system",
        Global,
        VarKind::Charset(false),
        "utf8mb3",
    )
    .ro(),
    flag("character_set_client_handshake", Global, true).hidden(),
    flag("core_file", Global, false).ro(),
    flag("large_files_support", Global, true).ro(),
    uint("large_page_size", Global, 0, 0, U32).ro(),
    flag("large_pages", Global, false).ro().inert(),
    flag("locked_in_memory", Global, false).ro(),
    // What was compiled in.
    word("have_compress", Global, "YES", HAVE).ro(),
    word("have_dynamic_loading", Global, "NO", HAVE).ro(),
    word("have_geometry", Global, "NO", HAVE).ro(),
    word("have_openssl", Global, "DISABLED", HAVE).ro(),
    word("have_profiling", Global, "NO", HAVE).ro(),
    word("have_query_cache", Global, "NO", HAVE).ro(),
    word("have_rtree_keys", Global, "NO", HAVE).ro(),
    word("have_ssl", Global, "DISABLED", HAVE).ro(),
    word("have_statement_timeout", Global, "YES", HAVE).ro(),
    word("have_symlink", Global, "DISABLED", HAVE).ro(),
    // Connections.
    uint("max_connections", Global, 151, 1, 100_000),
    uint("max_connect_errors", Global, 100, 1, U64),
    uint("back_log", Global, 151, 1, 65_535).ro(),
    uint("connect_timeout", Global, 10, 2, YEAR_SECONDS),
    uint("max_prepared_stmt_count", Global, 16_382, 0, 4_194_304),
    uint("max_write_lock_count", Global, U64, 1, U64).inert(),
    uint("max_digest_length", Global, 1024, 0, 1_048_576).ro(),
    flag("skip_name_resolve", Global, true).ro(),
    flag("skip_networking", Global, false).ro(),
    flag("skip_show_database", Global, false).ro(),
    flag("skip_external_locking", Global, true).ro(),
    text("init_connect", Global, ""),
    nullable("init_file", Global).ro(),
    uint("thread_cache_size", Global, 9, 0, 16_384).inert(),
    word(
        "thread_handling",
        Global,
        "one-thread-per-connection",
        &[
            "one-thread-per-connection",
            "no-threads",
            "loaded-dynamically",
        ],
    )
    .ro()
    .inert(),
    blocks("thread_stack", Global, 1_048_576, 131_072, U64, 1024)
        .ro()
        .inert(),
    uint("host_cache_size", Global, 279, 0, 65_536).inert(),
    uint("admin_port", Global, 33_062, 0, 65_535).ro(),
    text("admin_address", Global, "").ro(),
    flag("create_admin_listener_thread", Global, false).ro(),
    special(
        "protocol_compression_algorithms",
        Global,
        VarKind::Words(&["zlib", "zstd", "uncompressed"]),
        "zlib,zstd,uncompressed",
    ),
    // Modes of the server.
    flag("read_only", Global, false),
    flag("super_read_only", Global, false),
    flag("offline_mode", Global, false),
    word("event_scheduler", Global, "OFF", &["OFF", "ON", "DISABLED"]),
    flag("local_infile", Global, false),
    flag("automatic_sp_privileges", Global, true),
    flag("activate_all_roles_on_login", Global, false),
    flag("check_proxy_users", Global, false),
    flag("mysql_native_password_proxy_users", Global, false),
    flag("sha256_password_proxy_users", Global, false),
    flag("auto_generate_certs", Global, true).ro(),
    flag("avoid_temporal_upgrade", Global, false).inert(),
    flag("allow_suspicious_udfs", Global, false).ro().hidden(),
    flag("show_compatibility_56", Global, false).hidden(),
    flag("partial_revokes", Global, false),
    flag("persisted_globals_load", Global, true).ro(),
    text("persist_only_admin_x509_subject", Global, "").ro(),
    flag("persist_sensitive_variables_in_plaintext", Global, true).ro(),
    text("mandatory_roles", Global, ""),
    flag("require_secure_transport", Global, false),
    flag("table_encryption_privilege_check", Global, false),
    flag("keyring_operations", Global, true),
    flag("old", Global, false).ro().inert(),
    flag("flush", Global, false).inert(),
    uint("flush_time", Global, 0, 0, YEAR_SECONDS).inert(),
    flag("xa_detach_on_prepare", Both, true),
    text("disabled_storage_engines", Global, "").ro(),
    word("delay_key_write", Global, "ON", &["OFF", "ON", "ALL"]).inert(),
    uint("delayed_insert_limit", Global, 100, 1, U64).inert(),
    uint("delayed_insert_timeout", Global, 300, 1, YEAR_SECONDS).inert(),
    uint("delayed_queue_size", Global, 1000, 1, U64).inert(),
    word(
        "concurrent_insert",
        Global,
        "AUTO",
        &["NEVER", "AUTO", "ALWAYS"],
    )
    .inert(),
    uint("stored_program_cache", Global, 256, 16, 524_288).inert(),
    uint("stored_program_definition_cache", Global, 256, 256, 524_288).inert(),
    uint("schema_definition_cache", Global, 256, 256, 524_288).inert(),
    uint("tablespace_definition_cache", Global, 256, 256, 524_288).inert(),
    uint("table_definition_cache", Global, 2000, 400, 524_288).inert(),
    uint("table_open_cache", Global, 4000, 1, 524_288).ro(),
    uint("table_open_cache_instances", Global, 16, 1, 64)
        .ro()
        .inert(),
    uint("open_files_limit", Global, 10_000, 0, U32).ro(),
    uint("metadata_locks_cache_size", Global, 1024, 1, 1_048_576)
        .ro()
        .inert(),
    uint("metadata_locks_hash_instances", Global, 8, 1, 1024)
        .ro()
        .inert(),
    uint(
        "information_schema_stats_expiry",
        Both,
        86_400,
        0,
        YEAR_SECONDS,
    ),
    uint("temptable_max_ram", Global, 1_073_741_824, 2_097_152, U64),
    uint("temptable_max_mmap", Global, 1_073_741_824, 0, U64).inert(),
    flag("temptable_use_mmap", Global, true).inert(),
    uint("regexp_stack_limit", Global, 8_000_000, 0, 2_147_483_647),
    uint("regexp_time_limit", Global, 32, 0, 2_147_483_647),
    // Passwords.
    word(
        "default_authentication_plugin",
        Global,
        "caching_sha2_password",
        &[
            "mysql_native_password",
            "sha256_password",
            "caching_sha2_password",
        ],
    )
    .ro(),
    text("authentication_policy", Global, "*,,"),
    uint(
        "caching_sha2_password_digest_rounds",
        Global,
        5000,
        5000,
        4_095_000,
    )
    .ro(),
    flag("caching_sha2_password_auto_generate_rsa_keys", Global, true).ro(),
    text(
        "caching_sha2_password_private_key_path",
        Global,
        "private_key.pem",
    )
    .ro(),
    text(
        "caching_sha2_password_public_key_path",
        Global,
        "public_key.pem",
    )
    .ro(),
    flag("sha256_password_auto_generate_rsa_keys", Global, true).ro(),
    text(
        "sha256_password_private_key_path",
        Global,
        "private_key.pem",
    )
    .ro(),
    text("sha256_password_public_key_path", Global, "public_key.pem").ro(),
    // Of the validate_password component: in effect, and to be set, while it is installed.
    flag("validate_password.check_user_name", Global, true),
    uint("validate_password.length", Global, 8, 0, U32),
    uint("validate_password.mixed_case_count", Global, 1, 0, U32),
    uint("validate_password.number_count", Global, 1, 0, U32),
    word(
        "validate_password.policy",
        Global,
        "MEDIUM",
        &["LOW", "MEDIUM", "STRONG"],
    ),
    uint("validate_password.special_char_count", Global, 1, 0, U32),
    uint("default_password_lifetime", Global, 0, 0, 65_535),
    flag("disconnect_on_expired_password", Global, true).ro(),
    uint("password_history", Global, 0, 0, U32),
    uint("password_reuse_interval", Global, 0, 0, U32),
    flag("password_require_current", Global, false),
    uint("generated_random_password_length", Both, 20, 5, 255),
    uint("old_passwords", Both, 0, 0, 2).hidden(),
    // TLS.
    nullable("ssl_ca", Global),
    nullable("ssl_capath", Global),
    nullable("ssl_cert", Global),
    nullable("ssl_cipher", Global),
    nullable("ssl_crl", Global),
    nullable("ssl_crlpath", Global),
    nullable("ssl_key", Global),
    word("ssl_fips_mode", Global, "OFF", &["OFF"]),
    flag("ssl_session_cache_mode", Global, true),
    uint("ssl_session_cache_timeout", Global, 300, 0, 84_600),
    nullable("tls_ciphersuites", Global),
    text("tls_version", Global, "TLSv1.2,TLSv1.3"),
    // Logs.
    flag("general_log", Global, false),
    text("general_log_file", Global, "general.log"),
    text("log_error", Global, "stderr").ro(),
    text(
        "log_error_services",
        Global,
        "log_filter_internal; log_sink_internal",
    ),
    text("log_error_suppression_list", Global, ""),
    uint("log_error_verbosity", Global, 2, 1, 3),
    set("log_output", Global, "FILE", &["NONE", "FILE", "TABLE"]),
    flag("log_queries_not_using_indexes", Global, false),
    flag("log_raw", Global, false),
    flag("log_slow_admin_statements", Global, false),
    flag("log_slow_extra", Global, false),
    word(
        "log_statements_unsafe_for_binlog",
        Global,
        "ON",
        &["OFF", "ON"],
    ),
    uint("log_throttle_queries_not_using_indexes", Global, 0, 0, U32),
    word("log_timestamps", Global, "UTC", &["UTC", "SYSTEM"]),
    flag("slow_query_log", Global, false),
    text("slow_query_log_file", Global, "slow.log"),
    uint("slow_launch_time", Global, 2, 0, YEAR_SECONDS),
    // MyISAM, full text and others that have nothing behind them here.
    uint("ft_max_word_len", Global, 84, 10, 84).ro().inert(),
    uint("ft_min_word_len", Global, 4, 1, 84).ro().inert(),
    uint("ft_query_expansion_limit", Global, 20, 0, 1000)
        .ro()
        .inert(),
    text("ft_boolean_syntax", Global, "+ -><()~*:\"\"&|").inert(),
    text("ft_stopword_file", Global, "(built-in)").ro().inert(),
    uint("key_buffer_size", Global, 8_388_608, 0, U64).inert(),
    uint("key_cache_age_threshold", Global, 300, 100, U64).inert(),
    uint("key_cache_block_size", Global, 1024, 512, 16_384).inert(),
    uint("key_cache_division_limit", Global, 100, 1, 100).inert(),
    uint("myisam_data_pointer_size", Global, 6, 2, 7).inert(),
    uint(
        "myisam_max_sort_file_size",
        Global,
        9_223_372_036_853_727_232,
        0,
        U64,
    )
    .inert(),
    uint("myisam_mmap_size", Global, U64, 7, U64).ro().inert(),
    text("myisam_recover_options", Global, "OFF").ro().inert(),
    uint("myisam_repair_threads", Both, 1, 1, U64).inert(),
    uint("myisam_sort_buffer_size", Both, 8_388_608, 4096, U64).inert(),
    word(
        "myisam_stats_method",
        Both,
        "nulls_unequal",
        &["nulls_unequal", "nulls_equal", "nulls_ignored"],
    )
    .inert(),
    flag("myisam_use_mmap", Global, false).inert(),
    uint("ngram_token_size", Global, 2, 1, 10).ro(),
    // Asked for by older clients that pick their path by the version number.
    uint("query_cache_limit", Global, 1_048_576, 0, U64)
        .hidden()
        .inert(),
    uint("query_cache_min_res_unit", Global, 4096, 512, U64)
        .hidden()
        .inert(),
    uint("query_cache_size", Global, 0, 0, U64).hidden().inert(),
    word("query_cache_type", Both, "OFF", &["OFF", "ON", "DEMAND"])
        .hidden()
        .inert(),
    flag("query_cache_wlock_invalidate", Both, false)
        .hidden()
        .inert(),
    text("storage_engine", Both, "InnoDB").hidden(),
    // Performance schema.
    flag("performance_schema", Global, false).ro(),
    int(
        "performance_schema_digests_size",
        Global,
        10_000,
        -1,
        1_048_576,
    )
    .ro()
    .inert(),
    int("performance_schema_error_size", Global, 5242, 0, 1_048_576)
        .ro()
        .inert(),
    int(
        "performance_schema_events_statements_history_size",
        Global,
        10,
        -1,
        1024,
    )
    .ro()
    .inert(),
    int(
        "performance_schema_events_statements_history_long_size",
        Global,
        10_000,
        -1,
        1_048_576,
    )
    .ro()
    .inert(),
    int(
        "performance_schema_events_waits_history_size",
        Global,
        10,
        -1,
        1024,
    )
    .ro()
    .inert(),
    int(
        "performance_schema_events_waits_history_long_size",
        Global,
        10_000,
        -1,
        1_048_576,
    )
    .ro()
    .inert(),
    int(
        "performance_schema_max_digest_length",
        Global,
        1024,
        0,
        1_048_576,
    )
    .ro()
    .inert(),
    int(
        "performance_schema_max_sql_text_length",
        Global,
        1024,
        0,
        1_048_576,
    )
    .ro()
    .inert(),
    int(
        "performance_schema_max_table_instances",
        Global,
        -1,
        -1,
        1_048_576,
    )
    .ro()
    .inert(),
    int(
        "performance_schema_max_thread_instances",
        Global,
        -1,
        -1,
        1_048_576,
    )
    .ro()
    .inert(),
    int(
        "performance_schema_session_connect_attrs_size",
        Global,
        512,
        -1,
        1_048_576,
    )
    .ro()
    .inert(),
    int(
        "performance_schema_accounts_size",
        Global,
        -1,
        -1,
        1_048_576,
    )
    .ro()
    .inert(),
    int("performance_schema_hosts_size", Global, -1, -1, 1_048_576)
        .ro()
        .inert(),
    int("performance_schema_users_size", Global, -1, -1, 1_048_576)
        .ro()
        .inert(),
    flag("performance_schema_show_processlist", Global, false).inert(),
    // X protocol: there is none.
    uint("mysqlx_port", Global, 33_060, 1, 65_535).ro().hidden(),
];

const HAVE: &[&str] = &["NO", "YES", "DISABLED"];
