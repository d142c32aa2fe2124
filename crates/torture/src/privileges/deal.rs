//! The fuzzer's changes of accounts: each is dealt by chance, said by root, and made in the model when the server said OK.

use super::data;
use super::fuzz::{Fuzz, Open};
use super::held::{Held, Level};
use super::world::Account;
use harness::step::Outcome;
use std::collections::BTreeSet;

/// Users, and roles, at most.
const MOST: usize = 6;

/// Static privileges that are dealt, the frequent ones several times.
const PRIVILEGES: &[&str] = &[
    "SELECT",
    "SELECT",
    "SELECT",
    "INSERT",
    "INSERT",
    "UPDATE",
    "UPDATE",
    "DELETE",
    "CREATE",
    "DROP",
    "GRANT OPTION",
    "INDEX",
    "ALTER",
    "REFERENCES",
    "TRIGGER",
    "CREATE VIEW",
    "SHOW VIEW",
];

/// Those of databases, and of the server.
const WIDER: &[&str] = &[
    "LOCK TABLES",
    "CREATE TEMPORARY TABLES",
    "EXECUTE",
    "EVENT",
    "CREATE ROUTINE",
];
const WIDEST: &[&str] = &[
    "PROCESS",
    "RELOAD",
    "FILE",
    "SHOW DATABASES",
    "CREATE USER",
    "SUPER",
    "REPLICATION CLIENT",
];

const DYNAMIC: &[&str] = &[
    "SYSTEM_USER",
    "CONNECTION_ADMIN",
    "SYSTEM_VARIABLES_ADMIN",
    "SESSION_VARIABLES_ADMIN",
    "ROLE_ADMIN",
    "BACKUP_ADMIN",
    "FLUSH_TABLES",
    "FLUSH_STATUS",
    "XA_RECOVER_ADMIN",
];

impl Fuzz<'_, '_> {
    fn pick<'x>(&mut self, all: &'x [&'x str]) -> &'x str {
        all[self.rng.below(all.len() as u64) as usize]
    }

    /// One of these names.
    pub fn one_of(&mut self, names: &[String]) -> Option<String> {
        let at = self.rng.below(names.len() as u64) as usize;
        names.get(at).cloned()
    }

    fn level(&mut self) -> Level {
        let db = || "m".to_owned();
        let table = if self.rng.one_in(3) { "u" } else { "t" }.to_owned();
        match self.rng.below(12) {
            0 => Level::Global,
            1..4 => Level::Database(db()),
            4 => Level::Database("other".to_owned()),
            5..9 => Level::Table(db(), table),
            _ => {
                let columns: &[&str] = if table == "t" {
                    &["id", "v", "w"]
                } else {
                    &["id", "v", "x"]
                };
                let column = self.pick(columns).to_owned();
                Level::Column(db(), table, column)
            }
        }
    }

    fn privilege(&mut self, level: &Level) -> &'static str {
        match level {
            Level::Column(..) => self.pick(&["SELECT", "SELECT", "INSERT", "UPDATE", "REFERENCES"]),
            Level::Global if self.rng.one_in(2) => self.pick(WIDEST),
            Level::Database(_) if self.rng.one_in(4) => self.pick(WIDER),
            _ => self.pick(PRIVILEGES),
        }
    }

    /// One statement of root's that changes accounts.
    pub fn change(&mut self) -> Outcome<()> {
        let (users, roles) = (self.world.names(false), self.world.names(true));
        let all: Vec<String> = [users.clone(), roles.clone()].concat();
        match self.rng.below(24) {
            0 | 1 if users.len() < MOST => self.create(false),
            2 if roles.len() < MOST => self.create(true),
            3 if users.len() > 2 => self.drop_one(&users),
            4 if roles.len() > 2 => self.drop_one(&roles),
            5 if self.rng.one_in(2) => self.rename(&users),
            6 => self.password(&users),
            7..10 => self.grant_role(&roles, &all),
            10 => self.revoke_role(&all),
            11 => self.defaults(&users),
            12 => self.switches(&roles),
            13 => self.dynamic(&all),
            14 => self.everything(&all),
            15..18 => self.revoke_some(&all),
            18 => self.restrict(&users),
            _ => self.give(&all),
        }
    }

    fn create(&mut self, is_role: bool) -> Outcome<()> {
        self.names += 1;
        let name = format!("{}{}", if is_role { "zr" } else { "zu" }, self.names);
        if is_role {
            self.root(&format!("CREATE ROLE {name}@localhost"))?;
        } else {
            self.root(&format!("CREATE USER {name}@localhost"))?;
        }
        let account = Account {
            is_role,
            ..Account::default()
        };
        self.world.accounts.insert(name, account);
        Ok(())
    }

