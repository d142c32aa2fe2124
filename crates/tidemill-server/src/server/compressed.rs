//! A client's bytes compressed: frames around them as `wire` makes and reads them, over the network in the clear or under TLS. It knows nothing
//! of packets.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use sql_expr::memory::{Account, Charge};
use wire::ProtocolError;
use wire::compress::{Method, Packer, Unpacker};

use super::line::Line;

/// Room for a frame that is kept for the next one.
const KEPT: usize = 1 << 20;
/// What frames under way may take without being charged.
const UNCHARGED: usize = 64 << 10;
/// Bytes received at once.
const RECEIVED: usize = 16 << 10;

/// The compression of one connection.
#[derive(Debug)]
pub struct Compressed {
    packer: Packer,
    unpacker: Unpacker,
    /// What was received and not yet unsqueezed.
    raw: Vec<u8>,
    start: usize,
    end: usize,
    /// A frame on its way out, how much of it has gone, and how many bytes it stands for.
    frame: Vec<u8>,
    sent: usize,
    covers: usize,
    /// The number of the next frame to send.
    number: u8,
    /// What the session pays: for the method, and for frames under way.
    charge: Charge,
    always: usize,
}

impl Compressed {
    /// From here on, `early` having been received.
    ///
    /// # Errors
    /// There is no room for it.
    pub fn new(
        method: Method,
        max_packet: usize,
        early: &[u8],
        account: &Arc<Account>,
    ) -> Result<Compressed, ProtocolError> {
        let (mut charge, always) = (Charge::to(account), method.memory());
        if !charge.set(always) {
            return Err(ProtocolError::Uncompress);
        }
        let mut raw = early.to_vec();
        raw.resize(raw.len().max(RECEIVED), 0);
        Ok(Compressed {
            packer: Packer::new(method),
            unpacker: Unpacker::new(method, max_packet)?,
            raw,
            start: 0,
            end: early.len(),
            frame: Vec::new(),
            sent: 0,
            covers: 0,
            number: 0,
            charge,
            always,
        })
    }

    /// Has the session pay for the frames under way.
    fn charge(&mut self) -> io::Result<()> {
        let wanted = self.always + self.unpacker.holds() + self.frame.capacity();
        let charged = self.charge.bytes() as usize;
        // A little more or less is not asked about.
        match wanted.abs_diff(charged) < UNCHARGED || self.charge.set(wanted) {
            true => Ok(()),
            false => Err(io::ErrorKind::OutOfMemory.into()),
        }
    }

    /// Reads and unsqueezes what there is; 0 bytes at the end of the stream. What cannot be unsqueezed is
    /// [`io::ErrorKind::InvalidData`], and [`io::ErrorKind::OutOfMemory`] what the session has no memory for.
    pub fn poll_read(
        &mut self,
        line: &mut Line,
        cx: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            let (taken, made) = self
                .unpacker
                .unpack(&self.raw[self.start..self.end], into)
                .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))?;
            self.start += taken;
            self.charge()?;
            if taken > 0 {
                // The answer's frames are numbered behind the client's.
                self.number = self.unpacker.number().wrapping_add(1);
            }
            if made > 0 {
                return Poll::Ready(Ok(made));
            }
            if taken > 0 {
                continue;
            }
            (self.start, self.end) = (0, 0);
            match ready!(line.poll_read(cx, &mut self.raw))? {
                0 => return Poll::Ready(Ok(0)),
                n => self.end = n,
            }
        }
    }

    /// Squeezes and writes some of `from`; to be called again with the same bytes until it is ready. Others of the event loop have their turns
    /// while a large frame is made.
    pub fn poll_write(
        &mut self,
        line: &mut Line,
        cx: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.covers == 0 {
            let covers = self.packer.pack(from, self.number, &mut self.frame);
            self.charge()?;
            let Some(covers) = covers else {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            };
            self.covers = covers;
            self.number = self.number.wrapping_add(1);
            self.sent = 0;
        }
        while self.sent < self.frame.len() {
            match ready!(line.poll_write(cx, &self.frame[self.sent..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                n => self.sent += n,
            }
        }
        self.frame.clear();
        if self.frame.capacity() > KEPT {
            self.frame = Vec::new();
            self.charge()?;
        }
        Poll::Ready(Ok(std::mem::take(&mut self.covers)))
    }
}
