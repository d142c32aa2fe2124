//! An aggregate of frames: rows are added as the frame's end moves, and taken back as its beginning does, where the aggregate can take them back; MIN and MAX
//! keep the rows that may still count. Everything else is computed anew when the beginning moves.

use types::SqlError;

use crate::Env;
use crate::op::window::frame::Places;
use crate::op::window::partition::{Cursor, Partition};
use sql_expr::Val;
use sql_expr::agg::{Accumulator, AggSpec, Extremes};

enum Way {
    /// Rows are taken back.
    Slides(Accumulator),
    /// The least or greatest.
    Extreme(Extremes),
    /// Computed anew.
    Again(Accumulator),
}

/// An aggregate over the frames of a partition.
pub(super) struct FrameAggregate<'p> {
    spec: &'p AggSpec,
    way: Way,
    /// The rows that it has, by their places.
    from: u64,
    to: u64,
    /// What they come to.
    value: Option<Val<'static>>,
    head: Cursor,
    tail: Cursor,
}

impl<'p> FrameAggregate<'p> {
    /// Of no rows.
    pub fn new(spec: &'p AggSpec) -> FrameAggregate<'p> {
        let way = if spec.is_extreme() {
            Way::Extreme(Extremes::default())
        } else if spec.takes_back() {
            Way::Slides(spec.start())
        } else {
            Way::Again(spec.start())
        };
        FrameAggregate {
            spec,
            way,
            from: 0,
            to: 0,
            value: None,
            head: Cursor::default(),
            tail: Cursor::default(),
        }
    }

    /// Another partition begins.
    pub fn begin(&mut self) {
        self.restart(0);
        self.head.reset();
        self.tail.reset();
    }

    fn restart(&mut self, at: u64) {
        match &mut self.way {
            Way::Slides(a) | Way::Again(a) => *a = self.spec.start(),
            Way::Extreme(e) => e.clear(),
        }
        (self.from, self.to) = (at, at);
        self.value = None;
    }

    /// Its value for a frame.
    ///
    /// # Errors
    /// What adding rows and ending raises; the file; the statement is to end.
    pub async fn value(
        &mut self,
        p: &Partition<'_>,
        at: Places,
        env: &mut Env<'_>,
    ) -> Result<Val<'static>, SqlError> {
        // An empty frame may lie anywhere.
        let (start, end) = (at.start, at.end.max(at.start));
        if let Some(v) = &self.value
            && (start, end) == (self.from, self.to)
        {
            return Ok(v.clone());
        }
        let moves_on = start >= self.from && end >= self.to && start <= self.to;
        let pays = match &self.way {
            Way::Slides(_) => {
                start - self.from.min(start) + (end - self.to.min(end)) <= end - start
            }
            Way::Extreme(_) => true,
            Way::Again(_) => start == self.from,
        };
        if !moves_on || !pays {
            self.restart(start);
        }
        let cx = env.cx;
        if let Way::Slides(a) = &mut self.way {
            while self.from < start {
                p.seek(&mut self.head, self.from, env).await?;
                a.remove(self.spec, cx, &p.row(&self.head))?;
                self.from += 1;
                if env.due() {
                    env.pause().await?;
                }
            }
        }
        while self.to < end {
            p.seek(&mut self.tail, self.to, env).await?;
            let row = p.row(&self.tail);
            match &mut self.way {
                Way::Slides(a) | Way::Again(a) => a.add(self.spec, cx, &row)?,
                Way::Extreme(e) => e.add(self.to, self.spec, cx, &row)?,
            }
            self.to += 1;
            if env.due() {
                env.pause().await?;
            }
        }
        self.from = start;
        let value = match &mut self.way {
            Way::Slides(a) | Way::Again(a) => a.clone().finish(self.spec, cx)?,
            Way::Extreme(e) => {
                e.begin_at(start);
                e.value()
            }
        };
        self.value = Some(value.clone());
        Ok(value)
    }
}
