//! Programs are compiled, and run by a host that knows whole numbers alone.
