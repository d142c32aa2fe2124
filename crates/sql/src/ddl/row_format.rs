//! ROW_FORMAT, KEY_BLOCK_SIZE and COMPRESSION of a table: which go together, and what MySQL says where they do not
//! (`create_table_info_t::create_options_are_invalid` of its InnoDB).
//!
//! A definition keeps what was written. What follows from it, the bytes that a part of a key may have, is asked for here.

use engine::TableOptions;
use types::error::codes;
use types::{Level, SqlError, Warning};

use super::keys::MAX_KEY_BYTES;
use crate::vars::SessionVars;

/// Bytes of a column that an index may have in the formats that keep a part of each long column in the row.
const SHORT_PART_BYTES: u64 = 767;

/// What a statement wants with the options it checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// CREATE TABLE.
    Create,
    /// ALTER TABLE.
    Alter,
}

fn key_block_size(o: &TableOptions) -> Option<&str> {
    let given = o.others.iter().find(|(n, _)| n == "KEY_BLOCK_SIZE");
    given.map(|(_, v)| v.as_str())
}

fn compression(o: &TableOptions) -> Option<&str> {
    let given = o.others.iter().find(|(n, _)| n == "COMPRESSION");
    given.map(|(_, v)| v.as_str()).filter(|v| !v.is_empty())
}

/// Gives a table that is to be compressed, and does not say in which blocks, those of `innodb_default_key_block_size`.
pub(super) fn complete(o: &mut TableOptions, vars: &SessionVars) {
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
    asked: Asked,
    vars: &SessionVars,
    warnings: &mut Vec<Warning>,
) -> Result<(), SqlError> {
    let switch = vars.value_by_name("innodb_strict_mode");
    let strict = switch.is_none_or(|v| v.as_u64() != 0);
    let mut wrong: Option<&str> = None;
    let mut say = |option: &'static str, why: String, ignored: String| {
        let text = if strict { why } else { ignored };
        let text = format!("InnoDB: {text}");
        warnings.push(Warning::new(
            Level::Warning,
            codes::ER_ILLEGAL_HA_CREATE_OPTION,
            text,
        ));
        wrong = wrong.or(Some(option));
    };
    let format = o.row_format.as_str();
    if let Some(size) = key_block_size(o) {
        if !matches!(size, "1" | "2" | "4" | "8" | "16") {
            say(
                "KEY_BLOCK_SIZE",
                format!("invalid KEY_BLOCK_SIZE = {size}. Valid values are [1, 2, 4, 8, 16]"),
                format!("ignoring KEY_BLOCK_SIZE={size}."),
            );
        } else if matches!(format, "DYNAMIC" | "COMPACT" | "REDUNDANT") {
            say(
                "KEY_BLOCK_SIZE",
                format!("cannot specify ROW_FORMAT = {format} with KEY_BLOCK_SIZE."),
                format!("ignoring KEY_BLOCK_SIZE={size} unless ROW_FORMAT=COMPRESSED."),
            );
        }
    }
    if !matches!(
        format,
        "" | "DYNAMIC" | "COMPACT" | "REDUNDANT" | "COMPRESSED"
    ) {
        say(
            "ROW_TYPE",
            "invalid ROW_FORMAT specifier.".to_owned(),
            "assuming ROW_FORMAT=DYNAMIC.".to_owned(),
        );
    }
    if let Some(algorithm) = compression(o) {
        let known = ["zlib", "lz4", "zstd", "none"];
        if !known.iter().any(|k| k.eq_ignore_ascii_case(algorithm)) {
            let text = format!("Unsupported compression algorithm '{algorithm}'");
            say("COMPRESSION", text.clone(), text);
        } else if format == "COMPRESSED" || key_block_size(o).is_some() {
            let text = "Attribute not supported with row format compressed or key block size set";
            say("COMPRESSION", text.to_owned(), text.to_owned());
        }
    }
    match (wrong, asked) {
        (Some(_), Asked::Create) if strict => Err(SqlError::new(
            codes::ER_ILLEGAL_HA,
            format!("Table storage engine for '{table}' doesn't have this option"),
        )),
        (Some(option), Asked::Alter) if strict => Err(SqlError::new(
            codes::ER_ILLEGAL_HA_CREATE_OPTION,
            format!("Table storage engine 'InnoDB' does not support the create option '{option}'"),
        )),
        _ => Ok(()),
    }
}

/// Bytes that a part of a key may have.
pub(super) fn longest_part(o: &TableOptions, vars: &SessionVars) -> u64 {
    let usual = vars.text("innodb_default_row_format").to_uppercase();
    let format = match o.row_format.as_str() {
        "" if key_block_size(o).is_some() => "COMPRESSED",
        "" => usual.as_str(),
        f => f,
    };
    match format {
        "COMPACT" | "REDUNDANT" => SHORT_PART_BYTES,
        _ => MAX_KEY_BYTES,
    }
}
