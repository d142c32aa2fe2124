//! `cargo xtask fuzz`: builds the targets of `fuzz/` with coverage instrumentation, on the stable toolchain, and runs each
//! for a while.

use harness::step::{self, Outcome};
use harness::workspace;
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What is fuzzed, and the longest input worth trying, in bytes.
const TARGETS: &[(&str, u32)] = &[
    ("packets", 4096),
    ("auth", 4096),
    ("binlog_events", 4096),
    ("dump_requests", 1024),
    ("sql_text", 4096),
    ("page", 2048),
    ("compressed", 4096),
    ("backup", 4096),
    ("tree", 2048),
    ("record", 4096),
    ("log_record", 4096),
    ("my_cnf", 4096),
    ("open", 1024),
];

/// Targets that still find something within minutes.
const UNSETTLED: &[&str] = &["open"];

/// Targets that need the SQL layer or its expressions, which take longer to build than all the others: only when they are asked for. Each has a feature
/// of its name.
const ON_REQUEST: &[(&str, u32)] = &[("statement", 512), ("json", 4096)];

/// What LLVM's coverage pass is asked for; it is what `cargo fuzz` asks for, which needs a nightly toolchain for its
/// sanitizers. libFuzzer finds the counters by itself.
const INSTRUMENT: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing";

/// Where a target has more to start from: files with a text a line and what is put in front of each.
const LINES: &[(&str, &str, &[&str])] = &[
    (
        "sql_text",
        "\0",
        &[
            "sql-parser/src/testdata/grammar.sql",
            "sql-parser/src/testdata/clients.sql",
        ],
    ),
    (
        "statement",
        "\0SELECT ",
        &[
            "sql-expr/src/testdata/binding.txt",
            "sql-expr/src/testdata/control.txt",
            "sql-expr/src/testdata/dates.txt",
            "sql-expr/src/testdata/info.txt",
            "sql-expr/src/testdata/json.txt",
            "sql-expr/src/testdata/numbers.txt",
            "sql-expr/src/testdata/operators.txt",
            "sql-expr/src/testdata/strings.txt",
        ],
    ),
];

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Seconds of each target.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Only targets whose names contain this.
    #[arg(long, default_value = "", hide_default_value = true)]
    target: String,
}

/// `cargo xtask fuzz`.
pub fn command(options: &Options) -> Outcome<()> {
    let (seconds, only) = (options.seconds, &options.target);
    run(seconds, only)
}

/// The share of CI: what is in the corpus, and a little more where ten minutes found nothing.
/// All of it draws from this seed, and from nothing that earlier runs have learned.
pub fn share(seed: u64) -> Outcome<()> {
    let seconds = |name: &str| match UNSETTLED.contains(&name) {
        true => 0,
        false => 10,
    };
    run_each("", seconds, Some(seed))
}

/// Runs the targets whose name contains `only`.
fn run(seconds: u64, only: &str) -> Outcome<()> {
    run_each(only, |_| seconds, None)
}

/// As [`run`], each for its own time; for none, what is in the corpus. With a seed, nothing else but the corpus decides what is tried.
///
/// A share runs as many at once as there are cores; who searches for hours runs one after the other, as each may take a core and much memory.
fn run_each(only: &str, seconds_of: impl Fn(&str) -> u64 + Sync, seed: Option<u64>) -> Outcome<()> {
    let mut targets: Vec<_> = TARGETS.iter().filter(|t| t.0.contains(only)).collect();
    let on_request = ON_REQUEST.iter().find(|t| t.0 == only);
    if let Some(target) = on_request {
        targets = vec![target];
    }
    let built = workspace::target_dir()?.join("fuzz");
    let host = host()?;
    step::announce("building the fuzz targets");
    let mut build = workspace::cargo();
    build
        .args(["build", "--release", "--target", &host])
        .arg("--manifest-path")
        .arg(workspace::root().join("fuzz/Cargo.toml"))
        .env("CARGO_TARGET_DIR", &built)
        .env("RUSTFLAGS", INSTRUMENT);
    for (name, _) in &targets {
        build.args(["--bin", name]);
    }
    if let Some((feature, _)) = on_request {
        build.args(["--features", feature]);
    }
    step::visibly(&mut build)?;
    let programs = built.join(&host).join("release");
    let at_once = match seed {
        Some(_) => std::thread::available_parallelism().map_or(1, NonZero::get),
        None => 1,
    };
    let next = AtomicUsize::new(0);
    let some = || {
        let mut failed = Vec::new();
        while let Some((name, longest)) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(why) = one(&programs, name, *longest, seconds_of(name), &built, seed) {
                println!("{why}");
                failed.push(*name);
            }
        }
        failed
    };
    let failed: Vec<&str> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..at_once).map(|_| scope.spawn(some)).collect();
        let failed = threads
            .into_iter()
            .map(|t| t.join().unwrap_or_else(|_| vec!["a thread that fell"]));
        failed.flatten().collect()
    });
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("found something: {}", failed.join(", "))),
    }
}

