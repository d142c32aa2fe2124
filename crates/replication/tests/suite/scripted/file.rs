//! A file of the binary log of a source, made by hand.

use types::gtid::{Gtid, Sid};
use types::{DataType, IntWidth, Value};
use wire::binlog::column::ColumnType;
use wire::binlog::control::Transaction;
use wire::binlog::format::Format;
use wire::binlog::frame::{Checksum, put_event};
use wire::binlog::header::{Header, kind};
use wire::binlog::query::Query;
use wire::binlog::rows::{self, Change, put_front, put_image};
use wire::binlog::table_map::{Column, Metadata, TableMap};
use wire::write::Put;

/// The name of the source.
pub const SID: Sid = Sid([9; 16]);

/// A row of `d.t`, where there is one.
pub type Image = Option<[Value; 2]>;

/// A file in the making: definitions, and rows of `d.t`, which has a number and a text.
pub struct File {
    pub bytes: Vec<u8>,
    checksum: Checksum,
    sequence: i64,
    /// Whose transactions they are.
    pub sid: Sid,
    /// The number in the name of transactions, where it is not where they stand in the file.
    pub number: Option<u64>,
    /// Transactions have no GTIDs.
    pub anonymous: bool,
    /// What statements depend on; `None`: on all before them.
    pub clock: Option<i64>,
    /// Bytes of the longest text.
    text: u16,
    /// The default database of statements, and that of rows' tables.
    pub database: &'static str,
    /// The table of rows.
    pub table: &'static str,
}

impl File {
    /// One without transactions. `chars`: of `d.t.a`.
    pub fn new(checksum: Checksum, chars: u16) -> File {
        let mut file = File {
            bytes: wire::binlog::MAGIC.to_vec(),
            checksum: Checksum::Crc32,
            sequence: 0,
            sid: SID,
            number: None,
            anonymous: false,
            clock: None,
            text: chars * 4,
            database: "d",
            table: "t",
        };
        let format = Format::new("8.0.41", 0, checksum);
        file.event(kind::FORMAT_DESCRIPTION, |out| format.write(out));
        file.checksum = checksum;
        file
    }

    /// One of MariaDB's, without transactions.
    pub fn of_mariadb(version: &str, chars: u16) -> File {
        let mut file = File::new(Checksum::Crc32, chars);
        file.bytes = wire::binlog::MAGIC.to_vec();
        let format = Format::new(version, 0, Checksum::Crc32);
        file.event(kind::FORMAT_DESCRIPTION, |out| format.write(out));
        file
    }

    /// The GTID of the next transaction of MariaDB, 0-1-n: a single event follows, or all up to a commit.
    pub fn mariadb(&mut self, alone: bool) {
        self.sequence += 1;
        let sequence = self.sequence as u64;
        self.event(kind::MARIA_GTID, |out| {
            out.put_u64(sequence);
            out.put_u32(0);
            out.put_u8(if alone { 0x21 } else { 0x0C });
            out.extend([0; 6]);
        });
    }

    pub fn event(&mut self, kind: u8, fill: impl FnOnce(&mut Vec<u8>)) {
        let header = Header {
            timestamp: 1_700_000_000,
            kind,
            server_id: 1,
            next_position: self.bytes.len() as u32,
            ..Header::default()
        };
        put_event(header, self.checksum, &mut self.bytes, fill);
    }

    /// The number of the last transaction.
    pub fn last(&self) -> i64 {
        self.sequence
    }

    /// The GTID of the next transaction, which depends on that one.
    pub fn begin(&mut self, last_committed: i64) {
        self.sequence += 1;
        let t = Transaction {
            gtid: (!self.anonymous).then_some(Gtid {
                sid: self.sid,
                number: self.number.unwrap_or(self.sequence as u64),
            }),
            statements: true,
            last_committed,
            sequence_number: self.sequence,
            original_commit_micros: 0,
            immediate_commit_micros: 0,
            length: 0,
            original_version: 80_041,
            immediate_version: 80_041,
        };
        let kind = match self.anonymous {
            true => kind::ANONYMOUS_GTID,
            false => kind::GTID,
        };
        self.event(kind, |out| t.write(out));
    }

