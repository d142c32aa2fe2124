//! Nothing outlives the lab: not when it is killed, either.
//!
//! A handle that is dropped ends its server, but a process that is killed drops nothing, and a server that was stopped
//! in its turn would stay so for ever.

use harness::step::Outcome;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// Waits for the end of its input, which is the end of the lab, and then ends a server and its children.
const SCRIPT: &str = r#"read -r _; kill -KILL "$1" $(cat "/proc/$1/task/$1/children")"#;

/// Ends a server if this process ends without having done so. It must be dropped before the server is waited for,
/// since its number may then belong to somebody else.
#[derive(Debug)]
pub struct Guard(Child);

impl Guard {
    /// A guard over the server with this id.
    pub fn over(pid: u32) -> Outcome<Guard> {
        Command::new("sh")
            .args(["-c", SCRIPT, "guard", &pid.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // A key pressed on the terminal must not end the guard together with the lab.
            .process_group(0)
            .spawn()
            .map(Guard)
            .map_err(|e| format!("sh: {e}"))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeper() -> Child {
        Command::new("sleep").arg("60").spawn().unwrap()
    }

    #[test]
    fn the_end_of_the_lab_is_the_end_of_the_server() {
        let mut server = sleeper();
        let mut guard = Guard::over(server.id()).unwrap();
        drop(guard.0.stdin.take());
        assert!(!server.wait().unwrap().success());
    }

    #[test]
    fn a_guard_that_goes_first_harms_nobody() {
        let mut server = sleeper();
        drop(Guard::over(server.id()).unwrap());
        assert!(server.try_wait().unwrap().is_none());
        server.kill().unwrap();
        server.wait().unwrap();
    }
}
