//! Option values: sizes, numbers, switches, names.

use std::ops::RangeInclusive;

/// Bytes that a buffer pool may have.
pub(super) const POOL: RangeInclusive<u64> = 5 << 20..=1 << 46;

/// A number with an optional suffix K, M, G, T, P or E (powers of 1024).
pub(super) fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let shift = match text.bytes().last()?.to_ascii_uppercase() {
        b'K' => 10,
        b'M' => 20,
        b'G' => 30,
        b'T' => 40,
        b'P' => 50,
        b'E' => 60,
        _ => return text.parse().ok(),
    };
    let number: u64 = text.get(..text.len() - 1)?.trim_end().parse().ok()?;
    number.checked_mul(1 << shift)
}

/// A switch: on, off, true, false, yes, no, 1, 0, in any case.
pub(super) fn switch(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "1" | "on" | "true" | "yes" => Some(true),
        "0" | "off" | "false" | "no" => Some(false),
        _ => None,
    }
}

/// One of `choices`, by its name in any case or its number.
pub(super) fn choice<T: Copy>(text: &str, choices: &[(&str, T)]) -> Option<T> {
    let text = text.trim();
    let named = choices
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(text));
    let numbered = || choices.get(text.parse::<usize>().ok()?);
    named.or_else(numbered).map(|&(_, value)| value)
}

/// An option's name in its one form: lower case, underscores, no leading dashes.
pub(super) fn canonical(name: &str) -> String {
    let name = name.trim_start_matches('-');
    name.to_ascii_lowercase().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, expected) in [
            ("0", Some(0)),
            ("4096", Some(4096)),
            ("64k", Some(64 << 10)),
            ("4G", Some(4 << 30)),
            ("2 M", Some(2 << 20)),
            ("1E", Some(1 << 60)),
            ("16E", None),
            ("", None),
            ("-1", None),
            ("1.5G", None),
            ("G", None),
            ("4GB", None),
            ("4é", None),
        ] {
            assert_eq!(size(text), expected, "{text}");
        }
    }

    #[test]
    fn switches_and_choices() {
        assert_eq!(switch("On"), Some(true));
        assert_eq!(switch("FALSE"), Some(false));
        assert_eq!(switch("2"), None);
        let choices = [("a", 'a'), ("b", 'b')];
        assert_eq!(choice("B", &choices), Some('b'));
        assert_eq!(choice("0", &choices), Some('a'));
        assert_eq!(choice("2", &choices), None);
        assert_eq!(canonical("--InnoDB-x_y"), "innodb_x_y");
    }
}
