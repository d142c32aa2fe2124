//! Opening a directory: what was there, whole pages back from the doublewrite file, redo of the log.
//!
//! Two passes over the log: the first finds its end and shows every record to the layer above, which learns from it what
//! was open; the second ([`crate::replay`]) carries out the page operations.

use crate::alloc;
use crate::checkpoint::Checkpointer;
use crate::cleaner::CleanerState;
use crate::control::{self, Control, ControlError, ControlState};
use crate::doublewrite::{self, Copies, Doublewrite};
use crate::files::Files;
use crate::lifecycle::SPARE;
use crate::log::{Log, Observer, Record, Scanner, Segments, find_truncation};
use crate::options::{FlushMethod, PagerOptions};
use crate::pager::Pager;
use crate::pool::Pool;
use crate::redo::RedoTable;
use crate::replay::{Reading, second_pass};
use crate::report::{OpenError, Report};
use crate::shortages::Shortages;
use crate::tablespaces::{open_spaces, restore_torn};
use base::counters::Counter;
use base::lock::Mutex;
use base::{Clock, Disk, Environment, Lsn, OpenMode, le};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};

/// Opens `dir`, making it if it is empty or missing. `observe` sees every log record from the last checkpoint's redo
/// position on, in order; for the record the checkpoint wrote it also sees it. Register redo functions in `redo` before.
///
/// # Errors
/// [`OpenError::InUse`]: another process has the directory; what is damaged or cannot be read, by name.
pub async fn open(
    environment: Environment,
    options: PagerOptions,
    dir: &Path,
    mut redo: RedoTable,
    observe: &mut Observer<'_>,
) -> Result<(Arc<Pager>, Report), OpenError> {
    redo.register(0..32, alloc::apply);
    let shortages = Arc::new(Shortages::new(environment.clock.clone()));
    let files = Files::new(environment.disk, options.open_files, shortages.clone());
    let environment = Environment {
        disk: files.clone(),
        ..environment
    };
    let disk = environment.disk.clone();
    disk.create_dir_all(dir)?;
    let owner = disk.lock(dir).map_err(|e| match e.kind() {
        io::ErrorKind::WouldBlock => OpenError::InUse,
        _ => OpenError::Io(e),
    })?;
    let (log_dir, data_dir) = (dir.join("log"), dir.join("data"));
    let spare = give_up_spare(&*disk, dir)?;
    let mut report = Report::default();
    if !disk.exists(&log_dir.join(control::FILE)) {
        create(&environment, &options, &log_dir, &data_dir)?;
        report.created = true;
    }
    let mut control = open_control(&*disk, &log_dir)?;
    let state = control.state.clone();
    (report.redo_from, report.checkpoint) = (state.redo, state.checkpoint);
    if control.damaged.is_some() {
        report.control_damaged = Some(half_damaged(&log_dir));
    }

    let env = &environment;
    let (segments, end, reading) = find_end(env, &options, &log_dir, &state, observe, &mut report)
        .map_err(|e| with_control(e, &control, &log_dir))?;
    if !report.created {
        sync_names(&*disk, &log_dir, &data_dir)?;
    }

    let (start, copies) = match report.clean {
        true => (go_on(&mut control, end)?, Copies::new()),
        false => {
            let copies = doublewrite::copies(&*disk, &log_dir, options.data_mode())?;
            must_be_the_end(&segments, &state, end, &copies)
                .map_err(|e| with_control(e, &control, &log_dir))?;
            (jump(&segments, &mut control, end)?, copies)
        }
    };
    segments.hold_from(start)?;
    let pool = Arc::new(Pool::new(options.frames())?.knowing(redo.cells_of()));
    pool.set_unused(end, start);
    pool.compression.set_clock(&environment.clock);
    open_spaces(&files, &options, &pool, &data_dir, &copies, &mut report)?;
    restore_torn(&pool, copies, state.redo, &mut report)?;
    let log = Arc::new(Log::new(
        segments,
        start,
        (options.ring_bytes(), options.log_unit()),
        options.pool_bytes,
        log_mode(&options) == OpenMode::Dsync,
    ));
    let redo = Arc::new(redo);
    let parts = (pool.clone(), log.clone(), redo.clone());
    let checkpointer = checkpointer(parts, control, &options, state.redo, shortages.clone());
    let cleaner = cleaner_state(&options);
    let (mode, clean) = (options.data_mode(), report.clean);
    let side = || Doublewrite::open(&*disk, &log_dir, clean, mode);
    let dw = options.doublewrite.then(side).transpose()?;
    let pager = Arc::new(Pager {
        environment,
        options,
        pool,
        log,
        redo,
        checkpointer,
        cleaner,
        stop: Arc::new(AtomicBool::new(false)),
        tasks: Arc::default(),
        files,
        shortages,
        spare,
        jumped: start != end,
        _owner: owner,
    });
    pager.checkpointer.update_limit(false);
    pager.start_tasks(dw);
    if let Some(reading) = reading {
        reading.finish(end);
        if let Err(e) = second_pass(&pager, reading, &mut report).await {
            // Nothing of it goes on by itself.
            pager.halt();
            pager.stopped().await;
            return Err(e);
        }
    }
    Ok((pager, report))
}

