//! How a prepared statement is made and planned: parsed once, planned again only when a definition or a setting it depends
//! on has changed.

use std::sync::Arc;

use types::depth::room;
use types::error::codes;
use types::{Charset, Pace, SqlError, Value};

use super::com;
use crate::command::planned::REPLANS;
use crate::command::set_vars::sets_vars;
use crate::context::prepared::{LARGE, Planned, Prepared, SMALL, StatementName};
use crate::context::{Session, parse_error};
use sql_access::Authorized;
use sql_exec::ExecError;
use sql_expr::EvalCtx;
use sql_expr::memory::{self, Charge};
use sql_parser::ast::{ExplainTarget, Statement};
use sql_plan::plan::Plan;
use sql_plan::sink::{Done, ResultSink};

/// Statements that only make sense as plain text (error 1295).
fn is_preparable(s: &Statement) -> bool {
    if let Statement::Explain(e) = s {
        return matches!(e.target, ExplainTarget::Statement(_));
    }
    !matches!(
        s,
        Statement::Prepare { .. }
            | Statement::Execute { .. }
            | Statement::Deallocate(_)
            | Statement::LockTables(_)
            | Statement::UnlockTables
            | Statement::LoadData(_)
            | Statement::Handler(_)
            | Statement::CreateRoutine(_)
            | Statement::Signal(_)
            | Statement::Resignal(_)
            | Statement::GetDiagnostics(_)
            | Statement::CreateTrigger(_)
            | Statement::CreateEvent(_)
            | Statement::Binlog(_)
            | Statement::Nothing
            | Statement::Xa(_)
    )
}

/// The default schemas of a session and of a prepared statement that it runs.
pub(crate) struct Entered {
    before: Option<String>,
    own: Option<String>,
}

impl Session {
    /// Parses and plans a text for later execution.
    pub(crate) fn make_prepared(&mut self, sql: &[u8]) -> Result<Prepared, SqlError> {
        let limit = self.instance.globals.hot().max_prepared_stmt_count();
        let place = self.instance.prepared.take(limit)?;
        let mut charge = Charge::to(self.memory());
        // It is parsed and planned here, whether that is kept or not.
        let size = memory::of_text(sql);
        if !charge.set(Prepared::least(sql) + size) {
            self.memory().check()?;
        }
        let options = sql_parser::Options {
            placeholders: true,
            ..self.parse_options()
        };
        let watch = self.engine.interrupt();
        let pace = Pace::new(Some(&*watch));
        let parsed = sql_parser::parse_paced(sql, &options, &pace).map_err(|e| parse_error(&e))?;
        let (statement, used) = (parsed.statement, parsed.consumed);
        self.admit_preparation(&statement)?;
        let tail = &sql[used..];
        if !sql_parser::is_blank(tail, &options) {
            let line = 1 + sql[..used].iter().filter(|b| **b == b'\n').count();
            let near = options.utf8(tail);
            return Err(SqlError::parse_error(&String::from_utf8_lossy(&near), line));
        }
        if !is_preparable(&statement) {
            return Err(SqlError::fixed(codes::ER_UNSUPPORTED_PS));
        }
        let params =
            u16::try_from(parsed.params).map_err(|_| SqlError::fixed(codes::ER_PS_MANY_PARAM))?;
        let sets = sets_vars(&statement);
        let planned = if super::is_planned(&statement) {
            self.set_for_statement(&statement);
            let plan = self.plan(&statement);
            self.put_back();
            Some(Planned {
                plan: plan?,
                settings: self.settings,
            })
        } else {
            self.permit(&statement)?;
            None
        };
        Ok(Prepared {
            place,
            charge,
            com: com::of(&statement),
            one_use: sets || sql.contains(&b'@'),
            may_run_long: self.may_run_long(sql),
            deep: room::is_here(),
            text: options.utf8(sql).into(),
            options: sql_parser::Options {
                charset: match options.charset {
                    Charset::Latin1 => Charset::Utf8mb4,
                    other => other,
                },
                ..options
            },
            database: self.facts.database.clone(),
            statement: Some(Arc::new(statement)),
            size,
            params,
            has_plan: planned.is_some(),
            planned,
            others: Vec::new(),
        })
    }

    /// A large statement keeps what it was parsed to: the oldest of these that the session has no room for beside it do so no longer.
    pub(crate) fn make_room_for_prepared(&mut self, name: &StatementName) {
        let Some(size) = self.prepared_named(name).map(|p| p.size) else {
            return;
        };
        if size <= SMALL {
            return;
        }
        self.prepared.large.retain(|n| n != name);
        let held = |s: &Session, n: &StatementName| {
            let p = s.prepared_named(n).filter(|p| p.statement.is_some());
            p.map_or(0, |p| p.size)
        };
        let mut kept: usize = self.prepared.large.iter().map(|n| held(self, n)).sum();
        while (kept + size > LARGE || self.prepared.large.len() >= LARGE / SMALL)
            && let Some(oldest) = self.prepared.large.pop_front()
        {
            kept -= held(self, &oldest);
            if let Some(p) = self.prepared_named_mut(&oldest) {
                p.shed();
            }
        }
        if size <= LARGE {
            self.prepared.large.push_back(name.clone());
        } else if let Some(p) = self.prepared_named_mut(name) {
            p.shed();
        }
    }

    /// A prepared statement is about to be run: the default schema is that which it was made under, until [`leave_schema`](Self::leave_schema) is given what this gives.
    /// The client is told nothing of it; the list of connections shows it, as in MySQL. `None`: it is the same one.
    pub(crate) fn enter_schema_of(&mut self, name: &StatementName) -> Option<Entered> {
        let p = self.prepared_named(name)?;
        if p.database == self.facts.database {
            return None;
        }
        let own = p.database.clone();
        self.process.set_db(own.as_deref());
        let before = std::mem::replace(&mut self.facts.database, own.clone());
        Some(Entered { before, own })
    }

