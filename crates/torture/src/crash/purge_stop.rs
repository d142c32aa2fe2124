//! `cargo xtask crash --purge-stop`: SIGTERM while purge is at a DELETE of many rows. The stop must not wait for it, and the next start goes on
//! with it.

use harness::client::Conn;
use harness::queries;
use harness::scratch::Scratch;
use harness::server::{Kind, Server, Setup};
use harness::step::{self, Outcome};
use std::time::{Duration, Instant};

/// The longest that a stop may take.
const STOP_MAX: Duration = Duration::from_secs(3);
/// The longest that purge may take for a million rows.
const PURGE_MAX_MILLION: Duration = Duration::from_secs(120);

/// Deletes `rows` rows and stops the server.
pub fn run(rows: u64) -> Outcome<()> {
    step::announce(&format!("SIGTERM after a DELETE of {rows} rows"));
    let mut scratch = Scratch::new("purge-stop")?;
    let result = trial(rows, &scratch);
    if result.is_err() {
        scratch.keep();
    }
    result
}

fn trial(rows: u64, scratch: &Scratch) -> Outcome<()> {
    let setup = Setup::new(Kind::Tidemill, scratch.path())?
        .option("innodb-buffer-pool-size=512M")
        .option("innodb-flush-log-at-trx-commit=2")
        .redo_capacity("4G");
    let mut server = setup.start()?;
    let mut conn = server.connect()?;
    let begun = Instant::now();
    fill(conn.as_mut(), rows)?;
    println!("    filled in {:.1} s", begun.elapsed().as_secs_f64());
    let begun = Instant::now();
    must(conn.as_mut(), "DELETE FROM stop.t")?;
    println!("    deleted in {:.1} s", begun.elapsed().as_secs_f64());
    let (left, _) = purge(conn.as_mut())?;
    drop(conn);
    let asked = Instant::now();
    server.signal("TERM")?;
    server.ended(Duration::from_secs(180))?;
    let took = asked.elapsed();
    println!(
        "    the server ended {:.2} s after SIGTERM, with {left} transactions to purge",
        took.as_secs_f64()
    );
    if left == 0 {
        return Err("purge was done before the stop: more rows are needed".to_owned());
    }
    if took > STOP_MAX {
        return Err(format!("the stop took {:.1} s", took.as_secs_f64()));
    }
    let server = setup.start()?;
    let done = goes_on(&server, rows);
    done.map_err(|why| server.with_log(&why))?;
    server.terminate()?;
    setup.check_offline()
}

/// Purge is done some time after the start, and has taken out something.
fn goes_on(server: &Server, rows: u64) -> Outcome<()> {
    let mut conn = server.connect()?;
    let begun = Instant::now();
    let most = PURGE_MAX_MILLION * (rows / 1_000_000 + 1) as u32;
    let taken_out = loop {
        let (left, taken_out) = purge(conn.as_mut())?;
        if left == 0 {
            break taken_out;
        }
        if begun.elapsed() > most {
            return Err(format!("{left} transactions still wait for purge"));
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    println!(
        "    purge went on after the start: {taken_out} entries in {:.1} s",
        begun.elapsed().as_secs_f64()
    );
    if taken_out == 0 {
        return Err("nothing was purged after the start".to_owned());
    }
    let there = queries::number(conn.as_mut(), "SELECT COUNT(*) FROM stop.t")?;
    if there > 0 {
        return Err(format!("{there} deleted rows are there"));
    }
    queries::check_tables(conn.as_mut(), "stop", &["t".to_owned()])
}

fn must(conn: &mut dyn Conn, sql: &str) -> Outcome<()> {
    conn.run(sql)
        .map(drop)
        .map_err(|e| format!("{sql:.100}: {e}"))
}

fn fill(conn: &mut dyn Conn, rows: u64) -> Outcome<()> {
    must(conn, "CREATE DATABASE stop")?;
    must(
        conn,
        "CREATE TABLE stop.t (id INT PRIMARY KEY, k INT NOT NULL, pad CHAR(20) NOT NULL, KEY (k))",
    )?;
    let first = rows.min(1000);
    let values: Vec<String> = (0..first).map(|i| format!("({i},{i},'x')")).collect();
    let values = values.join(",");
    must(conn, &format!("INSERT INTO stop.t VALUES {values}"))?;
    let mut there = first;
    while there < rows {
        // So much at once, that one transaction does not take all of the log.
        let more = there.min(rows - there).min(500_000);
        must(
            conn,
            &format!(
                "INSERT INTO stop.t SELECT id + {there}, id + {there}, pad FROM stop.t WHERE id < {more}"
            ),
        )?;
        there += more;
    }
    Ok(())
}

/// Transactions that wait for purge, and entries that were taken out since the start.
fn purge(conn: &mut dyn Conn) -> Outcome<(u64, u64)> {
    let rows = conn
        .run("SHOW ENGINE INNODB STATUS")
        .map_err(|e| format!("SHOW ENGINE INNODB STATUS: {e}"))?;
    let text = rows
        .first()
        .and_then(|row| row.last().cloned())
        .unwrap_or_default();
    let number = |after: &str| -> Option<u64> {
        let rest = &text[text.find(after)? + after.len()..];
        let digits: String = rest
            .trim_start()
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        digits.parse().ok()
    };
    number("waiting for purge")
        .zip(number("Purged entries"))
        .ok_or_else(|| format!("the state says nothing of purge: {text}"))
}
