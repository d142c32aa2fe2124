//! Work for the processor alone, shared out among several threads. What is done there goes through no environment: a simulated run is the same
//! every time, however its threads take turns.

use std::thread;

/// Gives each of `parts` to `job`, all but the first on a thread of its own, and waits for all; gives what they gave, in their order. A part for
/// which there is no thread to be had is done here.
pub fn share_out<P: Send, R: Send>(parts: Vec<P>, job: impl Fn(P) -> R + Sync) -> Vec<R> {
    let mut parts = parts.into_iter();
    let Some(first) = parts.next() else {
        return Vec::new();
    };
    let job = &job;
    thread::scope(|scope| {
        let others: Vec<_> = parts
            .map(|part| {
                // Kept until it is known that somebody has it.
                let slot = std::sync::Arc::new(crate::lock::Mutex::new(Some(part)));
                let theirs = slot.clone();
                let take = |slot: &crate::lock::Mutex<Option<P>>| slot.lock().take();
                let spawned = thread::Builder::new()
                    .name("share".to_owned())
                    .spawn_scoped(scope, move || take(&theirs).map(job));
                (spawned.ok(), slot)
            })
            .collect();
        let mut done = vec![job(first)];
        for (thread, slot) in others {
            let theirs = match thread.map(thread::ScopedJoinHandle::join) {
                Some(Ok(r)) => r,
                Some(Err(panic)) => std::panic::resume_unwind(panic),
                None => None,
            };
            let mine = || slot.lock().take().map(job);
            done.extend(theirs.or_else(mine));
        }
        done
    })
}

#[cfg(test)]
mod tests {
    use super::share_out;

    #[test]
    fn every_part_is_done_once_and_in_order() {
        for n in [0, 1, 2, 7] {
            let parts: Vec<Vec<u32>> = (0..n).map(|i| vec![i; 100]).collect();
            let sums = share_out(parts, |p| p.iter().sum::<u32>());
            assert_eq!(sums, (0..n).map(|i| i * 100).collect::<Vec<_>>());
        }
    }
}
