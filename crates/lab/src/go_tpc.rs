//! `go-tpc`, of the version that `crates/lab/go-tpc/go.mod` names: its program, and the queries in its source.
//!
//! Go fetches the module and checks its sum; nothing of it is in this repository.

use harness::step::{self, Outcome};
use harness::workspace;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const MODULE: &str = "github.com/pingcap/go-tpc";
/// How many queries each of its sets has.
const QUERIES: usize = 22;

/// Where a set of queries stands in the source: the text of each is a constant of Go. What the fifteenth selects from is a view, which
/// another file makes; here it is a common table expression.
pub(crate) struct Queries {
    /// The file of the constants.
    pub(crate) file: &'static str,
    /// The name of the view.
    pub(crate) view: &'static str,
    /// The file that makes it.
    pub(crate) view_file: &'static str,
}

/// The program, built once a run.
pub(crate) fn program() -> Outcome<PathBuf> {
    static BUILT: OnceLock<Outcome<PathBuf>> = OnceLock::new();
    BUILT.get_or_init(build).clone()
}

fn build() -> Outcome<PathBuf> {
    if !step::on_path("go") {
        return Err(
            "go-tpc is built with Go 1.21 or later (apt-get install golang-go, or newer from backports)"
                .to_owned(),
        );
    }
    let out = workspace::target_dir()?.join("xtask").join("go-tpc");
    step::visibly(
        Command::new("go")
            .current_dir(workspace::root().join("crates/lab/go-tpc"))
            .arg("build")
            .arg("-o")
            .arg(&out)
            .arg(format!("{MODULE}/cmd/go-tpc")),
    )?;
    Ok(out)
}

impl Queries {
    /// All of them, in order: name and text.
    pub(crate) fn all(&self) -> Outcome<Vec<(String, String)>> {
        let dir = source()?;
        let read = |file: &str| {
            let path = dir.join(file);
            std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))
        };
        self.parsed(&read(self.file)?, &read(self.view_file)?)
    }

    fn parsed(&self, queries: &str, view_file: &str) -> Outcome<Vec<(String, String)>> {
        let name = self.view;
        let mut out = Vec::new();
        for n in 1..=QUERIES {
            let query = format!("q{n}");
            let sql = constant(queries, &query).ok_or_else(|| format!("go-tpc has no {query}"))?;
            let mut sql = sql
                .replace("/*PLACEHOLDER*/", "")
                .trim()
                .trim_end_matches(';')
                .to_owned();
            if sql.contains(name) {
                let view =
                    view(view_file, name).ok_or_else(|| format!("go-tpc makes no view {name}"))?;
                sql = format!("with {view}\n{sql}");
            }
            out.push((query, sql));
        }
        Ok(out)
    }
}

/// Where Go keeps the module's source.
fn source() -> Outcome<PathBuf> {
    if !step::on_path("go") && !Path::new("/usr/local/go/bin/go").is_file() {
        return Err(
            "these queries are go-tpc's, which Go 1.21 or later fetches (apt-get install golang-go)"
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

/// The string that a constant of Go is: between backquotes behind its name.
fn constant<'a>(source: &'a str, name: &str) -> Option<&'a str> {
    let start = format!("\t{name} = `");
    let text = &source[source.find(&start)? + start.len()..];
    Some(&text[..text.find('`')?])
}

/// `NAME (columns) as (select)` of the view, whose select may stand in parentheses.
fn view(program: &str, name: &str) -> Option<String> {
    let text = &program[program.find(&format!("view {name} ("))? + "view ".len()..];
    let text = &text[..text.find('`')?];
    let (head, select) = text.split_once(" as")?;
    let select = select.trim().trim_end_matches(';');
    let bare = select.strip_prefix('(').and_then(|s| s.strip_suffix(')'));
    let select = bare.unwrap_or(select).trim();
    Some(format!("{head} as (\n{select}\n)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SET: Queries = Queries {
        file: "",
        view: "revenue0",
        view_file: "",
    };

    #[test]
    fn constants_and_the_view_are_found() {
        let mut source = String::from("package tpch\n\nconst (\n");
        for n in 1..=QUERIES {
            let table = if n == 15 { SET.view } else { "t" };
            source.push_str(&format!(
                "\tq{n} = `\n/*PLACEHOLDER*/ select {n} from {table};\n`\n"
            ));
        }
        for program in [
            "w.Exec(`create or replace view revenue0 (a, b) as\n\tselect c, d\n\tfrom l;`)",
            "Println(\"creating view revenue0\")\nExec(`\ncreate view revenue0 (a, b) as (\n\tselect c, d\n\tfrom l);\n`)",
        ] {
            let all = SET.parsed(&source, program).unwrap();
            assert_eq!(all.len(), QUERIES);
            assert_eq!(
                (all[0].0.as_str(), all[0].1.as_str()),
                ("q1", "select 1 from t")
            );
            assert_eq!(
                all[14].1,
                "with revenue0 (a, b) as (\nselect c, d\n\tfrom l\n)\nselect 15 from revenue0"
            );
        }
        assert!(SET.parsed("", "").is_err());
        assert!(SET.parsed(&source, "").is_err());
    }
}
