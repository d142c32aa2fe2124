//! A table as its events have it: its columns but for those that no statement can name, and what finds its rows. Made once for each definition.

use super::keys::TableKeys;
use crate::json::{self, NotStored};
use engine::{IndexKind, Session, Table};
use sql::context::change_log::{Row, RowImage};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use types::datatype::DataType;
use types::{CollationId, ValueRef};
use wire::binlog::column::{ColumnType, code};
use wire::binlog::table_map::{Column, Metadata, TableMap};

/// Documents of a row, by the places of their columns; `None`: no document stands there.
pub(super) type Documents = Vec<Option<Vec<u8>>>;

/// See the module.
pub(super) struct Mapped {
    /// As it is written.
    pub map: TableMap,
    /// Where in a row each of its columns stands.
    columns: Vec<usize>,
    /// Of those columns, which find a row; none: all together.
    finding: Vec<usize>,
    /// Of those columns, the long ones.
    long: Vec<bool>,
    /// Whether one of them has documents.
    has_json: bool,
    /// All of them, as those that an image has.
    pub all: Vec<bool>,
    /// Its keys and its parents'.
    pub keys: TableKeys,
    /// Whether foreign keys lead to it, in the lowest bit, and above it the version of the catalog that says so.
    parent: AtomicU64,
    minimal: OnceLock<Vec<u8>>,
    full: OnceLock<Vec<u8>>,
}

impl Mapped {
    /// That of a table; `None` where values of a column cannot be written.
    pub fn of(table: &Table) -> Option<&Mapped> {
        table.beside(|| Mapped::new(table))?.as_ref()
    }

    fn new(table: &Table) -> Option<Mapped> {
        let def = &table.def;
        let there = def.columns.iter().enumerate();
        let there = there.filter(|(_, c)| !c.is_hidden());
        let (mut columns, mut written, mut long) = (Vec::new(), Vec::new(), Vec::new());
        for (at, c) in there {
            columns.push(at);
            long.push(matches!(
                c.ty,
                DataType::Text { .. } | DataType::Blob(_) | DataType::Json
            ));
            written.push(column(c)?);
        }
        let place = |c: usize| columns.iter().position(|at| *at == c);
        let unique =
            |i: &engine::IndexDef| matches!(i.kind, IndexKind::Primary | IndexKind::Unique);
        let parts = |i: &engine::IndexDef| {
            let parts = i.parts.iter();
            parts.map(|p| (usize::from(p.column), p.prefix)).collect()
        };
        let keys: Vec<Vec<(usize, u32)>> = def
            .indexes
            .iter()
            .filter(|i| unique(i))
            .map(parts)
            .collect();
        let primary = def.indexes.iter().find(|i| i.kind == IndexKind::Primary);
        // As MySQL's appliers look for rows: by the primary key, or a unique key without NULLs, whole columns of it.
        let finds = |i: &&engine::IndexDef| {
            unique(i)
                && i.parts.iter().all(|p| {
                    let c = usize::from(p.column);
                    p.prefix == 0 && !def.columns[c].nullable && place(c).is_some()
                })
        };
        let finding = primary.or_else(|| def.indexes.iter().find(finds));
        let finding = finding.map_or_else(Vec::new, |i| {
            let parts = i.parts.iter();
            parts.filter_map(|p| place(usize::from(p.column))).collect()
        });
        let primary_key = primary.map_or_else(Vec::new, |i| {
            let parts = i
                .parts
                .iter()
                .filter_map(|p| Some((place(usize::from(p.column))? as u32, p.prefix)));
            parts.collect()
        });
        Some(Mapped {
            map: TableMap {
                id: u64::from(def.id),
                database: def.schema.clone().into_bytes(),
                table: def.name.clone().into_bytes(),
                columns: written,
                primary_key,
            },
            has_json: def.columns.iter().any(|c| c.ty == DataType::Json),
            all: vec![true; columns.len()],
            keys: TableKeys::new(def, &keys),
            columns,
            finding,
            long,
            parent: AtomicU64::new(u64::MAX),
            minimal: OnceLock::new(),
            full: OnceLock::new(),
        })
    }

    /// Whether rows of other tables go by its rows, and may have changed with them.
    pub fn is_parent(&self, s: &mut Session, table: &Table) -> bool {
        let catalog = s.catalog();
        let known = self.parent.load(Ordering::Relaxed);
        if known >> 1 == catalog.version {
            return known & 1 != 0;
        }
        let children = catalog.children_of(&table.def.schema, &table.def.name);
        let is = !children.is_empty();
        let now = catalog.version << 1 | u64::from(is);
        self.parent.store(now, Ordering::Relaxed);
        is
    }

