//! Expressions as trees: made by chance from the catalogue, written as SQL, and made smaller.

use super::catalog::{self, Form};
use super::words::{self, Scope};
use harness::rng::Rng;
use wire::client::Value;

/// What may stand in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Anything that has a value.
    Any,
    /// A literal and no other expression.
    Literal,
    /// Any number.
    Number,
    /// A whole number.
    Int,
    /// A small whole number: a length, a place, an exponent.
    Position,
    /// Text.
    Text,
    /// A date or time of any kind.
    Time,
    /// A condition.
    Truth,
    /// A JSON document.
    Json,
    /// A path into one.
    Path,
    /// A regular expression.
    Pattern,
    /// A format of DATE_FORMAT.
    Format,
    /// DAY, HOUR, …
    Unit,
    /// DAY_HOUR, …
    CompoundUnit,
    /// A character set.
    Charset,
    /// A column of `c`.
    Target,
    /// A column's type.
    ColumnType,
    /// A field of a file.
    Field,
    /// An Internet address.
    Address,
    /// A length in a type, which cannot be a parameter.
    Length,
    /// An aggregate.
    Aggregate,
}

impl Kind {
    /// The kind of a place by its word.
    pub fn named(word: &str) -> Option<Kind> {
        Some(match word {
            "any" => Kind::Any,
            "literal" => Kind::Literal,
            "num" => Kind::Number,
            "int" => Kind::Int,
            "pos" => Kind::Position,
            "text" => Kind::Text,
            "time" => Kind::Time,
            "truth" => Kind::Truth,
            "json" => Kind::Json,
            "path" => Kind::Path,
            "pattern" => Kind::Pattern,
            "format" => Kind::Format,
            "unit" => Kind::Unit,
            "units" => Kind::CompoundUnit,
            "charset" => Kind::Charset,
            "target" => Kind::Target,
            "type" => Kind::ColumnType,
            "field" => Kind::Field,
            "ip" => Kind::Address,
            "length" => Kind::Length,
            "aggregate" => Kind::Aggregate,
            _ => return None,
        })
    }

    /// Whether a whole expression may stand there.
    fn grows(self) -> bool {
        matches!(
            self,
            Kind::Any | Kind::Number | Kind::Int | Kind::Text | Kind::Time | Kind::Truth
        )
    }
}

/// A tree.
#[derive(Debug, Clone)]
pub enum Node {
    /// A literal, a column or a word.
    Leaf {
        /// As it is written.
        text: Vec<u8>,
        /// The kind of its place.
        kind: Kind,
        /// A literal, in whose place a column may stand.
        literal: bool,
        /// What it is as a parameter, where that is the same by the rules.
        value: Option<Value>,
    },
    /// A form with its places filled.
    Form {
        /// Which one.
        form: &'static Form,
        /// The text between the places, one piece more than places.
        pieces: Vec<&'static str>,
        /// What fills them.
        places: Vec<Node>,
    },
}

/// How literals are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Literals {
    /// As they are.
    Plain,
    /// As `?` where there is a value.
    Params,
    /// As columns `c0`, `c1`, … in their order.
    Columns,
}

/// The text of a tree, and what was written in another way in it.
#[derive(Debug, Clone, Default)]
pub struct Written {
    /// The text.
    pub sql: Vec<u8>,
    /// The values of the parameters.
    pub params: Vec<Value>,
    /// The literals that became parameters or columns.
    pub literals: Vec<Vec<u8>>,
}

impl Node {
    /// A word: never a parameter.
    pub fn word(text: &str, kind: Kind) -> Node {
        Node::Leaf {
            text: text.as_bytes().to_vec(),
            kind,
            literal: false,
            value: None,
        }
    }

    /// A literal.
    pub fn literal(text: &str, kind: Kind, value: Option<Value>) -> Node {
        Node::Leaf {
            text: text.as_bytes().to_vec(),
            kind,
            literal: true,
            value,
        }
    }

