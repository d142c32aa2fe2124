//! The server's side of an authentication, packet by packet.

use super::AuthContext;
use super::credential::Credential;
use super::scramble::{native_proves, sha2_proves, sha256};
use crate::handshake::{
    CACHING_SHA2_PASSWORD, NATIVE_PASSWORD, Nonce, SHA256_PASSWORD, write_auth_more,
    write_auth_switch,
};
use crate::packet::PacketWriter;

/// caching_sha2: the fast proof was enough; OK follows.
const FAST_AUTH_SUCCESS: u8 = 3;
/// caching_sha2: the password itself is wanted.
const PERFORM_FULL_AUTHENTICATION: u8 = 4;
/// caching_sha2: the client wants the public key first.
const REQUEST_PUBLIC_KEY: u8 = 2;
/// sha256_password: the client wants the public key first.
const REQUEST_SHA256_KEY: u8 = 1;

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

/// A way to prove a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plugin {
    /// mysql_native_password.
    Native,
    /// caching_sha2_password.
    Sha2,
    /// sha256_password.
    Sha256,
}

impl Plugin {
    /// The name clients and accounts have for it.
    pub fn name(self) -> &'static str {
        match self {
            Plugin::Native => NATIVE_PASSWORD,
            Plugin::Sha2 => CACHING_SHA2_PASSWORD,
            Plugin::Sha256 => SHA256_PASSWORD,
        }
    }

    /// The plugin of that name, if it is one of the three.
    pub fn of(name: &[u8]) -> Option<Plugin> {
        [Plugin::Native, Plugin::Sha2, Plugin::Sha256]
            .into_iter()
            .find(|plugin| plugin.name().as_bytes() == name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing has been seen.
    Start,
    /// The answer to an authentication switch is awaited.
    Proof,
    /// The password, or on an open transport a request for the key, is awaited.
    Password,
    /// The password encrypted with the key is awaited.
    Encrypted,
    /// Over.
    Done,
}

/// One client's authentication. For the first login and for COM_CHANGE_USER alike.
///
/// A client that is refused learns nothing of the account: packets and their number follow from the account's plugin and
/// what the client sent, and an account that does not exist is given a plugin as well. Time is spent alike too.
#[derive(Debug)]
pub struct Authenticator {
    nonce: Nonce,
    plugin: Plugin,
    credential: Credential,
    /// The password before, which is as good as the present one.
    second: Credential,
    secure_transport: bool,
    state: State,
}

impl Authenticator {
    /// An authentication by `plugin` against `credential` over the connection's `nonce`. `secure_transport`: nobody can listen, so
    /// the client may send its password in the clear. True for a Unix socket, TLS, and TCP from loopback, where
    /// MariaDB's client library sends it so.
    pub fn new(
        nonce: Nonce,
        plugin: Plugin,
        credential: Credential,
        secure_transport: bool,
    ) -> Self {
        Authenticator {
            nonce,
            plugin,
            credential,
            second: Credential::Denied,
            secure_transport,
            state: State::Start,
        }
    }

    /// Takes another password as well: the one before. Of no plugin but this one.
    pub fn or(&mut self, second: Credential) {
        self.second = second;
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
        // MariaDB as a replica answers nothing at first where the greeting is of a plugin that it does not know, and waits for the switch,
        // which it gets from MySQL in any case.
        let waits = self.plugin == Plugin::Native && client_plugin.is_some() && answer.is_empty();
        if offered == Some(self.plugin) && !waits {
            return self.prove(context, answer, writer);
        }
        // No proof is needed: whatever the client speaks.
        if let Some(offered) = offered
            && self.credential == Credential::Empty
            && is_no_password(offered, answer)
        {
            return self.finish(true);
        }
        write_auth_switch(self.plugin.name(), &self.nonce, writer);
        self.state = State::Proof;
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
            State::Proof => self.prove(context, packet, writer),
            State::Password if packet == [REQUEST_PUBLIC_KEY] => self.give_key(context, writer),
            State::Password => self.take_password(context, packet),
            State::Encrypted => match context.rsa.decrypt_password(packet, self.nonce.as_bytes()) {
                Some(password) => self.check(context, &password),
                None => self.fail(),
            },
            State::Start | State::Done => self.fail(),
        }
    }

    /// Sends the public key, by which the password is to come.
    fn give_key(&mut self, context: &AuthContext, writer: &mut PacketWriter) -> Step {
        match context.rsa.public_pem() {
            Ok(pem) => {
                write_auth_more(pem.as_bytes(), writer);
                self.state = State::Encrypted;
                Step::NeedMore
            }
            Err(_) => self.fail(),
        }
    }

    /// The password itself: in the clear where nobody can listen. A client that has the key from before sends it encrypted at once.
    fn take_password(&mut self, context: &AuthContext, packet: &[u8]) -> Step {
        let decrypted = context.rsa.decrypt_password(packet, self.nonce.as_bytes());
        match (decrypted, packet.strip_suffix(b"\0")) {
            (Some(password), _) => self.check(context, &password),
            (None, Some(password)) if self.secure_transport => self.check(context, password),
            _ => self.fail(),
        }
    }

    fn prove(&mut self, context: &AuthContext, answer: &[u8], writer: &mut PacketWriter) -> Step {
        if is_no_password(self.plugin, answer) {
            return self.finish(self.credential == Credential::Empty);
        }
        let nonce = self.nonce.as_bytes();
        match self.plugin {
            Plugin::Native => {
                let proven = [&self.credential, &self.second].map(|credential| {
                    // What nobody's password gives stands in where there is no hash to compare with.
                    let (stored, real) = match credential {
                        Credential::Native(stored) => (*stored, true),
                        _ => ([0; 20], false),
                    };
                    let proven = <&[u8; 20]>::try_from(answer)
                        .is_ok_and(|answer| native_proves(answer, &stored, nonce));
                    proven && real
                });
                self.finish(proven.contains(&true))
            }
            Plugin::Sha256 if answer == [REQUEST_SHA256_KEY] => self.give_key(context, writer),
            Plugin::Sha256 => self.take_password(context, answer),
            Plugin::Sha2 => {
                let Ok(answer) = <&[u8; 32]>::try_from(answer) else {
                    return self.fail();
                };
                let known = |credential: &Credential| match credential {
                    Credential::CachingSha2(stored) => context
                        .cache
                        .get(stored)
                        .is_some_and(|twice| sha2_proves(answer, &twice, nonce)),
                    _ => false,
                };
                if known(&self.credential) || known(&self.second) {
                    write_auth_more(&[FAST_AUTH_SUCCESS], writer);
                    return self.finish(true);
                }
                self.ask_password(writer)
            }
        }
    }

    fn ask_password(&mut self, writer: &mut PacketWriter) -> Step {
        write_auth_more(&[PERFORM_FULL_AUTHENTICATION], writer);
        self.state = State::Password;
        Step::NeedMore
    }

    fn check(&mut self, context: &AuthContext, password: &[u8]) -> Step {
        let right = match &self.credential {
            Credential::CachingSha2(_) | Credential::Sha256(_) => self.credential.verify(password),
            // The time is what tells apart: it is spent as well where there is no hash to compare with.
            _ => {
                Credential::burn(password);
                false
            }
        };
        let before = !right
            && matches!(
                self.second,
                Credential::CachingSha2(_) | Credential::Sha256(_)
            )
            && self.second.verify(password);
        let used = if before {
            &self.second
        } else {
            &self.credential
        };
        if let (true, Credential::CachingSha2(stored)) = (right || before, used) {
            let twice = sha256(&[&sha256(&[password])]);
            context.cache.insert(stored, twice);
        }
        self.finish(right || before)
    }

    fn finish(&mut self, proven: bool) -> Step {
        self.state = State::Done;
        if proven { Step::Ok } else { Step::Fail }
    }

    fn fail(&mut self) -> Step {
        self.finish(false)
    }
}

