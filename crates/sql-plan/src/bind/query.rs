//! Queries as a whole: set operations, VALUES, TABLE, nested queries, WITH, and the ORDER BY and LIMIT around them.

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
use crate::sink::ColumnMeta;
use sql_access::Priv;
use sql_access::needs::Need;
use sql_expr::bind::Clause;
use sql_expr::{Coercibility, Expr, ExprType, Node, Shape, infer};
use sql_parser::ast;

/// Makes the columns that a query is to yield besides its own, from its names.
pub(crate) type MoreColumns<'a> = &'a mut dyn FnMut(&Names<'_>) -> Result<Vec<Expr>, SqlError>;

/// An operand of a set operation behind the first.
pub(super) struct Operand {
    /// The operation.
    pub op: ast::SetOp,
    /// ALL.
    pub all: bool,
    /// Its query.
    pub query: BoundQuery,
    /// Its columns.
    pub columns: Vec<ColumnMeta>,
}

impl StatementBinder<'_> {
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
        self.with_ctes(q.with.as_deref(), || self.query_body(q, parent, more))
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
                        shared: None,
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

    pub(super) fn operand(
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
        let first = self.operand(&s.first, parent)?;
        let term = |term: &ast::SetTerm| {
            let (query, columns) = self.operand(&term.body, parent)?;
            Ok(Operand {
                op: term.op,
                all: term.all,
                query,
                columns,
            })
        };
        let rest = s.rest.iter().map(term);
        self.united(first, rest.collect::<Result<_, SqlError>>()?)
    }

    /// The set operation of bound operands, left to right.
    pub(super) fn united(
        &self,
        (mut first, mut columns): (BoundQuery, Vec<ColumnMeta>),
        rest: Vec<Operand>,
    ) -> Result<(BoundQuery, Vec<ColumnMeta>), SqlError> {
        let mut types = first.types.clone();
        let mut lowest = first.lowest;
        let mut arms = Vec::with_capacity(rest.len());
        for term in rest {
            let Operand {
                op,
                all,
                query,
                columns: theirs,
            } = term;
            if query.types.len() != types.len() {
                return Err(SqlError::fixed(codes::ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT));
            }
            for (t, o) in types.iter_mut().zip(&query.types) {
                *t = infer::common(&[t, o], self.ctx.cx.collation, "UNION")?;
            }
            for (c, other) in columns.iter_mut().zip(&theirs) {
                c.of_function |= other.of_function;
            }
            lowest = lowest.min(query.lowest);
            arms.push(SetArm { op, all, query });
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
        if arms.is_empty() {
            return Ok((first, columns));
        }
        let plan = BoundQuery {
            body: Body::Set(Box::new(first), arms),
            types,
            order: Vec::new(),
            limit: None,
            into: Destination::Client,
            lowest,
            shared: None,
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
            // It is a table of its own: a block reads it.
            Body::Recursive(_) | Body::Feed(_) | Body::Json(_) => {}
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
        if rows.iter().any(Vec::is_empty) {
            return Err(SqlError::fixed(
                codes::ER_TABLE_VALUE_CONSTRUCTOR_MUST_HAVE_COLUMNS,
            ));
        }
        if rows.iter().flatten().any(|e| *e == ast::Expr::Default) {
            return Err(SqlError::fixed(
                codes::ER_TABLE_VALUE_CONSTRUCTOR_CANNOT_HAVE_DEFAULT,
            ));
        }
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
            shared: None,
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
