//! Values from one kind to another inside expressions: to numbers (text with warning 1292), to text, to times, to truth.
//! Assignment to columns has stricter rules and lives elsewhere.

use std::borrow::Cow;

use types::SqlError;
use types::decimal::Decimal;
use types::decimal::arith::Rounding;
use types::temporal::{Date, DateTime, Time};

use super::ctx::EvalCtx;
use super::date_text;
use super::ty::{ExprType, NOT_FIXED, Shape};
use super::val::{Int, Num, Val, literal_bits};

/// The longest piece at the front of `text` that is a number, spaces before it included: its length and whether
/// only spaces follow.
fn number_prefix(text: &[u8]) -> (usize, usize, bool) {
    let start = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let mut i = start;
    if matches!(text.get(i), Some(b'+' | b'-')) {
        i += 1;
    }
    let digits = |mut i: usize| {
        while text.get(i).is_some_and(u8::is_ascii_digit) {
            i += 1;
        }
        i
    };
    let whole = digits(i);
    let mut end = whole;
    let mut any = whole > i;
    if text.get(whole) == Some(&b'.') {
        let frac = digits(whole + 1);
        if frac > whole + 1 || any {
            any |= frac > whole + 1;
            end = frac;
        }
    }
    if !any {
        return (
            start,
            start,
            text.iter().all(u8::is_ascii_whitespace) && text.is_empty(),
        );
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let sign = end + 1 + usize::from(matches!(text.get(end + 1), Some(b'+' | b'-')));
        let exp = digits(sign);
        if exp > sign {
            end = exp;
        }
    }
    let clean = text[end..].iter().all(u8::is_ascii_whitespace);
    (start, end, clean)
}

/// The double at the front of a text, and whether all of it was one.
pub fn parse_double(text: &[u8]) -> (f64, bool) {
    let (start, end, clean) = number_prefix(text);
    let s = std::str::from_utf8(&text[start..end]).unwrap_or("");
    let s = s.strip_prefix('+').unwrap_or(s);
    match s.parse::<f64>() {
        Ok(d) if d.is_infinite() => (f64::MAX.copysign(d), false),
        Ok(d) => (d, clean),
        Err(_) => (0.0, false),
    }
}

/// As much of a text as messages show.
pub(super) fn shown(text: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(&text[..text.len().min(128)])
}

#[cold]
fn truncated(cx: &EvalCtx<'_>, kind: &str, text: &[u8]) {
    cx.warn_error(SqlError::truncated_wrong_value(kind, &shown(text)));
}

/// As a double, with warning 1292 for text that is none.
pub fn text_to_double(text: &[u8], cx: &EvalCtx<'_>) -> f64 {
    let (d, clean) = parse_double(text);
    if !clean {
        truncated(cx, "DOUBLE", text);
    }
    d
}

/// The number at the front of a text, without a warning.
pub(super) fn double_prefix(text: &[u8]) -> f64 {
    parse_double(text).0
}

/// As a whole number, with warning 1292 for text that is none; the fraction is cut off.
pub fn text_to_int(text: &[u8], cx: &EvalCtx<'_>) -> Int {
    let (n, clean) = whole_prefix(text);
    if !clean {
        truncated(cx, "INTEGER", text);
    }
    n
}

/// The whole number at the front of a text, brought within range, and whether all of the text was one.
pub(super) fn whole_prefix(text: &[u8]) -> (Int, bool) {
    let start = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let negative = text.get(start) == Some(&b'-');
    let mut i = start + usize::from(matches!(text.get(start), Some(b'+' | b'-')));
    let first = i;
    let mut v: i128 = 0;
    let mut over = false;
    while let Some(d) = text.get(i).filter(|b| b.is_ascii_digit()) {
        v = v * 10 + i128::from(d - b'0');
        if v > i128::from(u64::MAX) {
            v = i128::from(u64::MAX);
            over = true;
        }
        i += 1;
    }
    let clean = i > first && text[i..].iter().all(u8::is_ascii_whitespace);
    if negative {
        over |= v > -i128::from(i64::MIN);
        v = (-v).max(i128::from(i64::MIN));
    }
    let n = Int::from_i128(v).unwrap_or(Int::signed(0));
    (n, clean && !over)
}

/// As a decimal, with warning 1292 for text that is none.
pub fn text_to_decimal(text: &[u8], cx: &EvalCtx<'_>) -> Decimal {
    let p = Decimal::parse(text);
    let clean = p.used > 0 && text[p.used..].iter().all(u8::is_ascii_whitespace);
    if !clean || p.overflow {
        truncated(cx, "DECIMAL", text);
    }
    p.value
}

/// A time as a number: `hhmmss`, with the fraction where there is one.
fn time_num(t: Time) -> Num {
    if t.fsp() == 0 {
        Num::Int(t.to_number())
    } else {
        let whole = i128::from(t.to_number().abs()) * 1_000_000 + i128::from(t.micros());
        let signed = if t.is_negative() { -whole } else { whole };
        let d = Decimal::from_i128(signed, 6);
        Num::Decimal(d.rescale(t.fsp()).unwrap_or(d))
    }
}

