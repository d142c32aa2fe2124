//! JSON_TABLE: the rows that a document has by paths (the manual, "JSON Table Functions").
//!
//! The document stays a text: rows are found in it one at a time, and nothing is made of what no column asks for.

use std::borrow::Cow;

use types::convert::{ConvertMode, Target, Today, assign};
use types::error::codes;
use types::{CollationId, DataType, SqlError, Value, ValueRef, Warning};

use super::coerce::{coerced, invalid_for};
use super::places::{Places, Text};
use super::{Json, Path, parse, parse_document, weight};
use crate::ctx::EvalCtx;
use crate::ty::{ExprType, Shape};
use crate::val::Val;
use crate::vars::SqlMode;

/// The function of messages.
const NAME: &str = "json_table";

/// What a call of JSON_TABLE makes of a document.
#[derive(Debug)]
pub struct Table {
    /// The row path and its columns.
    pub(crate) top: Level,
    /// The columns in their order, and those of nested paths where these stand.
    pub columns: Vec<Column>,
    /// The path and the columns, as EXPLAIN shows them.
    pub shown: Box<str>,
}

/// A path with its columns.
#[derive(Debug)]
pub(crate) struct Level {
    pub(crate) path: Path,
    /// The numbers of its columns.
    pub(crate) columns: Vec<usize>,
    /// Those in it, each by itself.
    pub(crate) nested: Vec<Level>,
}

/// A column.
#[derive(Debug)]
pub struct Column {
    /// Its name.
    pub name: Box<str>,
    /// Its type.
    pub ty: DataType,
    pub(crate) source: Source,
}

/// Where the values of a column come from.
#[derive(Debug)]
pub(crate) enum Source {
    /// FOR ORDINALITY.
    Ordinality,
    /// EXISTS PATH.
    Exists(Path),
    /// PATH, with what is there ON EMPTY and ON ERROR.
    Path(Path, Instead, Instead),
}

/// What is there instead.
#[derive(Debug)]
pub(crate) enum Instead {
    /// NULL.
    Null,
    /// Nothing: an error.
    Error,
    /// DEFAULT.
    Default(Value),
}

/// A document that rows are made of.
pub struct Document<'v> {
    text: Cow<'v, str>,
    ordered: bool,
}

impl<'v> Document<'v> {
    /// Of the value of an expression; `None` for NULL.
    ///
    /// # Errors
    /// 3141 where it is none, 3144 and 3146 where it is no text.
    pub fn of(
        v: &'v Val<'_>,
        ty: &ExprType,
        cx: &EvalCtx<'_>,
    ) -> Result<Option<Document<'v>>, SqlError> {
        let Some(text) = super::text_of(v, ty, 0, NAME)? else {
            return Ok(None);
        };
        cx.tick(text.len())?;
        let ordered = ty.shape == Shape::Json;
        super::read::check(&text, ordered).map_err(|e| super::invalid(&e, 1, NAME))?;
        Ok(Some(Document { text, ordered }))
    }
}

/// A level that is being gone through.
struct Open<'t> {
    level: &'t Level,
    places: Places<'t, 't>,
    /// Where it stands, and for the how many'th time.
    at: Option<usize>,
    ordinal: u64,
    /// The next level in it.
    child: usize,
    /// There was a row for the place.
    told: bool,
}

/// The rows of a document.
pub struct Rows<'t> {
    table: &'t Table,
    doc: Text<'t>,
    open: Vec<Open<'t>>,
    row: Vec<Value>,
}

