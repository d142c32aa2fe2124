//! Events of rows: the tables that are announced, and the rows, a few at a time, as the tables here have them.

use std::collections::HashMap;

use sql::Session;
use sql::exec::RowChange;
use sql::session::AppliedTable;
use types::SqlError;
use types::error::codes;
use wire::binlog::format::Format;
use wire::binlog::rows::{Change, Row, Rows, flag};
use wire::binlog::table_map::TableMap;
use wire::read::Reader;

use sql::context::replica::LogPlace;

use super::convert::{Allowed, Mapping};
use super::filter::Filters;
use super::statement::Setter;
use super::stopped::Stopped;

/// Tables that one transaction may announce: a source has no more open.
const MOST_TABLES: usize = 65_536;
/// Values that are held at once of an event's rows.
const MOST_VALUES: usize = 16_384;
/// So many announcements of earlier statements are kept: the next one that changes the table makes the same.
const MOST_KEPT: usize = 256;

/// A table that rows are of.
struct Announced {
    /// In which statement it was announced.
    statement: u64,
    /// The event's body, of which all that follows was made.
    body: Vec<u8>,
    map: TableMap,
    /// Its name here: database and table.
    name: (String, String),
    /// Its rows are left out.
    filtered: bool,
    /// What it is here; made when its first rows come.
    here: Option<Here>,
}

/// What an announced table is here.
struct Here {
    mapping: Mapping,
    /// The number of the [`Table`] it was made for.
    table: u64,
    /// And what was allowed then.
    allowed: Allowed,
    /// Whether the writer of the events was one that says which numbers are unsigned.
    says_signs: bool,
}

/// A table here.
struct Table {
    applied: AppliedTable,
    /// No other has this number.
    number: u64,
}

/// A name of an event, which is UTF-8 unless somebody has changed it.
fn lossy(name: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(name)
}

/// The tables of a statement, and what is known of those here.
#[derive(Default)]
pub(super) struct RowEvents {
    /// The number of the statement.
    statement: u64,
    /// How many tables were announced in it.
    live: usize,
    announced: HashMap<u64, Announced>,
    tables: HashMap<(String, String), Table>,
    /// The number of the last table.
    last_table: u64,
}

impl RowEvents {
    /// Takes the body of TABLE_MAP. `filters` are always the same.
    pub fn table(&mut self, filters: &Filters, body: &[u8]) -> Result<(), Stopped> {
        if let Some(known) = table_id(body).and_then(|id| self.announced.get_mut(&id))
            && known.body == body
        {
            self.live += usize::from(known.statement != self.statement);
            known.statement = self.statement;
            // They say the same again, and count that they were asked: what they count must not go by which worker has seen the table before.
            filters.rewritten(lossy(&known.map.database).as_ref());
            known.filtered = !filters.rows(&known.name.0, &known.name.1);
            return Ok(());
        }
        let map = TableMap::read(body)?;
        if self.live >= MOST_TABLES {
            return Err(wire::ProtocolError::Malformed.into());
        }
        if self.announced.len() >= MOST_KEPT.max(2 * self.live) {
            let statement = self.statement;
            self.announced.retain(|_, a| a.statement == statement);
        }
        let (database, table) = (lossy(&map.database), lossy(&map.table).into_owned());
        let name = (filters.rewritten(&database).to_owned(), table);
        let filtered = !filters.rows(&name.0, &name.1);
        let announced = Announced {
            statement: self.statement,
            body: body.to_vec(),
            map,
            name,
            filtered,
            here: None,
        };
        let before = self.announced.insert(announced.map.id, announced);
        let again = before.is_some_and(|a| a.statement == self.statement);
        self.live += usize::from(!again);
        Ok(())
    }

    /// The numbers of tables mean nothing any more.
    pub fn forget(&mut self) {
        self.statement += 1;
        self.live = 0;
    }

    /// The table that the statement has announced with this number.
    fn of(&self, id: u64) -> Option<&Announced> {
        let announced = self.announced.get(&id);
        announced.filter(|a| a.statement == self.statement)
    }

