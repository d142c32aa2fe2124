//! What is told does not depend on the way a statement takes, or on what the session did before.

use super::*;

/// The rows of a group's events, without the first column, which is what tells two rows apart.
fn images_of(group: &Group) -> Vec<(Image, Image)> {
    let rows = group.events.iter().filter_map(|e| match e {
        Event::Rows { images, .. } => Some(images),
        _ => None,
    });
    let rest = |image: &Image| image[1..].to_vec();
    let images = rows.flatten();
    images.map(|(b, a)| (rest(b), rest(a))).collect()
}

#[test]
fn rows_are_told_alike_whichever_way_a_statement_takes() {
    let columns = "ti TINYINT, su SMALLINT UNSIGNED, me MEDIUMINT, bu BIGINT UNSIGNED, fl FLOAT, dp DOUBLE, de DECIMAL(12,4), bi BIT(11), \
        ye YEAR, da DATE, dt DATETIME(3), ts TIMESTAMP(6) NULL, tm TIME(2), ch CHAR(6), lc CHAR(4) CHARACTER SET latin1, vc VARCHAR(40), bn BINARY(5), \
        vb VARBINARY(9), tt TINYTEXT, tx TEXT, bl BLOB, en ENUM('a','b','c'), se SET('p','q','r'), js JSON, \
        gv BIGINT GENERATED ALWAYS AS (ti + 1) VIRTUAL, gs VARCHAR(50) GENERATED ALWAYS AS (CONCAT(vc, '!')) STORED";
    let sets = [
        "ti = -7, su = 65535, me = -8388608, bu = 18446744073709551615, fl = 1.1, dp = -0.0, de = 12.34567, bi = 1025",
        "ye = 1999, da = '2024-02-29', dt = '2024-02-29 12:00:00.98765', ts = '2024-02-29 12:00:00.987654321', tm = '-838:59:59.99'",
        "ch = 'ab  ', lc = 'é  ', vc = 'ab  ', bn = 'x', vb = 'y\\0', tt = 't ', tx = REPEAT('ä', 200), bl = 'z\\0\\0'",
        "en = 'b', se = 'p,r', js = '{\"b\": [1, 2.50], \"a\": \"x\"}'",
        "fl = 16777217, dp = 0.1, de = -0.00005, tm = '00:00:00.005', ch = '', vc = '', bn = '', en = 3, se = '', ye = 0",
        "ti = NULL, vc = NULL, js = NULL, ts = NULL, bi = NULL, en = NULL, gv = DEFAULT",
        "js = '7', ti = 1, bl = REPEAT('b', 3000), vc = 'w'",
    ];
    let mut server = Server::new();
    let mut c = server.client();
    c.run(&format!(
        "CREATE TABLE w (id INT PRIMARY KEY, {columns}, UNIQUE KEY (id, en))"
    ));
    c.run(&format!("CREATE TABLE n (id INT PRIMARY KEY, {columns})"));
    c.run("SET sql_mode = ''");
    let mut quick_ones = Vec::new();
    for image in ["FULL", "MINIMAL", "NOBLOB"] {
        c.run(&format!("SET binlog_row_image = {image}"));
        for table in ["n", "w"] {
            c.run(&format!("DELETE FROM {table}"));
            c.run(&format!("INSERT INTO {table} (id) VALUES (1),(2)"));
            // One that the rows do not have.
            let add = format!("ALTER TABLE {table} ADD COLUMN x_{image} CHAR(9) DEFAULT 'there'");
            c.run(&add);
            server.groups();
            for set in sets {
                c.run(&format!("UPDATE {table} SET {set} WHERE id = 1"));
                let update = format!("UPDATE {table} SET {set} WHERE id = ?");
                let update = c.0.prepare(update.as_bytes()).expect("a statement").id;
                // The first time it is planned.
                for id in [9, 2] {
                    let quick = c.execute_quick(update, &[Value::Int(id)]);
                    let quick = quick.expect("an update");
                    if quick && id == 2 {
                        quick_ones.push((table, image, set));
                    }
                }
                let groups = server.groups();
                assert_eq!(groups.len(), 2, "{table}, {image}, {set}");
                let [slow, quick] = [&groups[0], &groups[1]].map(images_of);
                assert_eq!(slow.len(), 1, "{table}, {image}, {set}");
                let shown = |i: &_| format!("{i:?}");
                assert_eq!(shown(&slow), shown(&quick), "{table}, {image}, {set}");
                let keys = |n: usize| groups[n].end.keys.as_ref().map(Vec::len);
                assert_eq!(keys(0), keys(1), "{table}, {image}, {set}");
            }
        }
    }
    assert!(quick_ones.len() > 20, "{quick_ones:#?}");
}

