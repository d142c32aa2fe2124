//! Statements about accounts: users, roles, what is granted to them, passwords, and the texts of SHOW GRANTS and SHOW CREATE USER.
//!
//! Everything that is decided is decided while the accounts are being changed, on the accounts as they are then
//! ([`crate::context::accounts::Accounts::change`]); a statement about several accounts changes all of them or none. Never here: a packet, a row of
//! `mysql.*`.

mod actor;
mod binlog_text;
mod errors;
mod grants;
mod passwords;
mod removal;
mod requested;
mod roles;
mod show;
#[cfg(test)]
mod tests;
mod users;

use std::sync::Arc;

use types::SqlError;
use types::error::codes;

use actor::{Actor, Outcome};

use crate::context::Session;
use crate::describe::rowset::RowSet;
use binlog_text::Secret;
use sql_access::needs::Right;
use sql_access::password::{History, Strength};
use sql_access::{AccountId, AccountState, Granted};
use sql_expr::vars::VarInput;
use sql_parser::ast::{Account, SetItem, Statement, UserSpec};
use sql_plan::sink::{Done, ResultSink};

impl Session {
    fn actor(&self) -> Actor {
        let globals = &self.instance.globals;
        let number = |name: &str| globals.value_by_name(name).map_or(0, |v| v.as_u64());
        let own = |name: &str| self.vars.value_by_name(name).map_or(0, |v| v.as_u64());
        Actor {
            account: self.security.account().clone(),
            host: self.host.clone(),
            roles: self.security.roles().to_vec(),
            server: self.security.is_server(),
            partial_revokes: number("partial_revokes") != 0,
            mandatory: self.instance.mandatory_roles(),
            now_us: self.instance.clock.wall_us(),
            history: History {
                count: number("password_history") as u32,
                days: number("password_reuse_interval") as u32,
            },
            require_current: number("password_require_current") != 0,
            random_length: own("generated_random_password_length") as usize,
            strength: match self.instance.components.validates_passwords() {
                true => Strength::of(globals),
                false => None,
            },
            hasher: self.instance.options.password_hasher.clone(),
            verifier: self.instance.options.password_verifier.clone(),
            random: Arc::clone(&self.instance.random),
            catalog: self.instance.engine.catalog(),
            schema: self.facts.database.clone(),
        }
    }

    /// Changes accounts, and tells the client what there is to tell.
    async fn change_accounts(
        &mut self,
        change: impl FnOnce(&Actor, &mut AccountState) -> Result<Outcome, SqlError> + Send,
        secret: Option<Secret>,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        let actor = self.actor();
        let instance = Arc::clone(&self.instance);
        let change = |state: &mut AccountState| change(&actor, state);
        let out = {
            let this = &*self;
            let group = move |state: &AccountState| match &secret {
                Some(secret) => {
                    this.statement_group(secret.text(state)?.as_bytes(), &["mysql"], None)
                }
                None => this.statement_group(this.text_alone(), &["mysql"], None),
            };
            let accounts = &instance.accounts;
            accounts
                .change_and_tell(&instance.engine, change, group)
                .await?
        };
        self.look_for_new_password();
        for note in out.notes {
            self.warn(note);
        }
        for id in &out.unlocked {
            instance.logins.forget(id);
        }
        if out.generated.is_empty() {
            return Ok(Done::default());
        }
        let names = ["user", "host", "generated password", "auth_factor"];
        let mut r = RowSet::texts(&names, &[32, 255, 255, 8]);
        for (id, password) in &out.generated {
            r.push_texts(&[&id.user, &id.host, password, "1"]);
        }
        Ok(r.send(sink))
    }

    /// Carries out a statement about accounts.
    pub(crate) async fn run_account(
        &mut self,
        _granted: &Granted,
        s: &Statement,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        if let Statement::SetRole(set) = s {
            let roles = roles::to_activate(&self.actor(), &self.instance.accounts.snapshot(), set)?;
            self.activate_roles(roles);
            return Ok(Done::default());
        }
        self.check_may_define().await?;
        self.begin_account_change().await?;
        let secret = self.secret_of(s);
        self.change_accounts(|actor, state| apply(actor, state, s), secret, sink)
            .await
    }

    /// What is to be told of a statement that has passwords in it.
    fn secret_of(&self, s: &Statement) -> Option<Secret> {
        let (Statement::CreateUser(c) | Statement::AlterUser(c)) = s else {
            return None;
        };
        if !c.users.iter().any(binlog_text::is_secret) {
            return None;
        }
        let named = |u: &UserSpec| Some((self.account_id(&u.account).ok()?, u.retain));
        let users = c.users.iter().filter_map(named).collect();
        Some(match s {
            Statement::CreateUser(_) => Secret::Create {
                if_not_exists: c.if_clause,
                users,
            },
            _ => Secret::Alter {
                if_exists: c.if_clause,
                users,
                more: binlog_text::says_more(c),
            },
        })
    }

    /// The same of SET PASSWORD.
    fn secret_of_set(&self, item: &SetItem) -> Option<Secret> {
        let SetItem::Password {
            account, retain, ..
        } = item
        else {
            return None;
        };
        let account = account.as_ref().unwrap_or(&Account::CurrentUser);
        Some(Secret::Alter {
            if_exists: false,
            users: vec![(self.account_id(account).ok()?, *retain)],
            more: false,
        })
    }

