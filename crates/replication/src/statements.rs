//! The binary log as statements see it: what `sql` asks for, answered out of the files and the engine's log.

use crate::archive::Archive;
use crate::changes::Databases;
use crate::derive::FIRST_POSITION;
use crate::describe;
use crate::dump::replicas::Replicas;
use crate::files::read::{EventReader, read_head};
use crate::payload;
use crate::service::feed::View;
use crate::service::{BinaryLog, Lack, Refusal};
use base::Lsn;
use engine::Engine;
use sql::binary_log::{
    Acknowledged, CompressionRow, EventRow, EventsAsked, LogChange, LogEnd, ReplicaRow, Waiting,
};
use std::sync::Arc;
use types::SqlError;
use types::error::codes;
use types::gtid::{Gtid, GtidSet};
use wire::binlog::frame::{Checksum, Event};
use wire::binlog::header::kind;

/// The binary log of a server, joined to its engine.
pub struct ServerLog {
    /// The files.
    pub log: Arc<BinaryLog>,
    /// The log that they are made from.
    pub engine: Arc<Engine>,
    /// Who is sent them.
    pub replicas: Arc<Replicas>,
    /// What is kept.
    pub databases: Databases,
    /// Where the files are copied to, if that was asked for.
    pub archive: Option<Arc<Archive>>,
}

/// Bytes of a file that are read for SHOW BINLOG EVENTS before others get their turn.
const PORTION: u64 = 256 << 10;

/// An event of more bytes is none.
const LARGEST: usize = 1 << 30;

/// The error of a task that cannot go on.
fn stopped(why: &str) -> SqlError {
    SqlError::internal(&format!("the binary log: {why}"))
}

/// The error of a statement that needs room which is not there.
fn no_room(lack: &Lack) -> SqlError {
    let (number, text) = &lack.error;
    SqlError::new(
        codes::ER_ERROR_ON_WRITE,
        format!(
            "Error writing file '{}' (errno: {number} - {text})",
            lack.file
        ),
    )
}

/// The error of a statement that would take from the binary log what the archive is to have.
fn not_archived(why: &str) -> SqlError {
    SqlError::new(
        codes::ER_OPTION_PREVENTS_STATEMENT,
        format!(
            "The MySQL server is running with the --log-archive-dir option so it cannot execute this statement: {why}"
        ),
    )
}

impl ServerLog {
    /// Waits until all is shown that was committed by now, before the start included; gives the position behind it.
    ///
    /// # Errors
    /// Why it will not be.
    pub async fn caught_up(&self) -> Result<Lsn, SqlError> {
        let lsn = self.engine.groups_durable().await?;
        self.log.wait_read(lsn).await.map_err(|e| stopped(&e))?;
        Ok(lsn)
    }

    /// The same, but where there is no room for it.
    ///
    /// # Errors
    /// As [`caught_up`](Self::caught_up).
    async fn caught_up_unless_short(&self) -> Result<Lsn, SqlError> {
        let lsn = self.engine.groups_durable().await?;
        let read = self.log.wait_read_unless_short(lsn);
        read.await.map_err(|e| stopped(&e))?;
        Ok(lsn)
    }

    /// The same, for what is not done where there is no room.
    ///
    /// # Errors
    /// As [`caught_up`](Self::caught_up); 1026: there is no room.
    async fn caught_up_with_room(&self) -> Result<Lsn, SqlError> {
        let lsn = self.caught_up_unless_short().await?;
        let lack = |v: &View| v.short.clone().filter(|_| v.read < lsn);
        match self.log.feed().with(lack) {
            Some(lack) => Err(no_room(&lack)),
            None => Ok(lsn),
        }
    }

