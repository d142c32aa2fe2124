//! SHOW REPLICA STATUS, with MySQL 8.0's columns, and as SHOW SLAVE STATUS with the older names of them.

use types::{DataType, SqlError, Value};

use crate::context::Session;
use crate::context::replica::{Failure, Receiving, ReplicaFacts};
use crate::describe::rowset::{RowSet, text};
use sql_exec::unless_killed;
use sql_parser::ast::FilterKind;
use types::temporal::Zone;

/// A column: its name, its length in characters (0: a number), its value.
type Column<'f> = (String, u32, Value);

/// Waits until the place that is shown is that of the rows that are there.
///
/// # Errors
/// 1317.
pub(super) async fn wait_settled(s: &Session) -> Result<(), SqlError> {
    match s.instance.replica() {
        Ok(replica) => unless_killed(&s.engine, replica.settled()).await.map(drop),
        Err(_) => Ok(()),
    }
}

/// The result: a row for the channel that is named, or for each, as far as they have a source.
///
/// # Errors
/// 3074: there is no channel of that name.
pub(super) fn status(
    s: &mut Session,
    slave: bool,
    channel: Option<&str>,
) -> Result<RowSet, SqlError> {
    s.instance.check_channel(channel)?;
    let mut facts = s.instance.replica_facts();
    facts.retain(|f| channel.is_none_or(|name| f.channel == name));
    let zone = s.instance.options.system_zone;
    let mut r = RowSet::new();
    for (name, chars, _) in &columns(&ReplicaFacts::default(), slave, zone) {
        match chars {
            0 => r.add_column(name, DataType::UBIGINT, true),
            n => r.add_text(name, *n),
        }
    }
    for f in &facts {
        let row = columns(f, slave, zone).into_iter();
        r.push(row.map(|(_, _, v)| v).collect());
    }
    Ok(r)
}

