//! Clients that break off, do not answer, do not read, or talk out of turn.

use super::stage::{PATIENCE, Stage, number, query};
use harness::step::Outcome;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use wire::client::ClientError;

/// A COM_QUERY packet, for those who do not wait for the answer.
fn packet(sql: &str) -> Vec<u8> {
    let mut bytes = (sql.len() as u32 + 1).to_le_bytes().to_vec();
    bytes[3] = 0;
    bytes.push(3);
    bytes.extend_from_slice(sql.as_bytes());
    bytes
}

/// Connections that never log in: half of them silent, half with a part of a packet. connect_timeout ends them all.
pub fn half_open(stage: &Stage<'_>) -> Outcome<String> {
    stage.set("connect_timeout", 2)?;
    let result = half_open_ends(stage);
    stage.set("connect_timeout", 10)?;
    result
}

fn half_open_ends(stage: &Stage<'_>) -> Outcome<String> {
    let fail = |e: std::io::Error| e.to_string();
    let begun = Instant::now();
    let mut sockets = Vec::new();
    for n in 0..stage.scale.half_open {
        let mut socket = UnixStream::connect(&stage.setup.socket).map_err(fail)?;
        socket.set_read_timeout(Some(PATIENCE)).map_err(fail)?;
        if n % 2 == 1 {
            socket.write_all(&[0x50, 0, 0, 1, 0x85]).map_err(fail)?;
        }
        sockets.push(socket);
    }
    stage.open()?;
    for mut socket in sockets {
        let mut said = Vec::new();
        match socket.read_to_end(&mut said) {
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::ConnectionReset => {}
            Err(e) => return Err(format!("a half-open connection is kept: {e}")),
        }
        if said.get(4) != Some(&10) {
            return Err("a half-open connection was not greeted".to_owned());
        }
    }
    let took = begun.elapsed();
    if took < Duration::from_millis(1500) || took > Duration::from_secs(15) {
        return Err(format!(
            "connect_timeout is 2 s and they ended after {took:?}"
        ));
    }
    Ok(format!(
        "{} ended by connect_timeout",
        stage.scale.half_open
    ))
}

/// Clients that ask for a gigabyte and read a little of it. The server holds back, and its memory does not grow.
pub fn slow_readers(stage: &Stage<'_>) -> Outcome<String> {
    let before = stage.resident()?;
    let mut readers = Vec::new();
    for _ in 0..stage.scale.slow_readers {
        let mut conn = stage.open()?;
        // A million rows of a kilobyte.
        conn.send_raw(&packet("SELECT a.pad FROM rows_ a, rows_ b"), 1)
            .map_err(|e| e.to_string())?;
        for _ in 0..10 {
            conn.next_packet().map_err(|e| e.to_string())?;
        }
        readers.push(conn);
    }
    std::thread::sleep(Duration::from_millis(500));
    let grown = stage.resident()?.saturating_sub(before);
    let each = grown / readers.len() as u64;
    if each > 4 << 20 {
        return Err(format!("{} MiB of memory for each slow reader", each >> 20));
    }
    // They go on where they were, and others leave without a word.
    let mut first = readers.swap_remove(0);
    for _ in 0..10_000 {
        first.next_packet().map_err(|e| e.to_string())?;
    }
    drop(first);
    drop(readers);
    sessions_end(stage, "a.pad")?;
    Ok(format!(
        "{} of them with {} KiB of server memory each",
        stage.scale.slow_readers,
        each >> 10
    ))
}

