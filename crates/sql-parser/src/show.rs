//! `SHOW ..`.

use super::ast::*;
use super::keyword::Kw;
use super::lexer::T;
use super::parser::{Parser, R};

impl Parser<'_> {
    /// `SHOW ..`.
    pub fn show(&mut self) -> R<Statement> {
        self.expect(Kw::SHOW)?;
        let extended = self.eat(Kw::EXTENDED);
        let full = self.eat(Kw::FULL);
        let what = if extended || full {
            self.show_full(full, extended)?
        } else {
            self.show_what()?
        };
        let filter = if takes_filter(&what) {
            self.show_filter()?
        } else {
            None
        };
        Ok(Statement::Show(Box::new(Show { what, filter })))
    }

    fn show_filter(&mut self) -> R<Option<ShowFilter>> {
        if self.eat(Kw::LIKE) {
            return Ok(Some(ShowFilter::Like(self.string()?)));
        }
        if self.eat(Kw::WHERE) {
            return Ok(Some(ShowFilter::Where(self.expr()?)));
        }
        Ok(None)
    }

    /// What may follow `SHOW [EXTENDED] [FULL]`.
    fn show_full(&mut self, full: bool, extended: bool) -> R<ShowWhat> {
        match self.kw() {
            Kw::TABLES => {
                self.bump();
                Ok(ShowWhat::Tables {
                    full,
                    extended,
                    schema: self.opt_from_schema()?,
                })
            }
            Kw::COLUMNS | Kw::FIELDS => {
                self.bump();
                Ok(ShowWhat::Columns {
                    full,
                    extended,
                    table: self.table_after_from()?,
                })
            }
            Kw::INDEX | Kw::INDEXES | Kw::KEYS if !full => {
                self.bump();
                Ok(ShowWhat::Index {
                    extended,
                    table: self.table_after_from()?,
                })
            }
            Kw::PROCESSLIST if !extended => {
                self.bump();
                Ok(ShowWhat::Processlist { full })
            }
            Kw::TRIGGERS if !extended => {
                self.bump();
                Ok(ShowWhat::Triggers(self.opt_from_schema()?))
            }
            _ => self.fail(),
        }
    }

    /// `FROM | IN db`, or nothing.
    fn opt_from_schema(&mut self) -> R<Option<Name>> {
        if self.eat(Kw::FROM) || self.eat(Kw::IN) {
            return self.ident().map(Some);
        }
        Ok(None)
    }

    /// `FROM | IN table [FROM | IN db]`.
    fn table_after_from(&mut self) -> R<ObjectName> {
        if !self.eat(Kw::FROM) {
            self.expect(Kw::IN)?;
        }
        let mut table = self.object_name()?;
        if let Some(schema) = self.opt_from_schema()? {
            table.schema = Some(schema);
        }
        Ok(table)
    }

    fn show_what(&mut self) -> R<ShowWhat> {
        let kw = self.tok.kw;
        let next = self.ahead(1).kw;
        match kw {
            Kw::TABLES
            | Kw::COLUMNS
            | Kw::FIELDS
            | Kw::INDEX
            | Kw::INDEXES
            | Kw::KEYS
            | Kw::PROCESSLIST
            | Kw::TRIGGERS => return self.show_full(false, false),
            Kw::GLOBAL | Kw::SESSION | Kw::LOCAL => {
                let scope = match self.bump().kw {
                    Kw::GLOBAL => VarScope::Global,
                    _ => VarScope::Session,
                };
                if self.eat(Kw::STATUS) {
                    return Ok(ShowWhat::Status(scope));
                }
                self.expect(Kw::VARIABLES)?;
                return Ok(ShowWhat::Variables(scope));
            }
            Kw::COUNT => return self.show_count(),
            Kw::CREATE => return self.show_create(),
            Kw::MASTER
            | Kw::REPLICA
            | Kw::SLAVE
            | Kw::ALL
            | Kw::BINARY
            | Kw::BINLOG
            | Kw::RELAYLOG
            | Kw::REPLICAS => return self.show_replication(kw, next),
            Kw::PROCEDURE | Kw::FUNCTION | Kw::PACKAGE => return self.show_routine(),
            _ => {}
        }
        let start = self.bump().start;
        self.show_plain(kw, start)
    }

    /// Forms that one word (already taken, at `start`) chooses.
    fn show_plain(&mut self, kw: Kw, start: u32) -> R<ShowWhat> {
        Ok(match kw {
            Kw::DATABASES | Kw::SCHEMAS => ShowWhat::Databases,
            Kw::VARIABLES => ShowWhat::Variables(VarScope::Session),
            Kw::STATUS => ShowWhat::Status(VarScope::Session),
            Kw::WARNINGS => ShowWhat::Warnings(self.limit()?),
            Kw::ERRORS => ShowWhat::Errors(self.limit()?),
            Kw::TABLE => {
                self.expect(Kw::STATUS)?;
                ShowWhat::TableStatus(self.opt_from_schema()?)
            }
            Kw::OPEN => {
                self.expect(Kw::TABLES)?;
                ShowWhat::OpenTables(self.opt_from_schema()?)
            }
            Kw::EVENTS => ShowWhat::Events(self.opt_from_schema()?),
            Kw::STORAGE => {
                self.expect(Kw::ENGINES)?;
                ShowWhat::Engines
            }
            Kw::ENGINES => ShowWhat::Engines,
            Kw::ENGINE => {
                let engine = if self.eat(Kw::ALL) {
                    "ALL".into()
                } else {
                    self.ident_or_text()?
                };
                if !self.at_any(&[Kw::STATUS, Kw::MUTEX, Kw::LOGS]) {
                    return self.fail();
                }
                ShowWhat::Engine(engine, self.word_upper()?)
            }
            Kw::CHARSET => ShowWhat::CharacterSet,
            Kw::CHARACTER | Kw::CHAR => {
                self.expect(Kw::SET)?;
                ShowWhat::CharacterSet
            }
            Kw::COLLATION => ShowWhat::Collation,
            Kw::GRANTS => self.show_grants()?,
            Kw::PLUGINS => ShowWhat::Plugins,
            Kw::PRIVILEGES => ShowWhat::Privileges,
            Kw::PROFILES => ShowWhat::Profiles,
            Kw::PROFILE => self.show_profile()?,
            _ => return Err(self.syntax_error(start)),
        })
    }

    fn show_grants(&mut self) -> R<ShowWhat> {
        let mut account = None;
        let mut using = Vec::new();
        if self.eat(Kw::FOR) {
            account = Some(self.account()?);
            if self.eat(Kw::USING) {
                using = self.list(Self::account)?;
            }
        }
        Ok(ShowWhat::Grants { account, using })
    }

    fn show_profile(&mut self) -> R<ShowWhat> {
        while self.is(T::Word) && !self.at(Kw::FOR) && !self.at(Kw::LIMIT) {
            self.bump();
            self.take(T::Comma);
        }
        let query = if self.eat(Kw::FOR) {
            self.expect(Kw::QUERY)?;
            Some(self.number()?)
        } else {
            None
        };
        let limit = self.limit()?;
        Ok(ShowWhat::Profile { query, limit })
    }

    fn show_count(&mut self) -> R<ShowWhat> {
        self.expect(Kw::COUNT)?;
        self.need(T::LParen)?;
        self.need(T::Star)?;
        self.need(T::RParen)?;
        if self.eat(Kw::WARNINGS) {
            return Ok(ShowWhat::WarningCount);
        }
        self.expect(Kw::ERRORS)?;
        Ok(ShowWhat::ErrorCount)
    }

    fn show_create(&mut self) -> R<ShowWhat> {
        self.expect(Kw::CREATE)?;
        let kind = match self.kw() {
            Kw::DATABASE | Kw::SCHEMA => {
                self.bump();
                let if_not_exists = self.if_not_exists()?;
                let name = self.ident()?;
                return Ok(ShowWhat::CreateDatabase {
                    if_not_exists,
                    name,
                });
            }
            Kw::USER => {
                self.bump();
                return Ok(ShowWhat::CreateUser(self.account()?));
            }
            Kw::TABLE => ObjectKind::Table,
            Kw::VIEW => ObjectKind::View,
            Kw::PROCEDURE => ObjectKind::Procedure,
            Kw::FUNCTION => ObjectKind::Function,
            Kw::TRIGGER => ObjectKind::Trigger,
            Kw::EVENT => ObjectKind::Event,
            _ => return self.fail(),
        };
        self.bump();
        Ok(ShowWhat::Create(kind, self.object_name()?))
    }

    fn show_replication(&mut self, kw: Kw, next: Kw) -> R<ShowWhat> {
        self.bump();
        match (kw, next) {
            (Kw::MASTER, Kw::STATUS) => {
                self.bump();
                Ok(ShowWhat::SourceStatus)
            }
            (Kw::MASTER | Kw::BINARY, Kw::LOGS) => {
                self.bump();
                Ok(ShowWhat::BinaryLogs)
            }
            (Kw::BINARY, _) => {
                self.expect_all(&[Kw::LOG, Kw::STATUS])?;
                Ok(ShowWhat::SourceStatus)
            }
            (Kw::REPLICAS, _) => Ok(ShowWhat::Replicas { slave: false }),
            (Kw::SLAVE, Kw::HOSTS) => {
                self.bump();
                Ok(ShowWhat::Replicas { slave: true })
            }
            (Kw::REPLICA | Kw::SLAVE, _) => {
                self.expect(Kw::STATUS)?;
                Ok(ShowWhat::ReplicaStatus {
                    slave: kw == Kw::SLAVE,
                    all: false,
                    channel: self.for_channel()?,
                })
            }
            (Kw::ALL, _) => {
                let slave = self.eat(Kw::SLAVES);
                if !slave {
                    self.expect(Kw::REPLICAS)?;
                }
                self.expect(Kw::STATUS)?;
                Ok(ShowWhat::ReplicaStatus {
                    slave,
                    all: true,
                    channel: None,
                })
            }
            (Kw::BINLOG | Kw::RELAYLOG, _) => {
                self.expect(Kw::EVENTS)?;
                self.binlog_events(kw == Kw::RELAYLOG)
            }
            _ => self.fail(),
        }
    }

    fn binlog_events(&mut self, relay: bool) -> R<ShowWhat> {
        let log = if self.eat(Kw::IN) {
            Some(self.string()?)
        } else {
            None
        };
        let from = if self.eat(Kw::FROM) {
            Some(self.number()?)
        } else {
            None
        };
        let limit = self.limit()?;
        let channel = if relay { self.for_channel()? } else { None };
        Ok(ShowWhat::BinlogEvents {
            relay,
            log,
            from,
            limit,
            channel,
        })
    }

    /// `FOR CHANNEL c`, or nothing. The names of channels have no case, and are shown in small letters.
    pub fn for_channel(&mut self) -> R<Option<Name>> {
        if self.eat2(Kw::FOR, Kw::CHANNEL) {
            let name = self.ident_or_text()?;
            return Ok(Some(name.to_lowercase().into()));
        }
        Ok(None)
    }

    fn show_routine(&mut self) -> R<ShowWhat> {
        let kind = match self.bump().kw {
            Kw::PROCEDURE => ObjectKind::Procedure,
            Kw::FUNCTION => ObjectKind::Function,
            _ if self.at(Kw::STATUS) => ObjectKind::Package,
            _ => {
                // MariaDB's `PACKAGE BODY STATUS`.
                self.ident()?;
                ObjectKind::PackageBody
            }
        };
        if self.eat(Kw::CODE) {
            return Ok(ShowWhat::RoutineCode(kind, self.object_name()?));
        }
        self.expect(Kw::STATUS)?;
        Ok(ShowWhat::RoutineStatus(kind))
    }
}

/// Whether `LIKE` / `WHERE` may follow.
fn takes_filter(what: &ShowWhat) -> bool {
    matches!(
        what,
        ShowWhat::Databases
            | ShowWhat::Tables { .. }
            | ShowWhat::Columns { .. }
            | ShowWhat::Index { .. }
            | ShowWhat::Variables(_)
            | ShowWhat::Status(_)
            | ShowWhat::TableStatus(_)
            | ShowWhat::OpenTables(_)
            | ShowWhat::Triggers(_)
            | ShowWhat::Events(_)
            | ShowWhat::RoutineStatus(_)
            | ShowWhat::CharacterSet
            | ShowWhat::Collation
            | ShowWhat::Plugins
    )
}
