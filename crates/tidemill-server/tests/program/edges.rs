//! The program at its edges: options, a directory with two masters, files of clients, the shell, damage.

use super::{Program, are_installed};
use harness::client::Fault;
use harness::server::{Server, Setup};
use harness::step::{self, Outcome};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Bytes of a page on disk.
const PAGE: u64 = 16384;

#[test]
fn one_process_owns_a_directory() -> Outcome<()> {
    let program = Program::new("owner")?;
    let setup = &program.setup;
    let server = program.start()?;
    refused(setup, &[], "a second server on the same directory")?;
    if setup.check_offline().is_ok() {
        return Err("`tidemill check` runs on a directory that a server owns".to_owned());
    }
    server.terminate()?;
    setup.check_offline()
}

#[test]
fn a_discarded_table_is_not_damaged() -> Outcome<()> {
    let program = Program::new("discarded")?;
    let server = program.start()?;
    let mut conn = server.connect()?;
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY, v INT, KEY (v))",
        "INSERT INTO d.t VALUES (1, 1)",
        "ALTER TABLE d.t DISCARD TABLESPACE",
    ] {
        conn.run(sql).map_err(|e| format!("{sql}: {e}"))?;
    }
    server.terminate()?;
    program.setup.check_offline()
}

#[test]
fn options_are_obeyed_or_refused() -> Outcome<()> {
    let program = Program::new("options")?;
    let setup = &program.setup;
    let said = refused(setup, &["--no-such-option=1"], "an unknown option")?;
    if !said.contains("no-such-option") {
        return Err(format!(
            "an unknown option is refused without its name:\n{said}"
        ));
    }
    let file = setup.datadir.with_extension("cnf");
    std::fs::write(
        &file,
        "[mysqld]\ninnodb_lock_wait_timeout=17\nloose-no-such-option=1\ninnodb_default_row_format=COMPACT\n\
         innodb_default_key_block_size=8\ninnodb_compression_level=9\ninnodb_cmp_per_index_enabled\n",
    )
    .map_err(|e| format!("{}: {e}", file.display()))?;
    let from_file = setup
        .clone()
        .option(&format!("defaults-file={}", file.display()));
    let server = from_file.start()?;
    let read = ask(
        &server,
        "SELECT @@innodb_lock_wait_timeout, @@innodb_default_row_format, @@innodb_default_key_block_size, \
         @@innodb_compression_level, @@innodb_cmp_per_index_enabled",
    )?;
    if read != [["17", "compact", "8", "9", "1"]] {
        return Err(format!("options from a file became {read:?}"));
    }
    server.terminate()
}

/// The program `mariadb` sends it.
#[test]
fn load_data_takes_a_file_of_the_client() -> Outcome<()> {
    if !are_installed(&["mariadb"]) {
        return Ok(());
    }
    let program = Program::new("load")?;
    let setup = &program.setup;
    let server = &program.start()?;
    let file = setup.datadir.with_extension("txt");
    let rows: String = (0..20_000)
        .map(|i| format!("{i}\tname {i}\t\\N\n"))
        .collect();
    std::fs::write(&file, rows).map_err(|e| format!("{}: {e}", file.display()))?;
    ask(server, "SET GLOBAL local_infile = ON")?;
    ask(server, "CREATE DATABASE edges")?;
    ask(
        server,
        "CREATE TABLE edges.loaded (id INT PRIMARY KEY, name VARCHAR(20), a INT)",
    )?;
    let sql = format!(
        "LOAD DATA LOCAL INFILE '{}' INTO TABLE edges.loaded",
        file.display()
    );
    let mut load = Command::new("mariadb");
    load.arg(format!("--socket={}", setup.socket.display()));
    load.args(["--user=root", "--local-infile=1", "--execute", &sql]);
    step::must(&mut load)?;
    let found = ask(
        server,
        "SELECT COUNT(*), SUM(id), MAX(name), COUNT(a) FROM edges.loaded",
    )?;
    if found != [["20000", "199990000", "name 9999", "0"]] {
        return Err(format!("LOAD DATA LOCAL: {found:?}"));
    }
    // A file that is not there is the client's error, and the connection goes on.
    let text = "LOAD DATA LOCAL INFILE '/no/such/file' INTO TABLE edges.loaded; SELECT 1;";
    let mut load = Command::new("sh");
    load.args([
        "-c",
        &format!(
            "echo \"{text}\" | mariadb --socket={} --user=root --local-infile=1 --force",
            setup.socket.display()
        ),
    ]);
    let said = step::quietly(&mut load)?;
    if !said.text.contains("/no/such/file") || !said.text.lines().any(|l| l.trim() == "1") {
        return Err(format!("a file that is not there:\n{}", said.text));
    }
    Ok(())
}

