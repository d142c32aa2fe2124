//! Queries as a whole: set operations, VALUES, TABLE, nested queries, WITH, and the ORDER BY and LIMIT around them.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use types::SqlError;
use types::error::codes;
use types::keyenc::KeyPart;
use types::{Charset, DataType, IntWidth};

use super::StatementBinder;
use super::names::Names;
use super::over::{over, whole_of};
use super::scope::{DerivedColumn, FromTable};
use super::tree::{
    Body, BoundQuery, BoundSub, Destination, FileForm, IntoFile, LimitPlan, OUTPUT_SLOT, SetArm,
    SortKey,
};
use crate::access::Priv;
use crate::access::needs::Need;
use crate::sink::ColumnMeta;
use sql_expr::bind::Clause;
use sql_expr::{Coercibility, Expr, ExprType, Node, Shape, infer};
use sql_parser::ast;

/// The common table expressions in sight, innermost last.
#[derive(Default)]
pub(crate) struct Ctes {
    list: RefCell<Vec<Arc<ast::Cte>>>,
    /// How many names are being followed, one in another.
    reading: Cell<u32>,
    /// Query blocks planned so far because a name stands for them.
    planned: Cell<u32>,
}

impl Ctes {
    /// What is planned from here on is planned because a name stands for it.
    pub(crate) fn begin_by_name(&self) {
        self.reading.set(self.reading.get() + 1);
    }

    /// The end of what [`begin_by_name`](Self::begin_by_name) began.
    pub(crate) fn end_by_name(&self) {
        self.reading.set(self.reading.get() - 1);
    }
}

/// Most query blocks that names may stand for in a statement.
const MAX_BLOCKS_BY_NAME: u32 = 4096;

