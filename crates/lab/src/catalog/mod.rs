//! The experiments, as data.
//!
//! Where a bar's number is not in the list of experiments, it is marked as chosen by the lab. Where the list asks for
//! something that Tidemill does not have yet (row formats, replication), there is no experiment yet either.

mod mixed;
mod reads;
mod scale;
mod writes;

use crate::experiment::{Data, Experiment, Load, Probe, Series, Side};
use crate::peers::{Terms, Who};

/// All of them, in the order in which they run.
pub const ALL: &[&Experiment] = &[
    &reads::E01,
    &reads::E02,
    &reads::E03,
    &writes::E04,
    &writes::E05,
    &writes::E06,
    &writes::E07,
    &writes::E08,
    &scale::E09,
    &reads::E10,
    &writes::E11,
    &mixed::E14,
    &mixed::E14_SLOW,
    &mixed::E18,
    &scale::SCALING,
];

/// Sysbench's table, in memory as a whole.
const CACHED: Data = Data::Rows {
    tables: 1,
    rows: 2_000_000,
    options: "",
    cached: true,
};

/// Sysbench's table, at least eight times as large as [`TIGHT`]'s memory for pages.
const LARGE: Data = Data::Rows {
    tables: 1,
    rows: 5_000_000,
    options: "",
    cached: false,
};

/// Memory for more than [`CACHED`], and commits that survive.
const ROOMY: Terms = Terms {
    pool_mib: 4096,
    log_mib: 2048,
    flush: 1,
    disk_mb_s: 0,
};

/// [`ROOMY`], with commits that the operating system holds for a moment.
const ROOMY_LAZY: Terms = Terms { flush: 2, ..ROOMY };

/// Memory for an eighth of [`LARGE`] at most.
const TIGHT: Terms = Terms {
    pool_mib: 128,
    log_mib: 2048,
    ..Terms::LAZY
};

const TIDEMILL: Side = Side::plain(Who::Tidemill);
const MARIADB: Side = Side::plain(Who::MariaDb);
const POSTGRES: Side = Side::plain(Who::Postgres);
const CANNED: Side = Side::plain(Who::Canned);

/// The disk as the log uses it, and past the kernel's cache.
const SYNC: Side = Side::disk("write+fdatasync", Probe::Sync(false));
const SYNC_DIRECT: Side = Side::disk("write+fdatasync, O_DIRECT", Probe::Sync(true));

/// One row by its key, a statement of its own, prepared.
pub const POINT_SELECT: Load = Load::Sysbench("oltp_point_select", &[]);
/// One row by its key changed, in a transaction of its own; no index holds what changes.
const UPDATE: Load = Load::Sysbench("oltp_update_non_index", &[]);

/// What most series have in common.
const PLAIN: Series = Series {
    label: "",
    load: POINT_SELECT,
    clients: &[1, 8, 64, 256],
    seconds: 0,
    repeats: 0,
    data: CACHED,
    terms: ROOMY,
    sides: &[TIDEMILL, MARIADB, POSTGRES],
    bars: &[],
    headline: None,
};

/// A series for the tests of others.
#[cfg(test)]
pub fn cached_point_select() -> &'static Series {
    &reads::E02.series[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Against;

    #[test]
    fn names_are_unique_and_bars_name_sides() {
        for series in ALL.iter().flat_map(|e| e.series) {
            let mut names: Vec<&str> = series.sides.iter().map(|s| s.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), series.sides.len(), "{}", series.label);
            for bar in series.bars {
                assert!(names.contains(&bar.side), "{}: {bar:?}", series.label);
                if let Against::Side(other) = bar.against {
                    assert!(names.contains(&other), "{}: {bar:?}", series.label);
                }
                let there = bar.clients.iter().all(|c| series.clients.contains(c));
                assert!(there, "{}: {bar:?}", series.label);
            }
        }
    }

    #[test]
    fn every_series_has_tidemill_and_a_name() {
        let mut ids: Vec<&str> = ALL.iter().map(|e| e.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), ALL.len());
        for series in ALL.iter().flat_map(|e| e.series) {
            assert!(!series.label.is_empty());
            assert!(series.clients.is_sorted());
            assert!(series.sides.iter().any(|s| s.name.starts_with("tidemill")));
        }
    }
}
