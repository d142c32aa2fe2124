//! A connection on a blocking socket, for tests and tools. The one place of this crate that does I/O.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use super::result::Column;
use super::{ClientError, Login, LoginStep, ResultReader, ResultSet, ServerError, Value, request};
use crate::command::{CURSOR_TYPE_READ_ONLY, code};
use crate::packet::{Decoder, LARGEST_MAX_ALLOWED_PACKET, PacketWriter};
use crate::read::Reader;
use crate::response::{ERR_HEADER, LOCAL_INFILE_HEADER};

/// A file is sent in packets of this size.
const PIECE: usize = 64 * 1024;

/// What goes over a socket in the place of plain bytes: TLS, of which this crate knows nothing.
pub trait Secured: Read + Write + Send + std::fmt::Debug {}

/// How a connection over TCP goes about TLS.
pub struct Securing<'a> {
    /// A server that has none is refused.
    pub required: bool,
    /// Makes TLS of a socket, once the server has been asked for it.
    pub begin: &'a dyn Fn(TcpStream) -> std::io::Result<Box<dyn Secured>>,
}

impl std::fmt::Debug for Securing<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Securing")
            .field("required", &self.required)
            .finish_non_exhaustive()
    }
}

/// A socket of either kind.
#[derive(Debug)]
enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
    /// And the socket under it.
    Secured(Box<dyn Secured>, TcpStream),
}

impl Socket {
    fn read(&mut self, space: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let n = match self {
                Socket::Unix(stream) => stream.read(space),
                Socket::Tcp(stream) => stream.read(space),
                Socket::Secured(stream, _) => stream.read(space),
            };
            // With a time limit the kernel does not go on by itself after the process was stopped and continued.
            match n {
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                n => return n,
            }
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match self {
            Socket::Unix(stream) => stream.write_all(bytes),
            Socket::Tcp(stream) => stream.write_all(bytes),
            Socket::Secured(stream, _) => stream.write_all(bytes),
        }
    }
}

/// A logged-in connection.
#[derive(Debug)]
pub struct Conn {
    socket: Socket,
    decoder: Decoder,
    writer: PacketWriter,
    login: Login,
}

/// A prepared statement of a [`Conn`].
#[derive(Debug, Clone)]
pub struct Statement {
    /// The server's id.
    pub id: u32,
    /// Its number of parameters.
    pub params: usize,
    /// The columns it will give; empty when it gives none.
    pub columns: Vec<Column>,
}

impl Conn {
    /// Connects over a Unix socket, taken as a secure transport.
    ///
    /// # Errors
    /// Of the socket, or the server's refusal.
    pub fn connect_unix(
        path: impl AsRef<Path>,
        user: &str,
        password: &str,
        database: Option<&str>,
    ) -> Result<Conn, ClientError> {
        let socket = Socket::Unix(UnixStream::connect(path)?);
        Conn::log_in(socket, Login::new(user, password, database, true))
    }

