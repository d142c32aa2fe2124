//! Statements that write, and what their outcomes are compared with.

use super::{Client, Held, Tx};
use crate::context::{Guard, Trouble};
use crate::model::Seq;
use crate::shape::{Row, Shape};
use engine::{Inserted, Isolation, ReadMode, RowBatch, Session, Updated, Written};
use std::sync::Arc;

/// What an update does to a row, decided before the row is seen: it may be asked more than once.
#[derive(Clone, Debug)]
struct Mutation {
    id: Option<i64>,
    k: Option<i64>,
    u: Option<Option<i64>>,
    pad: Option<u32>,
    long: Option<Option<u32>>,
    tag: i64,
    nothing: bool,
}

impl Mutation {
    fn of(&self, old: &Row) -> Row {
        Row {
            id: self.id.unwrap_or(old.id),
            k: self.k.unwrap_or(old.k),
            u: self.u.unwrap_or(old.u),
            tag: self.tag,
            pad: self.pad.unwrap_or(old.pad),
            long: self.long.unwrap_or(old.long),
        }
    }
}

impl Client {
    fn mutation(&mut self, key_too: bool, shape: Shape) -> Mutation {
        let new = self.new_row(0);
        let to = self.id();
        let r = &mut self.rng;
        Mutation {
            id: (key_too && shape != Shape::Auto && r.one_in(5)).then_some(to),
            k: r.one_in(2).then_some(new.k),
            u: r.one_in(3).then_some(new.u),
            pad: r.one_in(2).then_some(new.pad),
            long: r.one_in(3).then_some(new.long),
            tag: new.tag,
            nothing: r.one_in(20),
        }
    }

    /// An id that is likely to be there.
    fn some_id(&mut self, h: &Held) -> i64 {
        let (shape, top) = {
            let m = self.cx.model();
            let t = &m.tables[&h.life];
            (t.shape, t.auto_top)
        };
        match shape {
            Shape::Auto => (top + 2 - self.id()).max(1),
            _ => self.id(),
        }
    }

    /// The engine says that a row is there: it must have been at some point of the statement.
    pub(super) fn was_there(&self, tx: &Tx, h: &Held, id: i64, from: Seq, there: bool) -> bool {
        match tx.own(h.life, id) {
            Some(own) => own.is_some() == there,
            None => {
                let m = self.cx.model();
                let now = m.seq;
                m.tables[&h.life].ever(id, from, now, |r| r.is_some() == there)
            }
        }
    }

    /// No other row has this unique value now, as far as the transaction can know.
    fn unique_holds(&self, tx: &Tx, h: &Held, row: &Row, but: i64) -> Result<(), Trouble> {
        let (Some(u), true) = (row.u, h.t.def.index("u").is_some()) else {
            return Ok(());
        };
        let m = self.cx.model();
        let now = m.seq;
        let other = m.tables[&h.life].rows(now).find(|r| {
            r.u == Some(u) && r.id != row.id && r.id != but && tx.own(h.life, r.id).is_none()
        });
        let mine = tx.writes.iter().find(|(l, id, w)| {
            *l == h.life
                && *id != row.id
                && *id != but
                && w.as_ref().is_some_and(|r| r.u == Some(u))
                && tx.own(*l, *id) == Some(w)
        });
        match (other, mine) {
            (None, None) => Ok(()),
            (a, b) => Err(Trouble::Wrong(format!(
                "{}: {row:?} was taken although u is not unique: {a:?} {b:?}",
                h.t.def.name
            ))),
        }
    }

    /// Whether the engine may say that this row has a value that is taken.
    fn duplicate_justified(
        &self,
        tx: &Tx,
        h: &Held,
        row: &Row,
        but: i64,
        index: usize,
        from: Seq,
    ) -> bool {
        if index == 0 {
            return self.was_there(tx, h, row.id, from, true);
        }
        let Some(u) = row.u else { return false };
        let mine = tx.writes.iter().any(|(l, id, w)| {
            *l == h.life && *id != but && w.as_ref().is_some_and(|r| r.u == Some(u))
        });
        let m = self.cx.model();
        let now = m.seq;
        mine || m.tables[&h.life].unique_ever(u, but, from, now)
    }

