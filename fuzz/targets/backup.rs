//! A backup from somebody who wants the restore to fail: whatever its bytes are, it is refused or restored, and takes no more memory than it has
//! itself; and what was restored is opened, or refused. As bytes, and as somebody would write them who knows the checksums.

#![no_main]

use base::checksum::crc32c;
use base::le;
use base::mem::{MemDisk, environment};
use libfuzzer_sys::fuzz_target;
use pager::backup::ChunkKind;
use pager::backup::chunk::encode;
use std::path::Path;
use std::sync::Arc;

const ID: u64 = 7;
const PAGE: usize = 16384;
/// No file of what is restored needs more.
const ROOM: u64 = 256 << 20;

fuzz_target!(|data: &[u8]| {
    try_one(data);
    let mut stream = Vec::new();
    for (number, part) in (0..).zip(parts(data)) {
        let Some((kind, body)) = part.split_first() else {
            continue;
        };
        let (kind, content) = match kind % 6 {
            0 => (ChunkKind::Begin, text(body)),
            1 => (ChunkKind::Space, body.to_vec()),
            2 => (ChunkKind::Pages, page(body)),
            3 => (ChunkKind::Log, body.to_vec()),
            4 => (ChunkKind::File, body.to_vec()),
            _ => (ChunkKind::End, text(body)),
        };
        stream.extend(encode(kind, (ID, number), &content).expect("a chunk"));
    }
    try_one(&stream);
});

/// Parts of the input, each behind its length.
fn parts(mut data: &[u8]) -> Vec<&[u8]> {
    let mut all = Vec::new();
    while let Some((len, rest)) = data.split_first_chunk::<2>() {
        let len = usize::from(u16::from_le_bytes(*len)).min(rest.len());
        let (part, rest) = rest.split_at(len);
        all.push(part);
        data = rest;
    }
    all
}

/// A manifest of this backup with the right checksum.
fn text(lines: &[u8]) -> Vec<u8> {
    let mut all = format!("tidemill-backup 1\nid {ID:016x}\n").into_bytes();
    all.extend_from_slice(lines);
    all.push(b'\n');
    let crc = crc32c(&all);
    all.extend(format!("crc32c {crc:08x}\n").into_bytes());
    all
}

/// A page of a tablespace and number, with the right checksum.
fn page(body: &[u8]) -> Vec<u8> {
    let mut page = vec![0; PAGE];
    let n = body.len().min(PAGE - 4);
    page[4..4 + n].copy_from_slice(&body[..n]);
    let crc = crc32c(&page[4..]);
    le::put_u32(&mut page, 0, crc);
    let mut content = 1u32.to_le_bytes().to_vec();
    content.extend_from_slice(&page[4..8]);
    content.extend_from_slice(&page);
    content
}

fn try_one(stream: &[u8]) {
    let checked = engine::backup::verify(stream).is_ok();
    let disk = Arc::new(MemDisk::default());
    disk.set_room(ROOM);
    let environment = environment(disk);
    let dir = Path::new("/r");
    let mut restore = engine::backup::restore(&environment, dir).expect("an empty folder");
    let read = restore.read(stream, true).is_ok();
    assert!(checked || !read, "what is damaged was restored");
    if read && restore.finish().is_ok() {
        let opened = engine::Engine::open(environment, dir, engine::EngineOptions::default());
        if let Ok(e) = base::block_on(opened) {
            let _closed = base::block_on(e.close());
        }
    }
}
