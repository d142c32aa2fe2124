//! Dates and times in a row of the binary log, as MySQL has them since 5.6.4: the highest byte first, the fraction in as few bytes as its
//! digits need. (MySQL, sql-common/my_time.cc.)

use crate::error::ProtocolError;
use crate::read::{ReadResult, Reader};
use types::temporal::{Date, DateTime, MICROS, Time};

const DATETIME_SIGN: u64 = 0x80_0000_0000;
const TIME_SIGN: i64 = 0x80_0000;
const WIDE_TIME_SIGN: i64 = 0x8000_0000_0000;

/// Bytes of a fraction of so many digits, and microseconds of its last unit.
fn fraction_of(fsp: u8) -> ReadResult<(usize, u32)> {
    match fsp {
        0 => Ok((0, 1)),
        1 | 2 => Ok((1, 10_000)),
        3 | 4 => Ok((2, 100)),
        5 | 6 => Ok((3, 1)),
        _ => Err(ProtocolError::Malformed),
    }
}

fn put_high_first(value: u64, bytes: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&value.to_be_bytes()[8 - bytes..]);
}

fn high_first(r: &mut Reader<'_>, bytes: usize) -> ReadResult<u64> {
    let all = r.read_bytes(bytes)?;
    Ok(all.iter().fold(0, |v, b| v << 8 | u64::from(*b)))
}

fn put_fraction(micros: u32, fsp: u8, out: &mut Vec<u8>) {
    if let Ok((bytes, unit)) = fraction_of(fsp) {
        put_high_first(u64::from(micros / unit), bytes, out);
    }
}

fn fraction(r: &mut Reader<'_>, fsp: u8) -> ReadResult<u32> {
    let (bytes, unit) = fraction_of(fsp)?;
    let micros = high_first(r, bytes)? * u64::from(unit);
    match micros < MICROS as u64 {
        true => Ok(micros as u32),
        false => Err(ProtocolError::Malformed),
    }
}

/// Appends a DATE.
pub(super) fn put_date(v: Date, out: &mut Vec<u8>) {
    out.extend_from_slice(&v.packed().to_le_bytes()[..3]);
}

/// Reads a DATE.
pub(super) fn date(r: &mut Reader<'_>) -> ReadResult<Date> {
    let packed = r.u24()?;
    let date = Date::from_packed(packed);
    match packed < 1 << 23 && date.year() <= 9999 && date.month() <= 12 {
        true => Ok(date),
        false => Err(ProtocolError::Malformed),
    }
}

/// Appends a DATETIME.
pub(super) fn put_datetime(v: DateTime, fsp: u8, out: &mut Vec<u8>) {
    let d = v.date();
    let months = u64::from(d.year()) * 13 + u64::from(d.month());
    let days = months << 5 | u64::from(d.day());
    let time = u64::from(v.hour()) << 12 | u64::from(v.minute()) << 6 | u64::from(v.second());
    put_high_first(DATETIME_SIGN + (days << 17 | time), 5, out);
    put_fraction(v.micros(), fsp, out);
}

/// Reads a DATETIME.
pub(super) fn datetime(r: &mut Reader<'_>, fsp: u8) -> ReadResult<DateTime> {
    let packed = high_first(r, 5)?;
    let v = packed
        .checked_sub(DATETIME_SIGN)
        .ok_or(ProtocolError::Malformed)?;
    let (days, time) = (v >> 17, v & 0x1_FFFF);
    let months = days >> 5;
    let (hour, minute, second) = (time >> 12, time >> 6 & 63, time & 63);
    if months / 13 > 9999 || hour > 23 || minute > 59 || second > 59 {
        return Err(ProtocolError::Malformed);
    }
    let date = Date::from_parts((months / 13) as u16, (months % 13) as u8, (days & 31) as u8);
    let micros = fraction(r, fsp)?;
    let at = DateTime::from_parts(date, hour as u8, minute as u8, second as u8, micros);
    Ok(at.with_fsp(fsp))
}

/// Appends a TIMESTAMP, which is in UTC. What a column cannot hold becomes 0.
pub(super) fn put_timestamp(v: DateTime, fsp: u8, out: &mut Vec<u8>) {
    let seconds = v.to_unix_seconds().and_then(|s| u32::try_from(s).ok());
    out.extend_from_slice(&seconds.unwrap_or(0).to_be_bytes());
    put_fraction(seconds.map_or(0, |_| v.micros()), fsp, out);
}

/// Reads a TIMESTAMP.
pub(super) fn timestamp(r: &mut Reader<'_>, fsp: u8) -> ReadResult<DateTime> {
    let seconds = high_first(r, 4)? as i64;
    let micros = i64::from(fraction(r, fsp)?);
    if (seconds, micros) == (0, 0) {
        return Ok(DateTime::ZERO.with_fsp(fsp));
    }
    DateTime::from_unix_micros(seconds * MICROS + micros, fsp).ok_or(ProtocolError::Malformed)
}

/// Appends a TIME.
pub(super) fn put_time(v: Time, fsp: u8, out: &mut Vec<u8>) {
    let packed = {
        let whole =
            i64::from(v.hours()) << 12 | i64::from(v.minutes()) << 6 | i64::from(v.seconds());
        let magnitude = (whole << 24) + i64::from(v.micros());
        if v.is_negative() {
            -magnitude
        } else {
            magnitude
        }
    };
    let whole = (TIME_SIGN + (packed >> 24)) as u64;
    let micros = packed % (1 << 24);
    match fsp {
        5 | 6 => put_high_first((WIDE_TIME_SIGN + packed) as u64, 6, out),
        3 | 4 => {
            put_high_first(whole, 3, out);
            out.extend_from_slice(&((micros / 100) as i16).to_be_bytes());
        }
        1 | 2 => {
            put_high_first(whole, 3, out);
            out.push((micros / 10_000) as u8);
        }
        _ => put_high_first(whole, 3, out),
    }
}

