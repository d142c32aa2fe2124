//! Whether a replica applies what its new source does: that it was told to follow it says nothing yet. A stored password may be another one by now,
//! or the new source may want what the old one did not.
//!
//! Must never do: report what was not seen.

use std::time::{Duration, Instant};

use types::gtid::GtidSet;

use super::failure::Failure;
use super::server::{ReplicaState, Server};

/// A statement that is in the binary log, and changes nothing anywhere.
const MARK: &str = "CREATE DATABASE IF NOT EXISTS mysql";
/// How long a replica that is refused may go on trying: it may have tried before its account was there.
const REFUSED_FOR: Duration = Duration::from_secs(10);
/// How long it is waited for at a time.
const STEP: Duration = Duration::from_millis(500);

/// What a replica must have done.
pub(super) struct Proof {
    goal: Result<GtidSet, Failure>,
}

impl Proof {
    /// Leaves something to be applied on the source, where anything follows it. It may wait for replicas (semi-sync): they have been told before.
    pub fn begin(source: &mut Server, wanted: bool) -> Proof {
        let goal = match wanted {
            true => source
                .run_within(MARK, REFUSED_FOR)
                .and_then(|_| source.executed()),
            false => Ok(GtidSet::default()),
        };
        Proof { goal }
    }

    /// Waits until a replica is connected, and has applied all that the source had done by then.
    ///
    /// # Errors
    /// What the replica says is in its way; it has not caught up in time.
    pub fn of(
        &self,
        source: &mut Server,
        replica: &mut Server,
        wait: Duration,
    ) -> Result<(), Failure> {
        let (at, to) = (replica.address.clone(), source.address.clone());
        let begun = Instant::now();
        let mut refused_since: Option<Instant> = None;
        loop {
            let state = replica.state()?.replica.unwrap_or_default();
            if let Ok(goal) = &self.goal
                && state.connected
                && state.applies
                && replica.wait_for(goal, STEP)?
            {
                return Ok(());
            }
            let well = (state.connected && state.applies) || state.failure.is_empty();
            match well {
                true => refused_since = None,
                false => {
                    let since = refused_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= REFUSED_FOR.min(wait) {
                        return Err(Failure::refused(format!(
                            "{at} is a replica of {to}, and does not follow it: {}",
                            state.failure
                        )));
                    }
                }
            }
            if begun.elapsed() >= wait {
                return Err(self.late(&at.to_string(), &to.to_string(), wait, &state));
            }
            if !state.connected {
                std::thread::sleep(STEP);
            }
        }
    }

    fn late(&self, at: &str, to: &str, wait: Duration, state: &ReplicaState) -> Failure {
        let why = match &self.goal {
            Ok(_) => state.failure.clone(),
            Err(Failure::Refused(text) | Failure::Usage(text)) => text.clone(),
        };
        Failure::refused(format!(
            "{at} is a replica of {to}, and has not caught up after {} s; connected: {}, applies: {}. {why}",
            wait.as_secs(),
            state.connected,
            state.applies,
        ))
    }
}
