//! Network addresses as numbers and bytes.

use std::net::{Ipv4Addr, Ipv6Addr};

use types::SqlError;
use types::charset::Charset;
use types::error::codes;

use super::infer::{ascii_or_null, bytes, int_not_null};
use super::{FuncDef, def, some};
use crate::node::Args;
use crate::node::Expr;
use crate::node::InferCx;
use crate::ty::ExprType;
use crate::val::Val;

type Out<'a> = Result<Val<'a>, SqlError>;

/// The table.
pub(super) const TABLE: &[FuncDef] = &[
    def("inet_aton", 1, 1, infer_aton, inet_aton).light(),
    def("inet_ntoa", 1, 1, ascii_or_null::<15>, inet_ntoa).light(),
    def("inet6_aton", 1, 1, bytes::<16>, inet6_aton).light(),
    def("inet6_ntoa", 1, 1, ascii_or_null::<39>, inet6_ntoa).light(),
    def("is_ipv4", 1, 1, int_not_null::<1>, |a| {
        is(a, |t| v4(t).is_some())
    })
    .light(),
    def("is_ipv6", 1, 1, int_not_null::<1>, |a| {
        is(a, |t| v6(t).is_some())
    })
    .light(),
    def("is_ipv4_compat", 1, 1, int_not_null::<1>, |a| {
        is(a, |t| {
            // Neither `::` nor `::1` (RFC 4291, 2.5.5.1).
            matches!(t, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d]
                if u32::from_be_bytes([*a, *b, *c, *d]) > 1)
        })
    }),
    def("is_ipv4_mapped", 1, 1, int_not_null::<1>, |a| {
        is(a, |t| {
            t.len() == 16 && t[..10].iter().all(|b| *b == 0) && t[10..12] == [0xFF, 0xFF]
        })
    }),
];

fn infer_aton(_: &InferCx<'_>, _: &mut [Expr]) -> Result<ExprType, SqlError> {
    Ok(ExprType::uint(21, true))
}

fn inet_aton(a: Args<'_>) -> Out<'_> {
    let t = some!(a.text(0)?);
    let text = String::from_utf8_lossy(&t);
    let parts: Vec<&str> = text.split('.').collect();
    if parts.is_empty() || parts.len() > 4 {
        return Ok(Val::Null);
    }
    let mut n = 0u64;
    for (i, p) in parts.iter().enumerate() {
        let v: u64 = match p.parse() {
            Ok(v) if v <= 255 && p.bytes().all(|b| b.is_ascii_digit()) => v,
            _ => {
                a.cx.warn_error(SqlError::new(
                    codes::ER_WRONG_VALUE_FOR_TYPE,
                    format!("Incorrect string value: '{text}' for function inet_aton"),
                ));
                return Ok(Val::Null);
            }
        };
        // the short forms `a.b` and `a` leave the middle bytes zero
        if i + 1 == parts.len() {
            n = n << (8 * (4 - i)) | v;
        } else {
            n = n << 8 | v;
        }
    }
    if parts.len() == 4 {
        n = parts
            .iter()
            .fold(0, |n, p| n << 8 | p.parse::<u64>().unwrap_or(0));
    }
    Ok(Val::Uint(n))
}

fn inet_ntoa(a: Args<'_>) -> Out<'_> {
    let n = some!(a.int(0)?);
    match u32::try_from(n.wide()) {
        Ok(n) => Ok(Val::owned(Ipv4Addr::from(n).to_string())),
        Err(_) => Ok(Val::Null),
    }
}

fn v4(t: &[u8]) -> Option<Ipv4Addr> {
    std::str::from_utf8(t).ok()?.parse().ok()
}

fn v6(t: &[u8]) -> Option<Ipv6Addr> {
    std::str::from_utf8(t).ok()?.parse().ok()
}

fn inet6_aton(a: Args<'_>) -> Out<'_> {
    let t = some!(a.text(0)?);
    Ok(if let Some(ip) = v4(&t) {
        Val::owned(ip.octets())
    } else if let Some(ip) = v6(&t) {
        Val::owned(ip.octets())
    } else {
        Val::Null
    })
}

/// The text of an address: one whose first 96 bits are zero, and no more, ends in the four numbers of IPv4.
fn shown_v6(b: [u8; 16]) -> String {
    let ip = Ipv6Addr::from(b);
    match ip.segments() {
        [0, 0, 0, 0, 0, 0, high, _] if high != 0 => {
            format!("::{}", Ipv4Addr::new(b[12], b[13], b[14], b[15]))
        }
        _ => ip.to_string(),
    }
}

fn inet6_ntoa(a: Args<'_>) -> Out<'_> {
    let t = some!(a.text(0)?);
    if a.charset(0) != Charset::Binary {
        // Text is no address as bytes, whatever its length.
        return Ok(Val::Null);
    }
    Ok(if let Ok(b) = <[u8; 4]>::try_from(&t[..]) {
        Val::owned(Ipv4Addr::from(b).to_string())
    } else if let Ok(b) = <[u8; 16]>::try_from(&t[..]) {
        Val::owned(shown_v6(b))
    } else {
        Val::Null
    })
}

fn is(a: Args<'_>, test: fn(&[u8]) -> bool) -> Out<'_> {
    Ok(Val::truth(Some(a.text(0)?.is_some_and(|t| test(&t)))))
}
