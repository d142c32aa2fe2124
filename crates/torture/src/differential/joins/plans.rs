//! Other plans of the same statement: hints, other indexes, little memory, prepared.

use super::schema::{Schema, pick};
use super::tree::{Part, Writing, tables, written};
use harness::rng::Rng;

/// A way to have a statement executed otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Way {
    /// How it is written.
    pub writing: Writing,
    /// On tables without an index.
    pub bare: bool,
    /// Prepared, and executed for the second time.
    pub prepared: bool,
    /// Variables of the session for it.
    pub set: Vec<&'static str>,
}

/// Memory that is full after some rows: `SET` of these, and back to what they were.
const LITTLE: &[&str] = &[
    "tmp_table_size = 1024",
    "max_heap_table_size = 16384",
    "sort_buffer_size = 32768",
    "join_buffer_size = 128",
];

/// MySQL's hints, `{}` is an alias of the statement.
const HINTS: &[&str] = &[
    "NO_HASH_JOIN({})",
    "HASH_JOIN({})",
    "BNL({})",
    "NO_BNL({})",
    "JOIN_PREFIX({})",
    "JOIN_SUFFIX({})",
    "JOIN_ORDER({}, {})",
    "JOIN_FIXED_ORDER()",
    "NO_MERGE({})",
    "MERGE({})",
    "NO_SEMIJOIN()",
    "SEMIJOIN(MATERIALIZATION)",
    "SEMIJOIN(FIRSTMATCH)",
    "SEMIJOIN(LOOSESCAN)",
    "SEMIJOIN(DUPSWEEDOUT)",
    "SUBQUERY(MATERIALIZATION)",
    "SUBQUERY(INTOEXISTS)",
    "NO_RANGE_OPTIMIZATION({})",
    "NO_INDEX_MERGE({})",
    "INDEX_MERGE({})",
    "NO_ICP({})",
    "MRR({})",
    "NO_MRR({})",
    "BKA({})",
    "NO_SKIP_SCAN({})",
    "SKIP_SCAN({})",
    "NO_INDEX({})",
    "DERIVED_CONDITION_PUSHDOWN({})",
    "NO_DERIVED_CONDITION_PUSHDOWN({})",
    "SET_VAR(tmp_table_size = 1024)",
    "SET_VAR(sort_buffer_size = 32768)",
    "SET_VAR(join_buffer_size = 128)",
    "SET_VAR(optimizer_switch = 'derived_merge=off')",
    "SET_VAR(optimizer_switch = 'derived_merge=off,derived_condition_pushdown=off')",
    "SET_VAR(optimizer_switch = 'semijoin=off')",
    "SET_VAR(optimizer_switch = 'materialization=off')",
    "SET_VAR(optimizer_switch = 'firstmatch=off,loosescan=off,materialization=off')",
    "SET_VAR(optimizer_switch = 'duplicateweedout=off')",
    "SET_VAR(optimizer_switch = 'block_nested_loop=off')",
    "SET_VAR(optimizer_switch = 'hash_join=off')",
    "SET_VAR(optimizer_switch = 'index_merge=off')",
    "JOIN_PREFIX({}, {}) NO_BNL({})",
    "JOIN_ORDER({}, {}, {})",
];

/// Other ways to execute the statement.
pub fn ways(rng: &mut Rng, part: &Part, schema: &Schema, select: bool) -> Vec<Way> {
    let named = tables(part);
    let sql = written(part, &Writing::default());
    let mut ways = vec![Way {
        bare: true,
        ..Way::default()
    }];
    let mut kinds: Vec<u64> = vec![0, 1, 2, 3, 4, 5];
    for _ in 0..2 {
        let kind = kinds.swap_remove(rng.below(kinds.len() as u64) as usize);
        let way = match kind {
            0 => straight(rng, select),
            1 => indexes(rng, &named, schema),
            2 => hinted(rng, &named, &derived(&sql)),
            3 => Way {
                set: LITTLE.to_vec(),
                writing: Writing {
                    option: pick::<&str>(rng, &["", " SQL_BIG_RESULT", " SQL_SMALL_RESULT"]),
                    ..Writing::default()
                },
                ..Way::default()
            },
            4 => Way {
                prepared: true,
                ..Way::default()
            },
            _ => members(),
        };
        let other = way != Way::default() && !ways.contains(&way);
        if other && (way != members() || written(part, &way.writing) != sql) {
            ways.push(way);
        }
    }
    ways
}

