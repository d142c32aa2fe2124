//! The command lines of `promote` and `rejoin`.

use std::time::Duration;

use super::failure::Failure;
use crate::options::ClientTls;
use crate::options::client_tls;

/// What `--help` prints.
pub(super) const USAGE: &str = "\
usage: tidemill promote --replica=HOST[:PORT] .. [OPTIONS]   make the most advanced of these replicas the source
       tidemill rejoin --server=HOST[:PORT] --to=HOST[:PORT] [OPTIONS]
                                                            make an old source a replica of the new one

  --replica=HOST[:PORT]    a replica, once for each; all there are       [port 3306]
  --prefer=HOST[:PORT]     the one to take, where it has all that others have
  --server=HOST[:PORT]     the old source
  --to=HOST[:PORT]         the new source
  --user=NAME              an account with SUPER on all                  [root]
  --password-file=FILE     its password, the first line; else TIDEMILL_PASSWORD of the environment
  --replication-user=NAME  as whom replicas connect to the new source    [promote: as to the old one]
  --replication-password-file=FILE
                           that account's password; else TIDEMILL_REPLICATION_PASSWORD
  --ssl-mode=MODE          DISABLED, PREFERRED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY [PREFERRED; with --ssl-ca: VERIFY_CA]
  --ssl-ca=FILE, --ssl-cert=FILE, --ssl-key=FILE
                           authorities of the servers' certificates; the certificate that is shown to them, and its key
  --replication-ssl        replicas connect to the new source over TLS   [as to the old one]
  --wait=SECONDS           for what was received to be applied           [60]
  --connect-timeout=MS     for a server to answer                        [1000]
  --semi-sync=keep|on|off  whether the new source waits for replicas; keep: if it has acknowledged to the old one [keep]
  --check                  show errant transactions, and change nothing
  --dry-run                say what would be done, and do nothing
  --force                  go on though a replica cannot be reached, or transactions will be missing somewhere

Exit status: 0 done; 1 refused or failed; 2 the command line is wrong.
";

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub host: String,
    pub port: u16,
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// What both commands want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Common {
    pub user: String,
    pub password: String,
    /// As whom replicas connect to the source; `None`: as they do.
    pub replication: Option<(String, String)>,
    /// They use TLS; otherwise as they do.
    pub replication_tls: bool,
    /// How the servers are spoken to.
    pub tls: ClientTls,
    pub wait: Duration,
    pub connect: Duration,
    pub check: bool,
    pub dry_run: bool,
    pub force: bool,
}

/// Whether the new source waits for replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SemiSync {
    Keep,
    On,
    Off,
}

/// `promote`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Promote {
    pub common: Common,
    pub replicas: Vec<Address>,
    pub prefer: Option<Address>,
    pub semi_sync: SemiSync,
}

/// `rejoin`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rejoin {
    pub common: Common,
    pub server: Address,
    pub to: Address,
}

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Help,
    Promote(Promote),
    Rejoin(Rejoin),
}

fn wrong(text: impl Into<String>) -> Failure {
    Failure::Usage(text.into())
}

/// `host`, `host:port`, `[::1]:port`.
fn address(text: &str) -> Result<Address, Failure> {
    const PORT: u16 = 3306;
    let bad = || wrong(format!("'{text}' is no HOST:PORT"));
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']').ok_or_else(bad)?;
            match rest {
                "" => (host, None),
                rest => (host, Some(rest.strip_prefix(':').ok_or_else(bad)?)),
            }
        }
        None => match text.rsplit_once(':') {
            // An address of the sixth version without a port.
            Some((host, _)) if host.contains(':') => (text, None),
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let port = port.map_or(Ok(PORT), |p| p.parse().map_err(|_| bad()))?;
    match host.is_empty() || port == 0 {
        true => Err(bad()),
        false => Ok(Address {
            host: host.to_owned(),
            port,
        }),
    }
}

fn first_line(path: &str) -> Result<String, Failure> {
    let all = std::fs::read_to_string(path).map_err(|e| wrong(format!("{path}: {e}")))?;
    Ok(all.lines().next().unwrap_or_default().to_owned())
}

fn from_environment(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

#[derive(Default)]
struct Given {
    replicas: Vec<Address>,
    prefer: Option<Address>,
    server: Option<Address>,
    to: Option<Address>,
    user: Option<String>,
    password: Option<String>,
    replication_user: Option<String>,
    replication_password: Option<String>,
    wait: Option<u64>,
    connect: Option<u64>,
    semi_sync: Option<SemiSync>,
    tls: client_tls::Given,
    replication_tls: bool,
    check: bool,
    dry_run: bool,
    force: bool,
}

/// Understands what stands behind `promote` or `rejoin`.
pub(super) fn parse(rejoin: bool, words: &[String]) -> Result<Asked, Failure> {
    let mut g = Given::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(long) = word.strip_prefix("--") else {
            return Err(wrong(format!("unexpected argument '{word}'")));
        };
        let (name, mut value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (long, None),
        };
        let name = name.replace('_', "-");
        match (&*name, &value) {
            ("help", None) => return Ok(Asked::Help),
            ("check", None) => g.check = true,
            ("dry-run", None) => g.dry_run = true,
            ("force", None) => g.force = true,
            ("replication-ssl", None) => g.replication_tls = true,
            ("help" | "check" | "dry-run" | "force" | "replication-ssl", Some(_)) => {
                return Err(wrong(format!("option '--{name}' takes no value")));
            }
            _ => {
                if value.is_none() {
                    value = words.next().cloned();
                }
                let missing = || wrong(format!("option '--{name}' requires an argument"));
                g.set(&name, value.ok_or_else(missing)?, rejoin)?;
            }
        }
    }
    g.finish(rejoin)
}

