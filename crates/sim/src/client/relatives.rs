//! A parent and a child: statements that keep a foreign key between them, out of what the engine has for that, in the order in which the SQL
//! layer does it. A parent is locked for sharing before a child comes; children are found and locked after their parent is gone, and go
//! with it, name none from then on, or keep it: then the statement's change is undone by itself.
//!
//! What must hold of each commit is the model's to say ([`Model::orphan`](crate::model::Model::orphan)).

use super::{Client, Held, Tx};
use crate::context::{Trouble, pause};
use crate::model::Seq;
use crate::shape::{CHILD, PARENT, Row, Shape, k_key};
use engine::{Inserted, KeyBound, ReadMode, RowBatch, ScanSpec, Session, Updated};
use std::sync::Arc;

/// What becomes of the children of a row that goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Action {
    Restrict,
    Cascade,
    SetNull,
}

/// What a child's k is that names no parent.
const NONE: i64 = -1;

/// The child's index on k.
const BY_K: usize = 1;

impl Client {
    /// One statement.
    pub(super) async fn relatives(&mut self, s: &mut Session, tx: &mut Tx) -> Result<(), Trouble> {
        let parent = self.held(s, tx, PARENT.into()).await?;
        let child = self.held(s, tx, CHILD.into()).await?;
        match self.rng.below(10) {
            0..3 => self.insert(s, tx, &parent).await,
            3..6 => self.insert_child(s, tx, &parent, &child).await,
            6..8 => self.move_child(s, tx, &parent, &child).await,
            _ => self.delete_parent(s, tx, &parent, &child).await,
        }
    }

    /// Locks the row that a child names; whether there is one.
    async fn has_parent(
        &self,
        s: &mut Session,
        tx: &Tx,
        parent: &Held,
        k: i64,
    ) -> Result<bool, Trouble> {
        if k < 0 {
            return Ok(true);
        }
        let from = self.cx.model().seq;
        let key = Shape::Number.key(&parent.t, k);
        let there = s.lock_parent(&parent.t, 0, 1, &key).await?;
        match self.was_there(tx, parent, k, from, there) {
            true => Ok(there),
            false => Err(Trouble::Wrong(format!("parent {k} is there: {there}"))),
        }
    }

    async fn insert_child(
        &mut self,
        s: &mut Session,
        tx: &mut Tx,
        parent: &Held,
        child: &Held,
    ) -> Result<(), Trouble> {
        let from = self.cx.model().seq;
        let id = self.id();
        let k = self.id();
        let row = Row {
            k,
            ..self.new_row(id)
        };
        if !self.has_parent(s, tx, parent, k).await? {
            self.cx.count("children without a parent");
            return Ok(());
        }
        // Others have time to take the parent away.
        for _ in 0..self.rng.below(6) {
            pause().await;
        }
        let values = row.values(child.t.def.columns.len());
        match s.insert(&child.t, &values).await? {
            Inserted::Done => {
                self.cx.count("children");
                tx.writes.push((child.life, id, Some(Arc::new(row))));
                Ok(())
            }
            Inserted::Duplicate { .. } if self.was_there(tx, child, id, from, true) => Ok(()),
            Inserted::Duplicate { .. } => {
                Err(Trouble::Wrong(format!("child: {row:?} is no duplicate")))
            }
        }
    }

    /// Gives a child another parent: it is changed first, and then looked for its parent.
    async fn move_child(
        &mut self,
        s: &mut Session,
        tx: &mut Tx,
        parent: &Held,
        child: &Held,
    ) -> Result<(), Trouble> {
        let id = self.id();
        let key = Shape::Number.key(&child.t, id);
        let (k, tag) = (self.id(), self.cx.model().tag());
        let (mark, writes) = (s.mark(), tx.writes.len());
        let mut seen = None;
        let r = s
            .update_key(&child.t, &key, &mut |r| {
                let old = Row::read(&r);
                let new = old.as_ref().ok().map(|o| moved(o, k, tag));
                seen = Some(old);
                Ok(new.map(|n| n.values(r.columns())))
            })
            .await?;
        if r != Updated::Done {
            return Ok(());
        }
        let old = seen.transpose().map_err(Trouble::Wrong)?;
        let old = old.ok_or_else(|| Trouble::Wrong("an update that did not ask".into()))?;
        let new = moved(&old, k, tag);
        self.check_current(tx, child, id, Some(old))?;
        tx.writes.push((child.life, id, Some(Arc::new(new))));
        if self.has_parent(s, tx, parent, k).await? {
            self.cx.count("children moved");
            return Ok(());
        }
        s.undo_since(mark).await?;
        tx.writes.truncate(writes);
        self.cx.count("changes undone by themselves");
        Ok(())
    }

