//! Planted bugs, to see that the simulator finds them. In every build but the one made with
//! `RUSTFLAGS="--cfg tidemill_mutants"` the question is the constant `false`, and nothing of this is left.
//!
//! `cargo xtask mutants` plants them one at a time.

/// Whether the planted bug of this name is switched on (by the environment variable `TIDEMILL_MUTANT`).
#[macro_export]
macro_rules! mutant {
    ($name:literal) => {
        $crate::mutant::is($name)
    };
}

/// See [`mutant!`](crate::mutant!).
#[cfg(not(tidemill_mutants))]
#[inline(always)]
pub const fn is(_: &str) -> bool {
    false
}

/// See [`mutant!`](crate::mutant!).
#[cfg(tidemill_mutants)]
pub fn is(name: &str) -> bool {
    static ON: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    let on = ON.get_or_init(|| std::env::var("TIDEMILL_MUTANT").ok());
    on.as_deref() == Some(name)
}
