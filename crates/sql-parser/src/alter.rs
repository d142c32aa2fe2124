//! `ALTER ..`.

use super::ast::*;
use super::keyword::Kw;
use super::lexer::{T, Token};
use super::parser::{Parser, R};

impl Parser<'_> {
    /// `ALTER ..`.
    pub fn alter(&mut self) -> R<Statement> {
        let start = self.tok.start;
        self.expect(Kw::ALTER)?;
        match self.kw() {
            Kw::TABLE => self.alter_table(),
            Kw::DATABASE | Kw::SCHEMA => self.alter_database(),
            Kw::USER => self.create_user(true),
            Kw::PROCEDURE | Kw::FUNCTION => self.alter_routine(),
            _ if self.at_mariadb(b"SEQUENCE") => self.sequence(start, 0),
            Kw::TABLESPACE | Kw::SERVER => self.unsupported(start, 0, 1),
            Kw::INSTANCE => self.alter_instance(start),
            Kw::UNDO | Kw::LOGFILE | Kw::RESOURCE => self.unsupported(start, 0, 2),
            _ => {
                let preamble = self.preamble()?;
                if self.at(Kw::VIEW) && !preamble.or_replace {
                    return self.create_view(preamble, true);
                }
                if self.at(Kw::EVENT) {
                    return self.alter_event(preamble);
                }
                self.fail()
            }
        }
    }

    /// `ALTER INSTANCE ..`: RELOAD TLS, and actions that are recognised but not carried out.
    fn alter_instance(&mut self, start: u32) -> R<Statement> {
        let (action, object) = (self.ahead(1), self.ahead(2));
        if !self.is_word(action, "RELOAD") || !self.is_word(object, "TLS") {
            return self.unsupported(start, 0, 2);
        }
        for _ in 0..3 {
            self.bump();
        }
        let channel = if self.eat2(Kw::FOR, Kw::CHANNEL) {
            Some(self.ident()?)
        } else {
            None
        };
        let keep_on = self.eat(Kw::NO);
        if keep_on {
            self.expect_all(&[Kw::ROLLBACK, Kw::ON, Kw::ERROR])?;
        }
        Ok(Statement::ReloadTls {
            channel,
            rollback_on_error: !keep_on,
        })
    }

    /// Whether a token is this word, which is not reserved.
    fn is_word(&self, token: Token, word: &str) -> bool {
        self.is_ident(token) && self.slice(token).eq_ignore_ascii_case(word.as_bytes())
    }

    fn alter_table(&mut self) -> R<Statement> {
        self.expect(Kw::TABLE)?;
        self.statement_if(true)?;
        let name = self.object_name()?;
        self.table_wait()?;
        self.actions_begin();
        let mut alter = AlterTable {
            name,
            actions: Vec::new(),
            algorithm: None,
            lock: None,
        };
        if self.at_end() {
            return Ok(Statement::AlterTable(Box::new(alter)));
        }
        loop {
            let start = self.tok.start;
            match self.storage_option()? {
                Some(name) => {
                    let option = TableOption::Other(name, Box::default());
                    alter.actions.push(AlterAction::Option(option));
                    self.action_ends(start, "", alter.actions.len(), true);
                }
                None => {
                    self.alter_action(&mut alter)?;
                    self.action_ends(start, "", alter.actions.len(), false);
                }
            }
            if self.take(T::Comma) {
                continue;
            }
            // Table options need no comma between them; PARTITION BY and REMOVE PARTITIONING take none.
            let after_option = matches!(alter.actions.last(), Some(AlterAction::Option(_)));
            let partitioning =
                self.at(Kw::PARTITION) || self.at(Kw::REMOVE) && self.at_ahead(1, Kw::PARTITIONING);
            if self.at_end() || !after_option && !partitioning {
                break;
            }
        }
        Ok(Statement::AlterTable(Box::new(alter)))
    }

    /// Whether the statement ends here.
    pub fn at_end(&self) -> bool {
        matches!(self.tok.kind, T::Semi | T::Eof)
    }

    fn alter_action(&mut self, alter: &mut AlterTable) -> R<()> {
        let action = match self.kw() {
            Kw::ADD => return self.alter_add(alter),
            Kw::ALGORITHM => {
                self.bump();
                self.opt_eq();
                alter.algorithm = Some(self.word_upper()?);
                return Ok(());
            }
            Kw::LOCK => {
                self.bump();
                self.opt_eq();
                alter.lock = Some(self.word_upper()?);
                return Ok(());
            }
            Kw::DROP => self.alter_drop()?,
            Kw::MODIFY => {
                self.bump();
                self.eat(Kw::COLUMN);
                self.action_if(true)?;
                let column = self.column_def()?;
                let position = self.position()?;
                AlterAction::ModifyColumn { column, position }
            }
            Kw::CHANGE => {
                self.bump();
                self.eat(Kw::COLUMN);
                self.action_if(true)?;
                let old = self.ident()?;
                let column = self.column_def()?;
                let position = self.position()?;
                AlterAction::ChangeColumn {
                    old,
                    column,
                    position,
                }
            }
            Kw::ALTER => self.alter_alter()?,
            Kw::RENAME => self.alter_rename()?,
            Kw::CONVERT => self.alter_convert()?,
            Kw::ORDER => {
                let order = self.order_by()?;
                AlterAction::OrderBy(order)
            }
            Kw::FORCE => {
                self.bump();
                AlterAction::Force
            }
            Kw::ENABLE | Kw::DISABLE => {
                let enable = self.bump().kw == Kw::ENABLE;
                self.expect(Kw::KEYS)?;
                AlterAction::Keys(enable)
            }
            Kw::WITH | Kw::WITHOUT => {
                let with = self.bump().kw == Kw::WITH;
                self.expect(Kw::VALIDATION)?;
                AlterAction::Validation(with)
            }
            Kw::DISCARD | Kw::IMPORT if self.at_ahead(1, Kw::TABLESPACE) => {
                let verb = self.word_upper()?;
                self.bump();
                // It stands alone, as in MySQL.
                if !alter.actions.is_empty() || !self.at_end() {
                    return self.fail();
                }
                AlterAction::Tablespace(verb)
            }
            _ => match self.alter_partitions()? {
                Some(action) => action,
                None => match self.table_option()? {
                    Some(option) => AlterAction::Option(option),
                    None => return self.fail(),
                },
            },
        };
        alter.actions.push(action);
        Ok(())
    }

    fn alter_add(&mut self, alter: &mut AlterTable) -> R<()> {
        self.expect(Kw::ADD)?;
        if self.at(Kw::PARTITION) {
            self.bump();
            self.eat(Kw::NO_WRITE_TO_BINLOG);
            let action = if self.eat(Kw::PARTITIONS) {
                AlterAction::AddPartition(Vec::new(), Some(self.number()?))
            } else {
                AlterAction::AddPartition(self.partition_defs()?, None)
            };
            alter.actions.push(action);
            return Ok(());
        }
        if self.at_key_def() {
            let key = self.key_def()?;
            alter.actions.push(AlterAction::AddKey(key));
            return Ok(());
        }
        self.eat(Kw::COLUMN);
        self.action_if(false)?;
        if !self.take(T::LParen) {
            let column = self.column_def()?;
            let position = self.position()?;
            alter
                .actions
                .push(AlterAction::AddColumn { column, position });
            return Ok(());
        }
        let only_if = self.of_action();
        loop {
            let start = self.tok.start;
            self.action_goes_on(only_if);
            let action = if self.at_key_def() {
                AlterAction::AddKey(self.key_def()?)
            } else {
                AlterAction::AddColumn {
                    column: self.column_def()?,
                    position: None,
                }
            };
            alter.actions.push(action);
            self.action_ends(start, "ADD ", alter.actions.len(), false);
            if !self.take(T::Comma) {
                break;
            }
        }
        self.need(T::RParen)
    }

    /// `FIRST`, `AFTER c`, or nothing.
    fn position(&mut self) -> R<Option<ColumnPosition>> {
        if self.eat(Kw::FIRST) {
            return Ok(Some(ColumnPosition::First));
        }
        if self.eat(Kw::AFTER) {
            return Ok(Some(ColumnPosition::After(self.ident()?)));
        }
        Ok(None)
    }

    fn alter_drop(&mut self) -> R<AlterAction> {
        self.expect(Kw::DROP)?;
        let action = match self.kw() {
            Kw::PRIMARY => {
                self.bump();
                self.expect(Kw::KEY)?;
                return Ok(AlterAction::DropPrimaryKey);
            }
            Kw::FOREIGN => {
                self.bump();
                self.expect(Kw::KEY)?;
                self.action_if(true)?;
                return Ok(AlterAction::DropForeignKey(self.ident()?));
            }
            Kw::INDEX | Kw::KEY => {
                self.bump();
                self.action_if(true)?;
                return Ok(AlterAction::DropIndex(self.key_name()?));
            }
            Kw::CHECK => AlterAction::DropCheck,
            Kw::CONSTRAINT => AlterAction::DropConstraint,
            Kw::PARTITION => {
                self.bump();
                let names = self.list(Self::ident)?;
                return Ok(AlterAction::Partitions("DROP".into(), names));
            }
            _ => {
                self.eat(Kw::COLUMN);
                self.action_if(true)?;
                let name = self.ident()?;
                let _ = self.eat(Kw::RESTRICT) || self.eat(Kw::CASCADE);
                return Ok(AlterAction::DropColumn(name));
            }
        };
        self.bump();
        self.action_if(true)?;
        Ok(action(self.ident()?))
    }

    /// `ALTER ..` inside `ALTER TABLE`.
    fn alter_alter(&mut self) -> R<AlterAction> {
        self.expect(Kw::ALTER)?;
        if self.eat(Kw::INDEX) {
            let name = self.ident()?;
            let visible = self.visibility()?;
            return Ok(AlterAction::IndexVisibility(name, visible));
        }
        if self.eat(Kw::CHECK) || self.eat(Kw::CONSTRAINT) {
            let name = self.ident()?;
            let enforced = !self.eat(Kw::NOT);
            self.expect(Kw::ENFORCED)?;
            return Ok(AlterAction::Enforce(name, enforced));
        }
        self.eat(Kw::COLUMN);
        self.action_if(true)?;
        let column = self.ident()?;
        if self.eat(Kw::DROP) {
            self.expect(Kw::DEFAULT)?;
            return Ok(AlterAction::DropDefault(column));
        }
        self.expect(Kw::SET)?;
        if self.eat(Kw::DEFAULT) {
            let (expr, parenthesised) = self.default_value()?;
            return Ok(AlterAction::SetDefault {
                column,
                expr,
                parenthesised,
            });
        }
        let visible = self.visibility()?;
        Ok(AlterAction::ColumnVisibility(column, visible))
    }

    fn visibility(&mut self) -> R<bool> {
        if self.eat(Kw::VISIBLE) {
            return Ok(true);
        }
        self.expect(Kw::INVISIBLE)?;
        Ok(false)
    }

    fn alter_rename(&mut self) -> R<AlterAction> {
        self.expect(Kw::RENAME)?;
        if self.eat(Kw::COLUMN) {
            self.action_if(true)?;
            let from = self.ident()?;
            self.expect(Kw::TO)?;
            return Ok(AlterAction::RenameColumn(from, self.ident()?));
        }
        if self.at_any(&[Kw::INDEX, Kw::KEY]) {
            self.bump();
            self.action_if(true)?;
            let from = self.ident()?;
            self.expect(Kw::TO)?;
            return Ok(AlterAction::RenameIndex(from, self.ident()?));
        }
        if !self.eat(Kw::TO) && !self.eat(Kw::AS) {
            self.opt_eq();
        }
        Ok(AlterAction::RenameTo(self.object_name()?))
    }

    fn alter_convert(&mut self) -> R<AlterAction> {
        self.expect_all(&[Kw::CONVERT, Kw::TO])?;
        if !self.eat_charset() {
            return self.fail();
        }
        let charset = self.charset_or_default()?;
        let collation = if self.eat(Kw::COLLATE) {
            self.opt_eq();
            Some(self.charset_name()?)
        } else {
            None
        };
        Ok(AlterAction::ConvertTo { charset, collation })
    }

    /// Actions on partitions, apart from `ADD` and `DROP`.
    fn alter_partitions(&mut self) -> R<Option<AlterAction>> {
        if self.at(Kw::PARTITION) {
            return Ok(Some(AlterAction::PartitionBy(Box::new(
                self.partition_by()?,
            ))));
        }
        if self.eat2(Kw::REMOVE, Kw::PARTITIONING) {
            return Ok(Some(AlterAction::RemovePartitioning));
        }
        if !self.at_ahead(1, Kw::PARTITION) {
            return Ok(None);
        }
        let verb = match self.kw() {
            Kw::TRUNCATE
            | Kw::ANALYZE
            | Kw::CHECK
            | Kw::OPTIMIZE
            | Kw::REPAIR
            | Kw::REBUILD
            | Kw::DISCARD
            | Kw::IMPORT
            | Kw::COALESCE
            | Kw::REORGANIZE
            | Kw::EXCHANGE => self.bump().kw,
            _ => return Ok(None),
        };
        let name = match verb {
            Kw::TRUNCATE => "TRUNCATE",
            Kw::ANALYZE => "ANALYZE",
            Kw::CHECK => "CHECK",
            Kw::OPTIMIZE => "OPTIMIZE",
            Kw::REPAIR => "REPAIR",
            Kw::REBUILD => "REBUILD",
            Kw::DISCARD => "DISCARD",
            _ => "IMPORT",
        };
        self.expect(Kw::PARTITION)?;
        let _ = self.eat(Kw::NO_WRITE_TO_BINLOG) || self.eat(Kw::LOCAL);
        match verb {
            Kw::COALESCE => Ok(Some(AlterAction::CoalescePartition(self.number()?))),
            Kw::REORGANIZE => {
                let mut names = Vec::new();
                let mut into = Vec::new();
                if !self.at_end() {
                    names = self.list(Self::ident)?;
                    self.expect(Kw::INTO)?;
                    into = self.partition_defs()?;
                }
                Ok(Some(AlterAction::ReorganizePartition(names, into)))
            }
            Kw::EXCHANGE => {
                let partition = self.ident()?;
                self.expect_all(&[Kw::WITH, Kw::TABLE])?;
                let table = self.object_name()?;
                let validation = !self.eat2(Kw::WITHOUT, Kw::VALIDATION);
                if validation {
                    self.eat2(Kw::WITH, Kw::VALIDATION);
                }
                Ok(Some(AlterAction::ExchangePartition(
                    partition, table, validation,
                )))
            }
            _ => {
                let names = if self.eat(Kw::ALL) {
                    Vec::new()
                } else {
                    self.list(Self::ident)?
                };
                while self.at_any(&[
                    Kw::TABLESPACE,
                    Kw::QUICK,
                    Kw::FAST,
                    Kw::MEDIUM,
                    Kw::EXTENDED,
                    Kw::CHANGED,
                    Kw::USE_FRM,
                ]) {
                    self.bump();
                }
                Ok(Some(AlterAction::Partitions(name.into(), names)))
            }
        }
    }
}
