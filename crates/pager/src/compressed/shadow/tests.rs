//! A tablespace beside a list of what was written into it, with ends at any place.

use super::super::format::Method;
use super::*;
use base::OpenMode;
use base::environment::Disk;
use base::mem::MemDisk;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

const FORMAT: CompressedFormat = CompressedFormat {
    unit: 1024,
    block: 4096,
    method: Method::Lz4,
    level: 6,
};

const STEP: u64 = 1 << 20;

fn file(disk: &MemDisk) -> Arc<dyn File> {
    disk.open(Path::new("/t"), OpenMode::Direct, true)
        .expect("a file")
}

/// Writes `value` all over a new place of the page.
fn write(s: &Shadow, page: u32, units: u8, value: u8) {
    let start = s.allocate(u64::from(units)).expect("room");
    let place = Place {
        start,
        units,
        plain: false,
    };
    let bytes = AlignedBuf::copy_of(&vec![value; s.bytes(place)]);
    s.file.write_now(&bytes, s.offset(start)).expect("a write");
    s.enter(PageNo(page), place);
}

fn read(s: &Shadow, page: u32) -> Option<(u8, u8)> {
    let place = s.place(PageNo(page))?;
    let mut b = AlignedBuf::zeroed(s.bytes(place));
    s.file
        .read_now(&mut b, s.offset(place.start))
        .expect("a read");
    assert!(b.iter().all(|x| *x == b[0]), "page {page} is mixed");
    Some((place.units, b[0]))
}

fn all(s: &Shadow, model: &BTreeMap<u32, (u8, u8)>) {
    for page in 0..6000 {
        assert_eq!(read(s, page), model.get(&page).copied(), "page {page}");
    }
    let bytes: u64 = model.values().map(|(units, _)| u64::from(*units)).sum();
    let usage = CompressedUse {
        pages: model.len() as u64,
        bytes: bytes * u64::from(FORMAT.unit),
    };
    assert_eq!(s.usage(), usage);
}

proptest! {
    #![proptest_config(base::seeded!(64))]
    #[test]
    fn a_recovery_finds_what_the_last_root_names(
        steps in prop::collection::vec((0u8..10, 0u32..6000, 1u8..17, any::<u8>()), 1..300)
    ) {
        let disk = MemDisk::default();
        let mut s = Shadow::create(SpaceId(3), file(&disk), FORMAT, STEP).expect("a tablespace");
        s.make_root().expect("a root");
        let mut now = BTreeMap::new();
        let mut durable = now.clone();
        for (what, page, units, value) in steps {
            match what {
                0 => {
                    s.make_root().expect("a root");
                    durable = now.clone();
                }
                1 => {
                    // All that was written after the root has arrived, and none of it may matter.
                    s = match Shadow::open(file(&disk), STEP) {
                        Ok(s) => s,
                        Err(_) => panic!("no root"),
                    };
                    now = durable.clone();
                    all(&s, &now);
                }
                2 => {
                    let start = s.allocate(u64::from(units)).expect("room");
                    s.release(start, u64::from(units));
                }
                // The same few pages again and again, and others.
                n => {
                    let page = if n < 6 { page % 7 } else { page };
                    write(&s, page, units, value);
                    now.insert(page, (units, value));
                }
            }
        }
        all(&s, &now);
    }
}

#[test]
fn places_that_wait_for_a_root_do_not_make_the_file_grow_for_ever() {
    let disk = MemDisk::default();
    let s = Shadow::create(SpaceId(3), file(&disk), FORMAT, STEP).expect("a tablespace");
    for round in 0..40u8 {
        for page in 0..1000 {
            write(&s, page, 4, round);
        }
        s.make_root().expect("a root");
    }
    let len = s.file.len().expect("a length");
    assert!(len < 14 << 20, "{len} bytes for 4 MB of pages");
}

