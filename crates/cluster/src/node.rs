//! One server: its disk, its tasks, and what was started on it. It is opened by the very function that opens a directory of a server.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use base::SplitMix64;
use base::lock::Mutex;
use replication::files::read::{EventReader, read_head};
use replication::payload::Events;
use replication::replica::ReplicaServer;
use replication::replica::filter::FilterRules;
use replication::statements::ServerLog;
use sim::disk::{Cut, SimDisk, Survivor};
use sim::exec::Executor;
use sim::time::Time;
use sql::Instance;
use sql_expr::vars::GlobalVars;
use tidemill::OpenOptions;
use tidemill::open::OpenDirectory;
use wire::binlog::control::Transaction;
use wire::binlog::frame::{Checksum, Event};
use wire::binlog::header::kind;

use crate::model::{Logged, token};
use crate::net::{Net, World};
use crate::serve;

const DIR: &str = "/data";
/// Where events begin.
const FIRST: usize = 4;
/// The flags of a file's first event, among which is whether it is being written: that changes, and no checksum covers it.
const FLAGS: std::ops::Range<usize> = FIRST + 17..FIRST + 19;

/// A server that is open.
#[derive(Clone)]
pub struct Up {
    pub directory: Arc<OpenDirectory>,
    pub log: Arc<ServerLog>,
    pub replica: Arc<ReplicaServer>,
}

impl Up {
    pub fn instance(&self) -> &Arc<Instance> {
        &self.directory.instance
    }
}

/// How it is opened.
#[derive(Debug, Clone)]
pub struct Settings {
    pub number: u32,
    pub source: bool,
    pub image: &'static str,
    /// Whether transactions are compressed.
    pub compressed: bool,
    pub checksum: &'static str,
    /// Replicas that have to have a commit.
    pub wanted: u64,
    pub file_size: u64,
}

type Opening = Arc<Mutex<Option<Result<Up, String>>>>;

/// Bytes of each file that were shown.
pub type Shown = BTreeMap<u32, Vec<u8>>;

/// While it has power.
pub struct Life {
    pub disk: SimDisk,
    pub exec: Executor,
    opening: Opening,
}

/// A server.
pub struct Node {
    pub host: usize,
    pub life: Option<Life>,
    left: Option<Survivor>,
    pub shown: Arc<Mutex<Shown>>,
}

impl Node {
    /// With this disk, and no power.
    pub fn new(host: usize, disk: Survivor) -> Node {
        Node {
            host,
            life: None,
            left: Some(disk),
            shown: Arc::default(),
        }
    }

    /// Its disk is another one, with nothing on it.
    pub fn replace(&mut self, disk: Survivor) {
        self.left = Some(disk);
        *self.shown.lock() = Shown::new();
    }

    /// Power; the start begins.
    pub fn start(
        &mut self,
        time: &Arc<Time>,
        net: &Net,
        settings: &Settings,
        rng: &mut SplitMix64,
    ) {
        let Some(left) = self.left.take() else {
            return;
        };
        let disk = SimDisk::start(left, time.clone(), SplitMix64::stream(rng.next(), 3));
        let exec = Executor::new(
            disk.clone(),
            time.clone(),
            SplitMix64::stream(rng.next(), 4),
        );
        let opening = Opening::default();
        let environment = exec.environment(SplitMix64::stream(rng.next(), 5));
        let (slot, options) = (opening.clone(), options(settings));
        let (net, host, shown) = (net.clone(), self.host, self.shown.clone());
        exec.spawn("open", async move {
            let spawn = environment.spawn.clone();
            let opened = async {
                let globals = GlobalVars::new();
                let opened = tidemill::open::open(Path::new(DIR), &options, &environment, globals);
                let directory = opened.await.map_err(|e| e.to_string())?;
                let log = directory.binary_log.clone().ok_or("no binary log")?;
                let world = World {
                    host,
                    net: net.clone(),
                    spawn: spawn.clone(),
                };
                let replica = ReplicaServer::start_in(
                    &directory.instance,
                    &FilterRules::default(),
                    Arc::new(world),
                )
                .await;
                let replica = replica.map_err(|e| format!("{} {}", e.code, e.message))?;
                Ok::<_, String>(Up {
                    directory: Arc::new(directory),
                    log,
                    replica,
                })
            };
            let opened = opened.await;
            if let Ok(up) = &opened {
                spawn.spawn("watch", Box::pin(watch(up.log.clone(), shown)));
                let (up, again) = (up.clone(), spawn.clone());
                net.listen(host);
                spawn.spawn(
                    "accept",
                    Box::pin(async move {
                        loop {
                            let end = net.accept(host).await;
                            let (instance, log) = (up.instance().clone(), up.log.clone());
                            again.spawn("dump", Box::pin(serve::connection(instance, log, end)));
                        }
                    }),
                );
            }
            *slot.lock() = Some(opened);
        });
        self.life = Some(Life {
            disk,
            exec,
            opening,
        });
    }

    /// Once it is open.
    pub fn up(&self) -> Option<Up> {
        match &*self.life.as_ref()?.opening.lock() {
            Some(Ok(up)) => Some(up.clone()),
            _ => None,
        }
    }

    /// Why it did not open.
    pub fn refused(&self) -> Option<String> {
        match &*self.life.as_ref()?.opening.lock() {
            Some(Err(e)) => Some(e.clone()),
            _ => None,
        }
    }

    /// The power goes, if it has not.
    pub fn end(&mut self, cut: Cut) -> Option<(u64, u64)> {
        let mut life = self.life.take()?;
        life.disk.cut_now(cut);
        let trace = life.exec.trace();
        life.exec.drop_tasks();
        drop(life.opening.lock().take());
        self.left = life.disk.take_survivor().map(|s| s.0);
        Some(trace)
    }
}

