//! Facts about the session, and the functions that wait: SLEEP, BENCHMARK, GET_LOCK and its family.

use types::SqlError;
use types::charset::Charset;
use types::error::codes;

use super::infer::{collation_name, int_not_null, int_or_null, system};
use super::{FuncDef, def, some};
use crate::ctx::Special;
use crate::node::Args;
use crate::node::Expr;
use crate::node::InferCx;
use crate::node::{Call, Node};
use crate::ty::ExprType;
use crate::val::Val;
use crate::vars::VarValue;

type Out<'a> = Result<Val<'a>, SqlError>;
type Inferred = Result<ExprType, SqlError>;

/// The table.
pub(super) const TABLE: &[FuncDef] = &[
    def("version", 0, 0, system::<60>, version)
        .light()
        .per_statement(),
    def("database", 0, 0, system::<64>, database)
        .light()
        .per_statement(),
    def("schema", 0, 0, system::<64>, database)
        .light()
        .per_statement(),
    def("user", 0, 0, system::<288>, user)
        .light()
        .per_statement(),
    def("session_user", 0, 0, system::<288>, user)
        .light()
        .per_statement(),
    def("system_user", 0, 0, system::<288>, user)
        .light()
        .per_statement(),
    def("current_user", 0, 0, system::<288>, current_user)
        .light()
        .per_statement(),
    def("current_role", 0, 0, system::<288>, current_role)
        .light()
        .per_statement(),
    def("connection_id", 0, 0, infer_uint, connection_id)
        .light()
        .per_statement(),
    def("last_insert_id", 0, 1, infer_last_id, last_insert_id)
        .light()
        .per_row(),
    def("found_rows", 0, 0, infer_uint, found_rows)
        .light()
        .per_statement(),
    def("row_count", 0, 0, int_not_null::<21>, row_count)
        .light()
        .per_statement(),
    def("charset", 1, 1, collation_name, charset).light(),
    def("collation", 1, 1, collation_name, collation).light(),
    def("coercibility", 1, 1, int_not_null::<10>, coercibility).light(),
    def("icu_version", 0, 0, system::<10>, icu_version).light(),
    def("benchmark", 2, 2, int_or_null::<1>, benchmark).per_row(),
    def("sleep", 1, 1, int_not_null::<21>, sql_sleep).waits(),
    def("get_lock", 2, 2, int_or_null::<1>, get_lock).waits(),
    def("release_lock", 1, 1, int_or_null::<1>, release_lock).waits(),
    def("release_all_locks", 0, 0, infer_uint, release_all_locks).waits(),
    def("is_free_lock", 1, 1, int_or_null::<1>, is_free_lock).waits(),
    def("is_used_lock", 1, 1, infer_uint_or_null, is_used_lock).waits(),
    def("ps_current_thread_id", 0, 0, infer_uint, thread_id)
        .light()
        .per_statement(),
    def("ps_thread_id", 1, 1, infer_uint_or_null, ps_thread_id).per_statement(),
];

fn owned<'a>(s: &str) -> Val<'a> {
    Val::owned(s.as_bytes())
}