/// SQL from standard input, on a directory that no server owns.
#[test]
fn the_shell_needs_no_server() -> Outcome<()> {
    let program = Program::new("shell")?;
    let setup = &program.setup;
    let mut child = Command::new(&setup.program)
        .arg("shell")
        .arg(format!("--datadir={}", setup.datadir.display()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("tidemill shell: {e}"))?;
    if let Some(mut input) = child.stdin.take() {
        input
            .write_all(
                b"CREATE DATABASE edges; USE edges;\nCREATE TABLE whole (id INT PRIMARY KEY);\n\
                  INSERT INTO whole VALUES (1), (2), (3);\nSELECT 6 * 7;\nSELECT COUNT(*) + 4000 FROM edges.whole;\n",
            )
            .map_err(|e| format!("tidemill shell: {e}"))?;
    }
    let said = child
        .wait_with_output()
        .map_err(|e| format!("tidemill shell: {e}"))?;
    let text = String::from_utf8_lossy(&said.stdout);
    if !said.status.success() || !text.contains("42") || !text.contains("4003") {
        return Err(format!(
            "tidemill shell: {}\n{text}{}",
            said.status,
            String::from_utf8_lossy(&said.stderr)
        ));
    }
    Ok(())
}

/// Starting with these options must fail; what the program said.
fn refused(setup: &Setup, more: &[&str], what: &str) -> Outcome<String> {
    let said = setup.try_start(more)?;
    if said.success {
        Err(format!("{what} is accepted"))
    } else if said.text.contains("panicked") {
        Err(format!("{what} makes it panic:\n{}", said.text))
    } else {
        Ok(said.text)
    }
}

fn ask(server: &Server, sql: &str) -> Outcome<Vec<Vec<String>>> {
    server
        .connect()?
        .run(sql)
        .map_err(|e| format!("{sql}: {e}"))
}

fn make_tables(server: &Server) -> Outcome<()> {
    let mut conn = server.connect()?;
    let mut run = |sql: &str| {
        conn.run(sql)
            .map(drop)
            .map_err(|e| format!("{sql:.80}: {e}"))
    };
    run("CREATE DATABASE edges")?;
    run("USE edges")?;
    for table in ["hurt", "whole", "packed"] {
        let format = if table == "packed" {
            "COMPRESSED"
        } else {
            "DYNAMIC"
        };
        run(&format!(
            "CREATE TABLE {table} (id INT PRIMARY KEY, pad VARCHAR(250)) ROW_FORMAT={format}"
        ))?;
        for first in (0..4000).step_by(500) {
            let values: Vec<String> = (first..first + 500)
                .map(|id| format!("({id}, REPEAT('{}', 200))", id % 10))
                .collect();
            run(&format!("INSERT INTO {table} VALUES {}", values.join(",")))?;
        }
    }
    Ok(())
}

/// Of a compressed table and of another: their rows are refused by name, every other table is served, nothing panics.
#[test]
fn damaged_tables_are_refused_by_name() -> Outcome<()> {
    let program = Program::new("damage")?;
    let setup = &program.setup;
    let server = program.start()?;
    make_tables(&server)?;
    server.terminate()?;
    setup.check_offline()?;
    for table in ["hurt", "packed"] {
        damage_table(setup, table)?;
    }
    Ok(())
}

fn damage_table(setup: &Setup, table: &str) -> Outcome<()> {
    let name = format!("{table}.tdb");
    let file = find(&setup.datadir, &name)?;
    let file = file.ok_or_else(|| format!("no file {name} in the data directory"))?;
    // Where packed pages lie, behind what says where each is: one in any unit of 512 bytes.
    let places = match table {
        "packed" => (8192 + 40, 512),
        _ => (4 * PAGE + PAGE / 2, PAGE),
    };
    spoil(&file, places).map_err(|e| format!("{}: {e}", file.display()))?;
    match setup.check_offline() {
        Ok(()) => return Err("`tidemill check` does not see a damaged file".to_owned()),
        Err(why) if why.contains("panicked") => return Err(why),
        Err(why) if !why.contains(table) => {
            return Err(format!(
                "`tidemill check` does not name the damaged table: {why}"
            ));
        }
        Err(_) => {}
    }
    let mut server = setup.start()?;
    let mut conn = server.connect()?;
    match conn.run(&format!("SELECT COUNT(pad) FROM edges.{table}")) {
        Err(Fault::Server { text, .. }) if text.contains(table) => {}
        other => {
            return Err(server.with_log(&format!("reading a damaged table gives {other:?}")));
        }
    }
    let whole = conn
        .run("SELECT COUNT(pad) FROM edges.whole")
        .map_err(|e| format!("the table beside the damaged one: {e}"))?;
    if whole != [["4000"]] {
        return Err(format!(
            "the table beside the damaged one has {whole:?} rows"
        ));
    }
    drop(conn);
    server.must_run()?;
    server.terminate()
}

/// Changes a byte at `first` and at each `step` behind it.
fn spoil(path: &Path, (first, step): (u64, u64)) -> std::io::Result<()> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let end = file.metadata()?.len();
    for at in (first..end).step_by(step as usize) {
        let mut byte = [0];
        file.read_exact_at(&mut byte, at)?;
        file.write_all_at(&[byte[0] ^ 0x55], at)?;
    }
    file.sync_all()
}

fn find(dir: &Path, name: &str) -> Outcome<Option<PathBuf>> {
    for entry in std::fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))? {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.is_dir() {
            if let Some(found) = find(&path, name)? {
                return Ok(Some(found));
            }
        } else if path.file_name().is_some_and(|n| n == name) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}
