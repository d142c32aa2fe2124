//! Random values: columns, literals, functions that keep a value's type, scalar subqueries, aggregates.

use super::grower::{Grower, Limits, Scope};
use super::schema::Type;
use super::tree::{Part, text};

/// Texts that may stand for a value of the type when a statement is made smaller.
fn small(of: Type) -> &'static [&'static str] {
    match of {
        Type::Int | Type::Decimal => &["NULL", "1"],
        Type::Text => &["NULL", "'a'"],
        Type::Date => &["NULL", "DATE'2024-01-01'"],
        Type::Stamp => &["NULL", "TIMESTAMP'2024-01-01 00:00:00'"],
    }
}

/// A value that is a column where there is one.
pub fn column(g: &mut Grower<'_>, scope: &Scope, of: Type) -> Part {
    match g.leaf(scope, of) {
        Some(sql) => Part::form("{}", vec![text(sql)], small(of)),
        None => text(g.literal(of)),
    }
}

/// A value of this type.
pub fn value(g: &mut Grower<'_>, scope: &Scope, of: Type, depth: usize) -> Part {
    match g.below(20) {
        0 | 1 => text(g.literal(of)),
        _ if depth == 0 => column(g, scope, of),
        2 if g.may_nest() && g.chance(40) => scalar(g, scope, of),
        3 => {
            let (a, b) = two(g, scope, of, depth - 1);
            let name = g.pick(&["COALESCE({}, {})", "IFNULL({}, {})", "NULLIF({}, {})"]);
            Part::swaps(name, vec![a, b], small(of))
        }
        4 => {
            let (a, b) = two(g, scope, of, depth - 1);
            let asked = compared(g, scope);
            let name = g.pick(&["CASE WHEN {} THEN {} ELSE {} END", "IF({}, {}, {})"]);
            let mut part = Part::swaps(name, vec![asked, a, b], small(of));
            if let Part::Node(node) = &mut part {
                node.swaps.remove(0);
            }
            part
        }
        5 => {
            let (a, b) = two(g, scope, of, depth - 1);
            let name = g.pick(&["GREATEST({}, {})", "LEAST({}, {})"]);
            Part::swaps(name, vec![a, b], small(of))
        }
        6..=8 => changed(g, scope, of, depth - 1),
        _ => column(g, scope, of),
    }
}

fn two(g: &mut Grower<'_>, scope: &Scope, of: Type, depth: usize) -> (Part, Part) {
    (value(g, scope, of, depth), value(g, scope, of, depth))
}

/// A comparison of two columns or of one and a literal.
pub fn compared(g: &mut Grower<'_>, scope: &Scope) -> Part {
    let of = g.type_in(scope);
    let a = column(g, scope, of);
    let b = if g.chance(50) {
        column(g, scope, of)
    } else {
        text(g.bound(of))
    };
    let how = g.pick(&["{} = {}", "{} < {}", "{} <> {}", "{} >= {}", "{} <=> {}"]);
    Part::form(how, vec![a, b], &["TRUE", "FALSE"])
}

/// What a function makes of a value; the result has the same type, and differs for no two values that are equal.
fn changed(g: &mut Grower<'_>, scope: &Scope, of: Type, depth: usize) -> Part {
    let one = value(g, scope, of, depth);
    match of {
        Type::Int => match g.below(5) {
            0 | 1 => {
                let other = value(g, scope, of, 0);
                let how = g.pick(&["({} + {})", "({} - {})", "({} * {})"]);
                Part::swaps(how, vec![one, other], small(of))
            }
            2 => Part::swaps("ABS({})", vec![one], small(of)),
            3 => Part::swaps("(-{})", vec![one], small(of)),
            _ => {
                let time = value(g, scope, Type::Date, 0);
                Part::form("DAYOFMONTH({})", vec![time], small(of))
            }
        },
        Type::Decimal => {
            let other = value(g, scope, Type::Int, 0);
            let how = g.pick(&["({} + {})", "({} - {})", "({} * {})"]);
            Part::form(how, vec![one, other], small(of))
        }
        Type::Text => match g.below(3) {
            0 if !g.strict => {
                let other = value(g, scope, of, 0);
                Part::swaps("CONCAT({}, {})", vec![one, other], small(of))
            }
            1 => Part::swaps("LEFT({}, 2)", vec![one], small(of)),
            _ => Part::swaps("LOWER({})", vec![one], small(of)),
        },
        Type::Date => match g.below(2) {
            0 => {
                let time = value(g, scope, Type::Stamp, 0);
                Part::form("DATE({})", vec![time], small(of))
            }
            _ => Part::form("({} + INTERVAL 1 DAY)", vec![one], small(of)),
        },
        Type::Stamp => Part::form("({} - INTERVAL 2 HOUR)", vec![one], small(of)),
    }
}