    /// SET PASSWORD.
    pub(crate) async fn set_password(
        &mut self,
        item: &SetItem,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        self.check_may_define().await?;
        self.begin_account_change().await?;
        let secret = self.secret_of_set(item);
        self.change_accounts(
            |actor, state| passwords::set(actor, state, item),
            secret,
            sink,
        )
        .await
    }

    /// Commits, and sees to it that tables of `mysql` may be changed now: by a session of their own, which no lock of this one lets pass.
    ///
    /// # Errors
    /// 1100 under LOCK TABLES, 1223 with a read lock of the server; what committing fails with; 1205, 1317; 1598: the binary log is
    /// at an end.
    async fn begin_account_change(&mut self) -> Result<(), SqlError> {
        self.check_no_tables_locked()?;
        self.implicit_commit().await?;
        if self.binlog_context(&[]).is_some() {
            self.engine.wait_intake().await?;
        }
        self.engine.begin_writing().await?;
        // Whoever had the server locked may have raised the fence.
        self.check_fence()
    }

    /// Who has locked tables does not wait for others' changes of the accounts: they may wait for these tables.
    ///
    /// # Errors
    /// 1100.
    pub(crate) fn check_no_tables_locked(&self) -> Result<(), SqlError> {
        match self.locked.is_some() && !base::mutant!("accounts-waited-for-with-tables-locked") {
            true => Err(SqlError::new(
                codes::ER_TABLE_NOT_LOCKED,
                "Table 'user' was not locked with LOCK TABLES",
            )),
            false => Ok(()),
        }
    }

    /// INSTALL COMPONENT and UNINSTALL COMPONENT.
    pub(crate) async fn change_components(
        &mut self,
        install: bool,
        urns: &[Box<str>],
    ) -> Result<Done, SqlError> {
        self.check_may_define().await?;
        self.begin_account_change().await?;
        let instance = Arc::clone(&self.instance);
        let components = &instance.components;
        components.change(&instance.engine, install, urns).await?;
        Ok(Done::default())
    }

    /// The account that a clause names.
    ///
    /// # Errors
    /// 1470, 1105, 1300.
    pub(crate) fn account_id(&self, a: &Account) -> Result<AccountId, SqlError> {
        match a {
            Account::CurrentUser => Ok(self.security.account().clone()),
            Account::Named { user, host } => actor::named(user, host),
        }
    }

    /// Looks at a value that a global variable about accounts is to have: `partial_revokes = OFF` is refused while there is a
    /// partial revoke, a mandatory role while it has SYSTEM_USER.
    ///
    /// # Errors
    /// 3896, 3880, 1231, 1227.
    pub(crate) fn check_account_variable(
        &self,
        name: &str,
        value: &VarInput,
    ) -> Result<(), SqlError> {
        if name.eq_ignore_ascii_case("partial_revokes") {
            let off = match value {
                VarInput::Text(t) => matches!(&t.to_ascii_uppercase()[..], "OFF" | "FALSE"),
                VarInput::Int(n) => *n == 0,
                VarInput::Uint(n) => *n == 0,
                VarInput::Default => true,
                _ => false,
            };
            let state = self.instance.accounts.snapshot();
            if off && state.iter().any(|a| !a.restrictions.is_empty()) {
                return Err(SqlError::new(
                    codes::ER_PARTIAL_REVOKES_EXIST,
                    "At least one partial revoke exists on a database. The system variable '@@partial_revokes' must be set to ON.",
                ));
            }
        }
        if name.eq_ignore_ascii_case("mandatory_roles") {
            self.security.require(&[Right::Dynamic("ROLE_ADMIN")])?;
            if let VarInput::Text(list) = value {
                self.check_mandatory_roles(list)?;
            }
        }
        Ok(())
    }

    fn check_mandatory_roles(&self, list: &str) -> Result<(), SqlError> {
        if list.trim().is_empty() {
            return Ok(());
        }
        let Ok(parsed) = sql_parser::parse_accounts(list.as_bytes()) else {
            return Err(SqlError::new(
                types::error::codes::ER_WRONG_VALUE_FOR_VAR,
                format!("Variable 'mandatory_roles' can't be set to the value of '{list}'"),
            ));
        };
        let state = self.instance.accounts.snapshot();
        for a in &parsed {
            let id = self.account_id(a)?;
            if roles::has_system_user(&state, &id) {
                return Err(SqlError::new(
                    codes::ER_DA_AUTH_ID_WITH_SYSTEM_USER_PRIV_IN_MANDATORY_ROLES,
                    format!(
                        "Cannot set mandatory_roles: AuthId {} has 'SYSTEM_USER' privilege.",
                        id.ticked()
                    ),
                ));
            }
        }
        Ok(())
    }
}

fn apply(actor: &Actor, state: &mut AccountState, s: &Statement) -> Result<Outcome, SqlError> {
    match s {
        Statement::CreateUser(c) => users::create(actor, state, c),
        Statement::AlterUser(c) => users::alter(actor, state, c),
        Statement::DropUser { if_exists, users } => users::drop(actor, state, *if_exists, users),
        Statement::RenameUser(pairs) => users::rename(actor, state, pairs),
        Statement::CreateRole {
            if_not_exists,
            roles,
        } => roles::create(actor, state, *if_not_exists, roles),
        Statement::DropRole { if_exists, roles } => roles::drop(actor, state, *if_exists, roles),
        Statement::SetDefaultRole { roles, users } => {
            roles::set_default(actor, state, roles, users)
        }
        Statement::Grant(g) => grants::grant(actor, state, g),
        Statement::Revoke(r) => grants::revoke(actor, state, r),
        _ => Err(SqlError::internal("a statement in the wrong place")),
    }
}
