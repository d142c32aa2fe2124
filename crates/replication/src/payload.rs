//! The events of a compressed transaction, taken out of it one by one. What it says of its size is not believed: it is as large as what
//! comes out, and no event of it is larger than the limit.

use std::io::Read;

use wire::ProtocolError;
use wire::binlog::header::{self, Header};
use wire::binlog::payload::{Compression, Payload};
use wire::read::Reader;

/// The largest window of a frame, as a power of two: what zstd itself allows.
const WINDOW: u32 = 27;

enum Source<'a> {
    Zstd(Box<zstd::stream::read::Decoder<'static, &'a [u8]>>),
    Plain(&'a [u8]),
}

/// The events.
pub struct Events<'a> {
    source: Source<'a>,
    largest: usize,
}

impl<'a> Events<'a> {
    /// Of the body of TRANSACTION_PAYLOAD.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`].
    pub fn of(body: &'a [u8], largest: usize) -> Result<Events<'a>, ProtocolError> {
        let payload = Payload::read(body)?;
        let source = match payload.compression {
            Compression::None => Source::Plain(payload.bytes),
            Compression::Zstd => {
                let made = zstd::stream::read::Decoder::with_buffer(payload.bytes);
                let mut decoder = made.map_err(|_| ProtocolError::Malformed)?;
                decoder
                    .window_log_max(WINDOW)
                    .map_err(|_| ProtocolError::Malformed)?;
                Source::Zstd(Box::new(decoder))
            }
        };
        Ok(Events { source, largest })
    }

    /// The next event, which has no checksum; `None` at the end.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: what comes out is no event, or ends within one; [`ProtocolError::PacketTooLarge`].
    pub fn next_event(&mut self) -> Result<Option<(Header, Vec<u8>)>, ProtocolError> {
        let front = self.next_bytes(header::LEN)?;
        if front.is_empty() {
            return Ok(None);
        }
        if front.len() < header::LEN {
            return Err(ProtocolError::Malformed);
        }
        let header = Header::read(&mut Reader::new(&front))?;
        let length = header.size as usize - header::LEN;
        if length > self.largest {
            return Err(ProtocolError::PacketTooLarge);
        }
        let body = self.next_bytes(length)?;
        match body.len() == length {
            true => Ok(Some((header, body))),
            false => Err(ProtocolError::Malformed),
        }
    }

    /// So many bytes, or fewer at the end. Memory is taken as they come.
    fn next_bytes(&mut self, n: usize) -> Result<Vec<u8>, ProtocolError> {
        let mut out = Vec::new();
        let read = match &mut self.source {
            Source::Zstd(d) => d.take(n as u64).read_to_end(&mut out),
            Source::Plain(p) => p.take(n as u64).read_to_end(&mut out),
        };
        read.map_err(|_| ProtocolError::Malformed)?;
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::binlog::frame::{Checksum, put_event};
    use wire::binlog::header::kind;

    fn body(compressed: bool) -> Vec<u8> {
        let mut events = Vec::new();
        for n in 0..3u8 {
            let header = Header {
                kind: kind::QUERY,
                ..Header::default()
            };
            put_event(header, Checksum::None, &mut events, |out| out.push(n));
        }
        let bytes = match compressed {
            true => zstd::encode_all(&events[..], 3).unwrap(),
            false => events.clone(),
        };
        let payload = Payload {
            compression: match compressed {
                true => Compression::Zstd,
                false => Compression::None,
            },
            // What it says of itself is not believed.
            uncompressed: u64::MAX,
            bytes: &bytes,
        };
        let mut body = Vec::new();
        payload.write(&mut body);
        body
    }

    #[test]
    fn events_come_out_one_by_one() {
        for compressed in [true, false] {
            let body = body(compressed);
            let mut events = Events::of(&body, 100).unwrap();
            for n in 0..3u8 {
                assert_eq!(events.next_event().unwrap().unwrap().1, [n]);
            }
            assert!(events.next_event().unwrap().is_none());
        }
    }

    #[test]
    fn what_is_too_large_or_cut_is_refused() {
        let whole = body(false);
        assert!(matches!(
            Events::of(&whole, 0).unwrap().next_event(),
            Err(ProtocolError::PacketTooLarge)
        ));
        for compressed in [true, false] {
            let whole = body(compressed);
            for at in 0..whole.len() {
                for bit in 0..8 {
                    let mut other = whole.clone();
                    other[at] ^= 1 << bit;
                    let Ok(mut events) = Events::of(&other, 1 << 20) else {
                        continue;
                    };
                    let mut n = 0;
                    while let Ok(Some(_)) = events.next_event() {
                        n += 1;
                        assert!(n < 10);
                    }
                }
            }
        }
    }
}
