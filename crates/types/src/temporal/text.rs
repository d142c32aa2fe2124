//! Temporal values as text, exactly as MySQL prints them.

use super::{Date, DateTime, Time};
use std::fmt;

/// Two digits of every number below 100.
static PAIRS: [[u8; 2]; 100] = {
    let mut t = [[0u8; 2]; 100];
    let mut i = 0;
    while i < 100 {
        t[i] = [b'0' + (i / 10) as u8, b'0' + (i % 10) as u8];
        i += 1;
    }
    t
};

#[inline]
pub(super) fn pair(v: u32) -> [u8; 2] {
    PAIRS[(v % 100) as usize]
}

/// Appends `.` and the first `fsp` digits of a fraction in microseconds.
pub(super) fn write_fraction(micros: u32, fsp: u8, out: &mut Vec<u8>) {
    if fsp == 0 {
        return;
    }
    let [a, b] = pair(micros / 10_000);
    let [c, d] = pair(micros / 100);
    let [e, f] = pair(micros);
    out.push(b'.');
    out.extend_from_slice(&[a, b, c, d, e, f][..usize::from(fsp.min(6))]);
}

impl Date {
    /// The ten characters `YYYY-MM-DD`.
    #[inline]
    pub fn to_text(self) -> [u8; 10] {
        let y = u32::from(self.year());
        let [a, b] = pair(y / 100);
        let [c, d] = pair(y);
        let [e, f] = pair(u32::from(self.month()));
        let [g, h] = pair(u32::from(self.day()));
        [a, b, c, d, b'-', e, f, b'-', g, h]
    }
}

impl DateTime {
    /// Appends `YYYY-MM-DD hh:mm:ss[.ffffff]`.
    #[inline]
    pub fn write_text(self, out: &mut Vec<u8>) {
        let mut t = [b':'; 19];
        t[..10].copy_from_slice(&self.date().to_text());
        t[10] = b' ';
        t[11..13].copy_from_slice(&pair(u32::from(self.hour())));
        t[14..16].copy_from_slice(&pair(u32::from(self.minute())));
        t[17..19].copy_from_slice(&pair(u32::from(self.second())));
        out.extend_from_slice(&t);
        write_fraction(self.micros(), self.fsp(), out);
    }
}

impl Time {
    /// Appends `[-]hh:mm:ss[.ffffff]`, the hours with three digits from 100 on.
    pub fn write_text(self, out: &mut Vec<u8>) {
        if self.is_negative() {
            out.push(b'-');
        }
        let h = self.hours();
        if h >= 100 {
            out.push(b'0' + (h / 100) as u8);
        }
        let [a, b] = pair(h);
        let [c, d] = pair(u32::from(self.minutes()));
        let [e, f] = pair(u32::from(self.seconds()));
        out.extend_from_slice(&[a, b, b':', c, d, b':', e, f]);
        write_fraction(self.micros(), self.fsp(), out);
    }
}

macro_rules! display {
    ($t:ty, $write:expr) => {
        impl fmt::Display for $t {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut out = Vec::with_capacity(32);
                let write: fn($t, &mut Vec<u8>) = $write;
                write(*self, &mut out);
                f.write_str(std::str::from_utf8(&out).unwrap_or(""))
            }
        }

        impl fmt::Debug for $t {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

display!(Date, |d, out| out.extend_from_slice(&d.to_text()));
display!(DateTime, DateTime::write_text);
display!(Time, Time::write_text);
