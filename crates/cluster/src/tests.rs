//! Histories that are told and not drawn: what has to happen between two servers for a fault to show.

use sim::disk::Cut;
use sql::context::replica::Replica;
use types::gtid::GtidSet;

use crate::cluster::{Cluster, HOSTS, empty};
use crate::net::Host;

/// Runs statements that have to succeed.
fn all_of(c: &mut Cluster, host: Host, statements: &[&str]) {
    for sql in statements {
        c.must(host, sql).unwrap();
    }
}

fn all_of_source(c: &mut Cluster, statements: &[&str]) {
    all_of(c, c.source, statements);
}

/// Starts a server, and waits until it is up: a start may be cut short.
fn starts(c: &mut Cluster, host: Host) {
    c.until("it starts", |c| {
        c.start(host);
        c.nodes[host].up().is_some()
    })
    .unwrap();
}

/// Whether a replica's place says that a definition was begun there, and not that it took place.
fn is_within_a_definition(c: &mut Cluster, host: Host) -> bool {
    let sql = "SELECT COUNT(*) FROM mysql.replica_applier_position WHERE unfinished_definition IS NOT NULL";
    crate::client::text(&c.must(host, sql).unwrap()) == "1"
}

/// Waits until a server has what the source has.
fn catches_up(c: &mut Cluster, host: Host) {
    let wanted = c.executed(c.source).unwrap();
    c.until("it catches up", |c| {
        c.start(host);
        let up = c.nodes[host].up();
        let has = |up: crate::node::Up| up.log.log.feed().with(|v| v.executed.contains(&wanted));
        up.is_some_and(has) || c.judge_replicas().is_err()
    })
    .unwrap();
    c.judge_replicas().unwrap();
}

/// A server that was the source itself follows another one, and loses its power within the first definition that comes from there. What it had done as the
/// source, of which its place says nothing, is not sent to it again. It was: the receiver went by the place alone, as it does behind such a definition.
#[test]
fn a_former_source_that_crashes_within_a_definition_is_not_sent_its_own_again() {
    let (mut within, mut cuts) = (0, 0);
    let mut c = Cluster::new(3, false);
    (c.source, c.settings.wanted) = (1, 1);
    for host in 0..HOSTS {
        c.start(host);
    }
    c.all_up().unwrap();
    c.follow(0).unwrap();
    all_of(
        &mut c,
        1,
        &["CREATE DATABASE d", "CREATE TABLE d.own (id INT)"],
    );
    all_of(
        &mut c,
        1,
        &["INSERT INTO d.own VALUES (1)", "DROP TABLE d.own"],
    );
    catches_up(&mut c, 0);
    c.end_following(0).unwrap();
    c.source = 0;
    all_of(&mut c, 0, &["SET GLOBAL super_read_only = OFF"]);
    for n in 1..=40 {
        c.follow(1).unwrap();
        let sql = format!("CREATE TABLE d.t{n} (id INT)");
        if let Some(life) = &c.nodes[1].life {
            life.disk.arm(n, Cut::All);
        }
        c.must(0, &sql).unwrap();
        let wanted = c.executed(0).unwrap();
        c.until("it dies, or has it", |c| {
            let up = c.nodes[1].up();
            let has = |up: crate::node::Up| {
                let place = up.replica.facts().map(|f| f.applier_state);
                let idle = place.is_some_and(|s| s.contains("has read all"));
                idle && up.log.log.feed().with(|v| v.executed.contains(&wanted))
            };
            c.nodes[1].life.is_none() || up.is_some_and(has) || c.judge_replicas().is_err()
        })
        .unwrap();
        cuts += u64::from(c.nodes[1].life.is_none());
        c.calm();
        starts(&mut c, 1);
        within += u64::from(is_within_a_definition(&mut c, 1));
        catches_up(&mut c, 1);
        c.end_following(1).unwrap();
    }
    assert!(
        cuts > 0 && within > 0,
        "{cuts} cuts, {within} within a definition"
    );
}

