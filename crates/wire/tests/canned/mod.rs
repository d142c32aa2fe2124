//! A server with one account and canned answers, one thread a connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wire::auth::{AuthContext, Authenticator, Credential, Plugin, Step};
use wire::capability;
use wire::column_type::{ColumnType, UNSIGNED};
use wire::command::{Command, StmtExecute};
use wire::handshake::{ClientHello, Greeting, Nonce, SERVER_VERSION};
use wire::packet::DEFAULT_MAX_ALLOWED_PACKET;
use wire::param::{LongData, ParamTypes, ParamValue};
use wire::response::{
    BinaryRow, ColumnDef, OkPacket, TextRow, write_column_count, write_columns_end, write_err,
    write_ok, write_prepare_ok, write_protocol_error, write_rows_end,
};
use wire::{Decoder, PacketWriter, ProtocolError, status};

type Fault = Box<dyn std::error::Error>;

/// The one account.
#[derive(Debug, Clone)]
pub struct Account {
    pub user: &'static str,
    pub credential: Credential,
}

/// A running server; its threads end with the process.
pub struct CannedServer {
    path: PathBuf,
    address: SocketAddr,
}

impl CannedServer {
    pub fn start(name: &str, account: Account) -> std::io::Result<CannedServer> {
        let path = std::env::temp_dir().join(format!("wire-{}-{name}.sock", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let unix = UnixListener::bind(&path)?;
        let tcp = TcpListener::bind("127.0.0.1:0")?;
        let address = tcp.local_addr()?;
        let context = Arc::new(AuthContext::default());
        let (unix_context, unix_account) = (context.clone(), account.clone());
        std::thread::spawn(move || {
            for stream in unix.incoming().flatten() {
                let (context, account) = (unix_context.clone(), unix_account.clone());
                std::thread::spawn(move || serve(stream, true, &context, &account));
            }
        });
        std::thread::spawn(move || {
            for stream in tcp.incoming().flatten() {
                let (context, account) = (context.clone(), account.clone());
                std::thread::spawn(move || serve(stream, false, &context, &account));
            }
        });
        Ok(CannedServer { path, address })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for CannedServer {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

struct Session<S> {
    stream: S,
    decoder: Decoder,
    writer: PacketWriter,
    nonce: Nonce,
    secure: bool,
    capabilities: u32,
}

fn serve<S: Read + Write>(stream: S, secure: bool, context: &AuthContext, account: &Account) {
    let Ok(nonce) = Nonce::generate() else {
        return;
    };
    let mut session = Session {
        stream,
        decoder: Decoder::new(DEFAULT_MAX_ALLOWED_PACKET),
        writer: PacketWriter::new(),
        nonce,
        secure,
        capabilities: 0,
    };
    if let Err(fault) = session.run(context, account)
        && let Some(&error) = fault.downcast_ref::<ProtocolError>()
    {
        session.writer.set_sequence(session.decoder.sequence());
        write_protocol_error(error, &mut session.writer);
        let _ = session.flush();
    }
}

impl<S: Read + Write> Session<S> {
    fn run(&mut self, context: &AuthContext, account: &Account) -> Result<(), Fault> {
        Greeting::new(SERVER_VERSION.as_bytes(), 1, self.nonce).write(&mut self.writer);
        self.flush()?;
        let packet = self.packet()?;
        let ClientHello::Login(login) = ClientHello::parse(&packet, capability::SERVER)? else {
            return Err(ProtocolError::BadHandshake.into());
        };
        self.capabilities = login.capabilities;
        let (plugin, answer) = (login.auth_plugin, login.auth_response);
        self.authenticate(context, account, login.user, plugin, answer)?;
        let mut types = ParamTypes::default();
        let mut long_data = LongData::default();
        let mut cursor = None;
        loop {
            self.decoder.expect_command();
            let packet = self.packet()?;
            match Command::parse(&packet, self.capabilities) {
                Ok(Command::Quit) => return Ok(()),
                Ok(Command::Query { sql, .. }) => self.query(sql),
                Ok(Command::ChangeUser(change)) => {
                    let (plugin, answer) = (change.auth_plugin, change.auth_response);
                    self.authenticate(context, account, change.user, plugin, answer)?;
                }
                Ok(Command::StmtPrepare(_)) => self.prepare(),
                Ok(Command::StmtExecute(execute)) => {
                    if execute.wants_cursor() {
                        self.columns(status::CURSOR_EXISTS);
                        cursor = Some(packet.clone());
                    } else {
                        self.echo(&execute, &mut types, &long_data)?;
                        long_data.clear();
                    }
                }
                Ok(Command::StmtFetch { .. }) => {
                    let kept = cursor.take().ok_or("no cursor")?;
                    if let Command::StmtExecute(execute) = Command::parse(&kept, self.capabilities)?
                    {
                        self.row(&execute, &mut types, &long_data)?;
                    }
                    let flags = status::CURSOR_EXISTS | status::LAST_ROW_SENT;
                    write_rows_end(flags, 0, self.capabilities, &mut self.writer);
                }
                Ok(Command::StmtSendLongData { param, data, .. }) => {
                    long_data.append(param, data, 8, DEFAULT_MAX_ALLOWED_PACKET);
                }
                Ok(Command::StmtClose(_)) => {}
                Ok(_) => self.ok(0, 0),
                Err(error) if error.is_fatal() => return Err(error.into()),
                Err(error) => write_protocol_error(error, &mut self.writer),
            }
            self.flush()?;
        }
    }

    fn authenticate(
        &mut self,
        context: &AuthContext,
        account: &Account,
        user: &[u8],
        plugin: Option<&[u8]>,
        answer: &[u8],
    ) -> Result<(), Fault> {
        let credential = if user == account.user.as_bytes() {
            account.credential.clone()
        } else {
            Credential::Denied
        };
        let asked = match &credential {
            Credential::Native(_) => Plugin::Native,
            _ => Plugin::Sha2,
        };
        let mut auth = Authenticator::new(self.nonce, asked, credential, self.secure);
        let mut step = auth.start(context, plugin, answer, &mut self.writer);
        while step == Step::NeedMore {
            self.flush()?;
            let packet = self.packet()?;
            step = auth.resume(context, &packet, &mut self.writer);
        }
        if step == Step::Fail {
            write_err(1045, "28000", b"Access denied", &mut self.writer);
            self.flush()?;
            return Err("access denied".into());
        }
        self.ok(0, 0);
        Ok(self.flush()?)
    }

    fn query(&mut self, sql: &[u8]) {
        let capabilities = self.capabilities;
        if sql != b"two" && !sql.starts_with(b"len:") {
            return self.ok(0, 0);
        }
        let writer = &mut self.writer;
        let two = sql == b"two";
        write_column_count(1 + usize::from(two), writer);
        ColumnDef::new(b"a", ColumnType::VarString).write(writer);
        if two {
            ColumnDef::new(b"b", ColumnType::LongLong).write(writer);
        }
        write_columns_end(0, 0, capabilities, writer);
        let mut row = TextRow::begin(writer);
        if two {
            row.int(1);
            row.null();
        } else {
            row.bytes(sql);
        }
        row.end();
        let more = if two { status::MORE_RESULTS_EXISTS } else { 0 };
        write_rows_end(more, 0, capabilities, writer);
        if two {
            self.ok(7, 2);
        }
    }

    fn ok(&mut self, affected_rows: u64, warnings: u16) {
        let ok = OkPacket {
            affected_rows,
            warnings,
            status: status::AUTOCOMMIT,
            ..OkPacket::default()
        };
        write_ok(&ok, self.capabilities, &mut self.writer);
    }

    fn prepare(&mut self) {
        write_prepare_ok(1, 8, 8, 0, &mut self.writer);
        for _ in 0..8 {
            ColumnDef::new(b"?", ColumnType::VarString).write(&mut self.writer);
        }
        write_columns_end(0, 0, self.capabilities, &mut self.writer);
        self.definitions();
        write_columns_end(0, 0, self.capabilities, &mut self.writer);
    }

    fn definitions(&mut self) {
        use ColumnType::*;
        let kinds = [
            LongLong, LongLong, Double, Long, VarString, Date, DateTime, Time,
        ];
        for (index, kind) in kinds.into_iter().enumerate() {
            let mut column = ColumnDef::new(b"c", kind);
            column.flags = if index == 1 { UNSIGNED } else { 0 };
            column.write(&mut self.writer);
        }
    }

    fn columns(&mut self, cursor: u16) {
        write_column_count(8, &mut self.writer);
        self.definitions();
        if cursor != 0 {
            write_rows_end(cursor, 0, self.capabilities, &mut self.writer);
        } else {
            write_columns_end(0, 0, self.capabilities, &mut self.writer);
        }
    }

    fn echo(
        &mut self,
        execute: &StmtExecute<'_>,
        types: &mut ParamTypes,
        long_data: &LongData,
    ) -> Result<(), Fault> {
        self.columns(0);
        self.row(execute, types, long_data)?;
        write_rows_end(0, 0, self.capabilities, &mut self.writer);
        Ok(())
    }

    fn row(
        &mut self,
        execute: &StmtExecute<'_>,
        types: &mut ParamTypes,
        long_data: &LongData,
    ) -> Result<(), Fault> {
        let params = types.bind(execute, 8, long_data, self.capabilities)?;
        let mut row = BinaryRow::begin(8, &mut self.writer);
        for value in params {
            match value? {
                ParamValue::Null => row.null(),
                ParamValue::Int(value) => row.longlong(value),
                ParamValue::UInt(value) => row.ulonglong(value),
                ParamValue::Float(value) => row.float(value),
                ParamValue::Double(value) => row.double(value),
                ParamValue::Decimal(bytes) | ParamValue::Text(bytes) | ParamValue::Blob(bytes) => {
                    row.bytes(bytes);
                }
                ParamValue::Date(value) => row.date(&value),
                ParamValue::DateTime(value) => row.datetime(&value),
                ParamValue::Time(value) => row.time(&value),
            }
        }
        row.end();
        Ok(())
    }

    fn packet(&mut self) -> Result<Vec<u8>, Fault> {
        loop {
            if let Some(place) = self.decoder.take_packet()? {
                self.writer.set_sequence(self.decoder.sequence());
                return Ok(self.decoder.payload(place).to_vec());
            }
            let n = self.stream.read(self.decoder.space())?;
            if n == 0 {
                return Err("closed".into());
            }
            self.decoder.filled(n);
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.stream.write_all(self.writer.pending())?;
        self.decoder.set_sequence(self.writer.sequence());
        self.writer.advance(usize::MAX);
        Ok(())
    }
}
