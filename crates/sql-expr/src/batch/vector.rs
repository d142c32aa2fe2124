//! One column of a batch.
//!
//! Decimals of one scale are whole numbers of 64 or 128 bits; those of several scales (nothing that a column stores) are
//! [`Decimal`]s. Dates and times are the packed numbers of `types`, whose order is that of time. A FLOAT is held as the double that it is
//! to expressions. What no loop is written for (BIT, ENUM, SET, mixed kinds) is held as values.

use types::collation::CollationId;
use types::decimal::Decimal;
use types::temporal::{Date, DateTime, Time};
use types::{Value, ValueRef};

use super::bits::Bits;
use crate::ty::ExprType;
use crate::val::Val;

/// The texts of a column, one behind the other.
#[derive(Debug, Clone, Default)]
pub struct Texts {
    /// Where each begins; one more says where the last ends.
    pub offsets: Vec<u32>,
    /// All of them.
    pub bytes: Vec<u8>,
    /// The collation; `None` for bytes.
    pub collation: Option<CollationId>,
}

impl Texts {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Text `i`.
    #[inline]
    pub fn get(&self, i: usize) -> &[u8] {
        match self.offsets.get(i..i + 2) {
            Some(&[from, to]) => self
                .bytes
                .get(from as usize..to as usize)
                .unwrap_or_default(),
            _ => &[],
        }
    }
}

/// The values of a column; those of NULL rows are undefined.
#[derive(Debug, Clone)]
pub enum Data {
    /// Signed whole numbers.
    I64(Vec<i64>),
    /// Unsigned whole numbers.
    U64(Vec<u64>),
    /// Floating point.
    F64(Vec<f64>),
    /// Decimals of one scale, as whole numbers of its last digit.
    Decimal64 {
        /// Digits after the point.
        scale: u8,
        /// The numbers.
        values: Vec<i64>,
    },
    /// The same with more digits.
    Decimal128 {
        /// Digits after the point.
        scale: u8,
        /// The numbers.
        values: Vec<i128>,
    },
    /// Decimals of any scale and length.
    Decimal(Vec<Decimal>),
    /// Dates.
    Date(Vec<Date>),
    /// Dates and times; of a TIMESTAMP column UTC, as stored.
    DateTime(Vec<DateTime>),
    /// Times.
    Time(Vec<Time>),
    /// Text, bytes, JSON as its text.
    Text(Texts),
    /// Anything.
    Vals(Vec<Val<'static>>),
}

impl Data {
    /// How many values there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Data::I64(v) | Data::Decimal64 { values: v, .. } => v.len(),
            Data::U64(v) => v.len(),
            Data::F64(v) => v.len(),
            Data::Decimal128 { values, .. } => values.len(),
            Data::Decimal(v) => v.len(),
            Data::Date(v) => v.len(),
            Data::DateTime(v) => v.len(),
            Data::Time(v) => v.len(),
            Data::Text(t) => t.len(),
            Data::Vals(v) => v.len(),
        }
    }

    /// Value `i`, NULL or not.
    #[inline]
    pub(super) fn value_ref(&self, i: usize) -> ValueRef<'_> {
        match self {
            Data::I64(v) => ValueRef::Int(v[i]),
            Data::U64(v) => ValueRef::UInt(v[i]),
            Data::F64(v) => ValueRef::Double(v[i]),
            Data::Decimal64 { scale, values } => {
                ValueRef::Decimal(Decimal::from_i128(i128::from(values[i]), *scale))
            }
            Data::Decimal128 { scale, values } => {
                ValueRef::Decimal(Decimal::from_i128(values[i], *scale))
            }
            Data::Decimal(v) => ValueRef::Decimal(v[i]),
            Data::Date(v) => ValueRef::Date(v[i]),
            Data::DateTime(v) => ValueRef::DateTime(v[i]),
            Data::Time(v) => ValueRef::Time(v[i]),
            Data::Text(t) => match t.collation {
                Some(c) => ValueRef::Str(t.get(i), c),
                None => ValueRef::Bytes(t.get(i)),
            },
            Data::Vals(v) => v[i].as_value_ref(&ExprType::null()),
        }
    }

    /// What it takes.
    fn memory(&self) -> usize {
        match self {
            Data::I64(v) | Data::Decimal64 { values: v, .. } => v.capacity() * 8,
            Data::U64(v) => v.capacity() * 8,
            Data::F64(v) => v.capacity() * 8,
            Data::Decimal128 { values, .. } => values.capacity() * 16,
            Data::Decimal(v) => v.capacity() * size_of::<Decimal>(),
            Data::Date(v) => v.capacity() * size_of::<Date>(),
            Data::DateTime(v) => v.capacity() * size_of::<DateTime>(),
            Data::Time(v) => v.capacity() * size_of::<Time>(),
            Data::Text(t) => t.offsets.capacity() * 4 + t.bytes.capacity(),
            Data::Vals(v) => {
                let text = |v: &Val<'_>| match v {
                    Val::Bytes(b) => b.len(),
                    _ => 0,
                };
                v.capacity() * size_of::<Val<'_>>() + v.iter().map(text).sum::<usize>()
            }
        }
    }
}

