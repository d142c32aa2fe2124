//! From received bytes to packets.

use super::{HEADER, MAX_FRAME};
use crate::error::ProtocolError;

/// Size of the buffer at first and after a large packet was released, in bytes.
const INITIAL: usize = 8 << 10;
/// A buffer grown beyond this is given back once it is empty.
const KEEP: usize = 1 << 20;
/// Least free space offered to a read.
const LEAST_SPACE: usize = 2 << 10;

/// Takes packets off a byte stream. Read into [`space`](Decoder::space), tell [`filled`](Decoder::filled), then call
/// [`next_packet`](Decoder::next_packet) until it gives `None`.
///
/// A packet is lent from the receive buffer; only frames of 16 MiB - 1 are moved, by four bytes, to close the gap
/// their headers leave. The buffer grows with what has arrived (at most doubling), never with what a header claims.
#[derive(Debug)]
pub struct Decoder {
    buf: Vec<u8>,
    /// First byte not yet given out; the first frame header of an unfinished packet.
    start: usize,
    /// End of what has been received.
    end: usize,
    /// Payload bytes of whole leading frames of an unfinished packet, contiguous from `start + HEADER`.
    joined: usize,
    /// Bytes after `start` the packet under way needs at least, as far as its headers tell.
    needed: usize,
    sequence: u8,
    max_packet: usize,
    /// The numbers of packets say nothing: frames around them are numbered.
    unnumbered: bool,
}

/// Where a packet's payload lies in its [`Decoder`].
#[derive(Debug, Clone, Copy)]
pub struct PacketPlace {
    start: usize,
    stop: usize,
}

impl Decoder {
    /// A decoder that refuses packets longer than `max_packet` bytes. It expects sequence number 0.
    pub fn new(max_packet: usize) -> Self {
        Decoder {
            buf: Vec::new(),
            start: 0,
            end: 0,
            joined: 0,
            needed: 0,
            sequence: 0,
            max_packet,
            unnumbered: false,
        }
    }

    /// From here on the numbers of packets are taken as they come: in the compressed protocol clients count frames.
    pub fn take_any_number(&mut self) {
        self.unnumbered = true;
    }

    /// Changes the longest packet accepted (`max_allowed_packet`), in bytes.
    pub fn set_max_packet(&mut self, max_packet: usize) {
        self.max_packet = max_packet;
    }

    /// The sequence number expected next: that of the reply, after a packet was received.
    #[inline]
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Sets the sequence number expected next: after a reply, the one behind the reply's last packet.
    #[inline]
    pub fn set_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// Expects a new command: sequence number 0. Harmless while a packet is half received.
    #[inline]
    pub fn expect_command(&mut self) {
        if self.joined == 0 {
            self.sequence = 0;
        }
    }

    /// Bytes received and not yet given out.
    #[inline]
    pub fn buffered(&self) -> usize {
        self.end - self.start
    }

    /// Gives away what was received and not yet given out, for another protocol that begins here. No packet can come of it any
    /// more.
    pub fn take_buffered(&mut self) -> Vec<u8> {
        let rest = self.buf[self.start..self.end].to_vec();
        (self.start, self.end, self.joined, self.needed) = (0, 0, 0, 0);
        rest
    }

