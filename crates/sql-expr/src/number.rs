//! Values where a number is asked for. A hexadecimal or bit literal is one there, and so is what IF, CASE, NULLIF and ELT choose: their
//! result is text as soon as one of the arms is, but a number is asked of the arm itself, as MySQL does. COALESCE and IFNULL make the text
//! first. What is computed of times that were given as text or numbers is text too, and the number of its time where one is asked for.

use types::SqlError;
use types::temporal::{DateTime, Time};

use super::compare::Comparer;
use super::conv;
use super::ctx::{EvalCtx, RowSource};
use super::eval;
use super::json;
use super::node::{Call, Expr, Node};
use super::ty::{ExprType, Shape};
use super::val::{Int, Val, literal_bits};

/// What a function that chooses among its arguments chose.
enum Chosen<'e> {
    Nothing,
    Arm(&'e Expr),
}

/// The arms of a call whose value is one of them, untouched.
fn arms(c: &Call) -> &[Expr] {
    match (c.def.name, c.args.as_slice()) {
        ("if" | "elt", [_, arms @ ..]) => arms,
        ("nullif", [first, ..]) => std::slice::from_ref(first),
        _ => &[],
    }
}

/// What a call chooses for a row; `None` for a function that chooses nothing.
fn choice<'e>(
    c: &'e Call,
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
) -> Result<Option<Chosen<'e>>, SqlError> {
    match (c.def.name, c.args.as_slice()) {
        ("if", [condition, yes, no]) => {
            cx.tick(1)?;
            let arm = match condition.truth(cx, row)? {
                Some(true) => yes,
                _ => no,
            };
            Ok(Some(Chosen::Arm(arm)))
        }
        ("elt", [which, arms @ ..]) => {
            cx.tick(1)?;
            let n = conv::to_int(&which.eval_number(cx, row)?, cx).map(Int::saturating_i64);
            let at = n.and_then(|n| usize::try_from(n).ok()?.checked_sub(1));
            let arm = at.and_then(|at| arms.get(at));
            Ok(Some(arm.map_or(Chosen::Nothing, Chosen::Arm)))
        }
        ("nullif", [x, y]) => {
            cx.tick(1)?;
            let how = Comparer::choose(&x.ty, &y.ty, cx.collation, "nullif")?;
            let how = how.by_digits(&x.ty, &y.ty);
            let (a, b) = how.pair(x, y, cx, row)?;
            let same = how.equal(&a, &x.ty, &b, &y.ty, cx) == Some(true);
            Ok(Some(if same {
                Chosen::Nothing
            } else {
                Chosen::Arm(x)
            }))
        }
        _ => Ok(None),
    }
}

impl Comparer {
    /// The values of two expressions as it compares them: as numbers, the text of a time is the number of that.
    ///
    /// # Errors
    /// As [`Expr::eval`].
    pub(super) fn pair<'a>(
        &self,
        x: &'a Expr,
        y: &'a Expr,
        cx: &'a EvalCtx<'_>,
        row: &'a dyn RowSource,
    ) -> Result<(Val<'a>, Val<'a>), SqlError> {
        let numbers = matches!(
            self,
            Comparer::Int | Comparer::Exact | Comparer::Double | Comparer::Digits(_)
        );
        let value = |e: &'a Expr| match numbers && e.is_clock() {
            true => e.eval_moment(cx, row),
            false => e.eval(cx, row),
        };
        Ok((value(x)?, value(y)?))
    }
}

impl Expr {
    /// Whether it is text that may be another number than the text says, where one is asked for.
    pub(super) fn hands_on_number(&self) -> bool {
        if !matches!(self.ty.shape, Shape::Str { .. }) {
            return false;
        }
        match &self.node {
            _ if self.is_clock() => true,
            Node::Call(c) => arms(c).iter().any(Expr::is_number_arm),
            Node::Case(c) => {
                let thens = c.arms.iter().map(|(_, _, then)| then);
                thens.chain(&c.otherwise).any(Expr::is_number_arm)
            }
            _ => false,
        }
    }

    /// Whether it is text that was a date or a time until it was written.
    pub(super) fn is_clock(&self) -> bool {
        matches!(self.ty.shape, Shape::Str { .. })
            && match &self.node {
                Node::DateArith(..) => true,
                Node::Call(c) => matches!(c.def.name, "addtime" | "subtime"),
                Node::Known(e, _) => e.is_clock(),
                _ => false,
            }
    }

