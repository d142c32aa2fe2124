//! The README's table and picture.
//!
//! They are made from records of one machine and stand between two marks; what is around them is written by hand.

use super::plot::{self, Group};
use super::rate;
use crate::experiment::Figure;
use crate::record::{Point, Record, SeriesRecord};
use harness::step::Outcome;
use harness::workspace;
use std::fmt::Write as _;

const BEGIN: &str = "<!-- made by cargo xtask lab: begin -->";
const END: &str = "<!-- made by cargo xtask lab: end -->";

/// The picture's file, as the README names it.
const PICTURE: &str = "docs/compare.svg";

/// The clients that the README shows, where a series has more.
const SHOWN: &[u32] = &[8, 64, 256];

/// Puts table and picture into the tree, from records with their paths in the tree.
pub fn update(records: &[(Record, String)]) -> Outcome<()> {
    let machine = |r: &Record| (r.machine.cpu.clone(), r.machine.cores);
    if records
        .windows(2)
        .any(|w| machine(&w[0].0) != machine(&w[1].0))
    {
        return Err("figures of two machines do not belong into one table".to_owned());
    }
    let path = workspace::root().join("README.md");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let new = replaced(&text, &table(records))?;
    let picture = workspace::root().join(PICTURE);
    std::fs::write(&picture, plot::standalone(&drawing(records)))
        .map_err(|e| format!("{}: {e}", picture.display()))?;
    std::fs::write(&path, new).map_err(|e| format!("{}: {e}", path.display()))?;
    println!("    written: {} and {}", path.display(), picture.display());
    Ok(())
}

fn replaced(text: &str, table: &str) -> Outcome<String> {
    let marks = text.find(BEGIN).zip(text.find(END));
    match marks {
        Some((begin, end)) if begin < end => Ok(format!(
            "{}\n\n{table}\n{}",
            &text[..begin + BEGIN.len()],
            &text[end..]
        )),
        _ => Err(format!("README.md has no '{BEGIN}' with '{END}' behind it")),
    }
}

/// What stands in the README: the series with a name there, and the points that it shows of each.
fn shown(records: &[(Record, String)]) -> impl Iterator<Item = (&str, &SeriesRecord, Vec<&Point>)> {
    let experiments = records.iter().flat_map(|(r, _)| &r.experiments);
    let series = experiments.flat_map(|e| &e.series);
    series.filter_map(|series| {
        let name = series.headline.as_deref()?;
        let all: Vec<&Point> = series.points.iter().collect();
        let chosen = all.iter().copied().filter(|p| SHOWN.contains(&p.clients));
        let chosen: Vec<&Point> = chosen.collect();
        let points = if all.len() > SHOWN.len() && !chosen.is_empty() {
            chosen
        } else {
            all
        };
        Some((name, series, points))
    })
}

/// `5`, or `3 to 20` where they differ.
fn span(numbers: impl Iterator<Item = u64> + Clone) -> String {
    let (least, most) = (numbers.clone().min(), numbers.max());
    match (least, most) {
        (Some(a), Some(b)) if a < b => format!("{a} to {b}"),
        (a, _) => a.unwrap_or(0).to_string(),
    }
}

