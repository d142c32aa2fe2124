//! The command lines of `tidemill backup`, `restore` and `replica`. They are about backups and other servers, and have options of their own: what a
//! server is started with means nothing to them.

use std::fmt;
use std::path::PathBuf;

use types::gtid::Gtid;

use super::client_tls::{self, ClientTls};
use super::value::{POOL, size};

/// Their names.
pub(super) const COMMANDS: [&str; 3] = ["backup", "restore", "replica"];
const PORT: u16 = 3306;

/// Where a restore is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoreUntil {
    /// At the end of the files.
    End,
    /// Before the first transaction that was committed at this time or later, in microseconds since 1970.
    Time(u64),
    /// Behind this transaction.
    Gtid(Gtid),
}

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerAddress {
    /// A name or an address, and a port.
    Tcp(String, u16),
    /// A Unix socket.
    Socket(PathBuf),
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerAddress::Tcp(host, port) => write!(f, "{host}:{port}"),
            ServerAddress::Socket(path) => write!(f, "{}", path.display()),
        }
    }
}

/// How a server is logged in to.
#[derive(Clone, PartialEq, Eq)]
pub struct Client {
    /// Where it is.
    pub server: ServerAddress,
    /// As whom.
    pub user: String,
    /// With which password; `None`: it is asked for.
    pub password: Option<String>,
    /// Over TLS, or not.
    pub tls: ClientTls,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.user, self.server)
    }
}

/// Of `tidemill backup`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupArguments {
    /// Of which server.
    pub client: Client,
    /// Into which folder; `None`: to standard output.
    pub to: Option<PathBuf>,
    /// What has changed since the backup in this folder alone.
    pub since: Option<PathBuf>,
    /// MiB a second.
    pub throttle: Option<u64>,
}

/// Of `tidemill restore`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreArguments {
    /// The folders, in order; none: standard input.
    pub from: Vec<PathBuf>,
    /// The folder with files of the binary log that are applied behind it.
    pub binlogs: Option<PathBuf>,
    /// Where they end.
    pub until: RestoreUntil,
    /// `innodb_buffer_pool_size` while they are applied, where it was given.
    pub pool: Option<u64>,
}

/// Of `tidemill replica`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaArguments {
    /// The source.
    pub client: Client,
    /// Who logs in to it to receive events, if that is somebody else.
    pub replication: Option<(String, String)>,
}

/// A command line that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Parsed {
    Backup(BackupArguments),
    Verify(PathBuf),
    /// And the data directory, here and below.
    Restore(RestoreArguments, PathBuf),
    Replica(ReplicaArguments, PathBuf),
}

/// Understands what follows the command's name.
pub(super) fn parse(command: &str, words: impl Iterator<Item = String>) -> Result<Parsed, String> {
    let mut words = words.peekable();
    let mut given = Given::default();
    while let Some(word) = words.next() {
        if !word.starts_with('-') || word == "-" {
            given.plain.push(word);
            continue;
        }
        let (name, mut value) = named(&word)?;
        if value.is_none() && needs_value(name) {
            value = words.next();
            if value.is_none() {
                return Err(format!("option '--{name}' requires an argument"));
            }
        }
        given.named.push((name.to_owned(), value));
    }
    let done = match command {
        "backup" => given.backup()?,
        "restore" => given.restore()?,
        _ => given.replica()?,
    };
    match given.named.first() {
        Some((name, _)) => Err(format!("unknown option '--{name}' of {command}")),
        None => Ok(done),
    }
}

/// Name and value.
fn named(word: &str) -> Result<(&str, Option<String>), String> {
    if let Some(long) = word.strip_prefix("--") {
        return Ok(match long.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (long, None),
        });
    }
    let (short, rest) = match word.char_indices().nth(2) {
        Some((at, _)) => word.split_at(at),
        None => (word, ""),
    };
    let name = match short {
        "-u" => "user",
        "-p" => "password",
        "-S" => "server",
        "-h" => "server",
        _ => return Err(format!("unknown option '{word}'")),
    };
    Ok((name, (!rest.is_empty()).then(|| rest.to_owned())))
}

/// A password may be asked for; all others have a value.
fn needs_value(name: &str) -> bool {
    name != "password"
}

#[derive(Default)]
struct Given {
    plain: Vec<String>,
    named: Vec<(String, Option<String>)>,
}

