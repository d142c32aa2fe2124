//! The connection to the server that is asked for a backup.

use std::fmt;
use std::io::{self, BufRead, Write};
use std::process::{Command, Stdio};

use engine::backup::{SinceToken, Unusable};
use wire::client::blocking::Conn;
use wire::client::{ClientError, Value};

use crate::options::{Client, ServerAddress};

/// Why no backup has come.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server's, or the connection's.
    Client(ClientError),
    /// What has come cannot be used.
    Unusable(Unusable),
    /// Something here.
    Own(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Client(e) => write!(f, "{e}"),
            Failure::Unusable(e) => write!(f, "{e}"),
            Failure::Own(why) => f.write_str(why),
        }
    }
}

impl From<ClientError> for Failure {
    fn from(e: ClientError) -> Failure {
        Failure::Client(e)
    }
}

impl From<Unusable> for Failure {
    fn from(e: Unusable) -> Failure {
        Failure::Unusable(e)
    }
}

/// With a password, which is asked for if none was given.
pub(super) fn with_password(client: &Client) -> Result<Client, Failure> {
    let mut client = client.clone();
    if client.password.is_none() {
        let asked = asked_for().map_err(|e| Failure::Own(format!("the password: {e}")))?;
        client.password = Some(asked);
    }
    Ok(client)
}

/// Logs in.
fn connect(client: &Client) -> Result<Conn, Failure> {
    let client = &with_password(client)?;
    let password = client.password.clone().unwrap_or_default();
    let connected = match &client.server {
        ServerAddress::Tcp(host, port) => {
            let at = (host.as_str(), *port);
            client.tls.connect(at, &client.user, &password, None)
        }
        ServerAddress::Socket(path) => Conn::connect_unix(path, &client.user, &password, None),
    };
    connected.map_err(|e| match e {
        ClientError::Io(e) => Failure::Own(format!("{}: {e}", client.server)),
        e => Failure::Client(e),
    })
}

/// Has the server give a backup, chunk by chunk.
pub(super) fn chunks(
    client: &Client,
    since: Option<&SinceToken>,
    throttle: Option<u64>,
    mut each: impl FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut connection = connect(client)?;
    let mut sql = "BACKUP SERVER TO CLIENT".to_owned();
    if let Some(since) = since {
        sql += &format!(" SINCE '{}'", since.encode());
    }
    if let Some(n) = throttle {
        sql += &format!(" THROTTLE {n}");
    }
    connection.query_each(&sql, |row| match &row[..] {
        [Value::Bytes(chunk)] => each(chunk),
        _ => Err(Failure::Own("the server gave something else".to_owned())),
    })
}

/// Asks the person for a password, without showing what is typed where there is a terminal.
fn asked_for() -> io::Result<String> {
    let stty = |mode: &str| {
        let mut stty = Command::new("stty");
        stty.arg(mode).stdin(Stdio::inherit());
        stty.stdout(Stdio::null()).stderr(Stdio::null());
        // Without a terminal there is nothing to hide it from.
        let _ = stty.status();
    };
    eprint!("Enter password: ");
    io::stderr().flush()?;
    stty("-echo");
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    stty("echo");
    eprintln!();
    read?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
