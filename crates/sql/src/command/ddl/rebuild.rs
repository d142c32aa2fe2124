//! `ALTER TABLE` that writes rows again: each row's values under the new definition.

use std::sync::Arc;

use engine::{ColumnDef, ColumnDefault, Keys, Rewrite, RowRef, Table, TableDef};
use types::convert::{ConvertMode, Target, assign, zero_value};
use types::error::codes;
use types::{DataType, SqlError, Value, ValueRef};

use crate::command::scalar;
use crate::context::Session;
use sql_exec::CheckRow as _;
use sql_exec::{Built, now_value, whole};
use sql_expr::func::json_list;
use sql_expr::vars::SqlMode;
use sql_expr::{EvalCtx, Expr, NoRow, json};
use sql_plan::bind::row_rules::{self, RowRules};

use super::altered::{AlteredTable, Origin};
use super::default;

/// How a column's value comes about.
enum Source {
    Kept(usize),
    Converted(usize),
    Value(Value),
    Computed(Expr),
    /// A generated column's.
    Generated(Expr),
    /// Another number for each row.
    Numbered,
}

struct Maker<'a, 's> {
    old: &'a TableDef,
    new: &'a TableDef,
    sources: Vec<Source>,
    /// What the rows have to be looked at for.
    rules: RowRules,
    mode: ConvertMode,
    /// The column whose zeros get the next number.
    auto: Option<usize>,
    next: u64,
    line: u64,
    cx: &'a EvalCtx<'s>,
}

/// Rebuilds the table, concurrent writers where that can be and `lock`, of the statement's LOCK clause, does not ask otherwise; gives the number of its rows, `None` where another statement has changed its definition meanwhile.
///
/// # Errors
/// Those of conversions and of the engine; 1846 where the clause asks for what cannot be.
pub(super) async fn run(
    s: &mut Session,
    old: &Arc<Table>,
    altered: &AlteredTable,
    lock: &str,
) -> Result<Option<u64>, SqlError> {
    let now = s.now_micros();
    let (r, warnings, total) = {
        let cx = EvalCtx::new(&s.facts, &s.vars, &s.user_vars, Session::NO_PARAMS, now);
        let mut maker = Maker::new(&old.def, altered, &cx)?;
        // Whatever else it is for, it makes keys of text by the weights of this program: an older one may have had others.
        let anew = maker.is_same() && has_text_key(&old.def);
        let same_key = altered.keeps_key(&old.def) && !anew;
        let keys = Keys::between(&old.def, &altered.def, same_key);
        let can = maker.is_repeatable(keys);
        if matches!(lock, "NONE" | "SHARED") && !can {
            return Err(SqlError::new(
                codes::ER_ALTER_OPERATION_NOT_SUPPORTED_REASON,
                format!(
                    "LOCK={lock} is not supported. Reason: an AUTO_INCREMENT column or a primary key whose values the rows do not have yet requires a lock. Try LOCK=EXCLUSIVE."
                ),
            ));
        }
        let concurrent = can && lock != "EXCLUSIVE";
        let same = maker.is_same() && !anew;
        let mut reshape = |row: RowRef<'_>| maker.row(row);
        let rewrite = match same {
            true => Rewrite::Same,
            false => Rewrite::Each(&mut reshape),
        };
        let def = altered.def.clone();
        let r = s
            .engine
            .rebuild_renaming(old, def, rewrite, (same_key, concurrent), &altered.renamed)
            .await;
        let (w, total) = cx.take_warnings();
        (r, w, total)
    };
    s.keep_warnings(warnings, total);
    r
}

impl<'a, 's> Maker<'a, 's> {
    fn new(
        old: &'a TableDef,
        altered: &'a AlteredTable,
        cx: &'a EvalCtx<'s>,
    ) -> Result<Maker<'a, 's>, SqlError> {
        let new = &altered.def;
        let mode = scalar::convert_mode(cx);
        let columns = new.columns.iter().enumerate().zip(&altered.origins);
        let recomputed = altered.recomputed(old);
        let sources = columns.map(|((at, c), origin)| {
            if let (Some(g), true) = (&c.generated, recomputed[at]) {
                let e = row_rules::bound(&g.expr, &new.columns, cx)?;
                return Ok(Source::Generated(e));
            }
            Ok(match origin {
                Origin::Kept(n) => Source::Kept(usize::from(*n)),
                Origin::Converted(n) => Source::Converted(usize::from(*n)),
                Origin::New if c.auto_increment => Source::Numbered,
                Origin::New => match &c.default {
                    ColumnDefault::Expr(text) => {
                        Source::Computed(default::bound(text, &new.columns, at, cx)?)
                    }
                    _ => Source::Value(filling(c, cx)),
                },
            })
        });
        let sources = sources.collect::<Result<Vec<_>, SqlError>>()?;
        let keeps_zero = cx.sql_mode.has(SqlMode::NO_AUTO_VALUE_ON_ZERO);
        let auto = new
            .auto_increment_column()
            .filter(|&c| match altered.origins[c] {
                Origin::Kept(n) | Origin::Converted(n) => {
                    !keeps_zero && !old.columns[usize::from(n)].auto_increment
                }
                Origin::New => true,
            });
        let rules = match altered.verify {
            true => RowRules::of(new, &|_| true, cx)?,
            false => RowRules::default(),
        };
        Ok(Maker {
            old,
            new,
            sources,
            rules,
            mode,
            auto,
            next: new.options.auto_increment.max(1),
            line: 0,
            cx,
        })
    }

