//! A directory that was restored from a backup of a server becomes a replica of that server: its source and its place are written, and the next start
//! goes on from there.

use sql::Session;
use types::SqlError;
use types::gtid::GtidSet;

use super::place::Place;
use super::source::Source;
use super::store;
use super::tls::Wanted;

/// A replica that is made.
#[derive(Clone)]
pub struct NewReplica {
    /// Where the source is.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Who logs in to it.
    pub user: String,
    /// With which password.
    pub password: String,
    /// What the directory has of it.
    pub executed: GtidSet,
    /// The source's file behind that.
    pub file: String,
    /// And the position in it.
    pub position: u64,
    /// Whether it connects over TLS, and what is wanted of that.
    pub tls: Option<Wanted>,
}

/// Writes where the source is and how far the directory has come, in the place of what the source itself may have had there. By GTIDs, if the
/// source has any.
///
/// # Errors
/// What the engine fails with.
pub async fn prepare(s: &mut Session, new: &NewReplica) -> Result<(), SqlError> {
    store::make_tables(s).await?;
    store::forget(s, None).await?;
    let mut source = Source::default();
    let f = &mut source.facts;
    (f.host, f.port, f.user) = (new.host.clone(), new.port, new.user.clone());
    f.auto_position = !new.executed.is_empty();
    // Without TLS a password is only given away encrypted.
    f.get_public_key = true;
    if let Some(wanted) = &new.tls {
        f.ssl = true;
        f.ssl_ca.clone_from(&wanted.ca);
        f.ssl_cert.clone_from(&wanted.cert);
        f.ssl_key.clone_from(&wanted.key);
        f.ssl_verify_server_cert = wanted.verify_name;
    }
    source.password.clone_from(&new.password);
    let mut place = Place::start();
    place.log.file.clone_from(&new.file);
    place.log.position = new.position.max(super::place::FIRST);
    place.gtids = new.executed.clone();
    store::write(s, "", &source, &place).await
}
