//! CREATE USER, ALTER USER, DROP USER, RENAME USER, SET PASSWORD, GRANT, REVOKE, and the texts of SHOW GRANTS and
//! SHOW CREATE USER.
//!
//! Privileges exist for everything (`*.*`) and for databases; those of tables, columns and routines, and roles, are refused
//! with 1235.

use std::sync::Arc;

use types::error::codes;
use types::{Level, SqlError, Warning};

use super::super::Session;
use super::privileges::DYNAMIC;
use super::{Account as Entry, AccountState, DbGrant, PrivSet};
use crate::parse::ast::{
    Account, AuthSecret, AuthSpec, CreateUser, GrantObject, GrantWhat, Privilege, Statement,
    UserSpec,
};
use crate::show::quote;
use crate::sink::Done;

const DEFAULT_PLUGIN: &str = "caching_sha2_password";

fn shown(user: &str, host: &str) -> String {
    format!("'{user}'@'{host}'")
}

/// Error 1396.
fn failed(operation: &str, names: &[String]) -> SqlError {
    SqlError::new(
        1396,
        format!("Operation {operation} failed for {}", names.join(",")),
    )
}

fn no_such_grant(user: &str, host: &str) -> SqlError {
    SqlError::new(
        codes::ER_NONEXISTING_GRANT,
        format!("There is no such grant defined for user '{user}' on host '{host}'"),
    )
}

/// On what a GRANT or REVOKE works, as far as this server has it.
enum Scope {
    Global,
    Db(String),
}

impl Session {
    /// The user and host of an account clause.
    pub(crate) fn account_name(&self, a: &Account) -> (String, String) {
        match a {
            Account::CurrentUser => (self.user.clone(), self.account_host.clone()),
            Account::Named { user, host } => (user.to_string(), host.to_lowercase()),
        }
    }

    async fn change_accounts(
        &mut self,
        change: impl FnOnce(&mut AccountState) -> Result<(), SqlError> + Send,
    ) -> Result<(), SqlError> {
        let instance = Arc::clone(&self.instance);
        instance.accounts.change(&instance.engine, change).await
    }

    /// Carries out a statement about accounts.
    pub(crate) async fn run_account(&mut self, s: &Statement) -> Result<Done, SqlError> {
        self.check_may_change()?;
        self.implicit_commit().await?;
        match s {
            Statement::CreateUser(c) => self.create_users(c).await?,
            Statement::AlterUser(c) => self.alter_users(c).await?,
            Statement::DropUser { if_exists, users } => self.drop_users(*if_exists, users).await?,
            Statement::RenameUser(pairs) => self.rename_users(pairs).await?,
            Statement::Grant(g) => {
                self.require_global("GRANT OPTION")?;
                self.grant(&g.what, &g.to, g.with_option).await?;
            }
            Statement::Revoke(r) => {
                self.require_global("GRANT OPTION")?;
                self.revoke(&r.what, &r.from, r.ignore_unknown).await?;
            }
            _ => return Err(SqlError::not_supported("roles")),
        }
        Ok(Done::default())
    }

    fn secret(&self, auth: &AuthSpec, old_plugin: &str) -> Result<(String, Vec<u8>), SqlError> {
        let plugin = auth.plugin.as_deref().unwrap_or(old_plugin).to_owned();
        if !matches!(
            plugin.as_str(),
            "caching_sha2_password" | "mysql_native_password"
        ) {
            return Err(SqlError::new(
                1524,
                format!("Plugin '{plugin}' is not loaded"),
            ));
        }
        let stored = match &auth.secret {
            AuthSecret::None => Vec::new(),
            AuthSecret::Hash(h) => h.to_vec(),
            AuthSecret::Random => return Err(SqlError::not_supported("RANDOM PASSWORD")),
            AuthSecret::Password(p) => self.hash(&plugin, p)?,
        };
        Ok((plugin, stored))
    }

