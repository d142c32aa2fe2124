//! REGEXP and the functions of regular expressions: their arguments, positions and results, in the order in which MySQL looks at them. A pattern
//! that is constant is compiled when the statement is bound. What matches is said by `regex`, never here.

use std::borrow::Cow;

use types::SqlError;
use types::charset::{self, Charset};
use types::collation::CollationId;
use types::error::codes;

use super::conv;
use super::ctx::{EvalCtx, RowSource};
use super::limited::{Limited, Put};
use super::node::{Expr, Node, RegexpNode, RegexpUse};
use super::regex::{Compiled, Fault, Flags, Groups};
use super::ty::{Shape, StrKind};
use super::val::Val;

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

    /// How many of its arguments are texts.
    const fn texts(self) -> usize {
        match self {
            RegexpUse::Replace => 3,
            _ => 2,
        }
    }
}

/// Error 1210.
fn wrong_arguments(what: &str) -> SqlError {
    SqlError::new(
        codes::ER_WRONG_ARGUMENTS,
        format!("Incorrect arguments to {what}"),
    )
}

/// MySQL's flags (`c i m n u`); case matters by default where it does to the collation.
fn flags_of(words: &[u8], usage: RegexpUse, collation: CollationId) -> Result<Flags, SqlError> {
    let mut flags = Flags {
        ignore_case: !collation.is_case_sensitive(),
        multi_line: false,
        dot_all: false,
        unix: false,
    };
    for f in words {
        match f {
            b'c' => flags.ignore_case = false,
            b'i' => flags.ignore_case = true,
            b'm' => flags.multi_line = true,
            b'n' => flags.dot_all = true,
            b'u' => flags.unix = true,
            _ => return Err(wrong_arguments(usage.name())),
        }
    }
    Ok(flags)
}

/// The character set that bytes are read in: those without characters are taken for latin1, in which every byte is a character.
const fn read_as(charset: Charset) -> Charset {
    match charset {
        Charset::Binary => Charset::Latin1,
        other => other,
    }
}

/// A text as the matchers take it.
fn utf8<'t>(text: Cow<'t, [u8]>, charset: Charset) -> Cow<'t, [u8]> {
    if charset.is_utf8() || text.is_ascii() {
        return text;
    }
    let mut out = Vec::with_capacity(text.len() * 2);
    charset::convert(read_as(charset), Charset::Utf8mb4, &text, &mut out);
    Cow::Owned(out)
}

/// A text of the matchers in its own character set again.
fn back<'a>(text: Val<'a>, charset: Charset) -> Val<'a> {
    match text {
        Val::Bytes(b) if !charset.is_utf8() && !b.is_ascii() => {
            let mut out = Vec::with_capacity(b.len());
            charset::convert(Charset::Utf8mb4, read_as(charset), &b, &mut out);
            Val::Bytes(Cow::Owned(out))
        }
        other => other,
    }
}

/// Whether bytes are given where the others must be bytes too.
fn is_bytes(e: &Expr) -> bool {
    let var = matches!(
        e.ty.shape,
        Shape::Str {
            kind: StrKind::Var,
            ..
        }
    );
    var && e.ty.charset() == Charset::Binary
        && !matches!(e.node, Node::Param(..))
        && !matches!(e.as_const(), Some(Val::Null))
}

/// Whether it may stand beside bytes.
fn beside_bytes(e: &Expr) -> bool {
    !matches!(e.ty.shape, Shape::Str { .. }) || e.ty.charset() == Charset::Binary
}

/// Whether bytes and characters stand side by side: error 3995.
pub(super) fn check_bytes(args: &[Expr], usage: RegexpUse) -> Result<(), SqlError> {
    let mismatch = |a: &Expr, b: &Expr| {
        SqlError::new(
            codes::ER_CHARACTER_SET_MISMATCH,
            format!(
                "Character set '{}' cannot be used in conjunction with '{}' in call to {}.",
                a.ty.collation.name(),
                b.ty.collation.name(),
                usage.name()
            ),
        )
    };
    let against = |a: &Expr, b: &Expr| is_bytes(a) && !beside_bytes(b);
    let [text, pattern, ..] = args else {
        return Ok(());
    };
    if against(text, pattern) || against(pattern, text) {
        return Err(mismatch(text, pattern));
    }
    let with = args.get(2).filter(|_| usage == RegexpUse::Replace);
    if let Some(with) = with
        && [text, pattern]
            .iter()
            .any(|e| against(e, with) || against(with, e))
    {
        return Err(mismatch(text, with));
    }
    Ok(())
}

