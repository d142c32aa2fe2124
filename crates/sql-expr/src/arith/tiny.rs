//! Operands of `DIV` that are so small that a DECIMAL has not the places for them: doubles, and texts of such. MySQL divides by the number itself, of up to
//! 81 places, where a DECIMAL would be zero.
//!
//! Never here: a warning, or an error.

use types::Decimal;

use crate::conv;
use crate::val::Val;

/// Places behind the point that MySQL's numbers have at most while it computes.
const PLACES: u32 = 81;

/// Below this a double of seventeen digits may have more than thirty places.
const SMALL: f64 = 1e-13;

/// Digits, and how many of them are behind the point.
pub(super) type Parts = (i128, u32);

/// The digits of an operand that is too small for the decimal which was made of it.
pub(super) fn of(v: &Val<'_>, d: &Decimal) -> Option<Parts> {
    let number = match v {
        Val::Double(number) => *number,
        Val::Bytes(text) if d.is_zero() => conv::double_prefix(text),
        _ => return None,
    };
    if number == 0.0 || number.abs() >= SMALL {
        return None;
    }
    let text = format!("{number:e}");
    let (digits, exponent) = text.split_once('e')?;
    let places = digits.split_once('.').map_or(0, |(_, behind)| behind.len());
    let digits: i128 = digits.replace('.', "").parse().ok()?;
    let scale = places as i32 - exponent.parse::<i32>().ok()?;
    let scale = u32::try_from(scale).ok()?;
    let cut = scale.saturating_sub(PLACES);
    let digits = 10i128.checked_pow(cut).map_or(0, |cut| digits / cut);
    Some((digits, scale - cut))
}

/// The digits of a decimal, where they are not too many.
pub(super) fn parts(d: &Decimal) -> Option<Parts> {
    Some((d.mantissa_i128()?, u32::from(d.scale())))
}

/// The whole number in `x / y`, one of which is small; `None` where it is larger than any that is asked for. `y` is not zero.
pub(super) fn quotient((x, x_scale): Parts, (y, y_scale): Parts) -> Option<i128> {
    match y_scale.checked_sub(x_scale) {
        Some(more) if x != 0 => Some(x.checked_mul(10i128.checked_pow(more)?)? / y),
        Some(_) => Some(0),
        None => {
            let y = 10i128
                .checked_pow(x_scale - y_scale)
                .and_then(|n| y.checked_mul(n));
            Some(y.map_or(0, |y| x / y))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts_of(v: f64) -> Option<Parts> {
        of(&Val::Double(v), &Decimal::ZERO)
    }

    #[test]
    fn digits_of_small_numbers() {
        assert_eq!(parts_of(0.5), None);
        assert_eq!(parts_of(0.0), None);
        assert_eq!(parts_of(-2.5e-40), Some((-25, 41)));
        assert_eq!(parts_of(3e-81), Some((3, 81)));
        assert_eq!(parts_of(3.9e-81), Some((3, 81)));
        assert_eq!(parts_of(3e-82), Some((0, 81)));
        assert_eq!(parts_of(5e-324), Some((0, 81)));
        let text = Val::Bytes(b"1e-40x"[..].into());
        assert_eq!(of(&text, &Decimal::ZERO), Some((1, 40)));
    }

    #[test]
    fn quotients_of_small_numbers() {
        assert_eq!(quotient((3, 41), (1, 41)), Some(3));
        assert_eq!(quotient((1, 40), (3, 41)), Some(3));
        assert_eq!(quotient((-7, 41), (2, 40)), Some(0));
        assert_eq!(
            quotient((1, 0), (-25, 20)),
            Some(-4_000_000_000_000_000_000)
        );
        assert_eq!(quotient((1, 0), (1, 60)), None);
        assert_eq!(quotient((0, 0), (1, 60)), Some(0));
        assert_eq!(quotient((1, 81), (1, 0)), Some(0));
    }
}
