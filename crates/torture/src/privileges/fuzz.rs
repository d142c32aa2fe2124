//! Random accounts, roles, grants and revokes, and statements of the matrix tried in between.
//!
//! The [`World`] says what each session may do at each moment; the server must agree, at once and for sessions that were
//! open before. A run is repeated by its seed. Statements and rules are those of the matrix.

use super::data::Statement;
use super::judge::{self, Expected, Verdict, Wrong};
use super::matrix::{Fixture, Session};
use super::protocols::{Got, Protocol};
use super::world::World;
use harness::rng::Rng;
use harness::step::Outcome;
use std::collections::{BTreeSet, VecDeque};

/// An open session, and the roles that the model has active in it.
pub struct Open {
    pub session: Session,
    pub user: String,
    pub active: BTreeSet<String>,
}

/// What a run has done.
#[derive(Debug, Default)]
pub struct Done {
    /// Changes of accounts.
    pub changes: u64,
    /// Statements tried.
    pub tries: u64,
    /// Of these, refused as they must be.
    pub refused: u64,
}

/// A run.
pub struct Fuzz<'g, 's> {
    pub fixture: &'g mut Fixture<'s>,
    statements: &'g [Statement],
    pub rng: Rng,
    pub world: World,
    pub sessions: Vec<Open>,
    told: VecDeque<String>,
    pub names: u64,
    done: Done,
}

/// Makes so many steps.
pub fn run(
    fixture: &mut Fixture<'_>,
    statements: &[Statement],
    seed: u64,
    steps: u32,
) -> Outcome<Done> {
    let mut rng = Rng::new(seed);
    let world = World {
        partial_revokes: rng.one_in(2),
        ..World::default()
    };
    let mut fuzz = Fuzz {
        fixture,
        statements,
        rng,
        world,
        sessions: Vec::new(),
        told: VecDeque::new(),
        names: 0,
        done: Done::default(),
    };
    let result = fuzz.run(steps);
    let told: Vec<String> = fuzz.told.iter().map(|line| format!("    {line}")).collect();
    let undone = fuzz.end();
    result
        .map_err(|why| format!("{why}\nthe last steps:\n{}", told.join("\n")))
        .and(undone)?;
    Ok(fuzz.done)
}

