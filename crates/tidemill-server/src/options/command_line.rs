//! From arguments to an [`Invocation`].

use std::path::PathBuf;

use super::backups::{self, Parsed};
use super::cnf::{self, Setting};
use super::known;
use super::known_option::{Argument, Kind, Known};
use super::persisted;
use super::set::{Given, Undecided};
use super::value::canonical;
use super::{Command, Files, Invocation, Level, Notice, Options, OptionsError, Origin};

/// What `--help` prints.
pub const USAGE: &str = "\
Tidemill, a transactional SQL database that speaks the MySQL protocol

usage: tidemill [serve] [OPTIONS]              serve clients
       tidemill shell [OPTIONS] [-f] [-e SQL]  run SQL on a directory, without a server; -f: go on after errors
       tidemill check [OPTIONS] [--table=S.T]  read every page and every index
       tidemill backup  [CLIENT] --to=DIR|- [--since=DIR] [--throttle=MIB]
                                               a backup of a server that goes on, all of it or what has changed
       tidemill backup  --verify=DIR           read a backup and check all of it
       tidemill restore DIR [DIR ...] --datadir=D [--binlogs=DIR [--until-time=UTC | --until-gtid=GTID]]
                                               a data directory of a backup, and of those since it; - for standard input
       tidemill replica --of=HOST[:PORT] [CLIENT] --datadir=D
                                               a replica: a backup of the server, and where it goes on
       tidemill promote --replica=HOST:PORT .. make a replica the source (--help)
       tidemill rejoin --server=HOST:PORT --to=HOST:PORT
                                               an old source becomes a replica

CLIENT: --server=HOST[:PORT]|SOCKET [127.0.0.1], -u, --user=NAME [root], -p, --password[=TEXT],
        --ssl-mode=DISABLED|PREFERRED|REQUIRED|VERIFY_CA|VERIFY_IDENTITY [PREFERRED; with --ssl-ca: VERIFY_CA],
        --ssl-ca=FILE, --ssl-cert=FILE, --ssl-key=FILE

  --datadir=DIR               the database's directory            [./tidemill-data]
  -P, --port=N                TCP port                            [3306]
  --bind-address=A            addresses to listen on, * for all   [127.0.0.1]
  -S, --socket=PATH           Unix socket to listen on            [none]
  --defaults-file=FILE        read a my.cnf: groups [mysqld], [server], [tidemill]
  --innodb-buffer-pool-size=N memory for pages, with K, M, G      [128M]
  --innodb-flush-log-at-trx-commit=0|1|2
                              when a commit reaches the disk      [1]
  --NAME=VALUE                any other of MySQL's system variables
  -?, --help                  this text
  -V, --version               the version

Dashes and underscores in names are the same. skip-, disable- and enable- before a name switch it; loose- makes an unknown
option a warning.
";

/// Groups of a my.cnf that are read.
const GROUPS: [&str; 4] = ["mysqld", "server", "mysqld-8.0", "tidemill"];

/// Understands a command line, without the program's name. Files named by `--defaults-file` are read through `files`.
///
/// # Errors
/// An unknown option, a value that cannot be, a file that cannot be read; the text names it.
pub fn parse(
    arguments: impl IntoIterator<Item = String>,
    files: &dyn Files,
) -> Result<Invocation, OptionsError> {
    let mut words = arguments.into_iter().peekable();
    if let Some(word) = words.next_if(|word| backups::COMMANDS.contains(&word.as_str())) {
        let parsed = backups::parse(&word, words).map_err(on_command_line)?;
        return Ok(about_backups(parsed));
    }
    let mut builder = Builder::default();
    if let Some(word) = words.next_if(|word| !word.starts_with('-')) {
        if let "promote" | "rejoin" = &*word {
            // They open no directory, and have options of their own.
            builder.command = Command::Failover {
                rejoin: word == "rejoin",
                words: words.collect(),
            };
            return Ok(builder.finish());
        }
        builder.command = subcommand(&word)?;
    }
    let mut settings = Vec::new();
    let mut sources = Sources::default();
    while let Some(word) = words.next() {
        if let Some(setting) = builder.word(word, &mut words, &mut sources)? {
            settings.push(setting);
        }
    }
    // Files first, wherever they are named: the command line has the last word.
    let mut groups: Vec<String> = GROUPS.map(str::to_owned).to_vec();
    if let Some(suffix) = &sources.group_suffix {
        groups.extend(GROUPS.map(|group| format!("{group}{suffix}")));
    }
    for path in &sources.files {
        for setting in cnf::read(path, &groups, files)? {
            builder.set(setting)?;
        }
    }
    for setting in settings {
        builder.set(setting)?;
    }
    if !matches!(builder.command, Command::Help | Command::Version) {
        for (setting, is_known) in persisted::read(&builder.options, files)? {
            builder.set_persisted(setting, is_known)?;
        }
    }
    Ok(builder.finish())
}

