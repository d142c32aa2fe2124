//! New tables: columns, generated columns, keys, CHECK constraints and foreign keys.
//!
//! What MySQL allows is made here, and little else: what is refused tests no rows. Where MySQL refuses and MariaDB does not, nothing is
//! made, since the two would go on from different tables.

use super::script::{Dice, Statement};
use super::world::{
    Action, Check, Column, Effect, Foreign, Generated, Kept, Key, Of, Table, World,
};

/// A statement, and what it does when it succeeds.
pub type Step = (Statement, Effect);

const ENDING: &str = ") DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_general_ci";

/// A literal for a column.
pub fn value(dice: &mut Dice, of: Of, null: bool) -> String {
    if null && dice.chance(18) {
        return "NULL".to_owned();
    }
    match of {
        Of::Int if dice.chance(3) => "-1".to_owned(),
        Of::Int => dice.below(9).to_string(),
        Of::Text => {
            let texts = ["'a'", "'b'", "'c'", "'A'", "'ab'", "'d'", "'B '", "''"];
            dice.word(&texts).to_owned()
        }
    }
}

/// CREATE TABLE of a new table.
pub fn create(dice: &mut Dice, world: &mut World) -> Step {
    let mut table = Table {
        name: world.name("t"),
        columns: columns(dice),
        keys: Vec::new(),
        foreign: Vec::new(),
        checks: Vec::new(),
    };
    table.keys.push(primary(dice, &mut table.columns));
    for _ in 0..dice.below(3) {
        let column = generated(dice, world, &table);
        if dice.chance(60) {
            table.keys.push(Key {
                name: world.name("k"),
                columns: vec![column.name.clone()],
                unique: false,
            });
        }
        table.columns.push(column);
    }
    for _ in 0..1 + dice.below(4) {
        if let Some(key) = key(dice, world, &table) {
            table.keys.push(key);
        }
    }
    if dice.chance(35) {
        for _ in 0..1 + dice.below(2) {
            table.checks.extend(check(dice, world, &table));
        }
    }
    let wanted = [0, 1, 1, 1, 2, 2, 3];
    for _ in 0..dice.pick(&wanted).copied().unwrap_or(1) {
        table.foreign.extend(foreign(dice, world, &table));
    }
    let mut items = Vec::new();
    let mut rest = String::new();
    let mut of_columns: Vec<&str> = Vec::new();
    for column in &table.columns {
        let mut text = definition(column);
        // A constraint behind its column has a name with MySQL alone.
        let own = table.checks.iter().find(|c| {
            c.reads == [column.name.clone()] && c.enforced && !of_columns.contains(&c.name.as_str())
        });
        if let Some(check) = own.filter(|_| dice.chance(50)) {
            of_columns.push(&check.name);
            let condition = &check.condition;
            text.push_str(&format!(
                "⟦ CONSTRAINT {} CHECK ({condition})¦⟧",
                check.name
            ));
            rest.push_str(&format!(
                "⟦¦, CONSTRAINT {} CHECK ({condition})⟧",
                check.name
            ));
        }
        items.push(text);
    }
    items.extend(table.keys.iter().map(key_definition));
    let checks = table.checks.iter();
    items.extend(
        checks
            .filter(|c| !of_columns.contains(&c.name.as_str()))
            .map(check_definition),
    );
    items.extend(table.foreign.iter().map(foreign_definition));
    let head = format!("CREATE TABLE {} (", table.name);
    let statement = Statement::list(head, items, rest + ENDING);
    (statement, Effect::Table(None, Box::new(table)))
}

fn columns(dice: &mut Dice) -> Vec<Column> {
    let column = |name: &str, of, null, default| Column {
        name: name.to_owned(),
        of,
        null,
        default: default || null,
        generated: None,
    };
    let mut columns = vec![column("id", Of::Int, false, false)];
    for name in ["a", "b", "c"] {
        if !dice.chance(20) {
            let (null, default) = (dice.chance(75), dice.chance(40));
            columns.push(column(name, Of::Int, null, default));
        }
    }
    for name in ["s", "u"] {
        if dice.chance(40) {
            let (null, default) = (dice.chance(75), dice.chance(40));
            columns.push(column(name, Of::Text, null, default));
        }
    }
    columns
}

