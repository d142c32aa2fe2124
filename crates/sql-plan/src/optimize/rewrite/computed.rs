//! Generated columns for what they are computed from: where a condition or an order has the expression of an indexed generated column, a
//! functional key part's among them, the column stands for it, and its index can be used.
//!
//! A column stands for an expression only if it has the same value in every row, whoever wrote it and whoever reads it: what depends on a
//! session's settings or time zone is left alone ([`is_steady`]). Where the column's type keeps each value ([`stored_type`]), it takes the
//! expression's place. Where it may have cut some, a condition on it comes beside the one that was written, if it holds for each row for
//! which that does ([`implied`]).

use engine::{ColumnDef, Table};
use types::{DataType, IntWidth};

use crate::bind::places::Places;
use crate::bind::row_rules::{self, stored_type};
use crate::bind::scope::FromTable;
use crate::bind::source::TableSource;
use crate::bind::tree::BoundBlock;
use crate::optimize::conditions::CondInfo;
use sql_expr::column_name::ColumnName;
use sql_expr::infer::{Arith, Domain};
use sql_expr::{CmpOp, Comparer, EvalCtx, Expr, ExprType, Members, Node, Shape, Val};

/// A slot that no table has: of columns that are not the table's.
const ELSEWHERE: u16 = u16::MAX;

/// An indexed generated column.
struct Computed {
    /// The place of its table.
    place: usize,
    slot: u16,
    /// How its expression is written down.
    written: String,
    /// What reads it.
    column: Expr,
    /// It has each value as it is; otherwise its type.
    cut: Option<DataType>,
}

/// The indexed generated columns of these tables that may stand for their expressions.
fn computed(tables: &[FromTable], cx: &EvalCtx<'_>) -> Vec<Computed> {
    let mut all = Vec::new();
    for (place, t) in tables.iter().enumerate() {
        let TableSource::Engine(table) = &t.source else {
            continue;
        };
        for (at, c) in table.def.columns.iter().enumerate() {
            // A list is looked for in another way.
            if c.generated.is_some() && !c.is_list() && table.is_indexed(at as u16) {
                all.extend(one(place, t, table, at, c, cx));
            }
        }
    }
    all
}

fn one(
    place: usize,
    t: &FromTable,
    table: &Table,
    at: usize,
    c: &ColumnDef,
    cx: &EvalCtx<'_>,
) -> Option<Computed> {
    let text = &c.generated.as_ref()?.expr;
    // What this session cannot bind it cannot have written either.
    let e = cx.quietly(|| row_rules::bound(text, &table.def.columns, cx).ok())??;
    let computes = !matches!(e.node, Node::Column(_)) && e.reads_row();
    // Words of a list are kept as text, which has another order.
    let words = matches!(e.ty.shape, Shape::Enum { .. } | Shape::Set { .. });
    if !computes || words || !is_steady(&e) {
        return None;
    }
    let made = stored_type(&e.ty)?;
    let cut = (made != plain(&c.ty)).then(|| c.ty.clone());
    let mut column = t.unnamed_column(at);
    if let (Node::Column(own), Some(shown)) = (&mut column.node, c.key_expression()) {
        own.name = ColumnName::Expression(shown.into());
    }
    if cut.is_none() {
        column.ty = e.ty;
    }
    Some(Computed {
        place,
        slot: t.slot,
        written: written(&e, row_rules::ROW),
        column,
        cut,
    })
}

/// A type without what is only shown.
fn plain(ty: &DataType) -> DataType {
    match ty {
        DataType::Int {
            width, unsigned, ..
        } => DataType::Int {
            width: *width,
            unsigned: *unsigned,
            zerofill: false,
            display: 0,
        },
        DataType::Decimal {
            precision,
            scale,
            unsigned,
            ..
        } => DataType::Decimal {
            precision: *precision,
            scale: *scale,
            unsigned: *unsigned,
            zerofill: false,
        },
        other => other.clone(),
    }
}

