//! The coordinator of several workers: reads what has come, hands out each transaction, and puts its events into its entry as they come.
//! What goes beside what is in [`schedule`](super::schedule).
//!
//! What commits by itself (a change of definitions, a statement without a transaction around it) begins when all before it is done, and what is behind
//! it begins when it is done: there is nothing beside it.
//!
//! What it never does: apply anything, or skip a number. Where it cannot go on, all that it has handed out whole is applied before it says so.

use std::sync::Arc;

use base::block_on;
use sql::context::replica::LogPlace;
use types::gtid::Gtid;
use wire::binlog::control::{MariaGtid, Transaction};
use wire::binlog::format::Format;
use wire::binlog::header::{Header, kind};
use wire::binlog::query::Query;
use wire::binlog::rows::Change;

use super::begin::{is_reached, take_skip, wait_delay};
use super::job_queue::{Job, JobQueue};
use super::kinds::{begins_branch, ends_branch, incident, is_for_readers, is_of_the_file};
use super::place::Place;
use super::queue::{Queued, Taken};
use super::schedule::{Clock, Schedule};
use super::state::Shared;
use super::stopped::Stopped;

/// What a transaction is called.
#[derive(Debug, Clone, Copy, Default)]
struct Name {
    gtid: Option<Gtid>,
    /// Domain, server, number.
    maria: Option<(u32, u32, u64)>,
}

/// How far the transaction has come whose events come.
enum Stage {
    /// There is none.
    Between,
    /// It has begun, and it is not known yet what it is.
    Begun {
        name: Name,
        clock: Clock,
        skipped: bool,
        /// What has come of it.
        events: Vec<Queued>,
    },
    /// A worker has it.
    Handed {
        name: Name,
        number: u64,
        /// Nothing has said that it goes on until a commit: it ends with the file that is being loaded.
        bare: bool,
    },
}

/// The coordinator.
pub(super) struct Coordinator<'s> {
    shared: &'s Shared,
    jobs: &'s JobQueue,
    /// Behind all that was handed out.
    place: Place,
    schedule: Schedule,
    format: Option<Arc<Format>>,
    stage: Stage,
}

/// All come to an end: whoever has failed has said why.
const ENDED: Stopped = Stopped::Asked;

