//! Reads sets in brackets as ICU does. The order of the operators is ICU's; every operand is written in brackets of its own, so that no
//! matcher has another.

use super::class::{char_text, escape_set, property, range_text, union};
use super::fault::Fault;
use super::read::Reader;

/// What stood last in a set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Char(Option<u32>),
    Set,
    Range,
    Operator,
}

/// What joins two sets.
#[derive(Clone, Copy)]
enum Join {
    Without,
    And,
}

/// Sets so deep in one another are refused: each level is a call.
const DEPTH_MAX: usize = 100;

fn join(a: &str, how: Join, b: &str) -> String {
    match how {
        Join::Without => format!("[{a}--{b}]"),
        Join::And => format!("[{a}&&{b}]"),
    }
}

impl Reader {
    /// The set behind a `[` that has been read.
    pub(super) fn set(&mut self, depth: usize) -> Result<String, Fault> {
        if depth > DEPTH_MAX {
            return Err(Fault::TooBig);
        }
        if self.cur.plain() == Some(':')
            && let Some(set) = self.posix()?
        {
            return Ok(set);
        }
        let negated = self.eat('^')?;
        let mut parts: Vec<String> = Vec::new();
        let mut total: Option<(String, Join)> = None;
        let mut last = Last::Nothing;
        if self.cur.plain() == Some(']') {
            last = self.literal(&mut parts)?;
        }
        loop {
            let operator = last == Last::Operator;
            match self.cur.plain() {
                _ if self.cur.c.is_none() => return Err(Fault::Bracket),
                Some(']') => {
                    if operator {
                        return Err(self.scan.syntax());
                    }
                    self.advance()?;
                    break;
                }
                Some('[') => {
                    self.advance()?;
                    parts.push(self.set(depth + 1)?);
                    last = Last::Set;
                }
                Some('\\') => last = self.set_escape(&mut parts)?,
                Some(sign @ ('-' | '&')) if !operator => {
                    self.advance()?;
                    let how = if sign == '-' {
                        Join::Without
                    } else {
                        Join::And
                    };
                    let again = self.cur.plain() == Some(sign);
                    if last == Last::Nothing && again {
                        return Err(self.scan.syntax());
                    }
                    if again && last != Last::Nothing {
                        self.advance()?;
                        let part = union(&std::mem::take(&mut parts));
                        let left = match total.take() {
                            Some((left, how)) => join(&left, how, &part),
                            None => part,
                        };
                        total = Some((left, how));
                        last = Last::Operator;
                    } else if last == Last::Set && self.cur.plain() == Some('[') {
                        self.advance()?;
                        let right = self.set(depth + 1)?;
                        parts = vec![join(&union(&parts), how, &right)];
                    } else if let (Last::Char(from), '-') = (last, sign)
                        && !matches!(self.cur.plain(), Some('[' | ']'))
                    {
                        last = self.range(from, &mut parts)?;
                    } else {
                        parts.push(char_text(u32::from(sign)));
                        last = Last::Char(None);
                    }
                }
                _ => last = self.literal(&mut parts)?,
            }
        }
        let part = union(&parts);
        let set = match total {
            Some((left, how)) => join(&left, how, &part),
            None => part,
        };
        Ok(if negated { format!("[^{set}]") } else { set })
    }

    /// The character here stands for itself.
    fn literal(&mut self, parts: &mut Vec<String>) -> Result<Last, Fault> {
        let c = self.cur.c;
        parts.push(c.map_or(String::new(), char_text));
        self.advance()?;
        Ok(Last::Char(c))
    }

    fn set_escape(&mut self, parts: &mut Vec<String>) -> Result<Last, Fault> {
        self.advance()?;
        let Some(c) = self.cur.plain() else {
            return if self.cur.c.is_none() {
                Err(Fault::Bracket)
            } else {
                self.literal(parts)
            };
        };
        if matches!(c, 'p' | 'P') {
            parts.push(self.property_escape(c == 'P')?);
            return Ok(Last::Set);
        }
        if c == 'N' {
            return Err(Fault::MissingFile);
        }
        if let Some(set) = escape_set(c) {
            parts.push(set.to_owned());
            self.advance()?;
            return Ok(Last::Range);
        }
        self.literal(parts)
    }

    /// The end of a range whose `-` has been read.
    fn range(&mut self, from: Option<u32>, parts: &mut Vec<String>) -> Result<Last, Fault> {
        if self.cur.plain() == Some('\\') {
            self.advance()?;
            match self.cur.plain() {
                Some('N') => return Err(Fault::MissingFile),
                Some(c) if escape_set(c).is_some() => {
                    return Err(self.scan.syntax());
                }
                _ => {}
            }
        }
        match (from, self.cur.c) {
            (Some(from), Some(to)) if from <= to => {
                parts.push(range_text(from, to));
                self.advance()?;
                Ok(Last::Range)
            }
            _ => Err(Fault::Range),
        }
    }

    /// `{name}` behind `\p` or `\P`, which is the character here.
    pub(super) fn property_escape(&mut self, negated: bool) -> Result<String, Fault> {
        if self.scan.raw() != Some('{') {
            return Err(Fault::IllegalArgument);
        }
        let mut name = String::new();
        loop {
            match self.scan.raw() {
                None => return Err(Fault::IllegalArgument),
                Some('}') => break,
                Some(c) => name.push(c),
            }
        }
        self.advance()?;
        property(&name, negated)
    }

    /// `[:name:]`, whose first colon is the character here; `None`, and nothing read, where it is none.
    fn posix(&mut self) -> Result<Option<String>, Fault> {
        let mut ahead = self.scan.clone();
        let negated = ahead.peek() == Some('^');
        if negated {
            ahead.raw();
        }
        let mut name = String::new();
        loop {
            match ahead.next()?.plain() {
                None | Some('\\' | '[' | ']') => return Ok(None),
                Some(':') => break,
                Some(c) => name.push(c),
            }
        }
        if ahead.raw() != Some(']') || name.is_empty() {
            return Ok(None);
        }
        let set = property(&name, negated)?;
        self.scan = ahead;
        self.advance()?;
        Ok(Some(set))
    }
}
