//! The common table expressions in sight, and what a name among them stands for.
//!
//! Never here: how one is carried out. One that is named twice is bound twice, and its rows are made once ([`Shared`]).

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use super::cte_rows::Shared;
use super::spelling::same_name;
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
    /// Those that were named, with who shares their rows. A definition is held, so that no other one gets its address.
    named: RefCell<Vec<(Arc<ast::Cte>, Shared)>>,
}

impl Ctes {
    /// A name is met that stands for this one; what all who name it have in common. `None` in a recursive query, which has other rows each time
    /// it is carried out.
    pub(super) fn shared(&self, def: &Arc<ast::Cte>) -> Option<Shared> {
        let recursive = |s: &Sight| matches!(s, Sight::Own(_));
        if self.list.borrow().iter().any(recursive) {
            return None;
        }
        let mut named = self.named.borrow_mut();
        let place = match named.iter().position(|(d, _)| Arc::ptr_eq(d, def)) {
            Some(place) => place,
            None => {
                let number = named.len() as u32;
                named.push((Arc::clone(def), Shared::new(number)));
                number as usize
            }
        };
        Some(named[place].1.for_one_more())
    }

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

    /// The common table expression of that name.
    pub(super) fn find(&self, name: &str) -> Option<CteRef> {
        let list = self.list.borrow();
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

    /// Shows those of a WITH while `f` runs, one level further in.
    pub(super) fn with<R>(&self, with: Option<&ast::With>, f: impl FnOnce() -> R) -> R {
        let known = self.list.borrow().len();
        if let Some(w) = with {
            let written = |c: &Arc<ast::Cte>| Sight::Written(Arc::clone(c), w.recursive);
            let mut list = self.list.borrow_mut();
            list.extend(w.ctes.iter().map(written));
        }
        self.level.set(self.level.get() + 1);
        let outcome = f();
        self.level.set(self.level.get() - 1);
        self.list.borrow_mut().truncate(known);
        outcome
    }

    /// Counts a query that is planned because a name stands for it; whether there are too many.
    pub(super) fn is_one_too_many(&self) -> bool {
        if self.reading.get() == 0 {
            return false;
        }
        self.planned.set(self.planned.get() + 1);
        self.planned.get() > MAX_BLOCKS_BY_NAME
    }

    /// Hides those from `place` on, while one of them is planned.
    pub(super) fn hide_from(&self, place: usize) -> Hidden {
        self.begin_by_name();
        Hidden(self.list.borrow_mut().split_off(place))
    }

    /// Shows them again.
    pub(super) fn show(&self, hidden: Hidden) {
        self.end_by_name();
        self.list.borrow_mut().extend(hidden.0);
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
