//! The disk: the volume behind one lock, a countdown to the next power cut, and what happens from a cut on until the power is
//! back. An operation that is under way at the cut gets no answer, until its process has been told to die.

use super::content::{Losses, Unsynced};
use super::volume::Volume;
use base::lock::{Condvar, Mutex, MutexGuard};
use harness::rng::Rng;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Where the power is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Power {
    /// Operations are carried out.
    On,
    /// It went; nobody gets an answer.
    Cut,
    /// It went, and all processes are dying: every answer is an error.
    Off,
}

#[derive(Debug)]
struct State {
    volume: Volume,
    power: Power,
    /// Changes and syncs until the next cut.
    countdown: Option<u64>,
    /// What the next cut does to everything that was not synced, where not chance decides.
    all: Option<Unsynced>,
    /// Syncs that are answered, and do nothing.
    lies: Lies,
    rng: Rng,
    losses: Losses,
    syncs: u64,
    changes: u64,
}

/// Which promises are not kept: a planted fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lies {
    /// All are kept.
    None,
    /// Syncs of folders do nothing.
    Names,
    /// No sync does anything.
    All,
}

/// A disk that several threads use.
#[derive(Debug, Clone)]
pub struct Disk {
    shared: Arc<(Mutex<State>, Condvar)>,
}

/// What a disk did so far.
#[derive(Debug, Clone, Copy)]
pub struct Figures {
    /// What cuts did.
    pub losses: Losses,
    /// Syncs of files and folders, and writes that are syncs.
    pub syncs: u64,
    /// Writes and other changes.
    pub changes: u64,
}

/// There is no power.
#[derive(Debug, Clone, Copy)]
pub struct NoPower;

/// What an operation counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// It changes nothing and never brings a cut.
    Reads,
    /// It changes something.
    Changes,
    /// It makes something durable.
    Syncs,
}

impl Disk {
    /// An empty disk.
    pub fn new(seed: u64, uid: u32, gid: u32) -> Disk {
        let state = State {
            volume: Volume::new(uid, gid),
            power: Power::On,
            countdown: None,
            all: None,
            lies: Lies::None,
            rng: Rng::new(seed),
            losses: Losses::default(),
            syncs: 0,
            changes: 0,
        };
        Disk {
            shared: Arc::new((Mutex::new(state), Condvar::new())),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.0.lock()
    }

    /// Carries an operation out, unless there is no power or it goes now. `act` is told which syncs are lies.
    pub fn operate<T>(
        &self,
        weight: Weight,
        act: impl FnOnce(&mut Volume, Lies) -> T,
    ) -> Result<T, NoPower> {
        let mut state = self.lock();
        if state.power == Power::On {
            if weight == Weight::Reads || !state.due() {
                match weight {
                    Weight::Reads => {}
                    Weight::Changes => state.changes += 1,
                    Weight::Syncs => state.syncs += 1,
                }
                let lies = state.lies;
                return Ok(act(&mut state.volume, lies));
            }
            // What was under way when the power went is done or not, but nobody is told.
            if state.rng.one_in(2) {
                let lies = state.lies;
                act(&mut state.volume, lies);
            }
            state.cut();
            self.shared.1.notify_all();
        }
        while state.power == Power::Cut {
            state = self.shared.1.wait(state);
        }
        Err(NoPower)
    }

    /// The power goes at the `n`th change or sync from now.
    pub fn cut_after(&self, n: u64) {
        self.lock().countdown = Some(n);
    }

    /// What the next cut does to everything that was not synced.
    pub fn decide(&self, all: Unsynced) {
        self.lock().all = Some(all);
    }

    /// From now on these syncs are answered and do nothing; everything until now is durable.
    pub fn lie(&self, which: Lies) {
        let mut state = self.lock();
        state.volume.sync_all();
        state.lies = which;
    }

    /// Waits for the cut that was announced; after `limit` the power goes anyway. True where it went by itself.
    pub fn wait_for_cut(&self, limit: Duration) -> bool {
        let begun = Instant::now();
        let mut state = self.lock();
        while state.power == Power::On {
            let left = limit.saturating_sub(begun.elapsed());
            if left.is_zero() {
                state.cut();
                return false;
            }
            state = self.shared.1.wait_timeout(state, left);
        }
        true
    }

    /// All processes that use it have been told to die: what they wait for is answered with an error.
    pub fn release(&self) {
        self.lock().power = Power::Off;
        self.shared.1.notify_all();
    }

    /// Power again.
    pub fn power_on(&self) {
        let mut state = self.lock();
        state.power = Power::On;
        state.countdown = None;
    }

    /// What it did so far.
    pub fn figures(&self) -> Figures {
        let state = self.lock();
        Figures {
            losses: state.losses,
            syncs: state.syncs,
            changes: state.changes,
        }
    }
}

impl State {
    /// Is this the operation that the power goes at?
    fn due(&mut self) -> bool {
        match &mut self.countdown {
            Some(0) => true,
            Some(n) => {
                *n -= 1;
                false
            }
            None => false,
        }
    }

    fn cut(&mut self) {
        let done = self.volume.cut(self.all.take(), &mut self.rng);
        self.losses.lost += done.lost;
        self.losses.kept += done.kept;
        self.losses.torn += done.torn;
        self.losses.names_lost += done.names_lost;
        self.losses.names_kept += done.names_kept;
        self.countdown = None;
        self.power = Power::Cut;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_answered_between_the_cut_and_the_end_of_all_processes() {
        let disk = Disk::new(1, 0, 0);
        disk.cut_after(2);
        let change = |disk: &Disk| disk.operate(Weight::Changes, |_, _| ()).is_ok();
        assert!(change(&disk) && change(&disk));
        assert!(disk.operate(Weight::Reads, |_, _| ()).is_ok());
        std::thread::scope(|scope| {
            let under_way = scope.spawn(|| change(&disk));
            assert!(disk.wait_for_cut(Duration::from_secs(60)));
            std::thread::sleep(Duration::from_millis(20));
            assert!(!under_way.is_finished());
            disk.release();
            assert!(!under_way.join().unwrap());
        });
        assert!(!change(&disk));
        disk.power_on();
        assert!(change(&disk));
    }

    #[test]
    fn a_cut_comes_also_without_any_change() {
        let disk = Disk::new(1, 0, 0);
        disk.cut_after(2);
        assert!(!disk.wait_for_cut(Duration::from_millis(1)));
        assert!(disk.wait_for_cut(Duration::from_secs(60)));
    }
}
