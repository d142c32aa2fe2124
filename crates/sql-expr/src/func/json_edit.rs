//! JSON functions that change a document: SET, INSERT, REPLACE, REMOVE, ARRAY_APPEND, MERGE.

use types::SqlError;
use types::error::codes;

use super::infer::json;
use super::json::{document, member, out, path};
use super::{FuncDef, MANY, def, some};
use crate::json::path::{Index, Step};
use crate::json::value::key_order;
use crate::json::{Json, Path};
use crate::limited::Budget;
use crate::node::Args;
use crate::val::Val;

type Out<'a> = Result<Val<'a>, SqlError>;

/// The table.
pub(super) const TABLE: &[FuncDef] = &[
    def("json_set", 3, MANY, json, |a| {
        edit(a, Edit::Set, "json_set")
    }),
    def("json_insert", 3, MANY, json, |a| {
        edit(a, Edit::Insert, "json_insert")
    }),
    def("json_replace", 3, MANY, json, |a| {
        edit(a, Edit::Replace, "json_replace")
    }),
    def("json_array_append", 3, MANY, json, |a| {
        edit(a, Edit::Append, "json_array_append")
    }),
    def("json_array_insert", 3, MANY, json, |a| {
        edit(a, Edit::InsertCell, "json_array_insert")
    }),
    def("json_remove", 2, MANY, json, remove),
    def("json_merge_patch", 2, MANY, json, merge_patch),
    def("json_merge_preserve", 2, MANY, json, |a| {
        merge(a, preserve, "json_merge_preserve")
    }),
    def("json_merge", 2, MANY, json, |a| {
        merge(a, preserve, "json_merge")
    }),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Edit {
    Set,
    Insert,
    Replace,
    Append,
    InsertCell,
}

fn cell(i: Index, len: usize) -> Option<usize> {
    match i {
        Index::Front(i) => Some(i),
        Index::Back(i) => len.checked_sub(1)?.checked_sub(i),
    }
}

/// The place a path without wildcards leads to.
fn place<'d>(doc: &'d mut Json, steps: &[Step]) -> Option<&'d mut Json> {
    let Some((first, rest)) = steps.split_first() else {
        return Some(doc);
    };
    match (first, doc) {
        (Step::Member(k), Json::Object(m)) => {
            let i = m.binary_search_by(|(o, _)| key_order(o, k)).ok()?;
            place(&mut m[i].1, rest)
        }
        (Step::Cell(i), Json::Array(v)) => {
            let i = cell(*i, v.len())?;
            place(v.get_mut(i)?, rest)
        }
        // What is no array is one of itself.
        (Step::Cell(i), alone) if cell(*i, 1) == Some(0) => place(alone, rest),
        _ => None,
    }
}

fn apply(doc: &mut Json, p: &Path, how: Edit, value: Json) {
    if how == Edit::Append {
        if let Some(at) = place(doc, &p.steps) {
            match at {
                Json::Array(v) => v.push(value),
                other => {
                    let old = std::mem::replace(other, Json::Null);
                    *other = Json::Array(vec![old, value]);
                }
            }
        }
        return;
    }
    if how != Edit::InsertCell
        && let Some(at) = place(doc, &p.steps)
    {
        if how != Edit::Insert {
            *at = value;
        }
        return;
    }
    if how == Edit::Replace {
        return;
    }
    let Some((last, parents)) = p.steps.split_last() else {
        return;
    };
    let Some(parent) = place(doc, parents) else {
        return;
    };
    match (last, parent) {
        (Step::Member(k), Json::Object(m)) if how != Edit::InsertCell => {
            if let Err(i) = m.binary_search_by(|(o, _)| key_order(o, k)) {
                m.insert(i, (k.clone(), value));
            }
        }
        (Step::Cell(i), Json::Array(v)) => {
            // Before the beginning is the beginning, behind the end the end.
            let at = cell(*i, v.len()).unwrap_or(0).min(v.len());
            v.insert(at, value);
        }
        (Step::Cell(i), other) if how != Edit::InsertCell => {
            let old = std::mem::replace(other, Json::Null);
            *other = Json::Array(match i {
                Index::Front(_) => vec![old, value],
                Index::Back(_) => vec![value, old],
            });
        }
        _ => {}
    }
}

