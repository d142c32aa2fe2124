//! A statement, with the settings it ran under.

use crate::error::ProtocolError;
use crate::read::{ReadResult, Reader};
use crate::write::Put;

/// The statement touched so many databases that they are not named.
const MANY_DATABASES: u8 = 254;
/// So many are named.
const NAMED_DATABASES: usize = 16;

/// Numbers of what it ran under.
mod code {
    pub const FLAGS2: u8 = 0;
    pub const SQL_MODE: u8 = 1;
    pub const CATALOG_NUL: u8 = 2;
    pub const AUTO_INCREMENT: u8 = 3;
    pub const CHARSET: u8 = 4;
    pub const TIME_ZONE: u8 = 5;
    pub const CATALOG: u8 = 6;
    pub const LC_TIME_NAMES: u8 = 7;
    pub const CHARSET_DATABASE: u8 = 8;
    pub const TABLE_MAP_FOR_UPDATE: u8 = 9;
    pub const MASTER_DATA_WRITTEN: u8 = 10;
    pub const INVOKER: u8 = 11;
    pub const UPDATED_DATABASES: u8 = 12;
    pub const MICROSECONDS: u8 = 13;
    pub const EXPLICIT_TIMESTAMP_DEFAULTS: u8 = 16;
    pub const DDL_XID: u8 = 17;
    pub const UTF8MB4_COLLATION: u8 = 18;
    pub const REQUIRE_PRIMARY_KEY: u8 = 19;
    pub const TABLE_ENCRYPTION: u8 = 20;
    pub const MARIA_MICROSECONDS: u8 = 128;
    pub const MARIA_XID: u8 = 129;
    /// This server's own. Others have no such code: they look at nothing from there on, and it is the last.
    pub const OWN: u8 = 250;
}

/// Bits of `flags2`.
pub mod flags2 {
    /// `sql_auto_is_null`.
    pub const AUTO_IS_NULL: u32 = 1 << 14;
    /// `autocommit` is off.
    pub const NOT_AUTOCOMMIT: u32 = 1 << 19;
    /// `foreign_key_checks` is off.
    pub const NO_FOREIGN_KEY_CHECKS: u32 = 1 << 26;
    /// `unique_checks` is off.
    pub const RELAXED_UNIQUE_CHECKS: u32 = 1 << 27;
}

/// What a statement ran under; what is `None` was not written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings<'a> {
    /// Of [`flags2`].
    pub flags2: Option<u32>,
    /// `sql_mode` as bits.
    pub sql_mode: Option<u64>,
    /// `auto_increment_increment` and `auto_increment_offset`, where they are not 1.
    pub auto_increment: Option<(u16, u16)>,
    /// The collations of `character_set_client`, `collation_connection`, `collation_server`.
    pub collations: Option<(u16, u16, u16)>,
    /// `time_zone`.
    pub time_zone: Option<&'a [u8]>,
    /// `lc_time_names` by its number.
    pub lc_time_names: Option<u16>,
    /// `collation_database`.
    pub collation_database: Option<u16>,
    /// User and host of who ran it, where the statement depends on that.
    pub invoker: Option<(&'a [u8], &'a [u8])>,
    /// The databases that it changes; empty where they are not named.
    pub databases: Vec<&'a [u8]>,
    /// Microseconds of the header's time.
    pub microseconds: Option<u32>,
    /// `explicit_defaults_for_timestamp`.
    pub explicit_timestamp_defaults: Option<bool>,
    /// The number of the transaction that a change of definitions is.
    pub ddl_xid: Option<u64>,
    /// `default_collation_for_utf8mb4`.
    pub utf8mb4_collation: Option<u16>,
    /// `sql_require_primary_key`.
    pub require_primary_key: Option<bool>,
    /// `default_table_encryption`.
    pub table_encryption: Option<bool>,
    /// What MySQL's events have no place for.
    pub own: Option<Own>,
}

/// Settings that decide what a definition is and what rows get by it, of a server of this kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Own {
    /// `default_week_format`.
    pub week_format: u8,
    /// `div_precision_increment`.
    pub div_precision: u8,
    /// `innodb_strict_mode`.
    pub strict_storage: bool,
}

impl Own {
    /// What a server begins with. A definition under these settings says nothing of them: readers that know MySQL's codes alone, such as
    /// python-mysql-replication, refuse an event with another one.
    pub const USUAL: Own = Own {
        week_format: 0,
        div_precision: 4,
        strict_storage: true,
    };
}

/// Bytes of [`Own`], in front of which their number stands: a later server may have more.
const OWN_LEN: u8 = 3;