impl RegexpNode {
    fn flags_at(&self) -> usize {
        match self.usage {
            RegexpUse::Like => 2,
            RegexpUse::Instr | RegexpUse::Replace => 5,
            RegexpUse::Substr => 4,
        }
    }

    fn compile(&self, pattern: Cow<'_, [u8]>, flags: &[u8]) -> Result<Compiled, SqlError> {
        let flags = flags_of(flags, self.usage, self.collation)?;
        let pattern = utf8(pattern, self.collation.charset());
        let text = std::str::from_utf8(&pattern).map_err(|_| Fault::IllegalArgument)?;
        Ok(Compiled::new(text, flags)?)
    }

    /// Prepares the pattern where it and the flags are constant, and looks at the other constants.
    pub(super) fn prepare(&mut self) -> Result<(), SqlError> {
        if self.usage == RegexpUse::Instr
            && let Some(Val::Int(option)) = self.args.get(4).and_then(Expr::as_const)
        {
            return_option(*option)?;
        }
        let constant = |i: usize| match self.args.get(i) {
            None => Some(Cow::Borrowed(&b""[..])),
            Some(e) => match e.as_const()? {
                Val::Null => None,
                v => conv::into_text(v.clone(), &e.ty),
            },
        };
        let (Some(p), Some(f)) = (constant(1), constant(self.flags_at())) else {
            return Ok(());
        };
        self.prepared = Some(self.compile(p, &f)?);
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
        // The pattern is looked at first: what is wrong with it is said even of a NULL.
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
                let Some(pattern) = arg(1)? else {
                    flags_of(&flags, self.usage, self.collation)?;
                    return Ok(Val::Null);
                };
                cx.tick(pattern.len())?;
                made = self.compile(pattern, &flags)?;
                &made
            }
        };
        let charset = self.collation.charset();
        let subject = || -> Result<Option<Cow<'a, [u8]>>, SqlError> {
            let Some(text) = arg(0)? else {
                return Ok(None);
            };
            cx.tick(text.len())?;
            Ok(Some(utf8(text, charset)))
        };
        if self.usage == RegexpUse::Like {
            let Some(text) = subject()? else {
                return Ok(Val::Null);
            };
            return Ok(Val::Int(i64::from(regex.is_match(&text)? != self.negated)));
        }
        let first = self.usage.texts();
        let (Some(pos), Some(occurrence)) = (
            number(first, 1)?,
            number(first + 1, i64::from(self.usage != RegexpUse::Replace))?,
        ) else {
            return Ok(Val::Null);
        };
        let option = match self.usage {
            RegexpUse::Instr => match number(4, 0)? {
                None => return Ok(Val::Null),
                Some(option) => return_option(option)?,
            },
            _ if pos < 1 => {
                return Err(SqlError::new(
                    codes::ER_WRONG_PARAMETERS_TO_NATIVE_FCT,
                    format!(
                        "Incorrect parameters in the call to native function '{}'",
                        self.usage.name()
                    ),
                ));
            }
            _ => false,
        };
        let with = match self.usage {
            RegexpUse::Replace => match arg(2)? {
                Some(with) => Some(utf8(with, charset)),
                None => return Ok(Val::Null),
            },
            _ => None,
        };
        let Some(text) = subject()? else {
            return Ok(Val::Null);
        };
        // From here on, places are counted in characters of UTF-8.
        let chars = Charset::Utf8mb4.char_count(&text) as i64;
        if self.usage == RegexpUse::Instr {
            return position(regex, &text, (pos, chars), occurrence, option, cx);
        }
        if pos > chars + 1 {
            return Err(Fault::OutOfBounds.into());
        }
        let from = Charset::Utf8mb4.offset_of_char(&text, (pos - 1) as usize);
        let found = match with {
            None => match nth(regex, &text, from, occurrence, cx)? {
                Some((s, e)) => Val::owned(&text[s..e]),
                None => Val::Null,
            },
            Some(with) => replace(regex, &text, from, occurrence, &with, cx)?,
        };
        Ok(back(found, charset))
    }
}

/// Whether REGEXP_INSTR tells the end of the match.
fn return_option(option: i64) -> Result<bool, SqlError> {
    match option {
        0 | 1 => Ok(option == 1),
        _ => Err(wrong_arguments(
            "regexp_instr: return_option must be 1 or 0.",
        )),
    }
}

