//! Comparisons: constants are brought to the type of the column they are compared with, texts to one character set,
//! and the way to compare is chosen.

use types::SqlError;

use super::Binder;
use super::operators::{any_json, any_null, same_width, width};
use crate::arms::adopt;
use crate::cast;
use crate::compare::Comparer;
use crate::conv;
use crate::date_text;
use crate::func::Digits;
use crate::node::{CmpOp, Expr, Node};
use crate::ty::{ExprType, IntKind, Shape};
use crate::unify;
use crate::val::{Num, Val};
use sql_parser::ast;

impl Binder<'_> {
    /// `a op b`.
    pub(super) fn comparison(&self, op: CmpOp, mut a: Expr, mut b: Expr) -> Result<Expr, SqlError> {
        let comparer = self.pair(&mut a, &mut b, op.symbol())?;
        let nullable = op != CmpOp::NullSafeEq && (a.ty.nullable || b.ty.nullable);
        Ok(Expr {
            node: Node::Compare(op, comparer, Box::new([a, b])),
            ty: ExprType::truth(nullable),
        })
    }

    /// How two operands (values or rows) of an operator are compared; they are brought to where that works.
    pub(super) fn pair(&self, a: &mut Expr, b: &mut Expr, op: &str) -> Result<Comparer, SqlError> {
        if width(a) == 1 && width(b) == 1 {
            let exact = self.exact_pair(a, b, op)?;
            if exact == Comparer::Double {
                fit_digits(a, b);
                fit_digits(b, a);
                return Comparer::of_operator(a, b, self.connection(), op);
            }
            return Ok(exact);
        }
        same_width(a, b)?;
        self.row_pair(a, b, op, Self::pair)
    }

    /// As [`pair`](Self::pair) for a member of a list: what is left of the digits of FLOAT(M,D) counts too.
    pub(super) fn exact_pair(
        &self,
        a: &mut Expr,
        b: &mut Expr,
        op: &str,
    ) -> Result<Comparer, SqlError> {
        if width(a) != 1 || width(b) != 1 {
            same_width(a, b)?;
            return self.row_pair(a, b, op, Self::exact_pair);
        }
        if any_json([&a.ty, &b.ty]) {
            return Comparer::choose(&a.ty, &b.ty, self.connection(), op);
        }
        if a.ty.is_number() {
            b.make_number();
        } else if b.ty.is_number() {
            a.make_number();
        }
        let (ta, tb) = (a.ty, b.ty);
        adopt(a, &tb);
        adopt(b, &ta);
        self.fit_constant(b, a)?;
        self.fit_constant(a, b)?;
        if a.ty.is_text() && b.ty.is_text() {
            let c = unify::unify(&mut [a, b], self.connection(), true, op)?;
            return Ok(Comparer::Text(c.collation));
        }
        Comparer::choose(&a.ty, &b.ty, self.connection(), op)
    }

    fn row_pair(
        &self,
        a: &mut Expr,
        b: &mut Expr,
        op: &str,
        pair: fn(&Self, &mut Expr, &mut Expr, &str) -> Result<Comparer, SqlError>,
    ) -> Result<Comparer, SqlError> {
        match (&mut a.node, &mut b.node) {
            (Node::Row(x), Node::Row(y)) => {
                let parts = x
                    .iter_mut()
                    .zip(y.iter_mut())
                    .map(|(x, y)| pair(self, x, y, op))
                    .collect::<Result<Vec<_>, _>>()?;
                // rows in rows are compared as one long row
                let flat = parts.into_iter().flat_map(|c| match c {
                    Comparer::Row(inner) => inner,
                    c => vec![c],
                });
                Ok(Comparer::Row(flat.collect()))
            }
            // a row subquery
            _ => {
                let (x, y) = (self.part_types(a), self.part_types(b));
                let parts = x
                    .iter()
                    .zip(&y)
                    .map(|(x, y)| {
                        let how = Comparer::choose(x, y, self.connection(), op)?;
                        Ok(how.by_digits(x, y))
                    })
                    .collect::<Result<Vec<_>, SqlError>>()?;
                Ok(Comparer::Row(parts))
            }
        }
    }

    /// `x [NOT] BETWEEN low AND high`: the three are compared in one way, which the types of all of them decide.
    pub(super) fn between(&mut self, b: &ast::Between) -> Result<Expr, SqlError> {
        let mut x = self.bind(&b.expr)?;
        let mut low = self.bind(&b.low)?;
        let mut high = self.bind(&b.high)?;
        if x.ty.is_number() {
            low.make_number();
            high.make_number();
        } else if low.ty.is_number() && high.ty.is_number() {
            x.make_number();
        }
        adopt(&mut x, &low.ty);
        for bound in [&mut low, &mut high] {
            adopt(bound, &x.ty);
            if !(x.ty.has_date() && bound.ty.is_text()) {
                self.fit_constant(&x, bound)?;
            }
        }
        let comparers = self.between_comparers(&mut x, &mut low, &mut high)?;
        let parts = [x, low, high];
        let ty = ExprType::truth(any_null(&parts));
        Ok(Expr {
            node: Node::Between(Box::new(parts), Box::new(comparers), b.negated),
            ty,
        })
    }

    /// How `x` is compared with `low` and with `high`.
    fn between_comparers(
        &self,
        x: &mut Expr,
        low: &mut Expr,
        high: &mut Expr,
    ) -> Result<[Comparer; 2], SqlError> {
        let op = "between";
        let types = [x.ty, low.ty, high.ty];
        if any_json(types.iter()) {
            return Ok([
                Comparer::choose(&x.ty, &low.ty, self.connection(), op)?,
                Comparer::choose(&x.ty, &high.ty, self.connection(), op)?,
            ]);
        }
        let words = |t: &ExprType| t.is_text() || t.is_temporal() || t.shape == Shape::Null;
        let times = |t: &ExprType| matches!(t.shape, Shape::Time(_) | Shape::Null);
        if types.iter().all(words) && types.iter().any(ExprType::has_date) {
            return Ok([Comparer::DateTime, Comparer::DateTime]);
        }
        if types.iter().all(words) && !types.iter().all(times) {
            let c = unify::unify(&mut [x, low, high], self.connection(), true, op)?.collation;
            return Ok([Comparer::Text(c), Comparer::Text(c)]);
        }
        let mut comparers = [
            Comparer::choose(&x.ty, &low.ty, self.connection(), op)?,
            Comparer::choose(&x.ty, &high.ty, self.connection(), op)?,
        ];
        // a number among the three makes the comparison one of numbers
        if comparers.contains(&Comparer::Double) {
            for e in [x, low, high] {
                if e.ty.is_text() {
                    e.make_number();
                }
            }
            for c in &mut comparers {
                if matches!(c, Comparer::Text(_)) {
                    *c = Comparer::Double;
                }
            }
        }
        Ok(comparers)
    }

    /// The types of the members of a row, of the columns of a row subquery, of the one value.
    pub(super) fn part_types(&self, e: &Expr) -> Vec<ExprType> {
        match &e.node {
            Node::Row(members) => members.iter().map(|m| m.ty).collect(),
            Node::Subquery(i) if width(e) != 1 => {
                let known = self.rows.iter().find(|(index, _)| index == i);
                known.map_or_else(
                    || vec![ExprType::null(); width(e)],
                    |(_, types)| types.clone(),
                )
            }
            _ => vec![e.ty],
        }
    }

    /// Brings a constant to the type of what it is compared with, where that changes nothing of the result:
    /// text beside a date becomes a date, text or a decimal beside a whole number becomes one where it is exact.
    ///
    /// # Errors
    /// 1525 for text that is no date beside one.
    pub(super) fn fit_constant(&self, other: &Expr, constant: &mut Expr) -> Result<(), SqlError> {
        let Some(v) = constant.as_const() else {
            return Ok(());
        };
        let (value, ty) = match (other.ty.shape, v) {
            (_, Val::Null) => return Ok(()),
            (Shape::Date | Shape::DateTime(_) | Shape::Timestamp(_), Val::Bytes(b)) => {
                let date_only = other.ty.shape == Shape::Date;
                let v = cast::temporal_constant(b, date_only, self.cx)?;
                let shape = match &v {
                    Val::Date(_) => Shape::Date,
                    Val::DateTime(d) => Shape::DateTime(d.fsp()),
                    _ => return Ok(()),
                };
                (v, ExprType::plain(shape, false))
            }
            // Beside other dates than those of a column, a number is a number.
            (Shape::Date | Shape::DateTime(_) | Shape::Timestamp(_), Val::Int(i))
                if other.as_column().is_some() =>
            {
                match self
                    .cx
                    .quietly(|| date_text::number_to_datetime(Num::Int(*i), self.cx))
                {
                    Some(Some(d)) => (Val::DateTime(d), ExprType::plain(Shape::DateTime(0), false)),
                    _ => return Ok(()),
                }
            }
            // Beside other times than those of a column, text is text.
            (Shape::Time(_), Val::Bytes(b)) if other.as_column().is_some() => {
                match self.cx.quietly(|| date_text::parse_time(b, self.cx)) {
                    Some(Some(t)) => (Val::Time(t), ExprType::plain(Shape::Time(t.fsp()), false)),
                    _ => return Ok(()),
                }
            }
            (Shape::Year, v) => match year(v) {
                Some(y) => (Val::Int(y), ExprType::int(4, false)),
                None => return Ok(()),
            },
            (Shape::Int { .. } | Shape::Bit(_), v) => match whole(v) {
                Some(v) => {
                    let unsigned = matches!(v, Val::Uint(_));
                    let shape = Shape::Int {
                        kind: IntKind::Big,
                        unsigned,
                        digits: 20,
                    };
                    (v, ExprType::plain(shape, false))
                }
                None => return Ok(()),
            },
            _ => return Ok(()),
        };
        *constant = Expr::constant(value, ty);
        Ok(())
    }
}

