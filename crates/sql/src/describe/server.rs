//! What the server is made of, as SHOW and `information_schema` say it.

/// Engines: name, support, comment, transactions, XA, savepoints.
pub(crate) const ENGINES: &[[&str; 6]] = &[[
    "InnoDB",
    "DEFAULT",
    "Supports transactions, row-level locking, and savepoints",
    "YES",
    "YES",
    "YES",
]];

/// Plugins: name, status, type, library, licence.
pub(crate) const PLUGINS: &[[&str; 3]] = &[
    ["caching_sha2_password", "ACTIVE", "AUTHENTICATION"],
    ["mysql_native_password", "ACTIVE", "AUTHENTICATION"],
    ["sha256_password", "ACTIVE", "AUTHENTICATION"],
    ["auth_socket", "ACTIVE", "AUTHENTICATION"],
    ["InnoDB", "ACTIVE", "STORAGE ENGINE"],
    ["rpl_semi_sync_source", "ACTIVE", "REPLICATION"],
    ["rpl_semi_sync_replica", "ACTIVE", "REPLICATION"],
    ["rpl_semi_sync_master", "ACTIVE", "REPLICATION"],
    ["rpl_semi_sync_slave", "ACTIVE", "REPLICATION"],
];
