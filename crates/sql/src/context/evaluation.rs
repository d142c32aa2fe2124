//! Expressions evaluated for the session, and the warnings they leave.

use types::{SqlError, Value, Warning};

use super::Session;
use sql_expr::EvalCtx;

impl Session {
    /// The statement's time: `@@timestamp` where it is set, else the clock.
    pub(crate) fn now_micros(&self) -> i64 {
        self.fixed_timestamp
            .unwrap_or_else(|| self.instance.clock.wall_us())
    }

    /// Runs `f` with a context to evaluate expressions in, and keeps the warnings it leaves.
    pub(crate) fn with_ctx<R>(
        &mut self,
        params: &[Value],
        f: impl FnOnce(&EvalCtx<'_>) -> Result<R, SqlError>,
    ) -> Result<R, SqlError> {
        let now = self.now_micros();
        let (r, warnings, total) = {
            let mut cx = EvalCtx::new(&self.facts, &self.vars, &self.user_vars, params, now);
            cx.param_types = &self.programs.types;
            let r = f(&cx);
            let (w, n) = cx.take_warnings();
            (r, w, n)
        };
        self.keep_warnings(warnings, total);
        r
    }

    /// Takes over the warnings of an evaluation, `total` with those that it did not keep.
    pub(crate) fn keep_warnings(&mut self, warnings: Vec<Warning>, total: u64) {
        if total > 0 {
            let max = self.vars.hot().max_error_count;
            self.diagnostics.absorb(warnings, total, max);
        }
    }
}