impl<'t> Rows<'t> {
    /// Before the first row.
    pub fn new(table: &'t Table, doc: &'t Document<'_>) -> Rows<'t> {
        let doc = Text::new(&doc.text, doc.ordered);
        Rows {
            table,
            doc,
            open: vec![Open::new(&table.top, doc, doc.root())],
            row: vec![Value::Null; table.columns.len()],
        }
    }

    /// The values of the row, in the order of the columns.
    pub fn row(&self) -> &[Value] {
        &self.row
    }

    /// Moves to the next row; `false` where there is none.
    ///
    /// # Errors
    /// What ERROR ON EMPTY and ERROR ON ERROR say; the statement is to end.
    pub fn next(&mut self, cx: &EvalCtx<'_>) -> Result<bool, SqlError> {
        while let Some(top) = self.open.last_mut() {
            let Some(at) = top.at else {
                match top.places.next(cx.pace())? {
                    Some(at) => {
                        top.at = Some(at);
                        top.ordinal += 1;
                        (top.child, top.told) = (0, false);
                        let (level, ordinal) = (top.level, top.ordinal);
                        for &c in &level.columns {
                            self.row[c] = self.table.columns[c].value(self.doc, at, ordinal, cx)?;
                        }
                    }
                    None => {
                        for &c in &top.level.columns {
                            self.row[c] = Value::Null;
                        }
                        self.open.pop();
                    }
                }
                continue;
            };
            if let Some(child) = top.level.nested.get(top.child) {
                top.child += 1;
                self.open.push(Open::new(child, self.doc, at));
                continue;
            }
            top.at = None;
            if !top.told {
                self.open.iter_mut().for_each(|o| o.told = true);
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl<'t> Open<'t> {
    fn new(level: &'t Level, doc: Text<'t>, at: usize) -> Open<'t> {
        Open {
            level,
            places: Places::new(doc, at, &level.path.steps),
            at: None,
            ordinal: 0,
            child: 0,
            told: false,
        }
    }
}

/// Why a value is none of a column: what ERROR ON ERROR says.
type Failure = Box<dyn Fn(&Column) -> SqlError>;

impl Column {
    fn error(&self, code: u16, text: &str) -> SqlError {
        SqlError::new(code, text.replace("%s", &self.name))
    }

    fn value(
        &self,
        doc: Text<'_>,
        at: usize,
        ordinal: u64,
        cx: &EvalCtx<'_>,
    ) -> Result<Value, SqlError> {
        let (path, on_empty, on_error) = match &self.source {
            Source::Ordinality => return Ok(Value::UInt(ordinal)),
            Source::Exists(path) => {
                let found = Places::new(doc, at, &path.steps).next(cx.pace())?;
                let truth = ValueRef::Int(found.is_some().into());
                let stored = self.assigned(truth, false, cx);
                return Ok(stored.unwrap_or(Value::Null));
            }
            Source::Path(path, on_empty, on_error) => (path, on_empty, on_error),
        };
        let mut places = Places::new(doc, at, &path.steps);
        let Some(first) = places.next(cx.pace())? else {
            return match on_empty {
                Instead::Null => Ok(Value::Null),
                Instead::Default(v) => Ok(v.clone()),
                Instead::Error => Err(self.error(
                    codes::ER_MISSING_JSON_TABLE_VALUE,
                    "Missing value for JSON_TABLE column '%s'",
                )),
            };
        };
        let fails = matches!(on_error, Instead::Error);
        let found = match places.next(cx.pace())? {
            None => self.of_text(doc.value(first), doc.is_ordered(), fails, cx)?,
            Some(second) if self.ty == DataType::Json => {
                return self.array(doc, first, second, places, cx);
            }
            Some(_) => Err(no_scalar()),
        };
        match (found, on_error) {
            (Ok(v), _) => Ok(v),
            (Err(_), Instead::Null) => Ok(Value::Null),
            (Err(_), Instead::Default(v)) => Ok(v.clone()),
            (Err(why), Instead::Error) => Err(why(self)),
        }
    }

    /// Several places as one document.
    fn array(
        &self,
        doc: Text<'_>,
        first: usize,
        second: usize,
        mut places: Places<'_, '_>,
        cx: &EvalCtx<'_>,
    ) -> Result<Value, SqlError> {
        let mut text = doc.value(first).to_owned();
        let mut next = Some(second);
        while let Some(at) = next {
            let more = doc.value(at);
            cx.hold(more.len())?;
            text.push_str(", ");
            text.push_str(more);
            next = places.next(cx.pace())?;
        }
        let text = format!("[{text}]");
        let made = self.document(&text, doc.is_ordered(), cx)?;
        Ok(Value::Str(made, CollationId::UTF8MB4_BIN))
    }

    fn document(&self, text: &str, ordered: bool, cx: &EvalCtx<'_>) -> Result<Vec<u8>, SqlError> {
        if ordered {
            cx.hold(text.len())?;
            return Ok(text.as_bytes().to_vec());
        }
        cx.hold(weight(text.as_bytes()))?;
        let mut out = Vec::with_capacity(text.len());
        parse(text)
            .map_err(|e| super::invalid(&e, 1, NAME))?
            .write(&mut out)?;
        Ok(out)
    }

    /// What a document's text is in the column; the inner error says why it is nothing. `fails`: that is an error, and what is lost beside is noted.
    ///
    /// # Errors
    /// The session may hold no more.
    pub(crate) fn of_text(
        &self,
        text: &str,
        ordered: bool,
        fails: bool,
        cx: &EvalCtx<'_>,
    ) -> Result<Result<Value, Failure>, SqlError> {
        if text == "null" {
            return Ok(Ok(Value::Null));
        }
        if self.ty == DataType::Json {
            let made = self.document(text, ordered, cx)?;
            return Ok(Ok(Value::Str(made, CollationId::UTF8MB4_BIN)));
        }
        if text.starts_with(['[', '{']) {
            return Ok(Err(no_scalar()));
        }
        cx.hold(text.len())?;
        let scalar = match ordered {
            true => parse_document(text),
            false => parse(text),
        };
        let scalar = scalar.map_err(|e| super::invalid(&e, 1, NAME))?;
        let made = match coerced(&scalar, &self.ty) {
            Ok(v) => v,
            Err(kind) => {
                let of_cast = move |c: &Column| invalid_for(kind, &c.name);
                return Ok(Err(Box::new(of_cast)));
            }
        };
        let out_of_range = |c: &Column| {
            c.error(
                codes::ER_JT_VALUE_OUT_OF_RANGE,
                "Value is out of range for JSON_TABLE's column '%s'",
            )
        };
        let stored = self.assigned(made.as_ref(), fails, cx);
        Ok(stored.ok_or_else(|| Box::new(out_of_range) as Failure))
    }

    /// The value as the column keeps it; `None` where it does not fit. With `notes`, what is lost beside is told.
    fn assigned(&self, v: ValueRef<'_>, notes: bool, cx: &EvalCtx<'_>) -> Option<Value> {
        let mode = ConvertMode {
            strict: true,
            no_zero_date: cx.sql_mode.has(SqlMode::NO_ZERO_DATE),
            no_zero_in_date: cx.sql_mode.has(SqlMode::NO_ZERO_IN_DATE),
            invalid_dates: cx.sql_mode.has(SqlMode::ALLOW_INVALID_DATES),
            cut_fractions: cx.sql_mode.has(SqlMode::TIME_TRUNCATE_FRACTIONAL),
            zone: cx.zone,
            today: Today::At(cx.now_micros),
        };
        // A TIMESTAMP of a table that is made is in the session's zone.
        let local;
        let ty = match &self.ty {
            DataType::Timestamp(f) => {
                local = DataType::DateTime(*f);
                &local
            }
            ty => ty,
        };
        let target = Target {
            ty,
            nullable: true,
            column: &self.name,
            row: 1,
        };
        let mut warnings: Vec<Warning> = Vec::new();
        let made = assign(v, &target, &mode, &mut warnings);
        if notes {
            warnings.into_iter().for_each(|w| cx.warn(w));
        }
        let mut made = made.ok().map(types::convert::Converted::into_value);
        // As it comes back from a column that is stored.
        if let (DataType::Binary(n), Some(Value::Bytes(b))) = (&self.ty, &mut made) {
            b.resize(*n as usize, 0);
        }
        made
    }

    /// The value of a DEFAULT, which is the text of a document.
    ///
    /// # Errors
    /// 1067: it is none, or none that the column can hold; 3156, 3669: it does not fit.
    pub(crate) fn default(&self, text: &str, cx: &EvalCtx<'_>) -> Result<Value, SqlError> {
        let invalid = || SqlError::invalid_default(&self.name);
        let doc = parse(text).map_err(|_| invalid())?;
        let is_list = matches!(doc, Json::Array(_) | Json::Object(_));
        if is_list && self.ty != DataType::Json {
            return Err(invalid());
        }
        let mut text = Vec::new();
        doc.write(&mut text)?;
        let text = String::from_utf8_lossy(&text);
        if self.ty == DataType::Json {
            // Here null is a document.
            return Ok(Value::Str(
                text.into_owned().into_bytes(),
                CollationId::UTF8MB4_BIN,
            ));
        }
        self.of_text(&text, true, true, cx)?
            .map_err(|why| why(self))
    }
}

fn no_scalar() -> Failure {
    Box::new(|c: &Column| {
        c.error(
            codes::ER_WRONG_JSON_TABLE_VALUE,
            "Can't store an array or an object in the scalar JSON_TABLE column '%s'",
        )
    })
}
