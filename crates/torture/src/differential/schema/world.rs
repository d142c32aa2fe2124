//! What there is in the schema, as far as the generator must know it to make statements that mean something.
//!
//! It is told what a statement did once both servers have done it, and never judges an answer.

/// The kind of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// INT.
    Int,
    /// VARCHAR(8), compared without regard to case.
    Text,
}

/// How a generated column is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// VIRTUAL.
    Virtual,
    /// STORED.
    Stored,
    /// STORED with us and VIRTUAL in MariaDB, which allows no cascade on what a stored column is computed from.
    StoredHere,
}

/// What a generated column is computed from.
#[derive(Debug, Clone)]
pub struct Generated {
    /// The expression.
    pub text: String,
    /// The columns in it, and those that they are computed from.
    pub reads: Vec<String>,
    /// How it is kept.
    pub kept: Kept,
}

/// A column.
#[derive(Debug, Clone)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub of: Of,
    /// Whether it may be NULL.
    pub null: bool,
    /// Whether it has a default.
    pub default: bool,
    /// Of a generated one.
    pub generated: Option<Generated>,
}

/// An index, the primary key too.
#[derive(Debug, Clone)]
pub struct Key {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<String>,
    /// Whether it is unique.
    pub unique: bool,
}

/// What happens to a child's row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Nothing is written, which means NO ACTION.
    Unsaid,
    /// NO ACTION.
    Nothing,
    /// RESTRICT.
    Restrict,
    /// CASCADE.
    Cascade,
    /// SET NULL.
    SetNull,
}

impl Action {
    /// Behind ON DELETE or ON UPDATE.
    pub fn clause(self, on: &str) -> String {
        match self {
            // MariaDB calls what is not written RESTRICT, MySQL NO ACTION.
            Action::Unsaid => format!("⟦¦ ON {on} NO ACTION⟧"),
            Action::Nothing => format!(" ON {on} NO ACTION"),
            Action::Restrict => format!(" ON {on} RESTRICT"),
            Action::Cascade => format!(" ON {on} CASCADE"),
            Action::SetNull => format!(" ON {on} SET NULL"),
        }
    }

    /// Whether the child's row changes.
    pub fn acts(self) -> bool {
        matches!(self, Action::Cascade | Action::SetNull)
    }
}

/// A foreign key.
#[derive(Debug, Clone)]
pub struct Foreign {
    /// Its name.
    pub name: String,
    /// The child's columns.
    pub columns: Vec<String>,
    /// The parent.
    pub parent: String,
    /// The parent's columns.
    pub parent_columns: Vec<String>,
    /// ON DELETE.
    pub on_delete: Action,
    /// ON UPDATE.
    pub on_update: Action,
}

impl Foreign {
    /// Whether an action assigns to the child's columns.
    pub fn assigns(&self) -> bool {
        self.on_delete == Action::SetNull || self.on_update.acts()
    }
}

/// A CHECK constraint.
#[derive(Debug, Clone)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// Its condition.
    pub condition: String,
    /// The columns in it.
    pub reads: Vec<String>,
    /// Whether it is ENFORCED.
    pub enforced: bool,
}

/// A table.
#[derive(Debug, Clone)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its indexes; the first is the primary key.
    pub keys: Vec<Key>,
    /// Its foreign keys.
    pub foreign: Vec<Foreign>,
    /// Its CHECK constraints.
    pub checks: Vec<Check>,
}

