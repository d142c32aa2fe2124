//! The accounts of a server: the state in force, and the one way in which it is changed.
//!
//! Changes are made one after another: each begins from what the one before left, is written to `mysql.*` in one transaction, and is in
//! force for all sessions, open ones included, once that is durable. A statement is acknowledged after that; none can lose another.
//! Reading takes no lock that a change holds while it waits. Never here: whether somebody may change them.

pub mod components;
mod store;

use base::lock::{Mutex, RwLock};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::Event;
use engine::Engine;
use types::SqlError;

use sql_access::AccountState;

/// The accounts of a server.
pub struct Accounts {
    state: RwLock<Arc<AccountState>>,
    /// Grows with every new state.
    version: AtomicU64,
    /// Somebody is changing them.
    changing: Mutex<bool>,
    changed: Event,
}

/// The right to change the accounts, given back when dropped.
struct ChangeGuard<'a>(&'a Accounts);

impl Drop for ChangeGuard<'_> {
    fn drop(&mut self) {
        *self.0.changing.lock() = false;
        if !base::mutant!("accounts-changed-without-a-word") {
            self.0.changed.fire();
        }
    }
}

impl Accounts {
    /// Makes the tables and `root@localhost` on first start, brings older tables to the present shape, and reads what there is.
    ///
    /// # Errors
    /// What the engine fails with; a table that is there and cannot be read.
    pub async fn open(engine: &Arc<Engine>, now_us: i64) -> Result<Accounts, SqlError> {
        store::prepare(engine, now_us).await?;
        let a = Accounts::of(AccountState::default());
        a.reload(engine).await?;
        Ok(a)
    }

    /// With that state, of which nothing is stored.
    pub fn of(state: AccountState) -> Accounts {
        Accounts {
            state: RwLock::new(Arc::new(state)),
            version: AtomicU64::new(1),
            changing: Mutex::new(false),
            changed: Event::new(),
        }
    }

    /// The accounts as of now.
    pub fn snapshot(&self) -> Arc<AccountState> {
        Arc::clone(&self.state.read())
    }

    /// A number that differs whenever the accounts may differ.
    #[inline]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// What decides about privileges beside the accounts has changed: sessions look again.
    pub fn touch(&self) {
        self.version.fetch_add(1, Ordering::Release);
    }

    async fn begin_change(&self) -> ChangeGuard<'_> {
        let free = || {
            let mut busy = self.changing.lock();
            if *busy {
                return None;
            }
            *busy = true;
            Some(())
        };
        self.changed.wait_for(free).await;
        ChangeGuard(self)
    }

    fn publish(&self, state: AccountState) {
        *self.state.write() = Arc::new(state);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Reads the tables again (FLUSH PRIVILEGES): what was written to them as rows is in force from now on.
    ///
    /// # Errors
    /// What the engine fails with.
    pub async fn reload(&self, engine: &Arc<Engine>) -> Result<(), SqlError> {
        let _turn = self.begin_change().await;
        let state = store::read(engine).await?;
        self.publish(state);
        Ok(())
    }

    /// Replaces the state by what `change` makes of it, which is stored before it is in force. Where `change` fails nothing has
    /// happened. Waits for changes before; `change` sees what they left.
    ///
    /// # Errors
    /// What `change` or the engine fails with.
    pub async fn change<R>(
        &self,
        engine: &Arc<Engine>,
        change: impl FnOnce(&mut AccountState) -> Result<R, SqlError> + Send,
    ) -> Result<R, SqlError> {
        self.change_and_tell(engine, change, |_| None).await
    }

    /// As [`change`](Self::change). `group` gives what the change leaves for the change log, of the state that comes.
    ///
    /// # Errors
    /// What `change` or the engine fails with.
    pub async fn change_and_tell<R>(
        &self,
        engine: &Arc<Engine>,
        change: impl FnOnce(&mut AccountState) -> Result<R, SqlError> + Send,
        group: impl FnOnce(&AccountState) -> Option<Vec<u8>> + Send,
    ) -> Result<R, SqlError> {
        let _turn = self.begin_change().await;
        let old = self.snapshot();
        let mut new = AccountState::clone(&old);
        let r = change(&mut new)?;
        let group = group(&new);
        if store::write(engine, &old, &new, group.as_deref()).await? {
            self.publish(new);
        }
        Ok(r)
    }
}
