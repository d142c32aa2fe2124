//! The look-up of system variables by name. Built once from the tables; read-only and lock-free afterwards.

use std::cmp::Ordering;
use std::sync::LazyLock;

use super::def::VarDef;
use super::{defs_innodb, defs_repl, defs_server, defs_session};

/// A variable's place in the registry; also the index of its value in a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VarId(pub(super) u16);

/// Old name, name of the variable that holds the value.
const ALIASES: &[(&str, &str)] = &[
    ("tx_isolation", "transaction_isolation"),
    ("tx_read_only", "transaction_read_only"),
    ("storage_engine", "default_storage_engine"),
    ("identity", "last_insert_id"),
    ("init_slave", "init_replica"),
    ("log_slave_updates", "log_replica_updates"),
    ("log_slow_slave_statements", "log_slow_replica_statements"),
    ("master_verify_checksum", "source_verify_checksum"),
    ("pseudo_slave_mode", "pseudo_replica_mode"),
    (
        "rpl_semi_sync_master_enabled",
        "rpl_semi_sync_source_enabled",
    ),
    (
        "rpl_semi_sync_master_timeout",
        "rpl_semi_sync_source_timeout",
    ),
    (
        "rpl_semi_sync_master_trace_level",
        "rpl_semi_sync_source_trace_level",
    ),
    (
        "rpl_semi_sync_master_wait_for_slave_count",
        "rpl_semi_sync_source_wait_for_replica_count",
    ),
    (
        "rpl_semi_sync_master_wait_no_slave",
        "rpl_semi_sync_source_wait_no_replica",
    ),
    (
        "rpl_semi_sync_master_wait_point",
        "rpl_semi_sync_source_wait_point",
    ),
    (
        "rpl_semi_sync_slave_enabled",
        "rpl_semi_sync_replica_enabled",
    ),
    (
        "rpl_semi_sync_slave_trace_level",
        "rpl_semi_sync_replica_trace_level",
    ),
    ("rpl_stop_slave_timeout", "rpl_stop_replica_timeout"),
    ("skip_slave_start", "skip_replica_start"),
    ("slave_allow_batching", "replica_allow_batching"),
    ("slave_checkpoint_group", "replica_checkpoint_group"),
    ("slave_checkpoint_period", "replica_checkpoint_period"),
    ("slave_compressed_protocol", "replica_compressed_protocol"),
    ("slave_exec_mode", "replica_exec_mode"),
    ("slave_load_tmpdir", "replica_load_tmpdir"),
    ("slave_max_allowed_packet", "replica_max_allowed_packet"),
    ("slave_net_timeout", "replica_net_timeout"),
    ("slave_parallel_type", "replica_parallel_type"),
    ("slave_parallel_workers", "replica_parallel_workers"),
    (
        "slave_pending_jobs_size_max",
        "replica_pending_jobs_size_max",
    ),
    (
        "slave_preserve_commit_order",
        "replica_preserve_commit_order",
    ),
    ("slave_skip_errors", "replica_skip_errors"),
    ("slave_sql_verify_checksum", "replica_sql_verify_checksum"),
    ("slave_transaction_retries", "replica_transaction_retries"),
    ("slave_type_conversions", "replica_type_conversions"),
    ("sql_slave_skip_counter", "sql_replica_skip_counter"),
    ("sync_master_info", "sync_source_info"),
];

struct Registry {
    /// Sorted by name.
    defs: Vec<VarDef>,
    /// For each variable the one that holds its value.
    holder: Vec<u16>,
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let mut defs: Vec<VarDef> = [
        defs_session::SESSION,
        defs_innodb::INNODB,
        defs_repl::REPLICATION,
        defs_server::SERVER,
    ]
    .concat();
    defs.sort_by(|a, b| a.name.cmp(b.name));
    defs.dedup_by(|a, b| a.name == b.name);
    let mut holder: Vec<u16> = (0..defs.len() as u16).collect();
    let find = |name: &str| defs.binary_search_by(|d| d.name.cmp(name)).ok();
    for (old, new) in ALIASES {
        if let (Some(o), Some(n)) = (find(old), find(new)) {
            holder[o] = n as u16;
        }
    }
    Registry { defs, holder }
});

fn cmp_name(name: &str, wanted: &str) -> Ordering {
    name.bytes()
        .cmp(wanted.bytes().map(|b| b.to_ascii_lowercase()))
}

/// The variable of that name, in any case; an old name leads to the variable that holds its value.
pub fn lookup(name: &str) -> Option<VarId> {
    let r = &*REGISTRY;
    // As it is written here in most cases: that is the quicker comparison.
    let exact = r.defs.binary_search_by(|d| d.name.cmp(name));
    exact
        .or_else(|_| r.defs.binary_search_by(|d| cmp_name(d.name, name)))
        .ok()
        .map(|i| VarId(r.holder[i]))
}

/// As [`lookup`], for an option of the command line or of my.cnf, where dashes stand for underscores.
pub fn lookup_option(name: &str) -> Option<VarId> {
    lookup(&name.replace('-', "_"))
}

impl VarId {
    /// What the variable is.
    pub fn def(self) -> &'static VarDef {
        &REGISTRY.defs[self.0 as usize]
    }
}

/// Every variable in the order of names, old names included: its own definition and the one of the holder.
pub fn all() -> impl Iterator<Item = (&'static VarDef, VarId)> {
    let r = &*REGISTRY;
    r.defs.iter().zip(&r.holder).map(|(d, &h)| (d, VarId(h)))
}

/// How many variables there are.
pub fn count() -> usize {
    REGISTRY.defs.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookup_ignores_case_and_follows_old_names() {
        assert_eq!(
            lookup("AutoCommit").map(|v| v.def().name),
            Some("autocommit")
        );
        assert_eq!(
            lookup("tx_isolation").map(|v| v.def().name),
            Some("transaction_isolation")
        );
        assert!(lookup("no_such_variable").is_none());
        assert!(lookup_option("innodb-buffer-pool-size").is_some());
    }

    #[test]
    fn no_name_is_written_twice() {
        let written: usize = [
            defs_session::SESSION,
            defs_innodb::INNODB,
            defs_repl::REPLICATION,
            defs_server::SERVER,
        ]
        .iter()
        .map(|t| t.len())
        .sum();
        assert_eq!(written, count());
        assert!(count() > 350);
    }

    #[test]
    fn old_names_exist() {
        for (old, new) in ALIASES {
            assert_eq!(lookup(old), lookup(new), "{old}");
        }
    }
}
