//! Numbers as text in other bases and bits: HEX, UNHEX, BIN, OCT, BIT_COUNT, EXPORT_SET, MAKE_SET, CRC32.

use types::SqlError;
use types::error::codes;

use super::infer::{ascii, bytes, int, text_type, uint};
use super::numeric::{Digits, in_base};
use super::{FuncDef, MANY, def, some};
use crate::base64;
use crate::collate::Collated;
use crate::conv;
use crate::limited::Put;
use crate::node::Args;
use crate::node::Expr;
use crate::node::InferCx;
use crate::ty::{Coercibility, ExprType};
use crate::val::{Int, Val};

type Out<'a> = Result<Val<'a>, SqlError>;
type Inferred = Result<ExprType, SqlError>;

/// The table.
pub(super) const TABLE: &[FuncDef] = &[
    def("hex", 1, 1, infer_hex, hex),
    def("unhex", 1, 1, infer_unhex, unhex),
    def("bin", 1, 1, ascii::<64>, bin).light(),
    def("oct", 1, 1, ascii::<64>, oct).light(),
    def("bit_count", 1, 1, int::<2>, bit_count).light(),
    def("export_set", 3, 5, infer_export, export_set),
    def("make_set", 2, MANY, infer_make_set, make_set),
    def("crc32", 1, 1, uint, crc32).light(),
    def("to_base64", 1, 1, infer_base64, to_base64),
    def("from_base64", 1, 1, bytes::<65_535>, from_base64),
];

fn infer_hex(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let t = &args[0].ty;
    let width = if t.is_text() {
        2 * t.charset().max_len() as u32
    } else {
        1
    };
    let chars = t.chars().saturating_mul(width).max(16);
    Ok(cx.ascii(chars, t.nullable))
}

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// Two capital digits a byte.
pub(super) fn hex_of(b: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(b.len() * 2);
    for x in b {
        out.push(DIGITS[usize::from(x >> 4)]);
        out.push(DIGITS[usize::from(x & 15)]);
    }
    out
}

/// The nearest whole number, halves away from zero; all bits where there is none of 64.
fn whole_bits(x: f64) -> u64 {
    if x <= i64::MIN as f64 || x >= u64::MAX as f64 {
        return u64::MAX;
    }
    let nearest = x + 0.5f64.copysign(x);
    if nearest < 0.0 {
        nearest as i64 as u64
    } else {
        nearest as u64
    }
}

