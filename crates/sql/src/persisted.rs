//! `mysqld-auto.cnf`: the values that SET PERSIST keeps for the next start, as MySQL's JSON. Version 2 is written, 1 is read too.
//!
//! Text alone: no file is read or written here, and no value is looked at.

use sql_expr::json::{self, Json};
use std::fmt::Write as _;

/// The file's name in the data directory.
pub const FILE: &str = "mysqld-auto.cnf";

/// A variable's value for the next start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersistedValue {
    /// The variable.
    pub name: String,
    /// Its value, as an option would have it.
    pub value: String,
    /// SET GLOBAL does not take it.
    pub is_static: bool,
    /// When it was set, in microseconds since 1970.
    pub set_us: u64,
    /// By whom.
    pub user: String,
    /// From where.
    pub host: String,
}

/// The groups of version 2: those of variables that SET GLOBAL takes, and of the others.
const DYNAMIC: [&str; 2] = [
    "mysql_dynamic_parse_early_variables",
    "mysql_dynamic_variables",
];
const STATIC: [&str; 2] = [
    "mysql_static_parse_early_variables",
    "mysql_static_variables",
];

/// The group of version 1, and the group in it.
const SERVER: &str = "mysql_server";
const SERVER_STATIC: &str = "mysql_server_static_options";

/// Reads the file's text.
///
/// # Errors
/// In words, what is wrong with it.
pub fn decode(text: &str) -> Result<Vec<PersistedValue>, String> {
    let doc = json::parse(text).map_err(|_| "it is no JSON".to_owned())?;
    let mut all = Vec::new();
    match doc.member("Version") {
        Some(Json::Int(1)) => {
            if let Some(server) = doc.member(SERVER) {
                group(server, false, &mut all)?;
                if let Some(fixed) = server.member(SERVER_STATIC) {
                    group(fixed, true, &mut all)?;
                }
            }
        }
        Some(Json::Int(2)) => {
            for (names, is_static) in [(DYNAMIC, false), (STATIC, true)] {
                for name in names {
                    if let Some(g) = doc.member(name) {
                        group(g, is_static, &mut all)?;
                    }
                }
            }
        }
        _ => return Err("its Version is neither 1 nor 2".to_owned()),
    }
    Ok(all)
}

fn group(g: &Json, is_static: bool, all: &mut Vec<PersistedValue>) -> Result<(), String> {
    let Json::Object(members) = g else {
        return Err("a group of it is no object".to_owned());
    };
    for (name, entry) in members.iter().filter(|m| m.0 != SERVER_STATIC) {
        let Some(Json::Str(value)) = entry.member("Value") else {
            return Err(format!("the Value of {name} is no text"));
        };
        let of = |key: &str| entry.member("Metadata").and_then(|m| m.member(key));
        let words = |key: &str| match of(key) {
            Some(Json::Str(s)) => s.clone(),
            _ => String::new(),
        };
        all.push(PersistedValue {
            name: name.clone(),
            value: value.clone(),
            is_static,
            set_us: match of("Timestamp") {
                Some(Json::Int(n)) => u64::try_from(*n).unwrap_or(0),
                Some(Json::Uint(n)) => *n,
                _ => 0,
            },
            user: words("User"),
            host: words("Host"),
        });
    }
    Ok(())
}

/// Writes the file's text.
pub fn encode(values: &[PersistedValue]) -> String {
    let mut out = String::from("{\"Version\": 2");
    for (name, is_static) in [(DYNAMIC[1], false), (STATIC[1], true)] {
        let mut members = values
            .iter()
            .filter(|v| v.is_static == is_static)
            .peekable();
        if members.peek().is_none() {
            continue;
        }
        let _ = write!(out, ", \"{name}\": {{");
        for (n, v) in members.enumerate() {
            out.push_str(if n > 0 { ", " } else { "" });
            quote(&v.name, &mut out);
            out.push_str(": {\"Value\": ");
            quote(&v.value, &mut out);
            let _ = write!(
                out,
                ", \"Metadata\": {{\"Timestamp\": {}, \"User\": ",
                v.set_us
            );
            quote(&v.user, &mut out);
            out.push_str(", \"Host\": ");
            quote(&v.host, &mut out);
            out.push_str("}}");
        }
        out.push('}');
    }
    out.push_str("}\n");
    out
}

fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(name: &str, value: &str, is_static: bool) -> PersistedValue {
        PersistedValue {
            name: name.to_owned(),
            value: value.to_owned(),
            is_static,
            set_us: 1_519_921_341_372_531,
            user: "root".to_owned(),
            host: "localhost".to_owned(),
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        for values in [
            vec![],
            vec![value("max_connections", "152", false)],
            vec![
                value("init_connect", "SET @a = \"\\\n\u{1}ä\"", false),
                value("innodb_log_file_size", "1048576", true),
            ],
        ] {
            assert_eq!(decode(&encode(&values)), Ok(values));
        }
    }

    #[test]
    fn the_older_version_is_read_and_damage_is_told() {
        let old = "{ \"Version\" : 1 , \"mysql_server\" : { \"max_connections\" : { \"Value\" : \"152\" , \"Metadata\" : \
            { \"Timestamp\" : 1519921341372531 , \"User\" : \"root\" , \"Host\" : \"localhost\" } } , \
            \"mysql_server_static_options\" : { \"innodb_log_file_size\" : { \"Value\" : \"1\" } } } }";
        let read = decode(old).unwrap();
        assert_eq!(read[0], value("max_connections", "152", false));
        assert_eq!(
            (&*read[1].name, read[1].is_static),
            ("innodb_log_file_size", true)
        );
        for bad in [
            "",
            "{",
            "[]",
            "{\"Version\": 3}",
            "{\"Version\": 2, \"mysql_dynamic_variables\": 1}",
            "{\"Version\": 2, \"mysql_dynamic_variables\": {\"a\": {\"Value\": 1}}}",
            "{\"Version\": 2, \"mysql_dynamic_variables\": {\"a\": \"1\"}}",
        ] {
            assert!(decode(bad).is_err(), "{bad}");
        }
    }
}
