//! Asking: every question on every side, the sides in turn.

use super::answers::{self, Answer, Whose};
use super::loaded::{Dataset, Loaded};
use super::report::{self, Said};
use super::side::{AskedSide, Told};
use super::{Asking, WHOS};
use crate::peers::Who;
use harness::install;
use harness::scratch::Scratch;
use harness::step::{self, Outcome};
use std::time::Duration;

/// A query with a name.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    /// What it is chosen by.
    pub(crate) name: String,
    /// Its text.
    pub(crate) sql: String,
    /// The right answer, where it is known; otherwise the sides are held to each other.
    pub(crate) judge: Option<RightAnswer>,
}

/// A right answer.
#[derive(Debug, Clone)]
pub(crate) struct RightAnswer {
    /// Whose it is.
    pub(crate) name: &'static str,
    /// The answer.
    pub(crate) answer: Answer,
    /// By which share numbers with a fraction may differ from it.
    pub(crate) relative: f64,
}

/// Questions of these names and texts.
pub(crate) fn questions(all: Vec<(String, String)>) -> Vec<Question> {
    let one = |(name, sql)| Question {
        name,
        sql,
        judge: None,
    };
    all.into_iter().map(one).collect()
}

/// Asks the questions that are wanted of the sides that are wanted, prints and writes what came of it.
///
/// # Errors
/// A server that did not run, a wrong answer, or none where MariaDB has one.
pub(crate) fn ask_all(
    title: &str,
    data: &Dataset,
    questions: &[Question],
    options: &Asking,
) -> Outcome<()> {
    let questions = chosen(questions, &options.queries)?;
    let whole = options.whole()?;
    install::peers(false)?;
    let cache = options.cache()?;
    let scratch = Scratch::new("questions")?;
    // All is loaded before a server runs that is asked.
    let mut loaded = Vec::new();
    for who in options.whos()? {
        loaded.push((who, Loaded::of(who, data, &cache, options.reload)?));
    }
    let mut sides = Vec::new();
    for (who, loaded) in loaded {
        let dir = scratch.path().join(who.name());
        loaded.copy_to(&dir)?;
        sides.push(AskedSide::start(who, &dir)?);
    }
    for side in &sides {
        if !data.stale() {
            // Of this server's kind, whichever one has loaded them.
            side.analyze(&data.tables())?;
        }
        println!("    {}: {}", side.who.name(), side.version()?);
    }
    step::announce(title);
    println!("{}", report::HEAD);
    let mut all = Vec::new();
    for question in &questions {
        let said = ask(question, &mut sides, options)?;
        println!("{}", said.line(options.timeout));
        for line in &said.explained {
            println!("        {line}");
        }
        all.push(said);
    }
    if options.runs > 1 {
        look_again(&questions, &mut sides, &mut all)?;
    }
    for side in sides {
        side.stop()?;
    }
    report::end(title, &data.name, &all, options, whole)
}

/// The questions of these names, in the order in which they are listed.
fn chosen(all: &[Question], names: &[String]) -> Outcome<Vec<Question>> {
    let bare = |name: &str| name.trim_start_matches(['q', 'Q']).to_owned();
    let is = |question: &Question, name: &String| bare(&question.name) == bare(name);
    if let Some(name) = names.iter().find(|n| !all.iter().any(|q| is(q, n))) {
        return Err(format!("there is no query '{name}'"));
    }
    let wanted = |q: &&Question| names.is_empty() || names.iter().any(|n| is(q, n));
    Ok(all.iter().filter(wanted).cloned().collect())
}

/// The longest that EXPLAIN may take.
const EXPLAINS_IN: Duration = Duration::from_secs(20);

/// Runs of what is so short that chance shows: see [`Said::short`].
const SHORT_RUNS: usize = 5;

fn ask(question: &Question, sides: &mut [AskedSide], options: &Asking) -> Outcome<Said> {
    let mut said = Said::of(&question.name);
    let mut answers: [Option<Answer>; WHOS.len()] = [None, None];
    for turn in 0.. {
        if turn >= options.runs.max(1) && (turn >= SHORT_RUNS || !said.short()) {
            break;
        }
        for at in 0..sides.len() {
            // The side that was second is first the next time.
            let at = match turn % 2 {
                0 => at,
                _ => sides.len() - 1 - at,
            };
            let side = &mut sides[at];
            let place = place(side.who);
            if turn > 0 && answers[place].is_none() {
                continue;
            }
            if side.who == Who::Tidemill && options.runs > 1 {
                let (plan, _) = side.plan(&question.sql, EXPLAINS_IN)?;
                said.plan(plan);
            }
            match side.ask(&question.sql, options.limit())? {
                (seconds, Told::Rows(answer)) => {
                    said.took(place, seconds);
                    // Of the same server the same answer each time.
                    if let Some(before) = &answers[place]
                        && let Some(why) =
                            answers::difference(&question.sql, before, &answer, Whose::MARIADB)
                    {
                        said.wrong(&format!("{} at the second time: {why}", side.who.name()));
                    }
                    answers[place] = Some(answer);
                }
                (_, Told::Error(why)) => said.failed(place, &why),
                (_, Told::Over) => said.over(place),
            }
        }
    }
    let judged = match (&question.judge, &answers) {
        (Some(judge), [Some(ours), _]) => {
            let whose = Whose {
                name: judge.name,
                relative: judge.relative,
            };
            Some((ours, &judge.answer, whose))
        }
        (None, [Some(ours), Some(theirs)]) => Some((ours, theirs, Whose::MARIADB)),
        _ => None,
    };
    if let Some((ours, right, whose)) = judged {
        match answers::difference(&question.sql, ours, right, whose) {
            Some(why) => said.wrong(&why),
            None => said.right(ours.rows.len()),
        }
    }
    if options.explain && said.wants_explaining() {
        for side in sides {
            said.explained.push(format!("-- {}", side.who.name()));
            let (_, lines) = side.plan(&question.sql, EXPLAINS_IN)?;
            said.explained.extend(lines);
        }
    }
    Ok(said)
}

/// Plans must be the same when all has run, and when the server has been started again.
fn look_again(questions: &[Question], sides: &mut [AskedSide], all: &mut [Said]) -> Outcome<()> {
    for side in sides.iter_mut().filter(|s| s.who == Who::Tidemill) {
        for again in [false, true] {
            if again {
                side.restart()?;
            }
            for (question, said) in questions.iter().zip(all.iter_mut()) {
                let (plan, _) = side.plan(&question.sql, EXPLAINS_IN)?;
                said.plan(plan);
            }
        }
    }
    Ok(())
}

fn place(who: Who) -> usize {
    WHOS.iter().position(|w| *w == who).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_chosen_by_name() {
        let all = ["q1", "q2", "q11"].map(|name| Question {
            name: name.to_owned(),
            sql: String::new(),
            judge: None,
        });
        let names = |wanted: &[&str]| {
            let wanted: Vec<String> = wanted.iter().map(|w| (*w).to_owned()).collect();
            chosen(&all, &wanted).map(|q| q.into_iter().map(|q| q.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap().len(), 3);
        assert_eq!(names(&["11", "Q1"]).unwrap(), ["q1", "q11"]);
        assert!(names(&["3"]).is_err());
    }
}
