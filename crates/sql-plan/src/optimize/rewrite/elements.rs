//! Multi-valued indexes: what a condition on a document says of the list of its elements that an index has
//! ([0085](../../../../../docs/decisions/0085-multi-valued-indexes.md)).
//!
//! The condition stays as it is; one that it implies comes beside it, for an index to be looked up by. Must never do: take a condition's place, or
//! imply what does not hold for each row for which the condition does.

use types::DataType;

use super::computed::{is_steady, written};
use crate::bind::places::Places;
use crate::bind::row_rules;
use crate::bind::scope::FromTable;
use crate::bind::source::TableSource;
use crate::optimize::conditions::CondInfo;
use sql_expr::column_name::ColumnName;
use sql_expr::func::json_list;
use sql_expr::{EvalCtx, Expr, ExprType, Node, Shape, Val};

/// A list that an index has.
struct List {
    /// The place of its table.
    place: usize,
    slot: u16,
    /// How the document is written down that it is made of.
    written: String,
    /// What reads it.
    column: Expr,
    elements: DataType,
}

/// The lists that indexes of these tables have.
fn lists(tables: &[FromTable], cx: &EvalCtx<'_>) -> Vec<List> {
    let mut all = Vec::new();
    for (place, t) in tables.iter().enumerate() {
        let TableSource::Engine(table) = &t.source else {
            continue;
        };
        for (at, c) in table.def.columns.iter().enumerate() {
            let (true, Some(text)) = (c.is_list(), c.key_expression()) else {
                continue;
            };
            // What this session cannot bind it cannot have written either.
            let e = cx.quietly(|| row_rules::bound(text, &table.def.columns, cx).ok());
            let Some(e) = e.flatten() else { continue };
            let Some(document) = json_list::listed(&e).filter(|d| is_steady(d)) else {
                continue;
            };
            let mut column = t.unnamed_column(at);
            if let Node::Column(own) = &mut column.node {
                own.name = ColumnName::Expression(text.into());
            }
            all.push(List {
                place,
                slot: t.slot,
                written: written(document, row_rules::ROW),
                column,
                elements: c.key_type().clone(),
            });
        }
    }
    all
}

/// Conditions by which multi-valued indexes can be looked up.
pub(crate) fn implied(
    conds: &[CondInfo],
    tables: &[FromTable],
    nest_of: &[u16],
    places: &Places,
    cx: &EvalCtx<'_>,
) -> Vec<CondInfo> {
    let all = lists(tables, cx);
    let mut made = Vec::new();
    if all.is_empty() {
        return made;
    }
    for c in conds.iter().filter(|c| !c.late) {
        for list in all.iter().filter(|l| nest_of[l.place] == c.nest) {
            let Some(e) = says(&c.expr, list) else {
                continue;
            };
            let parts = match e.node {
                Node::And(parts) => parts,
                _ => vec![e],
            };
            made.extend(parts.into_iter().map(|e| CondInfo {
                copied: true,
                nest: c.nest,
                ..CondInfo::made(e, places, None)
            }));
        }
    }
    made
}

/// What a condition says of a list; `None`: nothing.
fn says(e: &Expr, list: &List) -> Option<Expr> {
    match &e.node {
        Node::Call(c) => match (c.def.name, &c.args[..]) {
            ("json_member_of", [x, document]) if is_of(document, list) => {
                let keys = match x.as_const().filter(|_| x.ty.shape == Shape::Json) {
                    // A list within a list is no element of one.
                    Some(v) => json_list::keys_in(&text_of(v, &x.ty)?, &list.elements)?,
                    None if json_list::has_keys(&x.ty, &list.elements) => vec![x.clone()],
                    None => return None,
                };
                match &keys[..] {
                    [one] if !is_array(x) => Some(has(list, one.clone())),
                    _ => None,
                }
            }
            ("json_contains", [document, part]) if is_of(document, list) => {
                let keys = constants(part, list)?;
                junction(keys.into_iter().map(|k| has(list, k)).collect(), Node::And)
            }
            ("json_overlaps", [a, b]) => {
                let other = match (is_of(a, list), is_of(b, list)) {
                    (true, _) => b,
                    (_, true) => a,
                    _ => return None,
                };
                let keys = constants(other, list)?;
                junction(keys.into_iter().map(|k| has(list, k)).collect(), Node::Or)
            }
            _ => None,
        },
        Node::Or(arms) => {
            let arms: Option<Vec<Expr>> = arms.iter().map(|a| says(a, list)).collect();
            junction(arms?, Node::Or)
        }
        Node::And(parts) => {
            let parts = parts.iter().filter_map(|p| says(p, list)).collect();
            junction(parts, Node::And)
        }
        _ => None,
    }
}

fn is_of(document: &Expr, list: &List) -> bool {
    written(document, list.slot) == list.written
}

fn has(list: &List, value: Expr) -> Expr {
    json_list::has_value(list.column.clone(), value, &list.elements)
}

/// The values of a constant document that are looked for.
fn constants(document: &Expr, list: &List) -> Option<Vec<Expr>> {
    let text = text_of(document.as_const()?, &document.ty)?;
    json_list::keys_in(&text, &list.elements)
}

fn is_array(document: &Expr) -> bool {
    let text = document.as_const().and_then(|v| text_of(v, &document.ty));
    document.ty.shape == Shape::Json && text.is_some_and(|t| t.starts_with('['))
}

/// The text of a document as it is stored; `None`: the constant is none.
fn text_of(v: &Val<'_>, ty: &ExprType) -> Option<String> {
    let Val::Bytes(text) = v else { return None };
    let text = std::str::from_utf8(text).ok()?;
    match ty.shape {
        Shape::Json => Some(text.to_owned()),
        Shape::Str { .. } if !ty.is_binary_text() => {
            let mut out = Vec::new();
            sql_expr::json::parse(text).ok()?.write(&mut out).ok()?;
            String::from_utf8(out).ok()
        }
        _ => None,
    }
}

fn junction(mut parts: Vec<Expr>, of: fn(Vec<Expr>) -> Node) -> Option<Expr> {
    match parts.len() {
        0 => None,
        1 => parts.pop(),
        _ => Some(Expr {
            node: of(parts),
            ty: ExprType::truth(true),
        }),
    }
}

/// Whether a condition is there for indexes alone, which another one implies.
pub(crate) fn is_for_look_ups(e: &Expr) -> bool {
    match &e.node {
        Node::Or(parts) | Node::And(parts) => parts.iter().all(is_for_look_ups),
        _ => json_list::looks_for(e).is_some(),
    }
}
