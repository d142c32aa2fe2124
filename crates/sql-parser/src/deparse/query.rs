//! Queries as text.

use std::fmt;

use super::Printer;
use crate::ast::*;

impl Printer<'_, '_, '_> {
    pub(super) fn query(&mut self, query: &Query) -> fmt::Result {
        if let Some(with) = &query.with {
            self.text(if with.recursive {
                "with recursive "
            } else {
                "with "
            })?;
            self.list(&with.ctes, ",", |p, cte| {
                p.name(&cte.name)?;
                p.text(" ")?;
                p.names(&cte.columns)?;
                p.text("as (")?;
                p.query(&cte.query)?;
                p.text(")")
            })?;
            self.text(" ")?;
        }
        self.body(&query.body)?;
        self.order_by(&query.order_by)?;
        if let Some(limit) = &query.limit {
            self.text(" limit ")?;
            if let Some(offset) = &limit.offset {
                self.expr(offset)?;
                self.text(",")?;
            }
            self.expr(&limit.count)?;
        }
        query.locking.iter().try_for_each(|l| self.locking(l))
    }

    /// `(a,b) ` or nothing.
    fn names(&mut self, names: &[Name]) -> fmt::Result {
        if names.is_empty() {
            return Ok(());
        }
        self.text("(")?;
        self.list(names, ",", |p, name| p.name(name))?;
        self.text(") ")
    }

    fn locking(&mut self, locking: &Locking) -> fmt::Result {
        self.text(if locking.exclusive {
            " for update"
        } else {
            " for share"
        })?;
        if !locking.of.is_empty() {
            self.text(" of ")?;
            self.list(&locking.of, ",", Self::object)?;
        }
        self.text(match locking.wait {
            LockWait::Wait => "",
            LockWait::NoWait => " nowait",
            LockWait::SkipLocked => " skip locked",
        })
    }

    fn body(&mut self, body: &QueryBody) -> fmt::Result {
        match body {
            QueryBody::Select(select) => self.select(select),
            QueryBody::Values(rows) => {
                self.text("values ")?;
                self.list(rows, ",", |p, row| {
                    p.text("row(")?;
                    p.exprs(row)?;
                    p.text(")")
                })
            }
            QueryBody::Table(name) => {
                self.text("table ")?;
                self.object(name)
            }
            QueryBody::Nested(query) => {
                self.text("(")?;
                self.query(query)?;
                self.text(")")
            }
            QueryBody::Set(set) => {
                self.operand(&set.first)?;
                for term in &set.rest {
                    self.text(match term.op {
                        SetOp::Union => " union ",
                        SetOp::Except => " except ",
                        SetOp::Intersect => " intersect ",
                    })?;
                    if term.all {
                        self.text("all ")?;
                    }
                    self.operand(&term.body)?;
                }
                Ok(())
            }
        }
    }

    fn operand(&mut self, body: &QueryBody) -> fmt::Result {
        if let QueryBody::Set(_) = body {
            self.text("(")?;
            self.body(body)?;
            return self.text(")");
        }
        self.body(body)
    }

    fn hints(&mut self, hints: &Hints) -> fmt::Result {
        if hints.list.is_empty() {
            return Ok(());
        }
        self.text("/*+ ")?;
        for h in &hints.list {
            self.text(&format!("{h} "))?;
        }
        self.text("*/ ")
    }

    fn select(&mut self, select: &Select) -> fmt::Result {
        self.text("select ")?;
        let options = &select.options;
        self.hints(&select.hints)?;
        for (on, word) in [
            (options.distinct, "distinct "),
            (options.straight_join, "straight_join "),
            (options.high_priority, "high_priority "),
            (options.small_result, "sql_small_result "),
            (options.big_result, "sql_big_result "),
            (options.buffer_result, "sql_buffer_result "),
            (options.no_cache, "sql_no_cache "),
            (options.calc_found_rows, "sql_calc_found_rows "),
        ] {
            if on {
                self.text(word)?;
            }
        }
        self.list(&select.items, ",", |p, item| match item {
            SelectItem::Wildcard(None) => p.text("*"),
            SelectItem::Wildcard(Some(table)) => {
                p.object(table)?;
                p.text(".*")
            }
            SelectItem::Expr { expr, name, .. } => {
                p.expr(expr)?;
                // The name of a text of blanks is empty, and there are no empty backticks.
                p.text(if name.is_empty() { " AS ''" } else { " AS " })?;
                if name.is_empty() {
                    Ok(())
                } else {
                    p.name(name)
                }
            }
        })?;
        if !select.from.is_empty() {
            self.text(" from ")?;
            self.list(&select.from, ",", Self::table_ref)?;
        }
        if let Some(selection) = &select.selection {
            self.text(" where ")?;
            self.expr(selection)?;
        }
        if !select.group_by.is_empty() {
            self.text(" group by ")?;
            self.exprs(&select.group_by)?;
            if select.rollup {
                self.text(" with rollup")?;
            }
        }
        if let Some(having) = &select.having {
            self.text(" having ")?;
            self.expr(having)?;
        }
        if !select.windows.is_empty() {
            self.text(" window ")?;
            self.list(&select.windows, ", ", |p, (name, spec)| {
                p.name(name)?;
                p.text(" AS ")?;
                p.window_spec(spec)
            })?;
        }
        Ok(())
    }

    pub(super) fn order_by(&mut self, items: &[OrderItem]) -> fmt::Result {
        if items.is_empty() {
            return Ok(());
        }
        self.text(" order by ")?;
        self.order_items(items)
    }

    /// The members of ORDER BY.
    pub(super) fn order_items(&mut self, items: &[OrderItem]) -> fmt::Result {
        self.list(items, ",", |p, item| {
            p.expr(&item.expr)?;
            p.text(if item.desc { " desc" } else { "" })
        })
    }

    fn table_ref(&mut self, table: &TableRef) -> fmt::Result {
        match table {
            TableRef::Table(factor) => self.factor(factor),
            TableRef::Derived(derived) => {
                self.text(if derived.lateral { "lateral (" } else { "(" })?;
                self.query(&derived.query)?;
                self.text(") ")?;
                self.name(&derived.alias)?;
                if !derived.columns.is_empty() {
                    self.text(" ")?;
                    self.names(&derived.columns)?;
                }
                Ok(())
            }
            TableRef::JsonTable(table) => {
                self.text("json_table(")?;
                self.expr(&table.doc)?;
                self.text(", ")?;
                self.json_rows(table)?;
                self.text(") ")?;
                self.name(&table.alias)
            }
            TableRef::Join(join) => self.join(join),
            TableRef::List(tables) => {
                self.text("(")?;
                self.list(tables, ",", Self::table_ref)?;
                self.text(")")
            }
        }
    }

    fn factor(&mut self, factor: &TableFactor) -> fmt::Result {
        self.object(&factor.name)?;
        if !factor.partitions.is_empty() {
            self.text(" PARTITION (")?;
            self.list(&factor.partitions, ",", |p, name| p.name(name))?;
            self.text(")")?;
        }
        if let Some(alias) = &factor.alias {
            self.text(" ")?;
            self.name(alias)?;
        }
        for hint in &factor.hints {
            self.text(match hint.kind {
                IndexHintKind::Use => " USE INDEX ",
                IndexHintKind::Force => " FORCE INDEX ",
                IndexHintKind::Ignore => " IGNORE INDEX ",
            })?;
            self.text(match hint.scope {
                IndexHintScope::All => "(",
                IndexHintScope::Join => "FOR JOIN (",
                IndexHintScope::OrderBy => "FOR ORDER BY (",
                IndexHintScope::GroupBy => "FOR GROUP BY (",
            })?;
            self.list(&hint.indexes, ",", |p, name| p.name(name))?;
            self.text(")")?;
        }
        Ok(())
    }

    fn join(&mut self, join: &Join) -> fmt::Result {
        self.text("(")?;
        self.table_ref(&join.left)?;
        if join.condition == JoinCondition::Natural {
            self.text(" natural")?;
        }
        self.text(match join.kind {
            JoinKind::Inner => " join ",
            JoinKind::Left => " left join ",
            JoinKind::Right => " right join ",
            JoinKind::Straight => " straight_join ",
        })?;
        self.table_ref(&join.right)?;
        match &join.condition {
            JoinCondition::None | JoinCondition::Natural => {}
            JoinCondition::On(on) => {
                self.text(" on(")?;
                self.expr(on)?;
                self.text(")")?;
            }
            JoinCondition::Using(columns) => {
                self.text(" using (")?;
                self.list(columns, ",", |p, name| p.name(name))?;
                self.text(")")?;
            }
        }
        self.text(")")
    }

    /// The row path of JSON_TABLE and its columns.
    pub(super) fn json_rows(&mut self, table: &JsonTable) -> fmt::Result {
        self.string(&table.path)?;
        self.json_columns(&table.columns)
    }

    fn json_columns(&mut self, columns: &[JsonTableColumn]) -> fmt::Result {
        self.text(" columns (")?;
        self.list(columns, ", ", |p, column| match column {
            JsonTableColumn::Ordinality(name) => {
                p.name(name)?;
                p.text(" for ordinality")
            }
            JsonTableColumn::Nested { path, columns } => {
                p.text("nested path ")?;
                p.string(path)?;
                p.json_columns(columns)
            }
            JsonTableColumn::Path(path) => {
                p.name(&path.name)?;
                p.text(" ")?;
                match &path.shown {
                    Some(shown) => p.text(shown)?,
                    None => p.data_type(&path.data_type)?,
                }
                if let (Some(collation), None) = (&path.collation, &path.shown) {
                    p.text(" collate ")?;
                    p.charset(collation)?;
                }
                p.text(if path.exists {
                    " exists path "
                } else {
                    " path "
                })?;
                p.string(&path.path)?;
                p.json_on(path.on_empty.as_ref(), "empty")?;
                p.json_on(path.on_error.as_ref(), "error")
            }
        })?;
        self.text(")")
    }
}
