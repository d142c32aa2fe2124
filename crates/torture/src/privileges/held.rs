//! What an account holds, as plain sets, and the questions a rule asks of them.
//!
//! This is the oracle's half of the privilege tests: written from MySQL 8.0's manual, and without a look at how the server
//! decides. It knows no SQL and talks to nobody.

use std::collections::{BTreeMap, BTreeSet};

/// The static privileges that a table can have.
pub const OF_TABLES: &[&str] = &[
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "CREATE",
    "DROP",
    "GRANT OPTION",
    "REFERENCES",
    "INDEX",
    "ALTER",
    "CREATE VIEW",
    "SHOW VIEW",
    "TRIGGER",
];

/// Those that only a whole database can have.
pub const OF_DATABASES: &[&str] = &[
    "CREATE TEMPORARY TABLES",
    "LOCK TABLES",
    "CREATE ROUTINE",
    "ALTER ROUTINE",
    "EXECUTE",
    "EVENT",
];

/// Those of the server as a whole.
pub const OF_SERVER: &[&str] = &[
    "RELOAD",
    "SHUTDOWN",
    "PROCESS",
    "FILE",
    "SHOW DATABASES",
    "SUPER",
    "REPLICATION SLAVE",
    "REPLICATION CLIENT",
    "CREATE USER",
    "CREATE TABLESPACE",
    "CREATE ROLE",
    "DROP ROLE",
];

/// Where a static privilege holds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// `*.*`
    Global,
    /// `db.*`; the name may be a pattern.
    Database(String),
    /// `db.table`
    Table(String, String),
    /// `(column) ON db.table`
    Column(String, String, String),
    /// A procedure or function, `db.name`.
    Routine(String, String),
}

/// Everything that is in force for one session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Held {
    statics: BTreeSet<(String, Level)>,
    /// Dynamic privileges, and whether they may be handed on.
    dynamic: BTreeMap<String, bool>,
    /// `partial_revokes`: global privileges that do not reach this database.
    restricted: BTreeSet<(String, String)>,
    /// Roles that are granted, active or not, and whether with ADMIN OPTION.
    roles: BTreeMap<String, bool>,
    /// Other facts by name.
    facts: BTreeSet<String>,
    /// Names of databases in grants are names, and no patterns.
    pub exact_names: bool,
}

impl Held {
    /// Adds a static privilege; `ALL` stands for all that the level can have, but GRANT OPTION.
    pub fn grant(&mut self, privilege: &str, level: &Level) {
        for p in expand(privilege, level) {
            self.statics.insert((p.to_owned(), level.clone()));
        }
    }

    /// Takes a static privilege away at this level; with one on a table go those on its columns.
    pub fn revoke(&mut self, privilege: &str, level: &Level) {
        for p in expand(privilege, level) {
            self.statics.remove(&(p.to_owned(), level.clone()));
            if let Level::Table(db, table) = level {
                self.statics.retain(|(q, l)| {
                    q != p || !matches!(l, Level::Column(d, t, _) if d == db && t == table)
                });
            }
        }
    }

    /// Adds a dynamic privilege.
    pub fn grant_dynamic(&mut self, name: &str, grantable: bool) {
        *self.dynamic.entry(name.to_owned()).or_default() |= grantable;
    }

    /// Takes a dynamic privilege away.
    pub fn revoke_dynamic(&mut self, name: &str) {
        self.dynamic.remove(name);
    }

    /// GRANT OPTION is taken on `*.*`: that of the dynamic privileges goes with it.
    pub fn revoke_dynamic_options(&mut self) {
        self.dynamic.values_mut().for_each(|option| *option = false);
    }

    /// A global privilege that shall not reach a database.
    pub fn restrict(&mut self, privilege: &str, db: &str) {
        self.restricted
            .insert((privilege.to_owned(), db.to_owned()));
    }

    /// A restriction ends with the privilege that it restricted.
    pub fn unrestrict(&mut self, privilege: &str) {
        self.restricted.retain(|(p, _)| p != privilege);
    }

    /// Is the privilege restricted anywhere?
    pub fn has_restriction(&self, privilege: &str) -> bool {
        self.restricted.iter().any(|(p, _)| p == privilege)
    }

