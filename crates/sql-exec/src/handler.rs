//! HANDLER .. READ: rows of one index from a place on. The place is a key, not a cursor: whatever happens to the table between two statements, the
//! next one goes on behind the row that was read last, or where it was.

use engine::{KeyBound, ReadMode, RowBatch, RowRef, ScanSpec, Table};
use types::convert::{Target, assign, zero_value};
use types::{SqlError, Value};

use super::dml::values::{convert_mode, default_value};
use super::row::Candidate;
use super::{Env, ExecCtx, ExecError, direct, hold};
use crate::op::filter::all_hold;
use crate::op::limit::{Limits, limits};
use crate::op::query::run_query;
use crate::pause::flush_now_and_then;
use sql_access::Ready;
use sql_expr::{EvalCtx, NoRow};
use sql_parser::ast::HandlerSearch;
use sql_plan::bind::handler::{HandlerKey, HandlerPlan, HandlerStart};
use sql_plan::sink::{Done, ResultSink};

/// Rows that are read at once.
const BATCH: usize = 64;

/// Where a handler stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// In which index; `None`: among the rows as they lie.
    index: Option<usize>,
    place: Place,
}

/// A place among the keys of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// Before all.
    Start,
    /// At an entry.
    At(Vec<u8>),
    /// Behind all that begin with a key.
    Behind(Vec<u8>),
    /// Behind all.
    End,
}

impl Place {
    /// What lies behind.
    fn behind(&self) -> Option<KeyBound> {
        match self {
            Place::Start => Some(KeyBound::None),
            Place::At(key) | Place::Behind(key) => Some(KeyBound::Excluded(key.clone())),
            Place::End => None,
        }
    }

    /// What lies before.
    fn before(&self) -> Option<KeyBound> {
        match self {
            Place::Start => None,
            Place::At(key) => Some(KeyBound::Excluded(key.clone())),
            Place::Behind(key) => Some(KeyBound::Included(key.clone())),
            Place::End => Some(KeyBound::None),
        }
    }
}

impl Position {
    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        match &self.place {
            Place::At(key) | Place::Behind(key) => key.len(),
            Place::Start | Place::End => 0,
        }
    }
}

/// The keys to read, and where the handler stands when there are no more.
struct Range {
    lower: KeyBound,
    upper: KeyBound,
    backward: bool,
    over: Place,
}

impl Range {
    fn forward(lower: KeyBound) -> Range {
        Range {
            lower,
            upper: KeyBound::None,
            backward: false,
            over: Place::End,
        }
    }

    fn backward(upper: KeyBound) -> Range {
        Range {
            lower: KeyBound::None,
            upper,
            backward: true,
            over: Place::Start,
        }
    }
}

/// Reads rows from where the handler stands, or from where the statement says, and moves it.
///
/// # Errors
/// [`ExecError::Stale`] where the table is no longer what it was when the plan was made; otherwise what MySQL reports.
pub async fn run(
    plan: Ready<'_, HandlerPlan>,
    position: &mut Option<Position>,
    ctx: &mut ExecCtx<'_>,
    sink: &mut dyn ResultSink,
) -> Result<Done, ExecError> {
    let plan: &HandlerPlan = &plan;
    hold(&[plan.used()], &[], ctx.session).await?;
    let mut env = Env::of(ctx, run_query);
    let most = match &plan.limit {
        Some(l) => limits(Some(l), env.cx)?,
        None => Limits { skip: 0, take: 1 },
    };
    let range = match &plan.start {
        HandlerStart::Key(search, values) => {
            let key = key(plan, values, &mut env).await?;
            Some(searched(*search, key))
        }
        start => scanned(start, plan.index, position.as_ref()),
    };
    sink.columns(&plan.columns);
    let mut sent = 0;
    if let Some(range) = range.filter(|_| most.take > 0) {
        let place;
        (sent, place) = rows(plan, range, most, &mut env, sink).await?;
        *position = Some(Position {
            index: plan.index,
            place,
        });
    }
    env.cx.memory().check()?;
    env.cx.fault()?;
    Ok(Done {
        result_set: true,
        found_rows: sent,
        ..Done::default()
    })
}

/// The keys that FIRST, LAST, NEXT and PREV read; `None`: there are none that way. NEXT and PREV of a scan that has not begun are FIRST and LAST.
fn scanned(
    start: &HandlerStart,
    index: Option<usize>,
    position: Option<&Position>,
) -> Option<Range> {
    let place = position.filter(|p| p.index == index).map(|p| &p.place);
    match start {
        HandlerStart::Next => {
            let from = place.map_or(Some(KeyBound::None), Place::behind);
            from.map(Range::forward)
        }
        HandlerStart::Previous => {
            let from = place.map_or(Some(KeyBound::None), Place::before);
            from.map(Range::backward)
        }
        HandlerStart::Last => Some(Range::backward(KeyBound::None)),
        HandlerStart::First | HandlerStart::Key(..) => Some(Range::forward(KeyBound::None)),
    }
}

/// The keys of a search, in the order of the index: what is greater lies before where a part is descending.
fn searched(search: HandlerSearch, key: Vec<u8>) -> Range {
    match search {
        HandlerSearch::Equal => Range {
            lower: KeyBound::Included(key.clone()),
            upper: KeyBound::Included(key.clone()),
            backward: false,
            over: Place::Behind(key),
        },
        HandlerSearch::AtLeast => Range::forward(KeyBound::Included(key)),
        HandlerSearch::Above => Range::forward(KeyBound::Excluded(key)),
        HandlerSearch::AtMost => Range::backward(KeyBound::Included(key)),
        HandlerSearch::Below => Range::backward(KeyBound::Excluded(key)),
    }
}

