//! Text functions that put together: CONCAT, REPLACE, INSERT, LPAD, REPEAT, TRIM, QUOTE, CHAR.

use types::SqlError;
use types::collation::ByteSearch;

use super::infer::{like_first, text_type};
use super::string::{connection_text, slice};
use super::{FuncDef, MANY, def, some};
use crate::conv;
use crate::limited::Put;
use crate::node::Args;
use crate::node::Expr;
use crate::node::InferCx;
use crate::ty::{Coercibility, ExprType};
use crate::val::Val;

type Out<'a> = Result<Val<'a>, SqlError>;
type Inferred = Result<ExprType, SqlError>;

/// The table.
pub(super) const TABLE: &[FuncDef] = &[
    def("concat", 1, MANY, infer_concat, concat).light(),
    def("concat_ws", 2, MANY, infer_concat_ws, concat_ws).light(),
    def("replace", 3, 3, infer_replace, replace),
    def("insert", 4, 4, infer_insert, insert),
    def("lpad", 3, 3, infer_pad, lpad),
    def("rpad", 3, 3, infer_pad, rpad),
    def("repeat", 2, 2, infer_repeat, repeat),
    def("space", 1, 1, infer_space, space),
    def("trim", 1, 2, infer_trim, |a| trim(a, true, true)).light(),
    def("ltrim", 1, 2, infer_trim, |a| trim(a, true, false)).light(),
    def("rtrim", 1, 2, infer_trim, |a| trim(a, false, true)).light(),
    def("quote", 1, 1, infer_quote, quote),
    def("char", 1, MANY, infer_char, char_fn).light(),
];

fn any_null(args: &[Expr]) -> bool {
    args.iter().any(|a| a.ty.nullable)
}

fn infer_concat(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let chars = args.iter().map(|a| u64::from(a.ty.chars())).sum();
    let mut ty = cx.text(args, chars)?;
    if args.iter().all(|a| !a.ty.is_text()) {
        // numbers alone make text of the connection
        ty = connection_text(cx, chars as u32, ty.nullable).ascii();
    }
    Ok(ty)
}

