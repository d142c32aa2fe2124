//! The matrix: every grant, every statement, every protocol, on one server.
//!
//! One connection a grant; what succeeded is undone by root, so that each cell finds the same things. Nothing is judged here.

use super::data::{Grant, Statement};
use super::judge::Expected;
use super::protocols::{self, Got, Protocol};
use harness::server::{Kind, Setup};
use harness::step::Outcome;
use std::time::Duration;
use wire::client::blocking::Conn;
use wire::client::{ClientError, Value};

/// The longest that one answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Among the lines said after a statement: the session is over, and a new one begins.
const LOGIN: &str = "$login";

/// One answer.
#[derive(Debug)]
pub struct Cell<'a> {
    /// What the account held.
    pub grant: &'a Grant,
    /// What it asked.
    pub statement: &'a Statement,
    /// How.
    pub protocol: Protocol,
    /// What came back.
    pub got: Got,
}

/// Who is told what came of it.
pub trait Sink<'d> {
    /// An answer.
    fn cell(&mut self, cell: Cell<'d>);
    /// A grant that the server does not take, and why.
    fn unmade(&mut self, grant: &'d Grant, why: &str);
}

/// A connection as somebody, through the Unix socket.
pub fn connect(setup: &Setup, user: &str, password: &str) -> Result<Conn, ClientError> {
    let mut conn = Conn::connect_unix(&setup.socket, user, password, None)?;
    conn.set_read_timeout(Some(PATIENCE))?;
    Ok(conn)
}

/// Runs a statement that must succeed.
pub fn must(conn: &mut Conn, sql: &str) -> Outcome<Vec<Vec<Value>>> {
    let mut results = conn.query(sql).map_err(|e| format!("{sql:.200}: {e}"))?;
    Ok(results.pop().unwrap_or_default().rows)
}

/// The id of a connection.
pub fn id(conn: &mut Conn) -> Outcome<String> {
    let rows = must(conn, "SELECT CONNECTION_ID()")?;
    Ok(rows
        .first()
        .and_then(|row| row.first())
        .map(protocols::shown)
        .unwrap_or_default())
}

/// Everything on one server.
pub struct Fixture<'a> {
    setup: &'a Setup,
    root: Conn,
    victim: Conn,
    system: Conn,
    /// Only the first protocol.
    text_only: bool,
}

impl<'a> Fixture<'a> {
    /// Makes databases, tables, accounts and roles.
    pub fn new(setup: &'a Setup, fixture: &str, text_only: bool) -> Outcome<Fixture<'a>> {
        let open = |user: &str| connect(setup, user, "").map_err(|e| format!("{user}: {e}"));
        let mut root = open("root")?;
        for (at, line) in super::data::lines(fixture) {
            let (kind, sql) = match line.split_once(": ") {
                Some(("tidemill", sql)) => (Some(Kind::Tidemill), sql),
                Some(("mariadb", sql)) => (Some(Kind::MariaDb), sql),
                _ => (None, line),
            };
            if kind.is_none_or(|kind| kind == setup.kind)
                && let Err(e) = root.query(sql)
            {
                // The matrix tells what does not work without it.
                println!("    fixture, line {at}: {sql}: {e}");
            }
        }
        Ok(Fixture {
            setup,
            root,
            victim: open("victim")?,
            system: open("sysadm").or_else(|_| open("root"))?,
            text_only,
        })
    }

    /// Runs the whole matrix, or the part that is asked for.
    pub fn run<'d>(
        &mut self,
        grants: &'d [Grant],
        statements: &'d [Statement],
        sink: &mut dyn Sink<'d>,
    ) -> Outcome<()> {
        for (at, grant) in grants.iter().enumerate() {
            if grant.only.is_some_and(|only| only != self.setup.kind) {
                continue;
            }
            let name = format!("g{at}");
            if let Err(e) = self.make(&name, grant) {
                sink.unmade(grant, &e);
                must(
                    &mut self.root,
                    &format!("DROP USER IF EXISTS {name}@localhost"),
                )?;
                for sql in &grant.done {
                    let _ = self.root.query(&sql.replace("$name", &name));
                }
                continue;
            }
            self.ask(&name, grant, statements, sink)?;
            must(&mut self.root, &format!("DROP USER {name}@localhost"))?;
            for sql in &grant.done {
                must(&mut self.root, &sql.replace("$name", &name))?;
            }
        }
        Ok(())
    }

