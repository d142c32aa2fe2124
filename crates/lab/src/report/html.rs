//! The whole record as one page.

use super::plot::{self, Group};
use super::{rate, thousands};
use crate::experiment::Figure;
use crate::record::{
    ExperimentRecord, Limits, Outcomes, Point, Record, Run, SeriesRecord, SideRecord, Spread,
    Verdict,
};
use std::fmt::Write as _;

const STYLE: &str = "
:root { color-scheme: light dark; --line: #8884; --good: #2f855a; --bad: #c53030; --open: #b7791f }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
h2 { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1rem }
table { border-collapse: collapse; font-size: 13px; margin: .8rem 0; display: block; overflow-x: auto }
th, td { border-bottom: 1px solid var(--line); padding: .2rem .6rem; text-align: right; white-space: nowrap }
th:first-child, td:first-child, td.words { text-align: left }
.met { color: var(--good) } .missed { color: var(--bad) } .open { color: var(--open) }
.key { display: inline-block; width: .8em; height: .8em; margin: 0 .3em 0 1em }
.note { opacity: .8 } svg { width: 100%; max-width: 720px; height: auto; display: block; margin: .5rem 0 }
pre { white-space: pre-wrap; font-size: 12px }
";

/// Text as HTML shows it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// The page.
pub fn page(record: &Record) -> String {
    let machine = &record.machine;
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>Tidemill: the lab, {date}</title><style>{STYLE}</style></head><body>\n\
         <h1>Tidemill: the lab, {date}</h1>\n",
        date = escaped(&record.date)
    );
    if record.quick {
        out.push_str(
            "<p class=\"missed\"><b>A quick run:</b> short runs on small tables, to see that everything works. \
             Its figures mean nothing.</p>\n",
        );
    }
    let _ = writeln!(
        out,
        "<p>{} cores of {}, {:.0} GiB of memory, {}, Linux {}, data on {}. Before the run others used {:.0} % of the \
         processors.</p>",
        machine.cores,
        escaped(&machine.cpu),
        machine.memory_gib,
        escaped(&machine.system),
        escaped(&machine.kernel),
        escaped(&machine.file_system),
        machine.busy_before * 100.0
    );
    let _ = writeln!(
        out,
        "<p class=\"note\">Clients and servers share the machine. The sides of a series take turns, in alternating order; \
         whose turn it is not is stopped. {} s a run and {} runs, unless a series says otherwise; a figure is the median, \
         in brackets the least and the most. Noise is the ratio of two equal halves of a side's own runs. Server CPU, \
         memory and bytes moved are read from /proc, the server's children included. PostgreSQL 15 has no direct I/O: what misses \
         its pool may come from the kernel's cache, and is then no read of the device.</p>",
        record.seconds, record.repeats
    );
    limits(&mut out, &record.limits);
    summary(&mut out, record);
    for experiment in &record.experiments {
        section(&mut out, experiment);
    }
    out.push_str("</body></html>\n");
    out
}

fn limits(out: &mut String, limits: &Limits) {
    out.push_str(
        "<h2>What the machine can do without a database</h2>\n<table><tr><th>disk (fio)</th><th>a second</th>\
         <th>mean</th><th>p50</th><th>p99</th></tr>\n",
    );
    for (name, disk) in &limits.disk {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{:.0} us</td><td>{:.0} us</td><td>{:.0} us</td></tr>",
            escaped(name),
            thousands(disk.rate),
            disk.mean_us,
            disk.p50_us,
            disk.p99_us
        );
    }
    out.push_str(
        "</table>\n<p class=\"note\">Percentiles beside a sync are those of the fdatasync alone.</p>\n\
         <table><tr><th>canned answers to point selects</th><th>a second</th><th>server CPU each</th></tr>\n",
    );
    for (clients, rate, cpu) in &limits.canned {
        let _ = writeln!(
            out,
            "<tr><td>{clients} clients</td><td>{}</td><td>{cpu:.1} us</td></tr>",
            thousands(*rate)
        );
    }
    out.push_str("</table>\n");
}

/// The class of a verdict.
fn class(verdict: &Verdict) -> &'static str {
    if verdict.value.is_none() || verdict.within_noise() {
        "open"
    } else if verdict.met {
        "met"
    } else {
        "missed"
    }
}

fn summary(out: &mut String, record: &Record) {
    out.push_str("<h2>The targets</h2>\n<table><tr><th>experiment</th><th>met</th><th>missed</th><th>closer than the noise, \
                  or not measured</th></tr>\n");
    for experiment in &record.experiments {
        let all = || experiment.series.iter().flat_map(|s| &s.verdicts);
        let count = |wanted: &str| all().filter(|v| class(v) == wanted).count();
        let _ = writeln!(
            out,
            "<tr><td><a href=\"#{id}\">{id}</a> {}</td><td class=\"met\">{}</td><td class=\"missed\">{}</td>\
             <td class=\"open\">{}</td></tr>",
            escaped(&experiment.title),
            count("met"),
            count("missed"),
            count("open"),
            id = escaped(&experiment.id)
        );
    }
    out.push_str("</table>\n");
}

