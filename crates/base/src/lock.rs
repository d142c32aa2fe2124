//! Locks without poison. A panic does not make what a lock guards unusable: the thread that panicked is gone, a statement's panic is caught and
//! rolls its transaction back, and whoever comes next must find the lock as usable as before. So `lock` gives a guard and not a `Result`.
//!
//! What a model checker looks at takes its locks from [`sync`](crate::sync). Everything else takes them from here; the standard library's
//! are refused by clippy (`clippy.toml`).

#![allow(clippy::disallowed_types)]

use std::sync::{PoisonError, TryLockError};
use std::time::Duration;

pub use std::sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

/// One at a time.
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// A lock around it.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex(std::sync::Mutex::new(value))
    }

    /// What it guarded.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for it.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes it if nobody holds it.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(e)) => Some(e.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// What it guards, without locking: nobody else has it.
    #[inline]
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Many readers, or one writer.
#[derive(Debug, Default)]
pub struct RwLock<T: ?Sized>(std::sync::RwLock<T>);

impl<T> RwLock<T> {
    /// A lock around it.
    pub const fn new(value: T) -> RwLock<T> {
        RwLock(std::sync::RwLock::new(value))
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until nobody writes.
    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until nobody reads or writes.
    #[inline]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for another thread to change what a [`Mutex`] guards.
#[derive(Debug, Default)]
pub struct Condvar(std::sync::Condvar);

impl Condvar {
    /// One that nobody waits for.
    pub const fn new() -> Condvar {
        Condvar(std::sync::Condvar::new())
    }

    /// Lets the lock go, waits to be notified (or for no reason), and takes the lock again.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`Condvar::wait`], no longer than `at_most`.
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        at_most: Duration,
    ) -> MutexGuard<'a, T> {
        let waited = self.0.wait_timeout(guard, at_most);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Wakes one of those who wait.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all who wait.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_panic_leaves_them_usable() {
        let both = Arc::new((Mutex::new(1), RwLock::new(1)));
        let its = Arc::clone(&both);
        let panicked = std::thread::spawn(move || {
            let (_a, _b) = (its.0.lock(), its.1.write());
            std::panic::resume_unwind(Box::new("meant"));
        });
        assert!(panicked.join().is_err());
        *both.0.lock() += 1;
        *both.1.write() += 1;
        assert_eq!((*both.0.lock(), *both.1.read()), (2, 2));
        assert!(both.0.try_lock().is_some());
        let held = both.0.lock();
        assert!(both.0.try_lock().is_none());
        drop(held);
    }
}
