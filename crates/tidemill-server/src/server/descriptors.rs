//! How many descriptors the process may have, and who gets them: the server's own (the log, its threads), the files of tables, clients.
//!
//! What is short is divided at the start, with a warning for each value that is lowered, as MySQL does it; where not even the least fits, nothing
//! starts. While it runs, a file of a table gives its descriptor for whatever else needs one (`pager::files`).

use crate::options::Options;

/// What the server has open beside tables and clients, whatever the machine: the log's files, the control file, listeners, what a sort or a
/// recovery opens for a while.
const OWN: u64 = 24;
/// What each thread that serves has open: event queues, a ring.
const A_THREAD: u64 = 6;
/// The fewest files of tables at once.
const TABLES_LEAST: u64 = 10;
/// The fewest connections.
const CONNECTIONS_LEAST: u64 = 2;
/// Connections that have not logged in yet: the fewest and the most.
const STRANGERS: (u64, u64) = (2, 4096);
/// A client's socket, and the file that it reads from, which stays open for it however many others are wanted.
const A_CLIENT: u64 = 2;
/// An administrator's connection beyond `max_connections`.
const ONE_MORE: u64 = 1;

/// Who may have how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shares {
    /// `max_connections`.
    pub connections: u64,
    /// Connections that have not logged in.
    pub unauthenticated: u64,
    /// Files of tables.
    pub tables: u64,
}

/// How many the process may have: all that the system allows it. `None` where it does not say.
pub fn available() -> Option<u64> {
    rlimit::increase_nofile_limit(u64::MAX).ok()
}

/// Divides `available` descriptors of a server with that many threads.
///
/// # Errors
/// Says how many it needs at least.
pub fn divide(options: &Options, available: u64, threads: u64) -> Result<Shares, String> {
    let own = OWN + A_THREAD * threads;
    let least = own + TABLES_LEAST + STRANGERS.0 + A_CLIENT * (ONE_MORE + CONNECTIONS_LEAST);
    if available < least {
        return Err(format!(
            "the process may have only {available} files open, and the server needs {least} at least; see ulimit -n"
        ));
    }
    let rest = available - own;
    let unauthenticated = (rest / 8).clamp(STRANGERS.0, STRANGERS.1);
    let rest = rest - unauthenticated - A_CLIENT * ONE_MORE;
    let kept = options.open_files().min((rest / 4).max(TABLES_LEAST));
    let connections = u64::from(options.max_connections).min((rest - kept) / A_CLIENT);
    Ok(Shares {
        connections,
        unauthenticated,
        tables: options.open_files().min(rest - A_CLIENT * connections),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(available: u64, asked: (u32, u64)) -> Result<Shares, String> {
        let options = Options {
            max_connections: asked.0,
            innodb_open_files: Some(asked.1),
            ..Options::default()
        };
        divide(&options, available, 2)
    }

    #[test]
    fn where_all_fits_all_have_what_they_ask_for() {
        let got = shares(1 << 20, (10_000, 4000)).unwrap();
        assert_eq!((got.connections, got.tables), (10_000, 4000));
        assert_eq!(got.unauthenticated, 4096);
    }

    #[test]
    fn no_more_is_given_than_there_is_and_nobody_gets_nothing() {
        let own = OWN + 2 * A_THREAD;
        for available in 1..5000 {
            for asked in [(1, 10), (151, 4000), (10_000, 10), (100_000, 500_000)] {
                let Ok(got) = shares(available, asked) else {
                    assert!(available < own + 18, "{available}");
                    continue;
                };
                let clients = A_CLIENT * (got.connections + ONE_MORE);
                let sum = own + clients + got.unauthenticated + got.tables;
                assert!(sum <= available, "{available} {asked:?} {got:?}");
                let least = CONNECTIONS_LEAST.min(u64::from(asked.0));
                assert!(got.connections >= least && got.tables >= 10, "{got:?}");
                assert!(got.connections <= u64::from(asked.0) && got.tables <= asked.1);
            }
        }
    }

    #[test]
    fn too_few_are_said() {
        let why = shares(40, (151, 4000)).unwrap_err();
        assert!(why.contains("only 40") && why.contains("ulimit"), "{why}");
    }
}
