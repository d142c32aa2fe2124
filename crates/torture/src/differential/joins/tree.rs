//! A statement as a tree that can be written under one plan or another, and made smaller step by step.

use std::collections::BTreeMap;

/// A piece of a statement.
#[derive(Debug, Clone)]
pub enum Part {
    /// Written as it stands.
    Text(String),
    /// A piece with pieces.
    Node(Node),
    /// A table in FROM, behind which index hints may stand.
    Table {
        /// The table's number.
        table: usize,
        /// Its name in the statement.
        alias: String,
    },
    /// Behind the word SELECT (or UPDATE, DELETE: `false`), where hints and options stand.
    Head(bool),
    /// An inner join with ON.
    Join,
    /// `ORDER BY` every column of the block, in an order that the number says.
    Total(u64),
}

/// How a node's parts stand together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// One behind the other.
    Plain,
    /// The same of a query block: `Total` speaks of its select list.
    Block,
    /// A list: what stands before it, between its items, and how many must stay.
    List(&'static str, &'static str, usize),
    /// The select list of a block.
    Items,
    /// The condition of a join.
    On,
    /// A comparison of rows of two by this operator: the first two parts with the next two; IN has any number of pairs.
    Rows(&'static str),
}

/// A piece with pieces.
#[derive(Debug, Clone)]
pub struct Node {
    /// How they stand together.
    pub role: Role,
    /// The pieces.
    pub parts: Vec<Part>,
    /// Places whose piece may stand for the whole.
    pub swaps: Vec<usize>,
    /// Texts that may stand for the whole.
    pub texts: Vec<&'static str>,
}

/// How a statement is written: what asks for another plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Writing {
    /// STRAIGHT_JOIN behind every SELECT.
    pub straight: bool,
    /// Inner joins are written STRAIGHT_JOIN.
    pub straight_joins: bool,
    /// Behind the first SELECT, UPDATE or DELETE: an optimizer hint.
    pub hint: String,
    /// Behind every SELECT: SQL_BIG_RESULT and the like.
    pub option: &'static str,
    /// Comparisons of rows are written as comparisons of their members.
    pub members: bool,
    /// Conditions of joins are written so that nothing is known of them before a row is there.
    pub late_on: bool,
    /// Index hints by the alias of a table.
    pub index: BTreeMap<String, String>,
}

/// Text.
pub fn text(sql: impl Into<String>) -> Part {
    Part::Text(sql.into())
}

/// Parts in a row: a text with `{}` where the parts go.
pub fn form(pattern: &str, places: Vec<Part>) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut pieces = pattern.split("{}");
    let mut first = pieces.next().map(text);
    parts.extend(first.take());
    for (piece, place) in pieces.zip(places) {
        parts.push(place);
        parts.push(text(piece));
    }
    parts
}

