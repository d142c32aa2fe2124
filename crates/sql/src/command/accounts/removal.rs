//! Accounts that are dropped, users or roles.

use types::SqlError;

use super::actor::{Actor, Outcome};
use super::errors::{does_not_exist, failed, mandatory};
use sql_access::{AccountId, AccountState};

/// Drops accounts, all or none.
pub(super) fn take_away(
    actor: &Actor,
    state: &mut AccountState,
    if_exists: bool,
    ids: &[AccountId],
    operation: &str,
) -> Result<Outcome, SqlError> {
    let mut out = Outcome::default();
    let mut refused = Vec::new();
    if let Some(id) = ids.iter().find(|id| actor.mandatory.contains(id)) {
        return Err(mandatory(id));
    }
    for id in ids {
        actor.may_touch(state, id)?;
    }
    for id in ids {
        if state.remove(id).is_some() {
            out.unlocked.push(id.clone());
        } else if if_exists {
            out.notes.push(does_not_exist(id));
        } else {
            refused.push(id.quoted());
        }
    }
    match refused.is_empty() {
        true => Ok(out),
        false => Err(failed(operation, &refused)),
    }
}
