//! Optimizer hints: the names in them are resolved in the bound statement, and what they say is written to its tables and blocks. As in
//! MySQL's manual, "Optimizer Hints": no hint is an error, and what cannot be obeyed is warned of.

use types::{Level, Warning};

use crate::bind::hinted::{OrderHint, Strategies};
use crate::bind::scope::FromTable;
use crate::bind::source::TableSource;
use crate::bind::tree::{Body, BoundBlock, BoundBody, BoundQuery, BoundSub, InsertRows};
use sql_expr::EvalCtx;
use sql_parser::ast::{
    Hint, HintedTable, Hints, IndexHint, IndexHintKind, IndexHintScope, IndexHintUse, Name,
    OrderKind, SemijoinStrategy, TableHint,
};

/// ER_PARSE_ERROR, ER_WARN_UNSUPPORTED_MAX_EXECUTION_TIME, ER_WARN_CONFLICTING_HINT, ER_WARN_UNKNOWN_QB_NAME, ER_UNRESOLVED_HINT_NAME,
/// ER_NOT_SUPPORTED_YET.
const FAULT: u16 = 1064;
const TIME_LIMIT: u16 = 3125;
const CONFLICT: u16 = 3126;
const UNKNOWN_BLOCK: u16 = 3127;
const UNRESOLVED: u16 = 3128;
const WITHOUT_EFFECT: u16 = 1235;

/// Resolves the hints of a statement's blocks, each with the number of its block.
pub(crate) fn resolve(body: &mut BoundBody, given: &[(u32, Hints)], cx: &EvalCtx<'_>) {
    if given.is_empty() {
        return;
    }
    each_block(body, &mut |b| {
        for t in &mut b.tables {
            t.block = b.number;
        }
    });
    let mut r = Resolver {
        cx,
        named: Vec::new(),
        seen: Vec::new(),
        unresolved: Vec::new(),
        is_select: is_select(body),
        body,
    };
    for (_, hints) in given {
        for f in &hints.faults {
            r.warn(FAULT, f.to_string());
        }
    }
    for (number, hints) in given {
        for h in &hints.list {
            if let Hint::BlockName(name) = h {
                r.name(*number, name);
            }
        }
    }
    // What is said of single tables goes before what is said of all of a block.
    for single in [true, false] {
        for (number, hints) in given {
            for h in &hints.list {
                let of_all = matches!(h, Hint::Table { tables, .. } if tables.is_empty());
                if of_all != single {
                    r.hint(*number, h);
                }
            }
        }
    }
    for message in std::mem::take(&mut r.unresolved) {
        r.warn(UNRESOLVED, message);
    }
}

fn is_select(body: &BoundBody) -> bool {
    match body {
        BoundBody::Query(_) => true,
        BoundBody::Explain(inner, ..) => is_select(inner),
        _ => false,
    }
}

struct Resolver<'a, 'c> {
    cx: &'a EvalCtx<'c>,
    body: &'a mut BoundBody,
    is_select: bool,
    /// The names of blocks.
    named: Vec<(Name, u32)>,
    /// What hints are about that came before.
    seen: Vec<(&'static str, u32, String)>,
    unresolved: Vec<String>,
}

impl Resolver<'_, '_> {
    fn warn(&self, code: u16, message: String) {
        self.cx.warn(Warning::new(Level::Warning, code, message));
    }

    fn conflict(&self, hint: &str) {
        let message = format!("Hint {hint} is ignored as conflicting/duplicated");
        self.warn(CONFLICT, message);
    }

    /// A hint that is understood, and that there is nothing here for.
    fn without_effect(&self, hint: &Hint) {
        let message = format!("The optimizer hint {} has no effect", hint.name());
        let w = Warning::new(Level::Note, WITHOUT_EFFECT, message);
        self.cx.warn(w);
    }

    /// QB_NAME.
    fn name(&mut self, number: u32, name: &Name) {
        let known = |(n, b): &(Name, u32)| n.eq_ignore_ascii_case(name) || *b == number;
        if self.named.iter().any(known) {
            self.conflict(&format!("QB_NAME(`{name}`)"));
        } else {
            self.named.push((name.clone(), number));
        }
    }

