//! System variables and status variables: what there is (`defs_*`, `registry`), what SET may give (`assign`),
//! where values live (`store`, `hot`), how they are shown (`value`), and the names of SHOW STATUS (`status`).
//!
//! This module never acts on a value: whoever obeys a variable reads it from [`SessionVars::hot`] or
//! [`GlobalVars::hot`], or registers an observer. It imports nothing of the engine.

mod assign;
mod charsets;
mod def;
mod defs_innodb;
mod defs_repl;
mod defs_server;
mod defs_session;
mod error;
mod hintable;
mod hot;
mod origin;
mod persistable;
mod registry;
mod restricted;
mod sql_mode;
mod status;
mod store;
mod switches;
mod value;

#[cfg(test)]
mod tests;

pub use assign::VarInput;
pub use def::{VarDef, VarDefault, VarKind, VarScope};
pub use error::{VarError, VarWarning};
pub use hintable::is_hintable;
pub use hot::{GlobalHot, SessionHot};
pub use origin::VarOrigin;
pub use persistable::is_persistable;
pub use registry::{VarId, all, count, lookup, lookup_option};
pub use restricted::{is_of_appliers, is_restricted};
pub use sql_mode::SqlMode;
pub use status::{StatusRegistry, StatusSource, StatusValue};
pub use store::{GlobalVars, Kept, LiveVars, ReadScope, SessionVars};
pub use switches::Switches;
pub use types::temporal::TimeZone;
pub use value::VarValue;