/// Waits until no session runs a statement with this text any more.
fn sessions_end(stage: &Stage<'_>, text: &str) -> Outcome<()> {
    let mut conn = stage.open()?;
    let sql = format!(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%{text}%' \
         AND id <> CONNECTION_ID()"
    );
    let begun = Instant::now();
    while number(&mut conn, &sql)? > 0 {
        if begun.elapsed() > Duration::from_secs(10) {
            return Err(format!(
                "the statement of a client that is gone still runs: {:?}",
                query(
                    &mut conn,
                    "SELECT id, time, state, info FROM information_schema.processlist"
                )?
            ));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// One waits for a lock and its client goes; another computes and is killed.
pub fn gone_in_statement(stage: &Stage<'_>) -> Outcome<String> {
    let mut holder = stage.open()?;
    query(&mut holder, "INSERT INTO deaths VALUES (1, 0)")?;
    query(&mut holder, "BEGIN; UPDATE deaths SET n = 1 WHERE id = 1")?;
    for _ in 0..stage.scale.deaths {
        let mut conn = stage.open()?;
        conn.send_raw(&packet("UPDATE deaths SET n = n + 1000 WHERE id = 1"), 1)
            .map_err(|e| e.to_string())?;
    }
    // MySQL too may carry out what was sent before the client went; here nobody can, while the lock is held.
    let mut victim = stage.open()?;
    let id = number(&mut victim, "SELECT CONNECTION_ID()")?;
    let mut killer = stage.open()?;
    let begun = Instant::now();
    let outcome = std::thread::scope(|scope| {
        let running = scope.spawn(move || {
            victim.query("SELECT COUNT(*) FROM rows_ a, rows_ b, rows_ c WHERE a.pad > b.pad")
        });
        std::thread::sleep(Duration::from_millis(100));
        query(&mut killer, &format!("KILL {id}"))?;
        running.join().map_err(|_| "the victim panicked".to_owned())
    })?;
    if outcome.is_ok() || begun.elapsed() > Duration::from_secs(5) {
        return Err(format!(
            "KILL of a running statement: {:.100?} after {:?}",
            outcome,
            begun.elapsed()
        ));
    }
    query(&mut holder, "COMMIT")?;
    sessions_end(stage, "n + 1000")?;
    let left = number(&mut holder, "SELECT n FROM deaths WHERE id = 1")?;
    if left % 1000 != 1 {
        return Err(format!("a statement took effect in part: {left}"));
    }
    Ok(format!(
        "{} clients went while they waited for a lock, {} of their statements happened",
        stage.scale.deaths,
        left / 1000
    ))
}

/// Half a transaction, and the client goes: nothing of it stays, and its locks do not either.
pub fn gone_in_transaction(stage: &Stage<'_>) -> Outcome<String> {
    let mut conn = stage.open()?;
    query(&mut conn, "INSERT INTO deaths VALUES (2, 0)")?;
    for n in 0..stage.scale.deaths {
        let mut goner = stage.open()?;
        query(
            &mut goner,
            "BEGIN; UPDATE deaths SET n = n + 1 WHERE id = 2",
        )?;
        query(
            &mut goner,
            &format!("INSERT INTO deaths VALUES ({}, 0)", 1000 + n),
        )?;
        if n % 2 == 0 {
            drop(goner);
        } else {
            let id = number(&mut goner, "SELECT CONNECTION_ID()")?;
            query(&mut conn, &format!("KILL {id}"))?;
        }
        // Waits for the lock until it is given back.
        query(&mut conn, "UPDATE deaths SET n = n + 1000 WHERE id = 2")?;
    }
    let rows = query(&mut conn, "SELECT n FROM deaths WHERE id = 2 OR id >= 1000")?;
    let want = (1000 * stage.scale.deaths).to_string();
    if rows.len() != 1 || rows[0][0] != wire::client::Value::Bytes(want.into_bytes()) {
        return Err(format!("something of them is left: {rows:.200?}"));
    }
    Ok(format!("{} of them left nothing", stage.scale.deaths))
}

/// COMMIT is sent and the client goes. All of the transaction is there or nothing.
pub fn gone_in_commit(stage: &Stage<'_>) -> Outcome<String> {
    let mut conn = stage.open()?;
    for n in 0..stage.scale.deaths {
        let (a, b) = (10_000 + 2 * n, 10_001 + 2 * n);
        let mut goner = stage.open()?;
        let sql = format!(
            "BEGIN; INSERT INTO deaths VALUES ({a}, 1); INSERT INTO deaths VALUES ({b}, 1)"
        );
        query(&mut goner, &sql)?;
        let id = number(&mut goner, "SELECT CONNECTION_ID()")?;
        goner
            .send_raw(&packet("COMMIT"), 1)
            .map_err(|e| e.to_string())?;
        if n % 2 == 0 {
            // It may have ended on its own.
            let _gone = conn.query(&format!("KILL {id}"));
        }
        drop(goner);
    }
    // Whoever is still under way holds its rows.
    query(
        &mut conn,
        "SELECT * FROM deaths WHERE id >= 10000 FOR UPDATE",
    )?;
    let halves = number(
        &mut conn,
        "SELECT COUNT(*) FROM (SELECT id DIV 2 AS pair, COUNT(*) AS n FROM deaths \
         WHERE id >= 10000 GROUP BY id DIV 2 HAVING n <> 2) AS halves",
    )?;
    let there = number(&mut conn, "SELECT COUNT(*) FROM deaths WHERE id >= 10000")?;
    if halves > 0 {
        return Err(format!("{halves} transactions are there in half"));
    }
    Ok(format!(
        "{} of {} are there, each as a whole",
        there / 2,
        stage.scale.deaths
    ))
}

/// Wrong sequence numbers, at the login and after it.
pub fn out_of_order(stage: &Stage<'_>) -> Outcome<String> {
    for sequence in [1, 2, 77, 255] {
        let mut conn = stage.open()?;
        let mut bytes = packet("SELECT 1");
        bytes[3] = sequence;
        conn.send_raw(&bytes, sequence.wrapping_add(1))
            .map_err(|e| e.to_string())?;
        // ER_NET_PACKETS_OUT_OF_ORDER, if there is an answer at all.
        match conn.next_packet() {
            Ok([0xff, 0x84, 0x04, ..]) => {}
            Err(ClientError::Io(_) | ClientError::Protocol(_)) => {}
            other => return Err(format!("sequence {sequence} is answered by {other:.100?}")),
        }
        if conn.next_packet().is_ok() {
            return Err(format!("the connection lives on after sequence {sequence}"));
        }
    }
    let fail = |e: std::io::Error| e.to_string();
    let mut socket = UnixStream::connect(&stage.setup.socket).map_err(fail)?;
    socket.set_read_timeout(Some(PATIENCE)).map_err(fail)?;
    socket.write_all(&[4, 0, 0, 9, 0, 0, 0, 0]).map_err(fail)?;
    let mut said = Vec::new();
    match socket.read_to_end(&mut said) {
        Err(e) if e.kind() != std::io::ErrorKind::ConnectionReset => Err(e.to_string()),
        _ => Ok("each ended its own connection".to_owned()),
    }
}