    fn hash(&self, plugin: &str, password: &[u8]) -> Result<Vec<u8>, SqlError> {
        if password.is_empty() {
            return Ok(Vec::new());
        }
        let hasher = self.instance.options.password_hasher.as_ref();
        hasher
            .and_then(|h| h(plugin, password))
            .ok_or_else(|| SqlError::new(1524, format!("Plugin '{plugin}' is not loaded")))
    }

    async fn create_users(&mut self, stmt: &CreateUser) -> Result<(), SqlError> {
        self.require_global("CREATE USER")?;
        let state = self.instance.accounts.snapshot();
        let mut new = Vec::new();
        let mut refused = Vec::new();
        for spec in &stmt.users {
            let (user, host) = self.account_name(&spec.account);
            if state.find(&user, &host).is_some() {
                if stmt.if_clause {
                    let text = format!("Authorization ID {} already exists.", shown(&user, &host));
                    self.warn(Warning::new(Level::Note, 3163, text));
                } else {
                    refused.push(shown(&user, &host));
                }
                continue;
            }
            let (plugin, auth_string) = match &spec.auth {
                Some(a) => self.secret(a, DEFAULT_PLUGIN)?,
                None => (DEFAULT_PLUGIN.to_owned(), Vec::new()),
            };
            let mut a = Entry {
                user,
                host,
                plugin,
                auth_string,
                privileges: PrivSet::default(),
                dynamic: Vec::new(),
                locked: false,
                expired: false,
            };
            take_options(&mut a, stmt);
            new.push(a);
        }
        if !refused.is_empty() {
            return Err(failed("CREATE USER", &refused));
        }
        self.change_accounts(|s| {
            s.accounts.extend(new);
            Ok(())
        })
        .await
    }

    async fn alter_users(&mut self, stmt: &CreateUser) -> Result<(), SqlError> {
        let mut changed = Vec::new();
        for spec in &stmt.users {
            let (user, host) = self.account_name(&spec.account);
            if (&user, &host) != (&self.user, &self.account_host) {
                self.require_global("CREATE USER")?;
            }
            let state = self.instance.accounts.snapshot();
            let Some(old) = state.find(&user, &host) else {
                if stmt.if_clause {
                    let text = format!("Authorization ID {} does not exist.", shown(&user, &host));
                    self.warn(Warning::new(Level::Note, 3162, text));
                    continue;
                }
                return Err(failed("ALTER USER", &[shown(&user, &host)]));
            };
            let mut a = old.clone();
            if let Some(auth) = &spec.auth {
                (a.plugin, a.auth_string) = self.secret(auth, &old.plugin)?;
                a.expired = false;
            }
            take_options(&mut a, stmt);
            changed.push(a);
        }
        self.change_accounts(|s| {
            for a in changed {
                replace(s, a);
            }
            Ok(())
        })
        .await
    }

    async fn drop_users(&mut self, if_exists: bool, users: &[Account]) -> Result<(), SqlError> {
        self.require_global("CREATE USER")?;
        let state = self.instance.accounts.snapshot();
        let mut gone = Vec::new();
        let mut missing = Vec::new();
        for a in users {
            let (user, host) = self.account_name(a);
            if state.find(&user, &host).is_some() {
                gone.push((user, host));
            } else if if_exists {
                let text = format!("Authorization ID {} does not exist.", shown(&user, &host));
                self.warn(Warning::new(Level::Note, 3162, text));
            } else {
                missing.push(shown(&user, &host));
            }
        }
        if !missing.is_empty() {
            return Err(failed("DROP USER", &missing));
        }
        self.change_accounts(|s| {
            let stays = |u: &str, h: &str| !gone.iter().any(|(gu, gh)| gu == u && gh == h);
            s.accounts.retain(|a| stays(&a.user, &a.host));
            s.grants.retain(|g| stays(&g.user, &g.host));
            Ok(())
        })
        .await
    }