fn table(records: &[(Record, String)]) -> String {
    let mut out = format!("![Throughput beside the better peer]({PICTURE})\n\n");
    out.push_str(
        "| load | clients | MariaDB 10.11 | PostgreSQL 15 | Tidemill | by the better peer | server CPU a query |\n\
         |---|---|---|---|---|---|---|\n",
    );
    let mut noise: f64 = 1.0;
    for (name, series, points) in shown(records) {
        for point in points {
            let middle = |side: &str| point.of(side).and_then(|o| o.middle(Figure::Rate));
            let cell = |side: &str| middle(side).map_or("–".to_owned(), rate);
            let against = |figure: Figure| -> Option<(String, f64)> {
                let ours = point.of("tidemill")?.middle(figure)?;
                let (peer, theirs) = series.best_peer(point, figure)?;
                Some((peer.to_owned(), ours / theirs))
            };
            let ratio = against(Figure::Rate).map_or("–".to_owned(), |(_, r)| format!("{r:.2}"));
            let cpu = against(Figure::Cpu)
                .map_or("–".to_owned(), |(peer, r)| format!("{r:.2} of {peer}'s"));
            let _ = writeln!(
                out,
                "| {name} ({}) | {} | {} | {} | {} | {ratio} | {cpu} |",
                series.unit,
                point.clients,
                cell("mariadb"),
                cell("postgres"),
                cell("tidemill")
            );
            for outcomes in &point.results {
                noise = noise.max(outcomes.noise(Figure::Rate));
            }
        }
    }
    let verdicts = || {
        let experiments = records.iter().flat_map(|(r, _)| &r.experiments);
        let series = experiments.flat_map(|e| &e.series);
        series.flat_map(|s| &s.verdicts)
    };
    let all = || records.iter().map(|(r, _)| r);
    let mut dates: Vec<&str> = all().map(|r| &r.date[..]).collect();
    dates.dedup();
    let reports: Vec<String> = records
        .iter()
        .map(|(r, record)| {
            let ids: Vec<&str> = r.experiments.iter().map(|e| &e.id[..]).collect();
            format!("[{}]({record})", ids.join(", "))
        })
        .collect();
    let _ = writeln!(
        out,
        "\nRead as ratios: `cargo xtask lab`, {}, all servers in turn in one run on {} cores shared with the clients, the same \
         memory and the same durability, Unix sockets (TCP for TPC-C), medians of {} runs of {} s; equal halves of the runs \
         differed by {:.0} % at most. {} of {} performance targets are met. The records have every figure, the settings, and what \
         the machine could do without a database: {}. `cargo xtask lab --from RECORD.json` makes a page of one.",
        dates.join(" and "),
        all().map(|r| r.machine.cores).max().unwrap_or(0),
        span(all().map(|r| r.repeats as u64)),
        span(all().map(|r| r.seconds)),
        (noise - 1.0) * 100.0,
        verdicts().filter(|v| v.met).count(),
        verdicts().count(),
        reports.join("; ")
    );
    out
}

fn drawing(records: &[(Record, String)]) -> String {
    let mut groups = Vec::new();
    for (name, series, points) in shown(records) {
        // A picture for a README has room for one number of clients a load: the middle one.
        let Some(point) = points.get(points.len() / 2) else {
            continue;
        };
        let Some((_, best)) = series.best_peer(point, Figure::Rate) else {
            continue;
        };
        let mark = |colour: &'static str, side: &str| {
            let spread = point
                .of(side)
                .and_then(|o| o.spread(|r| Some(r.rate / best)));
            (colour, spread)
        };
        groups.push(Group {
            name: format!("{name}, {}", point.clients),
            marks: vec![
                mark("#2b6cb0", "tidemill"),
                mark("#dd6b20", "mariadb"),
                mark("#2f855a", "postgres"),
            ],
        });
    }
    plot::bars(
        "Throughput by that of the better peer: Tidemill blue, MariaDB 10.11 orange, PostgreSQL 15 green",
        &groups,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_changes() {
        let text = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        let new = replaced(&text, "new\n").unwrap();
        assert_eq!(new, format!("before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"));
        assert!(replaced("nothing", "new").is_err());
    }

    #[test]
    fn numbers_that_differ_are_a_span() {
        assert_eq!(span([5, 5].into_iter()), "5");
        assert_eq!(span([20, 3, 5].into_iter()), "3 to 20");
    }

    #[test]
    fn the_readme_has_its_marks() {
        let text = std::fs::read_to_string(workspace::root().join("README.md")).unwrap();
        assert!(replaced(&text, "").is_ok());
    }
}
