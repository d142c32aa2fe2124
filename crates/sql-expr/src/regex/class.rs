//! Classes of characters as the matchers write them: single ones, ranges, `\d` and its like, and properties by their names. Nothing is read here.

use super::fault::Fault;

/// No character.
const NONE: &str = "[a&&b]";

/// The text of a character.
pub(super) fn char_text(c: u32) -> String {
    match char::from_u32(c) {
        Some(c) if c.is_ascii_alphanumeric() => c.to_string(),
        Some(_) => format!("\\x{{{c:x}}}"),
        // No text of ours has a lone surrogate.
        None => NONE.to_owned(),
    }
}

/// The text of a range.
pub(super) fn range_text(from: u32, to: u32) -> String {
    // A range over the surrogates is two.
    let mut out = String::new();
    if from < 0xd800 {
        out += &format!("\\x{{{from:x}}}-\\x{{{:x}}}", to.min(0xd7ff));
    }
    if to > 0xdfff {
        out += &format!("\\x{{{:x}}}-\\x{{{to:x}}}", from.max(0xe000));
    }
    if out.is_empty() { NONE.to_owned() } else { out }
}

/// All of these together.
pub(super) fn union(parts: &[String]) -> String {
    if parts.is_empty() {
        NONE.to_owned()
    } else {
        format!("[{}]", parts.concat())
    }
}

/// The set of an escape, such as `\d`.
pub(super) fn escape_set(c: char) -> Option<&'static str> {
    Some(match c {
        'd' => r"\p{Nd}",
        'D' => r"\P{Nd}",
        'w' => r"\w",
        'W' => r"\W",
        's' => r"\p{White_Space}",
        'S' => r"\P{White_Space}",
        'h' => r"[\t\p{Zs}]",
        'H' => r"[^\t\p{Zs}]",
        'v' => r"[\n\x0b\f\r\x{85}\x{2028}\x{2029}]",
        'V' => r"[^\n\x0b\f\r\x{85}\x{2028}\x{2029}]",
        _ => return None,
    })
}

/// The set of a property by its name, as `\p{…}` and `[:…:]` have it.
pub(super) fn property(name: &str, negated: bool) -> Result<String, Fault> {
    let plain: String = name
        .chars()
        .filter(|c| !matches!(c, ' ' | '_' | '-' | '\t'))
        .flat_map(char::to_lowercase)
        .collect();
    let known = match &*plain {
        "alnum" => r"[\p{Alphabetic}\p{Nd}]",
        "blank" => r"[\t\p{Zs}]",
        "graph" => r"[^\p{White_Space}\p{Cc}\p{Cn}]",
        "print" => r"[[^\p{White_Space}\p{Cc}\p{Cn}]\p{Zs}]",
        "xdigit" => r"[\p{Nd}a-fA-F\x{ff21}-\x{ff26}\x{ff41}-\x{ff46}]",
        "punct" => r"\p{P}",
        "digit" => r"\p{Nd}",
        "cntrl" => r"\p{Cc}",
        "word" => r"\w",
        "any" | "all" => r"[\x00-\x{10ffff}]",
        "ascii" => r"[\x00-\x7f]",
        "assigned" => r"\P{Cn}",
        _ => "",
    };
    let set = if known.is_empty() {
        // The tables of properties are the matcher's. A name may hold nothing that ends or changes the set.
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '_' | '-' | '=');
        if plain.len() < 2 && !"clmnpsz".contains(&plain) || !name.chars().all(fits) {
            return Err(Fault::IllegalArgument);
        }
        let set = format!("\\p{{{}}}", name.trim());
        regex::Regex::new(&set).map_err(|_| Fault::IllegalArgument)?;
        set
    } else {
        known.to_owned()
    };
    Ok(if negated { format!("[^{set}]") } else { set })
}
