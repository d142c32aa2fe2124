//! `cargo xtask`: everything a developer or a CI machine does to this tree that is more than one cargo command.
//!
//! It starts servers as child processes, drives them with the unmodified `sysbench` and `mariadb` programs and
//! with the project's own blocking client, and judges what it saw. It never links the engine: whatever it
//! claims about durability or speed, it claims about the program a user would run.
//!
//! Every command prints what it does while it does it and ends with one line, `PASS` or `FAIL`; the exit status
//! says the same.

mod ci;
mod compare;
mod crash;
mod damage;
mod differential;
mod dumps;
mod e2e;
mod edges;
mod few_files;
mod full_disk;
mod fuzz;
mod hostile;
mod isolation;
mod lab;
mod ledger;
mod matrix;
mod miri;
mod models;
mod mutants;
mod planted;
mod power_cuts;
mod pressure;
mod privileges;
mod protocol;
mod purge_stop;
mod recovery_time;
mod seeds;
mod sim;
mod slt;
mod starts;
mod syncs;
mod tidy;
mod tls;

use harness::args::Args;
use harness::step::Outcome;

/// One command: its name, one line of help, and what it runs.
type Command = (&'static str, &'static str, fn(&Args) -> Outcome<()>);

const COMMANDS: &[Command] = &[
    (
        "test",
        "install what the tests need, unit tests, fuzzing, end-to-end cases, sysbench smoke, three crashes, checked histories, hostile clients; \
         from fixed seeds [--seed 1]",
        ci::test,
    ),
    ("ci", "fmt, clippy, tidy and test", ci::ci),
    (
        "tidy",
        "the habits of the tree as a test; --bless rewrites the ratchets",
        tidy::command,
    ),
    (
        "e2e",
        "the SQL cases through the mariadb program and a short sysbench smoke [--server tidemill|mariadb] [--only PART]",
        e2e::command,
    ),
    (
        "crash",
        "kill -9 under load, then prove nothing was lost [--rounds N] [--threads 64] [--seconds S] [--seed X]; kill -9 in a row: \
         --starts N [--capacity-mb 256]; SIGTERM while purge works: --purge-stop [--rows 10000000]",
        crash::command,
    ),
    (
        "isolation",
        "anomaly scenarios and checked histories [--server tidemill|mariadb] [--transactions N] [--seconds S] \
         [--seed X] [--levels rc,rr,ser]",
        isolation::command,
    ),
    (
        "tls",
        "TLS with the programs mariadb and openssl",
        tls::command,
    ),
    (
        "hostile",
        "careless and malicious clients, 10,000 idle connections [--short] [--only NAME] [--idle N] [--rounds N]",
        hostile::command,
    ),
    (
        "damage",
        "single bits flipped in every kind of file, the log cut at every byte of its end [--short] [--seed X] [--bits N] \
         [--grounds killed,busy] [--only FILE]",
        damage::command,
    ),
    (
        "dumps",
        "tables of every column type, dumped and restored by mariadb-dump and mydumper, beside MariaDB [--short] [--only SET]",
        dumps::command,
    ),
    (
        "full-disk",
        "a server on a small file system that is filled to its last block (as root) [--mb 96] [--rounds 6] [--seed X]",
        full_disk::command,
    ),
    (
        "power-cuts",
        "the server on a file system that forgets at a power cut what was not synced [--cuts 100] [--clients 8] [--seed X] \
         [--flush-method M] [--forget-syncs] [--forget-names]",
        power_cuts::command,
    ),
    (
        "few-files",
        "ulimit -n 64, with more tables and clients [--files 64] [--tables 100] [--clients 200] [--seconds 20] [--seed X]",
        few_files::command,
    ),
    (
        "privileges",
        "who may do what: grants x statements x doors, beside MariaDB; scenarios; random accounts [--matrix] [--alone] [--server S] \
         [--grant PART] [--statement PART] [--skip PARTS] [--scenarios] [--scenario PART] [--fuzz SECONDS] [--seed N]",
        privileges::command,
    ),
    (
        "slt",
        "sqllogictest files: DIR... [--jobs 2] [--only PART] [--server tidemill|mariadb]",
        slt::command,
    ),
    (
        "differential",
        "random statements beside MariaDB and by two ways [--statements N] [--seed N] [--area NAME] [--case N] [--alone] [--list FILE] [--judge FILE]",
        differential::command,
    ),
    (
        "compare",
        "Tidemill beside MariaDB [--seconds S] [--rows 2000000] [--threads 1,8,64,256] [--tests a,b]",
        compare::command,
    ),
    (
        "lab",
        "the experiments beside MariaDB and PostgreSQL: E02 E11 ... | all [--quick] [--seconds 10] [--repeats 5] [--readme]",
        lab::command,
    ),
    (
        "sysbench-matrix",
        "every sysbench script at every thread count [--tables 4] [--table-size 250000] [--seconds 10]",
        matrix::command,
    ),
    (
        "pressure",
        "a 64 MiB pool over 1 GB of data; memory must stay bounded [--seconds 300] [--rows 5000000]",
        pressure::command,
    ),
    (
        "recovery-time",
        "kill with 1 GB of log to replay, time the first query [--log-mb 1024] [--limit-ms 5000]",
        recovery_time::command,
    ),
    (
        "syncs",
        "system calls a durable commit costs, at 1 and 64 clients [--seconds 10]",
        syncs::command,
    ),
    (
        "models",
        "every interleaving of small models of latches, log ring, events, slots and snapshots [--preemptions 3]",
        models::command,
    ),
    (
        "miri",
        "undefined behaviour in what Miri can run of base, pager and btree [--toolchain nightly]",
        miri::command,
    ),
    (
        "fuzz",
        "coverage-guided fuzzing of what reads bytes from outside [--seconds 60] [--target NAME]",
        fuzz::command,
    ),
    (
        "seeds",
        "unit and property tests from new seeds, until one fails or the time is over [--seconds 600] [--package NAME] [--only TEST] [--seed N]",
        seeds::command,
    ),
    (
        "sim",
        "the engine on a simulated disk, power cuts, a model beside it [--seconds 60] [--seed N] [--threads 2] [--keep]",
        sim::command,
    ),
    (
        "mutants",
        "planted bugs, and how fast the simulator, real threads or a model find each [--by sim|stress|model] [--seconds-each 600] \
         [--threads 2] [--only NAME]",
        mutants::command,
    ),
    (
        "install",
        "install the programs the tests drive (Debian and Ubuntu, through apt)",
        harness::install::command,
    ),
];

fn help() {
    println!("cargo xtask COMMAND [--flag value]...\n");
    for (name, what, _) in COMMANDS {
        println!("  {name:<16} {what}");
    }
    println!("\nCARGO_TARGET_DIR is respected; scratch data goes to <target>/xtask.");
}

fn main() -> std::process::ExitCode {
    let mut argv = std::env::args().skip(1);
    let Some(name) = argv.next() else {
        help();
        return std::process::ExitCode::from(2);
    };
    let Some((_, _, run)) = COMMANDS.iter().find(|c| c.0 == name) else {
        help();
        let asked_for_help = matches!(name.as_str(), "help" | "--help" | "-h");
        return std::process::ExitCode::from(if asked_for_help { 0 } else { 2 });
    };
    let begun = std::time::Instant::now();
    let result = Args::parse(argv).and_then(|args| run(&args));
    let took = begun.elapsed().as_secs_f64();
    match result {
        Ok(()) => {
            println!("\nPASS {name} ({took:.1} s)");
            std::process::ExitCode::SUCCESS
        }
        Err(why) => {
            println!("\nFAIL {name} ({took:.1} s): {why}");
            std::process::ExitCode::FAILURE
        }
    }
}
