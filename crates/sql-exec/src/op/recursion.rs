//! Recursive queries: the rows that are made are read by the queries that make more of them, until there are no new ones.
//!
//! As in MySQL, a query that goes on reads all rows that it has not read yet, and again what has come meanwhile, before the next one
//! does; how often it may is `cte_max_recursion_depth`. Rows are kept until all have read them, in files where there is no room.
//!
//! Never here: an order of the rows, or what a query does with those that it reads.

use std::collections::VecDeque;
use std::sync::Arc;

use smallvec::SmallVec;
use types::convert::{ConvertMode, Converted, Target, assign};
use types::error::codes;
use types::{DataType, SqlError, ValueRef, Warning};

use crate::Env;
use crate::conversion::convert_mode;
use crate::env::Counts;
use crate::keymap::KeyMap;
use crate::op::limit::Limits;
use crate::pause::flush_now_and_then;
use crate::spill::Room;
use crate::spill::gather::Gathered;
use crate::store::RowStore;
use sql_expr::{ExprType, RowSource, Val, json, write_group_key};
use sql_plan::plan::{Block, Recursive};
use sql_plan::sink::ResultSink;

/// A recursive query that is being carried out.
struct Recursion<'r> {
    query: &'r Recursive<Block>,
    types: &'r [ExprType],
    mode: ConvertMode,
    bounds: Limits,
    passed: u64,
    sent: u64,
    /// The rows so far, where each is wanted once.
    seen: Option<KeyMap>,
    key: Vec<u8>,
    /// The rows that not all have read, as they came together.
    waiting: VecDeque<Arc<Gathered>>,
    /// How many came together before those.
    gone: usize,
}

impl Env<'_> {
    /// Sends the rows that a recursive query is to read.
    pub(super) async fn fed(
        &mut self,
        number: u16,
        sink: &mut dyn ResultSink,
    ) -> Result<Counts, SqlError> {
        let unread = self.feeds.of.get(&number).cloned().unwrap_or_default();
        self.send_all(&unread, sink).await
    }

    /// Sends rows that are kept for several readers.
    pub(super) async fn send_all(
        &mut self,
        all: &[Arc<Gathered>],
        sink: &mut dyn ResultSink,
    ) -> Result<Counts, SqlError> {
        let mut sent = 0;
        for rows in all {
            let mut pass = rows.pass();
            while let Some(some) = rows.next(&mut pass).await? {
                for i in 0..some.len() {
                    some.send(i, sink);
                    sent += 1;
                    flush_now_and_then(sent, self, sink).await?;
                }
            }
        }
        Ok(counts(sent))
    }

    /// Carries a recursive query out.
    pub(super) async fn recur(
        &mut self,
        query: &Recursive<Block>,
        types: &[ExprType],
        bounds: Limits,
        outer: &dyn RowSource,
        sink: &mut dyn ResultSink,
    ) -> Result<Counts, SqlError> {
        let mut r = Recursion {
            query,
            types,
            mode: convert_mode(self.cx, false),
            bounds,
            passed: 0,
            sent: 0,
            seen: query.distinct.then(|| KeyMap::new(self.cx.memory())),
            key: Vec::new(),
            waiting: VecDeque::new(),
            gone: 0,
        };
        if bounds.take > 0 {
            r.make(self, outer, sink).await?;
        }
        self.feeds.of.remove(&query.feed);
        Ok(counts(r.sent))
    }
}

fn counts(sent: u64) -> Counts {
    Counts {
        sent,
        found: sent,
        no_index: false,
    }
}

