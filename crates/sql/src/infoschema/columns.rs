//! COLUMNS.

use engine::{ColumnDef, ObjectDef, TableDef};
use types::{DataType, SqlError, Value, Warning};

use super::spec::{Spec, View, name, text, text_or_null, uint};
use crate::describe::columns::{column_facts, column_privileges, escaped};
use crate::describe::view::as_table;
use sql_plan::bind::{BindCtx, view_columns as bind};

/// Digits and fraction digits of a number.
pub(super) fn numeric(ty: &DataType) -> (Value, Value) {
    match ty {
        DataType::Int {
            width, unsigned, ..
        } => {
            let digits = match (width.bytes(), unsigned) {
                (1, _) => 3,
                (2, _) => 5,
                (3, _) => 7,
                (4, _) => 10,
                (_, false) => 19,
                (_, true) => 20,
            };
            (uint(digits), uint(0))
        }
        DataType::Decimal {
            precision, scale, ..
        } => (uint(u64::from(*precision)), uint(u64::from(*scale))),
        DataType::Float { digits, .. } => real(*digits, 12),
        DataType::Double { digits, .. } => real(*digits, 22),
        DataType::Bit(n) => (uint(u64::from(*n)), Value::Null),
        _ => (Value::Null, Value::Null),
    }
}

fn real(digits: Option<(u8, u8)>, width: u64) -> (Value, Value) {
    match digits {
        Some((m, d)) => (uint(u64::from(m)), uint(u64::from(d))),
        None => (uint(width), Value::Null),
    }
}

/// Length in characters and in bytes of text and byte strings.
pub(super) fn lengths(ty: &DataType) -> (Value, Value) {
    let bytes = ty.max_bytes();
    let chars = match ty {
        DataType::Char { chars, .. } | DataType::VarChar { chars, .. } => u64::from(*chars),
        DataType::Binary(n) | DataType::VarBinary(n) => u64::from(*n),
        DataType::Text { .. } | DataType::Blob(_) => bytes,
        DataType::Enum(l) | DataType::Set(l) => {
            let cs = l.collation.charset();
            let each = l.names.iter().map(|n| cs.char_count(n) as u64);
            let n = match ty {
                DataType::Enum(_) => each.max().unwrap_or(0),
                _ => each.sum::<u64>() + (l.names.len() as u64).saturating_sub(1),
            };
            return (uint(n), uint(n * cs.max_len() as u64));
        }
        _ => return (Value::Null, Value::Null),
    };
    (uint(chars), uint(bytes))
}

fn row(def: &TableDef, at: usize, c: &ColumnDef, v: &View<'_>) -> Vec<Value> {
    let f = column_facts(def, at, v.zone());
    let (chars, bytes) = lengths(&c.ty);
    let (precision, scale) = numeric(&c.ty);
    let character = c.ty.is_character() && !matches!(c.ty, DataType::Json);
    let co = c.ty.collation();
    let temporal = matches!(
        c.ty,
        DataType::Time(_) | DataType::DateTime(_) | DataType::Timestamp(_)
    );
    vec![
        name("def"),
        name(&def.schema),
        name(&def.name),
        text(&c.name),
        uint(def.columns[..=at].iter().filter(|c| !c.is_hidden()).count() as u64),
        text_or_null(f.default.as_deref()),
        text(if c.nullable { "YES" } else { "NO" }),
        text(c.ty.base_name()),
        chars,
        bytes,
        precision,
        scale,
        if temporal {
            uint(u64::from(c.ty.fsp()))
        } else {
            Value::Null
        },
        text_or_null(character.then(|| co.charset().name())),
        text_or_null(character.then(|| co.name())),
        text(&c.ty.to_string()),
        text(f.key),
        text(&f.extra),
        text(&column_privileges(
            v.security(),
            &def.schema,
            &def.name,
            &c.name,
        )),
        text(&c.comment),
        text(
            &c.generated
                .as_ref()
                .map_or(String::new(), |g| escaped(&g.expr)),
        ),
        Value::Null,
    ]
}

fn view_columns(v: &View<'_>, view: &ObjectDef) -> Result<Vec<ColumnDef>, SqlError> {
    let ctx = BindCtx {
        engine: v.ctx.engine,
        catalog: v.ctx.catalog,
        names: v.names,
        schema: None,
        security: v.ctx.security,
        locked: None,
        cx: v.ctx.cx,
        values: v.ctx.cx,
    };
    bind::view_columns(&ctx, view)
}

fn columns(v: &View<'_>) -> Vec<Vec<Value>> {
    let mut out = Vec::new();
    let mut add = |def: &TableDef| {
        for (i, c) in def.columns.iter().enumerate() {
            if !c.is_hidden() && v.security().sees_column(&def.schema, &def.name, &c.name) {
                out.push(row(def, i, c, v));
            }
        }
    };
    (v.definitions)().iter().for_each(&mut add);
    v.tables().into_iter().for_each(|t| add(&t.def));
    for view in v.views() {
        // What an invalid view had for columns nobody knows any more.
        match view_columns(v, view) {
            Ok(columns) => add(&as_table(view, columns)),
            Err(e) => v.ctx.cx.warn(Warning::from_error(e)),
        }
    }
    out
}

/// The tables of this file.
pub(super) const SPECS: &[Spec] = &[Spec {
    name: "COLUMNS",
    columns: "TABLE_CATALOG n64, TABLE_SCHEMA n64, TABLE_NAME n64, COLUMN_NAME v64?, ORDINAL_POSITION u, \
        COLUMN_DEFAULT x?, IS_NULLABLE v3, DATA_TYPE x?, CHARACTER_MAXIMUM_LENGTH U?, CHARACTER_OCTET_LENGTH U?, \
        NUMERIC_PRECISION U?, NUMERIC_SCALE U?, DATETIME_PRECISION u?, CHARACTER_SET_NAME v64?, COLLATION_NAME v64?, \
        COLUMN_TYPE x, COLUMN_KEY v3, EXTRA v256?, PRIVILEGES v154?, COLUMN_COMMENT x, GENERATION_EXPRESSION x, SRS_ID u?",
    rows: columns,
}];
