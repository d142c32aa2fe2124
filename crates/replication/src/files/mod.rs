//! The files of the binary log: `BASE.000001` and on, and beside them the index of their names and the state to go on from.
//!
//! What is synced when, and what a crash leaves, is decision 0047.
//!
//! | module | what |
//! |---|---|
//! | [`names`] | what they are called |
//! | [`read`] | events out of them |
//! | [`store`] | they are made, appended to, cut after a crash, removed |

pub mod names;
pub mod read;
pub mod store;

#[cfg(test)]
mod tests;
