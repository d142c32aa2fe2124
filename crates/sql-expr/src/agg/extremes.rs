//! MIN and MAX of a frame that moves forward: the rows that may still become the least (or greatest) one, in the order of their places. A row
//! behind which a better one comes never will (Lemire, "Streaming Maximum-Minimum Filter Using No More than Three Comparisons per Element",
//! 2006).

use std::collections::VecDeque;

use types::SqlError;

use super::AggSpec;
use crate::conv;
use crate::ctx::{EvalCtx, RowSource};
use crate::memory::Charge;
use crate::val::Val;
use sql_parser::ast::AggregateFunc;

/// What a candidate takes beside its bytes.
const EACH: usize = 64;

/// The candidates of a frame.
#[derive(Debug, Default)]
pub struct Extremes {
    queue: VecDeque<(u64, Val<'static>)>,
    bytes: usize,
    charge: Charge,
}

fn size(v: &Val<'_>) -> usize {
    match v {
        Val::Bytes(b) => EACH + b.len(),
        _ => EACH,
    }
}

impl Extremes {
    /// Takes the row at a place into the frame. Places come in order.
    ///
    /// # Errors
    /// What evaluating the argument raises; the session may hold no more.
    pub fn add(
        &mut self,
        at: u64,
        spec: &AggSpec,
        cx: &EvalCtx<'_>,
        row: &dyn RowSource,
    ) -> Result<(), SqlError> {
        let Some(arg) = spec.args.first() else {
            return Ok(());
        };
        let v = arg.eval(cx, row)?;
        if v.is_null() {
            return Ok(());
        }
        let least = spec.func == AggregateFunc::Min;
        while let Some((_, last)) = self.queue.back() {
            let order = spec.comparer.order(&v, &arg.ty, last, &arg.ty, cx);
            let better = order.is_some_and(|o| if least { o.is_lt() } else { o.is_gt() });
            if !better {
                break;
            }
            self.bytes -= size(last);
            self.queue.pop_back();
        }
        let v = match v {
            Val::Enum(..) | Val::Set(..) => Val::owned(conv::text_of(&v, &arg.ty).into_owned()),
            v => v.into_owned(),
        };
        self.bytes += size(&v);
        self.queue.push_back((at, v));
        if self.charge.bytes() == 0 {
            self.charge = Charge::to(cx.memory());
        }
        if self.bytes as u64 > self.charge.bytes() && !self.charge.set(self.bytes * 2) {
            return cx.memory().check();
        }
        Ok(())
    }

    /// The frame begins at a place from now on.
    pub fn begin_at(&mut self, place: u64) {
        while let Some((at, v)) = self.queue.front() {
            if *at >= place {
                return;
            }
            self.bytes -= size(v);
            self.queue.pop_front();
        }
    }

    /// The least or greatest value; NULL for none.
    pub fn value(&self) -> Val<'static> {
        self.queue
            .front()
            .map_or(Val::Null, |(_, v)| v.reborrow().into_owned())
    }

    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.queue.clear();
        self.bytes = 0;
    }
}
