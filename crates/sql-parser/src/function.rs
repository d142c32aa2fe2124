//! Calls: ordinary functions, and those with a grammar of their own.

use super::aggregate::{aggregate, window};
use super::ast::*;
use super::expr::{Interval, level};
use super::keyword::{self, Kw};
use super::lexer::{T, Token};
use super::parser::{Parser, R};

impl Parser<'_> {
    /// `name(args)`; the current token is the parenthesis.
    pub fn generic_call(&mut self, schema: Option<Name>, name: Name) -> R<Expr> {
        let args = self.call_args()?;
        let plain = schema.is_none() && has_own_grammar(keyword::lookup(name.as_bytes()));
        Ok(Expr::Call(Box::new(Call {
            schema,
            name,
            args,
            plain,
        })))
    }

    /// `(a, b, ..)` or `()`.
    pub fn call_args(&mut self) -> R<Vec<Expr>> {
        self.need(T::LParen)?;
        if self.take(T::RParen) {
            return Ok(Vec::new());
        }
        let args = self.expr_list()?;
        self.need(T::RParen)?;
        Ok(args)
    }

    /// A call of the keyword at the current token, if it is one; `next` is the token behind it.
    pub fn keyword_call(&mut self, kw: Kw, next: Token) -> R<Option<Expr>> {
        if let Some(name) = niladic(kw) {
            let optional = kw.is_reserved();
            if optional || self.call_follows(self.tok, next) {
                self.bump();
                return self.moment(name).map(Some);
            }
            return Ok(None);
        }
        if next.kind != T::LParen {
            return Ok(None);
        }
        let joined = self.call_follows(self.tok, next);
        if let Some(func) = aggregate(kw) {
            if !joined && kw != Kw::AVG {
                return Ok(None);
            }
            self.bump();
            return self.aggregate(func).map(Some);
        }
        if let Some(func) = window(kw) {
            self.bump();
            return self.window_call(func).map(Some);
        }
        if kw.is_reserved() {
            return self.reserved_call(kw);
        }
        if joined || !needs_joined_parenthesis(kw) {
            return special(kw).map(|rule| rule(self)).transpose();
        }
        Ok(None)
    }

    /// The parentheses that may follow `CURRENT_TIMESTAMP` and its like.
    fn moment(&mut self, name: &str) -> R<Expr> {
        let mut args = Vec::new();
        if self.take(T::LParen) {
            if self.is(T::Int) {
                args.push(self.primary()?);
            }
            self.need(T::RParen)?;
        }
        Ok(call(name, args))
    }

    /// Functions whose names are reserved words.
    fn reserved_call(&mut self, kw: Kw) -> R<Option<Expr>> {
        let name = match kw {
            Kw::IF
            | Kw::LEFT
            | Kw::RIGHT
            | Kw::INSERT
            | Kw::REPLACE
            | Kw::REPEAT
            | Kw::GROUPING => {
                let token = self.bump();
                self.name_of(token)?
            }
            Kw::DATABASE | Kw::SCHEMA => {
                self.bump();
                "database".into()
            }
            Kw::MOD => {
                self.bump();
                self.need(T::LParen)?;
                let left = self.expr()?;
                self.need(T::Comma)?;
                let right = self.expr()?;
                self.need(T::RParen)?;
                return Ok(Some(Expr::Binary(
                    BinaryOp::Mod,
                    Box::new(left),
                    Box::new(right),
                )));
            }
            Kw::CHAR => return self.char_call().map(Some),
            Kw::CONVERT => return self.convert_call().map(Some),
            Kw::DEFAULT => {
                self.bump();
                let column = self.parens(Self::column_ref)?;
                return Ok(Some(Expr::DefaultOf(column)));
            }
            Kw::VALUES => {
                self.bump();
                let column = self.parens(Self::column_ref)?;
                return Ok(Some(Expr::Values(column)));
            }
            Kw::MATCH => return self.match_call().map(Some),
            _ => return Ok(None),
        };
        let args = self.call_args()?;
        Ok(Some(call(&name, args)))
    }

    fn extract_call(&mut self) -> R<Expr> {
        self.bump();
        self.need(T::LParen)?;
        let unit = self.interval_unit()?;
        self.expect(Kw::FROM)?;
        let expr = self.expr()?;
        self.need(T::RParen)?;
        Ok(Expr::Extract(unit, Box::new(expr)))
    }

    fn trim_call(&mut self) -> R<Expr> {
        self.bump();
        self.need(T::LParen)?;
        let side = match self.kw() {
            Kw::BOTH => Some(TrimSide::Both),
            Kw::LEADING => Some(TrimSide::Leading),
            Kw::TRAILING => Some(TrimSide::Trailing),
            _ => None,
        };
        let mut what = None;
        let expr = if side.is_some() {
            self.bump();
            if !self.at(Kw::FROM) {
                what = Some(self.expr()?);
            }
            self.expect(Kw::FROM)?;
            self.expr()?
        } else {
            let first = self.expr()?;
            if self.eat(Kw::FROM) {
                what = Some(first);
                self.expr()?
            } else {
                first
            }
        };
        self.need(T::RParen)?;
        Ok(Expr::Trim(Box::new(Trim {
            side: side.unwrap_or(TrimSide::Both),
            what,
            expr,
        })))
    }

    fn substring_call(&mut self) -> R<Expr> {
        self.bump();
        self.need(T::LParen)?;
        let mut args = vec![self.expr()?];
        let separator_word = if self.eat(Kw::FROM) {
            true
        } else {
            self.need(T::Comma)?;
            false
        };
        args.push(self.expr()?);
        if separator_word {
            if self.eat(Kw::FOR) {
                args.push(self.expr()?);
            }
        } else if self.take(T::Comma) {
            args.push(self.expr()?);
        }
        self.need(T::RParen)?;
        Ok(call("substring", args))
    }

    fn position_call(&mut self) -> R<Expr> {
        self.bump();
        self.need(T::LParen)?;
        let needle = self.bit_expr()?;
        self.expect(Kw::IN)?;
        let hay = self.expr()?;
        self.need(T::RParen)?;
        Ok(call("locate", vec![needle, hay]))
    }

    fn date_add_call(&mut self) -> R<Expr> {
        let kw = self.bump().kw;
        self.need(T::LParen)?;
        let date = self.expr()?;
        self.need(T::Comma)?;
        let plain_days = matches!(kw, Kw::ADDDATE | Kw::SUBDATE);
        let (amount, unit) = if self.at(Kw::INTERVAL) {
            match self.interval()? {
                Interval::Unit(amount, unit) => (amount, unit),
                Interval::Function(call) if plain_days => {
                    let days = self.climb(call, level::OR, level::TOP)?;
                    (days, IntervalUnit::Day)
                }
                Interval::Function(_) => return self.fail(),
            }
        } else if plain_days {
            (self.expr()?, IntervalUnit::Day)
        } else {
            return self.fail();
        };
        self.need(T::RParen)?;
        Ok(Expr::DateArith(Box::new(DateArith {
            date,
            amount,
            unit,
            subtract: matches!(kw, Kw::DATE_SUB | Kw::SUBDATE),
        })))
    }

    fn timestampadd_call(&mut self) -> R<Expr> {
        self.bump();
        self.need(T::LParen)?;
        let unit = self.timestamp_unit()?;
        self.need(T::Comma)?;
        let amount = self.expr()?;
        self.need(T::Comma)?;
        let date = self.expr()?;
        self.need(T::RParen)?;
        Ok(Expr::DateArith(Box::new(DateArith {
            date,
            amount,
            unit,
            subtract: false,
        })))
    }

    fn timestampdiff_call(&mut self) -> R<Expr> {
        self.bump();
        self.need(T::LParen)?;
        let unit = self.timestamp_unit()?;
        self.need(T::Comma)?;
        let from = self.expr()?;
        self.need(T::Comma)?;
        let to = self.expr()?;
        self.need(T::RParen)?;
        Ok(Expr::TimestampDiff(Box::new(TimestampDiff {
            unit,
            from,
            to,
        })))
    }

    fn get_format_call(&mut self) -> R<Expr> {
        self.bump();
        self.need(T::LParen)?;
        let kind = match self.kw() {
            Kw::DATE => FormatKind::Date,
            Kw::TIME => FormatKind::Time,
            Kw::DATETIME | Kw::TIMESTAMP => FormatKind::Datetime,
            _ => return self.fail(),
        };
        self.bump();
        self.need(T::Comma)?;
        let expr = self.expr()?;
        self.need(T::RParen)?;
        Ok(Expr::GetFormat(kind, Box::new(expr)))
    }

    fn char_call(&mut self) -> R<Expr> {
        self.bump();
        self.need(T::LParen)?;
        let args = self.expr_list()?;
        let charset = if self.eat(Kw::USING) {
            Some(self.charset_name()?)
        } else {
            None
        };
        self.need(T::RParen)?;
        Ok(Expr::CharFn(Box::new(CharFn { args, charset })))
    }

    fn weight_string_call(&mut self) -> R<Expr> {
        self.bump();
        self.need(T::LParen)?;
        let expr = self.expr()?;
        let mut cast = None;
        if self.eat(Kw::AS) {
            let binary = self.eat(Kw::BINARY);
            if !binary && !self.eat(Kw::CHAR) {
                return self.fail();
            }
            cast = Some((binary, self.parens_number()?));
        }
        self.need(T::RParen)?;
        Ok(Expr::WeightString(Box::new(WeightString { expr, cast })))
    }

    fn json_value_call(&mut self) -> R<Expr> {
        self.bump();
        self.need(T::LParen)?;
        let doc = self.simple_expr()?;
        self.need(T::Comma)?;
        let path = self.expr()?;
        let returning = if self.eat(Kw::RETURNING) {
            Some(self.cast_type()?)
        } else {
            None
        };
        let (on_empty, on_error, _) = self.on_empty_on_error(false)?;
        self.need(T::RParen)?;
        Ok(Expr::JsonValue(Box::new(JsonValue {
            doc,
            path,
            returning,
            on_empty,
            on_error,
        })))
    }

    /// `[NULL | ERROR | DEFAULT x ON EMPTY] [.. ON ERROR]`, with `both_ways` also in the other order, which the last value says.
    pub fn on_empty_on_error(
        &mut self,
        both_ways: bool,
    ) -> R<(Option<JsonOn>, Option<JsonOn>, bool)> {
        let (mut on_empty, mut on_error) = (None, None);
        let mut reversed = false;
        loop {
            let what = match self.kw() {
                Kw::NULL => JsonOn::Null,
                Kw::ERROR => JsonOn::Error,
                Kw::DEFAULT => {
                    self.bump();
                    JsonOn::Default(self.expr_at(level::UNARY)?)
                }
                _ => return Ok((on_empty, on_error, reversed)),
            };
            if !matches!(what, JsonOn::Default(_)) {
                self.bump();
            }
            self.expect(Kw::ON)?;
            if on_empty.is_none() && (on_error.is_none() || both_ways) && self.eat(Kw::EMPTY) {
                reversed = on_error.is_some();
                on_empty = Some(what);
            } else if on_error.is_none() && self.at(Kw::ERROR) {
                self.bump();
                on_error = Some(what);
            } else {
                return self.fail();
            }
        }
    }

    fn match_call(&mut self) -> R<Expr> {
        self.bump();
        let columns = self.parens_list(Self::column_ref)?;
        self.expect(Kw::AGAINST)?;
        self.need(T::LParen)?;
        let against = self.bit_expr()?;
        let mut boolean = false;
        if self.eat(Kw::IN) {
            if self.eat(Kw::BOOLEAN) {
                boolean = true;
            } else {
                self.expect_all(&[Kw::NATURAL, Kw::LANGUAGE])?;
            }
            self.expect(Kw::MODE)?;
        }
        let expansion = !boolean && self.eat(Kw::WITH);
        if expansion {
            self.expect_all(&[Kw::QUERY, Kw::EXPANSION])?;
        }
        self.need(T::RParen)?;
        Ok(Expr::Match(Box::new(Match {
            columns,
            against,
            boolean,
            expansion,
        })))
    }

    /// A unit of `INTERVAL` and `EXTRACT`.
    pub fn interval_unit(&mut self) -> R<IntervalUnit> {
        use IntervalUnit as U;
        let unit = match self.kw() {
            Kw::SECOND_MICROSECOND => U::SecondMicrosecond,
            Kw::MINUTE_MICROSECOND => U::MinuteMicrosecond,
            Kw::MINUTE_SECOND => U::MinuteSecond,
            Kw::HOUR_MICROSECOND => U::HourMicrosecond,
            Kw::HOUR_SECOND => U::HourSecond,
            Kw::HOUR_MINUTE => U::HourMinute,
            Kw::DAY_MICROSECOND => U::DayMicrosecond,
            Kw::DAY_SECOND => U::DaySecond,
            Kw::DAY_MINUTE => U::DayMinute,
            Kw::DAY_HOUR => U::DayHour,
            Kw::YEAR_MONTH => U::YearMonth,
            _ => return self.timestamp_unit(),
        };
        self.bump();
        Ok(unit)
    }

    /// A simple unit, as `TIMESTAMPADD` takes it.
    fn timestamp_unit(&mut self) -> R<IntervalUnit> {
        use IntervalUnit as U;
        let unit = match self.kw() {
            Kw::MICROSECOND => U::Microsecond,
            Kw::SECOND | Kw::SQL_TSI_SECOND => U::Second,
            Kw::MINUTE | Kw::SQL_TSI_MINUTE => U::Minute,
            Kw::HOUR | Kw::SQL_TSI_HOUR => U::Hour,
            Kw::DAY | Kw::SQL_TSI_DAY => U::Day,
            Kw::WEEK | Kw::SQL_TSI_WEEK => U::Week,
            Kw::MONTH | Kw::SQL_TSI_MONTH => U::Month,
            Kw::QUARTER | Kw::SQL_TSI_QUARTER => U::Quarter,
            Kw::YEAR | Kw::SQL_TSI_YEAR => U::Year,
            _ => return self.fail(),
        };
        self.bump();
        Ok(unit)
    }
}

