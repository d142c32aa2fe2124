//! What becomes of transactions' names: one that a client gives (`gtid_next`) is owned, carried into the log, kept though nothing was changed, given up;
//! and what a client hears of its own (`session_track_gtids`).
//!
//! A name that a client gives is carried into the log the way a source's is: as the transaction's [`Origin`]. Nothing of this costs a session
//! that has named nothing: its gate is not shut.
//!
//! Never here: which statement ends a transaction (`dispatch::named_transaction`), how names are given that nobody has said.
//!
//! Source: MySQL's manual, "Replication Mode Options: gtid_next", and `sql/rpl_gtid_execution.cc`.

use std::sync::atomic::Ordering;

use engine::Rank;
use types::error::codes;
use types::gtid::{Gtid, GtidSet, Origin};
use types::{Level, SqlError, Warning};

use super::Session;
use super::change_log::BinlogContext;
use super::gtid::{Admitted, Gtids, Left, NamedPart, NextGtid, Tracker};
use sql_exec::binary_log::{BinaryLog, LogChange};
use sql_exec::unless_killed;
use sql_expr::vars::{VarInput, VarValue};
use sql_plan::sink::{Done, StateChange};

/// `original_commit_timestamp` where nobody has said.
const NO_TIME: u64 = 1 << 55;
/// `original_server_version` where nobody has said.
const NO_VERSION: u64 = 999_999;

/// Numbers of `gtid_mode`.
const MODE_OFF: u64 = 0;
const MODE_ON: u64 = 3;
/// The number of ALL_GTIDS.
const TRACK_ALL: u64 = 2;

impl Session {
    /// What was left since this was asked last.
    pub(crate) fn take_left(&mut self) -> Left {
        Left {
            own: self.engine.take_group_end(),
            by_others: self.left_group.swap(false, Ordering::Relaxed),
        }
    }

    /// `SET gtid_next`.
    ///
    /// # Errors
    /// 1766, 1774, 1781, 1782, 1790; 1381 where there is no binary log to keep it in; 1317, where the session was killed while another one owned the
    /// name.
    pub(crate) async fn set_gtid_next(&mut self, input: &VarInput) -> Result<(), SqlError> {
        if self.engine.in_transaction() || self.xa.is_some() {
            return Err(SqlError::not_settable_in_transaction("gtid_next"));
        }
        let text = match input {
            VarInput::Text(text) => text.trim(),
            VarInput::Default => "AUTOMATIC",
            // What is no text is refused.
            input => return self.set_session_variable("gtid_next", input).map(drop),
        };
        let gtid = match text {
            t if t.eq_ignore_ascii_case("AUTOMATIC") => None,
            t if t.eq_ignore_ascii_case("ANONYMOUS") => None,
            t => Some(Gtid::parse(t).ok_or_else(|| SqlError::malformed_gtid(t))?),
        };
        if let Some(owned) = self.owned_name() {
            return Err(SqlError::owning_gtid(&owned));
        }
        let mode = self.gtid_mode();
        self.gtids.at_hand = NamedPart::Innocent;
        let Some(gtid) = gtid else {
            let anonymous = text.eq_ignore_ascii_case("ANONYMOUS");
            if anonymous && mode == MODE_ON {
                return Err(SqlError::fixed(
                    codes::ER_CANT_SET_GTID_NEXT_TO_ANONYMOUS_WHEN_GTID_MODE_IS_ON,
                ));
            }
            self.put_next(match anonymous {
                true => NextGtid::Anonymous(true),
                false => NextGtid::Automatic,
            });
            return Ok(());
        };
        if mode == MODE_OFF {
            return Err(SqlError::fixed(
                codes::ER_CANT_SET_GTID_NEXT_TO_GTID_WHEN_GTID_MODE_IS_OFF,
            ));
        }
        let Some(log) = self.instance.binary_log.get().cloned() else {
            return Err(SqlError::fixed(codes::ER_NO_BINARY_LOGGING));
        };
        let next = self.own(gtid, &*log).await?;
        // What an earlier statement has left is none of this transaction.
        let _before = self.take_left();
        self.put_next(next);
        Ok(())
    }

