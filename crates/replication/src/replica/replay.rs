//! A directory that was restored from a backup goes on to a point in time: the files of the binary log that its server has left are read from where
//! the backup ended, and applied as a replica would apply them, up to a transaction or a time.
//!
//! Nothing of what a replica keeps is left behind. Must never do: pass over a gap between the files, or apply a part of a transaction.

use std::io;
use std::sync::Arc;

use base::environment::File;
use base::{Event as Fired, block_on};
use sql::Instance;
use sql::context::replica::LogPlace;
use types::gtid::{Gtid, GtidSet};
use wire::binlog::control::{Rotate, Transaction, read_previous_gtids};
use wire::binlog::format::Format;
use wire::binlog::frame::{Checksum, Event};
use wire::binlog::header::{self, Header, kind};
use wire::binlog::query::Query;

use super::channel::{Channel, Part};
use super::gtids::AppliedGtids;
use super::outside::System;
use super::place::{FIRST, Place};
use super::queue::{NotPut, Queued};
use super::source::Source;
use super::state::Shared;
use super::store;
use super::until::Until;
use crate::files::read::EventReader;

/// Where it is to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplayUntil {
    /// At the end of the files.
    End,
    /// Before the first transaction that was committed at this time or later, in microseconds since 1970.
    Time(u64),
    /// Behind this transaction.
    Gtid(Gtid),
}

/// A file of the binary log: its name, and what is in it.
pub type NamedFile = (String, Arc<dyn File>);

/// What is read, and where it begins.
pub struct Logs {
    /// The files in their order.
    pub files: Vec<NamedFile>,
    /// Behind the backup.
    pub from: LogPlace,
    /// What the backup has.
    pub executed: GtidSet,
    /// Behind these files the binary log was begun anew (RESET), with one of this name: what it has from there on is of another history.
    pub begun_anew: Option<String>,
}

/// What was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// Transactions.
    pub transactions: u64,
    /// All that the directory has now.
    pub executed: GtidSet,
    /// Behind the last of them.
    pub place: LogPlace,
    /// The last file ends within a transaction, which was left out.
    pub cut: bool,
}

/// What is to be applied.
#[derive(Debug, Default, PartialEq, Eq)]
struct Plan {
    transactions: u64,
    stop: LogPlace,
    cut: bool,
    /// What was asked for is in the files.
    found: bool,
}

/// An event of a file.
struct Shown<'a> {
    header: Header,
    event: &'a Event<'a>,
    /// Where it begins and ends in the file.
    at: (u64, u64),
}

/// What a look at an event says.
enum Next {
    GoOn,
    Enough,
}

fn broken(name: &str, why: impl std::fmt::Display) -> String {
    format!("{name}: {why}")
}

