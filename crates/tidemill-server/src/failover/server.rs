//! A server that is spoken to: its connection, and what it says of itself, in MySQL's statements.

use std::time::Duration;

use types::gtid::{GtidSet, Sid};
use wire::client::blocking::Conn;
use wire::client::{ClientError, ResultSet};

use super::arguments::{Address, Common};
use super::failure::Failure;

/// A connection.
pub(super) struct Server {
    pub address: Address,
    conn: Conn,
    limit: Duration,
}

/// What SHOW REPLICA STATUS says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ReplicaState {
    /// How many sources it has; the rest is of the first.
    pub channels: usize,
    pub source: Option<Address>,
    pub source_uuid: Option<Sid>,
    pub receives: bool,
    /// It is connected to its source, which has let it in.
    pub connected: bool,
    pub applies: bool,
    pub retrieved: GtidSet,
    pub failure: String,
}

/// What a server says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct State {
    pub uuid: Sid,
    pub executed: GtidSet,
    pub gtids: bool,
    pub keeps_log: bool,
    pub read_only: bool,
    pub super_read_only: bool,
    /// It acknowledges to its source.
    pub acknowledges: bool,
    pub replica: Option<ReplicaState>,
}

/// A text in quotes.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

fn set(text: &str) -> Option<GtidSet> {
    GtidSet::parse(&text.replace(['\n', ' '], ""))
}

impl Server {
    /// Connects, as a client that can do everything.
    pub fn connect(address: &Address, common: &Common) -> Result<Server, Failure> {
        let at = (address.host.as_str(), address.port);
        let (user, limit) = (&common.user, common.connect);
        let (password, tls) = (&common.password, &common.tls);
        let conn = tls.connect(at, user, password, Some(limit));
        let conn = conn.map_err(|e| Failure::refused(format!("{address}: {e}")))?;
        Ok(Server {
            address: address.clone(),
            conn,
            limit,
        })
    }

    /// As [`connect`](Self::connect); none where nothing answers there. What answers in any way lives.
    pub fn reach(address: &Address, common: &Common) -> Result<Option<Server>, Failure> {
        let at = (address.host.as_str(), address.port);
        let (user, limit) = (&common.user, common.connect);
        match common.tls.connect(at, user, &common.password, Some(limit)) {
            Ok(conn) => Ok(Some(Server {
                address: address.clone(),
                conn,
                limit,
            })),
            Err(ClientError::Io(_)) => Ok(None),
            Err(e) => Err(Failure::refused(format!("{address}: {e}"))),
        }
    }

    /// Keeps all clients from changing anything, and waits for what they have begun.
    pub fn make_read_only(&mut self, wait: Duration) -> Result<(), Failure> {
        let seconds = wait.as_secs().max(1);
        self.run(&format!("SET SESSION lock_wait_timeout = {seconds}"))?;
        self.run_within(
            "SET GLOBAL super_read_only = ON",
            Duration::from_secs(seconds),
        )?;
        Ok(())
    }

    /// The names of the transactions that are prepared there and have changed something, as they are shown; those that have not may be among them.
    pub fn prepared(&mut self) -> Result<Vec<String>, Failure> {
        // Who lacks PROCESS is told of all.
        let asked = self.run(
            "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id = 0",
        );
        if let Ok(results) = asked
            && let Some(row) = results.first().and_then(|r| r.rows.first())
            && row.first().and_then(|v| v.as_str()) == Some("0")
        {
            return Ok(Vec::new());
        }
        let results = self.run("XA RECOVER")?;
        let rows = results.iter().flat_map(|r| &r.rows);
        Ok(rows
            .filter_map(|r| Some(quoted(r.get(3)?.as_str()?)))
            .collect())
    }

    /// Runs a statement that may take `more` than what any answer may.
    pub fn run_within(&mut self, sql: &str, more: Duration) -> Result<Vec<ResultSet>, Failure> {
        let done = self
            .conn
            .set_read_timeout(Some(self.limit + more))
            .and_then(|()| self.conn.query(sql));
        done.map_err(|e| self.failed(sql, &e))
    }

    fn failed(&self, sql: &str, e: &ClientError) -> Failure {
        // A password is nobody's business.
        let shown = sql.split("SOURCE_PASSWORD").next().unwrap_or_default();
        Failure::refused(format!("{}: {shown}: {e}", self.address))
    }

