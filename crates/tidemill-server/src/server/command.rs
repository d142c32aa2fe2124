//! What each command of the protocol does: the packet is taken apart here and put into the hands of the session.

use std::pin::pin;

use sql::session::{Execution, PreparedInfo};
use sql_expr::memory::Charge;
use types::SqlError;
use types::error::codes;
use wire::ProtocolError;
use wire::column_type::{BINARY_COLLATION, ColumnType};
use wire::command::{Command, StmtExecute};
use wire::handshake::ChangeUser;
use wire::packet::PacketPlace;
use wire::response::{
    ColumnDef, write_columns_end, write_prepare_ok, write_protocol_error, write_rows_end,
    write_text,
};

use super::catch_unwind::{catch_unwind, catch_unwind_now};
use super::connection::{Connection, flags};
use super::encode;
use super::login::{Claim, Refused, authenticate};
use super::names;
use super::prepared::Prepared;
use super::presence::while_present;
use super::results::{FLUSH_AT, Form, Results};
use crate::offload::offload;

/// ER_STMT_HAS_NO_OPEN_CURSOR.
const NO_OPEN_CURSOR: u16 = 1421;
/// COM_REFRESH: what its bits ask for, as FLUSH names it.
const REFRESH: &[(u8, &str)] = &[
    (1, "PRIVILEGES"),
    (2, "LOGS"),
    (4, "TABLES"),
    (8, "HOSTS"),
    (16, "STATUS"),
];
/// COM_SET_OPTION: several statements in a text.
const MULTI_STATEMENTS_ON: u16 = 0;
/// COM_SET_OPTION: one statement in a text.
const MULTI_STATEMENTS_OFF: u16 = 1;

/// Packets above which to read them, to parse them and to copy them takes long.
const LARGE_PACKET: usize = 16 << 10;

/// What comes after a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// The next one.
    Continue,
    /// The client said goodbye.
    Quit,
    /// The connection cannot be used any more; an error has been written.
    Fatal,
}

impl Connection {
    /// Carries a command out and writes its answer. The packet stays where it was received: who needs more of it than its
    /// kind looks again, which costs less than handing its parts around with their borrow.
    #[inline]
    pub(super) async fn command(&mut self, place: PacketPlace) -> Flow {
        let mut packet = self.packets.input.payload(place);
        if packet.len() > LARGE_PACKET {
            offload().await;
            packet = self.packets.input.payload(place);
        }
        match Command::parse(packet, self.capabilities) {
            Ok(Command::Query { .. }) => self.query(place).await,
            Ok(Command::StmtExecute(_)) => self.execute(place).await,
            Ok(Command::Quit) => Flow::Quit,
            Ok(_) => self.other_command(place).await,
            Err(e) => self.protocol_error(e),
        }
    }

    pub(super) fn protocol_error(&mut self, e: ProtocolError) -> Flow {
        write_protocol_error(e, &mut self.packets.output.writer);
        if e.is_fatal() {
            Flow::Fatal
        } else {
            Flow::Continue
        }
    }

    /// COM_QUERY.
    async fn query(&mut self, place: PacketPlace) -> Flow {
        let packets = &mut self.packets;
        let packet = packets.input.payload(place);
        let Ok(Command::Query { sql, .. }) = Command::parse(packet, self.capabilities) else {
            return Flow::Fatal;
        };
        let to = self.session.vars().hot().results;
        let (client, interrupt) = (packets.output.socket(), self.session.interrupt());
        let clock = self.server.clock();
        let mut results = Results::new(
            &mut packets.output,
            self.capabilities,
            Form::Text,
            to,
            self.status,
        );
        let outcome = while_present(
            client,
            &interrupt,
            clock,
            pin!(catch_unwind(pin!(self.session.execute(sql, &mut results)))),
        )
        .await;
        let outcome = finish(outcome, &mut results);
        self.status = results.status();
        self.after(outcome)
    }

    /// Statements of the protocol's own that are SQL in disguise.
    async fn run(&mut self, sql: &str) -> Flow {
        let to = self.session.vars().hot().results;
        let output = &mut self.packets.output;
        let (client, interrupt) = (output.socket(), self.session.interrupt());
        let clock = self.server.clock();
        let mut results = Results::new(output, self.capabilities, Form::Text, to, self.status);
        let outcome = while_present(
            client,
            &interrupt,
            clock,
            pin!(catch_unwind(pin!(
                self.session.execute(sql.as_bytes(), &mut results)
            ))),
        )
        .await;
        let outcome = finish(outcome, &mut results);
        self.after(outcome)
    }

