//! From `CREATE TABLE` as written to the definition the engine keeps.
//!
//! Everything here is computed from the statement and the session; the catalog is not touched.

use engine::{ColumnDef, ColumnDefault, IndexDef, IndexKind, TableDef, TableOptions};
use types::error::codes;
use types::{CollationId, Level, SqlError, Warning};

use sql_parser::ast::{self, KeyDef, TableOption};

use super::columns::{Columns, DefCtx};
use super::datatype;
use super::identifier::{check_identifier, comment};
use super::row_format::{self, FormatUse};
use super::{checks, default, foreign_keys, functional, generated, keys};

/// Columns of a table, at most.
pub(super) const MAX_COLUMNS: usize = 1017;
/// Bytes of a row that are not in overflow pages, at most.
const MAX_BYTES_INSIDE: u64 = 8126;

/// The definition that a `CREATE TABLE` describes whose query, if it has one, has these columns.
///
/// # Errors
/// The 10xx family of definition errors; 1235 for what is parsed and not carried out.
pub fn definition(
    stmt: &ast::CreateTable,
    of_query: Vec<ColumnDef>,
    ctx: &mut DefCtx<'_, '_>,
) -> Result<TableDef, SqlError> {
    let name = stmt.name.name.as_ref();
    check_identifier(name, "table")?;
    if stmt.partitioning.is_some() {
        return Err(SqlError::not_supported("PARTITION BY"));
    }
    let mut options = options(name, &stmt.options, ctx)?;
    let vars = ctx.cx.vars;
    row_format::complete(&mut options, vars);
    row_format::check(name, &options, FormatUse::Create, vars, &mut ctx.warnings)?;
    let longest = keys::KeyLimits::of(&options, ctx.cx);
    let mut indexes: Vec<IndexDef> = Vec::new();
    let Columns {
        mut columns,
        own_keys,
        explicit_null,
        expressions,
    } = Columns::of(stmt, of_query, options.collation, ctx)?;
    if columns.len() > MAX_COLUMNS {
        return Err(SqlError::new(codes::ER_TOO_MANY_FIELDS, "Too many columns"));
    }
    if columns.is_empty() {
        return Err(SqlError::new(
            codes::ER_TABLE_MUST_HAVE_COLUMNS,
            "A table must have at least 1 column",
        ));
    }
    require_visible(&columns)?;
    for def in &own_keys {
        indexes.push(keys::build(&columns, def, &[], longest, &mut ctx.warnings)?);
    }
    let mut references = Vec::new();
    for k in &stmt.keys {
        match k {
            KeyDef::Index(i) => {
                let table = (ctx.schema, name);
                let (cx, warnings) = (ctx.cx, &mut ctx.warnings);
                let index = functional::build(&mut columns, i, table, longest, cx, warnings)?;
                indexes.push(index);
            }
            KeyDef::Foreign(f) => {
                let warnings = &mut ctx.warnings;
                if keeps_foreign_keys(&stmt.options) {
                    references.push(foreign_keys::build(&columns, ctx.schema, f)?);
                }
                indexes.push(foreign_keys::index_for(&columns, f, longest, warnings)?);
            }
            // See `checks`.
            KeyDef::Check(_) => {}
        }
    }
    let is_list = |n: u16| columns[usize::from(n)].is_list();
    foreign_keys::drop_needless(&mut indexes, is_list);
    foreign_keys::name_all(name, &[], &mut references)?;
    keys::name_all(&columns, &mut indexes)?;
    functional::name_columns(&mut columns, &indexes);
    if columns.len() > MAX_COLUMNS {
        return Err(SqlError::new(codes::ER_TOO_MANY_FIELDS, "Too many columns"));
    }
    require_primary_not_null(&mut columns, &explicit_null, &indexes)?;
    keys::check_auto_increment(&columns, &indexes)?;
    keys::check_visible(&columns, &indexes)?;
    let named = (ctx.schema, name);
    generated::define(&mut columns, &expressions, &indexes, named, ctx.cx)?;
    generated::check_keys(&columns, &indexes)?;
    default::check(&columns, None, ctx.cx)?;
    let checks = checks::of_create(stmt, &columns, ctx.schema, ctx.cx)?;
    foreign_keys::check_actions(&columns, &references, &checks, None)?;
    check_row_size(&columns, &options, ctx)?;
    keys::warn_twice((ctx.schema, name), &indexes, |_| true, &mut ctx.warnings);
    indexes.sort_by_key(|i| crate::describe::keys::rank(&columns, i));
    Ok(TableDef {
        id: 0,
        schema: ctx.schema.to_owned(),
        name: name.to_owned(),
        columns,
        indexes,
        foreign_keys: references,
        checks,
        options,
    })
}

