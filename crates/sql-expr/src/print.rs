//! Bound expressions as SQL text, the way MySQL shows them in messages and in EXPLAIN. For people only: nothing
//! reads this text back.

use std::fmt::Write;

use super::column_name::ColumnName;
use super::conv;
use super::func::FuncDef;
use super::infer::Arith;
use super::node::RegexpUse;
use super::node::{BitOp, CastTo, CmpOp, Expr, Node};
use super::node::{InList, Members};
use super::val::Val;

/// The text of an expression.
pub fn text(e: &Expr) -> String {
    text_in(e, &Nowhere)
}

/// The text of an expression of a query.
pub fn text_in(e: &Expr, around: &dyn Surroundings) -> String {
    let mut out = String::new();
    write(e, around, &mut out);
    out
}

/// What the text of an expression takes from the query that it stands in.
pub trait Surroundings {
    /// Whether names stand without their schema and without quotes, as in `EXPLAIN FORMAT=TREE`.
    fn bare_names(&self) -> bool {
        false
    }

    /// An aggregate, by its number.
    fn aggregate(&self, number: usize, out: &mut String) {
        let _ = write!(out, "aggregate {number}");
    }

    /// A window function, by its number.
    fn window(&self, number: usize, out: &mut String) {
        let _ = write!(out, "window function {number}");
    }

    /// A subquery, by its number, with its parentheses.
    fn subquery(&self, number: u32, out: &mut String) {
        let _ = write!(out, "(select #{})", number + 2);
    }
}

/// An expression alone.
struct Nowhere;

impl Surroundings for Nowhere {}

fn list(parts: &[Expr], sep: &str, cx: &dyn Surroundings, out: &mut String) {
    for (i, p) in parts.iter().enumerate() {
        if i > 0 {
            out.push_str(sep);
        }
        write(p, cx, out);
    }
}

fn infix(parts: &[Expr], op: &str, cx: &dyn Surroundings, out: &mut String) {
    out.push('(');
    list(parts, &format!(" {op} "), cx, out);
    out.push(')');
}

fn constant(v: &Val<'_>, e: &Expr, out: &mut String) {
    match v {
        Val::Null => out.push_str("NULL"),
        Val::Bytes(b) => {
            if e.ty.is_binary_text() {
                out.push_str("_binary");
            }
            let _ = write!(out, "'{}'", String::from_utf8_lossy(b).replace('\'', "\\'"));
        }
        Val::Date(_) | Val::Time(_) | Val::DateTime(_) => {
            let _ = write!(
                out,
                "'{}'",
                String::from_utf8_lossy(&conv::text_of(v, &e.ty))
            );
        }
        v => out.push_str(&String::from_utf8_lossy(&conv::text_of(v, &e.ty))),
    }
}

fn column(name: &ColumnName, cx: &dyn Surroundings, out: &mut String) {
    if let ColumnName::Expression(text) = name {
        return out.push_str(text);
    }
    if cx.bare_names() {
        let mut parts: Vec<&str> = name.parts().collect();
        if parts.len() > 2 {
            parts.remove(0);
        }
        return out.push_str(&parts.join("."));
    }
    for (i, part) in name.parts().enumerate() {
        if i > 0 {
            out.push('.');
        }
        let _ = write!(out, "`{}`", part.replace('`', "``"));
    }
}

fn call(def: &FuncDef, args: &[Expr], cx: &dyn Surroundings, out: &mut String) {
    // What has no name was put around what the statement says.
    if let ("", [written, ..]) = (def.name, args) {
        return write(written, cx, out);
    }
    if let ("json_member_of", [x, list]) | ("member of array", [list, x]) = (def.name, args) {
        write(x, cx, out);
        out.push_str(" member of (");
        write(list, cx, out);
        return out.push(')');
    }
    let _ = write!(out, "{}(", def.name);
    list(args, ",", cx, out);
    out.push(')');
}

fn not(negated: bool) -> &'static str {
    if negated { " not" } else { "" }
}

