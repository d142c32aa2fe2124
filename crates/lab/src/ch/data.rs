//! The tables and rows, as `go-tpc` leaves them in a MariaDB.
//!
//! It draws its rows from the clock: both sides must get the same, so they are made once and written into files.

use crate::experiment::DATABASE;
use crate::go_tpc;
use crate::peers::{self, Order, Peer, Terms, Who};
use crate::query_comparison::Part;
use harness::step::{self, Outcome};
use std::fs;
use std::path::Path;
use std::process::Command;

/// TPC-C's tables, and what the queries want beside them.
const TABLES: &[&str] = &[
    "customer",
    "district",
    "history",
    "item",
    "nation",
    "new_order",
    "order_line",
    "orders",
    "region",
    "stock",
    "supplier",
    "warehouse",
];

/// The tables of so many warehouses, each with its definition and a file of rows.
pub(super) fn made(warehouses: u32, cache: &Path) -> Outcome<Vec<Part>> {
    let dir = cache.join(format!("ch-{warehouses}-rows"));
    if !dir.is_dir() {
        let fresh = cache.join(format!("ch-{warehouses}-rows-{}", std::process::id()));
        let _ = fs::remove_dir_all(&fresh);
        fs::create_dir_all(&fresh).map_err(|e| format!("{}: {e}", fresh.display()))?;
        make(warehouses, &fresh)?;
        // Nobody sees a directory that is not whole.
        fs::rename(&fresh, &dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    }
    let part = |name: &&str| {
        let create = dir.join(format!("{name}.sql"));
        Ok(Part {
            table: (*name).to_owned(),
            create: fs::read_to_string(&create)
                .map_err(|e| format!("{}: {e}", create.display()))?,
            files: vec![dir.join(format!("{name}.rows"))],
            later: Vec::new(),
        })
    };
    TABLES.iter().map(part).collect()
}

/// Has them made by `go-tpc`, and written by the server that they were made in.
fn make(warehouses: u32, dir: &Path) -> Outcome<()> {
    step::announce(&format!("making the rows of {warehouses} warehouses"));
    let server = dir.join("server");
    let peer = peers::start(&Order {
        who: Who::MariaDb,
        terms: Terms::LAZY,
        options: &[],
        dir: &server,
        cores: "",
    })?;
    peer.make_database(DATABASE)?;
    let go_tpc = |set: &str, flags: &[&str]| {
        let mut program = Command::new(go_tpc::program()?);
        program
            .args([set, "--host=127.0.0.1", "--user=root", "--threads=2"])
            .arg(format!("--port={}", peer.port()))
            .arg(format!("--db={DATABASE}"))
            .arg(format!("--warehouses={warehouses}"));
        step::must(program.arg("prepare").args(flags)).map(drop)
    };
    go_tpc("tpcc", &["--no-check"])?;
    go_tpc("ch", &[])?;
    for name in TABLES {
        write(&*peer, name, dir)?;
    }
    peer.stop()?;
    fs::remove_dir_all(&server).map_err(|e| format!("{}: {e}", server.display()))
}

/// Writes a table's definition and rows.
fn write(peer: &dyn Peer, name: &str, dir: &Path) -> Outcome<()> {
    let columns = format!(
        "SELECT GROUP_CONCAT(CONCAT('`', COLUMN_NAME, '` ', COLUMN_TYPE, IF(IS_NULLABLE = 'NO', ' NOT NULL', '')) \
         ORDER BY ORDINAL_POSITION) FROM information_schema.COLUMNS \
         WHERE TABLE_SCHEMA = '{DATABASE}' AND TABLE_NAME = '{name}'"
    );
    let keys = format!(
        "SELECT IFNULL(GROUP_CONCAT(def ORDER BY k = 'PRIMARY' DESC, def SEPARATOR ''), '') FROM (\
         SELECT INDEX_NAME k, CONCAT(', ', CASE WHEN INDEX_NAME = 'PRIMARY' THEN 'PRIMARY KEY' \
         WHEN NON_UNIQUE THEN CONCAT('KEY ', INDEX_NAME) ELSE CONCAT('UNIQUE KEY ', INDEX_NAME) END, \
         ' (', GROUP_CONCAT(COLUMN_NAME ORDER BY SEQ_IN_INDEX), ')') def FROM information_schema.STATISTICS \
         WHERE TABLE_SCHEMA = '{DATABASE}' AND TABLE_NAME = '{name}' GROUP BY INDEX_NAME, NON_UNIQUE) d"
    );
    let create = format!(
        "CREATE TABLE {name} ({}{})",
        peer.ask("", &columns)?,
        peer.ask("", &keys)?
    );
    let definition = dir.join(format!("{name}.sql"));
    fs::write(&definition, create).map_err(|e| format!("{}: {e}", definition.display()))?;
    let rows = dir.join(format!("{name}.rows"));
    let select = format!(
        "SELECT * INTO OUTFILE '{}' CHARACTER SET utf8mb4 FIELDS TERMINATED BY '|' FROM {name}",
        rows.display()
    );
    peer.ask(DATABASE, &select).map(drop)
}
