//! Claims: a definition change that waits for a table which somebody has locked for writing comes before everybody else who waits for it.
//!
//! Nobody else uses such a table anyway, so to be first costs the others nothing while it is locked. What a change waits for besides, other tables
//! among them, it waits for with its claim: from the moment the table is given back until the change has it, or gives up, nobody gets in. Tools that
//! put one table in the place of another (RENAME TABLE behind LOCK TABLES) go by that: a row written in between would be in the old table.
//!
//! A table that transactions use is another matter: there a change gives way, and has no claim.
//!
//! **No cycle among claims.** All claims of a statement have its turn, and the earlier turn goes first on every table. Whoever is in the midst of a change
//! passes them ([`super::Claimed::Passed`]): he has the DDL mutex, which they have to wait for. Who waits for a claim and uses what it is in want of is told
//! ([`TableLock::is_claimed_for`]). Whoever locks the server lets claims pass first ([`super::GlobalLock`]).
//!
//! Must never do: outlive the statement; stand on a table that its owner does not want any more.

use super::{Claim, GlobalLock, Owner, TableLock};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The claims of a statement, until they are dropped.
pub(crate) struct Claims {
    turn: u64,
    locks: Vec<Arc<TableLock>>,
    global: Arc<GlobalLock>,
}

impl Claims {
    /// Claims those of the tables that somebody else has locked for writing, beside what `claims` has of them already, which keep their turn; what is not wanted any
    /// more is let go. The caller has the DDL mutex.
    pub(crate) fn renew(
        claims: &mut Option<Claims>,
        owner: Owner,
        global: &Arc<GlobalLock>,
        wanted: &[&Arc<TableLock>],
    ) {
        static TURNS: AtomicU64 = AtomicU64::new(0);
        if claims.is_none() {
            let mut wanted = wanted.iter();
            if !wanted.any(|l| l.is_written_by_another(owner)) {
                return;
            }
            // Before the first claim stands: whoever is to lock the server sees this or that.
            global.count_claims(1);
        }
        let c = claims.get_or_insert_with(|| Claims {
            turn: TURNS.fetch_add(1, Ordering::Relaxed),
            locks: Vec::new(),
            global: global.clone(),
        });
        let numbers: Arc<[u64]> = wanted.iter().map(|l| l.number()).collect();
        let had = std::mem::take(&mut c.locks);
        for l in &had {
            if !numbers.contains(&l.number()) {
                l.unclaim(c.turn);
            }
        }
        for l in wanted {
            let claim = Claim {
                owner,
                turn: c.turn,
                wants: numbers.clone(),
            };
            if l.claim(claim) {
                c.locks.push(Arc::clone(l));
            }
        }
        if c.locks.is_empty() {
            *claims = None;
        }
    }
}

impl Drop for Claims {
    fn drop(&mut self) {
        self.locks.iter().for_each(|l| l.unclaim(self.turn));
        self.global.count_claims(-1);
    }
}
