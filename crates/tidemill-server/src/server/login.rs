//! From a fresh socket to a known user: greeting, handshake, proof of the password. COM_CHANGE_USER comes here again.
//!
//! Who may log in is the SQL layer's to know; how it is proved is `wire`'s.

use std::sync::Arc;
use std::time::Duration;

use sql::access::Account;
use sql::access::login::{Attempt, Login as Granted, Settings};
use sql::session::transport::fits;
use types::SqlError;
use types::collation::client::ClientCollation;
use types::error::codes;
use wire::ProtocolError;
use wire::auth::{Authenticator, Credential, Plugin, Step};
use wire::capability;
use wire::compress::Method;
use wire::handshake::{ClientHello, Greeting, HandshakeResponse, Nonce, SERVER_VERSION};

use super::packet_stream::{Gone, PacketStream};
use super::peer::Peer;
use super::server_state::Server;
use super::tls::Context;
use crate::offload::{offload, return_to_loop};

/// Packets before the login are small; nobody gets more memory than this without a password.
const LARGEST_LOGIN_PACKET: usize = 64 << 10;
/// ER_SECURE_TRANSPORT_REQUIRED.
const SECURE_TRANSPORT_REQUIRED: u16 = 3159;

/// Why a login ended without a user.
#[derive(Debug)]
pub enum Refused {
    /// The client went, or spoke too slowly or nonsense.
    Gone(Gone),
    /// The client is told this.
    Error(SqlError),
}

impl From<Gone> for Refused {
    fn from(gone: Gone) -> Refused {
        Refused::Gone(gone)
    }
}

impl From<ProtocolError> for Refused {
    fn from(e: ProtocolError) -> Refused {
        Refused::Gone(Gone::Protocol(e))
    }
}

impl From<std::io::Error> for Refused {
    fn from(_: std::io::Error) -> Refused {
        Refused::Gone(Gone::Closed)
    }
}

/// Who a client says it is, and what it shows for it.
#[derive(Debug, Clone, Default)]
pub struct Claim {
    /// The user's name.
    pub user: String,
    /// The client's authentication plugin.
    pub plugin: Option<Vec<u8>>,
    /// Its answer to the nonce.
    pub answer: Vec<u8>,
    /// The default database it wants.
    pub database: Option<String>,
    /// The collation it named.
    pub collation: Option<u16>,
}

/// A finished login.
#[derive(Debug)]
pub struct Login {
    /// What the client claimed and has proved.
    pub claim: Claim,
    /// What both sides can do.
    pub capabilities: u32,
    /// How all is compressed from the first command on.
    pub compression: Option<Method>,
    /// The nonce, which a change of user uses again.
    pub nonce: Nonce,
    /// The account that takes the client.
    pub granted: Granted,
}

/// Greets a client and finds out who it is. The OK packet is the caller's to send.
///
/// # Errors
/// Why nobody is logged in.
pub async fn login(
    packets: &mut PacketStream,
    server: &Server,
    connection: u64,
    peer: &mut Peer,
    limit: Duration,
) -> Result<Login, Refused> {
    packets.input.set_max_packet(LARGEST_LOGIN_PACKET);
    let nonce = Nonce::generate()?;
    // The wire has four bytes for the id; MySQL sends the low ones too.
    let mut greeting = Greeting::new(SERVER_VERSION.as_bytes(), connection as u32, nonce);
    let context = server.tls.context();
    if context.is_some() {
        greeting.capabilities |= capability::SSL;
    }
    let allowed = allowed_compression(server);
    greeting.capabilities |= allowed.capabilities;
    greeting.write(&mut packets.output.writer);
    packets.flush().await?;
    packets.input.set_sequence(packets.output.writer.sequence());
    let mut place = packets.packet(limit).await?;
    packets.output.writer.set_sequence(packets.input.sequence());
    let hello = ClientHello::parse(packets.input.payload(place), greeting.capabilities)?;
    if let (ClientHello::SslRequest { .. }, Some(context)) = (hello, &context) {
        go_secure(packets, server, context, peer, limit).await?;
        place = packets.packet(limit).await?;
        packets.output.writer.set_sequence(packets.input.sequence());
    }
    // Inside of TLS it is not offered again.
    let offered = capability::SERVER | allowed.capabilities;
    let hello = ClientHello::parse(packets.input.payload(place), offered)?;
    let ClientHello::Login(response) = hello else {
        return Err(ProtocolError::BadHandshake.into());
    };
    let capabilities = response.capabilities;
    let compression = compression(&response);
    if compression.is_none() && !allowed.uncompressed {
        return Err(Refused::Error(wrong_compression("uncompressed")));
    }
    if let Some(Method::Zstd(level)) = compression
        && !(1..=22).contains(&level)
    {
        return Err(Refused::Error(wrong_zstd_level()));
    }
    let claim = claim_of(&response);
    let granted = authenticate(packets, server, nonce, peer, &claim, capabilities, limit).await?;
    Ok(Login {
        granted,
        claim,
        capabilities,
        compression,
        nonce,
    })
}

