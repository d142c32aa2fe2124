//! Rows that were inserted, changed or deleted in one table.

use super::column::code;
use super::header::kind;
use super::table_map::{MOST_COLUMNS, TableMap};
use super::{bit, bytes_of, put_bits, set_bit};
use crate::error::ProtocolError;
use crate::read::{ReadResult, Reader};
use crate::write::Put;
use types::{Value, ValueRef};

/// Flags of the event.
pub mod flag {
    /// It is the statement's last: the tables' numbers end with it.
    pub const STATEMENT_END: u16 = 1;
    /// `foreign_key_checks` was off.
    pub const NO_FOREIGN_KEY_CHECKS: u16 = 2;
    /// `unique_checks` was off.
    pub const RELAXED_UNIQUE_CHECKS: u16 = 4;
}

/// What was done with the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Inserted.
    Write,
    /// Changed: the row before and the row after it.
    Update,
    /// The same, where the row after it may say of a document only what has changed in it (`binlog_row_value_options` is PARTIAL_JSON).
    UpdateParts,
    /// Deleted.
    Delete,
}

impl Change {
    /// The number of its event.
    pub const fn kind(self) -> u8 {
        match self {
            Change::Write => kind::WRITE_ROWS,
            Change::Update => kind::UPDATE_ROWS,
            Change::UpdateParts => kind::PARTIAL_UPDATE_ROWS,
            Change::Delete => kind::DELETE_ROWS,
        }
    }

    /// By the number of an event: what, and whether of the second version; `None`: it is no event of rows.
    pub const fn by_kind(of: u8) -> Option<(Change, bool)> {
        Some(match of {
            kind::WRITE_ROWS => (Change::Write, true),
            kind::UPDATE_ROWS => (Change::Update, true),
            kind::PARTIAL_UPDATE_ROWS => (Change::UpdateParts, true),
            kind::DELETE_ROWS => (Change::Delete, true),
            kind::WRITE_ROWS_V1 => (Change::Write, false),
            kind::UPDATE_ROWS_V1 => (Change::Update, false),
            kind::DELETE_ROWS_V1 => (Change::Delete, false),
            _ => return None,
        })
    }

    /// Whether a row has two images.
    pub const fn is_update(self) -> bool {
        matches!(self, Change::Update | Change::UpdateParts)
    }
}

/// What a row after an update may have besides its values, as it says in front of them.
mod value_option {
    /// Of documents what has changed in them.
    pub const PARTIAL_JSON: u64 = 1;
}

/// The body of an event with rows, its rows not taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows<'a> {
    /// What was done.
    pub change: Change,
    /// The table, as its event calls it.
    pub table: u64,
    /// Of [`flag`].
    pub flags: u16,
    /// How many columns there are.
    pub columns: usize,
    /// Which of them the rows have: of an update those before it.
    pub present: &'a [u8],
    /// Of an update which the rows have after it; else the same.
    pub present_after: &'a [u8],
    /// The rows.
    pub rows: &'a [u8],
}

/// The values of a row in the order of the table's columns; `None`: the row does not have the column.
pub type Image = Vec<Option<Value>>;

/// A row of an event.
#[derive(Debug, Clone, Default)]
pub struct Row {
    /// It before: of an insert without columns.
    pub before: Image,
    /// It after: of a delete without columns.
    pub after: Image,
    /// Documents of `after` that are not whole: their bytes are what has changed in them (MySQL's vector of differences).
    pub parts: Vec<usize>,
}