/// The same text for the same expressions over a table's row, which is read under this slot.
pub(super) fn written(e: &Expr, slot: u16) -> String {
    fn nullable(e: &mut Expr) {
        // A column of a table of an outer join may be NULL, whatever its definition says.
        e.ty.nullable = true;
        if let Node::Call(c) = &mut e.node
            && c.def.name == "json_extract"
        {
            c.args.iter_mut().skip(1).for_each(plain_path);
        }
        e.each_child_mut(&mut nullable);
    }
    /// Of a path in a document its characters count, and not how the session compares texts.
    fn plain_path(path: &mut Expr) {
        if matches!(path.as_const(), Some(Val::Bytes(b)) if b.is_ascii()) {
            path.ty = ExprType::null();
        }
    }
    let mut e = e.clone();
    e.map_columns(&mut |c| {
        c.slot = if c.slot == slot { 0 } else { ELSEWHERE };
        c.name = "".into();
    });
    nullable(&mut e);
    format!("{e:?}")
}

/// Whether an expression has the same value for a row in every session. What reads text as a date or a time follows `sql_mode` and the time
/// zone, a TIMESTAMP is the session's time, and a quotient has as many digits as the session wants.
pub(super) fn is_steady(e: &Expr) -> bool {
    !e.any(&|x| is_rounded(x) || follows_session(x))
}

/// Whether an expression that a definition has is evaluated alike in every session, as [`is_steady`] says it, however many digits it has.
pub fn is_same_everywhere(e: &Expr) -> bool {
    // What is below zero is so with NO_UNSIGNED_SUBTRACTION alone.
    let below = |x: &Expr| matches!(&x.node, Node::Arith(Arith::Sub, domain, p) if *domain != Domain::Double && p.iter().any(|e| e.ty.is_unsigned()));
    !e.any(&|x| follows_session(x) || below(x))
}

/// Whether the value of an expression becomes that of a column of this type alike in every session: what is made a date or a time follows `sql_mode`,
/// the time zone and the day.
pub fn is_kept_alike(e: &Expr, to: &DataType) -> bool {
    match (to, e.ty.shape) {
        (_, Shape::Null) => true,
        (DataType::Date, from) => from == Shape::Date,
        (DataType::DateTime(_), Shape::Date) => true,
        (DataType::DateTime(to), Shape::DateTime(from)) => from <= *to,
        (DataType::Time(to), Shape::Time(from)) => from <= *to,
        (DataType::Year, from) => from == Shape::Year,
        (DataType::DateTime(_) | DataType::Time(_) | DataType::Timestamp(_), _) => false,
        (to, _) => to.is_string() || !e.ty.is_temporal(),
    }
}

/// Whether a value may have more digits than its type says: they count where it is compared, and are lost where it is kept.
fn is_rounded(x: &Expr) -> bool {
    let Shape::Decimal {
        precision, scale, ..
    } = x.ty.shape
    else {
        return match &x.node {
            Node::DateArith(p, ..) => x.ty.shape != Shape::Date && !p[1].ty.is_integer(),
            _ => false,
        };
    };
    let known = match &x.node {
        Node::Call(c) => KEEPS_DIGITS.contains(&c.def.name),
        _ => true,
    };
    !known || scale >= 30 || precision >= 65
}

/// Functions whose results have no more digits than their types.
const KEEPS_DIGITS: &[&str] = &[
    "abs", "round", "truncate", "floor", "ceil", "ceiling", "coalesce", "ifnull", "if", "nullif",
    "greatest", "least", "mod",
];

fn follows_session(x: &Expr) -> bool {
    match &x.node {
        Node::Const(_) | Node::Known(..) | Node::Neg(..) | Node::BitNot(_) | Node::Bits(..) => {
            false
        }
        Node::And(_) | Node::Or(_) | Node::Xor(_) | Node::Not(_) => false,
        Node::IsNull(..) | Node::IsTruth(..) | Node::Collate(_) | Node::Transcode(..) => false,
        Node::Column(c) => c.utc,
        Node::Arith(op, domain, _) => *op == Arith::Div && *domain != Domain::Double,
        Node::Compare(_, c, p) => !compares_steadily(c, p.iter()),
        Node::Between(p, c, _) => !c.iter().all(|c| compares_steadily(c, p.iter())),
        Node::In(list) => match &list.members {
            Members::Sorted(c, _, ty) => {
                reads_dates(c) && !(ty.is_temporal() && list.expr.ty.is_temporal())
            }
            Members::Each(each) => !each
                .iter()
                .all(|(c, e)| compares_steadily(c, [&list.expr, e].into_iter())),
        },
        Node::Like(_) => false,
        Node::Case(c) => c.operand.is_some(),
        Node::Cast(..) | Node::Coerce(_) => x.ty.is_temporal() || x.ty.shape == Shape::Year,
        Node::DateArith(p, ..) => !p[0].ty.is_temporal(),
        Node::Extract(_, of) => !of.ty.is_temporal(),
        Node::TimestampDiff(_, p) => !p.iter().all(|e| e.ty.is_temporal()),
        Node::Call(c) => {
            !c.def.foldable()
                || FOLLOWS_SETTINGS.contains(&c.def.name)
                || READS_DATES.contains(&c.def.name) && !c.args.iter().all(|a| a.ty.is_temporal())
        }
        _ => true,
    }
}

