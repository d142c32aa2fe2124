//! Names: which column, alias or row of a surrounding block an identifier stands for.
//!
//! Table names and aliases compare by case, column names without. A block's names are fixed once its FROM is bound; the
//! expressions of the block are then bound through a [`BlockScope`].

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use engine::ColumnDefault;
use types::{DataType, SqlError, Value};

use super::Planner;
use super::guard::Seen;
use super::source::TableSource;
use super::tree::{DefaultPlan, INSERTED, SubPlan};
use crate::expr::bind::{
    BoundSubquery, Clause, Resolved, ResolvedColumn, Scope, SubqueryKind, column_text,
};
use crate::expr::{Column, Expr, ExprType, Node, Val};
use crate::parse::ast;

/// A column of a derived table.
#[derive(Debug, Clone)]
pub(crate) struct DerivedColumn {
    /// Its name.
    pub name: Box<str>,
    /// Its type.
    pub ty: ExprType,
    /// The type shown to clients, with the members of ENUM and SET.
    pub data_type: DataType,
}

/// A table of FROM, as names see it.
pub(crate) struct FromTable {
    /// Where its rows come from.
    pub source: TableSource,
    /// Its schema; empty for a derived table.
    pub schema: Box<str>,
    /// How the statement calls it.
    pub alias: Box<str>,
    /// Its own name.
    pub name: Box<str>,
    /// Its slot.
    pub slot: u16,
    /// Index hints.
    pub hints: Vec<ast::IndexHint>,
    /// Columns of a derived table.
    pub derived: Vec<DerivedColumn>,
    /// It may be extended with NULLs.
    pub outer_joined: bool,
    /// Where it is noted which columns are read; `None` where nobody asks.
    pub seen: Option<Rc<Seen>>,
}

impl FromTable {
    /// Number of columns.
    pub fn len(&self) -> usize {
        match &self.source {
            TableSource::Engine(t) => t.def.columns.len(),
            TableSource::Virtual(v) => v.columns().len(),
            TableSource::Derived(_) => self.derived.len(),
        }
    }

    /// Name of a column.
    pub fn column_name(&self, i: usize) -> &str {
        match &self.source {
            TableSource::Engine(t) => &t.def.columns[i].name,
            TableSource::Virtual(v) => &v.columns()[i].name,
            TableSource::Derived(_) => &self.derived[i].name,
        }
    }

    /// Whether `*` leaves it out.
    pub fn invisible(&self, i: usize) -> bool {
        match &self.source {
            TableSource::Engine(t) => t.def.columns[i].invisible,
            _ => false,
        }
    }

    /// Type of a column as stored.
    pub fn data_type(&self, i: usize) -> &DataType {
        match &self.source {
            TableSource::Engine(t) => &t.def.columns[i].ty,
            TableSource::Virtual(v) => &v.columns()[i].ty,
            TableSource::Derived(_) => &self.derived[i].data_type,
        }
    }

    /// Type of a column in expressions.
    pub fn expr_type(&self, i: usize) -> ExprType {
        let ty = match &self.source {
            TableSource::Engine(t) => {
                let c = &t.def.columns[i];
                ExprType::of_column(&c.ty, c.nullable)
            }
            TableSource::Virtual(v) => {
                let c = &v.columns()[i];
                ExprType::of_column(&c.ty, c.nullable)
            }
            TableSource::Derived(_) => self.derived[i].ty,
        };
        ty.nullable_if(self.outer_joined)
    }

    /// The column of that name.
    pub fn find(&self, name: &str) -> Option<usize> {
        (0..self.len()).find(|&i| same_name(self.column_name(i), name))
    }

    /// A reference to a column.
    pub fn resolved(&self, i: usize) -> ResolvedColumn {
        let name: Arc<str> = if self.schema.is_empty() {
            format!("{}.{}", self.alias, self.column_name(i)).into()
        } else {
            format!("{}.{}.{}", self.schema, self.alias, self.column_name(i)).into()
        };
        ResolvedColumn {
            slot: self.slot,
            ordinal: i as u16,
            ty: self.expr_type(i),
            utc: matches!(self.source, TableSource::Engine(_))
                && matches!(self.data_type(i), DataType::Timestamp(_)),
            name,
        }
    }

    /// A column as an expression that reads it.
    pub fn column_expr(&self, i: usize) -> Expr {
        self.note_read(i);
        column_expr(self.resolved(i))
    }

    fn note_read(&self, i: usize) {
        if let Some(seen) = &self.seen {
            seen.note(i, self.column_name(i));
        }
    }

    /// Whether a name qualified so is one of its columns'.
    pub fn answers_to(&self, q: &ast::Qualifier) -> bool {
        *self.alias == *q.table
            && q.schema.as_deref().is_none_or(|s| {
                *self.schema == *s
                    || (matches!(self.source, TableSource::Virtual(_))
                        && self.schema.eq_ignore_ascii_case(s))
            })
    }
}