    /// Of a variable that stays as it is until the transaction is over.
    ///
    /// # Errors
    /// 1766, 3138.
    pub(crate) fn check_outside_transaction(&self, variable: &str) -> Result<(), SqlError> {
        self.check_not_within(variable)?;
        match self.owned_name() {
            Some(owned) => Err(SqlError::variable_while_owning_gtid(variable, &owned)),
            None => Ok(()),
        }
    }

    /// Of a variable that has one value for all of a transaction.
    ///
    /// # Errors
    /// 1766.
    pub(crate) fn check_not_within(&self, variable: &str) -> Result<(), SqlError> {
        match self.engine.in_transaction() || self.xa.is_some() {
            true => Err(SqlError::not_settable_in_transaction(variable)),
            false => Ok(()),
        }
    }

    /// The name that the session owns.
    fn owned_name(&self) -> Option<String> {
        match &self.gtids.next {
            NextGtid::Owned(o) => Some(o.gtid.to_string()),
            NextGtid::Anonymous(true) => Some("ANONYMOUS".to_owned()),
            _ => None,
        }
    }

    fn gtid_mode(&self) -> u64 {
        let mode = self.instance.globals.value_by_name("gtid_mode");
        mode.map_or(MODE_OFF, |v| v.as_u64())
    }

    /// Owns a name, once nobody else does, or finds that it was done.
    async fn own(&self, gtid: Gtid, log: &dyn BinaryLog) -> Result<NextGtid, SqlError> {
        let (all, id) = (&self.instance.owned_gtids, self.facts.connection_id);
        let owned = all.released.wait_for(|| all.own(gtid, id));
        let owned = async { Ok(owned.await) };
        let owned = unless_killed(&self.engine, owned).await?;
        // Who owned it before has committed before it was given up.
        unless_killed(&self.engine, log.wait_shown()).await?;
        Ok(match log.executed().has(gtid) {
            true => NextGtid::Done(gtid),
            false => NextGtid::Owned(owned),
        })
    }

    fn put_next(&mut self, next: NextGtid) {
        let (text, owned) = match &next {
            NextGtid::Automatic => ("AUTOMATIC".to_owned(), String::new()),
            NextGtid::Anonymous(owned) => {
                let word = "ANONYMOUS".to_owned();
                let owned = if *owned { word.clone() } else { String::new() };
                (word, owned)
            }
            NextGtid::Owned(o) => (o.gtid.to_string(), o.gtid.to_string()),
            NextGtid::Done(g) | NextGtid::Over(g) => (g.to_string(), String::new()),
        };
        self.settings += 1;
        self.vars.set_fact("gtid_next", VarValue::text(text));
        self.vars.set_fact("gtid_owned", VarValue::text(owned));
        self.gate.named = !matches!(next, NextGtid::Automatic);
        self.gtids.next = next;
        self.say_origin();
    }

    /// What the session's transactions carry into the log, by its variables.
    pub(crate) fn say_origin(&mut self) {
        if self.applier {
            return;
        }
        let number = |name| self.vars.value_by_name(name).map_or(0, |v| v.as_u64());
        let time = number("original_commit_timestamp");
        let version = number("original_server_version");
        let origin = Origin {
            gtid: match &self.gtids.next {
                NextGtid::Owned(o) => Some(o.gtid),
                _ => None,
            },
            anonymous: matches!(self.gtids.next, NextGtid::Anonymous(_)),
            server_id: 0,
            committed_micros: if time == NO_TIME { 0 } else { time },
            version: if version == NO_VERSION {
                0
            } else {
                version as u32
            },
        };
        self.facts.origin = (origin != Origin::default()).then_some(origin);
    }

    /// The connection begins anew: what it owned is nobody's.
    pub(crate) fn forget_gtids(&mut self) {
        self.gtids = Gtids::default();
        self.gate.named = false;
        self.facts.origin = None;
        self.facts.names_asked = 0;
        self.facts.pseudo_thread = None;
    }

