//! The rules of what MariaDB's grammar has and MySQL's lacks. Each takes nothing where [`Options::mariadb`](super::Options::mariadb) is not given.

use super::ast::{Account, AuthSecret, AuthSpec, Name, SetItem, Span, Statement, TableOption};
use super::keyword::Kw;
use super::lexer::T;
use super::parser::{Parser, R};

impl Parser<'_> {
    /// Whether MariaDB's words are taken.
    pub fn is_mariadb(&self) -> bool {
        self.mariadb.is_some()
    }

    /// Whether the word at hand is one that only MariaDB knows.
    pub fn at_mariadb(&mut self, word: &[u8]) -> bool {
        self.is_mariadb() && self.is_word_ahead(0, word)
    }

    /// MySQL has these words in the place of what stands from `start` to here.
    pub fn mysql_has(&mut self, start: u32, words: &'static str) {
        let span = self.span_from(start);
        if let Some(m) = &mut self.mariadb {
            m.mysql_has(span, words.into());
        }
    }

    /// A foreign key with the name of its index, whose words begin at `start`: to MariaDB it is the constraint's, too.
    pub fn named_by_index(&mut self, start: u32, name: &str) {
        let words = format!("CONSTRAINT `{}` ", name.replace('`', "``"));
        let span = Span { start, end: start };
        if let Some(m) = &mut self.mariadb {
            m.mysql_has(span, words.into());
        }
    }

    /// `OR REPLACE` of what MySQL cannot replace. The words behind it say of what.
    pub fn or_replace(&mut self) -> bool {
        let start = self.tok.start;
        if !self.is_mariadb() || !self.at(Kw::OR) || !self.at_ahead(1, Kw::REPLACE) {
            return false;
        }
        let of = self.ahead(2);
        let known = matches!(
            of.kw,
            Kw::TABLE
                | Kw::TEMPORARY
                | Kw::DATABASE
                | Kw::SCHEMA
                | Kw::UNIQUE
                | Kw::FULLTEXT
                | Kw::SPATIAL
                | Kw::INDEX
                | Kw::USER
                | Kw::ROLE
        );
        if !known && !self.is_word_ahead(2, b"SEQUENCE") {
            return false;
        }
        self.bump();
        self.bump();
        self.mysql_has(start, "");
        if let Some(m) = &mut self.mariadb {
            m.replaces = true;
        }
        true
    }

    /// `IF [NOT] EXISTS`, which MySQL has not here: what it says.
    fn mariadb_if(&mut self, exists: bool) -> R<Option<bool>> {
        let start = self.tok.start;
        if !self.is_mariadb() || !self.at(Kw::IF) {
            return Ok(None);
        }
        match exists {
            true => self.if_exists()?,
            false => self.if_not_exists()?,
        };
        self.mysql_has(start, "");
        Ok(Some(exists))
    }

    /// The same of a statement.
    pub fn statement_if(&mut self, exists: bool) -> R<()> {
        let said = self.mariadb_if(exists)?;
        if let Some(m) = &mut self.mariadb {
            m.only_if = m.only_if.or(said);
        }
        Ok(())
    }

    /// The same of an action of ALTER TABLE.
    pub fn action_if(&mut self, exists: bool) -> R<()> {
        let said = self.mariadb_if(exists)?;
        if let Some(m) = &mut self.mariadb {
            m.action_is_for(said);
        }
        Ok(())
    }

    /// `WAIT n`, `NOWAIT`: how long the table was waited for there.
    pub fn table_wait(&mut self) -> R<()> {
        let start = self.tok.start;
        if self.at_mariadb(b"NOWAIT") {
            self.bump();
        } else if self.at_mariadb(b"WAIT") && self.ahead(1).kind == T::Int {
            self.bump();
            self.bump();
        } else {
            return Ok(());
        }
        self.mysql_has(start, "");
        Ok(())
    }

    /// The words of an ALTER TABLE in front of its actions are read.
    pub fn actions_begin(&mut self) {
        let end = self.last_end;
        if let Some(m) = &mut self.mariadb {
            m.actions_begin(end);
        }
    }

    /// Actions up to `all` were read from `start` on: the text of the last one, or of all of them where they are one by one.
    pub fn action_ends(&mut self, start: u32, front: &'static str, all: usize, is_nothing: bool) {
        let span = self.span_from(start);
        if let Some(m) = &mut self.mariadb {
            m.action_ends(span, front, all, is_nothing);
        }
    }

    /// The next actions of a list are for the same.
    pub fn action_goes_on(&mut self, only_if: Option<bool>) {
        if let Some(m) = &mut self.mariadb {
            m.action_is_for(only_if);
        }
    }

    /// What the action at hand is for.
    pub fn of_action(&self) -> Option<bool> {
        self.mariadb.as_ref()?.of_action()
    }

    /// `name = value` that says how MariaDB keeps a table, which is nothing to MySQL.
    pub fn storage_option(&mut self) -> R<Option<Name>> {
        const OPTIONS: [&[u8]; 7] = [
            b"PAGE_COMPRESSED",
            b"PAGE_COMPRESSION_LEVEL",
            b"TRANSACTIONAL",
            b"PAGE_CHECKSUM",
            b"ENCRYPTED",
            b"ENCRYPTION_KEY_ID",
            b"IETF_QUOTES",
        ];
        if !self.is_mariadb() || !OPTIONS.iter().any(|o| self.is_word_ahead(0, o)) {
            return Ok(None);
        }
        let name = self.word_upper()?;
        self.opt_eq();
        match self.tok.kind {
            T::Str | T::Int | T::Word | T::Quoted => {
                self.bump();
                Ok(Some(name))
            }
            _ => self.fail(),
        }
    }

    /// The same in the list of a table's options, with the comma in front of it, or else the one behind it.
    pub fn storage_option_in_list(&mut self, comma: bool) -> R<Option<TableOption>> {
        let start = self.tok.start;
        let Some(name) = self.storage_option()? else {
            return Ok(None);
        };
        let before = &self.text()[..start as usize];
        let from = match comma {
            true => before.iter().rposition(|b| *b == b',').map(|i| i as u32),
            false => {
                self.take(T::Comma);
                None
            }
        };
        self.mysql_has(from.unwrap_or(start), " ");
        Ok(Some(TableOption::Other(name, Box::default())))
    }

    /// `SET STATEMENT name = value, .. FOR statement`.
    pub fn set_statement_for(&mut self) -> R<Option<Statement>> {
        let ahead = self.ahead(2).kind;
        if !self.is_mariadb()
            || !self.is_word_ahead(1, b"STATEMENT")
            || matches!(ahead, T::Eq | T::Assign)
        {
            return Ok(None);
        }
        let start = self.tok.start;
        self.bump();
        self.bump();
        let mut settings = Vec::new();
        loop {
            let at = self.tok.start;
            let item = self.set_item(&mut None)?;
            settings.push((item, self.span_from(at)));
            if !self.take(T::Comma) {
                break;
            }
        }
        self.expect(Kw::FOR)?;
        self.mysql_has(start, "");
        if let Some(m) = &mut self.mariadb {
            m.settings = settings;
        }
        // No statement that sets, as there.
        if self.at(Kw::SET) {
            return self.fail();
        }
        self.statement().map(Some)
    }

    /// `SEQUENCE ..` behind the verb and `words` more: there are none here.
    pub fn sequence(&mut self, start: u32, words: usize) -> R<Statement> {
        let if_exists = self.at_ahead(1, Kw::IF) && self.at_ahead(2, Kw::EXISTS);
        let statement = self.unsupported(start, words, 1)?;
        Ok(match if_exists {
            // Of those that are not here there is none to drop.
            true => Statement::Nothing,
            false => statement,
        })
    }

    /// How a client is known, behind IDENTIFIED: `BY PASSWORD 'hash'`, `VIA plugin {USING | AS} 'hash'`.
    pub fn identified_by_hash(&mut self) -> R<Option<AuthSpec>> {
        let start = self.tok.start;
        if self.is_mariadb() && self.eat2(Kw::BY, Kw::PASSWORD) {
            self.mysql_has(start, "WITH 'mysql_native_password' AS");
            return Ok(Some(AuthSpec {
                plugin: Some("mysql_native_password".into()),
                secret: AuthSecret::Hash(self.text_string()?),
            }));
        }
        let via = self.at_mariadb(b"VIA");
        let with = self.is_mariadb() && self.at(Kw::WITH);
        if !via && !with {
            return Ok(None);
        }
        self.bump();
        if via {
            self.mysql_has(start, "WITH");
        }
        let plugin = Some(self.ident_or_text()?);
        let start = self.tok.start;
        let secret = match self.eat(Kw::USING) || self.eat(Kw::AS) {
            true => {
                self.mysql_has(start, "AS");
                AuthSecret::Hash(self.text_string()?)
            }
            false => AuthSecret::None,
        };
        Ok(Some(AuthSpec { plugin, secret }))
    }

    /// An account that gets something, which MariaDB makes with it: `account [IDENTIFIED ..]`.
    pub fn granted(&mut self) -> R<Account> {
        let start = self.tok.start;
        let account = self.account()?;
        let rest = self.last_end;
        if self.is_mariadb() && self.eat(Kw::IDENTIFIED) {
            self.identified()?;
            let part = self.span_from(start);
            let text = self.text();
            if let Some(m) = &mut self.mariadb {
                m.user(text, part, rest);
            }
        }
        Ok(account)
    }

    /// `SET PASSWORD FOR account = 'hash'`: to MySQL it would be the password itself.
    pub fn set_password_hash(&mut self) -> R<Option<Statement>> {
        if !self.is_mariadb() || !self.at_ahead(1, Kw::PASSWORD) || !self.at_ahead(2, Kw::FOR) {
            return Ok(None);
        }
        let start = self.tok.start;
        for _ in 0..3 {
            self.bump();
        }
        self.mysql_has(start, "ALTER USER");
        let account = self.account()?;
        let start = self.tok.start;
        self.need(T::Eq)?;
        self.mysql_has(start, " IDENTIFIED WITH 'mysql_native_password' AS ");
        let at = self.tok.start;
        let hash = self.string()?;
        let is_hash = hash.len() == 41 && hash[0] == b'*';
        if !is_hash && !hash.is_empty() {
            // Of another plugin, which it does not name.
            return Err(self.syntax_error(at));
        }
        Ok(Some(Statement::Set(vec![SetItem::Password {
            account: Some(account),
            password: Some(hash),
            replace: None,
            retain: false,
        }])))
    }
}