    /// A row gives the same each time, or at least the same clustered key: none is given a number, and what is computed may be by chance.
    fn is_repeatable(&self, keys: Keys) -> bool {
        let numbered = |s: &Source| matches!(s, Source::Numbered);
        let by_chance = self
            .sources
            .iter()
            .any(|s| matches!(s, Source::Computed(_)));
        let computed = |c: &u16| match self.sources[usize::from(*c)] {
            Source::Computed(_) => true,
            Source::Generated(_) => by_chance,
            _ => false,
        };
        let key = self.new.clustered_choice().map(|i| &self.new.indexes[i]);
        let mut key = key.into_iter().flat_map(|x| &x.parts).map(|p| &p.column);
        let made = match keys {
            Keys::Kept => true,
            Keys::Made => !key.any(computed),
            Keys::Numbered => false,
        };
        made && self.auto.is_none() && !self.sources.iter().any(numbered)
    }

    /// Rows stay as they are.
    fn is_same(&self) -> bool {
        let (old, new) = (&self.old.columns, &self.new.columns);
        let kept = |(at, s): (usize, &Source)| {
            matches!(s, Source::Kept(n) if *n == at) && old[at].ty == new[at].ty
        };
        let as_they_are = self.auto.is_none() && self.rules.checks.is_empty();
        as_they_are && old.len() == new.len() && self.sources.iter().enumerate().all(kept)
    }

    fn row(&mut self, row: RowRef<'_>) -> Result<Vec<Value>, SqlError> {
        self.line += 1;
        let mut out: Vec<Value> = Vec::with_capacity(self.sources.len());
        for (at, source) in self.sources.iter().enumerate() {
            let v = match source {
                Source::Computed(_) | Source::Generated(_) | Source::Numbered => Value::Null,
                Source::Kept(n) => row.column(*n).to_owned(),
                Source::Converted(n) => self.converted(at, *n, row.column(*n))?,
                Source::Value(v) => {
                    self.allowed(at, v)?;
                    v.clone()
                }
            };
            out.push(v);
        }
        // What is computed may refer to any column that is not, and to those computed before it.
        for (at, source) in self.sources.iter().enumerate() {
            if let Source::Computed(e) | Source::Generated(e) = source {
                let so_far = Built {
                    slot: 0,
                    values: &out,
                    inserted: &[],
                    rest: &NoRow,
                };
                let v = e.eval(self.cx, &so_far).map_err(|e| self.of_list(e, at))?;
                let ty = &self.new.columns[at].ty;
                out[at] = self.assigned(at, v.as_assigned_ref(&e.ty, ty))?;
            }
        }
        if let Some(c) = self.auto {
            self.number(c, &mut out)?;
        }
        if let Some(which) = self.rules.violated(&out, None, self.cx)?
            && !base::mutant!("rows-there-not-checked")
        {
            return Err(self.rules.violation(which));
        }
        Ok(out)
    }

    /// What is no element of a multi-valued key part, by the name of its index.
    fn of_list(&self, e: SqlError, at: usize) -> SqlError {
        if !self.new.columns[at].is_list() {
            return e;
        }
        let has = |i: &&engine::IndexDef| i.parts.iter().any(|p| usize::from(p.column) == at);
        let index = self.new.indexes.iter().find(has).map_or("", |i| &i.name);
        json_list::of_index(e, index, self.line)
    }

    /// Gives the row the next number if it has none.
    fn number(&mut self, c: usize, row: &mut [Value]) -> Result<(), SqlError> {
        let there = match &row[c] {
            Value::Null => None,
            v => whole(v).filter(|n| *n > 0),
        };
        if let Some(n) = there {
            self.next = self.next.max(n.saturating_add(1));
            return Ok(());
        }
        let below_zero = !matches!(row[c], Value::Null | Value::Int(0) | Value::UInt(0))
            && !matches!(row[c], Value::Float(0.0) | Value::Double(0.0));
        if below_zero {
            return Ok(());
        }
        row[c] = self.assigned(c, ValueRef::UInt(self.next))?;
        self.next += 1;
        Ok(())
    }

