//! SET of `read_only` and `super_read_only`: when it answers, all that clients have committed is committed, and nothing more is
//! ([`engine::Fence`]).
//!
//! As in MySQL, `super_read_only` brings `read_only` with it, and goes with it; and switching one on waits for statements and commits under way. A
//! transaction that is open by then may go on reading; it can only be rolled back if it has changed something.

use engine::{Engine, Fence};
use types::SqlError;
use types::error::codes;

use crate::context::{Instance, Session};
use sql_expr::vars::{self, GlobalVars, VarInput};
use sql_parser::ast::VarScope;

const READ_ONLY: &str = "read_only";
const SUPER_READ_ONLY: &str = "super_read_only";

/// Whether it is one of these variables.
pub(super) fn is_mode(name: &str) -> bool {
    name.eq_ignore_ascii_case(READ_ONLY) || name.eq_ignore_ascii_case(SUPER_READ_ONLY)
}

/// What the variables say.
fn fence(globals: &GlobalVars) -> Fence {
    let is_on = |name| globals.value_by_name(name).is_some_and(|v| v.as_u64() != 0);
    match (is_on(SUPER_READ_ONLY), is_on(READ_ONLY)) {
        (true, _) => Fence::AllClients,
        (false, true) => Fence::Clients,
        (false, false) => Fence::Open,
    }
}

impl Instance {
    /// Joins the variables to the engine's fence.
    pub(crate) fn obey_server_mode(&self, engine: &std::sync::Arc<Engine>) {
        engine.set_fence(fence(&self.globals));
        let engine = std::sync::Arc::downgrade(engine);
        let globals = std::sync::Arc::downgrade(&self.globals);
        self.globals.observe(move |name, _| {
            if is_mode(name)
                && let (Some(engine), Some(globals)) = (engine.upgrade(), globals.upgrade())
            {
                engine.set_fence(fence(&globals));
            }
        });
    }
}

impl Session {
    /// SET GLOBAL and SET PERSIST of one of the variables.
    ///
    /// # Errors
    /// 1192 in a transaction or under LOCK TABLES; 1205, 1317 while it waits for others: nothing was set.
    pub(super) async fn set_server_mode(
        &mut self,
        scope: VarScope,
        name: &str,
        input: &VarInput,
    ) -> Result<(), SqlError> {
        let globals = &self.instance.globals;
        let on = vars::lookup(&name.to_ascii_lowercase())
            .and_then(|id| globals.checked(id, input, self.vars.hot().sql_mode).ok())
            .map(|(value, _)| value.as_u64() != 0);
        let all = name.eq_ignore_ascii_case(SUPER_READ_ONLY);
        let wanted = match all {
            true => Fence::AllClients,
            false => Fence::Clients,
        };
        // Who sets it again while another one still waits for branches is answered no sooner.
        let stands = self.engine.engine().fence() >= wanted && !self.engine.branches_may_end();
        let raises = on == Some(true) && !stands;
        if raises && (self.locked.is_some() || self.engine.in_transaction() || self.xa.is_some()) {
            return Err(SqlError::fixed(codes::ER_LOCK_OR_ACTIVE_TRANSACTION));
        }
        if !raises || self.engine.has_server_locked_for_reading() {
            return self.set_mode(scope, name, input, on);
        }
        let was = self.engine.engine().fence();
        let draining = self.engine.drain();
        self.barrier().await?;
        let mut set = self.set_mode(scope, name, input, on);
        self.engine.unlock_server_for_reading();
        if set.is_ok() {
            set = self.engine.let_branches_end().await;
            if set.is_ok() {
                // What has begun to end comes before the answer, and nothing after it.
                set = self.barrier().await;
            }
            if set.is_err() && was < wanted {
                self.put_mode_back(was, name)?;
            }
        }
        drop(draining);
        self.engine.unlock_server_for_reading();
        set
    }

    /// What was set is not to be.
    fn put_mode_back(&mut self, was: Fence, name: &str) -> Result<(), SqlError> {
        self.set_variable(Some(VarScope::Global), name, &VarInput::Int(0))?;
        let value = i64::from(was == Fence::Clients);
        self.set_variable(Some(VarScope::Global), READ_ONLY, &VarInput::Int(value))
    }

    async fn barrier(&mut self) -> Result<(), SqlError> {
        match base::mutant!("fence-raised-beside-commits") {
            true => Ok(()),
            false => self.engine.lock_server_for_reading().await,
        }
    }

    /// Sets a variable, and the other one with it.
    fn set_mode(
        &mut self,
        scope: VarScope,
        name: &str,
        input: &VarInput,
        on: Option<bool>,
    ) -> Result<(), SqlError> {
        self.set_variable(Some(scope), name, input)?;
        let with_it = match (name.eq_ignore_ascii_case(SUPER_READ_ONLY), on) {
            (true, Some(true)) => Some((READ_ONLY, 1)),
            (false, Some(false)) => Some((SUPER_READ_ONLY, 0)),
            _ => None,
        };
        match with_it {
            Some((other, value)) => {
                self.set_variable(Some(VarScope::Global), other, &VarInput::Int(value))
            }
            None => Ok(()),
        }
    }
}
