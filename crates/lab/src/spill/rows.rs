//! The table, what is asked of it, and the answers, which follow from the numbers of the rows.

use harness::client::Conn;
use harness::step::Outcome;

/// Odd, so that its multiples are all different numbers of 32 bits.
const SPREAD: u64 = 2_654_435_761;

/// Rows of the first INSERT.
const FIRST: u64 = 1000;

/// The table: row `id` of `rows` has in `v` a number that no other has, in `w` the `v` of the row before it, in `k` one of a third as many numbers,
/// in `s` one of half as many texts.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// How many rows.
    pub rows: u64,
}

/// A row of a result, column by column as text.
pub type Row<'r> = [&'r [u8]];

impl Shape {
    fn v(id: u64) -> u64 {
        id * SPREAD % (1 << 32)
    }

    fn keys(self) -> u64 {
        (self.rows / 3) | 1
    }

    fn words(self) -> u64 {
        (self.rows / 2) | 1
    }

    fn k(self, id: u64) -> u64 {
        id * 7919 % self.keys()
    }

    fn word(self, id: u64) -> u64 {
        id * 48_271 % self.words()
    }

    fn select(self, from: u64) -> String {
        let Shape { rows } = self;
        let (keys, words) = (self.keys(), self.words());
        format!(
            "SELECT n, n * 7919 % {keys}, n * {SPREAD} % 4294967296, (n + {rows} - 1) % {rows} * {SPREAD} % 4294967296, \
             CONCAT('word ', n * 48271 % {words}) FROM (SELECT CAST(id + {from} AS UNSIGNED) n FROM t WHERE id < {rows} - {from}) q"
        )
    }

    /// Makes the table.
    ///
    /// # Errors
    /// The server's.
    pub fn make(self, conn: &mut dyn Conn) -> Outcome<()> {
        let mut run = |sql: &str| conn.run(sql).map(drop).map_err(|e| format!("{sql}: {e}"));
        run("CREATE DATABASE spill")?;
        run("USE spill")?;
        run(
            "CREATE TABLE t (id BIGINT UNSIGNED PRIMARY KEY, k BIGINT UNSIGNED NOT NULL, v BIGINT UNSIGNED NOT NULL, \
             w BIGINT UNSIGNED NOT NULL, s VARCHAR(30) NOT NULL)",
        )?;
        let first = FIRST.min(self.rows);
        let values: Vec<String> = (0..first)
            .map(|id| {
                let before = (id + self.rows - 1) % self.rows;
                let (k, v, w, s) = (self.k(id), Shape::v(id), Shape::v(before), self.word(id));
                format!("({id},{k},{v},{w},'word {s}')")
            })
            .collect();
        run(&format!("INSERT INTO t VALUES {}", values.join(",")))?;
        let mut have = first;
        while have < self.rows {
            run(&format!("INSERT INTO t {}", self.select(have)))?;
            have = (2 * have).min(self.rows);
        }
        run("ANALYZE TABLE t")
    }
}

fn number(bytes: &[u8]) -> Outcome<u64> {
    let text = std::str::from_utf8(bytes).map_err(|e| e.to_string())?;
    text.parse().map_err(|_| format!("{text} is not a number"))
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// All rows in the order of a column that no index has.
    Sort,
    /// Each row with the one before it.
    Join,
    /// A third as many groups as rows.
    Group,
    /// Half as many texts as rows.
    Distinct,
}

impl Question {
    /// All of them.
    pub const ALL: [Question; 4] = [
        Question::Sort,
        Question::Join,
        Question::Group,
        Question::Distinct,
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Question::Sort => "sort",
            Question::Join => "hash join",
            Question::Group => "GROUP BY",
            Question::Distinct => "DISTINCT",
        }
    }

    /// The statement.
    pub fn sql(self) -> &'static str {
        match self {
            Question::Sort => "SELECT v, id, s FROM t ORDER BY v",
            Question::Join => {
                "SELECT COUNT(*), SUM(a.id), SUM(b.v), SUM(a.id % 1000 * (b.id % 1000)) FROM t a JOIN t b ON a.w = b.v"
            }
            Question::Group => "SELECT k, COUNT(*), SUM(v), MAX(id) FROM t GROUP BY k",
            Question::Distinct => "SELECT DISTINCT s FROM t",
        }
    }

    /// Judges its rows.
    pub fn judge(self, shape: Shape) -> Answer {
        let groups = match self {
            Question::Group => {
                let mut groups = vec![(0u32, 0u64, 0u64); shape.keys() as usize];
                for id in 0..shape.rows {
                    let g = &mut groups[shape.k(id) as usize];
                    *g = (g.0 + 1, g.1 + Shape::v(id), id);
                }
                groups
            }
            _ => Vec::new(),
        };
        let seen = match self {
            Question::Distinct => vec![false; shape.words() as usize],
            _ => Vec::new(),
        };
        Answer {
            question: self,
            shape,
            groups,
            seen,
            rows: 0,
            last: None,
            sum: 0,
        }
    }
}

