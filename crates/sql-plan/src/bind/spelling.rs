//! How names of columns compare.

/// A name as it is looked for among others: that of names that are the same.
pub(crate) fn folded(name: &str) -> String {
    name.to_lowercase()
}

/// Whether two column names are the same.
pub fn same_name(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
        || (!(a.is_ascii() && b.is_ascii()) && a.to_lowercase() == b.to_lowercase())
}
