//! HANDLER .. READ: the columns of the table, the condition, and the values that are searched for. Which index is read, and from where on, is written
//! as it was asked for: nothing is chosen.

use std::sync::Arc;

use engine::{IndexKind, Table};
use types::SqlError;
use types::error::codes;

use super::source::TableSource;
use super::tree::{Body, BoundBody, DefaultPlan, LimitPlan, TimeLimit, UsedTable};
use super::{BindCtx, StatementBinder};
use crate::sink::ColumnMeta;
use sql_access::needs::{Guarded, Needs};
use sql_expr::bind::Clause;
use sql_expr::{Expr, Node};
use sql_parser::ast::{self, HandlerRows, HandlerSearch};

/// A table that HANDLER .. OPEN has opened.
#[derive(Debug, Clone)]
pub struct HandlerTable {
    /// Its schema.
    pub schema: String,
    /// The table.
    pub name: String,
    /// As it was opened.
    pub alias: String,
}

/// Which rows are read.
pub enum HandlerStart {
    /// From the first one on.
    First,
    /// From the last one down.
    Last,
    /// From where the handler stands on.
    Next,
    /// From where it stands down.
    Previous,
    /// Those of a key, or beyond it.
    Key(HandlerSearch, Vec<HandlerKey>),
}

/// A value that is searched for.
pub enum HandlerKey {
    /// It is given.
    Value(Expr),
    /// `DEFAULT`.
    Default(DefaultPlan),
}

/// HANDLER .. READ, ready to run.
pub struct HandlerPlan {
    needs: Needs,
    /// The table.
    pub table: Arc<Table>,
    /// Its slot.
    pub slot: u16,
    /// The columns of the result.
    pub columns: Arc<[ColumnMeta]>,
    /// Their values.
    pub output: Vec<Expr>,
    /// What is to hold of a row.
    pub conditions: Vec<Expr>,
    /// The index that is read; `None`: the rows as they lie.
    pub index: Option<usize>,
    /// Which rows are read.
    pub start: HandlerStart,
    /// How many of them; one without a limit.
    pub limit: Option<LimitPlan>,
}

impl Guarded for HandlerPlan {
    fn needs(&self) -> &Needs {
        &self.needs
    }
}

impl HandlerPlan {
    /// The table as the engine is asked for it.
    pub fn used(&self) -> UsedTable {
        UsedTable {
            table: Arc::clone(&self.table),
            writes: false,
        }
    }
}

/// Binds HANDLER .. READ.
///
/// # Errors
/// 1146, 1347: the table is not there any more, or is a view now; 1054, 1070, 1176, 1210; what binding the condition fails with.
pub fn read(
    ctx: &BindCtx<'_>,
    opened: &HandlerTable,
    read: &ast::HandlerRead,
) -> Result<HandlerPlan, SqlError> {
    let b = StatementBinder::new(ctx);
    b.handler_read(opened, read)
        .map_err(|e| b.refused_or(e))
        .map(|plan| b.with_needs(plan))
}

/// Error 1210.
fn wrong_arguments() -> SqlError {
    let text = "Incorrect arguments to HANDLER ... READ";
    SqlError::new(codes::ER_WRONG_ARGUMENTS, text)
}

impl StatementBinder<'_> {
    fn with_needs(self, mut plan: HandlerPlan) -> HandlerPlan {
        let body = BoundBody::Do(Box::new(super::tree::BoundBlock::empty(0)));
        plan.needs = self.finish(body, Vec::new(), TimeLimit::Never).facts.needs;
        plan
    }

    fn handler_read(
        &self,
        opened: &HandlerTable,
        read: &ast::HandlerRead,
    ) -> Result<HandlerPlan, SqlError> {
        let factor = ast::TableFactor {
            name: ast::ObjectName {
                schema: Some(opened.schema.as_str().into()),
                name: opened.name.as_str().into(),
            },
            alias: Some(opened.alias.as_str().into()),
            partitions: Vec::new(),
            hints: Vec::new(),
        };
        let select = ast::Select {
            number: 0,
            hints: ast::Hints::default(),
            options: ast::SelectOptions::default(),
            items: vec![ast::SelectItem::Wildcard(None)],
            from: vec![ast::TableRef::Table(Box::new(factor))],
            selection: read.selection.clone(),
            group_by: Vec::new(),
            rollup: false,
            having: None,
            windows: Vec::new(),
        };
        let limit = read.limit.as_deref();
        let (query, columns) = self.select(&select, &[], limit, &[], None, None)?;
        let Body::Block(block) = query.body else {
            return Err(SqlError::internal("a block is expected"));
        };
        let [from] = &block.tables[..] else {
            return Err(SqlError::internal("one table is expected"));
        };
        let TableSource::Engine(table) = &from.source else {
            return Err(SqlError::new(
                codes::ER_WRONG_OBJECT,
                format!("'{}.{}' is not BASE TABLE", opened.schema, opened.name),
            ));
        };
        let index = match &read.index {
            Some(name) => Some(index_of(table, name, &opened.alias)?),
            None => None,
        };
        let start = match &read.rows {
            HandlerRows::First => HandlerStart::First,
            HandlerRows::Last => HandlerStart::Last,
            HandlerRows::Next => HandlerStart::Next,
            HandlerRows::Prev => HandlerStart::Previous,
            HandlerRows::Key(search, values) => {
                let index = index.ok_or_else(wrong_arguments)?;
                HandlerStart::Key(*search, self.handler_key(table, index, values)?)
            }
        };
        Ok(HandlerPlan {
            needs: Needs::default(),
            table: Arc::clone(table),
            slot: from.slot,
            columns: columns.into(),
            output: block.output,
            conditions: block.joins.conds.into_iter().map(|c| c.expr).collect(),
            index,
            start,
            limit: block.limit,
        })
    }

    fn handler_key(
        &self,
        table: &Arc<Table>,
        index: usize,
        values: &[ast::Expr],
    ) -> Result<Vec<HandlerKey>, SqlError> {
        let most = table.key_parts(index).len();
        if values.len() > most {
            return Err(SqlError::new(
                codes::ER_TOO_MANY_KEY_PARTS,
                format!("Too many key parts specified; max {most} parts allowed"),
            ));
        }
        let names = self.table_names(table, self.take_slots(1)?);
        let reads = |e: &Expr| matches!(e.node, Node::Column(_));
        let columns = table.index_columns(index);
        let key = columns.zip(values).map(|(column, value)| {
            if *value == ast::Expr::Default {
                return Ok(HandlerKey::Default(self.default_plan(table, column)?));
            }
            let e = self.bind(value, Clause::Where, &names, &mut Vec::new())?;
            match e.any(&reads) {
                true => Err(wrong_arguments()),
                false => Ok(HandlerKey::Value(e)),
            }
        });
        key.collect()
    }
}

/// An index by its name, the optimizer may use it or not.
fn index_of(table: &Table, name: &str, alias: &str) -> Result<usize, SqlError> {
    let found = table.def.index(name);
    // One that has not each row once has no order of rows.
    let has_rows = |i: &usize| {
        table.def.indexes[*i].kind != IndexKind::Hidden && table.list_part(*i).is_none()
    };
    let found = found.filter(has_rows);
    found.ok_or_else(|| {
        SqlError::new(
            codes::ER_KEY_DOES_NOT_EXITS,
            format!("Key '{name}' doesn't exist in table '{alias}'"),
        )
    })
}
