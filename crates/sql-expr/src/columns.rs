//! Between the types of columns and the types of expressions.

use types::collation::CollationId;
use types::{DataType, IntWidth, LobSize};

use super::ty::{Coercibility, ExprType, IntKind, NOT_FIXED, Shape, StrKind};

impl ExprType {
    /// The type of a column.
    pub fn of_column(ty: &DataType, nullable: bool) -> ExprType {
        let plain = |shape| ExprType::plain(shape, nullable);
        let text = |chars: u64, kind, collation| ExprType {
            shape: Shape::Str {
                chars: chars.min(u64::from(u32::MAX)) as u32,
                kind,
            },
            nullable,
            collation,
            coercibility: Coercibility::Implicit,
            ascii: false,
            bits: false,
            boolean: false,
            zeros: 0,
        };
        let fixed = |digits: &Option<(u8, u8)>| digits.map_or(NOT_FIXED, |(_, d)| d);
        match ty {
            DataType::Null => ExprType::null(),
            DataType::Int {
                width,
                unsigned,
                zerofill,
                ..
            } => {
                let kind = IntKind::from(*width);
                let made = plain(Shape::Int {
                    kind,
                    unsigned: *unsigned,
                    digits: kind.width(*unsigned),
                });
                let shown = ty.display_length(CollationId::BINARY);
                made.with_zeros(*zerofill, shown)
            }
            DataType::Decimal {
                precision,
                scale,
                unsigned,
                zerofill,
            } => {
                let made = plain(Shape::Decimal {
                    precision: *precision,
                    scale: *scale,
                    unsigned: *unsigned,
                });
                let shown = u32::from(*precision) + u32::from(*scale > 0);
                made.with_zeros(*zerofill, shown)
            }
            DataType::Float { digits, .. } => plain(Shape::Float {
                scale: fixed(digits),
            }),
            DataType::Double { digits, .. } => plain(Shape::Double {
                scale: fixed(digits),
            }),
            DataType::Bit(n) => plain(Shape::Bit(*n)),
            DataType::Char { chars, collation } => {
                text(u64::from(*chars), StrKind::Fixed, *collation)
            }
            DataType::VarChar { chars, collation } => {
                text(u64::from(*chars), StrKind::Var, *collation)
            }
            DataType::Binary(n) => text(u64::from(*n), StrKind::Fixed, CollationId::BINARY),
            DataType::VarBinary(n) => text(u64::from(*n), StrKind::Var, CollationId::BINARY),
            DataType::Text { size, collation } => {
                let width = collation.charset().max_len() as u64;
                text(size.max_bytes() / width, lob_kind(*size), *collation)
            }
            DataType::Blob(size) => text(size.max_bytes(), lob_kind(*size), CollationId::BINARY),
            DataType::Date => plain(Shape::Date),
            DataType::Time(f) => plain(Shape::Time(*f)),
            DataType::DateTime(f) => plain(Shape::DateTime(*f)),
            DataType::Timestamp(f) => plain(Shape::Timestamp(*f)),
            DataType::Year => plain(Shape::Year),
            DataType::Enum(l) | DataType::Set(l) => {
                let cs = l.collation.charset();
                let lens = l.names.iter().map(|n| cs.char_count(n) as u32);
                let shape = match ty {
                    DataType::Enum(_) => Shape::Enum {
                        chars: lens.max().unwrap_or(0),
                    },
                    _ => Shape::Set {
                        chars: lens.sum::<u32>() + l.names.len().saturating_sub(1) as u32,
                    },
                };
                ExprType {
                    collation: l.collation,
                    coercibility: Coercibility::Implicit,
                    ascii: false,
                    ..plain(shape)
                }
            }
            DataType::Json => ExprType {
                collation: CollationId::UTF8MB4_BIN,
                coercibility: Coercibility::Implicit,
                ascii: false,
                ..plain(Shape::Json)
            },
        }
    }

    fn with_zeros(mut self, zerofill: bool, shown: u32) -> ExprType {
        if zerofill {
            self.zeros = u8::try_from(shown).unwrap_or(u8::MAX);
        }
        self
    }

    /// The column type that describes it to a client. ENUM and SET become CHAR: their members are known to the
    /// column alone.
    pub fn to_data_type(&self) -> DataType {
        let digits = |scale: u8, width: u8| (scale < NOT_FIXED).then_some((width, scale));
        match self.shape {
            Shape::Null => DataType::Null,
            Shape::Int {
                kind,
                unsigned,
                digits,
            } => DataType::Int {
                width: kind.into(),
                unsigned,
                zerofill: false,
                display: if digits == kind.width(unsigned) {
                    0
                } else {
                    digits
                },
            },
            Shape::Decimal {
                precision,
                scale,
                unsigned,
            } => DataType::Decimal {
                precision,
                scale,
                unsigned,
                zerofill: false,
            },
            Shape::Float { scale } => DataType::Float {
                unsigned: false,
                digits: digits(scale, 12),
            },
            Shape::Double { scale } => DataType::Double {
                unsigned: false,
                digits: digits(scale, 23),
            },
            Shape::Bit(n) => DataType::Bit(n),
            Shape::Year => DataType::Year,
            Shape::Date => DataType::Date,
            Shape::Time(f) => DataType::Time(f),
            Shape::DateTime(f) => DataType::DateTime(f),
            Shape::Timestamp(f) => DataType::Timestamp(f),
            Shape::Json => DataType::Json,
            Shape::Enum { chars } | Shape::Set { chars } => DataType::Char {
                chars,
                collation: self.collation,
            },
            Shape::Row(_) => DataType::Null,
            Shape::Str { chars, kind } => self.text_data_type(chars, kind),
        }
    }

    fn text_data_type(&self, chars: u32, kind: StrKind) -> DataType {
        let binary = self.collation.is_binary();
        let collation = self.collation;
        let size = match kind {
            StrKind::Tiny => LobSize::Tiny,
            StrKind::Text => LobSize::Normal,
            StrKind::Medium => LobSize::Medium,
            StrKind::Long => LobSize::Long,
            StrKind::Fixed if binary => return DataType::Binary(chars),
            StrKind::Fixed => return DataType::Char { chars, collation },
            StrKind::Var if binary => return DataType::VarBinary(chars),
            StrKind::Var => return DataType::VarChar { chars, collation },
        };
        if binary {
            DataType::Blob(size)
        } else {
            DataType::Text { size, collation }
        }
    }
}

const fn lob_kind(size: LobSize) -> StrKind {
    match size {
        LobSize::Tiny => StrKind::Tiny,
        LobSize::Normal => StrKind::Text,
        LobSize::Medium => StrKind::Medium,
        LobSize::Long => StrKind::Long,
    }
}

impl From<IntWidth> for IntKind {
    fn from(w: IntWidth) -> IntKind {
        match w {
            IntWidth::Tiny => IntKind::Tiny,
            IntWidth::Small => IntKind::Small,
            IntWidth::Medium => IntKind::Medium,
            IntWidth::Int => IntKind::Int,
            IntWidth::Big => IntKind::Big,
        }
    }
}

impl From<IntKind> for IntWidth {
    fn from(k: IntKind) -> IntWidth {
        match k {
            IntKind::Tiny => IntWidth::Tiny,
            IntKind::Small => IntWidth::Small,
            IntKind::Medium => IntWidth::Medium,
            IntKind::Int => IntWidth::Int,
            IntKind::Big => IntWidth::Big,
        }
    }
}
