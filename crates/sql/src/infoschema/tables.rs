//! SCHEMATA, TABLES and what SHOW TABLE STATUS takes from them.

use engine::{Engine, IndexKind, Table};

use types::Value;

use crate::context::names::SCHEMAS;
use crate::describe::row_format;

use super::spec::{Spec, View, int, moment, name, text, uint};
use super::views::table_row;
use types::temporal::Zone;

const PAGE: u64 = 16 << 10;

/// A row format as TABLES and INNODB_TABLES show it.
fn titled(format: &str) -> &'static str {
    match format {
        "COMPACT" => "Compact",
        "REDUNDANT" => "Redundant",
        "COMPRESSED" => "Compressed",
        _ => "Dynamic",
    }
}

/// The flags that InnoDB keeps of a table: 0x01 for any format but REDUNDANT, 0x20 for formats that keep nothing of a long column
/// in the row, KEY_BLOCK_SIZE in between as a power of two.
fn flags(t: &Table) -> u64 {
    let blocks = zip_bytes(t) / 512;
    let size = if blocks == 0 {
        0
    } else {
        u64::from(blocks.ilog2())
    };
    match row_format::actual(&t.def.options) {
        "REDUNDANT" => 0,
        "COMPACT" => 1,
        _ => 33 | size << 1,
    }
}

/// The temporary tables of all sessions, under names of files, as in MySQL: what their sessions call them is not told. InnoDB counts three columns
/// that nobody sees.
fn temporary_tables(v: &View<'_>) -> Vec<Vec<Value>> {
    let tables = v.ctx.engine.temporary_tables();
    let row = |t: &std::sync::Arc<Table>| {
        let id = u64::from(t.def.id);
        let file = format!("#sql_{:x}", t.def.id);
        let columns = t.def.columns.len() as u64 + 3;
        vec![uint(id), text(&file), uint(columns), uint(id)]
    };
    tables.iter().map(row).collect()
}

/// Numbers and texts that metadata gives of a stored table.
pub struct TableFacts {
    name: String,
    row_format: String,
    rows: u64,
    average: u64,
    data: u64,
    index: u64,
    free: u64,
    auto_increment: Option<u64>,
    created: Value,
    collation: &'static str,
    options: String,
    comment: String,
}

impl TableFacts {
    /// Of a table; `zone` is the session's.
    pub fn of(t: &Table, engine: &Engine, zone: Zone) -> TableFacts {
        let rows = t.row_count_estimate();
        // What is on the disk, compressed or not.
        let sizes = engine.table_sizes(t);
        let o = &t.def.options;
        let mut options: Vec<String> = row_format::shown(o)
            .map(|(n, v)| match n {
                "KEY_BLOCK_SIZE" => format!("{n}={v}"),
                "COMPRESSION" => format!("{n}=\"{v}\""),
                _ => format!("{}={v}", n.to_lowercase()),
            })
            .collect();
        if !o.row_format.is_empty() {
            options.insert(0, format!("row_format={}", o.row_format));
        }
        if let Some(percent) = sizes.compressed_percent {
            options.push(format!("packed_to={percent}%"));
        }
        let has_auto = t.def.columns.iter().any(|c| c.auto_increment);
        TableFacts {
            name: t.def.name.clone(),
            row_format: titled(row_format::actual(o)).to_owned(),
            rows,
            average: sizes.data.checked_div(rows).unwrap_or(0),
            data: sizes.data,
            index: sizes.index,
            free: sizes.free,
            auto_increment: has_auto.then(|| t.auto_increment_next().max(1)),
            created: moment(o.created_us, zone),
            collation: o.collation.name(),
            options: options.join(" "),
            comment: o.comment.clone(),
        }
    }

    /// From engine to comment, as TABLES has them.
    fn values(&self) -> Vec<Value> {
        vec![
            text("InnoDB"),
            int(10),
            text(&self.row_format),
            uint(self.rows),
            uint(self.average),
            uint(self.data),
            uint(0),
            uint(self.index),
            uint(self.free),
            self.auto_increment.map_or(Value::Null, uint),
            self.created.clone(),
            Value::Null,
            Value::Null,
            text(self.collation),
            Value::Null,
            text(&self.options),
            text(&self.comment),
        ]
    }

    /// The row of SHOW TABLE STATUS.
    pub fn status_row(&self) -> Vec<Value> {
        let mut row = vec![text(&self.name)];
        row.extend(self.values());
        row
    }
}

