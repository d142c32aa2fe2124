//! Gathers the foreign keys that a statement's changes meet, with all that they lead to.
//!
//! Only what the statement can come to is gathered: an UPDATE that assigns no column of a foreign key, neither of its own nor of a child's,
//! meets nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::{Catalog, ReferenceAction, Table, TableDef};

use super::StatementBinder;
use super::relations::{ChildKey, Node, ParentIndex, ParentKey, Relations};
use super::row_rules::{RowRules, columns_read};
use super::tree::{Assign, UsedTable};
use types::SqlError;

/// What can happen to a table's rows.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Rows come.
    pub inserted: bool,
    /// Rows go.
    pub deleted: bool,
    /// Columns get other values.
    pub assigned: BTreeSet<u16>,
}

impl Changes {
    /// Rows come, where those in the way may go, or get these assignments.
    pub fn inserted(replace: bool, assigns: &[Assign], touch: &[u16]) -> Changes {
        Changes {
            inserted: true,
            deleted: replace,
            ..Changes::assigned(assigns, touch)
        }
    }

    /// Rows go.
    pub fn deleted() -> Changes {
        Changes {
            deleted: true,
            ..Changes::default()
        }
    }

    /// Rows get these assignments, and the time in the columns `touch`.
    pub fn assigned(assigns: &[Assign], touch: &[u16]) -> Changes {
        let assigned = assigns.iter().map(|a| a.column);
        Changes {
            assigned: assigned.chain(touch.iter().copied()).collect(),
            ..Changes::default()
        }
    }

    fn assigns(&self, columns: &[u16]) -> bool {
        columns.iter().any(|c| self.assigned.contains(c))
    }

    fn add(&mut self, other: Changes) {
        self.inserted |= other.inserted;
        self.deleted |= other.deleted;
        self.assigned.extend(other.assigned);
    }
}

struct Gathering<'c> {
    catalog: &'c Catalog,
    nodes: Vec<Node>,
    /// What can happen to each node's rows.
    changes: Vec<Changes>,
    /// Nodes of which more is known than when they were looked at.
    waiting: Vec<usize>,
}

impl Gathering<'_> {
    fn node(&mut self, t: &Arc<Table>) -> usize {
        let known = self.nodes.iter().position(|n| Arc::ptr_eq(&n.table, t));
        known.unwrap_or_else(|| {
            self.nodes.push(Node {
                table: Arc::clone(t),
                parents: Vec::new(),
                children: Vec::new(),
                rules: RowRules::default(),
            });
            self.changes.push(Changes::default());
            self.nodes.len() - 1
        })
    }

    fn happens(&mut self, node: usize, mut more: Changes) {
        computed_from(&self.nodes[node].table.def, &mut more.assigned);
        let before = self.changes[node].clone();
        self.changes[node].add(more);
        if self.changes[node] != before {
            self.waiting.push(node);
        }
    }

    fn look(&mut self, node: usize) {
        let table = Arc::clone(&self.nodes[node].table);
        if table.def.is_temporary() {
            return;
        }
        let changes = self.changes[node].clone();
        let mut parents = Vec::new();
        for (key, k) in table.def.foreign_keys.iter().enumerate() {
            if !changes.inserted && !changes.assigns(&k.columns) {
                continue;
            }
            // A table that is being made from a query is its own parent, and not found by its name yet.
            let own = k.refers_to(&table.def.schema, &table.def.name);
            let parent = match own {
                true => Some(Arc::clone(&table)),
                false => self.catalog.base_table(&k.parent_schema, &k.parent),
            };
            let parent = parent.and_then(|p| {
                let columns = k.columns_in(&p.def)?;
                Some(ParentIndex {
                    index: p.def.parent_index_of(&columns)?,
                    node: self.node(&p) as u16,
                    columns,
                })
            });
            let turn = table.def.index_of(&k.columns);
            parents.push(ParentKey { key, turn, parent });
        }
        parents.sort_by_key(|p| (p.turn, table.def.foreign_keys[p.key].name.clone()));
        self.nodes[node].parents = parents;
        self.look_down(node, &table.def, &changes);
    }

    fn look_down(&mut self, node: usize, def: &TableDef, changes: &Changes) {
        let mut children = Vec::new();
        for child in self.catalog.children_of(&def.schema, &def.name) {
            for (key, k) in child.def.foreign_keys.iter().enumerate() {
                if !k.refers_to(&def.schema, &def.name) {
                    continue;
                }
                let (Some(columns), Some(index)) =
                    (k.columns_in(def), child.def.index_of(&k.columns))
                else {
                    continue;
                };
                let assigned = changes.assigns(&columns);
                if !changes.deleted && !assigned {
                    continue;
                }
                let at = self.node(&child);
                let mut more = Changes::default();
                let mut sets = assigned && !k.on_update.refuses();
                if changes.deleted {
                    more.deleted = k.on_delete == ReferenceAction::Cascade;
                    sets |= k.on_delete == ReferenceAction::SetNull;
                }
                if sets {
                    more.assigned.extend(k.columns.iter().copied());
                }
                let turn = def.parent_index_of(&columns);
                children.push(ChildKey {
                    node: at as u16,
                    key,
                    columns,
                    index,
                    turn,
                });
                self.happens(at, more);
            }
        }
        children.sort_by_key(|c| {
            let child = &self.nodes[usize::from(c.node)].table.def;
            let k = &child.foreign_keys[c.key];
            (c.turn, child.schema.clone(), k.name.clone())
        });
        self.nodes[node].children = children;
    }
}