    async fn rename_users(&mut self, pairs: &[(Account, Account)]) -> Result<(), SqlError> {
        self.require_global("CREATE USER")?;
        let pairs: Vec<_> = pairs
            .iter()
            .map(|(a, b)| (self.account_name(a), self.account_name(b)))
            .collect();
        self.change_accounts(|s| {
            for ((user, host), (to_user, to_host)) in &pairs {
                let taken = s.find(to_user, to_host).is_some();
                let found = s
                    .accounts
                    .iter_mut()
                    .find(|a| &a.user == user && &a.host == host);
                let Some(a) = found.filter(|_| !taken) else {
                    return Err(failed("RENAME USER", &[shown(user, host)]));
                };
                a.user.clone_from(to_user);
                a.host.clone_from(to_host);
                for g in s
                    .grants
                    .iter_mut()
                    .filter(|g| &g.user == user && &g.host == host)
                {
                    g.user.clone_from(to_user);
                    g.host.clone_from(to_host);
                }
            }
            Ok(())
        })
        .await
    }

    /// SET PASSWORD.
    pub(crate) async fn set_password(
        &mut self,
        account: Option<&Account>,
        password: Option<&[u8]>,
    ) -> Result<(), SqlError> {
        let (user, host) = self.account_name(account.unwrap_or(&Account::CurrentUser));
        if (&user, &host) != (&self.user, &self.account_host) {
            self.require_global("CREATE USER")?;
        }
        let password = password.ok_or_else(|| SqlError::not_supported("SET PASSWORD TO RANDOM"))?;
        let state = self.instance.accounts.snapshot();
        let old = state
            .find(&user, &host)
            .ok_or_else(|| SqlError::new(1133, "Can't find any matching row in the user table"))?;
        let mut a = old.clone();
        a.auth_string = self.hash(&a.plugin, password)?;
        a.expired = false;
        self.change_accounts(|s| {
            replace(s, a);
            Ok(())
        })
        .await
    }

    fn grant_scope(&self, on: &GrantObject) -> Result<Scope, SqlError> {
        match on {
            GrantObject::Global => Ok(Scope::Global),
            GrantObject::CurrentSchema => Ok(Scope::Db(self.current_schema()?)),
            GrantObject::Schema(db) => Ok(Scope::Db(db.to_string())),
            GrantObject::Table(_) => Err(SqlError::not_supported("privileges on tables")),
            GrantObject::Routine(..) => Err(SqlError::not_supported("privileges on routines")),
        }
    }

    async fn grant(
        &mut self,
        what: &GrantWhat,
        to: &[UserSpec],
        with_option: bool,
    ) -> Result<(), SqlError> {
        let (list, on) = match what {
            GrantWhat::Privileges(list, on) => (list, on),
            GrantWhat::Proxy(_) => return Err(SqlError::not_supported("GRANT PROXY")),
            _ => return Err(SqlError::not_supported("roles")),
        };
        let scope = self.grant_scope(on)?;
        let (mut set, dynamic) = privileges(list, &scope)?;
        if with_option {
            set.add("GRANT OPTION")?;
        }
        let names: Vec<_> = to.iter().map(|u| self.account_name(&u.account)).collect();
        self.change_accounts(|s| {
            for (user, host) in &names {
                if s.find(user, host).is_none() {
                    return Err(SqlError::new(
                        1410,
                        "You are not allowed to create a user with GRANT",
                    ));
                }
                give(s, user, host, &scope, set, &dynamic, with_option);
            }
            Ok(())
        })
        .await
    }

