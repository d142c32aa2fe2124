//! Random FROM: joins of every kind, in every shape, over tables, derived tables and common table expressions.

use super::condition::condition;
use super::grower::{Given, Grower, Leaf, Limits, Scope};
use super::schema::Type;
use super::tree::{Part, text};

/// FROM as it grew.
pub struct From {
    /// What stands behind FROM.
    pub part: Part,
    /// What can be named then.
    pub own: Vec<Leaf>,
    /// Conditions that keep the rows few where tables stand beside each other.
    pub conditions: Vec<Part>,
}

/// A table of FROM, or several that are joined.
struct Joined {
    part: Part,
    sources: Vec<Source>,
    /// More than one table: in parentheses on the right of a join.
    many: bool,
}

#[derive(Clone)]
struct Source {
    alias: String,
    columns: Vec<Given>,
    /// How many rows, about.
    rows: usize,
    /// Of a table of the schema.
    plain: bool,
}

impl Source {
    fn leaves(&self) -> impl Iterator<Item = Leaf> + '_ {
        self.columns.iter().map(|(name, of)| Leaf {
            sql: format!("{}.{name}", self.alias),
            of: *of,
            plain: true,
        })
    }
}

/// A table of the schema with its alias.
pub fn table(number: usize, alias: &str) -> Part {
    Part::Table {
        table: number,
        alias: alias.to_owned(),
    }
}

/// FROM with so many tables.
pub fn from(g: &mut Grower<'_>, count: usize, outer: &[Leaf]) -> From {
    let mut sources = Vec::new();
    let mut rows = 1;
    for _ in 0..count {
        let source = source(g, rows);
        // Most joins have a column in common.
        rows = (rows * source.1.rows / 4).max(rows);
        sources.push(source);
    }
    joined(g, sources, outer)
}

/// FROM that begins with this table.
pub fn from_table(g: &mut Grower<'_>, number: usize, alias: &str, count: usize) -> From {
    let mut sources = vec![named(g, number, alias)];
    let mut rows = sources[0].1.rows;
    for _ in 1..count {
        let source = source(g, rows);
        rows = (rows * source.1.rows / 4).max(rows);
        sources.push(source);
    }
    joined(g, sources, &[])
}

fn joined(g: &mut Grower<'_>, mut sources: Vec<(Part, Source)>, outer: &[Leaf]) -> From {
    let mut conditions = Vec::new();
    let mut parts = Vec::new();
    let mut all: Vec<Source> = Vec::new();
    while !sources.is_empty() {
        let take = if g.chance(80) {
            sources.len()
        } else {
            1 + g.below(sources.len())
        };
        let rest = sources.split_off(take);
        let group = tree(g, sources, outer);
        sources = rest;
        if !all.is_empty() && !g.chance(8) {
            conditions.push(link(g, &all, &group.sources));
        }
        parts.push(group.part);
        all.extend(group.sources);
    }
    From {
        part: Part::list("", ", ", 1, parts),
        own: all.iter().flat_map(Source::leaves).collect(),
        conditions,
    }
}

fn source(g: &mut Grower<'_>, rows: usize) -> (Part, Source) {
    g.left = g.left.saturating_sub(1);
    if !g.common.is_empty() && g.chance(50) {
        let at = g.below(g.common.len());
        let (name, columns) = g.common[at].clone();
        let alias = g.name("q");
        let part = text(format!("{name} AS {alias}"));
        return (part, derived(alias, columns));
    }
    if g.may_nest() && g.chance(12) {
        let alias = g.name("d");
        let types: Vec<Type> = (0..1 + g.below(3)).map(|_| g.of()).collect();
        let block = g.block(&types, &Scope::default(), Limits::Allowed, false);
        let columns = columns(&types);
        let part = Part::form(&format!("({{}}) AS {alias}"), vec![block], &[]);
        return (part, derived(alias, columns));
    }
    let mut numbers: Vec<usize> = g.schema.tables.iter().map(|t| t.number).collect();
    numbers.retain(|n| *n != g.changed);
    let size = |g: &Grower<'_>, number| g.schema.numbered(number).map_or(0, |t| t.rows.len());
    let mut number = g.pick(&numbers);
    if rows * size(g, number) > 20_000 {
        numbers.sort_by_key(|n| size(g, *n));
        number = numbers[0];
    }
    let alias = g.name("a");
    named(g, number, &alias)
}

/// The names of a block's columns.
pub fn columns(types: &[Type]) -> Vec<Given> {
    let name = |(at, of): (usize, &Type)| (format!("c{}", at + 1), *of);
    types.iter().enumerate().map(name).collect()
}

fn derived(alias: String, columns: Vec<Given>) -> Source {
    Source {
        alias,
        columns,
        rows: 20,
        plain: false,
    }
}

fn named(g: &Grower<'_>, number: usize, alias: &str) -> (Part, Source) {
    let of = g.schema.numbered(number);
    let columns = of.map_or(Vec::new(), |t| {
        t.columns.iter().map(|c| (c.name.clone(), c.of)).collect()
    });
    let source = Source {
        alias: alias.to_owned(),
        columns,
        rows: of.map_or(0, |t| t.rows.len()),
        plain: true,
    };
    (table(number, alias), source)
}

