//! One client's packets in and out: the socket, the decoder of what it sends, the writer of what it gets, and the
//! time limits. Knows nothing of what the packets mean.
//!
//! A command costs one read and one write when it and its answer are small: the answer is collected and sent as a whole.

use std::future::poll_fn;
use std::io;
use std::os::fd::RawFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rustls::ServerConnection;
use sql_expr::memory::{Account, Charge};
use tokio::time::{Instant, Sleep, sleep_until};
use types::SqlError;
use wire::compress::Method;
use wire::packet::PacketPlace;
use wire::{Decoder, PacketWriter, ProtocolError};

use super::registry::Ending;
use super::stream::Stream;
use super::system_users::system_user;

/// How long a client whose handshake failed may go on sending before its socket is closed under it.
const LAST_ALERT: Duration = Duration::from_millis(200);

/// Why no packet came.
#[derive(Debug)]
pub enum Gone {
    /// The client closed the connection, or the network did.
    Closed,
    /// The client was silent for too long.
    TimedOut,
    /// The connection was killed, or the server stops.
    Ended,
    /// The client's bytes make no sense.
    Protocol(ProtocolError),
    /// Its packet is larger than what the session may hold.
    NoMemory(SqlError),
}

/// The sending half, which a running statement uses while its packet is still borrowed from the receiving half.
pub struct Output {
    stream: Stream,
    /// Packets to send.
    pub writer: PacketWriter,
    /// Longest wait for a client that does not take its answer.
    pub write_timeout: Duration,
    ending: Arc<Ending>,
    broken: bool,
    /// For what has grown out of the usual size.
    charge: Charge,
    /// Who pays for that.
    account: Arc<Account>,
    /// Bytes sent since [`PacketStream::take_traffic`].
    sent: u64,
}

/// A connection's packets.
pub struct PacketStream {
    /// What the client sent.
    pub input: Decoder,
    /// What it is sent.
    pub output: Output,
    /// Wakes a wait that lasts too long. Kept from wait to wait: only a deadline that came too early is set anew.
    alarm: Option<Pin<Box<Sleep>>>,
    /// Bytes received since [`PacketStream::take_traffic`].
    received: u64,
    /// For a packet that is larger than most, while it comes and is carried out.
    charge: Charge,
}

/// Packets above this are charged.
const LARGE_INPUT: usize = 64 << 10;
/// A buffer that grows has its old room and its new one, and what is read from the packet is a copy.
const COPIES: usize = 3;
/// Output above this is charged: more than what is sent at once.
const LARGE_OUTPUT: usize = 256 << 10;

impl PacketStream {
    /// Over a socket of the calling task's event loop. Packets are at most `max_packet` bytes.
    pub fn new(stream: Stream, max_packet: usize, ending: Arc<Ending>) -> PacketStream {
        PacketStream {
            input: Decoder::new(max_packet),
            output: Output {
                stream,
                writer: PacketWriter::new(),
                write_timeout: Duration::from_secs(60),
                ending,
                broken: false,
                charge: Charge::default(),
                account: Arc::default(),
                sent: 0,
            },
            alarm: None,
            received: 0,
            charge: Charge::default(),
        }
    }

    /// Has the session pay for what its packets take from now on.
    pub fn charge_to(&mut self, account: &Arc<Account>) {
        self.output.account = Arc::clone(account);
        self.charge = Charge::to(account);
        self.output.charge = Charge::to(account);
    }

    /// Charges the packet that is coming in, or gives back what the last one took.
    #[cold]
    fn charge_input(&mut self) -> Result<(), Gone> {
        let bytes = self.input.buffered();
        let wanted = match bytes > LARGE_INPUT {
            true => bytes.next_power_of_two().saturating_mul(COPIES),
            false => 0,
        };
        match self.charge.set(wanted) {
            true => Ok(()),
            false => self.output.account.check().map_err(Gone::NoMemory),
        }
    }

