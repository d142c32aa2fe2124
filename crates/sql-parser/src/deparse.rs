//! Trees back to text, the way MySQL prints expressions in `SHOW CREATE`, `EXPLAIN` and view definitions:
//! names in backticks, function names in lower case, every operator in parentheses.
//!
//! What is printed parses again to a tree that prints the same.

mod data_type;
mod function;
mod query;

use std::fmt::{self, Display, Formatter, Write};

use super::ast::*;

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.deparse(None).fmt(f)
    }
}

impl Display for Query {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Printer::new(f, None).query(self)
    }
}

/// The row path of a JSON_TABLE and its columns.
struct JsonRows<'a>(&'a JsonTable);

impl Display for JsonRows<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Printer::new(f, None).json_rows(self.0)
    }
}

impl JsonTable {
    /// What stands behind the document: the row path and the columns.
    pub fn rows_text(&self) -> String {
        JsonRows(self).to_string()
    }
}

impl Expr {
    /// The expression for display, with `_charset` in front of string literals where one is given (stored
    /// defaults and generated columns carry it, as the connection's character set is not stored).
    pub fn deparse<'a>(&'a self, charset: Option<&'a str>) -> Deparsed<'a> {
        Deparsed {
            expr: self,
            charset,
        }
    }
}

/// An expression that displays as MySQL would print it.
#[derive(Debug, Clone, Copy)]
pub struct Deparsed<'a> {
    expr: &'a Expr,
    charset: Option<&'a str>,
}

impl Display for Deparsed<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Printer::new(f, self.charset).expr(self.expr)
    }
}

/// Where the text goes, and how literals are printed.
struct Printer<'f, 'b, 'a> {
    out: &'f mut Formatter<'b>,
    charset: Option<&'a str>,
}

impl<'f, 'b, 'a> Printer<'f, 'b, 'a> {
    fn new(out: &'f mut Formatter<'b>, charset: Option<&'a str>) -> Self {
        Printer { out, charset }
    }

    fn text(&mut self, text: &str) -> fmt::Result {
        self.out.write_str(text)
    }

    /// A name in backticks.
    fn name(&mut self, name: &str) -> fmt::Result {
        self.out.write_char('`')?;
        for c in name.chars() {
            if c == '`' {
                self.out.write_char('`')?;
            }
            self.out.write_char(c)?;
        }
        self.out.write_char('`')
    }

    /// The name of a character set or collation, which may have been written as a string.
    fn charset(&mut self, name: &str) -> fmt::Result {
        let plain = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.bytes().all(crate::lexer::is_ident_byte)
            && !crate::keyword::lookup(name.as_bytes()).is_reserved();
        if name.is_empty() {
            self.text("''")
        } else if plain || name == "binary" {
            self.text(name)
        } else {
            self.name(name)
        }
    }

    /// A variable's name, which may be empty, but not in backticks.
    fn user_variable(&mut self, name: &str) -> fmt::Result {
        match name {
            "" => self.text("''"),
            name => self.name(name),
        }
    }

    fn object(&mut self, name: &ObjectName) -> fmt::Result {
        if let Some(schema) = &name.schema {
            self.name(schema)?;
            self.text(".")?;
        }
        self.name(&name.name)
    }

    fn column(&mut self, column: &ColumnRef) -> fmt::Result {
        if let Some(qualifier) = &column.qualifier {
            if let Some(schema) = &qualifier.schema {
                self.name(schema)?;
                self.text(".")?;
            }
            self.name(&qualifier.table)?;
            self.text(".")?;
        }
        self.name(&column.name)
    }