fn columns(f: &ReplicaFacts, slave: bool, zone: Zone) -> Vec<Column<'static>> {
    let (role, source) = match slave {
        true => ("Slave", "Master"),
        false => ("Replica", "Source"),
    };
    let words = |name: String, chars: u32, v: &str| (name, chars, text(v));
    let number = |name: String, v: u64| (name, 0, Value::UInt(v));
    let plain = |name: &str| name.to_owned();
    let yes = |b: bool| if b { "Yes" } else { "No" };
    let s = &f.source;
    let (fail, other) = (&f.applier_failure, &f.receiver_failure);
    let ignored: Vec<String> = s.ignored_server_ids.iter().map(u32::to_string).collect();
    let or_null = |v: Option<u64>| v.map_or(Value::Null, Value::UInt);
    let mut all = vec![
        words(format!("{role}_IO_State"), 256, f.receiver_state),
        words(format!("{source}_Host"), 255, &s.host),
        words(format!("{source}_User"), 96, &s.user),
        number(format!("{source}_Port"), s.port.into()),
        number(plain("Connect_Retry"), s.connect_retry.into()),
        words(format!("{source}_Log_File"), 512, &f.received.file),
        number(format!("Read_{source}_Log_Pos"), f.received.position),
        words(plain("Relay_Log_File"), 512, ""),
        number(plain("Relay_Log_Pos"), 0),
        words(format!("Relay_{source}_Log_File"), 512, &f.applied.file),
        words(format!("{role}_IO_Running"), 10, f.receiving.as_str()),
        words(format!("{role}_SQL_Running"), 3, yes(f.applying)),
    ];
    all.extend(filters(f));
    let running = f.applying && f.receiving == Receiving::Yes;
    all.extend([
        number(plain("Last_Errno"), fail.number.into()),
        words(plain("Last_Error"), 1024, &fail.message),
        number(plain("Skip_Counter"), f.skip_counter),
        number(format!("Exec_{source}_Log_Pos"), f.applied.position),
        number(plain("Relay_Log_Space"), f.waiting_bytes),
        words(plain("Until_Condition"), 16, f.until.0),
        words(plain("Until_Log_File"), 512, &f.until.1.file),
        number(plain("Until_Log_Pos"), f.until.1.position),
        words(format!("{source}_SSL_Allowed"), 7, yes(s.ssl)),
        words(format!("{source}_SSL_CA_File"), 512, &s.ssl_ca),
        words(format!("{source}_SSL_CA_Path"), 512, ""),
        words(format!("{source}_SSL_Cert"), 512, &s.ssl_cert),
        words(format!("{source}_SSL_Cipher"), 512, ""),
        words(format!("{source}_SSL_Key"), 512, &s.ssl_key),
        (
            format!("Seconds_Behind_{source}"),
            0,
            or_null(f.seconds_behind.filter(|_| running)),
        ),
        words(
            format!("{source}_SSL_Verify_Server_Cert"),
            3,
            yes(s.ssl_verify_server_cert),
        ),
        number(plain("Last_IO_Errno"), other.number.into()),
        words(plain("Last_IO_Error"), 1024, &other.message),
        number(plain("Last_SQL_Errno"), fail.number.into()),
        words(plain("Last_SQL_Error"), 1024, &fail.message),
        words(
            plain("Replicate_Ignore_Server_Ids"),
            1024,
            &ignored.join(", "),
        ),
        number(format!("{source}_Server_Id"), f.source_server_id.into()),
        words(format!("{source}_UUID"), 36, &f.source_uuid),
        words(format!("{source}_Info_File"), 2048, "mysql.replica_source"),
        number(plain("SQL_Delay"), s.delay.into()),
        (plain("SQL_Remaining_Delay"), 0, or_null(f.remaining_delay)),
        words(format!("{role}_SQL_Running_State"), 256, f.applier_state),
        number(format!("{source}_Retry_Count"), s.retry_count),
        words(format!("{source}_Bind"), 60, ""),
        words(plain("Last_IO_Error_Timestamp"), 20, &stamp(other, zone)),
        words(plain("Last_SQL_Error_Timestamp"), 20, &stamp(fail, zone)),
        words(format!("{source}_SSL_Crl"), 512, ""),
        words(format!("{source}_SSL_Crlpath"), 512, ""),
        words(plain("Retrieved_Gtid_Set"), 65_535, &f.retrieved_gtids),
        words(plain("Executed_Gtid_Set"), 65_535, &f.executed_gtids),
        number(plain("Auto_Position"), s.auto_position.into()),
        words(
            plain("Replicate_Rewrite_DB"),
            1024,
            rule(f, FilterKind::RewriteDb),
        ),
        words(plain("Channel_Name"), 64, &f.channel),
        words(format!("{source}_TLS_Version"), 512, ""),
        words(format!("{source}_public_key_path"), 512, ""),
        number(
            format!(
                "Get_{}_public_key",
                source.to_ascii_lowercase().replace("source", "Source")
            ),
            s.get_public_key.into(),
        ),
        words(plain("Network_Namespace"), 64, ""),
    ]);
    all
}

/// What a filter says; empty: nothing.
fn rule(f: &ReplicaFacts, kind: FilterKind) -> &str {
    let set = f.filters.iter().find(|f| f.kind == kind);
    set.map_or("", |f| &f.rule)
}

/// Those filters that stand together.
fn filters(f: &ReplicaFacts) -> [Column<'static>; 6] {
    [
        ("Replicate_Do_DB", FilterKind::DoDb),
        ("Replicate_Ignore_DB", FilterKind::IgnoreDb),
        ("Replicate_Do_Table", FilterKind::DoTable),
        ("Replicate_Ignore_Table", FilterKind::IgnoreTable),
        ("Replicate_Wild_Do_Table", FilterKind::WildDoTable),
        ("Replicate_Wild_Ignore_Table", FilterKind::WildIgnoreTable),
    ]
    .map(|(name, kind)| (name.to_owned(), 255, text(rule(f, kind))))
}

/// When it was, as `YYMMDD hh:mm:ss`.
fn stamp(failure: &Failure, zone: Zone) -> String {
    let at = (failure.number != 0).then(|| zone.local(failure.at_us));
    let Some(Some(at)) = at else {
        return String::new();
    };
    let shown = at.with_fsp(0).to_string();
    // 2026-11-27 01:02:03
    let digits: String = shown.chars().skip(2).filter(|c| *c != '-').collect();
    digits
}
