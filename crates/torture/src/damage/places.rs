//! Where the damage is done: for each file of a directory the places worth trying, and what may come of each.

use super::content::{COMPRESSED, TABLES};
use super::fixture::Fixture;
use super::layout::{self, PAGE, SEGMENT_HEADER, SLOT};
use super::trial::{Case, Damage, Rule};
use harness::rng::Rng;
use harness::step::Outcome;

/// Which kind a file is; none for one that holds nothing.
pub fn kind_of(file: &str) -> Option<&'static str> {
    Some(match file {
        "log/control" => "control",
        "log/doublewrite" => "doublewrite",
        "auto.cnf" => "auto.cnf",
        "data/catalog.tdb" => "catalog",
        _ if file.starts_with("log/") => "log",
        _ if file.starts_with("data/mysql/") => "accounts",
        _ if file.ends_with(".tdb") => "tablespace",
        _ => return None,
    })
}

fn stem(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.strip_suffix(".tdb").unwrap_or(name)
}

impl Fixture {
    fn all(&self) -> usize {
        self.book.transactions()
    }

    /// Nothing may come of it.
    fn harmless(&self) -> Rule {
        Rule {
            states: vec![self.all()],
            refused: Vec::new(),
            table: None,
            words: Vec::new(),
        }
    }

    /// Everything is there, or the start is refused with one of these words.
    fn or_refused(&self, words: &[&str]) -> Rule {
        Rule {
            refused: words.iter().map(|w| (*w).to_owned()).collect(),
            ..self.harmless()
        }
    }

    /// What may come of damage to a whole file of this name.
    fn rule_of(&self, file: &str) -> Rule {
        match kind_of(file) {
            Some("control") => self.or_refused(&["log/control"]),
            Some("catalog") => self.or_refused(&["catalog"]),
            Some("accounts") => Rule {
                words: Vec::new(),
                ..self.or_refused(&[&format!("mysql.{}", stem(file)), &format!("DIR/{file}")])
            },
            Some("tablespace") => Rule {
                table: TABLES.iter().position(|t| *t == stem(file)),
                ..self.harmless()
            },
            _ => self.harmless(),
        }
    }

    /// What may come of it if the log is not read on from this position.
    ///
    /// Behind the last commit but one, damage cannot be told from a record that the kill cut off. Everything in front
    /// of it was synced before something behind it was written, so that its loss can be known, and must be told.
    pub fn rule_at(&self, at: u64) -> Outcome<Rule> {
        let control = &self.log.control;
        let words = ["log segment"];
        if at < control.redo {
            // Read for old versions and rollbacks alone.
            let words = ["Log record", "log record", "log segment"];
            return Ok(Rule {
                words: words.iter().map(|w| (*w).to_owned()).collect(),
                ..self.or_refused(&words)
            });
        }
        if at >= self.log.end() {
            return Ok(self.harmless());
        }
        let commits = self.commits()?;
        let lost = commits.iter().filter(|c| c.end > at).count();
        if lost > 1 || at <= control.checkpoint {
            return Ok(Rule {
                states: Vec::new(),
                ..self.or_refused(&words)
            });
        }
        Ok(Rule {
            states: vec![self.all() - lost],
            ..self.or_refused(&words)
        })
    }

    /// The commits of the transactions that are counted, and that of the definition change behind them.
    pub fn commits(&self) -> Outcome<Vec<layout::Record>> {
        let mut commits = self.log.last_commits(0)?;
        if self.name != "clean" {
            commits = self.log.last_commits(self.all() + self.behind())?;
            commits.truncate(self.all());
        }
        Ok(commits)
    }

    /// Commits behind those that are counted.
    fn behind(&self) -> usize {
        usize::from(matches!(self.name, "killed" | "busy"))
    }
}

/// One bit of a byte.
fn flip(file: &str, at: u64, place: String, rule: Rule, rng: &mut Rng) -> Case {
    let bit = rng.below(8) as u8;
    Case {
        file: file.to_owned(),
        damage: Damage::Flip { at, bit },
        place,
        rule,
    }
}

