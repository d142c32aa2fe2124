//! The ways to read one table: full clustered key, part of an index, several parts, or everything; what each yields and costs once the
//! tables before it have been read.
//!
//! What conditions say about columns is looked at once for a table ([`Said`]); which of it can be used depends on the tables that come
//! before, so that comparing the orders of joins is arithmetic.

mod allowed;
mod any;
mod arms;
mod bounds;
mod cost;
mod hinted;
mod look_up;
mod path;
mod runs;

use engine::{IndexKind, Table};
use types::SqlError;

use self::allowed::Allowed;
pub(crate) use self::allowed::Rules;
use self::any::{Any, Weight};
use self::bounds::{bounds, key};
use self::cost::{FORBIDDEN, LOOK_UP_GUESSED, NEXT_RANGE, ROW, SEEK, reading};
pub(crate) use self::cost::{LOOK_UP, Pages};
pub(crate) use self::path::Path;
use self::path::What;
use crate::bind::reads::tables_of;
use crate::bind::scope::FromTable;
use crate::bind::source::TableSource;
use crate::bind::tree::BoundBlock;
use crate::optimize::conditions::CondInfo;
use crate::optimize::physical::by_key::ByKey;
use crate::optimize::physical::covering::covering;
use crate::optimize::physical::range::{Sarg, sarg};
use crate::optimize::statistics::Statistics;
use crate::optimize::statistics::selectivity::Selectivity;
use crate::plan::{Access, Beginning, RangeAccess};
use sql_expr::Expr;

/// Fewest rows that a table is taken to have where reading everything is compared with an index: a statement that reads by index locks
/// less, and its plan stays good when the table grows.
const FEWEST_ROWS: f64 = 1000.0;

/// Share of what the columns before leave that values of which nothing is known leave, by their number.
const FIRST_EQUAL: f64 = 0.01;
const NEXT_EQUAL: f64 = 0.1;

/// The share that conditions leave, those left out of which it is told that they are counted.
pub(crate) type Others<'a> = dyn Fn(&dyn Fn(usize) -> bool) -> f64 + 'a;

/// A way to read a table, and the conditions that it implies.
pub(crate) struct Choice {
    /// The way.
    pub access: Access,
    /// Conditions it implies, by number.
    pub used: Vec<usize>,
    /// Rows it yields, roughly.
    pub rows: f64,
    /// How a derived table is made for one key at a time.
    pub by_key: Option<Box<ByKey>>,
}

/// What a condition says about a column.
struct Said {
    cond: usize,
    column: u16,
    sarg: Sarg,
    /// The tables that its values are read of.
    needs: u64,
    /// The share of rows for which it holds, where known.
    share: Option<f64>,
}

/// Everything that conditions say about a table, for all orders of joins.
pub(crate) struct Paths<'a> {
    from: &'a FromTable,
    allowed: Allowed,
    statistics: &'a Statistics<'a>,
    said: Vec<Said>,
    any: Vec<Any>,
    unions: Vec<Any>,
    /// The work of a look-up in the clustered index.
    look_up: f64,
    /// Where its pages are.
    pub pages: Pages,
    /// Indexes whose entries hold all that is read.
    covering: Vec<usize>,
    /// So few rows that its index is chosen by what the conditions are and not by how many rows have them: the way to read it does
    /// not change with every row, and locks no more than it must.
    small: bool,
}

/// What is known of the leading parts of an index when some tables have been read.
struct Prefix {
    /// Which of `said` gives each part's value.
    equal: Vec<usize>,
    /// The share of rows that agree in them.
    share: f64,
}

