//! Definitions: what tables, columns and indexes are, how they are written down in the catalog, and the immutable snapshot
//! of all of them that statements read.
//!
//! This module touches no page and no transaction.

mod codec;
mod column_key;
mod constraints;
mod cover;
mod ddl_mutex;
mod def;
mod foreign_key;
mod known;
mod object;
mod row_counts;
mod sizes;
mod snapshot;
mod table;

pub use column_key::column_key;
pub(crate) use column_key::column_key_into;
pub use constraints::generated_number;
pub use cover::Cover;
pub(crate) use ddl_mutex::{DdlGuard, DdlState};
pub use def::{
    CheckDef, ColumnDef, ColumnDefault, ForeignKeyDef, GeneratedDef, IndexDef, IndexKind,
    IndexOptions, IndexPart, ReferenceAction, SchemaDef, TableDef, TableOptions,
};
pub use foreign_key::filled_up;
pub(crate) use foreign_key::{go_together, stays};
pub(crate) use object::ViewUse;
pub use object::{ObjectDef, ObjectKind};
pub(crate) use row_counts::Look;
pub use sizes::TableSizes;
pub(crate) use snapshot::OwnNames;
pub use snapshot::{Catalog, Schema};
pub(crate) use table::{ChangeCapture, key_parts, layout};
pub use table::{Index, Table, TableUse};

/// Id of the table that holds the definitions, and of its tablespace.
pub(crate) const CATALOG_ID: u32 = 1;
