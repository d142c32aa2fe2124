//! Optimizer hints: what stands in `/*+ .. */` behind SELECT, INSERT, REPLACE, UPDATE and DELETE.

use std::fmt;

use super::Name;

/// The hints of one query block.
#[derive(Debug, Clone, Default)]
pub struct Hints {
    /// The hints that are well formed, in the order written.
    pub list: Vec<Hint>,
    /// What is wrong with the text, as the warnings say.
    pub faults: Vec<Box<str>>,
    /// The `SET_VAR` of the whole statement, those of inner blocks first; only in the first block of a statement.
    pub set_vars: Vec<SetVar>,
}

/// Trees are equal where they ask for the same.
impl PartialEq for Hints {
    fn eq(&self, other: &Hints) -> bool {
        self.list == other.list
    }
}

/// One hint.
#[derive(Debug, Clone, PartialEq)]
pub enum Hint {
    /// `QB_NAME(name)`: what the block is called in other hints.
    BlockName(Name),
    /// `MAX_EXECUTION_TIME(milliseconds)`.
    MaxExecutionTime(u32),
    /// `SET_VAR(variable = value)`.
    SetVar(SetVar),
    /// `RESOURCE_GROUP(name)`.
    ResourceGroup(Name),
    /// The order of joins.
    Order {
        /// Which part of the order it says.
        kind: OrderKind,
        /// The block that it is about, where that is not its own.
        block: Option<Name>,
        /// The tables; none for [`OrderKind::Fixed`].
        tables: Vec<HintedTable>,
    },
    /// How tables are joined or merged.
    Table {
        /// Of what it speaks.
        what: TableHint,
        /// Whether it asks for that, or forbids it.
        on: bool,
        /// The block that it is about, where that is not its own.
        block: Option<Name>,
        /// The tables; none for all of the block.
        tables: Vec<HintedTable>,
    },
    /// How the indexes of a table are used.
    Index {
        /// Of what it speaks.
        what: IndexHintUse,
        /// Whether it asks for that, or forbids it.
        on: bool,
        /// The table.
        table: HintedTable,
        /// The indexes; none for all.
        indexes: Vec<Name>,
    },
    /// `SEMIJOIN`, `NO_SEMIJOIN`.
    Semijoin {
        /// Whether it asks for them.
        on: bool,
        /// The block that it is about, where that is not its own.
        block: Option<Name>,
        /// The strategies; none for all.
        strategies: Vec<SemijoinStrategy>,
    },
    /// `SUBQUERY`.
    Subquery {
        /// The block that it is about, where that is not its own.
        block: Option<Name>,
        /// `MATERIALIZATION` rather than `INTOEXISTS`.
        materialize: bool,
    },
}

/// `SET_VAR(variable = value)`.
#[derive(Debug, Clone, PartialEq)]
pub struct SetVar {
    /// The variable.
    pub name: Name,
    /// Its value while the statement runs.
    pub value: HintValue,
}

/// The value of a `SET_VAR`.
#[derive(Debug, Clone, PartialEq)]
pub enum HintValue {
    /// A number, `K`, `M` and `G` behind it multiplied out.
    Number(u64),
    /// A bare word.
    Word(Name),
    /// A text.
    Text(Name),
}

/// `table[@block]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HintedTable {
    /// How the block calls it.
    pub name: Name,
    /// The block, where it is not the hint's own.
    pub block: Option<Name>,
}

/// Which part of the order of joins a hint says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderKind {
    /// `JOIN_FIXED_ORDER`
    Fixed,
    /// `JOIN_ORDER`
    Relative,
    /// `JOIN_PREFIX`
    Prefix,
    /// `JOIN_SUFFIX`
    Suffix,
}

/// Of what a hint on tables speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableHint {
    /// `BKA`
    BatchedKeys,
    /// `BNL`
    BlockNestedLoop,
    /// `HASH_JOIN`
    HashJoin,
    /// `MERGE`
    Merge,
    /// `DERIVED_CONDITION_PUSHDOWN`
    ConditionPushdown,
}

/// Of what a hint on indexes speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexHintUse {
    /// `INDEX`: for everything.
    Any,
    /// `JOIN_INDEX`
    Join,
    /// `GROUP_INDEX`
    Group,
    /// `ORDER_INDEX`
    Order,
    /// `INDEX_MERGE`
    Merge,
    /// `MRR`
    MultiRange,
    /// `NO_ICP`
    ConditionPushdown,
    /// `NO_RANGE_OPTIMIZATION`
    Range,
    /// `SKIP_SCAN`
    SkipScan,
}

/// How a semi-join is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SemijoinStrategy {
    /// `FIRSTMATCH`
    FirstMatch,
    /// `LOOSESCAN`
    LooseScan,
    /// `MATERIALIZATION`
    Materialization,
    /// `DUPSWEEDOUT`
    DuplicateWeedout,
}

