//! The oracle: what must be in the tables, from what the clients did and were told. Knows nothing of pages, logs or
//! locks: a history of commits in their order, from which the state at every point follows.

use crate::groups::Groups;
use crate::shape::{CHILD, Extra, PARENT, Row, Shape};
pub use crate::shape::{Life, Seq, Write};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Names of tables, with their lives and indexes.
pub type Names = BTreeMap<String, (Life, Vec<Extra>)>;

/// What a row was, from which commit on.
type Versions = Vec<(Seq, Option<Arc<Row>>)>;

/// The rows of a table, in all versions that somebody may still see.
#[derive(Clone, Debug)]
pub struct TableModel {
    /// Its shape.
    pub shape: Shape,
    pub(crate) versions: BTreeMap<i64, Versions>,
    /// The highest AUTO_INCREMENT value that was ever given, were it to a row that a crash or a rollback took.
    pub auto_given: i64,
    /// The highest AUTO_INCREMENT value of a committed row.
    pub auto_top: i64,
    /// The same, of those that the last crash left.
    auto_base: i64,
}

impl TableModel {
    /// The row as of `at`.
    pub fn row(&self, id: i64, at: Seq) -> Option<&Arc<Row>> {
        let v = self.versions.get(&id)?;
        v.iter().rev().find(|(s, _)| *s <= at)?.1.as_ref()
    }

    /// All rows as of `at`.
    pub fn rows(&self, at: Seq) -> impl Iterator<Item = &Arc<Row>> {
        let ids = self.versions.keys();
        ids.filter_map(move |id| self.row(*id, at))
    }

    /// The row had this content, or was absent, at some point between the two.
    pub fn ever(&self, id: i64, from: Seq, to: Seq, f: impl Fn(Option<&Row>) -> bool) -> bool {
        if f(self.row(id, from).map(|r| &**r)) {
            return true;
        }
        let v = self.versions.get(&id).map_or(&[][..], |v| &v[..]);
        v.iter()
            .any(|(s, r)| *s > from && *s <= to && f(r.as_deref()))
    }

    /// A commit behind `at` wrote the row.
    pub fn changed_after(&self, id: i64, at: Seq) -> bool {
        let v = self.versions.get(&id).and_then(|v| v.last());
        v.is_some_and(|(s, _)| *s > at)
    }

    /// Some row's unique value was `u` at some point between the two.
    pub fn unique_ever(&self, u: i64, but: i64, from: Seq, to: Seq) -> bool {
        self.versions
            .keys()
            .any(|id| *id != but && self.ever(*id, from, to, |r| r.is_some_and(|r| r.u == Some(u))))
    }
}

#[derive(Clone, Debug)]
struct Commit {
    seq: Seq,
    writes: Vec<Write>,
    /// The names after it, if it changed any.
    names: Option<Names>,
}

/// A transaction that a client has prepared, or has tried to.
#[derive(Clone, Debug, Default)]
pub struct PreparedModel {
    /// What it writes.
    pub writes: Vec<Write>,
    /// Its being prepared was acknowledged.
    pub acknowledged: bool,
    /// That is durable.
    pub durable: bool,
    /// Somebody has begun to end it.
    pub ending: bool,
    /// Where its commit stands in the order.
    pub committed: Option<Seq>,
    /// Its rollback was acknowledged, and is durable.
    pub gone: bool,
}

/// The history.
#[derive(Clone, Default)]
pub struct Model {
    /// The last commit.
    pub seq: Seq,
    /// What was verified last, or the commits that were acknowledged durably: a power cut must keep up to here.
    pub durable: Seq,
    /// What the death of the process must keep.
    pub written: Seq,
    /// Tables by life.
    pub tables: BTreeMap<Life, TableModel>,
    /// Names as new statements see them.
    pub names: Names,
    /// Prepared transactions by their names, which are numbers.
    pub prepared: BTreeMap<u64, PreparedModel>,
    /// What transactions leave in the log for readers.
    pub groups: Groups,
    next_prepared: u64,
    base: (Seq, Names),
    commits: Vec<Commit>,
    next_life: Life,
    next_tag: i64,
    /// Names as of the last commit, which may be ahead of what statements see.
    committed: Names,
    /// The definition change that `names` is as of.
    shown: Seq,
}

impl Model {
    /// A number no write has had.
    pub fn tag(&mut self) -> i64 {
        self.next_tag += 1;
        self.next_tag
    }

    /// A transaction is going to be prepared: its name.
    pub fn new_prepared(&mut self, writes: Vec<Write>) -> u64 {
        self.next_prepared += 1;
        let p = PreparedModel {
            writes,
            ..PreparedModel::default()
        };
        self.prepared.insert(self.next_prepared, p);
        self.next_prepared
    }

    /// A new table's life begins (nobody sees it before its commit).
    pub fn new_life(&mut self, shape: Shape) -> Life {
        self.next_life += 1;
        let t = TableModel {
            shape,
            versions: BTreeMap::new(),
            auto_given: 0,
            auto_top: 0,
            auto_base: 0,
        };
        self.tables.insert(self.next_life, t);
        self.next_life
    }

