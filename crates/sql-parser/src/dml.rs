//! `INSERT`, `REPLACE`, `UPDATE`, `DELETE`, `CALL`, `DO`, `HANDLER`.

use super::ast::*;
use super::keyword::Kw;
use super::lexer::T;
use super::parser::{Parser, R};

impl Parser<'_> {
    /// `INSERT ..` and `REPLACE ..`.
    pub fn insert(&mut self) -> R<Statement> {
        let replace = self.bump().kw == Kw::REPLACE;
        let hints = self.hints();
        self.gather(&hints);
        let priority = match self.kw() {
            Kw::LOW_PRIORITY => WritePriority::Low,
            Kw::DELAYED => WritePriority::Delayed,
            Kw::HIGH_PRIORITY if !replace => WritePriority::High,
            _ => WritePriority::Normal,
        };
        if priority != WritePriority::Normal {
            self.bump();
        }
        let ignore = !replace && self.eat(Kw::IGNORE);
        self.eat(Kw::INTO);
        let table = self.object_name()?;
        let partitions = self.opt_partitions()?;
        let mut insert = Insert {
            replace,
            hints,
            priority,
            ignore,
            table,
            partitions,
            columns: Vec::new(),
            may_repeat: false,
            source: InsertSource::Values(Vec::new()),
            row_alias: None,
            on_duplicate: Vec::new(),
            returning: Vec::new(),
        };
        self.insert_source(&mut insert)?;
        if !replace && matches!(insert.source, InsertSource::Values(_)) && self.eat(Kw::AS) {
            let name = self.ident()?;
            let columns = self.opt_name_list()?;
            insert.row_alias = Some(Box::new(RowAlias { name, columns }));
        }
        if !replace && self.at(Kw::ON) {
            self.bump();
            self.expect_all(&[Kw::DUPLICATE, Kw::KEY, Kw::UPDATE])?;
            insert.on_duplicate = self.list(Self::assignment)?;
        }
        insert.returning = self.returning()?;
        Ok(Statement::Insert(Box::new(insert)))
    }

    fn insert_source(&mut self, insert: &mut Insert) -> R<()> {
        if self.eat(Kw::SET) {
            self.next_block();
            let mut row = Vec::new();
            for assignment in self.list(Self::assignment)? {
                insert.columns.push(assignment.column);
                row.push(assignment.value);
            }
            insert.source = InsertSource::Values(vec![row]);
            return Ok(());
        }
        if self.is(T::LParen) && !self.at_query_in_parens() {
            self.bump();
            if !self.take(T::RParen) {
                insert.columns = self.list(Self::column_ref)?;
                self.need(T::RParen)?;
            }
        }
        let values = self.at_any(&[Kw::VALUES, Kw::VALUE]) && !self.at_query(0);
        if values {
            self.next_block();
            self.bump();
            insert.source = InsertSource::Values(self.value_rows(insert.columns.len())?);
            return Ok(());
        }
        if !self.is(T::LParen) && !self.at_query(0) {
            return self.fail();
        }
        let query = self.query_expression()?;
        // `VALUES ROW(..)` are rows as `VALUES (..)` are: DEFAULT may stand in them.
        insert.source = match query {
            Query {
                with: None,
                body: QueryBody::Values(rows),
                limit: None,
                into: None,
                order_by,
                ..
            } if order_by.is_empty() => InsertSource::Values(rows),
            query => InsertSource::Query(Box::new(query)),
        };
        Ok(())
    }

    /// `(a, b), (c, d), ..`.
    fn value_rows(&mut self, mut width: usize) -> R<Vec<Vec<Expr>>> {
        let mut rows = Vec::new();
        loop {
            let mut row = Vec::with_capacity(width);
            self.need(T::LParen)?;
            if !self.is(T::RParen) {
                row.push(self.expr_or_default()?);
                while self.take(T::Comma) {
                    row.push(self.expr_or_default()?);
                }
            }
            self.need(T::RParen)?;
            width = row.len();
            rows.push(row);
            if !self.take(T::Comma) {
                return Ok(rows);
            }
        }
    }

    /// `column = value`.
    pub fn assignment(&mut self) -> R<Assignment> {
        let column = self.column_ref()?;
        if !self.take(T::Assign) {
            self.need(T::Eq)?;
        }
        let value = self.expr_or_default()?;
        Ok(Assignment { column, value })
    }

    fn returning(&mut self) -> R<Vec<SelectItem>> {
        if self.eat(Kw::RETURNING) {
            return self.select_items();
        }
        Ok(Vec::new())
    }

    /// `UPDATE ..`, behind an optional `WITH`.
    pub fn update(&mut self, with: Option<Box<With>>) -> R<Statement> {
        self.expect(Kw::UPDATE)?;
        self.next_block();
        let hints = self.hints();
        self.gather(&hints);
        let low_priority = self.eat(Kw::LOW_PRIORITY);
        let ignore = self.eat(Kw::IGNORE);
        let tables = self.table_refs()?;
        self.expect(Kw::SET)?;
        let assignments = self.list(Self::assignment)?;
        let selection = self.opt_where()?;
        let order_by = self.order_by()?;
        let limit = self.simple_limit()?;
        Ok(Statement::Update(Box::new(Update {
            hints,
            with,
            low_priority,
            ignore,
            tables,
            assignments,
            selection,
            order_by,
            limit,
        })))
    }

    /// `LIMIT n`, or nothing.
    fn simple_limit(&mut self) -> R<Option<Expr>> {
        if self.eat(Kw::LIMIT) {
            return self.limit_value().map(Some);
        }
        Ok(None)
    }

    /// `DELETE ..`, behind an optional `WITH`.
    pub fn delete(&mut self, with: Option<Box<With>>) -> R<Statement> {
        self.expect(Kw::DELETE)?;
        self.next_block();
        let hints = self.hints();
        self.gather(&hints);
        let (mut low_priority, mut quick, mut ignore) = (false, false, false);
        loop {
            match self.kw() {
                Kw::LOW_PRIORITY => low_priority = true,
                Kw::QUICK => quick = true,
                Kw::IGNORE => ignore = true,
                _ => break,
            }
            self.bump();
        }
        let target = if self.eat(Kw::FROM) {
            self.delete_from()?
        } else {
            let tables = self.list(Self::delete_table)?;
            self.expect(Kw::FROM)?;
            let tables = tables.into_iter().map(|(name, _)| name).collect();
            DeleteTarget::Multi {
                tables,
                from: self.table_refs()?,
            }
        };
        let selection = self.opt_where()?;
        let single = matches!(target, DeleteTarget::Single(_));
        let mut order_by = Vec::new();
        let mut limit = None;
        let mut returning = Vec::new();
        if single {
            order_by = self.order_by()?;
            limit = self.simple_limit()?;
            returning = self.returning()?;
        }
        Ok(Statement::Delete(Box::new(Delete {
            hints,
            with,
            low_priority,
            quick,
            ignore,
            target,
            selection,
            order_by,
            limit,
            returning,
        })))
    }

    /// What follows `DELETE FROM`.
    fn delete_from(&mut self) -> R<DeleteTarget> {
        let (name, wild) = self.delete_table()?;
        if wild || self.is(T::Comma) || self.at(Kw::USING) {
            let mut tables = vec![name];
            while self.take(T::Comma) {
                tables.push(self.delete_table()?.0);
            }
            self.expect(Kw::USING)?;
            let from = self.table_refs()?;
            return Ok(DeleteTarget::Multi { tables, from });
        }
        let alias = self.opt_alias()?;
        let partitions = self.opt_partitions()?;
        Ok(DeleteTarget::Single(TableFactor {
            name,
            alias,
            partitions,
            hints: Vec::new(),
        }))
    }

    /// `t`, `t.*`, `s.t`, `s.t.*`; whether a star was there.
    fn delete_table(&mut self) -> R<(ObjectName, bool)> {
        if let Some(name) = self.table_wildcard()? {
            return Ok((name, true));
        }
        Ok((self.object_name()?, false))
    }

    /// `CALL routine[(args)]`.
    pub fn call_statement(&mut self) -> R<Statement> {
        self.expect(Kw::CALL)?;
        let name = self.object_name()?;
        let args = if self.is(T::LParen) {
            self.call_args()?
        } else {
            Vec::new()
        };
        Ok(Statement::Call(Box::new(CallStatement { name, args })))
    }

    /// `DO expr, ..`.
    pub fn do_statement(&mut self) -> R<Statement> {
        self.expect(Kw::DO)?;
        let mut exprs = Vec::new();
        for item in self.select_items()? {
            match item {
                SelectItem::Expr { expr, .. } => exprs.push(expr),
                SelectItem::Wildcard(_) => return self.fail(),
            }
        }
        Ok(Statement::Do(exprs))
    }

    /// `HANDLER t ..`.
    pub fn handler(&mut self) -> R<Statement> {
        self.expect(Kw::HANDLER)?;
        // What READ and CLOSE name is no table, but what OPEN called it.
        let table = self.object_name()?;
        let qualified = table.schema.is_some();
        let handler = if self.eat(Kw::OPEN) {
            Handler::Open {
                table,
                alias: self.opt_alias()?,
            }
        } else if qualified {
            return self.fail();
        } else if self.eat(Kw::CLOSE) {
            Handler::Close(table.name)
        } else {
            self.expect(Kw::READ)?;
            self.without_queries = true;
            Handler::Read(Box::new(self.handler_read(table.name)?))
        };
        Ok(Statement::Handler(Box::new(handler)))
    }

    fn handler_read(&mut self, handler: Name) -> R<HandlerRead> {
        let scan = self.at_any(&[Kw::FIRST, Kw::NEXT]);
        let index = if scan { None } else { Some(self.ident()?) };
        let rows = if self.eat(Kw::FIRST) {
            HandlerRows::First
        } else if self.eat(Kw::NEXT) {
            HandlerRows::Next
        } else if self.eat(Kw::PREV) {
            HandlerRows::Prev
        } else if self.eat(Kw::LAST) {
            HandlerRows::Last
        } else {
            let search = match self.tok.kind {
                T::Eq => HandlerSearch::Equal,
                T::Lt => HandlerSearch::Below,
                T::Le => HandlerSearch::AtMost,
                T::Gt => HandlerSearch::Above,
                T::Ge => HandlerSearch::AtLeast,
                _ => return self.fail(),
            };
            self.bump();
            self.need(T::LParen)?;
            let key = self.list(Self::expr_or_default)?;
            self.need(T::RParen)?;
            HandlerRows::Key(search, key)
        };
        Ok(HandlerRead {
            handler,
            index,
            rows,
            selection: self.opt_where()?,
            limit: self.limit()?,
        })
    }
}