fn version(a: Args<'_>) -> Out<'_> {
    Ok(match a.cx.vars.value_by_name("version") {
        Some(VarValue::Text(v)) => owned(&v),
        _ => Val::Null,
    })
}

fn database(a: Args<'_>) -> Out<'_> {
    Ok(match &a.cx.facts.database {
        Some(db) => Val::borrowed(db.as_bytes()),
        None => Val::Null,
    })
}

fn user(a: Args<'_>) -> Out<'_> {
    Ok(Val::borrowed(a.cx.facts.user.as_bytes()))
}

fn current_user(a: Args<'_>) -> Out<'_> {
    Ok(Val::borrowed(a.cx.facts.current_user.as_bytes()))
}

fn current_role(a: Args<'_>) -> Out<'_> {
    let roles = &a.cx.facts.current_role;
    Ok(Val::borrowed(match roles.is_empty() {
        true => b"NONE",
        false => roles.as_bytes(),
    }))
}

fn icu_version(_: Args<'_>) -> Out<'_> {
    Ok(Val::borrowed(b"69.1"))
}

fn infer_uint(_: &InferCx<'_>, _: &mut [Expr]) -> Inferred {
    Ok(ExprType::uint(21, false))
}

fn infer_uint_or_null(_: &InferCx<'_>, _: &mut [Expr]) -> Inferred {
    Ok(ExprType::uint(21, true))
}

fn thread_id(a: Args<'_>) -> Out<'_> {
    Ok(Val::Uint(a.cx.facts.connection_id))
}

fn connection_id(a: Args<'_>) -> Out<'_> {
    Ok(Val::Uint(a.cx.facts.thread()))
}

fn ps_thread_id(a: Args<'_>) -> Out<'_> {
    Ok(Val::Uint(some!(a.int(0)?).bits()))
}

fn infer_last_id(_: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    Ok(ExprType::uint(21, !args.is_empty()))
}

fn last_insert_id(a: Args<'_>) -> Out<'_> {
    if a.len() == 0 {
        return Ok(Val::Uint(a.cx.facts.last_insert_id));
    }
    let n = a.int(0)?;
    a.cx.set_last_insert_id(n.map_or(0, |n| n.bits()));
    Ok(n.map_or(Val::Null, |n| Val::Uint(n.bits())))
}

/// What `IS NULL` compares an AUTO_INCREMENT column with where `sql_auto_is_null` is on: the last generated value, for one statement; NULL otherwise.
/// It is no function of SQL.
static LAST_ID_AS_NULL: FuncDef = def("last_insert_id", 0, 0, infer_uint_or_null, last_id_as_null)
    .light()
    .per_statement();

fn last_id_as_null(a: Args<'_>) -> Out<'_> {
    let facts = a.cx.facts;
    if !facts.last_id_is_null || facts.last_insert_id == 0 {
        return Ok(Val::Null);
    }
    a.cx.find_last_id();
    Ok(Val::Uint(facts.last_insert_id))
}

/// A call of it.
pub fn last_id_as_null_call() -> Expr {
    Expr {
        ty: ExprType::uint(21, true),
        node: Node::Call(Call {
            def: &LAST_ID_AS_NULL,
            args: Vec::new(),
        }),
    }
}

fn found_rows(a: Args<'_>) -> Out<'_> {
    Ok(Val::Uint(a.cx.facts.found_rows))
}

fn row_count(a: Args<'_>) -> Out<'_> {
    Ok(Val::Int(a.cx.facts.row_count))
}

fn charset(a: Args<'_>) -> Out<'_> {
    let ty = a.ty(0);
    let cs = if ty.is_text() {
        ty.charset()
    } else {
        Charset::Binary
    };
    Ok(owned(cs.name()))
}

fn collation(a: Args<'_>) -> Out<'_> {
    let ty = a.ty(0);
    let name = if ty.is_text() {
        ty.collation.name()
    } else {
        "binary"
    };
    Ok(owned(name))
}

fn coercibility(a: Args<'_>) -> Out<'_> {
    Ok(Val::Int(a.ty(0).coercibility as i64))
}

fn benchmark(a: Args<'_>) -> Out<'_> {
    let n = some!(a.i64(0)?);
    if n < 0 {
        a.cx.warn_error(SqlError::new(
            codes::ER_WRONG_VALUE_FOR_TYPE,
            format!("Incorrect count value: '{n}' for function benchmark"),
        ));
        return Ok(Val::Null);
    }
    let mark = a.cx.mark();
    for _ in 0..n {
        a.cx.tick(1)?;
        let _ = a.val(1)?;
        a.cx.keep(mark, 0)?;
    }
    Ok(Val::Int(0))
}

fn sql_sleep(a: Args<'_>) -> Out<'_> {
    match a.f64(0)? {
        Some(s) if s >= 0.0 => a.cx.special(a.ty, Special::Sleep(s)),
        _ => Err(SqlError::new(
            codes::ER_WRONG_ARGUMENTS,
            "Incorrect arguments to sleep.",
        )),
    }
}

/// The name of a user-level lock.
fn lock_name(a: Args<'_>) -> Result<String, SqlError> {
    let name = a.text(0)?.unwrap_or_default();
    let name = String::from_utf8_lossy(&name).to_lowercase();
    if name.is_empty() || name.chars().count() > 64 {
        return Err(SqlError::new(
            codes::ER_USER_LOCK_WRONG_NAME,
            format!("Incorrect user-level lock name '{name}'."),
        ));
    }
    Ok(name)
}

fn get_lock(a: Args<'_>) -> Out<'_> {
    let name = lock_name(a)?;
    let seconds = some!(a.f64(1)?);
    // below zero waits for ever
    let seconds = if seconds < 0.0 {
        f64::INFINITY
    } else {
        seconds
    };
    a.cx.special(a.ty, Special::GetLock(name, seconds))
}

fn release_lock(a: Args<'_>) -> Out<'_> {
    a.cx.special(a.ty, Special::ReleaseLock(lock_name(a)?))
}

fn release_all_locks(a: Args<'_>) -> Out<'_> {
    a.cx.special(a.ty, Special::ReleaseAllLocks)
}

fn is_free_lock(a: Args<'_>) -> Out<'_> {
    a.cx.special(a.ty, Special::IsFreeLock(lock_name(a)?))
}

fn is_used_lock(a: Args<'_>) -> Out<'_> {
    a.cx.special(a.ty, Special::IsUsedLock(lock_name(a)?))
}
