//! Foreign keys as definitions: what they say, which indexes serve them, and which columns go together.
//!
//! A foreign key is part of its child's definition. It names its parent, which need not be there: what is loaded with
//! `foreign_key_checks` off comes in any order.

use super::def::{ColumnDef, ForeignKeyDef, IndexKind, IndexPart, ReferenceAction, TableDef};
use super::table::Table;
use types::keyenc::KeyPart;
use types::{DataType, ValueRef};

impl ReferenceAction {
    /// As SQL has it.
    pub fn words(self) -> &'static str {
        match self {
            ReferenceAction::NoAction => "NO ACTION",
            ReferenceAction::Restrict => "RESTRICT",
            ReferenceAction::Cascade => "CASCADE",
            ReferenceAction::SetNull => "SET NULL",
        }
    }

    /// Whether the parent's change is refused.
    pub fn refuses(self) -> bool {
        matches!(self, ReferenceAction::NoAction | ReferenceAction::Restrict)
    }
}

impl ForeignKeyDef {
    /// Whether this table is its parent.
    pub fn refers_to(&self, schema: &str, name: &str) -> bool {
        self.parent == name && self.parent_schema == schema
    }

    /// Its columns in a parent of this definition, in order; `None` where one is not there.
    pub fn columns_in(&self, parent: &TableDef) -> Option<Vec<u16>> {
        let at = |n: &String| parent.column(n).map(|c| c as u16);
        self.parent_columns.iter().map(at).collect()
    }

    /// As SHOW CREATE TABLE and messages have it, with names as `name` writes them. A rule that is none is not shown.
    pub fn text(&self, child: &TableDef, name: impl Fn(&str) -> String) -> String {
        let own = self.columns.iter();
        let own = own.map(|c| name(&child.columns[usize::from(*c)].name));
        let own: Vec<String> = own.collect();
        let theirs: Vec<String> = self.parent_columns.iter().map(|c| name(c)).collect();
        let mut t = format!(
            "CONSTRAINT {} FOREIGN KEY ({}) REFERENCES ",
            name(&self.name),
            own.join(", ")
        );
        if self.parent_schema != child.schema {
            t.push_str(&name(&self.parent_schema));
            t.push('.');
        }
        t.push_str(&format!("{} ({})", name(&self.parent), theirs.join(", ")));
        for (when, action) in [("DELETE", self.on_delete), ("UPDATE", self.on_update)] {
            if action != ReferenceAction::NoAction {
                t.push_str(&format!(" ON {when} {}", action.words()));
            }
        }
        t
    }

    /// As errors 1451 and 1452 have it: behind the child's name.
    pub fn in_message(&self, child: &TableDef) -> String {
        let name = |n: &str| format!("`{}`", n.replace('`', "``"));
        format!(
            "{}.{}, {}",
            name(&child.schema),
            name(&child.name),
            self.text(child, name)
        )
    }
}

impl TableDef {
    /// The first index that begins with these columns, whole and in this order. The first, as in InnoDB, since that is whose turn it is when a row's
    /// entries are made in one index after the other.
    pub fn index_of(&self, columns: &[u16]) -> Option<usize> {
        let begins = |parts: &[IndexPart]| {
            parts.len() >= columns.len()
                && columns
                    .iter()
                    .zip(parts)
                    .all(|(c, p)| p.column == *c && p.prefix == 0)
        };
        self.indexes.iter().position(|x| {
            x.kind != IndexKind::Hidden && self.list_part(x).is_none() && begins(&x.parts)
        })
    }

    /// The first index by which rows are found that have values in these columns: it begins with them, or has them with the columns of the clustered
    /// key behind its own. A child needs an index of its own columns ([`index_of`](Self::index_of)); a parent is found by this, as in InnoDB.
    pub fn parent_index_of(&self, columns: &[u16]) -> Option<usize> {
        (0..self.indexes.len()).find(|i| {
            let mut parts = self.entry_parts(*i);
            let whole = |p: &IndexPart, c: u16| p.column == c && p.prefix == 0;
            self.indexes[*i].kind != IndexKind::Hidden
                && self.list_part(&self.indexes[*i]).is_none()
                && (columns.iter()).all(|c| parts.next().is_some_and(|p| whole(p, *c)))
        })
    }

