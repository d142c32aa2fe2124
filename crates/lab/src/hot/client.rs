//! Many connections on one thread: a client that waits costs the servers' cores nothing, and one that is answered little.

use harness::step::Outcome;
use std::path::Path;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use wire::client::{Login, LoginStep, ServerError, request};
use wire::command::code;
use wire::packet::PacketPlace;
use wire::response::ERR_HEADER;
use wire::{Decoder, PacketWriter};

/// ER_LOCK_DEADLOCK.
const DEADLOCK: u16 = 1213;

/// What a statement without a result set came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It is done.
    Done,
    /// Its transaction was rolled back to end a deadlock.
    Deadlock,
}

/// A connection that runs statements without result sets.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
    input: Decoder,
    output: PacketWriter,
    capabilities: u32,
}

fn said(e: impl std::fmt::Display) -> String {
    e.to_string()
}

impl Client {
    /// Logs in as root.
    pub async fn connect(socket: &Path, database: &str) -> Outcome<Client> {
        let mut client = Client {
            stream: UnixStream::connect(socket).await.map_err(said)?,
            input: Decoder::new(1 << 20),
            output: PacketWriter::new(),
            capabilities: 0,
        };
        let mut login = Login::new("root", "", Some(database), true);
        loop {
            let place = client.packet().await?;
            client.output.set_sequence(client.input.sequence());
            let packet = client.input.payload(place);
            let step = login.packet(packet, &mut client.output).map_err(said)?;
            client.send().await?;
            if step == LoginStep::Done {
                client.capabilities = login.capabilities();
                return Ok(client);
            }
        }
    }

    async fn packet(&mut self) -> Outcome<PacketPlace> {
        loop {
            if let Some(place) = self.input.take_packet().map_err(said)? {
                return Ok(place);
            }
            let n = self.stream.read(self.input.space()).await.map_err(said)?;
            if n == 0 {
                return Err("the server closed a connection".to_owned());
            }
            self.input.filled(n);
        }
    }

    async fn send(&mut self) -> Outcome<()> {
        self.input.set_sequence(self.output.sequence());
        let sent = self.stream.write_all(self.output.pending()).await;
        self.output.advance(usize::MAX);
        sent.map_err(said)
    }

    /// Prepares a statement that has no parameters and gives no rows.
    pub async fn prepare(&mut self, sql: &str) -> Outcome<u32> {
        request::command(code::STMT_PREPARE, sql.as_bytes(), &mut self.output);
        self.send().await?;
        let place = self.packet().await?;
        match self.input.payload(place) {
            [0, a, b, c, d, ..] => Ok(u32::from_le_bytes([*a, *b, *c, *d])),
            other => Err(format!("{sql}: {}", refusal(other))),
        }
    }

    /// Runs a prepared statement.
    pub async fn execute(&mut self, statement: u32) -> Outcome<Answer> {
        request::execute(statement, 0, &[], self.capabilities, &mut self.output);
        self.answer().await
    }

    /// Runs a statement as text.
    pub async fn query(&mut self, sql: &str) -> Outcome<Answer> {
        request::query(sql.as_bytes(), self.capabilities, &mut self.output);
        self.answer().await
    }

    async fn answer(&mut self) -> Outcome<Answer> {
        self.send().await?;
        let place = self.packet().await?;
        match self.input.payload(place) {
            [0, ..] => Ok(Answer::Done),
            [ERR_HEADER, a, b, ..] if u16::from_le_bytes([*a, *b]) == DEADLOCK => {
                Ok(Answer::Deadlock)
            }
            other => Err(refusal(other)),
        }
    }
}

fn refusal(packet: &[u8]) -> String {
    match ServerError::parse(packet) {
        Ok(e) => format!("{} {}", e.code, e.message),
        Err(e) => e.to_string(),
    }
}
