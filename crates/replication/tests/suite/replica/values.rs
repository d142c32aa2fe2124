//! What a replica makes of documents, and of settings that are no more.

use super::*;

/// Two columns: a number, and a document.
fn documents(f: &mut File, rows: &[(i64, &[u8])]) {
    let mut map = map(0);
    map.columns[1].ty = ColumnType::of(&DataType::Json).expect("a type");
    f.event(kind::TABLE_MAP, |out| map.write(Metadata::Minimal, out));
    let all = [true, true];
    f.event(kind::WRITE_ROWS, |out| {
        put_front(map.id, rows::flag::STATEMENT_END, &all, None, out);
        for (id, document) in rows {
            let row = [Value::Int(*id), Value::Bytes(document.to_vec())];
            put_image(&map, &all, |c| row[c].as_ref(), out).expect("values of their types");
        }
    });
}

#[test]
fn documents_of_a_source_are_read() {
    let applied = |column: &str, fill: &dyn Fn(&mut File)| {
        let mut f = File::new(Checksum::Crc32, 20);
        f.statement("CREATE DATABASE d");
        f.statement(&format!(
            "CREATE TABLE t (id INT, a {column}, g INT AS (JSON_EXTRACT(a, '$.a')))"
        ));
        f.begin(0);
        f.query("BEGIN");
        fill(&mut f);
        f.commit();
        let end = f.bytes.len();
        let port = serve("8.0.35", f.bytes);
        let (_engine, instance) = server(&Arc::new(MemDisk::default()));
        let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
        begin(&instance, port);
        let facts = settled(&replica, end);
        let rows = run(
            &instance,
            "SELECT CONCAT_WS('|', id, a, g) FROM d.t ORDER BY id",
        );
        block_on(replica.stop());
        let shown = |v: &Value| {
            String::from_utf8_lossy(v.as_ref().as_bytes().unwrap_or_default()).into_owned()
        };
        let rows: Vec<String> = rows.iter().map(|r| shown(&r[0])).collect();
        (facts.applier_failure.number, rows)
    };
    let object: &[u8] = &[0, 1, 0, 12, 0, 11, 0, 1, 0, 5, 7, 0, b'a'];
    let good = |f: &mut File| documents(f, &[(1, object), (2, &[]), (3, &[12, 2, 0xC3, 0xA9])]);
    let (failure, rows) = applied("JSON", &good);
    assert_eq!(failure, 0);
    assert_eq!(rows, ["1|{\"a\": 7}|7", "2|null", "3|\"é\""]);
    // A place that leads nowhere.
    let bad = |f: &mut File| documents(f, &[(1, &[2, 1, 0, 7, 0, 12, 9, 0])]);
    assert_eq!(applied("JSON", &bad), (3142, vec![]));
    // A document is no text.
    assert_eq!(applied("VARCHAR(80)", &good), (1677, vec![]));
    // What is a text there becomes a document as it is stored here, or none.
    let text = |t: &'static str| move |f: &mut File| f.rows(Change::Write, &[(None, row(1, t))]);
    let (failure, rows) = applied("JSON", &text("{\"b\":1,\"a\":2}"));
    assert_eq!((failure, &rows[0][..]), (0, "1|{\"a\": 2, \"b\": 1}|2"));
    assert_eq!(applied("JSON", &text("{")), (3140, vec![]));
}

#[test]
fn modes_that_are_no_more_are_left_out() {
    let mut f = File::new(Checksum::None, 20);
    f.statement("CREATE DATABASE d");
    f.begin(0);
    let query = Query {
        database: b"d",
        statement: b"CREATE TABLE t (\"id\" INT)",
        settings: wire::binlog::query::Settings {
            // ANSI_QUOTES, and of older servers ORACLE, NO_TABLE_OPTIONS, MYSQL40 and NO_AUTO_CREATE_USER.
            sql_mode: Some(1 << 2 | 1 << 9 | 1 << 14 | 1 << 17 | 1 << 28),
            ..wire::binlog::query::Settings::default()
        },
        ..Query::default()
    };
    f.event(kind::QUERY, |out| query.write(out));
    let end = f.bytes.len();
    let port = serve("5.7.44", f.bytes);
    let (_engine, instance) = server(&Arc::new(MemDisk::default()));
    let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
    begin(&instance, port);
    let facts = settled(&replica, end);
    assert_eq!(facts.applier_failure.message, "");
    assert_eq!(number(&instance, ROWS), 0);
    block_on(replica.stop());
}
