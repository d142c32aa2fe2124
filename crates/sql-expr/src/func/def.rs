//! How a function is declared: its name, how many arguments it takes, and its two `fn`s.

use types::SqlError;

use crate::node::{EvalFn, Expr, FuncDef, InferCx, InferFn, Stability};
use crate::ty::ExprType;

/// No limit on the number of arguments.
pub const MANY: u8 = 255;

pub(crate) const fn def(
    name: &'static str,
    min: u8,
    max: u8,
    infer: InferFn,
    eval: EvalFn,
) -> FuncDef {
    FuncDef {
        name,
        min,
        max,
        infer,
        eval,
        stability: Stability::Pure,
        numbers: false,
    }
}

impl FuncDef {
    pub(super) const fn per_statement(mut self) -> FuncDef {
        self.stability = Stability::Statement;
        self
    }

    pub(super) const fn per_row(mut self) -> FuncDef {
        self.stability = Stability::Row;
        self
    }

    pub(super) const fn of_numbers(mut self) -> FuncDef {
        self.numbers = true;
        self
    }

    pub(super) const fn waits(mut self) -> FuncDef {
        self.stability = Stability::Special;
        self
    }

    /// Whether a call of constants is a constant for good.
    pub fn foldable(&self) -> bool {
        self.stability == Stability::Pure
    }

    /// Whether it may differ from row to row.
    pub fn volatile(&self) -> bool {
        matches!(self.stability, Stability::Row | Stability::Special)
    }

    /// Whether it may have to wait.
    pub fn special(&self) -> bool {
        self.stability == Stability::Special
    }

    /// Checks the number of arguments and infers the type.
    ///
    /// # Errors
    /// 1582 for a wrong number; what the function raises for arguments it cannot take.
    pub fn bind(&self, cx: &InferCx<'_>, args: &mut [Expr]) -> Result<ExprType, SqlError> {
        let n = args.len();
        if n < usize::from(self.min) || (self.max != MANY && n > usize::from(self.max)) {
            return Err(SqlError::wrong_param_count(self.name));
        }
        if self.numbers {
            args.iter_mut().for_each(Expr::make_literal_number);
        }
        let mut ty = (self.infer)(cx, args)?;
        // What a function gives is no literal.
        ty.bits = false;
        Ok(ty)
    }
}

/// The value in an option, or the NULL result of a function that one of its arguments makes NULL.
macro_rules! some {
    ($e:expr) => {
        match $e {
            Some(v) => v,
            None => return Ok(Val::Null),
        }
    };
}
pub(crate) use some;
