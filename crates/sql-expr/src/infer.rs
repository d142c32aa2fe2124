//! How types combine: the kind of arithmetic, the type of `a + b`, the common type of the arms of CASE, COALESCE, UNION.

use types::SqlError;
use types::collation::CollationId;

use super::collate;
use super::ty::{Coercibility, ExprType, IntKind, NOT_FIXED, Shape, StrKind};

/// In which domain numbers are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    /// 64-bit whole numbers.
    Int,
    /// Exact decimals.
    Decimal,
    /// Doubles.
    Double,
}

/// The domain of one operand in numeric context.
pub fn domain(ty: &ExprType) -> Domain {
    match ty.shape {
        Shape::Null | Shape::Int { .. } | Shape::Bit(_) | Shape::Year | Shape::Date => Domain::Int,
        Shape::Decimal { .. } => Domain::Decimal,
        Shape::Time(f) | Shape::DateTime(f) | Shape::Timestamp(f) => {
            if f == 0 {
                Domain::Int
            } else {
                Domain::Decimal
            }
        }
        _ => Domain::Double,
    }
}

/// The domain of two operands together.
pub fn joint_domain(a: &ExprType, b: &ExprType) -> Domain {
    match (domain(a), domain(b)) {
        (Domain::Double, _) | (_, Domain::Double) => Domain::Double,
        (Domain::Decimal, _) | (_, Domain::Decimal) => Domain::Decimal,
        _ => Domain::Int,
    }
}

/// Arithmetic operators whose types follow the same pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arith {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `DIV`
    IntDiv,
    /// `%`
    Mod,
}

fn precision(ty: &ExprType) -> u8 {
    match ty.shape {
        Shape::Decimal { precision, .. } => precision,
        _ => ty.int_digits().saturating_add(match ty.scale() {
            NOT_FIXED => 0,
            s => s,
        }),
    }
}

fn fixed_scale(ty: &ExprType) -> u8 {
    match ty.scale() {
        NOT_FIXED => 0,
        s => s,
    }
}

/// Type of `a op b`. `increment` is `div_precision_increment`; `signed_sub` is NO_UNSIGNED_SUBTRACTION.
pub fn arith(op: Arith, a: &ExprType, b: &ExprType, increment: u8, signed_sub: bool) -> ExprType {
    let domain = match (op, joint_domain(a, b)) {
        (Arith::Div, Domain::Int) => Domain::Decimal,
        (Arith::IntDiv, _) => Domain::Int,
        (_, d) => d,
    };
    let may_be_null = matches!(op, Arith::Div | Arith::IntDiv | Arith::Mod);
    let nullable = a.nullable || b.nullable || may_be_null;
    let unsigned = match op {
        Arith::Sub if signed_sub => false,
        Arith::Mod => a.is_unsigned(),
        _ => a.is_unsigned() || b.is_unsigned(),
    };
    match domain {
        Domain::Int => {
            let (da, db) = (a.chars().min(20) as u8, b.chars().min(20) as u8);
            let digits = match op {
                Arith::Add | Arith::Sub => da.max(db).saturating_add(1),
                Arith::Mul => da.saturating_add(db),
                Arith::Mod => da.max(db),
                _ => da,
            };
            ExprType::plain(
                Shape::Int {
                    kind: IntKind::Big,
                    unsigned,
                    digits: digits.clamp(1, 21),
                },
                nullable,
            )
        }
        Domain::Decimal => {
            let (sa, sb) = (fixed_scale(a), fixed_scale(b));
            let (precision, scale) = match op {
                Arith::Add | Arith::Sub => {
                    let s = sa.max(sb);
                    (a.int_digits().max(b.int_digits()).saturating_add(1 + s), s)
                }
                Arith::Mul => (
                    precision(a).saturating_add(precision(b)),
                    sa.saturating_add(sb).min(30),
                ),
                Arith::Div => {
                    let s = sa.saturating_add(increment).min(30);
                    (precision(a).saturating_add(sb).saturating_add(increment), s)
                }
                Arith::IntDiv | Arith::Mod => {
                    let s = sa.max(sb);
                    (precision(a).max(precision(b)).max(s), s)
                }
            };
            let mut t = ExprType::decimal(precision.min(65), scale, nullable);
            if let Shape::Decimal { unsigned: u, .. } = &mut t.shape {
                // whole numbers are unsigned where one operand is, decimals where both are
                *u = match op {
                    Arith::Sub => false,
                    Arith::Mod => a.is_unsigned(),
                    _ => a.is_unsigned() && b.is_unsigned(),
                };
            }
            t
        }
        Domain::Double => {
            let scale = match (op, a.scale().max(b.scale())) {
                (Arith::Div, scale) => scale.saturating_add(increment).min(NOT_FIXED),
                (_, scale) => scale.min(NOT_FIXED),
            };
            ExprType::plain(Shape::Double { scale }, nullable)
        }
    }
}

