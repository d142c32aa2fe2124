//! The diagnostics area: what SHOW WARNINGS, SHOW ERRORS, GET DIAGNOSTICS and the counts report about the last statement, and what a stored
//! program's handlers go by. While a handler runs, the area of the statement that it was called for is kept below (`STACKED`).

use std::collections::BTreeMap;

use types::error::{SqlState, codes};
use types::{Level, SqlError, Warning};

use sql_program::Raised;
use sql_program::condition::Item;

/// What SIGNAL has said of a condition.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Said {
    /// Its SQLSTATE.
    pub state: Option<SqlState>,
    /// Items with a text.
    pub items: BTreeMap<Item, String>,
}

/// Conditions of one statement.
#[derive(Debug, Default, Clone)]
struct Area {
    list: Vec<Warning>,
    /// What is known of some of them beside, by their place.
    said: BTreeMap<usize, Said>,
    total: u64,
    errors: u64,
}

/// The area of a statement whose handler runs.
#[derive(Debug, Clone)]
struct Stacked {
    area: Area,
    /// What the handler was called for.
    condition: Raised,
}

/// Warnings, notes and the error of the last statement that was not itself about diagnostics.
#[derive(Debug, Default, Clone)]
pub struct Diagnostics {
    now: Area,
    /// The next condition is the first of another statement: the others go when it comes.
    stale: bool,
    /// The error that is on its way to the client is here already.
    noted: bool,
    /// How many conditions there have ever been.
    pushed: u64,
    /// Those that a handler has found, and not made.
    found: usize,
    stacked: Vec<Stacked>,
}

impl Diagnostics {
    /// A new statement begins.
    #[inline]
    pub fn clear(&mut self) {
        if self.now.total > 0 {
            self.now = Area::default();
        }
        (self.stale, self.noted, self.found) = (false, false, 0);
    }

    /// A statement begins that leaves the conditions of the one before alone, as long as it has none itself.
    pub fn clear_later(&mut self) {
        (self.stale, self.noted) = (true, false);
    }

    /// A statement begins that adds to the conditions of the one before.
    pub fn go_on(&mut self) {
        (self.stale, self.noted) = (false, false);
    }

    /// Adds a warning or note; beyond `max` (`max_error_count`) it is only counted.
    pub fn push(&mut self, warning: Warning, max: u64) {
        if self.stale {
            self.clear();
        }
        self.pushed += 1;
        self.now.total += 1;
        self.now.errors += u64::from(warning.level == Level::Error);
        if (self.now.list.len() as u64) < max {
            self.now.list.push(warning);
        }
    }

    /// Adds the error that ended the statement, unless it is there already.
    pub fn fail(&mut self, e: &SqlError, max: u64) {
        if std::mem::take(&mut self.noted) {
            return;
        }
        let w = Warning::new(Level::Error, e.code, e.message.clone());
        let known = e.sqlstate == SqlState::of(codes::sqlstate(e.code));
        match known {
            true => self.push(w, max.max(1)),
            false => self.push_said(
                w,
                Said {
                    state: Some(e.sqlstate),
                    ..Said::default()
                },
                max,
            ),
        }
    }

    /// Adds a condition of which something is known beside.
    pub fn push_said(&mut self, warning: Warning, said: Said, max: u64) {
        self.push(warning, max.max(1));
        if self.now.list.len() as u64 == self.now.total {
            self.now.said.insert(self.now.list.len() - 1, said);
        }
    }

    /// The error that is on its way is here already.
    pub fn note_error(&mut self) {
        self.noted = true;
    }

    /// Takes over warnings that something else counted.
    pub fn absorb(&mut self, warnings: Vec<Warning>, total: u64, max: u64) {
        let kept = warnings.len() as u64;
        for w in warnings {
            self.push(w, max);
        }
        self.now.total += total.saturating_sub(kept);
    }

    /// What is kept, in the order it happened.
    pub fn list(&self) -> &[Warning] {
        &self.now.list
    }

    /// How many there were, those not kept included.
    pub fn total(&self) -> u64 {
        self.now.total
    }

    /// How many of them were errors.
    pub fn errors(&self) -> u64 {
        self.now.errors
    }

    /// The count an OK packet carries.
    pub fn packet_count(&self) -> u16 {
        u16::try_from(self.now.total).unwrap_or(u16::MAX)
    }

    /// How many conditions there have ever been.
    pub fn pushed(&self) -> u64 {
        self.pushed
    }

    /// The conditions, as handlers look at them.
    pub fn raised(&self) -> Vec<Raised> {
        let one = |(i, w): (usize, &Warning)| Raised {
            number: w.code,
            state: self.now.state(i),
            level: w.level,
        };
        self.now.list.iter().enumerate().map(one).collect()
    }

