//! Overflow chains: what is written is read, and every page comes back.

use crate::bed::{Bed, wait};
use btree::{Action, Change, OVERFLOW_CAPACITY, OverflowCursor, OverflowWriter};

#[test]
fn chains_of_all_lengths() {
    let bed = Bed::new(4096);
    for len in [
        1,
        OVERFLOW_CAPACITY - 1,
        OVERFLOW_CAPACITY,
        OVERFLOW_CAPACITY + 1,
        300_000,
    ] {
        let bytes: Vec<u8> = (0..len).map(|i| ((i * 31) >> 3) as u8).collect();
        let mut writer = OverflowWriter::new(len);
        let mut pages = 0;
        while wait(&bed, || writer.step(&bed.tree, &bytes, |_, _| {})).is_some() {
            pages += 1;
        }
        assert_eq!(pages, len.div_ceil(OVERFLOW_CAPACITY));
        assert_eq!(bed.used_pages(), 1 + pages);
        let first = writer.first();
        let mut out = Vec::new();
        let mut cursor = OverflowCursor::new(first, len as u64);
        wait(&bed, || bed.tree.read_overflow(&mut cursor, &mut out));
        assert!(out == bytes);
        while wait(&bed, || bed.tree.shrink_overflow(first)) {}
        assert_eq!(bed.used_pages(), 2);
        let mut change = Change::default();
        bed.modify(b"row", &mut change, |_, c| {
            c.free.push(first);
            c.value.push(1);
            Action::Put
        });
        assert_eq!(bed.used_pages(), 1);
    }
}

#[test]
fn a_page_of_another_kind_is_damage_not_data() {
    let bed = Bed::new(256);
    let mut cursor = OverflowCursor::new(bed.tree.root(), 1);
    let got = bed.tree.read_overflow(&mut cursor, &mut Vec::new());
    assert!(matches!(got, Err(pager::OpError::Corrupt { .. })));
}