/// Joins them in a tree of any shape.
fn tree(g: &mut Grower<'_>, mut sources: Vec<(Part, Source)>, outer: &[Leaf]) -> Joined {
    if sources.len() == 1
        && let Some((part, source)) = sources.pop()
    {
        return Joined {
            part,
            sources: vec![source],
            many: false,
        };
    }
    // Chains to the left are the most frequent; else any cut.
    let cut = if g.chance(60) {
        sources.len() - 1
    } else {
        1 + g.below(sources.len() - 1)
    };
    let right = sources.split_off(cut);
    let left = tree(g, sources, outer);
    let right = tree(g, right, outer);
    join(g, left, right, outer)
}

fn join(g: &mut Grower<'_>, left: Joined, right: Joined, outer: &[Leaf]) -> Joined {
    let kind = g.below(100);
    let common: Vec<String> = common(&left, &right);
    let left_part = match left.many && g.chance(20) {
        true => Part::form("({})", vec![left.part], &[]),
        false => left.part,
    };
    let right_part = match right.many {
        true => Part::form("({})", vec![right.part], &[]),
        false => right.part,
    };
    let mut sources = left.sources.clone();
    sources.extend(right.sources.iter().cloned());
    let both = |parts: Vec<Part>| {
        let mut part = Part::swaps("{}{}{}{}", parts, &[]);
        if let Part::Node(node) = &mut part {
            // The left side alone, or the right one.
            node.swaps = vec![1, 5];
        }
        part
    };
    let part = match kind {
        0..=3 => both(vec![left_part, text(" CROSS JOIN "), right_part, text("")]),
        4..=13 if !common.is_empty() => {
            let how = g.pick(&[" JOIN ", " LEFT JOIN ", " RIGHT JOIN "]);
            let names = text(format!(" USING ({})", common.join(", ")));
            both(vec![left_part, text(how), right_part, names])
        }
        14..=16 if sources.len() < 4 => {
            let how = g.pick(&[
                " NATURAL JOIN ",
                " NATURAL LEFT JOIN ",
                " NATURAL RIGHT JOIN ",
            ]);
            both(vec![left_part, text(how), right_part, text("")])
        }
        _ => {
            let how = match kind {
                0..=42 => text(" LEFT JOIN "),
                43..=55 => text(" RIGHT JOIN "),
                56..=60 => text(" INNER JOIN "),
                _ => Part::Join,
            };
            let on = on(g, &left.sources, &right.sources, outer);
            both(vec![left_part, how, right_part, on])
        }
    };
    Joined {
        part,
        sources,
        many: true,
    }
}

/// A column or two that exactly one table has on each side.
fn common(left: &Joined, right: &Joined) -> Vec<String> {
    let once = |side: &Joined, name: &str| {
        let all = side.sources.iter().flat_map(|s| &s.columns);
        all.filter(|(n, _)| n == name).count() == 1
    };
    let names = left.sources.iter().flat_map(|s| &s.columns);
    let plain = |side: &Joined| side.sources.iter().all(|s| s.plain);
    if !plain(left) || !plain(right) {
        return Vec::new();
    }
    let both = names.filter(|(n, _)| once(left, n) && once(right, n));
    both.map(|(n, _)| n.clone()).take(2).collect()
}

/// ON.
fn on(g: &mut Grower<'_>, left: &[Source], right: &[Source], outer: &[Leaf]) -> Part {
    let mut terms = Vec::new();
    if g.chance(92) {
        terms.push(link(g, left, right));
    }
    if terms.is_empty() || g.chance(30) {
        let own = left.iter().chain(right).flat_map(Source::leaves).collect();
        let scope = Scope {
            own,
            outer: outer.to_vec(),
        };
        let depth = g.below(3);
        terms.push(condition(g, &scope, depth));
    }
    let between = if g.chance(90) { " AND " } else { " OR " };
    let list = Part::list("", between, 1, terms);
    Part::on(list)
}

/// A comparison of a column on the left with one on the right.
fn link(g: &mut Grower<'_>, left: &[Source], right: &[Source]) -> Part {
    let of =
        |sources: &[Source]| -> Vec<Leaf> { sources.iter().flat_map(Source::leaves).collect() };
    let (left, right) = (of(left), of(right));
    for _ in 0..8 {
        let a = &left[g.below(left.len())];
        let fit: Vec<&Leaf> = right.iter().filter(|l| l.of == a.of).collect();
        if fit.is_empty() {
            continue;
        }
        let b = fit[g.below(fit.len())];
        let how = match g.below(30) {
            0 => "<=>",
            1 => "<",
            2 => ">=",
            _ => "=",
        };
        let (a, b) = match g.chance(50) {
            true => (&a.sql, &b.sql),
            false => (&b.sql, &a.sql),
        };
        return Part::form("{}", vec![text(format!("{a} {how} {b}"))], &["TRUE"]);
    }
    text("TRUE")
}