/// Reads a TIME.
pub(super) fn time(r: &mut Reader<'_>, fsp: u8) -> ReadResult<Time> {
    let packed = match fsp {
        0 => (high_first(r, 3)? as i64 - TIME_SIGN) << 24,
        1..=4 => {
            let whole = high_first(r, 3)? as i64 - TIME_SIGN;
            let (micros, wrap) = match fsp {
                1 | 2 => (i64::from(r.u8()?) * 10_000, 0x100 * 10_000),
                _ => (
                    i64::from(u16::from_be_bytes(r.array()?)) * 100,
                    0x1_0000 * 100,
                ),
            };
            // Of a negative one the fraction is negative too, and the whole is one less.
            match whole < 0 && micros > 0 {
                true => ((whole + 1) << 24) + micros - wrap,
                false => (whole << 24) + micros,
            }
        }
        5 | 6 => high_first(r, 6)? as i64 - WIDE_TIME_SIGN,
        _ => return Err(ProtocolError::Malformed),
    };
    let magnitude = packed.unsigned_abs();
    let (whole, micros) = (magnitude >> 24, magnitude & 0xFF_FFFF);
    let (hours, minutes, seconds) = (whole >> 12, whole >> 6 & 63, whole & 63);
    if hours > 838 || minutes > 59 || seconds > 59 || micros >= MICROS as u64 {
        return Err(ProtocolError::Malformed);
    }
    Ok(Time::from_parts(
        packed < 0,
        hours as u32,
        minutes as u8,
        seconds as u8,
        micros as u32,
        fsp,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_bytes_are_those_of_mysql() {
        // Worked out by hand: (2010 * 13 + 10) months, day 17, 19:27:30, one microsecond.
        let date = Date::new(2010, 10, 17).unwrap();
        let at = DateTime::new(date, 19, 27, 30, 1, 6).unwrap();
        let mut out = Vec::new();
        put_datetime(at, 6, &mut out);
        assert_eq!(out, [0x99, 0x87, 0x23, 0x36, 0xDE, 0, 0, 1]);
        let time = |neg, h, m, s, micros, fsp| {
            let mut out = Vec::new();
            put_time(Time::from_parts(neg, h, m, s, micros, fsp), fsp, &mut out);
            out
        };
        assert_eq!(time(false, 0, 0, 1, 0, 0), [0x80, 0, 1]);
        assert_eq!(time(true, 0, 0, 1, 0, 0), [0x7F, 0xFF, 0xFF]);
        assert_eq!(time(true, 0, 0, 1, 100_000, 2), [0x7F, 0xFF, 0xFE, 0xF6]);
        assert_eq!(time(true, 0, 0, 0, 10_000, 2), [0x7F, 0xFF, 0xFF, 0xFF]);
        assert_eq!(
            time(true, 0, 0, 0, 1, 6),
            [0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]
        );
        let mut out = Vec::new();
        put_timestamp(DateTime::ZERO, 0, &mut out);
        assert_eq!(out, [0; 4]);
    }

    #[test]
    fn zero_dates_are_dates() {
        for date_ in [
            Date::ZERO,
            Date::from_parts(2024, 0, 15),
            Date::from_parts(0, 1, 0),
        ] {
            let mut out = Vec::new();
            put_date(date_, &mut out);
            assert_eq!(date(&mut Reader::new(&out)), Ok(date_));
            let mut out = Vec::new();
            put_datetime(date_.at_midnight(), 0, &mut out);
            assert_eq!(datetime(&mut Reader::new(&out), 0), Ok(date_.at_midnight()));
        }
    }

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn what_is_written_is_read_back(
            days in 1i64..3_652_000, seconds in 0i64..86_400, micros in 0i64..1_000_000,
            time_of in -3_020_399_999_999i64..3_020_399_999_999, fsp in 0u8..=6
        ) {
            let micros = (days * 86_400 + seconds) * MICROS + micros;
            if let Some(v) = DateTime::from_linear(micros, 6) {
                let v = v.truncate(fsp);
                let mut out = Vec::new();
                put_datetime(v, fsp, &mut out);
                put_date(v.date(), &mut out);
                let mut r = Reader::new(&out);
                prop_assert_eq!(datetime(&mut r, fsp), Ok(v));
                prop_assert_eq!(date(&mut r), Ok(v.date()));
                prop_assert!(r.is_empty());
                if (1..0x7FFF_FFFF).contains(&v.to_unix_seconds().unwrap_or(0)) {
                    let mut out = Vec::new();
                    put_timestamp(v, fsp, &mut out);
                    prop_assert_eq!(timestamp(&mut Reader::new(&out), fsp), Ok(v));
                }
            }
            let t = Time::from_micros(time_of, 6).truncate(fsp);
            let mut out = Vec::new();
            put_time(t, fsp, &mut out);
            let mut r = Reader::new(&out);
            prop_assert_eq!(time(&mut r, fsp), Ok(t));
            prop_assert!(r.is_empty());
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>, fsp: u8) {
            let _ = date(&mut Reader::new(&bytes));
            let _ = datetime(&mut Reader::new(&bytes), fsp);
            let _ = timestamp(&mut Reader::new(&bytes), fsp);
            let _ = time(&mut Reader::new(&bytes), fsp % 8);
        }
    }
}
