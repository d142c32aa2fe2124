//! Who sees a routine, and who sees what it does.
//!
//! Source: MySQL 8.0's manual, "SHOW CREATE PROCEDURE Statement", "The INFORMATION_SCHEMA ROUTINES Table".

use engine::{ObjectDef, ObjectKind};

use crate::context::routine_def::RoutineDef;
use sql_access::{Priv, SecurityContext};

/// Whether the account may know that there is a routine: it is its own, or it has some right to it.
pub(crate) fn sees(security: &SecurityContext, object: &ObjectDef, def: &RoutineDef) -> bool {
    let procedure = object.kind == ObjectKind::Procedure;
    let has = security.on_routine(&object.schema, procedure, &object.name);
    let some = [Priv::Execute, Priv::AlterRoutine, Priv::CreateRoutine];
    sees_body(security, def) || some.iter().any(|p| has.has(*p))
}

/// Whether it may read the text: it is its own, or it may read that of all.
pub(crate) fn sees_body(security: &SecurityContext, def: &RoutineDef) -> bool {
    security.is_server()
        || *security.account() == def.definer
        || security.global().has(Priv::Select)
        || security.has_dynamic("SHOW_ROUTINE")
}
