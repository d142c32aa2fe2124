//! Where the server's values come from: what `performance_schema.variables_info` says. Whoever gives a value says it, behind the store; nothing goes by it.

use std::collections::BTreeMap;

use base::lock::Mutex;

use super::registry::{self, VarId};

/// Who has given a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VarOrigin {
    /// The command line.
    CommandLine,
    /// A file of options, by its path.
    File(String),
    /// SET PERSIST, in an earlier life: the path of its file.
    Persisted(String),
    /// SET GLOBAL or SET PERSIST.
    Set {
        /// In microseconds since 1970.
        at_us: i64,
        /// Whose statement.
        user: String,
        /// From where.
        host: String,
    },
}

/// Those that are not the program's own.
#[derive(Debug, Default)]
pub(super) struct Origins(Mutex<BTreeMap<u16, VarOrigin>>);

impl Origins {
    pub(super) fn note(&self, name: &str, origin: VarOrigin) {
        let id = registry::lookup(name).or_else(|| registry::lookup_option(name));
        if let Some(VarId(id)) = id {
            self.0.lock().insert(id, origin);
        }
    }

    pub(super) fn of(&self, id: VarId) -> Option<VarOrigin> {
        self.0.lock().get(&id.0).cloned()
    }
}