/// The place of a match. The text before the place where the search begins is not there for the pattern, and an empty text takes any
/// place for its beginning.
fn position<'a>(
    regex: &Compiled,
    text: &[u8],
    (pos, chars): (i64, i64),
    occurrence: i64,
    end: bool,
    cx: &EvalCtx<'_>,
) -> Result<Val<'a>, SqlError> {
    if chars > 0 && !(1..=chars).contains(&pos) {
        return Err(Fault::OutOfBounds.into());
    }
    let skipped = if chars > 0 { (pos - 1) as usize } else { 0 };
    let text = &text[Charset::Utf8mb4.offset_of_char(text, skipped)..];
    let hit = nth(regex, text, 0, occurrence, cx)?;
    Ok(Val::Int(hit.map_or(0, |(s, e)| {
        let before = &text[..if end { e } else { s }];
        (Charset::Utf8mb4.char_count(before) as i64).saturating_add(pos)
    })))
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
    regex.each_match(text, from, |groups| -> Result<bool, SqlError> {
        let Some(Some((start, end))) = groups.first().copied() else {
            return Ok(true);
        };
        cx.tick(end - start + 32)?;
        left -= 1;
        if left == 0 {
            hit = Some((start, end));
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
    let (mut done, mut number) = (0, 0);
    regex.each_match(text, from, |groups| -> Result<bool, SqlError> {
        let Some(Some((start, end))) = groups.first().copied() else {
            return Ok(true);
        };
        cx.tick(end - start + 64)?;
        number += 1;
        if number < occurrence {
            return Ok(true);
        }
        out.put(&text[done..start])?;
        expand(regex, text, &groups, with, &mut out)?;
        done = end;
        Ok(occurrence == 0)
    })?;
    out.put(&text[done..])?;
    Ok(out.value())
}

/// Appends a replacement: `$1` and `${name}` are groups, a backslash takes the next character literally.
fn expand(
    regex: &Compiled,
    text: &[u8],
    groups: &Groups,
    with: &[u8],
    out: &mut Limited<'_>,
) -> Result<(), SqlError> {
    let mut rest = with;
    while let Some((&b, behind)) = rest.split_first() {
        rest = behind;
        if b == b'\\' {
            rest = escape(rest, out)?;
            continue;
        }
        if b != b'$' {
            out.put(&[b])?;
            continue;
        }
        let group;
        (group, rest) = group_named(regex, rest)?;
        if let Some(Some((start, end))) = groups.get(group) {
            out.put(&text[*start..*end])?;
        }
    }
    Ok(())
}

/// Appends the character behind a backslash; `\u` and `\U` with their digits are one.
fn escape<'r>(rest: &'r [u8], out: &mut Limited<'_>) -> Result<&'r [u8], SqlError> {
    let digits = match rest.first() {
        None => return Ok(rest),
        Some(b'u') => 4,
        Some(b'U') => 8,
        Some(_) => 0,
    };
    let number = rest
        .get(1..=digits)
        .filter(|d| digits > 0 && d.iter().all(u8::is_ascii_hexdigit))
        .and_then(|d| std::str::from_utf8(d).ok())
        .and_then(|d| u32::from_str_radix(d, 16).ok())
        .and_then(char::from_u32);
    if let Some(c) = number {
        out.put(c.encode_utf8(&mut [0; 4]).as_bytes())?;
        return Ok(&rest[1 + digits..]);
    }
    out.put(&rest[..1])?;
    Ok(&rest[1..])
}

/// The group that is named behind a `$`, and what follows the name. A number has as many digits as make that of a group.
fn group_named<'r>(regex: &Compiled, rest: &'r [u8]) -> Result<(usize, &'r [u8]), SqlError> {
    let digit = |i: usize| match rest.get(i) {
        Some(d @ b'0'..=b'9') => Some(usize::from(d - b'0')),
        _ => None,
    };
    if let Some(mut n) = digit(0) {
        let mut used = 1;
        while let Some(d) = digit(used)
            && n * 10 + d <= regex.groups()
        {
            n = n * 10 + d;
            used += 1;
        }
        if n > regex.groups() {
            return Err(Fault::OutOfBounds.into());
        }
        return Ok((n, &rest[used..]));
    }
    let end = rest.iter().position(|b| *b == b'}');
    let (Some(b'{'), Some(end)) = (rest.first(), end) else {
        return Err(Fault::GroupName.into());
    };
    let name = std::str::from_utf8(&rest[1..end]).unwrap_or_default();
    match regex.named(name) {
        Some(n) => Ok((n, &rest[end + 1..])),
        None => Err(Fault::GroupName.into()),
    }
}
