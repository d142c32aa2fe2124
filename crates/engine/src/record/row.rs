//! Rows: columns within bytes, each found at once.
//!
//! ```text
//! columns u16 | null bitmap | fixed-width columns in order | end offset u16 of each other column | their bytes
//! ```
//! A row that was written when the table had fewer columns says so by their number, and has what they are filled with in the others.
//! A NULL fixed-width column keeps its place (zeros). End offsets count from the first byte of the variable part; bit 15
//! says that the bytes are a reference to overflow pages: first page u32, length u64.

use base::{PageNo, le};
use types::{DataType, Value, ValueRef, rowfield};

const OUTSIDE: u16 = 0x8000;
/// Bytes of a reference to overflow pages.
const REFERENCE: usize = 12;
/// Bytes of a column that is moved out although the row would fit a page with it.
const WORTH_A_PAGE: usize = 255;

#[derive(Clone, Copy, Debug)]
enum Place {
    Fixed { at: u32, len: u32 },
    Variable(u16),
}

/// Where the columns of a table are in its rows.
#[derive(Clone, Debug)]
pub struct RowLayout {
    types: Vec<DataType>,
    places: Vec<Place>,
    ends: usize,
    variable: usize,
    /// Those of rows without the last column, without the last two, and so on.
    shorter: Vec<RowLayout>,
    /// What such rows have in the last columns.
    fill: Vec<Value>,
}

/// A column kept in overflow pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct External {
    /// Which column.
    pub column: usize,
    /// First page of the chain.
    pub first: PageNo,
    /// Bytes in all.
    pub len: u64,
}

impl RowLayout {
    /// The layout for columns of these types.
    pub fn new(types: Vec<DataType>) -> RowLayout {
        let mut at = 2 + types.len().div_ceil(8);
        let mut variable = 0;
        let mut places = Vec::with_capacity(types.len());
        for t in &types {
            match rowfield::fixed_width(t) {
                Some(len) => {
                    places.push(Place::Fixed {
                        at: at as u32,
                        len: len as u32,
                    });
                    at += len;
                }
                None => {
                    places.push(Place::Variable(variable as u16));
                    variable += 1;
                }
            }
        }
        RowLayout {
            types,
            places,
            ends: at,
            variable,
            shorter: Vec::new(),
            fill: Vec::new(),
        }
    }

    /// The layout for columns of these types, of which the last ones may be missing in a row: it has `fill` there.
    ///
    /// # Panics
    /// There are not more columns than fillings.
    pub fn grown(types: Vec<DataType>, fill: Vec<Value>) -> RowLayout {
        let n = types.len();
        assert!(fill.len() < n.max(1), "a column was there first");
        let shorter = (1..=fill.len()).map(|k| RowLayout::new(types[..n - k].to_vec()));
        RowLayout {
            shorter: shorter.collect(),
            fill,
            ..RowLayout::new(types)
        }
    }

    /// The layout of a row with that many columns.
    #[inline]
    fn with_columns(&self, n: usize) -> Option<&RowLayout> {
        match self.types.len().checked_sub(n)? {
            0 => Some(self),
            missing => self.shorter.get(missing - 1),
        }
    }

    /// The layout of a row that fits.
    #[inline]
    fn of(&self, row: &[u8]) -> &RowLayout {
        let n = le::get_u16(row, 0) as usize;
        match n == self.types.len() {
            true => self,
            false => self.with_columns(n).unwrap_or(self),
        }
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.types.len()
    }

    /// Whether a row with all columns of `other` is one of this layout, too.
    pub fn has_columns_of(&self, other: &RowLayout) -> bool {
        self.types == other.types
    }

    /// Whether a row was written when the table had all its columns.
    #[inline]
    pub fn has_all_columns(&self, row: &[u8]) -> bool {
        usize::from(le::get_u16(row, 0)) == self.types.len()
    }

    /// A column's type.
    pub fn column_type(&self, c: usize) -> &DataType {
        &self.types[c]
    }

    fn data(&self) -> usize {
        self.ends + self.variable * 2
    }

    /// Where a column of fixed width is in a row that has all columns, and its bytes.
    pub(crate) fn fixed_place(&self, c: usize) -> Option<(usize, usize)> {
        match self.places.get(c)? {
            Place::Fixed { at, len } => Some((*at as usize, *len as usize)),
            Place::Variable(_) => None,
        }
    }

    /// A row of which every column is NULL.
    pub(crate) fn blank(&self) -> Vec<u8> {
        let mut row = vec![0; self.data()];
        le::put_u16(&mut row, 0, self.types.len() as u16);
        for c in 0..self.types.len() {
            row[2 + c / 8] |= 1 << (c % 8);
        }
        row
    }

