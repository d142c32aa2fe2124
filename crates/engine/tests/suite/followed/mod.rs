//! Groups of events as tests follow them: an engine that ends them, and all of them as texts.

#![allow(dead_code, reason = "each test uses some of it")]

use base::block_on;
use base::mem::MemDisk;
use engine::*;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Ends groups as these tests know them.
pub struct Full;

impl GroupEnd for Full {
    fn end(&self, facts: Option<&mut (dyn Any + Send + Sync)>, wall_us: i64, out: &mut Vec<u8>) {
        assert!(wall_us > 0);
        out.push(b'.');
        if let Some(said) = facts.and_then(|f| f.downcast_ref::<String>()) {
            out.extend_from_slice(said.as_bytes());
        }
    }

    fn packs(&self, facts: &(dyn Any + Send + Sync), _len: u64) -> bool {
        facts.is::<Counts>()
    }

    fn pack(
        &self,
        facts: &(dyn Any + Send + Sync),
        (txid, wall_us): (u64, i64),
        events: &[u8],
    ) -> Option<Box<dyn GroupPack>> {
        assert!(facts.is::<Counts>() && txid > 0 && wall_us > 0);
        let counted = events.first() != Some(&b'!');
        counted.then(|| Box::new(Count(events.to_vec(), 0)) as Box<dyn GroupPack>)
    }
}

pub fn opened(disk: &Arc<MemDisk>) -> Arc<Engine> {
    opened_with(disk, Arc::new(Full))
}

/// One whose groups are ended so.
pub fn opened_with(disk: &Arc<MemDisk>, end: Arc<dyn GroupEnd>) -> Arc<Engine> {
    let options = EngineOptions {
        pager: crate::world::pager_options(512),
        keep_log: true,
        ..EngineOptions::default()
    };
    let environment = base::mem::environment(disk.clone());
    let path = std::path::Path::new("/db");
    let e = block_on(Engine::open(environment, path, options)).expect("open");
    e.end_groups_with(end);
    e
}

pub fn add(s: &mut Session, text: &str) {
    s.append_events(|out| out.extend_from_slice(text.as_bytes()));
}

pub async fn insert(s: &mut Session, id: i64) {
    let t = s.open_table("s", "t").await.unwrap();
    let r = s
        .insert(&t, &crate::world::row(id, 1, 1, 10))
        .await
        .unwrap();
    assert_eq!(r, Inserted::Done);
}

/// All groups behind a position, as texts, and where each would go on. A group of its own says where to stop.
pub async fn groups(e: &Arc<Engine>, from: GroupPosition) -> Vec<(String, GroupPosition)> {
    static STOPS: AtomicU64 = AtomicU64::new(0);
    let stop = format!("STOP {}", STOPS.fetch_add(1, Ordering::Relaxed));
    e.session()
        .commit_group(stop.as_bytes(), None)
        .await
        .unwrap();
    let mut follower = e.follow(from);
    let mut all = Vec::new();
    loop {
        let group = follower.next().await.unwrap().unwrap();
        let (len, resume) = (group.len(), group.resume);
        let bytes = group.reader(e).read_all().await.unwrap();
        assert_eq!(bytes.len() as u64, len);
        let text = String::from_utf8(bytes).unwrap();
        if text == stop {
            return all;
        }
        if !text.starts_with("STOP") {
            all.push((text, resume));
        }
    }
}

pub async fn texts(e: &Arc<Engine>, from: GroupPosition) -> Vec<String> {
    let all = groups(e, from).await;
    all.into_iter().map(|g| g.0).collect()
}

pub fn beginning(e: &Arc<Engine>) -> GroupPosition {
    GroupPosition::at(e.oldest_log())
}

/// A directory with a table, and where its log goes on behind that.
pub fn filled() -> (Arc<MemDisk>, Arc<Engine>, GroupPosition) {
    let disk = Arc::new(MemDisk::default());
    let e = opened(&disk);
    block_on(async {
        crate::world::create(&mut e.session(), crate::world::def("t")).await;
    });
    let from = e.end_of_groups();
    (disk, e, from)
}

/// Longer than what a session keeps.
pub fn long(c: char) -> String {
    c.to_string().repeat(300 << 10)
}

/// Beside a group: it is to be counted.
pub struct Counts;

/// A group in another form: how many bytes it has, and the first of them.
struct Count(Vec<u8>, usize);

impl GroupPack for Count {
    fn step(&mut self) -> bool {
        self.1 = self.0.len().min(self.1 + (100 << 10));
        self.1 < self.0.len()
    }

    fn finish(self: Box<Self>) -> Option<Vec<u8>> {
        let first = char::from(self.0[0]);
        Some(format!("{}x{first}", self.1).into_bytes())
    }
}
