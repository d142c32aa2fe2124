//! The names of a query block: which column, select item or row of a surrounding block an identifier stands for.
//!
//! The rules are MySQL's (the manual, "Problems with Column Aliases", and what its resolver does):
//! - the select list, WHERE and ON see the columns of FROM;
//! - a whole member of ORDER BY is a select item before it is a column, a whole member of GROUP BY a column before it is a select item;
//! - inside an expression of either, and in an aggregate's argument in HAVING, a column of FROM comes before a select item;
//! - HAVING sees select items and the columns of GROUP BY, and where a name is both, the column of GROUP BY;
//! - what a block does not know is looked for in the block around it, there among its columns, then, unless its WHERE or ON is being
//!   bound, among its select items so far and the columns that it groups by. HAVING of a grouped block has no other columns.
//!
//! Table names and aliases compare by case, column names without.

use std::cell::{Cell, RefCell};
use std::ops::Range;

use types::SqlError;
use types::error::codes;

use super::met_window::MetWindow;
use super::scope::{FromTable, column_expr};
use super::select::Item;
use super::source::TableSource;
pub use super::spelling::same_name;
use super::view_names::ViewNames;
use super::zero_dates::{count_as_null, last_id_as_null};
use sql_expr::agg::AggSpec;
use sql_expr::bind::{Clause, Resolved, column_text};
use sql_expr::{EvalCtx, Expr, Node};
use sql_parser::ast;

/// A column of FROM as unqualified names and `*` see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Listed {
    /// The table's slot.
    pub slot: u16,
    /// The column's place in the table.
    pub ordinal: u16,
}

/// The names of a block.
#[derive(Default)]
pub(crate) struct Names<'s> {
    /// Tables of FROM.
    pub tables: Vec<FromTable>,
    /// Views of FROM whose tables are among those, hidden.
    pub views: Vec<ViewNames>,
    /// The columns of FROM, where USING or NATURAL make one of two; otherwise those of the tables in order.
    pub columns: Option<Vec<Listed>>,
    /// The select items bound so far.
    pub items: Vec<Item<'s>>,
    /// The select list as written, with what is still to be bound.
    pub list: &'s [ast::SelectItem],
    /// The columns of GROUP BY.
    pub grouped_by: Vec<Listed>,
    /// The block has groups, as far as it is bound.
    pub grouped: bool,
    /// While ON is bound: slots it may see.
    pub visible: Option<Range<u16>>,
    /// The block around it.
    pub parent: Option<&'s Names<'s>>,
    /// Which clause is being bound; `None` between them.
    pub clause: Cell<Option<Clause>>,
    /// An argument of an aggregate is being bound.
    pub in_aggregate: Cell<bool>,
    /// Lowest slot of a surrounding block that was named.
    pub lowest: Cell<Lowest>,
    /// Under which slot subqueries read this block's aggregates, once there is a subquery.
    pub aggregate_slot: Cell<Option<u16>>,
    /// The window functions met so far; `None` where there can be none.
    pub windows: Option<RefCell<Vec<MetWindow>>>,
    /// Aggregates of this block that stand in its subqueries: they come behind the block's own, from the place that each says.
    pub from_below: RefCell<Vec<AggSpec>>,
}

/// A slot number whose default is "none".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lowest(pub u16);

impl Default for Lowest {
    fn default() -> Lowest {
        Lowest(u16::MAX)
    }
}

/// What a name was found to be.
pub(crate) enum Denoted<'n> {
    /// A column or a value of this block.
    Here(Resolved),
    /// A column of a surrounding block.
    Around(Resolved),
    /// A select item of a surrounding block.
    ItemAround(&'n Names<'n>, &'n Item<'n>),
}

fn ambiguous(c: &ast::ColumnRef, clause: Clause) -> SqlError {
    SqlError::ambiguous_column(&column_text(c), clause.text())
}

impl<'s> Names<'s> {
    /// The table with a slot.
    pub fn table(&self, slot: u16) -> Option<&FromTable> {
        let first = self.tables.first()?.slot;
        self.tables.get(usize::from(slot.checked_sub(first)?))
    }

