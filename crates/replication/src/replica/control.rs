//! The statements about a replica: CHANGE REPLICATION SOURCE, CHANGE REPLICATION FILTER, START, STOP and RESET REPLICA.
//!
//! Must never do: apply anything, or wait while others may not change the replica for longer than its parts need to end.

use std::pin::pin;
use std::sync::Arc;

use base::environment::deadline;
use sql_parser::ast::{ChangeReplication, ReplicaControl, ReplicationFilter};
use types::error::codes;
use types::gtid::GtidSet;
use types::{Level, SqlError, Warning};

use super::channel::{Channel, Part};
use super::filter::{self, Filters};
use super::place::{self, Place};
use super::source::{Account, Source};
use super::until::Until;
use super::{ReplicaServer, store};

/// The longest name of a channel, in characters.
const LONGEST_CHANNEL: usize = 64;

/// Most channels, with the one that has no name; MySQL's limit.
const MOST_CHANNELS: usize = 256;

/// Whether a channel of this name may come about.
///
/// # Errors
/// 3076.
fn may_be_called(name: &str) -> Result<(), SqlError> {
    let groups = ["group_replication_applier", "group_replication_recovery"];
    let refused = groups.contains(&name)
        || name.chars().count() > LONGEST_CHANNEL
        || name.contains(['\0', '\n']);
    match refused {
        true => Err(SqlError::fixed(
            codes::ER_REPLICA_CHANNEL_NAME_INVALID_OR_TOO_LONG,
        )),
        false => Ok(()),
    }
}

/// Neither thread of the channel may run, or only the applier may not: 3021 and 3085.
fn must_rest(channel: &Channel, parts: &[Part]) -> Result<(), SqlError> {
    let Some(part) = parts.iter().find(|p| channel.runs(**p)) else {
        return Ok(());
    };
    let (code, which, option) = match part {
        Part::Receiver => (
            codes::ER_REPLICA_CHANNEL_IO_THREAD_MUST_STOP,
            "io",
            "IO_THREAD",
        ),
        Part::Applier => (
            codes::ER_REPLICA_CHANNEL_SQL_THREAD_MUST_STOP,
            "sql",
            "SQL_THREAD",
        ),
    };
    let name = &channel.shared.name;
    Err(SqlError::new(
        code,
        format!(
            "This operation cannot be performed with a running replica {which} thread; run STOP REPLICA {option} FOR CHANNEL '{name}' first."
        ),
    ))
}

impl ReplicaServer {
    /// The channel that is meant where none is named.
    ///
    /// # Errors
    /// 3079: there are several.
    pub(super) fn the_one(&self) -> Result<Arc<Channel>, SqlError> {
        let all = self.all();
        match all.first() {
            Some(channel) if all.len() == 1 => Ok(Arc::clone(channel)),
            _ => Err(SqlError::fixed(codes::ER_REPLICA_MULTIPLE_CHANNELS_CMD)),
        }
    }

    /// The channel that is named, or all.
    ///
    /// # Errors
    /// 3074: there is none of that name.
    fn these(&self, channel: Option<&str>) -> Result<Vec<Arc<Channel>>, SqlError> {
        match channel {
            Some(name) => match self.named(name) {
                Some(channel) => Ok(vec![channel]),
                None => Err(SqlError::no_such_channel(name)),
            },
            None => Ok(self.all()),
        }
    }

    pub(super) async fn filter(
        &self,
        filters: &[ReplicationFilter],
        channel: Option<&str>,
    ) -> Result<Vec<Warning>, SqlError> {
        let _turn = self.turn().await;
        let now = self.instance.wall_us();
        let has_source = |c: &Arc<Channel>| c.shared.state().source.is_some();
        let (these, by) = match channel {
            Some(name) => {
                let channel = self.named(name).filter(has_source);
                let channel =
                    channel.ok_or_else(|| SqlError::fixed(codes::ER_REPLICA_CONFIGURATION))?;
                (vec![channel], filter::by::STATEMENT_FOR_CHANNEL)
            }
            None => {
                let mut all = self.all();
                all.retain(has_source);
                (all, filter::by::STATEMENT)
            }
        };
        for channel in &these {
            must_rest(channel, &[Part::Applier])?;
        }
        if channel.is_none() {
            self.global_filters.lock().set(filters, by, now)?;
        }
        for channel in these {
            channel.shared.state().filters.set(filters, by, now)?;
        }
        Ok(Vec::new())
    }

