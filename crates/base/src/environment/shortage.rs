//! Errors of the system that may pass: it is short of something just now, and the device is not broken. The one place that says which
//! those are.

use std::io;

/// What the system has too little of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shortage {
    /// Room on the disk, or in what its user may have of it.
    Room,
    /// Descriptors, of the process or of all.
    Descriptors,
    /// Memory of the kernel.
    Memory,
}

/// What there was too little of, if that is what an error says. A failed *sync* never says so: see [`lost_by_sync`].
pub fn shortage(e: &io::Error) -> Option<Shortage> {
    match e.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some(Shortage::Room),
        io::ErrorKind::OutOfMemory => Some(Shortage::Memory),
        _ => match e.raw_os_error() {
            Some(libc::EMFILE | libc::ENFILE) => Some(Shortage::Descriptors),
            _ => None,
        },
    }
}

/// Whether a disk has no room for more.
pub fn is_full(e: &io::Error) -> bool {
    shortage(e) == Some(Shortage::Room)
}

/// The error of a sync. What it has lost is not known, and the next one may succeed without that: it is final, whatever its number.
pub fn lost_by_sync(e: io::Error) -> io::Error {
    match shortage(&e) {
        None => e,
        Some(_) => io::Error::other(format!("a sync failed: {e}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_pass_is_told_by_its_number() {
        let of = |n| shortage(&io::Error::from_raw_os_error(n));
        assert_eq!(of(libc::ENOSPC), Some(Shortage::Room));
        assert_eq!(of(libc::EDQUOT), Some(Shortage::Room));
        assert_eq!(of(libc::EMFILE), Some(Shortage::Descriptors));
        assert_eq!(of(libc::ENFILE), Some(Shortage::Descriptors));
        assert_eq!(of(libc::ENOMEM), Some(Shortage::Memory));
        for n in [libc::EIO, libc::EROFS, libc::EACCES, libc::EFBIG] {
            assert_eq!(of(n), None, "{n}");
        }
    }

    #[test]
    fn no_number_makes_a_failed_sync_pass() {
        for n in [libc::ENOSPC, libc::EDQUOT, libc::ENOMEM, libc::EIO] {
            let lost = lost_by_sync(io::Error::from_raw_os_error(n));
            assert_eq!(shortage(&lost), None, "{lost}");
        }
    }
}
