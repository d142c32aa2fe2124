//! Reading ahead for a step whose look-ups wait for the device: the rows before it lie in a batch, so the keys of the next look-ups are
//! known, and their pages can be on their way while the first ones are looked at. (The order of the rows stays what it is, unlike that
//! of MySQL's Batched Key Access.)
//!
//! It begins when a look-up has waited and ends when a window of look-ups found everything there, so that what is in memory pays for
//! a comparison.

use super::{At, Join};
use crate::exec::{Env, keys};
use crate::plan::Step;
use engine::KeyBound;
use sql_expr::Node;

/// Look-ups whose pages are begun at a time.
const WINDOW: usize = 16;

impl Join<'_> {
    /// Begins reading what the next look-ups of a step need.
    #[cold]
    pub(super) fn read_ahead(&mut self, s: usize, env: &mut Env<'_>) {
        let step = &self.steps[s];
        let block = self.block;
        let source = match self.ahead[s].source {
            Some(source) => source,
            None => self.source_of(step).unwrap_or(s),
        };
        self.ahead[s].source = Some(source);
        let from = usize::from(self.steps[source].table);
        let (At::Batch(at), Some(table)) = (
            self.levels[from].at,
            block.tables[usize::from(step.table)].stored(),
        ) else {
            self.ahead[s].on = false;
            return;
        };
        if source == s {
            self.ahead[s].on = false;
            return;
        }
        let (batch, rows) = (self.levels[from].batches, self.levels[from].batch.len());
        let ahead = &mut self.ahead[s];
        if ahead.batch != batch {
            ahead.batch = batch;
            ahead.next = at + 1;
        }
        // Half of a window is looked at while the other half arrives.
        if ahead.next > at + WINDOW / 2 || ahead.next >= rows {
            return;
        }
        let begin = ahead.next.max(at + 1);
        let end = rows.min(at + 1 + WINDOW);
        ahead.next = end;
        let mut bounds: Vec<(usize, KeyBound)> = Vec::new();
        for row in begin..end {
            self.levels[from].at = At::Batch(row);
            let Ok((parts, _)) = keys::parts(table, &step.access, env.cx, &self.tuple()) else {
                break;
            };
            bounds.extend(parts.into_iter().map(|(index, (lower, _))| (index, lower)));
        }
        self.levels[from].at = At::Batch(at);
        bounds.sort_by_key(|b| b.0);
        let mut began = false;
        for of_index in bounds.chunk_by(|a, b| a.0 == b.0) {
            let lower = of_index.iter().map(|b| &b.1);
            began |= env.session.read_ahead(table, of_index[0].0, lower);
        }
        self.ahead[s].on = began;
    }

    /// The last step whose row a step's keys are columns of; `None` where they are anything else.
    fn source_of(&self, step: &Step) -> Option<usize> {
        let mut source = None;
        let mut plain = true;
        step.access.each_key(&mut |e| match &e.node {
            Node::Column(c) => {
                let place = self.block.places.of(c.slot);
                let number = |p: usize| self.steps.iter().position(|s| usize::from(s.table) == p);
                source = source.max(place.and_then(number));
            }
            _ => plain &= e.as_const().is_some(),
        });
        source.filter(|_| plain)
    }
}