impl Given {
    /// The last value given under a name.
    fn pop(&mut self, name: &str) -> Option<Option<String>> {
        let mut last = None;
        self.named.retain(|(n, value)| {
            if n == name {
                last = Some(value.clone());
            }
            n != name
        });
        last
    }

    fn value(&mut self, name: &str) -> Option<String> {
        self.pop(name).flatten()
    }

    fn client(&mut self, server: &str) -> Result<Client, String> {
        let server = match self.value(server) {
            None => ServerAddress::Tcp("127.0.0.1".to_owned(), PORT),
            Some(text) => address(&text)?,
        };
        let password = match self.pop("password") {
            Some(given) => given,
            None => Some(std::env::var("MYSQL_PWD").unwrap_or_default()),
        };
        let mut tls = client_tls::Given::default();
        for name in client_tls::NAMES {
            if let Some(value) = self.value(name) {
                tls.set(name, value)?;
            }
        }
        let tls = tls.finish()?;
        if let (ServerAddress::Socket(_), true) = (&server, tls.is_required()) {
            return Err("--ssl-mode: there is no TLS over a Unix socket".to_owned());
        }
        Ok(Client {
            tls,
            server,
            user: self.value("user").unwrap_or_else(|| "root".to_owned()),
            password,
        })
    }

    fn no_words(&self) -> Result<(), String> {
        match self.plain.first() {
            Some(word) => Err(format!("unexpected argument '{word}'")),
            None => Ok(()),
        }
    }

    fn datadir(&mut self) -> Result<PathBuf, String> {
        let dir = self.value("datadir");
        let dir = dir.ok_or("--datadir=DIR is missing: where the data directory is to be made")?;
        Ok(dir.into())
    }

    fn backup(&mut self) -> Result<Parsed, String> {
        self.no_words()?;
        if let Some(dir) = self.value("verify") {
            return Ok(Parsed::Verify(dir.into()));
        }
        let to = self.value("to").or_else(|| self.value("target-dir"));
        let to =
            to.ok_or("--to=DIR is missing: where the backup is to be; - for standard output")?;
        let throttle = self.value("throttle").map(|n| match n.parse::<u64>() {
            Ok(n) if n > 0 => Ok(n),
            _ => Err(format!(
                "option 'throttle': '{n}' is no number of MiB a second"
            )),
        });
        let arguments = BackupArguments {
            client: self.client("server")?,
            to: (to != "-").then(|| to.into()),
            since: self.value("since").map(PathBuf::from),
            throttle: throttle.transpose()?,
        };
        Ok(Parsed::Backup(arguments))
    }

    fn restore(&mut self) -> Result<Parsed, String> {
        if self.pop("until-lsn").is_some() {
            let why = "--until-lsn: a position in the log says nothing of which transactions were committed, and the binary log, which is what is archived, has none; --until-time and --until-gtid are";
            return Err(why.to_owned());
        }
        let binlogs = self.value("binlogs").map(PathBuf::from);
        let until = match (self.value("until-time"), self.value("until-gtid")) {
            (None, None) => RestoreUntil::End,
            (Some(time), None) => RestoreUntil::Time(micros(&time)?),
            (None, Some(gtid)) => {
                let found = Gtid::parse(&gtid);
                let wrong = || format!("option 'until-gtid': '{gtid}' is no GTID");
                RestoreUntil::Gtid(found.ok_or_else(wrong)?)
            }
            _ => return Err("--until-time and --until-gtid: one of them".to_owned()),
        };
        if binlogs.is_none() && until != RestoreUntil::End {
            let why = "a point in time needs --binlogs=DIR: the files of the server's binary log, from that in which the backup ended";
            return Err(why.to_owned());
        }
        let pool = self
            .value("innodb-buffer-pool-size")
            .or_else(|| self.value("innodb_buffer_pool_size"));
        let pool = pool.map(|text| match size(&text) {
            Some(bytes) if POOL.contains(&bytes) => Ok(bytes),
            _ => Err(format!(
                "option 'innodb-buffer-pool-size': '{text}' is no size of at least 5M"
            )),
        });
        let pool = pool.transpose()?;
        if binlogs.is_none() && pool.is_some() {
            let why =
                "--innodb-buffer-pool-size: there is a pool only where --binlogs=DIR is applied";
            return Err(why.to_owned());
        }
        let datadir = self.datadir()?;
        let from = match &self.plain[..] {
            [] => {
                return Err("the backup is missing: its folder, or - for standard input".to_owned());
            }
            [one] if one == "-" => Vec::new(),
            all if all.iter().any(|word| word == "-") => {
                return Err("standard input can only be the one backup that there is".to_owned());
            }
            all => all.iter().map(PathBuf::from).collect(),
        };
        let arguments = RestoreArguments {
            from,
            binlogs,
            until,
            pool,
        };
        Ok(Parsed::Restore(arguments, datadir))
    }

