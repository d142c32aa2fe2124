//! FROM: tables get their slots, derived tables and common table expressions their plans, and joins become a list of conditions
//! with the outer join each belongs to.
//!
//! An outer join opens a *nest*: the tables of its inner side, which are extended with NULLs together. Nest 0 is the block
//! itself. `a RIGHT JOIN b` is `b LEFT JOIN a` with the columns in the written order.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use types::SqlError;
use types::error::codes;

use super::StatementBinder;
use super::guard::Usage;
use super::hinted::Strategies;
use super::names::{Listed, Lowest, Names, same_name};
use super::scope::{DerivedColumn, FromTable};
use super::source::{TableGuard, TableSource};
use super::tree::{BoundQuery, BoundSub};
use sql_expr::bind::Clause;
use sql_expr::{CmpOp, Comparer, Expr, ExprType, Node};
use sql_parser::ast;

/// A condition and the nest it belongs to.
#[derive(Clone)]
pub(crate) struct Cond {
    /// The condition.
    pub expr: Expr,
    /// 0 for WHERE and inner joins of the block.
    pub nest: u16,
}

/// What a nest does with the combinations before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NestKind {
    /// Each stays; where nothing matches, the nest's tables are NULL.
    Outer,
    /// Each with a match stays, once.
    Semi,
    /// Each without a match stays.
    Anti,
}

/// An outer join, semi-join or anti-join.
#[derive(Clone)]
pub(crate) struct Nest {
    /// What it does.
    pub kind: NestKind,
    /// The nest around it.
    pub parent: u16,
    /// Tables (bits, by place in FROM) that must have been read before it.
    pub needs: u64,
    /// How it may be carried out, where it is a semi-join.
    pub strategies: Strategies,
}

/// The joins of a block.
#[derive(Default, Clone)]
pub(crate) struct Joins {
    /// The nest of each table.
    pub nest_of: Vec<u16>,
    /// The nests; the first is the block.
    pub nests: Vec<Nest>,
    /// Conditions so far.
    pub conds: Vec<Cond>,
    /// Tables that must come before each table (STRAIGHT_JOIN).
    pub after: Vec<u64>,
}

impl Joins {
    /// Makes the tables of a nest part of the nest around it; its conditions are the caller's.
    pub fn dissolve(&mut self, n: u16) {
        let parent = self.nests[usize::from(n)].parent;
        for t in self.nest_of.iter_mut().filter(|t| **t == n) {
            *t = parent;
        }
        for x in self.nests.iter_mut().filter(|x| x.parent == n) {
            x.parent = parent;
        }
        self.nests[usize::from(n)] = Nest {
            kind: NestKind::Outer,
            parent: n,
            needs: u64::MAX,
            strategies: Strategies::ALL,
        };
    }

    /// Whether a nest is another one or lies in it.
    pub fn is_within(&self, mut nest: u16, outer: u16) -> bool {
        loop {
            if nest == outer {
                return true;
            }
            match self.nests.get(usize::from(nest)).map(|n| n.parent) {
                Some(parent) if parent != nest => nest = parent,
                _ => return false,
            }
        }
    }

    /// One table more.
    pub fn add_table(&mut self, nest: u16) {
        if self.nests.is_empty() {
            self.nests.push(Nest {
                kind: NestKind::Outer,
                parent: 0,
                needs: 0,
                strategies: Strategies::ALL,
            });
        }
        self.nest_of.push(nest);
        self.after.push(0);
    }
}

/// What binding FROM fills in.
pub(crate) struct FromState<'a, 's> {
    /// The names.
    pub names: &'a mut Names<'s>,
    /// Plans of derived tables.
    pub derived: &'a mut Vec<BoundQuery>,
    /// Subqueries of ON conditions.
    pub subqueries: &'a mut Vec<BoundSub>,
    /// The joins.
    pub joins: &'a mut Joins,
    /// First slot of the block.
    pub base: u16,
    /// What the statement does with the tables.
    pub usage: Usage,
    /// Some join has USING or is NATURAL, so that lists of columns are kept.
    pub by_name: bool,
}

