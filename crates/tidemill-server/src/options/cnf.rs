//! The my.cnf format: groups, `key=value`, quotes and escapes, comments, `!include` and `!includedir`.

use std::path::{Path, PathBuf};

use super::{Files, OptionsError, Origin};

/// Includes within includes, at most; MySQL's limit too.
const DEEPEST_INCLUDE: usize = 10;

/// One line of a group that concerns this server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    /// The name as written.
    pub(super) name: String,
    /// What stands after `=`, without quotes; `None` without `=`.
    pub(super) value: Option<String>,
    /// File and line.
    pub(super) origin: Origin,
}

/// Reads `path` and what it includes; gives the settings of `groups`, in order.
pub(super) fn read(
    path: &Path,
    groups: &[String],
    files: &dyn Files,
) -> Result<Vec<Setting>, OptionsError> {
    let mut reader = Reader {
        groups,
        files,
        settings: Vec::new(),
    };
    reader.file(path, 0, &Origin::CommandLine)?;
    Ok(reader.settings)
}

struct Reader<'a> {
    groups: &'a [String],
    files: &'a dyn Files,
    settings: Vec<Setting>,
}

impl Reader<'_> {
    fn file(&mut self, path: &Path, depth: usize, from: &Origin) -> Result<(), OptionsError> {
        let fault = |origin: &Origin, text: String| OptionsError {
            origin: origin.clone(),
            text,
        };
        if depth > DEEPEST_INCLUDE {
            let text = format!("too many includes within includes at '{}'", path.display());
            return Err(fault(from, text));
        }
        let contents = self.files.read(path).map_err(|error| {
            let text = format!("could not read option file '{}': {error}", path.display());
            fault(from, text)
        })?;
        let mut group: Option<bool> = None;
        for (index, line) in contents.lines().enumerate() {
            let origin = Origin::File(path.to_owned(), index + 1);
            let line = line.trim();
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(directive) = line.strip_prefix('!') {
                self.directive(directive, depth, &origin)?;
            } else if let Some(header) = line.strip_prefix('[') {
                let Some((name, _)) = header.split_once(']') else {
                    return Err(fault(&origin, format!("wrong group definition '{line}'")));
                };
                group = Some(self.groups.iter().any(|wanted| wanted == name.trim()));
            } else {
                match group {
                    Some(true) => self.settings.push(setting(line, origin)),
                    Some(false) => {}
                    None => {
                        let text = format!("found option without preceding group: '{line}'");
                        return Err(fault(&origin, text));
                    }
                }
            }
        }
        Ok(())
    }

    fn directive(
        &mut self,
        directive: &str,
        depth: usize,
        origin: &Origin,
    ) -> Result<(), OptionsError> {
        let fault = |text| OptionsError {
            origin: origin.clone(),
            text,
        };
        let (word, argument) = directive
            .split_once(char::is_whitespace)
            .unwrap_or((directive, ""));
        let argument = PathBuf::from(argument.trim());
        match word {
            "include" => self.file(&argument, depth + 1, origin),
            "includedir" => {
                let mut found = self.files.list(&argument).map_err(|error| {
                    fault(format!(
                        "could not read directory '{}': {error}",
                        argument.display()
                    ))
                })?;
                found.retain(|path| path.extension().is_some_and(|ext| ext == "cnf"));
                found.sort();
                for path in found {
                    self.file(&path, depth + 1, origin)?;
                }
                Ok(())
            }
            _ => Err(fault(format!("unknown directive '!{word}'"))),
        }
    }
}

fn setting(line: &str, origin: Origin) -> Setting {
    let line = without_comment(line);
    let (name, value) = match line.split_once('=') {
        Some((name, value)) => (name, Some(unquote(value.trim()))),
        None => (line, None),
    };
    Setting {
        name: name.trim().to_owned(),
        value,
        origin,
    }
}

/// The line up to a `#` outside quotes.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut escaped = false;
    for (at, symbol) in line.char_indices() {
        match (symbol, quote) {
            _ if escaped => escaped = false,
            ('\\', _) => escaped = true,
            ('#', None) => return line[..at].trim_end(),
            ('\'' | '"', None) => quote = Some(symbol),
            (_, Some(open)) if symbol == open => quote = None,
            _ => {}
        }
    }
    line
}

