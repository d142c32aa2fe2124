//! What has changed in a document: a place, and what is to be done there. A source of replication sends it instead of the document
//! (`binlog_row_value_options` is PARTIAL_JSON).
//!
//! Must never do: read the bytes of the binary log; guess where a change fits, when the document is not the one that it was made of.

use types::SqlError;

use super::path::{Index, Path, Step};
use super::read::parse_document;
use super::value::{Json, MAX_DEPTH};

/// What is done at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// The value that is there becomes another: JSON_REPLACE.
    Replace,
    /// A value comes in: JSON_INSERT of a member, JSON_ARRAY_INSERT of an element.
    Insert,
    /// The value that is there goes: JSON_REMOVE.
    Remove,
}

/// One change.
#[derive(Debug, Clone)]
pub struct Diff {
    operation: Operation,
    path: Path,
    value: Json,
}

impl Diff {
    /// By the text of its path. The value has no meaning where one goes. `None`: the text is no path, or a longer one than MySQL has.
    pub fn new(operation: Operation, path: &str, value: Json) -> Option<Diff> {
        let path = Path::parse(path).ok()?;
        (path.steps.len() <= MAX_DEPTH).then_some(Diff {
            operation,
            path,
            value,
        })
    }

    /// Does it; whether there was a place for it.
    fn apply(&self, doc: &mut Json) -> bool {
        // The whole document is never one of its changes.
        let Some((last, way)) = self.path.steps.split_last() else {
            return false;
        };
        let holder = way.iter().try_fold(doc, |at, step| part(at, step));
        let Some(holder) = holder else {
            return false;
        };
        let value = || self.value.clone();
        match (self.operation, holder, last) {
            (Operation::Replace, holder, last) => match part(holder, last) {
                Some(old) => {
                    *old = value();
                    true
                }
                None => false,
            },
            (Operation::Insert, Json::Object(members), Step::Member(key)) => {
                match super::value::place_of(members, key) {
                    Ok(_) => false,
                    Err(at) => {
                        members.insert(at, (key.clone(), value()));
                        true
                    }
                }
            }
            (Operation::Insert, Json::Array(list), Step::Cell(index)) => {
                // Behind the last, and in front of the first, is what is beyond them.
                let at = match *index {
                    Index::Front(at) => at.min(list.len()),
                    Index::Back(_) => index.of(list.len()).unwrap_or(0),
                };
                list.insert(at, value());
                true
            }
            (Operation::Remove, Json::Object(members), Step::Member(key)) => {
                let at = super::value::place_of(members, key);
                at.is_ok_and(|at| {
                    members.remove(at);
                    true
                })
            }
            (Operation::Remove, Json::Array(list), Step::Cell(index)) => {
                let at = index.of(list.len()).filter(|at| *at < list.len());
                at.is_some_and(|at| {
                    list.remove(at);
                    true
                })
            }
            _ => false,
        }
    }
}

/// A part of a container. As in MySQL, a scalar is no array of one here.
fn part<'a>(of: &'a mut Json, step: &Step) -> Option<&'a mut Json> {
    match (of, step) {
        (Json::Object(members), Step::Member(key)) => {
            let at = super::value::place_of(members, key).ok()?;
            members.get_mut(at).map(|(_, v)| v)
        }
        (Json::Array(list), Step::Cell(index)) => {
            let at = index.of(list.len())?;
            list.get_mut(at)
        }
        _ => None,
    }
}