/// An operand of a join, or the result of one.
struct Operand {
    /// The places of its tables.
    tables: Range<usize>,
    /// Its columns in the order of `*`; empty where no join of the block goes by names.
    columns: Vec<Listed>,
}

/// Most tables of a block: their sets are words.
const MAX_TABLES: usize = 61;

fn count(list: &[ast::TableRef]) -> usize {
    list.iter()
        .map(|r| match r {
            ast::TableRef::Join(j) => {
                count(std::slice::from_ref(&j.left)) + count(std::slice::from_ref(&j.right))
            }
            ast::TableRef::List(l) => count(l),
            _ => 1,
        })
        .sum()
}

/// Whether a join of the list goes by the names of columns.
fn joins_by_name(list: &[ast::TableRef]) -> bool {
    list.iter().any(|r| match r {
        ast::TableRef::Join(j) => {
            matches!(
                j.condition,
                ast::JoinCondition::Using(_) | ast::JoinCondition::Natural
            ) || joins_by_name(std::slice::from_ref(&j.left))
                || joins_by_name(std::slice::from_ref(&j.right))
        }
        ast::TableRef::List(l) => joins_by_name(l),
        _ => false,
    })
}

impl StatementBinder<'_> {
    /// Binds the tables of FROM and their ON conditions.
    pub(crate) fn bind_from(
        &self,
        from: &[ast::TableRef],
        st: &mut FromState<'_, '_>,
    ) -> Result<(), SqlError> {
        let n = count(from);
        if n > MAX_TABLES {
            return Err(SqlError::new(
                codes::ER_TOO_MANY_TABLES,
                format!("Too many tables; MySQL can only use {MAX_TABLES} tables in a join"),
            ));
        }
        st.base = self.take_slots(n as u16)?;
        st.joins.nests.push(Nest {
            kind: NestKind::Outer,
            parent: 0,
            needs: 0,
            strategies: Strategies::ALL,
        });
        st.by_name = joins_by_name(from);
        let mut columns = Vec::new();
        for r in from {
            columns.append(&mut self.table_ref(r, 0, st)?.columns);
        }
        st.names.columns = st.by_name.then_some(columns);
        Ok(())
    }

    /// Binds one reference.
    fn table_ref(
        &self,
        r: &ast::TableRef,
        nest: u16,
        st: &mut FromState<'_, '_>,
    ) -> Result<Operand, SqlError> {
        let start = st.names.tables.len();
        let mut columns = Vec::new();
        match r {
            ast::TableRef::Table(f) => {
                let t = self.table_factor(f, st)?;
                add(t, nest, st)?;
            }
            ast::TableRef::Derived(d) => {
                if d.lateral {
                    return Err(SqlError::not_supported("LATERAL"));
                }
                let t = self.derived_table(&d.query, &d.alias, &d.columns, st)?;
                add(t, nest, st)?;
            }
            ast::TableRef::JsonTable(_) => return Err(SqlError::not_supported("JSON_TABLE")),
            ast::TableRef::List(l) => {
                for r in l {
                    columns.append(&mut self.table_ref(r, nest, st)?.columns);
                }
            }
            ast::TableRef::Join(j) => return self.join(j, nest, st),
        }
        if st.by_name && !matches!(r, ast::TableRef::List(_)) {
            columns.extend(st.names.tables[start..].iter().flat_map(FromTable::listed));
        }
        Ok(Operand {
            tables: start..st.names.tables.len(),
            columns,
        })
    }

    fn join(
        &self,
        j: &ast::Join,
        nest: u16,
        st: &mut FromState<'_, '_>,
    ) -> Result<Operand, SqlError> {
        let outer = matches!(j.kind, ast::JoinKind::Left | ast::JoinKind::Right);
        let new_nest = st.joins.nests.len() as u16;
        if outer {
            st.joins.nests.push(Nest {
                kind: NestKind::Outer,
                parent: nest,
                needs: 0,
                strategies: Strategies::ALL,
            });
        }
        let (left_nest, right_nest) = match j.kind {
            ast::JoinKind::Left => (nest, new_nest),
            ast::JoinKind::Right => (new_nest, nest),
            _ => (nest, nest),
        };
        let left = self.table_ref(&j.left, left_nest, st)?;
        let right = self.table_ref(&j.right, right_nest, st)?;
        match j.kind {
            ast::JoinKind::Left => st.joins.nests[usize::from(new_nest)].needs = mask(&left.tables),
            ast::JoinKind::Right => {
                st.joins.nests[usize::from(new_nest)].needs = mask(&right.tables);
            }
            ast::JoinKind::Straight => {
                for t in right.tables.clone() {
                    st.joins.after[t] |= mask(&left.tables);
                }
            }
            ast::JoinKind::Inner => {}
        }
        let tables = left.tables.start..right.tables.end;
        let inner = match j.kind {
            ast::JoinKind::Left => Some(right.tables.clone()),
            ast::JoinKind::Right => Some(left.tables.clone()),
            _ => None,
        };
        let belongs = if outer { new_nest } else { nest };
        let (on, columns) = self.join_condition(j, left, right, st)?;
        for mut e in on {
            st.names.zero_as_null(&mut e, belongs);
            push_conjuncts(e, belongs, &mut st.joins.conds);
        }
        for t in &mut st.names.tables[inner.unwrap_or(0..0)] {
            t.outer_joined = true;
        }
        Ok(Operand { tables, columns })
    }

    /// Binds the condition of a join; yields its members and the columns of the result.
    fn join_condition(
        &self,
        j: &ast::Join,
        left: Operand,
        right: Operand,
        st: &mut FromState<'_, '_>,
    ) -> Result<(Vec<Expr>, Vec<Listed>), SqlError> {
        let wanted = match &j.condition {
            ast::JoinCondition::Using(columns) => Some(&columns[..]),
            ast::JoinCondition::Natural => None,
            ast::JoinCondition::None | ast::JoinCondition::On(_) => {
                let slot = |table: usize| st.base + table as u16;
                let visible = slot(left.tables.start)..slot(right.tables.end);
                let mut columns = left.columns;
                columns.extend(right.columns);
                let ast::JoinCondition::On(e) = &j.condition else {
                    return Ok((Vec::new(), columns));
                };
                let seen = st.by_name.then(|| columns.clone());
                let tables = st.names.visible.replace(visible);
                let listed = std::mem::replace(&mut st.names.columns, seen);
                let bound = self.bind(e, Clause::On, st.names, st.subqueries);
                st.names.visible = tables;
                st.names.columns = listed;
                return Ok((vec![bound?], columns));
            }
        };
        // `a RIGHT JOIN b` is `b LEFT JOIN a`: its columns come in that order.
        let (first, second) = match j.kind {
            ast::JoinKind::Right => (&right.columns, &left.columns),
            _ => (&left.columns, &right.columns),
        };
        let common = self
            .common_columns(wanted, first, second, st.names)
            .map_err(|(name, e)| {
                let c = ast::ColumnRef {
                    name: name.into(),
                    qualifier: None,
                };
                self.hide_column(st.names, &c, e)
            })?;
        let mut on = Vec::with_capacity(common.len());
        for &(a, b) in &common {
            let (l, r) = match j.kind {
                ast::JoinKind::Right => (b, a),
                _ => (a, b),
            };
            on.push(self.equality(listed_expr(st.names, l)?, listed_expr(st.names, r)?)?);
        }
        let mut columns: Vec<Listed> = common.iter().map(|c| c.0).collect();
        let merged = |l: &Listed| common.iter().any(|(a, b)| a == l || b == l);
        columns.extend(first.iter().chain(second).filter(|l| !merged(l)));
        Ok((on, columns))
    }

    /// The columns that two operands have in common, in the order of the first: those that USING names, or all for NATURAL.
    ///
    /// # Errors
    /// 1052 for a name that stands for two columns of an operand, 1054 for one that is not in both.
    fn common_columns(
        &self,
        wanted: Option<&[ast::Name]>,
        first: &[Listed],
        second: &[Listed],
        names: &Names<'_>,
    ) -> Result<Vec<(Listed, Listed)>, (String, SqlError)> {
        let ambiguous = |name: &str| {
            let e = SqlError::ambiguous_column(name, "from clause");
            (name.to_owned(), e)
        };
        let mut common: Vec<(Listed, Listed)> = Vec::new();
        for &a in first {
            let Some((name, hidden)) = listed_name(names, a) else {
                continue;
            };
            let meant = match wanted {
                Some(list) => list.iter().any(|w| same_name(w, name)),
                None => !hidden,
            };
            if !meant {
                continue;
            }
            let looked_at = second.len() + common.len();
            let ticked = self.ctx.cx.tick(8 * looked_at);
            ticked.map_err(|e| (String::new(), e))?;
            let mut there = second.iter().filter(|&&b| {
                listed_name(names, b)
                    .is_some_and(|(n, h)| same_name(n, name) && (wanted.is_some() || !h))
            });
            let Some(&b) = there.next() else { continue };
            let twice = common
                .iter()
                .any(|(c, _)| listed_name(names, *c).is_some_and(|(n, _)| same_name(n, name)));
            if there.next().is_some() || twice {
                return Err(ambiguous(name));
            }
            common.push((a, b));
        }
        for w in wanted.unwrap_or(&[]) {
            let found = common
                .iter()
                .any(|(c, _)| listed_name(names, *c).is_some_and(|(n, _)| same_name(n, w)));
            if !found {
                let e = SqlError::unknown_column(w, "from clause");
                return Err((w.to_string(), e));
            }
        }
        Ok(common)
    }

    fn table_factor(
        &self,
        f: &ast::TableFactor,
        st: &mut FromState<'_, '_>,
    ) -> Result<FromTable, SqlError> {
        let alias = f.alias.as_ref().unwrap_or(&f.name.name);
        if f.name.schema.is_none()
            && let Some(cte) = self.cte(&f.name.name)
        {
            return self.cte_table(&cte, alias, st);
        }
        if !f.partitions.is_empty() {
            return Err(SqlError::new(
                codes::ER_PARTITION_CLAUSE_ON_NONPARTITIONED,
                "PARTITION () clause on non partitioned table",
            ));
        }
        let source = self.named_table(&f.name, alias, st.usage)?;
        let schema = self.schema_of(&f.name)?;
        let (schema, name): (Arc<str>, Arc<str>) = match &source {
            TableSource::Virtual(v) => (schema.to_lowercase().into(), v.name().into()),
            _ => (schema.into(), (*f.name.name).into()),
        };
        let alias = match &f.alias {
            Some(alias) => (**alias).into(),
            None if *name == *f.name.name => Arc::clone(&name),
            None => (*f.name.name).into(),
        };
        let watched = match &source {
            TableSource::Virtual(v) => v.guard() == TableGuard::Granted,
            _ => true,
        };
        let seen = watched.then(|| self.watch(&schema, &name));
        Ok(FromTable {
            source,
            schema,
            alias,
            name,
            slot: st.base + st.names.tables.len() as u16,
            hints: f.hints.clone(),
            hinted: None,
            block: 0,
            derived: Vec::new(),
            outer_joined: false,
            seen,
            shown: OnceCell::new(),
        })
    }

    fn derived_table(
        &self,
        query: &ast::Query,
        alias: &str,
        columns: &[ast::Name],
        st: &mut FromState<'_, '_>,
    ) -> Result<FromTable, SqlError> {
        let (plan, outputs) = self.query(query, st.names.parent)?;
        if !columns.is_empty() && columns.len() != outputs.len() {
            return Err(SqlError::new(
                codes::ER_VIEW_WRONG_LIST,
                "In definition of view, derived table or common table expression, SELECT list and column names list have different column counts",
            ));
        }
        let mut derived: Vec<DerivedColumn> = Vec::with_capacity(outputs.len());
        for (i, o) in outputs.into_iter().enumerate() {
            let name = columns
                .get(i)
                .cloned()
                .unwrap_or_else(|| o.name.as_str().into());
            if derived.iter().any(|d| same_name(&d.name, &name)) {
                return Err(SqlError::dup_column(&name));
            }
            let mut ty = plan.types[i];
            // What is computed there is a column here.
            if ty.is_text() {
                ty.coercibility = sql_expr::Coercibility::Implicit;
                ty.ascii = false;
            }
            // A TIMESTAMP of a derived table is in the session's zone.
            if let sql_expr::Shape::Timestamp(f) = ty.shape {
                ty.shape = sql_expr::Shape::DateTime(f);
            }
            derived.push(DerivedColumn {
                name,
                ty,
                data_type: o.ty,
            });
        }
        if plan.lowest != u16::MAX {
            let lowest = st.names.lowest.get().min(Lowest(plan.lowest));
            st.names.lowest.set(lowest);
        }
        let number = st.derived.len() as u32;
        st.derived.push(plan);
        Ok(FromTable {
            source: TableSource::Derived(number),
            schema: "".into(),
            alias: alias.into(),
            name: alias.into(),
            slot: st.base + st.names.tables.len() as u16,
            hints: Vec::new(),
            hinted: None,
            block: 0,
            derived,
            outer_joined: false,
            seen: None,
            shown: OnceCell::new(),
        })
    }

    fn cte_table(
        &self,
        cte: &super::query::CteRef,
        alias: &str,
        st: &mut FromState<'_, '_>,
    ) -> Result<FromTable, SqlError> {
        let hidden = self.hide_ctes_from(cte.place);
        let t = self.derived_table(&cte.def.query, alias, &cte.def.columns, st);
        self.show_ctes(hidden);
        t
    }
}

