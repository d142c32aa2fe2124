//! Random queries whose rows depend on nothing that they do not say.

use super::condition::condition;
use super::expr::{aggregate, column, value};
use super::from::{columns, from};
use super::grower::{Grower, Leaf, Limits, Scope};
use super::schema::Type;
use super::tree::{Part, text};

/// What a block does with the rows of FROM.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Plain,
    Distinct,
    Grouped,
    /// Aggregates without GROUP BY.
    One,
}

const OPERATIONS: &[&str] = &[
    " UNION ",
    " UNION ALL ",
    " UNION DISTINCT ",
    " EXCEPT ",
    " INTERSECT ",
    " EXCEPT ALL ",
    " INTERSECT ALL ",
];

/// A whole query.
pub fn query(g: &mut Grower<'_>) -> Part {
    let mut with = Vec::new();
    if g.chance(14) {
        for _ in 0..1 + g.below(2) {
            let types = types(g, 3);
            let block = g.block(&types, &Scope::default(), Limits::Allowed, false);
            let name = g.name("w");
            let columns = columns(&types);
            let part = match g.chance(25) {
                true => {
                    let names: Vec<&str> = columns.iter().map(|(n, _)| n.as_str()).collect();
                    let how = format!("{name} ({}) AS ({{}})", names.join(", "));
                    Part::form(&how, vec![block], &[])
                }
                false => Part::form(&format!("{name} AS ({{}})"), vec![block], &[]),
            };
            with.push(part);
            g.common.push((name, columns));
        }
    }
    let types = types(g, 4);
    let count = match g.below(20) {
        0..=3 => 1,
        4..=8 => 2,
        9..=13 => 3,
        14..=16 => 4,
        _ => 5 + g.below(4),
    };
    let body = if g.chance(15) {
        operation(g, &types, &[], count.min(3), Limits::Allowed)
    } else {
        select(g, &types, &[], count, Limits::Allowed)
    };
    if with.is_empty() {
        return body;
    }
    let with = Part::list("WITH ", ", ", 0, with);
    let mut parts = vec![with, text(" ")];
    parts.push(body);
    Part::block(parts, Vec::new())
}

fn types(g: &mut Grower<'_>, most: usize) -> Vec<Type> {
    let count = 1 + g.below(most);
    (0..count).map(|_| g.of()).collect()
}

/// A query inside of another ([`super::grower::Blocks`]).
pub fn block(g: &mut Grower<'_>, types: &[Type], outer: &[Leaf], limits: Limits) -> Part {
    if limits != Limits::OneRow && g.chance(10) {
        return operation(g, types, outer, 1, limits);
    }
    let count = match g.below(10) {
        0..=5 => 1,
        6..=8 => 2,
        _ => 3,
    };
    select(g, types, outer, count, limits)
}

/// UNION, EXCEPT, INTERSECT.
fn operation(
    g: &mut Grower<'_>,
    types: &[Type],
    outer: &[Leaf],
    count: usize,
    limits: Limits,
) -> Part {
    let mut parts = Vec::new();
    let mut swaps = Vec::new();
    for at in 0..2 + g.below(2) {
        if at > 0 {
            // In IN, ANY and ALL MariaDB is often wrong with the others.
            let most = if limits == Limits::Never && !g.chance(20) {
                3
            } else {
                OPERATIONS.len()
            };
            parts.push(text(g.pick(&OPERATIONS[..most])));
        }
        let tables = 1 + g.below(count);
        let inside = if g.chance(15) { limits } else { Limits::Never };
        let arm = select(g, types, outer, tables, inside);
        swaps.push(parts.len());
        let closed = inside != Limits::Never || g.chance(30);
        parts.push(match closed {
            true => Part::form("({})", vec![arm], &[]),
            false => arm,
        });
    }
    if limits == Limits::Allowed && g.chance(40) {
        parts.push(limited(g));
    }
    Part::block(parts, swaps)
}

/// A total order, and LIMIT.
fn limited(g: &mut Grower<'_>) -> Part {
    let order = Part::Total(g.rng.next_u64());
    match g.below(6) {
        0 => Part::form("{}", vec![order], &[""]),
        1 => {
            let how = format!("{{}} LIMIT {} OFFSET {}", g.below(6), g.below(4));
            Part::form(&how, vec![order], &[""])
        }
        _ => Part::form(
            &format!("{{}} LIMIT {}", 1 + g.below(8)),
            vec![order],
            &[""],
        ),
    }
}

