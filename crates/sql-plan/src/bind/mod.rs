//! From the syntax tree to a [`BoundStatement`]: names are resolved against one snapshot of the catalog, expressions bound and typed,
//! and what the statement needs (privileges, tables, parameters) is written down.
//!
//! Nothing here chooses how a statement is carried out, reads a row, takes a lock or waits. Rewrites that keep the meaning and choices
//! are `optimize`'s.

mod aggregates_around;
pub(crate) mod cte_rows;
mod ctes;
mod delete;
pub mod expanded;
pub(crate) mod from;
mod frozen;
pub(crate) mod group;
mod guard;
pub mod handler;
pub(crate) mod hinted;
mod insert;
mod insert_view;
mod json_table;
mod known;
mod lateral;
pub mod locked;
mod meanings;
mod met_window;
mod meta;
mod named;
pub mod names;
pub mod nests;
mod node_id;
mod over;
pub mod params;
pub(crate) mod places;
pub(crate) mod query;
pub(crate) mod reads;
mod recursive;
mod related;
pub(crate) mod relations;
mod rollup;
pub mod row_rules;
pub(crate) mod scope;
mod seen;
mod select;
mod sort_key;
pub(crate) mod source;
mod spelling;
pub mod tree;
mod update;
pub mod view_columns;
pub mod view_def;
pub(crate) mod view_names;
mod views;
pub mod window_tree;
pub mod windows;
mod with;
mod zero_dates;

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use engine::{Catalog, Engine, ObjectDef, Table};
use types::{CollationId, DataType, SqlError};

pub use source::{
    NameSpace, NoVirtualTables, TableGuard, TableSource, VirtualColumn, VirtualCtx, VirtualTable,
};
use tree::*;

use crate::sink::ColumnMeta;
use guard::Seen;
use names::{Lowest, Names};
use params::TypedParam;
pub use reads::subqueries_of;
use scope::{BlockScope, FromTable};
use sql_access::SecurityContext;
use sql_access::account::TableId;
use sql_access::needs::{Needs, Through};
use sql_expr::agg::AggSpec;
use sql_expr::bind::{Binder, Clause, SubqueryKind, warn_of_document};
use sql_expr::{CmpOp, Comparer, EvalCtx, Expr, ExprType, Node};
use sql_parser::ast;

/// What binding looks at.
pub struct BindCtx<'a> {
    /// The engine: statistics are asked for.
    pub engine: &'a Engine,
    /// The definitions.
    pub catalog: &'a Arc<Catalog>,
    /// Schemas that are not stored.
    pub names: &'a dyn NameSpace,
    /// The default schema.
    pub schema: Option<&'a str>,
    /// What the session may do: tables that it may not use are refused before they are looked up.
    pub security: &'a SecurityContext,
    /// What it has locked with LOCK TABLES, if it has.
    pub locked: Option<&'a locked::LockedTables>,
    /// The session: settings that expressions depend on, warnings. Parameters need no values yet.
    pub cx: &'a EvalCtx<'a>,
    /// The same with the values of the parameters that the plan is made for, where there are any. Estimates alone may look at them.
    pub values: &'a EvalCtx<'a>,
}

/// In what form EXPLAIN answers: as it says, or as `explain_format` does.
pub fn explain_form(
    e: &ast::Explain,
    vars: &sql_expr::vars::SessionVars,
) -> Result<ExplainForm, SqlError> {
    if e.analyze {
        return match e.format {
            None | Some(ast::ExplainFormat::Tree) => Ok(ExplainForm::Analyze),
            Some(ast::ExplainFormat::Json) => {
                Err(SqlError::not_supported("EXPLAIN ANALYZE with JSON format"))
            }
            Some(ast::ExplainFormat::Traditional) => Err(SqlError::not_supported(
                "EXPLAIN ANALYZE with TRADITIONAL format",
            )),
        };
    }
    let variable = || vars.value_by_name("explain_format");
    Ok(match (e.format, variable().map_or(0, |v| v.as_u64())) {
        (Some(ast::ExplainFormat::Traditional), _) => ExplainForm::Table,
        (Some(ast::ExplainFormat::Tree), _) | (None, 1) => ExplainForm::Tree,
        (Some(ast::ExplainFormat::Json), _) | (None, 2) => ExplainForm::Json,
        (None, _) => ExplainForm::Table,
    })
}

/// Binds a statement: a query, INSERT, REPLACE, UPDATE, DELETE, DO or EXPLAIN.
///
/// # Errors
/// What MySQL says of names, types and clauses before it runs the statement; 1235 for what is not carried out here.
pub(crate) fn bind(ctx: &BindCtx<'_>, stmt: &ast::Statement) -> Result<BoundStatement, SqlError> {
    let b = StatementBinder::new(ctx);
    let (body, columns) = b.statement(stmt).map_err(|e| b.refused_or(e))?;
    Ok(b.finish(body, columns, TimeLimit::of(stmt)))
}

