//! Planning and running of queries and changes: from a parsed statement, from the statement cache, from a prepared plan.

use std::collections::BTreeMap;
use std::sync::Arc;

use types::depth::room;
use types::error::codes;
use types::{Level, SqlError, Value, Warning};

use super::set_vars::sets_vars;
use crate::context::Session;
use crate::context::change_log::BinlogContext;
use crate::context::prologue::Rows;
use crate::infoschema::Names;
use sql_access::{Authorized, Ready};
use sql_exec::{ExecCtx, ExecError};
use sql_expr::{EvalCtx, ExprType, Val};
use sql_parser::ast::{Expr, Statement};
use sql_plan::bind::BindCtx;
use sql_plan::bind::params::{TypedParam, type_of};
use sql_plan::optimize;
use sql_plan::plan::{Plan, PlanBody, TimeLimit};
use sql_plan::sink::{Done, ResultSink};

/// How often a statement is planned again because a table changed between planning and running.
pub(crate) const REPLANS: usize = 16;

/// ER_YES: the note with the statement that EXPLAIN is about.
const EXPLAINED: u16 = 1003;

impl Session {
    /// The plan of a text that ran before, if nothing it depends on has changed.
    #[inline]
    pub(crate) fn cached_plan(&mut self, sql: &[u8]) -> Option<Authorized<Plan>> {
        self.secure();
        let version = self.engine.catalog().version;
        let plan = self.cache.get(sql, self.settings, version)?;
        self.security.ready(&plan).is_some().then_some(plan)
    }

    /// Plans a statement.
    ///
    /// # Errors
    /// What the planner says of it.
    pub(crate) fn plan(&mut self, statement: &Statement) -> Result<Authorized<Plan>, SqlError> {
        self.plan_typed(statement, &[], Session::NO_PARAMS)
    }

    /// Plans a statement for parameters of the types of these values, and for values like these.
    ///
    /// # Errors
    /// As [`plan`](Self::plan).
    pub(crate) fn plan_for(
        &mut self,
        statement: &Statement,
        params: &[Value],
    ) -> Result<Authorized<Plan>, SqlError> {
        let collation = self.vars.connection_collation();
        let mut types: BTreeMap<u32, ExprType> = BTreeMap::new();
        let mut plan = self.plan_typed(statement, &[], params)?;
        // The type of one can change what another is taken for. Where that goes on, all get the types of their values.
        for round in 0..3 {
            if plan.peek().accepts(params) {
                break;
            }
            let every = |p: &TypedParam| Some((p.place, params.get(p.place as usize)?));
            if round < 2 {
                let refused = plan.peek().refused_params(params);
                types.extend(refused.map(|(n, v)| (n, type_of(v, collation))));
            } else {
                let all = plan.peek().typed_params.iter().filter_map(every);
                types.extend(all.map(|(n, v)| (n, type_of(v, collation))));
            }
            let types: Vec<(u32, ExprType)> = types.iter().map(|(n, t)| (*n, *t)).collect();
            plan = self.plan_typed(statement, &types, params)?;
        }
        Ok(plan)
    }

    /// Plans a statement whose parameters have these types where they do not follow from where they stand. The values decide nothing but which plan
    /// is thought the best.
    pub(crate) fn plan_typed(
        &mut self,
        statement: &Statement,
        types: &[(u32, ExprType)],
        values: &[Value],
    ) -> Result<Authorized<Plan>, SqlError> {
        let now = self.now_micros();
        let (r, warnings, total) = {
            let catalog = self.engine.catalog();
            let names = Names::new(&self.instance, self.facts.connection_id);
            let mut cx = EvalCtx::new(
                &self.facts,
                &self.vars,
                &self.user_vars,
                Session::NO_PARAMS,
                now,
            );
            cx.param_types = match types.is_empty() {
                true => &self.programs.types,
                false => types,
            };
            let values = EvalCtx::new(&self.facts, &self.vars, &self.user_vars, values, now);
            let ctx = BindCtx {
                engine: &self.instance.engine,
                catalog,
                names: &names,
                schema: self.facts.database.as_deref(),
                security: &self.security,
                locked: self.locked.as_deref(),
                cx: &cx,
                values: &values,
            };
            let mut r = optimize::prepare(&ctx, statement);
            if let Ok(plan) = &mut r {
                plan.charge = cx.take_held();
            }
            let (w, n) = cx.take_warnings();
            (r, w, n)
        };
        self.keep_warnings(warnings, total);
        self.security.authorize(Arc::new(r?))
    }

