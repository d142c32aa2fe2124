//! From the other server's columns to those of the table here, by their places: which can become which (`replica_type_conversions`), and the
//! values themselves. What is not the same type, and not one that holds all its values, is refused (1677).

use crate::json;
use engine::{ColumnDef, TableDef};
use sql::exec::{Image, Part};
#[cfg(test)]
use types::IntWidth;
use types::convert::{ConvertMode, Target, assign};
use types::error::codes;
use types::{CollationId, DataType, SqlError, Value};
use wire::binlog::column::{ColumnType, code};
use wire::binlog::table_map::{Column, TableMap};

/// What `replica_type_conversions` allows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Allowed {
    /// ALL_NON_LOSSY: types that hold all values of the other.
    pub widening: bool,
    /// ALL_LOSSY: types that do not.
    pub narrowing: bool,
}

impl Allowed {
    /// Of the variable.
    pub fn of(text: &str) -> Allowed {
        let has = |word| text.split(',').any(|w| w.trim().eq_ignore_ascii_case(word));
        Allowed {
            widening: has("ALL_NON_LOSSY"),
            narrowing: has("ALL_LOSSY"),
        }
    }
}

/// How one type goes into another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    Same,
    Wider,
    Narrower,
    Never,
}

/// By which column of the table each column of an image is taken.
pub(super) struct Mapping {
    /// Places in the table here, by the places there. The table may have fewer.
    places: Vec<usize>,
    /// Unsigned, by the places there.
    pub unsigned: Vec<bool>,
    /// Generated columns whose values are taken as they come, by the places there.
    takes: Vec<bool>,
    /// These are all that depend on a session.
    pub says_all: bool,
}

impl Mapping {
    /// Of a table. `said`: its generated columns that depend on a session. `signs_are_said`: the writer says which numbers are unsigned.
    ///
    /// # Errors
    /// 1677.
    pub fn new(
        map: &TableMap,
        (def, said): (&TableDef, &[u16]),
        allowed: Allowed,
        signs_are_said: bool,
    ) -> Result<Mapping, SqlError> {
        let stored = def
            .columns
            .iter()
            .enumerate()
            .filter(|(_, c)| !c.is_hidden());
        let places: Vec<usize> = stored.map(|(n, _)| n).collect();
        let mut unsigned = Vec::with_capacity(map.columns.len());
        let mut takes = vec![false; map.columns.len()];
        for (n, from) in map.columns.iter().enumerate() {
            let to = places.get(n).map(|p| &def.columns[*p]);
            // A writer that does not say which numbers have a sign means those that have one here.
            unsigned.push(match signs_are_said {
                true => from.unsigned,
                false => to.is_some_and(|c| c.ty.is_unsigned()),
            });
            let Some(to) = to else {
                continue;
            };
            if to.generated.is_some() {
                // A value of another type is computed here.
                let is_said = said.iter().any(|c| usize::from(*c) == places[n]);
                takes[n] = is_said && fit(from, &to.ty) == Fit::Same;
                continue;
            }
            let fits = match fit(from, &to.ty) {
                Fit::Same => true,
                Fit::Wider => allowed.widening || is_plain_growth(from, &to.ty),
                Fit::Narrower => allowed.narrowing,
                Fit::Never => false,
            };
            if !fits {
                return Err(SqlError::new(
                    codes::ER_REPLICA_CONVERSION_FAILED,
                    format!(
                        "Column {n} of table '{}.{}' cannot be converted from type '{}' to type '{}'",
                        def.schema,
                        def.name,
                        name_of(from),
                        to.ty,
                    ),
                ));
            }
        }
        let says_all = takes.iter().filter(|t| **t).count() == said.len();
        Ok(Mapping {
            places,
            unsigned,
            takes,
            says_all,
        })
    }

    /// Takes the documents that are not whole out of an image, and reads what has changed in them.
    ///
    /// # Errors
    /// 3649.
    pub fn parts(
        &self,
        def: &TableDef,
        columns: &[usize],
        image: &mut [Option<Value>],
    ) -> Result<Vec<Part>, SqlError> {
        let mut parts = Vec::new();
        for n in columns {
            let changes = image.get_mut(*n).and_then(Option::take);
            let (Some(place), Some(Value::Bytes(changes))) = (self.places.get(*n), changes) else {
                continue;
            };
            let column = &def.columns[*place];
            if column.generated.is_some() && self.takes.get(*n) != Some(&true) {
                continue;
            }
            let diffs = json::diffs(&changes).map_err(|_| {
                SqlError::new(
                    codes::ER_CORRUPTED_JSON_DIFF,
                    format!(
                        "Corrupted JSON diff for table {}, column {}.",
                        def.name, column.name
                    ),
                )
            })?;
            parts.push(Part {
                column: *place,
                diffs,
            });
        }
        Ok(parts)
    }

