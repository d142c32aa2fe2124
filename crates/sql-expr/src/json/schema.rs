//! JSON Schema, draft 4, as JSON_SCHEMA_VALID has it: whether a document is as a schema says, and where it is not (the manual, "JSON Schema
//! Validation Functions"; draft-zyp-json-schema-04 and draft-fge-json-schema-validation-00).
//!
//! A keyword whose value is not of the kind that the draft asks for says nothing, and so does a pattern that is no regular expression, as with
//! RapidJSON, which MySQL uses. Patterns are compiled and limited as those of REGEXP are. References within the schema are followed; others are refused. It must never fetch anything.

use std::cell::RefCell;

use types::{Pace, SqlError};

use super::Json;
use super::value::{MAX_DEPTH, too_deep};
use crate::regex::{self, Compiled, Flags};

/// Why a document is not as a schema says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The keyword that says so.
    pub(crate) keyword: &'static str,
    /// Where it stands, as a pointer into the schema.
    pub(crate) schema: String,
    /// What it is about, as a pointer into the document.
    pub(crate) document: String,
}

impl Fault {
    /// As MySQL's reports say it.
    pub(crate) fn reason(&self) -> String {
        format!(
            "The JSON document location '{}' failed requirement '{}' at JSON Schema location '{}'",
            self.document, self.keyword, self.schema
        )
    }
}

/// The first fault of a document, if it has one.
///
/// # Errors
/// 1235: the schema has a reference to another one; 3157: references lead to each other; what `pace` says.
pub(crate) fn fault(
    schema: &Json,
    document: &Json,
    pace: &Pace<'_>,
) -> Result<Option<Fault>, SqlError> {
    refuse_remote(schema)?;
    let v = Validator {
        root: schema,
        pace,
        patterns: RefCell::default(),
    };
    let at = Place::Root;
    v.check(schema, &at, document, &at, 0)
}

/// A place in the schema or the document.
#[derive(Clone, Copy)]
enum Place<'p> {
    Root,
    Key(&'p Place<'p>, &'p str),
    Index(&'p Place<'p>, usize),
    /// What a reference names.
    Named(&'p str),
}

impl<'p> Place<'p> {
    fn key(&'p self, key: &'p str) -> Place<'p> {
        Place::Key(self, key)
    }

    fn index(&'p self, i: usize) -> Place<'p> {
        Place::Index(self, i)
    }

    /// As a pointer in a fragment (RFC 6901, 6).
    fn text(&self) -> String {
        match self {
            Place::Root => "#".to_owned(),
            Place::Named(pointer) => (*pointer).to_owned(),
            Place::Index(before, i) => format!("{}/{i}", before.text()),
            Place::Key(before, key) => {
                let mut out = before.text();
                out.push('/');
                for b in key.bytes() {
                    match b {
                        b'~' => out.push_str("~0"),
                        b'/' => out.push_str("~1"),
                        b'-' | b'.' | b'_' => out.push(b as char),
                        b if b.is_ascii_alphanumeric() => out.push(b as char),
                        b => out.push_str(&format!("%{b:02X}")),
                    }
                }
                out
            }
        }
    }
}

fn refuse_remote(schema: &Json) -> Result<(), SqlError> {
    match schema {
        Json::Object(members) => {
            if let Some(Json::Str(to)) = schema.member("$ref")
                && !to.is_empty()
                && !to.starts_with('#')
            {
                return Err(SqlError::not_supported("references in JSON Schema"));
            }
            members.iter().try_for_each(|(_, v)| refuse_remote(v))
        }
        Json::Array(items) => items.iter().try_for_each(refuse_remote),
        _ => Ok(()),
    }
}

/// Patterns that are kept compiled, since each may take megabytes.
const KEPT: usize = 8;
/// The work of compiling a short pattern, and of each byte of it, in steps of `Pace`.
const COMPILING: usize = 4096;
const COMPILING_BYTE: usize = 64;

struct Validator<'s> {
    root: &'s Json,
    pace: &'s Pace<'s>,
    /// The patterns that were asked for last; `None`: it is no regular expression.
    patterns: RefCell<Vec<(Box<str>, Option<Compiled>)>>,
}

type Checked = Result<Option<Fault>, SqlError>;

/// Ends the function with a fault that was found.
macro_rules! fault_of {
    ($e:expr) => {
        if let Some(fault) = $e? {
            return Ok(Some(fault));
        }
    };
}

/// As a length or a count.
fn count(v: Option<&Json>) -> Option<usize> {
    match v? {
        Json::Int(i) => usize::try_from(*i).ok(),
        Json::Uint(u) => usize::try_from(*u).ok(),
        _ => None,
    }
}

