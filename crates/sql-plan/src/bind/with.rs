//! WITH: the binder's side of the common table expressions in sight ([`ctes`](super::ctes)).
//!
//! Never here: what one of them is bound to.

use types::SqlError;
use types::error::codes;

use super::StatementBinder;
use super::cte_rows::Shared;
use super::ctes::{CteRef, Hidden};
use super::spelling::folded;
use sql_parser::ast;

impl StatementBinder<'_> {
    /// Counts a query that is planned, where it is so through a name: the text bounds all others, but two that each read twice what
    /// comes before them are four.
    pub(super) fn count_block(&self) -> Result<(), SqlError> {
        match self.ctes.is_one_too_many() {
            false => Ok(()),
            true => Err(SqlError::not_supported(
                "statements of more than 4096 query blocks, counting each use of a common table expression or select item",
            )),
        }
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
        let mut names = std::collections::HashSet::new();
        for c in with.map_or(&[][..], |w| &w.ctes[..]) {
            if !names.insert(folded(&c.name)) {
                return Err(SqlError::new(
                    codes::ER_NONUNIQ_TABLE,
                    format!("Not unique table/alias: '{}'", c.name),
                ));
            }
        }
        self.ctes.with(with, f)
    }

    /// The common table expression of that name.
    pub(crate) fn cte(&self, name: &str) -> Option<CteRef> {
        self.ctes.find(name)
    }

    /// Notes that a common table expression is named: its rows are made once for all who do. `None` where they may differ.
    pub(crate) fn shared_rows_of(&self, cte: &CteRef) -> Option<Shared> {
        self.ctes.shared(&cte.def)
    }

    /// Hides the common table expressions from `place` on, while one of them is planned.
    pub(crate) fn hide_ctes_from(&self, place: usize) -> Hidden {
        self.ctes.hide_from(place)
    }

    /// Shows them again.
    pub(crate) fn show_ctes(&self, hidden: Hidden) {
        self.ctes.show(hidden);
    }
}