    /// The parts of an index, and behind them those of the clustered key of which it has not the whole column.
    fn entry_parts(&self, index: usize) -> impl Iterator<Item = &IndexPart> {
        let own = &self.indexes[index].parts;
        let behind = self.indexes[0].parts.iter();
        let behind = behind.filter(move |p| index > 0 && place_of(own, p.column).is_none());
        own.iter().chain(behind)
    }
}

/// Where a whole column is among these parts.
fn place_of(parts: &[IndexPart], column: u16) -> Option<usize> {
    parts
        .iter()
        .position(|p| p.column == column && p.prefix == 0)
}

impl Table {
    /// The key with which entries of an index begin for values in the first `columns` columns that [`TableDef::parent_index_of`] goes by; `value` gives
    /// them by their number, of types that go together with those. False where no row has such a key: see [`related_key`].
    pub fn key_of_related<'v>(
        &self,
        index: usize,
        columns: usize,
        value: impl Fn(usize) -> (&'v DataType, ValueRef<'v>),
        key: &mut Vec<u8>,
    ) -> bool {
        let own = self.key_parts(index);
        let parts = own.iter().take(columns).zip(0..);
        if columns <= own.len() || index == 0 {
            return related_key(parts.map(|(p, n)| (p, value(n))), key);
        }
        // An entry ends with the whole clustered key, also where it has a column of that among its own.
        let declared = &self.def.indexes[index].parts;
        let mut next = own.len();
        let behind = self.key_parts(0).iter().zip(&self.def.indexes[0].parts);
        let behind = behind.map(|(p, d)| {
            let at = place_of(declared, d.column).unwrap_or_else(|| {
                next += 1;
                next - 1
            });
            (p, at)
        });
        let all = parts.chain(behind.take_while(|(_, n)| *n < columns));
        related_key(all.map(|(p, n)| (p, value(n))), key)
    }
}

/// Whether values of these columns can be compared as keys of each other's index. `collations`: they must be of the same one, too.
pub(crate) fn go_together(child: &ColumnDef, parent: &ColumnDef, collations: bool) -> bool {
    let (a, b) = (&child.ty, &parent.ty);
    let text = |t: &DataType| matches!(t, DataType::Char { .. } | DataType::VarChar { .. });
    let bytes = |t: &DataType| matches!(t, DataType::Binary(_) | DataType::VarBinary(_));
    if text(a) && text(b) {
        return !collations || a.collation() == b.collation();
    }
    if bytes(a) && bytes(b) {
        return true;
    }
    match (a, b) {
        (
            DataType::Int {
                width: v,
                unsigned: x,
                ..
            },
            DataType::Int {
                width: w,
                unsigned: y,
                ..
            },
        ) => v == w && x == y,
        (
            DataType::Decimal {
                precision: p,
                scale: s,
                unsigned: x,
                ..
            },
            DataType::Decimal {
                precision: q,
                scale: t,
                unsigned: y,
                ..
            },
        ) => (p, s, x) == (q, t, y),
        (DataType::Float { unsigned: x, .. }, DataType::Float { unsigned: y, .. })
        | (DataType::Double { unsigned: x, .. }, DataType::Double { unsigned: y, .. }) => x == y,
        // By the numbers of their members, of as many bytes.
        (DataType::Enum(x), DataType::Enum(y)) => (x.names.len() > 255) == (y.names.len() > 255),
        (DataType::Set(x), DataType::Set(y)) => {
            set_bytes(x.names.len()) == set_bytes(y.names.len())
        }
        (DataType::Json, _) | (_, DataType::Json) => false,
        _ => a == b && !a.is_lob(),
    }
}

