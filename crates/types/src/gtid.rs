//! Global transaction identifiers: who committed a transaction first, and as which of its transactions; and sets of them.
//!
//! The texts and the bytes are MySQL 8.0's. A set knows no files and no positions.

use std::collections::BTreeMap;
use std::fmt;

/// The number of a server's first transaction.
pub const FIRST: u64 = 1;
/// No transaction has a higher number.
pub const LAST: u64 = i64::MAX as u64 - 1;

/// A server, as its transactions name it: a UUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Sid(pub [u8; 16]);

impl Sid {
    /// Reads `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`, without the hyphens or in braces too, as MySQL does.
    pub fn parse(text: &str) -> Option<Sid> {
        let text = match text.strip_prefix('{') {
            Some(inner) => inner.strip_suffix('}')?,
            None => text,
        };
        let hyphens = match text.len() {
            36 => true,
            32 => false,
            _ => return None,
        };
        let mut bytes = [0u8; 16];
        let mut rest = text.as_bytes();
        for (at, byte) in bytes.iter_mut().enumerate() {
            if hyphens && matches!(at, 4 | 6 | 8 | 10) {
                rest = rest.strip_prefix(b"-")?;
            }
            let (digits, tail) = rest.split_first_chunk::<2>()?;
            rest = tail;
            let digit = |c: u8| char::from(c).to_digit(16);
            *byte = (digit(digits[0])? << 4 | digit(digits[1])?) as u8;
        }
        Some(Sid(bytes))
    }
}

impl fmt::Display for Sid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        // In one piece: a replica writes it with each transaction.
        let mut text = [b'-'; 36];
        let mut to = 0;
        for (at, byte) in self.0.iter().enumerate() {
            to += usize::from(matches!(at, 4 | 6 | 8 | 10));
            text[to] = DIGITS[usize::from(byte >> 4)];
            text[to + 1] = DIGITS[usize::from(byte & 15)];
            to += 2;
        }
        f.write_str(str::from_utf8(&text).unwrap_or_default())
    }
}

/// One transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gtid {
    /// Where it was committed first.
    pub sid: Sid,
    /// Its number there, from [`FIRST`] to [`LAST`].
    pub number: u64,
}

/// Where a transaction that comes from another server was committed first, or what a client has said of its own (`gtid_next`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Its name, if it has one.
    pub gtid: Option<Gtid>,
    /// It is to have none, also where transactions get names (`gtid_next = ANONYMOUS`).
    pub anonymous: bool,
    /// The server's number; 0: this one.
    pub server_id: u32,
    /// When, in microseconds since 1970; 0: it is not known.
    pub committed_micros: u64,
    /// The server's version, such as 80035; 0: this one's.
    pub version: u32,
}

impl Gtid {
    /// Reads `sid:number`.
    pub fn parse(text: &str) -> Option<Gtid> {
        let (sid, number) = text.trim().split_once(':')?;
        Some(Gtid {
            sid: Sid::parse(sid.trim())?,
            number: parse_number(number.trim())?,
        })
    }
}

impl fmt::Display for Gtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.sid, self.number)
    }
}

fn parse_number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let number: u64 = digits.then(|| text.parse().ok())??;
    (FIRST..=LAST).contains(&number).then_some(number)
}

/// Numbers from the first to the last, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Interval {
    first: u64,
    last: u64,
}

/// A set of transactions: intervals of each server's numbers, sorted, apart from each other by at least one number.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GtidSet {
    of: BTreeMap<Sid, Vec<Interval>>,
}

impl GtidSet {
    /// The empty set.
    pub const fn new() -> GtidSet {
        GtidSet {
            of: BTreeMap::new(),
        }
    }

    /// Nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// How many transactions are in it.
    pub fn len(&self) -> u128 {
        let all = self.of.values().flatten();
        all.map(|i| u128::from(i.last - i.first) + 1).sum()
    }

    /// Reads MySQL's text: `sid:first-last:number, sid:...`, with blanks and line ends anywhere between, intervals in any order. Where
    /// the last is below the first, the interval is empty.
    pub fn parse(text: &str) -> Option<GtidSet> {
        let mut set = GtidSet::new();
        for part in text.split(',') {
            let part = part.trim();
            if part.is_empty() {
                continue;
            }
            let mut pieces = part.split(':').map(str::trim);
            let sid = Sid::parse(pieces.next()?)?;
            let mut some = false;
            for piece in pieces {
                some = true;
                let (first, last) = match piece.split_once('-') {
                    // A last number of 0 is allowed, and makes the interval empty.
                    Some((a, b)) if b.trim() == "0" => (parse_number(a.trim())?, 0),
                    Some((a, b)) => (parse_number(a.trim())?, parse_number(b.trim())?),
                    None => {
                        let number = parse_number(piece)?;
                        (number, number)
                    }
                };
                set.add_interval(sid, first, last);
            }
            if !some {
                return None;
            }
        }
        Some(set)
    }

