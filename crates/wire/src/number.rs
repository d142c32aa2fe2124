//! Numbers as MySQL prints them, without allocating: integers two digits at a time, floating point by the rules of
//! its `my_gcvt` (shortest digits that read back, plain notation while the decimal point is near).

use std::fmt::Write as _;

/// "00" to "99".
const PAIRS: [u8; 200] = {
    let mut table = [0u8; 200];
    let mut i = 0;
    while i < 100 {
        table[i * 2] = b'0' + (i / 10) as u8;
        table[i * 2 + 1] = b'0' + (i % 10) as u8;
        i += 1;
    }
    table
};

/// A printed number on the stack: at most 40 bytes of ASCII.
#[derive(Clone, Copy)]
pub struct Printed {
    bytes: [u8; Printed::CAPACITY],
    start: u8,
    end: u8,
}

impl Printed {
    const CAPACITY: usize = 40;

    const EMPTY: Printed = Printed {
        bytes: [0; Printed::CAPACITY],
        start: 0,
        end: 0,
    };

    /// The text.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.start as usize..self.end as usize]
    }

    /// Prints an unsigned integer.
    #[inline]
    pub fn uint(value: u64) -> Printed {
        let mut bytes = [0u8; Printed::CAPACITY];
        let start = digits_backwards(value, &mut bytes);
        Printed {
            bytes,
            start: start as u8,
            end: Printed::CAPACITY as u8,
        }
    }

    /// Prints a signed integer.
    #[inline]
    pub fn int(value: i64) -> Printed {
        let mut bytes = [0u8; Printed::CAPACITY];
        let mut start = digits_backwards(value.unsigned_abs(), &mut bytes);
        if value < 0 {
            start -= 1;
            bytes[start] = b'-';
        }
        Printed {
            bytes,
            start: start as u8,
            end: Printed::CAPACITY as u8,
        }
    }

    /// Prints a DOUBLE without a fixed number of decimals.
    pub fn double(value: f64) -> Printed {
        if let Some(word) = non_finite(value) {
            return Printed::word(word);
        }
        let mut science = Printed::EMPTY;
        // The longest shortest form is 24 bytes; the buffer cannot run out.
        let _ = write!(science, "{value:e}");
        place_point(science.as_bytes())
    }

    /// Prints a FLOAT without a fixed number of decimals: six significant digits.
    pub fn float(value: f32) -> Printed {
        let value = f64::from(value);
        if let Some(word) = non_finite(value) {
            return Printed::word(word);
        }
        let mut science = Printed::EMPTY;
        let _ = write!(science, "{value:.5e}");
        place_point(science.as_bytes())
    }

    fn word(text: &[u8]) -> Printed {
        let mut out = Printed::EMPTY;
        out.push(text);
        out
    }

    /// Appends; what does not fit is dropped (no number is that long).
    fn push(&mut self, text: &[u8]) {
        let end = self.end as usize;
        let taken = text.len().min(Printed::CAPACITY - end);
        self.bytes[end..end + taken].copy_from_slice(&text[..taken]);
        self.end += taken as u8;
    }
}

impl std::fmt::Write for Printed {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}

/// Fills `bytes` from its end with decimal digits; gives the index of the first.
#[inline]
fn digits_backwards(mut value: u64, bytes: &mut [u8; Printed::CAPACITY]) -> usize {
    let mut at = Printed::CAPACITY;
    while value >= 100 {
        let pair = (value % 100) as usize * 2;
        value /= 100;
        at -= 2;
        bytes[at] = PAIRS[pair];
        bytes[at + 1] = PAIRS[pair + 1];
    }
    if value >= 10 {
        let pair = value as usize * 2;
        at -= 2;
        bytes[at] = PAIRS[pair];
        bytes[at + 1] = PAIRS[pair + 1];
    } else {
        at -= 1;
        bytes[at] = b'0' + value as u8;
    }
    at
}

fn non_finite(value: f64) -> Option<&'static [u8]> {
    if value.is_nan() {
        Some(b"nan")
    } else if value == f64::INFINITY {
        Some(b"inf")
    } else if value == f64::NEG_INFINITY {
        Some(b"-inf")
    } else {
        None
    }
}

