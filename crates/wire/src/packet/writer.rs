//! From payloads to bytes to send.

use super::{HEADER, MAX_FRAME};

/// A buffer grown beyond this is given back once it has been sent.
const KEEP: usize = 1 << 20;

/// Frames packets into one output buffer: [`begin`](PacketWriter::begin), append to [`buf`](PacketWriter::buf),
/// [`end`](PacketWriter::end). Headers are filled in afterwards, so that nothing is copied; a payload of 16 MiB - 1 or
/// more is split by `end`.
#[derive(Debug, Default)]
pub struct PacketWriter {
    out: Vec<u8>,
    /// Bytes already sent.
    sent: usize,
    /// Header of the packet under way, or the end of the last one.
    head: usize,
    sequence: u8,
    /// Bytes dropped from the front of `out` since the beginning.
    gone: u64,
}

impl PacketWriter {
    /// An empty writer at sequence number 0. Allocates at the first packet.
    pub fn new() -> Self {
        PacketWriter::default()
    }

    /// The sequence number the next packet will have.
    #[inline]
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Sets the sequence number of the next packet: that of the [`Decoder`](crate::Decoder) after the request.
    #[inline]
    pub fn set_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// Starts a packet.
    #[inline]
    pub fn begin(&mut self) {
        self.head = self.out.len();
        self.out.extend_from_slice(&[0; HEADER]);
    }

    /// Where the payload of the packet under way is appended. Only append: earlier bytes belong to other packets.
    #[inline]
    pub fn buf(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Where, in [`buf`](PacketWriter::buf), the payload of the packet under way starts. Valid until `end`.
    #[inline]
    pub fn payload_start(&self) -> usize {
        self.head + HEADER
    }

    /// Completes the packet under way.
    #[inline]
    pub fn end(&mut self) {
        let length = self.out.len().saturating_sub(self.head + HEADER);
        if length >= MAX_FRAME {
            self.end_long(length);
        } else if let Some(header) = self.out[self.head..].first_chunk_mut::<HEADER>() {
            let [a, b, c, _] = (length as u32).to_le_bytes();
            *header = [a, b, c, self.sequence];
            self.sequence = self.sequence.wrapping_add(1);
        }
        self.head = self.out.len();
    }

    /// Splits the payload, last frame first, so that every byte moves once.
    #[cold]
    fn end_long(&mut self, length: usize) {
        let start = self.head;
        let frames = length / MAX_FRAME;
        self.out.resize(self.out.len() + frames * HEADER, 0);
        for frame in (0..=frames).rev() {
            let size = (length - frame * MAX_FRAME).min(MAX_FRAME);
            let from = start + HEADER + frame * MAX_FRAME;
            let header = start + frame * (HEADER + MAX_FRAME);
            if frame > 0 {
                self.out.copy_within(from..from + size, header + HEADER);
            }
            let [a, b, c, _] = (size as u32).to_le_bytes();
            let sequence = self.sequence.wrapping_add(frame as u8);
            self.out[header..header + HEADER].copy_from_slice(&[a, b, c, sequence]);
        }
        self.sequence = self.sequence.wrapping_add((frames + 1) as u8);
    }

    /// Takes back the packet under way, as if [`begin`](PacketWriter::begin) had not been called. Does nothing between
    /// packets.
    pub fn abandon(&mut self) {
        self.out.truncate(self.head);
    }

    /// A place to return to with [`rewind`](PacketWriter::rewind). Take it between packets.
    #[inline]
    pub fn mark(&self) -> Mark {
        Mark {
            position: self.gone + self.out.len() as u64,
            sequence: self.sequence,
        }
    }

    /// Takes back every packet since `mark`, unless some of them were sent, which gives `false`.
    pub fn rewind(&mut self, mark: Mark) -> bool {
        let Some(length) = mark.position.checked_sub(self.gone) else {
            return false;
        };
        let length = length as usize;
        if length < self.sent || length > self.out.len() {
            return false;
        }
        self.out.truncate(length);
        self.head = length;
        self.sequence = mark.sequence;
        true
    }

    /// The packets written since `mark`, if none of them was sent: for [`repeat`](PacketWriter::repeat).
    pub fn since(&self, mark: Mark) -> Option<Repeatable<'_>> {
        let from = mark.position.checked_sub(self.gone)? as usize;
        (from >= self.sent && from <= self.head).then(|| Repeatable {
            packets: &self.out[from..self.head],
            sequence: mark.sequence,
            next: self.sequence,
        })
    }

