//! Differences in a file, one a line, so that the list can be held to them again without any server.

use super::case::{Aspect, Case, Difference};
use super::catalog::{self, Form};
use super::frames::FRAMES;
use super::node::{self, Kind, Node};
use super::peer::Session;
use harness::step::Outcome;
use std::io::Write;

/// Between the parts of a tree.
const BETWEEN: char = '\u{1f}';

/// The character sets of sessions, whose names outlive a file.
const CHARSETS: &[&str] = &["utf8mb4", "latin1", "binary", "utf8mb3", "ascii"];

/// Writes a difference behind the line of the list that documents it (0: none) and the number of its case.
pub fn write(
    out: &mut impl Write,
    line: usize,
    number: u64,
    case: &Case,
    found: &Difference,
) -> std::io::Result<()> {
    let mut tree = Vec::new();
    for node in &case.nodes {
        parts(node, &mut tree);
    }
    let fields = [
        line.to_string(),
        number.to_string(),
        case.frame.area.to_owned(),
        case.session.charset.to_owned(),
        case.session.strict.to_string(),
        found.aspect.name().to_owned(),
        found.statement.clone(),
        found.ours.clone(),
        found.theirs.clone(),
        tree.join(&BETWEEN.to_string()),
    ];
    let fields = fields.map(|f| {
        f.replace('\\', "\\\\")
            .replace('\t', "\\t")
            .replace('\n', "\\n")
    });
    writeln!(out, "{}", fields.join("\t"))
}

fn parts(node: &Node, out: &mut Vec<String>) {
    match node {
        Node::Leaf { text, literal, .. } => {
            let hex: String = text.iter().map(|b| format!("{b:02x}")).collect();
            out.push(format!("{}{hex}", if *literal { '=' } else { '-' }));
        }
        Node::Form { form, places, .. } => {
            out.push(form.text.to_owned());
            places.iter().for_each(|place| parts(place, out));
        }
    }
}

/// Reads a line that was written: the number of the case, the case and the difference.
pub fn read(line: &str) -> Outcome<(u64, Case, Difference)> {
    let whole = |text: &str| {
        let mut out = String::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            out.push(match (c, c == '\\') {
                (_, true) => match chars.next() {
                    Some('t') => '\t',
                    Some('n') => '\n',
                    other => other.unwrap_or('\\'),
                },
                (c, false) => c,
            });
        }
        out
    };
    let fields: Vec<String> = line.split('\t').map(whole).collect();
    let [
        _,
        number,
        area,
        charset,
        strict,
        aspect,
        statement,
        ours,
        theirs,
        tree,
    ] = &fields[..]
    else {
        return Err(format!("no difference: {line}"));
    };
    let frame = FRAMES
        .iter()
        .find(|f| f.area == area)
        .ok_or("no such area")?;
    let mut tokens = tree.split(BETWEEN);
    let nodes = frame
        .places
        .iter()
        .map(|(kind, _)| tree_of(&mut tokens, *kind))
        .collect::<Option<_>>()
        .ok_or_else(|| format!("no tree: {tree}"))?;
    let session = Session {
        charset: CHARSETS
            .iter()
            .find(|c| *c == charset)
            .ok_or("no such charset")?,
        strict: strict == "true",
    };
    let found = Difference {
        aspect: Aspect::named(aspect).ok_or("no such aspect")?,
        statement: statement.clone(),
        ours: ours.clone(),
        theirs: theirs.clone(),
        told: format!("{statement}\n  ours:   {ours}\n  theirs: {theirs}"),
    };
    let number = number.parse().map_err(|_| "no number")?;
    let case = Case {
        frame,
        session,
        nodes,
    };
    Ok((number, case, found))
}

fn tree_of<'t>(tokens: &mut impl Iterator<Item = &'t str>, kind: Kind) -> Option<Node> {
    let token = tokens.next()?;
    if let Some(hex) = token.strip_prefix(['=', '-'])
        && hex.bytes().all(|b| b.is_ascii_hexdigit())
        && hex.len().is_multiple_of(2)
    {
        let bytes = hex.as_bytes().chunks(2);
        let text = bytes
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
            .collect::<Option<_>>()?;
        return Some(Node::Leaf {
            text,
            kind,
            literal: token.starts_with('='),
            value: None,
        });
    }
    let form = named(token)?;
    let (mut pieces, mut places) = (Vec::new(), Vec::new());
    let mut rest = form.text;
    while let Some((before, of, behind)) = node::place(rest) {
        pieces.push(before);
        rest = behind;
        places.push(tree_of(tokens, of)?);
    }
    pieces.push(rest);
    Some(Node::Form {
        form,
        pieces,
        places,
    })
}

/// The form of that text.
pub fn named(text: &str) -> Option<&'static Form> {
    let tables = catalog::FORMS.iter().chain(catalog::OURS);
    tables
        .flat_map(|(_, forms)| *forms)
        .chain(catalog::AGGREGATES)
        .find(|form| form.text == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_again() {
        for number in 0..500 {
            let case = Case::of(7, number, "").unwrap();
            let found = Difference {
                aspect: Aspect::Text,
                statement: "SELECT 'a\\\\n\tb'".to_owned(),
                ours: "1\n2".to_owned(),
                theirs: "\\".to_owned(),
                told: String::new(),
            };
            let mut line = Vec::new();
            write(&mut line, 3, number, &case, &found).unwrap();
            let line = String::from_utf8(line).unwrap();
            let (again, read_case, read_found) = read(line.trim_end_matches('\n')).unwrap();
            assert_eq!(again, number);
            assert_eq!(read_case.shape(), case.shape());
            assert_eq!(read_found.aspect, Aspect::Text);
            let sql = |case: &Case| case.nodes.iter().map(Node::sql).collect::<Vec<_>>();
            assert_eq!(sql(&read_case), sql(&case));
        }
    }
}
