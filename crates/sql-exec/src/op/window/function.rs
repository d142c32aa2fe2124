//! The functions of a window: each has its state within a partition, and a value for one row after the other.

use types::SqlError;
use types::error::codes;

use crate::Env;
use crate::op::window::aggregate::FrameAggregate;
use crate::op::window::frame::{Frames, Places};
use crate::op::window::partition::{Cursor, Partition};
use sql_expr::window::{WindowFn, WindowKind, number};
use sql_expr::{EvalCtx, Expr, Val};
use sql_parser::ast::WindowFunc;
use sql_plan::bind::window_tree::Window;
use sql_plan::plan::op::window::Stage;

/// Which row of the frame a function is the value of.
#[derive(Clone, Copy)]
enum Which {
    First,
    Last,
    /// Counted from 1; `None` for NULL.
    Nth(Option<u64>),
}

enum State<'p> {
    RowNumber,
    Rank,
    /// The rank of the current peers, and where they begin.
    DenseRank(u64, u64),
    PercentRank,
    CumeDist,
    /// How many parts.
    Ntile(Option<u64>),
    /// LAG, LEAD.
    Shift {
        arg: &'p Expr,
        default: Option<&'p Expr>,
        by: u64,
        back: bool,
        cursor: Cursor,
    },
    /// FIRST_VALUE, LAST_VALUE, NTH_VALUE.
    OfFrame {
        arg: &'p Expr,
        which: Which,
        cursor: Cursor,
        /// The place of the value that was asked for last, and the value.
        last: Option<(u64, Val<'static>)>,
    },
    Aggregate(Box<FrameAggregate<'p>>),
}

/// The functions of a window and their values for the current row.
pub(super) struct Functions<'p> {
    frames: Frames<'p>,
    states: Vec<State<'p>>,
    /// The values, in the order of the functions.
    pub values: Vec<Val<'static>>,
}

fn wrong_arguments(f: &WindowFn) -> SqlError {
    SqlError::new(
        codes::ER_WRONG_ARGUMENTS,
        format!("Incorrect arguments to {}", f.name()),
    )
}

fn state<'p>(f: &'p WindowFn, cx: &EvalCtx<'_>) -> Result<State<'p>, SqlError> {
    let (func, args) = match &f.kind {
        WindowKind::Aggregate(spec) => {
            return Ok(State::Aggregate(Box::new(FrameAggregate::new(spec))));
        }
        WindowKind::Function(func, args) => (*func, args),
    };
    let wrong = || wrong_arguments(f);
    // Of a parameter it is known only now.
    let count = |at: usize, least: i64| -> Result<Option<u64>, SqlError> {
        let n = match args.get(at) {
            Some(e) => number(e, cx)?,
            None => return Ok(Some(1)),
        };
        match n {
            Some(n) if n < least => Err(wrong()),
            n => Ok(n.map(|n| n as u64)),
        }
    };
    let first = || args.first().ok_or_else(wrong);
    let of_frame = |which| -> Result<State<'p>, SqlError> {
        Ok(State::OfFrame {
            arg: first()?,
            which,
            cursor: Cursor::default(),
            last: None,
        })
    };
    Ok(match func {
        WindowFunc::RowNumber => State::RowNumber,
        WindowFunc::Rank => State::Rank,
        WindowFunc::DenseRank => State::DenseRank(0, u64::MAX),
        WindowFunc::PercentRank => State::PercentRank,
        WindowFunc::CumeDist => State::CumeDist,
        WindowFunc::Ntile => State::Ntile(count(0, 1)?),
        WindowFunc::Lag | WindowFunc::Lead => State::Shift {
            arg: first()?,
            default: args.get(2),
            by: count(1, 0)?.ok_or_else(wrong)?,
            back: func == WindowFunc::Lag,
            cursor: Cursor::default(),
        },
        WindowFunc::FirstValue => of_frame(Which::First)?,
        WindowFunc::LastValue => of_frame(Which::Last)?,
        WindowFunc::NthValue => of_frame(Which::Nth(count(1, 1)?))?,
    })
}