impl<'a> Settings<'a> {
    fn write(&self, out: &mut Vec<u8>) {
        if let Some(flags) = self.flags2 {
            out.put_u8(code::FLAGS2);
            out.put_u32(flags);
        }
        if let Some(mode) = self.sql_mode {
            out.put_u8(code::SQL_MODE);
            out.put_u64(mode);
        }
        // The catalog is always "std".
        out.put_u8(code::CATALOG);
        put_short(b"std", out);
        if let Some((increment, offset)) = self.auto_increment {
            out.put_u8(code::AUTO_INCREMENT);
            out.put_u16(increment);
            out.put_u16(offset);
        }
        if let Some((client, connection, server)) = self.collations {
            out.put_u8(code::CHARSET);
            out.put_u16(client);
            out.put_u16(connection);
            out.put_u16(server);
        }
        if let Some(zone) = self.time_zone {
            out.put_u8(code::TIME_ZONE);
            put_short(zone, out);
        }
        let two = |code: u8, value: Option<u16>, out: &mut Vec<u8>| {
            if let Some(value) = value {
                out.put_u8(code);
                out.put_u16(value);
            }
        };
        two(code::LC_TIME_NAMES, self.lc_time_names, out);
        two(code::CHARSET_DATABASE, self.collation_database, out);
        if let Some((user, host)) = self.invoker {
            out.put_u8(code::INVOKER);
            put_short(user, out);
            put_short(host, out);
        }
        if !self.databases.is_empty() {
            out.put_u8(code::UPDATED_DATABASES);
            match self.databases.len() <= NAMED_DATABASES {
                false => out.put_u8(MANY_DATABASES),
                true => {
                    out.put_u8(self.databases.len() as u8);
                    for name in &self.databases {
                        out.put_nul_bytes(name);
                    }
                }
            }
        }
        if let Some(micros) = self.microseconds {
            out.put_u8(code::MICROSECONDS);
            out.put_u24(micros);
        }
        let one = |code: u8, value: Option<bool>, out: &mut Vec<u8>| {
            if let Some(value) = value {
                out.put_u8(code);
                out.put_u8(u8::from(value));
            }
        };
        one(
            code::EXPLICIT_TIMESTAMP_DEFAULTS,
            self.explicit_timestamp_defaults,
            out,
        );
        if let Some(xid) = self.ddl_xid {
            out.put_u8(code::DDL_XID);
            out.put_u64(xid);
        }
        two(code::UTF8MB4_COLLATION, self.utf8mb4_collation, out);
        one(code::REQUIRE_PRIMARY_KEY, self.require_primary_key, out);
        one(code::TABLE_ENCRYPTION, self.table_encryption, out);
        if let Some(own) = self.own {
            out.put_u8(code::OWN);
            out.put_u8(OWN_LEN);
            out.put_u8(own.week_format);
            out.put_u8(own.div_precision);
            out.put_u8(u8::from(own.strict_storage));
        }
    }

    fn read(bytes: &'a [u8]) -> ReadResult<Settings<'a>> {
        let mut s = Settings::default();
        let mut r = Reader::new(bytes);
        while !r.is_empty() {
            match r.u8()? {
                code::FLAGS2 => s.flags2 = Some(r.u32()?),
                code::SQL_MODE => s.sql_mode = Some(r.u64()?),
                code::CATALOG_NUL => {
                    short(&mut r)?;
                    r.u8()?;
                }
                code::AUTO_INCREMENT => s.auto_increment = Some((r.u16()?, r.u16()?)),
                code::CHARSET => s.collations = Some((r.u16()?, r.u16()?, r.u16()?)),
                code::TIME_ZONE => s.time_zone = Some(short(&mut r)?),
                code::CATALOG => {
                    short(&mut r)?;
                }
                code::LC_TIME_NAMES => s.lc_time_names = Some(r.u16()?),
                code::CHARSET_DATABASE => s.collation_database = Some(r.u16()?),
                code::TABLE_MAP_FOR_UPDATE => {
                    r.u64()?;
                }
                code::MASTER_DATA_WRITTEN => {
                    r.u32()?;
                }
                code::INVOKER => s.invoker = Some((short(&mut r)?, short(&mut r)?)),
                code::UPDATED_DATABASES => match r.u8()? {
                    MANY_DATABASES => {}
                    n => {
                        for _ in 0..n {
                            s.databases.push(r.nul_bytes()?);
                        }
                    }
                },
                code::MICROSECONDS | code::MARIA_MICROSECONDS => s.microseconds = Some(r.u24()?),
                code::EXPLICIT_TIMESTAMP_DEFAULTS => {
                    s.explicit_timestamp_defaults = Some(r.u8()? != 0);
                }
                code::DDL_XID | code::MARIA_XID => s.ddl_xid = Some(r.u64()?),
                code::UTF8MB4_COLLATION => s.utf8mb4_collation = Some(r.u16()?),
                code::REQUIRE_PRIMARY_KEY => s.require_primary_key = Some(r.u8()? != 0),
                code::TABLE_ENCRYPTION => s.table_encryption = Some(r.u8()? != 0),
                code::OWN => {
                    if let [week_format, div_precision, strict, ..] = *short(&mut r)? {
                        s.own = Some(Own {
                            week_format,
                            div_precision,
                            strict_storage: strict != 0,
                        });
                    }
                }
                // What is unknown has a length that is unknown: as MySQL does, what follows is not looked at.
                _ => break,
            }
        }
        Ok(s)
    }
}

fn put_short(bytes: &[u8], out: &mut Vec<u8>) {
    let bytes = &bytes[..bytes.len().min(255)];
    out.put_u8(bytes.len() as u8);
    out.put_bytes(bytes);
}

fn short<'a>(r: &mut Reader<'a>) -> ReadResult<&'a [u8]> {
    let length = r.u8()?;
    r.read_bytes(usize::from(length))
}

