//! Definitions as text that makes the same thing again, in MySQL 8.0's form.

use engine::{CheckDef, ColumnDef, ColumnDefault, IndexDef, IndexKind, TableDef, TableOptions};
use types::datatype::{write_hex, write_literal};
use types::{Charset, CollationId, DataType, Value};

use super::keys;
use crate::context::Session;
use sql_expr::vars::SqlMode;
use types::temporal::Zone;

/// A name in backticks.
pub fn quote(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// How names are quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quoting {
    /// `"` rather than a backtick.
    pub ansi: bool,
    /// Names that need no quotes get none (`sql_quote_show_create` off).
    pub bare: bool,
}

impl Quoting {
    /// As the session asks for it.
    pub fn of(s: &Session) -> Quoting {
        Quoting {
            ansi: s.vars.hot().sql_mode.has(SqlMode::ANSI_QUOTES),
            bare: !s.vars.hot().quote_show_create,
        }
    }

    /// A name as the text has it.
    pub fn name(self, n: &str) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
        let starts = n.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if self.bare && starts && n.chars().all(plain) {
            return n.to_owned();
        }
        if self.ansi {
            format!("\"{}\"", n.replace('"', "\"\""))
        } else {
            quote(n)
        }
    }
}

/// Text as a string literal.
fn literal(t: &str) -> String {
    let mut out = String::with_capacity(t.len() + 2);
    // Writing into memory does not fail.
    let _ = write_literal(&mut out, t);
    out
}

/// Bytes as a hexadecimal literal.
fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(2 * bytes.len() + 2);
    let _ = write_hex(&mut out, bytes);
    out
}

/// The precision of CURRENT_TIMESTAMP as it is shown.
pub(crate) fn now_text(ty: &DataType) -> String {
    match ty.fsp() {
        0 => "CURRENT_TIMESTAMP".to_owned(),
        n => format!("CURRENT_TIMESTAMP({n})"),
    }
}

/// A column's default as SHOW COLUMNS prints it; `zone` is the session's.
pub fn default_text(c: &ColumnDef, zone: Zone) -> Option<String> {
    match &c.default {
        ColumnDefault::None | ColumnDefault::Null => None,
        ColumnDefault::Now => Some(now_text(&c.ty)),
        ColumnDefault::Expr(e) => Some(e.clone()),
        ColumnDefault::Literal(v) => Some(match &c.ty {
            // MySQL prints these in digits, whatever they are.
            DataType::Binary(_) | DataType::VarBinary(_) => {
                let bytes = value_bytes(&c.ty, v, zone);
                if bytes.is_empty() {
                    String::new()
                } else {
                    hex(&bytes)
                }
            }
            ty => {
                let (bytes, text) = value_text(ty, v, zone);
                text.unwrap_or_else(|| String::from_utf8_lossy(&bytes).into_owned())
            }
        }),
    }
}

/// A default as bytes of the column's character set.
fn value_bytes(ty: &DataType, v: &Value, zone: Zone) -> Vec<u8> {
    if let Value::Bit(bits, _) = v {
        return format!("b'{bits:b}'").into();
    }
    let mut out = Vec::new();
    match (ty, v) {
        (DataType::Timestamp(_), Value::DateTime(d)) if !d.is_zero() => {
            zone.to_local(*d).unwrap_or(*d).write_text(&mut out);
        }
        _ => types::convert::write_text(v.as_ref(), ty, &mut out),
    }
    if let DataType::Binary(len) = ty {
        // As it is stored.
        out.resize(*len as usize, 0);
    }
    out
}

/// A default as bytes of the column's character set, and as text where it is one.
fn value_text(ty: &DataType, v: &Value, zone: Zone) -> (Vec<u8>, Option<String>) {
    let bytes = value_bytes(ty, v, zone);
    let mut text = Vec::new();
    let from = ty.collation().charset();
    if ty.is_character() && !from.is_utf8() {
        types::charset::convert(from, Charset::Utf8mb4, &bytes, &mut text);
    } else {
        text.clone_from(&bytes);
    }
    (bytes, String::from_utf8(text).ok())
}

/// A default as DEFAULT has it in SHOW CREATE TABLE. What utf8mb3 has no characters for is printed in digits, as MySQL 8.0 does:
/// text in it would not be what was stored when the statement is run again.
fn default_literal(ty: &DataType, v: &Value, zone: Zone) -> String {
    match value_text(ty, v, zone) {
        (_, Some(text)) if matches!(v, Value::Bit(..)) => text,
        (_, Some(text)) if Charset::Utf8mb3.first_invalid(text.as_bytes()).is_none() => {
            literal(&text)
        }
        (bytes, _) => hex(&bytes),
    }
}

fn column_text(c: &ColumnDef, table: CollationId, q: Quoting, zone: Zone) -> String {
    let mut t = format!("  {} {}", q.name(&c.name), c.ty);
    if c.ty.is_character() && !matches!(c.ty, DataType::Json) {
        let co = c.ty.collation();
        let primary = CollationId::default_of(co.charset()) == co;
        if co != table {
            t.push_str(&format!(" CHARACTER SET {}", co.charset().name()));
        }
        if !primary || (co == CollationId::UTF8MB4_0900_AI_CI && co != table) {
            t.push_str(&format!(" COLLATE {}", co.name()));
        }
    }
    if let Some(g) = &c.generated {
        let kind = if g.stored { "STORED" } else { "VIRTUAL" };
        t.push_str(&format!(" GENERATED ALWAYS AS ({}) {kind}", g.expr));
    }
    if !c.nullable {
        t.push_str(" NOT NULL");
    } else if matches!(c.ty, DataType::Timestamp(_)) {
        t.push_str(" NULL");
    }
    match &c.default {
        ColumnDefault::Null if !c.ty.is_lob() || c.ty == DataType::Json => {
            t.push_str(" DEFAULT NULL");
        }
        ColumnDefault::None | ColumnDefault::Null => {}
        ColumnDefault::Now => t.push_str(&format!(" DEFAULT {}", now_text(&c.ty))),
        ColumnDefault::Expr(e) => t.push_str(&format!(" DEFAULT ({e})")),
        ColumnDefault::Literal(v) => {
            t.push_str(&format!(" DEFAULT {}", default_literal(&c.ty, v, zone)));
        }
    }
    if c.on_update_now {
        t.push_str(&format!(" ON UPDATE {}", now_text(&c.ty)));
    }
    if c.auto_increment {
        t.push_str(" AUTO_INCREMENT");
    }
    if c.invisible {
        t.push_str(" /*!80023 INVISIBLE */");
    }
    if !c.comment.is_empty() {
        t.push_str(&format!(" COMMENT {}", literal(&c.comment)));
    }
    t
}