fn schemata(v: &View<'_>) -> Vec<Vec<Value>> {
    let virtual_ones = SCHEMAS
        .iter()
        .map(|n| ((*n).to_owned(), types::CollationId::UTF8MB3_GENERAL_CI));
    let stored = v
        .schemas()
        .into_iter()
        .map(|s| (s.def.name.clone(), s.def.collation));
    let mut all: Vec<_> = virtual_ones.chain(stored).collect();
    all.sort();
    all.into_iter()
        .map(|(n, c)| {
            vec![
                name("def"),
                name(&n),
                text(c.charset().name()),
                text(c.name()),
                Value::Null,
                text("NO"),
            ]
        })
        .collect()
}

fn tables(v: &View<'_>) -> Vec<Vec<Value>> {
    let mut out: Vec<Vec<Value>> = (v.definitions)()
        .into_iter()
        .filter(|d| v.security().sees_table(&d.schema, &d.name))
        .map(|d| {
            let mut row = vec![
                name("def"),
                name(&d.schema),
                name(&d.name),
                text("SYSTEM VIEW"),
                Value::Null,
                int(10),
                Value::Null,
                uint(0),
            ];
            row.extend(std::iter::repeat_n(uint(0), 5));
            row.extend(std::iter::repeat_n(Value::Null, 6));
            row.push(text(""));
            row.push(text(""));
            row
        })
        .collect();
    for t in v.tables() {
        let mut row = vec![
            name("def"),
            name(&t.def.schema),
            name(&t.def.name),
            text("BASE TABLE"),
        ];
        row.extend(TableFacts::of(t, v.ctx.engine, v.zone()).values());
        out.push(row);
    }
    out.extend(v.views().iter().map(|o| table_row(o, v.zone())));
    out
}

/// KEY_BLOCK_SIZE in bytes; 0 where a page takes what it needs, or is not compressed.
fn zip_bytes(t: &Table) -> u64 {
    let block = t.block_bytes().filter(|b| *b >= 1024);
    block.map_or(0, u64::from)
}

fn innodb_tables(v: &View<'_>) -> Vec<Vec<Value>> {
    v.tables()
        .into_iter()
        .map(|t| {
            vec![
                uint(u64::from(t.def.id)),
                name(&format!("{}/{}", t.def.schema, t.def.name)),
                uint(flags(t)),
                int(t.def.columns.len() as i64 + 3),
                int(i64::from(t.def.id)),
                text(titled(row_format::actual(&t.def.options))),
                uint(zip_bytes(t)),
                text("Single"),
                int(0),
                int(0),
            ]
        })
        .collect()
}

fn tablespaces(v: &View<'_>) -> Vec<Vec<Value>> {
    v.tables()
        .into_iter()
        .map(|t| {
            vec![
                uint(u64::from(t.def.id)),
                name(&format!("{}/{}", t.def.schema, t.def.name)),
                uint(flags(t) & !1),
                text(match row_format::actual(&t.def.options) {
                    "COMPACT" | "REDUNDANT" => "Compact or Redundant",
                    other => titled(other),
                }),
                uint(PAGE),
                uint(zip_bytes(t)),
                text("Single"),
                uint(4096),
                uint(t.file_bytes()),
                uint(t.data_bytes()),
                text("8.0.41"),
                uint(1),
                text("N"),
                text(match t.def.options.discarded {
                    true => "discarded",
                    false => "normal",
                }),
            ]
        })
        .collect()
}

fn innodb_indexes(v: &View<'_>) -> Vec<Vec<Value>> {
    let mut out = Vec::new();
    for t in v.tables() {
        for i in &t.def.indexes {
            let kind = match i.kind {
                IndexKind::Primary => 3,
                IndexKind::Unique => 2,
                IndexKind::Plain => 0,
                IndexKind::Hidden => 1,
            };
            let shown = if i.kind == IndexKind::Hidden {
                "GEN_CLUST_INDEX"
            } else {
                &i.name
            };
            out.push(vec![
                uint(u64::from(i.id)),
                name(shown),
                uint(u64::from(t.def.id)),
                int(kind),
                int(i.parts.len() as i64),
                int(i64::from(i.root.0)),
                int(i64::from(t.def.id)),
                int(50),
            ]);
        }
    }
    out
}

/// Counts of compression, as the tables about it show them.
fn counts(c: &engine::CompressionCounts) -> [Value; 5] {
    let seconds = |us: u64| int((us / 1_000_000) as i64);
    [
        int(c.compressions as i64),
        int(c.compressions_ok as i64),
        seconds(c.compressions_us),
        int(c.decompressions as i64),
        seconds(c.decompressions_us),
    ]
}

