//! Threads, where variables have their values from, and the server's log: `threads`, `variables_info` and `error_log` of `performance_schema`.
//!
//! Nothing is measured for them: what there is no figure for is NULL, or 0 where MySQL's column has no NULL.

use sql_expr::vars::{self, VarDef, VarKind, VarOrigin};
use types::Value;
use types::temporal::Zone;

use super::spec::{Spec, View, int, name, text, text_or_null, uint};
use crate::context::ProcessRow;

/// Numbers of threads that are in no list of connections begin behind those that are.
const BEHIND_CONNECTIONS: u64 = 1 << 40;

/// Threads of the process that are rows by themselves: those of a replica.
const LISTED: [&str; 3] = ["replica-receive", "replica-applier", "replica-worker-"];

/// A moment with its fractions.
fn exactly(us: i64, zone: Zone) -> Value {
    zone.local(us).map_or(Value::Null, Value::DateTime)
}

/// The columns behind PROCESSLIST_INFO.
fn rest(row: &mut Vec<Value>, role: Option<&str>, os_id: Option<u64>) {
    row.extend([
        Value::Null,
        text_or_null(role),
        text("NO"),
        text("NO"),
        Value::Null,
        os_id.map_or(Value::Null, uint),
        Value::Null,
        text("PRIMARY"),
    ]);
    row.extend(std::iter::repeat_n(uint(0), 4));
    row.push(text("NO"));
}

fn of_connection(p: &ProcessRow) -> Vec<Value> {
    let info = p.info.as_deref().map(String::from_utf8_lossy);
    // Without the client's port.
    let host = p.host.rsplit_once(':').map_or(&*p.host, |(host, _)| host);
    let mut row = vec![
        uint(p.id),
        text(p.own.unwrap_or("thread/sql/one_connection")),
        text("FOREGROUND"),
        uint(p.id),
        text(&p.user),
        text(host),
        p.db.as_deref().map_or(Value::Null, name),
        text(p.command.as_str()),
        int(p.seconds as i64),
        match &*p.state {
            "" => Value::Null,
            state => text(state),
        },
        text_or_null(info.as_deref()),
    ];
    rest(&mut row, None, None);
    row
}

fn threads(v: &View<'_>) -> Vec<Vec<Value>> {
    let connections = v.instance.processes().rows(v.instance.now_us());
    let mut all: Vec<_> = connections.iter().map(of_connection).collect();
    let of_process = v.instance.host().map(|h| h.threads()).unwrap_or_default();
    for t in of_process {
        if LISTED.contains(&&*t.name) {
            continue;
        }
        let mut row = vec![
            uint(BEHIND_CONNECTIONS + t.os_id),
            text(&format!("thread/tidemill/{}", t.name)),
            text("BACKGROUND"),
        ];
        row.extend(std::iter::repeat_n(Value::Null, 8));
        rest(&mut row, None, Some(t.os_id));
        all.push(row);
    }
    all
}

/// The smallest and the largest value of a number; MySQL has 0 for all else.
fn limits(def: &VarDef) -> (String, String) {
    match def.kind {
        VarKind::Int { min, max } => (min.to_string(), max.to_string()),
        VarKind::Uint { min, max, .. } => (min.to_string(), max.to_string()),
        VarKind::Double { min, max } => (min.to_string(), max.to_string()),
        _ => ("0".to_owned(), "0".to_owned()),
    }
}

fn variables_info(v: &View<'_>) -> Vec<Vec<Value>> {
    let globals = v.ctx.cx.vars.globals();
    let zone = v.zone();
    let shown = vars::all().filter(|(def, _)| !def.hidden);
    shown
        .map(|(def, id)| {
            let origin = globals.origin(id);
            let (source, path) = match &origin {
                None => ("COMPILED", ""),
                Some(VarOrigin::CommandLine) => ("COMMAND_LINE", ""),
                Some(VarOrigin::File(path)) => ("EXPLICIT", &**path),
                Some(VarOrigin::Persisted(path)) => ("PERSISTED", &**path),
                Some(VarOrigin::Set { .. }) => ("DYNAMIC", ""),
            };
            let by = match &origin {
                Some(VarOrigin::Set { at_us, user, host }) => {
                    [exactly(*at_us, zone), text(user), text(host)]
                }
                _ => [Value::Null, Value::Null, Value::Null],
            };
            let (min, max) = limits(def);
            let mut row = vec![
                text(def.name),
                text(source),
                text(path),
                text(&min),
                text(&max),
            ];
            row.extend(by);
            row
        })
        .collect()
}

fn error_log(v: &View<'_>) -> Vec<Vec<Value>> {
    let zone = v.zone();
    let lines = v.instance.host().map(|h| h.log_lines()).unwrap_or_default();
    lines
        .iter()
        .map(|line| {
            vec![
                exactly(line.at_us, zone),
                uint(0),
                text(line.priority.as_str()),
                Value::Null,
                text("Server"),
                text(&line.text),
            ]
        })
        .collect()
}

/// The tables of `performance_schema` in this file.
pub(super) const SPECS: &[Spec] = &[
    Spec {
        name: "threads",
        columns: "THREAD_ID U, NAME v128, TYPE v10, PROCESSLIST_ID U?, PROCESSLIST_USER v32?, PROCESSLIST_HOST v255?, \
            PROCESSLIST_DB n64?, PROCESSLIST_COMMAND v16?, PROCESSLIST_TIME I?, PROCESSLIST_STATE v64?, PROCESSLIST_INFO x?, \
            PARENT_THREAD_ID U?, ROLE v64?, INSTRUMENTED v3, HISTORY v3, CONNECTION_TYPE v16?, THREAD_OS_ID U?, \
            RESOURCE_GROUP v64?, EXECUTION_ENGINE v9?, CONTROLLED_MEMORY U, MAX_CONTROLLED_MEMORY U, TOTAL_MEMORY U, \
            MAX_TOTAL_MEMORY U, TELEMETRY_ACTIVE v3",
        rows: threads,
    },
    Spec {
        name: "variables_info",
        columns: "VARIABLE_NAME v64, VARIABLE_SOURCE v12?, VARIABLE_PATH v1024?, MIN_VALUE v64?, MAX_VALUE v64?, SET_TIME t6?, \
            SET_USER v32?, SET_HOST v255?",
        rows: variables_info,
    },
    Spec {
        name: "error_log",
        columns: "LOGGED t6, THREAD_ID U?, PRIO v7, ERROR_CODE v10?, SUBSYSTEM v7?, DATA x",
        rows: error_log,
    },
];
