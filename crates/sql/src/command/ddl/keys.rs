//! From key definitions as written to the indexes of a table: names, order, lengths, and MySQL's errors about them.
//!
//! Works on column definitions alone; never looks at rows.

use engine::{ColumnDef, IndexDef, IndexKind, IndexOptions, IndexPart, TableOptions};
use types::error::codes;
use types::{DataType, Level, SqlError, Warning};

use super::identifier::{check_identifier, comment};
use super::row_format::{self, MAX_KEY_BYTES};
use sql_expr::EvalCtx;
use sql_parser::ast::{self, KeyPartKind};

/// What an index without a name is called whose first part is functional.
pub(super) const UNNAMED_FUNCTIONAL: &str = "functional_index";

const MAX_PARTS: usize = 16;
const MAX_KEYS: usize = 64;

/// How long the key of an index may be.
#[derive(Debug, Clone, Copy)]
pub struct KeyLimits {
    /// Bytes of a part.
    part: u64,
    /// Outside strict mode a part of an index that is not unique is cut, with a warning.
    cut: bool,
}

impl KeyLimits {
    /// As the table's format and the session's mode have it.
    pub fn of(options: &TableOptions, cx: &EvalCtx<'_>) -> KeyLimits {
        KeyLimits {
            part: row_format::longest_part(options),
            cut: !cx.sql_mode.strict(),
        }
    }
}

/// Position of a column by name, in any case; functional key parts have none.
pub fn column_index(columns: &[ColumnDef], name: &str) -> Option<usize> {
    columns.iter().position(|c| c.is_named(name))
}

/// Position of an index by name, in any case; a hidden clustered index has no name.
pub fn index_position(indexes: &[IndexDef], name: &str) -> Option<usize> {
    indexes
        .iter()
        .position(|i| i.kind != IndexKind::Hidden && i.name.to_lowercase() == name.to_lowercase())
}

/// Position of one of a table's indexes by name.
///
/// # Errors
/// 1176.
pub(super) fn position_of(
    indexes: &[IndexDef],
    table: &str,
    name: &str,
) -> Result<usize, SqlError> {
    index_position(indexes, name).ok_or_else(|| unknown(table, name))
}

/// What an index other than the primary key can be called.
///
/// # Errors
/// 1059, 1280.
pub(super) fn check_name(name: &str) -> Result<(), SqlError> {
    match name.eq_ignore_ascii_case("PRIMARY") {
        true => Err(wrong_name(name)),
        false => check_identifier(name, ""),
    }
}

/// Error 1280.
pub(super) fn wrong_name(name: &str) -> SqlError {
    SqlError::new(
        codes::ER_WRONG_NAME_FOR_INDEX,
        format!("Incorrect index name '{name}'"),
    )
}

/// Error 1176.
pub(super) fn unknown(table: &str, name: &str) -> SqlError {
    SqlError::new(
        codes::ER_KEY_DOES_NOT_EXITS,
        format!("Key '{name}' doesn't exist in table '{table}'"),
    )
}

