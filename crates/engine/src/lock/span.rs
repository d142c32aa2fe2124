//! Stretches of an index's keys. Half open, so that two that follow each other meet in one key; a key's successor is the key with a zero
//! byte behind it, as keys are compared byte by byte.

/// All keys from `low` on that are below `high`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Span {
    /// The least key in it.
    pub low: Box<[u8]>,
    /// The least key above it; `None`: it has no end.
    pub high: Option<Box<[u8]>>,
}

/// The least key above `key`.
fn next(key: &[u8]) -> Box<[u8]> {
    [key, &[0]].concat().into()
}

impl Span {
    /// All keys.
    pub fn all() -> Span {
        Span::new(b"", None)
    }

    /// From `low` on, below `high`.
    pub fn new(low: &[u8], high: Option<&[u8]>) -> Span {
        Span {
            low: low.into(),
            high: high.map(Into::into),
        }
    }

    /// One key alone.
    pub fn point(key: &[u8]) -> Span {
        Span::through(key, key)
    }

    /// From `low` on, `last` included.
    pub fn through(low: &[u8], last: &[u8]) -> Span {
        Span {
            low: low.into(),
            high: Some(next(last)),
        }
    }

    /// No key is in it.
    pub fn is_empty(&self) -> bool {
        self.high.as_ref().is_some_and(|h| *h <= self.low)
    }

    /// `key` is in it.
    pub fn has(&self, key: &[u8]) -> bool {
        *self.low <= *key && self.ends_above(key)
    }

    /// `key` is below its end.
    pub(crate) fn ends_above(&self, key: &[u8]) -> bool {
        below(key, self.high.as_deref())
    }
}

/// `key` is below the end `high`.
pub(super) fn below(key: &[u8], high: Option<&[u8]>) -> bool {
    high.is_none_or(|h| key < h)
}