/// Gives up the spare file of the process before: its room may be what this start needs, and there will be another.
fn give_up_spare(disk: &dyn Disk, dir: &Path) -> io::Result<PathBuf> {
    let spare = dir.join(SPARE);
    if disk.exists(&spare) {
        disk.remove_file(&spare)?;
    }
    Ok(spare)
}

fn cleaner_state(options: &PagerOptions) -> Arc<CleanerState> {
    Arc::new(CleanerState {
        step: Mutex::default(),
        budget: options.capacity(),
        stop: AtomicBool::new(false),
        counters: Default::default(),
        flush_to: AtomicU64::new(0),
        flushed: base::Event::new(),
        rounds: AtomicU64::new(0),
        starved: Default::default(),
    })
}

fn checkpointer(
    (pool, log, redo): (Arc<Pool>, Arc<Log>, Arc<RedoTable>),
    control: Control,
    options: &PagerOptions,
    redo_from: Lsn,
    shortages: Arc<Shortages>,
) -> Arc<Checkpointer> {
    let needed = control.state.needed;
    Arc::new(Checkpointer {
        pool,
        log,
        redo,
        control: Mutex::new(control),
        source: OnceLock::new(),
        holds: Arc::default(),
        capacity: options.capacity(),
        redo_lsn: AtomicU64::new(redo_from.0),
        needed: AtomicU64::new(needed.0),
        enabled: AtomicBool::new(false),
        crowded: AtomicBool::new(false),
        sync_data: options.flush_method != FlushMethod::ODirectNoFsync,
        syncing: Mutex::new(()),
        busy: AtomicBool::new(false),
        busy_by: base::waits::WhoCell::new(),
        free: base::Event::new(),
        shortages,
        checkpoints: Counter::new(),
        data_syncs: Counter::new(),
    })
}

fn create(
    environment: &Environment,
    options: &PagerOptions,
    log_dir: &Path,
    data_dir: &Path,
) -> Result<(), OpenError> {
    let disk = &*environment.disk;
    disk.create_dir_all(log_dir)?;
    disk.create_dir_all(data_dir)?;
    if !disk.read_dir(data_dir)?.is_empty() {
        return Err(OpenError::Damaged(format!(
            "{} holds tables but {} is missing: restore the log folder from a backup",
            data_dir.display(),
            log_dir.join(control::FILE).display()
        )));
    }
    // A creation that was cut short left no control file; start over.
    for (name, is_dir) in disk.read_dir(log_dir)? {
        if !is_dir {
            disk.remove_file(&log_dir.join(name))?;
        }
    }
    let size = options.segment_size();
    let db_id = environment.random.next_u64() | 1;
    let seg = Segments::open(
        environment.disk.clone(),
        log_dir,
        size,
        db_id,
        OpenMode::Buffered,
    )?;
    seg.create(1, None)?;
    let state = ControlState {
        db_id,
        segment_size: size,
        redo: Lsn(size),
        checkpoint: Lsn::NONE,
        needed: Lsn::NONE,
        clean_end: Lsn(size),
        jumps: Vec::new(),
    };
    Control::create(disk, log_dir, state)?;
    sync_names(disk, log_dir, data_dir)?;
    Ok(())
}

/// Makes every name durable that an earlier process made, was killed before it synced, and that this one finds and
/// builds on: those of the files, of the folders, and of the folders above.
fn sync_names(disk: &dyn Disk, log_dir: &Path, data_dir: &Path) -> Result<(), OpenError> {
    disk.create_dir_all(data_dir)?;
    disk.sync_dir(log_dir)?;
    for (name, is_dir) in disk.read_dir(data_dir)? {
        if is_dir {
            disk.sync_dir(&data_dir.join(name))?;
        }
    }
    disk.sync_dir(data_dir)?;
    if let Some(dir) = log_dir.parent() {
        disk.sync_dir(dir)?;
        sync_above(disk, dir)?;
    }
    Ok(())
}

