//! The order in which windows are computed, and what rows have to carry for it.
//!
//! MySQL moves a window to the first one with the same sort, and sorts once for both. Here a window whose PARTITION BY and ORDER BY begin the sort of another
//! goes by that sort as well (Cao, Chan, Li and Tan, "Optimization of Analytic Window Functions", PVLDB 5, 2012, go further). Otherwise windows stay in the
//! order in which they were written, so that rows come out in the order of the last sort, as they do in MySQL.

use crate::bind::group::written;
use crate::bind::subqueries_of;
use crate::bind::tree::{
    BoundSub, FIRST_SPECIAL_SLOT, GROUP_SLOT, GroupPlan, ROLLUP_SLOT, SortKey, SubAggregates,
    WINDOW_ROW_SLOT,
};
use crate::bind::window_tree::{Frame, Window, Windows};
use crate::plan::op::window::{Stage, WindowPlan};
use sql_expr::column_name::ColumnName;
use sql_expr::window::WindowFn;
use sql_expr::{Column, Expr, Node};

/// The expressions of a block behind its groups.
pub(crate) struct Shown<'a> {
    /// The select list.
    pub output: &'a mut [Expr],
    /// HAVING.
    pub having: Option<&'a mut Expr>,
    /// ORDER BY.
    pub order: &'a mut [SortKey],
}

/// Has groups, and rows on their way to window functions, carry what later expressions read; yields how the functions are computed.
pub(crate) fn carry(
    group: Option<&mut GroupPlan>,
    mut windows: Option<Box<Windows>>,
    shown: Shown<'_>,
    subqueries: &[BoundSub],
    base: u16,
) -> Option<Box<WindowPlan>> {
    let mut around = Around {
        base,
        aggregates: 0,
        below: SubAggregates {
            slot: u16::MAX,
            own: 0,
        },
        subqueries,
    };
    if let Some(g) = group {
        let own = shown.output.iter_mut().chain(shown.having);
        let late = own.chain(shown.order.iter_mut().map(|k| &mut k.expr));
        let windows = windows.iter_mut().flat_map(|w| w.exprs_mut());
        g.carry(late.chain(windows), subqueries, base);
        around.aggregates = g.aggregates.len();
        around.below = g.below;
    }
    Some(Box::new(plan(
        *windows?,
        shown.output,
        shown.order,
        &around,
    )))
}

/// What is known of the block around.
struct Around<'a> {
    /// The first slot of the block.
    base: u16,
    /// How many aggregates its groups have.
    aggregates: usize,
    /// How its subqueries read them.
    below: SubAggregates,
    /// Its subqueries.
    subqueries: &'a [BoundSub],
}

/// What rows carry to the window functions.
struct Carrier {
    base: u16,
    carried: Vec<(u16, u16)>,
}

impl Carrier {
    fn is_own(&self, slot: u16) -> bool {
        let of_groups = slot == GROUP_SLOT || slot == ROLLUP_SLOT;
        of_groups || slot >= self.base && slot < FIRST_SPECIAL_SLOT
    }

    fn place(&mut self, slot: u16, ordinal: u16) -> usize {
        let known = self.carried.iter().position(|c| *c == (slot, ordinal));
        known.unwrap_or_else(|| {
            self.carried.push((slot, ordinal));
            self.carried.len() - 1
        })
    }

    /// Makes an expression read its columns from a stored row.
    fn carry(&mut self, e: &mut Expr) {
        if let Node::Column(c) = &mut e.node {
            if self.is_own(c.slot) {
                let at = self.place(c.slot, c.ordinal);
                (c.slot, c.ordinal) = (WINDOW_ROW_SLOT, at as u16);
            }
            return;
        }
        e.each_child_mut(&mut |x| self.carry(x));
    }
}

/// What windows and functions read of a row, each expression once.
#[derive(Default)]
struct Inputs {
    texts: Vec<Option<String>>,
    exprs: Vec<Expr>,
}

impl Inputs {
    /// The place of an expression's value.
    fn place(&mut self, e: &Expr) -> usize {
        let changes = e.any(&|x| match &x.node {
            Node::Call(c) => c.def.volatile() || c.def.special(),
            Node::AssignVar(..) => true,
            _ => false,
        });
        let text = (!changes).then(|| written(e));
        if let Some(t) = &text
            && let Some(at) = self.texts.iter().position(|k| k.as_ref() == Some(t))
        {
            return at;
        }
        self.texts.push(text);
        self.exprs.push(e.clone());
        self.exprs.len() - 1
    }
}

/// The value of an expression as a stored row has it.
fn stored(e: &Expr, at: usize) -> Expr {
    // As messages name it.
    let name = match &e.node {
        Node::Column(c) => c.name.clone(),
        _ => ColumnName::Expression(sql_expr::text(e).into()),
    };
    Expr {
        node: Node::Column(Column {
            slot: WINDOW_ROW_SLOT,
            ordinal: at as u16,
            // What is stored is in the session's time zone.
            utc: false,
            name,
        }),
        ty: e.ty,
    }
}

