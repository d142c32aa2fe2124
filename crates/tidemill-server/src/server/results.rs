//! The way from the SQL layer to the client: columns, rows and ends become packets in the connection's output buffer.
//!
//! Rows are written where they are sent from; there is no row in between. A buffer that has grown is sent between
//! batches, and a client that does not take it holds its own statement back, nobody else's.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sql::sink::{Chunk, ColumnMeta, Done, Flush, ResultSink, StateChange};
use types::error::codes;
use types::{Charset, SqlError, ValueRef};
use wire::Decoder;
use wire::capability;
use wire::packet::{Mark, PacketWriter};
use wire::response::{
    OkPacket, SessionState, write_column_count, write_columns_end, write_local_infile, write_ok,
    write_rows_end_telling,
};
use wire::status;

use super::cursor::Cursor;
use super::definitions::Definitions;
use super::encode;
use super::names;
use super::packet_stream::Output;
use crate::offload::note_pause;

/// Bytes waiting to be sent beyond which a statement sends before it goes on.
pub(super) const FLUSH_AT: usize = 64 << 10;
/// How long a statement may keep its core before others get a turn.
const SLICE: Duration = Duration::from_millis(2);
/// The clock is read only every so many batches.
const BATCHES_A_LOOK: u32 = 4;
/// The longest packet of a file that a client sends; clients send pieces of some KiB.
const FILE_PACKET_MAX: usize = 64 << 20;
/// Bits of a binary row's NULL bitmap before the first column's.
const BITMAP_OFFSET: usize = 2;

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Answers to COM_QUERY.
    Text,
    /// Answers to COM_STMT_EXECUTE.
    Binary,
    /// Kept for COM_STMT_FETCH.
    Cursor,
}

/// Where the results of one command go.
pub struct Results<'a> {
    output: &'a mut Output,
    /// The session may not hold the row at hand: it is not sent, and the statement fails.
    short: bool,
    capabilities: u32,
    form: Form,
    /// The client's character set; `None` leaves strings as they are.
    to: Option<Charset>,
    columns: Arc<[ColumnMeta]>,
    /// Where definitions are kept from one execution to the next.
    definitions: Option<&'a mut Definitions>,
    in_row: bool,
    /// Where in the buffer the row's NULL bitmap lies.
    bitmap: usize,
    /// Before the definitions of a cursor's columns.
    before: Option<Mark>,
    cursor: Option<Cursor>,
    status: u16,
    slice: Cell<Slice>,
    /// Of the file that the client sends.
    file: Option<Decoder>,
}

#[derive(Debug, Clone, Copy)]
struct Slice {
    batches: u32,
    since: Option<Instant>,
}

const FRESH: Slice = Slice {
    batches: 0,
    since: None,
};

impl<'a> Results<'a> {
    /// For a command of a client with these capabilities, whose strings go out in `to` (`None`: as they are).
    /// `status` is the server's status before the command.
    pub fn new(
        output: &'a mut Output,
        capabilities: u32,
        form: Form,
        to: Option<Charset>,
        status: u16,
    ) -> Results<'a> {
        Results {
            output,
            short: false,
            capabilities,
            form,
            to,
            columns: Arc::new([]),
            definitions: None,
            in_row: false,
            bitmap: 0,
            before: None,
            cursor: None,
            status,
            slice: Cell::new(FRESH),
            file: None,
        }
    }

    /// The same, with definitions that may have been written before.
    #[inline]
    pub fn with_definitions(self, definitions: &'a mut Definitions) -> Results<'a> {
        Results {
            definitions: Some(definitions),
            ..self
        }
    }

    /// Writes the number of columns, and what each is.
    #[inline]
    fn define(&mut self, cols: &Arc<[ColumnMeta]>) {
        let writer = &mut self.output.writer;
        if let Some(known) = &self.definitions
            && known.repeat(cols, self.to, writer)
        {
            return;
        }
        let mark = writer.mark();
        write_column_count(cols.len(), writer);
        for column in cols.iter() {
            names::define(column, self.to, |d| d.write(writer));
        }
        if let Some(known) = &mut self.definitions {
            known.keep(cols, self.to, writer, mark);
        }
    }

    /// The statement failed: the error takes the place of what was not complete.
    pub fn fail(&mut self, e: &SqlError) {
        if self.in_row {
            self.output.writer.abandon();
            self.in_row = false;
        }
        if let Some(mark) = self.before.take() {
            self.output.writer.rewind(mark);
            self.cursor = None;
        }
        names::write_error(e, self.to, &mut self.output.writer);
    }

    /// The server status after the last result.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The rows that were kept, if there is a result set to fetch.
    pub fn into_cursor(self) -> Option<Cursor> {
        self.cursor
    }
}

