//! Columns made value by value: from the rows of a table, from what an expression gave.

use types::DataType;
use types::ValueRef;
use types::collation::CollationId;
use types::decimal::Decimal;
use types::temporal::{Date, DateTime, Time};

use super::bits::Bits;
use super::vector::{Data, Texts, Vector};
use crate::ty::{ExprType, Shape};
use crate::val::Val;

/// Digits that always have room in an i64.
const NARROW: u8 = 18;

/// Makes vectors of one type. The type says what is expected; a value of another kind is taken too, and makes the vector a more general one.
#[derive(Debug)]
pub struct VectorBuilder {
    ty: ExprType,
    data: Data,
    nulls: Bits,
    any_null: bool,
    /// Values that are not NULL.
    filled: usize,
    len: usize,
    /// Bytes of texts.
    texts: usize,
}

fn collation_of(ty: &ExprType) -> Option<CollationId> {
    (ty.is_text() && !ty.is_binary_text()).then_some(ty.collation)
}

/// Empty values of a type.
fn empty(ty: &ExprType) -> Data {
    match ty.shape {
        Shape::Int { unsigned: true, .. } | Shape::Year => Data::U64(Vec::new()),
        Shape::Int { .. } | Shape::Null | Shape::Row(_) => Data::I64(Vec::new()),
        Shape::Decimal {
            precision, scale, ..
        } if precision <= NARROW => Data::Decimal64 {
            scale,
            values: Vec::new(),
        },
        Shape::Decimal { scale, .. } => Data::Decimal128 {
            scale,
            values: Vec::new(),
        },
        Shape::Float { .. } | Shape::Double { .. } => Data::F64(Vec::new()),
        Shape::Date => Data::Date(Vec::new()),
        Shape::Time(_) => Data::Time(Vec::new()),
        Shape::DateTime(_) | Shape::Timestamp(_) => Data::DateTime(Vec::new()),
        Shape::Str { .. } | Shape::Json => Data::Text(Texts {
            offsets: vec![0],
            bytes: Vec::new(),
            collation: collation_of(ty),
        }),
        Shape::Bit(_) | Shape::Enum { .. } | Shape::Set { .. } => Data::Vals(Vec::new()),
    }
}

/// Values of the kind that `v` is, as many as there are NULLs before it.
fn suited(v: &ValueRef<'_>, nulls: usize) -> Data {
    match v {
        ValueRef::Int(_) | ValueRef::Null => Data::I64(vec![0; nulls]),
        ValueRef::UInt(_) => Data::U64(vec![0; nulls]),
        ValueRef::Float(_) | ValueRef::Double(_) => Data::F64(vec![0.0; nulls]),
        ValueRef::Decimal(d) => match d.mantissa_i128() {
            Some(m) if i64::try_from(m).is_ok() => Data::Decimal64 {
                scale: d.scale(),
                values: vec![0; nulls],
            },
            Some(_) => Data::Decimal128 {
                scale: d.scale(),
                values: vec![0; nulls],
            },
            None => Data::Decimal(vec![Decimal::ZERO; nulls]),
        },
        ValueRef::Date(_) => Data::Date(vec![Date::ZERO; nulls]),
        ValueRef::Time(_) => Data::Time(vec![Time::ZERO; nulls]),
        ValueRef::DateTime(_) => Data::DateTime(vec![DateTime::ZERO; nulls]),
        ValueRef::Str(..) | ValueRef::Bytes(_) => Data::Text(Texts {
            offsets: vec![0; nulls + 1],
            bytes: Vec::new(),
            collation: match v {
                ValueRef::Str(_, c) => Some(*c),
                _ => None,
            },
        }),
        ValueRef::Bit(..) | ValueRef::Enum(..) | ValueRef::Set(..) => {
            Data::Vals(vec![Val::Null; nulls])
        }
    }
}

