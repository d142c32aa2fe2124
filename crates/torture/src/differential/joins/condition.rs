//! Random conditions, subqueries of every form among them.

use super::expr::{column, compared, value};
use super::grower::{Grower, Limits, Scope};
use super::schema::Type;
use super::tree::{Node, Part, Role, text};

const TRUTHS: &[&str] = &["TRUE", "FALSE"];

const ORDERS: &[&str] = &["=", "=", "=", "<>", "<", "<=", ">", ">=", "<=>"];

/// A condition.
pub fn condition(g: &mut Grower<'_>, scope: &Scope, depth: usize) -> Part {
    if depth > 0 {
        match g.below(12) {
            0 | 1 => {
                let parts = several(g, scope, depth - 1);
                return Part::swaps("({} OR {})", parts, TRUTHS);
            }
            2 => {
                let parts = several(g, scope, depth - 1);
                return Part::swaps("({} AND {})", parts, TRUTHS);
            }
            3 => {
                let one = condition(g, scope, depth - 1);
                return Part::swaps("NOT ({})", vec![one], TRUTHS);
            }
            4 if g.chance(40) => {
                let one = condition(g, scope, depth - 1);
                let how = g.pick(&[
                    "({}) IS TRUE",
                    "({}) IS NOT TRUE",
                    "({}) IS FALSE",
                    "({}) IS UNKNOWN",
                    "({}) IS NOT NULL",
                ]);
                return Part::swaps(how, vec![one], TRUTHS);
            }
            5 if g.chance(20) => {
                let parts = several(g, scope, depth - 1);
                return Part::swaps("({} XOR {})", parts, TRUTHS);
            }
            6..=8 if g.may_nest() => return subquery(g, scope),
            _ => {}
        }
    }
    simple(g, scope)
}

fn several(g: &mut Grower<'_>, scope: &Scope, depth: usize) -> Vec<Part> {
    vec![condition(g, scope, depth), condition(g, scope, depth)]
}

/// A condition without a subquery in it.
fn simple(g: &mut Grower<'_>, scope: &Scope) -> Part {
    let of = g.type_in(scope);
    match g.below(24) {
        0..=4 => compared(g, scope),
        5..=7 => {
            let (a, b) = (value(g, scope, of, 1), value(g, scope, of, 1));
            let how = format!("{{}} {} {{}}", g.pick(ORDERS));
            Part::form(&how, vec![a, b], TRUTHS)
        }
        8..=9 => {
            let one = column(g, scope, of);
            let (a, b) = (value(g, scope, of, 0), text(g.bound(of)));
            let how = g.pick(&["{} BETWEEN {} AND {}", "{} NOT BETWEEN {} AND {}"]);
            Part::form(how, vec![one, a, b], TRUTHS)
        }
        10..=13 => listed(g, scope, of),
        14..=16 => {
            let one = value(g, scope, of, 1);
            let how = g.pick(&["{} IS NULL", "{} IS NOT NULL"]);
            Part::form(how, vec![one], TRUTHS)
        }
        17 => {
            let one = column(g, scope, Type::Text);
            let pattern = g.pick(&["'a%'", "'%b'", "'a_'", "'%'", "'_'", "'ab%'", "'b'"]);
            let how = g.pick(&["{} LIKE {}", "{} NOT LIKE {}"]);
            Part::form(how, vec![one, text(pattern)], TRUTHS)
        }
        18 | 19 => rows(g, scope),
        20 => column(g, scope, Type::Int),
        21 if !g.strict => mixed(g, scope),
        22 => text(g.pick(&["TRUE", "FALSE", "NULL", "1 = 0", "1"])),
        _ => range(g, scope, of),
    }
}

/// Two bounds of one column.
fn range(g: &mut Grower<'_>, scope: &Scope, of: Type) -> Part {
    let Some(one) = g.leaf(scope, of) else {
        return compared(g, scope);
    };
    let (a, b) = (g.bound(of), g.bound(of));
    let how = g.pick(&[
        "({} AND {})",
        "({} OR {})",
        "({} AND {})",
        "(NOT {} AND {})",
    ]);
    let low = g.pick(&[">", ">=", "="]);
    let high = g.pick(&["<", "<=", "="]);
    let bounds = vec![
        text(format!("{one} {low} {a}")),
        text(format!("{one} {high} {b}")),
    ];
    Part::swaps(how, bounds, TRUTHS)
}

