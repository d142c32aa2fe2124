//! The select list: the values of a row, in the form in which they leave the block.

use smallvec::SmallVec;
use types::{SqlError, ValueRef};

use sql_expr::{EvalCtx, Expr, RowSource, Val, write_group_key};
use sql_plan::plan::{Block, Yields};
use sql_plan::sink::ResultSink;

/// Makes the values.
#[derive(Clone, Copy)]
pub(super) struct Project<'p> {
    exprs: &'p [Expr],
    /// What they are where they are nothing but columns.
    plain: Option<&'p [(u16, u16)]>,
    yields: &'p Yields,
}

/// The values of a row.
pub(super) enum Values<'r> {
    /// In the columns' own form: there is nothing to compute.
    Plain(SmallVec<[ValueRef<'r>; 8]>),
    /// As they were computed.
    Computed(SmallVec<[Val<'r>; 8]>),
}

impl<'p> Project<'p> {
    /// The select list of a block.
    pub fn of(block: &'p Block) -> Project<'p> {
        let plan = block.project();
        Project {
            exprs: block.output(),
            plain: plan.and_then(|p| p.plain.as_deref()),
            yields: plan.map_or(&Yields::Shown, |p| &p.yields),
        }
    }

    /// How many values.
    pub fn width(&self) -> usize {
        self.exprs.len()
    }

    /// The columns that they are, where they are nothing else.
    #[inline]
    pub fn plain(&self) -> Option<&'p [(u16, u16)]> {
        self.plain
    }

    /// The expressions.
    pub fn exprs(&self) -> &'p [Expr] {
        self.exprs
    }

    /// The values of a row.
    ///
    /// # Errors
    /// What evaluating raises.
    #[inline]
    pub fn values<'r>(
        &self,
        cx: &'r EvalCtx<'_>,
        row: &'r dyn RowSource,
    ) -> Result<Values<'r>, SqlError>
    where
        'p: 'r,
    {
        match self.plain {
            Some(columns) => {
                let all = columns.iter().map(|&(s, c)| row.column(s, c));
                Ok(Values::Plain(all.collect()))
            }
            None => {
                let mut values = SmallVec::new();
                for e in self.exprs {
                    values.push(e.eval(cx, row)?);
                }
                Ok(Values::Computed(values))
            }
        }
    }

    /// Appends the key by which rows with the same values are the same.
    pub fn write_key(&self, values: &Values<'_>, key: &mut Vec<u8>) {
        match values {
            Values::Plain(all) => {
                for (v, e) in all.iter().zip(self.exprs) {
                    write_group_key(&Val::from(*v), &e.ty, key);
                }
            }
            Values::Computed(all) => {
                for (v, e) in all.iter().zip(self.exprs) {
                    write_group_key(v, &e.ty, key);
                }
            }
        }
    }

    /// Computed values in the form in which they leave the block.
    #[inline]
    pub fn refs<'v>(&'v self, all: &'v [Val<'_>]) -> impl Iterator<Item = ValueRef<'v>> {
        let all = all.iter().zip(self.exprs).enumerate();
        all.map(|(i, (v, e))| yielded(self.yields, i, v, e))
    }

    /// Sends the values of a row.
    #[inline]
    pub fn send(&self, values: &Values<'_>, sink: &mut dyn ResultSink) {
        sink.row_begin();
        match values {
            Values::Plain(all) => {
                for (i, v) in all.iter().enumerate() {
                    sink.value(*v, i);
                }
            }
            Values::Computed(all) => {
                for (i, (v, e)) in all.iter().zip(self.exprs).enumerate() {
                    sink.value(yielded(self.yields, i, v, e), i);
                }
            }
        }
        sink.row_end();
    }
}

/// Value `i` in the form in which it leaves the block.
fn yielded<'v>(yields: &Yields, i: usize, v: &'v Val<'_>, e: &Expr) -> ValueRef<'v> {
    match yields {
        Yields::Shown => v.as_value_ref(&e.ty),
        Yields::Computed => v.as_computed_ref(&e.ty),
        Yields::Assigned(columns) => match columns.get(i) {
            Some(ty) => v.as_assigned_ref(&e.ty, ty),
            None => v.as_value_ref(&e.ty),
        },
    }
}
