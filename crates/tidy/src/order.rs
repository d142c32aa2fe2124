//! Imports follow the order of the workspace: crates as the design's table says, modules as `order.txt` lists them.

use crate::lists;
use crate::source::{self, Source};
use harness::step::Outcome;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const LIST: &str = "order.txt";

/// The sections of `order.txt`.
struct Order {
    /// Crate → the crates it may import.
    crates: BTreeMap<String, BTreeSet<String>>,
    /// Crate → its modules with their ranks, the lowest first. Modules of one rank import each other.
    modules: BTreeMap<String, Vec<(String, usize)>>,
}

fn read(root: &Path) -> Outcome<Order> {
    let mut order = Order {
        crates: BTreeMap::new(),
        modules: BTreeMap::new(),
    };
    let mut section = String::new();
    for (at, line) in lists::list(root, LIST)? {
        if let Some(name) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            section = name.to_owned();
            if section != "crates" {
                order.modules.insert(section.clone(), Vec::new());
            }
        } else if section == "crates" {
            let (name, may) = line
                .split_once(':')
                .ok_or_else(|| format!("{LIST}:{at}: no colon"))?;
            let may = may.split_whitespace().map(str::to_owned).collect();
            order.crates.insert(name.trim().to_owned(), may);
        } else {
            let modules = order
                .modules
                .get_mut(&section)
                .ok_or_else(|| format!("{LIST}:{at}: no section above"))?;
            let mut rank = modules.last().map_or(0, |m| m.1 + 1);
            // A group stands on one line.
            let mut grouped = false;
            for word in line.split_whitespace() {
                grouped |= word.starts_with('(');
                let name = word.trim_start_matches('(').trim_end_matches(')');
                modules.push((name.to_owned(), rank));
                grouped &= !word.ends_with(')');
                rank += usize::from(!grouped);
            }
        }
    }
    Ok(order)
}

/// Each crate depends on the crates it may import, and on no others of ours.
pub fn crates(root: &Path, complaints: &mut Vec<String>) -> Outcome<()> {
    let order = read(root)?;
    for manifest in source::files(root, &|path| path.ends_with("Cargo.toml"))? {
        let text = std::fs::read_to_string(root.join(&manifest))
            .map_err(|e| format!("{manifest}: {e}"))?;
        let Some(name) = package_name(&text) else {
            continue;
        };
        let Some(may) = order.crates.get(name) else {
            complaints.push(format!(
                "{manifest}:1: crate {name} has no line in xtask/tidy/{LIST}"
            ));
            continue;
        };
        for (line, dependency) in dependencies(&text) {
            if order.crates.contains_key(dependency) && !may.contains(dependency) {
                complaints.push(format!(
                    "{manifest}:{line}: {name} may not import {dependency}"
                ));
            }
        }
    }
    Ok(())
}

fn package_name(manifest: &str) -> Option<&str> {
    let package = &manifest[manifest.find("[package]")?..];
    package
        .lines()
        .find_map(|line| line.strip_prefix("name = \""))
        .and_then(|rest| rest.strip_suffix('"'))
}

/// The crates under `[dependencies]` and `[build-dependencies]` (tests may import anything), with line numbers.
fn dependencies(manifest: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut counts = false;
    for (at, line) in manifest.lines().enumerate() {
        if let Some(section) = line.trim().strip_prefix('[') {
            counts = section.ends_with("dependencies]") && !section.ends_with("dev-dependencies]");
        } else if counts
            && let Some(end) = line.find(['.', ' ', '='])
            && end > 0
        {
            found.push((at + 1, &line[..end]));
        }
    }
    found
}