    /// What IS NULL finds for ODBC in the WHERE of the block itself: the zero date, and the last generated number where `sql_auto_is_null` is on.
    pub fn odbc_nulls(&self, cx: &EvalCtx<'_>, e: &mut Expr) {
        if cx.vars.hot().auto_is_null {
            last_id_as_null(e, &|slot, column| {
                self.table(slot).is_some_and(|t| match &t.source {
                    TableSource::Engine(table) => {
                        table.def.columns[usize::from(column)].auto_increment && !t.outer_joined
                    }
                    _ => false,
                })
            });
        }
        self.zero_as_null(e, 0);
    }

    /// Lets the zero date count as NULL in a condition of the block itself, which nest 0 is.
    pub fn zero_as_null(&self, e: &mut Expr, nest: u16) {
        if nest != 0 {
            return;
        }
        count_as_null(e, &|slot, column| {
            let t = self.table(slot)?;
            let TableSource::Engine(table) = &t.source else {
                return None;
            };
            let nullable = table.def.columns[usize::from(column)].nullable;
            (!nullable).then_some(t.outer_joined)
        });
    }

    /// Whether a column of a bound expression belongs to this block.
    fn own(&self, e: &Expr) -> Option<(&FromTable, usize)> {
        let Node::Column(c) = &e.node else {
            return None;
        };
        Some((self.table(c.slot)?, usize::from(c.ordinal)))
    }

    /// The columns of FROM in the order of `*`, invisible ones included.
    pub fn all_columns(&self) -> Vec<Listed> {
        match &self.columns {
            Some(list) => list.clone(),
            None => self.tables.iter().flat_map(FromTable::listed).collect(),
        }
    }

    /// Whether a table or view has that name here.
    pub fn has_table(&self, schema: &str, alias: &str) -> bool {
        let tables = self.tables.iter().filter(|t| !t.hidden);
        let mut names = tables.map(|t| (&*t.schema, &*t.alias));
        let mut views = self.views.iter().map(|v| (&*v.schema, &*v.alias));
        names.any(|n| n == (schema, alias)) || views.any(|n| n == (schema, alias))
    }

    /// What a name stands for among the columns of FROM, as something that is read.
    pub fn local(&self, c: &ast::ColumnRef, clause: Clause) -> Result<Option<Resolved>, SqlError> {
        if let Some((v, i)) = self.view_column(c, clause)? {
            v.seen.note(i, &v.columns[i].name);
            let base = v.columns[i].base();
            let base = base.and_then(|(slot, at)| Some((self.table(slot)?, usize::from(at))));
            return Ok(Some(match base {
                Some((t, at)) => Resolved::Column(t.resolved(at)),
                None => Resolved::Expr(v.columns[i].value.clone()),
            }));
        }
        let found = self.locate(c, clause)?;
        Ok(found.map(|(t, i)| {
            t.note_read(i);
            Resolved::Column(t.resolved(i))
        }))
    }

    /// The table and the place of the column of FROM that a name stands for.
    ///
    /// # Errors
    /// 1052 where it could be two.
    pub fn locate(
        &self,
        c: &ast::ColumnRef,
        clause: Clause,
    ) -> Result<Option<(&FromTable, usize)>, SqlError> {
        if let Some((v, i)) = self.view_column(c, clause)? {
            let base = v.columns[i].base();
            let base = base.and_then(|(slot, at)| Some((self.table(slot)?, usize::from(at))));
            return match base {
                Some(found) => Ok(Some(found)),
                None => Err(SqlError::new(
                    codes::ER_NONUPDATEABLE_COLUMN,
                    format!("Column '{}' is not updatable", v.columns[i].name),
                )),
            };
        }
        self.table_column(c, clause)
    }

    /// What a name stands for, without a need of the right to read it: a column that is only written.
    ///
    /// # Errors
    /// 1052 where it could be two.
    pub fn to_write(&self, c: &ast::ColumnRef, clause: Clause) -> Result<Option<Expr>, SqlError> {
        if let Some((v, i)) = self.view_column(c, clause)? {
            return Ok(Some(v.columns[i].value.clone()));
        }
        let found = self.table_column(c, clause)?;
        Ok(found.map(|(t, i)| column_expr(t.resolved(i))))
    }

