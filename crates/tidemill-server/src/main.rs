//! The `tidemill` program: reads its command line and does what it says.

use std::io;
use std::process::ExitCode;
use std::sync::Arc;

use tidemill::open::OpenFailure;
use tidemill_server::log::Log;
use tidemill_server::option_files::FileSystem;
use tidemill_server::options::{self, Command, Invocation, Level, Notice, Options};
use tidemill_server::{backups, check, failover, server, shell};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Exit status: the command line is wrong, the directory cannot be opened, or it is in use.
const UNUSABLE: u8 = 2;

fn main() -> ExitCode {
    let invocation = match options::parse(std::env::args().skip(1), &FileSystem) {
        Ok(invocation) => invocation,
        Err(e) => {
            eprintln!("tidemill: {e}");
            return ExitCode::from(UNUSABLE);
        }
    };
    let Invocation {
        command,
        options,
        notices,
    } = invocation;
    match command {
        Command::Serve => serve(&options, &notices),
        Command::Shell { execute, force } => {
            tell(&notices);
            match shell::run(&options, execute.as_deref(), force) {
                Ok(shell::Ended::Well) => ExitCode::SUCCESS,
                Ok(shell::Ended::Failed) => ExitCode::FAILURE,
                Err(e) => unopened(&e),
            }
        }
        Command::Check { table } => {
            tell(&notices);
            match check::run(&options, table.as_deref(), &mut io::stdout()) {
                Ok(found) if found.damaged == 0 => ExitCode::SUCCESS,
                Ok(_) => ExitCode::FAILURE,
                Err(e) => unopened(&e),
            }
        }
        Command::Backup(arguments) => said(backups::back_up(&arguments)),
        Command::Verify(dir) => said(backups::verify(&dir)),
        Command::Restore(arguments) => said(backups::restore(&arguments, &options)),
        Command::Replica(arguments) => said(backups::replica(&arguments, &options)),
        Command::Failover { rejoin, words } => {
            match failover::run(rejoin, &words, &mut io::stdout()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(failover::Failure::Usage(text)) => {
                    eprintln!("tidemill: {text}");
                    ExitCode::from(UNUSABLE)
                }
                Err(failover::Failure::Refused(text)) => {
                    eprintln!("tidemill: {text}");
                    ExitCode::FAILURE
                }
            }
        }
        Command::Help => {
            print!("{}", options::USAGE);
            ExitCode::SUCCESS
        }
        Command::Version => {
            println!(
                "tidemill {} (MySQL {})",
                env!("CARGO_PKG_VERSION"),
                wire::handshake::SERVER_VERSION
            );
            ExitCode::SUCCESS
        }
    }
}

/// What came of a command about backups. Standard output may be the backup itself.
fn said(outcome: Result<Vec<String>, String>) -> ExitCode {
    match outcome {
        Ok(lines) => {
            for line in lines {
                eprintln!("{line}");
            }
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("tidemill: {why}");
            ExitCode::FAILURE
        }
    }
}

fn serve(options: &Options, notices: &[Notice]) -> ExitCode {
    let log = match &options.log_error {
        None => Log::stderr(),
        Some(path) => match Log::file(path) {
            Ok(log) => log,
            Err(e) => {
                eprintln!("tidemill: {}: {e}", path.display());
                return ExitCode::from(UNUSABLE);
            }
        },
    };
    let log = Arc::new(log);
    let until = server::asked_to_end();
    match server::serve(options, notices, Arc::clone(&log), |_| {}, until) {
        Ok(()) => ExitCode::SUCCESS,
        // It has been logged.
        Err(server::ServeError::Open(_)) => ExitCode::from(UNUSABLE),
        Err(_) => ExitCode::FAILURE,
    }
}

/// Warnings about options; what is only for the record stays with the server's log.
fn tell(notices: &[Notice]) {
    for notice in notices.iter().filter(|n| n.level == Level::Warning) {
        eprintln!("tidemill: warning: {notice}");
    }
}

fn unopened(e: &OpenFailure) -> ExitCode {
    eprintln!("tidemill: {e}");
    // A directory that is damaged is what a check looks for.
    match e {
        OpenFailure::Storage(..) | OpenFailure::Sql(_) => ExitCode::FAILURE,
        _ => ExitCode::from(UNUSABLE),
    }
}
