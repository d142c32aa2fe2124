//! A plan as the statement that it carries out: what EXPLAIN leaves for `SHOW WARNINGS`, and the conditions in its other forms. As in
//! MySQL's manual, "Extended EXPLAIN Output Format".

use std::fmt::Write;

use super::TableSource;
use super::block::{Block, TablePlan};
pub(crate) use super::in_block::{InBlock, quoted};
use super::op::Step;
use super::shape::{self, Nest, Part};
use super::tree::{PlanBody, QueryPlan};
use super::window_words;
use crate::bind::nests::NestKind;
use crate::bind::tree::{Assign, Body, InsertRows, InsertValue, LimitPlan, SortKey};
use crate::sink::ColumnMeta;
use sql_expr::{Expr, Surroundings, text_in};
use sql_parser::ast::SetOp;

impl Surroundings for InBlock<'_> {
    fn bare_names(&self) -> bool {
        self.bare
    }

    fn aggregate(&self, number: usize, out: &mut String) {
        let all = self.block.group().map(|g| &g.aggregates);
        if let Some(a) = all.and_then(|a| a.get(number)) {
            out.push_str(&self.aggregate_text(a));
        }
    }

    fn window(&self, number: usize, out: &mut String) {
        window_words::function(self.block, self, number, out);
    }

    fn subquery(&self, number: u32, out: &mut String) {
        let Some(s) = self.block.subqueries.get(number as usize) else {
            return;
        };
        if self.bare {
            let _ = write!(out, "(select #{})", shape::number(&s.query));
            return;
        }
        out.push('(');
        query(&s.query, &[], out);
        out.push(')');
    }
}

/// What stands in no block, as in FORMAT=TREE.
struct Bare;

impl Surroundings for Bare {
    fn bare_names(&self) -> bool {
        true
    }
}

/// The text of an expression over the columns of a set operation, for FORMAT=TREE.
pub(crate) fn bare(e: &Expr) -> String {
    text_in(e, &Bare)
}

/// The statement that a plan carries out.
pub(crate) fn statement(body: &PlanBody, columns: &[ColumnMeta]) -> Option<String> {
    let mut out = String::new();
    match body {
        PlanBody::Query(q) => {
            let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
            query(q, &names, &mut out);
        }
        PlanBody::Insert(i) => {
            let def = &i.table.def;
            let verb = if i.replace { "replace" } else { "insert" };
            let ignore = if i.ignore { "ignore " } else { "" };
            let _ = write!(
                out,
                "{verb} {ignore}into {}.{}",
                quoted(&def.schema),
                quoted(&def.name)
            );
            match &i.source {
                InsertRows::Query(q) => {
                    out.push(' ');
                    query(q, &[], &mut out);
                }
                InsertRows::Values(rows) => {
                    let value = |v: &InsertValue| match v {
                        InsertValue::Expr(e) => sql_expr::text(e),
                        InsertValue::Default => "default".to_owned(),
                    };
                    let row = |r: &Vec<InsertValue>| {
                        let all: Vec<String> = r.iter().map(value).collect();
                        format!("({})", all.join(","))
                    };
                    let rows: Vec<String> = rows.iter().map(row).collect();
                    let _ = write!(out, " values {}", rows.join(","));
                }
            }
        }
        PlanBody::Update(u) => {
            let cx = InBlock::new(&u.block);
            out.push_str("update ");
            from(&u.block, &mut out);
            let mut sets = Vec::new();
            for t in &u.targets {
                let table = &u.block.tables[usize::from(t.table)];
                if let Some(stored) = table.stored() {
                    let name = |a: &Assign| {
                        let column = quoted(&stored.def.columns[usize::from(a.column)].name);
                        let value = a.value.as_ref().map(|e| cx.text(e));
                        let value = value.unwrap_or_else(|| "default".to_owned());
                        format!("{}.{column} = {value}", qualified(table))
                    };
                    sets.extend(t.assigns.iter().map(name));
                }
            }
            let _ = write!(out, " set {}", sets.join(","));
            tail(&u.block, &mut out);
        }
        PlanBody::Delete(d) => {
            out.push_str("delete ");
            if d.block.tables.len() > 1 {
                let names = d.targets.iter();
                let names = names.map(|t| qualified(&d.block.tables[usize::from(*t)]));
                let _ = write!(out, "{} ", names.collect::<Vec<_>>().join(","));
            }
            out.push_str("from ");
            from(&d.block, &mut out);
            tail(&d.block, &mut out);
        }
        _ => return None,
    }
    Some(out)
}

