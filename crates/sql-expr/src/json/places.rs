//! The places of a document's text that a path leads to, one after the other, without a tree: what is not on the way is passed over. A long
//! document costs no more memory than its text.
//!
//! The text has been checked before ([`read::check`](super::read::check)); of another the places mean nothing, but nothing panics either.

use std::collections::HashSet;
use std::ops::Range;

use types::{Pace, SqlError};

use super::path::{Index, Path, Step};
use super::read;
use super::value::key_order;

/// A document as text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text<'t> {
    text: &'t str,
    /// It was written by [`Json::write`](super::Json::write): the members of objects are in their order, each once.
    ordered: bool,
}

/// What is to be looked at yet.
enum Todo {
    /// A value, from this step of the path on.
    Value(usize, usize),
    /// The elements of an array from here on, each from this step on; the number of the next one, and the first and last wanted.
    Elements(usize, usize, usize, Range<usize>),
    /// The members of an object.
    Members(std::vec::IntoIter<usize>, usize),
}

/// The places that a path leads to.
pub(crate) struct Places<'t, 'p> {
    doc: Text<'t>,
    steps: &'p [Step],
    /// What comes next is last.
    todo: Vec<Todo>,
    /// What was looked at, by step and place, where several ways may lead to one place.
    seen: Option<HashSet<(usize, usize)>>,
}

impl<'t> Text<'t> {
    /// A text that was checked.
    pub(crate) fn new(text: &'t str, ordered: bool) -> Text<'t> {
        Text { text, ordered }
    }

    /// Whether it is written as documents are kept.
    pub(crate) fn is_ordered(self) -> bool {
        self.ordered
    }

    /// Where the whole begins.
    pub(crate) fn root(self) -> usize {
        self.space(0)
    }

    /// The text of the value that begins at a place.
    pub(crate) fn value(self, at: usize) -> &'t str {
        self.text.get(at..self.end(at)).unwrap_or_default()
    }

    fn byte(self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    fn space(self, mut at: usize) -> usize {
        while matches!(self.byte(at), b' ' | b'\t' | b'\n' | b'\r') {
            at += 1;
        }
        at
    }

    /// Behind the string that begins at a place.
    fn string_end(self, at: usize) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = at + 1;
        while let Some(&b) = bytes.get(at) {
            at += 1;
            match b {
                b'"' => return at,
                b'\\' => at += 1,
                _ => {}
            }
        }
        bytes.len()
    }

    /// Behind the value that begins at a place.
    fn end(self, at: usize) -> usize {
        let bytes = self.text.as_bytes();
        let mut depth = 0u32;
        let mut at = at;
        loop {
            match self.byte(at) {
                b'"' => at = self.string_end(at),
                b'[' | b'{' => {
                    depth += 1;
                    at += 1;
                }
                b']' | b'}' => {
                    depth = depth.saturating_sub(1);
                    at += 1;
                }
                _ if at >= bytes.len() => return bytes.len(),
                b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => at += 1,
                _ => {
                    while !matches!(
                        self.byte(at),
                        0 | b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r'
                    ) {
                        at += 1;
                    }
                }
            }
            if depth == 0 {
                return at.min(bytes.len());
            }
        }
    }

    /// Where the element behind one that ends at a place begins; `None` at the end of the list.
    fn next(self, end: usize) -> Option<usize> {
        let at = self.space(end);
        (self.byte(at) == b',').then(|| self.space(at + 1))
    }

    /// Where the first part of a list begins; `None` of an empty one.
    fn first(self, list: usize) -> Option<usize> {
        let at = self.space(list + 1);
        (!matches!(self.byte(at), b']' | b'}' | 0)).then_some(at)
    }

    fn length(self, array: usize) -> usize {
        let mut n = 0;
        let mut next = self.first(array);
        while let Some(at) = next {
            n += 1;
            next = self.next(self.end(at));
        }
        n
    }

    /// The key of a member that begins at a place, as it is written, and where its value begins.
    fn key(self, at: usize) -> (&'t str, usize) {
        let end = self.string_end(at);
        let colon = self.space(end);
        (
            self.text.get(at..end).unwrap_or_default(),
            self.space(colon + 1),
        )
    }

    /// The member of a key: the last one, where there are several.
    fn member(self, object: usize, key: &str) -> Option<usize> {
        let mut found = None;
        let mut next = self.first(object);
        while let Some(at) = next {
            let (written, value) = self.key(at);
            if is_key(written, key) {
                found = Some(value);
                if self.ordered {
                    break;
                }
            }
            next = self.next(self.end(value));
        }
        found
    }

