//! EXPLAIN FORMAT=JSON, in the shape of MySQL 8.0's first version of it.

use std::fmt::Write;

use super::TableSource;
use super::block::Block;
use super::lines::{Line, describe};
use super::op::window::Stage;
use super::op::{Grouping, Op, Step};
use super::shape;
use super::tree::{PlanBody, QueryPlan, SubPlan};
use super::window_words;
use super::words::{InBlock, of_step};
use crate::bind::nests::NestKind;
use crate::bind::subqueries_of;
use crate::bind::tree::{Body, InsertRows, SortKey};
use sql_expr::{Expr, Node};

/// A JSON value whose members keep their order.
enum Json {
    Text(String),
    Number(u64),
    Bool(bool),
    List(Vec<Json>),
    Object(Vec<(&'static str, Json)>),
}

impl Json {
    fn text(s: impl Into<String>) -> Json {
        Json::Text(s.into())
    }

    fn write(&self, depth: usize, out: &mut String) {
        let indent = |depth: usize| "  ".repeat(depth);
        match self {
            Json::Text(s) => write_text(s, out),
            Json::Number(n) => {
                let _ = write!(out, "{n}");
            }
            Json::Bool(b) => {
                let _ = write!(out, "{b}");
            }
            Json::List(all) => {
                out.push('[');
                for (i, x) in all.iter().enumerate() {
                    out.push_str(if i == 0 { "\n" } else { ",\n" });
                    out.push_str(&indent(depth + 1));
                    x.write(depth + 1, out);
                }
                let _ = write!(out, "\n{}]", indent(depth));
            }
            Json::Object(all) => {
                out.push('{');
                for (i, (name, x)) in all.iter().enumerate() {
                    out.push_str(if i == 0 { "\n" } else { ",\n" });
                    let _ = write!(out, "{}\"{name}\": ", indent(depth + 1));
                    x.write(depth + 1, out);
                }
                let _ = write!(out, "\n{}}}", indent(depth));
            }
        }
    }
}

fn write_text(s: &str, out: &mut String) {
    out.push('"');
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

type Members = Vec<(&'static str, Json)>;

/// The text of a plan.
pub(crate) fn text(body: &PlanBody) -> Option<String> {
    let members = match body {
        PlanBody::Query(q) => query(q),
        PlanBody::Insert(i) => {
            let table = vec![
                (
                    if i.replace { "replace" } else { "insert" },
                    Json::Bool(true),
                ),
                ("select_id", Json::Number(1)),
                ("table_name", Json::text(i.table.def.name.as_str())),
                ("access_type", Json::text("ALL")),
            ];
            let mut members = vec![
                ("select_id", Json::Number(1)),
                ("table", Json::Object(table)),
            ];
            if let InsertRows::Query(q) = &i.source {
                members.push(("insert_from", Json::Object(query(q))));
            }
            let subs: Vec<Json> = i.subqueries.iter().map(subquery).collect();
            if !subs.is_empty() {
                members.push(("insert_values_subqueries", Json::List(subs)));
            }
            members
        }
        PlanBody::Update(u) => changes(&u.block, "update", u.targets.iter().map(|t| t.table)),
        PlanBody::Delete(d) => changes(&d.block, "delete", d.targets.iter().copied()),
        _ => return None,
    };
    let whole = Json::Object(vec![("query_block", Json::Object(members))]);
    let mut out = String::new();
    whole.write(0, &mut out);
    Some(out)
}

fn changes(b: &Block, word: &'static str, targets: impl Iterator<Item = u16>) -> Members {
    let targets: Vec<u16> = targets.collect();
    block(b, Some((word, &targets)))
}

fn query(q: &QueryPlan) -> Members {
    match &q.body {
        Body::Block(b) => block(b, None),
        Body::Rows(_, subs) => {
            let mut members = vec![("message", Json::text("No tables used"))];
            subqueries("select_list_subqueries", subs.iter(), &mut members);
            members
        }
        Body::Set(first, arms) if arms.is_empty() => query(first),
        Body::Recursive(r) => {
            let specification = |(q, recursive): (&QueryPlan, bool)| {
                let mut members = vec![
                    ("dependent", Json::Bool(q.lowest != u16::MAX)),
                    ("cacheable", Json::Bool(true)),
                ];
                if recursive {
                    members.insert(0, ("recursive", Json::Bool(true)));
                }
                members.push(("query_block", Json::Object(query(q))));
                Json::Object(members)
            };
            let members = r.members.iter().map(|q| (q, true));
            let all = std::iter::once((&r.seed, false)).chain(members);
            let result = vec![
                ("using_temporary_table", Json::Bool(true)),
                (
                    "query_specifications",
                    Json::List(all.map(specification).collect()),
                ),
            ];
            vec![("union_result", Json::Object(result))]
        }
        Body::Feed(_) | Body::Json(_) => Vec::new(),
        Body::Set(first, arms) => {
            let queries = || std::iter::once(&**first).chain(arms.iter().map(|a| &a.query));
            let temporary = arms.iter().any(|a| !a.all) || !q.order.is_empty();
            let mut result = vec![("using_temporary_table", Json::Bool(temporary))];
            if temporary {
                let numbers: Vec<String> =
                    queries().map(|q| shape::number(q).to_string()).collect();
                let name = format!("<union{}>", numbers.join(","));
                result.push(("table_name", Json::Text(name)));
                result.push(("access_type", Json::text("ALL")));
            }
            let specification = |q: &QueryPlan| {
                Json::Object(vec![
                    ("dependent", Json::Bool(q.lowest != u16::MAX)),
                    ("cacheable", Json::Bool(true)),
                    ("query_block", Json::Object(query(q))),
                ])
            };
            let all = queries().map(specification).collect();
            result.push(("query_specifications", Json::List(all)));
            let mut members = vec![("union_result", Json::Object(result))];
            if !q.order.is_empty() {
                members.insert(0, ("using_filesort", Json::Bool(true)));
                members = vec![("ordering_operation", Json::Object(members))];
            }
            members
        }
    }
}

fn figure(n: f64) -> Json {
    Json::Text(format!("{n:.2}"))
}

/// A block; with `changed`, one of which these tables are changed so.
fn block(b: &Block, changed: Option<(&'static str, &[u16])>) -> Members {
    let mut members: Members = Vec::new();
    if b.number != 0 {
        members.push(("select_id", Json::Number(u64::from(b.number))));
    }
    if b.join.steps.is_empty() || shape::is_impossible(b) {
        let message = match shape::is_impossible(b) {
            true => "Impossible WHERE",
            false => "No tables used",
        };
        members.push(("message", Json::text(message)));
        rest(b, &mut Vec::new(), &mut members);
        return members;
    }
    let cost = b.join.steps.last().map_or(0.0, |s| s.cost);
    members.push((
        "cost_info",
        Json::Object(vec![("query_cost", figure(cost))]),
    ));
    let mut shown: Vec<u32> = Vec::new();
    let mut tables: Vec<Json> = Vec::new();
    for at in 0..b.join.steps.len() {
        tables.push(table(b, at, changed, &mut shown));
    }
    let mut inner: Members = match tables.len() {
        1 => tables.into_iter().flat_map(unwrapped).collect(),
        _ => vec![("nested_loop", Json::List(tables))],
    };
    if !b.join.weedout.is_empty() {
        inner.insert(0, ("using_temporary_table", Json::Bool(true)));
        inner = vec![("duplicates_removal", Json::Object(inner))];
    }
    for op in &b.ops {
        inner = operator(b, op, inner);
    }
    members.append(&mut inner);
    rest(b, &mut shown, &mut members);
    members
}

/// What rows go through behind the joins.
fn operator(b: &Block, op: &Op, mut inner: Members) -> Members {
    let temporary = |made| ("using_temporary_table", Json::Bool(made));
    let sorted = |sorts| ("using_filesort", Json::Bool(sorts));
    let name = match op {
        Op::Group(g) if g.plan.keys.is_empty() => return inner,
        Op::Group(g) => {
            let hashes = matches!(g.how, Grouping::Hashed | Grouping::Batches);
            let sorts = g.how == Grouping::Rollup;
            inner.splice(0..0, [temporary(hashes), sorted(sorts)]);
            "grouping_operation"
        }
        Op::Window(_) => {
            inner.insert(0, ("windows", windows(b)));
            "windowing"
        }
        Op::Distinct(_) => {
            inner.insert(0, temporary(true));
            "duplicates_removal"
        }
        Op::Sort(s) => {
            inner.insert(0, sorted(!s.given));
            "ordering_operation"
        }
        Op::Filter(_) | Op::Project(_) | Op::Limit(_) => return inner,
    };
    vec![(name, Json::Object(inner))]
}

/// The windows of a block, in the order in which they are computed.
fn windows(b: &Block) -> Json {
    let Some(w) = b.windows() else {
        return Json::List(Vec::new());
    };
    let cx = InBlock::new(b);
    let one = |(n, s): (usize, &Stage)| {
        let window = &w.windows.windows[s.window];
        let mut m: Members = vec![
            ("name", Json::text(window.shown_name())),
            ("definition_position", Json::Number(window.position as u64)),
        ];
        if n == 0 || n + 1 < w.stages.len() {
            m.push(("using_temporary_table", Json::Bool(true)));
        }
        if s.sorts {
            let key = |k: &SortKey| {
                let desc = if k.desc { " desc" } else { "" };
                Json::Text(format!("{}{desc}", cx.text(&k.expr)))
            };
            m.push(("using_filesort", Json::Bool(true)));
            m.push(("filesort_key", Json::List(window.keys().map(key).collect())));
        }
        let (kept, again) = window_words::buffers(s);
        if kept {
            let buffer = vec![
                ("using_temporary_table", Json::Bool(true)),
                ("optimized_frame_evaluation", Json::Bool(!again)),
            ];
            m.push(("frame_buffer", Json::Object(buffer)));
        }
        let names = s.functions.iter().map(|f| Json::text(f.name()));
        m.push(("functions", Json::List(names.collect())));
        Json::Object(m)
    };
    Json::List(w.stages.iter().enumerate().map(one).collect())
}

fn unwrapped(j: Json) -> Members {
    match j {
        Json::Object(m) => m,
        _ => Vec::new(),
    }
}

/// The subqueries that no condition of a table has.
fn rest(b: &Block, shown: &mut Vec<u32>, members: &mut Members) {
    let having: Vec<&Expr> = b.having().into_iter().collect();
    let keys = b.sort().into_iter().flat_map(|s| &s.keys);
    let order: Vec<&Expr> = keys.map(|k| &k.expr).collect();
    let group: Vec<&Expr> = b.group().iter().flat_map(|g| &g.keys).collect();
    for (name, exprs) in [
        ("having_subqueries", having),
        ("group_by_subqueries", group),
        ("order_by_subqueries", order),
    ] {
        let mut used = Vec::new();
        exprs.iter().for_each(|e| subqueries_of(e, &mut used));
        used.retain(|i| !shown.contains(i));
        shown.extend(&used);
        let all = used.iter().map(|i| &b.subqueries[*i as usize]);
        subqueries(name, all, members);
    }
    let left = (0..b.subqueries.len()).filter(|i| !shown.contains(&(*i as u32)));
    let left: Vec<&SubPlan> = left.map(|i| &b.subqueries[i]).collect();
    subqueries("select_list_subqueries", left.into_iter(), members);
}

fn subqueries<'p>(
    name: &'static str,
    subs: impl Iterator<Item = &'p SubPlan>,
    members: &mut Members,
) {
    let all: Vec<Json> = subs.map(subquery).collect();
    if !all.is_empty() {
        members.push((name, Json::List(all)));
    }
}

fn subquery(s: &SubPlan) -> Json {
    Json::Object(vec![
        ("dependent", Json::Bool(s.correlated)),
        ("cacheable", Json::Bool(true)),
        ("query_block", Json::Object(query(&s.query))),
    ])
}

fn table(
    b: &Block,
    at: usize,
    changed: Option<(&'static str, &[u16])>,
    shown: &mut Vec<u32>,
) -> Json {
    let s = &b.join.steps[at];
    let t = &b.tables[usize::from(s.table)];
    let line: Line = describe(b, s, at);
    let mut m: Members = Vec::new();
    if let Some((word, targets)) = changed
        && targets.contains(&s.table)
    {
        m.push((word, Json::Bool(true)));
    }
    m.push(("table_name", Json::text(&*t.alias)));
    m.push(("access_type", Json::text(line.access.unwrap_or("ALL"))));
    let list = |s: &str| Json::List(s.split(',').map(Json::text).collect());
    if let Some(p) = &line.possible {
        m.push(("possible_keys", list(p)));
    }
    if let Some(k) = &line.key {
        m.push(("key", Json::text(k)));
        let parts: Vec<Json> = line.parts.iter().map(Json::text).collect();
        if !parts.is_empty() {
            m.push(("used_key_parts", Json::List(parts)));
        }
    }
    if let Some(n) = &line.key_len {
        m.push(("key_length", Json::text(n)));
    }
    if let Some(r) = &line.reference {
        m.push(("ref", list(r)));
    }
    let examined = line.rows.unwrap_or(1);
    m.push(("rows_examined_per_scan", Json::Number(examined)));
    let produced = s.out.round().max(1.0);
    m.push(("rows_produced_per_join", Json::Number(produced as u64)));
    m.push(("filtered", figure(line.filtered.unwrap_or(100.0))));
    if s.cover.is_some() {
        m.push(("using_index", Json::Bool(true)));
    }
    for n in &s.nests {
        match n.kind {
            NestKind::Outer => {}
            NestKind::Semi => {
                let first = &b.tables[usize::from(b.join.steps[usize::from(n.first)].table)];
                m.push(("first_match", Json::text(&*first.alias)));
            }
            NestKind::Anti => m.push(("not_exists", Json::Bool(true))),
        }
    }
    if let (Some(keys), true) = (&s.buffer, at > 0) {
        let how = if keys.is_empty() {
            "Block Nested Loop"
        } else {
            "hash join"
        };
        m.push(("using_join_buffer", Json::text(how)));
    }
    let function = shape::json_rows(b, t).is_some();
    if function {
        m.push(("table_function", Json::text("json_table")));
        m.push(("using_temporary_table", Json::Bool(true)));
    }
    let before = if at == 0 {
        0.0
    } else {
        b.join.steps[at - 1].cost
    };
    let eval = s.out * 0.1;
    let costs = vec![
        ("read_cost", figure((s.cost - before - eval).max(0.0))),
        ("eval_cost", figure(eval)),
        ("prefix_cost", figure(s.cost)),
    ];
    m.push(("cost_info", Json::Object(costs)));
    let columns = used_columns(b, s);
    if !columns.is_empty() {
        m.push((
            "used_columns",
            Json::List(columns.into_iter().map(Json::Text).collect()),
        ));
    }
    let conds: Vec<&Expr> = checked(s).collect();
    if !conds.is_empty() {
        let text = InBlock::new(b).all(conds.iter().copied());
        m.push(("attached_condition", Json::Text(text)));
    }
    let mut used = Vec::new();
    of_step(s).for_each(|e| subqueries_of(e, &mut used));
    used.retain(|i| !shown.contains(i));
    shown.extend(&used);
    subqueries(
        "attached_subqueries",
        used.iter().map(|i| &b.subqueries[*i as usize]),
        &mut m,
    );
    if let (TableSource::Derived(n), false) = (&t.source, shape::is_fed(b, t) || function) {
        let made = materialized(&b.derived[*n as usize], s.lateral.is_some());
        m.push(("materialized_from_subquery", Json::Object(made)));
    }
    Json::Object(vec![("table", Json::Object(m))])
}

/// How the rows of a derived table are made: as a whole, or for one key at a time.
fn materialized(q: &QueryPlan, by_key: bool) -> Members {
    vec![
        ("using_temporary_table", Json::Bool(true)),
        ("dependent", Json::Bool(q.lowest != u16::MAX || by_key)),
        ("cacheable", Json::Bool(!by_key)),
        ("query_block", Json::Object(query(q))),
    ]
}

/// The conditions that a step checks, beyond what its access implies.
fn checked(s: &Step) -> impl Iterator<Item = &Expr> {
    let late = s.late.iter().map(|l| &l.expr);
    let after = s.nests.iter().flat_map(|n| n.after.iter().map(|l| &l.expr));
    s.filter.iter().chain(&s.probe).chain(late).chain(after)
}

/// The columns of a step's table that the block reads, in the table's order.
fn used_columns(b: &Block, s: &Step) -> Vec<String> {
    let t = &b.tables[usize::from(s.table)];
    let mut read: Vec<u16> = Vec::new();
    let mut note = |e: &Expr| {
        e.walk(&mut |x| {
            if let Node::Column(c) = &x.node
                && c.slot == t.slot
            {
                read.push(c.ordinal);
            }
            true
        });
    };
    b.output().iter().chain(b.having()).for_each(&mut note);
    let keys = b.sort().into_iter().flat_map(|s| &s.keys);
    keys.for_each(|k| note(&k.expr));
    if let Some(w) = b.windows() {
        w.inputs.iter().for_each(&mut note);
    }
    if let Some(g) = b.group() {
        g.keys.iter().chain(&g.carried).for_each(&mut note);
        g.aggregates
            .iter()
            .flat_map(|a| &a.args)
            .for_each(&mut note);
    }
    for s in &b.join.steps {
        of_step(s).for_each(&mut note);
        s.access.each_key(&mut note);
        for n in &s.nests {
            n.after.iter().for_each(|l| note(&l.expr));
        }
    }
    let outer = b.subqueries.iter().flat_map(|s| &s.outer);
    let outer = outer.chain(b.windows().into_iter().flat_map(|w| &w.carried));
    read.extend(outer.filter(|(slot, _)| *slot == t.slot).map(|(_, c)| *c));
    read.sort_unstable();
    read.dedup();
    let name = |c: u16| {
        let at = usize::from(c);
        match t.source.shown_name(at) {
            Some(n) => n.to_owned(),
            None => t.columns.get(at).map_or(String::new(), |n| n.to_string()),
        }
    };
    read.into_iter()
        .map(name)
        .filter(|n| !n.is_empty())
        .collect()
}
