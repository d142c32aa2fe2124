//! JSON paths: `$.member`, `$."quoted"`, `$[3]`, `$[last-1]`, `$[1 to 3]`, `.*`, `[*]` and `**`.

use std::collections::HashSet;

use types::{Pace, SqlError};

use super::value::Json;

/// A place in an array: from the front, or from the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Index {
    /// `[n]`
    Front(usize),
    /// `[last]`, `[last-n]`
    Back(usize),
}

impl Index {
    pub(super) fn of(self, len: usize) -> Option<usize> {
        match self {
            Index::Front(i) => Some(i),
            Index::Back(i) => len.checked_sub(1)?.checked_sub(i),
        }
    }
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// `.key`
    Member(String),
    /// `.*`
    AnyMember,
    /// `[i]`
    Cell(Index),
    /// `[i to j]`
    Range(Index, Index),
    /// `[*]`
    AnyCell,
    /// `**`
    Descend,
}

/// A path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    /// Its steps from the root.
    pub(crate) steps: Vec<Step>,
}

impl Path {
    /// Reads a path; the error is the byte at which it stops making sense.
    pub(crate) fn parse(text: &str) -> Result<Path, usize> {
        let b = text.as_bytes();
        let mut at = text.len() - text.trim_start().len();
        if b.get(at) != Some(&b'$') {
            // The character that is no `$` was taken.
            return Err(at + 1);
        }
        at += 1;
        let mut steps = Vec::new();
        loop {
            while b.get(at).is_some_and(u8::is_ascii_whitespace) {
                at += 1;
            }
            match b.get(at) {
                None => break,
                Some(b'.') => steps.push(member(text, &mut at)?),
                Some(b'[') => steps.push(cell(text, &mut at)?),
                Some(b'*') if b.get(at + 1) == Some(&b'*') => {
                    at += 2;
                    steps.push(Step::Descend);
                }
                Some(_) => return Err(at),
            }
        }
        if steps.last() == Some(&Step::Descend) {
            return Err(at);
        }
        Ok(Path { steps })
    }

    /// Whether it may lead to several values.
    pub(crate) fn is_wild(&self) -> bool {
        self.steps
            .iter()
            .any(|s| !matches!(s, Step::Member(_) | Step::Cell(_)))
    }

    /// The values it leads to.
    ///
    /// # Errors
    /// What `pace` says.
    pub(crate) fn find<'a>(
        &self,
        doc: &'a Json,
        pace: &Pace<'_>,
    ) -> Result<Vec<&'a Json>, SqlError> {
        let mut found = vec![doc];
        let mut descended = false;
        for step in &self.steps {
            let mut next = Vec::new();
            for v in found {
                let before = next.len();
                advance(v, step, &mut next);
                pace.tick((next.len() - before) * 4 + 8)?;
            }
            if std::mem::take(&mut descended) || *step == Step::Descend {
                // Two ways to a value are one value; ways of several `**` multiply.
                let mut seen = HashSet::with_capacity(next.len());
                next.retain(|v| seen.insert(std::ptr::from_ref(*v)));
                descended = true;
            }
            found = next;
        }
        Ok(found)
    }
}

fn member(text: &str, at: &mut usize) -> Result<Step, usize> {
    *at += 1;
    let rest = &text[*at..];
    let rest_trimmed = rest.trim_start();
    *at += rest.len() - rest_trimmed.len();
    match rest_trimmed.as_bytes().first() {
        Some(b'*') => {
            *at += 1;
            Ok(Step::AnyMember)
        }
        Some(b'"') => {
            let mut end = 1;
            let b = rest_trimmed.as_bytes();
            while b.get(end).is_some_and(|&c| c != b'"') {
                end += if b[end] == b'\\' { 2 } else { 1 };
            }
            let quoted = rest_trimmed.get(..=end).ok_or(*at)?;
            let key = super::read::unquote(quoted).map_err(|_| *at)?;
            *at += end + 1;
            Ok(Step::Member(key))
        }
        _ => {
            let len = rest_trimmed
                .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$' || !c.is_ascii()))
                .unwrap_or(rest_trimmed.len());
            if len == 0 || rest_trimmed.as_bytes()[0].is_ascii_digit() {
                return Err(*at);
            }
            *at += len;
            Ok(Step::Member(rest_trimmed[..len].to_owned()))
        }
    }
}

