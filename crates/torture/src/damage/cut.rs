//! The log cut at every byte of its end: what is left must be exactly the transactions whose commit is left as a whole.

use super::fixture::Fixture;
use super::trial::{Case, Damage, Rule};
use harness::step::Outcome;
use std::path::Path;

/// The cases: the last `bytes` of the log, every `step` bytes, cut off; and wiped, at every eighth of these.
pub fn cases(fixture: &Fixture, bytes: u64, step: u64) -> Outcome<Vec<Case>> {
    let log = &fixture.log;
    let commits = fixture.commits()?;
    let mut cases = Vec::new();
    let from = log.end().saturating_sub(bytes).max(log.control.checkpoint);
    let ends = log.records.iter().flat_map(|r| [r.start, r.end]);
    let edges = ends.flat_map(|e| [e.saturating_sub(1), e, e + 1]);
    let mut places: Vec<u64> = (from..=log.end() + 8).step_by(step as usize).collect();
    places.extend(edges.filter(|e| *e >= from && step > 1));
    places.sort_unstable();
    places.dedup();
    for (n, at) in places.into_iter().enumerate() {
        let Some((file, offset)) = log.place(at) else {
            continue;
        };
        let kept = |at: u64| commits.iter().filter(|c| c.end <= at).count();
        let checkpoint = log
            .records
            .iter()
            .find(|r| r.start == log.control.checkpoint);
        // The checkpoint was durable before anything was built on it.
        let refused = checkpoint.is_some_and(|c| at < c.end);
        let rule = |kept: usize| Rule {
            states: if refused { Vec::new() } else { vec![kept] },
            refused: match refused {
                true => vec!["log segment".to_owned()],
                false => Vec::new(),
            },
            table: None,
            words: Vec::new(),
        };
        let mut damages = vec![(Damage::Cut { to: offset }, kept(at))];
        if n % 8 == 0 {
            // Zeros over zeros are no damage: a commit that ends in them is whole all the same.
            let zeros = zeros_from(&fixture.datadir.join(&file), offset)?;
            damages.push((Damage::Wipe { from: offset }, kept(at + zeros)));
        }
        for (damage, kept) in damages {
            cases.push(Case {
                file: file.clone(),
                damage,
                place: format!(
                    "{} bytes before the end of the log",
                    log.end() as i64 - at as i64
                ),
                rule: rule(kept),
            });
        }
    }
    Ok(cases)
}

/// How many bytes of a file are zero from this offset on, as far as the end of a record could be.
fn zeros_from(path: &Path, offset: u64) -> Outcome<u64> {
    let bytes = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let rest = bytes.get(offset as usize..).unwrap_or_default();
    Ok(rest.iter().take(64).take_while(|b| **b == 0).count() as u64)
}
