//! Words that MariaDB's grammar has and MySQL's lacks, for whoever carries out what stands in the binary log of a MariaDB server. With
//! [`Options::mariadb`](super::Options::mariadb) the rules take them, and what they mean is noted here, so that [`Mariadb::text`] can give the statement in
//! MySQL's words. Without it they are what they are to MySQL: faults.
//!
//! Never here: what there is on a server. Whether a thing that is named is there, who carries out the statement finds out.

use std::borrow::Cow;

use super::ast::{SetItem, Span};

/// Versions of MySQL in comments that MariaDB passes over: they are of servers that it does not follow.
const MYSQL_ALONE: std::ops::RangeInclusive<u32> = 50_700..=99_999;

/// What a statement says that MySQL's cannot.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mariadb {
    /// `OR REPLACE`: what has the name is dropped before.
    pub replaces: bool,
    /// `IF EXISTS` (true) or `IF NOT EXISTS`: the statement is for a thing that is there, or is not.
    pub only_if: Option<bool>,
    /// The actions of an ALTER TABLE, as the tree has them.
    pub actions: Vec<Action>,
    /// What `SET STATEMENT` sets while the statement runs: each, and its text.
    pub settings: Vec<(SetItem, Span)>,
    /// Accounts of a GRANT that says how their clients are known: each with that, in MySQL's words.
    pub users: Vec<Vec<u8>>,
    /// Where an ALTER TABLE's own words end.
    head: u32,
    /// Words that have others in their place.
    edits: Vec<(Span, Cow<'static, str>)>,
    /// What the action that is being read is for.
    of_action: Option<bool>,
}

/// An action of an ALTER TABLE.
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    /// As [`Mariadb::only_if`].
    pub only_if: Option<bool>,
    /// It says nothing to MySQL.
    pub is_nothing: bool,
    /// What is to stand in front of its text.
    front: &'static str,
    span: Span,
}

impl Mariadb {
    /// Whether all of it is MySQL's as it stands.
    pub fn is_mysql(&self) -> bool {
        let plain = |a: &Action| a.only_if.is_none() && !a.is_nothing;
        !self.replaces
            && self.only_if.is_none()
            && self.settings.is_empty()
            && self.edits.is_empty()
            && self.users.is_empty()
            && self.actions.iter().all(plain)
    }

    /// The statement in MySQL's words, of `text` which was parsed. `keeps`: which of the actions it has, by number; where it keeps none of several, `None`.
    pub fn text(&self, text: &[u8], keeps: impl Fn(usize) -> bool) -> Option<Vec<u8>> {
        let kept = |n: &usize| keeps(*n) && !self.actions[*n].is_nothing;
        let kept: Vec<usize> = (0..self.actions.len()).filter(kept).collect();
        let all = Span {
            start: 0,
            end: u32::try_from(text.len()).unwrap_or(u32::MAX),
        };
        if kept.len() == self.actions.len() {
            return Some(self.edited(text, all));
        }
        if kept.is_empty() {
            return None;
        }
        let head = Span {
            end: self.head,
            ..all
        };
        let mut out = self.edited(text, head);
        for (n, at) in kept.iter().enumerate() {
            let action = &self.actions[*at];
            out.extend_from_slice(if n == 0 { b" " } else { b", " });
            out.extend_from_slice(action.front.as_bytes());
            out.extend(self.edited(text, action.span));
        }
        Some(out)
    }

    /// A part of the text, with other words where they have to be others.
    pub fn edited(&self, text: &[u8], part: Span) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        let mut at = part.start;
        for (span, with) in &self.edits {
            if span.start < at || span.end > part.end {
                continue;
            }
            let before = Span {
                start: at,
                end: span.start,
            };
            out.extend_from_slice(before.of(text));
            out.extend_from_slice(with.as_bytes());
            at = span.end;
        }
        let rest = Span {
            start: at,
            end: part.end,
        };
        out.extend_from_slice(rest.of(text));
        out
    }

    /// MySQL has these words in the place of a part.
    pub(crate) fn mysql_has(&mut self, span: Span, words: Cow<'static, str>) {
        self.edits.push((span, words));
    }

    /// What stands in a part up to here is said of an account by a GRANT, and from `rest` on MySQL has nothing there.
    pub(crate) fn user(&mut self, text: &[u8], part: Span, rest: u32) {
        self.users.push(self.edited(text, part));
        let rest = Span {
            start: rest,
            ..part
        };
        self.mysql_has(rest, Cow::Borrowed(""));
    }

    /// The words of an ALTER TABLE in front of its actions end here.
    pub(crate) fn actions_begin(&mut self, at: u32) {
        self.head = at;
    }

    /// What the action that is being read is for, where that is not said yet.
    pub(crate) fn action_is_for(&mut self, only_if: Option<bool>) {
        self.of_action = self.of_action.or(only_if);
    }

    /// The same, of an action that was just begun.
    pub(crate) fn of_action(&self) -> Option<bool> {
        self.of_action
    }

    /// An action ends. The tree has `all` now: one that is a list was told action by action.
    pub(crate) fn action_ends(
        &mut self,
        span: Span,
        front: &'static str,
        all: usize,
        is_nothing: bool,
    ) {
        let only_if = self.of_action.take();
        if self.actions.len() < all {
            self.actions.push(Action {
                only_if,
                is_nothing,
                front,
                span,
            });
        }
    }

    /// All is read. Comments that only some servers read are read the same by all from here on.
    pub(crate) fn finish(&mut self, text: &[u8], comments: &[(u32, u32)]) {
        let version = |(start, end): &(u32, u32)| {
            let span = Span {
                start: *start,
                end: *end,
            };
            span.of(text).starts_with(b"/*!") || span.of(text).starts_with(b"/*M!")
        };
        if comments.iter().any(version) {
            let blank = comments.iter().map(|(start, end)| {
                let span = Span {
                    start: *start,
                    end: *end,
                };
                (span, Cow::Borrowed(" "))
            });
            self.edits.extend(blank);
        }
        self.edits.sort_by_key(|(span, _)| span.start);
    }
}

/// Whether MariaDB of the version `own` reads what stands in a comment for `version`.
pub(crate) fn reads_comment(own: u32, version: u32) -> bool {
    version <= own && !MYSQL_ALONE.contains(&version)
}
