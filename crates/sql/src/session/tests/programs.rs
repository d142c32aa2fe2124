//! Stored programs: with whose rights they run, what ends them, and that a session is after a call what it was before.

use super::access::stage;
use super::limits::killed;
use super::*;
use crate::session::ClientFlags;

/// The rows of the last result of a CALL that has any.
fn called(c: &mut Client, sql: &str) -> Vec<Vec<String>> {
    let results = c.try_all(sql).expect(sql);
    let rows = results.iter().rev().find(|r| !r.columns.is_empty());
    rows.map(texts).unwrap_or_default()
}

#[test]
fn a_procedure_has_the_rights_of_its_definer() {
    let (s, mut root) = stage();
    root.run("CREATE PROCEDURE a.p() SELECT secret, CURRENT_USER() FROM a.t WHERE id = 1");
    root.run("CREATE PROCEDURE a.i() SQL SECURITY INVOKER SELECT secret FROM a.t WHERE id = 1");
    let mut u = Client::of(&s, "u");
    assert_eq!(u.error("CALL a.p()"), 1370);
    assert_eq!(u.error("CALL a.nobody()"), 1370);
    root.run("GRANT EXECUTE ON PROCEDURE a.p TO u@localhost");
    assert_eq!(called(&mut u, "CALL a.p()"), [["100", "root@localhost"]]);
    // Planned before, and with the rights of the call.
    assert_eq!(called(&mut u, "CALL a.p()"), [["100", "root@localhost"]]);
    assert_eq!(u.error("SELECT secret FROM a.t"), 1142);
    assert_eq!(u.one("SELECT CURRENT_USER()"), "u@localhost");
    assert_eq!(u.error("CALL a.i()"), 1370);
    root.run("GRANT EXECUTE ON a.* TO u@localhost");
    assert_eq!(u.error("CALL a.i()"), 1142);
    // Whoever has the right runs the same procedure, before and behind one who has not.
    assert_eq!(called(&mut root, "CALL a.i()"), [["100"]]);
    assert_eq!(u.error("CALL a.i()"), 1142);
    root.run("REVOKE EXECUTE ON a.* FROM u@localhost");
    root.run("REVOKE EXECUTE ON PROCEDURE a.p FROM u@localhost");
    assert_eq!(u.error("CALL a.p()"), 1370);
}

#[test]
fn what_is_called_inside_is_checked_too() {
    let (s, mut root) = stage();
    root.run(
        "CREATE PROCEDURE a.inner_one() SQL SECURITY INVOKER SELECT secret FROM a.t WHERE id = 1",
    );
    root.run("GRANT CREATE ROUTINE ON a.* TO u@localhost");
    let mut u = Client::of(&s, "u");
    u.run("CREATE PROCEDURE a.outer_one() CALL a.inner_one()");
    assert_eq!(u.error("CALL a.outer_one()"), 1370);
    // The definer's rights are the limit for whoever calls.
    assert_eq!(root.error("CALL a.outer_one()"), 1370);
    root.run("GRANT EXECUTE ON PROCEDURE a.inner_one TO u@localhost");
    assert_eq!(root.error("CALL a.outer_one()"), 1142);
    root.run("CREATE PROCEDURE a.lends() CALL a.inner_one()");
    root.run("GRANT EXECUTE ON PROCEDURE a.lends TO u@localhost");
    assert_eq!(called(&mut u, "CALL a.lends()"), [["100"]]);
    assert_eq!(u.error("CALL a.inner_one()"), 1142);
}

