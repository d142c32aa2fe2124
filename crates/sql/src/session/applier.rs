//! A session that does what another server's binary log says: rows as images, and statements under the settings they ran under there.
//! Whoever reads the binary log decides where transactions begin and end.
//!
//! Never here: events and their bytes, positions.

use std::sync::Arc;

use engine::lock::CommitTurn;
use engine::{Committing, Rank, Xid, XidClaim};
use types::depth::room;
use types::gtid::Origin;
use types::{Charset, CollationId, Isolation, SqlError};

use super::Session;
use crate::context::change_log::BinlogContext;
use crate::context::parse_error;
use crate::context::prologue::Rows;
use crate::context::{Instance, OwnThread, SYSTEM_USER};
use sql_access::{AccountId, Authorized};
use sql_exec::{Applying, ExecError, RowChange, Target, hold, writes};
use sql_expr::vars::{SqlMode, VarInput};
use sql_expr::{EvalCtx, UserVar};
use sql_parser::ast::ObjectName;
use sql_plan::bind::row_rules::{self, RowRules};
use sql_plan::optimize::{is_kept_alike, is_same_everywhere};
use sql_plan::plan::{Plan, PlanBody};
use sql_plan::sink::ResultSink;

/// A table that gets rows of another server, and how they are written.
pub struct AppliedTable {
    table: Arc<engine::Table>,
    insert: Authorized<Plan>,
    update: Authorized<Plan>,
    delete: Authorized<Plan>,
    /// What is to hold of its rows, as this session evaluates it.
    rules: RowRules,
    /// The same, where what depends on a session is as the other server says.
    as_said: RowRules,
    /// Generated columns that depend on a session.
    said: Vec<u16>,
}

/// What a session was at before it took up a prepared transaction.
pub struct TakenUp {
    own: engine::Session,
    mark: engine::Mark,
}

impl AppliedTable {
    /// The table.
    pub fn table(&self) -> &Arc<engine::Table> {
        &self.table
    }

    /// Generated columns whose values follow the time zone, `sql_mode` and other settings of who writes a row. Images have their values.
    pub fn said(&self) -> &[u16] {
        &self.said
    }
}

impl Session {
    /// A session of the server itself that applies what another server has done: `read_only` does not hold for it.
    pub fn of_the_applier(instance: &Arc<Instance>, connection_id: u64) -> Session {
        let mut s = Session::of_the_server(instance, connection_id);
        let nobody = AccountId::new(SYSTEM_USER, "");
        s.process.set_user(SYSTEM_USER, "", &nobody);
        s.client.multi_statements = false;
        s.applier = true;
        s.engine.set_rank(Rank::Server);
        // What it does for itself, such as making its tables, is nobody else's transaction.
        let off = s.set_applied_kept(false);
        debug_assert!(off.is_ok(), "{off:?}");
        // What another server has done names each key there is: one more here would move all columns of its rows.
        let off = s.set_applied("sql_generate_invisible_primary_key", &VarInput::Int(0));
        debug_assert!(off.is_ok(), "{off:?}");
        // What could be carried out there has to be here, whatever `max_join_size` is.
        let on = s.set_applied("sql_big_selects", &VarInput::Int(1));
        debug_assert!(on.is_ok(), "{on:?}");
        s
    }

    /// The session is such a thread's: for the list of connections, and for KILL. `host`: what its row has there.
    pub fn stands_for(&mut self, host: &str, thread: Arc<dyn OwnThread>) {
        let nobody = AccountId::new(SYSTEM_USER, "");
        self.process.set_user(SYSTEM_USER, host, &nobody);
        self.process.stands_for(thread);
    }

    /// The session is nobody's: it is not in the list of connections.
    pub fn stands_for_none(&mut self) {
        self.instance.processes.remove(&self.process);
    }

    /// What it waits for, for the list of connections; empty: for nothing.
    pub fn shows_state(&self, state: &'static str) {
        self.process.set_state(state);
    }

    /// Begins a transaction.
    pub fn begin_applied(&mut self) {
        self.isolation = engine::Isolation::ReadCommitted;
        self.engine.begin(Isolation::ReadCommitted, false);
    }

    /// Whether one is open.
    pub fn in_transaction(&self) -> bool {
        self.engine.in_transaction()
    }

    /// What follows belongs together, up to [`end_applied`](Self::end_applied): nobody locks the server for reading in between, and finds rows of a transaction while
    /// the place that the replica says it is at is in front of it.
    pub fn apply_in_one(&mut self) {
        self.engine.write_in_one(true);
    }

    /// All that is to be seen of it is seen.
    pub fn end_applied(&mut self) {
        self.engine.write_in_one(false);
    }