    fn replica(&mut self) -> Result<Parsed, String> {
        self.no_words()?;
        if !self.named.iter().any(|(name, _)| name == "of") {
            return Err("--of=HOST[:PORT] is missing: the source".to_owned());
        }
        let datadir = self.datadir()?;
        let client = self.client("of")?;
        if let ServerAddress::Socket(_) = client.server {
            return Err(
                "--of: a replica connects to its source by a host's name and a port".to_owned(),
            );
        }
        let user = self.value("replication-user");
        let password = self.value("replication-password").unwrap_or_default();
        let arguments = ReplicaArguments {
            client,
            replication: user.map(|user| (user, password)),
        };
        Ok(Parsed::Replica(arguments, datadir))
    }
}

/// `HOST`, `HOST:PORT`, `[::1]:PORT`, or a path.
fn address(text: &str) -> Result<ServerAddress, String> {
    if text.contains('/') {
        return Ok(ServerAddress::Socket(text.into()));
    }
    let wrong = || format!("'{text}' is no host and port, and no path of a socket");
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']').ok_or_else(wrong)?;
            (host, port.strip_prefix(':'))
        }
        None if text.matches(':').count() > 1 => (text, None),
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let port = port.map_or(Ok(PORT), str::parse);
    match port {
        Ok(port) if !host.is_empty() => Ok(ServerAddress::Tcp(host.to_owned(), port)),
        _ => Err(wrong()),
    }
}

