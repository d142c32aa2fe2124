//! Statements that change rows, and what opens and ends their transactions.
//!
//! Each says in which order it goes through its rows, since what a foreign key allows depends on that; tables that are joined are so
//! few and so ordered that no plan has a choice.

use super::script::{Dice, Statement};
use super::source::{Field, Source, condition, expression};
use super::tables::{Step, value};
use super::world::{Effect, Of, World};

/// A statement that changes rows.
pub fn change(dice: &mut Dice, world: &World) -> Option<Step> {
    let statement = match dice.below(100) {
        0..=29 => insert(dice, world)?,
        30..=35 => insert_select(dice, world)?,
        36..=43 => replace(dice, world)?,
        44..=68 => update(dice, world)?,
        69..=84 => delete(dice, world)?,
        85..=92 => update_two(dice, world)?,
        _ => delete_two(dice, world)?,
    };
    Some((statement, Effect::None))
}

fn writable(source: &Source) -> Vec<&Field> {
    let fields = source.fields.iter();
    fields
        .filter(|f| f.base.is_some() && !f.generated)
        .collect()
}

/// The columns of an INSERT: all that can be written, or some.
fn chosen<'s>(dice: &mut Dice, source: &'s Source) -> Vec<&'s Field> {
    let all = writable(source);
    if dice.chance(65) {
        return all;
    }
    let mut some = Vec::new();
    for field in all {
        let needed = source.needed.contains(&field.name);
        if dice.chance(if needed { 98 } else { 70 }) {
            some.push(field);
        }
    }
    // Now and then a generated one, by DEFAULT.
    let mut generated = source
        .fields
        .iter()
        .filter(|f| f.generated && f.base.is_some());
    if dice.chance(10) {
        some.extend(generated.next());
    }
    some
}

fn cell(dice: &mut Dice, field: &Field) -> String {
    match field.generated {
        true => "DEFAULT".to_owned(),
        _ if field.null && dice.chance(4) => "DEFAULT".to_owned(),
        // A NULL where none may be is an error, once in a while.
        _ => {
            let null = field.null || dice.chance(3);
            value(dice, field.of, null)
        }
    }
}

fn rows(dice: &mut Dice, fields: &[&Field]) -> Vec<String> {
    let count = dice.pick(&[1, 1, 2, 3, 4, 6]).copied().unwrap_or(1);
    (0..count)
        .map(|_| {
            let cells: Vec<String> = fields.iter().map(|f| cell(dice, f)).collect();
            format!("({})", cells.join(", "))
        })
        .collect()
}

fn names(fields: &[&Field]) -> String {
    let names: Vec<&str> = fields.iter().map(|f| f.name.as_str()).collect();
    names.join(", ")
}

/// INSERT of rows.
pub fn insert(dice: &mut Dice, world: &World) -> Option<Statement> {
    let into = match dice.chance(25) {
        true => Source::any(dice, world, 100)?,
        false => Source::written(dice, world)?,
    };
    let mut fields = chosen(dice, &into);
    if fields.is_empty() || !into.takes_rows() {
        return None;
    }
    let mut ignore = dice.word(&["", "", "", "", "IGNORE "]);
    let mut tail = String::new();
    if !into.joins && dice.chance(28) {
        // What the update assigns counts as given in MariaDB, and not in MySQL.
        fields = writable(&into);
        ignore = if dice.chance(8) { "IGNORE " } else { "" };
        tail = format!(
            " ON DUPLICATE KEY UPDATE {}",
            assignments(dice, world, &into, true)?
        );
    }
    let head = format!(
        "INSERT {ignore}INTO {} ({}) VALUES ",
        into.name,
        names(&fields)
    );
    Some(Statement::list(head, rows(dice, &fields), tail))
}

fn assignments(dice: &mut Dice, world: &World, source: &Source, duplicate: bool) -> Option<String> {
    let mut all = writable(source);
    // An orphan whose entry in an index is made anew is looked at again by InnoDB, and not by us (decision 0034).
    let table = source.table.as_ref().and_then(|name| world.table(name));
    if let Some(table) = table.filter(|t| world.orphans && !t.foreign.is_empty()) {
        all.retain(|f| f.base.as_ref().is_some_and(|base| table.unindexed(base)));
    }
    let mut done: Vec<String> = Vec::new();
    for _ in 0..1 + dice.below(2) {
        let field = dice.pick(&all)?;
        let null = field.null || dice.chance(2);
        let new = match duplicate && dice.chance(40) {
            true => format!("VALUES({})", field.name),
            false => expression(dice, source, field.of, null, ""),
        };
        let text = format!("{} = {new}", field.name);
        if !done
            .iter()
            .any(|d| d.starts_with(&format!("{} =", field.name)))
        {
            done.push(text);
        }
    }
    Some(done.join(", "))
}

