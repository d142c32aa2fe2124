//! From the bound tables and conditions of a block to the steps that carry it out: outer joins turned into inner ones where a
//! condition rejects their NULL rows, tables ordered, conditions placed at the earliest step that has what they read.

use std::cmp::Ordering;

use types::SqlError;

use crate::bind::from::{Cond, Joins, NestKind};
use crate::bind::hinted::Strategies;
use crate::bind::places::Places;
use crate::bind::scope::FromTable;
use crate::bind::source::TableSource;
use crate::optimize::conditions::{CondInfo, Request};
use crate::optimize::physical::access::{Paths, Rules};
use crate::optimize::physical::jump;
use crate::optimize::physical::lateral;
use crate::optimize::physical::order::{self, Ordered};
use crate::optimize::physical::range::rejects_null;
use crate::optimize::physical::steps::build_steps;
use crate::optimize::rewrite::alternatives;
use crate::optimize::rewrite::computed;
use crate::optimize::rewrite::elements;
use crate::optimize::rewrite::equalities;
use crate::optimize::search::first_rows;
use crate::optimize::search::join_order::Graph;
use crate::optimize::statistics::selectivity::Selectivity;
use crate::optimize::statistics::{Statistics, note_memory};
use crate::plan::{Jump, QueryPlan, Step};
use sql_expr::{Expr, Node};

/// How a block is carried out.
pub(crate) struct JoinPlan {
    /// The steps.
    pub steps: Vec<Step>,
    /// Conditions that read no table.
    pub constant: Vec<Expr>,
    /// The steps deliver the order asked for.
    pub ordered: bool,
    /// The rows of each group come one behind the other; `true` where that is in the order asked for.
    pub groups: Option<bool>,
    /// The aggregates, by place, whose equal arguments come one behind the other.
    pub neighbours: Vec<usize>,
    /// How the index of the only table is jumped through, where that gives the groups.
    pub jump: Option<Jump>,
    /// Rows that come out of them, roughly.
    pub rows: f64,
    /// The tables, by place, of which each combination of rows is wanted once; empty where all are.
    pub weedout: Vec<u16>,
    /// Derived tables that are made for one key at a time: their places and queries.
    pub by_key: Vec<(usize, QueryPlan)>,
}

/// Plans the joins of a block.
pub(crate) fn plan(mut req: Request<'_>) -> Result<JoinPlan, SqlError> {
    let conds = std::mem::take(&mut req.joins.conds);
    let factored = |c: Cond| {
        let nest = c.nest;
        let parts = alternatives::factored(&c.expr).unwrap_or_else(|| vec![c.expr]);
        parts.into_iter().map(move |expr| Cond { expr, nest })
    };
    let mut conds: Vec<CondInfo> = conds
        .into_iter()
        .flat_map(factored)
        .map(|c| CondInfo::new(c, req.places, req.subqueries))
        .collect();
    dissolve_nests(&mut req.joins, &mut conds, req.places);
    find_anti_joins(&mut req, &mut conds);
    let mut constant = Vec::new();
    let mut i = 0;
    while i < conds.len() {
        if conds[i].constant() || req.tables.is_empty() && !conds[i].late {
            constant.push(conds.remove(i).expr);
        } else {
            i += 1;
        }
    }
    if req.tables.is_empty() {
        // Conditions that wait or read a surrounding row still decide.
        constant.extend(conds.into_iter().map(|c| c.expr));
        return Ok(JoinPlan {
            steps: Vec::new(),
            constant,
            groups: None,
            neighbours: Vec::new(),
            jump: None,
            ordered: true,
            rows: 1.0,
            weedout: Vec::new(),
            by_key: Vec::new(),
        });
    }
    let mut statistics: Vec<Statistics<'_>> = req
        .tables
        .iter()
        .map(|t| Statistics::of(req.engine, t, req.derived))
        .collect();
    note_memory(req.engine, &mut statistics);
    let weeded = weeded_forms(&req.joins, &conds);
    let mut best = arrange(&req, conds, &statistics, true)?;
    let mut weedout = Vec::new();
    let written = req.joins.clone();
    for (joins, conds) in weeded {
        // What a semi-join or an anti-join within finds says nothing of the rows that are wanted.
        let wanted = |t: &u16| !is_filter(&written, usize::from(*t));
        let kept: Vec<u16> = (0..req.tables.len() as u16).filter(wanted).collect();
        let nested = std::mem::replace(&mut req.joins, joins);
        // Rows that are made again and again have no lasting numbers.
        let other = arrange(&req, conds, &statistics, false)?;
        let cheaper = other.cost + other.rows * WEED < best.cost * WEEDING_PAYS;
        let better = match other.broken.cmp(&best.broken) {
            Ordering::Less => true,
            Ordering::Equal => cheaper,
            Ordering::Greater => false,
        };
        let must = weedout.is_empty() && only_weeded(&written);
        if must || better {
            best = other;
            weedout = kept;
        } else {
            req.joins = nested;
        }
    }
    let by_key = best.ordered.take_by_key();
    let mut steps = build_steps(&req, best.ordered, best.conds)?;
    for (step, (cost, out)) in steps.iter_mut().zip(&best.marks) {
        (step.cost, step.out) = (*cost, *out);
    }
    note_early(&req, &statistics, &mut steps);
    if let Some(n) = best.at_most {
        steps[0].at_most = Some(n);
    }
    if best.jump.is_some() {
        steps[0].rows = best.rows;
    }
    Ok(JoinPlan {
        steps,
        constant,
        groups: best.groups,
        neighbours: best.neighbours,
        jump: best.jump,
        ordered: best.sorted,
        rows: best.rows,
        weedout,
        by_key,
    })
}