    /// Commits it.
    ///
    /// # Errors
    /// What the log fails with.
    pub async fn commit_applied(&mut self) -> Result<(), SqlError> {
        let committing = self.commit_applied_in_memory().await?;
        self.wait_applied(committing).await
    }

    /// Commits it, up to the wait until it is durable: [`wait_applied`](Self::wait_applied) is to follow.
    ///
    /// # Errors
    /// What the log fails with.
    pub async fn commit_applied_in_memory(&mut self) -> Result<Committing, SqlError> {
        self.leave_name();
        self.engine.commit_in_memory().await
    }

    /// What has a name is in this server's own log, if it is kept, whether anything is left of it or not.
    fn leave_name(&mut self) {
        let named = self.facts.origin.is_some_and(|o| o.gtid.is_some());
        if named && self.engine.events_len() == 0 {
            let around = (&self.facts, &self.vars);
            let now = self.now_micros();
            if let Some(binlog) = BinlogContext::of(self.instance.change_log(), around, b"", now) {
                binlog.log().nothing(&mut self.engine, &binlog);
            }
        }
    }

    /// The transaction that has begun is the work of this branch of a distributed transaction.
    pub fn set_applied_branch(&mut self, xid: &Xid) {
        self.engine.set_branch(xid);
    }

    /// Waits until a commit is durable.
    ///
    /// # Errors
    /// 1180: the log cannot be written.
    pub async fn wait_applied(&self, committing: Committing) -> Result<(), SqlError> {
        self.engine.wait_durable(committing).await
    }

    /// The turn of what follows to commit; `None`: it waits for nobody.
    pub fn stand_in_order(&mut self, turn: Option<CommitTurn>) {
        self.engine.stand_in_order(turn);
    }

    /// Waits until all before it in the order have committed.
    ///
    /// # Errors
    /// 1213: one of them wants what is locked here; the transaction was rolled back. 1317 when killed.
    pub async fn wait_turn(&mut self) -> Result<(), SqlError> {
        self.engine.wait_turn().await
    }

    /// Gives what is being applied a name: another transaction of that name waits until this one has ended.
    ///
    /// # Errors
    /// 1213: the transaction was rolled back. 1317 when killed.
    pub async fn lock_name(&mut self, name: &[u8]) -> Result<(), SqlError> {
        self.engine.lock_name(name).await
    }

    /// The next one's turn begins.
    pub fn pass_turn(&mut self) {
        self.engine.pass_turn();
    }

    /// Carries out a CREATE TABLE behind which the table's rows come, as one transaction with them: it is known to this session alone until
    /// [`define_made`](Self::define_made). False: there is such a table, which is no error of this statement.
    ///
    /// # Errors
    /// What the statement fails with.
    pub async fn make_applied(
        &mut self,
        text: &[u8],
        sink: &mut dyn ResultSink,
    ) -> Result<bool, SqlError> {
        self.makes_with_rows = true;
        let done = self.execute(text, sink).await;
        self.makes_with_rows = false;
        done?;
        Ok(self.engine.is_making())
    }

    /// Whether it makes a table with its rows.
    pub fn is_making(&self) -> bool {
        self.engine.is_making()
    }

    /// Something was changed in the transaction that is open.
    pub fn has_changes(&self) -> bool {
        self.engine.has_changes()
    }

    /// The rows of the table that is being made are all there. What is changed from here on is there with its definition.
    ///
    /// # Errors
    /// What the log fails with; the table is given up then.
    pub async fn enter_definition(&mut self) -> Result<(), SqlError> {
        let committed = self.engine.commit_made_rows().await;
        self.engine.end_writing();
        committed?;
        self.engine.enter_definition();
        Ok(())
    }

    /// The table that is being made becomes everybody's, durably, and with it what was changed since [`enter_definition`](Self::enter_definition).
    ///
    /// # Errors
    /// 1050: there is such a table by now; what the log fails with. The table is given up then, and what was changed since is undone.
    pub async fn define_made(&mut self) -> Result<(), SqlError> {
        let done = self.engine.finish_table().await;
        self.engine.end_writing();
        done
    }

    /// What the next LOAD DATA reads, whatever file it names; `charset` is that of the file where the statement does not say. `None`: nothing any more.
    pub fn set_applied_file(&mut self, file: Option<(engine::TempFile, Charset)>) {
        self.applied_file = file;
    }

    /// The character set that the default schema has.
    pub fn schema_charset(&self) -> Charset {
        let name = self.vars.text("character_set_database");
        Charset::by_name(&name).unwrap_or(Charset::Utf8mb4)
    }

