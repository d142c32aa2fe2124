//! `CREATE USER`, `ALTER USER`, roles, `GRANT`, `REVOKE`.

use super::ast::*;
use super::keyword::Kw;
use super::lexer::{T, Token};
use super::parser::{Parser, R};

impl Parser<'_> {
    /// An account: `user[@host]`, `CURRENT_USER[()]`.
    pub fn account(&mut self) -> R<Account> {
        if self.eat(Kw::CURRENT_USER) {
            if self.take(T::LParen) {
                self.need(T::RParen)?;
            }
            return Ok(Account::CurrentUser);
        }
        let user = if self.is(T::Str) || self.is(T::Quoted) && self.slice(self.tok).len() == 2 {
            let token = self.bump();
            self.text_or_empty(token)?
        } else {
            self.ident()?
        };
        let mut host: Name = "%".into();
        if self.take(T::At) {
            host = if self.is(T::Str) || self.is(T::Quoted) {
                let token = self.bump();
                self.text_or_empty(token)?
            } else {
                self.ident()?
            };
        }
        Ok(Account::Named { user, host })
    }

    /// The value of a quoted token that may be empty.
    fn text_or_empty(&self, token: Token) -> R<Name> {
        if token.kind == T::Quoted {
            if token.end - token.start == 2 {
                return Ok("".into());
            }
            return self.name_of(token);
        }
        match String::from_utf8(self.string_value(token).into_vec()) {
            Ok(name) => Ok(name.into()),
            Err(e) => self.bad_name(e.as_bytes()),
        }
    }

    /// `CREATE USER ..` and `ALTER USER ..` behind the verb.
    pub fn create_user(&mut self, alter: bool) -> R<Statement> {
        self.expect(Kw::USER)?;
        let mut user = CreateUser {
            if_clause: if alter {
                self.if_exists()?
            } else {
                self.if_not_exists()?
            },
            ..CreateUser::default()
        };
        if alter && self.at(Kw::USER) && self.ahead(1).kind == T::LParen {
            // `ALTER USER USER() IDENTIFIED ..`
            self.bump();
            self.bump();
            self.need(T::RParen)?;
            user.users.push(self.user_auth(Account::CurrentUser)?);
        } else {
            user.users = self.list(Self::user_spec)?;
        }
        if self.eat2(Kw::DEFAULT, Kw::ROLE) {
            user.default_role = Some(self.role_set(false)?);
        }
        self.user_options(&mut user)?;
        let user = Box::new(user);
        Ok(if alter {
            Statement::AlterUser(user)
        } else {
            Statement::CreateUser(user)
        })
    }

    /// An account with how it authenticates.
    fn user_spec(&mut self) -> R<UserSpec> {
        let account = self.account()?;
        self.user_auth(account)
    }

    fn user_auth(&mut self, account: Account) -> R<UserSpec> {
        let mut spec = UserSpec {
            account,
            auth: None,
            more_factors: false,
            replace: None,
            retain: false,
            discard_old: false,
        };
        if self.eat(Kw::IDENTIFIED) {
            spec.auth = Some(self.identified()?);
            while self.at(Kw::AND) && self.at_ahead(1, Kw::IDENTIFIED) {
                self.bump();
                self.bump();
                self.identified()?;
                spec.more_factors = true;
            }
            if self.at_word("INITIAL") {
                self.bump();
                if !self.at_word("AUTHENTICATION") {
                    return self.fail();
                }
                self.bump();
                self.expect(Kw::IDENTIFIED)?;
                self.identified()?;
                spec.more_factors = true;
            }
        }
        if self.eat(Kw::REPLACE) {
            spec.replace = Some(self.string()?);
        }
        if self.eat(Kw::RETAIN) {
            self.expect_all(&[Kw::CURRENT, Kw::PASSWORD])?;
            spec.retain = true;
        }
        if self.eat(Kw::DISCARD) {
            self.expect_all(&[Kw::OLD, Kw::PASSWORD])?;
            spec.discard_old = true;
        }
        Ok(spec)
    }

    /// Behind IDENTIFIED.
    pub fn identified(&mut self) -> R<AuthSpec> {
        if let Some(auth) = self.identified_by_hash()? {
            return Ok(auth);
        }
        let mut plugin = None;
        if self.eat(Kw::WITH) {
            plugin = Some(self.ident_or_text()?);
        }
        let secret = if self.eat(Kw::BY) {
            if self.eat(Kw::RANDOM) {
                self.expect(Kw::PASSWORD)?;
                AuthSecret::Random
            } else {
                AuthSecret::Password(self.text_string()?)
            }
        } else if plugin.is_some() && self.eat(Kw::AS) {
            AuthSecret::Hash(self.text_string()?)
        } else if plugin.is_some() {
            AuthSecret::None
        } else {
            return self.fail();
        };
        Ok(AuthSpec { plugin, secret })
    }

    fn user_options(&mut self, user: &mut CreateUser) -> R<()> {
        if self.eat(Kw::REQUIRE) {
            user.require = Some(self.require()?);
        }
        if self.eat(Kw::WITH) {
            loop {
                let name = self.word_upper()?;
                let limit = match &*name {
                    "MAX_QUERIES_PER_HOUR" => &mut user.limits.questions,
                    "MAX_UPDATES_PER_HOUR" => &mut user.limits.updates,
                    "MAX_CONNECTIONS_PER_HOUR" => &mut user.limits.connections,
                    "MAX_USER_CONNECTIONS" => &mut user.limits.user_connections,
                    _ => return self.fail(),
                };
                *limit = Some(self.number()?);
                if !self.is(T::Word) || !self.slice(self.tok).starts_with_ignore_case(b"MAX_") {
                    break;
                }
            }
        }
        loop {
            match self.kw() {
                Kw::PASSWORD => {
                    self.bump();
                    let option = self.password_option()?;
                    user.options.push(option);
                }
                Kw::FAILED_LOGIN_ATTEMPTS => {
                    self.bump();
                    user.options
                        .push(UserOption::FailedAttempts(self.number()?));
                }
                Kw::PASSWORD_LOCK_TIME => {
                    self.bump();
                    let days = match self.eat(Kw::UNBOUNDED) {
                        true => None,
                        false => Some(self.number()?),
                    };
                    user.options.push(UserOption::LockTime(days));
                }
                Kw::ACCOUNT => {
                    self.bump();
                    let lock = self.at(Kw::LOCK);
                    self.expect_one(&[Kw::LOCK, Kw::UNLOCK])?;
                    user.options.push(UserOption::Lock(lock));
                }
                Kw::COMMENT => {
                    self.bump();
                    let text = self.text_name()?;
                    user.attribute = Some(UserAttribute::Comment(text));
                    return Ok(());
                }
                Kw::ATTRIBUTE => {
                    self.bump();
                    let text = self.text_name()?;
                    user.attribute = Some(UserAttribute::Attribute(text));
                    return Ok(());
                }
                _ => return Ok(()),
            }
        }
    }

    fn require(&mut self) -> R<Require> {
        if self.eat(Kw::NONE_WORD) {
            return Ok(Require::None);
        }
        if self.eat(Kw::SSL) {
            return Ok(Require::Ssl);
        }
        if self.eat(Kw::X509) {
            return Ok(Require::X509);
        }
        let (mut cipher, mut issuer, mut subject) = (None, None, None);
        let mut any = false;
        loop {
            let (slot, name) = match self.kw() {
                Kw::CIPHER => (&mut cipher, "CIPHER"),
                Kw::ISSUER => (&mut issuer, "ISSUER"),
                Kw::SUBJECT => (&mut subject, "SUBJECT"),
                _ if any => {
                    return Ok(Require::Specified {
                        cipher,
                        issuer,
                        subject,
                    });
                }
                _ => return self.fail(),
            };
            if slot.is_some() {
                let text = format!("Option '{name}' used twice in statement");
                return self.other(1225, "HY000", text);
            }
            self.bump();
            *slot = Some(self.text_name()?);
            any = true;
            if self.eat(Kw::AND) && !self.at_any(&[Kw::CIPHER, Kw::ISSUER, Kw::SUBJECT]) {
                return self.fail();
            }
        }
    }

    /// `EXPIRE ..`, `HISTORY ..`, `REUSE INTERVAL ..`, `REQUIRE CURRENT ..` behind `PASSWORD`.
    fn password_option(&mut self) -> R<UserOption> {
        if self.eat(Kw::EXPIRE) {
            if self.eat(Kw::DEFAULT) {
                return Ok(UserOption::Lifetime(None));
            }
            if self.eat(Kw::NEVER) {
                return Ok(UserOption::Lifetime(Some(0)));
            }
            if self.eat(Kw::INTERVAL) {
                let days = self.number()?;
                self.expect(Kw::DAY)?;
                if days == 0 || days > 0xFFFF {
                    let text = format!("Incorrect DAY value: '{days}'");
                    return self.other(1525, "HY000", text);
                }
                return Ok(UserOption::Lifetime(Some(days)));
            }
            return Ok(UserOption::Expire);
        }
        if self.eat(Kw::HISTORY) {
            if self.eat(Kw::DEFAULT) {
                return Ok(UserOption::History(None));
            }
            return Ok(UserOption::History(Some(self.number()?)));
        }
        if self.eat2(Kw::REUSE, Kw::INTERVAL) {
            if self.eat(Kw::DEFAULT) {
                return Ok(UserOption::Reuse(None));
            }
            let days = self.number()?;
            self.expect(Kw::DAY)?;
            return Ok(UserOption::Reuse(Some(days)));
        }
        self.expect_all(&[Kw::REQUIRE, Kw::CURRENT])?;
        if self.eat(Kw::DEFAULT) {
            return Ok(UserOption::RequireCurrent(None));
        }
        Ok(UserOption::RequireCurrent(Some(!self.eat(Kw::OPTIONAL))))
    }

    /// Whether that word stands `n` tokens ahead, one that is no keyword.
    pub fn is_word_ahead(&mut self, n: usize, word: &[u8]) -> bool {
        let token = self.ahead(n);
        token.kind == T::Word && self.slice(token).eq_ignore_ascii_case(word)
    }

    /// Whether a word stands here that is no keyword.
    fn at_word(&self, word: &str) -> bool {
        self.is(T::Word) && self.slice(self.tok).eq_ignore_ascii_case(word.as_bytes())
    }

    /// `CREATE ROLE ..` behind the verb.
    pub fn create_role(&mut self) -> R<Statement> {
        self.expect(Kw::ROLE)?;
        let if_not_exists = self.if_not_exists()?;
        let roles = self.list(Self::account)?;
        Ok(Statement::CreateRole {
            if_not_exists,
            roles,
        })
    }

    /// `GRANT ..`.
    pub fn grant(&mut self) -> R<Statement> {
        self.expect(Kw::GRANT)?;
        let what = self.grant_what(Kw::TO)?;
        self.expect(Kw::TO)?;
        let to = self.list(Self::granted)?;
        let mut with_option = false;
        if self.eat(Kw::WITH) {
            // Roles are given with the one, everything else with the other.
            let word = match what {
                GrantWhat::Roles(_) => Kw::ADMIN,
                _ => Kw::GRANT,
            };
            self.expect(word)?;
            self.expect(Kw::OPTION)?;
            with_option = true;
        }
        let mut as_account = None;
        if matches!(what, GrantWhat::Privileges(..)) && self.eat(Kw::AS) {
            let account = self.account()?;
            let roles = match self.eat2(Kw::WITH, Kw::ROLE) {
                true => Some(self.role_set(true)?),
                false => None,
            };
            as_account = Some((account, roles));
        }
        Ok(Statement::Grant(Box::new(Grant {
            what,
            to,
            with_option,
            as_account,
        })))
    }

    /// Takes one of these keywords.
    fn expect_one(&mut self, kws: &[Kw]) -> R<()> {
        if !self.at_any(kws) {
            return self.fail();
        }
        self.bump();
        Ok(())
    }

    /// `REVOKE ..`.
    pub fn revoke(&mut self) -> R<Statement> {
        self.expect(Kw::REVOKE)?;
        let if_exists = self.if_exists()?;
        let what = self.grant_what(Kw::FROM)?;
        self.expect(Kw::FROM)?;
        let from = self.list(Self::account)?;
        let ignore_unknown = self.eat(Kw::IGNORE);
        if ignore_unknown {
            self.expect_all(&[Kw::UNKNOWN, Kw::USER])?;
        }
        Ok(Statement::Revoke(Box::new(Revoke {
            if_exists,
            what,
            from,
            ignore_unknown,
        })))
    }

    /// What stands between the verb and `TO` or `FROM`.
    fn grant_what(&mut self, end: Kw) -> R<GrantWhat> {
        if self.eat(Kw::PROXY) {
            self.expect(Kw::ON)?;
            return Ok(GrantWhat::Proxy(self.account()?));
        }
        if self.at_role_list(end) {
            return Ok(GrantWhat::Roles(self.list(Self::account)?));
        }
        let privileges = self.list(Self::privilege)?;
        if self.eat(Kw::ON) {
            let object = self.grant_object()?;
            return Ok(GrantWhat::Privileges(privileges, object));
        }
        let names: Vec<&str> = privileges.iter().map(|p| &*p.name).collect();
        if matches!(names[..], ["ALL" | "ALL PRIVILEGES", "GRANT OPTION"]) {
            return Ok(GrantWhat::Everything);
        }
        self.fail()
    }

    /// Whether what follows is a list of roles: there is no `ON` before the end word.
    fn at_role_list(&mut self, end: Kw) -> bool {
        if self.at(Kw::ALL) {
            return false;
        }
        let mut n = 0;
        loop {
            let token = self.ahead(n);
            if matches!(token.kind, T::Eof | T::Error | T::Semi | T::LParen) || token.kw == Kw::ON {
                return false;
            }
            if token.kw == end {
                return true;
            }
            n += 1;
        }
    }

    fn privilege(&mut self) -> R<Privilege> {
        let mut words = String::new();
        loop {
            let goes_on = matches!(self.tok.kind, T::Word | T::Quoted)
                && !self.at(Kw::ON)
                && !self.at(Kw::FROM);
            if !goes_on {
                break;
            }
            let token = self.bump();
            if !words.is_empty() {
                words.push(' ');
            }
            let word = self.options.utf8(self.slice(token));
            let word = String::from_utf8_lossy(&word);
            words.push_str(&word.trim_matches('`').to_ascii_uppercase());
        }
        if words.is_empty() {
            return self.fail();
        }
        let columns = self.opt_name_list()?;
        Ok(Privilege {
            name: words.into(),
            columns,
        })
    }

    fn grant_object(&mut self) -> R<GrantObject> {
        if self.at_any(&[Kw::PROCEDURE, Kw::FUNCTION]) {
            let kind = match self.bump().kw {
                Kw::PROCEDURE => ObjectKind::Procedure,
                _ => ObjectKind::Function,
            };
            return Ok(GrantObject::Routine(kind, self.object_name()?));
        }
        self.eat(Kw::TABLE);
        if self.take(T::Star) {
            if !self.take(T::Dot) {
                return Ok(GrantObject::CurrentSchema);
            }
            self.need(T::Star)?;
            return Ok(GrantObject::Global);
        }
        let first = self.ident()?;
        if !self.take(T::Dot) {
            return Ok(GrantObject::Table(ObjectName {
                schema: None,
                name: first,
            }));
        }
        if self.take(T::Star) {
            return Ok(GrantObject::Schema(first));
        }
        let name = self.ident()?;
        Ok(GrantObject::Table(ObjectName {
            schema: Some(first),
            name,
        }))
    }
}

/// `starts_with` without regard to ASCII letter case.
trait StartsWithIgnoreCase {
    fn starts_with_ignore_case(&self, prefix: &[u8]) -> bool;
}

impl StartsWithIgnoreCase for [u8] {
    fn starts_with_ignore_case(&self, prefix: &[u8]) -> bool {
        self.get(..prefix.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(prefix))
    }
}
