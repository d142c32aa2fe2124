//! The host of a program at work: a session that evaluates, runs statements, keeps the rows of cursors and the conditions.

use std::sync::Arc;

use types::depth::{is_too_deep, room};
use types::error::codes;
use types::{Level, SqlError, Value, Warning};

use super::conditions::Words;
use super::plans::run_planned;
use super::rows::{Rows, Watched};
use super::values::{assigned, stored};
use crate::command::set_vars::sets_vars;
use crate::context::Session;
use crate::context::gtid::Admitted;
use crate::context::programs::Loaded;
use crate::dispatch::named_transaction::part_of;
use crate::dispatch::{com, is_diagnostic, is_planned};
use sql_expr::bind::{Binder, Clause, NoColumns};
use sql_expr::memory::{Account, Charge};
use sql_expr::{EvalCtx, Expr, ExprType, NoRow, Node, UserVar, Val};
use sql_parser::ast::Statement;
use sql_plan::bind::params::type_of;
use sql_plan::sink::{Done, ResultSink};
use sql_program::code::{Slot, Sql, Target};
use sql_program::{Host, Later, Raised, Step};

/// The rows of an open cursor.
struct Cursor {
    rows: std::vec::IntoIter<Vec<Value>>,
    width: usize,
    #[expect(dead_code, reason = "held as long as the rows are")]
    charge: Charge,
}

/// A program at work.
pub(super) struct Running<'s> {
    s: &'s mut Session,
    loaded: Arc<Loaded>,
    sink: Watched<'s>,
    cursors: Vec<Option<Cursor>>,
    /// How many conditions there had been when the interpreter looked last.
    seen: u64,
    /// For the texts of variables.
    charge: Charge,
}

/// The bytes of a value that lie elsewhere.
fn bytes_of(v: &Value) -> usize {
    match v {
        Value::Str(b, _) | Value::Bytes(b) => b.len(),
        _ => 0,
    }
}

impl<'s> Running<'s> {
    pub fn new(s: &'s mut Session, loaded: Arc<Loaded>, sink: &'s mut dyn ResultSink) -> Self {
        let seen = s.diagnostics.pushed();
        let charge = Charge::to(s.memory());
        let cursors = loaded.program.cursors.iter().map(|_| None).collect();
        Running {
            s,
            loaded,
            sink: Watched { sink, open: false },
            cursors,
            seen,
            charge,
        }
    }

    /// The types of variables for an expression, where they are not the same each time.
    fn types_for(&self, untyped: Slot, vars: &[Value]) -> Vec<(u32, ExprType)> {
        let collation = self.s.vars.connection_collation();
        let mut types = self.loaded.expr_types.to_vec();
        let own = type_of(&vars[untyped as usize], collation);
        let at = types.partition_point(|(n, _)| *n < untyped);
        types.insert(at, (untyped, own));
        types
    }

    /// An expression, bound; `None` where it needs a plan, or may wait.
    fn bound(&mut self, n: u32, vars: &[Value]) -> Result<Option<Arc<Expr>>, SqlError> {
        let settings = self.s.settings;
        if let Some((under, kept)) = &self.loaded.bound.lock()[n as usize]
            && *under == settings
        {
            return Ok(Some(Arc::clone(kept)));
        }
        let loaded = Arc::clone(&self.loaded);
        let part = &loaded.program.exprs[n as usize];
        let untyped = part.untyped.map(|slot| self.types_for(slot, vars));
        let s = &mut *self.s;
        let now = s.now_micros();
        let (bound, warnings, total) = {
            let mut cx = EvalCtx::new(&s.facts, &s.vars, &s.user_vars, vars, now);
            cx.param_types = untyped.as_deref().unwrap_or(&loaded.expr_types);
            let bound = Binder::new(&cx, &mut NoColumns, Clause::FieldList).bind(&part.tree);
            let (w, n) = cx.take_warnings();
            (bound, w, n)
        };
        s.keep_warnings(warnings, total);
        let bound = match bound {
            Err(e) if e.code == codes::ER_NOT_SUPPORTED_YET => return Ok(None),
            bound => Arc::new(bound?),
        };
        if bound.has_special() {
            return Ok(None);
        }
        // What binding warns of is told each time.
        let depends = bound.any(&|e| matches!(e.node, Node::UserVar(_)));
        if untyped.is_none() && total == 0 && !depends {
            loaded.bound.lock()[n as usize] = Some((settings, Arc::clone(&bound)));
        }
        Ok(Some(bound))
    }