    /// The values of an object's members in the order that documents have, of equal keys the last.
    fn members(self, object: usize) -> Vec<usize> {
        let mut all: Vec<(String, usize)> = Vec::new();
        let mut values = Vec::new();
        let mut next = self.first(object);
        while let Some(at) = next {
            let (written, value) = self.key(at);
            match self.ordered {
                true => values.push(value),
                false => all.push((read::unquote(written).unwrap_or_default(), value)),
            }
            next = self.next(self.end(value));
        }
        if !self.ordered {
            // Equal keys stay in their order.
            all.sort_by(|a, b| key_order(&a.0, &b.0));
            for (i, (key, value)) in all.iter().enumerate() {
                if all.get(i + 1).is_none_or(|n| n.0 != *key) {
                    values.push(*value);
                }
            }
        }
        values
    }
}

/// Whether a key in its quotes is another one.
fn is_key(written: &str, key: &str) -> bool {
    let inner = written.get(1..written.len().saturating_sub(1));
    match inner {
        Some(inner) if !inner.contains('\\') => inner == key,
        _ => read::unquote(written).is_ok_and(|k| k == key),
    }
}

impl<'t, 'p> Places<'t, 'p> {
    /// Those that `steps` lead to from the value that begins at a place.
    pub(crate) fn new(doc: Text<'t>, at: usize, steps: &'p [Step]) -> Places<'t, 'p> {
        let descends = |s: &Step| *s == Step::Descend;
        // What is no array is one of itself, and may be reached as an element too.
        let meets = |s: &Step| descends(s) || matches!(s, Step::Cell(_) | Step::Range(..));
        let several = match steps.iter().position(descends) {
            Some(first) => steps[first + 1..].iter().any(meets),
            None => false,
        };
        Places {
            doc,
            steps,
            todo: vec![Todo::Value(at, 0)],
            seen: several.then(HashSet::new),
        }
    }

