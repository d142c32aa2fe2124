//! ROW_FORMAT, KEY_BLOCK_SIZE and COMPRESSION of a table: which go together, and what MySQL says where they do not
//! (`create_table_info_t::create_options_are_invalid` of its InnoDB).
//!
//! A definition keeps what was written. What follows from it, the bytes that a part of a key may have, is wanted for here.

use engine::TableOptions;
use types::error::codes;
use types::{Level, SqlError, Warning};

use crate::describe::row_format::{UNNAMED, actual, is_block, key_block_size};
use sql_expr::vars::SessionVars;

/// Most bytes of an index key, of one part as well as of all together.
pub const MAX_KEY_BYTES: u64 = 3072;
/// Bytes of a column that an index may have in the formats that keep a part of each long column in the row.
const SHORT_PART_BYTES: u64 = 767;
/// ER_UNSUPPORTED_EXTENSION, under which InnoDB warns of COMPRESSION.
const UNSUPPORTED_EXTENSION: u16 = 1112;
/// ER_UNSUPPORT_COMPRESSED_TEMPORARY_TABLE.
const UNSUPPORT_COMPRESSED_TEMPORARY_TABLE: u16 = 3500;

/// Which statement checks the options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FormatUse {
    /// CREATE TABLE.
    Create,
    /// ALTER TABLE.
    Alter,
}

fn compression(o: &TableOptions) -> Option<&str> {
    let given = o.others.iter().find(|(n, _)| n == "COMPRESSION");
    given.map(|(_, v)| v.as_str()).filter(|v| !v.is_empty())
}

/// Fills in what a definition leaves to the session, where rows are about to be written for it: the format that is the default now, and for a
/// table that is to be compressed, and does not say in which blocks, those of `innodb_default_key_block_size`.
pub(super) fn complete(o: &mut TableOptions, vars: &SessionVars) {
    o.others.retain(|(n, _)| n != UNNAMED);
    let usual = vars.value_by_name("innodb_default_row_format");
    let usual = match usual.map(|v| v.as_u64()) {
        Some(0) => Some("REDUNDANT"),
        Some(1) => Some("COMPACT"),
        _ => None,
    };
    let unnamed = o.row_format.is_empty() && key_block_size(o).is_none();
    if let Some(usual) = usual.filter(|_| unnamed) {
        o.others.push((UNNAMED.to_owned(), usual.to_owned()));
    }
    let default = vars.value_by_name("innodb_default_key_block_size");
    let size = default.map_or(0, |v| v.as_u64());
    if size == 0 || o.row_format != "COMPRESSED" || key_block_size(o).is_some() {
        return;
    }
    // A size in between is the next smaller one there is.
    let size = 1u64 << size.ilog2();
    o.others
        .push(("KEY_BLOCK_SIZE".to_owned(), size.to_string()));
}