    /// The definition that was begun at this place, and of which it is not known whether it took place, is not to come again from there. If it took
    /// place, that is in this server's log: then it is behind.
    async fn leave_unfinished(&self, place: &mut Place) -> Result<(), SqlError> {
        if place.unfinished.take().is_some()
            && let Some(log) = self.instance.binary_log()
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
        let _turn = self.turn().await;
        let channel = match change.channel.as_deref() {
            None => self.the_one()?,
            Some(name) => match self.named(name) {
                Some(channel) => channel,
                None => {
                    may_be_called(name)?;
                    if self.channels.lock().len() >= MOST_CHANNELS {
                        return Err(SqlError::fixed(codes::ER_REPLICA_MAX_CHANNELS_EXCEEDED));
                    }
                    self.make(name)
                }
            },
        };
        let kept = {
            let s = channel.shared.state();
            s.source.clone().map(|source| (source, s.place.clone()))
        };
        let comes_about = kept.is_none();
        let (mut source, mut place) = kept.unwrap_or((Source::default(), Place::start()));
        let begin = source.change(&change.options)?;
        must_rest(&channel, &[Part::Receiver, Part::Applier])?;
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
            store::write(&mut s, &channel.shared.name, &source, &place).await
        };
        let done = done.await;
        s.close().await;
        done?;
        match comes_about {
            true => {
                self.comes_about(&channel, source, place);
                self.add(channel);
            }
            false => channel.put(source, place),
        }
        Ok(Vec::new())
    }

    pub(super) async fn start_or_stop(
        &self,
        control: &ReplicaControl,
    ) -> Result<Vec<Warning>, SqlError> {
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
        let account = Account::of(&control.options)?;
        if account != Account::default() && !parts.contains(&Part::Receiver) {
            return Err(SqlError::fixed(codes::ER_SQLTHREAD_WITH_SECURE_REPLICA));
        }
        let _turn = self.turn().await;
        let mut these = self.these(control.channel.as_deref())?;
        // Of several, those that have a source.
        if these.len() > 1 {
            these.retain(|c| c.shared.state().source.is_some());
        }
        if control.start {
            if these.is_empty() || these.iter().any(|c| c.shared.state().source.is_none()) {
                return Err(SqlError::fixed(codes::ER_BAD_REPLICA));
            }
            if self.variable("server_id") == 0 {
                return Err(SqlError::fixed(codes::ER_REPLICA_CONFIGURATION));
            }
            if these.len() > 1 && parts.contains(&Part::Applier) {
                // They say where one begins or ends.
                if self.variable(SKIP_COUNTER) != 0 {
                    return Err(SqlError::fixed(codes::ER_REPLICA_CHANNEL_SQL_SKIP_COUNTER));
                }
                if matches!(until, Some(Until::Source(_))) {
                    return Err(SqlError::fixed(codes::ER_REPLICA_MULTIPLE_CHANNELS_CMD));
                }
            }
        } else {
            parts.reverse();
            return self.end(&these, &parts).await;
        }
        let mut warnings = Vec::new();
        for channel in these {
            let mut any = false;
            if parts.contains(&Part::Applier) && !channel.runs(Part::Applier) {
                let skip = self.take_skip_counter();
                let mut s = channel.shared.state();
                s.until = until.clone();
                s.skip = skip;
            }
            if parts.contains(&Part::Receiver) && !channel.runs(Part::Receiver) {
                channel.shared.state().account = account.clone();
            }
            for part in &parts {
                any |= channel.begin(*part)?;
            }
            if !any {
                warnings.push(nothing_to_do(&channel.shared.name, true));
            }
        }
        Ok(warnings)
    }

    /// Tells all to end, and only then waits for them: one may wait for another.
    ///
    /// # Errors
    /// 1875, 1876: it takes longer than `rpl_stop_replica_timeout`. What was told to end does so when it can.
    async fn end(&self, these: &[Arc<Channel>], parts: &[Part]) -> Result<Vec<Warning>, SqlError> {
        let clock = &self.instance.engine().environment().clock;
        let micros = self.variable("rpl_stop_replica_timeout") * 1_000_000;
        let mut late = pin!(deadline(&**clock, clock.now_us().saturating_add(micros)));
        let mut ran = vec![false; these.len()];
        for part in parts {
            for (channel, ran) in these.iter().zip(&mut ran) {
                *ran |= channel.ask_to_end(*part);
            }
            for channel in these {
                if !channel.ended_before(*part, late.as_mut()).await {
                    return Err(ends_later(*part));
                }
            }
        }
        let rested = these.iter().zip(ran).filter(|(_, ran)| !ran);
        Ok(rested
            .map(|(channel, _)| nothing_to_do(&channel.shared.name, false))
            .collect())
    }

    /// A number of a variable of the server.
    pub(super) fn variable(&self, name: &str) -> u64 {
        let v = self.instance.globals().value_by_name(name);
        v.map_or(0, |v| v.as_u64())
    }

    /// What `sql_replica_skip_counter` says; it says so once.
    fn take_skip_counter(&self) -> u64 {
        let n = self.variable(SKIP_COUNTER);
        if n != 0 {
            // It takes any number, this one too.
            let _set = self.instance.globals().set_option(SKIP_COUNTER, "0");
        }
        n
    }

    /// RESET REPLICA.
    pub(super) async fn forget(
        &self,
        all: bool,
        channel: Option<&str>,
    ) -> Result<Vec<Warning>, SqlError> {
        let _turn = self.turn().await;
        let these = self.these(channel)?;
        for channel in &these {
            if channel.runs(Part::Receiver) || channel.runs(Part::Applier) {
                let name = &channel.shared.name;
                return Err(SqlError::new(
                    codes::ER_REPLICA_CHANNEL_MUST_STOP,
                    format!(
                        "This operation cannot be performed with running replication threads; run STOP REPLICA FOR CHANNEL '{name}' first"
                    ),
                ));
            }
        }
        for channel in these {
            self.forget_one(&channel, all).await?;
        }
        Ok(Vec::new())
    }

    async fn forget_one(&self, channel: &Channel, all: bool) -> Result<(), SqlError> {
        let name = &channel.shared.name;
        let (source, mut place) = {
            let s = channel.shared.state();
            let Some(source) = s.source.clone() else {
                return Ok(());
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
            true => store::forget(&mut s, Some(name)).await,
            false => store::write(&mut s, name, &source, &place).await,
        };
        s.close().await;
        done?;
        channel.put(source, place);
        if all && !name.is_empty() {
            self.channels.lock().remove(name);
        }
        let mut s = channel.shared.state();
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
        Ok(())
    }

    /// RESET BINARY LOGS AND GTIDS. A channel that is being applied has in its place what it has had, and goes on.
    pub(super) async fn forget_names(&self) -> Result<Vec<Warning>, SqlError> {
        let _turn = self.turn().await;
        self.gtids.forget();
        for channel in self.all() {
            let kept = {
                let s = channel.shared.state();
                let source = s.source.clone().filter(|_| !s.applier_runs);
                source.map(|source| (source, s.place.clone()))
            };
            let Some((source, mut place)) = kept.filter(|(_, p)| !p.gtids.is_empty()) else {
                continue;
            };
            place.gtids = GtidSet::new();
            let mut s = self.session();
            let done = store::write(&mut s, &channel.shared.name, &source, &place).await;
            s.close().await;
            done?;
            channel.put(source, place);
        }
        Ok(Vec::new())
    }
}

const SKIP_COUNTER: &str = "sql_replica_skip_counter";

/// A thread was told to end, and does so once what it is at is done.
fn ends_later(part: Part) -> SqlError {
    SqlError::fixed(match part {
        Part::Receiver => codes::ER_STOP_REPLICA_IO_THREAD_TIMEOUT,
        Part::Applier => codes::ER_STOP_REPLICA_SQL_THREAD_TIMEOUT,
    })
}

/// The note about a channel of which all that is to run runs, or none of what is to end.
fn nothing_to_do(name: &str, start: bool) -> Warning {
    let (code, is) = match start {
        true => (codes::ER_REPLICA_CHANNEL_WAS_RUNNING, "running"),
        false => (codes::ER_REPLICA_CHANNEL_WAS_NOT_RUNNING, "stopped"),
    };
    let text = format!("Replication thread(s) for channel '{name}' are already {is}.");
    Warning::new(Level::Note, code, &text)
}