/// A table with more rows is never kept before its turn.
const EARLY_MOST: f64 = 20_000.0;
/// The share of what the steps before cost that keeping a table before its turn may cost: it is in vain where they have no rows.
const EARLY_SHARE: f64 = 0.1;

/// Notes which small tables are kept before the first combination is looked for: where one has no rows that are wanted, what is large is not read.
fn note_early(req: &Request<'_>, statistics: &[Statistics<'_>], steps: &mut [Step]) {
    if req.changes || req.locks || req.has_limit && req.group.is_none() {
        return;
    }
    let mut made = 0.0;
    let mut before = 0.0;
    for step in steps {
        let t = usize::from(step.table);
        let rows = statistics[t].rows;
        let stored = matches!(req.tables[t].source, TableSource::Engine(_));
        let alone = step.buffer.is_some() && step.lateral.is_none() && !step.anew;
        let small = rows <= EARLY_MOST && rows <= (before + made) * EARLY_SHARE;
        step.early = stored && alone && small && req.joins.nest_of[t] == 0;
        if let TableSource::Derived(n) = req.tables[t].source {
            made += req.makes.get(n as usize).copied().unwrap_or(0.0);
        }
        before = step.cost;
    }
}

/// The work of looking for a combination among those that came.
const WEED: f64 = 0.6;
/// By how much a form with duplicates has to be cheaper: it keeps all combinations that came.
const WEEDING_PAYS: f64 = 0.7;

/// The joins with semi-joins as inner ones, whose duplicates have to be weeded out: with those of the block itself, and where there are more
/// in these, with them too.
fn weeded_forms(joins: &Joins, conds: &[CondInfo]) -> Vec<(Joins, Vec<CondInfo>)> {
    let mut forms: Vec<(Joins, Vec<CondInfo>)> = Vec::new();
    loop {
        let (before, conds) = match forms.last() {
            Some((joins, conds)) => (joins, &conds[..]),
            None => (joins, conds),
        };
        let Some(form) = weeded_form(before, conds) else {
            return forms;
        };
        forms.push(form);
    }
}

/// The joins with the outermost semi-joins as inner ones; `None` where there are none.
fn weeded_form(joins: &Joins, conds: &[CondInfo]) -> Option<(Joins, Vec<CondInfo>)> {
    let semi = |n: usize| {
        let n = &joins.nests[n];
        n.kind == NestKind::Semi && n.parent == 0 && n.strategies.has(Strategies::WEEDOUT)
    };
    // What has no tables of its own may still have others in it.
    let used = |n: u16| joins.nest_of.iter().any(|of| joins.is_within(*of, n));
    let semis: Vec<u16> = (1..joins.nests.len())
        .filter(|&n| semi(n) && used(n as u16))
        .map(|n| n as u16)
        .collect();
    if semis.is_empty() {
        return None;
    }
    let mut joins = joins.clone();
    let mut conds = conds.to_vec();
    for &n in &semis {
        joins.dissolve(n);
        for c in conds.iter_mut().filter(|c| c.nest == n) {
            c.nest = 0;
        }
    }
    Some((joins, conds))
}