    /// Free space to read into, never empty. Makes room by moving or growing what is buffered.
    pub fn space(&mut self) -> &mut [u8] {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
            if self.buf.len() > KEEP {
                self.buf = Vec::new();
            }
        }
        if self.buf.len() - self.end < LEAST_SPACE {
            self.make_room();
        }
        &mut self.buf[self.end..]
    }

    /// `n` bytes were read into [`space`](Decoder::space).
    #[inline]
    pub fn filled(&mut self, n: usize) {
        self.end = self.buf.len().min(self.end.saturating_add(n));
    }

    /// Copies `bytes` in, as if they had been read. For callers that do not own the read.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let space = self.space();
            let n = space.len().min(bytes.len());
            space[..n].copy_from_slice(&bytes[..n]);
            self.filled(n);
            bytes = &bytes[n..];
        }
    }

    #[cold]
    fn make_room(&mut self) {
        if self.start > 0 {
            self.buf.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        let free = self.buf.len() - self.end;
        if free < LEAST_SPACE || self.needed > self.buf.len() {
            let doubled = (self.buf.len() * 2).max(INITIAL);
            // A packet that is not huge gets its room at once; a huge claim is believed only as it arrives.
            let size = doubled.max(self.needed.min(KEEP) + LEAST_SPACE);
            self.buf.resize(size, 0);
        }
    }

    /// The next whole packet's payload, or `None` until more is read.
    ///
    /// # Errors
    /// [`ProtocolError::PacketTooLarge`] as soon as a header announces more than the maximum,
    /// [`ProtocolError::OutOfOrder`] for a wrong sequence number. After either the stream cannot be used.
    #[inline]
    pub fn next_packet(&mut self) -> Result<Option<&[u8]>, ProtocolError> {
        Ok(self.take_packet()?.map(|place| self.payload(place)))
    }

    /// The payload [`take_packet`](Decoder::take_packet) found. Meaningless once [`space`](Decoder::space) was
    /// called again.
    #[inline]
    pub fn payload(&self, place: PacketPlace) -> &[u8] {
        self.buf.get(place.start..place.stop).unwrap_or_default()
    }

    /// As [`next_packet`](Decoder::next_packet), but gives the place of the payload instead of lending it, which lets
    /// a loop read on when there is none.
    ///
    /// # Errors
    /// Those of [`next_packet`](Decoder::next_packet).
    #[inline]
    pub fn take_packet(&mut self) -> Result<Option<PacketPlace>, ProtocolError> {
        loop {
            let header = self.start + self.joined + if self.joined > 0 { HEADER } else { 0 };
            let Some(&[a, b, c, sequence]) = self.buf[header..self.end].first_chunk::<HEADER>()
            else {
                return Ok(None);
            };
            let length = u32::from_le_bytes([a, b, c, 0]) as usize;
            if sequence != self.sequence && !self.unnumbered {
                return Err(ProtocolError::OutOfOrder);
            }
            if self.joined + length > self.max_packet {
                // The refusal's number: that behind the frame refused.
                self.sequence = sequence.wrapping_add(1);
                return Err(ProtocolError::PacketTooLarge);
            }
            if self.end - header - HEADER < length {
                self.needed = header + HEADER + length - self.start;
                return Ok(None);
            }
            self.sequence = sequence.wrapping_add(1);
            if self.joined > 0 {
                self.buf.copy_within(header + HEADER..self.end, header);
                self.end -= HEADER;
            }
            let payload = self.start + HEADER;
            if length < MAX_FRAME {
                let stop = payload + self.joined + length;
                self.start = stop;
                self.joined = 0;
                self.needed = 0;
                return Ok(Some(PacketPlace {
                    start: payload,
                    stop,
                }));
            }
            self.joined += length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketWriter;
    use proptest::prelude::*;

    const BIG: usize = 1 << 30;

    #[test]
    fn two_packets_in_one_read() -> Result<(), ProtocolError> {
        let mut decoder = Decoder::new(BIG);
        decoder.feed(&[1, 0, 0, 0, 7, 2, 0, 0, 1, 8]);
        assert_eq!(decoder.next_packet()?, Some(&[7u8][..]));
        assert_eq!(decoder.next_packet()?, None);
        decoder.feed(&[9]);
        assert_eq!(decoder.next_packet()?, Some(&[8u8, 9][..]));
        assert_eq!(decoder.sequence(), 2);
        assert_eq!(decoder.buffered(), 0);
        Ok(())
    }

    #[test]
    fn limits_and_order() {
        let mut decoder = Decoder::new(10);
        decoder.feed(&[11, 0, 0, 0]);
        assert_eq!(decoder.next_packet(), Err(ProtocolError::PacketTooLarge));
        let mut decoder = Decoder::new(10);
        decoder.feed(&[1, 0, 0, 3, 0]);
        assert_eq!(decoder.next_packet(), Err(ProtocolError::OutOfOrder));
        decoder.set_sequence(3);
        assert_eq!(decoder.next_packet(), Ok(Some(&[0u8][..])));
    }

    #[test]
    fn frames_of_the_largest_size_join() -> Result<(), ProtocolError> {
        for length in [
            MAX_FRAME - 1,
            MAX_FRAME,
            MAX_FRAME + 1,
            2 * MAX_FRAME,
            2 * MAX_FRAME + 70_000,
        ] {
            let payload: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
            let mut writer = PacketWriter::new();
            writer.begin();
            writer.buf().extend_from_slice(&payload);
            writer.end();
            writer.begin();
            writer.buf().push(5);
            writer.end();
            let mut decoder = Decoder::new(BIG);
            for chunk in writer.pending().chunks(1 << 20) {
                decoder.feed(chunk);
                if decoder.buffered() < length + HEADER {
                    assert_eq!(decoder.next_packet()?, None);
                }
            }
            assert!(decoder.next_packet()? == Some(&payload[..]), "{length}");
            assert_eq!(decoder.next_packet()?, Some(&[5u8][..]));
            assert_eq!(decoder.sequence(), writer.sequence());
            assert!(decoder.space().len() <= KEEP);
            let mut decoder = Decoder::new(length - 1);
            decoder.feed(writer.pending());
            assert_eq!(decoder.next_packet(), Err(ProtocolError::PacketTooLarge));
        }
        Ok(())
    }

    #[test]
    fn a_claim_is_not_believed() {
        let mut decoder = Decoder::new(BIG);
        decoder.feed(&[0xFE, 0xFF, 0xFF, 0]);
        assert_eq!(decoder.next_packet(), Ok(None));
        assert!(decoder.space().len() <= KEEP + LEAST_SPACE);
    }

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn any_split_gives_the_same_packets(
            packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..6000), 1..8),
            cuts in prop::collection::vec(1..5000usize, 1..40),
        ) {
            let mut writer = PacketWriter::new();
            for packet in &packets {
                writer.begin();
                writer.buf().extend_from_slice(packet);
                writer.end();
            }
            let mut decoder = Decoder::new(BIG);
            let mut rest = writer.pending();
            let mut got = Vec::new();
            let mut cuts = cuts.iter().cycle();
            while !rest.is_empty() {
                let cut = cuts.next().copied().unwrap_or(1).min(rest.len());
                decoder.feed(&rest[..cut]);
                rest = &rest[cut..];
                while let Some(packet) = decoder.next_packet()? {
                    got.push(packet.to_vec());
                }
            }
            prop_assert_eq!(got, packets);
        }

        #[test]
        fn any_bytes_decode_without_panic(bytes: Vec<u8>, max in 0..400usize) {
            let mut decoder = Decoder::new(max);
            for chunk in bytes.chunks(7) {
                decoder.feed(chunk);
                while let Ok(Some(packet)) = decoder.next_packet() {
                    prop_assert!(packet.len() <= max);
                }
            }
        }
    }
}