fn concat(a: Args<'_>) -> Out<'_> {
    if a.len() == 1 {
        return Ok(Val::Bytes(some!(a.text(0)?)));
    }
    let mut out = a.limited();
    for i in 0..a.len() {
        let v = a.val(i)?;
        if v.is_null() {
            return Ok(Val::Null);
        }
        out.put(&conv::text_of(&v, a.ty(i)))?;
    }
    Ok(out.value())
}

fn infer_concat_ws(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let nullable = args[0].ty.nullable;
    let sep = u64::from(args[0].ty.chars());
    let chars = args[1..]
        .iter()
        .map(|a| u64::from(a.ty.chars()) + sep)
        .sum::<u64>()
        .saturating_sub(sep);
    let c = cx.unify(args.iter_mut(), false)?;
    Ok(text_type(c, chars, nullable))
}

fn concat_ws(a: Args<'_>) -> Out<'_> {
    let sep = some!(a.text(0)?);
    let mut out = a.limited();
    let mut first = true;
    for i in 1..a.len() {
        let v = a.val(i)?;
        if v.is_null() {
            continue;
        }
        if !std::mem::take(&mut first) {
            out.put(&sep)?;
        }
        out.put(&conv::text_of(&v, a.ty(i)))?;
    }
    Ok(out.value())
}

fn infer_replace(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let chars = u64::from(args[0].ty.chars());
    // What is looked for may be one character.
    let grown = chars.saturating_mul(u64::from(args[2].ty.chars().max(1)));
    let nullable = any_null(args);
    let c = cx.unify(args.iter_mut(), true)?;
    Ok(text_type(c, grown, nullable))
}

fn replace(a: Args<'_>) -> Out<'_> {
    let (t, from, to) = (some!(a.text(0)?), some!(a.text(1)?), some!(a.text(2)?));
    if from.is_empty() {
        return Ok(Val::Bytes(t));
    }
    let cs = a.ty.charset();
    let search = ByteSearch::new(cs, &from);
    let mut out = a.limited();
    let mut at = 0;
    while let Some(i) = search.find(&t, at, a.cx.pace())? {
        out.put(&t[at..i])?;
        out.put(&to)?;
        at = i + from.len();
    }
    if at == 0 {
        return Ok(Val::Bytes(t));
    }
    out.put(&t[at..])?;
    Ok(out.value())
}

fn infer_insert(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let chars = u64::from(args[0].ty.chars()) + u64::from(args[3].ty.chars());
    let nullable = any_null(args);
    let [first, _, _, last] = args else {
        return Err(SqlError::wrong_param_count(cx.name));
    };
    let c = cx.unify([first, last], false)?;
    Ok(text_type(c, chars, nullable))
}

fn insert(a: Args<'_>) -> Out<'_> {
    let t = some!(a.text(0)?);
    let (pos, len) = (some!(a.i64(1)?), some!(a.i64(2)?));
    let with = some!(a.text(3)?);
    let cs = a.ty.charset();
    let chars = cs.char_count(&t) as i64;
    if pos < 1 || pos > chars {
        return Ok(Val::Bytes(t));
    }
    let from = cs.offset_of_char(&t, (pos - 1) as usize);
    let to = if len < 0 || len > chars - pos + 1 {
        t.len()
    } else {
        from + cs.offset_of_char(&t[from..], len as usize)
    };
    let mut out = a.limited();
    out.put(&t[..from])?;
    out.put(&with)?;
    out.put(&t[to..])?;
    Ok(out.value())
}

fn infer_pad(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let chars = match args[1].as_const() {
        Some(Val::Int(n)) => u64::try_from(*n).unwrap_or(0),
        _ => 16_777_216,
    };
    let [text, _, pad] = args else {
        return Err(SqlError::wrong_param_count(cx.name));
    };
    let c = cx.unify([text, pad], false)?;
    Ok(text_type(c, chars, true))
}

fn pad(a: Args<'_>, before: bool) -> Out<'_> {
    let t = some!(a.text(0)?);
    let n = some!(a.i64(1)?);
    let with = some!(a.text(2)?);
    let Ok(n) = usize::try_from(n) else {
        return Ok(Val::Null);
    };
    let cs = a.ty.charset();
    let have = cs.char_count(&t);
    if n <= have {
        let end = cs.offset_of_char(&t, n);
        return Ok(slice(t, 0, end));
    }
    let mut out = a.limited();
    // A character is a byte at least.
    out.reserve(n)?;
    let pad_chars = cs.char_count(&with);
    if pad_chars == 0 {
        return Ok(Val::borrowed(b""));
    }
    let missing = n - have;
    let end = cs.offset_of_char(&with, missing % pad_chars);
    if !before {
        out.put(&t)?;
    }
    out.repeat(&with, missing / pad_chars)?;
    out.put(&with[..end])?;
    if before {
        out.put(&t)?;
    }
    Ok(out.value())
}

fn lpad(a: Args<'_>) -> Out<'_> {
    pad(a, true)
}

fn rpad(a: Args<'_>) -> Out<'_> {
    pad(a, false)
}

fn infer_repeat(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let n = match args[1].as_const() {
        Some(Val::Int(n)) => u64::try_from(*n).unwrap_or(0),
        _ => 16_777_216,
    };
    let nullable = any_null(args);
    let chars = u64::from(args[0].ty.chars()).saturating_mul(n);
    let c = cx.unify(args.iter_mut().take(1), false)?;
    Ok(text_type(c, chars, nullable))
}

fn repeat(a: Args<'_>) -> Out<'_> {
    let t = some!(a.text(0)?);
    let n = usize::try_from(some!(a.i64(1)?)).unwrap_or(0);
    let mut out = a.limited();
    out.repeat(&t, n)?;
    Ok(out.value())
}

fn infer_space(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let chars = match args[0].as_const() {
        Some(Val::Int(n)) => u32::try_from(*n).unwrap_or(0),
        _ => 16_777_216,
    };
    Ok(connection_text(cx, chars, args[0].ty.nullable).ascii())
}

fn space(a: Args<'_>) -> Out<'_> {
    let n = usize::try_from(some!(a.i64(0)?)).unwrap_or(0);
    let mut out = a.limited();
    out.repeat(b" ", n)?;
    Ok(out.value())
}

fn infer_trim(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let nullable = any_null(args);
    if args.len() == 1 {
        return like_first(cx, args);
    }
    let chars = u64::from(args[0].ty.chars());
    let c = cx.unify(args.iter_mut(), true)?;
    Ok(text_type(c, chars, nullable))
}

fn trim(a: Args<'_>, front: bool, back: bool) -> Out<'_> {
    let t = some!(a.text(0)?);
    let what = if a.len() > 1 {
        some!(a.text(1)?)
    } else {
        b" "[..].into()
    };
    let (mut from, mut to) = (0, t.len());
    if !what.is_empty() {
        while front && t[from..to].starts_with(&what) {
            from += what.len();
        }
        while back && t[from..to].ends_with(&what) {
            to -= what.len();
        }
    }
    Ok(slice(t, from, to))
}

fn infer_quote(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let chars = u64::from(args[0].ty.chars()) * 2 + 2;
    let c = cx.unify(args.iter_mut(), false)?;
    Ok(text_type(c, chars, false))
}

fn quote(a: Args<'_>) -> Out<'_> {
    let Some(t) = a.text(0)? else {
        return Ok(Val::borrowed(b"NULL"));
    };
    let mut out = a.limited();
    out.put(b"'")?;
    for &b in t.iter() {
        match b {
            b'\'' | b'\\' => out.put(&[b'\\', b])?,
            0 => out.put(b"\\0")?,
            0x1A => out.put(b"\\Z")?,
            b => out.put(&[b])?,
        }
    }
    out.put(b"'")?;
    Ok(out.value())
}

fn infer_char(_: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    // No stronger than a literal: beside a column it is text of the column's character set.
    let mut ty = ExprType::bytes(args.len() as u32 * 4, false);
    ty.coercibility = Coercibility::Literal;
    Ok(ty)
}

fn char_fn(a: Args<'_>) -> Out<'_> {
    let mut out = Vec::new();
    for i in 0..a.len() {
        if let Some(n) = a.int(i)? {
            let b = (n.bits() as u32).to_be_bytes();
            let skip = b.iter().take(3).take_while(|b| **b == 0).count();
            out.extend_from_slice(&b[skip..]);
        }
    }
    Ok(Val::owned(out))
}