fn listed(g: &mut Grower<'_>, scope: &Scope, of: Type) -> Part {
    let plain = g.chance(60);
    let one = match plain {
        true => column(g, scope, of),
        false => value(g, scope, of, 1),
    };
    let mut items = Vec::new();
    for _ in 0..1 + g.below(4) {
        items.push(match g.below(12) {
            0 => text("NULL"),
            1 => column(g, scope, of),
            _ if plain => text(g.bound(of)),
            _ => text(g.literal(of)),
        });
    }
    let list = Part::list("", ", ", 1, items);
    let how = g.pick(&["{} IN ({})", "{} IN ({})", "{} NOT IN ({})"]);
    Part::form(how, vec![one, list], TRUTHS)
}

/// Values of two types: numbers and text, dates with and without a time, whole numbers and others.
fn mixed(g: &mut Grower<'_>, scope: &Scope) -> Part {
    let (a, b) = g.pick(&[
        (Type::Int, Type::Text),
        (Type::Text, Type::Int),
        (Type::Int, Type::Decimal),
        (Type::Date, Type::Stamp),
        (Type::Decimal, Type::Text),
    ]);
    let (a, b) = (column(g, scope, a), column(g, scope, b));
    let how = format!("{{}} {} {{}}", g.pick(ORDERS));
    Part::form(&how, vec![a, b], TRUTHS)
}

fn rows(g: &mut Grower<'_>, scope: &Scope) -> Part {
    let (a, b) = (g.type_in(scope), g.type_in(scope));
    let left = [column(g, scope, a), column(g, scope, b)];
    let right = |g: &mut Grower<'_>| match g.below(3) {
        0 => [column(g, scope, a), column(g, scope, b)],
        1 => [text(g.literal(a)), column(g, scope, b)],
        _ => [text(g.literal(a)), text(g.literal(b))],
    };
    let listed = g.chance(40);
    let mut parts = left.to_vec();
    for _ in 0..if listed { 1 + g.below(3) } else { 1 } {
        parts.extend(right(g));
    }
    let how = match listed {
        true => g.pick(&["IN", "NOT IN"]),
        false => g.pick(ORDERS),
    };
    Part::Node(Node {
        role: Role::Rows(how),
        parts,
        swaps: Vec::new(),
        texts: TRUTHS.to_vec(),
    })
}

/// A condition with a subquery.
fn subquery(g: &mut Grower<'_>, scope: &Scope) -> Part {
    let of = g.type_in(scope);
    let around = g.chance(50);
    match g.below(16) {
        0..=3 => {
            let one = value(g, scope, of, 1);
            let block = g.block(&[of], scope, Limits::Never, around);
            let how = g.pick(&["{} IN ({})", "{} NOT IN ({})"]);
            Part::form(how, vec![one, block], TRUTHS)
        }
        4..=8 => {
            let block = g.block(&[of], scope, Limits::Never, true);
            let how = g.pick(&["EXISTS ({})", "NOT EXISTS ({})"]);
            Part::form(how, vec![block], TRUTHS)
        }
        9..=11 => {
            let one = value(g, scope, of, 1);
            let block = g.block(&[of], scope, Limits::OneRow, around);
            let how = format!("{{}} {} ({{}})", g.pick(ORDERS));
            Part::form(&how, vec![one, block], TRUTHS)
        }
        12 | 13 => {
            let one = value(g, scope, of, 1);
            let block = g.block(&[of], scope, Limits::Never, around);
            // `<=>` has no ANY and no ALL.
            let order = g.pick(&ORDERS[..8]);
            let every = g.pick(&["ANY", "ALL", "SOME"]);
            let how = format!("{{}} {order} {every} ({{}})");
            Part::form(&how, vec![one, block], TRUTHS)
        }
        14 => {
            let (a, b) = (g.type_in(scope), g.type_in(scope));
            let left = vec![column(g, scope, a), column(g, scope, b)];
            let block = g.block(&[a, b], scope, Limits::Never, around);
            let how = g.pick(&["({}, {}) IN ({})", "({}, {}) NOT IN ({})"]);
            let places = left.into_iter().chain([block]).collect();
            Part::form(how, places, TRUTHS)
        }
        _ => {
            let (a, b) = (g.type_in(scope), g.type_in(scope));
            let left = vec![column(g, scope, a), column(g, scope, b)];
            let block = g.block(&[a, b], scope, Limits::OneRow, around);
            let how = format!("({{}}, {{}}) {} ({{}})", g.pick(&["=", "<>", "<", ">="]));
            let places = left.into_iter().chain([block]).collect();
            Part::form(&how, places, TRUTHS)
        }
    }
}
