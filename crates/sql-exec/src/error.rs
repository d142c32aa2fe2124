//! Why a plan did not come to its end.

use types::SqlError;
use types::error::codes;

/// Why a plan did not come to its end.
#[derive(Debug)]
pub enum ExecError {
    /// A table is no longer what it was when the plan was made. Nothing was done: plan again.
    Stale,
    /// The statement's error.
    Sql(SqlError),
}

impl ExecError {
    /// What is left for whoever plans again: nothing where the plan was stale, or else the outcome.
    pub fn unless_stale<T>(outcome: Result<T, ExecError>) -> Option<Result<T, SqlError>> {
        match outcome {
            Ok(v) => Some(Ok(v)),
            Err(ExecError::Sql(e)) => Some(Err(e)),
            Err(ExecError::Stale) => None,
        }
    }
}

impl From<SqlError> for ExecError {
    fn from(e: SqlError) -> ExecError {
        ExecError::Sql(e)
    }
}

/// For whoever cannot plan again.
impl From<ExecError> for SqlError {
    fn from(e: ExecError) -> SqlError {
        match e {
            ExecError::Sql(e) => e,
            ExecError::Stale => SqlError::fixed(codes::ER_NEED_REPREPARE),
        }
    }
}
