//! Where a client comes from, as accounts and TLS want to know it.

use std::net::IpAddr;
use std::sync::Arc;

use sql::session::transport::PeerTls;

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

impl Peer {
    /// A client of this machine; the Unix socket's has no address.
    pub fn of_this_machine() -> Peer {
        Peer {
            host: "localhost".to_owned(),
            address: None,
            local: true,
            unix: false,
            tls: None,
        }
    }

    /// A client of TCP.
    pub fn of(ip: IpAddr) -> Peer {
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