/// Makes the columns that a query is to yield besides its own, from its names.
pub(crate) type MoreColumns<'a> = &'a mut dyn FnMut(&Names<'_>) -> Result<Vec<Expr>, SqlError>;

/// A common table expression that a name stands for.
pub(crate) struct CteRef {
    /// Its definition.
    pub def: Arc<ast::Cte>,
    /// Its place in the list: its own query sees only those before.
    pub place: usize,
}

impl StatementBinder<'_> {
    /// Counts a query that is planned, where it is so through a name: the text bounds all others, but two that each read twice what
    /// comes before them are four.
    fn count_block(&self) -> Result<(), SqlError> {
        if self.ctes.reading.get() == 0 {
            return Ok(());
        }
        let n = self.ctes.planned.get() + 1;
        self.ctes.planned.set(n);
        if n > MAX_BLOCKS_BY_NAME {
            return Err(SqlError::not_supported(
                "statements of more than 4096 query blocks, counting each use of a common table expression or select item",
            ));
        }
        Ok(())
    }

    /// The common table expression of that name.
    pub(crate) fn cte(&self, name: &str) -> Option<CteRef> {
        let list = self.ctes.list.borrow();
        let place = list
            .iter()
            .rposition(|c| super::names::same_name(&c.name, name))?;
        Some(CteRef {
            def: Arc::clone(&list[place]),
            place,
        })
    }

    /// Hides the common table expressions from `place` on, while one of them is planned.
    pub(crate) fn hide_ctes_from(&self, place: usize) -> Vec<Arc<ast::Cte>> {
        self.ctes.begin_by_name();
        self.ctes.list.borrow_mut().split_off(place)
    }

    /// Shows them again.
    pub(crate) fn show_ctes(&self, hidden: Vec<Arc<ast::Cte>>) {
        self.ctes.end_by_name();
        self.ctes.list.borrow_mut().extend(hidden);
    }

    /// Plans a query; yields its columns too.
    pub(crate) fn query(
        &self,
        q: &ast::Query,
        parent: Option<&Names<'_>>,
    ) -> Result<(BoundQuery, Vec<ColumnMeta>), SqlError> {
        refuse_into(q)?;
        self.query_and_more(q, parent, None)
    }

    /// Plans a query that yields more columns than it says, where it is a single block of rows as they are read.
    pub(crate) fn query_and_more(
        &self,
        q: &ast::Query,
        parent: Option<&Names<'_>>,
        more: Option<MoreColumns<'_>>,
    ) -> Result<(BoundQuery, Vec<ColumnMeta>), SqlError> {
        self.ctx.cx.tick(256)?;
        let _deeper = self.ctx.cx.deeper_query()?;
        self.count_block()?;
        let known = self.ctes.list.borrow().len();
        if let Some(w) = &q.with {
            if w.recursive {
                return Err(SqlError::not_supported("WITH RECURSIVE"));
            }
            for (i, c) in w.ctes.iter().enumerate() {
                if w.ctes[..i]
                    .iter()
                    .any(|before| super::names::same_name(&before.name, &c.name))
                {
                    return Err(SqlError::new(
                        codes::ER_NONUNIQ_TABLE,
                        format!("Not unique table/alias: '{}'", c.name),
                    ));
                }
            }
            let mut list = self.ctes.list.borrow_mut();
            list.extend(w.ctes.iter().cloned());
        }
        let planned = self.query_body(q, parent, more);
        self.ctes.list.borrow_mut().truncate(known);
        planned
    }

    fn query_body(
        &self,
        q: &ast::Query,
        parent: Option<&Names<'_>>,
        more: Option<MoreColumns<'_>>,
    ) -> Result<(BoundQuery, Vec<ColumnMeta>), SqlError> {
        let limit = q.limit.as_deref();
        match &q.body {
            ast::QueryBody::Select(s) => {
                self.select(s, &q.order_by, limit, &q.locking, parent, more)
            }
            ast::QueryBody::Table(name) => {
                let s = table_select(name);
                self.select(&s, &q.order_by, limit, &q.locking, parent, more)
            }
            ast::QueryBody::Nested(inner) if q.order_by.is_empty() && limit.is_none() => {
                self.query_and_more(inner, parent, more)
            }
            body => {
                let (mut plan, columns) = self.operand(body, parent)?;
                if !matches!(plan.body, Body::Set(..) | Body::Rows(..))
                    || !plan.order.is_empty()
                    || plan.limit.is_some()
                {
                    let types = plan.types.clone();
                    let lowest = plan.lowest;
                    plan = BoundQuery {
                        body: Body::Set(Box::new(plan), Vec::new()),
                        types,
                        order: Vec::new(),
                        limit: None,
                        into: Destination::Client,
                        lowest,
                    };
                }
                let mut subqueries = Vec::new();
                let first = self.take_slots(1)?;
                let names = output_names(first, &plan.types, &columns, parent);
                let order = self.output_order(&q.order_by, &names, &mut subqueries)?;
                if subqueries.is_empty() {
                    plan.order = order.into_iter().map(|k| of_output(k, first)).collect();
                    plan.limit = self.limit(limit)?;
                } else {
                    let lowest = names.lowest.get();
                    let mut block = whole_of(names);
                    block.order = order;
                    block.subqueries = subqueries;
                    block.limit = self.limit(limit)?;
                    plan = over(plan, block, lowest);
                }
                Ok((plan, columns))
            }
        }
    }

    fn operand(
        &self,
        body: &ast::QueryBody,
        parent: Option<&Names<'_>>,
    ) -> Result<(BoundQuery, Vec<ColumnMeta>), SqlError> {
        match body {
            ast::QueryBody::Select(s) => self.select(s, &[], None, &[], parent, None),
            ast::QueryBody::Table(name) => {
                self.select(&table_select(name), &[], None, &[], parent, None)
            }
            ast::QueryBody::Nested(q) => self.query(q, parent),
            ast::QueryBody::Values(rows) => self.values(rows, parent),
            ast::QueryBody::Set(s) => self.set_operation(s, parent),
        }
    }

    fn set_operation(
        &self,
        s: &ast::SetOperation,
        parent: Option<&Names<'_>>,
    ) -> Result<(BoundQuery, Vec<ColumnMeta>), SqlError> {
        let (mut first, mut columns) = self.operand(&s.first, parent)?;
        let mut types = first.types.clone();
        let mut lowest = first.lowest;
        let mut arms = Vec::with_capacity(s.rest.len());
        for term in &s.rest {
            let (query, theirs) = self.operand(&term.body, parent)?;
            if query.types.len() != types.len() {
                return Err(SqlError::new(
                    codes::ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT,
                    "The used SELECT statements have a different number of columns",
                ));
            }
            for (t, o) in types.iter_mut().zip(&query.types) {
                *t = infer::common(&[t, o], self.ctx.cx.collation, "UNION")?;
            }
            for (c, other) in columns.iter_mut().zip(&theirs) {
                c.of_function |= other.of_function;
            }
            lowest = lowest.min(query.lowest);
            arms.push(SetArm {
                op: term.op,
                all: term.all,
                query,
            });
        }
        // Rows are compared by one collation, also where all of them are kept.
        if types
            .iter()
            .any(|t| t.is_text() && t.coercibility == Coercibility::Mixed)
        {
            return Err(SqlError::new(
                codes::ER_CANT_AGGREGATE_NCOLLATIONS,
                "Illegal mix of collations for operation 'UNION'",
            ));
        }
        self.coerce(&mut first, &types);
        for a in &mut arms {
            self.coerce(&mut a.query, &types);
        }
        for (c, t) in columns.iter_mut().zip(&types) {
            *c = ColumnMeta {
                of_function: c.of_function,
                ..ColumnMeta::computed(&c.name, t.to_data_type(), t.nullable)
            };
        }
        let plan = BoundQuery {
            body: Body::Set(Box::new(first), arms),
            types,
            order: Vec::new(),
            limit: None,
            into: Destination::Client,
            lowest,
        };
        Ok((plan, columns))
    }

    /// Makes a query's columns have these types.
    fn coerce(&self, q: &mut BoundQuery, types: &[ExprType]) {
        let cx = self.ctx.cx;
        let row = |exprs: &mut Vec<Expr>| {
            for (e, t) in exprs.iter_mut().zip(types) {
                let old = std::mem::replace(e, Expr::null());
                *e = old.coerced_to(t, cx);
            }
        };
        match &mut q.body {
            Body::Block(b) => {
                row(&mut b.output);
            }
            Body::Rows(rows, _) => rows.iter_mut().for_each(row),
            Body::Set(first, arms) => {
                self.coerce(first, types);
                for a in arms {
                    self.coerce(&mut a.query, types);
                }
            }
        }
        q.types = types.to_vec();
    }

    fn values(
        &self,
        rows: &[Vec<ast::Expr>],
        parent: Option<&Names<'_>>,
    ) -> Result<(BoundQuery, Vec<ColumnMeta>), SqlError> {
        let names = Names {
            parent,
            ..Names::default()
        };
        let mut subqueries: Vec<BoundSub> = Vec::new();
        let mut bound: Vec<Vec<Expr>> = Vec::with_capacity(rows.len());
        let mut types: Vec<ExprType> = Vec::new();
        for (i, row) in rows.iter().enumerate() {
            let row = row
                .iter()
                .map(|e| self.bind(e, Clause::FieldList, &names, &mut subqueries))
                .collect::<Result<Vec<_>, _>>()?;
            if i == 0 {
                types = row.iter().map(|e| e.ty).collect();
            } else if row.len() != types.len() {
                return Err(SqlError::value_count_mismatch(i as u64 + 1));
            }
            for (t, e) in types.iter_mut().zip(&row) {
                *t = infer::common(&[t, &e.ty], self.ctx.cx.collation, "VALUES")?;
            }
            bound.push(row);
        }
        let columns = types
            .iter()
            .enumerate()
            .map(|(i, t)| ColumnMeta {
                of_function: true,
                ..ColumnMeta::computed(&format!("column_{i}"), t.to_data_type(), t.nullable)
            })
            .collect();
        let mut plan = BoundQuery {
            body: Body::Rows(bound, subqueries),
            types: Vec::new(),
            order: Vec::new(),
            limit: None,
            into: Destination::Client,
            lowest: names.lowest.get().0,
        };
        self.coerce(&mut plan, &types);
        Ok((plan, columns))
    }

    /// ORDER BY over a query's own columns.
    ///
    /// # Errors
    /// 1250 for a name of a table, 3028 for an aggregate.
    fn output_order(
        &self,
        order: &[ast::OrderItem],
        names: &Names<'_>,
        subqueries: &mut Vec<BoundSub>,
    ) -> Result<Vec<SortKey>, SqlError> {
        let mut keys = Vec::with_capacity(order.len());
        for (i, o) in order.iter().enumerate() {
            let expr = match &o.expr {
                ast::Expr::Int(n) => {
                    let i = position(*n, names.tables[0].len())
                        .ok_or_else(|| SqlError::unknown_column(&n.to_string(), "order clause"))?;
                    names.tables[0].column_expr(i)
                }
                ast::Expr::Column(c) if c.qualifier.is_some() => {
                    let table = c.qualifier.as_ref().map_or("", |q| &q.table);
                    return Err(SqlError::new(
                        codes::ER_TABLENAME_NOT_ALLOWED_HERE,
                        format!(
                            "Table '{table}' from one of the SELECTs cannot be used in global ORDER clause"
                        ),
                    ));
                }
                e => {
                    let mut aggregates = Vec::new();
                    let clause = Clause::OrderBy;
                    let e = self.bind_grouped(e, clause, names, subqueries, &mut aggregates)?;
                    if !aggregates.is_empty() || !names.from_below.borrow().is_empty() {
                        let n = i + 1;
                        return Err(SqlError::new(
                            codes::ER_AGGREGATE_ORDER_FOR_UNION,
                            format!(
                                "Expression #{n} of ORDER BY contains aggregate function and applies to the result of a UNION"
                            ),
                        ));
                    }
                    e
                }
            };
            if !expr.is_row_constant() {
                keys.push(sort_key(expr, o.desc));
            }
        }
        Ok(keys)
    }

    /// LIMIT.
    pub(crate) fn limit(&self, limit: Option<&ast::Limit>) -> Result<Option<LimitPlan>, SqlError> {
        let Some(l) = limit else { return Ok(None) };
        let names = Names::default();
        let bind = |e: &ast::Expr| self.bind(e, Clause::Elsewhere, &names, &mut Vec::new());
        Ok(Some(LimitPlan {
            count: bind(&l.count)?,
            offset: l.offset.as_ref().map(bind).transpose()?,
        }))
    }

    /// INTO; the columns that the client is told of.
    pub(crate) fn bind_into(
        &self,
        q: &ast::Query,
        plan: &mut BoundQuery,
        columns: Vec<ColumnMeta>,
    ) -> Result<Vec<ColumnMeta>, SqlError> {
        let (path, form) = match q.into.as_deref() {
            None => return Ok(columns),
            Some(ast::SelectInto::Variables(vars)) => {
                plan.into = Destination::Variables(into_variables(vars, columns.len())?);
                return Ok(Vec::new());
            }
            Some(ast::SelectInto::Dumpfile(path)) => (path, FileForm::Dump),
            Some(ast::SelectInto::Outfile {
                path,
                charset,
                format,
            }) => {
                let charset = charset.as_deref().map(|name| {
                    Charset::by_name(name).ok_or_else(|| SqlError::unknown_charset(name))
                });
                let form = FileForm::Lines {
                    charset: charset.transpose()?,
                    format: format.clone(),
                };
                (path, form)
            }
        };
        self.require(Need::Server(Priv::File))?;
        plan.into = Destination::File(Arc::new(IntoFile {
            path: path.clone(),
            columns,
            form,
        }));
        Ok(Vec::new())
    }
}