/// Functions that follow settings of the session.
const FOLLOWS_SETTINGS: &[&str] = &[
    "week",
    "yearweek",
    "str_to_date",
    "dayname",
    "monthname",
    "date_format",
    "time_format",
    "format",
    "aes_encrypt",
    "aes_decrypt",
    "maketime",
    "makedate",
    "sec_to_time",
    "from_days",
    "period_add",
    "period_diff",
    "timestamp",
    "addtime",
    "subtime",
    "timediff",
];

/// Functions that read their arguments as dates or times.
const READS_DATES: &[&str] = &[
    "year",
    "month",
    "day",
    "dayofmonth",
    "quarter",
    "dayofweek",
    "weekday",
    "dayofyear",
    "to_days",
    "to_seconds",
    "weekofyear",
    "last_day",
    "hour",
    "minute",
    "second",
    "microsecond",
    "time_to_sec",
    "datediff",
    "date",
    "time",
];

fn reads_dates(c: &Comparer) -> bool {
    !matches!(
        c,
        Comparer::Int | Comparer::Exact | Comparer::Double | Comparer::Text(_)
    )
}

fn compares_steadily<'e>(c: &Comparer, mut operands: impl Iterator<Item = &'e Expr>) -> bool {
    !reads_dates(c) || operands.all(|e| e.ty.is_temporal())
}

/// Lets columns take the place of their expressions in a block's conditions and in its order.
pub(crate) fn read_columns(b: &mut BoundBlock, cx: &EvalCtx<'_>) {
    let mut all = computed(&b.tables, cx);
    all.retain(|c| c.cut.is_none());
    if all.is_empty() {
        return;
    }
    let joins = &mut b.joins;
    let (nest_of, conds) = (&joins.nest_of, &mut joins.conds);
    for c in conds {
        // A row of NULLs has no value that was computed.
        let nest = c.nest;
        let there = |x: &&Computed| {
            let outer = b.tables[x.place].outer_joined;
            !outer || nest_of[x.place] == nest
        };
        let usable: Vec<&Computed> = all.iter().filter(there).collect();
        in_condition(&mut c.expr, &usable);
    }
    if b.group.is_none() && b.windows.is_none() && !b.distinct {
        let usable: Vec<&Computed> = (all.iter())
            .filter(|x| !b.tables[x.place].outer_joined)
            .collect();
        for k in &mut b.order {
            replace(&mut k.expr, &usable);
        }
    }
}

fn in_condition(e: &mut Expr, all: &[&Computed]) {
    match &mut e.node {
        Node::And(v) | Node::Or(v) => v.iter_mut().for_each(|x| in_condition(x, all)),
        Node::Not(x) => in_condition(x, all),
        Node::Compare(_, _, p) => p.iter_mut().for_each(|x| replace(x, all)),
        Node::Between(p, ..) => p.iter_mut().for_each(|x| replace(x, all)),
        Node::In(list) => replace(&mut list.expr, all),
        Node::Like(l) => replace(&mut l.text, all),
        Node::IsNull(x, _) => replace(x, all),
        _ => {}
    }
}

fn replace(e: &mut Expr, all: &[&Computed]) {
    if matches!(e.node, Node::Column(_)) || !e.reads_row() {
        return;
    }
    if let Some(c) = found(e, all.iter().copied()) {
        let ty = e.ty;
        *e = c.column.clone();
        e.ty = ty;
    }
}

fn found<'c>(e: &Expr, mut all: impl Iterator<Item = &'c Computed>) -> Option<&'c Computed> {
    let mut slots: Vec<(u16, String)> = Vec::new();
    all.find(|c| {
        if !slots.iter().any(|(slot, _)| *slot == c.slot) {
            slots.push((c.slot, written(e, c.slot)));
        }
        slots
            .iter()
            .any(|(slot, w)| *slot == c.slot && *w == c.written)
    })
}

