//! From a column's type as written to the type it has: ranges, character sets, MySQL's errors about both.
//!
//! Knows nothing of tables or keys; never looks at values.

use std::collections::HashSet;
use std::sync::Arc;

use types::datatype::Labels;
use types::error::codes;
use types::{Charset, CollationId, DataType, IntWidth, Level, LobSize, SqlError, Warning};

use sql_parser::ast::{self, FloatLength, TypeKind};

/// Most bytes of a row as MySQL counts them, and of a VARCHAR.
pub const MAX_ROW_BYTES: u64 = 65_535;

/// Most members of an ENUM, and of a SET.
const MAX_ENUM: usize = 65_535;
const MAX_SET: usize = 64;

/// What decides a column's type besides its own words.
pub struct TypeCtx<'a> {
    /// Collation of the table.
    pub collation: CollationId,
    /// Strict mode: what is too long is an error rather than a TEXT.
    pub strict: bool,
    /// `REAL_AS_FLOAT` has been looked at by the parser; warnings go here.
    pub warnings: &'a mut Vec<Warning>,
}

fn deprecated(ctx: &mut TypeCtx<'_>, text: &str) {
    ctx.warnings.push(Warning::new(
        Level::Warning,
        codes::ER_WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT,
        text.to_owned(),
    ));
}

/// The character set of a name.
///
/// # Errors
/// 1115.
pub fn charset(name: &str) -> Result<Charset, SqlError> {
    Charset::by_name(name).ok_or_else(|| SqlError::unknown_charset(name))
}

/// The collation that a character set and a collation clause make, where either is given.
///
/// # Errors
/// 1115, 1273, 1253.
pub fn collation(
    charset_name: Option<&str>,
    collation_name: Option<&str>,
) -> Result<Option<CollationId>, SqlError> {
    let cs = charset_name.map(charset).transpose()?;
    let co = collation_name
        .map(|n| CollationId::by_name(n).ok_or_else(|| SqlError::unknown_collation(n)))
        .transpose()?;
    match (cs, co) {
        (Some(cs), Some(co)) if co.charset() != cs => {
            Err(SqlError::collation_mismatch(co.name(), cs.name()))
        }
        (_, Some(co)) => Ok(Some(co)),
        (Some(cs), None) => Ok(Some(CollationId::default_of(cs))),
        (None, None) => Ok(None),
    }
}

fn too_long(name: &str, max: u64) -> SqlError {
    SqlError::new(
        codes::ER_TOO_BIG_FIELDLENGTH,
        format!(
            "Column length too big for column '{name}' (max = {max}); use BLOB or TEXT instead"
        ),
    )
}

fn too_precise(name: &str, given: u64, max: u64) -> SqlError {
    SqlError::new(
        codes::ER_TOO_BIG_PRECISION,
        format!("Too-big precision {given} specified for '{name}'. Maximum is {max}."),
    )
}

fn too_scaled(name: &str, given: u64, max: u64) -> SqlError {
    SqlError::new(
        codes::ER_TOO_BIG_SCALE,
        format!("Too big scale {given} specified for column '{name}'. Maximum is {max}."),
    )
}

fn scale_beyond_precision(name: &str) -> SqlError {
    SqlError::new(
        codes::ER_M_BIGGER_THAN_D,
        format!("For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '{name}')."),
    )
}

fn too_wide(name: &str, max: u64) -> SqlError {
    SqlError::new(
        codes::ER_TOO_BIG_DISPLAYWIDTH,
        format!("Display width out of range for column '{name}' (max = {max})"),
    )
}

