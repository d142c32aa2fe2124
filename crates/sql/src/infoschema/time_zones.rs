//! `mysql.time_zone` and `mysql.time_zone_name`: the zones that SET time_zone and CONVERT_TZ() know by name. Applications look there whether any
//! are known. The rules of the zones stand in no table.

use types::Value;
use types::temporal::time_zone_names;

use super::spec::{Spec, View, text, uint};

fn zones(_: &View<'_>) -> Vec<Vec<Value>> {
    let numbers = 1..=time_zone_names().len() as u64;
    numbers.map(|n| vec![uint(n), text("N")]).collect()
}

fn names(_: &View<'_>) -> Vec<Vec<Value>> {
    let names = time_zone_names().into_iter();
    names
        .zip(1..)
        .map(|(name, n)| vec![text(&name), uint(n)])
        .collect()
}

/// The tables of `mysql`.
pub(super) const MYSQL_SPECS: &[Spec] = &[
    Spec {
        name: "time_zone",
        columns: "Time_zone_id u, Use_leap_seconds v1",
        rows: zones,
    },
    Spec {
        name: "time_zone_name",
        columns: "Name v64, Time_zone_id u",
        rows: names,
    },
];
