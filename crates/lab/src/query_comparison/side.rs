//! A server that is asked, on a copy of its data, with a limit on how long it may think.

use super::answers::Answer;
use crate::experiment::DATABASE;
use crate::peers::{self, Order, Peer, Terms, Who};
use harness::step::Outcome;
use harness::sysbench::Reach;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use wire::client::{ClientError, Value, blocking};

/// What both sides are given.
pub(super) const TERMS: Terms = Terms {
    pool_mib: 1024,
    log_mib: 1024,
    ..Terms::LAZY
};

/// How long the end of a query that was given up is waited for.
const ENDS_IN: Duration = Duration::from_secs(30);

/// What came of a question.
#[derive(Debug, Clone)]
pub(super) enum Told {
    /// An answer.
    Rows(Answer),
    /// The server's refusal.
    Error(String),
    /// Nothing within the limit.
    Over,
}

/// A running server with one connection.
pub(super) struct AskedSide {
    pub(super) who: Who,
    dir: PathBuf,
    peer: Option<Box<dyn Peer>>,
    conn: Option<(blocking::Conn, String)>,
}

impl AskedSide {
    /// Starts a server on its data in `dir`, which goes with the handle.
    pub(super) fn start(who: Who, dir: &Path) -> Outcome<AskedSide> {
        let mut side = AskedSide {
            who,
            dir: dir.to_path_buf(),
            peer: None,
            conn: None,
        };
        side.restart()?;
        Ok(side)
    }

    /// Ends the server, if it runs, and starts it again on the same data.
    pub(super) fn restart(&mut self) -> Outcome<()> {
        self.conn = None;
        if let Some(peer) = self.peer.take() {
            peer.stop()?;
        }
        self.peer = Some(peers::start(&order(self.who, &self.dir))?);
        Ok(())
    }

    fn peer(&self) -> Outcome<&dyn Peer> {
        self.peer
            .as_deref()
            .ok_or_else(|| format!("{} has ended", self.who.name()))
    }

    /// What it says of its version.
    pub(super) fn version(&self) -> Outcome<String> {
        self.peer()?.version()
    }

    /// Makes statistics of these tables.
    pub(super) fn analyze(&self, tables: &[String]) -> Outcome<()> {
        self.peer()?.finish_load(DATABASE, tables)
    }

    fn connect(&self) -> Outcome<blocking::Conn> {
        let Reach::Mysql(socket) = self.peer()?.reach() else {
            return Err("no server of MySQL's protocol".to_owned());
        };
        blocking::Conn::connect_unix(socket, "root", "", Some(DATABASE))
            .map_err(|e| format!("{}: {e}", self.who.name()))
    }

    /// Asks, and how many seconds that took.
    pub(super) fn ask(&mut self, sql: &str, limit: Duration) -> Outcome<(f64, Told)> {
        let (mut conn, id) = match self.conn.take() {
            Some(open) => open,
            None => {
                let mut conn = self.connect()?;
                let id = first_cell(&mut conn, "SELECT CONNECTION_ID()")?;
                (conn, id)
            }
        };
        conn.set_read_timeout(Some(limit))
            .map_err(|e| e.to_string())?;
        let begun = Instant::now();
        let said = conn.query(sql);
        let seconds = begun.elapsed().as_secs_f64();
        let told = match said {
            Ok(mut results) => Told::Rows(results.pop().map(answer).unwrap_or_default()),
            Err(ClientError::Server(e)) => Told::Error(e.to_string()),
            Err(ClientError::Io(e)) if seconds >= limit.as_secs_f64() => {
                drop((conn, e));
                self.give_up(&id)?;
                return Ok((seconds, Told::Over));
            }
            Err(e) => return Err(format!("{}: {e}: {sql}", self.who.name())),
        };
        self.conn = Some((conn, id));
        Ok((seconds, told))
    }

