//! A client's bytes as an event loop serves them, in the clear or under TLS.

use std::io;
use std::os::fd::RawFd;
use std::task::{Context, Poll, ready};

use rustls::ServerConnection;

use super::socket::Socket;
use super::tls::Channel;

/// A client's bytes on an event loop: its socket, and TLS over it from when that has begun.
#[derive(Debug)]
pub struct Stream {
    socket: Socket,
    tls: Option<Box<Channel>>,
}

impl Stream {
    /// In the clear.
    pub fn new(socket: Socket) -> Stream {
        Stream { socket, tls: None }
    }

    /// Reads what there is; 0 bytes at the end of the stream. One system call at most in the clear.
    #[inline]
    pub fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        match &mut self.tls {
            None => self.socket.poll_read(cx, into),
            Some(tls) => tls.poll_read(&mut self.socket, cx, into),
        }
    }

    /// Writes what the kernel takes, with one system call at most in the clear. Under TLS it is to be called again with the
    /// same bytes until it is ready.
    #[inline]
    pub fn poll_write(&mut self, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.tls {
            None => self.socket.poll_write(cx, from),
            Some(tls) => tls.poll_write(&mut self.socket, cx, from),
        }
    }

    /// From here on there is TLS, which begins with its handshake; `early` has been received of it.
    pub fn begin_tls(&mut self, connection: ServerConnection, early: Vec<u8>) {
        self.tls = Some(Box::new(Channel::new(connection, early)));
    }

    /// Does the handshake of [`Stream::begin_tls`].
    pub fn poll_handshake(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.tls {
            None => Poll::Ready(Ok(())),
            Some(tls) => tls.poll_handshake(&mut self.socket, cx),
        }
    }

    /// The TLS there is.
    pub fn tls(&self) -> Option<&ServerConnection> {
        self.tls.as_deref().map(Channel::connection)
    }

    /// Reads what there is as it comes, of which nothing is to be used.
    pub fn poll_waste(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        self.socket.poll_read(cx, into)
    }

    /// The number of the socket's file.
    pub fn number(&self) -> RawFd {
        self.socket.number()
    }

    /// Waits until the client has closed the connection, as far as that can be seen without reading.
    pub async fn closed(&self) {
        self.socket.closed().await;
    }

    /// Tells the client that nothing more will come.
    pub fn poll_close_sending(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(tls) = &mut self.tls {
            // A client that has gone needs to be told nothing.
            let _gone = ready!(tls.poll_close(&mut self.socket, cx));
        }
        self.socket.poll_shutdown(cx)
    }
}