    fn after(&self, outcome: Result<(), String>) -> Flow {
        match outcome {
            Ok(()) => Flow::Continue,
            Err(panic) => {
                let id = self.session.id();
                let log = &self.server.log;
                log.error(format_args!("connection {id}: a statement failed: {panic}"));
                Flow::Fatal
            }
        }
    }

    /// COM_STMT_EXECUTE.
    async fn execute(&mut self, place: PacketPlace) -> Flow {
        let packets = &mut self.packets;
        let packet = packets.input.payload(place);
        let Ok(Command::StmtExecute(execute)) = Command::parse(packet, self.capabilities) else {
            return Flow::Fatal;
        };
        let id = execute.statement;
        let Some(prepared) = self.statements.get_mut(&id) else {
            self.error(&unknown(id, "mysqld_stmt_execute"));
            return Flow::Continue;
        };
        prepared.cursor = None;
        let hot = self.session.vars().hot();
        let (client, collation, to) = (hot.client, hot.collation, hot.results);
        let bound = bind(
            prepared,
            &execute,
            self.capabilities,
            &mut self.params,
            |v| encode::parameter(v, client, collation),
        );
        prepared.clear_long_data();
        if let Some(e) = prepared.refused.take() {
            self.error(&e);
            return Flow::Continue;
        }
        if let Err(e) = bound {
            return self.protocol_error(e);
        }
        let form = if execute.wants_cursor() && !self.session.calls(id) {
            Form::Cursor
        } else {
            Form::Binary
        };
        let output = &mut packets.output;
        let client = output.socket();
        let mut results = Results::new(output, self.capabilities, form, to, self.status)
            .with_definitions(&mut prepared.definitions);
        let session = &mut self.session;
        let params = &self.params;
        let outcome = match catch_unwind_now(|| session.start_prepared(id, params, &mut results)) {
            Ok(Execution::Done(done)) => Ok(done),
            Ok(Execution::Pending(rest)) => {
                let interrupt = session.interrupt();
                while_present(
                    client,
                    &interrupt,
                    self.server.clock(),
                    pin!(catch_unwind(pin!(session.finish_prepared(
                        rest,
                        id,
                        params,
                        &mut results
                    )))),
                )
                .await
            }
            Err(panic) => Err(panic),
        };
        let outcome = finish(outcome, &mut results);
        self.status = results.status();
        if form == Form::Cursor {
            prepared.cursor = results.into_cursor();
        }
        self.after(outcome)
    }

    async fn other_command(&mut self, place: PacketPlace) -> Flow {
        let packet = self.packets.input.payload(place);
        let Ok(command) = Command::parse(packet, self.capabilities) else {
            return Flow::Fatal;
        };
        match command {
            Command::StmtPrepare(sql) => {
                if self.session.may_run_long(sql) {
                    offload().await;
                }
                let info = self.session.prepare(sql);
                match info {
                    Ok(info) => self.prepared(&info),
                    Err(e) => self.error(&e),
                }
            }
            Command::StmtClose(id) => {
                self.statements.remove(&id);
                self.session.close_prepared(id);
            }
            Command::StmtSendLongData {
                statement,
                param,
                data,
            } => {
                if let Some(prepared) = self.statements.get_mut(&statement) {
                    let most = self.session.vars().hot().max_allowed_packet as usize;
                    let count = prepared.params;
                    let memory = self.session.memory();
                    match prepared.charge.add(2 * data.len()) {
                        true => prepared.long_data.append(param, data, count, most),
                        false => prepared.refused = memory.check().err(),
                    }
                }
            }
            Command::StmtReset(id) => {
                if let Some(prepared) = self.statements.get_mut(&id) {
                    prepared.clear_long_data();
                    prepared.refused = None;
                    prepared.cursor = None;
                }
                let outcome = self.session.reset_prepared(id);
                self.outcome(outcome);
            }
            Command::StmtFetch { statement, rows } => self.fetch(statement, rows).await,
            Command::InitDb(name) => {
                let name = names::received(name, self.session.vars().hot().client);
                let outcome = self.session.use_database(&name);
                self.outcome(outcome);
            }
            Command::Ping => {
                let outcome = self.session.ping();
                self.outcome(outcome);
            }
            Command::Statistics => {
                let text = self.session.statistics();
                write_text(text.as_bytes(), &mut self.packets.output.writer);
            }
            Command::SetOption(option) => self.set_option(option),
            Command::Debug => match self.session.may_debug() {
                Ok(()) => self.eof_without_rows(),
                Err(e) => self.error(&e),
            },
            Command::ProcessInfo => return self.run("SHOW PROCESSLIST").await,
            Command::ProcessKill(id) => return self.run(&format!("KILL {id}")).await,
            Command::Refresh(what) => return self.run(&flush_of(what)).await,
            Command::FieldList { .. } => self.field_list(place).await,
            Command::ResetConnection => {
                self.statements.clear();
                let outcome = self.session.reset().await;
                self.status = wire::status::AUTOCOMMIT;
                self.outcome(outcome);
            }
            Command::ChangeUser(change) => {
                let claim = claim_of(&change);
                return self.change_user(claim).await;
            }
            Command::RegisterReplica(_) => return self.register_replica(place),
            Command::BinlogDump { .. } | Command::BinlogDumpGtid { .. } => {
                // Boxed: compiled here and kept out of the other commands' future.
                return Box::pin(self.dump(place)).await;
            }
            // They were carried out before.
            Command::Quit | Command::Query { .. } | Command::StmtExecute(_) => {
                return self.protocol_error(ProtocolError::UnknownCommand);
            }
        }
        Flow::Continue
    }

