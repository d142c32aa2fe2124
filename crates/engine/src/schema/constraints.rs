//! CHECK constraints of a definition: found by name, and what becomes of their names when the table gets another one.

use super::def::TableDef;

impl TableDef {
    /// Number of the CHECK constraint with this name (case-insensitive).
    pub fn check(&self, name: &str) -> Option<usize> {
        let name = name.to_lowercase();
        self.checks
            .iter()
            .position(|c| c.name.to_lowercase() == name)
    }

    /// Gives the table another name, and names made of the old one with it.
    pub fn rename(&mut self, schema: &str, name: &str) {
        for c in &mut self.checks {
            if let Some(n) = generated_number(&c.name, &self.name) {
                c.name = format!("{name}_chk_{n}");
            }
        }
        self.sort_checks();
        schema.clone_into(&mut self.schema);
        name.clone_into(&mut self.name);
    }

    /// Puts the CHECK constraints in the order of their names, in which they are evaluated and shown.
    pub fn sort_checks(&mut self) {
        self.checks.sort_by_cached_key(|c| c.name.to_lowercase());
    }
}

/// The number in a CHECK constraint's name where it is one that was made for a table: `t_chk_1`.
pub fn generated_number(name: &str, table: &str) -> Option<u64> {
    let digits = name.strip_prefix(table)?.strip_prefix("_chk_")?;
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_were_made_are_told_from_others() {
        assert_eq!(generated_number("t_chk_12", "t"), Some(12));
        assert_eq!(generated_number("t_chk_", "t"), None);
        assert_eq!(generated_number("t_chk_1a", "t"), None);
        assert_eq!(generated_number("u_chk_1", "t"), None);
    }
}
