//! LIKE and the regular expression functions. Patterns that are constant are prepared when the statement is bound.

use std::borrow::Cow;

use types::SqlError;
use types::charset::Charset;
use types::collation::CollationId;
use types::error::codes;

use super::conv;
use super::ctx::{EvalCtx, RowSource};
use super::limited::{Limited, Put};
use super::node::{Expr, LikeNode, RegexpNode, RegexpUse};
use super::regex::{Compiled, Flags, Groups, illegal};
use super::ty::ExprType;
use super::val::Val;

/// The character that a value of ESCAPE is; NULL is the backslash, and an empty text none.
///
/// # Errors
/// 1210 for more than one character.
pub(super) fn escape_of(v: &Val<'_>, ty: &ExprType) -> Result<Option<u32>, SqlError> {
    if v.is_null() {
        return Ok(Some(u32::from(b'\\')));
    }
    let t = conv::text_of(v, ty);
    match ty.charset().next_char(&t) {
        None => Ok(None),
        Some((c, n)) if n == t.len() => Ok(Some(c)),
        Some(_) => Err(SqlError::new(
            codes::ER_WRONG_ARGUMENTS,
            "Incorrect arguments to ESCAPE",
        )),
    }
}

impl LikeNode {
    pub(super) fn each_child<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        f(&self.text);
        f(&self.pattern);
        self.given.iter().for_each(f);
    }

    /// The text every match starts with, escapes resolved, and whether nothing but it matches; `None` where the
    /// pattern or what escapes in it is no constant.
    pub fn prefix(&self) -> Option<(Vec<u8>, bool)> {
        if self.given.is_some() {
            return None;
        }
        let Val::Bytes(p) = self.pattern.as_const()? else {
            return None;
        };
        let charset = self.collation.charset();
        let mut out = Vec::new();
        let mut rest: &[u8] = p;
        while let Some((c, n)) = charset.next_char(rest) {
            if Some(c) == self.escape && rest.len() > n {
                rest = &rest[n..];
                let n = charset.next_char(rest).map_or(1, |(_, n)| n);
                out.extend_from_slice(&rest[..n]);
                rest = &rest[n..];
                continue;
            }
            if c == u32::from(b'%') || c == u32::from(b'_') {
                return Some((out, false));
            }
            out.extend_from_slice(&rest[..n]);
            rest = &rest[n..];
        }
        Some((out, true))
    }

    pub(super) fn truth(
        &self,
        cx: &EvalCtx<'_>,
        row: &dyn RowSource,
    ) -> Result<Option<bool>, SqlError> {
        let t = self.text.eval(cx, row)?;
        let p = self.pattern.eval(cx, row)?;
        match &self.given {
            None => self.matches(&t, &p, cx),
            Some(e) => {
                let escape = escape_of(&e.eval(cx, row)?, &e.ty)?;
                self.matches_by(&t, &p, escape, cx)
            }
        }
    }

    /// Whether a text is like a pattern; NULL where one is.
    pub(super) fn matches(
        &self,
        t: &Val<'_>,
        p: &Val<'_>,
        cx: &EvalCtx<'_>,
    ) -> Result<Option<bool>, SqlError> {
        self.matches_by(t, p, self.escape, cx)
    }

    fn matches_by(
        &self,
        t: &Val<'_>,
        p: &Val<'_>,
        escape: Option<u32>,
        cx: &EvalCtx<'_>,
    ) -> Result<Option<bool>, SqlError> {
        if t.is_null() || p.is_null() {
            return Ok(None);
        }
        let t = conv::text_of(t, &self.text.ty);
        let p = conv::text_of(p, &self.pattern.ty);
        let like = self.collation.like_paced(&t, &p, escape, cx.pace())?;
        Ok(Some(like != self.negated))
    }
}

impl RegexpUse {
    /// The function's name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            RegexpUse::Like => "regexp_like",
            RegexpUse::Instr => "regexp_instr",
            RegexpUse::Substr => "regexp_substr",
            RegexpUse::Replace => "regexp_replace",
        }
    }
}

/// Builds a regular expression with MySQL's flags (`c i m n u`); case matters by default where it does to the collation.
pub(super) fn build(
    pattern: &[u8],
    flags: &[u8],
    collation: CollationId,
) -> Result<Compiled, SqlError> {
    let text = std::str::from_utf8(pattern).map_err(|_| illegal())?;
    let mut ignore_case = !collation.is_case_sensitive();
    let (mut multi, mut dot_all, mut unix) = (false, false, false);
    for f in flags {
        match f {
            b'c' => ignore_case = false,
            b'i' => ignore_case = true,
            b'm' => multi = true,
            b'n' => dot_all = true,
            b'u' => unix = true,
            _ => {
                return Err(SqlError::new(
                    codes::ER_WRONG_ARGUMENTS,
                    "Incorrect arguments to regexp_like",
                ));
            }
        }
    }
    if text.is_empty() {
        return Err(illegal());
    }
    Compiled::new(
        text,
        Flags {
            ignore_case,
            multi_line: multi,
            dot_all,
            crlf: !unix && multi,
            unicode: collation.charset() != Charset::Binary,
        },
    )
}

impl RegexpNode {
    fn flags_at(&self) -> usize {
        match self.usage {
            RegexpUse::Like => 2,
            RegexpUse::Instr | RegexpUse::Replace => 5,
            RegexpUse::Substr => 4,
        }
    }

