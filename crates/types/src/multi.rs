//! The list that a row keeps for a multi-valued key part, of which each element has an entry in the index.
//!
//! ```text
//! element: length of its key u16 | key | length of its text u32 | text
//! ```
//!
//! The elements are in the order of their keys, and none is there twice. A key is what the key part makes of the element; the text is for
//! messages. Must never do: trust the bytes, which another server may have written.

use std::cmp::Ordering;

/// Puts a list together.
#[derive(Debug, Default)]
pub struct ListBuilder {
    elements: Vec<(Vec<u8>, Vec<u8>)>,
}

impl ListBuilder {
    /// Adds an element: its key, and its text.
    pub fn push(&mut self, key: Vec<u8>, text: Vec<u8>) {
        self.elements.push((key, text));
    }

    /// The list.
    pub fn finish(mut self) -> Vec<u8> {
        self.elements.sort_by(|a, b| a.0.cmp(&b.0));
        self.elements.dedup_by(|later, first| later.0 == first.0);
        let mut out = Vec::new();
        for (key, text) in &self.elements {
            // A key that is longer than that fits no page, and is refused by its index.
            let n = u16::try_from(key.len()).unwrap_or(u16::MAX);
            out.extend_from_slice(&n.to_le_bytes());
            out.extend_from_slice(&key[..usize::from(n)]);
            out.extend_from_slice(&(text.len() as u32).to_le_bytes());
            out.extend_from_slice(text);
        }
        out
    }
}

/// The elements of a list: their keys and texts. Bytes that are no list end it.
#[derive(Debug, Clone)]
pub struct Elements<'a>(&'a [u8]);

impl<'a> Elements<'a> {
    /// Those of a list.
    pub const fn of(list: &'a [u8]) -> Elements<'a> {
        Elements(list)
    }

    /// Whether one of them has this key.
    pub fn has(self, key: &[u8]) -> bool {
        for (k, _) in self {
            match k.cmp(key) {
                Ordering::Less => {}
                Ordering::Equal => return true,
                Ordering::Greater => return false,
            }
        }
        false
    }

    /// The list as a message shows it.
    pub fn shown(self) -> String {
        let texts: Vec<_> = self.map(|(_, t)| String::from_utf8_lossy(t)).collect();
        format!("[{}]", texts.join(", "))
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (n, rest) = self.0.split_first_chunk::<2>()?;
        let (key, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*n)))?;
        let (n, rest) = rest.split_first_chunk::<4>()?;
        let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*n) as usize)?;
        self.0 = rest;
        Some((key, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(keys: &[&[u8]]) -> Vec<u8> {
        let mut b = ListBuilder::default();
        for k in keys {
            b.push(k.to_vec(), k.to_vec());
        }
        b.finish()
    }

    #[test]
    fn elements_are_in_order_and_each_is_there_once() {
        let l = list(&[b"b", b"a", b"b", b"ab"]);
        let keys: Vec<&[u8]> = Elements::of(&l).map(|(k, _)| k).collect();
        assert_eq!(keys, [&b"a"[..], b"ab", b"b"]);
        assert!(Elements::of(&l).has(b"ab") && !Elements::of(&l).has(b"aa"));
        assert_eq!(Elements::of(&l).shown(), "[a, ab, b]");
        assert_eq!(Elements::of(&list(&[])).next(), None);
    }

    #[test]
    fn bytes_that_are_no_list_end_it() {
        let l = list(&[b"one", b"two"]);
        for n in 0..l.len() {
            assert!(Elements::of(&l[..n]).count() < 2);
        }
        assert_eq!(Elements::of(&[0xFF; 40]).count(), 0);
    }
}
