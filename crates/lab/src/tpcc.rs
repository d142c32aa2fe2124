//! TPC-C by `go-tpc`, unmodified.
//!
//! It knows no Unix sockets, so that every side is reached through TCP on 127.0.0.1.

use crate::experiment::DATABASE;
use crate::go_tpc;
use crate::peers::{Peer, Who};
use harness::step::{self, Outcome};
use std::process::Command;
use std::time::Instant;

/// TPC-C's tables.
pub const TABLES: &[&str] = &[
    "customer",
    "district",
    "history",
    "item",
    "new_order",
    "order_line",
    "orders",
    "stock",
    "warehouse",
];

/// Seconds after its proper end at which a run is given up.
const HANGS_AFTER: u64 = 120;

/// Seconds that loading may take.
const LOADS_AT_MOST: u64 = 3600;

/// What `go-tpc` measured.
#[derive(Debug, Default, PartialEq)]
pub struct Tpcc {
    /// How long it took, in seconds, the transactions under way at the end included.
    pub took: f64,
    /// Transactions of all kinds.
    pub transactions: u64,
    /// New orders.
    pub new_orders: u64,
    /// Transactions that the server refused; the client gives them up and goes on.
    pub errors: u64,
    /// Percentiles of a new order's time, milliseconds: 50, 95, 99 and the longest.
    pub latency_ms: [f64; 4],
    /// New orders a minute, in each second.
    pub seconds: Vec<f64>,
}

fn command(peer: &dyn Peer, who: Who, warehouses: u32, seconds_at_most: u64) -> Outcome<Command> {
    let mut command = Command::new("timeout");
    command
        .args(["--signal=KILL", &seconds_at_most.to_string()])
        .arg(go_tpc::program()?)
        .args(["tpcc", "--host=127.0.0.1"])
        .arg(format!("--port={}", peer.port()))
        .arg(format!("--db={DATABASE}"))
        .arg(format!("--warehouses={warehouses}"));
    match who {
        Who::Postgres => command.args([
            "--driver=postgres",
            "--user=postgres",
            "--conn-params=sslmode=disable",
        ]),
        _ => command.args(["--driver=mysql", "--user=root"]),
    };
    Ok(command)
}

/// Makes and fills the tables.
pub fn fill(peer: &dyn Peer, who: Who, warehouses: u32) -> Outcome<()> {
    let mut prepare = command(peer, who, warehouses, LOADS_AT_MOST)?;
    // Its own check of the tables takes longer than loading them.
    step::must(prepare.args(["--threads=2", "prepare", "--no-check"])).map(drop)
}

/// Runs the load.
pub fn run(
    peer: &dyn Peer,
    who: Who,
    warehouses: u32,
    terminals: u32,
    seconds: u64,
    flags: &[&str],
) -> Outcome<Tpcc> {
    let mut run = command(peer, who, warehouses, seconds + HANGS_AFTER)?;
    run.arg(format!("--threads={terminals}"))
        .arg(format!("--time={seconds}s"))
        .args(["--interval=1s", "--ignore-error", "--silence"])
        .args(flags)
        .arg("run");
    let begun = Instant::now();
    let said = step::quietly(&mut run)?;
    let took = begun.elapsed().as_secs_f64();
    match Tpcc::parse(&said.text) {
        Some(found) if said.success => Ok(Tpcc { took, ..found }),
        _ => Err(format!(
            "go-tpc for {seconds} s at {terminals} terminals gave no report in {took:.0} s:\n{}",
            step::tail(&said.text, 20)
        )),
    }
}

/// The consistency conditions of the specification (clause 3.3.2), as `go-tpc` asks for them.
pub fn check(peer: &dyn Peer, who: Who, warehouses: u32) -> Outcome<()> {
    let mut check = command(peer, who, warehouses, LOADS_AT_MOST)?;
    let said = step::quietly(check.args(["--threads=2", "check"]))?;
    let asked = said.text.matches("at condition").count();
    if said.success && asked > 0 && !said.text.contains("failed") {
        return Ok(());
    }
    Err(format!(
        "TPC-C's consistency checks ({asked} begun):\n{}",
        step::tail(&said.text, 20)
    ))
}

/// The number behind `name` in `[Summary] KIND - Takes(s): 9.6, Count: 10, TPM: 62.5, ...`.
fn field(line: &str, name: &str) -> Option<f64> {
    let after = &line[line.find(name)? + name.len()..];
    let end = after.find(',').unwrap_or(after.len());
    after[..end].trim().parse().ok()
}

impl Tpcc {
    fn parse(text: &str) -> Option<Tpcc> {
        let mut found = Tpcc::default();
        let mut whole = false;
        for line in text.lines() {
            if line.starts_with("[Current] NEW_ORDER - ") {
                found.seconds.push(60.0 * field(line, "Count:")?);
            } else if let Some(kind) = line.strip_prefix("[Summary] ") {
                let count = field(line, "Count:")? as u64;
                let name = kind.split(" - ").next().unwrap_or_default();
                if name.ends_with("_ERR") {
                    found.errors += count;
                    continue;
                }
                found.transactions += count;
                if name == "NEW_ORDER" {
                    found.new_orders = count;
                    let names = ["50th(ms):", "95th(ms):", "99th(ms):", "Max(ms):"];
                    for (place, name) in found.latency_ms.iter_mut().zip(names) {
                        *place = field(line, name)?;
                    }
                }
            } else if line == "Finished" {
                // The figures follow. Its own tpmC is not read: it divides by the time since the first order ended,
                // which may have been a moment ago.
                whole = true;
            }
        }
        whole.then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "
[Current] NEW_ORDER - Takes(s): 1.0, Count: 2, TPM: 120.0, Sum(ms): 1137.8, Avg(ms): 566.2, 50th(ms): 352.3, \
90th(ms): 805.3, 95th(ms): 805.3, 99th(ms): 805.3, 99.9th(ms): 805.3, Max(ms): 805.3
Finished
[Summary] NEW_ORDER - Takes(s): 9.6, Count: 10, TPM: 62.5, Sum(ms): 10201.5, Avg(ms): 1027.6, 50th(ms): 704.6, \
90th(ms): 906.0, 95th(ms): 4160.7, 99th(ms): 4160.7, 99.9th(ms): 4160.7, Max(ms): 4170.7
[Summary] NEW_ORDER_ERR - Takes(s): 9.6, Count: 3, TPM: 62.5, Sum(ms): 1.0, Avg(ms): 1.0, 50th(ms): 1.0, \
90th(ms): 1.0, 95th(ms): 1.0, 99th(ms): 1.0, 99.9th(ms): 1.0, Max(ms): 1.0
[Summary] PAYMENT - Takes(s): 10.2, Count: 11, TPM: 58.8, Sum(ms): 7.2, Avg(ms): 0.8, 50th(ms): 1.0, \
90th(ms): 1.0, 95th(ms): 1.0, 99th(ms): 1.0, 99.9th(ms): 1.0, Max(ms): 1.0
tpmC: 62.5, tpmTotal: 130.4, efficiency: 485.9%
";

    #[test]
    fn the_report_is_read() {
        let tpcc = Tpcc::parse(REPORT).unwrap();
        assert_eq!(
            (tpcc.transactions, tpcc.new_orders, tpcc.errors),
            (21, 10, 3)
        );
        assert_eq!(tpcc.latency_ms, [704.6, 4160.7, 4160.7, 4170.7]);
        assert_eq!(tpcc.seconds, [120.0]);
        assert_eq!(Tpcc::parse("panic"), None);
    }
}