/// Checks that a row fits MySQL's limit of all engines, and with what has to be in it InnoDB's of half a page: a warning where
/// innodb_strict_mode is off, and an error for the row that does not.
///
/// # Errors
/// 1118.
pub(super) fn check_row_size(
    columns: &[ColumnDef],
    options: &TableOptions,
    ctx: &mut DefCtx<'_, '_>,
) -> Result<(), SqlError> {
    let nulls = columns.iter().filter(|c| c.nullable).count().div_ceil(8) as u64;
    let bytes: u64 = columns.iter().map(|c| datatype::row_bytes(&c.ty)).sum();
    if bytes + nulls > datatype::MAX_ROW_BYTES {
        return Err(SqlError::row_too_big(datatype::MAX_ROW_BYTES as usize));
    }
    let prefix = row_format::prefix_of_long(options);
    let inside = |c: &ColumnDef| datatype::bytes_inside(&c.ty, prefix);
    // Behind a header and what its versions are found by.
    let bytes: u64 = 18 + nulls + columns.iter().map(inside).sum::<u64>();
    if bytes < MAX_BYTES_INSIDE {
        return Ok(());
    }
    let e = SqlError::new(
        codes::ER_TOO_BIG_ROWSIZE,
        format!(
            "Row size too large (> {MAX_BYTES_INSIDE}). Changing some columns to TEXT or BLOB may help. In current row format, BLOB prefix of {prefix} bytes is stored inline."
        ),
    );
    if row_format::is_strict(ctx.cx.vars) {
        return Err(e);
    }
    let text = e.message.to_string();
    ctx.warnings
        .push(Warning::new(Level::Warning, e.code, text));
    Ok(())
}

/// Makes the columns of the primary key NOT NULL.
///
/// # Errors
/// 1171 for a column written as NULL.
pub fn require_primary_not_null(
    columns: &mut [ColumnDef],
    explicit_null: &[bool],
    indexes: &[IndexDef],
) -> Result<(), SqlError> {
    let primary = indexes.iter().filter(|i| i.kind == IndexKind::Primary);
    for part in primary.flat_map(|i| &i.parts) {
        let at = usize::from(part.column);
        if explicit_null.get(at) == Some(&true) {
            return Err(SqlError::new(
                codes::ER_PRIMARY_CANT_HAVE_NULL,
                "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use UNIQUE instead",
            ));
        }
        columns[at].nullable = false;
        if matches!(columns[at].default, ColumnDefault::Null) {
            columns[at].default = ColumnDefault::None;
        }
    }
    Ok(())
}

/// A table needs a column that `SELECT *` shows.
///
/// # Errors
/// 4028.
pub(super) fn require_visible(columns: &[ColumnDef]) -> Result<(), SqlError> {
    match columns.iter().all(|c| c.invisible || c.is_hidden()) {
        true => Err(SqlError::fixed(codes::ER_TABLE_WITHOUT_VISIBLE_COLUMN)),
        false => Ok(()),
    }
}

