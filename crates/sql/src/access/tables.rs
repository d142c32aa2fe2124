//! TEMPORARY.
use super::account::*;
use super::privilege::*;
use engine::Engine;
use std::sync::Arc;
use types::SqlError;
pub async fn prepare(_: &Arc<Engine>, _: i64) -> Result<(), SqlError> {
    Ok(())
}
pub async fn read(_: &Arc<Engine>) -> Result<AccountState, SqlError> {
    let mut s = AccountState::default();
    s.put(Account {
        id: AccountId::new("root", "localhost"),
        plugin: "caching_sha2_password".into(),
        privileges: PrivSet::all().with(Priv::GrantOption),
        dynamic: DYNAMIC.iter().map(|d| ((*d).into(), true)).collect(),
        ..Account::default()
    });
    Ok(s)
}
pub async fn write(_: &Arc<Engine>, _: &AccountState, _: &AccountState) -> Result<bool, SqlError> {
    Ok(true)
}