fn primary(dice: &mut Dice, columns: &mut [Column]) -> Key {
    let mut parts = vec!["id".to_owned()];
    if dice.chance(25)
        && let Some(other) = columns.iter_mut().skip(1).find(|c| c.of == Of::Int)
    {
        other.null = false;
        parts.push(other.name.clone());
    }
    Key {
        name: "PRIMARY".to_owned(),
        columns: dice.shuffled(parts),
        unique: true,
    }
}

/// A generated column more.
pub fn generated(dice: &mut Dice, world: &mut World, table: &Table) -> Column {
    let plain = |of| {
        let columns = table.columns.iter();
        columns
            .filter(|c| c.of == of && c.generated.as_ref().is_none_or(|g| g.kept == Kept::Virtual))
            .map(|c| c.name.clone())
            .collect::<Vec<_>>()
    };
    let ints = dice.shuffled(plain(Of::Int));
    let texts = dice.shuffled(plain(Of::Text));
    let first = ints.first().cloned().unwrap_or_default();
    let second = ints.get(1).cloned().unwrap_or_else(|| first.clone());
    let text = texts.first().cloned();
    let (of, expression, read) = match (dice.below(8), text) {
        (0, _) => (Of::Int, format!("{first} + 1"), vec![first]),
        (1, _) => (Of::Int, format!("{first} % 3"), vec![first]),
        (2, _) => (Of::Int, format!("IFNULL({first}, -1)"), vec![first]),
        (3, _) => {
            let sum = format!("{first} * 2 + IFNULL({second}, 0)");
            (Of::Int, sum, vec![first, second])
        }
        (4, _) => (
            Of::Int,
            format!("{first} <=> {second}"),
            vec![first, second],
        ),
        (5, Some(text)) => (Of::Int, format!("CHAR_LENGTH({text})"), vec![text]),
        (6, Some(text)) => (Of::Text, format!("UPPER(LEFT({text}, 1))"), vec![text]),
        (_, Some(text)) => {
            let both = format!("CONCAT(LEFT({text}, 2), IFNULL({first}, 'n'))");
            (Of::Text, both, vec![text, first])
        }
        _ => (Of::Int, format!("{first} - {second}"), vec![first, second]),
    };
    let mut reads = read;
    for name in reads.clone() {
        if let Some(of) = table.column(&name).and_then(|c| c.generated.as_ref()) {
            reads.extend(of.reads.clone());
        }
    }
    reads.sort();
    reads.dedup();
    let assigned = reads.iter().any(|r| table.assigned(r));
    let kept = match dice.below(5) {
        0 | 1 => Kept::Virtual,
        2 | 3 if !assigned => Kept::Stored,
        _ => Kept::StoredHere,
    };
    Column {
        name: world.name(if of == Of::Int { "g" } else { "h" }),
        of,
        null: true,
        default: true,
        generated: Some(Generated {
            text: expression,
            reads,
            kept,
        }),
    }
}

/// Whether it is a virtual column in MariaDB.
pub fn virtual_beside(column: &Column) -> bool {
    let kept = column.generated.as_ref().map(|g| g.kept);
    kept.is_some_and(|kept| kept != Kept::Stored)
}

/// The definition of a column.
pub fn definition(column: &Column) -> String {
    let of = match column.of {
        Of::Int => "INT",
        Of::Text if column.generated.is_some() => "VARCHAR(14)",
        Of::Text => "VARCHAR(8)",
    };
    let name = &column.name;
    if let Some(generated) = &column.generated {
        let kept = match generated.kept {
            Kept::Virtual => "VIRTUAL",
            Kept::Stored => "STORED",
            Kept::StoredHere => "⟦STORED¦VIRTUAL⟧",
        };
        return format!("{name} {of} AS ({}) {kept}", generated.text);
    }
    let null = if column.null { "" } else { " NOT NULL" };
    let default = match (column.default && !column.null, column.of) {
        (false, _) => "",
        (true, Of::Int) => " DEFAULT 3",
        (true, Of::Text) => " DEFAULT 'b'",
    };
    format!("{name} {of}{null}{default}")
}

