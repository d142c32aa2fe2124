//! Listening sockets: TCP addresses and a Unix socket. What arrives is handed on as a plain socket that no event loop
//! knows yet, so that it can be served by any.

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::task::{Context, Poll};

use tokio::net::{TcpListener, TcpSocket, UnixListener};

use super::socket::Incoming;
use crate::options::Options;

/// Connections the kernel may hold that were not accepted yet.
const BACKLOG: u32 = 4096;

/// Everything the server listens on. Removes the Unix socket's file when dropped.
#[derive(Debug)]
pub struct Listeners {
    tcp: Vec<TcpListener>,
    unix: Option<UnixListener>,
    socket_file: Option<PathBuf>,
    /// Which one is asked first, so that none starves.
    turn: usize,
}

impl Listeners {
    /// Binds what the options name. Call inside a runtime.
    ///
    /// # Errors
    /// An address that cannot be bound, named in the text; a socket file on which somebody listens.
    pub fn bind(options: &Options) -> io::Result<Listeners> {
        let mut listeners = Listeners {
            tcp: Vec::new(),
            unix: None,
            socket_file: None,
            turn: 0,
        };
        if !options.skip_networking {
            for name in &options.bind_address {
                for address in resolve(name, options.port)? {
                    let listener = bind_tcp(address).map_err(|e| named(&address, &e))?;
                    listeners.tcp.push(listener);
                }
            }
        }
        if let Some(path) = &options.socket {
            listeners.unix = Some(bind_unix(path).map_err(|e| named(&path.display(), &e))?);
            listeners.socket_file = Some(path.clone());
        }
        Ok(listeners)
    }

    /// Binds the administrators' address. Call inside the runtime that is to accept.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    pub fn bind_admin(options: &Options) -> io::Result<Listeners> {
        let name = options.admin_address.as_deref().unwrap_or_default();
        let tcp = resolve(name, options.admin_port)?
            .into_iter()
            .take(1)
            .map(|address| bind_tcp(address).map_err(|e| named(&address, &e)))
            .collect::<io::Result<_>>()?;
        Ok(Listeners {
            tcp,
            unix: None,
            socket_file: None,
            turn: 0,
        })
    }

    /// Where it listens, for people.
    pub fn names(&self) -> Vec<String> {
        let tcp = self.addresses().into_iter().map(|a| a.to_string());
        let unix = self.socket_file.iter().map(|p| p.display().to_string());
        tcp.chain(unix).collect()
    }

    /// The TCP addresses, with the real port where 0 was asked for.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.tcp
            .iter()
            .filter_map(|l| l.local_addr().ok())
            .collect()
    }

    /// The next connection. An error concerns one connection, or says that descriptors have run out.
    pub async fn accept(&mut self) -> io::Result<Incoming> {
        poll_fn(|cx| self.poll_accept(cx)).await
    }

    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Incoming>> {
        let sockets = self.tcp.len() + 1;
        for i in 0..sockets {
            let which = (self.turn + i) % sockets;
            let ready = match (self.tcp.get(which), &self.unix) {
                (Some(tcp), _) => tcp.poll_accept(cx).map(|accepted| {
                    let (stream, peer) = accepted?;
                    Ok(Incoming::Tcp(stream.into_std()?, peer.ip()))
                }),
                (None, Some(unix)) => unix.poll_accept(cx).map(|accepted| {
                    let (stream, _) = accepted?;
                    Ok(Incoming::Unix(stream.into_std()?))
                }),
                (None, None) => Poll::Pending,
            };
            if ready.is_ready() {
                self.turn = which + 1;
                return ready;
            }
        }
        Poll::Pending
    }
}

impl Drop for Listeners {
    fn drop(&mut self) {
        if let Some(path) = &self.socket_file {
            // It may be gone; the next start copes with one that stays.
            let _gone = std::fs::remove_file(path);
        }
    }
}

fn named(what: &dyn std::fmt::Display, e: &io::Error) -> io::Error {
    io::Error::new(e.kind(), format!("cannot listen on {what}: {e}"))
}

fn resolve(name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    match name {
        // MySQL's `*`: every address, IPv6 and IPv4.
        "*" | "::" => Ok(vec![SocketAddr::from(([0u16; 8], port))]),
        _ => {
            let bare = name.trim_start_matches('[').trim_end_matches(']');
            if let Ok(ip) = bare.parse::<IpAddr>() {
                return Ok(vec![SocketAddr::new(ip, port)]);
            }
            let found: Vec<_> = (name, port)
                .to_socket_addrs()
                .map_err(|e| named(&name, &e))?
                .collect();
            Ok(found)
        }
    }
}

fn bind_tcp(address: SocketAddr) -> io::Result<TcpListener> {
    match bind_one(address) {
        // A machine without IPv6: every address means every IPv4 address.
        Err(_) if address.is_ipv6() && address.ip().is_unspecified() => {
            bind_one(SocketAddr::from(([0u8; 4], address.port())))
        }
        other => other,
    }
}

fn bind_one(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Binds a Unix socket. A file that a dead server left is removed; one that somebody answers on is an error.
fn bind_unix(path: &Path) -> io::Result<UnixListener> {
    let listener = bind_socket_file(path)?;
    // Who may come in is said by accounts, not by the file's mode, whatever the umask.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777))?;
    Ok(listener)
}

fn bind_socket_file(path: &Path) -> io::Result<UnixListener> {
    match UnixListener::bind(path) {
        Err(e) if e.kind() == io::ErrorKind::AddrInUse => {}
        other => return other,
    }
    match std::os::unix::net::UnixStream::connect(path) {
        Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path)?;
            UnixListener::bind(path)
        }
        Err(e) => Err(e),
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::AddrInUse,
            "another server listens there",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime")
    }

    #[test]
    fn a_stale_socket_file_is_replaced() {
        let folder = std::env::temp_dir().join(format!("tidemill-listen-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let options = Options {
            socket: Some(folder.join("s.sock")),
            port: 0,
            ..Options::default()
        };
        let runtime = runtime();
        let _inside = runtime.enter();
        drop(
            std::os::unix::net::UnixListener::bind(folder.join("s.sock")).expect("a first socket"),
        );
        let first = Listeners::bind(&options).expect("the stale file is removed");
        assert_eq!(first.names().len(), 2);
        assert_ne!(first.addresses()[0].port(), 0);
        let second = Listeners::bind(&options).expect_err("somebody listens");
        assert!(second.to_string().contains("another server"), "{second}");
        drop(first);
        assert!(!folder.join("s.sock").exists());
        std::fs::remove_dir_all(&folder).expect("removal");
    }

    #[test]
    fn addresses() -> io::Result<()> {
        assert_eq!(resolve("127.0.0.1", 5)?[0].to_string(), "127.0.0.1:5");
        assert_eq!(resolve("[::1]", 5)?[0].to_string(), "[::1]:5");
        assert_eq!(resolve("*", 5)?[0].to_string(), "[::]:5");
        Ok(())
    }
}