    /// The number of a block by its name; its own without one.
    fn block(&self, own: u32, name: Option<&Name>, hint: &Hint) -> Option<u32> {
        let Some(name) = name else {
            return Some(own);
        };
        let known = self
            .named
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name));
        let number = match known {
            Some((_, b)) => Some(*b),
            None => name.strip_prefix("select#").and_then(|n| n.parse().ok()),
        };
        if number.is_none() {
            let hint = hint.name();
            let message = format!("Query block name `{name}` is not found for {hint} hint");
            self.warn(UNKNOWN_BLOCK, message);
        }
        number
    }

    /// Whether a hint is the first of its kind about something.
    fn is_first(&mut self, kind: &'static str, block: u32, about: String, shown: &str) -> bool {
        let key = (kind, block, about);
        if self.seen.contains(&key) {
            self.conflict(shown);
            return false;
        }
        self.seen.push(key);
        true
    }

    fn hint(&mut self, own: u32, hint: &Hint) {
        match hint {
            Hint::BlockName(_) | Hint::SetVar(_) => {}
            Hint::MaxExecutionTime(_) => {
                if !self.is_select || own != 1 {
                    let message = "MAX_EXECUTION_TIME hint is supported by top-level standalone SELECT statements only";
                    self.warn(TIME_LIMIT, message.to_owned());
                } else {
                    self.is_first("time", own, String::new(), &hint.to_string());
                }
            }
            Hint::ResourceGroup(_) => self.without_effect(hint),
            Hint::Order {
                kind,
                block,
                tables,
            } => {
                if let Some(number) = self.block(own, block.as_ref(), hint) {
                    self.order(number, *kind, tables, block, hint);
                }
            }
            Hint::Table {
                what,
                on,
                block,
                tables,
            } => {
                let Some(number) = self.block(own, block.as_ref(), hint) else {
                    return;
                };
                if *what == TableHint::BatchedKeys && *on {
                    self.without_effect(hint);
                }
                if tables.is_empty() {
                    let at = block.as_ref().map_or(String::new(), |b| format!("@`{b}`"));
                    let shown = format!("{}({at} )", hint.name());
                    if self.is_first(what.name(), number, String::new(), &shown) {
                        each_block(self.body, &mut |b| {
                            if b.number == number {
                                b.tables.iter_mut().for_each(|t| put(t, *what, *on));
                            }
                        });
                    }
                }
                for t in tables {
                    self.table(number, t, *what, *on, block.as_ref(), hint);
                }
            }
            Hint::Index {
                what,
                on,
                table,
                indexes,
            } => {
                let Some(number) = self.block(own, table.block.as_ref(), hint) else {
                    return;
                };
                let idle = matches!(
                    what,
                    IndexHintUse::MultiRange | IndexHintUse::SkipScan | IndexHintUse::Group
                );
                if idle && *on {
                    self.without_effect(hint);
                }
                self.index(number, table, indexes, *what, *on, hint);
            }
            Hint::Semijoin {
                on,
                block,
                strategies,
            } => {
                let Some(number) = self.block(own, block.as_ref(), hint) else {
                    return;
                };
                let set = strategies.iter().map(|s| match s {
                    SemijoinStrategy::FirstMatch => Strategies::FIRST_MATCH,
                    SemijoinStrategy::LooseScan => Strategies::LOOSE_SCAN,
                    SemijoinStrategy::Materialization => Strategies::MATERIALIZATION,
                    SemijoinStrategy::DuplicateWeedout => Strategies::WEEDOUT,
                });
                let set = set.fold(Strategies::default(), Strategies::with);
                if self.is_first("subquery", number, String::new(), &hint.to_string()) {
                    each_block(self.body, &mut |b| {
                        if b.number == number {
                            b.hints.semijoin = Some((*on, set));
                        }
                    });
                }
            }
            Hint::Subquery { block, materialize } => {
                if let Some(number) = self.block(own, block.as_ref(), hint)
                    && self.is_first("subquery", number, String::new(), &hint.to_string())
                {
                    each_block(self.body, &mut |b| {
                        if b.number == number {
                            b.hints.subquery = Some(*materialize);
                        }
                    });
                }
            }
        }
    }

    /// How a table of a block is called in messages.
    fn shown(&self, number: u32, table: &str, block: Option<&Name>) -> String {
        let name = self.named.iter().find(|(_, b)| *b == number);
        match (block, name) {
            (Some(b), _) | (None, Some((b, _))) => format!("`{table}`@`{b}`"),
            (None, None) => format!("`{table}`@`select#{number}`"),
        }
    }

    fn table(
        &mut self,
        own: u32,
        table: &HintedTable,
        what: TableHint,
        on: bool,
        block: Option<&Name>,
        hint: &Hint,
    ) {
        let Some(number) = self.block(own, table.block.as_ref(), hint) else {
            return;
        };
        let block = table.block.as_ref().or(block);
        let at = block.map_or(String::new(), |b| format!("@`{b}`"));
        let shown = format!("{}(`{}`{at} )", hint.name(), table.name);
        if !self.is_first(what.name(), number, table.name.to_string(), &shown) {
            return;
        }
        let mut known = false;
        each_table(self.body, number, &table.name, &mut |t| {
            known = true;
            put(t, what, on);
        });
        if !known && !self.is_target(number, &table.name) {
            let named = self.shown(number, &table.name, block);
            let name = hint.name();
            self.unresolved
                .push(format!("Unresolved name {named} for {name} hint"));
        }
    }

    /// Whether a name is the table that rows are put into.
    fn is_target(&self, number: u32, name: &str) -> bool {
        let mut body = &*self.body;
        if let BoundBody::Explain(inner, ..) = body {
            body = inner;
        }
        matches!(body, BoundBody::Insert(i) if number == 1 && i.table.def.name == *name)
    }

    fn index(
        &mut self,
        number: u32,
        table: &HintedTable,
        indexes: &[Name],
        what: IndexHintUse,
        on: bool,
        hint: &Hint,
    ) {
        let block = table.block.as_ref();
        let at = block.map_or(String::new(), |b| format!("@`{b}`"));
        let begin = format!("{}(`{}`{at} ", hint.name(), table.name);
        let mut wanted: Vec<&Name> = Vec::new();
        for i in indexes {
            let about = format!("{} {i}", table.name);
            if self.is_first(what.name(), number, about, &format!("{begin}`{i}` )")) {
                wanted.push(i);
            }
        }
        let whole = indexes.is_empty();
        if whole
            && !self.is_first(
                what.name(),
                number,
                table.name.to_string(),
                &format!("{begin})"),
            )
        {
            return;
        }
        let mut known = false;
        let mut missing: Vec<Name> = Vec::new();
        each_table(self.body, number, &table.name, &mut |t| {
            known = true;
            let mut numbers = Vec::new();
            if let TableSource::Engine(stored) = &t.source {
                for name in &wanted {
                    match stored.def.index(name) {
                        Some(i) => numbers.push(i),
                        None => missing.push((*name).clone()),
                    }
                }
            } else {
                missing.extend(wanted.iter().map(|n| (*n).clone()));
            }
            if whole || !numbers.is_empty() {
                put_indexes(t, what, on, &numbers);
            }
        });
        let named = self.shown(number, &table.name, block);
        let name = hint.name();
        if !known && !self.is_target(number, &table.name) {
            self.unresolved
                .push(format!("Unresolved name {named} for {name} hint"));
        }
        missing.dedup();
        for i in missing {
            self.unresolved
                .push(format!("Unresolved name {named} `{i}` for {name} hint"));
        }
    }

    fn order(
        &mut self,
        number: u32,
        kind: OrderKind,
        tables: &[HintedTable],
        block: &Option<Name>,
        hint: &Hint,
    ) {
        let at = block.as_ref().map_or(String::new(), |b| format!("@`{b}`"));
        let list: Vec<String> = tables.iter().map(HintedTable::to_string).collect();
        let shown = format!("{}({at} {})", kind.name(), list.join(","));
        // There is one fixed order, and nothing beside it; one beginning, one end.
        let fixed = self
            .seen
            .iter()
            .any(|s| s.0 == OrderKind::Fixed.name() && s.1 == number);
        let any = self.seen.iter().any(|s| {
            let order = [OrderKind::Relative, OrderKind::Prefix, OrderKind::Suffix];
            order.iter().any(|k| k.name() == s.0) && s.1 == number
        });
        if fixed || any && kind == OrderKind::Fixed {
            return self.conflict(&shown);
        }
        let about = match kind {
            OrderKind::Relative => list.join(","),
            _ => String::new(),
        };
        if !self.is_first(kind.name(), number, about, &shown) {
            return;
        }
        let mut named = Vec::new();
        for t in tables {
            let of = match &t.block {
                Some(b) => match self.block(number, Some(b), hint) {
                    Some(n) => Some(n),
                    None => return,
                },
                None => None,
            };
            let mut known = false;
            each_block(self.body, &mut |b| {
                let here = of.is_none_or(|n| n == b.number);
                known |= here && b.tables.iter().any(|x| *x.alias == *t.name);
            });
            if !known {
                let hint = kind.name();
                self.unresolved
                    .push(format!("Unresolved name {t} for {hint} hint"));
                return;
            }
            named.push((t.name.clone(), of));
        }
        each_block(self.body, &mut |b| {
            if b.number != number {
            } else if kind == OrderKind::Fixed {
                b.straight = true;
            } else {
                b.hints.orders.push(OrderHint {
                    kind,
                    tables: named.clone(),
                });
            }
        });
    }
}