/// Refuses two character sets: MySQL does not choose between them.
///
/// # Errors
/// 1302.
pub(super) fn one_charset<'o>(
    written: impl Iterator<Item = &'o TableOption>,
) -> Result<(), SqlError> {
    let mut first: Option<&str> = None;
    for w in written {
        let TableOption::Charset(name) = w else {
            continue;
        };
        if name.eq_ignore_ascii_case("DEFAULT") {
            continue;
        }
        match first {
            Some(before) if !before.eq_ignore_ascii_case(name) => {
                return Err(SqlError::new(
                    codes::ER_CONFLICTING_DECLARATIONS,
                    format!(
                        "Conflicting declarations: 'CHARACTER SET {before}' and 'CHARACTER SET {name}'"
                    ),
                ));
            }
            _ => first = Some(name),
        }
    }
    Ok(())
}

/// Names that a table may give as its engine; InnoDB's name stands for the only one there is.
const ENGINES: &[&str] = &[
    "InnoDB",
    "MyISAM",
    "MEMORY",
    "HEAP",
    "CSV",
    "ARCHIVE",
    "BLACKHOLE",
    "MERGE",
    "MRG_MYISAM",
    "Aria",
];

/// Whether the engine that these options ask for has foreign keys. MySQL reads and forgets them with any other, but for their indexes, and so
/// do we, though the table is one of InnoDB: who restores such tables has rows that were never checked.
pub(super) fn keeps_foreign_keys(options: &[TableOption]) -> bool {
    let engine = options.iter().rev().find_map(|o| match o {
        TableOption::Engine(e) => Some(e),
        _ => None,
    });
    let known = |e: &&sql_parser::ast::Name| ENGINES.iter().any(|k| k.eq_ignore_ascii_case(e));
    engine
        .filter(known)
        .is_none_or(|e| e.eq_ignore_ascii_case("InnoDB"))
}

/// Checks the name of a storage engine, with a warning where another than InnoDB was asked for.
///
/// # Errors
/// 1286.
pub fn engine_name(
    table: &str,
    engine: &str,
    substitute: bool,
    warnings: &mut Vec<Warning>,
) -> Result<(), SqlError> {
    let known = ENGINES.iter().any(|e| e.eq_ignore_ascii_case(engine));
    if !known {
        let e = SqlError::new(
            codes::ER_UNKNOWN_STORAGE_ENGINE,
            format!("Unknown storage engine '{engine}'"),
        );
        if !substitute {
            return Err(e);
        }
        warnings.push(Warning::from_error(e));
    }
    if !engine.eq_ignore_ascii_case("InnoDB") {
        warnings.push(Warning::new(
            Level::Warning,
            codes::ER_WARN_USING_OTHER_HANDLER,
            format!("Using storage engine InnoDB for table '{table}'"),
        ));
    }
    Ok(())
}

fn options(
    table: &str,
    written: &[TableOption],
    ctx: &mut DefCtx<'_, '_>,
) -> Result<TableOptions, SqlError> {
    one_charset(written.iter())?;
    let mut o = TableOptions {
        collation: ctx.collation,
        comment: String::new(),
        row_format: String::new(),
        auto_increment: 0,
        others: Vec::new(),
        created_us: 0,
        discarded: false,
    };
    for w in written.iter().filter(|w| !is_start_of_transaction(w)) {
        option(table, &mut o, w, ctx.substitute_engines, &mut ctx.warnings)?;
    }
    let find_charset = |w: &TableOption| match w {
        TableOption::Charset(n) => Some(n.to_string()),
        _ => None,
    };
    let find_collation = |w: &TableOption| match w {
        TableOption::Collate(n) => Some(n.to_string()),
        _ => None,
    };
    let charset = written.iter().rev().find_map(find_charset);
    let collation = written.iter().rev().find_map(find_collation);
    let resolved = table_collation(charset.as_deref(), collation.as_deref())?;
    o.collation = resolved.unwrap_or(ctx.collation);
    Ok(o)
}

/// The collation of `[CHARACTER SET cs] [COLLATE c]` of a table or database, where `DEFAULT` means none.
///
/// # Errors
/// 1115, 1253, 1273.
pub fn table_collation(
    charset: Option<&str>,
    collation: Option<&str>,
) -> Result<Option<CollationId>, SqlError> {
    let given = |n: &&str| !n.eq_ignore_ascii_case("DEFAULT");
    datatype::collation(charset.filter(given), collation.filter(given))
}