#[test]
fn nothing_of_a_definers_rights_is_left_behind() {
    let (s, mut root) = stage();
    root.run(
        "CREATE PROCEDURE a.leaves() BEGIN PREPARE kept FROM 'SELECT secret FROM a.t'; EXECUTE kept; \
         SET ROLE NONE; SELECT secret FROM a.t; SIGNAL SQLSTATE '45000'; END",
    );
    root.run("GRANT EXECUTE ON PROCEDURE a.leaves TO u@localhost");
    let mut u = Client::of(&s, "u");
    assert_eq!(u.error("CALL a.leaves()"), 1644);
    assert_eq!(u.error("EXECUTE kept"), 1142);
    assert_eq!(u.error("SELECT secret FROM a.t"), 1142);
    assert_eq!(u.one("SELECT CURRENT_USER()"), "u@localhost");
    // What changes for the accounts meanwhile is in force behind the call.
    root.run(
        "CREATE PROCEDURE a.grants() BEGIN GRANT SELECT ON a.u TO u@localhost; SELECT secret FROM a.t; END",
    );
    root.run("GRANT EXECUTE ON PROCEDURE a.grants TO u@localhost");
    assert_eq!(u.error("SELECT w FROM a.u"), 1142);
    u.run("CALL a.grants()");
    assert_eq!(u.one("SELECT w FROM a.u"), "5");
    assert_eq!(u.error("SELECT secret FROM a.t"), 1142);
}

#[test]
fn a_definer_that_is_gone_is_named() {
    let (s, mut root) = stage();
    root.run("CREATE USER d@localhost");
    root.run("GRANT ALL ON a.* TO d@localhost");
    root.run("CREATE DEFINER = d@localhost PROCEDURE a.p() SELECT COUNT(*) FROM a.t");
    assert_eq!(called(&mut root, "CALL a.p()"), [["2"]]);
    root.run("DROP USER d@localhost");
    assert_eq!(root.error("CALL a.p()"), 1449);
    let mut u = Client::of(&s, "u");
    root.run("GRANT EXECUTE, CREATE ROUTINE ON a.* TO u@localhost");
    assert_eq!(u.error("CALL a.p()"), 1449);
    assert_eq!(
        u.error("CREATE DEFINER = root@localhost PROCEDURE a.q() SELECT 1"),
        1227
    );
    root.run("CREATE DEFINER = nobody@localhost PROCEDURE a.q() SELECT 1");
    assert_eq!(root.rows("SHOW WARNINGS")[0][1], "1449");
}

#[test]
fn whoever_makes_a_procedure_may_run_and_drop_it() {
    let (s, mut root) = stage();
    let mut u = Client::of(&s, "u");
    assert_eq!(u.error("CREATE PROCEDURE a.mine() SELECT 1"), 1044);
    root.run("GRANT CREATE ROUTINE ON a.* TO u@localhost");
    u.run("CREATE PROCEDURE a.mine() SELECT 1");
    assert_eq!(called(&mut u, "CALL a.mine()"), [["1"]]);
    u.run("ALTER PROCEDURE a.mine COMMENT 'x'");
    let grants = u.rows("SHOW GRANTS");
    assert!(
        grants
            .iter()
            .any(|g| g[0].contains("ON PROCEDURE `a`.`mine`")),
        "{grants:?}"
    );
    u.run("DROP PROCEDURE a.mine");
    let grants = u.rows("SHOW GRANTS");
    assert!(!grants.iter().any(|g| g[0].contains("mine")), "{grants:?}");
    root.run("CREATE PROCEDURE a.mine() SELECT 2");
    assert_eq!(u.error("CALL a.mine()"), 1370);
    assert_eq!(u.error("DROP PROCEDURE a.mine"), 1370);
    assert_eq!(u.error("ALTER PROCEDURE a.mine COMMENT 'y'"), 1370);
    root.run("SET GLOBAL automatic_sp_privileges = 0");
    u.run("CREATE PROCEDURE a.bare() SELECT 1");
    assert_eq!(u.error("CALL a.bare()"), 1370);
    root.run("SET GLOBAL automatic_sp_privileges = 1");
}

