//! The lines of the table that are programs.

use super::kit::Kit;
use super::schema::Schema;

/// A line of the table.
#[derive(Debug, Clone)]
pub struct Line {
    /// What a reader knows it by.
    pub name: &'static str,
    /// What is run.
    pub what: What,
    /// The feature without which it fails here; empty where it passes.
    pub waits: &'static str,
    /// It is in the share of CI.
    pub short: bool,
}

/// What a line runs.
#[derive(Debug, Clone, Copy)]
pub enum What {
    /// A program of `tests/clients` with its arguments, the first of which says which program.
    Program {
        /// What runs it.
        kit: Kit,
        /// The file (or what else the kit takes) and its arguments.
        args: &'static [&'static str],
    },
    /// A schema that is loaded into both.
    Schema(&'static Schema),
}

impl What {
    /// The last column: what all of it waits for, or a part of it.
    pub fn waits(self, all: &str) -> String {
        match self {
            What::Schema(schema) if !schema.missing().is_empty() => {
                format!("all but {}", schema.missing())
            }
            _ => all.to_owned(),
        }
    }

    /// What must be installed for it.
    pub fn kit(self) -> Option<Kit> {
        match self {
            What::Program { kit, .. } => Some(kit),
            What::Schema(_) => None,
        }
    }
}

const fn line(name: &'static str, kit: Kit, args: &'static [&'static str]) -> Line {
    Line {
        name,
        what: What::Program { kit, args },
        waits: "",
        short: false,
    }
}

const fn short(name: &'static str, kit: Kit, args: &'static [&'static str]) -> Line {
    Line {
        short: true,
        ..line(name, kit, args)
    }
}

const fn waiting(
    name: &'static str,
    waits: &'static str,
    kit: Kit,
    args: &'static [&'static str],
) -> Line {
    Line {
        waits,
        ..line(name, kit, args)
    }
}

/// All of them, in the order in which they are run.
pub const LINES: &[Line] = &[
    short("PyMySQL", Kit::Python, &["drivers", "pymysql"]),
    short("mysqlclient", Kit::Python, &["drivers", "mysqlclient"]),
    line(
        "mysql-connector-python, in C",
        Kit::Python,
        &["drivers", "connector"],
    ),
    line(
        "mysql-connector-python, pure",
        Kit::Python,
        &["drivers", "connector-pure"],
    ),
    line("aiomysql", Kit::Python, &["aio"]),
    short(
        "SQLAlchemy, PyMySQL",
        Kit::Python,
        &["sqlalchemy_orm", "pymysql"],
    ),
    line(
        "SQLAlchemy, mysqlclient",
        Kit::Python,
        &["sqlalchemy_orm", "mysqldb"],
    ),
    line(
        "SQLAlchemy, MySQL's connector",
        Kit::Python,
        &["sqlalchemy_orm", "mysqlconnector"],
    ),
    line(
        "SQLAlchemy, views",
        Kit::Python,
        &["sqlalchemy_more", "views"],
    ),
    line(
        "SQLAlchemy, temporary tables",
        Kit::Python,
        &["sqlalchemy_more", "temporary"],
    ),
    line(
        "SQLAlchemy, two-phase commit",
        Kit::Python,
        &["sqlalchemy_more", "twophase"],
    ),
    line("Alembic", Kit::Python, &["alembic_migrations"]),
    line("Django", Kit::Python, &["django_project"]),
    short("peewee", Kit::Python, &["peewee_orm"]),
    short("Pony", Kit::Python, &["pony_orm"]),
    line("Tortoise", Kit::Python, &["tortoise_orm"]),
    line("mydumper, myloader", Kit::Python, &["dumped"]),
    short("python-mysql-replication", Kit::Python, &["binlog_stream"]),
    short("PDO, mysqli", Kit::Php, &["pdo_mysqli"]),
    line("WordPress", Kit::Applications, &["wordpress"]),
    waiting("MediaWiki", "FULLTEXT", Kit::Applications, &["mediawiki"]),
    line("phpMyAdmin in Chromium", Kit::Browser, &["phpmyadmin"]),
    line(
        "Zabbix server and pages, but for triggers",
        Kit::Browser,
        &["zabbix"],
    ),
    short("DBD::mysql", Kit::Perl, &["dbi", "mysql"]),
    short("DBD::MariaDB", Kit::Perl, &["dbi", "MariaDB"]),
    line("ActiveRecord", Kit::Ruby, &["active_record"]),
    line("mysql2, mysql", Kit::Node, &["mysql2_driver"]),
    line("Knex", Kit::Node, &["knex"]),
    line("Sequelize", Kit::Node, &["sequelize"]),
    line("TypeORM", Kit::Node, &["typeorm"]),
    line("MikroORM", Kit::Node, &["mikro_orm"]),
    line("go-sql-driver", Kit::Go, &["driver"]),
    line("gorm", Kit::Go, &["gorm"]),
    line("golang-migrate", Kit::Go, &["migrate"]),
    line("go-mysql canal", Kit::Go, &["canal"]),
    line("gh-ost", Kit::Go, &["gh-ost"]),
    line("Connector/J under HikariCP", Kit::Java, &["jdbc", "mysql"]),
    line(
        "MariaDB Connector/J under HikariCP",
        Kit::Java,
        &["jdbc", "mariadb"],
    ),
    line("Hibernate", Kit::Java, &["hibernate"]),
    line("Flyway", Kit::Java, &["flyway"]),
    line("Liquibase", Kit::Java, &["liquibase"]),
    line("Debezium", Kit::Java, &["debezium"]),
];
