//! What this server is a replica of, and how far it has come: the tables `replication_*` of `performance_schema`. Each channel that
//! has a source has a row.

use types::Value;

use super::spec::{Spec, View, int, moment, text, uint};
use crate::context::replica::{Failure, FilterFacts, Receiving, ReplicaFacts, TransactionTimes};
use types::temporal::Zone;

/// A row for each channel, made of its facts.
fn each(v: &View<'_>, row: impl Fn(&ReplicaFacts) -> Vec<Value>) -> Vec<Vec<Value>> {
    let facts = v.instance.replica_facts();
    facts.iter().map(row).collect()
}

fn yes(b: bool) -> Value {
    text(if b { "YES" } else { "NO" })
}

/// The THREAD_ID of `performance_schema.threads`, which is the number in the list of connections.
fn thread(id: Option<u64>) -> Value {
    id.map_or(Value::Null, uint)
}

fn on(b: bool) -> Value {
    text(if b { "ON" } else { "OFF" })
}

fn at(us: i64, zone: Zone) -> Value {
    match moment(us, zone) {
        Value::Null => Value::DateTime(types::DateTime::ZERO),
        v => v,
    }
}

fn failure(f: &Failure, zone: Zone) -> [Value; 3] {
    [int(f.number.into()), text(&f.message), at(f.at_us, zone)]
}

/// A moment with its fractions; what is not known is zero, as in MySQL.
fn exactly(us: i64, zone: Zone) -> Value {
    let known = if us == 0 { None } else { zone.local(us) };
    Value::DateTime(known.unwrap_or(types::DateTime::ZERO))
}

/// A transaction that is passing, or has passed.
fn transaction_times(p: &TransactionTimes, has_passed: bool, zone: Zone) -> Vec<Value> {
    let mut row = vec![
        text(&p.name),
        exactly(p.original_us, zone),
        exactly(p.immediate_us, zone),
        exactly(p.begun_us, zone),
    ];
    if has_passed {
        row.push(exactly(p.ended_us, zone));
    }
    row
}

fn connection_configuration(v: &View<'_>) -> Vec<Vec<Value>> {
    each(v, |f| {
        let s = &f.source;
        let mut row = vec![
            text(&f.channel),
            text(&s.host),
            int(s.port.into()),
            text(&s.user),
            text(""),
            text(if s.auto_position { "1" } else { "0" }),
            yes(s.ssl),
            text(&s.ssl_ca),
            text(""),
            text(&s.ssl_cert),
            text(""),
            text(&s.ssl_key),
            yes(s.ssl_verify_server_cert),
            text(""),
            text(""),
            int(s.connect_retry.into()),
            uint(s.retry_count),
            Value::Double(s.heartbeat_period),
        ];
        row.extend([
            text(""),
            text(""),
            yes(s.get_public_key),
            text(""),
            text("uncompressed"),
            int(3),
            Value::Null,
            text("0"),
            text("0"),
        ]);
        row
    })
}

fn connection_status(v: &View<'_>) -> Vec<Vec<Value>> {
    let zone = v.zone();
    each(v, |f| {
        let state = match f.receiving {
            Receiving::Yes => "ON",
            Receiving::Connecting => "CONNECTING",
            Receiving::No => "OFF",
        };
        let mut row = vec![
            text(&f.channel),
            text(""),
            text(&f.source_uuid),
            thread(f.receiver_thread),
            text(state),
            uint(f.heartbeats.0),
            at(f.heartbeats.1, zone),
            text(&f.retrieved_gtids),
        ];
        row.extend(failure(&f.receiver_failure, zone));
        row.extend(transaction_times(&f.queued, true, zone));
        row.extend(transaction_times(&f.queueing, false, zone));
        row
    })
}

fn applier_configuration(v: &View<'_>) -> Vec<Vec<Value>> {
    each(v, |f| {
        vec![
            text(&f.channel),
            int(f.source.delay.into()),
            Value::Null,
            text("NO"),
            text("STREAM"),
            text("OFF"),
            Value::Null,
        ]
    })
}

fn applier_status(v: &View<'_>) -> Vec<Vec<Value>> {
    each(v, |f| {
        vec![
            text(&f.channel),
            on(f.applying),
            f.remaining_delay.map_or(Value::Null, uint),
            uint(f.retries),
        ]
    })
}

fn applier_status_by_coordinator(v: &View<'_>) -> Vec<Vec<Value>> {
    let zone = v.zone();
    let facts = v.instance.replica_facts();
    // Where one applies by himself there is none.
    let facts = facts.iter().filter(|f| f.coordinated);
    facts
        .map(|f| {
            let mut row = vec![text(&f.channel), thread(f.applier_thread), on(f.applying)];
            row.extend(failure(&f.applier_failure, zone));
            row
        })
        .collect()
}

