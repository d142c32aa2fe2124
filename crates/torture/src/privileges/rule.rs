//! The rules beside the statements: boolean expressions over privileges, and the error of one that does not hold.
//!
//! `SELECT(m.t.v)` is a privilege on a column, `(m.t.?)` on some column, `(m.t.*)` on every column, `(m.t)` on the table,
//! `(m)` on the database, `(*)` on everything; a bare name is a privilege of the server, static or dynamic. `any(m)`,
//! `any(m.t)`, `any(m.t.v)` and `whole(m.t)` ask for whatever privilege, `shown(m.t.v)` for one that columns can have. Pure functions of a text and a [`Held`].

use super::held::{Held, OF_DATABASES, OF_SERVER, OF_TABLES};
use harness::step::Outcome;
use std::collections::BTreeSet;

/// The columns of the tables of the tests, for `*`.
const COLUMNS: &[(&str, &[&str])] = &[
    ("t", &["id", "v", "w"]),
    ("u", &["id", "v", "x"]),
    ("d", &["id", "v"]),
];

/// An expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// A question by name, and the parts of its object.
    Ask(String, Vec<String>),
    /// Both.
    And(Box<Rule>, Box<Rule>),
    /// One of them.
    Or(Box<Rule>, Box<Rule>),
    /// Not so.
    Not(Box<Rule>),
}

impl Rule {
    /// Reads an expression.
    pub fn parse(text: &str) -> Outcome<Rule> {
        let mut parser = Parser { rest: text };
        let rule = parser.or()?;
        if parser.rest.trim().is_empty() {
            Ok(rule)
        } else {
            Err(format!("'{}' stands behind a rule", parser.rest))
        }
    }

    /// Does it hold?
    pub fn holds(&self, held: &Held) -> bool {
        match self {
            Rule::And(a, b) => a.holds(held) && b.holds(held),
            Rule::Or(a, b) => a.holds(held) || b.holds(held),
            Rule::Not(a) => !a.holds(held),
            Rule::Ask(name, object) => ask(held, name, object),
        }
    }

    /// The parts that must all hold.
    pub fn conjuncts(&self) -> Vec<&Rule> {
        match self {
            Rule::And(a, b) => [a.conjuncts(), b.conjuncts()].concat(),
            other => vec![other],
        }
    }

    /// The errors that MySQL may refuse with where this does not hold.
    pub fn errors(&self, held: &Held) -> BTreeSet<u16> {
        match self {
            Rule::And(a, b) | Rule::Or(a, b) => {
                // An alternative is asked for by its first name.
                let mut errors = a.errors(held);
                if matches!(self, Rule::And(..)) {
                    errors.extend(b.errors(held));
                }
                errors
            }
            Rule::Not(a) => a.errors(held),
            Rule::Ask(name, object) => {
                let codes: &[u16] = match (name.as_str(), object.len()) {
                    ("EXECUTE", 2) => &[1370],
                    ("role", 1) => &[3530],
                    (_, 0) => &[1227],
                    (_, 1) if object[0] == "*" => &[1045],
                    (_, 1) => &[1044],
                    (_, 2) => &[1142],
                    _ if object[2] == "?" => &[1142],
                    (p, _)
                        if object[2] != "*"
                            && held.some_column(&p.replace('_', " "), &object[0], &object[1]) =>
                    {
                        &[1143]
                    }
                    _ => &[1142, 1143],
                };
                codes.iter().copied().collect()
            }
        }
    }
}

fn is_static(name: &str) -> bool {
    [OF_TABLES, OF_DATABASES, OF_SERVER]
        .iter()
        .any(|all| all.contains(&name))
}

