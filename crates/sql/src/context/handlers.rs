//! The tables that a session has opened with HANDLER, and where each of them stands.
//!
//! A handler holds nothing: its table can be changed and dropped beside it. It notices when it is read next, and has lost its place then.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use engine::Table;

use sql_exec::handler::Position;
use sql_expr::memory::{Account, Charge};
use sql_plan::bind::handler::HandlerTable;

/// What an open handler takes beside its place.
const HANDLER: usize = 512;

/// A table that was opened.
pub(crate) struct OpenHandler {
    /// What was opened.
    pub table: HandlerTable,
    /// The table as it was when it was opened or read last, and how often it had been flushed.
    seen: (Weak<Table>, u64),
    position: Option<Position>,
    charge: Charge,
}

impl OpenHandler {
    /// One that has not been read; `None` where the session has no room for it.
    pub fn new(table: HandlerTable, now: &Arc<Table>, account: &Arc<Account>) -> Option<Self> {
        let mut charge = Charge::to(account);
        charge.set(HANDLER).then(|| OpenHandler {
            table,
            seen: (Arc::downgrade(now), now.flushes()),
            position: None,
            charge,
        })
    }

    /// Where it stands in its table as that is now; it has no place in another one, or in one that was flushed.
    pub fn position(&self, now: &Arc<Table>) -> Option<Position> {
        let (table, flushes) = &self.seen;
        let same = std::ptr::eq(table.as_ptr(), Arc::as_ptr(now)) && *flushes == now.flushes();
        let keeps = base::mutant!("handler-keeps-its-place");
        self.position.clone().filter(|_| same || keeps)
    }

    /// It was read, and stands there.
    pub fn stands(&mut self, now: &Arc<Table>, position: Option<Position>) {
        self.seen = (Arc::downgrade(now), now.flushes());
        let bytes = position.as_ref().map_or(0, Position::bytes);
        self.charge.set(HANDLER + bytes);
        self.position = position;
    }
}

/// Those of a session, by what they are called.
#[derive(Default)]
pub(crate) struct Handlers(HashMap<String, OpenHandler>);

impl Handlers {
    /// The one that is called so, in whatever case.
    pub fn get(&self, name: &str) -> Option<&OpenHandler> {
        self.0.get(&name.to_lowercase())
    }

    /// The same, to be moved.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut OpenHandler> {
        self.0.get_mut(&name.to_lowercase())
    }

    /// One more.
    pub fn add(&mut self, h: OpenHandler) {
        self.0.insert(h.table.alias.to_lowercase(), h);
    }

    /// Closes the one that is called so; `false` where there is none.
    pub fn close(&mut self, name: &str) -> bool {
        self.0.remove(&name.to_lowercase()).is_some()
    }

    /// Closes all of a table.
    pub fn close_table(&mut self, schema: &str, name: &str) {
        self.0
            .retain(|_, h| h.table.schema != schema || h.table.name != name);
    }

    /// Closes all of a schema's tables.
    pub fn close_schema(&mut self, schema: &str) {
        self.0.retain(|_, h| h.table.schema != schema);
    }

    /// Closes all.
    pub fn close_all(&mut self) {
        self.0.clear();
    }

    /// None is open.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
