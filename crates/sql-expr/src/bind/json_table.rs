//! JSON_TABLE as it is written: its paths are read, its columns get their types and their DEFAULT values.
//!
//! Knows no tables and never looks at the document.

use types::error::codes;
use types::{CollationId, DataType, Level as Severity, SqlError, Warning};

use super::{Binder, Clause, NoColumns};
use crate::column_type::{self, TypeCtx};
use crate::conv;
use crate::ctx::EvalCtx;
use crate::eval::eval_constant;
use crate::json::table::{Column, Instead, Level, Source, Table};
use crate::json::{in_utf8, read_path};
use crate::vars::SqlMode;
use sql_parser::ast::{self, JsonOn, JsonTableColumn, JsonTablePath};

/// Paths that may be nested, with the one of the rows.
const MAX_PATHS: usize = 16;

/// What makes the rows, and the columns as they are shown.
///
/// # Errors
/// 1060, 1067, 1166, 3141, 3143, 3156, 3669, 3670; those of types.
pub fn json_table(
    written: &ast::JsonTable,
    cx: &EvalCtx<'_>,
) -> Result<(Table, Vec<JsonTableColumn>), SqlError> {
    let mut shown = written.clone();
    let mut b = Builder {
        alias: &written.alias,
        paths: 0,
        columns: Vec::new(),
        cx,
    };
    let top = b.level(&written.path, &mut shown.columns)?;
    let table = Table {
        top,
        columns: b.columns,
        shown: shown.rows_text().into(),
    };
    Ok((table, shown.columns))
}

struct Builder<'b> {
    alias: &'b str,
    paths: usize,
    columns: Vec<Column>,
    cx: &'b EvalCtx<'b>,
}

impl Builder<'_> {
    fn level(&mut self, path: &[u8], columns: &mut [JsonTableColumn]) -> Result<Level, SqlError> {
        self.paths += 1;
        if self.paths > MAX_PATHS {
            return Err(SqlError::new(
                codes::ER_JT_MAX_NESTED_PATH,
                format!(
                    "More than supported {MAX_PATHS} NESTED PATHs were found in JSON_TABLE '{}'",
                    self.alias
                ),
            ));
        }
        let mut level = Level {
            path: read_path(&String::from_utf8_lossy(path))?,
            columns: Vec::new(),
            nested: Vec::new(),
        };
        for c in columns {
            let column = match c {
                JsonTableColumn::Nested { path, columns } => {
                    level.nested.push(self.level(path, columns)?);
                    continue;
                }
                JsonTableColumn::Ordinality(name) => Column {
                    name: name.clone(),
                    ty: DataType::UBIGINT,
                    source: Source::Ordinality,
                },
                JsonTableColumn::Path(p) => self.column(p)?,
            };
            if column.name.is_empty() || column.name.ends_with(' ') {
                return Err(SqlError::new(
                    codes::ER_WRONG_COLUMN_NAME,
                    format!("Incorrect column name '{}'", column.name),
                ));
            }
            if self.columns.iter().any(|c| c.name == column.name) {
                return Err(SqlError::dup_column(&column.name));
            }
            level.columns.push(self.columns.len());
            self.columns.push(column);
        }
        Ok(level)
    }

    fn column(&self, p: &mut JsonTablePath) -> Result<Column, SqlError> {
        let mut warnings = Vec::new();
        let mut ctx = TypeCtx {
            collation: self.cx.collation,
            strict: self.cx.sql_mode.has(SqlMode::STRICT_TRANS_TABLES),
            warnings: &mut warnings,
        };
        let ty = column_type::resolve(&p.name, &p.data_type, p.collation.as_deref(), &mut ctx)?;
        if p.reversed {
            warnings.push(Warning::new(
                Severity::Warning,
                codes::ER_WARN_DEPRECATED_SYNTAX,
                "Specifying an ON EMPTY clause after the ON ERROR clause in a JSON_TABLE column definition is deprecated syntax and will be removed in a future release. Specify ON EMPTY before ON ERROR instead.".to_owned(),
            ));
        }
        warnings.into_iter().for_each(|w| self.cx.warn(w));
        p.shown = Some(shown(&ty).into());
        let path = read_path(&String::from_utf8_lossy(&p.path))?;
        let mut column = Column {
            name: p.name.clone(),
            ty,
            source: Source::Ordinality,
        };
        column.source = match p.exists {
            true => Source::Exists(path),
            false => {
                let on_empty = self.instead(p.on_empty.as_ref(), &column)?;
                let on_error = self.instead(p.on_error.as_ref(), &column)?;
                Source::Path(path, on_empty, on_error)
            }
        };
        Ok(column)
    }

    fn instead(&self, says: Option<&JsonOn>, column: &Column) -> Result<Instead, SqlError> {
        Ok(match says {
            None | Some(JsonOn::Null) => Instead::Null,
            Some(JsonOn::Error) => Instead::Error,
            Some(JsonOn::Default(e)) => {
                let mut scope = NoColumns;
                let e = Binder::new(self.cx, &mut scope, Clause::Elsewhere).bind(e)?;
                let v = eval_constant(&e, self.cx)?;
                let text = conv::text_of(&v, &e.ty);
                Instead::Default(column.default(&in_utf8(&text, &e.ty), self.cx)?)
            }
        })
    }
}

/// A type as MySQL shows it here: with its character set, and with its collation where that is another than the set's own.
fn shown(ty: &DataType) -> String {
    let has_charset = matches!(
        ty,
        DataType::Char { .. }
            | DataType::VarChar { .. }
            | DataType::Text { .. }
            | DataType::Enum(_)
            | DataType::Set(_)
    );
    if !has_charset {
        return ty.to_string();
    }
    let collation = ty.collation();
    let charset = collation.charset();
    let mut text = format!("{ty} character set {}", charset.name());
    if collation != CollationId::default_of(charset) {
        text.push_str(" collate ");
        text.push_str(collation.name());
    }
    text
}