/// Comparisons of rows as those of their members.
pub fn members() -> Way {
    Way {
        writing: Writing {
            members: true,
            ..Writing::default()
        },
        ..Way::default()
    }
}

fn straight(rng: &mut Rng, select: bool) -> Way {
    let both = rng.below(3);
    Way {
        writing: Writing {
            straight: select && both != 1,
            straight_joins: both != 0,
            ..Writing::default()
        },
        bare: rng.one_in(4),
        ..Way::default()
    }
}

fn indexes(rng: &mut Rng, named: &[(usize, String)], schema: &Schema) -> Way {
    let mut way = Way::default();
    for (number, alias) in named {
        let Some(table) = schema.numbered(*number) else {
            continue;
        };
        if table.indexes.is_empty() || rng.one_in(3) {
            continue;
        }
        let index = &pick(rng, &table.indexes).name;
        let scope = *pick(
            rng,
            &["", "", "", " FOR JOIN", " FOR ORDER BY", " FOR GROUP BY"],
        );
        let hint = match rng.below(6) {
            0 => " USE INDEX ()".to_owned(),
            1 => format!(" USE INDEX{scope} ({index})"),
            2 | 3 => format!(" FORCE INDEX{scope} ({index})"),
            _ => {
                let all: Vec<&str> = table.indexes.iter().map(|i| i.name.as_str()).collect();
                let names = if rng.one_in(2) {
                    all.join(", ")
                } else {
                    index.clone()
                };
                format!(" IGNORE INDEX{scope} ({names})")
            }
        };
        way.writing.index.insert(alias.clone(), hint);
    }
    way
}

/// The aliases of derived tables and common table expressions in a statement.
fn derived(sql: &str) -> Vec<&str> {
    let words = sql.split(" AS ").skip(1);
    let name = |s: &'_ str| s.find(|c: char| !c.is_alphanumeric()).unwrap_or(s.len());
    let names = words.map(|s| &s[..name(s)]);
    names
        .filter(|n| n.starts_with(['d', 'q']) && n[1..].bytes().all(|b| b.is_ascii_digit()))
        .collect()
}

fn hinted(rng: &mut Rng, named: &[(usize, String)], derived: &[&str]) -> Way {
    let mut hints = Vec::new();
    if !derived.is_empty() && rng.one_in(2) {
        // Made for one key at a time wherever that can be, or as a whole.
        let no = if rng.one_in(4) { "NO_" } else { "" };
        let all = derived.join(", ");
        hints.push(format!("{no}DERIVED_CONDITION_PUSHDOWN({all})"));
    }
    for _ in 0..1 + rng.below(3) {
        let mut hint = (*pick(rng, HINTS)).to_owned();
        while hint.contains("{}") {
            let alias = match named.is_empty() {
                true => "t1",
                false => &pick(rng, named).1,
            };
            hint = hint.replacen("{}", alias, 1);
        }
        hints.push(hint);
    }
    Way {
        writing: Writing {
            hint: hints.join(" "),
            ..Writing::default()
        },
        ..Way::default()
    }
}

impl Way {
    /// Ways that ask for less, to find out what matters.
    pub fn simpler(&self) -> Vec<Way> {
        let mut all = Vec::new();
        let mut with = |change: &dyn Fn(&mut Way)| {
            let mut way = self.clone();
            change(&mut way);
            if way != *self && way != Way::default() {
                all.push(way);
            }
        };
        with(&|w| {
            *w = Way {
                bare: true,
                ..Way::default()
            }
        });
        with(&|w| w.bare = false);
        with(&|w| w.prepared = false);
        with(&|w| w.set.clear());
        with(&|w| w.writing.hint.clear());
        with(&|w| w.writing.option = "");
        with(&|w| w.writing.straight = false);
        with(&|w| w.writing.straight_joins = false);
        for alias in self.writing.index.keys() {
            with(&|w| drop(w.writing.index.remove(alias)));
        }
        all
    }

    /// What it does beside the statement's text, for somebody who reads it.
    pub fn told(&self) -> String {
        let mut all: Vec<String> = Vec::new();
        if self.bare {
            all.push("tables without indexes".to_owned());
        }
        if self.prepared {
            all.push("prepared, executed twice".to_owned());
        }
        all.extend(self.set.iter().map(|s| format!("SET {s}")));
        match all.is_empty() {
            true => "as written".to_owned(),
            false => all.join("; "),
        }
    }
}
