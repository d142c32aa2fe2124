//! What an account without any privilege can do to a server: everything that computes, allocates or holds without end. Each abuse is one
//! short call; whatever error the server answers is fine, as long as it answers.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;
use wire::client::blocking::Conn;
use wire::client::{ClientError, Value};

/// The longest that an abuser waits for an answer before it leaves its connection.
const PATIENCE: Duration = Duration::from_secs(4);

/// An abuser's connection, and where to get another.
pub struct Abuser<'a> {
    socket: &'a Path,
    conn: Option<Conn>,
    /// Whose connection it is, and what it does.
    user: &'static str,
    all: Abuses,
    /// All that it does; the whole list where it is `None`.
    only: Option<usize>,
    /// Which of them it is, and how often it has begun.
    pub turn: u64,
}

impl<'a> Abuser<'a> {
    /// One that is not connected yet.
    pub fn new(
        socket: &'a Path,
        (user, all): (&'static str, Abuses),
        number: u64,
        only: Option<usize>,
    ) -> Abuser<'a> {
        Abuser {
            socket,
            user,
            all,
            conn: None,
            only,
            turn: number,
        }
    }

    /// Does the next thing.
    pub fn go_on(&mut self) {
        let all = self.all;
        let usual = (self.turn % all.len() as u64) as usize;
        let (_, abuse) = all[self.only.unwrap_or(usual)];
        self.turn += 7;
        let ended = match abuse(self) {
            Ok(()) => false,
            // Its statement failed, and the connection goes on.
            Err(ClientError::Server(_)) => self.turn.is_multiple_of(5),
            Err(_) => true,
        };
        if ended {
            self.conn = None;
        }
    }

    fn conn(&mut self) -> Result<&mut Conn, ClientError> {
        if self.conn.is_none() {
            let conn = connect_as(self.socket, self.user);
            if conn.is_err() {
                std::thread::sleep(Duration::from_millis(20));
            }
            self.conn = Some(conn?);
        }
        self.conn
            .as_mut()
            .ok_or_else(|| std::io::Error::from(std::io::ErrorKind::NotConnected).into())
    }

    /// Runs a statement.
    ///
    /// # Errors
    /// Whatever it is answered; or there is no connection.
    pub fn run(&mut self, sql: &str) -> Result<(), ClientError> {
        self.conn()?.query(sql).map(drop)
    }
}

/// A connection of the account without any privilege.
pub fn connect(socket: &Path) -> Result<Conn, ClientError> {
    connect_as(socket, "nobody")
}

fn connect_as(socket: &Path, user: &str) -> Result<Conn, ClientError> {
    let mut conn = Conn::connect_unix(socket, user, "", None)?;
    conn.set_read_timeout(Some(PATIENCE))?;
    Ok(conn)
}

/// One thing that an abuser does.
pub type Abuse = fn(&mut Abuser<'_>) -> Result<(), ClientError>;

/// Several, with their names.
pub type Abuses = &'static [(&'static str, Abuse)];