fn options(s: &Settings) -> OpenOptions {
    let (on, off) = ("ON", "OFF");
    OpenOptions::new()
        .buffer_pool_size(8 << 20)
        .redo_log_capacity(16 << 20)
        .log_buffer_size(1 << 20)
        .variable("server_id", &s.number.to_string())
        .variable("gtid_mode", on)
        .variable("enforce_gtid_consistency", on)
        .variable("binlog_row_image", s.image)
        .variable(
            "binlog_transaction_compression",
            if s.compressed { on } else { off },
        )
        .variable("binlog_checksum", s.checksum)
        .variable("max_binlog_size", &s.file_size.to_string())
        .variable("replica_parallel_workers", "1")
        .variable("replica_net_timeout", "5")
        .variable("rpl_semi_sync_replica_enabled", on)
        .variable("rpl_semi_sync_source_timeout", "4294967295")
        .variable(
            "rpl_semi_sync_source_wait_for_replica_count",
            &s.wanted.to_string(),
        )
        .variable(
            "rpl_semi_sync_source_enabled",
            if s.source { on } else { off },
        )
        .variable("super_read_only", if s.source { off } else { on })
        .binary_log("", "")
}

/// Keeps what was shown of the files.
async fn watch(log: Arc<ServerLog>, shown: Arc<Mutex<Shown>>) {
    loop {
        let known: BTreeMap<u32, u64> = {
            let s = shown.lock();
            s.iter().map(|(n, b)| (*n, b.len() as u64)).collect()
        };
        let more = log.log.feed().wait_for(|v| {
            let longer = v.files.iter();
            let longer = longer.filter(|f| known.get(&f.number).is_none_or(|n| *n < f.size));
            let longer: Vec<(u32, u64)> = longer.map(|f| (f.number, f.size)).collect();
            (!longer.is_empty()).then_some(longer)
        });
        for (number, size) in more.await {
            let from = known.get(&number).copied().unwrap_or(0);
            let Ok(bytes) = read(&log, number, from, size) else {
                return;
            };
            let mut s = shown.lock();
            s.entry(number).or_default().extend_from_slice(&bytes);
        }
    }
}

fn read(log: &ServerLog, number: u32, from: u64, to: u64) -> std::io::Result<Vec<u8>> {
    let file = log.log.open_file(number)?;
    let mut bytes = vec![0; (to - from) as usize];
    let got = file.read_now(&mut bytes, from)?;
    bytes.truncate(got);
    Ok(bytes)
}

/// Whether what was shown earlier is there as it was.
pub fn same_bytes(up: &Up, shown: &Shown) -> Result<(), String> {
    let sizes: BTreeMap<u32, u64> = up
        .log
        .log
        .feed()
        .with(|v| v.files.iter().map(|f| (f.number, f.size)).collect());
    for (number, before) in shown {
        let Some(size) = sizes.get(number) else {
            return Err(format!("the file {number} of the binary log is gone"));
        };
        if *size < before.len() as u64 {
            let had = before.len();
            return Err(format!("the file {number} has {size} bytes, and had {had}"));
        }
        let now = read(&up.log, *number, 0, before.len() as u64).map_err(|e| e.to_string())?;
        let mut differ = now.iter().zip(before).enumerate();
        let differs = differ.find(|(at, (a, b))| a != b && !FLAGS.contains(at));
        if let Some((at, _)) = differs {
            return Err(format!(
                "the file {number} has other bytes than it had, at {at}"
            ));
        }
    }
    Ok(())
}

/// The transactions of the binary log, in order.
pub fn logged(up: &Up) -> Result<Vec<Logged>, String> {
    let files: Vec<(u32, u64)> = up
        .log
        .log
        .feed()
        .with(|v| v.files.iter().map(|f| (f.number, f.size)).collect());
    let mut all: Vec<Logged> = Vec::new();
    for (number, size) in files {
        let wrong = |e: std::io::Error| format!("file {number}: {e}");
        let file = up.log.log.open_file(number).map_err(wrong)?;
        let head = read_head(&*file).map_err(wrong)?;
        let mut reader = EventReader::new(file, FIRST as u64);
        let mut sequence = 0;
        let mut checksum = Checksum::Crc32;
        while let Some((header, bytes)) = reader.next(size).map_err(wrong)? {
            let event = Event::read(bytes, checksum);
            let event = event.map_err(|_| format!("file {number}: a damaged event"))?;
            checksum = head.checksum;
            if header.kind == kind::GTID {
                let t = Transaction::read(event.body, false);
                let t = t.map_err(|_| format!("file {number}: a damaged name"))?;
                let gtid = t.gtid.ok_or("a transaction without a name")?;
                sequence += 1;
                if t.sequence_number != sequence || t.last_committed >= sequence {
                    return Err(format!(
                        "file {number}: {gtid} is called {} behind {}, as the {sequence}.",
                        t.sequence_number, t.last_committed
                    ));
                }
                all.push(Logged { gtid, token: None });
            } else if header.kind == kind::TRANSACTION_PAYLOAD {
                let damaged = |_| format!("file {number}: a transaction that does not come out");
                let inner = Events::of(event.body, event.body.len().max(1 << 20));
                let mut inner = inner.map_err(damaged)?;
                while let Some((_, body)) = inner.next_event().map_err(damaged)? {
                    if let Some(last) = all.last_mut() {
                        last.token = token(&body).or(last.token.take());
                    }
                }
            } else if let Some(last) = all.last_mut() {
                // The journal's row comes last: what is found before may be of rows as they were.
                last.token = token(bytes).or(last.token.take());
            }
        }
    }
    Ok(all)
}
