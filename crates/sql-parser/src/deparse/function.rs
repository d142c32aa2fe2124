//! Calls, casts, aggregates and windows as text.

use std::fmt;

use super::Printer;
use crate::ast::*;

impl Printer<'_, '_, '_> {
    pub(super) fn function(&mut self, expr: &Expr) -> fmt::Result {
        match expr {
            Expr::Case(case) => self.case(case),
            Expr::Cast(cast) => self.cast(cast),
            Expr::ConvertUsing(operand, charset) => {
                self.text("convert(")?;
                self.expr(operand)?;
                self.text(" using ")?;
                self.charset(charset)?;
                self.text(")")
            }
            Expr::Collate(operand, collation) => {
                // COLLATE binds tighter than a sign in front of its operand.
                let signed = matches!(**operand, Expr::Unary(UnaryOp::Neg | UnaryOp::BitNot, _));
                self.text(if signed { "((" } else { "(" })?;
                self.expr(operand)?;
                self.text(if signed { ")" } else { "" })?;
                self.text(" collate ")?;
                self.charset(collation)?;
                self.text(")")
            }
            Expr::DateArith(arith) => {
                self.text("(")?;
                self.expr(&arith.date)?;
                self.text(if arith.subtract {
                    " - interval "
                } else {
                    " + interval "
                })?;
                self.expr(&arith.amount)?;
                write!(self.out, " {})", unit(arith.unit))
            }
            Expr::Extract(what, operand) => {
                write!(self.out, "extract({} from ", unit(*what))?;
                self.expr(operand)?;
                self.text(")")
            }
            Expr::TimestampDiff(diff) => {
                let word = unit(diff.unit).to_ascii_uppercase();
                write!(self.out, "timestampdiff({word},")?;
                self.expr(&diff.from)?;
                self.text(",")?;
                self.expr(&diff.to)?;
                self.text(")")
            }
            Expr::Trim(trim) => self.trim(trim),
            Expr::GetFormat(kind, operand) => {
                self.text(match kind {
                    FormatKind::Date => "get_format(DATE, ",
                    FormatKind::Time => "get_format(TIME, ",
                    FormatKind::Datetime => "get_format(DATETIME, ",
                })?;
                self.expr(operand)?;
                self.text(")")
            }
            Expr::CharFn(call) => {
                self.text("char(")?;
                self.exprs(&call.args)?;
                if let Some(charset) = &call.charset {
                    self.text(" using ")?;
                    self.charset(charset)?;
                }
                self.text(")")
            }
            Expr::WeightString(call) => {
                self.text("weight_string(")?;
                self.expr(&call.expr)?;
                if let Some((binary, n)) = call.cast {
                    let word = if binary { "binary" } else { "char" };
                    write!(self.out, " as {word}({n})")?;
                }
                self.text(")")
            }
            Expr::JsonArrow(arrow) => {
                self.text(if arrow.unquote {
                    "json_unquote(json_extract("
                } else {
                    "json_extract("
                })?;
                self.column(&arrow.column)?;
                self.text(",")?;
                self.expr(&Expr::Str(arrow.path.clone()))?;
                self.text(if arrow.unquote { "))" } else { ")" })
            }
            Expr::JsonValue(value) => self.json_value(value),
            Expr::Match(search) => self.search(search),
            Expr::Call(call) => self.call(call),
            Expr::Aggregate(aggregate) => self.aggregate(aggregate),
            Expr::Window(call) => self.window_call(call),
            // Every other variant is printed by the caller.
            _ => Ok(()),
        }
    }

    fn case(&mut self, case: &Case) -> fmt::Result {
        self.text("(case")?;
        if let Some(operand) = &case.operand {
            self.text(" ")?;
            self.expr(operand)?;
        }
        for (when, then) in &case.arms {
            self.text(" when ")?;
            self.expr(when)?;
            self.text(" then ")?;
            self.expr(then)?;
        }
        if let Some(otherwise) = &case.otherwise {
            self.text(" else ")?;
            self.expr(otherwise)?;
        }
        self.text(" end)")
    }

    fn cast(&mut self, cast: &Cast) -> fmt::Result {
        self.text("cast(")?;
        self.expr(&cast.expr)?;
        if let Some(zone) = &cast.at_time_zone {
            self.text(" at time zone ")?;
            self.string(zone)?;
        }
        self.text(" as ")?;
        self.cast_type(&cast.target)?;
        self.text(if cast.array { " array)" } else { ")" })
    }

    fn cast_type(&mut self, target: &CastType) -> fmt::Result {
        match target {
            CastType::Binary(None) => self.text("char charset binary"),
            CastType::Binary(Some(n)) => write!(self.out, "char({n}) charset binary"),
            CastType::Char {
                length,
                charset,
                binary,
            } => {
                self.text("char")?;
                if let Some(n) = length {
                    write!(self.out, "({n})")?;
                }
                if let Some(charset) = charset {
                    self.text(" charset ")?;
                    self.charset(charset)?;
                }
                match binary {
                    true => self.text(" binary"),
                    false => Ok(()),
                }
            }
            CastType::Signed => self.text("signed"),
            CastType::Unsigned => self.text("unsigned"),
            CastType::Date => self.text("date"),
            CastType::Time(0) => self.text("time"),
            CastType::Time(fsp) => write!(self.out, "time({fsp})"),
            CastType::Datetime(0) => self.text("datetime"),
            CastType::Datetime(fsp) => write!(self.out, "datetime({fsp})"),
            CastType::Year => self.text("year"),
            CastType::Decimal { precision, scale } => {
                write!(self.out, "decimal({precision},{scale})")
            }
            CastType::Float => self.text("float"),
            CastType::Double => self.text("double"),
            CastType::Json => self.text("json"),
            CastType::Geometry(name) => self.text(name),
        }
    }

    fn trim(&mut self, trim: &Trim) -> fmt::Result {
        self.text("trim(")?;
        let side = match trim.side {
            TrimSide::Both => "both ",
            TrimSide::Leading => "leading ",
            TrimSide::Trailing => "trailing ",
        };
        if trim.what.is_some() || trim.side != TrimSide::Both {
            self.text(side)?;
            if let Some(what) = &trim.what {
                self.expr(what)?;
                self.text(" ")?;
            }
            self.text("from ")?;
        }
        self.expr(&trim.expr)?;
        self.text(")")
    }

    fn json_value(&mut self, value: &JsonValue) -> fmt::Result {
        self.text("json_value(")?;
        self.expr(&value.doc)?;
        self.text(", ")?;
        self.expr(&value.path)?;
        if let Some(target) = &value.returning {
            self.text(" returning ")?;
            self.cast_type(target)?;
        }
        self.json_on(value.on_empty.as_ref(), "empty")?;
        self.json_on(value.on_error.as_ref(), "error")?;
        self.text(")")
    }

    pub(super) fn json_on(&mut self, on: Option<&JsonOn>, word: &str) -> fmt::Result {
        match on {
            None => return Ok(()),
            Some(JsonOn::Null) => self.text(" null")?,
            Some(JsonOn::Error) => self.text(" error")?,
            Some(JsonOn::Default(value)) => {
                self.text(" default ")?;
                self.expr(value)?;
            }
        }
        write!(self.out, " on {word}")
    }

    fn search(&mut self, search: &Match) -> fmt::Result {
        self.text("(match (")?;
        self.list(&search.columns, ",", Self::column)?;
        self.text(") against (")?;
        self.expr(&search.against)?;
        if search.boolean {
            self.text(" in boolean mode")?;
        }
        if search.expansion {
            self.text(" with query expansion")?;
        }
        self.text("))")
    }

    fn call(&mut self, call: &Call) -> fmt::Result {
        match &call.schema {
            Some(schema) => {
                self.name(schema)?;
                self.text(".")?;
                self.name(&call.name)?;
            }
            None if !call.plain
                && !call.name.is_empty()
                && !call.name.starts_with(|c: char| c.is_ascii_digit())
                && call.name.bytes().all(crate::lexer::is_ident_byte) =>
            {
                self.text(&call.name.to_ascii_lowercase())?;
            }
            None => self.name(&call.name)?,
        }
        self.text("(")?;
        self.exprs(&call.args)?;
        self.text(")")
    }

    fn aggregate(&mut self, aggregate: &Aggregate) -> fmt::Result {
        self.text(aggregate.func.name())?;
        self.text(if aggregate.distinct {
            "(distinct "
        } else {
            "("
        })?;
        if aggregate.args.is_empty() {
            self.text("0")?;
        }
        self.exprs(&aggregate.args)?;
        self.order_by(&aggregate.order_by)?;
        if aggregate.func == AggregateFunc::GroupConcat {
            self.text(" separator ")?;
            self.string(aggregate.separator.as_deref().unwrap_or(b","))?;
        }
        self.text(")")?;
        match &aggregate.over {
            Some(over) => self.over(over),
            None => Ok(()),
        }
    }

    fn window_call(&mut self, call: &WindowCall) -> fmt::Result {
        self.text(call.func.name())?;
        self.text("(")?;
        self.exprs(&call.args)?;
        self.text(")")?;
        if call.from_last {
            self.text(" from last")?;
        }
        if call.ignore_nulls {
            self.text(" ignore nulls")?;
        }
        self.over(&call.over)
    }

    fn over(&mut self, over: &Over) -> fmt::Result {
        self.text(" OVER ")?;
        match over {
            Over::Named(name) => self.name(name),
            Over::Spec(spec) => self.window_spec(spec),
        }
    }

    pub(super) fn window_spec(&mut self, spec: &WindowSpec) -> fmt::Result {
        self.text("(")?;
        if let Some(base) = &spec.base {
            self.name(base)?;
            self.text(" ")?;
        }
        if !spec.partition_by.is_empty() {
            self.text("PARTITION BY ")?;
            self.exprs(&spec.partition_by)?;
            self.text(" ")?;
        }
        if !spec.order_by.is_empty() {
            self.text("ORDER BY ")?;
            self.order_items(&spec.order_by)?;
            self.text(" ")?;
        }
        if let Some(frame) = &spec.frame {
            self.frame(frame)?;
        }
        self.text(") ")
    }

    fn frame(&mut self, frame: &Frame) -> fmt::Result {
        self.text(match frame.unit {
            FrameUnit::Rows => "ROWS ",
            FrameUnit::Range => "RANGE ",
            FrameUnit::Groups => "GROUPS ",
        })?;
        // As MySQL writes it, with both ends.
        self.text("BETWEEN ")?;
        self.frame_bound(&frame.start)?;
        self.text(" AND ")?;
        self.frame_bound(frame.end.as_ref().unwrap_or(&FrameBound::CurrentRow))?;
        self.text(match frame.exclude {
            None => "",
            Some(FrameExclude::CurrentRow) => " EXCLUDE CURRENT ROW",
            Some(FrameExclude::Group) => " EXCLUDE GROUP",
            Some(FrameExclude::Ties) => " EXCLUDE TIES",
            Some(FrameExclude::NoOthers) => " EXCLUDE NO OTHERS",
        })
    }

    fn frame_bound(&mut self, bound: &FrameBound) -> fmt::Result {
        let (amount, step, word) = match bound {
            FrameBound::CurrentRow => return self.text("CURRENT ROW"),
            FrameBound::UnboundedPreceding => return self.text("UNBOUNDED PRECEDING"),
            FrameBound::UnboundedFollowing => return self.text("UNBOUNDED FOLLOWING"),
            FrameBound::Preceding(amount, step) => (amount, step, " PRECEDING"),
            FrameBound::Following(amount, step) => (amount, step, " FOLLOWING"),
        };
        if step.is_some() {
            self.text("INTERVAL ")?;
        }
        self.expr(amount)?;
        if let Some(step) = step {
            write!(self.out, " {} ", step.name())?;
        }
        self.text(word)
    }
}

/// A unit's name in lower case.
pub(super) fn unit(unit: IntervalUnit) -> String {
    unit.name().to_ascii_lowercase()
}
