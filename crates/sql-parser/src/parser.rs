//! The parser's core: the token window, names, literals of the grammar's leaf rules, and errors.

use std::borrow::Cow;

use super::Options;
use super::ast::{Name, ObjectName, Qualifier, SelectInto, Span};
use super::error::{ParseError, ParseErrorKind};
use super::keyword::Kw;
use super::lexer::{Lexer, T, Token, unescape};
use super::mariadb::Mariadb;
use ::types::{Pace, SqlError};

/// What every rule returns.
pub(crate) type R<X> = Result<X, Box<ParseError>>;

use ::types::depth::{self, Limits};

/// Tokens taken after which the window of tokens forgets them: nothing here goes back.
const WINDOW: usize = 4096;

/// Bytes of the text that are made ready for an error, which shows fewer.
const SHOWN: usize = 128;

pub(crate) struct Parser<'a> {
    pub lexer: Lexer<'a>,
    /// The tokens around the current one: those taken lately, and those looked at ahead.
    tokens: Vec<Token>,
    pos: usize,
    pace: &'a Pace<'a>,
    /// The statement was ended from outside: the text is over here, and this is the error.
    pub stopped: Option<SqlError>,
    /// The current token.
    pub tok: Token,
    /// End of the token before the current one.
    pub last_end: u32,
    pub options: Options,
    /// Placeholders seen.
    pub params: u32,
    depth: u32,
    /// How deep its rules and its tree may go.
    pub limits: Limits,
    /// `INTO` of the query being read.
    pub into: Option<Box<SelectInto>>,
    /// The number of the last query block; `reserved` is the one of the block whose WITH is being read.
    pub blocks: u32,
    pub reserved: Option<u32>,
    /// The `SET_VAR` hints so far.
    pub set_vars: Vec<super::ast::SetVar>,
    /// Subqueries are no part of this statement.
    pub without_queries: bool,
    /// What is MariaDB's alone, where that is taken.
    pub mariadb: Option<Box<Mariadb>>,
    /// Height of the highest expression finished since an enclosing rule reset this.
    pub height: u32,
}

impl<'a> Parser<'a> {
    pub fn new(sql: &'a [u8], options: &Options, pace: &'a Pace<'a>) -> Self {
        let mut lexer = Lexer::new(sql, *options);
        let tok = lexer.next_token();
        let mut tokens = Vec::with_capacity((sql.len() / 4).clamp(8, 4096));
        tokens.push(tok);
        Parser {
            lexer,
            tokens,
            pos: 0,
            pace,
            stopped: None,
            tok,
            last_end: 0,
            options: *options,
            params: 0,
            depth: 0,
            limits: depth::limits(),
            into: None,
            blocks: 0,
            reserved: None,
            set_vars: Vec::new(),
            without_queries: false,
            mariadb: options.mariadb.map(|_| Box::default()),
            height: 0,
        }
    }

