//! A number in floating point as text of so many places behind the point, or of so many characters at most, as a column of a length has
//! room for. No digits are made up: behind those that tell the number from its neighbours there are zeros.

use super::text::{shortest, write_uint};

/// Digits of a number, without zeros behind them: `0.d₁d₂… · 10^point`. No digits for zero.
struct Digits {
    digits: Vec<u8>,
    point: i32,
}

impl Digits {
    fn len(&self) -> i32 {
        self.digits.len() as i32
    }

    /// Of `d.ddde±x`.
    fn scientific(s: &str) -> Digits {
        let (mantissa, exponent) = s.split_once('e').unwrap_or((s, "0"));
        let digits = mantissa.bytes().filter(u8::is_ascii_digit).collect();
        let point = exponent.parse::<i32>().unwrap_or(0) + 1;
        Digits { digits, point }.trimmed()
    }

    fn trimmed(mut self) -> Digits {
        let end = self.digits.iter().rposition(|&d| d != b'0');
        self.digits.truncate(end.map_or(0, |i| i + 1));
        self
    }

    /// As many as tell the number from its neighbours, rounded where that is more than `most`.
    fn at_most(v: f64, most: i32) -> Digits {
        let all = Digits::scientific(&shortest(v));
        let most = most.max(1);
        if all.len() <= most {
            return all;
        }
        Digits::scientific(&format!("{v:.0$e}", most as usize - 1))
    }

    /// Rounded to that many places behind the point.
    fn places(v: f64, places: i32) -> Digits {
        let places = places.max(0);
        let all = Digits::scientific(&shortest(v));
        if all.len() - all.point <= places {
            return all;
        }
        let text = format!("{v:.0$}", places as usize);
        let mut digits: Vec<u8> = text.bytes().filter(u8::is_ascii_digit).collect();
        let zeros = digits.iter().take_while(|&&d| d == b'0').count();
        let point = digits.len() as i32 - places - zeros as i32;
        digits.drain(..zeros);
        Digits { digits, point }.trimmed()
    }
}

/// Appends a double with that many digits behind the point.
pub fn write_double_fixed(v: f64, places: u8, out: &mut Vec<u8>) {
    if v.is_sign_negative() {
        out.push(b'-');
    }
    let places = usize::from(places);
    let d = Digits::places(v.abs(), places as i32);
    let whole = d.point.max(0) as usize;
    let digit = |i: i32| {
        let there = usize::try_from(i).ok().and_then(|i| d.digits.get(i));
        there.copied().unwrap_or(b'0')
    };
    if whole == 0 {
        out.push(b'0');
    }
    out.extend((0..whole as i32).map(digit));
    if places > 0 {
        out.push(b'.');
        out.extend((0..places as i32).map(|i| digit(d.point + i)));
    }
}

/// Appends a double in at most `room` characters, with as many digits as there is room for; whether all digits of the whole part had room.
pub fn write_double_within(v: f64, room: usize, out: &mut Vec<u8>) -> bool {
    if room == 0 {
        return false;
    }
    let mut text = Vec::new();
    if v.is_sign_negative() {
        text.push(b'-');
    }
    let width = i32::try_from(room).unwrap_or(i32::MAX) - i32::from(v < 0.0);
    let v = v.abs();
    let all = Digits::at_most(v, width);
    let complete = if v == 0.0 {
        text.push(b'0');
        true
    } else if is_positional(&all, width) {
        positional(v, all, width, &mut text)
    } else {
        scientific(v, all, width, &mut text)
    };
    text.truncate(room);
    out.extend_from_slice(&text);
    complete
}

/// The digits of a number's exponent.
fn exponent_digits(point: i32) -> i32 {
    1 + i32::from(point >= 101 || point <= -99) + i32::from(point >= 11 || point <= -9)
}

/// Whether the form without an exponent is taken: where all digits have room in it and it is not too long, or where it keeps no fewer
/// digits than the other.
fn is_positional(d: &Digits, width: i32) -> bool {
    /// Most zeros before the digits, or digits before the point, that are written out.
    const FAR: i32 = 15;
    let (len, point) = (d.len(), d.point);
    let needed = match point {
        ..=0 => len - point + 2,
        _ if point < len => len + 1,
        _ => point,
    };
    if needed <= width {
        return point > -FAR && (point <= FAR || len > point);
    }
    // Not a single digit has room in this form, and the other loses none.
    let none = point <= 0 && width <= 2 - point && width >= 3 + exponent_digits(point);
    !none && (-2..=width).contains(&point)
}