    /// Puts one transaction in.
    pub fn add(&mut self, gtid: Gtid) {
        self.add_interval(gtid.sid, gtid.number, gtid.number);
    }

    /// Puts the numbers `first` to `last` of a server in.
    pub fn add_interval(&mut self, sid: Sid, first: u64, last: u64) {
        if first > last {
            return;
        }
        let list = self.of.entry(sid).or_default();
        // Those that touch it become one with it.
        let from = list.partition_point(|i| i.last < first.saturating_sub(1));
        let to = list.partition_point(|i| i.first <= last.saturating_add(1));
        let mut whole = Interval { first, last };
        if let (Some(a), Some(b)) = (list.get(from), list.get(to.wrapping_sub(1)))
            && from < to
        {
            whole.first = whole.first.min(a.first);
            whole.last = whole.last.max(b.last);
        }
        list.splice(from..to, [whole]);
    }

    /// Puts all of another set in.
    pub fn add_set(&mut self, other: &GtidSet) {
        for (sid, list) in &other.of {
            for i in list {
                self.add_interval(*sid, i.first, i.last);
            }
        }
    }

    /// Takes all of another set out.
    pub fn subtract(&mut self, other: &GtidSet) {
        for (sid, theirs) in &other.of {
            let Some(mine) = self.of.get_mut(sid) else {
                continue;
            };
            let mut left = Vec::with_capacity(mine.len());
            for i in mine.iter() {
                let mut first = i.first;
                for t in theirs {
                    if t.last < first || t.first > i.last {
                        continue;
                    }
                    if t.first > first {
                        left.push(Interval {
                            first,
                            last: t.first - 1,
                        });
                    }
                    first = t.last + 1;
                }
                if first <= i.last {
                    left.push(Interval {
                        first,
                        last: i.last,
                    });
                }
            }
            *mine = left;
            if mine.is_empty() {
                self.of.remove(sid);
            }
        }
    }

    /// Whether a transaction is in it.
    pub fn has(&self, gtid: Gtid) -> bool {
        self.of.get(&gtid.sid).is_some_and(|list| {
            let at = list.partition_point(|i| i.last < gtid.number);
            list.get(at).is_some_and(|i| i.first <= gtid.number)
        })
    }

    /// Whether all of `other` is in it.
    pub fn contains(&self, other: &GtidSet) -> bool {
        other.of.iter().all(|(sid, theirs)| {
            let mine = self.of.get(sid).map_or(&[][..], Vec::as_slice);
            theirs.iter().all(|t| {
                let at = mine.partition_point(|i| i.last < t.first);
                mine.get(at)
                    .is_some_and(|i| i.first <= t.first && t.last <= i.last)
            })
        })
    }

    /// Whether something is in both.
    pub fn meets(&self, other: &GtidSet) -> bool {
        let mut rest = self.clone();
        rest.subtract(other);
        rest.len() != self.len()
    }

    /// The least number of a server that is not in it.
    pub fn next_free(&self, sid: Sid) -> u64 {
        match self.of.get(&sid).and_then(|list| list.first()) {
            Some(i) if i.first == FIRST => i.last + 1,
            _ => FIRST,
        }
    }

    /// Appends the bytes of COM_BINLOG_DUMP_GTID and of the event of previous GTIDs: the number of servers; of each its UUID, the number
    /// of intervals, and of each the first number and the one behind the last; numbers in eight bytes, little endian.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let number = |n: u64, out: &mut Vec<u8>| out.extend_from_slice(&n.to_le_bytes());
        number(self.of.len() as u64, out);
        for (sid, list) in &self.of {
            out.extend_from_slice(&sid.0);
            number(list.len() as u64, out);
            for i in list {
                number(i.first, out);
                number(i.last + 1, out);
            }
        }
    }

    /// Reads what [`encode`](Self::encode) wrote; `None` for anything else.
    pub fn decode(bytes: &[u8]) -> Option<GtidSet> {
        let mut rest = bytes;
        let number = |rest: &mut &[u8]| -> Option<u64> {
            let (head, tail) = rest.split_first_chunk::<8>()?;
            *rest = tail;
            Some(u64::from_le_bytes(*head))
        };
        let mut set = GtidSet::new();
        for _ in 0..number(&mut rest)? {
            let (sid, tail) = rest.split_first_chunk::<16>()?;
            rest = tail;
            let mut behind = 0;
            for _ in 0..number(&mut rest)? {
                let (first, end) = (number(&mut rest)?, number(&mut rest)?);
                if first <= behind || end <= first || end > LAST + 1 {
                    return None;
                }
                set.add_interval(Sid(*sid), first, end - 1);
                behind = end - 1;
            }
        }
        rest.is_empty().then_some(set)
    }
}

