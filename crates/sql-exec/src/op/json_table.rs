//! JSON_TABLE: the rows that are found in a document.

use types::SqlError;

use crate::Env;
use crate::env::Counts;
use crate::pause::flush_now_and_then;
use sql_expr::RowSource;
use sql_expr::json::table::{Document, Rows};
use sql_plan::plan::JsonRows;
use sql_plan::sink::ResultSink;

/// Sends the rows of JSON_TABLE as they are found in the document, which is not copied.
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
