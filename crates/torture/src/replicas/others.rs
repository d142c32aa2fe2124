//! What others do on the source beside the clients: sysbench's oltp_read_write and TPC-C, at a rate that leaves the clients their share.

use harness::server::Setup;
use harness::step::Outcome;
use harness::sysbench::{Load, TPCC, Watched};

fn loads() -> [Load; 2] {
    let threads = 4;
    let rate = 80;
    // They are stopped before that.
    let seconds = 7200;
    [
        Load {
            tables: 3,
            threads,
            rate,
            seconds,
            ..Load::new("oltp_read_write", 2000)
        },
        Load {
            threads,
            rate,
            seconds,
            database: "tpcc",
            extra: vec!["--mysql-ignore-errors=1213,1205"],
            ..Load::new(TPCC, 0)
        },
    ]
}

/// Makes their tables.
pub fn make(source: &Setup) -> Outcome<()> {
    loads().iter().try_for_each(|load| load.prepare(source))
}

/// The programs, at work.
pub struct Others(Vec<(&'static str, Watched)>);

/// Starts them.
pub fn start(source: &Setup) -> Outcome<Others> {
    let started = loads().map(|load| Ok((load.script, load.watch(source)?)));
    started.into_iter().collect::<Outcome<Vec<_>>>().map(Others)
}

impl Others {
    /// Ends them.
    ///
    /// # Errors
    /// What one of them complained of; one has ended by itself.
    pub fn end(self) -> Outcome<()> {
        for (name, mut program) in self.0 {
            let seconds = program.seconds().map_err(|e| format!("{name}: {e}"))?;
            if seconds.iter().all(|s| s.qps == 0.0) {
                return Err(format!("{name} has done nothing"));
            }
        }
        Ok(())
    }
}