/// Adds the generated columns that are computed from these.
fn computed_from(def: &TableDef, columns: &mut BTreeSet<u16>) {
    if columns.is_empty() {
        return;
    }
    for (at, c) in def.columns.iter().enumerate() {
        let Some(g) = &c.generated else { continue };
        if columns_read(&g.expr, def)
            .iter()
            .any(|c| columns.contains(c))
        {
            columns.insert(at as u16);
        }
    }
}

impl StatementBinder<'_> {
    /// What foreign keys have to do with changes of these tables; `None` where it is nothing. The tables are noted as used.
    ///
    /// # Errors
    /// What binding says of generated columns and CHECK constraints of tables that cascades change.
    pub(crate) fn relations(
        &self,
        targets: Vec<(&Arc<Table>, Changes)>,
    ) -> Result<Option<Arc<Relations>>, SqlError> {
        let catalog = self.ctx.catalog;
        // Foreign keys know nothing of temporary tables, whatever these are called.
        let ties = |t: &Arc<Table>| {
            !t.def.is_temporary()
                && (!t.def.foreign_keys.is_empty()
                    || !catalog.children_of(&t.def.schema, &t.def.name).is_empty())
        };
        if !targets.iter().any(|(t, _)| ties(t)) {
            return Ok(None);
        }
        let mut g = Gathering {
            catalog,
            nodes: Vec::new(),
            changes: Vec::new(),
            waiting: Vec::new(),
        };
        let (mut roots, mut asked) = (Vec::new(), Vec::new());
        for (t, changes) in targets {
            let node = g.node(t);
            roots.push(node as u16);
            asked.push((node, changes.clone()));
            g.happens(node, changes);
        }
        while let Some(node) = g.waiting.pop() {
            g.look(node);
        }
        let met = g.nodes.iter();
        if met
            .into_iter()
            .all(|n| n.parents.is_empty() && n.children.is_empty())
        {
            return Ok(None);
        }
        for (n, changes) in g.nodes.iter_mut().zip(&g.changes) {
            let assigned = |c: u16| changes.assigned.contains(&c);
            n.rules = RowRules::of(&n.table.def, &assigned, self.ctx.cx)?;
        }
        let mut wanted: Vec<Changes> = vec![Changes::default(); g.nodes.len()];
        for (node, mut changes) in asked {
            computed_from(&g.nodes[node].table.def, &mut changes.assigned);
            wanted[node].add(changes);
        }
        let moves_roots = roots.iter().any(|r| {
            let r = usize::from(*r);
            g.changes[r].assigned != wanted[r].assigned
        });
        let mut related = self.related.borrow_mut();
        for (n, changes) in g.nodes.iter().zip(&g.changes) {
            let writes = *changes != Changes::default();
            UsedTable::add(&mut related, &n.table, writes);
        }
        Ok(Some(Arc::new(Relations {
            nodes: g.nodes,
            roots,
            moves_roots,
        })))
    }
}