    /// Plans and runs a statement; a text of nothing but it may be kept for the next time.
    pub(crate) async fn run_planned(
        &mut self,
        statement: &Statement,
        text: Option<&[u8]>,
        params: &[Value],
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        if !sets_vars(statement) {
            return self.run_as_set(statement, text, params, sink).await;
        }
        self.set_for_statement(statement);
        // In a box, as it is rare.
        let outcome = Box::pin(self.run_as_set(statement, None, params, sink)).await;
        self.put_back();
        outcome
    }

    async fn run_as_set(
        &mut self,
        statement: &Statement,
        text: Option<&[u8]>,
        params: &[Value],
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        let _deadline = self.deadline(TimeLimit::of(statement));
        for _ in 0..REPLANS {
            let before = self.diagnostics.total();
            let plan = self.plan(statement)?;
            // What planning warns of is told each time: such a plan is made anew.
            let quiet = self.diagnostics.total() == before;
            let outcome = self.run_plan(&plan, params, sink).await;
            let Some(outcome) = ExecError::unless_stale(outcome) else {
                continue;
            };
            if let Some(text) = text.filter(|_| quiet) {
                let version = plan.peek().catalog_version;
                self.cache.offer(text, self.settings, version, &plan);
            }
            return outcome;
        }
        Err(SqlError::fixed(codes::ER_TABLE_DEF_CHANGED))
    }

    /// The deadline of a statement, if it has one; it holds until the result is dropped.
    fn deadline(&self, limit: TimeLimit) -> Option<engine::Deadline> {
        let ms = match limit {
            TimeLimit::Never => 0,
            // As in MySQL, not in stored programs.
            TimeLimit::Session if self.programs.is_running() => 0,
            TimeLimit::Session => self.vars.hot().max_execution_time,
            TimeLimit::Hint(ms) => u64::from(ms),
        };
        if ms == 0 {
            return None;
        }
        self.engine.interrupt().end_after(ms.saturating_mul(1000))
    }

    /// The value of an expression that needs a plan: one with a subquery.
    pub(crate) async fn eval_planned(
        &mut self,
        expr: &Expr,
        params: &[Value],
    ) -> Result<(Val<'static>, ExprType), SqlError> {
        for _ in 0..REPLANS {
            self.begin_sharing_rows(Rows::Read)?;
            let outcome = self.eval_in_statement(expr, params).await;
            let outcome = self.end_statement(outcome).await;
            if let Some(outcome) = ExecError::unless_stale(outcome) {
                let (value, ty) = outcome?;
                return Ok((Val::from(value.as_ref()).into_owned(), ty));
            }
        }
        Err(SqlError::fixed(codes::ER_TABLE_DEF_CHANGED))
    }

    async fn eval_in_statement(
        &mut self,
        expr: &Expr,
        params: &[Value],
    ) -> Result<(Value, ExprType), ExecError> {
        let now = self.now_micros();
        let catalog = Arc::clone(self.engine.catalog());
        let names = Names::new(&self.instance, self.facts.connection_id);
        let mut planning = EvalCtx::new(&self.facts, &self.vars, &self.user_vars, params, now);
        planning.param_types = &self.programs.types;
        let ctx = BindCtx {
            engine: &self.instance.engine,
            catalog: &catalog,
            names: &names,
            schema: self.facts.database.as_deref(),
            security: &self.security,
            locked: self.locked.as_deref(),
            cx: &planning,
            values: &planning,
        };
        let mut x = ExecCtx {
            session: &mut self.engine,
            cx: EvalCtx::new(&self.facts, &self.vars, &self.user_vars, params, now),
            security: &self.security,
            found_rows: false,
            connection_id: self.facts.connection_id,
            named_locks: &self.instance.named_locks,
            binary_log: self.instance.binary_log.get().map(|l| &**l),
            replica: &*self.instance,
            binlog: None,
        };
        sql_exec::eval_scalar(&ctx, &mut x, expr).await
    }