/// Another index; none where the columns drawn make none.
pub fn key(dice: &mut Dice, world: &mut World, table: &Table) -> Option<Key> {
    let mut columns: Vec<String> = Vec::new();
    for _ in 0..1 + dice.below(2) {
        let column = &dice.pick(&table.columns)?.name;
        if !columns.contains(column) {
            columns.push(column.clone());
        }
    }
    // What is computed is often the same in two rows.
    let computed = |c: &String| table.column(c).is_some_and(|c| c.generated.is_some());
    let unique = dice.chance(if columns.iter().any(computed) { 12 } else { 30 });
    Some(Key {
        name: world.name("k"),
        columns,
        unique,
    })
}

/// The definition of an index.
pub fn key_definition(key: &Key) -> String {
    let columns = key.columns.join(", ");
    match (key.name.as_str(), key.unique) {
        ("PRIMARY", _) => format!("PRIMARY KEY ({columns})"),
        (name, true) => format!("UNIQUE KEY {name} ({columns})"),
        (name, false) => format!("KEY {name} ({columns})"),
    }
}

/// Another CHECK constraint. What actions of foreign keys assign to is left alone: MySQL refuses that (3823).
pub fn check(dice: &mut Dice, world: &mut World, table: &Table) -> Option<Check> {
    let free = |c: &&Column| {
        let reads = c.generated.as_ref().map_or(&[][..], |g| &g.reads);
        !table.assigned(&c.name) && !reads.iter().any(|r| table.assigned(r))
    };
    let columns: Vec<&Column> = table.columns.iter().filter(free).collect();
    let first = *dice.pick(&columns)?;
    let others: Vec<&Column> = columns
        .iter()
        .copied()
        .filter(|c| c.of == first.of && c.name != first.name)
        .collect();
    let name = &first.name;
    let mut reads = vec![name.clone()];
    let condition = match (first.of, dice.below(4), dice.pick(&others)) {
        (of, 0, Some(second)) => {
            reads.push(second.name.clone());
            match of {
                Of::Int => format!("{name} + {} < 14", second.name),
                Of::Text => format!("{name} <> {}", second.name),
            }
        }
        (Of::Int, 0 | 1, _) => format!("{name} < {}", 6 + dice.below(4)),
        (Of::Int, 2, _) => format!("{name} IS NULL OR {name} NOT IN (4, 7)"),
        (Of::Int, ..) => format!("IFNULL({name}, 0) >= 0"),
        (Of::Text, 0 | 1, _) => format!("{name} <> 'c'"),
        (Of::Text, 2, _) => format!("CHAR_LENGTH({name}) > 0"),
        (Of::Text, ..) => format!("COALESCE({name}, 'a') LIKE '%a%' OR {name} = 'b'"),
    };
    Some(Check {
        name: world.name("ck"),
        condition,
        reads,
        enforced: !dice.chance(12),
    })
}

/// The definition of a constraint.
pub fn check_definition(check: &Check) -> String {
    let text = format!("CONSTRAINT {} CHECK ({})", check.name, check.condition);
    match check.enforced {
        true => text,
        false => format!("⟦{text} NOT ENFORCED¦⟧"),
    }
}