    fn converted(&self, at: usize, from: usize, v: ValueRef<'_>) -> Result<Value, SqlError> {
        let (was, def) = (&self.old.columns[from], &self.new.columns[at]);
        if v.is_null() {
            if def.nullable {
                return Ok(Value::Null);
            }
            if Some(at) == self.auto {
                return Ok(Value::Null);
            }
            // MySQL says one where it would only look, the other where it converts.
            let e = match was.ty == def.ty {
                true => SqlError::fixed(codes::ER_INVALID_USE_OF_NULL),
                false => SqlError::data_truncated(&def.name, self.line),
            };
            if self.mode.strict {
                return Err(e);
            }
            self.cx
                .warn_error(SqlError::data_truncated(&def.name, self.line));
            return Ok(zero_value(&def.ty));
        }
        match (&was.ty, v) {
            // What is stored as universal time is the session's to everybody else.
            (DataType::Timestamp(_), ValueRef::DateTime(d)) => {
                let local = self.cx.zone.to_local(d).unwrap_or(d);
                self.assigned(at, ValueRef::DateTime(local))
            }
            // The word that stands for what was no member stays what it is.
            (DataType::Enum(_), ValueRef::Enum(0, _)) if let DataType::Enum(list) = &def.ty => {
                Ok(Value::Enum(0, Arc::clone(list)))
            }
            _ => self.assigned(at, v).map_err(|e| {
                let cut = e.code == codes::ER_DATA_TOO_LONG && is_same_kind(&was.ty, &def.ty);
                match cut {
                    // As in MySQL, where a column of the same kind is copied, and not assigned.
                    true => SqlError::data_truncated(&def.name, self.line),
                    false => e,
                }
            }),
        }
    }

    fn assigned(&self, at: usize, v: ValueRef<'_>) -> Result<Value, SqlError> {
        let def = &self.new.columns[at];
        if def.ty == DataType::Json && !v.is_null() {
            let column = format_args!("{}.{}", self.new.name, def.name);
            return json::assigned(v, &column, self.cx);
        }
        let target = Target {
            ty: &def.ty,
            nullable: def.nullable,
            column: &def.name,
            row: self.line,
        };
        let mut warnings = Vec::new();
        let exact = def.is_hidden().then(|| row_rules::exact_mode(&self.mode));
        let mode = exact.as_ref().unwrap_or(&self.mode);
        let v = assign(v, &target, mode, &mut warnings)?.into_value();
        warnings.into_iter().for_each(|w| self.cx.warn(w));
        Ok(v)
    }

    /// Refuses to fill rows with dates that the mode forbids.
    fn allowed(&self, at: usize, v: &Value) -> Result<(), SqlError> {
        if !(self.mode.strict && self.mode.no_zero_date) {
            return Ok(());
        }
        let c = &self.new.columns[at];
        let (kind, text) = match (&c.ty, v) {
            (DataType::Date, Value::Date(d)) if d.packed() == 0 => ("date", "0000-00-00"),
            (DataType::DateTime(_) | DataType::Timestamp(_), Value::DateTime(d))
                if d.date().packed() == 0 =>
            {
                ("datetime", "0000-00-00 00:00:00")
            }
            _ => return Ok(()),
        };
        Err(SqlError::incorrect_temporal(kind, text, &c.name, self.line))
    }
}

/// Whether the clustered key has text whose place is not that of its bytes.
fn has_text_key(def: &TableDef) -> bool {
    let parts = def.indexes.first().map_or(&[][..], |x| &x.parts);
    parts.iter().any(|p| {
        let ty = &def.columns[usize::from(p.column)].ty;
        !ty.collation().is_binary()
    })
}

/// Whether two types are one but for the length, and values have as many bytes of length in front in MySQL's rows.
fn is_same_kind(was: &DataType, new: &DataType) -> bool {
    let has_two = |ty: &DataType| ty.max_bytes() > 255;
    match (was, new) {
        (DataType::Binary(_), DataType::Binary(_)) => true,
        (DataType::VarBinary(_), DataType::VarBinary(_)) => has_two(was) == has_two(new),
        (DataType::Char { collation: a, .. }, DataType::Char { collation: b, .. }) => {
            a.charset() == b.charset()
        }
        (DataType::VarChar { collation: a, .. }, DataType::VarChar { collation: b, .. }) => {
            a.charset() == b.charset() && has_two(was) == has_two(new)
        }
        _ => false,
    }
}

/// What rows that are there get in a new column.
pub(super) fn filling(c: &ColumnDef, cx: &EvalCtx<'_>) -> Value {
    match &c.default {
        ColumnDefault::Literal(v) => v.clone(),
        ColumnDefault::Now => now_value(&c.ty, cx),
        _ if c.nullable => Value::Null,
        _ => match &c.ty {
            DataType::Enum(l) => Value::Enum(1, Arc::clone(l)),
            ty => zero_value(ty),
        },
    }
}
