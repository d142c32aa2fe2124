//! Common table expressions that name themselves (WITH RECURSIVE): which of their queries begin, which go on from the rows that there
//! are, and what MySQL does not let these do.
//!
//! The rules are those of MySQL's manual, "Recursive Common Table Expressions": the queries that begin come first and give the columns
//! their types; the others name the table once, in their own FROM, outside of subqueries and of the inner side of outer joins, and
//! neither group, nor sort, nor leave rows out.
//!
//! Never here: how the rows are made.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use types::error::codes;
use types::{DataType, IntWidth, SqlError};

use super::StatementBinder;
use super::ctes::{CteRef, Own};
use super::from::FromState;
use super::names::Names;
use super::query::Operand;
use super::scope::FromTable;
use super::source::TableSource;
use super::tree::{Body, BoundBlock, BoundQuery, Destination, Recursive, Yields};
use crate::sink::ColumnMeta;
use sql_expr::{Coercibility, ExprType, Shape};
use sql_parser::ast;

impl Own {
    fn error(&self, code: u16) -> SqlError {
        let text = SqlError::fixed(code).message;
        SqlError::new(code, text.replace("%s", &self.def.name))
    }

    fn met_wrongly(&self) -> SqlError {
        self.error(codes::ER_CTE_RECURSIVE_REQUIRES_SINGLE_REFERENCE)
    }

    fn wrong_order(&self) -> SqlError {
        self.error(codes::ER_CTE_RECURSIVE_REQUIRES_NONRECURSIVE_FIRST)
    }
}

/// A query without the parentheses around it.
fn bare(mut q: &ast::Query) -> &ast::Query {
    while let ast::QueryBody::Nested(inner) = &q.body
        && q.with.is_none()
        && q.order_by.is_empty()
        && q.limit.is_none()
        && q.locking.is_empty()
    {
        q = inner;
    }
    q
}