/// Judges rows as they come.
#[derive(Debug)]
pub struct Answer {
    question: Question,
    shape: Shape,
    groups: Vec<(u32, u64, u64)>,
    seen: Vec<bool>,
    rows: u64,
    last: Option<u64>,
    sum: u64,
}

impl Answer {
    /// The next row.
    ///
    /// # Errors
    /// How it is wrong.
    pub fn row(&mut self, row: &Row<'_>) -> Outcome<()> {
        self.rows += 1;
        let wrong = |why: &str| {
            let shown: Vec<_> = row.iter().map(|c| String::from_utf8_lossy(c)).collect();
            Err(format!("row {} is {shown:?}: {why}", self.rows))
        };
        match (self.question, row) {
            (Question::Sort, [v, id, s]) => {
                let (v, id) = (number(v)?, number(id)?);
                if self.last.is_some_and(|last| last >= v) {
                    return wrong("out of order");
                }
                let word = format!("word {}", self.shape.word(id));
                if Shape::v(id) != v || *s != word.as_bytes() {
                    return wrong("no row of the table");
                }
                self.last = Some(v);
                self.sum += id;
            }
            (Question::Join, [count, ids, vs, products]) => {
                let n = self.shape.rows;
                let mut want = [n, 0, 0, 0];
                for id in 0..n {
                    let before = (id + n - 1) % n;
                    want[1] += id;
                    want[2] += Shape::v(before);
                    want[3] += id % 1000 * (before % 1000);
                }
                let got = [number(count)?, number(ids)?, number(vs)?, number(products)?];
                if got != want {
                    return wrong(&format!("it should be {want:?}"));
                }
            }
            (Question::Group, [k, count, sum, most]) => {
                let k = number(k)?;
                let Some(g) = self.groups.get_mut(k as usize) else {
                    return wrong("no group");
                };
                let want = std::mem::take(g);
                if (u64::from(want.0), want.1, want.2)
                    != (number(count)?, number(sum)?, number(most)?)
                {
                    return wrong(&format!("it should be {want:?} (zeros: it came twice)"));
                }
            }
            (Question::Distinct, [s]) => {
                let word = s.strip_prefix(b"word ").map(number).transpose()?;
                match word.and_then(|w| self.seen.get_mut(w as usize)) {
                    Some(seen) if !*seen => *seen = true,
                    Some(_) => return wrong("it came twice"),
                    None => return wrong("no text of the table"),
                }
            }
            _ => return wrong("other columns were asked for"),
        }
        Ok(())
    }

    /// There are no more rows.
    ///
    /// # Errors
    /// What is missing.
    pub fn end(self) -> Outcome<()> {
        let n = self.shape.rows;
        let want = match self.question {
            Question::Sort => n,
            Question::Join => 1,
            Question::Group => self.shape.keys().min(n),
            Question::Distinct => self.shape.words().min(n),
        };
        if self.rows != want {
            return Err(format!("{} rows came, not {want}", self.rows));
        }
        if self.question == Question::Sort && self.sum != n * (n - 1) / 2 {
            return Err(format!("the sum of all ids is {}", self.sum));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows_of(q: Question, shape: Shape) -> Vec<Vec<String>> {
        let n = shape.rows;
        let mut rows: Vec<Vec<String>> = match q {
            Question::Sort => {
                let mut ids: Vec<u64> = (0..n).collect();
                ids.sort_by_key(|id| Shape::v(*id));
                let row = |id: u64| {
                    let word = format!("word {}", shape.word(id));
                    vec![Shape::v(id).to_string(), id.to_string(), word]
                };
                ids.into_iter().map(row).collect()
            }
            Question::Distinct => (0..shape.words())
                .map(|w| vec![format!("word {w}")])
                .collect(),
            _ => Vec::new(),
        };
        rows.dedup();
        rows
    }

    fn judged(q: Question, shape: Shape, rows: &[Vec<String>]) -> Outcome<()> {
        let mut judge = q.judge(shape);
        for r in rows {
            let row: Vec<&[u8]> = r.iter().map(String::as_bytes).collect();
            judge.row(&row)?;
        }
        judge.end()
    }

    #[test]
    fn what_is_wrong_is_noticed() {
        let shape = Shape { rows: 5000 };
        for q in [Question::Sort, Question::Distinct] {
            let mut rows = rows_of(q, shape);
            assert_eq!(judged(q, shape, &rows), Ok(()), "{q:?}");
            let row = rows.remove(70);
            assert!(judged(q, shape, &rows).is_err(), "one is missing: {q:?}");
            rows.insert(71, row);
            assert_eq!(
                judged(q, shape, &rows).is_ok(),
                q == Question::Distinct,
                "another order"
            );
            rows.push(rows[100].clone());
            assert!(judged(q, shape, &rows).is_err(), "one came twice: {q:?}");
        }
    }
}
