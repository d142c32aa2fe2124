//! How one cell of an answer differs from the other server's: the words behind `=` in the list of documented differences.
//!
//! Each word says something of both cells. None may hold for every pair of them: a line that uses it would prove nothing.

/// How two cells differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// Ours is NULL.
    Null,
    /// The other is.
    TheirsNull,
    /// By zeroes behind the point.
    Zeroes,
    /// Of 15 digits and more, by less than a double shows of them.
    Near,
    /// By the sign of a zero.
    Sign,
    /// By the fraction of a second.
    Fraction,
    /// By a second at most, to which a fraction is rounded.
    Second,
    /// One is a number in the digits of the other, written with an exponent or in another length.
    Digits,
    /// One is 1 and the other 0, or one of them NULL.
    Truth,
    /// By the case of ASCII letters.
    Case,
    /// Ours is empty.
    Empty,
    /// The other is.
    TheirsEmpty,
    /// Ours are the bytes of the number that the other is: BIT.
    Bytes,
    /// One is a number whose digits are those of the other's date or time, but for a fraction.
    Packed,
    /// `true` and `false` on one side are 1 and 0 on the other.
    Json,
    /// Both are names of character sets, or of collations.
    Charset,
    /// One begins with the bytes of the other, which is not empty.
    Cut,
    /// Both are lists of the labels of the tables' ENUM and SET.
    Labels,
    /// Both are numbers, a whole one apart at most.
    Unit,
    /// Both are whole numbers, and the same in 64 bits.
    Wrap,
    /// Both are numbers, one of them the first or last of 32 or 64 bits.
    Bound,
    /// Ours is a time of the session's day, or of a day beside it.
    Today,
    /// One is the zero date.
    ZeroDate,
    /// Both are numbers, one of them zero.
    Zero,
    /// Both are dates or times, or lists of them.
    Times,
    /// Both are numbers, or lists of them.
    Number,
    /// Both are lists of the same members, in another order or cut elsewhere.
    Members,
    /// Ours comes before the other, as text.
    Before,
    /// Ours comes behind it.
    Behind,
}

/// The words of the list.
const WORDS: &[(&str, Cell)] = &[
    ("null", Cell::Null),
    ("theirs-null", Cell::TheirsNull),
    ("zeroes", Cell::Zeroes),
    ("near", Cell::Near),
    ("sign", Cell::Sign),
    ("fraction", Cell::Fraction),
    ("second", Cell::Second),
    ("digits", Cell::Digits),
    ("truth", Cell::Truth),
    ("case", Cell::Case),
    ("empty", Cell::Empty),
    ("theirs-empty", Cell::TheirsEmpty),
    ("bytes", Cell::Bytes),
    ("packed", Cell::Packed),
    ("json", Cell::Json),
    ("charset", Cell::Charset),
    ("cut", Cell::Cut),
    ("labels", Cell::Labels),
    ("unit", Cell::Unit),
    ("wrap", Cell::Wrap),
    ("bound", Cell::Bound),
    ("today", Cell::Today),
    ("zero-date", Cell::ZeroDate),
    ("zero", Cell::Zero),
    ("times", Cell::Times),
    ("number", Cell::Number),
    ("members", Cell::Members),
    ("before", Cell::Before),
    ("behind", Cell::Behind),
];

/// The first and last whole numbers of 32 and 64 bits.
const BOUNDS: [i128; 7] = [
    i32::MIN as i128,
    i32::MAX as i128,
    u32::MAX as i128,
    i64::MIN as i128,
    i64::MAX as i128,
    i64::MAX as i128 + 1,
    u64::MAX as i128,
];

impl Cell {
    /// The relation of a word.
    pub fn named(word: &str) -> Option<Cell> {
        let found = WORDS.iter().find(|(name, _)| *name == word);
        found.map(|(_, cell)| *cell)
    }

