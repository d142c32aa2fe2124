//! Changes of definitions: constraints, indexes and columns come and go, tables are renamed, emptied and dropped.

use super::script::{Dice, Statement};
use super::tables::{
    Step, check, check_definition, create, definition, foreign, foreign_definition, generated, key,
    key_definition, virtual_beside,
};
use super::views;
use super::world::{Column, Effect, Of, Table, World};

/// So many tables at most.
const TABLES: usize = 7;

/// The least number of tables that a DROP leaves.
const LEAST: usize = 3;

/// A change of definitions; none where what was drawn fits nothing.
pub fn change(dice: &mut Dice, world: &mut World) -> Option<Step> {
    if dice.chance(22) {
        return views::change(dice, world);
    }
    if world.tables.len() < LEAST || (world.tables.len() < TABLES && dice.chance(12)) {
        return Some(create(dice, world));
    }
    let table = dice.pick(&world.tables)?.clone();
    let name = table.name.clone();
    match dice.below(100) {
        0..=5 if world.tables.len() > LEAST => Some(drop_table(dice, world, &table)),
        0..=9 => Some((
            Statement::plain(format!("TRUNCATE TABLE {name}")),
            Effect::None,
        )),
        10..=15 => {
            let to = world.name("t");
            let text = match dice.chance(50) {
                true => format!("RENAME TABLE {name} TO {to}"),
                false => format!("ALTER TABLE {name} RENAME TO {to}"),
            };
            let mut table = table;
            table.name = to;
            Some((
                Statement::plain(text),
                Effect::Table(Some(name), Box::new(table)),
            ))
        }
        16..=21 => rename_column(dice, world, &table),
        22..=37 => add_foreign(dice, world, table),
        38..=45 => {
            let at = dice.below(table.foreign.len() as u64);
            let mut table = table;
            let gone = at_least(&mut table.foreign, at)?;
            Some(altered(table, &format!("DROP FOREIGN KEY {}", gone.name)))
        }
        46..=53 => {
            let check = check(dice, world, &table)?;
            let mut table = table;
            let text = match check.enforced {
                true => format!("ADD {}", check_definition(&check)),
                false => return None,
            };
            table.checks.push(check);
            Some(altered(table, &text))
        }
        54..=60 => change_check(dice, table),
        61..=70 => add_column(dice, world, table),
        71..=76 => drop_column(dice, world, table),
        77..=89 => {
            let key = key(dice, world, &table)?;
            let mut table = table;
            let text = format!("ADD {}", key_definition(&key));
            table.keys.push(key);
            Some(altered(table, &text))
        }
        // MySQL keeps the index of a parent also while the checks are off.
        _ if world.unchecked == 0 => {
            let mut table = table;
            let at = 1 + dice.below((table.keys.len() as u64).saturating_sub(1));
            let gone = at_least(&mut table.keys, at)?;
            Some(altered(table, &format!("DROP INDEX {}", gone.name)))
        }
        _ => None,
    }
}

fn at_least<T>(all: &mut Vec<T>, at: u64) -> Option<T> {
    let at = usize::try_from(at).ok()?;
    (at < all.len()).then(|| all.remove(at))
}

fn altered(table: Table, what: &str) -> Step {
    let name = table.name.clone();
    let statement = Statement::plain(format!("ALTER TABLE {name} {what}"));
    (statement, Effect::Table(Some(name), Box::new(table)))
}

fn drop_table(dice: &mut Dice, world: &World, table: &Table) -> Step {
    // Without checks a child would be left with a parent that is gone.
    if world.unchecked > 0 && world.is_parent(&table.name) && !dice.chance(20) {
        let statement = Statement::plain("SET foreign_key_checks = 1");
        return (statement, Effect::Unchecked(0));
    }
    let statement = Statement::plain(format!("DROP TABLE {}", table.name));
    (statement, Effect::Dropped(table.name.clone()))
}