/// The text of a stored document behind changes, in their order; `None`: one of them has no place in it.
///
/// # Errors
/// 3157: it is nested too deeply then.
pub fn changed(document: &[u8], diffs: &[Diff]) -> Result<Option<Vec<u8>>, SqlError> {
    if diffs.is_empty() {
        return Ok(Some(document.to_vec()));
    }
    let Ok(mut doc) = parse_document(&String::from_utf8_lossy(document)) else {
        return Ok(None);
    };
    if !diffs.iter().all(|d| d.apply(&mut doc)) {
        return Ok(None);
    }
    doc.check_depth()?;
    let mut out = Vec::with_capacity(document.len());
    doc.write(&mut out)?;
    Ok(Some(out))
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    /// The document behind one change; the empty text: there was no place.
    fn after(doc: &str, operation: Operation, path: &str, value: &str) -> String {
        let diff = Diff::new(operation, path, parse(value).unwrap()).unwrap();
        let text = changed(doc.as_bytes(), &[diff]).unwrap();
        String::from_utf8(text.unwrap_or_default()).unwrap()
    }

    #[test]
    fn changes_are_those_of_mysql() {
        use Operation::{Insert, Remove, Replace};
        let doc = r#"{"a": 1, "b": [1, {"c": 2}], "x y": 1.50}"#;
        let cases = [
            (
                Replace,
                "$.a",
                r#"{"a": 9, "b": [1, {"c": 2}], "x y": 1.50}"#,
            ),
            (
                Replace,
                "$.b[1].c",
                r#"{"a": 1, "b": [1, {"c": 9}], "x y": 1.50}"#,
            ),
            (
                Replace,
                "$.\"x y\"",
                r#"{"a": 1, "b": [1, {"c": 2}], "x y": 9}"#,
            ),
            (
                Replace,
                "$.b[last]",
                r#"{"a": 1, "b": [1, 9], "x y": 1.50}"#,
            ),
            (
                Insert,
                "$.aa",
                r#"{"a": 1, "b": [1, {"c": 2}], "aa": 9, "x y": 1.50}"#,
            ),
            (
                Insert,
                "$.b[0]",
                r#"{"a": 1, "b": [9, 1, {"c": 2}], "x y": 1.50}"#,
            ),
            (
                Insert,
                "$.b[7]",
                r#"{"a": 1, "b": [1, {"c": 2}, 9], "x y": 1.50}"#,
            ),
            (
                Insert,
                "$.b[last]",
                r#"{"a": 1, "b": [1, 9, {"c": 2}], "x y": 1.50}"#,
            ),
            (
                Insert,
                "$.b[last-7]",
                r#"{"a": 1, "b": [9, 1, {"c": 2}], "x y": 1.50}"#,
            ),
            (Remove, "$.b", r#"{"a": 1, "x y": 1.50}"#),
            (
                Remove,
                "$.b[0]",
                r#"{"a": 1, "b": [{"c": 2}], "x y": 1.50}"#,
            ),
            // What has no place.
            (Replace, "$", ""),
            (Remove, "$", ""),
            (Insert, "$", ""),
            (Replace, "$.z", ""),
            (Replace, "$.b[2]", ""),
            (Replace, "$.a[0]", ""),
            (Replace, "$.b.c", ""),
            (Replace, "$.*", ""),
            (Replace, "$**.c", ""),
            (Insert, "$.a", ""),
            (Insert, "$.a[0]", ""),
            (Insert, "$[0]", ""),
            (Insert, "$.b.c", ""),
            (Insert, "$.z.z", ""),
            (Remove, "$.z", ""),
            (Remove, "$.b[2]", ""),
            (Remove, "$.b[last-2]", ""),
            (Remove, "$.a[0]", ""),
            (Remove, "$.b[*]", ""),
        ];
        for (operation, path, expected) in cases {
            assert_eq!(
                after(doc, operation, path, "9"),
                expected,
                "{operation:?} {path}"
            );
        }
    }

    #[test]
    fn each_change_sees_the_ones_before_it() {
        let one = |operation, path, value| Diff::new(operation, path, value).unwrap();
        let diffs = [
            one(Operation::Insert, "$.a", Json::Array(vec![])),
            one(Operation::Insert, "$.a[0]", Json::Int(1)),
            one(Operation::Replace, "$.a[0]", Json::Int(2)),
        ];
        let text = changed(b"{}", &diffs).unwrap();
        assert_eq!(text.unwrap(), br#"{"a": [2]}"#);
        let text = changed(b"{}", &diffs[1..]).unwrap();
        assert_eq!(text, None);
        // What is not touched stays to the byte, also what could not be read.
        assert_eq!(changed(b"{ \"a\"", &[]).unwrap().unwrap(), b"{ \"a\"");
        assert_eq!(changed(b"{ \"a\"", &diffs).unwrap(), None);
    }

    #[test]
    fn depth_has_a_limit() {
        let path = |n: usize| format!("${}", "[0]".repeat(n));
        assert!(Diff::new(Operation::Insert, &path(101), Json::Null).is_none());
        let deep = |n: usize| parse(&format!("{}{}", "[".repeat(n), "]".repeat(n))).unwrap();
        let diffs = [Diff::new(Operation::Insert, &path(1), deep(99)).unwrap()];
        assert!(changed(b"[]", &diffs).unwrap().is_some());
        let diffs = [Diff::new(Operation::Insert, &path(1), deep(100)).unwrap()];
        assert_eq!(changed(b"[]", &diffs).unwrap_err().code, 3157);
    }
}