/// Brings what is the same for every row to what a column of FLOAT(M,D) or DOUBLE(M,D) beside it stores for it.
fn fit_digits(column: &Expr, other: &mut Expr) {
    if let Some(digits) = Digits::of_column(column)
        && other.is_row_constant()
    {
        digits.bring(other);
    }
}

/// Two digits beside a year are a year.
fn year(v: &Val<'_>) -> Option<i64> {
    let n = match v {
        Val::Int(i) => *i,
        Val::Bytes(b) => {
            let (d, clean) = conv::parse_double(b);
            if !clean || d.fract() != 0.0 {
                return None;
            }
            d as i64
        }
        _ => return None,
    };
    match n {
        1..=69 => Some(2000 + n),
        70..=99 => Some(1900 + n),
        0 if matches!(v, Val::Bytes(b) if b.len() < 4) => Some(2000),
        n => Some(n),
    }
}

/// A constant that is a whole number exactly.
fn whole(v: &Val<'_>) -> Option<Val<'static>> {
    let n = match v {
        Val::Bytes(b) => {
            let p = types::Decimal::parse(b);
            if p.used == 0 || p.overflow || !b[p.used..].iter().all(u8::is_ascii_whitespace) {
                return None;
            }
            cast::exact_int(Num::Decimal(p.value))?
        }
        Val::Decimal(d) => cast::exact_int(Num::Decimal(*d))?,
        _ => return None,
    };
    Some(match i64::try_from(n.wide()) {
        Ok(i) => Val::Int(i),
        Err(_) => Val::Uint(n.bits()),
    })
}
