//! BINLOG: events of a binary log in Base64, as `mysqlbinlog` prints them. They change rows with the session's own powers, in its transaction or in one of
//! their own, all or nothing.
//!
//! Never here: what events are, and how rows are changed.

use types::SqlError;
use types::error::codes;

use crate::context::Session;
use sql_access::Granted;
use sql_expr::base64;
use sql_expr::memory::{self, Charge};
use sql_expr::vars::{Kept, lookup};
use sql_expr::{ExprType, UserVar, Val};
use sql_parser::ast::BinlogEvents;
use sql_plan::sink::Done;

/// What events are applied under, and is put back afterwards.
const LENT: &[&str] = &[
    "foreign_key_checks",
    "sql_mode",
    "auto_increment_increment",
    "auto_increment_offset",
    "time_zone",
    "lc_time_names",
];
/// No name of a client's savepoint.
const MARK: &str = "\0BINLOG";

/// The bytes of a text in which each event may be encoded, and padded, by itself.
fn decode(mut text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    while !text.is_empty() {
        // Behind its padding a part is at its end.
        let padded = text.iter().position(|b| *b == b'=');
        let end = padded.map_or(text.len(), |at| {
            let behind = text[at..]
                .iter()
                .position(|b| *b != b'=' && !b.is_ascii_whitespace());
            behind.map_or(text.len(), |n| at + n)
        });
        let (part, rest) = text.split_at(end);
        out.extend_from_slice(&base64::decode(part)?);
        text = rest;
    }
    Some(out)
}

impl Session {
    /// BINLOG.
    ///
    /// # Errors
    /// 1575 for what is no Base64; 1149, 1609, 1610, 1730; 1290, 1792 where nothing may be changed; whatever changing rows fails with.
    pub(crate) async fn binlog(
        &mut self,
        _: &Granted,
        events: &BinlogEvents,
    ) -> Result<Done, SqlError> {
        let text = match events {
            BinlogEvents::Text(text) => text.to_vec(),
            BinlogEvents::Variables(first, second) => {
                let mut text = self.fragment(first)?;
                text.append(&mut self.fragment(second)?);
                text
            }
        };
        if text.is_empty() {
            return Err(SqlError::fixed(codes::ER_SYNTAX_ERROR));
        }
        let mut charge = Charge::to(self.memory());
        if text.len() >= memory::SMALL && !charge.set(text.len() * 2) {
            self.memory().check()?;
        }
        let bytes = decode(&text);
        let bytes = bytes.ok_or_else(|| SqlError::fixed(codes::ER_BASE64_DECODE_ERROR))?;
        drop(text);
        let Some(applier) = self.instance.row_events() else {
            return Err(SqlError::not_supported("BINLOG"));
        };
        self.xa_takes_rows()?;
        let own = self.vars.hot().autocommit && !self.engine.in_transaction();
        match own {
            true => self.begin_with(None),
            false => self.begin_implicit(),
        }
        if !own {
            self.engine.savepoint(MARK);
        }
        let lent = self.lend();
        let mut kept = std::mem::take(&mut self.replayed);
        let applied = applier.apply(self, &mut kept, &bytes).await;
        self.replayed = kept;
        self.take_back(lent);
        let applied = match applied {
            Ok(()) if own => self.commit_open().await,
            applied => applied,
        };
        match (&applied, own) {
            (Err(_), true) => self.engine.rollback().await?,
            // A deadlock may have undone all.
            (Err(_), false) if self.engine.in_transaction() => {
                self.engine.rollback_to(MARK).await?;
                self.engine.release_savepoint(MARK)?;
            }
            (Ok(()), false) => self.engine.release_savepoint(MARK)?,
            _ => {}
        }
        self.engine.end_writing();
        applied.map(|()| Done::default())
    }

    /// Takes half of the text out of a user variable.
    fn fragment(&self, name: &str) -> Result<Vec<u8>, SqlError> {
        let mut vars = self.user_vars.lock();
        let text = match vars.get(name).map(|v| &v.value) {
            Some(Val::Bytes(text)) => text.to_vec(),
            _ => {
                return Err(SqlError::new(
                    codes::ER_WRONG_TYPE_FOR_VAR,
                    format!("Incorrect argument type to variable '{name}'"),
                ));
            }
        };
        let none = UserVar {
            value: Val::Null,
            ty: ExprType::null(),
        };
        vars.set(name, none);
        Ok(text)
    }

    fn lend(&mut self) -> (Kept, Option<i64>) {
        let mut kept = Kept::default();
        for name in LENT {
            if let Some(id) = lookup(name) {
                self.vars.keep(id, &mut kept);
            }
        }
        (kept, self.fixed_timestamp)
    }

    fn take_back(&mut self, (kept, timestamp): (Kept, Option<i64>)) {
        self.settings += 1;
        self.vars.put_back(kept);
        self.fixed_timestamp = timestamp;
        self.obey_variables();
    }
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn parts_are_padded_by_themselves() {
        for (text, bytes) in [
            ("", &b""[..]),
            ("YQ==\nYmM=\n\nZGVm\n", b"abcdef"),
            (" YQ== ", b"a"),
            ("YWJj", b"abc"),
        ] {
            assert_eq!(decode(text.as_bytes()).as_deref(), Some(bytes), "{text:?}");
        }
        for wrong in [
            "=", "YQ=", "YQ===", "YQ==Y", "Y", "Y!==", "====", "YQ=\n=Yg",
        ] {
            assert_eq!(decode(wrong.as_bytes()), None, "{wrong:?}");
        }
    }
}
