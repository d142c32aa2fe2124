//! What came of the questions: a line each, sums, a record.

use super::{Asking, WHOS};
use crate::machine;
use harness::step::Outcome;
use harness::table::{Cell, Table};
use harness::workspace;

/// The heads of the columns of [`Said::line`].
pub(super) const HEAD: &str =
    "query                      tidemill     mariadb     ratio  plans  result";

/// What is too short to be told from chance, seconds.
const GRACE: f64 = 0.010;

/// What is run more often, seconds.
const SHORT: f64 = 0.050;

/// What one side did with a question.
#[derive(Debug, Clone, Default)]
enum Took {
    /// It was not asked.
    #[default]
    Nothing,
    /// The best of its times.
    Seconds(f64),
    /// Longer than the limit.
    Over,
    /// It said no.
    Failed,
}

/// What came of one question.
#[derive(Debug, Default)]
pub(super) struct Said {
    name: String,
    took: [Took; WHOS.len()],
    result: String,
    bad: bool,
    plans: Vec<String>,
    /// What EXPLAIN says.
    pub(super) explained: Vec<String>,
}

impl Said {
    /// Nothing yet.
    pub(super) fn of(name: &str) -> Said {
        Said {
            name: name.to_owned(),
            result: "unchecked".to_owned(),
            ..Said::default()
        }
    }

    /// A side answered.
    pub(super) fn took(&mut self, place: usize, seconds: f64) {
        let best = match self.took[place] {
            Took::Seconds(before) => before.min(seconds),
            _ => seconds,
        };
        self.took[place] = Took::Seconds(best);
    }

    /// A side did not answer in time.
    pub(super) fn over(&mut self, place: usize) {
        self.took[place] = Took::Over;
    }

    /// A side said no. Ours is to answer whatever it is asked here.
    pub(super) fn failed(&mut self, place: usize, why: &str) {
        self.took[place] = Took::Failed;
        self.bad |= place == 0;
        self.result = format!("{}: {why}", WHOS[place].name());
    }

    /// The answers are the same.
    pub(super) fn right(&mut self, rows: usize) {
        if !self.bad {
            self.result = format!("OK, {rows} rows");
        }
    }

    /// They are not.
    pub(super) fn wrong(&mut self, why: &str) {
        self.bad = true;
        self.result = format!("DIFF: {why}");
    }

    /// Our plan of it, one of several times.
    pub(super) fn plan(&mut self, plan: String) {
        if !self.plans.contains(&plan) {
            self.plans.push(plan);
        }
    }

    /// Is it wrong, or slower than MariaDB?
    pub(super) fn wants_explaining(&self) -> bool {
        self.bad
            || match self.took {
                [Took::Seconds(a), Took::Seconds(b)] => a > b + GRACE,
                [Took::Over, _] => true,
                _ => false,
            }
    }

    /// Is a side so quick that a few more runs cost nothing and say more?
    pub(super) fn short(&self) -> bool {
        let quick = |took: &Took| matches!(took, Took::Seconds(s) if *s < SHORT);
        let slow = |took: &Took| matches!(took, Took::Seconds(s) if *s > 20.0 * SHORT);
        self.took.iter().any(quick) && !self.took.iter().any(slow)
    }

    /// Our time as a share of MariaDB's, and whether it is at least that: what was given up counts as the limit.
    fn ratio(&self, limit: u64) -> Option<(f64, bool)> {
        match self.took {
            [Took::Seconds(a), Took::Seconds(b)] => Some((a / b, false)),
            [Took::Over, Took::Seconds(b)] => Some((limit as f64 / b, true)),
            _ => None,
        }
    }

    fn time(&self, place: usize, limit: u64) -> String {
        match &self.took[place] {
            Took::Nothing => "-".to_owned(),
            Took::Seconds(s) => format!("{s:.4}"),
            Took::Over => format!("> {limit}"),
            Took::Failed => "failed".to_owned(),
        }
    }

    /// The line of the report.
    pub(super) fn line(&self, limit: u64) -> String {
        let ratio = match self.ratio(limit) {
            None => "-".to_owned(),
            Some((ratio, least)) => format!("{}{ratio:.2}", if least { ">" } else { "" }),
        };
        format!(
            "{:<22} {:>12} {:>11} {:>9} {:>6}  {}",
            self.name,
            self.time(0, limit),
            self.time(1, limit),
            ratio,
            self.plans.len(),
            self.result
        )
    }

    fn cell(&self, place: usize, limit: u64) -> Cell {
        match self.took[place] {
            Took::Seconds(s) => Cell::Number(s, 4),
            Took::Over => format!("> {limit}").into(),
            _ => Cell::Missing,
        }
    }
}