#[test]
fn a_file_that_is_closed_is_hardly_larger_than_its_pages() {
    let disk = MemDisk::default();
    let s = Shadow::create(SpaceId(3), file(&disk), FORMAT, STEP).expect("a tablespace");
    let mut model = BTreeMap::new();
    for page in 0..3000u32 {
        write(&s, page, 16, page as u8);
    }
    s.make_root().expect("a root");
    // Smaller ones, in holes among the others, and some that stay where they are.
    for page in 0..3000u32 {
        let units = if page % 97 == 5 { 16 } else { 5 };
        if units == 5 {
            write(&s, page, 5, !page as u8);
        }
        let value = if units == 5 { !page as u8 } else { page as u8 };
        model.insert(page, (units, value));
        if page % 500 == 0 {
            s.make_root().expect("a root");
        }
    }
    s.make_root().expect("a root");
    let used = s.usage().bytes;
    let before = s.file.len().expect("a length");
    s.trim().expect("no fault");
    let after = s.file.len().expect("a length");
    // The front, the map twice, and what no whole page fits into.
    assert!(
        after < used + used / 16 + (1 << 17),
        "{after} for {used}, {before} before"
    );
    assert!(before > used + used / 4, "{before} for {used}");
    all(&s, &model);
    let s = Shadow::open(file(&disk), STEP).ok().expect("a root");
    all(&s, &model);
    s.trim().expect("no fault");
    assert_eq!(s.file.len().expect("a length"), after);
    write(&s, 7, 16, 70);
    model.insert(7, (16, 70));
    s.make_root().expect("a root");
    all(
        &Shadow::open(file(&disk), STEP).ok().expect("a root"),
        &model,
    );
}

#[test]
fn one_damaged_slot_loses_nothing() {
    let disk = MemDisk::default();
    let s = Shadow::create(SpaceId(3), file(&disk), FORMAT, STEP).expect("a tablespace");
    let spoil = |slot: u64| {
        let at = Root::slot(slot) + 512;
        file(&disk).write_now(&[0xAB; 512], at).expect("a write");
    };
    write(&s, 1, 2, 11);
    s.make_root().expect("a root");
    write(&s, 1, 2, 12);
    s.make_root().expect("a root");
    spoil(0);
    let s = Shadow::open(file(&disk), STEP)
        .ok()
        .expect("the other slot");
    assert_eq!(read(&s, 1), Some((2, 12)));
    write(&s, 1, 2, 13);
    s.make_root().expect("a root");
    spoil(1);
    let s = Shadow::open(file(&disk), STEP)
        .ok()
        .expect("the other slot");
    assert_eq!(read(&s, 1), Some((2, 13)));
    // Each time it was opened the other slot was written again.
    spoil(0);
    spoil(1);
    assert!(matches!(
        Shadow::open(file(&disk), STEP),
        Err(NoRoot::Damaged)
    ));
    assert!(matches!(Shadow::identity(&*s.file), Err(NoRoot::Damaged)));
}

#[test]
fn a_dictionary_comes_back_with_its_root() {
    let disk = MemDisk::default();
    let bytes: Vec<u8> = (0..5000u32).map(|i| ((i * i) >> 3) as u8).collect();
    let made = || Dictionary::new(bytes.clone(), 6).expect("memory");
    let s = Shadow::create(SpaceId(3), file(&disk), FORMAT, STEP).expect("a tablespace");
    write(&s, 1, 2, 11);
    assert!(s.wants_dictionary() && s.dictionary().is_none());
    s.keep_dictionary(made()).expect("room");
    assert!(s.dictionary().is_some());
    s.make_root().expect("a root");
    write(&s, 2, 3, 22);
    // What was not rooted is lost, and what was is there.
    let s = Shadow::open(file(&disk), STEP).ok().expect("a root");
    assert_eq!(s.dictionary().map(Dictionary::bytes), Some(&bytes[..]));
    assert!(!s.wants_dictionary());
    assert_eq!((read(&s, 1), read(&s, 2)), (Some((2, 11)), None));
    // Nothing else is written over it.
    for page in 10..60 {
        write(&s, page, 7, 33);
    }
    s.make_root().expect("a root");
    let s = Shadow::open(file(&disk), STEP).ok().expect("a root");
    assert_eq!(s.dictionary().map(Dictionary::bytes), Some(&bytes[..]));
    let at = s.offset(s.lock().stored.expect("a place").start);
    let mut b = AlignedBuf::zeroed(1024);
    s.file.read_now(&mut b, at).expect("a read");
    b[700] ^= 4;
    s.file.write_now(&b, at).expect("a write");
    assert!(matches!(
        Shadow::open(file(&disk), STEP),
        Err(NoRoot::Damaged)
    ));
}
