//! Subqueries: their rows are fetched before the expression that uses them is evaluated; once for an uncorrelated one, for every
//! row for a correlated one.

use std::sync::Arc;

use types::SqlError;
use types::error::codes;

use super::Env;
use super::deciding::Deciding;
use super::query::run_query;
use super::store::RowStore;
use crate::plan::SubPlan;
use sql_expr::bind::SubqueryKind;
use sql_expr::{RowSource, SubquerySource, Val};

/// Values of a block's subqueries, for the row at hand.
#[derive(Default)]
pub(crate) struct SubValues {
    rows: Vec<Arc<RowStore>>,
}

impl SubValues {
    /// Runs the uncorrelated ones.
    pub async fn new(
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
            s.rows.push(Arc::new(rows));
        }
        Ok(s)
    }

    /// Puts in the rows of one.
    pub fn set(&mut self, index: u32, rows: impl Into<Arc<RowStore>>) {
        if let Some(s) = self.rows.get_mut(index as usize) {
            *s = rows.into();
        }
    }

    fn of(&self, index: u32) -> Result<&RowStore, SqlError> {
        self.rows
            .get(index as usize)
            .map(Arc::as_ref)
            .ok_or_else(|| SqlError::internal("no such subquery"))
    }
}

fn too_many_rows() -> SqlError {
    SqlError::new(
        codes::ER_SUBQUERY_NO_1_ROW,
        "Subquery returns more than 1 row",
    )
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
        run_query(&p.query, env, outer, &mut deciding, enough).await?;
        deciding.finish(&mut rows);
        return Ok(rows);
    }
    run_query(&p.query, env, outer, &mut rows, enough).await?;
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
}
