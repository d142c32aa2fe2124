//! A unit of a list: what is set up, and the statements after it with what is expected of each.

use super::cell::Cell;
use harness::step::Outcome;
use serde_json::Value;

/// Letters of a statement that are in the name of its test.
const NAMED: usize = 60;

/// A row as the server gives it: each value as text.
pub type Row = Vec<Option<Vec<u8>>>;

/// A statement, and what is expected of it.
#[derive(Debug, Default)]
pub struct Step {
    /// The session that it runs in; empty for the unit's own.
    pub client: String,
    /// The statement.
    pub sql: String,
    /// It must be refused.
    pub refused: bool,
    /// A warning of this number must be there.
    pub warning: Option<u64>,
    /// The rows; none where nothing but success is expected.
    rows: Option<Vec<Vec<Cell>>>,
}

/// A unit.
#[derive(Debug)]
pub struct Unit {
    list: String,
    name: String,
    /// What makes the tables that units have together.
    pub shared: Vec<String>,
    /// What is set up for this one.
    pub own: Vec<String>,
    /// The statements.
    pub steps: Vec<Step>,
    /// The databases that a new session of it starts in: the first that there is.
    pub databases: Vec<String>,
}

fn texts(value: &Value) -> Vec<String> {
    let all = value.as_array().into_iter().flatten();
    all.filter_map(|v| v.as_str().map(str::to_owned)).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Reads a line.
///
/// # Errors
/// It is no unit.
pub fn parse(line: &str) -> Outcome<Unit> {
    let value: Value = serde_json::from_str(line).map_err(|e| format!("no unit: {e}"))?;
    let steps = value["steps"].as_array().into_iter().flatten();
    let steps = steps.map(step).collect::<Option<Vec<_>>>();
    let steps = steps.ok_or_else(|| format!("not all of its cells are cells: {line:.200}"))?;
    Ok(Unit {
        list: text(&value["list"]),
        name: text(&value["name"]),
        shared: texts(&value["shared"]),
        own: texts(&value["setup"]),
        steps,
        databases: vec!["mydb".to_owned()],
    })
}

fn step(value: &Value) -> Option<Step> {
    let rows = match value["rows"].as_array() {
        None => None,
        Some(rows) => Some(
            rows.iter()
                .map(|row| row.as_array()?.iter().map(Cell::parse).collect())
                .collect::<Option<_>>()?,
        ),
    };
    Some(Step {
        client: text(&value["client"]),
        sql: text(&value["sql"]),
        refused: value["error"] == true,
        warning: value["warning"].as_u64(),
        rows,
    })
}

impl Unit {
    /// Its statements are in need of each other.
    pub fn is_script(&self) -> bool {
        !self.name.is_empty()
    }

    /// The name of the test that a statement is.
    pub fn name_of(&self, step: usize) -> String {
        let words: Vec<&str> = self.steps[step].sql.split_whitespace().collect();
        let words = words.join(" ");
        // A name is a line of a file that people read.
        let plain = words.chars().map(|c| if c.is_control() { '?' } else { c });
        let cut: String = plain.take(NAMED).collect();
        let (list, name) = (&self.list, &self.name);
        match name.is_empty() {
            true => format!("{list}/{step} {cut}"),
            false => format!("{list}/{name}/{step} {cut}"),
        }
        .trim()
        .to_owned()
    }
}

impl Step {
    /// The rows as they are told to a reader.
    pub fn told(&self) -> Value {
        match &self.rows {
            None => Value::Null,
            Some(rows) => rows
                .iter()
                .map(|r| r.iter().map(Cell::told).collect::<Vec<_>>())
                .collect(),
        }
    }

    /// What is wrong with an OK; none if nothing is.
    pub fn differs_from_ok(&self, affected: u64, id: u64) -> Option<String> {
        let rows = self.rows.as_ref()?;
        match rows.as_slice() {
            [] => None,
            [one] => match one.as_slice() {
                [] => None,
                [cell] => {
                    let (rows, first) = cell.ok()?;
                    let same = rows == affected && (first == 0 || first == id);
                    (!same).then(|| {
                        format!("{affected} rows and id {id}, expected were {rows} and {first}")
                    })
                }
                _ => Some("rows were expected".to_owned()),
            },
            _ => Some("rows were expected".to_owned()),
        }
    }

    /// What is wrong with these rows; none if nothing is.
    pub fn differs_from(&self, rows: &[Row]) -> Option<String> {
        let expected = self.rows.as_ref()?;
        if expected.len() != rows.len() {
            return Some(format!(
                "{} rows, expected were {}",
                rows.len(),
                expected.len()
            ));
        }
        let ordered = self.sql.to_uppercase().contains("ORDER BY ");
        let mut left: Vec<&Row> = rows.iter().collect();
        for (n, row) in expected.iter().enumerate() {
            let found = match ordered || expected.len() == 1 {
                true => same(row, rows.get(n)?).then_some(0),
                false => left.iter().position(|r| same(row, r)),
            };
            let Some(at) = found else {
                let told: Vec<Value> = row.iter().map(Cell::told).collect();
                return Some(format!("row {n} is not {told:?}"));
            };
            left.remove(at);
        }
        None
    }
}

fn same(expected: &[Cell], row: &Row) -> bool {
    expected.len() == row.len() && expected.iter().zip(row).all(|(e, v)| e.is(v.as_deref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rows: &str, sql: &str) -> Step {
        let line = format!(r#"{{"steps":[{{"sql":"{sql}","rows":{rows}}}]}}"#);
        parse(&line).unwrap().steps.remove(0)
    }

    fn row(value: &str) -> Row {
        vec![Some(value.as_bytes().to_vec())]
    }

    #[test]
    fn rows_have_an_order_where_the_statement_says_so() {
        let rows = r#"[[["i","1"]],[["i","2"]]]"#;
        let turned = [row("2"), row("1")];
        assert_eq!(of(rows, "SELECT a").differs_from(&turned), None);
        assert!(
            of(rows, "SELECT a ORDER BY 1")
                .differs_from(&turned)
                .is_some()
        );
        assert!(of(rows, "SELECT a").differs_from(&turned[..1]).is_some());
        let twice = [row("1"), row("1")];
        assert!(of(rows, "SELECT a").differs_from(&twice).is_some());
    }

    #[test]
    fn an_ok_has_its_rows() {
        let step = of(r#"[[["o","2 0"]]]"#, "INSERT");
        assert_eq!(step.differs_from_ok(2, 7), None);
        assert!(step.differs_from_ok(1, 0).is_some());
        assert!(
            of(r#"[[["i","1"],["i","2"]]]"#, "x")
                .differs_from_ok(0, 0)
                .is_some()
        );
        assert_eq!(of("null", "x").differs_from_ok(9, 9), None);
    }

    #[test]
    fn a_test_is_named_by_its_statement() {
        let unit = parse(r#"{"list":"L","name":"n","steps":[{"sql":" a\n b "}]}"#).unwrap();
        assert_eq!(unit.name_of(0), "L/n/0 a b");
        let unit = parse(r#"{"list":"L","name":"","steps":[{"sql":"a\u0000b"}]}"#).unwrap();
        assert_eq!(unit.name_of(0), "L/0 a?b");
        assert!(parse(r#"{"steps":[{"sql":"","rows":[[1]]}]}"#).is_err());
    }
}
