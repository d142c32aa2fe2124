//! GROUP_CONCAT: texts joined in the order asked for, cut at `group_concat_max_len` with warning 1260.

use std::cmp::Ordering;

use types::error::codes;
use types::{Level, Warning};

use super::AggSpec;
use crate::ctx::EvalCtx;
use crate::keys::sort_order;
use crate::val::Val;

/// The texts of a group.
#[derive(Debug, Clone, Default)]
pub(crate) struct Concat {
    /// Without ORDER BY: the result so far.
    joined: Vec<u8>,
    /// With ORDER BY: sort keys and texts.
    rows: Vec<(Vec<Val<'static>>, Vec<u8>)>,
    count: u64,
    cut: bool,
}

impl Concat {
    /// Adds the text of a row.
    pub(super) fn add(
        &mut self,
        spec: &AggSpec,
        text: &[u8],
        keys: Vec<Val<'static>>,
        cx: &EvalCtx<'_>,
    ) {
        if spec.order_by.is_empty() {
            self.join(spec, text, cx);
        } else {
            self.rows.push((keys, text.to_vec()));
        }
    }

    /// Whether nothing more is kept.
    pub(super) fn is_full(&self) -> bool {
        self.cut
    }

    fn join(&mut self, spec: &AggSpec, text: &[u8], cx: &EvalCtx<'_>) {
        self.count += 1;
        if self.cut {
            return;
        }
        if self.count > 1 {
            self.joined.extend_from_slice(&spec.separator);
        }
        self.joined.extend_from_slice(text);
        let limit = usize::try_from(cx.vars.hot().group_concat_max_len).unwrap_or(usize::MAX);
        if self.joined.len() > limit {
            self.cut = true;
            let charset = spec.ty.charset();
            let mut end = limit;
            // not in the middle of a character
            while charset.is_utf8() && end > 0 && self.joined[end] & 0xC0 == 0x80 {
                end -= 1;
            }
            self.joined.truncate(end);
            cx.warn(Warning::new(
                Level::Warning,
                codes::ER_CUT_VALUE_GROUP_CONCAT,
                format!("Row {} was cut by GROUP_CONCAT()", self.count),
            ));
        }
    }

    /// The result; NULL for no row.
    pub(super) fn finish(mut self, spec: &AggSpec, cx: &EvalCtx<'_>) -> Val<'static> {
        let mut rows = std::mem::take(&mut self.rows);
        rows.sort_by(|(a, _), (b, _)| {
            for ((x, y), (e, desc)) in a.iter().zip(b).zip(&spec.order_by) {
                let o = sort_order(x, y, &e.ty);
                if o != Ordering::Equal {
                    return if *desc { o.reverse() } else { o };
                }
            }
            Ordering::Equal
        });
        for (_, text) in rows {
            self.join(spec, &text, cx);
        }
        if self.count == 0 {
            Val::Null
        } else {
            Val::owned(self.joined)
        }
    }
}