fn write(e: &Expr, cx: &dyn Surroundings, out: &mut String) {
    match &e.node {
        Node::Const(v) => constant(v, e, out),
        Node::Known(e, _) => write(e, cx, out),
        Node::Column(c) => column(&c.name, cx, out),
        Node::Inserted(c) => {
            out.push_str("values(");
            column(&c.name, cx, out);
            out.push(')');
        }
        Node::Param(..) => out.push('?'),
        Node::UserVar(n) => {
            let _ = write!(out, "(@`{n}`)");
        }
        Node::AssignVar(n, e) => {
            let _ = write!(out, "(@`{n}`:=");
            write(e, cx, out);
            out.push(')');
        }
        Node::SysVar(id, _) => {
            let _ = write!(out, "@@{}", id.def().name);
        }
        Node::Row(v) => {
            out.push('(');
            list(v, ",", cx, out);
            out.push(')');
        }
        Node::Neg(_, e) => {
            out.push_str("-(");
            write(e, cx, out);
            out.push(')');
        }
        Node::BitNot(e) => {
            out.push_str("~(");
            write(e, cx, out);
            out.push(')');
        }
        Node::Not(e) => {
            out.push_str("(not(");
            write(e, cx, out);
            out.push_str("))");
        }
        Node::Arith(op, _, p) => infix(&p[..], arith_symbol(*op), cx, out),
        Node::Bits(op, p) => infix(&p[..], bit_symbol(*op), cx, out),
        Node::Compare(op, _, p) => infix(&p[..], op.symbol(), cx, out),
        Node::And(v) => infix(v, "and", cx, out),
        Node::Or(v) => infix(v, "or", cx, out),
        Node::Xor(p) => infix(&p[..], "xor", cx, out),
        Node::IsNull(e, n) => {
            out.push('(');
            write(e, cx, out);
            let _ = write!(out, " is{} null)", not(*n));
        }
        Node::IsTruth(e, t, n) => {
            out.push('(');
            write(e, cx, out);
            let t = match t {
                true => "true",
                false => "false",
            };
            let _ = write!(out, " is{} {t})", not(*n));
        }
        Node::Cast(e, to) => {
            out.push_str("cast(");
            write(e, cx, out);
            let _ = write!(out, " as {})", cast_name(to));
        }
        Node::Transcode(e, _, to) => {
            out.push_str("convert(");
            write(e, cx, out);
            let _ = write!(out, " using {})", to.name());
        }
        Node::Collate(i) => {
            out.push('(');
            write(i, cx, out);
            let _ = write!(out, " collate {})", e.ty.collation.name());
        }
        Node::Coerce(e) => write(e, cx, out),
        Node::Call(c) => call(c.def, &c.args, cx, out),
        Node::Aggregate(i) => cx.aggregate(*i as usize, out),
        Node::Window(i) => cx.window(*i as usize, out),
        Node::Subquery(i) => cx.subquery(*i, out),
        Node::Exists(i) => {
            out.push_str("exists");
            cx.subquery(*i, out);
        }
        _ => write_special(e, cx, out),
    }
}

fn in_list(i: &InList, cx: &dyn Surroundings, out: &mut String) {
    out.push('(');
    write(&i.expr, cx, out);
    let _ = write!(out, "{} in (", not(i.negated));
    match &i.members {
        Members::Sorted(_, items, ty) => {
            let shape = Expr::constant(Val::Null, *ty);
            for (n, v) in items.iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                constant(v, &shape, out);
            }
            if i.has_null {
                out.push_str(if items.is_empty() { "NULL" } else { ",NULL" });
            }
        }
        Members::Each(m) => {
            for (n, (_, e)) in m.iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                write(e, cx, out);
            }
        }
    }
    out.push_str("))");
}

