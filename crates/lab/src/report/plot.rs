//! Plots as SVG, drawn without any library: grouped bars, ranges of latencies, and what happened second by second.
//!
//! Text takes the colour of its surroundings, so that the same plot is readable on white and on black.

use super::thousands;
use crate::record::Spread;
use std::fmt::Write as _;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 708.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 222.0;

/// The colours of a side: those of its server, the n-th of them for its n-th configuration.
pub fn colour(names: &[&str], at: usize) -> &'static str {
    let family = |name: &str| -> &'static [&'static str] {
        match name.split([' ', ',']).next().unwrap_or_default() {
            "tidemill" => &[
                "#2b6cb0", "#63b3ed", "#1a365d", "#90cdf4", "#4299e1", "#2c5282",
            ],
            "mariadb" => &["#dd6b20", "#f6ad55", "#9c4221", "#fbd38d"],
            "postgres" => &["#2f855a", "#68d391", "#22543d"],
            "myrocks" => &["#6b46c1", "#b794f4"],
            _ => &["#718096", "#a0aec0", "#4a5568"],
        }
    };
    let own = family(names[at]);
    let before = names[..at].iter().filter(|n| family(n) == own).count();
    own[before % own.len()]
}

/// A scale: from zero, or by powers of ten.
struct Scale {
    from: f64,
    to: f64,
    log: bool,
}

impl Scale {
    /// From zero to a round number that is not below `most`.
    fn linear(most: f64) -> Scale {
        let most = if most > 0.0 { most } else { 1.0 };
        let unit = 10f64.powf(most.log10().floor());
        let steps = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
        let to = steps.iter().map(|s| s * unit).find(|to| *to >= most);
        Scale {
            from: 0.0,
            to: to.unwrap_or(most),
            log: false,
        }
    }

    /// By powers of ten, around all of these.
    fn log(least: f64, most: f64) -> Scale {
        let least = least.max(1e-3);
        Scale {
            from: 10f64.powf(least.log10().floor()),
            to: 10f64.powf(most.max(least * 2.0).log10().ceil()),
            log: true,
        }
    }

    fn y(&self, value: f64) -> f64 {
        let share = if self.log {
            (value.max(self.from) / self.from).log10() / (self.to / self.from).log10()
        } else {
            value / self.to
        };
        BOTTOM - share.clamp(0.0, 1.0) * (BOTTOM - TOP)
    }

    fn lines(&self) -> Vec<f64> {
        if self.log {
            let decades = (self.to / self.from).log10().round() as i32;
            (0..=decades).map(|n| self.from * 10f64.powi(n)).collect()
        } else {
            (0..=4).map(|n| self.to * f64::from(n) / 4.0).collect()
        }
    }
}

/// The frame of a plot: title, lines and their numbers.
fn frame(title: &str, scale: &Scale) -> String {
    let mut out = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" font-family=\"sans-serif\" font-size=\"11\" \
         fill=\"currentColor\">\n<text x=\"8\" y=\"16\" font-size=\"13\">{title}</text>\n"
    );
    for value in scale.lines() {
        let y = scale.y(value);
        let label = if value < 10.0 {
            crate::judge::short(value)
        } else {
            thousands(value)
        };
        let _ = writeln!(
            out,
            "<path d=\"M{LEFT} {y:.1}H{RIGHT}\" stroke=\"currentColor\" stroke-opacity=\".18\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" opacity=\".75\">{label}</text>",
            LEFT - 6.0,
            y + 4.0
        );
    }
    out
}

/// A group of marks side by side: its name below, and each mark's colour and figure.
pub struct Group<T> {
    /// The name.
    pub name: String,
    /// The marks; nothing where there is no figure.
    pub marks: Vec<(&'static str, Option<T>)>,
}

/// The places of the groups and of their marks, given to `draw` as x and width.
fn spread_out<T>(
    out: &mut String,
    groups: &[Group<T>],
    draw: impl Fn(&mut String, &str, &T, f64, f64),
) {
    let room = (RIGHT - LEFT) / groups.len().max(1) as f64;
    for (i, group) in groups.iter().enumerate() {
        let left = LEFT + room * i as f64;
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" opacity=\".75\">{}</text>",
            left + room / 2.0,
            BOTTOM + 18.0,
            group.name
        );
        let each = (room * 0.86 / group.marks.len().max(1) as f64).min(64.0);
        let begin = left + (room - each * group.marks.len() as f64) / 2.0;
        for (j, (colour, mark)) in group.marks.iter().enumerate() {
            if let Some(mark) = mark {
                draw(out, colour, mark, begin + each * j as f64, each);
            }
        }
    }
}

