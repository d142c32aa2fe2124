//! The model of the fuzzer: accounts, roles and who has what, as plain sets. It knows no SQL and no server.

use super::held::{Held, Level};
use std::collections::{BTreeMap, BTreeSet};

/// Which roles a session begins with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// A role: nobody logs in as it.
    pub is_role: bool,
    /// What was granted to it, without its roles.
    pub own: Held,
    /// Its roles, and whether with ADMIN OPTION.
    pub roles: BTreeMap<String, bool>,
    /// Its default roles.
    pub defaults: BTreeSet<String>,
    /// Its password.
    pub password: String,
    /// Logins are refused.
    pub locked: bool,
}

/// All accounts.
#[derive(Debug, Clone, Default)]
pub struct World {
    /// By name.
    pub accounts: BTreeMap<String, Account>,
    /// `mandatory_roles`
    pub mandatory: BTreeSet<String>,
    /// `activate_all_roles_on_login`
    pub activate_all: bool,
    /// `partial_revokes`
    pub partial_revokes: bool,
}

impl World {
    /// The names of the users, or of the roles.
    pub fn names(&self, roles: bool) -> Vec<String> {
        self.accounts
            .iter()
            .filter(|(_, account)| account.is_role == roles)
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// The roles that a user may make active.
    pub fn granted(&self, user: &str) -> BTreeSet<String> {
        let mut all = self.mandatory.clone();
        if let Some(account) = self.accounts.get(user) {
            all.extend(account.roles.keys().cloned());
        }
        all
    }

    /// The roles that a login makes active.
    pub fn at_login(&self, user: &str) -> BTreeSet<String> {
        match self.activate_all {
            true => self.granted(user),
            false => self.defaults(user),
        }
    }

    /// The roles that SET ROLE DEFAULT makes active: those of SET DEFAULT ROLE, whatever a login does.
    pub fn defaults(&self, user: &str) -> BTreeSet<String> {
        let granted = self.granted(user);
        let defaults = self.accounts.get(user).map(|a| &a.defaults);
        defaults
            .into_iter()
            .flatten()
            .filter(|role| granted.contains(*role))
            .cloned()
            .collect()
    }

    /// All roles within these, themselves included.
    fn closure(&self, roles: &BTreeSet<String>) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        let mut open: Vec<String> = roles.iter().cloned().collect();
        while let Some(role) = open.pop() {
            let Some(account) = self.accounts.get(&role) else {
                continue;
            };
            if all.insert(role) {
                open.extend(account.roles.keys().cloned());
            }
        }
        all
    }

    /// Would this role then be within itself?
    pub fn closes_a_circle(&self, role: &str, to: &str) -> bool {
        role == to || self.closure(&[role.to_owned()].into()).contains(to)
    }

    /// What is in force for a session of `user` with these roles active.
    pub fn effective(&self, user: &str, active: &BTreeSet<String>) -> Held {
        let granted = self.granted(user);
        let mut held = self
            .accounts
            .get(user)
            .map(|account| account.own.clone())
            .unwrap_or_default();
        held.exact_names = self.partial_revokes;
        let active: BTreeSet<String> = active.intersection(&granted).cloned().collect();
        let reached = self.closure(&active);
        for role in &reached {
            if let Some(account) = self.accounts.get(role) {
                held.add(&account.own);
                for (inner, admin) in &account.roles {
                    // ADMIN OPTION comes with a role that has it; the role itself cannot be made active for that.
                    if *admin {
                        held.grant_role_admin(inner);
                    }
                }
            }
        }
        for role in granted {
            let admin = self
                .accounts
                .get(user)
                .and_then(|a| a.roles.get(&role).copied())
                .unwrap_or(false);
            held.grant_role(&role, admin);
        }
        held
    }

    /// A name goes, wherever it stands.
    pub fn forget(&mut self, name: &str) {
        self.accounts.remove(name);
        for account in self.accounts.values_mut() {
            account.roles.remove(name);
            account.defaults.remove(name);
        }
    }

    /// A name changes, wherever it stands.
    pub fn rename(&mut self, from: &str, to: &str) {
        if let Some(account) = self.accounts.remove(from) {
            self.accounts.insert(to.to_owned(), account);
        }
        for account in self.accounts.values_mut() {
            if let Some(admin) = account.roles.remove(from) {
                account.roles.insert(to.to_owned(), admin);
            }
            if account.defaults.remove(from) {
                account.defaults.insert(to.to_owned());
            }
        }
    }

    /// A static privilege is taken from an account at a level.
    pub fn revoke(&mut self, name: &str, privilege: &str, level: &Level) {
        if let Some(account) = self.accounts.get_mut(name) {
            account.own.revoke(privilege, level);
            if *level == Level::Global {
                account.own.unrestrict(privilege);
                if privilege == "GRANT OPTION" {
                    account.own.revoke_dynamic_options();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_reach_through_the_graph_while_they_are_granted() {
        let mut world = World::default();
        for (name, is_role) in [("u", false), ("outer", true), ("inner", true)] {
            let account = Account {
                is_role,
                ..Account::default()
            };
            world.accounts.insert(name.to_owned(), account);
        }
        let level = Level::Database("m".to_owned());
        let inner = world.accounts.get_mut("inner").unwrap();
        inner.own.grant("SELECT", &level);
        let outer = world.accounts.get_mut("outer").unwrap();
        outer.roles.insert("inner".to_owned(), false);
        let active: BTreeSet<String> = ["outer".to_owned()].into();
        assert!(!world.effective("u", &active).database("SELECT", "m"));
        let user = world.accounts.get_mut("u").unwrap();
        user.roles.insert("outer".to_owned(), false);
        assert!(world.effective("u", &active).database("SELECT", "m"));
        assert!(
            !world
                .effective("u", &BTreeSet::new())
                .database("SELECT", "m")
        );
        assert!(
            world.closes_a_circle("outer", "inner") && !world.closes_a_circle("inner", "outer")
        );
        world.forget("inner");
        assert!(!world.effective("u", &active).database("SELECT", "m"));
    }
}
