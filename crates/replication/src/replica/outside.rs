//! What a replica is given from outside: where its parts run, and how they reach a source. A server gives threads and sockets; a simulator tasks of its
//! own, and a network that it breaks.
//!
//! What it never knows: packets. What is said on a connection is [`link`](super::link)'s.

use std::future::Future;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::pin::Pin;
use std::time::Duration;

use base::block_on;
use base::environment::Task;

/// What is waited for.
pub type Waits<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Why there is no connection.
#[derive(Debug)]
pub enum Unreached {
    /// Nobody knows the host.
    Unknown(io::Error),
    /// Nobody answers there.
    Refused(io::Error),
}

/// See the module.
pub trait Outside: Send + Sync {
    /// Runs a part of a replica to its end, beside its caller. `name` is for people.
    ///
    /// # Errors
    /// The system gives no thread; the part is dropped, not begun.
    fn run(&self, name: &str, part: Task) -> io::Result<()>;

    /// Connects. Neither that nor a later read or write may take longer than `silence`.
    fn connect<'a>(
        &'a self,
        host: &'a str,
        port: u16,
        silence: Duration,
    ) -> Waits<'a, Result<Box<dyn Socket>, Unreached>>;
}

/// A connection, for the one who reads.
pub trait Socket: Send {
    /// Waits for bytes; 0: there will be none.
    fn read<'a>(&'a mut self, into: &'a mut [u8]) -> Waits<'a, io::Result<usize>>;

    /// Says something.
    ///
    /// # Errors
    /// The connection is of no use.
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// The connection for somebody else, who says something or shuts it.
    ///
    /// # Errors
    /// What the system answers.
    fn line(&self) -> io::Result<Box<dyn Line>>;

    /// The socket, for TLS over it.
    ///
    /// # Errors
    /// What the system answers; there is none.
    fn tcp(&self) -> io::Result<TcpStream>;
}

/// A connection, for whoever is beside the one who reads.
pub trait Line: Send + Sync {
    /// Says something.
    ///
    /// # Errors
    /// The connection is of no use.
    fn write_all(&self, bytes: &[u8]) -> io::Result<()>;

    /// Ends it, and with it what waits on it.
    fn shut(&self);
}

/// A thread for each part, and sockets of the system.
pub(super) struct System;

impl Outside for System {
    fn run(&self, name: &str, part: Task) -> io::Result<()> {
        let thread = std::thread::Builder::new().name(name.to_owned());
        thread.spawn(move || block_on(part)).map(drop)
    }

    fn connect<'a>(
        &'a self,
        host: &'a str,
        port: u16,
        silence: Duration,
    ) -> Waits<'a, Result<Box<dyn Socket>, Unreached>> {
        // It runs on a thread of its own, which may be kept waiting.
        let done = connect(host, port, silence);
        let done = done.map(|s| Box::new(s) as Box<dyn Socket>);
        Box::pin(std::future::ready(done))
    }
}

fn connect(host: &str, port: u16, silence: Duration) -> Result<TcpStream, Unreached> {
    let addresses = (host, port).to_socket_addrs().map_err(Unreached::Unknown)?;
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for a in addresses {
        match TcpStream::connect_timeout(&a, silence) {
            Ok(socket) => {
                let prepared = socket
                    .set_nodelay(true)
                    .and_then(|()| socket.set_read_timeout(Some(silence)))
                    .and_then(|()| socket.set_write_timeout(Some(silence)));
                prepared.map_err(Unreached::Refused)?;
                return Ok(socket);
            }
            Err(e) => last = e,
        }
    }
    Err(Unreached::Refused(last))
}

impl Socket for TcpStream {
    fn read<'a>(&'a mut self, into: &'a mut [u8]) -> Waits<'a, io::Result<usize>> {
        Box::pin(std::future::ready(Read::read(self, into)))
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        Write::write_all(self, bytes)
    }

    fn line(&self) -> io::Result<Box<dyn Line>> {
        Ok(Box::new(self.try_clone()?))
    }

    fn tcp(&self) -> io::Result<TcpStream> {
        self.try_clone()
    }
}

impl Line for TcpStream {
    fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        let mut socket = self;
        Write::write_all(&mut socket, bytes)
    }

    fn shut(&self) {
        // It may be shut already.
        let _shut = self.shutdown(Shutdown::Both);
    }
}
