//! The rows of JSON_TABLE: they go to the sink as they are found in the document, which is not copied.

use types::SqlError;

use super::Env;
use super::block::Counts;
use super::output::flush_now_and_then;
use crate::plan::JsonRows;
use crate::sink::ResultSink;
use sql_expr::RowSource;
use sql_expr::json::table::{Document, Rows};

/// Sends the rows that the document of a row has.
pub(super) async fn run(
    j: &JsonRows,
    env: &mut Env<'_>,
    outer: &dyn RowSource,
    sink: &mut dyn ResultSink,
) -> Result<Counts, SqlError> {
    let cx = env.cx;
    let doc = loop {
        let v = j.doc.eval(cx, outer);
        if let Some(v) = env.settle(v).await? {
            break v;
        }
    };
    // The document is held until its last row.
    let _held = cx.take_held();
    let mut counts = Counts::default();
    let Some(doc) = Document::of(&doc, &j.doc.ty, cx)? else {
        return Ok(counts);
    };
    let mut rows = Rows::new(&j.table, &doc);
    while rows.next(cx)? {
        sink.row_begin();
        for (c, v) in rows.row().iter().enumerate() {
            sink.value(v.as_ref(), c);
        }
        sink.row_end();
        cx.let_go();
        counts.sent += 1;
        flush_now_and_then(counts.sent, env, sink).await?;
    }
    counts.found = counts.sent;
    Ok(counts)
}
