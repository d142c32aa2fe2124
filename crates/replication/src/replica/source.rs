//! Where the source is and how it is reached: the options of CHANGE REPLICATION SOURCE TO, one by one obeyed or refused, and their form in
//! `mysql.replica_source`.

use sql::context::replica::SourceFacts;
use types::SqlError;
use types::error::codes;

/// The source.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Source {
    /// What may be shown.
    pub facts: SourceFacts,
    /// SOURCE_PASSWORD.
    pub password: String,
}

/// What START REPLICA says of the account, for as long as the receiver runs that it begins: kept nowhere else.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Account {
    /// USER.
    pub user: Option<String>,
    /// PASSWORD.
    pub password: Option<String>,
}

impl Account {
    /// Of the options of START REPLICA.
    ///
    /// # Errors
    /// 1210: the name is too long.
    pub fn of(options: &[(Box<str>, Box<[u8]>)]) -> Result<Account, SqlError> {
        let given = |name: &str| options.iter().rev().find(|(n, _)| &**n == name);
        let text = |(_, value): &(_, Box<[u8]>)| String::from_utf8_lossy(value).into_owned();
        let user = given("USER").map(|(name, value)| {
            let text = String::from_utf8_lossy(value).into_owned();
            Value { name, text }.short(LONGEST_USER)
        });
        Ok(Account {
            user: user.transpose()?,
            password: given("PASSWORD").map(text),
        })
    }

    /// Puts it in the place of what was said with the source.
    pub fn put_into(&self, source: &mut Source) {
        if let Some(user) = &self.user {
            source.facts.user.clone_from(user);
        }
        if let Some(password) = &self.password {
            source.password.clone_from(password);
        }
    }
}

/// What CHANGE REPLICATION SOURCE TO says of the place to begin at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Begin {
    /// SOURCE_LOG_FILE.
    pub file: Option<String>,
    /// SOURCE_LOG_POS.
    pub position: Option<u64>,
    /// It is another server: the place of the one before means nothing.
    pub elsewhere: bool,
}

impl Default for Source {
    fn default() -> Source {
        Source {
            facts: SourceFacts {
                port: 3306,
                connect_retry: 60,
                retry_count: 86_400,
                heartbeat_period: 30.0,
                ..SourceFacts::default()
            },
            password: String::new(),
        }
    }
}

/// The longest name of a host, and of a user.
const LONGEST_HOST: usize = 255;
const LONGEST_USER: usize = 96;
/// The longest time between heartbeats, in seconds.
const LONGEST_HEARTBEAT: f64 = 4_294_967.0;

/// Options that change nothing here when they have this value, and are refused with any other.
const ONLY: &[(&str, &[&str])] = &[
    ("SOURCE_BIND", &[""]),
    ("NETWORK_NAMESPACE", &[""]),
    ("SOURCE_SSL_CAPATH", &[""]),
    ("SOURCE_SSL_CIPHER", &[""]),
    ("SOURCE_SSL_CRL", &[""]),
    ("SOURCE_SSL_CRLPATH", &[""]),
    ("SOURCE_TLS_VERSION", &["", "TLSv1.2,TLSv1.3"]),
    ("SOURCE_TLS_CIPHERSUITES", &["NULL"]),
    ("SOURCE_PUBLIC_KEY_PATH", &[""]),
    ("SOURCE_COMPRESSION_ALGORITHMS", &["uncompressed"]),
    ("SOURCE_ZSTD_COMPRESSION_LEVEL", &["3"]),
    ("PRIVILEGE_CHECKS_USER", &["NULL"]),
    ("REQUIRE_ROW_FORMAT", &["0"]),
    ("REQUIRE_TABLE_PRIMARY_KEY_CHECK", &["STREAM", "OFF"]),
    ("ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS", &["OFF"]),
    ("SOURCE_CONNECTION_AUTO_FAILOVER", &["0"]),
    ("GTID_ONLY", &["0"]),
    ("RELAY_LOG_FILE", &[]),
    ("RELAY_LOG_POS", &[]),
];

/// An option's value.
struct Value<'a> {
    name: &'a str,
    text: String,
}

