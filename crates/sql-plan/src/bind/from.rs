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
use super::ctes::CteRef;
use super::guard::Usage;
use super::hinted::Strategies;
use super::names::{Listed, Lowest, Names, same_name};
pub(crate) use super::nests::{Cond, Joins, Nest, NestKind, mask, push_conjuncts, row_equals};
use super::scope::{DerivedColumn, FromTable};
use super::source::{TableGuard, TableSource};
use super::tree::{BoundQuery, BoundSub};
use crate::sink::ColumnMeta;
use sql_expr::Expr;
use sql_expr::bind::Clause;
use sql_parser::ast;

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
    /// The place in the block of the first table of `names`: not 0 in a view that becomes part of the block.
    pub first: usize,
    /// Some join has USING or is NATURAL, so that lists of columns are kept.
    pub by_name: bool,
    /// Views that can be written through become part of the block.
    pub expands: bool,
    /// A view around has a CASCADED CHECK OPTION.
    pub cascaded: bool,
}

impl FromState<'_, '_> {
    /// The slot of the table that comes next.
    pub fn slot(&self) -> u16 {
        self.base + (self.first + self.names.tables.len()) as u16
    }
}

/// An operand of a join, or the result of one.
pub(super) struct Operand {
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
            return Err(too_many());
        }
        // A view may bring more than one.
        let more = st.expands && self.names_a_view(from);
        let slots = if more { MAX_TABLES } else { n };
        st.base = self.take_slots(slots as u16)?;
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

    /// Whether one of the tables is a view.
    fn names_a_view(&self, list: &[ast::TableRef]) -> bool {
        list.iter().any(|r| match r {
            ast::TableRef::Table(f) => {
                let schema = f.name.schema.as_deref().or(self.ctx.schema);
                schema.is_some_and(|s| {
                    !self.is_own(s, &f.name.name)
                        && self.ctx.catalog.view(s, &f.name.name).is_some()
                })
            }
            ast::TableRef::Join(j) => {
                self.names_a_view(std::slice::from_ref(&j.left))
                    || self.names_a_view(std::slice::from_ref(&j.right))
            }
            ast::TableRef::List(l) => self.names_a_view(l),
            _ => false,
        })
    }

    /// Binds one reference.
    pub(super) fn table_ref(
        &self,
        r: &ast::TableRef,
        nest: u16,
        st: &mut FromState<'_, '_>,
    ) -> Result<Operand, SqlError> {
        let start = st.names.tables.len();
        let mut columns = Vec::new();
        match r {
            ast::TableRef::Table(f) => self.named_or_view(f, nest, st)?,
            ast::TableRef::Derived(d) => {
                if d.lateral {
                    self.lateral_table(d, nest, st)?;
                } else {
                    let bound = self.query(&d.query, st.names.parent)?;
                    let t = self.derived_of(bound, &d.alias, &d.columns, st)?;
                    add(t, nest, st)?;
                }
            }
            ast::TableRef::JsonTable(j) => self.json_table(j, nest, st)?,
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
            tables: st.first + start..st.first + st.names.tables.len(),
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
            ast::JoinKind::Left => {
                st.joins.nests[usize::from(new_nest)].needs |= mask(&left.tables);
            }
            ast::JoinKind::Right => {
                self.refuse_sideways(&left.tables, &right.tables, st)?;
                st.joins.nests[usize::from(new_nest)].needs |= mask(&right.tables);
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
        let inner = inner.unwrap_or(st.first..st.first);
        for t in &mut st.names.tables[inner.start - st.first..inner.end - st.first] {
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
        self.join_means(j, || {
            let full = |l: Listed| {
                let t = st.names.table(l.slot)?;
                Some(t.full_name(usize::from(l.ordinal)))
            };
            let pairs = common.iter();
            pairs.filter_map(|(a, b)| full(*a).zip(full(*b))).collect()
        });
        let mut on = Vec::with_capacity(common.len());
        for &(a, b) in &common {
            let (l, r) = match j.kind {
                ast::JoinKind::Right => (b, a),
                _ => (a, b),
            };
            let side = |at| listed_expr(st.names, at, wanted.is_some());
            on.push(self.equality(side(l)?, side(r)?)?);
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

    pub(super) fn table_factor(
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
        self.table_is_of(f, schema);
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
            slot: st.slot(),
            hints: f.hints.clone(),
            hinted: None,
            block: 0,
            derived: Vec::new(),
            outer_joined: false,
            view: None,
            hidden: false,
            seen,
            shown: OnceCell::new(),
            lateral: None,
        })
    }

    /// A derived table of a query that is bound.
    pub(super) fn derived_of(
        &self,
        (plan, outputs): (BoundQuery, Vec<ColumnMeta>),
        alias: &str,
        columns: &[ast::Name],
        st: &mut FromState<'_, '_>,
    ) -> Result<FromTable, SqlError> {
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
                of_function: o.of_function,
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
            slot: st.slot(),
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
        })
    }

    fn cte_table(
        &self,
        cte: &CteRef,
        alias: &str,
        st: &mut FromState<'_, '_>,
    ) -> Result<FromTable, SqlError> {
        if let Some(own) = &cte.own {
            return self.own_rows(own, alias, st);
        }
        let shared = self.shared_rows_of(cte);
        let hidden = self.hide_ctes_from(cte.place);
        let bound = match cte.recursive {
            true => self.recursive_query(cte, st.names.parent),
            false => self.query(&cte.def.query, st.names.parent),
        };
        self.show_ctes(hidden);
        let (mut plan, outputs) = bound?;
        // What reads a row around it has other rows for each of those.
        if plan.lowest == u16::MAX {
            plan.shared = shared;
        }
        self.derived_of((plan, outputs), alias, &cte.def.columns, st)
    }
}

/// The name of a column, and whether `*` leaves it out.
fn listed_name<'n>(names: &'n Names<'_>, l: Listed) -> Option<(&'n str, bool)> {
    let t = names.table(l.slot)?;
    let i = usize::from(l.ordinal);
    Some((t.column_name(i), t.invisible(i)))
}

/// A column as an expression, which the statement names, or not.
fn listed_expr(names: &Names<'_>, l: Listed, named: bool) -> Result<Expr, SqlError> {
    let t = names.table(l.slot);
    let t = t.ok_or_else(|| SqlError::internal("no such table in FROM"))?;
    let i = usize::from(l.ordinal);
    Ok(match named {
        true => t.column_expr(i),
        false => t.listed_column_expr(i),
    })
}

fn too_many() -> SqlError {
    SqlError::new(
        codes::ER_TOO_MANY_TABLES,
        format!("Too many tables; MySQL can only use {MAX_TABLES} tables in a join"),
    )
}

/// Adds a table.
///
/// # Errors
/// 1066 for a second one of a name, 1116 for too many.
pub(super) fn add(t: FromTable, nest: u16, st: &mut FromState<'_, '_>) -> Result<(), SqlError> {
    if st.names.has_table(&t.schema, &t.alias) {
        return Err(SqlError::new(
            codes::ER_NONUNIQ_TABLE,
            format!("Not unique table/alias: '{}'", t.alias),
        ));
    }
    if st.first + st.names.tables.len() >= MAX_TABLES {
        return Err(too_many());
    }
    st.names.tables.push(t);
    st.joins.add_table(nest);
    Ok(())
}