    /// Undoes it.
    ///
    /// # Errors
    /// What the log fails with.
    pub async fn rollback_applied(&mut self) -> Result<(), SqlError> {
        let done = self.engine.rollback().await;
        let gone = self.engine.give_up_making().await;
        self.engine.end_writing();
        done.and(gone)
    }

    /// Prepares the transaction that is open, which is nobody's from then on. Whether this server's own log has that, with its name.
    ///
    /// # Errors
    /// As [`prepare`](engine::Session::prepare).
    pub async fn prepare_applied(&mut self, claim: XidClaim) -> Result<bool, SqlError> {
        self.leave_name();
        let _before = self.engine.take_group_end();
        let done = self.engine.prepare(&mut Some(claim), false).await;
        self.engine.end_writing();
        done?;
        Ok(!self.engine.take_group_end().is_none())
    }

    /// Rolls back the prepared transaction of this name, and says whether this server's own log has that; `None` where there is none.
    ///
    /// # Errors
    /// As [`rollback_prepared`](engine::Session::rollback_prepared).
    pub async fn rollback_prepared_applied(&mut self, xid: &Xid) -> Result<Option<bool>, SqlError> {
        // Here, where the thread can still be stopped.
        self.engine.wait_intake().await?;
        self.engine.begin_writing().await?;
        let around = (&self.facts, &self.vars);
        let binlog = BinlogContext::of(self.instance.change_log(), around, b"", self.now_micros());
        let facts = binlog.map(|b| b.log().ends_branch(&b));
        let done = self.engine.rollback_branch(xid, facts).await;
        self.engine.end_writing();
        Ok(done?.map(|end| !end.group_end.is_none()))
    }

    /// Goes on with the prepared transaction of this name: what follows belongs to it, up to [`commit_taken_up`](Self::commit_taken_up) or
    /// [`leave_prepared`](Self::leave_prepared). It comes from where the session's does. `None` where there is none.
    ///
    /// # Errors
    /// 1205, 1317: another session has locked the server for reading; 1317, 1598 where the binary log takes nothing.
    pub async fn take_up_prepared(&mut self, xid: &Xid) -> Result<Option<TakenUp>, SqlError> {
        // Here, where the thread can still be stopped.
        self.engine.wait_intake().await?;
        let Some(mut prepared) = self.engine.take_prepared(xid) else {
            return Ok(None);
        };
        // Nothing keeps it from being committed then.
        prepared.begin_writing().await?;
        let around = (&self.facts, &self.vars);
        let binlog = BinlogContext::of(self.instance.change_log(), around, b"", self.now_micros());
        if let Some(binlog) = binlog {
            match prepared.leaves_events() {
                _ if prepared.is_branch_logged() => {
                    *prepared.group_facts() = Some(binlog.log().ends_branch(&binlog));
                }
                true => binlog.log().comes_from(&mut prepared, &binlog),
                false if binlog.origin().is_some_and(|o| o.gtid.is_some()) => {
                    binlog.log().nothing(&mut prepared, &binlog);
                }
                false => {}
            }
        }
        let mark = prepared.mark();
        let own = std::mem::replace(&mut self.engine, prepared);
        Ok(Some(TakenUp { own, mark }))
    }

    /// Commits it, up to the wait until it is durable.
    ///
    /// # Errors
    /// What the log fails with.
    pub async fn commit_taken_up(&mut self, taken: TakenUp) -> Result<Committing, SqlError> {
        match self.engine.commit_in_memory().await {
            Ok(committing) => {
                self.engine.end_writing();
                self.engine = taken.own;
                Ok(committing)
            }
            Err(e) => {
                self.leave_prepared(taken).await?;
                Err(e)
            }
        }
    }

    /// What was done since it was taken up is undone, and it is prepared as before.
    ///
    /// # Errors
    /// What the log fails with.
    pub async fn leave_prepared(&mut self, taken: TakenUp) -> Result<(), SqlError> {
        let undone = self.engine.undo_since(taken.mark).await;
        self.engine.end_writing();
        self.engine = taken.own;
        undone
    }

    /// The table of rows that are to come.
    ///
    /// # Errors
    /// 1049, 1146; 1288 of a view.
    pub fn applied_table(&mut self, schema: &str, name: &str) -> Result<AppliedTable, SqlError> {
        room::again(|| self.planned_for_rows(schema, name))
    }

