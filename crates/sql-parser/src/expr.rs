//! Operators: precedence climbing over MySQL's expression levels.
//!
//! MySQL's grammar has the levels `expr` (OR, XOR, AND, NOT, IS TRUE), `bool_pri` (comparisons, IS NULL),
//! `predicate` (IN, BETWEEN, LIKE, REGEXP), `bit_expr` and `simple_expr`, and not every level can be an
//! operand of itself: `a IN (1) IN (2)` is an error. The `ceiling` that accompanies a left operand says
//! which operators may still follow it.

use super::ast::*;
use super::keyword::Kw;
use super::lexer::T;
use super::parser::{Parser, R};

/// Binding strengths, weakest first.
pub(crate) mod level {
    pub const OR: u8 = 1;
    pub const XOR: u8 = 2;
    pub const AND: u8 = 3;
    pub const NOT: u8 = 4;
    pub const COMPARE: u8 = 5;
    pub const PREDICATE: u8 = 6;
    pub const BIT_OR: u8 = 7;
    pub const BIT_AND: u8 = 8;
    pub const SHIFT: u8 = 9;
    pub const ADD: u8 = 10;
    pub const MUL: u8 = 11;
    pub const BIT_XOR: u8 = 12;
    pub const CONCAT: u8 = 13;
    pub const UNARY: u8 = 14;
    pub const COLLATE: u8 = 15;
    pub const TOP: u8 = 255;
}

/// An infix operator seen at the current token.
#[derive(Clone, Copy)]
enum Infix {
    Or,
    And,
    Xor,
    Compare(BinaryOp),
    Is,
    Predicate,
    Arith(BinaryOp, u8),
    Concat,
    Collate,
}

impl Infix {
    fn level(self) -> u8 {
        match self {
            Infix::Or => level::OR,
            Infix::Xor => level::XOR,
            Infix::And => level::AND,
            Infix::Compare(_) | Infix::Is => level::COMPARE,
            Infix::Predicate => level::PREDICATE,
            Infix::Arith(_, level) => level,
            Infix::Concat => level::CONCAT,
            Infix::Collate => level::COLLATE,
        }
    }
}

