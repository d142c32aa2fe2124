//! Tidemill and MariaDB: what speaks MySQL's protocol and takes MySQL's options.

use super::guard::Guard;
use super::peer::{Order, Peer, Who};
use super::slow_disk::SlowDisk;
use harness::client::Conn;
use harness::queries;
use harness::server::{Kind, Server, Setup};
use harness::step::Outcome;
use harness::sysbench::Reach;
use harness::workspace;
use std::cell::RefCell;

/// One of them, running.
pub struct Mysql {
    // Before the server: it goes first.
    guard: Guard,
    server: Server,
    conn: RefCell<Box<dyn Conn>>,
    // Behind the server, which is in it.
    _disk: Option<SlowDisk>,
}

impl Mysql {
    /// Starts it on its directory.
    pub fn start(order: &Order<'_>) -> Outcome<Mysql> {
        let kind = match order.who {
            Who::Tidemill | Who::Uncounted => Kind::Tidemill,
            _ => Kind::MariaDb,
        };
        std::fs::create_dir_all(order.dir).map_err(|e| format!("{}: {e}", order.dir.display()))?;
        let there = Setup::over(kind, order.dir)?;
        let mut setup = if there.datadir.is_dir() {
            there
        } else {
            Setup::new(kind, order.dir)?
        };
        if order.who == Who::Uncounted {
            setup.program = workspace::uncounted_server()?;
        }
        let terms = order.terms;
        setup = match order.who {
            Who::MyRocks => setup
                .option("plugin-load-add=ha_rocksdb")
                .option("default-storage-engine=rocksdb")
                .option(&format!("rocksdb-flush-log-at-trx-commit={}", terms.flush))
                .option(&format!("rocksdb-block-cache-size={}M", terms.pool_mib))
                .option("rocksdb-use-direct-reads=ON")
                .option("rocksdb-use-direct-io-for-flush-and-compaction=ON"),
            _ => setup
                .option(&format!("innodb-buffer-pool-size={}M", terms.pool_mib))
                .option(&format!("innodb-flush-log-at-trx-commit={}", terms.flush))
                .redo_capacity(&format!("{}M", terms.log_mib)),
        };
        setup = setup.option("max-connections=1000");
        for option in order.options {
            setup = setup.option(option);
        }
        setup.cores = order.cores.to_owned();
        let server = setup.start()?;
        let guard = Guard::over(server.pid())?;
        let slow = |mb_s| SlowDisk::over(server.pid(), order.dir, mb_s);
        let disk = Some(terms.disk_mb_s).filter(|n| *n > 0).map(slow);
        let disk = disk.transpose()?;
        let conn = RefCell::new(server.connect()?);
        Ok(Mysql {
            guard,
            server,
            conn,
            _disk: disk,
        })
    }
}

impl Peer for Mysql {
    fn reach(&self) -> Reach {
        Reach::from(self.server.setup())
    }

    fn port(&self) -> u16 {
        self.server.setup().port
    }

    fn pid(&self) -> u32 {
        self.server.pid()
    }

    fn version(&self) -> Outcome<String> {
        self.ask("", "SELECT version()")
    }

    fn settings(&self) -> Vec<String> {
        self.server.setup().options().to_vec()
    }

    fn ask(&self, database: &str, sql: &str) -> Outcome<String> {
        let mut conn = self.conn.borrow_mut();
        let mut run = |sql: &str| conn.run(sql).map_err(|e| format!("{sql}: {e}"));
        if !database.is_empty() {
            run(&format!("USE {database}"))?;
        }
        let mut first = None;
        for statement in sql.split(';').map(str::trim).filter(|s| !s.is_empty()) {
            let rows = run(statement)?;
            first = first.or_else(|| rows.first()?.first().cloned());
        }
        Ok(first.unwrap_or_default())
    }

    fn make_database(&self, name: &str) -> Outcome<()> {
        let sql = format!("DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name}");
        self.ask("", &sql).map(drop)
    }

    fn finish_load(&self, database: &str, tables: &[String]) -> Outcome<()> {
        for table in tables {
            self.ask(database, &format!("ANALYZE TABLE {table}"))?;
        }
        Ok(())
    }

    fn log_syncs(&self) -> Option<u64> {
        queries::status(self.conn.borrow_mut().as_mut(), "Innodb_os_log_fsyncs")
    }

    fn pause(&self, pause: bool) -> Outcome<()> {
        self.server.signal(if pause { "STOP" } else { "CONT" })
    }

    fn stop(self: Box<Self>) -> Outcome<()> {
        self.pause(false)?;
        drop(self.conn);
        drop(self.guard);
        self.server.terminate()
    }
}
