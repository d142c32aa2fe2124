//! TLS over a connection's socket: rustls' state machine between the socket's bytes and the packets' bytes.
//!
//! A read and a write still cost one system call each while records are small. Whatever comes out of it went through TLS: bytes
//! that were received in the clear can only be read as the handshake's.

use std::io::{self, IoSlice, Read, Write};
use std::task::{Context, Poll, ready};

use rustls::ServerConnection;

use crate::server::socket::Socket;

/// Bytes of a client that a handshake may take. A chain of certificates has a few thousand.
const LARGEST_HANDSHAKE: usize = 128 << 10;
/// Bytes encrypted before they are sent.
const PIECE: usize = 64 << 10;

/// The TLS of one connection.
#[derive(Debug)]
pub struct Channel {
    connection: ServerConnection,
    /// Bytes of a write that have been encrypted; the write is over once they are sent.
    accepted: usize,
    /// Bytes received in the handshake.
    received: usize,
    /// The first of them, which came with the request for TLS.
    early: Vec<u8>,
}

/// The socket as rustls reads and writes it, inside of a poll.
struct Polled<'a, 'b, 'c> {
    socket: &'a mut Socket,
    cx: &'b mut Context<'c>,
}

fn now<T>(poll: Poll<io::Result<T>>) -> io::Result<T> {
    match poll {
        Poll::Ready(done) => done,
        Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
    }
}

fn later<T>(done: io::Result<T>) -> Poll<io::Result<T>> {
    match done {
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => Poll::Pending,
        done => Poll::Ready(done),
    }
}

impl Read for Polled<'_, '_, '_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        now(self.socket.poll_read(self.cx, into))
    }
}

impl Write for Polled<'_, '_, '_> {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        now(self.socket.poll_write(self.cx, from))
    }

    fn write_vectored(&mut self, from: &[IoSlice<'_>]) -> io::Result<usize> {
        match from {
            [one] => now(self.socket.poll_write(self.cx, one)),
            _ => now(self.socket.poll_write_vectored(self.cx, from)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn refused(e: rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, e)
}

impl Channel {
    /// A channel whose handshake is to be done, and what has been received of it.
    pub(crate) fn new(connection: ServerConnection, early: Vec<u8>) -> Channel {
        Channel {
            connection,
            accepted: 0,
            received: 0,
            early,
        }
    }

    /// What has been agreed on.
    pub(crate) fn connection(&self) -> &ServerConnection {
        &self.connection
    }

    /// Does the handshake. Ready when all of it has been sent.
    pub(crate) fn poll_handshake(
        &mut self,
        socket: &mut Socket,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.poll_flush(socket, cx))?;
            if !self.connection.is_handshaking() {
                return Poll::Ready(Ok(()));
            }
            let early = std::mem::take(&mut self.early);
            let n = if early.is_empty() {
                ready!(self.poll_receive(socket, cx))?
            } else {
                self.take_early(socket, cx, &early)?
            };
            self.received += n;
            if n == 0 || self.received > LARGEST_HANDSHAKE {
                return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
            }
        }
    }

    /// As [`crate::server::stream::Stream::poll_read`].
    pub(crate) fn poll_read(
        &mut self,
        socket: &mut Socket,
        cx: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            match self.connection.reader().read(into) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                read => return Poll::Ready(read),
            }
            let n = ready!(self.poll_receive(socket, cx))?;
            if n == 0 {
                // An end that the client did not announce ends a connection like any other.
                return Poll::Ready(Ok(0));
            }
            if self.connection.wants_write() {
                // An answer of the protocol's own. What does not go now goes with the next packet.
                if let Poll::Ready(Err(e)) = self.poll_flush(socket, cx) {
                    return Poll::Ready(Err(e));
                }
            }
        }
    }

    /// As [`crate::server::stream::Stream::poll_write`]. Until it is ready it must be called again with bytes that begin alike.
    pub(crate) fn poll_write(
        &mut self,
        socket: &mut Socket,
        cx: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.accepted == 0 {
            // What is left of before goes first, so that there is room.
            ready!(self.poll_flush(socket, cx))?;
            let piece = from.get(..PIECE).unwrap_or(from);
            self.accepted = self.connection.writer().write(piece)?;
        }
        ready!(self.poll_flush(socket, cx))?;
        Poll::Ready(Ok(std::mem::take(&mut self.accepted)))
    }

    /// Tells the client that nothing more will come; ready when that is sent.
    pub(crate) fn poll_close(
        &mut self,
        socket: &mut Socket,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.connection.is_handshaking() {
            self.connection.send_close_notify();
        }
        self.poll_flush(socket, cx)
    }

    /// Sends what is encrypted.
    fn poll_flush(&mut self, socket: &mut Socket, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.connection.wants_write() {
            let mut out = Polled { socket, cx };
            if ready!(later(self.connection.write_tls(&mut out)))? == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
        }
        Poll::Ready(Ok(()))
    }

    fn take_early(
        &mut self,
        socket: &mut Socket,
        cx: &mut Context<'_>,
        mut early: &[u8],
    ) -> io::Result<usize> {
        let all = early.len();
        while !early.is_empty() {
            self.connection.read_tls(&mut early)?;
            self.decrypt(socket, cx)?;
        }
        Ok(all)
    }

    /// Receives and decrypts; 0 at the end of the stream.
    fn poll_receive(
        &mut self,
        socket: &mut Socket,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let mut input = Polled { socket, cx };
        let n = ready!(later(self.connection.read_tls(&mut input)))?;
        self.decrypt(socket, cx)?;
        Poll::Ready(Ok(n))
    }

    fn decrypt(&mut self, socket: &mut Socket, cx: &mut Context<'_>) -> io::Result<()> {
        if let Err(e) = self.connection.process_new_packets() {
            // The client is told by an alert, if it still listens.
            let _gone = self.poll_flush(socket, cx);
            return Err(refused(e));
        }
        Ok(())
    }
}