impl<'a> Rows<'a> {
    /// Reads the body, of the second version or the first.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: it ends early, or says what cannot be.
    pub fn read(change: Change, second: bool, body: &'a [u8]) -> ReadResult<Rows<'a>> {
        let mut r = Reader::new(body);
        let table = u64::from(r.u32()?) | u64::from(r.u16()?) << 32;
        let flags = r.u16()?;
        if second {
            // Its length counts itself.
            let more = r.u16()?.checked_sub(2).ok_or(ProtocolError::Malformed)?;
            r.read_bytes(usize::from(more))?;
        }
        let columns = usize::try_from(r.lenenc_int()?)
            .ok()
            .filter(|n| *n <= MOST_COLUMNS)
            .ok_or(ProtocolError::Malformed)?;
        let present = r.read_bytes(bytes_of(columns))?;
        let present_after = match change.is_update() {
            true => r.read_bytes(bytes_of(columns))?,
            false => present,
        };
        Ok(Rows {
            change,
            table,
            flags,
            columns,
            present,
            present_after,
            rows: r.take_rest(),
        })
    }

    /// Takes the rows apart by what the table's event says: each with its image before (of an insert: without columns) and after (of
    /// a delete likewise).
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: they end early, the table's event is of another table, or documents are not whole.
    pub fn images(&self, map: &TableMap) -> ReadResult<Vec<(Image, Image)>> {
        let mut left = self.clone();
        let mut images = Vec::new();
        while let Some(row) = left.next_row(map)? {
            if !row.parts.is_empty() {
                return Err(ProtocolError::Malformed);
            }
            images.push((row.before, row.after));
        }
        Ok(images)
    }

    /// Takes the first of the rows off them; `None`: there is none left. Few bytes may stand for
    /// many values: who does not trust the writer takes a few rows at a time.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: they end early, or the table's event is of another table.
    pub fn next_row(&mut self, map: &TableMap) -> ReadResult<Option<Row>> {
        if map.columns.len() != self.columns {
            return Err(ProtocolError::Malformed);
        }
        if self.rows.is_empty() {
            return Ok(None);
        }
        let mut r = Reader::new(self.rows);
        let first = image(&mut r, self.present, map)?;
        let mut row = Row::default();
        match self.change {
            Change::Write => row.after = first,
            Change::Delete => row.before = first,
            Change::Update | Change::UpdateParts => {
                let partial = match self.change {
                    Change::UpdateParts => partial_bits(&mut r, map)?,
                    _ => &[],
                };
                row.before = first;
                row.after = image(&mut r, self.present_after, map)?;
                row.parts = parts(partial, map, &row.after);
            }
        }
        // A row of no columns takes no bytes, and there would be no end of them.
        if r.rest().len() == self.rows.len() {
            return Err(ProtocolError::Malformed);
        }
        self.rows = r.take_rest();
        Ok(Some(row))
    }
}

fn documents(map: &TableMap) -> impl Iterator<Item = usize> + '_ {
    let columns = map.columns.iter().enumerate();
    columns
        .filter(|(_, c)| c.ty.code == code::JSON)
        .map(|(n, _)| n)
}

/// What stands in front of a row that may have parts of documents: a bit of each column of documents, also of those that the row does not have. No
/// bytes: all are whole.
fn partial_bits<'a>(r: &mut Reader<'a>, map: &TableMap) -> ReadResult<&'a [u8]> {
    match r.lenenc_int()? {
        0 => Ok(&[]),
        value_option::PARTIAL_JSON => r.read_bytes(bytes_of(documents(map).count())),
        _ => Err(ProtocolError::Malformed),
    }
}

/// The columns that the bits are set of, and that have a value.
fn parts(partial: &[u8], map: &TableMap, image: &Image) -> Vec<usize> {
    if partial.is_empty() {
        return Vec::new();
    }
    let columns = documents(map).enumerate();
    let set = columns.filter(|(at, _)| bit(partial, *at)).map(|(_, n)| n);
    let has = |n: &usize| matches!(image.get(*n), Some(Some(Value::Bytes(_))));
    set.filter(has).collect()
}

fn image(r: &mut Reader<'_>, present: &[u8], map: &TableMap) -> ReadResult<Image> {
    let there = (0..map.columns.len()).filter(|n| bit(present, *n)).count();
    let nulls = r.read_bytes(bytes_of(there))?;
    let mut at = 0;
    let mut values = Image::with_capacity(map.columns.len());
    for (n, c) in map.columns.iter().enumerate() {
        if !bit(present, n) {
            values.push(None);
            continue;
        }
        let null = bit(nulls, at);
        at += 1;
        values.push(Some(match null {
            true => Value::Null,
            false => c.ty.read(r, c.unsigned)?,
        }));
    }
    Ok(values)
}