    /// Connects over TCP, an open transport.
    ///
    /// # Errors
    /// Of the socket, or the server's refusal.
    pub fn connect_tcp(
        address: impl ToSocketAddrs,
        user: &str,
        password: &str,
        database: Option<&str>,
    ) -> Result<Conn, ClientError> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let login = Login::new(user, password, database, false);
        Conn::log_in(Socket::Tcp(stream), login)
    }

    /// As [`Conn::connect_tcp`], over TLS as `securing` says, and with at most `limit`, if there is one, for the connection to come about, and for
    /// each answer.
    ///
    /// # Errors
    /// Of the socket, of TLS, or the server's refusal.
    pub fn connect_tcp_secured(
        (host, port): (&str, u16),
        user: &str,
        password: &str,
        limit: Option<Duration>,
        securing: Option<Securing<'_>>,
    ) -> Result<Conn, ClientError> {
        let mut last = std::io::Error::from(std::io::ErrorKind::AddrNotAvailable);
        for address in (host, port).to_socket_addrs()? {
            let stream = match limit {
                Some(limit) => TcpStream::connect_timeout(&address, limit),
                None => TcpStream::connect(address),
            };
            match stream {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    stream.set_read_timeout(limit)?;
                    let login = Login::new(user, password, None, false);
                    let mut conn = Conn::over(Socket::Tcp(stream), login);
                    match securing {
                        Some(securing) => conn.log_in_secured(&securing)?,
                        None => conn.exchange_login()?,
                    }
                    return Ok(conn);
                }
                Err(e) => last = e,
            }
        }
        Err(last.into())
    }

    /// Asks for TLS where the server has it, and logs in.
    fn log_in_secured(&mut self, securing: &Securing<'_>) -> Result<(), ClientError> {
        let greeting = self.next_packet()?.to_vec();
        let Socket::Tcp(socket) = &self.socket else {
            return self.go_on_with_login(&greeting);
        };
        if greeting.first() == Some(&ERR_HEADER) {
            return self.go_on_with_login(&greeting);
        }
        let socket = socket.try_clone()?;
        if super::ssl_request(&greeting, &mut self.writer)? {
            self.flush()?;
            // What has come in the open behind the greeting is not the server's word over TLS.
            self.decoder.take_buffered();
            let secured = (securing.begin)(socket.try_clone()?)?;
            self.socket = Socket::Secured(secured, socket);
            self.login.over_tls();
            self.decoder.set_sequence(2);
        } else if securing.required {
            let why = "SSL connection error: SSL is required but the server doesn't support it";
            return Err(std::io::Error::other(why).into());
        }
        self.go_on_with_login(&greeting)
    }

    /// As [`Conn::connect_unix`] with a login of the caller's making.
    ///
    /// # Errors
    /// Of the socket, or the server's refusal.
    pub fn connect_unix_with(path: impl AsRef<Path>, login: Login) -> Result<Conn, ClientError> {
        Conn::log_in(Socket::Unix(UnixStream::connect(path)?), login)
    }

    fn over(socket: Socket, login: Login) -> Conn {
        Conn {
            socket,
            decoder: Decoder::new(LARGEST_MAX_ALLOWED_PACKET),
            writer: PacketWriter::new(),
            login,
        }
    }

    fn log_in(socket: Socket, login: Login) -> Result<Conn, ClientError> {
        let mut conn = Conn::over(socket, login);
        conn.exchange_login()?;
        Ok(conn)
    }

    fn exchange_login(&mut self) -> Result<(), ClientError> {
        let first = self.next_packet()?.to_vec();
        self.go_on_with_login(&first)
    }

    fn go_on_with_login(&mut self, first: &[u8]) -> Result<(), ClientError> {
        let mut packet = first.to_vec();
        loop {
            self.writer.set_sequence(self.decoder.sequence());
            let step = self.login.packet(&packet, &mut self.writer)?;
            self.flush()?;
            if step == LoginStep::Done {
                return Ok(());
            }
            packet = self.next_packet()?.to_vec();
        }
    }

    /// Gives up on reads that take longer, so that a test of a server that hangs fails. `None` waits for ever.
    ///
    /// # Errors
    /// Of the socket.
    pub fn set_read_timeout(&mut self, limit: Option<Duration>) -> Result<(), ClientError> {
        match &self.socket {
            Socket::Unix(stream) => stream.set_read_timeout(limit)?,
            Socket::Tcp(stream) | Socket::Secured(_, stream) => {
                stream.set_read_timeout(limit)?;
            }
        }
        Ok(())
    }

    /// What both sides can do.
    pub fn capabilities(&self) -> u32 {
        self.login.capabilities()
    }

    /// Runs SQL text; several statements give several results.
    ///
    /// # Errors
    /// The server's error, or of the connection.
    pub fn query(&mut self, sql: &str) -> Result<Vec<ResultSet>, ClientError> {
        self.query_bytes(sql.as_bytes())
    }

    /// Runs SQL text and hands each row on as it comes; what `each` fails with ends it, and the connection is of no use then.
    ///
    /// # Errors
    /// The server's error, of the connection, or that of `each`.
    pub fn query_each<E: From<ClientError>>(
        &mut self,
        sql: &str,
        mut each: impl FnMut(Vec<Value>) -> Result<(), E>,
    ) -> Result<(), E> {
        request::query(sql.as_bytes(), self.capabilities(), &mut self.writer);
        self.flush().map_err(E::from)?;
        let mut reader = ResultReader::new(self.capabilities(), false);
        loop {
            let packet = self.next_packet().map_err(E::from)?;
            let ended = reader.packet(packet).map_err(E::from)?;
            if ended.is_some() {
                return Ok(());
            }
            for row in reader.take_rows() {
                each(row)?;
            }
        }
    }

    /// As [`Conn::query`] with text in whatever character set the connection has.
    ///
    /// # Errors
    /// The server's error, or of the connection.
    pub fn query_bytes(&mut self, sql: &[u8]) -> Result<Vec<ResultSet>, ClientError> {
        request::query(sql, self.capabilities(), &mut self.writer);
        self.answer(ResultReader::new(self.capabilities(), false))
    }

    /// Runs LOAD DATA LOCAL; whatever file the server asks for, it is sent `content`. The login must have asked for
    /// [`LOCAL_FILES`](crate::capability::LOCAL_FILES), which it does not by itself: a server that may ask a client for
    /// files is trusted.
    ///
    /// # Errors
    /// The server's error, or of the connection.
    pub fn query_with_file(
        &mut self,
        sql: &[u8],
        content: &[u8],
    ) -> Result<Vec<ResultSet>, ClientError> {
        request::query(sql, self.capabilities(), &mut self.writer);
        self.flush()?;
        let mut reader = ResultReader::new(self.capabilities(), false);
        let packet = self.next_packet()?;
        if packet.first() != Some(&LOCAL_INFILE_HEADER) {
            if let Some(results) = reader.packet(packet)? {
                return Ok(results);
            }
            return self.answer(reader);
        }
        self.writer.set_sequence(self.decoder.sequence());
        let pieces = content.chunks(PIECE).filter(|piece| !piece.is_empty());
        for piece in pieces.chain(std::iter::once(&[][..])) {
            self.writer.begin();
            self.writer.buf().extend_from_slice(piece);
            self.writer.end();
        }
        self.answer(reader)
    }

    /// Prepares a statement.
    ///
    /// # Errors
    /// The server's error, or of the connection.
    pub fn prepare(&mut self, sql: &str) -> Result<Statement, ClientError> {
        self.prepare_bytes(sql.as_bytes())
    }

    /// As [`Conn::prepare`] with text in whatever character set the connection has.
    ///
    /// # Errors
    /// The server's error, or of the connection.
    pub fn prepare_bytes(&mut self, sql: &[u8]) -> Result<Statement, ClientError> {
        request::command(code::STMT_PREPARE, sql, &mut self.writer);
        let head = self.single()?;
        let mut reader = Reader::new(&head);
        reader.u8()?;
        let id = reader.u32()?;
        let columns = usize::from(reader.u16()?);
        let params = usize::from(reader.u16()?);
        self.definitions(params)?;
        Ok(Statement {
            id,
            params,
            columns: self.definitions(columns)?,
        })
    }

    fn definitions(&mut self, count: usize) -> Result<Vec<Column>, ClientError> {
        let mut columns = Vec::new();
        for _ in 0..count {
            columns.push(Column::parse(self.next_packet()?)?);
        }
        if count > 0 && !self.login.deprecates_eof() {
            self.next_packet()?;
        }
        Ok(columns)
    }

    /// Runs a prepared statement.
    ///
    /// # Errors
    /// The server's error, or of the connection.
    pub fn execute(
        &mut self,
        statement: &Statement,
        params: &[Value],
    ) -> Result<Vec<ResultSet>, ClientError> {
        let capabilities = self.capabilities();
        request::execute(statement.id, 0, params, capabilities, &mut self.writer);
        self.answer(ResultReader::new(capabilities, true))
    }

    /// Runs a prepared statement with a cursor; rows come by [`Conn::fetch`].
    ///
    /// # Errors
    /// The server's error, or of the connection.
    pub fn execute_cursor(
        &mut self,
        statement: &Statement,
        params: &[Value],
    ) -> Result<Vec<ResultSet>, ClientError> {
        let capabilities = self.capabilities();
        let flags = CURSOR_TYPE_READ_ONLY;
        request::execute(statement.id, flags, params, capabilities, &mut self.writer);
        self.answer(ResultReader::new(capabilities, true))
    }

    /// Fetches at most `rows` rows of a cursor.
    ///
    /// # Errors
    /// The server's error, or of the connection.
    pub fn fetch(&mut self, statement: &Statement, rows: u32) -> Result<ResultSet, ClientError> {
        request::fetch(statement.id, rows, &mut self.writer);
        let reader = ResultReader::for_fetch(self.capabilities(), statement.columns.clone());
        let mut answer = self.answer(reader)?;
        Ok(answer.pop().unwrap_or_default())
    }

    /// Sends a piece of a parameter ahead; the server does not answer.
    ///
    /// # Errors
    /// Of the connection.
    pub fn send_long_data(
        &mut self,
        statement: &Statement,
        param: u16,
        data: &[u8],
    ) -> Result<(), ClientError> {
        request::send_long_data(statement.id, param, data, &mut self.writer);
        self.flush()
    }

    /// Forgets a statement; the server does not answer.
    ///
    /// # Errors
    /// Of the connection.
    pub fn close(&mut self, statement: &Statement) -> Result<(), ClientError> {
        let id = statement.id.to_le_bytes();
        request::command(code::STMT_CLOSE, &id, &mut self.writer);
        self.flush()
    }

    /// Sends any command that is answered by OK or ERR (COM_PING, COM_INIT_DB, COM_RESET_CONNECTION, …).
    ///
    /// # Errors
    /// The server's error, or of the connection.
    pub fn command(&mut self, command: u8, body: &[u8]) -> Result<ResultSet, ClientError> {
        request::command(command, body, &mut self.writer);
        let mut answer = self.answer(ResultReader::new(self.capabilities(), false))?;
        Ok(answer.pop().unwrap_or_default())
    }

    /// Sends any command and gives the payload of the first packet of the answer, unless that is an error.
    ///
    /// # Errors
    /// The server's error, or of the connection.
    pub fn raw_command(&mut self, command: u8, body: &[u8]) -> Result<Vec<u8>, ClientError> {
        request::command(command, body, &mut self.writer);
        self.single()
    }

    /// COM_CHANGE_USER.
    ///
    /// # Errors
    /// The server's refusal, or of the connection.
    pub fn change_user(
        &mut self,
        user: &str,
        password: &str,
        database: Option<&str>,
    ) -> Result<(), ClientError> {
        let new = Login::new(user, password, database, false);
        self.writer.set_sequence(0);
        self.login.change_user(new, &mut self.writer);
        self.flush()?;
        self.exchange_login()
    }

    /// Sends bytes as they are, to see what a server makes of them; its answer is expected to have sequence number
    /// `answer`.
    ///
    /// # Errors
    /// Of the connection.
    pub fn send_raw(&mut self, bytes: &[u8], answer: u8) -> Result<(), ClientError> {
        self.decoder.set_sequence(answer);
        Ok(self.socket.write_all(bytes)?)
    }

    /// Reads one packet, whatever it is.
    ///
    /// # Errors
    /// Of the connection; [`std::io::ErrorKind::UnexpectedEof`] when the server closed it.
    pub fn next_packet(&mut self) -> Result<&[u8], ClientError> {
        let place = loop {
            if let Some(place) = self.decoder.take_packet()? {
                break place;
            }
            let n = self.socket.read(self.decoder.space())?;
            if n == 0 {
                return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into());
            }
            self.decoder.filled(n);
        };
        Ok(self.decoder.payload(place))
    }

    fn single(&mut self) -> Result<Vec<u8>, ClientError> {
        self.flush()?;
        let packet = self.next_packet()?;
        if packet.first() == Some(&ERR_HEADER) {
            return Err(ClientError::Server(ServerError::parse(packet)?));
        }
        Ok(packet.to_vec())
    }

    fn answer(&mut self, mut reader: ResultReader) -> Result<Vec<ResultSet>, ClientError> {
        self.flush()?;
        loop {
            if let Some(results) = reader.packet(self.next_packet()?)? {
                return Ok(results);
            }
        }
    }

    fn flush(&mut self) -> Result<(), ClientError> {
        self.decoder.set_sequence(self.writer.sequence());
        self.socket.write_all(self.writer.pending())?;
        self.writer.advance(usize::MAX);
        Ok(())
    }
}