/// The cases for the file, systematic ones and at most `random` random ones a part of it.
pub fn of_file(
    fixture: &Fixture,
    file: &str,
    len: u64,
    random: u64,
    rng: &mut Rng,
) -> Outcome<Vec<Case>> {
    let mut cases = Vec::new();
    match kind_of(file) {
        Some("control") => of_control(fixture, file, random, rng, &mut cases),
        Some("catalog" | "accounts" | "tablespace") => {
            of_pages(fixture, file, len, random, rng, &mut cases)?;
        }
        Some("log") => of_segment(fixture, file, len, random, rng, &mut cases)?,
        Some("doublewrite") => {
            for _ in 0..random * 4 {
                let at = rng.below(len);
                cases.push(flip(
                    file,
                    at,
                    "anywhere".to_owned(),
                    fixture.harmless(),
                    rng,
                ));
            }
        }
        Some("auto.cnf") => {
            for at in 0..len {
                let place = format!("byte {at}");
                cases.push(flip(file, at, place, fixture.harmless(), rng));
            }
        }
        _ => {}
    }
    whole(fixture, file, len, &mut cases);
    Ok(cases)
}

/// The file cut short, or gone. The log's cuts are a matter of their own.
fn whole(fixture: &Fixture, file: &str, len: u64, cases: &mut Vec<Case>) {
    if matches!(kind_of(file), None | Some("log")) {
        return;
    }
    let mut rule = fixture.rule_of(file);
    if kind_of(file) == Some("control") {
        // A directory without it is not told from one whose making was cut short, but by the tables in it.
        rule = fixture.or_refused(&["log/control"]);
    }
    let damages = [
        ("empty", Damage::Cut { to: 0 }),
        ("half of it", Damage::Cut { to: len / 2 }),
        ("all but a byte", Damage::Cut { to: len - 1 }),
        ("wiped", Damage::Wipe { from: 0 }),
        ("half wiped", Damage::Wipe { from: len / 2 }),
        ("gone", Damage::Gone),
    ];
    for (place, damage) in damages {
        cases.push(Case {
            file: file.to_owned(),
            damage,
            place: place.to_owned(),
            rule: rule.clone(),
        });
    }
}

fn of_control(fixture: &Fixture, file: &str, random: u64, rng: &mut Rng, cases: &mut Vec<Case>) {
    for slot in 0..2 {
        let which = if slot == fixture.log.control.slot {
            "the newer slot"
        } else {
            "the older slot"
        };
        let known = (0..104).chain(SLOT as u64 - 4..SLOT as u64);
        let other: Vec<u64> = (0..random)
            .map(|_| 104 + rng.below(SLOT as u64 - 108))
            .collect();
        for at in known.chain(other) {
            let place = format!("{which}, byte {at}");
            let at = (slot * SLOT) as u64 + at;
            let rule = fixture.or_refused(&["log/control"]);
            cases.push(flip(file, at, place, rule, rng));
        }
    }
}

fn of_pages(
    fixture: &Fixture,
    file: &str,
    len: u64,
    random: u64,
    rng: &mut Rng,
    cases: &mut Vec<Case>,
) -> Outcome<()> {
    let rule = fixture.rule_of(file);
    if COMPRESSED.contains(&stem(file)) {
        of_packed(file, len, random, &rule, rng, cases);
        return Ok(());
    }
    for (kind, pages) in layout::pages(&fixture.datadir.join(file))? {
        let words = match kind {
            0 => "a free page",
            1 => "the map page",
            2 => "an inner node",
            3 => "a leaf",
            4 => "an overflow page",
            _ => "a page never written",
        };
        // The first of each kind, and a few others.
        let mut some = vec![pages[0]];
        for _ in 0..random.div_ceil(8).min(pages.len() as u64 - 1) {
            some.push(pages[rng.below(pages.len() as u64) as usize]);
        }
        for page in some {
            // Header, then what describes the rest of the page; a byte in eight of pages with nothing in them.
            let step = if kind == 0 || kind == 255 { 8 } else { 1 };
            let known = (0..112).step_by(step);
            let other: Vec<u64> = (0..random)
                .map(|_| 112 + rng.below(PAGE as u64 - 112))
                .collect();
            for at in known.chain(other) {
                let place = format!("{words} ({page}), byte {at}");
                let at = u64::from(page) * PAGE as u64 + at;
                cases.push(flip(file, at, place, rule.clone(), rng));
            }
        }
    }
    Ok(())
}