fn edit<'a>(a: Args<'a>, how: Edit, name: &str) -> Out<'a> {
    if a.len().is_multiple_of(2) {
        return Err(SqlError::wrong_param_count(name));
    }
    let mut d = some!(document(a, 0, name)?);
    let mut budget = Budget::new(a.cx);
    for i in (1..a.len()).step_by(2) {
        let p = some!(path(a, i, false)?);
        if how == Edit::InsertCell && !matches!(p.steps.last(), Some(Step::Cell(_))) {
            return Err(SqlError::fixed(codes::ER_INVALID_JSON_PATH_ARRAY_CELL));
        }
        let value = member(a, i + 1, &mut budget)?;
        a.cx.tick(16)?;
        apply(&mut d, &p, how, value);
        d.check_depth()?;
    }
    out(a, &d)
}

/// A path without the cells that lead from what is no array to itself: what such a path removes is the value, and not a cell of it.
fn without_needless(doc: &mut Json, steps: Vec<Step>) -> Vec<Step> {
    let mut kept: Vec<Step> = Vec::with_capacity(steps.len());
    for step in steps {
        let alone = match &step {
            Step::Cell(i) => cell(*i, 1) == Some(0),
            _ => false,
        };
        let itself = |at: &mut Json| !matches!(at, Json::Array(_));
        if !(alone && place(doc, &kept).is_some_and(itself)) {
            kept.push(step);
        }
    }
    kept
}

fn remove(a: Args<'_>) -> Out<'_> {
    let mut d = some!(document(a, 0, "json_remove")?);
    for i in 1..a.len() {
        let p = some!(path(a, i, false)?);
        if p.steps.is_empty() {
            return Err(SqlError::new(
                codes::ER_JSON_VACUOUS_PATH,
                "The path expression '$' is not allowed in this context.",
            ));
        }
        let steps = without_needless(&mut d, p.steps);
        let Some((last, parents)) = steps.split_last() else {
            // What is left is the whole document, which stays.
            continue;
        };
        match (last, place(&mut d, parents)) {
            (Step::Member(k), Some(Json::Object(m))) => {
                if let Ok(i) = m.binary_search_by(|(o, _)| key_order(o, k)) {
                    m.remove(i);
                }
            }
            (Step::Cell(i), Some(Json::Array(v))) => {
                if let Some(i) = cell(*i, v.len()).filter(|i| *i < v.len()) {
                    v.remove(i);
                }
            }
            _ => {}
        }
    }
    out(a, &d)
}

fn merge<'a>(a: Args<'a>, with: fn(Json, Json) -> Json, name: &str) -> Out<'a> {
    let mut all = some!(document(a, 0, name)?);
    for i in 1..a.len() {
        all = with(all, some!(document(a, i, name)?));
    }
    out(a, &all)
}

/// RFC 7396; NULL is what is not known, which an object changes to nothing that is known, and any other patch replaces.
fn merge_patch(a: Args<'_>) -> Out<'_> {
    let name = "json_merge_patch";
    let mut all = document(a, 0, name)?;
    for i in 1..a.len() {
        all = match (all, document(a, i, name)?) {
            (_, None) | (None, Some(Json::Object(_))) => None,
            (Some(target), Some(p)) => Some(patch(target, p)),
            (None, Some(p)) => Some(p),
        };
    }
    match all {
        Some(all) => out(a, &all),
        None => Ok(Val::Null),
    }
}

/// RFC 7396.
fn patch(target: Json, p: Json) -> Json {
    let Json::Object(changes) = p else {
        return p;
    };
    let mut members = match target {
        Json::Object(m) => m,
        _ => Vec::new(),
    };
    for (k, v) in changes {
        let at = members.binary_search_by(|(o, _)| key_order(o, &k));
        match (at, v) {
            (Ok(i), Json::Null) => {
                members.remove(i);
            }
            (Err(_), Json::Null) => {}
            (Ok(i), v) => {
                let old = std::mem::replace(&mut members[i].1, Json::Null);
                members[i].1 = patch(old, v);
            }
            (Err(i), v) => members.insert(i, (k, patch(Json::Null, v))),
        }
    }
    Json::Object(members)
}

fn preserve(x: Json, y: Json) -> Json {
    match (x, y) {
        (Json::Object(mut m), Json::Object(n)) => {
            for (k, v) in n {
                match m.binary_search_by(|(o, _)| key_order(o, &k)) {
                    Ok(i) => {
                        let old = std::mem::replace(&mut m[i].1, Json::Null);
                        m[i].1 = preserve(old, v);
                    }
                    Err(i) => m.insert(i, (k, v)),
                }
            }
            Json::Object(m)
        }
        (x, y) => {
            let list = |j| match j {
                Json::Array(v) => v,
                j => vec![j],
            };
            let mut v = list(x);
            v.extend(list(y));
            Json::Array(v)
        }
    }
}