    async fn revoke(
        &mut self,
        what: &GrantWhat,
        from: &[Account],
        ignore_unknown: bool,
    ) -> Result<(), SqlError> {
        let taken = match what {
            GrantWhat::Privileges(list, on) => {
                let scope = self.grant_scope(on)?;
                let (set, dynamic) = privileges(list, &scope)?;
                Some((scope, set, dynamic))
            }
            GrantWhat::Everything => None,
            GrantWhat::Proxy(_) => return Err(SqlError::not_supported("REVOKE PROXY")),
            GrantWhat::Roles(_) => return Err(SqlError::not_supported("roles")),
        };
        let names: Vec<_> = from.iter().map(|a| self.account_name(a)).collect();
        self.change_accounts(|s| {
            for (user, host) in &names {
                if s.find(user, host).is_none() {
                    if ignore_unknown {
                        continue;
                    }
                    return Err(no_such_grant(user, host));
                }
                match &taken {
                    None => take_everything(s, user, host),
                    Some((scope, set, dynamic)) => take(s, user, host, scope, *set, dynamic)?,
                }
            }
            Ok(())
        })
        .await
    }

    /// The lines of SHOW GRANTS.
    ///
    /// # Errors
    /// 1141.
    pub(crate) fn grants_of(&self, user: &str, host: &str) -> Result<Vec<String>, SqlError> {
        let state = self.instance.accounts.snapshot();
        let a = state
            .find(user, host)
            .ok_or_else(|| no_such_grant(user, host))?;
        let to = format!("{}@{}", quote(user), quote(host));
        let option = |p: PrivSet| {
            if p.has("GRANT OPTION") {
                " WITH GRANT OPTION"
            } else {
                ""
            }
        };
        let mut out = vec![format!(
            "GRANT {} ON *.* TO {to}{}",
            a.privileges.text(),
            option(a.privileges)
        )];
        for with in [true, false] {
            let names: Vec<&str> = a
                .dynamic
                .iter()
                .filter(|(_, w)| *w == with)
                .map(|(n, _)| n.as_str())
                .collect();
            if !names.is_empty() {
                let tail = if with { " WITH GRANT OPTION" } else { "" };
                out.push(format!("GRANT {} ON *.* TO {to}{tail}", names.join(",")));
            }
        }
        for g in state
            .grants
            .iter()
            .filter(|g| g.user == a.user && g.host == a.host)
        {
            let mut plain = g.privileges;
            plain.remove("GRANT OPTION");
            let text = if plain == PrivSet::all_db() {
                "ALL PRIVILEGES".to_owned()
            } else {
                plain.text()
            };
            out.push(format!(
                "GRANT {text} ON {}.* TO {to}{}",
                quote(&g.db),
                option(g.privileges)
            ));
        }
        Ok(out)
    }

    /// The text of SHOW CREATE USER.
    ///
    /// # Errors
    /// 1396.
    pub(crate) fn create_user_text(&self, user: &str, host: &str) -> Result<String, SqlError> {
        let state = self.instance.accounts.snapshot();
        let a = state
            .find(user, host)
            .ok_or_else(|| failed("SHOW CREATE USER", &[shown(user, host)]))?;
        let hash = if a.auth_string.is_empty() {
            String::new()
        } else {
            let text = String::from_utf8_lossy(&a.auth_string).replace('\'', "''");
            format!(" AS '{text}'")
        };
        Ok(format!(
            "CREATE USER {}@{} IDENTIFIED WITH '{}'{hash} REQUIRE NONE PASSWORD EXPIRE{} ACCOUNT {} PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL DEFAULT PASSWORD REQUIRE CURRENT DEFAULT",
            quote(user),
            quote(host),
            a.plugin,
            if a.expired { "" } else { " DEFAULT" },
            if a.locked { "LOCK" } else { "UNLOCK" },
        ))
    }
}

fn take_options(a: &mut Entry, stmt: &CreateUser) {
    for o in &stmt.options {
        match &**o {
            "ACCOUNT LOCK" => a.locked = true,
            "ACCOUNT UNLOCK" => a.locked = false,
            "PASSWORD EXPIRE" => a.expired = true,
            _ => {}
        }
    }
}

fn replace(s: &mut AccountState, a: Entry) {
    if let Some(old) = s
        .accounts
        .iter_mut()
        .find(|o| o.user == a.user && o.host == a.host)
    {
        *old = a;
    }
}

