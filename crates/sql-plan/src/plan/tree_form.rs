//! EXPLAIN FORMAT=TREE: the plan as a tree of operations, each with what is expected of it; and with what it did, for EXPLAIN ANALYZE.

mod operators;

use std::fmt::Write;

use super::TableSource;
use super::access_words::{equal, join_name, limit_text, materialize_text, range_text, sort_text};
use super::block::Block;
use super::op::{Access, Grouping, RangeAccess, Step};
use super::shape::{self, Nest, Part};
use super::tally::{Count, Place, Tally};
use super::tree::{PlanBody, QueryPlan, SubPlan};
use super::words::{InBlock, bare};
use crate::bind::nests::NestKind;
use crate::bind::subqueries_of;
use crate::bind::tree::{Body, InsertRows};
use sql_expr::{Expr, Node};
use sql_parser::ast::SetOp;

/// One line of the tree: an operation.
#[derive(Default)]
struct Entry {
    text: String,
    /// Cost and rows each time.
    expected: Option<(f64, f64)>,
    done: Done,
    inputs: Vec<Entry>,
}

/// What is known of what an operation did.
#[derive(Default)]
enum Done {
    /// Nobody counts that, or nobody counted.
    #[default]
    Untold,
    /// It never began.
    Never,
    Counted(Count),
}

impl Entry {
    fn new(text: impl Into<String>, inputs: Vec<Entry>) -> Entry {
        Entry {
            text: text.into(),
            inputs,
            ..Entry::default()
        }
    }

    /// With the same expectation as its input.
    fn over(text: impl Into<String>, input: Entry) -> Entry {
        Entry {
            expected: input.expected,
            ..Entry::new(text, vec![input])
        }
    }

    fn expect(mut self, cost: f64, rows: f64) -> Entry {
        self.expected = Some((cost, rows));
        self
    }

    fn done(mut self, done: Done) -> Entry {
        self.done = done;
        self
    }

    fn write(&self, depth: usize, out: &mut String) {
        let _ = write!(out, "{}-> {}", "    ".repeat(depth), self.text);
        if let Some((cost, rows)) = self.expected {
            let _ = write!(
                out,
                "  (cost={cost:.2} rows={})",
                if rows > 0.0 {
                    rows.round().max(1.0) as u64
                } else {
                    0
                }
            );
        }
        match self.done {
            Done::Untold => {}
            Done::Never => out.push_str(" (never executed)"),
            Done::Counted(c) => {
                let each = |n: u64| n as f64 / c.loops.max(1) as f64;
                let _ = write!(
                    out,
                    " (actual time={:.3}..{:.3} rows={} loops={})",
                    each(c.first) / 1000.0,
                    each(c.total) / 1000.0,
                    each(c.rows).round() as u64,
                    c.loops
                );
            }
        }
        out.push('\n');
        for i in &self.inputs {
            i.write(depth + 1, out);
        }
    }
}

/// The text of a plan; with `tally`, of what it did.
pub fn text(body: &PlanBody, tally: Option<&Tally>) -> Option<String> {
    let f = Former { tally };
    let ops = match body {
        PlanBody::Query(q) => f.query(q),
        PlanBody::Insert(i) => {
            let verb = if i.replace { "Replace" } else { "Insert" };
            let inputs = match &i.source {
                InsertRows::Query(q) => f.query(q),
                InsertRows::Values(_) => {
                    vec![Entry::new("Rows fetched before execution", Vec::new())]
                }
            };
            let mut inputs = inputs;
            f.subqueries(&i.subqueries, "in projection", &mut inputs);
            vec![Entry::new(
                format!("{verb} into {}", i.table.def.name),
                inputs,
            )]
        }
        PlanBody::Update(u) => {
            let how = if u.streaming { "immediate" } else { "buffered" };
            let names: Vec<String> = u
                .targets
                .iter()
                .map(|t| format!("{} ({how})", u.block.tables[usize::from(t.table)].alias))
                .collect();
            vec![Entry::new(
                format!("Update {}", names.join(", ")),
                f.block(&u.block),
            )]
        }
        PlanBody::Delete(d) => {
            let how = if d.streaming { "immediate" } else { "buffered" };
            let names: Vec<String> = d
                .targets
                .iter()
                .map(|t| format!("{} ({how})", d.block.tables[usize::from(*t)].alias))
                .collect();
            vec![Entry::new(
                format!("Delete from {}", names.join(", ")),
                f.block(&d.block),
            )]
        }
        _ => return None,
    };
    let mut out = String::new();
    for op in &ops {
        op.write(0, &mut out);
    }
    Some(out)
}

