//! From what the storage says to what a client is told: MySQL's numbers and texts.

use crate::schema::Catalog;
use base::environment::{Shortage, shortage};
use pager::OpError;
use std::io;
use types::SqlError;

/// ER_GET_ERRNO.
const GET_ERRNO: u16 = types::error::codes::ER_GET_ERRNO;
/// ER_CANT_OPEN_FILE.
const CANT_OPEN_FILE: u16 = types::error::codes::ER_CANT_OPEN_FILE;
/// ER_OUT_OF_RESOURCES.
const OUT_OF_RESOURCES: u16 = types::error::codes::ER_OUT_OF_RESOURCES;
/// ER_CANT_CREATE_THREAD.
const CANT_CREATE_THREAD: u16 = 1135;
/// ER_INDEX_CORRUPT.
const INDEX_CORRUPT: u16 = types::error::codes::ER_INDEX_CORRUPT;
/// ER_TABLE_DEF_CHANGED.
const DEF_CHANGED: u16 = types::error::codes::ER_TABLE_DEF_CHANGED;

/// The client's error for a storage failure met while working on `table` ("schema.table").
#[cold]
pub(crate) fn storage(e: OpError, table: &str) -> SqlError {
    match e {
        OpError::SpaceFull(_) => SqlError::table_full(table),
        OpError::LogFull(e) => short(&e, "log"),
        OpError::Short(e) => short(&e, table),
        OpError::Corrupt { page, why, .. } => SqlError::new(
            INDEX_CORRUPT,
            format!("Table {table} is damaged: page {}: {why}", page.0),
        ),
        OpError::LogDamaged(lsn) => SqlError::new(
            GET_ERRNO,
            format!(
                "Log record {lsn}, needed for an older version of a row of {table}, is damaged"
            ),
        ),
        OpError::Dropped(_) => SqlError::new(
            DEF_CHANGED,
            "Table definition has changed, please retry transaction",
        ),
        OpError::Io(e) => SqlError::new(
            GET_ERRNO,
            format!(
                "Got error {} from storage engine: {e}",
                e.raw_os_error().unwrap_or(0)
            ),
        ),
        OpError::Wait(w) => SqlError::internal(&format!("unresolved wait {w:?}")),
    }
}

/// The client's error for what the system has too little of just now.
#[cold]
fn short(e: &io::Error, what: &str) -> SqlError {
    // Some say it by their kind alone.
    let number = |usual: i32| e.raw_os_error().unwrap_or(usual);
    let text = |n: i32| {
        let text = io::Error::from_raw_os_error(n).to_string();
        let end = text.find(" (os error").unwrap_or(text.len());
        text[..end].to_owned()
    };
    match shortage(e) {
        Some(Shortage::Descriptors) => {
            let n = number(24);
            SqlError::new(
                CANT_OPEN_FILE,
                format!("Can't open file: '{what}' (errno: {n} - {})", text(n)),
            )
        }
        Some(Shortage::Memory) => SqlError::new(
            OUT_OF_RESOURCES,
            "Out of memory; check if mysqld or some other process uses all available memory; if not, you may have to use \
             'ulimit' to allow mysqld to use more memory or you can add more swap space",
        ),
        Some(Shortage::Room) | None => {
            let n = number(28);
            SqlError::disk_full(what, n, &io::Error::from_raw_os_error(n).to_string())
        }
    }
}

/// What a temporary file failed with: 1021 on a full disk.
#[cold]
pub(crate) fn temporary(e: io::Error, path: &std::path::Path) -> SqlError {
    if shortage(&e).is_some() {
        return short(&e, &path.display().to_string());
    }
    let n = e.raw_os_error().unwrap_or(0);
    SqlError::new(
        GET_ERRNO,
        format!("Got error {n} from temporary file {}: {e}", path.display()),
    )
}

/// A row whose bytes make no sense although its page's checksum is right.
#[cold]
pub(crate) fn bad_row(table: &str) -> SqlError {
    SqlError::new(
        INDEX_CORRUPT,
        format!("Table {table} is damaged: a row does not fit the table's definition"),
    )
}

/// 1135: the system gives no thread.
#[cold]
pub(crate) fn no_thread(e: &std::io::Error) -> SqlError {
    let errno = e.raw_os_error().unwrap_or_default();
    SqlError::new(
        CANT_CREATE_THREAD,
        format!("Can't create a new thread (errno {errno}): {e}"),
    )
}

impl Catalog {
    /// Why there is no table of that name: 1049, 1146, or 1712 where its file is missing or unreadable.
    pub fn why_no_table(&self, schema: &str, name: &str) -> SqlError {
        if self.schema(schema).is_none() {
            return SqlError::unknown_db(schema);
        }
        match self
            .tables_without_file
            .get(&(schema.to_string(), name.to_string()))
        {
            None => SqlError::no_such_table(schema, name),
            Some(def) => {
                let full_name = format!("{}.{}", def.schema, def.name);
                let why = "its file is missing or unreadable";
                let (space, page) = (base::SpaceId(def.id), base::PageNo(0));
                storage(OpError::Corrupt { space, page, why }, &full_name)
            }
        }
    }
}