    /// Notes that a role may be handed on.
    pub fn grant_role_admin(&mut self, role: &str) {
        self.note(&format!("admin of {role}"));
    }

    /// Notes a role as granted.
    pub fn grant_role(&mut self, role: &str, admin: bool) {
        *self.roles.entry(role.to_owned()).or_default() |= admin;
    }

    /// Notes a fact that rules may ask for by name.
    pub fn note(&mut self, fact: &str) {
        self.facts.insert(fact.to_owned());
    }

    /// All that another holds, too.
    pub fn add(&mut self, other: &Held) {
        self.statics.extend(other.statics.iter().cloned());
        for (name, grantable) in &other.dynamic {
            self.grant_dynamic(name, *grantable);
        }
        for (role, admin) in &other.roles {
            self.grant_role(role, *admin);
        }
        self.facts.extend(other.facts.iter().cloned());
    }

    /// Its static privileges.
    pub fn statics(&self) -> impl Iterator<Item = &(String, Level)> {
        self.statics.iter()
    }

    fn at(&self, privilege: &str, level: Level) -> bool {
        self.statics.contains(&(privilege.to_owned(), level))
    }

    /// Held on `*.*`.
    pub fn global(&self, privilege: &str) -> bool {
        self.at(privilege, Level::Global)
    }

    /// A dynamic privilege.
    pub fn dynamic(&self, name: &str) -> bool {
        self.dynamic.contains_key(name)
    }

    /// A dynamic privilege that may be handed on.
    pub fn grantable(&self, name: &str) -> bool {
        self.dynamic.get(name).copied().unwrap_or(false)
    }

    /// A role is granted, active or not.
    pub fn role(&self, name: &str) -> bool {
        self.roles.contains_key(name)
    }

    /// A role is granted with ADMIN OPTION.
    pub fn role_admin(&self, name: &str) -> bool {
        self.roles.get(name).copied().unwrap_or(false) || self.fact(&format!("admin of {name}"))
    }

    /// A fact that was noted.
    pub fn fact(&self, name: &str) -> bool {
        self.facts.contains(name)
    }

    /// Held on a whole database. Of several patterns that match only the most exact one counts, as the manual says of GRANT.
    pub fn database(&self, privilege: &str, db: &str) -> bool {
        let restricted = self
            .restricted
            .contains(&(privilege.to_owned(), db.to_owned()));
        if self.global(privilege) && !restricted {
            return true;
        }
        let best = self
            .statics
            .iter()
            .filter_map(|(_, level)| match level {
                Level::Database(pattern) if self.matches(pattern, db) => Some(pattern),
                _ => None,
            })
            .max_by_key(|pattern| exactness(pattern));
        best.is_some_and(|pattern| self.at(privilege, Level::Database(pattern.clone())))
    }

    fn matches(&self, pattern: &str, db: &str) -> bool {
        if self.exact_names {
            pattern == db
        } else {
            like(pattern, db)
        }
    }

    /// Held on a whole table.
    pub fn table(&self, privilege: &str, db: &str, table: &str) -> bool {
        self.database(privilege, db)
            || self.at(privilege, Level::Table(db.to_owned(), table.to_owned()))
    }

    /// Held on a column.
    pub fn column(&self, privilege: &str, db: &str, table: &str, column: &str) -> bool {
        let level = Level::Column(db.to_owned(), table.to_owned(), column.to_owned());
        self.table(privilege, db, table) || self.at(privilege, level)
    }

    /// Held on the table or on some column of it.
    pub fn some_column(&self, privilege: &str, db: &str, table: &str) -> bool {
        self.table(privilege, db, table)
            || self.statics.iter().any(|(p, level)| {
                p == privilege && matches!(level, Level::Column(d, t, _) if d == db && t == table)
            })
    }

    /// Held on a routine.
    pub fn routine(&self, privilege: &str, db: &str, name: &str) -> bool {
        self.database(privilege, db)
            || self.at(privilege, Level::Routine(db.to_owned(), name.to_owned()))
    }

    /// Some privilege on the table as a whole.
    pub fn any_whole_table(&self, db: &str, table: &str) -> bool {
        OF_TABLES.iter().any(|p| self.table(p, db, table))
    }

