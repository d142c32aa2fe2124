//! What the receiver does when it has lost its source, or has not found it.

use std::time::Duration;

use sql::context::replica::Receiving;

use super::link::Broken;
use super::source::Source;
use super::state::Shared;

/// In words, while it connects. `first`: it has not been there since it was started.
pub(super) fn connecting(first: bool) -> &'static str {
    match first {
        true => "Connecting to source",
        false => "Reconnecting after a failed source event read",
    }
}

/// A connection that was lost, or did not come about.
pub(super) struct Lost<'l> {
    pub broken: &'l Broken,
    pub tries: u64,
    /// There was one.
    pub connected: bool,
    /// There was none since the receiver was started.
    pub first: bool,
}

impl Lost<'_> {
    /// Notes it, and waits until it is time to try again. False: it is not to be.
    pub async fn wait(&self, shared: &Shared, source: &Source) -> bool {
        let f = &source.facts;
        let what = match self.connected {
            true => "error reconnecting",
            false => "error connecting",
        };
        let message = format!(
            "{what} to source '{}@{}:{}' - retry-time: {} retries: {} message: {}",
            f.user, f.host, f.port, f.connect_retry, self.tries, self.broken.message
        );
        let failure = shared.failure(self.broken.number, message);
        {
            let mut s = shared.state();
            s.receiver_failure = failure;
            s.receiving = Receiving::Connecting;
            s.receiver_state = match self.first {
                true => connecting(true),
                false => "Waiting to reconnect after a failed source event read",
            };
        }
        if self.tries > f.retry_count {
            return false;
        }
        // At once after a connection that worked; then with a pause, which the user has set.
        if !self.connected {
            let pause = Duration::from_secs(f.connect_retry.into());
            shared
                .queue
                .rest(shared.instance.clock(), pause, true)
                .await;
        }
        !shared.queue.is_putting_stopped()
    }
}
