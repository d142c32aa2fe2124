//! The language in which a line of the list speaks of a statement's tree.
//!
//! A pattern is one or more terms with `&` between them. A term holds if something in the case fits it: the frame itself, one of its
//! expressions, or anything inside of these. The pattern holds if all of its terms do.
//!
//! ```text
//! term   = ["!"] [".."] [asks ":"] one { "|" one }
//! one    = test { "|" test } [ "(" places ")" | "[" places "]" ]      the places are those of each test before them
//! test   = "_"                anything
//!        | "^"                the frame, whose places are its expressions
//!        | type               int unsigned decimal real truth year text bytes bits bit label date time datetime json null,
//!                             number whole string temporal dated (see `typed`)
//!        | ADDTIME            a form by the first word of its name
//!        | `CAST AS TIME`     a form by its whole name (`form_name`)
//!        | @compare           a group of forms (`groups`)
//!        | "'2*'"             the text of the expression, with * for anything
//!        | literal column computed large wide
//! places = term { "," term } [ "," "..." ]
//! ```
//!
//! - `F(a, b)` has just these places, `F(a, ...)` begins with them; `F[a, b]` has two different places of which one fits `a` and one `b`.
//! - `..t`: it or something inside of it fits `t`. `!t`: it does not fit `t` (of a whole term: nothing does).
//! - `num:t`, `text:t`, `time:t`, `truth:t` stand among places: one in which that is asked for (`asked`).
//! - `large` is what may be beyond 32 bits: such a literal, a column that has such values, anything computed that is not of a known small
//!   range. `wide` has characters beyond ASCII.

use super::case::Case;
use super::glob::fits;
use super::groups::GROUPS;
use super::node::{self, Kind, Node};
use super::typed::{self, Gives, Typed};

/// A pattern that was read.
#[derive(Debug)]
pub struct Pattern(Vec<Term>);

#[derive(Debug)]
struct Term {
    not: bool,
    deep: bool,
    asks: Option<Asks>,
    ones: Vec<One>,
}

#[derive(Debug)]
struct One {
    tests: Vec<Test>,
    places: Places,
}

#[derive(Debug)]
enum Places {
    Any,
    Just(Vec<Term>),
    Begin(Vec<Term>),
    Some(Vec<Term>),
}

#[derive(Debug)]
enum Test {
    Anything,
    Frame,
    Typed(&'static [Typed]),
    Word(String),
    Name(String),
    Group(&'static [&'static str]),
    Glob(String),
    Literal,
    Column,
    Computed,
    Large,
    Wide,
}

/// What a place asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asks {
    Number,
    Text,
    Time,
    Truth,
}