impl Value<'_> {
    /// Error 1210.
    fn wrong(&self) -> SqlError {
        SqlError::new(
            codes::ER_WRONG_ARGUMENTS,
            format!("Incorrect arguments to {}", self.name),
        )
    }

    fn number(&self, most: u64) -> Result<u64, SqlError> {
        let n = self.text.parse::<u64>().ok();
        n.filter(|n| *n <= most).ok_or_else(|| self.wrong())
    }

    fn flag(&self) -> Result<bool, SqlError> {
        Ok(self.number(u64::MAX)? != 0)
    }

    fn short(self, most: usize) -> Result<String, SqlError> {
        match self.text.len() <= most && !self.text.contains(['\0', '\n']) {
            true => Ok(self.text),
            false => Err(self.wrong()),
        }
    }
}

impl Source {
    /// Takes over options, by their names in upper case.
    ///
    /// # Errors
    /// 1064 for a name that is none; 1235 for what is not done here; 1210 for a value that cannot be; 1776: a place is named, and
    /// positions are to be found by GTID.
    pub fn change(&mut self, options: &[(Box<str>, Box<[u8]>)]) -> Result<Begin, SqlError> {
        let mut begin = Begin::default();
        for (name, value) in options {
            let text = String::from_utf8_lossy(value).into_owned();
            self.set(Value { name, text }, &mut begin)?;
        }
        if self.facts.auto_position && (begin.file.is_some() || begin.position.is_some()) {
            return Err(SqlError::fixed(codes::ER_BAD_REPLICA_AUTO_POSITION));
        }
        Ok(begin)
    }

    fn set(&mut self, v: Value<'_>, begin: &mut Begin) -> Result<(), SqlError> {
        let f = &mut self.facts;
        match v.name {
            "SOURCE_HOST" if v.text.is_empty() => return Err(v.wrong()),
            "SOURCE_HOST" => {
                let host = v.short(LONGEST_HOST)?;
                begin.elsewhere |= host != f.host;
                f.host = host;
            }
            "SOURCE_PORT" => {
                let port = v.number(65_535)? as u16;
                begin.elsewhere |= port != f.port;
                f.port = port;
            }
            "SOURCE_USER" => f.user = v.short(LONGEST_USER)?,
            "SOURCE_PASSWORD" => self.password = v.text,
            "SOURCE_LOG_FILE" => begin.file = Some(v.short(511)?),
            "SOURCE_LOG_POS" => {
                begin.position = Some(v.number(u64::MAX)?.max(super::place::FIRST));
            }
            "SOURCE_AUTO_POSITION" => f.auto_position = v.flag()?,
            "SOURCE_CONNECT_RETRY" => f.connect_retry = v.number(u32::MAX.into())? as u32,
            "SOURCE_RETRY_COUNT" => f.retry_count = v.number(u64::MAX)?,
            "SOURCE_HEARTBEAT_PERIOD" => {
                let period = v.text.parse::<f64>().ok();
                let period = period.filter(|p| (0.0..=LONGEST_HEARTBEAT).contains(p));
                f.heartbeat_period = period.ok_or_else(|| v.wrong())?;
            }
            "SOURCE_DELAY" => f.delay = v.number(i32::MAX as u64)? as u32,
            "SOURCE_SSL" => f.ssl = v.flag()?,
            "SOURCE_SSL_CA" => f.ssl_ca = v.short(511)?,
            "SOURCE_SSL_CERT" => f.ssl_cert = v.short(511)?,
            "SOURCE_SSL_KEY" => f.ssl_key = v.short(511)?,
            "SOURCE_SSL_VERIFY_SERVER_CERT" => f.ssl_verify_server_cert = v.flag()?,
            "GET_SOURCE_PUBLIC_KEY" | "GET_MASTER_PUBLIC_KEY" => f.get_public_key = v.flag()?,
            "IGNORE_SERVER_IDS" => f.ignored_server_ids = ids(&v)?,
            name => {
                let Some((_, allowed)) = ONLY.iter().find(|(known, _)| *known == name) else {
                    return Err(SqlError::parse_error(name, 1));
                };
                if !allowed.iter().any(|a| a.eq_ignore_ascii_case(&v.text)) {
                    let what = format!("CHANGE REPLICATION SOURCE TO {name} = {}", v.text);
                    return Err(SqlError::not_supported(&what));
                }
            }
        }
        Ok(())
    }