    /// True if the bytes can be a row of this layout: every offset lies within. `external`: its header says that columns of
    /// it are in overflow pages; without that, none may refer to any, for nobody would read them.
    pub fn fits(&self, row: &[u8], external: bool) -> bool {
        if row.len() < 2 {
            return false;
        }
        let of = self.with_columns(le::get_u16(row, 0) as usize);
        of.is_some_and(|l| l.fits_whole(row, external))
    }

    #[inline]
    fn fits_whole(&self, row: &[u8], external: bool) -> bool {
        if row.len() < self.data() {
            return false;
        }
        let room = row.len() - self.data();
        let mut last = 0;
        (0..self.variable).all(|i| {
            let raw = le::get_u16(row, self.ends + i * 2);
            let end = (raw & !OUTSIDE) as usize;
            let inside = raw & OUTSIDE == 0;
            let ok = end >= last && end <= room && (inside || external && end - last == REFERENCE);
            last = end;
            ok
        })
    }

    /// A view of a row. The bytes must fit ([`RowLayout::fits`] was true for them, or they come from [`RowBuilder`]).
    #[inline(always)]
    pub fn row<'a>(&'a self, row: &'a [u8]) -> RowRef<'a> {
        RowRef {
            layout: self.of(row),
            whole: self,
            row,
            outside: &[],
        }
    }

    #[inline]
    fn variable_bytes<'a>(&self, row: &'a [u8], i: usize) -> (&'a [u8], bool) {
        let at = self.ends + i * 2;
        let start = if i == 0 {
            0
        } else {
            (le::get_u16(row, at - 2) & !OUTSIDE) as usize
        };
        let raw = le::get_u16(row, at);
        let data = self.data();
        (
            &row[data + start..data + (raw & !OUTSIDE) as usize],
            raw & OUTSIDE != 0,
        )
    }

    /// Columns of the row that are in overflow pages.
    pub fn externals(&self, row: &[u8]) -> Vec<External> {
        let mut out = Vec::new();
        let layout = self.of(row);
        for (column, p) in layout.places.iter().enumerate() {
            if let Place::Variable(i) = p {
                let (b, outside) = layout.variable_bytes(row, *i as usize);
                if outside {
                    out.push(External {
                        column,
                        first: PageNo(le::get_u32(b, 0)),
                        len: le::get_u64(b, 4),
                    });
                }
            }
        }
        out
    }
}

/// A row, read in place.
#[derive(Clone, Copy)]
pub struct RowRef<'a> {
    /// The layout of the columns that it has.
    layout: &'a RowLayout,
    /// The table's.
    whole: &'a RowLayout,
    row: &'a [u8],
    /// Bytes of the columns that are in overflow pages.
    outside: &'a [(usize, Vec<u8>)],
}

impl<'a> RowRef<'a> {
    /// The same row with its overflow columns read.
    pub fn with_outside(self, outside: &'a [(usize, Vec<u8>)]) -> RowRef<'a> {
        RowRef { outside, ..self }
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.whole.types.len()
    }

    /// True when the column is NULL.
    #[inline(always)]
    pub fn is_null(&self, c: usize) -> bool {
        match c < self.layout.types.len() {
            true => self.row[2 + c / 8] & (1 << (c % 8)) != 0,
            false => self.filled(c).is_null(),
        }
    }

    /// The value of a column that the row does not have.
    #[cold]
    fn filled(&self, c: usize) -> ValueRef<'a> {
        if base::mutant!("added-column-without-its-default") {
            return ValueRef::Null;
        }
        let whole: &'a RowLayout = self.whole;
        let first = whole.types.len() - whole.fill.len();
        whole.fill[c - first].as_ref()
    }

    /// A column's value.
    #[inline]
    pub fn column(&self, c: usize) -> ValueRef<'a> {
        let layout: &'a RowLayout = self.layout;
        let Some(ty) = layout.types.get(c) else {
            return self.filled(c);
        };
        if self.row[2 + c / 8] & (1 << (c % 8)) != 0 {
            return ValueRef::Null;
        }
        match layout.places[c] {
            Place::Fixed { at, len } => {
                rowfield::load(ty, &self.row[at as usize..(at + len) as usize])
            }
            Place::Variable(i) => {
                let (b, outside) = layout.variable_bytes(self.row, i as usize);
                if !outside {
                    return rowfield::load(ty, b);
                }
                match self.outside.iter().find(|(n, _)| *n == c) {
                    Some((_, b)) => rowfield::load(ty, b),
                    // A row with overflow columns is shown only after they were read.
                    None => unreachable!("overflow column {c} was not read"),
                }
            }
        }
    }

    /// All values, owned.
    pub fn to_values(&self) -> Vec<Value> {
        (0..self.columns())
            .map(|c| self.column(c).to_owned())
            .collect()
    }

    /// The row's own bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.row
    }
}

