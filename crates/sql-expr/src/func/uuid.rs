//! UUIDs. UUID() is version 1, as MySQL's: a time, a sequence and this server's node, so that it needs no randomness.

use types::SqlError;
use types::error::codes;

use super::infer::{ascii_or_null, int_or_null};
use super::{FuncDef, def, some};
use crate::node::Args;
use crate::node::Expr;
use crate::node::InferCx;
use crate::ty::{Coercibility, ExprType};
use crate::val::Val;
use types::collation::CollationId;

type Out<'a> = Result<Val<'a>, SqlError>;
type Inferred = Result<ExprType, SqlError>;

/// The table.
pub(super) const TABLE: &[FuncDef] = &[
    def("uuid", 0, 0, infer_uuid, uuid).light().per_row(),
    def("uuid_short", 0, 0, infer_short, uuid_short)
        .light()
        .per_row(),
    def("is_uuid", 1, 1, int_or_null::<1>, is_uuid).light(),
    def("uuid_to_bin", 1, 2, infer_bin, uuid_to_bin).light(),
    def("bin_to_uuid", 1, 2, ascii_or_null::<36>, bin_to_uuid).light(),
];

fn infer_uuid(_: &InferCx<'_>, _: &mut [Expr]) -> Inferred {
    Ok(ExprType::text(
        36,
        CollationId::UTF8MB3_GENERAL_CI,
        Coercibility::Literal,
        false,
    )
    .ascii())
}

/// 100-nanosecond intervals between 1582-10-15 and 1970-01-01.
const GREGORIAN: u64 = 122_192_928_000_000_000;

fn uuid(a: Args<'_>) -> Out<'_> {
    let n = a.cx.next_uuid();
    let facts = a.cx.facts;
    let ticks = (a.cx.now_micros as u64)
        .wrapping_mul(10)
        .wrapping_add(GREGORIAN)
        .wrapping_add(u64::from(n % 10));
    // rows of one statement differ in the sequence, statements of one instant in the seed
    let sequence = (facts.seed as u16).wrapping_add((n / 10) as u16) & 0x3FFF | 0x8000;
    let mut b = [0u8; 16];
    b[..4].copy_from_slice(&(ticks as u32).to_be_bytes());
    b[4..6].copy_from_slice(&((ticks >> 32) as u16).to_be_bytes());
    b[6..8].copy_from_slice(&((ticks >> 48) as u16 & 0x0FFF | 0x1000).to_be_bytes());
    b[8..10].copy_from_slice(&sequence.to_be_bytes());
    b[10..].copy_from_slice(&facts.node);
    for (x, s) in b[12..].iter_mut().zip((facts.seed >> 16).to_be_bytes()) {
        *x ^= s;
    }
    Ok(Val::owned(dashed(&b)))
}

fn dashed(b: &[u8; 16]) -> Vec<u8> {
    let mut hex = super::bits::hex_of(b);
    hex.make_ascii_lowercase();
    let mut out = Vec::with_capacity(36);
    for (i, c) in hex.into_iter().enumerate() {
        if matches!(i, 8 | 12 | 16 | 20) {
            out.push(b'-');
        }
        out.push(c);
    }
    out
}

fn infer_short(_: &InferCx<'_>, _: &mut [Expr]) -> Inferred {
    Ok(ExprType::uint(21, false))
}

fn uuid_short(a: Args<'_>) -> Out<'_> {
    let seconds = (a.cx.now_micros / 1_000_000) as u64 & 0xFFFF_FFFF;
    let n = u64::from(a.cx.next_uuid());
    let salt = a.cx.facts.seed & 0x00FF_FF00;
    Ok(Val::Uint(
        1 << 56 | seconds << 24 | (salt + n) & 0x00FF_FFFF,
    ))
}

/// The bytes of a UUID written with dashes, without them, or in braces.
fn parse(t: &[u8]) -> Option<[u8; 16]> {
    let t = match t {
        [b'{', inner @ .., b'}'] if inner.len() == 36 => inner,
        t => t,
    };
    let dashes = t.len() == 36;
    if !dashes && t.len() != 32 {
        return None;
    }
    let mut out = [0u8; 16];
    let mut n = 0;
    for (i, c) in t.iter().enumerate() {
        if dashes && matches!(i, 8 | 13 | 18 | 23) {
            if *c != b'-' {
                return None;
            }
            continue;
        }
        let d = (*c as char).to_digit(16)? as u8;
        out[n / 2] |= if n % 2 == 0 { d << 4 } else { d };
        n += 1;
    }
    Some(out)
}

fn is_uuid(a: Args<'_>) -> Out<'_> {
    let t = some!(a.text(0)?);
    Ok(Val::truth(Some(parse(&t).is_some())))
}

fn wrong(value: &[u8], function: &str) -> SqlError {
    SqlError::new(
        codes::ER_WRONG_VALUE_FOR_TYPE,
        format!(
            "Incorrect string value: '{}' for function {function}",
            String::from_utf8_lossy(value)
        ),
    )
}

fn infer_bin(_: &InferCx<'_>, _: &mut [Expr]) -> Inferred {
    Ok(ExprType::bytes(16, true))
}

fn swap(a: Args<'_>) -> Result<bool, SqlError> {
    Ok(a.len() > 1 && a.truth(1)? == Some(true))
}

fn uuid_to_bin(a: Args<'_>) -> Out<'_> {
    let t = some!(a.text(0)?);
    let b = parse(&t).ok_or_else(|| wrong(&t, "uuid_to_bin"))?;
    if !swap(a)? {
        return Ok(Val::owned(b));
    }
    let mut s = b;
    s[..2].copy_from_slice(&b[6..8]);
    s[2..4].copy_from_slice(&b[4..6]);
    s[4..8].copy_from_slice(&b[..4]);
    Ok(Val::owned(s))
}

fn bin_to_uuid(a: Args<'_>) -> Out<'_> {
    let t = some!(a.text(0)?);
    let s: [u8; 16] = t[..].try_into().map_err(|_| wrong(&t, "bin_to_uuid"))?;
    if !swap(a)? {
        return Ok(Val::owned(dashed(&s)));
    }
    let mut b = s;
    b[..4].copy_from_slice(&s[4..8]);
    b[4..6].copy_from_slice(&s[2..4]);
    b[6..8].copy_from_slice(&s[..2]);
    Ok(Val::owned(dashed(&b)))
}