/// SELECT.
fn select(
    g: &mut Grower<'_>,
    types: &[Type],
    outer: &[Leaf],
    count: usize,
    limits: Limits,
) -> Part {
    let from = from(g, count, outer);
    let scope = Scope {
        own: from.own,
        outer: outer.to_vec(),
    };
    let mut conditions = from.conditions;
    // A subquery that knows what is around it mostly uses it.
    if !outer.is_empty() && g.chance(80) {
        conditions.extend(correlation(g, &scope));
    }
    for _ in 0..g.below(3) {
        let depth = g.below(4);
        conditions.push(condition(g, &scope, depth));
    }
    let shape = match (limits, g.below(20)) {
        (Limits::OneRow, 0..=14) => Shape::One,
        (_, 0..=9) => Shape::Plain,
        (_, 10..=11) => Shape::Distinct,
        (_, 12..=17) => Shape::Grouped,
        _ => Shape::One,
    };
    let mut parts = vec![text("SELECT"), Part::Head(true)];
    if shape == Shape::Distinct {
        parts.push(Part::form("{}", vec![text(" DISTINCT")], &[""]));
    }
    parts.push(text(" "));
    let (keys, grouped) = match shape {
        Shape::Grouped => keys(g, &scope, types),
        _ => (Vec::new(), Scope::default()),
    };
    let items = items(g, types, shape, &scope, &grouped);
    parts.push(Part::items(items));
    parts.push(text(" FROM "));
    parts.push(from.part);
    parts.push(Part::list(" WHERE ", " AND ", 0, conditions));
    parts.push(Part::list(" GROUP BY ", ", ", 0, keys));
    if shape == Shape::Grouped && g.chance(35) || shape == Shape::One && g.chance(10) {
        let one = having(g, &scope, &grouped);
        parts.push(Part::form(" HAVING {}", vec![one], &[""]));
    }
    match limits {
        Limits::OneRow if shape != Shape::One => {
            let order = Part::Total(g.rng.next_u64());
            parts.push(Part::form("{} LIMIT 1", vec![order], &[]));
        }
        Limits::Allowed if g.chance(28) => parts.push(limited(g)),
        _ => {}
    }
    Part::block(parts, Vec::new())
}

/// A column here against one from around.
fn correlation(g: &mut Grower<'_>, scope: &Scope) -> Option<Part> {
    let out = &scope.outer[g.below(scope.outer.len())];
    let own = Scope {
        own: scope.own.clone(),
        outer: Vec::new(),
    };
    let one = g.leaf(&own, out.of)?;
    let how = g.pick(&["=", "=", "=", "=", "<", "<>", "<=>", ">="]);
    let sql = text(format!("{one} {how} {}", out.sql));
    Some(Part::form("{}", vec![sql], &["TRUE"]))
}

/// GROUP BY, and what can be named then.
fn keys(g: &mut Grower<'_>, scope: &Scope, types: &[Type]) -> (Vec<Part>, Scope) {
    let mut keys = Vec::new();
    let mut grouped = Scope {
        own: Vec::new(),
        outer: scope.outer.clone(),
    };
    for _ in 0..1 + g.below(3) {
        // Mostly what the select list wants.
        let of = if g.chance(70) {
            types[g.below(types.len())]
        } else {
            g.type_in(scope)
        };
        let own: Vec<Leaf> = scope.own.iter().filter(|l| l.of == of).cloned().collect();
        if own.is_empty() {
            continue;
        }
        let leaf = own[g.below(own.len())].clone();
        if grouped.own.iter().all(|l| l.sql != leaf.sql) {
            keys.push(text(leaf.sql.clone()));
            grouped.own.push(leaf);
        }
    }
    if keys.is_empty() {
        let at = g.below(scope.own.len());
        keys.push(text(scope.own[at].sql.clone()));
        grouped.own.push(scope.own[at].clone());
    }
    (keys, grouped)
}

fn items(
    g: &mut Grower<'_>,
    types: &[Type],
    shape: Shape,
    scope: &Scope,
    grouped: &Scope,
) -> Vec<Part> {
    let mut items = Vec::new();
    for (at, of) in types.iter().enumerate() {
        let item = match shape {
            Shape::Plain | Shape::Distinct if g.chance(60) => column(g, scope, *of),
            Shape::Plain | Shape::Distinct => value(g, scope, *of, 2),
            Shape::One => over(g, scope, *of),
            Shape::Grouped => {
                let known = grouped.own.iter().any(|l| l.of == *of);
                match known && g.chance(60) {
                    true if g.chance(75) => column(g, grouped, *of),
                    true => value(g, grouped, *of, 1),
                    false => over(g, scope, *of),
                }
            }
        };
        items.push(Part::form(&format!("{{}} AS c{}", at + 1), vec![item], &[]));
    }
    items
}

/// An aggregate, and now and then what is computed of it.
fn over(g: &mut Grower<'_>, scope: &Scope, of: Type) -> Part {
    let one = aggregate(g, scope, of);
    match (of, g.below(12)) {
        (Type::Int | Type::Decimal, 0) => Part::swaps("({} + 1)", vec![one], &[]),
        (_, 1) => {
            let other = text(g.literal(of));
            Part::swaps("COALESCE({}, {})", vec![one, other], &[])
        }
        _ => one,
    }
}

fn having(g: &mut Grower<'_>, scope: &Scope, grouped: &Scope) -> Part {
    if g.chance(30) && !grouped.own.is_empty() {
        return condition(g, grouped, 1);
    }
    let of = g.type_in(scope);
    // HAVING knows the groups' columns alone, and so does a subquery in an aggregate's argument there (8.0: fix_outer_field).
    let depth = std::mem::take(&mut g.depth);
    let one = aggregate(g, scope, of);
    g.depth = depth;
    let other = match g.below(4) {
        0 if g.may_nest() => {
            let block = g.block(&[of], grouped, Limits::OneRow, false);
            Part::form("({})", vec![block], &["NULL"])
        }
        1 if of == Type::Int => text(g.pick(&["1", "2", "3"])),
        _ => text(g.literal(of)),
    };
    let how = g.pick(&["{} > {}", "{} = {}", "{} <= {}", "{} <> {}", "{} <=> {}"]);
    Part::form(how, vec![one, other], &["TRUE"])
}
