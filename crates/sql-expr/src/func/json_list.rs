//! Lists of scalars of documents, as a multi-valued key part keeps them: `CAST(.. AS .. ARRAY)` makes one; and what is looked for in one. No
//! statement can call these: definitions and plans put them together.
//!
//! What is equal in documents has one key, however it is written; so a value that has no key is in no list.

use types::convert::{ConvertMode, Target, Today, assign};
use types::datatype::LobSize;
use types::error::codes;
use types::keyenc::KeyPart;
use types::multi::{Elements, ListBuilder};
use types::temporal::Zone;
use types::{CollationId, DataType, Decimal, SqlError, Value};

use super::def;
use super::json::document;
use crate::EvalCtx;
use crate::conv;
use crate::json::{Json, parse_document, scalar};
use crate::keys::as_column_value;
use crate::node::{Args, Call, Expr, FuncDef, InferCx, Node};
use crate::ty::{ExprType, Shape};
use crate::val::Val;

type Out<'a> = Result<Val<'a>, SqlError>;

/// The list of a document: the document, and a NULL of the elements' type.
static LIST: FuncDef = def("cast_as_array", 2, 2, typed, list);
/// Whether a list has a value: the list, and the value as a [`KEY`].
static HAS: FuncDef = def("member of array", 2, 2, typed, has);
/// A value as the elements of a list are: the value, and a NULL of their type. It is shown as the value.
static KEY: FuncDef = def("", 2, 2, typed, key);

/// Nobody infers their types: they are made with them.
fn typed(_: &InferCx<'_>, _: &mut [Expr]) -> Result<ExprType, SqlError> {
    Err(SqlError::internal("a list that was called for"))
}

/// The collation of texts in lists.
const TEXTS: &str = "utf8mb4_0900_as_cs";

/// The type of the elements for a cast to this type.
///
/// # Errors
/// 1235: there are no lists of it.
pub fn element_type(cast: &sql_parser::ast::CastType) -> Result<DataType, SqlError> {
    use sql_parser::ast::CastType;
    let none_of = |what: &str| {
        Err(SqlError::not_supported(&format!(
            "CAST-ing data to array of {what}"
        )))
    };
    let collation = CollationId::by_name(TEXTS).unwrap_or(CollationId::DEFAULT);
    Ok(match cast {
        CastType::Signed => DataType::BIGINT,
        CastType::Unsigned => DataType::UBIGINT,
        CastType::Char {
            length: Some(n), ..
        } if *n <= MOST_CHARS => DataType::varchar(*n as u32, collation),
        CastType::Binary(Some(n)) if *n <= MOST_BYTES => DataType::VarBinary(*n as u32),
        CastType::Char { .. } | CastType::Binary(_) => return none_of("char/binary BLOBs"),
        CastType::Date => DataType::Date,
        CastType::Time(f) if *f <= 6 => DataType::Time(*f),
        CastType::Datetime(f) if *f <= 6 => DataType::DateTime(*f),
        CastType::Time(f) | CastType::Datetime(f) => {
            return Err(SqlError::new(
                codes::ER_TOO_BIG_PRECISION,
                format!("Too-big precision {f} specified for 'CAST'. Maximum is 6."),
            ));
        }
        CastType::Decimal { precision, scale } if *precision <= 65 && *scale <= 30 => {
            DataType::decimal((*precision).max(1) as u8, *scale as u8)
        }
        CastType::Decimal { .. } => return none_of("DECIMAL"),
        CastType::Float => return none_of("FLOAT"),
        CastType::Double => return none_of("DOUBLE"),
        CastType::Year => return none_of("YEAR"),
        CastType::Json => return none_of("JSON"),
        CastType::Geometry(name) => return none_of(&name.to_uppercase()),
    })
}

/// Characters of a VARCHAR of four bytes each, and bytes of a VARBINARY.
const MOST_CHARS: u64 = 16_383;
const MOST_BYTES: u64 = 65_535;

/// The list of a document's elements of this type.
pub fn list_of(document: Expr, elements: &DataType) -> Expr {
    let ty = ExprType::of_column(&DataType::Blob(LobSize::Long), document.ty.nullable);
    call(&LIST, document, null_of(elements), ty)
}