    /// An image as the table here has it.
    ///
    /// # Errors
    /// What a value cannot become.
    pub fn image(
        &self,
        map: &TableMap,
        def: &TableDef,
        image: Vec<Option<Value>>,
    ) -> Result<Image, SqlError> {
        let mut row: Image = vec![None; def.columns.len()];
        for (n, value) in image.into_iter().enumerate() {
            let (Some(place), Some(value)) = (self.places.get(n), value) else {
                continue;
            };
            let column = &def.columns[*place];
            if column.generated.is_none() || self.takes.get(n) == Some(&true) {
                row[*place] = Some(stored(value, &map.columns[n], column)?);
            }
        }
        Ok(row)
    }
}

/// A value as its column stores it.
fn stored(value: Value, from: &Column, to: &ColumnDef) -> Result<Value, SqlError> {
    // Texts come as bytes, of the collation that the event names, else of that of the column here.
    let value = match (value, &to.ty) {
        (Value::Bytes(document), DataType::Json) if from.ty.code == code::JSON => {
            let text = json::text(&document)
                .map_err(|_| SqlError::fixed(codes::ER_INVALID_JSON_BINARY_DATA))?;
            return Ok(Value::Str(text, CollationId::UTF8MB4_BIN));
        }
        // A text, where it is no JSON there: as MariaDB has it.
        (Value::Bytes(text), DataType::Json) => {
            let text = sql_expr::json::stored(&text, &to.name)?;
            return Ok(Value::Str(text, CollationId::UTF8MB4_BIN));
        }
        (Value::Bytes(text), ty) if is_text(ty) => {
            let named = from.collation.map(CollationId);
            let known = named.filter(|c| c.is_known() && !c.is_binary());
            Value::Str(text, known.unwrap_or(ty.collation()))
        }
        (Value::UInt(n), DataType::Enum(labels)) => {
            return Ok(Value::Enum(n as u16, labels.clone()));
        }
        (Value::UInt(n), DataType::Set(labels)) => return Ok(Value::Set(n, labels.clone())),
        (value, _) => value,
    };
    let target = Target {
        ty: &to.ty,
        nullable: to.nullable,
        column: &to.name,
        row: 1,
    };
    let mode = ConvertMode {
        strict: true,
        no_zero_date: false,
        no_zero_in_date: false,
        invalid_dates: true,
        cut_fractions: false,
        zone: types::temporal::Zone::UTC,
        today: types::convert::Today::Is(types::Date::default()),
    };
    let mut warnings = Vec::new();
    Ok(assign(value.as_ref(), &target, &mode, &mut warnings)?.into_value())
}

fn is_text(ty: &DataType) -> bool {
    matches!(
        ty,
        DataType::Char { .. } | DataType::VarChar { .. } | DataType::Text { .. }
    )
}

