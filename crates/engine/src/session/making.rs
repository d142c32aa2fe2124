//! A table that a session makes together with its rows: two transactions. The rows are in the session's own, which holds locks of what they were read
//! from and ends first; the definition is in another, which has all that is to be there with it: the group of events, and what the session
//! changes while it has [entered](Session::enter_definition) it. With the second one's commit there is a table, and before it there is none.
//!
//! One transaction for both would hold the locks of the tables that were read while it waits for others who change definitions, and who may be waiting
//! for those.
//!
//! Must never do: give the rows' transaction a group of its own.

use super::{Isolation, Making, Session};
use crate::schema::Table;
use std::mem::swap;
use std::sync::Arc;
use types::SqlError;

impl Session {
    /// The session whose transaction has the group of events.
    #[inline]
    pub(super) fn group(&self) -> &Session {
        match &self.making {
            Some(m) if !m.entered => &m.definition,
            _ => self,
        }
    }

    /// Likewise.
    #[inline]
    pub(super) fn group_mut(&mut self) -> &mut Session {
        match self.making {
            Some(Making {
                entered: false,
                ref mut definition,
                ..
            }) => definition,
            _ => self,
        }
    }

    /// The group is another transaction's.
    #[inline]
    pub(super) fn group_is_apart(&self) -> bool {
        self.making.as_ref().is_some_and(|m| !m.entered)
    }

    /// It makes a table, which it knows by that name.
    pub(crate) fn begin_making(&mut self, t: Arc<Table>, name: &str) {
        let mut definition = Box::new(Session::new(self.engine.clone()));
        definition.begin(Isolation::ReadCommitted, false);
        let schema = t.def.schema.clone();
        self.set_own(&schema, name, Some(t));
        self.making = Some(Making {
            schema,
            name: name.to_owned(),
            definition,
            entered: false,
        });
    }

    /// The table that it makes together with its rows.
    pub fn table_in_the_making(&self) -> Option<&Arc<Table>> {
        let m = self.making.as_ref()?;
        self.own_table(&m.schema, &m.name)
    }

    /// Whether it makes one.
    #[inline]
    pub fn is_making(&self) -> bool {
        self.making.is_some()
    }

    /// From here on the session changes what is to be there with the definition, until it [leaves](Self::leave_definition). Its own transaction has ended.
    pub fn enter_definition(&mut self) {
        debug_assert!(self.group_is_apart() && !self.has_changes());
        self.change_places(true);
    }

    /// The other side of that.
    pub fn leave_definition(&mut self) {
        if self.making.as_ref().is_some_and(|m| m.entered) {
            self.change_places(false);
        }
    }

    fn change_places(&mut self, entered: bool) {
        let Some(mut m) = self.making.take() else {
            return;
        };
        let other = &mut *m.definition;
        swap(&mut self.reg, &mut other.reg);
        swap(&mut self.txid, &mut other.txid);
        swap(&mut self.explicit, &mut other.explicit);
        swap(&mut self.read_only, &mut other.read_only);
        swap(&mut self.isolation, &mut other.isolation);
        swap(&mut self.snapshot, &mut other.snapshot);
        swap(&mut self.savepoints, &mut other.savepoints);
        swap(&mut self.statement_start, &mut other.statement_start);
        swap(&mut self.purge_work, &mut other.purge_work);
        swap(&mut self.defines, &mut other.defines);
        swap(&mut self.locks_lasting, &mut other.locks_lasting);
        swap(&mut self.uses, &mut other.uses);
        swap(&mut self.views, &mut other.views);
        swap(&mut self.weight, &mut other.weight);
        swap(&mut self.undo_reservation, &mut other.undo_reservation);
        swap(&mut self.events, &mut other.events);
        m.entered = entered;
        self.making = Some(m);
    }

    /// The table that it makes is to be defined now: what it is known by, and whose transaction it is. The session makes none any more, and knows it still.
    ///
    /// # Errors
    /// It makes none.
    pub(crate) fn take_making(&mut self) -> Result<(Arc<Table>, String, Box<Session>), SqlError> {
        self.leave_definition();
        let t = self.table_in_the_making().cloned();
        match (t, self.making.take()) {
            (Some(t), Some(m)) => Ok((t, m.name, m.definition)),
            _ => Err(SqlError::internal("no table is being made")),
        }
    }

    /// Whether its definition, with its rows, leaves something for readers of the log. It is not [entered](Self::enter_definition).
    pub(crate) fn definition_leaves_events(&self) -> bool {
        self.leaves_events()
            || self
                .making
                .as_ref()
                .is_some_and(|m| m.definition.leaves_events())
    }

    /// There is to be no such table: it goes with its file, and its definition's transaction is undone. What was put in has been rolled back, or goes with it.
    ///
    /// # Errors
    /// As [`Session::rollback`] of the definition's transaction; the table is gone all the same.
    pub async fn give_up_making(&mut self) -> Result<(), SqlError> {
        self.leave_definition();
        let Some(mut m) = self.making.take() else {
            return Ok(());
        };
        self.drop_temporary_table(&m.schema, &m.name);
        m.definition.rollback().await
    }
}