fn call(name: &str, args: Vec<Expr>) -> Expr {
    Expr::Call(Box::new(Call {
        schema: None,
        name: name.into(),
        args,
        plain: false,
    }))
}

/// Functions of time (and `CURRENT_USER`) that are called with optional parentheses where reserved,
/// and with a joined parenthesis otherwise; under the name they arrive as.
fn niladic(kw: Kw) -> Option<&'static str> {
    Some(match kw {
        Kw::CURRENT_TIMESTAMP | Kw::LOCALTIME | Kw::LOCALTIMESTAMP | Kw::NOW => "now",
        Kw::CURRENT_DATE | Kw::CURDATE => "curdate",
        Kw::CURRENT_TIME | Kw::CURTIME => "curtime",
        Kw::UTC_DATE => "utc_date",
        Kw::UTC_TIME => "utc_time",
        Kw::UTC_TIMESTAMP => "utc_timestamp",
        Kw::CURRENT_USER => "current_user",
        Kw::SYSDATE => "sysdate",
        _ => return None,
    })
}

/// Whether a call whose unquoted name is this word is anything but a name and arguments.
fn has_own_grammar(kw: Kw) -> bool {
    kw.is_reserved()
        || niladic(kw).is_some()
        || aggregate(kw).is_some()
        || window(kw).is_some()
        || special(kw).is_some()
}

