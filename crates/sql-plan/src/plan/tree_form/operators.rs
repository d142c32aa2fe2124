//! The operators behind the joins of a block in EXPLAIN FORMAT=TREE.

use super::{Done, Entry, Former};
use crate::plan::access_words::{limit_text, sort_text};
use crate::plan::block::Block;
use crate::plan::op::{Group, Grouping, Limit, Op};
use crate::plan::tally::Place;
use crate::plan::window_words;
use crate::plan::words::{InBlock, bare};
use sql_expr::Expr;

impl Former<'_> {
    /// What rows go through behind the joins.
    pub(super) fn operator(&self, b: &Block, op: &Op, input: Entry, shown: &mut Vec<u32>) -> Entry {
        let cx = InBlock::bare(b);
        let text = |e: &Expr| cx.text(e);
        match op {
            Op::Group(g) => self.grouped(b, g, input),
            Op::Filter(e) => self.filter(b, std::iter::once(&**e), input, shown),
            Op::Window(_) => {
                let mut entry = input;
                for (sort, text) in window_words::operations(b) {
                    entry = match sort {
                        Some(sort) => Entry::over(text, Entry::over(sort, entry)),
                        None => Entry::over(text, entry),
                    };
                }
                entry.done = self.counted(b, Place::Windows);
                entry
            }
            Op::Project(_) => input,
            Op::Distinct(_) => {
                let made = Entry::over("Temporary table with deduplication", input);
                Entry::over("Table scan on <temporary>", made)
            }
            Op::Sort(s) if s.given => input,
            Op::Sort(s) => Entry::over(sort_text(&s.keys, &text, b.limit()), input),
            Op::Limit(Limit { plan: None, .. }) => input,
            Op::Limit(Limit { plan: Some(l), .. }) => {
                let mut entry = Entry::over(limit_text(&l.count, l.offset.as_ref(), &text), input);
                if let Some((cost, _)) = entry.expected {
                    entry.expected = Some((cost, b.rows));
                }
                entry
            }
        }
    }

    /// The groups of what a block's joins yield.
    pub(super) fn grouped(&self, b: &Block, group: &Group, op: Entry) -> Entry {
        let g = &group.plan;
        let cost = op.expected.map_or(0.0, |e| e.0);
        let cx = InBlock::bare(b);
        let all: Vec<String> = g.aggregates.iter().map(|a| cx.aggregate_text(a)).collect();
        let all = all.join(", ");
        if g.keys.is_empty() {
            return Entry::new(format!("Aggregate: {all}"), vec![op]).expect(cost, 1.0);
        }
        if let Some(r) = &g.rollup {
            let sorted = Entry::over(sort_text(&r.order, &|e| bare(e), None), op);
            let text = match all.is_empty() {
                true => "Group (no aggregates) with rollup".to_owned(),
                false => format!("Group aggregate with rollup: {all}"),
            };
            return Entry::over(text, sorted).done(self.counted(b, Place::Groups));
        }
        if matches!(group.how, Grouping::InOrder | Grouping::Jump(_)) {
            let text = match all.is_empty() {
                true => "Group (no aggregates)".to_owned(),
                false => format!("Group aggregate: {all}"),
            };
            return Entry::over(text, op).done(self.counted(b, Place::Groups));
        }
        let made = Entry::new("Aggregate using temporary table", vec![op]);
        let mut done = self.counted(b, Place::Groups);
        if let (Done::Counted(c), Some(t)) = (&mut done, self.tally) {
            // They are there when all rows have come.
            let steps = (0..b.join.steps.len()).filter_map(|s| t.get(b, Place::Step(s as u16)));
            let rows: u64 = steps.map(|c| c.total).sum();
            (c.first, c.total) = (c.first + rows, c.total + rows);
        }
        let made = made.done(done);
        Entry::new("Table scan on <temporary>", vec![made])
    }
}
