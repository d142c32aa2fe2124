//! LIMIT, and the counting of rows that it leaves out.

use types::SqlError;
use types::error::codes;

use sql_expr::{EvalCtx, Expr, NoRow, Val};
use sql_plan::plan::LimitPlan;

/// LIMIT, evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Rows to leave out first.
    pub skip: u64,
    /// Rows to send then.
    pub take: u64,
}

impl Limits {
    /// No limit.
    pub const NONE: Limits = Limits {
        skip: 0,
        take: u64::MAX,
    };

    /// The rows that have to be found.
    pub fn needed(self) -> u64 {
        self.skip.saturating_add(self.take)
    }
}

fn count(e: &Expr, cx: &EvalCtx<'_>) -> Result<u64, SqlError> {
    let wrong = || SqlError::new(codes::ER_WRONG_ARGUMENTS, "Incorrect arguments to LIMIT");
    match e.eval(cx, &NoRow)? {
        Val::Int(i) => u64::try_from(i).map_err(|_| wrong()),
        Val::Uint(u) => Ok(u),
        Val::Bytes(b) => std::str::from_utf8(&b)
            .ok()
            .and_then(|s| s.trim().parse().ok())
            .ok_or_else(wrong),
        Val::Null => Ok(0),
        _ => Err(wrong()),
    }
}

/// Evaluates LIMIT.
pub(crate) fn limits(l: Option<&LimitPlan>, cx: &EvalCtx<'_>) -> Result<Limits, SqlError> {
    let Some(l) = l else { return Ok(Limits::NONE) };
    Ok(Limits {
        skip: l.offset.as_ref().map_or(Ok(0), |e| count(e, cx))?,
        take: count(&l.count, cx)?,
    })
}

/// Counts rows, and says which of them go on.
pub(crate) struct Limit {
    limits: Limits,
    /// All rows are counted although no more are sent (SQL_CALC_FOUND_ROWS).
    counts_all: bool,
    passed: u64,
    /// Rows that went on.
    pub sent: u64,
}

impl Limit {
    /// No row so far.
    pub fn new(limits: Limits, counts_all: bool) -> Limit {
        Limit {
            limits,
            counts_all,
            passed: 0,
            sent: 0,
        }
    }

    /// Counts a row; whether it goes on.
    #[inline]
    pub fn admit(&mut self) -> bool {
        let n = self.passed;
        self.passed += 1;
        let inside = n >= self.limits.skip && n < self.limits.needed();
        self.sent += u64::from(inside);
        inside
    }

    /// Counts a row that a sort takes first.
    #[inline]
    pub fn count(&mut self) {
        self.passed += 1;
    }

    /// Rows found, sent or not.
    pub fn found(&self) -> u64 {
        match self.counts_all {
            true => self.passed,
            false => self.sent,
        }
    }

    /// Whether no further row can matter.
    #[inline]
    pub fn is_reached(&self) -> bool {
        !self.counts_all && self.passed >= self.limits.needed()
    }

    /// The rows that are to go on.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// How many rows a sort is to keep.
    pub fn kept(&self) -> u64 {
        match self.counts_all {
            true => u64::MAX,
            false => self.limits.needed(),
        }
    }

    /// Leaves what is still to be skipped and sent, for rows that are counted anew.
    pub fn begin_again(&mut self) {
        let skip = self.limits.skip.saturating_sub(self.passed);
        let take = self.limits.needed().saturating_sub(self.passed) - skip;
        self.limits = Limits { skip, take };
    }
}