fn index_text(i: &IndexDef, def: &TableDef, q: Quoting) -> String {
    let mut t = match i.kind {
        IndexKind::Primary => "  PRIMARY KEY (".to_owned(),
        IndexKind::Unique => format!("  UNIQUE KEY {} (", q.name(&i.name)),
        _ => format!("  KEY {} (", q.name(&i.name)),
    };
    for (n, p) in i.parts.iter().enumerate() {
        if n > 0 {
            t.push(',');
        }
        let column = def.columns.get(usize::from(p.column));
        match column.and_then(|c| c.key_expression()) {
            Some(e) => t.push_str(&format!("({e})")),
            None => t.push_str(&q.name(column.map_or("", |c| &c.name))),
        }
        if p.prefix > 0 {
            t.push_str(&format!("({})", p.prefix));
        }
        if p.descending {
            t.push_str(" DESC");
        }
    }
    t.push(')');
    if i.asked.btree {
        t.push_str(" USING BTREE");
    }
    let size = i.asked.key_block_size.to_string();
    if i.asked.key_block_size > 0 && option(&def.options, "KEY_BLOCK_SIZE") != Some(&size) {
        t.push_str(&format!(" KEY_BLOCK_SIZE={size}"));
    }
    if !i.comment.is_empty() {
        t.push_str(&format!(" COMMENT {}", literal(&i.comment)));
    }
    if i.invisible {
        t.push_str(" /*!80000 INVISIBLE */");
    }
    t
}

fn check_text(c: &CheckDef, q: Quoting) -> String {
    let enforced = match c.enforced {
        true => "",
        false => " /*!80016 NOT ENFORCED */",
    };
    let name = q.name(&c.name);
    format!("  CONSTRAINT {name} CHECK ({}){enforced}", c.clause)
}

/// Options that are shown as they were given, in MySQL's order, and whether their values are quoted.
const OPTIONS: &[(&str, bool)] = &[
    ("MIN_ROWS", false),
    ("MAX_ROWS", false),
    ("AVG_ROW_LENGTH", false),
    ("PACK_KEYS", false),
    ("STATS_PERSISTENT", false),
    ("STATS_AUTO_RECALC", false),
    ("STATS_SAMPLE_PAGES", false),
    ("CHECKSUM", false),
    ("DELAY_KEY_WRITE", false),
    ("ROW_FORMAT", false),
    ("KEY_BLOCK_SIZE", false),
    ("COMPRESSION", true),
];

fn option<'o>(o: &'o TableOptions, name: &str) -> Option<&'o str> {
    if name == "ROW_FORMAT" {
        return Some(o.row_format.as_str()).filter(|f| !f.is_empty());
    }
    let value = o.others.iter().find(|(n, _)| n == name)?;
    Some(value.1.as_str()).filter(|v| !v.eq_ignore_ascii_case("DEFAULT") && !v.is_empty())
}

/// `CREATE TABLE` of a definition; `auto_increment` is the next value, shown where it is above 1.
pub fn create_table_text(def: &TableDef, auto_increment: u64, q: Quoting, zone: Zone) -> String {
    let mut lines: Vec<String> = def
        .columns
        .iter()
        .filter(|c| !c.is_hidden())
        .map(|c| column_text(c, def.options.collation, q, zone))
        .collect();
    for i in keys::shown(&def.columns, &def.indexes) {
        lines.push(index_text(i, def, q));
    }
    let mut references: Vec<_> = def.foreign_keys.iter().collect();
    references.sort_by(|a, b| a.name.cmp(&b.name));
    for k in references {
        lines.push(format!("  {}", k.text(def, |n| q.name(n))));
    }
    lines.extend(def.checks.iter().map(|c| check_text(c, q)));
    let mut t = format!(
        "CREATE {}TABLE {} (\n{}\n) ENGINE=InnoDB",
        if def.is_temporary() { "TEMPORARY " } else { "" },
        q.name(&def.name),
        lines.join(",\n")
    );
    if auto_increment > 1 {
        t.push_str(&format!(" AUTO_INCREMENT={auto_increment}"));
    }
    let co = def.options.collation;
    t.push_str(&format!(" DEFAULT CHARSET={}", co.charset().name()));
    let primary = CollationId::default_of(co.charset()) == co;
    if !primary || co == CollationId::UTF8MB4_0900_AI_CI {
        t.push_str(&format!(" COLLATE={}", co.name()));
    }
    for (name, quoted) in OPTIONS {
        if let Some(v) = option(&def.options, name) {
            let v = if *quoted { literal(v) } else { v.to_owned() };
            t.push_str(&format!(" {name}={v}"));
        }
    }
    if !def.options.comment.is_empty() {
        t.push_str(&format!(" COMMENT={}", literal(&def.options.comment)));
    }
    t
}
