//! Types as MySQL 8.0 shows them, and their round trip through the catalog.

use super::*;

fn labels(names: &[&str]) -> Arc<Labels> {
    Arc::new(Labels {
        names: names.iter().map(|n| n.as_bytes().into()).collect(),
        collation: CollationId::DEFAULT,
    })
}

fn samples() -> Vec<(DataType, &'static str)> {
    use DataType as T;
    let c = CollationId::DEFAULT;
    vec![
        (T::INT, "int"),
        (T::UBIGINT, "bigint unsigned"),
        (
            T::Int {
                width: IntWidth::Tiny,
                unsigned: false,
                zerofill: false,
                display: 1,
            },
            "tinyint(1)",
        ),
        (
            T::Int {
                width: IntWidth::Tiny,
                unsigned: true,
                zerofill: false,
                display: 1,
            },
            "tinyint unsigned",
        ),
        (
            T::Int {
                width: IntWidth::Int,
                unsigned: true,
                zerofill: true,
                display: 5,
            },
            "int(5) unsigned zerofill",
        ),
        (
            T::Int {
                width: IntWidth::Int,
                unsigned: true,
                zerofill: true,
                display: 0,
            },
            "int(10) unsigned zerofill",
        ),
        (T::int(IntWidth::Medium, false), "mediumint"),
        (T::decimal(10, 2), "decimal(10,2)"),
        (
            T::Float {
                unsigned: false,
                digits: None,
            },
            "float",
        ),
        (
            T::Double {
                unsigned: true,
                digits: Some((8, 3)),
            },
            "double(8,3) unsigned",
        ),
        (T::Bit(8), "bit(8)"),
        (
            T::Char {
                chars: 120,
                collation: c,
            },
            "char(120)",
        ),
        (T::varchar(120, c), "varchar(120)"),
        (T::Binary(16), "binary(16)"),
        (T::VarBinary(255), "varbinary(255)"),
        (
            T::Text {
                size: LobSize::Medium,
                collation: c,
            },
            "mediumtext",
        ),
        (T::Blob(LobSize::Normal), "blob"),
        (T::Date, "date"),
        (T::Time(3), "time(3)"),
        (T::DateTime(0), "datetime"),
        (T::Timestamp(6), "timestamp(6)"),
        (T::Year, "year"),
        (T::Enum(labels(&["a", "it's"])), "enum('a','it''s')"),
        (T::Set(labels(&["x", "y"])), "set('x','y')"),
        (T::Enum(labels(&["a\\b\0\n\r"])), r"enum('a\\b\0\n\r')"),
        (T::Json, "json"),
        (T::Null, "null"),
    ]
}

#[test]
fn shown_as_mysql_does() {
    for (t, want) in samples() {
        assert_eq!(t.to_string(), want);
    }
}

#[test]
fn catalog_round_trip() {
    for (t, name) in samples() {
        let mut b = Vec::new();
        t.encode(&mut b);
        let n = b.len();
        assert_eq!(DataType::decode(&b), Some((t.clone(), n)), "{name}");
        for cut in 0..n {
            assert_eq!(DataType::decode(&b[..cut]), None, "{name} cut at {cut}");
        }
        b.push(7);
        assert_eq!(DataType::decode(&b), Some((t, n)));
    }
    assert_eq!(DataType::decode(&[99]), None);
}

#[test]
fn protocol_description() {
    let r = CollationId::DEFAULT;
    for (t, code, len, dec) in [
        (DataType::INT, MysqlType::Long, 11, 0),
        (DataType::BIGINT, MysqlType::LongLong, 20, 0),
        (DataType::int(IntWidth::Int, true), MysqlType::Long, 10, 0),
        (DataType::decimal(10, 2), MysqlType::NewDecimal, 12, 2),
        (DataType::DOUBLE, MysqlType::Double, 22, 31),
        (DataType::varchar(10, r), MysqlType::VarString, 40, 0),
        (DataType::DateTime(6), MysqlType::DateTime, 26, 6),
        (
            DataType::Text {
                size: LobSize::Normal,
                collation: r,
            },
            MysqlType::Blob,
            262_140,
            0,
        ),
        (
            DataType::Text {
                size: LobSize::Tiny,
                collation: CollationId::default_of(crate::Charset::Latin1),
            },
            MysqlType::Blob,
            1020,
            0,
        ),
        (
            DataType::Text {
                size: LobSize::Long,
                collation: r,
            },
            MysqlType::Blob,
            u32::MAX,
            0,
        ),
        (DataType::Blob(LobSize::Normal), MysqlType::Blob, 65535, 0),
        (
            DataType::Enum(labels(&["a", "bcd"])),
            MysqlType::String,
            12,
            0,
        ),
        (
            DataType::Set(labels(&["a", "bcd"])),
            MysqlType::String,
            20,
            0,
        ),
    ] {
        assert_eq!(
            (t.protocol_type(), t.display_length(r), t.decimals()),
            (code, len, dec),
            "{t}"
        );
    }
    assert_eq!(DataType::varchar(u32::MAX, r).display_length(r), u32::MAX);
    assert_eq!(DataType::INT.protocol_charset(r), 63);
    assert_eq!(DataType::varchar(1, r).protocol_charset(r), 255);
}

#[test]
fn label_lookup() {
    let l = labels(&["red", "Green"]);
    assert_eq!((l.find(b"GREEN"), l.find(b"blue")), (Some(2), None));
    assert_eq!(
        (l.name(1), l.name(0), l.name(9)),
        (&b"red"[..], &b""[..], &b""[..])
    );
    let mut out = Vec::new();
    l.write_set(3, &mut out);
    assert_eq!(out, b"red,Green");
    assert_eq!(l.all_bits(), 3);
}

#[test]
fn integer_ranges() {
    assert_eq!(IntWidth::Tiny.signed_range(), (-128, 127));
    assert_eq!(IntWidth::Medium.signed_range(), (-8_388_608, 8_388_607));
    assert_eq!(IntWidth::Big.signed_range(), (i64::MIN, i64::MAX));
    assert_eq!(IntWidth::Medium.unsigned_max(), 16_777_215);
    assert_eq!(IntWidth::Big.unsigned_max(), u64::MAX);
}
