//! The servers, their network and their time as one: what goes on next, and how a statement is run from outside.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::SplitMix64;
use base::lock::Mutex;
use sim::disk::{Cut, Medium, Survivor};
use sim::exec::{Stepped, Stop};
use sim::time::Time;
use sql::Session;
use sql::context::replica::Replica;
use sql::sink::Collected;
use types::SqlError;
use types::gtid::GtidSet;

use crate::client::{self, Shared};
use crate::model::{Logged, Model};
use crate::net::{Host, Net, name};
use crate::node::{Node, Settings, Up, logged};

/// Servers.
pub const HOSTS: usize = 3;
/// What takes longer, in virtual microseconds, never ends.
const PATIENCE_US: u64 = 600_000_000;
/// Steps of all servers in a history.
const STEPS: u64 = 10_000_000;

/// What a statement comes to, where its server lives on.
type Answered = Arc<Mutex<Option<Result<Vec<Collected>, SqlError>>>>;

/// See the module.
pub struct Cluster {
    pub rng: SplitMix64,
    pub time: Arc<Time>,
    pub net: Net,
    pub nodes: Vec<Node>,
    pub model: Arc<Mutex<Model>>,
    pub source: Host,
    pub settings: Settings,
    pub definitions: bool,
    /// How often a server was made anew. The new one has another number: what the old one has done would be its own.
    pub copies: [u32; HOSTS],
    /// What a server had before it followed its source.
    pub base: BTreeMap<usize, GtidSet>,
    pub counts: BTreeMap<&'static str, u64>,
    pub trace: u64,
    pub steps: u64,
    pub loud: bool,
}

/// A disk with nothing on it.
pub fn empty() -> Survivor {
    Survivor::empty(Medium {
        whole_pages: false,
        direct_durable: false,
    })
}

impl Cluster {
    pub fn new(seed: u64, loud: bool) -> Cluster {
        let mut rng = SplitMix64::stream(seed, 77);
        let time = Arc::<Time>::default();
        let net = Net::new(time.clone(), SplitMix64::stream(rng.next(), 8));
        let settings = Settings {
            number: 0,
            source: false,
            image: rng.pick(&["FULL", "MINIMAL", "NOBLOB"]),
            compressed: SplitMix64::stream(seed, 78).one_in(3),
            checksum: rng.pick(&["CRC32", "CRC32", "NONE"]),
            wanted: 1 + u64::from(rng.one_in(3)),
            file_size: rng.pick(&[4096, 16384, 1 << 30]),
        };
        let nodes = (0..HOSTS).map(|host| Node::new(host, empty())).collect();
        Cluster {
            definitions: rng.one_in(2),
            rng,
            time,
            net,
            nodes,
            model: Arc::default(),
            source: 0,
            settings,
            copies: [0; HOSTS],
            base: BTreeMap::new(),
            counts: BTreeMap::new(),
            trace: 0,
            steps: 0,
            loud,
        }
    }

    pub fn count(&mut self, what: &'static str, n: u64) {
        *self.counts.entry(what).or_default() += n;
    }

    pub fn say(&self, what: impl FnOnce() -> String) {
        if self.loud {
            println!("{:>12} {}", self.time.now(), what());
        }
    }

    pub fn replicas(&self) -> Vec<Host> {
        (0..HOSTS).filter(|h| *h != self.source).collect()
    }

    /// Power for a server.
    pub fn start(&mut self, host: Host) {
        let settings = Settings {
            number: host as u32 + 1 + self.copies[host] * 10,
            source: host == self.source,
            ..self.settings.clone()
        };
        let (time, net) = (self.time.clone(), self.net.clone());
        self.nodes[host].start(&time, &net, &settings, &mut self.rng);
    }

    pub fn shared(&self, up: &Up) -> Shared {
        Shared {
            instance: up.instance().clone(),
            model: self.model.clone(),
            time: self.time.clone(),
        }
    }