/// The key with which an index begins, of these first parts, each with a value of a column of this type, which goes together with its own. False where no row
/// of the index has such a key: what has a fixed number of bytes equals what has as many alone, and is neither cut nor filled up to be another column's.
fn related_key<'p, 'v>(
    parts: impl Iterator<Item = (&'p KeyPart, (&'v DataType, ValueRef<'v>))>,
    key: &mut Vec<u8>,
) -> bool {
    key.clear();
    for (p, (ty, v)) in parts {
        let full = filled_up(ty, v);
        let v = full.as_deref().map_or(v, ValueRef::Bytes);
        if let (DataType::Binary(n), ValueRef::Bytes(b)) = (&p.ty, v)
            && b.len() != *n as usize
        {
            return false;
        }
        p.encode(v, key);
    }
    true
}

/// What a column of a fixed number of bytes makes of a value that is not in a row yet and has fewer.
pub fn filled_up(ty: &DataType, v: ValueRef<'_>) -> Option<Vec<u8>> {
    match (ty, v) {
        (DataType::Binary(n), ValueRef::Bytes(b)) if b.len() < *n as usize => {
            let mut full = b.to_vec();
            full.resize(*n as usize, 0);
            Some(full)
        }
        _ => None,
    }
}

fn set_bytes(members: usize) -> usize {
    match members.div_ceil(8) {
        n if n > 4 => 8,
        n => n,
    }
}

/// Whether a column's values stay what they are: text may only get room.
pub(crate) fn stays(was: &ColumnDef, is: &ColumnDef) -> bool {
    match (&was.ty, &is.ty) {
        (
            DataType::VarChar {
                chars: m,
                collation: a,
            },
            DataType::VarChar {
                chars: n,
                collation: b,
            },
        ) => a == b && m <= n,
        (DataType::VarBinary(m), DataType::VarBinary(n)) => m <= n,
        (DataType::Int { .. }, DataType::Int { .. }) => go_together(was, is, true),
        (a, b) => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{CollationId, IntWidth};

    #[test]
    fn columns_that_go_together() {
        let c = |ty| ColumnDef::new("c", ty);
        let bin = CollationId(46);
        let ai = CollationId::UTF8MB4_0900_AI_CI;
        let char = |chars, collation| DataType::Char { chars, collation };
        let together = |a: DataType, b: DataType| go_together(&c(a), &c(b), true);
        assert!(together(DataType::INT, DataType::INT));
        assert!(!together(DataType::INT, DataType::BIGINT));
        assert!(!together(DataType::INT, DataType::int(IntWidth::Int, true)));
        assert!(together(char(2, ai), DataType::varchar(9, ai)));
        assert!(!together(char(2, ai), char(2, bin)));
        assert!(go_together(&c(char(2, ai)), &c(char(2, bin)), false));
        assert!(together(DataType::Binary(4), DataType::VarBinary(9)));
        assert!(!together(DataType::Date, DataType::DateTime(0)));
        assert!(!together(DataType::DateTime(0), DataType::DateTime(3)));
    }

    #[test]
    fn bytes_are_neither_cut_nor_filled_up() {
        use DataType::{Binary, VarBinary};
        let key = |parts: &[DataType], values: &[(DataType, &[u8])]| {
            let parts = parts.iter().map(|t| KeyPart::new(t.clone(), true));
            let parts: Vec<KeyPart> = parts.collect();
            let values = values.iter().map(|(t, v)| (t, ValueRef::Bytes(v)));
            let mut key = vec![1];
            related_key(parts.iter().zip(values), &mut key).then_some(key)
        };
        let three = key(&[Binary(3)], &[(Binary(3), b"ab\0")]);
        assert!(three.is_some());
        assert_eq!(key(&[Binary(3)], &[(VarBinary(9), b"ab\0")]), three);
        // A row that comes has no more bytes than were written.
        assert_eq!(key(&[Binary(3)], &[(Binary(3), b"ab")]), three);
        assert_eq!(key(&[Binary(3)], &[(VarBinary(9), b"ab")]), None);
        assert_eq!(key(&[Binary(3)], &[(VarBinary(9), b"abcd")]), None);
        assert_eq!(key(&[Binary(3)], &[(Binary(5), b"abc")]), None);
        let free = |t, v| key(&[VarBinary(9)], &[(t, v)]);
        assert_eq!(free(Binary(3), b"ab"), free(VarBinary(9), b"ab\0"));
        assert_ne!(free(Binary(3), b"ab"), free(VarBinary(9), b"ab"));
        assert_ne!(free(VarBinary(12), b"abc"), free(VarBinary(12), b"abcd"));
        let both = [VarBinary(9), Binary(2)];
        assert!(key(&both, &[(Binary(1), b"x"), (VarBinary(5), b"yy")]).is_some());
        assert_eq!(key(&both, &[(Binary(1), b"x"), (VarBinary(5), b"y")]), None);
    }
}
