//! PREPARE, EXECUTE and DEALLOCATE as SQL text: what is executed comes back to where statements are sent on from.

use std::sync::Arc;

use types::depth::room;
use types::{Charset, SqlError, Value};

use super::prepared::wrong_arguments;
use crate::context::Session;
use crate::context::gtid::Admitted;
use crate::context::prepared::StatementName;
use sql_exec::ExecError;
use sql_parser::ast::{Name, PrepareSource};
use sql_plan::sink::{Done, ResultSink};

impl Session {
    /// PREPARE name FROM text.
    pub(crate) async fn prepare_named(
        &mut self,
        name: &str,
        source: &PrepareSource,
    ) -> Result<Done, SqlError> {
        let text = match source {
            PrepareSource::Text(t) => self.as_sent(Charset::Utf8mb4, t.to_vec()),
            PrepareSource::UserVar(v) => match self.user_value(v) {
                Value::Str(b, collation) => self.as_sent(collation.charset(), b),
                Value::Bytes(b) => b,
                Value::Null => b"NULL".to_vec(),
                other => {
                    let mut out = Vec::new();
                    types::convert::write_value(other.as_ref(), &mut out);
                    out
                }
            },
        };
        self.named.remove(&name.to_lowercase());
        if self.may_run_long(&text) {
            self.leave().await;
        }
        let types = std::mem::replace(&mut self.programs.types, Arc::from([]));
        let made = self.make_prepared(&text);
        self.programs.types = types;
        let p = made?;
        let name = name.to_lowercase();
        self.named.insert(name.clone(), p);
        self.make_room_for_prepared(&StatementName::Text(name.into()));
        Ok(Done::default())
    }

    /// The text of a statement as the client itself would send it: a text is read in the client's character set.
    fn as_sent(&self, from: Charset, text: Vec<u8>) -> Vec<u8> {
        let client = self.vars.hot().client;
        if from == client || from.is_utf8() && client.is_utf8() || text.is_ascii() {
            return text;
        }
        let mut out = Vec::with_capacity(text.len());
        types::charset::convert(from, client, &text, &mut out);
        out
    }

    /// EXECUTE name USING @a, @b.
    pub(crate) async fn execute_named(
        &mut self,
        name: &str,
        using: &[Name],
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        let params: Vec<Value> = using.iter().map(|v| self.user_value(v)).collect();
        let name = name.to_lowercase();
        let entered = self.enter_schema_of(&StatementName::Text(name.as_str().into()));
        // Its parameters are no variables of a program.
        let types = std::mem::replace(&mut self.programs.types, Arc::from([]));
        let outcome = self.run_named(&name, &params, sink).await;
        self.programs.types = types;
        self.leave_schema(entered);
        for g in std::mem::take(&mut self.programs.given) {
            if let (true, Some(to)) = (outcome.is_ok(), using.get(g.place as usize)) {
                self.set_user_value(to, &g.value, &g.ty);
            }
        }
        outcome
    }

    /// Runs a statement prepared by `PREPARE name FROM`.
    pub(crate) async fn run_named(
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
        self.process.counts.com[p.com as usize].add(1);
        let (planned, may_run_long) = (p.has_plan, p.may_run_long);
        let (text, deep) = (Arc::clone(&p.text), p.deep);
        if deep {
            room::more().await;
        }
        let Some(statement) = self.prepared_tree(&StatementName::Text(name.into()))? else {
            return Err(SqlError::unknown_stmt(name, "EXECUTE"));
        };
        self.note_text(planned, &text);
        if self.admit(&statement)? == Admitted::LeftOut {
            return Ok(Done::default());
        }
        let ready = self
            .named
            .get(name)
            .and_then(|p| self.ready_plan(p, params));
        if may_run_long {
            self.leave().await;
        }
        if !planned {
            return self.run_other(&statement, params, sink).await;
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

    /// DEALLOCATE PREPARE name.
    pub(crate) fn deallocate_named(&mut self, name: &str) -> Result<Done, SqlError> {
        match self.named.remove(&name.to_lowercase()) {
            Some(_) => Ok(Done::default()),
            None => Err(SqlError::unknown_stmt(name, "DEALLOCATE PREPARE")),
        }
    }

    /// The value of a user variable; NULL where it is not set.
    fn user_value(&self, name: &str) -> Value {
        let vars = self.user_vars.lock();
        vars.get(name)
            .map_or(Value::Null, |v| v.value.to_value(&v.ty))
    }
}