    /// A transaction commits.
    pub fn commit(&mut self, writes: Vec<Write>) -> Seq {
        self.seq += 1;
        let seq = self.seq;
        self.groups.commit(seq, &writes);
        for (life, id, row) in &writes {
            if let Some(t) = self.tables.get_mut(life) {
                let v = t.versions.entry(*id).or_default();
                match v.last_mut() {
                    Some(last) if last.0 == seq => last.1 = row.clone(),
                    _ => v.push((seq, row.clone())),
                }
                if row.is_some() && t.shape == Shape::Auto {
                    t.auto_top = t.auto_top.max(*id);
                }
            }
        }
        self.commits.push(Commit {
            seq,
            writes,
            names: None,
        });
        seq
    }

    /// A row of the child without its parent, that these writes made at `at`.
    pub fn orphan(&self, writes: &[Write], at: Seq) -> Option<String> {
        let of = |name: &str| {
            let life = self.names.get(name)?.0;
            Some((life, self.tables.get(&life)?))
        };
        let ((p, parents), (c, children)) = (of(PARENT)?, of(CHILD)?);
        for (life, id, _) in writes {
            if *life == c
                && let Some(row) = children.row(*id, at)
                && row.k >= 0
                && parents.row(row.k, at).is_none()
            {
                return Some(format!("{row:?}, which has no parent"));
            }
            if *life == p
                && parents.row(*id, at).is_none()
                && let Some(row) = children.rows(at).find(|r| r.k == *id)
            {
                return Some(format!("the end of {id}, the parent of {row:?}"));
            }
        }
        None
    }

    /// A definition change commits.
    pub fn commit_names(&mut self, f: impl FnOnce(&mut Names)) -> Seq {
        self.seq += 1;
        let before = self.committed.clone();
        f(&mut self.committed);
        for (name, (life, _)) in &self.committed {
            // A table that was emptied has the shape of the one that bore the name at the commit.
            let old = before.get(name).map(|x| x.0).filter(|old| old != life);
            if let Some(shape) = old.and_then(|old| self.tables.get(&old)).map(|t| t.shape)
                && let Some(t) = self.tables.get_mut(life)
            {
                t.shape = shape;
            }
        }
        self.commits.push(Commit {
            seq: self.seq,
            writes: Vec::new(),
            names: Some(self.committed.clone()),
        });
        self.seq
    }

    /// Statements see the definition change that committed at `at`.
    pub fn show_names(&mut self, at: Seq) {
        if at > self.shown {
            self.names = self.names_at(at).clone();
            self.shown = at;
        }
    }

    /// A statement may find the table with just these indexes: as statements see it, or as a change left it that is
    /// committed and has not returned. (Dropping an index returns when its pages are free; the table is open before.)
    pub fn has_indexes(&self, name: &str, life: Life, found: &[&str]) -> bool {
        let later = self.commits.iter().filter(|c| c.seq > self.shown);
        let later = later.filter_map(|c| c.names.as_ref());
        std::iter::once(&self.names).chain(later).any(|n| {
            n.get(name).is_some_and(|(l, extras)| {
                let known = |x: &&str| extras.iter().any(|e| e.name() == *x);
                *l == life && extras.len() == found.len() && found.iter().all(known)
            })
        })
    }

    /// Names as of `at`.
    pub fn names_at(&self, at: Seq) -> &Names {
        let c = self.commits.iter().rev();
        c.filter(|c| c.seq <= at)
            .find_map(|c| c.names.as_ref())
            .unwrap_or(&self.base.1)
    }

    /// Commits happened that a crash may take back: from the oldest state it may leave to the newest.
    pub fn candidates(&self, floor: Seq) -> impl Iterator<Item = Seq> + use<> {
        let from = floor.max(self.base.0);
        (from..=self.seq).rev()
    }

    /// The crash left the state as of `at`: what came after never happened. Of what came after `sure` it is not known.
    pub fn reset_to(&mut self, at: Seq, sure: Seq) {
        self.groups.reset_to(at, sure);
        let names = self.names_at(at).clone();
        let commits = std::mem::take(&mut self.commits);
        for (life, id, row) in commits
            .iter()
            .filter(|c| c.seq <= sure)
            .flat_map(|c| &c.writes)
        {
            if let (Some(t), true) = (self.tables.get_mut(life), row.is_some()) {
                t.auto_base = t.auto_base.max(*id);
            }
        }
        let alive: std::collections::BTreeSet<Life> = names.values().map(|n| n.0).collect();
        self.tables.retain(|l, _| alive.contains(l));
        for t in self.tables.values_mut() {
            t.auto_top = t.auto_base;
            t.versions.retain(|_, v| {
                v.retain(|(s, _)| *s <= at);
                if v.len() > 1 {
                    v.drain(..v.len() - 1);
                }
                v.last().is_some_and(|(_, r)| r.is_some())
            });
        }
        self.base = (at, names.clone());
        self.committed = names.clone();
        self.names = names;
        // Numbers go on: a point that is gone is never named again.
        self.seq += 1;
        self.base.0 = self.seq;
        (self.durable, self.written) = (self.seq, self.seq);
        self.shown = self.seq;
    }

    /// The commits behind `from` that changed a row for which `touches` holds.
    pub fn changed_since(&self, from: Seq, life: Life, touches: impl Fn(&Row) -> bool) -> bool {
        let Some(t) = self.tables.get(&life) else {
            return false;
        };
        let after = self.commits.iter().filter(|c| c.seq > from);
        after
            .flat_map(|c| c.writes.iter().map(move |w| (c.seq, w)))
            .any(|(seq, (l, id, new))| {
                *l == life
                    && (new.as_ref().is_some_and(|r| touches(r))
                        || t.row(*id, seq - 1).is_some_and(|r| touches(r)))
            })
    }
}
