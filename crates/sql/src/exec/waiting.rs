//! What expressions ask for that takes waiting: SLEEP, named locks, real randomness. A wait ends by its event, by KILL, or by the
//! time the user set.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Poll;

use base::Event;
use engine::Engine;
use types::SqlError;

use super::Env;
use crate::expr::{Special, Val};
use crate::memory::Charge;

/// A named lock's holder, and how often it took it.
struct Holder {
    connection: u64,
    times: u64,
    _charge: Charge,
}

/// What a named lock takes beside its name.
const LOCK: usize = 160;

/// The named locks of all engines of the process; a name belongs to one engine.
#[derive(Default)]
struct NamedLocks {
    held: Mutex<HashMap<(usize, String), Holder>>,
    released: Event,
}

fn locks() -> &'static NamedLocks {
    static LOCKS: OnceLock<NamedLocks> = OnceLock::new();
    LOCKS.get_or_init(NamedLocks::default)
}

impl NamedLocks {
    fn held(&self) -> MutexGuard<'_, HashMap<(usize, String), Holder>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lock if it is free or held by this connection already. `charge` is for a lock that nobody holds.
    fn take(&self, key: &(usize, String), connection: u64, charge: &mut Charge) -> bool {
        let mut held = self.held();
        let h = held.entry(key.clone()).or_insert_with(|| Holder {
            connection,
            times: 0,
            _charge: std::mem::take(charge),
        });
        let mine = h.connection == connection;
        h.times += u64::from(mine);
        mine
    }

    /// Gives it back once; NULL where nobody holds it, 0 where another does.
    fn release(&self, key: &(usize, String), connection: u64) -> Val<'static> {
        let mut held = self.held();
        match held.get_mut(key) {
            None => Val::Null,
            Some(h) if h.connection != connection => Val::Int(0),
            Some(h) => {
                h.times -= 1;
                if h.times == 0 {
                    held.remove(key);
                    drop(held);
                    self.released.fire();
                }
                Val::Int(1)
            }
        }
    }

    fn release_all(&self, engine: usize, connection: u64) -> u64 {
        let mut n = 0;
        self.held().retain(|(e, _), h| {
            let mine = *e == engine && h.connection == connection;
            n += if mine { h.times } else { 0 };
            !mine
        });
        if n > 0 {
            self.released.fire();
        }
        n
    }
}

fn id(engine: &Arc<Engine>) -> usize {
    Arc::as_ptr(engine) as usize
}

/// Releases all named locks of a connection that ends or is reset; yields how many.
pub fn release_named_locks(engine: &Arc<Engine>, connection_id: u64) -> u64 {
    locks().release_all(id(engine), connection_id)
}

/// Longest wait, for times that are out of reason.
const LONGEST: f64 = 1e9;

/// Does what an expression asked for.
pub(crate) async fn perform(what: Special, env: &mut Env<'_>) -> Result<Val<'static>, SqlError> {
    let engine = Arc::clone(env.session.engine());
    let key = |name: &str| (id(&engine), name.to_lowercase());
    let me = env.connection_id;
    Ok(match what {
        Special::Sleep(seconds) => {
            let woken = wait(env, seconds, &Event::new(), || false).await;
            Val::Int(i64::from(woken == Woken::Killed))
        }
        Special::GetLock(name, seconds) => {
            let key = key(&name);
            // A negative time means for ever.
            let seconds = if seconds < 0.0 { LONGEST } else { seconds };
            let all = locks();
            let mut charge = Charge::to(env.cx.memory());
            if !charge.set(LOCK + 2 * name.len()) {
                env.check()?;
            }
            let take = || all.take(&key, me, &mut charge);
            match wait(env, seconds, &all.released, take).await {
                Woken::Ready => Val::Int(1),
                Woken::Late => Val::Int(0),
                Woken::Killed => Val::Null,
            }
        }
        Special::ReleaseLock(name) => locks().release(&key(&name), me),
        Special::ReleaseAllLocks => {
            let n = release_named_locks(&engine, me);
            Val::Int(i64::try_from(n).unwrap_or(i64::MAX))
        }
        Special::IsFreeLock(name) => Val::Int(i64::from(!locks().held().contains_key(&key(&name)))),
        Special::IsUsedLock(name) => match locks().held().get(&key(&name)) {
            Some(h) => Val::Uint(h.connection),
            None => Val::Null,
        },
        Special::RandomBytes(n) => {
            let random = &engine.environment().random;
            let mut bytes = Vec::with_capacity(n + 8);
            while bytes.len() < n {
                bytes.extend_from_slice(&random.next_u64().to_le_bytes());
            }
            bytes.truncate(n);
            Val::owned(bytes)
        }
    })
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
