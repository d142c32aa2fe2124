//! One history: a source and two replicas from their first start to their last comparison. A seed decides the settings, what clients do, and which
//! server, link or connection fails when.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use base::SplitMix64;
use sim::disk::Cut;

use crate::client::{self, Client, TABLES};
use crate::cluster::{Cluster, HOSTS, empty};
use crate::net::Host;

/// What became of a history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What was wrong.
    pub failure: Option<String>,
    /// What happened, by name.
    pub counts: BTreeMap<&'static str, u64>,
    /// A hash over all decisions.
    pub trace: u64,
}

/// Runs a history; `loud`: and tells of it.
pub fn simulate(seed: u64, loud: bool) -> Outcome {
    let mut c = Cluster::new(seed, loud);
    let failure = c.live().err();
    for node in &mut c.nodes {
        if let Some((steps, hash)) = node.end(Cut::Nothing) {
            c.trace = (c.trace ^ hash).rotate_left(9).wrapping_add(steps);
        }
    }
    let net = c.net.counts();
    c.count("connections", net.connections);
    c.count("connections lost", net.lost);
    c.count("bytes sent", net.bytes);
    c.count("histories", 1);
    Outcome {
        failure: failure.map(|f| format!("{f} (at {} us)", c.time.now())),
        counts: c.counts,
        trace: c.trace,
    }
}

/// What goes wrong at some time.
#[derive(Debug, Clone, Copy)]
enum Fault {
    Partition(Host, Host),
    Heal,
    Lose,
    Cut(Host),
    CutAll,
    Rotate,
    Restart,
}

