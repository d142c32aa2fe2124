//! SHOW VARIABLES, STATUS, WARNINGS, ERRORS, PROCESSLIST.

use types::{DataType, SqlError, Value};

use crate::command::scalar;
use crate::context::transport::TransportStatus;
use crate::context::{Process, Session, session_counts};
use crate::describe::rowset::{RowSet, text, text_or_null};
use sql_expr::vars::{ReadScope, StatusSource, StatusValue};
use sql_parser::ast::{Limit, VarScope};

fn pairs() -> RowSet {
    RowSet::texts(&["Variable_name", "Value"], &[64, 1024])
}

/// SHOW [GLOBAL | SESSION] VARIABLES.
pub(super) fn variables(s: &mut Session, scope: VarScope) -> Result<RowSet, SqlError> {
    let mut r = pairs();
    for (name, value) in s.variable_rows(scope == VarScope::Global) {
        r.push_texts(&[name, &value]);
    }
    Ok(r)
}

/// Reports a session's own counters.
struct Own<'a>(&'a Process, TransportStatus<'a>);

impl StatusSource for Own<'_> {
    fn report(&self, out: &mut dyn FnMut(&str, StatusValue)) {
        session_counts(&self.0.counts, &mut |n, v| out(n, StatusValue::Count(v)));
        self.1.report(out);
    }
}

/// SHOW [GLOBAL | SESSION] STATUS.
pub(super) fn status(s: &mut Session, scope: VarScope) -> Result<RowSet, SqlError> {
    let mut r = pairs();
    for (name, value) in s.status_rows(scope == VarScope::Global) {
        r.push_texts(&[&name, &value]);
    }
    Ok(r)
}

impl Session {
    /// The rows of SHOW VARIABLES.
    pub(crate) fn variable_rows(&self, global: bool) -> Vec<(&'static str, String)> {
        let scope = if global {
            ReadScope::Global
        } else {
            ReadScope::Session
        };
        self.vars
            .rows(scope)
            .map(|(name, value)| match name {
                "timestamp" => (name, format!("{:.6}", self.now_micros() as f64 / 1e6)),
                "last_insert_id" | "identity" => (name, self.facts.last_insert_id.to_string()),
                "warning_count" => (name, self.diagnostics.total().to_string()),
                "error_count" => (name, self.diagnostics.errors().to_string()),
                "pseudo_thread_id" => (name, self.facts.thread().to_string()),
                _ => (name, value),
            })
            .collect()
    }

    /// The rows of SHOW STATUS.
    pub(crate) fn status_rows(&self, global: bool) -> Vec<(String, String)> {
        // The connection's TLS and compression are shown as the server's too, as MySQL does.
        let transport = TransportStatus(self.transport.as_deref(), self.compression);
        if global {
            return self.instance.status.rows(Some(&transport));
        }
        let own = Own(&self.process, transport);
        self.instance.status.rows(Some(&own))
    }
}

/// SHOW WARNINGS (`errors` false) and SHOW ERRORS.
pub(super) fn warnings(
    s: &mut Session,
    limit: Option<&Limit>,
    errors: bool,
) -> Result<RowSet, SqlError> {
    let (skip, take) = match limit {
        None => (0, u64::MAX),
        Some(l) => s.with_ctx(Session::NO_PARAMS, |cx| {
            let skip = match &l.offset {
                Some(o) => scalar::unsigned(o, cx)?,
                None => 0,
            };
            Ok((skip, scalar::unsigned(&l.count, cx)?))
        })?,
    };
    let words = |n| DataType::varchar(n, types::CollationId::UTF8MB3_GENERAL_CI);
    let code = DataType::Int {
        width: types::IntWidth::Int,
        unsigned: true,
        zerofill: false,
        display: 4,
    };
    let mut r = RowSet::texts(&[], &[]);
    r.add_column("Level", words(7), false);
    r.add_computed("Code", code, false);
    r.add_column("Message", words(512), false);
    let all = s.diagnostics.list().iter();
    let wanted = all.filter(|w| !errors || w.level == types::Level::Error);
    for w in wanted
        .skip(usize::try_from(skip).unwrap_or(usize::MAX))
        .take(usize::try_from(take).unwrap_or(usize::MAX))
    {
        r.rows.push(vec![
            text(w.level.as_str()),
            Value::UInt(u64::from(w.code)),
            text(&w.message),
        ]);
    }
    Ok(r)
}

/// SHOW COUNT(*) WARNINGS and ERRORS.
pub(super) fn count(s: &mut Session, name: &str) -> RowSet {
    let n = match name {
        "error_count" => s.diagnostics.errors(),
        _ => s.diagnostics.total(),
    };
    let mut r = RowSet::new();
    r.add_column(&format!("@@session.{name}"), DataType::UBIGINT, false);
    r.push(vec![Value::UInt(n)]);
    r
}

/// SHOW [FULL] PROCESSLIST.
pub(super) fn processes(s: &mut Session, full: bool) -> RowSet {
    let mut r = RowSet::new();
    r.add_column("Id", DataType::UBIGINT, false);
    r.add_text("User", 32);
    r.add_text("Host", 261);
    r.add_text("db", 64);
    r.add_text("Command", 16);
    r.add_column("Time", DataType::INT, false);
    r.add_text("State", 64);
    r.add_text("Info", 1 << 16);
    let now = s.instance.clock.now_us();
    let all = s.sees_all_processes();
    for p in s.instance.processes.rows(now) {
        if !all && !p.is_of(&s.security().account().user) {
            continue;
        }
        let info = p.info.as_deref().map(|i| {
            let cut = if full { i.len() } else { i.len().min(100) };
            String::from_utf8_lossy(&i[..cut]).into_owned()
        });
        r.rows.push(vec![
            Value::UInt(p.id),
            text(&p.user),
            text(&p.host),
            text_or_null(p.db.as_deref()),
            text(p.command.as_str()),
            Value::Int(p.seconds as i64),
            text(&p.state),
            text_or_null(info.as_deref()),
        ]);
    }
    r
}
