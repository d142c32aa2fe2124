//! The share of rows for which a condition holds, from the statistics of the tables that it reads, or by convention where they say
//! nothing. The conventions are System R's (Selinger et al., 1979, table 1), with MySQL's tenth for what equals an unknown value.
//!
//! Conditions are taken to be independent; what an index knows of several columns together is used where access is chosen.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use types::Value;

use crate::bind::places::Places;
use crate::optimize::statistics::Statistics;
use crate::plan::Beginning;
use crate::plan::estimates::{
    Asked, Estimate, MOST_ESTIMATES, beginning, behind, constant, reads_params,
};
use sql_expr::{CmpOp, EvalCtx, Expr, LikeNode, Members, Node, Val};

/// Equality of which nothing is known.
const EQUAL: f64 = 0.1;
/// One bound of which nothing is known.
const BOUND: f64 = 1.0 / 3.0;
/// Two bounds of which nothing is known.
const BETWEEN: f64 = 0.11;
/// LIKE of which nothing is known.
const LIKE: f64 = 0.11;
/// Any other condition.
const OTHER: f64 = 1.0 / 3.0;
/// IS NULL of which nothing is known.
const NULL: f64 = 0.02;

/// What estimates are made with, and where those are noted that follow from parameters.
#[derive(Clone, Copy)]
pub(crate) struct Estimator<'a> {
    /// The session, with the values of the parameters where they are known.
    pub cx: &'a EvalCtx<'a>,
    /// The notes.
    pub noted: &'a RefCell<Vec<Estimate>>,
}

impl Estimator<'_> {
    fn note(&self, t: &Statistics<'_>, column: u16, asked: Asked, share: f64) {
        let mut noted = self.noted.borrow_mut();
        if let Some(table) = t.stored()
            && noted.len() < MOST_ESTIMATES
        {
            noted.push(Estimate {
                table: Arc::clone(table),
                column,
                asked,
                share,
            });
        }
    }

    /// The share of groups for which a condition holds, by convention: what aggregates come to is in no statistics.
    pub fn of_groups(self, condition: &Expr) -> f64 {
        let places = Places::new(u16::MAX, std::iter::empty());
        let selectivity = Selectivity {
            estimator: self,
            tables: &[],
            places: &places,
        };
        selectivity.of(condition)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.noted.borrow().len()
    }

    /// Those behind so many decide nothing.
    pub fn forget(&self, behind: usize) {
        self.noted.borrow_mut().truncate(behind);
    }
}

/// Looks at conditions on the tables of a block.
pub(crate) struct Selectivity<'a> {
    pub estimator: Estimator<'a>,
    /// The tables by place.
    pub tables: &'a [Statistics<'a>],
    pub places: &'a Places,
}