/// Shows the events of a file: what it begins with, and those from `from` on. `last`: it may end anywhere, and what is cut off is not shown.
fn each_event(
    (name, file): &NamedFile,
    from: u64,
    last: bool,
    each: &mut dyn FnMut(&Shown<'_>) -> Result<Next, String>,
) -> Result<(Next, bool), String> {
    let size = file.len().map_err(|e| broken(name, e))?;
    if size < from {
        return Err(broken(
            name,
            format_args!(
                "it ends at {size}, and the backup was behind {from}: it is not that file"
            ),
        ));
    }
    let mut magic = [0; 4];
    let got = file.read_now(&mut magic, 0).map_err(|e| broken(name, e))?;
    if got < 4 || magic != wire::binlog::MAGIC {
        return Err(broken(name, "it is no file of a binary log"));
    }
    let mut reader = EventReader::new(file.clone(), FIRST);
    let mut checksum = Checksum::None;
    loop {
        let begins = reader.position();
        let (header, bytes) = match reader.next(size) {
            Ok(Some(found)) => found,
            Ok(None) => return Ok((Next::GoOn, false)),
            Err(e) if last && e.kind() == io::ErrorKind::InvalidData => {
                return Ok((Next::GoOn, true));
            }
            Err(e) => return Err(broken(name, e)),
        };
        let ends = begins + bytes.len() as u64;
        let wrong = || broken(name, format_args!("the event at {begins} is damaged"));
        let own = match header.kind {
            kind::FORMAT_DESCRIPTION => {
                let read = Format::read(bytes.get(header::LEN..).unwrap_or_default());
                let (format, own) = read.map_err(|_| wrong())?;
                checksum = format.checksum;
                own
            }
            _ => checksum,
        };
        let event = Event::read(bytes, own).map_err(|_| wrong())?;
        let of_file = matches!(header.kind, kind::FORMAT_DESCRIPTION | kind::PREVIOUS_GTIDS);
        if begins < from && from < ends {
            let why = format_args!("no event begins at {from}: it is not that file");
            return Err(broken(name, why));
        }
        if begins < from && !of_file {
            continue;
        }
        let shown = Shown {
            header,
            event: &event,
            at: (begins, ends),
        };
        if let Next::Enough = each(&shown)? {
            return Ok((Next::Enough, false));
        }
    }
}

/// Whether an event of this kind ends a transaction; `None`: it is damaged.
fn ends(of: u8, body: &[u8]) -> Option<bool> {
    Some(match of {
        kind::XID | kind::TRANSACTION_PAYLOAD | kind::XA_PREPARE => true,
        kind::QUERY => {
            let query = Query::read(body).ok()?;
            !query.statement.eq_ignore_ascii_case(b"BEGIN")
        }
        _ => false,
    })
}

/// When a transaction was committed, in microseconds since 1970, whose first event is of this second.
fn committed_at(t: &Transaction, seconds: u32) -> u64 {
    [t.immediate_commit_micros, t.original_commit_micros]
        .into_iter()
        .find(|at| *at > 0)
        .unwrap_or(u64::from(seconds) * 1_000_000)
}

/// Sees that a file that says what was `before` it comes behind what there is; of the first file a part is there.
fn follows(name: &str, first: bool, before: &GtidSet, had: &GtidSet) -> Result<(), String> {
    let follows = match first {
        true => had.contains(before),
        false => before.contains(had),
    };
    match follows {
        true => Ok(()),
        false => Err(broken(
            name,
            format_args!(
                "it begins behind {before}, and does not follow {had}: the binary log was begun anew, or it is another server's"
            ),
        )),
    }
}

/// The transaction that is being read.
struct Open {
    gtid: Option<Gtid>,
    /// Its last event ends it, whatever follows.
    ended: bool,
    end: u64,
}

impl Logs {
    /// What is said of that the binary log was begun anew; empty: it was not.
    pub fn anew(&self) -> String {
        self.begun_anew.as_ref().map_or(String::new(), |file| {
            format!("; the binary log was begun anew (RESET) with {file}, which is not gone on to")
        })
    }

    /// The files from the one of a place on.
    fn from(&self, place: &LogPlace) -> Option<usize> {
        self.files.iter().position(|(name, _)| *name == place.file)
    }

    /// Looks for where it is to end.
    fn plan(&self, until: &ReplayUntil) -> Result<Plan, String> {
        let first = self.from(&self.from).ok_or_else(|| {
            format!(
                "the binary log's file {}, in which the backup ended, is not among the files",
                self.from.file
            )
        })?;
        let mut plan = Plan {
            stop: self.from.clone(),
            ..Plan::default()
        };
        let mut open: Option<Open> = None;
        let mut had = self.executed.clone();
        for (i, file) in self.files.iter().enumerate().skip(first) {
            let from = match i == first {
                true => self.from.position,
                false => FIRST,
            };
            let last = i + 1 == self.files.len();
            // A transaction is whole when something follows it.
            let complete = |open: &mut Option<Open>, plan: &mut Plan, end: u64| {
                let Some(t) = open.take() else {
                    return false;
                };
                plan.transactions += 1;
                plan.stop = LogPlace {
                    file: file.0.clone(),
                    position: end,
                };
                matches!(until, ReplayUntil::Gtid(g) if t.gtid == Some(*g))
            };
            let mut each = |f: &Shown<'_>| -> Result<Next, String> {
                let wrong = || broken(&file.0, format_args!("the event at {} is damaged", f.at.0));
                match f.header.kind {
                    kind::GTID | kind::ANONYMOUS_GTID => {
                        if complete(&mut open, &mut plan, f.at.0) {
                            plan.found = true;
                            return Ok(Next::Enough);
                        }
                        let anonymous = f.header.kind == kind::ANONYMOUS_GTID;
                        let t = Transaction::read(f.event.body, anonymous).map_err(|_| wrong())?;
                        let committed = committed_at(&t, f.header.timestamp);
                        if matches!(until, ReplayUntil::Time(at) if committed >= *at) {
                            plan.found = true;
                            return Ok(Next::Enough);
                        }
                        if let Some(gtid) = t.gtid {
                            had.add(gtid);
                        }
                        open = Some(Open {
                            gtid: t.gtid,
                            ended: false,
                            end: f.at.1,
                        });
                    }
                    kind::PREVIOUS_GTIDS => {
                        let before = read_previous_gtids(f.event.body).map_err(|_| wrong())?;
                        follows(&file.0, i == first, &before, &had)?;
                    }
                    kind::MARIA_GTID => {
                        return Err(broken(&file.0, "it is of another kind of server"));
                    }
                    kind::ROTATE | kind::STOP => {
                        if complete(&mut open, &mut plan, f.at.0) {
                            plan.found = true;
                            return Ok(Next::Enough);
                        }
                    }
                    other => {
                        if let Some(t) = &mut open {
                            t.end = f.at.1;
                            t.ended = ends(other, f.event.body).ok_or_else(wrong)?;
                        }
                    }
                }
                Ok(Next::GoOn)
            };
            let (next, cut) = each_event(file, from, last, &mut each)?;
            if let Next::Enough = next {
                return Ok(plan);
            }
            match &open {
                Some(t) if t.ended => {
                    let end = t.end;
                    if complete(&mut open, &mut plan, end) {
                        plan.found = true;
                        return Ok(plan);
                    }
                }
                Some(_) if !last => {
                    return Err(broken(&file.0, "it ends within a transaction"));
                }
                open => plan.cut = cut || open.is_some(),
            }
        }
        Ok(plan)
    }

    /// Puts what is to be applied into the queue, from a place on; and something behind it, at which the applier ends.
    fn feed(&self, shared: &Shared, (stream, from): (u64, &LogPlace), stop: &LogPlace) -> Fed {
        let put = |event: Queued| block_on(shared.queue.put(stream, event));
        let Some(first) = self.from(from) else {
            return Fed::Failed(format!("the file {} is not there any more", from.file));
        };
        let mut refused = None;
        for (i, file) in self.files.iter().enumerate().skip(first) {
            let position = match i == first {
                true => from.position,
                false => FIRST,
            };
            let mut each = |f: &Shown<'_>| -> Result<Next, String> {
                if file.0 == stop.file && f.at.0 >= stop.position {
                    return Ok(Next::Enough);
                }
                let mut end = LogPlace {
                    file: file.0.clone(),
                    position: f.at.1,
                };
                let mut body = f.event.body.to_vec();
                match f.header.kind {
                    kind::FORMAT_DESCRIPTION => body = f.event.bytes[header::LEN..].to_vec(),
                    kind::ROTATE => {
                        let next = Rotate::read(f.event.body).map_err(|_| "a damaged event")?;
                        end.file = String::from_utf8_lossy(next.file).into_owned();
                        end.position = next.position;
                    }
                    _ => {}
                }
                let header = f.header;
                match put(Queued { header, body, end }) {
                    Ok(()) => Ok(Next::GoOn),
                    Err(why) => {
                        refused = Some(why);
                        Ok(Next::Enough)
                    }
                }
            };
            let last = i + 1 == self.files.len();
            let next = match each_event(file, position, last, &mut each) {
                Ok((next, _)) => next,
                Err(e) => return Fed::Failed(e),
            };
            match refused {
                Some(NotPut::Stop) => return Fed::Stopped,
                Some(NotPut::OtherStream) => return Fed::OtherStream,
                None => {}
            }
            if matches!(next, Next::Enough) || file.0 == stop.file {
                break;
            }
        }
        let (header, body) = behind_the_end();
        let end = stop.clone();
        let last = put(Queued { header, body, end });
        shared.queue.tell();
        match last {
            Ok(()) => Fed::All,
            Err(NotPut::Stop) => Fed::Stopped,
            Err(NotPut::OtherStream) => Fed::OtherStream,
        }
    }
}