/// Options of a server mean nothing to these, but for the directory that they make.
fn about_backups(parsed: Parsed) -> Invocation {
    let mut options = Options::default();
    let command = match parsed {
        Parsed::Backup(arguments) => Command::Backup(arguments),
        Parsed::Verify(dir) => Command::Verify(dir),
        Parsed::Restore(arguments, datadir) => {
            options.datadir = datadir;
            if let Some(pool) = arguments.pool {
                options.buffer_pool_size = pool;
            }
            Command::Restore(arguments)
        }
        Parsed::Replica(arguments, datadir) => {
            options.datadir = datadir;
            Command::Replica(arguments)
        }
    };
    Invocation {
        command,
        options,
        notices: Vec::new(),
    }
}

fn subcommand(word: &str) -> Result<Command, OptionsError> {
    match word {
        "serve" => Ok(Command::Serve),
        "shell" => Ok(Command::Shell {
            execute: None,
            force: false,
        }),
        "check" => Ok(Command::Check { table: None }),
        "help" => Ok(Command::Help),
        "version" => Ok(Command::Version),
        _ => Err(on_command_line(format!(
            "unknown command '{word}'; there are serve, shell, check, backup, restore, replica, promote, rejoin"
        ))),
    }
}

fn on_command_line(text: String) -> OptionsError {
    OptionsError {
        origin: Origin::CommandLine,
        text,
    }
}

/// Which files to read, and which groups of them.
#[derive(Default)]
struct Sources {
    files: Vec<PathBuf>,
    group_suffix: Option<String>,
}

struct Builder {
    command: Command,
    options: Options,
    notices: Vec<Notice>,
    undecided: Undecided,
}

impl Default for Builder {
    fn default() -> Self {
        Builder {
            command: Command::Serve,
            options: Options::default(),
            notices: Vec::new(),
            undecided: Undecided::default(),
        }
    }
}

impl Builder {
    /// Takes one word of the command line, and the next if it is its value. Gives what is a setting as my.cnf has them.
    fn word(
        &mut self,
        word: String,
        words: &mut impl Iterator<Item = String>,
        sources: &mut Sources,
    ) -> Result<Option<Setting>, OptionsError> {
        let Some((name, mut value)) = split(&word) else {
            return Err(on_command_line(format!("unexpected argument '{word}'")));
        };
        let own = OWN_WITH_VALUE.contains(&name.as_str());
        let needs_value = own || lookup(&name).is_some_and(|found| found.needs_value());
        if value.is_none() && needs_value {
            value = words.next();
            if value.is_none() {
                return Err(on_command_line(format!(
                    "option '--{}' requires an argument",
                    name.replace('_', "-")
                )));
            }
        }
        let text = value.clone().unwrap_or_default();
        match (name.as_str(), &mut self.command) {
            ("help", _) => self.command = Command::Help,
            ("version", command) if *command != Command::Help => *command = Command::Version,
            ("defaults_file" | "defaults_extra_file", _) => sources.files.push(text.into()),
            ("defaults_group_suffix", _) => sources.group_suffix = Some(text),
            // No file is read unless it is named.
            ("no_defaults", _) => {}
            ("execute", Command::Shell { execute, .. }) => *execute = Some(text),
            ("force", Command::Shell { force, .. }) => *force = true,
            ("table", Command::Check { table }) => *table = Some(text),
            _ => {
                return Ok(Some(Setting {
                    name,
                    value,
                    origin: Origin::CommandLine,
                }));
            }
        }
        Ok(None)
    }

