//! `x IN (..)` of constants and `x LIKE pattern` over columns.

use super::eval::{Out, Run};
use super::logic::mark_nulls;
use super::selection::Sel;
use super::truth::{UNKNOWN, byte};
use super::vector::Data;
use crate::compare::Comparer;
use crate::node::Expr;
use crate::node::LikeNode;
use crate::node::{InList, Members};
use crate::val::Val;

/// Lists no longer than this are looked through, longer ones searched.
const SHORT: usize = 8;

/// The constants as whole numbers, in order, where all are.
fn whole(items: &[Val<'_>]) -> Option<Vec<i64>> {
    let one = |v: &Val<'_>| match v {
        Val::Int(i) => Some(*i),
        _ => None,
    };
    items.iter().map(one).collect()
}

impl<'r> Run<'r, '_> {
    /// `x [NOT] IN (..)`
    pub(super) fn in_list(
        &mut self,
        e: &'r Expr,
        list: &'r InList,
        sel: Sel<'_>,
    ) -> Option<Vec<u8>> {
        let Members::Sorted(comparer, items, _) = &list.members else {
            return self.rows_truth(e, sel);
        };
        let x = self.value(&list.expr, sel)?;
        let mut out = self.pool.bytes(self.batch.len());
        let miss = match list.has_null {
            true => UNKNOWN,
            false => u8::from(list.negated),
        };
        let hit = u8::from(!list.negated);
        if let (Comparer::Int | Comparer::Exact, Data::I64(d), false) =
            (comparer, x.data(), x.is_constant())
            && let Some(items) = whole(items)
        {
            let short = items.len() <= SHORT;
            sel.each(|i| {
                let found = match short {
                    true => items.contains(&d[i]),
                    false => items.binary_search(&d[i]).is_ok(),
                };
                out[i] = if found { hit } else { miss };
            });
            mark_nulls(&mut out, &x, sel);
            return Some(out);
        }
        if let (Comparer::Text(c), Some(t), false) = (comparer, x.texts(), x.is_constant())
            && items.len() <= SHORT
            && let Some(items) = items
                .iter()
                .map(super::build::bytes_of)
                .collect::<Option<Vec<_>>>()
        {
            sel.each(|i| {
                let s = t.get(i);
                let found = items.iter().any(|k| c.equal(s, k));
                out[i] = if found { hit } else { miss };
            });
            mark_nulls(&mut out, &x, sel);
            return Some(out);
        }
        let cx = self.cx;
        cx.quietly(|| {
            sel.each(|i| {
                let found = list.found_among(&x.val(i), cx);
                out[i] = byte(found.map(|f| f != list.negated));
            });
        })?;
        Some(out)
    }

    /// `x [NOT] LIKE pattern`
    pub(super) fn like(&mut self, like: &'r LikeNode, sel: Sel<'_>) -> Option<Vec<u8>> {
        if like.given.is_some() {
            return None;
        }
        let (t, p): (Out<'r>, Out<'r>) = (
            self.value(&like.text, sel)?,
            self.value(&like.pattern, sel)?,
        );
        let mut out = self.pool.bytes(self.batch.len());
        let cx = self.cx;
        cx.quietly(|| {
            for i in sel.iter() {
                out[i] = byte(like.matches(&t.val(i), &p.val(i), cx).ok()?);
            }
            Some(())
        })??;
        Some(out)
    }
}
