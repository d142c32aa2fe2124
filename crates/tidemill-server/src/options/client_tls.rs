//! TLS of the commands that speak to other servers: the options of MySQL's clients, and connections as they ask for them.
//!
//! Never here: the server's own certificates (`server/tls`).

use std::time::Duration;

use replication::replica::tls::{self, Wanted};
use wire::client::ClientError;
use wire::client::blocking::{Conn, Securing};

/// `--ssl-mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SslMode {
    /// No TLS.
    Disabled,
    /// TLS where the server has it.
    Preferred,
    /// TLS, or nothing.
    Required,
    /// And the server's certificate comes from `--ssl-ca`.
    VerifyCa,
    /// And it names the host.
    VerifyIdentity,
}

/// How a command goes about TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientTls {
    mode: SslMode,
    ca: String,
    cert: String,
    key: String,
}

/// The options, as they are given.
#[derive(Debug, Default)]
pub(crate) struct Given {
    mode: Option<SslMode>,
    ca: String,
    cert: String,
    key: String,
}

/// The names of the options.
pub(crate) const NAMES: [&str; 4] = ["ssl-mode", "ssl-ca", "ssl-cert", "ssl-key"];

impl Given {
    /// Takes an option with one of the [`NAMES`].
    ///
    /// # Errors
    /// It makes no sense.
    pub fn set(&mut self, name: &str, value: String) -> Result<(), String> {
        match name {
            "ssl-ca" => self.ca = value,
            "ssl-cert" => self.cert = value,
            "ssl-key" => self.key = value,
            _ => {
                self.mode = Some(match &*value.to_ascii_uppercase() {
                    "DISABLED" => SslMode::Disabled,
                    "PREFERRED" => SslMode::Preferred,
                    "REQUIRED" => SslMode::Required,
                    "VERIFY_CA" => SslMode::VerifyCa,
                    "VERIFY_IDENTITY" => SslMode::VerifyIdentity,
                    _ => {
                        return Err(format!(
                            "option '--ssl-mode': '{value}' is none of DISABLED, PREFERRED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY"
                        ));
                    }
                });
            }
        }
        Ok(())
    }

    /// What they come to. As with MySQL's clients, a file of authorities alone asks for certificates that come from there.
    ///
    /// # Errors
    /// They do not go together.
    pub fn finish(self) -> Result<ClientTls, String> {
        let mode = self.mode.unwrap_or(match self.ca.is_empty() {
            true => SslMode::Preferred,
            false => SslMode::VerifyCa,
        });
        let verifies = matches!(mode, SslMode::VerifyCa | SslMode::VerifyIdentity);
        if verifies && self.ca.is_empty() {
            return Err("--ssl-mode=VERIFY_CA and VERIFY_IDENTITY need --ssl-ca=FILE".to_owned());
        }
        if self.cert.is_empty() && !self.key.is_empty() {
            return Err("--ssl-key needs --ssl-cert=FILE".to_owned());
        }
        Ok(ClientTls {
            mode,
            ca: self.ca,
            cert: self.cert,
            key: self.key,
        })
    }
}

impl ClientTls {
    /// Whether a connection without TLS is refused.
    pub fn is_required(&self) -> bool {
        !matches!(self.mode, SslMode::Disabled | SslMode::Preferred)
    }

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

    fn of(words: &[(&str, &str)]) -> Result<ClientTls, String> {
        let mut given = Given::default();
        for (name, value) in words {
            given.set(name, (*value).to_owned())?;
        }
        given.finish()
    }

    #[test]
    fn the_modes_are_those_of_mysql() {
        let mode = |words: &[(&str, &str)]| of(words).map(|t| t.mode);
        assert_eq!(mode(&[]), Ok(SslMode::Preferred));
        assert_eq!(mode(&[("ssl-ca", "f")]), Ok(SslMode::VerifyCa));
        let both = [("ssl-ca", "f"), ("ssl-mode", "required")];
        assert_eq!(mode(&both), Ok(SslMode::Required));
        assert_eq!(of(&both).map(|t| t.wanted("h").ca), Ok(String::new()));
        let identity = of(&[("ssl-mode", "VERIFY_IDENTITY"), ("ssl-ca", "f")]);
        let wanted = identity.map(|t| t.wanted("h"));
        assert!(wanted.is_ok_and(|w| w.verify_name && w.ca == "f" && w.host == "h"));
        for words in [
            &[("ssl-mode", "ON")][..],
            &[("ssl-mode", "VERIFY_CA")],
            &[("ssl-mode", "VERIFY_IDENTITY")],
            &[("ssl-key", "k")],
        ] {
            assert!(of(words).is_err(), "{words:?}");
        }
    }
}
