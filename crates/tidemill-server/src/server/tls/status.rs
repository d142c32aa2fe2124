//! The status variables of the server's TLS: what is in force, and how often it was used.

use std::sync::Arc;

use sql::session::transport::VERIFY_DEPTH;
use sql_expr::vars::{StatusSource, StatusValue};

use super::sessions::CAPACITY;
use super::state::Tls;

/// Reports a server's TLS.
pub(super) struct TlsStatus(pub(super) Arc<Tls>);

impl StatusSource for TlsStatus {
    fn report(&self, out: &mut dyn FnMut(&str, StatusValue)) {
        let context = self.0.context();
        let context = context.as_deref();
        let mut text = |name: &str, value: Option<&str>| {
            out(name, StatusValue::Text(value.unwrap_or("").to_owned()));
        };
        let settings = context.map(|c| &c.settings);
        text("Current_tls_ca", settings.map(|s| &*s.ca));
        text("Current_tls_capath", settings.map(|s| &*s.capath));
        text("Current_tls_cert", settings.map(|s| &*s.cert));
        text("Current_tls_cipher", settings.map(|s| &*s.cipher));
        let ciphersuites = settings.and_then(|s| s.ciphersuites.as_deref());
        text("Current_tls_ciphersuites", ciphersuites);
        text("Current_tls_crl", settings.map(|s| &*s.crl));
        text("Current_tls_crlpath", settings.map(|s| &*s.crlpath));
        text("Current_tls_key", settings.map(|s| &*s.key));
        text("Current_tls_version", settings.map(|s| &*s.version));
        text("Ssl_server_not_after", context.map(|c| &*c.not_after));
        text("Ssl_server_not_before", context.map(|c| &*c.not_before));
        let sessions = context.and_then(|c| c.sessions.as_deref());
        let mode = match (context, sessions) {
            (None, _) => "NONE",
            (Some(_), None) => "OFF",
            (Some(_), Some(_)) => "SERVER",
        };
        text("Ssl_session_cache_mode", Some(mode));

        let mut count = |name: &str, n: u64| out(name, StatusValue::Count(n));
        count("Ssl_accepts", self.0.accepts.get());
        count("Ssl_finished_accepts", self.0.finished.get());
        let asks = context.is_some_and(|c| c.asks);
        count("Ssl_ctx_verify_depth", if asks { VERIFY_DEPTH } else { 0 });
        // SSL_VERIFY_PEER and SSL_VERIFY_CLIENT_ONCE.
        count("Ssl_ctx_verify_mode", if asks { 5 } else { 0 });
        if let Some(sessions) = sessions {
            count("Ssl_session_cache_hits", sessions.hits.get());
            count("Ssl_session_cache_misses", sessions.misses.get());
            count("Ssl_session_cache_overflows", sessions.overflows.get());
            count("Ssl_session_cache_size", CAPACITY as u64);
            count("Ssl_session_cache_timeouts", sessions.timeouts.get());
            count("Ssl_used_session_cache_entries", sessions.len() as u64);
        }
        let timeout = settings.map_or(0, |s| s.session_timeout);
        count("Ssl_session_cache_timeout", timeout);
    }
}
