//! LATERAL derived tables: their queries may read the tables that stand before them in the same FROM (the manual, "Lateral Derived
//! Tables"). Such a table comes behind those that it reads.
//!
//! Never here: how its rows are made for each of theirs.

use std::ops::Range;

use types::SqlError;
use types::error::codes;

use super::StatementBinder;
use super::from::{FromState, add};
use super::nests::Sideways;
use super::reads;
use super::tree::BoundQuery;
use crate::sink::ColumnMeta;
use sql_expr::bind::Clause;
use sql_parser::ast;

impl StatementBinder<'_> {
    /// Binds a LATERAL derived table and adds it.
    pub(super) fn lateral_table(
        &self,
        d: &ast::Derived,
        nest: u16,
        st: &mut FromState<'_, '_>,
    ) -> Result<(), SqlError> {
        let first = self.next_slot.get();
        // No select item is in sight.
        let around = st.names.clause.replace(Some(Clause::On));
        let bound = self.query(&d.query, Some(&*st.names));
        st.names.clause.set(around);
        let (plan, outputs) = bound?;
        let mut read = Vec::new();
        reads::outer_columns(&plan, first, &mut read);
        self.sideways_table((plan, outputs), (&d.alias, &d.columns), read, nest, st)
    }

    /// Adds a table of a query that reads columns of the tables before it, or of blocks around.
    pub(super) fn sideways_table(
        &self,
        (mut plan, outputs): (BoundQuery, Vec<ColumnMeta>),
        (alias, columns): (&str, &[ast::Name]),
        read: Vec<(u16, u16)>,
        nest: u16,
        st: &mut FromState<'_, '_>,
    ) -> Result<(), SqlError> {
        let (beside, outside): (Vec<_>, Vec<_>) =
            { read.into_iter() }.partition(|(slot, _)| st.names.table(*slot).is_some());
        // What it reads of the block is not read by the block of what is around that.
        let lowest = outside.iter().map(|c| c.0).min().unwrap_or(u16::MAX);
        let own = std::mem::replace(&mut plan.lowest, lowest);
        let mut t = self.derived_of((plan, outputs), alias, columns, st)?;
        if let Some(plan) = st.derived.last_mut() {
            plan.lowest = own;
        }
        let needs = beside
            .iter()
            .fold(0u64, |m, (slot, _)| m | 1 << (slot - st.base));
        if !beside.is_empty() {
            t.lateral = Some(Box::new(Sideways {
                columns: beside,
                repeats: false,
            }));
        }
        add(t, nest, st)?;
        if let Some(after) = st.joins.after.last_mut() {
            *after |= needs;
        }
        let mut n = nest;
        while n != 0 {
            let around = &mut st.joins.nests[usize::from(n)];
            around.needs |= needs;
            n = around.parent;
        }
        Ok(())
    }

    /// The right operand of a RIGHT JOIN is read first: it can read nothing of the left one.
    ///
    /// # Errors
    /// 3668.
    pub(super) fn refuse_sideways(
        &self,
        left: &Range<usize>,
        right: &Range<usize>,
        st: &FromState<'_, '_>,
    ) -> Result<(), SqlError> {
        for place in right.clone() {
            let t = &st.names.tables[place - st.first];
            let reads = t.lateral.iter().flat_map(|l| &l.columns);
            let mut places = reads.map(|(slot, _)| usize::from(slot - st.base));
            if places.any(|p| left.contains(&p)) {
                return Err(SqlError::new(
                    codes::ER_TF_FORBIDDEN_JOIN_TYPE,
                    format!(
                        "INNER or LEFT JOIN must be used for LATERAL references made by '{}'",
                        t.alias
                    ),
                ));
            }
        }
        Ok(())
    }
}