impl StatementBinder<'_> {
    /// The query of a common table expression that may name itself.
    ///
    /// # Errors
    /// 3573 to 3577; 1235 for what MySQL does not have either.
    pub(super) fn recursive_query(
        &self,
        cte: &CteRef,
        parent: Option<&Names<'_>>,
    ) -> Result<(BoundQuery, Vec<ColumnMeta>), SqlError> {
        let own = Rc::new(Own {
            def: Arc::clone(&cte.def),
            met: Cell::new(0),
            level: Cell::new(None),
            feed: Cell::new(0),
            columns: RefCell::default(),
        });
        self.ctes.with_own(&own, || {
            // Most do not name themselves: the name fails where it is met.
            let bound = self.query(&cte.def.query, parent);
            match bound {
                Err(_) if own.met.take() > 0 => {
                    let _deeper = self.ctx.cx.deeper(types::depth::QUERY)?;
                    self.count_block()?;
                    let q = bare(&cte.def.query);
                    self.with_ctes(q.with.as_deref(), || self.iterated(&own, q, parent))
                }
                bound => bound,
            }
        })
    }

    /// What a common table expression's name stands for in its own query.
    pub(super) fn own_rows(
        &self,
        own: &Own,
        alias: &str,
        st: &mut FromState<'_, '_>,
    ) -> Result<FromTable, SqlError> {
        own.met.set(own.met.get() + 1);
        if own.level.get() != Some(self.ctes.level()) || own.met.get() > 1 {
            return Err(own.met_wrongly());
        }
        let (types, columns) = own.columns.borrow().clone();
        let rows = BoundQuery {
            body: Body::Feed(own.feed.get()),
            types,
            order: Vec::new(),
            limit: None,
            into: Destination::Client,
            lowest: u16::MAX,
            shared: None,
        };
        self.derived_of((rows, columns), alias, &own.def.columns, st)
    }

    fn iterated(
        &self,
        own: &Own,
        q: &ast::Query,
        parent: Option<&Names<'_>>,
    ) -> Result<(BoundQuery, Vec<ColumnMeta>), SqlError> {
        let ast::QueryBody::Set(set) = &q.body else {
            return Err(own.error(codes::ER_CTE_RECURSIVE_REQUIRES_UNION));
        };
        if !q.order_by.is_empty() {
            return Err(SqlError::not_supported(
                "ORDER BY over UNION in recursive Common Table Expression",
            ));
        }
        let mut first = None;
        let mut rest = Vec::new();
        let mut terms = set.rest.iter();
        // Those that begin, up to the first that names the table.
        let mut next: Option<(&ast::QueryBody, Option<&ast::SetTerm>)> = Some((&set.first, None));
        while let Some((body, term)) = next {
            match self.operand(body, parent) {
                Ok(bound) => match (&first, term) {
                    (Some(_), Some(ast::SetTerm { op, all, .. })) => rest.push(Operand {
                        op: *op,
                        all: *all,
                        query: bound.0,
                        columns: bound.1,
                    }),
                    _ => first = Some(bound),
                },
                Err(_) if own.met.take() > 0 => break,
                Err(e) => return Err(e),
            }
            next = terms.next().map(|t| (&t.body, Some(t)));
        }
        let Some(first) = first else {
            return Err(own.wrong_order());
        };
        let Some((_, Some(begins))) = next else {
            // It is named around them: in LIMIT.
            return Err(own.met_wrongly());
        };
        let going: Vec<&ast::SetTerm> = std::iter::once(begins).chain(terms).collect();
        let distinct = check_unions(own, &going)?;
        let (seed, columns) = self.united(first, rest)?;
        let mut types = seed.types.clone();
        for t in &mut types {
            t.nullable = true;
            if t.is_text() {
                t.coercibility = Coercibility::Implicit;
            }
        }
        let outputs = { columns.iter().zip(&types) }.map(|(c, t)| ColumnMeta {
            of_function: c.of_function,
            ..ColumnMeta::computed(&c.name, t.to_data_type(), true)
        });
        let mut outputs: Vec<ColumnMeta> = outputs.collect();
        for (c, t) in outputs.iter_mut().zip(&mut types) {
            if c.ty == DataType::Null {
                // As a table has it that is made of a NULL.
                c.ty = DataType::VarBinary(0);
                *t = ExprType::of_column(&c.ty, true);
            } else if let Shape::Int { unsigned, .. } = t.shape {
                // Numbers grow beyond the digits of what begins.
                c.ty = DataType::int(IntWidth::Big, unsigned);
                *t = ExprType::of_column(&c.ty, true);
            }
        }
        own.columns.replace((types.clone(), outputs.clone()));
        own.feed.set(self.take_slots(1)?);
        let stored: Vec<DataType> = outputs.iter().map(|c| c.ty.clone()).collect();
        let mut lowest = seed.lowest;
        let mut members = Vec::with_capacity(going.len());
        for term in going {
            let member = self.member(own, &term.body, &stored, parent)?;
            lowest = lowest.min(member.lowest);
            members.push(member);
        }
        let named = |(i, ty): (usize, DataType)| {
            let name = own.def.columns.get(i).cloned();
            (name.unwrap_or_else(|| outputs[i].name.as_str().into()), ty)
        };
        let plan = BoundQuery {
            body: Body::Recursive(Box::new(Recursive {
                seed,
                members,
                distinct,
                feed: own.feed.get(),
                columns: stored.into_iter().enumerate().map(named).collect(),
            })),
            types,
            order: Vec::new(),
            limit: self.limit(q.limit.as_deref())?,
            into: Destination::Client,
            lowest,
            shared: None,
        };
        Ok((plan, outputs))
    }

    /// A query that goes on from the rows that there are.
    fn member(
        &self,
        own: &Own,
        body: &ast::QueryBody,
        stored: &[DataType],
        parent: Option<&Names<'_>>,
    ) -> Result<BoundQuery, SqlError> {
        let refused = || {
            SqlError::not_supported(
                "ORDER BY / LIMIT / SELECT DISTINCT in recursive query block of Common Table Expression",
            )
        };
        let mut with = None;
        let mut body = body;
        while let ast::QueryBody::Nested(q) = body {
            if !q.order_by.is_empty() || q.limit.is_some() {
                return Err(refused());
            }
            if q.with.is_some() && with.is_some() {
                return Err(own.met_wrongly());
            }
            with = with.or(q.with.as_deref());
            body = &q.body;
        }
        if matches!(body, ast::QueryBody::Set(_)) {
            return Err(SqlError::not_supported(
                "a set operation as recursive query block of Common Table Expression",
            ));
        }
        own.met.set(0);
        let bound = self.with_ctes(with, || {
            own.level.set(Some(self.ctes.level()));
            self.operand(body, parent)
        });
        own.level.set(None);
        let (mut query, _) = bound?;
        if own.met.take() == 0 {
            return Err(own.wrong_order());
        }
        if query.types.len() != stored.len() {
            return Err(SqlError::fixed(codes::ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT));
        }
        let Body::Block(block) = &mut query.body else {
            return Err(own.met_wrongly());
        };
        if block.group.is_some() {
            return Err(own.error(codes::ER_CTE_RECURSIVE_FORBIDS_AGGREGATION));
        }
        if block.distinct || !block.order.is_empty() || block.limit.is_some() {
            return Err(refused());
        }
        self.comes_first(own, block)?;
        block.yields = Yields::Assigned(stored.to_vec());
        Ok(query)
    }

    /// Has the rows of the table read before all others: each iteration is about them.
    fn comes_first(&self, own: &Own, block: &mut BoundBlock) -> Result<(), SqlError> {
        let fed = |n: u32| matches!(block.derived[n as usize].body, Body::Feed(_));
        let place = block.tables.iter().position(|t| match t.source {
            TableSource::Derived(n) => fed(n),
            _ => false,
        });
        let Some(place) = place else {
            return Err(own.met_wrongly());
        };
        let joins = &mut block.joins;
        if joins.nest_of[place] != 0 || joins.after[place] != 0 || (block.straight && place != 0) {
            return Err(own.error(codes::ER_CTE_RECURSIVE_FORBIDDEN_JOIN_ORDER));
        }
        for (t, after) in joins.after.iter_mut().enumerate() {
            if t != place {
                *after |= 1 << place;
            }
        }
        Ok(())
    }
}

/// Whether the recursion has each row once: what the last UNION says.
fn check_unions(own: &Own, going: &[&ast::SetTerm]) -> Result<bool, SqlError> {
    if going.iter().any(|t| t.op != ast::SetOp::Union) {
        return Err(own.error(codes::ER_CTE_RECURSIVE_REQUIRES_UNION));
    }
    // The rows of those behind it would have to be known to it, and are not.
    match going.iter().rposition(|t| !t.all) {
        Some(last) if last + 1 < going.len() => Err(SqlError::not_supported(
            "recursive query blocks with UNION DISTINCT then UNION ALL, in recursive Common Table Expression",
        )),
        last => Ok(last.is_some()),
    }
}
