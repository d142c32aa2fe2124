//! A sample of the damage under a running server: statements fail by name, the server and the other tables do not.

use super::content::{QUESTIONS, TABLES};
use super::fixture::Fixture;
use super::trial::{Case, Ended, Verdict, copy_directory, judge, short};
use harness::client::{Conn, Fault};
use harness::server::{Kind, Setup};
use harness::step::Outcome;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

/// Starts a server on every `each`th case.
pub fn some(
    fixture: &Fixture,
    cases: &[(&'static str, Case)],
    each: usize,
    dir: &Path,
) -> Outcome<()> {
    let dir = dir.join(format!("served-{}", fixture.name));
    std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let setup = Setup::new(Kind::Tidemill, &dir)?
        .option("innodb-buffer-pool-size=5M")
        .option("innodb-lock-wait-timeout=3")
        .redo_capacity("32M");
    let mut tried = 0;
    let mut failed = Vec::new();
    for (_, case) in cases.iter().skip(each / 2).step_by(each) {
        tried += 1;
        let _ = std::fs::remove_file(&setup.log);
        copy_directory(&fixture.datadir, &setup.datadir)?;
        case.damage.apply(&setup.datadir.join(&case.file))?;
        if let Err(why) = one(fixture, case, &setup) {
            println!(
                "    FAILED under a server: {} {:?}, {}: {why}",
                case.file, case.damage, case.place
            );
            failed.push(case.file.clone());
        }
    }
    println!(
        "    {}: {tried} of them under a running server",
        fixture.name
    );
    match failed.len() {
        0 => Ok(()),
        n => Err(format!("{n} cases under a server")),
    }
}

fn one(fixture: &Fixture, case: &Case, setup: &Setup) -> Outcome<()> {
    let mut server = setup.spawn()?;
    let started = server.wait_ready(Duration::from_secs(30));
    let name = setup.datadir.display().to_string();
    if let Err(why) = started {
        let text = why.replace(&name, "DIR");
        // What the program answers with when a directory cannot be opened.
        let status = ExitStatus::from_raw(2 << 8);
        return judge(&Ended { status, text }, &case.rule, &fixture.book).map(drop);
    }
    let mut conn = server.connect()?;
    let ended = Ended {
        status: ExitStatus::default(),
        text: asked(conn.as_mut())?,
    };
    let verdict = judge(&ended, &case.rule, &fixture.book)
        .map_err(|why| format!("{why}\n{}", short(&ended.text)))?;
    for (table, name) in TABLES.iter().enumerate() {
        let may_fail = case.rule.table == Some(table) || !case.rule.words.is_empty();
        let may_wait = may_fail || verdict == Verdict::Named;
        written(conn.as_mut(), name, may_fail, may_wait)?;
    }
    if verdict == Verdict::Named
        && let Some(table) = case.rule.table
    {
        let sql = format!("DROP TABLE d.{}", TABLES[table]);
        conn.run(&sql).map_err(|e| format!("{sql}: {e}"))?;
    }
    drop(conn);
    server.must_run()?;
    server.terminate()
}

/// The questions, in the form that the shell gives the answers.
fn asked(conn: &mut dyn Conn) -> Outcome<String> {
    let mut text = String::new();
    let mut ask = |sql: &str| -> Outcome<()> {
        match conn.run(sql) {
            Ok(rows) => {
                for row in rows {
                    text.push_str(&row.join("\t"));
                    text.push('\n');
                }
                Ok(())
            }
            Err(Fault::Server {
                code,
                state,
                text: t,
            }) => {
                text.push_str(&format!("ERROR {code} ({state}): {t}\n"));
                Ok(())
            }
            Err(lost) => Err(format!("{sql:.80}: {lost}")),
        }
    };
    for (n, (_, question)) in QUESTIONS.iter().enumerate() {
        ask(&format!("SELECT 'mark|{n}'"))?;
        ask(question)?;
    }
    ask("SELECT 'mark|end'")?;
    for table in TABLES {
        ask(&format!("CHECK TABLE d.{table}"))?;
    }
    Ok(text)
}

/// Writes to a table: all of it must succeed, or fail by name where the table is the damaged one. Where damage was named,
/// rows of any table may be locked by a transaction that needs the damaged one for its rollback (`may_wait`).
fn written(conn: &mut dyn Conn, table: &str, may_fail: bool, may_wait: bool) -> Outcome<()> {
    let statements = [
        format!("UPDATE d.{table} SET version = version + 1 WHERE id < 40"),
        format!("DELETE FROM d.{table} WHERE id > 5 AND id < 60"),
        match table {
            "numbers" => {
                format!("INSERT INTO d.{table} SELECT id + 100000, 1, 1, 'x' FROM d.still")
            }
            "texts" => format!(
                "INSERT INTO d.{table} SELECT id + 100000, 1, REPEAT('x', 30000) FROM d.still"
            ),
            "names" => {
                format!("INSERT INTO d.{table} SELECT CONCAT('x', id), id + 100000, 1 FROM d.still")
            }
            _ => format!("INSERT INTO d.{table} SELECT id + 100000, 1, 'x' FROM d.still"),
        },
    ];
    for sql in statements {
        match conn.run(&sql) {
            Ok(_) => {}
            // The table that is selected from may be the damaged one.
            Err(Fault::Server { text, .. })
                if text.contains("is damaged") && (may_fail || text.contains("d.still")) => {}
            Err(Fault::Server {
                code: 1205, text, ..
            }) if may_wait && text.contains("is damaged") => {}
            Err(fault) => return Err(format!("{sql}: {fault}")),
        }
    }
    Ok(())
}
