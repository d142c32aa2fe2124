//! The servers of the lab, ours and its peers, behind one trait: started on a directory of their own, with the same
//! memory and the same durability, reached, asked, paused and ended.
//!
//! Nothing here may favour a side: what one is given beyond its own defaults stands in [`Terms`], which all of them
//! get alike, or in the experiment's options, which the report prints.

mod canned;
mod confined;
mod guard;
mod mysql;
mod peer;
mod postgres;
mod slow_disk;

pub(crate) use confined::forget;
pub(crate) use guard::Guard;
use harness::step::Outcome;
pub use peer::{Order, Peer, Terms, Who};

/// Starts a server: on what is in its directory, or on a fresh one.
pub fn start(order: &Order<'_>) -> Outcome<Box<dyn Peer>> {
    Ok(match order.who {
        Who::Postgres => Box::new(postgres::Postgres::start(order)?),
        Who::Canned => Box::new(canned::Canned::start(order)?),
        Who::Tidemill | Who::Uncounted | Who::MariaDb | Who::MyRocks => {
            Box::new(mysql::Mysql::start(order)?)
        }
    })
}
