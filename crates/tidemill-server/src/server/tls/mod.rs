//! TLS for the server's clients: the context that new connections are offered, made at the start and anew by ALTER INSTANCE
//! RELOAD TLS, and the channel that a connection's bytes go through.
//!
//! Modules: `suites` and `names` (OpenSSL's words for rustls' things), `files` (what the variables name), `certificates` (made
//! where there are none), `sessions` (what can be resumed), `context` (all of that together), `state` (the one in
//! force), `channel` (one connection), `status`. What never happens: a list or file that cannot
//! be used in full is used in part.

mod certificates;
mod channel;
mod context;
mod files;
mod names;
mod sessions;
mod state;
mod status;
mod suites;

use std::path::Path;
use std::sync::Arc;

use sql::Instance;

use crate::log::Log;
pub(crate) use channel::Channel;
pub(crate) use context::Context;
pub(crate) use state::Tls;
use status::TlsStatus;

/// Makes the first context, where `wanted` (`--ssl`), and joins ALTER INSTANCE RELOAD TLS and SHOW STATUS to it.
///
/// # Errors
/// What was asked for by name cannot be done. Where nobody named a file, the server goes without TLS and says so.
pub(crate) fn start(
    instance: &Arc<Instance>,
    directory: &Path,
    wanted: bool,
    log: &Arc<Log>,
) -> Result<Arc<Tls>, String> {
    let globals = Arc::clone(instance.globals());
    let tls = Arc::new(Tls::new(globals, directory, wanted, log)?);
    let status = TlsStatus(Arc::clone(&tls));
    instance.status().register(Arc::new(status));
    let (reloaded, told) = (Arc::clone(&tls), Arc::clone(log));
    instance.on_reload_tls(Arc::new(move |give_up| reloaded.reload(give_up, &told)));
    Ok(tls)
}