    fn set(&mut self, setting: Setting) -> Result<(), OptionsError> {
        let name = canonical(&setting.name);
        let origin = setting.origin;
        let fault = |text| OptionsError {
            origin: origin.clone(),
            text,
        };
        let Some(found) = lookup(&name) else {
            let shown = name.replace('_', "-");
            if let Some(unknown) = name.strip_prefix("loose_") {
                let text = format!("unknown option '{}' ignored", unknown.replace('_', "-"));
                self.notices.push(Notice {
                    level: Level::Warning,
                    origin,
                    text,
                });
                return Ok(());
            }
            return Err(fault(format!("unknown option '--{shown}'")));
        };
        let known = found.known;
        self.options
            .given
            .push((known.name.to_owned(), origin.clone()));
        let value = match (found.implied, setting.value) {
            (None, Some(value)) => value,
            (None, None) if known.argument == Argument::Switch => "1".to_owned(),
            (None, None) => {
                return Err(fault(format!("option '{}' requires a value", known.name)));
            }
            (Some(implied), None) => implied.to_owned(),
            (Some(_), Some(value)) => {
                let shown = name.replace('_', "-");
                let text = format!("option '--{shown}' takes no value, '{value}' was given");
                return Err(fault(text));
            }
        };
        match known.kind {
            Kind::Obeyed(set) => {
                let mut given = Given {
                    name: known.name,
                    value: &value,
                    origin: &origin,
                    notices: &mut self.notices,
                    undecided: &mut self.undecided,
                };
                set(&mut self.options, &mut given)
                    .map_err(|text| fault(format!("option '{}': {text}", known.name)))?;
            }
            Kind::Variable => remember(&mut self.options.variables, known.name, value),
            Kind::WithoutEffect(reason) => {
                // A member of a family (binlog_…) is shown by its own name.
                let shown = found.name;
                let text = format!("{shown}={value} accepted, nothing to tune: {reason}");
                remember(&mut self.options.without_effect, shown, value);
                self.notices.push(Notice {
                    level: Level::Note,
                    origin,
                    text,
                });
            }
        }
        Ok(())
    }

    /// A persisted value may be that of any variable, be it an option or not. What a newer server knew is ignored with a warning.
    fn set_persisted(&mut self, mut setting: Setting, is_known: bool) -> Result<(), OptionsError> {
        if lookup(&setting.name).is_some() {
            return self.set(setting);
        }
        if let (true, Some(value)) = (is_known, &setting.value) {
            remember(&mut self.options.variables, &setting.name, value.clone());
            self.options.given.push((setting.name, setting.origin));
            return Ok(());
        }
        setting.name = format!("loose_{}", setting.name);
        self.set(setting)
    }

    fn finish(mut self) -> Invocation {
        self.undecided.apply(&mut self.options);
        Invocation {
            command: self.command,
            options: self.options,
            notices: self.notices,
        }
    }
}

/// Options with a value that are this command line's own.
const OWN_WITH_VALUE: [&str; 5] = [
    "defaults_file",
    "defaults_extra_file",
    "defaults_group_suffix",
    "execute",
    "table",
];

/// Name and value of `--name=value`, `--name`, `-xvalue` or `-x`.
fn split(word: &str) -> Option<(String, Option<String>)> {
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (long, None),
        };
        return (!name.is_empty()).then(|| (canonical(name), value));
    }
    let mut symbols = word.strip_prefix('-')?.chars();
    let name = match symbols.next()? {
        'P' => "port",
        'S' => "socket",
        'h' => "datadir",
        'b' => "basedir",
        'u' => "user",
        'e' => "execute",
        'f' => "force",
        'V' => "version",
        '?' => "help",
        _ => return None,
    };
    let rest = symbols.as_str();
    let value = (!rest.is_empty()).then(|| rest.to_owned());
    Some((name.to_owned(), value))
}

/// An option found under a name, which may have had a prefix.
struct MatchedOption<'a> {
    known: Known,
    /// The name it was found by.
    name: &'a str,
    /// The value a prefix stands for.
    implied: Option<&'static str>,
}

impl MatchedOption<'_> {
    fn needs_value(&self) -> bool {
        self.implied.is_none() && self.known.argument == Argument::Required
    }
}

fn lookup(name: &str) -> Option<MatchedOption<'_>> {
    let name = name.strip_prefix("loose_").unwrap_or(name);
    if let Some(known) = known::find(name) {
        return Some(MatchedOption {
            known,
            name,
            implied: None,
        });
    }
    [("skip_", "0"), ("disable_", "0"), ("enable_", "1")]
        .into_iter()
        .find_map(|(prefix, value)| {
            let name = name.strip_prefix(prefix)?;
            let known = known::find(name)?;
            (known.argument == Argument::Switch).then_some(MatchedOption {
                known,
                name,
                implied: Some(value),
            })
        })
}

/// The last value given wins.
fn remember(list: &mut Vec<(String, String)>, name: &str, value: String) {
    match list.iter_mut().find(|(known, _)| known == name) {
        Some(entry) => entry.1 = value,
        None => list.push((name.to_owned(), value)),
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