/// What the list was made of that an expression gives; `None` where it gives none.
pub fn listed(e: &Expr) -> Option<&Expr> {
    match &e.node {
        Node::Call(c) if std::ptr::eq(c.def, &LIST) => c.args.first(),
        _ => None,
    }
}

/// The type of the elements of the list that an expression gives.
pub fn elements_of(e: &Expr) -> Option<DataType> {
    match &e.node {
        Node::Call(c) if std::ptr::eq(c.def, &LIST) => Some(c.args[1].ty.to_data_type()),
        _ => None,
    }
}

/// Whether the list of a column has a value.
pub fn has_value(column: Expr, value: Expr, elements: &DataType) -> Expr {
    let ty = ExprType::of_column(elements, true);
    let key = call(&KEY, value, null_of(elements), ty);
    call(&HAS, column, key, ExprType::truth(true))
}

/// The list in which an expression looks for a value, and the key of that.
pub fn looks_for(e: &Expr) -> Option<(&Expr, &Expr)> {
    match &e.node {
        Node::Call(c) if std::ptr::eq(c.def, &HAS) => Some((&c.args[0], &c.args[1])),
        _ => None,
    }
}

fn call(def: &'static FuncDef, first: Expr, second: Expr, ty: ExprType) -> Expr {
    let args = vec![first, second];
    Expr {
        node: Node::Call(Call { def, args }),
        ty,
    }
}

fn null_of(ty: &DataType) -> Expr {
    Expr::constant(Val::Null, ExprType::of_column(ty, true))
}

/// Whether all values of a type that are equal to an element of a list have its key, whatever they are: numbers among numbers, texts among texts,
/// dates among dates.
pub fn has_keys(value: &ExprType, elements: &DataType) -> bool {
    if value.boolean || value.bits {
        return false;
    }
    match (value.shape, elements) {
        (
            Shape::Int { .. } | Shape::Decimal { .. } | Shape::Double { .. },
            DataType::Int { .. } | DataType::Decimal { .. },
        ) => true,
        (Shape::Str { .. }, DataType::VarChar { .. } | DataType::VarBinary(_)) => {
            !value.is_binary_text()
        }
        (Shape::Date, DataType::Date) => true,
        (Shape::DateTime(_), DataType::DateTime(_)) => true,
        (Shape::Time(_), DataType::Time(_)) => true,
        _ => false,
    }
}

/// The scalars that a constant document is, or is a list of, as values to look for in lists of such elements; `None` where one of them has no key
/// by which it is found, or it is no list of scalars.
pub fn keys_in(document: &str, elements: &DataType) -> Option<Vec<Expr>> {
    let doc = parse_document(document).ok()?;
    let one = |j: &Json| {
        let kin = match elements {
            DataType::Int { .. } | DataType::Decimal { .. } => matches!(
                j,
                Json::Int(_) | Json::Uint(_) | Json::Double(_) | Json::Decimal(_)
            ),
            DataType::VarChar { .. } | DataType::VarBinary(_) => matches!(j, Json::Str(_)),
            _ => false,
        };
        let mut text = Vec::new();
        j.write(&mut text).ok()?;
        let ty = ExprType::of_column(&DataType::Json, false);
        kin.then(|| Expr::constant(Val::owned(String::from_utf8_lossy(&text).into_owned()), ty))
    };
    match &doc {
        Json::Array(all) => all.iter().map(one).collect(),
        j => Some(vec![one(j)?]),
    }
}