/// A module imports only modules of its crate that stand above it in the list, or with it in a group.
pub fn modules(root: &Path, sources: &[Source], complaints: &mut Vec<String>) -> Outcome<()> {
    let order = read(root)?;
    let crates: BTreeSet<&str> = sources
        .iter()
        .filter_map(|s| Some(s.crate_and_module()?.0))
        .chain(order.modules.keys().map(String::as_str))
        .collect();
    for name in crates {
        let none = Vec::new();
        let listed = order.modules.get(name).unwrap_or(&none);
        let of_crate: Vec<(&Source, &str)> = sources
            .iter()
            .filter_map(|s| match s.crate_and_module() {
                Some((c, inside)) if c == name => Some((s, inside)),
                _ => None,
            })
            .collect();
        let modules: BTreeSet<&str> = of_crate.iter().filter_map(|s| top_module(s.1)).collect();
        let reexports = of_crate
            .iter()
            .find(|s| s.1 == "lib.rs")
            .map_or_else(BTreeMap::new, |s| reexports(&s.0.shipped, &modules));
        let rank = |module: &str| listed.iter().find(|l| l.0 == module).map(|l| l.1);
        let mut uses: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for (source, inside) in &of_crate {
            let Some(module) = top_module(inside) else {
                continue;
            };
            for (at, first) in crate_paths(&source.shipped, inside) {
                let target = reexports
                    .get(&first)
                    .cloned()
                    .unwrap_or_else(|| first.clone());
                if target == module || !modules.contains(target.as_str()) {
                    continue;
                }
                uses.entry(module).or_default().insert(target.clone());
                if let (Some(own), Some(other)) = (rank(module), rank(&target))
                    && other > own
                {
                    complaints.push(format!(
                        "{}:{}: {module} imports {target}, which stands below it in \
                         xtask/tidy/{LIST}",
                        source.path,
                        source::line_of(&source.shipped, at)
                    ));
                }
            }
        }
        let unlisted: Vec<&str> = modules
            .iter()
            .copied()
            .filter(|m| rank(m).is_none())
            .collect();
        if !unlisted.is_empty() {
            complaints.push(format!(
                "xtask/tidy/{LIST}:1: [{name}] lacks {}; {}",
                unlisted.join(" "),
                suggestion(&modules, &uses)
            ));
        }
        for (gone, _) in listed.iter().filter(|l| !modules.contains(l.0.as_str())) {
            complaints.push(format!(
                "xtask/tidy/{LIST}:1: [{name}] lists {gone}, and there is no such module"
            ));
        }
        for (apart, _) in listed.iter().filter(|(module, rank)| {
            let mut group = listed.iter().filter(|l| l.1 == *rank && l.0 != *module);
            let (mut alone, mut imports) = (true, false);
            group.by_ref().for_each(|(other, _)| {
                alone = false;
                imports |= uses.get(module.as_str()).is_some_and(|u| u.contains(other));
            });
            !alone && !imports
        }) {
            complaints.push(format!(
                "xtask/tidy/{LIST}:1: [{name}] {apart} imports none of its group; it can stand before it"
            ));
        }
    }
    Ok(())
}

/// The module right below the crate's root that a file under `src` belongs to; none for the root itself.
fn top_module(inside: &str) -> Option<&str> {
    let first = inside.split('/').next()?;
    let name = first.strip_suffix(".rs").unwrap_or(first);
    (!matches!(name, "lib" | "main" | "bin" | "tests")).then_some(name)
}

/// The first part of every path from the crate's root (`crate::…`, or as many `super::` as lead there from the file), those of a braced group
/// included, with its position.
fn crate_paths(code: &str, inside: &str) -> Vec<(usize, String)> {
    let file = inside.strip_suffix("/mod.rs").unwrap_or(inside);
    let up = "super::".repeat(1 + file.matches('/').count());
    let mut found = Vec::new();
    for root in ["crate::", &up] {
        for at in source::words(code, root) {
            let from = at + root.len();
            // Another number of steps up.
            if code[..at].ends_with("::") || code[from..].starts_with("super::") {
                continue;
            }
            if code[from..].starts_with('{') {
                let group = &code[from + 1..source::matching(code, from).saturating_sub(1)];
                for first in group_heads(group) {
                    found.push((at, first));
                }
            } else {
                found.push((at, identifier(&code[from..])));
            }
        }
    }
    found
}

fn identifier(text: &str) -> String {
    text.trim_start()
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect()
}

/// `a::{b, c}, d as e` → `a`, `d`.
fn group_heads(group: &str) -> Vec<String> {
    let mut heads = Vec::new();
    let mut depth = 0;
    let mut start = 0;
    for (i, c) in group.char_indices().chain([(group.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let head = identifier(&group[start..i]);
                if !head.is_empty() {
                    heads.push(head);
                }
                start = i + 1;
            }
            _ => {}
        }
    }
    heads
}