impl<'p> Functions<'p> {
    /// The functions of a window.
    ///
    /// # Errors
    /// 1210 and 3586 for parameters.
    pub fn new(
        stage: &'p Stage,
        window: &Window,
        cx: &EvalCtx<'_>,
    ) -> Result<Functions<'p>, SqlError> {
        let mut states = Vec::with_capacity(stage.functions.len());
        for f in &stage.functions {
            states.push(state(f, cx)?);
        }
        let peers = |s: &State<'_>| {
            matches!(
                s,
                State::Rank | State::DenseRank(..) | State::PercentRank | State::CumeDist
            )
        };
        let has_peers = states.iter().any(peers);
        let has_frames = stage.functions.iter().any(WindowFn::is_framed);
        Ok(Functions {
            frames: Frames::new(stage, window, has_peers, has_frames, cx)?,
            values: vec![Val::Null; states.len()],
            states,
        })
    }

    /// Another partition begins.
    pub fn begin(&mut self) {
        self.frames.begin();
        for s in &mut self.states {
            match s {
                State::DenseRank(rank, peers) => (*rank, *peers) = (0, u64::MAX),
                State::Shift { cursor, .. } => cursor.reset(),
                State::OfFrame { cursor, last, .. } => {
                    cursor.reset();
                    *last = None;
                }
                State::Aggregate(a) => a.begin(),
                _ => {}
            }
        }
    }

    /// Computes the values for the next row, whose place is given.
    ///
    /// # Errors
    /// What evaluating raises; the file; the statement is to end.
    pub async fn step(
        &mut self,
        p: &Partition<'_>,
        row: u64,
        env: &mut Env<'_>,
    ) -> Result<(), SqlError> {
        self.frames.step(p, row, env).await?;
        let at = self.frames.at;
        for (s, value) in self.states.iter_mut().zip(&mut self.values) {
            *value = match s {
                State::RowNumber => Val::Uint(row + 1),
                State::Rank => Val::Uint(at.peers + 1),
                State::DenseRank(rank, peers) => {
                    *rank += u64::from(*peers != at.peers);
                    *peers = at.peers;
                    Val::Uint(*rank)
                }
                State::PercentRank if p.len <= 1 => Val::Double(0.0),
                State::PercentRank => Val::Double(at.peers as f64 / (p.len - 1) as f64),
                State::CumeDist => Val::Double(at.peers_end as f64 / p.len as f64),
                State::Ntile(None) => Val::Null,
                State::Ntile(Some(parts)) => Val::Uint(part(row, p.len, *parts)),
                State::Shift {
                    arg,
                    default,
                    by,
                    back,
                    cursor,
                } => {
                    let place = match back {
                        true => row.checked_sub(*by),
                        false => row.checked_add(*by).filter(|r| *r < p.len),
                    };
                    match (place, default) {
                        (Some(place), _) => value_at(p, cursor, place, arg, env).await?,
                        (None, Some(e)) => value_at(p, cursor, row, e, env).await?,
                        (None, None) => Val::Null,
                    }
                }
                State::OfFrame {
                    arg,
                    which,
                    cursor,
                    last,
                } => match wanted(*which, at) {
                    None => Val::Null,
                    Some(place) => match last {
                        Some((known, v)) if *known == place => v.clone(),
                        _ => {
                            let v = value_at(p, cursor, place, arg, env).await?;
                            *last = Some((place, v.clone()));
                            v
                        }
                    },
                },
                State::Aggregate(a) => a.value(p, at, env).await?,
            };
        }
        Ok(())
    }
}

/// The place of the row that a value is of; `None` where the frame has no such row.
fn wanted(which: Which, at: Places) -> Option<u64> {
    let place = match which {
        Which::First => at.start,
        Which::Last => at.end.checked_sub(1)?,
        Which::Nth(n) => at.start.checked_add(n? - 1)?,
    };
    (place >= at.start && place < at.end).then_some(place)
}

async fn value_at(
    p: &Partition<'_>,
    cursor: &mut Cursor,
    place: u64,
    e: &Expr,
    env: &Env<'_>,
) -> Result<Val<'static>, SqlError> {
    p.seek(cursor, place, env).await?;
    Ok(e.eval(env.cx, &p.row(cursor))?.into_owned())
}

/// The number of the part that a row is in, where `len` rows are in so many parts, of which the first may have one row more.
fn part(row: u64, len: u64, parts: u64) -> u64 {
    let (small, larger) = (len / parts, len % parts);
    let in_larger = larger * (small + 1);
    match row < in_larger {
        true => row / (small + 1) + 1,
        false => larger + (row - in_larger) / small.max(1) + 1,
    }
}
