//! The server's side of an authentication, packet by packet.

use super::AuthContext;
use super::credential::Credential;
use super::scramble::{native_proves, sha2_proves, sha256};
use crate::handshake::{
    CACHING_SHA2_PASSWORD, NATIVE_PASSWORD, Nonce, write_auth_more, write_auth_switch,
};
use crate::packet::PacketWriter;

/// caching_sha2: the fast proof was enough; OK follows.
const FAST_AUTH_SUCCESS: u8 = 3;
/// caching_sha2: the password itself is wanted.
const PERFORM_FULL_AUTHENTICATION: u8 = 4;
/// caching_sha2: the client wants the public key first.
const REQUEST_PUBLIC_KEY: u8 = 2;

/// What comes after a packet of an authentication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A packet was written for the client; give its answer to [`Authenticator::resume`].
    NeedMore,
    /// The client is who it says. Send OK (a packet to send before it may have been written).
    Ok,
    /// It is not, or broke the protocol: send error 1045 and close.
    Fail,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plugin {
    Native,
    Sha2,
}

impl Plugin {
    fn name(self) -> &'static str {
        match self {
            Plugin::Native => NATIVE_PASSWORD,
            Plugin::Sha2 => CACHING_SHA2_PASSWORD,
        }
    }

    fn of(name: &[u8]) -> Option<Plugin> {
        [Plugin::Native, Plugin::Sha2]
            .into_iter()
            .find(|plugin| plugin.name().as_bytes() == name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing has been seen.
    Start,
    /// The answer to an authentication switch is awaited.
    Proof(Plugin),
    /// The password, or on an open transport a request for the key, is awaited.
    Password,
    /// The password encrypted with the key is awaited.
    Encrypted,
    /// Over.
    Done,
}

/// One client's authentication. For the first login and for COM_CHANGE_USER alike.
#[derive(Debug)]
pub struct Authenticator {
    nonce: Nonce,
    credential: Credential,
    secure_transport: bool,
    state: State,
}

impl Authenticator {
    /// An authentication against `credential` over the connection's `nonce`. `secure_transport`: nobody can listen, so
    /// the client may send its password in the clear. True for a Unix socket, TLS, and TCP from loopback, where
    /// MariaDB's client library sends it so.
    pub fn new(nonce: Nonce, credential: Credential, secure_transport: bool) -> Self {
        Authenticator {
            nonce,
            credential,
            secure_transport,
            state: State::Start,
        }
    }

    /// Takes plugin and answer of the handshake response or COM_CHANGE_USER. A client that names no plugin speaks
    /// mysql_native_password. Set the writer's sequence first.
    pub fn start(
        &mut self,
        context: &AuthContext,
        client_plugin: Option<&[u8]>,
        answer: &[u8],
        writer: &mut PacketWriter,
    ) -> Step {
        if self.state != State::Start {
            return self.fail();
        }
        let offered = client_plugin.map_or(Some(Plugin::Native), Plugin::of);
        let wanted = match &self.credential {
            Credential::Native(_) => Plugin::Native,
            Credential::CachingSha2(_) => Plugin::Sha2,
            // No proof is needed, or none will do: whatever the client speaks.
            Credential::Empty | Credential::Denied => offered.unwrap_or(Plugin::Sha2),
        };
        if offered == Some(wanted) {
            return self.prove(context, wanted, answer, writer);
        }
        write_auth_switch(wanted.name(), &self.nonce, writer);
        self.state = State::Proof(wanted);
        Step::NeedMore
    }

    /// Takes the client's next packet after [`Step::NeedMore`]. May take milliseconds of CPU time: once a client and
    /// password, not once a connection.
    pub fn resume(
        &mut self,
        context: &AuthContext,
        packet: &[u8],
        writer: &mut PacketWriter,
    ) -> Step {
        match self.state {
            State::Proof(plugin) => self.prove(context, plugin, packet, writer),
            State::Password if packet == [REQUEST_PUBLIC_KEY] => match context.rsa.public_pem() {
                Ok(pem) => {
                    write_auth_more(pem.as_bytes(), writer);
                    self.state = State::Encrypted;
                    Step::NeedMore
                }
                Err(_) => self.fail(),
            },
            State::Password => {
                // A client that has the key from before sends the password encrypted at once.
                let decrypted = context.rsa.decrypt_password(packet, self.nonce.as_bytes());
                match (decrypted, packet.strip_suffix(b"\0")) {
                    (Some(password), _) => self.check(context, &password),
                    (None, Some(password)) if self.secure_transport => {
                        self.check(context, password)
                    }
                    _ => self.fail(),
                }
            }
            State::Encrypted => match context.rsa.decrypt_password(packet, self.nonce.as_bytes()) {
                Some(password) => self.check(context, &password),
                None => self.fail(),
            },
            State::Start | State::Done => self.fail(),
        }
    }

    fn prove(
        &mut self,
        context: &AuthContext,
        plugin: Plugin,
        answer: &[u8],
        writer: &mut PacketWriter,
    ) -> Step {
        // Under caching_sha2 a lone NUL says "no password" too.
        if answer.is_empty() || (plugin == Plugin::Sha2 && answer == [0]) {
            return self.finish(self.credential == Credential::Empty);
        }
        let nonce = self.nonce.as_bytes();
        match (&self.credential, plugin) {
            (Credential::Native(stored), Plugin::Native) => {
                let proven = <&[u8; 20]>::try_from(answer)
                    .is_ok_and(|answer| native_proves(answer, stored, nonce));
                self.finish(proven)
            }
            (Credential::CachingSha2(stored), Plugin::Sha2) => {
                let Ok(answer) = <&[u8; 32]>::try_from(answer) else {
                    return self.fail();
                };
                let known = context.cache.get(stored);
                if known.is_some_and(|twice| sha2_proves(answer, &twice, nonce)) {
                    write_auth_more(&[FAST_AUTH_SUCCESS], writer);
                    return self.finish(true);
                }
                self.ask_password(writer)
            }
            (Credential::Denied, Plugin::Sha2) => self.ask_password(writer),
            _ => self.fail(),
        }
    }

    fn ask_password(&mut self, writer: &mut PacketWriter) -> Step {
        write_auth_more(&[PERFORM_FULL_AUTHENTICATION], writer);
        self.state = State::Password;
        Step::NeedMore
    }

    fn check(&mut self, context: &AuthContext, password: &[u8]) -> Step {
        let right = self.credential.verify(password);
        if let (true, Credential::CachingSha2(stored)) = (right, &self.credential) {
            let twice = sha256(&[&sha256(&[password])]);
            context.cache.insert(stored, twice);
        }
        self.finish(right)
    }

    fn finish(&mut self, proven: bool) -> Step {
        self.state = State::Done;
        if proven { Step::Ok } else { Step::Fail }
    }

    fn fail(&mut self) -> Step {
        self.finish(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ProtocolError;
    use crate::auth::{encrypt_password, native_scramble, sha2_scramble};
    use crate::packet::HEADER;
    use proptest::prelude::*;

    const SHA2: Option<&[u8]> = Some(CACHING_SHA2_PASSWORD.as_bytes());
    const NATIVE: Option<&[u8]> = Some(NATIVE_PASSWORD.as_bytes());

    fn nonce() -> Nonce {
        Nonce::from_random([42; 20])
    }

    fn sent(writer: &mut PacketWriter) -> Vec<u8> {
        let packet = writer.pending().get(HEADER..).unwrap_or_default().to_vec();
        writer.advance(usize::MAX);
        packet
    }

    #[test]
    fn native() {
        let context = AuthContext::default();
        let mut writer = PacketWriter::new();
        for (password, expected) in [(&b"pw"[..], Step::Ok), (b"px", Step::Fail)] {
            let answer = native_scramble(password, nonce().as_bytes());
            for plugin in [NATIVE, None] {
                let mut auth = Authenticator::new(nonce(), Credential::native(b"pw"), false);
                let step = auth.start(&context, plugin, &answer, &mut writer);
                assert_eq!(step, expected);
                assert_eq!(
                    auth.start(&context, NATIVE, &answer, &mut writer),
                    Step::Fail
                );
            }
            // A client that began with another plugin is switched.
            let mut auth = Authenticator::new(nonce(), Credential::native(b"pw"), false);
            let step = auth.start(&context, SHA2, &[1; 32], &mut writer);
            assert_eq!(step, Step::NeedMore);
            assert!(sent(&mut writer).starts_with(b"\xFEmysql_native_password\0"));
            assert_eq!(auth.resume(&context, &answer, &mut writer), expected);
        }
    }

    #[test]
    fn sha2_on_a_secure_transport_then_fast() -> Result<(), ProtocolError> {
        let context = AuthContext::default();
        let credential = Credential::caching_sha2(b"pw")?;
        let answer = sha2_scramble(b"pw", nonce().as_bytes());
        let mut writer = PacketWriter::new();
        for (password, expected) in [(&b"px\0"[..], Step::Fail), (b"pw\0", Step::Ok)] {
            let mut auth = Authenticator::new(nonce(), credential.clone(), true);
            let step = auth.start(&context, SHA2, &answer, &mut writer);
            assert_eq!(step, Step::NeedMore);
            assert_eq!(sent(&mut writer), [1, PERFORM_FULL_AUTHENTICATION]);
            assert_eq!(auth.resume(&context, password, &mut writer), expected);
        }
        let mut auth = Authenticator::new(nonce(), credential.clone(), false);
        assert_eq!(auth.start(&context, SHA2, &answer, &mut writer), Step::Ok);
        assert_eq!(sent(&mut writer), [1, FAST_AUTH_SUCCESS]);
        context.cache.clear();
        let mut auth = Authenticator::new(nonce(), credential, false);
        let step = auth.start(&context, SHA2, &answer, &mut writer);
        assert_eq!(step, Step::NeedMore);
        Ok(())
    }

    #[test]
    fn sha2_on_an_open_transport() -> Result<(), ProtocolError> {
        let context = AuthContext::default();
        let credential = Credential::caching_sha2(b"pw")?;
        let mut writer = PacketWriter::new();
        for (password, expected) in [(&b"px"[..], Step::Fail), (b"pw", Step::Ok)] {
            let mut auth = Authenticator::new(nonce(), credential.clone(), false);
            let answer = sha2_scramble(password, nonce().as_bytes());
            let step = auth.start(&context, SHA2, &answer, &mut writer);
            assert_eq!(step, Step::NeedMore);
            sent(&mut writer);
            let step = auth.resume(&context, &[REQUEST_PUBLIC_KEY], &mut writer);
            assert_eq!(step, Step::NeedMore);
            let key = sent(&mut writer);
            let encrypted = encrypt_password(password, nonce().as_bytes(), &key[1..])?;
            assert_eq!(auth.resume(&context, &encrypted, &mut writer), expected);
        }
        // A password in the clear is not taken here.
        let mut auth = Authenticator::new(nonce(), credential, false);
        auth.start(&context, SHA2, &[0; 32], &mut writer);
        assert_eq!(auth.resume(&context, b"pw\0", &mut writer), Step::Fail);
        Ok(())
    }

    #[test]
    fn empty_and_denied() {
        let context = AuthContext::default();
        let mut writer = PacketWriter::new();
        for (plugin, answer, expected) in [
            (SHA2, &b""[..], Step::Ok),
            (SHA2, b"\0", Step::Ok),
            (NATIVE, b"", Step::Ok),
            (None, b"", Step::Ok),
            (NATIVE, &[1; 20], Step::Fail),
            (SHA2, &[1; 32], Step::Fail),
            (Some(b"other"), b"", Step::NeedMore),
        ] {
            let mut auth = Authenticator::new(nonce(), Credential::Empty, false);
            assert_eq!(auth.start(&context, plugin, answer, &mut writer), expected);
            let mut auth = Authenticator::new(nonce(), Credential::Denied, true);
            let step = auth.start(&context, plugin, answer, &mut writer);
            assert_ne!(step, Step::Ok);
            if step == Step::NeedMore {
                assert_ne!(auth.resume(&context, b"\0", &mut writer), Step::Ok);
            }
        }
    }

    proptest! {
        #[test]
        fn no_bytes_get_in_or_panic(packets: Vec<Vec<u8>>, secure: bool, plugin in 0..3usize) {
            let context = AuthContext::default();
            let mut writer = PacketWriter::new();
            let mut auth = Authenticator::new(nonce(), Credential::Native([3; 20]), secure);
            let plugin = [SHA2, NATIVE, None][plugin];
            let mut step = auth.start(&context, plugin, &[0; 32], &mut writer);
            for packet in &packets {
                prop_assert_ne!(step, Step::Ok);
                step = auth.resume(&context, packet, &mut writer);
            }
            prop_assert_ne!(step, Step::Ok);
        }
    }
}
