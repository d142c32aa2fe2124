//! EXPLAIN and EXPLAIN ANALYZE: the second runs the plan, sends its rows nowhere, and counts what comes at each place.
//!
//! Nothing is counted unless [`Env`] has a tally. While it has one, rows are read one by one: not in batches, and none are kept for
//! the next execution of a subquery.

use std::sync::Arc;

use types::{SqlError, Value, ValueRef};

use super::Env;
use sql_expr::NoRow;
use sql_plan::plan::tally::{Place, Tally};
use sql_plan::plan::tree::Explained;
use sql_plan::plan::{Block, PlanBody, tree_form};
use sql_plan::sink::{ColumnMeta, Done, ResultSink};

impl Env<'_> {
    /// Whether somebody counts.
    #[inline]
    pub(super) fn is_counted(&self) -> bool {
        self.tally.is_some()
    }

    /// The time, where somebody counts.
    #[inline]
    pub(super) fn begun(&self) -> Option<u64> {
        self.tally.as_ref().map(|t| t.now())
    }

    /// Notes what a place has done since it began.
    #[inline]
    pub(super) fn tell(
        &mut self,
        block: &Block,
        place: Place,
        begun: Option<u64>,
        loops: u64,
        rows: u64,
    ) {
        if let (Some(tally), Some(begun)) = (&mut self.tally, begun) {
            let time = tally.now().saturating_sub(begun);
            tally.at(block, place).add(loops, rows, time);
        }
    }
}

/// Rows that nobody wants.
struct Nowhere;

impl ResultSink for Nowhere {
    fn columns(&mut self, _: &Arc<[ColumnMeta]>) {}
    fn row_begin(&mut self) {}
    fn value(&mut self, _: ValueRef<'_>, _: usize) {}
    fn row_end(&mut self) {}
    fn finish(&mut self, _: &Done) {}
}

/// Runs EXPLAIN.
pub(super) async fn run(
    x: &Explained,
    columns: &Arc<[ColumnMeta]>,
    env: &mut Env<'_>,
    sink: &mut dyn ResultSink,
) -> Result<Done, SqlError> {
    let counted;
    let rows = match &x.analyzed {
        None => &x.rows,
        Some(body) => {
            let PlanBody::Query(q) = body else {
                return Err(SqlError::not_supported("EXPLAIN ANALYZE of this statement"));
            };
            let clock = &env.session.engine().environment().clock;
            env.tally = Some(Box::new(Tally::new(clock)));
            env.query(q, &NoRow, &mut Nowhere, u64::MAX).await?;
            let text = tree_form::text(body, env.tally.as_deref());
            counted = vec![vec![Value::text(&text.unwrap_or_default())]];
            &counted
        }
    };
    sink.columns(columns);
    for r in rows {
        sink.row_begin();
        for (c, v) in r.iter().enumerate() {
            sink.value(v.as_ref(), c);
        }
        sink.row_end();
    }
    Ok(Done {
        result_set: true,
        found_rows: rows.len() as u64,
        ..Done::default()
    })
}
