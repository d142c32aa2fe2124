//! A client's socket, TCP or Unix: as it was accepted, and as an event loop serves it.

use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// An accepted socket that belongs to no event loop yet.
#[derive(Debug)]
pub enum Incoming {
    /// TCP, and where it comes from.
    Tcp(std::net::TcpStream, IpAddr),
    /// The Unix socket.
    Unix(StdUnixStream),
}

/// Where a client comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// The host as accounts name it: `localhost` for this machine, else the address.
    pub host: String,
    /// Whether it is this machine: nobody can listen in between.
    pub local: bool,
}

impl Incoming {
    /// Where the client comes from.
    pub fn peer(&self) -> Peer {
        match self {
            Incoming::Unix(_) => Peer::of_this_machine(),
            Incoming::Tcp(_, ip) => Peer::of(*ip),
        }
    }

    /// Hands the socket to the event loop of the calling task.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn attach(self) -> io::Result<Stream> {
        Ok(match self {
            Incoming::Tcp(stream, _) => {
                stream.set_nodelay(true)?;
                Stream::Tcp(TcpStream::from_std(stream)?)
            }
            Incoming::Unix(stream) => Stream::Unix(UnixStream::from_std(stream)?),
        })
    }
}

impl Peer {
    fn of_this_machine() -> Peer {
        Peer {
            host: "localhost".to_owned(),
            local: true,
        }
    }

    fn of(ip: IpAddr) -> Peer {
        let ip = ip.to_canonical();
        if ip.is_loopback() {
            return Peer::of_this_machine();
        }
        Peer {
            host: ip.to_string(),
            local: false,
        }
    }
}

/// A socket on an event loop.
#[derive(Debug)]
pub enum Stream {
    /// TCP.
    Tcp(TcpStream),
    /// The Unix socket.
    Unix(UnixStream),
}

impl Stream {
    /// Reads what there is, at most one system call; 0 bytes at the end of the stream.
    #[inline]
    pub fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut buf = ReadBuf::new(into);
        ready!(match self {
            Stream::Tcp(s) => Pin::new(s).poll_read(cx, &mut buf),
            Stream::Unix(s) => Pin::new(s).poll_read(cx, &mut buf),
        })?;
        Poll::Ready(Ok(buf.filled().len()))
    }

    /// Writes what the kernel takes, at most one system call.
    #[inline]
    pub fn poll_write(&mut self, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Stream::Tcp(s) => Pin::new(s).poll_write(cx, from),
            Stream::Unix(s) => Pin::new(s).poll_write(cx, from),
        }
    }

    /// Tells the client that nothing more will come.
    pub async fn close_sending(&mut self) {
        // A client that has gone needs to be told nothing.
        let _gone = poll_fn(|cx| match self {
            Stream::Tcp(s) => Pin::new(s).poll_shutdown(cx),
            Stream::Unix(s) => Pin::new(s).poll_shutdown(cx),
        })
        .await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_as_accounts_name_them() {
        let host = |text: &str| text.parse().map(Peer::of);
        assert_eq!(host("127.0.0.1"), Ok(Peer::of_this_machine()));
        assert_eq!(host("::1"), Ok(Peer::of_this_machine()));
        assert_eq!(host("::ffff:127.0.0.1"), Ok(Peer::of_this_machine()));
        let far = Peer {
            host: "10.1.2.3".to_owned(),
            local: false,
        };
        assert_eq!(host("::ffff:10.1.2.3"), Ok(far));
    }
}