    pub(crate) async fn insert(
        &mut self,
        s: &mut Session,
        tx: &mut Tx,
        h: &Held,
    ) -> Result<(), Trouble> {
        let (shape, top, from) = {
            let m = self.cx.model();
            let t = &m.tables[&h.life];
            (t.shape, t.auto_top, m.seq)
        };
        let id = if shape == Shape::Auto {
            let v = s.auto_increment(&h.t, 1)? as i64;
            if v <= top {
                return Err(Trouble::Wrong(format!(
                    "{}: AUTO_INCREMENT gives {v}, and a row with {top} was committed",
                    h.t.def.name
                )));
            }
            // From one number to the next there is nothing in between, over crashes and definition changes too.
            let mut m = self.cx.model();
            if let Some(life) = m.tables.get_mut(&h.life) {
                if v > life.auto_given + 1 {
                    return Err(Trouble::Wrong(format!(
                        "{}: AUTO_INCREMENT gives {v}, and the highest so far was {}",
                        h.t.def.name, life.auto_given
                    )));
                }
                life.auto_given = life.auto_given.max(v);
            }
            v
        } else {
            self.id()
        };
        let row = self.new_row(id);
        let r = s.insert(&h.t, &row.values(h.t.def.columns.len())).await?;
        match r {
            Inserted::Done => {
                self.cx.count("inserts");
                let now = self.cx.model().seq;
                if let Some(old) = self.at(tx, h, id, now) {
                    return Err(Trouble::Wrong(format!(
                        "{}: {row:?} was inserted over {old:?}",
                        h.t.def.name
                    )));
                }
                self.unique_holds(tx, h, &row, id)?;
                tx.writes.push((h.life, id, Some(Arc::new(row))));
                Ok(())
            }
            Inserted::Duplicate { index, .. } => {
                self.cx.count("duplicates");
                if !self.duplicate_justified(tx, h, &row, id, index, from) {
                    return Err(Trouble::Wrong(format!(
                        "{}: {row:?} is no duplicate in index {index}",
                        h.t.def.name
                    )));
                }
                Ok(())
            }
        }
    }

    pub(crate) async fn update(
        &mut self,
        s: &mut Session,
        tx: &mut Tx,
        h: &Held,
    ) -> Result<(), Trouble> {
        let (shape, from) = {
            let m = self.cx.model();
            (m.tables[&h.life].shape, m.seq)
        };
        let id = self.some_id(h);
        let how = self.mutation(true, shape);
        let key = shape.key(&h.t, id);
        let mut seen: Option<Result<Row, String>> = None;
        let r = s
            .update_key(&h.t, &key, &mut |r| {
                let old = Row::read(&r);
                let new = match &old {
                    Ok(o) if !how.nothing => Some(how.of(o).values(r.columns())),
                    _ => None,
                };
                seen = Some(old);
                Ok(new)
            })
            .await?;
        let seen = seen.transpose().map_err(Trouble::Wrong)?;
        match (r, seen) {
            (Updated::NotFound, _) => {
                if !self.was_there(tx, h, id, from, false) {
                    return Err(Trouble::Wrong(format!(
                        "{}: update of {id} finds nothing",
                        h.t.def.name
                    )));
                }
            }
            (Updated::Unchanged, seen) => {
                // To touch a row excludes others, at every level. One of its own goes with what wrote it, at a rollback to a savepoint.
                let others = seen.filter(|r| tx.own(h.life, r.id).is_none());
                if let Some(old) = others.filter(|_| s.in_transaction()) {
                    self.cx.count("rows touched");
                    self.check_current(tx, h, old.id, Some(old.clone()))?;
                    self.cx.guard(self.number, Guard::Id(h.life, old.id));
                }
            }
            (Updated::Done, Some(old)) => {
                self.cx.count("updates");
                self.changed(tx, h, old.clone(), how.of(&old))?;
            }
            (Updated::Done, None) => {
                return Err(Trouble::Wrong("an update that did not ask".into()));
            }
            (Updated::Duplicate { index, .. }, old) => {
                let Some(old) = old else {
                    return Err(Trouble::Wrong("a duplicate that did not ask".into()));
                };
                let new = how.of(&old);
                if !self.duplicate_justified(tx, h, &new, old.id, index, from) {
                    return Err(Trouble::Wrong(format!(
                        "{}: update of {old:?}: {new:?} is no duplicate in index {index}",
                        h.t.def.name
                    )));
                }
            }
        }
        Ok(())
    }

