//! CHECK, ANALYZE, OPTIMIZE, REPAIR and CHECKSUM TABLE.
//!
//! Never here: what a table must be like (the engine checks it). What goes wrong with one table stands in its rows, as in MySQL, and the next table has its turn. Only what ends the statement is an error.

mod histogram;

use std::sync::Arc;

use base::checksum::crc32c;
use engine::{Isolation, KeyBound, Rank, ReadMode, RowBatch, ScanSpec, Table};
use types::error::codes;
use types::{DataType, Level, SqlError, Value, Warning};

use super::ddl;
use crate::command::show::view_columns;
use crate::context::{Session, TableName};
use crate::describe::rowset::RowSet;
use crate::infoschema;
use sql_access::Granted;
use sql_parser::ast::{HistogramClause, MaintenanceVerb, TableMaintenance};
use sql_plan::sink::{Done, ResultSink};

/// Carries out the verb for each table and reports on each.
pub async fn run(
    s: &mut Session,
    _: &Granted,
    stmt: &TableMaintenance,
    sink: &mut dyn ResultSink,
) -> Result<Done, SqlError> {
    s.implicit_commit().await?;
    if stmt.verb == MaintenanceVerb::Checksum {
        return checksums(s, stmt, sink).await;
    }
    let mut out = RowSet::texts(
        &["Table", "Op", "Msg_type", "Msg_text"],
        &[128, 10, 10, 393_216],
    );
    if let Some(clause) = &stmt.histogram {
        histograms(s, stmt, clause, &mut out).await?;
        return Ok(out.send(sink));
    }
    for name in &stmt.tables {
        let n = s.full_name(name)?;
        for (kind, text) in lines(s, stmt.verb, &n).await? {
            let full = format!("{}.{}", n.schema, n.name);
            let op = match stmt.verb {
                MaintenanceVerb::Check => "check",
                MaintenanceVerb::Analyze => "analyze",
                MaintenanceVerb::Optimize => "optimize",
                _ => "repair",
            };
            out.push_texts(&[&full, op, kind, &text]);
        }
    }
    Ok(out.send(sink))
}

async fn lines(
    s: &mut Session,
    verb: MaintenanceVerb,
    n: &TableName,
) -> Result<Vec<(&'static str, String)>, SqlError> {
    let ok = || ("status", "OK".to_owned());
    // Some of the schema `mysql` are stored, and some are not.
    if infoschema::has(&n.schema, &n.name) {
        return Ok(vec![ok()]);
    }
    let view = s.engine.catalog().view_seen(&n.schema, &n.name).cloned();
    let may = may_look_at(s, verb, n);
    if let (Some(view), MaintenanceVerb::Check, Ok(())) = (&view, verb, &may) {
        return Ok(match view_columns(s, view) {
            Ok(_) => vec![ok()],
            Err(e) => vec![("Error", e.message), ("error", "Corrupt".to_owned())],
        });
    }
    let t = match may.and_then(|()| s.find_base_table(n)) {
        Ok(t) => t,
        Err(e) => {
            return Ok(vec![
                ("Error", e.message),
                ("status", "Operation failed".to_owned()),
            ]);
        }
    };
    Ok(match verb {
        MaintenanceVerb::Check => {
            let found = check(s, &t, n).await;
            found.or_else(|e| failed(s, e))?
        }
        MaintenanceVerb::Optimize => {
            let note = "Table does not support optimize, doing recreate + analyze instead";
            let mut out = vec![("note", note.to_owned())];
            // As in MySQL, on a server that is read-only as well: nothing is told of it.
            let rank = s.engine.set_rank(Rank::Server);
            let mut done = ddl::rebuild_as_is(s, n).await;
            if done.is_ok() {
                done = analyze(s, n).await;
            }
            s.engine.set_rank(rank);
            match done {
                Ok(()) => out.push(ok()),
                Err(e) => out.extend(failed(s, e)?),
            }
            out
        }
        MaintenanceVerb::Repair => vec![(
            "note",
            "The storage engine for the table doesn't support repair".to_owned(),
        )],
        _ => match analyze(s, n).await {
            Ok(()) => vec![ok()],
            Err(e) => failed(s, e)?,
        },
    })
}

/// Under LOCK TABLES: what is locked, and for OPTIMIZE what is locked for writing.
///
/// # Errors
/// 1099, 1100.
fn may_look_at(s: &Session, verb: MaintenanceVerb, n: &TableName) -> Result<(), SqlError> {
    let Some(locked) = &s.locked else {
        return Ok(());
    };
    match verb {
        MaintenanceVerb::Optimize | MaintenanceVerb::Repair => {
            locked.check_change(&n.schema, &n.name)
        }
        _ => locked.check_read(&n.schema, &n.name),
    }
}

