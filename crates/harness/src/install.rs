//! Installing the programs that the tests drive, through apt where there is apt.

use crate::server::runs_as_root;
use crate::step::{self, Outcome};
use std::path::Path;
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
    ("mydumper", "mydumper", "cargo xtask dumps"),
    ("openssl", "openssl", "the tests of TLS"),
    ("strace", "strace", "cargo xtask syncs"),
    ("c++", "g++", "the fuzzer"),
];

/// What the lab drives beside these: a file by which it is known to be there, and the package it comes in.
const PEERS: &[(&str, &str)] = &[
    ("/usr/sbin/mariadbd", "mariadb-server-core"),
    ("/usr/bin/mariadb-install-db", "mariadb-server-core"),
    ("/usr/bin/mariadb-backup", "mariadb-backup"),
    ("/usr/lib/postgresql/15/bin/postgres", "postgresql-15"),
    ("/usr/bin/fio", "fio"),
    ("/usr/bin/zstd", "zstd"),
];

/// MariaDB's other engine, where it is asked for.
const MYROCKS: (&str, &str) = (
    "/usr/lib/mysql/plugin/ha_rocksdb.so",
    "mariadb-plugin-rocksdb",
);

/// Debian's package of PostgreSQL makes a cluster and starts it, unless this file says otherwise.
const CLUSTERS: &str = "/etc/postgresql-common/createcluster.conf";
const NO_CLUSTER: &str = "create_main_cluster = false";

/// What packages of Python are built and run with, some of them written in C.
pub const PYTHON: &[&str] = &[
    "python3-venv",
    "python3-dev",
    "gcc",
    "pkg-config",
    "libmariadb-dev",
];

/// Programs without which `cargo xtask test` cannot run.
const NEEDED: &[&str] = &["sysbench", "mariadb", "openssl", "c++"];

/// `cargo xtask install`: all of it.
pub fn all() -> Outcome<()> {
    ensure()?;
    peers(true)
}

/// Installs what the lab drives and what is missing here. What could not be installed fails when it is started.
pub fn peers(myrocks: bool) -> Outcome<()> {
    let wanted = PEERS.iter().chain(myrocks.then_some(&MYROCKS));
    let mut packages: Vec<&str> = wanted
        .filter(|(file, _)| !Path::new(file).is_file())
        .map(|(_, package)| *package)
        .collect();
    packages.dedup();
    if packages.is_empty() || !step::on_path("apt-get") {
        return Ok(());
    }
    println!("    missing for the lab: {}", packages.join(", "));
    if packages.contains(&"postgresql-15") {
        // The lab starts servers of its own, on directories of its own, and wants no other beside them.
        apt(&["postgresql-common"])?;
        let text = std::fs::read_to_string(CLUSTERS).unwrap_or_default();
        if !text.lines().any(|line| line == NO_CLUSTER) {
            let line = format!("echo '{NO_CLUSTER}' >> {CLUSTERS}");
            step::visibly(as_root("sh").args(["-c", &line]))?;
        }
    }
    apt(&packages)
}

/// Installs what is missing; an error if something needed is missing still.
pub fn ensure() -> Outcome<()> {
    step::announce("programs the tests drive");
    let missing: Vec<_> = PROGRAMS.iter().filter(|p| !step::on_path(p.0)).collect();
    if missing.is_empty() {
        println!("    all there: sysbench, mariadb, mariadbd, mydumper, strace, c++");
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

/// Installs those of Debian's packages that are missing here, where there is apt.
///
/// # Errors
/// One of them is missing still.
pub fn packages(wanted: &[&str]) -> Outcome<()> {
    if !step::on_path("dpkg-query") {
        return Ok(());
    }
    let there = |package: &&str| {
        let mut ask = Command::new("dpkg-query");
        ask.args(["--show", "--showformat=${db:Status-Status}", package]);
        step::quietly(&mut ask).is_ok_and(|said| said.success && said.text == "installed")
    };
    let missing = || {
        wanted
            .iter()
            .copied()
            .filter(|p| !there(p))
            .collect::<Vec<_>>()
    };
    let lacking = missing();
    if lacking.is_empty() {
        return Ok(());
    }
    println!("    missing: {}", lacking.join(", "));
    apt(&lacking)?;
    match missing().is_empty() {
        true => Ok(()),
        false => Err(format!("not installed: {}", missing().join(", "))),
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

/// apt-get without questions.
fn apt_get() -> Command {
    as_root("apt-get")
}

/// A program that asks nothing, through sudo where we are not root and sudo asks nothing either.
fn as_root(program: &str) -> Command {
    if runs_as_root() {
        let mut command = Command::new(program);
        command.env("DEBIAN_FRONTEND", "noninteractive");
        command
    } else {
        let mut command = Command::new("sudo");
        command.args(["-n", "env", "DEBIAN_FRONTEND=noninteractive", program]);
        command
    }
}
