//! Random UPDATE and DELETE, of one table and of several; what they read is not what they change.

use super::condition::condition;
use super::expr::value;
use super::from::{From, from_table};
use super::grower::{Grower, Leaf, Scope};
use super::schema::{Table, Type};
use super::tree::{Part, text};

/// A statement and the table that it changes.
pub fn change(g: &mut Grower<'_>) -> (Part, usize) {
    let at = g.below(g.schema.tables.len());
    let schema = g.schema;
    let table = &schema.tables[at];
    g.changed = table.number;
    g.strict = true;
    g.left = 5;
    let many = 1 + g.below(3);
    let part = match (g.chance(50), many) {
        (true, 1) => update_one(g, table),
        (true, _) => update_many(g, table, many),
        (false, 1) => delete_one(g, table),
        (false, _) => delete_many(g, table, many),
    };
    (part, table.number)
}

fn scope(table: &Table, name: &str) -> Scope {
    let leaf = |c: &super::schema::Column| Leaf {
        sql: format!("{name}.{}", c.name),
        of: c.of,
        plain: true,
    };
    Scope {
        own: table.columns.iter().map(leaf).collect(),
        outer: Vec::new(),
    }
}

fn conditions(g: &mut Grower<'_>, scope: &Scope, mut all: Vec<Part>) -> Part {
    for _ in 0..1 + g.below(2) {
        let depth = 1 + g.below(3);
        all.push(condition(g, scope, depth));
    }
    Part::list(" WHERE ", " AND ", 0, all)
}

/// `SET` of columns that no unique index has, of the row itself alone.
fn set(g: &mut Grower<'_>, table: &Table, name: &str) -> Option<Part> {
    let free: Vec<usize> = (0..table.columns.len())
        .filter(|at| !table.columns[*at].fixed)
        .collect();
    if free.is_empty() {
        return None;
    }
    let own = scope(table, name);
    let mut items = Vec::new();
    let mut done = Vec::new();
    for _ in 0..1 + g.below(3) {
        let at = g.pick(&free);
        if done.contains(&at) {
            continue;
        }
        done.push(at);
        let column = &table.columns[at];
        let new = match column.null && column.of != Type::Text {
            // A sum may be too large for a narrow column, and an expression NULL.
            true if !column.definition.contains("INT") && g.chance(50) => {
                value(g, &own, column.of, 1)
            }
            true if g.chance(40) => text(format!("{name}.{}", column.name)),
            true if g.chance(30) => text("NULL"),
            _ => text(g.literal(column.of)),
        };
        let how = format!("{name}.{} = {{}}", column.name);
        items.push(Part::form(&how, vec![new], &[]));
    }
    Some(Part::list("", ", ", 1, items))
}

/// A total order over the rows of the table, by its first column.
fn some(g: &mut Grower<'_>, table: &Table) -> Part {
    let way = g.pick(&["", " DESC"]);
    let limit = 1 + g.below(6);
    let key = &table.columns[0].name;
    let sql = format!(" ORDER BY {key}{way} LIMIT {limit}");
    Part::form("{}", vec![text(sql)], &[""])
}

fn update_one(g: &mut Grower<'_>, table: &Table) -> Part {
    let alias = g.name("a");
    let Some(set) = set(g, table, &alias) else {
        return delete_one(g, table);
    };
    let own = scope(table, &alias);
    let named = Part::Table {
        table: table.number,
        alias,
    };
    let mut parts = vec![text("UPDATE"), Part::Head(false), text(" "), named];
    parts.extend([text(" SET "), set, conditions(g, &own, Vec::new())]);
    if g.chance(25) {
        parts.push(some(g, table));
    }
    Part::block(parts, Vec::new())
}

fn delete_one(g: &mut Grower<'_>, table: &Table) -> Part {
    // MariaDB 10.11 has no alias here.
    let name = format!("t{}", table.number);
    let own = scope(table, &name);
    let mut parts = vec![text("DELETE"), Part::Head(false), text(" FROM ")];
    parts.extend([text(name), conditions(g, &own, Vec::new())]);
    if g.chance(25) {
        parts.push(some(g, table));
    }
    Part::block(parts, Vec::new())
}

fn update_many(g: &mut Grower<'_>, table: &Table, many: usize) -> Part {
    let alias = g.name("a");
    let Some(set) = set(g, table, &alias) else {
        return delete_many(g, table, many);
    };
    let (part, conditions) = joined(g, table, &alias, many);
    let parts = vec![text("UPDATE"), Part::Head(false), text(" "), part];
    let rest = [text(" SET "), set, conditions];
    Part::block(parts.into_iter().chain(rest).collect(), Vec::new())
}

fn delete_many(g: &mut Grower<'_>, table: &Table, many: usize) -> Part {
    let alias = g.name("a");
    let (part, conditions) = joined(g, table, &alias, many);
    let head = text(format!(" {alias} FROM "));
    let parts = vec![text("DELETE"), Part::Head(false), head, part, conditions];
    Part::block(parts, Vec::new())
}

fn joined(g: &mut Grower<'_>, table: &Table, alias: &str, many: usize) -> (Part, Part) {
    let From {
        part,
        own,
        conditions: links,
    } = from_table(g, table.number, alias, many);
    let scope = Scope {
        own,
        outer: Vec::new(),
    };
    let conditions = conditions(g, &scope, links);
    (part, conditions)
}
