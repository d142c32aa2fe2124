//! Classes of columns that are equal: from `a.x = b.y AND b.y = c.z AND c.z = 5` follow `a.x = c.z` and `a.x = 5`, so that tables can be
//! joined in more orders and by more indexes than written.
//!
//! The members of a class are pairwise *linked*: each link is a condition of its own. What a table is read by or checked against is one
//! link for each of its members (`steps`); the others follow from it. Only columns that compare alike are in a class: of two
//! comparisons by different rules, none follows from the others (`'a' = 'A'` in one collation, not in another).
//!
//! As "transitive closure of predicates" in Selinger's tradition; MySQL calls it multiple equalities (`Item_equal`).

use types::CollationId;

use crate::bind::places::Places;
use crate::bind::scope::FromTable;
use crate::bind::source::TableSource;
use crate::optimize::conditions::CondInfo;
use crate::optimize::physical::hashing::hashable;
use sql_expr::{CmpOp, Comparer, Expr, ExprType, Members, Node};

/// How the members of a class compare.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Int,
    Date,
    Decimal(u8),
    Text(CollationId),
}

/// Most members of a class that are linked pairwise: a class of so many is written by a program, and its own conditions serve.
const MAX_MEMBERS: usize = 40;

struct Class {
    kind: Kind,
    /// Table by place, and column.
    members: Vec<(usize, u16)>,
    /// What they all equal, where that is a constant.
    constant: Option<Expr>,
}

fn kind_of(c: &Comparer, a: &Expr, b: &Expr) -> Option<Kind> {
    hashable(c, a, b)?;
    Some(match c {
        Comparer::Int => Kind::Int,
        Comparer::DateTime => Kind::Date,
        Comparer::Exact => Kind::Decimal(a.ty.scale()),
        Comparer::Text(id) => Kind::Text(*id),
        _ => return None,
    })
}

/// An equality of two columns of the block, or of one with a constant.
fn equality(e: &Expr) -> Option<(Kind, &Comparer, &Expr, &Expr)> {
    let Node::Compare(CmpOp::Eq, comparer, p) = &e.node else {
        return None;
    };
    let kind = kind_of(comparer, &p[0], &p[1])?;
    Some((kind, comparer, &p[0], &p[1]))
}

/// Adds the equalities that follow from those of the block itself, and marks all links between columns with the number of their class.
pub(crate) fn close(
    conds: &mut Vec<CondInfo>,
    tables: &[FromTable],
    nest_of: &[u16],
    places: &Places,
) {
    let place = |e: &Expr| {
        let c = e.as_column()?;
        let t = places.of(c.slot)?;
        (nest_of[t] == 0).then_some((t, c.ordinal))
    };
    let mut classes: Vec<Class> = Vec::new();
    for c in conds.iter().filter(|c| c.nest == 0 && !c.late) {
        let Some((kind, _, a, b)) = equality(&c.expr) else {
            continue;
        };
        let (Some(a), Some(b)) = (place(a), place(b)) else {
            continue;
        };
        if a.0 == b.0 {
            continue;
        }
        join(&mut classes, kind, a, b);
    }
    classes.retain(|c| c.members.len() <= MAX_MEMBERS);
    if classes.is_empty() {
        return;
    }
    for c in conds.iter().filter(|c| c.nest == 0 && !c.late) {
        let Some((kind, _, a, b)) = equality(&c.expr) else {
            continue;
        };
        for (column, value) in [(a, b), (b, a)] {
            let (Some(m), true) = (place(column), value.is_row_constant()) else {
                continue;
            };
            let class = classes.iter_mut();
            let mut class = class.filter(|k| k.kind == kind && k.members.contains(&m));
            if let Some(class) = class.next() {
                class.constant.get_or_insert_with(|| value.clone());
            }
        }
    }
    for (n, class) in classes.iter().enumerate() {
        link(conds, class, n as u16, places, &place);
    }
    copy_ranges(conds, &classes, tables, places, &place);
}

fn join(classes: &mut Vec<Class>, kind: Kind, a: (usize, u16), b: (usize, u16)) {
    let of = |m: (usize, u16)| {
        let mut at = classes.iter();
        at.position(|c| c.kind == kind && c.members.contains(&m))
    };
    match (of(a), of(b)) {
        (None, None) => classes.push(Class {
            kind,
            members: vec![a, b],
            constant: None,
        }),
        (Some(c), None) => classes[c].members.push(b),
        (None, Some(c)) => classes[c].members.push(a),
        (Some(x), Some(y)) if x != y => {
            let gone = classes.remove(x.max(y));
            classes[x.min(y)].members.extend(gone.members);
        }
        _ => {}
    }
}

