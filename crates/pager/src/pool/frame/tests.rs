//! Who waits for a latch, and who does not.

use super::*;
use std::sync::{Arc, mpsc};
use std::time::Duration;

const WANTED: (SpaceId, PageNo) = (SpaceId(1), PageNo(9));
const OTHER: (SpaceId, PageNo) = (SpaceId(1), PageNo(3));

/// What a thread gets that looks for [`WANTED`] in a frame that is latched meanwhile: before it came there, and after it waits, the frame
/// gets another page.
fn looks_in_vain(look: fn(&Frame) -> Latch) {
    for gone_before in [true, false] {
        let frame = Arc::new(Frame::new());
        frame.set_identity(Some(WANTED));
        frame.lock_exclusive();
        if gone_before {
            frame.set_identity(Some(OTHER));
        }
        let (tell, told) = mpsc::channel();
        let looking = frame.clone();
        let thread = std::thread::spawn(move || {
            let _ = tell.send(None);
            let _ = tell.send(Some(look(&looking)));
        });
        assert_eq!(told.recv(), Ok(None));
        if !gone_before {
            // Most times it waits by now.
            std::thread::sleep(Duration::from_millis(20));
            frame.set_identity(Some(OTHER));
        }
        let got = told.recv_timeout(Duration::from_secs(20));
        assert_eq!(
            got,
            Ok(Some(Latch::Gone)),
            "it waits for a page that is gone"
        );
        frame.unlock_exclusive();
        assert!(thread.join().is_ok());
    }
}

#[test]
fn nobody_waits_for_a_frame_that_has_got_another_page() {
    // As the pool does: whoever is told that it takes long comes again.
    fn again(look: impl Fn() -> Latch) -> Latch {
        loop {
            match look() {
                Latch::Busy => {}
                end => return end,
            }
        }
    }
    looks_in_vain(|f| again(|| f.lock_exclusive_of(WANTED.0, WANTED.1)));
    looks_in_vain(|f| again(|| f.lock_shared_of(WANTED.0, WANTED.1)));
    looks_in_vain(|f| {
        again(|| {
            f.version_of(WANTED.0, WANTED.1)
                .err()
                .unwrap_or(Latch::Taken)
        })
    });
}

#[test]
#[should_panic(expected = "out of order")]
fn who_holds_a_latch_waits_for_no_frame_whatever_it_holds() {
    note_latched();
    Frame::new().lock_exclusive();
}
