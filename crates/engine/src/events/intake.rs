//! Whether what transactions leave can be taken: who makes something lasting of it, such as the files of a binary log, may have no room, or
//! be at an end. What commits meanwhile would be kept in the engine's log alone, which would grow until its own disk is full. So those wait, or fail,
//! that would leave more.
//!
//! What begins to commit just then may still do so: it is a brake and no barrier.
//!
//! What it never does: hold up what leaves nothing, or a rollback.

use base::Event;
use base::lock::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use types::SqlError;
use types::error::codes;

/// How it is with whoever takes what transactions leave.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Intake {
    /// It is taken.
    #[default]
    Open,
    /// It is not for now, as the system is short of something: who would leave more waits.
    Short,
    /// It is not any more, and why: who would leave more fails.
    Over(String),
}

impl Intake {
    fn error(why: &str) -> SqlError {
        SqlError::new(
            codes::ER_BINLOG_LOGGING_IMPOSSIBLE,
            format!("Binary logging not possible. Message: {why}"),
        )
    }
}

/// The same for those who look and wait.
#[derive(Default)]
pub(crate) struct IntakeState {
    /// It is not [`Intake::Open`].
    closed: AtomicBool,
    intake: Mutex<Intake>,
    pub(crate) changed: Event,
}

impl IntakeState {
    pub(crate) fn set(&self, intake: Intake) {
        {
            let mut now = self.intake.lock();
            self.closed.store(intake != Intake::Open, Ordering::SeqCst);
            *now = intake;
        }
        if !base::mutant!("room-for-events-without-a-word") {
            self.changed.fire();
        }
    }

    /// What is left is taken.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        !self.closed.load(Ordering::SeqCst) || base::mutant!("events-left-where-none-are-taken")
    }

    /// Whether it has to be waited for.
    pub(crate) fn is_short(&self) -> bool {
        *self.intake.lock() == Intake::Short
    }

    /// Whether it is over.
    ///
    /// # Errors
    /// 1598.
    pub(crate) fn check(&self) -> Result<(), SqlError> {
        match &*self.intake.lock() {
            Intake::Over(why) => Err(Intake::error(why)),
            Intake::Open | Intake::Short => Ok(()),
        }
    }
}
