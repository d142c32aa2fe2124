//! What a column of numbers is assigned of a document: the number that it is.

use types::{DataType, SqlError, Value};

use super::{FuncDef, def};
use crate::json::{Json, coerced, invalid_for, parse_document};
use crate::node::{Args, Call, Expr, InferCx, Node};
use crate::ty::{ExprType, Shape};
use crate::val::Val;

/// No function of a name: what a column of numbers is assigned of a document.
static TO_COLUMN: FuncDef = def("cast", 1, 1, infer, to_column);

fn infer(_: &InferCx<'_>, _: &mut [Expr]) -> Result<ExprType, SqlError> {
    Ok(ExprType::double(true))
}

/// An expression as it is assigned to a column: a document that goes to a column of numbers is the number that it is.
pub fn assigned_to(e: Expr, column: &DataType) -> Expr {
    let numbers = column.is_numeric() && !matches!(column, DataType::Bit(_));
    if e.ty.shape != Shape::Json || !numbers {
        return e;
    }
    Expr {
        ty: ExprType::of_column(column, true),
        node: Node::Call(Call {
            def: &TO_COLUMN,
            args: vec![e],
        }),
    }
}

/// What is no number is an error in strict mode, and otherwise 0 with a warning.
fn to_column(a: Args<'_>) -> Result<Val<'_>, SqlError> {
    let v = a.val(0)?;
    let Val::Bytes(text) = &v else {
        return Ok(v);
    };
    let kind = a.ty.to_data_type();
    let scalar = match text.first() {
        Some(b'[' | b'{') => None,
        _ => parse_document(&String::from_utf8_lossy(text)).ok(),
    };
    let made = coerced(scalar.as_ref().unwrap_or(&Json::Null), &kind);
    Ok(match made {
        Ok(Value::Int(i)) => Val::Int(i),
        Ok(Value::UInt(u)) => Val::Uint(u),
        Ok(Value::Double(d)) => Val::Double(d),
        Ok(Value::Decimal(d)) => Val::Decimal(d),
        Ok(_) => v,
        Err(kind) => {
            let e = invalid_for(kind, a.args[0].short_name());
            if a.cx.strict_write {
                return Err(e);
            }
            a.cx.warn_error(e);
            Val::Int(0)
        }
    })
}