impl Table {
    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|c| c.name == name)
    }

    /// The columns of the primary key.
    pub fn primary(&self) -> &[String] {
        self.keys.first().map_or(&[], |key| &key.columns)
    }

    /// Whether an action of a foreign key assigns to the column.
    pub fn assigned(&self, column: &str) -> bool {
        let has = |f: &&Foreign| f.columns.iter().any(|c| c == column);
        self.foreign.iter().filter(has).any(Foreign::assigns)
    }

    /// Whether a CHECK constraint reads the column, or what is computed from it.
    pub fn checked(&self, column: &str) -> bool {
        let reads = |name: &String| {
            name == column
                || self
                    .column(name)
                    .and_then(|c| c.generated.as_ref())
                    .is_some_and(|g| g.reads.iter().any(|r| r == column))
        };
        self.checks
            .iter()
            .any(|check| check.reads.iter().any(reads))
    }

    /// Whether a change of the column touches no index.
    pub fn unindexed(&self, column: &str) -> bool {
        let has = |key: &Key| key.columns.iter().any(|c| c == column);
        !self.keys.iter().any(has) && !self.computed_from(column)
    }

    /// Whether anything is computed from the column.
    pub fn computed_from(&self, column: &str) -> bool {
        let reads = |g: &Generated| g.reads.iter().any(|r| r == column);
        self.columns
            .iter()
            .filter_map(|c| c.generated.as_ref())
            .any(reads)
    }
}

/// A column of a view.
#[derive(Debug, Clone)]
pub struct ViewColumn {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub of: Of,
    /// The column of the one table below that it is, if rows can be written through it.
    pub base: Option<String>,
}

/// A view.
#[derive(Debug, Clone)]
pub struct View {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<ViewColumn>,
    /// The one table that is written through it.
    pub table: Option<String>,
    /// The tables and views that it reads.
    pub below: Vec<String>,
    /// Whether it joins.
    pub joins: bool,
    /// Whether rows cannot be changed through it.
    pub fixed: bool,
    /// Whether it, or one below it, has a CHECK OPTION.
    pub checked: bool,
    /// Whether there is a condition, of it or below it, that none asks for.
    pub loose: bool,
}

/// All of it.
#[derive(Debug, Default)]
pub struct World {
    /// The tables.
    pub tables: Vec<Table>,
    /// The views.
    pub views: Vec<View>,
    /// The number of the next name.
    pub next: u64,
    /// Whether a transaction is open.
    pub open: bool,
    /// Savepoints in it.
    pub savepoints: Vec<String>,
    /// `foreign_key_checks` is off for so many statements more.
    pub unchecked: u64,
    /// Whether it was off, so that rows may be without their parents.
    pub orphans: bool,
}

/// What a statement does to the world when it succeeds.
#[derive(Debug, Clone)]
pub enum Effect {
    /// Nothing that is kept here.
    None,
    /// A table, new or in another form: its old name, and what it is now.
    Table(Option<String>, Box<Table>),
    /// A table is gone.
    Dropped(String),
    /// A column of a table has another name.
    Renamed {
        /// The table.
        table: String,
        /// The column as it was called.
        from: String,
        /// The name now.
        to: String,
    },
    /// A view is there, in place of one of its name.
    View(View),
    /// A view is gone.
    ViewDropped(String),
    /// BEGIN.
    Begin,
    /// COMMIT or ROLLBACK.
    End,
    /// SAVEPOINT.
    Savepoint(String),
    /// ROLLBACK TO: the savepoint stays; RELEASE: it goes.
    Back(String, bool),
    /// `foreign_key_checks`.
    Unchecked(u64),
}

impl World {
    /// A name that nothing has.
    pub fn name(&mut self, kind: &str) -> String {
        self.next += 1;
        format!("{kind}{}", self.next)
    }

    /// The names of all tables.
    pub fn names(&self) -> Vec<String> {
        self.tables.iter().map(|t| t.name.clone()).collect()
    }

