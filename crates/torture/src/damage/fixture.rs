//! The directories that are damaged: made by a real server, with a known content, and stopped in different ways.

use super::content::Book;
use super::layout::Log;
use super::trial::copy_directory;
use harness::server::{Kind, Server, Setup};
use harness::step::Outcome;
use std::path::{Path, PathBuf};

/// Transactions with long texts among those that are counted.
const LARGE: u32 = 6;

/// Small ones behind them: the last few KiB of the log hold many.
const SMALL: u32 = 16;

/// A stopped directory that is never opened itself.
pub struct Fixture {
    /// A word for it.
    pub name: &'static str,
    /// The directory.
    pub datadir: PathBuf,
    /// What is in it.
    pub book: Book,
    /// Its log.
    pub log: Log,
}

/// Ways of coming to a directory.
pub const NAMES: [&str; 4] = ["clean", "killed", "again", "busy"];

fn killed(server: Server, book: &Book) -> Outcome<()> {
    // A transaction that is rolled back at the next start.
    let mut conn = server.connect()?;
    book.leave_open(conn.as_mut())?;
    let mut other = server.connect()?;
    // A definition change is synced: with it, what the open transaction has done so far.
    other
        .run("CREATE DATABASE after")
        .map_err(|e| format!("CREATE DATABASE: {e}"))?;
    server.kill9()
}

/// Makes the directory called `name` below `dir`.
///
/// - `clean`: stopped by SIGTERM.
/// - `killed`: stopped by SIGTERM, started, a history of transactions, kill -9 with one of them open.
/// - `again`: the same, then started again with a history behind the jump of the recovery, and killed again.
/// - `busy`: a small pool and a small log under many changes, so that pages are in the doublewrite file and newer on
///   the device than at the last checkpoint; killed.
pub fn make(name: &'static str, dir: &Path, seed: u64) -> Outcome<Fixture> {
    let at = dir.join(name);
    std::fs::create_dir_all(&at).map_err(|e| format!("{}: {e}", at.display()))?;
    let setup = Setup::new(Kind::Tidemill, &at)?
        .option("innodb-flush-log-at-trx-commit=1")
        .option("innodb-buffer-pool-size=5M")
        // Each counted commit is one of the book's: statistics, made when the machine has time, would be another.
        .option("innodb-stats-auto-recalc=0")
        .redo_capacity("32M");
    let server = setup.start()?;
    let mut book = Book::create(server.connect()?.as_mut(), seed)?;
    if name == "clean" {
        book.history(server.connect()?.as_mut(), LARGE, SMALL)?;
        server.terminate()?;
    } else if name == "busy" {
        book.churn(server.connect()?.as_mut(), 900)?;
        book.history(server.connect()?.as_mut(), LARGE, SMALL)?;
        killed(server, &book)?;
    } else {
        server.terminate()?;
        let server = setup.start()?;
        book.history(server.connect()?.as_mut(), LARGE, SMALL)?;
        killed(server, &book)?;
        if name == "again" {
            let server = setup.start()?;
            book.history(server.connect()?.as_mut(), LARGE, SMALL)?;
            server.kill9()?;
        }
    }
    let datadir = at.join("pristine");
    copy_directory(&setup.datadir, &datadir)?;
    std::fs::remove_dir_all(&setup.datadir).map_err(|e| e.to_string())?;
    let log = Log::read(&datadir)?;
    Ok(Fixture {
        name,
        datadir,
        book,
        log,
    })
}