/// The beginning of a transaction that never comes.
pub(super) fn behind_the_end() -> (Header, Vec<u8>) {
    let mut body = Vec::new();
    let none = Transaction {
        gtid: None,
        statements: false,
        last_committed: 0,
        sequence_number: 1,
        original_commit_micros: 0,
        immediate_commit_micros: 0,
        length: 0,
        original_version: 0,
        immediate_version: 0,
    };
    none.write(&mut body);
    let header = Header {
        timestamp: 0,
        kind: kind::ANONYMOUS_GTID,
        server_id: 0,
        size: 0,
        next_position: 0,
        flags: 0,
    };
    (header, body)
}

/// Where the reader of the files dies, the applier is to end: nobody would tell it that nothing more comes.
struct Died<'s>(&'s Shared);

impl Drop for Died<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() && !base::mutant!("reader-of-the-files-died-without-a-word") {
            self.0.queue.stop_taking(true);
        }
    }
}

enum Fed {
    All,
    OtherStream,
    Stopped,
    Failed(String),
}

/// Applies what follows the backup.
///
/// # Errors
/// Says why it cannot be, or where it could not go on: the directory is of no use then.
pub async fn replay(
    instance: &Arc<Instance>,
    logs: Logs,
    until: &ReplayUntil,
) -> Result<Replayed, String> {
    if let ReplayUntil::Gtid(g) = until
        && logs.executed.has(*g)
    {
        return Err(format!(
            "the backup has {g} already, and what came behind it: an earlier backup is needed"
        ));
    }
    let plan = logs.plan(until)?;
    let anew = logs.anew();
    match until {
        ReplayUntil::Gtid(g) if !plan.found => {
            return Err(format!("{g} is not in the files behind the backup{anew}"));
        }
        ReplayUntil::Time(_) if !plan.found && !anew.is_empty() => {
            return Err(format!("the files do not go as far as that time{anew}"));
        }
        _ => {}
    }
    let said = |e: types::SqlError| e.message;
    let gtids: Arc<AppliedGtids> = Arc::default();
    let channel = Channel {
        shared: Shared::new("", Arc::clone(instance), Arc::new(System), gtids),
    };
    let place = Place {
        log: logs.from.clone(),
        gtids: logs.executed.clone(),
        ..Place::default()
    };
    let mut s = sql::Session::of_the_applier(instance, instance.next_connection_id());
    store::make_tables(&mut s).await.map_err(said)?;
    store::forget(&mut s, None).await.map_err(said)?;
    store::write(&mut s, "", &Source::default(), &place)
        .await
        .map_err(said)?;
    channel.put(Source::default(), place);
    let shared = Arc::clone(&channel.shared);
    shared.state().until = Some(Until::Source(plan.stop.clone()));
    channel.begin(Part::Applier).map_err(said)?;
    let stop = plan.stop.clone();
    let feeder = {
        let shared = Arc::clone(&shared);
        std::thread::spawn(move || {
            let _died = Died(&shared);
            loop {
                let Some((stream, place)) = block_on(shared.queue.start()) else {
                    return Ok(());
                };
                match logs.feed(&shared, (stream, &place.log), &stop) {
                    Fed::Stopped => return Ok(()),
                    Fed::OtherStream => {}
                    // Should the applier have to begin again, it begins another stream.
                    Fed::All if block_on(shared.queue.wait_other(stream)) => {}
                    Fed::All => return Ok(()),
                    Fed::Failed(why) => {
                        shared.queue.stop_taking(true);
                        return Err(why);
                    }
                }
            }
        })
    };
    let ended: &Fired = &shared.ended;
    ended
        .wait_for(|| (!shared.state().applier_runs).then_some(()))
        .await;
    shared.queue.stop_putting(true);
    let fed = feeder.join();
    fed.map_err(|_| "the reader of the files died".to_owned())??;
    let (failure, place) = {
        let s = shared.state();
        (s.applier_failure.clone(), s.place.clone())
    };
    if failure.number != 0 {
        return Err(format!(
            "{} at {} in {}: {}",
            failure.number, place.log.position, place.log.file, failure.message
        ));
    }
    store::forget(&mut s, None).await.map_err(said)?;
    s.close().await;
    Ok(Replayed {
        transactions: plan.transactions,
        executed: place.gtids,
        place: plan.stop,
        cut: plan.cut,
    })
}