impl Parser<'_> {
    /// `expr`.
    pub fn expr(&mut self) -> R<Expr> {
        self.expr_at(level::OR)
    }

    /// `bit_expr`.
    pub fn bit_expr(&mut self) -> R<Expr> {
        self.expr_at(level::BIT_OR)
    }

    /// `simple_expr`.
    pub fn simple_expr(&mut self) -> R<Expr> {
        self.expr_at(level::CONCAT)
    }

    /// An expression of operators that bind at least as strongly as `min`.
    pub fn expr_at(&mut self, min: u8) -> R<Expr> {
        self.deeper(1, |p| {
            let outer = std::mem::take(&mut p.height);
            let (left, ceiling) = p.prefix(min)?;
            let whole = p.climb(left, min, ceiling)?;
            p.height = p.height.max(outer);
            Ok(whole)
        })
    }

    /// A list of expressions, at least one.
    pub fn expr_list(&mut self) -> R<Vec<Expr>> {
        self.list(Self::expr)
    }

    /// `expr | DEFAULT`.
    pub fn expr_or_default(&mut self) -> R<Expr> {
        if self.at(Kw::DEFAULT) && self.ahead(1).kind != T::LParen {
            self.bump();
            return Ok(Expr::Default);
        }
        // Most values of an insert are literals on their own: no operator can follow them.
        if matches!(self.tok.kind, T::Str | T::Int | T::Decimal | T::Param)
            && matches!(self.ahead(1).kind, T::Comma | T::RParen)
        {
            return self.primary();
        }
        self.expr()
    }

    fn prefix(&mut self, min: u8) -> R<(Expr, u8)> {
        if self.at(Kw::NOT) {
            if self.options.high_not_precedence {
                self.bump();
                let operand = self.expr_at(level::UNARY)?;
                return Ok((Expr::Unary(UnaryOp::Not, Box::new(operand)), level::TOP));
            }
            if min > level::NOT {
                return self.fail();
            }
            self.bump();
            let operand = self.expr_at(level::NOT)?;
            return Ok((Expr::Unary(UnaryOp::Not, Box::new(operand)), level::AND));
        }
        let op = match self.tok.kind {
            T::Minus => Some(UnaryOp::Neg),
            T::Tilde => Some(UnaryOp::BitNot),
            T::Bang => Some(UnaryOp::Not),
            T::Plus => {
                self.bump();
                return Ok((self.expr_at(level::UNARY)?, level::TOP));
            }
            T::Word if self.at(Kw::BINARY) => Some(UnaryOp::Binary),
            _ => None,
        };
        if let Some(op) = op {
            self.bump();
            let operand = self.expr_at(level::UNARY)?;
            return Ok((Expr::Unary(op, Box::new(operand)), level::TOP));
        }
        Ok((self.primary()?, level::TOP))
    }

    /// Takes the infix operators behind `left` that bind at least as strongly as `min`.
    pub fn climb(&mut self, mut left: Expr, min: u8, mut ceiling: u8) -> R<Expr> {
        let mut height = self.height + 1;
        while let Some(op) = self.infix() {
            let level = op.level();
            if level < min || level > ceiling {
                break;
            }
            self.height = 0;
            (left, ceiling) = self.infix_tail(left, op)?;
            height = height.max(self.height) + 1;
            if height > self.limits.height {
                return self.too_deep();
            }
        }
        self.height = height;
        Ok(left)
    }

    /// The infix operator at the current token.
    fn infix(&mut self) -> Option<Infix> {
        use BinaryOp as B;
        Some(match self.tok.kind {
            T::Word => return self.infix_word(),
            T::Eq => Infix::Compare(B::Eq),
            T::NullEq => Infix::Compare(B::NullSafeEq),
            T::Ne => Infix::Compare(B::Ne),
            T::Lt => Infix::Compare(B::Lt),
            T::Le => Infix::Compare(B::Le),
            T::Gt => Infix::Compare(B::Gt),
            T::Ge => Infix::Compare(B::Ge),
            T::Plus => Infix::Arith(B::Add, level::ADD),
            T::Minus => Infix::Arith(B::Sub, level::ADD),
            T::Star => Infix::Arith(B::Mul, level::MUL),
            T::Slash => Infix::Arith(B::Div, level::MUL),
            T::Percent => Infix::Arith(B::Mod, level::MUL),
            T::Caret => Infix::Arith(B::BitXor, level::BIT_XOR),
            T::Pipe => Infix::Arith(B::BitOr, level::BIT_OR),
            T::Amp => Infix::Arith(B::BitAnd, level::BIT_AND),
            T::Shl => Infix::Arith(B::Shl, level::SHIFT),
            T::Shr => Infix::Arith(B::Shr, level::SHIFT),
            T::AmpAmp => Infix::And,
            T::PipePipe if self.options.pipes_as_concat => Infix::Concat,
            T::PipePipe => Infix::Or,
            _ => return None,
        })
    }

    fn infix_word(&mut self) -> Option<Infix> {
        Some(match self.kw() {
            Kw::NONE => return None,
            Kw::OR => Infix::Or,
            Kw::AND => Infix::And,
            Kw::XOR => Infix::Xor,
            Kw::IS => Infix::Is,
            Kw::IN | Kw::LIKE | Kw::BETWEEN | Kw::REGEXP | Kw::RLIKE => Infix::Predicate,
            Kw::NOT
                if matches!(
                    self.ahead(1).kw,
                    Kw::IN | Kw::LIKE | Kw::BETWEEN | Kw::REGEXP | Kw::RLIKE
                ) =>
            {
                Infix::Predicate
            }
            Kw::SOUNDS if self.at_ahead(1, Kw::LIKE) => Infix::Predicate,
            Kw::MEMBER if self.at_ahead(1, Kw::OF) || self.ahead(1).kind == T::LParen => {
                Infix::Predicate
            }
            Kw::DIV => Infix::Arith(BinaryOp::IntDiv, level::MUL),
            Kw::MOD => Infix::Arith(BinaryOp::Mod, level::MUL),
            Kw::COLLATE => Infix::Collate,
            _ => return None,
        })
    }

    /// The right side of `op`; the result with the ceiling on what may follow.
    fn infix_tail(&mut self, left: Expr, op: Infix) -> R<(Expr, u8)> {
        if let Infix::Predicate = op {
            return Ok((self.predicate(left)?, level::COMPARE));
        }
        self.bump();
        let whole = match op {
            Infix::Or => {
                let mut parts = Vec::with_capacity(2);
                push_or(&mut parts, left);
                loop {
                    let right = self.expr_at(level::XOR)?;
                    push_or(&mut parts, right);
                    let pipes = self.is(T::PipePipe) && !self.options.pipes_as_concat;
                    if !pipes && !self.at(Kw::OR) {
                        break Expr::Or(parts);
                    }
                    self.bump();
                }
            }
            Infix::And => {
                let mut parts = Vec::with_capacity(2);
                push_and(&mut parts, left);
                loop {
                    let right = self.expr_at(level::NOT)?;
                    push_and(&mut parts, right);
                    if !self.is(T::AmpAmp) && !self.at(Kw::AND) {
                        break Expr::And(parts);
                    }
                    self.bump();
                }
            }
            Infix::Xor => {
                let right = self.expr_at(level::AND)?;
                Expr::Binary(BinaryOp::Xor, Box::new(left), Box::new(right))
            }
            Infix::Compare(op) => self.comparison(left, op)?,
            Infix::Is => return self.is_tail(left),
            Infix::Arith(op @ (BinaryOp::Add | BinaryOp::Sub), _) if self.at(Kw::INTERVAL) => {
                self.plus_interval(left, op)?
            }
            Infix::Arith(op, level) => {
                let right = self.expr_at(level + 1)?;
                Expr::Binary(op, Box::new(left), Box::new(right))
            }
            Infix::Concat => {
                let right = self.expr_at(level::UNARY)?;
                Expr::Call(Box::new(Call {
                    schema: None,
                    name: "concat".into(),
                    args: vec![left, right],
                    plain: false,
                }))
            }
            Infix::Collate => Expr::Collate(Box::new(left), self.charset_name()?),
            Infix::Predicate => left,
        };
        Ok((whole, op.level()))
    }

    fn comparison(&mut self, left: Expr, op: BinaryOp) -> R<Expr> {
        let quantifier = match self.kw() {
            Kw::ALL => Some(true),
            Kw::ANY | Kw::SOME
                if self.ahead(1).kind == T::LParen && self.ahead_query_in_parens(2) =>
            {
                Some(false)
            }
            _ => None,
        };
        let Some(all) = quantifier else {
            let right = self.expr_at(level::PREDICATE)?;
            return Ok(Expr::Binary(op, Box::new(left), Box::new(right)));
        };
        if op == BinaryOp::NullSafeEq {
            return self.fail();
        }
        self.bump();
        let query = self.subquery()?;
        Ok(Expr::Quantified(Box::new(Quantified {
            expr: left,
            op,
            all,
            query,
        })))
    }

    fn is_tail(&mut self, left: Expr) -> R<(Expr, u8)> {
        let negated = self.eat(Kw::NOT);
        let expr = Box::new(left);
        let value = match self.kw() {
            Kw::NULL => {
                self.bump();
                return Ok((Expr::IsNull { expr, negated }, level::COMPARE));
            }
            Kw::TRUE => Truth::True,
            Kw::FALSE => Truth::False,
            Kw::UNKNOWN => Truth::Unknown,
            _ => return self.fail(),
        };
        self.bump();
        let whole = Expr::IsTruth {
            expr,
            value,
            negated,
        };
        Ok((whole, level::AND))
    }

    fn plus_interval(&mut self, left: Expr, op: BinaryOp) -> R<Expr> {
        match self.interval()? {
            Interval::Unit(amount, unit) => Ok(Expr::DateArith(Box::new(DateArith {
                date: left,
                amount,
                unit,
                subtract: op == BinaryOp::Sub,
            }))),
            Interval::Function(call) => {
                let right = self.climb(call, level::MUL, level::TOP)?;
                Ok(Expr::Binary(op, Box::new(left), Box::new(right)))
            }
        }
    }

    /// `INTERVAL amount unit` or the function `INTERVAL(a, b, ..)`.
    pub fn interval(&mut self) -> R<Interval> {
        self.expect(Kw::INTERVAL)?;
        let amount = if self.take(T::LParen) {
            let first = self.deeper(1, Self::paren_body)?;
            if let Expr::Row(args) = first {
                return Ok(Interval::Function(Expr::Call(Box::new(Call {
                    schema: None,
                    name: "interval".into(),
                    args,
                    plain: false,
                }))));
            }
            self.climb(first, level::OR, level::TOP)?
        } else {
            self.expr()?
        };
        let unit = self.interval_unit()?;
        Ok(Interval::Unit(amount, unit))
    }

    /// `IN`, `LIKE`, `BETWEEN`, `REGEXP`, `SOUNDS LIKE`, `MEMBER OF` behind `expr`.
    fn predicate(&mut self, expr: Expr) -> R<Expr> {
        let negated = self.eat(Kw::NOT);
        match self.bump().kw {
            Kw::IN => self.in_tail(expr, negated),
            Kw::BETWEEN => {
                let low = self.bit_expr()?;
                self.expect(Kw::AND)?;
                let high = self.expr_at(level::PREDICATE)?;
                Ok(Expr::Between(Box::new(Between {
                    expr,
                    low,
                    high,
                    negated,
                })))
            }
            Kw::LIKE => {
                let pattern = self.simple_expr()?;
                let escape = if self.eat(Kw::ESCAPE) {
                    Some(self.simple_expr()?)
                } else {
                    None
                };
                Ok(Expr::Like(Box::new(Like {
                    expr,
                    pattern,
                    escape,
                    negated,
                })))
            }
            Kw::REGEXP | Kw::RLIKE => {
                let pattern = self.bit_expr()?;
                Ok(Expr::Regexp(Box::new(Regexp {
                    expr,
                    pattern,
                    negated,
                })))
            }
            Kw::SOUNDS => {
                self.expect(Kw::LIKE)?;
                let right = self.bit_expr()?;
                Ok(Expr::Binary(
                    BinaryOp::SoundsLike,
                    Box::new(expr),
                    Box::new(right),
                ))
            }
            _ => {
                self.eat(Kw::OF);
                let doc = self.parens(Self::simple_expr)?;
                Ok(Expr::MemberOf(Box::new(expr), Box::new(doc)))
            }
        }
    }

    fn in_tail(&mut self, expr: Expr, negated: bool) -> R<Expr> {
        if self.is(T::LParen) && self.at_query(1) {
            let query = self.subquery()?;
            return Ok(Expr::InSubquery(Box::new(InSubquery {
                expr,
                query,
                negated,
            })));
        }
        self.need(T::LParen)?;
        let mut list = Vec::with_capacity(4);
        let nested = self.is(T::LParen);
        loop {
            let member = self.expr()?;
            list.push(self.continue_subquery(member)?);
            if !self.take(T::Comma) {
                break;
            }
        }
        self.need(T::RParen)?;
        if nested && matches!(list[..], [Expr::Subquery(_)]) {
            // `IN ((SELECT ..))` is a subquery in two pairs of parentheses.
            if let Some(Expr::Subquery(query)) = list.pop() {
                return Ok(Expr::InSubquery(Box::new(InSubquery {
                    expr,
                    query: *query,
                    negated,
                })));
            }
        }
        Ok(Expr::InList(Box::new(InList {
            expr,
            list,
            negated,
        })))
    }
}

/// What `INTERVAL` began.
pub(crate) enum Interval {
    Unit(Expr, IntervalUnit),
    Function(Expr),
}

fn push_or(parts: &mut Vec<Expr>, part: Expr) {
    match part {
        Expr::Or(inner) => parts.extend(inner),
        other => parts.push(other),
    }
}

fn push_and(parts: &mut Vec<Expr>, part: Expr) {
    match part {
        Expr::And(inner) => parts.extend(inner),
        other => parts.push(other),
    }
}