    /// The view's column that a name stands for.
    ///
    /// # Errors
    /// 1052 where it could be two columns.
    pub fn view_column(
        &self,
        c: &ast::ColumnRef,
        clause: Clause,
    ) -> Result<Option<(&ViewNames, usize)>, SqlError> {
        if self.views.is_empty() {
            return Ok(None);
        }
        let sees = |v: &&ViewNames| self.visible.as_ref().is_none_or(|r| r.contains(&v.slot));
        let meant = |v: &&ViewNames| c.qualifier.as_ref().is_none_or(|q| v.answers_to(q));
        let views = self.views.iter().filter(sees).filter(meant);
        let mut found = views.filter_map(|v| Some((v, v.find(&c.name)?)));
        let Some(first) = found.next() else {
            return Ok(None);
        };
        if found.next().is_some() || self.table_column(c, clause)?.is_some() {
            return Err(ambiguous(c, clause));
        }
        Ok(Some(first))
    }

    /// The same among the tables.
    fn table_column(
        &self,
        c: &ast::ColumnRef,
        clause: Clause,
    ) -> Result<Option<(&FromTable, usize)>, SqlError> {
        let mut found: Option<(&FromTable, usize)> = None;
        let mut one_more = |t, i| match found.replace((t, i)) {
            Some(_) => Err(ambiguous(c, clause)),
            None => Ok(()),
        };
        if let (None, Some(list)) = (&c.qualifier, &self.columns) {
            for l in list {
                let i = usize::from(l.ordinal);
                if let Some(t) = self.table(l.slot)
                    && same_name(t.column_name(i), &c.name)
                {
                    one_more(t, i)?;
                }
            }
            return Ok(found);
        }
        let sees = |t: &&FromTable| self.visible.as_ref().is_none_or(|v| v.contains(&t.slot));
        for t in self.tables.iter().filter(sees).filter(|t| !t.hidden) {
            if c.qualifier.as_ref().is_some_and(|q| !t.answers_to(q)) {
                continue;
            }
            if let Some(i) = t.find(&c.name) {
                one_more(t, i)?;
            }
        }
        Ok(found)
    }