impl Given {
    fn set(&mut self, name: &str, value: String, rejoin: bool) -> Result<(), Failure> {
        let number = |v: &str| {
            let n = v.parse::<u64>().ok().filter(|n| *n <= 1_000_000_000);
            n.ok_or_else(|| wrong(format!("option '--{name}': '{v}' is no number")))
        };
        match (name, rejoin) {
            ("replica", false) => {
                let a = address(&value)?;
                if self.replicas.contains(&a) {
                    return Err(wrong(format!("--replica={a} is given twice")));
                }
                self.replicas.push(a);
            }
            ("prefer", false) => self.prefer = Some(address(&value)?),
            ("semi-sync", false) => {
                self.semi_sync = Some(match &*value {
                    "keep" => SemiSync::Keep,
                    "on" => SemiSync::On,
                    "off" => SemiSync::Off,
                    _ => return Err(wrong("option '--semi-sync' is keep, on or off")),
                });
            }
            ("server", true) => self.server = Some(address(&value)?),
            ("to", true) => self.to = Some(address(&value)?),
            ("user", _) => self.user = Some(value),
            ("password-file", _) => self.password = Some(first_line(&value)?),
            ("replication-user", _) => self.replication_user = Some(value),
            ("replication-password-file", _) => {
                self.replication_password = Some(first_line(&value)?);
            }
            ("wait", _) => self.wait = Some(number(&value)?),
            ("connect-timeout", _) => self.connect = Some(number(&value)?.max(1)),
            (name, _) if client_tls::NAMES.contains(&name) => {
                self.tls.set(name, value).map_err(wrong)?;
            }
            _ => return Err(wrong(format!("unknown option '--{name}'"))),
        }
        Ok(())
    }

    fn finish(self, rejoin: bool) -> Result<Asked, Failure> {
        let password = || from_environment("TIDEMILL_REPLICATION_PASSWORD");
        let replication_password = self.replication_password.unwrap_or_else(password);
        let common = Common {
            tls: self.tls.finish().map_err(wrong)?,
            replication_tls: self.replication_tls,
            user: self.user.unwrap_or_else(|| "root".to_owned()),
            password: self
                .password
                .unwrap_or_else(|| from_environment("TIDEMILL_PASSWORD")),
            replication: self
                .replication_user
                .map(|user| (user, replication_password)),
            wait: Duration::from_secs(self.wait.unwrap_or(60)),
            connect: Duration::from_millis(self.connect.unwrap_or(1000)),
            check: self.check,
            dry_run: self.dry_run,
            force: self.force,
        };
        if rejoin {
            let (Some(server), Some(to)) = (self.server, self.to) else {
                return Err(wrong("rejoin needs --server=HOST:PORT and --to=HOST:PORT"));
            };
            return Ok(Asked::Rejoin(Rejoin { common, server, to }));
        }
        if self.replicas.is_empty() {
            return Err(wrong(
                "promote needs --replica=HOST:PORT, once for each replica",
            ));
        }
        if let Some(p) = self.prefer.as_ref().filter(|p| !self.replicas.contains(p)) {
            return Err(wrong(format!("--prefer={p} is none of the replicas")));
        }
        Ok(Asked::Promote(Promote {
            common,
            replicas: self.replicas,
            prefer: self.prefer,
            semi_sync: self.semi_sync.unwrap_or(SemiSync::Keep),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn addresses_are_read_in_their_forms() {
        let of = |text: &str| address(text).map(|a| a.to_string());
        for (text, shown) in [
            ("db", "db:3306"),
            ("10.0.0.1:3307", "10.0.0.1:3307"),
            ("[::1]:3307", "[::1]:3307"),
            ("[fe80::1]", "[fe80::1]:3306"),
            ("fe80::1", "[fe80::1]:3306"),
        ] {
            assert_eq!(of(text).as_deref(), Ok(shown), "{text}");
        }
        for text in ["", ":3306", "db:0", "db:x", "db:70000", "[::1", "[::1]3306"] {
            assert!(of(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (rejoin, line) in [
            (false, ""),
            (false, "stray"),
            (false, "--replica"),
            (false, "--replica=a --replica=a:3306"),
            (false, "--replica=a --prefer=b"),
            (false, "--replica=a --to=b"),
            (false, "--replica=a --semi-sync=maybe"),
            (false, "--replica=a --wait=long"),
            (false, "--replica=a --check=1"),
            (true, "--server=a"),
            (true, "--server=a --to=b --replica=c"),
        ] {
            assert!(parse(rejoin, &words(line)).is_err(), "{line}");
        }
    }

    #[test]
    fn values_stand_behind_a_sign_or_in_a_word_of_their_own() {
        let asked = parse(
            false,
            &words("--replica a --replica=b:1 --dry_run --wait 5"),
        );
        let Ok(Asked::Promote(p)) = asked else {
            panic!("{asked:?}");
        };
        assert_eq!((p.replicas.len(), p.common.dry_run), (2, true));
        assert_eq!(p.common.wait, Duration::from_secs(5));
        assert_eq!(parse(true, &words("--help")), Ok(Asked::Help));
    }
}
