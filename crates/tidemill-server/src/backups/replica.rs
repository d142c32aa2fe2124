//! `tidemill replica`: a backup of the source over the wire, restored as it comes, and where replication goes on behind it.

use std::sync::Arc;

use base::block_on;
use replication::replica::prepare::{self, NewReplica};
use sql::Session;
use types::gtid::GtidSet;

use super::connection::{chunks, with_password};
use crate::open;
use crate::options::{Options, ReplicaArguments, ServerAddress};

/// Makes the data directory of a replica.
///
/// # Errors
/// Says why there is none.
pub fn replica(arguments: &ReplicaArguments, options: &Options) -> Result<Vec<String>, String> {
    let client = &with_password(&arguments.client).map_err(|e| e.to_string())?;
    let ServerAddress::Tcp(host, port) = &client.server else {
        return Err("a replica connects to its source by a host's name and a port".to_owned());
    };
    let environment = base::real::environment();
    let mut restore =
        engine::backup::restore(&environment, &options.datadir).map_err(|e| e.to_string())?;
    chunks(client, None, None, |chunk| {
        restore.push(chunk)?;
        Ok(())
    })
    .map_err(|e| e.to_string())?;
    let manifest = restore.finish().map_err(|e| e.to_string())?;
    let no_log =
        "the source has no binary log, or no GTIDs: start it with --log-bin and --gtid-mode=ON";
    let executed = manifest.gtid_executed.as_deref().ok_or(no_log)?;
    let executed = GtidSet::parse(executed).ok_or(no_log)?;
    let (file, position) = manifest.binary_log.clone().ok_or(no_log)?;
    let (user, password) = match &arguments.replication {
        Some(given) => given.clone(),
        None => (
            client.user.clone(),
            client.password.clone().unwrap_or_default(),
        ),
    };
    let new = NewReplica {
        host: host.clone(),
        port: *port,
        user,
        password,
        executed,
        file,
        position,
        tls: (client.tls.is_required()).then(|| client.tls.wanted(host)),
    };
    let database = block_on(open::open(options)).map_err(|e| e.to_string())?;
    let instance = Arc::clone(&database.directory.instance);
    let prepared = block_on(async {
        let mut session = Session::of_the_applier(&instance, instance.next_connection_id());
        let prepared = prepare::prepare(&mut session, &new).await;
        session.close().await;
        prepared
    });
    drop(instance);
    let closed = block_on(database.directory.close());
    prepared.and(closed).map_err(|e| e.message)?;
    Ok(vec![format!(
        "{} is a replica of {}: start it with --server-id=N, another one than the source's, and it goes on behind {}",
        options.datadir.display(),
        client.server,
        manifest.gtid_executed.unwrap_or_default()
    )])
}
