//! `cargo xtask lab spill`: a sort, a hash join, a GROUP BY and a DISTINCT over more rows than there is memory for, in a control group, alone and
//! eight at once. Each row of each answer is judged as it comes, against what follows from the numbers of the rows. Meanwhile a client asks for single
//! rows, and must be answered.

mod group;
mod rows;

use group::{Group, forget_process, process_peak};
use harness::scratch::Scratch;
use harness::server::{Kind, Server, Setup};
use harness::step::{self, Outcome};
use rows::{Question, Shape};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use wire::client::blocking::Conn;

const MIB: u64 = 1 << 20;

/// COM_QUERY.
const QUERY: u8 = 3;
/// CLIENT_DEPRECATE_EOF.
const DEPRECATE_EOF: u32 = 1 << 24;

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Rows of the table.
    #[arg(long, default_value_t = 20_000_000)]
    rows: u64,
    /// Memory of the control group, MiB.
    #[arg(long, default_value_t = 512)]
    memory: u64,
    /// The buffer pool, MiB.
    #[arg(long, default_value_t = 128)]
    pool: u64,
    /// Statements at once, in the end.
    #[arg(long, default_value_t = 8)]
    at_once: usize,
    /// The longest that another client may wait for a row, in ms.
    #[arg(long, default_value_t = 2000)]
    waits: u64,
}

/// The command.
pub(super) fn command(options: &Options) -> Outcome<()> {
    let scratch = Scratch::new("spill")?;
    let shape = Shape { rows: options.rows };
    let setup = Setup::new(Kind::Tidemill, scratch.path())?
        .option("innodb-flush-log-at-trx-commit=2")
        .redo_capacity("1G");
    step::announce(&format!("making a table of {} rows", options.rows));
    let begun = Instant::now();
    let server = setup.clone().option("innodb-buffer-pool-size=2G").start()?;
    shape.make(server.connect()?.as_mut())?;
    server.terminate()?;
    println!("    made in {:.0} s", begun.elapsed().as_secs_f64());
    let group = Group::new(options.memory * MIB);
    let mut confined = setup
        .clone()
        .option(&format!("innodb-buffer-pool-size={}M", options.pool));
    if let Some(group) = &group {
        confined.program = group.wrapper(scratch.path(), &setup.program)?;
    } else {
        println!("    no control group can be had (that takes root): without a limit");
    }
    let mut server = confined.start()?;
    for q in Question::ALL {
        measured(&[q], shape, options, &server, group.as_ref())?;
        server.must_run()?;
    }
    let all: Vec<Question> = Question::ALL
        .into_iter()
        .cycle()
        .take(options.at_once)
        .collect();
    measured(&all, shape, options, &server, group.as_ref())?;
    server.must_run()?;
    let left = std::fs::read_dir(confined.datadir.join("temp")).map_or(0, Iterator::count);
    if left > 0 {
        return Err(format!("{left} temporary files are left"));
    }
    server.terminate()
}

