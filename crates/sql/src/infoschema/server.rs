//! What the server is made of and what it does: character sets, collations, engines, plugins, processes, metrics; and the
//! variables and status of `performance_schema`.

use types::{Charset, CollationId, Value};

use super::spec::{Spec, View, int, name, text, text_or_null, uint};
use crate::describe::server::{ENGINES, PLUGINS};
use sql_expr::vars::ReadScope;

fn character_sets(_: &View<'_>) -> Vec<Vec<Value>> {
    let mut all = Charset::ALL;
    all.sort_by_key(|c| c.name());
    all.into_iter()
        .map(|c| {
            vec![
                text(c.name()),
                text(CollationId::default_of(c).name()),
                text(c.description()),
                uint(c.max_len() as u64),
            ]
        })
        .collect()
}

fn collations(_: &View<'_>) -> Vec<Vec<Value>> {
    types::collation::COLLATIONS
        .iter()
        .map(|c| {
            vec![
                text(c.name),
                text(c.charset.name()),
                uint(u64::from(c.id)),
                text(if c.is_default { "Yes" } else { "" }),
                text("Yes"),
                uint(u64::from(c.pad_space)),
                text(if c.pad_space { "PAD SPACE" } else { "NO PAD" }),
            ]
        })
        .collect()
}

fn applicability(_: &View<'_>) -> Vec<Vec<Value>> {
    types::collation::COLLATIONS
        .iter()
        .map(|c| vec![text(c.name), text(c.charset.name())])
        .collect()
}

fn engines(_: &View<'_>) -> Vec<Vec<Value>> {
    ENGINES
        .iter()
        .map(|e| e.iter().map(|t| text(t)).collect())
        .collect()
}

fn plugins(_: &View<'_>) -> Vec<Vec<Value>> {
    PLUGINS
        .iter()
        .map(|[n, status, kind]| {
            vec![
                text(n),
                text("1.0"),
                text(status),
                text(kind),
                text("80041.0"),
                Value::Null,
                Value::Null,
                text("Tidemill"),
                text(""),
                text("MIT OR Apache-2.0"),
                text("ON"),
            ]
        })
        .collect()
}

fn processes(v: &View<'_>) -> Vec<Vec<Value>> {
    let all = v.sees_all_processes();
    let now = v.instance.now_us();
    let rows = v.instance.processes().rows(now);
    rows.into_iter()
        .filter(|p| all || p.is_of(&v.security().account().user) || p.id == v.connection)
        .map(|p| {
            let info = p
                .info
                .as_deref()
                .map(|i| String::from_utf8_lossy(i).into_owned());
            vec![
                uint(p.id),
                text(&p.user),
                text(&p.host),
                p.db.as_deref().map_or(Value::Null, name),
                text(p.command.as_str()),
                int(p.seconds as i64),
                text(&p.state),
                text_or_null(info.as_deref()),
            ]
        })
        .collect()
}

/// Counters of SHOW STATUS as metrics.
fn metrics(v: &View<'_>) -> Vec<Vec<Value>> {
    v.instance
        .status()
        .rows(None)
        .into_iter()
        .filter_map(|(n, value)| {
            let short = n.strip_prefix("Innodb_")?;
            let count: i64 = value.parse().ok()?;
            let mut row = vec![text(short), text("server"), int(count)];
            row.extend(std::iter::repeat_n(Value::Null, 3));
            row.push(int(count));
            row.extend(std::iter::repeat_n(Value::Null, 7));
            row.push(text("enabled"));
            row.push(text("status_counter"));
            row.push(text(short));
            Some(row)
        })
        .collect()
}

fn variable(n: &str, value: &str) -> Vec<Value> {
    vec![text(n), text(value)]
}

fn global_variables(v: &View<'_>) -> Vec<Vec<Value>> {
    v.ctx
        .cx
        .vars
        .rows(ReadScope::Global)
        .map(|(n, value)| variable(n, &value))
        .collect()
}

fn session_variables(v: &View<'_>) -> Vec<Vec<Value>> {
    v.ctx
        .cx
        .vars
        .rows(ReadScope::Session)
        .map(|(n, value)| variable(n, &value))
        .collect()
}

