//! Stored programs at work: CALL, and what the interpreter asks of its session.
//!
//! Never here: what a program's code means (`sql_program`), what a statement of it does.

mod conditions;
mod enter;
mod host;
mod plans;
mod rows;
mod values;

use std::sync::Arc;

use engine::{ObjectDef, ObjectKind};
use types::depth::room;
use types::error::codes;
use types::{DataType, SqlError, Value};

use crate::command::program::loaded as loaded_of;
use crate::context::Session;
use crate::context::programs::{Given, Loaded};
use host::Running;
use sql_access::Granted;
use sql_expr::{ExprType, UserVar, Val};
use sql_parser::ast::{CallStatement, Expr, ObjectName, ParamMode};
use sql_plan::sink::{Done, ResultSink};
use values::stored;

/// Programs that may call each other in a row, whatever the limit of recursion is.
const DEEPEST: usize = 300;
/// As many fit on a thread's own stack.
const SHALLOW: usize = 4;

/// Where what a procedure gives back goes.
enum Back {
    /// It gives nothing.
    Nowhere,
    /// To a user variable.
    User(Box<str>),
    /// To a parameter of the statement: a variable of the program that calls, or what the client has a place for.
    Param(u32),
}

impl Session {
    /// The procedure of a name.
    ///
    /// # Errors
    /// 1046, 1305.
    fn procedure(&mut self, name: &ObjectName) -> Result<Arc<ObjectDef>, SqlError> {
        let schema = self.schema_or_current(name.schema.as_deref())?;
        let lower = name.name.to_lowercase();
        let catalog = self.engine.catalog();
        let found = catalog.object(ObjectKind::Procedure, &schema, &lower);
        found.cloned().ok_or_else(|| {
            SqlError::new(
                codes::ER_SP_DOES_NOT_EXIST,
                format!("PROCEDURE {schema}.{} does not exist", name.name),
            )
        })
    }

    /// CALL. `params` are the values of the statement's parameters: those of a prepared one, or the variables of the program that calls; `types` are the types of
    /// the latter. Where a procedure gives something back to a parameter, the caller finds it in `programs.given`.
    pub(crate) async fn call(
        &mut self,
        _: &Granted,
        call: &CallStatement,
        params: &[Value],
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        self.programs.given.clear();
        if !self.programs.is_running() {
            // What it reports is its own.
            self.facts.row_count = 0;
        }
        let object = self.procedure(&call.name)?;
        let loaded = loaded_of(self, &object)?;
        self.check_depth(&loaded).await?;
        if call.args.len() != loaded.params.len() {
            return Err(SqlError::new(
                codes::ER_SP_WRONG_NO_OF_ARGS,
                format!(
                    "Incorrect number of arguments for PROCEDURE {}; expected {}, got {}",
                    loaded.full_name(),
                    loaded.params.len(),
                    call.args.len()
                ),
            ));
        }
        let (mut vars, back) = self.arguments(call, &loaded, params).await?;
        self.run_program(&loaded, &mut vars, sink).await?;
        self.give_back(&loaded, back, &vars);
        // What functions report is that of the last statement.
        let affected = u64::try_from(self.facts.row_count).unwrap_or(0);
        Ok(Done {
            affected,
            ..Done::default()
        })
    }

    /// Refuses recursion that goes too deep, and sees to a stack that has room for what is called.
    ///
    /// # Errors
    /// 1456, 1436.
    async fn check_depth(&mut self, loaded: &Loaded) -> Result<(), SqlError> {
        let limit = self.vars.value_by_name("max_sp_recursion_depth");
        let limit = limit.map_or(0, |v| v.as_u64());
        if self.programs.depth_of(loaded) as u64 > limit {
            return Err(SqlError::new(
                codes::ER_SP_RECURSION_LIMIT,
                format!(
                    "Recursive limit {limit} (as set by the max_sp_recursion_depth variable) was exceeded for routine {}",
                    loaded.def.name
                ),
            ));
        }
        let depth = self.programs.running.len();
        if depth >= SHALLOW && !room::is_here() {
            room::more().await;
        }
        match depth >= DEEPEST || depth >= SHALLOW && !room::is_here() {
            true => Err(room::too_deep()),
            false => Ok(()),
        }
    }

    /// The variables that a procedure begins with, and where it gives back what.
    ///
    /// # Errors
    /// 1414; what computing an argument fails with, or converting it.
    async fn arguments(
        &mut self,
        call: &CallStatement,
        loaded: &Loaded,
        params: &[Value],
    ) -> Result<(Vec<Value>, Vec<Back>), SqlError> {
        let mut vars = Vec::with_capacity(loaded.types.len());
        let mut back = Vec::with_capacity(call.args.len());
        for (i, (arg, p)) in call.args.iter().zip(&loaded.params).enumerate() {
            back.push(match (p.mode, arg) {
                (ParamMode::In, _) => Back::Nowhere,
                (_, Expr::UserVar(name)) => Back::User(name.clone()),
                (_, Expr::Param(n)) => Back::Param(*n),
                _ => {
                    return Err(SqlError::new(
                        codes::ER_SP_NOT_VAR_ARG,
                        format!(
                            "OUT or INOUT argument {} for routine {} is not a variable or NEW pseudo-variable in BEFORE trigger",
                            i + 1,
                            loaded.full_name()
                        ),
                    ));
                }
            });
            if p.mode == ParamMode::Out {
                vars.push(Value::Null);
                continue;
            }
            let (value, ty) = self.value_of(arg, params).await?;
            let value = self.with_ctx(Session::NO_PARAMS, |cx| {
                stored(cx, &value, &ty, loaded.types[i].as_ref(), &p.name)
            })?;
            vars.push(value);
        }
        Ok((vars, back))
    }

    /// The value of an expression that may have to be planned.
    async fn value_of(
        &mut self,
        expr: &Expr,
        params: &[Value],
    ) -> Result<(Val<'static>, ExprType), SqlError> {
        loop {
            match self.eval(expr, params).await {
                // It was bound, and has done nothing.
                Err(e) if types::depth::is_too_deep(&e) && room::more().await => {}
                done => return done,
            }
        }
    }

    fn give_back(&mut self, loaded: &Loaded, back: Vec<Back>, vars: &[Value]) {
        for (i, to) in back.into_iter().enumerate() {
            let Some(ty) = &loaded.types[i] else { continue };
            match to {
                Back::Nowhere => {}
                Back::User(name) => self.set_user_value(&name, &vars[i], ty),
                Back::Param(place) => self.programs.given.push(Given {
                    place,
                    name: loaded.params[i].name.clone(),
                    ty: ty.clone(),
                    value: vars[i].clone(),
                }),
            }
        }
    }

    /// Gives a user variable the value of a variable of that type.
    pub(crate) fn set_user_value(&mut self, name: &str, value: &Value, ty: &DataType) {
        let var = UserVar {
            value: Val::from(value.as_ref()).into_owned(),
            ty: ExprType::of_column(ty, true),
        };
        self.user_vars.lock().set(name, var);
    }

    /// Runs a program in the settings that it was made under, and with the rights that it is to have.
    async fn run_program(
        &mut self,
        loaded: &Arc<Loaded>,
        vars: &mut Vec<Value>,
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        let entered = self.enter_program(loaded)?;
        let outcome = {
            let mut host = Running::new(self, Arc::clone(loaded), sink);
            sql_program::run(&loaded.program, vars, &mut host).await
        };
        self.leave_program(entered);
        outcome?;
        self.engine.interrupt().check()
    }
}
