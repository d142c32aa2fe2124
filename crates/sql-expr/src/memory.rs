//! Memory that sessions hold, counted one by one and in total, and the limits it is held to.
//!
//! A session has an [`Account`]. The sessions of one user have a [`Share`] of what there is, so that nobody takes all of it from the
//! others. What holds much (kept rows, hash tables, sorts, user variables, texts, buffers) has a [`Charge`] against it, which is asked
//! before the memory is, in blocks and not for each row. An account takes from the [`Budget`] of all in chunks, so that sessions share no
//! line while they hold little or nothing new.
//!
//! Who is refused holds nothing more than before: the statement ends with the account's error ([`Account::check`]), which frees what it
//! held. Nothing else notices.
//!
//! Must never do: allocate, wait, or take memory from whoever has it.

mod budget;
mod charge;

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use base::lock::Mutex;

use types::SqlError;
use types::error::codes;

use budget::{ALL, NONE, OWN, SHARE};
pub use budget::{Budget, Share};
pub use charge::{Charge, SMALL};

/// An account takes at least so much from the budget at a time.
const CHUNK: u64 = 64 << 10;

/// Who holds no more than this is let in beyond the ceiling, within an eighth: a session that asks for little goes on while another takes
/// all there is.
const LITTLE: u64 = 1 << 20;

/// The same for who may end others' connections: room for a list of what they all do, which is how the one to end is found.
const LITTLE_OF_ADMINISTRATORS: u64 = 16 << 20;

/// What one session holds. Written by whoever runs the session, and nobody else.
#[derive(Debug)]
pub struct Account {
    budget: Arc<Budget>,
    held: AtomicU64,
    /// Taken from the budget: at least what is held.
    taken: AtomicU64,
    /// `connection_memory_limit`.
    limit: AtomicU64,
    /// The budget's limit holds for it.
    subject: AtomicU8,
    /// Who holds no more is let in beyond the ceiling.
    little: AtomicU64,
    /// That of its user; none for administrators, and for the server itself.
    share: Mutex<Option<Arc<Share>>>,
    /// What it was refused last.
    refused: AtomicU8,
    /// How much it would have held then.
    wanted: AtomicU64,
}

/// An account is itself and no other.
impl PartialEq for Account {
    fn eq(&self, other: &Account) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Default for Account {
    fn default() -> Self {
        Account::new(&Arc::default())
    }
}

impl Account {
    /// An account that holds nothing.
    pub fn new(budget: &Arc<Budget>) -> Account {
        Account {
            budget: Arc::clone(budget),
            held: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            limit: AtomicU64::new(u64::MAX),
            subject: AtomicU8::new(0),
            little: AtomicU64::new(LITTLE),
            share: Mutex::default(),
            refused: AtomicU8::new(NONE),
            wanted: AtomicU64::new(0),
        }
    }

    /// The limits that hold for it: its own, and whether that of all does; administrators have more room beyond the ceiling.
    pub fn set_limits(&self, own: u64, subject: bool, administrator: bool) {
        let little = match administrator {
            true => LITTLE_OF_ADMINISTRATORS,
            false => LITTLE,
        };
        self.little.store(little, Ordering::Relaxed);
        self.limit.store(own, Ordering::Relaxed);
        self.subject.store(u8::from(subject), Ordering::Relaxed);
    }

    /// Whose it is from now on: what it has taken counts there.
    pub fn join(&self, share: Option<Arc<Share>>) {
        let taken = self.taken.load(Ordering::Relaxed);
        let mut own = self.share.lock();
        if let Some(before) = own.take() {
            before.give(taken);
        }
        if let Some(new) = &share {
            new.bring(taken);
        }
        *own = share;
    }

    /// What it holds.
    pub fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// What it could still take: the least of what its limits leave. `u64::MAX` where nothing limits it.
    pub fn left(&self) -> u64 {
        let budget = &self.budget;
        let held = budget.held();
        let of = |limit: u64, held: u64| match limit {
            u64::MAX => u64::MAX,
            limit => limit.saturating_sub(held),
        };
        let mut left =
            of(budget.ceiling(), held).min(of(self.limit.load(Ordering::Relaxed), self.held()));
        if self.subject.load(Ordering::Relaxed) != 0 {
            left = left.min(of(budget.limit(), held));
        }
        if let Some(share) = &*self.share.lock() {
            left = left.min(of(Share::most(budget.ceiling()), share.held()));
        }
        left
    }