/// What a term is held to.
#[derive(Clone, Copy)]
enum Seen<'c> {
    Frame(&'c Case),
    Node(&'c Node),
}

impl Pattern {
    /// Reads one.
    pub fn read(text: &str) -> Result<Pattern, String> {
        let mut reader = Reader { rest: text.trim() };
        let mut terms = vec![reader.term()?];
        while reader.took("&") {
            terms.push(reader.term()?);
        }
        match reader.rest {
            "" => Ok(Pattern(terms)),
            rest => Err(format!("what is '{rest}'?")),
        }
    }

    /// Whether a case fits it.
    pub fn holds(&self, case: &Case) -> bool {
        self.0.iter().all(|term| {
            let found = term.somewhere(Seen::Frame(case));
            found != term.not
        })
    }
}

impl Term {
    fn somewhere(&self, seen: Seen<'_>) -> bool {
        self.at(seen) || places(seen).iter().any(|p| self.somewhere(Seen::Node(p)))
    }

    /// Whether it fits just this, whatever its `!` says.
    fn at(&self, seen: Seen<'_>) -> bool {
        self.ones
            .iter()
            .any(|one| one.tests.iter().any(|test| test.fits(seen)) && one.places.fit(seen))
    }

    /// Whether what stands in the place `at` of `parent` fits.
    fn place(&self, parent: Seen<'_>, at: usize, node: &Node) -> bool {
        if self.asks.is_some() && self.asks != asked(parent, at) {
            return false;
        }
        let found = match self.deep {
            true => self.somewhere(Seen::Node(node)),
            false => self.at(Seen::Node(node)),
        };
        found != self.not
    }
}

impl Places {
    fn fit(&self, seen: Seen<'_>) -> bool {
        let places = places(seen);
        match self {
            Places::Any => true,
            Places::Just(terms) => places.len() == terms.len() && in_order(terms, seen, places),
            Places::Begin(terms) => places.len() >= terms.len() && in_order(terms, seen, places),
            Places::Some(terms) => each_its_own(terms, seen, places, 0),
        }
    }
}

fn in_order(terms: &[Term], seen: Seen<'_>, places: &[Node]) -> bool {
    let mut both = terms.iter().zip(places).enumerate();
    both.all(|(at, (term, node))| term.place(seen, at, node))
}

/// Whether each term has a place that no other has; those in `taken` are gone.
fn each_its_own(terms: &[Term], seen: Seen<'_>, places: &[Node], taken: u32) -> bool {
    let Some((first, others)) = terms.split_first() else {
        return true;
    };
    places.iter().enumerate().any(|(at, node)| {
        let bit = 1 << at;
        taken & bit == 0
            && first.place(seen, at, node)
            && each_its_own(others, seen, places, taken | bit)
    })
}

fn places(seen: Seen<'_>) -> &[Node] {
    match seen {
        Seen::Frame(case) => &case.nodes,
        Seen::Node(Node::Form { places, .. }) => places,
        Seen::Node(Node::Leaf { .. }) => &[],
    }
}

impl Test {
    fn fits(&self, seen: Seen<'_>) -> bool {
        let node = match (self, seen) {
            (Test::Frame, _) => return matches!(seen, Seen::Frame(_)),
            (_, Seen::Frame(_)) => return false,
            (_, Seen::Node(node)) => node,
        };
        match self {
            Test::Anything => true,
            Test::Frame => false,
            Test::Typed(all) => all.contains(&typed::of(node)),
            Test::Word(word) => {
                form_name(node).is_some_and(|name| name.split(' ').next() == Some(word))
            }
            Test::Name(name) => form_name(node).as_ref() == Some(name),
            Test::Group(names) => form_name(node).is_some_and(|n| names.contains(&n.as_str())),
            Test::Glob(glob) => fits(glob, &String::from_utf8_lossy(&node.sql())),
            Test::Literal => matches!(node, Node::Leaf { literal: true, .. }),
            Test::Column => matches!(node, Node::Leaf { literal: false, .. }),
            Test::Computed => matches!(node, Node::Form { .. }),
            Test::Large => large(node),
            Test::Wide => !node.sql().is_ascii(),
        }
    }

    fn read(word: &str) -> Result<Test, String> {
        if let Some(name) = word.strip_prefix('@') {
            let group = GROUPS.iter().find(|(of, _)| *of == name);
            return match group {
                Some((_, names)) => Ok(Test::Group(names)),
                None => Err(format!("no group @{name}")),
            };
        }
        Ok(match word {
            "_" => Test::Anything,
            "^" => Test::Frame,
            "literal" => Test::Literal,
            "column" => Test::Column,
            "computed" => Test::Computed,
            "large" => Test::Large,
            "wide" => Test::Wide,
            word if word.starts_with(|c: char| c.is_ascii_uppercase()) => {
                Test::Word(word.to_owned())
            }
            word => Test::Typed(Typed::named(word).ok_or(format!("what is '{word}'?"))?),
        })
    }
}

/// The name of a form: what is written of it without its places, with a space for each bracket and comma.
pub(super) fn form_name(node: &Node) -> Option<String> {
    let Node::Form { form, pieces, .. } = node else {
        return None;
    };
    let bare = pieces.join(" ").replace(['(', ')', ','], " ");
    let words: Vec<&str> = bare
        .split_whitespace()
        .filter(|word| !word.starts_with('\''))
        .collect();
    let name = words.join(" ");
    Some(match name.as_str() {
        "-" if pieces.len() == 2 => "NEG".to_owned(),
        "+" if pieces.len() == 2 => "POS".to_owned(),
        _ if form.text.starts_with("({any}") => format!("ROW {name}"),
        _ => name,
    })
}

/// What the place `at` of a form or frame asks for, where it is one of these.
fn asked(parent: Seen<'_>, at: usize) -> Option<Asks> {
    let node = match parent {
        Seen::Frame(case) if case.frame.area == "where" => return Some(Asks::Truth),
        Seen::Frame(_) => return None,
        Seen::Node(node) => node,
    };
    let Node::Form { form, .. } = node else {
        return None;
    };
    let mut rest = form.text;
    let mut kind = Kind::Any;
    for _ in 0..=at {
        let (_, of, behind) = node::place(rest)?;
        (kind, rest) = (of, behind);
    }
    match kind {
        Kind::Number | Kind::Int | Kind::Position => return Some(Asks::Number),
        Kind::Text | Kind::Pattern | Kind::Address => return Some(Asks::Text),
        Kind::Time => return Some(Asks::Time),
        Kind::Truth => return Some(Asks::Truth),
        _ => {}
    }
    let name = form_name(node)?;
    match name.as_str() {
        "+" | "*" | "POS" | "SUM" | "AVG" | "CAST AS SIGNED" | "CAST AS UNSIGNED"
        | "CAST AS DOUBLE" => Some(Asks::Number),
        name if name.starts_with("CAST AS DECIMAL") => Some(Asks::Number),
        name if name.starts_with("CAST AS DATE") || name.starts_with("CAST AS TIME") => {
            Some(Asks::Time)
        }
        "AND" | "OR" | "XOR" | "NOT" | "IS TRUE" | "IS NOT FALSE" | "IS UNKNOWN" => {
            Some(Asks::Truth)
        }
        "IF" if at == 0 => Some(Asks::Truth),
        "CASE WHEN THEN WHEN THEN END" if at.is_multiple_of(2) => Some(Asks::Truth),
        "LENGTH"
        | "CHAR_LENGTH"
        | "BIT_LENGTH"
        | "ASCII"
        | "STRCMP"
        | "NOT LIKE"
        | "GROUP_CONCAT ORDER BY id SEPARATOR" => Some(Asks::Text),
        _ => match form.gives {
            Gives::String | Gives::Is(Typed::Text | Typed::Bytes) => Some(Asks::Text),
            _ => None,
        },
    }
}

/// Whether a number may be beyond 32 bits.
fn large(node: &Node) -> bool {
    match node {
        Node::Leaf { text, .. } => {
            let sql = String::from_utf8_lossy(text);
            let digits = sql.trim_matches('\'');
            let number = digits.parse::<f64>();
            number.map_or(matches!(digits, "u" | "db" | "i" | "bi"), |n| {
                n.abs() >= 2147483647.0
            }) || typed::of(node) == Typed::Bits
        }
        Node::Form { form, .. } => !matches!(form.gives, Gives::Is(Typed::Truth | Typed::Year)),
    }
}

/// What is not read yet.
struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    fn took(&mut self, what: &str) -> bool {
        let taken = self.rest.strip_prefix(what);
        if let Some(rest) = taken {
            self.rest = rest.trim_start();
        }
        taken.is_some()
    }

    fn term(&mut self) -> Result<Term, String> {
        let not = self.took("!");
        let deep = self.took("..");
        let asks = [
            ("num:", Asks::Number),
            ("text:", Asks::Text),
            ("time:", Asks::Time),
            ("truth:", Asks::Truth),
        ]
        .into_iter()
        .find_map(|(word, asks)| self.took(word).then_some(asks));
        let mut ones = vec![self.one()?];
        while self.took("|") {
            ones.push(self.one()?);
        }
        Ok(Term {
            not,
            deep,
            asks,
            ones,
        })
    }

    fn one(&mut self) -> Result<One, String> {
        let mut tests = vec![self.test()?];
        while self.took("|") {
            tests.push(self.test()?);
        }
        let places = if self.took("[") {
            Places::Some(self.places("]")?.0)
        } else if self.took("(") {
            match self.places(")")? {
                (terms, true) => Places::Begin(terms),
                (terms, false) => Places::Just(terms),
            }
        } else {
            Places::Any
        };
        Ok(One { tests, places })
    }

    /// The terms up to a bracket, and whether more places may follow.
    fn places(&mut self, end: &str) -> Result<(Vec<Term>, bool), String> {
        let mut terms = Vec::new();
        loop {
            if self.took("...") {
                return match self.took(end) {
                    true => Ok((terms, true)),
                    false => Err(format!("'{end}' belongs behind '...'")),
                };
            }
            terms.push(self.term()?);
            if self.took(end) {
                return Ok((terms, false));
            }
            if !self.took(",") {
                return Err(format!("'{end}' or ',' before '{}'", self.rest));
            }
        }
    }

    fn test(&mut self) -> Result<Test, String> {
        for (quote, made) in [
            ('"', Test::Glob as fn(String) -> Test),
            ('`', Test::Name as fn(String) -> Test),
        ] {
            if let Some(inner) = self.rest.strip_prefix(quote) {
                let end = inner.find(quote).ok_or("a quote has no end")?;
                self.rest = inner[end + 1..].trim_start();
                return Ok(made(inner[..end].to_owned()));
            }
        }
        let end = self
            .rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '@' | '^')))
            .unwrap_or(self.rest.len());
        let word: &'t str = &self.rest[..end];
        self.rest = self.rest[end..].trim_start();
        Test::read(word)
    }
}