/// One index as its definition says, without a name where none was written. `functional` are the columns of its functional parts, in order.
///
/// # Errors
/// 1070, 1071, 1072, 1073, 1060, 1089, 1170, 1235, 1391, 3152.
pub fn build(
    columns: &[ColumnDef],
    def: &ast::IndexDef,
    functional: &[u16],
    longest: KeyLimits,
    warnings: &mut Vec<Warning>,
) -> Result<IndexDef, SqlError> {
    let mut functional = functional.iter();
    let kind = match def.kind {
        ast::IndexKind::Primary => IndexKind::Primary,
        ast::IndexKind::Unique => IndexKind::Unique,
        ast::IndexKind::Plain => IndexKind::Plain,
        ast::IndexKind::Fulltext => return Err(SqlError::not_supported("FULLTEXT INDEX")),
        ast::IndexKind::Spatial => return Err(SqlError::not_supported("SPATIAL INDEX")),
    };
    if def.parts.len() > MAX_PARTS {
        return Err(SqlError::new(
            codes::ER_TOO_MANY_KEY_PARTS,
            format!("Too many key parts specified; max {MAX_PARTS} parts allowed"),
        ));
    }
    let mut parts: Vec<IndexPart> = Vec::with_capacity(def.parts.len());
    let mut bytes = 0;
    for p in &def.parts {
        let (at, length) = match &p.what {
            KeyPartKind::Column { name, length } => {
                let at = column_index(columns, name);
                let at = at.ok_or_else(|| SqlError::key_column_missing(name))?;
                if parts.iter().any(|q| usize::from(q.column) == at) {
                    return Err(SqlError::dup_column(name));
                }
                (at, *length)
            }
            KeyPartKind::Expr(_) => {
                let at = functional.next();
                let at = at.ok_or_else(|| SqlError::internal("a key part without a column"))?;
                (usize::from(*at), None)
            }
        };
        let (mut prefix, mut part_bytes) = prefix(&columns[at], length)?;
        let ty = columns[at].key_type();
        let may_cut = longest.cut && !columns[at].is_hidden();
        if part_bytes > longest.part && may_cut && kind == IndexKind::Plain && ty.is_string() {
            let e = SqlError::key_too_long(longest.part as usize);
            warnings.push(Warning::new(Level::Warning, e.code, e.message.to_string()));
            let width = ty.collation().charset().max_len() as u64;
            prefix = (longest.part / width) as u32;
            part_bytes = u64::from(prefix) * width;
        }
        bytes += part_bytes;
        check_length(part_bytes, bytes, longest)?;
        parts.push(IndexPart {
            column: at as u16,
            prefix,
            descending: p.desc,
        });
    }
    let name = match kind {
        IndexKind::Primary => "PRIMARY".to_owned(),
        _ => def
            .name
            .as_deref()
            .or(def.constraint.as_deref())
            .unwrap_or_default()
            .to_owned(),
    };
    match kind {
        IndexKind::Primary => {}
        _ if def.name.as_ref().is_some_and(|n| n.is_empty()) => return Err(wrong_name("")),
        _ => check_name(&name)?,
    }
    let comment = comment(def.options.comment.as_deref(), "index", &name)?;
    Ok(IndexDef {
        id: 0,
        name,
        kind,
        parts,
        comment,
        root: Default::default(),
        invisible: def.options.invisible,
        asked: asked(&def.options, warnings),
    })
}

/// What is shown again. All indexes are B-trees.
fn asked(options: &ast::IndexOptions, warnings: &mut Vec<Warning>) -> IndexOptions {
    let btree = options.using.as_deref() == Some("BTREE");
    if !btree && let Some(other) = &options.using {
        let text = format!(
            "This storage engine does not support the {other} index algorithm, storage engine default was used instead."
        );
        let code = codes::ER_UNSUPPORTED_INDEX_ALGORITHM;
        warnings.push(Warning::new(Level::Note, code, text));
    }
    let size = options.key_block_size.unwrap_or_default();
    IndexOptions {
        btree,
        key_block_size: u16::try_from(size).unwrap_or(u16::MAX),
        for_foreign_key: false,
    }
}

fn check_length(part: u64, all: u64, longest: KeyLimits) -> Result<(), SqlError> {
    if part > longest.part {
        return Err(SqlError::key_too_long(longest.part as usize));
    }
    if all > MAX_KEY_BYTES {
        return Err(SqlError::key_too_long(MAX_KEY_BYTES as usize));
    }
    Ok(())
}

