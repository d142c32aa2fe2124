//! Window functions beside a naive evaluation: for each row all rows of its partition are looked at. In memory and spilled.

use super::Client;

struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    fn maybe(&mut self, n: u64) -> Option<i64> {
        match self.below(8) {
            0 => None,
            _ => Some(self.below(n) as i64),
        }
    }
}

/// A row of the table. `m` is in hundredths, `f` in quarters, `o` is a number of days as well.
struct Row {
    id: i64,
    p: Option<i64>,
    o: Option<i64>,
    x: Option<i64>,
    m: Option<i64>,
    f: Option<i64>,
    s: Option<i64>,
}

fn text(v: Option<impl ToString>) -> String {
    v.map_or_else(|| "NULL".to_owned(), |v| v.to_string())
}

fn table(n: &mut Numbers, rows: i64) -> (Client, Vec<Row>) {
    let mut c = Client::new();
    c.run(
        "CREATE TABLE w (id INT PRIMARY KEY, p INT, o INT, d DATE, x INT, m DECIMAL(10,2), f DOUBLE, s VARCHAR(200))",
    );
    let mut all = Vec::new();
    let mut values = Vec::new();
    for id in 0..rows {
        let row = Row {
            id,
            p: n.maybe(4),
            o: n.maybe(25),
            x: n.maybe(100).map(|x| x - 50),
            m: n.maybe(1000).map(|m| m - 500),
            f: n.maybe(100),
            s: n.maybe(20),
        };
        values.push(format!(
            "({id},{},{},{},{},{},{},{})",
            text(row.p),
            text(row.o),
            row.o.map_or("NULL".to_owned(), |o| format!(
                "'2024-01-01' + INTERVAL {o} DAY"
            )),
            text(row.x),
            row.m.map_or("NULL".to_owned(), |m| format!("{m} / 100")),
            row.f.map_or("NULL".to_owned(), |f| format!("{f} / 4e0")),
            row.s
                .map_or("NULL".to_owned(), |s| format!("'{}'", word(s))),
        ));
        all.push(row);
    }
    c.run(&format!("INSERT INTO w VALUES {}", values.join(",")));
    (c, all)
}

fn word(s: i64) -> String {
    format!("{s:02}{}", "z".repeat(100))
}

#[derive(Clone, Copy)]
enum End {
    Unbounded,
    Preceding(i64),
    Current,
    Following(i64),
}

impl End {
    /// How far from the row it is; `None` for an end of the partition.
    fn distance(self) -> Option<i64> {
        match self {
            End::Unbounded => None,
            End::Preceding(n) => Some(-n),
            End::Current => Some(0),
            End::Following(n) => Some(n),
        }
    }