/// The name of a column, and whether `*` leaves it out.
fn listed_name<'n>(names: &'n Names<'_>, l: Listed) -> Option<(&'n str, bool)> {
    let t = names.table(l.slot)?;
    let i = usize::from(l.ordinal);
    Some((t.column_name(i), t.invisible(i)))
}

fn listed_expr(names: &Names<'_>, l: Listed) -> Result<Expr, SqlError> {
    let t = names.table(l.slot);
    let t = t.ok_or_else(|| SqlError::internal("no such table in FROM"))?;
    Ok(t.column_expr(usize::from(l.ordinal)))
}

fn add(t: FromTable, nest: u16, st: &mut FromState<'_, '_>) -> Result<(), SqlError> {
    let twice = st
        .names
        .tables
        .iter()
        .any(|o| o.alias == t.alias && o.schema == t.schema);
    if twice {
        return Err(SqlError::new(
            codes::ER_NONUNIQ_TABLE,
            format!("Not unique table/alias: '{}'", t.alias),
        ));
    }
    st.names.tables.push(t);
    st.joins.add_table(nest);
    Ok(())
}

/// The bits of a range of tables.
pub(crate) fn mask(r: &Range<usize>) -> u64 {
    r.clone().fold(0, |m, i| m | 1 << i)
}