    /// Runs a plan as a statement of the present transaction, or as one of its own.
    pub(crate) async fn run_plan(
        &mut self,
        plan: &Authorized<Plan>,
        params: &[Value],
        sink: &mut dyn ResultSink,
    ) -> Result<Done, ExecError> {
        let again;
        // What is read by its key waits for nothing, and is over before somebody looks.
        let shown = !matches!(plan.peek().body, PlanBody::PointGet(_));
        let whole = shown.then(|| Arc::clone(plan.peek()));
        let plan = match self.security.ready(plan) {
            Some(ready) => ready,
            // What the session may do has changed since.
            None => {
                again = self.security.authorize(Arc::clone(plan.peek()))?;
                let ready = self.security.ready(&again);
                ready.ok_or_else(|| SqlError::internal("a plan of another session"))?
            }
        };
        if plan.deep {
            room::more().await;
        }
        let _deadline = self.deadline(plan.time_limit);
        match plan.body.shares_what_it_reads() {
            true => self.begin_sharing_rows(Rows::of(&plan))?,
            false => self.begin_rows(Rows::of(&plan))?,
        }
        if shown {
            self.process.show_plan(whole);
        }
        let outcome = self.run_in_statement(plan, params, sink).await;
        if shown {
            self.process.show_plan(None);
        }
        self.end_statement(outcome).await
    }

    /// The part of [`run_plan`](Self::run_plan) between a statement's begin and its end.
    pub(crate) async fn run_in_statement(
        &mut self,
        plan: Ready<'_, Plan>,
        params: &[Value],
        sink: &mut dyn ResultSink,
    ) -> Result<Done, ExecError> {
        let now = self.now_micros();
        let id = self.facts.connection_id;
        let (r, warnings, total, last_id, asked) = {
            let mut cx = EvalCtx::new(&self.facts, &self.vars, &self.user_vars, params, now);
            cx.rows_before = self.rows_before;
            let mut x = ExecCtx {
                session: &mut self.engine,
                cx,
                security: &self.security,
                found_rows: self.client.found_rows,
                connection_id: id,
                named_locks: &self.instance.named_locks,
                binary_log: self.instance.binary_log.get().map(|l| &**l),
                replica: &*self.instance,
                binlog: BinlogContext::of(
                    self.instance.change_log(),
                    (&self.facts, &self.vars),
                    self.statement_text.as_deref().unwrap_or_default(),
                    now,
                ),
            };
            let r = sql_exec::run(plan, &mut x, sink).await;
            let (w, n) = x.cx.take_warnings();
            let asked = x.cx.last_id_was_null();
            (r, w, n, x.cx.last_insert_id_set(), asked)
        };
        self.keep_warnings(warnings, total);
        if asked {
            self.facts.last_id_is_null = false;
        }
        if matches!(plan.body, PlanBody::Insert(_)) {
            self.facts.insert_id = 0;
        }
        let mut done = r?;
        if let PlanBody::Explain(x) = &plan.body
            && x.windowed
        {
            let code = codes::ER_WINDOW_EXPLAIN_JSON;
            let text = "To get information about window functions use EXPLAIN FORMAT=JSON";
            self.warn(Warning::new(Level::Note, code, text.to_owned()));
        }
        if let PlanBody::Explain(x) = &plan.body
            && let Some(note) = &x.note
        {
            self.warn(Warning::new(Level::Note, EXPLAINED, note.clone()));
        }
        if let Some(id) = last_id {
            done.generated_id.get_or_insert(id);
            if done.last_insert_id == 0 && !done.result_set {
                done.last_insert_id = id;
            }
        }
        Ok(done)
    }
}
