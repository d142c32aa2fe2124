//! The built-in functions: what they are called, what they take, what they yield. Each module holds one family and a
//! table of its functions; [`find`] looks one up. A function is two plain `fn`s: one infers the result's type when
//! the statement is bound, one computes it for a row.
//!
//! Functions with a syntax of their own (CAST, EXTRACT, TRIM …) come here only where an ordinary call says the same.

mod args;
mod bits;
mod control;
mod datetime;
mod datetime_parts;
mod digest;
mod format;
mod infer;
mod info;
mod json;
mod json_edit;
mod net;
mod numeric;
mod string;
mod string_edit;
mod uuid;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;

use types::SqlError;

use super::node::Expr;
use super::ty::ExprType;
use super::val::Val;
pub(crate) use args::Args;
pub use infer::InferCx;
pub(crate) use infer::{json_type, transcode};
pub(crate) use string::substring_of;

/// Infers the type of a call; may wrap arguments in conversions.
pub type InferFn = fn(&InferCx<'_>, &mut [Expr]) -> Result<ExprType, SqlError>;
/// Computes a call for a row.
pub(crate) type EvalFn = for<'a> fn(Args<'a>) -> Result<Val<'a>, SqlError>;

/// When the same arguments may give another result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stability {
    /// Never.
    Pure,
    /// In another session or statement.
    Statement,
    /// In the next row.
    Row,
    /// As `Row`, and it may have to wait.
    Special,
}

/// A built-in function.
pub struct FuncDef {
    /// Its name in lower case.
    pub name: &'static str,
    /// Fewest arguments.
    pub min: u8,
    /// Most arguments; [`MANY`] for no limit.
    pub max: u8,
    infer: InferFn,
    pub(super) eval: EvalFn,
    stability: Stability,
    /// Its arguments are numbers, hexadecimal and bit literals too.
    numbers: bool,
}

impl std::fmt::Debug for FuncDef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// No limit on the number of arguments.
pub const MANY: u8 = 255;

const fn def(name: &'static str, min: u8, max: u8, infer: InferFn, eval: EvalFn) -> FuncDef {
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
    const fn per_statement(mut self) -> FuncDef {
        self.stability = Stability::Statement;
        self
    }

    const fn per_row(mut self) -> FuncDef {
        self.stability = Stability::Row;
        self
    }

    const fn of_numbers(mut self) -> FuncDef {
        self.numbers = true;
        self
    }

    const fn waits(mut self) -> FuncDef {
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

/// FNV-1a of 32 bits (Fowler, Noll, Vo), for short names of ours: what a client sends is looked up and never kept.
struct NameHasher(u32);

impl Default for NameHasher {
    fn default() -> NameHasher {
        NameHasher(0x811C_9DC5)
    }
}

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.0 = (self.0 ^ u32::from(*b)).wrapping_mul(0x0100_0193);
        }
    }

    fn finish(&self) -> u64 {
        // The map takes its place from the low bits, and a tag from the high ones.
        u64::from(self.0) << 32 | u64::from(self.0)
    }
}

type Functions = HashMap<&'static str, &'static FuncDef, BuildHasherDefault<NameHasher>>;

static TABLE: LazyLock<Functions> = LazyLock::new(|| {
    [
        bits::TABLE,
        control::TABLE,
        uuid::TABLE,
        datetime::TABLE,
        datetime_parts::TABLE,
        digest::TABLE,
        format::TABLE,
        info::TABLE,
        json::TABLE,
        json_edit::TABLE,
        net::TABLE,
        numeric::TABLE,
        string::TABLE,
        string_edit::TABLE,
    ]
    .into_iter()
    .flatten()
    .map(|f| (f.name, f))
    .collect()
});

/// The function of that name, in any case.
pub fn find(name: &str) -> Option<&'static FuncDef> {
    if name.bytes().any(|b| b.is_ascii_uppercase()) {
        TABLE.get(name.to_ascii_lowercase().as_str()).copied()
    } else {
        TABLE.get(name).copied()
    }
}

/// The names of all functions, for completion and documentation.
pub fn names() -> impl Iterator<Item = &'static str> {
    TABLE.keys().copied()
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
