//! The client side, as small as tests, the lab and replicas need.
//!
//! [`Login`] answers a server's greeting; [`request`] builds commands; [`ResultReader`] reads answers. All sans-IO but for
//! [`blocking`], which puts them on a socket. What it never does: retry, pool, or choose character sets (always
//! utf8mb4).

pub mod blocking;
mod login;
pub mod request;
mod result;
mod value;

pub use login::{Login, LoginStep, ssl_request};
pub use result::{Column, ResultReader, ResultSet, ServerError};
pub use value::Value;

use crate::error::ProtocolError;

/// What can go wrong for a client.
#[derive(Debug)]
pub enum ClientError {
    /// The server said no.
    Server(ServerError),
    /// The server's bytes make no sense.
    Protocol(ProtocolError),
    /// The socket failed or was closed.
    Io(std::io::Error),
    /// The server asked for what this client has not: another authentication plugin, a local file.
    Unsupported(&'static str),
}

impl std::fmt::Display for ClientError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ClientError::Server(error) => error.fmt(f),
            ClientError::Protocol(error) => error.fmt(f),
            ClientError::Io(error) => error.fmt(f),
            ClientError::Unsupported(what) => write!(f, "not supported by this client: {what}"),
        }
    }
}

impl std::error::Error for ClientError {}

impl From<ProtocolError> for ClientError {
    fn from(error: ProtocolError) -> Self {
        ClientError::Protocol(error)
    }
}

impl From<std::io::Error> for ClientError {
    fn from(error: std::io::Error) -> Self {
        ClientError::Io(error)
    }
}