/// Turns `-d.ddde-x` into MySQL's form: plain while the point stands between 14 zeros before the first digit and
/// 15 digits after it, else one digit before the point and an exponent without plus sign.
fn place_point(science: &[u8]) -> Printed {
    let mut out = Printed::EMPTY;
    let (negative, science) = match science.split_first() {
        Some((b'-', rest)) => (true, rest),
        _ => (false, science),
    };
    let split = science.iter().position(|&byte| byte == b'e');
    let (mantissa, exponent) = science.split_at(split.unwrap_or(science.len()));
    let mut digits = [0u8; 20];
    let mut count = 0;
    for &byte in mantissa.iter().filter(|byte| byte.is_ascii_digit()) {
        if count < digits.len() {
            digits[count] = byte;
            count += 1;
        }
    }
    while count > 1 && digits[count - 1] == b'0' {
        count -= 1;
    }
    let digits = &digits[..count];
    let exponent: i32 = std::str::from_utf8(exponent.get(1..).unwrap_or_default())
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    if negative {
        out.push(b"-");
    }
    // Digits before the point, as dtoa counts them.
    let point = exponent + 1;
    if !(-14..=15).contains(&point) && digits != b"0" {
        out.push(&digits[..1]);
        if count > 1 {
            out.push(b".");
            out.push(&digits[1..]);
        }
        let _ = write!(out, "e{exponent}");
    } else if point <= 0 {
        out.push(b"0.");
        for _ in point..0 {
            out.push(b"0");
        }
        out.push(digits);
    } else {
        let whole = (point as usize).min(count);
        out.push(&digits[..whole]);
        for _ in whole..point as usize {
            out.push(b"0");
        }
        if whole < count {
            out.push(b".");
            out.push(&digits[whole..]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(printed: Printed) -> String {
        String::from_utf8_lossy(printed.as_bytes()).into_owned()
    }

    /// Each expectation was printed by a server of the MySQL family.
    #[test]
    fn doubles_as_mysql_prints_them() {
        for (value, expected) in [
            (1e15, "1e15"),
            (1e14, "100000000000000"),
            (1e-15, "0.000000000000001"),
            (1.5e-15, "0.0000000000000015"),
            (1e-16, "1e-16"),
            (1.2345678901234568e17, "1.2345678901234568e17"),
            (1234567890123456e0, "1.234567890123456e15"),
            (123456789012345e0, "123456789012345"),
            (0.1, "0.1"),
            (1.2345e-7, "0.00000012345"),
            (0.0, "0"),
            (-1.5, "-1.5"),
            (f64::MAX, "1.7976931348623157e308"),
            (2.2250738585072014e-308, "2.2250738585072014e-308"),
        ] {
            assert_eq!(text(Printed::double(value)), expected);
        }
    }

    #[test]
    fn floats_as_mysql_prints_them() {
        for (value, expected) in [
            (1.17549e-38f32, "1.17549e-38"),
            (f32::MAX, "3.40282e38"),
            (0.1, "0.1"),
            (123456.79, "123457"),
            (1234567.0, "1234570"),
            (1e6, "1000000"),
            (1e15, "1e15"),
            (16777216.0, "16777200"),
            (1e-5, "0.00001"),
            (-2.5, "-2.5"),
        ] {
            assert_eq!(text(Printed::float(value)), expected);
        }
    }

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn integers_print_as_std_does(value: u64, shift in 0..64u32) {
            let value = value >> shift;
            prop_assert_eq!(text(Printed::uint(value)), value.to_string());
            prop_assert_eq!(text(Printed::int(value as i64)), (value as i64).to_string());
        }

        #[test]
        fn doubles_read_back(bits: u64) {
            let value = f64::from_bits(bits);
            if value.is_finite() {
                prop_assert_eq!(text(Printed::double(value)).parse::<f64>().map(f64::to_bits), Ok(bits));
            }
        }
    }
}
