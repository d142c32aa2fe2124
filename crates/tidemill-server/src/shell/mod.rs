//! `tidemill shell`: SQL from standard input or `--execute`, on a directory that no server owns.
//!
//! It opens the directory as the server does, runs each statement as it is complete, and closes the directory. It is no
//! client: it speaks no protocol.

mod print;
mod progress_bar;
mod split;

use std::io::{self, BufRead, IsTerminal, Write};

use base::block_on;
use sql::Session;
use sql::session::ClientFlags;
use tidemill::open::OpenFailure;
use types::SqlError;

use crate::open::{open, recovery};
use crate::options::Options;
use print::{Form, Printer};
use progress_bar::ProgressBar;
use split::{Splitter, Statement};

/// How a shell ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Every statement succeeded.
    Well,
    /// A statement failed.
    Failed,
}

/// Runs the statements of `execute`, or of standard input. The first error ends it, unless `force` is set or a person
/// is typing.
///
/// # Errors
/// The directory cannot be opened.
pub fn run(options: &Options, execute: Option<&str>, force: bool) -> Result<Ended, OpenFailure> {
    let database = block_on(open(options))?.directory;
    for line in recovery(&database.report) {
        eprintln!("{line}");
    }
    let instance = &database.instance;
    let id = instance.next_connection_id();
    let mut session = Session::of_the_server(instance, id);
    session.set_client(ClientFlags::default());
    let typed = execute.is_none() && io::stdin().is_terminal();
    let mut shell = Shell {
        session: &mut session,
        form: if io::stdout().is_terminal() {
            Form::Frame
        } else {
            Form::Tabs
        },
        force: force || typed,
        failed: false,
    };
    match execute {
        Some(text) => {
            let _ended = shell.lines(text.lines().map(|line| Ok(line.to_owned())), false);
        }
        None => shell.input(typed),
    }
    let ended = if shell.failed && !typed {
        Ended::Failed
    } else {
        Ended::Well
    };
    block_on(session.close());
    if let Err(e) = block_on(database.close()) {
        eprintln!("the directory was not closed cleanly: {e}");
        return Ok(Ended::Failed);
    }
    Ok(ended)
}

struct Shell<'s> {
    session: &'s mut Session,
    form: Form,
    force: bool,
    failed: bool,
}

/// Whether the next statement is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Read,
    Leave,
}

impl Shell<'_> {
    fn input(&mut self, typed: bool) {
        let input = io::stdin().lock();
        // What is not UTF-8 reaches SQL with replacement characters, and is refused or stored so.
        let lines = input
            .split(b'\n')
            .map(|line| line.map(|line| String::from_utf8_lossy(&line).into_owned()));
        if typed {
            println!(
                "Tidemill {}; end statements with ; and leave with exit",
                env!("CARGO_PKG_VERSION")
            );
        }
        let _ended = self.lines(lines, typed);
    }

    fn lines(&mut self, lines: impl Iterator<Item = io::Result<String>>, typed: bool) -> Next {
        let mut splitter = Splitter::default();
        prompt(typed, &splitter);
        for line in lines {
            let Ok(line) = line else { break };
            if splitter.is_idle() && is_leaving(&line) {
                return Next::Leave;
            }
            for statement in splitter.line(&line) {
                if self.statement(&statement) == Next::Leave {
                    return Next::Leave;
                }
            }
            prompt(typed, &splitter);
        }
        match splitter.end() {
            Some(statement) => self.statement(&statement),
            None => Next::Read,
        }
    }

    fn statement(&mut self, statement: &Statement) -> Next {
        let form = if statement.vertical {
            Form::Vertical
        } else {
            self.form
        };
        let mut out = io::BufWriter::new(io::stdout());
        let mut printer = Printer::new(&mut out, form);
        let bar = io::stderr()
            .is_terminal()
            .then(|| ProgressBar::show(self.session.interrupt()));
        let outcome = block_on(
            self.session
                .execute(statement.text.as_bytes(), &mut printer),
        );
        let gone = printer.failed.is_some();
        drop(bar);
        drop(printer);
        if out.flush().is_err() || gone {
            // Nobody reads on.
            return Next::Leave;
        }
        drop(out);
        match outcome {
            Ok(()) => Next::Read,
            Err(e) => {
                self.failed = true;
                eprintln!("{}", told(&e, statement.line));
                if self.force { Next::Read } else { Next::Leave }
            }
        }
    }
}

fn told(e: &SqlError, line: usize) -> String {
    format!(
        "ERROR {} ({}) at line {line}: {}",
        e.code, e.sqlstate, e.message
    )
}

fn is_leaving(line: &str) -> bool {
    let word = line.trim().trim_end_matches(';').to_ascii_lowercase();
    matches!(word.as_str(), "exit" | "quit" | "\\q")
}

fn prompt(typed: bool, splitter: &Splitter) {
    if typed {
        let text = if splitter.is_idle() {
            "tidemill> "
        } else {
            "      -> "
        };
        print!("{text}");
        // A terminal that has gone ends the input too.
        let _gone = io::stdout().flush();
    }
}