impl Selectivity<'_> {
    /// The share of rows for which a condition holds.
    pub fn of(&self, e: &Expr) -> f64 {
        self.share(e).clamp(0.0, 1.0)
    }

    /// As [`of`](Self::of), where statistics say something: what is only a convention is `None`.
    pub fn known(&self, e: &Expr) -> Option<f64> {
        let share = match &e.node {
            Node::Compare(op, _, p) => match op {
                CmpOp::Eq | CmpOp::NullSafeEq => self.known_equal(&p[0], &p[1]),
                CmpOp::Ne => self.known_equal(&p[0], &p[1]).map(|s| 1.0 - s),
                op => self.known_bound(*op, &p[0], &p[1]),
            },
            Node::Between(p, _, negated) => {
                let s = self.range(&p[0], Some((&p[1], true)), Some((&p[2], true)))?;
                Some(if *negated { 1.0 - s } else { s })
            }
            Node::In(list) => {
                let s = match &list.members {
                    Members::Sorted(_, items, ty) => {
                        let mut all = items.iter().map(|v| {
                            let value = Expr::constant(v.clone(), *ty);
                            self.known_equal(&list.expr, &value)
                        });
                        all.try_fold(0.0, |sum, s| Some(sum + s?))?
                    }
                    Members::Each(members) => members.iter().try_fold(0.0, |sum, (_, m)| {
                        Some(sum + self.known_equal(&list.expr, m)?)
                    })?,
                };
                let s = s.min(0.95);
                Some(if list.negated { 1.0 - s } else { s })
            }
            Node::IsNull(x, negated) => {
                let s = self.column(x).and_then(|(t, c)| t.nulls(c))?;
                Some(if *negated { 1.0 - s } else { s })
            }
            Node::Like(l) => {
                let s = self.begins(l)?;
                Some(if l.negated { 1.0 - s } else { s })
            }
            _ => None,
        };
        share.map(|s| s.clamp(0.0, 1.0))
    }

    /// The shares of conditions, each of a nest, which are multiplied where they hold together: where one bounds a column from below and
    /// another from above, the second leaves of what the first has left what lies between. Most days lie before the end of a month and
    /// most behind its beginning.
    pub fn of_all(&self, conds: &[(u16, &Expr)]) -> Vec<f64> {
        let mut shares: Vec<f64> = conds.iter().map(|(_, e)| self.of(e)).collect();
        let mut ends: BTreeMap<_, [Option<(usize, Bound<'_>)>; 2]> = BTreeMap::new();
        for (i, (nest, e)) in conds.iter().enumerate() {
            if let Some(bound) = Bound::of(e) {
                let column = (*nest, bound.column);
                let end = &mut ends.entry(column).or_default()[usize::from(bound.above)];
                end.get_or_insert((i, bound));
            }
        }
        for ends in ends.into_values() {
            let [Some((i, low)), Some((j, high))] = ends else {
                continue;
            };
            let between = self.range(
                low.of,
                Some((low.value, low.inside)),
                Some((high.value, high.inside)),
            );
            let (first, second) = (i.min(j), i.max(j));
            if let (Some(between), true) = (between, shares[first] > 0.0) {
                shares[second] = (between / shares[first]).clamp(0.0, 1.0);
            }
        }
        shares
    }

    fn share(&self, e: &Expr) -> f64 {
        match &e.node {
            Node::And(parts) => parts.iter().map(|p| self.of(p)).product(),
            Node::Or(parts) => 1.0 - parts.iter().map(|p| 1.0 - self.of(p)).product::<f64>(),
            Node::Not(x) => 1.0 - self.of(x),
            Node::Compare(..)
            | Node::Between(..)
            | Node::In(_)
            | Node::IsNull(..)
            | Node::Like(_) => self.known(e).unwrap_or_else(|| convention(e)),
            Node::Const(v) => match v {
                Val::Null => 0.0,
                Val::Int(0) | Val::Uint(0) => 0.0,
                _ => 1.0,
            },
            Node::Quantified(_) | Node::Exists(_) => 0.5,
            _ => OTHER,
        }
    }

    fn known_bound(&self, op: CmpOp, a: &Expr, b: &Expr) -> Option<f64> {
        let inside = matches!(op, CmpOp::Le | CmpOp::Ge);
        match op {
            CmpOp::Lt | CmpOp::Le => self
                .range(a, None, Some((b, inside)))
                .or_else(|| self.range(b, Some((a, inside)), None)),
            _ => self
                .range(a, Some((b, inside)), None)
                .or_else(|| self.range(b, None, Some((a, inside)))),
        }
    }

    /// The share of rows whose text is like a pattern that begins with more than a wildcard.
    fn begins(&self, l: &LikeNode) -> Option<f64> {
        let (t, c) = self.column(&l.text)?;
        let share = self.begins_in(l, t, c);
        if l.given.is_none() && reads_params(&l.pattern) {
            let asked = Asked::Begins(Box::new(l.clone()));
            self.estimator.note(t, c, asked, self.part(l));
        }
        share
    }

    fn begins_in(&self, l: &LikeNode, t: &Statistics<'_>, c: u16) -> Option<f64> {
        let (text, exact) = beginning(l, self.estimator.cx)?;
        let value = |text| Value::Str(text, l.collation);
        if exact {
            return t.equal(c, &value(text));
        }
        if text.is_empty() {
            return None;
        }
        let (low, high) = (value(text.clone()), value(behind(text)));
        t.between(c, Some((&low, true)), Some((&high, true)))
    }

    /// The share of an index that begins as a pattern does: all of it where that begins with nothing that an index tells apart.
    pub fn part(&self, l: &LikeNode) -> f64 {
        let known = beginning(l, self.estimator.cx);
        let open = known.is_some_and(|(text, _)| !Beginning::is_range(&text));
        if open {
            return 1.0;
        }
        let column = self.column(&l.text);
        let share = column.and_then(|(t, c)| self.begins_in(l, t, c));
        share.unwrap_or(LIKE)
    }

    fn column(&self, e: &Expr) -> Option<(&Statistics<'_>, u16)> {
        let c = e.as_column()?;
        let t = self.tables.get(self.places.of(c.slot)?)?;
        Some((t, c.ordinal))
    }

    /// How many different values an expression has.
    fn distinct(&self, e: &Expr) -> Option<f64> {
        let (t, c) = self.column(e)?;
        t.distinct(c)
    }

    fn known_equal(&self, a: &Expr, b: &Expr) -> Option<f64> {
        for (x, y) in [(a, b), (b, a)] {
            let Some((t, c)) = self.column(x) else {
                continue;
            };
            if !y.reads_row() {
                let known = self.value(y, t, c).and_then(|v| t.equal(c, &v));
                let distinct = t.distinct(c);
                let share = known.or_else(|| distinct.map(|n| 1.0 / n.max(1.0)));
                // Of a key one row is found, whatever its value is.
                if distinct.is_some_and(|n| n < t.rows) && reads_params(y) {
                    let asked = Asked::Equal(y.clone());
                    self.estimator.note(t, c, asked, share.unwrap_or(EQUAL));
                }
                return share;
            }
        }
        let different = match (self.distinct(a), self.distinct(b)) {
            (Some(x), Some(y)) => x.max(y),
            (x, y) => x.or(y)?,
        };
        Some(1.0 / different.max(1.0))
    }

    fn range(
        &self,
        e: &Expr,
        low: Option<(&Expr, bool)>,
        high: Option<(&Expr, bool)>,
    ) -> Option<f64> {
        let (t, c) = self.column(e)?;
        let share = self.between(t, c, low, high);
        let follows = |b: Option<(&Expr, bool)>| b.is_some_and(|(e, _)| reads_params(e));
        if follows(low) || follows(high) {
            let own = |b: Option<(&Expr, bool)>| b.map(|(e, inside)| (e.clone(), inside));
            let guess = match (low, high) {
                (Some(_), Some(_)) => BETWEEN,
                _ => BOUND,
            };
            let asked = Asked::Within(own(low), own(high));
            self.estimator.note(t, c, asked, share.unwrap_or(guess));
        }
        share
    }

    fn between(
        &self,
        t: &Statistics<'_>,
        c: u16,
        low: Option<(&Expr, bool)>,
        high: Option<(&Expr, bool)>,
    ) -> Option<f64> {
        let mut values = [None, None];
        for (value, bound) in values.iter_mut().zip([low, high]) {
            if let Some((x, inside)) = bound {
                *value = Some((self.value(x, t, c)?, inside));
            }
        }
        let [low, high] = &values;
        t.between(
            c,
            low.as_ref().map(|(v, i)| (v, *i)),
            high.as_ref().map(|(v, i)| (v, *i)),
        )
    }

    /// A constant as a value of a column.
    fn value(&self, e: &Expr, t: &Statistics<'_>, column: u16) -> Option<Value> {
        constant(e, t.data_type(column)?, self.estimator.cx)
    }
}

/// A comparison of a column with what reads no row, which bounds it from one side.
struct Bound<'a> {
    of: &'a Expr,
    /// Its slot and place.
    column: (u16, u16),
    value: &'a Expr,
    above: bool,
    inside: bool,
}