    /// As rows of names and values.
    pub fn to_rows(&self) -> Vec<(&'static str, String)> {
        let f = &self.facts;
        let flag = |b: bool| u8::from(b).to_string();
        let ids: Vec<String> = f.ignored_server_ids.iter().map(u32::to_string).collect();
        vec![
            ("SOURCE_HOST", f.host.clone()),
            ("SOURCE_PORT", f.port.to_string()),
            ("SOURCE_USER", f.user.clone()),
            ("SOURCE_PASSWORD", self.password.clone()),
            ("SOURCE_AUTO_POSITION", flag(f.auto_position)),
            ("SOURCE_CONNECT_RETRY", f.connect_retry.to_string()),
            ("SOURCE_RETRY_COUNT", f.retry_count.to_string()),
            ("SOURCE_HEARTBEAT_PERIOD", f.heartbeat_period.to_string()),
            ("SOURCE_DELAY", f.delay.to_string()),
            ("SOURCE_SSL", flag(f.ssl)),
            ("SOURCE_SSL_CA", f.ssl_ca.clone()),
            ("SOURCE_SSL_CERT", f.ssl_cert.clone()),
            ("SOURCE_SSL_KEY", f.ssl_key.clone()),
            (
                "SOURCE_SSL_VERIFY_SERVER_CERT",
                flag(f.ssl_verify_server_cert),
            ),
            ("GET_SOURCE_PUBLIC_KEY", flag(f.get_public_key)),
            ("IGNORE_SERVER_IDS", format!("({})", ids.join(","))),
        ]
    }

    /// From rows; one that makes no sense is left out.
    pub fn from_rows(rows: &[(String, String)]) -> Source {
        let mut source = Source::default();
        for (name, value) in rows {
            if name == "SOURCE_HOST" && value.is_empty() {
                continue;
            }
            let text = value.clone();
            // Somebody has written it who is allowed to; what was there before holds.
            let _wrong = source.set(Value { name, text }, &mut Begin::default());
        }
        source
    }
}

/// `(1, 2, 3)`.
fn ids(v: &Value<'_>) -> Result<Vec<u32>, SqlError> {
    let inner = v.text.trim().trim_start_matches('(').trim_end_matches(')');
    let mut ids = Vec::new();
    for part in inner.split(',').map(str::trim).filter(|p| !p.is_empty()) {
        ids.push(part.parse().map_err(|_| v.wrong())?);
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(of: &[(&str, &str)]) -> Vec<(Box<str>, Box<[u8]>)> {
        let one = |(n, v): &(&str, &str)| ((*n).into(), v.as_bytes().into());
        of.iter().map(one).collect()
    }

    #[test]
    fn what_is_set_is_kept() {
        let mut s = Source::default();
        let begin = s.change(&options(&[
            ("SOURCE_HOST", "db"),
            ("SOURCE_PORT", "3307"),
            ("SOURCE_PASSWORD", "geheim"),
            ("SOURCE_HEARTBEAT_PERIOD", "2.5"),
            ("SOURCE_LOG_POS", "1"),
            ("IGNORE_SERVER_IDS", "(3, 1, 3)"),
            ("SOURCE_BIND", ""),
        ]));
        let begin = begin.unwrap();
        assert_eq!((begin.position, begin.elsewhere), (Some(4), true));
        assert_eq!(s.facts.ignored_server_ids, [1, 3]);
        let rows: Vec<_> = s.to_rows();
        let rows: Vec<_> = rows.into_iter().map(|(n, v)| (n.to_owned(), v)).collect();
        assert_eq!(Source::from_rows(&rows), s);
    }

    #[test]
    fn what_is_not_obeyed_is_refused() {
        let refused = |name: &str, value: &str| {
            let mut s = Source::default();
            s.change(&options(&[(name, value)])).unwrap_err().code
        };
        assert_eq!(refused("SOURCE_BIND", "eth0"), 1235);
        assert_eq!(refused("RELAY_LOG_POS", "4"), 1235);
        assert_eq!(refused("SOURCE_HOST", ""), 1210);
        assert_eq!(refused("SOURCE_PORT", "70000"), 1210);
        assert_eq!(refused("SOURCE_HEARTBEAT_PERIOD", "-1"), 1210);
        assert_eq!(refused("SOURCE_COLOUR", "red"), 1064);
        let both = [("SOURCE_AUTO_POSITION", "1"), ("SOURCE_LOG_POS", "4")];
        let e = Source::default().change(&options(&both)).unwrap_err();
        assert_eq!(e.code, 1776);
    }
}
