//! A client's bytes compressed: frames around them as `wire` makes and reads them, over the network in the clear or under TLS. It knows nothing
//! of packets.

use std::io;
use std::task::{Context, Poll, ready};

use wire::ProtocolError;
use wire::compress::{Method, Packer, Unpacker};

use super::line::Line;

/// Room for a frame that is kept for the next one.
const KEPT: usize = 1 << 20;
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
    ) -> Result<Compressed, ProtocolError> {
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
        })
    }

    /// Reads and unsqueezes what there is; 0 bytes at the end of the stream. What cannot be unsqueezed is
    /// [`io::ErrorKind::InvalidData`].
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

    /// Squeezes and writes some of `from`; to be called again with the same bytes until it is ready.
    pub fn poll_write(
        &mut self,
        line: &mut Line,
        cx: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.frame.is_empty() {
            self.covers = self.packer.pack(from, self.number, &mut self.frame);
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
        }
        Poll::Ready(Ok(self.covers))
    }
}
