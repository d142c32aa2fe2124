//! A way to read a table, as far as comparing goes: what it yields and what it costs.

/// A way to read a table, as far as comparing goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path {
    pub(super) what: What,
    /// Rows it yields each time.
    pub yields: f64,
    /// What it costs each time, in rows read.
    pub cost: f64,
    /// Look-ups in the clustered index each time, which wait for the disk where their pages are not in memory.
    pub look_ups: f64,
    /// The tables whose rows it needs.
    pub needs: u64,
}

impl Path {
    /// Whether it reads everything.
    pub fn is_full(&self) -> bool {
        matches!(self.what, What::Full)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum What {
    /// Everything.
    Full,
    /// What all conditions say about an index.
    Part(usize),
    /// What the arms of an OR say about one, by number.
    Any(usize),
    /// What they say about several, by number.
    Union(usize),
}