/// Whether a table is of a semi-join or an anti-join, or of one in it.
fn is_filter(joins: &Joins, t: usize) -> bool {
    let mut nest = joins.nest_of[t];
    while nest != 0 {
        let n = &joins.nests[usize::from(nest)];
        if n.kind != NestKind::Outer {
            return true;
        }
        if n.parent == nest {
            break;
        }
        nest = n.parent;
    }
    false
}

/// Whether a semi-join may be carried out in no other way than by weeding out duplicates.
fn only_weeded(joins: &Joins) -> bool {
    let tables = joins.nest_of.iter();
    tables
        .map(|n| &joins.nests[usize::from(*n)])
        .any(|n| n.kind == NestKind::Semi && n.parent == 0 && n.strategies == Strategies::WEEDOUT)
}

/// The best order for one form of a block's joins.
struct Arranged {
    ordered: Ordered,
    conds: Vec<CondInfo>,
    sorted: bool,
    at_most: Option<u64>,
    jump: Option<Jump>,
    groups: Option<bool>,
    neighbours: Vec<usize>,
    rows: f64,
    cost: f64,
    marks: Vec<(f64, f64)>,
    /// How often a table comes before one that it should wait for.
    broken: usize,
}

fn arrange(
    req: &Request<'_>,
    mut conds: Vec<CondInfo>,
    statistics: &[Statistics<'_>],
    by_key: bool,
) -> Result<Arranged, SqlError> {
    conds.extend(alternatives::implied(&conds, req.places));
    let (tables, nest_of) = (req.tables, &req.joins.nest_of);
    conds.extend(computed::implied(
        &conds, tables, nest_of, req.places, req.cx,
    ));
    conds.extend(elements::implied(
        &conds, tables, nest_of, req.places, req.cx,
    ));
    equalities::close(&mut conds, req.tables, &req.joins.nest_of, req.places);
    let selectivity = Selectivity {
        estimator: req.estimator,
        tables: statistics,
        places: req.places,
    };
    let noted = req.estimator.count();
    let mut paths = Vec::with_capacity(req.tables.len());
    for (n, t) in req.tables.iter().enumerate() {
        let nest = req.joins.nest_of[n];
        let reads = req.reads.get(n).map(Vec::as_slice);
        let rules = Rules {
            changes: req.changes,
            unions: unions(req, t),
            invisible: req.switches.use_invisible_indexes(),
        };
        paths.push(Paths::new(n, t, &conds, nest, &selectivity, rules, reads)?);
    }
    let own = conds.iter().filter(|c| !c.copied);
    let own: Vec<(u16, &Expr)> = own.map(|c| (c.nest, &c.expr)).collect();
    let mut own = selectivity.of_all(&own).into_iter();
    if let [only] = &paths[..]
        && !req.has_limit
        && only.speak_of_the_rows_order_alone()
    {
        req.estimator.forget(noted);
    }
    let share = |c: &CondInfo| match c.copied {
        true => 1.0,
        false => own.next().unwrap_or(1.0),
    };
    let shares = conds.iter().map(share).collect();
    let laterals = match by_key {
        true => lateral::of_block(req, &conds),
        false => Vec::new(),
    };
    let mut graph = Graph::new(req, paths, &conds, shares, &laterals);
    let mut ordered = Ordered::default();
    let mut bound = 0u64;
    let mut found = graph.order()?;
    if by_key && let Some(other) = first_rows::order(req, &mut graph, &found)? {
        found = other;
    }
    for (t, path) in found.tables {
        ordered.tables.push(t);
        let mut choice = graph.paths[t].choice(path, bound);
        if found.by_key & (1 << t) != 0
            && let Some(Some(l)) = laterals.get(t)
        {
            l.choose(bound, &mut choice)?;
        }
        ordered.choices.push(choice);
        bound |= 1 << t;
    }
    let mut come = 0u64;
    let mut broken = 0;
    for &t in &ordered.tables {
        come |= 1 << t;
        broken += usize::from(req.joins.after[t] & !come != 0);
    }
    let sorted = order::satisfy(req, &graph.paths, &mut ordered);
    let at_most = order::first_of_index(req, &graph.paths, &conds, &mut ordered);
    let jumps = match at_most {
        Some(_) => None,
        None => jump::choose(req, &graph.paths, &conds, &mut ordered, found.cost),
    };
    let groups = match (at_most, &jumps) {
        (None, None) => order::satisfy_groups(req, &graph.paths, &mut ordered),
        _ => None,
    };
    let neighbours = match (at_most, &jumps, groups) {
        (None, None, None) => order::satisfy_distinct(req, &graph.paths, &mut ordered),
        _ => Vec::new(),
    };
    let (mut rows, mut cost, mut marks) = (found.rows, found.cost, found.marks);
    if let Some((_, groups, costs)) = jumps {
        (rows, cost) = (groups, costs);
        marks = vec![(costs, groups)];
    }
    Ok(Arranged {
        ordered,
        // What is jumped through comes as groups do.
        sorted: sorted && jumps.is_none(),
        at_most,
        jump: jumps.map(|j| j.0),
        groups,
        neighbours,
        rows,
        cost,
        marks,
        broken,
        conds,
    })
}

/// Whether several indexes of a table may be read together.
fn unions(req: &Request<'_>, t: &FromTable) -> bool {
    let s = req.switches;
    let on = s.index_merge() && (s.index_merge_union() || s.index_merge_sort_union());
    let said = t.hints().index_merge.as_ref();
    // What it forbids of single indexes is for those who make them.
    let on = said.map_or(on, |(merge, indexes)| match (*merge, indexes.is_empty()) {
        (true, _) => true,
        (false, true) => false,
        (false, false) => on,
    });
    on && !req.changes
}

/// Turns an outer join into an anti-join where WHERE wants the rows without a match: a column that cannot be NULL is to be NULL.
fn find_anti_joins(req: &mut Request<'_>, conds: &mut Vec<CondInfo>) {
    let joins = &mut req.joins;
    conds.retain(|c| {
        let Node::IsNull(e, false) = &c.expr.node else {
            return true;
        };
        let column = e.as_column().filter(|_| c.nest == 0);
        let Some((t, column)) = column.and_then(|k| Some((req.places.of(k.slot)?, k.ordinal)))
        else {
            return true;
        };
        let TableSource::Engine(table) = &req.tables[t].source else {
            return true;
        };
        let nest = usize::from(joins.nest_of[t]);
        let outer = nest != 0
            && joins.nests[nest].kind == NestKind::Outer
            && joins.nests[nest].parent == 0
            && joins.nests[nest].needs != 0;
        if !outer || table.def.columns[usize::from(column)].nullable {
            return true;
        }
        joins.nests[nest].kind = NestKind::Anti;
        false
    });
}

/// Turns an outer join into an inner one where a condition around it can only hold for joined rows.
fn dissolve_nests(joins: &mut Joins, conds: &mut [CondInfo], places: &Places) {
    loop {
        let dissolved = (1..joins.nests.len()).find(|&n| {
            let n = n as u16;
            let parent = joins.nests[usize::from(n)].parent;
            let outer = joins.nests[usize::from(n)].kind == NestKind::Outer;
            if parent == n || !outer || !joins.nest_of.contains(&n) {
                return false;
            }
            let inside = |slot: u16| {
                let nest = places.of(slot).map(|t| &joins.nest_of[t]);
                nest.is_some_and(|&o| joins.is_within(o, n))
            };
            conds
                .iter()
                .any(|c| c.nest == parent && rejects_null(&c.expr, &inside))
        });
        let Some(n) = dissolved else { return };
        let n = n as u16;
        let parent = joins.nests[usize::from(n)].parent;
        joins.dissolve(n);
        for c in conds.iter_mut().filter(|c| c.nest == n) {
            c.nest = parent;
        }
    }
}