    /// The body of its event.
    pub fn event(&self, full: bool) -> &[u8] {
        let (place, metadata) = match full {
            true => (&self.full, Metadata::Full),
            false => (&self.minimal, Metadata::Minimal),
        };
        place.get_or_init(|| {
            let mut body = Vec::new();
            self.map.write(metadata, &mut body);
            body
        })
    }

    /// The value of its `n`th column in a row.
    #[inline]
    pub fn value<'r>(&self, row: Row<'r>, n: usize) -> ValueRef<'r> {
        row.value(self.columns[n])
    }

    /// The documents among the columns of a row that are `present`, in the form that MySQL keeps them in; empty where no column has any.
    ///
    /// # Errors
    /// One is none, or is larger than that form can be.
    pub fn documents(&self, row: Row<'_>, present: &[bool]) -> Result<Documents, NotStored> {
        if !self.has_json {
            return Ok(Vec::new());
        }
        let mut documents = vec![None; self.columns.len()];
        for (n, document) in documents.iter_mut().enumerate() {
            if present.get(n) != Some(&true) || !self.is_json(n) {
                continue;
            }
            if let ValueRef::Str(text, _) | ValueRef::Bytes(text) = self.value(row, n) {
                let mut bytes = Vec::with_capacity(text.len());
                json::binary(text, &mut bytes)?;
                *document = Some(bytes);
            }
        }
        Ok(documents)
    }

    fn is_json(&self, n: usize) -> bool {
        self.map.columns[n].ty.code == code::JSON
    }

    /// Which columns stand in the first image of a changed row, and in the second.
    pub fn present(
        &self,
        image: RowImage,
        before: Option<Row<'_>>,
        after: Option<Row<'_>>,
    ) -> (Vec<bool>, Vec<bool>) {
        let n = self.columns.len();
        let finds = |c: usize| self.finding.is_empty() || self.finding.contains(&c);
        let changed = |c: usize| match (before, after) {
            (Some(before), Some(after)) => self.differs(before, after, c),
            _ => true,
        };
        let first = |c: usize| match (before, image) {
            // An insert says all, as it is not known here what was named.
            (None, _) => true,
            (_, RowImage::Full) => true,
            (_, RowImage::NoBlob) => !self.long[c] || finds(c),
            (_, RowImage::Minimal) => finds(c),
        };
        let second = |c: usize| match image {
            RowImage::Full => true,
            RowImage::NoBlob => !self.long[c] || changed(c),
            RowImage::Minimal => {
                let left_out = c + 1 == n && base::mutant!("image-without-a-changed-column");
                changed(c) && !left_out
            }
        };
        let both = before.is_some() && after.is_some();
        (
            (0..n).map(first).collect(),
            match both {
                true => (0..n).map(second).collect(),
                false => Vec::new(),
            },
        )
    }

    /// Whether a column has other bytes in the one row than in the other.
    fn differs(&self, before: Row<'_>, after: Row<'_>, n: usize) -> bool {
        let bytes = |row: Row<'_>| {
            let mut out = Vec::new();
            match self.value(row, n) {
                ValueRef::Null => None,
                ValueRef::Str(text, _) if self.is_json(n) => Some(text.to_vec()),
                v => {
                    let put = self.map.columns[n].ty.put(v, &mut out);
                    put.ok().map(|()| out)
                }
            }
        };
        bytes(before) != bytes(after)
    }
}

/// A column as the table's event has it.
fn column(c: &engine::ColumnDef) -> Option<Column> {
    let ty = ColumnType::of(&c.ty)?;
    let members = match &c.ty {
        DataType::Enum(l) | DataType::Set(l) => l.names.iter().map(|n| n.to_vec()).collect(),
        _ => Vec::new(),
    };
    let text = ty.is_character() || ty.is_enum() || ty.is_set();
    let collation = match c.ty {
        DataType::Binary(_) | DataType::VarBinary(_) | DataType::Blob(_) => CollationId::BINARY,
        _ => c.ty.collation(),
    };
    Some(Column {
        ty,
        nullable: c.nullable,
        unsigned: ty.is_numeric() && c.ty.is_unsigned(),
        collation: text.then_some(collation.0),
        name: c.name.clone().into_bytes(),
        members,
        visible: !c.invisible,
    })
}
