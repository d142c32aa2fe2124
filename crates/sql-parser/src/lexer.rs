//! Bytes to tokens.
//!
//! Tokens carry a kind, a keyword number and a byte range; values (numbers, unescaped strings) are made
//! by the parser when it needs them. Comments vanish here, except that the content of a version comment
//! meant for this server is lexed as if the comment marks were not there.

use super::keyword::{self, Kw};
use super::mariadb::reads_comment;
use super::{Options, SERVER_VERSION};

/// Kinds of token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum T {
    Eof,
    /// Something no token starts with, or an unterminated string or comment.
    Error,
    /// An unquoted word; `Token::kw` says which keyword, if any.
    Word,
    /// A quoted identifier.
    Quoted,
    Int,
    Decimal,
    Float,
    Str,
    /// `N'..'`
    NStr,
    /// `0x..`
    HexNum,
    /// `x'..'`
    HexStr,
    /// `0b..`
    BitNum,
    /// `b'..'`
    BitStr,
    /// `_charset`
    Introducer,
    Param,
    At,
    AtAt,
    LParen,
    RParen,
    LBrace,
    RBrace,
    Comma,
    Semi,
    Colon,
    Dot,
    Star,
    Plus,
    Minus,
    Slash,
    Percent,
    Caret,
    Amp,
    AmpAmp,
    Pipe,
    PipePipe,
    Tilde,
    Bang,
    Eq,
    NullEq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Shl,
    Shr,
    Assign,
    Arrow,
    ArrowArrow,
}

/// A token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub kind: T,
    /// The quoted text holds escapes or doubled quotes.
    pub escaped: bool,
    /// Which keyword an unquoted word is.
    pub kw: Kw,
    pub start: u32,
    pub end: u32,
}

/// What the token before asks of the next one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    Nothing,
    /// A dot: a word is a name even if it looks like a keyword or a number.
    Dot,
    /// `@`: a word may hold dots and is no keyword.
    At,
}

pub(crate) struct Lexer<'a> {
    pub text: &'a [u8],
    pos: usize,
    after: After,
    in_version_comment: bool,
    options: Options,
    /// Byte ranges of comments and comment marks skipped so far, in order.
    pub comments: Vec<(u32, u32)>,
}

/// For each byte, whether it may be part of an unquoted identifier.
static IDENT_BYTES: [bool; 256] = {
    let mut table = [false; 256];
    let mut b = 0;
    while b < 256 {
        let byte = b as u8;
        table[b] = byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80;
        b += 1;
    }
    table
};

/// Whether a byte may be part of an unquoted identifier.
pub(crate) fn is_ident_byte(b: u8) -> bool {
    IDENT_BYTES[usize::from(b)]
}

/// The place of the first `a` or `b` in `bytes` from `i` on, or the end: eight bytes at a time, as long
/// strings are most of what an insert's text is made of.
fn find_either(bytes: &[u8], mut i: usize, a: u8, b: u8) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let zero_bytes = |x: u64| x.wrapping_sub(ONES) & !x & HIGHS;
    while let Some(chunk) = bytes.get(i..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*chunk);
        let hits =
            zero_bytes(word ^ (ONES * u64::from(a))) | zero_bytes(word ^ (ONES * u64::from(b)));
        if hits != 0 {
            // Borrows can set false marks above a true one only, so the lowest is right.
            return i + hits.trailing_zeros() as usize / 8;
        }
        i += 8;
    }
    while i < bytes.len() && bytes[i] != a && bytes[i] != b {
        i += 1;
    }
    i
}

fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C)
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a [u8], options: Options) -> Self {
        // Offsets are 32 bits wide; a packet is at most 1 GiB, so nothing is ever cut here.
        let text = &text[..text.len().min(u32::MAX as usize)];
        Lexer {
            text,
            pos: 0,
            after: After::Nothing,
            in_version_comment: false,
            options,
            comments: Vec::new(),
        }
    }

    fn at(&self, i: usize) -> u8 {
        self.text.get(i).copied().unwrap_or(0)
    }

    fn token(&mut self, kind: T, start: usize, end: usize) -> Token {
        self.pos = end;
        Token {
            kind,
            escaped: false,
            kw: Kw::NONE,
            start: start as u32,
            end: end as u32,
        }
    }

    /// The next token; `Eof` again and again at the end.
    pub fn next_token(&mut self) -> Token {
        if let Err(start) = self.skip_blank() {
            let end = self.text.len();
            return self.token(T::Error, start, end);
        }
        let start = self.pos;
        let after = std::mem::replace(&mut self.after, After::Nothing);
        let Some(&b) = self.text.get(start) else {
            // A version comment must end; the error is reported once, so that the end is still reached.
            let open = std::mem::take(&mut self.in_version_comment);
            let kind = if open { T::Error } else { T::Eof };
            return self.token(kind, start, start);
        };
        match b {
            b'x' | b'X' | b'b' | b'B' | b'n' | b'N' if self.at(start + 1) == b'\'' => {
                self.prefixed_string(start, b)
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | 0x80.. => self.word(start, after),
            b'0'..=b'9' => self.number(start, after),
            b'\'' => self.quoted(start, b, T::Str),
            b'"' if !self.options.ansi_quotes => self.quoted(start, b, T::Str),
            b'"' | b'`' => self.quoted(start, b, T::Quoted),
            b'@' => self.at_sign(start),
            b'.' => self.dot(start),
            0 if start + 1 == self.text.len() => self.token(T::Eof, start, start),
            _ => self.operator(start, b),
        }
    }

    /// Skips white space and comments; `Err(start)` for a comment that does not end.
    fn skip_blank(&mut self) -> Result<(), usize> {
        loop {
            let b = self.at(self.pos);
            if is_space(b) {
                self.pos += 1;
                continue;
            }
            let start = self.pos;
            match b {
                b'#' => self.skip_line(),
                b'-' if self.at(start + 1) == b'-' => {
                    let c = self.at(start + 2);
                    if !is_space(c) && !c.is_ascii_control() {
                        return Ok(());
                    }
                    self.skip_line();
                }
                b'/' if self.at(start + 1) == b'*' => self.block_comment(start)?,
                b'*' if self.in_version_comment && self.at(start + 1) == b'/' => {
                    self.in_version_comment = false;
                    self.pos += 2;
                }
                _ => return Ok(()),
            }
            self.comments.push((start as u32, self.pos as u32));
        }
    }

    fn skip_line(&mut self) {
        while self.pos < self.text.len() && self.text[self.pos] != b'\n' {
            self.pos += 1;
        }
    }

    fn block_comment(&mut self, start: usize) -> Result<(), usize> {
        self.pos = start + 2;
        let own = self.options.mariadb;
        if own.is_some() && self.at(self.pos) == b'M' && self.at(self.pos + 1) == b'!' {
            self.pos += 1;
        }
        if self.at(self.pos) != b'!' {
            return self.comment_end(start, false);
        }
        self.pos += 1;
        let digits = self.text[self.pos..]
            .iter()
            .take(6)
            .take_while(|b| b.is_ascii_digit())
            .count();
        if digits < 5 {
            self.in_version_comment = true;
            return Ok(());
        }
        let version = self.text[self.pos..self.pos + digits]
            .iter()
            .fold(0u32, |v, b| v * 10 + u32::from(b - b'0'));
        let read = match own {
            Some(own) => reads_comment(own, version),
            None => version <= SERVER_VERSION,
        };
        if read {
            self.pos += digits;
            self.in_version_comment = true;
            return Ok(());
        }
        self.comment_end(start, true)
    }

    /// Moves behind the `*/` that ends the comment at `start`.
    fn comment_end(&mut self, start: usize, nested: bool) -> Result<(), usize> {
        let mut depth = 1;
        while self.pos < self.text.len() {
            match (self.text[self.pos], self.at(self.pos + 1)) {
                (b'*', b'/') => {
                    self.pos += 2;
                    depth -= 1;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                (b'/', b'*') if nested => {
                    self.pos += 2;
                    depth += 1;
                }
                _ => self.pos += 1,
            }
        }
        Err(start)
    }

    fn ident_end(&self, mut i: usize) -> usize {
        while i < self.text.len() && is_ident_byte(self.text[i]) {
            i += 1;
        }
        i
    }

    fn word(&mut self, start: usize, after: After) -> Token {
        let mut end = self.ident_end(start);
        if after == After::At {
            while self.at(end) == b'.' {
                end = self.ident_end(end + 1);
            }
            return self.token(T::Word, start, end);
        }
        let dotted = self.at(end) == b'.' && is_ident_byte(self.at(end + 1));
        if dotted || after == After::Dot {
            return self.token(T::Word, start, end);
        }
        let word = &self.text[start..end];
        let mut kind = T::Word;
        if word[0] == b'_' && keyword::is_charset(&word[1..]) {
            kind = T::Introducer;
        }
        let kw = keyword::lookup(word);
        let mut token = self.token(kind, start, end);
        token.kw = kw;
        token
    }

    fn number(&mut self, start: usize, after: After) -> Token {
        if after != After::Nothing {
            return self.word(start, after);
        }
        if self.text[start] == b'0' {
            let (kind, base) = match self.at(start + 1) {
                b'x' => (T::HexNum, 16),
                b'b' => (T::BitNum, 2),
                _ => (T::Error, 0),
            };
            if base != 0 {
                let mut end = start + 2;
                while (self.at(end) as char).is_digit(base) {
                    end += 1;
                }
                if end > start + 2 && !is_ident_byte(self.at(end)) {
                    return self.token(kind, start, end);
                }
                return self.word_of_digits(start);
            }
        }
        let mut end = start;
        while self.at(end).is_ascii_digit() {
            end += 1;
        }
        let c = self.at(end);
        if c == b'.' {
            return self.fraction(start, end + 1);
        }
        if !is_ident_byte(c) {
            return self.token(T::Int, start, end);
        }
        if matches!(c, b'e' | b'E')
            && let Some(end) = self.exponent(end)
        {
            return self.token(T::Float, start, end);
        }
        self.word_of_digits(start)
    }

    /// An identifier that starts with a digit.
    fn word_of_digits(&mut self, start: usize) -> Token {
        let end = self.ident_end(start);
        self.token(T::Word, start, end)
    }

    /// The end of the exponent whose `e` is at `i`, if digits follow.
    fn exponent(&self, i: usize) -> Option<usize> {
        let mut end = i + 1;
        if matches!(self.at(end), b'+' | b'-') {
            end += 1;
        }
        let digits = end;
        while self.at(end).is_ascii_digit() {
            end += 1;
        }
        (end > digits).then_some(end)
    }

    /// A number whose fraction starts at `i`.
    fn fraction(&mut self, start: usize, i: usize) -> Token {
        let mut end = i;
        while self.at(end).is_ascii_digit() {
            end += 1;
        }
        if matches!(self.at(end), b'e' | b'E') {
            return match self.exponent(end) {
                Some(end) => self.token(T::Float, start, end),
                None => self.token(T::Error, start, end + 1),
            };
        }
        self.token(T::Decimal, start, end)
    }

    fn dot(&mut self, start: usize) -> Token {
        let directly_after_name = start > 0 && {
            let b = self.text[start - 1];
            is_ident_byte(b) || b == b'`' || b == b'"' && self.options.ansi_quotes
        };
        if self.at(start + 1).is_ascii_digit() && !directly_after_name {
            return self.fraction(start, start + 1);
        }
        if is_ident_byte(self.at(start + 1)) {
            self.after = After::Dot;
        }
        self.token(T::Dot, start, start + 1)
    }

    fn at_sign(&mut self, start: usize) -> Token {
        if self.at(start + 1) == b'@' {
            return self.token(T::AtAt, start, start + 2);
        }
        if is_ident_byte(self.at(start + 1)) {
            self.after = After::At;
        }
        self.token(T::At, start, start + 1)
    }

    fn quoted(&mut self, start: usize, quote: u8, kind: T) -> Token {
        let backslash = kind == T::Str && !self.options.no_backslash_escapes;
        let mut escaped = false;
        let mut i = start + 1;
        let escape = if backslash { b'\\' } else { quote };
        loop {
            i = find_either(self.text, i, quote, escape);
            if i >= self.text.len() {
                break;
            }
            if self.text[i] == quote && self.at(i + 1) != quote {
                let mut token = self.token(kind, start, i + 1);
                token.escaped = escaped;
                return token;
            }
            escaped = true;
            i += 2;
        }
        let end = self.text.len();
        self.token(T::Error, start, end)
    }

    /// `x'..'`, `b'..'`, `n'..'`.
    fn prefixed_string(&mut self, start: usize, prefix: u8) -> Token {
        if matches!(prefix, b'n' | b'N') {
            let mut token = self.quoted(start + 1, b'\'', T::Str);
            token.start = start as u32;
            if token.kind == T::Str {
                token.kind = T::NStr;
            }
            return token;
        }
        let hex = matches!(prefix, b'x' | b'X');
        let base = if hex { 16 } else { 2 };
        let mut end = start + 2;
        while (self.at(end) as char).is_digit(base) {
            end += 1;
        }
        if self.at(end) != b'\'' || (hex && !(end - start).is_multiple_of(2)) {
            return self.token(T::Error, start, end);
        }
        self.token(if hex { T::HexStr } else { T::BitStr }, start, end + 1)
    }

    fn operator(&mut self, start: usize, b: u8) -> Token {
        let (second, third) = (self.at(start + 1), self.at(start + 2));
        let (kind, len) = match (b, second, third) {
            (b'(', ..) => (T::LParen, 1),
            (b')', ..) => (T::RParen, 1),
            (b'{', ..) => (T::LBrace, 1),
            (b'}', ..) => (T::RBrace, 1),
            (b',', ..) => (T::Comma, 1),
            (b';', ..) => (T::Semi, 1),
            (b'?', ..) if self.options.placeholders && !is_ident_byte(second) => (T::Param, 1),
            (b'*', ..) => (T::Star, 1),
            (b'+', ..) => (T::Plus, 1),
            (b'-', b'>', b'>') => (T::ArrowArrow, 3),
            (b'-', b'>', _) => (T::Arrow, 2),
            (b'-', ..) => (T::Minus, 1),
            (b'/', ..) => (T::Slash, 1),
            (b'%', ..) => (T::Percent, 1),
            (b'^', ..) => (T::Caret, 1),
            (b'~', ..) => (T::Tilde, 1),
            (b'&', b'&', _) => (T::AmpAmp, 2),
            (b'&', ..) => (T::Amp, 1),
            (b'|', b'|', _) => (T::PipePipe, 2),
            (b'|', ..) => (T::Pipe, 1),
            (b'!', b'=', _) => (T::Ne, 2),
            (b'!', ..) => (T::Bang, 1),
            (b'=', ..) => (T::Eq, 1),
            (b'<', b'=', b'>') => (T::NullEq, 3),
            (b'<', b'=', _) => (T::Le, 2),
            (b'<', b'>', _) => (T::Ne, 2),
            (b'<', b'<', _) => (T::Shl, 2),
            (b'<', ..) => (T::Lt, 1),
            (b'>', b'=', _) => (T::Ge, 2),
            (b'>', b'>', _) => (T::Shr, 2),
            (b'>', ..) => (T::Gt, 1),
            (b':', b'=', _) => (T::Assign, 2),
            (b':', ..) => (T::Colon, 1),
            _ => (T::Error, 1),
        };
        self.token(kind, start, start + len)
    }
}

/// The content of a quoted string token: quotes removed, doubled quotes and escapes resolved.
///
/// `\%` and `\_` keep their backslash (they mean something to `LIKE`), as in MySQL.
pub(crate) fn unescape(quoted: &[u8], escaped: bool, backslash: bool, out: &mut Vec<u8>) {
    if quoted.len() < 2 {
        return;
    }
    let quote = quoted[0];
    let inner = &quoted[1..quoted.len() - 1];
    if !escaped {
        out.extend_from_slice(inner);
        return;
    }
    let mut i = 0;
    while i < inner.len() {
        let b = inner[i];
        i += 1;
        if b == quote {
            i += 1;
        } else if b == b'\\' && backslash && i < inner.len() {
            let c = inner[i];
            i += 1;
            let c = match c {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                b'b' => 0x08,
                b'0' => 0,
                b'Z' => 0x1A,
                b'%' | b'_' => {
                    out.push(b'\\');
                    c
                }
                _ => c,
            };
            out.push(c);
            continue;
        }
        out.push(b);
    }
}
