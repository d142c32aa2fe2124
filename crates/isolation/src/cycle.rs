//! Circles of dependencies, by class, each told as its smallest example.

use crate::graph::{Deps, Edge, Kinds, Node};
use crate::history::History;
use crate::order::{deeds, name};
use crate::verdict::{Anomaly, Level, Verdict};
use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt::Write as _;

const DIRECT: Kinds = Kinds::WW.and(Kinds::WR);
const ALL: Kinds = DIRECT.and(Kinds::RW);

/// How many places of a component are looked at for small circles.
const STARTS: usize = 64;

/// A graph to look for circles in: which edges, and whether two `rw` may follow each other.
#[derive(Clone, Copy)]
struct View<'a> {
    deps: &'a Deps,
    kinds: Kinds,
    /// Each node is there twice then: entered by `rw`, and entered otherwise. The first must not be left by `rw`.
    apart: bool,
}

/// A node of a view: the node, and whether it was entered by `rw` (always false unless that matters).
type Place = (Node, bool);

impl View<'_> {
    fn next(self, place: Place) -> impl Iterator<Item = (Place, Edge)> {
        let (node, by_rw) = place;
        self.deps.out[node as usize]
            .iter()
            .filter(move |e| {
                e.kind.has(self.kinds) && !(self.apart && by_rw && e.kind == Kinds::RW)
            })
            .map(move |e| ((e.to, self.apart && e.kind == Kinds::RW), *e))
    }

    fn index(self, place: Place) -> usize {
        place.0 as usize * 2 + usize::from(place.1)
    }

    /// The sets of places that all reach each other, larger than one.
    fn components(self) -> Vec<Vec<Place>> {
        let nodes = self.deps.out.len();
        let factor = if self.apart { 2 } else { 1 };
        let mut graph: DiGraph<(), ()> = DiGraph::with_capacity(nodes * factor, nodes * 4 * factor);
        for _ in 0..nodes * factor {
            graph.add_node(());
        }
        let at = |p: Place| NodeIndex::new(p.0 as usize * factor + usize::from(p.1));
        for node in 0..nodes as Node {
            for by_rw in [false, true].into_iter().take(factor) {
                for (to, _) in self.next((node, by_rw)) {
                    graph.add_edge(at((node, by_rw)), at(to), ());
                }
            }
        }
        kosaraju_scc(&graph)
            .into_iter()
            .filter(|set| set.len() > 1)
            .map(|set| {
                set.into_iter()
                    .map(|n| {
                        let n = n.index();
                        ((n / factor) as Node, factor == 2 && n % 2 == 1)
                    })
                    .collect()
            })
            .collect()
    }

    /// The shortest circle through `start` within a component.
    fn circle(self, start: Place, component: &HashSet<usize>) -> Option<Vec<(Node, Edge)>> {
        let mut from: HashMap<Place, (Place, Edge)> = HashMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(place) = queue.pop_front() {
            for (to, edge) in self.next(place) {
                if to == start {
                    let mut circle = vec![(place.0, edge)];
                    let mut at = place;
                    while at != start {
                        let (before, edge) = from[&at];
                        circle.push((before.0, edge));
                        at = before;
                    }
                    circle.reverse();
                    return Some(circle);
                }
                if component.contains(&self.index(to)) && !from.contains_key(&to) {
                    from.insert(to, (place, edge));
                    queue.push_back(to);
                }
            }
        }
        None
    }

    /// Looks at small circles of every component; whether there was one.
    fn tell(self, mut each: impl FnMut(&[(Node, Edge)])) -> bool {
        let components = self.components();
        for component in &components {
            let inside: HashSet<usize> = component.iter().map(|p| self.index(*p)).collect();
            let step = (component.len() / STARTS).max(1);
            let mut told: HashSet<Vec<Node>> = HashSet::new();
            for start in component.iter().step_by(step) {
                if let Some(circle) = self.circle(*start, &inside) {
                    let mut nodes: Vec<Node> = circle.iter().map(|c| c.0).collect();
                    nodes.sort_unstable();
                    if told.insert(nodes) {
                        each(&circle);
                    }
                }
            }
        }
        !components.is_empty()
    }
}

