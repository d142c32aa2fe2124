//! Bound expressions as SQL text, the way MySQL shows them in messages and in EXPLAIN. For people only: nothing
//! reads this text back.

use std::fmt::Write;

use super::column_name::ColumnName;
use super::conv;
use super::func::FuncDef;
use super::infer::Arith;
use super::inlist::{InList, Members};
use super::node::{BitOp, Expr, Node};
use super::pattern::RegexpUse;
use super::val::Val;

/// The text of an expression.
pub fn text(e: &Expr) -> String {
    let mut out = String::new();
    write(e, &mut out);
    out
}

fn list(parts: &[Expr], sep: &str, out: &mut String) {
    for (i, p) in parts.iter().enumerate() {
        if i > 0 {
            out.push_str(sep);
        }
        write(p, out);
    }
}

fn infix(parts: &[Expr], op: &str, out: &mut String) {
    out.push('(');
    list(parts, &format!(" {op} "), out);
    out.push(')');
}

fn constant(v: &Val<'_>, e: &Expr, out: &mut String) {
    match v {
        Val::Null => out.push_str("NULL"),
        Val::Bytes(b) => {
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

fn column(name: &ColumnName, out: &mut String) {
    for (i, part) in name.parts().enumerate() {
        if i > 0 {
            out.push('.');
        }
        let _ = write!(out, "`{part}`");
    }
}

fn call(def: &FuncDef, args: &[Expr], out: &mut String) {
    let _ = write!(out, "{}(", def.name);
    list(args, ",", out);
    out.push(')');
}

fn not(negated: bool) -> &'static str {
    if negated { " not" } else { "" }
}

fn write(e: &Expr, out: &mut String) {
    match &e.node {
        Node::Const(v) => constant(v, e, out),
        Node::Known(e, _) => write(e, out),
        Node::Column(c) => column(&c.name, out),
        Node::Inserted(c) => {
            out.push_str("values(");
            column(&c.name, out);
            out.push(')');
        }
        Node::Param(..) => out.push('?'),
        Node::UserVar(n) => {
            let _ = write!(out, "(@`{n}`)");
        }
        Node::AssignVar(n, e) => {
            let _ = write!(out, "(@`{n}`:=");
            write(e, out);
            out.push(')');
        }
        Node::SysVar(id, _) => {
            let _ = write!(out, "@@{}", id.def().name);
        }
        Node::Row(v) => {
            out.push('(');
            list(v, ",", out);
            out.push(')');
        }
        Node::Neg(_, e) => {
            out.push_str("-(");
            write(e, out);
            out.push(')');
        }
        Node::BitNot(e) => {
            out.push_str("~(");
            write(e, out);
            out.push(')');
        }
        Node::Not(e) => {
            out.push_str("(not(");
            write(e, out);
            out.push_str("))");
        }
        Node::Arith(op, _, p) => infix(&p[..], arith_symbol(*op), out),
        Node::Bits(op, p) => infix(&p[..], bit_symbol(*op), out),
        Node::Compare(op, _, p) => infix(&p[..], op.symbol(), out),
        Node::And(v) => infix(v, "and", out),
        Node::Or(v) => infix(v, "or", out),
        Node::Xor(p) => infix(&p[..], "xor", out),
        Node::IsNull(e, n) => {
            out.push('(');
            write(e, out);
            let _ = write!(out, " is{} null)", not(*n));
        }
        Node::IsTruth(e, t, n) => {
            out.push('(');
            write(e, out);
            let t = match t {
                true => "true",
                false => "false",
            };
            let _ = write!(out, " is{} {t})", not(*n));
        }
        Node::Cast(e, to) => {
            out.push_str("cast(");
            write(e, out);
            let _ = write!(out, " as {})", format!("{to:?}").to_lowercase());
        }
        Node::Transcode(e, _, to) => {
            out.push_str("convert(");
            write(e, out);
            let _ = write!(out, " using {})", to.name());
        }
        Node::Collate(i) => {
            out.push('(');
            write(i, out);
            let _ = write!(out, " collate {})", e.ty.collation.name());
        }
        Node::Coerce(e) => write(e, out),
        Node::Call(c) => call(c.def, &c.args, out),
        Node::Aggregate(i) => {
            let _ = write!(out, "aggregate {i}");
        }
        Node::Subquery(i) => {
            let _ = write!(out, "(select #{})", i + 2);
        }
        Node::Exists(i) => {
            let _ = write!(out, "exists(select #{})", i + 2);
        }
        _ => write_special(e, out),
    }
}

fn in_list(i: &InList, out: &mut String) {
    out.push('(');
    write(&i.expr, out);
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
        }
        Members::Each(m) => {
            for (n, (_, e)) in m.iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                write(e, out);
            }
        }
    }
    out.push_str("))");
}

fn write_special(e: &Expr, out: &mut String) {
    match &e.node {
        Node::Between(p, _, n) => {
            out.push('(');
            write(&p[0], out);
            let _ = write!(out, "{} between ", not(*n));
            write(&p[1], out);
            out.push_str(" and ");
            write(&p[2], out);
            out.push(')');
        }
        Node::In(i) => in_list(i, out),
        Node::Like(l) => {
            out.push('(');
            write(&l.text, out);
            let _ = write!(out, "{} like ", not(l.negated));
            write(&l.pattern, out);
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
            list(&r.args, ",", out);
            out.push(')');
        }
        Node::Case(c) => {
            out.push_str("(case");
            if let Some(o) = &c.operand {
                out.push(' ');
                write(o, out);
            }
            for (w, _, t) in &c.arms {
                out.push_str(" when ");
                write(w, out);
                out.push_str(" then ");
                write(t, out);
            }
            if let Some(o) = &c.otherwise {
                out.push_str(" else ");
                write(o, out);
            }
            out.push_str(" end)");
        }
        Node::DateArith(p, unit, minus) => {
            out.push('(');
            write(&p[0], out);
            out.push_str(if *minus {
                " - interval "
            } else {
                " + interval "
            });
            write(&p[1], out);
            let _ = write!(out, " {})", unit.name().to_lowercase());
        }
        Node::Extract(unit, e) => {
            let _ = write!(out, "extract({} from ", unit.name().to_lowercase());
            write(e, out);
            out.push(')');
        }
        Node::TimestampDiff(unit, p) => {
            let _ = write!(out, "timestampdiff({},", unit.name());
            list(&p[..], ",", out);
            out.push(')');
        }
        Node::Quantified(q) => {
            out.push('(');
            write(&q.expr, out);
            let word = if q.all { "all" } else { "any" };
            let _ = write!(
                out,
                " {} {word} (select #{}))",
                q.op.symbol(),
                q.subquery + 2
            );
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
