//! Which replicas are there: those that have said so (COM_REGISTER_SLAVE), and those that are being sent events.
//!
//! What it never does: send anything. A dump that is to end is told so, and looks for itself.

use base::lock::Mutex;
use sql::binary_log::ReplicaRow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// A dump that goes on.
struct Dumping {
    server_id: u32,
    uuid: String,
    replaced: AtomicBool,
    /// The number of the file that is being sent.
    file: AtomicU32,
}

/// See the module. Both by connection.
#[derive(Default)]
pub struct Replicas {
    registered: Mutex<BTreeMap<u64, ReplicaRow>>,
    dumping: Mutex<BTreeMap<u64, Arc<Dumping>>>,
}

/// A registered replica, until its connection ends.
pub struct Registered {
    of: Arc<Replicas>,
    connection: u64,
}

/// The right to send events on a connection.
pub struct Turn {
    of: Arc<Replicas>,
    connection: u64,
    dumping: Arc<Dumping>,
}

impl Replicas {
    /// A replica has said who it is.
    pub fn register(self: &Arc<Self>, connection: u64, row: ReplicaRow) -> Registered {
        self.registered.lock().insert(connection, row);
        Registered {
            of: self.clone(),
            connection,
        }
    }

    /// Those that have said so.
    pub fn rows(&self) -> Vec<ReplicaRow> {
        self.registered.lock().values().cloned().collect()
    }

    /// A replica is to be sent events: whoever was sent them under its name is not any more. Who has come later has the name: a replica that has left
    /// its connection for another may have asked on both, and what was asked on the first may be read last.
    pub fn begin(self: &Arc<Self>, connection: u64, server_id: u32, uuid: &str) -> Turn {
        let dumping = Arc::new(Dumping {
            server_id,
            uuid: uuid.to_owned(),
            replaced: AtomicBool::new(false),
            file: AtomicU32::new(u32::MAX),
        });
        let mut all = self.dumping.lock();
        for (of, other) in all.iter() {
            let same = match uuid.is_empty() {
                false => other.uuid == uuid,
                // 0 is no replica, but a program that reads: of those there may be many.
                true => server_id != 0 && other.uuid.is_empty() && other.server_id == server_id,
            };
            if same {
                let replaced = if *of > connection { &dumping } else { other };
                replaced.replaced.store(true, Ordering::Release);
            }
        }
        all.insert(connection, dumping.clone());
        drop(all);
        Turn {
            of: self.clone(),
            connection,
            dumping,
        }
    }

    /// The first file that is being sent.
    pub fn first_file(&self) -> Option<u32> {
        let all = self.dumping.lock();
        let files = all.values().map(|d| d.file.load(Ordering::Acquire));
        files.filter(|f| *f != u32::MAX).min()
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.of.registered.lock().remove(&self.connection);
    }
}

impl Turn {
    /// Another is sent events under this name.
    pub fn is_over(&self) -> bool {
        self.dumping.replaced.load(Ordering::Acquire)
    }

    /// Says which file is being sent.
    pub(super) fn at_file(&self, number: u32) {
        self.dumping.file.store(number, Ordering::Release);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut all = self.of.dumping.lock();
        if let Some(d) = all.get(&self.connection)
            && Arc::ptr_eq(d, &self.dumping)
        {
            all.remove(&self.connection);
        }
    }
}