    /// Answers COM_STMT_PREPARE.
    fn prepared(&mut self, info: &PreparedInfo) {
        let prepared = Prepared {
            params: info.params,
            charge: Charge::to(self.session.memory()),
            ..Prepared::default()
        };
        self.statements.insert(info.id, prepared);
        let to = self.session.vars().hot().results;
        let (capabilities, status) = (self.capabilities, self.status);
        let writer = &mut self.packets.output.writer;
        let columns = u16::try_from(info.columns.len()).unwrap_or(u16::MAX);
        write_prepare_ok(info.id, columns, info.params, info.warnings, writer);
        if info.params > 0 {
            let definition = ColumnDef {
                collation: BINARY_COLLATION,
                ..ColumnDef::new(b"?", ColumnType::VarString)
            };
            for _ in 0..info.params {
                definition.write(writer);
            }
            write_columns_end(status, 0, capabilities, writer);
        }
        if columns > 0 {
            for column in info.columns.iter().take(columns.into()) {
                names::define(column, to, |d| d.write(writer));
            }
            write_columns_end(status, 0, capabilities, writer);
        }
    }

    /// COM_STMT_FETCH.
    async fn fetch(&mut self, id: u32, rows: u32) {
        let Some(prepared) = self.statements.get_mut(&id) else {
            return self.error(&unknown(id, "mysqld_stmt_fetch"));
        };
        let Some(cursor) = &mut prepared.cursor else {
            let text = format!("The statement ({id}) has no open cursor.");
            return self.error(&SqlError::new(NO_OPEN_CURSOR, text));
        };
        let output = &mut self.packets.output;
        for _ in 0..rows {
            let Some(row) = cursor.next_row() else { break };
            if !output.has_room(row.len()) {
                if let Err(e) = self.session.memory().check() {
                    self.error(&e);
                }
                return;
            }
            output.writer.begin();
            output.writer.buf().extend_from_slice(row);
            output.writer.end();
            // What the client does not take is not made. Where it has gone, the next flush says so.
            if output.writer.pending().len() >= FLUSH_AT && output.flush().await.is_err() {
                return;
            }
        }
        if cursor.end_portion(self.capabilities, &mut output.writer) {
            prepared.cursor = None;
        }
    }

    /// COM_SET_OPTION.
    fn set_option(&mut self, option: u16) {
        let mut flags = self.session.client();
        match option {
            MULTI_STATEMENTS_ON => flags.multi_statements = true,
            MULTI_STATEMENTS_OFF => flags.multi_statements = false,
            _ => return self.error(&SqlError::fixed(codes::ER_UNKNOWN_COM_ERROR)),
        }
        self.session.set_client(flags);
        self.eof_without_rows();
    }

