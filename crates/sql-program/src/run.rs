//! The interpreter: carries a program's code out, and gives conditions to handlers.
//!
//! Must never do: evaluate, read rows or wait by itself: that is the host's.

use sql_parser::ast::HandlerAction;
use types::error::codes;
use types::{Level, SqlError, Value};

use crate::code::{Instruction, Op, Program};
use crate::host::{Host, Raised};

/// Steps after which others have their turn, and the program hears whether it is to end.
const STEPS: u32 = 256;

/// A handler that is at work.
struct Frame {
    handler: u32,
    /// Where a CONTINUE handler goes on.
    resume: usize,
}

/// A program at work.
struct Run<'a> {
    program: &'a Program,
    vars: &'a mut Vec<Value>,
    host: &'a mut dyn Host,
    /// Which cursors are open.
    open: Vec<bool>,
    frames: Vec<Frame>,
}

/// Where the program goes on.
enum Next {
    At(usize),
    Over(Value),
}

/// Carries a program out. `vars` are its variables, the parameters first. Gives what a function has returned.
///
/// # Errors
/// That of the statement that failed, where no handler has taken it.
pub async fn run(
    program: &Program,
    vars: &mut Vec<Value>,
    host: &mut dyn Host,
) -> Result<Option<Value>, SqlError> {
    vars.resize(program.variables.len(), Value::Null);
    let mut r = Run {
        program,
        vars,
        host,
        open: vec![false; program.cursors.len()],
        frames: Vec::new(),
    };
    let outcome = r.all().await;
    let left = r.frames.len();
    r.close_from(0);
    if left > 0 {
        r.host.abandon_handlers(left);
    }
    outcome
}

impl Run<'_> {
    async fn all(&mut self) -> Result<Option<Value>, SqlError> {
        let (mut at, mut steps) = (0, 0);
        while let Some(i) = self.program.code.get(at) {
            steps += 1;
            if steps == STEPS {
                steps = 0;
                self.host.pause().await?;
            }
            match self.step(i, at).await {
                Ok(Next::Over(value)) => return Ok(Some(value)),
                Ok(Next::At(next)) => at = self.warned(i.scope, next),
                Err(e) => {
                    if !self.host.may_catch(&e) {
                        // Whoever ends the program is named before what has failed meanwhile.
                        self.host.pause().await?;
                        return Err(e);
                    }
                    self.host.failed(&e);
                    let condition = Raised {
                        number: e.code,
                        state: e.sqlstate,
                        level: Level::Error,
                    };
                    let found = self.find(i.scope, condition);
                    let Some(handler) = found else { return Err(e) };
                    at = self.enter(handler, condition, after(&i.op, at));
                }
            }
        }
        Ok(None)
    }

    fn find(&self, scope: u32, c: Raised) -> Option<u32> {
        self.program.handler_for(scope, c.number, c.state, c.level)
    }

    /// Where the program goes on after a step that went well: in a handler for the last of its warnings that has one.
    fn warned(&mut self, scope: u32, next: usize) -> usize {
        let raised = self.host.take_raised();
        let with_handler = |c: &Raised| Some((self.find(scope, *c)?, *c));
        // An error among them is what GET DIAGNOSTICS has to say: it has not failed.
        let mut warnings = raised.iter().filter(|c| c.level != Level::Error).rev();
        match warnings.find_map(with_handler) {
            Some((handler, condition)) => self.enter(handler, condition, next),
            None => next,
        }
    }

    fn enter(&mut self, handler: u32, condition: Raised, resume: usize) -> usize {
        self.host.enter_handler(condition);
        self.frames.push(Frame { handler, resume });
        self.program.handlers[handler as usize].entry as usize
    }

    async fn step(&mut self, i: &Instruction, at: usize) -> Result<Next, SqlError> {
        let next = Next::At(at + 1);
        match &i.op {
            Op::Set(slot, expr) | Op::CaseValue { slot, expr, .. } => {
                let value = self.host.assigned(*slot, *expr, self.vars).get().await?;
                self.vars[*slot as usize] = value;
            }
            Op::Null(slot) => self.vars[*slot as usize] = Value::Null,
            Op::Jump(to) => return Ok(Next::At(*to as usize)),
            Op::JumpIfNot { expr, to, .. } => {
                if !self.host.truth(*expr, self.vars).get().await? {
                    return Ok(Next::At(*to as usize));
                }
            }
            Op::NoCase => return Err(SqlError::fixed(codes::ER_SP_CASE_NOT_FOUND)),
            Op::Run(n) => self.host.run(*n, self.vars).await?,
            Op::Open(n) => {
                if self.open[*n as usize] {
                    return Err(SqlError::fixed(codes::ER_SP_CURSOR_ALREADY_OPEN));
                }
                self.host.open(*n, self.vars).await?;
                self.open[*n as usize] = true;
            }
            Op::Fetch(n, slots) => {
                self.is_open(*n)?;
                self.host.fetch(*n, slots, self.vars)?;
            }
            Op::Close(n) => {
                self.is_open(*n)?;
                self.open[*n as usize] = false;
                self.host.close(*n);
            }
            Op::CloseFrom(n) => self.close_from(*n),
            Op::Signal(n) => self.host.signal(*n, self.vars).await?,
            Op::Diagnose(n) => self.host.diagnose(*n, self.vars).await?,
            Op::HandlerEnd(n) => return Ok(Next::At(self.end_handler(*n))),
            Op::Return(expr) => {
                let slot = self.program.variables.len() as u32;
                let value = self.host.assigned(slot, *expr, self.vars).get().await?;
                return Ok(Next::Over(value));
            }
        }
        Ok(next)
    }

    fn is_open(&self, cursor: u32) -> Result<(), SqlError> {
        match self.open[cursor as usize] {
            true => Ok(()),
            false => Err(SqlError::fixed(codes::ER_SP_CURSOR_NOT_OPEN)),
        }
    }

    fn close_from(&mut self, first: u32) {
        for n in first as usize..self.open.len() {
            if std::mem::take(&mut self.open[n]) {
                self.host.close(n as u32);
            }
        }
    }

    /// Where the program goes on behind a handler.
    fn end_handler(&mut self, n: u32) -> usize {
        let resume = self.pop().map_or(0, |f| f.resume);
        let h = &self.program.handlers[n as usize];
        if h.action == HandlerAction::Continue {
            return resume;
        }
        // It may have taken a condition of a handler inside its block: that one is left with it.
        while let Some(f) = self.frames.last() {
            let block = self.program.handlers[f.handler as usize].scope;
            if !self.program.is_within(block, h.scope) {
                break;
            }
            self.pop();
        }
        self.close_from(h.cursors);
        h.after as usize
    }

    fn pop(&mut self) -> Option<Frame> {
        let f = self.frames.pop()?;
        self.host.leave_handler();
        Some(f)
    }
}

/// Where a CONTINUE handler goes on after a step that failed: behind the whole statement where the step is its condition.
fn after(op: &Op, at: usize) -> usize {
    match op {
        Op::JumpIfNot { after, .. } | Op::CaseValue { after, .. } => *after as usize,
        _ => at + 1,
    }
}
