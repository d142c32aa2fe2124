//! `tidemill promote`, which makes the most advanced of some replicas the source, and `tidemill rejoin`, which makes an old source a replica of the
//! new one. Both speak to servers as any client does, and need no directory.
//!
//! | module | what |
//! |---|---|
//! | [`arguments`] | their command lines |
//! | [`server`] | a server that is spoken to, and what it says of itself |
//! | [`choice`] | which replica it is to be, and which transactions are errant. No I/O |
//! | [`promote`], [`rejoin`] | the steps |
//!
//! What they never do: decide that a source has failed (who calls them has), forget a transaction that they have seen without saying so, or
//! leave two servers that can be written to.

mod arguments;
mod choice;
mod promote;
mod rejoin;
mod server;

use std::io::Write;

use arguments::Asked;

/// Why nothing came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The command line is wrong.
    Usage(String),
    /// A server cannot be reached, or something would be lost. The text says what was done by then.
    Refused(String),
}

impl Failure {
    fn refused(text: impl Into<String>) -> Failure {
        Failure::Refused(text.into())
    }
}

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

/// A line for the user.
fn say(out: &mut dyn Write, line: impl std::fmt::Display) {
    // Whoever does not listen is promoted for all the same.
    let _unheard = writeln!(out, "{line}").and_then(|()| out.flush());
}