/// Which anomaly a circle is.
fn class(circle: &[(Node, Edge)]) -> Anomaly {
    let kinds: Vec<Kinds> = circle.iter().map(|c| c.1.kind).collect();
    if kinds.contains(&Kinds::RT) {
        return Anomaly::Stale;
    }
    let rw = kinds.iter().filter(|k| **k == Kinds::RW).count();
    let adjacent = (0..kinds.len())
        .any(|n| kinds[n] == Kinds::RW && kinds[(n + 1) % kinds.len()] == Kinds::RW);
    match rw {
        0 if kinds.contains(&Kinds::WR) => Anomaly::G1c,
        0 => Anomaly::G0,
        1 => {
            let one_item = circle.iter().all(|c| c.1.item == circle[0].1.item);
            if one_item {
                Anomaly::LostUpdate
            } else {
                Anomaly::GSingle
            }
        }
        _ if adjacent => Anomaly::G2Item,
        _ => Anomaly::LongFork,
    }
}

/// A circle in words.
fn words(history: &History, deps: &Deps, circle: &[(Node, Edge)]) -> String {
    let mut text = String::new();
    // Moments in between say nothing to a reader; begin with a transaction.
    let first = circle
        .iter()
        .position(|c| c.0 < deps.moments)
        .unwrap_or_default();
    let around = || circle.iter().cycle().skip(first).take(circle.len());
    for (node, edge) in around() {
        if *node >= deps.moments {
            continue;
        }
        let who = name(history, *node);
        let item = edge.item.map_or_else(String::new, |i| i.to_string());
        let verb = match edge.kind {
            Kinds::WW => format!("wrote {item}, and the next version is of"),
            Kinds::WR => format!("wrote {item} as it was read by"),
            Kinds::RW => format!("read {item} as it was before the write of"),
            _ => "was acknowledged before the beginning of".to_owned(),
        };
        let _ = write!(text, "{who} {verb} ");
    }
    if let Some((node, _)) = around().next() {
        text.push_str(&name(history, *node));
    }
    let mut nodes: Vec<Node> = circle
        .iter()
        .map(|c| c.0)
        .filter(|n| *n < deps.moments)
        .collect();
    nodes.sort_unstable();
    nodes.dedup();
    for node in nodes {
        text.push_str(&deeds(history, node));
    }
    text
}

/// Finds the circles.
pub(crate) fn check(history: &History, deps: &Deps, level: Level, verdict: &mut Verdict) {
    verdict.edges += deps.out.iter().map(|e| e.len() as u64).sum::<u64>();
    let view = |kinds, apart| View { deps, kinds, apart };
    let mut note = |circle: &[(Node, Edge)]| {
        verdict.add(class(circle), || words(history, deps, circle));
    };
    // Nothing at all, which is the common case, is seen by one look.
    if view(ALL.and(Kinds::RT), false).components().is_empty() {
        return;
    }
    view(Kinds::WW, false).tell(&mut note);
    let mut direct = |circle: &[(Node, Edge)]| {
        if class(circle) == Anomaly::G1c {
            note(circle);
        }
    };
    view(DIRECT, false).tell(&mut direct);
    let apart = view(ALL, true).tell(|circle| {
        if !matches!(class(circle), Anomaly::G0 | Anomaly::G1c) {
            note(circle);
        }
    });
    let all = view(ALL, false).tell(|circle| {
        if class(circle) == Anomaly::G2Item {
            note(circle);
        }
    });
    // With real time: what the level promises, and nothing that is wrong without it.
    let (with_time, known) = match level {
        Level::ReadUncommitted => return,
        Level::ReadCommitted | Level::RepeatableRead => (view(DIRECT.and(Kinds::RT), false), false),
        Level::Snapshot => (view(ALL.and(Kinds::RT), true), apart),
        Level::Serializable => (view(ALL.and(Kinds::RT), false), all),
    };
    if !known {
        with_time.tell(|circle| {
            if class(circle) == Anomaly::Stale {
                note(circle);
            }
        });
    }
}
