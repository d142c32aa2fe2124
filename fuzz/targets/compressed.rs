//! Compressed pages from a device that lies: what is decompressed is a whole page of the right number, or is refused.

#![no_main]

use base::checksum::crc32c;
use base::{PageNo, SpaceId, le};
use libfuzzer_sys::fuzz_target;
use pager::{PAGE_SIZE, compressed, page};

const SPACE: SpaceId = SpaceId(7);
const PAGE: PageNo = PageNo(9);
/// Bytes in front of what is compressed.
const HEADER: usize = 32;

fuzz_target!(|data: &[u8]| {
    let mut out = vec![0; PAGE_SIZE];
    // As they come, and as somebody would write them who damages pages on purpose: with the right checksum.
    look(data, &mut out);
    let Some((how, body)) = data.split_first() else {
        return;
    };
    let mut bytes = vec![0; HEADER];
    le::put_u32(&mut bytes, 4, PAGE.0);
    le::put_u32(&mut bytes, 8, SPACE.0);
    bytes[12] = (how & 15) % 5;
    bytes[13] = (how >> 4) % 3;
    le::put_u32(&mut bytes, 16, body.len() as u32);
    bytes.extend_from_slice(body);
    let crc = crc32c(&bytes[4..]);
    le::put_u32(&mut bytes, 0, crc);
    look(&bytes, &mut out);
});

fn look(bytes: &[u8], out: &mut [u8]) {
    if compressed::decompress(bytes, (SPACE, PAGE), (btree::node::cells, None), out).is_ok() {
        assert_eq!(page::check(out, SPACE, PAGE), Ok(()));
    }
}
