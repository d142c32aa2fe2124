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

/// Options of a pager.
#[derive(Clone, Debug)]
pub struct PagerOptions {
    /// innodb_buffer_pool_size in bytes.
    pub pool_bytes: u64,
    /// innodb_redo_log_capacity in bytes: how much log may lie between the oldest unwritten change and the end.
    pub log_capacity_bytes: u64,
    /// innodb_log_buffer_size in bytes: the log's memory, which also serves reads of old row versions.
    pub log_buffer_bytes: u64,
    /// innodb_flush_method.
    pub flush_method: FlushMethod,
    /// innodb_doublewrite: protection against torn pages.
    pub doublewrite: bool,
}

impl Default for PagerOptions {
    fn default() -> Self {
        PagerOptions {
            pool_bytes: 128 << 20,
            log_capacity_bytes: 1 << 30,
            log_buffer_bytes: 16 << 20,
            flush_method: FlushMethod::default(),
            doublewrite: true,
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

    /// The log's memory: a power of two of at least 8 MiB.
    pub(crate) fn ring_bytes(&self) -> usize {
        self.log_buffer_bytes
            .clamp(8 << 20, 1 << 30)
            .next_power_of_two() as usize
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.log_capacity_bytes.max(32 << 20)
    }

    pub(crate) fn segment_size(&self) -> u64 {
        (self.capacity() / 16).clamp(4 << 20, 64 << 20) >> 20 << 20
    }
}