/// Type of `-a`.
pub fn negated(a: &ExprType) -> ExprType {
    match domain(a) {
        Domain::Int => {
            let digits = a.chars().min(20) as u8;
            ExprType::int(digits.saturating_add(1).min(21), a.nullable)
        }
        Domain::Decimal => match a.shape {
            Shape::Decimal {
                precision, scale, ..
            } => ExprType::decimal(precision, scale, a.nullable),
            _ => ExprType::decimal(precision(a), fixed_scale(a), a.nullable),
        },
        Domain::Double => ExprType::plain(Shape::Double { scale: a.scale() }, a.nullable),
    }
}

/// The common type of values of which one is chosen. `op` names the operation in a collation error.
///
/// # Errors
/// 1267, 1270, 1271.
pub fn common(
    parts: &[&ExprType],
    connection: CollationId,
    op: &str,
) -> Result<ExprType, SqlError> {
    let nullable = parts.iter().any(|t| t.nullable);
    let mut shape = Shape::Null;
    for t in parts {
        shape = join(shape, t);
    }
    let mut ty = ExprType::plain(shape, nullable);
    if ty.is_text() {
        let c = collate::aggregate(parts.iter().copied(), connection, false, op)?;
        ty.collation = c.collation;
        ty.coercibility = c.coercibility;
        ty.ascii = c.ascii;
        if shape == Shape::Json {
            ty.collation = CollationId::UTF8MB4_BIN;
            ty.coercibility = Coercibility::Implicit;
        }
    }
    Ok(ty)
}

fn join(acc: Shape, t: &ExprType) -> Shape {
    let a = ExprType::plain(acc, true);
    match (acc, t.shape) {
        (Shape::Null, s) => s,
        (s, Shape::Null) => s,
        (x, y) if x == y => x,
        (
            Shape::Str {
                chars: c1,
                kind: k1,
            },
            Shape::Str {
                chars: c2,
                kind: k2,
            },
        ) => {
            let kind = if k1 == k2 {
                k1
            } else {
                k1.max(k2).max(StrKind::Var)
            };
            Shape::Str {
                chars: c1.max(c2),
                kind,
            }
        }
        (
            Shape::Int {
                kind: k1,
                unsigned: u1,
                digits: d1,
            },
            Shape::Int {
                kind: k2,
                unsigned: u2,
                digits: d2,
            },
        ) => join_ints((k1, u1, d1), (k2, u2, d2)),
        _ if a.is_number() && t.is_number() => join_numbers(&a, t),
        _ if a.is_temporal() && t.is_temporal() => join_temporal(acc, t.shape),
        _ => text_of(a.chars().max(t.chars()), [acc, t.shape]),
    }
}

fn text_of(chars: u32, from: [Shape; 2]) -> Shape {
    let mut kind = StrKind::Var;
    for s in from {
        match s {
            Shape::Str { kind: k, .. } => kind = kind.max(k),
            Shape::Json => kind = StrKind::Long,
            _ => {}
        }
    }
    Shape::Str { chars, kind }
}

fn join_ints((k1, u1, d1): (IntKind, bool, u8), (k2, u2, d2): (IntKind, bool, u8)) -> Shape {
    let digits = d1.max(d2);
    if u1 == u2 {
        return Shape::Int {
            kind: k1.max(k2),
            unsigned: u1,
            digits,
        };
    }
    let (unsigned_kind, signed_kind) = if u1 { (k1, k2) } else { (k2, k1) };
    let needed = match unsigned_kind {
        IntKind::Tiny => IntKind::Small,
        IntKind::Small => IntKind::Medium,
        IntKind::Medium => IntKind::Int,
        IntKind::Int => IntKind::Big,
        IntKind::Big => {
            return Shape::Decimal {
                precision: 20,
                scale: 0,
                unsigned: false,
            };
        }
    };
    let kind = needed.max(signed_kind);
    Shape::Int {
        kind,
        unsigned: false,
        digits: digits.max(kind.width(false).min(20)),
    }
}