struct Former<'t> {
    tally: Option<&'t Tally>,
}

impl Former<'_> {
    fn counted(&self, b: &Block, place: Place) -> Done {
        match self.tally {
            None => Done::Untold,
            Some(t) => t.get(b, place).map_or(Done::Never, Done::Counted),
        }
    }

    /// The operations of a query: one, and its subqueries outside of conditions.
    fn query(&self, q: &QueryPlan) -> Vec<Entry> {
        match &q.body {
            Body::Block(b) => self.block(b),
            Body::Rows(rows, subs) => {
                let mut ops = vec![
                    Entry::new("Rows fetched before execution", Vec::new())
                        .expect(0.0, rows.len() as f64),
                ];
                self.subqueries(subs, "in projection", &mut ops);
                ops
            }
            // The table that is made of it says so: see `scan`.
            Body::Recursive(r) => {
                let members = r.members.iter().flat_map(|q| self.query(q));
                self.query(&r.seed).into_iter().chain(members).collect()
            }
            Body::Feed(_) | Body::Json(_) => Vec::new(),
            Body::Set(first, arms) => {
                let mut inputs = self.query(first);
                let mut all = true;
                let mut name = "Union";
                for a in arms {
                    inputs.extend(self.query(&a.query));
                    all &= a.all && a.op == SetOp::Union;
                    match a.op {
                        SetOp::Union => {}
                        SetOp::Except => name = "Except",
                        SetOp::Intersect => name = "Intersect",
                    }
                }
                let mut op = if arms.is_empty() {
                    Entry::new("Materialize", inputs)
                } else if all && q.order.is_empty() && q.limit.is_none() {
                    Entry::new("Append", inputs)
                } else if all {
                    Entry::new("Union all materialize", inputs)
                } else {
                    Entry::new(format!("{name} materialize with deduplication"), inputs)
                };
                if op.text != "Append" {
                    op = Entry::new("Table scan on <temporary>", vec![op]);
                }
                let order = |e: &Expr| bare(e);
                if !q.order.is_empty() {
                    op = Entry::over(sort_text(&q.order, &order, q.limit.as_ref()), op);
                }
                if let Some(l) = &q.limit {
                    op = Entry::over(limit_text(&l.count, l.offset.as_ref(), &order), op);
                }
                vec![op]
            }
        }
    }

    /// The operations of a block: one, and its subqueries outside of conditions.
    fn block(&self, b: &Block) -> Vec<Entry> {
        let mut shown: Vec<u32> = Vec::new();
        let mut entry = self.joins(b, &mut shown);
        for op in &b.ops {
            entry = self.operator(b, op, entry, &mut shown);
        }
        let mut done = self.counted(b, Place::Block);
        if let (Done::Counted(inner), Done::Counted(all)) = (&entry.done, &mut done) {
            // Its first row is that of the join that it is.
            all.first = inner.first.min(all.total);
        }
        entry.done = done;
        let mut entries = vec![entry];
        for (i, s) in b.subqueries.iter().enumerate() {
            if !shown.contains(&(i as u32)) {
                self.subquery(s, "in projection", &mut entries);
            }
        }
        entries
    }

    /// What makes the rows of a block.
    fn joins(&self, b: &Block, shown: &mut Vec<u32>) -> Entry {
        let mut entry = if shape::is_impossible(b) {
            Entry::new("Zero rows (Impossible WHERE)", Vec::new()).expect(0.0, 0.0)
        } else if b.join.steps.is_empty() {
            Entry::new("Rows fetched before execution", Vec::new()).expect(0.0, 1.0)
        } else {
            self.joined(b, &shape::parts(b), None, shown)
        };
        if !b.join.constant.is_empty() && !shape::is_impossible(b) {
            entry = self.filter(b, b.join.constant.iter(), entry, shown);
        }
        if b.join.weedout.is_empty() {
            return entry;
        }
        let name = |t: &u16| &*b.tables[usize::from(*t)].alias;
        let names: Vec<&str> = b.join.weedout.iter().map(name).collect();
        let names = match &names[..] {
            [one] => (*one).to_owned(),
            all => format!("({})", all.join(", ")),
        };
        let text = format!("Remove duplicate {names} rows using temporary table (weedout)");
        Entry::over(text, entry)
    }

    fn subqueries(&self, subs: &[SubPlan], place: &str, out: &mut Vec<Entry>) {
        subs.iter().for_each(|s| self.subquery(s, place, out));
    }

    fn subquery(&self, s: &SubPlan, place: &str, out: &mut Vec<Entry>) {
        let how = if s.correlated {
            "dependent"
        } else {
            "run only once"
        };
        let number = shape::number(&s.query);
        out.push(Entry::new(
            format!("Select #{number} (subquery {place}; {how})"),
            self.query(&s.query),
        ));
    }

    /// Conditions over an operation, with their subqueries.
    fn filter<'e>(
        &self,
        b: &Block,
        conds: impl Iterator<Item = &'e Expr>,
        input: Entry,
        shown: &mut Vec<u32>,
    ) -> Entry {
        let conds: Vec<&Expr> = conds.collect();
        if conds.is_empty() {
            return input;
        }
        let cx = InBlock::bare(b);
        let text = cx.all(conds.iter().copied());
        let text = match text.starts_with('(') && text.ends_with(')') {
            true => text,
            false => format!("({text})"),
        };
        let mut op = Entry::over(format!("Filter: {text}"), input);
        let mut used = Vec::new();
        conds.iter().for_each(|e| subqueries_of(e, &mut used));
        for i in used {
            if !shown.contains(&i) {
                shown.push(i);
                let sub = &b.subqueries[i as usize];
                self.subquery(sub, "in condition", &mut op.inputs);
            }
        }
        op
    }

    /// The parts of a block, left to right; `before` is what stands before them.
    fn joined(
        &self,
        b: &Block,
        parts: &[Part<'_>],
        before: Option<Entry>,
        shown: &mut Vec<u32>,
    ) -> Entry {
        let mut left = before;
        for p in parts {
            left = Some(match p {
                Part::Step(s) => self.step(b, *s, "inner", left, shown),
                Part::Nest(n) => self.nest(b, n, left, shown),
            });
        }
        left.unwrap_or_default()
    }

    fn nest(&self, b: &Block, n: &Nest<'_>, left: Option<Entry>, shown: &mut Vec<u32>) -> Entry {
        let kind = match n.kind {
            NestKind::Outer => "left",
            NestKind::Semi => "semi",
            NestKind::Anti => "anti",
        };
        let op = match &n.parts[..] {
            [Part::Step(s)] => self.step(b, *s, kind, left, shown),
            parts => {
                let right = self.joined(b, parts, None, shown);
                let inputs = left.into_iter().chain([right]).collect();
                let op = Entry::new(format!("Nested loop {}", join_name(kind)), inputs);
                self.out(b, n.first, n.last, op)
            }
        };
        self.filter(b, n.after.iter().map(|l| &l.expr), op, shown)
    }

    /// A join that ends at a step.
    fn out(&self, b: &Block, first: usize, last: usize, op: Entry) -> Entry {
        let s = &b.join.steps[last];
        let done = match self.counted(b, Place::Out(last as u16)) {
            Done::Counted(c) => {
                // It begins when its first table does, and takes what its tables take.
                let mut whole = c;
                let all = (0..=last).filter_map(|i| self.tally?.get(b, Place::Step(i as u16)));
                whole.total = all.map(|c| c.total).sum();
                let begin = self.tally.and_then(|t| t.get(b, Place::Step(0)));
                whole.loops = begin.map_or(1, |c| c.loops);
                whole.first = begin.map_or(0, |c| c.first);
                let _ = first;
                Done::Counted(whole)
            }
            other => other,
        };
        op.expect(s.cost, s.out).done(done)
    }

    /// A derived table that is made for one key at a time, behind what comes before.
    fn by_key(
        &self,
        b: &Block,
        at: usize,
        kind: &str,
        left: Option<Entry>,
        shown: &mut Vec<u32>,
    ) -> Entry {
        let s = &b.join.steps[at];
        let scan = self.scan(b, s);
        let scan = scan.done(self.counted(b, Place::Kept(at as u16)));
        let late = s.late.iter().map(|l| &l.expr);
        let conds = s.filter.iter().chain(&s.probe).chain(late);
        let leaf = self.filter(b, conds, scan, shown);
        let Some(left) = left else {
            return leaf;
        };
        let op = Entry::new(format!("Nested loop {}", join_name(kind)), vec![left, leaf]);
        self.out(b, at, at, op)
    }

    /// A table behind what comes before.
    fn step(
        &self,
        b: &Block,
        at: usize,
        kind: &str,
        left: Option<Entry>,
        shown: &mut Vec<u32>,
    ) -> Entry {
        let s = &b.join.steps[at];
        if s.lateral.is_some() {
            return self.by_key(b, at, kind, left, shown);
        }
        let cx = InBlock::bare(b);
        let (before, cost) = match at {
            0 => (1.0, 0.0),
            _ => (b.join.steps[at - 1].out.max(1.0), b.join.steps[at - 1].cost),
        };
        let kept = s.buffer.is_some() && at > 0;
        let loops = if kept { 1.0 } else { before };
        let own = ((s.cost - cost) / loops).max(0.0);
        let place = if kept {
            Place::Kept(at as u16)
        } else {
            Place::Step(at as u16)
        };
        let scan = self.scan(b, s).expect(own, s.rows);
        let looked = Place::Looked(at as u16);
        let filtered = !s.filter.is_empty() || (!kept && !s.late.is_empty());
        let scan = match filtered {
            false => scan.done(self.counted(b, place)),
            true if s.buffer.is_some() => scan,
            true => {
                let mut done = self.counted(b, looked);
                if let (Done::Counted(c), Some(t)) = (&mut done, self.tally) {
                    // It begins whenever its step does.
                    c.loops = t.get(b, place).map_or(1, |s| s.loops);
                }
                scan.done(done)
            }
        };
        let late = s.late.iter().map(|l| &l.expr);
        if !kept {
            let mut leaf = self.filter(b, s.filter.iter().chain(late), scan, shown);
            if filtered {
                leaf.expected = Some((own, (s.out / before).min(s.rows)));
                leaf.done = self.counted(b, place);
            }
            let Some(left) = left else {
                return leaf;
            };
            let op = Entry::new(format!("Nested loop {}", join_name(kind)), vec![left, leaf]);
            return self.out(b, at, at, op);
        }
        let mut build = self.filter(b, s.filter.iter(), scan, shown);
        if filtered {
            build.done = self.counted(b, place);
        }
        let Some(left) = left else {
            // The first of a nest of several: its kept rows are gone through.
            return self.filter(b, s.probe.iter().chain(late), build, shown);
        };
        let keys = s.buffer.as_deref().unwrap_or_default();
        let text =
            |k: &super::op::HashKey| format!("({} = {})", cx.text(&k.build), cx.text(&k.probe));
        let on: Vec<String> = keys.iter().map(text).collect();
        let on = match &on[..] {
            [] => "(no condition)".to_owned(),
            [one] => one.clone(),
            all => format!("({})", all.join(" and ")),
        };
        // What the hash says is not said again.
        let equal = |e: &Expr| match &e.node {
            Node::Compare(sql_expr::CmpOp::Eq, _, p) => keys.iter().any(|k| {
                let pair = (cx.text(&k.build), cx.text(&k.probe));
                let (x, y) = (cx.text(&p[0]), cx.text(&p[1]));
                pair == (x.clone(), y.clone()) || pair == (y, x)
            }),
            _ => false,
        };
        let rest: Vec<&Expr> = s.probe.iter().filter(|e| !equal(e)).collect();
        let begin = match kind {
            "inner" => "Inner hash join",
            "left" => "Left hash join",
            "semi" => "Hash semijoin",
            _ => "Hash antijoin",
        };
        let inputs = vec![left, Entry::new("Hash", vec![build])];
        let extra: Vec<&Expr> = rest.into_iter().chain(late).collect();
        if kind != "inner" && !extra.is_empty() {
            let more = cx.all(extra.iter().copied());
            let op = Entry::new(format!("{begin} {on}, extra conditions: {more}"), inputs);
            return self.out(b, at, at, op);
        }
        let op = self.out(b, at, at, Entry::new(format!("{begin} {on}"), inputs));
        self.filter(b, extra.into_iter(), op, shown)
    }

    /// How the rows of a step are found.
    fn scan(&self, b: &Block, s: &Step) -> Entry {
        let t = &b.tables[usize::from(s.table)];
        let name = &*t.alias;
        let table = match &t.source {
            TableSource::Engine(table) => table,
            TableSource::Virtual(_) => {
                return Entry::new(format!("Table scan on {name}"), Vec::new());
            }
            TableSource::Derived(_) if shape::is_fed(b, t) => {
                return Entry::new(format!("Scan new records on {name}"), Vec::new());
            }
            TableSource::Derived(_) if shape::json_rows(b, t).is_some() => {
                return Entry::new("Materialize table function", Vec::new());
            }
            TableSource::Derived(n) => {
                let q = &b.derived[*n as usize];
                let made = Entry::new(
                    materialize_text(q, name, s.lateral.is_some()),
                    self.query(q),
                );
                return Entry::new(format!("Table scan on {name}"), vec![made]);
            }
        };
        let cx = InBlock::bare(b);
        let text = |e: &Expr| cx.text(e);
        let reverse = |r: bool| if r { " (reverse)" } else { "" };
        let jumps = matches!(b.grouping().map(|g| g.how), Some(Grouping::Jump(_)));
        let jumping = "Covering index skip scan for grouping";
        let scan = match s.cover {
            _ if jumps => jumping,
            Some(_) => "Covering index scan",
            None => "Index scan",
        };
        match &s.access {
            Access::Full { index: 0, backward } => Entry::new(
                format!("Table scan on {name}{}", reverse(*backward)),
                Vec::new(),
            ),
            Access::Full { index, backward } => {
                let index = &table.def.indexes[*index].name;
                let text = format!("{scan} on {name} using {index}{}", reverse(*backward));
                Entry::new(text, Vec::new())
            }
            Access::Get(keys) => {
                let on = equal(table, 0, keys, &text).join(", ");
                let text = format!("Single-row index lookup on {name} using PRIMARY ({on})");
                Entry::new(text, Vec::new())
            }
            Access::Range(r) => {
                let def = &table.def.indexes[r.index];
                let (index, reverse) = (&def.name, reverse(r.backward));
                if r.prefix.is_empty() && !r.is_bounded() {
                    return Entry::new(
                        format!("{scan} on {name} using {index}{reverse}"),
                        Vec::new(),
                    );
                }
                if r.is_bounded() {
                    let over = range_text(table, r, &text);
                    let kind = match s.cover {
                        _ if jumps => jumping,
                        Some(_) => "Covering index range scan",
                        None => "Index range scan",
                    };
                    let text = format!("{kind} on {name} using {index} over {over}{reverse}");
                    return Entry::new(text, Vec::new());
                }
                let single = table.is_unique(r.index) && r.prefix.len() == def.parts.len();
                let kind = match (single, s.cover.is_some()) {
                    (true, true) => "Single-row covering index lookup",
                    (true, false) => "Single-row index lookup",
                    (false, true) => "Covering index lookup",
                    (false, false) => "Index lookup",
                };
                let on = equal(table, r.index, &r.prefix, &text).join(", ");
                Entry::new(
                    format!("{kind} on {name} using {index} ({on}){reverse}"),
                    Vec::new(),
                )
            }
            Access::Union(arms) => {
                let arm = |r: &RangeAccess| {
                    let index = &table.def.indexes[r.index].name;
                    let over = range_text(table, r, &text);
                    Entry::new(
                        format!("Index range scan on {name} using {index} over {over}"),
                        Vec::new(),
                    )
                };
                Entry::new(
                    "Deduplicate rows sorted by row ID",
                    arms.iter().map(arm).collect(),
                )
            }
            Access::Nothing => Entry::new("Zero rows", Vec::new()),
        }
    }
}