/// The type of column `name`; `collate` is its COLLATE attribute.
///
/// # Errors
/// 1074, 1115, 1235, 1253, 1273, 1291, 1300, 1425, 1426, 1427, 1439.
pub fn resolve(
    name: &str,
    written: &ast::DataType,
    collate: Option<&str>,
    ctx: &mut TypeCtx<'_>,
) -> Result<DataType, SqlError> {
    let unsigned = written.unsigned || written.zerofill;
    if written.zerofill {
        deprecated(
            ctx,
            "The ZEROFILL attribute is deprecated and will be removed in a future release. Use the LPAD function to zero-pad numbers, or store the formatted numbers in a CHAR column.",
        );
    }
    let int = |width: IntWidth, display: &Option<u64>, ctx: &mut TypeCtx<'_>| {
        if display.is_some_and(|d| d > 255) {
            return Err(too_wide(name, 255));
        }
        let boolean = width == IntWidth::Tiny && *display == Some(1);
        if display.is_some() && !boolean && !written.zerofill {
            deprecated(
                ctx,
                "Integer display width is deprecated and will be removed in a future release.",
            );
        }
        Ok(DataType::Int {
            width,
            unsigned,
            zerofill: written.zerofill,
            display: display.unwrap_or(0) as u8,
        })
    };
    Ok(match &written.kind {
        TypeKind::TinyInt(d) => int(IntWidth::Tiny, d, ctx)?,
        TypeKind::SmallInt(d) => int(IntWidth::Small, d, ctx)?,
        TypeKind::MediumInt(d) => int(IntWidth::Medium, d, ctx)?,
        TypeKind::Int(d) => int(IntWidth::Int, d, ctx)?,
        TypeKind::BigInt(d) => int(IntWidth::Big, d, ctx)?,
        TypeKind::Serial => DataType::UBIGINT,
        TypeKind::Bool => int(IntWidth::Tiny, &Some(1), ctx)?,
        TypeKind::Decimal(d) => decimal(name, *d, unsigned, written.zerofill, ctx)?,
        TypeKind::Float(l) => float(name, l.as_ref(), unsigned, ctx)?,
        TypeKind::Double(d) => DataType::Double {
            unsigned: real_unsigned(unsigned, ctx),
            digits: d.map(|d| real_digits(name, d, ctx)).transpose()?,
        },
        TypeKind::Bit(n) => match n.unwrap_or(1) {
            n @ 1..=64 => DataType::Bit(n as u8),
            0 => {
                return Err(SqlError::new(
                    codes::ER_INVALID_FIELD_SIZE,
                    format!("Invalid size for column '{name}'."),
                ));
            }
            _ => return Err(too_wide(name, 64)),
        },
        TypeKind::Date => DataType::Date,
        TypeKind::Time(f) => DataType::Time(fsp(name, *f)?),
        TypeKind::Datetime(f) => DataType::DateTime(fsp(name, *f)?),
        TypeKind::Timestamp(f) => DataType::Timestamp(fsp(name, *f)?),
        TypeKind::Year(None | Some(4)) => DataType::Year,
        TypeKind::Year(_) => {
            return Err(SqlError::new(
                codes::ER_INVALID_YEAR_COLUMN_LENGTH,
                "Supports only YEAR or YEAR(4) column.".to_owned(),
            ));
        }
        TypeKind::Json => DataType::Json,
        TypeKind::Geometry(n) => return Err(SqlError::not_supported(n)),
        _ => string(name, written, collate, ctx)?,
    })
}

fn fsp(name: &str, given: u64) -> Result<u8, SqlError> {
    if given > 6 {
        return Err(too_precise(name, given, 6));
    }
    Ok(given as u8)
}

fn decimal(
    name: &str,
    written: Option<(u64, u64)>,
    unsigned: bool,
    zerofill: bool,
    ctx: &mut TypeCtx<'_>,
) -> Result<DataType, SqlError> {
    let (mut p, s) = written.unwrap_or((10, 0));
    if p == 0 && s == 0 {
        p = 10;
    }
    if s > 30 {
        return Err(too_scaled(name, s, 30));
    }
    if p > 65 {
        return Err(too_precise(name, p, 65));
    }
    if p < s {
        return Err(scale_beyond_precision(name));
    }
    Ok(DataType::Decimal {
        precision: p as u8,
        scale: s as u8,
        unsigned: real_unsigned(unsigned, ctx),
        zerofill,
    })
}

fn real_unsigned(unsigned: bool, ctx: &mut TypeCtx<'_>) -> bool {
    if unsigned {
        deprecated(
            ctx,
            "UNSIGNED for decimal and floating point data types is deprecated and support for it will be removed in a future release.",
        );
    }
    unsigned
}

