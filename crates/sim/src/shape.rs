//! The tables of the workload and the rows in them. A row's bytes follow from a few numbers, so the model keeps the
//! numbers and every byte that is read can be checked against them.

use base::PageNo;
use base::SplitMix64;
use engine::{ColumnDef, IndexDef, IndexKind, IndexPart, RowRef, Table, TableDef, TableOptions};
use std::sync::Arc;
use types::keyenc::encode_key;
use types::{CollationId, DataType, LobSize, Value, ValueRef};

/// A point in the order of commits.
pub type Seq = u64;
/// A table from its creation (or TRUNCATE) to its end.
pub type Life = u32;
/// One write: the table, the row, what it became.
pub type Write = (Life, i64, Option<Arc<Row>>);

/// The schema all tables are in.
pub const SCHEMA: &str = "s";

/// The table whose ids the k of [`CHILD`]'s rows name; below zero it names none.
pub const PARENT: &str = "parent";
/// The table whose rows have parents.
pub const CHILD: &str = "child";

/// Whether it is one of those two, which only statements change that keep their foreign key.
pub fn is_relative(name: &str) -> bool {
    name == PARENT || name == CHILD
}

/// What the primary key is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// A number.
    Number,
    /// A number given by AUTO_INCREMENT.
    Auto,
    /// A long byte string with a long common prefix: few keys to a page, so trees are deep with few rows.
    Long,
}

/// One row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Names the row.
    pub id: i64,
    /// Has a plain index, if the table has one.
    pub k: i64,
    /// Has a unique index, if the table has one; NULL is never a duplicate.
    pub u: Option<i64>,
    /// Names the write that made it; everything below follows from it but for the lengths.
    pub tag: i64,
    /// Length of the text.
    pub pad: u32,
    /// Length of the long column.
    pub long: Option<u32>,
}

/// Columns, in order: id, k, u, tag, pad, long, name; then those that have been added.
const COLUMNS: usize = 7;

/// What every row has in an added column, which follows from its place.
fn added_value(column: usize) -> i64 {
    1000 + column as i64
}

/// A change of a table's columns. What a row has in those of [`Row`] stays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Columns {
    /// One more, which older rows do not have.
    AddAtOnce,
    /// One more, in all rows.
    Add,
    /// One of those added is taken out.
    Drop,
    /// An indexed number becomes wider or narrower again.
    Number,
    /// The text may be longer, or no longer so.
    Text,
}

/// All of them.
pub const CHANGES: [Columns; 5] = [
    Columns::AddAtOnce,
    Columns::Add,
    Columns::Drop,
    Columns::Number,
    Columns::Text,
];

impl Columns {
    /// Changes a definition accordingly. `None`: the table has too few columns, or too many; else whether the rows can stay as they are.
    pub fn apply(self, def: &mut TableDef) -> Option<bool> {
        let n = def.columns.len();
        let text = |len| DataType::varchar(len, CollationId::DEFAULT);
        let shorter = def.columns[4].ty == text(3000);
        match self {
            Columns::AddAtOnce | Columns::Add if n < COLUMNS + 3 => {
                let mut c = column(&format!("added {n}"), DataType::BIGINT, false);
                if self == Columns::AddAtOnce {
                    c.fill = Some(Value::Int(added_value(n)));
                }
                def.columns.push(c);
            }
            Columns::Drop if n > COLUMNS => {
                def.columns.pop();
            }
            Columns::AddAtOnce | Columns::Add | Columns::Drop => return None,
            Columns::Number if def.columns[1].ty == DataType::INT => {
                def.columns[1].ty = DataType::BIGINT;
            }
            Columns::Number => def.columns[1].ty = DataType::INT,
            Columns::Text => def.columns[4].ty = text(if shorter { 3100 } else { 3000 }),
        }
        let stay = self == Columns::AddAtOnce || (self == Columns::Text && shorter);
        if !stay {
            // All rows will have all columns.
            def.columns.iter_mut().for_each(|c| c.fill = None);
        }
        Some(stay)
    }
}

/// A row's values in a table of so many columns.
pub fn reshape(row: &RowRef<'_>, columns: usize) -> Vec<Value> {
    let mut values = row.to_values();
    values.truncate(columns);
    let added = values.len()..columns;
    values.extend(added.map(|c| Value::Int(added_value(c))));
    values
}

/// A secondary index that a table may have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Extra {
    /// On k.
    K,
    /// Unique, on u.
    U,
    /// On k and u.
    Ku,
}

/// All of them.
pub const EXTRAS: [Extra; 3] = [Extra::K, Extra::U, Extra::Ku];

impl Extra {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Extra::K => "k",
            Extra::U => "u",
            Extra::Ku => "ku",
        }
    }

    /// Its definition.
    pub fn def(self) -> IndexDef {
        let (kind, columns): (_, &[u16]) = match self {
            Extra::K => (IndexKind::Plain, &[1]),
            Extra::U => (IndexKind::Unique, &[2]),
            Extra::Ku => (IndexKind::Plain, &[1, 2]),
        };
        index(self.name(), kind, columns)
    }
}

fn index(name: &str, kind: IndexKind, columns: &[u16]) -> IndexDef {
    let part = |c: &u16| IndexPart {
        column: *c,
        prefix: 0,
        descending: false,
    };
    IndexDef {
        id: 0,
        name: name.into(),
        kind,
        parts: columns.iter().map(part).collect(),
        comment: String::new(),
        root: PageNo(0),
        invisible: false,
        asked: Default::default(),
    }
}

