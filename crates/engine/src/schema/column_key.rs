//! The key under which a value stands in the statistics of its column.

use super::ColumnDef;
use crate::stats::KEY_BYTES;
use types::ValueRef;
use types::keyenc::KeyPart;

/// The key under which a value of a column, already converted to the column's type, stands in its statistics: as the ascending part of
/// the whole column in an index without NULLs, cut to 64 bytes; of text the weights of its first 64 characters. `None` for NULL.
pub fn column_key(def: &ColumnDef, value: ValueRef<'_>) -> Option<Box<[u8]>> {
    let mut key = Vec::new();
    column_key_into(def, value, &mut key).then(|| key.into_boxed_slice())
}

/// As [`column_key`], appended to `out`; false for NULL.
pub(crate) fn column_key_into(def: &ColumnDef, value: ValueRef<'_>, out: &mut Vec<u8>) -> bool {
    if value.is_null() {
        return false;
    }
    let start = out.len();
    let part = KeyPart {
        ty: def.ty.clone(),
        nullable: false,
        // More of a long text would not be seen.
        prefix: if def.ty.is_string() {
            KEY_BYTES as u32
        } else {
            0
        },
        descending: false,
    };
    part.encode(value, out);
    out.truncate(start + KEY_BYTES);
    true
}