    /// The table of this name.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|t| t.name == name)
    }

    /// Whether a foreign key leads to the table.
    pub fn is_parent(&self, name: &str) -> bool {
        let leads = |f: &Foreign| f.parent == name;
        self.tables.iter().any(|t| t.foreign.iter().any(leads))
    }

    /// Whether a foreign key of any table refers to the column.
    pub fn referred(&self, table: &str, column: &str) -> bool {
        let refers =
            |f: &Foreign| f.parent == table && f.parent_columns.iter().any(|c| c == column);
        self.tables.iter().any(|t| t.foreign.iter().any(refers))
    }

    /// Whether what happens to a row of the table can come back to the table by actions of foreign keys.
    pub fn circles(&self, table: &str) -> bool {
        self.reaches(table, table)
    }

    /// Whether what happens to a row of one table can change or delete rows of the other.
    pub fn reaches(&self, from: &str, to: &str) -> bool {
        let mut reached: Vec<&str> = vec![from];
        let mut at = 0;
        while let Some(parent) = reached.get(at).copied() {
            for child in &self.tables {
                let acts = |f: &&Foreign| f.on_delete.acts() || f.on_update.acts();
                let mut leads = child.foreign.iter().filter(|f| f.parent == parent);
                if leads.any(|f| acts(&f)) {
                    if child.name == to {
                        return true;
                    }
                    if !reached.contains(&child.name.as_str()) {
                        reached.push(&child.name);
                    }
                }
            }
            at += 1;
        }
        false
    }

    /// Notes what a statement did.
    pub fn apply(&mut self, effect: Effect) {
        match effect {
            Effect::None => {}
            Effect::Table(old, table) => self.put(old, *table),
            Effect::Dropped(name) => {
                self.tables.retain(|t| t.name != name);
                self.end();
            }
            Effect::Renamed { table, from, to } => self.rename(&table, &from, &to),
            Effect::View(view) => {
                // Those above it may name what it no longer has.
                self.forget_views(&view.name);
                self.views.retain(|v| v.name != view.name);
                self.views.push(view);
                self.end();
            }
            Effect::ViewDropped(name) => {
                self.views.retain(|v| v.name != name);
                self.end();
            }
            Effect::Begin => {
                self.end();
                self.open = true;
            }
            Effect::End => self.end(),
            Effect::Savepoint(name) => {
                self.savepoints.retain(|s| *s != name);
                if self.open {
                    self.savepoints.push(name);
                }
            }
            Effect::Back(name, stays) => {
                if let Some(at) = self.savepoints.iter().position(|s| *s == name) {
                    self.savepoints.truncate(at + usize::from(stays));
                }
            }
            Effect::Unchecked(count) => {
                self.unchecked = count;
                self.orphans |= count > 0;
            }
        }
    }

    fn end(&mut self) {
        self.open = false;
        self.savepoints.clear();
    }

    fn put(&mut self, old: Option<String>, table: Table) {
        self.end();
        let Some(old) = old else {
            self.tables.push(table);
            return;
        };
        if old != table.name {
            let all = self.tables.iter_mut().flat_map(|t| &mut t.foreign);
            for foreign in all.filter(|f| f.parent == old) {
                foreign.parent.clone_from(&table.name);
            }
        }
        let mut table = table;
        for foreign in table.foreign.iter_mut().filter(|f| f.parent == old) {
            foreign.parent.clone_from(&table.name);
        }
        if let Some(known) = self.tables.iter_mut().find(|t| t.name == old) {
            let name = table.name.clone();
            let gone = known
                .columns
                .iter()
                .any(|c| table.column(&c.name).is_none());
            *known = table;
            if gone {
                self.forget_views(&name);
            }
        }
    }

    /// Views that read a table or view of which a column has gone are left alone: MariaDB still deletes through them.
    fn forget_views(&mut self, table: &str) {
        let mut gone = vec![table.to_owned()];
        loop {
            let reads = |v: &View| v.below.iter().any(|b| gone.contains(b));
            let Some(at) = self.views.iter().position(reads) else {
                return;
            };
            gone.push(self.views.remove(at).name);
        }
    }

    fn rename(&mut self, table: &str, from: &str, to: &str) {
        self.end();
        self.forget_views(table);
        let new = |name: &mut String| {
            if name == from {
                to.clone_into(name);
            }
        };
        for known in &mut self.tables {
            for foreign in known.foreign.iter_mut().filter(|f| f.parent == table) {
                foreign.parent_columns.iter_mut().for_each(new);
            }
            if known.name == table {
                known.columns.iter_mut().for_each(|c| new(&mut c.name));
                known
                    .keys
                    .iter_mut()
                    .for_each(|k| k.columns.iter_mut().for_each(new));
                let foreign = known.foreign.iter_mut();
                foreign.for_each(|f| f.columns.iter_mut().for_each(new));
            }
        }
    }
}
