//! Documents of which a source says only what has changed in them (`binlog_row_value_options=PARTIAL_JSON`).
//!
//! The events are MySQL 8.0.40's, recorded in the tests of Vitess 24.0.4 (go/mysql/binlog_event_mysql56_test.go), without their headers, and with what
//! mysqlbinlog says of them.

use super::*;
use wire::binlog::table_map::TableMap;

/// Rows 1 to 5, of `{"salary": 100}` or 99: `JSON_INSERT(@3, '$.role', 'manager')`.
const INSERT: &[u8] = b"\
        \xb0\0\0\0\0\0\x01\0\x02\0\x03\xff\xff\0\x01\0\0\0\0\0\0\0\x10alice@domain.com\x12\0\0\0\0\x01\0\x11\0\x0b\0\x06\0\x05d\
        \0salary\x01\x01\0\x01\0\0\0\0\0\0\0\x10alice@domain.com\x12\0\0\0\x01\x06$.role\x09\x0c\x07manager\0\x02\0\0\0\0\0\0\0\
        \x0ebob@domain.com\x12\0\0\0\0\x01\0\x11\0\x0b\0\x06\0\x05c\0salary\x01\x01\0\x02\0\0\0\0\0\0\0\x0ebob@domain.com\x12\0\
        \0\0\x01\x06$.role\x09\x0c\x07manager\0\x03\0\0\0\0\0\0\0\x12charlie@domain.com\x12\0\0\0\0\x01\0\x11\0\x0b\0\x06\0\x05c\
        \0salary\x01\x01\0\x03\0\0\0\0\0\0\0\x12charlie@domain.com\x12\0\0\0\x01\x06$.role\x09\x0c\x07manager\0\x04\0\0\0\0\0\0\
        \0\x0edan@domain.com\x12\0\0\0\0\x01\0\x11\0\x0b\0\x06\0\x05c\0salary\x01\x01\0\x04\0\0\0\0\0\0\0\x0edan@domain.com\x12\
        \0\0\0\x01\x06$.role\x09\x0c\x07manager\0\x05\0\0\0\0\0\0\0\x0eeve@domain.com\x12\0\0\0\0\x01\0\x11\0\x0b\0\x06\0\x05d\0\
        salary\x01\x01\0\x05\0\0\0\0\0\0\0\x0eeve@domain.com\x12\0\0\0\x01\x06$.role\x09\x0c\x07manager";
/// Row 1: `JSON_REPLACE(@3, '$.role', 'IC')`.
const REPLACE: &[u8] = b"\
        \xb0\0\0\0\0\0\x01\0\x02\0\x03\xff\xff\0\x01\0\0\0\0\0\0\0\x10alice@domain.com%\0\0\0\0\x02\0$\0\x12\0\x04\0\x16\0\x06\0\
        \x0c\x1c\0\x05d\0rolesalary\x07manager\x01\x01\0\x01\0\0\0\0\0\0\0\x10alice@domain.com\x0d\0\0\0\0\x06$.role\x04\x0c\x02\
        IC";
/// Row 2: `JSON_REMOVE(@3, '$.salary')`.
const REMOVE: &[u8] = b"\
        \xb0\0\0\0\0\0\x01\0\x02\0\x03\xff\xff\0\x02\0\0\0\0\0\0\0\x0ebob@domain.com%\0\0\0\0\x02\0$\0\x12\0\x04\0\x16\0\x06\0\
        \x0c\x1c\0\x05c\0rolesalary\x07manager\x01\x01\0\x02\0\0\0\0\0\0\0\x0ebob@domain.com\x0a\0\0\0\x02\x08$.salary";
/// Row 3: `JSON_INSERT(JSON_REMOVE(JSON_REPLACE(@3, '$.day', 'tuesday'), '$.favorite_color'), '$.hobby', 'skiing')`.
const THREE: &[u8] = b"\
        \xb0\0\0\0\0\0\x01\0\x02\0\x03\xff\xff\0\x03\0\0\0\0\0\0\0\x12charlie@domain.comO\0\0\0\0\x04\0N\0 \0\x03\0#\0\x04\0'\0\
        \x06\0-\0\x0e\0\x0c;\0\x0cB\0\x05c\0\x0cJ\0dayrolesalaryfavorite_color\x06monday\x07manager\x03red\x01\x01\0\x03\0\0\0\0\
        \0\0\0\x12charlie@domain.com5\0\0\0\0\x05$.day\x09\x0c\x07tuesday\x02\x10$.favorite_color\x01\x07$.hobby\x08\x0c\x06skii\
        ng";