    /// Writes packets once more. `false`, having written nothing, where they would have other sequence numbers now.
    #[inline]
    pub fn repeat(&mut self, again: Repeatable<'_>) -> bool {
        if self.sequence != again.sequence {
            return false;
        }
        self.out.extend_from_slice(again.packets);
        self.head = self.out.len();
        self.sequence = again.next;
        true
    }

    /// Whole packets not yet sent.
    #[inline]
    pub fn pending(&self) -> &[u8] {
        &self.out[self.sent..self.head]
    }

    /// Bytes of memory that the packets have, in use or not.
    #[inline]
    pub fn held(&self) -> usize {
        self.out.capacity()
    }

    /// `n` bytes of [`pending`](PacketWriter::pending) were sent.
    #[inline]
    pub fn advance(&mut self, n: usize) {
        self.sent = self.head.min(self.sent.saturating_add(n));
        if self.sent == self.out.len() {
            self.sent = 0;
            self.head = 0;
            self.gone += self.out.len() as u64;
            self.out.clear();
            if self.out.capacity() > KEEP {
                self.out = Vec::new();
            }
        }
    }
}

/// Packets that were written, and may be again.
#[derive(Debug, Clone, Copy)]
pub struct Repeatable<'a> {
    /// Their bytes, headers included.
    pub packets: &'a [u8],
    /// The sequence number of the first.
    pub sequence: u8,
    /// The number that comes after the last.
    pub next: u8,
}

/// A place between two packets of a [`PacketWriter`].
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    /// Counted from the first byte ever written.
    position: u64,
    sequence: u8,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_count_up() {
        let mut writer = PacketWriter::new();
        writer.set_sequence(255);
        for byte in [1, 2] {
            writer.begin();
            writer.buf().push(byte);
            writer.end();
        }
        assert_eq!(writer.pending(), [1, 0, 0, 255, 1, 1, 0, 0, 0, 2]);
        assert_eq!(writer.sequence(), 1);
    }

    #[test]
    fn partial_sends_and_the_open_packet() {
        let mut writer = PacketWriter::new();
        writer.begin();
        writer.end();
        writer.begin();
        writer.buf().push(9);
        assert_eq!(writer.pending(), [0, 0, 0, 0]);
        writer.advance(4);
        assert!(writer.pending().is_empty());
        writer.end();
        assert_eq!(writer.pending(), [1, 0, 0, 1, 9]);
        writer.advance(2);
        assert_eq!(writer.pending(), [0, 1, 9]);
        writer.advance(3);
        assert!(writer.pending().is_empty());
    }

    #[test]
    fn packets_are_taken_back() {
        let mut writer = PacketWriter::new();
        writer.begin();
        writer.end();
        let mark = writer.mark();
        writer.begin();
        writer.buf().push(1);
        writer.end();
        assert!(writer.rewind(mark));
        assert_eq!((writer.pending().len(), writer.sequence()), (4, 1));
        writer.begin();
        writer.buf().push(1);
        writer.abandon();
        assert_eq!(writer.pending().len(), 4);
    }

    #[test]
    fn packets_are_repeated_at_the_same_place_alone() {
        let mut writer = PacketWriter::new();
        writer.set_sequence(1);
        let mark = writer.mark();
        for byte in [1, 2] {
            writer.begin();
            writer.buf().push(byte);
            writer.end();
        }
        let bytes = writer.pending().to_vec();
        let again = Repeatable {
            packets: &bytes,
            ..writer.since(mark).unwrap()
        };
        assert_eq!(again.packets, writer.since(mark).unwrap().packets);
        assert!(!writer.repeat(again), "the numbers have gone on");
        writer.advance(bytes.len());
        assert!(writer.since(mark).is_none(), "they were sent");
        writer.set_sequence(1);
        assert!(writer.repeat(again));
        assert_eq!(writer.pending(), bytes);
        assert_eq!(writer.sequence(), 3);
    }

    #[test]
    fn splitting_at_the_edges() {
        for (length, lengths) in [
            (MAX_FRAME - 1, vec![MAX_FRAME - 1]),
            (MAX_FRAME, vec![MAX_FRAME, 0]),
            (2 * MAX_FRAME + 5, vec![MAX_FRAME, MAX_FRAME, 5]),
        ] {
            let mut writer = PacketWriter::new();
            writer.begin();
            let end = writer.payload_start() + length;
            writer.buf().resize(end, 3);
            writer.end();
            let mut rest = writer.pending();
            for (sequence, &expected) in lengths.iter().enumerate() {
                let (header, body) = rest.split_at(HEADER);
                let size = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
                assert_eq!((size, header[3]), (expected, sequence as u8));
                assert!(body[..size].iter().all(|&byte| byte == 3));
                rest = &body[size..];
            }
            assert!(rest.is_empty());
        }
    }
}
