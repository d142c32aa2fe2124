//! Events of rows: the tables that are announced, and the rows, a few at a time, as the tables here have them.

use std::collections::HashMap;

use sql::Session;
use sql::exec::RowChange;
use sql::session::AppliedTable;
use types::SqlError;
use types::error::codes;
use wire::binlog::format::Format;
use wire::binlog::rows::{Change, Rows, flag};
use wire::binlog::table_map::TableMap;
use wire::read::Reader;

use sql::context::replica::LogPlace;

use super::convert::{Allowed, Mapping};
use super::state::Shared;
use super::statement::Setter;
use super::stopped::Stopped;

/// Tables that one transaction may announce: a source has no more open.
const MOST_TABLES: usize = 65_536;
/// Values that are held at once of an event's rows.
const MOST_VALUES: usize = 16_384;

/// A table that rows are of.
struct Announced {
    map: TableMap,
    /// What it is here; made when its first rows come.
    here: Option<(Mapping, (String, String))>,
}

/// The tables of a transaction, and what is known of those here.
#[derive(Default)]
pub(super) struct RowEvents {
    announced: HashMap<u64, Announced>,
    tables: HashMap<(String, String), AppliedTable>,
}

impl RowEvents {
    /// Takes the body of TABLE_MAP.
    pub fn table(&mut self, body: &[u8]) -> Result<(), Stopped> {
        let map = TableMap::read(body)?;
        if self.announced.len() >= MOST_TABLES {
            return Err(wire::ProtocolError::Malformed.into());
        }
        let known = self.announced.get(&map.id).is_some_and(|a| a.map == map);
        if !known {
            self.announced.insert(map.id, Announced { map, here: None });
        }
        Ok(())
    }

    /// The numbers of tables mean nothing any more.
    pub fn forget(&mut self) {
        self.announced.clear();
    }

    /// An error as SHOW REPLICA STATUS tells it.
    pub fn in_event(&self, e: SqlError, change: Change, body: &[u8], end: &LogPlace) -> SqlError {
        let name = match change {
            Change::Write => "Write_rows",
            Change::Update => "Update_rows",
            Change::Delete => "Delete_rows",
        };
        let table = table_id(body).and_then(|id| self.announced.get(&id));
        let Some(map) = table.map(|a| &a.map) else {
            return e;
        };
        let handler = match e.code {
            codes::ER_KEY_NOT_FOUND => "handler error HA_ERR_KEY_NOT_FOUND; ",
            codes::ER_DUP_ENTRY => "handler error HA_ERR_FOUND_DUPP_KEY; ",
            codes::ER_NO_REFERENCED_ROW_2 => "handler error HA_ERR_NO_REFERENCED_ROW; ",
            codes::ER_ROW_IS_REFERENCED_2 => "handler error HA_ERR_ROW_IS_REFERENCED; ",
            _ => "",
        };
        SqlError::new(
            e.code,
            format!(
                "Could not execute {name} event on table {}.{}; {}, Error_code: {}; {handler}the event's source log {}, \
                 end_log_pos {}",
                String::from_utf8_lossy(&map.database),
                String::from_utf8_lossy(&map.table),
                e.message,
                e.code,
                end.file,
                end.position
            ),
        )
    }
}

fn table_id(body: &[u8]) -> Option<u64> {
    let mut r = Reader::new(body);
    Some(u64::from(r.u32().ok()?) | u64::from(r.u16().ok()?) << 32)
}

/// What rows are applied with.
pub(super) struct At<'a> {
    pub shared: &'a Shared,
    /// Whether it is to be left half done.
    pub is_to_end: &'a (dyn Fn() -> bool + Sync),
    pub session: &'a mut Session,
    pub setter: &'a mut Setter,
    /// What the events' writer is.
    pub format: Option<&'a Format>,
}