/// A foreign key of the table; none where nothing fits the parent that was drawn.
pub fn foreign(dice: &mut Dice, world: &mut World, table: &Table) -> Option<Foreign> {
    let own = dice.chance(22);
    let parent = match own {
        true => table.clone(),
        false => dice.pick(&world.tables)?.clone(),
    };
    let own = own || parent.name == table.name;
    // Where one column of a parent's key and a virtual column change MariaDB takes the whole key for changed.
    if parent.columns.iter().any(virtual_beside) {
        return None;
    }
    let stored = |table: &Table, column: &Column| match &column.generated {
        None => true,
        Some(g) => g.kept == Kept::Stored && !g.reads.iter().any(|r| table.assigned(r)),
    };
    // The columns of an index from its first one on.
    let key = dice.pick(&parent.keys)?.clone();
    let least = if key.unique && dice.chance(80) {
        key.columns.len()
    } else {
        1 + usize::try_from(dice.below(key.columns.len() as u64)).unwrap_or(0)
    };
    let parent_columns = key.columns[..least].to_vec();
    let mut columns: Vec<String> = Vec::new();
    for name in &parent_columns {
        let column = parent.column(name)?;
        if !stored(&parent, column) {
            return None;
        }
        let fits = |c: &&Column| {
            c.of == column.of
                && (c.of == Of::Int || c.generated.is_some() == column.generated.is_some())
                && stored(table, c)
                && !columns.contains(&c.name)
                && !(own && parent_columns.contains(&c.name))
        };
        let all: Vec<&Column> = table.columns.iter().filter(fits).collect();
        columns.push(dice.pick(&all)?.name.clone());
    }
    let (on_delete, mut on_update) = actions(dice, table, &columns, own)?;
    // MariaDB refuses what could assign NULL to a column that is NOT NULL.
    let nulls = columns.iter().zip(&parent_columns).any(|(child, of)| {
        let null = |table: &Table, name: &str| table.column(name).is_some_and(|c| c.null);
        null(&parent, of) && !null(table, child)
    });
    if nulls && on_update == Action::Cascade {
        on_update = Action::Nothing;
    }
    Some(Foreign {
        name: world.name("f"),
        columns,
        parent: parent.name.clone(),
        parent_columns,
        on_delete,
        on_update,
    })
}

/// Actions that MySQL allows for these columns of the child.
fn actions(
    dice: &mut Dice,
    table: &Table,
    columns: &[String],
    own: bool,
) -> Option<(Action, Action)> {
    let all = [
        Action::Unsaid,
        Action::Nothing,
        Action::Restrict,
        Action::Cascade,
        Action::Cascade,
        Action::Cascade,
        Action::SetNull,
        Action::SetNull,
    ];
    let mut on_delete = *dice.pick(&all)?;
    let mut on_update = *dice.pick(&all)?;
    let has = |wrong: &dyn Fn(&Column) -> bool| {
        let mut found = columns.iter().filter_map(|c| table.column(c));
        found.any(wrong)
    };
    let not_null = has(&|c: &Column| !c.null);
    // What is computed cannot be assigned, what a constraint reads must not be.
    let fixed = has(&|c: &Column| c.generated.is_some() || table.checked(&c.name));
    // Of what a column is computed from that is stored in both servers MariaDB allows no action at all.
    let stored = has(&|c: &Column| {
        let mut generated = table.columns.iter().filter_map(|of| of.generated.as_ref());
        generated.any(|g| g.kept == Kept::Stored && g.reads.contains(&c.name))
    });
    if stored && on_delete.acts() {
        on_delete = Action::Restrict;
    }
    if (not_null || fixed) && on_delete == Action::SetNull {
        on_delete = Action::Cascade;
    }
    if not_null && on_update == Action::SetNull {
        on_update = Action::Cascade;
    }
    if (fixed || stored) && on_update.acts() {
        on_update = Action::Restrict;
    }
    // A row that refers to its own table cannot follow an update: it is refused all the same.
    if own && on_update.acts() && dice.chance(60) {
        on_update = Action::Nothing;
    }
    Some((on_delete, on_update))
}

/// The definition of a foreign key.
pub fn foreign_definition(foreign: &Foreign) -> String {
    format!(
        "CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {} ({}){}{}",
        foreign.name,
        foreign.columns.join(", "),
        foreign.parent,
        foreign.parent_columns.join(", "),
        foreign.on_delete.clause("DELETE"),
        foreign.on_update.clause("UPDATE")
    )
}
