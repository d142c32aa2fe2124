//! E12 and E13 on TPC-C's tables: what converting all of them to each row format and back takes, and what is on the disk then.

use crate::conversions::timed;
use crate::dataset_cache::occupied_mib;
use crate::experiment::DATABASE;
use crate::formats::{FORMATS, TERMS, WHOS, packed_whole};
use crate::machine;
use crate::peers::{self, Order, Who};
use crate::tpcc;
use harness::scratch::Scratch;
use harness::step::{self, Outcome};
use harness::table::{Cell, Table};
use harness::workspace;
use std::time::Instant;

/// What a server made of the tables in one format.
struct FormatResult {
    to_s: Option<f64>,
    back_s: Option<f64>,
    mib: f64,
}

/// Measures both servers, one after the other, once, and writes the record.
pub(super) fn measure(warehouses: u32) -> Outcome<()> {
    let scratch = Scratch::new("formats")?;
    let cores = machine::describe(scratch.path()).cores;
    let mut all = Vec::new();
    let mut whole = None;
    for who in WHOS {
        step::announce(&format!("{warehouses} warehouses, {}", who.name()));
        let dir = scratch.path().join("side");
        let order = Order {
            who,
            terms: TERMS,
            options: &[],
            dir: &dir,
            cores: "",
        };
        let mut peer = peers::start(&order)?;
        peer.make_database(DATABASE)?;
        let begun = Instant::now();
        tpcc::fill(&*peer, who, warehouses)?;
        println!("    loaded in {:.1} s", begun.elapsed().as_secs_f64());
        for format in FORMATS {
            let plain = format.name == "uncompressed";
            let alter = |options: &str| -> String {
                let tables = tpcc::TABLES.iter();
                tables
                    .map(|t| format!("ALTER TABLE {t} {options};"))
                    .collect()
            };
            let mut to_s = None;
            if !plain {
                to_s = Some(timed(&*peer, &alter(format.options(who)))?.0);
            }
            // What is on the disk is looked at after a clean shutdown.
            peer.stop()?;
            let mib = occupied_mib(&dir.join(who.tables_dir())) as f64;
            if plain && who == Who::Tidemill {
                whole = Some(packed_whole(&dir)?);
            }
            peer = peers::start(&order)?;
            let mut back_s = None;
            if !plain {
                back_s = Some(timed(&*peer, &alter(format.plain(who)))?.0);
            }
            println!(
                "    {}: {mib:.0} MiB, to it {to_s:.2?} s, back {back_s:.2?} s",
                format.name
            );
            all.push(FormatResult { to_s, back_s, mib });
        }
        if who == Who::Tidemill {
            tpcc::check(&*peer, who, warehouses.min(2))?;
        }
        peer.stop()?;
        std::fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    }
    let table = table(&all, whole);
    table.print();
    let name = format!("{}-{cores}-cores-formats-tpcc.json", machine::today());
    let path = workspace::root().join("docs").join("benchmarks").join(name);
    table.save(&path)?;
    println!(
        "    {warehouses} warehouses, once; written: {}",
        path.display()
    );
    Ok(())
}

fn table(all: &[FormatResult], whole: Option<f64>) -> Table {
    let mut table = Table::new(&[
        "format", "server", "mib", "to_s", "back_s", "size", "to", "back",
    ]);
    let number = |n: Option<f64>, digits| n.map_or(Cell::Missing, |n| Cell::Number(n, digits));
    for (f, format) in FORMATS.iter().enumerate() {
        let peer = &all[FORMATS.len() + f];
        for (w, who) in WHOS.into_iter().enumerate() {
            let own = &all[w * FORMATS.len() + f];
            let ratio =
                |of: fn(&FormatResult) -> Option<f64>| of(own).zip(of(peer)).map(|(a, b)| a / b);
            table.row(vec![
                format.name.into(),
                who.name().into(),
                Cell::Number(own.mib, 0),
                number(own.to_s, 2),
                number(own.back_s, 2),
                number(ratio(|x| Some(x.mib)), 2),
                number(ratio(|x| x.to_s), 2),
                number(ratio(|x| x.back_s), 2),
            ]);
        }
    }
    let mut row = vec![
        "zstd -3 of the files".into(),
        "tidemill".into(),
        number(whole, 0),
    ];
    row.extend((0..5).map(|_| Cell::Missing));
    table.row(row);
    table
}
