//! Statements about accounts end to end, over an engine on an in-memory disk.

mod grants;
mod logins;
mod passwords;
mod roles;
mod users;

use std::sync::Arc;

use base::block_on;

use crate::session::tests::{Client, server};
use crate::session::{Instance, Session};
use sql_access::login::{Attempt, Settings};
use sql_access::{Account, AccountId};

/// A root session of a server of its own.
fn root() -> (Arc<Instance>, Client) {
    let s = server();
    let c = Client::in_test(&s);
    (s, c)
}

/// The account of that name.
fn account(s: &Arc<Instance>, user: &str, host: &str) -> Option<Arc<Account>> {
    let state = s.accounts().snapshot();
    state.find(&AccountId::new(user, host)).map(Arc::clone)
}

/// A login of a user of this machine who knows the password; the error number where it is refused.
fn login(s: &Arc<Instance>, user: &str) -> Result<Client, u16> {
    let state = s.accounts().snapshot();
    let attempt = Attempt::new(&state, user, "localhost", Some("127.0.0.1"));
    let settings = Settings {
        now_us: s.clock.wall_us(),
        handles_expired: true,
        ..Settings::default()
    };
    let login = s.logins().decide(&attempt, true, true, settings);
    let id = s.next_connection_id();
    login
        .map(|l| Client {
            session: Session::logged_in(s, l, id),
        })
        .map_err(|e| e.code)
}

/// The lines of SHOW GRANTS without their beginning.
fn grants(c: &mut Client, of: &str) -> Vec<String> {
    let rows = c.rows(&format!("SHOW GRANTS FOR {of}"));
    rows.into_iter().map(|mut r| r.swap_remove(0)).collect()
}

/// Whoever reads the tables anew finds what is in force.
fn is_stored(s: &Arc<Instance>) {
    let before = s.accounts().snapshot();
    block_on(s.accounts().reload(s.engine())).expect("accounts");
    let after = s.accounts().snapshot();
    assert!(before.iter().eq(after.iter()), "{before:?} {after:?}");
}
