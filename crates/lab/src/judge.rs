//! Holding results to their targets.

use crate::experiment::{Against, Figure, Limit, Series, Target};
use crate::record::{Outcomes, Point, SeriesRecord, Verdict};

/// The verdicts of a series, target after target.
pub fn judge(series: &Series, record: &SeriesRecord) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for target in series.targets {
        let last = record.points.last().map(|p| p.clients);
        let asked = record.points.iter().filter(|point| match target.against {
            Against::OwnPeak => Some(point.clients) == last,
            _ => target.clients.is_empty() || target.clients.contains(&point.clients),
        });
        for point in asked {
            // A side that was left out on the command line is not judged.
            if point.of(target.side).is_some() {
                verdicts.push(verdict(target, record, point));
            }
        }
    }
    verdicts
}

/// The target in words.
fn words(target: &Target) -> String {
    let whose = match target.side {
        "tidemill" => String::new(),
        other => format!("{other}: "),
    };
    let limit = match target.limit {
        Limit::AtLeast(x) => format!("at least {}", short(x)),
        Limit::AtMost(x) => format!("at most {}", short(x)),
        Limit::Within(x) => format!("within {} % of", short(x * 100.0)),
    };
    let against = match (target.against, target.limit) {
        (Against::Nothing, _) => String::new(),
        (Against::Side(name), Limit::Within(_)) => format!(" '{name}'"),
        (Against::Side(name), _) => format!(" of '{name}'"),
        (Against::BestPeer, _) => " of the best peer".to_owned(),
        (Against::OwnPeak, _) => " of its own peak".to_owned(),
    };
    let chosen = if target.ours {
        " (number chosen by the lab)"
    } else {
        ""
    };
    format!("{whose}{} {limit}{against}{chosen}", target.figure.name())
}

/// A number with as many digits as it needs, three at most.
pub fn short(x: f64) -> String {
    let text = format!("{x:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// What a figure is divided by: its name, its value and its noise.
type Reference = (String, f64, f64);

fn verdict(target: &Target, record: &SeriesRecord, point: &Point) -> Verdict {
    let mut verdict = Verdict {
        target: words(target),
        clients: point.clients,
        ..Verdict::default()
    };
    let own = point.of(target.side);
    let Some((own, value)) = own.and_then(|o| Some((o, o.middle(target.figure)?))) else {
        verdict.figures = missing(own);
        return verdict;
    };
    verdict.noise = own.noise(target.figure);
    let shown = shown(target.figure, value);
    let ratio = match reference(target, record, point) {
        None => value,
        Some(Err(why)) => {
            verdict.figures = why;
            return verdict;
        }
        Some(Ok((name, by, noise))) => {
            verdict.noise = verdict.noise.max(noise);
            verdict.figures = format!("{shown} by {} of {name}", self::shown(target.figure, by));
            value / by
        }
    };
    if verdict.figures.is_empty() {
        verdict.figures = shown;
    }
    let by = match target.limit {
        Limit::AtLeast(limit) => ratio / limit - 1.0,
        Limit::AtMost(limit) => 1.0 - ratio / limit,
        Limit::Within(limit) => limit - (ratio - 1.0).abs(),
    };
    verdict.value = Some(ratio);
    verdict.met = by >= 0.0;
    verdict.by = by;
    verdict
}

fn reference(
    target: &Target,
    record: &SeriesRecord,
    point: &Point,
) -> Option<Result<Reference, String>> {
    match target.against {
        Against::Nothing => None,
        Against::Side(name) => Some(match point.of(name) {
            Some(other) => match other.middle(target.figure) {
                Some(by) => Ok((name.to_owned(), by, other.noise(target.figure))),
                None => Err(missing(Some(other))),
            },
            None => Err(format!("{name} was not run")),
        }),
        Against::BestPeer => Some(match record.best_peer(point, target.figure) {
            Some((name, by)) => {
                let noise = point.of(name).map_or(1.0, |o| o.noise(target.figure));
                Ok((name.to_owned(), by, noise))
            }
            None => Err("no peer was run".to_owned()),
        }),
        Against::OwnPeak => {
            let all = record.points.iter().filter_map(|p| {
                let own = p.of(target.side)?;
                Some((
                    p.clients,
                    own.middle(target.figure)?,
                    own.noise(target.figure),
                ))
            });
            let peak = all.max_by(|a, b| a.1.total_cmp(&b.1));
            peak.map(|(clients, by, noise)| Ok((format!("its own at {clients}"), by, noise)))
        }
    }
}

fn missing(side: Option<&Outcomes>) -> String {
    let why = side.and_then(|s| s.failed.as_deref());
    let first = why.and_then(|w| w.lines().next()).unwrap_or("no figure");
    format!("not measured: {first}")
}

fn shown(figure: Figure, value: f64) -> String {
    match figure {
        Figure::Rate => format!("{value:.0}"),
        Figure::Cpu => format!("{value:.1} us"),
        Figure::Reads | Figure::Syncs | Figure::WorstSecond => format!("{value:.3}"),
    }
}

impl Verdict {
    /// Is it closer to the target than two equal runs were to each other?
    pub fn within_noise(&self) -> bool {
        self.by.abs() < self.noise - 1.0
    }

    /// What came of it, in words.
    pub fn words(&self) -> String {
        if self.value.is_none() {
            return "not decided".to_owned();
        }
        let met = if self.met { "met" } else { "missed" };
        let by = format!("{met} by {:.1} %", self.by.abs() * 100.0);
        if self.within_noise() {
            format!(
                "{by}, less than the noise ({:.1} %)",
                (self.noise - 1.0) * 100.0
            )
        } else {
            by
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::cached_point_select;
    use crate::record::{Run, SideRecord};

    fn record(ours: f64, theirs: f64, canned: f64) -> SeriesRecord {
        let result = |side: &str, rate: f64| Outcomes {
            side: side.to_owned(),
            runs: vec![Run {
                rate,
                cpu_us: Some(1e6 / rate),
                ..Run::default()
            }],
            failed: None,
        };
        SeriesRecord {
            sides: vec![SideRecord {
                name: "mariadb".to_owned(),
                peer: true,
                ..SideRecord::default()
            }],
            points: vec![Point {
                clients: 8,
                results: vec![
                    result("tidemill", ours),
                    result("mariadb", theirs),
                    result("canned", canned),
                ],
            }],
            ..SeriesRecord::default()
        }
    }

    #[test]
    fn bars_are_met_and_missed() {
        let verdicts = judge(cached_point_select(), &record(90.0, 25.0, 100.0));
        assert_eq!(verdicts.len(), 2);
        assert!(verdicts[0].met, "{verdicts:?}");
        assert!(verdicts[1].met && (verdicts[1].by - 0.0588).abs() < 0.001);
        let verdicts = judge(cached_point_select(), &record(80.0, 40.0, 100.0));
        let by = 1.0 - 0.5 / 0.33;
        assert!(!verdicts[0].met && (verdicts[0].by - by).abs() < 1e-9);
        assert_eq!(verdicts[1].words(), "missed by 5.9 %");
        assert_eq!(verdicts[1].figures, "80 by 100 of canned");
    }

    #[test]
    fn what_was_not_run_is_not_met() {
        let mut record = record(90.0, 25.0, 100.0);
        record.points[0].results.truncate(1);
        record.sides.clear();
        for verdict in judge(cached_point_select(), &record) {
            assert!(!verdict.met && verdict.value.is_none(), "{verdict:?}");
            assert_eq!(verdict.words(), "not decided");
        }
    }
}
