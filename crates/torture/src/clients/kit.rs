//! What runs the programs of a language, and what they need, in the cache.

use harness::step::{self, Outcome};
use harness::{install, workspace};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A language with its way of installing things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kit {
    /// A virtual environment, filled by pip.
    Python,
    /// PHP, as Debian packs it.
    Php,
    /// Applications written in PHP, as Debian packs them.
    Applications,
    /// A browser on the pages of an application, and what speaks to a server with pages of its own, as Debian packs them all.
    Browser,
    /// Perl's DBI, as Debian packs it.
    Perl,
    /// ActiveRecord, as Debian packs it.
    Ruby,
    /// A folder, filled by npm.
    Node,
    /// A module, built by go.
    Go,
    /// A project, built by Maven.
    Java,
}

/// The folder of the cache.
pub fn cache() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| "/tmp".into()));
    std::env::var_os("TIDEMILL_CLIENTS")
        .map(PathBuf::from)
        .unwrap_or_else(|| home().join(".cache/tidemill-clients"))
}

/// The Python that Debian's packages for it are for, whichever comes first on the PATH.
const DEBIANS_PYTHON: &str = "/usr/bin/python3";

/// What changes tables from outside, as its users build it.
const GH_OST: &str = "github.com/github/gh-ost@v1.1.6";