/// Takes off one pair of quotes and resolves `\b \t \n \r \\ \s \" \'`. Another letter behind a backslash keeps it.
fn unquote(value: &str) -> String {
    let inner = ['"', '\''].into_iter().find_map(|quote| {
        value
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
    });
    let mut out = String::new();
    let mut symbols = inner.unwrap_or(value).chars();
    while let Some(symbol) = symbols.next() {
        if symbol != '\\' {
            out.push(symbol);
            continue;
        }
        match symbols.next() {
            Some('b') => out.push('\u{8}'),
            Some('t') => out.push('\t'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('s') => out.push(' '),
            Some(kept @ ('\\' | '"' | '\'')) => out.push(kept),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::io::{Error, ErrorKind};

    /// Files by path.
    #[derive(Default)]
    pub(in crate::options) struct Listed(pub(in crate::options) BTreeMap<PathBuf, String>);

    impl Listed {
        pub(in crate::options) fn of(files: &[(&str, &str)]) -> Listed {
            let entries = files.iter();
            Listed(
                entries
                    .map(|(path, text)| (PathBuf::from(path), (*text).to_owned()))
                    .collect(),
            )
        }
    }

    impl Files for Listed {
        fn read(&self, path: &Path) -> std::io::Result<String> {
            let found = self.0.get(path).cloned();
            found.ok_or_else(|| Error::from(ErrorKind::NotFound))
        }

        fn list(&self, directory: &Path) -> std::io::Result<Vec<PathBuf>> {
            let inside = self.0.keys().filter(|path| path.starts_with(directory));
            Ok(inside.rev().cloned().collect())
        }

        fn kept(&self, datadir: &Path) -> Option<crate::options::Kept> {
            crate::option_files::kept(self, datadir)
        }
    }

    fn pairs(files: &Listed) -> Result<Vec<(String, Option<String>)>, OptionsError> {
        let settings = read(Path::new("my.cnf"), &["mysqld".to_owned()], files)?;
        Ok(settings
            .into_iter()
            .map(|setting| (setting.name, setting.value))
            .collect())
    }

    #[test]
    fn the_format() -> Result<(), OptionsError> {
        let files = Listed::of(&[
            (
                "my.cnf",
                "# comment\n; another\n[client]\nuser=x\n [mysqld] \nport = 3307 # why\nskip-networking\n\
                 a=\"x # y\"\nb='q\\tz\\d'\nempty=\n!include more.cnf\n[other]\nc=1\n!includedir d\n",
            ),
            ("more.cnf", "[mysqld]\nd=1\r\n"),
            ("d/2.cnf", "[mysqld]\ntwo\n"),
            ("d/1.cnf", "[mysqld]\none\n"),
            ("d/readme", "not read"),
        ]);
        let text = |text: &str| Some(text.to_owned());
        let expected = [
            ("port", text("3307")),
            ("skip-networking", None),
            ("a", text("x # y")),
            ("b", text("q\tz\\d")),
            ("empty", text("")),
            ("d", text("1")),
            ("one", None),
            ("two", None),
        ];
        let found = pairs(&files)?;
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!((found.0.as_str(), &found.1), (expected.0, &expected.1));
        }
        Ok(())
    }

    #[test]
    fn faults_say_where() {
        for (text, expected) in [
            (
                "a=1",
                "found option without preceding group: 'a=1' (my.cnf:1)",
            ),
            ("\n[x", "wrong group definition '[x' (my.cnf:2)"),
            ("!what", "unknown directive '!what' (my.cnf:1)"),
            (
                "!include my.cnf",
                "too many includes within includes at 'my.cnf' (my.cnf:1)",
            ),
            (
                "!include gone",
                "could not read option file 'gone': entity not found (my.cnf:1)",
            ),
        ] {
            let found = pairs(&Listed::of(&[("my.cnf", text)]));
            assert_eq!(
                found.map_err(|error| error.to_string()),
                Err(expected.to_owned())
            );
        }
    }
}