    /// Runs a statement.
    pub fn run(&mut self, sql: &str) -> Result<Vec<ResultSet>, Failure> {
        self.run_within(sql, Duration::ZERO)
    }

    /// The value of one column of one row.
    pub fn value(&mut self, sql: &str) -> Result<String, Failure> {
        let r = self.run(sql)?;
        let v = r.first().and_then(|r| r.rows.first()?.first()?.as_str());
        v.map(str::to_owned)
            .ok_or_else(|| Failure::refused(format!("{}: {sql}: no value", self.address)))
    }

    /// Whether a variable is on.
    pub fn is(&mut self, variable: &str) -> Result<bool, Failure> {
        let v = self.value(&format!("SELECT @@GLOBAL.{variable}"))?;
        Ok(matches!(&*v, "1" | "ON"))
    }

    /// The transactions that are done there.
    pub fn executed(&mut self) -> Result<GtidSet, Failure> {
        let text = self.value("SELECT @@GLOBAL.gtid_executed")?;
        set(&text)
            .ok_or_else(|| Failure::refused(format!("{}: gtid_executed is '{text}'", self.address)))
    }

    /// What it says of itself.
    pub fn state(&mut self) -> Result<State, Failure> {
        let uuid = self.value("SELECT @@GLOBAL.server_uuid")?;
        let uuid = Sid::parse(&uuid).ok_or_else(|| {
            Failure::refused(format!("{}: server_uuid is '{uuid}'", self.address))
        })?;
        Ok(State {
            uuid,
            executed: self.executed()?,
            gtids: self.value("SELECT @@GLOBAL.gtid_mode")? == "ON",
            keeps_log: self.is("log_bin")? && self.is("log_replica_updates")?,
            read_only: self.is("read_only")?,
            super_read_only: self.is("super_read_only")?,
            acknowledges: self.is("rpl_semi_sync_replica_enabled")?,
            replica: self.replica()?,
        })
    }

    fn replica(&mut self) -> Result<Option<ReplicaState>, Failure> {
        let results = self.run("SHOW REPLICA STATUS")?;
        let Some(r) = results.first().filter(|r| !r.rows.is_empty()) else {
            return Ok(None);
        };
        let column = |name: &str| {
            let at = r.columns.iter().position(|c| c.name == name)?;
            r.rows.first()?.get(at)?.as_str().map(str::to_owned)
        };
        let text = |name: &str| column(name).unwrap_or_default();
        let failures = [text("Last_IO_Error"), text("Last_SQL_Error")];
        let port = text("Source_Port").parse().ok();
        Ok(Some(ReplicaState {
            channels: r.rows.len(),
            source: port.map(|port| Address {
                host: text("Source_Host"),
                port,
            }),
            source_uuid: Sid::parse(&text("Source_UUID")),
            receives: text("Replica_IO_Running") != "No",
            connected: text("Replica_IO_Running") == "Yes",
            applies: text("Replica_SQL_Running") == "Yes",
            retrieved: set(&text("Retrieved_Gtid_Set")).unwrap_or_default(),
            failure: failures.join(" ").trim().to_owned(),
        }))
    }

    /// Waits until transactions are done there; false: the time is over.
    pub fn wait_for(&mut self, gtids: &GtidSet, limit: Duration) -> Result<bool, Failure> {
        let text = quoted(&gtids.to_string());
        let seconds = limit.as_secs_f64();
        let sql = format!("SELECT WAIT_FOR_EXECUTED_GTID_SET({text}, {seconds})");
        let r = self.run_within(&sql, limit)?;
        let v = r.first().and_then(|r| r.rows.first()?.first()?.as_i64());
        Ok(v == Some(0))
    }

    /// Makes it a replica of `source`, by GTID, from what it has done on.
    pub fn follow(&mut self, source: &Address, common: &Common) -> Result<(), Failure> {
        self.run("STOP REPLICA")?;
        let mut sql = format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST = {}, SOURCE_PORT = {}, SOURCE_AUTO_POSITION = 1",
            quoted(&source.host),
            source.port
        );
        if common.replication_tls {
            sql += ", SOURCE_SSL = 1";
        }
        if let Some((user, password)) = &common.replication {
            sql += &format!(
                ", SOURCE_USER = {}, SOURCE_PASSWORD = {}",
                quoted(user),
                quoted(password)
            );
        }
        self.run(&sql)?;
        self.run("START REPLICA")?;
        Ok(())
    }
}
