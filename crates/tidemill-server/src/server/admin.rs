//! The administrators' address: accepted and served by one thread that does nothing else, so that it answers whatever the others do. Who
//! comes there needs SERVICE_CONNECTION_ADMIN and is not one of `max_connections`.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::sync::Notify;

use super::accept::Acceptor;
use super::listen::Listeners;
use crate::offload::{Offloadable, WorkThreads};
use crate::options::Options;

/// The thread, and where it listens.
pub(super) struct Admin {
    /// The address, with its real port.
    pub(super) address: SocketAddr,
    stop: Arc<Notify>,
    ended: Receiver<Infallible>,
}

impl Admin {
    /// Listens, if there is an address for it.
    ///
    /// # Errors
    /// An address that cannot be bound; no thread.
    pub(super) fn start(
        options: &Options,
        acceptor: Acceptor,
        work: WorkThreads,
    ) -> io::Result<Option<Admin>> {
        if options.admin_address.is_none() {
            return Ok(None);
        }
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let listeners = {
            let _inside = runtime.enter();
            Listeners::bind_admin(options)?
        };
        let address = listeners.addresses().first().copied();
        let address = address.ok_or(io::ErrorKind::AddrNotAvailable)?;
        let stop = Arc::new(Notify::new());
        let until = Arc::clone(&stop);
        let (end, ended) = channel();
        std::thread::Builder::new()
            .name("admin".to_owned())
            .spawn(move || {
                let _end = end;
                let handle = runtime.handle().clone();
                let serve = |task| {
                    handle.spawn(Offloadable::new(task, work.clone(), handle.clone()));
                };
                let never = std::future::pending();
                runtime.block_on(async {
                    tokio::select! {
                        () = acceptor.accept_until(listeners, never, serve) => {}
                        () = until.notified() => {}
                    }
                });
            })?;
        Ok(Some(Admin {
            address,
            stop,
            ended,
        }))
    }

    /// Ends it; says whether it did not end in that time.
    pub(super) fn stop(self, at_most: Duration) -> bool {
        self.stop.notify_one();
        self.ended.recv_timeout(at_most) != Err(RecvTimeoutError::Disconnected)
    }
}