/// Makes the directory's own name durable, and those of the folders that were made for it, by this start or by one that
/// was cut short.
fn sync_above(disk: &dyn Disk, dir: &Path) -> Result<(), OpenError> {
    for above in dir.ancestors().skip(1) {
        let above = match above.as_os_str().is_empty() {
            true => Path::new("."),
            false => above,
        };
        match disk.sync_dir(above) {
            // What may not be opened or written was not made by us, and some file systems sync no folders.
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::PermissionDenied
                        | io::ErrorKind::ReadOnlyFilesystem
                        | io::ErrorKind::InvalidInput
                        | io::ErrorKind::Unsupported
                ) =>
            {
                break;
            }
            r => r?,
        }
    }
    Ok(())
}

fn open_control(disk: &dyn Disk, log_dir: &Path) -> Result<Control, OpenError> {
    Control::open(disk, log_dir).map_err(|e| match e {
        ControlError::Io(e) => OpenError::Io(e),
        ControlError::Newer(v) => OpenError::Newer(v),
        ControlError::Damaged => OpenError::Damaged(format!(
            "both copies in {} are damaged: restore the directory from a backup",
            log_dir.join(control::FILE).display()
        )),
    })
}

fn half_damaged(log_dir: &Path) -> String {
    format!(
        "one of the two copies in {} is damaged; the other one is used",
        log_dir.join(control::FILE).display()
    )
}

/// What is missing may be missing because only the older copy of the control file is whole, which speaks of a log that is
/// given up by now.
fn with_control(e: OpenError, control: &Control, log_dir: &Path) -> OpenError {
    match e {
        OpenError::Damaged(why) if control.damaged.is_some() => {
            OpenError::Damaged(format!("{why}; {}", half_damaged(log_dir)))
        }
        e => e,
    }
}

fn log_mode(options: &PagerOptions) -> OpenMode {
    match options.flush_method {
        FlushMethod::ODsync => OpenMode::Dsync,
        _ => OpenMode::Buffered,
    }
}

/// Opens the log and finds its end, showing every record; and whether it was closed cleanly. If not, the task that reads
/// it for the second pass is behind already.
fn find_end(
    environment: &Environment,
    options: &PagerOptions,
    log_dir: &Path,
    state: &ControlState,
    observe: &mut Observer<'_>,
    report: &mut Report,
) -> Result<(Segments, Lsn, Option<Reading>), OpenError> {
    let (size, db_id, mode) = (state.segment_size, state.db_id, log_mode(options));
    let files = || Segments::open(environment.disk.clone(), log_dir, size, db_id, mode);
    let read = || -> io::Result<Reading> {
        let jumps = state.jumps.clone();
        let room = options.pool_bytes / 8;
        Ok(Reading::start(
            &*environment.spawn,
            files()?,
            jumps,
            state.redo,
            room,
        ))
    };
    let segments = files()?;
    // A log that was closed cleanly most likely ends where it was closed: there is nothing to redo.
    let mut reading = match state.clean_end.is_none() {
        true => Some(read()?),
        false => None,
    };
    let mut show = |start: Lsn, end: Lsn, r: &Record<'_>| {
        if let Some(reading) = &mut reading {
            reading.verified(end);
        }
        observe(start, end, r);
    };
    let end = first_pass(&segments, state, &*environment.clock, &mut show, report)?;
    report.clean = state.clean_end == end;
    report.log_end = end;
    let reading = match reading {
        _ if report.clean => None,
        None => Some(read()?),
        some => some,
    };
    Ok((segments, end, reading))
}

/// Finds the log's end, showing every record.
fn first_pass(
    segments: &Segments,
    state: &ControlState,
    clock: &dyn Clock,
    observe: &mut Observer<'_>,
    report: &mut Report,
) -> Result<Lsn, OpenError> {
    let began = clock.now_us();
    let first = state.redo.0 / state.segment_size;
    let numbers: BTreeSet<u64> = segments.numbers().into_iter().collect();
    if !numbers.contains(&first) {
        return Err(OpenError::Damaged(format!(
            "{}, where recovery starts, is missing",
            segments.describe_file(first)
        )));
    }
    segments.verify_header(first).map_err(OpenError::Damaged)?;
    let mut scan = Scanner::new(segments, &state.jumps, state.redo);
    let mut checkpoint_seen = state.checkpoint.is_none();
    while let Some((start, end, r)) = scan.next_record()? {
        report.records += 1;
        checkpoint_seen |= start == state.checkpoint;
        observe(start, end, &r);
    }
    if !checkpoint_seen {
        // The checkpoint record was durable before the control file named it: the log was damaged later.
        let checkpoint = format!("its last checkpoint is at {}", state.checkpoint);
        return Err(cut_short(segments, scan.position(), &checkpoint));
    }
    report.scan_us = clock.now_us() - began;
    Ok(scan.position())
}

