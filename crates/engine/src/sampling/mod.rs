//! Statistics of tables: samples taken in the background, and dives for a range.

mod range;
