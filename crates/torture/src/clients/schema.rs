//! Schemas of programs that people run, loaded unchanged into both servers, and compared by information_schema.
//!
//! They are taken from Debian's packages, unpacked into the cache, and from `schemas/NAME.sql` in the cache for what Debian has not packed. None is in the tree.

use super::end::{End, brief};
use super::kit::cache;
use super::stage::{Stage, empty_database};
use harness::server::{Server, Setup};
use harness::step::{self, Outcome};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A schema.
#[derive(Debug)]
pub struct Schema {
    name: &'static str,
    /// Debian's package; empty for a file that a person has put into the cache.
    package: &'static str,
    /// Its files below the package's root, in the order in which they are loaded.
    files: &'static [&'static str],
    /// What its program replaces before it executes the file.
    replaced: &'static [(&'static str, &'static str)],
    /// The character set that its program asks for.
    charset: &'static str,
    /// What the statements that fail here say, each of them one of these, and each of these of one of them.
    refused: &'static [&'static str],
    /// The tables that are not there for it.
    without: &'static [&'static str],
    /// The features behind that.
    waits: &'static str,
}

const PLAIN: Schema = Schema {
    name: "",
    package: "",
    files: &[],
    replaced: &[],
    charset: "utf8mb4",
    refused: &[],
    without: &[],
    waits: "",
};

/// All of them.
pub const SCHEMAS: &[Schema] = &[
    Schema {
        name: "schema of Zabbix 6.0, with its data",
        package: "zabbix-server-mysql",
        files: &[
            "usr/share/zabbix-server-mysql/schema.sql.gz",
            "usr/share/zabbix-server-mysql/images.sql.gz",
            "usr/share/zabbix-server-mysql/data.sql.gz",
        ],
        charset: "utf8mb4 COLLATE utf8mb4_bin",
        refused: &["'CREATE TRIGGER'"],
        waits: "triggers",
        ..PLAIN
    },
    Schema {
        name: "schema of MediaWiki 1.39",
        package: "mediawiki",
        files: &[
            "usr/share/mediawiki/maintenance/tables-generated.sql",
            "usr/share/mediawiki/maintenance/tables.sql",
        ],
        replaced: &[
            ("/*_*/", ""),
            ("/*i*/", ""),
            (
                "/*$wgDBTableOptions*/",
                "ENGINE=InnoDB, DEFAULT CHARSET=binary",
            ),
        ],
        charset: "binary",
        refused: &["'FULLTEXT INDEX'"],
        without: &["searchindex"],
        waits: "FULLTEXT",
    },
    Schema {
        name: "schema of Roundcube 1.6",
        package: "roundcube-core",
        files: &["usr/share/roundcube/SQL/mysql.initial.sql"],
        ..PLAIN
    },
    Schema {
        name: "schema of PowerDNS 4.7",
        package: "pdns-backend-mysql",
        files: &[
            "usr/share/pdns-backend-mysql/schema/schema.mysql.sql",
            "usr/share/pdns-backend-mysql/schema/enable-foreign-keys.mysql.sql",
        ],
        ..PLAIN
    },
    Schema {
        name: "schema of Icinga DB 1.1",
        package: "icingadb",
        files: &["usr/share/icingadb/schema/mysql/schema.sql"],
        refused: &["'CREATE FUNCTION'"],
        waits: "functions",
        ..PLAIN
    },
    Schema {
        name: "schema of Icinga 2's IDO",
        package: "icinga2-ido-mysql",
        files: &["usr/share/icinga2-ido-mysql/schema/mysql.sql"],
        charset: "latin1",
        ..PLAIN
    },
    Schema {
        name: "schema of phpMyAdmin 5.2",
        package: "phpmyadmin",
        files: &["usr/share/phpmyadmin/sql/create_tables.sql"],
        replaced: &[
            ("`phpmyadmin`", "`schema_of_phpmyadmin`"),
            ("USE phpmyadmin;", ""),
        ],
        ..PLAIN
    },
    // github.com/lerocha/chinook-database: ChinookDatabase/DataSources/Chinook_MySql.sql
    Schema {
        name: "schema of Chinook, with its data",
        files: &["chinook.sql"],
        replaced: &[("`Chinook`", "`schema_of_chinook`")],
        ..PLAIN
    },
    // github.com/datacharmer/test_db: employees.sql without the lines that load the dumps
    Schema {
        name: "schema of employees",
        files: &["employees.sql"],
        replaced: &[("employees;", "schema_of_employees;")],
        ..PLAIN
    },
    // github.com/datacharmer/test_db: sakila/sakila-mv-schema.sql
    Schema {
        name: "schema of Sakila",
        files: &["sakila.sql"],
        replaced: &[("sakila", "schema_of_sakila")],
        refused: &[
            "'CREATE TRIGGER'",
            "'CREATE FUNCTION'",
            "'FULLTEXT INDEX'",
            "'geometry'",
            "film_text' doesn't exist",
            // Views of the table that has a place on the map.
            "address' doesn't exist",
        ],
        without: &["address", "film_text"],
        waits: "triggers, functions, FULLTEXT, geometry",
        ..PLAIN
    },
];

