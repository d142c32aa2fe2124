//! Table references: names, joins, derived tables, `JSON_TABLE`, index hints.

use super::ast::*;
use super::keyword::Kw;
use super::lexer::T;
use super::parser::{Parser, R};

/// What stood between a pair of parentheses in `FROM`.
enum Parenthesised {
    Query(Query),
    Table(TableRef),
}

impl Parser<'_> {
    /// What follows `FROM`.
    pub fn tables_after_from(&mut self) -> R<Vec<TableRef>> {
        if self.eat(Kw::DUAL) {
            return Ok(Vec::new());
        }
        self.table_refs()
    }

    /// Table references separated by commas.
    pub fn table_refs(&mut self) -> R<Vec<TableRef>> {
        self.list(Self::table_ref)
    }

    fn table_ref(&mut self) -> R<TableRef> {
        Ok(self.joined()?.0)
    }

    /// A table with the joins behind it; also how many these are.
    fn joined(&mut self) -> R<(TableRef, usize)> {
        self.deeper(1, |p| {
            let left = p.table_factor()?;
            p.joins(left)
        })
    }

    /// The joins behind `left`; also how many of the result's outermost, on the left, these are. What `left` itself has stood in parentheses.
    ///
    /// The right side of a join takes all the joins it can, so that `a JOIN b JOIN c ON x ON y` nests to
    /// the right; where it turns out that the outer join has no condition, the left side is grafted onto the
    /// leftmost leaf of the right one: `a JOIN b JOIN c ON x` is `(a JOIN b) JOIN c ON x`.
    fn joins(&mut self, mut left: TableRef) -> R<(TableRef, usize)> {
        let mut open = 0;
        loop {
            if self.at(Kw::NATURAL) {
                self.bump();
                let kind = self.natural_kind()?;
                let right = self.table_factor()?;
                left = self.join(left, right, kind, JoinCondition::Natural)?;
                open += 1;
                continue;
            }
            let Some(kind) = self.join_kind()? else {
                return Ok((left, open));
            };
            let (right, right_open) = self.joined()?;
            // `.. JOIN b ON DUPLICATE KEY UPDATE` belongs to the insert around the query.
            let duplicate = self.at_ahead(1, Kw::DUPLICATE) && self.at_ahead(2, Kw::KEY);
            if !duplicate && self.eat(Kw::ON) {
                let on = self.expr()?;
                left = self.join(left, right, kind, JoinCondition::On(on))?;
            } else if kind != JoinKind::Straight && self.eat(Kw::USING) {
                let columns = self.parens_list(Self::ident)?;
                left = self.join(left, right, kind, JoinCondition::Using(columns))?;
            } else if matches!(kind, JoinKind::Left | JoinKind::Right) {
                return self.fail();
            } else {
                self.height += 1;
                left = graft(left, right, kind, right_open);
                open += right_open;
            }
            open += 1;
        }
    }

    fn join(
        &mut self,
        left: TableRef,
        right: TableRef,
        kind: JoinKind,
        condition: JoinCondition,
    ) -> R<TableRef> {
        self.height += 1;
        if self.height > self.limits.height {
            return self.too_deep();
        }
        Ok(TableRef::Join(Box::new(Join {
            left,
            right,
            kind,
            condition,
        })))
    }

    fn natural_kind(&mut self) -> R<JoinKind> {
        let kind = match self.kw() {
            Kw::LEFT => JoinKind::Left,
            Kw::RIGHT => JoinKind::Right,
            _ => {
                self.eat(Kw::INNER);
                self.expect(Kw::JOIN)?;
                return Ok(JoinKind::Inner);
            }
        };
        self.bump();
        self.eat(Kw::OUTER);
        self.expect(Kw::JOIN)?;
        Ok(kind)
    }

    fn join_kind(&mut self) -> R<Option<JoinKind>> {
        let kind = match self.kw() {
            Kw::JOIN => JoinKind::Inner,
            Kw::STRAIGHT_JOIN => JoinKind::Straight,
            Kw::INNER | Kw::CROSS => {
                self.bump();
                self.expect(Kw::JOIN)?;
                return Ok(Some(JoinKind::Inner));
            }
            Kw::LEFT | Kw::RIGHT => {
                let left = self.bump().kw == Kw::LEFT;
                self.eat(Kw::OUTER);
                self.expect(Kw::JOIN)?;
                return Ok(Some(if left {
                    JoinKind::Left
                } else {
                    JoinKind::Right
                }));
            }
            _ => return Ok(None),
        };
        self.bump();
        Ok(Some(kind))
    }

    fn table_factor(&mut self) -> R<TableRef> {
        match self.tok.kind {
            T::LParen => match self.deeper(2, Self::table_parens)? {
                Parenthesised::Table(table) => Ok(table),
                Parenthesised::Query(query) => self.derived(query, false),
            },
            T::LBrace => {
                self.bump();
                self.ident()?;
                let table = self.table_ref()?;
                self.need(T::RBrace)?;
                Ok(table)
            }
            _ if self.at(Kw::LATERAL) => {
                self.bump();
                let query = self.subquery()?;
                self.derived(query, true)
            }
            _ if self.at(Kw::JSON_TABLE) => self.json_table(),
            _ => Ok(TableRef::Table(Box::new(self.named_table()?))),
        }
    }

    /// A table with alias, partitions and index hints.
    pub fn named_table(&mut self) -> R<TableFactor> {
        let name = self.object_name()?;
        let partitions = self.opt_partitions()?;
        let alias = self.opt_alias()?;
        let hints = self.index_hints()?;
        Ok(TableFactor {
            name,
            alias,
            partitions,
            hints,
        })
    }

    /// `PARTITION (p, ..)`, or nothing.
    pub fn opt_partitions(&mut self) -> R<Vec<Name>> {
        if self.at(Kw::PARTITION) && self.ahead(1).kind == T::LParen {
            self.bump();
            return self.parens_list(Self::ident);
        }
        Ok(Vec::new())
    }

    /// `[AS] alias`, or nothing.
    pub fn opt_alias(&mut self) -> R<Option<Name>> {
        if self.eat(Kw::AS) || self.is_ident(self.tok) {
            return self.ident().map(Some);
        }
        Ok(None)
    }

    fn index_hints(&mut self) -> R<Vec<IndexHint>> {
        let mut hints = Vec::new();
        loop {
            let kind = match self.kw() {
                Kw::USE => IndexHintKind::Use,
                Kw::FORCE => IndexHintKind::Force,
                Kw::IGNORE => IndexHintKind::Ignore,
                _ => return Ok(hints),
            };
            if !matches!(self.ahead(1).kw, Kw::INDEX | Kw::KEY) {
                return Ok(hints);
            }
            self.bump();
            self.bump();
            let mut scope = IndexHintScope::All;
            if self.eat(Kw::FOR) {
                scope = if self.eat(Kw::JOIN) {
                    IndexHintScope::Join
                } else if self.eat2(Kw::ORDER, Kw::BY) {
                    IndexHintScope::OrderBy
                } else {
                    self.expect_all(&[Kw::GROUP, Kw::BY])?;
                    IndexHintScope::GroupBy
                };
            }
            self.need(T::LParen)?;
            let indexes = if kind == IndexHintKind::Use && self.is(T::RParen) {
                Vec::new()
            } else {
                self.list(|p| {
                    if p.eat(Kw::PRIMARY) {
                        return Ok("PRIMARY".into());
                    }
                    p.ident()
                })?
            };
            self.need(T::RParen)?;
            hints.push(IndexHint {
                kind,
                scope,
                indexes,
            });
        }
    }

    /// `( .. )` in `FROM`: a query, or table references.
    fn table_parens(&mut self) -> R<Parenthesised> {
        self.need(T::LParen)?;
        if self.at_query(0) {
            let query = self.query_expression()?;
            self.need(T::RParen)?;
            return Ok(Parenthesised::Query(query));
        }
        let first = if self.is(T::LParen) {
            match self.deeper(2, Self::table_parens)? {
                Parenthesised::Query(query) if self.at_query_tail() => {
                    let query = self.query_after(QueryBody::Nested(Box::new(query)))?;
                    self.need(T::RParen)?;
                    return Ok(Parenthesised::Query(query));
                }
                Parenthesised::Query(query) if self.take(T::RParen) => {
                    return Ok(Parenthesised::Query(query));
                }
                Parenthesised::Query(query) => self.derived(query, false)?,
                Parenthesised::Table(table) => table,
            }
        } else {
            self.table_factor()?
        };
        let (first, _) = self.joins(first)?;
        let mut all = vec![first];
        while self.take(T::Comma) {
            all.push(self.table_ref()?);
        }
        self.need(T::RParen)?;
        let table = match all.len() {
            1 => all.swap_remove(0),
            _ => TableRef::List(all),
        };
        Ok(Parenthesised::Table(table))
    }

    /// The alias and columns of a derived table.
    fn derived(&mut self, query: Query, lateral: bool) -> R<TableRef> {
        let Some(alias) = self.opt_alias()? else {
            return self.other(
                1248,
                "42000",
                "Every derived table must have its own alias".to_owned(),
            );
        };
        let columns = self.opt_name_list()?;
        Ok(TableRef::Derived(Box::new(Derived {
            lateral,
            query,
            alias,
            columns,
        })))
    }

    fn json_table(&mut self) -> R<TableRef> {
        self.expect(Kw::JSON_TABLE)?;
        self.need(T::LParen)?;
        let doc = self.expr()?;
        self.need(T::Comma)?;
        let path = self.string()?;
        let columns = self.json_columns()?;
        self.need(T::RParen)?;
        let Some(alias) = self.opt_alias()? else {
            return self.other(
                3667,
                "42000",
                "Every table function must have an alias".to_owned(),
            );
        };
        Ok(TableRef::JsonTable(Box::new(JsonTable {
            doc,
            path,
            columns,
            alias,
        })))
    }

    fn json_columns(&mut self) -> R<Vec<JsonTableColumn>> {
        self.expect(Kw::COLUMNS)?;
        self.deeper(2, |p| p.parens_list(Self::json_column))
    }

    fn json_column(&mut self) -> R<JsonTableColumn> {
        if self.at(Kw::NESTED) && matches!(self.ahead(1).kind, T::Str | T::Word) {
            let path_follows = self.ahead(1).kind == T::Str || self.at_ahead(1, Kw::PATH);
            if path_follows {
                self.bump();
                self.eat(Kw::PATH);
                let path = self.string()?;
                let columns = self.json_columns()?;
                return Ok(JsonTableColumn::Nested { path, columns });
            }
        }
        let name = self.ident()?;
        if self.eat(Kw::FOR) {
            self.expect(Kw::ORDINALITY)?;
            return Ok(JsonTableColumn::Ordinality(name));
        }
        let data_type = self.data_type()?;
        let collation = if self.eat(Kw::COLLATE) {
            Some(self.charset_name()?)
        } else {
            None
        };
        let exists = self.eat(Kw::EXISTS);
        self.expect(Kw::PATH)?;
        let path = self.string()?;
        let (on_empty, on_error, reversed) = match exists {
            true => (None, None, false),
            false => self.on_empty_on_error(true)?,
        };
        Ok(JsonTableColumn::Path(Box::new(JsonTablePath {
            name,
            data_type,
            collation,
            exists,
            path,
            on_empty,
            on_error,
            reversed,
            shown: None,
        })))
    }
}

/// Joins `left` without a condition to the leftmost leaf of `right`.
fn graft(left: TableRef, right: TableRef, kind: JoinKind, mut open: usize) -> TableRef {
    let mut spine = Vec::new();
    let mut leaf = right;
    while open > 0
        && let TableRef::Join(join) = leaf
    {
        open -= 1;
        let Join {
            left,
            right,
            kind,
            condition,
        } = *join;
        spine.push((right, kind, condition));
        leaf = left;
    }
    let mut tree = TableRef::Join(Box::new(Join {
        left,
        right: leaf,
        kind,
        condition: JoinCondition::None,
    }));
    while let Some((right, kind, condition)) = spine.pop() {
        tree = TableRef::Join(Box::new(Join {
            left: tree,
            right,
            kind,
            condition,
        }));
    }
    tree
}
