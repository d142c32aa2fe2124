//! Framing: three bytes of length, one of sequence, the payload; a payload of 16 MiB - 1 or more goes in several
//! packets, the last of them shorter than that.
//!
//! [`Decoder`] takes frames off received bytes, [`PacketWriter`] puts them around bytes to send. Neither looks inside.

mod decoder;
mod writer;

pub use decoder::{Decoder, PacketPlace};
pub use writer::{Mark, PacketWriter, Repeatable};

/// The longest payload of one frame. A frame of exactly this length is continued by the next.
pub const MAX_FRAME: usize = 0xFF_FFFF;
/// Bytes before a frame's payload.
pub const HEADER: usize = 4;
/// MySQL 8.0's default `max_allowed_packet` of a server, in bytes.
pub const DEFAULT_MAX_ALLOWED_PACKET: usize = 64 << 20;
/// The largest `max_allowed_packet` MySQL allows, in bytes.
pub const LARGEST_MAX_ALLOWED_PACKET: usize = 1 << 30;
