//! What was measured, side by side, and what came of the targets.

use harness::server::Kind;
use harness::table::{Cell, Table};
use std::collections::BTreeMap;

/// What a figure is held to.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Target {
    AtLeast(f64),
    AtMost(f64),
}

impl Target {
    fn is_met(self, value: f64) -> bool {
        match self {
            Target::AtLeast(least) => value >= least,
            Target::AtMost(most) => value <= most,
        }
    }

    fn words(self) -> String {
        match self {
            Target::AtLeast(n) => format!(">= {n}"),
            Target::AtMost(n) => format!("<= {n}"),
        }
    }
}

macro_rules! figures {
    ($($name:ident $words:literal $digits:literal $target:expr;)*) => {
        /// What is measured.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum Figure { $(#[doc = $words] $name,)* }

        /// All of them as they are shown: what it is, digits behind the point, the target.
        const FIGURES: &[(Figure, &str, usize, Option<Target>)] =
            &[$((Figure::$name, $words, $digits, $target),)*];
    };
}

figures! {
    Tables "tables, MiB" 0 None;
    RateWithout "transactions/s without a backup" 0 None;
    RateWith "transactions/s with one" 0 None;
    Rate "throughput, with by without" 3 Some(Target::AtLeast(0.95));
    WorstWithout "worst second without, as long" 0 None;
    WorstWith "worst second with" 0 None;
    Worst "worst second, with by without" 3 Some(Target::AtLeast(0.9));
    LongestWithout "longest transaction without, ms" 0 None;
    LongestWith "longest transaction with, ms" 0 None;
    CpuWithout "server CPU without, us a transaction" 0 None;
    CpuWith "server CPU with, us a transaction" 0 None;
    Seconds "backup, s" 1 None;
    Speed "backup, MB of tables a second" 0 None;
    Size "backup, MiB" 1 None;
    Log "log that is in it, MiB" 0 None;
    Share "backup by tables and log" 3 None;
    OwnCpu "backup program's own CPU, s" 2 None;
    Verify "verify, s" 1 None;
    Prepare "prepare, s" 1 None;
    Restore "restore, s" 1 None;
    Recovery "first start until the first row, s" 2 None;
    SinceLoad "what the load has changed since, MiB" 1 None;
    SinceLoadSeconds "backup of that, s" 1 None;
    Changed "then changed, share of pages" 4 None;
    Incremental "what has changed since, MiB" 1 None;
    IncrementalShare "by the backup of all" 4 Some(Target::AtMost(0.03));
    IncrementalSeconds "backup of these, s" 1 None;
    Chain "restore of all three, s" 1 None;
    PointInTime "restore to a GTID, s" 1 None;
    Applied "transactions applied by it" 0 None;
    PastGtid "transactions too many or too few there" 0 Some(Target::AtMost(0.0));
}

/// The figures of one side.
pub(super) type Figures = BTreeMap<Figure, f64>;

/// All figures of all sides.
pub(super) fn table(sides: &[(Kind, Figures)]) -> Table {
    let mut table = Table::new(&["figure", "mariadb", "tidemill", "target", "verdict"]);
    let of = |kind: Kind, figure: Figure| -> Option<f64> {
        let side = sides.iter().find(|s| s.0 == kind)?;
        side.1.get(&figure).copied()
    };
    for (figure, words, digits, target) in FIGURES {
        let values = [Kind::MariaDb, Kind::Tidemill].map(|kind| of(kind, *figure));
        if values == [None, None] {
            continue;
        }
        let cell = |v: Option<f64>| v.map_or(Cell::Missing, |v| Cell::Number(v, *digits));
        let verdict = target.zip(values[1]).map(|(t, v)| match t.is_met(v) {
            true => "hit",
            false => "missed",
        });
        table.row(vec![
            (*words).into(),
            cell(values[0]),
            cell(values[1]),
            target.map_or(String::new(), Target::words).into(),
            verdict.unwrap_or_default().into(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_tidemills() {
        let ours: Figures = [(Figure::Rate, 0.949), (Figure::Worst, 0.9)].into();
        let theirs: Figures = [(Figure::Rate, 0.99), (Figure::Prepare, 3.0)].into();
        let both = table(&[(Kind::Tidemill, ours), (Kind::MariaDb, theirs)]).json();
        let rows: serde_json::Value = serde_json::from_str(&both).unwrap();
        let rows = rows.as_array().unwrap();
        let of = |at: usize, name: &str| rows[at][name].clone();
        assert_eq!(rows.len(), 3, "{both}");
        assert_eq!(
            (of(0, "tidemill"), of(0, "mariadb")),
            (0.949.into(), 0.99.into())
        );
        assert_eq!(
            (of(0, "target"), of(0, "verdict")),
            (">= 0.95".into(), "missed".into())
        );
        assert_eq!(of(1, "verdict"), "hit");
        assert_eq!(
            (of(2, "tidemill"), of(2, "verdict")),
            (serde_json::Value::Null, "".into())
        );
    }
}