fn column(name: &str, ty: DataType, nullable: bool) -> ColumnDef {
    ColumnDef {
        nullable,
        ..ColumnDef::new(name, ty)
    }
}

impl Shape {
    /// A table of this shape.
    pub fn table(self, name: &str, extras: &[Extra]) -> TableDef {
        let mut columns = vec![
            column("id", DataType::BIGINT, false),
            column("k", DataType::INT, false),
            column("u", DataType::BIGINT, true),
            column("tag", DataType::BIGINT, false),
            column("pad", DataType::varchar(3000, CollationId::DEFAULT), false),
            column("long", DataType::Blob(LobSize::Long), true),
            column("name", DataType::VarBinary(800), false),
        ];
        debug_assert_eq!(columns.len(), COLUMNS);
        columns[0].auto_increment = self == Shape::Auto;
        let key = if self == Shape::Long { 6 } else { 0 };
        let mut indexes = vec![index("PRIMARY", IndexKind::Primary, &[key])];
        indexes.extend(extras.iter().map(|e| e.def()));
        TableDef {
            id: 0,
            schema: SCHEMA.into(),
            name: name.into(),
            columns,
            indexes,
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            options: TableOptions {
                collation: CollationId::DEFAULT,
                comment: String::new(),
                row_format: String::new(),
                auto_increment: 0,
                others: vec![],
                created_us: 1,
                discarded: false,
            },
        }
    }

    /// The shape of a table that exists.
    pub fn of(def: &TableDef) -> Shape {
        if def.columns[0].auto_increment {
            Shape::Auto
        } else if def.indexes[0].parts.first().map(|p| p.column) == Some(6) {
            Shape::Long
        } else {
            Shape::Number
        }
    }

    /// The clustered key of the row with this id.
    pub fn key(self, t: &Table, id: i64) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Shape::Long => {
                let n = long_name(id);
                encode_key(t.key_parts(0), [ValueRef::Bytes(&n)], &mut out)
            }
            _ => encode_key(t.key_parts(0), [ValueRef::Int(id)], &mut out),
        }
        out
    }
}

/// The key of an index on k, up to and with this value.
pub fn k_key(t: &Table, index: usize, k: i64) -> Vec<u8> {
    let mut out = Vec::new();
    encode_key(&t.key_parts(index)[..1], [ValueRef::Int(k)], &mut out);
    out
}

/// In the order of ids; between 60 and 700 bytes.
fn long_name(id: i64) -> Vec<u8> {
    let mut n = vec![b'p'; 40];
    n.extend_from_slice(format!("{id:012}").as_bytes());
    let more = 8 + (id as usize).wrapping_mul(7919) % 640;
    n.resize(n.len() + more, b'q');
    n
}

fn pattern(tag: i64, len: usize, salt: u64) -> Vec<u8> {
    let mut rng = SplitMix64::stream(tag as u64, salt);
    let mut out = Vec::with_capacity(len + 8);
    while out.len() < len {
        let word = rng.next();
        for i in 0..8 {
            out.push(b'a' + ((word >> (i * 8)) & 15) as u8);
        }
    }
    out.truncate(len);
    out
}

impl Row {
    /// The values of its columns, in a table of so many.
    pub fn values(&self, columns: usize) -> Vec<Value> {
        let mut values = vec![
            Value::Int(self.id),
            Value::Int(self.k),
            self.u.map_or(Value::Null, Value::Int),
            Value::Int(self.tag),
            Value::Str(
                pattern(self.tag, self.pad as usize, 1),
                CollationId::DEFAULT,
            ),
            match self.long {
                Some(n) => Value::Bytes(pattern(self.tag, n as usize, 2)),
                None => Value::Null,
            },
            Value::Bytes(long_name(self.id)),
        ];
        values.extend((COLUMNS..columns).map(|c| Value::Int(added_value(c))));
        values
    }

    /// What is in a row that was read; says what cannot be if its parts do not belong together.
    pub fn read(r: &RowRef<'_>) -> Result<Row, String> {
        if r.columns() < COLUMNS {
            return Err(format!("a row of {} columns", r.columns()));
        }
        let int = |c: usize| match r.column(c) {
            ValueRef::Int(v) => Ok(v),
            v => Err(format!("column {c} is {v:?}")),
        };
        let bytes = |c: usize| match r.column(c) {
            ValueRef::Bytes(b) | ValueRef::Str(b, _) => Ok(b),
            v => Err(format!("column {c} is {v:?}")),
        };
        let tag = int(3)?;
        let pad = bytes(4)?;
        let row = Row {
            id: int(0)?,
            k: int(1)?,
            u: match r.column(2) {
                ValueRef::Null => None,
                ValueRef::Int(v) => Some(v),
                v => return Err(format!("column 2 is {v:?}")),
            },
            tag,
            pad: pad.len() as u32,
            long: match r.is_null(5) {
                true => None,
                false => Some(bytes(5)?.len() as u32),
            },
        };
        if pad != pattern(tag, pad.len(), 1) {
            return Err(format!("{row:?}: the text is not that of its write"));
        }
        if let Some(n) = row.long
            && bytes(5)? != pattern(tag, n as usize, 2)
        {
            return Err(format!("{row:?}: the long column is not that of its write"));
        }
        if bytes(6)? != long_name(row.id) {
            return Err(format!("{row:?}: the name is not that of its id"));
        }
        if let Some(c) = (COLUMNS..r.columns()).find(|c| int(*c) != Ok(added_value(*c))) {
            let is = r.column(c);
            return Err(format!("{row:?}: the added column {c} is {is:?}"));
        }
        Ok(row)
    }
}
