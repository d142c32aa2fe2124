//! Changing single entries. The caller decides under the leaf's exclusive latch, seeing what is there; the change, the
//! caller's before-image and the pages it frees go to the log as one record.

use std::sync::Arc;

use base::{Lsn, PageNo, TxnId};
use pager::{Committed, ExclusiveGuard, Mtr, OpError, Purpose, RecordKind, Space};
use smallvec::SmallVec;

use crate::node::edit::Patch;
use crate::node::{BODY, LeafNode, MAX_KEY, SLOT};
use crate::ops;
use crate::tree::Tree;

/// What the tree holds where the key belongs.
pub struct KeyPosition<'a> {
    leaf: LeafNode<'a>,
    slot: usize,
    value: Option<&'a [u8]>,
}

/// What follows a key in its leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Successor {
    /// This entry.
    Entry,
    /// Nothing in this leaf: whatever follows is at or above this bound.
    Fence,
    /// Nothing in the whole tree.
    Infinity,
}

impl<'a> KeyPosition<'a> {
    /// The key's present value.
    #[inline]
    pub fn value(&self) -> Option<&'a [u8]> {
        self.value
    }

    /// Writes the next larger key in the leaf, or the leaf's upper bound, to `key`.
    pub fn successor(&self, key: &mut Vec<u8>) -> Successor {
        key.clear();
        let next = self.slot + usize::from(self.value.is_some());
        if let Some(e) = self.leaf.entry(next) {
            key.extend_from_slice(self.leaf.prefix());
            key.extend_from_slice(e.suffix);
            return Successor::Entry;
        }
        key.extend_from_slice(self.leaf.high());
        if key.is_empty() {
            Successor::Infinity
        } else {
            Successor::Fence
        }
    }
}

/// What to do with the entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Nothing.
    Keep,
    /// Insert the key, or replace its value, with [`Change::value`].
    Put,
    /// Replace parts of the present value: new = `value[..head] ++ old[head..head + prefix] ++ value[head..] ++` the
    /// last `suffix` bytes of old, where `value` is [`Change::value`].
    Patch {
        /// Bytes replaced at the start.
        head: u16,
        /// Old bytes kept after the head.
        prefix: u16,
        /// Old bytes kept at the end.
        suffix: u16,
    },
    /// Remove the entry.
    Remove,
}

/// What a change consists of; filled by the decision, its buffers reused from one change to the next.
pub struct Change {
    /// The new value, or the parts of it (see [`Action`]).
    pub value: Vec<u8>,
    /// Offset in the new value that receives the record's own start LSN, eight bytes little-endian.
    pub stamp: Option<u16>,
    /// What the record means to the transaction layer.
    pub kind: RecordKind,
    /// The transaction.
    pub txid: TxnId,
    /// The transaction's previous record.
    pub prev: Lsn,
    /// The record's opaque part.
    pub undo: Vec<u8>,
    /// Pages freed by the same record: the heads of overflow chains that lose their reference, a destroyed tree's root.
    pub free: SmallVec<[PageNo; 4]>,
    /// The tablespace of `free`, when it is not the tree's own.
    pub free_space: Option<Arc<Space>>,
}

impl Default for Change {
    fn default() -> Change {
        Change {
            value: Vec::new(),
            stamp: None,
            kind: RecordKind::System,
            txid: TxnId::NONE,
            prev: Lsn::NONE,
            undo: Vec::new(),
            free: SmallVec::new(),
            free_space: None,
        }
    }
}

impl Change {
    /// Empties it, keeping the buffers.
    #[inline]
    pub fn clear(&mut self) {
        self.value.clear();
        self.stamp = None;
        self.kind = RecordKind::System;
        self.txid = TxnId::NONE;
        self.prev = Lsn::NONE;
        self.undo.clear();
        self.free.clear();
        self.free_space = None;
    }
}

/// What [`Tree::modify`] did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    /// Where the record is; `None` when the decision was to keep things as they are.
    pub committed: Option<Committed>,
    /// The leaf is nearly empty and could not be merged because a page was missing: [`Tree::merge`] can wait for it.
    pub underfull: bool,
}

/// Room that a change needs in the leaf.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Need {
    /// A new entry with a value of so many bytes.
    Insert(usize),
    /// The same, and what follows will come in order.
    Run(usize),
    /// So many more bytes for the entry that is there.
    Grow(usize),
}

enum Step {
    Done(Committed, bool),
    Full(Need),
}

