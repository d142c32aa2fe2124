//! The planner: from the syntax tree to a [`Plan`] that can run any number of times with other parameters.
//!
//! Names are resolved against one snapshot of the catalog, expressions bound and typed, joins ordered, an access path chosen
//! for every table, and the statements that deserve it recognised for the direct path from page to packet. Nothing here reads
//! a row, takes a lock or waits; subqueries become plans of their own.
//!
//! Ordering of joins is greedy by the estimated rows of the cheapest access given what is bound already, in the manner of
//! System R's nested loops without its dynamic programming; outer joins follow MySQL's first-inner/last-inner scheme.

mod access;
mod delete;
mod explain;
mod fast;
mod from;
mod group;
mod guard;
mod insert;
mod mask;
mod meta;
mod names;
mod optimize;
mod order;
mod over;
pub(crate) mod params;
mod query;
mod range;
mod scope;
mod select;
pub mod source;
mod spool;
mod steps;
pub mod tree;
mod update;

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use engine::{Catalog, Table};
use types::{DataType, SqlError};

pub use source::{
    NameSpace, NoVirtualTables, TableGuard, TableSource, VirtualColumn, VirtualCtx, VirtualTable,
};
pub use tree::*;

use crate::access::SecurityContext;
use crate::access::account::TableId;
use crate::access::needs::Needs;
use crate::sink::ColumnMeta;
use guard::{Seen, Usage};
pub(crate) use mask::subqueries_of;
pub(crate) use names::same_name;
use names::{Lowest, Names};
use params::TypedParam;
use scope::BlockScope;
use sql_expr::agg::AggSpec;
use sql_expr::bind::{Binder, Clause, SubqueryKind};
use sql_expr::memory::Charge;
use sql_expr::{CmpOp, Comparer, EvalCtx, Expr, ExprType, Node};
use sql_parser::ast;

/// What planning looks at.
pub struct PlanCtx<'a> {
    /// The definitions.
    pub catalog: &'a Arc<Catalog>,
    /// Schemas that are not stored.
    pub names: &'a dyn NameSpace,
    /// The default schema.
    pub schema: Option<&'a str>,
    /// What the session may do: tables that it may not use are refused before they are looked up.
    pub security: &'a SecurityContext,
    /// The session: settings that expressions depend on, warnings. Parameters need no values yet.
    pub cx: &'a EvalCtx<'a>,
}

/// Plans a statement: a query, INSERT, REPLACE, UPDATE, DELETE, DO or EXPLAIN.
///
/// # Errors
/// What MySQL says of names, types and clauses before it runs the statement; 1235 for what is not carried out here.
pub fn prepare(ctx: &PlanCtx<'_>, stmt: &ast::Statement) -> Result<Plan, SqlError> {
    let p = Planner::new(ctx);
    let (body, columns) = p.statement(stmt).map_err(|e| p.refused_or(e))?;
    Ok(p.finish(body, columns, TimeLimit::of(stmt)))
}

/// Plans `SELECT expr, ..` of expressions without a table, for SET, DO and the like.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_values(
    ctx: &PlanCtx<'_>,
    exprs: &[&ast::Expr],
) -> Result<(Plan, Vec<ExprType>), SqlError> {
    let p = Planner::new(ctx);
    let block = p
        .values_block(exprs.iter().copied())
        .map_err(|e| p.refused_or(e))?;
    let types = block.output.iter().map(|e| e.ty).collect();
    let plan = p.finish(PlanBody::Do(Box::new(block)), Vec::new(), TimeLimit::Never);
    Ok((plan, types))
}

/// State of planning one statement.
pub(crate) struct Planner<'p> {
    pub ctx: &'p PlanCtx<'p>,
    next_slot: Cell<u16>,
    tables: RefCell<Vec<Arc<Table>>>,
    params: Cell<u32>,
    typed_params: RefCell<Vec<TypedParam>>,
    locks: Cell<bool>,
    private: Cell<bool>,
    ctes: query::Ctes,
    needs: RefCell<Needs>,
    seen: RefCell<Vec<Rc<Seen>>>,
    /// The table that was guarded last: its needs share its name.
    guarded: RefCell<Option<Arc<TableId>>>,
}

