//! Connections to the server under test.
//!
//! Two of them: [`Cli`] drives the unmodified `mariadb` program, for what a user would see; [`connect`] gives the
//! fast one, for what is asked thousands of times.

use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;
use wire::client::{ClientError, Value, blocking};

/// Why a statement gave no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The server answered with an error; the connection lives.
    Server {
        /// MySQL's error number.
        code: u16,
        /// The five characters of the SQLSTATE.
        state: String,
        /// The message.
        text: String,
    },
    /// No answer, and there will be none: whether the statement took effect is unknown.
    Lost(String),
    /// No answer yet.
    Waiting,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Server { code, state, text } => write!(f, "ERROR {code} ({state}): {text}"),
            Fault::Lost(why) => write!(f, "connection lost: {why}"),
            Fault::Waiting => write!(f, "no answer yet"),
        }
    }
}

/// Rows as text; NULL is the word `NULL`.
pub type Rows = Vec<Vec<String>>;

/// A connection that runs one statement at a time.
pub trait Conn: Send {
    /// Runs one statement and returns its rows, none for a statement without a result set.
    fn run(&mut self, sql: &str) -> Result<Rows, Fault>;
}

/// Opens the fast connection: the project's own client on the Unix socket, as root.
pub fn connect(socket: &Path) -> Result<Box<dyn Conn>, Fault> {
    let mut conn = blocking::Conn::connect_unix(socket, "root", "", None).map_err(fault)?;
    conn.set_read_timeout(Some(PATIENCE)).map_err(fault)?;
    Ok(Box::new(Fast(conn)))
}

/// The project's own client, text protocol.
struct Fast(blocking::Conn);

impl Conn for Fast {
    fn run(&mut self, sql: &str) -> Result<Rows, Fault> {
        let mut results = self.0.query(sql).map_err(fault)?;
        let rows = results.pop().map_or_else(Vec::new, |r| r.rows);
        Ok(rows
            .into_iter()
            .map(|row| row.into_iter().map(shown).collect())
            .collect())
    }
}

fn shown(value: Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        // The text protocol has no other values.
        other => format!("{other:?}"),
    }
}

fn fault(error: ClientError) -> Fault {
    match error {
        ClientError::Server(e) => Fault::Server {
            code: e.code,
            state: e.sqlstate,
            text: e.message,
        },
        ClientError::Io(e) => Fault::Lost(e.to_string()),
        // Bytes that make no sense are the server's fault, and not a way of going away.
        ClientError::Protocol(_) | ClientError::Unsupported(_) => Fault::Server {
            code: 0,
            state: String::new(),
            text: error.to_string(),
        },
    }
}

/// How to reach the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via<'a> {
    /// A Unix socket.
    Socket(&'a Path),
    /// A TCP port of 127.0.0.1.
    Tcp(u16),
}

/// A connection held by a `mariadb` program in batch mode.
#[derive(Debug)]
pub struct Cli {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    sent: u64,
    pending: Answer,
}

/// What has come back of the statement under way.
#[derive(Debug, Default)]
struct Answer {
    rows: Rows,
    error: Option<Fault>,
    /// Inside the program's echo of a statement that failed.
    in_echo: bool,
}

/// Longest that one statement of the harness may take.
const PATIENCE: Duration = Duration::from_secs(300);

const ECHO: &str = "--------------";

