//! Sets of characters: `[…]`, `\p{…}`, `\d` and their like, read as ICU reads them and written as the matchers write them. The order
//! of the operators is ICU's; every operand is written in brackets of its own, so that no matcher has another.

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

/// No character.
const NONE: &str = "[a&&b]";

/// The text of a character.
pub(super) fn char_text(c: u32) -> String {
    match char::from_u32(c) {
        Some(c) if c.is_ascii_alphanumeric() => c.to_string(),
        Some(_) => format!("\\x{{{c:x}}}"),
        // No text of ours has a lone surrogate.
        None => NONE.to_owned(),
    }
}

fn range_text(from: u32, to: u32) -> String {
    // A range over the surrogates is two.
    let mut out = String::new();
    if from < 0xd800 {
        out += &format!("\\x{{{from:x}}}-\\x{{{:x}}}", to.min(0xd7ff));
    }
    if to > 0xdfff {
        out += &format!("\\x{{{:x}}}-\\x{{{to:x}}}", from.max(0xe000));
    }
    if out.is_empty() { NONE.to_owned() } else { out }
}

fn union(parts: &[String]) -> String {
    if parts.is_empty() {
        NONE.to_owned()
    } else {
        format!("[{}]", parts.concat())
    }
}

fn join(a: &str, how: Join, b: &str) -> String {
    match how {
        Join::Without => format!("[{a}--{b}]"),
        Join::And => format!("[{a}&&{b}]"),
    }
}

/// The set of an escape, such as `\d`.
pub(super) fn escape_set(c: char) -> Option<&'static str> {
    Some(match c {
        'd' => r"\p{Nd}",
        'D' => r"\P{Nd}",
        'w' => r"\w",
        'W' => r"\W",
        's' => r"\p{White_Space}",
        'S' => r"\P{White_Space}",
        'h' => r"[\t\p{Zs}]",
        'H' => r"[^\t\p{Zs}]",
        'v' => r"[\n\x0b\f\r\x{85}\x{2028}\x{2029}]",
        'V' => r"[^\n\x0b\f\r\x{85}\x{2028}\x{2029}]",
        _ => return None,
    })
}

/// The set of a property by its name, as `\p{…}` and `[:…:]` have it.
pub(super) fn property(name: &str, negated: bool) -> Result<String, Fault> {
    let plain: String = name
        .chars()
        .filter(|c| !matches!(c, ' ' | '_' | '-' | '\t'))
        .flat_map(char::to_lowercase)
        .collect();
    let known = match &*plain {
        "alnum" => r"[\p{Alphabetic}\p{Nd}]",
        "blank" => r"[\t\p{Zs}]",
        "graph" => r"[^\p{White_Space}\p{Cc}\p{Cn}]",
        "print" => r"[[^\p{White_Space}\p{Cc}\p{Cn}]\p{Zs}]",
        "xdigit" => r"[\p{Nd}a-fA-F\x{ff21}-\x{ff26}\x{ff41}-\x{ff46}]",
        "punct" => r"\p{P}",
        "digit" => r"\p{Nd}",
        "cntrl" => r"\p{Cc}",
        "word" => r"\w",
        "any" | "all" => r"[\x00-\x{10ffff}]",
        "ascii" => r"[\x00-\x7f]",
        "assigned" => r"\P{Cn}",
        _ => "",
    };
    let set = if known.is_empty() {
        // The tables of properties are the matcher's. A name may hold nothing that ends or changes the set.
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '_' | '-' | '=');
        if plain.len() < 2 && !"clmnpsz".contains(&plain) || !name.chars().all(fits) {
            return Err(Fault::IllegalArgument);
        }
        let set = format!("\\p{{{}}}", name.trim());
        regex::Regex::new(&set).map_err(|_| Fault::IllegalArgument)?;
        set
    } else {
        known.to_owned()
    };
    Ok(if negated { format!("[^{set}]") } else { set })
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
        let negated = self.take('^')?;
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
