//! Stored programs: triggers, routines, events and the statements their bodies are made of.

use super::{Account, DataType, Expr, IntervalUnit, Name, ObjectName, Query, Span, Statement};

/// `CREATE TRIGGER`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTrigger {
    /// `DEFINER =`.
    pub definer: Option<Account>,
    /// `IF NOT EXISTS` was given.
    pub if_not_exists: bool,
    /// The trigger.
    pub name: ObjectName,
    /// `BEFORE` rather than `AFTER`.
    pub before: bool,
    /// What fires it.
    pub event: TriggerEvent,
    /// On which table.
    pub table: ObjectName,
    /// `FOLLOWS x` (`true`) or `PRECEDES x`.
    pub order: Option<(bool, Name)>,
    /// The body.
    pub body: Box<ProgramStatement>,
    /// The body's text.
    pub body_span: Span,
}

/// What fires a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerEvent {
    /// `INSERT`
    Insert,
    /// `UPDATE`
    Update,
    /// `DELETE`
    Delete,
}

/// Which way a parameter goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParamMode {
    /// `IN`
    In,
    /// `OUT`
    Out,
    /// `INOUT`
    InOut,
}

/// A routine's parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct RoutineParam {
    /// Which way; `In` for functions.
    pub mode: ParamMode,
    /// Its name.
    pub name: Name,
    /// Its type.
    pub data_type: DataType,
    /// `COLLATE`.
    pub collation: Option<Name>,
}

/// Characteristics of a routine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RoutineTraits {
    /// `COMMENT`.
    pub comment: Option<Box<[u8]>>,
    /// `[NOT] DETERMINISTIC`.
    pub deterministic: Option<bool>,
    /// `CONTAINS SQL`, `NO SQL`, `READS SQL DATA`, `MODIFIES SQL DATA`.
    pub data_access: Option<Name>,
    /// `SQL SECURITY INVOKER` (`Some(true)`) or `DEFINER`.
    pub invoker: Option<bool>,
}

/// `CREATE PROCEDURE` and `CREATE FUNCTION`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateRoutine {
    /// `DEFINER =`.
    pub definer: Option<Account>,
    /// `IF NOT EXISTS` was given.
    pub if_not_exists: bool,
    /// The routine.
    pub name: ObjectName,
    /// Its parameters.
    pub params: Vec<RoutineParam>,
    /// `RETURNS type [COLLATE c]`: a function.
    pub returns: Option<(DataType, Option<Name>)>,
    /// Its characteristics.
    pub traits: RoutineTraits,
    /// The body.
    pub body: Box<ProgramStatement>,
    /// The body's text.
    pub body_span: Span,
    /// The parameter list's text, without the parentheses.
    pub params_span: Span,
}

/// `ALTER PROCEDURE` and `ALTER FUNCTION`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlterRoutine {
    /// A function rather than a procedure.
    pub function: bool,
    /// The routine.
    pub name: ObjectName,
    /// New characteristics.
    pub traits: RoutineTraits,
}

/// `CREATE [AGGREGATE] FUNCTION f RETURNS type SONAME 'lib'`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateLoadableFunction {
    /// `AGGREGATE` was given.
    pub aggregate: bool,
    /// The function.
    pub name: Name,
    /// The library.
    pub library: Box<[u8]>,
}

/// When an event runs.
#[derive(Debug, Clone, PartialEq)]
pub enum EventSchedule {
    /// `AT x`
    At(Expr),
    /// `EVERY n unit [STARTS x] [ENDS x]`
    Every {
        /// How many units.
        amount: Expr,
        /// The unit.
        unit: IntervalUnit,
        /// `STARTS`.
        starts: Option<Expr>,
        /// `ENDS`.
        ends: Option<Expr>,
    },
}

/// Whether an event runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventStatus {
    /// `ENABLE`
    Enable,
    /// `DISABLE`
    Disable,
    /// `DISABLE ON SLAVE | REPLICA`
    DisableOnReplica,
}

/// `CREATE EVENT`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateEvent {
    /// `DEFINER =`.
    pub definer: Option<Account>,
    /// `IF NOT EXISTS` was given.
    pub if_not_exists: bool,
    /// The event.
    pub name: ObjectName,
    /// When.
    pub schedule: EventSchedule,
    /// `ON COMPLETION PRESERVE` (`Some(true)`) or `NOT PRESERVE`.
    pub preserve: Option<bool>,
    /// `ENABLE`, `DISABLE`.
    pub status: Option<EventStatus>,
    /// `COMMENT`.
    pub comment: Option<Box<[u8]>>,
    /// The body.
    pub body: Box<ProgramStatement>,
    /// The body's text.
    pub body_span: Span,
}