impl Tree {
    /// Changes the entry of `key` as `decide` says. `decide` runs under the leaf's exclusive latch with a cleared
    /// `change` to fill; it may run several times (the leaf is full and is split first; or the answer is an error and
    /// the caller comes again), and only what it said last counts. Its own error ends the call, nothing changed.
    ///
    /// A decision that cannot be carried out (a patch of an absent key, a value that no page can hold) is a defect of
    /// the caller and answered as `Corrupt`.
    ///
    /// # Errors
    /// [`OpError::Wait`], with the entry unchanged; [`OpError::Corrupt`], [`OpError::Dropped`], [`OpError::LogFull`]. The inner error is the one of `decide`.
    pub fn modify<E>(
        &self,
        key: &[u8],
        change: &mut Change,
        mut decide: impl FnMut(KeyPosition<'_>, &mut Change) -> Result<Action, E>,
    ) -> Result<Result<Outcome, E>, OpError> {
        loop {
            let (no, guard) = self.leaf_exclusive(key)?;
            let leaf = LeafNode::new(guard.bytes());
            let (slot, found) = leaf.lower_bound(leaf.strip(key));
            let value = match found {
                true => Some(self.sound(no, leaf.value(slot))?),
                false => None,
            };
            change.clear();
            let action = match decide(KeyPosition { leaf, slot, value }, change) {
                Ok(Action::Keep) => return Ok(Ok(Outcome::default())),
                Ok(action) => action,
                Err(e) => return Ok(Err(e)),
            };
            let old = value.map(<[u8]>::len);
            match self.change(no, guard, (key, slot, old), change, action)? {
                Step::Done(committed, underfull) => {
                    return Ok(Ok(Outcome {
                        committed: Some(committed),
                        underfull: underfull && self.merge_now(key).is_err(),
                    }));
                }
                Step::Full(need) => self.make_room(key, need, change.kind)?,
            }
        }
    }

    /// A merge can wait: it takes no room that others need.
    fn merge_now(&self, key: &[u8]) -> Result<(), OpError> {
        self.pager.log().admit(Purpose::Change)?;
        self.merge(key)
    }

    pub(crate) fn sound<T>(&self, page: PageNo, part: Option<T>) -> Result<T, OpError> {
        part.ok_or_else(|| self.corrupt(page, "cell outside the page"))
    }

    /// Logs and applies one decided change, unless the leaf has no room.
    fn change<'p>(
        &'p self,
        no: PageNo,
        guard: ExclusiveGuard<'p>,
        (key, slot, old): (&[u8], usize, Option<usize>),
        change: &Change,
        action: Action,
    ) -> Result<Step, OpError> {
        let leaf = LeafNode::new(guard.bytes());
        let suffix = leaf.strip(key);
        let (action, new_len) = match (action, old) {
            (Action::Put, Some(_)) => (
                Action::Patch {
                    head: 0,
                    prefix: 0,
                    suffix: 0,
                },
                change.value.len(),
            ),
            (
                Action::Patch {
                    head,
                    prefix,
                    suffix,
                },
                Some(old),
            ) => {
                let patch = Patch {
                    head: head as usize,
                    prefix: prefix as usize,
                    suffix: suffix as usize,
                    bytes: &change.value,
                };
                let len = patch.new_len(old);
                (action, len.ok_or_else(|| self.refused(no))?)
            }
            (Action::Put, None) => (action, change.value.len()),
            (Action::Remove, Some(_)) => (action, 0),
            _ => return Err(self.refused(no)),
        };
        let stamp_end = change.stamp.map_or(0, |at| at as usize + 8);
        if action != Action::Remove
            && (stamp_end > new_len || new_len > BODY || key.len() > MAX_KEY)
        {
            return Err(self.refused(no));
        }
        let free = leaf.free_bytes();
        let mut underfull = false;
        let mut gone = 0;
        match (action, old) {
            (Action::Put, _) if SLOT + suffix.len() + new_len > free => {
                return Ok(Step::Full(Need::Insert(new_len)));
            }
            (Action::Patch { .. }, Some(old)) if new_len > old && new_len - old > free => {
                return Ok(Step::Full(Need::Grow(new_len - old)));
            }
            (Action::Patch { .. }, Some(old)) => gone = old.saturating_sub(new_len),
            (Action::Remove, _) => {
                gone = self.sound(no, leaf.cell(slot))?.1 + SLOT;
                underfull = no != self.root && leaf.nearly_empty(gone);
            }
            _ => {}
        }
        let strip = key.len() - suffix.len();
        let mut mtr = self.pager.mtr_of(change.kind)?;
        let ix = mtr.add(guard);
        match action {
            Action::Put => {
                let head = ops::leaf_insert(slot, change.stamp, key.len() - strip);
                mtr.op(ix, ops::LEAF_INSERT, &[&head, &key[strip..], &change.value]);
            }
            Action::Patch {
                head,
                prefix,
                suffix,
            } => {
                let fixed = ops::leaf_replace(slot, change.stamp, head, prefix, suffix);
                mtr.op(ix, ops::LEAF_REPLACE, &[&fixed, &change.value]);
            }
            Action::Remove | Action::Keep => mtr.op(ix, ops::REMOVE, &[&ops::remove(slot)]),
        }
        self.finish(&mut mtr, change)?;
        if gone > 0 {
            self.wear.note_removed(gone);
        }
        Ok(Step::Done(mtr.commit(), underfull))
    }

    /// Adds to the record what else belongs to the change.
    fn finish<'p>(&'p self, mtr: &mut Mtr<'p>, change: &Change) -> Result<(), OpError> {
        for page in &change.free {
            let space = change.free_space.as_ref().unwrap_or(&self.space);
            self.free_page_of(mtr, space, *page)?;
        }
        mtr.set_txn(change.kind, change.txid, change.prev);
        if !change.undo.is_empty() {
            mtr.set_undo(&[&change.undo]);
        }
        Ok(())
    }

    fn refused(&self, page: PageNo) -> OpError {
        self.corrupt(page, "a change that does not fit the entry or the page")
    }
}
