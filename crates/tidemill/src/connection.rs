//! Connections, prepared statements and transactions of a program that embeds the database. Every call blocks until it is
//! done.

use std::cell::{Cell, RefCell, RefMut};
use std::ops::Deref;
use std::sync::Arc;

use base::block_on;
use sql::Session;
use sql::session::ClientFlags;

use crate::error::{Error, Result};
use crate::rows::{Each, Keep, Row, Rows, Summary};
use crate::shared_directory::SharedDirectory;
use crate::value::{Params, Value};

/// What has become of the transaction that a [`Transaction`] stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guarded {
    /// There is none.
    None,
    /// It is open.
    Open,
    /// A conflict rolled it back: the code of the error.
    Lost(u16),
}

/// A connection to a [`Database`](crate::Database): a session with variables and a transaction of its own. It may move
/// between threads and is used by one at a time. Dropping it rolls its transaction back.
pub struct Connection {
    /// `None` only while it is dropped.
    session: RefCell<Option<Session>>,
    guarded: Cell<Guarded>,
    /// Keeps the database open.
    _database: Arc<SharedDirectory>,
}

impl Connection {
    pub(super) fn new(database: Arc<SharedDirectory>) -> Connection {
        let instance = database.instance();
        let id = instance.next_connection_id();
        let session = Session::of_the_server(instance, id);
        Connection {
            session: RefCell::new(Some(session)),
            guarded: Cell::new(Guarded::None),
            _database: database,
        }
    }

    fn session(&self) -> Result<RefMut<'_, Session>> {
        let busy = || Error::usage("the connection is in use by an enclosing call");
        let session = self.session.try_borrow_mut().map_err(|_| busy())?;
        RefMut::filter_map(session, Option::as_mut).map_err(|_| busy())
    }

    fn usable(&self) -> Result<RefMut<'_, Session>> {
        if let Guarded::Lost(code) = self.guarded.get() {
            return Err(Error::usage(format!(
                "the transaction was rolled back by error {code}; end it and begin another"
            )));
        }
        self.session()
    }

    /// Remembers whether an error has ended the transaction.
    fn noted<T>(&self, outcome: std::result::Result<T, types::SqlError>) -> Result<T> {
        outcome.map_err(|e| {
            let e = Error::from(e);
            if e.ends_transaction() && self.guarded.get() == Guarded::Open {
                self.guarded.set(Guarded::Lost(e.code()));
            }
            e
        })
    }

    fn run(
        &self,
        sql: &str,
        params: Vec<Value>,
        many: bool,
        sink: &mut dyn sql::ResultSink,
    ) -> Result<()> {
        let mut session = self.usable()?;
        session.set_client(ClientFlags {
            multi_statements: many,
            ..ClientFlags::default()
        });
        if params.is_empty() {
            return self.noted(block_on(session.execute(sql.as_bytes(), sink)));
        }
        let info = self.noted(session.prepare(sql.as_bytes()))?;
        let outcome = given(&params, info.params).and_then(|()| {
            let values: Vec<_> = params.into_iter().map(Value::into_sql).collect();
            self.noted(block_on(session.execute_prepared(info.id, &values, sink)))
        });
        session.close_prepared(info.id);
        outcome
    }

    /// Runs a statement whose rows, if it has any, do not matter.
    ///
    /// # Errors
    /// The statement's.
    pub fn execute(&self, sql: &str, params: impl Params) -> Result<Summary> {
        let mut keep = Keep::default();
        self.run(sql, params.to_values(), false, &mut keep)?;
        Ok(keep.summary)
    }

    /// Runs several statements, separated by `;`, until one fails.
    ///
    /// # Errors
    /// That of the first that fails; those before it have been carried out.
    pub fn execute_batch(&self, sql: &str) -> Result<()> {
        self.run(sql, Vec::new(), true, &mut Keep::default())
    }

    /// Runs a query and keeps all its rows in memory; for more than fits there is
    /// [`for_each`](Connection::for_each).
    ///
    /// # Errors
    /// The statement's.
    pub fn query(&self, sql: &str, params: impl Params) -> Result<Rows> {
        let mut keep = Keep::default();
        self.run(sql, params.to_values(), false, &mut keep)?;
        Ok(keep.into_rows())
    }

    /// The first row of a query, if it has one.
    ///
    /// # Errors
    /// The statement's.
    pub fn query_row(&self, sql: &str, params: impl Params) -> Result<Option<Row>> {
        Ok(self.query(sql, params)?.next())
    }

    /// Runs a query and hands each row to `each`, without keeping them. `each` may use other connections, not this one;
    /// an error of its ends the query.
    ///
    /// # Errors
    /// The statement's, or that of `each`.
    pub fn for_each(
        &self,
        sql: &str,
        params: impl Params,
        each: impl FnMut(&Row) -> Result<()> + Send,
    ) -> Result<()> {
        let mut sink = Each::new(each);
        let outcome = self.run(sql, params.to_values(), false, &mut sink);
        if outcome.is_ok() {
            sink.hand_on();
        }
        match sink.failed {
            Some(e) => Err(e),
            None => outcome,
        }
    }

    /// Prepares a statement for many executions.
    ///
    /// # Errors
    /// The statement's.
    pub fn prepare(&self, sql: &str) -> Result<Statement<'_>> {
        let mut session = self.usable()?;
        let info = self.noted(session.prepare(sql.as_bytes()))?;
        Ok(Statement {
            connection: self,
            id: info.id,
            params: info.params,
        })
    }

    /// Begins a transaction. It is rolled back unless [`Transaction::commit`] is called.
    ///
    /// # Errors
    /// One is open already, or the statement's.
    pub fn transaction(&self) -> Result<Transaction<'_>> {
        if self.guarded.get() != Guarded::None {
            return Err(Error::usage("a transaction is open on this connection"));
        }
        self.execute("START TRANSACTION", ())?;
        self.guarded.set(Guarded::Open);
        Ok(Transaction {
            connection: self,
            open: true,
        })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(session) = self.session.get_mut().take() {
            block_on(session.close());
        }
    }
}

