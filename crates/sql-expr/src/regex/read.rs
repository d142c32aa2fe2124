//! Reads a pattern as ICU does, whose syntax MySQL 8.0 has, and finds in it what ICU would not take. The grammar is that of ICU's
//! user guide, and was held against ICU 72. It matches nothing.

use super::class::escape_set;
use super::fault::Fault;
use super::scan::{Item, Scanner};
use super::tree::{Greed, Kind, Node};

/// Groups so deep in one another are refused: each level is a call.
const DEPTH_MAX: usize = 120;

/// How a pattern is meant, where it does not say so itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flags {
    /// Letters match in either case.
    pub ignore_case: bool,
    /// `^` and `$` match at line ends.
    pub multi_line: bool,
    /// `.` matches line ends.
    pub dot_all: bool,
    /// Lines end with LF alone.
    pub unix: bool,
}

/// A pattern read.
#[derive(Debug)]
pub(super) struct Pattern {
    pub root: Node,
    /// How many groups it has.
    pub groups: usize,
    /// The named ones, with their numbers.
    pub names: Vec<(String, usize)>,
}

/// Where the reading is.
pub(super) struct Reader {
    pub(super) scan: Scanner,
    pub(super) cur: Item,
    flags: Flags,
    groups: usize,
    names: Vec<(String, usize)>,
    /// The highest group that is referred to by number.
    referred: usize,
}

/// Reads a pattern.
pub(super) fn read(pattern: &str, flags: Flags) -> Result<Pattern, Fault> {
    if pattern.is_empty() {
        return Err(Fault::IllegalArgument);
    }
    let mut r = Reader {
        scan: Scanner::new(pattern),
        cur: Item {
            c: None,
            quoted: false,
        },
        flags,
        groups: 0,
        names: Vec::new(),
        referred: 0,
    };
    r.advance()?;
    let root = r.alternatives(0)?;
    if r.cur.c.is_some() {
        return Err(Fault::Parenthesis);
    }
    if r.referred > r.groups {
        return Err(Fault::BackReference);
    }
    Ok(Pattern {
        root,
        groups: r.groups,
        names: r.names,
    })
}

impl Reader {
    pub(super) fn advance(&mut self) -> Result<(), Fault> {
        self.cur = self.scan.next()?;
        self.scan.comments = true;
        Ok(())
    }

    /// Whether the character is here; it has been read then.
    pub(super) fn eat(&mut self, c: char) -> Result<bool, Fault> {
        let here = self.cur.plain() == Some(c);
        if here {
            self.advance()?;
        }
        Ok(here)
    }

    /// Alternatives up to the end, or to a `)` that is left.
    fn alternatives(&mut self, depth: usize) -> Result<Node, Fault> {
        if depth > DEPTH_MAX {
            return Err(Fault::TooBig);
        }
        let mut either = Vec::new();
        let mut sequence = Vec::new();
        while self.cur.c.is_some() {
            match self.cur.plain() {
                Some(')') => break,
                Some('|') => {
                    self.advance()?;
                    either.push(Node::Sequence(std::mem::take(&mut sequence)));
                }
                Some('*' | '+' | '?' | '{' | '}') => return Err(self.scan.syntax()),
                _ => self.term(depth, &mut sequence)?,
            }
        }
        if either.is_empty() {
            return Ok(Node::Sequence(sequence));
        }
        either.push(Node::Sequence(sequence));
        Ok(Node::Either(either))
    }

    /// A term with its quantifier.
    fn term(&mut self, depth: usize, out: &mut Vec<Node>) -> Result<(), Fault> {
        let f = self.flags;
        let node = match self.cur.plain() {
            Some('[') => {
                self.advance()?;
                let set = self.set(0)?;
                Node::Set(set, f.ignore_case)
            }
            Some('(') => match self.group(depth)? {
                (None, _) => return Ok(()),
                (Some(node), true) => node,
                (Some(node), false) => {
                    out.push(node);
                    return Ok(());
                }
            },
            Some('.') => {
                self.advance()?;
                Node::Dot {
                    all: f.dot_all,
                    unix: f.unix,
                }
            }
            Some('^') => {
                self.advance()?;
                Node::Start {
                    multi: f.multi_line,
                    unix: f.unix,
                }
            }
            Some('$') => {
                self.advance()?;
                Node::End {
                    multi: f.multi_line,
                    unix: f.unix,
                }
            }
            Some('\\') => match self.escape()? {
                (node, true) => node,
                (node, false) => {
                    out.push(node);
                    return Ok(());
                }
            },
            _ => {
                let c = self.cur.c.unwrap_or(0);
                self.advance()?;
                Node::Char(c, f.ignore_case)
            }
        };
        let node = self.quantified(node)?;
        out.push(node);
        Ok(())
    }

