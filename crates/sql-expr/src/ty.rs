//! The type of an expression as MySQL infers it before any row is read: what comparisons, arithmetic and the
//! result set's metadata depend on. Pure values; the rules that combine them are in `infer` and `collate`.

use types::charset::Charset;
use types::collation::CollationId;

/// Decimals of a double whose scale is not fixed, as the protocol says it.
pub const NOT_FIXED: u8 = 31;

/// Widths of whole numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IntKind {
    /// 8 bits.
    Tiny,
    /// 16 bits.
    Small,
    /// 24 bits.
    Medium,
    /// 32 bits.
    Int,
    /// 64 bits.
    Big,
}

impl IntKind {
    /// Digits of the largest value with the sign, MySQL's default display width.
    pub const fn width(self, unsigned: bool) -> u8 {
        match (self, unsigned) {
            (IntKind::Tiny, false) => 4,
            (IntKind::Tiny, true) => 3,
            (IntKind::Small, false) => 6,
            (IntKind::Small, true) => 5,
            (IntKind::Medium, false) => 9,
            (IntKind::Medium, true) => 8,
            (IntKind::Int, false) => 11,
            (IntKind::Int, true) => 10,
            (IntKind::Big, _) => 20,
        }
    }
}

/// Kinds of text and bytes, as far as result sets tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StrKind {
    /// CHAR, BINARY.
    Fixed,
    /// VARCHAR, VARBINARY and everything computed.
    Var,
    /// TINYTEXT, TINYBLOB.
    Tiny,
    /// TEXT, BLOB.
    Text,
    /// MEDIUMTEXT, MEDIUMBLOB.
    Medium,
    /// LONGTEXT, LONGBLOB.
    Long,
}

/// What kind of value an expression has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Only ever NULL.
    Null,
    /// A whole number of at most `digits` characters (sign included).
    Int {
        /// Its width.
        kind: IntKind,
        /// UNSIGNED.
        unsigned: bool,
        /// Characters of the longest value.
        digits: u8,
    },
    /// An exact decimal.
    Decimal {
        /// Digits in all.
        precision: u8,
        /// Digits after the point.
        scale: u8,
        /// UNSIGNED.
        unsigned: bool,
    },
    /// A single precision number.
    Float {
        /// Digits after the point, or [`NOT_FIXED`].
        scale: u8,
    },
    /// A double precision number.
    Double {
        /// Digits after the point, or [`NOT_FIXED`].
        scale: u8,
    },
    /// Bits: a number in numeric context, bytes in text context.
    Bit(u8),
    /// A year.
    Year,
    /// A date.
    Date,
    /// A time with that many digits of fraction.
    Time(u8),
    /// A date and time.
    DateTime(u8),
    /// A date and time that is stored as UTC.
    Timestamp(u8),
    /// Text, or bytes where the collation is `binary`.
    Str {
        /// Longest value in characters.
        chars: u32,
        /// Which column type.
        kind: StrKind,
    },
    /// A word of a list.
    Enum {
        /// Longest word in characters.
        chars: u32,
    },
    /// Words of a list.
    Set {
        /// Longest value in characters.
        chars: u32,
    },
    /// A JSON document.
    Json,
    /// A row of several values; only comparisons take one.
    Row(u16),
}

/// How strongly a text's collation holds against others; lower wins. The numbers are those of COERCIBILITY().
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Coercibility {
    /// COLLATE was written.
    Explicit = 0,
    /// Collations were mixed; comparing is an error.
    Mixed = 1,
    /// A column, a routine's variable, the result of CONVERT or CAST.
    Implicit = 2,
    /// USER(), VERSION() and the like.
    System = 3,
    /// A literal.
    Literal = 4,
    /// A number or a time.
    Numeric = 5,
    /// NULL.
    Ignorable = 6,
}

impl Coercibility {
    /// The word error 1267 uses.
    pub const fn word(self) -> &'static str {
        match self {
            Coercibility::Explicit => "EXPLICIT",
            Coercibility::Mixed => "NONE",
            Coercibility::Implicit => "IMPLICIT",
            Coercibility::System => "SYSCONST",
            Coercibility::Literal => "COERCIBLE",
            Coercibility::Numeric => "NUMERIC",
            Coercibility::Ignorable => "IGNORABLE",
        }
    }
}

