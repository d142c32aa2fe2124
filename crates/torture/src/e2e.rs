//! End-to-end tests: the SQL cases through the unmodified `mariadb` program, then every sysbench script and TPC-C for a moment.
//!
//! The same cases run against MariaDB with `--server mariadb`: that is how an expected result is known to be what
//! MySQL's users are used to, and not only what we happen to return.

use harness::client::{Cli, Conn as _, Fault, Via};
use harness::scratch::Scratch;
use harness::server::{Kind, Server, Setup};
use harness::step::{self, Outcome};
use harness::sysbench::{BULK_INSERT, Load, SCRIPTS, TPCC};
use harness::workspace;

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The server program.
    #[arg(long, value_enum, default_value_t = Kind::Tidemill)]
    server: Kind,
    /// Only files whose names contain this.
    #[arg(long, default_value = "", hide_default_value = true)]
    only: String,
}

/// The command.
pub fn command(options: &Options) -> Outcome<()> {
    let mut scratch = Scratch::new("e2e")?;
    let result = run(options.server, &options.only, &scratch);
    if result.is_err() {
        scratch.keep();
    }
    result
}

/// Everything, against our own server.
pub fn all() -> Outcome<()> {
    let mut scratch = Scratch::new("e2e")?;
    let result = run(Kind::Tidemill, "", &scratch);
    if result.is_err() {
        scratch.keep();
    }
    result
}

fn run(kind: Kind, only: &str, scratch: &Scratch) -> Outcome<()> {
    let setup = Setup::new(kind, scratch.path())?
        .option("innodb-buffer-pool-size=128M")
        .option("innodb-flush-log-at-trx-commit=2")
        .option("innodb-lock-wait-timeout=5")
        .option("max-connections=200")
        .option("max-allowed-packet=64M")
        .option_of(Kind::MariaDb, "character-set-server=utf8mb4")
        .option_of(Kind::MariaDb, "collation-server=utf8mb4_general_ci")
        .option_of(
            Kind::MariaDb,
            "sql-mode=ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,\
             ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION",
        );
    let mut server = setup.start()?;
    cases(&server, only)?;
    server.must_run()?;
    if only.is_empty() {
        over_tcp(&server)?;
        smoke(&server)?;
        server.must_run()?;
    }
    if kind == Kind::MariaDb || !only.is_empty() {
        return server.terminate();
    }
    server.terminate()?;
    setup.check_offline()
}

/// Runs the SQL cases through the `mariadb` program.
fn cases(server: &Server, only: &str) -> Outcome<()> {
    step::announce(&format!("SQL cases on {}", server.setup().kind.name()));
    let dir = workspace::root().join("crates/tidemill/tests/sql");
    let options = slt::Options { only, bless: false };
    let records = slt::run(&dir, &Program(server.setup()), options)?;
    println!("    {records} records");
    Ok(())
}

/// The unmodified `mariadb` program as a client of the cases.
struct Program<'a>(&'a Setup);

impl slt::Client for Program<'_> {
    fn labels(&self) -> &[&str] {
        match self.0.kind {
            Kind::MariaDb => &["mariadb", "program"],
            _ => &["tidemill", "program"],
        }
    }

    fn connect(&self) -> Result<Box<dyn slt::Session>, slt::Failure> {
        let cli = Cli::open(Via::Socket(&self.0.socket)).map_err(failure)?;
        Ok(Box::new(Batch(cli)))
    }
}

struct Batch(Cli);

impl slt::Session for Batch {
    fn run(&mut self, sql: &str) -> Result<slt::Answer, slt::Failure> {
        let rows = self.0.run(sql).map_err(failure)?;
        // The program prints neither types nor the difference between no rows and no result set.
        let Some(first) = rows.first() else {
            return Ok(slt::Answer::Done(0));
        };
        let types = vec![slt::Letter::Unknown; first.len()];
        let shown = |cell: &String| match cell.as_str() {
            "" => slt::cell(Some(b"")),
            cell => cell.to_owned(),
        };
        let rows = rows.iter().map(|row| row.iter().map(shown).collect());
        Ok(slt::Answer::Rows {
            types,
            rows: rows.collect(),
        })
    }
}

fn failure(fault: Fault) -> slt::Failure {
    match fault {
        Fault::Server { code, state, text } => slt::Failure::Server {
            code,
            state,
            message: text,
        },
        other => slt::Failure::Broken(other.to_string()),
    }
}

/// The same program over TCP, for one query.
fn over_tcp(server: &Server) -> Outcome<()> {
    step::announce("a query over TCP");
    let mut cli = Cli::open(Via::Tcp(server.setup().port)).map_err(|e| e.to_string())?;
    let rows = cli
        .run("SELECT 6 * 7")
        .map_err(|e| format!("over TCP: {e}"))?;
    if rows == [["42"]] {
        Ok(())
    } else {
        Err(format!("SELECT 6 * 7 over TCP gives {rows:?}"))
    }
}

/// Each sysbench script for a second, at few threads, over tiny tables, prepared and as text.
fn smoke(server: &Server) -> Outcome<()> {
    let setup = server.setup();
    for ps_mode in ["auto", "disable"] {
        step::announce(&format!("sysbench smoke, --db-ps-mode={ps_mode}"));
        let load = |script| Load {
            tables: 2,
            threads: 8,
            seconds: 1,
            ps_mode,
            ..Load::new(script, 2_000)
        };
        load(SCRIPTS[0]).prepare(setup)?;
        for script in SCRIPTS {
            let figures = load(script).run(setup)?;
            println!("    {script:<22} {:>9.0} queries/s", figures.qps);
        }
        load(SCRIPTS[0]).cleanup(setup)?;
        let bulk = load(BULK_INSERT);
        bulk.prepare(setup)?;
        let figures = bulk.run(setup)?;
        println!("    {BULK_INSERT:<22} {:>9.0} rows/s", figures.tps);
        bulk.cleanup(setup)?;
    }
    tpcc(setup)
}

/// TPC-C for a moment, and its consistency conditions: nothing may be refused but deadlocks.
fn tpcc(setup: &Setup) -> Outcome<()> {
    step::announce("TPC-C for a moment");
    let load = Load {
        threads: 8,
        seconds: 3,
        database: "tpcc",
        extra: vec!["--mysql-ignore-errors=1213"],
        ..Load::new(TPCC, 0)
    };
    load.prepare(setup)?;
    load.check(setup)?;
    let figures = load.run(setup)?;
    load.check(setup)?;
    println!("    {:.0} transactions/s", figures.tps);
    load.cleanup(setup)
}