    /// The value of an expression that needs a plan.
    async fn planned_value(
        &mut self,
        n: u32,
        vars: &[Value],
    ) -> Result<(Val<'static>, ExprType), SqlError> {
        let loaded = Arc::clone(&self.loaded);
        let part = &loaded.program.exprs[n as usize];
        let Some(slot) = part.untyped else {
            return self.s.value_of(&part.tree, vars).await;
        };
        let types = self.types_for(slot, vars);
        let before = std::mem::replace(&mut self.s.programs.types, types.into());
        let outcome = self.s.value_of(&part.tree, vars).await;
        self.s.programs.types = before;
        outcome
    }

    /// A value as a variable keeps it.
    fn kept(
        &mut self,
        slot: Slot,
        vars: &[Value],
        make: impl FnOnce(&EvalCtx<'_>, Option<&types::DataType>, &str) -> Result<Value, SqlError>,
    ) -> Result<Value, SqlError> {
        let loaded = Arc::clone(&self.loaded);
        let ty = loaded.types.get(slot as usize).and_then(Option::as_ref);
        let name = loaded.program.variables.get(slot as usize);
        let name = name.map_or("", |v| &v.name);
        let value = self.s.with_ctx(vars, |cx| make(cx, ty, name))?;
        let (new, old) = (
            bytes_of(&value),
            vars.get(slot as usize).map_or(0, bytes_of),
        );
        if new != old {
            let held = (self.charge.bytes() as usize).saturating_sub(old) + new;
            if !self.charge.set(held) {
                self.s.memory().check()?;
            }
        }
        Ok(value)
    }

    async fn assigned_later(
        &mut self,
        slot: Slot,
        n: u32,
        vars: &[Value],
    ) -> Result<Value, SqlError> {
        let (value, from) = self.planned_value(n, vars).await?;
        self.kept(slot, vars, |cx, ty, name| {
            stored(cx, &value, &from, ty, name)
        })
    }

    async fn truth_later(&mut self, n: u32, vars: &[Value]) -> Result<bool, SqlError> {
        let (value, ty) = self.planned_value(n, vars).await?;
        self.s.with_ctx(Session::NO_PARAMS, |cx| {
            let value = value.to_value(&ty);
            let types = [(0, ty)];
            let params = [value];
            let mut cx2 = EvalCtx::new(cx.facts, cx.vars, cx.user_vars, &params, cx.now_micros);
            cx2.param_types = &types;
            let bare = sql_parser::ast::Expr::Param(0);
            let bound = Binder::new(&cx2, &mut NoColumns, Clause::FieldList).bind(&bare)?;
            Ok(bound.truth(&cx2, &NoRow)? == Some(true))
        })
    }

    /// Runs a statement of those that are planned.
    async fn planned(
        &mut self,
        at: usize,
        statement: &Statement,
        vars: &[Value],
        into: Option<(&mut Rows, usize)>,
    ) -> Result<Done, SqlError> {
        let loaded = Arc::clone(&self.loaded);
        let (sink, width): (&mut dyn ResultSink, _) = match into {
            Some((rows, width)) => (rows, Some(width)),
            None => (&mut self.sink, None),
        };
        let sets = sets_vars(statement);
        if sets {
            self.s.set_for_statement(statement);
        }
        let place = (!sets).then_some((&*loaded, at));
        let outcome = run_planned(self.s, place, statement, vars, width, sink).await;
        if sets {
            self.s.put_back();
        }
        outcome
    }

    /// A statement begins.
    fn begin(&mut self, statement: &Statement, text: &[u8]) {
        let com = com::of(statement);
        if is_diagnostic(statement) {
            self.s.secure();
            self.s.count(com);
        } else {
            self.s.begin_statement(com);
        }
        self.s.note_text(is_planned(statement), text);
    }

    async fn run_sql(&mut self, n: u32, vars: &mut [Value]) -> Result<(), SqlError> {
        let loaded = Arc::clone(&self.loaded);
        let sql = &loaded.program.statements[n as usize];
        let statement = &*sql.part.tree;
        // One before may have gone well all the same.
        self.s.engine.interrupt().check()?;
        self.begin(statement, &sql.text);
        if self.s.gate.named && self.s.admit_named(part_of(statement))? == Admitted::LeftOut {
            return Ok(());
        }
        let outcome = self.run_begun(n, sql, vars).await;
        if matches!(statement, Statement::Call(_)) {
            // Its statements were concluded.
            return outcome;
        }
        let outcome = outcome.map(|()| Done::default());
        let outcome = self.s.conclude(outcome, &mut self.sink).await;
        outcome.map(|_| ())
    }

    /// A statement that has begun.
    async fn run_begun(&mut self, n: u32, sql: &Sql, vars: &mut [Value]) -> Result<(), SqlError> {
        let loaded = Arc::clone(&self.loaded);
        let statement = &*sql.part.tree;
        if let Some(targets) = &sql.into {
            return self.select_into(n as usize, statement, targets, vars).await;
        }
        if !self.s.client.multi_results && gives_rows(statement) {
            return Err(SqlError::new(
                codes::ER_SP_BADSELECT,
                format!(
                    "PROCEDURE {} can't return a result set in the given context",
                    loaded.full_name()
                ),
            ));
        }
        let mut done = match statement {
            Statement::Call(c) => {
                let granted = self.s.permit(statement)?;
                let done = self.s.call(&granted, c, vars, &mut self.sink).await?;
                for g in std::mem::take(&mut self.s.programs.given) {
                    let value = self.kept(g.place, vars, |cx, ty, name| match ty {
                        Some(ty) => assigned(cx, g.value.as_ref(), ty, name),
                        None => Ok(g.value.clone()),
                    })?;
                    vars[g.place as usize] = value;
                }
                done
            }
            planned if is_planned(planned) => self.planned(n as usize, planned, vars, None).await?,
            other => loop {
                match self.s.run_other(other, vars, &mut self.sink).await {
                    // It was bound, and has done nothing. Whoever runs the call must not begin it anew for want of a stack.
                    Err(e) if is_too_deep(&e) && room::more().await => {}
                    outcome => break outcome?,
                }
            },
        };
        self.s.memory().check()?;
        self.s.note_done(&mut done, true);
        if done.result_set {
            self.sink.finish(&done);
            if self.sink.is_full() {
                self.sink.flush().await?;
            }
        }
        Ok(())
    }

    /// SELECT .. INTO variables of the program.
    async fn select_into(
        &mut self,
        n: usize,
        statement: &Statement,
        targets: &[Target],
        vars: &mut [Value],
    ) -> Result<(), SqlError> {
        let mut rows = Rows::new(self.s.memory(), 1);
        let into = Some((&mut rows, targets.len()));
        let mut done = self.planned(n, statement, vars, into).await?;
        let columns: Arc<[_]> = rows.columns().into();
        let (rows, _charge) = rows.into_rows();
        if rows.len() > 1 {
            return Err(super::rows::too_many());
        }
        done = Done {
            result_set: false,
            affected: rows.len() as u64,
            ..done
        };
        self.s.note_done(&mut done, true);
        let Some(row) = rows.into_iter().next() else {
            let e = SqlError::fixed(codes::ER_SP_FETCH_NO_DATA);
            self.s.warn(Warning::new(Level::Warning, e.code, e.message));
            return Ok(());
        };
        for ((target, value), column) in targets.iter().zip(row).zip(&*columns) {
            match target {
                Target::User(name) => self.s.set_user_value(name, &value, &column.ty),
                Target::Slot(slot) => {
                    let value = self.kept(*slot, vars, |cx, ty, name| match ty {
                        Some(ty) => assigned(cx, value.as_ref(), ty, name),
                        None => Ok(value),
                    })?;
                    vars[*slot as usize] = value;
                }
            }
        }
        Ok(())
    }

    async fn open_cursor(&mut self, n: u32, vars: &[Value]) -> Result<(), SqlError> {
        self.s.diagnostics.clear_later();
        let loaded = Arc::clone(&self.loaded);
        let sql = &loaded.program.cursors[n as usize];
        let at = loaded.program.statements.len() + n as usize;
        let mut rows = Rows::new(self.s.memory(), usize::MAX);
        let into = Some((&mut rows, usize::MAX));
        self.planned(at, &sql.part.tree, vars, into).await?;
        self.s.memory().check()?;
        let width = rows.columns().len();
        let (rows, charge) = rows.into_rows();
        self.cursors[n as usize] = Some(Cursor {
            rows: rows.into_iter(),
            width,
            charge,
        });
        Ok(())
    }

    async fn raise(&mut self, n: u32, vars: &[Value]) -> Result<(), SqlError> {
        let loaded = Arc::clone(&self.loaded);
        let signal = &loaded.program.signals[n as usize];
        let mut words = Words::default();
        for (item, part) in &signal.items {
            let value = self.s.value_of(&part.tree, vars).await?;
            self.s.add_words(&mut words, *item, value)?;
        }
        match (signal.condition, signal.again) {
            (condition, true) => self.s.resignal(condition, words),
            (Some(condition), false) => self.s.signal(condition, words),
            (None, false) => Err(SqlError::internal("a signal of nothing")),
        }
    }

    async fn tell(&mut self, n: u32, vars: &mut [Value]) -> Result<(), SqlError> {
        self.s.diagnostics.go_on();
        match self.tell_all(n, vars).await {
            Ok(()) => Ok(()),
            Err(e) if !self.may_catch(&e) => Err(e),
            Err(e) => self.s.not_diagnosed(e),
        }
    }

    async fn tell_all(&mut self, n: u32, vars: &mut [Value]) -> Result<(), SqlError> {
        let loaded = Arc::clone(&self.loaded);
        let d = &loaded.program.diagnoses[n as usize];
        let condition = match &d.condition {
            Some(part) => Some(self.s.value_of(&part.tree, vars).await?),
            None => None,
        };
        let items = d.items.iter().map(|(_, item)| &**item);
        let values = self
            .s
            .diagnostics_items(d.stacked, condition.as_ref(), items)?;
        for ((target, _), (value, from)) in d.items.iter().zip(values) {
            match target {
                Target::User(name) => {
                    let var = UserVar { value, ty: from };
                    self.s.user_vars.lock().set(name, var);
                }
                Target::Slot(slot) => {
                    let kept = self.kept(*slot, vars, |cx, ty, name| {
                        stored(cx, &value, &from, ty, name)
                    })?;
                    vars[*slot as usize] = kept;
                }
            }
        }
        Ok(())
    }
}

/// Whether a statement sends rows to the client.
fn gives_rows(statement: &Statement) -> bool {
    match statement {
        Statement::Query(q) => q.into.is_none(),
        Statement::Show(_)
        | Statement::Describe(_)
        | Statement::Explain(_)
        | Statement::Help(_)
        | Statement::TableMaintenance(_) => true,
        _ => false,
    }
}

impl Host for Running<'_> {
    fn pause(&mut self) -> Later<'_, ()> {
        Box::pin(async {
            self.s.engine.interrupt().check()?;
            if self.sink.wants_flush() {
                self.sink.flush().await?;
            }
            Ok(())
        })
    }

    fn assigned<'a>(&'a mut self, slot: Slot, n: u32, vars: &'a [Value]) -> Step<'a, Value> {
        self.s.diagnostics.clear_later();
        match self.bound(n, vars) {
            Err(e) if is_too_deep(&e) => Step::Later(Box::pin(self.assigned_later(slot, n, vars))),
            Err(e) => Step::Now(Err(e)),
            Ok(None) => Step::Later(Box::pin(self.assigned_later(slot, n, vars))),
            Ok(Some(bound)) => Step::Now(self.kept(slot, vars, |cx, ty, name| {
                let value = bound.eval(cx, &NoRow)?;
                stored(cx, &value, &bound.ty, ty, name)
            })),
        }
    }

    fn truth<'a>(&'a mut self, n: u32, vars: &'a [Value]) -> Step<'a, bool> {
        self.s.diagnostics.clear_later();
        match self.bound(n, vars) {
            Err(e) if is_too_deep(&e) => Step::Later(Box::pin(self.truth_later(n, vars))),
            Err(e) => Step::Now(Err(e)),
            Ok(None) => Step::Later(Box::pin(self.truth_later(n, vars))),
            Ok(Some(bound)) => Step::Now(
                self.s
                    .with_ctx(vars, |cx| Ok(bound.truth(cx, &NoRow)? == Some(true))),
            ),
        }
    }

    fn run<'a>(&'a mut self, n: u32, vars: &'a mut [Value]) -> Later<'a, ()> {
        Box::pin(self.run_sql(n, vars))
    }

    fn open<'a>(&'a mut self, n: u32, vars: &'a [Value]) -> Later<'a, ()> {
        Box::pin(self.open_cursor(n, vars))
    }

    fn fetch(&mut self, n: u32, slots: &[Slot], vars: &mut [Value]) -> Result<(), SqlError> {
        self.s.diagnostics.clear_later();
        let Some(c) = &mut self.cursors[n as usize] else {
            return Err(SqlError::fixed(codes::ER_SP_CURSOR_NOT_OPEN));
        };
        if slots.len() != c.width {
            return Err(SqlError::fixed(codes::ER_SP_WRONG_NO_OF_FETCH_ARGS));
        }
        let Some(row) = c.rows.next() else {
            return Err(SqlError::fixed(codes::ER_SP_FETCH_NO_DATA));
        };
        for (slot, value) in slots.iter().zip(row) {
            let value = self.kept(*slot, vars, |cx, ty, name| match ty {
                Some(ty) => assigned(cx, value.as_ref(), ty, name),
                None => Ok(value),
            })?;
            vars[*slot as usize] = value;
        }
        Ok(())
    }

    fn close(&mut self, n: u32) {
        self.cursors[n as usize] = None;
    }

    fn signal<'a>(&'a mut self, n: u32, vars: &'a [Value]) -> Later<'a, ()> {
        Box::pin(self.raise(n, vars))
    }

    fn diagnose<'a>(&'a mut self, n: u32, vars: &'a mut [Value]) -> Later<'a, ()> {
        Box::pin(self.tell(n, vars))
    }

    fn may_catch(&self, e: &SqlError) -> bool {
        let ended = matches!(
            e.code,
            codes::ER_QUERY_INTERRUPTED | codes::ER_QUERY_TIMEOUT
        );
        !ended && !self.s.engine.interrupt().is_set() && !Account::closes(e.code)
    }

    fn failed(&mut self, e: &SqlError) {
        self.s.note_xa_undone(e);
        let max = self.s.vars.hot().max_error_count;
        self.s.diagnostics.fail(e, max);
        self.s.diagnostics.note_error();
        self.s.facts.row_count = -1;
    }

    fn take_raised(&mut self) -> Vec<Raised> {
        let now = self.s.diagnostics.pushed();
        if now == std::mem::replace(&mut self.seen, now) {
            return Vec::new();
        }
        self.s.diagnostics.raised()
    }

    fn enter_handler(&mut self, condition: Raised) {
        if self.sink.open {
            // The client has part of a result, and gets an end of it.
            let mut done = Done {
                result_set: true,
                ..Done::default()
            };
            let found = self.s.facts.found_rows;
            self.s.note_done(&mut done, true);
            self.s.facts.found_rows = found;
            self.sink.finish(&done);
        }
        self.s.diagnostics.enter_handler(condition);
        self.seen = self.s.diagnostics.pushed();
    }

    fn leave_handler(&mut self) {
        self.s.diagnostics.leave_handler();
        self.seen = self.s.diagnostics.pushed();
    }

    fn abandon_handlers(&mut self, n: usize) {
        self.s.diagnostics.abandon_handlers(n);
    }
}