/// A resolved column as an expression.
pub(crate) fn column_expr(c: ResolvedColumn) -> Expr {
    Expr {
        node: Node::Column(Column {
            slot: c.slot,
            ordinal: c.ordinal,
            utc: c.utc,
            name: c.name,
        }),
        ty: c.ty,
    }
}

/// Whether two column names are the same.
pub(crate) fn same_name(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
        || (!(a.is_ascii() && b.is_ascii()) && a.to_lowercase() == b.to_lowercase())
}

/// A column that USING or NATURAL made of several.
pub(crate) struct Merged {
    /// Its name.
    pub name: Box<str>,
    /// Its value.
    pub expr: Expr,
    /// The columns it stands for.
    pub members: Vec<(u16, u16)>,
}

/// The names of a block.
#[derive(Default)]
pub(crate) struct Names<'s> {
    /// Tables of FROM.
    pub tables: Vec<FromTable>,
    /// Columns merged by USING and NATURAL.
    pub merged: Vec<Merged>,
    /// Select items by alias.
    pub aliases: Vec<(Box<str>, Expr)>,
    /// While ON is bound: slots it may see.
    pub visible: Option<std::ops::Range<u16>>,
    /// The block around it.
    pub parent: Option<&'s Names<'s>>,
    /// Lowest slot of a surrounding block that was named.
    pub lowest: Cell<Lowest>,
}

/// A slot number whose default is "none".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lowest(pub u16);

impl Default for Lowest {
    fn default() -> Lowest {
        Lowest(u16::MAX)
    }
}

impl Names<'_> {
    fn sees(&self, t: &FromTable) -> bool {
        self.visible.as_ref().is_none_or(|v| v.contains(&t.slot))
    }

    /// What a name stands for in this block alone, as something that is read.
    pub fn local(&self, c: &ast::ColumnRef, clause: Clause) -> Result<Option<Resolved>, SqlError> {
        if c.qualifier.is_none()
            && let Some(m) = self.merged.iter().find(|m| same_name(&m.name, &c.name))
            && self
                .visible
                .as_ref()
                .is_none_or(|v| v.contains(&m.members[0].0))
        {
            return Ok(Some(Resolved::Expr(m.expr.clone())));
        }
        let found = self.locate(c, clause)?;
        Ok(found.map(|(t, i)| {
            t.note_read(i);
            Resolved::Column(t.resolved(i))
        }))
    }

    /// The table and the place of the column that a name stands for in this block alone.
    pub fn locate(
        &self,
        c: &ast::ColumnRef,
        clause: Clause,
    ) -> Result<Option<(&FromTable, usize)>, SqlError> {
        let mut found: Option<(&FromTable, usize)> = None;
        for t in self.tables.iter().filter(|t| self.sees(t)) {
            if c.qualifier.as_ref().is_some_and(|q| !t.answers_to(q)) {
                continue;
            }
            let Some(i) = t.find(&c.name) else { continue };
            if found.is_some() {
                return Err(SqlError::ambiguous_column(&column_text(c), clause.text()));
            }
            found = Some((t, i));
        }
        Ok(found)
    }

    /// The select item of that alias.
    pub fn alias(&self, name: &str) -> Option<&Expr> {
        self.aliases
            .iter()
            .find(|(a, _)| same_name(a, name))
            .map(|(_, e)| e)
    }

    /// What a name stands for here or in a block around.
    pub fn resolve(&self, c: &ast::ColumnRef, clause: Clause) -> Result<Resolved, SqlError> {
        if let Some(r) = self.local(c, clause)? {
            return Ok(r);
        }
        let mut at = self.parent;
        while let Some(names) = at {
            if let Some(r) = names.local(c, clause)? {
                let mut lowest = self.lowest.get();
                match &r {
                    Resolved::Column(c) => lowest = lowest.min(Lowest(c.slot)),
                    Resolved::Expr(e) => e.walk(&mut |x| {
                        if let Node::Column(c) = &x.node {
                            lowest = lowest.min(Lowest(c.slot));
                        }
                        true
                    }),
                }
                self.lowest.set(lowest);
                return Ok(r);
            }
            at = names.parent;
        }
        Err(SqlError::unknown_column(&column_text(c), clause.text()))
    }
}

/// The row that an INSERT was about to write, as ON DUPLICATE KEY UPDATE names it.
pub(crate) struct InsertedRow<'a> {
    /// Alias of the row, where written.
    pub alias: Option<&'a ast::RowAlias>,
    /// The columns that get values, in order, for column aliases.
    pub columns: &'a [u16],
}

/// Binds the expressions of a block.
pub(crate) struct BlockScope<'a> {
    /// The planner.
    pub planner: &'a Planner<'a>,
    /// The block's names.
    pub names: &'a Names<'a>,
    /// The block's subqueries so far.
    pub subqueries: &'a mut Vec<SubPlan>,
    /// The inserted row, in ON DUPLICATE KEY UPDATE.
    pub inserted: Option<InsertedRow<'a>>,
}

