//! What a statement grows from: chance, the tables, and what may still be spent.

use super::schema::{Schema, TYPES, Type};
use super::tree::Part;
use harness::rng::Rng;

/// Something that a condition or a select list can name.
#[derive(Debug, Clone)]
pub struct Leaf {
    /// Its SQL.
    pub sql: String,
    /// Its type.
    pub of: Type,
    /// A column of a table, not what a group or a derived table makes of one: subqueries may name it too.
    pub plain: bool,
}

/// What can be named at a place.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// Of the block itself.
    pub own: Vec<Leaf>,
    /// Of the blocks around.
    pub outer: Vec<Leaf>,
}

impl Scope {
    /// What a subquery here has around it.
    pub fn around(&self) -> Vec<Leaf> {
        let own = self.own.iter().filter(|l| l.plain);
        own.chain(&self.outer).cloned().collect()
    }
}

/// A column that a query block gives.
pub type Given = (String, Type);

/// What a subquery may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limits {
    /// ORDER BY and LIMIT too.
    Allowed,
    /// Neither: MySQL has no LIMIT in IN, ANY and ALL.
    Never,
    /// One row at most.
    OneRow,
}

/// Makes a query block: the grower, the types of its columns, what is around, and its limits.
pub type Blocks = fn(&mut Grower<'_>, &[Type], &[Leaf], Limits) -> Part;

/// What a statement grows from.
pub struct Grower<'g> {
    /// Chance.
    pub rng: Rng,
    /// The tables.
    pub schema: &'g Schema,
    /// How many more tables may be named.
    pub left: usize,
    /// How deep blocks may still be nested.
    pub depth: usize,
    /// Subqueries.
    pub blocks: Blocks,
    /// Common table expressions: names and columns.
    pub common: Vec<(String, Vec<Given>)>,
    /// The table that the statement changes, which it may not read.
    pub changed: usize,
    /// A warning would be an error: nothing is converted from text.
    pub strict: bool,
    names: usize,
}

impl<'g> Grower<'g> {
    /// A grower.
    pub fn new(rng: Rng, schema: &'g Schema, blocks: Blocks) -> Grower<'g> {
        Grower {
            rng,
            schema,
            left: 12,
            depth: 3,
            blocks,
            common: Vec::new(),
            changed: 0,
            strict: false,
            names: 0,
        }
    }

    /// A name that no other table of the statement has.
    pub fn name(&mut self, start: &str) -> String {
        self.names += 1;
        format!("{start}{}", self.names)
    }

    /// True so often in a hundred.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.rng.below(100) < percent
    }

    /// A number below.
    pub fn below(&mut self, bound: usize) -> usize {
        self.rng.below(bound as u64) as usize
    }

    /// One of them.
    pub fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// A type.
    pub fn of(&mut self) -> Type {
        self.pick(TYPES)
    }

    /// Something of that type that can be named here.
    pub fn leaf(&mut self, scope: &Scope, of: Type) -> Option<String> {
        let outer = !scope.outer.is_empty() && self.chance(30);
        let all = if outer { &scope.outer } else { &scope.own };
        let fit: Vec<&Leaf> = all.iter().filter(|l| l.of == of).collect();
        (!fit.is_empty()).then(|| fit[self.below(fit.len())].sql.clone())
    }

    /// A type that something here has.
    pub fn type_in(&mut self, scope: &Scope) -> Type {
        match scope.own.len() {
            0 => self.of(),
            count => scope.own[self.below(count)].of,
        }
    }

    /// A literal that tables have, mostly, as a value of its type.
    pub fn literal(&mut self, of: Type) -> String {
        let value = self.bound(of);
        match of {
            Type::Date => format!("DATE{value}"),
            Type::Stamp => format!("TIMESTAMP{value}"),
            _ => value,
        }
    }

    /// The same as it is mostly written beside a column: times as text.
    pub fn bound(&mut self, of: Type) -> String {
        let number = self.rng.below(self.schema.values + 1);
        self.schema.value(of, number, true)
    }

    /// Whether another block may be nested here.
    pub fn may_nest(&self) -> bool {
        self.depth > 0 && self.left > 0
    }

    /// A subquery of these types.
    pub fn block(&mut self, types: &[Type], scope: &Scope, limits: Limits, around: bool) -> Part {
        let outer = if around { scope.around() } else { Vec::new() };
        self.depth -= 1;
        let part = (self.blocks)(self, types, &outer, limits);
        self.depth += 1;
        part
    }
}