/// The beginning of keys that the values stand for, each as its column would store it: rounded, cut off, or the nearest that there is.
async fn key(
    plan: &HandlerPlan,
    values: &[HandlerKey],
    env: &mut Env<'_>,
) -> Result<Vec<u8>, SqlError> {
    let index = plan.index.unwrap_or(0);
    let mut out = Vec::new();
    let parts = plan.table.key_parts(index).iter();
    for ((part, column), value) in parts.zip(plan.table.index_columns(index)).zip(values) {
        let v = loop {
            let v = stored(&plan.table, column, value, env.cx);
            if let Some(v) = env.settle(v).await? {
                break v;
            }
        };
        part.encode(v.as_ref(), &mut out);
    }
    Ok(out)
}

fn stored(
    table: &Table,
    column: usize,
    value: &HandlerKey,
    cx: &EvalCtx<'_>,
) -> Result<Value, SqlError> {
    let mode = convert_mode(cx, true);
    let def = &table.def.columns[column];
    let e = match value {
        HandlerKey::Value(e) => e,
        HandlerKey::Default(plan) => {
            return default_value(plan, table, column as u16, &NoRow, 1, &mode, cx);
        }
    };
    let v = e.eval(cx, &NoRow)?;
    if v.is_null() {
        return Ok(match def.nullable {
            true => Value::Null,
            false => zero_value(&def.ty),
        });
    }
    let target = Target {
        ty: &def.ty,
        nullable: def.nullable,
        column: &def.name,
        row: 1,
    };
    // Nothing is stored: nobody is told of what does not fit.
    let v = assign(
        v.as_assigned_ref(&e.ty, &def.ty),
        &target,
        &mode,
        &mut Vec::new(),
    )?;
    Ok(v.into_value())
}

/// Sends the rows of a range that meet the conditions. Gives how many, and where the handler stands then.
async fn rows(
    plan: &HandlerPlan,
    range: Range,
    limits: Limits,
    env: &mut Env<'_>,
    sink: &mut dyn ResultSink,
) -> Result<(u64, Place), SqlError> {
    let index = plan.index.unwrap_or(0);
    let spec = ScanSpec {
        index,
        lower: range.lower,
        upper: range.upper,
        backward: range.backward,
        mode: ReadMode::Consistent,
    };
    let mut scan = env.session.scan(&plan.table, spec);
    let mut batch = RowBatch::new();
    let (mut found, mut sent, mut size) = (0u64, 0u64, 1);
    loop {
        batch.clear();
        // No more than are wanted, where every row is.
        let wanted = match plan.conditions.is_empty() {
            true => usize::try_from(limits.needed() - found).unwrap_or(BATCH),
            false => size,
        };
        size = (2 * size).min(BATCH);
        let all = &mut |_: RowRef<'_>| Ok(true);
        let session = &mut *env.session;
        let more = session.next_batch(&mut scan, &mut batch, wanted.min(BATCH), all);
        let more = more.await?;
        for i in 0..batch.len() {
            flush_now_and_then(found, env, sink).await?;
            if !holds(plan, &batch, i, env).await? {
                continue;
            }
            found += 1;
            if found > limits.skip {
                let row = candidate(plan, &batch, i);
                sent += direct::write_values(&plan.output, env.cx, &row, sink)?;
            }
            if found >= limits.needed() {
                let entry = plan.table.entry_of(index, batch.row(i), batch.key(i));
                return Ok((sent, Place::At(entry)));
            }
        }
        if !more {
            return Ok((sent, range.over));
        }
    }
}

fn candidate<'b>(plan: &HandlerPlan, batch: &'b RowBatch, i: usize) -> Candidate<'b> {
    Candidate {
        slot: plan.slot,
        row: batch.row(i),
        rest: &NoRow,
    }
}

async fn holds(
    plan: &HandlerPlan,
    batch: &RowBatch,
    i: usize,
    env: &mut Env<'_>,
) -> Result<bool, SqlError> {
    if plan.conditions.is_empty() {
        return Ok(true);
    }
    loop {
        let holds = all_hold(&plan.conditions, env.cx, &candidate(plan, batch, i));
        if let Some(holds) = env.settle(holds).await? {
            return Ok(holds);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_go_on_both_ways() {
        let at = |place| Position {
            index: Some(1),
            place,
        };
        let from = |start, p: &Position| scanned(&start, Some(1), Some(p));
        let key = || KeyBound::Excluded(vec![7]);
        let p = at(Place::At(vec![7]));
        assert_eq!(from(HandlerStart::Next, &p).map(|r| r.lower), Some(key()));
        assert_eq!(
            from(HandlerStart::Previous, &p).map(|r| r.upper),
            Some(key())
        );
        // Behind a key that was searched for, its own rows lie before.
        let p = at(Place::Behind(vec![7]));
        let own = KeyBound::Included(vec![7]);
        assert_eq!(from(HandlerStart::Previous, &p).map(|r| r.upper), Some(own));
        assert!(from(HandlerStart::Next, &at(Place::End)).is_none());
        assert!(from(HandlerStart::Previous, &at(Place::Start)).is_none());
        // Another index: it begins.
        let r = scanned(&HandlerStart::Next, None, Some(&p));
        assert_eq!(r.map(|r| r.lower), Some(KeyBound::None));
    }
}