impl Schema {
    /// Its name in the table.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What of it cannot be there yet.
    pub fn missing(&self) -> &'static str {
        self.waits
    }
}

impl Schema {
    /// Loads it into both, and compares.
    pub fn compared(&self, stage: &Stage) -> Outcome<(End, End)> {
        let Some(text) = self.text()? else {
            let why = format!("no {} in {}", self.files.join(", "), local().display());
            return Ok((End::Skipped(why), End::Skipped(String::new())));
        };
        let file = stage.dir().join("schema.sql");
        std::fs::write(&file, text).map_err(|e| format!("{}: {e}", file.display()))?;
        let refused = self.loaded(stage.ours(), &file)?;
        let mut ours = self.judged(&refused);
        let Some(server) = stage.theirs() else {
            return Ok((ours, End::Skipped("MariaDB is not installed".to_owned())));
        };
        let theirs = match self.loaded(server, &file)?.first() {
            Some(error) => End::Failed(brief(error)),
            None => End::Passed,
        };
        if ours == End::Passed && theirs == End::Passed {
            let without = |rows: Vec<String>| -> Vec<String> {
                let gone =
                    |r: &String| self.without.iter().any(|t| r.starts_with(&format!("{t}:")));
                rows.into_iter().filter(|r| !gone(r)).collect()
            };
            let (here, there) = (self.described(stage.ours())?, self.described(server)?);
            if let Some(difference) = first_difference(&here, &without(there)) {
                ours = End::Failed(brief(&difference));
            }
        }
        Ok((ours, theirs))
    }

    fn database(&self) -> String {
        let word = self.name.trim_start_matches("schema of ");
        let plain: String = word
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .collect();
        format!("schema_of_{}", plain.to_ascii_lowercase())
    }