fn cut_short(segments: &Segments, end: Lsn, proof: &str) -> OpenError {
    let what = match segments.holds(end) {
        true => "damaged",
        false => "missing",
    };
    OpenError::Damaged(format!(
        "{} is {what}: the log ends there, at {end}, but {proof}; restore the directory from a backup",
        segments.describe(end)
    ))
}

/// Refuses an end of the log that something durable contradicts. Nothing has been changed so far.
fn must_be_the_end(
    segments: &Segments,
    state: &ControlState,
    end: Lsn,
    copies: &Copies,
) -> Result<(), OpenError> {
    if let Some((from, _)) = state.jumps.iter().find(|(from, _)| *from > end) {
        let proof = format!("an earlier start found it whole up to {from}");
        return Err(cut_short(segments, end, &proof));
    }
    // No page is written before its log is durable.
    for ((space, page), copy) in copies {
        let lsn = Lsn(le::get_u64(copy, 16));
        if lsn > end {
            let proof = format!(
                "a page was written with changes up to {lsn} (page {} of tablespace {})",
                page.0, space.0
            );
            return Err(cut_short(segments, end, &proof));
        }
    }
    match find_truncation(segments, end)? {
        None => Ok(()),
        Some((at, durable)) => {
            let proof = format!("a commit at {at} says that it was durable up to {durable}");
            Err(cut_short(segments, end, &proof))
        }
    }
}

/// After a clean shutdown the log goes on where it ended.
fn go_on(control: &mut Control, end: Lsn) -> Result<Lsn, OpenError> {
    // From here on a crash is a crash, even one that leaves the log as it was.
    control.state.clean_end = Lsn::NONE;
    control.store()?;
    Ok(end)
}

/// After a crash the log goes on in a segment never used before, so that no torn or stale record behind the old end can
/// ever be taken for a new one.
fn jump(segments: &Segments, control: &mut Control, end: Lsn) -> Result<Lsn, OpenError> {
    // What was found may so far be in the operating system's memory only. It counts as durable from here on: records
    // behind the jump are reached only through it, and pages are written by it.
    for n in control.state.redo.0 / segments.size()..=end.0 / segments.size() {
        if let Some((file, _)) = segments.locate(Lsn(n * segments.size()))? {
            file.sync_now()?;
        }
    }
    let last = segments.numbers().last().copied().unwrap_or(0);
    let next = last.max(end.0 / segments.size()) + 1;
    let to = Lsn(next * segments.size());
    // Segments wholly behind the old end hold nothing, nor do those that the last checkpoint had no need of; one of them becomes
    // the next. The others are left for the keeper to reuse: removing many large files would hold up the start.
    let (size, needed) = (segments.size(), control.state.needed.0);
    let numbers = segments.numbers();
    let behind = numbers.iter().find(|n| **n * size > end.0);
    let before = numbers.iter().find(|n| (**n + 1) * size <= needed);
    let spare = behind.or(before).copied();
    segments.create(next, spare).map_err(|e| {
        let size = segments.size() >> 20;
        let file = segments.describe_file(next);
        let what = format!("{file} of {size} MiB, where the log has to go on, cannot be made: {e}");
        OpenError::Io(io::Error::new(e.kind(), what))
    })?;
    match control.state.jumps.last_mut() {
        // Nothing was written since the last jump: one will do.
        Some((_, at)) if *at == end => *at = to,
        _ => control.state.jumps.push((end, to)),
    }
    if control.state.jumps.len() > control::JUMPS_MAX {
        return Err(OpenError::Damaged(format!(
            "{} starts in a row ended in a crash before their first checkpoint",
            control::JUMPS_MAX
        )));
    }
    control.state.clean_end = Lsn::NONE;
    if base::mutant!("jump-not-noted") {
        return Ok(to);
    }
    control.store()?;
    // In both copies: without the jump the log would seem to end in front of it.
    control.store()?;
    Ok(to)
}
