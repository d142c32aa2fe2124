//! Experiments on what is shared: between tables, and between cores.

use super::parts::{CACHED, MARIADB, PLAIN, POSTGRES, ROOMY_LAZY, TIDEMILL, UPDATE};
use crate::experiment::{Against, Data, Experiment, Figure, Limit, Series, Side, Target};
use crate::peers::Who;

/// As many rows as [`CACHED`], in sixteen tables.
const SIXTEEN: Data = Data::Rows {
    tables: 16,
    rows: 125_000,
    options: "",
    cached: true,
};

const ONE_TABLE: Side = Side::on(Who::Tidemill, "tidemill, 1 table", CACHED);
const MANY_TABLES: Side = Side::on(Who::Tidemill, "tidemill, 16 tables", SIXTEEN);

const TABLES: Series = Series {
    clients: &[8, 64],
    terms: ROOMY_LAZY,
    sides: &[
        ONE_TABLE,
        MANY_TABLES,
        Side::on(Who::MariaDb, "mariadb, 1 table", CACHED),
        Side::on(Who::MariaDb, "mariadb, 16 tables", SIXTEEN),
    ],
    targets: &[Target::new(
        Figure::Rate,
        Against::Side(MANY_TABLES.name),
        Limit::AtLeast(0.95),
    )
    .of(ONE_TABLE.name)],
    ..PLAIN
};

pub const E09: Experiment = Experiment {
    id: "E09",
    title: "one table against sixteen",
    seen: "one table is a bottleneck of its own (LOCK_open, table locks)",
    series: &[
        Series {
            label: "point select",
            ..TABLES
        },
        Series {
            label: "update",
            load: UPDATE,
            ..TABLES
        },
    ],
};

const ONE_CORE: Side = Side::cores(Who::Tidemill, "tidemill, 1 core", 1);

/// What a query costs must not grow with the cores that the server runs on; sides with more cores than there are, are left
/// out.
const CORES: Series = Series {
    clients: &[64],
    terms: ROOMY_LAZY,
    sides: &[
        ONE_CORE,
        Side::cores(Who::Tidemill, "tidemill, 2 cores", 2),
        Side::cores(Who::Tidemill, "tidemill, 4 cores", 4),
        Side::cores(Who::Tidemill, "tidemill, 8 cores", 8),
        Side::cores(Who::Tidemill, "tidemill, 16 cores", 16),
        TIDEMILL,
        Side::cores(Who::MariaDb, "mariadb, 1 core", 1),
        MARIADB,
        Side::cores(Who::Postgres, "postgres, 1 core", 1),
        POSTGRES,
    ],
    targets: &[Target::new(
        Figure::Cpu,
        Against::Side(ONE_CORE.name),
        Limit::AtMost(1.1),
    )
    .chosen()],
    ..PLAIN
};

pub const SCALING: Experiment = Experiment {
    id: "scaling",
    title: "what a query costs on one core and on all",
    seen: "a mutex or a counter that all cores write makes each query dearer with each core",
    series: &[
        Series {
            label: "point select",
            ..CORES
        },
        Series {
            label: "update",
            load: UPDATE,
            ..CORES
        },
    ],
};