/// Checks that the options go together: an error under innodb_strict_mode, warnings about what is ignored without it.
///
/// # Errors
/// 1031, and 1478 for ALTER TABLE.
pub(super) fn check(
    table: &str,
    o: &TableOptions,
    wanted: FormatUse,
    vars: &SessionVars,
    warnings: &mut Vec<Warning>,
) -> Result<(), SqlError> {
    let strict = is_strict(vars);
    let mut wrong: Option<&str> = None;
    let mut say = |option: &'static str, code: u16, text: &str| {
        let text = format!("InnoDB: {text}");
        warnings.push(Warning::new(Level::Warning, code, text));
        wrong = wrong.or(Some(option));
    };
    const OPTION: u16 = codes::ER_ILLEGAL_HA_CREATE_OPTION;
    let format = o.row_format.as_str();
    let other = matches!(format, "DYNAMIC" | "COMPACT" | "REDUNDANT");
    let unknown = !other && !matches!(format, "" | "COMPRESSED");
    if let Some(size) = key_block_size(o) {
        let valid = is_block(Some(size));
        let text = match strict {
            true => format!("invalid KEY_BLOCK_SIZE = {size}. Valid values are [1, 2, 4, 8, 16]"),
            false => format!("ignoring KEY_BLOCK_SIZE={size}."),
        };
        if !valid {
            say("KEY_BLOCK_SIZE", OPTION, &text);
        }
        if strict && other {
            let text = format!("cannot specify ROW_FORMAT = {format} with KEY_BLOCK_SIZE.");
            say("KEY_BLOCK_SIZE", OPTION, &text);
        } else if !strict && valid && (other || unknown) {
            let text = format!("ignoring KEY_BLOCK_SIZE={size} unless ROW_FORMAT=COMPRESSED.");
            say("KEY_BLOCK_SIZE", OPTION, &text);
        }
    }
    if unknown {
        let text = match strict {
            true => "invalid ROW_FORMAT specifier.",
            false => "assuming ROW_FORMAT=DYNAMIC.",
        };
        say("ROW_TYPE", OPTION, text);
    }
    if let Some(algorithm) = compression(o) {
        let known = ["zlib", "lz4", "zstd", "none"];
        if !known.iter().any(|k| k.eq_ignore_ascii_case(algorithm)) {
            let text = format!("Unsupported compression algorithm '{algorithm}'");
            say("COMPRESSION", UNSUPPORTED_EXTENSION, &text);
        } else if format == "COMPRESSED" || key_block_size(o).is_some() {
            let text = "Page Compression is not supported with row_format=compressed or key_block_size > 0";
            say("COMPRESSION", UNSUPPORTED_EXTENSION, text);
        }
    }
    match (wrong, wanted) {
        (Some(_), FormatUse::Create) if strict => Err(SqlError::new(
            codes::ER_ILLEGAL_HA,
            format!("Table storage engine for '{table}' doesn't have this option"),
        )),
        (Some(option), FormatUse::Alter) if strict => Err(SqlError::new(
            codes::ER_ILLEGAL_HA_CREATE_OPTION,
            format!("Table storage engine 'InnoDB' does not support the create option '{option}'"),
        )),
        _ => Ok(()),
    }
}

/// Checks the options of a temporary table, whose pages are not compressed: an error under innodb_strict_mode, a warning and plain pages without it.
///
/// # Errors
/// 3500; 1031 for COMPRESSION.
pub(super) fn check_temporary(
    table: &str,
    o: &TableOptions,
    vars: &SessionVars,
    warnings: &mut Vec<Warning>,
) -> Result<(), SqlError> {
    let blocks = o.row_format == "COMPRESSED" || key_block_size(o).is_some();
    let pages = compression(o).is_some_and(|a| !a.eq_ignore_ascii_case("none"));
    let e = match (blocks, pages) {
        (true, _) => SqlError::new(
            UNSUPPORT_COMPRESSED_TEMPORARY_TABLE,
            "CREATE TEMPORARY TABLE is not allowed with ROW_FORMAT=COMPRESSED or KEY_BLOCK_SIZE.",
        ),
        (false, true) => SqlError::new(
            codes::ER_ILLEGAL_HA,
            format!("Table storage engine for '{table}' doesn't have this option"),
        ),
        (false, false) => return Ok(()),
    };
    if is_strict(vars) {
        return Err(e);
    }
    let text = e.message.to_string();
    warnings.push(Warning::new(Level::Warning, e.code, text));
    Ok(())
}

/// Bytes that a part of a key may have.
pub(super) fn longest_part(o: &TableOptions) -> u64 {
    match actual(o) {
        "COMPACT" | "REDUNDANT" => SHORT_PART_BYTES,
        _ => MAX_KEY_BYTES,
    }
}

/// Bytes of a long column that the format keeps in the row, besides where the rest is.
pub(super) fn prefix_of_long(o: &TableOptions) -> u64 {
    match actual(o) {
        "COMPACT" | "REDUNDANT" => SHORT_PART_BYTES + 1,
        _ => 0,
    }
}

/// innodb_strict_mode.
pub(super) fn is_strict(vars: &SessionVars) -> bool {
    let switch = vars.value_by_name("innodb_strict_mode");
    switch.is_none_or(|v| v.as_u64() != 0)
}