    async fn delete_parent(
        &mut self,
        s: &mut Session,
        tx: &mut Tx,
        parent: &Held,
        child: &Held,
    ) -> Result<(), Trouble> {
        let id = self.id();
        let action = self
            .rng
            .pick(&[Action::Restrict, Action::Cascade, Action::SetNull]);
        let key = Shape::Number.key(&parent.t, id);
        let (mark, writes) = (s.mark(), tx.writes.len());
        let from = self.cx.model().seq;
        let mut seen = None;
        let gone = s
            .delete_key(&parent.t, &key, &mut |r| {
                seen = Some(Row::read(&r));
                Ok(true)
            })
            .await?;
        if !gone {
            return Ok(());
        }
        let old = seen.transpose().map_err(Trouble::Wrong)?;
        self.check_current(tx, parent, id, old)?;
        tx.writes.push((parent.life, id, None));
        if action != Action::Restrict {
            self.cascade(s, tx, child, id, action).await?;
            self.cx.count("cascades");
            return self.no_child(tx, child, id);
        }
        let named = k_key(&child.t, BY_K, id);
        if !s.has_child(&child.t, BY_K, &named).await? {
            return self.no_child(tx, child, id);
        }
        s.undo_since(mark).await?;
        tx.writes.truncate(writes);
        self.cx.count("changes undone by themselves");
        match self.had_child(tx, child, id, from) {
            true => Ok(()),
            false => Err(Trouble::Wrong(format!(
                "parent {id} is kept without a child"
            ))),
        }
    }

    /// What becomes of the children of a row that is gone.
    async fn cascade(
        &mut self,
        s: &mut Session,
        tx: &mut Tx,
        child: &Held,
        id: i64,
        action: Action,
    ) -> Result<(), Trouble> {
        let key = k_key(&child.t, BY_K, id);
        let spec = ScanSpec {
            index: BY_K,
            lower: KeyBound::Included(key.clone()),
            upper: KeyBound::Included(key),
            backward: false,
            mode: ReadMode::Children { exclusive: true },
        };
        let mut scan = s.scan(&child.t, spec);
        let mut batch = RowBatch::new();
        let mut more = true;
        while more {
            batch.clear();
            more = s
                .next_batch(&mut scan, &mut batch, 8, &mut |_| Ok(true))
                .await?;
            for i in 0..batch.len() {
                self.one_child(s, tx, child, id, action, batch.key(i))
                    .await?;
            }
        }
        Ok(())
    }

    async fn one_child(
        &mut self,
        s: &mut Session,
        tx: &mut Tx,
        child: &Held,
        id: i64,
        action: Action,
        key: &[u8],
    ) -> Result<(), Trouble> {
        let tag = self.cx.model().tag();
        let mut seen = None;
        let done = match action {
            Action::Cascade => {
                s.delete_key(&child.t, key, &mut |r| {
                    let old = Row::read(&r);
                    let names = old.as_ref().is_ok_and(|o| o.k == id);
                    seen = Some(old);
                    Ok(names)
                })
                .await?
            }
            _ => {
                let r = s
                    .update_key(&child.t, key, &mut |r| {
                        let old = Row::read(&r);
                        let names = old.as_ref().ok().filter(|o| o.k == id);
                        let new = names.map(|o| moved(o, NONE, tag).values(r.columns()));
                        seen = Some(old);
                        Ok(new)
                    })
                    .await?;
                r == Updated::Done
            }
        };
        let (true, Some(old)) = (done, seen.transpose().map_err(Trouble::Wrong)?) else {
            return Ok(());
        };
        let new = (action == Action::SetNull).then(|| Arc::new(moved(&old, NONE, tag)));
        let row = old.id;
        self.check_current(tx, child, row, Some(old))?;
        tx.writes.push((child.life, row, new));
        Ok(())
    }

    /// Nobody else can have made a child since the parent went, and its own are gone.
    fn no_child(&self, tx: &Tx, child: &Held, id: i64) -> Result<(), Trouble> {
        let now = self.cx.model().seq;
        match self.had_child(tx, child, id, now) {
            false => Ok(()),
            true => Err(Trouble::Wrong(format!("parent {id} went before a child"))),
        }
    }

    /// Whether there was a child at some point since.
    fn had_child(&self, tx: &Tx, child: &Held, id: i64, from: Seq) -> bool {
        let names = |r: Option<&Row>| r.is_some_and(|r| r.k == id);
        let own = |l: i64| tx.own(child.life, l);
        let written = tx.writes.iter().filter(|w| w.0 == child.life);
        let mut written = written.map(|w| w.1);
        if written.any(|l| own(l).is_some_and(|w| names(w.as_deref()))) {
            return true;
        }
        let m = self.cx.model();
        let now = m.seq;
        let t = &m.tables[&child.life];
        let mut ids = t.versions.keys();
        ids.any(|l| own(*l).is_none() && t.ever(*l, from, now, names))
    }
}

fn moved(old: &Row, k: i64, tag: i64) -> Row {
    Row {
        k,
        tag,
        ..old.clone()
    }
}