    /// One step of some server, or time goes on.
    pub fn step(&mut self) -> Result<(), String> {
        self.steps += 1;
        if self.steps > STEPS {
            return Err("it goes on and on".to_owned());
        }
        let first = self.rng.below(HOSTS as u64) as usize;
        for host in (0..HOSTS).map(|n| (first + n) % HOSTS) {
            let Some(life) = &mut self.nodes[host].life else {
                continue;
            };
            if life.disk.is_dead() {
                self.died(host);
                return Ok(());
            }
            match life.exec.try_step() {
                Stepped::Went => return Ok(()),
                Stepped::Idle => {}
                Stepped::Stopped(Stop::Panic(_)) if life.disk.is_dead() => {}
                Stepped::Stopped(why) => return Err(format!("s{host}: {why:?}")),
            }
            if let Some(why) = self.nodes[host].refused() {
                let dead = self.nodes[host]
                    .life
                    .as_ref()
                    .is_none_or(|l| l.disk.is_dead());
                if !dead {
                    return Err(format!("s{host} does not start: {why}"));
                }
            }
        }
        let lives = self.nodes.iter().filter_map(|n| n.life.as_ref());
        let next = lives.filter_map(|l| l.disk.next_ready());
        match next.chain(self.time.next()).min() {
            Some(at) => {
                self.time.advance_to(at);
                Ok(())
            }
            None => Err("nobody has anything to do".to_owned()),
        }
    }

    /// The power of a server has gone.
    pub fn died(&mut self, host: Host) {
        self.net.power_off(host);
        if let Some((steps, hash)) = self.nodes[host].end(Cut::Nothing) {
            self.trace = (self.trace ^ hash).rotate_left(9).wrapping_add(steps);
            self.say(|| format!("s{host} has no power"));
            self.count("crashes", 1);
        }
        if host == self.source {
            let mut m = self.model.lock();
            m.clients_are_gone();
            m.failures.clear();
        }
    }

    /// Goes on until `done`, or fails after some time.
    pub fn until(
        &mut self,
        what: &str,
        mut done: impl FnMut(&mut Cluster) -> bool,
    ) -> Result<(), String> {
        let limit = self.time.now() + PATIENCE_US;
        while !done(self) {
            if self.time.now() > limit {
                return Err(format!(
                    "{what}: it does not come to an end; {}",
                    self.describe()
                ));
            }
            self.step()
                .map_err(|e| format!("{what}: {e}; {}", self.describe()))?;
            self.judge_failures()?;
        }
        Ok(())
    }

    pub fn describe(&self) -> String {
        let one = |n: &Node| match (&n.life, n.up()) {
            (None, _) => format!("s{}: no power", n.host),
            (_, None) => format!("s{}: starts", n.host),
            (Some(_), Some(up)) => {
                let executed = up.log.log.feed().with(|v| v.executed.to_string());
                let facts = up.replica.facts();
                let facts = facts.map(|f| {
                    format!(
                        "{:?} {} {} applied {:?} {}",
                        f.receiving,
                        f.receiver_failure.message,
                        f.applier_state,
                        f.applied,
                        f.applier_failure.message
                    )
                });
                let semi = up.log.log.semi_sync().counts();
                format!("s{}: {executed} {facts:?} {} wait", n.host, semi.waiting)
            }
        };
        self.nodes.iter().map(one).collect::<Vec<_>>().join("; ")
    }

    pub fn all_up(&mut self) -> Result<(), String> {
        for host in 0..HOSTS {
            self.start(host);
        }
        self.until("all start", |c| {
            for host in 0..HOSTS {
                // One that has died in its start begins again.
                c.start(host);
            }
            c.nodes.iter().all(|n| n.up().is_some())
        })
    }

    /// Runs a statement on a server; `None`: the server has died.
    pub fn run(
        &mut self,
        host: Host,
        sql: &str,
    ) -> Result<Option<Result<Vec<Collected>, SqlError>>, String> {
        let Some(up) = self.nodes[host].up() else {
            return Ok(None);
        };
        let slot = Answered::default();
        let (out, text) = (slot.clone(), sql.to_owned());
        let task = async move {
            let instance = up.instance();
            let mut s = Session::of_the_server(instance, instance.next_connection_id());
            let r = s.query(&text).await;
            s.close().await;
            *out.lock() = Some(r);
        };
        if let Some(life) = &self.nodes[host].life {
            life.exec.spawn("statement", task);
        }
        self.until(sql, |c| {
            slot.lock().is_some() || c.nodes[host].life.is_none()
        })?;
        Ok(slot.lock().take())
    }

