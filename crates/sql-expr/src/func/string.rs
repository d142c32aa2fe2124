//! Text functions that measure, find, compare and take apart.

use std::borrow::Cow;

use types::SqlError;
use types::charset::Charset;
use types::collation::{ByteSearch, CollationId};

use super::infer::{int, like_first, long_bytes, text_type};
use super::{FuncDef, MANY, def, some};
use crate::node::Args;
use crate::node::Expr;
use crate::node::InferCx;
use crate::ty::{Coercibility, ExprType};
use crate::val::Val;

type Out<'a> = Result<Val<'a>, SqlError>;
type Inferred = Result<ExprType, SqlError>;
type Text<'a> = Cow<'a, [u8]>;

/// The table.
pub(super) const TABLE: &[FuncDef] = &[
    def("length", 1, 1, int::<10>, length).light(),
    def("octet_length", 1, 1, int::<10>, length).light(),
    def("bit_length", 1, 1, int::<11>, bit_length).light(),
    def("char_length", 1, 1, int::<10>, char_length).light(),
    def("character_length", 1, 1, int::<10>, char_length).light(),
    def("ascii", 1, 1, int::<3>, ascii).light(),
    def("ord", 1, 1, int::<21>, ord).light(),
    def("lower", 1, 1, like_first, lower).light(),
    def("lcase", 1, 1, like_first, lower).light(),
    def("upper", 1, 1, like_first, upper).light(),
    def("ucase", 1, 1, like_first, upper).light(),
    def("reverse", 1, 1, like_first, reverse),
    def("left", 2, 2, infer_left, left).light(),
    def("right", 2, 2, infer_left, right).light(),
    def("substring", 2, 3, infer_substring, substring).light(),
    def("substr", 2, 3, infer_substring, substring).light(),
    def("mid", 3, 3, infer_substring, substring).light(),
    def("substring_index", 3, 3, infer_pair, substring_index),
    def("locate", 2, 3, infer_find, locate),
    def("position", 2, 2, infer_find, locate),
    def("instr", 2, 2, infer_find, instr),
    def("strcmp", 2, 2, infer_strcmp, strcmp).light(),
    def("find_in_set", 2, 2, infer_find, find_in_set),
    def("elt", 2, MANY, infer_elt, elt).light(),
    def("soundex", 1, 1, infer_soundex, soundex),
    def("weight_string", 1, 1, long_bytes, weight_string),
];