    /// It was run. What it has made the default schema itself stays; one that is gone is none.
    pub(crate) fn leave_schema(&mut self, entered: Option<Entered>) {
        let Some(Entered { before, own }) = entered else {
            return;
        };
        if self.facts.database.is_some() && self.facts.database != own {
            return;
        }
        let there = before.filter(|name| self.find_schema(name).is_ok());
        self.process.set_db(there.as_deref());
        self.facts.database = there;
    }

    fn prepared_named(&self, name: &StatementName) -> Option<&Prepared> {
        match name {
            StatementName::Number(id) => self.prepared.map.get(id),
            StatementName::Text(name) => self.named.get(&**name),
        }
    }

    fn prepared_named_mut(&mut self, name: &StatementName) -> Option<&mut Prepared> {
        match name {
            StatementName::Number(id) => self.prepared.map.get_mut(id),
            StatementName::Text(name) => self.named.get_mut(&**name),
        }
    }

    /// What the text of a prepared statement says. Where that was not kept, it is from here on, if there is memory and room for it.
    ///
    /// # Errors
    /// 1317.
    pub(crate) fn prepared_tree(
        &mut self,
        name: &StatementName,
    ) -> Result<Option<Arc<Statement>>, SqlError> {
        let watch = self.engine.interrupt();
        let Some(p) = self.prepared_named_mut(name) else {
            return Ok(None);
        };
        if let Some(kept) = &p.statement {
            return Ok(Some(Arc::clone(kept)));
        }
        let pace = Pace::new(Some(&*watch));
        let parsed = sql_parser::parse_paced(&p.text, &p.options, &pace);
        let tree = Arc::new(parsed.map_err(|e| parse_error(&e))?.statement);
        if p.charge.set(Prepared::least(&p.text) + p.size) {
            p.statement = Some(Arc::clone(&tree));
            self.make_room_for_prepared(name);
        }
        Ok(Some(tree))
    }

    /// The plan of a prepared statement where it still holds, and for values of these types.
    #[inline]
    pub(crate) fn ready_plan(&self, p: &Prepared, params: &[Value]) -> Option<Authorized<Plan>> {
        let x = p.planned.as_ref().filter(|x| self.holds(p, x, params))?;
        match x.plan.peek().estimates.is_empty() {
            true => Some(x.plan.clone()),
            false => self.plan_for_values(p, params),
        }
    }

    /// Whether a plan of a prepared statement is right for values of these types.
    #[inline]
    fn holds(&self, p: &Prepared, x: &Planned, params: &[Value]) -> bool {
        x.settings == self.settings
            && x.plan.peek().catalog_version == self.engine.catalog_version()
            && x.plan.peek().is_fresh()
            && self.security.ready(&x.plan).is_some()
            && !p.one_use
            && p.database == self.facts.database
            && x.plan.peek().accepts(params)
    }

    /// Of the plans that it has, one that was made for values like these.
    #[cold]
    fn plan_for_values(&self, p: &Prepared, params: &[Value]) -> Option<Authorized<Plan>> {
        let now = self.now_micros();
        let cx = EvalCtx::new(&self.facts, &self.vars, &self.user_vars, params, now);
        let mut all = p.planned.iter().chain(&p.others);
        let x = all.find(|x| x.plan.peek().expects(&cx) && self.holds(p, x, params))?;
        Some(x.plan.clone())
    }

    /// Whether a prepared statement has a plan that holds, for these values or for others.
    pub(crate) fn has_plan_that_holds(&self, p: &Prepared, params: &[Value]) -> bool {
        p.planned.as_ref().is_some_and(|x| self.holds(p, x, params))
    }

    /// Plans a prepared statement until the plan holds, keeps the plan, and runs it.
    pub(crate) async fn plan_again(
        &mut self,
        statement: &Statement,
        params: &[Value],
        sink: &mut dyn ResultSink,
        place: impl Fn(&mut Session) -> Option<&mut Prepared> + Send,
    ) -> Result<Done, SqlError> {
        if !sets_vars(statement) {
            return self.plan_as_set(statement, params, sink, place).await;
        }
        self.set_for_statement(statement);
        let outcome = Box::pin(self.plan_as_set(statement, params, sink, place)).await;
        self.put_back();
        outcome
    }

    async fn plan_as_set(
        &mut self,
        statement: &Statement,
        params: &[Value],
        sink: &mut dyn ResultSink,
        place: impl Fn(&mut Session) -> Option<&mut Prepared> + Send,
    ) -> Result<Done, SqlError> {
        for _ in 0..REPLANS {
            let plan = self.plan_for(statement, params)?;
            let settings = self.settings;
            if params.len() < plan.peek().params as usize {
                return Err(wrong_arguments("mysqld_stmt_execute"));
            }
            if let Some(p) = place(self).filter(|p| p.statement.is_some()) {
                let made = Planned {
                    plan: plan.clone(),
                    settings,
                };
                let version = plan.peek().catalog_version;
                p.keep_plan(made, |other| {
                    other.settings == settings
                        && other.plan.peek().catalog_version == version
                        && other.plan.peek().is_fresh()
                });
            }
            let outcome = self.run_plan(&plan, params, sink).await;
            if let Some(outcome) = ExecError::unless_stale(outcome) {
                return outcome;
            }
        }
        Err(SqlError::fixed(codes::ER_TABLE_DEF_CHANGED))
    }
}

/// Error 1210.
pub(crate) fn wrong_arguments(command: &str) -> SqlError {
    SqlError::new(
        codes::ER_WRONG_ARGUMENTS,
        format!("Incorrect arguments to {command}"),
    )
}