/// Builds rows, reusing its buffers.
#[derive(Default)]
pub struct RowBuilder {
    fixed: Vec<u8>,
    data: Vec<u8>,
    ends: Vec<u16>,
    /// Columns that must go to overflow pages, with their bytes.
    pub moved: Vec<(usize, Vec<u8>)>,
}

impl RowBuilder {
    /// Bytes that it has taken.
    pub fn capacity(&self) -> usize {
        let moved = self.moved.iter().map(|(_, b)| b.capacity());
        self.fixed.capacity()
            + self.data.capacity()
            + self.ends.capacity() * 2
            + moved.sum::<usize>()
    }

    /// Appends the row of `values` to `out`. Columns are moved out ([`RowBuilder::moved`], to be filled in with
    /// [`RowBuilder::set_reference`]) until at most `wanted` bytes are left, longest first. One of a few bytes is worth a page of its own only
    /// where more than `most` are left without it; `None` if that is not enough.
    pub fn build(
        &mut self,
        layout: &RowLayout,
        values: &[Value],
        (wanted, most): (usize, usize),
        out: &mut Vec<u8>,
    ) -> Option<()> {
        self.moved.clear();
        loop {
            let start = out.len();
            self.encode(layout, values, out);
            let len = out.len() - start;
            let small = self.data.len() < OUTSIDE as usize;
            if len <= wanted && small {
                return Some(());
            }
            let fits = len <= most && small;
            let worth = if fits { WORTH_A_PAGE } else { REFERENCE };
            if !self.move_longest(layout, values, worth) {
                return fits.then_some(());
            }
            out.truncate(start);
        }
    }

    fn encode(&mut self, layout: &RowLayout, values: &[Value], out: &mut Vec<u8>) {
        let start = out.len();
        let columns = layout.types.len();
        self.fixed.clear();
        self.data.clear();
        self.ends.clear();
        // Room at once for what most rows need: growing step by step costs more than all the rest of this.
        let (mut fixed, mut data) = (0, 0);
        for (place, v) in layout.places.iter().zip(values) {
            match place {
                Place::Fixed { len, .. } => fixed += *len as usize,
                Place::Variable(_) => data += v.as_ref().as_bytes().map_or(REFERENCE, <[u8]>::len),
            }
        }
        let data = data.min(OUTSIDE as usize);
        self.fixed.reserve(fixed);
        self.data.reserve(data);
        self.ends.reserve(columns);
        out.reserve(2 + columns.div_ceil(8) + fixed + 2 * columns + data);
        out.extend_from_slice(&(columns as u16).to_le_bytes());
        out.resize(start + 2 + columns.div_ceil(8), 0);
        for (c, (ty, v)) in layout.types.iter().zip(values).enumerate() {
            if v.is_null() {
                out[start + 2 + c / 8] |= 1 << (c % 8);
            }
            match layout.places[c] {
                Place::Fixed { len, .. } => {
                    let at = self.fixed.len();
                    if !v.is_null() {
                        rowfield::store(ty, v.as_ref(), &mut self.fixed);
                    }
                    self.fixed.resize(at + len as usize, 0);
                }
                Place::Variable(_) => {
                    let mut flag = 0;
                    if self.moved.iter().any(|(m, _)| *m == c) {
                        self.data.extend_from_slice(&[0; REFERENCE]);
                        flag = OUTSIDE;
                    } else if !v.is_null() {
                        rowfield::store(ty, v.as_ref(), &mut self.data);
                    }
                    self.ends
                        .push(self.data.len().min(OUTSIDE as usize - 1) as u16 | flag);
                }
            }
        }
        out.extend_from_slice(&self.fixed);
        for e in &self.ends {
            out.extend_from_slice(&e.to_le_bytes());
        }
        out.extend_from_slice(&self.data);
    }