    /// A literal in quotes; in hexadecimal where it is not UTF-8.
    fn string(&mut self, bytes: &[u8]) -> fmt::Result {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return self.hex(bytes);
        };
        self.out.write_char('\'')?;
        for c in text.chars() {
            match c {
                '\0' => self.text("\\0")?,
                '\n' => self.text("\\n")?,
                '\r' => self.text("\\r")?,
                '\\' => self.text("\\\\")?,
                '\'' => self.text("''")?,
                c => self.out.write_char(c)?,
            }
        }
        self.out.write_char('\'')
    }

    fn hex(&mut self, bytes: &[u8]) -> fmt::Result {
        if bytes.is_empty() {
            return self.text("x''");
        }
        self.text("0x")?;
        bytes.iter().try_for_each(|b| write!(self.out, "{b:02X}"))
    }

    fn float(&mut self, value: f64) -> fmt::Result {
        write!(self.out, "{value:e}")
    }

    /// Items with `separator` between them.
    fn list<X>(
        &mut self,
        items: &[X],
        separator: &str,
        mut item: impl FnMut(&mut Self, &X) -> fmt::Result,
    ) -> fmt::Result {
        for (i, x) in items.iter().enumerate() {
            if i > 0 {
                self.text(separator)?;
            }
            item(self, x)?;
        }
        Ok(())
    }

    fn exprs(&mut self, items: &[Expr]) -> fmt::Result {
        self.list(items, ",", Self::expr)
    }

    /// `(left op right)`.
    fn infix(&mut self, left: &Expr, op: &str, right: &Expr) -> fmt::Result {
        self.text("(")?;
        self.expr(left)?;
        write!(self.out, " {op} ")?;
        self.expr(right)?;
        self.text(")")
    }

    /// `(not(..))` around what `inner` prints, if `negated`.
    fn negated(
        &mut self,
        negated: bool,
        inner: impl FnOnce(&mut Self) -> fmt::Result,
    ) -> fmt::Result {
        if !negated {
            return inner(self);
        }
        self.text("(not(")?;
        inner(self)?;
        self.text("))")
    }

    fn expr(&mut self, expr: &Expr) -> fmt::Result {
        match expr {
            Expr::Null
            | Expr::Bool(_)
            | Expr::Int(_)
            | Expr::Decimal(_)
            | Expr::Float(_)
            | Expr::Str(_)
            | Expr::Introduced(_)
            | Expr::Hex(_)
            | Expr::Bit(_)
            | Expr::Temporal(..)
            | Expr::Param(_) => self.literal(expr),
            Expr::Column(column) => self.column(column),
            Expr::UserVar(name) => {
                self.text("@")?;
                self.user_variable(name)
            }
            Expr::AssignUserVar(name, value) => {
                self.text("(@")?;
                self.user_variable(name)?;
                self.text(":=")?;
                self.expr(value)?;
                self.text(")")
            }
            Expr::SysVar(var) => self.sys_var(var),
            Expr::Default => self.text("default"),
            Expr::DefaultOf(column) => {
                self.text("default(")?;
                self.column(column)?;
                self.text(")")
            }
            Expr::Values(column) => {
                self.text("values(")?;
                self.column(column)?;
                self.text(")")
            }
            Expr::Row(members) => {
                self.text("row(")?;
                self.exprs(members)?;
                self.text(")")
            }
            Expr::Unary(op, operand) => self.unary(*op, operand),
            Expr::Binary(op, left, right) => self.binary(*op, left, right),
            Expr::And(parts) => self.chain(parts, " and "),
            Expr::Or(parts) => self.chain(parts, " or "),
            Expr::IsNull { expr, negated } => {
                self.text("(")?;
                self.expr(expr)?;
                self.text(if *negated {
                    " is not null)"
                } else {
                    " is null)"
                })
            }
            Expr::IsTruth {
                expr,
                value,
                negated,
            } => {
                self.text("(")?;
                self.expr(expr)?;
                self.text(if *negated { " is not " } else { " is " })?;
                self.text(match value {
                    Truth::True => "true)",
                    Truth::False => "false)",
                    Truth::Unknown => "unknown)",
                })
            }
            _ => self.predicate(expr),
        }
    }

    fn literal(&mut self, expr: &Expr) -> fmt::Result {
        match expr {
            Expr::Bool(true) => self.text("true"),
            Expr::Bool(false) => self.text("false"),
            Expr::Int(value) => write!(self.out, "{value}"),
            Expr::Decimal(digits) => self.text(digits),
            Expr::Float(value) => self.float(*value),
            Expr::Str(bytes) => {
                if let Some(charset) = self.charset {
                    write!(self.out, "_{charset}")?;
                }
                self.string(bytes)
            }
            Expr::Introduced(literal) => {
                write!(self.out, "_{}", literal.charset)?;
                match literal.form {
                    LiteralForm::Text | LiteralForm::National => self.string(&literal.bytes),
                    _ => {
                        self.text(" ")?;
                        self.hex(&literal.bytes)
                    }
                }
            }
            Expr::Hex(bytes) | Expr::Bit(bytes) => self.hex(bytes),
            Expr::Temporal(kind, text) => {
                self.text(match kind {
                    TemporalKind::Date => "DATE",
                    TemporalKind::Time => "TIME",
                    TemporalKind::Timestamp => "TIMESTAMP",
                })?;
                self.string(text)
            }
            Expr::Param(_) => self.text("?"),
            _ => self.text("NULL"),
        }
    }

    fn sys_var(&mut self, var: &SysVar) -> fmt::Result {
        self.text("@@")?;
        self.text(match var.scope {
            None => "",
            Some(VarScope::Global) => "global.",
            Some(VarScope::Session) => "session.",
            Some(VarScope::Persist) => "persist.",
            Some(VarScope::PersistOnly) => "persist_only.",
        })?;
        if let Some(prefix) = &var.prefix {
            self.name(prefix)?;
            self.text(".")?;
        }
        self.name(&var.name)
    }

    fn unary(&mut self, op: UnaryOp, operand: &Expr) -> fmt::Result {
        match op {
            UnaryOp::Neg | UnaryOp::BitNot => {
                self.text(if op == UnaryOp::Neg { "-(" } else { "~(" })?;
                self.expr(operand)?;
                self.text(")")
            }
            UnaryOp::Not => self.negated(true, |p| p.expr(operand)),
            UnaryOp::Binary => {
                self.text("cast(")?;
                self.expr(operand)?;
                self.text(" as char charset binary)")
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr) -> fmt::Result {
        let sign = match op {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::IntDiv => "DIV",
            BinaryOp::Mod => "%",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitOr => "|",
            BinaryOp::BitXor => "^",
            BinaryOp::Xor => "xor",
            BinaryOp::SoundsLike => "sounds like",
            _ => comparison(op),
        };
        self.infix(left, sign, right)
    }

    fn chain(&mut self, parts: &[Expr], word: &str) -> fmt::Result {
        self.text("(")?;
        self.list(parts, word, Self::expr)?;
        self.text(")")
    }

    fn predicate(&mut self, expr: &Expr) -> fmt::Result {
        match expr {
            Expr::Between(between) => {
                self.text("(")?;
                self.expr(&between.expr)?;
                self.text(if between.negated {
                    " not between "
                } else {
                    " between "
                })?;
                self.expr(&between.low)?;
                self.text(" and ")?;
                self.expr(&between.high)?;
                self.text(")")
            }
            Expr::InList(list) => {
                self.text("(")?;
                self.expr(&list.expr)?;
                self.text(if list.negated { " not in (" } else { " in (" })?;
                self.exprs(&list.list)?;
                self.text("))")
            }
            Expr::InSubquery(sub) => {
                self.text("(")?;
                self.expr(&sub.expr)?;
                self.text(if sub.negated { " not in (" } else { " in (" })?;
                self.query(&sub.query)?;
                self.text("))")
            }
            Expr::Like(like) => self.negated(like.negated, |p| {
                p.text("(")?;
                p.expr(&like.expr)?;
                p.text(" like ")?;
                p.expr(&like.pattern)?;
                if let Some(escape) = &like.escape {
                    p.text(" escape ")?;
                    p.expr(escape)?;
                }
                p.text(")")
            }),
            Expr::Regexp(regexp) => self.negated(regexp.negated, |p| {
                p.text("regexp_like(")?;
                p.expr(&regexp.expr)?;
                p.text(",")?;
                p.expr(&regexp.pattern)?;
                p.text(")")
            }),
            Expr::MemberOf(value, doc) => {
                self.text("(")?;
                self.expr(value)?;
                self.text(" member of (")?;
                self.expr(doc)?;
                self.text("))")
            }
            Expr::Exists(query) => {
                self.text("exists(")?;
                self.query(query)?;
                self.text(")")
            }
            Expr::Subquery(query) => {
                self.text("(")?;
                self.query(query)?;
                self.text(")")
            }
            Expr::Quantified(quantified) => {
                self.text("(")?;
                self.expr(&quantified.expr)?;
                let word = if quantified.all { "all" } else { "any" };
                write!(self.out, " {} {word} (", comparison(quantified.op))?;
                self.query(&quantified.query)?;
                self.text("))")
            }
            _ => self.function(expr),
        }
    }
}

/// The sign of a comparison.
fn comparison(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::NullSafeEq => "<=>",
        BinaryOp::Ne => "<>",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Gt => ">",
        BinaryOp::Ge => ">=",
        _ => "=",
    }
}