    /// An error as SHOW REPLICA STATUS tells it.
    pub fn in_event(&self, e: SqlError, change: Change, body: &[u8], end: &LogPlace) -> SqlError {
        let name = match change {
            Change::Write => "Write_rows",
            Change::Update => "Update_rows",
            Change::UpdateParts => "Update_rows_partial",
            Change::Delete => "Delete_rows",
        };
        let table = table_id(body).and_then(|id| self.of(id));
        let Some((database, table)) = table.map(|a| &a.name) else {
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
                "Could not execute {name} event on table {database}.{table}; {}, Error_code: {}; {handler}the event's source log {}, \
                 end_log_pos {}",
                e.message, e.code, end.file, end.position
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
        let id = rows.table;
        let ended = rows.flags & flag::STATEMENT_END != 0;
        if self.of(id).is_some_and(|a| a.filtered) {
            if ended {
                self.forget();
            }
            return Ok(());
        }
        let foreign_keys = rows.flags & flag::NO_FOREIGN_KEY_CHECKS == 0;
        let unique = rows.flags & flag::RELAXED_UNIQUE_CHECKS == 0;
        at.setter.of_rows(at.session, foreign_keys, unique)?;
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
        let statement = self.statement;
        let announced = self.announced.get_mut(&id);
        let Some(announced) = announced.filter(|a| a.statement == statement) else {
            return Err(wire::ProtocolError::Malformed.into());
        };
        let name = &announced.name;
        let known = self.tables.get(name);
        if !known.is_some_and(|t| at.session.is_current(&t.applied)) {
            let applied = at.session.applied_table(&name.0, &name.1)?;
            self.last_table += 1;
            let number = self.last_table;
            self.tables.insert(name.clone(), Table { applied, number });
        }
        let Some(table) = self.tables.get(name) else {
            return Ok(());
        };
        let allowed = at.session.instance().globals();
        let allowed = allowed.value_by_name("replica_type_conversions");
        let allowed = allowed.as_ref().and_then(|v| v.as_str()).unwrap_or("");
        let allowed = Allowed::of(allowed);
        let says_signs = at.format.is_some_and(says_signs);
        let is_so =
            |h: &Here| (h.table, h.allowed, h.says_signs) == (table.number, allowed, says_signs);
        if announced.here.as_ref().is_some_and(is_so) {
            return Ok(());
        }
        // As the source has it: what an earlier table here made of it is not asked.
        announced.map = TableMap::read(&announced.body)?;
        let map = &announced.map;
        let said = map
            .columns
            .iter()
            .any(|c| c.unsigned || c.collation.is_some());
        let here = (&table.applied.table().def, table.applied.said());
        let mapping = Mapping::new(map, here, allowed, says_signs || said)?;
        let columns = announced.map.columns.iter_mut();
        for (c, unsigned) in columns.zip(&mapping.unsigned) {
            c.unsigned = *unsigned;
        }
        announced.here = Some(Here {
            mapping,
            table: table.number,
            allowed,
            says_signs,
        });
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
            let announced = self.of(id);
            let Some((map, name, mapping)) =
                announced.and_then(|a| Some((&a.map, &a.name, &a.here.as_ref()?.mapping)))
            else {
                return Err(wire::ProtocolError::Malformed.into());
            };
            let Some(Table { applied: table, .. }) = self.tables.get(name) else {
                return Err(wire::ProtocolError::Malformed.into());
            };
            let def = &table.table().def;
            let most = (MOST_VALUES / map.columns.len().max(1)).max(1);
            let mut changes = Vec::new();
            while changes.len() < most
                && let Some(row) = rows.next_row(map)?
            {
                let Row {
                    before,
                    mut after,
                    parts,
                } = row;
                let parts = mapping.parts(def, &parts, &mut after)?;
                let image = |image| mapping.image(map, def, image);
                changes.push(match rows.change {
                    Change::Write => RowChange::Insert(image(after)?),
                    Change::Update | Change::UpdateParts => {
                        RowChange::Update(image(before)?, image(after)?, parts)
                    }
                    Change::Delete => RowChange::Delete(image(before)?),
                });
            }
            let says_all = mapping.says_all;
            if at.session.apply_rows(table, &changes, says_all).await? {
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
