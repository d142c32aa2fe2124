//! Prepared statements of the protocol: by id, parsed once, planned again only when a definition or a setting they depend
//! on has changed.

use std::sync::Arc;

use types::error::codes;
use types::{Pace, SqlError, Value};

use super::set_vars::sets_vars;
use super::{Com, Execution, Outcome, Session, com, dispatch};
use crate::access::Authorized;
use crate::exec::ExecError;
use crate::plan::Plan;
use crate::sink::{ColumnMeta, Done, ResultSink};
use sql_expr::memory::{self, Charge};
use sql_parser::ast::Statement;

use super::Command;
use crate::context::prepared::{Planned, Prepared};

/// What the answer to COM_STMT_PREPARE says.
#[derive(Debug, Clone)]
pub struct PreparedInfo {
    /// By which the client refers to it.
    pub id: u32,
    /// Number of parameters.
    pub params: u16,
    /// Result columns; empty where there is no result set, or its columns are known only when it runs.
    pub columns: Arc<[ColumnMeta]>,
    /// Warnings of preparing.
    pub warnings: u16,
}

/// What a prepared statement takes beside what its text makes of it.
const PREPARED: usize = 1 << 10;

/// Statements that only make sense as plain text (error 1295).
fn is_preparable(s: &Statement) -> bool {
    !matches!(
        s,
        Statement::Prepare { .. }
            | Statement::Execute { .. }
            | Statement::Deallocate(_)
            | Statement::LockTables(_)
            | Statement::UnlockTables
            | Statement::LoadData(_)
            | Statement::Handler(_)
    )
}

impl Session {
    /// COM_STMT_PREPARE.
    ///
    /// # Errors
    /// What parsing or planning it fails with; 1295, 1390, 1461.
    pub fn prepare(&mut self, sql: &[u8]) -> Result<PreparedInfo, SqlError> {
        let shown = self.parse_options().utf8(sql);
        self.begin_command(Command::Prepare, &shown);
        drop(shown);
        self.begin_statement(Com::StmtPrepare);
        let r = self.make_prepared(sql);
        self.end_command();
        let p = match r {
            Ok(p) => p,
            Err(e) => return Err(self.failed(e)),
        };
        self.prepared.last = self.prepared.last.wrapping_add(1).max(1);
        let info = PreparedInfo {
            id: self.prepared.last,
            params: p.params,
            columns: p
                .planned
                .as_ref()
                .map_or_else(|| Arc::from([]), |x| Arc::clone(&x.plan.peek().columns)),
            warnings: self.diagnostics.packet_count(),
        };
        self.prepared.map.insert(info.id, p);
        Ok(info)
    }

