//! TLS of the commands that speak to other servers: the options of MySQL's clients.
//!
//! Never here: connections as they ask for them (`connect`), and the server's own certificates (`server/tls`).

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
    /// Whether there is to be TLS.
    pub(crate) mode: SslMode,
    /// The file of authorities.
    pub(crate) ca: String,
    /// The file of the certificate that is shown.
    pub(crate) cert: String,
    /// That of its key.
    pub(crate) key: String,
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