fn schemas(v: Option<&Json>) -> &[Json] {
    match v {
        Some(Json::Array(all)) => all,
        _ => &[],
    }
}

fn number(v: &Json) -> Option<f64> {
    match v {
        Json::Int(i) => Some(*i as f64),
        Json::Uint(u) => Some(*u as f64),
        Json::Double(d) => Some(*d),
        Json::Decimal(t) => t.parse().ok(),
        _ => None,
    }
}

/// A whole number, wide enough for both kinds.
fn whole(v: &Json) -> Option<i128> {
    match v {
        Json::Int(i) => Some((*i).into()),
        Json::Uint(u) => Some((*u).into()),
        _ => None,
    }
}

fn compare(a: &Json, b: &Json) -> Option<std::cmp::Ordering> {
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => number(a)?.partial_cmp(&number(b)?),
    }
}

fn is_of(v: &Json, name: &str) -> bool {
    match name {
        "null" => matches!(v, Json::Null),
        "boolean" => matches!(v, Json::Bool(_)),
        "object" => matches!(v, Json::Object(_)),
        "array" => matches!(v, Json::Array(_)),
        "string" => matches!(v, Json::Str(_)),
        "integer" => whole(v).is_some(),
        "number" => number(v).is_some(),
        _ => false,
    }
}

/// A pattern compiled; `None` where it is none.
///
/// # Errors
/// That it becomes too large.
fn compiled(pattern: &str) -> Result<Option<Compiled>, SqlError> {
    let flags = Flags {
        ignore_case: false,
        multi_line: false,
        dot_all: false,
        unix: false,
    };
    match Compiled::new(pattern, flags) {
        Ok(compiled) => Ok(Some(compiled)),
        Err(fault @ (regex::Fault::TooBig | regex::Fault::Stack)) => Err(fault.into()),
        Err(_) => Ok(None),
    }
}

