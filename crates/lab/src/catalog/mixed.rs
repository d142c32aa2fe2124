//! Experiments whose transactions read and write.

use super::parts::{PLAIN, ROOMY, ROOMY_LAZY, TIGHT};
use crate::experiment::{Against, Data, Experiment, Figure, Limit, Load, Series, Side, Target};
use crate::peers::{Terms, Who};

/// Not behind the best peer, at any number of clients.
const ABOVE_PEERS: Target = Target::new(Figure::Rate, Against::BestPeer, Limit::AtLeast(1.0));

/// Sysbench's table of so many rows with a row format.
const fn formatted(rows: u64, options: &'static str, cached: bool) -> Data {
    Data::Rows {
        tables: 1,
        rows,
        options,
        cached,
    }
}

const BLOCKS_8: &str = "ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8";
const BLOCKS_4: &str = "ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4";
const BLOCKS_2: &str = "ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=2";
const ADAPTIVE: &str = "ROW_FORMAT=COMPRESSED";
/// What comes next to our adaptive format in MariaDB.
const PUNCHED: &str = "PAGE_COMPRESSED=1";

/// The sides of a series on row formats.
const fn formats(rows: u64, cached: bool) -> [Side; 10] {
    const fn ours(name: &'static str, data: Data) -> Side {
        Side::on(Who::Tidemill, name, data)
    }
    const fn theirs(name: &'static str, data: Data) -> Side {
        Side::on(Who::MariaDb, name, data)
    }
    [
        ours("tidemill, plain", formatted(rows, "", cached)),
        ours("tidemill, 8 KiB", formatted(rows, BLOCKS_8, cached)),
        ours("tidemill, 4 KiB", formatted(rows, BLOCKS_4, cached)),
        ours("tidemill, 2 KiB", formatted(rows, BLOCKS_2, cached)),
        ours("tidemill, adaptive", formatted(rows, ADAPTIVE, cached)),
        theirs("mariadb, plain", formatted(rows, "", cached)),
        theirs("mariadb, 8 KiB", formatted(rows, BLOCKS_8, cached)),
        theirs("mariadb, 4 KiB", formatted(rows, BLOCKS_4, cached)),
        theirs("mariadb, 2 KiB", formatted(rows, BLOCKS_2, cached)),
        theirs(
            "mariadb, page compression",
            formatted(rows, PUNCHED, cached),
        ),
    ]
}

const CACHED_FORMATS: [Side; 10] = formats(1_000_000, true);
/// Four times the memory for pages that [`TIGHT`] gives.
const LARGE_FORMATS: [Side; 10] = formats(2_500_000, false);

const fn rate(side: &'static str, against: &'static str, at_least: f64) -> Target {
    Target::new(
        Figure::Rate,
        Against::Side(against),
        Limit::AtLeast(at_least),
    )
    .of(side)
}

/// What is asked of row formats where data is four times the memory for pages.
const LARGE_TARGETS: &[Target] = &[
    rate("tidemill, 8 KiB", "tidemill, plain", 1.0),
    rate("tidemill, adaptive", "tidemill, plain", 1.0),
    rate("tidemill, 4 KiB", "tidemill, 8 KiB", 0.9),
    rate("tidemill, plain", "mariadb, plain", 1.0),
    rate("tidemill, 8 KiB", "mariadb, 8 KiB", 1.0),
    rate("tidemill, 4 KiB", "mariadb, 4 KiB", 1.0),
    rate("tidemill, 2 KiB", "mariadb, 2 KiB", 1.0),
    rate("tidemill, adaptive", "mariadb, page compression", 1.0),
];

pub const E14: Experiment = Experiment {
    id: "E14",
    title: "read and write in each row format",
    seen: "compression costs when cached and pays when not; blocks of 4 and 2 KiB collapse",
    series: &[
        Series {
            label: "cached, uncompressed",
            load: Load::Sysbench("oltp_read_write", &[]),
            clients: &[8, 64, 256],
            terms: ROOMY_LAZY,
            targets: &[ABOVE_PEERS.chosen()],
            headline: Some("read/write"),
            ..PLAIN
        },
        Series {
            label: "cached",
            load: Load::Sysbench("oltp_read_write", &[]),
            clients: &[8, 64],
            terms: ROOMY_LAZY,
            sides: &CACHED_FORMATS,
            targets: &[
                rate("tidemill, 8 KiB", "tidemill, plain", 0.9),
                rate("tidemill, 4 KiB", "tidemill, plain", 0.9),
                rate("tidemill, 2 KiB", "tidemill, plain", 0.9),
                rate("tidemill, adaptive", "tidemill, plain", 0.9),
                rate("tidemill, plain", "mariadb, plain", 1.0),
                rate("tidemill, 8 KiB", "mariadb, 8 KiB", 1.0),
                rate("tidemill, 4 KiB", "mariadb, 4 KiB", 1.0),
                rate("tidemill, 2 KiB", "mariadb, 2 KiB", 1.0),
                rate("tidemill, adaptive", "mariadb, page compression", 1.0),
            ],
            ..PLAIN
        },
        Series {
            label: "data four times the pool",
            load: Load::Sysbench("oltp_read_write", &[]),
            clients: &[8, 64],
            terms: TIGHT,
            sides: &LARGE_FORMATS,
            targets: LARGE_TARGETS,
            ..PLAIN
        },
    ],
};

/// MB a second, each way, of an ordinary volume in the cloud.
const VOLUME_MB_S: u64 = 125;

pub const E14_SLOW: Experiment = Experiment {
    id: "E14-slow",
    title: "read and write in each row format, on the disk of an ordinary cloud volume",
    seen: "compression pays when IO-bound",
    series: &[Series {
        label: "data four times the pool, 125 MB/s",
        load: Load::Sysbench("oltp_read_write", &[]),
        clients: &[8, 64],
        terms: Terms {
            disk_mb_s: VOLUME_MB_S,
            ..TIGHT
        },
        sides: &LARGE_FORMATS,
        targets: LARGE_TARGETS,
        ..PLAIN
    }],
};

/// Twice the best peer.
const TWICE: Target = Target::new(Figure::Rate, Against::BestPeer, Limit::AtLeast(2.0));

const TPCC: Series = Series {
    load: Load::Tpcc(&[]),
    clients: &[1, 8, 32],
    seconds: 12,
    data: Data::Warehouses(5),
    targets: &[TWICE],
    ..PLAIN
};

pub const E18: Experiment = Experiment {
    id: "E18",
    title: "TPC-C, durable commits",
    seen: "PBXT at half of InnoDB until nothing paused before a commit and no index page was copied",
    series: &[
        Series {
            label: "cached, the isolation level of each server's default",
            headline: Some("TPC-C"),
            ..TPCC
        },
        Series {
            label: "cached, READ COMMITTED on every side",
            load: Load::Tpcc(&["--isolation=2"]),
            ..TPCC
        },
        Series {
            label: "data eight times the pool",
            data: Data::Warehouses(20),
            terms: Terms {
                pool_mib: 256,
                ..ROOMY
            },
            ..TPCC
        },
    ],
};