/// A date and time as a number: `YYYYMMDDhhmmss`, with the fraction where there is one.
fn datetime_num(d: DateTime) -> Num {
    if d.fsp() == 0 {
        Num::Int(d.to_number() as i64)
    } else {
        let whole = i128::from(d.to_number()) * 1_000_000 + i128::from(d.micros());
        let dec = Decimal::from_i128(whole, 6);
        Num::Decimal(dec.rescale(d.fsp()).unwrap_or(dec))
    }
}

/// As a number; text becomes a double. `None` for NULL.
pub fn to_num(v: &Val<'_>, cx: &EvalCtx<'_>) -> Option<Num> {
    Some(match v {
        Val::Null => return None,
        Val::Int(i) => Num::Int(*i),
        Val::Uint(u) => Num::Uint(*u),
        Val::Double(d) => Num::Double(*d),
        Val::Decimal(d) => Num::Decimal(*d),
        Val::Bytes(b) => Num::Double(text_to_double(b, cx)),
        Val::Bit(b, _) => Num::Uint(*b),
        Val::Enum(n, _) => Num::Uint(u64::from(*n)),
        Val::Set(n, _) => Num::Uint(*n),
        Val::Date(d) => Num::Int(d.to_number() as i64),
        Val::Time(t) => time_num(*t),
        Val::DateTime(d) => datetime_num(*d),
    })
}

/// A value where a number is asked for: the number of a hexadecimal or bit literal, anything else as it is.
#[inline]
pub(super) fn numeric<'v>(v: Val<'v>, ty: &ExprType) -> Val<'v> {
    literal_bits(&v, ty).map_or(v, Val::Uint)
}

/// As a double.
pub fn to_double(v: &Val<'_>, cx: &EvalCtx<'_>) -> Option<f64> {
    match v {
        Val::Double(d) => Some(*d),
        _ => to_num(v, cx).map(Num::to_f64),
    }
}

/// As a decimal; text is read as one rather than as a double.
pub fn to_decimal(v: &Val<'_>, cx: &EvalCtx<'_>) -> Option<Decimal> {
    match v {
        Val::Decimal(d) => Some(*d),
        Val::Bytes(b) => Some(text_to_decimal(b, cx)),
        _ => to_num(v, cx).map(Num::to_decimal),
    }
}

/// As a whole number: fractions are rounded (text is cut at its first character that is no digit), what does
/// not fit is clamped.
pub fn to_int(v: &Val<'_>, cx: &EvalCtx<'_>) -> Option<Int> {
    Some(match v {
        Val::Null => return None,
        Val::Int(i) => Int::signed(*i),
        Val::Uint(u) => Int::unsigned(*u),
        Val::Bytes(b) => text_to_int(b, cx),
        _ => {
            let n = to_num(v, cx)?;
            match n.to_int() {
                Some(i) => i,
                None => {
                    cx.warn_error(SqlError::truncated_wrong_value(
                        "INTEGER",
                        &String::from_utf8_lossy(&text_of(&n.val(), &ExprType::double(true))),
                    ));
                    if n.to_f64() < 0.0 {
                        Int::signed(i64::MIN)
                    } else if matches!(n, Num::Double(_)) {
                        Int::signed(i64::MAX)
                    } else {
                        Int::unsigned(u64::MAX)
                    }
                }
            }
        }
    })
}

/// Whether it counts as true; `None` for NULL.
pub fn to_truth(v: &Val<'_>, cx: &EvalCtx<'_>) -> Option<bool> {
    match v {
        Val::Null => None,
        Val::Int(i) => Some(*i != 0),
        Val::Uint(u) => Some(*u != 0),
        _ => to_num(v, cx).map(|n| !n.is_zero()),
    }
}

/// Appends a double as MySQL prints one: with `scale` digits where fixed, else the shortest that reads back.
pub fn write_double(d: f64, scale: u8, out: &mut Vec<u8>) {
    if scale < NOT_FIXED {
        types::convert::write_double_fixed(d, scale, out);
    } else {
        types::convert::write_double(d, out);
    }
}

/// The text of a value that is not NULL.
pub fn text_of<'v>(v: &'v Val<'_>, ty: &ExprType) -> Cow<'v, [u8]> {
    match v {
        Val::Bytes(b) => return Cow::Borrowed(b),
        Val::Enum(n, l) => return Cow::Borrowed(l.name(*n)),
        _ => {}
    }
    let mut out = Vec::new();
    write_text(v, ty, &mut out);
    Cow::Owned(out)
}

/// The text of a value, taking over its bytes; `None` for NULL.
pub fn into_text<'v>(v: Val<'v>, ty: &ExprType) -> Option<Cow<'v, [u8]>> {
    match v {
        Val::Null => None,
        Val::Bytes(b) => Some(b),
        v => {
            let mut out = Vec::new();
            write_text(&v, ty, &mut out);
            Some(Cow::Owned(out))
        }
    }
}

