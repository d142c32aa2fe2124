//! Server and client side of the protocol against each other over a socket pair's like: logins of every kind, result
//! sets in both protocols, packets over 16 MiB, and what a server does with nonsense.

mod canned;

use canned::{Account, CannedServer};
use wire::auth::Credential;
use wire::capability;
use wire::client::blocking::Conn;
use wire::client::{ClientError, Login, Value};
use wire::column_type::ColumnType;
use wire::command::code;
use wire::{DateTime, Time, status};

type Outcome = Result<(), ClientError>;

fn server(name: &str, credential: Credential) -> Result<CannedServer, ClientError> {
    let account = Account {
        user: "ann",
        credential,
    };
    Ok(CannedServer::start(name, account)?)
}

#[test]
fn every_credential_on_both_transports() -> Outcome {
    for (name, credential, password) in [
        ("empty", Credential::Empty, ""),
        ("native", Credential::native(b"pw"), "pw"),
        ("sha2", Credential::caching_sha2(b"pw")?, "pw"),
    ] {
        let server = server(name, credential)?;
        // The second round of caching_sha2 takes the fast path.
        for _ in 0..2 {
            Conn::connect_tcp(server.address(), "ann", password, None)?.query("1")?;
            Conn::connect_unix(server.path(), "ann", password, Some("db"))?.query("1")?;
        }
        for (user, password) in [("ann", "wrong"), ("bob", password), ("bob", "x")] {
            for refused in [
                Conn::connect_tcp(server.address(), user, password, None),
                Conn::connect_unix(server.path(), user, password, None),
            ] {
                assert!(matches!(refused, Err(ClientError::Server(error)) if error.code == 1045));
            }
        }
        let mut conn = Conn::connect_unix(server.path(), "ann", password, None)?;
        conn.change_user("ann", password, Some("other"))?;
        conn.query("1")?;
        assert!(conn.change_user("ann", "wrong", None).is_err());
    }
    Ok(())
}

#[test]
fn results_with_and_without_eof_packets() -> Outcome {
    let server = server("results", Credential::Empty)?;
    for capabilities in [
        capability::SERVER,
        capability::SERVER & !capability::DEPRECATE_EOF,
        capability::SERVER & !(capability::QUERY_ATTRIBUTES | capability::SESSION_TRACK),
        capability::PLUGIN_AUTH,
    ] {
        let mut login = Login::new("ann", "", None, true);
        login.set_wanted_capabilities(capabilities & !capability::CONNECT_WITH_DB);
        let mut conn = Conn::connect_unix_with(server.path(), login)?;
        let results = conn.query("two")?;
        assert_eq!(results.len(), 2);
        assert_eq!(results[0].rows, vec![vec![Value::from("1"), Value::Null]]);
        assert_eq!((results[1].affected_rows, results[1].warnings), (7, 2));
        assert_eq!(results[1].status & status::MORE_RESULTS_EXISTS, 0);

        let statement = conn.prepare("echo")?;
        assert_eq!((statement.params, statement.columns.len()), (8, 8));
        let date = DateTime {
            year: 2024,
            month: 2,
            day: 29,
            ..DateTime::default()
        };
        let params = [
            Value::Int(-5),
            Value::UInt(u64::MAX),
            Value::Double(1.5),
            Value::Null,
            Value::from("text"),
            Value::Date(date),
            Value::DateTime(DateTime { micros: 5, ..date }),
            Value::Time(Time {
                negative: true,
                days: 3,
                micros: 1,
                ..Time::default()
            }),
        ];
        for _ in 0..2 {
            let results = conn.execute(&statement, &params)?;
            assert_eq!(results[0].rows, vec![params.to_vec()]);
            assert_eq!(results[0].columns[1].column_type, ColumnType::LongLong);
        }
        let opened = conn.execute_cursor(&statement, &params)?;
        assert!(opened[0].rows.is_empty());
        assert_ne!(opened[0].status & status::CURSOR_EXISTS, 0);
        let batch = conn.fetch(&statement, 10)?;
        assert_eq!(batch.rows, vec![params.to_vec()]);
        assert_ne!(batch.status & status::LAST_ROW_SENT, 0);
        conn.send_long_data(&statement, 4, b"long ")?;
        conn.send_long_data(&statement, 4, b"text")?;
        let mut with_long = params.to_vec();
        // A value that was sent ahead is not sent again; NULL stands for it.
        with_long[4] = Value::Null;
        let results = conn.execute(&statement, &with_long)?;
        assert_eq!(results[0].rows[0][4], Value::from("long text"));
        conn.close(&statement)?;
        conn.command(code::PING, b"")?;
    }
    Ok(())
}

#[test]
fn packets_over_sixteen_mebibytes() -> Outcome {
    let server = server("large", Credential::Empty)?;
    let mut conn = Conn::connect_unix(server.path(), "ann", "", None)?;
    for length in [(1 << 24) - 6, (1 << 24) - 5, (1 << 24) + 1, 40 << 20] {
        let sql = format!("len:{}", "x".repeat(length));
        let results = conn.query(&sql)?;
        assert_eq!(
            results[0].rows[0][0].as_str().map(str::len),
            Some(sql.len())
        );
    }
    let sql = "x".repeat(65 << 20);
    // The server answers before it has read everything, so the write itself may already fail.
    match conn.query(&sql) {
        Err(ClientError::Server(error)) => assert_eq!(error.code, 1153),
        Err(ClientError::Io(_)) => {}
        other => panic!("{other:?}"),
    }
    Ok(())
}

#[test]
fn nonsense_ends_the_connection_with_an_error() -> Outcome {
    let server = server("nonsense", Credential::Empty)?;
    let mut conn = Conn::connect_unix(server.path(), "ann", "", None)?;
    // A command byte nobody has leaves the connection usable.
    let unknown = conn.command(0x77, b"");
    assert!(matches!(unknown, Err(ClientError::Server(error)) if error.code == 1047));
    conn.command(code::PING, b"")?;
    // A wrong sequence number does not.
    conn.send_raw(&[1, 0, 0, 9, code::PING], 0)?;
    let packet = conn.next_packet()?;
    assert_eq!(packet[..3], [0xFF, 0x84, 0x04]);
    assert!(conn.next_packet().is_err());
    let mut conn = Conn::connect_unix(server.path(), "ann", "", None)?;
    let short = conn.command(code::STMT_EXECUTE, b"\x01");
    assert!(matches!(short, Err(ClientError::Server(error)) if error.code == 1835));
    assert!(conn.next_packet().is_err());
    Ok(())
}
