//! What names of a query mean, noted while it is bound: see [`super::frozen`].

use super::StatementBinder;
use super::frozen::{FullName, Meanings, place};
use super::names::{Names, same_name};
use sql_expr::{Expr, Node};
use sql_parser::ast::{self, ColumnRef, Join, SelectItem};

impl StatementBinder<'_> {
    fn meaning(&self, note: impl FnOnce(&mut Meanings)) {
        if self.in_view() {
            return;
        }
        if let Some(m) = self.meanings.borrow_mut().as_mut() {
            note(m);
        }
    }

    /// A name stands for an expression. A select item under a name of its own keeps it.
    pub(crate) fn means(&self, c: &ColumnRef, e: &Expr, names: &Names<'_>) {
        self.meaning(|m| {
            let Node::Column(column) = &e.node else {
                return;
            };
            let mut at = Some(names);
            while let Some(n) = at {
                if let Some(t) = n.table(column.slot) {
                    let i = usize::from(column.ordinal);
                    if same_name(t.column_name(i), &c.name) {
                        m.columns.insert(place(c), t.full_name(i));
                    }
                    return;
                }
                at = n.parent;
            }
        });
    }

    /// `*` stands for columns.
    pub(crate) fn star_means(&self, item: &SelectItem, columns: impl FnOnce() -> Vec<FullName>) {
        self.meaning(|m| {
            m.stars.insert(place(item), columns());
        });
    }

    /// A select item is called so.
    pub(crate) fn title_is(&self, item: &SelectItem, name: &str) {
        self.meaning(|m| {
            m.titles.insert(place(item), name.into());
        });
    }

    /// A table of FROM is of that schema.
    pub(crate) fn table_is_of(&self, f: &ast::TableFactor, schema: &str) {
        self.meaning(|m| {
            m.tables.insert(place(f), schema.into());
        });
    }

    /// A join goes by these columns.
    pub(crate) fn join_means(&self, j: &Join, pairs: impl FnOnce() -> Vec<(FullName, FullName)>) {
        self.meaning(|m| {
            m.joins.insert(place(j), pairs());
        });
    }

    /// The columns of a JSON_TABLE, with their types.
    pub(crate) fn json_table_means(&self, j: &ast::JsonTable, columns: Vec<ast::JsonTableColumn>) {
        self.meaning(|m| {
            m.json.insert(place(j), columns);
        });
    }
}
