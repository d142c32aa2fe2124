//! Experiments that only read.

use super::parts::{CANNED, LARGE, MARIADB, PLAIN, POSTGRES, TIDEMILL, TIGHT};
use crate::experiment::{
    Against, Experiment, Figure, Limit, Load, Part, Probe, Series, Side, Target,
};
use crate::peers::Who;

/// The disk by itself, as E01 uses it.
const ONE_READ: Side = Side::disk("fio, 1 read at a time", Probe::Read(1));
const MANY_READS: Side = Side::disk("fio, 32 reads at a time", Probe::Read(32));

/// A point select misses the pool at most once, since what is above the leaves stays there.
const ONE_PAGE_A_QUERY: Target = Target::new(Figure::Reads, Against::Nothing, Limit::AtMost(1.1));

pub const E01: Experiment = Experiment {
    id: "E01",
    title: "point select by primary key, data eight times the pool",
    seen: "one client, reads of 100 us: 5,063 a second at best, 4,342 with slow checksums, 4,682 with performance_schema",
    series: &[
        Series {
            label: "one client",
            clients: &[1],
            data: LARGE,
            terms: TIGHT,
            sides: &[TIDEMILL, MARIADB, POSTGRES, ONE_READ],
            targets: &[
                Target::new(
                    Figure::Rate,
                    Against::Side(ONE_READ.name),
                    Limit::AtLeast(0.85),
                ),
                ONE_PAGE_A_QUERY,
            ],
            ..PLAIN
        },
        Series {
            label: "32 clients",
            clients: &[32],
            data: LARGE,
            terms: TIGHT,
            sides: &[TIDEMILL, MARIADB, POSTGRES, MANY_READS],
            targets: &[
                Target::new(
                    Figure::Rate,
                    Against::Side(MANY_READS.name),
                    Limit::AtLeast(0.9),
                ),
                ONE_PAGE_A_QUERY,
            ],
            ..PLAIN
        },
    ],
};

pub const E02: Experiment = Experiment {
    id: "E02",
    title: "point select by primary key, cached",
    seen: "one client: 11,940 a second with MySQL 5.1, 10,860 with 5.6; each release slower",
    series: &[Series {
        label: "cached",
        sides: &[TIDEMILL, MARIADB, POSTGRES, CANNED],
        targets: &[
            Target::new(Figure::Cpu, Against::BestPeer, Limit::AtMost(0.33)),
            Target::new(Figure::Rate, Against::BestPeer, Limit::AtLeast(2.3)).at(&[64]),
            Target::new(Figure::Rate, Against::BestPeer, Limit::AtLeast(2.8)).at(&[256]),
            Target::new(
                Figure::Rate,
                Against::Side(CANNED.name),
                Limit::AtLeast(0.85),
            ),
        ],
        headline: Some("point select"),
        ..PLAIN
    }],
};

/// Tidemill's statistics have no switch; a build without its counters shows what they cost.
const UNCOUNTED: Side = Side {
    part: Part::Tuned,
    ..Side::plain(Who::Uncounted)
};

const STATISTICS: Series = Series {
    sides: &[
        TIDEMILL,
        UNCOUNTED,
        MARIADB,
        Side::tuned(
            Who::MariaDb,
            "mariadb, performance_schema",
            &["performance-schema=ON"],
        ),
        Side::tuned(Who::MariaDb, "mariadb, userstat", &["userstat=ON"]),
    ],
    targets: &[
        Target::new(
            Figure::Rate,
            Against::Side(UNCOUNTED.name),
            Limit::AtLeast(0.99),
        ),
        Target::new(
            Figure::Cpu,
            Against::Side(UNCOUNTED.name),
            Limit::AtMost(1.01),
        ),
    ],
    ..PLAIN
};

pub const E03: Experiment = Experiment {
    id: "E03",
    title: "statistics on and off",
    seen: "9 % lost with performance_schema; next to nothing with table and user statistics",
    series: &[
        Series {
            label: "cached",
            clients: &[1, 64],
            ..STATISTICS
        },
        Series {
            label: "data eight times the pool",
            clients: &[1],
            data: LARGE,
            terms: TIGHT,
            ..STATISTICS
        },
    ],
};

/// One of the ranges of `oltp_read_only`, without the others.
const SUM: Load = Load::Sysbench(
    "oltp_read_only",
    &[
        "--skip-trx=on",
        "--point-selects=0",
        "--simple-ranges=0",
        "--sum-ranges=1",
        "--order-ranges=0",
        "--distinct-ranges=0",
    ],
);
const ORDER: Load = Load::Sysbench(
    "oltp_read_only",
    &[
        "--skip-trx=on",
        "--point-selects=0",
        "--simple-ranges=0",
        "--sum-ranges=0",
        "--order-ranges=1",
        "--distinct-ranges=0",
    ],
);
const DISTINCT: Load = Load::Sysbench(
    "oltp_read_only",
    &[
        "--skip-trx=on",
        "--point-selects=0",
        "--simple-ranges=0",
        "--sum-ranges=0",
        "--order-ranges=0",
        "--distinct-ranges=1",
    ],
);

const SCANS: Series = Series {
    clients: &[8, 64],
    targets: &[
        Target::new(Figure::Rate, Against::BestPeer, Limit::AtLeast(2.0)),
        Target::new(Figure::Cpu, Against::BestPeer, Limit::AtMost(1.0)).chosen(),
    ],
    ..PLAIN
};

/// Where clients and servers share few cores the clients have most of them, and what the server saves is not seen in the throughput. Here the
/// server has a core, and the clients the others.
const APART: Series = Series {
    sides: &[
        Side::cores(Who::Tidemill, "tidemill, 1 core", 1),
        Side::cores(Who::MariaDb, "mariadb, 1 core", 1),
        Side::cores(Who::Postgres, "postgres, 1 core", 1),
    ],
    targets: &[
        Target::new(Figure::Rate, Against::BestPeer, Limit::AtLeast(2.0))
            .of("tidemill, 1 core")
            .chosen(),
    ],
    ..SCANS
};

pub const E10: Experiment = Experiment {
    id: "E10",
    title: "scans of 100 rows",
    seen: "one shared statistics counter capped a server of four sockets at 2 to 4 million rows a second",
    series: &[
        Series {
            label: "all kinds, in a transaction",
            load: Load::Sysbench("oltp_read_only", &[]),
            headline: Some("read only"),
            ..SCANS
        },
        Series {
            label: "sums alone",
            load: SUM,
            ..SCANS
        },
        Series {
            label: "sorted ranges alone",
            load: ORDER,
            ..SCANS
        },
        Series {
            label: "distinct ranges alone",
            load: DISTINCT,
            ..SCANS
        },
        Series {
            label: "sums alone, the clients on other cores",
            load: SUM,
            ..APART
        },
        Series {
            label: "sorted ranges alone, the clients on other cores",
            load: ORDER,
            ..APART
        },
        Series {
            label: "distinct ranges alone, the clients on other cores",
            load: DISTINCT,
            ..APART
        },
    ],
};
