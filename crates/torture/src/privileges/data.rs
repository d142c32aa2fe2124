//! The text files under `tests/privileges`: grants, and statements with the rules that they must keep.
//!
//! Blocks begin with `[name]`. What a line means is told by its first word; the lines of a statement before the first such
//! word are its SQL. `tests/privileges/README.md` has the words.

use super::held::{Held, Level};
use super::rule::Rule;
use harness::server::Kind;
use harness::step::Outcome;
use harness::workspace;

/// One way of having privileges.
#[derive(Debug, Clone, Default)]
pub struct Grant {
    /// Its name.
    pub name: String,
    /// Only on this server.
    pub only: Option<Kind>,
    /// What root says to make it.
    pub run: Vec<String>,
    /// What the session itself says after its login.
    pub session: Vec<String>,
    /// What root says when the account is gone again.
    pub done: Vec<String>,
    /// What is in force then.
    pub held: Held,
    /// `run` was written by hand.
    by_hand: bool,
}

/// A rule with the errors of a refusal.
#[derive(Debug, Clone)]
pub struct Need {
    /// What must hold.
    pub rule: Rule,
    /// The errors; empty for those that follow from the rule.
    pub errors: Vec<u16>,
    /// No rows are as good as a refusal.
    pub or_empty: bool,
}

/// A row that is seen by some.
#[derive(Debug, Clone)]
pub struct Row {
    /// A cell of it.
    pub cell: String,
    /// Who must see it.
    pub rule: Rule,
    /// Who may see it besides.
    pub may: Option<Rule>,
}

/// One statement.
#[derive(Debug, Clone, Default)]
pub struct Statement {
    /// Its name.
    pub name: String,
    /// Its text.
    pub sql: String,
    /// What it needs.
    pub needs: Vec<Need>,
    /// Where one of these does not hold, both outcomes are right: MySQL's manual and program differ.
    pub may: Vec<Rule>,
    /// Rows that are looked for.
    pub rows: Vec<Row>,
    /// Errors that say that it was allowed.
    pub then: Vec<u16>,
    /// What root says after it succeeded.
    pub undo: Vec<String>,
    /// What the session says after it succeeded.
    pub after: Vec<String>,
    /// The protocols by name; empty for those of its kind.
    pub protocols: Vec<String>,
    /// Only on this server.
    pub only: Option<Kind>,
    /// Run only where it must be refused.
    pub refused_only: bool,
}

/// The text of a file of the tests.
pub fn text(name: &str) -> Outcome<String> {
    let path = workspace::root()
        .join("tests")
        .join("privileges")
        .join(name);
    std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))
}

/// The lines of a file that say something, with their numbers.
pub fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(at, line)| (at + 1, line.trim_end()))
        .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
}

fn heading(line: &str) -> Option<&str> {
    line.strip_prefix('[')?.strip_suffix(']')
}

/// Reads the grants.
pub fn grants(text: &str) -> Outcome<Vec<Grant>> {
    let mut all: Vec<Grant> = Vec::new();
    for (at, line) in lines(text) {
        if let Some(name) = heading(line) {
            all.push(Grant {
                name: name.to_owned(),
                ..Grant::default()
            });
            continue;
        }
        let grant = all
            .last_mut()
            .ok_or(format!("line {at}: before any [grant]"))?;
        grant_line(grant, line).map_err(|e| format!("grants, line {at}: {e}"))?;
    }
    Ok(all)
}

fn grant_line(grant: &mut Grant, line: &str) -> Outcome<()> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "only" => grant.only = Some(server(rest)?),
        "run" => {
            if !grant.by_hand {
                grant.run.clear();
                grant.by_hand = true;
            }
            grant.run.push(rest.to_owned());
        }
        "session" => grant.session.push(rest.to_owned()),
        "done" => grant.done.push(rest.to_owned()),
        "holds" => {
            let (privileges, level) = holds(rest)?;
            for privilege in &privileges {
                grant.held.grant(privilege, &level);
            }
            grant.generate(&static_grant(&privileges, &level, "$u"));
        }
        "dynamic" => {
            let name = rest.strip_suffix(" with grant option").unwrap_or(rest);
            let option = if name == rest {
                ""
            } else {
                " WITH GRANT OPTION"
            };
            grant.held.grant_dynamic(name, name != rest);
            grant.generate(&format!("GRANT {name} ON *.* TO $u{option}"));
        }
        "restrict" => {
            let (privilege, db) = rest.split_once(" on ").ok_or("restrict what, on what?")?;
            grant.held.restrict(privilege, db);
        }
        "role" => {
            let name = rest.strip_suffix(" with admin option").unwrap_or(rest);
            let option = if name == rest {
                ""
            } else {
                " WITH ADMIN OPTION"
            };
            grant.held.grant_role(name, name != rest);
            grant.generate(&format!("GRANT {name} TO $u{option}"));
        }
        "fact" => grant.held.note(rest),
        "exact" => grant.held.exact_names = true,
        _ => return Err(format!("'{word}' is no word of a grant")),
    }
    Ok(())
}

impl Grant {
    fn generate(&mut self, sql: &str) {
        if !self.by_hand {
            self.run.push(sql.to_owned());
        }
    }
}

