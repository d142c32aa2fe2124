//! A pattern as a tree. It says what ICU would match, whatever matcher does it.

/// How often and in which order a repetition tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Greed {
    Greedy,
    Lazy,
    Possessive,
}

/// What a pair of parentheses is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Capture,
    Plain,
    Atomic,
    Ahead,
    NotAhead,
    Behind,
    NotBehind,
}

/// A part of a pattern.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    /// A character, in either case or not.
    Char(u32, bool),
    /// A set of characters, as text of one; in either case or not.
    Set(String, bool),
    /// `.`: any character, line ends too; lines end with LF alone.
    Dot {
        all: bool,
        unix: bool,
    },
    /// `^`.
    Start {
        multi: bool,
        unix: bool,
    },
    /// `$` and `\Z`.
    End {
        multi: bool,
        unix: bool,
    },
    /// `\A`, `\z`, `\b`, `\B`: what all matchers write and mean alike.
    Place(&'static str),
    /// `\G`.
    LastEnd,
    /// `\R`.
    LineBreak,
    /// `\X`.
    Cluster,
    /// A group again, in either case or not.
    Back(usize, bool),
    Group(Kind, Box<Node>),
    Repeat(Box<Node>, u32, Option<u32>, Greed),
    Sequence(Vec<Node>),
    Either(Vec<Node>),
}

impl Node {
    /// Most characters that it matches; `None` without limit.
    pub fn longest(&self) -> Option<u64> {
        match self {
            Node::Char(..) | Node::Set(..) => Some(1),
            Node::Dot { .. } | Node::LineBreak => Some(2),
            Node::Start { .. } | Node::End { .. } | Node::Place(_) | Node::LastEnd => Some(0),
            Node::Cluster | Node::Back(..) => None,
            Node::Group(Kind::Capture | Kind::Plain | Kind::Atomic, n) => n.longest(),
            Node::Group(..) => Some(0),
            Node::Repeat(n, _, max, _) => match (n.longest(), max) {
                (Some(0), _) if max.is_some() => Some(0),
                (Some(n), Some(m)) => Some(n.saturating_mul(u64::from(*m))),
                _ => None,
            },
            Node::Sequence(parts) => parts
                .iter()
                .try_fold(0u64, |sum, n| Some(sum.saturating_add(n.longest()?))),
            Node::Either(parts) => parts
                .iter()
                .try_fold(0u64, |most, n| Some(most.max(n.longest()?))),
        }
    }
}
