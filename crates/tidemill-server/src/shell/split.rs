//! Cuts what is typed into statements at their delimiters, as MySQL's client does: not inside quotes, comments or names.
//! Understands `DELIMITER` lines; does not parse SQL.

/// Takes text in pieces and gives statements out. Feed whole lines.
#[derive(Debug)]
pub struct Splitter {
    delimiter: String,
    /// The statement under way.
    text: String,
    /// The line it began on, from 1.
    began: usize,
    /// The line under way.
    line: usize,
    state: State,
}

/// A whole statement, without its delimiter.
#[derive(Debug, PartialEq, Eq)]
pub struct Statement {
    /// Its text.
    pub text: String,
    /// The line it begins on, from 1.
    pub line: usize,
    /// It ended with `\G`: to be shown with a line for each column.
    pub vertical: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Plain,
    /// Inside quotes of this kind.
    Quoted(char),
    /// Inside `/* */`.
    Comment,
}

impl Default for Splitter {
    fn default() -> Self {
        Splitter {
            delimiter: ";".to_owned(),
            text: String::new(),
            began: 0,
            line: 0,
            state: State::Plain,
        }
    }
}

impl Splitter {
    /// Whether nothing of a statement is waiting.
    pub fn is_idle(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Takes a line, with or without its end; gives the statements that it completes.
    pub fn line(&mut self, line: &str) -> Vec<Statement> {
        self.line += 1;
        let line = line.trim_end_matches(['\n', '\r']);
        if self.is_idle() && self.state == State::Plain && self.delimiter_command(line) {
            return Vec::new();
        }
        let mut done = Vec::new();
        let mut rest = line;
        while let Some(c) = rest.chars().next() {
            let mut taken = c.len_utf8();
            match self.state {
                State::Quoted(quote) if c == '\\' && quote != '`' => {
                    taken += rest[taken..].chars().next().map_or(0, char::len_utf8);
                }
                State::Quoted(quote) if c == quote => self.state = State::Plain,
                State::Quoted(_) => {}
                State::Comment if rest.starts_with("*/") => {
                    taken = 2;
                    self.state = State::Plain;
                }
                State::Comment => {}
                State::Plain if rest.starts_with(self.delimiter.as_str()) => {
                    rest = &rest[self.delimiter.len()..];
                    self.complete(false, &mut done);
                    continue;
                }
                State::Plain if rest.starts_with("\\G") || rest.starts_with("\\g") => {
                    let vertical = rest.starts_with("\\G");
                    rest = &rest[2..];
                    self.complete(vertical, &mut done);
                    continue;
                }
                State::Plain if c == '#' || is_dashes(rest) => break,
                State::Plain if rest.starts_with("/*") => {
                    taken = 2;
                    self.state = State::Comment;
                }
                State::Plain if matches!(c, '\'' | '"' | '`') => self.state = State::Quoted(c),
                State::Plain => {}
            }
            self.push_piece(&rest[..taken]);
            rest = &rest[taken..];
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        done
    }

    /// The end of the input: what is left is a statement too.
    pub fn end(&mut self) -> Option<Statement> {
        let mut done = Vec::new();
        self.complete(false, &mut done);
        done.pop()
    }

    fn push_piece(&mut self, piece: &str) {
        if self.text.is_empty() {
            if piece.trim().is_empty() {
                return;
            }
            self.began = self.line;
        }
        self.text.push_str(piece);
    }

    fn complete(&mut self, vertical: bool, done: &mut Vec<Statement>) {
        let text = std::mem::take(&mut self.text);
        self.state = State::Plain;
        if !text.trim().is_empty() {
            done.push(Statement {
                text: text.trim_end().to_owned(),
                line: self.began,
                vertical,
            });
        }
    }

    fn delimiter_command(&mut self, line: &str) -> bool {
        let mut words = line.split_whitespace();
        let is_it = words
            .next()
            .is_some_and(|word| word.eq_ignore_ascii_case("delimiter"));
        if let (true, Some(delimiter)) = (is_it, words.next()) {
            delimiter.clone_into(&mut self.delimiter);
            return true;
        }
        false
    }
}

/// `-- ` begins a comment, `--1` does not.
fn is_dashes(rest: &str) -> bool {
    rest.strip_prefix("--")
        .is_some_and(|after| after.chars().next().is_none_or(char::is_whitespace))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<(usize, String)> {
        let mut splitter = Splitter::default();
        let mut all: Vec<Statement> = text.lines().flat_map(|l| splitter.line(l)).collect();
        all.extend(splitter.end());
        all.into_iter().map(|s| (s.line, s.text)).collect()
    }

    #[test]
    fn statements_and_lines() {
        let got = split("SELECT 1;\n\n  SELECT\n 2; SELECT 3\n");
        let expected = [(1, "SELECT 1"), (3, "SELECT\n 2"), (4, "SELECT 3")];
        assert_eq!(got, expected.map(|(l, t)| (l, t.to_owned())));
    }

    #[test]
    fn delimiters_in_quotes_and_comments_do_not_count() {
        let texts = |text: &str| split(text).into_iter().map(|s| s.1).collect::<Vec<_>>();
        assert_eq!(texts("SELECT ';', \"a;\", `;`; x").len(), 2);
        assert_eq!(texts("SELECT 'a\\';b';"), ["SELECT 'a\\';b'"]);
        assert_eq!(
            texts("SELECT 1 /* ; */ + 1; -- ; no\n# no; \n"),
            ["SELECT 1 /* ; */ + 1"]
        );
        assert_eq!(texts("SELECT 5--1;"), ["SELECT 5--1"]);
        assert_eq!(texts("SELECT '''; ' ;"), ["SELECT '''; '"]);
        assert_eq!(
            texts("/*!40101 SET NAMES utf8 */;"),
            ["/*!40101 SET NAMES utf8 */"]
        );
    }

    #[test]
    fn another_delimiter() {
        let got = split("DELIMITER //\nSELECT 1; SELECT 2 //\ndelimiter ;\nSELECT 3;");
        let texts: Vec<_> = got.iter().map(|s| s.1.as_str()).collect();
        assert_eq!(texts, ["SELECT 1; SELECT 2", "SELECT 3"]);
    }

    #[test]
    fn vertical() {
        let mut splitter = Splitter::default();
        let got = splitter.line("SELECT 1\\G SELECT 2\\g");
        assert_eq!(
            (got.len(), got[0].vertical, got[1].vertical),
            (2, true, false)
        );
    }
}
