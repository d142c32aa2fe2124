//! Puts every condition at its step, decides which tables are read once and kept, and where outer joins begin and end.

use types::SqlError;

use crate::bind::nests::NestKind;
use crate::bind::reads::{subqueries_of, tables_of};
use crate::bind::source::TableSource;
use crate::bind::tree::BoundSub;
use crate::optimize::conditions::{CondInfo, Request};
use crate::optimize::physical::access::Choice;
use crate::optimize::physical::hashing::hashable;
use crate::optimize::physical::order::Ordered;
use crate::optimize::rewrite::elements::is_for_look_ups;
use crate::plan::{HashKey, LateExpr, NestPlan, Step};
use sql_expr::{CmpOp, Expr, Node};

/// Makes the steps of a block.
///
/// # Errors
/// A fault of ours: a condition that no step can check.
pub(crate) fn build_steps(
    req: &Request<'_>,
    ordered: Ordered,
    conds: Vec<CondInfo>,
) -> Result<Vec<Step>, SqlError> {
    let tables = ordered.tables;
    let mut owner: Vec<Option<usize>> = vec![None; conds.len()];
    let mut follows = vec![false; conds.len()];
    let mut steps: Vec<Step> = Vec::with_capacity(tables.len());
    let mut bound = 0u64;
    for (s, (&t, choice)) in tables.iter().zip(ordered.choices).enumerate() {
        for &c in &choice.used {
            owner[c] = Some(s);
        }
        needless_links(req, t, &choice.used, bound, &conds, &mut follows);
        steps.push(step(req, t, choice, bound, s, &conds, &follows));
        bound |= 1 << t;
    }
    let spans = nest_spans(req, &tables);
    let kind = |n: usize| req.joins.nests[n].kind;
    for (n, span) in spans.iter().enumerate() {
        // Without a match there is nothing to do for a semi-join.
        if let (Some((first, last)), true) = (span, kind(n) != NestKind::Semi) {
            steps[*first].opens.push(*last as u16);
        }
    }
    // Outermost first where several begin, innermost first where several end.
    for s in &mut steps {
        s.opens
            .sort_unstable_by_key(|&last| std::cmp::Reverse(last));
    }
    let mut ends: Vec<(usize, usize, usize)> = Vec::new();
    for (n, span) in spans.iter().enumerate() {
        if let Some((first, last)) = span {
            ends.push((*last, *first, n));
        }
    }
    ends.sort_unstable_by_key(|&(_, first, n)| std::cmp::Reverse((first, n)));
    let mut end_of_nest = vec![(0usize, 0usize); spans.len()];
    for (last, first, n) in ends {
        end_of_nest[n] = (last, steps[last].nests.len());
        steps[last].nests.push(NestPlan {
            kind: kind(n),
            first: first as u16,
            after: Vec::new(),
        });
    }
    for ((c, owner), follows) in conds.into_iter().zip(owner).zip(follows) {
        if owner.is_none() && c.copied && is_for_look_ups(&c.expr) {
            continue;
        }
        if !follows {
            place(req, c, owner, &tables, &spans, &end_of_nest, &mut steps)?;
        }
    }
    Ok(steps)
}

/// Marks the links of classes of equal columns that a table need not be checked against: one for each of its columns is enough, and
/// what it is read by is one.
fn needless_links(
    req: &Request<'_>,
    t: usize,
    used: &[usize],
    bound: u64,
    conds: &[CondInfo],
    follows: &mut [bool],
) {
    let own = 1u64 << t;
    let slot = req.tables[t].slot;
    let column = |e: &Expr| e.as_column().filter(|c| c.slot == slot).map(|c| c.ordinal);
    // Class and column, for what is linked already.
    let mut linked: Vec<(u16, u16)> = Vec::new();
    let mut links: Vec<(usize, u16, u16, Option<u16>)> = Vec::new();
    for (n, c) in conds.iter().enumerate() {
        let (Some(class), Node::Compare(_, _, p)) = (c.class, &c.expr.node) else {
            continue;
        };
        if c.tables & own == 0 || c.tables & !(bound | own) != 0 {
            continue;
        }
        match (column(&p[0]), column(&p[1])) {
            (Some(a), Some(b)) => links.push((n, class, a, Some(b))),
            (Some(a), None) | (None, Some(a)) if used.contains(&n) => linked.push((class, a)),
            (Some(a), None) | (None, Some(a)) => links.push((n, class, a, None)),
            (None, None) => {}
        }
    }
    // First to the tables before, then among its own columns.
    links.sort_by_key(|l| l.3.is_some());
    for (n, class, a, b) in links {
        let is = |x: u16| linked.contains(&(class, x));
        match b {
            None if is(a) => follows[n] = true,
            None => linked.push((class, a)),
            Some(b) if is(a) && is(b) => follows[n] = !used.contains(&n),
            Some(b) => linked.extend([(class, a), (class, b)]),
        }
    }
}