    fn make(&mut self, name: &str, grant: &Grant) -> Outcome<()> {
        must(&mut self.root, &format!("CREATE USER {name}@localhost"))?;
        let account = format!("'{name}'@'localhost'");
        for sql in &grant.run {
            let sql = sql.replace("$u", &account).replace("$name", name);
            must(&mut self.root, &sql)?;
        }
        Ok(())
    }

    /// A session of an account, in which `begin` is said first.
    pub fn session(&mut self, name: &str, password: &str, begin: &[String]) -> Outcome<Session> {
        let mut conn = connect(self.setup, name, password).map_err(|e| format!("{name}: {e}"))?;
        for sql in begin {
            must(&mut conn, sql)?;
        }
        let places = vec![
            ("$u", format!("'{name}'@'localhost'")),
            ("$name", name.to_owned()),
            ("$own", id(&mut conn)?),
            ("$victim", id(&mut self.victim)?),
            ("$system", id(&mut self.system)?),
        ];
        Ok(Session { conn, places })
    }

    /// A statement of root's.
    pub fn root(&mut self, sql: &str) -> Outcome<()> {
        must(&mut self.root, sql).map(drop)
    }

    fn ask<'d>(
        &mut self,
        name: &str,
        grant: &'d Grant,
        statements: &'d [Statement],
        sink: &mut dyn Sink<'d>,
    ) -> Outcome<()> {
        let mut session = match self.session(name, "", &grant.session) {
            Ok(session) => session,
            Err(why) => {
                sink.unmade(grant, &why);
                return Ok(());
            }
        };
        for statement in statements {
            if statement.only.is_some_and(|only| only != self.setup.kind) {
                continue;
            }
            if statement.refused_only && Expected::of(statement, &grant.held).allows() {
                continue;
            }
            let mut protocols = Protocol::of(&statement.sql, &statement.protocols);
            if self.text_only {
                protocols.truncate(1);
            }
            for protocol in protocols {
                let got = self.cell(&mut session, statement, protocol);
                if matches!(got, Got::Lost(_)) || statement.after.iter().any(|line| line == LOGIN) {
                    session = self.session(name, "", &grant.session)?;
                }
                sink.cell(Cell {
                    grant,
                    statement,
                    protocol,
                    got,
                });
            }
        }
        Ok(())
    }

    /// Sends one statement, and undoes what came of it.
    pub fn cell(
        &mut self,
        session: &mut Session,
        statement: &Statement,
        protocol: Protocol,
    ) -> Got {
        let sql = session.filled(&statement.sql);
        let first = sql.split(' ').next().unwrap_or_default();
        let inside = matches!(first, "INSERT" | "UPDATE" | "DELETE" | "REPLACE")
            || sql.contains(" FOR UPDATE")
            || sql.contains(" FOR SHARE");
        if inside && let Err(e) = session.conn.query("BEGIN") {
            return e.into();
        }
        let got = protocols::send(&mut session.conn, protocol, &sql);
        let got = session.named(got);
        if inside && let Err(e) = session.conn.query("ROLLBACK") {
            return Got::Lost(format!("ROLLBACK: {e}"));
        }
        if matches!(got, Got::Fine(_)) && protocol != Protocol::Explain {
            if let Err(why) = session.say_after(&statement.after) {
                return Got::Lost(why);
            }
            for undo in &statement.undo {
                if let Err(e) = self.root.query(&session.filled(undo)) {
                    println!("    undo of [{}]: {undo}: {e}", statement.name);
                }
            }
        }
        got
    }
}

/// A session of an account.
pub struct Session {
    conn: Conn,
    places: Vec<(&'static str, String)>,
}

impl Session {
    /// Says something without looking at rows.
    pub fn query(&mut self, sql: &str) -> Outcome<()> {
        must(&mut self.conn, sql).map(drop)
    }

    /// The answer with the places named, as the rows of the files name them.
    fn named(&self, got: Got) -> Got {
        let Got::Fine(Some(mut rows)) = got else {
            return got;
        };
        for (place, with) in &self.places {
            if rows.cells.contains(with) {
                rows.cells.insert((*place).to_owned());
            }
        }
        Got::Fine(Some(rows))
    }

    /// What puts the session back; for `$login` it is opened anew instead.
    fn say_after(&mut self, lines: &[String]) -> Outcome<()> {
        for line in lines.iter().filter(|line| *line != LOGIN) {
            let sql = self.filled(line);
            must(&mut self.conn, &sql)?;
        }
        Ok(())
    }

    fn filled(&self, sql: &str) -> String {
        let mut sql = sql.to_owned();
        for (place, with) in &self.places {
            sql = sql.replace(place, with);
        }
        sql
    }
}