/// ANALYZE TABLE .. UPDATE | DROP HISTOGRAM.
async fn histograms(
    s: &mut Session,
    stmt: &TableMaintenance,
    clause: &HistogramClause,
    out: &mut RowSet,
) -> Result<(), SqlError> {
    histogram::buckets(clause)?;
    let [name] = &stmt.tables[..] else {
        let why = "Only one table can be specified while modifying histogram statistics.";
        out.push_texts(&["", "histogram", "Error", why]);
        return Ok(());
    };
    let n = s.full_name(name)?;
    let full = format!("{}.{}", n.schema, n.name);
    let may = may_look_at(s, stmt.verb, &n);
    let lines: Vec<histogram::Line> = match may.and_then(|()| s.find_base_table(&n)) {
        Err(e) => vec![("Error", e.message)],
        Ok(t) if t.def.is_temporary() => {
            let why = "Cannot create histogram statistics for a temporary table.";
            vec![("Error", why.to_owned())]
        }
        Ok(_) => {
            s.engine.statement_begin(Isolation::RepeatableRead);
            let r = histogram::change(&mut s.engine, (&n.schema, &n.name), clause).await;
            match s.end_statement(r).await {
                Ok(lines) => lines.into_values().collect(),
                Err(e) => failed(s, e)?,
            }
        }
    };
    for (kind, text) in lines {
        out.push_texts(&[&full, "histogram", kind, &text]);
    }
    Ok(())
}

/// Makes the table's statistics now.
async fn analyze(s: &mut Session, n: &TableName) -> Result<(), SqlError> {
    s.engine.statement_begin(Isolation::ReadCommitted);
    let r = async {
        let t = s.engine.open_to_read(&n.schema, &n.name).await?;
        s.engine.analyze_table(&t).await
    }
    .await;
    s.end_statement(r).await
}

/// The lines for a table on which the verb could not be carried out. SHOW WARNINGS has its number.
///
/// # Errors
/// The error itself, where the whole statement is to end.
fn failed(s: &mut Session, e: SqlError) -> Result<Vec<(&'static str, String)>, SqlError> {
    let ends = [
        codes::ER_QUERY_INTERRUPTED,
        codes::ER_QUERY_TIMEOUT,
        codes::ER_SERVER_SHUTDOWN,
    ];
    if ends.contains(&e.code) {
        return Err(e);
    }
    s.warn(Warning::new(Level::Error, e.code, e.message.clone()));
    Ok(vec![
        ("error", e.message),
        ("status", "Operation failed".to_owned()),
    ])
}

async fn check(
    s: &mut Session,
    t: &Arc<Table>,
    n: &TableName,
) -> Result<Vec<(&'static str, String)>, SqlError> {
    s.engine.statement_begin(Isolation::ReadCommitted);
    let r = async {
        let opened = !t.def.options.discarded && s.engine.reopen(t, false).await?;
        let t = match opened {
            true => Arc::clone(t),
            false => s.engine.open_to_read(&n.schema, &n.name).await?,
        };
        s.engine.check_table(&t).await
    }
    .await;
    let problems = s.end_statement(r).await?;
    if problems.is_empty() {
        return Ok(vec![("status", "OK".to_owned())]);
    }
    let mut out: Vec<_> = problems.into_iter().map(|p| ("error", p)).collect();
    out.push(("error", "Corrupt".to_owned()));
    Ok(out)
}

async fn checksums(
    s: &mut Session,
    stmt: &TableMaintenance,
    sink: &mut dyn ResultSink,
) -> Result<Done, SqlError> {
    let mut out = RowSet::texts(&["Table"], &[128]);
    out.add_column("Checksum", DataType::BIGINT, true);
    for name in &stmt.tables {
        let n = s.full_name(name)?;
        let full = Value::text(&format!("{}.{}", n.schema, n.name));
        let may = may_look_at(s, stmt.verb, &n);
        let sum = match may.and_then(|()| s.find_base_table(&n)) {
            Ok(_) => Value::Int(checksum(s, &n).await?),
            Err(e) => {
                s.warn(types::Warning::from_error(e));
                Value::Null
            }
        };
        out.push(vec![full, sum]);
    }
    Ok(out.send(sink))
}

/// The sum of the checksums of all rows: the same for the same rows in any order.
async fn checksum(s: &mut Session, n: &TableName) -> Result<i64, SqlError> {
    s.engine.statement_begin(Isolation::RepeatableRead);
    let r = async {
        let t = s.engine.open_to_read(&n.schema, &n.name).await?;
        let spec = ScanSpec {
            index: 0,
            lower: KeyBound::None,
            upper: KeyBound::None,
            backward: false,
            mode: ReadMode::Consistent,
        };
        let mut scan = s.engine.scan(&t, spec);
        let mut batch = RowBatch::new();
        let mut sum = 0u32;
        let mut text = Vec::new();
        loop {
            batch.clear();
            let more = s
                .engine
                .next_batch(&mut scan, &mut batch, 256, &mut |_| Ok(true))
                .await?;
            for i in 0..batch.len() {
                text.clear();
                // Functional key parts are their index's.
                let columns = t.def.columns.iter().enumerate();
                for (c, _) in columns.filter(|(_, c)| !c.is_hidden()) {
                    let v = batch.row(i).column(c);
                    text.push(u8::from(v.is_null()));
                    types::convert::write_value(v, &mut text);
                    text.push(0);
                }
                sum = sum.wrapping_add(crc32c(&text));
            }
            if !more {
                return Ok(i64::from(sum));
            }
        }
    }
    .await;
    s.end_statement(r).await
}