/// What `protocol_compression_algorithms` allows.
struct Allowed {
    capabilities: u32,
    uncompressed: bool,
}

fn allowed_compression(server: &Server) -> Allowed {
    let globals = server.database.instance.globals();
    let value = globals.value_by_name("protocol_compression_algorithms");
    let list = value
        .as_ref()
        .and_then(|v| v.as_str())
        .unwrap_or("uncompressed");
    let has = |name: &str| list.split(',').any(|w| w.trim().eq_ignore_ascii_case(name));
    let bit = |name, bit| if has(name) { bit } else { 0 };
    Allowed {
        capabilities: bit("zlib", capability::COMPRESS)
            | bit("zstd", capability::ZSTD_COMPRESSION_ALGORITHM),
        uncompressed: has("uncompressed"),
    }
}

/// What both sides can do; zlib where that is both.
fn compression(response: &HandshakeResponse<'_>) -> Option<Method> {
    let has = |flag| capability::has(response.capabilities, flag);
    if has(capability::COMPRESS) {
        Some(Method::Zlib)
    } else if has(capability::ZSTD_COMPRESSION_ALGORITHM) {
        Some(Method::Zstd(response.zstd_level))
    } else {
        None
    }
}

/// Error 3922.
#[cold]
fn wrong_compression(name: &str) -> SqlError {
    SqlError::new(3922, format!("Invalid compression algorithm '{name}'."))
}

/// Error 3923.
#[cold]
fn wrong_zstd_level() -> SqlError {
    SqlError::new(3923, "Invalid compression level for algorithm 'zstd'.")
}

/// The handshake of TLS. The client goes on where it was: the next packet has the next number.
async fn go_secure(
    packets: &mut PacketStream,
    server: &Server,
    context: &Context,
    peer: &mut Peer,
    limit: Duration,
) -> Result<(), Refused> {
    server.tls.accepts.inc();
    let connection = context.accept().map_err(|_| Gone::Closed)?;
    packets.start_tls(connection, limit).await?;
    server.tls.finished.inc();
    peer.tls = packets.tls().map(|tls| Arc::new(context.describe(tls)));
    Ok(())
}

fn claim_of(response: &HandshakeResponse<'_>) -> Claim {
    Claim {
        user: String::from_utf8_lossy(response.user).into_owned(),
        plugin: response.auth_plugin.map(<[u8]>::to_vec),
        answer: response.auth_response.to_vec(),
        database: response
            .database
            .filter(|name| !name.is_empty())
            .map(|name| String::from_utf8_lossy(name).into_owned()),
        collation: Some(response.collation),
    }
}

/// Has a client prove its claim. The writer's sequence must be that of the reply.
///
/// # Errors
/// 3159: it is to come by TLS; 1045 for a wrong password, an unknown user or TLS that is not what the account demands, what
/// [`Logins::decide`](sql::access::login::Logins::decide) says of the account, or the client is gone.
pub async fn authenticate(
    packets: &mut PacketStream,
    server: &Server,
    nonce: Nonce,
    peer: &Peer,
    claim: &Claim,
    capabilities: u32,
    limit: Duration,
) -> Result<Granted, Refused> {
    // Asked of COM_CHANGE_USER too: the variable may have been set since the connection was made.
    if !peer.is_secure_transport() && server.requires_secure_transport() {
        return Err(Refused::Error(insecure_transport()));
    }
    check_charset(claim.collation)?;
    let instance = &server.database.instance;
    let state = instance.accounts().snapshot();
    let decoy = server.decoys.plugin(&claim.user, &state);
    let attempt = Attempt::new(&state, &claim.user, &peer.host, peer.address.as_deref());
    let account = attempt.account.as_deref();
    if let Some(account) = account.filter(|a| a.plugin == AUTH_SOCKET) {
        let user = packets.peer_user();
        let settings = settings(instance, capabilities);
        let proved = user.is_some_and(|user| is_system_user(account, &user));
        return instance
            .logins()
            .decide(&attempt, proved, false, settings)
            .map_err(|e| Refused::Error(without_password(e)));
    }
    let (plugin, first) = credential(account, peer, decoy);
    if plugin == Plugin::Sha256 {
        // Its first packet may have the password.
        offload().await;
    }
    let mut authenticator = Authenticator::new(nonce, plugin, first, peer.is_private());
    if let Some(second) = account.and_then(|a| Some((a, a.second_auth_string.as_deref()?))) {
        authenticator.or(second_credential(second.0, second.1));
    }
    let mut step = authenticator.start(
        &server.auth,
        claim.plugin.as_deref(),
        &claim.answer,
        &mut packets.output.writer,
    );
    let mut password = !claim.answer.is_empty();
    while step == Step::NeedMore {
        packets.flush().await?;
        packets.input.set_sequence(packets.output.writer.sequence());
        let place = packets.packet(limit).await?;
        packets.output.writer.set_sequence(packets.input.sequence());
        let packet = packets.input.payload(place);
        password |= packet.len() > 1;
        // A password that is checked the long way takes thousands of rounds of SHA-256.
        offload().await;
        step = authenticator.resume(&server.auth, packet, &mut packets.output.writer);
    }
    return_to_loop().await;
    // An account demands TLS like a password: who comes without learns nothing of it.
    let fitting = account.is_none_or(|a| fits(&a.tls, peer.tls.as_deref()));
    let proved = step == Step::Ok && fitting;
    // A password that is right on the wrong transport is no failed guess.
    if step == Step::Ok && !fitting {
        return Err(Refused::Error(attempt.denied(password)));
    }
    let settings = settings(instance, capabilities);
    instance
        .logins()
        .decide(&attempt, proved, password, settings)
        .map_err(Refused::Error)
}

