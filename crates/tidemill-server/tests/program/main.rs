//! The program `tidemill` from outside, as a process of its own: the protocol, options and damage, TLS with other people's programs.
//!
//! Tests that drive the programs `mariadb` and `openssl` are left out, with a message, where these are not installed; not in
//! `cargo xtask test`, which installs them and sets `TIDEMILL_ALL_TESTS`.

mod archive;
mod backups;
mod edges;
mod protocol;
mod tls;
mod tls_of_commands;

use harness::scratch::Scratch;
use harness::server::{Kind, Server, Setup};
use harness::step::{self, Outcome};
use std::path::Path;
use std::time::Duration;

/// What a command may take here, each of which has little to do.
const LONGEST: Duration = Duration::from_secs(120);

/// A server program, and the folder that goes when the test ends.
struct Program {
    setup: Setup,
    _scratch: Scratch,
}

impl Program {
    /// Ours, small.
    fn new(name: &str) -> Outcome<Program> {
        Program::of(Kind::Tidemill, name)
    }

    /// The one that `TIDEMILL_TEST_SERVER` names (`mariadb`), or ours: for what both must do alike.
    fn of_either_kind(name: &str) -> Outcome<Program> {
        let kind = std::env::var("TIDEMILL_TEST_SERVER");
        Program::of(kind.as_deref().unwrap_or("tidemill").parse()?, name)
    }

    fn of(kind: Kind, name: &str) -> Outcome<Program> {
        let scratch = Scratch::new(&format!("program-{name}"))?;
        let setup = match kind {
            Kind::Tidemill => {
                Setup::tidemill(Path::new(env!("CARGO_BIN_EXE_tidemill")), scratch.path())?
            }
            Kind::MariaDb => Setup::new(kind, scratch.path())?,
        };
        let setup = setup
            .redo_capacity("64M")
            .option("innodb-buffer-pool-size=32M")
            .option("innodb-flush-log-at-trx-commit=2")
            .option("max-allowed-packet=64M");
        Ok(Program {
            setup,
            _scratch: scratch,
        })
    }

    fn start(&self) -> Outcome<Server> {
        self.setup.start()
    }
}

/// Whether a test that drives these programs can be run here.
fn are_installed(programs: &[&str]) -> bool {
    let missing: Vec<&&str> = programs.iter().filter(|p| !step::on_path(p)).collect();
    if missing.is_empty() {
        return true;
    }
    assert!(
        std::env::var_os("TIDEMILL_ALL_TESTS").is_none(),
        "not installed: {missing:?}"
    );
    println!("left out, not installed: {missing:?}; `cargo xtask install` does that");
    false
}