/// Plans the window functions of a block, whose select list and order are made to read the rows that they yield.
fn plan(
    windows: Windows,
    output: &mut [Expr],
    order: &mut [SortKey],
    around: &Around<'_>,
) -> WindowPlan {
    let mut carrier = Carrier {
        base: around.base,
        carried: Vec::new(),
    };
    let mut used: Vec<u32> = Vec::new();
    for e in output
        .iter_mut()
        .chain(order.iter_mut().map(|k| &mut k.expr))
    {
        subqueries_of(e, &mut used);
        carrier.carry(e);
    }
    used.sort_unstable();
    used.dedup();
    used.retain(|i| around.subqueries[*i as usize].correlated);
    for s in used.iter().map(|i| &around.subqueries[*i as usize]) {
        for &(slot, ordinal) in &s.outer {
            if carrier.is_own(slot) && !around.below.has(slot) {
                carrier.place(slot, ordinal);
            }
        }
    }
    let before = carrier.carried.len() + around.aggregates;
    let mut inputs = Inputs::default();
    let mut stages = Vec::with_capacity(windows.windows.len());
    for (window, sorts) in in_turn(&windows.windows) {
        stages.push(stage(&windows, window, sorts, before, &mut inputs));
    }
    let mut width = before + inputs.exprs.len();
    let mut values = vec![0; windows.functions.len()];
    for s in &mut stages {
        s.width = width;
        for (n, f) in windows.functions.iter().enumerate() {
            if f.window == s.window {
                values[n] = width;
                width += 1;
            }
        }
    }
    WindowPlan {
        windows,
        carried: carrier.carried,
        aggregates: around.aggregates,
        below: around.below,
        inputs: inputs.exprs,
        stages,
        values,
        subqueries: used,
    }
}

fn stage(all: &Windows, window: usize, sorts: bool, before: usize, inputs: &mut Inputs) -> Stage {
    let w = &all.windows[window];
    let mut input = |e: &Expr| stored(e, before + inputs.place(e));
    let key = |k: &SortKey, expr| SortKey {
        expr,
        desc: k.desc,
        part: k.part.clone(),
    };
    let keys: Vec<SortKey> = w.keys().map(|k| key(k, input(&k.expr))).collect();
    let mut frame: Frame = w.frame.clone();
    for end in [&mut frame.start, &mut frame.end] {
        let limit = end.distance_mut().and_then(|d| d.limit.as_mut());
        if let (Some((e, _)), Some(own)) = (limit, keys.get(w.partition.len())) {
            read_key(e, &own.expr);
        }
    }
    let functions = all.functions.iter().filter(|f| f.window == window);
    let functions: Vec<WindowFn> = functions
        .map(|f| {
            let mut f = f.function.clone();
            for e in f.inputs_mut() {
                if e.as_const().is_none() && !matches!(e.node, Node::Param(..)) {
                    *e = input(e);
                }
            }
            f
        })
        .collect();
    Stage {
        window,
        partition: w.partition.len(),
        keys,
        sorts,
        frame,
        functions,
        width: 0,
    }
}

/// Makes the end of a RANGE frame begin with the stored key of the current row.
fn read_key(e: &mut Expr, key: &Expr) {
    match &mut e.node {
        Node::Arith(_, _, p) => p[0] = key.clone(),
        Node::DateArith(p, ..) => p[0] = key.clone(),
        _ => {}
    }
}

/// The windows in the order in which they are computed, and whether rows are sorted for each.
fn in_turn(windows: &[Window]) -> Vec<(usize, bool)> {
    let text = |w: &Window| -> Vec<(String, bool)> {
        w.keys().map(|k| (written(&k.expr), k.desc)).collect()
    };
    let keys: Vec<Vec<(String, bool)>> = windows.iter().map(text).collect();
    let mut done = vec![false; windows.len()];
    let mut turn = Vec::with_capacity(windows.len());
    for w in 0..windows.len() {
        if std::mem::replace(&mut done[w], true) {
            continue;
        }
        // A later one with a longer sort of the same beginning serves this one too.
        let serves = |o: &usize| !done[*o] && keys[*o].starts_with(&keys[w]);
        let longest = (w + 1..windows.len()).filter(serves);
        let longest = longest.max_by_key(|o| (keys[*o].len(), std::cmp::Reverse(*o)));
        let first = match longest {
            Some(o) if !keys[w].is_empty() && keys[o].len() > keys[w].len() => {
                done[o] = true;
                done[w] = false;
                o
            }
            _ => w,
        };
        turn.push((first, !keys[first].is_empty()));
        if keys[first].is_empty() {
            continue;
        }
        for o in 0..windows.len() {
            if !done[o] && !keys[o].is_empty() && keys[first].starts_with(&keys[o]) {
                done[o] = true;
                turn.push((o, false));
            }
        }
    }
    turn
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bind::query::sort_key;
    use crate::bind::window_tree::FrameEnd;
    use sql_expr::ExprType;

    fn window(keys: &[u16]) -> Window {
        let key = |c: &u16| sort_key(Expr::column(0, *c, ExprType::int(11, true), ""), false);
        Window {
            name: None,
            base: None,
            partition: Vec::new(),
            order: keys.iter().map(key).collect(),
            own: (false, true),
            frame: Frame {
                rows: false,
                start: FrameEnd::UnboundedPreceding,
                end: FrameEnd::CurrentRow,
            },
            is_framed: false,
            position: 1,
        }
    }

    #[test]
    fn windows_share_a_sort_that_begins_with_theirs() {
        let turn = |all: &[&[u16]]| {
            let all: Vec<Window> = all.iter().map(|k| window(k)).collect();
            in_turn(&all)
        };
        assert_eq!(
            turn(&[&[1], &[2], &[1]]),
            [(0, true), (2, false), (1, true)]
        );
        assert_eq!(turn(&[&[1], &[1, 2]]), [(1, true), (0, false)]);
        assert_eq!(
            turn(&[&[], &[1, 2], &[2], &[1]]),
            [(0, false), (1, true), (3, false), (2, true)]
        );
        assert_eq!(turn(&[&[2, 1], &[1]]), [(0, true), (1, true)]);
    }
}