/// `schema.table` by which columns are named.
fn qualified(t: &TablePlan) -> String {
    match t.stored() {
        Some(s) => format!("{}.{}", quoted(&s.def.schema), quoted(&t.alias)),
        None => quoted(&t.alias),
    }
}

/// A query; with `names`, those of its columns.
pub(crate) fn query(q: &QueryPlan, names: &[&str], out: &mut String) {
    match &q.body {
        Body::Block(b) => select(b, names, out),
        Body::Rows(rows, _) => {
            let row = |r: &Vec<Expr>| {
                let all: Vec<String> = r.iter().map(sql_expr::text).collect();
                format!("row({})", all.join(","))
            };
            let rows: Vec<String> = rows.iter().map(row).collect();
            let _ = write!(out, "values {}", rows.join(","));
        }
        Body::Recursive(r) => {
            arm(&r.seed, names, out);
            for q in &r.members {
                out.push_str(if r.distinct { " union " } else { " union all " });
                arm(q, names, out);
            }
        }
        // The table that is made of it says what it is.
        Body::Feed(_) | Body::Json(_) => {}
        Body::Set(first, arms) => {
            arm(first, names, out);
            for a in arms {
                out.push_str(match a.op {
                    SetOp::Union => " union ",
                    SetOp::Except => " except ",
                    SetOp::Intersect => " intersect ",
                });
                if a.all {
                    out.push_str("all ");
                }
                arm(&a.query, names, out);
            }
        }
    }
    if !matches!(q.body, Body::Block(_) | Body::Feed(_) | Body::Json(_)) {
        order(&q.order, &|e| sql_expr::text(e), out);
        limit(q.limit.as_ref(), out);
    }
}

/// A query of a set operation: in parentheses where it has an order or a limit of its own, or is one itself.
fn arm(q: &QueryPlan, names: &[&str], out: &mut String) {
    let apart = match &q.body {
        Body::Block(b) => !b.order().is_empty() || !b.delivered().is_empty() || b.limit().is_some(),
        Body::Rows(..) => !q.order.is_empty() || q.limit.is_some(),
        Body::Set(..) | Body::Recursive(_) => true,
        Body::Feed(_) | Body::Json(_) => false,
    };
    if apart {
        out.push('(');
    }
    query(q, names, out);
    if apart {
        out.push(')');
    }
}

fn select(b: &Block, names: &[&str], out: &mut String) {
    let cx = InBlock::new(b);
    if b.number != 0 {
        let _ = write!(out, "/* select#{} */ ", b.number);
    }
    out.push_str("select ");
    if b.distinct().is_some() {
        out.push_str("distinct ");
    }
    for (i, e) in b.output().iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        out.push_str(&cx.text(e));
        if let Some(name) = names.get(i) {
            let _ = write!(out, " AS {}", quoted(name));
        }
    }
    if !b.tables.is_empty() {
        out.push_str(" from ");
        from(b, out);
    }
    tail(b, out);
}

/// WHERE, and what follows.
fn tail(b: &Block, out: &mut String) {
    let cx = InBlock::new(b);
    let mut conds: Vec<&Expr> = b.join.constant.iter().collect();
    of_parts(b, &shape::parts(b), &mut conds);
    if shape::is_impossible(b) {
        out.push_str(" where false");
    } else if !conds.is_empty() {
        let _ = write!(out, " where {}", cx.all(conds));
    }
    if let Some(g) = b.group() {
        for (i, k) in g.keys.iter().enumerate() {
            out.push_str(if i == 0 { " group by " } else { "," });
            out.push_str(&cx.text(k));
        }
        if g.rollup.is_some() {
            out.push_str(" with rollup");
        }
    }
    if let Some(h) = b.having() {
        let _ = write!(out, " having {}", cx.text(h));
    }
    window_words::clause(b, &cx, out);
    let keys = if b.order().is_empty() {
        b.delivered()
    } else {
        b.order()
    };
    order(keys, &|e| cx.text(e), out);
    limit(b.limit(), out);
}

fn order(keys: &[SortKey], text: &dyn Fn(&Expr) -> String, out: &mut String) {
    for (i, k) in keys.iter().enumerate() {
        out.push_str(if i == 0 { " order by " } else { "," });
        out.push_str(&text(&k.expr));
        if k.desc {
            out.push_str(" desc");
        }
    }
}

