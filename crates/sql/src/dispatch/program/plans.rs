//! The plans of a program's statements: kept with the program, and made again when they do not hold any more.

use types::SqlError;
use types::depth::{is_too_deep, room};
use types::error::codes;

use crate::command::planned::REPLANS;
use crate::context::Session;
use crate::context::prepared::Planned;
use crate::context::programs::Loaded;
use sql_access::Authorized;
use sql_exec::ExecError;
use sql_parser::ast::Statement;
use sql_plan::plan::Plan;
use sql_plan::sink::{Done, ResultSink};
use types::Value;

/// Runs a statement by the plan that the program has kept of it, or by one that it keeps from here on. `width`: as many columns it is to have.
pub(super) async fn run_planned(
    s: &mut Session,
    place: Option<(&Loaded, usize)>,
    statement: &Statement,
    vars: &[Value],
    width: Option<usize>,
    sink: &mut dyn ResultSink,
) -> Result<Done, SqlError> {
    for _ in 0..REPLANS {
        let kept = place.and_then(|(loaded, at)| holding(s, loaded, at));
        let plan = match kept {
            Some(plan) => plan,
            None => plan_of(s, place, statement, vars).await?,
        };
        if let Some(width) = width.filter(|w| *w != usize::MAX)
            && plan.peek().columns.len() != width
        {
            return Err(SqlError::fixed(codes::ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT));
        }
        let outcome = s.run_plan(&plan, vars, sink).await;
        if let Some(outcome) = ExecError::unless_stale(outcome) {
            return outcome;
        }
    }
    Err(SqlError::fixed(codes::ER_TABLE_DEF_CHANGED))
}

/// The plan that the program has kept, where it holds.
fn holding(s: &mut Session, loaded: &Loaded, at: usize) -> Option<Authorized<Plan>> {
    let plans = loaded.plans.lock();
    let x = plans.get(at)?.as_ref()?;
    let holds = x.settings == s.settings
        && x.plan.peek().catalog_version == s.engine.catalog_version()
        && x.plan.peek().is_fresh()
        && s.security.ready(&x.plan).is_some();
    holds.then(|| x.plan.clone())
}

async fn plan_of(
    s: &mut Session,
    place: Option<(&Loaded, usize)>,
    statement: &Statement,
    vars: &[Value],
) -> Result<Authorized<Plan>, SqlError> {
    let before = s.diagnostics.pushed();
    let plan = loop {
        match s.plan_typed(statement, &[], vars) {
            // It was bound, and has done nothing.
            Err(e) if is_too_deep(&e) && room::more().await => {}
            made => break made?,
        }
    };
    // What planning warns of is told each time.
    let quiet = s.diagnostics.pushed() == before;
    if let Some((loaded, at)) = place
        && quiet
        && !plan.peek().private
        && let Some(place) = loaded.plans.lock().get_mut(at)
    {
        *place = Some(Planned {
            plan: plan.clone(),
            settings: s.settings,
        });
    }
    Ok(plan)
}
