//! Conversion between types by MySQL's rules: assignment to a column, CAST, comparison across types, text of any value.
//!
//! Everything here works on [`ValueRef`](crate::ValueRef) and allocates only for results that are new text. Warnings are pushed to a vector of the caller,
//! at most [`MAX_WARNINGS`] of them; whether a warning is an error is decided here from [`ConvertMode`].

mod assign;
mod assign_string;
mod assign_temporal;
mod cast;
mod compare;
mod fitted;
mod number;
mod text;

pub use assign::{Converted, Target, assign, zero_value};
pub use assign_string::in_utf8mb4;
pub use cast::{CastType, cast};
pub use compare::{compare, compare_with, hash_value, merge_collations};
pub use fitted::{write_double_fixed, write_double_within};
pub use number::{
    is_true, round_half_even, str_to_f64, str_to_int, to_decimal, to_decimal_warn, to_f64,
    to_f64_warn, to_int, to_int_warn, to_truth_warn,
};
pub use text::{
    to_bytes, to_text, write_double, write_float, write_int, write_text, write_uint, write_value,
};

use crate::datatype::DataType;
use crate::error::Warning;
use crate::temporal::{Date, DateTime, Days, Zone};

/// Most warnings a statement keeps (MySQL's default max_error_count).
pub const MAX_WARNINGS: usize = 1024;

/// What of sql_mode and the session conversions depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConvertMode {
    /// STRICT_TRANS_TABLES or STRICT_ALL_TABLES, and the statement is not IGNORE.
    pub strict: bool,
    /// NO_ZERO_DATE.
    pub no_zero_date: bool,
    /// NO_ZERO_IN_DATE.
    pub no_zero_in_date: bool,
    /// ALLOW_INVALID_DATES.
    pub invalid_dates: bool,
    /// TIME_TRUNCATE_FRACTIONAL: digits of a second that the column has no room for are cut off.
    pub cut_fractions: bool,
    /// The session's time zone: TIMESTAMP columns are assigned local times and hold UTC.
    pub zone: Zone,
    /// Now in the session's zone: the date a TIME gets when it becomes a DATETIME.
    pub today: Today,
}

/// A date that few ask for: it is worked out then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Today {
    /// This one.
    Is(Date),
    /// The one of this time in the session's zone, in microseconds since 1970.
    At(i64),
}

impl ConvertMode {
    /// MySQL 8.0's default sql_mode in UTC.
    pub const STRICT: ConvertMode = ConvertMode {
        strict: true,
        no_zero_date: true,
        no_zero_in_date: true,
        invalid_dates: false,
        cut_fractions: false,
        zone: Zone::UTC,
        today: Today::Is(Date::ZERO),
    };
    /// An empty sql_mode in UTC.
    pub const LENIENT: ConvertMode = ConvertMode {
        strict: false,
        no_zero_date: false,
        no_zero_in_date: false,
        invalid_dates: false,
        cut_fractions: false,
        zone: Zone::UTC,
        today: Today::Is(Date::ZERO),
    };

    /// The date of today.
    pub fn today(&self) -> Date {
        match self.today {
            Today::Is(date) => date,
            Today::At(micros) => {
                let local = self.zone.local(micros);
                local.map_or(Date::ZERO, |d| d.date())
            }
        }
    }

    /// Whether sql_mode lets this date be stored.
    pub fn allows(&self, d: DateTime) -> bool {
        if d.is_zero() {
            !self.no_zero_date
        } else {
            let date = d.date();
            !(self.no_zero_in_date && date.has_zero_part())
                && (self.invalid_dates || (date.has_zero_part() || date.is_valid()))
        }
    }

    /// Which days the months of a value for a column of that type may have: TIMESTAMP is always of the calendar.
    pub(crate) fn days(&self, ty: &DataType) -> Days {
        if self.invalid_dates && !matches!(ty, DataType::Timestamp(_)) {
            Days::Any
        } else {
            Days::Real
        }
    }
}

impl Default for ConvertMode {
    fn default() -> Self {
        Self::STRICT
    }
}

/// Adds a warning unless the list is full.
#[cold]
pub fn push_warning(list: &mut Vec<Warning>, w: Warning) {
    if list.len() < MAX_WARNINGS {
        list.push(w);
    }
}

#[cfg(test)]
mod tests;