fn insert_select(dice: &mut Dice, world: &World) -> Option<Statement> {
    let into = Source::written(dice, world)?;
    let from = Source::any(dice, world, 40)?;
    if from.order.is_empty() || from.joins || !into.takes_rows() {
        return None;
    }
    // A column that is missing is an error in MariaDB also where there is no row.
    let fields = writable(&into);
    let cells: Vec<String> = fields
        .iter()
        .filter(|f| !f.generated)
        .map(|f| expression(dice, &from, f.of, f.null, ""))
        .collect();
    let fields: Vec<&Field> = fields.into_iter().filter(|f| !f.generated).collect();
    if fields.is_empty() {
        return None;
    }
    let ignore = dice.word(&["", "", "", "IGNORE "]);
    let limit = dice.pick(&["", " LIMIT 3"]).copied().unwrap_or_default();
    Some(Statement::plain(format!(
        "INSERT {ignore}INTO {} ({}) SELECT {} FROM {} WHERE {}{}{limit}",
        into.name,
        names(&fields),
        cells.join(", "),
        from.name,
        condition(dice, &from, ""),
        from.ordered(dice)
    )))
}

fn replace(dice: &mut Dice, world: &World) -> Option<Statement> {
    let into = Source::written(dice, world)?;
    let fields = chosen(dice, &into);
    if fields.is_empty() || !into.takes_rows() {
        return None;
    }
    let head = format!("REPLACE INTO {} ({}) VALUES ", into.name, names(&fields));
    Some(Statement::list(head, rows(dice, &fields), ""))
}

/// Conditions that choose the rows of a change. Where the change can come back to the table, by the key alone: whether a row that it
/// has changed on the way is looked at again depends on the plan.
fn which(dice: &mut Dice, world: &World, source: &Source) -> Option<String> {
    let circles = source.table.as_ref().is_some_and(|t| world.circles(t));
    let by_key = || {
        source.fields.iter().find(|f| {
            let is_first = Some(&f.name) == source.order.first();
            is_first && f.of == Of::Int
        })
    };
    if !circles && !dice.chance(30) {
        let one = condition(dice, source, "");
        return Some(match dice.below(5) {
            0 => format!("{one} AND {}", condition(dice, source, "")),
            1 => format!("({one} OR {})", condition(dice, source, "")),
            _ => one,
        });
    }
    let key = &by_key()?.name;
    let first = value(dice, Of::Int, false);
    Some(match dice.below(4) {
        0 => format!("{key} = {first}"),
        1 => format!("{key} >= {first}"),
        2 => format!("{key} <= {first}"),
        _ => format!("{key} IN ({first}, {})", value(dice, Of::Int, false)),
    })
}

fn limit(dice: &mut Dice, source: &Source) -> &'static str {
    match source.joins || source.order.is_empty() {
        true => "",
        false => dice.word(&["", "", "", "", " LIMIT 1", " LIMIT 2"]),
    }
}

fn update(dice: &mut Dice, world: &World) -> Option<Statement> {
    let source = Source::written(dice, world)?;
    if source.order.is_empty() {
        return None;
    }
    let ignore = dice.word(&["", "", "", "", "", "IGNORE "]);
    let set = assignments(dice, world, &source, false)?;
    let which = which(dice, world, &source)?;
    Some(Statement::plain(format!(
        "UPDATE {ignore}{} SET {set} WHERE {which}{}{}",
        source.name,
        source.ordered(dice),
        limit(dice, &source)
    )))
}

fn delete(dice: &mut Dice, world: &World) -> Option<Statement> {
    let source = Source::written(dice, world)?;
    if source.order.is_empty() {
        return None;
    }
    let ignore = dice.word(&["", "", "", "", "", "IGNORE "]);
    let which = which(dice, world, &source)?;
    Some(Statement::plain(format!(
        "DELETE {ignore}FROM {} WHERE {which}{}{}",
        source.name,
        source.ordered(dice),
        limit(dice, &source)
    )))
}

