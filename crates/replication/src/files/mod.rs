//! The files of the binary log: `BASE.000001` and on, and beside them the index of their names and the state to go on from.
//!
//! What is synced when, and what a crash leaves, is decision 0047.
//!
//! | module | what |
//! |---|---|
//! | [`names`] | what they are called |
//! | [`read`] | events out of them |
//! | [`store`] | they are opened, appended to, cut after a crash, removed |
//! | `next` | one ends and the next begins |

pub mod names;
mod next;
pub mod read;
pub mod store;

#[cfg(test)]
mod tests;
