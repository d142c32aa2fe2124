//! Definition changes.

use super::Client;
use crate::context::Trouble;
use crate::model::{Life, Names};
use crate::shape::{EXTRAS, Extra, SCHEMA, Shape};
use engine::{IndexKind, Rewrite, RowRef, Session, TableDef};
use std::collections::BTreeSet;
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
}

impl Client {
    /// A row format for a table that is made, another one perhaps for one that is rebuilt.
    fn choose_format(&mut self, def: &mut TableDef) {
        if !self.cx.plan.packed || self.rng.one_in(2) {
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
        let taken: Vec<&String> = names.keys().collect();
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

    /// One definition change.
    pub(super) async fn change_definitions(&mut self, s: &mut Session) -> Result<(), Trouble> {
        let names = self.cx.model().names.clone();
        let Some(ddl) = self.choose(&names) else {
            return Ok(());
        };
        let tell = self.cx.plan.verbose.then(|| format!("{ddl:?}"));
        let r = self.carry_out(s, ddl, names).await;
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
            Ddl::Rebuild(name) => {
                let Some(t) = s.engine().catalog().table(SCHEMA, &name) else {
                    return Ok(());
                };
                let mut def = t.def.clone();
                self.choose_format(&mut def);
                def.indexes.retain(|i| i.kind != IndexKind::Hidden);
                let mut each = |row: RowRef<'_>| Ok(row.to_values());
                let rewrite = match self.rng.one_in(3) {
                    true => Rewrite::Each(&mut each),
                    false => Rewrite::Same,
                };
                let rebuild = async {
                    let done = s.rebuild_table(&t, def, rewrite, true).await?;
                    // Where it was not done there is no commit, as after an error.
                    done.map(drop)
                        .ok_or_else(|| SqlError::new(1412, "changed meanwhile"))
                };
                let r = self.definition(rebuild, |_| {}).await;
                self.judge("tables rebuilt", r, &[1412])
            }
        }
    }

    /// Runs a change; the model takes part at its commit, and statements see it when it returns.
    async fn definition(
        &self,
        f: impl Future<Output = Result<(), SqlError>>,
        change: impl Fn(&mut Names),
    ) -> Result<(), SqlError> {
        let mut seq = None;
        let cx = &self.cx;
        let r = cx
            .at_commit(true, f, || seq = Some(cx.model().commit_names(&change)))
            .await;
        if r.is_ok() {
            cx.model().show_names();
            match seq {
                Some(seq) => cx.acknowledged(seq, true),
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

fn t_life(l: Option<Life>) -> Life {
    l.unwrap_or(0)
}