/// Binds `SELECT expr, ..` of expressions without a table, for SET, DO and the like.
///
/// # Errors
/// As [`bind`].
pub(crate) fn bind_values(
    ctx: &BindCtx<'_>,
    exprs: &[&ast::Expr],
) -> Result<(BoundStatement, Vec<ExprType>), SqlError> {
    let b = StatementBinder::new(ctx);
    let block = b
        .values_block(exprs.iter().copied())
        .map_err(|e| b.refused_or(e))?;
    let types = block.output.iter().map(|e| e.ty).collect();
    let bound = b.finish(BoundBody::Do(Box::new(block)), Vec::new(), TimeLimit::Never);
    Ok((bound, types))
}

/// Binds a query of which a view is to be made, and writes its names out; yields its columns.
///
/// # Errors
/// As [`bind`].
pub fn freeze(ctx: &BindCtx<'_>, query: &mut ast::Query) -> Result<Vec<ColumnMeta>, SqlError> {
    StatementBinder::new(ctx).freeze(query)
}

/// State of binding one statement.
pub(crate) struct StatementBinder<'p> {
    pub ctx: &'p BindCtx<'p>,
    next_slot: Cell<u16>,
    tables: RefCell<Vec<UsedTable>>,
    /// The views that it reads by, each once.
    views: RefCell<Vec<Arc<ObjectDef>>>,
    /// Those that foreign keys lead to.
    related: RefCell<Vec<UsedTable>>,
    /// Those under LOCK TABLES that it has named.
    named: locked::Named<'p>,
    params: Cell<u32>,
    typed_params: RefCell<Vec<TypedParam>>,
    /// Optimizer hints, by the number of their block.
    hints: RefCell<Vec<(u32, ast::Hints)>>,
    /// The highest number of a block.
    blocks: Cell<u32>,
    locks: Cell<bool>,
    private: Cell<bool>,
    ctes: ctes::Ctes,
    needs: RefCell<Needs>,
    seen: RefCell<Vec<Rc<Seen>>>,
    /// The table that was guarded last: its needs share its name.
    guarded: RefCell<Option<Arc<TableId>>>,
    /// What names mean, while a view is made of the query.
    meanings: RefCell<Option<frozen::Meanings>>,
    /// The views that are being bound, one in another.
    open_views: RefCell<Vec<Arc<TableId>>>,
    /// The view through which tables are read at the moment.
    through: RefCell<Option<Arc<Through>>>,
    /// The collation of the literals of the view that is being bound.
    literals: Cell<Option<CollationId>>,
    /// The statement is explained.
    explains: Cell<bool>,
    /// Subqueries of the conditions of CHECK OPTION.
    check_subqueries: RefCell<Vec<BoundSub>>,
}

