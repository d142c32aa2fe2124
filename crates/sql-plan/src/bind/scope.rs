//! The tables of FROM, and what the expressions of a block mean by a name, a subquery or an aggregate.
//!
//! A block's tables are fixed once its FROM is bound; its expressions are then bound through a [`BlockScope`], in MySQL's order, by [`super::names`].

use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;

use engine::ColumnDefault;
use types::error::codes;
use types::{CollationId, DataType, SqlError, Value};

use super::StatementBinder;
use super::aggregates_around::{aggregate_column, read_aggregates_at};
use super::frozen::FullName;
use super::guard::Seen;
use super::hinted::TableHints;
use super::met_window::MetWindow;
use super::names::{Denoted, Listed, Lowest, Names, resolved_expr, same_name};
use super::nests::Sideways;
use super::select::Item;
use super::source::TableSource;
use super::tree::{BoundSub, DefaultPlan, INSERTED};
use sql_expr::agg::AggSpec;
use sql_expr::bind::{
    AggregatePlace, Binder, BoundSubquery, Clause, Resolved, ResolvedColumn, Scope, SubqueryKind,
    column_text, misplaced_alias,
};
use sql_expr::column_name::{ColumnName, TableNames};
use sql_expr::window::{BoundOver, WindowFn};
use sql_expr::{Column, Expr, ExprType, Node, Val};
use sql_parser::ast;

/// A column of a derived table.
#[derive(Debug, Clone)]
pub(crate) struct DerivedColumn {
    /// Its name.
    pub name: Box<str>,
    /// Its type.
    pub ty: ExprType,
    /// The type shown to clients, with the members of ENUM and SET.
    pub data_type: DataType,
    /// As [`crate::sink::ColumnMeta::of_function`].
    pub of_function: bool,
}

/// A table of FROM, as names see it.
#[derive(Clone)]
pub(crate) struct FromTable {
    /// Where its rows come from.
    pub source: TableSource,
    /// Its schema; empty for a derived table.
    pub schema: Arc<str>,
    /// How the statement calls it.
    pub alias: Arc<str>,
    /// Its own name.
    pub name: Arc<str>,
    /// Its slot.
    pub slot: u16,
    /// Index hints.
    pub hints: Vec<ast::IndexHint>,
    /// What optimizer hints say of it.
    pub hinted: Option<Box<TableHints>>,
    /// The number of the block that it was written in; 0 in a statement without optimizer hints.
    pub block: u32,
    /// Columns of a derived table.
    pub derived: Vec<DerivedColumn>,
    /// It may be extended with NULLs.
    pub outer_joined: bool,
    /// It is a view, carried out so; otherwise `None`.
    pub view: Option<ast::ViewAlgorithm>,
    /// It is read by a view of the same FROM: no name of the statement leads to it.
    pub hidden: bool,
    /// Where it is noted which columns are read; `None` where nobody asks.
    pub seen: Option<Rc<Seen>>,
    /// What its columns are called in messages, once one is resolved.
    pub shown: OnceCell<Arc<dyn TableNames>>,
    /// What its query reads of other tables of its FROM, where it does.
    pub lateral: Option<Box<Sideways>>,
}

/// The names of a table of FROM.
struct ShownNames {
    schema: Arc<str>,
    alias: Arc<str>,
    source: TableSource,
    /// The columns of a derived table.
    derived: Vec<Box<str>>,
}

impl TableNames for ShownNames {
    fn schema(&self) -> &str {
        &self.schema
    }

    fn table(&self) -> &str {
        &self.alias
    }

    fn column(&self, ordinal: u16) -> &str {
        let at = usize::from(ordinal);
        let own = || &*self.derived[at];
        self.source.shown_name(at).unwrap_or_else(own)
    }
}

impl FromTable {
    /// The rows of a query, the first derived one of its block, under no name.
    pub fn unnamed(slot: u16, derived: Vec<DerivedColumn>) -> FromTable {
        FromTable {
            source: TableSource::Derived(0),
            schema: "".into(),
            alias: "".into(),
            name: "".into(),
            slot,
            hints: Vec::new(),
            hinted: None,
            block: 0,
            derived,
            outer_joined: false,
            view: None,
            hidden: false,
            seen: None,
            shown: OnceCell::new(),
            lateral: None,
        }
    }

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
        match self.source.column_name(i) {
            Some(name) => name,
            None => &self.derived[i].name,
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
        (0..self.len())
            .find(|&i| same_name(self.column_name(i), name) && !self.hidden(i))
            .or_else(|| self.row_id(name))
    }

    /// The column that `_rowid` stands for.
    fn row_id(&self, name: &str) -> Option<usize> {
        match &self.source {
            TableSource::Engine(t) if name.eq_ignore_ascii_case("_rowid") => t.def.row_id_column(),
            _ => None,
        }
    }

