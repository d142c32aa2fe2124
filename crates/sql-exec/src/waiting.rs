//! What expressions ask for that takes waiting: SLEEP, named locks. A wait ends by its event, by KILL, or by the
//! time the user set.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use base::Event;
use types::SqlError;
use types::error::codes;
use types::gtid::GtidSet;

use super::Env;
use super::applier::Applies;
use super::named_locks::{LOCK, Taken};
use sql_expr::memory::Charge;
use sql_expr::{EvalError, Special, Val};

/// Longest wait, for times that are out of reason.
const LONGEST: f64 = 1e9;

impl Env<'_> {
    /// Does what `attempt` would wait for, so that what follows in earnest waits for nothing: before work that cannot be done twice. `attempt` evaluates
    /// the same expressions for the same row, and changes nothing; what it fails with comes again. [`EvalCtx::row_done`] is to follow.
    ///
    /// # Errors
    /// What ends a wait: 1317, 3024 and the like.
    pub async fn ahead<T>(
        &mut self,
        attempt: impl Fn() -> Result<T, SqlError>,
    ) -> Result<(), SqlError> {
        while let Some((call, what)) = self.cx.rehearse(&attempt) {
            let answer = perform(what, self).await?;
            self.cx.supply(call, answer);
        }
        self.cx.is_rehearsed();
        Ok(())
    }

    /// Unwraps the result of an evaluation; `None` where it waited for something that is now there, so that it has to be evaluated
    /// again.
    pub async fn settle<T>(&mut self, r: Result<T, SqlError>) -> Result<Option<T>, SqlError> {
        let outcome = match r {
            Ok(v) => Ok(Some(v)),
            Err(e) => match self.cx.unevaluated(e) {
                EvalError::Pending(call, what) => {
                    let answer = perform(what, self).await?;
                    self.cx.supply(call, answer);
                    return Ok(None);
                }
                EvalError::Sql(e) => Err(e),
            },
        };
        self.cx.row_done();
        outcome
    }
}