fn applier_status_by_worker(v: &View<'_>) -> Vec<Vec<Value>> {
    let zone = v.zone();
    let facts = v.instance.replica_facts();
    let workers = facts.iter().flat_map(|f| {
        let numbered = f.workers.iter().zip(1..);
        numbered.map(move |(w, id)| (&f.channel, w, id))
    });
    workers
        .map(|(channel, w, id)| {
            let mut row = vec![text(channel), uint(id), thread(w.thread), on(w.runs)];
            row.extend(failure(&w.failure, zone));
            row.extend(transaction_times(&w.applied, true, zone));
            row.extend(transaction_times(&w.applying, false, zone));
            row
        })
        .collect()
}

/// As whom and where to the receiver connects. A password is shown to nobody.
fn slave_master_info(v: &View<'_>) -> Vec<Vec<Value>> {
    each(v, |f| {
        let s = &f.source;
        let mut row = vec![
            uint(33),
            text(&f.received.file),
            uint(f.received.position),
            text(&s.host),
            text(&s.user),
            Value::Null,
            uint(s.port.into()),
            uint(s.connect_retry.into()),
            int(s.ssl.into()),
            text(&s.ssl_ca),
            text(""),
            text(&s.ssl_cert),
            text(""),
            text(&s.ssl_key),
            int(s.ssl_verify_server_cert.into()),
            Value::Double(s.heartbeat_period),
            text(""),
        ];
        let ignored = s.ignored_server_ids.iter();
        let ignored = ignored.map(|id| format!(" {id}")).collect::<String>();
        row.extend([
            text(&format!("{}{ignored}", s.ignored_server_ids.len())),
            text(&f.source_uuid),
            uint(s.retry_count),
            text(""),
            text(""),
            int(s.auto_position.into()),
            text(&f.channel),
            text(""),
            text(""),
            int(s.get_public_key.into()),
            text(""),
            text("uncompressed"),
            uint(3),
            Value::Null,
            int(0),
            int(0),
        ]);
        row
    })
}

/// How far the applier has come. There are no files of a relay log.
fn slave_relay_log_info(v: &View<'_>) -> Vec<Vec<Value>> {
    each(v, |f| {
        vec![
            uint(14),
            text(""),
            uint(0),
            text(&f.applied.file),
            uint(f.applied.position),
            int(f.source.delay.into()),
            uint(f.workers.len() as u64),
            uint(1),
            text(&f.channel),
            Value::Null,
            Value::Null,
            int(0),
            text("STREAM"),
            text("OFF"),
            Value::Null,
        ]
    })
}

/// The tables of `mysql` in this file, of which tools read the names and places.
pub(super) const MYSQL_SPECS: &[Spec] = &[
    Spec {
        name: "slave_master_info",
        columns: "Number_of_lines u, Master_log_name x, Master_log_pos U, Host v255?, User_name x?, User_password x?, Port u, \
            Connect_retry u, Enabled_ssl i, Ssl_ca x?, Ssl_capath x?, Ssl_cert x?, Ssl_cipher x?, Ssl_key x?, \
            Ssl_verify_server_cert i, Heartbeat f, Bind x?, Ignored_server_ids x?, Uuid x?, Retry_count U, Ssl_crl x?, \
            Ssl_crlpath x?, Enabled_auto_position i, Channel_name v64, Tls_version x?, Public_key_path x?, Get_public_key i, \
            Network_namespace x?, Master_compression_algorithm v64, Master_zstd_compression_level u, Tls_ciphersuites x?, \
            Source_connection_auto_failover i, Gtid_only i",
        rows: slave_master_info,
    },
    Spec {
        name: "slave_relay_log_info",
        columns: "Number_of_lines u, Relay_log_name x?, Relay_log_pos U?, Master_log_name x?, Master_log_pos U?, Sql_delay i?, \
            Number_of_workers u?, Id u?, Channel_name v64, Privilege_checks_username v32?, Privilege_checks_hostname v255?, \
            Require_row_format i, Require_table_primary_key_check v8, Assign_gtids_to_anonymous_transactions_type v5, \
            Assign_gtids_to_anonymous_transactions_value x?",
        rows: slave_relay_log_info,
    },
];
/// What both tables of filters say of one.
fn filter(f: &FilterFacts, zone: Zone) -> [Value; 4] {
    [
        text(f.kind.name()),
        text(&f.rule),
        text(f.configured_by),
        at(f.since_us, zone),
    ]
}

fn applier_filters(v: &View<'_>) -> Vec<Vec<Value>> {
    let zone = v.zone();
    let facts = v.instance.replica_facts();
    let filters = facts.iter().flat_map(|c| {
        let set = c.filters.iter();
        set.map(move |f| (&c.channel, f))
    });
    filters
        .map(|(channel, f)| {
            let mut row = vec![text(channel)];
            row.extend(filter(f, zone));
            row.push(uint(f.used));
            row
        })
        .collect()
}

