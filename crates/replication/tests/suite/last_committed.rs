//! What files say of dependencies, held against what transactions have truly changed: random transactions of several sessions, and for each two that
//! have a row or a unique value in common, or a row and its parent, the later one has to be behind the earlier one.

use crate::history;

use std::collections::{BTreeSet, HashMap};

use history::{History, PLAIN, RICH, unpacked};
use types::Value;
use wire::binlog::control::Transaction;
use wire::binlog::header::kind;
use wire::binlog::query::Query;
use wire::binlog::rows::{Change, Image, Rows};
use wire::binlog::table_map::TableMap;

/// Something that two transactions must not have in common: a unique value (table, columns, values), or a row by all that is in it.
type Thing = (String, &'static [usize], Vec<String>);

/// What a transaction has to do with.
#[derive(Default)]
struct Did {
    sequence: i64,
    last_committed: i64,
    /// It is beside nothing.
    alone: bool,
    things: BTreeSet<Thing>,
}

/// The keys of tables, as their definitions say; none: rows are told by all their values.
fn keys(table: &str) -> &'static [&'static [usize]] {
    match table {
        "p" | "parent" | "child" => &[&[0]],
        "q" => &[&[0, 1]],
        "u" => &[&[0], &[1], &[2]],
        "w" => &[&[0]],
        _ => &[],
    }
}

/// A value as a key has it: texts are equal whose letters are, in whatever case and with whatever accent.
fn of_key(v: &Value) -> Option<String> {
    Some(match v {
        Value::Null => return None,
        Value::Int(n) => n.to_string(),
        Value::Str(b, _) | Value::Bytes(b) => {
            let text = String::from_utf8_lossy(b).to_lowercase();
            text.replace('\u{e4}', "a")
        }
        other => panic!("{other:?}"),
    })
}

fn add(things: &mut BTreeSet<Thing>, table: &str, image: &Image) {
    let values: Vec<Value> = image.iter().flatten().cloned().collect();
    assert!(!values.is_empty());
    let of = |columns: &[usize]| -> Option<Vec<String>> {
        columns.iter().map(|c| of_key(&values[*c])).collect()
    };
    let mut known = false;
    for columns in keys(table) {
        if let Some(key) = of(columns) {
            known = true;
            things.insert((table.to_owned(), columns, key));
        }
    }
    if !known {
        let all = values.iter().map(|v| format!("{v:?}")).collect();
        things.insert((table.to_owned(), &[], all));
    }
    // The row that it goes by, and by which it is changed.
    if table == "child"
        && let Some(parent) = of(&[1])
    {
        things.insert(("parent".to_owned(), &[0], parent));
    }
}

/// The transactions of a file.
fn transactions(file: &[u8]) -> Vec<Did> {
    let mut all = Vec::<Did>::new();
    let mut maps: HashMap<u64, TableMap> = HashMap::new();
    for (header, body) in unpacked(file) {
        match header.kind {
            kind::GTID => {
                let t = Transaction::read(&body, false).expect("a transaction");
                all.push(Did {
                    sequence: t.sequence_number,
                    last_committed: t.last_committed,
                    ..Did::default()
                });
            }
            kind::QUERY => {
                let query = Query::read(&body).expect("a statement");
                // What begins and ends the changes of a branch says nothing of what they are beside; the end of the branch is beside nothing.
                let of_rows = [&b"BEGIN"[..], b"XA START ", b"XA END "];
                let of_rows = of_rows.iter().any(|t| query.statement.starts_with(t));
                all.last_mut().expect("a transaction").alone |= !of_rows;
            }
            kind::TABLE_MAP => {
                let map = TableMap::read(&body).expect("a table");
                maps.insert(map.id, map);
            }
            of => {
                let Some((change, second)) = Change::by_kind(of) else {
                    continue;
                };
                let rows = Rows::read(change, second, &body).expect("rows");
                let map = &maps[&rows.table];
                let table = String::from_utf8_lossy(&map.table).into_owned();
                let did = all.last_mut().expect("a transaction");
                for (before, after) in rows.images(map).expect("images") {
                    for image in [before, after] {
                        if !image.is_empty() {
                            add(&mut did.things, &table, &image);
                        }
                    }
                }
            }
        }
    }
    all
}

#[test]
fn no_dependency_is_left_out() {
    let (mut pairs, mut beside, mut moved, mut parents) = (0, 0, 0, 0);
    for seed in 20..60 {
        let rich = seed % 4 != 0;
        let made = match seed % 3 {
            0 => History::random_compressed(seed, 200, rich),
            _ => History::random(seed, 200, rich),
        };
        let all = transactions(&made.file);
        let of_rows = all.iter().filter(|t| !t.alone).count();
        assert!(of_rows > 50, "seed {seed}: {of_rows} transactions");
        for (n, later) in all.iter().enumerate() {
            assert_eq!(later.sequence, n as i64 + 1);
            for earlier in &all[..n] {
                let mut common = later.things.intersection(&earlier.things).peekable();
                let together = later.alone || earlier.alone || common.peek().is_some();
                if together {
                    pairs += 1;
                    assert!(
                        later.last_committed >= earlier.sequence,
                        "seed {seed}: {} (behind {}) and {} have {:?} in common",
                        later.sequence,
                        later.last_committed,
                        earlier.sequence,
                        common.peek()
                    );
                } else if later.last_committed < earlier.sequence {
                    beside += 1;
                }
                // A value of a unique key that was another row's, or a row and its parent.
                moved += common.clone().filter(|t| t.0 == "u" && t.1 != [0]).count();
                parents += common.filter(|t| t.0 == "parent").count();
            }
        }
    }
    // All of it has come about.
    let figures = format!("{pairs} pairs, {beside} beside, {moved} moved, {parents} parents");
    assert!(
        pairs > 1000 && beside > 1000 && moved > 100 && parents > 10,
        "{figures}"
    );
    println!("{figures}");
}

#[test]
fn the_tables_are_those_whose_keys_are_known() {
    for table in [PLAIN, RICH].concat() {
        let name = table.split_whitespace().nth(2).expect("a name");
        let unique = table.matches("PRIMARY KEY").count() + table.matches("UNIQUE").count();
        assert_eq!(keys(name).len(), unique, "{table}");
    }
}

#[test]
fn what_is_read_in_parts_is_the_same() {
    let (whole, parts) = History::whole_and_in_parts();
    assert!(whole.len() > 2 << 20, "{}", whole.len());
    assert!(whole == parts);
}
