//! The common table expressions in sight, and what a name among them stands for.
//!
//! Never here: how one is carried out. One that is named twice is bound twice.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use types::SqlError;
use types::error::codes;

use super::StatementBinder;
use super::names::same_name;
use crate::sink::ColumnMeta;
use sql_expr::ExprType;
use sql_parser::ast;

/// A common table expression while its own query is bound.
pub(crate) struct Own {
    /// Its definition.
    pub def: Arc<ast::Cte>,
    /// How often its name was met since that was last asked.
    pub(super) met: Cell<u32>,
    /// In queries of which level the name may stand; none as long as the columns are not known.
    pub(super) level: Cell<Option<u32>>,
    /// By what number its rows are read.
    pub(super) feed: Cell<u16>,
    /// Its columns, and how it is told of them.
    pub(super) columns: RefCell<(Vec<ExprType>, Vec<ColumnMeta>)>,
}

/// What stands in the list of common table expressions.
#[derive(Clone)]
enum Sight {
    /// One that is written; `true` under WITH RECURSIVE.
    Written(Arc<ast::Cte>, bool),
    /// The one that is being bound, in its own query.
    Own(Rc<Own>),
}

impl Sight {
    fn def(&self) -> &Arc<ast::Cte> {
        match self {
            Sight::Written(def, _) => def,
            Sight::Own(own) => &own.def,
        }
    }
}

/// Those that a statement has hidden for a while.
pub(crate) struct Hidden(Vec<Sight>);

/// The common table expressions in sight, innermost last.
#[derive(Default)]
pub(crate) struct Ctes {
    list: RefCell<Vec<Sight>>,
    /// How many names are being followed, one in another.
    reading: Cell<u32>,
    /// Query blocks planned so far because a name stands for them.
    planned: Cell<u32>,
    /// How many queries are being bound, one in another.
    level: Cell<u32>,
}

impl Ctes {
    /// What is planned from here on is planned because a name stands for it.
    pub(crate) fn begin_by_name(&self) {
        self.reading.set(self.reading.get() + 1);
    }

    /// The end of what [`begin_by_name`](Self::begin_by_name) began.
    pub(crate) fn end_by_name(&self) {
        self.reading.set(self.reading.get() - 1);
    }

    /// How many queries are being bound, one in another.
    pub(super) fn level(&self) -> u32 {
        self.level.get()
    }

    /// Shows a query its own name while `f` binds it.
    pub(super) fn with_own<R>(&self, own: &Rc<Own>, f: impl FnOnce() -> R) -> R {
        let known = self.list.borrow().len();
        self.list.borrow_mut().push(Sight::Own(Rc::clone(own)));
        let outcome = f();
        self.list.borrow_mut().truncate(known);
        outcome
    }
}

/// Most query blocks that names may stand for in a statement.
const MAX_BLOCKS_BY_NAME: u32 = 4096;

/// A common table expression that a name stands for.
pub(crate) struct CteRef {
    /// Its definition.
    pub def: Arc<ast::Cte>,
    /// Its place in the list: its own query sees only those before, and where it may be recursive itself.
    pub place: usize,
    /// It may name itself.
    pub recursive: bool,
    /// The name stands in its own query.
    pub own: Option<Rc<Own>>,
}

impl StatementBinder<'_> {
    /// Counts a query that is planned, where it is so through a name: the text bounds all others, but two that each read twice what
    /// comes before them are four.
    pub(super) fn count_block(&self) -> Result<(), SqlError> {
        if self.ctes.reading.get() == 0 {
            return Ok(());
        }
        let n = self.ctes.planned.get() + 1;
        self.ctes.planned.set(n);
        if n > MAX_BLOCKS_BY_NAME {
            return Err(SqlError::not_supported(
                "statements of more than 4096 query blocks, counting each use of a common table expression or select item",
            ));
        }
        Ok(())
    }

    /// Binds a query, or a statement with one, with the common table expressions of its WITH in sight.
    ///
    /// # Errors
    /// 1066 for two of one name; those of `f`.
    pub(crate) fn with_ctes<R>(
        &self,
        with: Option<&ast::With>,
        f: impl FnOnce() -> Result<R, SqlError>,
    ) -> Result<R, SqlError> {
        let known = self.ctes.list.borrow().len();
        if let Some(w) = with {
            for (i, c) in w.ctes.iter().enumerate() {
                if w.ctes[..i].iter().any(|b| same_name(&b.name, &c.name)) {
                    return Err(SqlError::new(
                        codes::ER_NONUNIQ_TABLE,
                        format!("Not unique table/alias: '{}'", c.name),
                    ));
                }
            }
            let written = |c: &Arc<ast::Cte>| Sight::Written(Arc::clone(c), w.recursive);
            self.ctes
                .list
                .borrow_mut()
                .extend(w.ctes.iter().map(written));
        }
        self.ctes.level.set(self.ctes.level.get() + 1);
        let outcome = f();
        self.ctes.level.set(self.ctes.level.get() - 1);
        self.ctes.list.borrow_mut().truncate(known);
        outcome
    }

    /// The common table expression of that name.
    pub(crate) fn cte(&self, name: &str) -> Option<CteRef> {
        let list = self.ctes.list.borrow();
        let place = list.iter().rposition(|c| same_name(&c.def().name, name))?;
        let def = Arc::clone(list[place].def());
        let (recursive, own) = match &list[place] {
            Sight::Written(_, recursive) => (*recursive, None),
            Sight::Own(own) => (true, Some(Rc::clone(own))),
        };
        Some(CteRef {
            def,
            place,
            recursive,
            own,
        })
    }

    /// Hides the common table expressions from `place` on, while one of them is planned.
    pub(crate) fn hide_ctes_from(&self, place: usize) -> Hidden {
        self.ctes.begin_by_name();
        Hidden(self.ctes.list.borrow_mut().split_off(place))
    }

    /// Shows them again.
    pub(crate) fn show_ctes(&self, hidden: Hidden) {
        self.ctes.end_by_name();
        self.ctes.list.borrow_mut().extend(hidden.0);
    }
}
