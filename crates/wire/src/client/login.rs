//! The client's side of handshake and authentication.

use super::{ClientError, ServerError};
use crate::auth::{encrypt_password, native_scramble, sha2_scramble};
use crate::capability::{self, has};
use crate::error::ProtocolError;
use crate::handshake::{
    Attributes, CACHING_SHA2_PASSWORD, ChangeUser, Greeting, HandshakeResponse, NATIVE_PASSWORD,
    Nonce,
};
use crate::packet::PacketWriter;
use crate::read::Reader;
use crate::response::{EOF_HEADER, ERR_HEADER, OK_HEADER};
use crate::write::Put;

/// What this client can do.
const CLIENT: u32 = capability::LONG_PASSWORD
    | capability::LONG_FLAG
    | capability::PROTOCOL_41
    | capability::TRANSACTIONS
    | capability::SECURE_CONNECTION
    | capability::MULTI_STATEMENTS
    | capability::MULTI_RESULTS
    | capability::PS_MULTI_RESULTS
    | capability::PLUGIN_AUTH
    | capability::PLUGIN_AUTH_LENENC_CLIENT_DATA
    | capability::CONNECT_ATTRS
    | capability::SESSION_TRACK
    | capability::DEPRECATE_EOF;

/// What comes after a packet of the login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginStep {
    /// Send what was written, if anything, and read on.
    NeedMore,
    /// Logged in.
    Done,
}

/// The packet that asks for TLS, after the greeting; [`Login::over_tls`] goes on. False where the server has none.
///
/// # Errors
/// [`ProtocolError::Malformed`]: it is no greeting.
pub fn ssl_request(greeting: &[u8], writer: &mut PacketWriter) -> Result<bool, ClientError> {
    let greeting = Greeting::parse(greeting)?;
    if !has(greeting.capabilities, capability::SSL) {
        return Ok(false);
    }
    writer.set_sequence(1);
    writer.begin();
    let buf = writer.buf();
    buf.put_u32((CLIENT | capability::SSL) & greeting.capabilities);
    buf.put_u32(1 << 30);
    buf.put_u8(45);
    buf.put_bytes(&[0; 23]);
    writer.end();
    Ok(true)
}

/// A login under way. Also drives COM_CHANGE_USER on a connection that is open.
#[derive(Debug)]
pub struct Login {
    user: String,
    password: String,
    database: Option<String>,
    secure_transport: bool,
    wanted: u32,
    capabilities: u32,
    nonce: Nonce,
    greeted: bool,
    key_requested: bool,
    /// Whether the server's key may be asked for, where it wants the password over an open transport.
    may_ask_key: bool,
}

impl Login {
    /// A login; `secure_transport` allows the password to be sent in the clear if the server wants it.
    pub fn new(
        user: &str,
        password: &str,
        database: Option<&str>,
        secure_transport: bool,
    ) -> Login {
        Login {
            user: user.to_owned(),
            password: password.to_owned(),
            database: database.map(str::to_owned),
            secure_transport,
            wanted: CLIENT,
            capabilities: 0,
            nonce: Nonce::from_wire([0; 20]),
            greeted: false,
            key_requested: false,
            may_ask_key: true,
        }
    }

    /// Asks for other capabilities than usual, to see how a server treats clients that have less.
    pub fn set_wanted_capabilities(&mut self, capabilities: u32) {
        self.wanted = capabilities | capability::PROTOCOL_41 | capability::SECURE_CONNECTION;
    }

    /// The greeting came in the open, and the rest goes over TLS, which was asked for with [`ssl_request`].
    pub fn over_tls(&mut self) {
        self.wanted |= capability::SSL;
        self.secure_transport = true;
    }

    /// Does not take the server's word for what its key is: over an open transport a password that it does not know already is not
    /// given to it.
    pub fn without_key(&mut self) {
        self.may_ask_key = false;
    }

    /// Lets the server ask for the contents of files, for
    /// [`query_with_file`](super::blocking::Conn::query_with_file).
    pub fn allow_files(&mut self) {
        self.wanted |= capability::LOCAL_FILES;
    }

    /// What both sides can do, once greeted.
    pub fn capabilities(&self) -> u32 {
        self.capabilities
    }

    /// Takes a packet of the server.
    ///
    /// # Errors
    /// The server's refusal, or a packet that makes no sense.
    pub fn packet(
        &mut self,
        packet: &[u8],
        writer: &mut PacketWriter,
    ) -> Result<LoginStep, ClientError> {
        match packet.first() {
            Some(&ERR_HEADER) => {
                return Err(ClientError::Server(ServerError::parse(packet)?));
            }
            Some(_) if !self.greeted => self.greet(packet, writer)?,
            Some(&OK_HEADER) => return Ok(LoginStep::Done),
            Some(&EOF_HEADER) => self.switch(packet, writer)?,
            Some(&1) => self.more(&packet[1..], writer)?,
            _ => return Err(ProtocolError::Malformed.into()),
        }
        Ok(LoginStep::NeedMore)
    }