    /// A tree of at most `depth` forms above each other. `ours`: with forms that only our server has.
    pub fn grow(rng: &mut Rng, kind: Kind, depth: u32, scope: Scope, ours: bool) -> Node {
        if kind == Kind::Aggregate {
            let form = words::one(rng, catalog::AGGREGATES);
            return Node::fill(rng, form, depth, scope, ours);
        }
        if depth == 0 || !kind.grows() || rng.one_in(8) {
            return words::leaf(rng, kind, scope);
        }
        let wanted = match kind {
            // A place takes any type; most of the time it gets its own.
            _ if rng.one_in(8) => Kind::Any,
            Kind::Int => Kind::Number,
            kind => kind,
        };
        let forms = Node::forms(rng, wanted, ours);
        let form = words::one(rng, forms);
        Node::fill(rng, form, depth - 1, scope, ours)
    }

    fn forms(rng: &mut Rng, kind: Kind, ours: bool) -> &'static [Form] {
        let table = if ours && rng.one_in(3) {
            catalog::OURS
        } else {
            catalog::FORMS
        };
        match table.iter().find(|(of, _)| *of == kind) {
            Some((_, forms)) if kind != Kind::Any || rng.one_in(5) => forms,
            _ => words::one(rng, table).1,
        }
    }

    /// A form with its places filled by chance.
    pub fn fill(rng: &mut Rng, form: &'static Form, depth: u32, scope: Scope, ours: bool) -> Node {
        let mut pieces = Vec::new();
        let mut places = Vec::new();
        let mut rest = form.text;
        while let Some((before, word, behind)) = place(rest) {
            pieces.push(before);
            rest = behind;
            places.push(Node::grow(rng, word, depth, scope, ours));
        }
        pieces.push(rest);
        Node::Form {
            form,
            pieces,
            places,
        }
    }

    /// Writes the tree at the end of `out`.
    pub fn write(&self, literals: Literals, out: &mut Written) {
        match self {
            Node::Leaf {
                text,
                literal,
                value,
                ..
            } => match (literals, value) {
                (Literals::Params, Some(value)) if *literal => {
                    out.sql.push(b'?');
                    out.params.push(value.clone());
                    out.literals.push(text.clone());
                }
                // A literal of bits is a number where a column of bytes is text.
                (Literals::Columns, _) if *literal && class_of(text) != 'H' => {
                    out.sql
                        .extend_from_slice(format!("c{}", out.literals.len()).as_bytes());
                    out.literals.push(text.clone());
                }
                _ => out.sql.extend_from_slice(text),
            },
            Node::Form { pieces, places, .. } => {
                for (at, piece) in pieces.iter().enumerate() {
                    out.sql.extend_from_slice(piece.as_bytes());
                    let Some(node) = places.get(at) else { continue };
                    let alone = matches!(node, Node::Leaf { text, .. } if !text.starts_with(b"-"));
                    if !alone {
                        out.sql.push(b'(');
                    }
                    node.write(literals, out);
                    if !alone {
                        out.sql.push(b')');
                    }
                }
            }
        }
    }

    /// The tree as SQL.
    pub fn sql(&self) -> Vec<u8> {
        let mut out = Written::default();
        self.write(Literals::Plain, &mut out);
        out.sql
    }

    /// The tree with its literals left away: what kind of statement it is.
    pub fn shape(&self, out: &mut String) {
        match self {
            Node::Leaf { text, literal, .. } => {
                if *literal {
                    out.push(class_of(text));
                } else {
                    out.push_str(&String::from_utf8_lossy(text));
                }
            }
            Node::Form { pieces, places, .. } => {
                for (at, piece) in pieces.iter().enumerate() {
                    out.push_str(piece);
                    if let Some(node) = places.get(at) {
                        node.shape(out);
                    }
                }
            }
        }
    }

    /// The text between a form's places; nothing for a leaf.
    pub fn pieces(&self) -> &[&'static str] {
        match self {
            Node::Leaf { .. } => &[],
            Node::Form { pieces, .. } => pieces,
        }
    }

    /// Smaller trees of the same kind, the smallest first.
    pub fn smaller(&self) -> Vec<Node> {
        let mut found = Vec::new();
        match self {
            Node::Leaf {
                text,
                kind,
                literal,
                ..
            } => {
                let column = kind.grows() && !*literal;
                for simple in simpler(*kind, *literal || column) {
                    if text == simple.as_bytes() {
                        break;
                    }
                    let value = match *simple {
                        "NULL" => Value::Null,
                        text => text
                            .parse()
                            .map_or_else(|_| Value::from(text.trim_matches('\'')), Value::Int),
                    };
                    found.push(Node::literal(simple, *kind, Some(value)));
                }
            }
            Node::Form {
                form,
                pieces,
                places,
            } => {
                found.extend(places.iter().filter(|p| p.is_expression()).cloned());
                for (at, place) in places.iter().enumerate() {
                    for small in place.smaller() {
                        let mut places = places.clone();
                        places[at] = small;
                        found.push(Node::Form {
                            form,
                            pieces: pieces.clone(),
                            places,
                        });
                    }
                }
            }
        }
        found
    }

    fn is_expression(&self) -> bool {
        match self {
            Node::Leaf { kind, .. } => {
                kind.grows() || matches!(kind, Kind::Literal | Kind::Position | Kind::Json)
            }
            Node::Form { .. } => true,
        }
    }
}