/// `YYYY-MM-DD HH:MM:SS[.ffffff]` in UTC, as microseconds since 1970.
fn micros(text: &str) -> Result<u64, String> {
    let wrong =
        || format!("option 'until-time': '{text}' is no time in UTC such as '2026-11-27 05:00:00'");
    let digits = |t: &str, len: usize| match t.len() == len && t.bytes().all(|b| b.is_ascii_digit())
    {
        true => t.parse::<i64>().ok(),
        false => None,
    };
    let read = || -> Option<u64> {
        let (date, time) = text.trim_end_matches('Z').split_once([' ', 'T'])?;
        let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
        let mut date = date.split('-');
        let (y, m, d) = (date.next()?, date.next()?, date.next()?);
        let (y, m, d) = (digits(y, 4)?, digits(m, 2)?, digits(d, 2)?);
        let mut time = time.split(':');
        let (h, min, s) = (time.next()?, time.next()?, time.next()?);
        let (h, min, s) = (digits(h, 2)?, digits(min, 2)?, digits(s, 2)?);
        let leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
        let last = match m {
            2 => 28 + i64::from(leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        let there = (1970..=9999).contains(&y) && (1..=12).contains(&m) && (1..=last).contains(&d);
        if !there || h > 23 || min > 59 || s > 59 || fraction.len() > 6 {
            return None;
        }
        let fraction = digits(&format!("{fraction:0<6}"), 6)?;
        // Days of a year that begins with March, so that a leap day is its last.
        let (y, m) = if m > 2 { (y, m - 3) } else { (y - 1, m + 9) };
        let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + d - 1 - 719_468;
        let seconds = ((days * 24 + h) * 60 + min) * 60 + s;
        u64::try_from(seconds * 1_000_000 + fraction).ok()
    };
    read().ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(words: &[&str]) -> Result<Parsed, String> {
        let mut words = words.iter().map(|w| (*w).to_owned());
        let command = words.next().unwrap();
        parse(&command, words)
    }

    #[test]
    fn backups_and_restores() {
        let command = run(&[
            "backup",
            "--server=db:3307",
            "-u",
            "me",
            "-psecret",
            "--to",
            "/b",
            "--throttle=5",
        ])
        .unwrap();
        let Parsed::Backup(b) = command else {
            panic!("{command:?}");
        };
        assert_eq!(b.client.server, ServerAddress::Tcp("db".to_owned(), 3307));
        assert_eq!(b.client.password.as_deref(), Some("secret"));
        assert_eq!((b.to, b.throttle), (Some("/b".into()), Some(5)));
        assert!(!format!("{:?}", b.client).contains("secret"));
        let command = run(&["backup", "--to=-", "--server=./s.sock", "--since=/a", "-p"]).unwrap();
        let Parsed::Backup(b) = command else {
            panic!("{command:?}");
        };
        assert_eq!((b.to, b.since), (None, Some("/a".into())));
        assert_eq!(b.client.password, None, "it is asked for");
        let command = run(&["restore", "/a", "/b", "--datadir=/d"]).unwrap();
        let from = vec!["/a".into(), "/b".into()];
        let (binlogs, until) = (None, RestoreUntil::End);
        let arguments = RestoreArguments {
            from,
            binlogs,
            until,
            pool: None,
        };
        assert_eq!(command, Parsed::Restore(arguments, "/d".into()));
        for name in ["innodb-buffer-pool-size", "innodb_buffer_pool_size"] {
            let option = format!("--{name}=1G");
            let command = run(&["restore", "/a", "--datadir=/d", "--binlogs=/b", &option]);
            let Ok(Parsed::Restore(r, _)) = command else {
                panic!("{command:?}");
            };
            assert_eq!(r.pool, Some(1 << 30));
        }
        for (text, host, port) in [
            ("::1", "::1", 3306),
            ("[::1]:99", "::1", 99),
            ("a", "a", 3306),
        ] {
            assert_eq!(address(text), Ok(ServerAddress::Tcp(host.to_owned(), port)));
        }
        assert!(address("a:b").is_err() && address(":1").is_err());
    }

    #[test]
    fn times_are_read() {
        for (text, seconds) in [
            ("1970-01-01 00:00:00", 0),
            ("2000-02-29 12:30:15", 951_827_415),
            ("2026-11-27T05:00:00Z", 1_795_755_600),
            ("2100-03-01 00:00:00", 4_107_542_400),
        ] {
            assert_eq!(micros(text), Ok(seconds * 1_000_000), "{text}");
        }
        assert_eq!(micros("1970-01-01 00:00:01.5"), Ok(1_500_000));
        for text in [
            "2026-11-27",
            "2026-02-29 00:00:00",
            "2026-13-01 00:00:00",
            "1969-12-31 23:59:59",
            "2026-11-27 24:00:00",
            "2026-11-27 5:00:00",
            "+026-11-27 05:00:00",
        ] {
            assert!(micros(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for (words, why) in [
            (&["backup"][..], "--to=DIR is missing"),
            (
                &["backup", "--to=/b", "--nonsense=1"],
                "unknown option '--nonsense'",
            ),
            (&["backup", "--to=/b", "more"], "unexpected argument"),
            (&["backup", "--to=/b", "--throttle=0"], "no number of MiB"),
            (&["backup", "--to"], "requires an argument"),
            (&["restore", "--datadir=/d"], "the backup is missing"),
            (&["restore", "/a"], "--datadir=DIR is missing"),
            (
                &["restore", "/a", "--datadir=/d", "--until-time=x"],
                "is no time",
            ),
            (
                &["restore", "/a", "--datadir=/d", "--until-lsn=5"],
                "--until-lsn",
            ),
            (
                &["restore", "/a", "--datadir=/d", "--until-gtid=x"],
                "is no GTID",
            ),
            (
                &[
                    "restore",
                    "/a",
                    "--datadir=/d",
                    "--until-time=2026-11-27 05:00:00",
                ],
                "needs --binlogs",
            ),
            (
                &[
                    "restore",
                    "/a",
                    "--datadir=/d",
                    "--binlogs=/b",
                    "--innodb-buffer-pool-size=1M",
                ],
                "no size of at least",
            ),
            (
                &[
                    "restore",
                    "/a",
                    "--datadir=/d",
                    "--innodb-buffer-pool-size=1G",
                ],
                "where --binlogs=DIR is applied",
            ),
            (&["restore", "/a", "-", "--datadir=/d"], "standard input"),
            (&["replica", "--datadir=/d"], "--of=HOST[:PORT] is missing"),
            (&["replica", "--of=/s", "--datadir=/d"], "a host's name"),
        ] {
            let e = run(words).expect_err(why);
            assert!(e.contains(why), "{e}");
        }
    }
}