    /// Whether a statement of the transaction that is named is carried out.
    ///
    /// # Errors
    /// 1778, 1837; 1235 of a distributed transaction.
    pub(crate) fn admit_named(&mut self, part: NamedPart) -> Result<Admitted, SqlError> {
        self.gtids.at_hand = part;
        let gtid = match &self.gtids.next {
            NextGtid::Automatic => return Ok(Admitted::Run),
            NextGtid::Anonymous(owned) => {
                if part != NamedPart::Innocent {
                    if !owned && self.gtid_mode() == MODE_ON {
                        return Err(SqlError::fixed(
                            codes::ER_CANT_SET_GTID_NEXT_TO_ANONYMOUS_WHEN_GTID_MODE_IS_ON,
                        ));
                    }
                    self.own_anonymous(true);
                }
                return Ok(Admitted::Run);
            }
            NextGtid::Owned(o) => o.gtid,
            NextGtid::Done(g) | NextGtid::Over(g) => *g,
        };
        let over = matches!(self.gtids.next, NextGtid::Over(_));
        let ends_another = matches!(part, NamedPart::Definition | NamedPart::Begin);
        if !over && ends_another && self.engine.in_transaction() {
            return Err(SqlError::fixed(
                codes::ER_CANT_DO_IMPLICIT_COMMIT_IN_TRX_WHEN_GTID_NEXT_IS_SET,
            ));
        }
        match part {
            NamedPart::Innocent | NamedPart::Begin | NamedPart::Commit | NamedPart::Rollback => {
                Ok(Admitted::Run)
            }
            _ if over => Err(SqlError::undefined_gtid(&gtid.to_string())),
            _ if matches!(self.gtids.next, NextGtid::Done(_)) => Ok(Admitted::LeftOut),
            NamedPart::Distributed => Err(SqlError::not_supported(
                "XA transactions while gtid_next is UUID:NUMBER",
            )),
            _ => Ok(Admitted::Run),
        }
    }

    fn own_anonymous(&mut self, owned: bool) {
        if !matches!(self.gtids.next, NextGtid::Anonymous(o) if o == owned) {
            self.put_next(NextGtid::Anonymous(owned));
        }
    }

    /// A statement is over that has run under a name: where its transaction is over too, so is the name. One that has left nothing in the log is kept all
    /// the same, by its name alone.
    ///
    /// # Errors
    /// What committing fails with. Otherwise the statement's outcome.
    pub(crate) async fn end_named(
        &mut self,
        outcome: Result<Done, SqlError>,
        left: &mut Left,
    ) -> Result<Done, SqlError> {
        let part = self.gtids.at_hand;
        // Behind COMMIT AND CHAIN there is another transaction already; behind one that has failed, still the same.
        let ends = matches!(part, NamedPart::Commit | NamedPart::Rollback) && outcome.is_ok();
        if (self.engine.in_transaction() && !ends) || self.xa.is_some() {
            return outcome;
        }
        let gtid = match &self.gtids.next {
            NextGtid::Automatic | NextGtid::Over(_) => return outcome,
            NextGtid::Anonymous(_) => {
                if !matches!(part, NamedPart::Innocent | NamedPart::Within) {
                    self.own_anonymous(false);
                }
                return outcome;
            }
            NextGtid::Done(g) => {
                let g = *g;
                let ends = matches!(
                    part,
                    NamedPart::Commit | NamedPart::Rollback | NamedPart::Definition
                );
                if ends {
                    self.put_next(NextGtid::Over(g));
                }
                return outcome;
            }
            NextGtid::Owned(o) => o.gtid,
        };
        let logged = match (left.is_nothing(), &outcome) {
            (true, _) => false,
            (false, Ok(_)) => true,
            // One that has failed may have been committed before, or not. Where the session is killed before that is known the name is over, too: whoever
            // names it again finds out.
            (false, Err(_)) => unless_killed(&self.engine, self.is_logged(gtid))
                .await
                .unwrap_or(true),
        };
        if logged {
            self.put_next(NextGtid::Over(gtid));
            return outcome;
        }
        match (part, outcome) {
            (NamedPart::Innocent | NamedPart::Within | NamedPart::Begin, outcome) => outcome,
            (NamedPart::Rollback, outcome) | (_, outcome @ Err(_)) => {
                self.put_next(NextGtid::Over(gtid));
                outcome
            }
            (_, Ok(done)) => {
                let kept = self.keep_name(gtid).await;
                self.put_next(NextGtid::Over(gtid));
                let own = self.take_left().own;
                left.own = if own.is_none() { left.own } else { own };
                kept.map(|()| done)
            }
        }
    }

