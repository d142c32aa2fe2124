//! Seeds as they are kept: a line each, `v<workload> <seed> [limits] [# what it found]`.

use crate::plan::Limits;

/// A line: its seed, and the limits that it names or that its workload had. None for what is no such line.
pub fn line(text: &str) -> Option<(u64, Limits)> {
    let text = text.split('#').next().unwrap_or("");
    let mut words = text.split_whitespace();
    let version = words.next()?.strip_prefix('v')?.parse().ok()?;
    let seed = words.next()?.parse().ok()?;
    let mut limits = Limits::of_workload(version);
    while let Some(word) = words.next() {
        let mut value = || words.next().map(str::to_owned).ok_or(String::new());
        flag(&mut limits, word, &mut value).ok()?.then_some(())?;
    }
    Some((seed, limits))
}

/// Takes a flag and its value in; false if it is none of a limit.
///
/// # Errors
/// The value is no number.
pub fn flag(
    l: &mut Limits,
    word: &str,
    value: &mut dyn FnMut() -> Result<String, String>,
) -> Result<bool, String> {
    let mut number = || {
        let text = value()?;
        text.parse::<u64>().map_err(|e| format!("{text}: {e}"))
    };
    match word {
        "--clients" => l.clients = number()?,
        "--rounds" => l.rounds = number()?,
        "--txns" => l.txns = number()?,
        _ => {
            let Some((_, on)) = switches(l).into_iter().find(|s| s.0 == word) else {
                return Ok(false);
            };
            *on = true;
        }
    }
    Ok(true)
}

/// The limits that are on or off, by their flags.
fn switches(l: &mut Limits) -> [(&'static str, &mut bool); 12] {
    [
        ("--calm", &mut l.calm),
        ("--no-ddl", &mut l.no_ddl),
        ("--no-rebuild", &mut l.no_rebuild),
        ("--no-packed", &mut l.no_packed),
        ("--large-steps", &mut l.large_steps),
        ("--no-columns", &mut l.no_columns),
        ("--same-keys", &mut l.same_keys),
        ("--short", &mut l.short),
        ("--one-phase", &mut l.one_phase),
        ("--no-relatives", &mut l.no_relatives),
        ("--no-events", &mut l.no_events),
        ("--no-defragment", &mut l.no_defragment),
    ]
}

/// The flags that say these limits.
pub fn flags(l: &Limits) -> Vec<String> {
    let mut v = Vec::new();
    for (name, n) in [
        ("clients", l.clients),
        ("rounds", l.rounds),
        ("txns", l.txns),
    ] {
        if n != u64::MAX {
            v.extend([format!("--{name}"), n.to_string()]);
        }
    }
    let mut l = *l;
    let on = switches(&mut l).into_iter().filter(|s| *s.1);
    v.extend(on.map(|s| s.0.to_owned()));
    v
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_and_written_again() {
        let (seed, l) = line("v7 12 --rounds 3 --calm --short # what it found").unwrap();
        assert_eq!((seed, l.rounds, l.calm, l.short), (12, 3, true, true));
        let again = line(&format!("v7 12 {}", flags(&l).join(" ")));
        assert_eq!(again, Some((12, l)));
        for no in [
            "",
            "# v1 2",
            "v1",
            "v1 x",
            "v1 2 --rounds",
            "v1 2 --unknown",
        ] {
            assert_eq!(line(no), None, "{no}");
        }
    }

    #[test]
    fn an_old_line_means_what_it_meant() {
        let (_, first) = line("v1 9").unwrap();
        assert!(first.no_rebuild && first.no_packed && first.no_columns && first.same_keys);
        assert!(!first.large_steps && first.short);
        let (_, third) = line("v3 9").unwrap();
        assert!(!third.no_rebuild && !third.no_packed && third.large_steps && third.no_columns);
        assert_eq!(
            line("v6 9").unwrap().1,
            Limits {
                short: true,
                one_phase: true,
                no_relatives: true,
                no_events: true,
                no_defragment: true,
                ..Limits::default()
            }
        );
        let seventh = line("v7 9").unwrap().1;
        assert!(seventh.one_phase && seventh.no_relatives && !seventh.short);
        let eighth = line("v8 9").unwrap().1;
        assert!(!eighth.one_phase && eighth.no_relatives);
        let ninth = line("v9 9").unwrap().1;
        assert!(ninth.no_events && !ninth.no_relatives);
        let tenth = line("v10 9").unwrap().1;
        assert!(tenth.no_defragment && !tenth.no_events);
        assert_eq!(line("v11 9").unwrap().1, Limits::default());
    }
}