impl<'a> Bound<'a> {
    fn of(e: &'a Expr) -> Option<Bound<'a>> {
        let Node::Compare(op, _, p) = &e.node else {
            return None;
        };
        let less = match op {
            CmpOp::Lt | CmpOp::Le => true,
            CmpOp::Gt | CmpOp::Ge => false,
            _ => return None,
        };
        let inside = matches!(op, CmpOp::Le | CmpOp::Ge);
        let sides = [(&p[0], &p[1], less), (&p[1], &p[0], !less)];
        sides.into_iter().find_map(|(of, value, above)| {
            let c = of.as_column().filter(|_| !value.reads_row())?;
            Some(Bound {
                of,
                column: (c.slot, c.ordinal),
                value,
                above,
                inside,
            })
        })
    }
}

/// The share that is taken where nothing is known.
fn convention(e: &Expr) -> f64 {
    let (share, negated) = match &e.node {
        Node::Compare(CmpOp::Eq | CmpOp::NullSafeEq, ..) => (EQUAL, false),
        Node::Compare(CmpOp::Ne, ..) => (EQUAL, true),
        Node::Compare(..) => (BOUND, false),
        Node::Between(_, _, negated) => (BETWEEN, *negated),
        Node::In(list) => {
            let n = match &list.members {
                Members::Sorted(_, items, _) => items.len(),
                Members::Each(members) => members.len(),
            };
            ((EQUAL * n as f64).min(0.5), list.negated)
        }
        Node::IsNull(_, negated) => (NULL, *negated),
        Node::Like(l) => (LIKE, l.negated),
        _ => (OTHER, false),
    };
    if negated { 1.0 - share } else { share }
}