/// Row 4: `JSON_REPLACE(@3, '$.salary', null)`.
const TO_NULL: &[u8] = b"\
        \xb0\0\0\0\0\0\x01\0\x02\0\x03\xff\xff\0\x04\0\0\0\0\0\0\0\x0edan@domain.com%\0\0\0\0\x02\0$\0\x12\0\x04\0\x16\0\x06\0\
        \x0c\x1c\0\x05c\0rolesalary\x07manager\x01\x01\0\x04\0\0\0\0\0\0\0\x0edan@domain.com\x0d\0\0\0\0\x08$.salary\x02\x04\0";
/// Row 4: `JSON_REPLACE(@3, '$.salary', 110, '$.role', 'IC')`.
const TWO_PATHS: &[u8] = b"\
        \xb0\0\0\0\0\0\x01\0\x02\0\x03\xff\xff\0\x04\0\0\0\0\0\0\0\x0edan@domain.com%\0\0\0\0\x02\0$\0\x12\0\x04\0\x16\0\x06\0\
        \x0c\x1c\0\x05c\0rolesalary\x07manager\x01\x01\0\x04\0\0\0\0\0\0\0\x0edan@domain.com\x1b\0\0\0\0\x08$.salary\x03\x05n\0\
        \0\x06$.role\x04\x0c\x02IC";
/// Row 5: the whole document is null.
const WHOLE_NULL: &[u8] = b"\
        \xb2\0\0\0\0\0\x01\0\x02\0\x03\x07\x07\0\x05\0\0\0\0\0\0\0\x11neweve@domain.coma\0\0\0\0\x05\0`\0'\0\x03\0*\0\x04\0.\0\
        \x05\x003\0\x06\x009\0\x0e\0\x0cG\0\x0cN\0\x0cV\0\x05d\0\x0cZ\0dayrolecolorsalaryfavorite_color\x06friday\x07manager\x03red\
        \x05black\0\0\x05\0\0\0\0\0\0\0\x11neweve@domain.com\x02\0\0\0\x04\0";
/// Row 10, where there was NULL: the whole document is the text null.
const WHOLE_TEXT: &[u8] = b"\
        \x99\0\0\0\0\0\x01\0\x02\0\x03\x07\x07\x04\x0a\0\0\0\0\0\0\0\x15mlord@planetscale.com\0\0\x0a\0\0\0\0\0\0\0\x15mlord@pla\
        netscale.com\x06\0\0\0\x0c\x04null";
/// Row 1: `JSON_INSERT(@3, '$.misc', '{"address":"1012 S Park", ...}')`, a text.
const TEXT_OF_AN_OBJECT: &[u8] = b"\
        \x99\0\0\0\0\0\x01\0\x02\0\x03\x07\x07\0\x01\0\0\0\0\0\0\0\x13newalice@domain.comI\0\0\0\0\x04\0H\0 \0\x03\0#\0\x04\0'\0\
        \x05\0,\0\x06\0\x0c2\0\x0c<\0\x0cD\0\x05d\0dayrolecolorsalary\x09wednesday\x07manager\x03red\x01\x01\0\x01\0\0\0\0\0\0\0\
        \x13newalice@domain.comE\0\0\0\x01\x06$.misc<\x0c:{\"address\":\"1012 S Park\", \"town\":\"Hastings\", \"state\":\"MI\"}";

/// `customer_id BIGINT, email VARBINARY(128), jd JSON`, as the source announces it.
fn announced(id: u64) -> TableMap {
    let mut map = map(0);
    let document = wire::binlog::table_map::Column {
        ty: ColumnType::of(&DataType::Json).expect("a type"),
        ..map.columns[1].clone()
    };
    map.id = id;
    map.columns[0].ty = ColumnType::of(&DataType::BIGINT).expect("a type");
    map.columns[1].ty = ColumnType::of(&DataType::VarBinary(128)).expect("a type");
    map.columns.push(document);
    map
}

