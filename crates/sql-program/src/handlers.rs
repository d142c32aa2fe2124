//! Which handler takes a condition.
//!
//! Source: MySQL 8.0's manual, "Scope Rules for Handlers".

use types::Level;
use types::error::SqlState;

use crate::code::Program;
use crate::condition::Caught;

impl Program {
    /// The handler that takes a condition raised in a scope, by number: that of the innermost block that has one, and there the most exact. A handler's
    /// body is not for the handlers of its own block.
    pub fn handler_for(
        &self,
        scope: u32,
        number: u16,
        state: SqlState,
        level: Level,
    ) -> Option<u32> {
        let mut at = self.scopes.get(scope as usize)?;
        loop {
            let mut best: Option<(u32, Caught)> = None;
            for h in &at.handlers {
                for c in &self.handlers.get(*h as usize)?.conditions {
                    let better = match best {
                        None => true,
                        // Classes are taken in the order of the text.
                        Some((_, b)) => c.rank() < b.rank() && c.rank() < 2,
                    };
                    if better && c.takes(number, state, level) {
                        best = Some((*h, *c));
                    }
                }
            }
            if let Some((h, _)) = best {
                return Some(h);
            }
            while at.of_handler {
                at = self.scopes.get(at.parent? as usize)?;
            }
            at = self.scopes.get(at.parent? as usize)?;
        }
    }
}