fn compression(v: &View<'_>, reset: bool) -> Vec<Vec<Value>> {
    let all = v.ctx.engine.compression_counts(reset).into_iter();
    all.map(|(unit, c)| {
        let mut row = vec![int(i64::from(unit))];
        row.extend(counts(&c));
        row
    })
    .collect()
}

/// By index, for those of tables that the session may see.
fn index_compression(v: &View<'_>, reset: bool) -> Vec<Vec<Value>> {
    let all = v.ctx.engine.index_compression_counts(reset).into_iter();
    let tables = v.tables();
    all.filter_map(|((table, index), c)| {
        let t = tables.iter().find(|t| t.def.id == table)?;
        let i = t.def.indexes.iter().find(|i| i.id == index)?;
        let shown = match i.kind {
            IndexKind::Hidden => "GEN_CLUST_INDEX",
            _ => &i.name,
        };
        let mut row = vec![name(&t.def.schema), name(&t.def.name), name(shown)];
        row.extend(counts(&c));
        Some(row)
    })
    .collect()
}

const INDEX_COMPRESSION: &str = "database_name n192, table_name n192, index_name n192, compress_ops I, compress_ops_ok I, \
    compress_time I, uncompress_ops I, uncompress_time I";

const COMPRESSION: &str = "page_size i, compress_ops I, compress_ops_ok I, compress_time I, uncompress_ops I, uncompress_time I";

/// The tables of this file.
pub(super) const SPECS: &[Spec] = &[
    Spec {
        name: "SCHEMATA",
        columns: "CATALOG_NAME n64, SCHEMA_NAME n64, DEFAULT_CHARACTER_SET_NAME v64, DEFAULT_COLLATION_NAME v64, SQL_PATH v1?, DEFAULT_ENCRYPTION v3",
        rows: schemata,
    },
    Spec {
        name: "TABLES",
        columns: "TABLE_CATALOG n64, TABLE_SCHEMA n64, TABLE_NAME n64, TABLE_TYPE v11, ENGINE v64?, VERSION i?, \
            ROW_FORMAT v10?, TABLE_ROWS U?, AVG_ROW_LENGTH U?, DATA_LENGTH U?, MAX_DATA_LENGTH U?, INDEX_LENGTH U?, \
            DATA_FREE U?, AUTO_INCREMENT U?, CREATE_TIME t?, UPDATE_TIME t?, CHECK_TIME t?, TABLE_COLLATION v64?, \
            CHECKSUM I?, CREATE_OPTIONS v256?, TABLE_COMMENT v2048?",
        rows: tables,
    },
    Spec {
        name: "INNODB_CMP",
        columns: COMPRESSION,
        rows: |v| compression(v, false),
    },
    Spec {
        name: "INNODB_CMP_RESET",
        columns: COMPRESSION,
        rows: |v| compression(v, true),
    },
    Spec {
        name: "INNODB_CMP_PER_INDEX",
        columns: INDEX_COMPRESSION,
        rows: |v| index_compression(v, false),
    },
    Spec {
        name: "INNODB_CMP_PER_INDEX_RESET",
        columns: INDEX_COMPRESSION,
        rows: |v| index_compression(v, true),
    },
    Spec {
        name: "INNODB_TEMP_TABLE_INFO",
        columns: "TABLE_ID U, NAME v64?, N_COLS u, SPACE u",
        rows: temporary_tables,
    },
    Spec {
        name: "INNODB_TABLES",
        columns: "TABLE_ID U, NAME n655, FLAG i, N_COLS i, SPACE I, ROW_FORMAT v12?, ZIP_PAGE_SIZE u, SPACE_TYPE v10?, \
            INSTANT_COLS i, TOTAL_ROW_VERSIONS i",
        rows: innodb_tables,
    },
    Spec {
        name: "INNODB_TABLESPACES",
        columns: "SPACE U, NAME n655, FLAG U, ROW_FORMAT v22?, PAGE_SIZE U, ZIP_PAGE_SIZE U, SPACE_TYPE v10?, \
            FS_BLOCK_SIZE U, FILE_SIZE U, ALLOCATED_SIZE U, SERVER_VERSION v10?, SPACE_VERSION U, ENCRYPTION v1?, STATE v10?",
        rows: tablespaces,
    },
    Spec {
        name: "INNODB_INDEXES",
        columns: "INDEX_ID U, NAME n193, TABLE_ID U, TYPE i, N_FIELDS i, PAGE_NO i, SPACE i, MERGE_THRESHOLD i",
        rows: innodb_indexes,
    },
];
