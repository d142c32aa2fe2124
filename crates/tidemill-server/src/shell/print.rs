//! How the shell shows results: as MySQL's client does, a frame on a terminal, tabs in a pipe, a line a column after `\G`.

use std::io::{self, Write};
use std::sync::Arc;

use sql::sink::{ColumnMeta, Done, ResultSink};
use types::charset::to_utf8;
use types::{DataType, ValueRef, convert};

/// The form of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A frame around columns of equal width.
    Frame,
    /// Tabs between columns, nothing else.
    Tabs,
    /// A line for each column.
    Vertical,
}

#[derive(Debug, Clone)]
struct Column {
    name: String,
    ty: DataType,
    right: bool,
}

/// Prints results to `out`. In tabs every row is printed as it comes; a frame needs all of them first.
pub struct Printer<W> {
    out: W,
    form: Form,
    columns: Vec<Column>,
    rows: Vec<Vec<Option<String>>>,
    row: Vec<Option<String>>,
    printed: u64,
    /// The first failure of `out`: a reader that has gone.
    pub failed: Option<io::Error>,
}

impl<W: Write + Send> Printer<W> {
    /// For one statement.
    pub fn new(out: W, form: Form) -> Printer<W> {
        Printer {
            out,
            form,
            columns: Vec::new(),
            rows: Vec::new(),
            row: Vec::new(),
            printed: 0,
            failed: None,
        }
    }

    fn put(&mut self, text: &str) {
        if self.failed.is_none() {
            self.failed = self.out.write_all(text.as_bytes()).err();
        }
    }

    fn print_tabs(&mut self) {
        let mut line = String::new();
        for (i, cell) in self.row.iter().enumerate() {
            if i > 0 {
                line.push('\t');
            }
            escape(cell.as_deref().unwrap_or("NULL"), &mut line);
        }
        line.push('\n');
        self.put(&line);
    }

    fn print_vertical(&mut self) {
        let width = self
            .columns
            .iter()
            .map(|c| width(&c.name))
            .max()
            .unwrap_or(0);
        let stars = "*".repeat(27);
        let mut text = format!("{stars} {}. row {stars}\n", self.printed + 1);
        for (column, cell) in self.columns.iter().zip(&self.row) {
            let name = pad(&column.name, width, true);
            text.push_str(&format!("{name}: {}\n", cell.as_deref().unwrap_or("NULL")));
        }
        self.put(&text);
    }

    fn print_frame(&mut self) {
        let cells = |i: usize| {
            let of = |row: &Vec<Option<String>>| {
                row.get(i)
                    .map_or(0, |cell| width(cell.as_deref().unwrap_or("NULL")))
            };
            self.rows.iter().map(of).max().unwrap_or(0)
        };
        let widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(i, column)| width(&column.name).max(cells(i)))
            .collect();
        let mut rule = String::from("+");
        for w in &widths {
            rule.push_str(&"-".repeat(w + 2));
            rule.push('+');
        }
        rule.push('\n');
        let mut text = rule.clone();
        text.push('|');
        for (column, w) in self.columns.iter().zip(&widths) {
            text.push_str(&format!(" {} |", pad(&column.name, *w, false)));
        }
        text.push('\n');
        text.push_str(&rule);
        for row in std::mem::take(&mut self.rows) {
            text.push('|');
            for ((column, w), cell) in self.columns.iter().zip(&widths).zip(&row) {
                let cell = cell.as_deref().unwrap_or("NULL");
                text.push_str(&format!(" {} |", pad(cell, *w, column.right)));
            }
            text.push('\n');
        }
        text.push_str(&rule);
        self.put(&text);
    }

    /// On a terminal: how many rows, or how many were changed.
    fn print_done(&mut self, done: &Done) {
        let warnings = match done.warnings {
            0 => String::new(),
            1 => ", 1 warning".to_owned(),
            n => format!(", {n} warnings"),
        };
        let plural = |n: u64| if n == 1 { "row" } else { "rows" };
        let text = if !done.result_set {
            let (n, rows) = (done.affected, plural(done.affected));
            let info = if done.info.is_empty() {
                String::new()
            } else {
                format!("{}\n", done.info)
            };
            format!("Query OK, {n} {rows} affected{warnings}\n{info}\n")
        } else if self.printed == 0 {
            format!("Empty set{warnings}\n\n")
        } else {
            let rows = plural(self.printed);
            format!("{} {rows} in set{warnings}\n\n", self.printed)
        };
        self.put(&text);
    }
}

