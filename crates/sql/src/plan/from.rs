//! FROM: tables get their slots, derived tables and common table expressions their plans, and joins become a list of conditions
//! with the outer join each belongs to.
//!
//! An outer join opens a *nest*: the tables of its inner side, which are extended with NULLs together. Nest 0 is the block
//! itself. `a RIGHT JOIN b` is `b LEFT JOIN a` with the columns in the written order.

use types::SqlError;

use super::Planner;
use super::guard::Usage;
use super::scope::{DerivedColumn, FromTable, Merged, Names, same_name};
use super::source::{TableGuard, TableSource};
use super::tree::{QueryPlan, SubPlan};
use crate::expr::bind::Clause;
use crate::expr::{CmpOp, Comparer, Expr, ExprType, Node};
use crate::parse::ast;

/// A condition and the nest it belongs to.
pub(crate) struct Cond {
    /// The condition.
    pub expr: Expr,
    /// 0 for WHERE and inner joins of the block.
    pub nest: u16,
}

/// An outer join.
pub(crate) struct Nest {
    /// The nest around it.
    pub parent: u16,
    /// Tables (bits, by place in FROM) that must have been read before it.
    pub needs: u64,
}

/// The joins of a block.
#[derive(Default)]
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

/// What binding FROM fills in.
pub(crate) struct FromState<'a, 's> {
    /// The names.
    pub names: &'a mut Names<'s>,
    /// Plans of derived tables.
    pub derived: &'a mut Vec<QueryPlan>,
    /// Subqueries of ON conditions.
    pub subqueries: &'a mut Vec<SubPlan>,
    /// The joins.
    pub joins: &'a mut Joins,
    /// First slot of the block.
    pub base: u16,
    /// What the statement does with the tables.
    pub usage: Usage,
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

impl Planner<'_> {
    /// Binds the tables of FROM and their ON conditions.
    pub(crate) fn bind_from(
        &self,
        from: &[ast::TableRef],
        st: &mut FromState<'_, '_>,
    ) -> Result<(), SqlError> {
        let n = count(from);
        if n > MAX_TABLES {
            return Err(SqlError::new(
                1116,
                format!("Too many tables; MySQL can only use {MAX_TABLES} tables in a join"),
            ));
        }
        st.base = self.take_slots(n as u16)?;
        st.joins.nests.push(Nest {
            parent: 0,
            needs: 0,
        });
        for r in from {
            self.table_ref(r, 0, st)?;
        }
        Ok(())
    }

