//! Pauses of what a statement does in memory: sorting, hashing, copying and comparing rows that it has. Every loop over rows makes them: in a
//! pause the statement learns that it is to end (KILL, a limit), and others get their turn. What computes for long leaves there
//! the thread that serves others (`base::environment`).

use std::cmp::Ordering;
use std::sync::Arc;

use engine::TempSpace;
use types::SqlError;

use super::Env;
use super::spill::Host;
use sql_expr::memory::Charge;
use sql_plan::sink::ResultSink;

/// Rows from one pause to the next: a fraction of a millisecond.
const ROWS: u32 = 256;

/// Elements that are sorted in one go.
const PIECE: usize = 16 << 10;

impl Env<'_> {
    /// Counts a row, whose values are not needed any more; says whether it is time for [`pause`](Self::pause).
    #[inline]
    pub fn due(&mut self) -> bool {
        self.cx.let_go();
        self.worked += 1;
        self.worked >= ROWS
    }

    /// Pauses. Nothing may be latched.
    ///
    /// # Errors
    /// 1317 where the statement was killed; what it was refused to hold.
    pub async fn pause(&mut self) -> Result<(), SqlError> {
        self.worked = 0;
        self.check()?;
        self.session.yield_now().await;
        Ok(())
    }

    /// Whether the statement may go on.
    ///
    /// # Errors
    /// As [`pause`](Self::pause).
    #[inline]
    pub fn check(&self) -> Result<(), SqlError> {
        self.session.check_interrupt()?;
        self.cx.memory().check()
    }
}

/// Between rows that are sent: sends when much is waiting, and pauses.
#[inline]
pub(crate) async fn flush_now_and_then(
    rows: u64,
    env: &mut Env<'_>,
    sink: &mut dyn ResultSink,
) -> Result<(), SqlError> {
    if sink.is_full() || rows.is_multiple_of(64) && sink.wants_flush() {
        sink.flush().await?;
    }
    if env.due() {
        env.pause().await?;
    }
    Ok(())
}

impl Host for Env<'_> {
    fn files(&self) -> &Arc<TempSpace> {
        self.session.temp_space()
    }

    fn is_due(&mut self) -> bool {
        self.due()
    }

    async fn rest(&mut self) -> Result<(), SqlError> {
        self.pause().await
    }

    fn look(&self) -> Result<(), SqlError> {
        self.check()
    }
}

/// Sorts, with pauses. The order tells all elements apart.
pub(crate) async fn sort<T: Copy + Send + Sync>(
    all: &mut Vec<T>,
    order: impl Fn(&T, &T) -> Ordering + Send + Sync,
    env: &mut Env<'_>,
) -> Result<(), SqlError> {
    if all.len() <= PIECE {
        all.sort_unstable_by(order);
        return Ok(());
    }
    for piece in all.chunks_mut(PIECE) {
        piece.sort_unstable_by(&order);
        env.pause().await?;
    }
    let mut charge = Charge::to(env.cx.memory());
    let mut merged: Vec<T> = Vec::new();
    if !charge.reserve(&mut merged, all.len()) {
        return env.check();
    }
    let mut run = PIECE;
    while run < all.len() {
        merged.clear();
        for pair in all.chunks(2 * run) {
            let (mut a, mut b) = pair.split_at(run.min(pair.len()));
            while let (Some(x), Some(y)) = (a.first(), b.first()) {
                if order(x, y).is_le() {
                    merged.push(*x);
                    a = &a[1..];
                } else {
                    merged.push(*y);
                    b = &b[1..];
                }
                if merged.len().is_multiple_of(PIECE) {
                    env.pause().await?;
                }
            }
            merged.extend_from_slice(a);
            merged.extend_from_slice(b);
        }
        std::mem::swap(all, &mut merged);
        run *= 2;
    }
    Ok(())
}
