//! After a recovery: what is in the tables must be the state at one point of the history, no older than what was
//! acknowledged; every index must show the same rows; and when background work has ended nothing may be left over.

use crate::client::{self, difference};
use crate::context::{Context, Trouble};
use crate::events;
use crate::model::Seq;
use crate::shape::{Row, SCHEMA, Shape};
use engine::{Isolation, KeyBound, ReadMode, RowBatch, ScanSpec, Session, Table};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

type Rows = BTreeMap<i64, Row>;

/// What is in a table.
struct TableContents {
    indexes: BTreeSet<String>,
    shape: Shape,
    /// None: it cannot be read, because a page of it is damaged.
    rows: Option<Rows>,
}

/// Reads everything. `damage`: a table may say that it is damaged, but nothing wrong.
async fn read_all(cx: &Context, damage: bool) -> Result<BTreeMap<String, TableContents>, Trouble> {
    let mut out = BTreeMap::new();
    let catalog = cx.engine.catalog();
    let Some(schema) = catalog.schema(SCHEMA) else {
        return Ok(out);
    };
    let mut s = cx.engine.session();
    s.begin(Isolation::Snapshot, true);
    s.open_snapshot();
    for name in schema.tables.keys() {
        let t = match s.open_table(SCHEMA, name).await {
            Err(e) if damage && matches!(e.code, 1712 | 1030) => continue,
            t => t?,
        };
        let mut all: Vec<Option<Rows>> = Vec::new();
        for i in 0..t.def.indexes.len() {
            match read_index(&mut s, &t, i).await {
                Ok(rows) => all.push(Some(rows)),
                Err(Trouble::Sql(e)) if damage && matches!(e.code, 1712 | 1030) => {
                    cx.count("damaged tables named");
                    all.push(None)
                }
                Err(e) => return Err(e),
            }
        }
        let whole: Vec<(usize, &Rows)> = all
            .iter()
            .enumerate()
            .filter_map(|(i, r)| r.as_ref().map(|r| (i, r)))
            .collect();
        for (i, rows) in whole.iter().skip(1) {
            if *rows != whole[0].1 {
                return Err(Trouble::Wrong(format!(
                    "{name}: index {} shows other rows than index {}: {}",
                    t.def.indexes[*i].name,
                    t.def.indexes[whole[0].0].name,
                    difference(rows, whole[0].1)
                )));
            }
        }
        let rows = whole.first().map(|r| r.1.clone());
        if let (Some(rows), true) = (&rows, t.def.index("u").is_some()) {
            let mut seen = BTreeSet::new();
            if let Some(r) = rows.values().find(|r| r.u.is_some_and(|u| !seen.insert(u))) {
                return Err(Trouble::Wrong(format!("{name}: u of {r:?} is not unique")));
            }
        }
        let found = TableContents {
            indexes: t.def.indexes[1..].iter().map(|x| x.name.clone()).collect(),
            shape: Shape::of(&t.def),
            rows,
        };
        out.insert(name.clone(), found);
    }
    s.commit().await?;
    Ok(out)
}

async fn read_index(s: &mut Session, t: &Arc<Table>, index: usize) -> Result<Rows, Trouble> {
    let spec = ScanSpec {
        index,
        lower: KeyBound::None,
        upper: KeyBound::None,
        backward: false,
        mode: ReadMode::Consistent,
    };
    let mut sc = s.scan(t, spec);
    let mut batch = RowBatch::new();
    let mut out = Rows::new();
    loop {
        batch.clear();
        let more = s
            .next_batch(&mut sc, &mut batch, 100, &mut |_| Ok(true))
            .await?;
        for i in 0..batch.len() {
            let r = Row::read(&batch.row(i)).map_err(Trouble::Wrong)?;
            if let Some(twice) = out.insert(r.id, r) {
                return Err(Trouble::Wrong(format!(
                    "{}: index {} shows {twice:?} twice",
                    t.def.name, t.def.indexes[index].name
                )));
            }
        }
        if !more {
            return Ok(out);
        }
    }
}