    fn move_longest(&mut self, layout: &RowLayout, values: &[Value], above: usize) -> bool {
        let mut best: Option<(usize, Vec<u8>)> = None;
        for (c, (ty, v)) in layout.types.iter().zip(values).enumerate() {
            let movable = matches!(layout.places[c], Place::Variable(_)) && !v.is_null();
            if !movable || self.moved.iter().any(|(m, _)| *m == c) {
                continue;
            }
            let mut b = Vec::new();
            rowfield::store(ty, v.as_ref(), &mut b);
            if b.len() > above && best.as_ref().is_none_or(|(_, o)| o.len() < b.len()) {
                best = Some((c, b));
            }
        }
        match best {
            Some(b) => {
                self.moved.push(b);
                true
            }
            None => false,
        }
    }

    /// Writes the reference of a moved column into a row built before.
    pub fn set_reference(layout: &RowLayout, row: &mut [u8], c: usize, first: PageNo, len: u64) {
        if let Place::Variable(i) = layout.places[c] {
            let i = i as usize;
            let at = layout.ends + i * 2;
            let start = if i == 0 {
                0
            } else {
                (le::get_u16(row, at - 2) & !OUTSIDE) as usize
            };
            let at = layout.data() + start;
            le::put_u32(row, at, first.0);
            le::put_u64(row, at + 4, len);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{CollationId, LobSize};

    fn layout() -> RowLayout {
        RowLayout::new(vec![
            DataType::INT,
            DataType::varchar(100, CollationId::DEFAULT),
            DataType::UBIGINT,
            DataType::Blob(LobSize::Long),
        ])
    }

    #[test]
    fn a_row_gives_back_its_values() {
        let l = layout();
        let mut b = RowBuilder::default();
        for values in [
            vec![
                Value::Int(-5),
                Value::text("abc"),
                Value::UInt(u64::MAX),
                Value::Bytes(vec![1, 2, 3]),
            ],
            vec![Value::Null, Value::Null, Value::Null, Value::Null],
            vec![
                Value::Int(1),
                Value::text(""),
                Value::Null,
                Value::Bytes(vec![]),
            ],
        ] {
            let mut out = vec![9u8; 3];
            b.build(&l, &values, (8000, 8000), &mut out).unwrap();
            let row = &out[3..];
            assert!(l.fits(row, false));
            assert_eq!(
                format!("{:?}", l.row(row).to_values()),
                format!("{values:?}")
            );
            for cut in 0..row.len() {
                let _ = l.fits(&row[..cut], true);
            }
        }
    }

    #[test]
    fn a_row_of_fewer_columns_has_the_others_filled() {
        let old = RowLayout::new(layout().types[..2].to_vec());
        let fill = vec![Value::UInt(7), Value::Null];
        let new = RowLayout::grown(layout().types, fill);
        let mut b = RowBuilder::default();
        let mut row = Vec::new();
        let values = [Value::Int(3), Value::text("x")];
        b.build(&old, &values, (8000, 8000), &mut row).unwrap();
        assert!(new.fits(&row, false));
        let r = new.row(&row);
        assert_eq!((r.columns(), r.is_null(2), r.is_null(3)), (4, false, true));
        let want = vec![Value::Int(3), Value::text("x"), Value::UInt(7), Value::Null];
        assert_eq!(format!("{:?}", r.to_values()), format!("{want:?}"));
        // One column fewer than any row ever had, and one more.
        let mut fewer = Vec::new();
        let first = RowLayout::new(layout().types[..1].to_vec());
        b.build(&first, &values[..1], (8000, 8000), &mut fewer)
            .unwrap();
        assert!(!new.fits(&fewer, false));
        row[0] = 5;
        assert!(!new.fits(&row, false));
        assert!(!new.fits(&[], false) && !new.fits(&[4], false));
    }

    #[test]
    fn long_columns_move_out() {
        let l = layout();
        let mut b = RowBuilder::default();
        let values = vec![
            Value::Int(1),
            Value::text("x"),
            Value::Null,
            Value::Bytes(vec![7; 50_000]),
        ];
        let mut row = Vec::new();
        b.build(&l, &values, (4000, 4000), &mut row).unwrap();
        assert_eq!(b.moved.len(), 1);
        RowBuilder::set_reference(&l, &mut row, 3, PageNo(77), 50_000);
        assert!(l.fits(&row, true));
        assert!(!l.fits(&row, false), "nobody would read its column");
        assert_eq!(
            l.externals(&row),
            [External {
                column: 3,
                first: PageNo(77),
                len: 50_000
            }]
        );
        let outside = [(3usize, b.moved[0].1.clone())];
        let r = l.row(&row).with_outside(&outside);
        assert_eq!(r.column(3).as_bytes().map(<[u8]>::len), Some(50_000));
        assert_eq!(r.column(1).as_bytes(), Some(&b"x"[..]));
    }
}