/// A receiver that is started again asks by set for what is not in the queue. It asked for what was not applied: what was waiting came, and was applied, twice.
#[test]
fn what_waits_does_not_come_again() {
    let mut c = Cluster::new(4, false);
    (c.source, c.settings.wanted) = (0, 1);
    for host in 0..HOSTS {
        c.start(host);
    }
    c.all_up().unwrap();
    c.follow(1).unwrap();
    c.follow(2).unwrap();
    all_of(
        &mut c,
        0,
        &["CREATE DATABASE d", "CREATE TABLE d.t (id INT)"],
    );
    catches_up(&mut c, 1);
    all_of(
        &mut c,
        1,
        &[
            "STOP REPLICA",
            "CHANGE REPLICATION SOURCE TO SOURCE_DELAY = 3",
            "START REPLICA",
        ],
    );
    for n in 0..5 {
        let sql = format!("INSERT INTO d.t VALUES ({n})");
        all_of(&mut c, 0, &[&sql]);
        let wanted = c.executed(0).unwrap();
        c.until("it is received", |c| {
            let Some(up) = c.nodes[1].up() else {
                return false;
            };
            let facts = up.replica.facts();
            let retrieved = facts.map(|f| f.retrieved_gtids).unwrap_or_default();
            let mut has = GtidSet::parse(&retrieved).unwrap_or_default();
            has.add_set(&up.log.log.feed().with(|v| v.executed.clone()));
            has.contains(&wanted)
        })
        .unwrap();
        all_of(
            &mut c,
            1,
            &["STOP REPLICA IO_THREAD", "START REPLICA IO_THREAD"],
        );
    }
    catches_up(&mut c, 1);
    let found = c.must(1, "SELECT COUNT(*) FROM d.t").unwrap();
    assert_eq!(crate::client::text(&found), "5");
    assert_eq!(c.order(1).unwrap(), c.order(0).unwrap());
}

/// The commit record of a definition is durable before the catalog in memory has it. Its GTID was shown in between: who had found it in `gtid_executed`, or
/// had the definition from there, did not find the table.
#[test]
fn a_definition_is_seen_when_its_name_is_shown() {
    let mut c = Cluster::new(5, false);
    c.settings.wanted = 1;
    c.all_up().unwrap();
    c.follow(1).unwrap();
    c.follow(2).unwrap();
    all_of(&mut c, 0, &["CREATE DATABASE d"]);
    for n in 0..30 {
        let sql = format!("CREATE TABLE d.t{n} (id INT)");
        let before = c.executed(0).unwrap();
        c.begin_statements(0, [&sql]);
        let mut early = 0;
        c.until("it is executed everywhere", |c| {
            let mut executed = 0;
            for host in 0..HOSTS {
                let Some(up) = c.nodes[host].up() else {
                    continue;
                };
                let has = up.log.log.feed().with(|v| v.executed.len());
                if has > before.len() {
                    executed += 1;
                    let catalog = up.instance().engine().catalog();
                    let seen = catalog.base_table("d", &format!("t{n}")).is_some();
                    early += u64::from(!seen);
                }
            }
            executed == HOSTS
        })
        .unwrap();
        assert_eq!(early, 0, "t{n} was told of and was not there");
    }
}

