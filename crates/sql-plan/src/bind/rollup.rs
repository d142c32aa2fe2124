//! GROUP BY .. WITH ROLLUP: what the grouped expressions read of a row that stands for several groups, and GROUPING().
//!
//! In such a row a grouping value is NULL where it is one of those that differ, also inside other expressions (the manual, "GROUP BY
//! Modifiers"); arguments of aggregates read the rows themselves. A constant that is grouped by is meant where it is all there is.

use types::SqlError;
use types::error::codes;

use super::known::{Known, written};
use sql_expr::agg::AggSpec;
use sql_expr::column_name::ColumnName;
use sql_expr::{CmpOp, Column, Expr, Node};

/// Slot of what WITH ROLLUP groups by, as a row of groups has it: the grouping values, and behind them those of GROUPING.
pub const ROLLUP_SLOT: u16 = u16::MAX - 6;

/// Most arguments of GROUPING: it is a number of 64 bits.
const MOST_ARGUMENTS: usize = 64;

/// GROUPING where none may stand.
///
/// # Errors
/// 1111.
pub(super) fn refuse<'e>(all: impl IntoIterator<Item = &'e Expr>) -> Result<(), SqlError> {
    let asks = |e: &Expr| e.any(&|x| arguments(x).is_some());
    match all.into_iter().any(asks) {
        true => Err(SqlError::new(
            codes::ER_INVALID_GROUP_FUNC_USE,
            "Invalid use of group function",
        )),
        false => Ok(()),
    }
}

/// The arguments, where an expression is GROUPING.
fn arguments(e: &Expr) -> Option<&[Expr]> {
    match &e.node {
        Node::Call(c) if c.def.name == "grouping" => Some(&c.args),
        _ => None,
    }
}

/// Makes the expressions of the grouped rows read the grouping values of WITH ROLLUP; yields the arguments of each GROUPING, by the place
/// of the grouping value.
///
/// # Errors
/// 3602 for an argument of GROUPING that is not grouped by, 3601 for too many.
pub(super) fn roll<'e>(
    keys: &[Expr],
    grouped: impl IntoIterator<Item = &'e mut Expr>,
    aggregates: &[AggSpec],
) -> Result<Vec<Vec<u16>>, SqlError> {
    refuse(
        keys.iter()
            .chain(aggregates.iter().flat_map(AggSpec::inputs)),
    )?;
    let mut rolled = Rolled {
        keys,
        texts: keys.iter().map(written).collect(),
        known: Known::of(keys),
        groupings: Vec::new(),
    };
    for e in grouped {
        rolled.rewrite(e, true)?;
    }
    Ok(rolled.groupings)
}

struct Rolled<'k> {
    keys: &'k [Expr],
    texts: Vec<String>,
    known: Known,
    groupings: Vec<Vec<u16>>,
}

impl Rolled<'_> {
    /// The place of an expression among the grouping values.
    fn place(&self, e: &Expr) -> Option<usize> {
        if !self.known.has(e) {
            return None;
        }
        let text = written(e);
        self.texts.iter().position(|t| *t == text)
    }

    /// Rewrites an expression; whether it may be NULL now where it was not before.
    fn rewrite(&mut self, e: &mut Expr, whole: bool) -> Result<bool, SqlError> {
        if let Some(args) = arguments(e) {
            let places = self.places(args)?;
            let known = self.groupings.iter().position(|g| *g == places);
            let at = known.unwrap_or_else(|| {
                self.groupings.push(places);
                self.groupings.len() - 1
            });
            e.node = of_rollup(self.keys.len() + at, "".into());
            return Ok(false);
        }
        let meant = whole || !matches!(e.node, Node::Const(_));
        if let Some(at) = self.place(e).filter(|_| meant) {
            let name = match &e.node {
                Node::Column(c) => c.name.clone(),
                _ => "".into(),
            };
            e.node = of_rollup(at, name);
            e.ty.nullable = true;
            return Ok(true);
        }
        let mut may_be_null = false;
        let mut failed = None;
        e.each_child_mut(&mut |x| match self.rewrite(x, false) {
            Ok(null) => may_be_null |= null,
            Err(e) => failed = failed.take().or(Some(e)),
        });
        if let Some(e) = failed {
            return Err(e);
        }
        if may_be_null && passes_null(e) {
            e.ty.nullable = true;
            return Ok(true);
        }
        Ok(false)
    }

    fn places(&self, args: &[Expr]) -> Result<Vec<u16>, SqlError> {
        if args.len() > MOST_ARGUMENTS {
            return Err(SqlError::new(
                codes::ER_INVALID_NO_OF_ARGS,
                format!(
                    "Too many arguments for function GROUPING: {}; maximum allowed is {MOST_ARGUMENTS}.",
                    args.len()
                ),
            ));
        }
        let place = |(i, e): (usize, &Expr)| match self.place(e) {
            Some(at) => Ok(at as u16),
            None => Err(SqlError::new(
                codes::ER_FIELD_IN_GROUPING_NOT_GROUP_BY,
                format!(
                    "Argument #{} of GROUPING function is not in GROUP BY",
                    i + 1
                ),
            )),
        };
        args.iter().enumerate().map(place).collect()
    }
}

fn of_rollup(ordinal: usize, name: ColumnName) -> Node {
    Node::Column(Column {
        slot: ROLLUP_SLOT,
        ordinal: ordinal as u16,
        utc: false,
        name,
    })
}

/// Whether NULL in an expression's parts may make it NULL.
fn passes_null(e: &Expr) -> bool {
    match &e.node {
        Node::IsNull(..) | Node::IsTruth(..) => false,
        Node::Compare(op, ..) => *op != CmpOp::NullSafeEq,
        Node::Call(c) => match c.def.name {
            "isnull" => false,
            "ifnull" | "nvl" | "coalesce" => c.args.iter().all(|a| a.ty.nullable),
            _ => true,
        },
        _ => true,
    }
}
