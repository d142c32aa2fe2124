//! From page to packet: a row by its full clustered key is written to the sink while its page is latched, with no row, batch or
//! join in between.

use engine::{KeyBound, RowBatch, RowRef, ScanSpec};
use types::{SqlError, Value};

use super::ExecCtx;
use super::keys::{self, Fit};
use super::row::Candidate;
use crate::op::filter::all_hold;
use smallvec::SmallVec;
use sql_expr::{EvalCtx, Expr, NoRow, Node, RowSource, Val};
use sql_plan::plan::{Plan, PointGet};
use sql_plan::sink::{Done, ResultSink};

/// Writes a row that was found, where its conditions hold.
#[inline]
fn write(
    p: &PointGet,
    cx: &EvalCtx<'_>,
    row: RowRef<'_>,
    sink: &mut dyn ResultSink,
) -> Result<u64, SqlError> {
    let candidate = Candidate {
        slot: p.slot,
        row,
        rest: &NoRow,
    };
    if !p.filter.is_empty() && !all_hold(&p.filter, cx, &candidate)? {
        return Ok(0);
    }
    if let Some(columns) = &p.plain {
        return Ok(write_columns(columns, row, sink));
    }
    write_values(&p.output, cx, &candidate, sink)
}

/// Writes the values of a select list; gives that it was one row.
pub(super) fn write_values(
    output: &[Expr],
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
    sink: &mut dyn ResultSink,
) -> Result<u64, SqlError> {
    let mut values: SmallVec<[Val<'_>; 8]> = SmallVec::new();
    for e in output {
        values.push(e.eval(cx, row)?);
    }
    sink.row_begin();
    for (i, (v, e)) in values.iter().zip(output).enumerate() {
        sink.value(v.as_value_ref(&e.ty), i);
    }
    sink.row_end();
    Ok(1)
}

/// The clustered key where every part of it is a whole number that the client gave as a parameter; `false` for any other.
#[inline]
fn key_of_numbers(p: &PointGet, params: &[Value], out: &mut SmallVec<[u8; 32]>) -> bool {
    for (part, key) in p.table.key_parts(0).iter().zip(&p.key) {
        let Node::Param(n, _) = key.expr.node else {
            return false;
        };
        let value = match params.get(n as usize) {
            Some(Value::Int(i)) => i128::from(*i),
            Some(Value::UInt(u)) => i128::from(*u),
            _ => return false,
        };
        let Some((bytes, len)) = part.integer(value) else {
            return false;
        };
        out.extend_from_slice(&bytes[bytes.len() - len..]);
    }
    true
}

/// A point read of stored columns that waits for nothing: gives how many rows it found, or `None`, having written nothing.
///
/// The columns are written when the row is there, under the latch of its page: a read that would have to wait must leave
/// nothing behind.
pub fn point_get_now(
    p: &PointGet,
    plan: &Plan,
    engine: &mut engine::Session,
    params: &[Value],
    sink: &mut dyn ResultSink,
) -> Option<u64> {
    let columns = p.plain.as_deref()?;
    if !p.filter.is_empty() {
        return None;
    }
    let mut key = SmallVec::new();
    if !key_of_numbers(p, params, &mut key) {
        return None;
    }
    let write = |row: Option<RowRef<'_>>| {
        sink.columns(&plan.columns);
        match row {
            Some(row) => write_columns(columns, row, sink),
            None => 0,
        }
    };
    match p.lock {
        None => engine.get_now(&p.table, &key, write),
        Some(lock) => engine.get_locking_now(&p.table, &key, lock.exclusive, write),
    }
}

#[inline]
fn write_columns(columns: &[u16], row: RowRef<'_>, sink: &mut dyn ResultSink) -> u64 {
    sink.row_begin();
    for (i, &c) in columns.iter().enumerate() {
        sink.value(row.column(usize::from(c)), i);
    }
    sink.row_end();
    1
}

/// Runs a point read.
pub(crate) async fn point_get(
    p: &PointGet,
    plan: &Plan,
    ctx: &mut ExecCtx<'_>,
    sink: &mut dyn ResultSink,
) -> Result<Done, SqlError> {
    let cx = &ctx.cx;
    let mut key = Vec::with_capacity(32);
    let fit = keys::point(&p.table, &p.key, cx, &NoRow, &mut key)?;
    sink.columns(&plan.columns);
    let mode = keys::read_mode(p.lock);
    let rows = match fit {
        Fit::Exact => {
            ctx.session
                .get(&p.table, &key, mode, |row| match row {
                    Some(row) => write(p, cx, row, sink),
                    None => Ok(0),
                })
                .await??
        }
        Fit::No => Box::pin(scan_instead(p, ctx, sink)).await?,
        _ => 0,
    };
    Ok(Done {
        result_set: true,
        found_rows: rows,
        ..Done::default()
    })
}

/// The value compared with cannot be a key: every row is looked at.
async fn scan_instead(
    p: &PointGet,
    ctx: &mut ExecCtx<'_>,
    sink: &mut dyn ResultSink,
) -> Result<u64, SqlError> {
    let cx = &ctx.cx;
    let spec = ScanSpec {
        index: 0,
        lower: KeyBound::None,
        upper: KeyBound::None,
        backward: false,
        mode: keys::read_mode(p.lock),
    };
    let mut scan = ctx.session.scan(&p.table, spec);
    let mut batch = RowBatch::new();
    let mut rows = 0;
    loop {
        batch.clear();
        let more = ctx
            .session
            .next_batch(&mut scan, &mut batch, 64, &mut |row| {
                let row = Candidate {
                    slot: p.slot,
                    row,
                    rest: &NoRow,
                };
                all_hold(&p.implied, cx, &row)
            })
            .await?;
        for i in 0..batch.len() {
            rows += write(p, cx, batch.row(i), sink)?;
        }
        if !more {
            return Ok(rows);
        }
    }
}
