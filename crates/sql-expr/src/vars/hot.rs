//! The values that statements read all the time, as plain typed fields. They are derived from the stored
//! values whenever one of those changes, so that reading one costs a load. Nothing is parsed at read time.

use std::sync::atomic::{AtomicU64, Ordering};

use super::def::VarDef;
use super::sql_mode::SqlMode;
use super::switches::Switches;
use super::value::VarValue;
use types::Isolation;
use types::charset::Charset;
use types::collation::CollationId;
use types::temporal::TimeZone;
use types::temporal::locale::{ENGLISH, Locale};

fn charset(value: &VarValue) -> Option<Charset> {
    value.as_str().and_then(Charset::by_name)
}

fn collation(value: &VarValue) -> CollationId {
    let named = value.as_str().and_then(CollationId::by_name);
    named.unwrap_or(CollationId::DEFAULT)
}

/// A session's much-read values.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionHot {
    /// `autocommit`.
    pub autocommit: bool,
    /// `transaction_isolation`.
    pub isolation: Isolation,
    /// `innodb_snapshot_isolation`.
    pub snapshot_isolation: bool,
    /// `transaction_read_only`.
    pub tx_read_only: bool,
    /// `sql_mode`.
    pub sql_mode: SqlMode,
    /// `time_zone`.
    pub time_zone: TimeZone,
    /// `innodb_lock_wait_timeout`, seconds.
    pub lock_wait_timeout: u64,
    /// `lock_wait_timeout` (metadata locks), seconds.
    pub metadata_lock_timeout: u64,
    /// `foreign_key_checks`.
    pub foreign_key_checks: bool,
    /// `unique_checks`.
    pub unique_checks: bool,
    /// `sql_safe_updates`.
    pub safe_updates: bool,
    /// `sql_log_bin`.
    pub log_bin: bool,
    /// `binlog_row_image`: 0 MINIMAL, 1 NOBLOB, 2 FULL.
    pub row_image: u8,
    /// `binlog_rows_query_log_events`.
    pub rows_query: bool,
    /// `binlog_transaction_compression`.
    pub transaction_compression: bool,
    /// `sql_notes`.
    pub sql_notes: bool,
    /// `sql_auto_is_null`.
    pub auto_is_null: bool,
    /// `auto_increment_increment`.
    pub auto_increment_increment: u64,
    /// `auto_increment_offset`.
    pub auto_increment_offset: u64,
    /// `optimizer_switch`.
    pub optimizer_switch: Switches,
    /// `max_execution_time`, milliseconds; 0 for no limit.
    pub max_execution_time: u64,
    /// `sql_big_selects`.
    pub big_selects: bool,
    /// `max_join_size`, rows.
    pub max_join_size: u64,
    /// `max_error_count`.
    pub max_error_count: u64,
    /// `max_allowed_packet`, bytes.
    pub max_allowed_packet: u64,
    /// `group_concat_max_len`, bytes.
    pub group_concat_max_len: u64,
    /// `div_precision_increment`.
    pub div_precision_increment: u8,
    /// `default_week_format`.
    pub default_week_format: u8,
    /// `sql_select_limit`.
    pub select_limit: u64,
    /// `sort_buffer_size`, bytes.
    pub sort_buffer_size: u64,
    /// `join_buffer_size`, bytes.
    pub join_buffer_size: u64,
    /// `tmp_table_size`, bytes.
    pub tmp_table_size: u64,
    /// `max_heap_table_size`, bytes.
    pub max_heap_table_size: u64,
    /// `lc_time_names`, by its number.
    pub time_names: u8,
    /// `wait_timeout`, seconds.
    pub wait_timeout: u64,
    /// `cte_max_recursion_depth`.
    pub cte_max_recursion_depth: u64,
    /// `sql_quote_show_create`.
    pub quote_show_create: bool,
    /// `completion_type`: 0 NO_CHAIN, 1 CHAIN, 2 RELEASE.
    pub completion_type: u8,
    /// `collation_connection`.
    pub collation: CollationId,
    /// `collation_server`.
    pub server_collation: CollationId,
    /// `character_set_client`.
    pub client: Charset,
    /// `character_set_results`; `None` for NULL and `binary`: results are sent as they are.
    pub results: Option<Charset>,
}

impl Default for SessionHot {
    fn default() -> Self {
        SessionHot {
            autocommit: true,
            isolation: Isolation::RepeatableRead,
            snapshot_isolation: false,
            tx_read_only: false,
            sql_mode: SqlMode::DEFAULT,
            time_zone: TimeZone::System,
            lock_wait_timeout: 50,
            metadata_lock_timeout: 31_536_000,
            foreign_key_checks: true,
            unique_checks: true,
            safe_updates: false,
            log_bin: true,
            row_image: 2,
            rows_query: false,
            transaction_compression: false,
            sql_notes: true,
            auto_is_null: false,
            auto_increment_increment: 1,
            auto_increment_offset: 1,
            optimizer_switch: Switches::default(),
            max_execution_time: 0,
            big_selects: true,
            max_join_size: u64::MAX,
            max_error_count: 1024,
            max_allowed_packet: 67_108_864,
            group_concat_max_len: 1024,
            div_precision_increment: 4,
            default_week_format: 0,
            select_limit: u64::MAX,
            sort_buffer_size: 262_144,
            join_buffer_size: 262_144,
            tmp_table_size: 16_777_216,
            max_heap_table_size: 16_777_216,
            time_names: 0,
            wait_timeout: 28_800,
            cte_max_recursion_depth: 1000,
            quote_show_create: true,
            completion_type: 0,
            collation: CollationId::DEFAULT,
            server_collation: CollationId::DEFAULT,
            client: Charset::Utf8mb4,
            results: Some(Charset::Utf8mb4),
        }
    }
}