fn rename_column(dice: &mut Dice, world: &mut World, table: &Table) -> Option<Step> {
    let column = dice.pick(&table.columns)?.clone();
    // What an expression reads keeps its name: MySQL refuses it, MariaDB changes the expression.
    if table.computed_from(&column.name) || table.checked(&column.name) {
        return None;
    }
    let to = world.name(if column.of == Of::Int { "c" } else { "s" });
    let statement = Statement::plain(format!(
        "ALTER TABLE {} RENAME COLUMN {} TO {to}",
        table.name, column.name
    ));
    let effect = Effect::Renamed {
        table: table.name.clone(),
        from: column.name,
        to,
    };
    Some((statement, effect))
}

fn add_foreign(dice: &mut Dice, world: &mut World, mut table: Table) -> Option<Step> {
    let foreign = foreign(dice, world, &table)?;
    let text = format!("ADD {}", foreign_definition(&foreign));
    table.foreign.push(foreign);
    Some(altered(table, &text))
}

fn change_check(dice: &mut Dice, mut table: Table) -> Option<Step> {
    let at = usize::try_from(dice.below(table.checks.len() as u64)).ok()?;
    let check = table.checks.get_mut(at)?;
    let name = check.name.clone();
    if check.enforced && dice.chance(60) {
        table.checks.remove(at);
        return Some(altered(table, &format!("DROP ⟦CHECK¦CONSTRAINT⟧ {name}")));
    }
    check.enforced = !check.enforced;
    let (ours, theirs) = match check.enforced {
        true => ("ENFORCED", format!("ADD {}", check_definition(check))),
        false => ("NOT ENFORCED", format!("DROP CONSTRAINT {name}")),
    };
    let text = format!("⟦ALTER CHECK {name} {ours}¦{theirs}⟧");
    Some(altered(table, &text))
}

fn add_column(dice: &mut Dice, world: &mut World, mut table: Table) -> Option<Step> {
    if table.columns.len() > 9 {
        return None;
    }
    let column = match dice.chance(60) {
        true => {
            let column = generated(dice, world, &table);
            if world.is_parent(&table.name) && virtual_beside(&column) {
                return None;
            }
            column
        }
        false => {
            let of = if dice.chance(70) { Of::Int } else { Of::Text };
            let (null, default) = (dice.chance(70), dice.chance(80));
            Column {
                name: world.name(if of == Of::Int { "c" } else { "s" }),
                of,
                null,
                default: default || null,
                generated: None,
            }
        }
    };
    let mut text = format!("ADD COLUMN {}", definition(&column));
    let at = match dice.below(4) {
        0 if column.generated.is_none() => {
            text.push_str(" FIRST");
            0
        }
        1 if column.generated.is_none() => {
            let at = usize::try_from(dice.below(table.columns.len() as u64)).ok()?;
            text.push_str(&format!(" AFTER {}", table.columns[at].name));
            at + 1
        }
        _ => table.columns.len(),
    };
    if dice.chance(25) {
        let key = super::world::Key {
            name: world.name("k"),
            columns: vec![column.name.clone()],
            unique: false,
        };
        text.push_str(&format!(", ADD {}", key_definition(&key)));
        table.keys.push(key);
    }
    table.columns.insert(at, column);
    Some(altered(table, &text))
}

fn drop_column(dice: &mut Dice, world: &World, mut table: Table) -> Option<Step> {
    let column = dice.pick(&table.columns)?.clone();
    let name = column.name.clone();
    // MySQL refuses what an expression reads (3108, 3959), and so does MariaDB, but for constraints of that column alone.
    let foreign = |f: &super::world::Foreign| f.columns.contains(&name);
    if table.checked(&name)
        || table.computed_from(&name)
        || table.primary().contains(&name)
        || table.foreign.iter().any(foreign)
        || world.referred(&table.name, &name)
    {
        return None;
    }
    // A unique index of what is left could be one of equal rows.
    if table
        .keys
        .iter()
        .any(|k| k.unique && k.columns.len() > 1 && k.columns.contains(&name))
    {
        return None;
    }
    table.columns.retain(|c| c.name != name);
    for key in &mut table.keys {
        key.columns.retain(|c| *c != name);
    }
    table.keys.retain(|k| !k.columns.is_empty());
    Some(altered(table, &format!("DROP COLUMN {name}")))
}