/// What a hint says of a table, where none said it before.
fn put(t: &mut FromTable, what: TableHint, on: bool) {
    let h = t.hinted.get_or_insert_default();
    let place = match what {
        TableHint::BatchedKeys => return,
        TableHint::BlockNestedLoop => &mut h.keep,
        TableHint::HashJoin => &mut h.hash_join,
        TableHint::Merge => &mut h.merge,
        TableHint::ConditionPushdown => &mut h.pushdown,
    };
    place.get_or_insert(on);
}

fn put_indexes(t: &mut FromTable, what: IndexHintUse, on: bool, numbers: &[usize]) {
    let h = t.hinted.get_or_insert_default();
    let scope = match what {
        IndexHintUse::Any => IndexHintScope::All,
        IndexHintUse::Join => IndexHintScope::Join,
        IndexHintUse::Group => IndexHintScope::GroupBy,
        IndexHintUse::Order => IndexHintScope::OrderBy,
        IndexHintUse::Merge => {
            h.index_merge.get_or_insert((on, numbers.to_vec()));
            return;
        }
        IndexHintUse::Range => {
            let all = h.no_range.get_or_insert_default();
            match numbers {
                [] => all.clear(),
                some => all.extend(some),
            }
            return;
        }
        // Nothing does what these forbid.
        IndexHintUse::MultiRange | IndexHintUse::ConditionPushdown | IndexHintUse::SkipScan => {
            return;
        }
    };
    if !std::mem::replace(&mut h.indexes, true) {
        t.hints.clear();
    }
    let TableSource::Engine(stored) = &t.source else {
        return;
    };
    let named = |i: &usize| stored.def.indexes[*i].name.as_str().into();
    let all: Vec<usize> = (0..stored.def.indexes.len())
        .filter(|i| stored.def.indexes[*i].kind != engine::IndexKind::Hidden)
        .collect();
    let indexes = if numbers.is_empty() { &all } else { numbers };
    t.hints.push(IndexHint {
        kind: match on {
            true => IndexHintKind::Force,
            false => IndexHintKind::Ignore,
        },
        scope,
        indexes: indexes.iter().map(named).collect(),
    });
}