/// What is wrong with an element of the list of a functional index, by the index's name.
pub fn of_index(e: SqlError, index: &str, line: u64) -> SqlError {
    let text = match e.code {
        codes::ER_INVALID_JSON_VALUE_FOR_FUNC_INDEX => {
            format!("Invalid JSON value for CAST for functional index '{index}'.")
        }
        codes::ER_JSON_VALUE_OUT_OF_RANGE_FOR_FUNC_INDEX => {
            format!("Out of range JSON value for CAST for functional index '{index}'.")
        }
        codes::ER_FUNCTIONAL_INDEX_DATA_IS_TOO_LONG => {
            format!("Data too long for functional index '{index}'.")
        }
        codes::ER_WRONG_MVI_VALUE => format!(
            "Cannot store an array or an object in a scalar key part of the index '{index}'."
        ),
        codes::ER_DATA_OUT_OF_RANGE_FUNCTIONAL_INDEX => {
            format!("Value is out of range for functional index '{index}' at row {line}")
        }
        codes::ER_DATA_TRUNCATED_FUNCTIONAL_INDEX => {
            format!("Data truncated for functional index '{index}' at row {line}")
        }
        _ => return e,
    };
    SqlError::new(e.code, text)
}

fn invalid() -> SqlError {
    SqlError::fixed(codes::ER_INVALID_JSON_VALUE_FOR_FUNC_INDEX)
}

fn part(elements: &DataType) -> KeyPart {
    KeyPart::new(elements.clone(), true)
}

