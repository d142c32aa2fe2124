//! Names of transactions that clients give and are told, and events that they repeat: what `mysqlbinlog | mysql` and read-your-writes need.

use crate::test_server;

mod binlog;
mod next;
mod piped;
mod tracked;

use test_server::{TestServer, refused, rows};
use wire::client::blocking::Conn;

/// A server of transactions with names.
fn server(more: &[&str]) -> TestServer {
    let own = [
        "--log-bin=binlog",
        "--server-id=1",
        "--gtid-mode=ON",
        "--enforce-gtid-consistency=ON",
    ];
    TestServer::start(&[&own, more].concat())
}

/// Somebody else's transaction.
fn foreign(number: u64) -> String {
    format!("3e11fa47-71ca-11e1-9e33-c80aa9429562:{number}")
}

fn run(c: &mut Conn, statements: &[&str]) {
    for sql in statements {
        if let Err(e) = c.query(sql) {
            panic!("{sql}: {e:?}");
        }
    }
}

fn one(c: &mut Conn, sql: &str) -> String {
    rows(c, sql)
        .pop()
        .and_then(|mut r| r.pop())
        .unwrap_or_default()
}

fn code(c: &mut Conn, sql: &str) -> u16 {
    refused(c.query(sql)).code
}

fn set_next(c: &mut Conn, name: &str) {
    run(c, &[&format!("SET gtid_next = '{name}'")]);
}
