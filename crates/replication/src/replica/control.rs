//! The statements about a replica: CHANGE REPLICATION SOURCE, CHANGE REPLICATION FILTER, START, STOP and RESET REPLICA.
//!
//! Must never do: apply anything, or wait while others may not change the replica for longer than its parts need to end.

use sql::context::replica::check_channel;
use sql_parser::ast::{ChangeReplication, ReplicaControl, ReplicationFilter};
use types::error::codes;
use types::{Level, SqlError, Warning};

use super::filter::{self, Filters};
use super::place::{self, Place};
use super::source::Source;
use super::until::Until;
use super::{Part, ReplicaServer, store};

/// The longest name of a channel, in characters.
const LONGEST_CHANNEL: usize = 64;

/// Whether a channel of this name may come about: there is one, which has no name.
fn may_be_channel(channel: Option<&str>) -> Result<(), SqlError> {
    let Some(name) = channel.filter(|c| !c.is_empty()) else {
        return Ok(());
    };
    let groups = ["group_replication_applier", "group_replication_recovery"];
    let reserved = groups.iter().any(|g| g.eq_ignore_ascii_case(name));
    Err(SqlError::fixed(
        match reserved || name.chars().count() > LONGEST_CHANNEL || name.contains(['\0', '\n']) {
            true => codes::ER_REPLICA_CHANNEL_NAME_INVALID_OR_TOO_LONG,
            false => codes::ER_REPLICA_MAX_CHANNELS_EXCEEDED,
        },
    ))
}

/// 3021 and 3085.
fn must_stop(code: u16, which: &str, option: &str) -> SqlError {
    SqlError::new(
        code,
        format!(
            "This operation cannot be performed with a running replica {which} thread; run STOP REPLICA {option} FOR CHANNEL '' first."
        ),
    )
}

impl ReplicaServer {
    /// The channel comes about: it has the filters that all begin with.
    pub(super) fn begin_channel(&self) {
        let now = self.shared.instance.wall_us();
        let mut s = self.shared.state();
        let all = s.global_filters.clone();
        s.filters.begin_with(&all, now);
    }

    pub(super) async fn filter(
        &self,
        filters: &[ReplicationFilter],
        channel: Option<&str>,
    ) -> Result<Vec<Warning>, SqlError> {
        let _turn = self.turn().await;
        let now = self.shared.instance.wall_us();
        let mut s = self.shared.state();
        let there = s.source.is_some();
        if channel.is_some_and(|c| !c.is_empty() || !there) {
            return Err(SqlError::fixed(codes::ER_REPLICA_CONFIGURATION));
        }
        if s.applier_runs {
            let code = codes::ER_REPLICA_CHANNEL_SQL_THREAD_MUST_STOP;
            return Err(must_stop(code, "sql", "SQL_THREAD"));
        }
        match channel {
            Some(_) => s
                .filters
                .set(filters, filter::by::STATEMENT_FOR_CHANNEL, now)?,
            None => {
                s.global_filters.set(filters, filter::by::STATEMENT, now)?;
                if there {
                    s.filters.set(filters, filter::by::STATEMENT, now)?;
                }
            }
        }
        Ok(Vec::new())
    }

    /// The definition that was begun at this place, and of which it is not known whether it took place, is not to come again from there. If it took
    /// place, that is in this server's log: then it is behind.
    async fn leave_unfinished(&self, place: &mut Place) -> Result<(), SqlError> {
        if place.unfinished.take().is_some()
            && let Some(log) = self.shared.instance.binary_log()
        {
            log.wait_shown().await?;
            place.gtids.add_set(&log.executed());
        }
        Ok(())
    }