impl Kit {
    /// The folder of its programs in the tree.
    fn folder(self) -> &'static str {
        match self {
            Kit::Python | Kit::Browser => "python",
            Kit::Php | Kit::Applications => "php",
            Kit::Perl => "perl",
            Kit::Ruby => "ruby",
            Kit::Node => "js",
            Kit::Go => "go",
            Kit::Java => "java",
        }
    }

    fn programs(self) -> PathBuf {
        workspace::root().join("tests/clients").join(self.folder())
    }

    /// The program and the Debian packages without which it cannot start.
    fn debian(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Kit::Python => ("python3", install::PYTHON),
            Kit::Php => ("php", &["php-cli", "php-mysql"]),
            Kit::Applications => (
                "php",
                &[
                    "php-cli",
                    "php-mysql",
                    "php-mbstring",
                    "php-xml",
                    "php-intl",
                    "mediawiki",
                    "wordpress",
                ],
            ),
            // dbconfig-no-thanks: no package makes a database of its own.
            Kit::Browser => (
                DEBIANS_PYTHON,
                &[
                    "dbconfig-no-thanks",
                    "phpmyadmin",
                    "php-cli",
                    "php-mysql",
                    "php-mbstring",
                    "php-bcmath",
                    "php-gd",
                    "php-xml",
                    "chromium",
                    "chromium-driver",
                    "python3-selenium",
                    "zabbix-server-mysql",
                    "zabbix-frontend-php",
                ],
            ),
            Kit::Perl => ("perl", &["libdbd-mysql-perl", "libdbd-mariadb-perl"]),
            Kit::Ruby => ("ruby", &["ruby", "ruby-activerecord", "ruby-mysql2"]),
            Kit::Node => ("npm", &["nodejs", "npm"]),
            Kit::Go => ("go", &["golang-go"]),
            Kit::Java => ("mvn", &["maven", "default-jdk-headless"]),
        }
    }

    /// Has Debian all that it needs?
    fn is_packed(self) -> bool {
        matches!(
            self,
            Kit::Php | Kit::Applications | Kit::Browser | Kit::Perl | Kit::Ruby
        )
    }

    /// Installs what its programs need, unless that is there; says what.
    ///
    /// # Errors
    /// It could not be installed.
    pub fn install(self) -> Outcome<()> {
        let (program, packages) = self.debian();
        // A toolchain from elsewhere does as well as Debian's, but for what is written in C.
        if self.is_packed() || self == Kit::Python || !step::on_path(program) {
            install::packages(packages)?;
        }
        if !step::on_path(program) {
            return Err(format!("there is no {program} here"));
        }
        if self.is_packed() {
            return Ok(());
        }
        let dir = cache().join(self.folder());
        let wanted = self.wanted()?;
        let stamp = dir.join("installed");
        if std::fs::read_to_string(&stamp).is_ok_and(|there| there == wanted) {
            return Ok(());
        }
        println!("    installing what {program} runs into {}", dir.display());
        std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        self.fill(&dir)?;
        std::fs::write(&stamp, wanted).map_err(|e| format!("{}: {e}", stamp.display()))
    }

    /// What the content of the cache depends on: the manifest, and the sources of what is built.
    fn wanted(self) -> Outcome<String> {
        let mut files = match self {
            Kit::Python => vec![self.programs().join("requirements.txt")],
            Kit::Node => vec![self.programs().join("package.json")],
            Kit::Go => files(&self.programs())?,
            Kit::Java => {
                let mut all = files(&self.programs().join("src/main/java/clients"))?;
                all.push(self.programs().join("pom.xml"));
                all
            }
            _ => Vec::new(),
        };
        files.sort();
        let texts = files
            .iter()
            .map(|f| std::fs::read_to_string(f).map_err(|e| format!("{}: {e}", f.display())));
        Ok(texts.collect::<Outcome<Vec<_>>>()?.concat())
    }

    fn fill(self, dir: &Path) -> Outcome<()> {
        let from = self.programs();
        let copied =
            |what: &Path| step::must(Command::new("cp").arg("-r").arg(what).arg(dir)).map(drop);
        match self {
            Kit::Python => {
                step::visibly(Command::new("python3").args(["-m", "venv"]).arg(dir))?;
                step::visibly(
                    Command::new(dir.join("bin/pip"))
                        .args(["install", "--quiet", "--disable-pip-version-check", "-r"])
                        .arg(from.join("requirements.txt")),
                )
            }
            Kit::Node => {
                copied(&from.join("package.json"))?;
                let mut npm = Command::new("npm");
                npm.args(["install", "--no-audit", "--no-fund", "--ignore-scripts"]);
                step::visibly(npm.current_dir(dir))
            }
            Kit::Go => {
                for file in files(&from)? {
                    copied(&file)?;
                }
                let mut go = Command::new("go");
                step::visibly(go.args(["build", "-o", "clients", "."]).current_dir(dir))?;
                // A program, with the versions of what it needs that it was released with.
                let mut go = Command::new("go");
                go.args(["list", "-m", "-f", "{{.Dir}}", GH_OST]);
                let sources = step::must(go.current_dir(dir))?;
                let sources = sources.lines().last().unwrap_or_default().to_owned();
                let mut go = Command::new("go");
                go.args(["build", "-mod=readonly", "-o"]);
                go.arg(dir.join("gh-ost")).arg("./go/cmd/gh-ost");
                step::visibly(go.current_dir(sources))
            }
            Kit::Java => {
                copied(&from.join("pom.xml"))?;
                copied(&from.join("src"))?;
                let mut mvn = Command::new("mvn");
                mvn.args(["-q", "-B", "compile", "dependency:copy-dependencies"]);
                step::visibly(mvn.current_dir(dir))
            }
            _ => Ok(()),
        }
    }

    /// The file of the tree that such a program is in.
    #[cfg(test)]
    pub fn source(self, args: &[&str]) -> PathBuf {
        let first = args.first().copied().unwrap_or_default();
        match self {
            Kit::Go => self.programs().join("main.go"),
            Kit::Java => self.programs().join("src/main/java/clients/Place.java"),
            _ => self.file(first),
        }
    }

    fn file(self, name: &str) -> PathBuf {
        let ending = match self {
            Kit::Python | Kit::Browser => "py",
            Kit::Php | Kit::Applications => "php",
            Kit::Perl => "pl",
            Kit::Ruby => "rb",
            Kit::Node => "js",
            Kit::Go => "go",
            Kit::Java => "java",
        };
        self.programs().join(format!("{name}.{ending}"))
    }

    /// The command that runs a program with its arguments.
    pub fn command(self, args: &[&str]) -> Command {
        let dir = cache().join(self.folder());
        let script = |interpreter: &Path| {
            let mut command = Command::new(interpreter);
            if let Some((name, rest)) = args.split_first() {
                command.arg(self.file(name)).args(rest);
            }
            command
        };
        match self {
            // Nothing may be written beside the sources.
            Kit::Python | Kit::Browser => {
                let mut command = match self {
                    Kit::Python => script(&dir.join("bin/python")),
                    _ => script(Path::new(DEBIANS_PYTHON)),
                };
                command.env("PYTHONDONTWRITEBYTECODE", "1");
                command
            }
            Kit::Php | Kit::Applications => script(Path::new("php")),
            Kit::Perl => script(Path::new("perl")),
            Kit::Ruby => script(Path::new("ruby")),
            Kit::Node => script(Path::new("node")),
            Kit::Go => {
                let mut command = Command::new(dir.join("clients"));
                command.args(args);
                command
            }
            Kit::Java => {
                let mut command = Command::new("java");
                let classes = dir.join("target/classes").display().to_string();
                let jars = dir.join("target/dependency/*").display().to_string();
                command.arg("-cp").arg(format!("{classes}:{jars}"));
                command.arg("clients.Place").args(args);
                command
            }
        }
    }
}

/// The files of a folder.
fn files(dir: &Path) -> Outcome<Vec<PathBuf>> {
    let entries = std::fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let paths = entries.map(|e| e.map(|e| e.path()));
    paths
        .collect::<Result<_, _>>()
        .map_err(|e| format!("{}: {e}", dir.display()))
}