    /// The next place.
    ///
    /// # Errors
    /// What `pace` says.
    pub(crate) fn next(&mut self, pace: &Pace<'_>) -> Result<Option<usize>, SqlError> {
        while let Some(todo) = self.todo.pop() {
            match todo {
                Todo::Value(at, step) => {
                    if let Some(seen) = &mut self.seen
                        && !seen.insert((at, step))
                    {
                        continue;
                    }
                    let Some(s) = self.steps.get(step) else {
                        return Ok(Some(at));
                    };
                    pace.tick(16)?;
                    self.take_step(at, step, s, pace)?;
                }
                Todo::Elements(at, step, number, wanted) => {
                    let end = self.doc.end(at);
                    pace.tick(end - at + 1)?;
                    if number + 1 < wanted.end
                        && let Some(next) = self.doc.next(end)
                    {
                        let rest = Todo::Elements(next, step, number + 1, wanted.clone());
                        self.todo.push(rest);
                    }
                    if wanted.contains(&number) {
                        self.todo.push(Todo::Value(at, step));
                    }
                }
                Todo::Members(mut rest, step) => {
                    if let Some(at) = rest.next() {
                        self.todo.push(Todo::Members(rest, step));
                        self.todo.push(Todo::Value(at, step));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Takes a step from a value.
    fn take_step(
        &mut self,
        at: usize,
        step: usize,
        s: &Step,
        pace: &Pace<'_>,
    ) -> Result<(), SqlError> {
        let doc = self.doc;
        let is_array = doc.byte(at) == b'[';
        let is_object = doc.byte(at) == b'{';
        let from_back = |i: &Index| -> Result<Option<usize>, SqlError> {
            let len = match (is_array, i) {
                (_, Index::Front(i)) => return Ok(Some(*i)),
                (true, _) => {
                    pace.tick(doc.end(at) - at)?;
                    doc.length(at)
                }
                (false, _) => 1,
            };
            Ok(i.of(len))
        };
        match s {
            Step::Member(key) if is_object => {
                pace.tick(doc.end(at) - at)?;
                if let Some(value) = doc.member(at, key) {
                    self.todo.push(Todo::Value(value, step + 1));
                }
            }
            Step::AnyMember if is_object => {
                pace.tick(doc.end(at) - at)?;
                let values = doc.members(at).into_iter();
                self.todo.push(Todo::Members(values, step + 1));
            }
            Step::Cell(i) => {
                let i = from_back(i)?;
                self.elements(at, step, i.zip(i), is_array);
            }
            Step::Range(i, j) => {
                let range = from_back(i)?.zip(from_back(j)?);
                self.elements(at, step, range, is_array);
            }
            Step::AnyCell if is_array => self.elements(at, step, Some((0, usize::MAX)), true),
            Step::Descend => {
                // First the value itself, then what is in it.
                if is_array {
                    if let Some(first) = doc.first(at) {
                        let all = 0..usize::MAX;
                        self.todo.push(Todo::Elements(first, step, 0, all));
                    }
                } else if is_object {
                    pace.tick(doc.end(at) - at)?;
                    let values = doc.members(at).into_iter();
                    self.todo.push(Todo::Members(values, step));
                }
                self.todo.push(Todo::Value(at, step + 1));
            }
            _ => {}
        }
        Ok(())
    }

    /// The elements of a range of an array. What is no array is one of itself.
    fn elements(&mut self, at: usize, step: usize, range: Option<(usize, usize)>, is_array: bool) {
        let Some((first, last)) = range else { return };
        if !is_array {
            if first == 0 {
                self.todo.push(Todo::Value(at, step + 1));
            }
        } else if first <= last
            && let Some(begin) = self.doc.first(at)
        {
            let wanted = first..last.saturating_add(1);
            self.todo.push(Todo::Elements(begin, step + 1, 0, wanted));
        }
    }
}

/// Whether a path leads to the same values in the text of a document and in its tree, as tests ask; a text that is no document, and one that is no
/// path, have none.
#[doc(hidden)]
pub fn paths_agree(text: &str, ordered: bool, path: &str) -> bool {
    let read = match ordered {
        true => read::parse_document(text),
        false => read::parse(text),
    };
    let (Ok(tree), Ok(path)) = (read, Path::parse(path)) else {
        return true;
    };
    let pace = Pace::unwatched();
    let doc = Text::new(text, ordered);
    let mut places = Places::new(doc, doc.root(), &path.steps);
    let Ok(want) = path.find(&tree, &pace) else {
        return true;
    };
    let mut want = want.into_iter();
    while let Ok(Some(at)) = places.next(&pace) {
        let got = match ordered {
            true => read::parse_document(doc.value(at)),
            false => read::parse(doc.value(at)),
        };
        if got.ok().as_ref() != want.next() {
            return false;
        }
    }
    want.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    /// The places in the text are those that the tree has, in the same order.
    #[test]
    fn places_of_a_text_are_those_of_its_tree() {
        let docs = [
            "1",
            " \"a]\\\"\" ",
            "[]",
            "{}",
            " [ 1 , [2, [3, 4]], {\"a\": [5, {\"a\": 6}]} ] ",
            "{\"b\": 1, \"a\": {\"a\": [1, {\"b\": null}], \"c\\u0061\": true}, \"b\": [2]}",
            "[[[[1]]], {\"a b\": {\"x\": \"}\"}}]",
            "[1, 2, 3, 4, 5]",
            "{\"long\": 1, \"s\": {\"long\": 2, \"s\": {\"long\": 3}}}",
        ];
        let paths = [
            "$",
            "$.a",
            "$.b",
            "$.*",
            "$[*]",
            "$[0]",
            "$[1]",
            "$[last]",
            "$[last-1]",
            "$[1 to 3]",
            "$[1 to last]",
            "$[last-2 to last-1]",
            "$[0 to 0]",
            "$**.a",
            "$**[0]",
            "$**[*]",
            "$**.*",
            "$**.long",
            "$.a**.b",
            "$**[0]**[0]",
            "$[*].a[*]",
            "$.ca",
            "$.a.ca",
            "$[1].\"a b\".x",
            "$[7]",
        ];
        let pace = Pace::unwatched();
        let mut found = 0;
        for doc in docs {
            let tree = parse(doc).unwrap();
            let mut stored = Vec::new();
            tree.write(&mut stored).unwrap();
            let stored = String::from_utf8(stored).unwrap();
            for path in paths {
                assert!(paths_agree(doc, false, path), "{doc} {path}");
                assert!(paths_agree(&stored, true, path), "{stored} {path}");
                let path = Path::parse(path).unwrap();
                found += path.find(&tree, &pace).unwrap().len();
            }
        }
        assert!(found > 100, "{found}");
    }

    #[test]
    fn a_text_that_is_no_document_does_no_harm() {
        let pace = Pace::unwatched();
        for bad in [
            "", "[", "[1,", "{\"a", "{\"a\"", "{\"a\":", "]", "\"\\", "{a}", "[1 2",
        ] {
            for path in ["$", "$.a", "$[*]", "$[last]", "$**.a", "$.*"] {
                let path = Path::parse(path).unwrap();
                let text = Text::new(bad, false);
                let mut places = Places::new(text, text.root(), &path.steps);
                let mut steps = 0;
                while let Some(at) = places.next(&pace).unwrap() {
                    text.value(at);
                    steps += 1;
                    assert!(steps < 100);
                }
            }
        }
    }
}
