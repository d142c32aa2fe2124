//! The queries, out of go-tpc's source.
//!
//! The module is the pinned one of `crates/lab/go-tpc`; Go fetches it and checks its sum. The text of its MySQL queries stands there as
//! constants of Go, and the view of the fifteenth query in the program that runs them: here it is a common table expression.

use crate::beside::Question;
use harness::step::{self, Outcome};
use harness::workspace;
use std::path::{Path, PathBuf};
use std::process::Command;

const MODULE: &str = "github.com/pingcap/go-tpc";
/// How many there are.
const QUERIES: usize = 22;
/// What the fifteenth selects from.
const VIEW: &str = "revenue0";

/// All of them, in order.
pub(super) fn all() -> Outcome<Vec<Question>> {
    let dir = source()?;
    let read = |file: &str| {
        let path = dir.join(file);
        std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))
    };
    parsed(&read("tpch/query.go")?, &read("cmd/go-tpc/misc.go")?)
}

/// Where Go keeps the module's source.
fn source() -> Outcome<PathBuf> {
    if !step::on_path("go") && !Path::new("/usr/local/go/bin/go").is_file() {
        return Err(
            "TPC-H's queries are go-tpc's, which Go 1.21 or later fetches (apt-get install golang-go)"
                .to_owned(),
        );
    }
    let said = step::must(
        Command::new("go")
            .current_dir(workspace::root().join("crates/lab/go-tpc"))
            .args(["mod", "download", "-json", MODULE]),
    )?;
    // Progress may stand in front of the document.
    let json = said.find('{').map_or("", |at| &said[at..]);
    let module: serde_json::Value =
        serde_json::from_str(json).map_err(|e| format!("go mod download: {e}\n{said}"))?;
    match module["Dir"].as_str() {
        Some(dir) => Ok(PathBuf::from(dir)),
        None => Err(format!("go mod download: {said}")),
    }
}

fn parsed(queries: &str, program: &str) -> Outcome<Vec<Question>> {
    let mut out = Vec::new();
    for n in 1..=QUERIES {
        let name = format!("q{n}");
        let sql = constant(queries, &name).ok_or_else(|| format!("go-tpc has no {name}"))?;
        let mut sql = sql
            .replace("/*PLACEHOLDER*/", "")
            .trim()
            .trim_end_matches(';')
            .to_owned();
        if sql.contains(VIEW) {
            let view = view(program).ok_or_else(|| format!("go-tpc makes no view {VIEW}"))?;
            sql = format!("with {view}\n{sql}");
        }
        out.push(Question { name, sql });
    }
    Ok(out)
}

/// The string that a constant of Go is: between backquotes behind its name.
fn constant<'a>(source: &'a str, name: &str) -> Option<&'a str> {
    let start = format!("\t{name} = `");
    let text = &source[source.find(&start)? + start.len()..];
    Some(&text[..text.find('`')?])
}

/// `NAME (columns) as (select)` of the view.
fn view(program: &str) -> Option<String> {
    let text = &program[program.find(&format!("view {VIEW}"))? + "view ".len()..];
    let text = &text[..text.find('`')?];
    let (head, select) = text.split_once(" as")?;
    let select = select.trim().trim_end_matches(';');
    Some(format!("{head} as (\n{select}\n)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_and_the_view_are_found() {
        let mut source = String::from("package tpch\n\nconst (\n");
        for n in 1..=QUERIES {
            let table = if n == 15 { VIEW } else { "t" };
            source.push_str(&format!(
                "\tq{n} = `\n/*PLACEHOLDER*/ select {n} from {table};\n`\n"
            ));
        }
        let program =
            "w.Exec(`create or replace view revenue0 (a, b) as\n\tselect c, d\n\tfrom l;`)";
        let all = parsed(&source, program).unwrap();
        assert_eq!(all.len(), QUERIES);
        assert_eq!(
            (all[0].name.as_str(), all[0].sql.as_str()),
            ("q1", "select 1 from t")
        );
        assert_eq!(
            all[14].sql,
            "with revenue0 (a, b) as (\nselect c, d\n\tfrom l\n)\nselect 15 from revenue0"
        );
        assert!(parsed("", program).is_err());
    }
}
