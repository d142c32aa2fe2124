//! Experiments that change rows.

use super::parts::{
    LARGE, MARIADB, PLAIN, POSTGRES, ROOMY_LAZY, SYNC, SYNC_DIRECT, TIDEMILL, TIGHT, UPDATE,
};
use crate::experiment::{Against, Experiment, Figure, Limit, Series, Side, Target};
use crate::peers::{Terms, Who};

/// The most clients lose next to nothing, with nothing to set.
const FLAT: Target = Target::new(Figure::Rate, Against::OwnPeak, Limit::AtLeast(0.95));

const NO_FSYNC: Side = Side::tuned(
    Who::Tidemill,
    "tidemill, O_DIRECT_NO_FSYNC",
    &["innodb-flush-method=O_DIRECT_NO_FSYNC"],
);

pub const E04: Experiment = Experiment {
    id: "E04",
    title: "update by primary key, data eight times the pool",
    seen: "O_DIRECT 18,234 24,359 10,379 9,795 9,843 10,283 at 8 to 256 clients, O_DIRECT_NO_FSYNC 17,996 to 30,265: \
           a sleep of 20 ms in fil_flush",
    series: &[Series {
        label: "flush methods",
        load: UPDATE,
        clients: &[8, 16, 32, 64, 128, 256],
        seconds: 20,
        data: LARGE,
        terms: TIGHT,
        sides: &[
            TIDEMILL,
            NO_FSYNC,
            MARIADB,
            Side::tuned(
                Who::MariaDb,
                "mariadb, O_DIRECT_NO_FSYNC",
                &["innodb-flush-method=O_DIRECT_NO_FSYNC"],
            ),
            POSTGRES,
        ],
        targets: &[
            Target::new(
                Figure::Rate,
                Against::Side(NO_FSYNC.name),
                Limit::AtLeast(0.97),
            ),
            Target::new(Figure::Rate, Against::BestPeer, Limit::AtLeast(2.0)).at(&[64]),
            FLAT,
        ],
        ..PLAIN
    }],
};

pub const E05: Experiment = Experiment {
    id: "E05",
    title: "the same for five minutes with a log that fills",
    seen: "with condition variables instead of the sleep 18,234 to 22,135, without stalls",
    series: &[Series {
        label: "256 MiB of log",
        load: UPDATE,
        clients: &[64],
        seconds: 300,
        // One long run: its seconds are what is looked at.
        repeats: 1,
        data: LARGE,
        terms: Terms {
            log_mib: 256,
            ..TIGHT
        },
        targets: &[Target::new(
            Figure::WorstSecond,
            Against::Nothing,
            Limit::AtLeast(0.7),
        )],
        ..PLAIN
    }],
};

pub const E06: Experiment = Experiment {
    id: "E06",
    title: "update by primary key, cached",
    seen: "8 to 256 clients: 43,451 53,975 31,389 15,628 10,849 6,520 with MySQL 5.1, 39,522 to 62,788 with 5.6",
    series: &[Series {
        label: "cached",
        load: UPDATE,
        clients: &[8, 64, 256],
        terms: ROOMY_LAZY,
        targets: &[
            Target::new(Figure::Rate, Against::BestPeer, Limit::AtLeast(2.0)).at(&[8]),
            Target::new(Figure::Rate, Against::BestPeer, Limit::AtLeast(2.5)).at(&[64]),
            Target::new(Figure::Rate, Against::BestPeer, Limit::AtLeast(3.0)).at(&[256]),
            FLAT,
        ],
        headline: Some("update"),
        ..PLAIN
    }],
};

/// A log small enough to make checkpoints and page writes part of the run.
const BUSY: Series = Series {
    load: UPDATE,
    clients: &[64],
    seconds: 30,
    terms: Terms {
        log_mib: 512,
        ..ROOMY_LAZY
    },
    ..PLAIN
};

const SLOW: Side = Side::tuned(
    Who::Tidemill,
    "tidemill, io_capacity 1000",
    &["innodb-io-capacity=1000"],
);
const MIDDLING: Side = Side::tuned(
    Who::Tidemill,
    "tidemill, io_capacity 4000",
    &["innodb-io-capacity=4000"],
);
const FAST: Side = Side::tuned(
    Who::Tidemill,
    "tidemill, io_capacity 16384",
    &["innodb-io-capacity=16384"],
);
const EIGHT_POOLS: Side = Side::tuned(
    Who::Tidemill,
    "tidemill, 8 pool instances",
    &["innodb-buffer-pool-instances=8"],
);