    /// Some privilege on the table or on a column of it.
    pub fn any_table(&self, db: &str, table: &str) -> bool {
        OF_TABLES.iter().any(|p| self.some_column(p, db, table))
    }

    /// Some privilege on a column.
    pub fn any_column(&self, db: &str, table: &str, column: &str) -> bool {
        OF_TABLES.iter().any(|p| self.column(p, db, table, column))
    }

    /// Some privilege in a database: what makes it visible, and lets it be chosen.
    pub fn any_database(&self, db: &str) -> bool {
        let inside = self.statics.iter().any(|(_, level)| match level {
            Level::Table(d, _) | Level::Column(d, _, _) | Level::Routine(d, _) => d == db,
            Level::Global | Level::Database(_) => false,
        });
        inside
            || OF_TABLES
                .iter()
                .chain(OF_DATABASES)
                .any(|p| self.database(p, db))
    }

    /// Some static privilege on `*.*`.
    pub fn any_global(&self) -> bool {
        self.statics
            .iter()
            .any(|(_, level)| *level == Level::Global)
    }
}

fn expand<'a>(privilege: &'a str, level: &Level) -> Vec<&'a str> {
    if privilege != "ALL" {
        return vec![privilege];
    }
    let all: Vec<&[&str]> = match level {
        Level::Global => vec![OF_TABLES, OF_DATABASES, OF_SERVER],
        Level::Database(_) => vec![OF_TABLES, OF_DATABASES],
        Level::Table(..) => vec![OF_TABLES],
        Level::Column(..) => vec![&["SELECT", "INSERT", "UPDATE", "REFERENCES"]],
        Level::Routine(..) => vec![&["EXECUTE", "ALTER ROUTINE"]],
    };
    all.concat()
        .into_iter()
        .filter(|p| *p != "GRANT OPTION")
        .collect()
}

/// How exact a pattern is: one without wildcards before all others, then the later first wildcard.
fn exactness(pattern: &str) -> usize {
    let mut place = 0;
    let mut escaped = false;
    for c in pattern.chars() {
        match c {
            '\\' if !escaped => escaped = true,
            '%' | '_' if !escaped => return place,
            _ => {
                escaped = false;
                place += 1;
            }
        }
    }
    usize::MAX
}

/// LIKE over names.
pub fn like(pattern: &str, name: &str) -> bool {
    fn go(pattern: &[char], name: &[char]) -> bool {
        match pattern {
            [] => name.is_empty(),
            ['%', rest @ ..] => (0..=name.len()).any(|n| go(rest, &name[n..])),
            ['_', rest @ ..] => !name.is_empty() && go(rest, &name[1..]),
            ['\\', c, rest @ ..] | [c, rest @ ..] => {
                name.first() == Some(c) && go(rest, &name[1..])
            }
        }
    }
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    go(&pattern, &name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_reach_down_and_not_up() {
        let mut held = Held::default();
        held.grant("SELECT", &Level::Column("m".into(), "t".into(), "v".into()));
        held.grant("INSERT", &Level::Database("m".into()));
        assert!(held.column("SELECT", "m", "t", "v") && !held.column("SELECT", "m", "t", "w"));
        assert!(held.some_column("SELECT", "m", "t") && !held.table("SELECT", "m", "t"));
        assert!(held.table("INSERT", "m", "u") && !held.table("INSERT", "n", "u"));
        assert!(!held.global("INSERT") && !held.any_global());
        assert!(held.any_database("m") && !held.any_database("n"));
    }

    #[test]
    fn patterns_restrictions_and_the_most_exact_pattern() {
        let mut held = Held::default();
        held.grant("SELECT", &Level::Database(r"app\_%".into()));
        assert!(held.database("SELECT", "app_1") && !held.database("SELECT", "appx1"));
        held.grant("INSERT", &Level::Database("app_1".into()));
        assert!(held.database("INSERT", "appx1"));
        // `app\_%` has its first wildcard later than `app_1`.
        assert!(!held.database("INSERT", "app_1"));
        held.grant("SELECT", &Level::Global);
        held.restrict("SELECT", "m");
        assert!(held.global("SELECT") && !held.database("SELECT", "m"));
        assert!(held.database("SELECT", "n"));
    }
}