    /// Whether a transaction is in this server's binary log, behind all that was committed by now.
    ///
    /// # Errors
    /// 1317 when killed; why that will not be known.
    pub async fn is_logged(&self, gtid: Gtid) -> Result<bool, SqlError> {
        let Some(log) = self.instance.binary_log.get() else {
            return Ok(false);
        };
        unless_killed(&self.engine, log.wait_shown()).await?;
        Ok(log.executed().has(gtid))
    }

    /// A transaction has changed nothing, or nothing that is logged.
    async fn keep_name(&mut self, gtid: Gtid) -> Result<(), SqlError> {
        let around = (&self.facts, &self.vars);
        let now = self.now_micros();
        let Some(binlog) = BinlogContext::of(self.instance.change_log(), around, b"", now) else {
            // As in MySQL: it was done, and is in no file.
            let Some(log) = self.instance.binary_log.get().cloned() else {
                return Ok(());
            };
            let mut one = GtidSet::new();
            one.add(gtid);
            let added = log.change(LogChange::AddPurged(one));
            return unless_killed(&self.engine, added).await;
        };
        let chained = self.engine.in_transaction();
        let read_only = self.engine.is_read_only();
        binlog.log().nothing(&mut self.engine, &binlog);
        // As in MySQL, a name without a change may be taken where nothing may be changed: a replica leaves a transaction out that way.
        let rank = self.engine.set_rank(Rank::Server);
        let done = self.engine.commit().await;
        self.engine.set_rank(rank);
        if done.is_err() {
            self.engine.rollback().await?;
        }
        if chained {
            self.engine.begin(self.isolation, read_only);
        }
        done
    }

    /// Takes `session_track_gtids` over.
    pub(crate) fn obey_tracker(&mut self) {
        let asked = self.vars.value_by_name("session_track_gtids");
        let wanted = match asked.map_or(0, |v| v.as_u64()) {
            _ if self.applier => None,
            0 => None,
            n => Some(n == TRACK_ALL),
        };
        if wanted != self.gtids.tracker.as_ref().map(|t| t.all) {
            self.gtids.tracker = wanted.and_then(|all| {
                let log = self.instance.binary_log.get()?.clone();
                let number = log.ask_names();
                Some(Tracker { all, number, log })
            });
        }
        let tracker = self.gtids.tracker.as_ref();
        self.facts.names_asked = tracker.map_or(0, |t| t.number);
    }

    /// Whether its client is told what transactions are called.
    #[inline]
    pub(crate) fn tells_gtids(&self) -> bool {
        self.gtids.tracker.is_some()
    }

    /// Tells the client what its transactions were called, or all that are done: waits until the files have what it has committed. A wait that comes to
    /// nothing is a warning, as what is committed stays.
    pub(crate) async fn tell_gtids(&mut self, left: Left) {
        let Some(t) = &self.gtids.tracker else {
            return;
        };
        if self.engine.in_transaction() || (!t.all && left.is_nothing()) {
            return;
        }
        let waited = unless_killed(&self.engine, t.log.wait_shown()).await;
        let set = match t.all {
            true => t.log.executed(),
            false => t.log.take_names(t.number),
        };
        if let Err(e) = waited {
            let text = format!(
                "The transaction is committed, and what it is called is not known: {}",
                e.message
            );
            let warning = Warning::new(Level::Warning, e.code, text);
            let max = self.vars.hot().max_error_count;
            self.diagnostics.push(warning, max);
            return;
        }
        if !set.is_empty() {
            self.changes.push(StateChange::Gtids(set.to_string()));
        }
    }
}