    /// The next packet, waiting for it at most until `limit` from now.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn packet(&mut self, limit: Duration) -> Result<PacketPlace, Gone> {
        // A packet that came with the one before is not waited for.
        if let Some(place) = self.input.take_packet().map_err(Gone::Protocol)? {
            return Ok(place);
        }
        let deadline = Instant::now() + limit;
        loop {
            let n = poll_fn(|cx| self.poll_fill(cx, deadline)).await?;
            self.received += n as u64;
            self.input.filled(n);
            if let Some(place) = self.input.take_packet().map_err(Gone::Protocol)? {
                return Ok(place);
            }
        }
    }

    fn poll_fill(&mut self, cx: &mut Context<'_>, deadline: Instant) -> Poll<Result<usize, Gone>> {
        if (self.input.buffered() > LARGE_INPUT || self.charge.bytes() > 0)
            && let Err(gone) = self.charge_input()
        {
            return Poll::Ready(Err(gone));
        }
        match self.output.stream.poll_read(cx, self.input.space()) {
            Poll::Ready(Err(e)) if e.kind() == io::ErrorKind::InvalidData && is_frame(&e) => {
                return Poll::Ready(Err(Gone::Protocol(ProtocolError::Uncompress)));
            }
            Poll::Ready(Err(e)) if e.kind() == io::ErrorKind::OutOfMemory => {
                let refused = self.output.account.check().err();
                return Poll::Ready(Err(refused.map_or(Gone::Closed, Gone::NoMemory)));
            }
            Poll::Ready(Ok(0)) | Poll::Ready(Err(_)) => return Poll::Ready(Err(Gone::Closed)),
            Poll::Ready(Ok(n)) => return Poll::Ready(Ok(n)),
            Poll::Pending => {}
        }
        if !base::mutant!("client-waited-for-without-its-end") {
            self.output.ending.park(cx);
        }
        if self.output.ending.is_stopping() {
            return Poll::Ready(Err(Gone::Ended));
        }
        match poll_alarm(&mut self.alarm, cx, deadline) {
            Poll::Ready(()) => Poll::Ready(Err(Gone::TimedOut)),
            Poll::Pending => Poll::Pending,
        }
    }

    /// Goes over to TLS, which the client has asked for: its handshake, at most until `limit` from now. Clients do not wait for
    /// an answer, so that bytes behind the question may have been received with it: they belong to the handshake. No packet
    /// comes of them, so that nobody can put words before those of the client.
    ///
    /// # Errors
    /// Why it failed. The client has been told, as far as it listens.
    pub async fn start_tls(
        &mut self,
        connection: ServerConnection,
        limit: Duration,
    ) -> Result<(), Gone> {
        let early = self.input.take_buffered();
        self.output.stream.begin_tls(connection, early);
        let deadline = Instant::now() + limit;
        let done = poll_fn(|cx| {
            if let Poll::Ready(done) = self.output.stream.poll_handshake(cx) {
                return Poll::Ready(done.map_err(|_| Gone::Closed));
            }
            self.output.ending.park(cx);
            if self.output.ending.is_stopping() {
                return Poll::Ready(Err(Gone::Ended));
            }
            poll_alarm(&mut self.alarm, cx, deadline).map(|()| Err(Gone::TimedOut))
        })
        .await;
        if matches!(done, Err(Gone::Closed)) {
            // An alert is on its way that the client should see.
            self.linger(LAST_ALERT).await;
        }
        done
    }

    /// The name of the system's user at the other end of the Unix socket.
    pub fn peer_user(&self) -> Option<String> {
        system_user(self.output.stream.peer_number()?)
    }

    /// From here on all is compressed, in both directions.
    ///
    /// # Errors
    /// There is no room for it.
    pub fn start_compression(
        &mut self,
        method: Method,
        max_packet: usize,
    ) -> Result<(), ProtocolError> {
        let early = self.input.take_buffered();
        self.input.take_any_number();
        let output = &mut self.output;
        let stream = &mut output.stream;
        stream.begin_compression(method, max_packet, &early, &output.account)
    }

    /// The TLS there is.
    pub fn tls(&self) -> Option<&ServerConnection> {
        self.output.stream.tls()
    }

    /// Sends everything that was written.
    ///
    /// # Errors
    /// As [`Output::flush`].
    pub async fn flush(&mut self) -> io::Result<()> {
        self.output.flush().await
    }

    /// Closes the sending side and takes what still comes, at most for `limit`: a socket closed with bytes unread
    /// would take the last answer from the client.
    pub async fn linger(&mut self, limit: Duration) {
        let deadline = Instant::now() + limit;
        let told = poll_fn(|cx| {
            // Under TLS the farewell is bytes, which a client need not take.
            if self.output.stream.poll_close_sending(cx).is_ready() {
                return Poll::Ready(true);
            }
            poll_alarm(&mut self.alarm, cx, deadline).map(|()| false)
        });
        if !told.await {
            return;
        }
        let mut waste = vec![0; 16 << 10];
        loop {
            let n = poll_fn(|cx| {
                let read = self.output.stream.poll_waste(cx, &mut waste);
                if read.is_ready() && Instant::now() < deadline {
                    return read;
                }
                poll_alarm(&mut self.alarm, cx, deadline).map(|()| Ok(0))
            });
            match n.await {
                Ok(n) if n > 0 => self.received += n as u64,
                _ => return,
            }
        }
    }

    /// Tells a client under TLS that nothing more will come, so that it can tell the end from a line that was cut. Never waits:
    /// what the socket does not take at once is left unsaid.
    pub async fn say_goodbye(&mut self) {
        if self.output.stream.tls().is_some() {
            poll_fn(|cx| {
                let _unsaid = self.output.stream.poll_close_sending(cx);
                Poll::Ready(())
            })
            .await;
        }
    }

    /// Bytes received and sent since this was last asked.
    #[inline]
    pub fn take_traffic(&mut self) -> (u64, u64) {
        let counts = (self.received, self.output.sent);
        (self.received, self.output.sent) = (0, 0);
        counts
    }
}

