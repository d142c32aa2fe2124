//! The proleptic Gregorian calendar with MySQL's day numbers (TO_DAYS) and its eight ways to number weeks.
//!
//! Day numbers follow H. Hinnant's `days_from_civil` (chrono-compatible low-level date algorithms), shifted to MySQL's epoch.

use super::Date;

/// Whether February has 29 days. MySQL counts year 0 as a common year.
pub const fn is_leap(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || (year.is_multiple_of(400) && year != 0))
}

/// Days of a month 1–12; 31 for any other number.
pub const fn days_in_month(year: u16, month: u8) -> u8 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 => {
            if is_leap(year) {
                29
            } else {
                28
            }
        }
        _ => 31,
    }
}

/// Days since 1970-01-01 of a proleptic Gregorian date.
pub const fn days_from_civil(year: i64, month: u8, day: u8) -> i64 {
    let y = if month <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let yoe = y - era * 400;
    let mp = (month as i64 + 9) % 12;
    let doy = (153 * mp + 2) / 5 + day as i64 - 1;
    let doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    era * 146_097 + doe - 719_468
}

/// The date of a day number; `None` past 9999-12-31, the zero date up to day 365 (as FROM_DAYS does).
pub fn from_days(day: i64) -> Option<Date> {
    if day > 3_652_424 {
        return None;
    }
    if day <= 365 {
        return Some(Date::ZERO);
    }
    let z = day - super::UNIX_DAY + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z - era * 146_097;
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let d = doy - (153 * mp + 2) / 5 + 1;
    let m = if mp < 10 { mp + 3 } else { mp - 9 };
    let y = yoe + era * 400 + i64::from(m <= 2);
    Some(Date::from_parts(y as u16, m as u8, d as u8))
}

impl Date {
    /// TO_DAYS: day 1 is 0000-01-01. Zero parts count arithmetically, as MySQL's own function does.
    pub fn to_days(self) -> i64 {
        let (y, m, d) = (self.year(), self.month(), self.day());
        if y == 0 && m == 0 {
            return 0;
        }
        if y == 0 {
            // Year 0 is a common year here, unlike in the proleptic calendar.
            let before: i64 = (1..m).map(|m| i64::from(days_in_month(0, m))).sum();
            return before + i64::from(d);
        }
        if m == 0 {
            return days_from_civil(i64::from(y) - 1, 12, 1) + i64::from(d) + super::UNIX_DAY;
        }
        days_from_civil(i64::from(y), m, 1) + i64::from(d) - 1 + super::UNIX_DAY
    }

    /// 0 = Monday … 6 = Sunday (WEEKDAY).
    pub fn weekday(self) -> u8 {
        ((self.to_days() + 5).rem_euclid(7)) as u8
    }

    /// 1 = 1 January (DAYOFYEAR).
    pub fn day_of_year(self) -> u16 {
        (self.to_days() - Date::from_parts(self.year(), 1, 1).to_days() + 1) as u16
    }

    /// The last day of the month; `None` if the month is zero.
    pub fn last_day(self) -> Option<Date> {
        (1..=12).contains(&self.month()).then(|| {
            Date::from_parts(
                self.year(),
                self.month(),
                days_in_month(self.year(), self.month()),
            )
        })
    }
}

/// Year and week of a date in one of MySQL's modes 0–7, as YEARWEEK numbers it (never week 0).
pub fn year_week(date: Date, mode: u8) -> (u16, u8) {
    calc_week(date, mode | 2)
}

/// WEEK(date, mode): modes 0, 1, 4 and 5 number 0–53, the others 1–53.
pub fn week(date: Date, mode: u8) -> u8 {
    calc_week(date, mode).1
}

/// Mode bits: 1 = weeks start on Monday, 2 = numbers 1–53 with the year's edge moved, 4 = week 1 is the first that
/// holds the first weekday (inverted when weeks start on Monday, as MySQL's week_mode() does).
fn calc_week(date: Date, mode: u8) -> (u16, u8) {
    let monday_first = mode & 1 != 0;
    let week_year = mode & 2 != 0;
    let first_weekday = (mode & 4 != 0) == monday_first;
    let days = date.to_days();
    let mut year = date.year();
    let jan1 = Date::from_parts(year, 1, 1);
    let mut first = jan1.to_days();
    let day_index = |d: i64| -> i64 {
        if monday_first {
            (d + 5).rem_euclid(7)
        } else {
            (d + 6).rem_euclid(7)
        }
    };
    let mut weekday = day_index(first);
    let days_in_year = |y: u16| if is_leap(y) { 366i64 } else { 365 };
    let mut force = week_year;
    if date.month() == 1 && i64::from(date.day()) <= 7 - weekday {
        let in_last_year = (first_weekday && weekday != 0) || (!first_weekday && weekday >= 4);
        if !week_year && in_last_year {
            return (year, 0);
        }
        if in_last_year && year > 0 {
            force = true;
            year -= 1;
            let n = days_in_year(year);
            first -= n;
            weekday = (weekday + 53 * 7 - n).rem_euclid(7);
        }
    }
    let since = if (first_weekday && weekday != 0) || (!first_weekday && weekday >= 4) {
        days - (first + 7 - weekday)
    } else {
        days - (first - weekday)
    };
    if force && since >= 52 * 7 {
        let next = (weekday + days_in_year(year)) % 7;
        if (!first_weekday && next < 4) || (first_weekday && next == 0) {
            return (year + 1, 1);
        }
    }
    (year, (since / 7 + 1) as u8)
}
