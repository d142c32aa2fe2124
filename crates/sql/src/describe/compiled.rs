//! From a routine's definition to its code: how it is checked when it is made, and read again by each session that runs or shows it.
//!
//! Must never do: look at anything but the definition.

use types::collation::CollationId;
use types::depth::room::within_a_thread;
use types::{DataType, SqlError, Warning};

use crate::context::parse_error;
use crate::context::routine_def::RoutineDef;
use sql_expr::column_type::{TypeCtx, resolve};
use sql_expr::vars::{self, SqlMode};
use sql_parser::ast::{CreateRoutine, Statement};
use sql_program::code::Program;
use sql_program::{Kind, Source, compile};

/// What a definition is compiled to.
pub(crate) struct Compiled {
    /// Its tree.
    pub routine: Box<CreateRoutine>,
    /// Its code.
    pub program: Program,
    /// The types of its variables.
    pub types: Vec<Option<DataType>>,
    /// What there is to be said of these.
    pub warnings: Vec<Warning>,
}

/// Compiles a definition.
///
/// # Errors
/// What MySQL refuses when a program is made; errors of types.
pub(crate) fn compiled(def: &RoutineDef) -> Result<Compiled, SqlError> {
    let text = def.readable();
    let parsed = within_a_thread(|| sql_parser::parse_one(text.as_bytes(), &def.options()));
    let routine = match parsed {
        Ok((Statement::CreateRoutine(r), _)) => r,
        Ok(_) => return Err(SqlError::internal("a routine whose text is something else")),
        Err(e) => return Err(parse_error(&e)),
    };
    let program = compile(&Source {
        kind: match def.function {
            true => Kind::Function,
            false => Kind::Procedure,
        },
        params: &routine.params,
        body: &routine.body,
        text: text.as_bytes(),
        is_variable: &|name| vars::lookup(&name.to_ascii_lowercase()).is_some(),
    })?;
    let collation = CollationId::by_name(&def.db_collation).unwrap_or(CollationId::DEFAULT);
    let mut warnings = Vec::new();
    let mut ctx = TypeCtx {
        collation,
        strict: SqlMode::from_bits(def.sql_mode).strict(),
        warnings: &mut warnings,
    };
    let mut types = Vec::with_capacity(program.variables.len());
    for v in &program.variables {
        let Some((written, collate)) = &v.ty else {
            types.push(None);
            continue;
        };
        let ty = resolve(&v.name, written, collate.as_deref(), &mut ctx)?;
        types.push(Some(match ty {
            // It is no column: there is no zone that its value would be kept in.
            DataType::Timestamp(digits) => DataType::DateTime(digits),
            other => other,
        }));
    }
    Ok(Compiled {
        routine,
        program,
        types,
        warnings,
    })
}