/// Puts a value behind others of its kind; `false` where it is of another.
#[inline]
fn put(data: &mut Data, v: &ValueRef<'_>) -> bool {
    match (data, v) {
        (Data::I64(d), ValueRef::Int(i)) => d.push(*i),
        (Data::U64(d), ValueRef::UInt(u)) => d.push(*u),
        (Data::F64(d), ValueRef::Double(f)) => d.push(*f),
        (Data::F64(d), ValueRef::Float(f)) => d.push(f64::from(*f)),
        (Data::Decimal64 { scale, values }, ValueRef::Decimal(d)) if d.scale() == *scale => {
            match d.mantissa_i128().map(i64::try_from) {
                Some(Ok(m)) => values.push(m),
                _ => return false,
            }
        }
        (Data::Decimal128 { scale, values }, ValueRef::Decimal(d)) if d.scale() == *scale => {
            match d.mantissa_i128() {
                Some(m) => values.push(m),
                None => return false,
            }
        }
        (Data::Decimal(values), ValueRef::Decimal(d)) => values.push(*d),
        (Data::Date(values), ValueRef::Date(d)) => values.push(*d),
        (Data::Time(values), ValueRef::Time(t)) => values.push(*t),
        (Data::DateTime(values), ValueRef::DateTime(d)) => values.push(*d),
        (Data::Text(t), ValueRef::Str(b, _) | ValueRef::Bytes(b)) => {
            let Ok(end) = u32::try_from(t.bytes.len() + b.len()) else {
                return false;
            };
            t.bytes.extend_from_slice(b);
            t.offsets.push(end);
        }
        (Data::Vals(values), v) => values.push(Val::from(*v).into_owned()),
        _ => return false,
    }
    true
}

fn put_nothing(data: &mut Data) {
    match data {
        Data::I64(v) | Data::Decimal64 { values: v, .. } => v.push(0),
        Data::U64(v) => v.push(0),
        Data::F64(v) => v.push(0.0),
        Data::Decimal128 { values, .. } => values.push(0),
        Data::Decimal(v) => v.push(Decimal::ZERO),
        Data::Date(v) => v.push(Date::ZERO),
        Data::Time(v) => v.push(Time::ZERO),
        Data::DateTime(v) => v.push(DateTime::ZERO),
        Data::Text(t) => t.offsets.push(t.bytes.len() as u32),
        Data::Vals(v) => v.push(Val::Null),
    }
}

/// The same values in a form that has room for a value of another kind.
fn widened(data: Data, v: &ValueRef<'_>, nulls: &Bits) -> Data {
    if let (Data::Decimal64 { scale, values }, ValueRef::Decimal(d)) = (&data, v)
        && d.scale() == *scale
        && d.mantissa_i128().is_some()
    {
        return Data::Decimal128 {
            scale: *scale,
            values: values.iter().map(|m| i128::from(*m)).collect(),
        };
    }
    let decimals = matches!(data, Data::Decimal64 { .. } | Data::Decimal128 { .. });
    if decimals && let ValueRef::Decimal(_) = v {
        let decimal = |i| match data.value_ref(i) {
            ValueRef::Decimal(d) => d,
            _ => Decimal::ZERO,
        };
        return Data::Decimal((0..data.len()).map(decimal).collect());
    }
    let val = |i| match nulls.get(i) {
        true => Val::Null,
        false => Val::from(data.value_ref(i)).into_owned(),
    };
    Data::Vals((0..data.len()).map(val).collect())
}

impl VectorBuilder {
    /// For the values of an expression.
    pub fn of(ty: &ExprType) -> VectorBuilder {
        VectorBuilder {
            ty: *ty,
            data: empty(ty),
            nulls: Bits::new(),
            any_null: false,
            filled: 0,
            len: 0,
            texts: 0,
        }
    }

    /// For the values of a column.
    pub fn of_column(ty: &DataType) -> VectorBuilder {
        Self::of(&ExprType::of_column(ty, true))
    }

    /// How many values there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a value.
    #[inline]
    pub fn push(&mut self, v: ValueRef<'_>) {
        if v.is_null() {
            return self.push_null();
        }
        if !put(&mut self.data, &v) {
            self.push_other(&v);
        }
        if let ValueRef::Str(b, _) | ValueRef::Bytes(b) = v {
            self.texts += b.len();
        }
        self.filled += 1;
        self.len += 1;
    }

