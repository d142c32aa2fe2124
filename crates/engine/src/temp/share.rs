//! What the sessions of one account take of the room for temporary files, so that nobody takes all of it from the others
//! (docs/decisions/0071).
//!
//! Must never do: know of accounts. Whoever makes sessions says whose share they have.

use super::{TempFile, TempFiles};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use types::SqlError;

/// What the temporary files and tables of one account take, in bytes. A file holds on to the share that it is counted in.
#[derive(Debug, Default)]
pub struct TempShare {
    held: AtomicU64,
}

impl TempShare {
    /// What they take.
    pub fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// Takes more, where `left` bytes of the whole are nobody's. What an account has is never more than what is left for others when it takes
    /// it: one account alone may have a half, two a third each, and somebody who comes later finds room.
    fn take(&self, bytes: u64, left: u64) -> bool {
        let held = self.held.fetch_add(bytes, Ordering::Relaxed);
        let fits = held.saturating_add(bytes) <= left
            || base::mutant!("temporary-space-of-one-user-not-limited");
        if !fits {
            self.give(bytes);
        }
        fits
    }

    fn give(&self, bytes: u64) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Where a session's temporary files and tables come from.
pub struct TempSpace {
    files: Arc<TempFiles>,
    /// None: of the server itself, or of an administrator.
    share: Option<Arc<TempShare>>,
}

impl TempSpace {
    /// Of the server itself, which nothing but the whole limits.
    pub(crate) fn of_all(files: &Arc<TempFiles>) -> Arc<TempSpace> {
        TempSpace::of(files, None)
    }

    /// Of whoever has a share.
    pub(crate) fn of(files: &Arc<TempFiles>, share: Option<Arc<TempShare>>) -> Arc<TempSpace> {
        Arc::new(TempSpace {
            files: files.clone(),
            share,
        })
    }

    /// A new file without a byte.
    ///
    /// # Errors
    /// As [`TempFiles::create`].
    pub fn create(self: &Arc<TempSpace>) -> Result<TempFile, SqlError> {
        self.files.open_in(self.clone())
    }

    pub(super) fn files(&self) -> &Arc<TempFiles> {
        &self.files
    }

    /// It is counted in this share, or in none.
    pub(crate) fn is_of(&self, share: Option<&Arc<TempShare>>) -> bool {
        match (&self.share, share) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (own, other) => own.is_none() && other.is_none(),
        }
    }

    /// Takes room; false where the whole or the share has not so much.
    pub(super) fn take(&self, bytes: u64) -> bool {
        if !self.files.reserve(bytes) {
            return false;
        }
        let taken = match &self.share {
            Some(share) => share.take(bytes, self.files.left()),
            None => true,
        };
        if !taken {
            self.files.release(bytes);
        }
        taken
    }

    /// Gives room back.
    pub(super) fn give(&self, bytes: u64) {
        if let Some(share) = &self.share {
            share.give(bytes);
        }
        self.files.release(bytes);
    }
}

impl pager::FileQuota for TempSpace {
    fn allot(&self, bytes: u64) -> bool {
        self.take(bytes)
    }

    fn give_back(&self, bytes: u64) {
        self.give(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::block_on;
    use base::environment::Disk;
    use base::mem::MemDisk;
    use std::path::Path;

    #[test]
    fn nobody_takes_the_room_of_others() {
        let disk: Arc<dyn Disk> = Arc::new(MemDisk::default());
        let files = TempFiles::new(&disk, Path::new("/d"));
        files.set_limit(1200);
        let of = || {
            let share = Arc::<TempShare>::default();
            (share.clone(), TempSpace::of(&files, Some(share)))
        };
        let ((first, a), (second, b)) = (of(), of());
        block_on(async {
            let mut x = a.create().expect("a file");
            let mut y = a.create().expect("another");
            x.append(&[1; 500]).await.expect("500 of 1200");
            let e = y.append(&[1; 200]).await.expect_err("700 of 1200");
            assert_eq!(e.code, 1114, "{}", e.message);
            y.append(&[1; 100]).await.expect("a half is allowed");
            assert_eq!((first.held(), files.held()), (600, 600));

            let mut z = b.create().expect("a file of another");
            z.append(&[1; 300]).await.expect("a half of the rest");
            let e = z
                .append(&[1; 10])
                .await
                .expect_err("300 are left for others");
            assert_eq!(e.code, 1114);
            drop(y);
            z.append(&[1; 50]).await.expect("there is more again");
            assert_eq!((first.held(), second.held(), files.held()), (500, 350, 850));

            let mut admin = TempSpace::of_all(&files).create().expect("a file");
            admin.append(&[1; 350]).await.expect("all that is left");
            let e = admin.append(&[1]).await.expect_err("there is no more");
            assert_eq!(e.code, 1114);
            let mut w = b.create().expect("a file");
            assert_eq!(w.append(&[1]).await.map_err(|e| e.code), Err(1114));
        });
        assert_eq!((first.held(), second.held(), files.held()), (0, 0, 0));
    }
}