    fn text(self, start: bool, dates: bool) -> String {
        let number = |n: i64| match dates {
            true => format!("INTERVAL {n} DAY"),
            false => n.to_string(),
        };
        match self {
            End::Unbounded if start => "UNBOUNDED PRECEDING".to_owned(),
            End::Unbounded => "UNBOUNDED FOLLOWING".to_owned(),
            End::Preceding(n) => format!("{} PRECEDING", number(n)),
            End::Current => "CURRENT ROW".to_owned(),
            End::Following(n) => format!("{} FOLLOWING", number(n)),
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Unit {
    Rows,
    Range,
    Dates,
    /// No frame is written.
    None,
}

#[derive(Clone, Copy)]
struct Window {
    partitioned: bool,
    ordered: bool,
    desc: bool,
    unit: Unit,
    start: End,
    end: End,
}

impl Window {
    fn any(n: &mut Numbers) -> Window {
        let unit = n.pick(&[Unit::Rows, Unit::Rows, Unit::Range, Unit::Dates, Unit::None]);
        let near = |n: &mut Numbers| n.below(5) as i64;
        let (start, end) = loop {
            let any = |n: &mut Numbers| match n.below(4) {
                0 => End::Unbounded,
                1 => End::Preceding(near(n)),
                2 => End::Current,
                _ => End::Following(near(n)),
            };
            let (start, end) = (any(n), any(n));
            let refused = matches!(
                (start, end),
                (End::Current | End::Following(_), End::Preceding(_))
                    | (End::Following(_), End::Current)
            );
            if !refused {
                break (start, end);
            }
        };
        Window {
            partitioned: n.below(3) > 0,
            ordered: unit != Unit::None || n.below(3) > 0,
            desc: n.below(2) == 0,
            unit,
            start,
            end,
        }
    }

    /// Whether rows are told apart by what they are ordered by.
    fn is_total(self) -> bool {
        self.unit == Unit::Rows
    }

    fn text(self) -> String {
        let mut out = String::from("(");
        if self.partitioned {
            out.push_str("PARTITION BY p ");
        }
        if self.ordered {
            let column = if self.unit == Unit::Dates { "d" } else { "o" };
            let desc = if self.desc { " DESC" } else { "" };
            let id = if self.is_total() { ", id" } else { "" };
            out.push_str(&format!("ORDER BY {column}{desc}{id} "));
        }
        let dates = self.unit == Unit::Dates;
        if self.unit != Unit::None {
            let unit = if self.unit == Unit::Rows {
                "ROWS"
            } else {
                "RANGE"
            };
            let (start, end) = (self.start.text(true, dates), self.end.text(false, dates));
            out.push_str(&format!("{unit} BETWEEN {start} AND {end}"));
        }
        out.push(')');
        out
    }

    /// The rows of a row's partition in order, and the row's place.
    fn partition(self, all: &[Row], own: usize) -> (Vec<&Row>, usize) {
        let in_it = |r: &&Row| !self.partitioned || r.p == all[own].p;
        let mut rows: Vec<&Row> = all.iter().filter(in_it).collect();
        if self.ordered {
            rows.sort_by(|a, b| {
                let order = a.o.cmp(&b.o);
                let order = if self.desc { order.reverse() } else { order };
                order.then(a.id.cmp(&b.id))
            });
        }
        let at = rows.iter().position(|r| r.id == all[own].id).expect("it");
        (rows, at)
    }

    fn peers(self, a: &Row, b: &Row) -> bool {
        !self.ordered || a.o == b.o && (!self.is_total() || a.id == b.id)
    }

    /// Whether row `j` is in the frame of row `i`.
    fn holds(self, rows: &[&Row], i: usize, j: usize) -> bool {
        if self.unit == Unit::Rows {
            let from = j as i64 - i as i64;
            return self.start.distance().is_none_or(|d| from >= d)
                && self.end.distance().is_none_or(|d| from <= d);
        }
        if self.unit == Unit::None {
            return !self.ordered || j <= i || self.peers(rows[i], rows[j]);
        }
        // The distance from row i to row j in the direction of the order; NULLs are infinitely far before, or behind.
        let from = match (rows[i].o, rows[j].o) {
            (None, None) => 0,
            (None, Some(_)) if self.desc => i64::MIN,
            (None, Some(_)) => i64::MAX,
            (Some(_), None) if self.desc => i64::MAX,
            (Some(_), None) => i64::MIN,
            (Some(a), Some(b)) if self.desc => a - b,
            (Some(a), Some(b)) => b - a,
        };
        // The frame of a NULL is its peers, as far as it ends at distances.
        let is_null = rows[i].o.is_none();
        let near = |d: i64| if is_null { 0 } else { d };
        self.start.distance().is_none_or(|d| from >= near(d))
            && self.end.distance().is_none_or(|d| from <= near(d))
    }
}

fn sum(all: &[Option<i64>]) -> Option<i64> {
    all.iter().flatten().copied().reduce(|a, b| a + b)
}

/// A decimal of so many digits behind the point.
fn decimal(n: i64, scale: u32) -> String {
    let one = 10i64.pow(scale);
    let sign = if n < 0 { "-" } else { "" };
    let n = n.abs();
    format!("{sign}{}.{:0w$}", n / one, n % one, w = scale as usize)
}

/// A quotient, rounded half up.
fn divided(n: i64, by: i64) -> i64 {
    let half = if n < 0 { -by } else { by };
    (2 * n + half) / (2 * by)
}

/// The value of a function for a row of a partition.
type Value = Box<dyn Fn(&[&Row], usize) -> String>;

impl Window {
    fn frame(self, rows: &[&Row], i: usize) -> Vec<usize> {
        let inside = |j: &usize| self.holds(rows, i, *j);
        (0..rows.len()).filter(inside).collect()
    }

    fn xs(self, rows: &[&Row], i: usize) -> Vec<Option<i64>> {
        let places = self.frame(rows, i).into_iter();
        places.map(|j| rows[j].x).collect()
    }
}

/// A function over a window, and its value for a row.
fn function(n: &mut Numbers, w: Window) -> (String, Value) {
    match n.below(if w.is_total() { 24 } else { 17 }) {
        17.. => by_place(n, w),
        11.. => rank(n, w),
        _ => aggregate(n, w),
    }
}

/// An aggregate.
fn aggregate(n: &mut Numbers, w: Window) -> (String, Value) {
    let frame = move |rows: &[&Row], i: usize| w.frame(rows, i);
    let xs = move |rows: &[&Row], i: usize| w.xs(rows, i);
    match n.below(11) {
        0 => (
            "COUNT(*)".to_owned(),
            Box::new(move |r, i| frame(r, i).len().to_string()),
        ),
        1 => (
            "COUNT(x)".to_owned(),
            Box::new(move |r, i| xs(r, i).iter().flatten().count().to_string()),
        ),
        2 => (
            "SUM(x)".to_owned(),
            Box::new(move |r, i| text(sum(&xs(r, i)))),
        ),
        3 => (
            "AVG(x)".to_owned(),
            Box::new(move |r, i| {
                let xs = xs(r, i);
                let count = xs.iter().flatten().count() as i64;
                text(sum(&xs).map(|s| decimal(divided(s * 10_000, count), 4)))
            }),
        ),
        4 => (
            "SUM(m)".to_owned(),
            Box::new(move |r, i| {
                let all: Vec<_> = frame(r, i).into_iter().map(|j| r[j].m).collect();
                text(sum(&all).map(|s| decimal(s, 2)))
            }),
        ),
        5 => (
            "SUM(f)".to_owned(),
            Box::new(move |r, i| {
                let all: Vec<_> = frame(r, i).into_iter().map(|j| r[j].f).collect();
                text(sum(&all).map(|s| s as f64 / 4.0))
            }),
        ),
        6 => (
            "MIN(x)".to_owned(),
            Box::new(move |r, i| text(xs(r, i).into_iter().flatten().min())),
        ),
        7 => (
            "MAX(x)".to_owned(),
            Box::new(move |r, i| text(xs(r, i).into_iter().flatten().max())),
        ),
        8 => (
            "MAX(s)".to_owned(),
            Box::new(move |r, i| {
                let all = frame(r, i).into_iter().filter_map(|j| r[j].s);
                text(all.max().map(word))
            }),
        ),
        9 => (
            "BIT_OR(x)".to_owned(),
            Box::new(move |r, i| {
                let all = xs(r, i).into_iter().flatten();
                all.fold(0u64, |a, b| a | b as u64).to_string()
            }),
        ),
        _ => (
            "BIT_AND(x)".to_owned(),
            Box::new(move |r, i| {
                let all = xs(r, i).into_iter().flatten();
                all.fold(u64::MAX, |a, b| a & b as u64).to_string()
            }),
        ),
    }
}

/// What compares a row with its peers.
fn rank(n: &mut Numbers, w: Window) -> (String, Value) {
    match n.below(5) {
        0 => (
            "RANK()".to_owned(),
            Box::new(move |r, i| {
                let first = (0..r.len()).find(|j| w.peers(r[*j], r[i]));
                (first.expect("itself") + 1).to_string()
            }),
        ),
        1 => (
            "DENSE_RANK()".to_owned(),
            Box::new(move |r, i| {
                let new = |j: &usize| *j == 0 || !w.peers(r[*j], r[*j - 1]);
                (0..=i).filter(new).count().to_string()
            }),
        ),
        2 => (
            "PERCENT_RANK()".to_owned(),
            Box::new(move |r, i| {
                let first = (0..r.len()).find(|j| w.peers(r[*j], r[i]));
                let rank = first.expect("itself") as f64;
                let others = (r.len() - 1).max(1) as f64;
                (rank / others).to_string()
            }),
        ),
        3 => (
            "CUME_DIST()".to_owned(),
            Box::new(move |r, i| {
                let last = (0..r.len()).rev().find(|j| w.peers(r[*j], r[i]));
                let upto = last.expect("itself") as f64 + 1.0;
                (upto / r.len() as f64).to_string()
            }),
        ),
        _ => (
            "SUM(x) + COUNT(*)".to_owned(),
            Box::new(move |_, _| String::new()),
        ),
    }
}

/// What depends on the order of equal rows.
fn by_place(n: &mut Numbers, w: Window) -> (String, Value) {
    let frame = move |rows: &[&Row], i: usize| w.frame(rows, i);
    let xs = move |rows: &[&Row], i: usize| w.xs(rows, i);
    let k = 1 + n.below(6) as i64;
    match n.below(7) {
        0 => (
            "ROW_NUMBER()".to_owned(),
            Box::new(move |_, i| (i + 1).to_string()),
        ),
        1 => (
            format!("NTILE({k})"),
            Box::new(move |r, i| {
                let (len, k) = (r.len(), k as usize);
                let sizes = (0..k).map(|t| len / k + usize::from(t < len % k));
                let mut end = 0;
                let ends: Vec<usize> = sizes
                    .map(|s| {
                        end += s;
                        end
                    })
                    .collect();
                (ends.iter().position(|e| i < *e).expect("a part") + 1).to_string()
            }),
        ),
        2 => (
            format!("LAG(x, {k}, id)"),
            Box::new(move |r, i| match i.checked_sub(k as usize) {
                Some(j) => text(r[j].x),
                None => r[i].id.to_string(),
            }),
        ),
        3 => (
            format!("LEAD(s, {k})"),
            Box::new(move |r, i| text(r.get(i + k as usize).and_then(|r| r.s).map(word))),
        ),
        4 => (
            "FIRST_VALUE(x)".to_owned(),
            Box::new(move |r, i| text(xs(r, i).first().copied().flatten())),
        ),
        5 => (
            "LAST_VALUE(m)".to_owned(),
            Box::new(move |r, i| {
                let last = frame(r, i).last().copied();
                text(last.and_then(|j| r[j].m).map(|m| decimal(m, 2)))
            }),
        ),
        _ => (
            format!("NTH_VALUE(x, {k})"),
            Box::new(move |r, i| text(xs(r, i).get(k as usize - 1).copied().flatten())),
        ),
    }
}

#[test]
fn values_are_those_of_a_naive_evaluation() {
    for seed in 0..3 {
        let mut n = Numbers(base::seed::nth("windows", seed));
        let (mut c, rows) = table(&mut n, 300 + 50 * seed as i64);
        let (mut in_files, mut number) = (0, 0);
        for _ in 0..70 {
            let mut items = Vec::new();
            let mut values = Vec::new();
            for _ in 0..1 + n.below(4) {
                let w = Window::any(&mut n);
                let (text, value) = function(&mut n, w);
                if text.contains('+') {
                    // Two functions in one expression.
                    let over = w.text();
                    items.push(format!("SUM(id) OVER {over} + COUNT(*) OVER {over}"));
                    let value: Value = Box::new(move |r, i| {
                        let own = (0..r.len()).filter(|j| w.holds(r, i, *j));
                        let ids: Vec<i64> = own.map(|j| r[j].id).collect();
                        match ids.is_empty() {
                            true => "NULL".to_owned(),
                            false => (ids.iter().sum::<i64>() + ids.len() as i64).to_string(),
                        }
                    });
                    values.push((w, value));
                    continue;
                }
                items.push(format!("{text} OVER {}", w.text()));
                values.push((w, value));
            }
            let sql = format!("SELECT id, {}, s FROM w ORDER BY id", items.join(", "));
            let expected: Vec<String> = (0..rows.len())
                .map(|own| {
                    let mut line = rows[own].id.to_string();
                    for (w, value) in &values {
                        let (partition, at) = w.partition(&rows, own);
                        line.push('|');
                        line.push_str(&value(&partition, at));
                    }
                    line.push('|');
                    line.push_str(&text(rows[own].s.map(word)));
                    line
                })
                .collect();
            for buffer in ["DEFAULT", "32768"] {
                c.run(&format!("SET sort_buffer_size = {buffer}"));
                let table = if buffer == "DEFAULT" { buffer } else { "1024" };
                c.run(&format!("SET tmp_table_size = {table}"));
                let made = c.instance.engine().temp_files().made();
                let got = c.rows(&sql);
                in_files += usize::from(c.instance.engine().temp_files().made() > made);
                let got: Vec<&str> = got.split(' ').collect();
                let differs = got.iter().zip(&expected).find(|(a, b)| a != b);
                assert_eq!(differs, None, "seed {seed}, {number}: {sql}");
                assert_eq!(got.len(), expected.len(), "{sql}");
            }
            number += 1;
        }
        assert!(in_files > number / 4, "few were spilled: {in_files}");
        assert_eq!(c.instance.engine().temp_files().count(), 0);
    }
}