impl<'s> Coordinator<'s> {
    /// One that begins there.
    pub fn new(shared: &'s Shared, jobs: &'s JobQueue, place: Place) -> Coordinator<'s> {
        Coordinator {
            shared,
            jobs,
            place,
            schedule: Schedule::default(),
            format: None,
            stage: Stage::Between,
        }
    }

    /// Hands out what comes. `Ok`: another stream is wanted.
    pub fn run(&mut self) -> Result<(), Stopped> {
        let outcome = self.lead_on();
        // What is not whole is taken back.
        self.abandon();
        if !matches!(outcome, Err(Stopped::Asked)) {
            // What came before is applied. Whoever wants it to end waits for no more than what has been begun.
            self.jobs.wait_idle();
        }
        outcome
    }

    fn lead_on(&mut self) -> Result<(), Stopped> {
        loop {
            if matches!(self.stage, Stage::Between) && is_reached(self.shared, &self.place, None) {
                return Err(Stopped::Until);
            }
            if self.shared.queue.is_empty() {
                if let Stage::Handed { number, .. } = self.stage {
                    self.jobs.tell(number);
                }
                self.shared.state().applier_state =
                    "Replica has read all relay log; waiting for more updates";
            }
            match block_on(self.shared.queue.next()) {
                Taken::Event(event) => {
                    self.shared.state().applier_state = "Reading event from the relay log";
                    self.on_event(event)?;
                }
                Taken::Stop => return Err(Stopped::Asked),
                Taken::GivenUp => return Ok(()),
                Taken::Nudged if self.jobs.has_ended() => return Err(ENDED),
                Taken::Nudged => {}
            }
        }
    }

    /// Goes on with an event.
    fn on_event(&mut self, event: Queued) -> Result<(), Stopped> {
        let Queued { header, body, end } = &event;
        match header.kind {
            kind::FORMAT_DESCRIPTION => {
                let (format, _) = Format::read(body)?;
                self.format = Some(Arc::new(format));
                return self.passes(end);
            }
            kind::ROTATE => {
                if matches!(self.stage, Stage::Between) {
                    self.another_file(end.clone())?;
                }
                return Ok(());
            }
            kind::GTID | kind::ANONYMOUS_GTID => {
                let t = Transaction::read(body, header.kind == kind::ANONYMOUS_GTID)?;
                let clock = Clock::Logical {
                    last_committed: t.last_committed,
                    sequence: t.sequence_number,
                };
                let name = Name {
                    gtid: t.gtid,
                    ..Name::default()
                };
                self.begin(header, name, clock)?;
            }
            kind::MARIA_GTID => {
                let g = MariaGtid::read(body)?;
                let beside = !g.standalone && !g.ddl && g.transactional && g.branch.is_none();
                let clock = match g.group {
                    Some(id) if beside => Clock::Group(id),
                    _ => Clock::Alone,
                };
                let name = Name {
                    maria: Some((g.domain, header.server_id, g.sequence)),
                    ..Name::default()
                };
                self.begin(header, name, clock)?;
                if !g.standalone {
                    self.hand_out(false, false)?;
                }
            }
            kind::INCIDENT => return Err(incident(body).into()),
            _ => {
                if matches!(self.stage, Stage::Between) {
                    if is_of_the_file(header) {
                        return self.passes(end);
                    }
                    if is_for_readers(header) {
                        return Ok(());
                    }
                    // Nobody has said what it is called.
                    self.begin(header, Name::default(), Clock::Alone)?;
                }
            }
        }
        match self.stage {
            Stage::Handed { .. } => self.go_on(event),
            _ => self.decide(event),
        }
    }

    /// Another file of the source's binary log, or the same from another place on.
    fn another_file(&mut self, at: LogPlace) -> Result<(), Stopped> {
        if !self.jobs.wait_idle() {
            return Err(ENDED);
        }
        self.schedule.restart();
        self.place.log = at.clone();
        self.shared.passed(&at);
        Ok(())
    }

    /// An event of the file, behind which is `end`. Between transactions all before it is applied once nobody has anything.
    fn passes(&mut self, end: &LogPlace) -> Result<(), Stopped> {
        if !matches!(self.stage, Stage::Between) || !end.is_behind(&self.place.log) {
            return Ok(());
        }
        if !self.jobs.wait_idle() {
            return Err(ENDED);
        }
        self.place.log = end.clone();
        self.shared.passed(end);
        Ok(())
    }

    /// A transaction begins.
    fn begin(&mut self, header: &Header, name: Name, clock: Clock) -> Result<(), Stopped> {
        self.abandon();
        if is_reached(self.shared, &self.place, name.gtid) {
            return Err(Stopped::Until);
        }
        let skipped = take_skip(self.shared);
        block_on(wait_delay(self.shared, header))?;
        self.stage = Stage::Begun {
            name,
            clock,
            skipped,
            events: Vec::new(),
        };
        Ok(())
    }

    /// An event of a transaction of which it is not known yet what it is.
    fn decide(&mut self, event: Queued) -> Result<(), Stopped> {
        let Stage::Begun { events, .. } = &mut self.stage else {
            return Err(wire::ProtocolError::Malformed.into());
        };
        let header = event.header;
        // Whether it is one that goes beside nothing, and whether it is whole.
        let what = match header.kind {
            kind::QUERY => {
                let text = Query::read(&event.body)?.statement;
                match text.eq_ignore_ascii_case(b"BEGIN") {
                    true => Some((false, false)),
                    false => Some((true, !begins_branch(text))),
                }
            }
            kind::XID => Some((false, true)),
            kind::TRANSACTION_PAYLOAD => Some((false, true)),
            kind::TABLE_MAP => Some((false, false)),
            kind::BEGIN_LOAD_QUERY | kind::APPEND_BLOCK => Some((true, false)),
            of if Change::by_kind(of).is_some() => Some((false, false)),
            kind::INTVAR | kind::RAND | kind::USER_VAR => None,
            kind::GTID | kind::ANONYMOUS_GTID | kind::MARIA_GTID => None,
            _ if is_for_readers(&header) => None,
            // Whoever is to apply it says why it cannot be.
            _ => Some((true, true)),
        };
        let temporary = header.kind == kind::QUERY && makes_temporary(&event.body);
        let loads = matches!(header.kind, kind::BEGIN_LOAD_QUERY | kind::APPEND_BLOCK);
        if what.is_none() {
            let held: usize = events.iter().map(|e| e.body.len() + 64).sum();
            let most = self.shared.variable("replica_max_allowed_packet") as usize;
            if held + event.body.len() > most {
                return Err(wire::ProtocolError::PacketTooLarge.into());
            }
        }
        events.push(event);
        match what {
            Some((alone, whole)) => {
                if alone && let Stage::Begun { clock, .. } = &mut self.stage {
                    *clock = Clock::Alone;
                }
                self.hand_out(whole, temporary)?;
                if loads && let Stage::Handed { bare, .. } = &mut self.stage {
                    *bare = true;
                }
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Hands out the transaction that has begun. `whole`: with all its events; `keeps`: whoever applies it applies all behind it.
    fn hand_out(&mut self, whole: bool, keeps: bool) -> Result<(), Stopped> {
        let stage = std::mem::replace(&mut self.stage, Stage::Between);
        let Stage::Begun {
            name,
            clock,
            skipped,
            events,
        } = stage
        else {
            self.stage = stage;
            return Ok(());
        };
        if !self.jobs.wait_free() {
            return Err(ENDED);
        }
        let slot = self.schedule.next(clock, self.jobs.done());
        self.shared.state().in_flight += 1;
        self.jobs.hand(Job {
            slot,
            base: self.place.clone(),
            format: self.format.clone(),
            skipped,
            alone: clock == Clock::Alone,
            keeps,
        });
        // Whether it took place is known from now on.
        self.place.unfinished = None;
        let number = slot.number;
        self.stage = Stage::Handed {
            name,
            number,
            bare: false,
        };
        let count = events.len();
        for (i, event) in events.into_iter().enumerate() {
            self.put(event, whole && i + 1 == count)?;
        }
        Ok(())
    }

    /// An event of the transaction that was handed out last.
    fn go_on(&mut self, event: Queued) -> Result<(), Stopped> {
        let mut last = false;
        match event.header.kind {
            kind::XID | kind::XA_PREPARE => last = true,
            kind::EXECUTE_LOAD_QUERY | kind::DELETE_FILE => {
                last = matches!(self.stage, Stage::Handed { bare: true, .. });
            }
            kind::QUERY => {
                let text = Query::read(&event.body)?.statement;
                last = [&b"COMMIT"[..], b"ROLLBACK"]
                    .iter()
                    .any(|t| text.eq_ignore_ascii_case(t));
                // MariaDB's end of what was prepared.
                last |= ends_branch(text);
                if !last && !changes_rows(text) {
                    self.make_room()?;
                }
                if makes_temporary(&event.body) {
                    self.keep_to_one();
                }
            }
            _ => {}
        }
        self.put(event, last)
    }

    /// A statement within the transaction may commit by itself: what is before is done before, what is behind comes behind.
    fn make_room(&mut self) -> Result<(), Stopped> {
        if let Stage::Handed { number, .. } = self.stage {
            if !self.jobs.wait_done(number - 1) {
                return Err(ENDED);
            }
            self.schedule.hold_behind();
        }
        Ok(())
    }

    /// The session of the worker who has this transaction makes a temporary table, which no other session can see.
    fn keep_to_one(&mut self) {
        if let Stage::Handed { number, .. } = self.stage {
            self.jobs.keep(number);
        }
    }

    fn put(&mut self, event: Queued, last: bool) -> Result<(), Stopped> {
        let Stage::Handed { name, number, .. } = self.stage else {
            return Err(wire::ProtocolError::Malformed.into());
        };
        let end = event.end.clone();
        if !self.jobs.put(number, event, last) {
            return Err(ENDED);
        }
        if last {
            self.place.log = end;
            if let Some(gtid) = name.gtid {
                self.place.gtids.add(gtid);
            }
            if let Some((domain, server, number)) = name.maria {
                self.place.maria.insert(domain, (server, number));
            }
            self.stage = Stage::Between;
        }
        Ok(())
    }

    /// The transaction whose events came does not go on: the source has ended within it, or another stream begins.
    fn abandon(&mut self) {
        if let Stage::Handed { number, .. } = self.stage {
            self.jobs.abandon(number);
        }
        self.stage = Stage::Between;
    }
}

/// The words of a statement, without comments, in upper case: as many as are needed to tell what it is.
fn words(text: &[u8]) -> Vec<String> {
    const ENOUGH: usize = 4;
    let mut rest = text;
    let mut words = Vec::new();
    while words.len() < ENOUGH && !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix(b"/*") {
            let end = inner.windows(2).position(|w| w == b"*/");
            rest = end.map_or(&[][..], |e| &inner[e + 2..]);
            // What is in such a comment is a part of the statement.
            if inner.first() == Some(&b'!') {
                words.push("/*!".to_owned());
            }
            continue;
        }
        let is_word = |b: &&u8| b.is_ascii_alphanumeric() || **b == b'_';
        let len = rest.iter().take_while(is_word).count();
        if len > 0 {
            words.push(String::from_utf8_lossy(&rest[..len]).to_ascii_uppercase());
        } else if !rest[0].is_ascii_whitespace() && rest[0] != b'(' {
            words.push(String::new());
        }
        rest = &rest[len.max(1)..];
    }
    words
}

/// Whether a statement certainly changes rows or the session alone. Any other may commit by itself.
fn changes_rows(text: &[u8]) -> bool {
    const SUCH: [&str; 12] = [
        "INSERT",
        "UPDATE",
        "DELETE",
        "REPLACE",
        "SELECT",
        "WITH",
        "DO",
        "CALL",
        "LOAD",
        "SET",
        "SAVEPOINT",
        "ROLLBACK",
    ];
    let words = words(text);
    words.first().is_some_and(|w| SUCH.contains(&&**w))
}

/// Whether a QUERY makes a temporary table, or may.
fn makes_temporary(body: &[u8]) -> bool {
    let Ok(query) = Query::read(body) else {
        return false;
    };
    let words = words(query.statement);
    let first = words.first().map(|w| &**w);
    let named = words.iter().any(|w| w == "TEMPORARY" || w == "/*!");
    matches!(first, Some("CREATE" | "/*!")) && named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_statement_is_is_told_by_its_first_words() {
        for rows in [
            "insert into t values (1)",
            "/* x */ UPDATE t",
            " (select 1)",
            "REPLACE t",
        ] {
            assert!(changes_rows(rows.as_bytes()), "{rows}");
        }
        for other in [
            "CREATE TABLE t",
            "/*!50000 CREATE */ x",
            "",
            "-- x",
            "ALTER",
            "`a`",
            "/* INSERT",
        ] {
            assert!(!changes_rows(other.as_bytes()), "{other}");
        }
        let temporary = |text: &str| {
            let query = Query {
                statement: text.as_bytes(),
                ..Query::default()
            };
            let mut body = Vec::new();
            query.write(&mut body);
            makes_temporary(&body)
        };
        assert!(temporary("CREATE TEMPORARY TABLE t (a INT)"));
        assert!(temporary(
            "create or replace /* x */ temporary table t (a INT)"
        ));
        assert!(temporary("CREATE /*!32302 TEMPORARY */ TABLE t (a INT)"));
        assert!(!temporary("CREATE TABLE t (a INT)"));
        assert!(!temporary("INSERT INTO t VALUES ('CREATE TEMPORARY')"));
    }
}
