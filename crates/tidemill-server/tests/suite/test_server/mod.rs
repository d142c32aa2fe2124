//! A server in the test's own process, on a directory of its own, and clients to it.

#![allow(dead_code, reason = "each test uses some of it")]

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use tidemill_server::log::Log;
use tidemill_server::option_files::FileSystem;
use tidemill_server::options::parse;
use tidemill_server::server::{Listening, ServeError, serve};
use tokio::sync::Notify;
use wire::client::blocking::Conn;
use wire::client::{ClientError, ResultSet, ServerError};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A running server. Stops, cleanly or with a panic, when dropped.
pub struct TestServer {
    pub dir: PathBuf,
    pub listening: Listening,
    stop: Arc<Notify>,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

impl TestServer {
    /// A server with more options than a small test server needs.
    pub fn start(more: &[&str]) -> TestServer {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tidemill-server-{}-{number}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        let _old = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).expect("a folder");
        let mut words = vec![
            format!("--datadir={}", dir.join("data").display()),
            format!("--socket={}", dir.join("s.sock").display()),
            format!("--log-error={}", dir.join("log.txt").display()),
            "--port=0".to_owned(),
            // They take a second; the tests of TLS ask for them.
            "--auto-generate-certs=0".to_owned(),
            "--innodb-buffer-pool-size=16M".to_owned(),
            "--innodb-redo-log-capacity=64M".to_owned(),
        ];
        words.extend(more.iter().map(|word| (*word).to_owned()));
        let parsed = parse(words, &FileSystem).expect("the options are right");
        let log = Arc::new(Log::file(&dir.join("log.txt")).expect("a log"));
        let stop = Arc::new(Notify::new());
        let (ready, started) = mpsc::channel();
        let until = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let ready = |listening| ready.send(listening).expect("the test waits");
            serve(&parsed.options, &parsed.notices, log, ready, async move {
                until.notified().await;
            })
        });
        let listening = started.recv().expect("the server starts");
        TestServer {
            dir,
            listening,
            stop,
            thread: Some(thread),
        }
    }

    /// A client on the Unix socket.
    pub fn client(&self) -> Conn {
        self.login("root", "").expect("root is let in")
    }

    /// A client on the Unix socket as somebody.
    pub fn login(&self, user: &str, password: &str) -> Result<Conn, ClientError> {
        Conn::connect_unix(self.dir.join("s.sock"), user, password, None)
    }

    /// What the server has logged.
    pub fn logged(&self) -> String {
        std::fs::read_to_string(self.dir.join("log.txt")).unwrap_or_default()
    }

    /// Asks it to stop and waits until it has.
    pub fn stop(&mut self) {
        self.stop.notify_one();
        if let Some(thread) = self.thread.take() {
            let outcome = thread.join().expect("the server does not panic");
            outcome.expect("the server stops cleanly");
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.logged());
        }
        self.stop.notify_one();
        if let Some(thread) = self.thread.take() {
            let _outcome = thread.join();
        }
        let _gone = std::fs::remove_dir_all(&self.dir);
    }
}

/// The rows of the last result, as text.
pub fn rows(conn: &mut Conn, sql: &str) -> Vec<Vec<String>> {
    let results = conn.query(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    results.last().map(texts).unwrap_or_default()
}

/// The rows of a result, as text.
pub fn texts(result: &ResultSet) -> Vec<Vec<String>> {
    let text = |value: &wire::client::Value| match value {
        wire::client::Value::Null => "NULL".to_owned(),
        wire::client::Value::Int(v) => v.to_string(),
        wire::client::Value::UInt(v) => v.to_string(),
        other => other.as_str().unwrap_or("?").to_owned(),
    };
    result
        .rows
        .iter()
        .map(|row| row.iter().map(text).collect())
        .collect()
}

/// The error a call must end with.
pub fn refused<T>(outcome: Result<T, ClientError>) -> ServerError {
    match outcome {
        Err(ClientError::Server(e)) => e,
        Err(e) => panic!("not an error of the server: {e:?}"),
        Ok(_) => panic!("no error"),
    }
}