#[test]
fn a_kill_is_taken_by_no_handler() {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE t (id INT)");
    let handler = "DECLARE CONTINUE HANDLER FOR SQLEXCEPTION, SQLWARNING, NOT FOUND BEGIN END;";
    for (name, body) in [
        ("idles", "l: LOOP ITERATE l; END LOOP;"),
        ("sets", "WHILE TRUE DO SET @x = 1; END WHILE;"),
        ("assigns", "REPEAT SET x = x + 1; UNTIL x < 0 END REPEAT;"),
        (
            "selects",
            "WHILE TRUE DO SELECT COUNT(*) INTO x FROM t; END WHILE;",
        ),
        (
            "fails",
            "WHILE TRUE DO INSERT INTO nowhere VALUES (1); END WHILE;",
        ),
        (
            "signals",
            "WHILE TRUE DO SIGNAL SQLSTATE '45000'; END WHILE;",
        ),
        ("sleeps", "DO SLEEP(100); DO SLEEP(100);"),
    ] {
        c.run(&format!(
            "CREATE PROCEDURE {name}() BEGIN DECLARE x BIGINT DEFAULT 0; {handler} {body} END"
        ));
        let (code, after) = killed(&mut c, &format!("CALL {name}()"));
        assert_eq!(code, 1317, "{name}");
        assert!(after.as_secs() < 5, "{name}: {after:?}");
        assert_eq!(c.one("SELECT 1"), "1");
    }
}

#[test]
fn a_session_is_after_a_call_what_it_was_before() {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("CREATE DATABASE other");
    c.run("SET sql_mode = 'ANSI_QUOTES', NAMES latin1");
    c.run("CREATE PROCEDURE other.p(fail INT) BEGIN SELECT DATABASE(), @@sql_mode, @@character_set_client; SET sql_mode = 'PIPES_AS_CONCAT'; SET @@sql_safe_updates = 1; IF fail THEN SIGNAL SQLSTATE '45000'; END IF; END");
    c.run("SET sql_mode = '', NAMES utf8mb4");
    for fail in [0, 1] {
        c.run("SET sql_safe_updates = 0");
        let mut sink = Collector::new();
        let text = format!("CALL other.p({fail})");
        let outcome = block_on(c.session.execute(text.as_bytes(), &mut sink));
        assert_eq!(outcome.map_err(|e| e.code), [Ok(()), Err(1644)][fail]);
        let rows = texts(&sink.results[0]);
        assert_eq!(rows, [["other", "ANSI_QUOTES", "latin1"]]);
        assert!(sink.results[0].done.more);
        let after =
            c.rows("SELECT DATABASE(), @@sql_mode, @@character_set_client, @@sql_safe_updates");
        assert_eq!(after, [["test", "", "utf8mb4", "1"]]);
    }
}

#[test]
fn what_a_prepared_call_gives_back_is_a_result() {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("CREATE PROCEDURE p(IN a INT, OUT b VARCHAR(9), INOUT d INT) BEGIN SELECT a; SET b = 'given'; SET d = d + a; END");
    let info = c.session.prepare(b"CALL p(?, ?, ?)").expect("a statement");
    assert_eq!(info.params, 3);
    for n in 0..2 {
        let mut sink = Collector::new();
        let params = [Value::Int(n), Value::Null, Value::Int(40)];
        let done = block_on(c.session.execute_prepared(info.id, &params, &mut sink));
        done.expect("a call");
        let results = sink.results;
        assert_eq!(results.len(), 3);
        assert_eq!(texts(&results[0]), [[n.to_string()]]);
        assert_eq!(
            texts(&results[1]),
            [["given".to_owned(), (40 + n).to_string()]]
        );
        assert!(results[1].done.out_params && results[1].done.more);
        assert!(!results[0].done.out_params && !results[2].done.more);
    }
}

