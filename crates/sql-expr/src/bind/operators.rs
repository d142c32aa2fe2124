//! Operators, CASE, IN, BETWEEN, LIKE and REGEXP.

use types::SqlError;
use types::error::codes;

use super::{Binder, warn_of_document, wrong_columns};
use crate::arms;
use crate::arms::adopt;
use crate::compare::Comparer;
use crate::func;
use crate::infer::{self, Arith, Domain};
use crate::node::InList;
use crate::node::{BitOp, Call, Case, CmpOp, Expr, Node};
use crate::node::{LikeNode, RegexpNode, RegexpUse};
use crate::pattern;
use crate::regexp;
use crate::ty::{Coercibility, ExprType, Shape};
use crate::unify;
use crate::val::Val;
use crate::vars::SqlMode;
use crate::walk::transcode;
use sql_parser::ast;

pub(super) fn any_null(parts: &[Expr]) -> bool {
    parts.iter().any(|p| p.ty.nullable)
}

/// Whether the 64 bits of a whole number have the highest one: it is negative, or 2^63 and more.
fn beyond_the_half(v: &Val<'_>) -> bool {
    match v {
        Val::Int(i) => *i < 0,
        Val::Uint(u) | Val::Bit(u, _) => *u >= 1 << 63,
        _ => false,
    }
}

/// Whether one of several is a document: then they are compared as documents, and nothing is made a number or text.
pub(super) fn any_json<'t>(types: impl IntoIterator<Item = &'t ExprType>) -> bool {
    types.into_iter().any(|t| t.shape == Shape::Json)
}

