//! What functions such as USER(), DATABASE() and RAND() report about a connection.

use std::sync::Arc;

use engine::Interrupt;

use crate::expr::{SessionFacts, Watcher};

use super::instance::Instance;

/// The facts of a new connection.
pub(super) fn new(
    instance: &Instance,
    user: &str,
    host: &str,
    account_host: &str,
    connection_id: u64,
    interrupt: Arc<Interrupt>,
) -> SessionFacts {
    SessionFacts {
        connection_id,
        user: format!("{user}@{host}"),
        current_user: format!("{user}@{account_host}"),
        system_offset: instance.options.system_offset,
        seed: instance.random.next_u64(),
        node: instance.options.node,
        watcher: Watcher(Some(interrupt)),
        ..SessionFacts::default()
    }
}