/// The letter that stands for a literal in a shape.
fn class_of(text: &[u8]) -> char {
    match text {
        [b'0', b'x', ..] | [b'b' | b'x' | b'X', b'\'', ..] | [b'0', b'b', ..] => 'H',
        [
            b'\'' | b'_' | b'N',
            b'\'' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z',
            ..,
        ] if text != b"NULL" => 'S',
        [b'D', ..] => 'D',
        [b'T', b'I', ..] => 'D',
        b"NULL" => 'N',
        text if text.contains(&b'e') => 'F',
        text if text.contains(&b'.') => 'R',
        [b'0'..=b'9' | b'-' | b'T' | b'F', ..] => 'I',
        _ => 'S',
    }
}

/// Literals to try in the place of another, the simplest first.
fn simpler(kind: Kind, literal: bool) -> &'static [&'static str] {
    match kind {
        _ if !literal => &[],
        Kind::Position => &["1", "0"],
        Kind::Json => &["'1'"],
        _ => &["NULL", "1", "0", "'a'", "'1'", "''"],
    }
}

/// The first place of a form: what is before it, its kind, what is behind it.
pub fn place(form: &'static str) -> Option<(&'static str, Kind, &'static str)> {
    let open = form.find('{')?;
    let close = open + form[open..].find('}')?;
    let kind = Kind::named(&form[open + 1..close])?;
    Some((&form[..open], kind, &form[close + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCOPE: Scope = Scope {
        columns: true,
        charset: "utf8mb4",
    };

    #[test]
    fn every_place_of_the_catalogue_has_a_kind() {
        let tables = catalog::FORMS.iter().chain(catalog::OURS);
        for form in tables
            .flat_map(|(_, forms)| *forms)
            .chain(catalog::AGGREGATES)
        {
            let node = Node::fill(&mut Rng::new(1), form, 0, SCOPE, false);
            let sql = String::from_utf8_lossy(&node.sql()).into_owned();
            let bare = sql.replace("'{", "").replace(": {", "").replace(", {", "");
            let left = bare.split('\'').next().unwrap_or("");
            assert!(!left.contains('{'), "{} became {sql}", form.text);
        }
    }

    #[test]
    fn a_seed_gives_the_same_tree() {
        let tree = |seed| Node::grow(&mut Rng::new(seed), Kind::Any, 3, SCOPE, true).sql();
        for seed in 0..100 {
            assert_eq!(tree(seed), tree(seed));
        }
        assert_ne!(tree(1), tree(2));
    }

    #[test]
    fn what_is_smaller_ends() {
        for seed in 0..200 {
            let mut node = Node::grow(&mut Rng::new(seed), Kind::Any, 3, SCOPE, false);
            let mut steps = 0;
            while let Some(next) = node.smaller().into_iter().next_back() {
                node = next;
                steps += 1;
                assert!(steps < 1000, "{}", String::from_utf8_lossy(&node.sql()));
            }
        }
    }

    #[test]
    fn literals_become_parameters_or_columns() {
        let node = Node::Form {
            form: &catalog::AGGREGATES[0],
            pieces: vec!["", " + ", ""],
            places: vec![
                Node::literal("1", Kind::Any, Some(Value::Int(1))),
                Node::literal("0.5", Kind::Any, None),
            ],
        };
        let mut out = Written::default();
        node.write(Literals::Params, &mut out);
        assert_eq!(out.sql, b"? + 0.5");
        let mut out = Written::default();
        node.write(Literals::Columns, &mut out);
        assert_eq!(out.sql, b"c0 + c1");
        assert_eq!(out.literals, [b"1".to_vec(), b"0.5".to_vec()]);
    }
}
