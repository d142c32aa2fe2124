//! Column definitions, keys and constraints of `CREATE TABLE` and `ALTER TABLE`.

use super::ast::*;
use super::keyword::Kw;
use super::lexer::T;
use super::parser::{Parser, R};

impl Parser<'_> {
    /// Refuses a second character set that is another one (1302).
    pub fn one_charset(&self, before: Option<&Name>, given: Option<&Name>) -> R<()> {
        let (Some(a), Some(b)) = (before, given) else {
            return Ok(());
        };
        if a.eq_ignore_ascii_case(b) {
            return Ok(());
        }
        let message =
            format!("Conflicting declarations: 'CHARACTER SET {a}' and 'CHARACTER SET {b}'");
        self.other(1302, "HY000", message)
    }

    /// `name type attributes`.
    pub fn column_def(&mut self) -> R<ColumnDef> {
        let name = self.column_ref()?.name;
        self.field_def(name)
    }

    /// `type attributes` of the column `name`.
    pub fn field_def(&mut self, name: Name) -> R<ColumnDef> {
        let data_type = self.data_type()?;
        let mut attributes = Vec::new();
        while let Some(attribute) = self.column_attr()? {
            attributes.push(attribute);
        }
        Ok(ColumnDef {
            name,
            data_type,
            attributes,
        })
    }

    fn column_attr(&mut self) -> R<Option<ColumnAttr>> {
        let kw = self.tok.kw;
        match kw {
            Kw::NOT
            | Kw::NULL
            | Kw::AUTO_INCREMENT
            | Kw::KEY
            | Kw::PRIMARY
            | Kw::UNIQUE
            | Kw::VISIBLE
            | Kw::INVISIBLE
            | Kw::SERIAL => return self.plain_attr(kw).map(Some),
            _ => {}
        }
        let attribute = match kw {
            Kw::DEFAULT => {
                self.bump();
                let (expr, parenthesised) = self.default_value()?;
                ColumnAttr::Default {
                    expr,
                    parenthesised,
                }
            }
            Kw::ON => {
                self.bump();
                self.expect(Kw::UPDATE)?;
                ColumnAttr::OnUpdateNow(self.now_precision()?)
            }
            Kw::COMMENT => {
                self.bump();
                ColumnAttr::Comment(self.text_string()?)
            }
            Kw::COLLATE => {
                self.bump();
                ColumnAttr::Collate(self.charset_name()?)
            }
            Kw::GENERATED | Kw::AS => self.generated()?,
            Kw::CONSTRAINT | Kw::CHECK => {
                let name = self.constraint_symbol()?;
                ColumnAttr::Check(self.check(name)?)
            }
            Kw::REFERENCES => ColumnAttr::References(Box::new(self.references()?)),
            Kw::COLUMN_FORMAT => {
                self.bump();
                ColumnAttr::ColumnFormat(self.word_upper()?)
            }
            Kw::STORAGE => {
                self.bump();
                ColumnAttr::Storage(self.word_upper()?)
            }
            Kw::SRID => {
                self.bump();
                ColumnAttr::Srid(self.number()?)
            }
            Kw::ENGINE_ATTRIBUTE | Kw::SECONDARY_ENGINE_ATTRIBUTE => {
                self.bump();
                self.opt_eq();
                ColumnAttr::EngineAttribute(self.string()?)
            }
            _ if self.at_mariadb(b"COMPRESSED") => {
                // How the column's values are kept there.
                let start = self.bump().start;
                if self.take(T::Eq) {
                    self.ident()?;
                }
                self.mysql_has(start, "");
                return self.column_attr();
            }
            _ => return Ok(None),
        };
        Ok(Some(attribute))
    }

    /// Attributes made of keywords alone.
    fn plain_attr(&mut self, kw: Kw) -> R<ColumnAttr> {
        self.bump();
        Ok(match kw {
            Kw::NOT if self.eat(Kw::SECONDARY) => ColumnAttr::NotSecondary,
            Kw::NOT => {
                self.expect(Kw::NULL)?;
                ColumnAttr::NotNull
            }
            Kw::NULL => ColumnAttr::Null,
            Kw::AUTO_INCREMENT => ColumnAttr::AutoIncrement,
            Kw::PRIMARY => {
                self.expect(Kw::KEY)?;
                ColumnAttr::PrimaryKey
            }
            Kw::KEY => ColumnAttr::PrimaryKey,
            Kw::UNIQUE => {
                self.eat(Kw::KEY);
                ColumnAttr::Unique
            }
            Kw::SERIAL => {
                self.expect_all(&[Kw::DEFAULT, Kw::VALUE])?;
                ColumnAttr::SerialDefaultValue
            }
            _ => ColumnAttr::Visible(kw == Kw::VISIBLE),
        })
    }

    /// The value behind `DEFAULT`, and whether it was in parentheses.
    pub fn default_value(&mut self) -> R<(Expr, bool)> {
        if self.is(T::LParen) {
            return Ok((self.parens(Self::expr)?, true));
        }
        let start = self.tok.start;
        let sign = match self.tok.kind {
            T::Minus => Some(true),
            T::Plus => Some(false),
            _ => None,
        };
        if let Some(minus) = sign {
            self.bump();
            if !matches!(self.tok.kind, T::Int | T::Decimal | T::Float) {
                return self.fail();
            }
            let number = self.primary()?;
            return Ok(match minus {
                true => (Expr::Unary(UnaryOp::Neg, Box::new(number)), false),
                false => (number, false),
            });
        }
        let value = self.primary()?;
        let allowed = match &value {
            Expr::Null
            | Expr::Bool(_)
            | Expr::Int(_)
            | Expr::Decimal(_)
            | Expr::Float(_)
            | Expr::Str(_)
            | Expr::Introduced(_)
            | Expr::Hex(_)
            | Expr::Bit(_)
            | Expr::Temporal(..) => true,
            Expr::Call(call) => call.schema.is_none() && &*call.name == "now",
            _ => false,
        };
        if allowed {
            Ok((value, false))
        } else {
            Err(self.syntax_error(start))
        }
    }

    /// `CURRENT_TIMESTAMP[(fsp)]` or a synonym; the precision.
    fn now_precision(&mut self) -> R<u64> {
        if !self.at_any(&[
            Kw::CURRENT_TIMESTAMP,
            Kw::NOW,
            Kw::LOCALTIME,
            Kw::LOCALTIMESTAMP,
        ]) {
            return self.fail();
        }
        self.bump();
        let mut fsp = 0;
        if self.take(T::LParen) {
            if !self.is(T::RParen) {
                fsp = self.number()?;
            }
            self.need(T::RParen)?;
        }
        Ok(fsp)
    }

    fn generated(&mut self) -> R<ColumnAttr> {
        if self.eat(Kw::GENERATED) {
            self.expect(Kw::ALWAYS)?;
        }
        self.expect(Kw::AS)?;
        let expr = self.parens(Self::expr)?;
        // PERSISTENT is what MariaDB's SHOW CREATE TABLE used to write for STORED.
        let stored = self.eat(Kw::STORED) || self.eat(Kw::PERSISTENT);
        if !stored {
            self.eat(Kw::VIRTUAL);
        }
        Ok(ColumnAttr::Generated { expr, stored })
    }

    /// `CONSTRAINT [symbol]`, or nothing.
    pub fn constraint_symbol(&mut self) -> R<Option<Name>> {
        if !self.eat(Kw::CONSTRAINT) {
            return Ok(None);
        }
        self.action_if(false)?;
        if self.is_ident(self.tok) {
            // An empty symbol is none.
            return Ok(Some(self.ident()?).filter(|n| !n.is_empty()));
        }
        Ok(None)
    }

    /// `CHECK (x) [[NOT] ENFORCED]`.
    pub fn check(&mut self, name: Option<Name>) -> R<Check> {
        self.expect(Kw::CHECK)?;
        let expr = self.parens(Self::expr)?;
        let enforced = !self.eat2(Kw::NOT, Kw::ENFORCED);
        if enforced {
            self.eat(Kw::ENFORCED);
        }
        Ok(Check {
            name,
            expr,
            enforced,
            after: 0,
        })
    }

    /// `REFERENCES t (..) ..`.
    pub fn references(&mut self) -> R<References> {
        self.expect(Kw::REFERENCES)?;
        let table = self.object_name()?;
        let columns = self.opt_name_list()?;
        let match_kind = if self.eat(Kw::MATCH) {
            Some(self.word_upper()?)
        } else {
            None
        };
        let (mut on_delete, mut on_update) = (None, None);
        while self.at(Kw::ON) {
            self.bump();
            if on_delete.is_none() && self.eat(Kw::DELETE) {
                on_delete = Some(self.reference_action()?);
            } else if on_update.is_none() {
                self.expect(Kw::UPDATE)?;
                on_update = Some(self.reference_action()?);
            } else {
                return self.fail();
            }
        }
        Ok(References {
            table,
            columns,
            match_kind,
            on_delete,
            on_update,
        })
    }

    fn reference_action(&mut self) -> R<ReferenceAction> {
        let action = match self.kw() {
            Kw::RESTRICT => ReferenceAction::Restrict,
            Kw::CASCADE => ReferenceAction::Cascade,
            Kw::NO => {
                self.bump();
                self.expect(Kw::ACTION)?;
                return Ok(ReferenceAction::NoAction);
            }
            Kw::SET => {
                self.bump();
                if self.eat(Kw::NULL) {
                    return Ok(ReferenceAction::SetNull);
                }
                self.expect(Kw::DEFAULT)?;
                return Ok(ReferenceAction::SetDefault);
            }
            _ => return self.fail(),
        };
        self.bump();
        Ok(action)
    }

    /// Whether a key or constraint (rather than a column) starts here.
    pub fn at_key_def(&self) -> bool {
        self.at_any(&[
            Kw::KEY,
            Kw::INDEX,
            Kw::UNIQUE,
            Kw::PRIMARY,
            Kw::FULLTEXT,
            Kw::SPATIAL,
            Kw::CONSTRAINT,
            Kw::FOREIGN,
            Kw::CHECK,
        ])
    }

    /// A key or constraint.
    pub fn key_def(&mut self) -> R<KeyDef> {
        let constrained = self.at(Kw::CONSTRAINT);
        let constraint = self.constraint_symbol()?;
        let kind = match self.kw() {
            Kw::PRIMARY => IndexKind::Primary,
            Kw::UNIQUE => IndexKind::Unique,
            Kw::FOREIGN => return self.foreign_key(constraint),
            Kw::CHECK => return Ok(KeyDef::Check(self.check(constraint)?)),
            Kw::KEY | Kw::INDEX if !constrained => IndexKind::Plain,
            Kw::FULLTEXT if !constrained => IndexKind::Fulltext,
            Kw::SPATIAL if !constrained => IndexKind::Spatial,
            _ => return self.fail(),
        };
        self.bump();
        match kind {
            IndexKind::Primary => self.expect(Kw::KEY)?,
            IndexKind::Plain => {}
            _ => {
                let _ = self.eat(Kw::KEY) || self.eat(Kw::INDEX);
            }
        }
        self.action_if(false)?;
        let name = if self.is_ident(self.tok) {
            Some(self.ident()?)
        } else {
            None
        };
        let mut index = self.index_body(kind, name)?;
        index.constraint = constraint;
        Ok(KeyDef::Index(index))
    }

    fn foreign_key(&mut self, constraint: Option<Name>) -> R<KeyDef> {
        let start = self.tok.start;
        self.expect_all(&[Kw::FOREIGN, Kw::KEY])?;
        self.action_if(false)?;
        let name = if self.is_ident(self.tok) {
            Some(self.ident()?)
        } else {
            None
        };
        if let (None, Some(name)) = (&constraint, &name) {
            self.named_by_index(start, name);
        }
        let columns = self.parens_list(|p| Ok(p.key_part()?.0))?;
        let mut names = Vec::with_capacity(columns.len());
        for part in columns {
            match part {
                KeyPartKind::Column { name, .. } => names.push(name),
                KeyPartKind::Expr(_) => return self.fail(),
            }
        }
        let references = self.references()?;
        Ok(KeyDef::Foreign(ForeignKey {
            constraint,
            name,
            columns: names,
            references,
        }))
    }

    /// `[USING x] (parts) options` of an index.
    pub fn index_body(&mut self, kind: IndexKind, name: Option<Name>) -> R<IndexDef> {
        let mut options = IndexOptions::default();
        self.index_type(&mut options)?;
        let parts = self.parens_list(|p| {
            let (what, desc, asc) = p.key_part()?;
            Ok(KeyPart { what, desc, asc })
        })?;
        self.index_options(&mut options)?;
        Ok(IndexDef {
            kind,
            constraint: None,
            name,
            parts,
            options,
        })
    }

    fn key_part(&mut self) -> R<(KeyPartKind, bool, bool)> {
        let what = if self.is(T::LParen) {
            KeyPartKind::Expr(self.parens(Self::expr)?)
        } else {
            let name = self.ident()?;
            let length = self.opt_parens_number()?;
            KeyPartKind::Column { name, length }
        };
        let desc = self.eat(Kw::DESC);
        let asc = !desc && self.eat(Kw::ASC);
        Ok((what, desc, asc))
    }

    /// `USING x` / `TYPE x`, or nothing.
    pub fn index_type(&mut self, options: &mut IndexOptions) -> R<bool> {
        if !self.eat(Kw::USING) && !self.eat(Kw::TYPE) {
            return Ok(false);
        }
        if !self.at_any(&[Kw::BTREE, Kw::HASH, Kw::RTREE]) {
            return self.fail();
        }
        options.using = Some(self.word_upper()?);
        Ok(true)
    }

    /// The options behind an index.
    fn index_options(&mut self, options: &mut IndexOptions) -> R<()> {
        loop {
            if self.index_type(options)? {
                continue;
            }
            match self.kw() {
                Kw::KEY_BLOCK_SIZE => {
                    self.bump();
                    self.opt_eq();
                    options.key_block_size = Some(self.number()?);
                }
                Kw::COMMENT => {
                    self.bump();
                    options.comment = Some(self.text_string()?);
                }
                Kw::VISIBLE | Kw::INVISIBLE => {
                    options.invisible = self.bump().kw == Kw::INVISIBLE;
                }
                Kw::WITH => {
                    self.bump();
                    self.expect(Kw::PARSER)?;
                    options.parser = Some(self.ident()?);
                }
                Kw::ENGINE_ATTRIBUTE | Kw::SECONDARY_ENGINE_ATTRIBUTE => {
                    self.bump();
                    self.opt_eq();
                    options.engine_attribute = Some(self.string()?);
                }
                _ => return Ok(()),
            }
        }
    }
}