impl Part {
    /// A node of a form; `texts` may stand for it.
    pub fn form(pattern: &str, places: Vec<Part>, texts: &[&'static str]) -> Part {
        Part::Node(Node {
            role: Role::Plain,
            parts: form(pattern, places),
            swaps: Vec::new(),
            texts: texts.to_vec(),
        })
    }

    /// The same where each place may stand for the whole.
    pub fn swaps(pattern: &str, places: Vec<Part>, texts: &[&'static str]) -> Part {
        let count = places.len();
        Part::Node(Node {
            role: Role::Plain,
            parts: form(pattern, places),
            swaps: (0..count).map(|at| at * 2 + 1).collect(),
            texts: texts.to_vec(),
        })
    }

    /// The condition of a join.
    pub fn on(condition: Part) -> Part {
        Part::Node(Node {
            role: Role::On,
            parts: vec![condition],
            swaps: Vec::new(),
            texts: vec![" ON TRUE"],
        })
    }

    /// A list; `least` of its items stay.
    pub fn list(head: &'static str, between: &'static str, least: usize, parts: Vec<Part>) -> Part {
        Part::Node(Node {
            role: Role::List(head, between, least),
            parts,
            swaps: Vec::new(),
            texts: Vec::new(),
        })
    }

    /// A select list.
    pub fn items(parts: Vec<Part>) -> Part {
        Part::Node(Node {
            role: Role::Items,
            parts,
            swaps: Vec::new(),
            texts: Vec::new(),
        })
    }

    /// A query block, or a set operation; `swaps` may stand for the whole.
    pub fn block(parts: Vec<Part>, swaps: Vec<usize>) -> Part {
        Part::Node(Node {
            role: Role::Block,
            parts,
            swaps,
            texts: Vec::new(),
        })
    }
}

/// What is known while a statement is written.
struct Writer<'w> {
    how: &'w Writing,
    out: String,
    /// The tables so far.
    tables: Vec<(usize, String)>,
    hinted: bool,
    /// The columns of the blocks that are open.
    open: Vec<usize>,
    /// The columns of the block that was closed last.
    closed: usize,
}

/// The statement's text.
pub fn written(part: &Part, how: &Writing) -> String {
    let mut writer = Writer::new(how);
    writer.part(part);
    writer.out
}

/// The tables of the statement with their aliases.
pub fn tables(part: &Part) -> Vec<(usize, String)> {
    let how = Writing::default();
    let mut writer = Writer::new(&how);
    writer.part(part);
    writer.tables
}

impl<'w> Writer<'w> {
    fn new(how: &'w Writing) -> Writer<'w> {
        Writer {
            how,
            out: String::new(),
            tables: Vec::new(),
            hinted: false,
            open: Vec::new(),
            closed: 0,
        }
    }

    fn part(&mut self, part: &Part) {
        match part {
            Part::Text(sql) => self.out.push_str(sql),
            Part::Node(node) => self.node(node),
            Part::Table { table, alias } => {
                self.out.push_str(&format!("t{table} AS {alias}"));
                if let Some(hint) = self.how.index.get(alias) {
                    self.out.push_str(hint);
                }
                self.tables.push((*table, alias.clone()));
            }
            Part::Head(select) => self.head(*select),
            Part::Join => self.out.push_str(match self.how.straight_joins {
                true => " STRAIGHT_JOIN ",
                false => " JOIN ",
            }),
            Part::Total(order) => self.total(*order),
        }
    }

    fn head(&mut self, select: bool) {
        if !self.hinted && !self.how.hint.is_empty() {
            self.out.push_str(&format!(" /*+ {} */", self.how.hint));
        }
        self.hinted = true;
        if select && self.how.straight {
            self.out.push_str(" STRAIGHT_JOIN");
        }
        if select {
            self.out.push_str(self.how.option);
        }
    }

    /// Every column once, by its position; which comes first and which way it goes is in the bits of `order`.
    fn total(&mut self, order: u64) {
        let count = match self.open.last() {
            Some(0) | None => self.closed,
            Some(count) => *count,
        };
        let first = order as usize % count.max(1);
        let terms: Vec<String> = (0..count)
            .map(|at| {
                let way = if order >> (8 + at) & 1 == 1 {
                    " DESC"
                } else {
                    ""
                };
                format!("{}{way}", (first + at) % count + 1)
            })
            .collect();
        self.out
            .push_str(&format!(" ORDER BY {}", terms.join(", ")));
    }

    fn node(&mut self, node: &Node) {
        match node.role {
            Role::Plain => node.parts.iter().for_each(|p| self.part(p)),
            Role::Block => {
                self.open.push(0);
                node.parts.iter().for_each(|p| self.part(p));
                if let Some(count @ 1..) = self.open.pop() {
                    self.closed = count;
                }
            }
            Role::Rows(how) => self.rows(how, &node.parts),
            Role::On => self.on(&node.parts),
            Role::List(head, between, _) => self.list(head, between, &node.parts),
            Role::Items => {
                self.list("", ", ", &node.parts);
                if let Some(open) = self.open.last_mut() {
                    *open = node.parts.len();
                }
            }
        }
    }

    fn on(&mut self, parts: &[Part]) {
        let (head, end) = match self.how.late_on {
            true => (" ON CASE WHEN RAND() < 2 THEN ", " END"),
            false => (" ON ", ""),
        };
        self.out.push_str(head);
        parts.iter().for_each(|p| self.part(p));
        self.out.push_str(end);
    }

    fn rows(&mut self, how: &str, parts: &[Part]) {
        let listed = how.ends_with("IN");
        let pattern = match (self.how.members, how) {
            (false, _) if listed => "({a}, {b}) {how} (",
            (false, _) => "({a}, {b}) {how} ({c}, {d})",
            (true, "IN") => "(",
            (true, "NOT IN") => "NOT (",
            (true, "=") => "({a} = {c} AND {b} = {d})",
            (true, "<=>") => "({a} <=> {c} AND {b} <=> {d})",
            (true, "<>") => "({a} <> {c} OR {b} <> {d})",
            // The first members decide unless they are equal.
            (true, "<" | "<=") => "({a} < {c} OR ({a} = {c} AND {b} {how} {d}))",
            (true, _) => "({a} > {c} OR ({a} = {c} AND {b} {how} {d}))",
        };
        self.pattern(pattern, how, &parts[..4]);
        if listed {
            let (one, between) = match self.how.members {
                true => ("({a} = {c} AND {b} = {d})", " OR "),
                false => ("({c}, {d})", ", "),
            };
            for (at, pair) in parts[2..].chunks(2).enumerate() {
                self.out.push_str(if at == 0 { "" } else { between });
                let all = [
                    parts[0].clone(),
                    parts[1].clone(),
                    pair[0].clone(),
                    pair[1].clone(),
                ];
                self.pattern(one, how, &all);
            }
            self.out.push(')');
        }
    }

    /// A pattern with the parts `{a}` to `{d}` and the operator.
    fn pattern(&mut self, pattern: &str, how: &str, parts: &[Part]) {
        let mut rest = pattern;
        while let Some((before, behind)) = rest.split_once('{') {
            let (name, after) = behind.split_once('}').unwrap_or((behind, ""));
            self.out.push_str(before);
            match name {
                "a" => self.part(&parts[0]),
                "b" => self.part(&parts[1]),
                "c" => self.part(&parts[2]),
                "d" => self.part(&parts[3]),
                _ => self.out.push_str(how),
            }
            rest = after;
        }
        self.out.push_str(rest);
    }

    fn list(&mut self, head: &str, between: &str, parts: &[Part]) {
        for (at, part) in parts.iter().enumerate() {
            self.out.push_str(if at == 0 { head } else { between });
            self.part(part);
        }
    }
}

/// Whether the statement says in which order its rows come.
pub fn ordered(part: &Part) -> bool {
    let Part::Node(node) = part else {
        return false;
    };
    match (node.role, node.parts.last()) {
        (Role::Block, Some(Part::Node(last))) => match last.role {
            Role::Block => ordered(&Part::Node(last.clone())),
            _ => last.parts.iter().any(|p| matches!(p, Part::Total(_))),
        },
        _ => false,
    }
}

/// The tree after the reduction of that number, the largest first; `None` behind the last.
pub fn reduced(part: &Part, number: usize) -> Option<Part> {
    let mut tree = part.clone();
    let mut left = number;
    reduce(&mut tree, &mut left).then_some(tree)
}

/// Does the reduction that `left` counts down to.
fn reduce(part: &mut Part, left: &mut usize) -> bool {
    let Part::Node(node) = part else {
        return false;
    };
    if let Some(text) = node.texts.get(*left) {
        *part = Part::Text((*text).to_owned());
        return true;
    }
    *left -= node.texts.len();
    if let Some(at) = node.swaps.get(*left).copied() {
        let kept = node.parts.swap_remove(at);
        *part = kept;
        return true;
    }
    *left -= node.swaps.len();
    let least = match node.role {
        Role::List(_, _, least) => least,
        Role::Items => 1,
        Role::Rows(how) if how.ends_with("IN") && node.parts.len() > 4 => {
            let pairs = node.parts.len() / 2 - 1;
            if *left < pairs {
                node.parts.drain(2 + *left * 2..4 + *left * 2);
                return true;
            }
            *left -= pairs;
            usize::MAX
        }
        Role::Plain | Role::Block | Role::On | Role::Rows(_) => usize::MAX,
    };
    if node.parts.len() > least {
        if *left < node.parts.len() {
            node.parts.remove(*left);
            return true;
        }
        *left -= node.parts.len();
    }
    node.parts.iter_mut().any(|p| reduce(p, left))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query() -> Part {
        let items = Part::items(vec![text("1 AS c1"), text("a.i1 AS c2")]);
        let table = Part::Table {
            table: 3,
            alias: "a".to_owned(),
        };
        let conditions = vec![
            text("a.i1 = 1"),
            Part::swaps("({} OR {})", vec![text("x"), text("y")], &["TRUE"]),
        ];
        let parts = vec![
            text("SELECT"),
            Part::Head(true),
            text(" "),
            items,
            text(" FROM "),
            table,
            Part::list(" WHERE ", " AND ", 0, conditions),
            Part::form("{} LIMIT 2", vec![Part::Total(1)], &[""]),
        ];
        Part::block(parts, Vec::new())
    }

    #[test]
    fn a_plan_is_written_into_the_statement() {
        let plain = written(&query(), &Writing::default());
        assert_eq!(
            plain,
            "SELECT 1 AS c1, a.i1 AS c2 FROM t3 AS a WHERE a.i1 = 1 AND (x OR y) ORDER BY 2, 1 LIMIT 2"
        );
        let other = Writing {
            straight: true,
            hint: "NO_MERGE(a)".to_owned(),
            index: BTreeMap::from([("a".to_owned(), " IGNORE INDEX (k)".to_owned())]),
            ..Writing::default()
        };
        let told = written(&query(), &other);
        assert!(told.starts_with("SELECT /*+ NO_MERGE(a) */ STRAIGHT_JOIN 1 AS c1"));
        assert!(told.contains("t3 AS a IGNORE INDEX (k) WHERE"));
    }

    #[test]
    fn a_condition_of_a_join_is_written_so_that_nothing_is_known_of_it() {
        let late = Writing {
            late_on: true,
            ..Writing::default()
        };
        let on = Part::on(text("a = 1"));
        assert_eq!(written(&on, &Writing::default()), " ON a = 1");
        assert_eq!(
            written(&on, &late),
            " ON CASE WHEN RAND() < 2 THEN a = 1 END"
        );
    }

    #[test]
    fn rows_are_written_as_their_members() {
        let parts = ["a", "b", "c", "d", "e", "f"].map(text);
        let rows = |how, count: usize| {
            Part::Node(Node {
                role: Role::Rows(how),
                parts: parts[..count].to_vec(),
                swaps: Vec::new(),
                texts: Vec::new(),
            })
        };
        let members = Writing {
            members: true,
            ..Writing::default()
        };
        let both = |part| {
            (
                written(&part, &Writing::default()),
                written(&part, &members),
            )
        };
        let (one, other) = both(rows("NOT IN", 6));
        assert_eq!(one, "(a, b) NOT IN ((c, d), (e, f))");
        assert_eq!(other, "NOT ((a = c AND b = d) OR (a = e AND b = f))");
        let (one, other) = both(rows(">=", 4));
        assert_eq!(one, "(a, b) >= (c, d)");
        assert_eq!(other, "(a > c OR (a = c AND b >= d))");
        let less = reduced(&rows("IN", 6), 0).unwrap();
        assert_eq!(written(&less, &members), "((a = e AND b = f))");
    }

    #[test]
    fn every_reduction_is_smaller_and_the_order_stays_total() {
        let how = Writing::default();
        let whole = query();
        let all: Vec<String> = (0..)
            .map_while(|n| reduced(&whole, n))
            .map(|part| written(&part, &how))
            .collect();
        let length = written(&whole, &how).len();
        assert!(all.len() > 6 && all.iter().all(|sql| sql.len() < length));
        assert!(
            all.contains(
                &"SELECT 1 AS c1 FROM t3 AS a WHERE a.i1 = 1 AND (x OR y) ORDER BY 1 LIMIT 2"
                    .to_owned()
            )
        );
    }
}