    /// The whole text.
    pub fn text(&self) -> &'a [u8] {
        self.lexer.text
    }

    /// The text of a token.
    pub fn slice(&self, token: Token) -> &'a [u8] {
        &self.lexer.text[token.start as usize..token.end as usize]
    }

    /// Takes the current token.
    pub fn bump(&mut self) -> Token {
        let token = self.tok;
        if token.kind != T::Eof {
            self.pos += 1;
            if self.pos >= WINDOW {
                self.tokens.drain(..self.pos);
                self.pos = 0;
            }
            if self.pos == self.tokens.len() {
                self.lex();
            }
            self.tok = self.tokens[self.pos];
        }
        self.last_end = token.end;
        token
    }

    /// The next token of the text, into the window; its end where the statement is to end.
    fn lex(&mut self) -> Token {
        let mut next = self.lexer.next_token();
        let work = 32 + (next.end - next.start) as usize;
        if let Err(e) = self.pace.tick(work) {
            self.stopped = Some(e);
            next.kind = T::Eof;
            next.kw = Kw::NONE;
        }
        self.tokens.push(next);
        next
    }

    /// The token `n` places ahead; 0 is the current one.
    #[inline]
    pub fn ahead(&mut self, n: usize) -> Token {
        if let Some(&token) = self.tokens.get(self.pos + n) {
            return token;
        }
        self.lex_ahead(n)
    }

    /// Lexes up to the token `n` places ahead.
    fn lex_ahead(&mut self, n: usize) -> Token {
        while self.pos + n >= self.tokens.len() {
            let next = self.lex();
            if next.kind == T::Eof {
                return next;
            }
        }
        self.tokens[self.pos + n]
    }

    /// A syntax error at the current token.
    pub fn fail<X>(&self) -> R<X> {
        Err(self.syntax_error(self.tok.start))
    }

    /// A syntax error at byte `start`.
    pub fn syntax_error(&self, start: u32) -> Box<ParseError> {
        ParseError::syntax(&self.near(start), self.line_of(start))
    }

    /// The beginning of the text from byte `start` on, as errors show it.
    fn near(&self, start: u32) -> Cow<'a, [u8]> {
        let rest = &self.text()[start as usize..];
        self.options.utf8(&rest[..rest.len().min(SHOWN)])
    }

    /// An error of MySQL's grammar that is not a syntax error.
    pub fn other<X>(&self, code: u16, state: &'static str, message: String) -> R<X> {
        let start = self.tok.start;
        Err(ParseError::at(
            &self.near(start),
            self.line_of(start),
            ParseErrorKind::Other {
                code,
                state,
                message: message.into(),
            },
        ))
    }

    fn line_of(&self, start: u32) -> u32 {
        let before = &self.text()[..start as usize];
        1 + before.iter().filter(|&&b| b == b'\n').count() as u32
    }

    pub fn too_deep<X>(&self) -> R<X> {
        let start = self.tok.start;
        Err(ParseError::at(
            &self.near(start),
            self.line_of(start),
            ParseErrorKind::TooDeep,
        ))
    }

    /// Runs a rule one level deeper, `cost` levels at once.
    pub fn deeper<X>(&mut self, cost: u32, rule: impl FnOnce(&mut Self) -> R<X>) -> R<X> {
        if self.depth + cost > self.limits.rules {
            return self.too_deep();
        }
        self.depth += cost;
        let result = rule(self);
        self.depth -= cost;
        result
    }

    /// The keyword the current token is.
    pub fn kw(&self) -> Kw {
        self.tok.kw
    }

    /// Whether the current token is this keyword.
    pub fn at(&self, kw: Kw) -> bool {
        self.tok.kw == kw
    }

    /// Whether the token `n` ahead is this keyword.
    pub fn at_ahead(&mut self, n: usize, kw: Kw) -> bool {
        self.ahead(n).kw == kw
    }

    pub fn at_any(&self, kws: &[Kw]) -> bool {
        self.tok.kw != Kw::NONE && kws.contains(&self.tok.kw)
    }

    /// Whether the current token is of this kind.
    pub fn is(&self, kind: T) -> bool {
        self.tok.kind == kind
    }

    /// Takes the keyword if it is there.
    pub fn eat(&mut self, kw: Kw) -> bool {
        let hit = self.at(kw);
        if hit {
            self.bump();
        }
        hit
    }

    /// Takes two keywords if both are there.
    pub fn eat2(&mut self, first: Kw, second: Kw) -> bool {
        let hit = self.at(first) && self.at_ahead(1, second);
        if hit {
            self.bump();
            self.bump();
        }
        hit
    }

    /// Takes a keyword that must be there.
    pub fn expect(&mut self, kw: Kw) -> R<()> {
        if self.eat(kw) { Ok(()) } else { self.fail() }
    }

    /// Takes keywords that must be there.
    pub fn expect_all(&mut self, kws: &[Kw]) -> R<()> {
        kws.iter().try_for_each(|&kw| self.expect(kw))
    }

    /// Takes a token of this kind if it is there.
    pub fn take(&mut self, kind: T) -> bool {
        let hit = self.is(kind);
        if hit {
            self.bump();
        }
        hit
    }

    /// Takes a token of this kind that must be there.
    pub fn need(&mut self, kind: T) -> R<()> {
        if self.take(kind) { Ok(()) } else { self.fail() }
    }

    /// `=` or nothing.
    pub fn opt_eq(&mut self) {
        self.take(T::Eq);
    }

    /// `IF EXISTS`.
    pub fn if_exists(&mut self) -> R<bool> {
        if !self.eat(Kw::IF) {
            return Ok(false);
        }
        self.expect(Kw::EXISTS)?;
        Ok(true)
    }

    /// `IF NOT EXISTS`.
    pub fn if_not_exists(&mut self) -> R<bool> {
        if !self.eat(Kw::IF) {
            return Ok(false);
        }
        self.expect_all(&[Kw::NOT, Kw::EXISTS])?;
        Ok(true)
    }

    /// `item, item, ..`, at least one.
    pub fn list<X>(&mut self, mut item: impl FnMut(&mut Self) -> R<X>) -> R<Vec<X>> {
        let mut items = vec![item(self)?];
        while self.take(T::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// `(item, item, ..)`, at least one.
    pub fn parens_list<X>(&mut self, item: impl FnMut(&mut Self) -> R<X>) -> R<Vec<X>> {
        self.need(T::LParen)?;
        let items = self.list(item)?;
        self.need(T::RParen)?;
        Ok(items)
    }

    /// `(rule)`.
    pub fn parens<X>(&mut self, rule: impl FnOnce(&mut Self) -> R<X>) -> R<X> {
        self.need(T::LParen)?;
        let x = rule(self)?;
        self.need(T::RParen)?;
        Ok(x)
    }

    /// Whether a token can be an identifier.
    pub fn is_ident(&self, token: Token) -> bool {
        match token.kind {
            T::Quoted => true,
            T::Word | T::Introducer => !token.kw.is_reserved(),
            _ => false,
        }
    }

    /// The name an identifier token spells.
    pub fn name_of(&self, token: Token) -> R<Name> {
        let bytes = self.slice(token);
        if token.kind != T::Quoted {
            return self.name(bytes);
        }
        if !token.escaped {
            return self.name(&bytes[1..bytes.len() - 1]);
        }
        let mut inner = Vec::with_capacity(bytes.len());
        unescape(bytes, true, false, &mut inner);
        self.name(&inner)
    }

    /// A name of these bytes of the text.
    fn name(&self, bytes: &[u8]) -> R<Name> {
        let bytes = self.options.utf8(bytes);
        match std::str::from_utf8(&bytes) {
            Ok(name) => Ok(name.into()),
            Err(_) => self.bad_name(&bytes),
        }
    }

    pub fn bad_name(&self, bytes: &[u8]) -> R<Name> {
        let shown: String = bytes
            .iter()
            .take(10)
            .map(|b| match b {
                0x20..0x7F => (*b as char).to_string(),
                _ => format!("\\x{b:02X}"),
            })
            .collect();
        self.other(
            1300,
            "HY000",
            format!("Invalid utf8mb4 character string: '{shown}'"),
        )
    }

    /// An identifier.
    pub fn ident(&mut self) -> R<Name> {
        if self.is_function_name() {
            return self.fail();
        }
        self.called()
    }

    /// An identifier, or a function's name in front of its parenthesis.
    pub fn called(&mut self) -> R<Name> {
        if !self.is_ident(self.tok) {
            return self.fail();
        }
        let token = self.bump();
        self.name_of(token)
    }

    /// Whether the current word is a function's name for its parenthesis: it is no name of anything else then, unless a schema is in
    /// front of it.
    fn is_function_name(&mut self) -> bool {
        let word = self.tok;
        if word.kind != T::Word || !word.kw.is_function() {
            return false;
        }
        let next = self.ahead(1);
        self.call_follows(word, next)
    }

    /// An identifier, or a string used as one.
    pub fn ident_or_text(&mut self) -> R<Name> {
        if self.is(T::Str) {
            return self.text_name();
        }
        self.ident()
    }

    /// A string literal as a name.
    pub fn text_name(&mut self) -> R<Name> {
        let bytes = self.string()?;
        match String::from_utf8(bytes.into_vec()) {
            Ok(name) => Ok(name.into()),
            Err(e) => self.bad_name(e.as_bytes()),
        }
    }

    /// The current word in upper case.
    pub fn word_upper(&mut self) -> R<Name> {
        if !matches!(self.tok.kind, T::Word | T::Introducer) {
            return self.fail();
        }
        let token = self.bump();
        let word = self.options.utf8(self.slice(token));
        let name = String::from_utf8_lossy(&word).to_ascii_uppercase();
        Ok(name.into())
    }

    /// Words in upper case, joined by single spaces.
    pub fn words_upper(&mut self, count: usize) -> R<Name> {
        let mut words = String::new();
        for i in 0..count {
            if i > 0 {
                words.push(' ');
            }
            words.push_str(&self.word_upper()?);
        }
        Ok(words.into())
    }

    /// `[schema.]name`.
    pub fn object_name(&mut self) -> R<ObjectName> {
        // `.t` is accepted for ODBC.
        let (schema, name) = match self.take(T::Dot) {
            true => (None, self.ident()?),
            false => {
                let first = self.ident()?;
                match self.take(T::Dot) {
                    true => (Some(first), self.ident()?),
                    false => (None, first),
                }
            }
        };
        // A name may be empty between its quotes; nothing is called so.
        if name.is_empty() {
            return self.other(1103, "42000", "Incorrect table name ''".to_owned());
        }
        if schema.as_ref().is_some_and(|s| s.is_empty()) {
            return self.other(1102, "42000", "Incorrect database name ''".to_owned());
        }
        Ok(ObjectName { schema, name })
    }

    /// What stands in front of a column's name; a table without a name is as good as none, as in MySQL.
    pub fn qualifier(schema: Option<Name>, table: Name) -> Option<Box<Qualifier>> {
        (!table.is_empty()).then(|| {
            let schema = schema.filter(|s| !s.is_empty());
            Box::new(Qualifier { schema, table })
        })
    }

    /// A string literal (one token, no introducer).
    pub fn string(&mut self) -> R<Box<[u8]>> {
        if !self.is(T::Str) {
            return self.fail();
        }
        let token = self.bump();
        Ok(self.string_value(token))
    }

    /// The value of a string token.
    pub fn string_value(&self, token: Token) -> Box<[u8]> {
        let bytes = self.raw_string_value(token);
        match self.options.utf8(&bytes) {
            Cow::Borrowed(_) => bytes,
            Cow::Owned(converted) => converted.into(),
        }
    }

    /// The value of a string token in the bytes of the text, whose character set is told beside it.
    pub fn raw_string_value(&self, token: Token) -> Box<[u8]> {
        let mut quoted = self.slice(token);
        if token.kind == T::NStr {
            quoted = &quoted[1..];
        }
        if !token.escaped {
            return quoted[1..quoted.len() - 1].into();
        }
        let mut out = Vec::with_capacity(quoted.len());
        let backslash = !self.options.no_backslash_escapes;
        unescape(quoted, true, backslash, &mut out);
        out.into()
    }

    /// A number of which the whole part counts, up to the largest of 64 bits (`ulonglong_num` of MySQL's grammar).
    pub fn whole_part(&mut self) -> R<u64> {
        if !matches!(self.tok.kind, T::Decimal | T::Float) {
            return self.number();
        }
        let token = self.bump();
        let digits = self.slice(token).iter().take_while(|b| b.is_ascii_digit());
        let whole = digits.fold(0u64, |n, b| {
            n.saturating_mul(10).saturating_add(u64::from(b - b'0'))
        });
        Ok(whole)
    }

    /// An unsigned integer that fits 64 bits.
    pub fn number(&mut self) -> R<u64> {
        let value = match self.tok.kind {
            T::Int => parse_u64(self.slice(self.tok)),
            T::HexNum => std::str::from_utf8(&self.slice(self.tok)[2..])
                .ok()
                .and_then(|s| u64::from_str_radix(s, 16).ok()),
            _ => None,
        };
        let Some(value) = value else {
            return self.fail();
        };
        self.bump();
        Ok(value)
    }

    /// A number in parentheses.
    pub fn parens_number(&mut self) -> R<u64> {
        self.parens(Self::number)
    }

    /// A number in parentheses, or nothing.
    pub fn opt_parens_number(&mut self) -> R<Option<u64>> {
        if self.is(T::LParen) {
            return self.parens_number().map(Some);
        }
        Ok(None)
    }

    /// A character set name; `None` for `DEFAULT`.
    pub fn charset_or_default(&mut self) -> R<Option<Name>> {
        if self.eat(Kw::DEFAULT) {
            return Ok(None);
        }
        self.charset_name().map(Some)
    }

    /// A character set or collation name.
    pub fn charset_name(&mut self) -> R<Name> {
        if self.eat(Kw::BINARY) {
            return Ok("binary".into());
        }
        self.ident_or_text()
    }

    /// `CHARACTER SET` / `CHAR SET` / `CHARSET`, if it is there.
    pub fn eat_charset(&mut self) -> bool {
        self.eat(Kw::CHARSET) || self.eat2(Kw::CHARACTER, Kw::SET) || self.eat2(Kw::CHAR, Kw::SET)
    }

    /// The text from `start` to the last token taken, comments left out, as a column name.
    pub fn written(&self, start: u32) -> Name {
        let end = self.last_end.max(start);
        let text = self.text();
        let comments = &self.lexer.comments;
        let comments = &comments[comments.partition_point(|c| c.0 < start)..];
        let comments = &comments[..comments.partition_point(|c| c.1 <= end)];
        if comments.is_empty() {
            let text = self.options.utf8(&text[start as usize..end as usize]);
            return String::from_utf8_lossy(&text).into();
        }
        let mut kept = Vec::with_capacity((end - start) as usize);
        let mut from = start;
        for &(comment, to) in comments {
            if comment >= from {
                kept.extend_from_slice(&text[from as usize..comment as usize]);
                from = to;
            }
        }
        kept.extend_from_slice(&text[from as usize..end as usize]);
        String::from_utf8_lossy(&self.options.utf8(&kept)).into()
    }

    /// The span from `start` to the last token taken.
    pub fn span_from(&self, start: u32) -> Span {
        Span {
            start,
            end: self.last_end.max(start),
        }
    }
}

/// Decimal digits as a 64-bit number, if they fit.
pub(crate) fn parse_u64(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0u64, |value, b| {
        value
            .checked_mul(10)?
            .checked_add(u64::from(b.wrapping_sub(b'0')))
    })
}
