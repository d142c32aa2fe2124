//! What a stored routine is: the texts that make it again, and the settings that it was made under. The engine keeps it as bytes.
//!
//! Must never do: run one.

use std::fmt::Write;

use engine::ObjectDef;
use types::SqlError;

use sql_access::AccountId;
use sql_expr::vars::SqlMode;
use sql_parser::Options;

/// Version of the form on disk. A reader refuses a higher one.
const VERSION: u8 = 1;

/// A routine's definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutineDef {
    /// A function rather than a procedure.
    pub function: bool,
    /// Its name as it was written.
    pub name: String,
    /// Whose it is.
    pub definer: AccountId,
    /// It has the rights of who calls it, not of its definer.
    pub invoker: bool,
    /// `DETERMINISTIC`.
    pub deterministic: bool,
    /// `CONTAINS SQL`, `NO SQL`, `READS SQL DATA`, `MODIFIES SQL DATA`.
    pub data_access: String,
    /// `COMMENT`.
    pub comment: String,
    /// The parameters, as they were written.
    pub params: String,
    /// What it returns, as it was written; empty for a procedure.
    pub returns: String,
    /// The body, as it was written.
    pub body: String,
    /// `sql_mode` when it was made.
    pub sql_mode: u64,
    /// `character_set_client` when it was made.
    pub charset: String,
    /// `collation_connection` when it was made.
    pub collation: String,
    /// The collation of its database when it was made.
    pub db_collation: String,
    /// When it was made, in microseconds since 1970.
    pub created_us: i64,
    /// When it was changed last.
    pub altered_us: i64,
}

impl RoutineDef {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let flags = u8::from(self.function)
            | u8::from(self.invoker) << 1
            | u8::from(self.deterministic) << 2;
        let mut out = vec![VERSION, flags];
        out.extend_from_slice(&self.sql_mode.to_le_bytes());
        out.extend_from_slice(&self.created_us.to_le_bytes());
        out.extend_from_slice(&self.altered_us.to_le_bytes());
        let texts = [
            &self.name,
            &*self.definer.user,
            &*self.definer.host,
            &self.data_access,
            &self.comment,
            &self.params,
            &self.returns,
            &self.body,
            &self.charset,
            &self.collation,
            &self.db_collation,
        ];
        for text in texts {
            out.extend_from_slice(&(text.len() as u32).to_le_bytes());
            out.extend_from_slice(text.as_bytes());
        }
        out
    }

    fn decode(bytes: &[u8]) -> Option<RoutineDef> {
        let ([version, flags], rest) = bytes.split_first_chunk::<2>()?;
        if *version > VERSION {
            return None;
        }
        let (sql_mode, rest) = rest.split_first_chunk::<8>()?;
        let (created, rest) = rest.split_first_chunk::<8>()?;
        let (altered, mut rest) = rest.split_first_chunk::<8>()?;
        let mut texts = Vec::new();
        while !rest.is_empty() {
            let (len, after) = rest.split_first_chunk::<4>()?;
            let (text, after) = after.split_at_checked(u32::from_le_bytes(*len) as usize)?;
            texts.push(String::from_utf8(text.to_vec()).ok()?);
            rest = after;
        }
        let mut texts = texts.into_iter();
        let mut next = || texts.next();
        Some(RoutineDef {
            function: flags & 1 != 0,
            invoker: flags & 2 != 0,
            deterministic: flags & 4 != 0,
            sql_mode: u64::from_le_bytes(*sql_mode),
            created_us: i64::from_le_bytes(*created),
            altered_us: i64::from_le_bytes(*altered),
            name: next()?,
            definer: AccountId::new(&next()?, &next()?),
            data_access: next()?,
            comment: next()?,
            params: next()?,
            returns: next()?,
            body: next()?,
            charset: next()?,
            collation: next()?,
            db_collation: next()?,
        })
    }

    /// Of a stored object that is a routine.
    ///
    /// # Errors
    /// 1815: it cannot be read.
    pub fn of(object: &ObjectDef) -> Result<RoutineDef, SqlError> {
        let unreadable = || SqlError::internal("a routine whose definition cannot be read");
        RoutineDef::decode(&object.body).ok_or_else(unreadable)
    }

    /// `PROCEDURE` or `FUNCTION`.
    pub fn kind(&self) -> &'static str {
        match self.function {
            true => "FUNCTION",
            false => "PROCEDURE",
        }
    }

    /// The statement that makes it again, as MySQL writes it; `name` with its schema where that has to be said.
    pub fn statement(&self, name: &str) -> String {
        let mut t = format!(
            "CREATE DEFINER={} {} {name}({})",
            self.definer.ticked(),
            self.kind(),
            self.params
        );
        if self.function {
            let _ = write!(t, " RETURNS {}", self.returns);
        }
        t.push('\n');
        if self.data_access != "CONTAINS SQL" {
            let _ = writeln!(t, "    {}", self.data_access);
        }
        if self.deterministic {
            t.push_str("    DETERMINISTIC\n");
        }
        if self.invoker {
            t.push_str("    SQL SECURITY INVOKER\n");
        }
        if !self.comment.is_empty() {
            let text = self.comment.replace('\\', "\\\\").replace('\'', "''");
            let text = text.replace('\n', "\\n").replace('\r', "\\r");
            let _ = writeln!(t, "    COMMENT '{text}'");
        }
        t.push_str(&self.body);
        t
    }

    /// The statement for whoever reads it with [`options`](Self::options): its comment does not matter.
    pub fn readable(&self) -> String {
        let bare = RoutineDef {
            comment: String::new(),
            ..self.clone()
        };
        bare.statement(&format!("`{}`", self.name.replace('`', "``")))
    }

    /// How its texts are read.
    pub fn options(&self) -> Options {
        let mode = SqlMode::from_bits(self.sql_mode);
        Options {
            ansi_quotes: mode.has(SqlMode::ANSI_QUOTES),
            pipes_as_concat: mode.has(SqlMode::PIPES_AS_CONCAT),
            high_not_precedence: mode.has(SqlMode::HIGH_NOT_PRECEDENCE),
            no_backslash_escapes: mode.has(SqlMode::NO_BACKSLASH_ESCAPES),
            ignore_space: mode.has(SqlMode::IGNORE_SPACE),
            real_as_float: mode.has(SqlMode::REAL_AS_FLOAT),
            placeholders: false,
            charset: types::Charset::Utf8mb4,
            mariadb: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let def = RoutineDef {
            function: false,
            name: "P".to_owned(),
            definer: AccountId::new("u", "h"),
            invoker: true,
            deterministic: true,
            data_access: "NO SQL".to_owned(),
            comment: "it's".to_owned(),
            params: "a INT".to_owned(),
            returns: String::new(),
            body: "SELECT a".to_owned(),
            sql_mode: 4,
            charset: "utf8mb4".to_owned(),
            collation: "utf8mb4_0900_ai_ci".to_owned(),
            db_collation: "utf8mb4_0900_ai_ci".to_owned(),
            created_us: 7,
            altered_us: 8,
        };
        let bytes = def.encode();
        assert_eq!(RoutineDef::decode(&bytes).as_ref(), Some(&def));
        for n in 0..bytes.len() {
            assert_ne!(RoutineDef::decode(&bytes[..n]).as_ref(), Some(&def));
        }
        assert_eq!(
            def.statement("`P`"),
            "CREATE DEFINER=`u`@`h` PROCEDURE `P`(a INT)\n    NO SQL\n    DETERMINISTIC\n    SQL SECURITY INVOKER\n    COMMENT 'it''s'\nSELECT a"
        );
    }
}
