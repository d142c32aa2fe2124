//! Peers and frames: where they begin and end for the row that is computed. With distances that are the same for all rows, both ends of a frame
//! only move forward within a partition.

use types::SqlError;

use crate::Env;
use crate::op::window::partition::{Cursor, Partition, write_key};
use sql_expr::window::{is_distance, number};
use sql_expr::{Comparer, EvalCtx, Expr, Val};
use sql_plan::bind::window_tree::{FrameEnd, Window};
use sql_plan::bind::windows::illegal_frame_of;
use sql_plan::plan::SortKey;
use sql_plan::plan::op::window::Stage;

/// An end of a frame, with its distance known.
enum End<'p> {
    /// The end of the partition on its side.
    Unbounded,
    /// The current row, or its peers.
    Current,
    /// So many rows before (negative) or behind.
    Rows(i64),
    /// The first or last row that compares so with a value of the current row.
    Value(&'p Expr, &'p Comparer),
}

/// Places of the current row's peers and frame; ends are not inside.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Places {
    /// The first peer.
    pub peers: u64,
    /// Behind the last peer.
    pub peers_end: u64,
    /// Where the frame begins.
    pub start: u64,
    /// Where it ends; not behind its beginning where it is empty.
    pub end: u64,
}

/// Peers and frames of one window.
pub(super) struct Frames<'p> {
    order: &'p [SortKey],
    rows: bool,
    start: End<'p>,
    end: End<'p>,
    has_peers: bool,
    has_frames: bool,
    /// Those of the row before.
    pub at: Places,
    peer: Cursor,
    first: Cursor,
    last: Cursor,
    own: Cursor,
    key: Vec<u8>,
    other: Vec<u8>,
}

fn end<'p>(
    e: &'p FrameEnd,
    rows: bool,
    window: &Window,
    cx: &EvalCtx<'_>,
) -> Result<End<'p>, SqlError> {
    let Some(d) = e.distance() else {
        return Ok(match e {
            FrameEnd::CurrentRow => End::Current,
            _ => End::Unbounded,
        });
    };
    let wrong = || illegal_frame_of(window);
    if rows {
        let n = number(&d.amount, cx)?.filter(|n| *n >= 0);
        let n = n.ok_or_else(wrong)?;
        return Ok(End::Rows(match e {
            FrameEnd::Preceding(_) => -n,
            _ => n,
        }));
    }
    let Some((limit, comparer)) = d.limit.as_ref().filter(|_| d.unit.is_some() || !rows) else {
        return Err(wrong());
    };
    match is_distance(&d.amount, d.unit, cx)? {
        true => Ok(End::Value(limit, comparer)),
        false => Err(wrong()),
    }
}

