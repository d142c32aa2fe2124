//! A table as it is worked with: its definition, the row layout, its trees, and who uses it.

use super::def::{IndexDef, IndexKind, TableDef};
use super::known::{carried, carried_to, mapped, saved};
use super::row_counts::RowCounts;
use crate::record::RowLayout;
use crate::stats::{Histogram, Saved, StatsCell, TableStats};
use crate::table_lock::{Announced, TableLock, TableLockMode};
use base::lock::Mutex;
use base::{Lsn, SpaceId};
use btree::Tree;
use pager::{Pager, Space};
use std::any::Any;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use types::keyenc::KeyPart;
use types::{DataType, Value};

/// An index with its tree.
pub struct Index {
    /// Its declared parts, as key encoders.
    pub parts: Vec<KeyPart>,
    /// The one that has several values in a row.
    list: Option<usize>,
    /// Its tree.
    pub tree: Tree,
    /// Where in the log the snapshot was that it was built from: it has nothing of what older ones see.
    visible_from: AtomicU64,
}

impl Index {
    pub(crate) fn new(parts: Vec<KeyPart>, list: Option<usize>, tree: Tree) -> Index {
        Index {
            parts,
            list,
            tree,
            visible_from: AtomicU64::new(0),
        }
    }

    /// It has nothing of what snapshots see that are older than this.
    pub(crate) fn begin_at(&self, at: Lsn) {
        self.visible_from.store(at.0, Ordering::Release);
    }

    /// Whether a snapshot is too old for it.
    pub(crate) fn is_younger_than(&self, snapshot: Lsn) -> bool {
        snapshot.0 < self.visible_from.load(Ordering::Acquire)
    }
}

/// A table of the catalog. Replaced by a new object whenever its definition changes; what outlives that (counters, trees'
/// shape latches) is in shared parts.
pub struct Table {
    /// Its definition.
    pub def: TableDef,
    /// Where the columns are in a row.
    pub layout: RowLayout,
    /// Its indexes in the order of the definition, and behind them one that is being built: nobody may read by that one.
    pub indexes: Vec<Arc<Index>>,
    /// Its tablespace.
    pub space: Arc<Space>,
    pub(crate) live: Arc<Live>,
    /// Who uses it, and who has locked it: under all its definitions.
    pub(crate) lock: Arc<TableLock>,
    /// What is known of its rows; shared with other objects of the same columns and indexes.
    pub(crate) known: Arc<StatsCell>,
    /// A newer definition took its place, or the table was dropped.
    pub(crate) retired: AtomicBool,
    /// "schema.name", for messages.
    pub(crate) full_name: String,
    /// Bytes of a row above which long columns are moved to overflow pages, and above which it cannot be kept.
    pub(crate) row_sizes: (usize, usize),
    /// The last of `indexes`, where the definition does not name it yet.
    pub(crate) building: Option<Building>,
    /// Which rows have changed since the table began to be copied.
    pub(crate) capture: Option<ChangeCapture>,
    /// See [`Table::beside`].
    beside: OnceLock<Box<dyn Any + Send + Sync>>,
}

/// Change capture: keys noted by writers while a table is being copied or an index built.
#[derive(Default)]
pub(crate) struct ChangeCapture(Mutex<HashSet<Box<[u8]>>>);

impl ChangeCapture {
    /// Takes those noted so far, in order.
    pub(crate) fn drain(&self) -> Vec<Box<[u8]>> {
        let mut keys: Vec<Box<[u8]>> = {
            let mut noted = self.0.lock();
            noted.drain().collect()
        };
        keys.sort_unstable();
        keys
    }

    #[cold]
    fn note(&self, key: &[u8]) {
        let mut keys = self.0.lock();
        if !keys.contains(key) {
            keys.insert(key.into());
        }
    }
}

/// An index that is being built online: changes of rows keep its entries, and nobody reads by it.
pub(crate) struct Building {
    pub(crate) def: IndexDef,
    /// It is to be unique, and writers have met other rows with their own's values: these. Whoever made them so may have taken it back.
    pub(crate) maybe_duplicates: ChangeCapture,
}

/// What stays when a table's definition is replaced.
pub(crate) struct Live {
    /// Next AUTO_INCREMENT value; 0 while not known yet.
    pub(crate) auto_increment: AtomicU64,
    /// Where the log said at the start that the counter goes on; 0 where it did not say.
    pub(crate) auto_increment_saved: AtomicU64,
    /// Next hidden row id; 0 while not known yet.
    pub(crate) row_id: AtomicU64,
    /// Snapshots below this log position are older than the table or one of its indexes.
    visible_from: AtomicU64,
    /// How often FLUSH TABLES was about it.
    flushes: AtomicU64,
    /// Rows, estimated: changes since the table was opened on top of a count at opening.
    pub(crate) counts: RowCounts,
}