/// Appends the text of a value; nothing for NULL.
pub fn write_text(v: &Val<'_>, ty: &ExprType, out: &mut Vec<u8>) {
    let at = out.len();
    write_plain(v, ty, out);
    let zeros = usize::from(ty.zeros).saturating_sub(out.len() - at);
    if zeros > 0 && !v.is_null() {
        out.splice(at..at, std::iter::repeat_n(b'0', zeros));
    }
}

fn write_plain(v: &Val<'_>, ty: &ExprType, out: &mut Vec<u8>) {
    match v {
        Val::Null => {}
        Val::Int(i) => types::convert::write_int(*i, out),
        Val::Uint(u) => types::convert::write_uint(*u, out),
        Val::Double(d) => {
            if matches!(ty.shape, Shape::Float { scale: NOT_FIXED }) {
                types::convert::write_float(*d as f32, out);
            } else {
                write_double(
                    *d,
                    if ty.is_number() {
                        ty.scale()
                    } else {
                        NOT_FIXED
                    },
                    out,
                );
            }
        }
        Val::Decimal(d) => super::val::shown_decimal(d, ty).write_text(out),
        Val::Bytes(b) => out.extend_from_slice(b),
        Val::Date(d) => out.extend_from_slice(&d.to_text()),
        Val::Time(t) => t.write_text(out),
        Val::DateTime(d) => d.write_text(out),
        Val::Bit(b, n) => {
            let len = usize::from(*n).div_ceil(8).clamp(1, 8);
            out.extend_from_slice(&b.to_be_bytes()[8 - len..]);
        }
        Val::Enum(n, l) => out.extend_from_slice(l.name(*n)),
        Val::Set(n, l) => l.write_set(*n, out),
    }
}

/// The text of a BIT, ENUM or SET, as which a date or a time is looked for in it.
fn label<'v>(v: &'v Val<'_>) -> Cow<'v, [u8]> {
    text_of(v, &ExprType::null())
}

/// As a date and time: `None` for NULL and, with warning 1292, for what is none.
pub fn to_datetime(v: &Val<'_>, cx: &EvalCtx<'_>) -> Option<DateTime> {
    match v {
        Val::Null => None,
        Val::DateTime(d) => Some(*d),
        Val::Date(d) => Some(d.at_midnight()),
        Val::Time(t) => date_text::time_to_datetime(*t, cx.now(0).date()),
        Val::Bytes(b) => date_text::parse_datetime(b, cx),
        Val::Bit(..) | Val::Enum(..) | Val::Set(..) => date_text::parse_datetime(&label(v), cx),
        _ => {
            let n = to_num(v, cx)?;
            date_text::number_to_datetime(n, cx)
        }
    }
}

/// As a date and time of the calendar: `None` also for one with a zero month or day, with warning 1292 where it was text or a
/// number.
pub fn to_real_datetime(v: &Val<'_>, cx: &EvalCtx<'_>) -> Option<DateTime> {
    let d = to_datetime(v, cx)?;
    if !d.date().has_zero_part() {
        return Some(d);
    }
    warn_zero_date(v, cx);
    None
}

/// Warning 1292 for text or a number that is a date with a zero month or day.
#[cold]
pub(super) fn warn_zero_date(v: &Val<'_>, cx: &EvalCtx<'_>) {
    if !matches!(v, Val::Date(_) | Val::DateTime(_)) {
        let text = text_of(v, &ExprType::double(true));
        cx.warn_error(SqlError::incorrect_datetime("datetime", &shown(&text)));
    }
}

/// As a date: `None` for NULL and, with warning 1292, for what is none.
pub fn to_date(v: &Val<'_>, cx: &EvalCtx<'_>) -> Option<Date> {
    match v {
        Val::Date(d) => Some(*d),
        _ => to_datetime(v, cx).map(DateTime::date),
    }
}

/// As a time: `None` for NULL and, with warning 1292, for what is none.
pub fn to_time(v: &Val<'_>, cx: &EvalCtx<'_>) -> Option<Time> {
    match v {
        Val::Null => None,
        Val::Time(t) => Some(*t),
        Val::DateTime(d) => Some(d.time()),
        Val::Date(_) => Some(Time::ZERO),
        Val::Bytes(b) => date_text::parse_time(b, cx),
        Val::Bit(..) | Val::Enum(..) | Val::Set(..) => date_text::parse_time(&label(v), cx),
        _ => {
            let n = to_num(v, cx)?;
            date_text::number_to_time(n, cx)
        }
    }
}

/// A decimal rounded half away from zero to a whole number, clamped to what i64 and u64 hold.
pub fn decimal_to_int(d: &Decimal) -> Int {
    let wide = d
        .round_with(0, Rounding::HalfUp)
        .mantissa_i128()
        .unwrap_or(if d.is_negative() {
            i128::MIN
        } else {
            i128::MAX
        });
    Int::from_i128(wide.clamp(i128::from(i64::MIN), i128::from(u64::MAX))).unwrap_or(Int::signed(0))
}
