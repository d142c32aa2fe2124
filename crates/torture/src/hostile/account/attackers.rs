//! The attackers, as a process of their own: what they allocate and copy is nobody's wait but theirs, and they are nicer than the bystander,
//! since they stand for other machines than the bystander's.

use super::abuse::{self, Abuser, Abuses};
use super::room;
use harness::step::Outcome;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Which attack it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Of an account without any privilege, on everything.
    Everything,
    /// Of one that may make temporary tables, on the room for temporary files.
    Room,
}

impl Kind {
    /// All that is done, with names.
    pub fn abuses(self) -> Abuses {
        match self {
            Kind::Everything => abuse::ABUSES,
            Kind::Room => room::ABUSES,
        }
    }

    /// Whose attack it is.
    pub fn user(self) -> &'static str {
        match self {
            Kind::Everything => "nobody",
            Kind::Room => "maker",
        }
    }
}

/// What is attacked, and how.
#[derive(Debug, Clone)]
pub struct Orders {
    /// The server's socket.
    pub socket: PathBuf,
    /// On what.
    pub attack: Kind,
    /// Connections at once.
    pub abusers: u64,
    /// One kind of abuse alone, by its place in the list.
    pub abuse: Option<usize>,
}

/// Attacks until the standard input ends, then prints how often.
pub fn attack(orders: &Orders) -> Outcome<()> {
    let over = AtomicBool::new(false);
    let count = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for number in 0..orders.abusers {
            let (over, count) = (&over, &count);
            scope.spawn(move || {
                let mut abuser = Abuser::new(
                    &orders.socket,
                    (orders.attack.user(), orders.attack.abuses()),
                    number,
                    orders.abuse,
                );
                while !over.load(Ordering::Relaxed) {
                    abuser.go_on();
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let ended = std::io::stdin().read_to_end(&mut Vec::new());
        over.store(true, Ordering::Relaxed);
        ended
    })
    .map_err(|e| format!("the standard input: {e}"))?;
    println!("{}", count.load(Ordering::Relaxed));
    Ok(())
}

/// The process.
#[derive(Debug)]
pub struct Attackers(Child);

impl Attackers {
    /// Starts it.
    pub fn start(orders: &Orders) -> Outcome<Attackers> {
        let fail = |e: std::io::Error| format!("the attackers: {e}");
        let mut command = Command::new("nice");
        command
            .args(["-n", "10"])
            .arg(std::env::current_exe().map_err(fail)?)
            .args(["hostile", "--attack-on"])
            .arg(&orders.socket)
            .args(["--abusers", &orders.abusers.to_string()]);
        if orders.attack == Kind::Room {
            command.arg("--attack-room");
        }
        if let Some(n) = orders.abuse {
            command.args(["--abuse", &n.to_string()]);
        }
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Ok(Attackers(child.spawn().map_err(fail)?))
    }

    /// Waits until they have stopped; how much they did.
    pub fn stop(mut self) -> Outcome<u64> {
        drop(self.0.stdin.take());
        let mut text = String::new();
        if let Some(mut out) = self.0.stdout.take() {
            out.read_to_string(&mut text).map_err(|e| e.to_string())?;
        }
        let count = text.lines().next().and_then(|line| line.parse().ok());
        count.ok_or_else(|| format!("the attackers said '{text}'"))
    }
}

impl Drop for Attackers {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _status = self.0.wait();
    }
}
