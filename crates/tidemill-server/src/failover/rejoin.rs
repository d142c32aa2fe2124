//! `tidemill rejoin`: an old source that comes back has what the new one has, or something that no other server ever got. In the first case it
//! is made a replica; in the second it is left as it is, but for that it is read-only.

use std::io::Write;

use super::arguments::Rejoin;
use super::choice::{shown, without};
use super::failure::{Failure, say};
use super::proof::Proof;
use super::server::Server;

/// Does it.
pub(super) fn run(r: &Rejoin, out: &mut dyn Write) -> Result<(), Failure> {
    let common = &r.common;
    let mut old = Server::connect(&r.server, common)?;
    if !common.check && !common.dry_run {
        // First of all: whatever comes of it, nobody writes there any more.
        old.make_read_only(common.wait)?;
    }
    let before = old.state()?;
    // After that: what the new source has got meanwhile is not errant.
    let mut new = Server::connect(&r.to, common)?;
    let to = new.state()?;
    if before.uuid == to.uuid {
        return Err(Failure::refused(format!(
            "{} and {} are the same server",
            r.server, r.to
        )));
    }
    if !to.gtids || !before.gtids {
        return Err(Failure::refused("gtid_mode is not ON on both"));
    }
    if before.replica.as_ref().is_some_and(|r| r.channels > 1) {
        return Err(Failure::refused(format!(
            "{} has several sources (channels)",
            r.server
        )));
    }
    if before.replica.is_none() && common.replication.is_none() {
        return Err(Failure::refused(format!(
            "{} has never been a replica: --replication-user says as whom it is to connect to {}",
            r.server, r.to
        )));
    }
    let errant = without(&before.executed, &to.executed);
    if !errant.is_empty() && !common.force {
        return Err(Failure::refused(format!(
            "{} has errant transactions: {}. They were committed there and are not on {}; it is read-only, and is no replica. \
             mariadb-binlog or mysqlbinlog shows them; a copy of the new source takes its place",
            r.server,
            shown(&errant),
            r.to
        )));
    }
    if common.check || common.dry_run {
        say(
            out,
            format_args!(
                "{}: nothing errant: it can be a replica of {}",
                r.server, r.to
            ),
        );
        return Ok(());
    }
    old.run("SET GLOBAL rpl_semi_sync_source_enabled = OFF")?;
    if new.is("rpl_semi_sync_source_enabled")? {
        old.run("SET GLOBAL rpl_semi_sync_replica_enabled = ON")?;
    }
    old.follow(&r.to, common)?;
    Proof::begin(&mut new, true).of(&mut new, &mut old, common.wait)?;
    old.run("SET GLOBAL offline_mode = OFF")?;
    say(
        out,
        format_args!("{} is a replica of {}, and has caught up", r.server, r.to),
    );
    Ok(())
}
