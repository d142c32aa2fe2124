//! What receiver, applier and statements share of a channel: who runs, how far each has come, what went wrong.

use std::sync::{Arc, Weak};

use base::Event;
use base::lock::{Mutex, MutexGuard};
use sql::Instance;
use sql::context::replica::{Failure, LogPlace, Receiving, TransactionTimes, WorkerFacts};
use types::SqlError;
use types::error::codes;
use types::gtid::GtidSet;

use super::acknowledgement::Acknowledgements;
use super::behind::Behind;
use super::cut::Cuts;
use super::filter::Filters;
use super::gtids::AppliedGtids;
use super::outside::{Line, Outside};
use super::place::Place;
use super::queue::Queue;
use super::source::{Account, Source};
use super::until::Until;

/// What it is, and how far it has come.
#[derive(Default)]
pub(super) struct State {
    /// `None`: no source was ever named.
    pub source: Option<Source>,
    /// What the receiver logs in with instead.
    pub account: Account,
    /// Up to where transactions are applied and durable.
    pub place: Place,
    /// Up to where events have come.
    pub received: LogPlace,
    /// GTIDs that have come.
    pub retrieved: GtidSet,
    /// What the receiver does.
    pub receiving: Receiving,
    /// In words.
    pub receiver_state: &'static str,
    /// Whether its thread runs.
    pub receiver_runs: bool,
    /// Whether the applier's does.
    pub applier_runs: bool,
    /// What it does, in words.
    pub applier_state: &'static str,
    /// The last failures.
    pub receiver_failure: Failure,
    pub applier_failure: Failure,
    /// What is left out, and what is done elsewhere.
    pub filters: Filters,
    /// Where the applier is to end.
    pub until: Option<Until>,
    /// Groups that are to be left out.
    pub skip: u64,
    /// The time of the event that was applied last, in seconds since 1970.
    pub event_time: u32,
    /// Until when an event waits because of SOURCE_DELAY, in seconds since 1970.
    pub delayed_until: Option<u64>,
    /// Who applies transactions, or did last.
    pub workers: Vec<WorkerFacts>,
    /// There are several, and a coordinator.
    pub coordinated: bool,
    /// Transactions that were handed out and are not applied.
    pub in_flight: u64,
    /// The number, since the coordinator began, of the last one that is durable: `place` is that behind it.
    pub applied_number: u64,
    /// The number of the last one whose commit is in the log.
    pub recorded_number: u64,
    /// Numbers in the list of connections: the receiver's, and that of the applier which hands transactions out.
    pub receiver_thread: Option<u64>,
    pub applier_thread: Option<u64>,
    /// The transaction that has come last, and the one that is coming.
    pub queued: TransactionTimes,
    pub queueing: TransactionTimes,
    /// Transactions that were tried again.
    pub retries: u64,
    /// Of the source, once it is known.
    pub server_id: u32,
    pub uuid: String,
    /// Heartbeats: how many, when the last, in microseconds since 1970.
    pub heartbeats: (u64, i64),
    /// To end what the receiver waits for; and the stream that it is to get there.
    pub socket: Option<(u64, Box<dyn Line>)>,
}

/// What they share.
pub(super) struct Shared {
    me: Weak<Shared>,
    /// The channel's name.
    pub name: String,
    pub instance: Arc<Instance>,
    /// What was applied over all channels.
    pub gtids: Arc<AppliedGtids>,
    /// Where parts run, and how a source is reached.
    pub outside: Arc<dyn Outside>,
    pub queue: Queue,
    pub acknowledgements: Acknowledgements,
    /// The sessions that apply.
    pub cuts: Cuts,
    /// Where the stream in the queue goes on; `None`: nobody has received anything.
    behind: Mutex<Option<Behind>>,
    state: Mutex<State>,
    /// A thread has ended.
    pub ended: Event,
    /// More is applied than before, or nothing more will be.
    pub applied: Event,
    /// Somebody has begun to wait for that.
    pub hurry: Event,
}

impl State {
    /// How the source is reached now.
    pub fn reached_by(&self) -> Option<Source> {
        let mut source = self.source.clone()?;
        if self.receiver_runs {
            self.account.put_into(&mut source);
        }
        Some(source)
    }

    /// So many begin to apply. What they had done before is forgotten, but not how each ended until it begins.
    pub fn begin_workers(&mut self, n: usize) {
        let runs = WorkerFacts {
            runs: true,
            ..WorkerFacts::default()
        };
        self.workers = vec![runs; n];
        self.in_flight = 0;
        self.applied_number = 0;
        self.recorded_number = 0;
    }

    /// None applies any more.
    pub fn end_workers(&mut self) {
        for w in &mut self.workers {
            w.runs = false;
            w.thread = None;
            w.applying = TransactionTimes::default();
        }
        self.in_flight = 0;
    }

    /// A worker applies this transaction.
    pub fn begins(&mut self, worker: usize, what: TransactionTimes) {
        if let Some(w) = self.workers.get_mut(worker) {
            w.applying = what;
        }
    }

    /// A worker has applied its transaction.
    pub fn ends(&mut self, worker: usize, ended_us: i64) {
        if let Some(w) = self.workers.get_mut(worker) {
            w.applied = TransactionTimes {
                ended_us,
                ..std::mem::take(&mut w.applying)
            };
        }
    }

    /// Whether a transaction is being applied.
    pub fn is_applying(&self) -> bool {
        self.in_flight > 0 || self.workers.iter().any(|w| !w.applying.name.is_empty())
    }
}

