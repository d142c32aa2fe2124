//! Changes of few rows that lie far apart: each is in a page of its own.

use harness::step::Outcome;
use harness::sysbench;
use std::collections::BTreeMap;
use std::path::Path;
use wire::client::blocking::Conn;

/// Changes in a transaction.
const AT_ONCE: usize = 100;

/// So many rows of tables that have `rows` each, evenly over all of them: the table's number and the row's id, both from 1.
pub(super) fn spread(tables: u32, rows: u64, wanted: u64) -> Vec<(u32, u64)> {
    let all = u128::from(tables) * u128::from(rows);
    let wanted = u128::from(wanted).min(all);
    let row = |n: u128| {
        // In the middle of its share, so that it is not always the first of its page.
        let at = (2 * n + 1) * all / (2 * wanted);
        let (table, row) = (at / u128::from(rows), at % u128::from(rows));
        Some((u32::try_from(table).ok()? + 1, u64::try_from(row).ok()? + 1))
    };
    (0..wanted).filter_map(row).collect()
}

/// How far apart they are at least, in rows of a table.
pub(super) fn distance(chosen: &[(u32, u64)]) -> u64 {
    let mut by_table: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for (table, row) in chosen {
        by_table.entry(*table).or_default().push(*row);
    }
    let apart = by_table
        .values()
        .flat_map(|rows| rows.windows(2).map(|w| w[1].abs_diff(w[0])));
    apart.min().unwrap_or(u64::MAX)
}

/// Changes a column that no index has, in each of these rows.
pub(super) fn apply(socket: &Path, database: &str, chosen: &[(u32, u64)]) -> Outcome<()> {
    let fail = |e| format!("changing rows: {e}");
    let mut conn = Conn::connect_unix(socket, "root", "", Some(database)).map_err(fail)?;
    let names = sysbench::table_names(chosen.iter().map(|c| c.0).max().unwrap_or(0));
    for some in chosen.chunks(AT_ONCE) {
        conn.query("BEGIN").map_err(fail)?;
        for (table, row) in some {
            let name = &names[*table as usize - 1];
            // Text of the same length, which the page takes where the old one was.
            let sql = format!("UPDATE {name} SET pad = REVERSE(pad) WHERE id = {row}");
            let results = conn.query(&sql).map_err(fail)?;
            let changed = results.last().map_or(0, |r| r.affected_rows);
            if changed != 1 {
                return Err(format!("{sql}: {changed} rows were changed"));
            }
        }
        conn.query("COMMIT").map_err(fail)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_spread_over_all_tables() {
        let chosen = spread(2, 100, 10);
        assert_eq!(chosen.len(), 10);
        assert_eq!(chosen[0], (1, 11));
        assert_eq!(chosen[4], (1, 91));
        assert_eq!(chosen[5], (2, 11));
        assert_eq!(chosen[9], (2, 91));
        assert_eq!(distance(&chosen), 20);
        // A page of 4 GB in a hundred.
        let many = spread(8, 2_000_000, 2_621);
        assert_eq!(many.len(), 2_621);
        assert!(distance(&many) > 6_000, "{}", distance(&many));
        assert!(
            many.iter()
                .all(|(t, id)| (1..=8).contains(t) && (1..=2_000_000).contains(id))
        );
    }

    #[test]
    fn there_are_no_more_rows_than_there_are() {
        let all = spread(2, 3, 1000);
        assert_eq!(all, [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]);
        assert!(spread(2, 3, 0).is_empty());
        assert_eq!(distance(&spread(3, 100, 3)), u64::MAX);
    }
}