fn ask(held: &Held, name: &str, object: &[String]) -> bool {
    let parts: Vec<&str> = object.iter().map(String::as_str).collect();
    let privilege = name.replace('_', " ");
    match (name, &parts[..]) {
        ("true", []) => true,
        ("false", []) => false,
        ("anyglobal", []) => held.any_global(),
        ("any", [db]) => held.any_database(db),
        ("any", [db, table]) => held.any_table(db, table),
        ("any", [db, table, column]) => held.any_column(db, table, column),
        ("shown", [db, table, column]) => ["SELECT", "INSERT", "UPDATE", "REFERENCES"]
            .iter()
            .any(|p| held.column(p, db, table, column)),
        ("whole", [db, table]) => held.any_whole_table(db, table),
        ("role", [role]) => held.role(role),
        ("roleadmin", [role]) => held.role_admin(role),
        ("grantable", [name]) => held.grantable(name),
        ("fact", [name]) => held.fact(name),
        ("EXECUTE" | "ALTER_ROUTINE", [db, routine]) => held.routine(&privilege, db, routine),
        (_, [] | ["*"]) if is_static(&privilege) => held.global(&privilege),
        (_, []) => held.dynamic(name),
        (_, [db]) => held.database(&privilege, db),
        (_, [db, table]) => held.table(&privilege, db, table),
        (_, [db, table, "?"]) => held.some_column(&privilege, db, table),
        (_, [db, table, "*"]) => {
            let columns = COLUMNS.iter().find(|c| c.0 == *table).map(|c| c.1);
            match columns {
                Some(columns) => columns
                    .iter()
                    .all(|column| held.column(&privilege, db, table, column)),
                None => held.table(&privilege, db, table),
            }
        }
        (_, [db, table, column]) => held.column(&privilege, db, table, column),
        _ => false,
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn accept(&mut self, c: char) -> bool {
        match self.rest.trim_start().strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn or(&mut self) -> Outcome<Rule> {
        let mut rule = self.and()?;
        while self.accept('|') {
            rule = Rule::Or(Box::new(rule), Box::new(self.and()?));
        }
        Ok(rule)
    }

    fn and(&mut self) -> Outcome<Rule> {
        let mut rule = self.one()?;
        while self.accept('&') {
            rule = Rule::And(Box::new(rule), Box::new(self.one()?));
        }
        Ok(rule)
    }

    fn one(&mut self) -> Outcome<Rule> {
        if self.accept('!') {
            return Ok(Rule::Not(Box::new(self.one()?)));
        }
        if self.accept('(') {
            let rule = self.or()?;
            return if self.accept(')') {
                Ok(rule)
            } else {
                Err(format!("a bracket is open before '{}'", self.rest))
            };
        }
        let name = self.word(|c| c.is_ascii_alphanumeric() || c == '_');
        if name.is_empty() {
            return Err(format!("no name before '{}'", self.rest));
        }
        let mut object = Vec::new();
        if self.rest.starts_with('(') && self.accept('(') {
            let inside = self.word(|c| c != ')');
            self.accept(')');
            object = inside.split('.').map(|p| p.trim().to_owned()).collect();
        }
        Ok(Rule::Ask(name.to_owned(), object))
    }

    fn word(&mut self, is: impl Fn(char) -> bool) -> &'a str {
        let text = self.rest.trim_start();
        let end = text.find(|c| !is(c)).unwrap_or(text.len());
        self.rest = &text[end..];
        &text[..end]
    }
}

#[cfg(test)]
mod tests {
    use super::super::held::Level;
    use super::*;

    #[test]
    fn rules_are_read_and_asked() {
        let mut held = Held::default();
        held.grant("SELECT", &Level::Column("m".into(), "t".into(), "v".into()));
        held.grant_dynamic("ROLE_ADMIN", false);
        let holds = |text: &str| Rule::parse(text).unwrap().holds(&held);
        assert!(holds("SELECT(m.t.v) & (SUPER | ROLE_ADMIN)"));
        assert!(holds("SELECT(m.t.?) & !SELECT(m.t.*) & !SELECT(m.t)"));
        assert!(!holds("SELECT(m.t.w)") && !holds("SELECT(*)") && !holds("grantable(ROLE_ADMIN)"));
        let errors = |text: &str| Rule::parse(text).unwrap().errors(&held);
        assert_eq!(errors("SELECT(m.t.w)"), [1143].into());
        assert_eq!(errors("SELECT(m.u.x)"), [1142, 1143].into());
        assert_eq!(errors("SUPER | ROLE_ADMIN"), [1227].into());
        assert_eq!(errors("DROP(m)"), [1044].into());
        assert!(Rule::parse("SELECT(m.t) SELECT").is_err() && Rule::parse("(a").is_err());
    }
}