fn status(v: &View<'_>) -> Vec<Vec<Value>> {
    v.instance
        .status()
        .rows(None)
        .into_iter()
        .map(|(n, value)| variable(&n, &value))
        .collect()
}

fn persisted_variables(v: &View<'_>) -> Vec<Vec<Value>> {
    let kept = v.instance.persisted_values().into_iter();
    kept.map(|p| vec![text(&p.name), text(&p.value)]).collect()
}

/// The tables of `information_schema` in this file.
pub(super) const SPECS: &[Spec] = &[
    Spec {
        name: "CHARACTER_SETS",
        columns: "CHARACTER_SET_NAME v64, DEFAULT_COLLATE_NAME v64, DESCRIPTION v2048, MAXLEN u",
        rows: character_sets,
    },
    Spec {
        name: "COLLATIONS",
        columns: "COLLATION_NAME v64, CHARACTER_SET_NAME v64, ID U, IS_DEFAULT v3, IS_COMPILED v3, SORTLEN u, PAD_ATTRIBUTE v9",
        rows: collations,
    },
    Spec {
        name: "COLLATION_CHARACTER_SET_APPLICABILITY",
        columns: "COLLATION_NAME v64, CHARACTER_SET_NAME v64",
        rows: applicability,
    },
    Spec {
        name: "ENGINES",
        columns: "ENGINE v64, SUPPORT v8, COMMENT v80, TRANSACTIONS v3?, XA v3?, SAVEPOINTS v3?",
        rows: engines,
    },
    Spec {
        name: "PLUGINS",
        columns: "PLUGIN_NAME v64, PLUGIN_VERSION v20, PLUGIN_STATUS v10, PLUGIN_TYPE v80, PLUGIN_TYPE_VERSION v20, \
            PLUGIN_LIBRARY v64?, PLUGIN_LIBRARY_VERSION v20?, PLUGIN_AUTHOR v64?, PLUGIN_DESCRIPTION x?, \
            PLUGIN_LICENSE v80?, LOAD_OPTION v64",
        rows: plugins,
    },
    Spec {
        name: "PROCESSLIST",
        columns: "ID U, USER v32, HOST v261, DB n64?, COMMAND v16, TIME i, STATE v64?, INFO x?",
        rows: processes,
    },
    Spec {
        name: "INNODB_METRICS",
        columns: "NAME v193, SUBSYSTEM v193, COUNT I, MAX_COUNT I?, MIN_COUNT I?, AVG_COUNT f?, COUNT_RESET I, \
            MAX_COUNT_RESET I?, MIN_COUNT_RESET I?, AVG_COUNT_RESET f?, TIME_ENABLED t?, TIME_DISABLED t?, \
            TIME_ELAPSED I?, TIME_RESET t?, STATUS v193, TYPE v193, COMMENT v193",
        rows: metrics,
    },
];

/// The tables of `performance_schema` in this file.
pub(super) const PERFORMANCE_SPECS: &[Spec] = &[
    Spec {
        name: "global_variables",
        columns: "VARIABLE_NAME v64, VARIABLE_VALUE v1024?",
        rows: global_variables,
    },
    Spec {
        name: "session_variables",
        columns: "VARIABLE_NAME v64, VARIABLE_VALUE v1024?",
        rows: session_variables,
    },
    Spec {
        name: "persisted_variables",
        columns: "VARIABLE_NAME v64, VARIABLE_VALUE v1024?",
        rows: persisted_variables,
    },
    Spec {
        name: "global_status",
        columns: "VARIABLE_NAME v64, VARIABLE_VALUE v1024?",
        rows: status,
    },
    Spec {
        name: "session_status",
        columns: "VARIABLE_NAME v64, VARIABLE_VALUE v1024?",
        rows: status,
    },
    Spec {
        name: "processlist",
        columns: "ID U, USER v32, HOST v261, DB n64?, COMMAND v16, TIME i, STATE v64?, INFO x?",
        rows: processes,
    },
];
