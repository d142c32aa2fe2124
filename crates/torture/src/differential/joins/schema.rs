//! Random tables: columns, indexes and rows.

use harness::rng::Rng;

/// The types of columns, as far as comparing them goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Type {
    /// Integers.
    Int,
    /// DECIMAL.
    Decimal,
    /// Text.
    Text,
    /// DATE.
    Date,
    /// DATETIME.
    Stamp,
}

/// All types, the frequent ones more than once.
pub const TYPES: &[Type] = &[
    Type::Int,
    Type::Int,
    Type::Int,
    Type::Text,
    Type::Text,
    Type::Decimal,
    Type::Date,
    Type::Stamp,
];

/// A column.
#[derive(Debug, Clone)]
pub struct Column {
    /// Its name; tables share names, so that NATURAL and USING find something.
    pub name: String,
    /// Its type.
    pub of: Type,
    /// As CREATE TABLE has it.
    pub definition: &'static str,
    /// Whether it may be NULL.
    pub null: bool,
    /// Whether a unique index has it: no statement changes it.
    pub fixed: bool,
}

/// An index.
#[derive(Debug, Clone)]
pub struct Index {
    /// `PRIMARY` or its name.
    pub name: String,
    /// As CREATE TABLE has it.
    pub definition: String,
}

/// A table. Its first column has a different number in every row.
#[derive(Debug, Clone)]
pub struct Table {
    /// Its number: `t1` is 1.
    pub number: usize,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its indexes.
    pub indexes: Vec<Index>,
    /// Its rows, as literals.
    pub rows: Vec<Vec<String>>,
}

/// Tables that a run of statements is about.
#[derive(Debug, Clone)]
pub struct Schema {
    /// The tables.
    pub tables: Vec<Table>,
    /// How many values there are of each type.
    pub values: u64,
    /// All columns of text ignore case, and have values that differ in nothing else. Where collations are mixed, those that ignore case
    /// have no such values: which of them a group shows would be open, and a column that tells them apart could notice.
    pub cases: bool,
}

/// Text that is the same in no two ways for any collation.
const TEXTS: &[&str] = &[
    "a", "b", "ab", "", "abc", "1", "2", "b1", "7", "c", "ba", "bab", "10", "zz", "x", "abcab",
];

/// Text that is.
const CASES: &[&str] = &[
    "a", "A", "b", "AB", "", "ab", "1", "e", "é", "7", "B", "É", "10", "zz", "x", "abC",
];

const IGNORES_CASE: &str = "VARCHAR(12) COLLATE utf8mb4_general_ci";

impl Schema {
    /// The schema of a stream.
    pub fn of(rng: &mut Rng) -> Schema {
        let values = *pick(rng, &[2, 4, 8, 8, 16, 40]);
        let mut schema = Schema {
            tables: Vec::new(),
            values,
            cases: rng.one_in(3),
        };
        for number in 1..=2 + rng.below(7) as usize {
            let table = schema.table(rng, number);
            schema.tables.push(table);
        }
        schema
    }

    /// The table of a number.
    pub fn numbered(&self, number: usize) -> Option<&Table> {
        self.tables.iter().find(|t| t.number == number)
    }

    fn table(&self, rng: &mut Rng, number: usize) -> Table {
        let mut columns = vec![Column {
            name: format!("k{number}"),
            of: Type::Int,
            definition: "INT",
            null: false,
            fixed: true,
        }];
        let has = |rng: &mut Rng, name: &str, of, definition| Column {
            name: name.to_owned(),
            of,
            definition,
            null: !rng.one_in(3),
            fixed: false,
        };
        let whole = ["INT", "INT", "BIGINT", "SMALLINT", "TINYINT"];
        for name in ["i1", "i2", "i3"] {
            if !rng.one_in(3) {
                let definition = *pick(rng, &whole);
                columns.push(has(rng, name, Type::Int, definition));
            }
        }
        for name in ["s1", "s2"] {
            if rng.one_in(2) {
                let exact = "VARCHAR(12) COLLATE utf8mb4_bin";
                let ignores = self.cases || rng.one_in(2);
                let definition = if ignores { IGNORES_CASE } else { exact };
                columns.push(has(rng, name, Type::Text, definition));
            }
        }
        for (name, of, definition) in [
            ("n1", Type::Decimal, "DECIMAL(8,2)"),
            ("d1", Type::Date, "DATE"),
            ("p1", Type::Stamp, "DATETIME"),
        ] {
            if rng.one_in(3) {
                columns.push(has(rng, name, of, definition));
            }
        }
        // Unique and possibly NULL.
        if rng.one_in(3) {
            let mut column = has(rng, "u1", Type::Int, "INT");
            column.fixed = true;
            columns.push(column);
        }
        let indexes = indexes(rng, &mut columns, number);
        let rows = self.rows(rng, &columns);
        Table {
            number,
            columns,
            indexes,
            rows,
        }
    }

