//! The order in which the tables of a block are read: dynamic programming over the sets of tables that have been read (Selinger et al.,
//! "Access Path Selection in a Relational Database Management System", SIGMOD 1979, section 5), for left-deep orders. Tables that no
//! condition ties to those before come only where none that is tied can. Blocks of more than [`MOST_BY_SETS`] tables are ordered
//! greedily from every first table.
//!
//! An outer join's inner tables are read together, behind all that its condition may read.

use std::collections::BTreeMap;

use types::SqlError;

use crate::bind::from::{Joins, NestKind};
use crate::bind::reads::tables_of;
use crate::bind::scope::FromTable;
use crate::bind::source::TableSource;
use crate::bind::tree::BoundBlock;
use crate::optimize::conditions::{CondInfo, Request};
use crate::optimize::physical::access::{Path, Paths};
use crate::optimize::physical::hashing::hashable;
use crate::optimize::physical::lateral::Lateral;
use sql_expr::vars::Switches;
use sql_expr::{CmpOp, EvalCtx, Node};

/// Units of work of looking at a table, and of each of its conditions, for the limits of the statement's time.
const STEP: usize = 100;
const COND: usize = 10;

/// Most tables whose orders are all compared.
const MOST_BY_SETS: usize = 12;

/// The work of keeping a row and its hash key, in rows read.
const KEEP: f64 = 2.0;
/// The work of looking for kept rows by hash.
const PROBE: f64 = 1.0;
/// The work of comparing a kept row with a combination.
const COMPARE: f64 = 0.25;
/// The work of making a combination of rows.
const COMBINE: f64 = 0.15;
/// The work of a condition with a subquery for a combination.
const ASK: f64 = 20.0;
/// Kept rows that may no longer fit the processor's caches.
const MANY_KEPT: f64 = 100_000.0;

/// The tables of a block and what ties them to each other.
pub(crate) struct Graph<'a> {
    /// The session: planning counts its work.
    cx: &'a EvalCtx<'a>,
    pub tables: &'a [FromTable],
    pub paths: Vec<Paths<'a>>,
    /// The conditions on each table that belong to its nest, with their numbers.
    own_conds: Vec<Vec<(usize, &'a CondInfo)>>,
    /// Conditions with subqueries.
    late_conds: Vec<&'a CondInfo>,
    /// The share of combinations for which each condition holds.
    pub shares: Vec<f64>,
    pub joins: &'a Joins,
    pub straight: bool,
    switches: Switches,
    /// The tables that conditions tie to each.
    neighbours: Vec<u64>,
    /// For each table, the tables whose values it can be looked up by hash with, one set for each equality.
    keys: Vec<Vec<u64>>,
    /// The tables in each outer join, those in it included.
    inside: Vec<u64>,
    /// How tables may be made for one key at a time.
    pub laterals: &'a [Option<Lateral<'a>>],
    /// For each table, the places of the same one.
    same: Vec<u64>,
    /// The fraction of the rows that is wanted of what comes one after the other: what has to be done whole weighs as much more.
    fraction: f64,
}

/// An order of tables.
#[derive(Default)]
pub(crate) struct Order {
    /// The tables by place, each with how it is read.
    pub tables: Vec<(usize, Path)>,
    /// Those of them that are derived and made for one key at a time (bits, by place).
    pub by_key: u64,
    /// What has been read and has come out behind each of them: cost, in rows read, and rows.
    pub marks: Vec<(f64, f64)>,
    /// Rows that come out.
    pub rows: f64,
    /// What it costs, in rows read.
    pub cost: f64,
}

/// Where the search stands after some tables.
#[derive(Clone, Copy)]
struct State {
    cost: f64,
    rows: f64,
    last: usize,
    path: Path,
    /// It is a derived table that is made for one key at a time.
    by_key: bool,
    before: u64,
    /// Rows before the semi-join or anti-join that is being read.
    entry: f64,
    /// Different pages that were read of tables that have no room in memory.
    touched: f64,
}

impl State {
    /// Its last table, as a set, where that is made for one key at a time.
    fn own_key(&self) -> u64 {
        u64::from(self.by_key) << self.last
    }
}