    /// An EOF packet with nothing before it.
    pub(super) fn eof_without_rows(&mut self) {
        let writer = &mut self.packets.output.writer;
        write_rows_end(self.status, 0, self.capabilities, writer);
    }

    /// COM_FIELD_LIST.
    async fn field_list(&mut self, place: PacketPlace) {
        let packet = self.packets.input.payload(place);
        let Ok(Command::FieldList { table, wildcard }) = Command::parse(packet, self.capabilities)
        else {
            return;
        };
        let client = self.session.vars().hot().client;
        let table = names::received(table, client).into_bytes();
        let wildcard = names::received(wildcard, client).into_bytes();
        let fields = match self.session.list_fields(&table, &wildcard).await {
            Ok(fields) => fields,
            Err(e) => return self.error(&e),
        };
        let to = self.session.vars().hot().results;
        let writer = &mut self.packets.output.writer;
        for (column, default) in &fields {
            let default = default.as_deref().map(|d| names::shown(d, to));
            names::define(column, to, |d| {
                d.write_for_field_list(default.as_deref(), writer);
            });
        }
        self.eof_without_rows();
    }

    /// COM_CHANGE_USER: a failed one ends the connection, as with MySQL.
    async fn change_user(&mut self, claim: Claim) -> Flow {
        let limit = self.server.connect_timeout();
        let proof = authenticate(
            &mut self.packets,
            &self.server,
            self.nonce,
            &self.peer,
            &claim,
            self.capabilities,
            limit,
        );
        let granted = match proof.await {
            Ok(granted) => granted,
            Err(Refused::Error(e)) => {
                self.error(&e);
                return Flow::Fatal;
            }
            Err(Refused::Gone(_)) => return Flow::Fatal,
        };
        self.statements.clear();
        self.status = wire::status::AUTOCOMMIT;
        let database = claim.database.as_deref();
        let changed = self.session.change_login(granted, database).await;
        if let Err(e) = self.session.check_online() {
            self.error(&e);
            return Flow::Fatal;
        }
        self.session.set_client(flags(self.capabilities));
        if let Some(collation) = claim.collation {
            let collation = types::CollationId(collation);
            self.session.set_client_collation(collation);
        }
        self.outcome(changed);
        Flow::Continue
    }
}

/// The FLUSH that COM_REFRESH is, with the privileges that it needs; of bits that ask for nothing one that does nothing.
fn flush_of(bits: u8) -> String {
    let asked = REFRESH.iter().filter(|(bit, _)| bits & bit != 0);
    let mut words: Vec<&str> = asked.map(|(_, word)| *word).collect();
    if words.is_empty() {
        words.push("HOSTS");
    }
    format!("FLUSH {}", words.join(", "))
}

/// Reads the parameters of an execution into `into`.
fn bind(
    prepared: &mut Prepared,
    execute: &StmtExecute<'_>,
    capabilities: u32,
    into: &mut Vec<types::Value>,
    value: impl Fn(wire::param::ParamValue<'_>) -> types::Value,
) -> Result<(), ProtocolError> {
    into.clear();
    let count = prepared.params;
    let params = prepared
        .types
        .bind(execute, count, &prepared.long_data, capabilities)?;
    for param in params {
        into.push(value(param?));
    }
    Ok(())
}

/// Writes a statement's error; gives the text of a panic, whose client is told so.
fn finish(
    outcome: Result<Result<(), SqlError>, String>,
    results: &mut Results<'_>,
) -> Result<(), String> {
    match outcome {
        Ok(Ok(())) => Ok(()),
        Ok(Err(e)) => {
            results.fail(&e);
            Ok(())
        }
        Err(panic) => {
            results.fail(&SqlError::unknown(
                "internal error while executing the statement",
            ));
            Err(panic)
        }
    }
}

fn claim_of(change: &ChangeUser<'_>) -> Claim {
    Claim {
        user: String::from_utf8_lossy(change.user).into_owned(),
        plugin: change.auth_plugin.map(<[u8]>::to_vec),
        answer: change.auth_response.to_vec(),
        database: change
            .database
            .filter(|name| !name.is_empty())
            .map(|name| String::from_utf8_lossy(name).into_owned()),
        collation: change.collation,
    }
}

#[cold]
fn unknown(id: u32, command: &str) -> SqlError {
    SqlError::unknown_stmt(&id.to_string(), command)
}