    async fn carry_out(&self, change: LogChange) -> Result<(), SqlError> {
        let lsn = match change {
            // It is what makes room.
            LogChange::PurgeTo(_) | LogChange::PurgeBefore(_) => {
                self.caught_up_unless_short().await?
            }
            LogChange::Rotate | LogChange::Reset(_) => self.caught_up_with_room().await?,
            LogChange::AddPurged(_) => self.caught_up().await?,
        };
        let done = match change {
            LogChange::Rotate => self.log.rotate(lsn).await,
            LogChange::PurgeTo(name) => {
                let number = self.log.names().number(&name);
                let there = number.filter(|n| self.log.feed().with(|v| v.file(*n).is_some()));
                let Some(first) = there else {
                    return Err(SqlError::fixed(codes::ER_UNKNOWN_TARGET_BINLOG));
                };
                self.log.purge(self.not_in_use(first)).await
            }
            LogChange::PurgeBefore(seconds) => {
                let first = self.first_since(seconds)?;
                self.log.purge(self.not_in_use(first)).await
            }
            LogChange::Reset(first) => {
                let mut first = first as u32;
                let held = match &self.archive {
                    None => None,
                    Some(archive) => {
                        let held = archive.before_reset(first).await;
                        let held = held.map_err(|why| not_archived(&why))?;
                        first = held.first;
                        Some(held)
                    }
                };
                let done = self.log.reset(first, lsn).await;
                drop(held);
                done
            }
            LogChange::AddPurged(set) => self.log.add_purged(set, lsn).await,
        };
        done.map_err(|refusal| match refusal {
            Refusal::Short(lack) => no_room(&lack),
            Refusal::Over(why) => stopped(&why),
        })
    }

    /// A file that is being sent or that the archive lacks stays, and all behind it.
    fn not_in_use(&self, first: u32) -> u32 {
        let sent = self.replicas.first_file().unwrap_or(first);
        let lacking = self.archive.as_ref().map_or(first, |a| a.lacks());
        first.min(sent).min(lacking)
    }

    /// The first file that has something since.
    fn first_since(&self, seconds: i64) -> Result<u32, SqlError> {
        let files = self.log.feed().with(|v| v.files.clone());
        let mut numbers = files.iter().rev().map(|f| f.number);
        let mut first = numbers.next().unwrap_or(1);
        for number in numbers {
            // A file has ended when the next began.
            let head = self.log.open_file(first).and_then(|f| read_head(&*f));
            let head = head.map_err(|e| stopped(&e.to_string()))?;
            if i64::from(head.began) < seconds {
                break;
            }
            first = number;
        }
        Ok(first)
    }
}

impl sql::binary_log::BinaryLog for ServerLog {
    fn databases(&self) -> (String, String) {
        let Databases { only, ignored } = &self.databases;
        (only.join(","), ignored.join(","))
    }

    fn files(&self) -> Vec<(String, u64)> {
        let files = self.log.feed().with(|v| v.files.clone());
        let names = self.log.names();
        files
            .iter()
            .map(|f| (names.name(f.number), f.size))
            .collect()
    }

    fn executed(&self) -> GtidSet {
        self.log.feed().with(|v| v.executed.clone())
    }

    fn has_executed(&self, gtid: Gtid) -> bool {
        self.log.feed().with(|v| v.executed.has(gtid))
    }

    fn purged(&self) -> GtidSet {
        self.log.feed().with(|v| v.purged.clone())
    }

    fn is_behind(&self) -> bool {
        let committed = self.engine.groups_committed();
        self.log.feed().with(|v| v.read < committed)
    }