    fn greet(&mut self, packet: &[u8], writer: &mut PacketWriter) -> Result<(), ClientError> {
        let greeting = Greeting::parse(packet)?;
        self.greeted = true;
        self.nonce = greeting.nonce;
        let mut wanted = self.wanted;
        if self.database.is_some() {
            wanted |= capability::CONNECT_WITH_DB;
        }
        self.capabilities = wanted & greeting.capabilities;
        let plugin = if self.known(greeting.auth_plugin) {
            greeting.auth_plugin
        } else {
            NATIVE_PASSWORD.as_bytes()
        };
        let mut attributes = Vec::new();
        for (name, value) in [("_client_name", "tidemill"), ("_os", "Linux")] {
            attributes.put_lenenc_bytes(name.as_bytes());
            attributes.put_lenenc_bytes(value.as_bytes());
        }
        let response = HandshakeResponse {
            capabilities: self.capabilities,
            max_packet: 1 << 30,
            collation: 45,
            user: self.user.as_bytes(),
            auth_response: &self.proof(plugin),
            database: self.database.as_deref().map(str::as_bytes),
            auth_plugin: Some(plugin),
            attributes: Attributes::from_encoded(&attributes),
            zstd_level: 0,
        };
        response.write(writer);
        Ok(())
    }

    /// Starts COM_CHANGE_USER with what `new` got, on the connection that `self` logged in.
    pub fn change_user(&mut self, new: Login, writer: &mut PacketWriter) {
        self.user = new.user;
        self.password = new.password;
        self.database = new.database;
        self.key_requested = false;
        let plugin = CACHING_SHA2_PASSWORD.as_bytes();
        let change = ChangeUser {
            user: self.user.as_bytes(),
            auth_response: &self.proof(plugin),
            database: self.database.as_deref().map(str::as_bytes),
            collation: Some(45),
            auth_plugin: Some(plugin),
            attributes: Attributes::default(),
        };
        change.write(self.capabilities, writer);
    }

    fn switch(&mut self, packet: &[u8], writer: &mut PacketWriter) -> Result<(), ClientError> {
        let mut reader = Reader::new(&packet[1..]);
        let plugin = reader.nul_bytes()?;
        self.nonce = Nonce::from_wire(reader.array()?);
        if !self.known(plugin) {
            return Err(ClientError::Unsupported("authentication plugin"));
        }
        let proof = self.proof(plugin);
        writer.begin();
        writer.buf().put_bytes(&proof);
        writer.end();
        Ok(())
    }

    fn more(&mut self, data: &[u8], writer: &mut PacketWriter) -> Result<(), ClientError> {
        let password = self.password.as_bytes();
        match data {
            // The fast proof was enough; OK follows.
            [3] => {}
            [4] if self.secure_transport => {
                writer.begin();
                writer.buf().put_nul_bytes(password);
                writer.end();
            }
            [4] if !self.may_ask_key => {
                return Err(ClientError::Unsupported(
                    "a password over a connection that is not secure",
                ));
            }
            [4] => {
                writer.begin();
                writer.buf().put_u8(2);
                writer.end();
                self.key_requested = true;
            }
            pem if self.key_requested => {
                let encrypted = encrypt_password(password, self.nonce.as_bytes(), pem)?;
                writer.begin();
                writer.buf().put_bytes(&encrypted);
                writer.end();
            }
            _ => return Err(ProtocolError::Malformed.into()),
        }
        Ok(())
    }

    fn known(&self, plugin: &[u8]) -> bool {
        plugin == NATIVE_PASSWORD.as_bytes() || plugin == CACHING_SHA2_PASSWORD.as_bytes()
    }

    fn proof(&self, plugin: &[u8]) -> Vec<u8> {
        let password = self.password.as_bytes();
        if password.is_empty() {
            Vec::new()
        } else if plugin == NATIVE_PASSWORD.as_bytes() {
            native_scramble(password, self.nonce.as_bytes()).to_vec()
        } else {
            sha2_scramble(password, self.nonce.as_bytes()).to_vec()
        }
    }

    /// Whether the connection's result sets end without EOF packets.
    pub fn deprecates_eof(&self) -> bool {
        has(self.capabilities, capability::DEPRECATE_EOF)
    }
}