    pub(super) async fn change(
        &self,
        change: &ChangeReplication,
    ) -> Result<Vec<Warning>, SqlError> {
        may_be_channel(change.channel.as_deref())?;
        let _turn = self.turn().await;
        let (kept, running) = {
            let s = self.shared.state();
            let kept = s.source.clone().map(|source| (source, s.place.clone()));
            (kept, (s.receiver_runs, s.applier_runs))
        };
        let comes_about = kept.is_none();
        let (mut source, mut place) = kept.unwrap_or((Source::default(), Place::start()));
        let begin = source.change(&change.options)?;
        match running {
            (true, _) => {
                let code = codes::ER_REPLICA_CHANNEL_IO_THREAD_MUST_STOP;
                return Err(must_stop(code, "io", "IO_THREAD"));
            }
            (_, true) => {
                let code = codes::ER_REPLICA_CHANNEL_SQL_THREAD_MUST_STOP;
                return Err(must_stop(code, "sql", "SQL_THREAD"));
            }
            _ => {}
        }
        if begin.elsewhere || begin.file.is_some() || begin.position.is_some() {
            self.leave_unfinished(&mut place).await?;
        }
        if begin.elsewhere {
            place.log = Place::start().log;
        }
        if let Some(file) = begin.file {
            place.log.file = file;
            place.log.position = place::FIRST;
        }
        if let Some(position) = begin.position {
            place.log.position = position;
        }
        let mut s = self.session();
        let done = async {
            store::make_tables(&mut s).await?;
            store::write(&mut s, &source, &place).await
        };
        let done = done.await;
        s.close().await;
        done?;
        self.put(source, place);
        if comes_about {
            self.begin_channel();
        }
        Ok(Vec::new())
    }

    pub(super) async fn start_or_stop(
        &self,
        control: &ReplicaControl,
    ) -> Result<Vec<Warning>, SqlError> {
        check_channel(control.channel.as_deref())?;
        let both = !control.io_thread && !control.sql_thread;
        let mut parts = Vec::new();
        // Where the applier stands is where the receiver is to begin.
        if both || control.sql_thread {
            parts.push(Part::Applier);
        }
        if both || control.io_thread {
            parts.push(Part::Receiver);
        }
        let until = Until::of(&control.options)?;
        let _turn = self.turn().await;
        let mut any = false;
        if control.start {
            if self.shared.state().source.is_none() {
                return Err(SqlError::fixed(codes::ER_BAD_REPLICA));
            }
            if self.shared.variable("server_id") == 0 {
                return Err(SqlError::fixed(codes::ER_REPLICA_CONFIGURATION));
            }
            if parts.contains(&Part::Applier) && !self.runs(Part::Applier) {
                let skip = self.take_skip_counter();
                let mut s = self.shared.state();
                s.until = until;
                s.skip = skip;
            }
            for part in parts {
                any |= self.begin(part)?;
            }
        } else {
            for part in parts.into_iter().rev() {
                any |= self.end(part).await;
            }
        }
        Ok(match (any, control.start) {
            (true, _) => Vec::new(),
            (false, true) => vec![Warning::new(
                Level::Note,
                codes::ER_REPLICA_CHANNEL_WAS_RUNNING,
                "Replication thread(s) for channel '' are already running.",
            )],
            (false, false) => vec![Warning::new(
                Level::Note,
                codes::ER_REPLICA_CHANNEL_WAS_NOT_RUNNING,
                "Replication thread(s) for channel '' are already stopped.",
            )],
        })
    }

    /// What `sql_replica_skip_counter` says; it says so once.
    fn take_skip_counter(&self) -> u64 {
        let name = "sql_replica_skip_counter";
        let n = self.shared.variable(name);
        if n != 0 {
            // It takes any number, this one too.
            let _set = self.shared.instance.globals().set_option(name, "0");
        }
        n
    }

    pub(super) async fn forget(
        &self,
        all: bool,
        channel: Option<&str>,
    ) -> Result<Vec<Warning>, SqlError> {
        check_channel(channel)?;
        let _turn = self.turn().await;
        if self.runs(Part::Receiver) || self.runs(Part::Applier) {
            return Err(SqlError::new(
                codes::ER_REPLICA_CHANNEL_MUST_STOP,
                "This operation cannot be performed with running replication threads; run STOP REPLICA FOR CHANNEL '' first",
            ));
        }
        let (source, mut place) = {
            let s = self.shared.state();
            let Some(source) = s.source.clone() else {
                return Ok(Vec::new());
            };
            // What was executed stays so.
            let place = Place {
                log: Place::start().log,
                ..s.place.clone()
            };
            (source, place)
        };
        self.leave_unfinished(&mut place).await?;
        let mut s = self.session();
        let done = match all {
            true => store::forget(&mut s).await,
            false => store::write(&mut s, &source, &place).await,
        };
        s.close().await;
        done?;
        self.put(source, place);
        let mut s = self.shared.state();
        s.receiver_failure = Default::default();
        s.applier_failure = Default::default();
        s.retrieved = Default::default();
        (s.server_id, s.heartbeats, s.retries) = (0, (0, 0), 0);
        s.uuid.clear();
        if all {
            s.source = None;
            s.place = Place::start();
            s.filters = Filters::default();
        }
        Ok(Vec::new())
    }
}