/// The body of QUERY.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query<'a> {
    /// The connection that ran it.
    pub thread_id: u32,
    /// How many seconds it took.
    pub seconds: u32,
    /// The error with which it ended, 0 mostly.
    pub error: u16,
    /// Its default database.
    pub database: &'a [u8],
    /// What it ran under.
    pub settings: Settings<'a>,
    /// The statement.
    pub statement: &'a [u8],
}

impl<'a> Query<'a> {
    /// Appends the body.
    pub fn write(&self, out: &mut Vec<u8>) {
        self.write_with(out, |_| {});
    }

    /// The same with what `more` appends behind what is of a fixed length.
    pub(super) fn write_with(&self, out: &mut Vec<u8>, more: impl FnOnce(&mut Vec<u8>)) {
        let database = &self.database[..self.database.len().min(255)];
        out.put_u32(self.thread_id);
        out.put_u32(self.seconds);
        out.put_u8(database.len() as u8);
        out.put_u16(self.error);
        let at = out.len();
        out.put_u16(0);
        more(out);
        let from = out.len();
        self.settings.write(out);
        let len = (out.len() - from) as u16;
        out[at..at + 2].copy_from_slice(&len.to_le_bytes());
        out.put_nul_bytes(database);
        out.put_bytes(self.statement);
    }

    /// Reads the body.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: it ends early.
    pub fn read(body: &'a [u8]) -> ReadResult<Query<'a>> {
        Query::read_with(body, |_| Ok(())).map(|(q, ())| q)
    }

    /// The same where something more stands behind what is of a fixed length, which `more` reads.
    pub(super) fn read_with<T>(
        body: &'a [u8],
        more: impl FnOnce(&mut Reader<'a>) -> ReadResult<T>,
    ) -> ReadResult<(Query<'a>, T)> {
        let mut r = Reader::new(body);
        let (thread_id, seconds) = (r.u32()?, r.u32()?);
        let database = usize::from(r.u8()?);
        let error = r.u16()?;
        let settings = usize::from(r.u16()?);
        let more = more(&mut r)?;
        let settings = Settings::read(r.read_bytes(settings)?)?;
        let database = r.read_bytes(database)?;
        match r.u8()? {
            0 => {}
            _ => return Err(ProtocolError::Malformed),
        }
        let query = Query {
            thread_id,
            seconds,
            error,
            database,
            settings,
            statement: r.take_rest(),
        };
        Ok((query, more))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_written_is_read_back() {
        let all = Settings {
            flags2: Some(flags2::NO_FOREIGN_KEY_CHECKS),
            sql_mode: Some(1 << 22),
            auto_increment: Some((2, 1)),
            collations: Some((255, 255, 45)),
            time_zone: Some(b"+02:00"),
            lc_time_names: Some(1),
            collation_database: Some(45),
            invoker: Some((b"root", b"localhost")),
            databases: vec![b"a", b"b"],
            microseconds: Some(999_999),
            explicit_timestamp_defaults: Some(true),
            ddl_xid: Some(77),
            utf8mb4_collation: Some(255),
            require_primary_key: Some(false),
            table_encryption: Some(false),
            own: Some(Own {
                week_format: 6,
                div_precision: 30,
                strict_storage: true,
            }),
        };
        for settings in [all, Settings::default()] {
            let q = Query {
                thread_id: 8,
                seconds: 1,
                error: 0,
                database: b"test",
                settings,
                statement: b"CREATE TABLE t (a INT)",
            };
            let mut body = Vec::new();
            q.write(&mut body);
            assert_eq!(Query::read(&body), Ok(q));
        }
    }

    #[test]
    fn many_databases_are_not_named() {
        let q = Query {
            settings: Settings {
                databases: vec![b"x"; 17],
                ..Settings::default()
            },
            ..Query::default()
        };
        let mut body = Vec::new();
        q.write(&mut body);
        assert!(Query::read(&body).unwrap().settings.databases.is_empty());
    }

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>) {
            let _ = Query::read(&bytes);
            let _ = Settings::read(&bytes);
        }
    }
}
