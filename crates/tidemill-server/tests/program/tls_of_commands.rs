//! `backup`, `replica`, `promote` and `rejoin` over TLS: servers that demand it, authorities that are not theirs, certificates that a client shows.

use super::{LONGEST, Program};
use harness::client::Conn;
use harness::scratch::Scratch;
use harness::server::Setup;
use harness::step::{self, Outcome};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Runs the program; it must succeed where no word is named that it has to say.
fn run(arguments: &[String], refused: Option<&str>) -> Outcome<()> {
    let mut tidemill = Command::new(env!("CARGO_BIN_EXE_tidemill"));
    let said = step::quietly_within(tidemill.args(arguments), LONGEST)?;
    let right = match refused {
        None => said.success,
        Some(word) => !said.success && said.text.contains(word),
    };
    match right {
        true => Ok(()),
        false => Err(format!(
            "{arguments:?}: success {}, not {refused:?}\n{}",
            said.success, said.text
        )),
    }
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn ask(conn: &mut dyn Conn, sql: &str) -> Outcome<Vec<Vec<String>>> {
    conn.run(sql).map_err(|e| format!("{sql}: {e}"))
}

/// A server with a binary log and certificates of its own, which nobody speaks to in the open over TCP.
fn demanding(name: &str, server_id: u32) -> Outcome<(Setup, Scratch)> {
    let scratch = Scratch::new(&format!("program-{name}"))?;
    let setup = Setup::tidemill(Path::new(env!("CARGO_BIN_EXE_tidemill")), scratch.path())?
        .without("auto-generate-certs")
        .option("log-bin=binlog")
        .option(&format!("server-id={server_id}"))
        .option("gtid-mode=ON")
        .option("enforce-gtid-consistency=ON")
        .option("require-secure-transport=ON")
        .option("innodb-buffer-pool-size=32M");
    Ok((setup, scratch))
}

fn file(setup: &Setup, name: &str) -> String {
    setup.datadir.join(name).display().to_string()
}

#[test]
fn commands_speak_tls_as_mysqls_clients_do() -> Outcome<()> {
    let (source, folder) = demanding("tls-source", 1)?;
    let (other, _folder) = demanding("tls-other", 2)?;
    let server = source.start()?;
    let elsewhere = other.start()?;
    let mut conn = server.connect()?;
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (a INT PRIMARY KEY)",
        "INSERT INTO d.t VALUES (1), (2)",
        "CREATE USER shows IDENTIFIED BY 'p' REQUIRE X509",
        "GRANT ALL ON *.* TO shows",
        "CREATE USER repl IDENTIFIED BY 'secret' REQUIRE SSL",
        "GRANT REPLICATION SLAVE ON *.* TO repl",
    ] {
        ask(&mut *conn, sql)?;
    }
    backups(&source, &other, folder.path())?;
    let (own, foreign) = (file(&source, "ca.pem"), file(&other, "ca.pem"));

    // A replica goes on as it was made: over TLS.
    let below = folder.path().join("replica");
    std::fs::create_dir_all(&below).map_err(|e| e.to_string())?;
    let mut replica = Setup::tidemill(Path::new(env!("CARGO_BIN_EXE_tidemill")), &below)?;
    for option in source.options() {
        replica = replica.option(option.trim_start_matches("--"));
    }
    let replica = replica.without("auto-generate-certs").option("server-id=3");
    let datadir = replica.datadir.display();
    let of = format!(
        "replica --of=127.0.0.1:{} --user=root --datadir={datadir}",
        source.port
    );
    let account = "--replication-user=repl --replication-password=secret";
    run(
        &words(&format!("{of} --ssl-ca={foreign} {account}")),
        Some("SSL connection error"),
    )?;
    let _ = std::fs::remove_dir_all(&replica.datadir);
    let verified = format!("{of} --ssl-mode=VERIFY_IDENTITY --ssl-ca={own} {account}");
    run(&words(&verified), None)?;
    let follower = replica.start()?;
    let mut there = follower.connect()?;
    ask(&mut *conn, "INSERT INTO d.t VALUES (3)")?;
    let until = Instant::now() + Duration::from_secs(30);
    while ask(&mut *there, "SELECT COUNT(*) FROM d.t")? != [["3"]] {
        if Instant::now() > until {
            return Err(format!("{:?}", ask(&mut *there, "SHOW REPLICA STATUS")?));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let tls = "SELECT ssl_allowed, ssl_verify_server_certificate FROM performance_schema.replication_connection_configuration";
    if ask(&mut *there, tls)? != [["YES", "YES"]] {
        return Err("the replica does not say that it uses TLS".to_owned());
    }

    failover(
        (&source, &mut *conn),
        (&replica, &mut *there),
        &foreign,
        folder.path(),
    )?;
    drop((conn, there));
    follower.terminate()?;
    elsewhere.terminate()?;
    server.terminate()
}

#[test]
fn a_server_without_tls_is_refused_where_it_is_required() -> Outcome<()> {
    let program = Program::new("no-tls")?;
    let server = program.start()?;
    let to = program.setup.datadir.with_extension("backup");
    let at = format!(
        "backup --server=127.0.0.1:{} --user=root",
        program.setup.port
    );
    let required = format!("{at} --ssl-mode=REQUIRED --to={}", to.display());
    run(
        &words(&required),
        Some("SSL is required but the server doesn't support it"),
    )?;
    run(&words(&format!("{at} --to={}", to.display())), None)?;
    server.terminate()
}

fn backups(source: &Setup, other: &Setup, folder: &Path) -> Outcome<()> {
    let (own, foreign) = (file(source, "ca.pem"), file(other, "ca.pem"));
    let (cert, key) = (
        file(source, "client-cert.pem"),
        file(source, "client-key.pem"),
    );
    let to = |name: &str| folder.join(name).display().to_string();
    let at = format!("backup --server=127.0.0.1:{} --user=root", source.port);
    let shows = format!(
        "backup --server=127.0.0.1:{} --user=shows --password=p",
        source.port
    );
    for (n, (line, refused)) in [
        (format!("{at} --ssl-mode=DISABLED"), Some("3159")),
        // As MySQL's clients: TLS where it is to be had.
        (at.clone(), None),
        (format!("{at} --ssl-mode=REQUIRED"), None),
        (format!("{at} --ssl-ca={own}"), None),
        (
            format!("{at} --ssl-mode=VERIFY_IDENTITY --ssl-ca={own}"),
            None,
        ),
        (
            format!("{at} --ssl-ca={foreign}"),
            Some("SSL connection error"),
        ),
        // Nobody has asked for a certificate that comes from there.
        (format!("{at} --ssl-mode=REQUIRED --ssl-ca={foreign}"), None),
        (format!("{at} --ssl-ca=/nowhere.pem"), Some("/nowhere.pem")),
        (format!("{at} --ssl-mode=VERIFY_CA"), Some("--ssl-ca")),
        (format!("{at} --ssl-mode=ON"), Some("--ssl-mode")),
        (shows.clone(), Some("1045")),
        (format!("{shows} --ssl-cert={cert} --ssl-key={key}"), None),
    ]
    .into_iter()
    .enumerate()
    {
        let mut arguments = words(&line);
        arguments.push(format!("--to={}", to(&format!("backup-{n}"))));
        run(&arguments, refused)?;
    }
    let socket = format!("--server={}", source.socket.display());
    let over_socket = words(&format!(
        "backup {socket} --ssl-mode=REQUIRED --to=/nowhere"
    ));
    run(&over_socket, Some("Unix socket"))
}

/// The replica is made the source, and the old source follows it.
fn failover(
    (source, old): (&Setup, &mut dyn Conn),
    (replica, new): (&Setup, &mut dyn Conn),
    foreign: &str,
    folder: &Path,
) -> Outcome<()> {
    let promote = format!(
        "promote --replica=127.0.0.1:{} --wait=20 --connect-timeout=5000",
        replica.port
    );
    run(
        &words(&format!("{promote} --ssl-mode=DISABLED")),
        Some("3159"),
    )?;
    run(
        &words(&format!("{promote} --ssl-ca={foreign}")),
        Some("SSL connection error"),
    )?;
    // Of several sources it is not known which has ended.
    ask(
        &mut *new,
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = 1 FOR CHANNEL 'other'",
    )?;
    let promote = words(&format!("{promote} --ssl-mode=REQUIRED"));
    run(&promote, Some("several sources"))?;
    ask(&mut *new, "RESET REPLICA ALL FOR CHANNEL 'other'")?;
    run(&promote, None)?;
    let rejoin = format!(
        "rejoin --server=127.0.0.1:{} --to=127.0.0.1:{} --wait=20 --connect-timeout=5000 --replication-user=repl",
        source.port, replica.port
    );
    let password = folder.join("password");
    std::fs::write(&password, "secret\n").map_err(|e| e.to_string())?;
    let rejoin = format!(
        "{rejoin} --replication-password-file={}",
        password.display()
    );
    run(
        &words(&format!("{rejoin} --ssl-mode=DISABLED")),
        Some("3159"),
    )?;
    run(
        &words(&format!("{rejoin} --replication-ssl --ssl-mode=REQUIRED")),
        None,
    )?;
    ask(&mut *new, "INSERT INTO d.t VALUES (4)")?;
    let until = Instant::now() + Duration::from_secs(30);
    while ask(&mut *old, "SELECT COUNT(*) FROM d.t")? != [["4"]] {
        if Instant::now() > until {
            return Err(format!("{:?}", ask(&mut *old, "SHOW REPLICA STATUS")?));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