    fn wait_shown(&self) -> Waiting<'_, ()> {
        Box::pin(async { self.caught_up().await.map(drop) })
    }

    fn wait_shown_unless_short(&self) -> Waiting<'_, ()> {
        Box::pin(async { self.caught_up_unless_short().await.map(drop) })
    }

    fn ask_names(&self) -> u64 {
        let now = self.engine.environment().clock.wall_us();
        self.log.feed().ask_names(now.max(0) as u64)
    }

    fn forget_names(&self, number: u64) {
        self.log.feed().forget_names(number);
    }

    fn take_names(&self, number: u64) -> GtidSet {
        self.log.feed().take_names(number)
    }

    fn wait_for(&self, set: GtidSet) -> Waiting<'_, ()> {
        Box::pin(async move {
            let done = self.log.wait_executed(&set).await;
            done.map_err(|e| stopped(&e))
        })
    }

    fn change(&self, change: LogChange) -> Waiting<'_, ()> {
        Box::pin(self.carry_out(change))
    }

    fn events(
        &self,
        mut asked: EventsAsked,
        may: &mut dyn FnMut(usize) -> Result<(), SqlError>,
    ) -> Result<(Vec<EventRow>, Option<EventsAsked>), SqlError> {
        let refused = |why: &str| SqlError::binlog_command("SHOW BINLOG EVENTS", why);
        let names = self.log.names();
        let number = match &asked.file {
            Some(name) => names.number(name),
            None => self.log.feed().with(|v| v.files.first().map(|f| f.number)),
        };
        let number = number.ok_or_else(|| refused("Could not find target log"))?;
        let size = self.log.feed().with(|v| v.file(number));
        let (size, _) = size.ok_or_else(|| refused("Could not find target log"))?;
        let wrong = |e: std::io::Error| refused(&e.to_string());
        let file = self.log.open_file(number).map_err(wrong)?;
        let head = read_head(&*file).map_err(wrong)?;
        let from = asked.from.max(FIRST_POSITION);
        let begin = asked.read.unwrap_or(FIRST_POSITION);
        let mut reader = EventReader::new(file, begin);
        let mut rows = Vec::new();
        // The first is the one that says whether the others have one.
        let mut checksum = match asked.read {
            Some(_) => head.checksum,
            None => Checksum::Crc32,
        };
        loop {
            let position = reader.position();
            if rows.len() as u64 >= asked.most {
                break;
            }
            if position - begin > PORTION {
                asked.file = Some(names.name(number));
                asked.read = Some(position);
                asked.most -= rows.len() as u64;
                return Ok((rows, Some(asked)));
            }
            let Some((_, bytes)) = reader.next(size).map_err(wrong)? else {
                // An event begins where one has ended: nothing else is looked for.
                match position < from && from < size {
                    true => return Err(refused("Wrong offset or I/O error")),
                    false => break,
                }
            };
            may(0)?;
            let end = position + bytes.len() as u64;
            if position < from && from < end {
                return Err(refused("Wrong offset or I/O error"));
            }
            let event = Event::read(bytes, checksum);
            checksum = head.checksum;
            if position < from {
                continue;
            }
            let event = event.map_err(|_| refused("Wrong offset or I/O error"))?;
            let mut show = |event: &Event<'_>, position| {
                if asked.skip > 0 {
                    asked.skip -= 1;
                    return may(0);
                }
                if rows.len() as u64 >= asked.most {
                    return Ok(());
                }
                let row = EventRow {
                    file: names.name(number),
                    position,
                    kind: describe::kind_name(event.header.kind),
                    server_id: event.header.server_id,
                    end,
                    info: describe::info(event),
                };
                may(size_of::<EventRow>() + row.file.len() + row.info.len())?;
                rows.push(row);
                Ok(())
            };
            show(&event, position)?;
            if event.header.kind != kind::TRANSACTION_PAYLOAD {
                continue;
            }
            // Those in it come behind it, and stand where it ends.
            let damaged = |_| refused("Wrong offset or I/O error");
            let inner = payload::Events::of(event.body, LARGEST).map_err(damaged);
            let mut inner = inner?;
            while let Some((header, body)) = inner.next_event().map_err(damaged)? {
                let (body, bytes) = (&body[..], &[][..]);
                let event = Event {
                    header,
                    body,
                    bytes,
                };
                show(&event, end)?;
            }
        }
        Ok((rows, None))
    }

    fn end_behind(&self, lsn: Lsn) -> Waiting<'_, LogEnd> {
        Box::pin(async move {
            self.engine.log_durable(lsn).await?;
            self.log.wait_read(lsn).await.map_err(|e| stopped(&e))?;
            let names = self.log.names();
            let (last, executed, file) = self.log.feed().with(|v| {
                let file = v.files.last().copied();
                (v.done, v.executed.clone(), file)
            });
            Ok(LogEnd {
                last,
                executed,
                file: file.map_or(String::new(), |f| names.name(f.number)),
                position: file.map_or(0, |f| f.size),
            })
        })
    }

    fn asks_replicas(&self) -> bool {
        self.log.semi_sync().is_enabled()
    }

    fn acknowledged(&self, lsn: Lsn) -> Option<Acknowledged<'_>> {
        let wait = self.log.semi_sync().wait(lsn)?;
        Some(Box::pin(wait))
    }

    fn compression(&self) -> Vec<CompressionRow> {
        self.log.feed().compression().rows()
    }

    fn replicas(&self) -> Vec<ReplicaRow> {
        self.replicas.rows()
    }
}