    fn drop_one(&mut self, names: &[String]) -> Outcome<()> {
        let Some(name) = self
            .one_of(names)
            .filter(|n| !self.world.mandatory.contains(n))
        else {
            return Ok(());
        };
        let verb = match self.world.accounts.get(&name) {
            Some(account) if account.is_role && self.rng.one_in(2) => "ROLE",
            _ => "USER",
        };
        self.root(&format!("DROP {verb} {name}@localhost"))?;
        // A session whose account has gone may do nothing that needs a privilege, until its end.
        let (gone, left): (Vec<Open>, Vec<Open>) = std::mem::take(&mut self.sessions)
            .into_iter()
            .partition(|s| s.user == name);
        self.sessions = left;
        for mut open in gone {
            if open.session.query("SELECT v FROM m.t").is_ok() {
                return Err(format!("{name} was dropped, and its session reads m.t"));
            }
        }
        self.world.forget(&name);
        self.forget_active(&name)
    }

    /// Sessions in which this role was active: whether it comes back with a new grant is nobody's promise.
    fn forget_active(&mut self, role: &str) -> Outcome<()> {
        for at in 0..self.sessions.len() {
            if self.sessions[at].active.contains(role) {
                let user = self.sessions[at].user.clone();
                self.note(format!("{user}: SET ROLE NONE"));
                self.sessions[at].session.query("SET ROLE NONE")?;
                self.sessions[at].active.clear();
            }
        }
        Ok(())
    }

    fn rename(&mut self, users: &[String]) -> Outcome<()> {
        let Some(name) = self.one_of(users) else {
            return Ok(());
        };
        self.names += 1;
        let new = format!("zu{}", self.names);
        self.root(&format!("RENAME USER {name}@localhost TO {new}@localhost"))?;
        self.sessions.retain(|s| s.user != name);
        self.world.rename(&name, &new);
        Ok(())
    }

    fn password(&mut self, users: &[String]) -> Outcome<()> {
        let Some(name) = self.one_of(users) else {
            return Ok(());
        };
        let password = format!("p{}", self.rng.below(1000));
        let locked = self.rng.one_in(4);
        let lock = if locked { "LOCK" } else { "UNLOCK" };
        self.root(&format!(
            "ALTER USER {name}@localhost IDENTIFIED BY '{password}' ACCOUNT {lock}"
        ))?;
        if let Some(account) = self.world.accounts.get_mut(&name) {
            let old = std::mem::replace(&mut account.password, password.clone());
            account.locked = locked;
            if old != password && self.fixture.session(&name, &old, &[]).is_ok() {
                return Err(format!(
                    "{name} logs in with the password that was replaced"
                ));
            }
            if self.fixture.session(&name, &password, &[]).is_ok() == locked {
                return Err(format!("{name}, locked: {locked}, and its new password"));
            }
        }
        Ok(())
    }

    fn give(&mut self, all: &[String]) -> Outcome<()> {
        let Some(name) = self.one_of(all) else {
            return Ok(());
        };
        let level = self.level();
        let is_role = name.starts_with("zr");
        if self.world.partial_revokes && level == Level::Global && is_role {
            // How restrictions of one and privileges of the other add up is not what is tried here.
            return Ok(());
        }
        let privilege = self.privilege(&level);
        let account = &self.world.accounts[&name];
        if account.own.has_restriction(privilege) {
            return Ok(());
        }
        let what = data::written(&[privilege.to_owned()], &level);
        self.root(&format!("GRANT {what} TO {name}@localhost"))?;
        if let Some(account) = self.world.accounts.get_mut(&name) {
            account.own.grant(privilege, &level);
        }
        Ok(())
    }

    fn revoke_some(&mut self, all: &[String]) -> Outcome<()> {
        let Some(name) = self.one_of(all) else {
            return Ok(());
        };
        let held: Vec<(String, Level)> =
            self.world.accounts[&name].own.statics().cloned().collect();
        if held.is_empty() {
            return Ok(());
        }
        let (privilege, level) = held[self.rng.below(held.len() as u64) as usize].clone();
        if matches!(level, Level::Database(_))
            && self.world.accounts[&name].own.global(&privilege)
            && self.world.partial_revokes
        {
            return Ok(());
        }
        let what = data::written(std::slice::from_ref(&privilege), &level);
        self.root(&format!("REVOKE {what} FROM {name}@localhost"))?;
        self.world.revoke(&name, &privilege, &level);
        Ok(())
    }

    fn restrict(&mut self, users: &[String]) -> Outcome<()> {
        let Some(name) = self.one_of(users).filter(|_| self.world.partial_revokes) else {
            return Ok(());
        };
        let account = &self.world.accounts[&name];
        let level = Level::Database("m".to_owned());
        let found = PRIVILEGES.iter().find(|p| {
            **p != "GRANT OPTION"
                && account.own.global(p)
                && account.own.database(p, "m")
                && !account.own.statics().any(|(q, l)| q == *p && *l == level)
        });
        let Some(privilege) = found else {
            return Ok(());
        };
        self.root(&format!("REVOKE {privilege} ON m.* FROM {name}@localhost"))?;
        if let Some(account) = self.world.accounts.get_mut(&name) {
            account.own.restrict(privilege, "m");
        }
        Ok(())
    }

