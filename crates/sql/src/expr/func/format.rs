//! Numbers and bytes formatted for people: FORMAT, FORMAT_BYTES, FORMAT_PICO_TIME.

use types::SqlError;

use super::args::Args;
use super::infer::{InferCx, ascii_or_null};
use super::{FuncDef, def, some};
use crate::expr::node::Expr;
use crate::expr::ty::ExprType;
use crate::expr::val::{Num, Val};

type Out<'a> = Result<Val<'a>, SqlError>;

/// The table.
pub(super) const TABLE: &[FuncDef] = &[
    def("format", 2, 3, infer_format, format),
    def("format_bytes", 1, 1, ascii_or_null::<16>, format_bytes),
    def(
        "format_pico_time",
        1,
        1,
        ascii_or_null::<16>,
        format_pico_time,
    ),
];

fn infer_format(cx: &InferCx<'_>, args: &mut [Expr]) -> Result<ExprType, SqlError> {
    let digits = args[0].ty.chars();
    Ok(cx.ascii(digits + digits / 3 + 31, true))
}

fn format(a: Args<'_>) -> Out<'_> {
    let n = some!(a.num(0)?);
    let places = some!(a.i64(1)?).clamp(0, 30) as u8;
    let text = match n {
        Num::Double(d) => format!("{d:.*}", usize::from(places)),
        n => {
            let d = n.to_decimal();
            d.rescale(places).unwrap_or(d).to_string()
        }
    };
    let (thousands, point) = separators(&a)?;
    let (sign, digits) = match text.strip_prefix('-') {
        Some(d) => ("-", d),
        None => ("", text.as_str()),
    };
    let (whole, frac) = digits.split_once('.').unwrap_or((digits, ""));
    let mut out = String::with_capacity(text.len() * 4 / 3 + 2);
    out.push_str(sign);
    for (i, c) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push_str(thousands);
        }
        out.push(c);
    }
    if !frac.is_empty() {
        out.push_str(point);
        out.push_str(frac);
    }
    Ok(Val::owned(out.into_bytes()))
}

/// Thousands separator and decimal point of the locale in the third argument.
fn separators(a: &Args<'_>) -> Result<(&'static str, &'static str), SqlError> {
    if a.len() < 3 {
        return Ok((",", "."));
    }
    let locale = a.text(2)?.unwrap_or_default();
    let language = locale.split(|b| *b == b'_').next().unwrap_or_default();
    Ok(match (language, &locale[..]) {
        (_, b"de_CH") => ("'", "."),
        (b"de" | b"es" | b"id" | b"nl" | b"tr" | b"da" | b"is" | b"pt" | b"el" | b"it", _) => {
            (".", ",")
        }
        (
            b"fr" | b"cs" | b"sk" | b"fi" | b"sv" | b"nb" | b"no" | b"pl" | b"ru" | b"uk" | b"bg"
            | b"hu",
            _,
        ) => ("", ","),
        _ => (",", "."),
    })
}

fn scaled(v: f64, units: &[(&str, f64)], plain: &str) -> Val<'static> {
    let unit = units.iter().rev().find(|(_, f)| v.abs() >= *f);
    let text = match unit {
        Some((name, f)) => format!("{:.2} {name}", v / f),
        None => format!("{v:4.0} {plain}"),
    };
    Val::owned(text.into_bytes())
}

fn format_bytes(a: Args<'_>) -> Out<'_> {
    let v = some!(a.f64(0)?);
    const UNITS: [(&str, f64); 6] = [
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
        ("TiB", 1_099_511_627_776.0),
        ("PiB", 1_125_899_906_842_624.0),
        ("EiB", 1_152_921_504_606_846_976.0),
    ];
    Ok(scaled(v, &UNITS, "bytes"))
}

fn format_pico_time(a: Args<'_>) -> Out<'_> {
    let v = some!(a.f64(0)?);
    const UNITS: [(&str, f64); 7] = [
        ("ns", 1e3),
        ("us", 1e6),
        ("ms", 1e9),
        ("s", 1e12),
        ("min", 6e13),
        ("h", 3.6e15),
        ("d", 8.64e16),
    ];
    Ok(scaled(v, &UNITS, "ps"))
}
