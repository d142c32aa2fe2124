//! The lab: measurements from outside. Never links the engine, and nothing of the product imports it.

pub mod canned;