/// Conditions on generated columns that may have cut values: each holds for every row for which one that was written does, as what that
/// compares with lies where nothing is cut.
pub(crate) fn implied(
    conds: &[CondInfo],
    tables: &[FromTable],
    nest_of: &[u16],
    places: &Places,
    cx: &EvalCtx<'_>,
) -> Vec<CondInfo> {
    let mut all = computed(tables, cx);
    all.retain(|c| c.cut.is_some());
    let mut made = Vec::new();
    if all.is_empty() {
        return made;
    }
    for c in conds.iter().filter(|c| !c.late) {
        let Some(operand) = is_compared(&c.expr) else {
            continue;
        };
        if matches!(operand.node, Node::Column(_)) {
            continue;
        }
        let there = |x: &&Computed| nest_of[x.place] == c.nest;
        let Some(x) = found(operand, all.iter().filter(there)) else {
            continue;
        };
        if !keeps(&c.expr, operand, x) {
            continue;
        }
        let mut e = c.expr.clone();
        put_column(&mut e, &x.column);
        made.push(CondInfo {
            copied: true,
            nest: c.nest,
            ..CondInfo::made(e, places, None)
        });
    }
    made
}

/// What a condition compares with constants.
fn is_compared(e: &Expr) -> Option<&Expr> {
    match &e.node {
        Node::Compare(CmpOp::Ne | CmpOp::NullSafeEq, ..) => None,
        Node::Compare(_, _, p) if p[1].is_row_constant() => Some(&p[0]),
        Node::Compare(_, _, p) if p[0].is_row_constant() => Some(&p[1]),
        Node::Between(p, _, false) if p[1..].iter().all(Expr::is_row_constant) => Some(&p[0]),
        Node::In(list) if !list.negated => Some(&list.expr),
        _ => None,
    }
}

/// Puts the column where [`is_compared`] finds the operand.
fn put_column(e: &mut Expr, column: &Expr) {
    match &mut e.node {
        Node::Compare(_, _, p) => {
            let at = usize::from(!p[1].is_row_constant());
            p[at] = column.clone();
        }
        Node::Between(p, ..) => p[0] = column.clone(),
        Node::In(list) => list.expr = column.clone(),
        _ => {}
    }
}

/// Whether the column's type keeps what a comparison asks for.
fn keeps(e: &Expr, operand: &Expr, x: &Computed) -> bool {
    let Some(ty) = &x.cut else { return false };
    let fits = |c: &Comparer, v: &Expr| value_is_inside(c, &operand.ty, ty, v);
    match &e.node {
        Node::Compare(_, c, p) => {
            let at = usize::from(!p[1].is_row_constant());
            fits(c, &p[1 - at])
        }
        Node::Between(p, c, false) => fits(&c[0], &p[1]) && fits(&c[1], &p[2]),
        Node::In(list) if !list.negated => match &list.members {
            Members::Sorted(c, values, item) => values.iter().all(|v| {
                let v = Expr::constant(v.clone(), *item);
                fits(c, &v)
            }),
            Members::Each(_) => false,
        },
        _ => false,
    }
}

/// Whether a constant lies where values of the expression's type are kept as they are by the column's, and apart from where they are not.
fn value_is_inside(c: &Comparer, made: &ExprType, column: &DataType, v: &Expr) -> bool {
    let Some(v) = v.as_const() else { return false };
    match (column, made.shape, v) {
        (
            DataType::Int {
                width, unsigned, ..
            },
            Shape::Int { .. } | Shape::Year,
            v,
        ) => {
            let n = match v {
                Val::Int(n) => i128::from(*n),
                Val::Uint(n) => i128::from(*n),
                _ => return false,
            };
            *c == Comparer::Int && inside(*width, *unsigned, n)
        }
        (DataType::VarChar { chars, collation }, Shape::Str { .. }, Val::Bytes(b)) => {
            // One of weights could be equal to what is longer.
            let by_bytes = collation.name().ends_with("_bin") && !collation.is_binary();
            let short = collation.charset().char_count(b) < *chars as usize;
            by_bytes && *c == Comparer::Text(*collation) && made.collation == *collation && short
        }
        _ => false,
    }
}

fn inside(width: IntWidth, unsigned: bool, n: i128) -> bool {
    let (min, max) = match unsigned {
        true => (0, i128::from(width.unsigned_max())),
        false => {
            let (min, max) = width.signed_range();
            (i128::from(min), i128::from(max))
        }
    };
    min < n && n < max
}
