//! `CREATE` of tables, databases, indexes and views; `DROP`, `RENAME`, `TRUNCATE`.

use super::ast::*;
use super::keyword::Kw;
use super::lexer::T;
use super::parser::{Parser, R};

/// What may stand between `CREATE` and the kind of thing for views and stored programs.
#[derive(Default)]
pub(crate) struct Preamble {
    pub or_replace: bool,
    pub algorithm: Option<ViewAlgorithm>,
    pub definer: Option<Account>,
    pub invoker: Option<bool>,
}

impl Parser<'_> {
    /// `CREATE ..`.
    pub fn create(&mut self) -> R<Statement> {
        let start = self.tok.start;
        self.expect(Kw::CREATE)?;
        let replaces = self.or_replace();
        let words = usize::from(self.is_mariadb() && self.at(Kw::TEMPORARY));
        if self.is_mariadb() && self.is_word_ahead(words, b"SEQUENCE") {
            return self.sequence(start, words);
        }
        if replaces && self.at(Kw::OR) {
            return self.fail();
        }
        match self.kw() {
            Kw::TABLE | Kw::TEMPORARY => self.create_table(),
            Kw::UNIQUE | Kw::FULLTEXT | Kw::INDEX => self.create_index(),
            Kw::SPATIAL if !self.at_ahead(1, Kw::REFERENCE) => self.create_index(),
            Kw::DATABASE | Kw::SCHEMA => self.create_database(),
            Kw::USER => self.create_user(false),
            Kw::ROLE => self.create_role(),
            Kw::OR if self.at_ahead(2, Kw::SPATIAL) => self.unsupported(start, 2, 3),
            Kw::SPATIAL => self.unsupported(start, 0, 3),
            Kw::TABLESPACE | Kw::SERVER => self.unsupported(start, 0, 1),
            Kw::UNDO | Kw::LOGFILE | Kw::RESOURCE => self.unsupported(start, 0, 2),
            _ => {
                let preamble = self.preamble()?;
                self.create_program(preamble)
            }
        }
    }

    /// `OR REPLACE`, `ALGORITHM =`, `DEFINER =`, `SQL SECURITY`.
    pub fn preamble(&mut self) -> R<Preamble> {
        let mut preamble = Preamble {
            or_replace: self.eat2(Kw::OR, Kw::REPLACE),
            ..Preamble::default()
        };
        if self.eat(Kw::ALGORITHM) {
            self.need(T::Eq)?;
            preamble.algorithm = Some(if self.eat(Kw::UNDEFINED) {
                ViewAlgorithm::Undefined
            } else if self.eat(Kw::MERGE) {
                ViewAlgorithm::Merge
            } else {
                self.expect(Kw::TEMPTABLE)?;
                ViewAlgorithm::Temptable
            });
        }
        if self.eat(Kw::DEFINER) {
            self.need(T::Eq)?;
            preamble.definer = Some(self.account()?);
        }
        if self.eat(Kw::SQL) {
            self.expect(Kw::SECURITY)?;
            preamble.invoker = Some(self.security()?);
        }
        Ok(preamble)
    }

    /// `INVOKER` (true) or `DEFINER`.
    pub fn security(&mut self) -> R<bool> {
        if self.eat(Kw::INVOKER) {
            return Ok(true);
        }
        self.expect(Kw::DEFINER)?;
        Ok(false)
    }

    /// A statement that is recognised and not carried out: skips `skip` words, names it by the next
    /// `words`, and takes everything up to its end.
    pub fn unsupported(&mut self, start: u32, skip: usize, words: usize) -> R<Statement> {
        let verb = match self.text().get(start as usize) {
            Some(b'a' | b'A') => "ALTER ",
            Some(b'c' | b'C') => "CREATE ",
            Some(b'd' | b'D') => "DROP ",
            _ => "",
        };
        for _ in 0..skip {
            self.bump();
        }
        let what = format!("{verb}{}", self.words_upper(words)?);
        while !self.is(T::Semi) && !self.is(T::Eof) {
            if self.is(T::Error) {
                return self.fail();
            }
            self.bump();
        }
        Ok(Statement::Unsupported(Box::new(Unsupported {
            what: what.into(),
            span: self.span_from(start),
        })))
    }

    fn create_database(&mut self) -> R<Statement> {
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        let name = self.ident()?;
        let options = self.database_options()?;
        Ok(Statement::CreateDatabase(Box::new(CreateDatabase {
            if_not_exists,
            name,
            options,
        })))
    }

    /// `ALTER DATABASE ..` behind the keyword.
    pub fn alter_database(&mut self) -> R<Statement> {
        self.bump();
        let at_option = self.at_any(&[
            Kw::DEFAULT,
            Kw::CHARACTER,
            Kw::CHAR,
            Kw::CHARSET,
            Kw::COLLATE,
            Kw::READ,
            Kw::ENCRYPTION,
        ]);
        let name = if !at_option && self.is_ident(self.tok) {
            Some(self.ident()?)
        } else {
            None
        };
        let at = self.tok.start;
        let options = self.database_options()?;
        if options == DatabaseOptions::default() {
            return Err(self.syntax_error(at));
        }
        Ok(Statement::AlterDatabase(Box::new(AlterDatabase {
            name,
            options,
        })))
    }

    fn database_options(&mut self) -> R<DatabaseOptions> {
        let mut options = DatabaseOptions::default();
        loop {
            let default = self.eat(Kw::DEFAULT);
            if self.eat_charset() {
                self.opt_eq();
                let given = self.charset_or_default()?;
                self.one_charset(options.charset.as_ref(), given.as_ref())?;
                options.charset = given;
            } else if self.eat(Kw::COLLATE) {
                self.opt_eq();
                options.collation = self.charset_or_default()?;
            } else if self.eat(Kw::ENCRYPTION) {
                self.opt_eq();
                options.encryption = Some(self.string()?);
            } else if default {
                return self.fail();
            } else if self.eat2(Kw::READ, Kw::ONLY) {
                self.opt_eq();
                options.read_only = Some(if self.eat(Kw::DEFAULT) {
                    None
                } else {
                    Some(self.number()? != 0)
                });
            } else {
                return Ok(options);
            }
        }
    }

    fn create_table(&mut self) -> R<Statement> {
        let temporary = self.eat(Kw::TEMPORARY);
        self.expect(Kw::TABLE)?;
        let if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        let mut table = CreateTable {
            temporary,
            if_not_exists,
            name,
            like: None,
            columns: Vec::new(),
            keys: Vec::new(),
            options: Vec::new(),
            partitioning: None,
            query: None,
            on_duplicate: None,
        };
        if self.eat(Kw::LIKE) {
            table.like = Some(self.object_name()?);
            return Ok(Statement::CreateTable(Box::new(table)));
        }
        if self.is(T::LParen) && self.at_ahead(1, Kw::LIKE) {
            self.bump();
            self.bump();
            table.like = Some(self.object_name()?);
            self.need(T::RParen)?;
            return Ok(Statement::CreateTable(Box::new(table)));
        }
        if self.is(T::LParen) && !self.at_query_in_parens() {
            self.bump();
            loop {
                if self.at_key_def() {
                    let mut key = self.key_def()?;
                    if let KeyDef::Check(check) = &mut key {
                        check.after = table.columns.len();
                    }
                    table.keys.push(key);
                } else {
                    table.columns.push(self.column_def()?);
                }
                if !self.take(T::Comma) {
                    break;
                }
            }
            self.need(T::RParen)?;
        }
        table.options = self.table_options()?;
        if self.at(Kw::PARTITION) {
            table.partitioning = Some(Box::new(self.partition_by()?));
        }
        self.create_table_query(&mut table)?;
        Ok(Statement::CreateTable(Box::new(table)))
    }

    fn create_table_query(&mut self, table: &mut CreateTable) -> R<()> {
        table.on_duplicate = match self.kw() {
            Kw::IGNORE => Some(DuplicatePolicy::Ignore),
            Kw::REPLACE => Some(DuplicatePolicy::Replace),
            _ => None,
        };
        if table.on_duplicate.is_some() {
            self.bump();
        }
        let must = self.eat(Kw::AS) || table.on_duplicate.is_some();
        if must || self.at_query(0) || self.is(T::LParen) {
            table.query = Some(Box::new(self.query_expression()?));
        }
        Ok(())
    }

    /// Table options, with or without commas between them.
    pub fn table_options(&mut self) -> R<Vec<TableOption>> {
        let mut options = Vec::new();
        loop {
            let comma = !options.is_empty() && self.is(T::Comma);
            if comma {
                self.bump();
            }
            if let Some(option) = self.storage_option_in_list(comma)? {
                options.push(option);
                continue;
            }
            match self.table_option()? {
                Some(option) => options.push(option),
                None if comma => return self.fail(),
                None => return Ok(options),
            }
        }
    }

    /// A table option, if one is there.
    pub fn table_option(&mut self) -> R<Option<TableOption>> {
        if self.at(Kw::DEFAULT)
            && !matches!(
                self.ahead(1).kw,
                Kw::CHARACTER | Kw::CHAR | Kw::CHARSET | Kw::COLLATE
            )
        {
            return Ok(None);
        }
        self.eat(Kw::DEFAULT);
        if self.eat_charset() {
            self.opt_eq();
            let name = self.charset_or_default()?;
            return Ok(Some(match name {
                Some(name) => TableOption::Charset(name),
                None => TableOption::Other("CHARACTER_SET".into(), b"DEFAULT"[..].into()),
            }));
        }
        let kw = self.tok.kw;
        match kw {
            Kw::DATA | Kw::INDEX if self.at_ahead(1, Kw::DIRECTORY) => {
                let name = self.words_upper(2)?.replace(' ', "_");
                self.opt_eq();
                return Ok(Some(TableOption::Other(name.into(), self.string()?)));
            }
            Kw::START if self.at_ahead(1, Kw::TRANSACTION) => {
                let name = self.words_upper(2)?.replace(' ', "_");
                return Ok(Some(TableOption::Other(name.into(), Box::default())));
            }
            _ if !is_table_option(kw) => return Ok(None),
            _ => {}
        }
        let name = self.word_upper()?;
        self.opt_eq();
        self.table_option_value(kw, name).map(Some)
    }

    fn table_option_value(&mut self, kw: Kw, name: Name) -> R<TableOption> {
        Ok(match kw {
            Kw::ENGINE => TableOption::Engine(self.ident_or_text()?),
            Kw::AUTO_INCREMENT => TableOption::AutoIncrement(self.whole_part()?),
            Kw::COLLATE => TableOption::Collate(self.charset_name()?),
            Kw::COMMENT => TableOption::Comment(self.text_string()?),
            Kw::KEY_BLOCK_SIZE => TableOption::KeyBlockSize(self.number()?),
            Kw::ROW_FORMAT => TableOption::RowFormat(self.word_upper()?),
            Kw::UNION => {
                self.need(T::LParen)?;
                let tables = if self.is(T::RParen) {
                    Vec::new()
                } else {
                    self.list(Self::object_name)?
                };
                self.need(T::RParen)?;
                TableOption::Union(tables)
            }
            _ => {
                let value = match self.tok.kind {
                    T::Str => self.string()?,
                    T::Int | T::HexNum | T::Word | T::Quoted | T::Decimal => {
                        let token = self.bump();
                        self.options.utf8(self.slice(token)).into()
                    }
                    _ => return self.fail(),
                };
                if kw == Kw::TABLESPACE && self.eat(Kw::STORAGE) {
                    self.word_upper()?;
                }
                TableOption::Other(name, value)
            }
        })
    }

    fn create_index(&mut self) -> R<Statement> {
        let kind = match self.kw() {
            Kw::UNIQUE => IndexKind::Unique,
            Kw::FULLTEXT => IndexKind::Fulltext,
            Kw::SPATIAL => IndexKind::Spatial,
            _ => IndexKind::Plain,
        };
        if kind != IndexKind::Plain {
            self.bump();
        }
        self.expect(Kw::INDEX)?;
        self.statement_if(false)?;
        let name = self.ident()?;
        let mut options = IndexOptions::default();
        self.index_type(&mut options)?;
        self.expect(Kw::ON)?;
        let table = self.object_name()?;
        self.table_wait()?;
        let mut index = self.index_body(kind, Some(name))?;
        if index.options.using.is_none() {
            index.options.using = options.using;
        }
        let (algorithm, lock) = self.algorithm_lock()?;
        Ok(Statement::CreateIndex(Box::new(CreateIndex {
            table,
            index,
            algorithm,
            lock,
        })))
    }

    /// `ALGORITHM = x` and `LOCK = x` in any order.
    fn algorithm_lock(&mut self) -> R<(Option<Name>, Option<Name>)> {
        let (mut algorithm, mut lock) = (None, None);
        loop {
            if self.eat(Kw::ALGORITHM) {
                self.opt_eq();
                algorithm = Some(self.word_upper()?);
            } else if self.eat(Kw::LOCK) {
                self.opt_eq();
                lock = Some(self.word_upper()?);
            } else {
                return Ok((algorithm, lock));
            }
        }
    }

    /// `CREATE VIEW ..` and `ALTER VIEW ..` behind the preamble.
    pub fn create_view(&mut self, preamble: Preamble, alter: bool) -> R<Statement> {
        self.expect(Kw::VIEW)?;
        if !alter {
            self.statement_if(false)?;
        }
        let name = self.object_name()?;
        let columns = self.opt_name_list()?;
        self.expect(Kw::AS)?;
        let start = self.tok.start;
        let query = self.query_expression()?;
        let definition = self.span_from(start);
        let mut check = None;
        if self.eat(Kw::WITH) {
            check = Some(if self.eat(Kw::LOCAL) {
                CheckOption::Local
            } else {
                self.eat(Kw::CASCADED);
                CheckOption::Cascaded
            });
            self.expect_all(&[Kw::CHECK, Kw::OPTION])?;
        }
        Ok(Statement::CreateView(Box::new(CreateView {
            alter,
            or_replace: preamble.or_replace,
            algorithm: preamble.algorithm,
            definer: preamble.definer,
            invoker: preamble.invoker,
            name,
            columns,
            query,
            definition,
            check,
        })))
    }

    /// `DROP ..`.
    pub fn drop(&mut self) -> R<Statement> {
        let start = self.tok.start;
        self.expect(Kw::DROP)?;
        if self.at_mariadb(b"SEQUENCE") {
            return self.sequence(start, 0);
        }
        let kind = match self.kw() {
            Kw::TABLE | Kw::TABLES | Kw::TEMPORARY | Kw::VIEW => return self.drop_tables(),
            Kw::DATABASE | Kw::SCHEMA => {
                self.bump();
                let if_exists = self.if_exists()?;
                let name = self.ident()?;
                return Ok(Statement::DropDatabase { if_exists, name });
            }
            Kw::INDEX => return self.drop_index(),
            Kw::USER => {
                self.bump();
                let if_exists = self.if_exists()?;
                let users = self.list(Self::account)?;
                return Ok(Statement::DropUser { if_exists, users });
            }
            Kw::ROLE => {
                self.bump();
                let if_exists = self.if_exists()?;
                let roles = self.list(Self::account)?;
                return Ok(Statement::DropRole { if_exists, roles });
            }
            Kw::PREPARE => {
                self.bump();
                return Ok(Statement::Deallocate(self.ident()?));
            }
            Kw::SPATIAL => return self.unsupported(start, 0, 3),
            Kw::TABLESPACE => return self.unsupported(start, 0, 1),
            Kw::UNDO | Kw::LOGFILE | Kw::RESOURCE => return self.unsupported(start, 0, 2),
            Kw::TRIGGER => ObjectKind::Trigger,
            Kw::PROCEDURE => ObjectKind::Procedure,
            Kw::FUNCTION => ObjectKind::Function,
            Kw::EVENT => ObjectKind::Event,
            Kw::SERVER => ObjectKind::Server,
            _ => return self.fail(),
        };
        self.bump();
        let if_exists = self.if_exists()?;
        let name = if kind == ObjectKind::Server {
            ObjectName {
                schema: None,
                name: self.ident_or_text()?,
            }
        } else {
            self.object_name()?
        };
        Ok(Statement::DropObject {
            kind,
            if_exists,
            name,
        })
    }

    fn drop_tables(&mut self) -> R<Statement> {
        let temporary = self.eat(Kw::TEMPORARY);
        let view = !temporary && self.eat(Kw::VIEW);
        if !view && !self.eat(Kw::TABLES) {
            self.expect(Kw::TABLE)?;
        }
        let if_exists = self.if_exists()?;
        let names = self.list(Self::object_name)?;
        let _ = self.eat(Kw::RESTRICT) || self.eat(Kw::CASCADE);
        let tables = Box::new(DropTables {
            temporary,
            if_exists,
            names,
        });
        Ok(if view {
            Statement::DropView(tables)
        } else {
            Statement::DropTable(tables)
        })
    }

    fn drop_index(&mut self) -> R<Statement> {
        self.expect(Kw::INDEX)?;
        self.statement_if(true)?;
        let name = self.key_name()?;
        self.expect(Kw::ON)?;
        let table = self.object_name()?;
        self.table_wait()?;
        let (algorithm, lock) = self.algorithm_lock()?;
        Ok(Statement::DropIndex(Box::new(DropIndex {
            name,
            table,
            algorithm,
            lock,
        })))
    }

    /// An index's name; `PRIMARY` is one.
    pub fn key_name(&mut self) -> R<Name> {
        if self.eat(Kw::PRIMARY) {
            return Ok("PRIMARY".into());
        }
        self.ident()
    }

    /// `RENAME TABLE ..` and `RENAME USER ..`.
    pub fn rename(&mut self) -> R<Statement> {
        self.expect(Kw::RENAME)?;
        if self.eat(Kw::USER) {
            let pairs = self.list(|p| {
                let from = p.account()?;
                p.expect(Kw::TO)?;
                Ok((from, p.account()?))
            })?;
            return Ok(Statement::RenameUser(pairs));
        }
        if !self.eat(Kw::TABLES) {
            self.expect(Kw::TABLE)?;
        }
        self.statement_if(true)?;
        let pairs = self.list(|p| {
            let from = p.object_name()?;
            p.table_wait()?;
            p.expect(Kw::TO)?;
            Ok((from, p.object_name()?))
        })?;
        Ok(Statement::RenameTable(pairs))
    }

    /// `TRUNCATE [TABLE] t`.
    pub fn truncate(&mut self) -> R<Statement> {
        self.expect(Kw::TRUNCATE)?;
        self.eat(Kw::TABLE);
        let name = self.object_name()?;
        self.table_wait()?;
        Ok(Statement::Truncate(name))
    }
}

