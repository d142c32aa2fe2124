//! ANALYZE TABLE .. UPDATE | DROP HISTOGRAM: histograms that somebody asked for, as MySQL shows them. Plans go by the
//! statistics that are made of every column.

use std::collections::BTreeMap;
use std::fmt::Write;

use base::SplitMix64;
use engine::{Histogram, IndexKind, KeyBound, ReadMode, RowBatch, ScanSpec, Session, TableDef};
use types::error::codes;
use types::{DataType, DateTime, SqlError, Value};

use sql_parser::ast::HistogramClause;

/// Buckets where none are asked for, and at most.
const BUCKETS: u64 = 100;
const BUCKETS_MAX: u64 = 1024;
/// Rows kept at most of a table.
const ROWS: usize = 100_000;
/// Characters of a text that count.
const CHARACTERS: usize = 42;

/// A line about a column: kind and text.
pub(super) type Line = (&'static str, String);

/// How many buckets are asked for.
///
/// # Errors
/// 1690: there are none of so many.
pub(super) fn buckets(clause: &HistogramClause) -> Result<u64, SqlError> {
    let buckets = clause.buckets.unwrap_or(BUCKETS);
    if !(1..=BUCKETS_MAX).contains(&buckets) {
        return Err(SqlError::new(
            codes::ER_DATA_OUT_OF_RANGE,
            "Number of buckets value is out of range in 'ANALYZE TABLE'".to_owned(),
        ));
    }
    Ok(buckets)
}

/// Carries out the clause for one table, in a statement that has begun; what there is to say of each column, by their names.
pub(super) async fn change(
    s: &mut Session,
    (schema, name): (&str, &str),
    clause: &HistogramClause,
) -> Result<BTreeMap<String, Line>, SqlError> {
    let t = s.open_to_read(schema, name).await?;
    let mut lines = BTreeMap::new();
    let mut columns = Vec::new();
    for asked in &clause.columns {
        let Some(c) = t.def.column(asked) else {
            let why = format!("The column '{asked}' does not exist.");
            lines.insert(asked.to_string(), ("Error", why));
            continue;
        };
        let column = &t.def.columns[c].name;
        let there = t.histograms().iter().any(|h| h.column == *column);
        let why = match clause.drop {
            true if !there => Some(format!(
                "No histogram statistics found for column '{column}' in table '{schema}.{name}'."
            )),
            true => None,
            false => refused(&t.def, c),
        };
        match why {
            Some(why) => {
                lines.insert(column.clone(), ("Error", why));
            }
            None if columns.contains(&c) => {}
            None => columns.push(c),
        }
    }
    let changed = match clause.drop {
        true => columns.iter().map(|_| String::new()).collect(),
        false => made(s, &t, &columns, buckets(clause)?).await?,
    };
    let mut all = Vec::new();
    for (c, json) in columns.into_iter().zip(changed) {
        let column = t.def.columns[c].name.clone();
        let what = if clause.drop { "removed" } else { "created" };
        let text = format!("Histogram statistics {what} for column '{column}'.");
        lines.insert(column.clone(), ("status", text));
        all.push(Histogram { column, json });
    }
    if !all.is_empty() {
        s.set_histograms(&t, all).await?;
    }
    Ok(lines)
}

/// Why a column can have no histogram.
fn refused(def: &TableDef, c: usize) -> Option<String> {
    let column = &def.columns[c];
    if matches!(column.ty, DataType::Json) {
        let name = &column.name;
        return Some(format!("The column '{name}' has an unsupported data type."));
    }
    let alone = |x: &engine::IndexDef| {
        matches!(x.kind, IndexKind::Primary | IndexKind::Unique)
            && x.parts.len() == 1
            && usize::from(x.parts[0].column) == c
    };
    def.indexes.iter().any(alone).then(|| {
        format!(
            "The column '{}' is covered by a single-part unique index.",
            column.name
        )
    })
}

/// The histograms of columns as text, of all rows or of a sample.
async fn made(
    s: &mut Session,
    t: &std::sync::Arc<engine::Table>,
    columns: &[usize],
    buckets: u64,
) -> Result<Vec<String>, SqlError> {
    if columns.is_empty() {
        return Ok(Vec::new());
    }
    let spec = ScanSpec {
        index: 0,
        lower: KeyBound::None,
        upper: KeyBound::None,
        backward: false,
        mode: ReadMode::Consistent,
    };
    let mut scan = s.scan(t, spec);
    let mut batch = RowBatch::new();
    let mut random = SplitMix64::new(t.def.id.into());
    let (mut seen, mut kept): (u64, Vec<Vec<Value>>) = (0, Vec::new());
    loop {
        batch.clear();
        let more = s
            .next_batch(&mut scan, &mut batch, 256, &mut |_| Ok(true))
            .await?;
        for i in 0..batch.len() {
            seen += 1;
            // Each row has the same chance to be among those kept (Vitter's algorithm R).
            let at = match kept.len() < ROWS {
                true => kept.len(),
                false => random.below(seen) as usize,
            };
            if at >= ROWS {
                continue;
            }
            let row = columns
                .iter()
                .map(|c| shortened(batch.row(i).column(*c).to_owned()));
            let row = row.collect();
            match at == kept.len() {
                true => kept.push(row),
                false => kept[at] = row,
            }
        }
        if !more {
            break;
        }
    }
    let rate = kept.len() as f64 / seen.max(1) as f64;
    let rate = if seen == 0 { 1.0 } else { rate };
    let now = s.engine().environment().clock.wall_us();
    let now = DateTime::from_unix_micros(now, 6).map_or(String::new(), |d| d.to_string());
    Ok(columns
        .iter()
        .enumerate()
        .map(|(i, c)| {
            let def = &t.def.columns[*c];
            let mut values: BTreeMap<Box<[u8]>, (Value, u64)> = BTreeMap::new();
            let mut nulls = 0;
            for row in &kept {
                match engine::column_key(def, row[i].as_ref()) {
                    None => nulls += 1,
                    Some(key) => values.entry(key).or_insert((row[i].clone(), 0)).1 += 1,
                }
            }
            let of = Figures {
                ty: &def.ty,
                nulls,
                total: kept.len() as u64,
                rate,
                buckets,
            };
            of.json(values.into_values().collect(), &now)
        })
        .collect())
}

/// A value without what does not count of it.
fn shortened(v: Value) -> Value {
    match v {
        Value::Str(mut b, collation) => {
            let n = collation.charset().offset_of_char(&b, CHARACTERS);
            b.truncate(n);
            Value::Str(b, collation)
        }
        Value::Bytes(mut b) => {
            b.truncate(CHARACTERS);
            Value::Bytes(b)
        }
        v => v,
    }
}

/// What a histogram is made from, besides the values.
struct Figures<'a> {
    ty: &'a DataType,
    nulls: u64,
    total: u64,
    rate: f64,
    buckets: u64,
}

