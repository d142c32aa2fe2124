//! From a definition to a program that is ready to run.

use std::sync::Arc;

use base::lock::Mutex;
use engine::ObjectDef;
use types::SqlError;

use crate::context::Session;
use crate::context::programs::{Loaded, Param};
use crate::context::routine_def::RoutineDef;
use crate::describe::compiled::compiled;
use sql_expr::ExprType;
use sql_expr::memory::{self, Charge};

/// The program of a definition, compiled where the session has not done so yet.
///
/// # Errors
/// 1815: it cannot be read; 4082: there is no room for it.
pub(crate) fn loaded(s: &mut Session, object: &Arc<ObjectDef>) -> Result<Arc<Loaded>, SqlError> {
    if let Some(kept) = s.programs.get(object) {
        return Ok(kept);
    }
    let def = RoutineDef::of(object)?;
    let mut charge = Charge::to(s.memory());
    if !charge.set(memory::of_text(def.body.as_bytes())) {
        s.memory().check()?;
    }
    let made = compiled(&def)?;
    let expr_types: Vec<(u32, ExprType)> = made
        .types
        .iter()
        .enumerate()
        .filter_map(|(i, t)| Some((i as u32, ExprType::of_column(t.as_ref()?, true))))
        .collect();
    let exprs = made.program.exprs.len();
    let plans = made.program.statements.len() + made.program.cursors.len();
    let loaded = Arc::new(Loaded {
        object: Arc::clone(object),
        params: made
            .routine
            .params
            .iter()
            .map(|p| Param {
                mode: p.mode,
                name: p.name.to_string(),
            })
            .collect(),
        program: made.program,
        types: made.types,
        expr_types: expr_types.into(),
        bound: Mutex::new(vec![None; exprs]),
        plans: Mutex::new((0..plans).map(|_| None).collect()),
        settings: Mutex::new(None),
        rights: Mutex::new(None),
        def,
        charge,
    });
    s.programs.keep(&loaded);
    Ok(loaded)
}