/// Asks all questions at once, with a bystander, and prints what that took.
fn measured(
    questions: &[Question],
    shape: Shape,
    options: &Options,
    server: &Server,
    group: Option<&Group>,
) -> Outcome<()> {
    let name = match questions {
        [q] => q.name().to_owned(),
        all => format!("{} at once", all.len()),
    };
    if let Some(g) = group {
        g.forget();
    }
    forget_process(server.pid());
    let over = AtomicBool::new(false);
    let (longest, asked) = (AtomicU64::new(0), AtomicU64::new(0));
    let begun = Instant::now();
    let answers: Vec<Outcome<Duration>> = std::thread::scope(|scope| {
        let bystander = scope.spawn(|| bystander(server.setup(), &over, &longest, &asked));
        let askers: Vec<_> = questions
            .iter()
            .map(|q| scope.spawn(|| ask(*q, shape, server.setup())))
            .collect();
        let joined = |r: std::thread::Result<Outcome<Duration>>| {
            r.unwrap_or_else(|_| Err("a client panicked".to_owned()))
        };
        let mut answers: Vec<_> = askers.into_iter().map(|a| joined(a.join())).collect();
        over.store(true, Ordering::Relaxed);
        answers.push(joined(bystander.join()));
        answers
    });
    let took = begun.elapsed();
    let each: Outcome<Vec<Duration>> = answers.into_iter().collect();
    let each = each.map_err(|e| server.with_log(&format!("{name}: {e}")))?;
    let peak = |bytes: Option<u64>| bytes.map_or("?".to_owned(), |b| (b / MIB).to_string());
    let longest = longest.load(Ordering::Relaxed);
    println!(
        "    {name}: right, {:.1} s; the process came to {} MiB, the group with its cache to {}; {} rows for another client, the \
         longest wait {:.1} ms",
        took.as_secs_f64(),
        peak(process_peak(server.pid())),
        peak(group.and_then(Group::peak)),
        asked.load(Ordering::Relaxed),
        longest as f64 / 1000.0
    );
    if questions.len() > 1 {
        let times: Vec<String> = questions
            .iter()
            .zip(&each)
            .map(|(q, t)| format!("{} {:.1} s", q.name(), t.as_secs_f64()))
            .collect();
        println!("        {}", times.join(", "));
    }
    match longest > options.waits * 1000 {
        true => Err(format!(
            "{name}: another client waited {} ms",
            longest / 1000
        )),
        false => Ok(()),
    }
}

/// Asks for single rows until it is over.
fn bystander(
    setup: &Setup,
    over: &AtomicBool,
    longest: &AtomicU64,
    asked: &AtomicU64,
) -> Outcome<Duration> {
    let fail = |e| format!("another client: {e}");
    let mut conn = Conn::connect_unix(&setup.socket, "root", "", Some("spill")).map_err(fail)?;
    let begun = Instant::now();
    let mut id = 1u64;
    while !over.load(Ordering::Relaxed) {
        let now = Instant::now();
        // A few rows, so that what is measured is the server and not the disk.
        id = (id * 7 + 3) % 1000;
        let sql = format!("SELECT v FROM t WHERE id = {id}");
        conn.query(&sql).map_err(fail)?;
        longest.fetch_max(now.elapsed().as_micros() as u64, Ordering::Relaxed);
        asked.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(begun.elapsed())
}

/// Asks a question and judges the answer row by row.
fn ask(question: Question, shape: Shape, setup: &Setup) -> Outcome<Duration> {
    let begun = Instant::now();
    let fail = |e| format!("{}: {e}", question.name());
    let mut judge = question.judge(shape);
    let mut conn = Conn::connect_unix(&setup.socket, "root", "", Some("spill")).map_err(fail)?;
    conn.set_read_timeout(Some(Duration::from_secs(3600)))
        .map_err(fail)?;
    let first = conn
        .raw_command(QUERY, question.sql().as_bytes())
        .map_err(fail)?;
    let columns = first.first().copied().unwrap_or(0);
    let ends = u8::from(conn.capabilities() & DEPRECATE_EOF == 0);
    for _ in 0..columns + ends {
        conn.next_packet().map_err(fail)?;
    }
    loop {
        let packet = conn.next_packet().map_err(fail)?;
        match packet {
            [0xFF, rest @ ..] => {
                let text = String::from_utf8_lossy(rest.get(8..).unwrap_or_default());
                return Err(format!("{}: {text}", question.name()));
            }
            // No column is long, so no row begins with it; what the end says of the session may be.
            [0xFE, ..] => break,
            _ => {
                let row = columns_of(packet).ok_or_else(|| format!("{packet:?} is no row"))?;
                judge
                    .row(&row)
                    .map_err(|e| format!("{}: {e}", question.name()))?;
            }
        }
    }
    judge
        .end()
        .map_err(|e| format!("{}: {e}", question.name()))?;
    Ok(begun.elapsed())
}

/// The columns of a row, none of which is NULL or long.
fn columns_of(mut packet: &[u8]) -> Option<Vec<&[u8]>> {
    let mut row = Vec::with_capacity(4);
    while let Some((&len, rest)) = packet.split_first() {
        let (column, rest) = rest
            .split_at_checked(usize::from(len))
            .filter(|_| len < 0xFB)?;
        row.push(column);
        packet = rest;
    }
    Some(row)
}