fn hex(a: Args<'_>) -> Out<'_> {
    let v = a.val(0)?;
    Ok(match v {
        Val::Null => Val::Null,
        Val::Int(i) => Val::owned(in_base(i as u64, 16, false)),
        Val::Uint(u) => Val::owned(in_base(u, 16, false)),
        Val::Bit(b, _) => Val::owned(in_base(b, 16, false)),
        Val::Double(_) | Val::Decimal(_) => {
            let x = some!(a.f64(0)?);
            Val::owned(in_base(whole_bits(x), 16, false))
        }
        v => match crate::conv::into_text(v, a.ty(0)) {
            Some(t) => {
                a.limited().reserve(t.len().saturating_mul(2))?;
                Val::owned(hex_of(&t))
            }
            None => Val::Null,
        },
    })
}

fn infer_unhex(_: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    Ok(ExprType::bytes(args[0].ty.chars().div_ceil(2), true))
}

fn unhex(a: Args<'_>) -> Out<'_> {
    let t = some!(a.text(0)?);
    let digit = |c: u8| (c as char).to_digit(16);
    a.room(t.len().div_ceil(2))?;
    let mut out = Vec::with_capacity(t.len().div_ceil(2));
    let mut rest: &[u8] = &t;
    if t.len() % 2 == 1 {
        out.push(match digit(t[0]) {
            Some(d) => d as u8,
            None => return Ok(Val::Null),
        });
        rest = &t[1..];
    }
    for pair in rest.chunks_exact(2) {
        match (digit(pair[0]), digit(pair[1])) {
            (Some(h), Some(l)) => out.push((h << 4 | l) as u8),
            _ => {
                a.cx.warn_error(SqlError::new(
                    codes::ER_WRONG_VALUE_FOR_TYPE,
                    format!(
                        "Incorrect string value: '{}' for function unhex",
                        crate::conv::shown(&t)
                    ),
                ));
                return Ok(Val::Null);
            }
        }
    }
    Ok(Val::owned(out))
}

/// A number in a base, as CONV(n, 10, base) has it: the whole number at the front of the text, without a warning.
fn based(a: Args<'_>, base: u64) -> Out<'_> {
    let n = match a.val(0)? {
        Val::Null => return Ok(Val::Null),
        v @ (Val::Int(_) | Val::Uint(_) | Val::Bit(..)) => conv::to_int(&v, a.cx).map(Int::bits),
        v => {
            let text = conv::text_of(&v, a.ty(0));
            a.cx.tick(text.len() / 4)?;
            // As in CONV, there is no number in nothing.
            (!text.is_empty()).then(|| Digits::read(&text, 10).bits())
        }
    };
    Ok(n.map_or(Val::Null, |n| Val::owned(in_base(n, base, false))))
}

fn bin(a: Args<'_>) -> Out<'_> {
    based(a, 2)
}

fn oct(a: Args<'_>) -> Out<'_> {
    based(a, 8)
}

fn bit_count(a: Args<'_>) -> Out<'_> {
    if a.ty(0).is_binary_text() {
        let t = some!(a.text(0)?);
        return Ok(Val::Int(t.iter().map(|b| i64::from(b.count_ones())).sum()));
    }
    let n = some!(a.int(0)?);
    Ok(Val::Int(i64::from(n.bits().count_ones())))
}

fn infer_export(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let nullable = args.iter().any(|a| a.ty.nullable);
    let word = args[1].ty.chars().max(args[2].ty.chars());
    let sep = args.get(3).map_or(1, |a| a.ty.chars());
    let last = args.len().min(4);
    let c = cx.unify(args[1..last].iter_mut(), false)?;
    Ok(text_type(
        c,
        u64::from(word) * 64 + u64::from(sep) * 63,
        nullable,
    ))
}

fn export_set(a: Args<'_>) -> Out<'_> {
    let bits = some!(a.int(0)?).bits();
    let (on, off) = (some!(a.text(1)?), some!(a.text(2)?));
    let sep = if a.len() > 3 {
        some!(a.text(3)?)
    } else {
        b","[..].into()
    };
    let n = some!(a.i64_or(4, 64)?);
    let n = if (0..=64).contains(&n) { n } else { 64 };
    let mut out = a.limited();
    for i in 0..n {
        if i > 0 {
            out.put(&sep)?;
        }
        out.put(if bits >> i & 1 == 1 { &on } else { &off })?;
    }
    Ok(out.value())
}

fn infer_make_set(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let nullable = args[0].ty.nullable;
    let chars: u64 = args[1..].iter().map(|a| u64::from(a.ty.chars()) + 1).sum();
    let c = cx.unify(args[1..].iter_mut(), false)?;
    Ok(text_type(c, chars.saturating_sub(1), nullable))
}

fn make_set(a: Args<'_>) -> Out<'_> {
    let bits = some!(a.int(0)?).bits();
    let mut out = a.limited();
    let mut first = true;
    for i in 1..a.len().min(65) {
        if bits >> (i - 1) & 1 == 0 {
            continue;
        }
        if let Some(t) = a.text(i)? {
            if !std::mem::take(&mut first) {
                out.put(b",")?;
            }
            out.put(&t)?;
        }
    }
    Ok(out.value())
}

/// CRC-32 of IEEE 802.3, reflected, polynomial 0xEDB88320.
static CRC: [u32; 256] = {
    let mut t = [0u32; 256];
    let mut i = 0;
    while i < 256 {
        let mut c = i as u32;
        let mut k = 0;
        while k < 8 {
            c = if c & 1 == 1 {
                0xEDB8_8320 ^ c >> 1
            } else {
                c >> 1
            };
            k += 1;
        }
        t[i] = c;
        i += 1;
    }
    t
};

fn crc32(a: Args<'_>) -> Out<'_> {
    let t = some!(a.text(0)?);
    let c = t
        .iter()
        .fold(u32::MAX, |c, b| CRC[usize::from(c as u8 ^ b)] ^ c >> 8);
    Ok(Val::Uint(u64::from(!c)))
}

fn infer_base64(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let t = &args[0].ty;
    let bytes = u64::from(t.chars()) * t.charset().max_len() as u64;
    let chars = bytes.div_ceil(3) * 4;
    let c = Collated {
        collation: cx.connection,
        coercibility: Coercibility::Literal,
        ascii: true,
    };
    Ok(text_type(c, chars + chars / 76, true))
}

fn to_base64(a: Args<'_>) -> Out<'_> {
    let t = some!(a.text(0)?);
    let mut out = a.limited();
    out.reserve(t.len().div_ceil(3).saturating_mul(4))?;
    base64::encode(&t, &mut out)?;
    Ok(out.value())
}

fn from_base64(a: Args<'_>) -> Out<'_> {
    let t = some!(a.text(0)?);
    a.room(t.len() / 4 * 3)?;
    Ok(base64::decode(&t).map_or(Val::Null, Val::owned))
}
