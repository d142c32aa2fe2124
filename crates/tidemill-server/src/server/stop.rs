//! The end of the server: whoever has a statement gets a moment, then is interrupted, then is left behind. It ends within ten
//! seconds, whatever runs.
//!
//! What computes and cannot be interrupted may hold pages at that moment, so that nobody can wait for it or write out what it
//! holds. Then the log is made durable and the rest is what a crash would have been: every commit that was acknowledged is there at
//! the next start, and what was under way is rolled back.

use std::time::Duration;

use super::error::ServeError;
use super::registry::Registry;
use super::server_state::Server;

/// How long running statements may go on once the server stops.
const GRACE: Duration = Duration::from_secs(4);
/// How long they may take to end once they have been interrupted.
const INTERRUPTED: Duration = Duration::from_secs(2);
/// How long threads may take to end, once nobody waits for what they do.
pub(super) const THREADS: Duration = Duration::from_millis(1500);
/// How long the log may take to be made durable beside a statement that does not end.
const LOG: Duration = Duration::from_secs(1);

/// Lets running statements finish, briefly; interrupts those that do not.
pub(super) async fn drain(server: &Server, registry: &Registry) {
    server.log.note(format_args!(
        "stopping; {} connections are open",
        registry.len()
    ));
    registry.stop();
    if tokio::time::timeout(GRACE, registry.empty()).await.is_ok() {
        return;
    }
    server.log.note(format_args!(
        "interrupting the statements of {} connections",
        registry.len()
    ));
    registry.kill();
    let ended = tokio::time::timeout(INTERRUPTED, registry.empty()).await;
    if ended.is_err() {
        let left = registry.len();
        server
            .log
            .warning(format_args!("{left} connections are cut off"));
    }
}

/// Ends the engine. `left_behind`: so many threads still compute, in the middle of statements that cannot be interrupted.
///
/// # Errors
/// What the last writes fail with.
pub(super) fn close(server: &Server, left_behind: usize) -> Result<(), ServeError> {
    if left_behind == 0 {
        return base::block_on(server.database.close()).map_err(ServeError::Close);
    }
    let (tell, told) = std::sync::mpsc::channel();
    let engine = server.database.engine.clone();
    let asked = std::thread::Builder::new()
        .name("last-sync".to_owned())
        .spawn(move || {
            // Nobody listens any more where it took too long.
            let _late = tell.send(base::block_on(engine.make_durable()));
        });
    let synced = match asked {
        Ok(_) => told.recv_timeout(LOG).ok(),
        Err(_) => None,
    };
    if let Some(Err(e)) = synced {
        return Err(ServeError::Close(e));
    }
    let log = match synced {
        Some(_) => "the log is durable",
        None => "the log is as durable as commits asked for",
    };
    server.log.warning(format_args!(
        "{left_behind} threads are in statements that cannot be interrupted and are left behind; {log}, \
         and the next start rolls back what they were about"
    ));
    // They use it until the process ends.
    std::mem::forget(server.database.engine.clone());
    Ok(())
}
