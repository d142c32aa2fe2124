//! Operands: literals, names, variables, parentheses, subqueries, `CASE`.

use super::ast::*;
use super::expr::{Interval, level};
use super::keyword::Kw;
use super::lexer::{T, Token};
use super::parser::{Parser, R, parse_u64};

impl Parser<'_> {
    /// An operand.
    pub fn primary(&mut self) -> R<Expr> {
        match self.tok.kind {
            T::Int => {
                let token = self.bump();
                let digits = self.slice(token);
                Ok(match parse_u64(digits) {
                    Some(value) => Expr::Int(value),
                    None => Expr::Decimal(ascii(digits)),
                })
            }
            T::Decimal => {
                let token = self.bump();
                Ok(Expr::Decimal(ascii(self.slice(token))))
            }
            T::Float => self.float(),
            T::Str => Ok(Expr::Str(self.strings(Self::string_value)?)),
            T::NStr => {
                let token = self.bump();
                let bytes = self.string_value(token);
                Ok(introduced("utf8mb3".into(), bytes, LiteralForm::National))
            }
            T::HexNum | T::HexStr => {
                let token = self.bump();
                Ok(Expr::Hex(hex_bytes(digits_of(self.slice(token)))))
            }
            T::BitNum | T::BitStr => {
                let token = self.bump();
                Ok(Expr::Bit(bit_bytes(digits_of(self.slice(token)))))
            }
            T::Introducer => self.introducer(),
            T::Param => {
                self.bump();
                self.params += 1;
                Ok(Expr::Param(self.params - 1))
            }
            T::LParen => {
                self.bump();
                self.deeper(1, Self::paren_body)
            }
            T::At => self.user_variable(),
            T::AtAt => self.system_variable(),
            T::LBrace => self.odbc_brace(),
            T::Quoted => self.name_led(),
            T::Word if self.tok.kw == Kw::NONE => self.name_led(),
            T::Word => self.word_led(),
            _ => self.fail(),
        }
    }

    fn float(&mut self) -> R<Expr> {
        let token = self.bump();
        let text = ascii(self.slice(token));
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Expr::Float(value)),
            _ => self.other(
                1367,
                "22007",
                format!("Illegal double '{text}' value found during parsing"),
            ),
        }
    }

    /// One or more adjacent string literals, their values taken by `value`.
    fn strings(&mut self, value: fn(&Self, Token) -> Box<[u8]>) -> R<Box<[u8]>> {
        if !self.is(T::Str) {
            return self.fail();
        }
        let token = self.bump();
        let first = value(self, token);
        if !self.is(T::Str) {
            return Ok(first);
        }
        let mut all = first.into_vec();
        while self.is(T::Str) {
            let token = self.bump();
            all.extend_from_slice(&value(self, token));
        }
        Ok(all.into())
    }

    /// `_charset'text'`, `_charset 0x..`, or an identifier that happens to look like an introducer.
    fn introducer(&mut self) -> R<Expr> {
        let next = self.ahead(1).kind;
        if !matches!(next, T::Str | T::HexNum | T::HexStr | T::BitNum | T::BitStr) {
            return self.name_led();
        }
        let token = self.bump();
        let charset = ascii(&self.slice(token)[1..]).to_ascii_lowercase().into();
        let form = match next {
            T::Str => LiteralForm::Text,
            T::HexNum | T::HexStr => LiteralForm::Hex,
            _ => LiteralForm::Bit,
        };
        let bytes = match form {
            LiteralForm::Text | LiteralForm::National => self.strings(Self::raw_string_value)?,
            LiteralForm::Hex => {
                let token = self.bump();
                hex_bytes(digits_of(self.slice(token)))
            }
            LiteralForm::Bit => {
                let token = self.bump();
                bit_bytes(digits_of(self.slice(token)))
            }
        };
        Ok(introduced(charset, bytes, form))
    }

    /// What follows an opening parenthesis of an operand, with the closing one.
    pub fn paren_body(&mut self) -> R<Expr> {
        if self.at_query(0) {
            let query = self.query_expression()?;
            self.need(T::RParen)?;
            return Ok(Expr::Subquery(Box::new(query)));
        }
        let first = self.expr()?;
        let first = self.continue_subquery(first)?;
        if !self.is(T::Comma) {
            self.need(T::RParen)?;
            return Ok(first);
        }
        let mut members = vec![first];
        while self.take(T::Comma) {
            members.push(self.expr()?);
        }
        self.need(T::RParen)?;
        Ok(Expr::Row(members))
    }

    /// `(SELECT ..) UNION ..` where the first operand was read as an expression.
    pub fn continue_subquery(&mut self, first: Expr) -> R<Expr> {
        if let Expr::Subquery(query) = first {
            if self.at_query_tail() {
                let query = self.query_after(QueryBody::Nested(query))?;
                return Ok(Expr::Subquery(Box::new(query)));
            }
            return Ok(Expr::Subquery(query));
        }
        Ok(first)
    }

    /// `@name` and `@name := value`.
    fn user_variable(&mut self) -> R<Expr> {
        let name = self.user_variable_name()?;
        if !self.take(T::Assign) {
            return Ok(Expr::UserVar(name));
        }
        let value = self.expr()?;
        Ok(Expr::AssignUserVar(name, Box::new(value)))
    }

    /// `@name`.
    pub fn user_variable_name(&mut self) -> R<Name> {
        self.need(T::At)?;
        // The name must follow at once.
        if self.tok.start != self.last_end {
            return self.fail();
        }
        self.ident_or_text()
    }

    /// `@@[scope.][prefix.]name`.
    pub fn system_variable(&mut self) -> R<Expr> {
        self.need(T::AtAt)?;
        Ok(Expr::SysVar(Box::new(self.system_variable_name()?)))
    }

    /// What follows `@@`.
    pub fn system_variable_name(&mut self) -> R<SysVar> {
        if self.is(T::Word) && self.tok.kw.is_reserved() {
            return self.fail();
        }
        let scope_token = self.tok;
        let first = self.ident()?;
        if !self.take(T::Dot) {
            return Ok(SysVar {
                scope: None,
                prefix: None,
                name: first,
            });
        }
        let scope = match scope_token.kind {
            T::Quoted => None,
            _ => scope_of(&first),
        };
        if scope.is_none() {
            let name = self.ident()?;
            return Ok(SysVar {
                scope,
                prefix: Some(first),
                name,
            });
        }
        let mut name = self.ident()?;
        let mut prefix = None;
        if self.take(T::Dot) {
            prefix = Some(std::mem::replace(&mut name, self.ident()?));
        }
        Ok(SysVar {
            scope,
            prefix,
            name,
        })
    }

    /// `{d '..'}`, `{t '..'}`, `{ts '..'}`, `{word expr}`.
    fn odbc_brace(&mut self) -> R<Expr> {
        self.need(T::LBrace)?;
        let word = self.ident()?;
        let kind = match &*word.to_ascii_lowercase() {
            "d" => Some(TemporalKind::Date),
            "t" => Some(TemporalKind::Time),
            "ts" => Some(TemporalKind::Timestamp),
            _ => None,
        };
        let mut value = self.expr()?;
        self.need(T::RBrace)?;
        if let (Some(kind), Expr::Str(text)) = (kind, &mut value) {
            return Ok(Expr::Temporal(kind, std::mem::take(text)));
        }
        Ok(value)
    }

    /// A column reference or a call that starts with an identifier.
    pub fn name_led(&mut self) -> R<Expr> {
        let first = self.called()?;
        match self.tok.kind {
            T::LParen => return self.generic_call(None, first),
            T::Dot => {}
            _ => {
                return self.column_tail(ColumnRef {
                    name: first,
                    qualifier: None,
                });
            }
        }
        self.bump();
        let second = self.ident()?;
        if self.is(T::LParen) {
            return self.generic_call(Some(first), second);
        }
        let column = if self.take(T::Dot) {
            let name = self.ident()?;
            ColumnRef {
                name,
                qualifier: Self::qualifier(Some(first), second),
            }
        } else {
            ColumnRef {
                name: second,
                qualifier: Self::qualifier(None, first),
            }
        };
        self.column_tail(column)
    }

    /// The JSON arrow that may follow a column.
    fn column_tail(&mut self, column: ColumnRef) -> R<Expr> {
        let unquote = match self.tok.kind {
            T::Arrow => false,
            T::ArrowArrow => true,
            _ => return Ok(Expr::Column(column)),
        };
        self.bump();
        let path = self.string()?;
        Ok(Expr::JsonArrow(Box::new(JsonArrow {
            column,
            path,
            unquote,
        })))
    }

    /// `[[schema.]table.]name`.
    pub fn column_ref(&mut self) -> R<ColumnRef> {
        let first = self.ident()?;
        if !self.take(T::Dot) {
            return Ok(ColumnRef {
                name: first,
                qualifier: None,
            });
        }
        let second = self.ident()?;
        let (schema, table, name) = if self.take(T::Dot) {
            (Some(first), second, self.ident()?)
        } else {
            (None, first, second)
        };
        Ok(ColumnRef {
            name,
            qualifier: Self::qualifier(schema, table),
        })
    }

    /// An operand that starts with a keyword.
    fn word_led(&mut self) -> R<Expr> {
        let next = self.ahead(1);
        match self.kw() {
            Kw::NULL => self.constant(Expr::Null),
            Kw::TRUE => self.constant(Expr::Bool(true)),
            Kw::FALSE => self.constant(Expr::Bool(false)),
            Kw::CASE => self.deeper(1, Self::case),
            Kw::EXISTS => {
                self.bump();
                Ok(Expr::Exists(Box::new(self.subquery()?)))
            }
            Kw::ROW if next.kind == T::LParen => {
                self.bump();
                self.bump();
                let mut members = vec![self.expr()?];
                self.need(T::Comma)?;
                members.extend(self.expr_list()?);
                self.need(T::RParen)?;
                Ok(Expr::Row(members))
            }
            Kw::INTERVAL => match self.interval()? {
                Interval::Function(call) => Ok(call),
                Interval::Unit(amount, unit) => {
                    self.need(T::Plus)?;
                    let date = self.expr_at(level::OR)?;
                    Ok(Expr::DateArith(Box::new(DateArith {
                        date,
                        amount,
                        unit,
                        subtract: false,
                    })))
                }
            },
            Kw::DATE if next.kind == T::Str => self.temporal(TemporalKind::Date),
            Kw::TIME if next.kind == T::Str => self.temporal(TemporalKind::Time),
            Kw::TIMESTAMP if next.kind == T::Str => self.temporal(TemporalKind::Timestamp),
            kw => match self.keyword_call(kw, next)? {
                Some(call) => Ok(call),
                None if kw.is_reserved() => self.fail(),
                None => self.name_led(),
            },
        }
    }

    fn constant(&mut self, value: Expr) -> R<Expr> {
        self.bump();
        Ok(value)
    }

    fn temporal(&mut self, kind: TemporalKind) -> R<Expr> {
        self.bump();
        Ok(Expr::Temporal(kind, self.string()?))
    }

    /// Whether the call parenthesis `next` belongs to the word before it.
    pub fn call_follows(&self, word: Token, next: Token) -> bool {
        next.kind == T::LParen && (next.start == word.end || self.options.ignore_space)
    }

    fn case(&mut self) -> R<Expr> {
        self.expect(Kw::CASE)?;
        let operand = if self.at(Kw::WHEN) {
            None
        } else {
            Some(self.expr()?)
        };
        let mut arms = Vec::new();
        while self.eat(Kw::WHEN) {
            let when = self.expr()?;
            self.expect(Kw::THEN)?;
            arms.push((when, self.expr()?));
        }
        if arms.is_empty() {
            return self.fail();
        }
        let otherwise = if self.eat(Kw::ELSE) {
            Some(self.expr()?)
        } else {
            None
        };
        self.expect(Kw::END)?;
        Ok(Expr::Case(Box::new(Case {
            operand,
            arms,
            otherwise,
        })))
    }
}