impl SessionHot {
    /// The locale of `lc_time_names`.
    pub fn locale(&self) -> &'static Locale {
        Locale::by_number(u64::from(self.time_names)).unwrap_or(&ENGLISH)
    }

    /// Takes over the new value of a variable, if it is one of these.
    pub(super) fn apply(&mut self, def: &VarDef, value: &VarValue) {
        let n = value.as_u64();
        match def.name {
            "autocommit" => self.autocommit = n != 0,
            "transaction_isolation" => self.isolation = Isolation::by_number(n).unwrap_or_default(),
            "innodb_snapshot_isolation" => self.snapshot_isolation = n != 0,
            "transaction_read_only" => self.tx_read_only = n != 0,
            "sql_mode" => self.sql_mode = SqlMode::from_bits(n),
            "time_zone" => {
                self.time_zone = value
                    .as_str()
                    .and_then(TimeZone::parse)
                    .unwrap_or(TimeZone::System);
            }
            "innodb_lock_wait_timeout" => self.lock_wait_timeout = n,
            "lock_wait_timeout" => self.metadata_lock_timeout = n,
            "foreign_key_checks" => self.foreign_key_checks = n != 0,
            "unique_checks" => self.unique_checks = n != 0,
            "sql_safe_updates" => self.safe_updates = n != 0,
            "sql_log_bin" => self.log_bin = n != 0,
            "binlog_row_image" => self.row_image = n as u8,
            "binlog_rows_query_log_events" => self.rows_query = n != 0,
            "binlog_transaction_compression" => self.transaction_compression = n != 0,
            "sql_notes" => self.sql_notes = n != 0,
            "sql_auto_is_null" => self.auto_is_null = n != 0,
            "auto_increment_increment" => self.auto_increment_increment = n,
            "auto_increment_offset" => self.auto_increment_offset = n,
            "optimizer_switch" => self.optimizer_switch = Switches(n),
            "max_execution_time" => self.max_execution_time = n,
            "sql_big_selects" => self.big_selects = n != 0,
            "max_join_size" => self.max_join_size = n,
            "max_error_count" => self.max_error_count = n,
            "max_allowed_packet" => self.max_allowed_packet = n,
            "group_concat_max_len" => self.group_concat_max_len = n,
            "div_precision_increment" => self.div_precision_increment = n as u8,
            "default_week_format" => self.default_week_format = n as u8,
            "sql_select_limit" => self.select_limit = n,
            "sort_buffer_size" => self.sort_buffer_size = n,
            "join_buffer_size" => self.join_buffer_size = n,
            "tmp_table_size" => self.tmp_table_size = n,
            "max_heap_table_size" => self.max_heap_table_size = n,
            "lc_time_names" => {
                let number = value.as_str().and_then(|n| Locale::number_of(n.as_bytes()));
                self.time_names = number.and_then(|n| u8::try_from(n).ok()).unwrap_or(0);
            }
            "wait_timeout" => self.wait_timeout = n,
            "cte_max_recursion_depth" => self.cte_max_recursion_depth = n,
            "sql_quote_show_create" => self.quote_show_create = n != 0,
            "completion_type" => self.completion_type = n as u8,
            "collation_connection" => self.collation = collation(value),
            "collation_server" => self.server_collation = collation(value),
            "character_set_client" => {
                self.client = charset(value).unwrap_or(Charset::Utf8mb4);
            }
            "character_set_results" => {
                self.results = charset(value).filter(|c| *c != Charset::Binary);
            }
            _ => {}
        }
    }
}

/// The server's much-read values, readable without a lock.
#[derive(Debug, Default)]
pub struct GlobalHot {
    flush_log_at_trx_commit: AtomicU64,
    max_connections: AtomicU64,
    max_allowed_packet: AtomicU64,
    max_prepared_stmt_count: AtomicU64,
    general_log: AtomicU64,
    connect_timeout: AtomicU64,
    partial_revokes: AtomicU64,
    require_secure_transport: AtomicU64,
    binlog_row_metadata: AtomicU64,
}

macro_rules! global_hot {
    ($($(#[$doc:meta])* $field:ident;)*) => {
        impl GlobalHot {
            $($(#[$doc])* pub fn $field(&self) -> u64 { self.$field.load(Ordering::Relaxed) })*

            /// Takes over the new value of a variable, if it is one of these.
            pub(super) fn apply(&self, def: &VarDef, value: &VarValue) {
                match def.name.strip_prefix("innodb_").unwrap_or(def.name) {
                    $(stringify!($field) => self.$field.store(value.as_u64(), Ordering::Relaxed),)*
                    _ => {}
                }
            }
        }
    };
}

global_hot! {
    /// `innodb_flush_log_at_trx_commit`: 0, 1 or 2.
    flush_log_at_trx_commit;
    /// `max_connections`.
    max_connections;
    /// `max_allowed_packet`, bytes.
    max_allowed_packet;
    /// `max_prepared_stmt_count`.
    max_prepared_stmt_count;
    /// `general_log`: 0 or 1.
    general_log;
    /// `connect_timeout`, seconds.
    connect_timeout;
    /// `partial_revokes`: 0 or 1.
    partial_revokes;
    /// `require_secure_transport`: 0 or 1.
    require_secure_transport;
    /// `binlog_row_metadata`: 0 MINIMAL, 1 FULL.
    binlog_row_metadata;
}