impl<'a> Graph<'a> {
    pub fn new(
        req: &'a Request<'a>,
        paths: Vec<Paths<'a>>,
        conds: &'a [CondInfo],
        shares: Vec<f64>,
        laterals: &'a [Option<Lateral<'a>>],
    ) -> Graph<'a> {
        let (tables, joins) = (req.tables, &req.joins);
        let n = tables.len();
        let mut neighbours = vec![0u64; n];
        let mut keys = vec![Vec::new(); n];
        for c in conds {
            for (t, near) in neighbours.iter_mut().enumerate() {
                if c.tables & (1 << t) != 0 {
                    *near |= c.tables & !(1 << t);
                }
            }
            let Node::Compare(CmpOp::Eq, comparer, p) = &c.expr.node else {
                continue;
            };
            if c.late || hashable(comparer, &p[0], &p[1]).is_none() {
                continue;
            }
            let reads = [&p[0], &p[1]].map(|e| tables_of::<BoundBlock>(e, req.places, &[]));
            for (own, other) in [(reads[0], reads[1]), (reads[1], reads[0])] {
                if own.count_ones() == 1 && other != 0 && other & own == 0 {
                    let t = own.trailing_zeros() as usize;
                    if t < n && joins.nest_of[t] == c.nest {
                        keys[t].push(other);
                    }
                }
            }
        }
        let mut inside = vec![0u64; joins.nests.len()];
        for t in 0..n {
            let mut nest = joins.nest_of[t];
            while nest != 0 {
                inside[usize::from(nest)] |= 1 << t;
                let parent = joins.nests[usize::from(nest)].parent;
                if parent == nest {
                    break;
                }
                nest = parent;
            }
        }
        let same = |t: usize| {
            let id = |t: usize| match &tables[t].source {
                TableSource::Engine(table) => Some(table.def.id),
                _ => None,
            };
            let alike = |other: &usize| id(t).is_some() && id(*other) == id(t);
            (0..n).filter(alike).fold(0u64, |m, other| m | 1 << other)
        };
        let same = (0..n).map(same).collect();
        let own_conds = (0..n).map(|t| {
            let all = conds.iter().enumerate();
            all.filter(|(_, c)| c.nest == joins.nest_of[t] && c.tables & (1 << t) != 0)
                .collect()
        });
        Graph {
            cx: req.cx,
            tables,
            paths,
            own_conds: own_conds.collect(),
            late_conds: conds.iter().filter(|c| c.late).collect(),
            shares,
            joins,
            straight: req.straight,
            switches: req.switches,
            neighbours,
            keys,
            inside,
            laterals,
            same,
            fraction: 1.0,
        }
    }

    /// The cheapest order.
    ///
    /// # Errors
    /// The statement is killed, or its time is over.
    pub fn order(&self) -> Result<Order, SqlError> {
        self.begun_with(self.candidates(0))
    }

    /// The cheapest order that begins with this table where of the rows this fraction is wanted, and the rest is not read; its cost is that of all.
    ///
    /// # Errors
    /// As [`order`](Self::order).
    pub fn for_first_rows(&mut self, first: usize, fraction: f64) -> Result<Order, SqlError> {
        self.fraction = fraction;
        let found = self.begun_with(vec![first]);
        self.fraction = 1.0;
        found
    }

    /// Whether an order may begin with this table.
    pub fn may_be_first(&self, t: usize) -> bool {
        self.candidates(0).contains(&t)
    }

    fn begun_with(&self, first: Vec<usize>) -> Result<Order, SqlError> {
        let n = self.tables.len();
        if n <= MOST_BY_SETS && !self.straight {
            self.by_sets(&first)
        } else {
            let mut best: Option<(Vec<State>, State)> = None;
            for first in first {
                let found = self.greedy(first)?;
                if best.as_ref().is_none_or(|b| found.1.cost < b.1.cost) {
                    best = Some(found);
                }
            }
            Ok(best.map_or_else(Order::default, |(states, s)| Order {
                tables: states.iter().map(|s| (s.last, s.path)).collect(),
                by_key: states.iter().fold(0, |m, s| m | s.own_key()),
                marks: states.iter().map(|s| (s.cost, s.rows)).collect(),
                rows: s.rows,
                cost: s.cost,
            }))
        }
    }

    fn by_sets(&self, first: &[usize]) -> Result<Order, SqlError> {
        let n = self.tables.len();
        let all = if n == 64 { u64::MAX } else { (1u64 << n) - 1 };
        let mut levels: Vec<BTreeMap<u64, State>> = Vec::with_capacity(n);
        let mut level: BTreeMap<u64, State> = BTreeMap::new();
        for size in 0..n {
            let mut next: BTreeMap<u64, State> = BTreeMap::new();
            let mut extend = |mask: u64, state: Option<&State>, candidates: &[usize]| {
                for &t in candidates {
                    let s = self.step(mask, state, t)?;
                    let known = next.get(&(mask | 1 << t));
                    if known.is_none_or(|k| s.cost < k.cost) {
                        next.insert(mask | 1 << t, s);
                    }
                }
                Ok::<(), SqlError>(())
            };
            if size == 0 {
                extend(0, None, first)?;
            } else {
                for (mask, s) in &level {
                    extend(*mask, Some(s), &self.candidates(*mask))?;
                }
            }
            levels.push(std::mem::replace(&mut level, next));
        }
        levels.push(level);
        let mut order = Vec::with_capacity(n);
        let mut marks = Vec::with_capacity(n);
        let mut by_key = 0;
        let mut mask = all;
        for size in (1..=n).rev() {
            let Some(s) = levels[size].get(&mask) else {
                break;
            };
            order.push((s.last, s.path));
            marks.push((s.cost, s.rows));
            by_key |= s.own_key();
            mask = s.before;
        }
        order.reverse();
        marks.reverse();
        let end = levels[n].get(&all);
        Ok(Order {
            tables: order,
            by_key,
            marks,
            rows: end.map_or(1.0, |s| s.rows),
            cost: end.map_or(0.0, |s| s.cost),
        })
    }

    fn greedy(&self, first: usize) -> Result<(Vec<State>, State), SqlError> {
        let mut state = self.step(0, None, first)?;
        let mut mask = 1u64 << first;
        let mut order = vec![state];
        while order.len() < self.tables.len() {
            // Few rows now are little work later.
            let weight = |s: &State| s.cost + s.rows * KEEP;
            let mut best: Option<State> = None;
            for t in self.candidates(mask) {
                let s = self.step(mask, Some(&state), t)?;
                if best.is_none_or(|b| weight(&s) < weight(&b)) {
                    best = Some(s);
                }
            }
            let Some(best) = best else {
                break;
            };
            order.push(best);
            mask |= 1 << best.last;
            state = best;
        }
        Ok((order, state))
    }

    /// The tables that may be read next.
    fn candidates(&self, mask: u64) -> Vec<usize> {
        let n = self.tables.len();
        let partly = |i: &u64| mask & i != 0 && mask & i != *i;
        let open = self.inside.iter().filter(|i| partly(i));
        let open = open.min_by_key(|i| i.count_ones()).copied();
        let fits = |t: &usize| {
            if mask & (1 << t) != 0 || open.is_some_and(|o| o & (1 << t) == 0) {
                return false;
            }
            let mut nest = self.joins.nest_of[*t];
            while nest != 0 {
                let x = &self.joins.nests[usize::from(nest)];
                if x.needs & !mask & !self.inside[usize::from(nest)] != 0 {
                    return false;
                }
                if x.parent == nest {
                    break;
                }
                nest = x.parent;
            }
            true
        };
        let fit: Vec<usize> = (0..n).filter(fits).collect();
        let ready = |t: &usize| self.joins.after[*t] & !mask == 0;
        let mut ready: Vec<usize> = fit.iter().copied().filter(ready).collect();
        if ready.is_empty() {
            // What waits for each other is read in the order written.
            let first = fit.first().copied();
            return first
                .or_else(|| (0..n).find(|t| mask & (1 << t) == 0))
                .into_iter()
                .collect();
        }
        if self.straight {
            ready.truncate(1);
            return ready;
        }
        if mask != 0 {
            let tied = |t: &usize| self.neighbours[*t] & mask != 0;
            if ready.iter().any(tied) {
                ready.retain(|t| tied(t) || self.paths[*t].best(0).yields <= 1.0);
            }
        }
        ready
    }

    /// Rows of a table for each combination of those before.
    fn fan(&self, t: usize, mask: u64) -> f64 {
        let own = 1u64 << t;
        let now = |c: &&(usize, &CondInfo)| c.1.tables & !(mask | own) == 0;
        let others = |handled: &dyn Fn(usize) -> bool| {
            let mut share = 1.0;
            let mut classes: Vec<u16> = Vec::new();
            for (i, c) in self.own_conds[t].iter().filter(now) {
                if handled(*i) {
                    classes.extend(c.class);
                }
            }
            for (i, c) in self.own_conds[t].iter().filter(now) {
                if handled(*i) || c.class.is_some_and(|k| classes.contains(&k)) {
                    continue;
                }
                classes.extend(c.class);
                share *= self.shares[*i];
            }
            share
        };
        self.paths[t].fan(mask, &others)
    }

    /// The outermost semi-join or anti-join that a table is in, and whether it is the latter.
    fn filtering_nest(&self, t: usize) -> Option<(usize, bool)> {
        let mut found = None;
        let mut nest = self.joins.nest_of[t];
        while nest != 0 {
            let x = &self.joins.nests[usize::from(nest)];
            if x.kind != NestKind::Outer {
                found = Some((usize::from(nest), x.kind == NestKind::Anti));
            }
            if x.parent == nest {
                break;
            }
            nest = x.parent;
        }
        found
    }

    /// What reading a table so many times in a way waits for the disk, and the different pages that it comes to, when `mask` has been
    /// read and so many pages for it. A table that was read before is there: it is mostly read at the same keys.
    fn waits(&self, t: usize, mask: u64, touched: f64, path: &Path, times: f64) -> (f64, f64) {
        let pages = &self.paths[t].pages;
        if mask & self.same[t] != 0 {
            return (0.0, 0.0);
        }
        if path.is_full() {
            return (0.0, pages.all);
        }
        let own = pages.touched(path.look_ups * times);
        (pages.at_random(own, touched), own)
    }

    /// Reading one table more.
    fn step(&self, mask: u64, state: Option<&State>, t: usize) -> Result<State, SqlError> {
        self.cx.tick(STEP + COND * self.own_conds[t].len())?;
        let own = 1u64 << t;
        let (before, rows) = state.map_or((0.0, 1.0), |s| (s.cost, s.rows));
        let fan = self.fan(t, mask);
        let nest = usize::from(self.joins.nest_of[t]);
        let optional = nest != 0 && self.joins.nests[nest].kind == NestKind::Outer;
        let mut out = rows * if optional { fan.max(1.0) } else { fan };
        let mut entry = state.map_or(1.0, |s| s.entry);
        let combined = out;
        if let Some((n, anti)) = self.filtering_nest(t) {
            if mask & self.inside[n] == 0 {
                entry = rows;
            }
            if (mask | own) & self.inside[n] == self.inside[n] {
                let matched = (out / entry.max(1e-9)).min(1.0);
                out = entry
                    * if anti {
                        (1.0 - matched).max(0.1)
                    } else {
                        matched
                    };
            }
        }
        let stored = matches!(self.tables[t].source, TableSource::Engine(_));
        let alone = self.paths[t].best(0);
        let mut path = alone;
        let used = state.map_or(0.0, |s| s.touched);
        let (waits, mut touched) = self.waits(t, mask, used, &alone, 1.0);
        let mut cost = alone.cost + waits;
        if mask != 0 {
            let kept = self.fan(t, 0).min(alone.yields);
            let table = &self.tables[t];
            let hashed = table.is_hashed(self.switches);
            let by_hash = hashed && self.keys[t].iter().any(|k| k & !mask == 0);
            let find = if by_hash {
                PROBE + if kept > MANY_KEPT { PROBE } else { 0.0 }
            } else {
                kept * COMPARE
            };
            cost = if stored && !table.is_kept(self.switches) {
                rows * alone.cost + self.waits(t, mask, used, &alone, rows).0
            } else {
                (cost + kept * KEEP) / self.fraction + rows * find
            };
            let near = self.paths[t].best(mask);
            if stored && near.needs != 0 {
                let (waits, come_to) = self.waits(t, mask, used, &near, rows);
                if rows * near.cost + waits < cost {
                    cost = rows * near.cost + waits;
                    (path, touched) = (near, come_to);
                }
            }
        }
        let mut by_key = false;
        if let Some(l) = self.laterals.get(t).and_then(Option::as_ref) {
            cost += l.whole / self.fraction;
            if let Some(each) = l.cost(mask)
                && let again = rows.min(alone.yields).max(1.0) * each + rows * PROBE
                && again < cost
            {
                (cost, by_key) = (again, true);
            }
        }
        let asked = self
            .late_conds
            .iter()
            .filter(|c| c.tables & own != 0 && c.tables & !(mask | own) == 0);
        let asked = asked.count() as f64;
        Ok(State {
            cost: before + cost + combined * (COMBINE + asked * ASK),
            rows: out.max(1e-3),
            last: t,
            path,
            by_key,
            before: mask,
            entry,
            touched: used + touched,
        })
    }
}