/// All of them, with their names.
pub const ABUSES: Abuses = &[
    ("BENCHMARK", |a| {
        a.run("SELECT BENCHMARK(5000000, SHA2('x', 512))")
    }),
    ("LOCATE", |a| {
        a.run("SELECT LOCATE(REPEAT('a', 20000), CONCAT(REPEAT('a', 40000), 'b'), 3)")
    }),
    ("REPLACE that grows", |a| {
        a.run("SELECT LENGTH(REPLACE(REPLACE(REPLACE(REPEAT('a', 1000), 'a', REPEAT('b', 1000)), 'b', REPEAT('c', 1000)), 'c', 'dddd'))")
    }),
    ("HEX of HEX", |a| {
        a.run("SELECT LENGTH(HEX(HEX(HEX(HEX(HEX(HEX(REPEAT('a', 10000000))))))))")
    }),
    ("JSON that grows", |a| {
        a.run("SELECT JSON_LENGTH(JSON_ARRAY(REPEAT('[', 10000000), JSON_QUOTE(JSON_QUOTE(JSON_QUOTE(REPEAT('\"', 1000000))))))")
    }),
    ("regular expressions", |a| {
        a.run("SELECT REGEXP_REPLACE(REPEAT('ab', 500000), '(a|b|ab)*', REPEAT('x', 1000))")
    }),
    ("DISTINCT", |a| {
        a.run(&format!("SELECT COUNT(*) FROM (SELECT DISTINCT CONCAT(a.n, b.n, c.n, d.n, e.n, f.n, g.n), REPEAT('x', 100) FROM {}) z", digits(7)))
    }),
    ("a sort", |a| {
        a.run(&format!(
            "SELECT a.n, REPEAT('x', 200) y FROM {} ORDER BY RAND() LIMIT 5000000, 1",
            digits(7)
        ))
    }),
    ("GROUP_CONCAT", |a| {
        a.run("SET SESSION group_concat_max_len = 4000000000")?;
        a.run(&format!(
            "SELECT LENGTH(GROUP_CONCAT(REPEAT('x', 1000) ORDER BY a.n)) FROM {}",
            digits(6)
        ))
    }),
    ("groups", |a| {
        a.run(&format!("SELECT COUNT(*) FROM (SELECT a.n + b.n * 10 + c.n * 100 + d.n * 1000 + e.n * 10000 + f.n * 100000 + g.n * 1000000 k, JSON_ARRAYAGG(a.n) FROM {} GROUP BY k) z", digits(7)))
    }),
    ("a join without a result", |a| {
        a.run(&format!(
            "SELECT 1 FROM {} WHERE a.n + b.n + c.n + d.n + e.n + f.n + g.n + h.n < 0",
            digits(8)
        ))
    }),
    ("information_schema by itself", |a| {
        a.run("SELECT COUNT(*) FROM information_schema.columns a, information_schema.columns b, information_schema.columns c WHERE a.column_name > b.column_name")
    }),
    ("a cursor", |a| {
        let sql = format!("SELECT a.n, REPEAT('x', 1000) FROM {}", digits(6));
        let conn = a.conn()?;
        let statement = conn.prepare(&sql)?;
        conn.execute_cursor(&statement, &[])?;
        conn.fetch(&statement, 10).map(drop)
    }),
    ("variables that double", |a| {
        a.run("SET @a = REPEAT('x', 1000000)")?;
        for n in 0..64 {
            a.run(&format!("SET @a{n} = CONCAT(@a, @a), @a = CONCAT(@a, @a)"))?;
        }
        Ok(())
    }),
    ("many variables", |a| {
        let from = a.turn * 1000;
        for n in from..from + 300 {
            a.run(&format!("SET @v{n} = REPEAT('y', 60000)"))?;
        }
        Ok(())
    }),
    ("long data", |a| {
        let conn = a.conn()?;
        let statement = conn.prepare("SELECT LENGTH(?), LENGTH(?)")?;
        let piece = vec![b'x'; 1 << 20];
        for n in 0..100 {
            conn.send_long_data(&statement, n % 2, &piece)?;
        }
        conn.execute(&statement, &[Value::Null, Value::Null])
            .map(drop)
    }),
    ("prepared texts", |a| {
        let list = "1,".repeat(100_000);
        let conn = a.conn()?;
        for n in 0..20 {
            conn.prepare(&format!("SELECT {n} IN ({list}1)"))?;
        }
        Ok(())
    }),
    ("many prepared statements", |a| {
        let conn = a.conn()?;
        let part = "(SELECT MAX(t.n) FROM (SELECT 1 AS n) t), ".repeat(140);
        for n in 0..300 {
            conn.prepare(&format!("SELECT {part}{n}"))?;
        }
        Ok(())
    }),
    ("empty branches of XA", |a| {
        let from = a.turn * 1000;
        for n in from..from + 300 {
            a.run(&format!("XA START 'e{n}'"))?;
            a.run(&format!("XA END 'e{n}'"))?;
            a.run(&format!("XA PREPARE 'e{n}'"))?;
        }
        Ok(())
    }),
    ("branches of XA that nobody ends", |a| {
        let name = a.turn;
        a.run(&format!("XA START 'o{name}'"))?;
        a.run("DO SLEEP(0.3)")
    }),
    ("waits whose client is gone", |a| {
        for sql in ["SELECT SLEEP(1000)", "SELECT GET_LOCK('gone', 1000)"] {
            let mut conn = connect(a.socket)?;
            conn.send_raw(&packet(sql), 1)?;
        }
        Ok(())
    }),
    ("rows that nobody reads", |a| {
        let sql = format!("SELECT REPEAT('z', 60000000) FROM {}", digits(2));
        let conn = a.conn()?;
        conn.send_raw(&packet(&sql), 1)?;
        std::thread::sleep(Duration::from_millis(700));
        Err(std::io::Error::from(std::io::ErrorKind::Other).into())
    }),
    ("a chain of CTEs", |a| {
        let mut sql = "WITH c0 AS (SELECT 'xxxxxxxx' t)".to_owned();
        for n in 1..160 {
            sql.push_str(&format!(
                ", c{n} AS (SELECT CONCAT(t, t) t FROM c{})",
                n - 1
            ));
        }
        sql.push_str(" SELECT LENGTH(t) FROM c159");
        a.run(&sql)
    }),
    ("a list of a million", |a| {
        let list = (0..1_000_000).map(|n| n.to_string()).collect::<Vec<_>>();
        a.run(&format!("SELECT 1 IN ({})", list.join(",")))
    }),
    ("deep nesting", |a| {
        let deep = 3000;
        a.run(&format!("SELECT {}1{}", "(".repeat(deep), ")".repeat(deep)))?;
        a.run(&format!("SELECT {}1", "NOT ".repeat(deep)))
    }),
    ("a statement of 60 MB", |a| {
        a.run(&format!("SELECT LENGTH('{}')", "x".repeat(60_000_000)))
    }),
    ("a statement of 8 MB of commas", |a| {
        a.run(&format!("SELECT {}1", "1,".repeat(4_000_000)))
    }),
    ("connects in a loop", |a| {
        for _ in 0..50 {
            connect(a.socket)?;
        }
        Ok(())
    }),
    ("half-open sockets", |a| {
        let mut held = Vec::new();
        for _ in 0..100 {
            let mut socket = UnixStream::connect(a.socket)?;
            socket.set_read_timeout(Some(PATIENCE))?;
            let _half = socket.write_all(&[0x50, 0, 0, 1, 0x85]);
            held.push(socket);
        }
        std::thread::sleep(Duration::from_millis(300));
        for mut socket in held {
            let _greeting = socket.read(&mut [0; 64]);
        }
        Ok(())
    }),
    ("KILL of others", |a| {
        for id in 1..60 {
            // Not its own, and not there.
            let _denied = a.run(&format!("KILL {id}"));
        }
        Ok(())
    }),
    ("named locks", |a| {
        a.run(&format!(
            "DO (SELECT SUM(GET_LOCK(CONCAT('{}-', a.n, b.n, c.n, d.n, e.n), 0)) FROM {})",
            a.turn,
            digits(5)
        ))
    }),
    ("SLEEP", |a| a.run("SELECT SLEEP(1)")),
    ("savepoints", |a| {
        a.run("SET autocommit = 0")?;
        a.run("BEGIN")?;
        for n in 0..2000 {
            a.run(&format!("SAVEPOINT s{n}"))?;
        }
        a.run("ROLLBACK")
    }),
    ("SET in a loop", |a| {
        for n in 0..1000 {
            a.run(&format!("SET SESSION sort_buffer_size = {}", 32_768 + n))?;
        }
        Ok(())
    }),
    ("LOAD DATA into nothing", |a| {
        a.run("LOAD DATA LOCAL INFILE '/dev/zero' INTO TABLE hostile.rows_")
    }),
    ("set operations", |a| {
        let side = format!(
            "SELECT a.n, b.n * 7 + c.n, REPEAT('u', 50) FROM {}",
            digits(6)
        );
        a.run(&format!(
            "SELECT COUNT(*) FROM ({side} UNION {side} EXCEPT {side}) z"
        ))
    }),
    ("EXPLAIN", |a| {
        a.run(&format!("EXPLAIN SELECT * FROM {}", digits(8)))
    }),
    ("SHOW", |a| {
        a.run("SHOW VARIABLES")?;
        a.run("SHOW STATUS")?;
        a.run("SHOW FULL PROCESSLIST")
    }),
];

/// So many tables of ten rows, called `a`, `b` and so on.
pub fn digits(tables: usize) -> String {
    let rows = (0..10).map(|n| format!("ROW({n})")).collect::<Vec<_>>();
    let values = rows.join(",");
    (b'a'..)
        .take(tables)
        .map(|name| format!("(VALUES {values}) {}(n)", char::from(name)))
        .collect::<Vec<_>>()
        .join(", ")
}

/// A COM_QUERY packet.
fn packet(sql: &str) -> Vec<u8> {
    let mut bytes = (sql.len() as u32 + 1).to_le_bytes().to_vec();
    bytes[3] = 0;
    bytes.push(3);
    bytes.extend_from_slice(sql.as_bytes());
    bytes
}
