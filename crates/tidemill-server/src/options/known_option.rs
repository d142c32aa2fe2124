//! What is known of an option: whether it has a value, and what becomes of it.

use super::Options;
use super::set::{Fault, Given};

/// Fills a field with an option's value.
pub(super) type Setter = fn(&mut Options, &mut Given<'_>) -> Result<(), Fault>;

/// Whether an option stands with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Argument {
    /// Always; on the command line it may follow as the next word.
    Required,
    /// A switch: alone it means 1, and `skip-`, `disable-` and `enable-` stand before it.
    Switch,
}

/// What becomes of an option.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// It fills a field.
    Obeyed(Setter),
    /// It is handed to SQL.
    Variable,
    /// It is accepted; this is why there is nothing to do.
    WithoutEffect(&'static str),
}

/// An option this server knows.
#[derive(Clone, Copy)]
pub(super) struct Known {
    /// Name with underscores.
    pub(super) name: &'static str,
    /// Whether it has a value.
    pub(super) argument: Argument,
    /// What becomes of it.
    pub(super) kind: Kind,
}