    fn dynamic(&mut self, all: &[String]) -> Outcome<()> {
        let Some(name) = self.one_of(all) else {
            return Ok(());
        };
        let privilege = self.pick(DYNAMIC);
        if privilege == "SYSTEM_USER" && name.starts_with("zr") {
            // A role with it cannot be mandatory, nor can a mandatory one get it.
            return Ok(());
        }
        let account = &self.world.accounts[&name];
        if account.own.dynamic(privilege) {
            self.root(&format!("REVOKE {privilege} ON *.* FROM {name}@localhost"))?;
            if let Some(account) = self.world.accounts.get_mut(&name) {
                account.own.revoke_dynamic(privilege);
            }
        } else {
            let grantable = self.rng.one_in(2);
            let option = if grantable { " WITH GRANT OPTION" } else { "" };
            self.root(&format!(
                "GRANT {privilege} ON *.* TO {name}@localhost{option}"
            ))?;
            if let Some(account) = self.world.accounts.get_mut(&name) {
                account.own.grant_dynamic(privilege, grantable);
            }
        }
        Ok(())
    }

    fn everything(&mut self, all: &[String]) -> Outcome<()> {
        let Some(name) = self.one_of(all).filter(|_| self.rng.one_in(3)) else {
            return Ok(());
        };
        self.root(&format!(
            "REVOKE ALL PRIVILEGES, GRANT OPTION FROM {name}@localhost"
        ))?;
        if let Some(account) = self.world.accounts.get_mut(&name) {
            account.own = Held::default();
        }
        Ok(())
    }

    fn grant_role(&mut self, roles: &[String], all: &[String]) -> Outcome<()> {
        let (Some(role), Some(to)) = (self.one_of(roles), self.one_of(all)) else {
            return Ok(());
        };
        let admin = self.rng.one_in(4);
        let option = if admin { " WITH ADMIN OPTION" } else { "" };
        let sql = format!("GRANT {role}@localhost TO {to}@localhost{option}");
        if self.world.closes_a_circle(&role, &to) {
            self.note(format!("root: {sql} (a circle)"));
            return match self.fixture.root(&sql) {
                Ok(()) => Err(format!("a circle of roles was made: {sql}")),
                Err(_) => Ok(()),
            };
        }
        self.root(&sql)?;
        if let Some(account) = self.world.accounts.get_mut(&to) {
            *account.roles.entry(role).or_default() |= admin;
        }
        Ok(())
    }

    fn revoke_role(&mut self, all: &[String]) -> Outcome<()> {
        let Some(from) = self.one_of(all) else {
            return Ok(());
        };
        let roles: Vec<String> = self.world.accounts[&from].roles.keys().cloned().collect();
        let Some(role) = self
            .one_of(&roles)
            .filter(|r| !self.world.mandatory.contains(r))
        else {
            return Ok(());
        };
        self.root(&format!("REVOKE {role}@localhost FROM {from}@localhost"))?;
        if let Some(account) = self.world.accounts.get_mut(&from) {
            account.roles.remove(&role);
            account.defaults.remove(&role);
        }
        self.forget_active(&role)
    }

    fn defaults(&mut self, users: &[String]) -> Outcome<()> {
        let Some(user) = self.one_of(users) else {
            return Ok(());
        };
        let granted: Vec<String> = self.world.accounts[&user].roles.keys().cloned().collect();
        let chosen: BTreeSet<String> = granted.into_iter().filter(|_| self.rng.one_in(2)).collect();
        let list: Vec<String> = chosen.iter().map(|r| format!("{r}@localhost")).collect();
        let what = if list.is_empty() {
            "NONE".to_owned()
        } else {
            list.join(", ")
        };
        self.root(&format!("SET DEFAULT ROLE {what} TO {user}@localhost"))?;
        if let Some(account) = self.world.accounts.get_mut(&user) {
            account.defaults = chosen;
        }
        Ok(())
    }

    fn switches(&mut self, roles: &[String]) -> Outcome<()> {
        if self.rng.one_in(2) {
            self.world.activate_all = !self.world.activate_all;
            let switch = if self.world.activate_all { "ON" } else { "OFF" };
            return self.root(&format!(
                "SET GLOBAL activate_all_roles_on_login = {switch}"
            ));
        }
        let old = std::mem::take(&mut self.world.mandatory);
        let new: BTreeSet<String> = self
            .one_of(roles)
            .filter(|_| self.rng.one_in(2))
            .into_iter()
            .collect();
        let list: Vec<String> = new.iter().map(|r| format!("{r}@localhost")).collect();
        self.world.mandatory = new;
        self.root(&format!(
            "SET GLOBAL mandatory_roles = '{}'",
            list.join(",")
        ))?;
        for role in old {
            self.forget_active(&role)?;
        }
        Ok(())
    }
}
