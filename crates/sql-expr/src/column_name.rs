//! How messages name a column. Most columns are never named in one, so the name is put together when it is asked for: an expression
//! keeps the table's names, which all of its columns share.

use std::fmt;
use std::sync::Arc;

/// The names of a table of FROM and of its columns.
pub trait TableNames: Send + Sync {
    /// Its schema; empty where it has none.
    fn schema(&self) -> &str;
    /// How the statement calls it.
    fn table(&self) -> &str;
    /// A column by its place.
    fn column(&self, ordinal: u16) -> &str;
}

/// The name of a column: `schema.table.column` or less.
#[derive(Clone)]
pub enum ColumnName {
    /// As it is.
    Plain(Arc<str>),
    /// An expression, of a column that has no name.
    Expression(Arc<str>),
    /// A column of a table.
    Of(Arc<dyn TableNames>, u16),
}

impl ColumnName {
    /// Its parts, as many as there are.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        let (qualifiers, name) = match self {
            ColumnName::Plain(name) | ColumnName::Expression(name) => (["", ""], &**name),
            ColumnName::Of(t, ordinal) => ([t.schema(), t.table()], t.column(*ordinal)),
        };
        let qualifiers = qualifiers.into_iter().filter(|q| !q.is_empty());
        qualifiers.chain([name])
    }
}

impl From<&str> for ColumnName {
    fn from(name: &str) -> ColumnName {
        ColumnName::Plain(name.into())
    }
}

impl fmt::Display for ColumnName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, part) in self.parts().enumerate() {
            if i > 0 {
                f.write_str(".")?;
            }
            f.write_str(part)?;
        }
        Ok(())
    }
}

impl fmt::Debug for ColumnName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Names;

    impl TableNames for Names {
        fn schema(&self) -> &str {
            ""
        }

        fn table(&self) -> &str {
            "q.r"
        }

        fn column(&self, ordinal: u16) -> &str {
            ["a.b", "c"][usize::from(ordinal)]
        }
    }

    /// A dot in a name is no end of a part.
    #[test]
    fn parts_are_those_that_there_are() {
        let name = ColumnName::Of(Arc::new(Names), 0);
        assert_eq!(name.parts().collect::<Vec<_>>(), ["q.r", "a.b"]);
        assert_eq!(name.to_string(), "q.r.a.b");
        assert_eq!(ColumnName::from("a.b").parts().count(), 1);
    }
}
