//! PREPARE, EXECUTE and DEALLOCATE as SQL text.

use types::{Charset, SqlError, Value};

use super::Session;
use crate::sink::{Done, ResultSink};
use sql_parser::ast::{Name, PrepareSource};

impl Session {
    /// PREPARE name FROM text.
    pub(super) async fn prepare_named(
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
        if self.lasts(&text) {
            self.leave().await;
        }
        let p = self.make_prepared(&text)?;
        self.named.insert(name.to_lowercase(), p);
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
    pub(super) async fn execute_named(
        &mut self,
        name: &str,
        using: &[Name],
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        let params: Vec<Value> = using.iter().map(|v| self.user_value(v)).collect();
        self.run_named(&name.to_lowercase(), &params, sink).await
    }

    /// DEALLOCATE PREPARE name.
    pub(super) fn deallocate_named(&mut self, name: &str) -> Result<Done, SqlError> {
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