/// A subquery of one value.
pub fn scalar(g: &mut Grower<'_>, scope: &Scope, of: Type) -> Part {
    let around = g.chance(65);
    let block = g.block(&[of], scope, Limits::OneRow, around);
    Part::form("({})", vec![block], small(of))
}

/// An aggregate of this type over what the block's rows have.
pub fn aggregate(g: &mut Grower<'_>, scope: &Scope, of: Type) -> Part {
    // What an outer block has alone would be that block's aggregate.
    let own = Scope {
        own: scope.own.clone(),
        outer: Vec::new(),
    };
    let known = own.own.iter().any(|l| l.of == of);
    let least = if known { column } else { counted };
    match (of, g.below(8)) {
        (Type::Int, 0..=1) => text("COUNT(*)"),
        (Type::Int, 2) => {
            let any = g.type_in(&own);
            let one = named(g, &own, any);
            Part::form("COUNT({})", vec![one], &["COUNT(*)"])
        }
        (Type::Int, 3) => {
            let any = g.type_in(&own);
            let one = named(g, &own, any);
            Part::form("COUNT(DISTINCT {})", vec![one], &["COUNT(*)"])
        }
        (Type::Int, 4) => {
            let (a, b) = (g.type_in(&own), g.type_in(&own));
            let (a, b) = (named(g, &own, a), named(g, &own, b));
            Part::form("COUNT(DISTINCT {}, {})", vec![a, b], &["COUNT(*)"])
        }
        (Type::Decimal, 0..=2) => {
            let one = value(g, &own, Type::Int, 1);
            let how = g.pick(&["SUM({})", "AVG({})", "SUM(DISTINCT {})"]);
            Part::form(how, vec![one], small(of))
        }
        (Type::Decimal, 3..=5) => {
            let one = column(g, &own, Type::Decimal);
            let how = g.pick(&["SUM({})", "AVG({})"]);
            Part::form(how, vec![one], small(of))
        }
        (Type::Text, 0) if !g.strict => {
            let one = least(g, &own, of);
            let how = g.pick(&[
                "GROUP_CONCAT({} ORDER BY 1)",
                "GROUP_CONCAT(DISTINCT {} ORDER BY 1 DESC)",
            ]);
            Part::form(how, vec![one], small(of))
        }
        (Type::Text, 1) if !g.strict => {
            let one = named(g, &own, Type::Int);
            let how = "GROUP_CONCAT({} ORDER BY 1 SEPARATOR '-')";
            Part::form(how, vec![one], small(of))
        }
        _ => {
            let one = value(g, &own, of, 1);
            let how = g.pick(&["MIN({})", "MAX({})"]);
            Part::form(how, vec![one], small(of))
        }
    }
}

fn named(g: &mut Grower<'_>, scope: &Scope, of: Type) -> Part {
    match g.leaf(scope, of) {
        Some(sql) => text(sql),
        None => text(g.literal(of)),
    }
}

fn counted(g: &mut Grower<'_>, _: &Scope, of: Type) -> Part {
    text(g.literal(of))
}