/// A table, in the order of its primary key, and beside each of its rows the one of another by the whole primary key of that.
struct Pair {
    first: Source,
    second: Source,
    joined: String,
}

fn pair(dice: &mut Dice, world: &World) -> Option<Pair> {
    let first = dice.pick(&world.tables)?;
    let second = dice.pick(&world.tables)?;
    // InnoDB scans on after it has deleted a row and those below it; here all rows are found first (decision 0034).
    let both = [&first.name, &second.name];
    let touches = both
        .iter()
        .any(|a| both.iter().any(|b| world.reaches(a, b)));
    if first.name == second.name || touches || second.primary().len() != 1 {
        return None;
    }
    let (first, second) = (Source::table(first), Source::table(second));
    let left = dice.pick(&first.named(Of::Int))?.name.clone();
    let key = &second.order[0];
    let joined = format!(
        "{} x FORCE INDEX (PRIMARY) STRAIGHT_JOIN {} y ON y.{key} = x.{left}",
        first.name, second.name
    );
    Some(Pair {
        first,
        second,
        joined,
    })
}

fn by_key(dice: &mut Dice, pair: &Pair) -> String {
    let key = &pair.first.order[0];
    let from = value(dice, Of::Int, false);
    match dice.below(3) {
        0 => format!("x.{key} = {from}"),
        1 => format!("x.{key} >= {from}"),
        _ => format!("x.{key} < {from}"),
    }
}

fn update_two(dice: &mut Dice, world: &World) -> Option<Statement> {
    let pair = pair(dice, world)?;
    let ones = writable(&pair.first);
    let twos = writable(&pair.second);
    let (one, two) = (dice.pick(&ones)?, dice.pick(&twos)?);
    let mut set = Vec::new();
    // What says which rows go together stays as it is.
    let joins = |prefix: &str, name: &str| pair.joined.ends_with(&format!(" = {prefix}{name}"));
    if world.orphans {
        return None;
    }
    let ones_free = !joins("x.", &one.name) && !pair.first.order.contains(&one.name);
    if ones_free && dice.chance(70) {
        let from = expression(dice, &pair.second, one.of, one.null, "y.");
        set.push(format!("x.{} = {from}", one.name));
    }
    if !pair.second.order.contains(&two.name) && (set.is_empty() || dice.chance(50)) {
        let literal = value(dice, two.of, two.null);
        set.push(format!("y.{} = {literal}", two.name));
    }
    if set.is_empty() {
        return None;
    }
    let which = by_key(dice, &pair);
    Some(Statement::plain(format!(
        "UPDATE {} SET {} WHERE {which}",
        pair.joined,
        set.join(", ")
    )))
}

fn delete_two(dice: &mut Dice, world: &World) -> Option<Statement> {
    let pair = pair(dice, world)?;
    let from = dice.word(&["x", "y", "x, y"]);
    let which = by_key(dice, &pair);
    Some(Statement::plain(format!(
        "DELETE {from} FROM {} WHERE {which}",
        pair.joined
    )))
}

/// What opens and ends transactions, and what turns the checks of foreign keys off and on.
pub fn control(dice: &mut Dice, world: &World) -> Step {
    let plain = |text: &str, effect| (Statement::plain(text), effect);
    if !world.open {
        return match dice.below(10) {
            0 => plain("SET foreign_key_checks = 0", Effect::Unchecked(6)),
            1 => plain("ROLLBACK", Effect::End),
            _ => plain(dice.word(&["BEGIN", "START TRANSACTION"]), Effect::Begin),
        };
    }
    match dice.below(12) {
        0 | 1 => plain("COMMIT", Effect::End),
        2 | 3 => plain("ROLLBACK", Effect::End),
        4 => plain("SET foreign_key_checks = 0", Effect::Unchecked(6)),
        5..=8 => {
            let name = dice.word(&["p1", "p2", "p3"]);
            plain(
                &format!("SAVEPOINT {name}"),
                Effect::Savepoint(name.to_owned()),
            )
        }
        _ => match dice.pick(&world.savepoints).cloned() {
            None => plain("COMMIT", Effect::End),
            Some(name) if dice.chance(70) => plain(
                &format!("ROLLBACK TO {name}"),
                Effect::Back(name.clone(), true),
            ),
            Some(name) => {
                let text = format!("RELEASE SAVEPOINT {name}");
                plain(&text, Effect::Back(name.clone(), false))
            }
        },
    }
}