fn list(a: Args<'_>) -> Out<'_> {
    let Some(doc) = document(a, 0, "cast_as_array")? else {
        return Ok(Val::Null);
    };
    let elements = a.ty(1).to_data_type();
    let key_part = part(&elements);
    let mut list = ListBuilder::default();
    let mut add = |j: &Json| -> Result<(), SqlError> {
        if let Json::Array(_) | Json::Object(_) = j {
            return Err(SqlError::fixed(codes::ER_WRONG_MVI_VALUE));
        }
        let (mut key, mut text) = (Vec::new(), Vec::new());
        key_part.encode(element(j, &elements, a.cx)?.as_ref(), &mut key);
        j.write(&mut text)?;
        a.cx.tick(text.len())?;
        list.push(key, text);
        Ok(())
    };
    match &doc {
        Json::Array(all) => all.iter().try_for_each(&mut add)?,
        Json::Object(_) => {
            let what = "CAST-ing JSON OBJECT type to array";
            return Err(SqlError::not_supported(what));
        }
        Json::Bool(_) => {
            let what = "CAST-ing JSON BOOLEAN type to array";
            return Err(SqlError::not_supported(what));
        }
        one => add(one)?,
    }
    Ok(Val::owned(list.finish()))
}

fn has(a: Args<'_>) -> Out<'_> {
    let (list, value) = (a.val(0)?, a.val(1)?);
    if list.is_null() || value.is_null() {
        return Ok(Val::Null);
    }
    let elements = a.ty(1).to_data_type();
    let Some(value) = as_column_value(&value, a.ty(1), &elements, a.cx) else {
        return Ok(Val::truth(Some(false)));
    };
    let mut key = Vec::new();
    part(&elements).encode(value.as_ref(), &mut key);
    let list = conv::text_of(&list, a.ty(0));
    Ok(Val::truth(Some(Elements::of(&list).has(&key))))
}

fn key(a: Args<'_>) -> Out<'_> {
    let v = a.val(0)?;
    if v.is_null() {
        return Ok(Val::Null);
    }
    // As it would be read from a document.
    let mut text = Vec::new();
    scalar(&v, a.ty(0)).write(&mut text)?;
    let Ok(read) = parse_document(&String::from_utf8_lossy(&text)) else {
        return Ok(Val::Null);
    };
    // What cannot be an element is none.
    Ok(match element(&read, &a.ty(1).to_data_type(), a.cx) {
        Ok(Value::Str(text, _) | Value::Bytes(text)) => Val::owned(text),
        Ok(v) => match Val::from(v.as_ref()) {
            Val::Int(n) => Val::Int(n),
            Val::Uint(n) => Val::Uint(n),
            Val::Decimal(d) => Val::Decimal(d),
            Val::Date(d) => Val::Date(d),
            Val::Time(t) => Val::Time(t),
            Val::DateTime(d) => Val::DateTime(d),
            _ => Val::Null,
        },
        Err(_) => Val::Null,
    })
}

/// A scalar as an element of this type.
///
/// # Errors
/// 3751, 3752, 3903, 3904, 3907: it cannot be one.
fn element(scalar: &Json, ty: &DataType, cx: &EvalCtx<'_>) -> Result<Value, SqlError> {
    match ty {
        DataType::Int { unsigned, .. } => {
            let n = whole(scalar)?;
            match (unsigned, i64::try_from(n), u64::try_from(n)) {
                (true, _, Ok(n)) => Ok(Value::UInt(n)),
                (false, Ok(n), _) => Ok(Value::Int(n)),
                (true, Ok(_), _) | (false, _, Ok(_)) => Err(SqlError::fixed(
                    codes::ER_DATA_OUT_OF_RANGE_FUNCTIONAL_INDEX,
                )),
                _ => Err(out_of_range()),
            }
        }
        DataType::Decimal {
            precision, scale, ..
        } => {
            let d = number(scalar)?;
            let fits = |d: &Decimal| d.int_digits() + scale <= *precision;
            let made = d.rescale(*scale).filter(fits);
            let refused = || SqlError::fixed(codes::ER_DATA_OUT_OF_RANGE_FUNCTIONAL_INDEX);
            made.map(Value::Decimal).ok_or_else(refused)
        }
        DataType::VarChar { chars, collation } => {
            let text = text(scalar)?;
            match text.chars().count() > *chars as usize {
                true => Err(SqlError::fixed(codes::ER_FUNCTIONAL_INDEX_DATA_IS_TOO_LONG)),
                false => Ok(Value::Str(text.into_bytes(), *collation)),
            }
        }
        DataType::VarBinary(most) => {
            let text = text(scalar)?;
            match text.len() > *most as usize {
                true => Err(SqlError::fixed(codes::ER_FUNCTIONAL_INDEX_DATA_IS_TOO_LONG)),
                false => Ok(Value::Bytes(text.into_bytes())),
            }
        }
        ty => moment(scalar, ty, cx),
    }
}

/// The exact number that a scalar is. One in floating point is the number that it is written as, as where documents are compared.
fn number(scalar: &Json) -> Result<Decimal, SqlError> {
    let of_text = |s: &str| {
        let read = Decimal::parse(s.as_bytes());
        match !s.is_empty() && read.used == s.len() {
            _ if read.overflow => Err(out_of_range()),
            true => Ok(read.value),
            false => Err(invalid()),
        }
    };
    match scalar {
        Json::Bool(b) => of_text(if *b { "1" } else { "0" }),
        Json::Int(_) | Json::Uint(_) | Json::Double(_) => {
            let mut text = Vec::new();
            scalar.write(&mut text)?;
            of_text(&String::from_utf8_lossy(&text))
        }
        Json::Decimal(s) | Json::Str(s) => of_text(s),
        _ => Err(invalid()),
    }
}

fn whole(scalar: &Json) -> Result<i128, SqlError> {
    match scalar {
        Json::Int(n) => Ok(i128::from(*n)),
        Json::Uint(n) => Ok(i128::from(*n)),
        other => {
            let d = number(other)?;
            let rounded = d.rescale(0).and_then(|d| d.mantissa_i128());
            rounded.ok_or_else(out_of_range)
        }
    }
}

fn out_of_range() -> SqlError {
    SqlError::fixed(codes::ER_JSON_VALUE_OUT_OF_RANGE_FOR_FUNC_INDEX)
}

/// A scalar as text: that of a string without its quotes.
fn text(scalar: &Json) -> Result<String, SqlError> {
    match scalar {
        Json::Null => Err(invalid()),
        Json::Str(s) => Ok(s.clone()),
        other => {
            let mut out = Vec::new();
            other.write(&mut out)?;
            Ok(String::from_utf8_lossy(&out).into_owned())
        }
    }
}

/// A date or a time of a string; what a session allows of dates does not count.
fn moment(scalar: &Json, ty: &DataType, cx: &EvalCtx<'_>) -> Result<Value, SqlError> {
    let Json::Str(s) = scalar else {
        return Err(match scalar {
            Json::Null => invalid(),
            _ => SqlError::fixed(codes::ER_DATA_TRUNCATED_FUNCTIONAL_INDEX),
        });
    };
    let mode = ConvertMode {
        strict: true,
        no_zero_date: false,
        no_zero_in_date: false,
        invalid_dates: true,
        cut_fractions: false,
        zone: Zone::UTC,
        today: Today::At(cx.now_micros),
    };
    let target = Target {
        ty,
        nullable: true,
        column: "",
        row: 1,
    };
    let text = Value::Str(s.clone().into_bytes(), CollationId::UTF8MB4_BIN);
    let mut lost = Vec::new();
    match assign(text.as_ref(), &target, &mode, &mut lost) {
        Ok(v) => Ok(v.into_value()),
        Err(_) => Err(invalid()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoRow;
    use crate::tests::Bench;

    fn texts(chars: u32) -> DataType {
        DataType::varchar(chars, CollationId::by_name(TEXTS).unwrap())
    }

    fn document(json: &str) -> Expr {
        let ty = ExprType::of_column(&DataType::Json, false);
        Expr::constant(Val::owned(json), ty)
    }

    fn made(json: &str, ty: &DataType) -> Result<String, u16> {
        let bench = Bench::new();
        let cx = bench.cx(&[]);
        let e = list_of(document(json), ty);
        let list = e.eval(&cx, &NoRow).map_err(|e| e.code)?;
        Ok(Elements::of(&conv::text_of(&list, &e.ty)).shown())
    }

    #[test]
    fn elements_are_distinct_and_in_the_order_of_their_keys() {
        let cases = [
            (r#"[3, 1, 3, "7"]"#, DataType::UBIGINT, r#"[1, 3, "7"]"#),
            ("[2.5, 1]", DataType::UBIGINT, "[1, 2.5]"),
            ("[-1, 1]", DataType::BIGINT, "[-1, 1]"),
            ("5", DataType::UBIGINT, "[5]"),
            ("[]", DataType::UBIGINT, "[]"),
            (r#"["b", "a", "A", "b"]"#, texts(10), r#"["a", "A", "b"]"#),
            ("[1.5, 1.50, 2]", DataType::decimal(10, 4), "[1.5, 2]"),
            (r#"["2001-02-03"]"#, DataType::Date, r#"["2001-02-03"]"#),
        ];
        for (json, ty, expected) in cases {
            assert_eq!(made(json, &ty).as_deref(), Ok(expected), "{json}");
        }
    }

    #[test]
    fn what_is_no_element_has_mysqls_error() {
        let cases = [
            ("null", DataType::UBIGINT, 3903),
            ("[1, null]", DataType::UBIGINT, 3903),
            (r#"["a"]"#, DataType::UBIGINT, 3903),
            ("[1, [2]]", DataType::UBIGINT, 3908),
            ("[{}]", DataType::UBIGINT, 3908),
            ("{}", DataType::UBIGINT, 1235),
            ("true", DataType::UBIGINT, 1235),
            ("[-1]", DataType::UBIGINT, 3752),
            ("1111111111111111111111", DataType::UBIGINT, 3904),
            (r#"["abcd"]"#, texts(3), 3907),
            ("[1]", DataType::DateTime(0), 3751),
            (r#"["x"]"#, DataType::Date, 3903),
            ("[123456789.5]", DataType::decimal(10, 4), 3752),
        ];
        for (json, ty, expected) in cases {
            assert_eq!(made(json, &ty), Err(expected), "{json}");
        }
    }

    #[test]
    fn what_is_equal_has_one_key() {
        let bench = Bench::new();
        let cx = bench.cx(&[]);
        let types = [
            DataType::UBIGINT,
            DataType::BIGINT,
            DataType::decimal(12, 1),
        ];
        for ty in types {
            let list = list_of(document("[2.5]"), &ty);
            for same in ["2.5", "2.50", "25e-1"] {
                let e = has_value(list.clone(), document(same), &ty);
                assert_eq!(e.truth(&cx, &NoRow).unwrap(), Some(true), "{same} {ty:?}");
            }
            let e = has_value(list, document("7"), &ty);
            assert_eq!(e.truth(&cx, &NoRow).unwrap(), Some(false));
        }
    }
}