    fn planned_for_rows(&mut self, schema: &str, name: &str) -> Result<AppliedTable, SqlError> {
        let made = self.engine.table_in_the_making();
        let made = made.filter(|t| t.def.schema == schema && t.def.name == name);
        let find = |s: &mut Session| s.engine.catalog().base_table(schema, name);
        let Some(table) = made.cloned().or_else(|| find(self)) else {
            return Err(self.engine.catalog().why_no_table(schema, name));
        };
        let quoted = |n: &str| format!("`{}`", n.replace('`', "``"));
        let full = format!("{}.{}", quoted(schema), quoted(name));
        let stored = table.def.columns.iter();
        let same: Vec<String> = stored
            .filter(|c| c.generated.is_none() && !c.is_hidden())
            .map(|c| format!("{0}={0}", quoted(&c.name)))
            .collect();
        let insert = self.plan_applied(&format!("INSERT INTO {full} () VALUES ()"))?;
        let update = self.plan_applied(&format!("UPDATE {full} SET {}", same.join(",")))?;
        let delete = self.plan_applied(&format!("DELETE FROM {full}"))?;
        let (rules, as_said, said) = self.with_ctx(Session::NO_PARAMS, |cx| {
            let mut rules = RowRules::of(&table.def, &|_| true, cx)?;
            // The writer's session has found that it holds; this one, under other settings, may find that it does not.
            rules.checks.retain(|(_, e)| is_same_everywhere(e));
            let (mut as_said, mut said) = (rules.clone(), Vec::new());
            for (c, e) in &mut as_said.generated {
                let column = &table.def.columns[usize::from(*c)];
                let alike = is_same_everywhere(e) && is_kept_alike(e, &column.ty);
                if !column.is_hidden() && !alike {
                    *e = row_rules::bound(&quoted(&column.name), &table.def.columns, cx)?;
                    said.push(*c);
                }
            }
            Ok((rules, as_said, said))
        })?;
        match &insert.peek().body {
            PlanBody::Insert(i) if Arc::ptr_eq(&i.table, &table) => {}
            // A statement of the binary log has made a temporary one of that name.
            _ => {
                let what = "rows of a table that a temporary table hides";
                return Err(SqlError::not_supported(what));
            }
        }
        Ok(AppliedTable {
            table,
            insert,
            update,
            delete,
            rules,
            as_said,
            said,
        })
    }

    fn plan_applied(&mut self, text: &str) -> Result<Authorized<Plan>, SqlError> {
        let options = sql_parser::Options {
            charset: types::Charset::Utf8mb4,
            ..self.parse_options()
        };
        let parsed = sql_parser::parse(text.as_bytes(), &options).map_err(|e| parse_error(&e))?;
        self.plan(&parsed.statement)
    }

    /// Whether a table is still what it was when it was looked up.
    pub fn is_current(&mut self, applied: &AppliedTable) -> bool {
        applied.insert.peek().catalog_version == self.engine.catalog().version
    }

    /// Changes rows of a table, in the transaction that is open. They are all of one kind and have the same columns. `says_all`: the other server's table
    /// has all columns that are [`said`](AppliedTable::said). False where
    /// the table is not what it was any more: then nothing was done.
    ///
    /// # Errors
    /// 1032, 1062, and what else the writer of rows refuses: then nothing was done either.
    pub async fn apply_rows(
        &mut self,
        applied: &AppliedTable,
        changes: &[RowChange],
        says_all: bool,
    ) -> Result<bool, SqlError> {
        self.secure();
        self.diagnostics.clear();
        let mode = match self.applier {
            true => self.instance.globals.value_by_name("replica_exec_mode"),
            false => self.vars.value_by_name("rbr_exec_mode"),
        };
        let idempotent = mode.is_some_and(|v| v.as_u64() == 1);
        self.begin_rows(Rows::Changed)?;
        let missing = |c: &u16| match changes.first() {
            Some(RowChange::Insert(row)) => row[usize::from(*c)].is_none(),
            _ => false,
        };
        let rules = match says_all && !applied.said.iter().any(missing) {
            true => &applied.as_said,
            false => &applied.rules,
        };
        let outcome = self.apply_in_statement(applied, rules, changes, idempotent);
        let outcome = room::movable(outcome).await;
        match self.end_statement(outcome).await {
            Ok(()) => Ok(true),
            Err(ExecError::Stale) => Ok(false),
            Err(ExecError::Sql(e)) => Err(e),
        }
    }

