//! `CREATE USER`, `ALTER USER`, roles, `GRANT`, `REVOKE`.

use super::ast::*;
use super::keyword::Kw;
use super::lexer::T;
use super::parser::{Parser, R};

impl Parser<'_> {
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
            replace: None,
            retain: false,
            discard_old: false,
        };
        if self.eat(Kw::IDENTIFIED) {
            spec.auth = Some(self.identified()?);
            // Second and third factors are accepted and not kept.
            while self.at(Kw::AND) && self.at_ahead(1, Kw::IDENTIFIED) {
                self.bump();
                self.bump();
                self.identified()?;
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

    fn identified(&mut self) -> R<AuthSpec> {
        let mut plugin = None;
        if self.eat(Kw::WITH) {
            plugin = Some(self.ident_or_text()?);
        }
        let secret = if self.eat(Kw::BY) {
            if self.eat(Kw::RANDOM) {
                self.expect(Kw::PASSWORD)?;
                AuthSecret::Random
            } else if self.eat(Kw::PASSWORD) {
                AuthSecret::Hash(self.text_string()?)
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
            user.require = self.require()?;
        }
        if self.eat(Kw::WITH) {
            loop {
                let name = self.word_upper()?;
                user.limits.push((name, self.number()?));
                if !self.is(T::Word) || !self.slice(self.tok).starts_with_ignore_case(b"MAX_") {
                    break;
                }
            }
        }
        loop {
            match self.kw() {
                Kw::PASSWORD | Kw::FAILED_LOGIN_ATTEMPTS | Kw::PASSWORD_LOCK_TIME => {
                    let option = self.password_option()?;
                    user.options.push(option);
                }
                Kw::ACCOUNT => {
                    let option = self.words_upper(2)?;
                    user.options.push(option);
                }
                Kw::COMMENT | Kw::ATTRIBUTE => {
                    let name = self.word_upper()?;
                    user.attribute = Some((name, self.string()?));
                }
                _ => return Ok(()),
            }
        }
    }

    fn require(&mut self) -> R<Vec<(Name, Box<[u8]>)>> {
        let mut all = Vec::new();
        if self.at_any(&[Kw::NONE_WORD, Kw::SSL, Kw::X509]) {
            all.push((self.word_upper()?, Box::default()));
            return Ok(all);
        }
        loop {
            if !self.at_any(&[Kw::CIPHER, Kw::ISSUER, Kw::SUBJECT]) {
                return if all.is_empty() { self.fail() } else { Ok(all) };
            }
            let name = self.word_upper()?;
            all.push((name, self.string()?));
            self.eat(Kw::AND);
        }
    }

    /// `PASSWORD EXPIRE ..`, `PASSWORD HISTORY ..` and their like: the words as they stand.
    fn password_option(&mut self) -> R<Name> {
        let mut words = self.word_upper()?.into_string();
        loop {
            let goes_on = self.is(T::Int)
                || self.at_any(&[
                    Kw::EXPIRE,
                    Kw::NEVER,
                    Kw::DEFAULT,
                    Kw::INTERVAL,
                    Kw::DAY,
                    Kw::HISTORY,
                    Kw::REUSE,
                    Kw::REQUIRE,
                    Kw::CURRENT,
                    Kw::OPTIONAL,
                    Kw::UNBOUNDED,
                ]);
            if !goes_on {
                return Ok(words.into());
            }
            let token = self.bump();
            words.push(' ');
            words.push_str(&String::from_utf8_lossy(self.slice(token)).to_ascii_uppercase());
        }
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
        let to = self.list(Self::user_spec)?;
        if self.eat(Kw::REQUIRE) {
            self.require()?;
        }
        let mut with_option = false;
        if self.eat(Kw::WITH) {
            self.expect_one(&[Kw::GRANT, Kw::ADMIN])?;
            self.expect(Kw::OPTION)?;
            with_option = true;
        }
        let mut as_account = None;
        if self.eat(Kw::AS) {
            as_account = Some(self.account()?);
            if self.eat2(Kw::WITH, Kw::ROLE) {
                self.role_set(true)?;
            }
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
            let word = String::from_utf8_lossy(self.slice(token));
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