impl<'p> Frames<'p> {
    /// Of a window; its distances are evaluated.
    ///
    /// # Errors
    /// 3586 for a parameter that is no distance.
    pub fn new(
        stage: &'p Stage,
        window: &Window,
        has_peers: bool,
        has_frames: bool,
        cx: &EvalCtx<'_>,
    ) -> Result<Frames<'p>, SqlError> {
        let f = &stage.frame;
        let start = end(&f.start, f.rows, window, cx)?;
        let end = end(&f.end, f.rows, window, cx)?;
        let by_peers = |e: &End<'_>| !f.rows && matches!(e, End::Current | End::Value(..));
        let has_peers = has_peers || has_frames && (by_peers(&start) || by_peers(&end));
        Ok(Frames {
            order: &stage.keys[stage.partition..],
            rows: f.rows,
            start,
            end,
            has_peers,
            has_frames,
            at: Places::default(),
            peer: Cursor::default(),
            first: Cursor::default(),
            last: Cursor::default(),
            own: Cursor::default(),
            key: Vec::new(),
            other: Vec::new(),
        })
    }

    /// Another partition begins.
    pub fn begin(&mut self) {
        self.at = Places::default();
        for c in [
            &mut self.peer,
            &mut self.first,
            &mut self.last,
            &mut self.own,
        ] {
            c.reset();
        }
    }

    /// Moves to the next row, whose place is given.
    ///
    /// # Errors
    /// What evaluating the ends raises; the file; the statement is to end.
    pub async fn step(
        &mut self,
        p: &Partition<'_>,
        row: u64,
        env: &mut Env<'_>,
    ) -> Result<(), SqlError> {
        if self.has_peers && row >= self.at.peers_end {
            self.find_peers(p, row, env).await?;
        }
        if !self.has_frames {
            return Ok(());
        }
        let is_valued = |e: &End<'_>| matches!(e, End::Value(..));
        if is_valued(&self.start) || is_valued(&self.end) {
            p.seek(&mut self.own, row, env).await?;
        }
        self.at.start = match self.start {
            End::Unbounded => 0,
            End::Current if self.rows => row,
            End::Current => self.at.peers,
            End::Rows(n) if n < 0 => row.saturating_sub(n.unsigned_abs()),
            End::Rows(n) => row.saturating_add(n as u64).min(p.len),
            End::Value(limit, comparer) => self.find_start(p, limit, comparer, env).await?,
        };
        self.at.end = match self.end {
            End::Unbounded => p.len,
            End::Current if self.rows => row + 1,
            End::Current => self.at.peers_end,
            End::Rows(n) if n < 0 => (row + 1).saturating_sub(n.unsigned_abs()),
            End::Rows(n) => (row + 1).saturating_add(n as u64).min(p.len),
            End::Value(limit, comparer) => self.find_end(p, limit, comparer, env).await?,
        };
        Ok(())
    }

    async fn find_peers(
        &mut self,
        p: &Partition<'_>,
        row: u64,
        env: &mut Env<'_>,
    ) -> Result<(), SqlError> {
        self.at.peers = row;
        if self.order.is_empty() {
            self.at.peers_end = p.len;
            return Ok(());
        }
        p.seek(&mut self.peer, row, env).await?;
        write_key(self.order, env.cx, &p.row(&self.peer), &mut self.key)?;
        let mut to = row + 1;
        while to < p.len {
            p.seek(&mut self.peer, to, env).await?;
            write_key(self.order, env.cx, &p.row(&self.peer), &mut self.other)?;
            if self.other != self.key {
                break;
            }
            to += 1;
            if env.due() {
                env.pause().await?;
            }
        }
        self.at.peers_end = to;
        Ok(())
    }

    /// What the current row says of an end: the value of the end; `None` where its own value is NULL, whose frame are its peers.
    fn limit(
        &self,
        p: &Partition<'_>,
        limit: &Expr,
        cx: &EvalCtx<'_>,
    ) -> Result<Option<Val<'static>>, SqlError> {
        let Some(key) = self.order.first() else {
            return Ok(None);
        };
        let row = p.row(&self.own);
        if key.expr.eval(cx, &row)?.is_null() {
            return Ok(None);
        }
        Ok(Some(limit.eval(cx, &row)?.into_owned()))
    }

    async fn find_start(
        &mut self,
        p: &Partition<'_>,
        limit: &Expr,
        comparer: &Comparer,
        env: &mut Env<'_>,
    ) -> Result<u64, SqlError> {
        let Some(value) = self.limit(p, limit, env.cx)? else {
            return Ok(self.at.peers);
        };
        let key = &self.order[0];
        let mut at = self.at.start;
        while at < p.len {
            p.seek(&mut self.first, at, env).await?;
            let row = p.row(&self.first);
            let v = key.expr.eval(env.cx, &row)?;
            // NULLs are at the beginning, or at the end of a descending order.
            let is_before = match v.is_null() {
                true => !key.desc,
                false => {
                    let order = comparer.order(&v, &key.expr.ty, &value, &limit.ty, env.cx);
                    order.is_some_and(|o| if key.desc { o.is_gt() } else { o.is_lt() })
                }
            };
            if !is_before {
                break;
            }
            at += 1;
            if env.due() {
                env.pause().await?;
            }
        }
        Ok(at)
    }

    async fn find_end(
        &mut self,
        p: &Partition<'_>,
        limit: &Expr,
        comparer: &Comparer,
        env: &mut Env<'_>,
    ) -> Result<u64, SqlError> {
        let Some(value) = self.limit(p, limit, env.cx)? else {
            return Ok(self.at.peers_end);
        };
        let key = &self.order[0];
        let mut at = self.at.end;
        while at < p.len {
            p.seek(&mut self.last, at, env).await?;
            let row = p.row(&self.last);
            let v = key.expr.eval(env.cx, &row)?;
            let is_behind = match v.is_null() {
                true => key.desc,
                false => {
                    let order = comparer.order(&v, &key.expr.ty, &value, &limit.ty, env.cx);
                    order.is_some_and(|o| if key.desc { o.is_lt() } else { o.is_gt() })
                }
            };
            if is_behind {
                break;
            }
            at += 1;
            if env.due() {
                env.pause().await?;
            }
        }
        Ok(at)
    }
}
