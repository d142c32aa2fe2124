//! Rows that an UPDATE or DELETE has found, by their clustered keys, before it changes any: for several tables, a sort, subqueries that
//! read the row, and changes of the key that is scanned. So no row is met twice, in its new place.

use types::{SqlError, ValueRef};

use crate::Env;
use crate::keymap::KeyMap;
use crate::keys;
use crate::op::join::Join;
use crate::op::sort::{Sorter, write_sort_key};
use crate::sub::SubValues;
use sql_expr::{NoRow, RowSource};
use sql_plan::plan::Block;

/// The join that finds the rows; `targets` are the tables of which rows change.
pub(super) fn join<'p>(
    block: &'p Block,
    targets: impl Iterator<Item = u16> + Clone,
    subs: SubValues,
) -> Join<'p> {
    let target = |i: usize| targets.clone().any(|t| usize::from(t) == i);
    let mode = |i| keys::change_mode(keys::Role::of(block, target(i)));
    Join::new(block, &NoRow, subs, mode)
}

/// The rows, by target.
pub(super) struct TargetKeys<'p> {
    block: &'p Block,
    /// Of each target.
    keys: Vec<KeyMap>,
    sorter: Option<Sorter>,
    sort_key: Vec<u8>,
    /// How many rows are wanted.
    take: u64,
}

impl<'p> TargetKeys<'p> {
    /// None yet.
    pub fn new(block: &'p Block, targets: usize, take: u64, env: &Env<'_>) -> TargetKeys<'p> {
        let account = env.cx.memory();
        TargetKeys {
            block,
            keys: (0..targets).map(|_| KeyMap::new(account)).collect(),
            sorter: (!block.order().is_empty()).then(|| Sorter::new(1, take, account)),
            sort_key: Vec::new(),
            take,
        }
    }

    /// Notes the row at which the join stands in a table, which is that target: its number where it is a new one.
    pub fn note(
        &mut self,
        target: usize,
        table: u16,
        join: &Join<'_>,
    ) -> Result<Option<usize>, SqlError> {
        let Some(key) = join.level(table).key() else {
            return Ok(None);
        };
        let (n, new) = self.keys[target].insert(key)?;
        Ok(new.then_some(n))
    }

    /// Gives a row its place in ORDER BY.
    pub async fn rank(
        &mut self,
        n: usize,
        row: &dyn RowSource,
        env: &mut Env<'_>,
    ) -> Result<(), SqlError> {
        if let Some(s) = &mut self.sorter {
            if self.block.special {
                let (order, cx) = (self.block.order(), env.cx);
                env.ahead(|| write_sort_key(order, cx, row, &mut Vec::new()))
                    .await?;
            }
            self.sort_key.clear();
            write_sort_key(self.block.order(), env.cx, row, &mut self.sort_key)?;
            s.add(&self.sort_key, [ValueRef::UInt(n as u64)]);
            if self.block.special {
                env.cx.row_done();
            }
        }
        Ok(())
    }

    /// After each row of the join: tidies, pauses, and says whether there are as many as are wanted.
    pub async fn enough(&mut self, env: &mut Env<'_>) -> Result<bool, SqlError> {
        if let Some(s) = &mut self.sorter
            && s.is_untidy()
        {
            s.tidy(env).await?;
        }
        if env.due() {
            env.pause().await?;
        }
        Ok(match &self.keys[..] {
            [only] => self.sorter.is_none() && only.len() as u64 >= self.take,
            _ => false,
        })
    }

    /// The keys of each target, and the order in which their rows change if that is another.
    pub async fn finish(
        self,
        env: &mut Env<'_>,
    ) -> Result<(Vec<KeyMap>, Option<Vec<usize>>), SqlError> {
        let order = match self.sorter {
            Some(s) => Some(s.finish(env).await?.numbers()),
            None => None,
        };
        Ok((self.keys, order))
    }
}

/// Numbers of rows in the order in which they change: that of the sort, or else that in which they were found.
pub(super) fn in_order(keys: &KeyMap, order: Option<&[usize]>) -> impl Iterator<Item = usize> {
    let rows = order.map_or(keys.len(), <[usize]>::len);
    (0..rows).map(move |i| order.map_or(i, |o| o[i]))
}
