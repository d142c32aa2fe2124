//! `tidemill promote`, which makes the most advanced of some replicas the source, and `tidemill rejoin`, which makes an old source a replica of the
//! new one. Both speak to servers as any client does, and need no directory.
//!
//! | module | what |
//! |---|---|
//! | [`arguments`] | their command lines |
//! | `failure` | why nothing came of it; lines for the user |
//! | [`server`] | a server that is spoken to, and what it says of itself |
//! | [`choice`] | which replica it is to be, and which transactions are errant. No I/O |
//! | `proof` | whether a replica applies what its new source does |
//! | [`promote`], [`rejoin`] | the steps |
//!
//! What they never do: decide that a source has failed (who calls them has), forget a transaction that they have seen without saying so, or
//! leave two servers that can be written to.

mod arguments;
mod choice;
mod failure;
mod promote;
mod proof;
mod rejoin;
mod server;

use std::io::Write;

use arguments::Asked;
pub use failure::Failure;
use failure::say;

/// Does what a command line says, and writes a line for each step.
///
/// # Errors
/// See [`Failure`].
pub fn run(rejoin: bool, words: &[String], out: &mut dyn Write) -> Result<(), Failure> {
    match arguments::parse(rejoin, words)? {
        Asked::Help => {
            say(out, arguments::USAGE);
            Ok(())
        }
        Asked::Promote(p) => promote::run(&p, out),
        Asked::Rejoin(r) => rejoin::run(&r, out),
    }
}
