//! SHOW of the binary log: its files, its end, its events, its replicas.

use std::sync::Arc;

use types::error::codes;
use types::{DataType, SqlError, Value};

use crate::command::scalar;
use crate::context::Session;
use crate::describe::rowset::{RowSet, text};
use sql_exec::binary_log::{BinaryLog, EventsAsked};
use sql_exec::unless_killed;
use sql_expr::memory::Charge;
use sql_expr::vars::VarInput;
use sql_parser::ast::{Expr, Limit, ShowWhat};

/// A column that is a number.
fn number(rows: &mut RowSet, name: &str) {
    rows.add_column(name, DataType::UBIGINT, false);
}

/// Waits until what was committed by now is in the variables that say so.
///
/// # Errors
/// 1317, or why the binary log does not go on.
pub(super) async fn wait_shown(s: &Session) -> Result<(), SqlError> {
    match s.instance.binary_log.get() {
        Some(log) if log.is_behind() => {
            unless_killed(&s.engine, log.wait_shown_unless_short()).await
        }
        _ => Ok(()),
    }
}

/// Carries one of them out.
///
/// # Errors
/// 1381: the binary log is off; 1220 for a file or a position that is none.
pub(super) async fn rows(s: &mut Session, what: &ShowWhat) -> Result<RowSet, SqlError> {
    let log = s.instance.binary_log.get().cloned();
    let mut rows = RowSet::new();
    if let Some(log) = &log
        && !matches!(what, ShowWhat::Replicas { .. })
    {
        unless_killed(&s.engine, log.wait_shown_unless_short()).await?;
    }
    match what {
        ShowWhat::BinaryLogs => {
            let log = log.ok_or_else(|| SqlError::fixed(codes::ER_NO_BINARY_LOGGING))?;
            rows.add_text("Log_name", 255);
            number(&mut rows, "File_size");
            rows.add_text("Encrypted", 3);
            for (name, size) in log.files() {
                rows.push(vec![text(&name), Value::UInt(size), text("No")]);
            }
        }
        ShowWhat::SourceStatus => {
            rows.add_text("File", 255);
            number(&mut rows, "Position");
            rows.add_text("Binlog_Do_DB", 255);
            rows.add_text("Binlog_Ignore_DB", 255);
            rows.add_text("Executed_Gtid_Set", 65_535);
            if let Some(log) = log
                && let Some((name, size)) = log.files().pop()
            {
                let (only, ignored) = log.databases();
                rows.push(vec![
                    text(&name),
                    Value::UInt(size),
                    text(&only),
                    text(&ignored),
                    text(&log.executed().to_string()),
                ]);
            }
        }
        ShowWhat::Replicas { slave } => {
            let names = match slave {
                true => ["Server_id", "Host", "Port", "Master_id", "Slave_UUID"],
                false => ["Server_Id", "Host", "Port", "Source_Id", "Replica_UUID"],
            };
            number(&mut rows, names[0]);
            rows.add_text(names[1], 255);
            number(&mut rows, names[2]);
            number(&mut rows, names[3]);
            rows.add_text(names[4], 36);
            let own = s.instance.globals.value_by_name("server_id");
            let own = own.map_or(0, |v| v.as_u64());
            for r in log.map(|l| l.replicas()).unwrap_or_default() {
                rows.push(vec![
                    Value::UInt(r.server_id.into()),
                    text(&r.host),
                    Value::UInt(r.port.into()),
                    Value::UInt(own),
                    text(&r.uuid),
                ]);
            }
        }
        ShowWhat::BinlogEvents {
            log: file,
            from,
            limit,
            ..
        } => {
            rows.add_text("Log_name", 255);
            number(&mut rows, "Pos");
            rows.add_text("Event_type", 32);
            number(&mut rows, "Server_id");
            number(&mut rows, "End_log_pos");
            rows.add_text("Info", 65_535);
            let (skip, most) = limits(s, limit.as_deref())?;
            let asked = EventsAsked {
                file: file
                    .as_ref()
                    .map(|f| String::from_utf8_lossy(f).into_owned()),
                from: from.unwrap_or(4),
                read: None,
                skip,
                most,
            };
            if let Some(log) = log {
                read_events(s, &*log, asked, &mut rows).await?;
            }
        }
        _ => return Err(SqlError::internal("this shows nothing of the binary log")),
    }
    Ok(rows)
}

/// Reads events, a portion after the other: others of the thread get their turn between. KILL and the limit of the session's memory end that.
async fn read_events(
    s: &mut Session,
    log: &dyn BinaryLog,
    asked: EventsAsked,
    rows: &mut RowSet,
) -> Result<(), SqlError> {
    let interrupt = s.engine.interrupt();
    let memory = Arc::clone(&s.facts.memory);
    let mut held = Charge::to(&memory);
    let mut asked = Some(asked);
    while let Some(now) = asked {
        let (events, more) = log.events(now, &mut |bytes| {
            interrupt.check()?;
            held.add(bytes);
            memory.check()
        })?;
        for e in events {
            rows.push(vec![
                text(&e.file),
                Value::UInt(e.position),
                text(e.kind),
                Value::UInt(e.server_id.into()),
                Value::UInt(e.end),
                text(&e.info),
            ]);
        }
        asked = more;
        s.engine.yield_now().await;
    }
    Ok(())
}

/// How many are left out, and how many are shown at most.
fn limits(s: &mut Session, limit: Option<&Limit>) -> Result<(u64, u64), SqlError> {
    let Some(limit) = limit else {
        return Ok((0, u64::MAX));
    };
    let mut of = |e: &Expr| -> Result<u64, SqlError> {
        let (v, ty) = s.with_ctx(&[], |cx| scalar::constant(e, cx))?;
        match VarInput::from_val(&v, &ty) {
            VarInput::Uint(n) => Ok(n),
            VarInput::Int(n) if n >= 0 => Ok(n as u64),
            _ => Err(SqlError::new(
                codes::ER_WRONG_ARGUMENTS,
                "Incorrect arguments to LIMIT",
            )),
        }
    };
    let most = of(&limit.count)?;
    let skip = limit.offset.as_ref().map_or(Ok(0), of)?;
    Ok((skip, most))
}