    /// Parses and plans a text for later execution.
    pub(super) fn make_prepared(&mut self, sql: &[u8]) -> Result<Prepared, SqlError> {
        let limit = self.instance.globals.hot().max_prepared_stmt_count();
        let place = self.instance.prepared.take(limit)?;
        let mut charge = Charge::to(self.memory());
        if !charge.set(PREPARED + memory::of_text(sql)) {
            self.memory().check()?;
        }
        let options = sql_parser::Options {
            placeholders: true,
            ..self.parse_options()
        };
        let watch = self.engine.interrupt();
        let pace = Pace::new(Some(&*watch));
        let parsed =
            sql_parser::parse_paced(sql, &options, &pace).map_err(|e| super::parse_error(&e))?;
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
        let planned = if dispatch::is_planned(&statement) {
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
            lasts: self.lasts(sql),
            text: options.utf8(sql).into(),
            statement: Arc::new(statement),
            params,
            planned,
        })
    }

    /// COM_STMT_EXECUTE, for whoever waits for it at one place: [`start_prepared`](Self::start_prepared) and what is left then.
    ///
    /// # Errors
    /// 1243 for an unknown id, 1210 for the wrong number of parameters, and whatever the statement fails with.
    pub fn execute_prepared<'a>(
        &'a mut self,
        id: u32,
        params: &'a [Value],
        sink: &'a mut dyn ResultSink,
    ) -> Outcome<'a> {
        Box::pin(async move {
            match self.start_prepared(id, params, sink) {
                Execution::Done(done) => done,
                Execution::Pending(rest) => self.finish_prepared(rest, id, params, sink).await,
            }
        })
    }

    /// An execution that may wait for anything.
    pub(super) async fn run_prepared(
        &mut self,
        id: u32,
        params: &[Value],
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        let Some(p) = self.prepared.map.get(&id) else {
            return Err(unknown(id, "mysqld_stmt_execute"));
        };
        self.begin_command(Command::Execute, &p.text);
        let com = p.com;
        let ready = self.ready_plan(p, params);
        let statement = self.gate.is_shut().then(|| Arc::clone(&p.statement));
        if p.lasts {
            self.leave().await;
        }
        self.count_execution();
        let admitted = statement.map_or(Ok(()), |s| self.admit(&s));
        let outcome = match ready {
            _ if admitted.is_err() => admitted.map(|()| Done::default()),
            Some(plan) => {
                self.begin_statement(com);
                if params.len() < plan.peek().params as usize {
                    Err(wrong_arguments("mysqld_stmt_execute"))
                } else {
                    let outcome = self.run_plan(&plan, params, sink).await;
                    match ExecError::unless_stale(outcome) {
                        Some(outcome) => outcome,
                        None => Box::pin(self.run_slowly(id, params, sink)).await,
                    }
                }
            }
            None => Box::pin(self.run_slowly(id, params, sink)).await,
        };
        let r = self.complete(outcome, false, sink);
        self.end_command();
        r
    }

    /// The plan of a prepared statement where it still holds, and for values of these types.
    #[inline]
    pub(super) fn ready_plan(&self, p: &Prepared, params: &[Value]) -> Option<Authorized<Plan>> {
        let x = p.planned.as_ref()?;
        let version = self.instance.engine.catalog_version();
        let holds = x.settings == self.settings
            && x.plan.peek().catalog_version == version
            && x.plan.peek().is_fresh()
            && self.security.ready(&x.plan).is_some()
            && !p.one_use
            && x.plan.peek().accepts(params);
        holds.then(|| x.plan.clone())
    }

    /// Plans a prepared statement again and runs it, or runs one that has no plan.
    async fn run_slowly(
        &mut self,
        id: u32,
        params: &[Value],
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        let Some(p) = self.prepared.map.get(&id) else {
            return Err(unknown(id, "mysqld_stmt_execute"));
        };
        let statement = Arc::clone(&p.statement);
        let com = p.com;
        if p.planned.is_none() {
            let text = Arc::clone(&p.text);
            if dispatch::is_diagnostic(&statement) {
                self.count(com);
            } else {
                self.begin_statement(com);
            }
            return self.run_other(&statement, &text, params, sink).await;
        }
        self.begin_statement(com);
        self.process.counts.com[Com::StmtReprepare as usize].add(1);
        self.plan_again(&statement, params, sink, |s| s.prepared.map.get_mut(&id))
            .await
    }

    /// Plans a prepared statement until the plan holds, keeps the plan, and runs it.
    async fn plan_again(
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
        for _ in 0..super::run::REPLANS {
            let plan = self.plan_for(statement, params)?;
            let settings = self.settings;
            if params.len() < plan.peek().params as usize {
                return Err(wrong_arguments("mysqld_stmt_execute"));
            }
            if let Some(p) = place(self) {
                p.planned = Some(Planned {
                    plan: plan.clone(),
                    settings,
                });
            }
            let outcome = self.run_plan(&plan, params, sink).await;
            if let Some(outcome) = ExecError::unless_stale(outcome) {
                return outcome;
            }
        }
        Err(SqlError::fixed(codes::ER_TABLE_DEF_CHANGED))
    }

    /// Runs a statement prepared by `PREPARE name FROM`.
    pub(super) async fn run_named(
        &mut self,
        name: &str,
        params: &[Value],
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        let Some(p) = self.named.get(name) else {
            return Err(SqlError::unknown_stmt(name, "EXECUTE"));
        };
        if usize::from(p.params) != params.len() {
            return Err(wrong_arguments("EXECUTE"));
        }
        let statement = Arc::clone(&p.statement);
        let text = Arc::clone(&p.text);
        self.process.counts.com[p.com as usize].add(1);
        let (planned, lasts) = (p.planned.is_some(), p.lasts);
        self.admit(&statement)?;
        let ready = self
            .named
            .get(name)
            .and_then(|p| self.ready_plan(p, params));
        if lasts {
            self.leave().await;
        }
        if !planned {
            return self.run_other(&statement, &text, params, sink).await;
        }
        if let Some(plan) = ready {
            let outcome = self.run_plan(&plan, params, sink).await;
            if let Some(outcome) = ExecError::unless_stale(outcome) {
                return outcome;
            }
        }
        self.plan_again(&statement, params, sink, |s| s.named.get_mut(name))
            .await
    }

    /// COM_STMT_CLOSE; an unknown id is ignored, as the protocol has no answer to it.
    pub fn close_prepared(&mut self, id: u32) {
        self.prepared.map.remove(&id);
        self.process.counts.com[Com::StmtClose as usize].add(1);
    }

    /// COM_STMT_RESET.
    ///
    /// # Errors
    /// 1243.
    pub fn reset_prepared(&mut self, id: u32) -> Result<(), SqlError> {
        self.process.counts.com[Com::StmtReset as usize].add(1);
        match self.prepared.map.contains_key(&id) {
            true => Ok(()),
            false => Err(unknown(id, "mysqld_stmt_reset")),
        }
    }

    /// Number of parameters of a prepared statement.
    pub fn prepared_params(&self, id: u32) -> Option<u16> {
        self.prepared.map.get(&id).map(|p| p.params)
    }
}

/// Error 1243.
fn unknown(id: u32, command: &str) -> SqlError {
    SqlError::unknown_stmt(&id.to_string(), command)
}

/// Error 1210.
fn wrong_arguments(command: &str) -> SqlError {
    SqlError::new(
        codes::ER_WRONG_ARGUMENTS,
        format!("Incorrect arguments to {command}"),
    )
}