impl ResultSink for Results<'_> {
    fn columns(&mut self, cols: &Arc<[ColumnMeta]>) {
        self.columns = Arc::clone(cols);
        if self.form == Form::Cursor {
            self.before = Some(self.output.writer.mark());
            self.cursor = Some(Cursor::of(self.output.account()));
        }
        self.define(cols);
        if self.form != Form::Cursor {
            let writer = &mut self.output.writer;
            // MySQL gives the status as it is before the rows; no client needs it there.
            write_columns_end(self.status, 0, self.capabilities, writer);
        }
    }

    fn out_params(&mut self) {
        // Clients look at the status before the rows to know them.
        self.status |= status::PS_OUT_PARAMS | status::MORE_RESULTS_EXISTS;
    }

    #[inline]
    fn row_begin(&mut self) {
        self.in_row = true;
        let writer = &mut self.output.writer;
        writer.begin();
        if self.form != Form::Text {
            let buf = writer.buf();
            buf.push(0);
            self.bitmap = buf.len();
            let bytes = (self.columns.len() + BITMAP_OFFSET).div_ceil(8);
            buf.resize(self.bitmap + bytes, 0);
        }
    }

    #[inline]
    fn value(&mut self, v: ValueRef<'_>, c: usize) {
        let Some(column) = self.columns.get(c) else {
            return;
        };
        let bytes = match v {
            ValueRef::Str(b, _) | ValueRef::Bytes(b) => b.len(),
            _ => 0,
        };
        if self.short || !self.output.has_room(bytes) {
            self.short = true;
            return;
        }
        let buf = self.output.writer.buf();
        if self.form == Form::Text {
            return encode::text(v, &column.ty, self.to, buf);
        }
        if v.is_null() {
            let bit = c + BITMAP_OFFSET;
            if let Some(byte) = buf.get_mut(self.bitmap + bit / 8) {
                *byte |= 1 << (bit % 8);
            }
            return;
        }
        encode::binary(v, &column.ty, self.to, buf);
    }

    #[inline]
    fn row_end(&mut self) {
        self.in_row = false;
        let writer = &mut self.output.writer;
        if self.short {
            return writer.abandon();
        }
        match &mut self.cursor {
            None => writer.end(),
            Some(cursor) => {
                let from = writer.payload_start();
                cursor.keep(&writer.buf()[from..]);
                writer.abandon();
            }
        }
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.output.writer.pending().len() >= FLUSH_AT
    }

    fn wants_flush(&self) -> bool {
        if self.output.writer.pending().len() >= FLUSH_AT {
            return true;
        }
        let mut slice = self.slice.get();
        slice.batches += 1;
        let mut over = false;
        if slice.batches.is_multiple_of(BATCHES_A_LOOK) {
            let now = Instant::now();
            over = now.duration_since(*slice.since.get_or_insert(now)) > SLICE;
        }
        self.slice.set(slice);
        over
    }

    fn flush(&mut self) -> Flush<'_> {
        Box::pin(async move {
            if self.output.writer.pending().len() >= FLUSH_AT {
                let sent = self.output.flush().await;
                sent.map_err(|_| SqlError::fixed(codes::ER_NET_ERROR_ON_WRITE))?;
            }
            self.slice.set(FRESH);
            note_pause();
            tokio::task::yield_now().await;
            Ok(())
        })
    }

    fn ask_file(&mut self, name: &[u8]) -> Flush<'_> {
        let name = name.to_vec();
        Box::pin(async move {
            if self.capabilities & capability::LOCAL_FILES == 0 {
                return Err(SqlError::fixed(codes::ER_CLIENT_LOCAL_FILES_DISABLED));
            }
            write_local_infile(&name, &mut self.output.writer);
            let sent = self.output.flush().await;
            sent.map_err(|_| SqlError::fixed(codes::ER_NET_ERROR_ON_WRITE))?;
            let mut decoder = Decoder::new(FILE_PACKET_MAX);
            decoder.set_sequence(self.output.writer.sequence());
            self.file = Some(decoder);
            Ok(())
        })
    }

    fn gone(&mut self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.output.closed())
    }

    fn file_chunk(&mut self) -> Chunk<'_> {
        Box::pin(async move {
            loop {
                let Some(decoder) = &mut self.file else {
                    return Ok(None);
                };
                let packet = decoder.next_packet();
                let packet = packet.map_err(|_| SqlError::fixed(codes::ER_NET_READ_ERROR))?;
                match packet.map(<[u8]>::to_vec) {
                    Some(bytes) if bytes.is_empty() => {
                        self.output.writer.set_sequence(decoder.sequence());
                        self.file = None;
                        return Ok(None);
                    }
                    Some(bytes) => return Ok(Some(bytes)),
                    None => {
                        let came = self.output.receive(decoder).await;
                        if came.is_err() {
                            self.file = None;
                            return Err(SqlError::fixed(codes::ER_NET_READ_ERROR));
                        }
                    }
                }
            }
        })
    }

    fn finish(&mut self, done: &Done) {
        if self.in_row {
            // A stored program goes on behind a row that failed.
            self.output.writer.abandon();
            self.in_row = false;
        }
        self.status = status_of(done);
        let (capabilities, warnings) = (self.capabilities, done.warnings);
        for change in &done.changes {
            if let StateChange::Variable(name, value) = change
                && name == "character_set_results"
            {
                self.to = Charset::by_name(value).filter(|c| *c != Charset::Binary);
            }
        }
        let writer = &mut self.output.writer;
        if !done.result_set {
            return write_done(done, self.status, capabilities, writer);
        }
        let mut status = self.status;
        if let Some(cursor) = &mut self.cursor {
            cursor.opened(status);
            status |= status::CURSOR_EXISTS;
        }
        self.before = None;
        let changes = changes_of(&done.changes);
        write_rows_end_telling(status, warnings, changes.encoded(), capabilities, writer);
    }
}