fn section(out: &mut String, experiment: &ExperimentRecord) {
    let _ = writeln!(
        out,
        "<h2 id=\"{id}\">{id}: {}</h2>\n<p class=\"note\">What was seen once: {}</p>",
        escaped(&experiment.title),
        escaped(&experiment.seen),
        id = escaped(&experiment.id)
    );
    for series in &experiment.series {
        let _ = writeln!(
            out,
            "<h3>{}</h3>\n<p>{}; {}; {}; {} s a run.</p>",
            escaped(&series.label),
            escaped(&series.load),
            escaped(&series.data),
            escaped(&series.terms),
            series.seconds
        );
        if let Some(why) = &series.failed {
            let _ = writeln!(out, "<pre class=\"missed\">{}</pre>", escaped(why));
        }
        verdicts(out, &series.verdicts);
        keys(out, &series.sides);
        plots(out, series);
        figures(out, series);
        settings(out, series);
    }
}

fn verdicts(out: &mut String, verdicts: &[Verdict]) {
    if verdicts.is_empty() {
        return;
    }
    out.push_str("<table><tr><th>target</th><th>clients</th><th>ratio</th><th>figures</th><th>verdict</th></tr>\n");
    for verdict in verdicts {
        let value = verdict.value.map_or("-".to_owned(), |v| format!("{v:.3}"));
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{value}</td><td class=\"words\">{}</td>\
             <td class=\"words {}\">{}</td></tr>",
            escaped(&verdict.target),
            verdict.clients,
            escaped(&verdict.figures),
            class(verdict),
            escaped(&verdict.words())
        );
    }
    out.push_str("</table>\n");
}

/// The names of the sides, for their colours.
fn names(sides: &[SideRecord]) -> Vec<&str> {
    sides.iter().map(|s| s.name.as_str()).collect()
}

fn keys(out: &mut String, sides: &[SideRecord]) {
    let names = names(sides);
    out.push_str("<p>");
    for (at, name) in names.iter().enumerate() {
        let _ = write!(
            out,
            "<span class=\"key\" style=\"background:{}\"></span>{}",
            plot::colour(&names, at),
            escaped(name)
        );
    }
    out.push_str("</p>\n");
}

fn clients(point: &Point) -> String {
    match point.clients {
        1 => "1 client".to_owned(),
        n => format!("{n} clients"),
    }
}

/// A group a point, with a mark a side.
fn groups<T>(series: &SeriesRecord, mark: impl Fn(&Outcomes) -> Option<T>) -> Vec<Group<T>> {
    let names = names(&series.sides);
    let group = |point: &Point| Group {
        name: clients(point),
        marks: (names.iter().enumerate())
            .map(|(at, name)| (plot::colour(&names, at), point.of(name).and_then(&mark)))
            .collect(),
    };
    series.points.iter().map(group).collect()
}

/// The bars of a figure.
pub(super) fn bars_of(series: &SeriesRecord, figure: Figure) -> Vec<Group<Spread>> {
    groups(series, |o| o.spread(|run| run.figure(figure)))
}

fn plots(out: &mut String, series: &SeriesRecord) {
    let throughput = bars_of(series, Figure::Rate);
    out.push_str(&plot::bars(
        &format!("{}, median and range", series.unit),
        &throughput,
    ));
    let latencies = groups(series, |o| {
        let middle = |of: fn(&Run) -> f64| o.spread(|run| Some(of(run))).map(|s| s.middle);
        Some([
            middle(|r| r.p50_ms)?,
            middle(|r| r.p95_ms)?,
            middle(|r| r.p99_ms)?,
            middle(|r| r.max_ms)?,
        ])
    });
    out.push_str(&plot::ranges(
        "latency, ms: 50, 95 and 99 of 100, and the longest",
        &latencies,
    ));
    let cpu = bars_of(series, Figure::Cpu);
    out.push_str(&plot::bars("server CPU a query, us", &cpu));
    let names = names(&series.sides);
    out.push_str("<details><summary>second by second</summary>\n");
    for point in &series.points {
        let lines: Vec<_> = names
            .iter()
            .enumerate()
            .filter_map(|(at, name)| {
                let run = middle_run(point.of(name)?)?;
                (!run.seconds.is_empty())
                    .then_some((plot::colour(&names, at), run.seconds.as_slice()))
            })
            .collect();
        let title = format!("{}, {}, the median run", series.unit, clients(point));
        out.push_str(&plot::courses(&title, &lines));
    }
    out.push_str("</details>\n");
}

