//! `cargo xtask clients`: the drivers, ORMs, migration tools and schemas that applications bring, beside MariaDB.
//!
//! Each line of the table is a program of `tests/clients`, which does what an application does on its first day, or the schema of a program that Debian has
//! packed. It is run against a server of ours and against MariaDB, and passes or fails as a whole. A line that fails here has the feature that it waits for beside it
//! in the table; one that fails without, or that passes though it waits for something, is an error. Nothing here may know how the server works inside.
//!
//! What the programs need is installed into a cache outside of the tree (`TIDEMILL_CLIENTS`, else `~/.cache/tidemill-clients`), in the versions that the
//! manifests beside the programs name, and through apt.

mod end;
mod kit;
mod line;
mod schema;
mod stage;

use end::End;
use harness::step::{self, Outcome};
use line::{LINES, Line, What};
use schema::{SCHEMAS, Schema};
use stage::Stage;

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Print the names of all lines, and what each waits for.
    #[arg(long)]
    list: bool,
    /// Only lines whose names contain one of these.
    #[arg(long)]
    only: Vec<String>,
    /// Only the schemas.
    #[arg(long)]
    schemas: bool,
    /// The share of `cargo xtask test`.
    #[arg(long)]
    short: bool,
}

/// What is wrong with a line that ended so, if anything is.
fn complaint(ours: &End, waits: &str) -> Option<&'static str> {
    match ours {
        End::Passed if !waits.is_empty() => Some("passes, and the table says that it waits"),
        End::Failed(_) if waits.is_empty() => Some("fails, and the table names no reason"),
        End::Passed | End::Failed(_) | End::Skipped(_) => None,
    }
}

/// The line of a schema.
fn line_of(schema: &'static Schema) -> Line {
    Line {
        name: schema.name(),
        what: What::Schema(schema),
        // Everything else of it must be there.
        waits: "",
        short: false,
    }
}

/// The command.
pub fn command(options: &Options) -> Outcome<()> {
    let wanted = |name: &str| {
        options.only.is_empty() || options.only.iter().any(|o| name.contains(o.as_str()))
    };
    let lines = LINES
        .iter()
        .filter(|l| wanted(l.name) && !options.schemas && (l.short || !options.short));
    let schemas = SCHEMAS.iter().map(line_of);
    let schemas = schemas.filter(|l| wanted(l.name) && !options.short);
    let lines: Vec<Line> = lines.cloned().chain(schemas).collect();
    if options.list {
        for line in &lines {
            println!("    {:<38}{}", line.name, line.what.waits(line.waits));
        }
        return Ok(());
    }
    match lines.is_empty() {
        true => Err("no line has such a name".to_owned()),
        false => run(&lines, options.short),
    }
}

/// The share of CI.
pub fn short() -> Outcome<()> {
    command(&Options {
        list: false,
        only: Vec::new(),
        schemas: false,
        short: true,
    })
}

fn run(lines: &[Line], short: bool) -> Outcome<()> {
    step::announce("clients, beside MariaDB");
    let mut kits: Vec<_> = lines.iter().filter_map(|l| l.what.kit()).collect();
    kits.sort_unstable();
    kits.dedup();
    let missing: Vec<_> = kits
        .into_iter()
        .filter_map(|k| k.install().err().map(|why| (k, why)))
        .collect();
    let stage = Stage::start()?;
    let mut complaints = Vec::new();
    println!("\n| client | Tidemill | MariaDB | waits for |\n|---|---|---|---|");
    for line in lines {
        let absent = missing.iter().find(|(k, _)| line.what.kit() == Some(*k));
        let (ours, theirs) = match absent {
            // A machine without a network keeps its other tests.
            Some((_, why)) if short => (End::Skipped(why.clone()), End::Skipped(String::new())),
            Some((_, why)) => return stage.end(Err(why.clone())),
            None => both(&stage, line)?,
        };
        let waits = line.what.waits(line.waits);
        println!("| {} | {ours} | {theirs} | {waits} |", line.name);
        if let Some(why) = complaint(&ours, line.waits) {
            complaints.push(format!("{} {why}", line.name));
        }
    }
    let result = match complaints.is_empty() {
        true => Ok(()),
        false => Err(complaints.join("; ")),
    };
    stage.end(result)
}

/// A line on both servers.
fn both(stage: &Stage, line: &Line) -> Outcome<(End, End)> {
    match line.what {
        What::Schema(schema) => schema.compared(stage),
        What::Program { kit, args } => {
            let ours = stage.program(stage.ours(), line.name, kit, args)?;
            let theirs = match stage.theirs() {
                Some(theirs) => stage.program(theirs, line.name, kit, args)?,
                None => End::Skipped("MariaDB is not installed".to_owned()),
            };
            Ok((ours, theirs))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_used_once() {
        let schemas = SCHEMAS.iter().map(|s| line_of(s).name);
        let mut names: Vec<&str> = LINES.iter().map(|l| l.name).chain(schemas).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn a_reason_must_be_named_and_must_hold() {
        let failed = End::Failed("x".to_owned());
        assert!(complaint(&failed, "").is_some());
        assert!(complaint(&failed, "views").is_none());
        assert!(complaint(&End::Passed, "views").is_some());
        assert!(complaint(&End::Passed, "").is_none());
    }

    #[test]
    fn every_program_is_there() {
        for line in LINES {
            if let What::Program { kit, args } = line.what {
                let file = kit.source(args);
                assert!(file.is_file(), "{}: {}", line.name, file.display());
            }
        }
    }
}
