//! Tests of SET and of reading, against MySQL's numbers and texts.

use base::lock::Mutex;
use std::sync::Arc;

use types::Isolation;

use super::*;

fn session() -> SessionVars {
    SessionVars::new(&Arc::new(GlobalVars::new()))
}

fn text(s: &str) -> VarInput {
    VarInput::Text(s.to_owned())
}

fn shown(s: &SessionVars, name: &str) -> String {
    s.rows(ReadScope::Session)
        .find(|(n, _)| *n == name)
        .map(|(_, v)| v)
        .unwrap_or_default()
}

#[test]
fn errors_have_mysqls_numbers_and_texts() {
    let mut s = session();
    let cases = [
        (
            "nope",
            VarInput::Int(1),
            1193,
            "Unknown system variable 'nope'",
        ),
        (
            "autocommit",
            VarInput::Int(7),
            1231,
            "Variable 'autocommit' can't be set to the value of '7'",
        ),
        (
            "sql_mode",
            text("STRICT_ALL_TABLES,bad"),
            1231,
            "Variable 'sql_mode' can't be set to the value of 'bad'",
        ),
        (
            "wait_timeout",
            text("abc"),
            1232,
            "Incorrect argument type to variable 'wait_timeout'",
        ),
        (
            "version",
            text("9"),
            1238,
            "Variable 'version' is a read only variable",
        ),
        (
            "max_connections",
            VarInput::Int(9),
            1229,
            "Variable 'max_connections' is a GLOBAL variable and should be set with SET GLOBAL",
        ),
        (
            "character_set_client",
            text("klingon"),
            1115,
            "Unknown character set: 'klingon'",
        ),
        (
            "collation_connection",
            text("klingon_ci"),
            1273,
            "Unknown collation: 'klingon_ci'",
        ),
        (
            "time_zone",
            text("Mars/Olympus"),
            1298,
            "Unknown or incorrect time zone: 'Mars/Olympus'",
        ),
        (
            "max_allowed_packet",
            VarInput::Int(5000),
            1621,
            "SESSION variable 'max_allowed_packet' is read-only. Use SET GLOBAL to assign the value",
        ),
        (
            "character_set_client",
            VarInput::Null,
            1231,
            "Variable 'character_set_client' can't be set to the value of 'NULL'",
        ),
        (
            "transaction_isolation",
            text("CHAOS"),
            1231,
            "Variable 'transaction_isolation' can't be set to the value of 'CHAOS'",
        ),
    ];
    for (name, input, code, message) in cases {
        let e = s.set(name, &input).unwrap_err();
        assert_eq!((e.code(), e.to_string().as_str()), (code, message));
    }
    let g = s.globals().clone();
    let e = g
        .set("last_insert_id", &VarInput::Int(1), SqlMode::DEFAULT)
        .unwrap_err();
    assert_eq!(e.code(), 1228);
    let e = SessionVars::resolve("max_connections", Some(ReadScope::Session)).unwrap_err();
    assert_eq!(
        e.to_string(),
        "Variable 'max_connections' is a GLOBAL variable"
    );
}

#[test]
fn a_session_keeps_what_it_began_with() {
    let g = Arc::new(GlobalVars::new());
    let old = SessionVars::new(&g);
    g.set("wait_timeout", &VarInput::Int(77), SqlMode::DEFAULT)
        .unwrap();
    let new = SessionVars::new(&g);
    assert_eq!(
        (old.hot().wait_timeout, new.hot().wait_timeout),
        (28_800, 77)
    );
    g.set("max_connections", &VarInput::Int(500), SqlMode::DEFAULT)
        .unwrap();
    assert_eq!(
        old.value_by_name("max_connections"),
        Some(VarValue::Uint(500))
    );
    assert_eq!(g.hot().max_connections(), 500);
}