/// Checks an index that was there against columns that have changed; a prefix of what is shorter now is the whole.
///
/// # Errors
/// 1071, 1170, 3152.
pub fn check_again(
    columns: &[ColumnDef],
    index: &mut IndexDef,
    longest: KeyLimits,
) -> Result<(), SqlError> {
    let mut bytes = 0;
    for p in &mut index.parts {
        let column = &columns[usize::from(p.column)];
        let length = match column.key_type() {
            DataType::Char { chars, .. } | DataType::VarChar { chars, .. } => Some(*chars),
            DataType::Binary(n) | DataType::VarBinary(n) => Some(*n),
            t if t.is_lob() => Some(u32::MAX),
            _ => None,
        };
        let cut = length.is_some_and(|n| 0 < p.prefix && p.prefix < n);
        let (prefix, part_bytes) = prefix(column, cut.then_some(u64::from(p.prefix)))?;
        p.prefix = prefix;
        bytes += part_bytes;
        check_length(part_bytes, bytes, longest)?;
    }
    Ok(())
}

/// The prefix of a column in whose place in an index another one comes: as many characters of it.
///
/// # Errors
/// 1089, 1170, 3152.
pub(super) fn prefix_instead(
    gone: &ColumnDef,
    length: u32,
    column: &ColumnDef,
) -> Result<u32, SqlError> {
    if gone.ty.is_string() || gone.ty.is_lob() || column.ty.max_bytes() != gone.ty.max_bytes() {
        let width = gone.ty.collation().charset().max_len() as u64;
        let whole = gone.ty.max_bytes() / width;
        let length = Some(u64::from(length)).filter(|n| *n > 0);
        return Ok(prefix(column, length.or(Some(whole)))?.0);
    }
    Ok(prefix(column, None)?.0)
}

/// Prefix in characters (0 for the whole column) and the bytes the part may take.
fn prefix(column: &ColumnDef, length: Option<u64>) -> Result<(u32, u64), SqlError> {
    let (name, ty) = (&column.name, column.key_type());
    if matches!(ty, DataType::Json) {
        return Err(SqlError::new(
            codes::ER_JSON_USED_AS_KEY,
            format!(
                "JSON column '{name}' supports indexing only via generated columns on a specified JSON path."
            ),
        ));
    }
    let wrong = || {
        SqlError::new(
            codes::ER_WRONG_SUB_KEY,
            "Incorrect prefix key; the used key part isn't a string, the used length is longer than the key part, or the storage engine doesn't support unique prefix keys",
        )
    };
    let whole = ty.max_bytes();
    let width = ty.collation().charset().max_len() as u64;
    let Some(n) = length else {
        if ty.is_lob() {
            return Err(SqlError::new(
                codes::ER_BLOB_KEY_WITHOUT_LENGTH,
                format!("BLOB/TEXT column '{name}' used in key specification without a key length"),
            ));
        }
        return Ok((0, whole));
    };
    if n == 0 {
        return Err(SqlError::new(
            codes::ER_KEY_PART_0,
            format!("Key part '{name}' length cannot be 0"),
        ));
    }
    let chars = match ty {
        DataType::Char { chars, .. } | DataType::VarChar { chars, .. } => u64::from(*chars),
        DataType::Binary(n) | DataType::VarBinary(n) => u64::from(*n),
        t if t.is_lob() => t.max_bytes() / width,
        _ => return Err(wrong()),
    };
    if n > chars && !ty.is_lob() {
        return Err(wrong());
    }
    let bytes = n.saturating_mul(width);
    // A prefix as long as the column is the whole column.
    if n == chars && !ty.is_lob() {
        return Ok((0, whole));
    }
    Ok((u32::try_from(n).unwrap_or(u32::MAX), bytes))
}

/// Gives every index without a name MySQL's: its first column's, with `_2`, `_3` … where that is taken.
///
/// # Errors
/// 1061 for two indexes of one name, 1068 for two primary keys, 1069.
pub fn name_all(columns: &[ColumnDef], indexes: &mut [IndexDef]) -> Result<(), SqlError> {
    if indexes
        .iter()
        .filter(|i| i.kind == IndexKind::Primary)
        .count()
        > 1
    {
        return Err(SqlError::new(
            codes::ER_MULTIPLE_PRI_KEY,
            "Multiple primary key defined",
        ));
    }
    if indexes.len() > MAX_KEYS {
        return Err(SqlError::new(
            codes::ER_TOO_MANY_KEYS,
            format!("Too many keys specified; max {MAX_KEYS} keys allowed"),
        ));
    }
    for i in 0..indexes.len() {
        if indexes[i].name.is_empty() {
            indexes[i].name = free_name(columns, indexes, i);
        } else if indexes[..i]
            .iter()
            .any(|o| o.name.to_lowercase() == indexes[i].name.to_lowercase())
        {
            return Err(SqlError::dup_key_name(&indexes[i].name));
        }
    }
    Ok(())
}

