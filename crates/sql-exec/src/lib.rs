//! The executor: carries out plans, a batch of rows at a time, and hands result values straight to the sink.
//!
//! Expressions are evaluated synchronously on rows where they lie (under a page latch, in a batch, in kept rows); whatever waits
//! (page reads, row locks, SLEEP) happens between rows, in the async shell here. Point reads and single-row changes by primary key
//! have paths of their own (`direct`). The executor never begins or ends a transaction or a statement: the session does.

#![warn(clippy::disallowed_types)]
// Every wait is for an event, and every change of a row is the table writer's (clippy.toml).
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod analyze;
mod applier;
pub mod binary_log;
pub mod change_log;
mod conversion;
mod deciding;
mod direct;
mod dml;
mod env;
mod error;
mod feeds;
pub mod handler;
mod keymap;
mod keys;
mod memo;
mod named_locks;
mod op;
mod outfile;
mod pause;
mod row;
pub mod separators;
pub mod server_file;
mod spill;
mod store;
mod sub;
mod union;
mod waiting;

pub use applier::{Applies, HasApplier};
pub use direct::point_get_now;
pub use dml::applied::{Applying, Target};
pub use dml::applied::{Image, Part, RowChange};
pub use dml::numbers::whole;
pub use dml::row_rules::CheckRow;
pub use dml::table_writer;
pub use dml::update::run_now as update_now;
pub use dml::values::{now_value, writes};
pub(crate) use env::Env;
pub use env::ExecCtx;
pub use error::ExecError;
pub use named_locks::NamedLocks;
pub use row::Built;
pub use waiting::unless_killed;

use std::sync::Arc;

use types::error::codes;
use types::{SqlError, Value};

use op::query::run_query;
use sql_access::Ready;
use sql_expr::{ExprType, NoRow, UserVar, Val};
use sql_parser::ast;
use sql_plan::bind::BindCtx;
use sql_plan::optimize::prepare_values;
use sql_plan::plan::{Body, Destination, Plan, PlanBody, QueryPlan, UsedTable};
use sql_plan::sink::{Done, ResultSink};
use store::RowStore;

/// Runs a plan. The columns and rows go to the sink; [`ResultSink::finish`] is the session's.
///
/// # Errors
/// [`ExecError::Stale`] where a table is no longer what it was when the plan was made; otherwise what MySQL reports. After an error
/// the session rolls the statement back.
pub async fn run(
    plan: Ready<'_, Plan>,
    ctx: &mut ExecCtx<'_>,
    sink: &mut dyn ResultSink,
) -> Result<Done, ExecError> {
    hold(&plan.tables, &plan.views, ctx.session).await?;
    match &plan.body {
        PlanBody::PointGet(p) => return Ok(direct::point_get(p, &plan, ctx, sink).await?),
        PlanBody::Insert(i) => writes(&mut ctx.cx, i.ignore),
        PlanBody::Update(u) => writes(&mut ctx.cx, u.ignore),
        PlanBody::Delete(d) => writes(&mut ctx.cx, d.ignore),
        PlanBody::Query(_) | PlanBody::Do(_) | PlanBody::Explain(_) => {}
    }
    let found_rows = ctx.found_rows;
    let mut env = Env::of(ctx, run_query);
    env.only_waits = only_waits(&plan.body);
    // What is in a box here is not in the future that every statement begins with, a change by key included.
    let done = match &plan.body {
        PlanBody::PointGet(_) => Err(SqlError::internal("a point read")),
        PlanBody::Query(q) if matches!(q.into, Destination::Client) => {
            sink.columns(&plan.columns);
            let most = most_rows(q, &env);
            let counts = Box::pin(run_query(q, &mut env, &NoRow, sink, most)).await?;
            Ok(Done {
                result_set: true,
                found_rows: counts.found,
                no_index_used: counts.no_index,
                ..Done::default()
            })
        }
        PlanBody::Query(q) => Box::pin(into(q, &mut env)).await,
        PlanBody::Do(b) => {
            let mut rows = RowStore::new(b.output().len(), env.cx.memory());
            Box::pin(op::block::run_block(
                b,
                &mut env,
                &NoRow,
                &mut rows,
                u64::MAX,
            ))
            .await?;
            Ok(Done::default())
        }
        PlanBody::Explain(x) => Box::pin(analyze::run(x, &plan.columns, &mut env, sink)).await,
        PlanBody::Insert(i) => Box::pin(dml::insert::run(i, &mut env, found_rows)).await,
        PlanBody::Update(u) => dml::update::run(u, &mut env, found_rows).await,
        PlanBody::Delete(d) => Box::pin(dml::delete::run(d, &mut env)).await,
    }?;
    // Rows that it had no memory for are missing in what it has done.
    env.cx.memory().check()?;
    env.cx.fault()?;
    Ok(done)
}