impl Binder<'_> {
    /// An operand of arithmetic: a hexadecimal literal is a number there.
    fn number(&mut self, e: &ast::Expr) -> Result<Expr, SqlError> {
        Ok(self.bind(e)?.into_number())
    }

    pub(super) fn unary(&mut self, op: ast::UnaryOp, x: &ast::Expr) -> Result<Expr, SqlError> {
        match op {
            ast::UnaryOp::Neg => self.negation(x),
            ast::UnaryOp::Not => {
                let x = self.bind(x)?;
                warn_of_document(&x, self.cx);
                let ty = ExprType::truth(x.ty.nullable);
                Ok(Expr {
                    node: Node::Not(Box::new(x)),
                    ty,
                })
            }
            ast::UnaryOp::BitNot => {
                let x = self.bind(x)?.into_literal_number();
                let ty = if x.ty.is_binary_text() {
                    x.ty
                } else {
                    ExprType::uint(21, x.ty.nullable)
                };
                Ok(Expr {
                    node: Node::BitNot(Box::new(x)),
                    ty,
                })
            }
            ast::UnaryOp::Binary => {
                let x = self.bind(x)?;
                Ok(Self::cast_node(x, crate::node::CastTo::Binary(None)))
            }
        }
    }

    fn negation(&mut self, x: &ast::Expr) -> Result<Expr, SqlError> {
        if let ast::Expr::Int(n) = x {
            let wide = -i128::from(*n);
            if let Ok(i) = i64::try_from(wide) {
                let digits = n.checked_ilog10().unwrap_or(0) as u8 + 2;
                return Ok(Expr::constant(Val::Int(i), ExprType::int(digits, false)));
            }
            let d = types::Decimal::from_i128(wide, 0);
            return Ok(Expr::constant(
                Val::Decimal(d),
                ExprType::decimal(d.precision(), 0, false),
            ));
        }
        let mut x = self.number(x)?;
        adopt(&mut x, &ExprType::double(true));
        let mut domain = infer::domain(&x.ty);
        let mut ty = infer::negated(&x.ty);
        // A constant whose negative may have no room in 64 bits is negated as a decimal.
        if domain == Domain::Int && x.as_const().is_some_and(beyond_the_half) {
            domain = Domain::Decimal;
            ty = ExprType::decimal(x.ty.int_digits().clamp(1, 65), 0, x.ty.nullable);
        }
        Ok(Expr {
            node: Node::Neg(domain, Box::new(x)),
            ty,
        })
    }

    pub(super) fn binary(
        &mut self,
        op: ast::BinaryOp,
        a: &ast::Expr,
        b: &ast::Expr,
    ) -> Result<Expr, SqlError> {
        use ast::BinaryOp as B;
        let arith = match op {
            B::Add => Arith::Add,
            B::Sub => Arith::Sub,
            B::Mul => Arith::Mul,
            B::Div => Arith::Div,
            B::IntDiv => Arith::IntDiv,
            B::Mod => Arith::Mod,
            B::Shl => return self.bits(BitOp::Shl, a, b),
            B::Shr => return self.bits(BitOp::Shr, a, b),
            B::BitAnd => return self.bits(BitOp::And, a, b),
            B::BitOr => return self.bits(BitOp::Or, a, b),
            B::BitXor => return self.bits(BitOp::Xor, a, b),
            B::Xor => {
                let pair = [self.bind(a)?, self.bind(b)?];
                pair.iter().for_each(|x| warn_of_document(x, self.cx));
                let ty = ExprType::truth(any_null(&pair));
                return Ok(Expr {
                    node: Node::Xor(Box::new(pair)),
                    ty,
                });
            }
            B::SoundsLike => {
                let a = self.soundex(a)?;
                let b = self.soundex(b)?;
                return self.comparison(CmpOp::Eq, a, b);
            }
            _ => {
                let op = cmp_op(op);
                let (x, y) = (self.bind_any(a)?, self.bind_any(b)?);
                return self.comparison(op, x, y);
            }
        };
        let mut pair = [self.number(a)?, self.number(b)?];
        let [x, y] = &mut pair;
        let neutral = ExprType::double(true);
        let (tx, ty) = (x.ty, y.ty);
        let hint = |t: &ExprType| if t.is_number() { *t } else { neutral };
        let both = matches!((&x.node, &y.node), (Node::Param(..), Node::Param(..)));
        adopt(x, &if both { neutral } else { hint(&ty) });
        adopt(y, &if both { neutral } else { hint(&tx) });
        Ok(self.arithmetic(arith, pair))
    }

    pub(super) fn arithmetic(&self, op: Arith, pair: [Expr; 2]) -> Expr {
        let [x, y] = &pair;
        let ty = infer::arith(
            op,
            &x.ty,
            &y.ty,
            self.cx.vars.hot().div_precision_increment,
            self.cx.sql_mode.has(SqlMode::NO_UNSIGNED_SUBTRACTION),
        );
        let domain = match ty.shape {
            Shape::Int { .. } => Domain::Int,
            Shape::Decimal { .. } => Domain::Decimal,
            _ => Domain::Double,
        };
        Expr {
            node: Node::Arith(op, domain, Box::new(pair)),
            ty,
        }
    }

    fn bits(&mut self, op: BitOp, a: &ast::Expr, b: &ast::Expr) -> Result<Expr, SqlError> {
        let (x, y) = (self.bind(a)?, self.bind(b)?);
        // byte strings are combined byte by byte, unless both are mere literals
        let bytes = match op {
            BitOp::Shl | BitOp::Shr => x.ty.is_binary_text() && !x.ty.bits,
            _ => x.ty.is_binary_text() && y.ty.is_binary_text() && !(x.ty.bits && y.ty.bits),
        };
        let nullable = x.ty.nullable || y.ty.nullable;
        let (pair, ty) = if bytes {
            let mut ty = x.ty.nullable_if(nullable);
            ty.bits = false;
            ([x, y], ty)
        } else {
            (
                [x.into_literal_number(), y.into_literal_number()],
                ExprType::uint(21, nullable),
            )
        };
        Ok(Expr {
            node: Node::Bits(op, Box::new(pair)),
            ty,
        })
    }

    fn soundex(&mut self, e: &ast::Expr) -> Result<Expr, SqlError> {
        let x = self.bind(e)?;
        self.function("soundex", vec![x])
    }

    /// A call of a built-in function that exists.
    pub(super) fn function(&self, name: &str, mut args: Vec<Expr>) -> Result<Expr, SqlError> {
        let def = func::find(name).ok_or_else(|| SqlError::no_such_function(name))?;
        self.show_padded(&mut args);
        let ty = def.bind(
            &func::InferCx::new(self.cx, self.connection(), def.name),
            &mut args,
        )?;
        Ok(Expr {
            node: Node::Call(Call { def, args }),
            ty,
        })
    }

    pub(super) fn junction(
        &mut self,
        parts: &[ast::Expr],
        node: fn(Vec<Expr>) -> Node,
    ) -> Result<Expr, SqlError> {
        let parts = self.bind_all(parts)?;
        parts.iter().for_each(|x| warn_of_document(x, self.cx));
        let ty = ExprType::truth(any_null(&parts));
        Ok(Expr {
            node: node(parts),
            ty,
        })
    }

    pub(super) fn in_list(&mut self, l: &ast::InList) -> Result<Expr, SqlError> {
        let mut x = self.bind_any(&l.expr)?;
        let mut members = l
            .list
            .iter()
            .map(|m| self.bind_any(m))
            .collect::<Result<Vec<_>, _>>()?;
        let comparers = self.against(&mut x, members.iter_mut().collect(), "in")?;
        let nullable = x.ty.nullable || members.iter().any(|m| m.ty.nullable);
        let pairs = comparers.into_iter().zip(members).collect();
        Ok(self.in_node(x, pairs, nullable, l.negated))
    }

    /// How one value is compared with each of several: with each by its own type, with all texts by one collation. The value
    /// keeps its type, or what one member makes of it would hold for the next.
    fn against(
        &self,
        x: &mut Expr,
        mut others: Vec<&mut Expr>,
        op: &str,
    ) -> Result<Vec<Comparer>, SqlError> {
        if width(x) != 1 || others.len() == 1 || others.iter().any(|m| width(m) != 1) {
            // A list of one member is a comparison with that.
            let one = op == "in" && others.len() == 1;
            let pair = |m| match one {
                true => self.pair(x, m, op),
                false => self.exact_pair(x, m, op),
            };
            return others.into_iter().map(pair).collect();
        }
        if any_json(others.iter().map(|m| &m.ty).chain([&x.ty])) {
            let how = |m: &mut Expr| Comparer::choose(&x.ty, &m.ty, self.connection(), op);
            return others.into_iter().map(how).collect();
        }
        // A parameter takes the type of the members where they are of one kind.
        let kind = |t: &ExprType| (t.is_number(), t.is_text(), t.is_temporal());
        let known = |m: &&&mut Expr| {
            !matches!(m.node, Node::Param(_, false)) && !matches!(m.ty.shape, Shape::Null)
        };
        let mut typed = others.iter().filter(known);
        if let Some(first) = typed.next().map(|m| m.ty)
            && typed.all(|m| kind(&m.ty) == kind(&first))
        {
            adopt(x, &first);
        }
        if others.iter().all(|m| m.ty.is_number()) {
            x.make_number();
        }
        if others.iter().all(|m| m.ty.has_date())
            && let Some(first) = others.first()
        {
            self.fit_constant(first, x)?;
        }
        for m in &mut others {
            adopt(m, &x.ty);
            if x.ty.is_number() {
                m.make_number();
            }
            self.fit_constant(x, m)?;
        }
        let mut text = None;
        if x.ty.is_text() && others.iter().any(|m| m.ty.is_text()) {
            let members = others.iter_mut().map(|m| &mut **m);
            let mut texts: Vec<&mut Expr> = std::iter::once(&mut *x).chain(members).collect();
            text = Some(unify::unify(&mut texts, self.connection(), true, op)?.collation);
        }
        others
            .into_iter()
            .map(|m| match text {
                Some(c) if m.ty.is_text() || m.ty.shape == Shape::Null => Ok(Comparer::Text(c)),
                _ => Comparer::choose(&x.ty, &m.ty, self.connection(), op),
            })
            .collect()
    }

    fn in_node(
        &self,
        x: Expr,
        pairs: Vec<(Comparer, Expr)>,
        nullable: bool,
        negated: bool,
    ) -> Expr {
        let list = InList::new(x, pairs, negated, self.cx);
        Expr {
            node: Node::In(Box::new(list)),
            ty: ExprType::truth(nullable),
        }
    }

    pub(super) fn like(&mut self, l: &ast::Like) -> Result<Expr, SqlError> {
        let mut text = self.bind(&l.expr)?;
        let mut pattern = self.bind(&l.pattern)?;
        let (escape, given) = match &l.escape {
            None if self.cx.sql_mode.has(SqlMode::NO_BACKSLASH_ESCAPES) => (None, None),
            None => (Some(u32::from(b'\\')), None),
            Some(e) => self.escape(e)?,
        };
        let mut texts = [&mut text, &mut pattern];
        let c = unify::unify(&mut texts, self.connection(), true, "like")?;
        let nullable = text.ty.nullable || pattern.ty.nullable;
        Ok(Expr {
            node: Node::Like(Box::new(LikeNode {
                text,
                pattern,
                escape,
                given,
                collation: c.collation,
                negated: l.negated,
            })),
            ty: ExprType::truth(nullable),
        })
    }

    /// The escape character of a LIKE: a constant, or what is the same for all of the statement.
    fn escape(&mut self, e: &ast::Expr) -> Result<(Option<u32>, Option<Expr>), SqlError> {
        let mut e = self.bind(e)?;
        if let Some(v) = e.as_const() {
            return Ok((pattern::escape_of(v, &e.ty)?, None));
        }
        if !e.is_row_constant() {
            return Err(SqlError::new(
                codes::ER_WRONG_ARGUMENTS,
                "Incorrect arguments to ESCAPE",
            ));
        }
        let collation = self.connection();
        adopt(
            &mut e,
            &ExprType::text(1, collation, Coercibility::Literal, true),
        );
        Ok((None, Some(e)))
    }

    pub(super) fn regexp(&mut self, r: &ast::Regexp) -> Result<Expr, SqlError> {
        let args = vec![self.bind(&r.expr)?, self.bind(&r.pattern)?];
        self.regexp_node(RegexpUse::Like, args, r.negated)
    }

    /// A use of a regular expression with its arguments.
    pub(super) fn regexp_node(
        &self,
        usage: RegexpUse,
        mut args: Vec<Expr>,
        negated: bool,
    ) -> Result<Expr, SqlError> {
        regexp::check_bytes(&args, usage)?;
        // The replacement has no say in the collation, and is converted to what the others agree on.
        let mut parts: Vec<&mut Expr> = args.iter_mut().take(2).collect();
        let c = unify::unify(&mut parts, self.connection(), true, usage.name())?;
        if usage == RegexpUse::Replace {
            transcode(&mut args[2], c.collation);
        }
        let nullable = any_null(&args);
        let ty = match usage {
            RegexpUse::Like => ExprType::truth(nullable),
            RegexpUse::Instr => ExprType::int(11, nullable),
            RegexpUse::Substr => {
                ExprType::text(args[0].ty.chars(), c.collation, c.coercibility, true)
            }
            RegexpUse::Replace => ExprType::text(16_777_216, c.collation, c.coercibility, nullable),
        };
        let mut node = RegexpNode {
            usage,
            args,
            collation: c.collation,
            negated,
            prepared: None,
        };
        node.prepare()?;
        Ok(Expr {
            node: Node::Regexp(Box::new(node)),
            ty,
        })
    }

    pub(super) fn case(&mut self, c: &ast::Case) -> Result<Expr, SqlError> {
        let mut operand = match &c.operand {
            Some(o) => Some(self.bind(o)?),
            None => None,
        };
        let mut whens = Vec::with_capacity(c.arms.len());
        let mut thens = Vec::with_capacity(c.arms.len());
        for (when, then) in &c.arms {
            whens.push(self.bind(when)?);
            thens.push(self.bind(then)?);
        }
        let comparers = match &mut operand {
            Some(o) => self.against(o, whens.iter_mut().collect(), "case")?,
            None => vec![Comparer::Int; whens.len()],
        };
        let arms: Vec<_> = whens
            .into_iter()
            .zip(comparers)
            .zip(thens)
            .map(|((when, comparer), then)| (when, comparer, then))
            .collect();
        let otherwise = match &c.otherwise {
            Some(e) => Some(self.bind(e)?),
            None => None,
        };
        let mut parts: Vec<&Expr> = arms.iter().map(|(_, _, t)| t).collect();
        parts.extend(&otherwise);
        let mut ty = arms::common_of(&parts, self.connection(), "case")?;
        ty.nullable |= otherwise.is_none();
        let arms = arms
            .into_iter()
            .map(|(w, c, t)| (w, c, arms::arm(t, &ty, self.cx)))
            .collect();
        let otherwise = otherwise.map(|e| arms::arm(e, &ty, self.cx));
        Ok(Expr {
            node: Node::Case(Box::new(Case {
                operand,
                arms,
                otherwise,
            })),
            ty,
        })
    }
}

/// The comparison an operator of the tree is.
pub(super) fn cmp_op(op: ast::BinaryOp) -> CmpOp {
    match op {
        ast::BinaryOp::NullSafeEq => CmpOp::NullSafeEq,
        ast::BinaryOp::Ne => CmpOp::Ne,
        ast::BinaryOp::Lt => CmpOp::Lt,
        ast::BinaryOp::Le => CmpOp::Le,
        ast::BinaryOp::Gt => CmpOp::Gt,
        ast::BinaryOp::Ge => CmpOp::Ge,
        _ => CmpOp::Eq,
    }
}

/// How many columns an operand has.
pub(super) fn width(e: &Expr) -> usize {
    match e.ty.shape {
        Shape::Row(n) => usize::from(n),
        _ => 1,
    }
}

/// Error 1241 where two operands differ in their number of columns.
pub(super) fn same_width(a: &Expr, b: &Expr) -> Result<(), SqlError> {
    if width(a) == width(b) {
        Ok(())
    } else {
        Err(wrong_columns(width(a)))
    }
}
