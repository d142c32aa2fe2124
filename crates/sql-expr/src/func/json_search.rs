//! JSON_SEARCH: the places of texts that are like a pattern.

use std::collections::HashSet;

use types::SqlError;
use types::collation::CollationId;

use super::infer::json;
use super::json::{document, out, path, wants_all};
use super::{FuncDef, MANY, def, some};
use crate::ctx::EvalCtx;
use crate::json::value::write_quoted;
use crate::json::{Json, in_utf8};
use crate::limited::Budget;
use crate::node::Args;
use crate::val::Val;

type Out<'a> = Result<Val<'a>, SqlError>;

/// The table.
pub(super) const TABLE: &[FuncDef] = &[def("json_search", 3, MANY, json, json_search)];

fn json_search(a: Args<'_>) -> Out<'_> {
    let d = some!(document(a, 0, "json_search")?);
    let all = some!(wants_all(a, 1, "json_search")?);
    let pattern = some!(a.text(2)?);
    let pattern = in_utf8(&pattern, a.ty(2));
    let escape = if a.len() > 3 {
        a.text(3)?.and_then(|t| t.first().map(|b| u32::from(*b)))
    } else {
        None
    };
    let mut found = Search {
        pattern: pattern.as_bytes(),
        escape: escape.or(Some(u32::from(b'\\'))),
        within: HashSet::new(),
        places: Vec::new(),
        budget: Budget::new(a.cx),
        cx: a.cx,
    };
    if a.len() > 4 {
        // Path by path, and no place twice.
        for i in 4..a.len() {
            let p = some!(path(a, i, true)?);
            let starts = p.find(&d, a.cx.pace())?;
            found.within = starts.into_iter().map(std::ptr::from_ref).collect();
            found.search(&d, "$", false)?;
        }
        let mut seen = HashSet::new();
        found.places.retain(|p| seen.insert(p.clone()));
    } else {
        found.search(&d, "$", true)?;
    }
    match found.places.as_slice() {
        [] => Ok(Val::Null),
        [one] => out(a, &Json::Str(one.clone())),
        [first, ..] if !all => out(a, &Json::Str(first.clone())),
        many => {
            let many = many.iter().cloned().map(Json::Str).collect();
            out(a, &Json::Array(many))
        }
    }
}

/// JSON_SEARCH at work.
struct Search<'c> {
    pattern: &'c [u8],
    escape: Option<u32>,
    /// Where it begins to look.
    within: HashSet<*const Json>,
    places: Vec<String>,
    budget: Budget<'c>,
    cx: &'c EvalCtx<'c>,
}

impl Search<'_> {
    /// Looks at a document at a place, which is one of those that are looked at, or may have some below.
    fn search(&mut self, d: &Json, at: &str, inside: bool) -> Result<(), SqlError> {
        self.cx.tick(16)?;
        let inside = inside || self.within.contains(&std::ptr::from_ref(d));
        match d {
            Json::Str(s) if inside => {
                let like = CollationId::UTF8MB4_BIN.like_paced(
                    s.as_bytes(),
                    self.pattern,
                    self.escape,
                    self.cx.pace(),
                )?;
                if like {
                    self.budget.take(at.len())?;
                    self.places.push(at.to_owned());
                }
            }
            Json::Array(v) => {
                for (i, x) in v.iter().enumerate() {
                    self.search(x, &format!("{at}[{i}]"), inside)?;
                }
            }
            Json::Object(m) => {
                for (k, x) in m {
                    self.search(x, &member_of(at, k)?, inside)?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// The place of a member: its name as it is where it is a word, in quotes otherwise.
fn member_of(at: &str, key: &str) -> Result<String, SqlError> {
    let plain = key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !key.is_empty()
        && !key.as_bytes()[0].is_ascii_digit();
    if plain {
        return Ok(format!("{at}.{key}"));
    }
    let mut place = format!("{at}.").into_bytes();
    write_quoted(key, &mut place)?;
    Ok(String::from_utf8_lossy(&place).into_owned())
}
