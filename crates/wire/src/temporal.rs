//! Dates and times as the binary protocol carries them: fields, not validated, not interpreted.

use crate::error::ProtocolError;
use crate::read::{ReadResult, Reader};
use crate::write::Put;

/// A DATE, DATETIME or TIMESTAMP value. All zeroes is the zero date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DateTime {
    /// Year, 0 to 9999.
    pub year: u16,
    /// Month, 0 to 12.
    pub month: u8,
    /// Day of month, 0 to 31.
    pub day: u8,
    /// Hour, 0 to 23.
    pub hour: u8,
    /// Minute.
    pub minute: u8,
    /// Second.
    pub second: u8,
    /// Microsecond.
    pub micros: u32,
}

/// A TIME value: a signed duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Time {
    /// Whether the duration is below zero.
    pub negative: bool,
    /// Whole days.
    pub days: u32,
    /// Hours beyond the days, 0 to 23.
    pub hours: u8,
    /// Minutes.
    pub minutes: u8,
    /// Seconds.
    pub seconds: u8,
    /// Microseconds.
    pub micros: u32,
}

impl DateTime {
    /// Reads a length byte (0, 4, 7 or 11) and as many bytes.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: another length, or less than that.
    pub fn read(reader: &mut Reader<'_>) -> ReadResult<DateTime> {
        let length = reader.u8()?;
        let mut value = DateTime::default();
        if !matches!(length, 0 | 4 | 7 | 11) {
            return Err(ProtocolError::Malformed);
        }
        if length >= 4 {
            value.year = reader.u16()?;
            value.month = reader.u8()?;
            value.day = reader.u8()?;
        }
        if length >= 7 {
            value.hour = reader.u8()?;
            value.minute = reader.u8()?;
            value.second = reader.u8()?;
        }
        if length == 11 {
            value.micros = reader.u32()?;
        }
        Ok(value)
    }

    /// Appends the shortest form that keeps the value. `date_only` drops the time of day, as a DATE column does.
    pub fn write(&self, date_only: bool, buf: &mut Vec<u8>) {
        let length = if !date_only && self.micros != 0 {
            11
        } else if !date_only && (self.hour | self.minute | self.second) != 0 {
            7
        } else if (self.year | u16::from(self.month) | u16::from(self.day)) != 0 {
            4
        } else {
            0
        };
        buf.put_u8(length);
        if length >= 4 {
            buf.put_u16(self.year);
            buf.put_bytes(&[self.month, self.day]);
        }
        if length >= 7 {
            buf.put_bytes(&[self.hour, self.minute, self.second]);
        }
        if length == 11 {
            buf.put_u32(self.micros);
        }
    }
}

impl Time {
    /// Reads a length byte (0, 8 or 12) and as many bytes.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: another length, or less than that.
    pub fn read(reader: &mut Reader<'_>) -> ReadResult<Time> {
        let length = reader.u8()?;
        let mut value = Time::default();
        if !matches!(length, 0 | 8 | 12) {
            return Err(ProtocolError::Malformed);
        }
        if length >= 8 {
            value.negative = reader.u8()? != 0;
            value.days = reader.u32()?;
            value.hours = reader.u8()?;
            value.minutes = reader.u8()?;
            value.seconds = reader.u8()?;
        }
        if length == 12 {
            value.micros = reader.u32()?;
        }
        Ok(value)
    }

    /// Appends the shortest form that keeps the value.
    pub fn write(&self, buf: &mut Vec<u8>) {
        let clock = u32::from(self.hours | self.minutes | self.seconds);
        let length = if self.micros != 0 {
            12
        } else if (clock | self.days) != 0 {
            8
        } else {
            0
        };
        buf.put_u8(length);
        if length >= 8 {
            buf.put_u8(u8::from(self.negative));
            buf.put_u32(self.days);
            buf.put_bytes(&[self.hours, self.minutes, self.seconds]);
        }
        if length == 12 {
            buf.put_u32(self.micros);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn datetime_round_trips(year: u16, month: u8, day: u8, hour: u8, minute: u8, second: u8, micros: u32) {
            let value = DateTime { year, month, day, hour, minute, second, micros };
            let mut buf = Vec::new();
            value.write(false, &mut buf);
            prop_assert_eq!(DateTime::read(&mut Reader::new(&buf)), Ok(value));
        }

        #[test]
        fn time_round_trips(negative: bool, days: u32, hours: u8, minutes: u8, seconds: u8, micros in 1..1_000_000u32) {
            let value = Time { negative, days, hours, minutes, seconds, micros };
            let mut buf = Vec::new();
            value.write(&mut buf);
            prop_assert_eq!(Time::read(&mut Reader::new(&buf)), Ok(value));
        }

        #[test]
        fn any_bytes_read_without_panic(bytes: Vec<u8>) {
            let _ = DateTime::read(&mut Reader::new(&bytes));
            let _ = Time::read(&mut Reader::new(&bytes));
        }
    }

    #[test]
    fn zero_values_take_one_byte() {
        let mut buf = Vec::new();
        DateTime::default().write(false, &mut buf);
        Time::default().write(&mut buf);
        assert_eq!(buf, [0, 0]);
    }
}
