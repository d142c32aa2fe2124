//! Subqueries: their rows are fetched before the expression that uses them is evaluated; once for an uncorrelated one, for every
//! row for a correlated one.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use types::SqlError;
use types::error::codes;

use super::Env;
use super::deciding::Deciding;
use super::keymap::KeyMap;
use super::memo::Known;
use super::store::RowStore;
use sql_expr::bind::SubqueryKind;
use sql_expr::memory::Account;
use sql_expr::{ListLookup, RowKey, RowSource, SubquerySource, Val, WriteKey};
use sql_plan::plan::SubPlan;

/// Values of a block's subqueries, for the row at hand.
#[derive(Default)]
pub struct SubValues {
    of: Vec<Rows>,
}

/// The rows of one, and how they are found where they are asked again and again.
struct Rows {
    rows: Arc<RowStore>,
    account: Arc<Account>,
    asked: AtomicU32,
    /// `None` inside: not all of them have keys, or there is no memory for them.
    keys: OnceLock<Option<RowKeys>>,
}

/// The keys of rows.
struct RowKeys {
    set: KeyMap,
    /// Some rows are NULL.
    nulls: bool,
}

/// So many rows are compared as fast as their keys are found.
const FEW: usize = 8;

/// How often they are compared before their keys are written, which costs as much as comparing them a few times.
const COMPARED_FIRST: u32 = 2;

impl Rows {
    fn new(rows: Arc<RowStore>, account: &Arc<Account>) -> Rows {
        Rows {
            rows,
            account: Arc::clone(account),
            asked: AtomicU32::new(0),
            keys: OnceLock::new(),
        }
    }

    fn keys(&self, key_of: &WriteKey<'_>) -> Option<RowKeys> {
        let mut keys = RowKeys {
            set: KeyMap::new(&self.account),
            nulls: false,
        };
        let (mut row, mut key) = (Vec::new(), Vec::new());
        for i in 0..self.rows.len() {
            row.clear();
            row.extend(self.rows.row(i).map(Val::from));
            key.clear();
            match key_of(&row, &mut key) {
                RowKey::Written => {
                    keys.set.insert(&key).ok()?;
                }
                RowKey::Null => keys.nulls = true,
                RowKey::Unknown => return None,
            }
        }
        Some(keys)
    }
}

impl SubValues {
    /// Runs the uncorrelated ones.
    pub(crate) async fn new(
        plans: &[SubPlan],
        env: &mut Env<'_>,
        outer: &dyn RowSource,
    ) -> Result<SubValues, SqlError> {
        let mut s = SubValues::default();
        for p in plans {
            let rows = if p.correlated {
                RowStore::new(p.query.types.len(), env.cx.memory())
            } else {
                fetch(p, env, outer).await?
            };
            s.of.push(Rows::new(Arc::new(rows), env.cx.memory()));
        }
        Ok(s)
    }

    /// Puts in the rows of one.
    pub(crate) fn set(&mut self, index: u32, rows: impl Into<Arc<RowStore>>) {
        if let Some(s) = self.of.get_mut(index as usize) {
            *s = Rows::new(rows.into(), &s.account);
        }
    }

    fn of(&self, index: u32) -> Result<&RowStore, SqlError> {
        self.of
            .get(index as usize)
            .map(|s| s.rows.as_ref())
            .ok_or_else(|| SqlError::internal("no such subquery"))
    }
}

fn too_many_rows() -> SqlError {
    SqlError::new(
        codes::ER_SUBQUERY_NO_1_ROW,
        "Subquery returns more than 1 row",
    )
}

/// The rows of a correlated subquery for the rows around it, kept or fetched.
pub(crate) async fn rows(
    p: &SubPlan,
    env: &mut Env<'_>,
    outer: &dyn RowSource,
) -> Result<Arc<RowStore>, SqlError> {
    if !p.repeats {
        return Ok(Arc::new(fetch(p, env, outer).await?));
    }
    let key = match env.memos.get(p, env.cx.memory(), outer) {
        Known::Rows(rows) => return Ok(rows),
        Known::New(key) => key,
        Known::Never => return Ok(Arc::new(fetch(p, env, outer).await?)),
    };
    let before = env.cx.warning_count();
    let rows = Arc::new(fetch(p, env, outer).await?);
    // One that warns does so each time.
    if env.cx.warning_count() == before {
        env.memos.keep(p.id, &key, &rows)?;
    }
    Ok(rows)
}

/// Runs a subquery for the rows around it.
pub(crate) async fn fetch(
    p: &SubPlan,
    env: &mut Env<'_>,
    outer: &dyn RowSource,
) -> Result<RowStore, SqlError> {
    let mut rows = RowStore::new(p.query.types.len(), env.cx.memory());
    let enough = match p.kind {
        SubqueryKind::Exists => 1,
        SubqueryKind::Scalar => 2,
        SubqueryKind::Rows => u64::MAX,
    };
    if let Some(extreme) = &p.extreme {
        let mut deciding = Deciding::new(extreme, env.cx);
        env.query(&p.query, outer, &mut deciding, enough).await?;
        deciding.finish(&mut rows);
        return Ok(rows);
    }
    env.query(&p.query, outer, &mut rows, enough).await?;
    if env.cx.ignore && p.kind == SubqueryKind::Scalar && rows.len() > 1 {
        // IGNORE: no value, and a warning.
        env.cx.warn_error(too_many_rows());
        rows = RowStore::new(p.query.types.len(), env.cx.memory());
    }
    Ok(rows)
}

impl SubquerySource for SubValues {
    fn scalar(&self, index: u32) -> Result<Val<'_>, SqlError> {
        let s = self.of(index)?;
        match s.len() {
            0 => Ok(Val::Null),
            1 => Ok(Val::from(s.column(0, 0))),
            _ => Err(too_many_rows()),
        }
    }

    fn row(&self, index: u32) -> Result<Option<Vec<Val<'_>>>, SqlError> {
        let s = self.of(index)?;
        match s.len() {
            0 => Ok(None),
            1 => Ok(Some(s.row(0).map(Val::from).collect())),
            _ => Err(too_many_rows()),
        }
    }

    fn exists(&self, index: u32) -> Result<bool, SqlError> {
        Ok(self.of(index)?.len() > 0)
    }

    fn rows(
        &self,
        index: u32,
        each: &mut dyn FnMut(&[Val<'_>]) -> Result<bool, SqlError>,
    ) -> Result<(), SqlError> {
        let s = self.of(index)?;
        let mut row: Vec<Val<'_>> = Vec::new();
        for i in 0..s.len() {
            row.clear();
            row.extend(s.row(i).map(Val::from));
            if !each(&row)? {
                break;
            }
        }
        Ok(())
    }

    fn find(&self, index: u32, key: &[u8], key_of: &WriteKey<'_>) -> Option<ListLookup> {
        let s = self.of.get(index as usize)?;
        if s.rows.len() <= FEW || s.asked.fetch_add(1, Ordering::Relaxed) < COMPARED_FIRST {
            return None;
        }
        let keys = s.keys.get_or_init(|| s.keys(key_of)).as_ref()?;
        Some(match keys.set.get(key) {
            Some(_) => ListLookup::Equal,
            None => ListLookup::Not { nulls: keys.nulls },
        })
    }
}