fn one(
    programs: &Path,
    name: &str,
    longest: u32,
    seconds: u64,
    built: &Path,
    seed: Option<u64>,
) -> Outcome<()> {
    let from = seed.map_or(String::new(), |s| format!(", from seed {s}"));
    step::announce(&format!("fuzzing {name} for {seconds} s{from}"));
    let learned = match seed {
        None => folder(built, "corpus", name)?,
        Some(_) => emptied(folder(built, "drawn", name)?)?,
    };
    let artifacts = folder(built, "artifacts", name)?;
    let mut run = Command::new(programs.join(name));
    run.arg(match seconds {
        0 => "-runs=0".to_owned(),
        _ => format!("-max_total_time={seconds}"),
    })
    .arg(format!("-max_len={longest}"))
    .args(["-timeout=20", "-rss_limit_mb=2048", "-print_final_stats=1"])
    .arg(format!("-artifact_prefix={}/", artifacts.display()))
    // libFuzzer takes 32 bits, and 0 for a seed of its own choice.
    .args(seed.map(|s| format!("-seed={}", s % u64::from(u32::MAX) + 1)))
    .arg(&learned)
    .arg(workspace::root().join("fuzz/corpus").join(name));
    for (_, front, files) in LINES.iter().filter(|l| l.0 == name) {
        run.arg(lines(built, name, front, files)?);
    }
    let log = built.join(format!("{name}.log"));
    let output = fs::File::create(&log).map_err(|e| format!("{}: {e}", log.display()))?;
    let errors = output.try_clone().map_err(|e| e.to_string())?;
    let status = run
        .env("RUST_BACKTRACE", "1")
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .status()
        .map_err(|e| format!("{name}: {e}"))?;
    if !status.success() {
        return Err(format!(
            "{}\n    {name}: {status}; all of it is in {}. Give {} the file to see it again.",
            step::tail_of_file(&log, 60),
            log.display(),
            programs.join(name).display()
        ));
    }
    let said = fs::read(&log).map_err(|e| format!("{}: {e}", log.display()))?;
    // Its name once more: another may have begun meanwhile.
    println!("    {name}: {}", result(&String::from_utf8_lossy(&said))?);
    Ok(())
}

/// The line with what came of a run. Without counters the run would be a search in the dark, and no failure would tell.
fn result(said: &str) -> Outcome<String> {
    if !said.contains("inline 8-bit counters") {
        return Err("the program was built without coverage".into());
    }
    said.lines()
        .rfind(|l| l.contains("DONE"))
        .map(|l| l.split_whitespace().collect::<Vec<_>>().join(" "))
        .ok_or_else(|| "the fuzzer did not come to its end".into())
}

fn folder(built: &Path, what: &str, name: &str) -> Outcome<PathBuf> {
    let path = built.join(what).join(name);
    fs::create_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(path)
}

/// The same folder, without what an earlier run left there.
fn emptied(folder: PathBuf) -> Outcome<PathBuf> {
    let again = fs::remove_dir_all(&folder).and_then(|()| fs::create_dir(&folder));
    again.map_err(|e| format!("{}: {e}", folder.display()))?;
    Ok(folder)
}

/// A folder with an input for each line of these files of the SQL layer's own tests; of `text => result`, the text.
fn lines(built: &Path, name: &str, front: &str, files: &[&str]) -> Outcome<PathBuf> {
    let to = folder(built, "lines", name)?;
    let mut n = 0;
    for file in files {
        let from = workspace::root().join("crates").join(file);
        let text = fs::read_to_string(&from).map_err(|e| format!("{}: {e}", from.display()))?;
        for line in text
            .lines()
            .filter(|l| !l.is_empty() && !l.starts_with("--"))
        {
            let line = line.split_once(" => ").map_or(line, |(text, _)| text);
            let path = to.join(n.to_string());
            fs::write(&path, format!("{front}{line}"))
                .map_err(|e| format!("{}: {e}", path.display()))?;
            n += 1;
        }
    }
    Ok(to)
}

fn host() -> Outcome<String> {
    let text = step::must(Command::new("rustc").arg("-vV"))?;
    text.lines()
        .find_map(|l| l.strip_prefix("host: "))
        .map(str::to_owned)
        .ok_or_else(|| "rustc does not name its host".into())
}