/// Names that the crate's root re-exports → the module each comes from, so that `crate::Page` counts as `page`.
fn reexports(code: &str, modules: &BTreeSet<&str>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for at in source::words(code, "use") {
        let Some(end) = code[at..].find(';') else {
            continue;
        };
        let path = code[at + 3..at + end].trim();
        let path = path
            .strip_prefix("crate::")
            .or_else(|| path.strip_prefix("self::"))
            .unwrap_or(path);
        let module = identifier(path);
        if !modules.contains(module.as_str()) {
            continue;
        }
        // Every name in the rest stands for this module: the last part of a path is what `crate::` can name.
        let rest = path[module.len()..].replace(['{', '}', ','], " ");
        for item in rest.split_whitespace() {
            if let Some(name) = item.rsplit("::").next()
                && !name.is_empty()
            {
                found.insert(name.to_owned(), module.clone());
            }
        }
    }
    found
}

/// What a module imports, directly or not.
fn reached<'u>(uses: &'u BTreeMap<&str, BTreeSet<String>>, from: &'u str) -> BTreeSet<&'u str> {
    let mut found = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        let used = uses.get(module).into_iter().flatten();
        open.extend(used.map(String::as_str).filter(|to| found.insert(*to)));
    }
    found
}

/// An order that fits the imports as they are; modules that import each other in a circle as a group.
fn suggestion(modules: &BTreeSet<&str>, uses: &BTreeMap<&str, BTreeSet<String>>) -> String {
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        modules.iter().map(|m| (*m, reached(uses, m))).collect();
    let mut placed: BTreeSet<&str> = BTreeSet::new();
    let mut words: Vec<String> = Vec::new();
    while placed.len() < modules.len() {
        // Itself, and who is reached by it and reaches it.
        let group = modules.iter().copied().find_map(|m| {
            let group: Vec<&str> = (modules.iter().copied())
                .filter(|o| *o == m || reach[m].contains(o) && reach[o].contains(m))
                .collect();
            let ready = |o: &&str| placed.contains(o) || group.contains(o);
            (!placed.contains(m) && reach[m].iter().all(ready)).then_some(group)
        });
        let Some(group) = group else { break };
        placed.extend(&group);
        words.push(match group.len() {
            1 => group[0].to_owned(),
            _ => format!("({})", group.join(" ")),
        });
    }
    format!("an order that fits: {}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found() {
        let code = "use crate::{page::{self, Page}, log as l};\nfn f() { crate::pool::g() }\n";
        let heads: Vec<String> = crate_paths(code, "x.rs").into_iter().map(|p| p.1).collect();
        assert_eq!(heads, ["page", "log", "pool"]);
    }

    #[test]
    fn reexported_names_count_as_their_module() {
        let modules = BTreeSet::from(["page", "log"]);
        let found = reexports(
            "pub mod page;\npub use page::{Page, PageKind};\npub use log::Log;",
            &modules,
        );
        assert_eq!(found.get("PageKind").map(String::as_str), Some("page"));
        assert_eq!(found.get("Log").map(String::as_str), Some("log"));
    }

    #[test]
    fn both_ways_up_to_the_root_are_seen() {
        let firsts = |code, inside| {
            let all = crate_paths(code, inside).into_iter();
            all.map(|(_, first)| first).collect::<Vec<_>>()
        };
        let code = "use crate::a::A; use super::b; use super::super::{c, d::D}; use super::super::super::e;";
        assert_eq!(firsts(code, "x.rs"), ["a", "b"]);
        assert_eq!(firsts(code, "x/mod.rs"), ["a", "b"]);
        assert_eq!(firsts(code, "x/y.rs"), ["a", "c", "d"]);
        assert_eq!(firsts(code, "x/y/z.rs"), ["a", "e"]);
    }

    #[test]
    fn manifests_are_read() {
        let text = "[package]\nname = \"sql\"\n\n[dependencies]\nbase.workspace = true\n\
                    wire = { path = \"x\" }\n\n[dev-dependencies]\nlab.workspace = true\n";
        assert_eq!(package_name(text), Some("sql"));
        assert_eq!(dependencies(text), [(5, "base"), (6, "wire")]);
    }

    #[test]
    fn an_order_is_suggested() {
        let modules = BTreeSet::from(["a", "b", "c"]);
        let uses = BTreeMap::from([
            ("a", BTreeSet::from(["c".to_owned()])),
            ("c", BTreeSet::from(["b".to_owned()])),
        ]);
        assert_eq!(suggestion(&modules, &uses), "an order that fits: b c a");
        let circle = BTreeMap::from([
            ("a", BTreeSet::from(["b".to_owned()])),
            ("b", BTreeSet::from(["a".to_owned()])),
        ]);
        assert_eq!(suggestion(&modules, &circle), "an order that fits: (a b) c");
    }
}