    /// Whether it is a functional key part, which has no name.
    pub fn hidden(&self, i: usize) -> bool {
        match &self.source {
            TableSource::Engine(t) => t.def.columns[i].is_hidden(),
            _ => false,
        }
    }

    /// The complete name of a column.
    pub fn full_name(&self, i: usize) -> FullName {
        FullName::new(&self.schema, &self.name, &self.alias, self.column_name(i))
    }

    /// A reference to a column.
    pub fn resolved(&self, i: usize) -> ResolvedColumn {
        let shown = self.shown.get_or_init(|| {
            let derived = self.derived.iter().map(|c| c.name.clone());
            Arc::new(ShownNames {
                schema: Arc::clone(&self.schema),
                alias: Arc::clone(&self.alias),
                source: self.source.clone(),
                derived: derived.collect(),
            })
        });
        ResolvedColumn {
            slot: self.slot,
            ordinal: i as u16,
            ty: self.expr_type(i),
            utc: matches!(self.source, TableSource::Engine(_))
                && matches!(self.data_type(i), DataType::Timestamp(_)),
            name: ColumnName::Of(Arc::clone(shown), i as u16),
        }
    }

    /// A column as an expression that reads it.
    pub fn column_expr(&self, i: usize) -> Expr {
        self.note_read(i);
        column_expr(self.resolved(i))
    }

    /// The same of a column that the statement does not name, such as one that `*` stands for.
    pub fn listed_column_expr(&self, i: usize) -> Expr {
        if let Some(seen) = &self.seen {
            seen.note_listed(i, self.column_name(i));
        }
        column_expr(self.resolved(i))
    }

    /// The same of a column that no name stands for.
    pub fn unnamed_column(&self, i: usize) -> Expr {
        column_expr(self.resolved(i))
    }

    /// Its columns in order.
    pub fn listed(&self) -> impl Iterator<Item = Listed> {
        let slot = self.slot;
        let named = (0..self.len() as u16).filter(|c| !self.hidden(usize::from(*c)));
        named.map(move |ordinal| Listed { slot, ordinal })
    }

    /// Notes that a column is read.
    pub fn note_read(&self, i: usize) {
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

/// The row that an INSERT was about to write, as ON DUPLICATE KEY UPDATE names it.
pub(crate) struct InsertedRow<'a> {
    /// Alias of the row, where written.
    pub alias: Option<&'a ast::RowAlias>,
    /// The columns that get values, in order, for column aliases.
    pub columns: &'a [u16],
    /// The names of the SELECT that the rows come from.
    pub source: Option<&'a Names<'a>>,
}

/// Binds the expressions of a block.
pub(crate) struct BlockScope<'a> {
    /// The planner.
    pub planner: &'a StatementBinder<'a>,
    /// The block's names.
    pub names: &'a Names<'a>,
    /// The block's subqueries so far.
    pub subqueries: &'a mut Vec<BoundSub>,
    /// The inserted row, in ON DUPLICATE KEY UPDATE.
    pub inserted: Option<InsertedRow<'a>>,
}

impl<'a> BlockScope<'a> {
    /// A select item of a surrounding block as a value of this one.
    fn item_around(&mut self, names: &'a Names<'a>, item: &'a Item<'a>) -> Result<Expr, SqlError> {
        if item.expr.has_window() {
            return Err(misplaced_alias(&item.name));
        }
        let grouped = item.expr.any(&|x| matches!(x.node, Node::Aggregate(_)));
        if grouped && names.clause.get() == Some(Clause::FieldList) {
            return Err(SqlError::new(
                codes::ER_ILLEGAL_REFERENCE,
                format!(
                    "Reference '{}' not supported (reference to group function)",
                    item.name
                ),
            ));
        }
        let asks = item.expr.any(&|x| {
            matches!(
                x.node,
                Node::Subquery(_) | Node::Exists(_) | Node::Quantified(_)
            )
        });
        if !asks {
            let mut e = item.expr.clone();
            if let Some(slot) = names.aggregate_slot.get() {
                read_aggregates_at(&mut e, slot);
            }
            return Ok(e);
        }
        // Its subqueries are in the list of its own block: it is bound once more, with subqueries of this block.
        let written = match item.written {
            Some(e) if !grouped => e,
            _ => return Err(SqlError::not_supported("this reference to a select item")),
        };
        // Items that name items before them twice would double what is planned with each.
        self.planner.ctes.begin_by_name();
        let known = self.subqueries.len();
        let clause = names.clause.replace(Some(Clause::FieldList));
        let mut scope = BlockScope {
            planner: self.planner,
            names,
            subqueries: &mut *self.subqueries,
            inserted: None,
        };
        let e = Binder::new(self.planner.ctx.cx, &mut scope, Clause::FieldList).bind(written);
        names.clause.set(clause);
        self.planner.ctes.end_by_name();
        for s in &self.subqueries[known..] {
            let lowest = self.names.lowest.get().min(Lowest(s.query.lowest));
            self.names.lowest.set(lowest);
        }
        e
    }

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
            return match self.names.views.first() {
                Some(v) => v.base_column(&c.name, t.slot),
                None => t.find(&c.name),
            };
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
        let names = self.names;
        self.planner.ctx.cx.tick(names.items.len())?;
        if let Some(from) = self.inserted.as_ref().and_then(|i| i.source)
            && names.locate(name, clause)?.is_some()
            && from.locate(name, clause)?.is_some()
        {
            let e = SqlError::ambiguous_column(&column_text(name), clause.text());
            return Err(self.planner.hide_column(names, name, e));
        }
        let found = names
            .resolve(name, clause)
            .map_err(|e| self.planner.hide_column(self.names, name, e))?;
        match found {
            Denoted::Here(r) => {
                if self.planner.freezes() {
                    let e = resolved_expr(r.clone());
                    self.planner.means(name, &e, names);
                }
                Ok(r)
            }
            Denoted::Around(r) => {
                let e = resolved_expr(r);
                self.planner.means(name, &e, names);
                self.names.note_outer(&e);
                Ok(Resolved::Expr(e))
            }
            Denoted::ItemAround(names, item) => {
                let e = self.item_around(names, item)?;
                self.names.note_outer(&e);
                Ok(Resolved::Expr(e))
            }
        }
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

