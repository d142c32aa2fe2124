//! Space comes back: leaves that deletes and splits have left half empty are packed, the pages at the file's end move to free ones in front, and the
//! end goes back to the file system. Whatever was done, the tree holds what it held, also after a crash.

use crate::bed::{Bed, seeded, wait};
use crate::model::{Map, check};
use base::{PageNo, block_on};
use btree::{Action, Change, PACKED_FILL};
use pager::CutEnd;
use pager::compressed::{CompressedFormat, Method};

const PACKED: CompressedFormat = CompressedFormat {
    unit: 512,
    block: 512,
    method: Method::Zlib,
    level: 6,
};

fn put(bed: &Bed, map: &mut Map, key: u64, len: usize, change: &mut Change) {
    let (key, value) = (key.to_be_bytes(), vec![key as u8; len]);
    bed.modify(&key, change, |_, c| {
        c.value.extend_from_slice(&value);
        Action::Put
    });
    map.insert(key.to_vec(), value);
}

fn remove(bed: &Bed, map: &mut Map, key: &[u8], change: &mut Change) {
    bed.modify(key, change, |_, _| Action::Remove);
    map.remove(key);
}

/// Random keys, of which all but one in `left` are gone again.
fn worn(bed: &Bed, keys: usize, left: u64) -> Map {
    let (mut map, mut change, mut dice) = (Map::new(), Change::default(), seeded(3));
    for _ in 0..keys {
        put(bed, &mut map, dice.next(), 200, &mut change);
    }
    let all: Vec<_> = map.keys().cloned().collect();
    for key in all.iter().filter(|_| dice.below(left) > 0) {
        remove(bed, &mut map, key, &mut change);
    }
    map
}

/// Pages that the entries would take in full leaves.
fn least_pages(map: &Map) -> usize {
    let bytes: usize = map.iter().map(|(k, v)| k.len() + v.len() + 10).sum();
    bytes / PACKED_FILL + 1
}

#[test]
fn a_packed_tree_is_as_small_as_its_entries() {
    for left in [1, 2, 10] {
        let bed = Bed::new(8192);
        let map = worn(&bed, 60_000, left);
        let before = bed.used_pages();
        assert!(bed.pack(PACKED_FILL) > 0);
        check(&bed, &map);
        let (after, least) = (bed.used_pages(), least_pages(&map));
        assert!(
            after < before && after * 10 <= least * 11,
            "{before} pages became {after}, of {least}"
        );
        // Where entries end does not fit at the first time everywhere.
        let again = (0..4).map(|_| bed.pack(PACKED_FILL)).collect::<Vec<_>>();
        assert!(
            again[0] * 20 <= after as u64 && again[3] == 0,
            "{again:?} of {after}"
        );
        let end = bed.pager.log().end();
        assert_eq!(bed.pack(PACKED_FILL), 0);
        assert_eq!(
            bed.pager.log().end(),
            end,
            "what is packed is written again"
        );
        check(&bed, &map);
    }
}

#[test]
fn the_file_of_a_packed_tree_ends_where_its_pages_do() {
    for format in [None, Some(PACKED)] {
        let bed = Bed::compressed(8192, format);
        bed.pager.start_checkpoints();
        let map = worn(&bed, 60_000, 10);
        let room = bed.space.room();
        bed.pack(PACKED_FILL);
        let used = bed.used_pages() as u32 + 1;
        assert!(bed.relocate(PageNo(used)) > 0);
        check(&bed, &map);
        let highest = bed.live_pages().into_iter().max();
        assert_eq!(highest, Some(PageNo(used - 1)), "there is a hole in front");
        let end = bed.cut();
        assert!(
            end < used + 16 && end < room / 5,
            "{room} pages became {end}, of {used}"
        );
        check(&bed, &map);
        // A crash, and growth behind it.
        let after = bed.crash(8192);
        assert!(after.space.room() <= end);
        check(&after, &map);
        after.pager.start_checkpoints();
        let (mut map, mut change, mut dice) = (map, Change::default(), seeded(4));
        for _ in 0..20_000 {
            put(&after, &mut map, dice.next(), 200, &mut change);
        }
        check(&after, &map);
        assert!(after.space.room() > end);
        block_on(after.pager.flush_all()).expect("all is written");
        check(&after.crash(256), &map);
    }
}

/// A page number that was read before the end was cut off leads to a free page, and not to an error.
#[test]
fn who_comes_behind_the_end_finds_a_free_page() {
    let bed = Bed::new(4096);
    bed.pager.start_checkpoints();
    let map = worn(&bed, 20_000, 20);
    let room = bed.space.room();
    bed.pack(PACKED_FILL);
    bed.relocate(PageNo(bed.used_pages() as u32 + 1));
    let end = bed.cut();
    assert!(end < room);
    for no in [end, room - 1] {
        let kind = wait(&bed, || {
            Ok(bed.pager.shared(&bed.space, PageNo(no))?.kind())
        });
        assert_eq!(kind, Some(pager::PageKind::Free));
    }
    check(&bed, &map);
}

/// A page behind the end that is allocated after the cut was begun makes it no cut.
#[test]
fn a_file_that_grows_again_is_not_cut() {
    let bed = Bed::new(4096);
    bed.pager.start_checkpoints();
    let mut map = worn(&bed, 20_000, 20);
    bed.pack(PACKED_FILL);
    bed.relocate(PageNo(bed.used_pages() as u32 + 1));
    let cut = wait(&bed, || bed.pager.begin_cut(&bed.space, 1)).expect("much is free");
    let end = || bed.pager.finish_cut(&bed.space, &cut).expect("no error");
    assert_eq!(end(), CutEnd::NotYet);
    let (mut change, mut dice) = (Change::default(), seeded(5));
    for _ in 0..20_000 {
        put(&bed, &mut map, dice.next(), 200, &mut change);
    }
    block_on(bed.pager.flush_all()).expect("all is written");
    let room = bed.space.room();
    assert_eq!(end(), CutEnd::Grown);
    assert_eq!(bed.space.room(), room);
    check(&bed, &map);
}