/// Adds the members of a conjunction as conditions of their own.
pub(crate) fn push_conjuncts(e: Expr, nest: u16, out: &mut Vec<Cond>) {
    match e.node {
        Node::And(parts) => parts.into_iter().for_each(|p| push_conjuncts(p, nest, out)),
        _ => match equal_members(&e) {
            Some(parts) => parts.into_iter().for_each(|p| push_conjuncts(p, nest, out)),
            None => out.push(Cond { expr: e, nest }),
        },
    }
}

/// `(a, b) = (x, y)` as `a = x`, `b = y`, which hold together where it does; `None` for what is not that.
fn equal_members(e: &Expr) -> Option<Vec<Expr>> {
    let Node::Compare(CmpOp::Eq, comparer, p) = &e.node else {
        return None;
    };
    row_equals(&p[0], &p[1], comparer, &e.ty)
}

/// The equalities of the members of two rows, each of type `ty`; `None` where they are not written as rows.
pub(crate) fn row_equals(
    a: &Expr,
    b: &Expr,
    comparer: &Comparer,
    ty: &ExprType,
) -> Option<Vec<Expr>> {
    let (Node::Row(a), Node::Row(b), Comparer::Row(parts)) = (&a.node, &b.node, comparer) else {
        return None;
    };
    let members = a.iter().zip(b).zip(parts);
    let equal = |((a, b), c): ((&Expr, &Expr), &Comparer)| Expr {
        node: Node::Compare(CmpOp::Eq, c.clone(), Box::new([a.clone(), b.clone()])),
        ty: *ty,
    };
    Some(members.map(equal).collect())
}
