//! Values as variables of a program keep them: converted to their types, as to those of columns.

use types::convert::{self, Target};
use types::{DataType, SqlError, Value};

use crate::command::scalar::convert_mode;
use sql_expr::{EvalCtx, ExprType, Val};

/// A value as a variable of a program keeps it; `None`: as it is.
///
/// # Errors
/// 1264, 1265, 1292, 1366, 1406.
pub(super) fn stored(
    cx: &EvalCtx<'_>,
    value: &Val<'_>,
    from: &ExprType,
    ty: Option<&DataType>,
    name: &str,
) -> Result<Value, SqlError> {
    let Some(ty) = ty else {
        return Ok(value.to_value(from));
    };
    assigned(cx, value.as_assigned_ref(from, ty), ty, name)
}

/// The same of a value as it is read.
pub(super) fn assigned(
    cx: &EvalCtx<'_>,
    value: types::ValueRef<'_>,
    ty: &DataType,
    name: &str,
) -> Result<Value, SqlError> {
    let target = Target {
        ty,
        nullable: true,
        column: name,
        row: 1,
    };
    let mut warnings = Vec::new();
    let made = convert::assign(value, &target, &convert_mode(cx), &mut warnings);
    warnings.into_iter().for_each(|w| cx.warn(w));
    Ok(made?.into_value())
}
