//! What rows are read from and written through: a table or a view, with the columns that it shows.

use super::script::Dice;
use super::world::{Of, Table, View, World};

/// A column of it.
#[derive(Debug, Clone)]
pub struct Field {
    /// Its name there.
    pub name: String,
    /// Its kind.
    pub of: Of,
    /// The table's column, if a row can be written through it.
    pub base: Option<String>,
    /// Whether it is computed by the table.
    pub generated: bool,
    /// Whether it may be NULL.
    pub null: bool,
}

/// A table or view.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub fields: Vec<Field>,
    /// The names of the primary key's columns in it; none where they cannot all be seen.
    pub order: Vec<String>,
    /// The table that is written.
    pub table: Option<String>,
    /// Whether it joins.
    pub joins: bool,
    /// Whether rows cannot be changed through it.
    pub fixed: bool,
    /// Whether it, or one below it, has a CHECK OPTION.
    pub checked: bool,
    /// Whether there is a condition that no CHECK OPTION asks for.
    pub loose: bool,
    /// The columns of the table that a new row must have, and whether all of them are seen.
    pub needed: Vec<String>,
    /// Whether all of these are seen.
    pub whole: bool,
}

impl Source {
    /// A table.
    pub fn table(table: &Table) -> Source {
        let fields = table.columns.iter().map(|c| Field {
            name: c.name.clone(),
            of: c.of,
            base: Some(c.name.clone()),
            generated: c.generated.is_some(),
            null: c.null,
        });
        Source {
            name: table.name.clone(),
            fields: fields.collect(),
            order: table.primary().to_vec(),
            table: Some(table.name.clone()),
            joins: false,
            fixed: false,
            checked: false,
            loose: false,
            needed: needed(table),
            whole: true,
        }
    }

    /// A view.
    pub fn view(view: &View, world: &World) -> Source {
        let table = view.table.as_ref().and_then(|name| world.table(name));
        let fields = view.columns.iter().map(|c| {
            let base = c.base.as_ref().and_then(|base| table?.column(base));
            Field {
                name: c.name.clone(),
                of: c.of,
                base: base.map(|b| b.name.clone()),
                generated: base.is_some_and(|b| b.generated.is_some()),
                null: base.is_none_or(|b| b.null),
            }
        });
        let fields: Vec<Field> = fields.collect();
        let seen = |key: &String| {
            let mut found = fields.iter().filter(|f| f.base.as_ref() == Some(key));
            found.next().map(|f| f.name.clone())
        };
        let primary = table.map_or(&[][..], Table::primary);
        let needed = table.map_or_else(Vec::new, needed);
        let needed: Vec<Option<String>> = needed.iter().map(seen).collect();
        let order = primary.iter().map(seen).collect::<Option<Vec<_>>>();
        Source {
            name: view.name.clone(),
            order: order.unwrap_or_default(),
            fields,
            table: table.map(|t| t.name.clone()),
            joins: view.joins,
            fixed: view.fixed,
            checked: view.checked,
            loose: view.loose,
            whole: needed.iter().all(Option::is_some),
            needed: needed.into_iter().flatten().collect(),
        }
    }

    /// One of all.
    pub fn any(dice: &mut Dice, world: &World, views: u64) -> Option<Source> {
        if dice.chance(views)
            && let Some(view) = dice.pick(&world.views)
        {
            return Some(Source::view(view, world));
        }
        dice.pick(&world.tables).map(Source::table)
    }

    /// One through which rows may be changed, in an order that can be said.
    pub fn written(dice: &mut Dice, world: &World) -> Option<Source> {
        for _ in 0..4 {
            let source = Source::any(dice, world, 45)?;
            // Now and then what is not written through is tried.
            if source.table.is_some() && !source.joins && (!source.fixed || dice.chance(6)) {
                return Some(source);
            }
        }
        dice.pick(&world.tables).map(Source::table)
    }

    /// Whether MySQL takes new rows for it: an expression among its columns forbids that.
    pub fn takes_rows(&self) -> bool {
        let mut bases: Vec<&String> = self.fields.iter().filter_map(|f| f.base.as_ref()).collect();
        let all = bases.len();
        bases.sort();
        bases.dedup();
        self.whole && bases.len() == all && all == self.fields.len()
    }

    /// Its columns of a kind.
    pub fn named(&self, of: Of) -> Vec<&Field> {
        self.fields.iter().filter(|f| f.of == of).collect()
    }

    /// `ORDER BY` all of the primary key, here and there backwards; nothing where it cannot be seen.
    /// Each is named with its table: a column of the list that is the text 'a' has the name a, and would come first.
    pub fn ordered(&self, dice: &mut Dice) -> String {
        if self.order.is_empty() || self.joins {
            return String::new();
        }
        let way = if dice.chance(25) { " DESC" } else { "" };
        let parts: Vec<String> = self
            .order
            .iter()
            .map(|o| format!("{}.{o}{way}", self.name))
            .collect();
        format!(" ORDER BY {}", parts.join(", "))
    }
}

fn needed(table: &Table) -> Vec<String> {
    let must = |c: &&super::world::Column| !c.null && !c.default && c.generated.is_none();
    let columns = table.columns.iter().filter(must);
    columns.map(|c| c.name.clone()).collect()
}

/// An expression over these columns, each written behind `prefix`.
pub fn expression(dice: &mut Dice, source: &Source, of: Of, null: bool, prefix: &str) -> String {
    let fields = source.named(of);
    let Some(field) = dice.pick(&fields) else {
        return super::tables::value(dice, of, null);
    };
    let name = format!("{prefix}{}", field.name);
    match (of, dice.below(8)) {
        (Of::Int, 0 | 1) => format!("{name} + 1"),
        (Of::Int, 2) => format!("{name} % 4"),
        (Of::Int, 3) => format!("IFNULL({name}, 2)"),
        (Of::Text, 0) => format!("UPPER({name})"),
        (Of::Text, 1) => format!("CONCAT(LEFT({name}, 2), 'b')"),
        (Of::Text, 2 | 3) => format!("LEFT({name}, 4)"),
        (Of::Int, 4) => name,
        _ => super::tables::value(dice, of, null),
    }
}

/// A condition over its columns.
pub fn condition(dice: &mut Dice, source: &Source, prefix: &str) -> String {
    let Some(field) = dice.pick(&source.fields) else {
        return "1 = 1".to_owned();
    };
    let name = format!("{prefix}{}", field.name);
    let of = field.of;
    let literal = super::tables::value(dice, of, false);
    match (of, dice.below(9)) {
        (_, 0) => format!("{name} = {literal}"),
        (_, 1) => format!("{name} IS NULL"),
        (_, 2) => format!("{name} IS NOT NULL"),
        (_, 3) => {
            let other = super::tables::value(dice, of, false);
            format!("{name} IN ({literal}, {other})")
        }
        (Of::Int, 4) => format!("{name} <> {literal}"),
        (Of::Int, 5) => format!("{name} BETWEEN 2 AND {literal}"),
        (Of::Int, 6) => format!("{name} > {literal}"),
        (Of::Int, _) => format!("{name} < {literal}"),
        (Of::Text, 4 | 5) => format!("{name} LIKE 'a%'"),
        (Of::Text, _) => format!("{name} >= {literal}"),
    }
}
