//! Where a stream goes on when its connection was lost, or its receiver stopped: behind what is in the queue, which is not to come again.
//!
//! What it never does: say so of a stream of which nothing has come. The source may have refused what it was asked for, and is to be asked again.

use sql::context::replica::LogPlace;
use types::gtid::{Gtid, GtidSet};

/// See the module. It holds for the server that the stream came from.
#[derive(Debug, Clone, Default)]
pub(super) struct Behind {
    /// The stream's number.
    pub stream: u64,
    /// Who sent it.
    pub uuid: String,
    pub server_id: u32,
    /// Behind the last event.
    pub place: LogPlace,
    /// There is one.
    pub came: bool,
    /// What the source was asked for without.
    pub has: GtidSet,
    /// The name of the transaction in which the place is.
    pub coming: Option<Gtid>,
    /// It goes on until a commit.
    pub open: bool,
}

impl Behind {
    /// Whether something of this stream has come.
    pub fn is_of(&self, stream: u64) -> bool {
        self.stream == stream && self.came
    }

    /// The same where the source is asked for what is not among `retrieved` either, and not from the place on.
    pub fn by_set(&self, retrieved: &GtidSet) -> Behind {
        let mut has = self.has.clone();
        has.add_set(retrieved);
        Behind {
            has,
            ..self.clone()
        }
    }
}