    pub fn query(&mut self, statement: &str) {
        let query = Query {
            database: self.database.as_bytes(),
            statement: statement.as_bytes(),
            ..Query::default()
        };
        self.event(kind::QUERY, |out| query.write(out));
    }

    /// A statement that commits by itself.
    pub fn statement(&mut self, statement: &str) {
        self.begin(self.clock.unwrap_or(self.sequence));
        self.query(statement);
    }

    /// Rows of `d.t`: what was there, what is there.
    pub fn rows(&mut self, change: Change, rows: &[(Image, Image)]) {
        let map = TableMap {
            database: self.database.into(),
            table: self.table.into(),
            ..map(self.text)
        };
        self.event(kind::TABLE_MAP, |out| map.write(Metadata::Minimal, out));
        let all = [true, true];
        let after = (change == Change::Update).then_some(&all[..]);
        self.event(change.kind(), |out| {
            put_front(map.id, rows::flag::STATEMENT_END, &all, after, out);
            for image in rows.iter().flat_map(|(a, b)| [a, b]).flatten() {
                let value = |c: usize| image[c].as_ref();
                put_image(&map, &all, value, out).expect("values of their types");
            }
        });
    }

    fn insert(&mut self, rows: &[(i64, String)]) {
        let rows: Vec<_> = rows.iter().map(|(n, a)| (None, row(*n, a))).collect();
        self.rows(Change::Write, &rows);
    }

    pub fn commit(&mut self) {
        self.event(kind::XID, |out| out.put_u64(1));
    }

    /// A transaction that inserts rows.
    pub fn inserts(&mut self, last_committed: i64, rows: &[(i64, String)]) {
        self.inserts_in_events(last_committed, &[rows.to_vec()]);
    }

    /// The same with several events.
    pub fn inserts_in_events(&mut self, last_committed: i64, events: &[Vec<(i64, String)>]) {
        self.begin(last_committed);
        self.query("BEGIN");
        events.iter().for_each(|rows| self.insert(rows));
        self.commit();
    }

    /// A transaction of statements.
    pub fn statements(&mut self, last_committed: i64, statements: &[&str]) {
        self.begin(last_committed);
        self.query("BEGIN");
        statements.iter().for_each(|s| self.query(s));
        self.commit();
    }

    /// A transaction that does not go on.
    pub fn half_a_transaction(&mut self, rows: &[(i64, String)]) {
        self.begin(0);
        self.query("BEGIN");
        self.insert(rows);
    }

    /// A transaction that changes rows: number, what was there, what is there.
    pub fn updates(&mut self, last_committed: i64, rows: &[(i64, String, String)]) {
        self.begin(last_committed);
        self.query("BEGIN");
        let one = |(n, a, b): &(i64, String, String)| (row(*n, a), row(*n, b));
        let rows: Vec<_> = rows.iter().map(one).collect();
        self.rows(Change::Update, &rows);
        self.commit();
    }
}

/// `d.t`, with texts of so many bytes.
pub fn map(text: u16) -> TableMap {
    let column = |ty: DataType| Column {
        ty: ColumnType::of(&ty).expect("a type"),
        nullable: true,
        unsigned: false,
        collation: None,
        name: Vec::new(),
        members: Vec::new(),
        visible: true,
    };
    TableMap {
        id: 5,
        database: b"d".to_vec(),
        table: b"t".to_vec(),
        columns: vec![
            column(DataType::int(IntWidth::Int, false)),
            column(DataType::VarBinary(text.into())),
        ],
        primary_key: Vec::new(),
    }
}

/// A row of it.
pub fn row(id: i64, text: &str) -> Image {
    Some([Value::Int(id), Value::Bytes(text.as_bytes().to_vec())])
}