fn real_digits(
    name: &str,
    (m, d): (u64, u64),
    ctx: &mut TypeCtx<'_>,
) -> Result<(u8, u8), SqlError> {
    if d > 30 {
        return Err(too_scaled(name, d, 30));
    }
    if m > 255 {
        return Err(too_wide(name, 255));
    }
    if m < d {
        return Err(scale_beyond_precision(name));
    }
    deprecated(
        ctx,
        "Specifying number of digits for floating point data types is deprecated and will be removed in a future release.",
    );
    Ok((m as u8, d as u8))
}

fn float(
    name: &str,
    length: Option<&FloatLength>,
    unsigned: bool,
    ctx: &mut TypeCtx<'_>,
) -> Result<DataType, SqlError> {
    match length {
        Some(FloatLength::Bits(b)) if *b > 53 => Err(SqlError::new(
            codes::ER_WRONG_FIELD_SPEC,
            format!("Incorrect column specifier for column '{name}'"),
        )),
        Some(FloatLength::Bits(b)) if *b > 24 => Ok(DataType::Double {
            unsigned: real_unsigned(unsigned, ctx),
            digits: None,
        }),
        Some(FloatLength::Digits(m, d)) => Ok(DataType::Float {
            unsigned: real_unsigned(unsigned, ctx),
            digits: Some(real_digits(name, (*m, *d), ctx)?),
        }),
        _ => Ok(DataType::Float {
            unsigned: real_unsigned(unsigned, ctx),
            digits: None,
        }),
    }
}

fn string(
    name: &str,
    written: &ast::DataType,
    collate: Option<&str>,
    ctx: &mut TypeCtx<'_>,
) -> Result<DataType, SqlError> {
    if let Some(n) = written
        .charset
        .as_deref()
        .filter(|n| n.eq_ignore_ascii_case("utf8"))
    {
        ctx.warnings.push(Warning::new(
            Level::Warning,
            codes::ER_DEPRECATED_UTF8_ALIAS,
            format!("'{n}' is currently an alias for the character set UTF8MB3, but will be an alias for UTF8MB4 in a future release. Please consider using UTF8MB4 in order to be unambiguous."),
        ));
    }
    // Types of bytes have a character set as well, which a collation must be of.
    let of_bytes = matches!(
        written.kind,
        TypeKind::Binary(_)
            | TypeKind::VarBinary(_)
            | TypeKind::TinyBlob
            | TypeKind::Blob(_)
            | TypeKind::MediumBlob
            | TypeKind::LongBlob
    );
    let set = match of_bytes {
        true => Some("binary"),
        false => written.charset.as_deref(),
    };
    let mut co = collation(set, collate)?.unwrap_or(ctx.collation);
    if written.binary && collate.is_none() {
        co = CollationId::bin_of(co.charset());
    }
    let width = co.charset().max_len() as u64;
    let binary = co.is_binary();
    let lob = |size| {
        if binary {
            DataType::Blob(size)
        } else {
            DataType::Text {
                size,
                collation: co,
            }
        }
    };
    Ok(match &written.kind {
        TypeKind::Char(n) => match (n.unwrap_or(1), binary) {
            (n, _) if n > 255 => return Err(too_long(name, 255)),
            (n, true) => DataType::Binary(n as u32),
            (n, false) => DataType::Char {
                chars: n as u32,
                collation: co,
            },
        },
        TypeKind::VarChar(n) => {
            let max = MAX_ROW_BYTES / width;
            if *n > max {
                if ctx.strict {
                    return Err(too_long(name, max));
                }
                converted(
                    name,
                    if binary {
                        ("VARBINARY", "BLOB")
                    } else {
                        ("VARCHAR", "TEXT")
                    },
                    ctx,
                );
                return Ok(lob(LobSize::for_bytes(n.saturating_mul(width))));
            }
            if binary {
                DataType::VarBinary(*n as u32)
            } else {
                DataType::varchar(*n as u32, co)
            }
        }
        TypeKind::Binary(n) => match n.unwrap_or(1) {
            n if n > 255 => return Err(too_long(name, 255)),
            n => DataType::Binary(n as u32),
        },
        TypeKind::VarBinary(n) if *n > MAX_ROW_BYTES => {
            if ctx.strict {
                return Err(too_long(name, MAX_ROW_BYTES));
            }
            converted(name, ("VARBINARY", "BLOB"), ctx);
            DataType::Blob(LobSize::for_bytes(*n))
        }
        TypeKind::VarBinary(n) => DataType::VarBinary(*n as u32),
        TypeKind::TinyBlob => DataType::Blob(LobSize::Tiny),
        TypeKind::Blob(n) => DataType::Blob(n.map_or(LobSize::Normal, LobSize::for_bytes)),
        TypeKind::MediumBlob => DataType::Blob(LobSize::Medium),
        TypeKind::LongBlob => DataType::Blob(LobSize::Long),
        TypeKind::TinyText => lob(LobSize::Tiny),
        TypeKind::Text(n) => lob(n.map_or(LobSize::Normal, |n| {
            LobSize::for_bytes(n.saturating_mul(width))
        })),
        TypeKind::MediumText => lob(LobSize::Medium),
        TypeKind::LongText => lob(LobSize::Long),
        TypeKind::Enum(names) => DataType::Enum(labels(name, names, co, "ENUM", ctx)?),
        TypeKind::Set(names) => DataType::Set(labels(name, names, co, "SET", ctx)?),
        _ => return Err(SqlError::internal("a type without a meaning")),
    })
}