/// INTO belongs to the statement's own query.
///
/// # Errors
/// 3954.
pub(super) fn refuse_into(q: &ast::Query) -> Result<(), SqlError> {
    match q.into {
        None => Ok(()),
        Some(_) => Err(SqlError::fixed(codes::ER_MISPLACED_INTO)),
    }
}

/// The variables of INTO @a, @b.
fn into_variables(vars: &[ast::IntoVariable], columns: usize) -> Result<Vec<Box<str>>, SqlError> {
    let name = |v: &ast::IntoVariable| match v {
        ast::IntoVariable::User(name) => Ok(name.clone()),
        ast::IntoVariable::Local(c) => Err(SqlError::new(
            codes::ER_SP_UNDECLARED_VAR,
            format!("Undeclared variable: {}", c.name),
        )),
    };
    let names: Vec<Box<str>> = vars.iter().map(name).collect::<Result<_, _>>()?;
    if names.len() == columns {
        Ok(names)
    } else {
        Err(SqlError::new(
            codes::ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT,
            "The used SELECT statements have a different number of columns",
        ))
    }
}

/// The columns of a query as names, the first of one table at that slot.
fn output_names<'s>(
    slot: u16,
    types: &[ExprType],
    columns: &[ColumnMeta],
    parent: Option<&'s Names<'s>>,
) -> Names<'s> {
    let column = |(c, t): (&ColumnMeta, &ExprType)| DerivedColumn {
        name: c.name.as_str().into(),
        ty: *t,
        data_type: c.ty.clone(),
        of_function: c.of_function,
    };
    Names {
        tables: vec![FromTable::unnamed(
            slot,
            columns.iter().zip(types).map(column).collect(),
        )],
        parent,
        ..Names::default()
    }
}