impl Live {
    pub(crate) fn new() -> Arc<Live> {
        let counts = RowCounts::default();
        counts.set(0, true);
        Arc::new(Live {
            auto_increment: AtomicU64::new(0),
            auto_increment_saved: AtomicU64::new(0),
            row_id: AtomicU64::new(0),
            visible_from: AtomicU64::new(0),
            flushes: AtomicU64::new(0),
            counts,
        })
    }
}

/// Holds a table open: its definition and its file stay as they are until this is dropped.
pub struct TableUse {
    /// The table.
    pub table: Arc<Table>,
    counted: Announced,
}

impl TableUse {
    /// Announces a use. The caller asks the table's lock afterwards and gives it back if that does not admit it.
    #[inline]
    pub(crate) fn announce(table: &Arc<Table>, writes: bool) -> TableUse {
        TableUse {
            counted: table.lock.announce(writes),
            table: table.clone(),
        }
    }

    /// It is used to write as well.
    #[inline]
    pub(crate) fn writes(&self) -> bool {
        self.counted.writes
    }
}

impl Drop for TableUse {
    fn drop(&mut self) {
        self.table.lock.leave(self.counted);
    }
}

impl Table {
    /// What a layer above keeps beside this definition of the table, made when it is first asked for. One of them does: `None` for a
    /// value of another type.
    pub fn beside<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Option<&T> {
        self.beside.get_or_init(|| Box::new(make())).downcast_ref()
    }

    /// Joins a definition to its open tablespace. `old` is the table object it replaces.
    pub(crate) fn open(
        pager: &Arc<Pager>,
        def: TableDef,
        space: Arc<Space>,
        old: Option<&Table>,
    ) -> Table {
        let indexes: Vec<Arc<Index>> = def
            .indexes
            .iter()
            .map(|x| {
                // One tree object a root: the shape latch lives in it.
                let was = old.and_then(|o| o.index_number(x.id).map(|i| (o, i)));
                let was = was.filter(|(o, i)| o.index_def(*i).root == x.root);
                let parts = key_parts(&def, x);
                let list = def.list_part(x);
                match was {
                    None => {
                        let tree = Tree::open(pager.clone(), space.clone(), x.root, x.id);
                        Arc::new(Index::new(parts, list, tree))
                    }
                    Some((o, i)) if o.indexes[i].parts == parts => o.indexes[i].clone(),
                    // Somebody may still be at work with the other one.
                    Some((o, i)) => {
                        let index = Index::new(parts, list, o.indexes[i].tree.again());
                        index.begin_at(Lsn(o.indexes[i].visible_from.load(Ordering::Acquire)));
                        Arc::new(index)
                    }
                }
            })
            .collect();
        let layout = layout(&def);
        let live = old.map_or_else(Live::new, |o| o.live.clone());
        let lock = old.map_or_else(Arc::default, |o| o.lock.clone());
        let full_name = format!("{}.{}", def.schema, def.name);
        let row_sizes = row_sizes(&indexes);
        Table {
            layout,
            indexes,
            space,
            live,
            lock,
            known: old.map_or_else(Arc::default, |o| carried(&o.def, &o.known, &def)),
            retired: AtomicBool::new(false),
            full_name,
            row_sizes,
            building: None,
            capture: None,
            def,
            beside: OnceLock::new(),
        }
    }

    /// `old` with an index that is being built in `tree`.
    pub(crate) fn with_building(
        pager: &Arc<Pager>,
        old: &Table,
        index: IndexDef,
        tree: Tree,
    ) -> Table {
        let mut t = Table::open(pager, old.def.clone(), old.space.clone(), Some(old));
        let (parts, list) = (key_parts(&t.def, &index), t.def.list_part(&index));
        t.indexes.push(Arc::new(Index::new(parts, list, tree)));
        t.building = Some(Building {
            def: index,
            maybe_duplicates: ChangeCapture::default(),
        });
        t
    }

    /// `old`, whose changes are noted.
    pub(crate) fn with_change_capture(pager: &Arc<Pager>, old: &Table) -> Table {
        let mut t = Table::open(pager, old.def.clone(), old.space.clone(), Some(old));
        t.capture = Some(ChangeCapture::default());
        t
    }

    /// A transaction has changed the row with this clustered key, and has not committed that yet.
    #[inline]
    pub(crate) fn note_change(&self, key: &[u8]) {
        if let Some(c) = &self.capture
            && !base::mutant!("change-beside-a-rebuild-not-noted")
        {
            c.note(key);
        }
    }