#[test]
fn hot_fields_follow_set() {
    let mut s = session();
    s.set("autocommit", &text("off")).unwrap();
    s.set("tx_isolation", &text("read-committed")).unwrap();
    s.set("sql_mode", &text("")).unwrap();
    s.set("time_zone", &text("+5:30")).unwrap();
    assert!(!s.hot().autocommit);
    assert_eq!(s.hot().isolation, Isolation::ReadCommitted);
    assert_eq!(s.hot().sql_mode.bits(), 0);
    let zone = s.hot().time_zone.zone(types::temporal::Zone::UTC);
    assert_eq!(zone, types::temporal::Zone::Fixed(19_800));
    assert_eq!(shown(&s, "time_zone"), "+05:30");
    assert_eq!(shown(&s, "transaction_isolation"), "READ-COMMITTED");
    s.set("autocommit", &VarInput::Default).unwrap();
    assert!(s.hot().autocommit);
    s.reset();
    assert_eq!(s.hot().isolation, Isolation::RepeatableRead);
}

#[test]
fn numbers_are_brought_within_limits_with_a_warning() {
    let mut s = session();
    let w = s
        .set("innodb_lock_wait_timeout", &VarInput::Int(0))
        .unwrap();
    assert_eq!(
        w.map(|w| (w.code, w.message)),
        Some((
            1292,
            "Truncated incorrect innodb_lock_wait_timeout value: '0'".to_owned()
        ))
    );
    assert_eq!(s.hot().lock_wait_timeout, 1);
    s.set("sql_mode", &text("STRICT_ALL_TABLES")).unwrap();
    let e = s.set("wait_timeout", &VarInput::Int(0)).unwrap_err();
    assert_eq!(e.code(), 1231);
}

#[test]
fn charset_and_collation_move_together() {
    let mut s = session();
    s.set_names("utf8mb4", Some("utf8mb4_general_ci")).unwrap();
    assert_eq!(&*s.text("collation_connection"), "utf8mb4_general_ci");
    assert_eq!(&*s.text("character_set_connection"), "utf8mb4");
    s.set_names("UTF8MB4", None).unwrap();
    assert_eq!(&*s.text("collation_connection"), "utf8mb4_0900_ai_ci");
    s.set("character_set_results", &VarInput::Null).unwrap();
    assert_eq!(
        s.value_by_name("character_set_results"),
        Some(VarValue::Null)
    );
    let e = s.set_names("latin1", Some("utf8mb4_bin")).unwrap_err();
    assert_eq!(e.code(), 1253);
    s.set_names("binary", None).unwrap();
    assert_eq!(&*s.text("character_set_client"), "binary");
}

#[test]
fn selected_values_are_typed() {
    let s = session();
    let get = |n: &str| {
        let id = lookup(n).unwrap();
        s.selected(id, None)
    };
    assert_eq!(get("autocommit"), VarValue::Int(1));
    assert_eq!(
        get("transaction_isolation"),
        VarValue::text("REPEATABLE-READ")
    );
    assert_eq!(get("max_allowed_packet"), VarValue::Uint(67_108_864));
    assert_eq!(get("query_cache_type"), VarValue::text("OFF"));
    assert_eq!(get("long_query_time"), VarValue::Double(10.0));
    assert_eq!(shown(&s, "long_query_time"), "10.000000");
    assert!(shown(&s, "optimizer_switch").starts_with("index_merge=on,index_merge_union=on"));
}

#[test]
fn options_take_suffixes_and_read_only_variables() {
    let g = GlobalVars::new();
    g.set_option("innodb-buffer-pool-size", "4G").unwrap();
    assert_eq!(
        g.value_by_name("innodb_buffer_pool_size"),
        Some(VarValue::Uint(4 << 30))
    );
    g.set_option("innodb_flush_method", "O_DIRECT_NO_FSYNC")
        .unwrap();
    g.set_option("autocommit", "0").unwrap();
    g.set_option("port", "3307").unwrap();
    assert!(
        g.set_option("innodb_thread_concurrency", "8")
            .unwrap()
            .def()
            .inert
    );
    assert_eq!(
        g.set_option("no-such-option", "1").unwrap_err().code(),
        1193
    );
    assert_eq!(g.set_option("port", "x").unwrap_err().code(), 1231);
}

