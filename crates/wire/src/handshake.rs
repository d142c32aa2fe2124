//! The first packets of a connection: greeting, handshake response, authentication switch, COM_CHANGE_USER.
//!
//! Layouts only; who may come in is [`auth`](crate::auth)'s question.

use crate::capability::{self, has};
use crate::error::ProtocolError;
use crate::packet::PacketWriter;
use crate::read::{ReadResult, Reader};
use crate::write::Put;

/// The version string servers show; its start tells clients which paths to take.
pub const SERVER_VERSION: &str = "8.0.41-tidemill";
/// The password proof of MySQL 4.1 to 5.7.
pub const NATIVE_PASSWORD: &str = "mysql_native_password";
/// The password proof of MySQL 8.
pub const CACHING_SHA2_PASSWORD: &str = "caching_sha2_password";

/// The password proof of MySQL 5.6, without a memory of who has proved.
pub const SHA256_PASSWORD: &str = "sha256_password";

/// Twenty random bytes, none zero or `$`, that make each proof of a password unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nonce([u8; 20]);

impl Nonce {
    /// A nonce from bytes of chance, given from outside.
    pub fn from_random(mut bytes: [u8; 20]) -> Nonce {
        for byte in &mut bytes {
            *byte &= 0x7F;
            if matches!(*byte, 0 | b'$') {
                *byte += 1;
            }
        }
        Nonce(bytes)
    }

    /// A nonce from the operating system's randomness.
    ///
    /// # Errors
    /// [`ProtocolError::Crypto`] when there is none.
    pub fn generate() -> Result<Nonce, ProtocolError> {
        let mut bytes = [0; 20];
        aws_lc_rs::rand::fill(&mut bytes).map_err(|_| ProtocolError::Crypto)?;
        Ok(Nonce::from_random(bytes))
    }

    /// A nonce as a server sent it.
    pub const fn from_wire(bytes: [u8; 20]) -> Nonce {
        Nonce(bytes)
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }
}

/// The initial handshake packet, version 10: the server's first words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Greeting<'a> {
    /// The version string, such as [`SERVER_VERSION`].
    pub server_version: &'a [u8],
    /// The connection's id.
    pub connection_id: u32,
    /// The nonce.
    pub nonce: Nonce,
    /// What the server offers.
    pub capabilities: u32,
    /// The default collation's id (its low byte).
    pub collation: u8,
    /// Server status.
    pub status: u16,
    /// The plugin the nonce is meant for, unless a switch names another.
    pub auth_plugin: &'a [u8],
}

impl<'a> Greeting<'a> {
    /// A Tidemill server's greeting: its full capabilities, utf8mb4, caching_sha2_password.
    pub const fn new(server_version: &'a [u8], connection_id: u32, nonce: Nonce) -> Self {
        Greeting {
            server_version,
            connection_id,
            nonce,
            capabilities: capability::SERVER,
            collation: crate::column_type::UTF8MB4_0900_AI_CI as u8,
            status: crate::status::AUTOCOMMIT,
            auth_plugin: CACHING_SHA2_PASSWORD.as_bytes(),
        }
    }

    /// Writes it as one packet.
    pub fn write(&self, writer: &mut PacketWriter) {
        let [c0, c1, c2, c3] = self.capabilities.to_le_bytes();
        writer.begin();
        let buf = writer.buf();
        buf.put_u8(10);
        buf.put_nul_bytes(self.server_version);
        buf.put_u32(self.connection_id);
        buf.put_bytes(&self.nonce.0[..8]);
        buf.put_u8(0);
        buf.put_bytes(&[c0, c1]);
        buf.put_u8(self.collation);
        buf.put_u16(self.status);
        buf.put_bytes(&[c2, c3]);
        buf.put_u8(21);
        buf.put_bytes(&[0; 10]);
        buf.put_bytes(&self.nonce.0[8..]);
        buf.put_u8(0);
        buf.put_nul_bytes(self.auth_plugin);
        writer.end();
    }

