//! The locales of `lc_time_names` and FORMAT: names of months and days, separators of numbers.
//!
//! They are data, `locales.txt` beside this file, read once when one but English is asked for. Names are UTF-8 here; whoever shows them
//! in another character set converts them.

use std::sync::OnceLock;

/// A locale.
#[derive(Debug, PartialEq, Eq)]
pub struct Locale {
    /// What it is called: `de_DE`.
    pub name: &'static str,
    /// Between the whole and the fraction of a number.
    pub point: &'static str,
    /// Between groups of digits; empty for none.
    pub thousands: &'static str,
    /// Digits of the first group, from the right, and of each that follows.
    pub groups: (u8, u8),
    names: Names,
}

/// From January, and from Monday.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Names {
    months: [&'static str; 12],
    short_months: [&'static str; 12],
    days: [&'static str; 7],
    short_days: [&'static str; 7],
}

/// `en_US`.
pub static ENGLISH: Locale = Locale {
    name: "en_US",
    point: ".",
    thousands: ",",
    groups: (3, 3),
    names: Names {
        months: [
            "January",
            "February",
            "March",
            "April",
            "May",
            "June",
            "July",
            "August",
            "September",
            "October",
            "November",
            "December",
        ],
        short_months: [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ],
        days: [
            "Monday",
            "Tuesday",
            "Wednesday",
            "Thursday",
            "Friday",
            "Saturday",
            "Sunday",
        ],
        short_days: ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
    },
};

impl Locale {
    /// The one of a number that `lc_time_names` takes, as events of the binary log say it.
    pub fn by_number(n: u64) -> Option<&'static Locale> {
        match n {
            0 => Some(&ENGLISH),
            n => all().get(usize::try_from(n).ok()?),
        }
    }

    /// The one of a name, whatever the case of its letters.
    pub fn by_name(name: &[u8]) -> Option<&'static Locale> {
        Self::number_of(name).and_then(Self::by_number)
    }

    /// The number of the one of a name.
    pub fn number_of(name: &[u8]) -> Option<u64> {
        if name.eq_ignore_ascii_case(ENGLISH.name.as_bytes()) {
            return Some(0);
        }
        let is = |l: &Locale| l.name.as_bytes().eq_ignore_ascii_case(name);
        all().iter().position(is).map(|n| n as u64)
    }

    /// Months from January.
    pub fn months(&self) -> &[&'static str; 12] {
        &self.names.months
    }

    /// Months from January, shortened.
    pub fn short_months(&self) -> &[&'static str; 12] {
        &self.names.short_months
    }

    /// Days from Monday.
    pub fn days(&self) -> &[&'static str; 7] {
        &self.names.days
    }

    /// Days from Monday, shortened.
    pub fn short_days(&self) -> &[&'static str; 7] {
        &self.names.short_days
    }

    /// `whole`, digits alone, with separators between its groups.
    pub fn grouped(&self, whole: &str, out: &mut String) {
        if self.thousands.is_empty() {
            out.push_str(whole);
            return;
        }
        let (first, next) = (usize::from(self.groups.0), usize::from(self.groups.1));
        for (i, c) in whole.chars().enumerate() {
            let left = whole.len() - i;
            if i > 0 && left >= first && (left - first).is_multiple_of(next) {
                out.push_str(self.thousands);
            }
            out.push(c);
        }
    }
}

/// All, by number.
fn all() -> &'static [Locale] {
    static ALL: OnceLock<Vec<Locale>> = OnceLock::new();
    ALL.get_or_init(|| read(include_str!("locales.txt")))
}

fn read(text: &'static str) -> Vec<Locale> {
    let mut all: Vec<Locale> = Vec::new();
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        let f: Vec<&str> = line.split('\t').collect();
        let names = match f[4].strip_prefix('=') {
            Some(of) => all.iter().find(|l| l.name == of).map(|l| l.names),
            None => Some(Names {
                months: list(f[4]),
                short_months: list(f[5]),
                days: list(f[6]),
                short_days: list(f[7]),
            }),
        };
        all.push(Locale {
            name: f[0],
            point: f[1],
            thousands: match f[2] {
                "-" => "",
                "space" => " ",
                "nul" => "\0",
                s => s,
            },
            groups: match f[3] {
                "3.2" => (3, 2),
                _ => (3, 3),
            },
            names: names.unwrap_or(ENGLISH.names),
        });
    }
    all
}

fn list<const N: usize>(text: &'static str) -> [&'static str; N] {
    let mut list = [""; N];
    for (to, from) in list.iter_mut().zip(text.split(',')) {
        *to = from;
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_locale() {
        let text = include_str!("locales.txt");
        for line in text.lines().filter(|l| !l.starts_with('#')) {
            let f: Vec<&str> = line.split('\t').collect();
            match f.len() {
                5 => assert!(Locale::by_name(&f[4].as_bytes()[1..]).is_some(), "{line}"),
                8 => {
                    let lengths: Vec<usize> = f[4..].iter().map(|l| l.split(',').count()).collect();
                    assert_eq!(lengths, [12, 12, 7, 7], "{line}");
                }
                _ => panic!("{line}"),
            }
        }
        assert_eq!(all().len(), 111);
        assert_eq!(all()[0], ENGLISH);
        assert_eq!(Locale::number_of(b"DE_de"), Some(4));
        assert_eq!(Locale::by_number(110).map(|l| l.name), Some("rm_CH"));
        assert!(Locale::by_number(111).is_none() && Locale::by_name(b"xx_XX").is_none());
    }

    #[test]
    fn digits_are_grouped() {
        for (locale, whole, shown) in [
            ("en_US", "1234567", "1,234,567"),
            ("en_US", "123", "123"),
            ("de_AT", "1234567", "1234567"),
            ("de_CH", "1234567", "1'234'567"),
            ("ta_IN", "12345678901234", "1,23,45,67,89,01,234"),
            ("ta_IN", "1234", "1,234"),
        ] {
            let mut out = String::new();
            Locale::by_name(locale.as_bytes())
                .unwrap()
                .grouped(whole, &mut out);
            assert_eq!(out, shown, "{locale}");
        }
    }
}