/// A compressed table's file: the slots of its roots, and whatever lies behind them.
fn of_packed(file: &str, len: u64, random: u64, rule: &Rule, rng: &mut Rng, cases: &mut Vec<Case>) {
    const SLOTS: u64 = 2 * 4096;
    for slot in 0..2 {
        let known = 0..160;
        let other: Vec<u64> = (0..random).map(|_| rng.below(SLOTS / 2)).collect();
        for at in known.chain(other) {
            let place = format!("root slot {slot}, byte {at}");
            cases.push(flip(file, slot * SLOTS / 2 + at, place, rule.clone(), rng));
        }
    }
    for _ in 0..random * 16 {
        let at = SLOTS + rng.below(len.saturating_sub(SLOTS).max(1));
        if at < len {
            cases.push(flip(file, at, "anywhere".to_owned(), rule.clone(), rng));
        }
    }
}

fn of_segment(
    fixture: &Fixture,
    file: &str,
    len: u64,
    random: u64,
    rng: &mut Rng,
    cases: &mut Vec<Case>,
) -> Outcome<()> {
    let log = &fixture.log;
    let named = log
        .segments
        .iter()
        .find(|(_, name)| file.ends_with(name.as_str()));
    let Some((number, _)) = named else {
        return Ok(());
    };
    let header = fixture.or_refused(&["log segment"]);
    for at in 0..64 {
        let place = format!("header, byte {at}");
        cases.push(flip(file, at, place, header.clone(), rng));
    }
    if fixture.name == "clean" {
        // Nothing of it is needed but that it ends where it was closed.
        for _ in 0..random * 4 {
            let at = SEGMENT_HEADER + rng.below(len - SEGMENT_HEADER);
            let rule = match log.position(*number, at) {
                Some(p) if p >= log.end() => fixture.harmless(),
                _ => header.clone(),
            };
            cases.push(flip(file, at, "anywhere".to_owned(), rule, rng));
        }
        return Ok(());
    }
    let mut spots: Vec<(u64, String)> = Vec::new();
    let here: Vec<&layout::Record> = log
        .records
        .iter()
        .filter(|r| log.place(r.start).is_some_and(|p| p.0 == file))
        .collect();
    let last = here.len().saturating_sub(12);
    for (n, record) in here.iter().enumerate() {
        // The header of some, every byte of the last ones.
        let (at, kind) = (record.start, record.kind);
        if n >= last {
            for i in 0..(record.end - at).min(48) {
                spots.push((
                    at + i,
                    format!("byte {i} of one of the last records, kind {kind}"),
                ));
            }
        } else if rng.below(here.len() as u64) < random.max(4) {
            for i in 0..32 {
                spots.push((at + i, format!("byte {i} of a record of kind {kind}")));
            }
        }
    }
    for _ in 0..random * 8 {
        let at = SEGMENT_HEADER + rng.below(len - SEGMENT_HEADER);
        if let Some(position) = log.position(*number, at) {
            spots.push((position, "anywhere".to_owned()));
        }
    }
    for (position, place) in spots {
        let skipped = position < log.end() && position > log.control.redo && !log.holds(position);
        let rule = match skipped {
            true => fixture.harmless(),
            false => fixture.rule_at(position)?,
        };
        if let Some((inside, at)) = log.place(position)
            && inside == file
        {
            cases.push(flip(file, at, format!("{place} at {position}"), rule, rng));
        }
    }
    Ok(())
}