fn length(a: Args<'_>) -> Out<'_> {
    Ok(Val::Int(some!(a.text(0)?).len() as i64))
}

fn bit_length(a: Args<'_>) -> Out<'_> {
    Ok(Val::Int(some!(a.text(0)?).len() as i64 * 8))
}

fn char_length(a: Args<'_>) -> Out<'_> {
    let t = some!(a.text(0)?);
    Ok(Val::Int(a.charset(0).char_count(&t) as i64))
}

fn ascii(a: Args<'_>) -> Out<'_> {
    let t = some!(a.text(0)?);
    Ok(Val::Int(t.first().map_or(0, |b| i64::from(*b))))
}

fn ord(a: Args<'_>) -> Out<'_> {
    let t = some!(a.text(0)?);
    let len = a.charset(0).next_char(&t).map_or(0, |(_, n)| n);
    Ok(Val::Int(
        t[..len].iter().fold(0, |n, b| n << 8 | i64::from(*b)),
    ))
}

/// The collation of argument `i` as text.
fn collation(a: Args<'_>, i: usize) -> CollationId {
    let ty = a.ty(i);
    if ty.is_text() {
        ty.collation
    } else {
        a.cx.collation
    }
}

fn lower(a: Args<'_>) -> Out<'_> {
    let t = some!(a.text(0)?);
    // A letter of the other case may be longer.
    a.room(2 * t.len())?;
    let mut out = Vec::with_capacity(t.len());
    collation(a, 0).lower(&t, &mut out);
    Ok(Val::owned(out))
}

fn upper(a: Args<'_>) -> Out<'_> {
    let t = some!(a.text(0)?);
    // A letter of the other case may be longer.
    a.room(2 * t.len())?;
    let mut out = Vec::with_capacity(t.len());
    collation(a, 0).upper(&t, &mut out);
    Ok(Val::owned(out))
}

fn reverse(a: Args<'_>) -> Out<'_> {
    let t = some!(a.text(0)?);
    let cs = a.charset(0);
    a.room(t.len())?;
    let mut out = vec![0; t.len()];
    let (mut rest, mut end): (&[u8], usize) = (&t, t.len());
    while let Some((_, n)) = cs.next_char(rest) {
        out[end - n..end].copy_from_slice(&rest[..n]);
        end -= n;
        rest = &rest[n..];
    }
    Ok(Val::owned(out))
}

fn infer_left(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let nullable = args.iter().any(|a| a.ty.nullable);
    let mut chars = u64::from(args[0].ty.chars());
    if let Some(Val::Int(n)) = args[1].as_const() {
        chars = chars.min(u64::try_from(*n).unwrap_or(0));
    }
    let c = cx.unify(args.iter_mut().take(1), false)?;
    Ok(text_type(c, chars, nullable))
}

/// A piece of text without copying it where it is borrowed. A small piece does not keep the room of the whole.
pub(super) fn slice(t: Cow<'_, [u8]>, from: usize, to: usize) -> Val<'_> {
    match t {
        Cow::Borrowed(b) => Val::borrowed(&b[from..to]),
        Cow::Owned(v) if to - from < v.capacity() / 2 => Val::owned(&v[from..to]),
        Cow::Owned(mut v) => {
            v.truncate(to);
            v.drain(..from);
            Val::owned(v)
        }
    }
}

/// A count of characters from a number: none for what is not above zero.
fn count(n: i64) -> usize {
    usize::try_from(n).unwrap_or(0)
}

fn left(a: Args<'_>) -> Out<'_> {
    let t = some!(a.text(0)?);
    let n = count(some!(a.i64(1)?));
    let end = a.charset(0).offset_of_char(&t, n);
    Ok(slice(t, 0, end))
}

fn right(a: Args<'_>) -> Out<'_> {
    let t = some!(a.text(0)?);
    let n = count(some!(a.i64(1)?));
    let cs = a.charset(0);
    let chars = cs.char_count(&t);
    let from = cs.offset_of_char(&t, chars.saturating_sub(n));
    let end = t.len();
    Ok(slice(t, from, end))
}

/// What is known of the place and the length says how long it is at most.
fn infer_substring(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let nullable = args.iter().any(|a| a.ty.nullable);
    let mut chars = u64::from(args[0].ty.chars());
    let known = |n: usize| match args.get(n)?.as_const()? {
        Val::Int(n) => Some(*n),
        _ => None,
    };
    match known(1) {
        // From the end, where a text that is shorter has nothing.
        Some(from @ ..0) => {
            chars = if from.unsigned_abs() > chars {
                0
            } else {
                from.unsigned_abs()
            }
        }
        Some(0) => chars = 0,
        Some(from) => chars = chars.saturating_sub(from as u64 - 1),
        None => {}
    }
    if let Some(len) = known(2) {
        chars = chars.min(u64::try_from(len).unwrap_or(0));
    }
    let c = cx.unify(args.iter_mut().take(1), false)?;
    Ok(text_type(c, chars, nullable))
}

fn substring(a: Args<'_>) -> Out<'_> {
    let t = some!(a.text(0)?);
    let pos = some!(a.i64(1)?);
    let len = some!(a.i64_or(2, i64::MAX)?);
    let (from, to) = substring_of(a.charset(0), &t, pos, len);
    if from == to {
        return Ok(Val::borrowed(b""));
    }
    Ok(slice(t, from, to))
}

/// Where the part of a text begins and ends that has `len` characters from number `pos` on, below zero from the end.
pub(crate) fn substring_of(cs: Charset, t: &[u8], pos: i64, len: i64) -> (usize, usize) {
    if pos == 0 || len <= 0 {
        return (0, 0);
    }
    let start = if pos > 0 {
        pos as usize - 1
    } else {
        let chars = cs.char_count(t);
        match chars.checked_sub(usize::try_from(pos.unsigned_abs()).unwrap_or(usize::MAX)) {
            Some(s) => s,
            None => return (0, 0),
        }
    };
    let from = cs.offset_of_char(t, start);
    let to = from + cs.offset_of_char(&t[from..], count(len));
    (from, to)
}

fn infer_pair(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let nullable = args.iter().any(|a| a.ty.nullable);
    let chars = u64::from(args[0].ty.chars());
    let c = cx.unify(args.iter_mut().take(2), true)?;
    Ok(text_type(c, chars, nullable))
}

/// Byte position of the occurrence number `k` of `needle` in `t`, from the left, not overlapping; or how many there are.
fn occurrence(
    a: Args<'_>,
    t: &[u8],
    needle: &[u8],
    k: usize,
) -> Result<Result<usize, usize>, SqlError> {
    let search = ByteSearch::new(a.ty.charset(), needle);
    let (mut at, mut seen) = (0, 0);
    while let Some(i) = search.find(t, at, a.cx.pace())? {
        if seen == k {
            return Ok(Ok(i));
        }
        seen += 1;
        at = i + needle.len();
    }
    Ok(Err(seen))
}

fn substring_index(a: Args<'_>) -> Out<'_> {
    let (t, sep) = (some!(a.text(0)?), some!(a.text(1)?));
    let n = some!(a.i64(2)?);
    if n == 0 || sep.is_empty() || t.is_empty() {
        return Ok(Val::borrowed(b""));
    }
    let k = usize::try_from(n.unsigned_abs()).unwrap_or(usize::MAX);
    let end = t.len();
    if n > 0 {
        return Ok(match occurrence(a, &t, &sep, k - 1)? {
            Ok(p) => slice(t, 0, p),
            Err(_) => Val::Bytes(t),
        });
    }
    let all = occurrence(a, &t, &sep, usize::MAX)?.unwrap_or_else(|n| n);
    let Some(i) = all.checked_sub(k) else {
        return Ok(Val::Bytes(t));
    };
    Ok(match occurrence(a, &t, &sep, i)? {
        Ok(p) => slice(t, p + sep.len(), end),
        Err(_) => Val::Bytes(t),
    })
}

fn infer_find(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let nullable = args.iter().any(|a| a.ty.nullable);
    cx.unify(args.iter_mut().take(2), true)?;
    Ok(ExprType::int(11, nullable))
}

/// The collation two arguments are compared by.
fn joint(a: Args<'_>, i: usize, j: usize) -> Result<CollationId, SqlError> {
    crate::collate::aggregate([a.ty(i), a.ty(j)], a.cx.collation, true, "locate")
        .map(|c| c.collation)
}

/// Two texts. Both are computed, with their warnings, though one of them is NULL.
fn both<'a>(a: &Args<'a>, i: usize, j: usize) -> Result<Option<(Text<'a>, Text<'a>)>, SqlError> {
    let (x, y) = (a.text(i)?, a.text(j)?);
    Ok(x.zip(y))
}

fn find(a: Args<'_>, text: usize, needle: usize, pos: Option<usize>) -> Out<'_> {
    let (t, n) = some!(both(&a, text, needle)?);
    let pos = some!(pos.map_or(Ok(Some(1)), |p| a.i64(p))?);
    let collation = joint(a, text, needle)?;
    let cs = collation.charset();
    let chars = cs.char_count(&t) as i64;
    if pos < 1 || pos > chars + 1 {
        return Ok(Val::Int(0));
    }
    if n.is_empty() {
        return Ok(Val::Int(pos));
    }
    let from = cs.offset_of_char(&t, (pos - 1) as usize);
    Ok(Val::Int(
        match collation.find(&t, &n, from, a.cx.pace())? {
            Some(at) => cs.char_count(&t[..at]) as i64 + 1,
            None => 0,
        },
    ))
}

fn locate(a: Args<'_>) -> Out<'_> {
    let pos = (a.len() > 2).then_some(2);
    find(a, 1, 0, pos)
}

fn instr(a: Args<'_>) -> Out<'_> {
    find(a, 0, 1, None)
}

fn infer_strcmp(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let nullable = args.iter().any(|a| a.ty.nullable);
    cx.unify(args.iter_mut(), true)?;
    Ok(ExprType::int(2, nullable))
}

fn strcmp(a: Args<'_>) -> Out<'_> {
    let (x, y) = some!(both(&a, 0, 1)?);
    Ok(Val::Int(joint(a, 0, 1)?.compare(&x, &y) as i64))
}

fn find_in_set(a: Args<'_>) -> Out<'_> {
    let (x, list) = some!(both(&a, 0, 1)?);
    let collation = joint(a, 0, 1)?;
    if list.is_empty() || x.contains(&b',') {
        return Ok(Val::Int(0));
    }
    for (i, w) in list.split(|b| *b == b',').enumerate() {
        a.cx.tick(w.len() + 4)?;
        if collation.equal(w, &x) {
            return Ok(Val::Int(i as i64 + 1));
        }
    }
    Ok(Val::Int(0))
}

fn infer_elt(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let chars = args[1..].iter().map(|a| a.ty.chars()).max().unwrap_or(0);
    let c = cx.unify(args[1..].iter_mut(), false)?;
    Ok(text_type(c, u64::from(chars), true))
}

fn elt(a: Args<'_>) -> Out<'_> {
    let n = some!(a.i64(0)?);
    match usize::try_from(n) {
        Ok(i) if i >= 1 && i < a.len() => Ok(Val::Bytes(some!(a.text(i)?))),
        _ => Ok(Val::Null),
    }
}

fn infer_soundex(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let t = args[0].ty;
    let c = cx.unify(args.iter_mut(), false)?;
    Ok(text_type(c, u64::from(t.chars().max(4)), t.nullable))
}

fn soundex(a: Args<'_>) -> Out<'_> {
    // codes of A to Z; vowels and H, W, Y have none
    const CODES: &[u8; 26] = b"01230120022455012623010202";
    let t = some!(a.text(0)?);
    let cs = a.charset(0);
    let mut out = Vec::new();
    let mut last = b'0';
    let mut rest: &[u8] = &t;
    while let Some((c, n)) = cs.next_char(rest) {
        let piece = &rest[..n];
        rest = &rest[n..];
        // Letters of English; of Unicode whatever stands behind the signs of Latin-1, of Latin-1 its letters.
        let beyond = |c: char| match cs {
            Charset::Utf8mb4 | Charset::Utf8mb3 => c >= '\u{C0}',
            Charset::Latin1 => c.is_alphabetic(),
            Charset::Ascii | Charset::Binary => false,
        };
        let letter = char::from_u32(c).filter(|c| c.is_ascii_alphabetic() || beyond(*c));
        let Some(letter) = letter else { continue };
        let up = letter.to_ascii_uppercase();
        let code = if up.is_ascii_uppercase() {
            CODES[up as usize - 'A' as usize]
        } else {
            b'0'
        };
        if out.is_empty() {
            if up.is_ascii() {
                out.push(up as u8);
            } else {
                out.extend_from_slice(piece);
            }
            last = code;
        } else if code != b'0' && code != last {
            // The original algorithm: letters without a code go first, and do not part equal ones.
            out.push(code);
            last = code;
        }
    }
    if !out.is_empty() {
        // Four characters; the first may have several bytes.
        let missing = 4usize.saturating_sub(cs.char_count(&out));
        out.resize(out.len() + missing, b'0');
    }
    Ok(Val::owned(out))
}

/// What a byte takes as weights, in a vector that grows.
const WEIGHTS: usize = 6;

fn weight_string(a: Args<'_>) -> Out<'_> {
    if !a.ty(0).is_text() {
        return Ok(Val::Null);
    }
    let t = some!(a.text(0)?);
    a.room(t.len().saturating_mul(WEIGHTS))?;
    let mut out = Vec::new();
    a.ty(0).collation.weight_string(&t, &mut out);
    Ok(Val::owned(out))
}

/// The type of text that a function makes of the connection's collation.
pub(super) fn connection_text(cx: &InferCx<'_>, chars: u32, nullable: bool) -> ExprType {
    ExprType::text(chars, cx.connection, Coercibility::Literal, nullable)
}
