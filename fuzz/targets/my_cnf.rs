//! A my.cnf, and the words of a command line.

#![no_main]

use libfuzzer_sys::fuzz_target;
use options::{Files, parse};
use std::io;
use std::path::{Path, PathBuf};

// Taken in as source: the crate it is in would bring the whole server and its runtime to be built with it.
#[allow(dead_code, unused_imports)]
#[path = "../../crates/tidemill-server/src/options/mod.rs"]
mod options;

/// One file, which every path names; its folder holds nothing.
struct One<'a>(&'a str);

impl Files for One<'_> {
    fn read(&self, _: &Path) -> io::Result<String> {
        Ok(self.0.to_owned())
    }

    fn list(&self, _: &Path) -> io::Result<Vec<PathBuf>> {
        Ok(Vec::new())
    }

    fn kept(&self, _: &Path) -> Option<options::Kept> {
        None
    }
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let (words, file) = text.split_once("\n\n").unwrap_or(("", &text));
    let given = words.lines().map(str::to_owned);
    let arguments = std::iter::once("--defaults-file=/my.cnf".to_owned()).chain(given);
    let _ = parse(arguments, &One(file));
});