/// The rule for a function whose arguments have a grammar of their own.
fn special<'t>(kw: Kw) -> Option<fn(&mut Parser<'t>) -> R<Expr>> {
    Some(match kw {
        Kw::CAST => Parser::cast_call,
        Kw::EXTRACT => Parser::extract_call,
        Kw::TRIM => Parser::trim_call,
        Kw::SUBSTRING | Kw::SUBSTR | Kw::MID => Parser::substring_call,
        Kw::POSITION => Parser::position_call,
        Kw::DATE_ADD | Kw::DATE_SUB | Kw::ADDDATE | Kw::SUBDATE => Parser::date_add_call,
        Kw::TIMESTAMPADD => Parser::timestampadd_call,
        Kw::TIMESTAMPDIFF => Parser::timestampdiff_call,
        Kw::GET_FORMAT => Parser::get_format_call,
        Kw::WEIGHT_STRING => Parser::weight_string_call,
        Kw::JSON_VALUE => Parser::json_value_call,
        _ => return None,
    })
}

/// Functions that are only themselves where the parenthesis follows at once (or under IGNORE_SPACE).
fn needs_joined_parenthesis(kw: Kw) -> bool {
    matches!(
        kw,
        Kw::CAST
            | Kw::EXTRACT
            | Kw::TRIM
            | Kw::SUBSTRING
            | Kw::SUBSTR
            | Kw::MID
            | Kw::POSITION
            | Kw::DATE_ADD
            | Kw::DATE_SUB
            | Kw::ADDDATE
            | Kw::SUBDATE
    )
}