    fn rows(&self, rng: &mut Rng, columns: &[Column]) -> Vec<Vec<String>> {
        let count = match rng.below(20) {
            0 => 0,
            1..=3 => 1 + rng.below(3),
            4..=12 => 4 + rng.below(17),
            13..=17 => 20 + rng.below(40),
            _ => 60 + rng.below(140),
        };
        let first = rng.below(3);
        let step = 1 + rng.below(3);
        // How the values of each column lie: NULL so often, skewed, fewer of them.
        let habits: Vec<(u64, bool, u64)> = columns
            .iter()
            .map(|_| {
                let nulls = *pick(rng, &[0, 0, 10, 10, 30, 90]);
                (nulls, rng.one_in(3), 1 + rng.below(self.values))
            })
            .collect();
        let mut rows: Vec<Vec<String>> = (0..count)
            .map(|row| {
                let cell = |rng: &mut Rng, at: usize, column: &Column| {
                    let (nulls, skewed, values) = habits[at];
                    if column.null && rng.below(100) < nulls {
                        return "NULL".to_owned();
                    }
                    if column.fixed && (at == 0 || column.name == "u1") {
                        return (first + row * step).to_string();
                    }
                    let value = if skewed && !rng.one_in(3) {
                        0
                    } else {
                        rng.below(values)
                    };
                    self.value(column.of, value, column.definition == IGNORES_CASE)
                };
                let cells = columns.iter().enumerate();
                cells.map(|(at, c)| cell(rng, at, c)).collect()
            })
            .collect();
        // Stored in another order than that of their numbers.
        for at in (1..rows.len()).rev() {
            rows.swap(at, rng.below(at as u64 + 1) as usize);
        }
        rows
    }

    /// The value of that number as a literal.
    pub fn value(&self, of: Type, number: u64, ignores_case: bool) -> String {
        match of {
            Type::Int => (number as i64 - self.values as i64 / 4).to_string(),
            Type::Decimal => {
                let quarters = number as i64 - self.values as i64 / 4;
                format!("{:.2}", quarters as f64 * 0.75)
            }
            Type::Text => {
                let texts = if self.cases { CASES } else { TEXTS };
                let text = texts[number as usize % texts.len()];
                match self.cases || ignores_case || number < self.values / 2 {
                    true => format!("'{text}'"),
                    false => format!("'{}'", text.to_uppercase()),
                }
            }
            Type::Date => format!("'2024-01-{:02}'", 1 + number % 28),
            Type::Stamp => format!(
                "'2024-01-{:02} {:02}:00:00'",
                1 + number % 28,
                if number.is_multiple_of(3) {
                    0
                } else {
                    number % 24
                }
            ),
        }
    }
}

/// The indexes; columns of the primary key are not NULL, and those of unique ones are not changed.
fn indexes(rng: &mut Rng, columns: &mut [Column], number: usize) -> Vec<Index> {
    let mut all = Vec::new();
    let key = format!("k{number}");
    let other = rng.below(columns.len() as u64) as usize;
    let second = columns[other].name.clone();
    let primary = match rng.below(8) {
        0 => String::new(),
        1 | 2 if other > 0 => format!("{second}, {key}"),
        3 if other > 0 => format!("{key}, {second}"),
        4 => format!("{key} DESC"),
        _ => key.clone(),
    };
    if primary.contains(", ") {
        columns[other].null = false;
        columns[other].fixed = true;
    }
    if !primary.is_empty() {
        all.push(Index {
            name: "PRIMARY".to_owned(),
            definition: format!("PRIMARY KEY ({primary})"),
        });
    }
    if columns.iter().any(|c| c.name == "u1") {
        all.push(Index {
            name: "u".to_owned(),
            definition: "UNIQUE KEY u (u1)".to_owned(),
        });
    }
    if primary != key && rng.one_in(2) {
        all.push(Index {
            name: "uk".to_owned(),
            definition: format!("UNIQUE KEY uk ({key})"),
        });
    }
    for name in ["x1", "x2", "x3"] {
        if rng.one_in(3) {
            continue;
        }
        let mut parts: Vec<String> = Vec::new();
        for _ in 0..1 + rng.below(3) {
            let column = pick(rng, columns);
            if parts.iter().any(|p| p.starts_with(&column.name)) {
                continue;
            }
            let prefix = if column.of == Type::Text && rng.one_in(3) {
                "(2)"
            } else {
                ""
            };
            let way = if rng.one_in(5) { " DESC" } else { "" };
            parts.push(format!("{}{prefix}{way}", column.name));
        }
        all.push(Index {
            name: name.to_owned(),
            definition: format!("KEY {name} ({})", parts.join(", ")),
        });
    }
    all
}

impl Table {
    /// CREATE TABLE; without its indexes too.
    pub fn create(&self, indexes: bool) -> String {
        let mut lines: Vec<String> = self
            .columns
            .iter()
            .map(|c| {
                let null = if c.null { "" } else { " NOT NULL" };
                format!("{} {}{null}", c.name, c.definition)
            })
            .collect();
        if indexes {
            lines.extend(self.indexes.iter().map(|i| i.definition.clone()));
        }
        format!(
            "CREATE TABLE t{} ({}) DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_general_ci",
            self.number,
            lines.join(", ")
        )
    }

    /// INSERT of its rows; `None` without any.
    pub fn insert(&self) -> Option<String> {
        let rows: Vec<String> = self
            .rows
            .iter()
            .map(|row| format!("({})", row.join(", ")))
            .collect();
        (!rows.is_empty())
            .then(|| format!("INSERT INTO t{} VALUES {}", self.number, rows.join(", ")))
    }
}

/// One of them.
pub fn pick<'t, T>(rng: &mut Rng, all: &'t [T]) -> &'t T {
    &all[rng.below(all.len() as u64) as usize]
}
