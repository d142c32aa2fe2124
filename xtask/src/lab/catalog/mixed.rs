//! Experiments whose transactions read and write.

use super::super::experiment::{Against, Bar, Data, Experiment, Figure, Limit, Load, Series};
use super::super::peers::Terms;
use super::{PLAIN, ROOMY, ROOMY_LAZY};

/// Not behind the best peer, at any number of clients.
const ABOVE_PEERS: Bar = Bar::new(Figure::Rate, Against::BestPeer, Limit::AtLeast(1.0));

pub const E14: Experiment = Experiment {
    id: "E14",
    title: "read and write, without compression",
    seen: "compression costs when cached and pays when not; blocks of 4 and 2 KiB collapse",
    series: &[Series {
        label: "cached, uncompressed rows (row formats are not there yet)",
        load: Load::Sysbench("oltp_read_write", &[]),
        clients: &[8, 64, 256],
        terms: ROOMY_LAZY,
        bars: &[ABOVE_PEERS.chosen()],
        headline: Some("read/write"),
        ..PLAIN
    }],
};

/// Twice the best peer.
const TWICE: Bar = Bar::new(Figure::Rate, Against::BestPeer, Limit::AtLeast(2.0));

const TPCC: Series = Series {
    load: Load::Tpcc(&[]),
    clients: &[1, 8, 32],
    seconds: 30,
    data: Data::Warehouses(5),
    bars: &[TWICE],
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