#[test]
fn observers_see_changes() {
    let g = GlobalVars::new();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    g.observe(move |n, v| log.lock().push((n, v.clone())));
    g.set(
        "innodb_flush_log_at_trx_commit",
        &VarInput::Int(2),
        SqlMode::DEFAULT,
    )
    .unwrap();
    assert_eq!(g.hot().flush_log_at_trx_commit(), 2);
    assert_eq!(
        *seen.lock(),
        [("innodb_flush_log_at_trx_commit", VarValue::Uint(2))]
    );
}

#[test]
fn one_transaction_settings_are_used_once() {
    let mut s = session();
    s.set_next_isolation(Isolation::Serializable);
    assert_eq!(s.begin_transaction(), (Isolation::Serializable, false));
    assert_eq!(s.begin_transaction(), (Isolation::RepeatableRead, false));
}

#[test]
fn switches_change_one_by_one() {
    let mut s = session();
    s.set(
        "optimizer_switch",
        &text("index_merge=off,hash_join=default"),
    )
    .unwrap();
    assert!(shown(&s, "optimizer_switch").starts_with("index_merge=off,index_merge_union=on"));
    s.set("optimizer_switch", &text("default")).unwrap();
    assert!(shown(&s, "optimizer_switch").starts_with("index_merge=on,"));
    assert_eq!(
        s.set("optimizer_switch", &text("magic=on"))
            .unwrap_err()
            .code(),
        1231
    );
}

#[test]
fn status_counts_add_up() {
    struct One;
    impl StatusSource for One {
        fn report(&self, out: &mut dyn FnMut(&str, StatusValue)) {
            out("Questions", StatusValue::Count(2));
        }
    }
    let r = StatusRegistry::new();
    r.register(Arc::new(One));
    r.register(Arc::new(One));
    let get = |rows: &[(String, String)], n: &str| {
        rows.iter().find(|(k, _)| k == n).map(|(_, v)| v.clone())
    };
    assert_eq!(get(&r.rows(None), "Questions").as_deref(), Some("4"));
    assert_eq!(get(&r.rows(Some(&One)), "Questions").as_deref(), Some("2"));
    assert_eq!(get(&r.rows(None), "Uptime").as_deref(), Some("0"));
}

#[test]
fn a_fixed_variable_takes_its_default_alone() {
    let g = GlobalVars::new();
    for (name, right, wrong) in [
        ("replica_preserve_commit_order", "ON", "OFF"),
        ("slave_preserve_commit_order", "1", "0"),
        ("replica_parallel_type", "LOGICAL_CLOCK", "DATABASE"),
    ] {
        assert!(g.set_option(name, right).is_ok(), "{name}");
        assert_eq!(g.set_option(name, wrong).unwrap_err().code(), 1231);
    }
}

#[test]
fn a_limit_for_joins_is_kept_by_whoever_begins_with_it() {
    let globals = Arc::new(GlobalVars::new());
    let big = |s: &SessionVars| s.hot().big_selects;
    assert!(big(&SessionVars::new(&globals)));
    globals.set_option("max-join-size", "5").unwrap();
    let mut s = SessionVars::new(&globals);
    assert!(!big(&s));
    s.set("sql_big_selects", &VarInput::Int(1)).unwrap();
    assert!(big(&s));
    s.set("max_join_size", &VarInput::Default).unwrap();
    assert!(!big(&s), "the server's value is a limit");
    let all = VarInput::Uint(u64::MAX);
    globals
        .set("max_join_size", &all, SqlMode::from_bits(0))
        .unwrap();
    assert!(big(&SessionVars::new(&globals)));
    // What a hint has changed is put back, what follows it too.
    let mut s = SessionVars::new(&globals);
    let mut kept = Kept::default();
    s.keep(lookup("max_join_size").unwrap(), &mut kept);
    s.set("max_join_size", &VarInput::Int(5)).unwrap();
    assert!(!big(&s));
    s.put_back(kept);
    assert!(big(&s) && s.hot().max_join_size == u64::MAX);
}
