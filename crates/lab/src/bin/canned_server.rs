//! `canned-server --socket PATH [--threads N]`: see [`lab::canned`].

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut socket = None;
    let mut threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let mut args = std::env::args().skip(1);
    while let Some(a) = args.next() {
        let value = args.next();
        match (a.as_str(), value) {
            ("--socket", Some(v)) => socket = Some(PathBuf::from(v)),
            ("--threads", Some(v)) if v.parse::<usize>().is_ok() => {
                threads = v.parse().unwrap_or(threads);
            }
            _ => {
                eprintln!("usage: canned-server --socket PATH [--threads N]");
                return ExitCode::from(2);
            }
        }
    }
    let Some(socket) = socket else {
        eprintln!("usage: canned-server --socket PATH [--threads N]");
        return ExitCode::from(2);
    };
    match lab::canned::serve(&socket, threads) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{}: {e}", socket.display());
            ExitCode::FAILURE
        }
    }
}