/// While nobody applies, another server answers in the source's place: the receiver begins anew with it, and does not wait for an applier.
#[test]
fn another_source_is_received_while_nobody_applies() {
    let mut c = Cluster::new(6, false);
    c.settings.wanted = 1;
    c.all_up().unwrap();
    c.follow(1).unwrap();
    c.follow(2).unwrap();
    all_of(&mut c, 0, &["CREATE DATABASE d"]);
    catches_up(&mut c, 1);
    all_of(&mut c, 1, &["STOP REPLICA SQL_THREAD"]);
    all_of(&mut c, 0, &["CREATE DATABASE waits"]);
    c.nodes[0].end(Cut::Nothing);
    c.net.power_off(0);
    c.nodes[0].replace(empty());
    c.copies[0] += 1;
    c.all_up().unwrap();
    c.begin_statements(0, ["CREATE DATABASE other"]);
    c.until("it is received", |c| {
        let Some((new, here)) = c.nodes[0].up().zip(c.nodes[1].up()) else {
            return false;
        };
        let executed = new.log.log.feed().with(|v| v.executed.clone());
        let facts = here.replica.facts();
        let retrieved = facts.map(|f| f.retrieved_gtids).unwrap_or_default();
        let retrieved = GtidSet::parse(&retrieved).unwrap_or_default();
        !executed.is_empty() && retrieved.contains(&executed)
    })
    .unwrap();
    all_of(&mut c, 1, &["START REPLICA SQL_THREAD"]);
    catches_up(&mut c, 1);
    let sql = "SELECT GROUP_CONCAT(schema_name ORDER BY 1) FROM information_schema.schemata WHERE schema_name IN ('d', 'waits', 'other')";
    let found = c.must(1, sql).unwrap();
    // What nobody had applied is gone with the server that had it.
    assert_eq!(crate::client::text(&found), "d,other");
}

/// A definition took place before a crash, and the place is not behind it; another source is named before it has come again. The place left it out from
/// there on, and whoever went by the place alone asked for it again.
#[test]
fn a_definition_before_a_crash_is_behind_when_another_source_is_named() {
    let mut within = 0;
    let mut c = Cluster::new(7, false);
    c.settings.wanted = 1;
    c.all_up().unwrap();
    c.follow(1).unwrap();
    c.follow(2).unwrap();
    all_of(
        &mut c,
        0,
        &["CREATE DATABASE d", "CREATE TABLE d.n (id INT)"],
    );
    let mut other = 2;
    for n in 1..=40 {
        catches_up(&mut c, 1);
        catches_up(&mut c, other);
        if let Some(life) = &c.nodes[1].life {
            life.disk.arm(n, Cut::All);
        }
        let sql = format!("CREATE TABLE d.t{n} (id INT)");
        all_of_source(&mut c, &[&sql]);
        catches_up(&mut c, other);
        c.until("it dies, or has it", |c| {
            let wanted = c.nodes[other]
                .up()
                .map(|u| u.log.log.feed().with(|v| v.executed.clone()));
            let has = |up: crate::node::Up| {
                let idle = up
                    .replica
                    .facts()
                    .is_some_and(|f| f.applier_state.contains("has read all"));
                idle && wanted.is_some_and(|w| up.log.log.feed().with(|v| v.executed.contains(&w)))
            };
            c.nodes[1].life.is_none() || c.nodes[1].up().is_some_and(has)
        })
        .unwrap();
        // The source is gone when it comes back.
        let gone = c.source;
        c.nodes[gone].end(Cut::Nothing);
        c.net.power_off(gone);
        c.calm();
        starts(&mut c, 1);
        within += u64::from(is_within_a_definition(&mut c, 1));
        c.end_following(other).unwrap();
        (c.source, other) = (other, gone);
        all_of_source(&mut c, &["SET GLOBAL super_read_only = OFF"]);
        all_of(&mut c, 1, &["STOP REPLICA"]);
        c.follow(1).unwrap();
        let sql = format!("INSERT INTO d.n VALUES ({n})");
        all_of_source(&mut c, &[&sql]);
        catches_up(&mut c, 1);
        let place = c
            .must(
                1,
                "SELECT gtid_executed FROM mysql.replica_applier_position",
            )
            .unwrap();
        let place = GtidSet::parse(&crate::client::text(&place)).unwrap();
        assert_eq!(place, c.executed(1).unwrap(), "{n}");
        starts(&mut c, other);
        c.follow(other).unwrap();
    }
    assert!(within > 0, "never within a definition");
}
