//! Window functions as text: in the statement that EXPLAIN notes, in its tree and in JSON. As in MySQL's `Window::print` and its EXPLAIN.

use std::fmt::Write;

use super::access_words::sort_text;
use super::block::Block;
use super::in_block::{InBlock, quoted};
use super::op::window::Stage;
use crate::bind::tree::SortKey;
use crate::bind::window_tree::{FrameEnd, Window};
use sql_expr::window::{WindowFn, WindowKind};
use sql_expr::{Expr, Shape, Surroundings};
use sql_parser::ast::{AggregateFunc, WindowFunc};

/// A window function without its window.
pub(super) fn call(cx: &InBlock<'_>, f: &WindowFn) -> String {
    match &f.kind {
        WindowKind::Aggregate(a) => cx.aggregate_text(a),
        WindowKind::Function(func, args) => {
            let args: Vec<String> = args.iter().map(|e| cx.text(e)).collect();
            format!("{}({})", func.name(), args.join(","))
        }
    }
}

/// A window function by its number.
pub(super) fn function(b: &Block, cx: &InBlock<'_>, number: usize, out: &mut String) {
    let Some(w) = b.windows() else { return };
    let Some(f) = w.windows.functions.get(number) else {
        return;
    };
    let _ = write!(out, "{} OVER ", call(cx, &f.function));
    let window = &w.windows.windows[f.window];
    match &window.name {
        Some(name) => out.push_str(&named(cx, name)),
        None => definition(cx, window, out),
    }
}

/// The name of a window.
fn named(cx: &InBlock<'_>, name: &str) -> String {
    match cx.bare_names() {
        true => name.to_owned(),
        false => quoted(name),
    }
}

/// A window as it is written.
fn definition(cx: &InBlock<'_>, w: &Window, out: &mut String) {
    out.push('(');
    if let Some(base) = &w.base {
        let _ = write!(out, "{} ", named(cx, base));
    }
    let list = |word: &str, keys: &[SortKey], out: &mut String| {
        for (i, k) in keys.iter().enumerate() {
            out.push_str(if i == 0 { word } else { "," });
            out.push_str(&cx.text(&k.expr));
            if k.desc {
                out.push_str(" desc");
            }
        }
        out.push(' ');
    };
    if w.own.0 {
        list("PARTITION BY ", &w.partition, out);
    }
    if w.own.1 {
        list("ORDER BY ", &w.order, out);
    }
    if w.is_framed {
        out.push_str(if w.frame.rows { "ROWS" } else { "RANGE" });
        out.push_str(" BETWEEN ");
        frame_end(cx, &w.frame.start, true, out);
        out.push_str(" AND ");
        frame_end(cx, &w.frame.end, false, out);
    }
    out.push_str(") ");
}

fn frame_end(cx: &InBlock<'_>, e: &FrameEnd, is_start: bool, out: &mut String) {
    let word = match e {
        FrameEnd::CurrentRow => return out.push_str("CURRENT ROW"),
        FrameEnd::UnboundedPreceding | FrameEnd::UnboundedFollowing => {
            return out.push_str(match is_start {
                true => "UNBOUNDED PRECEDING",
                false => "UNBOUNDED FOLLOWING",
            });
        }
        FrameEnd::Preceding(_) => " PRECEDING",
        FrameEnd::Following(_) => " FOLLOWING",
    };
    if let Some(d) = e.distance() {
        let amount = cx.text(&d.amount);
        match d.unit {
            Some(unit) => {
                let _ = write!(out, "INTERVAL {amount} {} ", unit.name());
            }
            None => out.push_str(&amount),
        }
    }
    out.push_str(word);
}

/// WINDOW of a statement.
pub(super) fn clause(b: &Block, cx: &InBlock<'_>, out: &mut String) {
    let Some(w) = b.windows() else { return };
    let mut word = " window ";
    let mut all: Vec<&Window> = w.windows.windows.iter().chain(&w.windows.bases).collect();
    all.sort_by_key(|w| w.position);
    for window in all {
        if let Some(name) = &window.name {
            let _ = write!(out, "{word}{} AS ", quoted(name));
            definition(cx, window, out);
            word = ", ";
        }
    }
}

/// Whether rows are kept to compute a function.
fn needs_buffer(f: &WindowFn, s: &Stage) -> bool {
    match &f.kind {
        WindowKind::Function(
            WindowFunc::RowNumber | WindowFunc::Rank | WindowFunc::DenseRank,
            _,
        ) => false,
        _ if f.is_framed() => {
            let running = s.frame.rows
                && matches!(s.frame.start, FrameEnd::UnboundedPreceding)
                && matches!(s.frame.end, FrameEnd::CurrentRow);
            !running
        }
        _ => true,
    }
}

/// Whether a function is computed anew for each frame.
fn is_again(f: &WindowFn) -> bool {
    let WindowKind::Aggregate(a) = &f.kind else {
        return false;
    };
    match a.func {
        AggregateFunc::Sum | AggregateFunc::Avg => matches!(f.ty.shape, Shape::Double { .. }),
        AggregateFunc::Count
        | AggregateFunc::BitAnd
        | AggregateFunc::BitOr
        | AggregateFunc::BitXor => false,
        _ => true,
    }
}

/// Whether a window keeps rows, and whether it goes through a frame more than once.
pub(super) fn buffers(s: &Stage) -> (bool, bool) {
    let fixed = matches!(s.frame.start, FrameEnd::UnboundedPreceding)
        && matches!(s.frame.end, FrameEnd::UnboundedFollowing);
    let kept = s.functions.iter().any(|f| needs_buffer(f, s));
    (kept, kept && !fixed && s.functions.iter().any(is_again))
}

/// What is done for window functions, as FORMAT=TREE calls it: a sort, where there is one, and the functions.
pub(super) fn operations(b: &Block) -> Vec<(Option<String>, String)> {
    let Some(w) = b.windows() else {
        return Vec::new();
    };
    let cx = InBlock::bare(b);
    let one = |s: &Stage| {
        let window = &w.windows.windows[s.window];
        let keys: Vec<SortKey> = window.keys().cloned().collect();
        let text = |e: &Expr| cx.text(e);
        let sort = s.sorts.then(|| sort_text(&keys, &text, None));
        let mut out = match buffers(s) {
            (_, true) => "Window multi-pass aggregate with buffering: ".to_owned(),
            (true, false) => "Window aggregate with buffering: ".to_owned(),
            (false, false) => "Window aggregate: ".to_owned(),
        };
        let functions = w.windows.functions.iter().enumerate();
        let own = functions.filter(|(_, f)| f.window == s.window);
        for (i, (number, _)) in own.enumerate() {
            if i > 0 {
                out.push_str(", ");
            }
            function(b, &cx, number, &mut out);
        }
        (sort, out)
    };
    w.stages.iter().map(one).collect()
}
