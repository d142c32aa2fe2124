//! Statements of SQL in a body: which may stand there, where their values go, SET, SIGNAL and GET DIAGNOSTICS.

use std::sync::Arc;

use sql_parser::ast::{
    self, Expr, GetDiagnostics, IntoVariable, ObjectKind, SelectInto, SetItem, Span, Statement,
};
use types::SqlError;
use types::error::codes;

use super::{Compiler, undeclared};
use crate::code::{Diagnose, Op, Signal, Sql, Target};
use crate::condition::{check_asked, check_items};

impl Compiler<'_> {
    pub(super) fn sql(&mut self, statement: &Statement, span: Span) -> Result<(), SqlError> {
        refuse(statement)?;
        let text: Arc<[u8]> = span.of(self.text).into();
        match statement {
            Statement::Set(items) => self.set(items, &text),
            Statement::Query(q) if names_variables(q) => {
                let mut query = (**q).clone();
                let into = match query.into.take().map(|i| *i) {
                    Some(SelectInto::Variables(list)) => list,
                    _ => Vec::new(),
                };
                let targets: Result<Vec<_>, _> = into.iter().map(|v| self.target(v)).collect();
                let targets = targets?;
                self.run(Statement::Query(Box::new(query)), text, Some(targets));
                Ok(())
            }
            other => {
                self.run(other.clone(), text, None);
                Ok(())
            }
        }
    }

    fn run(&mut self, statement: Statement, text: Arc<[u8]>, into: Option<Vec<Target>>) {
        let part = self.statement_part(statement);
        self.program.statements.push(Sql {
            part,
            text,
            into: into.map(Into::into),
        });
        let n = self.program.statements.len() as u32 - 1;
        self.emit(Op::Run(n));
    }

    fn target(&self, v: &IntoVariable) -> Result<Target, SqlError> {
        match v {
            IntoVariable::User(name) => Ok(Target::User(name.clone())),
            IntoVariable::Local(c) if c.qualifier.is_none() => {
                self.declared(&c.name).map(Target::Slot)
            }
            IntoVariable::Local(c) => Err(undeclared(&c.name)),
        }
    }

    /// SET: an assignment to a variable of the program is a step of its own, in the order of the text.
    fn set(&mut self, items: &[SetItem], text: &Arc<[u8]>) -> Result<(), SqlError> {
        let mut others = Vec::new();
        for item in items {
            let SetItem::Variable {
                scope: None,
                at_at: false,
                prefix: None,
                name,
                value,
            } = item
            else {
                others.push(item.clone());
                continue;
            };
            let Some(slot) = self.find(name) else {
                if !(self.is_variable)(name) {
                    return Err(SqlError::unknown_system_variable(name));
                }
                others.push(item.clone());
                continue;
            };
            self.set_others(&mut others, text);
            if matches!(value, Expr::Default) {
                return Err(SqlError::parse_error("DEFAULT", 1));
            }
            let expr = self.expr(value);
            self.emit(Op::Set(slot, expr));
        }
        self.set_others(&mut others, text);
        Ok(())
    }

    fn set_others(&mut self, others: &mut Vec<SetItem>, text: &Arc<[u8]>) {
        if !others.is_empty() {
            let statement = Statement::Set(std::mem::take(others));
            self.run(statement, Arc::clone(text), None);
        }
    }

    pub(super) fn signal(&mut self, s: &ast::Signal, again: bool) -> Result<(), SqlError> {
        let condition = s
            .condition
            .as_ref()
            .map(|c| self.signalled(c))
            .transpose()?;
        let items = check_items(s.items.iter().map(|(name, _)| &**name))?;
        let values = s.items.iter().map(|(_, e)| self.part(e));
        let items = items.into_iter().zip(values).collect();
        self.program.signals.push(Signal {
            condition,
            again,
            items,
        });
        let n = self.program.signals.len() as u32 - 1;
        self.emit(Op::Signal(n));
        Ok(())
    }

    pub(super) fn diagnose(&mut self, g: &GetDiagnostics) -> Result<(), SqlError> {
        check_asked(
            g.condition.is_some(),
            g.items.iter().map(|(_, item)| &**item),
        )?;
        let mut items = Vec::with_capacity(g.items.len());
        for (target, item) in &g.items {
            let target = match target {
                Expr::UserVar(name) => Target::User(name.clone()),
                Expr::Column(c) if c.qualifier.is_none() => Target::Slot(self.declared(&c.name)?),
                Expr::Column(c) => return Err(undeclared(&c.name)),
                _ => return Err(SqlError::parse_error("", 1)),
            };
            items.push((target, item.clone()));
        }
        let condition = g.condition.as_ref().map(|e| self.part(e));
        self.program.diagnoses.push(Diagnose {
            stacked: g.stacked,
            condition,
            items,
        });
        let n = self.program.diagnoses.len() as u32 - 1;
        self.emit(Op::Diagnose(n));
        Ok(())
    }
}

/// Whether a query gives its row to variables of the program.
fn names_variables(q: &ast::Query) -> bool {
    matches!(q.into.as_deref(), Some(SelectInto::Variables(list))
        if list.iter().any(|v| matches!(v, IntoVariable::Local(_))))
}

/// Refuses what may not stand in a stored program.
///
/// # Errors
/// 1303, 1314, 1357.
fn refuse(statement: &Statement) -> Result<(), SqlError> {
    let not_allowed = |what: &str| {
        Err(SqlError::new(
            codes::ER_SP_BADSTATEMENT,
            format!("{what} is not allowed in stored procedures"),
        ))
    };
    let no_create = |what: &str| {
        Err(SqlError::new(
            codes::ER_SP_NO_RECURSIVE_CREATE,
            format!("Can't create a {what} from within another stored routine"),
        ))
    };
    let no_drop = |what: &str| {
        Err(SqlError::new(
            codes::ER_SP_NO_DROP_SP,
            format!("Can't drop or alter a {what} from within another stored routine"),
        ))
    };
    match statement {
        Statement::Use(_) => not_allowed("USE"),
        Statement::LockTables(_) => not_allowed("LOCK"),
        Statement::UnlockTables => not_allowed("UNLOCK"),
        Statement::LoadData(l) if l.xml => not_allowed("LOAD XML"),
        Statement::LoadData(_) => not_allowed("LOAD DATA"),
        Statement::Handler(_) => not_allowed("HANDLER"),
        Statement::CreateView(v) if v.alter => not_allowed("ALTER VIEW"),
        Statement::Binlog(_) => not_allowed("BINLOG"),
        Statement::LockInstance(_) => not_allowed("LOCK INSTANCE"),
        Statement::Shutdown => not_allowed("SHUTDOWN"),
        Statement::Restart => not_allowed("RESTART"),
        Statement::CreateRoutine(r) if r.returns.is_some() => no_create("FUNCTION"),
        Statement::CreateRoutine(_) => no_create("PROCEDURE"),
        Statement::CreateLoadableFunction(_) => no_create("FUNCTION"),
        Statement::CreateTrigger(_) => no_create("TRIGGER"),
        Statement::CreateEvent(_) => no_create("EVENT"),
        Statement::AlterRoutine(r) if r.function => no_drop("FUNCTION"),
        Statement::AlterRoutine(_) => no_drop("PROCEDURE"),
        Statement::DropObject {
            kind: ObjectKind::Function,
            ..
        } => no_drop("FUNCTION"),
        Statement::DropObject {
            kind: ObjectKind::Procedure,
            ..
        } => no_drop("PROCEDURE"),
        _ => Ok(()),
    }
}
