//! Column types as bytes, for the catalog. The format is stable: a tag byte, then the fields, little-endian.

use super::{DataType, IntWidth, Labels, LobSize};
use crate::collation::CollationId;
use std::sync::Arc;

/// Reads fields off the front of a slice; `None` when it is too short.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn read_bytes(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(n)?;
        self.0 = tail;
        Some(head)
    }

    fn u8(&mut self) -> Option<u8> {
        self.read_bytes(1).map(|b| b[0])
    }

    fn u16(&mut self) -> Option<u16> {
        self.read_bytes(2).map(|b| u16::from_le_bytes([b[0], b[1]]))
    }

    fn u32(&mut self) -> Option<u32> {
        self.read_bytes(4)
            .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }

    fn digits(&mut self) -> Option<Option<(u8, u8)>> {
        match self.u8()? {
            0 => Some(None),
            1 => Some(Some((self.u8()?, self.u8()?))),
            _ => None,
        }
    }

    fn lob(&mut self) -> Option<LobSize> {
        Some(match self.u8()? {
            0 => LobSize::Tiny,
            1 => LobSize::Normal,
            2 => LobSize::Medium,
            3 => LobSize::Long,
            _ => return None,
        })
    }

    fn fsp(&mut self) -> Option<u8> {
        self.u8().filter(|&f| f <= 6)
    }

    fn labels(&mut self) -> Option<Arc<Labels>> {
        let collation = CollationId(self.u16()?);
        let n = self.u16()?;
        let mut names = Vec::new();
        for _ in 0..n {
            let len = self.u32()? as usize;
            names.push(self.read_bytes(len)?.into());
        }
        Some(Arc::new(Labels { names, collation }))
    }
}

fn put_digits(digits: &Option<(u8, u8)>, out: &mut Vec<u8>) {
    match digits {
        None => out.push(0),
        Some((m, d)) => out.extend_from_slice(&[1, *m, *d]),
    }
}

fn put_labels(l: &Labels, out: &mut Vec<u8>) {
    out.extend_from_slice(&l.collation.0.to_le_bytes());
    out.extend_from_slice(&(l.names.len() as u16).to_le_bytes());
    for n in &l.names {
        out.extend_from_slice(&(n.len() as u32).to_le_bytes());
        out.extend_from_slice(n);
    }
}

impl DataType {
    /// Appends the type's bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let chars = |tag: u8, n: u32, c: CollationId, out: &mut Vec<u8>| {
            out.push(tag);
            out.extend_from_slice(&n.to_le_bytes());
            out.extend_from_slice(&c.0.to_le_bytes());
        };
        match self {
            DataType::Null => out.push(0),
            DataType::Int {
                width,
                unsigned,
                zerofill,
                display,
            } => out.extend_from_slice(&[
                1,
                *width as u8,
                u8::from(*unsigned) | u8::from(*zerofill) << 1,
                *display,
            ]),
            DataType::Decimal {
                precision,
                scale,
                unsigned,
                zerofill,
            } => out.extend_from_slice(&[
                2,
                *precision,
                *scale,
                u8::from(*unsigned) | u8::from(*zerofill) << 1,
            ]),
            DataType::Float { unsigned, digits } => {
                out.extend_from_slice(&[3, u8::from(*unsigned)]);
                put_digits(digits, out);
            }
            DataType::Double { unsigned, digits } => {
                out.extend_from_slice(&[4, u8::from(*unsigned)]);
                put_digits(digits, out);
            }
            DataType::Bit(n) => out.extend_from_slice(&[5, *n]),
            DataType::Char {
                chars: n,
                collation,
            } => chars(6, *n, *collation, out),
            DataType::VarChar {
                chars: n,
                collation,
            } => chars(7, *n, *collation, out),
            DataType::Binary(n) => {
                out.push(8);
                out.extend_from_slice(&n.to_le_bytes());
            }
            DataType::VarBinary(n) => {
                out.push(9);
                out.extend_from_slice(&n.to_le_bytes());
            }
            DataType::Text { size, collation } => {
                out.extend_from_slice(&[10, *size as u8]);
                out.extend_from_slice(&collation.0.to_le_bytes());
            }
            DataType::Blob(size) => out.extend_from_slice(&[11, *size as u8]),
            DataType::Date => out.push(12),
            DataType::Time(f) => out.extend_from_slice(&[13, *f]),
            DataType::DateTime(f) => out.extend_from_slice(&[14, *f]),
            DataType::Timestamp(f) => out.extend_from_slice(&[15, *f]),
            DataType::Year => out.push(16),
            DataType::Enum(l) => {
                out.push(17);
                put_labels(l, out);
            }
            DataType::Set(l) => {
                out.push(18);
                put_labels(l, out);
            }
            DataType::Json => out.push(19),
        }
    }

    /// Reads a type off the front of `bytes` and returns it with the number of bytes it took; `None` if the bytes are not a type.
    pub fn decode(bytes: &[u8]) -> Option<(DataType, usize)> {
        let mut r = Reader(bytes);
        let t = match r.u8()? {
            0 => DataType::Null,
            1 => {
                let width = match r.u8()? {
                    0 => IntWidth::Tiny,
                    1 => IntWidth::Small,
                    2 => IntWidth::Medium,
                    3 => IntWidth::Int,
                    4 => IntWidth::Big,
                    _ => return None,
                };
                let flags = r.u8()?;
                DataType::Int {
                    width,
                    unsigned: flags & 1 != 0,
                    zerofill: flags & 2 != 0,
                    display: r.u8()?,
                }
            }
            2 => {
                let (precision, scale) = (r.u8()?, r.u8()?);
                let flags = r.u8()?;
                if precision == 0 || precision > 65 || scale > 30 || scale > precision {
                    return None;
                }
                DataType::Decimal {
                    precision,
                    scale,
                    unsigned: flags & 1 != 0,
                    zerofill: flags & 2 != 0,
                }
            }
            3 => DataType::Float {
                unsigned: r.u8()? != 0,
                digits: r.digits()?,
            },
            4 => DataType::Double {
                unsigned: r.u8()? != 0,
                digits: r.digits()?,
            },
            5 => DataType::Bit(r.u8().filter(|n| (1..=64).contains(n))?),
            6 => DataType::Char {
                chars: r.u32()?,
                collation: CollationId(r.u16()?),
            },
            7 => DataType::VarChar {
                chars: r.u32()?,
                collation: CollationId(r.u16()?),
            },
            8 => DataType::Binary(r.u32()?),
            9 => DataType::VarBinary(r.u32()?),
            10 => DataType::Text {
                size: r.lob()?,
                collation: CollationId(r.u16()?),
            },
            11 => DataType::Blob(r.lob()?),
            12 => DataType::Date,
            13 => DataType::Time(r.fsp()?),
            14 => DataType::DateTime(r.fsp()?),
            15 => DataType::Timestamp(r.fsp()?),
            16 => DataType::Year,
            17 => DataType::Enum(r.labels()?),
            18 => DataType::Set(r.labels()?),
            19 => DataType::Json,
            _ => return None,
        };
        Some((t, bytes.len() - r.0.len()))
    }
}