impl BlockScope<'_> {
    fn inserted_alias(&self, c: &ast::ColumnRef) -> Option<usize> {
        let row = self.inserted.as_ref()?;
        let alias = row.alias?;
        let t = self.names.tables.first()?;
        let qualified = match &c.qualifier {
            Some(q) => q.schema.is_none() && *q.table == *alias.name,
            None => !alias.columns.is_empty(),
        };
        if !qualified {
            return None;
        }
        if alias.columns.is_empty() {
            return t.find(&c.name);
        }
        let at = alias.columns.iter().position(|n| same_name(n, &c.name))?;
        row.columns.get(at).map(|&i| usize::from(i))
    }
}

impl Scope for BlockScope<'_> {
    fn column(&mut self, name: &ast::ColumnRef, clause: Clause) -> Result<Resolved, SqlError> {
        if let Some(i) = self.inserted_alias(name)
            && let Some(t) = self.names.tables.first()
        {
            let c = t.resolved(i);
            return Ok(Resolved::Expr(Expr {
                node: Node::Inserted(Column {
                    slot: INSERTED,
                    ordinal: c.ordinal,
                    utc: c.utc,
                    name: c.name,
                }),
                ty: c.ty.or_null(),
            }));
        }
        if name.qualifier.is_none() {
            let alias = self.names.alias(&name.name);
            match (clause, alias) {
                (Clause::Having, Some(e)) => return Ok(Resolved::Expr(e.clone())),
                (Clause::GroupBy | Clause::OrderBy, Some(e)) => {
                    return Ok(match self.names.local(name, clause)? {
                        Some(r) => r,
                        None => Resolved::Expr(e.clone()),
                    });
                }
                _ => {}
            }
        }
        self.names
            .resolve(name, clause)
            .map_err(|e| self.planner.hide_column(self.names, name, e))
    }

    fn subquery(
        &mut self,
        query: &ast::Query,
        kind: SubqueryKind,
    ) -> Result<BoundSubquery, SqlError> {
        let (plan, columns) = self.planner.subquery(query, kind, self.names)?;
        self.subqueries.push(plan);
        Ok(BoundSubquery {
            index: self.subqueries.len() as u32 - 1,
            columns,
        })
    }

    fn default_value(&mut self, c: &ast::ColumnRef, clause: Clause) -> Result<Expr, SqlError> {
        let resolved = match self.names.resolve(c, clause)? {
            Resolved::Column(r) => r,
            Resolved::Expr(_) => {
                return Err(SqlError::unknown_column(&column_text(c), clause.text()));
            }
        };
        let table = self
            .names
            .tables
            .iter()
            .find(|t| t.slot == resolved.slot)
            .and_then(|t| match &t.source {
                TableSource::Engine(t) => Some(t),
                _ => None,
            });
        let Some(table) = table else {
            return Err(SqlError::no_default(&c.name));
        };
        let def = &table.def.columns[usize::from(resolved.ordinal)];
        match &def.default {
            ColumnDefault::None if def.nullable => Ok(Expr::null()),
            ColumnDefault::None => Err(SqlError::no_default(&def.name)),
            ColumnDefault::Null => Ok(Expr::null()),
            ColumnDefault::Literal(v) => Ok(Expr::constant(
                Val::from(v.as_ref()).into_owned(),
                resolved.ty,
            )),
            ColumnDefault::Now | ColumnDefault::Expr(_) => {
                match self
                    .planner
                    .default_plan(table, usize::from(resolved.ordinal))?
                {
                    DefaultPlan::Expr(e) => Ok(e),
                    _ => self.planner.now_expr(&def.ty),
                }
            }
        }
    }

    fn inserted(&mut self, c: &ast::ColumnRef, clause: Clause) -> Result<ResolvedColumn, SqlError> {
        // What is read is the value given, not the column: it needs no privilege.
        let Some((t, i)) = self.names.locate(c, clause)? else {
            return Err(SqlError::unknown_column(&column_text(c), clause.text()));
        };
        let mut r = t.resolved(i);
        r.slot = INSERTED;
        r.ty = match self.inserted {
            Some(_) => r.ty.or_null(),
            // Outside ON DUPLICATE KEY UPDATE the function is NULL.
            None => ExprType::null(),
        };
        Ok(r)
    }
}

/// A stored default as a plan, where it needs no expression.
pub(crate) fn simple_default(def: &engine::ColumnDef) -> Option<DefaultPlan> {
    Some(match &def.default {
        _ if def.auto_increment => DefaultPlan::Auto,
        ColumnDefault::None if def.nullable => DefaultPlan::Value(Value::Null),
        ColumnDefault::None => DefaultPlan::Missing,
        ColumnDefault::Null => DefaultPlan::Value(Value::Null),
        ColumnDefault::Literal(v) => DefaultPlan::Value(v.clone()),
        ColumnDefault::Now => DefaultPlan::Now,
        ColumnDefault::Expr(_) => return None,
    })
}
