//! Accepting connections and having them served.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use super::lifecycle;
use super::listen::Listeners;
use super::registry::Registry;
use super::server_state::Server;
use crate::offload::Task;

/// How long nobody is let in after the process ran out of descriptors.
const OUT_OF_DESCRIPTORS: Duration = Duration::from_millis(100);

/// How often that is told, at most.
const TOLD_AGAIN: Duration = Duration::from_secs(60);

/// Where clients come in.
#[derive(Clone)]
pub(super) struct Acceptor {
    pub(super) server: Arc<Server>,
    pub(super) registry: Arc<Registry>,
    /// It is the administrators'.
    pub(super) by_admin: bool,
}

impl Acceptor {
    /// Accepts connections until `until` is ready, and hands each to `serve`.
    pub(super) async fn accept_until(
        &self,
        mut listeners: Listeners,
        until: impl Future<Output = ()>,
        serve: impl Fn(Task),
    ) {
        let mut until = pin!(until);
        let mut told: Option<Instant> = None;
        loop {
            let incoming = {
                let max_unauthenticated = self.server.max_unauthenticated;
                let mut accept = pin!(async {
                    self.registry.room(max_unauthenticated).await;
                    listeners.accept().await
                });
                let next = std::future::poll_fn(|cx| {
                    if until.as_mut().poll(cx).is_ready() {
                        return Poll::Ready(None);
                    }
                    accept.as_mut().poll(cx).map(Some)
                });
                next.await
            };
            let incoming = match incoming {
                None => return,
                Some(Ok(incoming)) => incoming,
                Some(Err(e)) => {
                    // One that was gone before it was accepted, or no descriptor is left: then others must end first.
                    if !matches!(e.kind(), std::io::ErrorKind::ConnectionAborted) {
                        // Now and then, however often it is tried.
                        if told.is_none_or(|told| told.elapsed() > TOLD_AGAIN) {
                            told = Some(Instant::now());
                            let log = &self.server.log;
                            log.error(format_args!("accepting a connection: {e}"));
                        }
                        tokio::time::sleep(OUT_OF_DESCRIPTORS).await;
                    }
                    continue;
                }
            };
            let id = self.server.database.instance.next_connection_id();
            // None is let in once the server stops.
            if let Some(slot) = self.registry.enter(id, self.server.max_unauthenticated) {
                let server = Arc::clone(&self.server);
                let task = lifecycle::serve(server, incoming, id, slot, self.by_admin);
                serve(Box::pin(base::waits::on_behalf_of(id, task)));
            }
        }
    }
}