    /// Prepares the pattern where it and the flags are constant.
    pub(super) fn prepare(&mut self) -> Result<(), SqlError> {
        let constant = |i: usize| match self.args.get(i) {
            None => Some(Cow::Borrowed(&b""[..])),
            Some(e) => match e.as_const() {
                Some(Val::Bytes(b)) => Some(Cow::Borrowed(&b[..])),
                _ => None,
            },
        };
        let (Some(p), Some(f)) = (constant(1), constant(self.flags_at())) else {
            return Ok(());
        };
        self.prepared = Some(build(&p, &f, self.collation)?);
        Ok(())
    }

    pub(super) fn eval<'a>(
        &'a self,
        cx: &'a EvalCtx<'_>,
        row: &'a dyn RowSource,
    ) -> Result<Val<'a>, SqlError> {
        let arg = |i: usize| -> Result<Option<Cow<'a, [u8]>>, SqlError> {
            let e = &self.args[i];
            Ok(conv::into_text(e.eval(cx, row)?, &e.ty))
        };
        let number = |i: usize, default: i64| -> Result<Option<i64>, SqlError> {
            match self.args.get(i) {
                None => Ok(Some(default)),
                Some(e) => Ok(conv::to_int(&e.eval(cx, row)?, cx).map(|n| n.saturating_i64())),
            }
        };
        let (Some(text), Some(pattern)) = (arg(0)?, arg(1)?) else {
            return Ok(Val::Null);
        };
        cx.tick(text.len())?;
        let made;
        let regex = match &self.prepared {
            Some(r) => r,
            None => {
                let flags = match self.args.get(self.flags_at()) {
                    None => Cow::Borrowed(&b""[..]),
                    Some(_) => match arg(self.flags_at())? {
                        Some(f) => f,
                        None => return Ok(Val::Null),
                    },
                };
                made = build(&pattern, &flags, self.collation)?;
                &made
            }
        };
        if self.usage == RegexpUse::Like {
            return Ok(Val::Int(i64::from(regex.is_match(&text)? != self.negated)));
        }
        let first = if self.usage == RegexpUse::Replace {
            3
        } else {
            2
        };
        let (Some(pos), Some(occurrence)) = (
            number(first, 1)?,
            number(first + 1, i64::from(self.usage != RegexpUse::Replace))?,
        ) else {
            return Ok(Val::Null);
        };
        let charset = self.collation.charset();
        let chars = charset.char_count(&text) as i64;
        if pos < 1 || pos > chars + 1 {
            return Err(SqlError::new(
                codes::ER_REGEXP_INDEX_OUTOFBOUNDS_ERROR,
                "Index out of bounds in regular expression search.",
            ));
        }
        let from = charset.offset_of_char(&text, (pos - 1) as usize);
        match self.usage {
            RegexpUse::Instr => {
                let Some(option) = number(4, 0)? else {
                    return Ok(Val::Null);
                };
                let hit = nth(regex, &text, from, occurrence, cx)?;
                Ok(Val::Int(hit.map_or(0, |(s, e)| {
                    let at = if option == 1 { e } else { s };
                    charset.char_count(&text[..at]) as i64 + 1
                })))
            }
            RegexpUse::Substr => Ok(match nth(regex, &text, from, occurrence, cx)? {
                Some((s, e)) => Val::owned(&text[s..e]),
                None => Val::Null,
            }),
            _ => {
                let Some(with) = arg(2)? else {
                    return Ok(Val::Null);
                };
                replace(regex, &text, from, occurrence, &with, cx)
            }
        }
    }
}

fn nth(
    regex: &Compiled,
    text: &[u8],
    from: usize,
    occurrence: i64,
    cx: &EvalCtx<'_>,
) -> Result<Option<(usize, usize)>, SqlError> {
    let mut left = occurrence.max(1);
    let mut hit = None;
    regex.each_match(&text[from..], |groups| {
        let Some(Some((start, end))) = groups.first().copied() else {
            return Ok(true);
        };
        cx.tick(end - start + 32)?;
        left -= 1;
        if left == 0 {
            hit = Some((from + start, from + end));
        }
        Ok(left > 0)
    })?;
    Ok(hit)
}

fn replace<'a>(
    regex: &Compiled,
    text: &[u8],
    from: usize,
    occurrence: i64,
    with: &[u8],
    cx: &EvalCtx<'_>,
) -> Result<Val<'a>, SqlError> {
    let mut out = Limited::new(cx);
    out.put(&text[..from])?;
    let rest = &text[from..];
    let (mut done, mut number) = (0, 0);
    regex.each_match(rest, |groups| {
        let Some(Some((start, end))) = groups.first().copied() else {
            return Ok(true);
        };
        cx.tick(end - start + 64)?;
        number += 1;
        if occurrence > 0 && number != occurrence {
            return Ok(number < occurrence);
        }
        out.put(&rest[done..start])?;
        expand(rest, &groups, with, &mut out)?;
        done = end;
        Ok(true)
    })?;
    out.put(&rest[done..])?;
    Ok(out.value())
}

/// Appends a replacement: `$1` is a group, a backslash takes the next character literally.
fn expand(
    text: &[u8],
    groups: &Groups,
    with: &[u8],
    out: &mut Limited<'_>,
) -> Result<(), SqlError> {
    let mut i = 0;
    while let Some(&b) = with.get(i) {
        match (b, with.get(i + 1)) {
            (b'\\', Some(&n)) => {
                out.put(&[n])?;
                i += 2;
            }
            (b'$', Some(d)) if d.is_ascii_digit() => {
                if let Some(Some((start, end))) = groups.get(usize::from(d - b'0')) {
                    out.put(&text[*start..*end])?;
                }
                i += 2;
            }
            _ => {
                out.put(&[b])?;
                i += 1;
            }
        }
    }
    Ok(())
}