impl<'p> StatementBinder<'p> {
    fn new(ctx: &'p BindCtx<'p>) -> StatementBinder<'p> {
        StatementBinder {
            ctx,
            next_slot: Cell::new(0),
            tables: RefCell::default(),
            views: RefCell::default(),
            related: RefCell::default(),
            named: locked::Named::of(ctx.locked),
            params: Cell::new(0),
            typed_params: RefCell::default(),
            hints: RefCell::default(),
            blocks: Cell::new(0),
            locks: Cell::new(false),
            private: Cell::new(false),
            ctes: ctes::Ctes::default(),
            needs: RefCell::default(),
            seen: RefCell::default(),
            guarded: RefCell::default(),
            meanings: RefCell::default(),
            open_views: RefCell::default(),
            through: RefCell::default(),
            literals: Cell::new(None),
            explains: Cell::new(false),
            check_subqueries: RefCell::default(),
        }
    }

    fn finish(
        self,
        body: BoundBody,
        columns: Vec<ColumnMeta>,
        time_limit: TimeLimit,
    ) -> BoundStatement {
        self.columns_read();
        let mut typed_params = self.typed_params.into_inner();
        typed_params.sort_by_key(|p| p.place);
        typed_params.dedup();
        BoundStatement {
            body,
            columns,
            facts: Facts {
                needs: self.needs.into_inner(),
                tables: self.tables.into_inner(),
                views: self.views.into_inner(),
                related: self.related.into_inner(),
                params: self.params.get(),
                typed_params: typed_params.into(),
                locks: self.locks.get(),
                private: self.private.get(),
                time_limit,
                hints: self.hints.into_inner(),
                next_slot: self.next_slot.get(),
            },
        }
    }

    /// Notes the hints of a block, and yields its number: a block that was not written as one has a number behind the others.
    pub(crate) fn note_block(&self, number: u32, hints: &ast::Hints) -> u32 {
        let number = match number {
            0 => self.blocks.get() + 1,
            n => n,
        };
        self.blocks.set(self.blocks.get().max(number));
        if !hints.list.is_empty() || !hints.faults.is_empty() {
            let mut all = self.hints.borrow_mut();
            // A common table expression is bound wherever it is used; a change and its query are one block.
            if !all.iter().any(|(n, h)| *n == number && h == hints) {
                all.push((number, hints.clone()));
            }
        }
        number
    }

    fn statement(&self, stmt: &ast::Statement) -> Result<(BoundBody, Vec<ColumnMeta>), SqlError> {
        let body = match stmt {
            ast::Statement::Query(q) => {
                let (mut query, columns) = self.query_and_more(q, None, None)?;
                let columns = self.bind_into(q, &mut query, columns)?;
                return Ok((BoundBody::Query(Box::new(query)), columns));
            }
            ast::Statement::Insert(i) => BoundBody::Insert(Box::new(self.insert(i)?)),
            ast::Statement::Update(u) => BoundBody::Update(Box::new(self.update(u)?)),
            ast::Statement::Delete(d) => BoundBody::Delete(Box::new(self.delete(d)?)),
            ast::Statement::Do(exprs) => BoundBody::Do(Box::new(self.values_block(exprs.iter())?)),
            ast::Statement::Explain(e) => {
                let form = explain_form(e, self.ctx.cx.vars)?;
                self.explains.set(true);
                let (body, columns) = self.explained(e)?;
                return Ok((BoundBody::Explain(Box::new(body), form), columns));
            }
            _ => return Err(SqlError::not_supported("this statement here")),
        };
        Ok((body, Vec::new()))
    }

    /// The statement that EXPLAIN is about, and the columns that it would yield.
    fn explained(&self, e: &ast::Explain) -> Result<(BoundBody, Vec<ColumnMeta>), SqlError> {
        let ast::ExplainTarget::Statement(stmt) = &e.target else {
            return Err(SqlError::internal("a connection to explain"));
        };
        match stmt {
            ast::Statement::Query(q) => {
                let (query, columns) = self.query_and_more(q, None, None)?;
                Ok((BoundBody::Query(Box::new(query)), columns))
            }
            ast::Statement::Insert(_) | ast::Statement::Update(_) | ast::Statement::Delete(_)
                if !e.analyze =>
            {
                self.statement(stmt)
            }
            _ => Err(SqlError::not_supported("EXPLAIN of this statement")),
        }
    }

    /// A block without tables that yields these values.
    pub(crate) fn values_block<'e>(
        &self,
        exprs: impl Iterator<Item = &'e ast::Expr>,
    ) -> Result<BoundBlock, SqlError> {
        let names = Names::default();
        let mut block = BoundBlock::empty(0);
        for e in exprs {
            let e = self.bind(e, Clause::FieldList, &names, &mut block.subqueries)?;
            block.output.push(e);
        }
        Ok(block)
    }

    /// Takes `n` consecutive slots.
    pub(crate) fn take_slots(&self, n: u16) -> Result<u16, SqlError> {
        let first = self.next_slot.get();
        match first.checked_add(n) {
            Some(next) if next < FIRST_SPECIAL_SLOT => {
                self.next_slot.set(next);
                Ok(first)
            }
            _ => Err(SqlError::unknown("Too many tables in one statement")),
        }
    }

    /// Binds an expression in which no aggregate may stand.
    pub(crate) fn bind(
        &self,
        e: &ast::Expr,
        clause: Clause,
        names: &Names<'_>,
        subqueries: &mut Vec<BoundSub>,
    ) -> Result<Expr, SqlError> {
        let mut scope = BlockScope {
            planner: self,
            names,
            subqueries,
            inserted: None,
        };
        let around = names.clause.replace(Some(clause));
        let e = Binder::new(self.ctx.cx, &mut scope, clause).bind(e);
        names.clause.set(around);
        let e = e?;
        if matches!(clause, Clause::Where | Clause::On) {
            warn_of_document(&e, self.ctx.cx);
        }
        rollup::refuse([&e])?;
        self.note_params(&e);
        Ok(e)
    }

    /// Binds an expression in which aggregates may stand.
    pub(crate) fn bind_grouped(
        &self,
        e: &ast::Expr,
        clause: Clause,
        names: &Names<'_>,
        subqueries: &mut Vec<BoundSub>,
        aggregates: &mut Vec<AggSpec>,
    ) -> Result<Expr, SqlError> {
        let known = aggregates.len();
        let mut scope = BlockScope {
            planner: self,
            names,
            subqueries,
            inserted: None,
        };
        let around = names.clause.replace(Some(clause));
        let e = Binder::new(self.ctx.cx, &mut scope, clause)
            .with_aggregates(aggregates)
            .bind(e);
        names.clause.set(around);
        let e = e?;
        if clause == Clause::Having {
            warn_of_document(&e, self.ctx.cx);
        }
        self.note_params(&e);
        for a in &aggregates[known..] {
            self.note_aggregated(a);
        }
        Ok(e)
    }

    /// `a = b` of two bound expressions.
    pub(crate) fn equality(&self, a: Expr, b: Expr) -> Result<Expr, SqlError> {
        let comparer = Comparer::of_operator(&a, &b, self.ctx.cx.collation, "=")?;
        let nullable = a.ty.nullable || b.ty.nullable;
        Ok(Expr {
            node: Node::Compare(CmpOp::Eq, comparer, Box::new([a, b])),
            ty: ExprType::truth(nullable),
        })
    }

    /// Plans a subquery of an expression.
    pub(crate) fn subquery(
        &self,
        query: &ast::Query,
        kind: SubqueryKind,
        names: &Names<'_>,
    ) -> Result<(BoundSub, Vec<ExprType>), SqlError> {
        let aggregates = match names.aggregate_slot.get() {
            Some(slot) => slot,
            None => {
                let slot = self.take_slots(2)?;
                names.aggregate_slot.set(Some(slot));
                slot
            }
        };
        let first = self.next_slot.get();
        let (mut plan, _) = self.query(query, Some(names))?;
        if kind == SubqueryKind::Scalar
            && let Body::Block(b) = &mut plan.body
            && !b.distinct
        {
            b.yields = Yields::Computed;
        }
        if kind == SubqueryKind::Exists {
            select::only_rows_matter(&mut plan);
        }
        let types = plan.types.clone();
        let correlated = plan.lowest != u16::MAX;
        if correlated {
            // What lies below this block's own tables belongs to blocks further out.
            let own = names.tables.first().map_or(aggregates, |t| t.slot);
            if plan.lowest < own {
                let lowest = names.lowest.get().min(Lowest(plan.lowest));
                names.lowest.set(lowest);
            }
        }
        let mut outer = Vec::new();
        if correlated {
            reads::outer_columns(&plan, first, &mut outer);
        }
        let sub = Sub {
            id: NodeId::default(),
            query: plan,
            kind,
            correlated,
            outer,
            extreme: None,
            repeats: false,
        };
        Ok((sub, types))
    }

    /// The current time in a column's type.
    pub(crate) fn now_expr(&self, ty: &DataType) -> Result<Expr, SqlError> {
        let args = match ty.fsp() {
            0 => Vec::new(),
            n => vec![ast::Expr::Int(u64::from(n))],
        };
        let call = ast::Expr::Call(Box::new(ast::Call {
            schema: None,
            name: "now".into(),
            args,
            plain: false,
        }));
        self.bind(&call, Clause::FieldList, &Names::default(), &mut Vec::new())
    }

    /// What a column gets by default.
    pub(crate) fn default_plan(
        &self,
        table: &Arc<Table>,
        column: usize,
    ) -> Result<DefaultPlan, SqlError> {
        let def = &table.def.columns[column];
        if let Some(g) = &def.generated {
            let e = row_rules::bound(&g.expr, &table.def.columns, self.ctx.cx)?;
            return Ok(DefaultPlan::Generated(e));
        }
        if let Some(d) = scope::simple_default(def) {
            return Ok(d);
        }
        let engine::ColumnDefault::Expr(text) = &def.default else {
            return Ok(DefaultPlan::Missing);
        };
        let sql = format!("DO {text}");
        let parsed = sql_parser::parse_one(sql.as_bytes(), &sql_parser::Options::default());
        let Ok((ast::Statement::Do(exprs), _)) = parsed else {
            return Err(SqlError::invalid_default(&def.name));
        };
        let Some(e) = exprs.first() else {
            return Err(SqlError::invalid_default(&def.name));
        };
        let names = self.table_names(table, 0);
        // As all that a definition says: see `row_rules`.
        let around = self.literals.replace(Some(CollationId::DEFAULT));
        let bound = self.bind(e, Clause::FieldList, &names, &mut Vec::new());
        self.literals.set(around);
        Ok(DefaultPlan::Expr(bound?))
    }

    /// The names of a single stored table at a slot.
    pub(crate) fn table_names(&self, table: &Arc<Table>, slot: u16) -> Names<'static> {
        let name: Arc<str> = table.def.name.as_str().into();
        Names {
            tables: vec![FromTable {
                source: TableSource::Engine(Arc::clone(table)),
                schema: table.def.schema.as_str().into(),
                alias: Arc::clone(&name),
                name,
                slot,
                hints: Vec::new(),
                hinted: None,
                block: 0,
                derived: Vec::new(),
                outer_joined: false,
                view: None,
                hidden: false,
                seen: None,
                shown: OnceCell::new(),
                lateral: None,
            }],
            ..Names::default()
        }
    }
}