impl Recursion<'_> {
    /// Whether LIMIT wants no more.
    fn is_full(&self) -> bool {
        self.passed >= self.bounds.needed()
    }

    fn rows(&self, env: &Env<'_>) -> Gathered {
        Gathered::new(
            self.types.len(),
            Room::table(env.cx),
            env.session.temp_space(),
        )
    }

    async fn make(
        &mut self,
        env: &mut Env<'_>,
        outer: &dyn RowSource,
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        let query = self.query;
        let most = env.cx.vars.hot().cte_max_recursion_depth;
        let mut made = self.rows(env);
        env.query(&query.seed, outer, &mut made, u64::MAX).await?;
        made.end().await?;
        self.admit(made, false, env, sink).await?;
        // For each query, how many of what came together it has read, and how often.
        let mut read = vec![(0usize, 0u64); query.members.len()];
        loop {
            let before = self.gone + self.waiting.len();
            for (m, member) in query.members.iter().enumerate() {
                while read[m].0 < self.gone + self.waiting.len() && !self.is_full() {
                    read[m].1 += 1;
                    if read[m].1 > most {
                        return Err(too_deep(read[m].1));
                    }
                    let unread = self.waiting.iter().skip(read[m].0 - self.gone);
                    env.feeds.of.insert(query.feed, unread.cloned().collect());
                    read[m].0 = self.gone + self.waiting.len();
                    // Of rows that are all different ones, no more are made than are wanted.
                    let enough = match self.seen {
                        Some(_) => u64::MAX,
                        None => self.bounds.needed() - self.passed,
                    };
                    let mut made = self.rows(env);
                    env.query(member, outer, &mut made, enough).await?;
                    made.end().await?;
                    env.feeds.of.remove(&query.feed);
                    self.admit(made, true, env, sink).await?;
                    let all = read.iter().map(|r| r.0).min().unwrap_or(0);
                    while self.gone < all {
                        self.waiting.pop_front();
                        self.gone += 1;
                    }
                    if env.due() {
                        env.pause().await?;
                    }
                }
            }
            if self.is_full() || self.gone + self.waiting.len() == before {
                return Ok(());
            }
        }
    }

    /// Takes rows that were made: as they are stored, without those that are there already.
    async fn admit(
        &mut self,
        made: Gathered,
        converts: bool,
        env: &mut Env<'_>,
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        let mut rows = self.rows(env);
        let mut pass = made.pass();
        while let Some(some) = made.next(&mut pass).await? {
            for i in 0..some.len() {
                if self.is_full() {
                    break;
                }
                if self.admit_one(some, i, converts, env, &mut rows, sink)? {
                    flush_now_and_then(self.sent, env, sink).await?;
                    if rows.is_full() {
                        rows.flush().await?;
                    }
                } else if env.due() {
                    env.pause().await?;
                }
            }
        }
        rows.end().await?;
        if rows.len() > 0 {
            self.waiting.push_back(Arc::new(rows));
        }
        Ok(())
    }

    /// Whether a row is a new one, which is added then.
    fn admit_one(
        &mut self,
        from: &RowStore,
        i: usize,
        converts: bool,
        env: &Env<'_>,
        to: &mut Gathered,
        sink: &mut dyn ResultSink,
    ) -> Result<bool, SqlError> {
        let mut values: SmallVec<[Converted<'_>; 8]> = SmallVec::new();
        for (v, (name, ty)) in from.row(i).zip(&self.query.columns) {
            values.push(match converts {
                true => stored(v, name, ty, &self.mode, env)?,
                false => Converted::Ref(v),
            });
        }
        if let Some(seen) = &mut self.seen {
            self.key.clear();
            for (v, t) in values.iter().zip(self.types) {
                write_group_key(&Val::from(v.as_ref()), t, &mut self.key);
            }
            if !seen.insert(&self.key)?.1 {
                return Ok(false);
            }
        }
        self.passed += 1;
        if self.passed > self.bounds.skip {
            self.sent += 1;
            sink.row_begin();
            for (c, v) in values.iter().enumerate() {
                sink.value(v.as_ref(), c);
            }
            sink.row_end();
        }
        to.push(values.iter().map(Converted::as_ref));
        Ok(true)
    }
}

/// A value as a column has it.
fn stored<'v>(
    v: ValueRef<'v>,
    column: &'v str,
    ty: &'v DataType,
    mode: &ConvertMode,
    env: &Env<'_>,
) -> Result<Converted<'v>, SqlError> {
    if *ty == DataType::Json && !v.is_null() {
        return json::assigned(v, &format_args!("{column}"), env.cx).map(Converted::Owned);
    }
    let target = Target {
        ty,
        nullable: true,
        column,
        row: 1,
    };
    let mut warnings: Vec<Warning> = Vec::new();
    let converted = assign(v, &target, mode, &mut warnings)?;
    for w in warnings {
        env.cx.warn(w);
    }
    Ok(converted)
}

fn too_deep(iterations: u64) -> SqlError {
    SqlError::new(
        codes::ER_CTE_MAX_RECURSION_DEPTH,
        format!(
            "Recursive query aborted after {iterations} iterations. Try increasing @@cte_max_recursion_depth to a larger value."
        ),
    )
}