impl OrderKind {
    /// The hint's name.
    pub fn name(self) -> &'static str {
        match self {
            OrderKind::Fixed => "JOIN_FIXED_ORDER",
            OrderKind::Relative => "JOIN_ORDER",
            OrderKind::Prefix => "JOIN_PREFIX",
            OrderKind::Suffix => "JOIN_SUFFIX",
        }
    }
}

impl TableHint {
    /// The hint's name, without `NO_`.
    pub fn name(self) -> &'static str {
        match self {
            TableHint::BatchedKeys => "BKA",
            TableHint::BlockNestedLoop => "BNL",
            TableHint::HashJoin => "HASH_JOIN",
            TableHint::Merge => "MERGE",
            TableHint::ConditionPushdown => "DERIVED_CONDITION_PUSHDOWN",
        }
    }
}

impl IndexHintUse {
    /// The hint's name, without `NO_`.
    pub fn name(self) -> &'static str {
        match self {
            IndexHintUse::Any => "INDEX",
            IndexHintUse::Join => "JOIN_INDEX",
            IndexHintUse::Group => "GROUP_INDEX",
            IndexHintUse::Order => "ORDER_INDEX",
            IndexHintUse::Merge => "INDEX_MERGE",
            IndexHintUse::MultiRange => "MRR",
            IndexHintUse::ConditionPushdown => "ICP",
            IndexHintUse::Range => "RANGE_OPTIMIZATION",
            IndexHintUse::SkipScan => "SKIP_SCAN",
        }
    }
}

impl SemijoinStrategy {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            SemijoinStrategy::FirstMatch => "FIRSTMATCH",
            SemijoinStrategy::LooseScan => "LOOSESCAN",
            SemijoinStrategy::Materialization => "MATERIALIZATION",
            SemijoinStrategy::DuplicateWeedout => "DUPSWEEDOUT",
        }
    }
}

impl Hint {
    /// Its name with `NO_`, as warnings say it.
    pub fn name(&self) -> String {
        let no = |on: bool| if on { "" } else { "NO_" };
        match self {
            Hint::BlockName(_) => "QB_NAME".to_owned(),
            Hint::MaxExecutionTime(_) => "MAX_EXECUTION_TIME".to_owned(),
            Hint::SetVar(_) => "SET_VAR".to_owned(),
            Hint::ResourceGroup(_) => "RESOURCE_GROUP".to_owned(),
            Hint::Order { kind, .. } => kind.name().to_owned(),
            Hint::Table { what, on, .. } => format!("{}{}", no(*on), what.name()),
            Hint::Index { what, on, .. } => format!("{}{}", no(*on), what.name()),
            Hint::Semijoin { on, .. } => format!("{}SEMIJOIN", no(*on)),
            Hint::Subquery { .. } => "SUBQUERY".to_owned(),
        }
    }
}

/// A name between backquotes.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.0.replace('`', "``"))
    }
}

impl fmt::Display for HintedTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Quoted(&self.name))?;
        match &self.block {
            Some(b) => write!(f, "@{}", Quoted(b)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for HintValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HintValue::Number(n) => write!(f, "{n}"),
            HintValue::Word(w) => f.write_str(w),
            HintValue::Text(t) => write!(f, "'{}'", t.replace('\\', "\\\\").replace('\'', "''")),
        }
    }
}

fn list<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    items: impl IntoIterator<Item = T>,
) -> fmt::Result {
    for (i, item) in items.into_iter().enumerate() {
        write!(f, "{}{item}", if i == 0 { "" } else { "," })?;
    }
    Ok(())
}

fn of_block(f: &mut fmt::Formatter<'_>, block: &Option<Name>) -> fmt::Result {
    match block {
        Some(b) => write!(f, "@{} ", Quoted(b)),
        None => Ok(()),
    }
}

/// As it can be read again.
impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.name())?;
        match self {
            Hint::BlockName(name) | Hint::ResourceGroup(name) => write!(f, "{}", Quoted(name))?,
            Hint::MaxExecutionTime(ms) => write!(f, "{ms}")?,
            Hint::SetVar(v) => write!(f, "{}={}", Quoted(&v.name), v.value)?,
            Hint::Order { block, tables, .. } | Hint::Table { block, tables, .. } => {
                of_block(f, block)?;
                list(f, tables)?;
            }
            Hint::Index { table, indexes, .. } => {
                write!(f, "{table} ")?;
                list(f, indexes.iter().map(|i| Quoted(i)))?;
            }
            Hint::Semijoin {
                block, strategies, ..
            } => {
                of_block(f, block)?;
                list(f, strategies.iter().map(|s| s.name()))?;
            }
            Hint::Subquery { block, materialize } => {
                of_block(f, block)?;
                f.write_str(match materialize {
                    true => "MATERIALIZATION",
                    false => "INTOEXISTS",
                })?;
            }
        }
        f.write_str(")")
    }
}