fn positional(v: f64, mut d: Digits, width: i32, text: &mut Vec<u8>) -> bool {
    let before = if d.point <= 0 { 1 - d.point } else { 0 };
    let mut room = width - i32::from(d.point < d.len()) - before;
    let mut complete = true;
    if room < d.len() {
        if room < d.point {
            complete = false;
            room = d.point;
        }
        d = Digits::places(v, room - d.point);
    }
    if d.digits.is_empty() {
        text.clear();
        text.push(b'0');
        return complete;
    }
    if d.point <= 0 {
        text.extend_from_slice(b"0.");
        text.resize(text.len() + (-d.point) as usize, b'0');
        text.extend_from_slice(&d.digits);
    } else if d.point < d.len() {
        let (whole, behind) = d.digits.split_at(d.point as usize);
        text.extend_from_slice(whole);
        text.push(b'.');
        text.extend_from_slice(behind);
    } else {
        text.extend_from_slice(&d.digits);
        text.resize(text.len() + (d.point - d.len()) as usize, b'0');
    }
    complete
}

fn scientific(v: f64, mut d: Digits, width: i32, text: &mut Vec<u8>) -> bool {
    let negative = d.point < 1;
    let mut room = width - i32::from(negative) - 1 - exponent_digits(d.point);
    room -= i32::from(d.len() > 1);
    let complete = room > 0;
    if room < d.len() {
        d = Digits::at_most(v, room);
    }
    text.extend(d.digits.first());
    if d.len() > 1 {
        text.push(b'.');
        text.extend_from_slice(&d.digits[1..]);
    }
    text.push(b'e');
    if negative {
        text.push(b'-');
    }
    write_uint(u64::from((d.point - 1).unsigned_abs()), text);
    complete
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn within(v: f64, room: usize) -> (String, bool) {
        let mut out = Vec::new();
        let complete = write_double_within(v, room, &mut out);
        (String::from_utf8(out).unwrap(), complete)
    }

    #[test]
    fn as_many_digits_as_there_is_room_for() {
        for (v, room, text) in [
            (1.5, 5, "1.5"),
            (3.141_95, 4, "3.14"),
            (-3.141_95, 4, "-3.1"),
            (2.0 / 3.0, 5, "0.667"),
            (1e-5, 10, "0.00001"),
            (1e-5, 4, "1e-5"),
            (1.234_567e-7, 8, "1.235e-7"),
            (123_456.7, 6, "123457"),
            (1e100, 5, "1e100"),
            (1e15, 20, "1e15"),
            (1e14, 20, "100000000000000"),
            (0.0, 1, "0"),
            (-0.0, 2, "-0"),
            (0.012, 3, "0"),
            (-0.012, 3, "0"),
            (9.99, 3, "10"),
            (f64::from(0.1_f32), 30, "0.10000000149011612"),
        ] {
            assert_eq!(within(v, room), (text.to_owned(), true), "{v} in {room}");
        }
    }

    #[test]
    fn places_behind_the_point() {
        for (v, places, text) in [
            (1.5, 2, "1.50"),
            (-1.5, 0, "-2"),
            (0.0, 2, "0.00"),
            (-0.0, 1, "-0.0"),
            (0.004, 2, "0.00"),
            (0.005_1, 2, "0.01"),
            (9.999, 2, "10.00"),
            (123.456, 1, "123.5"),
            (1e23, 2, "100000000000000000000000.00"),
            (-1e20, 0, "-100000000000000000000"),
            (
                1.234_567_890_123_456_8e25,
                1,
                "12345678901234568000000000.0",
            ),
            (0.000_012_5, 7, "0.0000125"),
        ] {
            let mut out = Vec::new();
            write_double_fixed(v, places, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), text, "{v} with {places}");
        }
    }

    #[test]
    fn a_whole_part_without_room_is_told() {
        assert_eq!(within(123_456.0, 3), ("1e5".to_owned(), false));
        assert_eq!(within(123_456.0, 2), ("1e".to_owned(), false));
        assert_eq!(within(-10.0, 2), ("-1".to_owned(), false));
        assert_eq!(within(1e100, 4), ("1e10".to_owned(), false));
        assert_eq!(within(1.0, 0), (String::new(), false));
    }

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn wide_enough_it_is_the_same_number(v in any::<f64>().prop_filter("finite", |v| v.is_finite())) {
            let (text, complete) = within(v, 40);
            prop_assert!(complete);
            prop_assert_eq!(text.parse::<f64>().unwrap(), v, "{}", text);
        }

        #[test]
        fn it_never_takes_more(v in any::<f64>().prop_filter("finite", |v| v.is_finite()), room in 0_usize..30) {
            prop_assert!(within(v, room).0.len() <= room);
        }
    }
}
