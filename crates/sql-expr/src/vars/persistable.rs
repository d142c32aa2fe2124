//! System variables that SET PERSIST does not take (the manual: "Nonpersistible and Persist-Restricted System Variables"): facts, and
//! those that decide what a start finds. Persist-restricted ones need a certificate that `persist_only_admin_x509_subject` names; as
//! none can be named here, they are refused like the others.

/// The names, sorted.
const REFUSED: &[&str] = &[
    "admin_address",
    "admin_port",
    "auto_generate_certs",
    "basedir",
    "bind_address",
    "caching_sha2_password_auto_generate_rsa_keys",
    "caching_sha2_password_private_key_path",
    "caching_sha2_password_public_key_path",
    "character_set_system",
    "character_sets_dir",
    "core_file",
    "create_admin_listener_thread",
    "datadir",
    "default_authentication_plugin",
    "ft_stopword_file",
    "have_statement_timeout",
    "have_symlink",
    "hostname",
    "init_file",
    "innodb_buffer_pool_load_at_startup",
    "innodb_data_file_path",
    "innodb_data_home_dir",
    "innodb_dedicated_server",
    "innodb_directories",
    "innodb_doublewrite_dir",
    "innodb_force_load_corrupted",
    "innodb_log_group_home_dir",
    "innodb_page_size",
    "innodb_read_only",
    "innodb_temp_data_file_path",
    "innodb_temp_tablespaces_dir",
    "innodb_undo_directory",
    "innodb_undo_tablespaces",
    "innodb_version",
    "large_files_support",
    "large_page_size",
    "lc_messages_dir",
    "license",
    "locked_in_memory",
    "log_archive_dir",
    "log_bin",
    "log_bin_basename",
    "log_bin_index",
    "log_error",
    "lower_case_file_system",
    "lower_case_table_names",
    "named_pipe",
    "persist_only_admin_x509_subject",
    "persist_sensitive_variables_in_plaintext",
    "persisted_globals_load",
    "pid_file",
    "plugin_dir",
    "port",
    "protocol_version",
    "relay_log",
    "relay_log_basename",
    "relay_log_index",
    "relay_log_info_file",
    "replica_load_tmpdir",
    "secure_file_priv",
    "server_uuid",
    "sha256_password_auto_generate_rsa_keys",
    "sha256_password_private_key_path",
    "sha256_password_public_key_path",
    "shared_memory",
    "shared_memory_base_name",
    "skip_external_locking",
    "skip_networking",
    "slave_load_tmpdir",
    "socket",
    "ssl_ca",
    "ssl_capath",
    "ssl_cert",
    "ssl_cipher",
    "ssl_crl",
    "ssl_crlpath",
    "ssl_key",
    "system_time_zone",
    "tmpdir",
    "version",
    "version_comment",
    "version_compile_machine",
    "version_compile_os",
    "version_compile_zlib",
];

/// Whether a variable's value may be kept for the next start.
pub fn is_persistable(name: &str) -> bool {
    REFUSED.binary_search(&name).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted() {
        assert!(REFUSED.is_sorted());
        assert!(is_persistable("max_connections") && !is_persistable("datadir"));
    }
}
