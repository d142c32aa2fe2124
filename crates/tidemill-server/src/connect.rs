//! Connections of the commands to other servers, with TLS as their options ask for it.
//!
//! Never here: what the options are (`options`), which whoever reads command lines has without TLS and sockets.

use std::time::Duration;

use replication::replica::tls::{self, Wanted};
use wire::client::ClientError;
use wire::client::blocking::{Conn, Securing};

use crate::options::{ClientTls, SslMode};

impl ClientTls {
    /// What is wanted of TLS to this host.
    pub fn wanted(&self, host: &str) -> Wanted {
        // Without verification the file of authorities says nothing, as with MySQL's clients.
        let verifies = matches!(self.mode, SslMode::VerifyCa | SslMode::VerifyIdentity);
        Wanted {
            host: host.to_owned(),
            ca: match verifies {
                true => self.ca.clone(),
                false => String::new(),
            },
            cert: self.cert.clone(),
            key: self.key.clone(),
            verify_name: self.mode == SslMode::VerifyIdentity,
        }
    }

    /// Connects over TCP and logs in.
    ///
    /// # Errors
    /// Of the socket, of TLS, or the server's refusal.
    pub fn connect(
        &self,
        (host, port): (&str, u16),
        user: &str,
        password: &str,
        limit: Option<Duration>,
    ) -> Result<Conn, ClientError> {
        let wanted = self.wanted(host);
        let begin = |socket| match tls::over(socket, &wanted) {
            Ok(tls) => Ok(Box::new(tls) as Box<_>),
            Err(e) => Err(std::io::Error::other(format!("SSL connection error: {e}"))),
        };
        let securing = (self.mode != SslMode::Disabled).then_some(Securing {
            required: self.is_required(),
            begin: &begin,
        });
        Conn::connect_tcp_secured((host, port), user, password, limit, securing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_authorities_counts_where_certificates_are_verified() {
        let of = |mode| ClientTls {
            mode,
            ca: "f".to_owned(),
            cert: String::new(),
            key: String::new(),
        };
        assert_eq!(of(SslMode::Required).wanted("h").ca, "");
        let w = of(SslMode::VerifyCa).wanted("h");
        assert!(!w.verify_name && w.ca == "f" && w.host == "h");
        assert!(of(SslMode::VerifyIdentity).wanted("h").verify_name);
    }
}