/// What the client is told of its session.
pub(super) fn changes_of(list: &[StateChange]) -> SessionState {
    let mut changes = SessionState::default();
    for change in list {
        match change {
            StateChange::Schema(name) => changes.schema(name.as_bytes()),
            StateChange::Gtids(set) => changes.gtids(set.as_bytes()),
            StateChange::Variable(name, value) => {
                changes.system_variable(name.as_bytes(), value.as_bytes());
            }
        }
    }
    changes
}

fn write_done(done: &Done, status: u16, capabilities: u32, writer: &mut PacketWriter) {
    let changes = changes_of(&done.changes);
    let ok = OkPacket {
        affected_rows: done.affected,
        last_insert_id: done.last_insert_id,
        status,
        warnings: done.warnings,
        info: done.info.as_bytes(),
        session_state: changes.encoded(),
    };
    write_ok(&ok, capabilities, writer);
}

/// The status flags of an OK or EOF packet.
fn status_of(done: &Done) -> u16 {
    let flag = |on: bool, flag: u16| if on { flag } else { 0 };
    flag(done.autocommit, status::AUTOCOMMIT)
        | flag(done.in_transaction, status::IN_TRANS)
        | flag(done.in_read_only_transaction, status::IN_TRANS_READONLY)
        | flag(done.more, status::MORE_RESULTS_EXISTS)
        | flag(done.out_params, status::PS_OUT_PARAMS)
        | flag(done.no_index_used, status::NO_INDEX_USED)
        | flag(done.no_backslash_escapes, status::NO_BACKSLASH_ESCAPES)
}
