//! Reading ahead for a step whose look-ups wait for the device: the rows before it lie in a batch, so the keys of the next look-ups are
//! known, and their pages can be on their way while the first ones are looked at. (The order of the rows stays what it is, unlike that
//! of MySQL's Batched Key Access.)
//!
//! It begins when a look-up has waited and ends when a window of look-ups found everything there, so that what is in memory pays for
//! a comparison.

use crate::op::join::level::At;
use crate::op::join::{FIRST_BATCH, Join, LARGEST_BATCH};
use crate::{Env, keys};
use engine::KeyBound;
use sql_expr::Node;
use sql_plan::bind::nests::NestKind;
use sql_plan::plan::{NestPlan, Step};
use std::ops::Range;

/// Pages that are begun at a time, and the look-ups that are looked at for them: most of these may lead to what is there.
const PAGES: usize = 16;
const WINDOW: usize = 16;
const WINDOWS: usize = 8;

impl Join<'_> {
    /// Rows that are fetched at first for a look-up of a step: as many as it is taken to yield where all of them are wanted, since each
    /// batch is waited for by itself.
    pub(super) fn fetched_first(&mut self, s: usize) -> usize {
        if let Some(rows) = self.ahead[s].first {
            return rows;
        }
        let first_will_do = |n: &NestPlan| usize::from(n.first) <= s && n.kind != NestKind::Outer;
        let mut behind = self.steps[s..].iter().flat_map(|s| &s.nests);
        let rows = match self.wanted < u64::MAX || behind.any(first_will_do) {
            true => FIRST_BATCH,
            false => (self.steps[s].rows as usize).clamp(FIRST_BATCH, LARGEST_BATCH),
        };
        self.ahead[s].first = Some(rows);
        rows
    }

    /// Begins reading what the next look-ups of a step need.
    #[cold]
    pub(super) fn read_ahead(&mut self, s: usize, env: &mut Env<'_>) {
        let step = &self.steps[s];
        let source = match self.ahead[s].source {
            Some(source) => source,
            None => self.source_of(step).unwrap_or(s),
        };
        self.ahead[s].source = Some(source);
        let from = usize::from(self.steps[source].table);
        let At::Batch(at) = self.levels[from].at else {
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
            (ahead.next, ahead.again) = (at + 1, at + 1);
        }
        // Half of what was begun is looked at while the other half arrives.
        if at + 1 < ahead.again || ahead.next >= rows {
            return;
        }
        let begin = ahead.next.max(at + 1);
        let (mut end, mut pages) = (begin, 0);
        // No more look-ups at a time than pages can be begun: what is over would be passed over.
        let window = WINDOW.min(env.session.ahead_at_most()).max(1);
        for _ in 0..WINDOWS {
            if pages >= PAGES.min(window) || end == rows {
                break;
            }
            let window = end..rows.min(end + window);
            end = window.end;
            pages += self.begin_pages(s, from, window, env);
        }
        self.levels[from].at = At::Batch(at);
        let ahead = &mut self.ahead[s];
        ahead.next = end;
        ahead.again = begin + (end - begin) / 2;
        ahead.on = pages > 0;
    }

    /// Begins reading what the look-ups of a step for some rows of table `from` need; says how many pages. It leaves that table's place.
    fn begin_pages(
        &mut self,
        s: usize,
        from: usize,
        rows: Range<usize>,
        env: &mut Env<'_>,
    ) -> usize {
        let step = &self.steps[s];
        let Some(table) = self.block.tables[usize::from(step.table)].stored() else {
            return 0;
        };
        let mut bounds: Vec<(usize, KeyBound)> = Vec::new();
        for row in rows {
            self.levels[from].at = At::Batch(row);
            let Ok((parts, _)) = keys::parts(table, &step.access, env.cx, &self.tuple()) else {
                break;
            };
            bounds.extend(parts.into_iter().map(|(index, (lower, _))| (index, lower)));
        }
        bounds.sort_by_key(|b| b.0);
        let of_index = bounds.chunk_by(|a, b| a.0 == b.0);
        of_index
            .map(|b| {
                let lower = b.iter().map(|b| &b.1);
                env.session.read_ahead(table, b[0].0, lower)
            })
            .sum()
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