/// Sums over all questions.
#[derive(Debug, PartialEq)]
struct Sums {
    /// Seconds of each side, of those that both were asked and MariaDB answered.
    seconds: [f64; WHOS.len()],
    /// Was something given up, so that our sum is at least this?
    least: bool,
    mean: f64,
    slower: usize,
    above_2: usize,
    above_10: usize,
    asked: usize,
    wrong: usize,
    over: usize,
    flipped: usize,
}

fn sums(all: &[Said], limit: u64) -> Sums {
    let ratios: Vec<f64> = all
        .iter()
        .filter_map(|s| s.ratio(limit))
        .map(|r| r.0)
        .collect();
    let seconds = |said: &Said, place: usize| match said.took[place] {
        Took::Seconds(s) => s,
        _ => limit as f64,
    };
    // Of a query that one side was not asked, or that MariaDB gave up, nothing can be said.
    let both = || all.iter().filter(|s| s.ratio(limit).is_some());
    let sum = |place: usize| both().map(|s| seconds(s, place)).sum();
    let above = |n: f64| ratios.iter().filter(|r| **r > n).count();
    let logs: f64 = ratios.iter().map(|r| r.ln()).sum();
    let over = |s: &&Said| matches!(s.took[0], Took::Over);
    Sums {
        seconds: [sum(0), sum(1)],
        least: both().any(|s| over(&s)),
        mean: (logs / ratios.len() as f64).exp(),
        slower: all
            .iter()
            .filter(|s| !s.bad && s.wants_explaining())
            .count(),
        above_2: above(2.0),
        above_10: above(10.0),
        asked: ratios.len(),
        wrong: all.iter().filter(|s| s.bad).count(),
        over: all.iter().filter(over).count(),
        flipped: all.iter().filter(|s| s.plans.len() > 1).count(),
    }
}

/// Prints the sums and writes the record.
pub(super) fn end(
    title: &str,
    name: &str,
    all: &[Said],
    options: &Asking,
    whole: bool,
) -> Outcome<()> {
    let limit = options.timeout;
    let sums = sums(all, limit);
    let least = if sums.least { "> " } else { "" };
    let [ours, theirs] = sums.seconds;
    println!(
        "all: {least}{ours:.3} s, {theirs:.3} s of MariaDB, ratio {least}{:.2}",
        ours / theirs
    );
    println!(
        "{} compared: geometric mean {least}{:.2}, slower {} (10 ms of grace), above 2x {}, above 10x {}, given up {}, \
         plans that change {}, wrong {}",
        sums.asked,
        sums.mean,
        sums.slower,
        sums.above_2,
        sums.above_10,
        sums.over,
        sums.flipped,
        sums.wrong
    );
    for said in all.iter().filter(|s| s.plans.len() > 1) {
        println!("    the plan of {} is not always the same:", said.name);
        for plan in &said.plans {
            println!("        {}", plan.replace('\n', "\n        "));
            println!();
        }
    }
    save(name, all, options, whole)?;
    match sums.wrong {
        0 => Ok(()),
        n => Err(format!("{title}: {n} wrong or without an answer")),
    }
}

fn save(name: &str, all: &[Said], options: &Asking, whole: bool) -> Outcome<()> {
    if !whole {
        println!("    a part is no record");
        return Ok(());
    }
    let limit = options.timeout;
    let mut table = Table::new(&[
        "query",
        "tidemill_s",
        "mariadb_s",
        "ratio",
        "plans",
        "result",
    ]);
    for said in all {
        table.row(vec![
            said.name.as_str().into(),
            said.cell(0, limit),
            said.cell(1, limit),
            said.ratio(limit)
                .map_or(Cell::Missing, |(ratio, _)| Cell::Number(ratio, 2)),
            (said.plans.len() as u64).into(),
            said.result.as_str().into(),
        ]);
    }
    let dir = match options.record {
        true => workspace::root().join("docs").join("benchmarks"),
        false => workspace::target_dir()?.join("xtask").join("lab"),
    };
    std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let cores = machine::describe(&dir).cores;
    table.save(&dir.join(format!("{}-{cores}-cores-{name}.json", machine::today())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_means() {
        let mut a = Said::of("q1");
        a.took(0, 2.0);
        a.took(0, 1.0);
        a.took(1, 4.0);
        a.right(3);
        let mut b = Said::of("q2");
        b.over(0);
        b.took(1, 2.5);
        let mut c = Said::of("q3");
        c.took(0, 1.0);
        c.took(1, 1.0);
        c.wrong("no");
        c.right(1);
        let sums = sums(&[a, b, c], 10);
        assert_eq!(sums.seconds, [12.0, 7.5]);
        assert!((sums.mean - 1.0).abs() < 1e-9, "{}", sums.mean);
        assert_eq!((sums.above_2, sums.above_10), (1, 0));
        assert_eq!((sums.wrong, sums.over, sums.slower), (1, 1, 1));
        assert!(sums.least);
    }
}
