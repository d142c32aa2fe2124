//! Trees by their interface, over a pool, a log and a disk in memory. One program, since each links the pager.

mod bed;
mod damage;
mod fill;
mod model;
mod overflow;
mod partition;
mod read_ahead;
mod redo;
mod space;
mod stress;