    /// Its rows have numbers of their own for keys, which nobody sees.
    pub(crate) fn has_hidden_key(&self) -> bool {
        self.def.indexes[0].kind == IndexKind::Hidden
    }

    /// The definition of one of its [`indexes`](Self::indexes).
    pub(crate) fn index_def(&self, index: usize) -> &IndexDef {
        match &self.building {
            Some(b) if index == self.def.indexes.len() => &b.def,
            _ => &self.def.indexes[index],
        }
    }

    /// Which of its [`indexes`](Self::indexes) has this id.
    pub(crate) fn index_number(&self, id: u32) -> Option<usize> {
        (0..self.indexes.len()).find(|i| self.index_def(*i).id == id)
    }

    /// The index, where it is one that is being built.
    pub(crate) fn building(&self, index: usize) -> Option<&Building> {
        self.building
            .as_ref()
            .filter(|_| index == self.def.indexes.len())
    }

    /// A row is to get `values` that another has in a unique index: whether it must not. Where the index is only being built it may,
    /// and if it stays so it is the build that fails.
    pub(crate) fn refuses_duplicate(&self, index: usize, values: &[u8]) -> bool {
        match self.building(index) {
            None => true,
            Some(b) => {
                b.maybe_duplicates.note(values);
                false
            }
        }
    }

    /// Whether a change of this column changes an entry of an index, be it one that is being built.
    pub fn is_indexed(&self, column: u16) -> bool {
        let all = (0..self.indexes.len()).flat_map(|i| &self.index_def(i).parts);
        all.into_iter().any(|p| p.column == column)
    }

    /// It is there after a crash, and for every session: no temporary table.
    #[inline]
    pub(crate) fn is_lasting(&self) -> bool {
        !self.def.is_temporary() || base::mutant!("temporary-change-synced")
    }

    /// Its tablespace's id.
    pub fn space_id(&self) -> SpaceId {
        SpaceId(self.def.id)
    }

    /// The declared parts of an index as key encoders (without the primary key that secondary entries end with).
    pub fn key_parts(&self, index: usize) -> &[KeyPart] {
        &self.indexes[index].parts
    }

    /// The part of an index that has several values in a row, by its number.
    #[inline]
    pub fn list_part(&self, index: usize) -> Option<usize> {
        self.indexes[index].list
    }

    /// Columns of an index in order.
    pub fn index_columns(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        self.index_def(index)
            .parts
            .iter()
            .map(|p| p.column as usize)
    }

    /// True when no two rows may agree in this index's parts (none of them NULL).
    pub fn is_unique(&self, index: usize) -> bool {
        matches!(
            self.index_def(index).kind,
            IndexKind::Primary | IndexKind::Unique
        )
    }

    /// Estimated number of rows.
    pub fn row_count_estimate(&self) -> u64 {
        self.live.counts.rows()
    }

    pub(crate) fn count_rows(&self, delta: i64) {
        self.live.counts.add(delta);
    }

    /// What is known of its rows, if anything is. Does not wait and writes nothing that other threads read.
    #[inline]
    pub fn stats(&self) -> Option<Arc<TableStats>> {
        self.known.get()
    }

    /// The version of [`stats`](Self::stats); 0: there are none. A plan that was made with another one may not be the best any more.
    #[inline]
    pub fn stats_version(&self) -> u64 {
        self.known.version()
    }

    /// Its file has nothing of what snapshots see that are older than this.
    pub(crate) fn begin_at(&self, at: Lsn) {
        self.live.visible_from.store(at.0, Ordering::Release);
    }

    /// Whether a snapshot is too old for its file.
    #[inline]
    pub(crate) fn is_younger_than(&self, snapshot: Lsn) -> bool {
        snapshot.0 < self.live.visible_from.load(Ordering::Acquire)
    }

    /// Takes the place of `old`, with another file: who has locked that one has locked this one.
    pub(crate) fn locked_as(&mut self, old: &Table) {
        self.lock = old.lock.clone();
    }

    /// Knows of its rows what `old` knows, whose rows it has: they are not the same trees. `renamed`: columns by their names before and after, without
    /// one where they are gone.
    pub(crate) fn know_as(&mut self, old: &Table, renamed: &[(String, Option<String>)]) {
        self.known = match renamed {
            [] => carried(&old.def, &old.known, &self.def),
            _ => carried_to(&old.def, &old.known, &self.def, renamed),
        };
    }

    /// What is known of it, as it is kept; `pages` of its file have been used.
    pub(crate) fn saved_stats(&self, pages: u64) -> Option<Saved> {
        saved(&self.def, &self.known, pages)
    }