    /// The select item that a name stands for: by its alias, otherwise as the column that it is.
    ///
    /// # Errors
    /// 1052 where it could be two that differ.
    pub fn selected(
        &self,
        c: &ast::ColumnRef,
        clause: Clause,
    ) -> Result<Option<&Item<'s>>, SqlError> {
        let mut found: Option<&Item<'s>> = None;
        // A column whose name is hidden behind an alias.
        let mut behind: Option<&Item<'s>> = None;
        let mut behind_differ = false;
        let same = |a: &Item<'_>, b: &Item<'_>| same_column(&a.expr, &b.expr);
        for item in &self.items {
            match (self.own(&item.expr), &c.qualifier) {
                (Some((t, i)), Some(q))
                    if t.answers_to(q) && same_name(t.column_name(i), &c.name) =>
                {
                    match found {
                        Some(f) if !same(f, item) => return Err(ambiguous(c, clause)),
                        Some(_) => {}
                        None => found = Some(item),
                    }
                }
                (Some(_), None) if same_name(&item.name, &c.name) => match found {
                    Some(f) if !same(f, item) => return Err(ambiguous(c, clause)),
                    Some(_) => {}
                    None => found = Some(item),
                },
                (Some((t, i)), None) if same_name(t.column_name(i), &c.name) => {
                    behind_differ |= behind.is_some_and(|b| !same(b, item));
                    behind = Some(item);
                }
                // A computed value is taken at once, as MySQL does.
                (None, None) if same_name(&item.name, &c.name) => return Ok(Some(item)),
                _ => {}
            }
        }
        match (found, behind) {
            (None, Some(_)) if behind_differ => Err(ambiguous(c, clause)),
            (found, behind) => Ok(found.or(behind)),
        }
    }

    /// The column of GROUP BY that a name stands for.
    fn group_column(
        &self,
        c: &ast::ColumnRef,
        clause: Clause,
    ) -> Result<Option<(&FromTable, usize)>, SqlError> {
        let mut found: Option<(Listed, &FromTable)> = None;
        for &l in &self.grouped_by {
            let Some(t) = self.table(l.slot) else {
                continue;
            };
            let meant = c.qualifier.as_ref().is_none_or(|q| t.answers_to(q))
                && same_name(t.column_name(usize::from(l.ordinal)), &c.name);
            match found {
                Some((f, _)) if meant && f != l => return Err(ambiguous(c, clause)),
                None if meant => found = Some((l, t)),
                _ => {}
            }
        }
        Ok(found.map(|(l, t)| (t, usize::from(l.ordinal))))
    }

    /// What a name stands for among select items and columns of GROUP BY.
    fn selected_or_grouped(
        &self,
        c: &ast::ColumnRef,
        clause: Clause,
    ) -> Result<Option<Selected<'_, 's>>, SqlError> {
        let item = self.selected(c, clause)?;
        let group = self.group_column(c, clause)?;
        Ok(match (item, group) {
            (Some(item), Some((t, i))) if !is_column(&item.expr, t.slot, i) => {
                Some(Selected::Group(t, i))
            }
            (Some(item), _) => Some(Selected::Item(item)),
            (None, Some((t, i))) => Some(Selected::Group(t, i)),
            (None, None) => None,
        })
    }

    fn here(&self, c: &ast::ColumnRef, clause: Clause) -> Result<Option<Resolved>, SqlError> {
        match clause {
            Clause::Having => Ok(self.selected_or_grouped(c, clause)?.map(|s| match s {
                Selected::Item(item) => Resolved::Expr(item.expr.clone()),
                Selected::Group(t, i) => Resolved::Expr(t.column_expr(i)),
            })),
            Clause::GroupBy | Clause::OrderBy | Clause::HavingAggregate => {
                match self.local(c, clause)? {
                    Some(r) => Ok(Some(r)),
                    None => {
                        let item = self.selected(c, clause)?;
                        Ok(item.map(|i| Resolved::Expr(i.expr.clone())))
                    }
                }
            }
            _ => self.local(c, clause),
        }
    }

    /// What a name stands for here or in a block around.
    ///
    /// # Errors
    /// 1054 and 1052; 1247 for a select item that comes later.
    pub fn resolve(&self, c: &ast::ColumnRef, clause: Clause) -> Result<Denoted<'_>, SqlError> {
        if let Some(r) = self.here(c, clause)? {
            return Ok(Denoted::Here(r));
        }
        let mut at = self.parent;
        while let Some(names) = at {
            let bound = names.clause.get();
            let tables_gone = bound == Some(Clause::Having) && names.grouped;
            if (!tables_gone || self.in_aggregate.get())
                && let Some(r) = names.local(c, clause)?
            {
                return Ok(Denoted::Around(r));
            }
            if !matches!(bound, Some(Clause::Where | Clause::On)) {
                match names.selected_or_grouped(c, clause)? {
                    Some(Selected::Item(item)) => return Ok(Denoted::ItemAround(names, item)),
                    Some(Selected::Group(t, i)) => {
                        return Ok(Denoted::Around(Resolved::Expr(t.column_expr(i))));
                    }
                    None => {}
                }
                if bound == Some(Clause::FieldList) && names.comes_later(c) {
                    return Err(SqlError::new(
                        codes::ER_ILLEGAL_REFERENCE,
                        format!(
                            "Reference '{}' not supported (forward reference in item list)",
                            c.name
                        ),
                    ));
                }
            }
            at = names.parent;
        }
        Err(SqlError::unknown_column(&column_text(c), clause.text()))
    }

    /// Whether an alias of the select list has that name, which is not bound yet.
    fn comes_later(&self, c: &ast::ColumnRef) -> bool {
        c.qualifier.is_none()
            && self.list.iter().any(|i| {
                matches!(i, ast::SelectItem::Expr { name, aliased: true, .. }
                    if same_name(name, &c.name))
            })
    }

    /// Notes that a value of surrounding blocks was named.
    pub fn note_outer(&self, e: &Expr) {
        let mut lowest = self.lowest.get();
        e.walk(&mut |x| {
            if let Node::Column(c) = &x.node {
                lowest = lowest.min(Lowest(c.slot));
            }
            true
        });
        self.lowest.set(lowest);
    }
}

/// What HAVING may name.
enum Selected<'n, 's> {
    Item(&'n Item<'s>),
    Group(&'n FromTable, usize),
}

/// A found name as an expression.
pub(crate) fn resolved_expr(r: Resolved) -> Expr {
    match r {
        Resolved::Column(c) => column_expr(c),
        Resolved::Expr(e) => e,
    }
}

fn is_column(e: &Expr, slot: u16, ordinal: usize) -> bool {
    matches!(&e.node, Node::Column(c) if c.slot == slot && usize::from(c.ordinal) == ordinal)
}

/// Whether two expressions are the same column.
pub(crate) fn same_column(a: &Expr, b: &Expr) -> bool {
    match (&a.node, &b.node) {
        (Node::Column(a), Node::Column(b)) => (a.slot, a.ordinal) == (b.slot, b.ordinal),
        _ => false,
    }
}
