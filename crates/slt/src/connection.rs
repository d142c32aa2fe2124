//! A connection with a thread of its own, so that a statement may wait while others go on.

use crate::client::{Answer, Client, Failure, Letter, Session};
use sqllogictest::{DB, DBOutput};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// A statement that has no answer after this long is taken to wait.
const WAITS_AFTER: Duration = Duration::from_millis(250);

/// A statement that must answer does so within this time.
const ANSWERS_WITHIN: Duration = Duration::from_secs(60);

/// Sends the statement behind it, which must wait; `WAITS ANSWER`: the one that was sent must wait still.
const WAITS: &str = "WAITS ";

/// Takes the answer of the statement that waits.
const ANSWER: &str = "ANSWER";

/// A connection of a case file.
pub(crate) struct Connection {
    statements: Sender<String>,
    answers: Receiver<Result<Answer, Failure>>,
    waits: bool,
    /// How many statements of the file wait, over all its connections.
    waiting: Arc<AtomicUsize>,
}

impl Connection {
    /// Connects, in `database`.
    pub(crate) fn open(
        client: &dyn Client,
        database: &str,
        waiting: Arc<AtomicUsize>,
    ) -> Result<Connection, Failure> {
        let mut session = client.connect()?;
        session.run(&format!("USE {database}"))?;
        let (statements, taken) = mpsc::channel::<String>();
        let (answered, answers) = mpsc::channel();
        // Ends with the statement that it runs after the connection is dropped.
        std::thread::spawn(move || run_all(session, &taken, &answered));
        Ok(Connection {
            statements,
            answers,
            waits: false,
            waiting,
        })
    }

    fn send(&mut self, sql: &str) -> Result<(), Failure> {
        if self.waits {
            return Err(broken("a statement waits on this connection"));
        }
        self.statements
            .send(sql.to_owned())
            .map_err(|_| broken("the connection's thread has ended"))
    }

    fn answer(&mut self, within: Duration) -> Option<Result<Answer, Failure>> {
        match self.answers.recv_timeout(within) {
            Ok(answer) => Some(answer),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                Some(Err(broken("the connection's thread has ended")))
            }
        }
    }

    /// The answer that must come.
    fn must_answer(&mut self) -> Result<Answer, Failure> {
        let seconds = ANSWERS_WITHIN.as_secs();
        self.answer(ANSWERS_WITHIN)
            .unwrap_or_else(|| Err(broken(&format!("no answer in {seconds} s"))))
    }

    fn statement(&mut self, sql: &str) -> Result<Answer, Failure> {
        if sql == ANSWER {
            if !std::mem::take(&mut self.waits) {
                return Err(broken("no statement waits on this connection"));
            }
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return self.must_answer();
        }
        let Some(sql) = sql.strip_prefix(WAITS) else {
            self.send(sql)?;
            return self.must_answer();
        };
        if sql != ANSWER {
            self.send(sql)?;
            self.waits = true;
            self.waiting.fetch_add(1, Ordering::Relaxed);
        } else if !self.waits {
            return Err(broken("no statement waits on this connection"));
        }
        let answer = self.answer(WAITS_AFTER);
        if answer.is_some() {
            self.waits = false;
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
        match answer {
            None => Ok(Answer::Done(0)),
            Some(Ok(_)) => Err(broken("the statement did not wait")),
            Some(Err(failure)) => Err(broken(&format!("the statement did not wait: {failure}"))),
        }
    }
}

fn broken(why: &str) -> Failure {
    Failure::Broken(why.to_owned())
}

fn run_all(
    mut session: Box<dyn Session>,
    statements: &Receiver<String>,
    answers: &Sender<Result<Answer, Failure>>,
) {
    while let Ok(sql) = statements.recv() {
        if answers.send(session.run(&sql)).is_err() {
            break;
        }
    }
}

impl DB for Connection {
    type Error = Failure;
    type ColumnType = Letter;

    fn run(&mut self, sql: &str) -> Result<DBOutput<Letter>, Failure> {
        // Nobody ends a statement by `;` to a client library.
        let sql = sql.trim_end().trim_end_matches(';');
        Ok(match self.statement(sql)? {
            Answer::Rows { types, rows } => DBOutput::Rows { types, rows },
            Answer::Done(count) => DBOutput::StatementComplete(count),
        })
    }
}