fn disagreement(
    cx: &Context,
    found: &BTreeMap<String, TableContents>,
    at: Seq,
    damage: bool,
) -> Option<String> {
    let m = cx.model();
    let names = m.names_at(at);
    let (have, want): (Vec<&String>, Vec<&String>) =
        (found.keys().collect(), names.keys().collect());
    let lost = |n: &String| damage && !found.contains_key(n);
    if have != want && !want.iter().all(|n| found.contains_key(*n) || lost(n)) {
        return Some(format!("tables {have:?} instead of {want:?}"));
    }
    for (name, f) in found {
        let Some((life, extras)) = names.get(name) else {
            return Some(format!("table {name} is there"));
        };
        let t = &m.tables[life];
        let want: BTreeSet<String> = extras.iter().map(|e| e.name().to_string()).collect();
        if f.indexes != want || f.shape != t.shape {
            return Some(format!("{name} has indexes {:?}, not {want:?}", f.indexes));
        }
        let Some(rows) = &f.rows else { continue };
        let mut n = 0;
        for r in t.rows(at) {
            n += 1;
            if rows.get(&r.id) != Some(&**r) {
                let want = t.rows(at).map(|r| (r.id, Row::clone(r))).collect();
                return Some(format!("{name}: {}", difference(rows, &want)));
            }
        }
        if n != rows.len() {
            let want = t.rows(at).map(|r| (r.id, Row::clone(r))).collect();
            return Some(format!("{name}: {}", difference(rows, &want)));
        }
    }
    None
}

/// Compares everything with the history, and takes what is there as the state from which it goes on.
pub async fn recovered(cx: &Arc<Context>, floor: Seq, damage: bool) -> Result<(), Trouble> {
    let found = read_all(cx, damage).await?;
    let mut why = Vec::new();
    let candidates: Vec<Seq> = cx.model().candidates(floor).collect();
    for at in &candidates {
        match disagreement(cx, &found, *at, damage) {
            None => {
                // Commits that cancel each other out leave no trace: how many of the last ones happened is not known.
                let older = candidates.iter().filter(|c| *c < at);
                let mut same = older.filter(|c| disagreement(cx, &found, **c, damage).is_none());
                let sure = same.next_back().unwrap_or(at);
                let newest = cx.model().seq;
                if *at < newest {
                    cx.count("unacknowledged commits lost");
                }
                cx.model().reset_to(*at, *sure);
                client::recovered(cx, *at, *sure).await?;
                return match cx.plan.events {
                    true => events::recovered(cx).await,
                    false => Ok(()),
                };
            }
            Some(w) => {
                if why.len() < 3 {
                    why.push(format!("as of {at}: {w}"));
                }
            }
        }
    }
    let m = cx.model();
    Err(Trouble::Wrong(format!(
        "after recovery the tables are as of no point in {floor}..={}: {}",
        m.seq,
        why.join(" | ")
    )))
}

/// The entries' words: flags, and the writer above them. In a row and in an entry it comes first.
async fn entries(cx: &Context, tree: &btree::Tree) -> Result<Vec<u64>, Trouble> {
    let mut all = Vec::new();
    let mut pos = btree::ScanPos::start();
    loop {
        let step = || {
            let (mut p, mut n) = (pos.clone(), Vec::new());
            let state = tree.scan(&mut p, btree::Direction::Forward, |_, v| {
                n.push(base::le::get_u64(v, 0));
                btree::Visit::Next
            })?;
            Ok((p, n, state))
        };
        let r = cx.engine.pager().run(step).await;
        let (p, n, state) =
            r.map_err(|e| Trouble::Wrong(format!("an index cannot be read: {e}")))?;
        pos = p;
        all.extend(n);
        if state == btree::ScanState::End {
            return Ok(all);
        }
    }
}

/// Nothing is running any more: every table must be sound, and the files must be those of the tables.
pub async fn at_rest(cx: &Context) -> Result<(), Trouble> {
    let names: Vec<String> = cx.model().names.keys().cloned().collect();
    let mut s = cx.engine.session();
    for name in names {
        let t = s.open_table(SCHEMA, &name).await?;
        let problems = s.check_table(&t).await?;
        if !problems.is_empty() {
            return Err(Trouble::Wrong(format!("CHECK TABLE {name}: {problems:?}")));
        }
        // Purge is done: an entry a row, and none that is marked.
        let rows = {
            let m = cx.model();
            let now = m.seq;
            m.names.get(&name).map(|n| m.tables[&n.0].rows(now).count())
        };
        for x in &t.indexes {
            let have = entries(cx, &x.tree).await?;
            if Some(have.len()) != rows {
                let marked: Vec<u64> = have
                    .iter()
                    .filter(|w| *w & 1 != 0)
                    .map(|w| w >> 8)
                    .collect();
                return Err(Trouble::Wrong(format!(
                    "{name}: {} entries in an index, {rows:?} rows; marked by {marked:?}",
                    have.len()
                )));
            }
        }
        cx.count("tables checked");
        if t.block_bytes().is_some() {
            cx.count("compressed tables checked");
        }
        for (_, space) in cx.engine.index_space(&t) {
            if space.saved > 0 {
                cx.count("indexes packed");
            }
            if space.moved > 0 {
                cx.count("indexes moved to the front");
            }
        }
        if cx.engine.reclaimed_bytes(&t) > 0 {
            cx.count("files cut");
        }
        s.commit().await?;
    }
    Ok(())
}