impl Shared {
    /// Of a channel.
    pub fn new(
        name: &str,
        instance: Arc<Instance>,
        outside: Arc<dyn Outside>,
        gtids: Arc<AppliedGtids>,
    ) -> Arc<Shared> {
        Arc::new_cyclic(|me| Shared {
            me: Weak::clone(me),
            name: name.to_owned(),
            instance,
            gtids,
            outside,
            queue: Queue::default(),
            acknowledgements: Acknowledgements::default(),
            cuts: Cuts::default(),
            behind: Mutex::default(),
            state: Mutex::new(State::default()),
            ended: Event::new(),
            applied: Event::new(),
            hurry: Event::new(),
        })
    }

    /// For whoever must not keep it.
    pub fn me(&self) -> Weak<Shared> {
        Weak::clone(&self.me)
    }

    /// The receiver is to end.
    pub fn end_receiver(&self) {
        self.queue.stop_putting(true);
        self.shut_socket();
    }

    /// The applier is to end, behind the transactions that are whole and that there is room for.
    pub fn end_applier(&self) {
        self.queue.stop_taking(true);
        // What another channel has claimed is not waited for any more.
        if !base::mutant!("replica-stop-waits-for-a-claim") {
            self.gtids.ask_again();
        }
        // Nor is room for the binary log: what has not begun to commit is taken back, and comes again.
        self.instance.engine().ask_who_waits_for_intake();
    }

    /// Whether the applier is to end, or has nobody that it applies for; for whoever must not keep this.
    pub fn applier_ends(&self) -> impl Fn() -> bool + Send + Sync + 'static {
        let me = self.me();
        move || me.upgrade().is_none_or(|s| s.queue.is_taking_stopped())
    }

    /// Whether this is how what an applier was at has ended: it was cut off, or it has waited for room and is to end.
    pub fn is_cut_off(&self, e: &SqlError) -> bool {
        e.code == codes::ER_QUERY_INTERRUPTED
            && (self.cuts.are_off() || self.queue.is_taking_stopped())
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Where the stream in the queue goes on. Only a receiver changes it, and there is one.
    pub fn behind(&self) -> MutexGuard<'_, Option<Behind>> {
        self.behind.lock()
    }

    /// Whether something of the stream that is wanted has come, and a receiver that begins goes on behind that.
    pub fn goes_on(&self) -> bool {
        let stream = self.queue.stream();
        self.behind().as_ref().is_some_and(|b| b.is_of(stream))
    }

    /// Where all is applied, if nobody applies: who does begins the streams.
    pub fn stands_at(&self) -> Option<Place> {
        let s = self.state();
        (!s.applier_runs).then(|| s.place.clone())
    }

    /// A number of a variable of the server.
    pub fn variable(&self, name: &str) -> u64 {
        let v = self.instance.globals().value_by_name(name);
        v.map_or(0, |v| v.as_u64())
    }

    /// A text.
    pub fn text_variable(&self, name: &str) -> String {
        let v = self.instance.globals().value_by_name(name);
        v.and_then(|v| v.as_str().map(str::to_owned))
            .unwrap_or_default()
    }

    /// A failure at this moment.
    pub fn failure(&self, number: u16, message: String) -> Failure {
        Failure {
            number,
            message,
            at_us: self.instance.wall_us(),
        }
    }

    /// Ends what the receiver waits for on its socket.
    pub fn shut_socket(&self) {
        if let Some((_, socket)) = self.state().socket.take() {
            socket.shut();
        }
    }

    /// All before `at` is applied: an event of the source's file that is of no transaction, or another file.
    pub fn passed(&self, at: &LogPlace) {
        self.state().place.log.clone_from(at);
        self.applied.fire();
    }

    /// The transaction with this number is durable, and `place` is behind it. One behind it may have been here before.
    pub fn is_at(&self, number: u64, place: Place, began: u32) {
        let mut s = self.state();
        if number == 0 || number > s.applied_number {
            s.applied_number = number;
            s.place = place;
            if began != 0 {
                s.event_time = began;
            }
        }
        drop(s);
        if !base::mutant!("applied-without-a-word") {
            self.applied.fire();
        }
    }

    /// All before `end` is applied: the source is told, if it has asked, once that is durable.
    pub async fn acknowledge(&self, end: &LogPlace) -> Result<(), SqlError> {
        if !self.acknowledgements.is_wanted(end) {
            return Ok(());
        }
        // A commit is durable when it returns, or a second later where that was asked for.
        if self.variable("innodb_flush_log_at_trx_commit") != 1 {
            self.instance.engine().make_durable().await?;
        }
        self.acknowledgements.durable(end);
        Ok(())
    }

    /// The receiver cannot go on with this stream: another one begins where all is applied. An applier that runs begins it; where it ends meanwhile,
    /// nobody but the receiver is left to do so.
    pub async fn leave_stream(&self, stream: u64) {
        if self.stands_at().is_none() {
            let alone = || self.stands_at().is_some();
            self.queue.give_up(stream, alone).await;
        }
        if let Some(place) = self.stands_at()
            && self.queue.stream() == stream
        {
            self.begin_stream(place);
        }
    }

    /// Asks for another stream of events, from where the applier stands.
    pub fn begin_stream(&self, place: Place) {
        self.acknowledgements.applies_from(&place.log);
        let applied = place.gtids.clone();
        let stream = self.queue.begin_stream(place);
        {
            // What was queued is thrown away: nobody is to wait until it is applied.
            let mut s = self.state();
            let mut gone = s.retrieved.clone();
            gone.subtract(&applied);
            s.retrieved.subtract(&gone);
        }
        // The receiver may have begun with it already.
        let older = |(of, _): &(u64, Box<dyn Line>)| *of != stream;
        if self.state().socket.as_ref().is_some_and(older) {
            self.shut_socket();
        }
    }
}