    /// Whether it tells how `ours` differs from `theirs`.
    pub fn tells(self, ours: &str, theirs: &str) -> bool {
        let numbers = || Some((number(ours)?, number(theirs)?));
        let both = |holds: &dyn Fn(f64, f64) -> bool| numbers().is_some_and(|(a, b)| holds(a, b));
        let wholes = || Some((ours.parse::<i128>().ok()?, theirs.parse::<i128>().ok()?));
        let bound = |text: &str| text.parse().is_ok_and(|n: i128| BOUNDS.contains(&n));
        match self {
            Cell::Null => ours == "NULL",
            Cell::TheirsNull => theirs == "NULL",
            Cell::Zeroes => bare(ours) == bare(theirs),
            Cell::Near => {
                let long = digits(ours).len().max(digits(theirs).len()) >= 15;
                long && both(&|a, b| (a - b).abs() <= a.abs() * 1e-14)
            }
            Cell::Sign => {
                let signed = ours.starts_with('-') != theirs.starts_with('-');
                signed && both(&|a, b| a == 0.0 && b == 0.0)
            }
            Cell::Fraction => {
                let (a, b) = (whole(ours), whole(theirs));
                a == b && a.contains(':')
            }
            Cell::Second => match (seconds(ours), seconds(theirs)) {
                (Some(a), Some(b)) => matches!((a - b).abs(), 0 | 1 | 86_399),
                _ => false,
            },
            Cell::Digits => both(&|a, b| (a - b).abs() <= a.abs() * 1e-3),
            Cell::Truth => [ours, theirs]
                .iter()
                .all(|t| matches!(*t, "0" | "1" | "NULL")),
            Cell::Case => ours.eq_ignore_ascii_case(theirs),
            Cell::Empty => ours.is_empty(),
            Cell::TheirsEmpty => theirs.is_empty(),
            Cell::Bytes => {
                let value = bytes(ours).iter().try_fold(0_i128, |n, b| {
                    n.checked_mul(256)?.checked_add(i128::from(*b))
                });
                !ours.is_empty() && value.is_some() && value == theirs.parse().ok()
            }
            Cell::Packed => packs(ours, theirs) || packs(theirs, ours),
            Cell::Json => {
                let plain = |text: &str| text.replace("true", "1").replace("false", "0");
                plain(ours) == plain(theirs)
            }
            Cell::Charset => names_charset(ours) && names_charset(theirs),
            Cell::Cut => {
                let (a, b) = (bytes(ours), bytes(theirs));
                !a.is_empty() && !b.is_empty() && (a.starts_with(&b) || b.starts_with(&a))
            }
            Cell::Labels => are_labels(ours) && are_labels(theirs),
            Cell::Unit => both(&|a, b| (a - b).abs() <= 1.0),
            Cell::Wrap => wholes().is_some_and(|(a, b)| (a - b) % (1 << 64) == 0),
            Cell::Bound => numbers().is_some() && (bound(ours) || bound(theirs)),
            Cell::Today => is_time(ours) && ours.contains("2023-11-1"),
            // It may have been cut.
            Cell::ZeroDate => [ours, theirs].iter().any(|t| t.starts_with("0000-0")),
            Cell::Zero => both(&|a, b| a == 0.0 || b == 0.0),
            Cell::Times => each(ours, is_time) && each(theirs, is_time),
            Cell::Number => {
                let is = |text: &str| number(text).is_some();
                each(ours, is) && each(theirs, is)
            }
            Cell::Members => same_members(ours, theirs),
            Cell::Before => folded(ours) < folded(theirs),
            Cell::Behind => folded(ours) > folded(theirs),
        }
    }
}

/// Whether the cell at `at` is made of one before it, so that it differs as that one does: its `HEX()`, or the length of what that shows.
pub fn follows(row: &[String], at: usize) -> bool {
    let Some(cell) = row.get(at) else {
        return false;
    };
    let hexadecimal = |text: &str| {
        text.len().is_multiple_of(2) && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'A'..=b'F'))
    };
    if let Some(before) = at.checked_sub(1).and_then(|at| row.get(at))
        && (before == "NULL") == (cell == "NULL")
        && (cell == "NULL" || is_hex(before, cell))
    {
        return true;
    }
    match at.checked_sub(2).and_then(|at| row.get(at)) {
        Some(hex) if hex == "NULL" => cell == "NULL",
        Some(hex) if at == 3 => hexadecimal(hex) && *cell == (hex.len() / 2).to_string(),
        _ => false,
    }
}

