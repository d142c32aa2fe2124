//! Statements that read, and what their answers are compared with.

use super::{Client, Held, Tx};
use crate::context::{Guard, Trouble};
use crate::model::Seq;
use crate::shape::{Row, k_key};
use engine::{Isolation, KeyBound, LockWait, ReadMode, RowBatch, ScanSpec, Session};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows by id.
type Rows = BTreeMap<i64, Row>;

/// Which rows a scan is about.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    pub(crate) index: usize,
    by_k: bool,
    from: i64,
    to: i64,
    backward: bool,
}

impl Range {
    pub(crate) fn holds(&self, r: &Row) -> bool {
        let v = if self.by_k { r.k } else { r.id };
        (self.from..=self.to).contains(&v)
    }
}

impl Client {
    fn consistent(tx: &Tx) -> bool {
        tx.isolation != Isolation::ReadUncommitted
    }

    /// All plain reads of a transaction see one state.
    pub(crate) fn has_snapshot(tx: &Tx) -> bool {
        matches!(
            tx.isolation,
            Isolation::RepeatableRead | Isolation::Snapshot
        )
    }

    /// What is read with locks stays as it is, what is absent included.
    pub(crate) fn guards(tx: &Tx) -> bool {
        matches!(
            tx.isolation,
            Isolation::RepeatableRead | Isolation::Serializable
        )
    }

    /// The first and the last point at which the snapshot of a read may lie that began at `since` and is over now: it is
    /// taken when the read begins or, behind the transaction's own writes, a little later.
    fn span(&self, tx: &Tx, since: Seq) -> (Seq, Seq) {
        tx.snapshot.unwrap_or((since, self.cx.model().seq))
    }

    /// What a read has shown of where the snapshot lies.
    fn narrow(&self, s: &Session, tx: &mut Tx, at: (Seq, Seq)) {
        if Self::has_snapshot(tx) && s.in_transaction() {
            tx.snapshot = Some(at);
        }
    }

    fn view(&self, tx: &Tx, h: &Held, at: Seq, r: &Range) -> Rows {
        let m = self.cx.model();
        let Some(t) = m.tables.get(&h.life) else {
            return Rows::new();
        };
        let mut rows: Rows = t.rows(at).map(|r| (r.id, Row::clone(r))).collect();
        drop(m);
        for (l, id, w) in &tx.writes {
            if *l == h.life {
                match w {
                    Some(r) => rows.insert(*id, Row::clone(r)),
                    None => rows.remove(id),
                };
            }
        }
        rows.retain(|_, x| r.holds(x));
        rows
    }

    pub(crate) async fn point_read(
        &mut self,
        s: &mut Session,
        tx: &mut Tx,
        h: &Held,
    ) -> Result<(), Trouble> {
        let shape = self.cx.model().tables[&h.life].shape;
        let id = self.id();
        let key = shape.key(&h.t, id);
        let serial = tx.isolation == Isolation::Serializable;
        let since = self.cx.model().seq;
        let got = s
            .get(&h.t, &key, ReadMode::Consistent, |r| {
                r.map(|r| Row::read(&r))
            })
            .await?;
        let got = got.transpose().map_err(Trouble::Wrong)?;
        self.cx.count("point reads");
        if serial && s.in_transaction() {
            self.guard(tx, Guard::Id(h.life, id));
            return self.check_current(tx, h, id, got);
        }
        if !Self::consistent(tx) {
            return match got {
                Some(r) if r.id != id => Err(Trouble::Wrong(format!("read {id} and got {r:?}"))),
                _ => Ok(()),
            };
        }
        let (from, to) = self.span(tx, since);
        let fits = |at: &Seq| self.at(tx, h, id, *at).as_deref() == got.as_ref();
        let Some(first) = (from..=to).find(fits) else {
            let want = self.at(tx, h, id, from);
            return Err(Trouble::Wrong(format!(
                "{:?} read of {} {id} as of {from}..={to}: {got:?} instead of {want:?}",
                tx.isolation, h.t.def.name
            )));
        };
        let last = (first..=to).rev().find(fits).unwrap_or(first);
        self.narrow(s, tx, (first, last));
        Ok(())
    }

