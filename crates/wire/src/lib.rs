//! The MySQL client/server protocol as plain functions from bytes to bytes.
//!
//! This crate frames packets, parses what clients send, proves who they are and builds what servers answer; a
//! small client side does the reverse for tests, the lab and replicas. It is sans-IO: the caller owns the socket,
//! reads into [`Decoder::space`] and writes [`PacketWriter::pending`].
//!
//! What it never does: open a socket (but for [`client::blocking`], a convenience for tests and tools), spawn,
//! wait, know SQL, or panic on bytes a peer sent. Between a query packet and its row packets nothing here
//! allocates once the connection's buffers have grown.

#![warn(clippy::disallowed_types, clippy::missing_errors_doc)]

pub mod auth;
pub mod binlog;
pub mod capability;
pub mod client;
pub mod column_type;
pub mod command;
pub mod compress;
pub mod error;
pub mod handshake;
pub mod number;
pub mod packet;
pub mod param;
pub mod read;
pub mod response;
pub mod status;
pub mod temporal;
pub mod write;

pub use error::ProtocolError;
pub use packet::{Decoder, PacketWriter};
pub use temporal::{DateTime, Time};