/// Whether `hex` is the HEX() of `text`, or of the number that it is.
fn is_hex(text: &str, hex: &str) -> bool {
    let shown: String = bytes(text).iter().map(|b| format!("{b:02X}")).collect();
    let of = |n: i128| format!("{:X}", n as u64);
    let rounded = number(text).filter(|_| text.contains(['.', 'e']));
    hex == shown
        || text.parse().is_ok_and(|n: i128| hex == of(n))
        || rounded.is_some_and(|n| {
            let near = [n.round(), n.round_ties_even(), n.trunc()];
            near.iter().any(|n| hex == of(*n as i128))
        })
        // Of a FLOAT no more than six digits are shown.
        || number(text).is_some_and(|n| {
            let value = u64::from_str_radix(hex, 16).ok().map(|v| v as f64);
            digits(text).len() >= 6 && value.is_some_and(|v| (v - n).abs() <= n.abs() * 1e-5)
        })
}

/// Whether a number has the digits of a date or time.
fn packs(n: &str, time: &str) -> bool {
    let shown = |text: &str| digits(whole(text)).trim_start_matches('0').to_owned();
    number(n).is_some() && is_time(time) && shown(n) == shown(time)
}

/// Whether it is so, or a list (of GROUP_CONCAT) of which each member is.
fn each(text: &str, is: impl Fn(&str) -> bool) -> bool {
    text.split(',').all(is)
}

/// The bytes of a cell; one that is no UTF-8 was written as a list of them.
fn bytes(cell: &str) -> Vec<u8> {
    let list = cell.strip_prefix('[').and_then(|c| c.strip_suffix(']'));
    let read = |list: &str| -> Option<Vec<u8>> {
        let parts = list.split(", ");
        parts.map(|b| u8::from_str_radix(b, 16).ok()).collect()
    };
    list.and_then(read)
        .unwrap_or_else(|| cell.as_bytes().to_vec())
}

fn folded(cell: &str) -> Vec<u8> {
    bytes(cell).to_ascii_lowercase()
}

fn number(text: &str) -> Option<f64> {
    let begins = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
    let found = text.parse::<f64>().ok();
    found.filter(|_| begins && !text.contains("inf"))
}

/// A number without the zeroes at the end of its fraction.
fn bare(text: &str) -> &str {
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

fn whole(text: &str) -> &str {
    text.split_once('.').map_or(text, |(whole, _)| whole)
}

/// The second of the day of a time.
fn seconds(text: &str) -> Option<i64> {
    let mut parts = whole(text).rsplit(':');
    let mut next = || parts.next()?.rsplit(' ').next()?.parse::<i64>().ok();
    let (seconds, minutes, hours) = (next()?, next()?, next()?);
    Some(hours.abs() * 3600 + minutes * 60 + seconds)
}

/// Whether it is written as a date, a time, or both.
fn is_time(text: &str) -> bool {
    let shape: String = text
        .chars()
        .map(|c| if c.is_ascii_digit() { '9' } else { c })
        .collect();
    let (shape, fraction) = shape.split_once('.').unwrap_or((&shape, ""));
    let dated = shape.strip_prefix("9999-99-99").map(str::trim_start);
    let clock = dated.unwrap_or(shape.trim_start_matches('-'));
    fraction.bytes().all(|b| b == b'9')
        && (matches!(clock, "99:99:99" | "999:99:99") || (clock.is_empty() && dated.is_some()))
}

/// Whether two lists have the same members, but for the last of each, which may be cut.
fn same_members(a: &str, b: &str) -> bool {
    let members = |text: &str| -> Vec<String> {
        let mut all: Vec<String> = text.split(',').map(str::to_owned).collect();
        all.pop();
        all.sort_unstable();
        all
    };
    let (a, b) = (members(a), members(b));
    let (few, many) = if a.len() < b.len() {
        (&a, &b)
    } else {
        (&b, &a)
    };
    // One member more or less may be lost by the cut, and the last is not looked at.
    let strange = few.iter().filter(|m| !many.contains(m)).count();
    !few.is_empty() && strange <= 1
}

fn names_charset(text: &str) -> bool {
    let name = text.split('_').next();
    name.is_some_and(|n| matches!(n, "utf8mb4" | "utf8mb3" | "latin1" | "ascii" | "binary"))
}

fn are_labels(text: &str) -> bool {
    text.split(',')
        .all(|label| matches!(label, "" | "a" | "b" | "c" | "12"))
}
