//! Long scans of a tree that is not in memory read ahead, each page once; short ones read what they need.

use crate::bed::{Bed, wait};
use btree::{Direction, ScanPos, ScanState, Visit};
use pager::compressed::{CompressedFormat, Method};

/// Entries of a little more than 200 bytes: about seventy a leaf.
const ENTRIES: u32 = 60_000;
const VALUE: usize = 200;

fn value(i: u32) -> Vec<u8> {
    let digit = |c: usize| b'0' + ((u64::from(i) * 7919 + c as u64 * 104_729) % 10) as u8;
    (0..VALUE).map(digit).collect()
}

/// A tree with all entries of which nearly nothing is in memory.
fn cold(format: Option<CompressedFormat>) -> Bed {
    let bed = Bed::compressed(640, format);
    let all: Vec<([u8; 4], Vec<u8>)> = (0..ENTRIES).map(|i| (i.to_be_bytes(), value(i))).collect();
    let mut at = 0;
    while at < all.len() {
        let entry = |n: usize| all.get(at + n).map(|(k, v)| (&k[..], &v[..]));
        at += wait(&bed, || bed.tree.insert_run(entry, 0));
    }
    bed.crash(640)
}

fn scan(bed: &Bed, direction: Direction) {
    let mut pos = ScanPos::start();
    let mut seen = 0;
    loop {
        let state = wait(bed, || {
            bed.tree.scan(&mut pos, direction, |k, v| {
                let i = match direction {
                    Direction::Forward => seen,
                    Direction::Backward => ENTRIES - 1 - seen,
                };
                assert_eq!((k, v), (&i.to_be_bytes()[..], &value(i)[..]));
                seen += 1;
                Visit::Next
            })
        });
        if state == ScanState::End {
            break;
        }
    }
    assert_eq!(seen, ENTRIES);
}

fn long_scans(format: Option<CompressedFormat>) {
    let bed = cold(format);
    let leaves = u64::from(ENTRIES) * VALUE as u64 / 16384;
    for direction in [Direction::Forward, Direction::Backward] {
        let c = &bed.pager.pool().counters;
        let (reads, ahead) = (c.reads.get(), c.ahead.get());
        scan(&bed, direction);
        let (reads, ahead) = (c.reads.get() - reads, c.ahead.get() - ahead);
        // What the last scan left in memory is not read.
        assert!(reads > leaves / 10, "{reads} of {leaves}");
        assert!(ahead * 10 > reads * 9, "{ahead} of {reads}");
        assert!(reads < leaves * 3 / 2, "{reads} of {leaves}");
    }
}

#[test]
fn long_scans_read_ahead() {
    long_scans(None);
}

#[test]
fn long_scans_of_packed_pages_read_ahead() {
    long_scans(Some(CompressedFormat {
        unit: 512,
        block: 512,
        method: Method::Zstd,
        level: 6,
    }));
}

#[test]
fn short_scans_do_not() {
    let bed = cold(None);
    let c = &bed.pager.pool().counters;
    let ahead = c.ahead.get();
    let mut pos = ScanPos::start();
    for first in (0..ENTRIES).step_by(997) {
        pos.seek_at(&first.to_be_bytes());
        let mut left = 150;
        while left > 0 {
            let state = wait(&bed, || {
                bed.tree.scan(&mut pos, Direction::Forward, |_, _| {
                    left -= 1;
                    if left == 0 { Visit::Stop } else { Visit::Next }
                })
            });
            if state == ScanState::End {
                break;
            }
        }
    }
    assert_eq!(c.ahead.get(), ahead);
}
