//! HANDLER .. OPEN, READ and CLOSE; and what closes handlers beside CLOSE.
//!
//! OPEN looks at the table and holds nothing of it. Each READ is a statement of the present transaction, or of its own: it sees what a SELECT there
//! would see, and needs what a SELECT needs.

use std::sync::Arc;

use types::SqlError;
use types::error::codes;

use super::lock_tables::active_locks;
use super::planned::REPLANS;
use crate::context::Session;
use crate::context::handlers::OpenHandler;
use crate::context::prologue::Rows;
use crate::infoschema::{self, Names};
use sql_access::{Authorized, Granted};
use sql_exec::handler::{self, Position};
use sql_exec::{ExecCtx, ExecError};
use sql_expr::EvalCtx;
use sql_parser::ast::{self, AlterAction, Handler, HandlerRead, ObjectName, Statement};
use sql_plan::bind::BindCtx;
use sql_plan::bind::handler::{self as bound, HandlerPlan, HandlerTable};
use sql_plan::sink::{Done, ResultSink};

impl Session {
    /// HANDLER.
    pub(crate) async fn handler(
        &mut self,
        _: &Granted,
        statement: &Handler,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        if self.locked.is_some() {
            return Err(active_locks());
        }
        match statement {
            Handler::Open { table, alias } => self.open_handler(table, alias.as_deref()),
            Handler::Close(name) => match self.handlers.close(name) {
                true => Ok(Done::default()),
                false => Err(unknown(name)),
            },
            Handler::Read(read) => self.read_handler(read, sink).await,
        }
    }

    fn open_handler(&mut self, table: &ObjectName, alias: Option<&str>) -> Result<Done, SqlError> {
        let n = self.full_name(table)?;
        let alias = alias.unwrap_or(&n.name).to_owned();
        if n.schema == infoschema::SCHEMAS[0] {
            let text = "Incorrect usage of HANDLER OPEN and information_schema";
            return Err(SqlError::new(codes::ER_WRONG_USAGE, text));
        }
        if self.handlers.get(&alias).is_some() {
            return Err(SqlError::new(
                codes::ER_NONUNIQ_TABLE,
                format!("Not unique table/alias: '{alias}'"),
            ));
        }
        if infoschema::has(&n.schema, &n.name) {
            return Err(SqlError::new(
                codes::ER_ILLEGAL_HA,
                format!("Table storage engine for '{alias}' doesn't have this option"),
            ));
        }
        let t = self.find_base_table(&n)?;
        if t.def.options.discarded {
            return Err(SqlError::tablespace_discarded(&n.name));
        }
        let opened = HandlerTable {
            schema: n.schema,
            name: n.name,
            alias,
        };
        match OpenHandler::new(opened, &t, self.memory()) {
            Some(h) => self.handlers.add(h),
            None => self.memory().check()?,
        }
        Ok(Done::default())
    }

    async fn read_handler(
        &mut self,
        read: &HandlerRead,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        for _ in 0..REPLANS {
            let Some(h) = self.handlers.get(&read.handler) else {
                return Err(unknown(&read.handler));
            };
            let table = h.table.clone();
            let plan = self.plan_handler(&table, read)?;
            let now = Arc::clone(&plan.peek().table);
            let h = self.handlers.get(&read.handler);
            let mut position = h.and_then(|h| h.position(&now));
            self.begin_rows(Rows::Read)?;
            let outcome = self.run_handler(&plan, &mut position, sink).await;
            let outcome = self.end_statement(outcome).await;
            let Some(outcome) = ExecError::unless_stale(outcome) else {
                continue;
            };
            if let (Some(h), true) = (self.handlers.get_mut(&read.handler), outcome.is_ok()) {
                h.stands(&now, position);
            }
            return outcome;
        }
        Err(SqlError::fixed(codes::ER_TABLE_DEF_CHANGED))
    }

    fn plan_handler(
        &mut self,
        table: &HandlerTable,
        read: &HandlerRead,
    ) -> Result<Authorized<HandlerPlan>, SqlError> {
        let now = self.now_micros();
        let (r, warnings, total) = {
            let names = Names::new(&self.instance, self.facts.connection_id);
            let (facts, vars, user_vars) = (&self.facts, &self.vars, &self.user_vars);
            let cx = EvalCtx::new(facts, vars, user_vars, Session::NO_PARAMS, now);
            let ctx = BindCtx {
                engine: &self.instance.engine,
                catalog: self.engine.catalog(),
                names: &names,
                schema: self.facts.database.as_deref(),
                security: &self.security,
                locked: None,
                cx: &cx,
                values: &cx,
            };
            let r = bound::read(&ctx, table, read);
            let (w, n) = cx.take_warnings();
            (r, w, n)
        };
        self.keep_warnings(warnings, total);
        self.security.authorize(Arc::new(r?))
    }

    async fn run_handler(
        &mut self,
        plan: &Authorized<HandlerPlan>,
        position: &mut Option<Position>,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, ExecError> {
        let ready = self.security.ready(plan);
        let ready = ready.ok_or_else(|| SqlError::internal("a plan of another session"))?;
        let now = self.now_micros();
        let (facts, vars, user_vars) = (&self.facts, &self.vars, &self.user_vars);
        let (r, warnings, total) = {
            let mut x = ExecCtx {
                session: &mut self.engine,
                cx: EvalCtx::new(facts, vars, user_vars, Session::NO_PARAMS, now),
                security: &self.security,
                found_rows: false,
                connection_id: self.facts.connection_id,
                named_locks: &self.instance.named_locks,
                binary_log: self.instance.binary_log.get().map(|l| &**l),
                replica: &*self.instance,
                binlog: None,
            };
            let r = handler::run(ready, position, &mut x, sink).await;
            let (w, n) = x.cx.take_warnings();
            (r, w, n)
        };
        self.keep_warnings(warnings, total);
        r
    }

    /// Closes the handlers of the tables that a statement is about to change, as MySQL does before it knows whether it can. Others' handlers notice when
    /// they are read.
    pub(crate) fn close_handlers_of(&mut self, statement: &Statement) {
        if self.handlers.is_empty() {
            return;
        }
        let mut tables: Vec<&ObjectName> = Vec::new();
        match statement {
            Statement::DropDatabase { name, .. } => self.handlers.close_schema(name),
            Statement::CreateTable(c) => tables.push(&c.name),
            Statement::AlterTable(a) => {
                tables.push(&a.name);
                tables.extend(a.actions.iter().filter_map(|a| match a {
                    AlterAction::RenameTo(to) => Some(to),
                    _ => None,
                }));
            }
            Statement::CreateIndex(c) => tables.push(&c.table),
            Statement::DropIndex(d) => tables.push(&d.table),
            Statement::Truncate(name) => tables.push(name),
            Statement::DropTable(d) => tables.extend(&d.names),
            Statement::RenameTable(pairs) => {
                tables.extend(pairs.iter().flat_map(|(from, to)| [from, to]));
            }
            Statement::TableMaintenance(m) if m.verb != ast::MaintenanceVerb::Checksum => {
                tables.extend(&m.tables);
            }
            _ => {}
        }
        for name in tables {
            // A name without a schema is an error of the statement itself.
            if let Ok(n) = self.full_name(name) {
                self.handlers.close_table(&n.schema, &n.name);
            }
        }
    }
}

/// Error 1109.
fn unknown(name: &str) -> SqlError {
    SqlError::new(
        codes::ER_UNKNOWN_TABLE,
        format!("Unknown table '{name}' in HANDLER"),
    )
}
