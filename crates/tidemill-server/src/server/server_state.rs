//! What all connections of a server share.

use std::sync::Arc;
use std::time::Duration;

use tidemill::open::OpenDirectory;
use wire::auth::AuthContext;

use super::decoys::Decoys;
use super::tls::Tls;
use crate::log::Log;

/// What all connections share.
pub(super) struct Server {
    pub(super) database: OpenDirectory,
    pub(super) auth: AuthContext,
    pub(super) decoys: Decoys,
    pub(super) tls: Arc<Tls>,
    pub(super) log: Arc<Log>,
    /// How many connections may be open that have not logged in yet.
    pub(super) max_unauthenticated: usize,
}

impl Server {
    /// The clock by which statements wait.
    pub(super) fn clock(&self) -> &dyn base::Clock {
        &*self.database.instance.engine().environment().clock
    }

    /// The longest packet that a client may send before it has a session.
    pub(super) fn largest_packet(&self) -> usize {
        let bytes = self.database.instance.globals().hot().max_allowed_packet();
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// Whether a client must come by TLS or the Unix socket.
    pub(super) fn requires_secure_transport(&self) -> bool {
        self.database
            .instance
            .globals()
            .hot()
            .require_secure_transport()
            != 0
    }

    /// What a client has for its login.
    pub(super) fn connect_timeout(&self) -> Duration {
        let seconds = self.database.instance.globals().hot().connect_timeout();
        Duration::from_secs(seconds.max(1))
    }
}
