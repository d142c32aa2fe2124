//! The query of a view as it is kept. What each name means is noted while the query is bound, by the node that names it; afterwards every
//! name is written out, `*` becomes its columns, and joins by common names their conditions.
//!
//! Never here: a decision about what a name means.

use std::collections::HashMap;

use sql_parser::ast::{
    self, BinaryOp, ColumnRef, Join, JoinCondition, JoinKind, JsonTableColumn, Part, Qualifier,
    QueryBody, Select, SelectItem, TableRef,
};

/// A column by its complete name.
#[derive(Clone)]
pub(crate) struct FullName {
    /// None of a table under another name.
    schema: Option<Box<str>>,
    table: Box<str>,
    column: Box<str>,
}

impl FullName {
    /// Of a column of a table that the query calls `alias`.
    pub(crate) fn new(schema: &str, name: &str, alias: &str, column: &str) -> FullName {
        let own = alias == name && !schema.is_empty();
        FullName {
            schema: own.then(|| schema.into()),
            table: alias.into(),
            column: column.into(),
        }
    }

    fn column_ref(&self) -> ColumnRef {
        let qualifier = || {
            Box::new(Qualifier {
                schema: self.schema.clone(),
                table: self.table.clone(),
            })
        };
        ColumnRef {
            name: self.column.clone(),
            // What a query in parentheses or a UNION gives is of no table.
            qualifier: (!self.table.is_empty()).then(qualifier),
        }
    }

    fn expr(&self) -> ast::Expr {
        ast::Expr::Column(self.column_ref())
    }
}

/// What names mean, by the addresses of their nodes in the tree. The tree stays where it is until they are written out.
#[derive(Default)]
pub(crate) struct Meanings {
    pub(super) columns: HashMap<usize, FullName>,
    pub(super) stars: HashMap<usize, Vec<FullName>>,
    pub(super) titles: HashMap<usize, Box<str>>,
    pub(super) tables: HashMap<usize, Box<str>>,
    pub(super) joins: HashMap<usize, Vec<(FullName, FullName)>>,
    pub(super) json: HashMap<usize, Vec<JsonTableColumn>>,
}

/// Where a node stands.
pub(super) fn place<T>(node: &T) -> usize {
    std::ptr::from_ref(node).addr()
}

impl Meanings {
    /// Writes everything out.
    pub(crate) fn write_out(&self, query: &mut ast::Query) {
        query.walk_parts_mut(&mut |part| match part {
            Part::Table(f) => {
                if let Some(schema) = self.tables.get(&place(f)) {
                    f.name.schema = Some(schema.clone());
                }
                if f.alias.as_ref().is_some_and(|a| **a == *f.name.name) {
                    f.alias = None;
                }
            }
            Part::Expr(e) => {
                if let Some(c) = e.column_mut()
                    && let Some(full) = self.columns.get(&place(c))
                {
                    *c = full.column_ref();
                }
            }
            Part::Reference(TableRef::Join(j)) => self.join(j),
            Part::Reference(TableRef::JsonTable(j)) => {
                if let Some(columns) = self.json.get(&place(&**j)) {
                    j.columns.clone_from(columns);
                }
            }
            Part::Select(s) => self.select(s),
            _ => {}
        });
        let numbered = first_columns(&query.body);
        for o in &mut query.order_by {
            by_name(&mut o.expr, &numbered);
        }
    }

    fn join(&self, j: &mut Join) {
        if let Some(pairs) = self.joins.get(&place(j)) {
            let equal = |(a, b): &(FullName, FullName)| {
                ast::Expr::Binary(BinaryOp::Eq, Box::new(a.expr()), Box::new(b.expr()))
            };
            let mut all: Vec<ast::Expr> = pairs.iter().map(equal).collect();
            j.condition = match all.len() {
                0 if j.kind == JoinKind::Inner => JoinCondition::None,
                0 => JoinCondition::On(ast::Expr::Int(1)),
                1 => JoinCondition::On(all.remove(0)),
                _ => JoinCondition::On(ast::Expr::And(all)),
            };
        }
        if j.kind == JoinKind::Right {
            j.kind = JoinKind::Left;
            std::mem::swap(&mut j.left, &mut j.right);
        }
    }

    fn select(&self, s: &mut Select) {
        let mut items = Vec::with_capacity(s.items.len());
        let old: Vec<(usize, Option<Box<str>>)> = s
            .items
            .iter()
            .map(|i| (place(i), self.titles.get(&place(i)).cloned()))
            .collect();
        for (item, (at, title)) in std::mem::take(&mut s.items).into_iter().zip(old) {
            match item {
                SelectItem::Wildcard(_) => {
                    let columns = self.stars.get(&at).into_iter().flatten();
                    items.extend(columns.map(|c| SelectItem::Expr {
                        expr: c.expr(),
                        name: c.column.clone(),
                        aliased: true,
                    }));
                }
                SelectItem::Expr { expr, name, .. } => items.push(SelectItem::Expr {
                    expr,
                    name: title.unwrap_or(name),
                    aliased: true,
                }),
            }
        }
        s.items = items;
        let numbered = columns_of(s);
        for g in &mut s.group_by {
            by_name(g, &numbered);
        }
        let mut from = std::mem::take(&mut s.from).into_iter().map(joined);
        if let Some(first) = from.next() {
            s.from = vec![from.fold(first, cross_join)];
        }
    }
}

/// `a, b` as a join.
fn cross_join(left: TableRef, right: TableRef) -> TableRef {
    TableRef::Join(Box::new(Join {
        left,
        right,
        kind: JoinKind::Inner,
        condition: JoinCondition::None,
    }))
}

/// Lists of tables as joins.
fn joined(t: TableRef) -> TableRef {
    match t {
        TableRef::List(list) => {
            let mut list = list.into_iter().map(joined);
            match list.next() {
                Some(first) => list.fold(first, cross_join),
                None => TableRef::List(Vec::new()),
            }
        }
        TableRef::Join(mut j) => {
            j.left = joined(j.left);
            j.right = joined(j.right);
            TableRef::Join(j)
        }
        t => t,
    }
}

/// The select items that are columns, by position.
fn columns_of(s: &Select) -> Vec<Option<ColumnRef>> {
    let column = |i: &SelectItem| match i {
        SelectItem::Expr {
            expr: ast::Expr::Column(c),
            ..
        } => Some(c.clone()),
        _ => None,
    };
    s.items.iter().map(column).collect()
}

fn first_columns(body: &QueryBody) -> Vec<Option<ColumnRef>> {
    match body {
        QueryBody::Select(s) => columns_of(s),
        _ => Vec::new(),
    }
}

/// A position as the column that stands there. What is computed keeps its position.
fn by_name(e: &mut ast::Expr, columns: &[Option<ColumnRef>]) {
    let ast::Expr::Int(n) = e else { return };
    let at = usize::try_from(*n).ok().and_then(|n| n.checked_sub(1));
    if let Some(Some(c)) = at.and_then(|i| columns.get(i)) {
        *e = ast::Expr::Column(c.clone());
    }
}
