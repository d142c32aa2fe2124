//! A program that is run and timed: how long it takes, and what time of the processors it uses itself.

use harness::process;
use harness::step::{self, Outcome};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How often it is looked at.
const LOOKS: Duration = Duration::from_millis(10);

/// A program that has succeeded.
#[derive(Debug, Clone)]
pub(super) struct Done {
    /// How long it took, in seconds.
    pub(super) seconds: f64,
    /// When it had ended.
    pub(super) end: Instant,
    /// Its processor time, in seconds.
    pub(super) cpu: f64,
    /// What it said.
    pub(super) said: String,
}

/// A program at work. It ends with its handle.
#[derive(Debug)]
pub(super) struct Program {
    child: Child,
    shown: String,
    begun: Instant,
    said: PathBuf,
}

impl Program {
    /// Starts it; what it says goes to a file.
    pub(super) fn start(mut command: Command, said: &Path) -> Outcome<Program> {
        let fail = |e: std::io::Error| format!("{}: {e}", said.display());
        let out = File::create(said).map_err(fail)?;
        let errors = out.try_clone().map_err(fail)?;
        let shown = step::shown(&command);
        let begun = Instant::now();
        let child = command
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(errors)
            .spawn()
            .map_err(|e| format!("{shown}: {e}"))?;
        Ok(Program {
            child,
            shown,
            begun,
            said: said.to_path_buf(),
        })
    }

    /// Looks whether it has ended, after a moment in which it may have.
    ///
    /// # Errors
    /// It has failed.
    pub(super) fn look(&mut self) -> Outcome<Option<Done>> {
        std::thread::sleep(LOOKS);
        let Some(cpu) = process::time_of_ended(self.child.id())? else {
            return Ok(None);
        };
        let end = Instant::now();
        let status = self.child.wait();
        let status = status.map_err(|e| format!("{}: {e}", self.shown))?;
        if !status.success() {
            let tail = step::tail_of_file(&self.said, 15);
            return Err(format!("{}: {status}\n{tail}", self.shown));
        }
        let said = std::fs::read(&self.said).unwrap_or_default();
        Ok(Some(Done {
            seconds: (end - self.begun).as_secs_f64(),
            end,
            cpu: cpu.as_secs_f64(),
            said: String::from_utf8_lossy(&said).into_owned(),
        }))
    }

    /// Waits for its end.
    pub(super) fn done(mut self) -> Outcome<Done> {
        loop {
            if let Some(done) = self.look()? {
                return Ok(done);
            }
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Both fail harmlessly where it has been waited for already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_says_and_takes() {
        let dir = std::env::temp_dir().join(format!("tidemill-lab-program-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let run = |script: &str| {
            let mut sh = Command::new("sh");
            sh.args(["-c", script]);
            Program::start(sh, &dir.join("said"))?.done()
        };
        let done = run("echo out; echo err >&2; sleep 0.05").unwrap();
        assert_eq!(done.said, "out\nerr\n");
        assert!(done.seconds >= 0.05 && done.cpu < done.seconds);
        let failed = run("echo because; exit 3").unwrap_err();
        assert!(
            failed.contains("because") && failed.contains('3'),
            "{failed}"
        );
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
