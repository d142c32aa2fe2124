//! Every system variable does something, or users are told that it does not: `docs/variables.md` has the list.
//!
//! A variable is read where its name stands as a literal in shipped code outside the tables that define it, or where the
//! typed field made of it (`vars/hot.rs`) is used. This is a lexer's view: it finds what is forgotten, and no more.

use crate::source::{Source, words};
use harness::step::Outcome;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const LIST: &str = "docs/variables.md";

/// Where variables are defined and kept: a name there reads nothing.
const TABLES: &str = "crates/sql-expr/src/vars/";
/// Where options are obeyed or handed on to variables, and where those are told of that do nothing.
const OPTIONS: &str = "crates/tidemill-server/src/options/known.rs";
const WITHOUT_EFFECT: &str = "crates/tidemill-server/src/options/without_effect.rs";
/// Where tables are named, one of them like a variable.
const NAMESAKES: &str = "crates/sql/src/infoschema/empty.rs";
const REGISTRY: &str = "crates/sql-expr/src/vars/registry.rs";
const HOT: &str = "crates/sql-expr/src/vars/hot.rs";

/// The functions that define one.
const DEFINERS: &[&str] = &[
    "flag(",
    "uint(",
    "blocks(",
    "int(",
    "double(",
    "word(",
    "set(",
    "text(",
    "nullable(",
    "special(",
];

/// Complains of variables that nobody reads and the list does not have, and of lines of the list that are not true.
pub fn check(root: &Path, sources: &[Source], complaints: &mut Vec<String>) -> Outcome<()> {
    let listed = listed(&read(root)?);
    let defined = defined(sources);
    let read = read_ones(sources, &defined);
    for (name, place) in &defined {
        let computed = place.ends_with("computed");
        if !read.contains(name) && !computed && !listed.contains_key(name) {
            complaints.push(format!(
                "{place}: {name} is read nowhere: obey it, refuse it, or tell users in {LIST}"
            ));
        }
    }
    let options = options_without_effect(sources);
    for (name, line) in &listed {
        if read.contains(name) {
            complaints.push(format!(
                "{LIST}:{line}: {name} is read, so it has an effect"
            ));
        } else if !defined.contains_key(name) && !options.contains(name) {
            complaints.push(format!(
                "{LIST}:{line}: there is no variable and no option {name}"
            ));
        }
    }
    for name in options
        .iter()
        .filter(|n| !listed.contains_key(*n) && !read.contains(*n))
    {
        complaints.push(format!(
            "{WITHOUT_EFFECT}: the option {name} does nothing: tell users in {LIST}"
        ));
    }
    Ok(())
}

/// Takes those out of the list that are read by now.
pub fn bless(root: &Path, sources: &[Source]) -> Outcome<()> {
    let text = read(root)?;
    let read = read_ones(sources, &defined(sources));
    let kept: Vec<&str> = text
        .lines()
        .filter(|line| row(line).is_none_or(|name| !read.contains(name)))
        .collect();
    let path = root.join(LIST);
    std::fs::write(&path, kept.join("\n") + "\n").map_err(|e| format!("{}: {e}", path.display()))
}

fn read(root: &Path) -> Outcome<String> {
    std::fs::read_to_string(root.join(LIST)).map_err(|e| format!("{LIST}: {e}"))
}

/// The name in a row of a table: ``| `name` | why |``.
fn row(line: &str) -> Option<&str> {
    line.strip_prefix("| `")?
        .split_once('`')
        .map(|(name, _)| name)
}

fn listed(text: &str) -> BTreeMap<String, usize> {
    text.lines()
        .enumerate()
        .filter_map(|(at, line)| Some((row(line)?.to_owned(), at + 1)))
        .collect()
}

/// All variables, each with the file that defines it; behind those whose value comes from the session stands `computed`.
fn defined(sources: &[Source]) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for source in sources
        .iter()
        .filter(|s| s.path.starts_with("crates/sql-expr/src/vars/defs_"))
    {
        for definer in DEFINERS {
            for at in words(&source.code, definer) {
                let inside = &source.text[at + definer.len()..];
                let Some(name) = inside
                    .trim_start()
                    .strip_prefix('"')
                    .and_then(|t| t.split('"').next())
                else {
                    continue;
                };
                let end = crate::source::matching(&source.code, at + definer.len() - 1);
                let tail: String = source.code[end..]
                    .chars()
                    .take_while(|c| !matches!(c, ',' | '{'))
                    .collect();
                let computed = if tail.contains("computed") {
                    " computed"
                } else {
                    ""
                };
                all.insert(name.to_owned(), format!("{}{computed}", source.path));
            }
        }
    }
    all
}