    fn in_aggregate(&mut self, inside: bool) -> bool {
        self.names.in_aggregate.replace(inside)
    }

    fn has_windows(&self) -> bool {
        self.names.windows.is_some()
    }

    fn window(&mut self, function: WindowFn, over: BoundOver) -> Result<u32, SqlError> {
        let Some(list) = &self.names.windows else {
            return Err(SqlError::internal("a window function in no SELECT"));
        };
        self.planner.note_window_fn(&function);
        if let BoundOver::Spec(spec) = &over {
            self.planner.note_window(spec);
        }
        let mut list = list.borrow_mut();
        let found = MetWindow::new(function, over);
        if let Some(same) = list.iter().position(|f| f.is(&found)) {
            return Ok(same as u32);
        }
        list.push(found);
        Ok(list.len() as u32 - 1)
    }

    fn has_around(&self) -> bool {
        self.names.parent.is_some()
    }

    fn kept_under(&self) -> Option<CollationId> {
        self.planner.literals.get()
    }

    /// An aggregate belongs to the innermost block whose columns its arguments read, where that block may have aggregates in the clause
    /// that is being bound (SQL:2016, 6.9 "set function specification"; MySQL's manual, "Aggregate Function Descriptions").
    fn aggregate_around(&mut self, spec: Box<AggSpec>) -> Result<AggregatePlace, SqlError> {
        let mut slots: Vec<u16> = Vec::new();
        let mut asks = false;
        for e in spec.args.iter().chain(spec.order_by.iter().map(|o| &o.0)) {
            e.walk(&mut |x| {
                match &x.node {
                    Node::Column(c) => slots.push(c.slot),
                    Node::Subquery(_) | Node::Exists(_) | Node::Quantified(_) => asks = true,
                    _ => {}
                }
                true
            });
        }
        let reads = |n: &Names<'_>| slots.iter().any(|&s| n.table(s).is_some());
        if asks || slots.is_empty() || reads(self.names) {
            return Ok(AggregatePlace::Here(spec));
        }
        let mut at = self.names.parent;
        while let Some(names) = at {
            if reads(names) {
                let clause = names.clause.get();
                if names.in_aggregate.get() {
                    return Err(SqlError::new(
                        codes::ER_INVALID_GROUP_FUNC_USE,
                        "Invalid use of group function",
                    ));
                }
                let fits = matches!(
                    clause,
                    Some(Clause::FieldList | Clause::Having | Clause::OrderBy)
                );
                let slot = names.aggregate_slot.get();
                let (true, Some(slot)) = (fits, slot) else {
                    break;
                };
                let mut list = names.from_below.borrow_mut();
                let e = aggregate_column(slot + 1, list.len() as u16, spec.ty);
                self.planner.note_aggregated(&spec);
                list.push(*spec);
                self.names.note_outer(&e);
                return Ok(AggregatePlace::Around(e));
            }
            at = names.parent;
        }
        Ok(AggregatePlace::Here(spec))
    }

    fn default_value(&mut self, c: &ast::ColumnRef, clause: Clause) -> Result<Expr, SqlError> {
        let resolved = match self.names.resolve(c, clause)? {
            Denoted::Here(Resolved::Column(r)) | Denoted::Around(Resolved::Column(r)) => r,
            _ => return Err(SqlError::unknown_column(&column_text(c), clause.text())),
        };
        if self.planner.freezes() {
            self.planner
                .means(c, &column_expr(resolved.clone()), self.names);
        }
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
        if def.generated.is_some() {
            return Err(SqlError::no_default(&def.name));
        }
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
