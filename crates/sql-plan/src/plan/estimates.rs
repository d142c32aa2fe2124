//! The shares of rows that a plan was chosen by and that follow from values of its parameters. With values of which much more or much less of a table
//! is asked for, another plan may be the right one: a name that half of all rows have is looked for in another way than one that three have.
//!
//! A prepared statement keeps a few plans, each for values like those that it was made for. Which of them is taken never changes what a statement
//! answers.

use std::sync::Arc;

use engine::{Table, TableStats, column_key};
use types::Value;

use sql_expr::{EvalCtx, Expr, LikeNode, NoRow, Node, Val, as_column_value};

/// By how much a share may differ from that which a plan was made for. The best plan for one of two values that are further apart may be
/// many times slower for the other; where they are nearer it rarely is another plan.
const FURTHEST: f64 = 4.0;
/// Rows that decide nothing, whatever the ratio is.
const FEW_ROWS: f64 = 64.0;
/// Estimates that are noted of one statement at most.
pub(crate) const MOST_ESTIMATES: usize = 16;

/// What is asked of a column.
pub(crate) enum Asked {
    /// That it equals this.
    Equal(Expr),
    /// That it begins as a pattern does.
    Begins(Box<LikeNode>),
    /// That it is within these bounds, each with whether it is inside.
    Within(Option<(Expr, bool)>, Option<(Expr, bool)>),
}

/// What a plan was made for: a share of the rows of a table that a condition with parameters leaves.
pub struct Estimate {
    /// The table.
    pub table: Arc<Table>,
    /// Its column.
    pub column: u16,
    /// What is asked of that.
    pub(crate) asked: Asked,
    /// The share.
    pub share: f64,
}

impl Estimate {
    /// Whether the values of an execution, which `cx` has, leave about as many rows as the plan was made for. Where the statistics say nothing, they do.
    pub fn holds(&self, cx: &EvalCtx<'_>) -> bool {
        let Some(stats) = self.table.stats() else {
            return true;
        };
        let Some(share) = share_of(&self.table, &stats, self.column, &self.asked, cx) else {
            return true;
        };
        let rows = self.table.row_count_estimate() as f64;
        let (less, more) = (self.share.min(share), self.share.max(share));
        (more - less) * rows <= FEW_ROWS || more <= FURTHEST * less
    }
}

/// The share of a table's rows whose column is as asked, if the values are known and the statistics say something of them.
pub(crate) fn share_of(
    table: &Table,
    stats: &TableStats,
    column: u16,
    asked: &Asked,
    cx: &EvalCtx<'_>,
) -> Option<f64> {
    let n = usize::from(column);
    let def = table.def.columns.get(n)?;
    if stats.columns.get(n)?.is_unknown() {
        return None;
    }
    let key = |e: &Expr| column_key(def, constant(e, &def.ty, cx)?.as_ref());
    let bound = |b: &Option<(Expr, bool)>| match b {
        Some((e, inside)) => Some(Some((key(e)?, *inside))),
        None => Some(None),
    };
    match asked {
        Asked::Equal(e) => Some(stats.equal(n, &key(e)?)),
        Asked::Begins(l) => {
            let (text, exact) = beginning(l, cx)?;
            let end = |text: Vec<u8>| {
                let value = Value::Str(text, l.collation);
                column_key(def, value.as_ref())
            };
            Some(match exact {
                _ if !is_range(&text) => 1.0,
                true => stats.equal(n, &end(text)?),
                false => {
                    let (low, high) = (end(text.clone())?, end(behind(text))?);
                    stats.between(n, Some((&low, true)), Some((&high, true)))
                }
            })
        }
        Asked::Within(low, high) => {
            let (low, high) = (bound(low)?, bound(high)?);
            let low = low.as_ref().map(|(k, inside)| (&k[..], *inside));
            let high = high.as_ref().map(|(k, inside)| (&k[..], *inside));
            Some(stats.between(n, low, high))
        }
    }
}

/// The value of an expression that is the same for every row of an execution, as a column of that type has it; `None` where it is not, where it
/// follows from parameters and `cx` has none, and where the column cannot hold it.
pub(crate) fn constant(e: &Expr, ty: &types::DataType, cx: &EvalCtx<'_>) -> Option<Value> {
    let unknown = |x: &Expr| match x.node {
        Node::Param(..) => cx.params.is_empty(),
        Node::SysVar(..) => true,
        _ => false,
    };
    if !e.is_row_constant() || e.has_special() || e.any(&unknown) {
        return None;
    }
    let v = cx.quietly(|| e.eval(cx, &NoRow).map(Val::into_owned).ok())??;
    as_column_value(&v, &e.ty, ty, cx)
}

/// What a pattern begins with, and whether nothing else matches; `None` where `cx` does not say it, and for NULL.
pub(crate) fn beginning(l: &LikeNode, cx: &EvalCtx<'_>) -> Option<(Vec<u8>, bool)> {
    let unknown = |x: &Expr| match x.node {
        Node::Param(..) => cx.params.is_empty(),
        Node::SysVar(..) => true,
        _ => false,
    };
    let e = &l.pattern;
    if l.given.is_some() || !e.is_row_constant() || e.has_special() || e.any(&unknown) {
        return None;
    }
    cx.quietly(|| l.prefix_now(cx, &NoRow).ok())??
}

/// Whether the texts that begin so are neighbours in an index: what is ignored at their ends, or part of a letter, is not.
pub(crate) fn is_range(text: &[u8]) -> bool {
    text.is_ascii() && text.last().is_some_and(|b| *b > b' ')
}

/// The last text that begins with a text.
pub(crate) fn behind(mut text: Vec<u8>) -> Vec<u8> {
    text.extend_from_slice("\u{10ffff}".as_bytes());
    text
}

/// Whether a value follows from parameters.
pub(crate) fn reads_params(e: &Expr) -> bool {
    e.any(&|x| matches!(x.node, Node::Param(..)))
}