impl<W: Write + Send> ResultSink for Printer<W> {
    fn columns(&mut self, cols: &Arc<[ColumnMeta]>) {
        self.columns = cols
            .iter()
            .map(|column| Column {
                name: column.name.clone(),
                ty: column.ty.clone(),
                right: column.ty.is_numeric(),
            })
            .collect();
        self.printed = 0;
    }

    fn row_begin(&mut self) {
        self.row.clear();
    }

    fn value(&mut self, v: ValueRef<'_>, c: usize) {
        let cell = match v {
            ValueRef::Null => None,
            ValueRef::Str(bytes, collation) => Some(to_utf8(collation.charset(), bytes)),
            ValueRef::Enum(_, labels) | ValueRef::Set(_, labels) => {
                let mut name = Vec::new();
                convert::write_value(v, &mut name);
                Some(to_utf8(labels.collation.charset(), &name))
            }
            _ => self.columns.get(c).map(|column| {
                let mut out = Vec::new();
                convert::write_text(v, &column.ty, &mut out);
                String::from_utf8_lossy(&out).into_owned()
            }),
        };
        self.row.push(cell);
    }

    fn row_end(&mut self) {
        match self.form {
            Form::Frame => self.rows.push(std::mem::take(&mut self.row)),
            Form::Vertical => self.print_vertical(),
            Form::Tabs => {
                if self.printed == 0 {
                    let names: Vec<_> = self.columns.iter().map(|c| Some(c.name.clone())).collect();
                    let row = std::mem::replace(&mut self.row, names);
                    self.print_tabs();
                    self.row = row;
                }
                self.print_tabs();
            }
        }
        self.printed += 1;
    }

    fn finish(&mut self, done: &Done) {
        if self.form == Form::Frame && self.printed > 0 {
            self.print_frame();
        }
        if self.form != Form::Tabs {
            self.print_done(done);
        }
        self.printed = 0;
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

fn pad(text: &str, to: usize, right: bool) -> String {
    let spaces = " ".repeat(to.saturating_sub(width(text)));
    if right {
        format!("{spaces}{text}")
    } else {
        format!("{text}{spaces}")
    }
}

/// As `mysql --batch` does: a value stays on its line and in its column.
fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\0' => out.push_str("\\0"),
            '\\' => out.push_str("\\\\"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::CollationId;

    fn show(form: Form) -> String {
        let mut out = Vec::new();
        let mut printer = Printer::new(&mut out, form);
        let name = DataType::varchar(9, CollationId::DEFAULT);
        let cols: Arc<[ColumnMeta]> = vec![
            ColumnMeta::computed("id", DataType::INT, false),
            ColumnMeta::computed("name", name, true),
        ]
        .into();
        printer.columns(&cols);
        for (id, name) in [(1, Some("a\tb")), (20, None)] {
            printer.row_begin();
            printer.value(ValueRef::Int(id), 0);
            let text = |t: &'static str| ValueRef::Str(t.as_bytes(), CollationId::DEFAULT);
            printer.value(name.map_or(ValueRef::Null, text), 1);
            printer.row_end();
        }
        printer.finish(&Done {
            result_set: true,
            ..Done::default()
        });
        drop(printer);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn forms() {
        assert_eq!(show(Form::Tabs), "id\tname\n1\ta\\tb\n20\tNULL\n");
        let frame = "+----+------+\n| id | name |\n+----+------+\n|  1 | a\tb  |\n| 20 | NULL |\n+----+------+\n\
                     2 rows in set\n\n";
        assert_eq!(show(Form::Frame), frame);
        assert!(show(Form::Vertical).contains("  id: 20\nname: NULL\n"));
    }
}
