//! MySQL's binary form of JSON, as row events have it: made from the text that is stored here, and read back into it.
//!
//! ```text
//! document:  type u8 | value
//! container: count | bytes | of an object: (where, length u16) of each key | (type u8, where or the value itself) of each value | keys | values
//! ```
//!
//! Numbers of a container have two bytes; four where it would not fit into 64 KiB otherwise. Places are counted from its count on. Keys are sorted by
//! their length, then by their bytes. (MySQL 8.0, sql-common/json_binary.cc and its header, which describes the form.)
//!
//! What was SQL's and no JSON (a DECIMAL, a date) has a form of its own there, *opaque*: of those, a DECIMAL is told apart from a DOUBLE in
//! the text by its digits, and is written so; dates are texts here.
//!
//! | module | what |
//! |---|---|
//! | [`scan`] | the stored text, part by part |
//! | [`write`] | from text to the binary form |
//! | [`read`] | from the binary form to text |
//! | [`diffs`] | what has changed in a document |
//!
//! What it never does: build a tree of a document that is as it is stored; take more memory than a small multiple of what it was given.

mod diffs;
mod read;
mod scan;
mod write;

pub use diffs::diffs;
pub use read::text;
pub use scan::NotStored;
pub use write::binary;

/// The deepest nesting of containers, as MySQL's.
const MAX_DEPTH: usize = 100;

/// Types of values.
mod tag {
    pub const SMALL_OBJECT: u8 = 0;
    pub const LARGE_OBJECT: u8 = 1;
    pub const SMALL_ARRAY: u8 = 2;
    pub const LARGE_ARRAY: u8 = 3;
    pub const LITERAL: u8 = 4;
    pub const INT16: u8 = 5;
    pub const UINT16: u8 = 6;
    pub const INT32: u8 = 7;
    pub const UINT32: u8 = 8;
    pub const INT64: u8 = 9;
    pub const UINT64: u8 = 10;
    pub const DOUBLE: u8 = 11;
    pub const STRING: u8 = 12;
    pub const OPAQUE: u8 = 15;
}

/// Values of [`tag::LITERAL`].
mod literal {
    pub const NULL: u8 = 0;
    pub const TRUE: u8 = 1;
    pub const FALSE: u8 = 2;
}

/// How wide the numbers of a container are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Width {
    large: bool,
    object: bool,
}

impl Width {
    /// Bytes of a place, or a count.
    const fn place(self) -> usize {
        if self.large { 4 } else { 2 }
    }

    /// Bytes of what stands in front for each key.
    const fn key(self) -> usize {
        if self.object { self.place() + 2 } else { 0 }
    }

    /// Bytes of what stands in front for each value.
    const fn value(self) -> usize {
        1 + self.place()
    }

    /// Bytes in front of keys and values.
    const fn front(self, count: u64) -> u64 {
        2 * self.place() as u64 + count * (self.key() + self.value()) as u64
    }

    const fn tag(self) -> u8 {
        match (self.object, self.large) {
            (true, false) => tag::SMALL_OBJECT,
            (true, true) => tag::LARGE_OBJECT,
            (false, false) => tag::SMALL_ARRAY,
            (false, true) => tag::LARGE_ARRAY,
        }
    }

    /// `None`: no container.
    const fn of(of: u8) -> Option<Width> {
        let (object, large) = match of {
            tag::SMALL_OBJECT => (true, false),
            tag::LARGE_OBJECT => (true, true),
            tag::SMALL_ARRAY => (false, false),
            tag::LARGE_ARRAY => (false, true),
            _ => return None,
        };
        Some(Width { large, object })
    }
}

#[cfg(test)]
mod tests;
