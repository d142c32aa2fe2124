//! Imports and paths of one file, as far as a lexer's view tells them.

use crate::source;

/// One name that an import brings in.
#[derive(Debug, PartialEq, Eq)]
pub struct Import {
    /// The path that is imported, without the `*` of a glob.
    pub path: Vec<String>,
    /// The name that it has here; none for a glob.
    pub name: Option<String>,
    /// Others may take it from here.
    pub public: bool,
}

/// Where a file under `src` stands: `lock/table.rs` is `[lock, table]`, `lib.rs` the root.
pub fn module_of(inside: &str) -> Vec<String> {
    let path = inside.strip_suffix(".rs").unwrap_or(inside);
    let mut parts: Vec<String> = path.split('/').map(str::to_owned).collect();
    if parts
        .last()
        .is_some_and(|p| matches!(p.as_str(), "mod" | "lib" | "main"))
    {
        parts.pop();
    }
    parts
}

/// The imports of blanked code, and the code without them.
pub fn imports(code: &str) -> (Vec<Import>, String) {
    let mut found = Vec::new();
    let mut rest = code.as_bytes().to_vec();
    for at in source::words(code, "use") {
        let Some(end) = code[at..].find(';').map(|n| at + n) else {
            continue;
        };
        let tree = code[at + "use".len()..end].trim();
        // `impl Trait + use<'a>` is no import.
        if tree.starts_with('<') {
            continue;
        }
        let before = code[..at].trim_end();
        let public = before.ends_with("pub")
            || before.ends_with(')')
                && before
                    .rfind('(')
                    .is_some_and(|open| before[..open].trim_end().ends_with("pub"));
        leaves(tree, &[], public, &mut found);
        for b in &mut rest[at..end] {
            if *b != b'\n' {
                *b = b' ';
            }
        }
    }
    (found, String::from_utf8_lossy(&rest).into_owned())
}

/// The names at the ends of `a::{b, c as d, e::*}`.
fn leaves(tree: &str, before: &[String], public: bool, found: &mut Vec<Import>) {
    let tree = tree.trim();
    let mut path = before.to_vec();
    if let Some(open) = tree.find('{') {
        path.extend(segments(&tree[..open]));
        let inner = &tree[open + 1..source::matching(tree, open).saturating_sub(1)];
        let mut depth = 0;
        let mut start = 0;
        for (i, c) in inner.char_indices().chain([(inner.len(), ',')]) {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    if !inner[start..i].trim().is_empty() {
                        leaves(&inner[start..i], &path, public, found);
                    }
                    start = i + 1;
                }
                _ => {}
            }
        }
        return;
    }
    let (tree, alias) = match tree.split_once(" as ") {
        Some((tree, alias)) => (tree, Some(alias.trim().to_owned())),
        None => (tree, None),
    };
    path.extend(segments(tree));
    let name = match path.last().map(String::as_str) {
        Some("self") if path.len() > 1 => {
            path.pop();
            path.last().cloned()
        }
        Some("*") => {
            path.pop();
            None
        }
        last => last.map(str::to_owned),
    };
    let name = match (alias, name) {
        (Some(alias), Some(_)) => Some(alias),
        (_, name) => name,
    };
    found.push(Import { path, name, public });
}

fn segments(path: &str) -> impl Iterator<Item = String> + '_ {
    path.split("::")
        .map(|s| s.trim().trim_start_matches("r#"))
        .filter(|s| !s.is_empty())
        .map(str::to_owned)
}

/// Every path and single name in blanked code without imports.
pub fn in_code(code: &str) -> Vec<Vec<String>> {
    let bytes = code.as_bytes();
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let mut found = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        if !is_word(bytes[i]) || bytes[i].is_ascii_digit() {
            i += 1;
            continue;
        }
        let before = code[..i].trim_end();
        let member = before.ends_with('.') && !before.ends_with("..");
        let declared = before.ends_with(" mod") || before.ends_with("\nmod") || before == "mod";
        let mut path = Vec::new();
        loop {
            let start = i;
            while i < bytes.len() && is_word(bytes[i]) {
                i += 1;
            }
            path.push(code[start..i].to_owned());
            let next = bytes.get(i + 2).copied();
            if !code[i..].starts_with("::") || !next.is_some_and(is_word) {
                break;
            }
            i += 2;
        }
        if !member && !declared {
            found.push(path);
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Whether blanked code with these paths uses a name that it imports: one in lower case may be a field's or a variable's too, and counts
/// where it is called or leads on.
pub fn uses(code: &str, name: &str, paths: &[Vec<String>]) -> bool {
    if name.starts_with(|c: char| c.is_ascii_uppercase()) {
        return paths.iter().any(|p| p.first().is_some_and(|p| p == name));
    }
    source::words(code, name).any(|at| {
        let before = code[..at].trim_end();
        let after = &code[at + name.len()..];
        let leads_on = after.starts_with("::") && !code[..at].ends_with("::");
        leads_on
            || after.starts_with('(') && !before.ends_with(['.', ':']) && !before.ends_with("fn")
    })
}

/// Whether blanked code declares an item of this name.
pub fn declares(code: &str, item: &str) -> bool {
    const KINDS: &[&str] = &[
        "fn",
        "struct",
        "enum",
        "union",
        "trait",
        "type",
        "const",
        "static",
        "mod",
        "macro_rules!",
    ];
    source::words(code, item).any(|at| {
        let before = code[..at].trim_end();
        KINDS.iter().any(|kind| before.ends_with(kind))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<(String, Option<String>, bool)> {
        let (found, _) = imports(text);
        let flat = |i: Import| (i.path.join("::"), i.name, i.public);
        found.into_iter().map(flat).collect()
    }

    #[test]
    fn imports_are_taken_apart() {
        let one = |path: &str, name: &str, public| (path.to_owned(), Some(name.to_owned()), public);
        assert_eq!(
            names("use a::{self, b::C, d as e};\npub(crate) use super::f;\npub use g::*;"),
            [
                one("a", "a", false),
                one("a::b::C", "C", false),
                one("a::d", "e", false),
                one("super::f", "f", true),
                ("g".to_owned(), None, true),
            ]
        );
    }

    #[test]
    fn paths_stand_in_code() {
        let found = in_code("fn f(x: a::B) { x.y(); crate::c::d() }");
        let found: Vec<String> = found.iter().map(|p| p.join("::")).collect();
        assert!(found.contains(&"a::B".to_owned()) && found.contains(&"crate::c::d".to_owned()));
        assert!(!found.contains(&"y".to_owned()));
    }

    #[test]
    fn names_in_lower_case_count_where_they_are_called() {
        let uses = |code: &str, name| super::uses(code, name, &in_code(code));
        assert!(uses("let x = made(1);", "made") && uses("f(made::X)", "made"));
        assert!(!uses("struct S { made: u8 }", "made") && !uses("x.made(); fn made() {}", "made"));
        assert!(uses("x: Made", "Made") && !uses("x: a::Made", "Made"));
    }

    #[test]
    fn modules_are_told_by_files() {
        assert_eq!(module_of("lock/mod.rs"), ["lock"]);
        assert_eq!(module_of("lock/table.rs"), ["lock", "table"]);
        assert!(module_of("lib.rs").is_empty());
    }
}
