//! A client's socket, TCP or Unix: as it was accepted, and as an event loop serves it, in the clear or under TLS.

use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustls::ServerConnection;
use sql::session::transport::PeerTls;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

use super::tls::Channel;

/// An accepted socket that belongs to no event loop yet.
#[derive(Debug)]
pub enum Incoming {
    /// TCP, and where it comes from.
    Tcp(std::net::TcpStream, IpAddr),
    /// The Unix socket.
    Unix(StdUnixStream),
}

/// Where a client comes from, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// The host as accounts name it: `localhost` for this machine, else the address.
    pub host: String,
    /// Its address where `host` is a name.
    pub address: Option<String>,
    /// Whether it is this machine: nobody can listen in between.
    pub local: bool,
    /// The Unix socket.
    pub unix: bool,
    /// What TLS agreed on, once it has.
    pub tls: Option<Arc<PeerTls>>,
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
    pub fn attach(self) -> io::Result<Stream> {
        let socket = match self {
            Incoming::Tcp(stream, _) => {
                stream.set_nodelay(true)?;
                Socket::Tcp(TcpStream::from_std(stream)?)
            }
            Incoming::Unix(stream) => Socket::Unix(UnixStream::from_std(stream)?),
        };
        Ok(Stream { socket, tls: None })
    }
}

impl Peer {
    fn of_this_machine() -> Peer {
        Peer {
            host: "localhost".to_owned(),
            address: None,
            local: true,
            unix: false,
            tls: None,
        }
    }

    fn of(ip: IpAddr) -> Peer {
        let ip = ip.to_canonical();
        if ip.is_loopback() {
            return Peer {
                address: Some(ip.to_string()),
                ..Peer::of_this_machine()
            };
        }
        Peer {
            host: ip.to_string(),
            address: None,
            local: false,
            unix: false,
            tls: None,
        }
    }

    /// Whether nobody can listen in between: a password may come in the clear.
    pub fn is_private(&self) -> bool {
        self.local || self.tls.is_some()
    }

    /// Whether it is what `require_secure_transport` demands: TLS or the Unix socket. TCP from this machine is not.
    pub fn is_secure_transport(&self) -> bool {
        self.unix || self.tls.is_some()
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

    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Socket::Tcp(s) => Pin::new(s).poll_shutdown(cx),
            Socket::Unix(s) => Pin::new(s).poll_shutdown(cx),
        }
    }
}

/// A client's bytes on an event loop: its socket, and TLS over it from when that has begun.
#[derive(Debug)]
pub struct Stream {
    socket: Socket,
    tls: Option<Box<Channel>>,
}

impl Stream {
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

    /// Tells the client that nothing more will come.
    pub fn poll_close_sending(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(tls) = &mut self.tls {
            // A client that has gone needs to be told nothing.
            let _gone = ready!(tls.poll_close(&mut self.socket, cx));
        }
        self.socket.poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_as_accounts_name_them() {
        let host = |text: &str| text.parse().map(Peer::of);
        // An account of the address fits as well as one of `localhost`.
        let here = |address: &str| {
            Ok(Peer {
                address: Some(address.to_owned()),
                ..Peer::of_this_machine()
            })
        };
        assert_eq!(host("127.0.0.1"), here("127.0.0.1"));
        assert_eq!(host("::1"), here("::1"));
        assert_eq!(host("::ffff:127.0.0.1"), here("127.0.0.1"));
        let far = Peer {
            host: "10.1.2.3".to_owned(),
            address: None,
            local: false,
            unix: false,
            tls: None,
        };
        assert_eq!(host("::ffff:10.1.2.3"), Ok(far));
    }
}
