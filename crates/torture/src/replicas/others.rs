//! What others do on the source beside the clients: sysbench's oltp_read_write and TPC-C, at a rate that leaves the clients their share.

use harness::server::Setup;
use harness::step::Outcome;
use harness::sysbench::{Background, Load, TPCC};

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
pub struct Others(Vec<(&'static str, Background)>);

/// Starts them.
pub fn start(source: &Setup) -> Outcome<Others> {
    let started = loads().map(|load| Ok((load.script, load.spawn(source)?)));
    started.into_iter().collect::<Outcome<Vec<_>>>().map(Others)
}

impl Others {
    /// Ends them.
    ///
    /// # Errors
    /// One has ended by itself.
    pub fn end(self) -> Outcome<()> {
        for (name, mut program) in self.0 {
            if !program.runs() {
                return Err(format!("sysbench {name} has ended by itself"));
            }
        }
        Ok(())
    }
}
