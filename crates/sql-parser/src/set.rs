//! `SET ..`.

use super::ast::*;
use super::keyword::Kw;
use super::lexer::T;
use super::parser::{Parser, R};
use super::primary::scope_of;

impl Parser<'_> {
    /// `SET ..`.
    pub fn set_statement(&mut self) -> R<Statement> {
        if let Some(statement) = self.set_statement_for()? {
            return Ok(statement);
        }
        if let Some(statement) = self.set_password_hash()? {
            return Ok(statement);
        }
        self.expect(Kw::SET)?;
        match self.kw() {
            Kw::ROLE if !self.assigns(1) => {
                self.bump();
                return Ok(Statement::SetRole(self.role_set(true)?));
            }
            Kw::DEFAULT if self.at_ahead(1, Kw::ROLE) => {
                self.bump();
                self.bump();
                let roles = self.role_set(false)?;
                self.expect(Kw::TO)?;
                let users = self.list(Self::account)?;
                return Ok(Statement::SetDefaultRole { roles, users });
            }
            _ => {}
        }
        let first_transaction = self.set_transaction()?;
        if let Some(item) = first_transaction {
            return Ok(Statement::Set(vec![item]));
        }
        // A scope word holds for the assignments behind it that have none.
        let mut scope = None;
        let items = self.list(|p| p.set_item(&mut scope))?;
        Ok(Statement::Set(items))
    }

    /// Whether `=` or `:=` stands `n` tokens ahead.
    fn assigns(&mut self, n: usize) -> bool {
        matches!(self.ahead(n).kind, T::Eq | T::Assign)
    }

    /// `NONE | DEFAULT | ALL [EXCEPT ..] | roles`.
    pub fn role_set(&mut self, default_allowed: bool) -> R<RoleSet> {
        if self.eat(Kw::NONE_WORD) {
            return Ok(RoleSet::None);
        }
        if default_allowed && self.eat(Kw::DEFAULT) {
            return Ok(RoleSet::Default);
        }
        if self.eat(Kw::ALL) {
            let except = if self.eat(Kw::EXCEPT) {
                self.list(Self::account)?
            } else {
                Vec::new()
            };
            return Ok(RoleSet::All(except));
        }
        Ok(RoleSet::List(self.list(Self::account)?))
    }

    /// `[scope] TRANSACTION ..`, if that is what follows.
    fn set_transaction(&mut self) -> R<Option<SetItem>> {
        let scope = match self.kw() {
            Kw::GLOBAL => Some(VarScope::Global),
            Kw::SESSION | Kw::LOCAL => Some(VarScope::Session),
            _ => None,
        };
        let n = usize::from(scope.is_some());
        if !self.at_ahead(n, Kw::TRANSACTION) || self.assigns(n + 1) {
            return Ok(None);
        }
        for _ in 0..=n {
            self.bump();
        }
        let (mut isolation, mut read_only) = (None, None);
        loop {
            if isolation.is_none() && self.eat2(Kw::ISOLATION, Kw::LEVEL) {
                isolation = Some(self.isolation_level()?);
            } else if read_only.is_none() && self.at(Kw::READ) {
                self.bump();
                read_only = Some(self.eat(Kw::ONLY));
                if read_only == Some(false) {
                    self.expect(Kw::WRITE)?;
                }
            } else {
                return self.fail();
            }
            if !self.take(T::Comma) {
                break;
            }
        }
        Ok(Some(SetItem::Transaction {
            scope,
            isolation,
            read_only,
        }))
    }

    fn isolation_level(&mut self) -> R<Isolation> {
        if self.eat(Kw::SERIALIZABLE) {
            return Ok(Isolation::Serializable);
        }
        if self.eat(Kw::REPEATABLE) {
            self.expect(Kw::READ)?;
            return Ok(Isolation::RepeatableRead);
        }
        self.expect(Kw::READ)?;
        if self.eat(Kw::COMMITTED) {
            return Ok(Isolation::ReadCommitted);
        }
        self.expect(Kw::UNCOMMITTED)?;
        Ok(Isolation::ReadUncommitted)
    }

    /// One assignment.
    pub fn set_item(&mut self, sticky: &mut Option<VarScope>) -> R<SetItem> {
        if self.is(T::At) {
            let name = self.user_variable_name()?;
            self.assign_sign()?;
            return Ok(SetItem::UserVar(name, self.expr()?));
        }
        if self.take(T::AtAt) {
            let var = self.system_variable_name()?;
            self.assign_sign()?;
            return Ok(SetItem::Variable {
                scope: var.scope,
                at_at: true,
                prefix: var.prefix,
                name: var.name,
                value: self.set_value()?,
            });
        }
        if self.at(Kw::PASSWORD) && self.assigns(1) {
            self.bump();
            return self.set_password(None);
        }
        if !self.assigns(1) && self.ahead(1).kind != T::Dot {
            if let Some(item) = self.set_words()? {
                return Ok(item);
            }
            *sticky = self.set_scope()?.or(*sticky);
        }
        let first = self.ident()?;
        let (prefix, name) = if self.take(T::Dot) {
            (Some(first), self.ident()?)
        } else {
            (None, first)
        };
        self.assign_sign()?;
        Ok(SetItem::Variable {
            scope: *sticky,
            at_at: false,
            prefix,
            name,
            value: self.set_value()?,
        })
    }

    /// `GLOBAL`, `SESSION`, `LOCAL`, `PERSIST`, `PERSIST_ONLY`.
    fn set_scope(&mut self) -> R<Option<VarScope>> {
        if !self.at_any(&[
            Kw::GLOBAL,
            Kw::SESSION,
            Kw::LOCAL,
            Kw::PERSIST,
            Kw::PERSIST_ONLY,
        ]) {
            return Ok(None);
        }
        let word = self.word_upper()?;
        Ok(scope_of(&word))
    }

    fn assign_sign(&mut self) -> R<()> {
        if self.take(T::Assign) {
            return Ok(());
        }
        self.need(T::Eq)
    }

    /// The value of a variable: an expression, `DEFAULT`, or one of the words the grammar lets stand bare.
    fn set_value(&mut self) -> R<Expr> {
        let word = match self.kw() {
            Kw::DEFAULT if self.ahead(1).kind != T::LParen => {
                self.bump();
                return Ok(Expr::Default);
            }
            Kw::ON | Kw::ALL | Kw::BINARY | Kw::ROW | Kw::SYSTEM => {
                let next = self.ahead(1).kind;
                let alone = matches!(next, T::Comma | T::Semi | T::Eof);
                if alone || self.at(Kw::ON) || self.at(Kw::ALL) {
                    self.word_upper()?
                } else {
                    return self.expr();
                }
            }
            _ => return self.expr(),
        };
        Ok(Expr::Str(word.into_string().into_bytes().into()))
    }

    /// `NAMES`, `CHARACTER SET`, `PASSWORD`, `RESOURCE GROUP`, if one of them follows.
    fn set_words(&mut self) -> R<Option<SetItem>> {
        if self.eat(Kw::NAMES) {
            let charset = self.charset_or_default()?;
            let collation = if charset.is_some() && self.eat(Kw::COLLATE) {
                Some(self.charset_name()?)
            } else {
                None
            };
            return Ok(Some(SetItem::Names { charset, collation }));
        }
        if self.eat_charset() {
            return Ok(Some(SetItem::CharacterSet(self.charset_or_default()?)));
        }
        if self.eat2(Kw::RESOURCE, Kw::GROUP) {
            return Ok(Some(SetItem::ResourceGroup(self.ident()?)));
        }
        if self.at(Kw::PASSWORD) && matches!(self.ahead(1).kw, Kw::FOR | Kw::TO) {
            self.bump();
            let account = if self.eat(Kw::FOR) {
                Some(self.account()?)
            } else {
                None
            };
            return self.set_password(account).map(Some);
        }
        Ok(None)
    }

    fn set_password(&mut self, account: Option<Account>) -> R<SetItem> {
        let password = if self.eat(Kw::TO) {
            self.expect(Kw::RANDOM)?;
            None
        } else {
            self.assign_sign()?;
            // `PASSWORD('text')` is what 5.x clients send.
            let call = self.at(Kw::PASSWORD);
            if call {
                self.bump();
                Some(self.parens(Self::string)?)
            } else {
                Some(self.string()?)
            }
        };
        let replace = if self.eat(Kw::REPLACE) {
            Some(self.string()?)
        } else {
            None
        };
        let retain = self.eat(Kw::RETAIN);
        if retain {
            self.expect_all(&[Kw::CURRENT, Kw::PASSWORD])?;
        }
        Ok(SetItem::Password {
            account,
            password,
            replace,
            retain,
        })
    }
}
