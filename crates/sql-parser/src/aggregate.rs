//! Aggregates and window functions.

use super::ast::*;
use super::keyword::Kw;
use super::lexer::T;
use super::parser::{Parser, R};

impl Parser<'_> {
    /// An aggregate behind its name.
    pub(super) fn aggregate(&mut self, func: AggregateFunc) -> R<Expr> {
        self.need(T::LParen)?;
        let mut distinct = false;
        if self.eat(Kw::DISTINCT) {
            distinct = true;
        } else {
            self.eat(Kw::ALL);
        }
        let mut node = Aggregate {
            func,
            distinct,
            args: Vec::new(),
            order_by: Vec::new(),
            separator: None,
            over: None,
        };
        match func {
            AggregateFunc::Count if !distinct && self.take(T::Star) => {}
            AggregateFunc::Count if distinct => node.args = self.expr_list()?,
            AggregateFunc::GroupConcat => {
                node.args = self.expr_list()?;
                node.order_by = self.order_by()?;
                if self.eat(Kw::SEPARATOR) {
                    node.separator = Some(self.string()?);
                }
            }
            AggregateFunc::JsonObjectAgg => {
                node.args.push(self.expr()?);
                self.need(T::Comma)?;
                node.args.push(self.expr()?);
            }
            _ => node.args.push(self.expr()?),
        }
        self.need(T::RParen)?;
        if self.at(Kw::OVER) {
            node.over = Some(self.over()?);
        }
        Ok(Expr::Aggregate(Box::new(node)))
    }

    /// A window function behind its name.
    pub(super) fn window_call(&mut self, func: WindowFunc) -> R<Expr> {
        let args = self.call_args()?;
        let arity = match func {
            WindowFunc::Ntile | WindowFunc::FirstValue | WindowFunc::LastValue => 1..=1,
            WindowFunc::Lag | WindowFunc::Lead => 1..=3,
            WindowFunc::NthValue => 2..=2,
            _ => 0..=0,
        };
        if !arity.contains(&args.len()) {
            return self.fail();
        }
        let mut from_last = false;
        if func == WindowFunc::NthValue && self.eat(Kw::FROM) {
            from_last = self.eat(Kw::LAST);
            if !from_last {
                self.expect(Kw::FIRST)?;
            }
        }
        let mut ignore_nulls = false;
        if self.at_any(&[Kw::RESPECT, Kw::IGNORE]) && self.at_ahead(1, Kw::NULLS) {
            ignore_nulls = self.bump().kw == Kw::IGNORE;
            self.bump();
        }
        let over = self.over()?;
        Ok(Expr::Window(Box::new(WindowCall {
            func,
            args,
            from_last,
            ignore_nulls,
            over,
        })))
    }
}

/// The aggregate a word names.
pub(super) fn aggregate(kw: Kw) -> Option<AggregateFunc> {
    use AggregateFunc as A;
    Some(match kw {
        Kw::COUNT => A::Count,
        Kw::SUM => A::Sum,
        Kw::AVG => A::Avg,
        Kw::MIN => A::Min,
        Kw::MAX => A::Max,
        Kw::BIT_AND => A::BitAnd,
        Kw::BIT_OR => A::BitOr,
        Kw::BIT_XOR => A::BitXor,
        Kw::STD | Kw::STDDEV | Kw::STDDEV_POP => A::StdPop,
        Kw::STDDEV_SAMP => A::StdSamp,
        Kw::VARIANCE | Kw::VAR_POP => A::VarPop,
        Kw::VAR_SAMP => A::VarSamp,
        Kw::GROUP_CONCAT => A::GroupConcat,
        Kw::JSON_ARRAYAGG => A::JsonArrayAgg,
        Kw::JSON_OBJECTAGG => A::JsonObjectAgg,
        Kw::ST_COLLECT => A::StCollect,
        _ => return None,
    })
}

/// The window function a word names.
pub(super) fn window(kw: Kw) -> Option<WindowFunc> {
    use WindowFunc as W;
    Some(match kw {
        Kw::ROW_NUMBER => W::RowNumber,
        Kw::RANK => W::Rank,
        Kw::DENSE_RANK => W::DenseRank,
        Kw::PERCENT_RANK => W::PercentRank,
        Kw::CUME_DIST => W::CumeDist,
        Kw::NTILE => W::Ntile,
        Kw::LAG => W::Lag,
        Kw::LEAD => W::Lead,
        Kw::FIRST_VALUE => W::FirstValue,
        Kw::LAST_VALUE => W::LastValue,
        Kw::NTH_VALUE => W::NthValue,
        _ => return None,
    })
}