fn each_table(body: &mut BoundBody, number: u32, name: &str, f: &mut dyn FnMut(&mut FromTable)) {
    each_block(body, &mut |b| {
        if b.number == number {
            b.tables
                .iter_mut()
                .filter(|t| *t.alias == *name)
                .for_each(&mut *f);
        }
    });
}

/// Calls `f` with every block of a statement.
fn each_block(body: &mut BoundBody, f: &mut dyn FnMut(&mut BoundBlock)) {
    match body {
        BoundBody::Query(q) => blocks(q, f),
        BoundBody::Insert(i) => {
            if let InsertRows::Query(q) = &mut i.source {
                blocks(q, f);
            }
            subqueries(&mut i.subqueries, f);
        }
        BoundBody::Update(u) => block(&mut u.block, f),
        BoundBody::Delete(d) => block(&mut d.block, f),
        BoundBody::Do(b) => block(b, f),
        BoundBody::Explain(inner, ..) => each_block(inner, f),
    }
}

fn blocks(q: &mut BoundQuery, f: &mut dyn FnMut(&mut BoundBlock)) {
    match &mut q.body {
        Body::Block(b) => block(b, f),
        Body::Rows(_, subs) => subqueries(subs, f),
        Body::Set(first, arms) => {
            blocks(first, f);
            arms.iter_mut().for_each(|a| blocks(&mut a.query, f));
        }
        Body::Recursive(r) => {
            blocks(&mut r.seed, f);
            r.members.iter_mut().for_each(|q| blocks(q, f));
        }
        Body::Feed(_) | Body::Json(_) => {}
    }
}

fn block(b: &mut BoundBlock, f: &mut dyn FnMut(&mut BoundBlock)) {
    f(b);
    b.derived.iter_mut().for_each(|q| blocks(q, f));
    subqueries(&mut b.subqueries, f);
}

fn subqueries(subs: &mut [BoundSub], f: &mut dyn FnMut(&mut BoundBlock)) {
    subs.iter_mut().for_each(|s| blocks(&mut s.query, f));
}
