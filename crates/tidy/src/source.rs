//! Rust source text as tidy sees it: comments and literals blanked, test code known as such.
//!
//! This is a lexer's view, not a parser's: enough to find words, braces and paths, and no more.

use harness::step::Outcome;
use std::ops::Range;
use std::path::Path;

/// One `.rs` file.
#[derive(Debug)]
pub struct Source {
    /// Path from the root of the workspace.
    pub path: String,
    /// The text as it is.
    pub text: String,
    /// The same with comments, strings and character literals turned into blanks; line breaks are kept.
    pub code: String,
    /// `code` with the items under `#[cfg(test)]` blanked too; empty for a file of tests.
    pub shipped: String,
}

impl Source {
    /// Reads one file's text.
    pub fn new(path: &str, text: String) -> Source {
        let code = blank_literals(&text);
        let is_test = path
            .split('/')
            .any(|part| matches!(part, "tests" | "tests.rs" | "benches"))
            || path.ends_with("_test.rs")
            || path.ends_with("_tests.rs");
        let shipped = if is_test {
            String::new()
        } else {
            blank_tests(&code)
        };
        Source {
            path: path.to_owned(),
            text,
            code,
            shipped,
        }
    }

    /// Every `.rs` file of the workspace, sorted by path.
    pub fn of_tree(root: &Path) -> Outcome<Vec<Source>> {
        files(root, &|path| path.ends_with(".rs"))?
            .into_iter()
            .map(|path| {
                let text = std::fs::read_to_string(root.join(&path))
                    .map_err(|e| format!("{path}: {e}"))?;
                Ok(Source::new(&path, text))
            })
            .collect()
    }

    /// The crate's folder and the path inside its `src`, for a file under `crates/X/src` or `xtask/src`.
    pub fn crate_and_module(&self) -> Option<(&str, &str)> {
        let rest = self.path.strip_prefix("crates/").unwrap_or(&self.path);
        let (name, inside) = rest.split_once('/')?;
        Some((name, inside.strip_prefix("src/")?))
    }
}

/// Files below `root` (what git or cargo make aside) whose path passes `want`, as paths with `/`, sorted.
pub fn files(root: &Path, want: &dyn Fn(&str) -> bool) -> Outcome<Vec<String>> {
    let mut found = Vec::new();
    let mut open = vec![String::new()];
    while let Some(dir) = open.pop() {
        let entries = std::fs::read_dir(root.join(&dir)).map_err(|e| format!("{dir}: {e}"))?;
        for entry in entries {
            let entry = entry.map_err(|e| format!("{dir}: {e}"))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if dir.is_empty() {
                name.clone()
            } else {
                format!("{dir}/{name}")
            };
            let kind = entry.file_type().map_err(|e| format!("{path}: {e}"))?;
            if kind.is_dir() {
                if !matches!(name.as_str(), ".git" | "target" | "tidemill-data") {
                    open.push(path);
                }
            } else if kind.is_file() && want(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The line number, from 1, of a byte position.
pub fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at]
        .iter()
        .filter(|b| **b == b'\n')
        .count()
        + 1
}

/// Positions at which `word` stands in `code` with no letter, digit or underscore next to it.
pub fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_word = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let bytes = code.as_bytes();
    code.match_indices(word)
        .map(|(at, _)| at)
        .filter(move |at| {
            let before = at.checked_sub(1).and_then(|i| bytes.get(i));
            let ends_in_word = is_word(word.as_bytes().last());
            let after = bytes.get(at + word.len()).filter(|_| ends_in_word);
            !is_word(before) && !is_word(after)
        })
}

/// The position after the bracket that closes the one at `open` (`{`, `(` or `[`), in blanked code.
pub fn matching(code: &str, open: usize) -> usize {
    let mut depth = 0usize;
    for (i, b) in code.bytes().enumerate().skip(open) {
        match b {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return i + 1;
                }
            }
            _ => {}
        }
    }
    code.len()
}

/// The first `{` or `;` at or after `from` that is not inside parentheses or brackets.
pub fn body_or_end(code: &str, from: usize) -> Option<usize> {
    let mut i = from;
    let bytes = code.as_bytes();
    while i < bytes.len() {
        match bytes[i] {
            b'{' | b';' => return Some(i),
            b'(' | b'[' => i = matching(code, i),
            b'}' => return None,
            _ => i += 1,
        }
    }
    None
}

fn blank(out: &mut [u8], range: Range<usize>) {
    for b in &mut out[range] {
        if *b != b'\n' {
            *b = b' ';
        }
    }
}