impl Cluster {
    /// The whole of it.
    pub fn live(&mut self) -> Result<(), String> {
        self.begin()?;
        let rounds = 2 + self.rng.below(3);
        for round in 0..rounds {
            self.say(|| format!("round {round}, the source is s{}", self.source));
            self.work()?;
            let dead = self.nodes[self.source].life.is_none();
            if (dead && self.rng.one_in(2)) || self.rng.one_in(5) {
                self.promote()?;
            }
            self.rest()?;
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), String> {
        for host in 0..HOSTS {
            self.start(host);
        }
        self.all_up()?;
        for host in self.replicas() {
            self.follow(host)?;
        }
        for sql in TABLES {
            self.must(self.source, sql)?;
        }
        self.rest()
    }

    /// Clients work, and things go wrong.
    fn work(&mut self) -> Result<(), String> {
        let Some(up) = self.nodes[self.source].up() else {
            return Err("there is no source".to_owned());
        };
        let clients = 1 + self.rng.below(4);
        let left = Arc::new(AtomicU64::new(clients));
        for n in 1..=clients {
            let rng = SplitMix64::stream(self.rng.next(), 6);
            let c = Client::new(self.shared(&up), n, rng, self.definitions);
            let (left, transactions) = (left.clone(), 1 + self.rng.below(12));
            let work = async move {
                c.run(transactions).await;
                left.fetch_sub(1, Ordering::Relaxed);
            };
            if let Some(life) = &self.nodes[self.source].life {
                life.exec.spawn("client", work);
            }
        }
        drop(up);
        let mut looked: BTreeMap<Host, bool> = BTreeMap::new();
        let mut faults = self.faults();
        let mut back: BTreeMap<Host, u64> = BTreeMap::new();
        let source = self.source;
        let over = Arc::<AtomicBool>::default();
        self.until("clients work", |c| {
            let now = c.time.now();
            while faults.first().is_some_and(|f| f.0 <= now) {
                let (_, fault) = faults.remove(0);
                c.carry_out(fault);
            }
            for host in c.replicas() {
                if c.nodes[host].life.is_none() {
                    looked.remove(&host);
                    let after = c.rng.log_up_to(3_000_000);
                    let at = *back.entry(host).or_insert(now + after);
                    if at <= now {
                        back.remove(&host);
                        c.start(host);
                    }
                } else if let Some(up) = c.nodes[host].up()
                    && looked.insert(host, true).is_none()
                {
                    let rng = SplitMix64::stream(c.rng.next(), 9);
                    let looks = client::Looks {
                        shared: c.shared(&up),
                        host,
                        base: c.base.get(&host).cloned().unwrap_or_default(),
                        over: over.clone(),
                    };
                    if let Some(life) = &c.nodes[host].life {
                        life.exec.spawn("look", client::look(looks, rng));
                    }
                }
            }
            // What has been cut is healed before clients give up, as they never do.
            if faults.is_empty() {
                c.net.heal();
            }
            left.load(Ordering::Relaxed) == 0 || c.nodes[source].life.is_none()
        })?;
        over.store(true, Ordering::Relaxed);
        self.judge_replicas()
    }

    /// What is to go wrong, and when.
    fn faults(&mut self) -> Vec<(u64, Fault)> {
        let mut all = Vec::new();
        let mut at = self.time.now();
        for _ in 0..self.rng.below(6) {
            at += self.rng.log_up_to(1_500_000);
            let replicas = self.replicas();
            let replica = replicas[self.rng.below(replicas.len() as u64) as usize];
            let fault = match self.rng.below(17) {
                0..3 => Fault::Partition(self.source, replica),
                3 => Fault::Heal,
                4..7 => Fault::Lose,
                7 => Fault::CutAll,
                8..10 => Fault::Cut(replica),
                10..12 => Fault::Cut(self.source),
                12 => Fault::CutAll,
                13..15 => Fault::Restart,
                _ => Fault::Rotate,
            };
            all.push((at, fault));
        }
        all
    }

    fn carry_out(&mut self, fault: Fault) {
        self.say(|| format!("{fault:?}"));
        match fault {
            Fault::Partition(a, b) => {
                self.count("partitions", 1);
                self.net.cut(a, b);
            }
            Fault::Heal => self.net.heal(),
            Fault::Lose => {
                self.net.lose_one();
            }
            Fault::Cut(host) => self.arm(host),
            Fault::CutAll => (0..HOSTS).for_each(|host| self.arm(host)),
            Fault::Rotate => self.begin_statements(self.source, ["FLUSH BINARY LOGS"]),
            Fault::Restart => {
                let all = self.rng.one_in(2);
                let part = self
                    .rng
                    .pick(&["", " IO_THREAD", " SQL_THREAD", " SQL_THREAD"]);
                let stop = format!("STOP REPLICA{part}");
                for host in self.replicas() {
                    if all || self.rng.one_in(2) {
                        let rest = self.rng.log_up_to(1_500_000);
                        let rest =
                            format!("DO SLEEP({}.{:06})", rest / 1_000_000, rest % 1_000_000);
                        self.begin_statements(host, [&*stop, &*rest, "START REPLICA"]);
                    }
                }
            }
        }
    }

    /// The source is gone for good, and a replica takes its place.
    fn promote(&mut self) -> Result<(), String> {
        let old = self.source;
        if let Some(life) = &self.nodes[old].life {
            // It is fenced.
            life.disk.cut_now(Cut::Kill);
        }
        self.until("the source goes", |c| c.nodes[old].life.is_none())?;
        self.calm();
        let replicas = self.replicas();
        for host in &replicas {
            self.start(*host);
        }
        self.until("replicas start", |c| {
            replicas.iter().for_each(|host| c.start(*host));
            replicas.iter().all(|h| c.nodes[*h].up().is_some())
        })?;
        for host in &replicas {
            self.must(*host, "STOP REPLICA IO_THREAD")?;
            // It may have been stopped by somebody who meant to start it again.
            self.must(*host, "START REPLICA SQL_THREAD")?;
        }
        let mut sets = Vec::new();
        for host in &replicas {
            self.until("what was received is applied", |c| c.has_applied(*host))?;
            self.judge_replicas()?;
            sets.push(self.executed(*host)?);
        }
        self.judge_acknowledged(&replicas)?;
        let best = match sets[0].contains(&sets[1]) {
            true => 0,
            false if sets[1].contains(&sets[0]) => 1,
            false => return Err(format!("replicas have gone apart: {} {}", sets[0], sets[1])),
        };
        self.source = replicas[best];
        let new = self.source;
        self.say(|| format!("s{new} is promoted"));
        self.end_following(new)?;
        for sql in [
            "SET GLOBAL rpl_semi_sync_source_enabled = ON",
            "SET GLOBAL super_read_only = OFF",
            "SET GLOBAL read_only = OFF",
        ] {
            self.must(new, sql)?;
        }
        self.count("promotions", 1);
        let other = replicas[1 - best];
        self.must(other, "STOP REPLICA")?;
        self.follow(other)?;
        self.start(old);
        self.until("the old source starts", |c| {
            c.start(old);
            c.nodes[old].up().is_some()
        })?;
        let (had, has) = (self.executed(old)?, self.executed(new)?);
        if has.contains(&had) {
            self.count("old sources that came back", 1);
        } else {
            // Commits that nobody was told of: it needs a new copy.
            self.count("old sources that were errant", 1);
            self.nodes[old].end(Cut::Nothing);
            self.net.power_off(old);
            self.nodes[old].replace(empty());
            self.copies[old] += 1;
            self.start(old);
            self.until("the old source starts", |c| c.nodes[old].up().is_some())?;
        }
        let had = self.executed(old)?;
        self.base.insert(old, had);
        self.follow(old)
    }
}
