//! Numbers and bytes formatted for people: FORMAT, FORMAT_BYTES, FORMAT_PICO_TIME.

use types::SqlError;
use types::error::codes;
use types::temporal::locale::{ENGLISH, Locale};

use super::infer::ascii_or_null;
use super::{FuncDef, def, some};
use crate::conv;
use crate::node::Args;
use crate::node::Expr;
use crate::node::InferCx;
use crate::ty::ExprType;
use crate::val::{Num, Val};

type Out<'a> = Result<Val<'a>, SqlError>;

/// The table.
pub(super) const TABLE: &[FuncDef] = &[
    def("format", 2, 3, infer_format, format).light(),
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
    let separated = digits.saturating_add(digits / 3);
    Ok(cx.ascii(separated.saturating_add(31), true))
}

fn format(a: Args<'_>) -> Out<'_> {
    let n = some!(a.num(0)?);
    // What is no number by its type is a double.
    let n = match a.ty(0).is_number() {
        true => n,
        false => Num::Double(n.to_f64()),
    };
    let places = some!(a.i64(1)?).clamp(0, 30) as u8;
    let text = match n {
        Num::Double(d) => {
            let rounded = super::numeric::round_double(d, i64::from(places), false);
            let mut text = Vec::new();
            conv::write_double(rounded, places, &mut text);
            String::from_utf8_lossy(&text).into_owned()
        }
        n => {
            let d = n.to_decimal();
            d.rescale(places).unwrap_or(d).to_string()
        }
    };
    let locale = locale(&a)?;
    let (sign, digits) = match text.strip_prefix('-') {
        Some(d) => ("-", d),
        None => ("", text.as_str()),
    };
    let (whole, frac) = digits.split_once('.').unwrap_or((digits, ""));
    let mut out = String::with_capacity(text.len() * 4 / 3 + 2);
    out.push_str(sign);
    locale.grouped(whole, &mut out);
    if !frac.is_empty() {
        out.push_str(locale.point);
        out.push_str(frac);
    }
    Ok(Val::owned(out.into_bytes()))
}

/// The locale in the third argument.
fn locale(a: &Args<'_>) -> Result<&'static Locale, SqlError> {
    if a.len() < 3 {
        return Ok(&ENGLISH);
    }
    let given = a.text(2)?;
    if let Some(known) = given.as_ref().and_then(|l| Locale::by_name(l)) {
        return Ok(known);
    }
    let shown = given.map_or("NULL".into(), |l| conv::shown(&l).into_owned());
    a.cx.warn_error(SqlError::new(
        codes::ER_UNKNOWN_LOCALE,
        format!("Unknown locale: '{shown}'"),
    ));
    Ok(&ENGLISH)
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
