//! GROUP BY and aggregates in EXPLAIN FORMAT=TREE.

use super::{Done, Former, Op};
use crate::bind::tree::GroupPlan;
use crate::plan::access_words::sort_text;
use crate::plan::tally::Place;
use crate::plan::tree::Block;
use crate::plan::words::{InBlock, bare};

impl Former<'_> {
    /// The groups of what a block's joins yield.
    pub(super) fn grouped(&self, b: &Block, g: &GroupPlan, op: Op) -> Op {
        let cost = op.expected.map_or(0.0, |e| e.0);
        let cx = InBlock::bare(b);
        let all: Vec<String> = g.aggregates.iter().map(|a| cx.aggregate_text(a)).collect();
        let all = all.join(", ");
        if g.keys.is_empty() {
            return Op::new(format!("Aggregate: {all}"), vec![op]).expect(cost, 1.0);
        }
        if let Some(r) = &g.rollup {
            let sorted = Op::over(sort_text(&r.order, &|e| bare(e), None), op);
            let text = match all.is_empty() {
                true => "Group (no aggregates) with rollup".to_owned(),
                false => format!("Group aggregate with rollup: {all}"),
            };
            return Op::over(text, sorted).done(self.counted(b, Place::Groups));
        }
        let made = Op::new("Aggregate using temporary table", vec![op]);
        let mut done = self.counted(b, Place::Groups);
        if let (Done::Counted(c), Some(t)) = (&mut done, self.tally) {
            // They are there when all rows have come.
            let steps = (0..b.steps.len()).filter_map(|s| t.get(b, Place::Step(s as u16)));
            let rows: u64 = steps.map(|c| c.total).sum();
            (c.first, c.total) = (c.first + rows, c.total + rows);
        }
        let made = made.done(done);
        Op::new("Table scan on <temporary>", vec![made])
    }
}