/// The inferred type of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ExprType {
    /// The kind of value.
    pub shape: Shape,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// Of text; `binary` for everything else.
    pub collation: CollationId,
    /// How strongly the collation holds.
    pub coercibility: Coercibility,
    /// Text that is ASCII whatever its character set says (digits, ASCII literals).
    pub ascii: bool,
    /// A hexadecimal or bit literal: its bytes are a number where one is asked for.
    pub bits: bool,
    /// TRUE, FALSE or a condition itself: within a document it is a boolean. What another function hands on is a number.
    pub boolean: bool,
    /// A column with ZEROFILL: its text has so many characters, zeros in front. 0 for all else, also for what is computed of one.
    pub zeros: u8,
}

impl ExprType {
    /// A type without a collation of its own.
    pub const fn plain(shape: Shape, nullable: bool) -> ExprType {
        ExprType {
            shape,
            nullable,
            collation: CollationId::BINARY,
            coercibility: match shape {
                Shape::Null => Coercibility::Ignorable,
                _ => Coercibility::Numeric,
            },
            ascii: true,
            bits: false,
            boolean: false,
            zeros: 0,
        }
    }

    /// Whether it holds nothing but ASCII: what it is says so, or its character set has nothing else.
    pub fn is_ascii(&self) -> bool {
        self.ascii || self.charset() == Charset::Ascii
    }

    /// Only ever NULL.
    pub const fn null() -> ExprType {
        Self::plain(Shape::Null, true)
    }

    /// A BIGINT of at most `digits` characters.
    pub const fn int(digits: u8, nullable: bool) -> ExprType {
        Self::plain(
            Shape::Int {
                kind: IntKind::Big,
                unsigned: false,
                digits,
            },
            nullable,
        )
    }

    /// A BIGINT UNSIGNED of at most `digits` characters.
    pub const fn uint(digits: u8, nullable: bool) -> ExprType {
        Self::plain(
            Shape::Int {
                kind: IntKind::Big,
                unsigned: true,
                digits,
            },
            nullable,
        )
    }

    /// A truth value: BIGINT of one digit.
    pub const fn truth(nullable: bool) -> ExprType {
        let mut ty = Self::int(1, nullable);
        ty.boolean = true;
        ty
    }

    /// A double without fixed scale.
    pub const fn double(nullable: bool) -> ExprType {
        Self::plain(Shape::Double { scale: NOT_FIXED }, nullable)
    }

    /// A decimal; precision and scale are cut to what a DECIMAL holds.
    pub fn decimal(precision: u8, scale: u8, nullable: bool) -> ExprType {
        let scale = scale.min(30);
        Self::plain(
            Shape::Decimal {
                precision: precision.clamp(1, 65).max(scale),
                scale,
                unsigned: false,
            },
            nullable,
        )
    }

    /// Computed text of at most `chars` characters. Beyond what a VARCHAR holds it is a text column's kind.
    pub const fn text(
        chars: u32,
        collation: CollationId,
        coercibility: Coercibility,
        nullable: bool,
    ) -> ExprType {
        let kind = if chars > 16_777_215 {
            StrKind::Long
        } else if chars > 65_535 {
            StrKind::Medium
        } else {
            StrKind::Var
        };
        ExprType {
            shape: Shape::Str { chars, kind },
            nullable,
            collation,
            coercibility,
            ascii: false,
            bits: false,
            boolean: false,
            zeros: 0,
        }
    }

    /// Computed bytes.
    pub const fn bytes(len: u32, nullable: bool) -> ExprType {
        Self::text(len, CollationId::BINARY, Coercibility::Implicit, nullable)
    }

    /// The same, nullable.
    #[must_use]
    pub const fn or_null(mut self) -> ExprType {
        self.nullable = true;
        self
    }

    /// The same, nullable where `n` says so.
    #[must_use]
    pub const fn nullable_if(mut self, n: bool) -> ExprType {
        self.nullable |= n;
        self
    }

    /// The same, known to be ASCII.
    #[must_use]
    pub const fn ascii(mut self) -> ExprType {
        self.ascii = true;
        self
    }

    /// The same collation facts as another type.
    #[must_use]
    pub const fn collated_as(mut self, other: &ExprType) -> ExprType {
        self.collation = other.collation;
        self.coercibility = other.coercibility;
        self
    }

    /// Text, bytes, ENUM or SET.
    pub const fn is_text(&self) -> bool {
        matches!(
            self.shape,
            Shape::Str { .. } | Shape::Enum { .. } | Shape::Set { .. } | Shape::Json
        )
    }

