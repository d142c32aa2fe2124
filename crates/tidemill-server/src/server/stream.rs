//! A client's bytes as an event loop serves them, in the clear or under TLS, as they are or compressed.

use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustls::ServerConnection;
use sql_expr::memory::Account;
use wire::ProtocolError;
use wire::compress::Method;

use super::compressed::Compressed;
use super::line::Line;
use super::socket::Socket;
use super::tls::Channel;

/// A client's bytes on an event loop: its socket, and TLS over it from when that has begun.
#[derive(Debug)]
pub struct Stream {
    line: Line,
    compressed: Option<Box<Compressed>>,
}

impl Stream {
    /// In the clear.
    pub fn new(socket: Socket) -> Stream {
        Stream {
            line: Line { socket, tls: None },
            compressed: None,
        }
    }

    /// Reads what there is; 0 bytes at the end of the stream. One system call at most in the clear.
    #[inline]
    pub fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        match &mut self.compressed {
            None => self.line.poll_read(cx, into),
            Some(compressed) => compressed.poll_read(&mut self.line, cx, into),
        }
    }

    /// Writes what the kernel takes, with one system call at most in the clear. Under TLS, and compressed, it is to be called again with the
    /// same bytes until it is ready.
    #[inline]
    pub fn poll_write(&mut self, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.compressed {
            None => self.line.poll_write(cx, from),
            Some(compressed) => compressed.poll_write(&mut self.line, cx, from),
        }
    }

    /// From here on all is compressed, of which `early` has been received; `account` pays for it.
    ///
    /// # Errors
    /// There is no room for it.
    pub fn begin_compression(
        &mut self,
        method: Method,
        max_packet: usize,
        early: &[u8],
        account: &Arc<Account>,
    ) -> Result<(), ProtocolError> {
        let compressed = Compressed::new(method, max_packet, early, account)?;
        self.compressed = Some(Box::new(compressed));
        Ok(())
    }

    /// From here on there is TLS, which begins with its handshake; `early` has been received of it.
    pub fn begin_tls(&mut self, connection: ServerConnection, early: Vec<u8>) {
        self.line.tls = Some(Box::new(Channel::new(connection, early)));
    }

    /// Does the handshake of [`Stream::begin_tls`].
    pub fn poll_handshake(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.line.tls {
            None => Poll::Ready(Ok(())),
            Some(tls) => tls.poll_handshake(&mut self.line.socket, cx),
        }
    }

    /// The TLS there is.
    pub fn tls(&self) -> Option<&ServerConnection> {
        self.line.tls.as_deref().map(Channel::connection)
    }

    /// Reads what there is as it comes, of which nothing is to be used.
    pub fn poll_waste(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        self.line.socket.poll_read(cx, into)
    }

    /// The number of the system's user at the other end of the Unix socket.
    pub fn peer_number(&self) -> Option<u32> {
        self.line.socket.peer_number()
    }

    /// The number of the socket's file.
    pub fn number(&self) -> RawFd {
        self.line.socket.number()
    }

    /// Waits until the client has closed the connection, as far as that can be seen without reading.
    pub async fn closed(&self) {
        self.line.socket.closed().await;
    }

    /// Tells the client that nothing more will come.
    pub fn poll_close_sending(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(tls) = &mut self.line.tls {
            // A client that has gone needs to be told nothing.
            let _gone = ready!(tls.poll_close(&mut self.line.socket, cx));
        }
        self.line.socket.poll_shutdown(cx)
    }
}