#[cfg(test)]
mod tests {
    use super::super::difference_file;
    use super::super::frames::FRAMES;
    use super::super::peer::Session;
    use super::*;

    fn leaf(text: &str) -> Node {
        let column = text.starts_with(|c: char| c.is_ascii_lowercase());
        Node::Leaf {
            text: text.as_bytes().to_vec(),
            kind: Kind::Any,
            literal: !column,
            value: None,
        }
    }

    fn form(text: &str, filled: Vec<Node>) -> Node {
        let form = difference_file::named(text).unwrap();
        let (mut pieces, mut rest) = (Vec::new(), form.text);
        while let Some((before, _, behind)) = node::place(rest) {
            pieces.push(before);
            rest = behind;
        }
        pieces.push(rest);
        Node::Form {
            form,
            pieces,
            places: filled,
        }
    }

    fn holds(pattern: &str, area: &str, node: &Node) -> bool {
        let case = Case {
            frame: FRAMES.iter().find(|f| f.area == area).unwrap(),
            session: Session {
                charset: "utf8mb4",
                strict: true,
            },
            nodes: vec![node.clone()],
        };
        Pattern::read(pattern).unwrap().holds(&case)
    }

    /// `ABS((t = 'a') + 1.5)`
    fn sample() -> Node {
        let compared = form("{any} = {any}", vec![leaf("t"), leaf("'a'")]);
        let sum = form("{num} + {num}", vec![compared, leaf("1.5")]);
        form("ABS({num})", vec![sum])
    }