/// Appends what stands in front of the rows, in the second version. `present_after` only of an update.
pub fn put_front(
    table: u64,
    flags: u16,
    present: &[bool],
    present_after: Option<&[bool]>,
    out: &mut Vec<u8>,
) {
    out.put_bytes(&table.to_le_bytes()[..6]);
    out.put_u16(flags);
    // No more about it than this length itself.
    out.put_u16(2);
    out.put_lenenc_int(present.len() as u64);
    for bits in std::iter::once(present).chain(present_after) {
        // Where all columns are there, MySQL sets the bits behind the last too.
        match bits.iter().all(|b| *b) {
            true => out.resize(out.len() + bytes_of(bits.len()), u8::MAX),
            false => put_bits(bits.iter().copied(), false, out),
        }
    }
}

/// Appends one image of a row: the columns that are `present`.
///
/// # Errors
/// [`ProtocolError::WrongArguments`]: a value is not of its column's type.
pub fn put_image<'v>(
    map: &TableMap,
    present: &[bool],
    value: impl Fn(usize) -> ValueRef<'v>,
    out: &mut Vec<u8>,
) -> ReadResult<()> {
    let columns = map.columns.iter().zip(present).enumerate();
    let there = columns.filter(|(_, (_, there))| **there);
    let nulls = out.len();
    out.resize(nulls + bytes_of(there.clone().count()), 0);
    for (at, (n, (c, _))) in there.enumerate() {
        match value(n) {
            ValueRef::Null => set_bit(&mut out[nulls..], at),
            v => c.ty.put(v, out)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::column::ColumnType;
    use super::super::table_map::Column;
    use super::*;
    use proptest::prelude::*;
    use types::datatype::DataType;

    fn map() -> TableMap {
        let columns = [
            DataType::INT,
            DataType::VarBinary(20),
            DataType::BIGINT,
            DataType::Date,
        ];
        let columns = columns.iter().map(|ty| Column {
            ty: ColumnType::of(ty).unwrap(),
            nullable: true,
            unsigned: false,
            collation: None,
            name: Vec::new(),
            members: Vec::new(),
            visible: true,
        });
        TableMap {
            id: 9,
            database: b"d".to_vec(),
            table: b"t".to_vec(),
            columns: columns.collect(),
            primary_key: Vec::new(),
        }
    }

    fn shown(image: &Image) -> String {
        format!("{image:?}")
    }

    #[test]
    fn what_is_written_is_read_back() {
        let map = map();
        let row = [
            Value::Int(7),
            Value::Bytes(b"abc".to_vec()),
            Value::Null,
            Value::Null,
        ];
        let some = [true, false, true, false];
        let all = [true; 4];
        for change in [Change::Write, Change::Update, Change::Delete] {
            let mut body = Vec::new();
            let after = (change == Change::Update).then_some(&all[..]);
            put_front(9, flag::STATEMENT_END, &some, after, &mut body);
            for _ in 0..3 {
                put_image(&map, &some, |n| row[n].as_ref(), &mut body).unwrap();
                if after.is_some() {
                    put_image(&map, &all, |n| row[n].as_ref(), &mut body).unwrap();
                }
            }
            let rows = Rows::read(change, true, &body).unwrap();
            assert_eq!((rows.table, rows.flags, rows.columns), (9, 1, 4));
            let images = rows.images(&map).unwrap();
            assert_eq!(images.len(), 3);
            let whole: Image = row.iter().cloned().map(Some).collect();
            let part: Image = row
                .iter()
                .cloned()
                .zip(some)
                .map(|(v, p)| p.then_some(v))
                .collect();
            let (before, after) = match change {
                Change::Write => (Image::new(), part),
                Change::Update | Change::UpdateParts => (part, whole),
                Change::Delete => (part, Image::new()),
            };
            for (b, a) in &images {
                assert_eq!((shown(b), shown(a)), (shown(&before), shown(&after)));
            }
            for cut in 0..body.len() {
                let read = Rows::read(change, true, &body[..cut]);
                let _ = read.map(|r| r.images(&map));
            }
        }
    }

    #[test]
    fn rows_without_columns_have_an_end() {
        let mut body = Vec::new();
        put_front(9, 0, &[false; 4], None, &mut body);
        body.push(0);
        let rows = Rows::read(Change::Write, true, &body).unwrap();
        assert!(rows.images(&map()).is_err());
    }

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>, second: bool, of in 0usize..4) {
            let change = [Change::Write, Change::Update, Change::Delete, Change::UpdateParts][of];
            if let Ok(rows) = Rows::read(change, second, &bytes) {
                let _ = rows.images(&map());
            }
        }
    }
}
