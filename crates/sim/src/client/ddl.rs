//! Definition changes.

use super::Client;
use crate::context::Trouble;
use crate::model::{Life, Names};
use crate::shape::{
    CHANGES, CHILD, Columns, EXTRAS, Extra, PARENT, SCHEMA, Shape, is_relative, reshape,
};
use engine::{IndexKind, Interrupt, Rewrite, RowRef, Session, TableDef};
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use types::SqlError;

/// Names of tables.
const NAMES: [&str; 5] = ["a", "b", "c-d", "e", "table five"];

#[derive(Clone, Debug)]
enum Ddl {
    Create(&'static str, Shape, Vec<Extra>),
    Drop(String),
    Truncate(String),
    Rename(String, String),
    AddIndex(String, Extra),
    DropIndex(String, Extra),
    Rebuild(String),
    Columns(String, Columns),
}

impl Client {
    /// A row format for a table that is made, another one perhaps for one that is rebuilt.
    fn choose_format(&mut self, def: &mut TableDef) {
        if !self.cx.plan.compressed || self.rng.one_in(2) {
            return;
        }
        let o = &mut def.options;
        o.others.clear();
        o.row_format.clear();
        let option = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        match self.rng.below(4) {
            0 => {}
            1 => o.row_format = "COMPRESSED".into(),
            2 => {
                let size = self.rng.pick(&["1", "2", "4", "8", "16"]);
                o.others.push(option("KEY_BLOCK_SIZE", size));
            }
            _ => {
                let method = self.rng.pick(&["lz4", "zlib", "zstd"]);
                o.others.push(option("COMPRESSION", method));
            }
        }
    }

    fn choose(&mut self, names: &Names) -> Option<Ddl> {
        let free: Vec<&'static str> = NAMES
            .iter()
            .copied()
            .filter(|n| !names.contains_key(*n))
            .collect();
        let taken: Vec<&String> = names.keys().filter(|n| !is_relative(n)).collect();
        if taken.is_empty() || (!free.is_empty() && self.rng.one_in(3)) {
            let shape = self.rng.pick(&[Shape::Number, Shape::Auto, Shape::Long]);
            let mut extras = Vec::new();
            for e in EXTRAS {
                if self.rng.one_in(2) {
                    extras.push(e);
                }
            }
            return Some(Ddl::Create(self.rng.pick(&free), shape, extras));
        }
        let name = taken[self.rng.below(taken.len() as u64) as usize].clone();
        let have = &names[&name].1;
        if self.cx.plan.rebuild && self.rng.one_in(4) {
            return Some(Ddl::Rebuild(name));
        }
        if self.cx.plan.columns && self.rng.one_in(4) {
            return Some(Ddl::Columns(name, self.rng.pick(&CHANGES)));
        }
        Some(match self.rng.below(8) {
            0 if taken.len() > 1 => Ddl::Drop(name),
            1 => Ddl::Truncate(name),
            2 | 3 if !free.is_empty() => Ddl::Rename(name, self.rng.pick(&free).to_string()),
            _ => {
                let e = self.rng.pick(&EXTRAS);
                if have.contains(&e) {
                    Ddl::DropIndex(name, e)
                } else {
                    Ddl::AddIndex(name, e)
                }
            }
        })
    }

    /// Makes the parent and the child where they are not there.
    pub(super) async fn make_relatives(&mut self, s: &mut Session) -> Result<(), Trouble> {
        let names = self.cx.model().names.clone();
        for (name, extras) in [(PARENT, Vec::new()), (CHILD, vec![Extra::K])] {
            if !names.contains_key(name) {
                let create = Ddl::Create(name, Shape::Number, extras);
                self.carry_out(s, create, names.clone()).await?;
            }
        }
        Ok(())
    }

