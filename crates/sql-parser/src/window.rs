//! `OVER`, window specifications and frames.

use super::ast::*;
use super::expr::Interval;
use super::keyword::Kw;
use super::lexer::T;
use super::parser::{Parser, R};

impl Parser<'_> {
    /// `OVER w` or `OVER (..)`.
    pub fn over(&mut self) -> R<Over> {
        self.expect(Kw::OVER)?;
        if self.is(T::LParen) {
            return Ok(Over::Spec(self.window_spec()?));
        }
        Ok(Over::Named(self.ident()?))
    }

    /// `([name] [PARTITION BY ..] [ORDER BY ..] [frame])`.
    pub fn window_spec(&mut self) -> R<WindowSpec> {
        self.need(T::LParen)?;
        let at_frame = self.at_any(&[Kw::ROWS, Kw::RANGE, Kw::GROUPS]);
        let base = if !at_frame && self.is_ident(self.tok) {
            Some(self.ident()?)
        } else {
            None
        };
        let partition_by = if self.eat(Kw::PARTITION) {
            self.expect(Kw::BY)?;
            self.expr_list()?
        } else {
            Vec::new()
        };
        let order_by = self.order_by()?;
        let frame = self.frame()?;
        self.need(T::RParen)?;
        Ok(WindowSpec {
            base,
            partition_by,
            order_by,
            frame,
        })
    }

    fn frame(&mut self) -> R<Option<Box<Frame>>> {
        let unit = match self.kw() {
            Kw::ROWS => FrameUnit::Rows,
            Kw::RANGE => FrameUnit::Range,
            Kw::GROUPS => FrameUnit::Groups,
            _ => return Ok(None),
        };
        self.bump();
        let (start, end) = if self.eat(Kw::BETWEEN) {
            let start = self.frame_bound()?;
            self.expect(Kw::AND)?;
            (start, Some(self.frame_bound()?))
        } else {
            (self.frame_bound()?, None)
        };
        let mut exclude = None;
        if self.eat(Kw::EXCLUDE) {
            exclude = Some(if self.eat2(Kw::CURRENT, Kw::ROW) {
                FrameExclude::CurrentRow
            } else if self.eat(Kw::GROUP) {
                FrameExclude::Group
            } else if self.eat(Kw::TIES) {
                FrameExclude::Ties
            } else {
                self.expect_all(&[Kw::NO, Kw::OTHERS])?;
                FrameExclude::NoOthers
            });
        }
        Ok(Some(Box::new(Frame {
            unit,
            start,
            end,
            exclude,
        })))
    }

    fn frame_bound(&mut self) -> R<FrameBound> {
        if self.eat(Kw::UNBOUNDED) {
            if self.eat(Kw::PRECEDING) {
                return Ok(FrameBound::UnboundedPreceding);
            }
            self.expect(Kw::FOLLOWING)?;
            return Ok(FrameBound::UnboundedFollowing);
        }
        if self.eat2(Kw::CURRENT, Kw::ROW) {
            return Ok(FrameBound::CurrentRow);
        }
        let (amount, unit) = if self.at(Kw::INTERVAL) {
            match self.interval()? {
                Interval::Unit(amount, unit) => (amount, Some(unit)),
                Interval::Function(_) => return self.fail(),
            }
        } else {
            match self.tok.kind {
                T::Int | T::Decimal | T::Float | T::Param => (self.primary()?, None),
                _ => return self.fail(),
            }
        };
        if self.eat(Kw::PRECEDING) {
            return Ok(FrameBound::Preceding(amount, unit));
        }
        self.expect(Kw::FOLLOWING)?;
        Ok(FrameBound::Following(amount, unit))
    }
}