    /// Reads a server's greeting.
    ///
    /// # Errors
    /// [`ProtocolError::BadHandshake`] for another version or a short packet.
    pub fn parse(packet: &'a [u8]) -> ReadResult<Greeting<'a>> {
        Greeting::fields(packet).map_err(|_| ProtocolError::BadHandshake)
    }

    fn fields(packet: &'a [u8]) -> ReadResult<Greeting<'a>> {
        let mut reader = Reader::new(packet);
        if reader.u8()? != 10 {
            return Err(ProtocolError::BadHandshake);
        }
        let server_version = reader.nul_bytes()?;
        let connection_id = reader.u32()?;
        let mut nonce = [0; 20];
        nonce[..8].copy_from_slice(reader.read_bytes(8)?);
        reader.u8()?;
        let low = reader.u16()?;
        let collation = reader.u8()?;
        let status = reader.u16()?;
        let high = reader.u16()?;
        reader.u8()?;
        reader.read_bytes(10)?;
        nonce[8..].copy_from_slice(reader.read_bytes(12)?);
        reader.u8()?;
        Ok(Greeting {
            server_version,
            connection_id,
            nonce: Nonce(nonce),
            capabilities: u32::from(high) << 16 | u32::from(low),
            collation,
            status,
            auth_plugin: reader.nul_or_end_bytes(),
        })
    }
}

/// What a client sends first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientHello<'a> {
    /// A short packet that asks for TLS; the login follows inside of it.
    SslRequest {
        /// The client's capabilities.
        capabilities: u32,
    },
    /// The handshake response.
    Login(HandshakeResponse<'a>),
}

/// HandshakeResponse41. Strings are in the client's character set and not checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HandshakeResponse<'a> {
    /// What both sides can do.
    pub capabilities: u32,
    /// The client's largest packet, in bytes.
    pub max_packet: u32,
    /// The collation id of the connection.
    pub collation: u16,
    /// User name.
    pub user: &'a [u8],
    /// The first answer to the nonce; empty for no password.
    pub auth_response: &'a [u8],
    /// The database to start in.
    pub database: Option<&'a [u8]>,
    /// The plugin that made `auth_response`.
    pub auth_plugin: Option<&'a [u8]>,
    /// Connection attributes.
    pub attributes: Attributes<'a>,
    /// The level of zstd, where that is among the capabilities.
    pub zstd_level: u8,
}

impl<'a> ClientHello<'a> {
    /// Reads a client's first packet; `offered` are the server's capabilities, without TLS for the packet inside of it.
    ///
    /// # Errors
    /// [`ProtocolError::BadHandshake`] for anything but a well-formed 4.1 response.
    pub fn parse(packet: &'a [u8], offered: u32) -> ReadResult<ClientHello<'a>> {
        ClientHello::fields(packet, offered).map_err(|_| ProtocolError::BadHandshake)
    }

    fn fields(packet: &'a [u8], offered: u32) -> ReadResult<ClientHello<'a>> {
        let mut reader = Reader::new(packet);
        let named = reader.u32()?;
        if !has(named, capability::PROTOCOL_41) {
            return Err(ProtocolError::BadHandshake);
        }
        let capabilities = named & offered;
        let max_packet = reader.u32()?;
        // One byte, by the letter; two since the ids outgrew it, of what was filler.
        let collation = u16::from(reader.u8()?);
        reader.read_bytes(23)?;
        if has(named, capability::SSL) && reader.is_empty() {
            return Ok(ClientHello::SslRequest { capabilities });
        }
        // Whoever asks for TLS says nothing more before it: what stands here may be somebody else's.
        if has(capabilities, capability::SSL) {
            return Err(ProtocolError::BadHandshake);
        }
        let user = reader.nul_bytes()?;
        // The lengths below follow what the client named: it could not know better when it wrote them.
        let auth_response = if has(named, capability::PLUGIN_AUTH_LENENC_CLIENT_DATA) {
            reader.lenenc_bytes()?
        } else if has(named, capability::SECURE_CONNECTION) {
            let length = reader.u8()?;
            reader.read_bytes(usize::from(length))?
        } else {
            reader.nul_bytes()?
        };
        let database = (has(named, capability::CONNECT_WITH_DB) && !reader.is_empty())
            .then(|| reader.nul_or_end_bytes());
        let auth_plugin = (has(named, capability::PLUGIN_AUTH) && !reader.is_empty())
            .then(|| reader.nul_or_end_bytes());
        let attributes = if has(named, capability::CONNECT_ATTRS) {
            Attributes::read(&mut reader)?
        } else {
            Attributes::default()
        };
        let zstd_level = match has(named, capability::ZSTD_COMPRESSION_ALGORITHM) {
            true if !reader.is_empty() => reader.u8()?,
            _ => 0,
        };
        Ok(ClientHello::Login(HandshakeResponse {
            capabilities,
            max_packet,
            collation,
            user,
            auth_response,
            database: database.filter(|name| !name.is_empty()),
            auth_plugin,
            attributes,
            zstd_level,
        }))
    }
}

impl HandshakeResponse<'_> {
    /// Writes it as one packet, in the layout its capabilities ask for.
    pub fn write(&self, writer: &mut PacketWriter) {
        writer.begin();
        let buf = writer.buf();
        buf.put_u32(self.capabilities);
        buf.put_u32(self.max_packet);
        buf.put_u8(self.collation as u8);
        buf.put_bytes(&[0; 23]);
        buf.put_nul_bytes(self.user);
        if has(
            self.capabilities,
            capability::PLUGIN_AUTH_LENENC_CLIENT_DATA,
        ) {
            buf.put_lenenc_bytes(self.auth_response);
        } else {
            let length = self.auth_response.len().min(255);
            buf.put_u8(length as u8);
            buf.put_bytes(&self.auth_response[..length]);
        }
        if has(self.capabilities, capability::CONNECT_WITH_DB) {
            buf.put_nul_bytes(self.database.unwrap_or_default());
        }
        if has(self.capabilities, capability::PLUGIN_AUTH) {
            buf.put_nul_bytes(self.auth_plugin.unwrap_or_default());
        }
        if has(self.capabilities, capability::CONNECT_ATTRS) {
            buf.put_lenenc_bytes(self.attributes.raw);
        }
        if has(self.capabilities, capability::ZSTD_COMPRESSION_ALGORITHM) {
            buf.put_u8(self.zstd_level);
        }
        writer.end();
    }
}

/// Connection attributes (`_client_name`, `program_name`, …), read as they are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attributes<'a> {
    raw: &'a [u8],
}

impl<'a> Attributes<'a> {
    /// Attributes over their encoded form: length-encoded names and values, alternating.
    pub const fn from_encoded(raw: &'a [u8]) -> Self {
        Attributes { raw }
    }

