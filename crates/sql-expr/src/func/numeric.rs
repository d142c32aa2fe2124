//! Numeric functions: rounding, powers, logarithms, trigonometry, RAND, CONV.

use types::SqlError;
use types::error::codes;

use types::decimal::arith::Rounding;

use super::infer::{ascii_or_null, double, double_not_null, int};
use super::{FuncDef, def, some};
use crate::arith;
use crate::conv;
use crate::infer::{self, Domain};
use crate::node::Args;
use crate::node::Expr;
use crate::node::InferCx;
use crate::ty::{ExprType, NOT_FIXED, Shape};
use crate::val::{Num, Val};

type Out<'a> = Result<Val<'a>, SqlError>;
type Inferred = Result<ExprType, SqlError>;

/// The table.
pub(super) const TABLE: &[FuncDef] = &[
    def("abs", 1, 1, infer_abs, abs).light().of_numbers(),
    def("sign", 1, 1, int::<2>, sign).light().of_numbers(),
    def("ceil", 1, 1, infer_ceil, ceil).light().of_numbers(),
    def("ceiling", 1, 1, infer_ceil, ceil).light().of_numbers(),
    def("floor", 1, 1, infer_ceil, floor).light().of_numbers(),
    def("round", 1, 2, infer_round, round).light().of_numbers(),
    def("truncate", 2, 2, infer_round, truncate)
        .light()
        .of_numbers(),
    def("mod", 2, 2, infer_mod, modulo).light().of_numbers(),
    def("pow", 2, 2, double, pow).light(),
    def("power", 2, 2, double, pow).light(),
    def("sqrt", 1, 1, double, sqrt).light(),
    def("exp", 1, 1, double, exp).light(),
    def("ln", 1, 1, double, ln).light(),
    def("log", 1, 2, double, log).light(),
    def("log2", 1, 1, double, log2).light(),
    def("log10", 1, 1, double, log10).light(),
    def("pi", 0, 0, infer_pi, pi).light(),
    def("sin", 1, 1, double, |a| real(a, f64::sin)).light(),
    def("cos", 1, 1, double, |a| real(a, f64::cos)).light(),
    def("tan", 1, 1, double, |a| real(a, f64::tan)).light(),
    def("cot", 1, 1, double, cot).light(),
    def("asin", 1, 1, double, |a| real_or_null(a, f64::asin)).light(),
    def("acos", 1, 1, double, |a| real_or_null(a, f64::acos)).light(),
    def("atan", 1, 2, double, atan).light(),
    def("atan2", 2, 2, double, atan).light(),
    def("degrees", 1, 1, double, |a| real(a, f64::to_degrees)).light(),
    def("radians", 1, 1, double, |a| real(a, f64::to_radians)).light(),
    def("rand", 0, 1, double_not_null, rand).light().per_row(),
    def("conv", 3, 3, ascii_or_null::<65>, convert_base).light(),
];

/// The BIGINT that a function of a whole number gives, whatever the width of the number: the absolute value of the least INT is none.
fn whole(t: &ExprType) -> ExprType {
    let digits = t.chars().min(20) as u8;
    match t.shape {
        Shape::Bit(_) => ExprType::uint(20, t.nullable),
        _ if t.is_unsigned() => ExprType::uint(digits, t.nullable),
        _ => ExprType::int(digits, t.nullable),
    }
}

fn infer_abs(_: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let t = args[0].ty;
    Ok(match infer::domain(&t) {
        Domain::Int if t.is_integer() => whole(&t),
        Domain::Int => ExprType::int(20, t.nullable),
        Domain::Decimal if matches!(t.shape, Shape::Decimal { .. }) => t,
        Domain::Decimal => ExprType::decimal(20, t.scale(), t.nullable),
        Domain::Double => ExprType::plain(Shape::Double { scale: t.scale() }, t.nullable),
    })
}