    /// Binds one reference; yields the places of its tables.
    fn table_ref(
        &self,
        r: &ast::TableRef,
        nest: u16,
        st: &mut FromState<'_, '_>,
    ) -> Result<std::ops::Range<usize>, SqlError> {
        let start = st.names.tables.len();
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
                    self.table_ref(r, nest, st)?;
                }
            }
            ast::TableRef::Join(j) => self.join(j, nest, st)?,
        }
        Ok(start..st.names.tables.len())
    }

    fn join(&self, j: &ast::Join, nest: u16, st: &mut FromState<'_, '_>) -> Result<(), SqlError> {
        let outer = matches!(j.kind, ast::JoinKind::Left | ast::JoinKind::Right);
        let new_nest = st.joins.nests.len() as u16;
        if outer {
            st.joins.nests.push(Nest {
                parent: nest,
                needs: 0,
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
            ast::JoinKind::Left => st.joins.nests[usize::from(new_nest)].needs = mask(&left),
            ast::JoinKind::Right => st.joins.nests[usize::from(new_nest)].needs = mask(&right),
            ast::JoinKind::Straight => {
                for t in right.clone() {
                    st.joins.after[t] |= mask(&left);
                }
            }
            ast::JoinKind::Inner => {}
        }
        let visible = st.base + left.start as u16..st.base + right.end as u16;
        let on = self.join_condition(j, &left, &right, visible, st)?;
        let belongs = if outer { new_nest } else { nest };
        for e in on {
            push_conjuncts(e, belongs, &mut st.joins.conds);
        }
        if outer {
            let inner = if j.kind == ast::JoinKind::Left {
                right
            } else {
                left
            };
            for t in &mut st.names.tables[inner] {
                t.outer_joined = true;
            }
        }
        Ok(())
    }

    fn join_condition(
        &self,
        j: &ast::Join,
        left: &std::ops::Range<usize>,
        right: &std::ops::Range<usize>,
        visible: std::ops::Range<u16>,
        st: &mut FromState<'_, '_>,
    ) -> Result<Vec<Expr>, SqlError> {
        match &j.condition {
            ast::JoinCondition::None => Ok(Vec::new()),
            ast::JoinCondition::On(e) => {
                let saved = st.names.visible.replace(visible);
                let bound = self.bind(e, Clause::On, st.names, st.subqueries);
                st.names.visible = saved;
                Ok(vec![bound?])
            }
            ast::JoinCondition::Using(columns) => self.using(j.kind, columns, left, right, st),
            ast::JoinCondition::Natural => {
                let mut common: Vec<ast::Name> = Vec::new();
                for t in &st.names.tables[left.clone()] {
                    for i in (0..t.len()).filter(|&i| !t.invisible(i)) {
                        let name = t.column_name(i);
                        let there = st.names.tables[right.clone()]
                            .iter()
                            .any(|r| r.find(name).is_some_and(|i| !r.invisible(i)));
                        if there && !common.iter().any(|c| same_name(c, name)) {
                            common.push(name.into());
                        }
                    }
                }
                self.using(j.kind, &common, left, right, st)
            }
        }
    }

    fn using(
        &self,
        kind: ast::JoinKind,
        columns: &[ast::Name],
        left: &std::ops::Range<usize>,
        right: &std::ops::Range<usize>,
        st: &mut FromState<'_, '_>,
    ) -> Result<Vec<Expr>, SqlError> {
        let mut on = Vec::new();
        let mut fresh = Vec::new();
        for name in columns {
            let (l, lm) = self.side(name, left, st)?;
            let (r, rm) = self.side(name, right, st)?;
            on.push(self.equality(l.clone(), r.clone())?);
            let expr = if kind == ast::JoinKind::Right { r } else { l };
            let mut members = lm;
            members.extend(rm);
            st.names
                .merged
                .retain(|m| !m.members.iter().any(|x| members.contains(x)));
            fresh.push(Merged {
                name: name.clone(),
                expr,
                members,
            });
        }
        st.names.merged.extend(fresh);
        Ok(on)
    }

    /// The column of one side that USING names, and all columns it stands for.
    fn side(
        &self,
        name: &str,
        tables: &std::ops::Range<usize>,
        st: &FromState<'_, '_>,
    ) -> Result<(Expr, Vec<(u16, u16)>), SqlError> {
        let slots = st.base + tables.start as u16..st.base + tables.end as u16;
        let merged =
            st.names.merged.iter().find(|m| {
                same_name(&m.name, name) && m.members.iter().all(|c| slots.contains(&c.0))
            });
        if let Some(m) = merged {
            return Ok((m.expr.clone(), m.members.clone()));
        }
        let mut found = None;
        for t in &st.names.tables[tables.clone()] {
            if let Some(i) = t.find(name) {
                if found.is_some() {
                    return Err(SqlError::ambiguous_column(name, "from clause"));
                }
                found = Some((t.column_expr(i), vec![(t.slot, i as u16)]));
            }
        }
        found.ok_or_else(|| SqlError::unknown_column(name, "from clause"))
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
                1747,
                "PARTITION () clause on non partitioned table",
            ));
        }
        let (source, schema) = self.named_table(&f.name, st.usage)?;
        let name: Box<str> = match &source {
            TableSource::Virtual(v) => v.name().into(),
            _ => f.name.name.clone(),
        };
        let watched = match &source {
            TableSource::Virtual(v) => v.guard() == TableGuard::Granted,
            _ => true,
        };
        let seen = watched.then(|| self.watch(&schema, &name));
        Ok(FromTable {
            source,
            schema,
            alias: alias.clone(),
            name,
            slot: st.base + st.names.tables.len() as u16,
            hints: f.hints.clone(),
            derived: Vec::new(),
            outer_joined: false,
            seen,
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
                1353,
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
                ty.coercibility = crate::expr::Coercibility::Implicit;
                ty.ascii = false;
            }
            // A TIMESTAMP of a derived table is in the session's zone.
            if let crate::expr::Shape::Timestamp(f) = ty.shape {
                ty.shape = crate::expr::Shape::DateTime(f);
            }
            derived.push(DerivedColumn {
                name,
                ty,
                data_type: o.ty,
            });
        }
        if plan.lowest != u16::MAX {
            let lowest = st.names.lowest.get().min(super::scope::Lowest(plan.lowest));
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
            derived,
            outer_joined: false,
            seen: None,
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

fn add(t: FromTable, nest: u16, st: &mut FromState<'_, '_>) -> Result<(), SqlError> {
    let twice = st
        .names
        .tables
        .iter()
        .any(|o| o.alias == t.alias && o.schema == t.schema);
    if twice {
        return Err(SqlError::new(
            1066,
            format!("Not unique table/alias: '{}'", t.alias),
        ));
    }
    st.names.tables.push(t);
    st.joins.nest_of.push(nest);
    st.joins.after.push(0);
    Ok(())
}

/// The bits of a range of tables.
pub(crate) fn mask(r: &std::ops::Range<usize>) -> u64 {
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