/// The number of parameters must be the statement's.
fn given(params: &[Value], wanted: u16) -> Result<()> {
    if params.len() == usize::from(wanted) {
        return Ok(());
    }
    Err(Error::usage(format!(
        "the statement has {wanted} parameters, {} were given",
        params.len()
    )))
}

/// A statement that is parsed and planned once and run many times.
pub struct Statement<'c> {
    connection: &'c Connection,
    id: u32,
    params: u16,
}

impl Statement<'_> {
    fn run(&self, params: Vec<Value>, sink: &mut dyn sql::ResultSink) -> Result<()> {
        given(&params, self.params)?;
        let values: Vec<_> = params.into_iter().map(Value::into_sql).collect();
        let mut session = self.connection.usable()?;
        let outcome = block_on(session.execute_prepared(self.id, &values, sink));
        self.connection.noted(outcome)
    }

    /// As [`Connection::execute`].
    ///
    /// # Errors
    /// The statement's.
    pub fn execute(&self, params: impl Params) -> Result<Summary> {
        let mut keep = Keep::default();
        self.run(params.to_values(), &mut keep)?;
        Ok(keep.summary)
    }

    /// As [`Connection::query`].
    ///
    /// # Errors
    /// The statement's.
    pub fn query(&self, params: impl Params) -> Result<Rows> {
        let mut keep = Keep::default();
        self.run(params.to_values(), &mut keep)?;
        Ok(keep.into_rows())
    }

    /// As [`Connection::query_row`].
    ///
    /// # Errors
    /// The statement's.
    pub fn query_row(&self, params: impl Params) -> Result<Option<Row>> {
        Ok(self.query(params)?.next())
    }

    /// Number of parameters.
    pub fn params(&self) -> usize {
        usize::from(self.params)
    }
}

impl Drop for Statement<'_> {
    fn drop(&mut self) {
        // In use by an enclosing call: the statement then lives as long as the connection.
        if let Ok(mut session) = self.connection.session() {
            session.close_prepared(self.id);
        }
    }
}

/// An open transaction; use it as the [`Connection`] it is on. Dropping it rolls it back.
///
/// A conflict with another transaction (see [`Error::is_retryable`]) may roll it back as a whole; every call then
/// fails until the transaction is dropped, so that nothing runs outside of it by mistake.
pub struct Transaction<'c> {
    connection: &'c Connection,
    open: bool,
}

impl Transaction<'_> {
    /// Makes its changes durable and visible.
    ///
    /// # Errors
    /// It was rolled back by a conflict, or the log cannot be written.
    pub fn commit(mut self) -> Result<()> {
        self.end("COMMIT")
    }

    /// Undoes its changes.
    ///
    /// # Errors
    /// What undoing fails with.
    pub fn rollback(mut self) -> Result<()> {
        match self.connection.guarded.get() {
            Guarded::Lost(_) => Ok(()),
            _ => self.end("ROLLBACK"),
        }
    }

    fn end(&mut self, sql: &str) -> Result<()> {
        let outcome = self.connection.execute(sql, ());
        if outcome.is_ok() {
            self.open = false;
            self.connection.guarded.set(Guarded::None);
        }
        outcome.map(drop)
    }
}

impl Deref for Transaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.open {
            self.connection.guarded.set(Guarded::None);
            // Nobody is left to tell; what cannot be undone now is undone when the connection ends.
            let _unheard = self.connection.execute("ROLLBACK", ());
        }
    }
}
