//! Texts with `*` for anything.

/// Whether `text` fits `pattern`, whose parts between the `*` must come in this order.
pub fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        assert!(fits("*", "anything"));
        assert!(fits("a", "a"));
        assert!(!fits("a", "ab"));
        assert!(fits("SELECT *FORMAT(*", "SELECT 1 + FORMAT(1, 2)"));
        assert!(!fits("SELECT *FORMAT(*", "SELECT 1"));
        assert!(fits("*x*x*", "axbx"));
        assert!(!fits("*x*x", "ax"));
    }
}