impl Figures<'_> {
    /// The text, its members in MySQL's order.
    fn json(&self, values: Vec<(Value, u64)>, now: &str) -> String {
        let total = self.total.max(1) as f64;
        let singleton = values.len() as u64 <= self.buckets;
        let mut o = String::from("{\"buckets\": [");
        let mut sum = 0;
        let mut first = true;
        let mut bucket = |o: &mut String, low: &Value, high: Option<&Value>, sum: u64, n: usize| {
            if !std::mem::take(&mut first) {
                o.push_str(", ");
            }
            o.push('[');
            write_value(low, o);
            if let Some(high) = high {
                o.push_str(", ");
                write_value(high, o);
            }
            // Writing to a String does not fail.
            let _ = write!(o, ", {:?}", sum as f64 / total);
            if high.is_some() {
                let _ = write!(o, ", {n}");
            }
            o.push(']');
        };
        if singleton {
            for (v, n) in &values {
                sum += n;
                bucket(&mut o, v, None, sum, 1);
            }
        } else {
            let all: u64 = values.iter().map(|(_, n)| n).sum();
            let (mut from, mut done) = (0, 0);
            for (i, (_, n)) in values.iter().enumerate() {
                sum += n;
                let wanted = (done + 1) * all / self.buckets;
                if sum >= wanted || i + 1 == values.len() {
                    bucket(
                        &mut o,
                        &values[from].0,
                        Some(&values[i].0),
                        sum,
                        i + 1 - from,
                    );
                    from = i + 1;
                    done = (sum * self.buckets / all).max(done + 1);
                }
            }
        }
        let (kind, collation) = self.kind();
        let shape = if singleton {
            "singleton"
        } else {
            "equi-height"
        };
        let _ = write!(
            o,
            "], \"data-type\": \"{kind}\", \"null-values\": {:?}, \"collation-id\": {collation}, \
             \"last-updated\": \"{now}\", \"sampling-rate\": {:?}, \"histogram-type\": \"{shape}\", \
             \"number-of-buckets-specified\": {}}}",
            self.nulls as f64 / total,
            self.rate,
            self.buckets
        );
        o
    }

    /// The type as histograms name it, and the number of its collation.
    fn kind(&self) -> (&'static str, u16) {
        let kind = match self.ty {
            DataType::Int { unsigned: true, .. } | DataType::Bit(_) => "uint",
            DataType::Int { .. } | DataType::Year => "int",
            DataType::Float { .. } | DataType::Double { .. } => "double",
            DataType::Decimal { .. } => "decimal",
            DataType::Date => "date",
            DataType::Time(_) => "time",
            DataType::DateTime(_) | DataType::Timestamp(_) => "datetime",
            DataType::Enum(_) => "enum",
            DataType::Set(_) => "set",
            _ => "string",
        };
        let collation = match self.ty.is_character() {
            true => self.ty.collation(),
            false => types::CollationId::LATIN1_SWEDISH_CI,
        };
        (kind, collation.0)
    }
}

/// A value as JSON.
fn write_value(v: &Value, o: &mut String) {
    let mut text = Vec::new();
    types::convert::write_value(v.as_ref(), &mut text);
    match v {
        Value::Str(b, _) | Value::Bytes(b) => {
            o.push_str("\"base64:type254:");
            write_base64(b, o);
            o.push('"');
        }
        Value::Enum(n, _) => {
            let _ = write!(o, "{n}");
        }
        Value::Set(n, _) | Value::Bit(n, _) => {
            let _ = write!(o, "{n}");
        }
        Value::Date(_) | Value::Time(_) | Value::DateTime(_) => {
            let _ = write!(o, "\"{}\"", String::from_utf8_lossy(&text));
        }
        _ => o.push_str(&String::from_utf8_lossy(&text)),
    }
}

fn write_base64(bytes: &[u8], o: &mut String) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for chunk in bytes.chunks(3) {
        let n = chunk.iter().fold(0u32, |n, b| n << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
        for i in 0..4 {
            o.push(match i <= chunk.len() {
                true => char::from(DIGITS[(n >> (18 - 6 * i) & 63) as usize]),
                false => '=',
            });
        }
    }
}