    /// Takes more, or says `false`: then nothing may be allocated, and the statement is to end.
    pub fn grow(&self, bytes: u64) -> bool {
        let held = self.held().saturating_add(bytes);
        let taken = self.taken.load(Ordering::Relaxed);
        let refused = if held > self.limit.load(Ordering::Relaxed) {
            OWN
        } else if held > taken {
            let more = (held - taken).next_multiple_of(CHUNK);
            let subject = self.subject.load(Ordering::Relaxed) != 0;
            let refused = {
                let little = held <= self.little.load(Ordering::Relaxed);
                self.budget.claim(more, subject, little)
            };
            let refused = match refused {
                NONE => self.take_of_share(more, held),
                refused => refused,
            };
            if refused == NONE {
                self.taken.store(taken + more, Ordering::Relaxed);
            }
            refused
        } else {
            NONE
        };
        if refused == NONE {
            self.held.store(held, Ordering::Relaxed);
            return true;
        }
        self.wanted.store(held, Ordering::Relaxed);
        self.refused.store(refused, Ordering::Relaxed);
        false
    }

    /// Takes of its user's share what it has taken of the budget, or gives that back.
    fn take_of_share(&self, more: u64, held: u64) -> u8 {
        let share = self.share.lock();
        let Some(share) = &*share else {
            return NONE;
        };
        let ceiling = self.budget.ceiling();
        let most = match held <= self.little.load(Ordering::Relaxed) {
            true => Share::most_with_little(ceiling),
            false => Share::most(ceiling),
        };
        if share.claim(more, most) {
            return NONE;
        }
        self.budget.give(more);
        SHARE
    }

    fn give(&self, bytes: u64) {
        self.budget.give(bytes);
        if let Some(share) = &*self.share.lock() {
            share.give(bytes);
        }
    }

    /// Gives back.
    pub fn shrink(&self, bytes: u64) {
        let held = self.held().saturating_sub(bytes);
        self.held.store(held, Ordering::Relaxed);
        let taken = self.taken.load(Ordering::Relaxed);
        let keep = held.next_multiple_of(CHUNK) + CHUNK;
        if taken > keep {
            self.taken.store(keep, Ordering::Relaxed);
            self.give(taken - keep);
        }
    }

    /// A statement begins: what an earlier one was refused does not concern it.
    #[inline]
    pub fn begin(&self) {
        if self.refused.load(Ordering::Relaxed) != NONE {
            self.refused.store(NONE, Ordering::Relaxed);
        }
    }

    /// The error of what the statement was refused.
    ///
    /// # Errors
    /// 4082 for the session's limit and 4081 for that of all, after which the connection ends; 3170 where the process has no more.
    #[inline]
    pub fn check(&self) -> Result<(), SqlError> {
        match self.refused.load(Ordering::Relaxed) {
            NONE => Ok(()),
            refused => Err(self.error(refused)),
        }
    }

    #[cold]
    fn error(&self, refused: u8) -> SqlError {
        let wanted = self.wanted.load(Ordering::Relaxed);
        match refused {
            OWN => SqlError::new(
                codes::ER_DA_CONN_LIMIT,
                format!(
                    "Connection closed. Connection memory limit {} bytes exceeded. Consumed {wanted} bytes.",
                    self.limit.load(Ordering::Relaxed)
                ),
            ),
            ALL => SqlError::new(
                codes::ER_DA_GLOBAL_CONN_LIMIT,
                format!(
                    "Connection closed. Global connection memory limit {} bytes exceeded. Consumed {} bytes.",
                    self.budget.limit(),
                    self.budget
                        .held()
                        .saturating_add(wanted - self.held().min(wanted))
                ),
            ),
            SHARE => SqlError::new(
                codes::ER_CAPACITY_EXCEEDED,
                format!(
                    "Memory capacity of {} bytes for 'the connections of one user' exceeded. The statement needs more than is left.",
                    Share::most(self.budget.ceiling())
                ),
            ),
            _ => SqlError::new(
                codes::ER_CAPACITY_EXCEEDED,
                format!(
                    "Memory capacity of {} bytes for 'all connections' exceeded. The statement needs more than is left.",
                    self.budget.ceiling()
                ),
            ),
        }
    }