/// `ALTER EVENT`.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterEvent {
    /// `DEFINER =`.
    pub definer: Option<Account>,
    /// The event.
    pub name: ObjectName,
    /// `ON SCHEDULE`.
    pub schedule: Option<EventSchedule>,
    /// `ON COMPLETION`.
    pub preserve: Option<bool>,
    /// `RENAME TO`.
    pub rename: Option<ObjectName>,
    /// `ENABLE`, `DISABLE`.
    pub status: Option<EventStatus>,
    /// `COMMENT`.
    pub comment: Option<Box<[u8]>>,
    /// `DO body` and its text.
    pub body: Option<(Box<ProgramStatement>, Span)>,
}

/// A statement inside a stored program.
#[derive(Debug, Clone, PartialEq)]
pub enum ProgramStatement {
    /// An ordinary statement, with its text.
    Sql(Box<Statement>, Span),
    /// `[label:] BEGIN .. END`
    Block(Box<Block>),
    /// `IF c THEN .. ELSEIF .. ELSE .. END IF`
    If {
        /// Conditions and what they guard.
        arms: Vec<(Expr, Vec<ProgramStatement>)>,
        /// `ELSE`.
        otherwise: Vec<ProgramStatement>,
    },
    /// `CASE [x] WHEN .. THEN .. ELSE .. END CASE`
    Case {
        /// The compared value in the simple form.
        operand: Option<Expr>,
        /// Conditions and what they guard.
        arms: Vec<(Expr, Vec<ProgramStatement>)>,
        /// `ELSE`; `None` raises 1339 where nothing matched.
        otherwise: Option<Vec<ProgramStatement>>,
    },
    /// `[label:] LOOP .. END LOOP`
    Loop(Option<Name>, Vec<ProgramStatement>),
    /// `[label:] WHILE c DO .. END WHILE`
    While(Option<Name>, Expr, Vec<ProgramStatement>),
    /// `[label:] REPEAT .. UNTIL c END REPEAT`
    Repeat(Option<Name>, Vec<ProgramStatement>, Expr),
    /// `LEAVE label`
    Leave(Name),
    /// `ITERATE label`
    Iterate(Name),
    /// `RETURN x`
    Return(Expr),
    /// `OPEN cursor`
    Open(Name),
    /// `CLOSE cursor`
    Close(Name),
    /// `FETCH [[NEXT] FROM] cursor INTO a, b`
    Fetch(Name, Vec<Name>),
    /// `SIGNAL ..`
    Signal(Signal),
    /// `RESIGNAL ..`
    Resignal(Signal),
    /// `GET [CURRENT | STACKED] DIAGNOSTICS ..`
    GetDiagnostics(Box<GetDiagnostics>),
}

/// `BEGIN .. END` with its declarations.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Its label.
    pub label: Option<Name>,
    /// `DECLARE`s, in order.
    pub declarations: Vec<Declaration>,
    /// The statements.
    pub body: Vec<ProgramStatement>,
}

/// A `DECLARE`.
#[derive(Debug, Clone, PartialEq)]
pub enum Declaration {
    /// `DECLARE a, b type [DEFAULT x]`
    Variables {
        /// The variables.
        names: Vec<Name>,
        /// Their type.
        data_type: DataType,
        /// `COLLATE`.
        collation: Option<Name>,
        /// `DEFAULT`.
        default: Option<Expr>,
    },
    /// `DECLARE name CONDITION FOR ..`
    Condition(Name, ConditionValue),
    /// `DECLARE name CURSOR FOR SELECT ..`
    Cursor(Name, Box<Query>),
    /// `DECLARE CONTINUE | EXIT | UNDO HANDLER FOR .. statement`
    Handler {
        /// What happens afterwards.
        action: HandlerAction,
        /// For which conditions.
        conditions: Vec<ConditionValue>,
        /// What it does.
        body: Box<ProgramStatement>,
    },
}

/// What happens after a handler ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandlerAction {
    /// `CONTINUE`
    Continue,
    /// `EXIT`
    Exit,
    /// `UNDO`
    Undo,
}

/// A condition a handler or signal names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConditionValue {
    /// A server error number.
    Error(u64),
    /// `SQLSTATE [VALUE] 'xxxxx'`
    SqlState(Box<[u8]>),
    /// A declared name.
    Named(Name),
    /// `SQLWARNING`
    SqlWarning,
    /// `NOT FOUND`
    NotFound,
    /// `SQLEXCEPTION`
    SqlException,
}

/// `SIGNAL` / `RESIGNAL`.
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    /// What is raised; only `RESIGNAL` may leave it out.
    pub condition: Option<ConditionValue>,
    /// `SET item = value, ..`: items in upper case.
    pub items: Vec<(Name, Expr)>,
}

/// `GET DIAGNOSTICS ..`.
#[derive(Debug, Clone, PartialEq)]
pub struct GetDiagnostics {
    /// `STACKED` rather than `CURRENT`.
    pub stacked: bool,
    /// `CONDITION n`; statement information otherwise.
    pub condition: Option<Expr>,
    /// `target = item`: the target as an expression (variable or user variable), the item upper case.
    pub items: Vec<(Expr, Name)>,
}
