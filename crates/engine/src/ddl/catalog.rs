//! The table of definitions: `kind`, `name`, `definition`. Kind 1 is a schema by name, kind 2 a table by its id, kind 3 a
//! tree that no definition names ([`OrphanedTree`]), by its table's id and its index's, kind 4 what is known of a table's rows, by its id, kind 5 a
//! stored object ([`ObjectDef`]) by its own kind, its schema and its name.

use crate::record::{HEADER, RowVersion};
use crate::schema::{
    CATALOG_ID, Catalog, ColumnDef, IndexDef, IndexKind, IndexPart, ObjectDef, SchemaDef, Table,
    TableDef, TableOptions,
};
use base::PageNo;
use btree::{Direction, ScanPos, ScanState, Visit};
use pager::{OpError, Pager};
use std::collections::HashMap;
use types::{CollationId, DataType, IntWidth, LobSize, Value, ValueRef};

const INDEX_ID: u32 = 1;
const SCHEMA: u64 = 1;
const TABLE: u64 = 2;
const TREE: u64 = 3;
const STATS: u64 = 4;
const OBJECT: u64 = 5;

/// The definition of the table of definitions.
pub(crate) fn catalog_def(root: PageNo) -> TableDef {
    let part = |column| IndexPart {
        column,
        prefix: 0,
        descending: false,
    };
    TableDef {
        id: CATALOG_ID,
        schema: "tidemill".to_string(),
        name: "catalog".to_string(),
        columns: vec![
            ColumnDef::new("kind", DataType::int(IntWidth::Tiny, true)),
            ColumnDef::new("name", DataType::VarBinary(1024)),
            ColumnDef::new("definition", DataType::Blob(LobSize::Long)),
        ],
        indexes: vec![IndexDef {
            id: INDEX_ID,
            name: "PRIMARY".to_string(),
            kind: IndexKind::Primary,
            parts: vec![part(0), part(1)],
            comment: String::new(),
            root,
            invisible: false,
            asked: Default::default(),
        }],
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        options: TableOptions {
            collation: CollationId::BINARY,
            comment: String::new(),
            row_format: String::new(),
            auto_increment: 0,
            others: Vec::new(),
            created_us: 0,
            discarded: false,
        },
    }
}

/// The row of a schema.
pub(super) fn schema_row(s: &SchemaDef) -> Vec<Value> {
    vec![
        Value::UInt(SCHEMA),
        Value::Bytes(s.name.as_bytes().to_vec()),
        Value::Bytes(s.encode()),
    ]
}

/// The row of a table.
pub(super) fn table_row(t: &TableDef) -> Vec<Value> {
    vec![
        Value::UInt(TABLE),
        Value::Bytes(t.id.to_be_bytes().to_vec()),
        Value::Bytes(t.encode()),
    ]
}

/// An orphaned tree: one that no definition names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OrphanedTree {
    pub(crate) table: u32,
    pub(crate) index: u32,
    /// Page 0: not known, the tree had no page when this was written down.
    pub(crate) root: PageNo,
}

/// The row of a tree without a definition.
pub(super) fn tree_row(l: &OrphanedTree) -> Vec<Value> {
    vec![
        Value::UInt(TREE),
        Value::Bytes([l.table.to_be_bytes(), l.index.to_be_bytes()].concat()),
        Value::Bytes(l.root.0.to_le_bytes().to_vec()),
    ]
}

/// The row of a table's figures.
pub(super) fn stats_row(table: u32, stats: Vec<u8>) -> Vec<Value> {
    vec![
        Value::UInt(STATS),
        Value::Bytes(table.to_be_bytes().to_vec()),
        Value::Bytes(stats),
    ]
}

/// The row of a stored object.
pub(super) fn object_row(o: &ObjectDef) -> Vec<Value> {
    vec![
        Value::UInt(OBJECT),
        Value::Bytes(o.key()),
        Value::Bytes(o.encode()),
    ]
}

/// Whether a row of the catalog is a definition, and not a note about a tree that has none.
pub(super) fn is_definition(row: &[Value]) -> bool {
    !matches!(row.first(), Some(Value::UInt(TREE)))
}

/// The id of the table whose definition a row is.
pub(super) fn defined_table(row: &[Value]) -> Option<u32> {
    match row {
        [Value::UInt(TABLE), Value::Bytes(id), ..] => {
            Some(u32::from_be_bytes(id.as_slice().try_into().ok()?))
        }
        _ => None,
    }
}