/// One column of a batch, or one value that stands for all rows.
#[derive(Debug, Clone)]
pub struct Vector {
    len: usize,
    constant: bool,
    nulls: Option<Bits>,
    data: Data,
}

impl Vector {
    /// Values and which of them are NULL.
    pub fn new(data: Data, nulls: Option<Bits>) -> Vector {
        Vector {
            len: data.len(),
            constant: false,
            nulls: nulls.filter(Bits::any),
            data,
        }
    }

    /// The only one of some values, for `len` rows.
    pub(super) fn repeated(one: Vector, len: usize) -> Vector {
        Vector {
            len,
            constant: true,
            ..one
        }
    }

    /// NULL for all rows.
    pub fn null(len: usize) -> Vector {
        Vector {
            len,
            constant: true,
            nulls: Some(Bits::all(1)),
            data: Data::I64(vec![0]),
        }
    }

    /// How many rows it has.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether one value stands for all rows.
    #[inline]
    pub fn is_constant(&self) -> bool {
        self.constant
    }

    /// NULL for all rows.
    pub fn is_all_null(&self) -> bool {
        self.constant && self.nulls.is_some()
    }

    /// The values: one where it is constant.
    #[inline]
    pub fn data(&self) -> &Data {
        &self.data
    }

    pub(super) fn into_data(self) -> Data {
        self.data
    }

    pub(super) fn into_parts(self) -> (Data, Option<Bits>) {
        (self.data, self.nulls)
    }

    /// Which rows are NULL, where it is not constant and any is.
    #[inline]
    pub fn nulls(&self) -> Option<&Bits> {
        match self.constant {
            true => None,
            false => self.nulls.as_ref(),
        }
    }

    /// Whether any row may be NULL.
    #[inline]
    pub fn has_null(&self) -> bool {
        self.nulls.is_some()
    }

    #[inline]
    fn at(&self, i: usize) -> usize {
        if self.constant { 0 } else { i }
    }

    /// Whether row `i` is NULL.
    #[inline]
    pub fn is_null(&self, i: usize) -> bool {
        match &self.nulls {
            None => false,
            Some(n) => n.get(self.at(i)),
        }
    }

    /// The value of row `i`. The collation of text is that of the column it came from.
    #[inline]
    pub fn value_ref(&self, i: usize) -> ValueRef<'_> {
        match self.is_null(i) {
            true => ValueRef::Null,
            false => self.data.value_ref(self.at(i)),
        }
    }

    /// The same as expressions have it.
    #[inline]
    pub fn val(&self, i: usize) -> Val<'_> {
        self.value_ref(i).into()
    }

    /// The value of row `i` of an expression of that type, as storage and the wire have it.
    pub fn value(&self, i: usize, ty: &ExprType) -> Value {
        self.val(i).to_value(ty)
    }

    /// What it takes, for whoever charges it.
    pub fn memory(&self) -> usize {
        self.data.memory() + self.nulls.as_ref().map_or(0, Bits::memory)
    }

    /// Its texts.
    pub(super) fn texts(&self) -> Option<&Texts> {
        match &self.data {
            Data::Text(t) => Some(t),
            _ => None,
        }
    }
}