/// A sort key of a query's rows, read where the set operation has them.
fn of_output(mut k: SortKey, slot: u16) -> SortKey {
    fn moved(e: &mut Expr, slot: u16) {
        match &mut e.node {
            Node::Column(c) if c.slot == slot => c.slot = OUTPUT_SLOT,
            _ => e.each_child_mut(&mut |x| moved(x, slot)),
        }
    }
    moved(&mut k.expr, slot);
    k
}

/// A position of ORDER BY or GROUP BY as an index.
pub(crate) fn position(n: u64, columns: usize) -> Option<usize> {
    let i = usize::try_from(n).ok()?.checked_sub(1)?;
    (i < columns).then_some(i)
}

/// How a value sorts.
pub(crate) fn sort_key(expr: Expr, desc: bool) -> SortKey {
    let ty = match expr.ty.shape {
        Shape::Enum { .. } => DataType::int(IntWidth::Small, true),
        Shape::Set { .. } | Shape::Bit(_) | Shape::Year => DataType::UBIGINT,
        // Computed values may exceed what their type shows.
        Shape::Int { unsigned, .. } => DataType::int(IntWidth::Big, unsigned),
        Shape::Float { .. } => DataType::DOUBLE,
        Shape::Decimal { scale, .. } => DataType::decimal(65, scale),
        Shape::Time(_) => DataType::Time(6),
        Shape::DateTime(_) | Shape::Timestamp(_) => DataType::DateTime(6),
        _ => expr.ty.to_data_type(),
    };
    SortKey {
        desc,
        part: KeyPart {
            ty,
            nullable: true,
            prefix: 0,
            descending: desc,
        },
        expr,
    }
}

/// `TABLE t` as the SELECT it stands for.
pub(crate) fn table_select(name: &ast::ObjectName) -> ast::Select {
    ast::Select {
        number: 0,
        hints: ast::Hints::default(),
        options: ast::SelectOptions::default(),
        items: vec![ast::SelectItem::Wildcard(None)],
        from: vec![ast::TableRef::Table(Box::new(ast::TableFactor {
            name: name.clone(),
            alias: None,
            partitions: Vec::new(),
            hints: Vec::new(),
        }))],
        selection: None,
        group_by: Vec::new(),
        rollup: false,
        having: None,
        windows: Vec::new(),
    }
}
