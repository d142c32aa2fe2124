//! Views and queries: made, replaced, nested, read and joined.

use super::script::{Dice, Statement};
use super::source::{Source, condition};
use super::tables::Step;
use super::world::{Effect, Of, View, ViewColumn, World};

/// So many views at most.
const VIEWS: usize = 7;

/// A view is made, replaced, or dropped.
pub fn change(dice: &mut Dice, world: &mut World) -> Option<Step> {
    let full = world.views.len() >= VIEWS;
    if full || dice.chance(20) {
        let name = dice.pick(&world.views)?.name.clone();
        let statement = Statement::plain(format!("DROP VIEW {name}"));
        return Some((statement, Effect::ViewDropped(name)));
    }
    if dice.chance(25) {
        let name = dice.pick(&world.views)?.name.clone();
        let (text, view) = view(dice, world, name)?;
        // ALTER with UNDEFINED keeps the algorithm that there is in MySQL, and not in MariaDB.
        let said = text.starts_with("ALGORITHM = MERGE") || text.starts_with("ALGORITHM = TEMP");
        let verb = match said && dice.chance(50) {
            true => "ALTER ",
            false => "CREATE OR REPLACE ",
        };
        return Some((
            Statement::plain(format!("{verb}{text}")),
            Effect::View(view),
        ));
    }
    create(dice, world)
}

/// CREATE VIEW of a new view.
pub fn create(dice: &mut Dice, world: &mut World) -> Option<Step> {
    let name = world.name("v");
    let (text, view) = view(dice, world, name)?;
    Some((
        Statement::plain(format!("CREATE {text}")),
        Effect::View(view),
    ))
}

fn view(dice: &mut Dice, world: &World, name: String) -> Option<(String, View)> {
    let mut below = Source::any(dice, world, 50)?;
    // Mostly one that rows can be written through.
    if (below.fixed || below.joins) && dice.chance(75) {
        below = Source::written(dice, world)?;
    }
    // Of itself, or of one that was joined, nothing more is made here.
    if below.name == name {
        return None;
    }
    match dice.below(12) {
        0 => grouped(dice, below, name),
        1 => joined(dice, world, below, name),
        _ => plain(dice, below, name),
    }
}

fn algorithm(dice: &mut Dice) -> &'static str {
    if dice.chance(10) {
        return "ALGORITHM = TEMPTABLE ";
    }
    dice.word(&["", "", "ALGORITHM = MERGE ", "ALGORITHM = UNDEFINED "])
}

fn plain(dice: &mut Dice, below: Source, name: String) -> Option<(String, View)> {
    let algorithm = algorithm(dice);
    let mut columns = Vec::new();
    let mut list = Vec::new();
    for field in &below.fields {
        let keeps = below.order.contains(&field.name);
        if dice.chance(if keeps { 4 } else { 18 }) {
            continue;
        }
        let new = match dice.chance(15) {
            true => format!("{}x", field.name),
            false => field.name.clone(),
        };
        let base = match (field.of, dice.chance(if keeps { 1 } else { 8 })) {
            (Of::Int, true) => {
                list.push(format!("{} + 1 AS {new}", field.name));
                None
            }
            _ if new == field.name => {
                list.push(new.clone());
                field.base.clone()
            }
            _ => {
                list.push(format!("{} AS {new}", field.name));
                field.base.clone()
            }
        };
        columns.push(ViewColumn {
            name: new,
            of: field.of,
            base,
        });
    }
    if columns.is_empty() {
        return None;
    }
    let limits = dice.chance(70);
    let shown = match limits {
        true if dice.chance(25) => format!(
            " WHERE {} AND {}",
            shows(dice, &below),
            condition(dice, &below, "")
        ),
        true => format!(" WHERE {}", shows(dice, &below)),
        false => String::new(),
    };
    let fixed = below.fixed || algorithm.contains("TEMPTABLE");
    // MySQL takes the option for a view that can be written through alone (1368), and ours asks it of one table's rows.
    let drawn = dice.word(&[
        "",
        " WITH CHECK OPTION",
        " WITH CASCADED CHECK OPTION",
        " WITH LOCAL CHECK OPTION",
    ]);
    let written = columns.iter().any(|c| c.base.is_some());
    let option = match (fixed || below.joins || !written, below.checked, drawn) {
        (true, ..) => "",
        // MySQL goes on to the views below, through one with LOCAL or without the option too; MariaDB asks them all or none.
        (_, true, _) if below.loose => " WITH CASCADED CHECK OPTION",
        (_, true, "") if shown.is_empty() => "⟦¦ WITH CASCADED CHECK OPTION⟧",
        (_, true, "" | " WITH LOCAL CHECK OPTION") => " WITH ⟦LOCAL¦CASCADED⟧ CHECK OPTION",
        (.., drawn) => drawn,
    };
    let loose = match option {
        "" => below.loose || !shown.is_empty(),
        " WITH LOCAL CHECK OPTION" => below.loose,
        _ => false,
    };
    let view = View {
        name,
        columns,
        table: below.table.clone(),
        below: vec![below.name.clone()],
        joins: below.joins,
        fixed,
        checked: below.checked || !option.is_empty(),
        loose,
    };
    let text = format!(
        "{algorithm}VIEW {} AS SELECT {} FROM {}{shown}{option}",
        view.name,
        list.join(", "),
        below.name
    );
    Some((text, view))
}

