//! EXPLAIN in MySQL's table form: one row for each table in the order it is read, subqueries and union arms after.

use types::{CollationId, DataType, IntWidth, SqlError, Value};

use super::TableSource;
use super::block::Block;
use super::lines::{Line, describe};
use super::op::{Grouping, Op};
use super::tree::{Explained, PlanBody, QueryPlan};
use super::{json_form, shape, tree_form, words};
use crate::bind::tree::{Body, ExplainForm, InsertRows};
use crate::sink::ColumnMeta;

/// The rows of an EXPLAIN so far.
#[derive(Default)]
struct Listing {
    rows: Vec<Vec<Value>>,
    next_id: u64,
    /// Some block has window functions.
    windowed: bool,
}

/// The rows that EXPLAIN shows of a plan, and whether there are window functions, which they say nothing of.
///
/// # Errors
/// 1235 for what has no such rows.
fn rows(body: &PlanBody) -> Result<(Vec<Vec<Value>>, bool), SqlError> {
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
    Ok((list.rows, list.windowed))
}

/// The rows of a form that does not run the plan, and whether they leave window functions out.
///
/// # Errors
/// 1235 for what has no such rows.
pub fn shown_as(body: &PlanBody, form: ExplainForm) -> Result<(Vec<Vec<Value>>, bool), SqlError> {
    let unknown = || SqlError::not_supported("EXPLAIN of this statement");
    let text = |t: Option<String>| {
        let t = t.ok_or_else(unknown)?;
        Ok((vec![vec![Value::text(&t)]], false))
    };
    match form {
        ExplainForm::Table => rows(body),
        ExplainForm::Tree | ExplainForm::Analyze => text(tree_form::text(body, None)),
        ExplainForm::Json => text(json_form::text(body)),
    }
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
    if form == ExplainForm::Analyze {
        return Ok(Explained {
            analyzed: Some(body),
            ..Explained::default()
        });
    }
    let (rows, windowed) = shown_as(&body, form)?;
    Ok(Explained {
        rows,
        note: words::statement(&body, columns),
        windowed,
        analyzed: None,
    })
}

/// The columns of EXPLAIN.
pub fn columns(form: ExplainForm) -> Vec<ColumnMeta> {
    if form != ExplainForm::Table {
        let ty = DataType::varchar(4096, CollationId::DEFAULT);
        return vec![ColumnMeta::computed("EXPLAIN", ty, true)];
    }
    let words = |n| DataType::varchar(n, CollationId::DEFAULT);
    let number = |digits| DataType::Int {
        width: IntWidth::Big,
        unsigned: true,
        zerofill: false,
        display: digits,
    };
    [
        ("id", number(3), true),
        ("select_type", words(19), false),
        ("table", words(64), true),
        ("partitions", words(1024), true),
        ("type", words(10), true),
        ("possible_keys", words(4096), true),
        ("key", words(64), true),
        ("key_len", words(4096), true),
        ("ref", words(2048), true),
        ("rows", number(10), true),
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
    .map(|(name, ty, nullable)| ColumnMeta::computed(name, ty, nullable).of_expression())
    .collect()
}

/// What the operators of a block keep rows for, and whether they sort them.
fn kept_or_sorted(b: &Block) -> impl Iterator<Item = &'static str> {
    let keeps = |op: &Op| match op {
        Op::Group(g) => {
            let by_hash = matches!(g.how, Grouping::Hashed | Grouping::Batches);
            by_hash && !g.plan.keys.is_empty()
        }
        Op::Window(_) => true,
        Op::Distinct(_) => !b.order().is_empty(),
        Op::Filter(_) | Op::Project(_) | Op::Sort(_) | Op::Limit(_) => false,
    };
    let sorts = |op: &Op| match op {
        Op::Group(g) => g.how == Grouping::Rollup,
        Op::Window(w) => w.sorts(),
        Op::Sort(s) => !s.given,
        Op::Filter(_) | Op::Project(_) | Op::Distinct(_) | Op::Limit(_) => false,
    };
    let kept = b.ops.iter().any(keeps).then_some("Using temporary");
    let sorted = b.ops.iter().any(sorts).then_some("Using filesort");
    kept.into_iter().chain(sorted)
}

fn is_simple(q: &QueryPlan) -> bool {
    match &q.body {
        Body::Block(b) => {
            let is_query = |q: &QueryPlan| !matches!(q.body, Body::Json(_));
            b.subqueries.is_empty() && !b.derived.iter().any(is_query)
        }
        Body::Rows(_, s) => s.is_empty(),
        Body::Set(_, arms) => arms.is_empty(),
        Body::Recursive(_) | Body::Feed(_) | Body::Json(_) => false,
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
            Body::Recursive(r) => {
                self.query(&r.seed, kind);
                r.members.iter().for_each(|q| self.query(q, "UNION"));
            }
            Body::Feed(_) | Body::Json(_) => {}
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
        self.windowed |= b.windows().is_some();
        let impossible = shape::is_impossible(b);
        let mut pending: Vec<(u64, usize)> = Vec::new();
        if b.join.steps.is_empty() || impossible {
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
            for (i, s) in b.join.steps.iter().enumerate() {
                let mut line = describe(b, s, i);
                let t = &b.tables[usize::from(s.table)];
                if shape::is_fed(b, t) {
                    line.extra.insert(0, "Recursive");
                } else if shape::json_rows(b, t).is_some() {
                    let words = ["Table function: json_table", "Using temporary"];
                    line.extra.splice(..0, words);
                } else if let TableSource::Derived(n) = t.source {
                    let number = match shape::number(&b.derived[n as usize]) {
                        0 => self.next_id + 1 + u64::from(n),
                        n => u64::from(n),
                    };
                    line.table = Some(format!("<derived{number}>"));
                    pending.push((number, n as usize));
                }
                if i + 1 == b.join.steps.len() && !b.join.weedout.is_empty() {
                    line.extra.push("Duplicates weeded out");
                }
                if i == 0 {
                    line.extra.extend(kept_or_sorted(b));
                }
                self.add(Some(id), kind, line);
            }
        }
        pending.sort_unstable();
        for (_, n) in pending {
            self.query(&b.derived[n], shape::derived_kind(b, n));
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
