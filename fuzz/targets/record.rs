//! Definitions, rows, index keys and before-images as a damaged page or a damaged log would give them to the engine.

#![no_main]

use engine::record::{HEADER, RowBuilder, RowLayout, RowRef, RowVersion, SecValue, Undo, UndoOp};
use engine::schema::{SchemaDef, TableDef};
use libfuzzer_sys::fuzz_target;
use types::convert::write_text;
use types::keyenc::KeyPart;
use types::{DataType, ValueRef};

/// Values longer than this are not worth their time here.
const LONG: u32 = 1 << 16;

fuzz_target!(|data: &[u8]| {
    let Some((len, rest)) = data.split_first_chunk() else {
        return;
    };
    let (def, rest) = rest.split_at(rest.len().min(usize::from(u16::from_le_bytes(*len))));
    if let Some(schema) = SchemaDef::decode(def) {
        let bytes = schema.encode();
        assert_eq!(SchemaDef::decode(&bytes), Some(schema));
    }
    let Some(table) = TableDef::decode(def) else {
        return;
    };
    again(&table);
    let types: Vec<DataType> = table.columns.iter().map(|c| c.ty.clone()).collect();
    if types.iter().any(long) {
        return;
    }
    let layout = RowLayout::new(types);
    row(&layout, rest);
    keys(&table, rest);
    if let Some(v) = SecValue::read(rest) {
        assert_eq!(v.bytes(), rest);
    }
});

/// A definition that can be read can be written, and is then what it was.
fn again(table: &TableDef) {
    let bytes = table.encode();
    let read = TableDef::decode(&bytes).expect("what was written can be read");
    assert_eq!(read.encode(), bytes);
    for column in &table.columns {
        let _ = column.ty.to_string();
        column.ty.display_length(table.options.collation);
        column.ty.decimals();
        column.ty.protocol_charset(table.options.collation);
    }
    table.column("a");
    table.index("PRIMARY");
    table.clustered_choice();
}

fn long(ty: &DataType) -> bool {
    matches!(ty, DataType::Binary(n) if *n > LONG)
}

/// A clustered value, read as the engine does.
fn row(layout: &RowLayout, value: &[u8]) {
    let Some(version) = RowVersion::read(value) else {
        return;
    };
    let row = &value[HEADER..];
    if !layout.fits(row, version.external()) {
        return;
    }
    let externals = layout.externals(row);
    if version.external() {
        let outside: Vec<(usize, Vec<u8>)> = externals
            .iter()
            .map(|x| (x.column, b"outside".to_vec()))
            .collect();
        show(layout, layout.row(row).with_outside(&outside));
    } else {
        show(layout, layout.row(row));
    }
    if let Some(undo) = Undo::decode(row)
        && let UndoOp::Update { delta, middle, .. } = undo.op
    {
        let mut old = Vec::new();
        if delta.replace(row, middle, &mut old).is_some() && layout.fits(&old, true) {
            layout.externals(&old);
        }
    }
}

/// Every column as text, for a client, and as a row again.
fn show(layout: &RowLayout, row: RowRef<'_>) {
    let mut text = Vec::new();
    for c in 0..layout.columns() {
        write_text(row.column(c), layout.column_type(c), &mut text);
    }
    let values = row.to_values();
    let mut bytes = Vec::new();
    let mut builder = RowBuilder::default();
    if builder
        .build(layout, &values, (1 << 20, 1 << 20), &mut bytes)
        .is_some()
    {
        assert!(layout.fits(&bytes, false), "a row that was built fits");
    }
}

/// An index's key: what is read of it gives the same key again.
fn keys(table: &TableDef, key: &[u8]) {
    let mut at = key;
    for part in &table.indexes[0].parts {
        let column = &table.columns[usize::from(part.column)];
        let part = KeyPart {
            ty: column.ty.clone(),
            nullable: column.nullable,
            prefix: part.prefix,
            descending: part.descending,
        };
        let Some((value, n)) = part.decode(at) else {
            return;
        };
        assert!(n <= at.len());
        at = &at[n..];
        let mut out = Vec::new();
        part.encode(
            value.as_ref().map_or(ValueRef::Null, |v| v.as_ref()),
            &mut out,
        );
    }
}
