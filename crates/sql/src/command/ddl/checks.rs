//! CHECK constraints of CREATE TABLE and ALTER TABLE: their names, what they may refer to, and what becomes of them when columns change.
//!
//! Never looks at rows: those that are there are looked at when the table is rebuilt.

use engine::{CheckDef, ColumnDef, TableDef, generated_number};
use types::SqlError;
use types::error::codes;

use super::expression::{self, Owner};
use super::identifier::check_identifier;
use sql_expr::EvalCtx;
use sql_parser::ast::{self, AlterAction, Check, ColumnAttr, KeyDef};
use sql_plan::bind::row_rules;

/// A constraint as it was written.
struct Written<'a> {
    check: &'a Check,
    /// The column in whose definition it stands.
    column: Option<&'a str>,
}

/// The constraints that stand in a column's definition.
fn of_column<'a>(column: &'a ast::ColumnDef) -> impl Iterator<Item = Written<'a>> {
    let name = column.name.as_ref();
    column.attributes.iter().filter_map(move |a| match a {
        ColumnAttr::Check(check) => Some(Written {
            check,
            column: Some(name),
        }),
        _ => None,
    })
}

/// The constraints that a CREATE TABLE writes down, numbered and named in the order in which they stand there.
///
/// # Errors
/// 1059, 1054 and its kin of expressions; 3812 to 3818, 3820, 3822.
pub(super) fn of_create(
    stmt: &ast::CreateTable,
    columns: &[ColumnDef],
    schema: &str,
    cx: &EvalCtx<'_>,
) -> Result<Vec<CheckDef>, SqlError> {
    let mut written: Vec<(usize, Written<'_>)> = Vec::new();
    for (at, c) in stmt.columns.iter().enumerate() {
        written.extend(of_column(c).map(|w| (2 * at + 1, w)));
    }
    for k in &stmt.keys {
        if let KeyDef::Check(check) = k {
            let column = None;
            written.push((2 * check.after, Written { check, column }));
        }
    }
    written.sort_by_key(|(place, _)| *place);
    let mut made = Checks {
        table: (schema, &stmt.name.name),
        list: Vec::new(),
        last: 0,
    };
    for (_, w) in &written {
        made.add(w, columns, cx)?;
    }
    Ok(made.finish())
}

/// Copies of a table's constraints for another one: each with a name made of the new table's.
pub(super) fn copied(from: &[CheckDef], table: &str) -> Result<Vec<CheckDef>, SqlError> {
    let mut copies = Vec::with_capacity(from.len());
    for (i, c) in from.iter().enumerate() {
        let name = format!("{table}_chk_{}", i + 1);
        check_identifier(&name, "")?;
        copies.push(CheckDef { name, ..c.clone() });
    }
    Ok(copies)
}

/// Constraints while a definition is made.
struct Checks<'a> {
    /// The table's schema and name.
    table: (&'a str, &'a str),
    list: Vec<CheckDef>,
    /// The last number in a name that was made.
    last: u64,
}

impl Checks<'_> {
    fn finish(mut self) -> Vec<CheckDef> {
        self.list.sort_by_cached_key(|c| c.name.to_lowercase());
        self.list
    }

    fn position(&self, name: &str) -> Option<usize> {
        let name = name.to_lowercase();
        self.list.iter().position(|c| c.name.to_lowercase() == name)
    }

    fn add(
        &mut self,
        w: &Written<'_>,
        columns: &[ColumnDef],
        cx: &EvalCtx<'_>,
    ) -> Result<(), SqlError> {
        let name = match &w.check.name {
            Some(name) => name.to_string(),
            None => {
                self.last += 1;
                format!("{}_chk_{}", self.table.1, self.last)
            }
        };
        check_identifier(&name, "")?;
        if self.position(&name).is_some() {
            return Err(SqlError::new(
                codes::ER_CHECK_CONSTRAINT_DUP_NAME,
                format!("Duplicate check constraint name '{name}'."),
            ));
        }
        let owner = Owner::Check(&name);
        let kept = expression::keep(&w.check.expr, owner, columns, self.table)?;
        if !expression::is_condition(&w.check.expr) {
            return Err(SqlError::new(
                codes::ER_NON_BOOLEAN_EXPR_FOR_CHECK_CONSTRAINT,
                format!(
                    "An expression of non-boolean type specified to a check constraint '{name}'."
                ),
            ));
        }
        let other = |c: &&usize| {
            let own = |n: &str| columns[**c].name.to_lowercase() == n.to_lowercase();
            w.column.is_some_and(|n| !own(n))
        };
        if kept.columns.iter().any(|c| other(&c)) {
            return Err(SqlError::new(
                codes::ER_COLUMN_CHECK_CONSTRAINT_REFERENCES_OTHER_COLUMN,
                format!("Column check constraint '{name}' references other column."),
            ));
        }
        refuse_numbered(&name, &kept.columns, columns)?;
        row_rules::bound(&kept.text, columns, cx)?;
        self.list.push(CheckDef {
            name,
            clause: kept.text,
            enforced: w.check.enforced,
        });
        Ok(())
    }
}

