//! What a session keeps of the BINLOG statements that it has carried out.

use std::any::Any;

/// What is left of BINLOG statements until the next: the format. Whoever carries them out knows what it is.
pub type Replayed = Option<Box<dyn Any + Send + Sync>>;
