//! Trees of expressions: made, walked, asked what they read, and brought to another type.

use types::charset::Charset;
use types::collation::CollationId;

use super::cast;
use super::ctx::EvalCtx;
use super::node::{Column, Expr, Node};
use super::ty::{ExprType, Shape};
use super::val::Val;

impl Expr {
    /// A constant.
    pub fn constant(value: Val<'static>, ty: ExprType) -> Expr {
        Expr {
            node: Node::Const(value),
            ty,
        }
    }

    /// NULL.
    pub fn null() -> Expr {
        Self::constant(Val::Null, ExprType::null())
    }

    /// A column without more.
    pub fn column(slot: u16, ordinal: u16, ty: ExprType, name: &str) -> Expr {
        Expr {
            node: Node::Column(Column {
                slot,
                ordinal,
                utc: matches!(ty.shape, Shape::Timestamp(_)),
                name: name.into(),
            }),
            ty,
        }
    }

    /// Its value where it is a constant.
    pub fn as_const(&self) -> Option<&Val<'static>> {
        match &self.node {
            Node::Const(v) | Node::Known(_, v) => Some(v),
            Node::Collate(e) => e.as_const(),
            _ => None,
        }
    }

    /// The column where it is nothing but a column.
    pub fn as_column(&self) -> Option<&Column> {
        match &self.node {
            Node::Column(c) => Some(c),
            Node::Collate(e) => e.as_column(),
            _ => None,
        }
    }

    /// Calls `f` with every direct part.
    pub fn each_child<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        match &self.node {
            Node::Const(_)
            | Node::Known(..)
            | Node::Column(_)
            | Node::Inserted(_)
            | Node::Param(..)
            | Node::UserVar(_)
            | Node::SysVar(..)
            | Node::Aggregate(_)
            | Node::Window(_)
            | Node::Subquery(_)
            | Node::Exists(_) => {}
            Node::AssignVar(_, e)
            | Node::Neg(_, e)
            | Node::BitNot(e)
            | Node::Not(e)
            | Node::IsNull(e, _)
            | Node::IsTruth(e, ..)
            | Node::Cast(e, _)
            | Node::Transcode(e, ..)
            | Node::Collate(e)
            | Node::Coerce(e)
            | Node::Extract(_, e) => f(e),
            Node::Arith(_, _, p)
            | Node::Bits(_, p)
            | Node::Compare(_, _, p)
            | Node::Xor(p)
            | Node::DateArith(p, ..)
            | Node::TimestampDiff(_, p) => p.iter().for_each(f),
            Node::Between(p, ..) => p.iter().for_each(f),
            Node::Row(v) | Node::And(v) | Node::Or(v) => v.iter().for_each(f),
            Node::In(i) => i.each_child(f),
            Node::Like(l) => l.each_child(f),
            Node::Regexp(r) => r.args.iter().for_each(f),
            Node::Call(c) => c.args.iter().for_each(f),
            Node::Quantified(q) => f(&q.expr),
            Node::Case(c) => {
                if let Some(o) = &c.operand {
                    f(o);
                }
                for (w, _, t) in &c.arms {
                    f(w);
                    f(t);
                }
                if let Some(o) = &c.otherwise {
                    f(o);
                }
            }
        }
    }

    /// Calls `f` with this expression and everything in it, parents first, until it returns `false`.
    pub fn walk<'a>(&'a self, f: &mut dyn FnMut(&'a Expr) -> bool) {
        if f(self) {
            self.each_child(&mut |c| c.walk(f));
        }
    }

    /// Whether `test` holds for this expression or anything in it.
    pub fn any(&self, test: &dyn Fn(&Expr) -> bool) -> bool {
        let mut found = false;
        self.walk(&mut |e| {
            found |= test(e);
            !found
        });
        found
    }

    /// Whether it is a window function or has one.
    pub fn has_window(&self) -> bool {
        self.any(&|e| matches!(e.node, Node::Window(_)))
    }

    /// Whether its value depends on the row: it reads a column or an aggregate.
    pub fn reads_row(&self) -> bool {
        self.any(&|e| {
            matches!(
                e.node,
                Node::Column(_) | Node::Inserted(_) | Node::Aggregate(_) | Node::Window(_)
            )
        })
    }

    /// Whether it is the same for every row of a statement: no column, subquery, assignment or volatile function.
    pub fn is_row_constant(&self) -> bool {
        !self.any(&|e| match &e.node {
            Node::Column(_)
            | Node::Inserted(_)
            | Node::Aggregate(_)
            | Node::Window(_)
            | Node::Subquery(_)
            | Node::Exists(_)
            | Node::Quantified(_)
            | Node::UserVar(_)
            | Node::AssignVar(..) => true,
            Node::Call(c) => c.def.volatile(),
            Node::SysVar(id, _) => id.def().live,
            _ => false,
        })
    }

    /// Whether it may ask for a [`Special`](crate::Special) (SLEEP, GET_LOCK …).
    pub fn has_special(&self) -> bool {
        self.any(&|e| match &e.node {
            Node::Call(c) => c.def.special(),
            Node::SysVar(id, _) => id.def().live,
            _ => false,
        })
    }

    /// The slots whose columns it reads, as bits; slots of 63 and above share the last bit.
    pub fn slots(&self) -> u64 {
        let mut bits = 0;
        self.walk(&mut |e| {
            if let Node::Column(c) = &e.node {
                bits |= 1 << c.slot.min(63);
            }
            true
        });
        bits
    }

    /// The expression as a value of type `ty`, as one of several that a CASE or a UNION chooses from.
    #[must_use]
    pub fn coerced_to(mut self, ty: &ExprType, cx: &EvalCtx<'_>) -> Expr {
        transcode(&mut self, ty.collation);
        if !cast::needs_coercion(&self.ty, ty) {
            return self;
        }
        // A date among texts is still the number of a date where one is asked for.
        let lossy = self.ty.is_temporal() && ty.is_text();
        if let Node::Const(v) | Node::Known(_, v) = &self.node
            && !lossy
        {
            let v = cast::coerce(v.reborrow(), &self.ty, ty, cx).into_owned();
            return Expr::constant(v, ty.nullable_if(self.ty.nullable));
        }
        let nullable = self.ty.nullable;
        let mut ty = *ty;
        ty.nullable = nullable;
        Expr {
            node: Node::Coerce(Box::new(self)),
            ty,
        }
    }

    /// Calls `f` with every column in it: to number slots and ordinals anew.
    pub fn map_columns(&mut self, f: &mut dyn FnMut(&mut Column)) {
        match &mut self.node {
            Node::Column(c) | Node::Inserted(c) => f(c),
            _ => self.each_child_mut(&mut |e| e.map_columns(f)),
        }
    }

    /// Calls `f` with every direct part.
    pub fn each_child_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match &mut self.node {
            Node::Const(_)
            | Node::Known(..)
            | Node::Column(_)
            | Node::Inserted(_)
            | Node::Param(..)
            | Node::UserVar(_)
            | Node::SysVar(..)
            | Node::Aggregate(_)
            | Node::Window(_)
            | Node::Subquery(_)
            | Node::Exists(_) => {}
            Node::AssignVar(_, e)
            | Node::Neg(_, e)
            | Node::BitNot(e)
            | Node::Not(e)
            | Node::IsNull(e, _)
            | Node::IsTruth(e, ..)
            | Node::Cast(e, _)
            | Node::Transcode(e, ..)
            | Node::Collate(e)
            | Node::Coerce(e)
            | Node::Extract(_, e) => f(e),
            Node::Arith(_, _, p)
            | Node::Bits(_, p)
            | Node::Compare(_, _, p)
            | Node::Xor(p)
            | Node::DateArith(p, ..)
            | Node::TimestampDiff(_, p) => p.iter_mut().for_each(f),
            Node::Between(p, ..) => p.iter_mut().for_each(f),
            Node::Row(v) | Node::And(v) | Node::Or(v) => v.iter_mut().for_each(f),
            Node::In(i) => i.each_child_mut(f),
            Node::Like(l) => {
                f(&mut l.text);
                f(&mut l.pattern);
                l.given.iter_mut().for_each(f);
            }
            Node::Regexp(r) => r.args.iter_mut().for_each(f),
            Node::Call(c) => c.args.iter_mut().for_each(f),
            Node::Quantified(q) => f(&mut q.expr),
            Node::Case(c) => {
                if let Some(o) = &mut c.operand {
                    f(o);
                }
                for (w, _, t) in &mut c.arms {
                    f(w);
                    f(t);
                }
                if let Some(o) = &mut c.otherwise {
                    f(o);
                }
            }
        }
    }

    /// The collation its text compares by.
    pub fn collation(&self) -> CollationId {
        self.ty.collation
    }
}

/// Makes text of another character set text of `to`'s.
pub(crate) fn transcode(e: &mut Expr, to: CollationId) {
    let (from, target) = (e.ty.charset(), to.charset());
    if !e.ty.is_text() || from == target || from == Charset::Binary || target == Charset::Binary {
        return;
    }
    if e.ty.ascii || (from == Charset::Utf8mb3 && target == Charset::Utf8mb4) {
        // the bytes are the same
        return;
    }
    let inner = std::mem::replace(e, Expr::null());
    let mut ty = inner.ty;
    ty.collation = to;
    *e = Expr {
        node: Node::Transcode(Box::new(inner), from, target),
        ty,
    };
}
