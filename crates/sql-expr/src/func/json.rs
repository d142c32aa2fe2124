//! JSON functions that read: extraction, search, validity, description.

use std::borrow::Cow;

use types::SqlError;
use types::charset::Charset;
use types::error::codes;

use super::infer::{ascii_or_null, int_or_null, json, json_type, truth, truth_or_null};
use super::{FuncDef, MANY, def, some};
use crate::json::{self as doc, Json, Path, read};
use crate::limited::{Budget, Put};
use crate::node::Args;
use crate::node::Expr;
use crate::node::InferCx;
use crate::ty::{Coercibility, ExprType, Shape};
use crate::val::Val;
use types::collation::CollationId;

type Out<'a> = Result<Val<'a>, SqlError>;
type Inferred = Result<ExprType, SqlError>;

/// The table.
pub(super) const TABLE: &[FuncDef] = &[
    def("json_valid", 1, 1, truth, json_valid),
    def("json_extract", 2, MANY, json, json_extract),
    def("json_unquote", 1, 1, infer_text, json_unquote),
    def("json_quote", 1, 1, infer_text, json_quote),
    def("json_type", 1, 1, ascii_or_null::<51>, json_type_of),
    def("json_length", 1, 2, int_or_null::<21>, json_length),
    def("json_depth", 1, 1, int_or_null::<21>, json_depth),
    def("json_keys", 1, 2, json, json_keys),
    def("json_contains", 2, 3, truth_or_null, json_contains),
    def(
        "json_contains_path",
        3,
        MANY,
        truth_or_null,
        json_contains_path,
    ),
    def("json_member_of", 2, 2, truth_or_null, json_member_of),
    def("json_overlaps", 2, 2, truth_or_null, json_overlaps),
    def("json_array", 0, MANY, infer_document, json_array),
    def("json_object", 0, MANY, infer_object, json_object),
    def("json_pretty", 1, 1, infer_text, json_pretty),
    def(
        "json_storage_size",
        1,
        1,
        int_or_null::<21>,
        json_storage_size,
    ),
    def(
        "json_storage_free",
        1,
        1,
        int_or_null::<21>,
        json_storage_free,
    ),
];

/// Argument `i` as a document; `None` for NULL.
pub(super) fn document(a: Args<'_>, i: usize, function: &str) -> Result<Option<Json>, SqlError> {
    let v = a.val(i)?;
    let ty = a.ty(i);
    let Some(text) = doc::text_of(&v, ty, i, function)? else {
        return Ok(None);
    };
    a.room(doc::weight(text.as_bytes()))?;
    let read = match ty.shape {
        Shape::Json => doc::parse_document(&text),
        _ => doc::parse(&text),
    };
    read.map(Some)
        .map_err(|e| doc::invalid(&e, i + 1, function))
}

/// Argument `i` as a value inside a document: JSON stays a document, text becomes a string.
pub(super) fn member(a: Args<'_>, i: usize, budget: &mut Budget<'_>) -> Result<Json, SqlError> {
    let v = a.val(i)?;
    let ty = a.ty(i);
    if let Val::Bytes(b) = &v {
        budget.take(b.len())?;
        if ty.shape == Shape::Json {
            a.room(doc::weight(b))?;
        }
    }
    Ok(doc::scalar(&v, ty))
}

/// Argument `i` as a path; `None` for NULL.
///
/// # Errors
/// 3143 for text that is no path, 3149 for a path with wildcards where one place is meant.
pub(super) fn path(a: Args<'_>, i: usize, wild: bool) -> Result<Option<Path>, SqlError> {
    let Some(t) = a.text(i)? else {
        return Ok(None);
    };
    let p = doc::read_path(&doc::in_utf8(&t, a.ty(i)))?;
    if !wild && p.is_wild() {
        return Err(SqlError::new(
            codes::ER_INVALID_JSON_PATH_WILDCARD,
            "In this situation, path expressions may not contain the * and ** tokens or an array range.",
        ));
    }
    Ok(Some(p))
}

