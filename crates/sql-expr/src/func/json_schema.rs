//! JSON_SCHEMA_VALID and JSON_SCHEMA_VALIDATION_REPORT.

use types::SqlError;
use types::error::codes;

use super::infer::{json, truth_or_null};
use super::json::{document, out};
use super::{FuncDef, def};
use crate::ctx::{EvalCtx, RowSource};
use crate::json::schema::{Fault, fault};
use crate::json::{Json, text_of};
use crate::node::{Args, Expr, Node};
use crate::val::Val;

type Out<'a> = Result<Val<'a>, SqlError>;

const VALID: &str = "json_schema_valid";
const REPORT: &str = "json_schema_validation_report";

/// The table.
pub(super) const TABLE: &[FuncDef] = &[
    def(VALID, 2, 2, truth_or_null, valid),
    def(REPORT, 2, 2, json, report),
];

/// What is wrong with the second argument by the first; the outer `None` where one of them is NULL.
fn faults(a: Args<'_>, function: &str) -> Result<Option<Option<Fault>>, SqlError> {
    for i in 0..2 {
        let v = a.val(i)?;
        if text_of(&v, a.ty(i), i, function)?.is_none() {
            return Ok(None);
        }
    }
    let (Some(schema), read) = (document(a, 0, function)?, || document(a, 1, function)) else {
        return Ok(None);
    };
    if !matches!(schema, Json::Object(_)) {
        return Err(SqlError::new(
            codes::ER_INVALID_JSON_TYPE,
            format!(
                "Invalid JSON type in argument 1 to function {function}; an object is required."
            ),
        ));
    }
    let Some(doc) = read()? else {
        return Ok(None);
    };
    fault(&schema, &doc, a.cx.pace()).map(Some)
}

fn valid(a: Args<'_>) -> Out<'_> {
    let found = faults(a, VALID)?;
    Ok(Val::truth(found.map(|fault| fault.is_none())))
}

fn report(a: Args<'_>) -> Out<'_> {
    let Some(found) = faults(a, REPORT)? else {
        return Ok(Val::Null);
    };
    let mut members = vec![("valid".to_owned(), Json::Bool(found.is_none()))];
    if let Some(fault) = found {
        let reason = fault.reason();
        let said = [
            ("reason", reason),
            ("schema-location", fault.schema),
            ("document-location", fault.document),
            ("schema-failed-keyword", fault.keyword.to_owned()),
        ];
        members.extend(said.map(|(key, text)| (key.to_owned(), Json::Str(text))));
    }
    out(a, &Json::object(members))
}

/// Why a CHECK constraint that is JSON_SCHEMA_VALID does not hold, as error 3934; `None` for any other condition.
///
/// # Errors
/// As its evaluation.
pub fn why_not_valid(
    condition: &Expr,
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
) -> Result<Option<SqlError>, SqlError> {
    let Node::Call(call) = &condition.node else {
        return Ok(None);
    };
    if call.def.name != VALID {
        return Ok(None);
    }
    let a = Args {
        args: &call.args,
        ty: &condition.ty,
        cx,
        row,
    };
    let found = faults(a, VALID)?.flatten();
    Ok(found.map(|fault| {
        let reason = fault.reason();
        SqlError::new(
            codes::ER_JSON_SCHEMA_VALIDATION_ERROR_WITH_DETAILED_REPORT,
            format!("{reason}."),
        )
    }))
}