/// As MySQL shows a set: servers in the order of their bytes, one a line.
impl fmt::Display for GtidSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (sid, list)) in self.of.iter().enumerate() {
            if n > 0 {
                f.write_str(",\n")?;
            }
            write!(f, "{sid}")?;
            for i in list {
                match i.first == i.last {
                    true => write!(f, ":{}", i.first)?,
                    false => write!(f, ":{}-{}", i.first, i.last)?,
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const A: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
    const B: &str = "4350f323-7565-4e59-8763-4b1b83a0ce0e";

    fn set(text: &str) -> GtidSet {
        GtidSet::parse(text).unwrap()
    }

    #[test]
    fn texts_are_read_and_shown_as_mysql_does() {
        for (text, shown) in [
            (String::new(), String::new()),
            (format!("{A}:23"), format!("{A}:23")),
            (format!("{A}:1-5"), format!("{A}:1-5")),
            (format!(" {A} : 7 : 1-3 : 4 "), format!("{A}:1-4:7")),
            (format!("{B}:1,\n{A}:2-3,"), format!("{A}:2-3,\n{B}:1")),
            (A.replace('-', "") + ":1", format!("{A}:1")),
            (format!("{{{A}}}:1"), format!("{A}:1")),
            (A.to_uppercase() + ":5-3", String::new()),
            (format!("{A}:3-0"), String::new()),
        ] {
            assert_eq!(GtidSet::parse(&text).map(|s| s.to_string()), Some(shown));
        }
        for wrong in [
            "x",
            A,
            &format!("{A}:"),
            &format!("{A}:0"),
            &format!("{A}:1-"),
        ] {
            assert_eq!(GtidSet::parse(wrong), None, "{wrong}");
        }
        assert_eq!(GtidSet::parse(&format!("{A}:9223372036854775807")), None);
        assert_eq!(GtidSet::parse(&format!("{A}:+1")), None);
        let one = Gtid::parse(&format!("{A}:23")).unwrap();
        assert_eq!(one.to_string(), format!("{A}:23"));
        assert_eq!(Gtid::parse(&format!("{A}:1-2")), None);
    }

    #[test]
    fn the_next_free_number() {
        let sid = Sid::parse(A).unwrap();
        for (text, next) in [("", 1), (":2-5", 1), (":1-5", 6), (":1:3", 2)] {
            let s = match text {
                "" => GtidSet::new(),
                t => set(&format!("{A}{t}")),
            };
            assert_eq!(s.next_free(sid), next, "{text}");
        }
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let mut bytes = Vec::new();
        set(&format!("{A}:1-3:7,{B}:5")).encode(&mut bytes);
        for cut in 0..bytes.len() {
            assert_eq!(GtidSet::decode(&bytes[..cut]), None, "{cut}");
        }
        bytes.push(0);
        assert_eq!(GtidSet::decode(&bytes), None);
        // An end that is not behind its beginning.
        let mut bytes = Vec::new();
        set(&format!("{A}:4")).encode(&mut bytes);
        bytes[40] = 4;
        assert_eq!(GtidSet::decode(&bytes), None);
    }

    fn plain(numbers: &[(bool, u64)]) -> (BTreeSet<(Sid, u64)>, GtidSet) {
        let (mut plain, mut set) = (BTreeSet::new(), GtidSet::new());
        for &(other, number) in numbers {
            let sid = Sid::parse(if other { A } else { B }).unwrap();
            plain.insert((sid, number));
            set.add(Gtid { sid, number });
        }
        (plain, set)
    }

    fn some() -> impl Strategy<Value = Vec<(bool, u64)>> {
        proptest::collection::vec((any::<bool>(), 1u64..24), 0..40)
    }

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn a_set_is_a_set(a in some(), b in some()) {
            let ((pa, sa), (pb, sb)) = (plain(&a), plain(&b));
            let all: Vec<_> = pa.union(&pb).copied().collect();
            let mut sum = sa.clone();
            sum.add_set(&sb);
            prop_assert_eq!(sum.len(), all.len() as u128);
            let mut rest = sa.clone();
            rest.subtract(&sb);
            for &(sid, number) in &all {
                let gtid = Gtid { sid, number };
                prop_assert!(sum.has(gtid));
                let left = pa.contains(&(sid, number)) && !pb.contains(&(sid, number));
                prop_assert_eq!(rest.has(gtid), left);
            }
            prop_assert_eq!(rest.len(), pa.difference(&pb).count() as u128);
            prop_assert_eq!(sa.contains(&sb), pa.is_superset(&pb));
            prop_assert_eq!(sa.meets(&sb), !pa.is_disjoint(&pb));
            prop_assert_eq!(GtidSet::parse(&sum.to_string()), Some(sum.clone()));
            let mut bytes = Vec::new();
            sum.encode(&mut bytes);
            prop_assert_eq!(GtidSet::decode(&bytes), Some(sum));
        }

        #[test]
        fn any_text_and_any_bytes_are_read_without_panic(text: String, bytes: Vec<u8>) {
            let _ = GtidSet::parse(&text);
            let _ = Gtid::parse(&text);
            let _ = GtidSet::decode(&bytes);
        }
    }
}