/// The static and dynamic privileges of a list.
fn privileges(list: &[Privilege], scope: &Scope) -> Result<(PrivSet, Vec<String>), SqlError> {
    let mut set = PrivSet::default();
    let mut dynamic = Vec::new();
    for p in list {
        if !p.columns.is_empty() {
            return Err(SqlError::not_supported("privileges on columns"));
        }
        match (&*p.name, scope) {
            ("ALL PRIVILEGES" | "ALL", Scope::Global) => {
                set.add_all(PrivSet::all());
                dynamic.extend(DYNAMIC.iter().map(|d| (*d).to_owned()));
            }
            ("ALL PRIVILEGES" | "ALL", Scope::Db(_)) => set.add_all(PrivSet::all_db()),
            ("USAGE", _) => {}
            (name, _) if DYNAMIC.contains(&name) => match scope {
                Scope::Global => dynamic.push(name.to_owned()),
                Scope::Db(_) => {
                    return Err(SqlError::new(
                        3619,
                        format!("Illegal privilege level specified for {name}"),
                    ));
                }
            },
            (name, _) => set.add(name)?,
        }
    }
    if matches!(scope, Scope::Db(_)) {
        let mut outside = set;
        outside.remove_all(PrivSet::all_db());
        outside.remove("GRANT OPTION");
        if !outside.is_empty() {
            return Err(SqlError::new(
                codes::ER_WRONG_USAGE,
                "Incorrect usage of DB GRANT and GLOBAL PRIVILEGES",
            ));
        }
    }
    Ok((set, dynamic))
}

fn give(
    s: &mut AccountState,
    user: &str,
    host: &str,
    scope: &Scope,
    set: PrivSet,
    dynamic: &[String],
    with_option: bool,
) {
    match scope {
        Scope::Global => {
            let mine = s
                .accounts
                .iter_mut()
                .find(|a| a.user == user && a.host == host);
            let Some(a) = mine else { return };
            a.privileges.add_all(set);
            for d in dynamic {
                match a.dynamic.iter_mut().find(|(n, _)| n == d) {
                    Some(old) => old.1 |= with_option,
                    None => a.dynamic.push((d.clone(), with_option)),
                }
            }
            a.dynamic.sort();
        }
        Scope::Db(db) => {
            let mine = s
                .grants
                .iter_mut()
                .find(|g| g.user == user && g.host == host && &g.db == db);
            match mine {
                Some(g) => g.privileges.add_all(set),
                None if set.is_empty() => {}
                None => s.grants.push(DbGrant {
                    user: user.to_owned(),
                    host: host.to_owned(),
                    db: db.clone(),
                    privileges: set,
                }),
            }
        }
    }
}

fn take(
    s: &mut AccountState,
    user: &str,
    host: &str,
    scope: &Scope,
    set: PrivSet,
    dynamic: &[String],
) -> Result<(), SqlError> {
    match scope {
        Scope::Global => {
            let mine = s
                .accounts
                .iter_mut()
                .find(|a| a.user == user && a.host == host);
            if let Some(a) = mine {
                a.privileges.remove_all(set);
                a.dynamic.retain(|(n, _)| !dynamic.contains(n));
            }
        }
        Scope::Db(db) => {
            let mine = s
                .grants
                .iter_mut()
                .find(|g| g.user == user && g.host == host && &g.db == db);
            let g = mine.ok_or_else(|| no_such_grant(user, host))?;
            g.privileges.remove_all(set);
            s.grants.retain(|g| !g.privileges.is_empty());
        }
    }
    Ok(())
}

fn take_everything(s: &mut AccountState, user: &str, host: &str) {
    for a in s
        .accounts
        .iter_mut()
        .filter(|a| a.user == user && a.host == host)
    {
        a.privileges = PrivSet::default();
        a.dynamic.clear();
    }
    s.grants.retain(|g| g.user != user || g.host != host);
}
