//! Command-line flags: `--name value`, `--name=value` or a bare `--name`, each read at most by one command; and words in
//! front of them.
//!
//! A flag or word nobody read is an error, told before the work begins, so that a misspelt one cannot silently change what
//! was measured.

use crate::step::Outcome;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::str::FromStr;

/// Marks that the words were read; no flag has this name.
const WORDS: &str = "";

/// The flags of one invocation.
#[derive(Debug, Default)]
pub struct Args {
    words: Vec<String>,
    flags: Vec<(String, Option<String>)>,
    read: RefCell<BTreeSet<String>>,
}

impl Args {
    /// Splits the words after the command's name into flags.
    pub fn parse(words: impl Iterator<Item = String>) -> Outcome<Args> {
        let mut flags: Vec<(String, Option<String>)> = Vec::new();
        let mut first = Vec::new();
        for word in words {
            if let Some(flag) = word.strip_prefix("--") {
                match flag.split_once('=') {
                    Some((name, value)) => flags.push((name.to_owned(), Some(value.to_owned()))),
                    None => flags.push((flag.to_owned(), None)),
                }
            } else {
                match flags.last_mut() {
                    Some((_, value)) if value.is_none() => *value = Some(word),
                    None => first.push(word),
                    _ => return Err(format!("'{word}' does not follow a --flag")),
                }
            }
        }
        Ok(Args {
            words: first,
            flags,
            ..Args::default()
        })
    }

    fn find(&self, name: &str) -> Option<&Option<String>> {
        self.read.borrow_mut().insert(name.to_owned());
        self.flags.iter().rev().find(|f| f.0 == name).map(|f| &f.1)
    }

    /// The words in front of the flags.
    pub fn words(&self) -> Vec<String> {
        self.read.borrow_mut().insert(WORDS.to_owned());
        self.words.clone()
    }

    /// Is `--name` there? An error where it has a value, which was probably meant as something else.
    pub fn switch(&self, name: &str) -> Outcome<bool> {
        match self.find(name) {
            Some(Some(value)) => Err(format!("--{name} takes no value, and '{value}' follows it")),
            found => Ok(found.is_some()),
        }
    }

    /// Is `--name` there, with or without a value?
    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The value of `--name`, or `default` where the flag is not given.
    pub fn get<T: FromStr>(&self, name: &str, default: T) -> Outcome<T> {
        match self.find(name) {
            None => Ok(default),
            Some(None) => Err(format!("--{name} wants a value")),
            Some(Some(text)) => text
                .parse()
                .map_err(|_| format!("--{name}: '{text}' is not a value it takes")),
        }
    }

    /// The comma-separated values of `--name`, or those of `default`.
    pub fn list<T: FromStr>(&self, name: &str, default: &str) -> Outcome<Vec<T>> {
        let text = self.get(name, default.to_owned())?;
        text.split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .map(|item| {
                item.parse()
                    .map_err(|_| format!("--{name}: '{item}' is not a value it takes"))
            })
            .collect()
    }

    /// An error naming the flags that the command did not look at.
    pub fn refuse_unread(&self) -> Outcome<()> {
        let read = self.read.borrow();
        if let Some(word) = self.words.first()
            && !read.contains(WORDS)
        {
            return Err(format!("'{word}' does not follow a --flag"));
        }
        let unread: Vec<&str> = self
            .flags
            .iter()
            .map(|f| f.0.as_str())
            .filter(|name| !read.contains(*name))
            .collect();
        if unread.is_empty() {
            Ok(())
        } else {
            Err(format!("unknown flag --{}", unread.join(", --")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> Outcome<Args> {
        Args::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn values_lists_and_switches() {
        let a = args("--rounds 3 --threads=1,8 --bless").unwrap();
        assert_eq!(a.get("rounds", 1u32).unwrap(), 3);
        assert_eq!(a.list::<u32>("threads", "64").unwrap(), [1, 8]);
        assert!(a.has("bless"));
        assert_eq!(a.get("seconds", 10u64).unwrap(), 10);
        assert!(a.refuse_unread().is_ok());
    }

    #[test]
    fn mistakes_are_told() {
        assert!(args("stray").unwrap().refuse_unread().is_err());
        assert!(args("--rounds 3 stray").is_err());
        let words = args("E02 E11 --quick E04").unwrap();
        assert_eq!(words.words(), ["E02", "E11"]);
        assert!(words.switch("quick").unwrap_err().contains("E04"));
        let a = args("--rounds x --typo 1").unwrap();
        assert!(a.get("rounds", 1u32).is_err());
        assert!(a.refuse_unread().unwrap_err().contains("typo"));
    }
}