impl Validator<'_> {
    /// Whether a pattern is found in a text; one that is no regular expression always is.
    fn found(&self, pattern: &str, text: &str) -> Result<bool, SqlError> {
        self.pace.tick(text.len() + 64)?;
        let mut kept = self.patterns.borrow_mut();
        let at = match kept.iter().position(|k| *k.0 == *pattern) {
            Some(at) => at,
            None => {
                self.pace.tick(COMPILING + COMPILING_BYTE * pattern.len())?;
                if kept.len() == KEPT {
                    kept.remove(0);
                }
                kept.push((pattern.into(), compiled(pattern)?));
                kept.len() - 1
            }
        };
        match &kept[at].1 {
            Some(p) => Ok(p.is_match(text.as_bytes())?),
            None => Ok(true),
        }
    }

    /// What a schema stands for: the one that it refers to, where it does.
    fn check(
        &self,
        schema: &Json,
        at: &Place<'_>,
        doc: &Json,
        place: &Place<'_>,
        depth: usize,
    ) -> Checked {
        self.pace.tick(64)?;
        // A schema is no deeper than a document; what goes on comes of references, of which a level of a document may take some.
        if depth > 4 * MAX_DEPTH {
            return Err(too_deep());
        }
        if let Some(Json::Str(to)) = schema.member("$ref") {
            return match self.named(to) {
                Some(named) => self.check(named, &Place::Named(to), doc, place, depth + 1),
                None => Ok(None),
            };
        }
        let fault = |keyword| {
            Ok(Some(Fault {
                keyword,
                schema: at.text(),
                document: place.text(),
            }))
        };
        let fits = match schema.member("type") {
            Some(Json::Str(name)) => is_of(doc, name),
            Some(Json::Array(names)) => names.iter().any(|n| match n {
                Json::Str(name) => is_of(doc, name),
                _ => false,
            }),
            _ => true,
        };
        if !fits {
            return fault("type");
        }
        match doc {
            Json::Object(members) => {
                fault_of!(self.object(schema, at, (doc, members), place, depth));
            }
            Json::Array(items) => fault_of!(self.array(schema, at, items, place, depth)),
            Json::Str(text) => {
                if let Some(keyword) = self.text_fault(schema, text)? {
                    return fault(keyword);
                }
            }
            doc => {
                if let Some(keyword) = number_fault(schema, doc) {
                    return fault(keyword);
                }
            }
        }
        if let Some(Json::Array(all)) = schema.member("enum") {
            self.pace.tick(all.len() * 16)?;
            if !all.iter().any(|v| v.same(doc)) {
                return fault("enum");
            }
        }
        self.combined(schema, at, doc, place, depth)
    }

    fn combined(
        &self,
        schema: &Json,
        at: &Place<'_>,
        doc: &Json,
        place: &Place<'_>,
        depth: usize,
    ) -> Checked {
        let valid = |keyword: &'static str| -> Result<(usize, usize), SqlError> {
            let all = schemas(schema.member(keyword));
            let mut valid = 0;
            for (i, s) in all.iter().enumerate() {
                let inner = at.key(keyword);
                let fault = self.check(s, &inner.index(i), doc, place, depth + 1)?;
                valid += usize::from(fault.is_none());
            }
            Ok((valid, all.len()))
        };
        let (n, of) = valid("allOf")?;
        let mut keyword = (n < of).then_some("allOf");
        if keyword.is_none() {
            let (n, of) = valid("anyOf")?;
            keyword = (of > 0 && n == 0).then_some("anyOf");
        }
        if keyword.is_none() {
            let (n, of) = valid("oneOf")?;
            keyword = (of > 0 && n != 1).then_some("oneOf");
        }
        if let (None, Some(not @ Json::Object(_))) = (keyword, schema.member("not")) {
            let fault = self.check(not, &at.key("not"), doc, place, depth + 1)?;
            keyword = fault.is_none().then_some("not");
        }
        Ok(keyword.map(|keyword| Fault {
            keyword,
            schema: at.text(),
            document: place.text(),
        }))
    }

    fn object(
        &self,
        schema: &Json,
        at: &Place<'_>,
        (doc, members): (&Json, &[(String, Json)]),
        place: &Place<'_>,
        depth: usize,
    ) -> Checked {
        let fault = |keyword, place: &Place<'_>| {
            Ok(Some(Fault {
                keyword,
                schema: at.text(),
                document: place.text(),
            }))
        };
        let properties = schema.member("properties");
        let patterns = match schema.member("patternProperties") {
            Some(Json::Object(all)) => &all[..],
            _ => &[],
        };
        let additional = schema.member("additionalProperties");
        for (key, value) in members {
            let inner = place.key(key);
            let mut met = false;
            let mut of_pattern = None;
            for (pattern, s) in patterns {
                if !self.found(pattern, key)? {
                    continue;
                }
                met = true;
                let named = at.key("patternProperties");
                if of_pattern.is_none() {
                    of_pattern = self.check(s, &named.key(pattern), value, &inner, depth + 1)?;
                }
            }
            let known = properties.and_then(|p| p.member(key));
            if let Some(s @ Json::Object(_)) = known {
                let named = at.key("properties");
                fault_of!(self.check(s, &named.key(key), value, &inner, depth + 1));
            } else if known.is_none() {
                match additional {
                    Some(s @ Json::Object(_)) => {
                        let named = at.key("additionalProperties");
                        let own = self.check(s, &named, value, &inner, depth + 1)?;
                        // Where a pattern is met as well, one of the two is enough.
                        match met {
                            true if own.is_none() || of_pattern.is_none() => continue,
                            true => {}
                            false if own.is_some() => return Ok(own),
                            false => {}
                        }
                    }
                    Some(Json::Bool(false)) if !met => {
                        return fault("additionalProperties", &inner);
                    }
                    _ => {}
                }
            }
            if of_pattern.is_some() {
                return Ok(of_pattern);
            }
        }
        let missing = |name: &Json| matches!(name, Json::Str(k) if doc.member(k).is_none());
        if schemas(schema.member("required")).iter().any(missing) {
            return fault("required", place);
        }
        if count(schema.member("minProperties")).is_some_and(|n| members.len() < n) {
            return fault("minProperties", place);
        }
        if count(schema.member("maxProperties")).is_some_and(|n| members.len() > n) {
            return fault("maxProperties", place);
        }
        if let Some(Json::Object(all)) = schema.member("dependencies") {
            for (_, needs) in all.iter().filter(|(key, _)| doc.member(key).is_some()) {
                let met = match needs {
                    Json::Array(names) => !names.iter().any(missing),
                    s @ Json::Object(_) => {
                        let named = at.key("dependencies");
                        self.check(s, &named, doc, place, depth + 1)?.is_none()
                    }
                    _ => true,
                };
                if !met {
                    return fault("dependencies", place);
                }
            }
        }
        Ok(None)
    }

    fn array(
        &self,
        schema: &Json,
        at: &Place<'_>,
        items: &[Json],
        place: &Place<'_>,
        depth: usize,
    ) -> Checked {
        let fault = |keyword, place: &Place<'_>| {
            Ok(Some(Fault {
                keyword,
                schema: at.text(),
                document: place.text(),
            }))
        };
        let unique = schema.member("uniqueItems") == Some(&Json::Bool(true));
        let (named, rest) = (at.key("items"), at.key("additionalItems"));
        for (i, item) in items.iter().enumerate() {
            let inner = place.index(i);
            match schema.member("items") {
                Some(s @ Json::Object(_)) => {
                    fault_of!(self.check(s, &named, item, &inner, depth + 1));
                }
                Some(Json::Array(all)) => match (all.get(i), schema.member("additionalItems")) {
                    (Some(s), _) => {
                        fault_of!(self.check(s, &named.index(i), item, &inner, depth + 1));
                    }
                    (None, Some(s @ Json::Object(_))) => {
                        fault_of!(self.check(s, &rest, item, &inner, depth + 1));
                    }
                    (None, Some(Json::Bool(false))) => return fault("additionalItems", &inner),
                    (None, _) => {}
                },
                _ => {}
            }
            if unique {
                self.pace.tick(i * 8)?;
                if items[..i].iter().any(|other| other.same(item)) {
                    return fault("uniqueItems", &inner);
                }
            }
        }
        if count(schema.member("minItems")).is_some_and(|n| items.len() < n) {
            return fault("minItems", place);
        }
        if count(schema.member("maxItems")).is_some_and(|n| items.len() > n) {
            return fault("maxItems", place);
        }
        Ok(None)
    }

    fn text_fault(&self, schema: &Json, text: &str) -> Result<Option<&'static str>, SqlError> {
        let length = || text.chars().count();
        if count(schema.member("minLength")).is_some_and(|n| length() < n) {
            return Ok(Some("minLength"));
        }
        if count(schema.member("maxLength")).is_some_and(|n| length() > n) {
            return Ok(Some("maxLength"));
        }
        Ok(match schema.member("pattern") {
            Some(Json::Str(pattern)) if !self.found(pattern, text)? => Some("pattern"),
            _ => None,
        })
    }

    /// What a reference within the schema names.
    fn named(&self, to: &str) -> Option<&Json> {
        let mut at = self.root;
        let pointer = to.strip_prefix('#')?;
        for part in pointer.split('/').skip(1) {
            let part = decoded(part)?;
            at = match at {
                Json::Array(items) => items.get(part.parse::<usize>().ok()?)?,
                object => object.member(&part)?,
            };
        }
        Some(at)
    }
}