/// The number of the table that an event of rows is of.
fn number_of(event: &[u8]) -> u64 {
    event[..6]
        .iter()
        .rev()
        .fold(0, |n, b| n << 8 | u64::from(*b))
}

fn parts(f: &mut File, event: &[u8]) {
    f.begin(f.last());
    f.query("BEGIN");
    let map = announced(number_of(event));
    f.event(kind::TABLE_MAP, |out| map.write(Metadata::Minimal, out));
    f.event(kind::PARTIAL_UPDATE_ROWS, |out| out.put_bytes(event));
    f.commit();
}

/// The failure, and all rows behind it. `key`: what of the table's definition follows its columns.
fn applied(key: &str, fill: &dyn Fn(&mut File)) -> (u16, String, Vec<String>) {
    let mut f = File::new(Checksum::Crc32, 20);
    f.statement("CREATE DATABASE d");
    f.statement(&format!(
        "CREATE TABLE t (customer_id BIGINT NOT NULL, email VARBINARY(128), jd JSON, \
         role VARCHAR(20) AS (jd->>'$.role'), KEY (role){key})"
    ));
    fill(&mut f);
    let end = f.bytes.len();
    let port = serve("8.0.40", f.bytes);
    let (_engine, instance) = server(&Arc::new(MemDisk::default()));
    let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
    begin(&instance, port);
    let facts = settled(&replica, end);
    let rows = run(
        &instance,
        "SELECT CONCAT_WS('|', customer_id, IFNULL(jd, 'NULL'), role) FROM d.t ORDER BY customer_id",
    );
    block_on(replica.stop());
    let shown =
        |v: &Value| String::from_utf8_lossy(v.as_ref().as_bytes().unwrap_or_default()).into_owned();
    let rows: Vec<String> = rows.iter().map(|r| shown(&r[0])).collect();
    (
        facts.applier_failure.number,
        scripted::failures(&facts),
        rows,
    )
}

fn salaries(f: &mut File) {
    f.statement(
        "INSERT INTO t (customer_id, email, jd) VALUES (1, 'alice@domain.com', '{\"salary\": 100}'), (2, 'bob@domain.com', '{\"salary\": 99}'), \
         (3, 'charlie@domain.com', '{\"salary\": 99}'), (4, 'dan@domain.com', '{\"salary\": 99}'), (5, 'eve@domain.com', '{\"salary\": 100}'), \
         (10, 'mlord@planetscale.com', NULL)",
    );
}

#[test]
fn what_mysql_has_recorded_is_applied() {
    // By the key; and without one, by all that the row before it says.
    let keyed: &[(&[u8], &str)] = &[
        (REPLACE, "1|{\"role\": \"IC\", \"salary\": 100}|IC"),
        (REMOVE, "2|{\"role\": \"manager\"}|manager"),
        (
            TO_NULL,
            "4|{\"role\": \"manager\", \"salary\": null}|manager",
        ),
        (TWO_PATHS, "4|{\"role\": \"IC\", \"salary\": 110}|IC"),
        (WHOLE_NULL, "5|null"),
        (WHOLE_TEXT, "10|\"null\""),
    ];
    let (failure, message, rows) = applied(", PRIMARY KEY (customer_id)", &|f| {
        salaries(f);
        parts(f, INSERT);
        keyed.iter().for_each(|(event, _)| parts(f, event));
        parts(f, TEXT_OF_AN_OBJECT);
        f.statement(
            "UPDATE t SET jd = '{\"day\": \"friday\", \"role\": \"manager\", \"favorite_color\": \"black\"}' WHERE customer_id = 3",
        );
        parts(f, THREE);
    });
    assert_eq!((failure, &message[..]), (0, ""));
    let misc = "{\\\"address\\\":\\\"1012 S Park\\\", \\\"town\\\":\\\"Hastings\\\", \\\"state\\\":\\\"MI\\\"}";
    assert_eq!(
        rows,
        [
            &format!("1|{{\"misc\": \"{misc}\", \"role\": \"IC\", \"salary\": 100}}|IC"),
            keyed[1].1,
            "3|{\"day\": \"tuesday\", \"role\": \"manager\", \"hobby\": \"skiing\"}|manager",
            keyed[3].1,
            keyed[4].1,
            keyed[5].1,
        ]
    );
    let (failure, message, rows) = applied("", &|f| {
        salaries(f);
        parts(f, INSERT);
        parts(f, REPLACE);
    });
    assert_eq!((failure, &message[..]), (0, ""));
    assert_eq!(rows[0], keyed[0].1);
    assert_eq!(rows[1], "2|{\"role\": \"manager\", \"salary\": 99}|manager");
}

