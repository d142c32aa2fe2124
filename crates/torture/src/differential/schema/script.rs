//! A statement in both servers' words.
//!
//! Where MySQL and MariaDB say the same in other words, a text has both: `⟦ours¦theirs⟧`. Nothing else makes the two texts differ, so
//! what a mark may hold is a rule of the grammar, and never depends on an answer.

use harness::rng::Rng;
use harness::server::Kind;

/// A statement: what is between `head` and `tail` is a list, whose members can be left out to make it smaller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Before the list.
    pub head: String,
    /// Its members; one that is empty in a server's words is none there.
    pub items: Vec<String>,
    /// Behind the list.
    pub tail: String,
    /// Ours is prepared, and executed by the binary protocol.
    pub prepared: bool,
}

impl Statement {
    /// One without a list.
    pub fn plain(text: impl Into<String>) -> Statement {
        Statement {
            head: text.into(),
            items: Vec::new(),
            tail: String::new(),
            prepared: false,
        }
    }

    /// One with a list.
    pub fn list(head: impl Into<String>, items: Vec<String>, tail: impl Into<String>) -> Statement {
        Statement {
            head: head.into(),
            items,
            tail: tail.into(),
            prepared: false,
        }
    }

    /// The text for a server; empty where it has nothing to do.
    pub fn text(&self, kind: Kind) -> String {
        let items: Vec<String> = self
            .items
            .iter()
            .map(|item| words(item, kind))
            .filter(|item| !item.is_empty())
            .collect();
        let list = items.join(", ");
        format!(
            "{}{list}{}",
            words(&self.head, kind),
            words(&self.tail, kind)
        )
    }

    /// Whether it is a query.
    pub fn reads(&self) -> bool {
        self.head.starts_with("SELECT")
    }

    /// Whether it changes rows, so that how many it changed is a promise.
    pub fn changes_rows(&self) -> bool {
        let verb = self.head.split(' ').next().unwrap_or_default();
        matches!(verb, "INSERT" | "REPLACE" | "UPDATE" | "DELETE")
    }
}

/// The words of a text for one server.
pub fn words(text: &str, kind: Kind) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, marked)) = rest.split_once('⟦') {
        out.push_str(before);
        let (both, behind) = marked.split_once('⟧').unwrap_or((marked, ""));
        let (ours, theirs) = both.split_once('¦').unwrap_or((both, both));
        out.push_str(match kind {
            Kind::Tidemill => ours,
            Kind::MariaDb => theirs,
        });
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// Chance, as this grammar asks for it.
#[derive(Debug)]
pub struct Dice(Rng);

impl Dice {
    /// Those of a block of a run.
    pub fn of(seed: u64, block: u64) -> Dice {
        let run = Rng::new(seed ^ 0x5c4e_3a00).next_u64();
        Dice(Rng::new(run ^ Rng::new(block).next_u64()))
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    /// True in so many of a hundred cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.0.below(100) < percent
    }

    /// One of them.
    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(usize::try_from(self.0.below(all.len() as u64)).unwrap_or(0))
    }

    /// One of these words.
    pub fn word(&mut self, all: &[&'static str]) -> &'static str {
        self.pick(all).copied().unwrap_or_default()
    }

    /// In another order.
    pub fn shuffled<T>(&mut self, mut all: Vec<T>) -> Vec<T> {
        for at in (1..all.len()).rev() {
            let other = usize::try_from(self.below(at as u64 + 1)).unwrap_or(0);
            all.swap(at, other);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_has_its_words() {
        let mut statement = Statement::list(
            "CREATE TABLE t (",
            vec![
                "a INT".to_owned(),
                "⟦CHECK (a < 2) NOT ENFORCED¦⟧".to_owned(),
                "g INT AS (a) ⟦STORED¦VIRTUAL⟧".to_owned(),
            ],
            ")",
        );
        assert_eq!(
            statement.text(Kind::Tidemill),
            "CREATE TABLE t (a INT, CHECK (a < 2) NOT ENFORCED, g INT AS (a) STORED)"
        );
        assert_eq!(
            statement.text(Kind::MariaDb),
            "CREATE TABLE t (a INT, g INT AS (a) VIRTUAL)"
        );
        statement = Statement::plain("⟦ALTER TABLE t ALTER CHECK c NOT ENFORCED¦⟧");
        assert_eq!(statement.text(Kind::MariaDb), "");
    }
}
