//! What is damaged, cut, or not what follows, is refused.

use crate::world::{fill, row};
use crate::{all_rows, open_at, restored, taken};
use base::mem::MemDisk;
use base::{Disk, OpenMode, SplitMix64, block_on};
use engine::backup::*;
use engine::*;
use std::path::Path;
use std::sync::Arc;

#[test]
fn a_damaged_backup_says_so() {
    let disk = Arc::new(MemDisk::default());
    let e = open_at(&disk, "/db");
    block_on(fill(&e, 300, 200));
    let (all, manifest) = taken(&e, None);
    let summary = verify(&all[..]).unwrap();
    assert_eq!(summary.manifest, manifest);
    assert_eq!(summary.bytes, all.len() as u64);
    let mut rng = SplitMix64::new(base::seed::nth("damage", 1));
    let try_one = |bytes: &[u8]| {
        let checked = verify(bytes);
        let environment = base::mem::environment(Arc::new(MemDisk::default()));
        let mut restore = engine::backup::restore(&environment, Path::new("/r")).unwrap();
        let read = restore.read(bytes, true);
        assert_eq!(checked.is_err(), read.is_err());
        if read.is_err() {
            assert!(restore.finish().is_err(), "there is no backup");
            // And no start takes it for a directory.
            assert!(!environment.disk.exists(Path::new("/r/log/control")));
        }
        checked
    };
    for _ in 0..400 {
        let mut bytes = all.clone();
        let bit = rng.below(bytes.len() as u64 * 8) as usize;
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(try_one(&bytes).is_err(), "bit {bit}");
    }
    for _ in 0..100 {
        let len = rng.below(all.len() as u64) as usize;
        assert!(try_one(&all[..len]).is_err(), "cut at {len}");
    }
    // Whole chunks that are missing, twice there, or of another backup.
    let (other, _) = taken(&e, None);
    let parts = |all: &[u8]| {
        let mut reader = ChunkReader::new(all);
        let mut ends = vec![0];
        while reader.next_chunk().unwrap().is_some() {
            ends.push(reader.place().so_far().1 as usize);
        }
        ends
    };
    let (ends, others) = (parts(&all), parts(&other));
    for i in 0..ends.len() - 1 {
        let mut left_out = all[..ends[i]].to_vec();
        left_out.extend_from_slice(&all[ends[i + 1]..]);
        assert!(try_one(&left_out).is_err());
        let mut twice = all[..ends[i + 1]].to_vec();
        twice.extend_from_slice(&all[ends[i]..]);
        assert!(try_one(&twice).is_err());
        if let Some(end) = others.get(i + 1) {
            let mut mixed = all[..ends[i]].to_vec();
            mixed.extend_from_slice(&other[others[i]..*end]);
            mixed.extend_from_slice(&all[ends[i + 1]..]);
            assert!(try_one(&mixed).is_err());
        }
    }
    block_on(e.close()).unwrap();
}

#[test]
fn a_directory_that_is_not_empty_is_left_alone() {
    let disk = Arc::new(MemDisk::default());
    let environment = base::mem::environment(disk.clone());
    disk.create_dir_all(Path::new("/r")).unwrap();
    disk.open(Path::new("/r/x"), OpenMode::Buffered, true)
        .unwrap();
    let e = engine::backup::restore(&environment, Path::new("/r"));
    assert!(e.err().unwrap().to_string().contains("not empty"));
}

#[test]
fn only_what_follows_is_restored_behind_a_backup() {
    let disk = Arc::new(MemDisk::default());
    let e = open_at(&disk, "/db");
    let mut s = block_on(fill(&e, 3000, 300));
    // A backup begins at a checkpoint, and what is not written by then counts as changed since.
    block_on(e.pager().flush_all()).unwrap();
    let (base, m) = taken(&e, None);
    let insert = |s: &mut Session, id: i64| {
        block_on(async {
            s.begin(Isolation::ReadCommitted, false);
            let t = s.open_table("s", "t").await.unwrap();
            s.insert(&t, &row(id, 1, 1, 10)).await.unwrap();
            s.commit().await.unwrap();
        });
    };
    insert(&mut s, 10_001);
    let (first, m1) = taken(&e, Some(m.token()));
    insert(&mut s, 10_002);
    let (second, _) = taken(&e, Some(m1.token()));
    assert!(
        first.len() < base.len() / 2 && m1.pages < m.pages / 2,
        "{m1:?}"
    );
    let chain = |parts: &[&[u8]]| {
        let environment = base::mem::environment(Arc::new(MemDisk::default()));
        let mut restore = engine::backup::restore(&environment, Path::new("/r")).unwrap();
        for (i, p) in parts.iter().enumerate() {
            restore.read(*p, i + 1 == parts.len())?;
        }
        restore.finish()
    };
    assert!(chain(&[&base, &first, &second]).is_ok());
    for wrong in [
        &[&first[..]][..],
        &[&base, &second],
        &[&first, &base],
        &[&base, &base],
        &[&base, &first, &first],
    ] {
        assert!(chain(wrong).is_err());
    }
    let count = |e: &Arc<Engine>| {
        let mut s = e.session();
        s.begin(Isolation::RepeatableRead, true);
        let t = block_on(s.open_table("s", "t")).unwrap();
        block_on(all_rows(&mut s, &t)).len()
    };
    restored(&[&base], |e| assert_eq!(count(e), 3000));
    restored(&[&base, &first], |e| assert_eq!(count(e), 3001));
    restored(&[&base, &first, &second], |e| assert_eq!(count(e), 3002));
    // Of another database it is none, though the positions would fit.
    let other = open_at(&Arc::new(MemDisk::default()), "/db");
    let taking = Taking {
        since: Some(m.token()),
        ..Taking::default()
    };
    assert!(block_on(other.begin_backup(taking)).is_err());
    drop(s);
    block_on(e.close()).unwrap();
    block_on(other.close()).unwrap();
}
