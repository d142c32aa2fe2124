//! What is looked at before a transaction of the source begins: whether the applier is to end there, whether it is left out, when it is due.

use std::time::Duration;

use types::gtid::Gtid;
use wire::binlog::header::Header;

use super::place::Place;
use super::state::Shared;
use super::stopped::Stopped;

/// Whether the applier is to end in front of the next transaction.
pub(super) fn is_reached(shared: &Shared, place: &Place, next: Option<Gtid>) -> bool {
    let s = shared.state();
    let Some(until) = &s.until else {
        return false;
    };
    // What came over other channels does not come over this one.
    let mut applied = place.gtids.clone();
    applied.add_set(&shared.gtids.done());
    until.is_reached(&place.log, next, &applied)
}

/// Whether the transaction that begins is left out.
pub(super) fn take_skip(shared: &Shared) -> bool {
    let mut s = shared.state();
    let skipped = s.skip > 0;
    s.skip -= u64::from(skipped);
    skipped
}

/// Waits as long as SOURCE_DELAY says.
///
/// # Errors
/// [`Stopped::Asked`]: the applier is to end before.
pub(super) async fn wait_delay(shared: &Shared, header: &Header) -> Result<(), Stopped> {
    let due = {
        let mut s = shared.state();
        let delay = s.source.as_ref().map_or(0, |s| u64::from(s.facts.delay));
        if delay == 0 {
            return Ok(());
        }
        let due = u64::from(header.timestamp) + delay;
        s.delayed_until = Some(due);
        s.applier_state = "Waiting until SOURCE_DELAY seconds after source executed event";
        due
    };
    let now = shared.instance.wall_us().max(0) as u64;
    let left = Duration::from_micros((due * 1_000_000).saturating_sub(now));
    let clock = shared.instance.clock();
    shared.queue.rest(clock, left, false).await;
    shared.state().delayed_until = None;
    match shared.queue.is_taking_stopped() {
        true => Err(Stopped::Asked),
        false => Ok(()),
    }
}