/// Growth that loses nothing by the very bytes: as MySQL, a longer string of the same kind needs no leave.
fn is_plain_growth(from: &Column, to: &DataType) -> bool {
    match ColumnType::of(to) {
        Some(to) => kind(from.ty) == kind(to) && kind(to) == Kind::Text,
        None => false,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Int(u8),
    Decimal(u8, u8),
    Float,
    Double,
    /// Texts and byte strings of any length.
    Text,
    Bit,
    Enum,
    Set,
    Date,
    Time,
    DateTime,
    Timestamp,
    Year,
    Json,
    Other(u8),
}

fn kind(ty: ColumnType) -> Kind {
    let [first, second] = ty.about;
    match ty.code {
        code::TINY => Kind::Int(1),
        code::SHORT => Kind::Int(2),
        code::INT24 => Kind::Int(3),
        code::LONG => Kind::Int(4),
        code::LONGLONG => Kind::Int(8),
        code::DECIMAL => Kind::Decimal(first, second),
        code::FLOAT => Kind::Float,
        code::DOUBLE => Kind::Double,
        code::BIT => Kind::Bit,
        code::DATE => Kind::Date,
        code::TIME | code::OLD_TIME => Kind::Time,
        code::DATETIME | code::OLD_DATETIME => Kind::DateTime,
        code::TIMESTAMP | code::OLD_TIMESTAMP => Kind::Timestamp,
        code::YEAR => Kind::Year,
        code::JSON => Kind::Json,
        _ if ty.is_enum() => Kind::Enum,
        _ if ty.is_set() => Kind::Set,
        code::VARCHAR | code::STRING | code::BLOB => Kind::Text,
        other => Kind::Other(other),
    }
}

fn fit(from: &Column, to: &DataType) -> Fit {
    let here = ColumnType::of(to).map_or(Kind::Other(0), kind);
    match (kind(from.ty), here) {
        (Kind::Int(a), Kind::Int(b)) if a == b => Fit::Same,
        (Kind::Int(a), Kind::Int(b)) if a < b => Fit::Wider,
        (Kind::Int(_), Kind::Int(_)) => Fit::Narrower,
        (Kind::Decimal(p, s), Kind::Decimal(q, t)) if (p, s) == (q, t) => Fit::Same,
        (Kind::Decimal(p, s), Kind::Decimal(q, t)) => match t >= s && q - t >= p - s {
            true => Fit::Wider,
            false => Fit::Narrower,
        },
        (Kind::Float, Kind::Double) => Fit::Wider,
        (Kind::Double, Kind::Float) => Fit::Narrower,
        (Kind::Int(_), Kind::Decimal(..)) | (Kind::Decimal(..), Kind::Int(_) | Kind::Double) => {
            Fit::Narrower
        }
        // MariaDB has a text for what is JSON here.
        (Kind::Text, Kind::Json) => Fit::Same,
        // The bytes say how long each is: one that is too long is refused when it comes.
        (Kind::Text, Kind::Text) => match ColumnType::of(to) == Some(from.ty) {
            true => Fit::Same,
            false => Fit::Wider,
        },
        (Kind::DateTime, Kind::DateTime)
        | (Kind::Timestamp, Kind::Timestamp)
        | (Kind::Time, Kind::Time) => Fit::Same,
        (a, b) if a == b => Fit::Same,
        _ => Fit::Never,
    }
}

/// A column's type as MySQL's message names it.
fn name_of(c: &Column) -> String {
    let name = match kind(c.ty) {
        Kind::Int(1) => "tinyint",
        Kind::Int(2) => "smallint",
        Kind::Int(3) => "mediumint",
        Kind::Int(4) => "int",
        Kind::Int(_) => "bigint",
        Kind::Decimal(p, s) => return format!("decimal({p},{s})"),
        Kind::Float => "float",
        Kind::Double => "double",
        Kind::Text => match c.ty.code {
            code::BLOB => "blob",
            code::STRING => "char",
            _ => return format!("varchar({})", u16::from_le_bytes(c.ty.about)),
        },
        Kind::Bit => "bit",
        Kind::Enum => "enum",
        Kind::Set => "set",
        Kind::Date => "date",
        Kind::Time => "time",
        Kind::DateTime => "datetime",
        Kind::Timestamp => "timestamp",
        Kind::Year => "year",
        Kind::Json => "json",
        Kind::Other(n) => return format!("type {n}"),
    };
    name.to_owned()
}

/// The width of whole numbers, for tests of what goes where.
#[cfg(test)]
fn int(width: IntWidth) -> DataType {
    DataType::int(width, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(ty: &DataType) -> Column {
        Column {
            ty: ColumnType::of(ty).unwrap(),
            nullable: true,
            unsigned: false,
            collation: None,
            name: Vec::new(),
            members: Vec::new(),
            visible: true,
        }
    }

    #[test]
    fn what_loses_nothing_is_wider() {
        let fits = |from: DataType, to: DataType| fit(&column(&from), &to);
        let text = |n| DataType::varchar(n, CollationId::DEFAULT);
        assert_eq!(fits(int(IntWidth::Int), int(IntWidth::Big)), Fit::Wider);
        assert_eq!(fits(int(IntWidth::Big), int(IntWidth::Int)), Fit::Narrower);
        assert_eq!(fits(int(IntWidth::Int), text(10)), Fit::Never);
        assert_eq!(fits(text(10), text(20)), Fit::Wider);
        assert_eq!(
            fits(DataType::decimal(10, 2), DataType::decimal(12, 2)),
            Fit::Wider
        );
        assert_eq!(
            fits(DataType::decimal(10, 2), DataType::decimal(12, 5)),
            Fit::Narrower
        );
        assert_eq!(fits(text(10), DataType::Json), Fit::Same);
        assert_eq!(fits(DataType::Json, DataType::Json), Fit::Same);
        assert_eq!(fits(DataType::Json, text(10)), Fit::Never);
        assert_eq!(fits(DataType::Date, DataType::DateTime(0)), Fit::Never);
    }
}
