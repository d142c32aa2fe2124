//! Building an index from the rows of a table that nobody is using.

use super::leftovers::Leftover;
use crate::error;
use crate::record::{HEADER, RowVersion, SecValue};
use crate::schema::{IndexDef, IndexKind, Table};
use crate::session::{Session, entry_key_of};
use btree::{Action, Change, Direction, ScanPos, ScanState, Tree, Visit};
use pager::RecordKind;
use std::convert::Infallible;
use std::sync::Arc;
use types::{SqlError, ValueRef};

impl Session {
    /// Makes the tree of `index`, which is noted as `left`, and fills it. After an error the tree is to be taken out.
    pub(super) async fn build_index(
        &mut self,
        t: &Arc<Table>,
        index: &mut IndexDef,
        left: &mut Leftover,
    ) -> Result<(), SqlError> {
        let engine = self.engine.clone();
        let fail = |e| error::storage(e, &t.full_name);
        index.root = engine
            .pager()
            .run(|| Tree::create(engine.pager(), &t.space, index.id))
            .await
            .map_err(fail)?;
        engine.locate_leftover(left, index.root).await?;
        let tree = Tree::open(
            engine.pager().clone(),
            t.space.clone(),
            index.root,
            index.id,
        );
        self.fill_index(t, index, &tree).await
    }

    async fn fill_index(
        &mut self,
        t: &Arc<Table>,
        index: &IndexDef,
        tree: &Tree,
    ) -> Result<(), SqlError> {
        let pager = self.engine.pager().clone();
        let fail = |e| error::storage(e, &t.full_name);
        let mut def = t.def.clone();
        def.indexes.push(index.clone());
        let view = Table::open(&pager, def, t.space.clone(), Some(t));
        let n = view.indexes.len() - 1;
        let mut entries: Vec<(Vec<u8>, usize, bool)> = Vec::new();
        let mut pos = ScanPos::start();
        loop {
            self.interrupt.check()?;
            self.breathe().await;
            let mut rows: Vec<(Vec<u8>, RowVersion, Vec<u8>)> = Vec::new();
            let state = pager
                .run(|| {
                    rows.clear();
                    let mut p = pos.clone();
                    let s = t.indexes[0]
                        .tree
                        .scan(&mut p, Direction::Forward, |key, value| {
                            if let Some(v) = RowVersion::read(value)
                                && !v.deleted()
                            {
                                rows.push((key.to_vec(), v, value[HEADER..].to_vec()));
                            }
                            Visit::Next
                        })?;
                    pos = p;
                    Ok(s)
                })
                .await
                .map_err(fail)?;
            for (key, v, row) in rows {
                if !t.layout.fits(&row, v.external()) {
                    return Err(error::bad_row(&t.full_name));
                }
                let outside = if v.external() {
                    self.read_outside(t, &row).await?
                } else {
                    Vec::new()
                };
                let r = t.layout.row(&row).with_outside(&outside);
                let mut entry = Vec::with_capacity(key.len() + 16);
                let (split, null) = entry_key_of(&view, n, r, &key, &mut entry);
                entries.push((entry, split, null));
            }
            if state == ScanState::End {
                break;
            }
        }
        // Sorted, the entries fill pages one after the other.
        entries.sort_unstable();
        if index.kind == IndexKind::Unique {
            for w in entries.windows(2) {
                let ((a, sa, null), (b, sb, _)) = (&w[0], &w[1]);
                if !null && a[..*sa] == b[..*sb] {
                    return Err(SqlError::dup_entry(
                        &describe(&view, n, a),
                        &format!("{}.{}", t.def.name, index.name),
                    ));
                }
            }
        }
        let mut change = Change::default();
        for (entry, split, _) in &entries {
            // Written by nobody in particular: visible to all.
            let value = SecValue {
                word: 0,
                split: *split as u16,
            }
            .bytes();
            let put = pager
                .run(|| {
                    tree.modify(entry, &mut change, |_, c| -> Result<Action, Infallible> {
                        c.kind = RecordKind::System;
                        c.value.extend_from_slice(&value);
                        Ok(Action::Put)
                    })
                })
                .await
                .map_err(fail)?;
            let Ok(_) = put;
        }
        Ok(())
    }
}

/// The values of a key as MySQL shows them in 1062, as far as the key can be read back.
fn describe(t: &Table, index: usize, key: &[u8]) -> String {
    let mut at = 0;
    let mut out: Vec<String> = Vec::new();
    for p in t.key_parts(index) {
        let Some((v, n)) = p.decode(&key[at..]) else {
            break;
        };
        at += n;
        let mut text = Vec::new();
        match v {
            Some(v) => types::convert::write_text(v.as_ref(), &p.ty, &mut text),
            None => types::convert::write_text(ValueRef::Null, &p.ty, &mut text),
        }
        out.push(String::from_utf8_lossy(&text).into_owned());
    }
    out.join("-")
}
