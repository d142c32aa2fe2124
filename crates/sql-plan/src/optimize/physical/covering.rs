//! Which tables are read from the entries of a secondary index alone: those of which a statement reads no column that is not in them.
//!
//! What the choice of an index goes by is the columns of the bound block ([`columns_read`]); what a step is given is made from the
//! finished one, so that it holds whatever came in between ([`set_covers`]).

use std::sync::Arc;

use engine::{Cover, Table};

use crate::bind::places::Places;
use crate::bind::reads::columns_of;
use crate::bind::tree::BoundBlock;
use crate::plan::{Access, Block, Jump, Step};
use sql_expr::{Expr, Node};

/// No column's number.
const WHOLE_ROW: u16 = u16::MAX;

/// The columns that a block reads of each of its tables, by place.
pub(crate) fn columns_read(b: &BoundBlock, places: &Places) -> Vec<Vec<u16>> {
    let whole = |lock: &Option<_>| match lock {
        Some(_) => vec![WHOLE_ROW],
        None => Vec::new(),
    };
    let mut read: Vec<Vec<u16>> = b.locks.iter().map(whole).collect();
    columns_of(b, &mut |slot, column| {
        let place = places.of(slot).and_then(|p| read.get_mut(p));
        if let Some(columns) = place.filter(|c| !c.contains(&column)) {
            columns.push(column);
        }
    });
    read
}

/// The indexes of a table whose entries hold these columns.
pub(crate) fn covering(table: &Table, columns: &[u16]) -> Vec<usize> {
    let indexes = 0..table.def.indexes.len();
    indexes
        .filter(|&i| table.cover(i, columns).is_some())
        .collect()
}

/// Lets the steps of a block read entries instead of rows wherever these say enough; `jump` says how its index may be jumped through.
pub(crate) fn set_covers(block: &mut Block, jump: Option<Jump>) {
    // A derived table that read rows of the block would read them by names that are not looked at here.
    let base = block.places.base();
    if block
        .derived
        .iter()
        .any(|d| d.lowest != u16::MAX && d.lowest >= base)
    {
        return;
    }
    for s in 0..block.join.steps.len() {
        let cover = cover_of(block, s, jump);
        if let Some(kept) = &mut block.join.spool {
            kept.cover.clone_from(&cover);
        }
        block.join.steps[s].cover = cover;
    }
}

fn cover_of(block: &Block, s: usize, jump: Option<Jump>) -> Option<Arc<Cover>> {
    let step = &block.join.steps[s];
    let table = &block.tables[usize::from(step.table)];
    let index = match &step.access {
        Access::Full { index, .. } => *index,
        Access::Range(r) => r.index,
        _ => return None,
    };
    let stored = table
        .stored()
        .filter(|_| index != 0 && table.lock.is_none())?;
    let mut columns = Vec::new();
    let slot = table.slot;
    each_expr(block, s, &mut |e| {
        e.walk(&mut |x| {
            if let Node::Column(c) = &x.node {
                add(&mut columns, slot, (c.slot, c.ordinal));
            }
            true
        });
    });
    if let Some(jump) = jump {
        // By which it is told where a run ends.
        let ends = usize::from(jump.least || jump.greatest);
        let parts = stored.def.indexes[index].parts.iter();
        let read = parts.take(jump.parts + ends);
        read.for_each(|p| add(&mut columns, slot, (slot, p.column)));
    }
    for step in &block.join.steps {
        let read = step.lateral.iter().flat_map(|l| l.iter());
        read.for_each(|c| add(&mut columns, slot, *c));
    }
    for sub in &block.subqueries {
        sub.outer.iter().for_each(|c| add(&mut columns, slot, *c));
    }
    if let Some(w) = block.windows() {
        { w.carried.iter() }.for_each(|c| add(&mut columns, slot, *c));
    }
    stored.cover(index, &columns).map(Arc::new)
}

fn add(columns: &mut Vec<u16>, slot: u16, c: (u16, u16)) {
    if c.0 == slot && !columns.contains(&c.1) {
        columns.push(c.1);
    }
}

/// Calls `f` with every expression of a block that is evaluated on rows that step `own` has read. What the access of that step implies
/// is not: where it has to be checked, whole rows are read.
fn each_expr(b: &Block, own: usize, f: &mut dyn FnMut(&Expr)) {
    for (n, s) in b.join.steps.iter().enumerate() {
        step_exprs(s, n != own, f);
    }
    if let Some(s) = &b.join.spool {
        step_exprs(s, false, f);
    }
    if let Some(g) = b.group() {
        g.keys.iter().chain(&g.carried).for_each(&mut *f);
        for a in &g.aggregates {
            a.args.iter().for_each(&mut *f);
            a.order_by.iter().for_each(|(e, _)| f(e));
        }
    }
    if let Some(w) = b.windows() {
        w.inputs.iter().for_each(&mut *f);
    }
    let more = b.having().into_iter().chain(b.output());
    more.chain(&b.join.constant).for_each(&mut *f);
    b.order().iter().for_each(|k| f(&k.expr));
}

fn step_exprs(s: &Step, implied: bool, f: &mut dyn FnMut(&Expr)) {
    s.access.each_key(f);
    for k in s.buffer.iter().flatten() {
        f(&k.build);
        f(&k.probe);
    }
    s.filter.iter().chain(&s.probe).for_each(&mut *f);
    if implied {
        s.implied.iter().for_each(&mut *f);
    }
    s.late.iter().for_each(|l| f(&l.expr));
    for n in &s.nests {
        n.after.iter().for_each(|l| f(&l.expr));
    }
}