#[test]
fn nothing_is_left_of_a_transaction_for_the_next() {
    let mut server = Server::new();
    let mut c = server.client();
    c.run("CREATE TABLE k (id INT PRIMARY KEY, n INT)");
    c.run("CREATE TABLE without (n INT)");
    server.groups();
    let insert = "INSERT INTO k VALUES (1, 1)";
    let end = |server: &mut Server| {
        let groups = server.groups();
        assert_eq!(groups.len(), 1);
        groups[0].end.clone()
    };
    c.run(insert);
    let keys = end(&mut server).keys.expect("its key");
    assert_eq!(keys.len(), 1);
    let before = [
        ("INSERT INTO without VALUES (1)", "COMMIT"),
        ("INSERT INTO without VALUES (1)", "ROLLBACK"),
        ("INSERT INTO k VALUES (2, 2), (3, 3)", "ROLLBACK"),
        ("INSERT INTO k VALUES (4, 4), (5, 5)", "COMMIT"),
    ];
    for (first, how) in before {
        c.run("DELETE FROM k");
        c.run("BEGIN");
        c.run(first);
        c.run(how);
        server.groups();
        c.run("DELETE FROM k WHERE id = 4");
        c.run(insert);
        let of_it = server.groups().pop().expect("a group").end;
        assert_eq!(of_it.keys.as_ref(), Some(&keys), "after {first}, {how}");
    }
}

#[test]
fn a_transaction_begins_with_the_settings_of_its_session() {
    let mut server = Server::new();
    let mut c = server.client();
    c.run("CREATE TABLE k (id INT PRIMARY KEY)");
    let collations = |server: &mut Server| {
        server.stops += 1;
        let stop = format!("CREATE DATABASE stop{}", server.stops);
        server.client().run(&stop);
        let mut follower = server.engine.follow(server.from);
        let mut found = Vec::new();
        loop {
            let group = block_on(follower.next()).unwrap().unwrap();
            let resume = group.resume;
            let bytes = block_on(group.reader(&server.engine).read_all()).unwrap();
            let mut rest = &bytes[..];
            while let Some(Next::Item(item)) = next(&mut rest).unwrap() {
                if item.kind != kind::QUERY {
                    continue;
                }
                let q = Query::read(item.body).unwrap();
                if q.statement == stop.as_bytes() {
                    server.from = resume;
                    return found;
                }
                if q.statement == b"BEGIN" {
                    assert_eq!((q.settings.time_zone, q.settings.invoker), (None, None));
                    found.push(q.settings.collations.expect("collations").2);
                }
            }
        }
    };
    c.run("INSERT INTO k VALUES (1)");
    c.run("SET collation_server = latin1_swedish_ci");
    c.run("INSERT INTO k VALUES (2)");
    c.run("SET character_set_server = utf8mb4");
    c.run("INSERT INTO k VALUES (3)");
    c.run("SET GLOBAL collation_server = utf8mb4_bin");
    c.run("INSERT INTO k VALUES (4)");
    let mut other = server.client();
    other.run("INSERT INTO k VALUES (5)");
    assert_eq!(collations(&mut server), [255, 8, 255, 255, 46]);
}
