//! Regular expressions as ICU has them, compiled. Most go to a matcher whose time is linear in the text; those with look-around,
//! references to groups or possessive repetitions go to one that goes back and tries again, within a limit of steps. So do texts
//! with line ends where the linear matcher would take `^`, `$` or `.` another way. What matches is the matchers' to say, what is done with it
//! the functions'.

mod class;
mod fault;
mod read;
mod scan;
mod set;
mod tree;
mod write;

#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

pub(super) use fault::Fault;
pub(super) use read::Flags;
use write::{Odd, write};

/// Most bytes of a compiled expression.
const SIZE_MAX: usize = 4 << 20;
/// Most steps back of a match: some tens of milliseconds, since nobody can be heard meanwhile.
const STEPS_MAX: usize = 200_000;

/// Most bytes of a pattern, of one for the matcher that goes back, and most instructions that it may become: it has no limit of its own.
const TEXT_MAX: usize = 1 << 20;
const PATTERN_MAX: usize = 64 << 10;
const INSTRUCTIONS_MAX: usize = 200_000;

/// A compiled expression.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// Linear in the text.
    linear: Option<Regex>,
    /// The texts that it is wrong for.
    odd: Odd,
    /// The pattern for the other matcher, and that one once it has been needed.
    exact: String,
    backtracking: OnceLock<Result<Box<fancy_regex::Regex>, Fault>>,
    names: Vec<(String, usize)>,
    groups: usize,
}

/// Where the groups of a match are, the whole match first.
pub(super) type Groups = Vec<Option<(usize, usize)>>;

fn run_fault(e: fancy_regex::Error) -> Fault {
    match e {
        fancy_regex::Error::RuntimeError(fancy_regex::RuntimeError::StackOverflow) => Fault::Stack,
        _ => Fault::Time,
    }
}

impl Compiled {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// Those of ICU for a pattern that is none, or too large.
    pub(super) fn new(pattern: &str, flags: Flags) -> Result<Compiled, Fault> {
        if pattern.len() > TEXT_MAX {
            return Err(Fault::TooBig);
        }
        let read = read::read(pattern, flags)?;
        let exact = write(&read.root, true);
        let mut compiled = Compiled {
            linear: None,
            odd: Odd::default(),
            exact: exact.text,
            backtracking: OnceLock::new(),
            names: read.names,
            groups: read.groups,
        };
        if exact.hard {
            compiled.backtracking()?;
            return Ok(compiled);
        }
        let plain = write(&read.root, false);
        let built = RegexBuilder::new(&plain.text)
            .size_limit(SIZE_MAX)
            .nest_limit(1000)
            .build()
            .map_err(|e| match e {
                regex::Error::CompiledTooBig(_) => Fault::TooBig,
                _ => Fault::Unimplemented,
            })?;
        compiled.linear = Some(built);
        compiled.odd = plain.odd;
        if compiled.odd == Odd::default() {
            compiled.exact = String::new();
        }
        Ok(compiled)
    }

    /// The matcher that goes back.
    fn backtracking(&self) -> Result<&fancy_regex::Regex, Fault> {
        let made = self.backtracking.get_or_init(|| {
            if self.exact.len() > PATTERN_MAX {
                return Err(Fault::TooBig);
            }
            fancy_regex::RegexBuilder::new(&self.exact)
                .delegate_size_limit(SIZE_MAX)
                .max_prog_size(INSTRUCTIONS_MAX)
                .backtrack_limit(STEPS_MAX)
                .build()
                .map(Box::new)
                .map_err(|e| match e {
                    fancy_regex::Error::ParseError(
                        _,
                        fancy_regex::ParseError::RecursionExceeded,
                    ) => Fault::TooBig,
                    fancy_regex::Error::CompileError(e)
                        if matches!(*e, fancy_regex::CompileError::InnerError(_)) =>
                    {
                        Fault::TooBig
                    }
                    _ => Fault::Unimplemented,
                })
        });
        match made {
            Ok(r) => Ok(r),
            Err(e) => Err(*e),
        }
    }

    /// The linear matcher, where it is right for this text.
    fn linear(&self, text: &[u8]) -> Option<&Regex> {
        self.linear.as_ref().filter(|_| !self.odd.is(text))
    }

    /// How many groups it has.
    pub(super) fn groups(&self) -> usize {
        self.groups
    }

    /// The group of a name.
    pub(super) fn named(&self, name: &str) -> Option<usize> {
        self.names.iter().find(|(n, _)| n == name).map(|(_, n)| *n)
    }

    /// Whether it matches anywhere.
    ///
    /// # Errors
    /// 3699 for one that takes too long, 3685 for a text that is none.
    pub(super) fn is_match(&self, text: &[u8]) -> Result<bool, Fault> {
        match self.linear(text) {
            Some(r) => Ok(r.is_match(text)),
            None => self
                .backtracking()?
                .is_match(utf8(text)?)
                .map_err(run_fault),
        }
    }

    /// Calls `f` with the groups of each match in turn, the first not before `from`, until it returns `false`. Behind a match of no
    /// characters the search goes on one character later.
    ///
    /// # Errors
    /// As [`is_match`](Self::is_match), and those of `f`.
    pub(super) fn each_match<E: From<Fault>>(
        &self,
        text: &[u8],
        from: usize,
        mut f: impl FnMut(Groups) -> Result<bool, E>,
    ) -> Result<(), E> {
        let mut at = from;
        let linear = self.linear(text);
        while at <= text.len() {
            let groups: Groups = if let Some(r) = linear {
                let Some(c) = r.captures_at(text, at) else {
                    break;
                };
                c.iter().map(|g| g.map(|g| (g.start(), g.end()))).collect()
            } else {
                let found = self.backtracking()?.captures_from_pos(utf8(text)?, at);
                let Some(c) = found.map_err(run_fault)? else {
                    break;
                };
                c.iter().map(|g| g.map(|g| (g.start(), g.end()))).collect()
            };
            let Some(Some((start, end))) = groups.first().copied() else {
                break;
            };
            at = end;
            if start == end {
                at += 1;
                while text.get(at).is_some_and(|b| (0x80..0xc0).contains(b)) {
                    at += 1;
                }
            }
            if !f(groups)? {
                break;
            }
        }
        Ok(())
    }
}

fn utf8(text: &[u8]) -> Result<&str, Fault> {
    std::str::from_utf8(text).map_err(|_| Fault::IllegalArgument)
}