    /// Whether an error means that the connection is to end.
    pub fn closes(code: u16) -> bool {
        matches!(
            code,
            codes::ER_DA_CONN_LIMIT | codes::ER_DA_GLOBAL_CONN_LIMIT
        )
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.give(self.taken.load(Ordering::Relaxed));
    }
}

/// What a text may take once it is parsed and planned: a tree has a node for every word, number and sign of the text outside of strings, and
/// the plan one more.
pub fn of_text(text: &[u8]) -> usize {
    let mut nodes = 0usize;
    let mut before = b' ';
    let mut quote = None;
    for &b in text {
        match quote {
            Some(q) => {
                if b == q {
                    quote = None;
                }
            }
            None if matches!(b, b'\'' | b'"' | b'`') => {
                quote = Some(b);
                nodes += 1;
            }
            None => {
                let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80;
                let space = b.is_ascii_whitespace();
                nodes += usize::from(!(space || word(b) && word(before)));
            }
        }
        before = b;
    }
    text.len() * 3 + nodes * NODE
}

/// What one word of a text takes, parsed and planned.
const NODE: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_for_too_much_is_refused_alone() {
        let budget = Arc::new(Budget::default());
        budget.set_ceiling(2 << 20);
        let (a, b) = (
            Arc::new(Account::new(&budget)),
            Arc::new(Account::new(&budget)),
        );
        let (mut x, mut y) = (Charge::to(&a), Charge::to(&b));
        assert!(x.set(1500 << 10) && y.set(400 << 10));
        assert!(!x.set(1800 << 10), "400 KiB are another's");
        assert_eq!(x.bytes(), 1500 << 10);
        let e = a.check().expect_err("it was refused");
        assert_eq!(e.code, 3170);
        assert!(!Account::closes(e.code));
        b.check().expect("another was not");
        drop(x);
        assert!(budget.held() <= (400 << 10) + 4 * CHUNK);
        a.begin();
        a.check().expect("the next statement was refused nothing");
        assert!(y.set(1900 << 10));
        let c = Arc::new(Account::new(&budget));
        assert!(Charge::to(&c).set(100 << 10), "a little for another");
        drop(y);
        drop((a, b, c));
        assert_eq!(budget.held(), 0);
    }

    #[test]
    fn limits_of_a_session_and_of_all() {
        let budget = Arc::new(Budget::default());
        budget.set_limit(1 << 20);
        let subject = Arc::new(Account::new(&budget));
        subject.set_limits(2 << 20, true, false);
        let exempt = Arc::new(Account::new(&budget));
        let (mut x, mut y) = (Charge::to(&subject), Charge::to(&exempt));
        assert!(!x.set((2 << 20) + 1));
        let e = subject.check().expect_err("over its own limit");
        assert_eq!((e.code, Account::closes(e.code)), (4082, true));
        assert!(
            e.message
                .contains("limit 2097152 bytes exceeded. Consumed 2097153 bytes")
        );
        assert!(!x.set(3 << 19));
        let e = subject.check().expect_err("over that of all");
        assert_eq!((e.code, Account::closes(e.code)), (4081, true));
        assert!(y.set(8 << 20), "an exempt one is held to neither");
    }

    #[test]
    fn administrators_have_room_to_look_around() {
        let budget = Arc::new(Budget::default());
        budget.set_ceiling(256 << 20);
        let (all, root) = (Account::new(&budget), Account::new(&budget));
        root.set_limits(u64::MAX, false, true);
        assert!(all.grow(256 << 20) && !all.grow(1 << 20));
        assert!(root.grow(10 << 20) && !root.grow(10 << 20));
        let other = Account::new(&budget);
        assert!(other.grow(1 << 19) && !other.grow(1 << 20));
    }

    #[test]
    fn vectors_ask_before_they_grow() {
        let budget = Arc::new(Budget::default());
        budget.set_ceiling(1 << 20);
        let account = Arc::new(Account::new(&budget));
        let mut charge = Charge::to(&account);
        let mut v: Vec<u64> = Vec::new();
        let mut n = 0;
        while charge.reserve(&mut v, 1) {
            v.push(n);
            n += 1;
            assert!(v.capacity() * 8 < SMALL || charge.bytes() == (v.capacity() * 8) as u64);
        }
        assert!((32 << 10..=1 << 20).contains(&(v.capacity() * 8)));
        assert!(account.check().is_err());
        drop(charge);
        assert_eq!(account.held(), 0);
    }

    #[test]
    fn texts_are_estimated_by_their_words() {
        assert!(of_text(b"SELECT 1,1,1,1") > 8 * NODE);
        let string = format!("SELECT '{}'", ",".repeat(1 << 20));
        assert!(of_text(string.as_bytes()) < 4 << 20);
    }
}