    /// Runs a statement that has to succeed.
    pub fn must(&mut self, host: Host, sql: &str) -> Result<Vec<Collected>, String> {
        match self.run(host, sql)? {
            Some(Ok(r)) => Ok(r),
            Some(Err(e)) => Err(format!("s{host}: {sql}: {} {}", e.code, e.message)),
            None => Err(format!("s{host} is gone: {sql}")),
        }
    }

    /// A server follows nobody any more. Somebody who had its replica rest may start it in between: then it is stopped again.
    pub fn end_following(&mut self, host: Host) -> Result<(), String> {
        const MUST_STOP: u16 = 3081;
        const RESET: &str = "RESET REPLICA ALL";
        for _ in 0..10 {
            self.must(host, "STOP REPLICA")?;
            match self.run(host, RESET)? {
                Some(Ok(_)) => return Ok(()),
                Some(Err(e)) if e.code == MUST_STOP => {}
                Some(Err(e)) => return Err(format!("s{host}: {RESET}: {} {}", e.code, e.message)),
                None => return Err(format!("s{host} is gone: {RESET}")),
            }
        }
        Err(format!("s{host} is started again and again"))
    }

    /// A server follows the source.
    pub fn follow(&mut self, host: Host) -> Result<(), String> {
        let retry = 1 + self.rng.below(2);
        let change = format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST='{}', SOURCE_PORT=3306, SOURCE_USER='r', SOURCE_AUTO_POSITION=1, \
             SOURCE_CONNECT_RETRY={retry}, SOURCE_HEARTBEAT_PERIOD=2",
            name(self.source)
        );
        self.must(host, &change)?;
        self.must(host, "START REPLICA")?;
        Ok(())
    }

    /// Statements whose answers nobody waits for.
    pub fn begin_statements<const N: usize>(&mut self, host: Host, statements: [&str; N]) {
        let Some(up) = self.nodes[host].up() else {
            return;
        };
        let statements = statements.map(str::to_owned);
        if let Some(life) = &self.nodes[host].life {
            life.exec.spawn("statement", async move {
                let instance = up.instance();
                let mut s = Session::of_the_server(instance, instance.next_connection_id());
                for sql in statements {
                    let _answer = s.query(&sql).await;
                }
                s.close().await;
            });
        }
    }

    /// The power goes soon, at any operation of the disk.
    pub fn arm(&mut self, host: Host) {
        let cut = match self.rng.below(6) {
            0 => Cut::Kill,
            1 => Cut::All,
            2 => Cut::Nothing,
            3 => Cut::Whole(self.rng.below(101)),
            _ => Cut::Sectors(self.rng.below(101)),
        };
        let n = 1 + self.rng.log_up_to(60);
        if let Some(life) = &self.nodes[host].life {
            life.disk.arm(n, cut);
        }
    }

    /// Links are whole, and no power cut is still to come.
    pub fn calm(&mut self) {
        self.net.heal();
        for host in 0..HOSTS {
            let Some(life) = &self.nodes[host].life else {
                continue;
            };
            match life.disk.is_dead() {
                // Nobody has noticed yet.
                true => self.died(host),
                false => life.disk.arm(0, Cut::Nothing),
            }
        }
    }

    /// What a server has executed, once its files have it.
    pub fn executed(&mut self, host: Host) -> Result<GtidSet, String> {
        let r = self.must(host, "SELECT @@GLOBAL.gtid_executed")?;
        GtidSet::parse(&client::text(&r)).ok_or_else(|| "no set of GTIDs".to_owned())
    }

    pub fn order(&mut self, host: Host) -> Result<Vec<Logged>, String> {
        self.executed(host)?;
        let up = self.nodes[host].up().ok_or("it is gone")?;
        logged(&up).map_err(|e| format!("s{host}: {e}"))
    }
}
