//! What functions such as USER(), DATABASE() and RAND() report about a connection.

use std::sync::Arc;

use engine::Interrupt;

use sql_access::AccountId;
use sql_expr::memory::Account;
use sql_expr::{RandState, RandomSource, SessionFacts, WallClock, Watcher};

use super::instance::Instance;

/// The facts of a new connection.
pub(crate) fn new(
    instance: &Instance,
    user: &str,
    host: &str,
    account: &AccountId,
    connection_id: u64,
    memory: &Arc<Account>,
    interrupt: Arc<Interrupt>,
) -> SessionFacts {
    SessionFacts {
        connection_id,
        user: format!("{user}@{host}"),
        current_user: account.plain(),
        system_zone: instance.options.system_zone,
        seed: instance.random.next_u64(),
        clock: WallClock(Some(Arc::clone(&instance.clock))),
        source: RandomSource(Some(Arc::clone(&instance.random))),
        chance: RandState::new(instance.random.next_u64()),
        node: instance.options.node,
        memory: Arc::clone(memory),
        watcher: Watcher(Some(interrupt)),
        ..SessionFacts::default()
    }
}