/// Says of the columns of a class that lead an index what conditions say of others of the class by ranges and lists.
fn copy_ranges(
    conds: &mut Vec<CondInfo>,
    classes: &[Class],
    tables: &[FromTable],
    places: &Places,
    place: &dyn Fn(&Expr) -> Option<(usize, u16)>,
) {
    let mut made = Vec::new();
    for c in conds.iter().filter(|c| c.nest == 0 && !c.late) {
        let column = match &c.expr.node {
            Node::Compare(CmpOp::Eq | CmpOp::NullSafeEq | CmpOp::Ne, ..) => continue,
            Node::Compare(_, _, p) if p[1].is_row_constant() => &p[0],
            Node::Compare(_, _, p) if p[0].is_row_constant() => &p[1],
            Node::Between(p, _, false) if p[1..].iter().all(Expr::is_row_constant) => &p[0],
            Node::In(list) if !list.negated => &list.expr,
            _ => continue,
        };
        let Some(m) = place(column) else { continue };
        let alone = |x: &Expr| matches!(x.node, Node::Column(_)) && place(x) != Some(m);
        if c.expr.any(&alone) || c.tables.count_ones() != 1 {
            continue;
        }
        let serves = |k: &&Class| match k.kind {
            Kind::Text(id) => k.members.contains(&m) && is_by_collation(&c.expr, id),
            _ => k.members.contains(&m),
        };
        for class in classes.iter().filter(serves) {
            for &(t, ordinal) in class.members.iter().filter(|x| x.0 != m.0) {
                let other = tables[t].column_expr(usize::from(ordinal));
                let alike =
                    other.ty.shape == column.ty.shape && other.ty.collation == column.ty.collation;
                if alike && leads_index(&tables[t], ordinal) {
                    let mut e = c.expr.clone();
                    read_instead(&mut e, column, &other);
                    made.push(CondInfo {
                        copied: true,
                        ..CondInfo::made(e, places, None)
                    });
                }
            }
        }
    }
    conds.extend(made);
}

/// Whether a condition compares columns by this collation and looks at them in no other way, so that it holds for all texts that are
/// equal by it or for none: `LENGTH(c) = 1`, or a comparison by bytes, tells equal texts apart.
pub(crate) fn is_by_collation(e: &Expr, id: CollationId) -> bool {
    let by = |c: &Comparer| *c == Comparer::Text(id);
    let bare = |e: &Expr| e.as_column().is_some() || !e.reads_row();
    match &e.node {
        Node::Compare(_, c, p) => by(c) && p.iter().all(bare),
        Node::Between(p, c, _) => c.iter().all(by) && p.iter().all(bare),
        Node::In(list) => {
            bare(&list.expr)
                && match &list.members {
                    Members::Sorted(c, ..) => by(c),
                    Members::Each(each) => each.iter().all(|(c, e)| by(c) && bare(e)),
                }
        }
        _ => false,
    }
}

/// Whether a column is the first part of an index.
fn leads_index(t: &FromTable, column: u16) -> bool {
    let TableSource::Engine(table) = &t.source else {
        return false;
    };
    let mut indexes = table.def.indexes.iter();
    indexes.any(|i| {
        let first = i.parts.first();
        first.is_some_and(|p| p.column == column && p.prefix == 0)
    })
}

/// Makes an expression read another column.
pub(crate) fn read_instead(e: &mut Expr, column: &Expr, other: &Expr) {
    let Some(own) = column.as_column() else {
        return;
    };
    match &e.node {
        Node::Column(c) if (c.slot, c.ordinal) == (own.slot, own.ordinal) => *e = other.clone(),
        _ => e.each_child_mut(&mut |x| read_instead(x, column, other)),
    }
}

/// Marks and completes the links of a class.
fn link(
    conds: &mut Vec<CondInfo>,
    class: &Class,
    number: u16,
    places: &Places,
    place: &dyn Fn(&Expr) -> Option<(usize, u16)>,
) {
    let comparer = match class.kind {
        Kind::Int => Comparer::Int,
        Kind::Date => Comparer::DateTime,
        Kind::Decimal(_) => Comparer::Exact,
        Kind::Text(id) => Comparer::Text(id),
    };
    // The columns as they are written somewhere: with their names.
    let mut written: Vec<Option<Expr>> = vec![None; class.members.len()];
    let mut linked = vec![false; class.members.len() * class.members.len()];
    let mut fixed = vec![false; class.members.len()];
    let at = |m: (usize, u16)| class.members.iter().position(|x| *x == m);
    for c in conds.iter_mut().filter(|c| c.nest == 0 && !c.late) {
        let Some((kind, _, a, b)) = equality(&c.expr) else {
            continue;
        };
        if kind != class.kind {
            continue;
        }
        let (x, y) = (place(a).and_then(at), place(b).and_then(at));
        for (n, e) in [(x, a), (y, b)] {
            if let Some(n) = n {
                written[n].get_or_insert_with(|| e.clone());
            }
        }
        match (x, y) {
            (Some(x), Some(y)) => {
                linked[x * class.members.len() + y] = true;
                linked[y * class.members.len() + x] = true;
                c.class = Some(number);
            }
            (Some(x), None) if b.is_row_constant() => fixed[x] = true,
            (None, Some(y)) if a.is_row_constant() => fixed[y] = true,
            _ => {}
        }
    }
    let column = |n: usize| written[n].clone();
    let mut add = |a: Expr, b: Expr, class: Option<u16>| {
        let nullable = a.ty.nullable || b.ty.nullable;
        let expr = Expr {
            node: Node::Compare(CmpOp::Eq, comparer.clone(), Box::new([a, b])),
            ty: ExprType::truth(nullable),
        };
        conds.push(CondInfo::made(expr, places, class));
    };
    for x in 0..class.members.len() {
        for y in x + 1..class.members.len() {
            if linked[x * class.members.len() + y] {
                continue;
            }
            if let (Some(a), Some(b)) = (column(x), column(y)) {
                add(a, b, Some(number));
            }
        }
        if let (Some(value), false, Some(a)) = (&class.constant, fixed[x], column(x)) {
            add(a, value.clone(), None);
        }
    }
}
