//! `cargo xtask tidy`: the habits of the tree, as a test.
//!
//! What a reviewer would otherwise have to remember, and what neither the compiler nor clippy knows: each module says what it is
//! for, imports follow the order of the workspace, files stay short and import each other in no circle, `unsafe` is
//! allowed in few files, words that mean "later" or "somewhere on my machine" stay out. The lists it works from lie in
//! `xtask/tidy/` and are edited by hand, except for the ratchets, which `--bless` tightens (and, with `--raise`, loosens: a reviewer
//! sees that in the diff). Functions of more than 100 lines, `todo!` and `unsafe` without a reason are clippy's (`clippy.toml`,
//! and the lints in the workspace's `Cargo.toml`).

mod cycles;
mod lists;
mod meanings;
mod order;
mod paths;
mod seeds;
mod source;
mod variables;
mod words;

use harness::step::{self, Outcome};
use harness::workspace;
use source::Source;
use std::path::Path;

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Tighten the lists: take away what holds no more.
    #[arg(long)]
    bless: bool,
    /// With --bless: loosen the ratchets too.
    #[arg(long, requires = "bless")]
    raise: bool,
}

/// The command.
pub fn command(options: &Options) -> Outcome<()> {
    let (bless, raise) = (options.bless, options.raise);
    if bless {
        let sources = Source::of_tree(&workspace::root())?;
        variables::bless(&workspace::root(), &sources)?;
        cycles::bless(&workspace::root(), raise, &sources)?;
    }
    all()
}

/// Every check; an error counting the complaints, which are printed.
pub fn all() -> Outcome<()> {
    step::announce("tidy");
    for line in cycles::summary(&Source::of_tree(&workspace::root())?) {
        println!("    {line}");
    }
    let complaints = complaints(&workspace::root())?;
    for complaint in &complaints {
        println!("    {complaint}");
    }
    if complaints.is_empty() {
        println!("    nothing to tidy");
        Ok(())
    } else {
        Err(format!("{} things to tidy", complaints.len()))
    }
}

/// All that is wrong with the tree, as `path:line: what`.
fn complaints(root: &Path) -> Outcome<Vec<String>> {
    let sources = Source::of_tree(root)?;
    let mut complaints = Vec::new();
    for source in &sources {
        words::module_docs(source, &mut complaints);
        words::module_name(source, &mut complaints);
        words::left_for_later(source, &mut complaints);
        words::length(source, &mut complaints);
        seeds::fixed(source, &mut complaints);
    }
    words::machine_paths(root, &mut complaints)?;
    words::readmes(root, &mut complaints)?;
    words::unsafe_code(root, &sources, &mut complaints)?;
    order::crates(root, &mut complaints)?;
    order::modules(root, &sources, &mut complaints)?;
    cycles::check(root, &sources, &mut complaints)?;
    meanings::check(root, &sources, &mut complaints)?;
    variables::check(root, &sources, &mut complaints)?;
    Ok(complaints)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_tree_is_tidy() {
        let complaints = super::complaints(&harness::workspace::root()).unwrap();
        assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
    }
}