    /// A node with the quantifier that may follow it; comments may stand between.
    fn quantified(&mut self, node: Node) -> Result<Node, Fault> {
        while self.cur.plain() == Some('(') && self.is_comment() {
            self.comment()?;
        }
        let (min, max) = match self.cur.plain() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => {
                self.advance()?;
                self.interval()?
            }
            _ => return Ok(node),
        };
        self.advance()?;
        let greed = if self.eat('?')? {
            Greed::Lazy
        } else if self.eat('+')? {
            Greed::Possessive
        } else {
            Greed::Greedy
        };
        if max.is_some_and(|max| max < min) {
            return Err(Fault::MaxBelowMin);
        }
        Ok(Node::Repeat(Box::new(node), min, max, greed))
    }

    /// The numbers of an interval, up to its `}`.
    fn interval(&mut self) -> Result<(u32, Option<u32>), Fault> {
        let min = self.number()?.ok_or(Fault::Interval)?;
        match self.cur.plain() {
            Some('}') => Ok((min, Some(min))),
            Some(',') => {
                self.advance()?;
                let max = self.number()?;
                if self.cur.plain() == Some('}') {
                    Ok((min, max))
                } else {
                    Err(Fault::Interval)
                }
            }
            _ => Err(Fault::Interval),
        }
    }

    fn number(&mut self) -> Result<Option<u32>, Fault> {
        let mut value: Option<u32> = None;
        while let Some(d) = self.cur.plain().and_then(|c| c.to_digit(10)) {
            let v = u64::from(value.unwrap_or(0)) * 10 + u64::from(d);
            if v > i32::MAX as u64 {
                return Err(Fault::Number);
            }
            value = Some(v as u32);
            self.advance()?;
        }
        Ok(value)
    }

    /// Whether the `(` here begins a comment.
    fn is_comment(&self) -> bool {
        let mut ahead = self.scan.clone();
        ahead.comments = false;
        ahead.next().is_ok_and(|c| c.plain() == Some('?'))
            && ahead.next().is_ok_and(|c| c.plain() == Some('#'))
    }

    fn comment(&mut self) -> Result<(), Fault> {
        self.scan.comments = false;
        while self.cur.plain() != Some(')') {
            if self.cur.c.is_none() {
                return Err(Fault::Parenthesis);
            }
            self.scan.comments = false;
            self.cur = self.scan.next()?;
        }
        self.scan.comments = true;
        self.advance()
    }

    /// What a `(` begins, and whether it may be repeated; nothing for a comment and for flags.
    fn group(&mut self, depth: usize) -> Result<(Option<Node>, bool), Fault> {
        if self.is_comment() {
            self.comment()?;
            return Ok((None, false));
        }
        self.advance()?;
        if self.cur.plain() != Some('?') {
            self.groups += 1;
            return self.inside(Kind::Capture, self.flags, depth);
        }
        self.advance()?;
        let kind = match self.cur.plain() {
            Some(':') => Kind::Plain,
            Some('>') => Kind::Atomic,
            Some('=') => Kind::Ahead,
            Some('!') => Kind::NotAhead,
            Some('<') => {
                self.advance()?;
                match self.cur.plain() {
                    Some('=') => Kind::Behind,
                    Some('!') => Kind::NotBehind,
                    Some(c) if c.is_ascii_alphabetic() => {
                        let name = self.name()?;
                        self.groups += 1;
                        if self.names.iter().any(|(n, _)| *n == name) {
                            return Err(Fault::GroupName);
                        }
                        self.names.push((name, self.groups));
                        Kind::Capture
                    }
                    _ => return Err(self.scan.syntax()),
                }
            }
            Some('i' | 'd' | 'm' | 's' | 'u' | 'w' | 'x' | '-') => return self.inline(depth),
            Some('(' | '{') => return Err(Fault::Unimplemented),
            _ => return Err(self.scan.syntax()),
        };
        self.advance()?;
        self.inside(kind, self.flags, depth)
    }

    /// The inside of a group to its `)`; the flags are `after` behind it.
    fn inside(
        &mut self,
        kind: Kind,
        after: Flags,
        depth: usize,
    ) -> Result<(Option<Node>, bool), Fault> {
        let free = self.scan.free;
        self.inside_free(kind, (after, free), depth)
    }

    fn inside_free(
        &mut self,
        kind: Kind,
        (after, free): (Flags, bool),
        depth: usize,
    ) -> Result<(Option<Node>, bool), Fault> {
        let node = self.alternatives(depth + 1)?;
        let behind = matches!(kind, Kind::Behind | Kind::NotBehind);
        if behind && node.longest().is_none_or(|n| n > 1 << 24) {
            return Err(Fault::LookBehind);
        }
        if self.cur.plain() != Some(')') {
            return Err(Fault::Parenthesis);
        }
        self.flags = after;
        self.scan.free = free;
        self.advance()?;
        let repeats = matches!(kind, Kind::Capture | Kind::Plain | Kind::Atomic);
        Ok((Some(Node::Group(kind, Box::new(node))), repeats))
    }

    /// Flags behind `(?`.
    fn inline(&mut self, depth: usize) -> Result<(Option<Node>, bool), Fault> {
        let (before, free_before) = (self.flags, self.scan.free);
        let (mut f, mut free, mut on) = (before, free_before, true);
        loop {
            match self.cur.plain() {
                Some('i') => f.ignore_case = on,
                Some('d') => f.unix = on,
                Some('m') => f.multi_line = on,
                Some('s') => f.dot_all = on,
                Some('x') => free = on,
                // Unicode's case is always meant; of word boundaries there is one kind.
                Some('u' | 'w') => {}
                Some('-') => on = false,
                Some(')') => {
                    self.flags = f;
                    self.scan.free = free;
                    self.advance()?;
                    return Ok((None, false));
                }
                Some(':') => {
                    self.flags = f;
                    self.scan.free = free;
                    self.advance()?;
                    return self.inside_free(Kind::Plain, (before, free_before), depth);
                }
                _ => return Err(Fault::Flag),
            }
            self.advance()?;
        }
    }

    /// A name of ASCII letters and digits up to its `>`, which is left.
    fn name(&mut self) -> Result<String, Fault> {
        let mut name = String::new();
        loop {
            match self.cur.plain() {
                Some('>') if !name.is_empty() => return Ok(name),
                Some(c) if c.is_ascii_alphabetic() || (c.is_ascii_digit() && !name.is_empty()) => {
                    name.push(c);
                }
                _ => return Err(Fault::GroupName),
            }
            self.advance()?;
        }
    }

    /// What a backslash begins, and whether it may be repeated.
    fn escape(&mut self) -> Result<(Node, bool), Fault> {
        self.advance()?;
        let f = self.flags;
        let Some(c) = self.cur.plain() else {
            return match self.cur.c {
                None => Err(Fault::BadEscape),
                Some(c) => {
                    self.advance()?;
                    Ok((Node::Char(c, f.ignore_case), true))
                }
            };
        };
        match c {
            'p' | 'P' => {
                return Ok((
                    Node::Set(self.property_escape(c == 'P')?, f.ignore_case),
                    true,
                ));
            }
            'N' => {
                return Err(if self.scan.peek() == Some('{') {
                    Fault::MissingFile
                } else {
                    Fault::IllegalArgument
                });
            }
            'k' => return Ok((self.named_back()?, true)),
            '1'..='9' => return Ok((self.back(c)?, true)),
            _ => {}
        }
        let (node, repeats) = match c {
            'A' => (Node::Place(r"\A"), false),
            'z' => (Node::Place(r"\z"), false),
            'b' => (Node::Place(r"\b"), false),
            'B' => (Node::Place(r"\B"), false),
            'G' => (Node::LastEnd, false),
            'Z' => (
                Node::End {
                    multi: false,
                    unix: false,
                },
                false,
            ),
            'R' => (Node::LineBreak, true),
            'X' => (Node::Cluster, true),
            _ => match escape_set(c) {
                Some(set) => (Node::Set(set.to_owned(), false), true),
                None => (Node::Char(u32::from(c), f.ignore_case), true),
            },
        };
        self.advance()?;
        Ok((node, repeats))
    }

    /// A reference by number, which may stand before its group. ICU takes another digit as long as the number is less than that of the groups that have
    /// begun, whether there is a group of the longer number or not.
    fn back(&mut self, first: char) -> Result<Node, Fault> {
        let mut n = first.to_digit(10).unwrap_or(0) as usize;
        while n < self.groups
            && let Some(d) = self.scan.peek().and_then(|c| c.to_digit(10))
        {
            n = n * 10 + d as usize;
            self.scan.raw();
        }
        self.referred = self.referred.max(n);
        self.advance()?;
        Ok(Node::Back(n, self.flags.ignore_case))
    }

    fn named_back(&mut self) -> Result<Node, Fault> {
        self.advance()?;
        if !self.eat('<')? {
            return Err(Fault::GroupName);
        }
        let name = self.name()?;
        self.advance()?;
        match self.names.iter().find(|(n, _)| *n == name) {
            Some((_, n)) => Ok(Node::Back(*n, self.flags.ignore_case)),
            None => Err(Fault::GroupName),
        }
    }
}
