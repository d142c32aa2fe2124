//! Transactions, locks, maintenance, `FLUSH`, `KILL`, `RESET`, `PURGE`, `XA`.

use super::ast::*;
use super::keyword::Kw;
use super::lexer::T;
use super::parser::{Parser, R};

impl Parser<'_> {
    /// `BEGIN`, `START ..`, `COMMIT`, `ROLLBACK`, `SAVEPOINT`, `RELEASE SAVEPOINT`.
    pub fn transaction(&mut self, kw: Kw) -> R<Statement> {
        if kw == Kw::START && !self.at_ahead(1, Kw::TRANSACTION) {
            return self.replica_control();
        }
        self.bump();
        match kw {
            Kw::BEGIN => {
                self.eat(Kw::WORK);
                Ok(Statement::Begin(BeginTransaction::default()))
            }
            Kw::START => {
                self.expect(Kw::TRANSACTION)?;
                Ok(Statement::Begin(self.begin_options()?))
            }
            Kw::COMMIT => {
                self.eat(Kw::WORK);
                Ok(Statement::Commit(self.completion()?))
            }
            Kw::ROLLBACK => {
                self.eat(Kw::WORK);
                if self.eat(Kw::TO) {
                    self.eat(Kw::SAVEPOINT);
                    return Ok(Statement::RollbackTo(self.ident()?));
                }
                Ok(Statement::Rollback(self.completion()?))
            }
            Kw::SAVEPOINT => Ok(Statement::Savepoint(self.ident()?)),
            _ => {
                self.expect(Kw::SAVEPOINT)?;
                Ok(Statement::ReleaseSavepoint(self.ident()?))
            }
        }
    }

    fn begin_options(&mut self) -> R<BeginTransaction> {
        let mut begin = BeginTransaction::default();
        if !self.at_any(&[Kw::WITH, Kw::READ]) {
            return Ok(begin);
        }
        loop {
            if self.eat(Kw::WITH) {
                self.expect_all(&[Kw::CONSISTENT, Kw::SNAPSHOT])?;
                begin.consistent_snapshot = true;
            } else {
                self.expect(Kw::READ)?;
                let only = self.eat(Kw::ONLY);
                if !only {
                    self.expect(Kw::WRITE)?;
                }
                if begin.read_only.is_some_and(|before| before != only) {
                    return self.fail();
                }
                begin.read_only = Some(only);
            }
            if !self.take(T::Comma) {
                return Ok(begin);
            }
        }
    }

    fn completion(&mut self) -> R<Completion> {
        let mut completion = Completion::default();
        if self.eat(Kw::AND) {
            completion.chain = Some(!self.eat(Kw::NO));
            self.expect(Kw::CHAIN)?;
        }
        if self.eat2(Kw::NO, Kw::RELEASE) {
            completion.release = Some(false);
        } else if self.eat(Kw::RELEASE) {
            completion.release = Some(true);
        }
        if completion.chain == Some(true) && completion.release == Some(true) {
            return self.fail();
        }
        Ok(completion)
    }

    /// `BACKUP SERVER TO { 'folder' | CLIENT } [SINCE 'earlier'] [THROTTLE n]`.
    pub fn backup(&mut self) -> R<Statement> {
        self.bump();
        self.expect_all(&[Kw::SERVER, Kw::TO])?;
        let to = if self.is_word_ahead(0, b"CLIENT") {
            self.bump();
            BackupTo::Client
        } else {
            BackupTo::Folder(self.string()?)
        };
        let mut since = None;
        if self.is_word_ahead(0, b"SINCE") {
            self.bump();
            since = Some(self.string()?);
        }
        let mut throttle = None;
        if self.is_word_ahead(0, b"THROTTLE") {
            self.bump();
            throttle = Some(self.number()?);
        }
        Ok(Statement::Backup(Box::new(Backup {
            to,
            since,
            throttle,
        })))
    }

    /// `CLONE LOCAL DATA DIRECTORY [=] 'folder'`.
    pub fn clone_local(&mut self) -> R<Statement> {
        self.bump();
        self.expect_all(&[Kw::LOCAL, Kw::DATA, Kw::DIRECTORY])?;
        self.opt_eq();
        Ok(Statement::Backup(Box::new(Backup {
            to: BackupTo::DataDirectory(self.string()?),
            since: None,
            throttle: None,
        })))
    }

    /// `LOCK TABLES`, `UNLOCK TABLES`, `LOCK INSTANCE`, `UNLOCK INSTANCE`.
    pub fn lock_statement(&mut self) -> R<Statement> {
        let lock = self.bump().kw == Kw::LOCK;
        if self.eat(Kw::INSTANCE) {
            if lock {
                self.expect_all(&[Kw::FOR, Kw::BACKUP])?;
            }
            return Ok(Statement::LockInstance(lock));
        }
        if !self.eat(Kw::TABLES) {
            self.expect(Kw::TABLE)?;
        }
        if !lock {
            return Ok(Statement::UnlockTables);
        }
        let tables = self.list(|p| {
            let table = p.object_name()?;
            let alias = p.opt_alias()?;
            let mode = if p.eat(Kw::READ) {
                if p.eat(Kw::LOCAL) {
                    LockMode::ReadLocal
                } else {
                    LockMode::Read
                }
            } else {
                p.eat(Kw::LOW_PRIORITY);
                p.expect(Kw::WRITE)?;
                LockMode::Write
            };
            Ok(LockTable { table, alias, mode })
        })?;
        Ok(Statement::LockTables(tables))
    }

    /// `KILL [QUERY | CONNECTION] id`.
    pub fn kill(&mut self) -> R<Statement> {
        self.expect(Kw::KILL)?;
        let query_only = self.eat(Kw::QUERY);
        if !query_only {
            self.eat(Kw::CONNECTION);
        }
        let id = self.expr()?;
        Ok(Statement::Kill { query_only, id })
    }

    /// `CHECK | ANALYZE | OPTIMIZE | REPAIR | CHECKSUM TABLE ..`.
    pub fn maintenance(&mut self, kw: Kw) -> R<Statement> {
        self.bump();
        let verb = match kw {
            Kw::CHECK => MaintenanceVerb::Check,
            Kw::ANALYZE => MaintenanceVerb::Analyze,
            Kw::OPTIMIZE => MaintenanceVerb::Optimize,
            Kw::REPAIR => MaintenanceVerb::Repair,
            _ => MaintenanceVerb::Checksum,
        };
        let no_binlog = !matches!(verb, MaintenanceVerb::Check | MaintenanceVerb::Checksum)
            && (self.eat(Kw::NO_WRITE_TO_BINLOG) || self.eat(Kw::LOCAL));
        if !self.eat(Kw::TABLES) {
            self.expect(Kw::TABLE)?;
        }
        let tables = self.list(Self::object_name)?;
        self.table_wait()?;
        if verb == MaintenanceVerb::Analyze && self.at_mariadb(b"PERSISTENT") {
            // Which columns' statistics it keeps.
            let start = self.bump().start;
            self.expect_all(&[Kw::FOR, Kw::ALL])?;
            self.mysql_has(start, "");
        }
        let mut options = Vec::new();
        while self.at_any(&[
            Kw::QUICK,
            Kw::FAST,
            Kw::MEDIUM,
            Kw::EXTENDED,
            Kw::CHANGED,
            Kw::USE_FRM,
        ]) {
            options.push(self.word_upper()?);
        }
        if verb == MaintenanceVerb::Check && self.at(Kw::FOR) {
            self.bump();
            self.expect(Kw::UPGRADE)?;
            options.push("FOR UPGRADE".into());
        }
        let histogram = if verb == MaintenanceVerb::Analyze {
            self.histogram()?
        } else {
            None
        };
        Ok(Statement::TableMaintenance(Box::new(TableMaintenance {
            verb,
            no_binlog,
            tables,
            options,
            histogram,
        })))
    }

    fn histogram(&mut self) -> R<Option<HistogramClause>> {
        let drop = self.eat2(Kw::DROP, Kw::HISTOGRAM);
        if !drop && !self.eat2(Kw::UPDATE, Kw::HISTOGRAM) {
            return Ok(None);
        }
        self.expect(Kw::ON)?;
        let columns = self.list(Self::ident)?;
        let mut buckets = None;
        if !drop && self.eat(Kw::WITH) {
            buckets = Some(self.number()?);
            self.expect(Kw::BUCKETS)?;
        }
        Ok(Some(HistogramClause {
            drop,
            columns,
            buckets,
        }))
    }

    /// `FLUSH ..`.
    pub fn flush(&mut self) -> R<Statement> {
        self.expect(Kw::FLUSH)?;
        let no_binlog = self.eat(Kw::NO_WRITE_TO_BINLOG) || self.eat(Kw::LOCAL);
        let items = self.list(Self::flush_item)?;
        Ok(Statement::Flush(Box::new(Flush { no_binlog, items })))
    }

    fn flush_item(&mut self) -> R<FlushItem> {
        match self.kw() {
            Kw::TABLES | Kw::TABLE => {
                self.bump();
                let mut tables = Vec::new();
                if self.is_ident(self.tok) {
                    tables = self.list(Self::object_name)?;
                }
                let read_lock = self.eat(Kw::WITH);
                if read_lock {
                    self.expect_all(&[Kw::READ, Kw::LOCK])?;
                }
                if !read_lock && tables.is_empty() && self.at(Kw::FOR) {
                    return self.fail();
                }
                let for_export = !read_lock && self.eat(Kw::FOR);
                if for_export {
                    self.expect(Kw::EXPORT)?;
                }
                Ok(FlushItem::Tables {
                    tables,
                    read_lock,
                    for_export,
                })
            }
            Kw::BINARY | Kw::ENGINE | Kw::ERROR | Kw::GENERAL | Kw::RELAY | Kw::SLOW
                if self.at_ahead(1, Kw::LOGS) =>
            {
                let relay = self.at(Kw::RELAY);
                let words = self.words_upper(2)?;
                if relay {
                    return Ok(FlushItem::RelayLogs(self.for_channel()?));
                }
                Ok(FlushItem::Other(words))
            }
            Kw::LOGS
            | Kw::PRIVILEGES
            | Kw::STATUS
            | Kw::HOSTS
            | Kw::OPTIMIZER_COSTS
            | Kw::USER_RESOURCES => Ok(FlushItem::Other(self.word_upper()?)),
            _ => self.fail(),
        }
    }

    /// `RESET ..`.
    pub fn reset_statement(&mut self) -> R<Statement> {
        self.expect(Kw::RESET)?;
        let items = self.list(|p| {
            let binary_logs = p.at(Kw::BINARY);
            if binary_logs {
                p.bump();
                p.expect_all(&[Kw::LOGS, Kw::AND, Kw::GTIDS])?;
            }
            if binary_logs || p.eat(Kw::MASTER) {
                let to = if p.eat(Kw::TO) {
                    Some(p.number()?)
                } else {
                    None
                };
                return Ok(ResetItem::Master(to));
            }
            if p.eat(Kw::REPLICA) || p.eat(Kw::SLAVE) {
                let all = p.eat(Kw::ALL);
                let channel = p.for_channel()?;
                return Ok(ResetItem::Replica { all, channel });
            }
            if p.eat2(Kw::QUERY, Kw::CACHE) {
                return Ok(ResetItem::QueryCache);
            }
            p.expect(Kw::PERSIST)?;
            let if_exists = p.if_exists()?;
            let mut name = None;
            if if_exists || p.is_ident(p.tok) {
                let mut full = p.ident()?.into_string();
                while p.take(T::Dot) {
                    full.push('.');
                    full.push_str(&p.ident()?);
                }
                name = Some(full.into());
            }
            Ok(ResetItem::Persist { if_exists, name })
        })?;
        Ok(Statement::Reset(items))
    }

    /// `PURGE BINARY LOGS ..`.
    pub fn purge(&mut self) -> R<Statement> {
        self.expect(Kw::PURGE)?;
        if !self.eat(Kw::MASTER) {
            self.expect(Kw::BINARY)?;
        }
        self.expect(Kw::LOGS)?;
        if self.eat(Kw::TO) {
            return Ok(Statement::PurgeLogs(PurgeLogs::To(self.string()?)));
        }
        self.expect(Kw::BEFORE)?;
        Ok(Statement::PurgeLogs(PurgeLogs::Before(self.expr()?)))
    }

    /// `XA ..`.
    pub fn xa(&mut self) -> R<Statement> {
        self.expect(Kw::XA)?;
        let kw = self.tok.kw;
        if !matches!(
            kw,
            Kw::START | Kw::BEGIN | Kw::END | Kw::PREPARE | Kw::COMMIT | Kw::ROLLBACK | Kw::RECOVER
        ) {
            return self.fail();
        }
        self.bump();
        let xa = match kw {
            Kw::RECOVER => {
                let convert = self.eat(Kw::CONVERT);
                if convert {
                    self.expect(Kw::XID)?;
                }
                Xa::Recover { convert }
            }
            Kw::START | Kw::BEGIN => {
                let xid = self.xid()?;
                let join = self.eat(Kw::JOIN);
                let resume = !join && self.eat(Kw::RESUME);
                Xa::Start { xid, join, resume }
            }
            Kw::END => {
                let xid = self.xid()?;
                let suspend = self.eat(Kw::SUSPEND);
                let migrate = suspend && self.eat(Kw::FOR);
                if migrate {
                    self.expect(Kw::MIGRATE)?;
                }
                Xa::End {
                    xid,
                    suspend,
                    migrate,
                }
            }
            Kw::PREPARE => Xa::Prepare(self.xid()?),
            Kw::COMMIT => {
                let xid = self.xid()?;
                let one_phase = self.eat(Kw::ONE);
                if one_phase {
                    self.expect(Kw::PHASE)?;
                }
                Xa::Commit { xid, one_phase }
            }
            _ if self.eat(Kw::ALL) => {
                self.expect(Kw::FOR)?;
                Xa::RollbackAll(self.account()?)
            }
            _ => Xa::Rollback(self.xid()?),
        };
        Ok(Statement::Xa(Box::new(xa)))
    }

    fn xid(&mut self) -> R<Xid> {
        let gtrid = self.text_string()?;
        let mut bqual = Box::default();
        let mut format = 1;
        if self.take(T::Comma) {
            bqual = self.text_string()?;
            if self.take(T::Comma) {
                let Ok(number) = u32::try_from(self.number()?) else {
                    return self.fail();
                };
                format = number;
            }
        }
        if gtrid.len() > 64 || bqual.len() > 64 {
            return self.fail();
        }
        Ok(Xid {
            gtrid,
            bqual,
            format,
        })
    }
}