    /// The row as the transaction sees it from a snapshot at `at`.
    pub(crate) fn at(&self, tx: &Tx, h: &Held, id: i64, at: Seq) -> Option<Arc<Row>> {
        match tx.own(h.life, id) {
            Some(own) => own.clone(),
            None => self.cx.model().tables[&h.life].row(id, at).cloned(),
        }
    }

    /// A row that the transaction has locked must be the newest.
    pub(crate) fn check_current(
        &self,
        tx: &Tx,
        h: &Held,
        id: i64,
        got: Option<Row>,
    ) -> Result<(), Trouble> {
        let now = self.cx.model().seq;
        let want = self.at(tx, h, id, now);
        if want.as_deref() != got.as_ref() {
            return Err(Trouble::Wrong(format!(
                "{:?} current read of {} {id}: {got:?} instead of {want:?}",
                tx.isolation, h.t.def.name
            )));
        }
        Ok(())
    }

    pub(crate) fn range(&mut self, h: &Held) -> Range {
        let k_index = ["k", "ku"]
            .iter()
            .filter_map(|n| h.t.def.index(n))
            .collect::<Vec<_>>();
        let p = &self.cx.plan;
        let by_k = !k_index.is_empty() && self.rng.one_in(2);
        let most = if by_k { p.ks } else { p.ids };
        let from = self.rng.below(most as u64) as i64;
        let wide = self.rng.log_up_to(most as u64) as i64;
        Range {
            index: if by_k { self.rng.pick(&k_index) } else { 0 },
            by_k,
            from,
            to: from + wide - 1,
            backward: self.rng.one_in(3),
        }
    }

    pub(crate) fn spec(&self, h: &Held, r: &Range, mode: ReadMode) -> ScanSpec {
        let shape = self.cx.model().tables[&h.life].shape;
        let key = |v| match r.by_k {
            true => k_key(&h.t, r.index, v),
            false => shape.key(&h.t, v),
        };
        ScanSpec {
            index: r.index,
            lower: KeyBound::Included(key(r.from)),
            upper: KeyBound::Included(key(r.to)),
            backward: r.backward,
            mode,
        }
    }

    /// Reads a range; the rows come in the index's order and once each.
    async fn scan(
        &mut self,
        s: &mut Session,
        h: &Held,
        range: &Range,
        mode: ReadMode,
    ) -> Result<Rows, Trouble> {
        let spec = self.spec(h, range, mode);
        let mut sc = s.scan(&h.t, spec);
        let mut batch = RowBatch::new();
        let mut out = Rows::new();
        let mut last: Option<i64> = None;
        let size = self.rng.pick(&[1, 3, 20, 200]);
        loop {
            batch.clear();
            let more = s
                .next_batch(&mut sc, &mut batch, size, &mut |_| Ok(true))
                .await?;
            for i in 0..batch.len() {
                let r = Row::read(&batch.row(i)).map_err(Trouble::Wrong)?;
                let v = if range.by_k { r.k } else { r.id };
                let ordered = last.is_none_or(|l| if range.backward { v <= l } else { v >= l });
                if !ordered || !range.holds(&r) {
                    return Err(Trouble::Wrong(format!(
                        "{} {range:?} {mode:?}: {r:?} after {last:?}",
                        h.t.def.name
                    )));
                }
                last = Some(v);
                if let Some(twice) = out.insert(r.id, r.clone())
                    && mode == ReadMode::Consistent
                    && s.isolation() != Isolation::ReadUncommitted
                {
                    return Err(Trouble::Wrong(format!(
                        "{:?} {} {range:?}: {twice:?} and then {r:?}",
                        s.isolation(),
                        h.t.def.name
                    )));
                }
            }
            if !more {
                return Ok(out);
            }
        }
    }

    pub(crate) async fn range_read(
        &mut self,
        s: &mut Session,
        tx: &mut Tx,
        h: &Held,
    ) -> Result<(), Trouble> {
        let range = self.range(h);
        let serial = tx.isolation == Isolation::Serializable && s.in_transaction();
        let since = self.cx.model().seq;
        let got = self.scan(s, h, &range, ReadMode::Consistent).await?;
        self.cx.count("range reads");
        let now = self.cx.model().seq;
        if serial {
            self.guard(tx, range_guard(h, &range));
            return self.compare(tx, h, &range, got, now, now).map(|_| ());
        }
        if !Self::consistent(tx) {
            return Ok(());
        }
        let (from, to) = self.span(tx, since);
        let at = self.compare(tx, h, &range, got, from, to)?;
        self.narrow(s, tx, at);
        let one_snapshot = Self::has_snapshot(tx) && s.in_transaction();
        if range.by_k && one_snapshot && self.rng.one_in(3) {
            self.covered_read(s, h, &range).await?;
        }
        Ok(())
    }