    /// Bytes without characters.
    pub fn is_binary_text(&self) -> bool {
        self.is_text() && self.collation.is_binary() && self.shape != Shape::Json
    }

    /// The same with words of a list as plain text.
    #[must_use]
    pub const fn words_as_text(mut self) -> ExprType {
        if let Shape::Enum { chars } | Shape::Set { chars } = self.shape {
            let kind = StrKind::Fixed;
            self.shape = Shape::Str { chars, kind };
        }
        self
    }

    /// DATE, TIME, DATETIME or TIMESTAMP.
    pub const fn is_temporal(&self) -> bool {
        matches!(
            self.shape,
            Shape::Date | Shape::Time(_) | Shape::DateTime(_) | Shape::Timestamp(_)
        )
    }

    /// With a date in it.
    pub const fn has_date(&self) -> bool {
        matches!(
            self.shape,
            Shape::Date | Shape::DateTime(_) | Shape::Timestamp(_)
        )
    }

    /// A whole number, a bit or a year.
    pub const fn is_integer(&self) -> bool {
        matches!(self.shape, Shape::Int { .. } | Shape::Bit(_) | Shape::Year)
    }

    /// A number of any kind.
    pub const fn is_number(&self) -> bool {
        matches!(
            self.shape,
            Shape::Int { .. }
                | Shape::Bit(_)
                | Shape::Year
                | Shape::Decimal { .. }
                | Shape::Float { .. }
                | Shape::Double { .. }
        )
    }

    /// Without a sign.
    pub const fn is_unsigned(&self) -> bool {
        match self.shape {
            Shape::Int { unsigned, .. } | Shape::Decimal { unsigned, .. } => unsigned,
            Shape::Bit(_) | Shape::Year => true,
            _ => false,
        }
    }

    /// Digits after the point in numeric context, [`NOT_FIXED`] where the value decides.
    pub const fn scale(&self) -> u8 {
        match self.shape {
            Shape::Decimal { scale, .. } | Shape::Float { scale } | Shape::Double { scale } => {
                scale
            }
            Shape::Time(f) | Shape::DateTime(f) | Shape::Timestamp(f) => f,
            Shape::Str { .. } | Shape::Enum { .. } | Shape::Set { .. } | Shape::Json => NOT_FIXED,
            _ => 0,
        }
    }

    /// Digits before the point of an exact number.
    pub const fn int_digits(&self) -> u8 {
        match self.shape {
            Shape::Decimal {
                precision, scale, ..
            } => precision.saturating_sub(scale),
            Shape::Int {
                digits, unsigned, ..
            } => {
                let d = if unsigned || digits < 2 {
                    digits
                } else {
                    digits - 1
                };
                if d == 0 { 1 } else { d }
            }
            Shape::Year => 4,
            Shape::Bit(n) => (n as u32 * 302 / 1000 + 1) as u8,
            Shape::Date => 8,
            Shape::Time(_) => 7,
            Shape::DateTime(_) | Shape::Timestamp(_) => 14,
            _ => 20,
        }
    }

    /// Longest text of a value in characters.
    pub fn chars(&self) -> u32 {
        let fraction = |base: u32, f: u8| base + if f > 0 { u32::from(f) + 1 } else { 0 };
        match self.shape {
            Shape::Null => 0,
            Shape::Int { digits, .. } => u32::from(digits),
            Shape::Decimal {
                precision,
                scale,
                unsigned,
            } => {
                u32::from(precision)
                    + u32::from(scale > 0)
                    + u32::from(!unsigned)
                    + u32::from(precision == scale && scale > 0)
            }
            Shape::Float { .. } => 12,
            Shape::Double { scale } if scale < NOT_FIXED => 17 + u32::from(scale),
            Shape::Double { .. } => 23,
            Shape::Bit(n) => u32::from(n).div_ceil(8),
            Shape::Year => 4,
            Shape::Date => 10,
            Shape::Time(f) => fraction(10, f),
            Shape::DateTime(f) | Shape::Timestamp(f) => fraction(19, f),
            Shape::Str { chars, .. } | Shape::Enum { chars } | Shape::Set { chars } => chars,
            Shape::Json => u32::MAX,
            Shape::Row(_) => 0,
        }
    }

    /// The character set of text; `binary` for everything else.
    pub fn charset(&self) -> Charset {
        self.collation.charset()
    }
}