/// Whether an answer says that there is no password. Under caching_sha2 and sha256 a lone NUL does too.
fn is_no_password(plugin: Plugin, answer: &[u8]) -> bool {
    answer.is_empty() || (plugin != Plugin::Native && answer == [0])
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
                let mut auth =
                    Authenticator::new(nonce(), Plugin::Native, Credential::native(b"pw"), false);
                let step = auth.start(&context, plugin, &answer, &mut writer);
                assert_eq!(step, expected);
                assert_eq!(
                    auth.start(&context, NATIVE, &answer, &mut writer),
                    Step::Fail
                );
            }
            // A client that began with another plugin is switched.
            let mut auth =
                Authenticator::new(nonce(), Plugin::Native, Credential::native(b"pw"), false);
            let step = auth.start(&context, SHA2, &[1; 32], &mut writer);
            assert_eq!(step, Step::NeedMore);
            assert!(sent(&mut writer).starts_with(b"\xFEmysql_native_password\0"));
            assert_eq!(auth.resume(&context, &answer, &mut writer), expected);
        }
    }

    /// As MariaDB's replicas do where the greeting names a plugin that they do not know.
    #[test]
    fn who_answers_nothing_to_native_is_switched_to_it() {
        let context = AuthContext::default();
        let mut writer = PacketWriter::new();
        let credential = Credential::native(b"pw");
        let mut auth = Authenticator::new(nonce(), Plugin::Native, credential, false);
        let step = auth.start(&context, NATIVE, b"", &mut writer);
        assert_eq!(step, Step::NeedMore);
        assert!(sent(&mut writer).starts_with(b"\xFEmysql_native_password\0"));
        let answer = native_scramble(b"pw", nonce().as_bytes());
        assert_eq!(auth.resume(&context, &answer, &mut writer), Step::Ok);
        // Nothing is the right answer where there is no password.
        let mut auth = Authenticator::new(nonce(), Plugin::Native, Credential::Empty, false);
        let step = auth.start(&context, NATIVE, b"", &mut writer);
        assert_eq!(step, Step::Ok);
    }

    #[test]
    fn the_password_before_is_as_good() -> Result<(), ProtocolError> {
        let context = AuthContext::default();
        let mut writer = PacketWriter::new();
        for (password, expected) in [
            (&b"new"[..], Step::Ok),
            (b"old", Step::Ok),
            (b"none", Step::Fail),
        ] {
            let answer = native_scramble(password, nonce().as_bytes());
            let new = Credential::native(b"new");
            let mut auth = Authenticator::new(nonce(), Plugin::Native, new, false);
            auth.or(Credential::native(b"old"));
            assert_eq!(auth.start(&context, NATIVE, &answer, &mut writer), expected);
        }
        let (new, old) = (
            Credential::caching_sha2(b"new")?,
            Credential::caching_sha2(b"old")?,
        );
        let login = |password: &[u8], writer: &mut PacketWriter| {
            let mut auth = Authenticator::new(nonce(), Plugin::Sha2, new.clone(), true);
            auth.or(old.clone());
            let answer = sha2_scramble(password, nonce().as_bytes());
            let first = auth.start(&context, SHA2, &answer, writer);
            let clear = [password, b"\0"].concat();
            match first {
                Step::NeedMore => (first, auth.resume(&context, &clear, writer)),
                step => (step, step),
            }
        };
        for password in [&b"old"[..], b"new"] {
            assert_eq!(login(password, &mut writer), (Step::NeedMore, Step::Ok));
            assert_eq!(login(password, &mut writer), (Step::Ok, Step::Ok));
        }
        assert_eq!(login(b"none", &mut writer), (Step::NeedMore, Step::Fail));
        Ok(())
    }

    #[test]
    fn sha2_on_a_secure_transport_then_fast() -> Result<(), ProtocolError> {
        let context = AuthContext::default();
        let credential = Credential::caching_sha2(b"pw")?;
        let answer = sha2_scramble(b"pw", nonce().as_bytes());
        let mut writer = PacketWriter::new();
        for (password, expected) in [(&b"px\0"[..], Step::Fail), (b"pw\0", Step::Ok)] {
            let mut auth = Authenticator::new(nonce(), Plugin::Sha2, credential.clone(), true);
            let step = auth.start(&context, SHA2, &answer, &mut writer);
            assert_eq!(step, Step::NeedMore);
            assert_eq!(sent(&mut writer), [1, PERFORM_FULL_AUTHENTICATION]);
            assert_eq!(auth.resume(&context, password, &mut writer), expected);
        }
        let mut auth = Authenticator::new(nonce(), Plugin::Sha2, credential.clone(), false);
        assert_eq!(auth.start(&context, SHA2, &answer, &mut writer), Step::Ok);
        assert_eq!(sent(&mut writer), [1, FAST_AUTH_SUCCESS]);
        context.cache.clear();
        let mut auth = Authenticator::new(nonce(), Plugin::Sha2, credential, false);
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
            let mut auth = Authenticator::new(nonce(), Plugin::Sha2, credential.clone(), false);
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
        let mut auth = Authenticator::new(nonce(), Plugin::Sha2, credential, false);
        auth.start(&context, SHA2, &[0; 32], &mut writer);
        assert_eq!(auth.resume(&context, b"pw\0", &mut writer), Step::Fail);
        Ok(())
    }

    #[test]
    fn sha256_by_key_and_in_the_clear() -> Result<(), ProtocolError> {
        let context = AuthContext::default();
        let credential = Credential::sha256(b"pw")?;
        assert_eq!(
            Credential::parse(SHA256_PASSWORD, &credential.to_stored()),
            Some(credential.clone())
        );
        let mut writer = PacketWriter::new();
        for (password, expected) in [(&b"px"[..], Step::Fail), (b"pw", Step::Ok)] {
            let clear = [password, b"\0"].concat();
            let new =
                |secure| Authenticator::new(nonce(), Plugin::Sha256, credential.clone(), secure);
            // In the clear where nobody listens, and not elsewhere.
            for (secure, expected) in [(true, expected), (false, Step::Fail)] {
                let mut auth = new(secure);
                let step = auth.start(&context, SHA2, &[1; 32], &mut writer);
                assert_eq!(step, Step::NeedMore);
                assert!(sent(&mut writer).starts_with(b"\xFEsha256_password\0"));
                assert_eq!(auth.resume(&context, &clear, &mut writer), expected);
            }
            let mut auth = new(false);
            let name = Some(SHA256_PASSWORD.as_bytes());
            let step = auth.start(&context, name, &[REQUEST_SHA256_KEY], &mut writer);
            assert_eq!(step, Step::NeedMore);
            let key = sent(&mut writer);
            let encrypted = encrypt_password(password, nonce().as_bytes(), &key[1..])?;
            assert_eq!(auth.resume(&context, &encrypted, &mut writer), expected);
        }
        let mut auth = Authenticator::new(nonce(), Plugin::Sha256, Credential::Empty, false);
        auth.start(&context, SHA2, &[1; 32], &mut writer);
        assert_eq!(auth.resume(&context, b"\0", &mut writer), Step::Ok);
        Ok(())
    }

    #[test]
    fn an_empty_password_is_asked_for_nothing() {
        let context = AuthContext::default();
        let mut writer = PacketWriter::new();
        for account in [Plugin::Native, Plugin::Sha2] {
            for (plugin, answer) in [(SHA2, &b""[..]), (SHA2, b"\0"), (NATIVE, b""), (None, b"")] {
                let mut auth = Authenticator::new(nonce(), account, Credential::Empty, false);
                let step = auth.start(&context, plugin, answer, &mut writer);
                assert_eq!(step, Step::Ok);
                let mut auth = Authenticator::new(nonce(), account, Credential::Denied, true);
                let step = auth.start(&context, plugin, answer, &mut writer);
                assert_ne!(step, Step::Ok);
                if step == Step::NeedMore {
                    assert_ne!(auth.resume(&context, answer, &mut writer), Step::Ok);
                }
            }
        }
    }

    /// Every packet of an authentication that fails, and how it ends.
    fn conversation(
        context: &AuthContext,
        (account, credential): (Plugin, &Credential),
        secure: bool,
        (client, answer): (Option<&[u8]>, &[u8]),
        rest: &[&[u8]],
    ) -> (Vec<Vec<u8>>, Step) {
        let mut writer = PacketWriter::new();
        let mut packets = Vec::new();
        let mut auth = Authenticator::new(nonce(), account, credential.clone(), secure);
        let mut step = auth.start(context, client, answer, &mut writer);
        let mut rest = rest.iter();
        while step == Step::NeedMore {
            packets.push(sent(&mut writer));
            let Some(answer) = rest.next() else { break };
            step = auth.resume(context, answer, &mut writer);
        }
        assert!(writer.pending().is_empty());
        (packets, step)
    }

    /// Whoever has the wrong password gets the same packets whether the account has a password, has none, or is not there.
    #[test]
    fn a_refusal_tells_nothing_of_the_account() -> Result<(), ProtocolError> {
        let context = AuthContext::default();
        let key = context.rsa.public_pem()?.as_bytes().to_vec();
        let wrong = encrypt_password(b"wrong", nonce().as_bytes(), &key)?;
        let sha2 = Credential::caching_sha2(b"pw")?;
        // The password has been used before: a cached proof changes nothing for those who have it not.
        let mut writer = PacketWriter::new();
        let mut auth = Authenticator::new(nonce(), Plugin::Sha2, sha2.clone(), true);
        auth.start(&context, SHA2, &[9; 32], &mut writer);
        assert_eq!(auth.resume(&context, b"pw\0", &mut writer), Step::Ok);

        let answers: [&[u8]; 3] = [&[1; 20], &[1; 32], b"x"];
        let seconds: [&[u8]; 6] = [&[1; 20], &[1; 32], b"wrong\0", &[2], b"", &wrong];
        let mut longest = 0;
        for (account, known) in [
            (Plugin::Native, Credential::native(b"pw")),
            (Plugin::Sha2, sha2),
        ] {
            for client in [NATIVE, SHA2, Some(&b"mysql_clear_password"[..])] {
                for answer in answers {
                    for (second, third) in seconds
                        .into_iter()
                        .flat_map(|s| [(s, &[2][..]), (s, &wrong)])
                    {
                        for secure in [false, true] {
                            let of = |credential: &Credential| {
                                let rest = [second, third, &wrong[..]];
                                let account = (account, credential);
                                conversation(&context, account, secure, (client, answer), &rest)
                            };
                            let told = of(&known);
                            longest = longest.max(told.0.len());
                            assert_ne!(told.1, Step::Ok);
                            assert_eq!(told, of(&Credential::Denied));
                            if second != b"" {
                                assert_eq!(told, of(&Credential::Empty));
                            }
                        }
                    }
                }
            }
        }
        assert_eq!(
            longest, 3,
            "a switch, the question for the password, the key"
        );
        Ok(())
    }

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn no_bytes_get_in_or_panic(packets: Vec<Vec<u8>>, secure: bool, plugin in 0..3usize) {
            let context = AuthContext::default();
            let mut writer = PacketWriter::new();
            let mut auth = Authenticator::new(nonce(), Plugin::Native, Credential::Native([3; 20]), secure);
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