impl Cli {
    /// Starts the program and connects.
    pub fn open(via: Via<'_>) -> Result<Cli, Fault> {
        let lost = |e: std::io::Error| Fault::Lost(format!("mariadb: {e}"));
        let (output, output_end) = std::io::pipe().map_err(lost)?;
        let errors_end = output_end.try_clone().map_err(lost)?;
        let mut command = Command::new("mariadb");
        command.args([
            "--no-defaults",
            "--user=root",
            "--batch",
            "--skip-column-names",
            "--silent",
            "--unbuffered",
            "--force",
            "--skip-reconnect",
            "--comments",
            "--default-character-set=utf8mb4",
            // A body of a program has `;` inside.
            "--delimiter=;;",
        ]);
        match via {
            Via::Socket(path) => command
                .arg("--protocol=socket")
                .arg(format!("--socket={}", path.display())),
            Via::Tcp(port) => command
                .args(["--protocol=tcp", "--host=127.0.0.1"])
                .arg(format!("--port={port}")),
        };
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(output_end)
            .stderr(errors_end)
            .spawn()
            .map_err(lost)?;
        // The command holds our copies of the pipe's writing end; the reader sees the end only without them.
        drop(command);
        let input = child
            .stdin
            .take()
            .ok_or_else(|| Fault::Lost("no stdin".to_owned()))?;
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(output);
            let mut line = Vec::new();
            while let Ok(n) = reader.read_until(b'\n', &mut line) {
                if n == 0 {
                    break;
                }
                if line.last() == Some(&b'\n') {
                    line.pop();
                }
                let text = String::from_utf8_lossy(&line).into_owned();
                line.clear();
                if sender.send(text).is_err() {
                    break;
                }
            }
        });
        Ok(Cli {
            child,
            input,
            lines,
            sent: 0,
            pending: Answer::default(),
        })
    }

    fn marker(&self) -> String {
        format!("==answered-{}==", self.sent)
    }

    /// Sends a statement without waiting for its answer.
    pub fn send(&mut self, sql: &str) -> Result<(), Fault> {
        self.sent += 1;
        self.pending = Answer::default();
        // The mark is printed by the client program itself: another statement would clear warnings and ROW_COUNT().
        let text = format!("{sql};;\n\\! echo '{}'\n", self.marker());
        self.input
            .write_all(text.as_bytes())
            .and_then(|()| self.input.flush())
            .map_err(|e| Fault::Lost(e.to_string()))
    }

    /// Waits up to `limit` for the answer to what was sent.
    pub fn reap(&mut self, limit: Duration) -> Result<Rows, Fault> {
        let marker = self.marker();
        loop {
            let line =
                match self.lines.recv_timeout(limit) {
                    Ok(line) => line,
                    Err(RecvTimeoutError::Timeout) => return Err(Fault::Waiting),
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(self.pending.error.take().unwrap_or_else(|| {
                            Fault::Lost("the mariadb program ended".to_owned())
                        }));
                    }
                };
            if line == marker {
                let answer = std::mem::take(&mut self.pending);
                return match answer.error {
                    Some(fault) => Err(fault),
                    None => Ok(answer.rows),
                };
            }
            self.take_line(line);
        }
    }

    fn take_line(&mut self, line: String) {
        let answer = &mut self.pending;
        if line == ECHO {
            answer.in_echo = !answer.in_echo;
        } else if answer.in_echo {
            // The statement, as we sent it.
        } else if let Some(fault) = parse_error(&line) {
            answer.error.get_or_insert(fault);
        } else if answer.error.is_none() {
            answer
                .rows
                .push(line.split('\t').map(str::to_owned).collect());
        }
    }
}

/// Reads `ERROR 1146 (42S02) at line 1: Table 'd.t' doesn't exist`.
fn parse_error(line: &str) -> Option<Fault> {
    let rest = line.strip_prefix("ERROR ")?;
    let (code, rest) = rest.split_once(' ')?;
    let code: u16 = code.parse().ok()?;
    let (state, rest) = rest.strip_prefix('(')?.split_once(')')?;
    let (_, text) = rest.split_once(": ")?;
    // 2xxx are the client library's own: the server is not there, or no longer.
    if (2000..3000).contains(&code) {
        return Some(Fault::Lost(format!("{code} {text}")));
    }
    Some(Fault::Server {
        code,
        state: state.to_owned(),
        text: text.to_owned(),
    })
}

impl Conn for Cli {
    fn run(&mut self, sql: &str) -> Result<Rows, Fault> {
        self.send(sql)?;
        match self.reap(PATIENCE) {
            Err(Fault::Waiting) => Err(Fault::Lost(format!(
                "no answer in {} s to: {sql}",
                PATIENCE.as_secs()
            ))),
            other => other,
        }
    }
}

impl Drop for Cli {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_recognised() {
        assert_eq!(
            parse_error("ERROR 1062 (23000) at line 3: Duplicate entry '1' for key 'PRIMARY'"),
            Some(Fault::Server {
                code: 1062,
                state: "23000".to_owned(),
                text: "Duplicate entry '1' for key 'PRIMARY'".to_owned(),
            })
        );
        assert!(matches!(
            parse_error("ERROR 2013 (HY000) at line 1: Lost connection to server during query"),
            Some(Fault::Lost(_))
        ));
        assert_eq!(parse_error("ERROR is a word"), None);
    }
}