fn read_ones(sources: &[Source], defined: &BTreeMap<String, String>) -> BTreeSet<String> {
    let readers: Vec<&Source> = sources
        .iter()
        .filter(|s| {
            let reads = [
                "crates/sql/",
                "crates/sql-access/",
                "crates/sql-plan/",
                "crates/sql-exec/",
                "crates/sql-expr/",
                "crates/tidemill/",
                "crates/tidemill-server/",
                "crates/engine/",
                "crates/replication/",
            ]
            .iter()
            .any(|c| s.path.starts_with(c));
            reads
                && !s.shipped.is_empty()
                && !s.path.starts_with(TABLES)
                && s.path != OPTIONS
                && s.path != WITHOUT_EFFECT
                && s.path != NAMESAKES
        })
        .collect();
    let mut literals: BTreeSet<String> = BTreeSet::new();
    for source in &readers {
        literals.extend(
            strings(source)
                .filter(|s| defined.contains_key(*s))
                .map(str::to_owned),
        );
    }
    if let Some(options) = sources.iter().find(|s| s.path == OPTIONS) {
        let obeyed = options
            .text
            .split("const VARIABLES")
            .next()
            .unwrap_or_default();
        literals.extend(
            obeyed
                .split('"')
                .filter(|s| defined.contains_key(*s))
                .map(str::to_owned),
        );
    }
    if let Some(registry) = sources.iter().find(|s| s.path == REGISTRY) {
        // An old name of another variable: `("old", "new"),`, on one line or on several.
        literals.extend(registry.text.split('(').filter_map(|part| {
            let (inner, _) = part.split_once(')')?;
            let mut words = inner.split(',').map(str::trim).filter(|w| !w.is_empty());
            let name = |w: &str| Some(w.strip_prefix('"')?.strip_suffix('"')?.to_owned());
            let (old, _new) = (name(words.next()?)?, name(words.next()?)?);
            words.next().is_none().then_some(old)
        }));
    }
    let fields = fields(sources);
    let used = |field: &str| {
        let dotted = format!(".{field}");
        readers.iter().any(|s| {
            s.shipped.match_indices(&dotted).any(|(at, _)| {
                let next = s.shipped.as_bytes().get(at + dotted.len());
                !next.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_')
            })
        })
    };
    defined
        .keys()
        .filter(|name| literals.contains(*name) || fields.get(*name).is_some_and(|f| used(f)))
        .cloned()
        .collect()
}

/// String literals of shipped code.
fn strings(source: &Source) -> impl Iterator<Item = &str> {
    // In shipped code literals are blank; what is blank there and quoted in the text is one, or a comment's.
    source.text.split('"').filter(|s| {
        !s.is_empty()
            && s.bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_.".contains(&b))
    })
}

/// The typed fields of `hot.rs`, by the variable that they are made of.
fn fields(sources: &[Source]) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let Some(hot) = sources.iter().find(|s| s.path == HOT) else {
        return all;
    };
    let mut pending: Option<String> = None;
    let mut in_globals = false;
    for line in hot.text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix('"')
            && let Some((name, _)) = rest.split_once("\" =>")
        {
            pending = Some(name.to_owned());
        }
        if let Some((_, rest)) = line.split_once("self.")
            && let Some((field, _)) = rest.split_once(" =")
            && let Some(name) = pending.take()
        {
            all.insert(name, field.trim().to_owned());
        }
        in_globals |= line == "global_hot! {";
        if in_globals && let Some(field) = line.strip_suffix(';') {
            all.insert(field.to_owned(), field.to_owned());
            all.insert(format!("innodb_{field}"), field.to_owned());
        }
    }
    all
}

fn options_without_effect(sources: &[Source]) -> BTreeSet<String> {
    let Some(source) = sources.iter().find(|s| s.path == WITHOUT_EFFECT) else {
        return BTreeSet::new();
    };
    source
        .text
        .lines()
        .filter_map(|line| {
            line.trim()
                .strip_prefix("(\"")?
                .split_once('"')
                .map(|(name, _)| name.to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources() -> Vec<Source> {
        [
            (
                "crates/sql-expr/src/vars/defs_x.rs",
                "const X: &[V] = &[flag(\"a\", Both, true), uint(\"b\", Both, 1, 0, 2).computed(), text(\"c\", Both, \"\"), flag(\"d\", Both, true)];",
            ),
            (HOT, "match n {\n\"c\" => self.see = n,\n}"),
            ("crates/sql/src/session/x.rs", "fn f(v: &V) { v.value(\"a\"); if v.hot().see == 1 {} }"),
            (OPTIONS, "const VARIABLES: &[&str] = &[\"d\"];"),
        ]
        .into_iter()
        .map(|(path, text)| Source::new(path, text.to_owned()))
        .collect()
    }

    #[test]
    fn what_is_read_is_found_and_the_rest_too() {
        let sources = sources();
        let defined = defined(&sources);
        assert_eq!(defined.len(), 4);
        assert!(defined["b"].ends_with("computed"));
        let read = read_ones(&sources, &defined);
        assert_eq!(read, ["a".to_owned(), "c".to_owned()].into());
    }

    #[test]
    fn rows_are_told_from_other_lines() {
        assert_eq!(row("| `big_tables` | one | two |"), Some("big_tables"));
        assert_eq!(row("| variable | why |"), None);
    }
}