impl RowEvents {
    /// Applies an event of rows, in the transaction that is open: what was done, and whether it is of the second version.
    pub async fn apply(
        &mut self,
        at: &mut At<'_>,
        (change, second): (Change, bool),
        body: &[u8],
    ) -> Result<(), Stopped> {
        /// What MySQL takes for an end of a statement without rows.
        const NO_TABLE: u64 = 0xFF_FFFF;
        let mut rows = Rows::read(change, second, body)?;
        if rows.table == NO_TABLE && rows.rows.is_empty() {
            return Ok(());
        }
        let foreign_keys = rows.flags & flag::NO_FOREIGN_KEY_CHECKS == 0;
        let unique = rows.flags & flag::RELAXED_UNIQUE_CHECKS == 0;
        at.setter.of_rows(at.session, foreign_keys, unique)?;
        let ended = rows.flags & flag::STATEMENT_END != 0;
        let id = rows.table;
        self.find(at, id)?;
        loop {
            let more = self.apply_some(at, id, &mut rows).await?;
            if (at.is_to_end)() {
                return Err(Stopped::Asked);
            }
            if !more {
                break;
            }
        }
        if ended {
            self.forget();
        }
        Ok(())
    }

    /// Finds what a table of the source is here.
    fn find(&mut self, at: &mut At<'_>, id: u64) -> Result<(), Stopped> {
        let Some(announced) = self.announced.get_mut(&id) else {
            return Err(wire::ProtocolError::Malformed.into());
        };
        let map = &announced.map;
        let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
        let name = (text(&map.database), text(&map.table));
        if let Some(known) = self.tables.get(&name)
            && !at.session.is_current(known)
        {
            self.tables.remove(&name);
            announced.here = None;
        }
        if !self.tables.contains_key(&name) {
            let table = at.session.applied_table(&name.0, &name.1)?;
            self.tables.insert(name.clone(), table);
            announced.here = None;
        }
        if announced.here.is_none() {
            let Some(table) = self.tables.get(&name) else {
                return Ok(());
            };
            let allowed = at.shared.text_variable("replica_type_conversions");
            let mysql = at.format.is_some_and(says_signs);
            let said = map
                .columns
                .iter()
                .any(|c| c.unsigned || c.collation.is_some());
            let mapping = Mapping::new(
                map,
                &table.table().def,
                Allowed::of(&allowed),
                mysql || said,
            )?;
            let columns = announced.map.columns.iter_mut();
            for (c, unsigned) in columns.zip(&mapping.unsigned) {
                c.unsigned = *unsigned;
            }
            announced.here = Some((mapping, name));
        }
        Ok(())
    }

    /// Applies some of the rows, and takes them off; whether there are more.
    async fn apply_some(
        &mut self,
        at: &mut At<'_>,
        id: u64,
        rows: &mut Rows<'_>,
    ) -> Result<bool, Stopped> {
        let mut again = rows.clone();
        loop {
            let announced = self.announced.get(&id);
            let Some((map, (mapping, name))) =
                announced.and_then(|a| Some((&a.map, a.here.as_ref()?)))
            else {
                return Err(wire::ProtocolError::Malformed.into());
            };
            let Some(table) = self.tables.get(name) else {
                return Err(wire::ProtocolError::Malformed.into());
            };
            let def = &table.table().def;
            let most = (MOST_VALUES / map.columns.len().max(1)).max(1);
            let mut changes = Vec::new();
            while changes.len() < most
                && let Some((before, after)) = rows.next_row(map)?
            {
                let image = |image| mapping.image(map, def, image);
                changes.push(match rows.change {
                    Change::Write => RowChange::Insert(image(after)?),
                    Change::Update => RowChange::Update(image(before)?, image(after)?),
                    Change::Delete => RowChange::Delete(image(before)?),
                });
            }
            if at.session.apply_rows(table, &changes).await? {
                return Ok(!rows.rows.is_empty());
            }
            // The table has become another one since.
            let name = name.clone();
            self.tables.remove(&name);
            rows.clone_from(&again);
            self.find(at, id)?;
            again.clone_from(rows);
        }
    }
}

/// Whether a server of this version always says which numbers are unsigned: MySQL from 8.0 on.
fn says_signs(format: &Format) -> bool {
    let major = format.server_version.split('.').next();
    let major = major.and_then(|m| m.parse::<u32>().ok()).unwrap_or(0);
    !format.is_mariadb() && major >= 8
}