/// A part of a pointer in a fragment.
fn decoded(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((&b, tail)) = rest.split_first() {
        rest = tail;
        if b == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(b);
        }
    }
    let text = String::from_utf8(bytes).ok()?;
    Some(text.replace("~1", "/").replace("~0", "~"))
}

fn number_fault(schema: &Json, n: &Json) -> Option<&'static str> {
    number(n)?;
    let excludes = |keyword| schema.member(keyword) == Some(&Json::Bool(true));
    if let Some(order) = schema.member("minimum").and_then(|m| compare(n, m))
        && (order.is_lt() || order.is_eq() && excludes("exclusiveMinimum"))
    {
        return Some("minimum");
    }
    if let Some(order) = schema.member("maximum").and_then(|m| compare(n, m))
        && (order.is_gt() || order.is_eq() && excludes("exclusiveMaximum"))
    {
        return Some("maximum");
    }
    let of = schema.member("multipleOf")?;
    let even = match (whole(n), whole(of)) {
        (_, Some(..=0)) => true,
        (Some(n), Some(of)) => n % of == 0,
        _ => {
            let (n, of) = (number(n)?.abs(), number(of)?);
            of <= 0.0 || n - (n / of).floor() * of <= 0.0
        }
    };
    (!even).then_some("multipleOf")
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn said(schema: &str, doc: &str) -> String {
        let (schema, doc) = (parse(schema).unwrap(), parse(doc).unwrap());
        match fault(&schema, &doc, &Pace::unwatched()) {
            Ok(None) => "valid".to_owned(),
            Ok(Some(f)) => format!("{} {} {}", f.keyword, f.schema, f.document),
            Err(e) => e.code.to_string(),
        }
    }

    /// A schema, a document, and what is said of it: the keyword, where it is in the schema, and the place in the document.
    #[test]
    fn keywords_of_draft_4() {
        let cases = include_str!("../testdata/json_schema.txt");
        let mut asked = 0;
        for case in cases.lines() {
            let mut parts = case.split(" => ");
            let mut part = || parts.next().unwrap();
            let (schema, doc, answer) = (part(), part(), part());
            assert_eq!(said(schema, doc), answer, "{case}");
            asked += 1;
        }
        assert!(asked > 80, "{asked}");
    }
}
