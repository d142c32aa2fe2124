//! Figures on the screen as aligned columns, and in a file as JSON.

use crate::step::Outcome;
use std::fmt::Write as _;
use std::path::Path;

/// One cell.
#[derive(Debug, Clone)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A number and how many digits after the point the screen shows; the file gets all of them.
    Number(f64, usize),
    /// Not measured.
    Missing,
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

impl From<u64> for Cell {
    fn from(number: u64) -> Cell {
        Cell::Number(number as f64, 0)
    }
}

impl Cell {
    fn shown(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Number(n, digits) => format!("{n:.digits$}"),
            Cell::Missing => "-".to_owned(),
        }
    }

    fn json(&self) -> String {
        match self {
            Cell::Text(text) => quoted(text),
            Cell::Number(n, _) if n.is_finite() => format!("{n}"),
            Cell::Number(..) | Cell::Missing => "null".to_owned(),
        }
    }
}

/// `text` as a JSON string.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Rows under named columns.
#[derive(Debug)]
pub struct Table {
    columns: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// An empty table.
    pub fn new(columns: &[&'static str]) -> Table {
        Table {
            columns: columns.to_vec(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; it has one cell a column.
    pub fn row(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    /// Prints the table: words to the left, numbers to the right.
    pub fn print(&self) {
        let mut widths: Vec<usize> = self.columns.iter().map(|c| c.len()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.shown().chars().count());
            }
        }
        let mut line = String::new();
        for (column, &width) in self.columns.iter().zip(&widths) {
            let _ = write!(line, "{column:<width$}  ");
        }
        println!("{}", line.trim_end());
        for row in &self.rows {
            line.clear();
            for (cell, &width) in row.iter().zip(&widths) {
                let shown = cell.shown();
                let _ = match cell {
                    Cell::Text(_) => write!(line, "{shown:<width$}  "),
                    _ => write!(line, "{shown:>width$}  "),
                };
            }
            println!("{}", line.trim_end());
        }
    }

    /// The rows as a JSON array of objects.
    pub fn json(&self) -> String {
        let mut out = String::from("[\n");
        for (i, row) in self.rows.iter().enumerate() {
            let fields: Vec<String> = self
                .columns
                .iter()
                .zip(row)
                .map(|(column, cell)| format!("{}: {}", quoted(column), cell.json()))
                .collect();
            let comma = if i + 1 < self.rows.len() { "," } else { "" };
            let _ = writeln!(out, "  {{{}}}{comma}", fields.join(", "));
        }
        out.push_str("]\n");
        out
    }

    /// Writes the rows to `path` as JSON and says so.
    pub fn save(&self, path: &Path) -> Outcome<()> {
        std::fs::write(path, self.json()).map_err(|e| format!("{}: {e}", path.display()))?;
        println!("    written: {}", path.display());
        Ok(())
    }
}

/// The middle value; the mean of the two middle ones of an even number; NaN of none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    match n {
        0 => f64::NAN,
        _ if n % 2 == 1 => sorted[n / 2],
        _ => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_escaped_and_numbers_are_numbers() {
        let mut table = Table::new(&["name", "qps"]);
        table.row(vec!["a\"b\\".into(), Cell::Number(1.5, 0)]);
        table.row(vec!["c".into(), Cell::Number(f64::NAN, 0)]);
        assert_eq!(
            table.json(),
            "[\n  {\"name\": \"a\\\"b\\\\\", \"qps\": 1.5},\n  {\"name\": \"c\", \"qps\": null}\n]\n"
        );
    }

    #[test]
    fn medians() {
        assert!(median(&[]).is_nan());
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