/// Blanks the items under `#[cfg(test)]`, alone or with other conditions.
fn blank_tests(code: &str) -> String {
    let mut out = code.as_bytes().to_vec();
    let alone = code.match_indices("#[cfg(test)]");
    for (at, _) in alone.chain(code.match_indices("#[cfg(all(test,")) {
        let mut item = matching(code, at + 1);
        // Other attributes may stand between it and the item.
        while let Some(skip) = code[item..].find(|c: char| !c.is_whitespace()) {
            item += skip;
            if !code[item..].starts_with("#[") {
                break;
            }
            item = matching(code, item + 1);
        }
        let end = match body_or_end(code, item) {
            Some(i) if code.as_bytes()[i] == b'{' => matching(code, i),
            Some(i) => i + 1,
            None => continue,
        };
        blank(&mut out, at..end);
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Blanks comments, strings and character literals. The result is ASCII and as long as `text` in bytes.
fn blank_literals(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut i = 0;
    while i < bytes.len() {
        let end = literal_end(text, i);
        if end > i {
            blank(&mut out, i..end);
            i = end;
        } else if bytes[i].is_ascii_alphabetic() || bytes[i] == b'_' {
            // A whole word at once: the `r` of `for` opens no raw string.
            while i < bytes.len() && (bytes[i].is_ascii_alphanumeric() || bytes[i] == b'_') {
                i += 1;
            }
        } else {
            if !bytes[i].is_ascii() {
                out[i] = b' ';
            }
            i += 1;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Where the comment or literal that begins at `i` ends; `i` itself where none begins.
fn literal_end(text: &str, i: usize) -> usize {
    let bytes = text.as_bytes();
    let rest = &bytes[i..];
    if rest.starts_with(b"//") {
        return i + rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
    }
    if rest.starts_with(b"/*") {
        return block_comment_end(bytes, i);
    }
    for prefix in [&b"br"[..], b"cr", b"r"] {
        if rest.starts_with(prefix) {
            let hashes = rest[prefix.len()..]
                .iter()
                .take_while(|b| **b == b'#')
                .count();
            let quote = i + prefix.len() + hashes;
            if bytes.get(quote) == Some(&b'"') {
                let close = format!("\"{}", "#".repeat(hashes));
                return text
                    .get(quote + 1..)
                    .and_then(|t| t.find(&close))
                    .map_or(bytes.len(), |n| quote + 1 + n + close.len());
            }
        }
    }
    for prefix in [&b""[..], b"b", b"c"] {
        let quote = i + prefix.len();
        if !rest.starts_with(prefix) {
            continue;
        }
        match bytes.get(quote) {
            Some(b'"') => return quoted_end(bytes, quote, b'"'),
            Some(b'\'') if is_char(bytes, quote) => return quoted_end(bytes, quote, b'\''),
            _ => {}
        }
    }
    i
}

fn block_comment_end(bytes: &[u8], mut i: usize) -> usize {
    let mut depth = 0;
    while i < bytes.len() {
        if bytes[i..].starts_with(b"/*") {
            depth += 1;
            i += 2;
        } else if bytes[i..].starts_with(b"*/") {
            depth -= 1;
            i += 2;
            if depth == 0 {
                return i;
            }
        } else {
            i += 1;
        }
    }
    bytes.len()
}

/// Does a character literal begin at this quote, and not a lifetime?
fn is_char(bytes: &[u8], quote: usize) -> bool {
    match bytes.get(quote + 1) {
        Some(b'\\') => true,
        Some(b'\'') | None => false,
        Some(first) => {
            let len = match first {
                0..0x80 => 1,
                0x80..0xe0 => 2,
                0xe0..0xf0 => 3,
                _ => 4,
            };
            bytes.get(quote + 1 + len) == Some(&b'\'')
        }
    }
}

fn quoted_end(bytes: &[u8], quote: usize, with: u8) -> usize {
    let mut i = quote + 1;
    while i < bytes.len() {
        match bytes[i] {
            b'\\' => i += 2,
            b if b == with => return i + 1,
            _ => i += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        Source::new("crates/x/src/y.rs", text.to_owned()).code
    }

    #[test]
    fn literals_and_comments_vanish() {
        assert_eq!(code("a // todo\nb"), "a        \nb");
        assert_eq!(code("/* x /* y */ z */b"), "                 b");
        assert_eq!(
            code("f(\"a\\\"b{\", '{', b'\\'', 'x')")
                .matches('{')
                .count(),
            0
        );
        assert_eq!(
            code("r#\"{\"{\"#; r\"{\"; br\"{\"; {").matches('{').count(),
            1
        );
        assert_eq!(code("fn f<'a>(x: &'a str) {}"), "fn f<'a>(x: &'a str) {}");
        assert_eq!(code("for\"{\""), "for   ");
        assert_eq!(code("'é' {"), "     {");
    }

    #[test]
    fn test_items_are_not_shipped() {
        let source = Source::new(
            "crates/x/src/y.rs",
            "use a;\n#[cfg(test)]\n#[allow(x)]\nmod tests { use b; }\nuse c;\n".to_owned(),
        );
        assert!(source.shipped.contains("use a") && source.shipped.contains("use c"));
        assert!(!source.shipped.contains("use b"));
        assert!(source.code.contains("use b"));
    }

    #[test]
    fn whole_words() {
        assert_eq!(words("unsafe_code unsafe {", "unsafe").count(), 1);
        assert_eq!(words("a_sleep( sleep(", "sleep(").count(), 1);
    }
}