    /// One definition change.
    pub(super) async fn change_definitions(&mut self, s: &mut Session) -> Result<(), Trouble> {
        let names = self.cx.model().names.clone();
        let Some(ddl) = self.choose(&names) else {
            return Ok(());
        };
        let tell = self.cx.plan.verbose.then(|| format!("{ddl:?}"));
        if self.cx.plan.columns && self.number > 0 && self.rng.one_in(6) {
            self.kill = Some((s.interrupt(), self.rng.log_up_to(400)));
        }
        let r = self.carry_out(s, ddl, names).await;
        if let Some((interrupt, _)) = self.kill.take() {
            interrupt.clear_query();
        }
        if let Some(t) = tell {
            eprintln!("  client {} {t}: {r:?}", self.number);
        }
        r
    }

    async fn carry_out(&mut self, s: &mut Session, ddl: Ddl, names: Names) -> Result<(), Trouble> {
        let life_of = |n: &str| names.get(n).map(|x| x.0);
        match ddl {
            Ddl::Create(name, shape, extras) => {
                let life = self.cx.model().new_life(shape);
                let mut def = shape.table(name, &extras);
                self.choose_format(&mut def);
                let r = self
                    .definition(s.create_table(def), |n| {
                        n.insert(name.to_string(), (life, extras.clone()));
                    })
                    .await;
                self.judge("tables created", r, &[1050])
            }
            Ddl::Drop(name) => {
                let r = self
                    .definition(s.drop_table(SCHEMA, &name), |n| {
                        n.remove(&name);
                    })
                    .await;
                self.judge("tables dropped", r, &[1051])
            }
            Ddl::Truncate(name) => {
                let Some(old) = life_of(&name) else {
                    return Ok(());
                };
                let shape = self.cx.model().tables[&old].shape;
                let life = self.cx.model().new_life(shape);
                let r = self
                    .definition(s.truncate_table(SCHEMA, &name), |n| {
                        if let Some(x) = n.get_mut(&name) {
                            x.0 = life;
                        }
                    })
                    .await;
                self.judge("tables truncated", r, &[])
            }
            Ddl::Rename(from, to) => {
                let pair = (
                    (SCHEMA.to_string(), from.clone()),
                    (SCHEMA.to_string(), to.clone()),
                );
                let r = self
                    .definition(s.rename_tables(&[pair]), |n| {
                        if let Some(x) = n.remove(&from) {
                            n.insert(to.clone(), x);
                        }
                    })
                    .await;
                self.judge("tables renamed", r, &[1050])
            }
            Ddl::AddIndex(name, e) => {
                let r = self
                    .definition(s.create_index(SCHEMA, &name, e.def()), |n| {
                        if let Some(x) = n.get_mut(&name) {
                            x.1.push(e);
                        }
                    })
                    .await;
                if e == Extra::U {
                    self.check_unique(&name, life_of(&name), &r)?;
                }
                self.judge("indexes made", r, &[1061, 1062])
            }
            Ddl::DropIndex(name, e) => {
                let r = self
                    .definition(s.drop_index(SCHEMA, &name, e.name()), |n| {
                        if let Some(x) = n.get_mut(&name) {
                            x.1.retain(|x| *x != e);
                        }
                    })
                    .await;
                self.judge("indexes dropped", r, &[1091])
            }
            Ddl::Rebuild(name) => self.rebuild(s, &name, None).await,
            Ddl::Columns(name, change) => self.rebuild(s, &name, Some(change)).await,
        }
    }