/// Whether a keyword names a table option that takes a value.
fn is_table_option(kw: Kw) -> bool {
    matches!(
        kw,
        Kw::ENGINE
            | Kw::AUTO_INCREMENT
            | Kw::COLLATE
            | Kw::COMMENT
            | Kw::KEY_BLOCK_SIZE
            | Kw::ROW_FORMAT
            | Kw::UNION
            | Kw::AUTOEXTEND_SIZE
            | Kw::AVG_ROW_LENGTH
            | Kw::CHECKSUM
            | Kw::TABLE_CHECKSUM
            | Kw::COMPRESSION
            | Kw::CONNECTION
            | Kw::DELAY_KEY_WRITE
            | Kw::ENCRYPTION
            | Kw::ENGINE_ATTRIBUTE
            | Kw::INSERT_METHOD
            | Kw::MAX_ROWS
            | Kw::MIN_ROWS
            | Kw::NODEGROUP
            | Kw::PACK_KEYS
            | Kw::PASSWORD
            | Kw::SECONDARY_ENGINE
            | Kw::SECONDARY_ENGINE_ATTRIBUTE
            | Kw::STATS_AUTO_RECALC
            | Kw::STATS_PERSISTENT
            | Kw::STATS_SAMPLE_PAGES
            | Kw::STORAGE
            | Kw::TABLESPACE
    )
}