/// Grouped bars: medians, with a line from the least to the most.
pub fn bars(title: &str, groups: &[Group<Spread>]) -> String {
    let all = groups.iter().flat_map(|g| &g.marks);
    let most = all.filter_map(|m| m.1.map(|s| s.most)).fold(0.0, f64::max);
    let scale = Scale::linear(most);
    let mut out = frame(title, &scale);
    spread_out(&mut out, groups, |out, colour, spread, x, width| {
        let top = scale.y(spread.middle);
        let middle = x + width / 2.0;
        let _ = writeln!(
            out,
            "<rect x=\"{:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{colour}\"/>\
             <path d=\"M{middle:.1} {:.1}V{:.1}\" stroke=\"currentColor\"/>",
            x + 1.0,
            (width - 2.0).max(1.0),
            BOTTOM - top,
            scale.y(spread.least),
            scale.y(spread.most)
        );
        if width >= 26.0 {
            let _ = writeln!(
                out,
                "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"9\">{}</text>",
                scale.y(spread.most) - 4.0,
                figure(spread.middle)
            );
        }
    });
    out + "</svg>\n"
}

/// A figure in few characters.
fn figure(x: f64) -> String {
    match x {
        _ if x >= 1e6 => format!("{:.1}m", x / 1e6),
        _ if x >= 1e4 => format!("{:.0}k", x / 1e3),
        _ if x >= 1e3 => format!("{:.1}k", x / 1e3),
        _ if x >= 10.0 => format!("{x:.0}"),
        _ => format!("{x:.1}"),
    }
}

/// Percentiles by powers of ten: a line from the median to the 99th, a dot at each of 50, 95 and 99, a tick at the longest.
pub fn ranges(title: &str, groups: &[Group<[f64; 4]>]) -> String {
    let all = || groups.iter().flat_map(|g| &g.marks).filter_map(|m| m.1);
    let least = all().map(|p| p[0]).fold(f64::MAX, f64::min);
    let most = all().map(|p| p[3]).fold(0.0, f64::max);
    let scale = Scale::log(least.min(most), most);
    let mut out = frame(title, &scale);
    spread_out(&mut out, groups, |out, colour, percentiles, x, width| {
        let middle = x + width / 2.0;
        let [p50, p95, p99, longest] = percentiles.map(|p| scale.y(p));
        let _ = write!(
            out,
            "<path d=\"M{middle:.1} {p50:.1}V{p99:.1}\" stroke=\"{colour}\" stroke-width=\"3\"/>\
             <path d=\"M{:.1} {longest:.1}H{:.1}\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            middle - 5.0,
            middle + 5.0
        );
        for y in [p50, p95, p99] {
            let _ = write!(
                out,
                "<circle cx=\"{middle:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"/>"
            );
        }
        out.push('\n');
    });
    out + "</svg>\n"
}

/// What happened second by second, a line a side.
pub fn courses(title: &str, courses: &[(&'static str, &[f64])]) -> String {
    let most = courses
        .iter()
        .flat_map(|c| c.1)
        .copied()
        .fold(0.0, f64::max);
    let longest = courses.iter().map(|c| c.1.len()).max().unwrap_or(0);
    let scale = Scale::linear(most);
    let mut out = frame(title, &scale);
    let step = (RIGHT - LEFT) / longest.saturating_sub(1).max(1) as f64;
    for (colour, seconds) in courses {
        let mut path = String::new();
        for (i, value) in seconds.iter().enumerate() {
            let verb = if i == 0 { 'M' } else { 'L' };
            let x = LEFT + step * i as f64;
            let _ = write!(path, "{verb}{x:.1} {:.1}", scale.y(*value));
        }
        let _ = writeln!(
            out,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>"
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{RIGHT}\" y=\"{:.1}\" text-anchor=\"end\" opacity=\".75\">{longest} seconds</text>",
        BOTTOM + 18.0
    );
    out + "</svg>\n"
}

/// A plot as a file of its own, dark on white.
pub fn standalone(plot: &str) -> String {
    let size = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" color=\"#222\" "
    );
    let mut out = plot.replacen("<svg ", &size, 1);
    if let Some(end) = out.find(">\n") {
        out.insert_str(
            end + 2,
            "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_hold_what_they_show() {
        for most in [0.0, 0.3, 7.0, 99.0, 100.0, 91_306.0] {
            let scale = Scale::linear(most);
            assert!(scale.to >= most && scale.y(most) >= TOP);
            assert_eq!(scale.y(0.0), BOTTOM);
        }
        let scale = Scale::log(0.02, 84.9);
        assert_eq!((scale.from, scale.lines().len()), (0.01, 5));
        assert!(scale.y(84.9) > TOP && scale.y(0.02) < BOTTOM);
    }

    #[test]
    fn sides_differ_in_colour() {
        let names = ["tidemill", "tidemill, 16 tables", "mariadb", "canned"];
        let colours: Vec<_> = (0..4).map(|at| colour(&names, at)).collect();
        for (i, a) in colours.iter().enumerate() {
            assert!(!colours[i + 1..].contains(a));
        }
    }

    #[test]
    fn a_plot_alone_is_a_file() {
        let spread = Spread {
            middle: 5.0,
            least: 4.0,
            most: 6.0,
        };
        let groups = [Group {
            name: "8".to_owned(),
            marks: vec![("#123456", Some(spread)), ("#654321", None)],
        }];
        let file = standalone(&bars("title", &groups));
        assert!(file.starts_with("<svg xmlns=") && file.ends_with("</svg>\n"));
        assert_eq!(file.matches("fill=\"#123456\"").count(), 1);
    }
}
