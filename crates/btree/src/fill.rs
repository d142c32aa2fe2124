//! Filling a tree with entries that come in the order of their keys: what a build does with what it has sorted.
//!
//! An entry by itself costs a descent, a latch and a record; here a run of entries costs that once a leaf. Splits are those of
//! inserts in order (`node::plan`), which leave the left leaf as it is, so that leaves are filled one after the other from the left.
//! The tree is whole after each record, and others may use it meanwhile. (Mohan and Narang, "Algorithms for Creating Indexes
//! for Very Large Tables Without Quiescing Updates", SIGMOD 1992, insert a build's sorted keys into the tree that others change;
//! their remembered path is not worth its code here, where a descent is paid once a leaf.)

use pager::{OpError, RecordKind};
use smallvec::SmallVec;

use crate::modify::Need;
use crate::node::edit::Shape;
use crate::node::{LeafNode, MAX_KEY, SLOT, max_value};
use crate::ops;
use crate::tree::Tree;

/// Which entries go into a leaf.
#[derive(Default)]
struct Taken {
    /// How many of the run this is, those included that are there already.
    entries: usize,
    /// The slot of each that is new, as it will be when those before it are in, and its number.
    new: SmallVec<[(usize, usize); 8]>,
    /// The number of the first whose key is there already.
    there: Option<usize>,
}

impl Tree {
    /// Inserts the first entries of a run, as many as belong into the leaf of the first and fit there with `spare` bytes left, as
    /// one record. Gives how many that are, at least one; 0 for an empty run. `entry` gives the run's entries by number; their
    /// keys must ascend. A key that is there keeps its value.
    ///
    /// # Errors
    /// As [`Tree::modify`]; nothing is changed then. A key or value that no leaf takes is answered as `Corrupt`.
    pub fn insert_run<'e>(
        &self,
        entry: impl Fn(usize) -> Option<(&'e [u8], &'e [u8])>,
        spare: usize,
    ) -> Result<usize, OpError> {
        self.insert_run_noting(entry, spare).map(|(n, _)| n)
    }

    /// The same; also gives the number of the first of those entries whose key was there already, and kept its value.
    ///
    /// # Errors
    /// As [`Tree::insert_run`].
    pub fn insert_run_noting<'e>(
        &self,
        entry: impl Fn(usize) -> Option<(&'e [u8], &'e [u8])>,
        spare: usize,
    ) -> Result<(usize, Option<usize>), OpError> {
        let Some((first, value)) = entry(0) else {
            return Ok((0, None));
        };
        loop {
            let (no, guard) = self.leaf_exclusive(first)?;
            let leaf = LeafNode::new(guard.bytes());
            if first.len() > MAX_KEY || value.len() > max_value(first.len()) {
                return Err(self.corrupt(no, "an entry that no leaf takes"));
            }
            let taken = fitting(&leaf, &entry, spare);
            if taken.entries == 0 {
                drop(guard);
                let need = Need::Run(value.len() + spare);
                self.make_room(first, need, RecordKind::System)?;
                continue;
            }
            if taken.new.is_empty() {
                return Ok((taken.entries, taken.there));
            }
            let strip = leaf.prefix_len();
            let image = (leaf.count() == 0).then(|| {
                let shape = Shape {
                    level: 0,
                    index_id: self.index_id(),
                    low: leaf.low(),
                    high: leaf.high(),
                };
                let mut image = ops::image_head(&shape);
                for (_, n) in &taken.new {
                    if let Some((key, value)) = entry(*n) {
                        ops::push_entry(&mut image, &key[strip..], value);
                    }
                }
                image
            });
            let mut mtr = self.pager().mtr_of(RecordKind::System)?;
            let page = mtr.add(guard);
            match image {
                Some(image) => mtr.op_init(page, ops::IMAGE, &[&image]),
                None => {
                    for (slot, n) in &taken.new {
                        if let Some((key, value)) = entry(*n) {
                            let head = ops::leaf_insert(*slot, None, key.len() - strip);
                            mtr.op(page, ops::LEAF_INSERT, &[&head, &key[strip..], value]);
                        }
                    }
                }
            }
            mtr.commit();
            return Ok((taken.entries, taken.there));
        }
    }
}

fn fitting<'e>(
    leaf: &LeafNode<'_>,
    entry: &impl Fn(usize) -> Option<(&'e [u8], &'e [u8])>,
    spare: usize,
) -> Taken {
    let mut taken = Taken::default();
    let mut free = leaf.free_bytes();
    let mut before: Option<&[u8]> = None;
    while let Some((key, value)) = entry(taken.entries) {
        assert!(before.is_none_or(|b| b < key), "a run's keys ascend");
        if !leaf.high().is_empty() && key >= leaf.high() {
            break;
        }
        before = Some(key);
        let suffix = leaf.strip(key);
        let (slot, there) = match leaf.count() {
            0 => (0, false),
            _ => leaf.lower_bound(suffix),
        };
        if !there {
            let need = SLOT + suffix.len() + value.len();
            // An empty leaf takes its first entry whatever is to be spared.
            let first = leaf.count() == 0 && taken.new.is_empty();
            if need > free || (need + spare > free && !first) {
                break;
            }
            free -= need;
            taken.new.push((slot + taken.new.len(), taken.entries));
        } else if taken.there.is_none() {
            taken.there = Some(taken.entries);
        }
        taken.entries += 1;
    }
    taken
}