    fn read(reader: &mut Reader<'a>) -> ReadResult<Attributes<'a>> {
        if reader.is_empty() {
            return Ok(Attributes::default());
        }
        Ok(Attributes {
            raw: reader.lenenc_bytes()?,
        })
    }

    /// Names and values, up to the first that is malformed.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let mut reader = Reader::new(self.raw);
        std::iter::from_fn(move || {
            let name = reader.lenenc_bytes().ok()?;
            Some((name, reader.lenenc_bytes().ok()?))
        })
    }
}

/// COM_CHANGE_USER: a new login on an old connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChangeUser<'a> {
    /// User name.
    pub user: &'a [u8],
    /// The answer to the connection's nonce.
    pub auth_response: &'a [u8],
    /// The database to go to; `None` for none.
    pub database: Option<&'a [u8]>,
    /// The collation id, when sent.
    pub collation: Option<u16>,
    /// The plugin that made `auth_response`.
    pub auth_plugin: Option<&'a [u8]>,
    /// Connection attributes.
    pub attributes: Attributes<'a>,
}

impl<'a> ChangeUser<'a> {
    /// Reads what follows the command byte.
    ///
    /// # Errors
    /// [`ProtocolError::UnknownCommand`] for a malformed packet, which is MySQL's answer to it.
    pub fn parse(body: &'a [u8], capabilities: u32) -> ReadResult<ChangeUser<'a>> {
        ChangeUser::fields(body, capabilities).map_err(|_| ProtocolError::UnknownCommand)
    }

    fn fields(body: &'a [u8], capabilities: u32) -> ReadResult<ChangeUser<'a>> {
        let mut reader = Reader::new(body);
        let user = reader.nul_bytes()?;
        let auth_response = if has(capabilities, capability::SECURE_CONNECTION) {
            let length = reader.u8()?;
            reader.read_bytes(usize::from(length))?
        } else {
            reader.nul_bytes()?
        };
        let database = Some(reader.nul_bytes()?).filter(|name| !name.is_empty());
        let collation = if reader.is_empty() {
            None
        } else {
            Some(reader.u16()?)
        };
        let auth_plugin = (has(capabilities, capability::PLUGIN_AUTH) && !reader.is_empty())
            .then(|| reader.nul_or_end_bytes());
        let attributes = if has(capabilities, capability::CONNECT_ATTRS) {
            Attributes::read(&mut reader)?
        } else {
            Attributes::default()
        };
        Ok(ChangeUser {
            user,
            auth_response,
            database,
            collation,
            auth_plugin,
            attributes,
        })
    }

    /// Writes command byte and body as one packet.
    pub fn write(&self, capabilities: u32, writer: &mut PacketWriter) {
        writer.begin();
        let buf = writer.buf();
        buf.put_u8(crate::command::code::CHANGE_USER);
        buf.put_nul_bytes(self.user);
        let length = self.auth_response.len().min(255);
        buf.put_u8(length as u8);
        buf.put_bytes(&self.auth_response[..length]);
        buf.put_nul_bytes(self.database.unwrap_or_default());
        buf.put_u16(self.collation.unwrap_or_default());
        if has(capabilities, capability::PLUGIN_AUTH) {
            buf.put_nul_bytes(self.auth_plugin.unwrap_or_default());
        }
        if has(capabilities, capability::CONNECT_ATTRS) {
            buf.put_lenenc_bytes(self.attributes.raw);
        }
        writer.end();
    }
}

/// Asks the client to prove itself by `plugin` over `nonce`.
pub fn write_auth_switch(plugin: &str, nonce: &Nonce, writer: &mut PacketWriter) {
    writer.begin();
    let buf = writer.buf();
    buf.put_u8(0xFE);
    buf.put_nul_bytes(plugin.as_bytes());
    buf.put_nul_bytes(nonce.as_bytes());
    writer.end();
}

/// Sends more data of an authentication exchange.
pub fn write_auth_more(data: &[u8], writer: &mut PacketWriter) {
    writer.begin();
    writer.buf().put_u8(1);
    writer.buf().put_bytes(data);
    writer.end();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::HEADER;
    use proptest::prelude::*;

    #[test]
    fn greeting_round_trips() {
        let nonce = Nonce::from_random([0; 20]);
        let greeting = Greeting::new(SERVER_VERSION.as_bytes(), 77, nonce);
        let mut writer = PacketWriter::new();
        greeting.write(&mut writer);
        assert_eq!(Greeting::parse(&writer.pending()[HEADER..]), Ok(greeting));
        assert_eq!(nonce.as_bytes(), &[1; 20]);
    }

    #[test]
    fn ssl_request_is_seen() {
        let mut packet = vec![0; 32];
        let flags = capability::PROTOCOL_41 | capability::SSL;
        packet[..4].copy_from_slice(&flags.to_le_bytes());
        assert_eq!(
            ClientHello::parse(&packet, capability::SERVER),
            Ok(ClientHello::SslRequest {
                capabilities: capability::PROTOCOL_41
            })
        );
        packet[1] = 0;
        assert_eq!(
            ClientHello::parse(&packet, capability::SERVER),
            Err(ProtocolError::BadHandshake)
        );
    }

    #[test]
    fn attributes_are_listed() {
        let attributes = Attributes::from_encoded(b"\x01a\x02bc\x01d\x00\x05x");
        let all: Vec<_> = attributes.iter().collect();
        assert_eq!(all, [(&b"a"[..], &b"bc"[..]), (b"d", b"")]);
    }

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn responses_round_trip(
            user in "[a-z]{0,20}", auth in prop::collection::vec(any::<u8>(), 0..255usize),
            database in "[a-z]{1,9}", with_db: bool, with_attrs: bool, lenenc: bool, with_level: bool,
        ) {
            let mut capabilities = capability::PROTOCOL_41 | capability::SECURE_CONNECTION | capability::PLUGIN_AUTH;
            for (wanted, flag) in [
                (with_db, capability::CONNECT_WITH_DB),
                (with_attrs, capability::CONNECT_ATTRS),
                (lenenc, capability::PLUGIN_AUTH_LENENC_CLIENT_DATA),
                (with_level, capability::ZSTD_COMPRESSION_ALGORITHM),
            ] {
                capabilities |= if wanted { flag } else { 0 };
            }
            let response = HandshakeResponse {
                capabilities,
                max_packet: 1 << 24,
                collation: 45,
                user: user.as_bytes(),
                auth_response: &auth,
                database: with_db.then_some(database.as_bytes()),
                auth_plugin: Some(NATIVE_PASSWORD.as_bytes()),
                attributes: Attributes::from_encoded(if with_attrs { b"\x01a\x01b" } else { b"" }),
                zstd_level: if with_level { 7 } else { 0 },
            };
            let mut writer = PacketWriter::new();
            response.write(&mut writer);
            let packet = &writer.pending()[HEADER..];
            let offered = capability::SERVER | capability::ZSTD_COMPRESSION_ALGORITHM;
            prop_assert_eq!(ClientHello::parse(packet, offered), Ok(ClientHello::Login(response)));
            for end in 0..packet.len() {
                let _ = ClientHello::parse(&packet[..end], capability::SERVER);
            }

            let change = ChangeUser {
                user: response.user,
                auth_response: response.auth_response,
                database: response.database,
                collation: Some(255),
                auth_plugin: response.auth_plugin,
                attributes: response.attributes,
            };
            let mut writer = PacketWriter::new();
            change.write(capabilities, &mut writer);
            let body = &writer.pending()[HEADER + 1..];
            prop_assert_eq!(ChangeUser::parse(body, capabilities), Ok(change));
            for end in 0..body.len() {
                let _ = ChangeUser::parse(&body[..end], capabilities);
            }
        }

        #[test]
        fn any_bytes_parse_without_panic(bytes: Vec<u8>, flags: u32) {
            let _ = Greeting::parse(&bytes);
            let _ = ClientHello::parse(&bytes, capability::SERVER);
            let _ = ChangeUser::parse(&bytes, flags);
            let mut packet = (flags | capability::PROTOCOL_41).to_le_bytes().to_vec();
            packet.extend_from_slice(&[0; 28]);
            packet.extend_from_slice(&bytes);
            if let Ok(ClientHello::Login(login)) = ClientHello::parse(&packet, capability::SERVER) {
                prop_assert!(login.attributes.iter().count() <= bytes.len());
            }
        }
    }
}