fn converted(name: &str, (from, to): (&str, &str), ctx: &mut TypeCtx<'_>) {
    ctx.warnings.push(Warning::new(
        Level::Note,
        codes::ER_AUTO_CONVERT,
        format!("Converting column '{name}' from {from} to {to}"),
    ));
}

fn labels(
    name: &str,
    names: &[Box<[u8]>],
    collation: CollationId,
    kind: &str,
    ctx: &mut TypeCtx<'_>,
) -> Result<Arc<Labels>, SqlError> {
    let cs = collation.charset();
    let most = if kind == "SET" { MAX_SET } else { MAX_ENUM };
    if names.len() > most {
        return Err(match kind {
            "SET" => SqlError::new(
                codes::ER_TOO_BIG_SET,
                format!("Too many strings for column {name} and SET"),
            ),
            _ => SqlError::new(
                codes::ER_TOO_BIG_ENUM,
                format!("Too many enumeration values for column {name}."),
            ),
        });
    }
    let mut own: Vec<Box<[u8]>> = Vec::with_capacity(names.len());
    let mut seen = HashSet::with_capacity(names.len());
    let mut key = Vec::new();
    for n in names {
        // Trailing spaces of a member are removed, as MySQL does when the table is made.
        let end = n.iter().rposition(|b| *b != b' ').map_or(0, |p| p + 1);
        let bytes = member(&n[..end], cs)?;
        if kind == "SET" && bytes.contains(&b',') {
            return Err(SqlError::new(
                codes::ER_ILLEGAL_VALUE_FOR_TYPE,
                format!(
                    "Illegal set '{}' value found during parsing",
                    String::from_utf8_lossy(n)
                ),
            ));
        }
        // Equal members have equal keys.
        key.clear();
        collation.write_key(&bytes, &mut key);
        if !seen.insert(key.clone()) {
            let text = format!(
                "Column '{name}' has duplicated value '{}' in {kind}",
                String::from_utf8_lossy(n)
            );
            if ctx.strict {
                return Err(SqlError::new(codes::ER_DUPLICATED_VALUE_IN_TYPE, text));
            }
            ctx.warnings.push(Warning::new(
                Level::Note,
                codes::ER_DUPLICATED_VALUE_IN_TYPE,
                text,
            ));
        }
        own.push(bytes.into());
    }
    Ok(Arc::new(Labels {
        names: own,
        collation,
    }))
}

/// A member in the character set of its column. Bytes that are no UTF-8 are none that the parser had made of a text: a number, or what
/// a client sent that tells no character set. They are the column's own, as in MySQL, where it can have them.
///
/// # Errors
/// 1300.
fn member(n: &[u8], cs: Charset) -> Result<Vec<u8>, SqlError> {
    if std::str::from_utf8(n).is_ok() {
        let mut bytes = Vec::with_capacity(n.len());
        types::charset::convert(Charset::Utf8mb4, cs, n, &mut bytes);
        return Ok(bytes);
    }
    match cs.first_invalid(n) {
        None => Ok(n.to_vec()),
        Some(at) => {
            let shown: String = n[at..].iter().take(3).map(|b| format!("{b:02X}")).collect();
            Err(SqlError::invalid_character_string(cs.name(), &shown))
        }
    }
}

