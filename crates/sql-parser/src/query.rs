//! Query expressions: `SELECT`, `VALUES`, `TABLE`, set operations, `WITH`, and what follows them.

use super::ast::*;
use super::keyword::Kw;
use super::lexer::T;
use super::parser::{Parser, R};

/// A subquery takes this many levels of nesting: its rules need more stack than an operand's.
const QUERY_COST: u32 = 4;

/// Most items of a select list: the answer to PREPARE has two bytes for their number. A table, also one made of a query, has fewer.
const MAX_ITEMS: usize = 65_535;

impl Parser<'_> {
    /// Whether a query (not in parentheses) starts at the token `n` ahead.
    pub fn at_query(&mut self, n: usize) -> bool {
        match self.ahead(n).kw {
            Kw::SELECT | Kw::WITH | Kw::TABLE => true,
            Kw::VALUES => self.at_ahead(n + 1, Kw::ROW),
            _ => false,
        }
    }

    /// Whether a query starts at the current token, behind any number of parentheses.
    pub fn at_query_in_parens(&mut self) -> bool {
        self.ahead_query_in_parens(0)
    }

    /// Whether a query starts `n` tokens on, behind any number of parentheses.
    pub fn ahead_query_in_parens(&mut self, mut n: usize) -> bool {
        // More parentheses than that are refused by whoever enters them.
        let last = n + self.limits.rules as usize;
        while n < last && self.ahead(n).kind == T::LParen {
            n += 1;
        }
        self.at_query(n)
    }

    /// Whether something follows that continues a query in parentheses.
    pub fn at_query_tail(&self) -> bool {
        self.at_any(&[Kw::UNION, Kw::EXCEPT, Kw::INTERSECT, Kw::ORDER, Kw::LIMIT])
    }

    /// A query with `WITH`, `ORDER BY`, `LIMIT`, locking and `INTO`.
    pub fn query_expression(&mut self) -> R<Query> {
        self.deeper(QUERY_COST, |p| {
            let with = p.with_clause()?;
            p.query_behind_with(with)
        })
    }

    /// The query behind an optional `WITH` that was read before.
    pub fn query_behind_with(&mut self, with: Option<Box<With>>) -> R<Query> {
        let outer = self.into.take();
        let first = self.query_primary()?;
        let body = self.set_chain(first)?;
        let query = self.query_tail(with, body)?;
        self.into = outer;
        Ok(query)
    }

    /// What may follow a first operand that was read before.
    pub fn query_after(&mut self, first: QueryBody) -> R<Query> {
        let outer = self.into.take();
        let body = self.set_chain(first)?;
        let query = self.query_tail(None, body)?;
        self.into = outer;
        Ok(query)
    }

    /// `( query )`, possibly in more parentheses.
    pub fn subquery(&mut self) -> R<Query> {
        self.need(T::LParen)?;
        let query = self.query_expression()?;
        self.need(T::RParen)?;
        Ok(query)
    }

    /// `WITH [RECURSIVE] ..`.
    pub fn with_clause(&mut self) -> R<Option<Box<With>>> {
        if !self.eat(Kw::WITH) {
            return Ok(None);
        }
        // The block that follows has the first number.
        let number = self.next_block();
        let recursive = self.eat(Kw::RECURSIVE);
        let ctes = self.list(|p| {
            let name = p.ident()?;
            let columns = p.opt_name_list()?;
            p.expect(Kw::AS)?;
            let query = p.subquery()?;
            Ok(std::sync::Arc::new(Cte {
                name,
                columns,
                query,
            }))
        })?;
        self.reserved = Some(number);
        Ok(Some(Box::new(With { recursive, ctes })))
    }

    /// The number of the query block that begins.
    pub fn next_block(&mut self) -> u32 {
        if let Some(n) = self.reserved.take() {
            return n;
        }
        self.blocks += 1;
        self.blocks
    }

    /// `(a, b)`, or nothing.
    pub fn opt_name_list(&mut self) -> R<Vec<Name>> {
        if self.is(T::LParen) {
            return self.parens_list(Self::ident);
        }
        Ok(Vec::new())
    }

    fn query_primary(&mut self) -> R<QueryBody> {
        if self.without_queries {
            return self.fail();
        }
        match self.kw() {
            Kw::SELECT => Ok(QueryBody::Select(Box::new(self.select()?))),
            Kw::VALUES => {
                self.next_block();
                self.values_rows()
            }
            Kw::TABLE => {
                self.next_block();
                self.bump();
                Ok(QueryBody::Table(self.object_name()?))
            }
            _ if self.is(T::LParen) => Ok(QueryBody::Nested(Box::new(self.subquery()?))),
            _ => self.fail(),
        }
    }

    /// `VALUES ROW(..), ROW(..)`.
    fn values_rows(&mut self) -> R<QueryBody> {
        self.expect(Kw::VALUES)?;
        let rows = self.list(|p| {
            p.expect(Kw::ROW)?;
            p.need(T::LParen)?;
            if p.take(T::RParen) {
                return Ok(Vec::new());
            }
            let row = p.list(Self::expr_or_default)?;
            p.need(T::RParen)?;
            Ok(row)
        })?;
        Ok(QueryBody::Values(rows))
    }

    fn set_chain(&mut self, first: QueryBody) -> R<QueryBody> {
        let first = self.intersect_chain(first)?;
        let mut rest = Vec::new();
        loop {
            let op = match self.kw() {
                Kw::UNION => SetOp::Union,
                Kw::EXCEPT => SetOp::Except,
                _ => break,
            };
            self.bump();
            self.check_into_is_last()?;
            let all = self.set_quantifier();
            let body = self.query_primary()?;
            let body = self.intersect_chain(body)?;
            rest.push(SetTerm { op, all, body });
        }
        Ok(chain(first, rest))
    }

    fn intersect_chain(&mut self, first: QueryBody) -> R<QueryBody> {
        let mut rest = Vec::new();
        while self.eat(Kw::INTERSECT) {
            self.check_into_is_last()?;
            let all = self.set_quantifier();
            let body = self.query_primary()?;
            rest.push(SetTerm {
                op: SetOp::Intersect,
                all,
                body,
            });
        }
        Ok(chain(first, rest))
    }

    /// INTO of a query that is followed by another one is misplaced.
    fn check_into_is_last(&mut self) -> R<()> {
        if self.into.is_none() {
            return Ok(());
        }
        let text = "Misplaced INTO clause, INTO is not allowed inside subqueries, and must be placed at end of UNION clauses.";
        self.other(3954, "HY000", text.to_owned())
    }

    fn set_quantifier(&mut self) -> bool {
        if self.eat(Kw::ALL) {
            return true;
        }
        self.eat(Kw::DISTINCT);
        false
    }

    fn query_tail(&mut self, with: Option<Box<With>>, body: QueryBody) -> R<Query> {
        let order_by = self.order_by()?;
        let limit = self.limit()?;
        self.select_into()?;
        let locking = self.locking()?;
        self.select_into()?;
        let into = self.into.take();
        let bare = with.is_none() && order_by.is_empty() && limit.is_none();
        if bare && locking.is_empty() && into.is_none() {
            match body {
                // Parentheses around a whole query say nothing.
                QueryBody::Nested(query) => return Ok(*query),
                body => return Ok(plain_query(body)),
            }
        }
        let mut query = Query {
            with,
            body,
            order_by,
            limit,
            locking,
            into,
        };
        // What follows a query in parentheses belongs to it, unless that has its own: `(SELECT a FROM t) ORDER BY b` sees the table.
        if let QueryBody::Nested(inner) = &mut query.body
            && inner.order_by.is_empty()
            && inner.limit.is_none()
            && inner.into.is_none()
            && (inner.with.is_none() || query.with.is_none())
        {
            let inner = std::mem::replace(&mut **inner, plain_query(QueryBody::Values(Vec::new())));
            query.with = query.with.or(inner.with);
            query.locking.splice(..0, inner.locking);
            query.body = inner.body;
        }
        Ok(query)
    }

    /// `ORDER BY ..`, or nothing.
    pub fn order_by(&mut self) -> R<Vec<OrderItem>> {
        if !self.eat(Kw::ORDER) {
            return Ok(Vec::new());
        }
        self.expect(Kw::BY)?;
        self.list(|p| {
            let expr = p.expr()?;
            let desc = p.eat(Kw::DESC);
            if !desc {
                p.eat(Kw::ASC);
            }
            Ok(OrderItem { expr, desc })
        })
    }

    /// `LIMIT ..`, or nothing.
    pub fn limit(&mut self) -> R<Option<Box<Limit>>> {
        if !self.eat(Kw::LIMIT) {
            return Ok(None);
        }
        let first = self.limit_value()?;
        if self.take(T::Comma) {
            let count = self.limit_value()?;
            return Ok(Some(Box::new(Limit {
                count,
                offset: Some(first),
            })));
        }
        let offset = if self.eat(Kw::OFFSET) {
            Some(self.limit_value()?)
        } else {
            None
        };
        Ok(Some(Box::new(Limit {
            count: first,
            offset,
        })))
    }

    /// A value of `LIMIT`: a number, `?` or a local variable.
    pub fn limit_value(&mut self) -> R<Expr> {
        match self.tok.kind {
            T::Int => Ok(Expr::Int(self.number()?)),
            T::Param => self.primary(),
            _ => {
                let name = self.ident()?;
                Ok(Expr::Column(ColumnRef {
                    name,
                    qualifier: None,
                }))
            }
        }
    }

    fn locking(&mut self) -> R<Vec<Locking>> {
        let mut all = Vec::new();
        loop {
            if self.at(Kw::LOCK) && self.at_ahead(1, Kw::IN) {
                self.bump();
                self.expect_all(&[Kw::IN, Kw::SHARE, Kw::MODE])?;
                all.push(Locking {
                    exclusive: false,
                    of: Vec::new(),
                    wait: LockWait::Wait,
                });
                continue;
            }
            if !self.at(Kw::FOR) {
                return Ok(all);
            }
            let exclusive = match self.ahead(1).kw {
                Kw::UPDATE => true,
                Kw::SHARE => false,
                _ => return Ok(all),
            };
            self.bump();
            self.bump();
            let of = if self.eat(Kw::OF) {
                self.list(Self::object_name)?
            } else {
                Vec::new()
            };
            let wait = if self.eat(Kw::NOWAIT) {
                LockWait::NoWait
            } else if self.eat2(Kw::SKIP, Kw::LOCKED) {
                LockWait::SkipLocked
            } else {
                LockWait::Wait
            };
            all.push(Locking {
                exclusive,
                of,
                wait,
            });
        }
    }

    /// `INTO ..`, or nothing; kept in `self.into` until the query ends.
    fn select_into(&mut self) -> R<()> {
        if self.into.is_some() || !self.eat(Kw::INTO) {
            return Ok(());
        }
        let into = if self.eat(Kw::OUTFILE) {
            let path = self.string()?;
            let charset = if self.eat_charset() {
                Some(self.charset_name()?)
            } else {
                None
            };
            let format = self.text_format()?;
            SelectInto::Outfile {
                path,
                charset,
                format,
            }
        } else if self.eat(Kw::DUMPFILE) {
            SelectInto::Dumpfile(self.string()?)
        } else {
            SelectInto::Variables(self.list(Self::target_variable)?)
        };
        self.into = Some(Box::new(into));
        Ok(())
    }

    /// `@name`, or a name.
    pub fn target_variable(&mut self) -> R<IntoVariable> {
        if self.is(T::At) {
            return Ok(IntoVariable::User(self.user_variable_name()?));
        }
        Ok(IntoVariable::Local(self.column_ref()?))
    }

    fn select(&mut self) -> R<Select> {
        self.expect(Kw::SELECT)?;
        let number = self.next_block();
        let hints = self.hints();
        let mut options = self.select_options()?;
        options.max_execution_time = hints.list.iter().find_map(|h| match h {
            Hint::MaxExecutionTime(ms) => Some(*ms),
            _ => None,
        });
        let items = self.select_items()?;
        self.select_into()?;
        let from = if self.eat(Kw::FROM) {
            self.tables_after_from()?
        } else {
            Vec::new()
        };
        let selection = self.opt_where()?;
        let mut group_by = Vec::new();
        let mut rollup = false;
        if self.eat(Kw::GROUP) {
            self.expect(Kw::BY)?;
            group_by = self.expr_list()?;
            rollup = self.eat2(Kw::WITH, Kw::ROLLUP);
        }
        let having = if self.eat(Kw::HAVING) {
            Some(self.expr()?)
        } else {
            None
        };
        let windows = if self.eat(Kw::WINDOW) {
            self.list(|p| {
                let name = p.ident()?;
                p.expect(Kw::AS)?;
                Ok((name, p.window_spec()?))
            })?
        } else {
            Vec::new()
        };
        self.gather(&hints);
        Ok(Select {
            number,
            hints,
            options,
            items,
            from,
            selection,
            group_by,
            rollup,
            having,
            windows,
        })
    }

    /// `WHERE x`, or nothing.
    pub fn opt_where(&mut self) -> R<Option<Expr>> {
        if self.eat(Kw::WHERE) {
            return self.expr().map(Some);
        }
        Ok(None)
    }

    fn select_options(&mut self) -> R<SelectOptions> {
        let mut options = SelectOptions::default();
        let mut all = false;
        loop {
            match self.kw() {
                Kw::ALL => all = true,
                Kw::DISTINCT | Kw::DISTINCTROW => options.distinct = true,
                Kw::STRAIGHT_JOIN => options.straight_join = true,
                Kw::HIGH_PRIORITY => options.high_priority = true,
                Kw::SQL_CALC_FOUND_ROWS => options.calc_found_rows = true,
                Kw::SQL_NO_CACHE => options.no_cache = true,
                Kw::SQL_SMALL_RESULT => options.small_result = true,
                Kw::SQL_BIG_RESULT => options.big_result = true,
                Kw::SQL_BUFFER_RESULT => options.buffer_result = true,
                _ => break,
            }
            self.bump();
        }
        if all && options.distinct {
            return self.other(
                1221,
                "HY000",
                "Incorrect usage of ALL and DISTINCT".to_owned(),
            );
        }
        Ok(options)
    }

    /// The select list; `*` alone may only come first.
    pub fn select_items(&mut self) -> R<Vec<SelectItem>> {
        let mut items = Vec::with_capacity(4);
        if self.take(T::Star) {
            items.push(SelectItem::Wildcard(None));
            if !self.take(T::Comma) {
                return Ok(items);
            }
        }
        loop {
            items.push(self.select_item()?);
            if !self.take(T::Comma) {
                return Ok(items);
            }
            if items.len() == MAX_ITEMS {
                return self.other(1117, "HY000", "Too many columns".to_owned());
            }
        }
    }

    fn select_item(&mut self) -> R<SelectItem> {
        if let Some(table) = self.table_wildcard()? {
            return Ok(SelectItem::Wildcard(Some(table)));
        }
        let start = self.tok.start;
        let expr = self.expr()?;
        let explicit = self.eat(Kw::AS);
        if self.is(T::Str) {
            let name = self.text_name()?;
            return Ok(SelectItem::Expr {
                expr,
                name,
                aliased: true,
            });
        }
        if explicit || self.is_ident(self.tok) {
            let name = self.ident()?;
            return Ok(SelectItem::Expr {
                expr,
                name,
                aliased: true,
            });
        }
        let name = match &expr {
            Expr::Column(column) => column.name.clone(),
            Expr::Str(bytes) => String::from_utf8_lossy(bytes).trim_start().into(),
            Expr::Null => "NULL".into(),
            _ => self.written(start),
        };
        Ok(SelectItem::Expr {
            expr,
            name,
            aliased: false,
        })
    }

    /// `t.*` or `s.t.*`, if that is what follows.
    pub fn table_wildcard(&mut self) -> R<Option<ObjectName>> {
        if !self.is_ident(self.tok) || self.ahead(1).kind != T::Dot {
            return Ok(None);
        }
        if self.ahead(2).kind == T::Star {
            let name = self.ident()?;
            self.bump();
            self.bump();
            return Ok(Some(ObjectName { schema: None, name }));
        }
        if self.ahead(3).kind == T::Dot && self.ahead(4).kind == T::Star {
            let name = self.object_name()?;
            self.bump();
            self.bump();
            return Ok(Some(name));
        }
        Ok(None)
    }
}

fn chain(first: QueryBody, rest: Vec<SetTerm>) -> QueryBody {
    if rest.is_empty() {
        return first;
    }
    QueryBody::Set(Box::new(SetOperation { first, rest }))
}

/// A query that is nothing but its body.
pub(crate) fn plain_query(body: QueryBody) -> Query {
    Query {
        with: None,
        body,
        order_by: Vec::new(),
        limit: None,
        locking: Vec::new(),
        into: None,
    }
}
