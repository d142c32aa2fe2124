//! The types of a statement's parameters: where the type that a `?` got from its surroundings decides what is computed, and whether the
//! values of an execution have that type. Where they have another the statement is planned again with theirs, as MySQL does since 8.0.22
//! (the manual, "PREPARE Statement"); nothing here plans or runs it.
//!
//! A parameter beside a column of numbers or times is not among them: the value is brought to the column, whatever it is, and the index
//! serves. So `WHERE id = ?` has one plan for whole numbers, doubles (which some drivers send for every number) and texts.

use types::{CollationId, Value};

use super::StatementBinder;
use sql_expr::agg::AggSpec;
use sql_expr::{Coercibility, Expr, ExprType, Node, Shape};
use sql_parser::ast::AggregateFunc;

/// A parameter whose type decides what is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypedParam {
    /// Its place.
    pub place: u32,
    /// The type that the statement was planned for.
    pub ty: ExprType,
    /// It is that of a value, and not of where the parameter stands.
    pub given: bool,
}

/// How the value of a parameter is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// It is stored or passed on as it is.
    Bare,
    /// It is compared with what rows have.
    Compared,
    /// Something is computed from it, or its type is shown.
    Computed,
}

impl StatementBinder<'_> {
    /// Counts the parameters of an expression, sees to which of them its value depends on by their type, and to what ties it to the
    /// session.
    pub(crate) fn note_params(&self, e: &Expr) {
        self.note_used(e, Use::Bare);
    }

    /// As [`note_params`](Self::note_params), where the type of the value is shown: in a select list.
    pub(crate) fn note_shown(&self, e: &Expr) {
        if matches!(e.node, Node::Param(..)) {
            self.note_used(e, Use::Computed);
        }
    }

    /// As [`note_params`](Self::note_params), for what an aggregate takes: MIN and MAX are of its type.
    pub(crate) fn note_aggregated(&self, a: &AggSpec) {
        for e in a.inputs() {
            self.note_params(e);
            if matches!(a.func, AggregateFunc::Min | AggregateFunc::Max) {
                self.note_shown(e);
            }
        }
    }

    fn note_used(&self, e: &Expr, used: Use) {
        match &e.node {
            Node::Param(n, given) => {
                self.params.set(self.params.get().max(n + 1));
                let depends = match used {
                    Use::Bare => false,
                    Use::Compared => *given || e.ty.is_text(),
                    Use::Computed => true,
                };
                if depends {
                    self.typed_params.borrow_mut().push(TypedParam {
                        place: *n,
                        ty: e.ty,
                        given: *given,
                    });
                }
            }
            Node::UserVar(_) => self.private.set(true),
            node => {
                let below = match node {
                    Node::Compare(..)
                    | Node::Between(..)
                    | Node::In(_)
                    | Node::Like(_)
                    | Node::Quantified(_)
                        if e.reads_row() =>
                    {
                        Use::Compared
                    }
                    Node::Row(_) | Node::Collate(_) => used,
                    _ => Use::Computed,
                };
                e.each_child(&mut |x| self.note_used(x, below));
            }
        }
    }
}

/// The type of a parameter by its value.
pub fn type_of(v: &Value, connection: CollationId) -> ExprType {
    let plain = |shape| ExprType::plain(shape, true);
    match v {
        Value::Int(_) => ExprType::int(20, true),
        Value::UInt(_) => ExprType::uint(20, true),
        Value::Float(_) | Value::Double(_) => ExprType::double(true),
        Value::Decimal(d) => {
            let scale = d.scale();
            ExprType::decimal((35 + scale).min(65), scale, true)
        }
        Value::Date(_) => plain(Shape::Date),
        Value::Time(_) => plain(Shape::Time(6)),
        Value::DateTime(_) => plain(Shape::DateTime(6)),
        Value::Bytes(_) => ExprType::bytes(65_535, true),
        _ => ExprType::text(65_535, connection, Coercibility::Literal, true),
    }
}
