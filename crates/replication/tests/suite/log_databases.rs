//! `binlog_do_db` and `binlog_ignore_db`: of which databases changes are kept.

use crate::groups;
mod no_room;

use std::path::Path;
use std::sync::Arc;

use base::block_on;
use base::mem::{MemDisk, environment};
use engine::{Engine, EngineOptions};
use replication::changes::{Changes, Databases};
use replication::group::End;
use sql::{Instance, InstanceOptions, Session};
use sql_expr::vars::GlobalVars;
use types::gtid::{Gtid, Origin, Sid};

struct Server {
    instance: Arc<Instance>,
    engine: Arc<Engine>,
    from: engine::GroupPosition,
}

fn server(only: &[&str], ignored: &[&str]) -> Server {
    let environment = environment(Arc::new(MemDisk::default()));
    let options = EngineOptions {
        keep_log: true,
        ..EngineOptions::default()
    };
    let opened = Engine::open(environment.clone(), Path::new("/data"), options);
    let engine = block_on(opened).expect("an engine");
    let (globals, options) = (Arc::new(GlobalVars::new()), InstanceOptions::default());
    let instance = Instance::open(engine.clone(), &environment, globals, options);
    let instance = block_on(instance).expect("an instance");
    let list = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
    let databases = Databases {
        only: list(only),
        ignored: list(ignored),
    };
    let mut s = Session::of_the_server(&instance, 1);
    for database in ["a", "b"] {
        block_on(s.query(&format!("CREATE DATABASE {database}"))).expect("a database");
        block_on(s.query(&format!("CREATE TABLE {database}.t (n INT PRIMARY KEY)")))
            .expect("a table");
    }
    block_on(s.close());
    instance.log_changes_in(Changes::of(&engine, databases));
    let from = engine.end_of_groups();
    Server {
        instance,
        engine,
        from,
    }
}

impl Server {
    fn groups(&self) -> Vec<(String, End)> {
        groups::groups(&self.instance, &self.engine, self.from)
    }

    fn run(&self, statements: &[&str]) {
        let mut s = Session::of_the_server(&self.instance, 3);
        for sql in statements {
            block_on(s.query(sql)).unwrap_or_else(|e| panic!("{sql}: {e}"));
        }
        block_on(s.close());
    }
}

/// In each database by rows and by statements, with the other as the default one.
const DONE: [&str; 10] = [
    "USE b",
    "INSERT INTO a.t VALUES (1)",
    "CREATE TABLE a.x (n INT)",
    "USE a",
    "INSERT INTO b.t VALUES (1)",
    "CREATE TABLE b.y (n INT)",
    "BEGIN; INSERT INTO a.t VALUES (2); INSERT INTO b.t VALUES (2); UPDATE a.t SET n = n + 10; COMMIT",
    "ALTER DATABASE CHARACTER SET utf8mb4",
    "DROP DATABASE b",
    "CREATE USER u",
];

#[test]
fn rows_go_by_their_table_and_statements_by_the_default_database() {
    for (only, ignored, expected) in [
        (
            &["a"][..],
            &["a"][..],
            &[
                "BEGIN a",
                "CREATE TABLE b.y (n INT)",
                "BEGIN a a",
                "ALTER DATABASE CHARACTER SET utf8mb4",
                "CREATE USER u",
            ][..],
        ),
        (
            &[],
            &["a"],
            &[
                "CREATE TABLE a.x (n INT)",
                "BEGIN b",
                "BEGIN b",
                "DROP DATABASE b",
            ],
        ),
        (&["c"], &[], &[]),
        (
            &[],
            &["c"],
            &[
                "BEGIN a",
                "CREATE TABLE a.x (n INT)",
                "BEGIN b",
                "CREATE TABLE b.y (n INT)",
                "BEGIN a b a",
                "ALTER DATABASE CHARACTER SET utf8mb4",
                "DROP DATABASE b",
                "CREATE USER u",
            ],
        ),
    ] {
        let server = server(only, ignored);
        server.run(&DONE);
        let said: Vec<String> = server.groups().into_iter().map(|(said, _)| said).collect();
        assert_eq!(said, expected, "{only:?} {ignored:?}");
        block_on(server.engine.abandon());
    }
}

/// What another server has called is here by that name, whatever of it is kept.
#[test]
fn a_name_of_another_server_is_kept() {
    let server = server(&[], &["a"]);
    let mut s = Session::of_the_applier(&server.instance, 4);
    s.set_applied_kept(true).expect("a variable");
    let named = |number| Gtid {
        sid: Sid([5; 16]),
        number,
    };
    for (number, sql) in (1..).zip([
        "CREATE TABLE a.z (n INT)",
        "INSERT INTO a.t VALUES (9)",
        "DROP TABLE b.t",
    ]) {
        s.set_applied_origin(Some(Origin {
            gtid: Some(named(number)),
            server_id: 5,
            committed_micros: 0,
            version: 0,
            anonymous: false,
        }));
        let database = if number == 3 { "b" } else { "a" };
        s.set_applied_database(database);
        if number == 2 {
            s.begin_applied();
        }
        let mut nobody = sql::sink::Collector::new();
        block_on(s.execute(sql.as_bytes(), &mut nobody)).unwrap_or_else(|e| panic!("{sql}: {e}"));
        if number == 2 {
            block_on(s.commit_applied()).expect("a commit");
        }
    }
    block_on(s.close());
    let groups = server.groups();
    let of =
        |(said, end): &(String, End)| (said.clone(), end.gtid.map(|g| g.number), end.statement);
    assert_eq!(
        groups.iter().map(of).collect::<Vec<_>>(),
        [
            ("BEGIN".to_owned(), Some(1), false),
            ("BEGIN".to_owned(), Some(2), false),
            (
                "DROP TABLE `b`.`t` /* generated by server */".to_owned(),
                Some(3),
                true
            ),
        ]
    );
    block_on(server.engine.abandon());
}