/// Warns of each new index that has the same parts as another.
pub fn warn_twice(
    (schema, table): (&str, &str),
    indexes: &[IndexDef],
    is_new: impl Fn(&IndexDef) -> bool,
    warnings: &mut Vec<Warning>,
) {
    for (i, x) in indexes.iter().enumerate() {
        let same = |o: &IndexDef| o.parts == x.parts && o.kind == x.kind;
        if is_new(x) && indexes[..i].iter().any(same) {
            let text = format!(
                "Duplicate index '{}' defined on the table '{schema}.{table}'. This is deprecated and will be disallowed in a future release.",
                x.name
            );
            warnings.push(Warning::new(Level::Warning, codes::ER_DUP_INDEX, text));
        }
    }
}

fn free_name(columns: &[ColumnDef], indexes: &[IndexDef], which: usize) -> String {
    let first = indexes[which].parts.first();
    let base = match first.map(|p| &columns[usize::from(p.column)]) {
        Some(c) if c.is_hidden() => UNNAMED_FUNCTIONAL,
        Some(c) => c.name.as_str(),
        None => "key",
    };
    let taken = |n: &str| {
        n.eq_ignore_ascii_case("PRIMARY")
            || indexes
                .iter()
                .enumerate()
                .any(|(i, o)| i != which && o.name.to_lowercase() == n.to_lowercase())
    };
    if !taken(base) {
        return base.to_owned();
    }
    (2..)
        .map(|n: u32| format!("{base}_{n}"))
        .find(|n| !taken(n))
        .unwrap_or_default()
}

/// Checks that the primary key is visible, or the unique key that stands for it (the first one of columns that are all NOT NULL).
///
/// # Errors
/// 3522.
pub fn check_visible(columns: &[ColumnDef], indexes: &[IndexDef]) -> Result<(), SqlError> {
    let primary = indexes.iter().find(|i| i.kind == IndexKind::Primary);
    let not_null = |i: &&IndexDef| {
        let mut parts = i.parts.iter();
        i.kind == IndexKind::Unique
            && parts.all(|p| {
                let column = &columns[usize::from(p.column)];
                p.prefix == 0 && !column.nullable && !column.is_hidden()
            })
    };
    let key = primary.or_else(|| indexes.iter().find(not_null));
    match key.is_some_and(|i| i.invisible) {
        true => Err(SqlError::fixed(codes::ER_PK_INDEX_CANT_BE_INVISIBLE)),
        false => Ok(()),
    }
}

/// Checks that every AUTO_INCREMENT column is the only one and leads an index.
///
/// # Errors
/// 1075.
pub fn check_auto_increment(columns: &[ColumnDef], indexes: &[IndexDef]) -> Result<(), SqlError> {
    let autos: Vec<usize> = (0..columns.len())
        .filter(|&c| columns[c].auto_increment)
        .collect();
    let leads = |c: usize| {
        indexes
            .iter()
            .filter(|i| {
                !i.parts
                    .iter()
                    .any(|p| columns[usize::from(p.column)].is_list())
            })
            .any(|i| i.parts.first().is_some_and(|p| usize::from(p.column) == c))
    };
    match autos.as_slice() {
        [] => Ok(()),
        [c] if leads(*c) => Ok(()),
        _ => Err(SqlError::new(
            codes::ER_WRONG_AUTO_KEY,
            "Incorrect table definition; there can be only one auto column and it must be defined as a key",
        )),
    }
}
