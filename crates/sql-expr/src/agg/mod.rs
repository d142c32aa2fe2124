//! Aggregate functions: what a query block computes for each group ([`AggSpec`]) and the running state for one group
//! ([`Accumulator`]). The executor decides what a group is; nothing here sees more than one row at a time.

mod concat;
mod extremes;
mod seen;
mod sliding;
mod spec;
mod state;

pub use extremes::Extremes;
pub use spec::AggSpec;
pub use state::Accumulator;
pub(crate) use state::Running;

impl AggSpec {
    /// The empty state of a group.
    pub fn start(&self) -> Accumulator {
        Accumulator::new(self)
    }
}