/// Reads `SELECT, INSERT on m.t` and `SELECT (v) on m.t`.
pub fn holds(text: &str) -> Outcome<(Vec<String>, Level)> {
    let (what, object) = text.split_once(" on ").ok_or("no ' on ' in it")?;
    if let Some(object) = object.strip_prefix("procedure ") {
        let (db, name) = object.split_once('.').ok_or("no '.' in it")?;
        return Ok((words(what), Level::Routine(db.to_owned(), name.to_owned())));
    }
    let (db, table) = object.split_once('.').ok_or("no '.' in it")?;
    let (db_, table_) = (db.to_owned(), table.to_owned());
    if let Some((what, column)) = what.split_once(" (") {
        let column = column.trim_end_matches(')').to_owned();
        return Ok((words(what), Level::Column(db_, table_, column)));
    }
    let level = match (db, table) {
        ("*", _) => Level::Global,
        (_, "*") => Level::Database(db_),
        _ => Level::Table(db_, table_),
    };
    Ok((words(what), level))
}

fn words(text: &str) -> Vec<String> {
    text.split(',').map(|w| w.trim().to_owned()).collect()
}

/// `privileges` on `level`, as GRANT and REVOKE write it between their words.
pub fn written(privileges: &[String], level: &Level) -> String {
    let names = privileges.join(", ");
    match level {
        Level::Global => format!("{names} ON *.*"),
        Level::Database(db) => format!("{names} ON `{db}`.*"),
        Level::Table(db, table) => format!("{names} ON `{db}`.`{table}`"),
        Level::Column(db, table, column) => {
            let names: Vec<String> = privileges
                .iter()
                .map(|p| format!("{p} ({column})"))
                .collect();
            format!("{} ON `{db}`.`{table}`", names.join(", "))
        }
        Level::Routine(db, name) => format!("{names} ON PROCEDURE `{db}`.`{name}`"),
    }
}

fn static_grant(privileges: &[String], level: &Level, to: &str) -> String {
    format!("GRANT {} TO {to}", written(privileges, level))
}

fn server(text: &str) -> Outcome<Kind> {
    text.parse().map_err(|_| format!("'{text}' is no server"))
}

/// Reads the statements.
pub fn statements(text: &str) -> Outcome<Vec<Statement>> {
    let mut all: Vec<Statement> = Vec::new();
    for (at, line) in lines(text) {
        if let Some(name) = heading(line) {
            all.push(Statement {
                name: name.to_owned(),
                ..Statement::default()
            });
            continue;
        }
        let statement = all
            .last_mut()
            .ok_or(format!("line {at}: before any [statement]"))?;
        statement_line(statement, line).map_err(|e| format!("statements, line {at}: {e}"))?;
    }
    for statement in &all {
        if statement.sql.is_empty() || statement.needs.is_empty() {
            return Err(format!("[{}] has no text or no rule", statement.name));
        }
    }
    Ok(all)
}

fn statement_line(statement: &mut Statement, line: &str) -> Outcome<()> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "needs" => statement.needs.extend(need(rest)?),
        "may" => statement.may.push(Rule::parse(rest)?),
        "row" => {
            let (cell, rule) = rest.split_once(" if ").ok_or("a row for whom?")?;
            let (rule, may) = match rule.split_once(" may ") {
                Some((rule, may)) => (rule, Some(Rule::parse(may)?)),
                None => (rule, None),
            };
            statement.rows.push(Row {
                cell: cell.to_owned(),
                rule: Rule::parse(rule)?,
                may,
            });
        }
        "then" => statement.then.extend(codes(rest)?),
        "undo" => statement.undo.push(rest.to_owned()),
        "after" => statement.after.push(rest.to_owned()),
        "doors" => statement.protocols.extend(words(rest)),
        "only" => statement.only = Some(server(rest)?),
        "refused-only" => statement.refused_only = true,
        _ => {
            if !statement.sql.is_empty() {
                statement.sql.push(' ');
            }
            statement.sql.push_str(line.trim());
        }
    }
    Ok(())
}

/// Reads `RULE [else CODES] [or empty]`; each part of a conjunction is a need of its own.
fn need(text: &str) -> Outcome<Vec<Need>> {
    let without = text.strip_suffix(" or empty").unwrap_or(text);
    let (rule, errors) = match without.split_once(" else ") {
        Some((rule, errors)) => (rule, codes(errors)?),
        None => (without, Vec::new()),
    };
    let rule = Rule::parse(rule)?;
    Ok(rule
        .conjuncts()
        .into_iter()
        .map(|rule| Need {
            rule: rule.clone(),
            errors: errors.clone(),
            or_empty: without != text,
        })
        .collect())
}

fn codes(text: &str) -> Outcome<Vec<u16>> {
    text.split('|')
        .map(|code| {
            code.trim()
                .parse()
                .map_err(|_| format!("'{code}' is no error number"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_can_be_read_and_are_large_enough() {
        let grants = grants(&text("grants.txt").unwrap()).unwrap();
        let statements = statements(&text("statements.txt").unwrap()).unwrap();
        assert!(grants.len() >= 30 && statements.len() >= 150);
        for (at, grant) in grants.iter().enumerate() {
            assert!(
                grants[..at].iter().all(|g| g.name != grant.name),
                "{}",
                grant.name
            );
        }
        for (at, one) in statements.iter().enumerate() {
            assert!(
                statements[..at].iter().all(|s| s.name != one.name),
                "{}",
                one.name
            );
        }
    }

    #[test]
    fn grants_are_written_from_what_they_hold() {
        let all =
            grants("[a]\nholds SELECT, UPDATE (v) on m.t\ndynamic X with grant option\n").unwrap();
        assert_eq!(
            all[0].run,
            [
                "GRANT SELECT (v), UPDATE (v) ON `m`.`t` TO $u",
                "GRANT X ON *.* TO $u WITH GRANT OPTION"
            ]
        );
        assert!(all[0].held.grantable("X") && all[0].held.column("UPDATE", "m", "t", "v"));
        assert!(grants("[a]\nhold SELECT on m.t").is_err());
    }
}