impl Output {
    /// Who pays for what the client gets later.
    pub fn account(&self) -> &Arc<Account> {
        &self.account
    }

    /// Room for `more` bytes of a row; `false` where the session may hold no more: then nothing may be written, and the statement is
    /// to fail.
    #[inline]
    pub fn has_room(&mut self, more: usize) -> bool {
        self.writer.buf().len() + more <= LARGE_OUTPUT || self.make_room(more)
    }

    #[cold]
    fn make_room(&mut self, more: usize) -> bool {
        let there = self.writer.held();
        let wanted = self.writer.buf().len() + more;
        // It grows to twice its size, and has both while it moves.
        let wanted = match wanted > there {
            true => there + (2 * there).max(wanted),
            false => there,
        };
        self.charge.bytes() as usize >= wanted || self.charge.set(wanted)
    }

    /// Sends everything that was written, waiting for a client that is slow to take it.
    ///
    /// # Errors
    /// The client is gone or takes nothing for `write_timeout`, or the connection is to end. From then on every
    /// call fails.
    pub async fn flush(&mut self) -> io::Result<()> {
        if self.broken {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let mut alarm = None;
        let mut deadline = None;
        while !self.writer.pending().is_empty() {
            let sent = poll_fn(|cx| self.poll_send(cx, &mut alarm, &mut deadline)).await;
            match sent {
                Ok(n) if n > 0 => {
                    self.sent += n as u64;
                    self.writer.advance(n);
                    deadline = None;
                }
                other => {
                    self.broken = true;
                    return Err(other.err().unwrap_or(io::ErrorKind::WriteZero.into()));
                }
            }
        }
        if self.charge.bytes() > 0 {
            let held = self.writer.held();
            // Less than before: never refused.
            self.charge.set(if held > LARGE_OUTPUT { held } else { 0 });
        }
        Ok(())
    }

    /// The number of the socket's file, open as long as this lives.
    pub fn socket(&self) -> RawFd {
        self.stream.number()
    }

    /// Waits until the client has closed the connection, as far as that can be seen without reading.
    pub async fn closed(&self) {
        self.stream.closed().await;
    }

    /// Receives some bytes into a decoder, while a statement asks its client for more than the command. At most the write
    /// timeout passes.
    ///
    /// # Errors
    /// The client is gone or silent, or the connection is to end. From then on nothing can be sent either.
    pub async fn receive(&mut self, into: &mut Decoder) -> io::Result<()> {
        let mut alarm = None;
        let deadline = Instant::now() + self.write_timeout;
        let came = poll_fn(|cx| {
            match self.stream.poll_read(cx, into.space()) {
                Poll::Ready(Ok(0)) => {
                    return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
                }
                Poll::Pending => {}
                came => return came,
            }
            self.ending.park(cx);
            if self.ending.is_killed() {
                return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
            }
            poll_alarm(&mut alarm, cx, deadline).map(|()| Err(io::ErrorKind::TimedOut.into()))
        })
        .await;
        match came {
            Ok(n) => {
                into.filled(n);
                Ok(())
            }
            Err(e) => {
                self.broken = true;
                Err(e)
            }
        }
    }

    fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        alarm: &mut Option<Pin<Box<Sleep>>>,
        deadline: &mut Option<Instant>,
    ) -> Poll<io::Result<usize>> {
        let sent = self.stream.poll_write(cx, self.writer.pending());
        if sent.is_ready() {
            return sent;
        }
        if !base::mutant!("answer-sent-without-its-kill") {
            self.ending.park(cx);
        }
        if self.ending.is_killed() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        let deadline = *deadline.get_or_insert_with(|| Instant::now() + self.write_timeout);
        poll_alarm(alarm, cx, deadline).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

/// Whether a read failed because a frame of the compressed protocol is none.
fn is_frame(e: &io::Error) -> bool {
    e.get_ref().is_some_and(|e| e.is::<ProtocolError>())
}

/// Ready when `deadline` has passed. The alarm's own time may be earlier, never later.
fn poll_alarm(
    alarm: &mut Option<Pin<Box<Sleep>>>,
    cx: &mut Context<'_>,
    deadline: Instant,
) -> Poll<()> {
    let sleep = alarm.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
    if sleep.deadline() > deadline {
        sleep.as_mut().reset(deadline);
    }
    while sleep.as_mut().poll(cx).is_ready() {
        if Instant::now() >= deadline {
            return Poll::Ready(());
        }
        sleep.as_mut().reset(deadline);
    }
    Poll::Pending
}

#[cfg(test)]
mod tests {
    use super::super::registry::Registry;
    use super::super::registry::tests::interrupt;
    use super::super::socket::Incoming;
    use super::*;
    use std::os::unix::net::UnixStream;

    const PATIENCE: Duration = Duration::from_secs(20);

    /// A client that says nothing and takes nothing; what ends it is said a moment later. Whether that ends the wait at once, and not with the time.
    fn ends(kill: bool) -> bool {
        let begun = Instant::now();
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().expect("a runtime");
        let registry = Arc::new(Registry::default());
        let slot = registry.enter(1, 9).expect("a slot");
        slot.ending.join(interrupt());
        let (near, _far) = UnixStream::pair().expect("sockets");
        near.set_nonblocking(true).expect("a setting");
        let ending = Arc::clone(&slot.ending);
        runtime.block_on(async move {
            let socket = Incoming::Unix(near).attach().expect("a socket");
            let mut packets = PacketStream::new(Stream::new(socket), 1 << 20, ending);
            let teller = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(50));
                match kill {
                    true => registry.kill(),
                    false => registry.stop(),
                }
            });
            let ended = match kill {
                true => {
                    packets.output.writer.begin();
                    packets.output.writer.buf().resize(4 << 20, 0);
                    packets.output.writer.end();
                    let sent = tokio::time::timeout(PATIENCE, packets.flush()).await;
                    sent.is_ok_and(|sent| sent.is_err())
                }
                false => {
                    let gone = tokio::time::timeout(PATIENCE, packets.packet(2 * PATIENCE)).await;
                    gone.is_ok_and(|gone| matches!(gone, Err(Gone::Ended)))
                }
            };
            teller.join().expect("no panic");
            ended && begun.elapsed() < PATIENCE
        })
    }

    #[test]
    fn a_wait_for_a_client_ends_with_the_server_and_by_kill() {
        assert!(ends(false), "it waits for a packet");
        assert!(ends(true), "it waits for the client to take its answer");
    }
}
