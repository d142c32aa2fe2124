//! Trees that no definition names: of an index that is being built, or that was dropped and whose pages are not all free
//! yet. Each has a row in the catalog from before its first page until after its last, so that a crash at any point leaves
//! nothing that the next start does not take out. This module never decides whether an index exists: definitions do.

use super::catalog::{OrphanedTree, tree_row};
use super::statements::RowChange;
use crate::engine::Engine;
use crate::schema::Table;
use crate::session::Session;
use base::PageNo;
use btree::Tree;
use pager::{OpError, PageKind, Purpose};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use types::SqlError;

/// Pages freed before others of the thread have their turn: a fraction of a millisecond.
const FREED_PER_YIELD: u32 = 32;

impl Engine {
    /// Writes down that a tree is going to be made.
    pub(super) async fn note_orphan(self: &Arc<Self>, l: &OrphanedTree) -> Result<(), SqlError> {
        if base::mutant!("leftover-not-noted") {
            return Ok(());
        }
        self.change_rows(vec![RowChange::Put(tree_row(l))]).await?;
        self.orphaned_trees.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// Writes down where the tree is.
    pub(super) async fn locate_orphan(
        self: &Arc<Self>,
        l: &mut OrphanedTree,
        root: PageNo,
    ) -> Result<(), SqlError> {
        let before = tree_row(l);
        l.root = root;
        if base::mutant!("leftover-not-noted") {
            return Ok(());
        }
        self.change_rows(vec![RowChange::Remove(before), RowChange::Put(tree_row(l))])
            .await
    }

    /// What a change of definitions that gives the tree a name does to its row here.
    pub(super) fn named(&self, l: &OrphanedTree) -> Vec<RowChange> {
        match base::mutant!("leftover-not-noted") {
            true => Vec::new(),
            false => vec![RowChange::Remove(tree_row(l))],
        }
    }

    /// What a change of definitions that takes the tree's name away does.
    pub(super) fn unnamed(&self, l: &OrphanedTree) -> Vec<RowChange> {
        match base::mutant!("leftover-not-noted") {
            true => Vec::new(),
            false => vec![RowChange::Put(tree_row(l))],
        }
    }

    /// The definition that gives the tree a name is there.
    pub(super) fn orphan_named(&self) {
        if !base::mutant!("leftover-not-noted") {
            self.orphaned_trees.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// The definition that took the tree's name away is there.
    pub(super) fn orphan_unnamed(&self) {
        self.orphaned_trees.fetch_add(1, Ordering::SeqCst);
    }

    /// Frees the tree's pages and forgets it. An error leaves the rest for the next start.
    pub(super) async fn free_orphan(
        self: &Arc<Self>,
        t: &Table,
        l: &OrphanedTree,
    ) -> Result<(), SqlError> {
        let fail = |e| crate::error::storage(e, &t.full_name);
        match l.root {
            PageNo(0) => self.free_scattered(t, l.index).await.map_err(fail)?,
            _ => self.free_tree(t, l).await.map_err(fail)?,
        }
        self.forget_orphan(l).await
    }

    async fn forget_orphan(self: &Arc<Self>, l: &OrphanedTree) -> Result<(), SqlError> {
        let changes = self.named(l);
        if changes.is_empty() {
            return Ok(());
        }
        self.change_rows(changes).await?;
        self.orphaned_trees.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    }

    /// As [`pager::Pager::run`], for work that cannot be refused when the log is full.
    async fn run_patiently<R>(
        &self,
        mut op: impl FnMut() -> Result<R, OpError>,
    ) -> Result<R, OpError> {
        loop {
            match self.pager.run(&mut op).await {
                Err(OpError::LogFull(_)) => {
                    self.log.wait_admission_patiently(Purpose::Tidy).await?
                }
                r => return r,
            }
        }
    }

    async fn free_tree(&self, t: &Table, l: &OrphanedTree) -> Result<(), OpError> {
        let tree = Tree::open(self.pager.clone(), t.space.clone(), l.root, l.index);
        // A crash may have come between the freeing of the last page and the end of the row.
        if !self.is_page_of(t, l.root, l.index).await? {
            return Ok(());
        }
        let mut freed = 0u32;
        while self.run_patiently(|| tree.destroy_step()).await? {
            // The rest at the next start.
            if self.stopping.load(Ordering::Acquire) {
                return Err(OpError::Dropped(t.space_id()));
            }
            freed += 1;
            if freed.is_multiple_of(FREED_PER_YIELD) {
                base::environment::yield_now(&*self.environment().spawn).await;
            }
        }
        self.free_one(&tree, l.root).await
    }

    async fn free_one(&self, tree: &Tree, page: PageNo) -> Result<(), OpError> {
        self.run_patiently(|| {
            let mut m = self.pager.mtr()?;
            tree.free_page_in(&mut m, page)?;
            m.commit();
            Ok(())
        })
        .await
    }

    async fn is_page_of(&self, t: &Table, page: PageNo, index: u32) -> Result<bool, OpError> {
        let look = || {
            let p = self.pager.shared(&t.space, page)?;
            let tree = matches!(p.kind(), Some(PageKind::Leaf | PageKind::Inner));
            Ok(tree && p.index_id() == index)
        };
        self.pager.run(look).await
    }

    /// Frees every page that bears the index's id: it has one at most, which was made in the moment before its number was
    /// written down.
    async fn free_scattered(&self, t: &Table, index: u32) -> Result<(), OpError> {
        let tree = Tree::open(self.pager.clone(), t.space.clone(), PageNo(0), index);
        let mut group = 0;
        while group < t.space.room() {
            let look = || {
                Ok(pager::alloc::used_pages(
                    &*self.pager.shared(&t.space, PageNo(group))?,
                ))
            };
            let used = match self.pager.run(look).await {
                Ok(used) => used,
                // A group that was never begun has no map yet.
                Err(OpError::Corrupt {
                    why: pager::page::NEVER_WRITTEN,
                    ..
                }) => return Ok(()),
                Err(e) => return Err(e),
            };
            for page in used.into_iter().filter(|p| p.0 != group) {
                // What is damaged is told of to whoever needs it.
                if self.is_page_of(t, page, index).await.unwrap_or(false) {
                    self.free_one(&tree, page).await?;
                }
                if self.stopping.load(Ordering::Acquire) {
                    return Err(OpError::Dropped(t.space_id()));
                }
            }
            group += pager::alloc::GROUP;
        }
        Ok(())
    }

    /// At a start: takes out what the last run left.
    pub(crate) async fn free_orphaned_trees(self: Arc<Self>, left: Vec<OrphanedTree>) {
        for l in left {
            let done = match self.hold_table(l.table).await {
                Some((t, _held)) => self.free_orphan(&t, &l).await,
                None => self.forget_orphan(&l).await,
            };
            if done.is_err() && self.log.failure().is_some() {
                return;
            }
        }
    }

    /// The table with this id, and a session that keeps it from being changed; none if it is gone.
    async fn hold_table(self: &Arc<Self>, id: u32) -> Option<(Arc<Table>, Session)> {
        loop {
            let t = self.catalog().tables().find(|t| t.def.id == id).cloned()?;
            let mut s = Session::new(self.clone());
            // False: its definition was replaced meanwhile. An error: the table cannot be used.
            if s.reopen(&t, false).await.ok()? {
                return Some((t, s));
            }
        }
    }
}
