//! EXPLAIN in MySQL's table form: one row for each table in the order it is read, subqueries and union arms after.

use engine::Table;
use types::{CollationId, DataType, SqlError, Value};

use super::TableSource;
use super::tree::{Access, Block, Explained, KeyExpr, PlanBody, QueryPlan, RangeAccess, Step};
use super::{json_form, shape, tree_form, words};
use crate::bind::from::NestKind;
use crate::bind::tree::{Body, ExplainForm, InsertRows};
use crate::sink::ColumnMeta;
use sql_expr::Node;

/// The rows of an EXPLAIN so far.
#[derive(Default)]
struct Listing {
    rows: Vec<Vec<Value>>,
    next_id: u64,
}

/// What a row says about a table.
#[derive(Default)]
pub(super) struct Line {
    table: Option<String>,
    pub access: Option<&'static str>,
    pub possible: Option<String>,
    pub key: Option<String>,
    /// The columns of the key that are used.
    pub parts: Vec<String>,
    pub key_len: Option<String>,
    pub reference: Option<String>,
    pub rows: Option<u64>,
    pub filtered: Option<f64>,
    extra: Vec<&'static str>,
}

/// The rows that EXPLAIN shows of a plan.
///
/// # Errors
/// 1235 for what has no such rows.
fn rows(body: &PlanBody) -> Result<Vec<Vec<Value>>, SqlError> {
    let mut list = Listing::default();
    match body {
        PlanBody::Query(q) => {
            let kind = if is_simple(q) { "SIMPLE" } else { "PRIMARY" };
            list.query(q, kind);
        }
        PlanBody::Insert(plan) => {
            let verb = if plan.replace { "REPLACE" } else { "INSERT" };
            list.next_id += 1;
            let line = Line {
                table: Some(plan.table.def.name.clone()),
                access: Some("ALL"),
                ..Line::default()
            };
            list.add(Some(1), verb, line);
            if let InsertRows::Query(q) = &plan.source {
                list.next_id = 0;
                list.query(q, "SIMPLE");
            }
        }
        PlanBody::Update(u) => list.block(&u.block, "UPDATE"),
        PlanBody::Delete(d) => list.block(&d.block, "DELETE"),
        _ => return Err(SqlError::not_supported("EXPLAIN of this statement")),
    }
    Ok(list.rows)
}

/// What EXPLAIN shows of a plan that yields `columns`.
///
/// # Errors
/// 1235 for what cannot be shown so.
pub(crate) fn shown(
    body: PlanBody,
    form: ExplainForm,
    columns: &[ColumnMeta],
) -> Result<Explained, SqlError> {
    let unknown = || SqlError::not_supported("EXPLAIN of this statement");
    let text = |t: Option<String>| {
        let t = t.ok_or_else(unknown)?;
        Ok::<_, SqlError>(vec![vec![Value::text(&t)]])
    };
    let rows = match form {
        ExplainForm::Table => rows(&body)?,
        ExplainForm::Tree => text(tree_form::text(&body, None))?,
        ExplainForm::Json => text(json_form::text(&body))?,
        ExplainForm::Analyze => {
            return Ok(Explained {
                analyzed: Some(body),
                ..Explained::default()
            });
        }
    };
    Ok(Explained {
        rows,
        note: words::statement(&body, columns),
        analyzed: None,
    })
}

/// The columns of EXPLAIN.
pub(crate) fn columns(form: ExplainForm) -> Vec<ColumnMeta> {
    if form != ExplainForm::Table {
        let ty = DataType::varchar(4096, CollationId::DEFAULT);
        return vec![ColumnMeta::computed("EXPLAIN", ty, true)];
    }
    let words = |n| DataType::varchar(n, CollationId::DEFAULT);
    [
        ("id", DataType::UBIGINT, true),
        ("select_type", words(19), false),
        ("table", words(64), true),
        ("partitions", words(1024), true),
        ("type", words(10), true),
        ("possible_keys", words(4096), true),
        ("key", words(64), true),
        ("key_len", words(4096), true),
        ("ref", words(2048), true),
        ("rows", DataType::UBIGINT, true),
        (
            "filtered",
            DataType::Double {
                unsigned: false,
                digits: Some((4, 2)),
            },
            true,
        ),
        ("Extra", words(255), true),
    ]
    .into_iter()
    .map(|(name, ty, nullable)| ColumnMeta::computed(name, ty, nullable))
    .collect()
}

fn is_simple(q: &QueryPlan) -> bool {
    match &q.body {
        Body::Block(b) => b.subqueries.is_empty() && b.derived.is_empty(),
        Body::Rows(_, s) => s.is_empty(),
        Body::Set(_, arms) => arms.is_empty(),
    }
}