/// A setting that makes next to no difference.
const SAME: Limit = Limit::Within(0.05);

pub const E07: Experiment = Experiment {
    id: "E07",
    title: "buffer pool instances and io_capacity",
    seen: "8 instances: 30,076 to 49,120, until a stall in log_checkpoint_margin was mended (bug 68555)",
    series: &[Series {
        label: "512 MiB of log",
        sides: &[
            TIDEMILL,
            SLOW,
            MIDDLING,
            FAST,
            EIGHT_POOLS,
            MARIADB,
            Side::tuned(
                Who::MariaDb,
                "mariadb, io_capacity 16384",
                &["innodb-io-capacity=16384", "innodb-io-capacity-max=32768"],
            ),
        ],
        targets: &[
            Target::new(Figure::Rate, Against::Side(FAST.name), SAME).of(SLOW.name),
            Target::new(Figure::Rate, Against::Side(FAST.name), SAME).of(MIDDLING.name),
            Target::new(Figure::Rate, Against::Side(TIDEMILL.name), SAME)
                .of(EIGHT_POOLS.name)
                .chosen(),
        ],
        ..BUSY
    }],
};

const NEIGHBOURS: Side = Side::tuned(
    Who::Tidemill,
    "tidemill, flush_neighbors",
    &["innodb-flush-neighbors=1"],
);

pub const E08: Experiment = Experiment {
    id: "E08",
    title: "flushing of neighbouring pages",
    seen: "62,000 on, 65,000 off at 32 to 64 clients; MySQL 5.1 lost half",
    series: &[Series {
        label: "512 MiB of log",
        sides: &[
            TIDEMILL,
            NEIGHBOURS,
            MARIADB,
            Side::tuned(
                Who::MariaDb,
                "mariadb, no neighbours",
                &["innodb-flush-neighbors=0"],
            ),
        ],
        targets: &[
            Target::new(Figure::Rate, Against::Side(TIDEMILL.name), SAME)
                .of(NEIGHBOURS.name)
                .chosen(),
        ],
        ..BUSY
    }],
};

/// Ours with the log that replication reads.
const TIDEMILL_BINLOG: Side = Side::tuned(
    Who::Tidemill,
    "tidemill, binary log",
    &["log-bin=binlog", "server-id=1"],
);

/// MariaDB with the log that replication reads, synced at each commit as its own manual asks for.
const MARIADB_BINLOG: Side = Side::tuned(
    Who::MariaDb,
    "mariadb, binary log",
    &["log-bin=binlog", "sync-binlog=1"],
);

pub const E11: Experiment = Experiment {
    id: "E11",
    title: "durable commits",
    seen: "one mutex over write, sync and commit of the replication log; mended with a queue a stage",
    series: &[Series {
        label: "each commit synced",
        load: UPDATE,
        clients: &[1, 8, 64, 256],
        sides: &[
            TIDEMILL,
            MARIADB,
            POSTGRES,
            TIDEMILL_BINLOG,
            MARIADB_BINLOG,
            SYNC,
            SYNC_DIRECT,
        ],
        targets: &[
            Target::new(Figure::Rate, Against::Side(SYNC.name), Limit::AtLeast(0.85)).at(&[1]),
            Target::new(Figure::Rate, Against::BestPeer, Limit::AtLeast(2.0)).at(&[64]),
            Target::new(Figure::Syncs, Against::Nothing, Limit::AtMost(1.05))
                .at(&[1])
                .chosen(),
            Target::new(Figure::Syncs, Against::Nothing, Limit::AtMost(0.1)).at(&[64]),
            // With its log for replicas: beside itself without, and beside MariaDB with it.
            Target::new(
                Figure::Rate,
                Against::Side(TIDEMILL.name),
                Limit::AtLeast(0.95),
            )
            .of(TIDEMILL_BINLOG.name)
            .at(&[1, 8]),
            Target::new(
                Figure::Rate,
                Against::Side(TIDEMILL.name),
                Limit::AtLeast(0.85),
            )
            .of(TIDEMILL_BINLOG.name)
            .at(&[64, 256]),
            Target::new(
                Figure::Rate,
                Against::Side(MARIADB_BINLOG.name),
                Limit::AtLeast(2.5),
            )
            .of(TIDEMILL_BINLOG.name)
            .at(&[1, 64, 256]),
            Target::new(
                Figure::Syncs,
                Against::Side(TIDEMILL.name),
                Limit::AtMost(1.05),
            )
            .of(TIDEMILL_BINLOG.name)
            .at(&[1, 8]),
        ],
        headline: Some("durable update"),
        ..PLAIN
    }],
};