/// Whether a statement is over once its expressions have a value (the manual, SLEEP).
fn only_waits(body: &PlanBody) -> bool {
    let block = match body {
        PlanBody::Query(q) => match &q.body {
            Body::Block(b) => b,
            _ => return false,
        },
        PlanBody::Do(b) => b,
        _ => return false,
    };
    block.tables.is_empty() && block.subqueries.is_empty()
}

/// Holds tables and views for the rest of the transaction. One that writes waits first until it may: whoever has locked the server is not to
/// wait for tables that it has.
///
/// # Errors
/// [`ExecError::Stale`] where one is no longer what it was; 1223, 1205, 1317.
pub async fn hold(
    tables: &[UsedTable],
    views: &[Arc<engine::ObjectDef>],
    session: &mut engine::Session,
) -> Result<(), ExecError> {
    for t in tables {
        if t.writes && !session.begin_writing_now() {
            // In a box, as it is rare.
            Box::pin(session.begin_writing()).await?;
        }
    }
    for v in views {
        if !session.use_view(v).await? {
            return Err(ExecError::Stale);
        }
    }
    for t in tables {
        if !session.reopen(&t.table, t.writes).await? {
            return Err(ExecError::Stale);
        }
    }
    Ok(())
}

/// As many rows as SQL_SELECT_LIMIT lets out of a query without a limit of its own.
fn most_rows(q: &QueryPlan, env: &Env<'_>) -> u64 {
    match q.is_limited() {
        true => u64::MAX,
        false => env.cx.vars.hot().select_limit,
    }
}

/// SELECT .. INTO.
async fn into(q: &QueryPlan, env: &mut Env<'_>) -> Result<Done, SqlError> {
    match &q.into {
        Destination::File(file) => outfile::run(q, file, most_rows(q, env), env).await,
        Destination::Variables(names) => into_variables(q, names, env).await,
        Destination::Client => Err(SqlError::internal("a query for the client")),
    }
}

/// SELECT .. INTO @a, @b.
async fn into_variables(
    q: &QueryPlan,
    names: &[Box<str>],
    env: &mut Env<'_>,
) -> Result<Done, SqlError> {
    let mut rows = RowStore::new(q.types.len(), env.cx.memory());
    run_query(q, env, &NoRow, &mut rows, 2).await?;
    match rows.len() {
        0 => env.cx.warn(types::Warning {
            level: types::Level::Warning,
            code: 1329,
            message: "No data - zero rows fetched, selected, or processed".to_owned(),
        }),
        1 => {
            for (i, (name, ty)) in names.iter().zip(&q.types).enumerate() {
                let value = Val::from(rows.column(0, i)).into_owned();
                env.cx
                    .with_user_vars(|u| u.set(name, UserVar { value, ty: *ty }));
            }
        }
        _ => {
            return Err(SqlError::new(
                codes::ER_TOO_MANY_ROWS,
                "Result consisted of more than one row",
            ));
        }
    }
    Ok(Done {
        affected: rows.len() as u64,
        ..Done::default()
    })
}

/// The value of an expression that stands outside of a query: SET, KILL, PREPARE, and the like. It may contain subqueries.
///
/// # Errors
/// What binding or evaluating it raises; [`ExecError::Stale`] as [`run`].
pub async fn eval_scalar(
    plan_ctx: &BindCtx<'_>,
    ctx: &mut ExecCtx<'_>,
    expr: &ast::Expr,
) -> Result<(Value, ExprType), ExecError> {
    let (plan, types) = prepare_values(plan_ctx, &[expr])?;
    let plan = plan_ctx.security.authorize(Arc::new(plan))?;
    let ready = plan_ctx.security.ready(&plan);
    let plan = ready.ok_or_else(|| SqlError::internal("a plan of another session"))?;
    hold(&plan.tables, &plan.views, ctx.session).await?;
    let PlanBody::Do(b) = &plan.body else {
        return Err(SqlError::internal("an expression is expected").into());
    };
    let mut env = Env::of(ctx, run_query);
    env.only_waits = only_waits(&plan.body);
    let mut rows = RowStore::new(1, env.cx.memory());
    op::block::run_block(b, &mut env, &NoRow, &mut rows, u64::MAX).await?;
    env.check()?;
    let ty = types.first().copied().unwrap_or_else(ExprType::null);
    Ok((rows.column(0, 0).to_owned(), ty))
}