fn limit(l: Option<&LimitPlan>, out: &mut String) {
    let Some(l) = l else { return };
    out.push_str(" limit ");
    if let Some(o) = &l.offset {
        let _ = write!(out, "{},", sql_expr::text(o));
    }
    out.push_str(&sql_expr::text(&l.count));
}

/// The conditions of a step.
pub(crate) fn of_step(s: &Step) -> impl Iterator<Item = &Expr> {
    let late = s.late.iter().map(|l| &l.expr);
    s.implied
        .iter()
        .chain(&s.filter)
        .chain(&s.probe)
        .chain(late)
}

/// The conditions that belong to the surroundings of parts: those of semi-joins are theirs as well.
fn of_parts<'p>(b: &'p Block, parts: &[Part<'p>], out: &mut Vec<&'p Expr>) {
    for p in parts {
        match p {
            Part::Step(s) => out.extend(of_step(&b.join.steps[*s])),
            Part::Nest(n) => {
                if n.kind == NestKind::Semi {
                    of_parts(b, &n.parts, out);
                }
                out.extend(n.after.iter().map(|l| &l.expr));
            }
        }
    }
}

fn from(b: &Block, out: &mut String) {
    let mut parts = shape::parts(b);
    if b.join.weedout.is_empty() {
        return joined(b, &parts, out);
    }
    // Tables of semi-joins that are read as others are, and whose duplicates are weeded out.
    let semi = |p: &mut Part<'_>| match p {
        Part::Step(s) => !b.join.weedout.contains(&b.join.steps[*s].table),
        Part::Nest(_) => false,
    };
    let semi: Vec<Part<'_>> = parts.extract_if(.., semi).collect();
    joined(b, &parts, out);
    out.push_str(" semi join (");
    joined(b, &semi, out);
    out.push(')');
}

fn joined(b: &Block, parts: &[Part<'_>], out: &mut String) {
    for (i, p) in parts.iter().enumerate() {
        match p {
            Part::Step(s) => {
                if i > 0 {
                    out.push_str(" join ");
                }
                let t = &b.tables[usize::from(b.join.steps[*s].table)];
                table(b, t, out);
            }
            Part::Nest(n) => nest(b, n, i > 0, out),
        }
    }
}

fn nest(b: &Block, n: &Nest<'_>, behind: bool, out: &mut String) {
    if behind {
        out.push(' ');
    }
    out.push_str(match n.kind {
        NestKind::Outer => "left join ",
        NestKind::Semi => "semi join (",
        NestKind::Anti => "anti join (",
    });
    let several = n.parts.len() > 1;
    if several && n.kind == NestKind::Outer {
        out.push('(');
    }
    joined(b, &n.parts, out);
    if several || n.kind != NestKind::Outer {
        out.push(')');
    }
    if n.kind != NestKind::Semi {
        let mut conds = Vec::new();
        of_parts(b, &n.parts, &mut conds);
        let on = match conds.is_empty() {
            true => "true".to_owned(),
            false => InBlock::new(b).all(conds),
        };
        let _ = write!(out, " on({on})");
    }
}

fn table(b: &Block, t: &TablePlan, out: &mut String) {
    if let Some(rows) = shape::json_rows(b, t) {
        let (doc, alias) = (InBlock::new(b).text(&rows.doc), quoted(&t.alias));
        let _ = write!(out, "json_table({doc}, {}) {alias}", rows.table.shown);
        return;
    }
    match &t.source {
        TableSource::Engine(s) => {
            let _ = write!(out, "{}.{}", quoted(&s.def.schema), quoted(&s.def.name));
            if *s.def.name != *t.alias {
                let _ = write!(out, " {}", quoted(&t.alias));
            }
        }
        TableSource::Virtual(v) => {
            let _ = write!(out, "{}", quoted(v.name()));
            if *v.name() != *t.alias {
                let _ = write!(out, " {}", quoted(&t.alias));
            }
        }
        TableSource::Derived(_) if shape::is_fed(b, t) => out.push_str(&quoted(&t.alias)),
        TableSource::Derived(n) => {
            let names: Vec<&str> = t.columns.iter().map(|c| &**c).collect();
            if shape::is_lateral(b, *n as usize) {
                out.push_str("lateral ");
            }
            out.push('(');
            query(&b.derived[*n as usize], &names, out);
            let _ = write!(out, ") {}", quoted(&t.alias));
        }
    }
}
