//! Ranges that are read twice in one snapshot: by their rows, and by the entries of the index alone.

use super::read::Range;
use super::{Client, Held};
use crate::context::Trouble;
use engine::{Cover, IndexKind, ReadMode, RowBatch, ScanSpec, Session};
use std::sync::Arc;

/// The clustered keys that a scan showed, and what some columns had.
type Entries = Vec<(Vec<u8>, String)>;

impl Client {
    /// Reads a range of a secondary index both ways.
    pub(super) async fn covered_read(
        &mut self,
        s: &mut Session,
        h: &Held,
        range: &Range,
    ) -> Result<(), Trouble> {
        let parts = |index: usize| h.t.def.indexes[index].parts.iter().map(|p| p.column);
        let mut columns: Vec<u16> = parts(range.index).collect();
        if h.t.def.indexes[0].kind != IndexKind::Hidden {
            columns.extend(parts(0));
        }
        let Some(cover) = h.t.cover(range.index, &columns).map(Arc::new) else {
            return Ok(());
        };
        let spec = self.spec(h, range, ReadMode::Consistent);
        let rows = entries(s, h, &spec, None, &columns).await?;
        let covered = entries(s, h, &spec, Some(&cover), &columns).await?;
        self.cx.count("covered reads");
        if rows == covered {
            return Ok(());
        }
        let odd = |(a, b): &(_, _)| a != b;
        let first = rows.iter().zip(&covered).find(odd);
        Err(Trouble::Wrong(format!(
            "{} {range:?}: {} rows and {} entries, first {first:?}",
            h.t.def.name,
            rows.len(),
            covered.len()
        )))
    }
}

async fn entries(
    s: &mut Session,
    h: &Held,
    spec: &ScanSpec,
    cover: Option<&Arc<Cover>>,
    columns: &[u16],
) -> Result<Entries, Trouble> {
    let mut scan = s.scan(&h.t, spec.clone()).covered(cover);
    let mut batch = RowBatch::new();
    let mut out = Entries::new();
    loop {
        batch.clear();
        let more = s
            .next_batch(&mut scan, &mut batch, 20, &mut |_| Ok(true))
            .await?;
        for i in 0..batch.len() {
            let row = batch.row(i);
            let values = columns.iter().map(|c| row.column(usize::from(*c)));
            let shown = format!("{:?}", values.collect::<Vec<_>>());
            out.push((batch.key(i).to_vec(), shown));
        }
        if !more {
            return Ok(out);
        }
    }
}