/// `START TRANSACTION`: a transaction begins with the table, and its rows follow.
pub fn is_start_of_transaction(option: &TableOption) -> bool {
    matches!(option, TableOption::Other(name, _) if &**name == "START_TRANSACTION")
}

/// 3979.
pub fn no_start_of_transaction(what: &str) -> SqlError {
    SqlError::new(
        codes::ER_NOT_ALLOWED_WITH_START_TRANSACTION,
        format!("START TRANSACTION clause cannot be used {what}"),
    )
}

/// Takes over one table option; character set and collation are resolved together by the caller.
///
/// # Errors
/// 1235, 1286, 3979.
pub fn option(
    table: &str,
    o: &mut TableOptions,
    written: &TableOption,
    substitute: bool,
    warnings: &mut Vec<Warning>,
) -> Result<(), SqlError> {
    match written {
        TableOption::Engine(e) => engine_name(table, e, substitute, warnings)?,
        TableOption::AutoIncrement(n) => o.auto_increment = (*n).max(1),
        TableOption::Charset(_) | TableOption::Collate(_) => {}
        TableOption::Comment(c) => o.comment = comment(Some(c), "table", table)?,
        TableOption::RowFormat(f) => {
            o.row_format = if f.eq_ignore_ascii_case("DEFAULT") {
                String::new()
            } else {
                f.to_uppercase()
            }
        }
        TableOption::KeyBlockSize(0) => o.others.retain(|(n, _)| n != "KEY_BLOCK_SIZE"),
        TableOption::KeyBlockSize(n) => put(o, "KEY_BLOCK_SIZE", &n.to_string()),
        TableOption::Union(_) => {
            return Err(SqlError::new(
                codes::ER_CHECK_NOT_IMPLEMENTED,
                "The storage engine for the table doesn't support UNION",
            ));
        }
        w if is_start_of_transaction(w) => {
            return Err(no_start_of_transaction("with ALTER TABLE statement."));
        }
        TableOption::Other(name, value) => {
            let value = String::from_utf8_lossy(value);
            refuse_place(name, &value, warnings)?;
            put(o, name, &value);
        }
    }
    Ok(())
}

/// Refuses options that would have rows somewhere else, or encrypted, than they would be.
///
/// # Errors
/// 3121, 3184, 3185, 3510.
fn refuse_place(name: &str, value: &str, warnings: &mut Vec<Warning>) -> Result<(), SqlError> {
    let (code, text) = match name {
        "ENCRYPTION" => match value {
            "" | "N" | "n" => return Ok(()),
            "Y" | "y" => (
                3185,
                "Can't find master key from keyring, please check in the server log if a keyring is loaded and initialized successfully.",
            ),
            _ => (3184, "Invalid encryption option."),
        },
        "DATA_DIRECTORY" => (
            3121,
            "The DATA DIRECTORY location must be in a known directory.",
        ),
        "TABLESPACE"
            if !value
                .trim_matches('`')
                .eq_ignore_ascii_case("innodb_file_per_table") =>
        {
            let text = format!("Tablespace {} doesn't exist.", value.trim_matches('`'));
            return Err(SqlError::new(codes::ER_TABLESPACE_MISSING_WITH_NAME, text));
        }
        "INDEX_DIRECTORY" => {
            let text = "<INDEX DIRECTORY> option ignored";
            warnings.push(Warning::new(
                Level::Warning,
                codes::WARN_OPTION_IGNORED,
                text.to_owned(),
            ));
            return Ok(());
        }
        _ => return Ok(()),
    };
    Err(SqlError::new(code, text))
}

fn put(o: &mut TableOptions, name: &str, value: &str) {
    o.others.retain(|(n, _)| n != name);
    o.others.push((name.to_owned(), value.to_owned()));
}
