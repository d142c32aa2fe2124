//! How the server answers users that it does not have: like those that it has.

use std::hash::{BuildHasher, RandomState};

use sql::access::AccountState;
use wire::auth::Plugin;

/// The plugins that unknown users seem to have: always the same for the same name, and nobody outside can work it out.
#[derive(Debug, Default)]
pub struct Decoys(RandomState);

impl Decoys {
    /// The plugin of an account that is not there. Where no account has the old plugin, none seems to.
    pub fn plugin(&self, user: &str, accounts: &AccountState) -> Plugin {
        let native = Plugin::Native.name();
        let any = accounts.iter().any(|a| a.plugin == native);
        if any && self.0.hash_one(user) & 1 == 1 {
            Plugin::Native
        } else {
            Plugin::Sha2
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sql::access::{Account, AccountId};

    #[test]
    fn an_unknown_user_always_seems_the_same() {
        let state = |plugins: &[&str]| {
            let mut state = AccountState::default();
            for plugin in plugins {
                state.put(Account {
                    id: AccountId::new(plugin, "%"),
                    plugin: (*plugin).to_owned(),
                    ..Account::default()
                });
            }
            state
        };
        let decoys = Decoys::default();
        let both = state(&["caching_sha2_password", "mysql_native_password"]);
        let names: Vec<String> = (0..64).map(|n| format!("nobody{n}")).collect();
        let of = |state: &AccountState| -> Vec<Plugin> {
            names
                .iter()
                .map(|name| decoys.plugin(name, state))
                .collect()
        };
        assert_eq!(of(&both), of(&both));
        assert!(of(&both).contains(&Plugin::Native) && of(&both).contains(&Plugin::Sha2));
        // Another server has another key.
        let others = names
            .iter()
            .map(|name| Decoys::default().plugin(name, &both));
        assert_ne!(of(&both), others.collect::<Vec<_>>());
        let new = of(&state(&["caching_sha2_password"]));
        assert!(new.iter().all(|plugin| *plugin == Plugin::Sha2));
    }
}
