//! DECIMAL in a row of the binary log: nine digits in four bytes, what is left over in as few as it needs, the highest first, the sign in
//! the first bit, all bits turned where it is negative. So the bytes sort as the numbers do. (MySQL, strings/decimal.cc, `decimal2bin`.)

use crate::error::ProtocolError;
use crate::read::{ReadResult, Reader};
use types::decimal::{Decimal, MAX_PRECISION, MAX_SCALE};

/// Digits of four bytes.
const DIGITS: usize = 9;
/// Bytes of so many digits.
const BYTES: [usize; DIGITS + 1] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];

/// How the digits before and behind the point are grouped.
#[derive(Clone, Copy)]
struct Shape {
    before: usize,
    behind: usize,
}

impl Shape {
    fn of(precision: u8, scale: u8) -> Option<Shape> {
        let fits = (1..=MAX_PRECISION).contains(&precision) && scale <= MAX_SCALE.min(precision);
        fits.then(|| Shape {
            before: usize::from(precision - scale),
            behind: usize::from(scale),
        })
    }

    /// The groups in the order of their bytes: how many digits each has.
    fn groups(self) -> impl Iterator<Item = usize> {
        let whole = |n: usize| std::iter::repeat_n(DIGITS, n / DIGITS);
        std::iter::once(self.before % DIGITS)
            .chain(whole(self.before))
            .chain(whole(self.behind))
            .chain(std::iter::once(self.behind % DIGITS))
            .filter(|n| *n > 0)
    }

    fn bytes(self) -> usize {
        self.groups().map(|n| BYTES[n]).sum()
    }
}

/// Appends a value of DECIMAL(precision, scale). One that does not fit becomes the nearest that does: what a column holds fits it.
pub(super) fn put_decimal(value: &Decimal, precision: u8, scale: u8, out: &mut Vec<u8>) {
    let Some(shape) = Shape::of(precision, scale) else {
        return;
    };
    let max = || Decimal::max_value(precision, scale, value.is_negative());
    let mut fit = value.rescale(scale).unwrap_or_else(max);
    if usize::from(fit.int_digits()) > shape.before {
        fit = max();
    }
    let mut text = Vec::with_capacity(usize::from(MAX_PRECISION) + 3);
    fit.write_text(&mut text);
    let negative = text.first() == Some(&b'-');
    let digits = text.iter().filter(|b| b.is_ascii_digit()).map(|b| b - b'0');
    let (before, behind) = (shape.before, shape.behind);
    let mut digits: Vec<u8> = digits.collect();
    // "0.5" has a digit before the point that the column may not have.
    let there = digits.len() - behind.min(digits.len());
    if there > before {
        digits.drain(..there - before);
    } else {
        digits.splice(0..0, std::iter::repeat_n(0, before - there));
    }
    let at = out.len();
    let mut rest = &digits[..];
    for n in shape.groups() {
        let (group, tail) = rest.split_at(n.min(rest.len()));
        rest = tail;
        let number = group.iter().fold(0u32, |sum, d| sum * 10 + u32::from(*d));
        let bytes = number.to_be_bytes();
        out.extend_from_slice(&bytes[4 - BYTES[n]..]);
    }
    let bytes = &mut out[at..];
    if negative {
        bytes.iter_mut().for_each(|b| *b = !*b);
    }
    if let Some(first) = bytes.first_mut() {
        *first ^= 0x80;
    }
}

/// Reads one.
pub(super) fn decimal(r: &mut Reader<'_>, precision: u8, scale: u8) -> ReadResult<Decimal> {
    let shape = Shape::of(precision, scale).ok_or(ProtocolError::Malformed)?;
    let mut bytes = [0u8; 40];
    let len = shape.bytes();
    let bytes = bytes.get_mut(..len).ok_or(ProtocolError::Malformed)?;
    bytes.copy_from_slice(r.read_bytes(len)?);
    let Some(first) = bytes.first_mut() else {
        return Err(ProtocolError::Malformed);
    };
    let negative = *first & 0x80 == 0;
    *first ^= 0x80;
    if negative {
        bytes.iter_mut().for_each(|b| *b = !*b);
    }
    let mut text = Vec::with_capacity(usize::from(MAX_PRECISION) + 3);
    if negative {
        text.push(b'-');
    }
    let (mut at, mut done) = (0, 0);
    for n in shape.groups() {
        let mut number = 0u32;
        for b in &bytes[at..at + BYTES[n]] {
            number = number << 8 | u32::from(*b);
        }
        at += BYTES[n];
        if number >= 10u32.pow(n as u32) {
            return Err(ProtocolError::Malformed);
        }
        if done == shape.before {
            text.push(b'.');
        }
        done += n;
        let digits = format!("{number:0n$}");
        text.extend_from_slice(digits.as_bytes());
    }
    let value = Decimal::parse(&text).value;
    value.rescale(scale).ok_or(ProtocolError::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(text: &str) -> Decimal {
        Decimal::parse(text.as_bytes()).value
    }

    fn bytes(text: &str, precision: u8, scale: u8) -> Vec<u8> {
        let mut out = Vec::new();
        put_decimal(&parsed(text), precision, scale, &mut out);
        out
    }

    #[test]
    fn the_bytes_are_those_of_mysql() {
        // The example in MySQL's source: 1234567890.1234 as DECIMAL(14,4).
        assert_eq!(
            bytes("1234567890.1234", 14, 4),
            [0x81, 0x0D, 0xFB, 0x38, 0xD2, 0x04, 0xD2]
        );
        assert_eq!(
            bytes("-1234567890.1234", 14, 4),
            [0x7E, 0xF2, 0x04, 0xC7, 0x2D, 0xFB, 0x2D]
        );
        assert_eq!(bytes("0.5", 1, 1), [0x85]);
        assert_eq!(bytes("0", 10, 0), [0x80, 0, 0, 0, 0]);
        assert_eq!(bytes("7", 3, 2), bytes("7.00", 3, 2));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (precision, scale) in [(0, 0), (66, 0), (10, 31), (3, 4)] {
            assert!(decimal(&mut Reader::new(&[0; 64]), precision, scale).is_err());
        }
        // 127 in two digits.
        assert!(decimal(&mut Reader::new(&[0xFF]), 2, 0).is_err());
        assert!(decimal(&mut Reader::new(&[0x80, 0, 0]), 9, 0).is_err());
    }

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn what_is_written_is_read_back(
            mantissa: i128, precision in 1u8..=65, scale in 0u8..=30, more: Vec<u8>
        ) {
            let scale = scale.min(precision);
            let limit = 10i128.checked_pow(u32::from(precision)).unwrap_or(i128::MAX);
            let value = Decimal::from_i128(mantissa % limit, scale);
            let mut out = Vec::new();
            put_decimal(&value, precision, scale, &mut out);
            let mut r = Reader::new(&out);
            let read = decimal(&mut r, precision, scale).unwrap();
            prop_assert!(r.is_empty());
            prop_assert_eq!(read, value);
            prop_assert_eq!(read.scale(), scale);
            let _ = decimal(&mut Reader::new(&more), precision, scale);
        }

        #[test]
        fn the_bytes_sort_as_the_numbers(a in -99_999i64..99_999, b in -99_999i64..99_999) {
            let bytes = |n: i64| {
                let mut out = Vec::new();
                put_decimal(&Decimal::from_i128(n.into(), 2), 12, 2, &mut out);
                out
            };
            prop_assert_eq!(bytes(a).cmp(&bytes(b)), a.cmp(&b));
        }
    }
}
