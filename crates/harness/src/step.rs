//! Running other programs, one step at a time, with progress on the screen and the reason on failure.

use std::fs::File;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A result whose error is the sentence to show.
pub type Outcome<T> = Result<T, String>;

/// Prints the headline of a step.
pub fn announce(what: &str) {
    println!("==> {what}");
}

/// `command` as one would type it.
pub fn shown(command: &Command) -> String {
    let mut line = command.get_program().to_string_lossy().into_owned();
    for arg in command.get_args() {
        line.push(' ');
        line.push_str(&arg.to_string_lossy());
    }
    line
}

/// Runs `command` with its output on the screen; an error unless it exits with 0.
pub fn visibly(command: &mut Command) -> Outcome<()> {
    let line = shown(command);
    announce(&line);
    let begun = Instant::now();
    let status = command
        .stdin(Stdio::null())
        .status()
        .map_err(|e| format!("{line}: {e}"))?;
    println!("    {:.1} s", begun.elapsed().as_secs_f64());
    if status.success() {
        Ok(())
    } else {
        Err(format!("{line}: {status}"))
    }
}

/// As [`visibly`], but ended with all it has started after `limit`: a test that hangs is a failure with a name, the last that
/// it printed, and not a CI that never ends.
pub fn visibly_within(command: &mut Command, limit: Duration) -> Outcome<()> {
    let line = shown(command);
    announce(&line);
    let begun = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(|e| format!("{line}: {e}"))?;
    let ended = ended_within(&mut child, limit).map_err(|e| format!("{line}: {e}"))?;
    let Some(status) = ended else {
        let group = format!("-{}", child.id());
        quietly(Command::new("kill").args(["-KILL", "--", &group]))?;
        let _ended = child.wait();
        return Err(format!("{line}: not over after {} s", limit.as_secs()));
    };
    println!("    {:.1} s", begun.elapsed().as_secs_f64());
    match status.success() {
        true => Ok(()),
        false => Err(format!("{line}: {status}")),
    }
}

/// Runs `command` with its output in a file, and ends it with all that it has started after `limit`; how it ended, `None` where it had to be.
pub fn logged_within(
    command: &mut Command,
    log: &Path,
    limit: Duration,
) -> Outcome<Option<ExitStatus>> {
    let line = shown(command);
    let file = File::create(log).map_err(|e| format!("{}: {e}", log.display()))?;
    let both = file.try_clone().map_err(|e| e.to_string())?;
    let child = command
        .stdin(Stdio::null())
        .stdout(file)
        .stderr(both)
        .process_group(0)
        .spawn();
    let mut child = child.map_err(|e| format!("{line}: {e}"))?;
    let ended = ended_within(&mut child, limit).map_err(|e| format!("{line}: {e}"))?;
    if ended.is_none() {
        let group = format!("-{}", child.id());
        quietly(Command::new("kill").args(["-KILL", "--", &group]))?;
        let _ended = child.wait();
    }
    Ok(ended)
}

/// How a program ended; `None`: it still runs after `limit`.
fn ended_within(child: &mut Child, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        match child.try_wait()? {
            None if begun.elapsed() <= limit => std::thread::sleep(Duration::from_millis(10)),
            ended => return Ok(ended),
        }
    }
}

/// What a quiet program said.
#[derive(Debug)]
pub struct Output {
    /// Did it exit with 0?
    pub success: bool,
    /// Standard output, then standard error.
    pub text: String,
}

/// Runs `command` quietly and returns what it said; an error only where it could not be started.
pub fn quietly(command: &mut Command) -> Outcome<Output> {
    let line = shown(command);
    let out = command
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("{line}: {e}"))?;
    let mut text = String::from_utf8_lossy(&out.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&out.stderr));
    Ok(Output {
        success: out.status.success(),
        text,
    })
}

/// As [`quietly`], but ended after `limit`, which is an error; the two outputs come as they were written.
pub fn quietly_within(command: &mut Command, limit: Duration) -> Outcome<Output> {
    let line = shown(command);
    let failed = |e: std::io::Error| format!("{line}: {e}");
    let (mut said, out) = std::io::pipe().map_err(failed)?;
    command
        .stdin(Stdio::null())
        .stdout(out.try_clone().map_err(failed)?)
        .stderr(out);
    let child = command.spawn();
    // The command holds the ends for writing that it gave to the program. Reading ends when nobody has one any more.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = child.map_err(failed)?;
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        said.read_to_end(&mut bytes).map(|_| bytes)
    });
    let Some(status) = ended_within(&mut child, limit).map_err(failed)? else {
        child.kill().and_then(|()| child.wait()).map_err(failed)?;
        return Err(format!("{line}: not over after {} s", limit.as_secs()));
    };
    let read = reader.join().map_err(|_| format!("{line}: not read"))?;
    Ok(Output {
        success: status.success(),
        text: String::from_utf8_lossy(&read.map_err(failed)?).into_owned(),
    })
}

/// Runs `command` quietly; an error with the end of its output unless it exits with 0.
pub fn must(command: &mut Command) -> Outcome<String> {
    let said = quietly(command)?;
    if said.success {
        Ok(said.text)
    } else {
        Err(format!(
            "{} failed:\n{}",
            shown(command),
            tail(&said.text, 20)
        ))
    }
}

/// The last `lines` lines of `text`.
pub fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.trim_end().lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

/// The last lines of a file, or a note that it cannot be read.
pub fn tail_of_file(path: &Path, lines: usize) -> String {
    match std::fs::read(path) {
        Ok(bytes) => tail(&String::from_utf8_lossy(&bytes), lines),
        Err(e) => format!("({}: {e})", path.display()),
    }
}

/// Is there a program of this name on the PATH (or in Debian's /usr/sbin)?
pub fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain([std::path::PathBuf::from("/usr/sbin")])
        .any(|dir| dir.join(program).is_file())
}