impl Fuzz<'_, '_> {
    fn run(&mut self, steps: u32) -> Outcome<()> {
        let switch = match self.world.partial_revokes {
            true => "ON",
            false => "OFF",
        };
        self.root(&format!("SET GLOBAL partial_revokes = {switch}"))?;
        for _ in 0..steps {
            match self.rng.below(10) {
                0..3 => self.change()?,
                3 => self.set_role()?,
                _ => self.try_one()?,
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Outcome<()> {
        self.sessions.clear();
        self.fixture.root("SET GLOBAL mandatory_roles = ''")?;
        for name in self.world.accounts.keys() {
            self.fixture
                .root(&format!("DROP USER IF EXISTS {name}@localhost"))?;
        }
        for sql in [
            "SET GLOBAL activate_all_roles_on_login = OFF",
            "SET GLOBAL partial_revokes = OFF",
        ] {
            self.fixture.root(sql)?;
        }
        Ok(())
    }

    /// Takes down a step, for the report of a failure.
    pub fn note(&mut self, what: String) {
        if self.told.len() == 60 {
            self.told.pop_front();
        }
        self.told.push_back(what);
    }

    /// A statement of root's.
    pub fn root(&mut self, sql: &str) -> Outcome<()> {
        self.note(format!("root: {sql}"));
        self.done.changes += 1;
        self.fixture.root(sql)
    }

    /// A session, an old one or a new one.
    fn session(&mut self) -> Outcome<Option<usize>> {
        if self.sessions.len() < 8 || self.rng.one_in(20) {
            let users = self.world.names(false);
            let Some(user) = self.one_of(&users) else {
                return Ok(None);
            };
            let account = self.world.accounts[&user].clone();
            let session = self.fixture.session(&user, &account.password, &[]);
            self.note(format!("{user}: logs in"));
            match (session, account.locked) {
                (Err(_), true) => return Ok(None),
                (Ok(_), true) => return Err(format!("{user} is locked and logs in")),
                (Err(why), false) => return Err(why),
                (Ok(session), false) => {
                    if self.sessions.len() == 8 {
                        self.sessions.remove(0);
                    }
                    let active = self.world.at_login(&user);
                    self.sessions.push(Open {
                        session,
                        user,
                        active,
                    });
                }
            }
        }
        Ok(Some(self.rng.below(self.sessions.len() as u64) as usize))
    }

    fn set_role(&mut self) -> Outcome<()> {
        let Some(at) = self.session()? else {
            return Ok(());
        };
        let user = self.sessions[at].user.clone();
        let granted = self.world.granted(&user);
        let roles = self.world.names(true);
        let (what, allowed, active) = match self.rng.below(4) {
            0 => ("NONE".to_owned(), true, BTreeSet::new()),
            1 => ("ALL".to_owned(), true, granted),
            2 => ("DEFAULT".to_owned(), true, self.world.defaults(&user)),
            _ => match self.one_of(&roles) {
                Some(role) => (
                    format!("{role}@localhost"),
                    granted.contains(&role),
                    [role].into(),
                ),
                None => return Ok(()),
            },
        };
        let sql = format!("SET ROLE {what}");
        self.note(format!("{user}: {sql}"));
        match (self.sessions[at].session.query(&sql), allowed) {
            (Ok(()), true) => self.sessions[at].active = active,
            (Err(_), false) => {}
            (Ok(()), false) => return Err(format!("{user}: {sql}: the role is not granted")),
            (Err(why), true) => return Err(format!("{user}: {why}")),
        }
        Ok(())
    }

    /// One statement of the matrix, through one protocol.
    fn try_one(&mut self) -> Outcome<()> {
        let Some(at) = self.session()? else {
            return Ok(());
        };
        let statement = &self.statements[self.rng.below(self.statements.len() as u64) as usize];
        let open = &mut self.sessions[at];
        let held = self.world.effective(&open.user, &open.active);
        let expected = Expected::of(statement, &held);
        // What a session changes of itself would have to be modelled too.
        let of_itself = statement.sql.contains("SET ROLE") || statement.sql.contains("$u");
        let own = ["ALTER USER USER()", "SET PASSWORD ="]
            .iter()
            .any(|s| statement.sql.starts_with(s));
        let unlocks = statement.sql.starts_with("ALTER USER CURRENT_USER()");
        if of_itself || own || ((statement.refused_only || unlocks) && expected.allows()) {
            return Ok(());
        }
        let protocols = Protocol::of(&statement.sql, &statement.protocols);
        let protocol = protocols[self.rng.below(protocols.len() as u64) as usize];
        let got = self.fixture.cell(&mut open.session, statement, protocol);
        let verdict = judge::judge(statement, &held, &expected, &got);
        self.done.tries += 1;
        self.done.refused += u64::from(matches!(got, Got::Error(..)) && !expected.allows());
        let user = open.user.clone();
        let active = open.active.clone();
        self.note(format!(
            "{user}, roles {active:?}: [{}] by {}: {}",
            statement.name,
            protocol.name(),
            words(&got)
        ));
        match verdict {
            // Another error than MySQL's is the matrix's affair.
            Verdict::Fine | Verdict::Absent | Verdict::Wrong(Wrong::OtherError(_)) => Ok(()),
            Verdict::Wrong(wrong) => Err(format!(
                "{}: [{}] {} by {}, as {user} with roles {active:?} active: {}\nit holds {held:?}",
                wrong.word(),
                statement.name,
                statement.sql,
                protocol.name(),
                wrong.detail()
            )),
        }
    }
}

fn words(got: &Got) -> String {
    match got {
        Got::Fine(_) => "fine".to_owned(),
        Got::Error(code, _) => code.to_string(),
        Got::Lost(why) => why.clone(),
    }
}