impl<'a> Paths<'a> {
    /// Looks at the conditions on a table, the one at place `t` of the block, of which these columns are read; `None` where rows are
    /// changed. Conditions of other nests and those that are checked late say nothing.
    ///
    /// # Errors
    /// 1176 for a hint that names an index that is not there.
    pub fn new(
        t: usize,
        from: &'a FromTable,
        conds: &[CondInfo],
        nest: u16,
        selectivity: &'a Selectivity<'a>,
        rules: Rules,
        reads: Option<&[u16]>,
    ) -> Result<Paths<'a>, SqlError> {
        let allowed = Allowed::new(from, rules.invisible)?;
        let small = selectivity.tables[t].rows < FEWEST_ROWS;
        let is_known = selectivity.tables[t].is_known() && !small;
        let mut paths = Paths {
            from,
            allowed,
            statistics: &selectivity.tables[t],
            said: Vec::new(),
            any: Vec::new(),
            unions: Vec::new(),
            small,
            look_up: match is_known && !rules.changes {
                true => LOOK_UP,
                false => LOOK_UP_GUESSED,
            },
            pages: match is_known && !rules.changes {
                true => Pages::of(&selectivity.tables[t]),
                false => Pages::IN_MEMORY,
            },
            covering: Vec::new(),
        };
        let TableSource::Engine(table) = &from.source else {
            return Ok(paths);
        };
        if let Some(columns) = reads {
            paths.covering = covering(table, columns);
        }
        let own = 1u64 << t;
        let places = selectivity.places;
        let read = |e: &Expr| tables_of::<BoundBlock>(e, places, &[]);
        let foreign = |e: &Expr| read(e) & own == 0;
        let mut columns: Vec<u16> = Vec::new();
        for (i, index) in table.def.indexes.iter().enumerate() {
            if index.kind != IndexKind::Hidden && paths.allowed.index(i) {
                columns.extend(index.parts.iter().map(|p| p.column));
            }
        }
        columns.sort_unstable();
        columns.dedup();
        let conds = conds.iter().enumerate();
        let own_conds: Vec<_> = conds
            .filter(|(_, c)| c.nest == nest && !c.late && c.tables & own != 0)
            .collect();
        for &(cond, c) in &own_conds {
            for &column in &columns {
                let ty = from.expr_type(usize::from(column));
                if let Some(s) = sarg(&c.expr, (from.slot, column), &ty, &foreign) {
                    paths.said.push(Said {
                        cond,
                        column,
                        needs: c.tables & !own,
                        share: match &s {
                            // What it begins with, and nothing else, is a part of an index.
                            Sarg::Begins(Beginning::Pattern(l)) => Some(selectivity.part(l)),
                            _ => selectivity.known(&c.expr),
                        },
                        sarg: s,
                    });
                }
            }
        }
        for (_, c) in &own_conds {
            let Some(arms) = Paths::arms_of(&c.expr) else {
                continue;
            };
            for (i, index) in table.def.indexes.iter().enumerate() {
                let usable = index.kind != IndexKind::Hidden && paths.allows(i);
                if usable && paths.has_ranges(i) {
                    let any = paths.any_of(i, &arms, table, &foreign, &read, selectivity);
                    paths.any.extend(any);
                }
            }
            if rules.unions {
                let union = paths.union_of(&arms, table, &foreign, &read, selectivity);
                paths.unions.extend(union);
            }
        }
        Ok(paths)
    }

    /// Whether all that is said is of the first column of the order that rows are in: then no other access comes into question.
    pub fn speak_of_the_rows_order_alone(&self) -> bool {
        let first = self.table().and_then(|t| t.def.indexes[0].parts.first());
        let first = first.map(|p| p.column);
        self.any.is_empty()
            && self.unions.is_empty()
            && self.said.iter().all(|s| Some(s.column) == first)
    }

    fn table(&self) -> Option<&Table> {
        match &self.from.source {
            TableSource::Engine(t) => Some(t),
            _ => None,
        }
    }

    /// Reading everything, of so many rows.
    fn full(&self, rows: f64) -> Path {
        Path {
            what: What::Full,
            yields: rows,
            cost: SEEK
                + rows * ROW
                + self.pages.in_order()
                + if self.allowed.is_forced() {
                    FORBIDDEN
                } else {
                    0.0
                },
            look_ups: 0.0,
            needs: 0,
        }
    }

    /// What a way costs once, with what it waits for the disk.
    fn once(&self, p: &Path) -> f64 {
        p.cost + self.pages.at_random(self.pages.touched(p.look_ups), 0.0)
    }

    /// The cheapest way when the tables of `bound` have been read.
    pub fn best(&self, bound: u64) -> Path {
        let rows = self.statistics.rows;
        let compared = rows.max(FEWEST_ROWS);
        let Some(table) = self.table() else {
            return self.full(rows);
        };
        let mut best = self.full(compared);
        let mut consider = |p: Path| {
            if self.once(&p) < self.once(&best) {
                best = p;
            }
        };
        for i in 0..table.def.indexes.len() {
            if table.def.indexes[i].kind != IndexKind::Hidden && self.allowed.index(i) {
                let part = self.part(i, bound, table, compared);
                part.into_iter().for_each(&mut consider);
            }
        }
        for (n, any) in self.any.iter().enumerate() {
            if any.needs & !bound == 0 {
                consider(self.any_path(n, compared));
            }
        }
        for (n, union) in self.unions.iter().enumerate() {
            if union.needs & !bound == 0 {
                consider(self.merged(n, compared));
            }
        }
        if compared == rows {
            return best;
        }
        match best.what {
            What::Full => self.full(rows),
            What::Part(i) => self.part(i, bound, table, rows).unwrap_or(best),
            What::Any(n) => self.any_path(n, rows),
            What::Union(n) => self.merged(n, rows),
        }
    }

    /// What gives a column one value when the tables of `bound` have been read; what needs no other table comes first.
    fn equal(&self, column: u16, bound: u64) -> Option<usize> {
        let fits = |s: &Said| {
            s.column == column
                && s.needs & !bound == 0
                && match &s.sarg {
                    Sarg::Equal(..) => true,
                    Sarg::OneOf(v) => v.len() == 1,
                    _ => false,
                }
        };
        let said = self.said.iter().enumerate().filter(|(_, s)| fits(s));
        said.min_by_key(|(_, s)| s.needs != 0).map(|(n, _)| n)
    }

    /// The leading parts of an index that have values.
    fn prefix(&self, index: usize, bound: u64, table: &Table, guessed: bool) -> Prefix {
        let parts = &table.def.indexes[index].parts;
        let mut equal = Vec::new();
        for p in parts {
            match self.equal(p.column, bound) {
                Some(n) => equal.push(n),
                None => break,
            }
        }
        let share = self.share_of(index, &equal, guessed);
        Prefix { equal, share }
    }

    /// The share of rows that agree with values of the leading parts of an index.
    fn share_of(&self, index: usize, equal: &[usize], guessed: bool) -> f64 {
        let k = equal.len();
        if k == 0 {
            return 1.0;
        }
        let mut product = 1.0;
        let mut fewest = 1.0f64;
        let mut skew = 1.0;
        for (n, &s) in equal.iter().enumerate() {
            let said = &self.said[s];
            let guess = if n == 0 { FIRST_EQUAL } else { NEXT_EQUAL };
            let share = said.share.filter(|_| !guessed).unwrap_or(guess);
            product *= share;
            if said.needs == 0 && said.share.is_some() && !guessed {
                fewest = fewest.min(share);
                if let Some(distinct) = self.statistics.distinct(said.column) {
                    skew *= share * distinct;
                }
            }
        }
        let known = self.statistics.prefix_distinct(index, k);
        match known.filter(|_| !guessed) {
            Some(d) if k > 1 => (skew / d.max(1.0)).min(fewest),
            Some(d) => self.said[equal[0]].share.unwrap_or(1.0 / d.max(1.0)),
            None => product,
        }
    }

    /// Reading by an index what all conditions say; `None` where they say nothing about its first column.
    fn part(&self, index: usize, bound: u64, table: &Table, rows: f64) -> Option<Path> {
        let def = &table.def.indexes[index];
        let prefix = self.prefix(index, bound, table, self.small);
        let known = |s: &Said| s.share.filter(|_| !self.small);
        let k = prefix.equal.len();
        if !self.pins_elements(index, k) {
            return None;
        }
        let plain = prefix.equal.iter().all(|&n| match &self.said[n].sarg {
            Sarg::Equal(_, null_safe) => !null_safe,
            _ => true,
        });
        let whole_parts = def.parts.iter().take(k).all(|p| p.prefix == 0);
        let unique = matches!(def.kind, IndexKind::Primary | IndexKind::Unique) && plain;
        let mut needs = prefix.equal.iter().fold(0, |m, &n| m | self.said[n].needs);
        if k == def.parts.len() && unique && whole_parts {
            let get = index == 0;
            return Some(Path {
                what: What::Part(index),
                yields: 1.0,
                cost: if get {
                    SEEK
                } else {
                    SEEK + self.look_up(index)
                },
                look_ups: self.looked_up(index, 1.0),
                needs,
            });
        }
        let mut yields = rows * prefix.share;
        let mut ranges = 1.0;
        let mut bounded = false;
        let next = def.parts.get(k).filter(|p| p.prefix == 0);
        if let Some(p) = next.filter(|_| self.has_ranges(index)) {
            let said = self.said.iter();
            let said = said.filter(|s| s.column == p.column && s.needs & !bound == 0);
            let (mut low, mut high, mut both) = (None, None, None);
            for s in said {
                match &s.sarg {
                    Sarg::OneOf(v) => {
                        let each = if k + 1 == def.parts.len() && unique {
                            v.len() as f64
                        } else {
                            let share = known(s).unwrap_or(FIRST_EQUAL * v.len() as f64);
                            (yields * share).max(v.len() as f64)
                        };
                        ranges = v.len() as f64;
                        both = Some(each.min(yields));
                        needs |= s.needs;
                        break;
                    }
                    Sarg::Between(..) => {
                        both = Some(yields * known(s).unwrap_or(0.05));
                        needs |= s.needs;
                    }
                    Sarg::Begins(_) => {
                        both = both.or(Some(yields * known(s).unwrap_or(0.05)));
                        needs |= s.needs;
                    }
                    Sarg::Low(..) if low.is_none() => {
                        low = Some(known(s));
                        needs |= s.needs;
                    }
                    Sarg::High(..) if high.is_none() => {
                        high = Some(known(s));
                        needs |= s.needs;
                    }
                    _ => {}
                }
            }
            bounded = low.is_some() || high.is_some() || both.is_some();
            yields = match (both, low, high) {
                (Some(n), ..) => n,
                (None, Some(low), Some(high)) => match (low, high) {
                    (Some(a), Some(b)) => yields * (a + b - 1.0).max(0.0),
                    _ => yields * 0.05,
                },
                (None, Some(one), None) | (None, None, Some(one)) => yields * one.unwrap_or(0.33),
                (None, None, None) => yields,
            };
        }
        if k == 0 && !bounded {
            return None;
        }
        let yields = yields.max(1.0);
        Some(Path {
            what: What::Part(index),
            yields,
            cost: reading(index, yields, self.look_up(index)) + SEEK + NEXT_RANGE * (ranges - 1.0),
            look_ups: match index {
                0 => ranges,
                _ => self.looked_up(index, yields),
            },
            needs,
        })
    }

    /// Rows of the table for each combination of rows of `bound`, after all conditions that can be checked then; `others` is the share
    /// that the conditions leave of which this table has said nothing.
    pub fn fan(&self, bound: u64, others: &Others<'_>) -> f64 {
        let rows = self.statistics.rows;
        // A text may say something of one column a hundred thousand times: it is looked through once for each column.
        let mut fixed: Vec<(u16, usize)> = Vec::new();
        let mut columns: Vec<u16> = Vec::new();
        for s in &self.said {
            if !columns.contains(&s.column) {
                columns.push(s.column);
                fixed.extend(self.equal(s.column, bound).map(|n| (s.column, n)));
            }
        }
        let mut share = 1.0;
        let mut covered: Vec<u16> = Vec::new();
        let mut single = false;
        if let Some(table) = self.table() {
            let mut best: Option<(usize, usize, f64)> = None;
            for (i, def) in table.def.indexes.iter().enumerate() {
                if def.kind == IndexKind::Hidden {
                    continue;
                }
                let p = self.prefix(i, bound, table, false);
                let k = p.equal.len();
                let unique = matches!(def.kind, IndexKind::Primary | IndexKind::Unique);
                single |= unique && k == def.parts.len();
                if k > best.map_or(0, |b| b.1) {
                    best = Some((i, k, p.share));
                }
            }
            if let Some((i, k, s)) = best {
                share = s;
                let parts = &table.def.indexes[i].parts;
                covered.extend(parts.iter().take(k).map(|p| p.column));
            }
        }
        for (column, n) in fixed.iter().filter(|f| !covered.contains(&f.0)) {
            let _ = column;
            share *= self.said[*n].share.unwrap_or(NEXT_EQUAL);
        }
        // In ascending order, as conditions are looked at one by one.
        let counted = self
            .said
            .iter()
            .filter(|s| matches!(s.sarg, Sarg::Equal(..)) && fixed.iter().any(|f| f.0 == s.column));
        let counted: Vec<usize> = counted.map(|s| s.cond).collect();
        let handled = |cond: usize| counted.binary_search(&cond).is_ok();
        let matching = if single { 1.0 } else { rows * share };
        matching * others(&handled)
    }

    /// The access of a path when the tables of `bound` have been read.
    pub fn choice(&self, path: Path, bound: u64) -> Choice {
        let plain = |access| Choice {
            access,
            used: Vec::new(),
            rows: path.yields,
            by_key: None,
        };
        let everything = || {
            plain(Access::Full {
                index: 0,
                backward: false,
            })
        };
        let index = match path.what {
            What::Full => return everything(),
            What::Any(n) => return plain(Access::Range(Box::new(self.any[n].range.clone()))),
            What::Union(n) => {
                return plain(Access::Union(self.unions[n].range.arms.clone().into()));
            }
            What::Part(index) => index,
        };
        let Some(table) = self.table() else {
            return everything();
        };
        let def = &table.def.indexes[index];
        let mut range = RangeAccess {
            index,
            ..RangeAccess::default()
        };
        let mut used = Vec::new();
        let mut exact = true;
        for p in &def.parts {
            if let Some(n) = self.equal(p.column, bound) {
                let said = &self.said[n];
                let value = match &said.sarg {
                    Sarg::Equal(e, null_safe) => key(e.clone(), *null_safe),
                    Sarg::OneOf(v) => key(v[0].clone(), false),
                    _ => break,
                };
                range.prefix.push(value);
                if p.prefix == 0 {
                    used.push(said.cond);
                } else {
                    exact = false;
                }
                continue;
            }
            if p.prefix == 0 && self.has_ranges(index) {
                let said = self.said.iter();
                for s in said.filter(|s| s.column == p.column && s.needs & !bound == 0) {
                    bounds(&mut range, s.sarg.clone(), s.cond, &mut used);
                }
                if range.low.is_some() || range.high.is_some() || !range.points.is_empty() {
                    range.begins = None;
                }
            }
            break;
        }
        let whole = range.prefix.len() == def.parts.len();
        let plain = range.prefix.iter().all(|k| !k.null_safe);
        let access = if index == 0 && whole && exact && plain {
            Access::Get(range.prefix)
        } else {
            Access::Range(Box::new(range))
        };
        Choice {
            access,
            used,
            rows: path.yields,
            by_key: None,
        }
    }
}