/// The run whose rate is the median, or next below it.
fn middle_run(outcomes: &Outcomes) -> Option<&Run> {
    let mut runs: Vec<&Run> = outcomes.runs.iter().collect();
    runs.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    runs.get(runs.len().saturating_sub(1) / 2).copied()
}

fn figures(out: &mut String, series: &SeriesRecord) {
    let _ = writeln!(
        out,
        "<table><tr><th>side</th><th>clients</th><th>{}</th><th>by best peer</th><th>noise</th><th>p50</th><th>p95</th>\
         <th>p99</th><th>longest</th><th>CPU a query</th><th>memory</th><th>reads a query</th><th>written a query</th>\
         <th>syncs a commit</th><th>retried</th></tr>",
        escaped(&series.unit)
    );
    for point in &series.points {
        for outcomes in &point.results {
            row(out, series, point, outcomes);
        }
    }
    out.push_str("</table>\n");
}

fn row(out: &mut String, series: &SeriesRecord, point: &Point, outcomes: &Outcomes) {
    let name = escaped(&outcomes.side);
    let Some(all) = outcomes.spread(|r| Some(r.rate)) else {
        let why = outcomes.failed.as_deref().unwrap_or("no run");
        let _ = writeln!(
            out,
            "<tr><td>{name}</td><td>{}</td><td class=\"words missed\" colspan=\"13\">{}</td></tr>",
            point.clients,
            escaped(why.lines().next().unwrap_or_default())
        );
        return;
    };
    let best = series.best_peer(point, Figure::Rate);
    let ratio = best.map_or("-".to_owned(), |(_, by)| format!("{:.2}", all.middle / by));
    let middle = |of: &dyn Fn(&Run) -> Option<f64>, digits: usize, unit: &str| -> String {
        outcomes
            .spread(of)
            .map_or("-".to_owned(), |s| format!("{:.digits$}{unit}", s.middle))
    };
    let cpu = outcomes.spread(|r| r.cpu_us).map_or("-".to_owned(), |s| {
        format!("{:.1} us ({:.1}–{:.1})", s.middle, s.least, s.most)
    });
    let retried: u64 = outcomes.runs.iter().map(|r| r.retried).sum();
    let _ = writeln!(
        out,
        "<tr><td>{name}</td><td>{}</td><td>{} ({}–{})</td><td>{ratio}</td><td>{:.1} %</td><td>{}</td><td>{}</td><td>{}</td>\
         <td>{}</td><td>{cpu}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{retried}</td></tr>",
        point.clients,
        rate(all.middle),
        rate(all.least),
        rate(all.most),
        (outcomes.noise(Figure::Rate) - 1.0) * 100.0,
        middle(&|r| Some(r.p50_ms), 3, " ms"),
        middle(&|r| Some(r.p95_ms), 3, " ms"),
        middle(&|r| Some(r.p99_ms), 3, " ms"),
        middle(&|r| Some(r.max_ms), 1, " ms"),
        middle(&|r| r.memory_mib, 0, " MiB"),
        middle(&|r| r.reads, 3, ""),
        middle(&|r| r.written_kib, 2, " KiB"),
        middle(&|r| r.syncs, 3, ""),
    );
}

fn settings(out: &mut String, series: &SeriesRecord) {
    out.push_str("<details><summary>settings</summary><pre>");
    for side in &series.sides {
        let files = match side.tables_mib {
            0 => String::new(),
            mib if series.pool_mib > 0 => format!(
                ", {mib} MiB of tables, {:.1} times the memory for pages",
                mib as f64 / series.pool_mib as f64
            ),
            mib => format!(", {mib} MiB of tables"),
        };
        let _ = writeln!(
            out,
            "{} ({}{files})\n    {}",
            escaped(&side.name),
            escaped(&side.version),
            escaped(&side.settings.join("\n    "))
        );
    }
    out.push_str("</pre></details>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_needs_nothing_else() {
        let run = Run {
            rate: 1234.0,
            seconds: vec![1.0, 2.0],
            ..Run::default()
        };
        let series = SeriesRecord {
            label: "a < b".to_owned(),
            sides: vec![SideRecord {
                name: "tidemill".to_owned(),
                ..SideRecord::default()
            }],
            points: vec![Point {
                clients: 8,
                results: vec![Outcomes {
                    side: "tidemill".to_owned(),
                    runs: vec![run],
                    failed: None,
                }],
            }],
            ..SeriesRecord::default()
        };
        let record = Record {
            experiments: vec![ExperimentRecord {
                series: vec![series],
                ..ExperimentRecord::default()
            }],
            ..Record::default()
        };
        let page = page(&record);
        assert!(page.contains("a &lt; b") && page.contains("1,234"));
        assert!(!page.contains("<script") && !page.contains("http"));
        assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    }
}