/// Refuses a constraint that reads the AUTO_INCREMENT column, whose value is not known when rows are looked at.
fn refuse_numbered(name: &str, read: &[usize], columns: &[ColumnDef]) -> Result<(), SqlError> {
    match read.iter().any(|&c| columns[c].auto_increment) {
        false => Ok(()),
        true => Err(Owner::Check(name).refers_to_number()),
    }
}

fn not_found(name: &str) -> SqlError {
    SqlError::new(
        codes::ER_CHECK_CONSTRAINT_NOT_FOUND,
        format!("Check constraint '{name}' is not found in the table."),
    )
}

/// What an ALTER TABLE makes of the constraints.
pub(super) struct Altered {
    /// All of them.
    pub list: Vec<CheckDef>,
    /// The rows that are there have to be looked at.
    pub verify: bool,
}

/// What the actions of an ALTER TABLE make of a table's constraints. `columns` are those that it makes, and `was` says for each which one
/// it was; `same` whether it has the same values and type.
///
/// # Errors
/// As [`of_create`]; 3821; 3959: a column goes or is renamed that a constraint of several columns needs.
pub(super) fn of_alter(
    old: &TableDef,
    actions: &[AlterAction],
    columns: &[ColumnDef],
    was: &[Option<usize>],
    same: &dyn Fn(usize) -> bool,
    cx: &EvalCtx<'_>,
) -> Result<Altered, SqlError> {
    let mut made = Checks {
        table: (&old.schema, &old.name),
        list: old.checks.clone(),
        last: 0,
    };
    let mut verify = false;
    for a in actions {
        match a {
            AlterAction::DropCheck(name) => {
                let at = made.position(name).ok_or_else(|| not_found(name))?;
                made.list.remove(at);
            }
            AlterAction::DropConstraint(name) => {
                if let Some(at) = made.position(name) {
                    made.list.remove(at);
                }
            }
            AlterAction::Enforce(name, enforced) => {
                let at = made.position(name).ok_or_else(|| not_found(name))?;
                verify |= *enforced && !made.list[at].enforced;
                made.list[at].enforced = *enforced;
            }
            _ => {}
        }
    }
    drop_with_columns(&mut made.list, old, columns, was)?;
    for c in &mut made.list {
        let kept = expression::keep_again(&c.clause, Owner::Check(&c.name), columns)?;
        refuse_numbered(&c.name, &kept.columns, columns)?;
        c.clause = kept.text;
        verify |= c.enforced && kept.columns.iter().any(|&c| !same(c));
    }
    let numbers = made
        .list
        .iter()
        .filter_map(|c| generated_number(&c.name, &old.name));
    made.last = numbers.max().unwrap_or(0);
    for a in actions {
        let written: Vec<Written<'_>> = match a {
            AlterAction::AddColumn { column, .. }
            | AlterAction::ModifyColumn { column, .. }
            | AlterAction::ChangeColumn { column, .. } => of_column(column).collect(),
            AlterAction::AddKey(KeyDef::Check(check)) => {
                let column = None;
                vec![Written { check, column }]
            }
            _ => continue,
        };
        for w in &written {
            made.add(w, columns, cx)?;
            verify |= w.check.enforced;
        }
    }
    Ok(Altered {
        list: made.finish(),
        verify,
    })
}

/// A constraint that reads one column alone goes with it.
fn drop_with_columns(
    list: &mut Vec<CheckDef>,
    old: &TableDef,
    columns: &[ColumnDef],
    was: &[Option<usize>],
) -> Result<(), SqlError> {
    for (at, c) in old.columns.iter().enumerate() {
        let name = c.name.to_lowercase();
        let now = was.iter().position(|w| *w == Some(at));
        if now.is_some_and(|n| columns[n].name.to_lowercase() == name) {
            continue;
        }
        let mut needs = None;
        list.retain(|check| {
            let read = expression::names_in(&check.clause);
            if !read.contains(&name) {
                return true;
            }
            if now.is_some() || read.len() > 1 {
                needs = needs.take().or_else(|| Some(check.name.clone()));
            }
            now.is_some()
        });
        if let Some(check) = needs {
            return Err(SqlError::new(
                codes::ER_DEPENDENT_BY_CHECK_CONSTRAINT,
                format!(
                    "Check constraint '{check}' uses column '{}', hence column cannot be dropped or renamed.",
                    c.name
                ),
            ));
        }
    }
    Ok(())
}