/// A document as a value.
///
/// # Errors
/// It is too long, or the statement is to end.
pub(super) fn out(a: Args<'_>, j: &Json) -> Result<Val<'static>, SqlError> {
    j.check_depth()?;
    let mut text = a.limited();
    j.write(&mut text)?;
    Ok(text.value())
}

fn infer_document(_: &InferCx<'_>, _: &mut [Expr]) -> Inferred {
    Ok(json_type(false))
}

fn infer_object(_: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    if args.len() % 2 == 1 {
        return Err(SqlError::wrong_param_count("json_object"));
    }
    Ok(json_type(false))
}

fn infer_text(_: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    Ok(ExprType::text(
        args[0].ty.chars().max(16),
        CollationId::UTF8MB4_BIN,
        Coercibility::Literal,
        true,
    ))
}

fn json_valid(a: Args<'_>) -> Out<'_> {
    let v = a.val(0)?;
    Ok(match &v {
        Val::Null => Val::Null,
        Val::Bytes(b) => {
            a.room(doc::weight(b))?;
            Val::truth(Some(
                (a.ty(0).charset() != Charset::Binary || std::str::from_utf8(b).is_ok())
                    && doc::parse(&doc::in_utf8(b, a.ty(0))).is_ok(),
            ))
        }
        _ => Val::Int(0),
    })
}

fn json_extract(a: Args<'_>) -> Out<'_> {
    let d = some!(document(a, 0, "json_extract")?);
    let mut found = Vec::new();
    let mut many = a.len() > 2;
    for i in 1..a.len() {
        let p = some!(path(a, i, true)?);
        many |= p.is_wild();
        found.extend(p.find(&d, a.cx.pace())?);
    }
    match found.as_slice() {
        [] => Ok(Val::Null),
        [one] if !many => out(a, one),
        all => {
            // As an array of them is written, but without copying what may be the same document many times over.
            let mut text = a.limited();
            text.put(b"[")?;
            for (i, v) in all.iter().enumerate() {
                if i > 0 {
                    text.put(b", ")?;
                }
                v.write(&mut text)?;
            }
            text.put(b"]")?;
            Ok(text.value())
        }
    }
}

fn json_unquote(a: Args<'_>) -> Out<'_> {
    let t = some!(a.text(0)?);
    let t = match doc::in_utf8(&t, a.ty(0)) {
        Cow::Owned(converted) => Cow::Owned(converted.into_bytes()),
        Cow::Borrowed(_) => t,
    };
    if t.len() < 2 || t.first() != Some(&b'"') || t.last() != Some(&b'"') {
        return Ok(Val::Bytes(t));
    }
    a.room(2 * t.len())?;
    match read::unquote(&String::from_utf8_lossy(&t)) {
        Ok(s) => Ok(Val::owned(s)),
        Err(e) => Err(doc::invalid(&e, 1, "json_unquote")),
    }
}

fn json_quote(a: Args<'_>) -> Out<'_> {
    let t = some!(a.text(0)?);
    let mut text = a.limited();
    doc::value::write_quoted(&doc::in_utf8(&t, a.ty(0)), &mut text)?;
    Ok(text.value())
}

fn json_type_of(a: Args<'_>) -> Out<'_> {
    let d = some!(document(a, 0, "json_type")?);
    Ok(Val::borrowed(d.type_name().as_bytes()))
}

fn json_length(a: Args<'_>) -> Out<'_> {
    let d = some!(document(a, 0, "json_length")?);
    let p = if a.len() > 1 {
        some!(path(a, 1, false)?)
    } else {
        Path { steps: Vec::new() }
    };
    let found = p.find(&d, a.cx.pace())?;
    Ok(match found.first() {
        None => Val::Null,
        Some(Json::Array(v)) => Val::Int(v.len() as i64),
        Some(Json::Object(m)) => Val::Int(m.len() as i64),
        Some(_) => Val::Int(1),
    })
}

fn json_depth(a: Args<'_>) -> Out<'_> {
    let d = some!(document(a, 0, "json_depth")?);
    Ok(Val::Int(d.depth() as i64))
}

fn json_keys(a: Args<'_>) -> Out<'_> {
    let d = some!(document(a, 0, "json_keys")?);
    let p = if a.len() > 1 {
        some!(path(a, 1, false)?)
    } else {
        Path { steps: Vec::new() }
    };
    match p.find(&d, a.cx.pace())?.first() {
        Some(Json::Object(m)) => {
            a.room(m.iter().map(|(k, _)| k.len() + size_of::<Json>()).sum())?;
            let keys = m.iter().map(|(k, _)| Json::Str(k.clone())).collect();
            out(a, &Json::Array(keys))
        }
        _ => Ok(Val::Null),
    }
}

fn json_contains(a: Args<'_>) -> Out<'_> {
    let d = some!(document(a, 0, "json_contains")?);
    let needle = some!(document(a, 1, "json_contains")?);
    let p = if a.len() > 2 {
        some!(path(a, 2, false)?)
    } else {
        Path { steps: Vec::new() }
    };
    Ok(match p.find(&d, a.cx.pace())?.first() {
        Some(place) => Val::truth(Some(place.contains(&needle, a.cx.pace())?)),
        None => Val::Null,
    })
}

/// `one` or `all`.
pub(super) fn wants_all(a: Args<'_>, i: usize, function: &str) -> Result<Option<bool>, SqlError> {
    let Some(t) = a.text(i)? else {
        return Ok(None);
    };
    match t.to_ascii_lowercase().as_slice() {
        b"one" => Ok(Some(false)),
        b"all" => Ok(Some(true)),
        _ => Err(SqlError::new(
            codes::ER_JSON_BAD_ONE_OR_ALL_ARG,
            format!("The oneOrAll argument to {function} may take these values: 'one' or 'all'."),
        )),
    }
}

fn json_contains_path(a: Args<'_>) -> Out<'_> {
    let d = some!(document(a, 0, "json_contains_path")?);
    let all = some!(wants_all(a, 1, "json_contains_path")?);
    let mut hit = all;
    for i in 2..a.len() {
        let found = !some!(path(a, i, true)?).find(&d, a.cx.pace())?.is_empty();
        if found != all {
            hit = found;
            break;
        }
    }
    Ok(Val::truth(Some(hit)))
}

fn json_member_of(a: Args<'_>) -> Out<'_> {
    let x = a.val(0)?;
    if x.is_null() {
        return Ok(Val::Null);
    }
    let x = member(a, 0, &mut Budget::new(a.cx))?;
    let d = some!(document(a, 1, "member of")?);
    Ok(Val::truth(Some(match &d {
        Json::Array(v) => v.iter().any(|y| y.same(&x)),
        y => y.same(&x),
    })))
}

fn json_overlaps(a: Args<'_>) -> Out<'_> {
    let x = some!(document(a, 0, "json_overlaps")?);
    let y = some!(document(a, 1, "json_overlaps")?);
    let hit = match (&x, &y) {
        (Json::Object(m), Json::Object(_)) => m
            .iter()
            .any(|(k, v)| y.member(k).is_some_and(|w| w.same(v))),
        (Json::Array(v), Json::Array(w)) => {
            let mut hit = false;
            for x in v {
                a.cx.tick(w.len() + 1)?;
                hit = w.iter().any(|y| x.same(y));
                if hit {
                    break;
                }
            }
            hit
        }
        (Json::Array(v), w) | (w, Json::Array(v)) => v.iter().any(|x| x.same(w)),
        (x, y) => x.same(y),
    };
    Ok(Val::truth(Some(hit)))
}

fn json_array(a: Args<'_>) -> Out<'_> {
    let mut budget = Budget::new(a.cx);
    let items = (0..a.len())
        .map(|i| member(a, i, &mut budget))
        .collect::<Result<Vec<_>, _>>()?;
    out(a, &Json::Array(items))
}

fn json_object(a: Args<'_>) -> Out<'_> {
    let mut budget = Budget::new(a.cx);
    let mut members = Vec::with_capacity(a.len() / 2);
    for i in (0..a.len()).step_by(2) {
        let Some(k) = a.text(i)? else {
            return Err(SqlError::new(
                codes::ER_JSON_DOCUMENT_NULL_KEY,
                "JSON documents may not contain NULL member names.",
            ));
        };
        budget.take(k.len())?;
        let value = member(a, i + 1, &mut budget)?;
        members.push((doc::in_utf8(&k, a.ty(i)).into_owned(), value));
    }
    out(a, &Json::object(members))
}

fn json_pretty(a: Args<'_>) -> Out<'_> {
    let d = some!(document(a, 0, "json_pretty")?);
    let mut text = a.limited();
    d.write_pretty(0, &mut text)?;
    Ok(text.value())
}

fn json_storage_size(a: Args<'_>) -> Out<'_> {
    let t = some!(a.text(0)?);
    Ok(Val::Int(t.len() as i64))
}

/// No document is changed in part, so that none has room to spare.
fn json_storage_free(a: Args<'_>) -> Out<'_> {
    some!(document(a, 0, "json_storage_free")?);
    Ok(Val::Int(0))
}
