//! Expressions against the values MySQL gives, from the files in `testdata`: a line is `expression => value`, or
//! `expression => ERROR number`; `;; numbers` behind a value are the warnings, `@ name = value` sets a variable.

mod columns;
mod edge_values;
mod limits;
mod quantified;

use base::lock::Mutex;
use std::sync::Arc;

use super::bind::{Binder, Clause, NoColumns};
use super::*;
use crate::vars::{GlobalVars, SessionVars, SqlMode, VarInput};
use sql_parser::{self, ast};

/// 2024-02-29 13:14:15.123456 UTC.
const NOW: i64 = 1_709_212_455_123_456;

pub(super) struct Bench {
    pub(super) facts: SessionFacts,
    pub(super) vars: SessionVars,
    pub(super) user: Mutex<UserVars>,
}

impl Bench {
    pub(super) fn new() -> Bench {
        Bench {
            facts: SessionFacts {
                connection_id: 7,
                user: "root@localhost".to_owned(),
                current_user: "root@%".to_owned(),
                database: Some("test".to_owned()),
                last_insert_id: 42,
                ..SessionFacts::default()
            },
            vars: SessionVars::new(&Arc::new(GlobalVars::new())),
            user: Mutex::new(UserVars::new()),
        }
    }

    pub(super) fn cx<'a>(&'a self, params: &'a [types::Value]) -> EvalCtx<'a> {
        EvalCtx::new(&self.facts, &self.vars, &self.user, params, NOW)
    }
}

/// The one expression of `SELECT text`.
pub(super) fn parse(text: &str, vars: &SessionVars) -> Result<ast::Expr, String> {
    let sql = format!("SELECT {text}");
    let mode = vars.hot().sql_mode;
    let options = sql_parser::Options {
        ansi_quotes: mode.has(SqlMode::ANSI_QUOTES),
        pipes_as_concat: mode.has(SqlMode::PIPES_AS_CONCAT),
        no_backslash_escapes: mode.has(SqlMode::NO_BACKSLASH_ESCAPES),
        placeholders: true,
        ..sql_parser::Options::default()
    };
    let (statement, _) =
        sql_parser::parse_one(sql.as_bytes(), &options).map_err(|e| e.to_string())?;
    let ast::Statement::Query(q) = statement else {
        return Err("no query".to_owned());
    };
    let ast::QueryBody::Select(s) = q.body else {
        return Err("no select".to_owned());
    };
    match s.items.into_iter().next() {
        Some(ast::SelectItem::Expr { expr, .. }) => Ok(expr),
        _ => Err("no expression".to_owned()),
    }
}

/// How an expression without columns is evaluated.
type Evaluate = for<'a> fn(&'a Expr, &'a EvalCtx<'_>) -> Result<Val<'a>, types::SqlError>;

fn by_row<'a>(e: &'a Expr, cx: &'a EvalCtx<'_>) -> Result<Val<'a>, types::SqlError> {
    e.eval(cx, &NoRow)
}

/// The one live row of a batch of three.
fn by_batch<'a>(e: &'a Expr, cx: &'a EvalCtx<'_>) -> Result<Val<'a>, types::SqlError> {
    let mut rows = batch::Batch::new(&Arc::default(), Vec::new(), 3);
    rows.select(vec![1]);
    let values = batch::eval_batch(e, cx, &rows, &NoRow, &mut batch::Scratch::new())?;
    Ok(values.val(1).into_owned())
}

fn run(text: &str, bench: &Bench, evaluate: Evaluate) -> String {
    let tree = match parse(text, &bench.vars) {
        Ok(t) => t,
        Err(e) => return format!("PARSE {e}"),
    };
    let cx = bench.cx(&[]);
    let mut scope = NoColumns;
    let bound = Binder::new(&cx, &mut scope, Clause::FieldList).bind(&tree);
    let e = match bound {
        Ok(e) => e,
        Err(e) => return format!("ERROR {}: {}", e.code, e.message),
    };
    match evaluate(&e, &cx) {
        Err(e) => format!("ERROR {}: {}", e.code, e.message),
        Ok(Val::Null) => format!("NULL{}", warnings(&cx)),
        Ok(v) => {
            let t = String::from_utf8_lossy(&value_text(&v, &e.ty)).into_owned();
            format!("{t}{}", warnings(&cx))
        }
    }
}

fn warnings(cx: &EvalCtx<'_>) -> String {
    let (list, _) = cx.take_warnings();
    if list.is_empty() {
        return String::new();
    }
    let codes: Vec<String> = list.iter().map(|w| w.code.to_string()).collect();
    format!(" ;; {}", codes.join(" "))
}

fn file(name: &str, content: &str, evaluate: Evaluate) {
    let mut bench = Bench::new();
    let mut wrong = Vec::new();
    for (n, line) in content.lines().enumerate() {
        let line = line.trim_end();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(set) = line.strip_prefix("@ ") {
            let (k, v) = set.split_once(" = ").unwrap();
            let input = match v.parse::<i64>() {
                Ok(i) => VarInput::Int(i),
                Err(_) => VarInput::Text(v.to_owned()),
            };
            bench.vars.set(k, &input).unwrap();
            continue;
        }
        let (text, wanted) = line
            .split_once(" => ")
            .or_else(|| line.strip_suffix(" =>").map(|t| (t, "")))
            .unwrap_or_else(|| panic!("{name}:{}: {line}", n + 1));
        let got = run(text, &bench, evaluate);
        let matches = if wanted.starts_with("ERROR ") {
            got.starts_with(wanted)
        } else {
            got == wanted
        };
        if !matches {
            wrong.push(format!(
                "{name}:{}: {text}\n   wanted {wanted}\n   got    {got}",
                n + 1
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

macro_rules! files {
    ($($name:ident)*) => { $(
        #[test]
        fn $name() {
            let name = concat!(stringify!($name), ".txt");
            let content = include_str!(concat!("testdata/", stringify!($name), ".txt"));
            file(name, content, by_row);
            file(name, content, by_batch);
        }
    )* };
}

files! { operators strings numbers dates control info json binding }
