//! A client's socket, TCP or Unix: as it was accepted, and on an event loop.

use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

use super::peer::Peer;

/// An accepted socket that belongs to no event loop yet.
#[derive(Debug)]
pub enum Incoming {
    /// TCP, and where it comes from.
    Tcp(std::net::TcpStream, IpAddr),
    /// The Unix socket.
    Unix(StdUnixStream),
}

impl Incoming {
    /// Where the client comes from.
    pub fn peer(&self) -> Peer {
        match self {
            Incoming::Unix(_) => Peer {
                unix: true,
                ..Peer::of_this_machine()
            },
            Incoming::Tcp(_, ip) => Peer::of(*ip),
        }
    }

    /// Hands the socket to the event loop of the calling task.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn attach(self) -> io::Result<Socket> {
        match self {
            Incoming::Tcp(stream, _) => {
                stream.set_nodelay(true)?;
                Ok(Socket::Tcp(TcpStream::from_std(stream)?))
            }
            Incoming::Unix(stream) => Ok(Socket::Unix(UnixStream::from_std(stream)?)),
        }
    }
}

/// A socket on an event loop.
#[derive(Debug)]
pub enum Socket {
    /// TCP.
    Tcp(TcpStream),
    /// The Unix socket.
    Unix(UnixStream),
}

impl Socket {
    /// The number of the system's user at the other end, as the kernel says it of a Unix socket.
    pub fn peer_number(&self) -> Option<u32> {
        match self {
            Socket::Tcp(_) => None,
            Socket::Unix(s) => s.peer_cred().ok().map(|c| c.uid()),
        }
    }

    /// Reads what there is, at most one system call; 0 bytes at the end of the stream.
    #[inline]
    pub fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut buf = ReadBuf::new(into);
        ready!(match self {
            Socket::Tcp(s) => Pin::new(s).poll_read(cx, &mut buf),
            Socket::Unix(s) => Pin::new(s).poll_read(cx, &mut buf),
        })?;
        Poll::Ready(Ok(buf.filled().len()))
    }

    /// Writes what the kernel takes, at most one system call.
    #[inline]
    pub fn poll_write(&mut self, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Socket::Tcp(s) => Pin::new(s).poll_write(cx, from),
            Socket::Unix(s) => Pin::new(s).poll_write(cx, from),
        }
    }

    /// Writes what the kernel takes of several pieces, at most one system call.
    pub fn poll_write_vectored(
        &mut self,
        cx: &mut Context<'_>,
        from: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self {
            Socket::Tcp(s) => Pin::new(s).poll_write_vectored(cx, from),
            Socket::Unix(s) => Pin::new(s).poll_write_vectored(cx, from),
        }
    }

    /// The number of its file.
    pub fn number(&self) -> RawFd {
        match self {
            Socket::Tcp(s) => s.as_raw_fd(),
            Socket::Unix(s) => s.as_raw_fd(),
        }
    }

    /// Waits until the other side has closed its end, and has left nothing unread; for ever, where it has sent more first.
    pub async fn closed(&self) {
        let ready = match self {
            Socket::Tcp(s) => s.ready(Interest::READABLE).await,
            Socket::Unix(s) => s.ready(Interest::READABLE).await,
        };
        if ready.is_ok_and(|r| !r.is_read_closed()) {
            std::future::pending().await
        }
    }

    /// Tells the other side that nothing more will come.
    pub fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Socket::Tcp(s) => Pin::new(s).poll_shutdown(cx),
            Socket::Unix(s) => Pin::new(s).poll_shutdown(cx),
        }
    }
}