impl<'p> Planner<'p> {
    fn new(ctx: &'p PlanCtx<'p>) -> Planner<'p> {
        Planner {
            ctx,
            next_slot: Cell::new(0),
            tables: RefCell::default(),
            params: Cell::new(0),
            typed_params: RefCell::default(),
            locks: Cell::new(false),
            private: Cell::new(false),
            ctes: query::Ctes::default(),
            needs: RefCell::default(),
            seen: RefCell::default(),
            guarded: RefCell::default(),
        }
    }

    fn finish(self, body: PlanBody, columns: Vec<ColumnMeta>, time_limit: TimeLimit) -> Plan {
        let writes = matches!(
            body,
            PlanBody::Insert(_) | PlanBody::Update(_) | PlanBody::Delete(_)
        );
        self.columns_read();
        let mut typed_params = self.typed_params.into_inner();
        typed_params.sort_by_key(|p| p.place);
        typed_params.dedup();
        Plan {
            needs: self.needs.into_inner(),
            catalog_version: self.ctx.catalog.version,
            tables: self.tables.into_inner(),
            columns: columns.into(),
            params: self.params.get(),
            typed_params: typed_params.into(),
            writes,
            locks: writes || self.locks.get(),
            private: self.private.get(),
            time_limit,
            charge: Charge::default(),
            body,
        }
    }

    fn statement(&self, stmt: &ast::Statement) -> Result<(PlanBody, Vec<ColumnMeta>), SqlError> {
        match stmt {
            ast::Statement::Query(q) => {
                let (mut plan, columns) = self.query(q, None)?;
                self.bind_into(q, &mut plan)?;
                if let Some(point) = fast::point_get(&mut plan) {
                    return Ok((PlanBody::PointGet(Box::new(point)), columns));
                }
                let columns = if plan.into.is_empty() {
                    columns
                } else {
                    Vec::new()
                };
                Ok((PlanBody::Query(Box::new(plan)), columns))
            }
            ast::Statement::Insert(i) => {
                Ok((PlanBody::Insert(Box::new(self.insert(i)?)), Vec::new()))
            }
            ast::Statement::Update(u) => {
                Ok((PlanBody::Update(Box::new(self.update(u)?)), Vec::new()))
            }
            ast::Statement::Delete(d) => {
                Ok((PlanBody::Delete(Box::new(self.delete(d)?)), Vec::new()))
            }
            ast::Statement::Do(exprs) => {
                let block = self.values_block(exprs.iter())?;
                Ok((PlanBody::Do(Box::new(block)), Vec::new()))
            }
            ast::Statement::Explain(e) => self.explain(e),
            _ => Err(SqlError::not_supported("this statement here")),
        }
    }

    /// A block without tables that yields these values.
    pub(crate) fn values_block<'e>(
        &self,
        exprs: impl Iterator<Item = &'e ast::Expr>,
    ) -> Result<Block, SqlError> {
        let names = Names::default();
        let mut block = Block::empty(0);
        for e in exprs {
            let e = self.bind(e, Clause::FieldList, &names, &mut block.subqueries)?;
            block.output.push(e);
        }
        block.special = block.output.iter().any(Expr::has_special);
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
        subqueries: &mut Vec<SubPlan>,
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
        self.note_params(&e);
        Ok(e)
    }

    /// Binds an expression in which aggregates may stand.
    pub(crate) fn bind_grouped(
        &self,
        e: &ast::Expr,
        clause: Clause,
        names: &Names<'_>,
        subqueries: &mut Vec<SubPlan>,
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
        self.note_params(&e);
        for a in &aggregates[known..] {
            self.note_aggregated(a);
        }
        Ok(e)
    }

    /// `a = b` of two bound expressions.
    pub(crate) fn equality(&self, a: Expr, b: Expr) -> Result<Expr, SqlError> {
        let comparer = Comparer::choose(&a.ty, &b.ty, self.ctx.cx.collation, "=")?;
        let nullable = a.ty.nullable || b.ty.nullable;
        Ok(Expr {
            node: Node::Compare(CmpOp::Eq, comparer, Box::new([a, b])),
            ty: ExprType::truth(nullable),
        })
    }

    /// The schema that a name of a table means.
    ///
    /// # Errors
    /// 1046 without one.
    pub(crate) fn schema_of<'n>(&'n self, name: &'n ast::ObjectName) -> Result<&'n str, SqlError> {
        let schema = name.schema.as_deref().or(self.ctx.schema);
        schema.ok_or_else(SqlError::no_db)
    }

    /// The table of a name, where it may be used so.
    ///
    /// # Errors
    /// 1046 without a schema, 1142 where it may not be used so, 1146 or 1109 where it is not there.
    pub(crate) fn named_table(
        &self,
        name: &ast::ObjectName,
        usage: Usage,
    ) -> Result<TableSource, SqlError> {
        let schema = self.schema_of(name)?;
        if let Some(v) = self.ctx.names.virtual_table(schema, &name.name) {
            self.guard_virtual(v.guard(), schema, &name.name, usage)?;
            return Ok(TableSource::Virtual(v));
        }
        if self.ctx.names.is_virtual_schema(schema) {
            // MySQL makes the tables of information_schema up, and stores those of performance_schema.
            if schema.eq_ignore_ascii_case("information_schema") {
                return Err(SqlError::unknown_table(&name.name, schema));
            }
            self.guard_table(schema, &name.name, usage)?;
            return Err(SqlError::no_such_table(schema, &name.name));
        }
        self.guard_table(schema, &name.name, usage)?;
        match self.ctx.catalog.table(schema, &name.name) {
            Some(t) => {
                self.use_table(&t);
                Ok(TableSource::Engine(t))
            }
            None => Err(self.ctx.catalog.why_no_table(schema, &name.name)),
        }
    }

    /// The stored table of a name, as the target of a change.
    pub(crate) fn stored_table(
        &self,
        name: &ast::ObjectName,
        usage: Usage,
    ) -> Result<Arc<Table>, SqlError> {
        match self.named_table(name, usage)? {
            TableSource::Engine(t) => Ok(t),
            _ => {
                let schema = name.schema.as_deref().or(self.ctx.schema);
                Err(self.ctx.security.no_db(schema.unwrap_or("")))
            }
        }
    }

    fn use_table(&self, t: &Arc<Table>) {
        let mut tables = self.tables.borrow_mut();
        if !tables.iter().any(|o| Arc::ptr_eq(o, t)) {
            tables.push(Arc::clone(t));
        }
    }

    /// Plans a subquery of an expression.
    pub(crate) fn subquery(
        &self,
        query: &ast::Query,
        kind: SubqueryKind,
        names: &Names<'_>,
    ) -> Result<(SubPlan, Vec<ExprType>), SqlError> {
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
            mask::outer_columns(&plan, first, &mut outer);
        }
        let sub = SubPlan {
            query: plan,
            kind,
            correlated,
            outer,
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
        Ok(DefaultPlan::Expr(self.bind(
            e,
            Clause::FieldList,
            &names,
            &mut Vec::new(),
        )?))
    }

    /// The names of a single stored table at a slot.
    pub(crate) fn table_names(&self, table: &Arc<Table>, slot: u16) -> Names<'static> {
        let name: Arc<str> = table.def.name.as_str().into();
        Names {
            tables: vec![scope::FromTable {
                source: TableSource::Engine(Arc::clone(table)),
                schema: table.def.schema.as_str().into(),
                alias: Arc::clone(&name),
                name,
                slot,
                hints: Vec::new(),
                derived: Vec::new(),
                outer_joined: false,
                seen: None,
                shown: OnceCell::new(),
            }],
            ..Names::default()
        }
    }
}

impl QueryPlan {
    /// A query of one block.
    pub(crate) fn of_block(block: Block, types: Vec<ExprType>, lowest: u16) -> QueryPlan {
        QueryPlan {
            body: Body::Block(Box::new(block)),
            types,
            order: Vec::new(),
            limit: None,
            into: Vec::new(),
            lowest,
        }
    }
}

impl Block {
    /// A block that yields one row of nothing.
    pub(crate) fn empty(base: u16) -> Block {
        Block {
            base,
            tables: Vec::new(),
            derived: Vec::new(),
            steps: Vec::new(),
            spool: None,
            constant: Vec::new(),
            group: None,
            having: None,
            output: Vec::new(),
            distinct: false,
            order: Vec::new(),
            limit: None,
            calc_found_rows: false,
            subqueries: Vec::new(),
            row_subqueries: Vec::new(),
            group_subqueries: Vec::new(),
            special: false,
            yields: Yields::Shown,
            plain: None,
        }
    }
}
