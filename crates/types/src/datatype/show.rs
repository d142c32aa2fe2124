//! Column types as SHOW CREATE TABLE and information_schema.columns.column_type print them (MySQL 8.0 style).

use super::{DataType, IntWidth, Labels, LobSize};
use crate::Charset;
use std::fmt;

/// Writes text as a string literal of SQL, with the escapes that MySQL prints in definitions.
///
/// # Errors
/// Those of `out`.
pub fn write_literal(out: &mut dyn fmt::Write, text: &str) -> fmt::Result {
    out.write_char('\'')?;
    for c in text.chars() {
        match c {
            '\'' => out.write_str("''")?,
            '\\' => out.write_str("\\\\")?,
            '\0' => out.write_str("\\0")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            c => out.write_char(c)?,
        }
    }
    out.write_char('\'')
}

/// Writes bytes as a hexadecimal literal.
///
/// # Errors
/// Those of `out`.
pub fn write_hex(out: &mut dyn fmt::Write, bytes: &[u8]) -> fmt::Result {
    out.write_str("0x")?;
    bytes.iter().try_for_each(|b| write!(out, "{b:02X}"))
}

/// Text of a member list. A member of bytes that are no text is a number, by which it can be made again.
fn write_labels(f: &mut fmt::Formatter<'_>, labels: &Labels) -> fmt::Result {
    let from = labels.collation.charset();
    f.write_str("(")?;
    for (i, name) in labels.names.iter().enumerate() {
        if i > 0 {
            f.write_str(",")?;
        }
        let mut text = Vec::with_capacity(name.len());
        crate::charset::convert(from, Charset::Utf8mb4, name, &mut text);
        match std::str::from_utf8(&text) {
            Ok(text) => write_literal(f, text)?,
            Err(_) => write_hex(f, name)?,
        }
    }
    f.write_str(")")
}

fn with_fsp(f: &mut fmt::Formatter<'_>, name: &str, fsp: u8) -> fmt::Result {
    if fsp == 0 {
        f.write_str(name)
    } else {
        write!(f, "{name}({fsp})")
    }
}

fn real(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    digits: Option<(u8, u8)>,
    unsigned: bool,
) -> fmt::Result {
    f.write_str(name)?;
    if let Some((m, d)) = digits {
        write!(f, "({m},{d})")?;
    }
    f.write_str(if unsigned { " unsigned" } else { "" })
}

impl DataType {
    /// Name of the type alone, as information_schema.columns.data_type gives it.
    pub fn base_name(&self) -> &'static str {
        match self {
            DataType::Null => "null",
            DataType::Int { width, .. } => match width {
                IntWidth::Tiny => "tinyint",
                IntWidth::Small => "smallint",
                IntWidth::Medium => "mediumint",
                IntWidth::Int => "int",
                IntWidth::Big => "bigint",
            },
            DataType::Decimal { .. } => "decimal",
            DataType::Float { .. } => "float",
            DataType::Double { .. } => "double",
            DataType::Bit(_) => "bit",
            DataType::Char { .. } => "char",
            DataType::VarChar { .. } => "varchar",
            DataType::Binary(_) => "binary",
            DataType::VarBinary(_) => "varbinary",
            DataType::Text { size, .. } => match size {
                LobSize::Tiny => "tinytext",
                LobSize::Normal => "text",
                LobSize::Medium => "mediumtext",
                LobSize::Long => "longtext",
            },
            DataType::Blob(size) => match size {
                LobSize::Tiny => "tinyblob",
                LobSize::Normal => "blob",
                LobSize::Medium => "mediumblob",
                LobSize::Long => "longblob",
            },
            DataType::Date => "date",
            DataType::Time(_) => "time",
            DataType::DateTime(_) => "datetime",
            DataType::Timestamp(_) => "timestamp",
            DataType::Year => "year",
            DataType::Enum(_) => "enum",
            DataType::Set(_) => "set",
            DataType::Json => "json",
        }
    }

    /// Display width of an integer: the declared one or MySQL's default for the type.
    pub(super) fn int_display(width: IntWidth, unsigned: bool, display: u8) -> u8 {
        if display > 0 {
            return display;
        }
        let n = match width {
            IntWidth::Tiny => 4,
            IntWidth::Small => 6,
            IntWidth::Medium => 9,
            IntWidth::Int => 11,
            IntWidth::Big => return 20,
        };
        // MEDIUMINT UNSIGNED has as many digits as the signed type has with its sign, less one.
        if unsigned { n - 1 } else { n }
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.base_name();
        match self {
            DataType::Int {
                width,
                unsigned,
                zerofill,
                display,
            } => {
                f.write_str(name)?;
                if *zerofill {
                    let w = Self::int_display(*width, true, *display);
                    return write!(f, "({w}) unsigned zerofill");
                }
                if *width == IntWidth::Tiny && *display == 1 && !*unsigned {
                    f.write_str("(1)")?;
                }
                f.write_str(if *unsigned { " unsigned" } else { "" })
            }
            DataType::Decimal {
                precision,
                scale,
                unsigned,
                zerofill,
            } => {
                write!(f, "{name}({precision},{scale})")?;
                f.write_str(match (unsigned, zerofill) {
                    (_, true) => " unsigned zerofill",
                    (true, false) => " unsigned",
                    _ => "",
                })
            }
            DataType::Float { unsigned, digits } | DataType::Double { unsigned, digits } => {
                real(f, name, *digits, *unsigned)
            }
            DataType::Bit(n) => write!(f, "bit({n})"),
            DataType::Char { chars, .. } | DataType::VarChar { chars, .. } => {
                write!(f, "{name}({chars})")
            }
            DataType::Binary(n) | DataType::VarBinary(n) => write!(f, "{name}({n})"),
            DataType::Time(fsp) | DataType::DateTime(fsp) | DataType::Timestamp(fsp) => {
                with_fsp(f, name, *fsp)
            }
            DataType::Enum(l) | DataType::Set(l) => {
                f.write_str(name)?;
                write_labels(f, l)
            }
            _ => f.write_str(name),
        }
    }
}