#[test]
fn a_client_of_one_result_gets_no_rows_of_a_procedure() {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("CREATE PROCEDURE rows_of() SELECT 1");
    c.run("CREATE PROCEDURE nothing() DO 1");
    c.session.set_client(ClientFlags {
        multi_results: false,
        ..ClientFlags::default()
    });
    assert_eq!(c.error("CALL rows_of()"), 1312);
    assert_eq!(c.error("CALL nothing()"), 0);
}

#[test]
fn what_a_procedure_keeps_is_held_to_the_sessions_memory() {
    let (s, mut root) = stage();
    root.run("CREATE TABLE a.big (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(1000))");
    root.run("INSERT INTO a.big (v) VALUES (REPEAT('x', 1000))");
    for _ in 0..12 {
        root.run("INSERT INTO a.big (v) SELECT v FROM a.big");
    }
    let handler = "DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;";
    root.run(&format!("CREATE PROCEDURE a.all_rows() BEGIN DECLARE c CURSOR FOR SELECT v FROM a.big; {handler} OPEN c; END"));
    root.run(&format!("CREATE PROCEDURE a.grows() BEGIN DECLARE x LONGTEXT DEFAULT 'x'; {handler} WHILE TRUE DO SET x = CONCAT(x, x); END WHILE; END"));
    root.run("GRANT EXECUTE ON a.* TO u@localhost");
    root.run("SET GLOBAL connection_memory_limit = 2097152");
    for name in ["all_rows", "grows"] {
        let mut u = Client::of(&s, "u");
        assert_eq!(u.error(&format!("CALL a.{name}()")), 4082, "{name}");
    }
}

#[test]
fn calls_end_before_the_stack_does() {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("SET max_sp_recursion_depth = 255");
    c.run("CREATE PROCEDURE a(n INT) BEGIN IF n > 0 THEN CALL b(n - 1); ELSE SELECT 'end'; END IF; END");
    c.run("CREATE PROCEDURE b(n INT) BEGIN IF n > 0 THEN CALL a(n - 1); ELSE SELECT 'end'; END IF; END");
    assert_eq!(called(&mut c, "CALL a(250)"), [["end"]]);
    assert_eq!(c.error("CALL a(400)"), 1436);
    c.run("CREATE PROCEDURE e() BEGIN PREPARE s FROM 'CALL e()'; EXECUTE s; END");
    assert_eq!(c.error("CALL e()"), 1456);
    assert_eq!(c.one("SELECT 1"), "1");
}

#[test]
fn a_deadlock_has_undone_the_transaction_before_a_handler_runs() {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)");
    c.run("CREATE TABLE log (v INT)");
    c.run("INSERT INTO t VALUES (1, 0), (2, 0)");
    c.run(
        "CREATE PROCEDURE meet(x INT, y INT) BEGIN \
         DECLARE EXIT HANDLER FOR 1213 INSERT INTO log VALUES (x); \
         START TRANSACTION; UPDATE t SET v = v + x WHERE id = x; DO SLEEP(0.05); UPDATE t SET v = v + x WHERE id = y; COMMIT; END",
    );
    for _ in 0..20 {
        c.run("UPDATE t SET v = 0");
        c.run("DELETE FROM log");
        let call = |x: u32, y: u32| {
            let s = Arc::clone(&s);
            std::thread::spawn(move || {
                let mut own = Client::in_test(&s);
                own.run(&format!("CALL meet({x}, {y})"));
                assert_eq!(own.one("SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id = CONNECTION_ID() AND trx_query IS NULL"), "0");
            })
        };
        let threads = [call(1, 2), call(2, 1)];
        threads
            .into_iter()
            .for_each(|t| t.join().expect("a thread"));
        // Each has added its number to both rows, or to none and to the list.
        let undone = c.one("SELECT IFNULL(SUM(v), 0) FROM log");
        let left = 3 - undone.parse::<i32>().expect("a number");
        let rows = c.rows("SELECT v FROM t ORDER BY id");
        assert_eq!(rows, [[left.to_string()], [left.to_string()]], "{undone}");
    }
}
