//! Accepting connections and having them served.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use super::Server;
use super::connection;
use super::listen::Listeners;
use super::movable::Task;
use super::registry::Registry;

/// How long nobody is let in after the process ran out of descriptors.
const OUT_OF_DESCRIPTORS: Duration = Duration::from_millis(100);

/// Where clients come in.
#[derive(Clone)]
pub(super) struct Door {
    pub(super) server: Arc<Server>,
    pub(super) registry: Arc<Registry>,
    /// It is the administrators'.
    pub(super) by_admin: bool,
}

impl Door {
    /// Accepts connections until `until` is ready, and hands each to `serve`.
    pub(super) async fn accept_until(
        &self,
        mut listeners: Listeners,
        until: impl Future<Output = ()>,
        serve: impl Fn(Task),
    ) {
        let mut until = pin!(until);
        let mut short = false;
        loop {
            let incoming = {
                let mut accept = pin!(listeners.accept());
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
                Some(Ok(incoming)) => {
                    if std::mem::take(&mut short) {
                        self.server.log.note("connections are accepted again");
                    }
                    incoming
                }
                Some(Err(e)) => {
                    // One that was gone before it was accepted, or no descriptor is left: then others must end first.
                    if !matches!(e.kind(), std::io::ErrorKind::ConnectionAborted) {
                        // Once, however often it is tried.
                        if !std::mem::replace(&mut short, true) {
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
            if let Some(seat) = self.registry.enter(id, self.server.strangers) {
                let server = Arc::clone(&self.server);
                let task = connection::serve(server, incoming, id, seat, self.by_admin);
                serve(Box::pin(task));
            }
        }
    }
}