/// Does what an expression asked for.
async fn perform(what: Special, env: &mut Env<'_>) -> Result<Val<'static>, SqlError> {
    let locks = env.named_locks;
    let me = env.connection_id;
    Ok(match what {
        Special::Sleep(seconds) => {
            let woken = wait(env, seconds, &Event::new(), || false).await;
            match woken == Woken::Killed {
                true if env.only_waits => Val::Int(1),
                true => return Err(interrupted(env)),
                false => Val::Int(0),
            }
        }
        Special::GetLock(name, seconds) => {
            let name = name.to_lowercase();
            // A negative time means for ever.
            let seconds = if seconds < 0.0 { LONGEST } else { seconds };
            let mut charge = Charge::to(env.cx.memory());
            if !charge.set(LOCK + 2 * name.len()) {
                env.check()?;
            }
            let _waiting = locks.waiting(me);
            let mut taken = Taken::No;
            let take = || {
                taken = locks.acquire(&name, (me, seconds > 0.0), &mut charge);
                taken != Taken::No
            };
            match wait(env, seconds, locks.released(), take).await {
                Woken::Ready if taken == Taken::Circle => {
                    return Err(SqlError::fixed(codes::ER_USER_LOCK_DEADLOCK));
                }
                Woken::Ready => Val::Int(1),
                Woken::Late => Val::Int(0),
                Woken::Killed => return Err(interrupted(env)),
            }
        }
        Special::ReleaseLock(name) => locks.release(&name.to_lowercase(), me),
        Special::ReleaseAllLocks => {
            let n = locks.release_all(me);
            Val::Int(i64::try_from(n).unwrap_or(i64::MAX))
        }
        Special::IsFreeLock(name) => {
            Val::Int(i64::from(locks.holder(&name.to_lowercase()).is_none()))
        }
        Special::IsUsedLock(name) => match locks.holder(&name.to_lowercase()) {
            Some(connection) => Val::Uint(connection),
            None => Val::Null,
        },
        Special::Variable(id) => {
            if let Some(log) = env.binary_log {
                unless_killed(env.session, log.wait_shown_unless_short()).await?;
            }
            env.cx.variable(id)
        }
        Special::WaitForGtids(set, seconds) => {
            let done = wait_for_gtids(env, set, seconds, None).await?;
            Val::Int(i64::from(done != Some(true)))
        }
        Special::WaitForApplied(set, seconds, channel) => {
            let Some(replica) = env.replica.applier(channel.as_deref())? else {
                return Ok(Val::Null);
            };
            match wait_for_gtids(env, set, seconds, Some(&*replica)).await? {
                Some(true) => Val::Int(0),
                Some(false) => Val::Int(-1),
                None => Val::Null,
            }
        }
        Special::WaitForPlace(file, position, seconds, channel) => {
            let Some(replica) = env.replica.applier(channel.as_deref())? else {
                return Ok(Val::Null);
            };
            let mut looked = 0;
            let mut last = None;
            let ready = || {
                last = replica.has_applied(&file, position);
                looked += 1;
                last != Some(false)
            };
            match wait(env, seconds, replica.applied(), ready).await {
                Woken::Ready if last.is_none() => Val::Null,
                Woken::Ready => Val::Int(looked - 1),
                Woken::Late => Val::Int(-1),
                Woken::Killed => return Err(interrupted(env)),
            }
        }
    })
}

/// Waits for transactions. False: the time is over. `None`: `applier`, where one is named, does not run.
async fn wait_for_gtids(
    env: &Env<'_>,
    set: GtidSet,
    seconds: f64,
    applier: Option<&dyn Applies>,
) -> Result<Option<bool>, SqlError> {
    let rests = || applier.is_some_and(|a| a.has_applied("", 0).is_none());
    let Some(log) = env.binary_log else {
        let none = GtidSet::new();
        let done = none.contains(&set);
        let never = Event::new();
        let event = applier.map_or(&never, |a| a.applied());
        return match wait(env, seconds, event, || done || rests()).await {
            Woken::Ready => Ok(done.then_some(true)),
            Woken::Late => Ok(Some(false)),
            Woken::Killed => Err(interrupted(env)),
        };
    };
    let clock = env.session.engine().environment().clock.clone();
    let micros = (seconds.clamp(0.0, LONGEST) * 1e6) as u64;
    let late = base::environment::deadline(&*clock, clock.now_us().saturating_add(micros));
    let mut late = pin!(late);
    let mut there = log.wait_for(set);
    let done = poll_fn(|cx| {
        if let Some(a) = applier {
            a.applied().park(cx);
        }
        if rests() {
            return Poll::Ready(Ok(None));
        }
        match there.as_mut().poll(cx) {
            Poll::Ready(r) => Poll::Ready(r.map(|()| Some(true))),
            Poll::Pending => late.as_mut().poll(cx).map(|()| Ok(Some(false))),
        }
    });
    unless_killed(env.session, done).await
}

/// Waits, but not longer than until KILL.
pub async fn unless_killed<T>(
    session: &engine::Session,
    what: impl Future<Output = Result<T, SqlError>>,
) -> Result<T, SqlError> {
    let interrupt = session.interrupt();
    let _waiting = interrupt.waiting();
    let mut what = pin!(what);
    poll_fn(|cx| {
        interrupt.event.park(cx);
        if interrupt.is_set() {
            return Poll::Ready(Err(why(session)));
        }
        what.as_mut().poll(cx)
    })
    .await
}

/// Why the session is to wait no longer: KILL, or its time is over.
fn why(session: &engine::Session) -> SqlError {
    let e = session.interrupt().check().err();
    e.unwrap_or_else(|| SqlError::fixed(codes::ER_QUERY_INTERRUPTED))
}

fn interrupted(env: &Env<'_>) -> SqlError {
    why(env.session)
}

#[derive(PartialEq, Eq)]
enum Woken {
    Ready,
    Late,
    Killed,
}

async fn wait(
    env: &Env<'_>,
    seconds: f64,
    event: &Event,
    mut ready: impl FnMut() -> bool,
) -> Woken {
    let clock = &env.session.engine().environment().clock;
    let interrupt = env.session.interrupt();
    let _waiting = interrupt.waiting();
    let micros = (seconds.clamp(0.0, LONGEST) * 1e6) as u64;
    let timer = base::environment::deadline(&**clock, clock.now_us().saturating_add(micros));
    let mut timer = pin!(timer);
    poll_fn(|cx| {
        event.park(cx);
        interrupt.event.park(cx);
        if ready() {
            return Poll::Ready(Woken::Ready);
        }
        if interrupt.is_set() {
            return Poll::Ready(Woken::Killed);
        }
        timer.as_mut().poll(cx).map(|()| Woken::Late)
    })
    .await
}