/// Bytes a column takes in a row as MySQL counts them for error 1118: lobs only their pointer.
pub fn row_bytes(ty: &DataType) -> u64 {
    match ty {
        DataType::Text { size, .. } | DataType::Blob(size) => match size {
            LobSize::Tiny => 9,
            LobSize::Normal => 10,
            LobSize::Medium => 11,
            LobSize::Long => 12,
        },
        DataType::Json => 12,
        DataType::VarChar { .. } | DataType::VarBinary(_) => {
            let n = ty.max_bytes();
            n + if n > 255 { 2 } else { 1 }
        }
        _ => ty.max_bytes(),
    }
}

/// Bytes of a column that stay in the row however long its value is, as InnoDB counts them for error 1118 (`dict_index_too_big_for_tree`):
/// of a long one `prefix` bytes and 20 that say where it is, or 40 where nothing is kept.
pub fn bytes_inside(ty: &DataType, prefix: u64) -> u64 {
    let wide = matches!(ty, DataType::Char { .. }) && ty.collation().charset().max_len() > 1;
    let variable = wide
        || ty.is_lob()
        || matches!(
            ty,
            DataType::VarChar { .. } | DataType::VarBinary(_) | DataType::Json
        );
    let n = ty.max_bytes();
    if !variable {
        return n;
    }
    let kept = if prefix > 0 { prefix + 20 } else { 40 };
    n.min(kept) + if n > 255 { 2 } else { 1 }
}

/// Whether values stored as `old` are values of `new` as they are.
pub fn fits(old: &DataType, new: &DataType) -> bool {
    match (old, new) {
        (
            DataType::Int {
                width: a,
                unsigned: ua,
                ..
            },
            DataType::Int {
                width: b,
                unsigned: ub,
                ..
            },
        ) => a == b && ua == ub,
        (
            DataType::VarChar {
                chars: a,
                collation: ca,
            },
            DataType::VarChar {
                chars: b,
                collation: cb,
            },
        ) => a <= b && ca == cb,
        (DataType::VarBinary(a), DataType::VarBinary(b)) => a <= b,
        // They are stored as numbers.
        (DataType::Enum(a), DataType::Enum(b)) | (DataType::Set(a), DataType::Set(b)) => {
            a.collation == b.collation
                && b.names.starts_with(&a.names)
                && old.max_bytes() == new.max_bytes()
        }
        (a, b) => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(kind: TypeKind) -> ast::DataType {
        ast::DataType {
            kind,
            unsigned: false,
            zerofill: false,
            charset: None,
            binary: false,
        }
    }

    fn resolved(kind: TypeKind) -> Result<DataType, u16> {
        let mut w = Vec::new();
        let mut ctx = TypeCtx {
            collation: CollationId::DEFAULT,
            strict: true,
            warnings: &mut w,
        };
        resolve("c", &written(kind), None, &mut ctx).map_err(|e| e.code)
    }

    #[test]
    fn ranges_are_checked() {
        assert_eq!(resolved(TypeKind::VarChar(16_384)), Err(1074));
        assert!(resolved(TypeKind::VarChar(16_383)).is_ok());
        assert_eq!(resolved(TypeKind::Decimal(Some((66, 2)))), Err(1426));
        assert_eq!(resolved(TypeKind::Decimal(Some((5, 6)))), Err(1427));
        assert_eq!(resolved(TypeKind::Datetime(7)), Err(1426));
        assert_eq!(resolved(TypeKind::Bit(Some(65))), Err(1439));
    }

    #[test]
    fn defaults_are_mysqls() {
        assert_eq!(
            resolved(TypeKind::Decimal(None)),
            Ok(DataType::decimal(10, 0))
        );
        assert_eq!(
            resolved(TypeKind::Text(Some(70_000))).map(|t| t.to_string()),
            Ok("mediumtext".to_owned())
        );
        assert_eq!(
            resolved(TypeKind::Bool).map(|t| t.to_string()),
            Ok("tinyint(1)".to_owned())
        );
    }
}
