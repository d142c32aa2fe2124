//! Optimizer hints: the one that is obeyed, `MAX_EXECUTION_TIME(n)`. All others ask for what the planner decides by itself; like
//! hints of other servers they are comments, as MySQL treats what it does not know.

/// The milliseconds of the first `MAX_EXECUTION_TIME(n)` in the text of a hint comment; `None` where there is none that is well formed.
pub(super) fn max_execution_time(text: &[u8]) -> Option<u32> {
    let mut rest = text.trim_ascii_start();
    while !rest.is_empty() {
        let len = rest
            .iter()
            .position(|b| !b.is_ascii_alphanumeric() && *b != b'_')
            .unwrap_or(rest.len());
        let (name, after) = rest.split_at(len);
        let Some(inner) = after.trim_ascii_start().strip_prefix(b"(") else {
            // No hint: skip a character and go on.
            rest = rest[len.max(1).min(rest.len())..].trim_ascii_start();
            continue;
        };
        let end = inner.iter().position(|b| *b == b')')?;
        if name.eq_ignore_ascii_case(b"max_execution_time") {
            let digits = inner[..end].trim_ascii();
            if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) {
                return super::parser::parse_u64(digits).and_then(|ms| u32::try_from(ms).ok());
            }
        }
        rest = inner[end + 1..].trim_ascii_start();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_found_among_other_hints() {
        let f = |s: &str| max_execution_time(s.as_bytes());
        assert_eq!(f(" MAX_EXECUTION_TIME(100) "), Some(100));
        assert_eq!(f("NO_ICP(t1, t2) max_execution_time ( 7 )"), Some(7));
        assert_eq!(f("junk ,; MAX_EXECUTION_TIME(0)"), Some(0));
        assert_eq!(f("MAX_EXECUTION_TIME(x) MAX_EXECUTION_TIME(3)"), Some(3));
        assert_eq!(f("MAX_EXECUTION_TIME()"), None);
        assert_eq!(f("MAX_EXECUTION_TIME(5000000000)"), None);
        assert_eq!(f("MAX_EXECUTION_TIME(5"), None);
        assert_eq!(f("QB_NAME(MAX_EXECUTION_TIME)"), None);
        assert_eq!(f(""), None);
    }
}