    /// Finds the first and the last point between the two at which the rows were these.
    fn compare(
        &self,
        tx: &Tx,
        h: &Held,
        range: &Range,
        got: Rows,
        from: Seq,
        to: Seq,
    ) -> Result<(Seq, Seq), Trouble> {
        let fits = |at: &Seq| self.view(tx, h, *at, range) == got;
        if let Some(first) = (from..=to).find(fits) {
            return Ok((first, (first..=to).rev().find(fits).unwrap_or(first)));
        }
        let want = self.view(tx, h, from, range);
        let m = self.cx.model();
        let ids = got.keys().chain(want.keys());
        let odd = ids.filter(|id| got.get(id) != want.get(id)).take(2);
        let told: Vec<String> = odd
            .map(|id| {
                let versions = m.tables.get(&h.life).and_then(|t| t.versions.get(id));
                format!("id {id} was {versions:?}, own {:?}", tx.own(h.life, *id))
            })
            .collect();
        Err(Trouble::Wrong(format!(
            "{:?} read of {} {range:?} as of {from}..={to} (now {}): {}; {}",
            tx.isolation,
            h.t.def.name,
            m.seq,
            difference(&got, &want),
            told.join("; ")
        )))
    }

    pub(crate) async fn locking_read(
        &mut self,
        s: &mut Session,
        tx: &mut Tx,
        h: &Held,
    ) -> Result<(), Trouble> {
        let shape = self.cx.model().tables[&h.life].shape;
        let id = self.id();
        let key = shape.key(&h.t, id);
        let wait = self.rng.pick(&[
            LockWait::Wait,
            LockWait::Wait,
            LockWait::NoWait,
            LockWait::SkipLocked,
        ]);
        let mode = ReadMode::Lock {
            exclusive: self.rng.one_in(2),
            wait,
        };
        let got = s.get(&h.t, &key, mode, |r| r.map(|r| Row::read(&r))).await;
        let got = match got {
            Err(e) if e.code == 3572 && wait == LockWait::NoWait => return Ok(()),
            r => r?.transpose().map_err(Trouble::Wrong)?,
        };
        self.cx.count("locking reads");
        if got.is_none() && wait == LockWait::SkipLocked {
            return Ok(());
        }
        if got.is_some() || Self::guards(tx) {
            self.guard(tx, Guard::Id(h.life, id));
            return self.check_current(tx, h, id, got);
        }
        Ok(())
    }

    pub(crate) async fn locking_range(
        &mut self,
        s: &mut Session,
        tx: &mut Tx,
        h: &Held,
    ) -> Result<(), Trouble> {
        let range = self.range(h);
        let mode = ReadMode::Lock {
            exclusive: self.rng.one_in(2),
            wait: LockWait::Wait,
        };
        let got = self.scan(s, h, &range, mode).await?;
        self.cx.count("locking range reads");
        let now = self.cx.model().seq;
        if Self::guards(tx) && s.in_transaction() {
            self.guard(tx, range_guard(h, &range));
            return self.compare(tx, h, &range, got, now, now).map(|_| ());
        }
        for (id, r) in got {
            self.check_current(tx, h, id, Some(r))?;
        }
        Ok(())
    }
}

fn range_guard(h: &Held, r: &Range) -> Guard {
    match r.by_k {
        true => Guard::Ks(h.life, r.from, r.to),
        false => Guard::Ids(h.life, r.from, r.to),
    }
}

/// The first things in which two sets of rows differ.
pub fn difference(got: &Rows, want: &Rows) -> String {
    let mut out = Vec::new();
    for (id, w) in want {
        match got.get(id) {
            None => out.push(format!("missing {w:?}")),
            Some(g) if g != w => out.push(format!("{g:?} instead of {w:?}")),
            _ => {}
        }
    }
    for (id, g) in got {
        if !want.contains_key(id) {
            out.push(format!("too much {g:?}"));
        }
    }
    let n = out.len();
    out.truncate(4);
    format!("{} rows, {n} differ: {}", got.len(), out.join("; "))
}