    #[cold]
    fn push_other(&mut self, v: &ValueRef<'_>) {
        if self.filled == 0 {
            self.data = suited(v, self.len);
        } else {
            let data = std::mem::replace(&mut self.data, Data::I64(Vec::new()));
            self.data = widened(data, v, &self.nulls);
        }
        if !put(&mut self.data, v) {
            // Not of one length after all, or more text than offsets have room for.
            let data = std::mem::replace(&mut self.data, Data::I64(Vec::new()));
            let val = |i| match self.nulls.get(i) {
                true => Val::Null,
                false => Val::from(data.value_ref(i)).into_owned(),
            };
            let mut vals: Vec<Val<'static>> = (0..data.len()).map(val).collect();
            vals.push(Val::from(*v).into_owned());
            self.data = Data::Vals(vals);
        }
    }

    /// Appends the value of an expression.
    #[inline]
    pub fn push_val(&mut self, v: &Val<'_>) {
        let v = match v {
            // Doubles stay doubles here, and a quotient keeps the digits that are not shown.
            Val::Double(d) => ValueRef::Double(*d),
            Val::Decimal(d) => ValueRef::Decimal(*d),
            v => v.as_value_ref(&self.ty),
        };
        self.push(v);
    }

    /// Appends NULL.
    #[inline]
    pub fn push_null(&mut self) {
        put_nothing(&mut self.data);
        self.nulls.set(self.len);
        self.any_null = true;
        self.len += 1;
    }

    /// Appends NULLs until there are `len` values.
    #[inline]
    pub fn pad_to(&mut self, len: usize) {
        while self.len < len {
            self.push_null();
        }
    }

    /// What its texts take, with what they take while they grow.
    #[inline]
    pub(super) fn growth(&self) -> usize {
        2 * self.texts
    }

    /// What it takes, for whoever charges it.
    pub fn memory(&self) -> usize {
        let data = match &self.data {
            Data::Text(t) => t.bytes.capacity() + t.offsets.capacity() * 4,
            data => data.len() * 32,
        };
        data + self.nulls.memory()
    }

    /// The values so far as a vector; the next ones make another.
    pub fn finish(&mut self) -> Vector {
        let data = std::mem::replace(&mut self.data, empty(&self.ty));
        let nulls = self.any_null.then(|| std::mem::take(&mut self.nulls));
        self.reset();
        Vector::new(data, nulls)
    }

    fn reset(&mut self) {
        self.nulls.clear();
        self.any_null = false;
        self.filled = 0;
        self.len = 0;
        self.texts = 0;
    }

    /// Forgets the values and keeps the room.
    pub fn clear(&mut self) {
        self.reset();
        match &mut self.data {
            Data::I64(v) | Data::Decimal64 { values: v, .. } => v.clear(),
            Data::U64(v) => v.clear(),
            Data::F64(v) => v.clear(),
            Data::Decimal128 { values, .. } => values.clear(),
            Data::Decimal(v) => v.clear(),
            Data::Date(v) => v.clear(),
            Data::Time(v) => v.clear(),
            Data::DateTime(v) => v.clear(),
            Data::Text(t) => {
                t.bytes.clear();
                t.offsets.clear();
                t.offsets.push(0);
            }
            Data::Vals(v) => v.clear(),
        }
    }

    /// Takes back the room of a vector that it made and that nobody needs any more, unless values have come since.
    pub fn reuse(&mut self, v: Vector) {
        let constant = v.is_constant();
        let (data, nulls) = v.into_parts();
        let same = std::mem::discriminant(&data) == std::mem::discriminant(&empty(&self.ty));
        if self.len > 0 || constant || !same {
            return;
        }
        self.data = data;
        self.nulls = nulls.unwrap_or_default();
        self.clear();
        if let (Data::Text(t), collation) = (&mut self.data, collation_of(&self.ty)) {
            t.collation = collation;
        }
        if let Shape::Decimal { scale: s, .. } = self.ty.shape
            && let Data::Decimal64 { scale, .. } | Data::Decimal128 { scale, .. } = &mut self.data
        {
            *scale = s;
        }
    }
}

impl Vector {
    /// One value for `len` rows, of that type.
    pub fn constant(v: &Val<'_>, ty: &ExprType, len: usize) -> Vector {
        let mut b = VectorBuilder::of(ty);
        b.push_val(v);
        Vector::repeated(b.finish(), len)
    }
}

/// The bytes of text.
pub(super) fn bytes_of<'v>(v: &'v Val<'_>) -> Option<&'v [u8]> {
    match v {
        Val::Bytes(b) => Some(b),
        _ => None,
    }
}
