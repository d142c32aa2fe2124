//! What a user may set about storage, by MySQL's names where there is one.

use base::OpenMode;

/// innodb_flush_method.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FlushMethod {
    /// Data through the page cache, synced once a checkpoint.
    Fsync,
    /// Data past the page cache, synced once a checkpoint.
    #[default]
    ODirect,
    /// Data past the page cache and never synced: for devices whose writes are durable when they complete, on file
    /// systems that need no metadata for it.
    ODirectNoFsync,
    /// The log is opened with O_DSYNC; data as with [`FlushMethod::Fsync`].
    ODsync,
}

impl FlushMethod {
    /// All of them, in the order in which a message names them.
    pub const ALL: [FlushMethod; 4] = [
        FlushMethod::Fsync,
        FlushMethod::ODsync,
        FlushMethod::ODirect,
        FlushMethod::ODirectNoFsync,
    ];

    /// MySQL's name.
    pub const fn name(self) -> &'static str {
        match self {
            FlushMethod::Fsync => "fsync",
            FlushMethod::ODsync => "O_DSYNC",
            FlushMethod::ODirect => "O_DIRECT",
            FlushMethod::ODirectNoFsync => "O_DIRECT_NO_FSYNC",
        }
    }

    /// The method of a name, in upper or lower case. MySQL's numbers of these names differ between versions, so that none is one here.
    pub fn by_name(name: &str) -> Option<FlushMethod> {
        Self::ALL
            .into_iter()
            .find(|method| method.name().eq_ignore_ascii_case(name))
    }
}

/// Options of a pager.
#[derive(Clone, Debug)]
pub struct PagerOptions {
    /// innodb_buffer_pool_size in bytes.
    pub pool_bytes: u64,
    /// innodb_redo_log_capacity in bytes: how much log may lie between the oldest unwritten change and the end.
    pub log_capacity_bytes: u64,
    /// innodb_log_buffer_size in bytes: the log's memory, which also serves reads of old row versions.
    pub log_buffer_bytes: u64,
    /// The unit of the log's sizes, a power of two: a segment is 1 to 16 of them, the memory at least 2, the capacity at
    /// least 8, and one is kept free for records under way. It is 4 MiB, but for tests that want a log which is soon full.
    /// Never less than the longest record, 512 KiB.
    pub log_unit_bytes: u64,
    /// The unit in which a compressed tablespace's file changes its size: it grows by a quarter to sixteen of it, gives back one or more, and
    /// makes a root for itself when four are waiting to be free. It is 1 MiB, but for tests that want all of this in small files.
    pub compressed_step_bytes: u64,
    /// innodb_flush_method.
    pub flush_method: FlushMethod,
    /// innodb_doublewrite: protection against torn pages.
    pub doublewrite: bool,
    /// innodb_open_files: files of tables that are open at once, at most; one at least.
    pub open_files: u64,
}

impl Default for PagerOptions {
    fn default() -> Self {
        PagerOptions {
            pool_bytes: 128 << 20,
            log_capacity_bytes: 1 << 30,
            log_buffer_bytes: 16 << 20,
            log_unit_bytes: 4 << 20,
            compressed_step_bytes: 1 << 20,
            flush_method: FlushMethod::default(),
            doublewrite: true,
            open_files: 4000,
        }
    }
}

impl PagerOptions {
    pub(crate) fn data_mode(&self) -> OpenMode {
        match self.flush_method {
            FlushMethod::ODirect | FlushMethod::ODirectNoFsync => OpenMode::Direct,
            FlushMethod::Fsync | FlushMethod::ODsync => OpenMode::Buffered,
        }
    }

    pub(crate) fn frames(&self) -> u32 {
        (self.pool_bytes / crate::PAGE_SIZE as u64).clamp(64, u32::MAX as u64 / 2) as u32
    }

    pub(crate) fn log_unit(&self) -> u64 {
        self.log_unit_bytes
            .clamp(512 << 10, 4 << 20)
            .next_power_of_two()
    }

    /// The log's memory: a power of two of at least two units.
    pub(crate) fn ring_bytes(&self) -> usize {
        self.log_buffer_bytes
            .clamp(2 * self.log_unit(), 1 << 30)
            .next_power_of_two() as usize
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.log_capacity_bytes.max(8 * self.log_unit())
    }

    /// A sixteenth of the capacity, in quarters of a unit (whole MiB).
    pub(crate) fn segment_size(&self) -> u64 {
        let (unit, quarter) = (self.log_unit(), self.log_unit() / 4);
        (self.capacity() / 16).clamp(unit, 16 * unit) / quarter * quarter
    }
}