fn write_special(e: &Expr, cx: &dyn Surroundings, out: &mut String) {
    match &e.node {
        Node::Between(p, _, n) => {
            out.push('(');
            write(&p[0], cx, out);
            let _ = write!(out, "{} between ", not(*n));
            write(&p[1], cx, out);
            out.push_str(" and ");
            write(&p[2], cx, out);
            out.push(')');
        }
        Node::In(i) => in_list(i, cx, out),
        Node::Like(l) => {
            out.push('(');
            write(&l.text, cx, out);
            let _ = write!(out, "{} like ", not(l.negated));
            write(&l.pattern, cx, out);
            if let Some(e) = &l.given {
                out.push_str(" escape ");
                write(e, cx, out);
            }
            out.push(')');
        }
        Node::Regexp(r) => {
            let name = match r.usage {
                RegexpUse::Like => "regexp_like",
                RegexpUse::Instr => "regexp_instr",
                RegexpUse::Substr => "regexp_substr",
                RegexpUse::Replace => "regexp_replace",
            };
            let _ = write!(out, "{name}(");
            list(&r.args, ",", cx, out);
            out.push(')');
        }
        Node::Case(c) => {
            out.push_str("(case");
            if let Some(o) = &c.operand {
                out.push(' ');
                write(o, cx, out);
            }
            for (w, _, t) in &c.arms {
                out.push_str(" when ");
                write(w, cx, out);
                out.push_str(" then ");
                write(t, cx, out);
            }
            if let Some(o) = &c.otherwise {
                out.push_str(" else ");
                write(o, cx, out);
            }
            out.push_str(" end)");
        }
        Node::DateArith(p, unit, minus) => {
            out.push('(');
            write(&p[0], cx, out);
            out.push_str(if *minus {
                " - interval "
            } else {
                " + interval "
            });
            write(&p[1], cx, out);
            let _ = write!(out, " {})", unit.name().to_lowercase());
        }
        Node::Extract(unit, e) => {
            let _ = write!(out, "extract({} from ", unit.name().to_lowercase());
            write(e, cx, out);
            out.push(')');
        }
        Node::TimestampDiff(unit, p) => {
            let _ = write!(out, "timestampdiff({},", unit.name());
            list(&p[..], ",", cx, out);
            out.push(')');
        }
        Node::Quantified(q) => {
            out.push('(');
            write(&q.expr, cx, out);
            let word = if q.all { "all" } else { "any" };
            match (q.op, q.all) {
                (CmpOp::Eq, false) => out.push_str(" in "),
                (CmpOp::Ne, true) => out.push_str(" not in "),
                _ => {
                    let _ = write!(out, " {} {word} ", q.op.symbol());
                }
            }
            cx.subquery(q.subquery, out);
            out.push(')');
        }
        _ => {}
    }
}

fn arith_symbol(op: Arith) -> &'static str {
    match op {
        Arith::Add => "+",
        Arith::Sub => "-",
        Arith::Mul => "*",
        Arith::Div => "/",
        Arith::IntDiv => "DIV",
        Arith::Mod => "%",
    }
}

fn bit_symbol(op: BitOp) -> &'static str {
    match op {
        BitOp::And => "&",
        BitOp::Or => "|",
        BitOp::Xor => "^",
        BitOp::Shl => "<<",
        BitOp::Shr => ">>",
    }
}

/// A type of CAST, as it is written.
fn cast_name(to: &CastTo) -> String {
    let sized = |name: &str, n: u8| match n {
        0 => name.to_owned(),
        n => format!("{name}({n})"),
    };
    let length = |n: &Option<u32>| n.map_or(String::new(), |n| format!("({n})"));
    match to {
        CastTo::Signed => "signed".to_owned(),
        CastTo::Unsigned => "unsigned".to_owned(),
        CastTo::Decimal(p, s) => format!("decimal({p},{s})"),
        CastTo::Float => "float".to_owned(),
        CastTo::Double => "double".to_owned(),
        CastTo::Char(n, charset) => format!("char{} charset {}", length(n), charset.name()),
        CastTo::Binary(n) => format!("char{} charset binary", length(n)),
        CastTo::Date => "date".to_owned(),
        CastTo::Time(n) => sized("time", *n),
        CastTo::DateTime(n) => sized("datetime", *n),
        CastTo::Year => "year".to_owned(),
        CastTo::Json => "json".to_owned(),
    }
}
