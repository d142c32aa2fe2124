//! A client's bytes as they go over the network, in the clear or under TLS. What is in them is not known here.

use std::io;
use std::task::{Context, Poll};

use super::socket::Socket;
use super::tls::Channel;

/// The bytes as they go over the network.
#[derive(Debug)]
pub(super) struct Line {
    /// The socket.
    pub(super) socket: Socket,
    /// The TLS over it, once that has begun.
    pub(super) tls: Option<Box<Channel>>,
}

impl Line {
    #[inline]
    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.tls {
            None => self.socket.poll_read(cx, into),
            Some(tls) => tls.poll_read(&mut self.socket, cx, into),
        }
    }

    #[inline]
    pub(super) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.tls {
            None => self.socket.poll_write(cx, from),
            Some(tls) => tls.poll_write(&mut self.socket, cx, from),
        }
    }
}