    #[test]
    fn what_a_pattern_finds() {
        for (pattern, found) in [
            ("ABS", true),
            ("FLOOR", false),
            ("ABS|FLOOR", true),
            ("ABS(text)|FLOOR(text)|@compare[time]", true),
            ("ABS|FLOOR(text)", false),
            ("@compare[time, string]", true),
            ("@compare[string, time]", true),
            ("@compare(string, time)", false),
            ("@compare(time, _)", true),
            ("@compare[time, time]", false),
            ("@compare[time, number]", false),
            ("@arith[decimal]", true),
            ("`+`(truth, decimal)", true),
            ("`-`", false),
            ("ABS(..\"'a'\")", true),
            ("ABS(\"'a'\")", false),
            ("ABS(decimal)", true),
            ("ABS(num:_)", true),
            ("ABS(text:_)", false),
            ("@compare(num:_, _)", false),
            ("^(ABS)", true),
            ("^(`+`)", false),
            ("^[computed]", true),
            ("column & literal", true),
            ("column & wide", false),
            ("!FLOOR", true),
            ("!ABS", false),
            ("ABS & !@compare", false),
            ("@compare[!number, string]", true),
            ("\"*=*\"", true),
            ("large", true),
            ("@arith(_, ...)", true),
            ("@arith(_)", false),
        ] {
            assert_eq!(holds(pattern, "expression", &sample()), found, "{pattern}");
        }
        assert!(holds("^(truth:number)", "where", &sample()));
        assert!(!holds("^(truth:number)", "rows", &sample()));
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for pattern in [
            "",
            "@nothing",
            "lower",
            "ABS(",
            "ABS)",
            "ABS(_ _)",
            "\"a",
            "ABS(..., _)",
        ] {
            assert!(Pattern::read(pattern).is_err(), "{pattern}");
        }
    }
}
