//! Waits for frames, latches and room that must come to their ends, and what is told of those that do not.

use super::*;
use base::perturb::perturbed;
use base::waits::{LongWait, on_behalf_of};
use pager::{Pins, Wait};

/// Operations that need several pages at once, together more than there are frames, come to their ends; with `delays`, each thread is held up at
/// places that are drawn from it.
fn share_a_pool(delays: Option<u64>, done: &AtomicU64) {
    let disk = SimDisk::new();
    let (p, _) = open(&disk, 64);
    p.start_checkpoints();
    let (space, pages) = create(&p, 5, 300);
    let work = |t: u64| {
        let mut rng = seeded(t);
        for i in 0..60u64 {
            let mut want: Vec<PageNo> = (0..6).map(|_| pages[rng.below(300) as usize]).collect();
            want.sort();
            want.dedup();
            block_on(p.run(|| {
                let mut m = p.mtr()?;
                for no in &want {
                    let ix = m.add(p.exclusive(&space, *no)?);
                    m.op(ix, OP_SET, &[&64u32.to_le_bytes(), &i.to_le_bytes()]);
                }
                m.commit();
                Ok(())
            }))
            .unwrap();
            done.fetch_add(1, Ordering::Relaxed);
        }
    };
    std::thread::scope(|s| {
        for t in 0..24u64 {
            let work = &work;
            s.spawn(move || match delays {
                Some(n) => perturbed(base::seed::nth("delays", 24 * n + t), || work(t)),
                None => work(t),
            });
        }
    });
    block_on(p.close()).unwrap();
}

/// Fails where it stands still for 50 s. A machine that is busy with other things may take longer for all of it.
fn sharing_goes_on(what: &str, delays: Option<u64>) {
    let done = Arc::new(AtomicU64::new(0));
    let (work, counts) = (mpsc::channel(), done.clone());
    std::thread::spawn(move || {
        share_a_pool(delays, &counts);
        let _ = work.0.send(());
    });
    loop {
        let before = done.load(Ordering::Relaxed);
        match work.1.recv_timeout(Duration::from_secs(50)) {
            Ok(()) => return,
            Err(mpsc::RecvTimeoutError::Disconnected) => panic!("{what}: panicked"),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let now = done.load(Ordering::Relaxed);
                assert!(now > before, "{what}: still waiting after {now} operations");
            }
        }
    }
}

#[test]
fn operations_share_a_pool_smaller_than_what_they_want() {
    sharing_goes_on("pins", None);
}

/// Before a latch was waited for only while its frame held the page that was looked for, one in three of these hung.
#[test]
fn operations_share_a_small_pool_wherever_they_are_held_up() {
    for n in 0..4 {
        sharing_goes_on("latches", Some(n));
    }
}

/// More operations wait for room in the log than there are frames, and each had a page in memory: what makes room finds frames all the same.
#[test]
fn who_waits_for_room_in_the_log_keeps_no_page() {
    within(50, "room", || {
        let disk = SimDisk::new();
        let (p, _) = open(&disk, 64);
        let (space, pages) = create(&p, 5, 200);
        let over = AtomicBool::new(false);
        std::thread::scope(|s| {
            for page in &pages[..100] {
                let (p, id, over) = (&p, space.id(), &over);
                s.spawn(move || {
                    while !over.load(Ordering::Acquire) {
                        let mut pins = Pins::new();
                        block_on(p.resolve_into(Wait::Page(id, *page), &mut pins)).unwrap();
                        block_on(p.resolve_into(Wait::LogSpace(Purpose::Tidy), &mut pins)).unwrap();
                    }
                });
            }
            let room = |w: &&LongWait| w.what == "room in the log";
            while p.long_waits(Duration::ZERO).iter().filter(room).count() < 100 {
                // Without checkpoints it gets full.
                match p.log().admit(Purpose::Tidy) {
                    Ok(()) => {
                        put(&p, &space, pages[0], 64, &[7; 16000]).unwrap();
                    }
                    Err(_) => std::thread::yield_now(),
                }
            }
            for page in &pages[100..] {
                get(&p, &space, *page, 64);
            }
            over.store(true, Ordering::Release);
            p.start_checkpoints();
        });
        block_on(p.close()).unwrap();
    });
}

#[test]
fn a_wait_that_lasts_is_told_with_who_has_what_it_is_for() {
    within(50, "told", || {
        let disk = SimDisk::new();
        let (p, _) = open(&disk, 64);
        let (space, pages) = create(&p, 5, 100);
        block_on(p.flush_all()).unwrap();
        let told = |what: &str| loop {
            let all = p.long_waits(Duration::ZERO);
            if let Some(w) = all.iter().find(|w| w.what.starts_with(what)) {
                return w.to_string();
            }
            std::thread::yield_now();
        };
        let text = std::thread::scope(|s| {
            let pin_all = async {
                let mut pins = Vec::new();
                for page in &pages[..64] {
                    pins.extend(p.resolve(Wait::Page(space.id(), *page)).await.unwrap());
                }
                pins
            };
            let pins = block_on(on_behalf_of(9, pin_all));
            s.spawn(|| block_on(on_behalf_of(4, async { get(&p, &space, pages[99], 64) })));
            let text = told("a free frame");
            drop(pins);
            text
        });
        assert!(text.starts_with("connection 4, thread "), "{text}");
        assert!(
            text.contains("64 pinned by connection 9, thread "),
            "{text}"
        );
        let text = std::thread::scope(|s| {
            let latch = p.run(|| p.exclusive(&space, pages[99]));
            let latched = block_on(on_behalf_of(9, latch)).unwrap();
            s.spawn(|| get(&p, &space, pages[99], 64));
            let text = told("the latch of page");
            drop(latched);
            text
        });
        assert!(text.contains("connection 9, thread "), "{text}");
        assert!(text.contains(" holds it alone"), "{text}");
        assert!(p.long_waits(Duration::ZERO).is_empty());
        block_on(p.close()).unwrap();
    });
}