/// A condition, mostly one that some rows of any table hold.
fn shows(dice: &mut Dice, below: &Source) -> String {
    let fields = below.named(Of::Int);
    match dice.pick(&fields) {
        Some(field) if dice.chance(75) => match dice.below(3) {
            0 => format!("{} > {}", field.name, dice.below(4)),
            1 => format!("{} < {}", field.name, 4 + dice.below(4)),
            _ => format!("{} <> {}", field.name, dice.below(9)),
        },
        _ => condition(dice, below, ""),
    }
}

fn joined(dice: &mut Dice, world: &World, below: Source, name: String) -> Option<(String, View)> {
    let other = Source::any(dice, world, 20)?;
    if other.name == name || other.name == below.name || other.joins || below.joins {
        return None;
    }
    let mut columns = Vec::new();
    let mut list = Vec::new();
    for (prefix, source) in [("x", &below), ("y", &other)] {
        for field in &source.fields {
            if dice.chance(70) || columns.is_empty() {
                let new = format!("{prefix}{}", field.name);
                list.push(format!("{prefix}.{} AS {new}", field.name));
                columns.push(ViewColumn {
                    name: new,
                    of: field.of,
                    base: field.base.clone().filter(|_| prefix == "x"),
                });
            }
        }
    }
    let algorithm = algorithm(dice);
    let fixed = below.fixed || other.fixed || algorithm.contains("TEMPTABLE");
    let left = dice.pick(&below.named(Of::Int))?.name.clone();
    let right = dice.pick(&other.named(Of::Int))?.name.clone();
    let view = View {
        name,
        columns,
        table: below.table.clone(),
        below: vec![below.name.clone(), other.name.clone()],
        joins: true,
        fixed,
        checked: below.checked,
        loose: below.loose,
    };
    let text = format!(
        "{algorithm}VIEW {} AS SELECT {} FROM {} x JOIN {} y ON x.{left} = y.{right}",
        view.name,
        list.join(", "),
        below.name,
        other.name
    );
    Some((text, view))
}

fn grouped(dice: &mut Dice, below: Source, name: String) -> Option<(String, View)> {
    let column = dice.pick(&below.named(Of::Int))?.name.clone();
    let other = dice.pick(&below.named(Of::Int))?.name.clone();
    let from = &below.name;
    let (query, names) = match dice.below(4) {
        0 => (
            format!("SELECT DISTINCT {column} AS p FROM {from}"),
            &["p"][..],
        ),
        1 => (
            format!("SELECT {column} AS p FROM {from} UNION ALL SELECT {other} FROM {from}"),
            &["p"][..],
        ),
        2 => (
            format!("SELECT COUNT(*) AS p, MAX({column}) AS q FROM {from}"),
            &["p", "q"][..],
        ),
        _ => (
            format!("SELECT {column} AS p, COUNT(*) AS q FROM {from} GROUP BY {column}"),
            &["p", "q"][..],
        ),
    };
    let columns = names.iter().map(|n| ViewColumn {
        name: (*n).to_owned(),
        of: Of::Int,
        base: None,
    });
    let view = View {
        name,
        columns: columns.collect(),
        table: below.table.clone(),
        below: vec![below.name.clone()],
        joins: false,
        fixed: true,
        checked: false,
        loose: false,
    };
    Some((format!("VIEW {} AS {query}", view.name), view))
}

/// A query; the rows may come in any order.
pub fn query(dice: &mut Dice, world: &World) -> Option<Step> {
    let from = Source::any(dice, world, 60)?;
    let text = match dice.below(6) {
        0 => {
            let by = dice.pick(&from.named(Of::Int))?.name.clone();
            format!(
                "SELECT {by}, COUNT(*), COUNT({}) FROM {} GROUP BY {by}",
                dice.pick(&from.fields)?.name,
                from.name
            )
        }
        1 | 2 => {
            let other = Source::any(dice, world, 50)?;
            let left = dice.pick(&from.named(Of::Int))?.name.clone();
            let right = dice.pick(&other.named(Of::Int))?.name.clone();
            let join = dice.word(&["JOIN", "LEFT JOIN"]);
            format!(
                "SELECT x.*, y.{} FROM {} x {join} {} y ON x.{left} = y.{right} WHERE {}",
                dice.pick(&other.fields)?.name,
                from.name,
                other.name,
                condition(dice, &from, "x.")
            )
        }
        3 => {
            let other = Source::any(dice, world, 50)?;
            let left = dice.pick(&from.named(Of::Int))?.name.clone();
            let right = dice.pick(&other.named(Of::Int))?.name.clone();
            let not = dice.word(&["", "NOT "]);
            format!(
                "SELECT * FROM {} x WHERE {not}EXISTS (SELECT 1 FROM {} y WHERE y.{right} = x.{left})",
                from.name, other.name
            )
        }
        _ => format!(
            "SELECT * FROM {} WHERE {}",
            from.name,
            condition(dice, &from, "")
        ),
    };
    let text = match !from.joins && !from.fixed && dice.chance(8) {
        true => format!("{text} FOR UPDATE"),
        false => text,
    };
    Some((Statement::plain(text), Effect::None))
}