/// Whether the character set that a client speaks can be read: another would be taken for the server's in silence.
///
/// # Errors
/// 1231 for one in which no statement can be written, 1115 for one that is not here.
fn check_charset(collation: Option<u16>) -> Result<(), Refused> {
    let refused = match collation.map(ClientCollation::of) {
        Some(ClientCollation::Wide(name)) => SqlError::new(
            codes::ER_WRONG_VALUE_FOR_VAR,
            format!("Variable 'character_set_client' can't be set to the value of '{name}'"),
        ),
        Some(ClientCollation::Foreign(name)) => SqlError::new(
            codes::ER_UNKNOWN_CHARACTER_SET,
            format!("Unknown character set: '{name}'"),
        ),
        _ => return Ok(()),
    };
    Err(Refused::Error(refused))
}

/// What a login is decided by, beside its account.
fn settings(instance: &sql::Instance, capabilities: u32) -> Settings {
    let number = |name: &str| {
        let value = instance.globals().value_by_name(name);
        value.map_or(0, |v| v.as_u64())
    };
    Settings {
        now_us: instance.wall_us(),
        default_lifetime: u16::try_from(number("default_password_lifetime")).unwrap_or(u16::MAX),
        disconnect_on_expired: number("disconnect_on_expired_password") != 0,
        max_user_connections: u32::try_from(number("max_user_connections")).unwrap_or(u32::MAX),
        handles_expired: capability::has(capabilities, capability::CAN_HANDLE_EXPIRED_PASSWORDS),
    }
}

/// How and what the client has to prove; `decoy` is the plugin of an account that is not there. `root` without a password is
/// believed from this machine alone.
fn credential(account: Option<&Account>, peer: &Peer, decoy: Plugin) -> (Plugin, Credential) {
    let Some(record) = account else {
        return (decoy, Credential::Denied);
    };
    // An account of another plugin cannot log in; clients see it like any other.
    let plugin = Plugin::of(record.plugin.as_bytes()).unwrap_or(Plugin::Sha2);
    let credential = match Credential::parse(&record.plugin, &record.auth_string) {
        Some(Credential::Empty) if &*record.id.user == "root" && !peer.local => Credential::Denied,
        Some(credential) => credential,
        None => Credential::Denied,
    };
    (plugin, credential)
}

/// The plugin of accounts that belong to users of the system.
const AUTH_SOCKET: &str = "auth_socket";

/// Whether an account of [`AUTH_SOCKET`] is that of a user of the system: by its name, or by the one that it was made for.
fn is_system_user(account: &Account, user: &str) -> bool {
    *account.id.user == *user || account.auth_string == user.as_bytes()
}

/// A refusal that does not speak of passwords, where none is asked for: 1698 in the place of 1045.
fn without_password(e: SqlError) -> SqlError {
    match e.message.split_once(" (using password") {
        Some((text, _)) if e.code == codes::ER_ACCESS_DENIED_ERROR => {
            SqlError::new(codes::ER_ACCESS_DENIED_NO_PASSWORD_ERROR, text.to_owned())
        }
        _ => e,
    }
}

/// The password that an account had before, where it may still be used; an empty one may not.
fn second_credential(account: &Account, stored: &[u8]) -> Credential {
    match Credential::parse(&account.plugin, stored) {
        Some(Credential::Empty) | None => Credential::Denied,
        Some(credential) => credential,
    }
}

/// Error 3159.
#[cold]
fn insecure_transport() -> SqlError {
    SqlError::new(
        SECURE_TRANSPORT_REQUIRED,
        "Connections using insecure transport are prohibited while --require_secure_transport=ON.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use sql::access::AccountId;

    #[test]
    fn root_without_a_password_is_for_this_machine() {
        let root = Account {
            id: AccountId::new("root", "%"),
            plugin: "caching_sha2_password".to_owned(),
            ..Account::default()
        };
        let peer = |local| Peer {
            host: "h".to_owned(),
            address: None,
            local,
            unix: false,
            tls: None,
        };
        let of = |record, local| credential(record, &peer(local), Plugin::Native).1;
        assert_eq!(of(Some(&root), true), Credential::Empty);
        assert_eq!(of(Some(&root), false), Credential::Denied);
        let other = Account {
            id: AccountId::new("app", "%"),
            ..root.clone()
        };
        assert_eq!(of(Some(&other), false), Credential::Empty);
        assert_eq!(of(None, true), Credential::Denied);
    }
}
