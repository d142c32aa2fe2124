//! The row format of a table as its definition says it.

use engine::TableOptions;

/// The name under which a definition that does not name its format keeps the one that was the default when its rows were written.
/// `DYNAMIC` is not written down.
pub(crate) const UNNAMED: &str = "innodb_default_row_format";

/// KEY_BLOCK_SIZE as it was written.
pub(crate) fn key_block_size(o: &TableOptions) -> Option<&str> {
    let given = o.others.iter().find(|(n, _)| n == "KEY_BLOCK_SIZE");
    given.map(|(_, v)| v.as_str())
}

/// The options that a definition shows besides those with a place of their own.
pub(crate) fn shown(o: &TableOptions) -> impl Iterator<Item = (&str, &str)> {
    let shown = |(n, v): &'_ (String, String)| n != UNNAMED && !v.is_empty();
    let all = o.others.iter().filter(move |x| shown(x));
    all.map(|(n, v)| (n.as_str(), v.as_str()))
}

/// The format that a table has: one of `DYNAMIC`, `COMPACT`, `REDUNDANT`, `COMPRESSED`.
pub(crate) fn actual(o: &TableOptions) -> &'static str {
    let unnamed = o.others.iter().find(|(n, _)| n == UNNAMED);
    let named = match o.row_format.as_str() {
        "" if is_block(key_block_size(o)) => "COMPRESSED",
        "" => unnamed.map_or("DYNAMIC", |(_, v)| v.as_str()),
        f => f,
    };
    match named {
        "COMPACT" => "COMPACT",
        "REDUNDANT" => "REDUNDANT",
        "COMPRESSED" => "COMPRESSED",
        _ => "DYNAMIC",
    }
}

/// Whether it is a size that blocks can have.
pub(crate) fn is_block(size: Option<&str>) -> bool {
    matches!(size, Some("1" | "2" | "4" | "8" | "16"))
}