/// The scope a word in front of a variable names.
pub(crate) fn scope_of(word: &str) -> Option<VarScope> {
    let scopes = [
        ("global", VarScope::Global),
        ("session", VarScope::Session),
        ("local", VarScope::Session),
        ("persist", VarScope::Persist),
        ("persist_only", VarScope::PersistOnly),
    ];
    scopes
        .iter()
        .find(|(name, _)| word.eq_ignore_ascii_case(name))
        .map(|&(_, scope)| scope)
}

fn introduced(charset: Name, bytes: Box<[u8]>, form: LiteralForm) -> Expr {
    Expr::Introduced(Box::new(IntroducedLit {
        charset,
        bytes,
        form,
    }))
}

fn ascii(bytes: &[u8]) -> Box<str> {
    String::from_utf8_lossy(bytes).into()
}

/// The digits of `0x..`, `x'..'`, `0b..`, `b'..'`.
fn digits_of(literal: &[u8]) -> &[u8] {
    let inner = literal.get(2..).unwrap_or_default();
    inner.strip_suffix(b"'").unwrap_or(inner)
}

fn hex_bytes(digits: &[u8]) -> Box<[u8]> {
    let value = |b: u8| (b as char).to_digit(16).unwrap_or(0) as u8;
    let odd = digits.len() % 2;
    let head = digits.iter().take(odd).map(|&b| value(b));
    let pairs = digits[odd..]
        .chunks_exact(2)
        .map(|pair| value(pair[0]) << 4 | value(pair[1]));
    head.chain(pairs).collect()
}

fn bit_bytes(digits: &[u8]) -> Box<[u8]> {
    digits
        .rchunks(8)
        .rev()
        .map(|bits| bits.iter().fold(0, |byte, b| byte << 1 | (b & 1)))
        .collect()
}
