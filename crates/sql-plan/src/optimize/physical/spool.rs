//! Correlated subqueries that go through the same rows each time: `(SELECT SUM(h_amount) FROM history WHERE h_w_id = 1 AND h_c_id = c.c_id)`
//! with an index on `h_w_id` alone. Their rows can be kept from one execution to the next and looked up by what changes.
//!
//! Only the other form of the step is made here. Whether it is used shows while the statement runs (`exec::spool`).

use crate::bind::subqueries_of;
use crate::optimize::physical::hashing::hashable;
use crate::plan::{Block, HashKey, Step};
use sql_expr::{CmpOp, Expr, Node};

/// The step of a block of one stored table, as one whose rows are kept and looked up by hash; `None` where its rows depend on
/// the rows around in another way than by equal values, or not at all.
pub(crate) fn kept_form(block: &Block) -> Option<Box<Step>> {
    let [step] = &block.join.steps[..] else {
        return None;
    };
    let table = &block.tables[usize::from(step.table)];
    let plain = table.stored().is_some()
        && table.lock.is_none()
        && step.buffer.is_none()
        && step.late.is_empty()
        && step.opens.is_empty()
        && step.nests.is_empty()
        && step.at_most.is_none();
    let mut same = true;
    step.access.each_key(&mut |e| same &= e.is_row_constant());
    if !plain || !same {
        return None;
    }
    let slot = block.slot(step);
    let mut keys = Vec::new();
    let mut filter = Vec::new();
    let mut probe = Vec::new();
    for c in &step.filter {
        match reads(c, slot) {
            Reads::Own => filter.push(c.clone()),
            Reads::Others | Reads::Both => {
                keys.extend(hash_key(c, slot));
                probe.push(c.clone());
            }
        }
    }
    if keys.is_empty() {
        return None;
    }
    Some(Box::new(Step {
        table: step.table,
        access: step.access.clone(),
        buffer: Some(keys),
        lateral: None,
        anew: false,
        filter,
        probe,
        implied: step.implied.clone(),
        late: Vec::new(),
        opens: Vec::new(),
        nests: Vec::new(),
        at_most: None,
        early: false,
        rows: step.rows,
        cover: None,
        out: step.out,
        cost: step.cost,
    }))
}

/// What the value of an expression comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    /// The table's own row.
    Own,
    /// The rows around, or what may differ from one time to the next.
    Others,
    /// Both.
    Both,
}

fn reads(e: &Expr, slot: u16) -> Reads {
    let mut own = false;
    let mut others = false;
    e.walk(&mut |x| {
        match &x.node {
            Node::Column(c) if c.slot == slot => own = true,
            Node::Column(_) | Node::Inserted(_) | Node::Aggregate(_) | Node::Window(_) => {
                others = true;
            }
            Node::UserVar(_) | Node::AssignVar(..) => others = true,
            Node::Call(c) => others |= c.def.volatile(),
            _ => {}
        }
        true
    });
    let mut subqueries = Vec::new();
    subqueries_of(e, &mut subqueries);
    others |= !subqueries.is_empty();
    match (own, others) {
        (_, false) => Reads::Own,
        (false, true) => Reads::Others,
        (true, true) => Reads::Both,
    }
}

/// A condition as an equality between the table's row and those around it.
fn hash_key(c: &Expr, slot: u16) -> Option<HashKey> {
    let Node::Compare(CmpOp::Eq, comparer, p) = &c.node else {
        return None;
    };
    [(&p[0], &p[1]), (&p[1], &p[0])]
        .into_iter()
        .find_map(|(build, probe)| {
            let sides = (reads(build, slot), reads(probe, slot));
            if sides != (Reads::Own, Reads::Others) {
                return None;
            }
            hashable(comparer, build, probe).map(|collation| HashKey {
                build: build.clone(),
                probe: probe.clone(),
                collation,
            })
        })
}
