//! The catalog on disk and the statements that change it. Definitions are rows of one internal table, changed by ordinary
//! transactions: a DDL statement is atomic because its transaction is. Files follow the catalog: they are made before the
//! commit that names them and removed after the commit that forgets them; start-up removes what no definition names.

mod alter;
mod build;
mod catalog;
mod change_replay;
mod check_names;
mod close_tables;
mod compression;
mod copy;
mod drop_tables;
mod entries;
mod export;
mod foreign_keys;
mod foreign_rows;
mod import;
mod leaf_rows;
mod objects;
mod online_build;
mod orphaned_trees;
mod parallel;
mod paths;
mod programs;
mod rebuild;
mod rename;
mod rewrite;
mod row_change;
mod row_changes;
mod runs;
mod statements;
mod stats_rows;
mod temporary;
mod unfinished;
mod verify_rows;

pub(crate) use catalog::{OrphanedTree, catalog_def, load};
pub use objects::Existing;
pub(crate) use paths::{catalog_path, schema_dir, table_path};
pub use rewrite::{Keys, Reshape, Rewrite, Sound};
pub(crate) use runs::remove_left as remove_left_runs;
pub use unfinished::UNFINISHED;

/// Whether all of these are there.
///
/// # Errors
/// 1051, with the names of those that are not.
fn must_exist(
    names: &[row_change::TableName],
    is_there: impl Fn(&row_change::TableName) -> bool,
) -> Result<(), types::SqlError> {
    let missing = names.iter().filter(|n| !is_there(n));
    let missing: Vec<String> = missing.map(|(s, t)| format!("{s}.{t}")).collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(types::SqlError::bad_table(&missing.join(","))),
    }
}
