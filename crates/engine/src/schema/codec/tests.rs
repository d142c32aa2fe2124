//! Definitions that are written are read back, and others are none.

use super::*;

fn table() -> TableDef {
    let index = IndexDef {
        id: 7,
        name: String::new(),
        kind: IndexKind::Hidden,
        parts: Vec::new(),
        comment: String::new(),
        root: PageNo(3),
        invisible: false,
        asked: IndexOptions::default(),
    };
    TableDef {
        id: 5,
        schema: "s".into(),
        name: "t".into(),
        columns: vec![ColumnDef::new("a", DataType::INT)],
        indexes: vec![index],
        foreign_keys: Vec::new(),
        checks: Vec::new(),
        options: TableOptions {
            collation: CollationId::DEFAULT,
            comment: String::new(),
            row_format: String::new(),
            auto_increment: 0,
            others: Vec::new(),
            created_us: 1,
            discarded: false,
        },
    }
}

#[test]
fn a_definition_without_constraints_is_as_it_was_before_there_were_any() {
    assert_eq!(table().encode()[0], VERSION);
}

#[test]
fn constraints_and_generated_columns_come_back() {
    let mut def = table();
    for (n, stored) in [(1, true), (2, false)] {
        let mut c = ColumnDef::new(&format!("g{n}"), DataType::INT);
        let expr = format!("(`a` + {n})");
        let hidden = n == 2;
        c.generated = Some(GeneratedDef {
            expr,
            stored,
            hidden,
            elements: hidden.then_some(DataType::UBIGINT),
        });
        def.columns.push(c);
        def.checks.push(CheckDef {
            name: format!("t_chk_{n}"),
            clause: "(`a` > 0)".into(),
            enforced: stored,
        });
    }
    let bytes = def.encode();
    assert_eq!(bytes[0], SECTIONS);
    let back = TableDef::decode(&bytes).expect("a definition");
    assert_eq!(back.checks, def.checks);
    let generated = |d: &TableDef| d.columns.iter().map(|c| c.generated.clone()).collect();
    let (was, is): (Vec<_>, Vec<_>) = (generated(&def), generated(&back));
    assert_eq!(was, is);
    // What is cut short, and a section that is not known, is no definition.
    assert!((1..bytes.len()).all(|n| {
        let cut = TableDef::decode(&bytes[..n]);
        // A section that is left out whole leaves the others.
        cut.is_none_or(|d| {
            let whole = |c: &ColumnDef| c.is_hidden() && c.is_list();
            d.checks.is_empty() || !d.columns.iter().any(whole)
        })
    }));
    def.options.discarded = true;
    let back = TableDef::decode(&def.encode()).expect("a definition");
    assert!(back.options.discarded && back.checks == def.checks);
    let mut other = bytes.clone();
    other.extend([77, 0, 0, 0, 0]);
    assert!(TableDef::decode(&other).is_none());
}
