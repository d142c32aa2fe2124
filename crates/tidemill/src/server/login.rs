//! From a fresh socket to a known user: greeting, handshake, proof of the password. COM_CHANGE_USER comes here again.
//!
//! Who may log in is the SQL layer's to know; how it is proved is `wire`'s.

use std::time::Duration;

use sql::session::accounts::UserRecord;
use types::SqlError;
use wire::ProtocolError;
use wire::auth::{Authenticator, Credential, Step};
use wire::capability;
use wire::handshake::{ClientHello, Greeting, HandshakeResponse, Nonce, SERVER_VERSION};

use super::Server;
use super::link::{Gone, Link};
use super::stream::Peer;

/// Packets before the login are small; nobody gets more memory than this without a password.
const LARGEST_LOGIN_PACKET: usize = 64 << 10;
/// ER_ACCOUNT_HAS_BEEN_LOCKED.
const ACCOUNT_LOCKED: u16 = 3118;

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
    /// The nonce, which a change of user uses again.
    pub nonce: Nonce,
}

/// Greets a client and finds out who it is. The OK packet is the caller's to send.
///
/// # Errors
/// Why nobody is logged in.
pub async fn login(
    link: &mut Link,
    server: &Server,
    connection: u64,
    peer: &Peer,
    limit: Duration,
) -> Result<Login, Refused> {
    link.input.set_max_packet(LARGEST_LOGIN_PACKET);
    let nonce = Nonce::generate()?;
    // The wire has four bytes for the id; MySQL sends the low ones too.
    let greeting = Greeting::new(SERVER_VERSION.as_bytes(), connection as u32, nonce);
    greeting.write(&mut link.output.writer);
    link.flush().await?;
    link.input.set_sequence(link.output.writer.sequence());
    let place = link.packet(limit).await?;
    link.output.writer.set_sequence(link.input.sequence());
    let hello = ClientHello::parse(link.input.payload(place), capability::SERVER)?;
    let ClientHello::Login(response) = hello else {
        // TLS was not offered.
        return Err(ProtocolError::BadHandshake.into());
    };
    let capabilities = response.capabilities;
    let claim = claim_of(&response);
    authenticate(link, server, nonce, peer, &claim, limit).await?;
    Ok(Login {
        claim,
        capabilities,
        nonce,
    })
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
/// 1045 for a wrong password or an unknown user, 3118 for a locked account, or the client is gone.
pub async fn authenticate(
    link: &mut Link,
    server: &Server,
    nonce: Nonce,
    peer: &Peer,
    claim: &Claim,
    limit: Duration,
) -> Result<UserRecord, Refused> {
    let accounts = server.database.instance.accounts();
    let record = accounts.lookup(&claim.user, &peer.host);
    let credential = credential(record.as_ref(), peer);
    let mut authenticator = Authenticator::new(nonce, credential, peer.local);
    let mut step = authenticator.start(
        &server.auth,
        claim.plugin.as_deref(),
        &claim.answer,
        &mut link.output.writer,
    );
    let mut password = !claim.answer.is_empty();
    while step == Step::NeedMore {
        link.flush().await?;
        link.input.set_sequence(link.output.writer.sequence());
        let place = link.packet(limit).await?;
        link.output.writer.set_sequence(link.input.sequence());
        let packet = link.input.payload(place);
        password |= packet.len() > 1;
        step = authenticator.resume(&server.auth, packet, &mut link.output.writer);
    }
    match record {
        Some(record) if step == Step::Ok => {
            if record.locked {
                return Err(Refused::Error(locked(&claim.user, &peer.host)));
            }
            Ok(record)
        }
        _ => Err(Refused::Error(SqlError::access_denied(
            &claim.user,
            &peer.host,
            password,
        ))),
    }
}

/// What the client has to prove. `root` without a password is believed from this machine alone.
fn credential(record: Option<&UserRecord>, peer: &Peer) -> Credential {
    let Some(record) = record else {
        return Credential::Denied;
    };
    match Credential::parse(&record.plugin, &record.auth_string) {
        Some(Credential::Empty) if record.user == "root" && !peer.local => Credential::Denied,
        Some(credential) => credential,
        None => Credential::Denied,
    }
}

#[cold]
fn locked(user: &str, host: &str) -> SqlError {
    SqlError::new(
        ACCOUNT_LOCKED,
        format!("Access denied for user '{user}'@'{host}'. Account is locked."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_without_a_password_is_for_this_machine() {
        let root = UserRecord {
            user: "root".to_owned(),
            host: "%".to_owned(),
            plugin: "caching_sha2_password".to_owned(),
            auth_string: Vec::new(),
            locked: false,
        };
        let peer = |local| Peer {
            host: "h".to_owned(),
            local,
        };
        assert_eq!(credential(Some(&root), &peer(true)), Credential::Empty);
        assert_eq!(credential(Some(&root), &peer(false)), Credential::Denied);
        let other = UserRecord {
            user: "app".to_owned(),
            ..root
        };
        assert_eq!(credential(Some(&other), &peer(false)), Credential::Empty);
        assert_eq!(credential(None, &peer(true)), Credential::Denied);
    }
}
