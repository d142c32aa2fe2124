//! What a seed stands for: sizes, clients, faults. Everything that is chosen once a seed is chosen here.

use crate::disk::{Cut, Faults, Medium};
use base::SplitMix64;
use engine::{DefragmentOptions, EngineOptions, FlushMethod, PagerOptions};

/// The version of the workload: a seed says the same only under the same version. The first is the present one without the
/// rebuilding of tables, the second the one without compressed tables, the third the one whose compressed files change size as large ones do, the fourth the one
/// whose tables keep their columns, the fifth the one whose rows are found in a copy by the keys that they have, the sixth the one
/// whose transactions are all short, the seventh the one without prepared transactions, the eighth the one whose tables have nothing to do with each
/// other, the ninth the one without events, the tenth the one whose files only grow. [`Limits::of_workload`] makes a seed mean what it meant.
pub const WORKLOAD: u32 = 11;

/// What may be taken away from a seed, to find the smallest that still fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Clients at most.
    pub clients: u64,
    /// Incarnations at most.
    pub rounds: u64,
    /// Transactions of a client at most.
    pub txns: u64,
    /// No faults but cuts.
    pub calm: bool,
    /// No definition changes.
    pub no_ddl: bool,
    /// No table is rebuilt.
    pub no_rebuild: bool,
    /// No table is compressed.
    pub no_packed: bool,
    /// Compressed files grow, shrink and make roots for room in the steps of large ones.
    pub large_steps: bool,
    /// Tables keep their columns.
    pub no_columns: bool,
    /// A rebuild finds the rows of its copy by the keys that they have, as they keep them.
    pub same_keys: bool,
    /// No transaction outgrows a log segment.
    pub short: bool,
    /// No transaction is prepared.
    pub one_phase: bool,
    /// No table is another's parent.
    pub no_relatives: bool,
    /// Transactions leave no events.
    pub no_events: bool,
    /// Leaves are not packed, nor files cut.
    pub no_defragment: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            clients: u64::MAX,
            rounds: u64::MAX,
            txns: u64::MAX,
            calm: false,
            no_ddl: false,
            no_rebuild: false,
            no_packed: false,
            large_steps: false,
            no_columns: false,
            same_keys: false,
            short: false,
            one_phase: false,
            no_relatives: false,
            no_events: false,
            no_defragment: false,
        }
    }
}

impl Limits {
    /// Those under which a seed is the run that it was in an older workload.
    pub fn of_workload(version: u32) -> Limits {
        Limits {
            no_rebuild: version < 2,
            no_packed: version < 3,
            large_steps: version == 3,
            no_columns: version < 5,
            same_keys: version < 6,
            short: version < 7,
            one_phase: version < 8,
            no_relatives: version < 9,
            no_events: version < 10,
            no_defragment: version < 11,
            ..Limits::default()
        }
    }
}

/// What a seed stands for.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The seed.
    pub seed: u64,
    /// Incarnations.
    pub rounds: u64,
    /// Clients at a time.
    pub clients: u64,
    /// Transactions of each client in an incarnation.
    pub txns: u64,
    /// Frames of the pool.
    pub frames: u64,
    /// Unit of the log's sizes.
    pub log_unit: u64,
    /// Unit in which compressed files change size.
    pub compressed_step: u64,
    /// innodb_flush_log_at_trx_commit.
    pub flush: u8,
    /// innodb_flush_method.
    pub method: FlushMethod,
    /// innodb_doublewrite.
    pub doublewrite: bool,
    /// Ids of rows are below.
    pub ids: i64,
    /// Values of k are below.
    pub ks: i64,
    /// Length of texts up to.
    pub pad: u64,
    /// Length of long columns up to; 0: none.
    pub long: u64,
    /// One of so many transactions is a definition change; 0: none.
    pub ddl: u64,
    /// Of definition changes, some rebuild a table.
    pub rebuild: bool,
    /// Of the tables, some are compressed.
    pub compressed: bool,
    /// Columns are added, dropped and changed.
    pub columns: bool,
    /// Some rebuilds take the rows' keys for new ones, and so find rows by what was made of them.
    pub made_keys: bool,
    /// One of so many transactions of the first client has hundreds of statements, and more log than a segment; 0: none.
    pub giant: u64,
    /// Some transactions are prepared, and ended by whoever comes, in this life or a later one.
    pub prepares: bool,
    /// There are a parent and a child, between which a foreign key is kept.
    pub relatives: bool,
    /// Transactions leave events, which somebody reads.
    pub events: bool,
    /// Microseconds between two looks at what could be packed; 0: there are none.
    pub defragment: u64,
    /// Operations between two cuts up to about.
    pub cut_within: u64,
    /// Faults besides cuts.
    pub faults: Faults,
    /// The disk is full after some growth.
    pub small_room: bool,
    /// A page is damaged at the end.
    pub bit_rot: bool,
    /// Tell more.
    pub verbose: bool,
}