fn abs(a: Args<'_>) -> Out<'_> {
    Ok(match some!(a.num(0)?) {
        Num::Int(i) => match i.checked_abs() {
            Some(i) => Val::Int(i),
            None => {
                return Err(SqlError::expr_out_of_range("BIGINT", &format!("abs({i})")));
            }
        },
        Num::Uint(u) => Val::Uint(u),
        Num::Decimal(d) => Val::Decimal(d.abs()),
        Num::Double(d) => Val::Double(d.abs()),
    })
}

fn sign(a: Args<'_>) -> Out<'_> {
    let n = some!(a.num(0)?);
    Ok(Val::Int(n.order(Num::Int(0)) as i64))
}

fn infer_ceil(_: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let t = args[0].ty;
    Ok(match t.shape {
        Shape::Decimal { .. } if t.int_digits() >= 18 => {
            ExprType::decimal(t.int_digits().saturating_add(1), 0, t.nullable)
        }
        Shape::Decimal { .. } => ExprType::int(t.int_digits().saturating_add(2), t.nullable),
        _ => match infer::domain(&t) {
            Domain::Int if t.is_integer() => whole(&t),
            Domain::Int | Domain::Decimal => ExprType::int(17, t.nullable),
            Domain::Double => ExprType::plain(Shape::Double { scale: 0 }, t.nullable),
        },
    })
}

fn to_whole(a: Args<'_>, how: Rounding, real: fn(f64) -> f64) -> Out<'_> {
    Ok(match some!(a.num(0)?) {
        Num::Decimal(d) => {
            let d = d.round_with(0, how);
            match (a.ty.shape, d.to_i64()) {
                (Shape::Decimal { .. }, _) | (_, None) => Val::Decimal(d),
                (_, Some(i)) => Val::Int(i),
            }
        }
        Num::Double(d) => Val::Double(real(d)),
        n => n.val(),
    })
}

fn ceil(a: Args<'_>) -> Out<'_> {
    to_whole(a, Rounding::Ceiling, f64::ceil)
}

fn floor(a: Args<'_>) -> Out<'_> {
    to_whole(a, Rounding::Floor, f64::floor)
}

fn infer_round(_: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let t = args[0].ty;
    let places = match args.get(1).map(|e| e.as_const()) {
        None => Some(0),
        Some(Some(Val::Int(i))) => Some((*i).clamp(-100, 100)),
        Some(Some(Val::Null)) => return Ok(t.or_null()),
        _ => None,
    };
    let nullable = args.iter().any(|a| a.ty.nullable);
    Ok(match infer::domain(&t) {
        Domain::Int => {
            let digits = (t.chars().min(20) as u8).saturating_add(1);
            let mut ty = if t.is_unsigned() {
                ExprType::uint(digits, nullable)
            } else {
                ExprType::int(digits, nullable)
            };
            ty.nullable = nullable;
            ty
        }
        Domain::Decimal => {
            let scale = match places {
                Some(p) => (p.clamp(0, 30) as u8).min(t.scale().min(30)),
                None => t.scale().min(30),
            };
            ExprType::decimal(
                t.int_digits().saturating_add(scale).saturating_add(1),
                scale,
                nullable,
            )
        }
        Domain::Double => {
            let scale = match places {
                Some(p) => p.clamp(0, 30) as u8,
                None => NOT_FIXED,
            };
            ExprType::plain(Shape::Double { scale }, nullable)
        }
    })
}

fn places(a: Args<'_>) -> Result<Option<i64>, SqlError> {
    Ok(a.i64_or(1, 0)?.map(|p| p.clamp(-400, 400)))
}

fn pow10(n: i64) -> i128 {
    10i128.pow(n.clamp(0, 37) as u32)
}

fn adjust(a: Args<'_>, cut: bool) -> Out<'_> {
    let n = some!(a.num(0)?);
    let p = some!(places(a)?);
    Ok(match n {
        Num::Int(_) | Num::Uint(_) if p >= 0 => n.val(),
        Num::Int(_) | Num::Uint(_) => {
            let Some(i) = n.to_int() else {
                return Ok(Val::Null);
            };
            if p <= -30 {
                return Ok(Val::Int(0));
            }
            let unit = pow10(-p);
            let v = i.wide();
            let base = v / unit * unit;
            let r = if cut || (v - base).abs() * 2 < unit {
                base
            } else {
                base + unit * v.signum()
            };
            match n {
                Num::Uint(_) => u64::try_from(r).map(Val::Uint).ok(),
                _ => i64::try_from(r).map(Val::Int).ok(),
            }
            .ok_or_else(|| {
                SqlError::expr_out_of_range(
                    if matches!(n, Num::Uint(_)) {
                        "BIGINT UNSIGNED"
                    } else {
                        "BIGINT"
                    },
                    &format!("round({},{p})", i.wide()),
                )
            })?
        }
        Num::Decimal(d) => {
            let how = if cut {
                Rounding::Truncate
            } else {
                Rounding::HalfUp
            };
            let r = d.round_with(p as i32, how);
            let scale = match a.ty.shape {
                Shape::Decimal { scale, .. } => scale,
                _ => r.scale(),
            };
            Val::Decimal(r.rescale(scale.max(r.scale())).unwrap_or(r))
        }
        Num::Double(d) => Val::Double(round_double(d, p, cut)),
    })
}

/// Rounds a double to `p` places, half away from zero as far as doubles tell.
pub(super) fn round_double(d: f64, p: i64, cut: bool) -> f64 {
    let factor = 10f64.powi(p.unsigned_abs().min(350) as i32);
    if p < 0 && factor.is_infinite() {
        return 0.0;
    }
    if p >= 0 && (factor.is_infinite() || (d * factor).is_infinite()) {
        return d;
    }
    let scaled = if p >= 0 { d * factor } else { d / factor };
    let whole = match (cut, scaled >= 0.0) {
        (false, _) => scaled.round_ties_even(),
        (true, true) => scaled.floor(),
        (true, false) => scaled.ceil(),
    };
    if p >= 0 {
        whole / factor
    } else {
        whole * factor
    }
}

fn round(a: Args<'_>) -> Out<'_> {
    adjust(a, false)
}

fn truncate(a: Args<'_>) -> Out<'_> {
    adjust(a, true)
}

fn infer_mod(_: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    Ok(infer::arith(
        infer::Arith::Mod,
        &args[0].ty,
        &args[1].ty,
        4,
        false,
    ))
}

fn modulo(a: Args<'_>) -> Out<'_> {
    let (x, y) = (some!(a.num(0)?), some!(a.num(1)?));
    if y.is_zero() {
        return arith::by_zero(a.cx);
    }
    Ok(match (x, y) {
        (Num::Double(_), _) | (_, Num::Double(_)) => Val::Double(x.to_f64() % y.to_f64()),
        (Num::Decimal(_), _) | (_, Num::Decimal(_)) => x
            .to_decimal()
            .checked_rem(&y.to_decimal())
            .map_or(Val::Null, Val::Decimal),
        _ => match (x.to_int(), y.to_int()) {
            (Some(x), Some(y)) => {
                let r = x.wide() % y.wide();
                i64::try_from(r).map_or(Val::Uint(r as u64), Val::Int)
            }
            _ => Val::Null,
        },
    })
}

/// A double, or error 1690 where it is none.
fn finite(d: f64, what: &str) -> Out<'static> {
    if d.is_finite() {
        Ok(Val::Double(d))
    } else {
        Err(SqlError::expr_out_of_range("DOUBLE", what))
    }
}

fn shown(d: f64) -> String {
    let mut out = Vec::new();
    conv::write_double(d, NOT_FIXED, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

fn pow(a: Args<'_>) -> Out<'_> {
    let (x, y) = (some!(a.f64(0)?), some!(a.f64(1)?));
    finite(x.powf(y), &format!("pow({},{})", shown(x), shown(y)))
}

fn sqrt(a: Args<'_>) -> Out<'_> {
    real_or_null(a, f64::sqrt)
}

fn exp(a: Args<'_>) -> Out<'_> {
    let x = some!(a.f64(0)?);
    finite(x.exp(), &format!("exp({})", shown(x)))
}

/// NULL with warning 3020: there is no logarithm of it.
fn no_logarithm<'a>(a: Args<'a>) -> Val<'a> {
    a.cx.warn_error(SqlError::new(
        codes::ER_INVALID_ARGUMENT_FOR_LOGARITHM,
        "Invalid argument for logarithm",
    ));
    Val::Null
}

fn logarithm(a: Args<'_>, f: fn(f64) -> f64) -> Out<'_> {
    let x = some!(a.f64(0)?);
    Ok(if x > 0.0 {
        Val::Double(f(x))
    } else {
        no_logarithm(a)
    })
}

fn ln(a: Args<'_>) -> Out<'_> {
    logarithm(a, f64::ln)
}

fn log2(a: Args<'_>) -> Out<'_> {
    // MySQL divides; the last digit may be another than that of a logarithm of its own.
    logarithm(a, |x| x.ln() / std::f64::consts::LN_2)
}

fn log10(a: Args<'_>) -> Out<'_> {
    logarithm(a, f64::log10)
}

fn log(a: Args<'_>) -> Out<'_> {
    if a.len() == 1 {
        return ln(a);
    }
    let (base, x) = (some!(a.f64(0)?), some!(a.f64(1)?));
    if base <= 0.0 || x <= 0.0 || base == 1.0 {
        return Ok(no_logarithm(a));
    }
    Ok(Val::Double(x.ln() / base.ln()))
}

fn infer_pi(_: &InferCx<'_>, _: &mut [Expr]) -> Inferred {
    Ok(ExprType::plain(Shape::Double { scale: 6 }, false))
}

fn pi(_: Args<'_>) -> Out<'_> {
    Ok(Val::Double(std::f64::consts::PI))
}

fn real(a: Args<'_>, f: fn(f64) -> f64) -> Out<'_> {
    let x = some!(a.f64(0)?);
    finite(f(x), "value")
}

fn real_or_null(a: Args<'_>, f: fn(f64) -> f64) -> Out<'_> {
    let r = f(some!(a.f64(0)?));
    Ok(if r.is_nan() {
        Val::Null
    } else {
        Val::Double(r)
    })
}

fn cot(a: Args<'_>) -> Out<'_> {
    let x = some!(a.f64(0)?);
    finite(1.0 / x.tan(), &format!("cot({})", shown(x)))
}

fn atan(a: Args<'_>) -> Out<'_> {
    let x = some!(a.f64(0)?);
    if a.len() == 1 {
        return Ok(Val::Double(x.atan()));
    }
    let y = some!(a.f64(1)?);
    Ok(Val::Double(x.atan2(y)))
}

fn rand(a: Args<'_>) -> Out<'_> {
    if a.len() == 0 {
        return Ok(Val::Double(a.cx.random()));
    }
    let seed = a.i64(0)?.unwrap_or(0);
    // A plan does not move while it runs: the place of the arguments says which call it is. Two copies of one call are two calls.
    let call = a.args.as_ptr() as usize;
    let restart = a.args[0].as_const().is_none() && a.args[0].reads_row();
    Ok(Val::Double(a.cx.seeded_random(call, seed, restart)))
}

/// The whole number at the front of a text, in a base.
pub(super) struct Digits {
    negative: bool,
    /// Without its sign; the largest there is where it is larger.
    number: u64,
    over: bool,
}

impl Digits {
    pub fn read(text: &[u8], base: u32) -> Digits {
        let trimmed = text.trim_ascii_start();
        let signed = matches!(trimmed.first(), Some(b'-' | b'+'));
        let mut d = Digits {
            negative: trimmed.first() == Some(&b'-'),
            number: 0,
            over: false,
        };
        for &c in &trimmed[usize::from(signed)..] {
            let Some(digit) = (c as char).to_digit(base) else {
                break;
            };
            let more = d.number.checked_mul(u64::from(base));
            match more.and_then(|n| n.checked_add(u64::from(digit))) {
                Some(n) if !d.over => d.number = n,
                _ => {
                    d.number = u64::MAX;
                    d.over = true;
                }
            }
        }
        d
    }

    /// Its 64 bits, a negative number's in two's complement, of whatever size.
    pub fn bits(&self) -> u64 {
        match self.negative && !self.over {
            true => self.number.wrapping_neg(),
            false => self.number,
        }
    }
}

fn convert_base(a: Args<'_>) -> Out<'_> {
    let v = a.val(0)?;
    // the bytes of bits are no digits
    let bits = match v {
        Val::Bit(n, _) => Some(n),
        _ => None,
    };
    let text = match bits {
        Some(n) => n.to_string().into_bytes().into(),
        None => some!(conv::into_text(v, a.ty(0))),
    };
    a.cx.tick(text.len() / 4)?;
    let (mut from, to) = (some!(a.i64(1)?), some!(a.i64(2)?));
    let valid = |b: i64| (2..=36).contains(&b.unsigned_abs());
    if !valid(from) || !valid(to) || text.is_empty() {
        return Ok(Val::Null);
    }
    if bits.is_some() {
        from = 10;
    }
    let digits = Digits::read(&text, from.unsigned_abs() as u32);
    let mut bits = digits.bits();
    if from < 0 {
        // the number is signed: what does not fit is brought within i64
        let n = i128::from(digits.number);
        let wide = if digits.negative { -n } else { n };
        bits = wide.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64 as u64;
    }
    let minus = to < 0 && (bits as i64) < 0;
    let magnitude = if minus {
        (bits as i64).unsigned_abs()
    } else {
        bits
    };
    Ok(Val::owned(in_base(magnitude, to.unsigned_abs(), minus)))
}

/// Digits of a number in a base from 2 to 36.
pub(super) fn in_base(mut n: u64, base: u64, minus: bool) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        let d = (n % base) as u8;
        out.push(if d < 10 { b'0' + d } else { b'A' + d - 10 });
        n /= base;
        if n == 0 {
            break;
        }
    }
    if minus {
        out.push(b'-');
    }
    out.reverse();
    out
}