    /// Rebuilds a table, as it is or with other columns, or gives it the definition without that where its rows can stay.
    async fn rebuild(
        &mut self,
        s: &mut Session,
        name: &str,
        change: Option<Columns>,
    ) -> Result<(), Trouble> {
        let Some(t) = s.engine().catalog().table(SCHEMA, name) else {
            return Ok(());
        };
        let mut def = t.def.clone();
        // Its counter goes on where it is.
        def.options.auto_increment = 0;
        let stay = match change.map(|c| c.apply(&mut def)) {
            Some(None) => return Ok(()),
            Some(Some(stay)) => stay,
            None => false,
        };
        // Where it was not done there is no commit, as after an error.
        let changed = || SqlError::new(1412, "changed meanwhile");
        if stay {
            let alter = async {
                let done = s.alter_table(&t, def).await?;
                done.then_some(()).ok_or_else(changed)
            };
            let r = self.definition(alter, |_| {}).await;
            return self.judge("columns changed at once", r, &[1412]);
        }
        self.choose_format(&mut def);
        def.indexes.retain(|i| i.kind != IndexKind::Hidden);
        let columns = def.columns.len();
        let mut each = |row: RowRef<'_>| Ok(reshape(&row, columns));
        let rewrite = match change.is_some() || self.rng.one_in(3) {
            true => Rewrite::Each(&mut each),
            false => Rewrite::Same,
        };
        let same_key = !(self.cx.plan.made_keys && self.rng.one_in(3));
        let rebuild = async {
            let done = s.rebuild_table(&t, def, rewrite, same_key, true).await?;
            done.map(drop).ok_or_else(changed)
        };
        let r = self.definition(rebuild, |_| {}).await;
        let what = match change {
            None => "tables rebuilt",
            Some(_) => "columns changed",
        };
        self.judge(what, r, &[1412])
    }

    /// Runs a change; the model takes part at its commit, and statements see it when it returns.
    async fn definition(
        &self,
        f: impl Future<Output = Result<(), SqlError>>,
        change: impl Fn(&mut Names),
    ) -> Result<(), SqlError> {
        let mut seq = None;
        let cx = &self.cx;
        let f = killed(self.kill.clone(), f);
        let r = cx
            .at_commit(true, f, || seq = Some(cx.model().commit_names(&change)))
            .await;
        if r.as_ref().is_err_and(|e| e.code == 1317) {
            cx.count("definition changes killed");
            if seq.is_some() {
                cx.fail("a definition change was killed and is there".into());
            }
        }
        if r.is_ok() {
            match seq {
                Some(seq) => {
                    cx.model().show_names(seq);
                    cx.acknowledged(seq, true);
                }
                None => cx.fail("a definition change without a commit".into()),
            }
        }
        r
    }

    fn judge(
        &self,
        what: &'static str,
        r: Result<(), SqlError>,
        also: &[u16],
    ) -> Result<(), Trouble> {
        match r {
            Ok(()) => {
                self.cx.count(what);
                Ok(())
            }
            Err(e) if also.contains(&e.code) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    fn check_unique(
        &self,
        name: &str,
        life: Option<Life>,
        r: &Result<(), SqlError>,
    ) -> Result<(), Trouble> {
        let m = self.cx.model();
        let Some(t) = life.and_then(|l| m.tables.get(&l)) else {
            return Ok(());
        };
        if m.names.get(name).map(|x| x.0) != life {
            return Ok(());
        }
        let now = m.seq;
        let mut seen = BTreeSet::new();
        let twice = t.rows(now).filter_map(|r| r.u).find(|u| !seen.insert(*u));
        match (r, twice) {
            (Ok(()), Some(u)) => Err(Trouble::Wrong(format!(
                "{name}: a unique index was made over two rows with {u}"
            ))),
            (Err(e), None) if e.code == 1062 => {
                let changed = m.changed_since(now.saturating_sub(20), t_life(life), |_| true);
                if changed {
                    return Ok(());
                }
                Err(Trouble::Wrong(format!(
                    "{name}: a unique index is refused, {e:?}, and there is nothing twice"
                )))
            }
            _ => Ok(()),
        }
    }
}

/// The future, with a KILL after so many polls.
async fn killed<T>(kill: Option<(Arc<Interrupt>, u64)>, f: impl Future<Output = T>) -> T {
    let mut f = pin!(f);
    let mut polls = 0;
    poll_fn(|cx| {
        if let Some((interrupt, after)) = &kill
            && polls == *after
        {
            interrupt.kill_query();
        }
        polls += 1;
        f.as_mut().poll(cx)
    })
    .await
}

fn t_life(l: Option<Life>) -> Life {
    l.unwrap_or(0)
}
