//! What a table's definition says of its rows, bound: the expressions of its generated columns and the conditions of its CHECK
//! constraints. They read one row of the table and nothing else, whatever the statement is.

use engine::{ColumnDef, TableDef};
use types::convert::ConvertMode;
use types::{CollationId, DataType, SqlError};

use sql_expr::bind::{Binder, Clause, Resolved, ResolvedColumn, Scope, column_text};
use sql_expr::func::json_list;
use sql_expr::{EvalCtx, Expr, ExprType, Node, Shape};
use sql_parser::{Options, ast, parse_expr};

/// The slot under which the expressions read the row.
pub const ROW: u16 = 0;

/// What is to hold of the rows that a statement writes.
#[derive(Debug, Clone, Default)]
pub struct RowRules {
    /// Generated columns that change with it, in the order in which they are computed.
    pub generated: Vec<(u16, Expr)>,
    /// Names and conditions of the CHECK constraints that a row could violate.
    pub checks: Vec<(Box<str>, Expr)>,
    /// Full names of views and the conditions of their CHECK OPTION.
    pub views: Vec<(Box<str>, Expr)>,
}

impl RowRules {
    /// The rules of a table for rows of which those columns change that `changes` says.
    ///
    /// # Errors
    /// What binding says of an expression.
    pub fn of(
        def: &TableDef,
        changes: &dyn Fn(u16) -> bool,
        cx: &EvalCtx<'_>,
    ) -> Result<RowRules, SqlError> {
        let mut rules = RowRules::default();
        let computed = def.columns.iter().any(|c| c.generated.is_some());
        if !computed && def.checks.iter().all(|c| !c.enforced) {
            return Ok(rules);
        }
        let mut changed: Vec<bool> = (0..def.columns.len() as u16).map(changes).collect();
        for (at, c) in def.columns.iter().enumerate() {
            let Some(g) = &c.generated else { continue };
            let e = bound(&g.expr, &def.columns, cx)?;
            if reads(&e, &changed) {
                changed[at] = true;
                rules.generated.push((at as u16, e));
            }
        }
        for c in def.checks.iter().filter(|c| c.enforced) {
            let e = bound(&c.clause, &def.columns, cx)?;
            if reads(&e, &changed) {
                rules.checks.push((c.name.as_str().into(), e));
            }
        }
        Ok(rules)
    }

    /// Whether it is a generated column that changes.
    pub fn generates(&self, column: u16) -> bool {
        self.generated.iter().any(|(c, _)| *c == column)
    }
}

/// Whether a value depends on one of the columns. What reads none at all is taken to depend on each.
fn reads(e: &Expr, changed: &[bool]) -> bool {
    let (mut any, mut one) = (false, false);
    e.walk(&mut |x| {
        if let Node::Column(c) = &x.node {
            any = true;
            one |= changed.get(usize::from(c.ordinal)) == Some(&true);
        }
        true
    });
    one || !any
}

/// An expression that was kept as text, bound to the columns of a row.
///
/// # Errors
/// What binding says of it.
pub fn bound(text: &str, columns: &[ColumnDef], cx: &EvalCtx<'_>) -> Result<Expr, SqlError> {
    let e = parse_expr(text.as_bytes(), &Options::default());
    let e = e.map_err(|_| SqlError::internal("an expression that was kept and cannot be read"))?;
    let mut row = RowOf(columns);
    let mut binder = Binder::new(cx, &mut row, Clause::FieldList);
    // Of a multi-valued key part, and of nothing else that is kept.
    if let ast::Expr::Cast(c) = &e
        && c.array
    {
        let elements = json_list::element_type(&c.target)?;
        return Ok(json_list::list_of(binder.bind(&c.expr)?, &elements));
    }
    binder.bind(&e)
}

/// The type in which a column keeps each value of an expression as it is; `None` where there is none.
pub fn stored_type(ty: &ExprType) -> Option<DataType> {
    Some(match ty.shape {
        Shape::Null | Shape::Row(_) => return None,
        // Digits that are fixed would round what the expression does not.
        Shape::Float { .. } => DataType::Float {
            unsigned: false,
            digits: None,
        },
        Shape::Double { .. } => DataType::Double {
            unsigned: false,
            digits: None,
        },
        Shape::Str { chars, .. } | Shape::Enum { chars } | Shape::Set { chars } => {
            let collation = ty.collation;
            match ty.to_data_type() {
                t if t.is_lob() => t,
                _ if collation.is_binary() => DataType::VarBinary(chars),
                _ => DataType::VarChar { chars, collation },
            }
        }
        _ => match ty.to_data_type() {
            DataType::Int {
                width, unsigned, ..
            } => DataType::Int {
                width,
                unsigned,
                zerofill: false,
                display: 0,
            },
            t => t,
        },
    })
}

/// A functional key part has what its expression gives, whatever dates the session allows: plans rely on it.
pub fn exact_mode(mode: &ConvertMode) -> ConvertMode {
    ConvertMode {
        no_zero_date: false,
        no_zero_in_date: false,
        invalid_dates: true,
        ..*mode
    }
}

/// The columns that an expression reads which was kept as text.
pub fn columns_read(text: &str, def: &TableDef) -> Vec<u16> {
    let mut read = Vec::new();
    if let Ok(mut e) = parse_expr(text.as_bytes(), &Options::default()) {
        // It fails at nothing.
        let _: Result<(), ()> = e.walk_mut(&mut |e| {
            let column = e.column_mut().and_then(|c| def.column(&c.name));
            read.extend(column.map(|c| c as u16));
            Ok(())
        });
    }
    read
}

/// The columns of the row.
struct RowOf<'a>(&'a [ColumnDef]);

impl Scope for RowOf<'_> {
    /// Whoever uses the table, what a definition says is the same: text that functions such as DATE_FORMAT make of
    /// what is none has one collation, and not that of the connection.
    fn kept_under(&self) -> Option<CollationId> {
        Some(CollationId::DEFAULT)
    }

    fn column(&mut self, name: &ast::ColumnRef, clause: Clause) -> Result<Resolved, SqlError> {
        let at = self.0.iter().position(|c| c.is_named(&name.name));
        let Some(at) = at.filter(|_| name.qualifier.is_none()) else {
            return Err(SqlError::unknown_column(&column_text(name), clause.text()));
        };
        let c = &self.0[at];
        Ok(Resolved::Column(ResolvedColumn {
            slot: ROW,
            ordinal: at as u16,
            ty: ExprType::of_column(&c.ty, c.nullable),
            utc: matches!(c.ty, DataType::Timestamp(_)),
            name: c.name.as_str().into(),
        }))
    }
}