impl Listing {
    fn add(&mut self, id: Option<u64>, kind: &str, line: Line) {
        let words = |s: Option<String>| s.map_or(Value::Null, |s| Value::text(&s));
        let extra = (!line.extra.is_empty()).then(|| line.extra.join("; "));
        self.rows.push(vec![
            id.map_or(Value::Null, Value::UInt),
            Value::text(kind),
            words(line.table),
            Value::Null,
            line.access.map_or(Value::Null, Value::text),
            words(line.possible),
            words(line.key),
            words(line.key_len),
            words(line.reference),
            line.rows.map_or(Value::Null, Value::UInt),
            line.filtered.map_or(Value::Null, Value::Double),
            words(extra),
        ]);
    }

    /// The number of a block; the next one where the statement does not have it.
    fn number(&mut self, own: u32) -> u64 {
        let n = match own {
            0 => self.next_id + 1,
            n => u64::from(n),
        };
        self.next_id = self.next_id.max(n);
        n
    }

    fn query(&mut self, q: &QueryPlan, kind: &str) {
        match &q.body {
            Body::Block(b) => self.block(b, kind),
            Body::Rows(_, _) => {
                self.next_id += 1;
                let line = Line {
                    extra: vec!["No tables used"],
                    ..Line::default()
                };
                self.add(Some(self.next_id), kind, line);
            }
            Body::Set(first, arms) => {
                let number = |list: &Listing, q: &QueryPlan| match shape::number(q) {
                    0 => list.next_id + 1,
                    n => u64::from(n),
                };
                let mut names = vec![number(self, first)];
                self.query(first, kind);
                for a in arms {
                    names.push(number(self, &a.query));
                    self.query(&a.query, "UNION");
                }
                let temporary = arms.iter().any(|a| !a.all) || !q.order.is_empty();
                if temporary && !arms.is_empty() {
                    let list: Vec<String> = names.iter().map(u64::to_string).collect();
                    let mut extra = vec!["Using temporary"];
                    if !q.order.is_empty() {
                        extra.push("Using filesort");
                    }
                    let line = Line {
                        table: Some(format!("<union{}>", list.join(","))),
                        access: Some("ALL"),
                        extra,
                        ..Line::default()
                    };
                    self.add(None, "UNION RESULT", line);
                }
            }
        }
    }

    fn block(&mut self, b: &Block, kind: &str) {
        let id = self.number(b.number);
        let impossible = shape::is_impossible(b);
        let mut pending: Vec<(u64, usize)> = Vec::new();
        if b.steps.is_empty() || impossible {
            let extra = if impossible {
                "Impossible WHERE"
            } else {
                "No tables used"
            };
            let line = Line {
                extra: vec![extra],
                ..Line::default()
            };
            self.add(Some(id), kind, line);
        } else {
            for (i, s) in b.steps.iter().enumerate() {
                let mut line = describe(b, s, i);
                if let TableSource::Derived(n) = b.tables[usize::from(s.table)].source {
                    let number = match shape::number(&b.derived[n as usize]) {
                        0 => self.next_id + 1 + u64::from(n),
                        n => u64::from(n),
                    };
                    line.table = Some(format!("<derived{number}>"));
                    pending.push((number, n as usize));
                }
                if i + 1 == b.steps.len() && !b.weedout.is_empty() {
                    line.extra.push("Duplicates weeded out");
                }
                if i == 0 {
                    if b.group.as_ref().is_some_and(|g| !g.keys.is_empty())
                        || (b.distinct && !b.order.is_empty())
                    {
                        line.extra.push("Using temporary");
                    }
                    if !b.order.is_empty() {
                        line.extra.push("Using filesort");
                    }
                }
                self.add(Some(id), kind, line);
            }
        }
        pending.sort_unstable();
        for (_, n) in pending {
            self.query(&b.derived[n], "DERIVED");
        }
        for s in &b.subqueries {
            let kind = if s.correlated {
                "DEPENDENT SUBQUERY"
            } else {
                "SUBQUERY"
            };
            self.query(&s.query, kind);
        }
    }
}

