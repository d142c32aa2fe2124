//! The prepared statements that a session has open, and how many all sessions have together. How one is made and run is not known here.
//!
//! What a text is parsed and planned to takes up to a hundred times its bytes. A small statement keeps that. Large ones keep it as long as they are among the last, and the session
//! has room for them; of the others the text alone is kept, and they are parsed and planned again when they are run.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use types::SqlError;
use types::error::codes;

use super::com::Com;
use sql_access::Authorized;
use sql_expr::memory::Charge;
use sql_parser::Options;
use sql_parser::ast::Statement;
use sql_plan::plan::Plan;

/// A plan, and the settings it was made under.
pub(crate) struct Planned {
    pub plan: Authorized<Plan>,
    pub settings: u64,
}

/// How many prepared statements all sessions together have open: what max_prepared_stmt_count limits.
#[derive(Debug, Default)]
pub(crate) struct PreparedCount(AtomicU64);

impl PreparedCount {
    /// How many there are.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// One more, until the place is dropped.
    pub fn take(self: &Arc<Self>, limit: u64) -> Result<Place, SqlError> {
        let place = Place(Arc::clone(self));
        if self.0.fetch_add(1, Ordering::Relaxed) < limit {
            return Ok(place);
        }
        Err(SqlError::new(
            codes::ER_MAX_PREPARED_STMT_COUNT_REACHED,
            format!(
                "Can't create more than max_prepared_stmt_count statements (current value: {limit})"
            ),
        ))
    }
}

/// The place of one statement in the count.
pub(crate) struct Place(Arc<PreparedCount>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A prepared statement.
pub(crate) struct Prepared {
    #[expect(dead_code, reason = "held until the statement is closed")]
    pub place: Place,
    pub charge: Charge,
    /// In UTF-8.
    pub text: Arc<[u8]>,
    /// How that is read.
    pub options: Options,
    /// The default schema that it was made under: it is run under this one, whatever the session's is by then.
    pub database: Option<String>,
    /// Bytes that the text takes, parsed and planned.
    pub size: usize,
    /// What it was parsed to, where that is kept.
    pub statement: Option<Arc<Statement>>,
    pub com: Com,
    pub params: u16,
    /// It is of those that have a plan.
    pub has_plan: bool,
    /// That which was made last, where it is kept.
    pub planned: Option<Planned>,
    /// Those before it that are for other values of the parameters, the last first.
    pub others: Vec<Planned>,
    /// The plan depends on types that differ between executions.
    pub one_use: bool,
    /// It may compute for long without a pause.
    pub may_run_long: bool,
    /// It is nested so deep that only a large stack has room for it.
    pub deep: bool,
}

/// A session's statements by id.
#[derive(Default)]
pub(crate) struct PreparedStatements {
    pub map: HashMap<u32, Prepared>,
    pub last: u32,
    /// The large ones that may have kept what they were parsed to, the oldest first.
    pub large: VecDeque<StatementName>,
}

/// What a client calls a prepared statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StatementName {
    /// By the number that it was given.
    Number(u32),
    /// By the name that it has given.
    Text(Box<str>),
}

/// A statement that takes no more, parsed and planned, always keeps that.
pub(crate) const SMALL: usize = 8 << 10;
/// What large ones of a session may keep together.
pub(crate) const LARGE: usize = 4 << 20;
/// Plans that one keeps beside the last, for other values of its parameters.
const OTHERS: usize = 3;
/// What a prepared statement takes beside its text, and what that makes of it.
const FIXED: usize = 1 << 10;

impl Prepared {
    /// What it takes without what its text makes of it.
    pub fn least(text: &[u8]) -> usize {
        FIXED + text.len()
    }

    /// Keeps the text alone.
    pub fn shed(&mut self) {
        (self.statement, self.planned) = (None, None);
        self.others.clear();
        // Less is never refused.
        self.charge.set(Self::least(&self.text));
    }

    /// Keeps a plan that was just made. The one before it stays beside it if it `holds` for other values, and there is room for it.
    pub fn keep_plan(&mut self, plan: Planned, holds: impl Fn(&Planned) -> bool) {
        let before = self.planned.replace(plan);
        self.others.retain(&holds);
        if let Some(before) = before.filter(|p| !p.plan.peek().estimates.is_empty() && holds(p))
            && self.size <= SMALL
        {
            self.others.insert(0, before);
        }
        self.others.truncate(OTHERS);
        let all = |n: usize| Self::least(&self.text) + self.size * (1 + n);
        if !self.charge.set(all(self.others.len())) {
            self.others.clear();
            // Less is never refused.
            self.charge.set(all(0));
        }
    }

    /// What it counts as.
    #[inline]
    pub fn com(&self) -> Com {
        self.com
    }

    /// Whether it may compute for long without a pause.
    #[inline]
    pub fn may_run_long(&self) -> bool {
        self.may_run_long
    }

    /// Its text, in UTF-8.
    #[inline]
    pub fn text(&self) -> &[u8] {
        &self.text
    }
}

impl PreparedStatements {
    /// The statement of that id.
    #[inline]
    pub fn get(&self, id: u32) -> Option<&Prepared> {
        self.map.get(&id)
    }
}
