//! The keys by which kept rows are looked up, from either side of the equalities.

use types::SqlError;

use sql_expr::{EvalCtx, Expr, RowSource, Val, write_group_key};
use sql_plan::plan::HashKey;

/// Appends the key that a combination looks for; `false` where a part is NULL.
pub(crate) fn write_probe_key(
    keys: &[HashKey],
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
    out: &mut Vec<u8>,
) -> Result<bool, SqlError> {
    write_key(keys.iter().map(|k| (k, &k.probe)), cx, row, out)
}

/// The same for the key of a row.
pub(crate) fn write_build_key(
    keys: &[HashKey],
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
    out: &mut Vec<u8>,
) -> Result<bool, SqlError> {
    write_key(keys.iter().map(|k| (k, &k.build)), cx, row, out)
}

fn write_key<'k>(
    parts: impl Iterator<Item = (&'k HashKey, &'k Expr)>,
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
    out: &mut Vec<u8>,
) -> Result<bool, SqlError> {
    for (k, e) in parts {
        let v = e.eval(cx, row)?;
        if !write_hash_key(k, &v, &e.ty, out) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Appends a value; `false` for NULL, which equals nothing.
fn write_hash_key(k: &HashKey, v: &Val<'_>, ty: &sql_expr::ExprType, out: &mut Vec<u8>) -> bool {
    if v.is_null() {
        return false;
    }
    match k.collation {
        Some(c) => {
            let mut ty = *ty;
            ty.collation = c;
            write_group_key(v, &ty, out);
        }
        None => write_group_key(v, ty, out),
    }
    true
}