fn cell(text: &str, at: &mut usize) -> Result<Step, usize> {
    let start = *at;
    let close = text[start..].find(']').ok_or(start)? + start;
    let inner = text[start + 1..close].trim();
    *at = close + 1;
    let index = |t: &str| -> Option<Index> {
        let t = t.trim();
        match t.strip_prefix("last") {
            Some("") => Some(Index::Back(0)),
            Some(r) => {
                let n = r.trim_start().strip_prefix('-')?.trim();
                n.parse().ok().map(Index::Back)
            }
            None => t.parse().ok().map(Index::Front),
        }
    };
    if inner == "*" {
        return Ok(Step::AnyCell);
    }
    match inner.split_once(" to ") {
        Some((a, b)) => match (index(a).ok_or(start)?, index(b).ok_or(start)?) {
            // A range that is known to end before it begins.
            (Index::Front(i), Index::Front(j)) if i > j => Err(start),
            (Index::Back(i), Index::Back(j)) if i < j => Err(start),
            (i, j) => Ok(Step::Range(i, j)),
        },
        None => Ok(Step::Cell(index(inner).ok_or(start)?)),
    }
}

fn advance<'a>(v: &'a Json, step: &Step, out: &mut Vec<&'a Json>) {
    match (step, v) {
        (Step::Member(k), _) => out.extend(v.member(k)),
        (Step::AnyMember, Json::Object(m)) => out.extend(m.iter().map(|(_, v)| v)),
        (Step::Cell(i), Json::Array(a)) => {
            out.extend(i.of(a.len()).and_then(|i| a.get(i)));
        }
        // a scalar behaves as an array of one
        (Step::Cell(i), v) if i.of(1) == Some(0) => out.push(v),
        (Step::Range(i, j), Json::Array(a)) => {
            let (Some(i), Some(j)) = (i.of(a.len()), j.of(a.len())) else {
                return;
            };
            out.extend(a.iter().skip(i).take(j.saturating_add(1).saturating_sub(i)));
        }
        (Step::Range(i, j), v) if i.of(1) == Some(0) && j.of(1).is_some() => out.push(v),
        (Step::AnyCell, Json::Array(a)) => out.extend(a),
        (Step::Descend, v) => {
            out.push(v);
            match v {
                Json::Array(a) => a.iter().for_each(|x| advance(x, step, out)),
                Json::Object(m) => m.iter().for_each(|(_, x)| advance(x, step, out)),
                _ => {}
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::read::parse;
    use super::*;

    fn get(doc: &str, path: &str) -> String {
        let doc = parse(doc).unwrap();
        let mut out = Vec::new();
        for (i, v) in Path::parse(path)
            .unwrap()
            .find(&doc, &Pace::unwatched())
            .unwrap()
            .iter()
            .enumerate()
        {
            if i > 0 {
                out.push(b'|');
            }
            v.write(&mut out).unwrap();
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn paths_lead_where_mysql_says() {
        let doc = r#"{"a": {"b": [1, 2, {"c": 3}]}, "x y": "z"}"#;
        assert_eq!(get(doc, "$.a.b[1]"), "2");
        assert_eq!(get(doc, "$.a.b[last].c"), "3");
        assert_eq!(get(doc, "$.a.b[0 to 1]"), "1|2");
        assert_eq!(get(doc, "$.\"x y\""), "\"z\"");
        assert_eq!(get(doc, "$**.c"), "3");
        assert_eq!(get(doc, "$.a.b[last-2]"), "1");
        assert_eq!(get("5", "$[0]"), "5");
        assert!(Path::parse("a.b").is_err());
        assert!(Path::parse("$.").is_err());
    }

    #[test]
    fn text_is_written_as_mysql_writes_it() {
        let doc = parse(r#"{"bb":1,"a":[true,null,1.5,"q\"\u0041"],"bb":2}"#).unwrap();
        let mut out = Vec::new();
        doc.write(&mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            r#"{"a": [true, null, 1.5, "q\"A"], "bb": 2}"#
        );
    }

    #[test]
    fn bad_text_is_refused() {
        for bad in [
            "", "{", "[1,]", "{\"a\"}", "01", "tru", "\"\\x\"", "[1] 2", "1.", "nan",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        let deep = "[".repeat(200) + &"]".repeat(200);
        assert!(parse(&deep).is_err());
    }
}