    /// What its program executes; none if nobody has put it into the cache.
    fn text(&self) -> Outcome<Option<String>> {
        let root = match self.package.is_empty() {
            true => local(),
            false => unpacked(self.package)?,
        };
        let mut text = String::new();
        for file in self.files {
            let path = root.join(file);
            if self.package.is_empty() && !path.is_file() {
                return Ok(None);
            }
            let opened = File::open(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            let read = match path.extension().is_some_and(|e| e == "gz") {
                true => flate2::read::GzDecoder::new(opened).read_to_string(&mut text),
                false => (&opened).read_to_string(&mut text),
            };
            read.map_err(|e| format!("{}: {e}", path.display()))?;
            text.push('\n');
        }
        for (from, to) in self.replaced {
            text = text.replace(from, to);
        }
        Ok(Some(text))
    }

    /// The errors of a load that goes on after each.
    fn loaded(&self, server: &Server, file: &Path) -> Outcome<Vec<String>> {
        let database = self.database();
        empty_database(&mut *server.connect()?, &database, self.charset)?;
        let input = File::open(file).map_err(|e| format!("{}: {e}", file.display()))?;
        let out = mariadb(server.setup())
            .args(["--force", &database])
            .stdin(input)
            .output();
        let out = out.map_err(|e| format!("mariadb: {e}"))?;
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        let errors = said.lines().filter(|l| l.starts_with("ERROR"));
        Ok(errors.map(str::to_owned).collect())
    }

    /// Passed, if what was refused is what the table says.
    fn judged(&self, refused: &[String]) -> End {
        let known = |error: &&String| self.refused.iter().any(|r| error.contains(r));
        if let Some(error) = refused.iter().find(|e| !known(e)) {
            return End::Failed(brief(error));
        }
        let unmet = |r: &&&str| !refused.iter().any(|e| e.contains(**r));
        match self.refused.iter().find(unmet) {
            Some(reason) => End::Failed(format!(
                "nothing says {reason}, which the table waits for ({})",
                self.waits
            )),
            None => End::Passed,
        }
    }

    /// Its tables, columns, indexes and keys, a line each.
    fn described(&self, server: &Server) -> Outcome<Vec<String>> {
        let database = self.database();
        let mut conn = server.connect()?;
        let mut all = Vec::new();
        for ask in [
            "SELECT CONCAT(TABLE_NAME, ': table') FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA = '?'",
            "SELECT CONCAT_WS(' ', CONCAT(c.TABLE_NAME, ':'), c.COLUMN_NAME, c.ORDINAL_POSITION, c.IS_NULLABLE, c.DATA_TYPE, c.COLUMN_TYPE, \
             c.CHARACTER_MAXIMUM_LENGTH, c.NUMERIC_SCALE, c.CHARACTER_SET_NAME, c.COLUMN_KEY, c.COLUMN_COMMENT) FROM information_schema.COLUMNS c \
             JOIN information_schema.TABLES t USING (TABLE_SCHEMA, TABLE_NAME) WHERE t.TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA = '?'",
            "SELECT CONCAT_WS(' ', CONCAT(TABLE_NAME, ':'), 'index', INDEX_NAME, SEQ_IN_INDEX, COLUMN_NAME, NON_UNIQUE, SUB_PART) \
             FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = '?'",
            "SELECT CONCAT_WS(' ', CONCAT(TABLE_NAME, ':'), 'key', CONSTRAINT_NAME, COLUMN_NAME, ORDINAL_POSITION, REFERENCED_TABLE_NAME, \
             REFERENCED_COLUMN_NAME) FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = '?'",
        ] {
            let sql = ask.replace('?', &database);
            let rows = conn.run(&sql).map_err(|e| format!("{sql}: {e}"))?;
            all.extend(rows.into_iter().flatten().map(|row| without_widths(&row)));
        }
        all.sort();
        Ok(all)
    }
}

/// MySQL 8.0 shows no display widths of integers, and MariaDB does; it shows `utf8mb3` alike.
fn without_widths(row: &str) -> String {
    let mut out = String::with_capacity(row.len());
    // YEAR has one width, which MySQL 8.0 shows no more.
    let row = row.replace("year(4)", "year");
    let mut rest = &row[..];
    while let Some(at) = rest.find("int(") {
        let (head, tail) = rest.split_at(at + 3);
        out.push_str(head);
        let end = tail.find(')').map_or(tail.len(), |e| e + 1);
        let digits = tail.get(1..end.saturating_sub(1)).unwrap_or_default();
        let width = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        rest = match width {
            true => tail.get(end..).unwrap_or_default(),
            false => tail,
        };
    }
    out.push_str(rest);
    out
}

fn first_difference(ours: &[String], theirs: &[String]) -> Option<String> {
    if let Some(line) = theirs.iter().find(|l| ours.binary_search(l).is_err()) {
        return Some(format!("not here: {line}"));
    }
    let more = ours.iter().find(|l| theirs.binary_search(l).is_err());
    more.map(|line| format!("only here: {line}"))
}

fn mariadb(server: &Setup) -> Command {
    let mut command = Command::new("mariadb");
    command
        .args(["--no-defaults", "--user=root", "--protocol=socket"])
        .arg(format!("--socket={}", server.socket.display()))
        .arg("--default-character-set=utf8mb4")
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

fn local() -> PathBuf {
    cache().join("schemas")
}

/// The files of a Debian package, unpacked in the cache; nothing of it is installed.
fn unpacked(package: &str) -> Outcome<PathBuf> {
    let root = cache().join("packages").join(package);
    if root.join("usr").is_dir() {
        return Ok(root);
    }
    let fresh = cache().join("packages").join(format!("{package}.fresh"));
    let _ = std::fs::remove_dir_all(&fresh);
    std::fs::create_dir_all(&fresh).map_err(|e| format!("{}: {e}", fresh.display()))?;
    let mut download = Command::new("apt-get");
    step::must(download.args(["download", package]).current_dir(&fresh))?;
    let mut unpack = Command::new("sh");
    unpack.args(["-c", "dpkg -x ./*.deb . && rm ./*.deb"]);
    step::must(unpack.current_dir(&fresh))?;
    std::fs::rename(&fresh, &root).map_err(|e| format!("{}: {e}", root.display()))?;
    Ok(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_of_integers_are_left_out() {
        assert_eq!(without_widths("a: int(11) unsigned"), "a: int unsigned");
        assert_eq!(without_widths("a: point(x) int"), "a: point(x) int");
        assert_eq!(without_widths("bigint(20) tinyint(1)"), "bigint tinyint");
        assert_eq!(without_widths("y: year year(4)"), "y: year year");
    }

    #[test]
    fn a_schema_is_judged_by_what_it_says_is_missing() {
        let schema = Schema {
            refused: &["'CREATE TRIGGER'"],
            ..PLAIN
        };
        let trigger = "ERROR 1235: doesn't yet support 'CREATE TRIGGER'".to_owned();
        assert_eq!(schema.judged(std::slice::from_ref(&trigger)), End::Passed);
        assert!(matches!(schema.judged(&[]), End::Failed(_)));
        let other = "ERROR 1064".to_owned();
        assert!(matches!(schema.judged(&[trigger, other]), End::Failed(_)));
    }
}
