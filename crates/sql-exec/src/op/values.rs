//! VALUES: rows that are written in the statement.

use types::SqlError;

use super::set::add;
use crate::Env;
use crate::row::OnlySubs;
use crate::spill::gather::Gathered;
use crate::sub::{SubValues, fetch};
use sql_expr::RowSource;
use sql_plan::plan::SubPlan;

/// Makes the rows.
pub(super) async fn run(
    list: &[Vec<sql_expr::Expr>],
    subqueries: &[SubPlan],
    env: &mut Env<'_>,
    outer: &dyn RowSource,
    rows: &mut Gathered,
) -> Result<(), SqlError> {
    let mut subs = SubValues::new(subqueries, env, outer).await?;
    for (i, s) in subqueries.iter().enumerate().filter(|(_, s)| s.correlated) {
        let fetched = fetch(s, env, outer).await?;
        subs.set(i as u32, fetched);
    }
    let cx = env.cx;
    for row in list {
        let mut values = Vec::with_capacity(row.len());
        for e in row {
            loop {
                let source = OnlySubs { subs: &subs, outer };
                let v = e.eval(cx, &source).map(|v| v.to_value(&e.ty));
                if let Some(v) = env.settle(v).await? {
                    values.push(v);
                    break;
                }
            }
        }
        add(rows, values.iter().map(types::Value::as_ref)).await?;
        if env.due() {
            env.pause().await?;
        }
    }
    Ok(())
}
