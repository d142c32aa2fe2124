//! The suites: where each comes from, in which version, and how it is started.
//!
//! PyMySQL, peewee, gorm, ent and the packages of npm keep their tests out of what they publish; nothing here builds them from elsewhere. Those of xorm
//! need a module that its host does not give to everybody, and those of mysql-connector-python start servers of their own.

use harness::server::Kind;

/// A suite.
#[derive(Debug)]
pub struct Suite {
    /// What a reader knows it by; its list is `tests/suites/NAME.txt`.
    pub name: &'static str,
    /// What runs it.
    pub how: How,
    /// Options of a server's own.
    pub options: &'static [(Kind, &'static str)],
    /// Statements that are run on a fresh server before.
    pub before: &'static [&'static str],
    /// Arguments: `{port}`, `{socket}` and `{dir}` (a folder of this run) are filled in.
    pub args: &'static [&'static str],
    /// Variables, with the same places to be filled in.
    pub env: &'static [(&'static str, &'static str)],
    /// It is in the share of CI.
    pub in_ci: bool,
    /// Minutes that it may take on a server.
    pub minutes: u64,
}

/// What runs a suite.
#[derive(Debug, Clone, Copy)]
pub enum How {
    /// pytest, in the folder of the sources.
    Pytest(Python),
    /// The runner that Django's sources come with.
    Django(Python),
    /// `go test`, in the folder of a module.
    Go {
        /// The module with its version.
        module: &'static str,
    },
    /// Lists of statements that a program in the suite's folder writes; `before` begins each session.
    Lists,
}

/// A package of Python.
#[derive(Debug, Clone, Copy)]
pub struct Python {
    /// Its name in the index.
    pub package: &'static str,
    /// The version.
    pub version: &'static str,
    /// What it runs with, pinned.
    pub with: &'static [&'static str],
}

const PYTEST: &str = "pytest==9.2.0";

const SQLALCHEMY: Python = Python {
    package: "SQLAlchemy",
    version: "2.1.9",
    with: &[
        PYTEST,
        "PyMySQL==1.2.4",
        "cryptography==50.0.2",
        "greenlet==3.5.6",
    ],
};

/// The server, as SQLAlchemy's suites take it.
const PYMYSQL: &str = "--dburi=mysql+pymysql://root@127.0.0.1:{port}/test?charset=utf8mb4";

/// The version of the server is in the names of SQLAlchemy's classes.
const SERVER_IN_NAMES: (&str, &str) = ("SUITE_WITHOUT", r"_(mysql|mariadb)\+pymysql_\d+_\d+_\d+");

const SUITE: Suite = Suite {
    name: "",
    how: How::Go { module: "" },
    options: &[],
    before: &[],
    args: &[],
    env: &[],
    in_ci: false,
    minutes: 10,
};

/// All of them, the quick ones first.
pub const SUITES: &[Suite] = &[
    Suite {
        name: "mysqlclient",
        how: How::Pytest(Python {
            package: "mysqlclient",
            version: "2.3.2",
            with: &[PYTEST, "SQLAlchemy==2.1.9"],
        }),
        before: &["CREATE DATABASE test"],
        args: &["tests"],
        // Its connections read this file.
        env: &[("TESTDB", "{dir}/my.cnf")],
        in_ci: true,
        ..SUITE
    },
    Suite {
        name: "aiomysql",
        how: How::Pytest(Python {
            package: "aiomysql",
            version: "0.3.2",
            with: &[
                PYTEST,
                "PyMySQL==1.1.2",
                "SQLAlchemy==1.3.24",
                "cryptography==50.0.2",
                "setuptools<81",
                "uvloop==0.23.0",
            ],
        }),
        // By TCP it wants servers that have the certificates of its own sources.
        args: &["--mysql-unix-socket=local={socket}", "tests"],
        minutes: 20,
        ..SUITE
    },
    Suite {
        name: "go-sql-driver",
        how: How::Go {
            module: "github.com/go-sql-driver/mysql@v1.10.1",
        },
        before: &["CREATE DATABASE gotest"],
        // The one that is left out asks an address of the internet, which must not answer.
        args: &[".", "-skip=^TestConnectorReturnsTimeout$"],
        env: &[("MYSQL_TEST_ADDR", "127.0.0.1:{port}")],
        in_ci: true,
        ..SUITE
    },
    Suite {
        name: "SQLAlchemy",
        how: How::Pytest(SQLALCHEMY),
        before: &["CREATE DATABASE test", "CREATE DATABASE test_schema"],
        args: &[PYMYSQL, "--maxfail=100000", "test/dialect/test_suite.py"],
        env: &[SERVER_IN_NAMES],
        minutes: 20,
        ..SUITE
    },
    // On servers of its own: a test that fails leaves tables behind, and the others list all that there are.
    Suite {
        name: "SQLAlchemy-dialect",
        how: How::Pytest(SQLALCHEMY),
        before: &["CREATE DATABASE test", "CREATE DATABASE test_schema"],
        args: &[PYMYSQL, "--maxfail=100000", "test/dialect/mysql"],
        env: &[SERVER_IN_NAMES],
        minutes: 20,
        ..SUITE
    },
    Suite {
        name: "Django",
        how: How::Django(Python {
            package: "Django",
            version: "5.2.19",
            with: &["asgiref==3.13.0", "sqlparse==0.6.1", "mysqlclient==2.3.2"],
        }),
        // Of more than 200, those that ask the database for most.
        args: &[
            "aggregation",
            "basic",
            "bulk_create",
            "introspection",
            "lookup",
            "ordering",
            "queries",
            "transactions",
        ],
        minutes: 30,
        ..SUITE
    },
    Suite {
        name: "go-mysql-server",
        how: How::Lists,
        // What is expected was written for an engine whose text is compared byte by byte.
        options: &[
            (Kind::Tidemill, "collation-server=utf8mb4_0900_bin"),
            (Kind::MariaDb, "collation-server=utf8mb4_bin"),
        ],
        before: &[
            "SET NAMES utf8mb4",
            "SET collation_connection = @@collation_server",
            "SET sql_mode = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
            // Their engine lets the later of two writers fail, at its commit.
            "SET innodb_lock_wait_timeout = 1",
            "SET lock_wait_timeout = 2",
        ],
        ..SUITE
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_name_of_its_own_and_a_version() {
        for (n, suite) in SUITES.iter().enumerate() {
            assert!(SUITES.iter().skip(n + 1).all(|s| s.name != suite.name));
            match suite.how {
                How::Go { module } => assert!(module.contains("@v")),
                // Its own manifest names it.
                How::Lists => {}
                How::Pytest(python) | How::Django(python) => {
                    assert!(!python.version.is_empty());
                    // A pin, or a limit with a reason of packaging.
                    assert!(
                        python
                            .with
                            .iter()
                            .all(|w| w.contains("==") || w.contains('<'))
                    );
                }
            }
        }
    }
}
