//! What new connections are offered: the context in force, made at the start and anew by ALTER INSTANCE RELOAD TLS, and how often it was
//! used.

use base::lock::RwLock;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::counters::Counter;
use sql_expr::vars::{GlobalVars, VarValue};

use super::certificates;
use super::context::{Context, Settings};
use crate::log::Log;

/// The server's TLS.
pub(crate) struct Tls {
    /// What file names are relative to.
    directory: PathBuf,
    globals: Arc<GlobalVars>,
    current: RwLock<Option<Arc<Context>>>,
    /// Handshakes begun.
    pub(crate) accepts: Counter,
    /// Handshakes done.
    pub(crate) finished: Counter,
}

impl Tls {
    /// Makes the first context, where `wanted` (`--ssl`).
    ///
    /// # Errors
    /// What was asked for by name cannot be done. Where nobody named a file, the server goes without TLS and says so.
    pub(super) fn new(
        globals: Arc<GlobalVars>,
        directory: &Path,
        wanted: bool,
        log: &Log,
    ) -> Result<Tls, String> {
        let tls = Tls {
            directory: std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned()),
            globals,
            current: RwLock::new(None),
            accepts: Counter::default(),
            finished: Counter::default(),
        };
        let given = Settings::of(&tls.globals);
        if !given.names_files() {
            tls.find_or_make(wanted, log);
        }
        let settings = Settings::of(&tls.globals);
        // An empty list of versions is MySQL's other way to say --skip-ssl.
        if wanted && !settings.version.is_empty() && settings.names_files() {
            match Context::make(settings, &tls.directory) {
                Ok(context) => tls.put(Some(context), log),
                Err(e) if given.names_files() => return Err(failed(&e)),
                Err(e) => {
                    log.warning(format_args!("{}; going on without TLS", failed(&e)));
                }
            }
        }
        Ok(tls)
    }

    /// What new connections are offered; `None` for no TLS.
    pub(crate) fn context(&self) -> Option<Arc<Context>> {
        self.current.read().clone()
    }

    /// Names the files of the data directory, which are made where none is there.
    fn find_or_make(&self, wanted: bool, log: &Log) {
        let is_there = |name: &str| self.directory.join(name).exists();
        let make = self.globals.value_by_name("auto_generate_certs");
        let make = make.is_some_and(|v| v.as_u64() != 0);
        if wanted && make && !certificates::FILES.into_iter().any(is_there) {
            match certificates::make(&self.directory) {
                Ok(()) => log.note(format_args!(
                    "TLS certificates were made in {}",
                    self.directory.display()
                )),
                Err(e) => log.warning(format_args!("TLS certificates could not be made: {e}")),
            }
        }
        for (variable, file) in [
            ("ssl_ca", certificates::CA),
            ("ssl_cert", certificates::SERVER_CERT),
            ("ssl_key", certificates::SERVER_KEY),
        ] {
            if is_there(file) {
                self.globals.set_fact(variable, VarValue::text(file));
            }
        }
    }

    /// A context of the variables as they stand. On an error the old one stays, or with `give_up` there is none.
    pub(super) fn reload(&self, give_up: bool, log: &Log) -> Result<(), String> {
        match Context::make(Settings::of(&self.globals), &self.directory) {
            Ok(context) => self.put(Some(context), log),
            Err(e) => {
                log.warning(failed(&e));
                if give_up {
                    self.put(None, log);
                }
                return Err(e);
            }
        }
        Ok(())
    }

    fn put(&self, context: Option<Context>, log: &Log) {
        match &context {
            Some(context) => {
                log.note(format_args!(
                    "TLS is on: {}, certificate {} valid until {}",
                    context.settings.version, context.settings.cert, context.not_after
                ));
                if context.expired {
                    log.warning("the server's TLS certificate has expired");
                }
            }
            None => log.warning("TLS is off for new connections"),
        }
        let word = if context.is_some() { "YES" } else { "DISABLED" };
        for name in ["have_ssl", "have_openssl"] {
            // Both words are of the variable's list.
            let _listed = self.globals.set_option(name, word);
        }
        let mut current = self.current.write();
        *current = context.map(Arc::new);
    }
}

fn failed(why: &str) -> String {
    format!("Failed to set up SSL because of the following SSL library error: {why}")
}