    /// Gets back what was kept of it.
    pub(crate) fn restore_stats(&mut self, was: &Saved) {
        self.known = Arc::new(mapped(was, &self.def, 0));
    }

    /// The histograms that were asked for.
    pub fn histograms(&self) -> Arc<[Histogram]> {
        self.known.histograms()
    }

    /// Pages the table's file has room for.
    pub fn data_pages(&self) -> u64 {
        self.space.room() as u64
    }

    /// Bytes that the table's pages take: those of the file, but for a compressed table, whose pages have places in it.
    pub fn data_bytes(&self) -> u64 {
        match self.space.compressed_use() {
            Some(compressed) => compressed.bytes,
            None => self.file_bytes(),
        }
    }

    /// Bytes of the table's file.
    pub fn file_bytes(&self) -> u64 {
        self.space.file().len().unwrap_or_default()
    }

    /// Bytes of a block of a compressed table, 512 where each page takes what it needs; `None` for a table that is not compressed.
    pub fn block_bytes(&self) -> Option<u32> {
        self.space.compressed_format().map(|f| f.block)
    }

    /// The first index that begins with the AUTO_INCREMENT column.
    pub(crate) fn counting_index(&self) -> Option<usize> {
        let c = self.def.auto_increment_column()?;
        let counts = |i: &usize| self.list_part(*i).is_none();
        let mut indexes = (0..self.def.indexes.len()).filter(counts);
        indexes.find(|i| self.index_columns(*i).next() == Some(c))
    }

    /// How often it was flushed: whoever has a place in it has lost that when this has changed.
    pub fn flushes(&self) -> u64 {
        self.live.flushes.load(Ordering::Relaxed)
    }

    /// It is flushed.
    pub fn note_flush(&self) {
        self.live.flushes.fetch_add(1, Ordering::Relaxed);
    }

    /// The next AUTO_INCREMENT value, 0 if the table has none.
    pub fn auto_increment_next(&self) -> u64 {
        if self.def.auto_increment_column().is_none() {
            return 0;
        }
        self.counter().max(1)
    }

    /// Where the AUTO_INCREMENT counter stands, as far as is known without a look at the rows; 0: nothing is.
    pub(crate) fn counter(&self) -> u64 {
        match self.live.auto_increment.load(Ordering::Relaxed) {
            0 => {
                let saved = self.live.auto_increment_saved.load(Ordering::Relaxed);
                saved.max(self.def.options.auto_increment)
            }
            next => next,
        }
    }

    /// The number of its lock: the same as long as there is such a table, under all its definitions.
    pub fn lock_number(&self) -> u64 {
        self.lock.number()
    }

    /// Which sessions have locked it, and how.
    pub fn lock_holders(&self) -> Vec<(u64, TableLockMode)> {
        self.lock.holders()
    }

    /// How many use it.
    pub(crate) fn users(&self) -> i64 {
        self.lock.users()
    }
}

/// Bytes of a row such that four fit a page, which long columns are moved out for, and as many as fit a page between the longest keys.
fn row_sizes(indexes: &[Arc<Index>]) -> (usize, usize) {
    let wanted = btree::INLINE_TARGET - crate::record::HEADER;
    // Of strings the weights, and what is escaped among them.
    let longest = |p: &KeyPart| match p.ty.is_string() {
        true => 16 + 4 * p.ty.max_bytes() as usize,
        false => 16 + 2 * p.ty.max_bytes() as usize,
    };
    let parts = indexes.first().map_or(&[][..], |x| &x.parts);
    let key: usize = parts.iter().map(longest).sum();
    let most = btree::max_value(key).saturating_sub(crate::record::HEADER);
    (wanted, most.max(wanted))
}

/// The layout of its rows: those written before its last columns were added have their fill in these.
pub(crate) fn layout(def: &TableDef) -> RowLayout {
    let types = def.columns.iter().map(|c| c.ty.clone()).collect();
    let fill = def.columns.iter().rev().map_while(|c| c.fill.clone());
    let mut fill: Vec<Value> = fill.collect();
    fill.reverse();
    RowLayout::grown(types, fill)
}

pub(crate) fn key_parts(def: &TableDef, x: &IndexDef) -> Vec<KeyPart> {
    if x.kind == IndexKind::Hidden {
        return vec![KeyPart::new(DataType::UBIGINT, false)];
    }
    x.parts
        .iter()
        .map(|p| {
            let c = &def.columns[p.column as usize];
            KeyPart {
                ty: c.key_type().clone(),
                // A list is NULL or not; its elements never are.
                nullable: c.nullable || c.is_list(),
                prefix: p.prefix,
                descending: p.descending,
            }
        })
        .collect()
}