impl Plan {
    /// The plan of a seed.
    pub fn of(seed: u64, limits: &Limits) -> Plan {
        let mut r = SplitMix64::stream(seed, 1);
        let kind = r.below(100);
        let mut faults = Faults::default();
        let (mut small_room, mut bit_rot) = (false, false);
        match kind {
            0..8 => faults.read_error = r.within(40, 2000),
            8..14 => faults.write_error = r.within(200, 4000),
            14..20 => faults.sync_error = r.within(50, 1000),
            20..28 => small_room = true,
            28..36 => bit_rot = true,
            _ => {}
        }
        if r.one_in(4) {
            faults.slow = r.within(5, 200);
        }
        let doublewrite = !r.one_in(12);
        let method = match r.below(10) {
            0 => FlushMethod::Fsync,
            1 => FlushMethod::ODsync,
            2 => FlushMethod::ODirectNoFsync,
            _ => FlushMethod::ODirect,
        };
        let mut p = Plan {
            seed,
            rounds: r.within(6, 24),
            clients: r.pick(&[1, 2, 3, 4, 6, 8]),
            txns: r.pick(&[4, 10, 20, 40]),
            frames: r.pick(&[64, 64, 80, 128, 256]),
            log_unit: r.pick(&[512 << 10, 512 << 10, 1 << 20]),
            // Not drawn: what older seeds draw after it stays the same.
            compressed_step: match seed / 5 % 4 {
                _ if limits.large_steps => 1 << 20,
                0 => 1 << 20,
                1 => 64 << 10,
                _ => 8 << 10,
            },
            flush: r.pick(&[1, 1, 1, 1, 1, 1, 2, 0]),
            method,
            doublewrite,
            ids: r.pick(&[8, 40, 200, 1000]),
            ks: r.pick(&[3, 20, 300]),
            pad: r.pick(&[10, 200, 1500, 3000]),
            long: r.pick(&[0, 0, 6000, 20_000, 70_000]),
            ddl: r.pick(&[0, 60, 20, 8]),
            rebuild: !limits.no_rebuild,
            compressed: !limits.no_packed,
            columns: !limits.no_columns,
            made_keys: !limits.same_keys,
            giant: 0,
            prepares: !limits.one_phase,
            // Not drawn: see `compressed_step`.
            relatives: !limits.no_relatives && (seed / 11).is_multiple_of(3),
            // Not drawn: see `compressed_step`.
            events: !limits.no_events && !bit_rot && (seed / 13) % 3 < 2,
            // Not drawn: see `compressed_step`.
            defragment: match seed / 17 % 3 {
                _ if limits.no_defragment => 0,
                0 => 300,
                1 => 3_000,
                _ => 30_000,
            },
            cut_within: r.pick(&[30, 200, 1000, 1000, 4000]),
            faults,
            small_room,
            bit_rot,
            verbose: false,
        };
        // Not drawn: see `compressed_step`.
        if !limits.short && (seed / 3).is_multiple_of(8) {
            p.outgrow_segments();
        }
        p.clients = p.clients.min(limits.clients);
        p.rounds = p.rounds.min(limits.rounds);
        p.txns = p.txns.min(limits.txns);
        if limits.no_ddl {
            p.ddl = 0;
        }
        if limits.calm {
            p.faults = Faults::default();
            p.small_room = false;
            p.bit_rot = false;
        }
        p
    }

    /// Transactions that outlast checkpoints and span several segments, which are as small as they may be. Beside the client that
    /// runs them others go on, so that the log does while the rollback of one takes its time.
    fn outgrow_segments(&mut self) {
        self.giant = 2;
        self.clients = self.clients.clamp(2, 3);
        self.rounds = self.rounds.min(8);
        self.txns = self.txns.clamp(4, 10);
        self.ids = 1000;
        self.pad = 3000;
        self.log_unit = 512 << 10;
        self.cut_within = 4000;
        self.ddl = 0;
    }

    /// How the engine is opened.
    pub fn options(&self) -> EngineOptions {
        EngineOptions {
            pager: PagerOptions {
                pool_bytes: self.frames * 16384,
                log_unit_bytes: self.log_unit,
                log_capacity_bytes: 8 * self.log_unit,
                log_buffer_bytes: 2 * self.log_unit,
                compressed_step_bytes: self.compressed_step,
                flush_method: self.method,
                doublewrite: self.doublewrite,
                // Fewer than there are tables: they are closed and opened all the time.
                open_files: 2,
            },
            flush_at_commit: self.flush,
            // Seeds of older workloads: all in memory.
            sort_bytes_max: if self.compressed {
                self.pad * 40
            } else {
                64 << 20
            },
            builders_max: 3,
            builder_rows_min: 8,
            keep_log: self.events,
            // What would take minutes has to happen within a life.
            defragment: DefragmentOptions {
                on: self.defragment > 0,
                tick_us: self.defragment,
                least_pages: 1,
            },
        }
    }

    /// What the options promise to the engine about the medium.
    pub fn medium(&self) -> Medium {
        Medium {
            whole_pages: !self.doublewrite,
            direct_durable: self.method == FlushMethod::ODirectNoFsync,
        }
    }

    /// How the power goes this time.
    pub fn cut(&self, rng: &mut SplitMix64) -> Cut {
        match rng.below(10) {
            0 => Cut::Nothing,
            1 => Cut::All,
            2 | 3 => Cut::Kill,
            4 | 5 => Cut::Whole(rng.within(5, 95)),
            _ => Cut::Sectors(rng.within(5, 95)),
        }
    }
}
