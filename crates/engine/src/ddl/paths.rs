//! Names of files. Letters, digits, `_`, `-` and `$` stand for themselves, other bytes as `@` and two hex digits, so that
//! any name can be a file's, and names that differ have files that differ.

use std::fmt::Write;
use std::path::PathBuf;

fn encode(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for b in name.bytes() {
        if b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'$') {
            out.push(b as char);
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "@{b:02x}");
        }
    }
    out
}

/// The catalog's file, relative to the data folder.
pub(crate) fn catalog_path() -> PathBuf {
    PathBuf::from("catalog.tdb")
}

/// A schema's folder, relative to the data folder.
pub(crate) fn schema_dir(schema: &str) -> PathBuf {
    PathBuf::from(encode(schema))
}

/// A table's file, relative to the data folder.
pub(crate) fn table_path(schema: &str, table: &str) -> PathBuf {
    schema_dir(schema).join(format!("{}.tdb", encode(table)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_folder() {
        assert_eq!(table_path("a", "t1"), PathBuf::from("a/t1.tdb"));
        assert_eq!(
            table_path("..", "../x"),
            PathBuf::from("@2e@2e/@2e@2e@2fx.tdb")
        );
        assert_ne!(table_path("a", "é"), table_path("a", "e"));
    }
}
