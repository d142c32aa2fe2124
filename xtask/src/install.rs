//! Installing the programs that the tests drive, through apt where there is apt.

use crate::args::Args;
use crate::step::{self, Outcome};
use std::process::Command;

/// A program, the Debian package it comes in, and what needs it.
const PROGRAMS: &[(&str, &str, &str)] = &[
    (
        "sysbench",
        "sysbench",
        "the smoke, crash and benchmark loads",
    ),
    ("mariadb", "mariadb-client", "the end-to-end cases"),
    (
        "mariadbd",
        "mariadb-server-core",
        "comparisons (--server mariadb, compare)",
    ),
    (
        "mariadb-install-db",
        "mariadb-server-core",
        "comparisons (--server mariadb, compare)",
    ),
    ("strace", "strace", "cargo xtask syncs"),
    ("c++", "g++", "the fuzzer"),
];

/// Programs without which `cargo xtask test` cannot run.
const NEEDED: &[&str] = &["sysbench", "mariadb", "c++"];

/// The command.
pub fn command(args: &Args) -> Outcome<()> {
    args.refuse_unread()?;
    ensure()
}

/// Installs what is missing; an error if something needed is missing still.
pub fn ensure() -> Outcome<()> {
    step::announce("programs the tests drive");
    let missing: Vec<_> = PROGRAMS.iter().filter(|p| !step::on_path(p.0)).collect();
    if missing.is_empty() {
        println!("    all there: sysbench, mariadb, mariadbd, strace, c++");
        return Ok(());
    }
    for (program, package, purpose) in &missing {
        println!("    missing: {program} (package {package}) for {purpose}");
    }
    let mut packages: Vec<&str> = missing.iter().map(|p| p.1).collect();
    packages.dedup();
    if step::on_path("apt-get") {
        apt(&packages)?;
    } else {
        println!("    there is no apt-get here; please install the packages of that name yourself");
    }
    let still: Vec<&str> = NEEDED
        .iter()
        .copied()
        .filter(|p| !step::on_path(p))
        .collect();
    if still.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "the tests need {}, and it is not installed (Debian: apt-get install sysbench \
             mariadb-client g++)",
            still.join(" and ")
        ))
    }
}

fn apt(packages: &[&str]) -> Outcome<()> {
    let installed = step::visibly(
        apt_get()
            .args(["install", "-y", "--no-install-recommends"])
            .args(packages),
    );
    if installed.is_ok() {
        return Ok(());
    }
    // A fresh container has no package lists yet. Without a network this fails too; what is needed is checked after.
    if let Err(why) = step::visibly(apt_get().arg("update")) {
        println!("    {why}");
    }
    if let Err(why) = step::visibly(
        apt_get()
            .args(["install", "-y", "--no-install-recommends"])
            .args(packages),
    ) {
        println!("    {why}");
    }
    Ok(())
}

/// apt-get without questions, through sudo where we are not root and sudo asks nothing.
fn apt_get() -> Command {
    use std::os::unix::fs::MetadataExt;
    let root = std::fs::metadata("/proc/self").is_ok_and(|m| m.uid() == 0);
    if root {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive");
        command
    } else {
        let mut command = Command::new("sudo");
        command.args(["-n", "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]);
        command
    }
}