    async fn apply_in_statement(
        &mut self,
        applied: &AppliedTable,
        rules: &RowRules,
        changes: &[RowChange],
        idempotent: bool,
    ) -> Result<(), ExecError> {
        if applied.insert.peek().deep {
            room::more().await;
        }
        let plan = match changes.first() {
            Some(RowChange::Insert(_)) => &applied.insert,
            Some(RowChange::Update(..)) => &applied.update,
            Some(RowChange::Delete(_)) => &applied.delete,
            None => return Ok(()),
        };
        let (PlanBody::Insert(insert), PlanBody::Update(update), PlanBody::Delete(delete)) = (
            &applied.insert.peek().body,
            &applied.update.peek().body,
            &applied.delete.peek().body,
        ) else {
            return Err(SqlError::internal("plans of other statements").into());
        };
        let target = Target {
            insert,
            update,
            delete,
            rules,
            idempotent,
        };
        hold(&plan.peek().tables, &[], &mut self.engine).await?;
        let now = self.now_micros();
        let no_params = Session::NO_PARAMS;
        let mut cx = EvalCtx::new(&self.facts, &self.vars, &self.user_vars, no_params, now);
        writes(&mut cx, false);
        let around = (&self.facts, &self.vars);
        let binlog = BinlogContext::of(self.instance.change_log(), around, b"", now);
        let mut applying = Applying::new(target, &mut self.engine, &cx, &self.security, binlog);
        applying.apply(changes).await?;
        cx.fault()?;
        Ok(())
    }

    /// Reads the text of a statement, as the settings stand. `mariadb`: the version of the MariaDB server that has written it; what is carried out
    /// here is in MySQL's words.
    ///
    /// # Errors
    /// 1064 and its like.
    pub fn read_applied(
        &self,
        text: &[u8],
        mariadb: Option<u32>,
    ) -> Result<sql_parser::Parsed, SqlError> {
        let options = sql_parser::Options {
            mariadb,
            ..self.parse_options()
        };
        room::again(|| sql_parser::parse(text, &options).map_err(|e| parse_error(&e)))
    }

    /// The table of that name for a statement that follows, if there is one.
    pub fn seen_table(&self, name: &ObjectName) -> Option<Arc<engine::Table>> {
        let name = self.full_name(name).ok()?;
        let own = self.temporary_table(&name).cloned();
        own.or_else(|| {
            let catalog = self.instance.engine().catalog();
            catalog.table(&name.schema, &name.name)
        })
    }

    /// Whether there is a view of that name.
    pub fn seen_view(&self, name: &ObjectName) -> bool {
        let catalog = self.instance.engine().catalog();
        self.full_name(name)
            .is_ok_and(|n| catalog.view_seen(&n.schema, &n.name).is_some())
    }

    /// Sets a variable as the other server had it.
    ///
    /// # Errors
    /// 1193 and the like: what it had is not known here.
    pub fn set_applied(&mut self, name: &str, input: &VarInput) -> Result<(), SqlError> {
        self.settings += 1;
        self.set_session_variable(name, input)?;
        Ok(())
    }

    /// The `sql_mode` of statements that follow, by its bits.
    ///
    /// # Errors
    /// 1231.
    pub fn set_applied_mode(&mut self, bits: u64) -> Result<(), SqlError> {
        let mode = SqlMode::from_bits(bits).bits();
        self.set_applied("sql_mode", &VarInput::Uint(mode))
    }

    /// Where the transaction that follows comes from.
    pub fn set_applied_origin(&mut self, origin: Option<Origin>) {
        self.facts.origin = origin;
    }

    /// Whether what follows is kept for this server's own binary log (`log_replica_updates`), where there is one.
    ///
    /// # Errors
    /// As [`set_applied`](Self::set_applied).
    pub fn set_applied_kept(&mut self, kept: bool) -> Result<(), SqlError> {
        self.set_applied("sql_log_bin", &VarInput::Uint(kept.into()))
    }

    /// It waits for room for the binary log no longer than until this says so.
    pub fn give_up_intake_when(&mut self, gives_up: impl Fn() -> bool + Send + Sync + 'static) {
        self.engine.give_up_intake_when(gives_up);
    }

    /// The time that statements that follow see, in microseconds since 1970; `None`: the clock's.
    pub fn set_applied_time(&mut self, micros: Option<i64>) {
        self.fixed_timestamp = micros;
    }

    /// Sets a user variable.
    pub fn set_applied_user_variable(&mut self, name: &str, var: UserVar) {
        self.user_vars.get_mut().set(name, var);
    }

    /// The default schema of statements that follow. One that is not there is none, as for the other server's statement that
    /// does not need it.
    pub fn set_applied_database(&mut self, name: &str) {
        match name {
            "" => self.set_database(None, CollationId::DEFAULT),
            name => match self.find_schema(name) {
                Ok((name, collation)) => self.set_database(Some(name), collation),
                Err(_) => self.set_database(None, CollationId::DEFAULT),
            },
        }
        // Nobody is told.
        self.changes.clear();
    }
}
