//! TEMPORARY.
use super::spec::Spec;
pub(super) const SPECS: &[Spec] = &[];