    /// Ends the connection that thinks too long, and the server with it if that does not help.
    fn give_up(&mut self, id: &str) -> Outcome<()> {
        let mut conn = self.connect()?;
        // It may have ended in between.
        let _gone = conn.query(&format!("KILL {id}"));
        let begun = Instant::now();
        let still = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {id}");
        while first_cell(&mut conn, &still)? != "0" {
            if begun.elapsed() > ENDS_IN {
                println!(
                    "    {}: KILL did not end it; started again",
                    self.who.name()
                );
                drop(conn);
                self.conn = None;
                self.peer = None;
                return self.restart();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// The plan of a query: what EXPLAIN says but for the numbers, and all of it as lines.
    pub(super) fn plan(&mut self, sql: &str, limit: Duration) -> Outcome<(String, Vec<String>)> {
        let (_, told) = self.ask(&format!("EXPLAIN {sql}"), limit)?;
        Ok(match told {
            Told::Rows(answer) => (shape(&answer), lines(&answer)),
            Told::Error(why) => (why.clone(), vec![why]),
            Told::Over => (String::new(), vec!["no EXPLAIN in time".to_owned()]),
        })
    }

    /// Ends the server.
    pub(super) fn stop(mut self) -> Outcome<()> {
        self.conn = None;
        self.peer.take().map_or(Ok(()), Peer::stop)
    }
}

impl Drop for AskedSide {
    fn drop(&mut self) {
        self.conn = None;
        // The server first: it writes into the directory until it has ended.
        self.peer = None;
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// The server of a side on a directory.
pub(super) fn order(who: Who, dir: &Path) -> Order<'_> {
    Order {
        who,
        terms: TERMS,
        options: &[],
        dir,
        cores: "",
    }
}

fn first_cell(conn: &mut blocking::Conn, sql: &str) -> Outcome<String> {
    conn.set_read_timeout(Some(ENDS_IN))
        .map_err(|e| e.to_string())?;
    let mut results = conn.query(sql).map_err(|e| format!("{sql}: {e}"))?;
    let answer = results.pop().map(answer).unwrap_or_default();
    let cell = answer
        .rows
        .into_iter()
        .next()
        .and_then(|r| r.into_iter().next());
    Ok(cell.flatten().unwrap_or_default())
}

fn answer(result: wire::client::ResultSet) -> Answer {
    let cell = |value: Value| match value {
        Value::Null => None,
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        // The text protocol has no other values.
        other => Some(format!("{other:?}")),
    };
    Answer {
        columns: result.columns.into_iter().map(|c| c.name).collect(),
        rows: result
            .rows
            .into_iter()
            .map(|row| row.into_iter().map(cell).collect())
            .collect(),
    }
}

/// An EXPLAIN without its estimates: they may waver, the plan may not.
fn shape(answer: &Answer) -> String {
    let estimates = ["rows", "filtered"];
    let kept: Vec<usize> = (0..answer.columns.len())
        .filter(|&c| !estimates.contains(&answer.columns[c].as_str()))
        .collect();
    let row = |row: &Vec<Option<String>>| {
        let cells: Vec<&str> = kept
            .iter()
            .map(|&c| row[c].as_deref().unwrap_or("NULL"))
            .collect();
        cells.join("|")
    };
    let all: Vec<String> = answer.rows.iter().map(row).collect();
    all.join("\n")
}

/// An EXPLAIN as a table.
fn lines(answer: &Answer) -> Vec<String> {
    let head = answer.columns.clone();
    let cells = |row: &Vec<Option<String>>| -> Vec<String> {
        row.iter().map(|c| c.clone().unwrap_or_default()).collect()
    };
    let rows: Vec<Vec<String>> = std::iter::once(head)
        .chain(answer.rows.iter().map(cells))
        .collect();
    let width = |c: usize| rows.iter().filter_map(|r| r.get(c)).map(|t| t.len()).max();
    let widths: Vec<usize> = (0..answer.columns.len())
        .map(|c| width(c).unwrap_or(0))
        .collect();
    let line = |row: &Vec<String>| {
        let padded: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, &width)| format!("{cell:<width$}"))
            .collect();
        padded.join(" ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_what_explain_says_without_numbers() {
        let explained = |rows: &str| Answer {
            columns: ["table", "key", "rows"].map(str::to_owned).to_vec(),
            rows: vec![vec![Some("t".to_owned()), None, Some(rows.to_owned())]],
        };
        assert_eq!(shape(&explained("1")), "t|NULL");
        assert_eq!(shape(&explained("1")), shape(&explained("2")));
        assert_eq!(lines(&explained("12")), ["table key rows", "t         12"]);
    }
}