fn read_tree(name: &[u8], root: &[u8]) -> Option<OrphanedTree> {
    let (table, index) = name.split_first_chunk()?;
    Some(OrphanedTree {
        table: u32::from_be_bytes(*table),
        index: u32::from_be_bytes(index.try_into().ok()?),
        root: PageNo(u32::from_le_bytes(root.try_into().ok()?)),
    })
}

/// The key of a row made by one of these.
pub(super) fn row_key(catalog: &Table, row: &[Value]) -> Vec<u8> {
    let mut k = Vec::new();
    types::keyenc::encode_key(
        catalog.key_parts(0),
        row[..2].iter().map(Value::as_ref),
        &mut k,
    );
    k
}

/// What the catalog holds.
pub(crate) struct Loaded {
    pub(crate) schemas: Vec<SchemaDef>,
    pub(crate) tables: Vec<TableDef>,
    pub(crate) orphaned_trees: Vec<OrphanedTree>,
    pub(crate) objects: Vec<ObjectDef>,
    /// What was known of tables' rows, by their ids.
    pub(crate) stats: HashMap<u32, Vec<u8>>,
}

/// Reads all definitions. Nobody may be changing them, and losers that did must have been rolled back.
pub(crate) async fn load(pager: &Pager, t: &Table) -> Result<Loaded, OpError> {
    let mut rows: Vec<(bool, Vec<u8>)> = Vec::new();
    let mut pos = ScanPos::start();
    let corrupt = |why| OpError::Corrupt {
        space: t.space.id(),
        page: t.def.indexes[0].root,
        why,
    };
    loop {
        let mut found: Vec<(bool, Vec<u8>)> = Vec::new();
        let state = pager
            .run(|| {
                found.clear();
                let mut p = pos.clone();
                let s = t.indexes[0]
                    .tree
                    .scan(&mut p, Direction::Forward, |_, value| {
                        if let Some(v) = RowVersion::read(value)
                            && !v.deleted()
                        {
                            found.push((v.external(), value[HEADER..].to_vec()));
                        }
                        Visit::Next
                    })?;
                pos = p;
                Ok(s)
            })
            .await?;
        rows.append(&mut found);
        if state == ScanState::End {
            break;
        }
    }
    let mut out = Loaded {
        schemas: Vec::new(),
        tables: Vec::new(),
        orphaned_trees: Vec::new(),
        objects: Vec::new(),
        stats: HashMap::new(),
    };
    for (external, row) in rows {
        if !t.layout.fits(&row, external) {
            return Err(corrupt("a definition's row does not fit"));
        }
        let mut outside = Vec::new();
        if external {
            for x in t.layout.externals(&row) {
                let mut bytes = Vec::new();
                let mut cursor = btree::OverflowCursor::new(x.first, x.len);
                pager
                    .run(|| t.indexes[0].tree.read_overflow(&mut cursor, &mut bytes))
                    .await?;
                outside.push((x.column, bytes));
            }
        }
        let r = t.layout.row(&row).with_outside(&outside);
        let def = r.column(2).as_bytes().unwrap_or_default();
        let unknown = || corrupt("a definition cannot be read");
        match r.column(0) {
            ValueRef::UInt(SCHEMA) => out
                .schemas
                .push(SchemaDef::decode(def).ok_or_else(unknown)?),
            ValueRef::UInt(TREE) => {
                let name = r.column(1).as_bytes().unwrap_or_default();
                out.orphaned_trees
                    .push(read_tree(name, def).ok_or_else(unknown)?);
            }
            ValueRef::UInt(TABLE) => out.tables.push(TableDef::decode(def).ok_or_else(unknown)?),
            ValueRef::UInt(OBJECT) => out
                .objects
                .push(ObjectDef::decode(def).ok_or_else(unknown)?),
            ValueRef::UInt(STATS) => {
                let name = r.column(1).as_bytes().unwrap_or_default();
                // What cannot be read is made again.
                if let Ok(id) = name.try_into() {
                    out.stats.insert(u32::from_be_bytes(id), def.to_vec());
                }
            }
            _ => return Err(corrupt("a definition of an unknown kind")),
        }
    }
    Ok(out)
}

impl Catalog {
    /// A catalog with these schemas and no tables yet.
    pub(crate) fn with_schemas(schemas: Vec<SchemaDef>) -> Catalog {
        let mut c = Catalog {
            version: 1,
            ..Catalog::default()
        };
        for s in schemas {
            c.put_schema(s);
        }
        c
    }
}
