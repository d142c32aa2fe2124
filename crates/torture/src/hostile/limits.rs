//! Limits that a client runs into, by mistake or on purpose: each says so with MySQL's error.

use super::stage::{Stage, connect, number, query, refused};
use harness::step::Outcome;
use std::time::Duration;
use wire::ProtocolError;
use wire::client::{ClientError, Value};

/// Over max_allowed_packet: error 1153 and the end. Under it, any number of 16 MiB pieces.
pub fn giant_packets(stage: &Stage<'_>) -> Outcome<String> {
    let mut conn = stage.open()?;
    let len = 40 << 20;
    let insert = conn
        .prepare("INSERT INTO large VALUES (1, ?)")
        .map_err(|e| e.to_string())?;
    conn.execute(&insert, &[Value::Bytes(vec![b'x'; len])])
        .map_err(|e| format!("a parameter of {len} bytes: {e}"))?;
    let there = number(&mut conn, "SELECT LENGTH(b) FROM large")?;
    if there != len as u64 {
        return Err(format!("of {len} bytes {there} are there"));
    }
    query(&mut conn, "DELETE FROM large")?;
    let sql = format!("SELECT LENGTH('{}')", "x".repeat(70 << 20));
    match conn.query(&sql) {
        Err(ClientError::Server(e)) if e.code == 1153 => {}
        // The server may close before all has been sent, and its word is lost with the rest.
        Err(ClientError::Io(_)) => {}
        other => return Err(format!("a packet of 70 MiB: {other:.100?}")),
    }
    if conn.query("SELECT 1").is_ok() {
        return Err("the connection lives on after error 1153".to_owned());
    }
    // One that only says that it is large, and is not.
    let before = stage.resident()?;
    let mut liars = Vec::new();
    for _ in 0..50 {
        let mut liar = stage.open()?;
        liar.send_raw(&[0xff, 0xff, 0xff, 0, 3, b'S'], 1)
            .map_err(|e| e.to_string())?;
        liars.push(liar);
    }
    std::thread::sleep(Duration::from_millis(100));
    let grown = stage.resident()?.saturating_sub(before);
    if grown > 64 << 20 {
        return Err(format!(
            "announcing 16 MiB takes {} MiB of 50 connections",
            grown >> 20
        ));
    }
    Ok(format!(
        "40 MiB taken, 70 MiB refused, 50 announcements of 16 MiB cost {} KiB",
        grown >> 10
    ))
}

/// Prepares and never closes: error 1461 at max_prepared_stmt_count, and the end of the connection gives all back.
pub fn statements(stage: &Stage<'_>) -> Outcome<String> {
    let many = stage.scale.statements;
    stage.set("max_prepared_stmt_count", many)?;
    let before = stage.resident()?;
    let mut conn = stage.open()?;
    let mut last = None;
    for n in 0..many {
        let sql = format!("SELECT pad FROM rows_ WHERE id = ? AND {n} = {n}");
        last = Some(conn.prepare(&sql).map_err(|e| format!("number {n}: {e}"))?);
    }
    let each = stage.resident()?.saturating_sub(before) / many.max(1);
    refused("one too many", conn.prepare("SELECT 1"), 1461)?;
    let mut other = stage.open()?;
    refused("another connection's", other.prepare("SELECT 1"), 1461)?;
    if let Some(last) = last {
        let rows = conn
            .execute(&last, &[Value::Int(1)])
            .map_err(|e| format!("the last one: {e}"))?;
        if rows[0].rows.len() != 1 {
            return Err("the last one gives nothing".to_owned());
        }
        conn.close(&last).map_err(|e| e.to_string())?;
        conn.prepare("SELECT 2")
            .map_err(|e| format!("after one was closed: {e}"))?;
    }
    drop(conn);
    let mut freed = false;
    for _ in 0..250 {
        if other.prepare("SELECT 1").is_ok() {
            freed = true;
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    stage.set("max_prepared_stmt_count", 16_382)?;
    if !freed {
        return Err("the end of the connection does not give its statements back".to_owned());
    }
    Ok(format!("{many} with {each} bytes of server memory each"))
}

/// Error 1040 at max_connections, and a place again when somebody goes.
pub fn connections(stage: &Stage<'_>) -> Outcome<String> {
    let limit = 40;
    let usual = stage.scale.idle as u64 + 1000;
    let mut conn = stage.open()?;
    query(&mut conn, &format!("SET GLOBAL max_connections = {limit}"))?;
    let mut open = Vec::new();
    let refusal = loop {
        match connect(stage.setup) {
            Ok(conn) => open.push(conn),
            Err(e) => break e,
        }
        if open.len() > limit {
            break ClientError::Io(std::io::ErrorKind::Other.into());
        }
    };
    let took = open.len();
    let outcome = refused("one too many", Err::<(), _>(refusal), 1040);
    drop(open);
    let mut again = Err("no place although all have gone".to_owned());
    for _ in 0..250 {
        if connect(stage.setup).is_ok() {
            again = Ok(());
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    query(&mut conn, &format!("SET GLOBAL max_connections = {usual}"))?;
    outcome.and(again)?;
    Ok(format!(
        "with a limit of {limit}, {took} more were let in and the next refused"
    ))
}

/// wait_timeout ends a silent connection and gives its locks back.
pub fn idle(stage: &Stage<'_>) -> Outcome<String> {
    let mut sleeper = stage.open()?;
    query(&mut sleeper, "INSERT INTO deaths VALUES (3, 0)")?;
    query(&mut sleeper, "SET SESSION wait_timeout = 1")?;
    query(&mut sleeper, "BEGIN; UPDATE deaths SET n = 1 WHERE id = 3")?;
    let mut conn = stage.open()?;
    query(&mut conn, "UPDATE deaths SET n = n + 10 WHERE id = 3")?;
    let left = number(&mut conn, "SELECT n FROM deaths WHERE id = 3")?;
    if left != 10 {
        return Err(format!("the sleeper's change is still there: {left}"));
    }
    match sleeper.query("SELECT 1") {
        // ER_CLIENT_INTERACTION_TIMEOUT, which waits in the socket.
        Err(ClientError::Server(e)) if e.code == 4031 => {}
        Err(ClientError::Io(_)) => {}
        // It was sent before there was a command, so its number is not that of an answer.
        Err(ClientError::Protocol(ProtocolError::OutOfOrder)) => {}
        other => return Err(format!("a connection past wait_timeout says {other:.100?}")),
    }
    Ok("ended, and its locks given back".to_owned())
}