fn join_numbers(a: &ExprType, b: &ExprType) -> Shape {
    let is_float = |t: &ExprType| matches!(t.shape, Shape::Float { .. } | Shape::Double { .. });
    if is_float(a) || is_float(b) {
        let scale = match (a.scale(), b.scale()) {
            (NOT_FIXED, _) | (_, NOT_FIXED) => NOT_FIXED,
            (x, y) => x.max(y),
        };
        return match (a.shape, b.shape) {
            (Shape::Float { .. }, Shape::Float { .. }) => Shape::Float { scale },
            _ => Shape::Double { scale },
        };
    }
    let is_decimal = |t: &ExprType| matches!(t.shape, Shape::Decimal { .. });
    if is_decimal(a) || is_decimal(b) {
        let scale = fixed_scale(a).max(fixed_scale(b));
        let precision = a.int_digits().max(b.int_digits()).saturating_add(scale);
        return Shape::Decimal {
            precision: precision.clamp(1, 65),
            scale,
            unsigned: a.is_unsigned() && b.is_unsigned(),
        };
    }
    Shape::Int {
        kind: IntKind::Big,
        unsigned: a.is_unsigned() && b.is_unsigned(),
        digits: 20,
    }
}

fn join_temporal(a: Shape, b: Shape) -> Shape {
    let fsp = |s: Shape| match s {
        Shape::Time(f) | Shape::DateTime(f) | Shape::Timestamp(f) => f,
        _ => 0,
    };
    let f = fsp(a).max(fsp(b));
    match (a, b) {
        (Shape::Time(_), Shape::Time(_)) => Shape::Time(f),
        (Shape::Timestamp(_), Shape::Timestamp(_)) => Shape::Timestamp(f),
        _ => Shape::DateTime(f),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(digits: u8) -> ExprType {
        ExprType::int(digits, false)
    }

    #[test]
    fn division_of_ints_is_decimal() {
        let t = arith(Arith::Div, &int(2), &int(2), 4, false);
        assert!(matches!(t.shape, Shape::Decimal { scale: 4, .. }));
        assert!(t.nullable);
    }

    #[test]
    fn sums_keep_the_larger_scale() {
        let a = ExprType::decimal(10, 2, false);
        let b = ExprType::decimal(8, 5, true);
        let t = arith(Arith::Add, &a, &b, 4, false);
        assert_eq!(
            t.shape,
            Shape::Decimal {
                precision: 14,
                scale: 5,
                unsigned: false
            }
        );
        assert!(t.nullable);
        let m = arith(Arith::Mul, &a, &b, 4, false);
        assert_eq!(m.scale(), 7);
    }

    #[test]
    fn a_decimal_is_unsigned_where_both_operands_are() {
        let unsigned = |t: &ExprType, u: &ExprType| arith(Arith::Mul, t, u, 4, false).is_unsigned();
        let decimal = |u| {
            let mut t = ExprType::decimal(10, 2, false);
            if let Shape::Decimal { unsigned, .. } = &mut t.shape {
                *unsigned = u;
            }
            t
        };
        let natural = ExprType::uint(10, false);
        assert!(!unsigned(&natural, &decimal(false)));
        assert!(!unsigned(&decimal(true), &decimal(false)));
        assert!(unsigned(&natural, &decimal(true)));
        assert!(unsigned(&natural, &int(5)));
    }

    #[test]
    fn arms_find_a_common_type() {
        let common = |parts: &[&ExprType]| {
            common(parts, CollationId::DEFAULT, "case")
                .map(|t| t.shape)
                .map_err(|e| e.code)
        };
        assert_eq!(common(&[&int(3), &ExprType::null()]), Ok(int(3).shape));
        assert_eq!(
            common(&[&ExprType::uint(20, false), &int(20)]),
            Ok(Shape::Decimal {
                precision: 20,
                scale: 0,
                unsigned: false
            })
        );
        let text = ExprType::text(5, CollationId::DEFAULT, Coercibility::Literal, false);
        assert_eq!(
            common(&[&int(11), &text]),
            Ok(Shape::Str {
                chars: 11,
                kind: StrKind::Var
            })
        );
        let date = ExprType::plain(Shape::Date, true);
        let dt = ExprType::plain(Shape::DateTime(3), true);
        assert_eq!(common(&[&date, &dt]), Ok(Shape::DateTime(3)));
        assert_eq!(
            common(&[&ExprType::double(true), &int(1)]),
            Ok(Shape::Double { scale: NOT_FIXED })
        );
    }
}
