//! `cargo xtask crash --starts N`: kill -9 again and again, with a few acknowledged rows between, which is what a server that crashes at each
//! start goes through.
//!
//! No AUTO_INCREMENT value may be skipped or given twice, of a column for 127 values and of one for many, whatever became of the rows; none of
//! those may be lost; and the directory may at no time have more than the log's capacity and a fifth of it, though the kills come before a
//! checkpoint beside the statements can end.

use harness::client::Conn;
use harness::queries;
use harness::rng::Rng;
use harness::scratch::{self, Scratch};
use harness::server::{Kind, Setup};
use harness::step::{self, Outcome};
use std::time::Duration;

const MIB: u64 = 1 << 20;

/// What a series is made of.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// How many kills.
    pub starts: u32,
    /// The log's capacity in MiB.
    pub capacity_mib: u64,
    /// Where the chance comes from.
    pub seed: u64,
}

/// A table with a counter, and what must be in it.
struct Counted {
    name: &'static str,
    ty: &'static str,
    /// The next value.
    next: u64,
    /// Values that its type has.
    most: u64,
    there: Vec<u64>,
}

impl Counted {
    fn new(name: &'static str, ty: &'static str, most: u64) -> Counted {
        Counted {
            name,
            ty,
            next: 1,
            most,
            there: Vec::new(),
        }
    }

    fn run(&self, conn: &mut dyn Conn, sql: &str) -> Outcome<()> {
        conn.run(sql).map(drop).map_err(|e| format!("{sql}: {e}"))
    }

    fn create(&self, conn: &mut dyn Conn) -> Outcome<()> {
        let (name, ty) = (self.name, self.ty);
        let sql = format!(
            "CREATE TABLE starts.{name} (id {ty} NOT NULL AUTO_INCREMENT PRIMARY KEY, round INT NOT NULL)"
        );
        self.run(conn, &sql)
    }

    /// An acknowledged row, with the value that must be its.
    fn insert(&mut self, conn: &mut dyn Conn, round: u32) -> Outcome<()> {
        if self.next > self.most {
            self.begin_again(conn)?;
        }
        let name = self.name;
        self.run(
            conn,
            &format!("INSERT INTO starts.{name} (round) VALUES ({round})"),
        )?;
        let given = queries::number(conn, "SELECT LAST_INSERT_ID()")?;
        if given != self.next {
            return Err(format!("{name} gives {given}, and {} is next", self.next));
        }
        self.there.push(given);
        self.next += 1;
        Ok(())
    }

    /// The type has no more values: all rows go, and the counter back to the first.
    fn begin_again(&mut self, conn: &mut dyn Conn) -> Outcome<()> {
        let name = self.name;
        self.run(conn, &format!("DELETE FROM starts.{name}"))?;
        self.run(
            conn,
            &format!("ALTER TABLE starts.{name} AUTO_INCREMENT = 1"),
        )?;
        self.there.clear();
        self.next = 1;
        Ok(())
    }

    /// Some rows go, often the last one: the counter must not follow from them.
    fn delete(&mut self, conn: &mut dyn Conn, rng: &mut Rng) -> Outcome<()> {
        while !self.there.is_empty() && (self.there.len() > 40 || rng.one_in(2)) {
            let i = match rng.one_in(2) {
                true => self.there.len() - 1,
                false => rng.below(self.there.len() as u64) as usize,
            };
            let id = self.there.remove(i);
            let sql = format!("DELETE FROM starts.{} WHERE id = {id}", self.name);
            self.run(conn, &sql)?;
        }
        Ok(())
    }

    fn verify(&self, conn: &mut dyn Conn) -> Outcome<()> {
        let sql = format!("SELECT id FROM starts.{} ORDER BY id", self.name);
        let rows = conn.run(&sql).map_err(|e| format!("{sql}: {e}"))?;
        let found: Vec<u64> = rows
            .iter()
            .filter_map(|r| r.first()?.parse().ok())
            .collect();
        match found == self.there {
            true => Ok(()),
            false => Err(format!(
                "{} has {found:?}, and {:?} were acknowledged",
                self.name, self.there
            )),
        }
    }
}

/// Runs the plan to its end or to the first thing that is wrong.
pub fn run(plan: Plan) -> Outcome<()> {
    step::announce(&format!(
        "{} kills in a row, 3 rows between, a log of {} MiB, --seed {}",
        plan.starts, plan.capacity_mib, plan.seed
    ));
    let mut scratch = Scratch::new("starts")?;
    let result = series(plan, &scratch);
    if result.is_err() {
        scratch.keep();
    }
    result
}

fn series(plan: Plan, scratch: &Scratch) -> Outcome<()> {
    let setup = Setup::new(Kind::Tidemill, scratch.path())?
        .option("innodb-buffer-pool-size=32M")
        .redo_capacity(&format!("{}M", plan.capacity_mib));
    let mut rng = Rng::new(plan.seed);
    let mut tables = [
        Counted::new("tiny", "TINYINT", 127),
        Counted::new("big", "BIGINT", u64::MAX),
    ];
    let (mut most, mut slowest) = (0, Duration::ZERO);
    for round in 1..=plan.starts {
        let mut server = setup.spawn()?;
        slowest = slowest.max(server.wait_ready(Duration::from_secs(120))?);
        let done = server.connect().and_then(|mut conn| {
            let conn = conn.as_mut();
            if round == 1 {
                conn.run("CREATE DATABASE starts")
                    .map_err(|e| e.to_string())?;
                tables.iter().try_for_each(|t| t.create(conn))?;
            }
            tables.iter().try_for_each(|t| t.verify(conn))?;
            for i in [0, 1, rng.below(2) as usize] {
                tables[i].insert(conn, round)?;
            }
            tables.iter_mut().try_for_each(|t| t.delete(conn, &mut rng))
        });
        done.map_err(|why| server.with_log(&format!("start {round}: {why}")))?;
        server.kill9()?;
        most = most.max(scratch::size_of(&setup.datadir)?);
    }
    let mut server = setup.spawn()?;
    server.wait_ready(Duration::from_secs(120))?;
    let mut conn = server.connect()?;
    tables.iter().try_for_each(|t| t.verify(conn.as_mut()))?;
    drop(conn);
    server.terminate()?;
    setup.check_offline()?;
    let size = scratch::size_of(&setup.datadir)?;
    println!(
        "    {} kills: no value skipped, none given twice, all rows there; the directory has {} MiB, {} at most, of a log of {}; \
         slowest first query {} ms",
        plan.starts,
        size / MIB,
        most / MIB,
        plan.capacity_mib,
        slowest.as_millis()
    );
    let (had, most) = (size.max(most), plan.capacity_mib * MIB / 5 * 6);
    if had > most {
        let (had, most) = (had / MIB, most / MIB);
        return Err(format!("the directory had {had} MiB, more than {most}"));
    }
    Ok(())
}