pub(super) fn describe(b: &Block, s: &Step, place: usize) -> Line {
    let t = &b.tables[usize::from(s.table)];
    let mut line = Line {
        table: Some(t.alias.to_string()),
        rows: Some(s.rows.round().max(1.0) as u64),
        ..Line::default()
    };
    let late = !s.late.is_empty() || s.nests.iter().any(|n| !n.after.is_empty());
    let checked = s.filter.len() + s.probe.len();
    line.filtered = Some(filtered(b, s, place, checked));
    let mut used_where = checked > 0 || late;
    match (&t.source, &s.access) {
        (TableSource::Engine(table), access) => match access {
            Access::Full { index: 0, .. } => line.access = Some("ALL"),
            Access::Full { index, .. } => {
                line.access = Some("index");
                line.key = Some(table.def.indexes[*index].name.clone());
                line.key_len = Some(key_len(table, *index, usize::MAX).to_string());
            }
            Access::Get(keys) => {
                let constant = keys.iter().all(|k| !k.expr.reads_row());
                line.access = Some(if constant { "const" } else { "eq_ref" });
                named(&mut line, table, 0, keys.len());
                line.reference = Some(references(keys));
            }
            Access::Range(r) => {
                range(&mut line, table, r);
                used_where |= line.access == Some("range");
            }
            Access::Union(arms) => {
                let mut names: Vec<&str> = Vec::new();
                for arm in arms {
                    let name = &*table.def.indexes[arm.index].name;
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
                line.access = Some("index_merge");
                line.key = Some(names.join(","));
                line.possible.clone_from(&line.key);
                line.extra.push("Using union");
            }
            Access::Nothing => line.access = Some("NULL"),
        },
        _ => line.access = Some("ALL"),
    }
    if s.at_most.is_some() {
        line.rows = Some(1);
    }
    if used_where {
        line.extra.push("Using where");
    }
    if s.cover.is_some() {
        line.extra.push("Using index");
    }
    for n in &s.nests {
        match n.kind {
            NestKind::Outer => {}
            NestKind::Semi => line.extra.push("FirstMatch"),
            NestKind::Anti => line.extra.push("Not exists"),
        }
    }
    if let (Some(keys), true) = (&s.buffer, place > 0) {
        line.extra.push(if keys.is_empty() {
            "Using join buffer (Block Nested Loop)"
        } else {
            "Using join buffer (hash join)"
        });
    }
    line
}

/// The share of the rows read that its conditions leave, in percent.
fn filtered(b: &Block, s: &Step, place: usize, checked: usize) -> f64 {
    if checked == 0 && s.late.is_empty() {
        return 100.0;
    }
    let before = match place {
        0 => 1.0,
        _ => b.steps[place - 1].out,
    };
    let joined = s.nests.iter().all(|n| n.kind == NestKind::Outer);
    let share = if joined && s.out > 0.0 {
        100.0 * s.out / (before * s.rows).max(1e-9)
    } else {
        // MySQL guesses a third for a condition that it knows nothing about.
        100.0 / 3.0f64.powi(checked.min(4) as i32)
    };
    (share.clamp(0.01, 100.0) * 100.0).round() / 100.0
}

fn range(line: &mut Line, table: &Table, r: &RangeAccess) {
    let def = &table.def.indexes[r.index];
    let bounded = r.is_bounded();
    if !bounded && r.prefix.is_empty() {
        line.access = Some("index");
        line.key = Some(def.name.clone());
        line.key_len = Some(key_len(table, r.index, usize::MAX).to_string());
        return;
    }
    named(line, table, r.index, r.parts());
    if bounded {
        line.access = Some("range");
        return;
    }
    let unique = table.is_unique(r.index) && r.prefix.len() == def.parts.len();
    let constant = r.prefix.iter().all(|k| !k.expr.reads_row());
    line.access = Some(match (unique, constant) {
        (true, true) => "const",
        (true, false) => "eq_ref",
        _ => "ref",
    });
    line.reference = Some(references(&r.prefix));
}

fn named(line: &mut Line, table: &Table, index: usize, parts: usize) {
    let name = &table.def.indexes[index].name;
    line.possible = Some(name.clone());
    line.key = Some(name.clone());
    line.key_len = Some(key_len(table, index, parts).to_string());
    let used = table.def.indexes[index].parts.iter().take(parts);
    let column = |p: &engine::IndexPart| table.def.columns[usize::from(p.column)].name.clone();
    line.parts = used.map(column).collect();
}

fn references(keys: &[KeyExpr]) -> String {
    let names: Vec<String> = keys
        .iter()
        .map(|k| match &k.expr.node {
            Node::Column(c) => c.name.to_string(),
            _ if k.expr.reads_row() => "func".to_owned(),
            _ => "const".to_owned(),
        })
        .collect();
    names.join(",")
}

/// Bytes of the leading parts of an index, as MySQL counts them.
fn key_len(table: &Table, index: usize, parts: usize) -> u64 {
    let def = &table.def.indexes[index];
    def.parts
        .iter()
        .take(parts)
        .map(|p| {
            let c = &table.def.columns[usize::from(p.column)];
            let null = u64::from(c.nullable);
            let width = c.ty.collation().charset().max_len() as u64;
            let bytes = match &c.ty {
                DataType::VarChar { chars, .. } => {
                    let n = if p.prefix > 0 { p.prefix } else { *chars };
                    u64::from(n) * width + 2
                }
                DataType::Char { chars, .. } => {
                    let n = if p.prefix > 0 { p.prefix } else { *chars };
                    u64::from(n) * width
                }
                DataType::VarBinary(n) => u64::from(if p.prefix > 0 { p.prefix } else { *n }) + 2,
                DataType::Text { .. } | DataType::Blob(_) => u64::from(p.prefix) * width + 2,
                ty => ty.max_bytes(),
            };
            bytes + null
        })
        .sum()
}
