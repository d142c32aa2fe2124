//! The names of character sets and collations as variables hold them.

use types::charset::Charset;
use types::collation::CollationId;

/// The canonical name of a character set.
pub(super) fn charset_name(name: &str) -> Option<&'static str> {
    Charset::by_name(name).map(Charset::name)
}

pub(super) use types::collation::client::is_wide;

/// The canonical name of a collation.
pub(super) fn collation_name(name: &str) -> Option<&'static str> {
    CollationId::by_name(name).map(CollationId::name)
}

/// The default collation of a character set.
pub(super) fn default_collation(charset: &str) -> Option<&'static str> {
    Charset::by_name(charset).map(|c| CollationId::default_of(c).name())
}

/// The character set of a collation.
pub(super) fn charset_of(collation: &str) -> Option<&'static str> {
    CollationId::by_name(collation).map(|c| c.charset().name())
}

/// Character set and collation of MySQL's collation number.
pub(super) fn names_by_id(id: u16) -> Option<(&'static str, &'static str)> {
    let c = CollationId(id);
    c.is_known().then(|| (c.charset().name(), c.name()))
}