/// The first and last step of every nest.
fn nest_spans(req: &Request<'_>, tables: &[usize]) -> Vec<Option<(usize, usize)>> {
    let nests = req.joins.nests.len();
    let mut spans: Vec<Option<(usize, usize)>> = vec![None; nests];
    for (s, &t) in tables.iter().enumerate() {
        let mut n = req.joins.nest_of[t];
        while n != 0 {
            let span = spans[usize::from(n)].get_or_insert((s, s));
            span.1 = s;
            let parent = req.joins.nests[usize::from(n)].parent;
            if parent == n {
                break;
            }
            n = parent;
        }
    }
    spans
}

fn step(
    req: &Request<'_>,
    t: usize,
    choice: Choice,
    bound: u64,
    s: usize,
    conds: &[CondInfo],
    follows: &[bool],
) -> Step {
    let from = &req.tables[t];
    let stored = matches!(from.source, TableSource::Engine(_));
    let mut depends = false;
    choice.access.each_key(&mut |e| {
        depends |= tables_of(e, req.places, req.subqueries) & bound != 0;
    });
    let kept = from.is_kept(req.switches) && s > 0 && !depends;
    let sideways = from.lateral.as_deref();
    let buffer = if choice.by_key.is_some() || sideways.is_some() {
        Some(Vec::new())
    } else if !stored || kept {
        Some(match from.is_hashed(req.switches) {
            true => hash_keys(req, t, bound, conds, follows),
            false => Vec::new(),
        })
    } else {
        None
    };
    Step {
        table: t as u16,
        access: choice.access,
        buffer,
        lateral: match sideways {
            Some(l) => Some(l.columns.clone().into()),
            None => choice.by_key.map(|k| k.columns.into()),
        },
        anew: sideways.is_some_and(|l| !l.repeats),
        filter: Vec::new(),
        probe: Vec::new(),
        implied: Vec::new(),
        late: Vec::new(),
        opens: Vec::new(),
        nests: Vec::new(),
        at_most: None,
        early: false,
        rows: choice.rows,
        cover: None,
        out: 0.0,
        cost: 0.0,
    }
}

/// The equalities by which kept rows of a table can be looked up.
fn hash_keys(
    req: &Request<'_>,
    t: usize,
    bound: u64,
    conds: &[CondInfo],
    follows: &[bool],
) -> Vec<HashKey> {
    let own = 1u64 << t;
    let nest = req.joins.nest_of[t];
    let mut keys = Vec::new();
    if bound == 0 {
        return keys;
    }
    let checked = conds.iter().zip(follows).filter(|(_, f)| !**f);
    for (c, _) in checked.filter(|(c, _)| c.nest == nest && !c.late) {
        let Node::Compare(CmpOp::Eq, comparer, p) = &c.expr.node else {
            continue;
        };
        for (build, probe) in [(&p[0], &p[1]), (&p[1], &p[0])] {
            let b = tables_of(build, req.places, req.subqueries);
            let q = tables_of(probe, req.places, req.subqueries);
            if b != own || q == 0 || q & !bound != 0 {
                continue;
            }
            if let Some(collation) = hashable(comparer, build, probe) {
                keys.push(HashKey {
                    build: build.clone(),
                    probe: probe.clone(),
                    collation,
                });
                break;
            }
        }
    }
    keys
}

/// Conditions checked on fetched rows carry the subqueries to evaluate before.
fn late(expr: Expr, subqueries: &[BoundSub]) -> LateExpr {
    let mut used = Vec::new();
    subqueries_of(&expr, &mut used);
    used.retain(|&i| subqueries[i as usize].correlated);
    LateExpr {
        expr,
        subqueries: used,
    }
}

fn place(
    req: &Request<'_>,
    c: CondInfo,
    owner: Option<usize>,
    tables: &[usize],
    spans: &[Option<(usize, usize)>],
    end_of_nest: &[(usize, usize)],
    steps: &mut [Step],
) -> Result<(), SqlError> {
    if let Some(s) = owner {
        steps[s].implied.push(c.expr);
        return Ok(());
    }
    let nests = &req.joins.nests;
    let mut at = if c.tables == 0 && c.nest == 0 {
        tables.len() - 1
    } else {
        (0..tables.len())
            .rev()
            .find(|&s| c.tables & (1 << tables[s]) != 0)
            .unwrap_or(0)
    };
    if let Some((first, _)) = spans[usize::from(c.nest)] {
        at = at.max(first);
    }
    let mut n = req.joins.nest_of[tables[at]];
    if n == c.nest {
        let step = &mut steps[at];
        let own = 1u64 << tables[at];
        if c.late {
            step.late.push(late(c.expr, req.subqueries));
        } else if step.buffer.is_some() && (c.tables & !own != 0 || c.tables == 0) {
            step.probe.push(c.expr);
        } else {
            step.filter.push(c.expr);
        }
        return Ok(());
    }
    // The outermost outer join between the condition's own nest and the table.
    while nests[usize::from(n)].parent != c.nest && nests[usize::from(n)].parent != n && n != 0 {
        n = nests[usize::from(n)].parent;
    }
    if n == 0 {
        return Err(SqlError::internal(
            "a condition is checked outside of its join",
        ));
    }
    let (last, i) = end_of_nest[usize::from(n)];
    steps[last].nests[i]
        .after
        .push(late(c.expr, req.subqueries));
    Ok(())
}