    /// A handler begins: it finds what it was called for, and may look at it when it has conditions of its own.
    pub fn enter_handler(&mut self, condition: Raised) {
        self.stacked.push(Stacked {
            area: self.now.clone(),
            condition,
        });
        self.found = self.now.list.len();
        // Whatever the handler does first is a statement of its own.
        (self.stale, self.noted) = (true, false);
    }

    /// A handler is over: conditions of its own last statement stay, the others go.
    pub fn leave_handler(&mut self) {
        self.stacked.pop();
        if self.found > 0 {
            self.now = Area::default();
        }
        (self.stale, self.noted, self.found) = (false, false, 0);
    }

    /// So many handlers end with an error, which stays.
    pub fn abandon_handlers(&mut self, n: usize) {
        let left = self.stacked.len().saturating_sub(n);
        self.stacked.truncate(left);
        self.found = 0;
    }

    /// What a handler that is at work was called for.
    pub fn handled(&self) -> Option<(Raised, Warning, Said)> {
        let top = self.stacked.last()?;
        let (i, w) = top.area.find(top.condition)?;
        let said = top.area.said.get(&i).cloned().unwrap_or_default();
        Some((top.condition, w.clone(), said))
    }

    /// RESIGNAL: the area is again as the handler has found it, but for the condition that it was called for, which is `with` now.
    pub fn restore_handled(&mut self, with: Option<(Warning, Said)>) {
        let Some(top) = self.stacked.last() else {
            return;
        };
        self.now = top.area.clone();
        if let Some((warning, said)) = with
            && let Some((i, _)) = top.area.find(top.condition)
        {
            self.now.list[i] = warning;
            self.now.said.insert(i, said);
        }
        (self.stale, self.found) = (false, 0);
        self.pushed += 1;
    }

    /// The number of conditions of an area; `stacked`: of that a handler was called for. `None`: no handler is at work.
    pub fn count(&self, stacked: bool) -> Option<u64> {
        self.area(stacked).map(|a| a.list.len() as u64)
    }

    /// A condition of an area, from 1 on, with its SQLSTATE.
    pub fn condition(&self, stacked: bool, n: u64) -> Option<(&Warning, SqlState, Option<&Said>)> {
        let area = self.area(stacked)?;
        let i = usize::try_from(n).ok()?.checked_sub(1)?;
        let w = area.list.get(i)?;
        Some((w, area.state(i), area.said.get(&i)))
    }

    fn area(&self, stacked: bool) -> Option<&Area> {
        match stacked {
            true => self.stacked.last().map(|s| &s.area),
            false => Some(&self.now),
        }
    }
}

impl Area {
    fn state(&self, i: usize) -> SqlState {
        let said = self.said.get(&i).and_then(|s| s.state);
        said.unwrap_or_else(|| SqlState::of(codes::sqlstate(self.list[i].code)))
    }

    /// The last condition that is one.
    fn find(&self, c: Raised) -> Option<(usize, &Warning)> {
        let mut all = self.list.iter().enumerate().rev();
        all.find(|(i, w)| w.code == c.number && w.level == c.level && self.state(*i) == c.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_kept_is_counted() {
        let mut d = Diagnostics::default();
        for i in 0..5 {
            d.push(Warning::new(Level::Warning, i, "w"), 3);
        }
        d.absorb(vec![Warning::new(Level::Note, 9, "n")], 4, 64);
        assert_eq!((d.list().len(), d.total(), d.errors()), (4, 9, 0));
        d.fail(&SqlError::no_db(), 64);
        assert_eq!((d.total(), d.errors()), (10, 1));
        d.clear();
        assert_eq!(d.total(), 0);
    }

    #[test]
    fn a_handler_sees_what_it_was_called_for_and_leaves_its_own() {
        let mut d = Diagnostics::default();
        d.fail(&SqlError::no_db(), 64);
        let called = d.raised()[0];
        d.enter_handler(called);
        assert_eq!(d.count(true), Some(1));
        assert_eq!(d.list().len(), 1);
        d.push(Warning::new(Level::Warning, 1, "w"), 64);
        assert_eq!(d.list()[0].code, 1);
        assert_eq!(d.condition(true, 1).map(|c| c.0.code), Some(1046));
        d.leave_handler();
        assert_eq!((d.list().len(), d.count(true)), (1, None));
        d.clear();
        d.fail(&SqlError::no_db(), 64);
        d.enter_handler(called);
        d.leave_handler();
        assert_eq!(d.total(), 0);
    }
}
