//! The experiments, as data.
//!
//! Where a target's number is not in the list of experiments, it is marked as chosen by the lab. Where the list asks for
//! something that Tidemill does not have yet (row formats, replication), there is no experiment yet either.

mod mixed;
mod parts;
mod reads;
mod scale;
mod writes;

use crate::experiment::Experiment;
#[cfg(test)]
use crate::experiment::Series;
pub use parts::POINT_SELECT;

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
    fn names_are_unique_and_targets_name_sides() {
        for series in ALL.iter().flat_map(|e| e.series) {
            let mut names: Vec<&str> = series.sides.iter().map(|s| s.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), series.sides.len(), "{}", series.label);
            for target in series.targets {
                assert!(names.contains(&target.side), "{}: {target:?}", series.label);
                if let Against::Side(other) = target.against {
                    assert!(names.contains(&other), "{}: {target:?}", series.label);
                }
                let there = target.clients.iter().all(|c| series.clients.contains(c));
                assert!(there, "{}: {target:?}", series.label);
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
