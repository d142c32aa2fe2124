//! What EXPLAIN says of one table.

use engine::Table;
use types::DataType;

use super::TableSource;
use super::access_words::shown_name;
use super::block::Block;
use super::op::{Access, Grouping, KeyExpr, RangeAccess, Step};
use crate::bind::nests::NestKind;
use sql_expr::Node;

/// What a row says about a table.
#[derive(Default)]
pub(super) struct Line {
    pub table: Option<String>,
    pub access: Option<&'static str>,
    pub possible: Option<String>,
    pub key: Option<String>,
    /// The columns of the key that are used.
    pub parts: Vec<String>,
    pub key_len: Option<String>,
    pub reference: Option<String>,
    pub rows: Option<u64>,
    pub filtered: Option<f64>,
    pub extra: Vec<&'static str>,
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
            Access::Union(arms) if let Some((index, parts)) = of_one_list(table, arms) => {
                named(&mut line, table, index, parts);
                line.access = Some("range");
                used_where = true;
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
    let how = b.grouping().map(|g| g.how);
    if matches!(how, Some(Grouping::Jump(_))) {
        line.extra.push("Using index for group-by");
    } else if s.cover.is_some() {
        line.extra.push("Using index");
    }
    for n in &s.nests {
        match n.kind {
            NestKind::Outer => {}
            NestKind::Semi => line.extra.push("FirstMatch"),
            NestKind::Anti => line.extra.push("Not exists"),
        }
    }
    if let (Some(keys), true) = (&s.buffer, place > 0 && s.lateral.is_none()) {
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
    let several = match &s.access {
        Access::Range(r) => !r.arms.is_empty(),
        Access::Union(_) => true,
        _ => false,
    };
    if several && checked == 1 && s.late.is_empty() {
        // What is checked is what the ranges are made of.
        return 100.0;
    }
    let before = match place {
        0 => 1.0,
        _ => b.join.steps[place - 1].out,
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
    let column = |p: &engine::IndexPart| shown_name(table, p.column).to_owned();
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

/// The index whose elements several look-ups find, and how many of its parts they give: MySQL has ranges of it.
fn of_one_list(table: &Table, arms: &[RangeAccess]) -> Option<(usize, usize)> {
    let index = arms.first()?.index;
    let same = arms.iter().all(|a| a.index == index);
    let parts = arms.iter().map(RangeAccess::parts).max()?;
    (same && table.list_part(index).is_some()).then_some((index, parts))
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
            let ty = c.key_type();
            let width = ty.collation().charset().max_len() as u64;
            let bytes = match ty {
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
