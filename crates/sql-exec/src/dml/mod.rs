//! Statements that change rows. Each kind finds or makes its rows in a file of its own; all of them change rows through one
//! [`table_writer`].
//!
//! | file | what it does |
//! |---|---|
//! | `insert` | INSERT, REPLACE, the runs of LOAD DATA: row by row, with `new_row` (values and defaults), `numbers` (AUTO_INCREMENT) and `on_duplicate` (a row that is there already) |
//! | `update`, `collected` | UPDATE: by key, while scanning, or of rows found before; `edit` makes the new row, `assign` keeps values of when rows were found |
//! | `delete` | DELETE in the same three ways |
//! | `target_scan`, `target_keys` | rows to be changed: as a scan finds them, or all of them first |
//! | `applied` | rows that another server has changed, as its binary log has them |
//! | `values` | values for storage |
//! | `row_rules` | generated columns and CHECK constraints of one row |
//! | `table_writer` | the change itself, what stands before and after it, and what is counted |

pub(super) mod applied;
mod assign;
mod collected;
pub(super) mod delete;
mod edit;
pub(super) mod insert;
mod new_row;
pub(super) mod numbers;
mod on_duplicate;
pub mod row_rules;
pub mod table_writer;
mod target_keys;
mod target_scan;
pub(super) mod update;
pub(super) mod values;