    /// The value for a row where a date or a time is asked for.
    ///
    /// # Errors
    /// As [`eval`](Self::eval).
    pub(super) fn eval_moment<'a>(
        &'a self,
        cx: &'a EvalCtx<'_>,
        row: &'a dyn RowSource,
    ) -> Result<Val<'a>, SqlError> {
        let v = self.eval(cx, row)?;
        Ok(if self.is_clock() { unwritten(v) } else { v })
    }

    /// Whether an arm has a number of its own.
    fn is_number_arm(&self) -> bool {
        match &self.node {
            Node::Const(_) => self.ty.bits || self.ty.is_temporal(),
            Node::Transcode(x, ..) => !matches!(x.ty.shape, Shape::Str { .. }),
            Node::Coerce(_) => true,
            _ => !matches!(self.ty.shape, Shape::Str { .. }) || self.hands_on_number(),
        }
    }

    /// The value for a row where a number is asked for.
    ///
    /// # Errors
    /// As [`eval`](Self::eval).
    pub(super) fn eval_number<'a>(
        &'a self,
        cx: &'a EvalCtx<'_>,
        row: &'a dyn RowSource,
    ) -> Result<Val<'a>, SqlError> {
        if matches!(self.ty.shape, Shape::Str { .. }) {
            let chosen = match &self.node {
                Node::Call(c) => choice(c, cx, row)?,
                Node::Case(c) => Some(match eval::chosen(c, cx, row)? {
                    Some(arm) => Chosen::Arm(arm),
                    None => Chosen::Nothing,
                }),
                _ => None,
            };
            match chosen {
                Some(Chosen::Nothing) => return Ok(Val::Null),
                Some(Chosen::Arm(arm)) => return arm.eval_arm(cx, row),
                None => {}
            }
        }
        if self.is_clock() {
            return self.eval_moment(cx, row);
        }
        if self.ty.shape == Shape::Json {
            let v = self.eval(cx, row)?;
            return Ok(json::outside(v, "DOUBLE", self.short_name(), cx).unwrap_or(Val::Int(0)));
        }
        Ok(conv::numeric(self.eval(cx, row)?, &self.ty))
    }

    /// How warnings about its value name it: a column or a function.
    pub(super) fn short_name(&self) -> &str {
        match &self.node {
            Node::Column(c) => c.name.parts().last().unwrap_or(""),
            Node::Call(c) => c.def.name,
            Node::Cast(_, to) => to.name(),
            _ => "",
        }
    }

    /// The number of an arm, before it was made text.
    fn eval_arm<'a>(
        &'a self,
        cx: &'a EvalCtx<'_>,
        row: &'a dyn RowSource,
    ) -> Result<Val<'a>, SqlError> {
        match &self.node {
            Node::Coerce(x) | Node::Transcode(x, ..) => x.eval_arm(cx, row),
            _ => self.eval_number(cx, row),
        }
    }

    /// Where a number is asked for, a hexadecimal or bit literal is one; anything else stays as it is.
    pub(crate) fn into_literal_number(self) -> Expr {
        match self.as_const().and_then(|v| literal_bits(v, &self.ty)) {
            Some(n) => Expr::constant(Val::Uint(n), ExprType::uint(21, false)),
            None => self,
        }
    }

    /// As [`into_literal_number`](Self::into_literal_number), in its place.
    pub(crate) fn make_literal_number(&mut self) {
        if self.ty.bits {
            *self = std::mem::replace(self, Expr::null()).into_literal_number();
        }
    }

    /// As [`into_literal_number`](Self::into_literal_number); what hands on numbers is a double.
    pub(crate) fn into_number(self) -> Expr {
        if !self.hands_on_number() {
            return self.into_literal_number();
        }
        let ty = ExprType::double(self.ty.nullable);
        Expr {
            node: Node::Coerce(Box::new(self)),
            ty,
        }
    }

    /// Text as the double that it is where a number is asked for; a literal of bits and everything else stays.
    #[must_use]
    pub(crate) fn into_double(self) -> Expr {
        if !matches!(self.ty.shape, Shape::Str { .. } | Shape::Json) || self.ty.bits {
            return self;
        }
        let ty = ExprType::double(self.ty.nullable);
        Expr {
            node: Node::Coerce(Box::new(self)),
            ty,
        }
    }

    /// As [`into_number`](Self::into_number), in its place.
    pub(crate) fn make_number(&mut self) {
        if self.ty.bits || self.hands_on_number() {
            *self = std::mem::replace(self, Expr::null()).into_number();
        }
    }
}

/// The date or time that was written as this text.
fn unwritten(v: Val<'_>) -> Val<'_> {
    /// The length of a date alone.
    const DATE: usize = 10;
    let Val::Bytes(text) = &v else { return v };
    // A time has its only sign in front.
    let dated = text.iter().skip(1).any(|b| *b == b'-');
    let read = match dated {
        true => DateTime::parse(text).map(|p| match text.len() {
            DATE => Val::Date(p.value.date()),
            _ => Val::DateTime(p.value),
        }),
        false => Time::parse(text).map(|p| Val::Time(p.value)),
    };
    read.unwrap_or(v)
}