    /// A row was changed or deleted: it must have been the newest, and under snapshot isolation the one that the snapshot sees.
    fn check_written(&self, tx: &Tx, h: &Held, old: Row) -> Result<(), Trouble> {
        let id = old.id;
        if let (Isolation::Snapshot, Some((_, last)), None) =
            (tx.isolation, tx.snapshot, tx.own(h.life, id))
            && self.cx.model().tables[&h.life].changed_after(id, last)
        {
            return Err(Trouble::Wrong(format!(
                "{}: {id} was written over a change that the snapshot of {last} does not see",
                h.t.def.name
            )));
        }
        self.check_current(tx, h, id, Some(old))
    }

    /// A row was changed: the old one must be right, and the new one must be allowed.
    fn changed(&self, tx: &mut Tx, h: &Held, old: Row, new: Row) -> Result<(), Trouble> {
        let id = old.id;
        self.check_written(tx, h, old)?;
        if new.id != id {
            let now = self.cx.model().seq;
            if let Some(there) = self.at(tx, h, new.id, now) {
                return Err(Trouble::Wrong(format!(
                    "{}: {id} became {new:?} over {there:?}",
                    h.t.def.name
                )));
            }
        }
        self.unique_holds(tx, h, &new, id)?;
        if new.id != id {
            tx.writes.push((h.life, id, None));
        }
        tx.writes.push((h.life, new.id, Some(Arc::new(new))));
        Ok(())
    }

    /// Reads a range for change, and changes or deletes its rows one by one.
    pub(crate) async fn update_range(
        &mut self,
        s: &mut Session,
        tx: &mut Tx,
        h: &Held,
    ) -> Result<(), Trouble> {
        let range = self.range(h);
        let spec = self.spec(h, &range, ReadMode::Current);
        let mut sc = s.scan(&h.t, spec);
        let mut batch = RowBatch::new();
        let delete = self.rng.one_in(4);
        let most = self.rng.within(1, 40);
        let mut done = 0;
        loop {
            batch.clear();
            let more = s
                .next_batch(&mut sc, &mut batch, 8, &mut |_| Ok(true))
                .await?;
            for i in 0..batch.len() {
                let old = Row::read(&batch.row(i)).map_err(Trouble::Wrong)?;
                let (key, version) = (batch.key(i).to_vec(), batch.version(i));
                done += 1;
                if delete {
                    if s.delete(&h.t, &key, version).await? == Written::Done {
                        let id = old.id;
                        self.check_written(tx, h, old)?;
                        tx.writes.push((h.life, id, None));
                    }
                    continue;
                }
                let from = self.cx.model().seq;
                let how = self.mutation(false, Shape::Number);
                let new = how.of(&old);
                let values = new.values(h.t.def.columns.len());
                match s.update(&h.t, &key, version, &values).await? {
                    Written::Done => self.changed(tx, h, old, new)?,
                    Written::Moved | Written::Gone => {}
                    Written::Duplicate { index, .. } => {
                        if !self.duplicate_justified(tx, h, &new, old.id, index, from) {
                            return Err(Trouble::Wrong(format!(
                                "{}: {new:?} is no duplicate in index {index}",
                                h.t.def.name
                            )));
                        }
                    }
                }
            }
            if !more || done >= most {
                self.cx.count("range updates");
                return Ok(());
            }
        }
    }

    pub(crate) async fn delete(
        &mut self,
        s: &mut Session,
        tx: &mut Tx,
        h: &Held,
    ) -> Result<(), Trouble> {
        let (shape, from) = {
            let m = self.cx.model();
            (m.tables[&h.life].shape, m.seq)
        };
        let id = self.some_id(h);
        let key = shape.key(&h.t, id);
        let spare = self.rng.one_in(10);
        let mut seen: Option<Result<Row, String>> = None;
        let gone = s
            .delete_key(&h.t, &key, &mut |r| {
                seen = Some(Row::read(&r));
                Ok(!spare)
            })
            .await?;
        let seen = seen.transpose().map_err(Trouble::Wrong)?;
        match (gone, seen) {
            (true, Some(old)) => {
                self.cx.count("deletes");
                self.check_written(tx, h, old)?;
                tx.writes.push((h.life, id, None));
            }
            (true, None) => return Err(Trouble::Wrong("a deletion that did not ask".into())),
            (false, _) if spare => {}
            (false, _) => {
                if !self.was_there(tx, h, id, from, false) {
                    return Err(Trouble::Wrong(format!(
                        "{}: deletion of {id} finds nothing",
                        h.t.def.name
                    )));
                }
            }
        }
        Ok(())
    }
}