/// An update of row 1 of an image without the document before, and with changes of it after.
fn minimal(bits: &[u8], changes: &[u8]) -> Vec<u8> {
    let mut body = vec![7, 0, 0, 0, 0, 0, 1, 0, 2, 0, 3];
    // Only the key before; only the document after.
    body.extend_from_slice(&[0xF9, 0xFC]);
    body.extend_from_slice(&[0, 1, 0, 0, 0, 0, 0, 0, 0]);
    body.extend_from_slice(bits);
    body.push(0);
    body.extend_from_slice(&(changes.len() as u32).to_le_bytes());
    body.extend_from_slice(changes);
    body
}

#[test]
fn what_has_no_place_or_no_sense_stops_the_replica() {
    let on = |change: &[u8]| {
        let event = minimal(&[1, 1], change);
        applied(", PRIMARY KEY (customer_id)", &|f| {
            salaries(f);
            parts(f, &event);
        })
    };
    // The row before need not say what the document was.
    let (failure, message, rows) = on(b"\x00\x08$.salary\x03\x05\x07\x00\x01\x03$.a\x02\x04\x01");
    assert_eq!((failure, &message[..]), (0, ""));
    assert_eq!(rows[0], "1|{\"a\": true, \"salary\": 7}");
    let (failure, _, rows) = on(b"");
    assert_eq!((failure, &rows[0][..]), (0, "1|{\"salary\": 100}"));
    // No place for it.
    let (failure, message, rows) = on(b"\x00\x03$.b\x03\x05\x07\x00");
    assert_eq!((failure, &rows[0][..]), (3648, "1|{\"salary\": 100}"));
    let said = "Could not execute Update_rows_partial event on table d.t; Could not apply JSON diff in table t, column jd., Error_code: 3648; ";
    assert!(message.contains(said), "{message}");
    // No change: an operation, a path, a value that there is not, and all that ends early.
    let good = b"\x00\x08$.salary\x03\x05\x07\x00";
    let mut bad: Vec<Vec<u8>> = (1..good.len()).map(|n| good[..n].to_vec()).collect();
    bad.push(b"\x03\x08$.salary\x03\x05\x07\x00".to_vec());
    bad.push(b"\x00\x03a.b\x03\x05\x07\x00".to_vec());
    bad.push(b"\x00\x03$.\xFF\x03\x05\x07\x00".to_vec());
    bad.push(b"\x00\x08$.salary\x00".to_vec());
    bad.push(b"\x00\x08$.salary\x02\x04\x09".to_vec());
    bad.push(b"\x00\xFB$.salary\x03\x05\x07\x00".to_vec());
    let said = "Could not execute Update_rows_partial event on table d.t; Corrupted JSON diff for table t, column jd., Error_code: 3649; ";
    for change in bad.iter().step_by(3).chain(bad.iter().rev().take(6)) {
        let (failure, message, rows) = on(change);
        assert_eq!(
            (failure, &rows[0][..]),
            (3649, "1|{\"salary\": 100}"),
            "{change:?}"
        );
        assert!(message.contains(said), "{message}");
    }
    // An option that there is not; bits that are not there. And no parts at all: a whole document that is none.
    for bits in [&[2, 1][..], &[0xFB], &[1], &[0]] {
        let event = minimal(bits, good);
        let (failure, _, rows) = applied(", PRIMARY KEY (customer_id)", &|f| {
            salaries(f);
            parts(f, &event);
        });
        assert!(
            failure != 0 && rows[0] == "1|{\"salary\": 100}",
            "{bits:?} {failure}"
        );
    }
}

#[test]
fn there_is_nothing_to_change_in_null() {
    let mut event = minimal(&[1, 1], b"\x00\x03$.a\x03\x05\x07\x00");
    event[14] = 10;
    let (failure, _, rows) = applied(", PRIMARY KEY (customer_id)", &|f| {
        salaries(f);
        parts(f, &event);
    });
    assert_eq!((failure, &rows[5][..]), (3648, "10|NULL"));
}
