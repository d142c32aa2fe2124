//! Files that need each other in a circle: none of them can be understood, tested or moved alone. Those of today are listed in
//! `cycles.txt`, which may only become shorter.
//!
//! A file needs another of its crate where it names something that the other declares, by a path or an import; a name that is only
//! handed on (`pub use`) counts for whoever uses it. Methods of one type in several files are not seen.

use crate::lists;
use crate::paths::{self, Import};
use crate::source::Source;
use harness::step::Outcome;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const LIST: &str = "cycles.txt";

/// How often a name may be handed on.
const HOPS: usize = 8;

/// A file of a crate, and what it says about others.
struct File<'s> {
    source: &'s Source,
    /// Where it stands: `[lock, table]` for `lock/table.rs`.
    module: Vec<String>,
    imports: Vec<Import>,
    /// Its code without these.
    code: String,
    /// Paths that stand in its code.
    paths: Vec<Vec<String>>,
}

/// The files of one crate.
struct Crate<'s> {
    files: Vec<File<'s>>,
    modules: BTreeMap<Vec<String>, usize>,
}

impl<'s> Crate<'s> {
    fn of(sources: &[(&'s Source, &str)]) -> Crate<'s> {
        let files: Vec<File<'s>> = sources
            .iter()
            .filter(|(source, _)| !source.shipped.is_empty())
            .map(|&(source, inside)| {
                let (imports, rest) = paths::imports(&source.shipped);
                File {
                    source,
                    module: paths::module_of(inside),
                    paths: paths::in_code(&rest),
                    code: rest,
                    imports,
                }
            })
            .collect();
        let modules = files
            .iter()
            .enumerate()
            .map(|(i, f)| (f.module.clone(), i))
            .collect();
        Crate { files, modules }
    }

    /// A path as it is written in `file`, from the crate's root; none if it leads out of the crate.
    fn absolute(&self, file: usize, path: &[String]) -> Option<Vec<String>> {
        let here = &self.files[file].module;
        let first = path.first()?;
        let mut base = match first.as_str() {
            "crate" => return Some(path[1..].to_vec()),
            "self" => here.clone(),
            "super" => {
                let ups = path.iter().take_while(|p| *p == "super").count();
                let mut base = here[..here.len().checked_sub(ups)?].to_vec();
                base.extend_from_slice(&path[ups..]);
                return Some(base);
            }
            child => {
                let mut base = here.clone();
                base.push(child.to_owned());
                if !self.modules.contains_key(&base) {
                    return None;
                }
                base.extend_from_slice(&path[1..]);
                return Some(base);
            }
        };
        base.extend_from_slice(&path[1..]);
        Some(base)
    }

    /// The file that declares what an absolute path names.
    fn declares(&self, path: &[String], hops: usize) -> Option<usize> {
        let (at, file) = (0..=path.len())
            .rev()
            .find_map(|n| self.modules.get(&path[..n]).map(|f| (n, *f)))?;
        let (Some(item), true) = (path.get(at), hops > 0) else {
            return Some(file);
        };
        let handed_on = self.files[file].imports.iter().filter(|i| i.public);
        for import in handed_on {
            let mut to = match &import.name {
                Some(name) if name == item => import.path.clone(),
                Some(_) => continue,
                None => [&import.path[..], std::slice::from_ref(item)].concat(),
            };
            if import.name.is_some() {
                to.extend_from_slice(&path[at + 1..]);
            }
            let Some(to) = self.absolute(file, &to) else {
                continue;
            };
            let found = self.declares(&to, hops - 1);
            match (&import.name, found) {
                (Some(_), Some(f)) => return Some(f),
                (None, Some(f)) if paths::declares(&self.files[f].source.shipped, item) => {
                    return Some(f);
                }
                _ => {}
            }
        }
        Some(file)
    }

    /// Which files each file needs.
    fn needs(&self) -> Vec<BTreeSet<usize>> {
        (0..self.files.len())
            .map(|i| {
                let f = &self.files[i];
                let used = f.imports.iter().filter(|import| {
                    // What is only handed on is not needed here.
                    !import.public
                        || import
                            .name
                            .as_ref()
                            .is_some_and(|n| paths::uses(&f.code, n, &f.paths))
                });
                // A single name in the code is imported, or declared here.
                let written = f.paths.iter().filter(|p| p.len() > 1);
                used.map(|import| &import.path)
                    .chain(written)
                    .filter_map(|path| self.declares(&self.absolute(i, path)?, HOPS))
                    .filter(|to| *to != i)
                    .collect()
            })
            .collect()
    }

    /// Groups of files that need each other.
    fn cycles(&self) -> Vec<Vec<usize>> {
        let needs = self.needs();
        let reach: Vec<BTreeSet<usize>> = (0..needs.len()).map(|i| reached(&needs, i)).collect();
        let mut cycles: Vec<Vec<usize>> = Vec::new();
        for i in (0..needs.len()).filter(|i| reach[*i].contains(i)) {
            match cycles
                .iter_mut()
                .find(|c| reach[i].contains(&c[0]) && reach[c[0]].contains(&i))
            {
                Some(cycle) => cycle.push(i),
                None => cycles.push(vec![i]),
            }
        }
        cycles
    }
}

/// What is needed, directly or not.
fn reached(needs: &[BTreeSet<usize>], from: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut open = vec![from];
    while let Some(i) = open.pop() {
        open.extend(needs[i].iter().filter(|to| found.insert(**to)));
    }
    found
}

/// By crate: how many files it has, and its cycles, as paths.
fn of_tree(sources: &[Source]) -> BTreeMap<String, (usize, Vec<Vec<String>>)> {
    let mut crates: BTreeMap<&str, Vec<(&Source, &str)>> = BTreeMap::new();
    for source in sources {
        if let Some((name, inside)) = source.crate_and_module() {
            crates.entry(name).or_default().push((source, inside));
        }
    }
    crates
        .into_iter()
        .map(|(name, files)| {
            let c = Crate::of(&files);
            let path = |i: usize| c.files[i].source.path.clone();
            let cycles = c.cycles();
            let cycles = cycles
                .into_iter()
                .map(|cycle| cycle.into_iter().map(path).collect());
            (name.to_owned(), (c.files.len(), cycles.collect()))
        })
        .collect()
}

/// A line for each crate with cycles: how many of its files are in one.
pub fn summary(sources: &[Source]) -> Vec<String> {
    of_tree(sources)
        .into_iter()
        .filter(|(_, (_, cycles))| !cycles.is_empty())
        .map(|(name, (files, cycles))| {
            let sizes: Vec<String> = cycles.iter().map(|c| c.len().to_string()).collect();
            let cyclic: usize = cycles.iter().map(Vec::len).sum();
            format!(
                "{name}: {cyclic} of {files} files in cycles of {}",
                sizes.join(", ")
            )
        })
        .collect()
}

/// Complains about files in cycles that are not listed, and about listed ones that are in none.
pub fn check(root: &Path, sources: &[Source], complaints: &mut Vec<String>) -> Outcome<()> {
    let listed = lists::list(root, LIST)?;
    let mut cyclic = BTreeSet::new();
    for (_, (_, cycles)) in of_tree(sources) {
        for cycle in cycles {
            for path in &cycle {
                if !listed.iter().any(|(_, l)| l == path) {
                    complaints.push(format!("{path}:1: in a cycle of {}", cycle.join(", ")));
                }
            }
            cyclic.extend(cycle);
        }
    }
    for (at, path) in listed.iter().filter(|(_, path)| !cyclic.contains(path)) {
        complaints.push(format!(
            "xtask/tidy/{LIST}:{at}: {path} is in no cycle; take it off with `cargo xtask tidy --bless`"
        ));
    }
    Ok(())
}

/// Rewrites the list to what is there: drops what is in no cycle any more, adds what is new only where `raise` says so. Comments
/// stay with the file below them.
pub fn bless(root: &Path, raise: bool, sources: &[Source]) -> Outcome<()> {
    let path = root.join("xtask").join("tidy").join(LIST);
    let old = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut cyclic: BTreeSet<String> = of_tree(sources)
        .into_values()
        .flat_map(|(_, cycles)| cycles.into_iter().flatten())
        .collect();
    let mut text = String::new();
    let mut comments = String::new();
    for line in old.lines() {
        if line.trim().is_empty() || line.starts_with('#') {
            comments.push_str(line);
            comments.push('\n');
        } else if cyclic.remove(line.trim()) {
            text.push_str(&std::mem::take(&mut comments));
            text.push_str(line);
            text.push('\n');
        } else if text.is_empty() && !comments.is_empty() {
            // The file's own head.
            text.push_str(&std::mem::take(&mut comments));
        } else {
            comments.clear();
        }
    }
    if text.is_empty() {
        text = comments;
    }
    if raise {
        for path in cyclic {
            text.push_str(&path);
            text.push('\n');
        }
    }
    std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let sources: Vec<Source> = files
            .iter()
            .map(|(path, text)| Source::new(&format!("crates/a/src/{path}"), (*text).to_owned()))
            .collect();
        let mut found = of_tree(&sources);
        found.remove("a").unwrap_or_default().1
    }

    #[test]
    fn a_circle_is_found_through_names_that_are_handed_on() {
        let found = cycles(&[
            ("lib.rs", "mod x; mod y; pub use x::X;"),
            ("x/mod.rs", "mod inner; pub use inner::X; use crate::y::Y;"),
            ("x/inner.rs", "use crate::y::Y; pub struct X(Y);"),
            ("y.rs", "use crate::X; pub struct Y; fn f(x: X) {}"),
        ]);
        assert_eq!(found, [["crates/a/src/x/inner.rs", "crates/a/src/y.rs"]]);
    }

    #[test]
    fn a_module_that_only_hands_on_is_in_no_circle() {
        let found = cycles(&[
            ("lib.rs", "mod x; pub use x::{X, f};"),
            (
                "x.rs",
                "use crate::Z; pub struct X; pub fn f() { super::g() }",
            ),
        ]);
        assert!(found.is_empty(), "{found:?}");
        let used = cycles(&[
            ("lib.rs", "mod x; pub use x::X; fn g() -> X {}"),
            ("x.rs", "pub struct X; pub fn f() { super::g() }"),
        ]);
        assert_eq!(used.len(), 1);
    }
}
