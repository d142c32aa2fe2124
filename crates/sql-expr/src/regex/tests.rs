//! The matches and faults of patterns, as ICU has them: `testdata/regex.txt` was recorded from ICU 72.

use super::*;

fn flags(words: &str) -> Flags {
    Flags {
        ignore_case: words.contains('i'),
        multi_line: words.contains('m'),
        dot_all: words.contains('n'),
        unix: words.contains('u'),
    }
}

/// All matches with their groups, in characters, as the table writes them.
fn found(pattern: &str, text: &str, words: &str) -> String {
    let mut out = Vec::new();
    let chars = |at: usize| text[..at].chars().count();
    let all = Compiled::new(pattern, flags(words)).and_then(|c| {
        c.each_match(text.as_bytes(), 0, |groups| -> Result<bool, Fault> {
            let one = groups.iter().map(|g| match g {
                Some((s, e)) => format!("{}:{}", chars(*s), chars(*e)),
                None => "-".to_owned(),
            });
            out.push(one.collect::<Vec<_>>().join(","));
            Ok(out.len() < 20)
        })?;
        // Both ways of asking agree.
        assert_eq!(
            c.is_match(text.as_bytes()),
            Ok(!out.is_empty()),
            "{pattern:?}"
        );
        Ok(())
    });
    match all {
        Err(Fault::Syntax(line, character)) => format!("E3688@{line}:{character}"),
        Err(fault) => format!("E{}", types::SqlError::from(fault).code),
        Ok(()) if out.is_empty() => "none".to_owned(),
        Ok(()) => out.join(" "),
    }
}

/// The fields of a line, with `\n`, `\r`, `\t`, `\\` and `\u{…}` in them.
fn plain(field: &str) -> String {
    let mut out = String::new();
    let mut chars = field.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('u') => {
                let hex: String = chars.by_ref().skip(1).take_while(|c| *c != '}').collect();
                out.push(char::from_u32(u32::from_str_radix(&hex, 16).unwrap()).unwrap());
            }
            Some(c) => out.push(c),
            None => {}
        }
    }
    out
}

#[test]
fn patterns_match_as_they_do_in_icu() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    let table = std::env::var("TIDEMILL_REGEX_TABLE").map_or_else(
        |_| include_str!("../../testdata/regex.txt").to_owned(),
        |path| std::fs::read_to_string(path).unwrap(),
    );
    for line in table.lines() {
        if line.is_empty() || line.starts_with("##") {
            continue;
        }
        let fields: Vec<&str> = line.split('\t').collect();
        let [pattern, text, words, expected] = fields[..] else {
            panic!("four fields: {line}");
        };
        let got = found(&plain(pattern), &plain(text), words);
        seen += 1;
        if got != expected {
            wrong.push(format!("{line}\tgot {got}"));
        }
    }
    assert!(seen > 100);
    assert!(
        wrong.is_empty(),
        "{} of {seen}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn one_that_is_too_large_is_refused() {
    let long = format!(r"(a)\1{}", "(?=a)".repeat(20_000));
    assert_eq!(found(&long, "a", "i"), "E3700");
    assert_eq!(found("((((a{255}){255}){255}){255})", "a", "i"), "E3700");
    assert_eq!(found(&"(".repeat(50_000), "a", ""), "E3700");
    assert_eq!(found(&"[".repeat(50_000), "a", ""), "E3700");
    assert_eq!(found(&"$".repeat(5_000_000), "a", ""), "E3700");
}

#[test]
fn one_that_goes_back_for_ever_ends() {
    let begun = std::time::Instant::now();
    let text = "a".repeat(5000);
    assert_eq!(found(r"(a*)*\1b(?=c)", &text, "i"), "E3699");
    // What has no look-around is linear.
    assert_eq!(found("(a+)+b", &text, ""), "none");
    assert_eq!(
        found("(a+)+$", &text, ""),
        "0:5000,0:5000 5000:5000,-".split(' ').next().unwrap()
    );
    assert!(begun.elapsed() < std::time::Duration::from_secs(5));
}