fn applier_global_filters(v: &View<'_>) -> Vec<Vec<Value>> {
    let zone = v.zone();
    let filters = v.instance.global_filters();
    filters.iter().map(|f| filter(f, zone).into()).collect()
}

/// The tables of `performance_schema` in this file.
pub(super) const SPECS: &[Spec] = &[
    Spec {
        name: "replication_connection_configuration",
        columns: "CHANNEL_NAME v64, HOST v255, PORT i, USER v32, NETWORK_INTERFACE v60, AUTO_POSITION v1, SSL_ALLOWED v7, \
            SSL_CA_FILE v512, SSL_CA_PATH v512, SSL_CERTIFICATE v512, SSL_CIPHER v512, SSL_KEY v512, \
            SSL_VERIFY_SERVER_CERTIFICATE v3, SSL_CRL_FILE v255, SSL_CRL_PATH v255, CONNECTION_RETRY_INTERVAL i, \
            CONNECTION_RETRY_COUNT U, HEARTBEAT_INTERVAL f, TLS_VERSION v255, PUBLIC_KEY v512, GET_PUBLIC_KEY v3, \
            NETWORK_NAMESPACE v64, COMPRESSION_ALGORITHM v64, ZSTD_COMPRESSION_LEVEL i, TLS_CIPHERSUITES x?, \
            SOURCE_CONNECTION_AUTO_FAILOVER v1, GTID_ONLY v1",
        rows: connection_configuration,
    },
    Spec {
        name: "replication_connection_status",
        columns: "CHANNEL_NAME v64, GROUP_NAME v36, SOURCE_UUID v36, THREAD_ID U?, SERVICE_STATE v10, \
            COUNT_RECEIVED_HEARTBEATS U, LAST_HEARTBEAT_TIMESTAMP t6, RECEIVED_TRANSACTION_SET x, LAST_ERROR_NUMBER i, \
            LAST_ERROR_MESSAGE v1024, LAST_ERROR_TIMESTAMP t6, LAST_QUEUED_TRANSACTION v57, \
            LAST_QUEUED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP t6, LAST_QUEUED_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP t6, \
            LAST_QUEUED_TRANSACTION_START_QUEUE_TIMESTAMP t6, LAST_QUEUED_TRANSACTION_END_QUEUE_TIMESTAMP t6, \
            QUEUEING_TRANSACTION v57, QUEUEING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP t6, \
            QUEUEING_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP t6, QUEUEING_TRANSACTION_START_QUEUE_TIMESTAMP t6",
        rows: connection_status,
    },
    Spec {
        name: "replication_applier_configuration",
        columns: "CHANNEL_NAME v64, DESIRED_DELAY i, PRIVILEGE_CHECKS_USER x?, REQUIRE_ROW_FORMAT v3, \
            REQUIRE_TABLE_PRIMARY_KEY_CHECK v8, ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS_TYPE v5, \
            ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS_VALUE x?",
        rows: applier_configuration,
    },
    Spec {
        name: "replication_applier_status",
        columns: "CHANNEL_NAME v64, SERVICE_STATE v3, REMAINING_DELAY u?, COUNT_TRANSACTIONS_RETRIES U",
        rows: applier_status,
    },
    Spec {
        name: "replication_applier_status_by_coordinator",
        columns: "CHANNEL_NAME v64, THREAD_ID U?, SERVICE_STATE v3, LAST_ERROR_NUMBER i, LAST_ERROR_MESSAGE v1024, \
            LAST_ERROR_TIMESTAMP t6",
        rows: applier_status_by_coordinator,
    },
    Spec {
        name: "replication_applier_status_by_worker",
        columns: "CHANNEL_NAME v64, WORKER_ID U, THREAD_ID U?, SERVICE_STATE v3, LAST_ERROR_NUMBER i, \
            LAST_ERROR_MESSAGE v1024, LAST_ERROR_TIMESTAMP t6, LAST_APPLIED_TRANSACTION v57, \
            LAST_APPLIED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP t6, LAST_APPLIED_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP t6, \
            LAST_APPLIED_TRANSACTION_START_APPLY_TIMESTAMP t6, LAST_APPLIED_TRANSACTION_END_APPLY_TIMESTAMP t6, \
            APPLYING_TRANSACTION v57, APPLYING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP t6, \
            APPLYING_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP t6, APPLYING_TRANSACTION_START_APPLY_TIMESTAMP t6",
        rows: applier_status_by_worker,
    },
    Spec {
        name: "replication_applier_filters",
        columns: "CHANNEL_NAME v64, FILTER_NAME v64, FILTER_RULE x, CONFIGURED_BY v44, ACTIVE_SINCE t6, COUNTER U",
        rows: applier_filters,
    },
    Spec {
        name: "replication_applier_global_filters",
        columns: "FILTER_NAME v64, FILTER_RULE x, CONFIGURED_BY v44, ACTIVE_SINCE t6",
        rows: applier_global_filters,
    },
];
