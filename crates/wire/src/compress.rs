//! The compressed protocol: frames of bytes between packets and the network, squeezed by zlib or zstd. Sans-IO, as the rest of the crate.
//!
//! A frame is the length of what follows (3 bytes), a number (1), and the length before squeezing (3; 0: as it is). Packets begin and end
//! anywhere in frames. What comes is unsqueezed piece by piece into the caller's room: a frame never gives more than it has announced,
//! and the packets in it are measured by the [`Decoder`](crate::Decoder). It never believes a length, and never holds a whole frame of
//! the peer's.

use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::{CParameter, DParameter, Decoder, Encoder, InBuffer, Operation, OutBuffer};

use crate::error::ProtocolError;

/// How bytes are squeezed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// zlib, at its usual level.
    Zlib,
    /// zstd at a level that the client has chosen.
    Zstd(u8),
}

impl Method {
    /// MySQL's name of the algorithm.
    pub const fn name(self) -> &'static str {
        match self {
            Method::Zlib => "zlib",
            Method::Zstd(_) => "zstd",
        }
    }

    /// The level that squeezes.
    pub const fn level(self) -> u8 {
        match self {
            Method::Zlib => ZLIB_LEVEL,
            Method::Zstd(level) => level,
        }
    }

    /// Bytes that both directions of a connection take for it, but for frames under way.
    pub const fn memory(self) -> usize {
        match self {
            // Deflate's window, hash and pending bytes; inflate's window. (zlib's zconf.h.)
            Method::Zlib => 320 << 10,
            // By the sizes below: the window and the block in front of it, two tables of positions, the tables of the best levels; of the other
            // direction the window of small frames.
            Method::Zstd(_) => 3 << 20,
        }
    }
}

/// Bytes before each frame.
const HEADER: usize = 7;
/// MySQL squeezes at this level.
const ZLIB_LEVEL: u8 = 6;
/// Less than this is sent as it is, as in MySQL.
const LEAST: usize = 50;
/// Most bytes of one frame that is sent, as in MySQL: there are clients that take a packet for whole after its second frame.
const PIECE: usize = 0xFF_FFFF;
/// Bytes that are squeezed at once: whoever serves others looks after them in between.
const STEP: usize = 32 << 10;
/// What squeezes with zstd has tables of so many positions, whatever the level that a client asks for: hundreds of megabytes at the best.
/// Logarithms of the window, of the hash table and of the chains.
const SIZES: [CParameter; 3] = [
    CParameter::WindowLog(18),
    CParameter::HashLog(16),
    CParameter::ChainLog(17),
];
/// A decoder has kept a window of this size at the most when a frame is over.
const KEPT: usize = 1 << 20;
/// Windows of zstd are at most 16 MiB, which is the most that a frame can hold, and at least as large as it may always ask for.
const WINDOWS: std::ops::RangeInclusive<u32> = 17..=24;

/// Squeezes what is sent.
pub struct Packer {
    zlib: Option<flate2::Compress>,
    zstd: Option<Encoder<'static>>,
    under_way: Option<UnderWay>,
}

/// How far the frame has come that is being made.
#[derive(Debug, Clone, Copy, Default)]
struct UnderWay {
    taken: usize,
    made: usize,
}

impl std::fmt::Debug for Packer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Packer")
            .field("under_way", &self.under_way)
            .finish_non_exhaustive()
    }
}

impl Packer {
    /// One that squeezes by a method.
    pub fn new(method: Method) -> Packer {
        let level = i32::from(method.level());
        Packer {
            zlib: (method == Method::Zlib)
                .then(|| flate2::Compress::new(flate2::Compression::new(level as u32), true)),
            zstd: match method {
                Method::Zlib => None,
                // What it cannot make is sent as it is.
                Method::Zstd(_) => encoder(level).ok(),
            },
            under_way: None,
        }
    }

    /// How many bytes of `plain` the next frame stands for.
    fn covers(plain: &[u8]) -> usize {
        plain.len().min(PIECE)
    }

    /// Makes a step of one frame, with this number, of the first bytes of `plain`. Returns how many these are once all of it is appended; before
    /// that it is to be called again with the same bytes, and what `out` has is of no use.
    pub fn pack(&mut self, plain: &[u8], number: u8, out: &mut Vec<u8>) -> Option<usize> {
        let plain = &plain[..Packer::covers(plain)];
        let frame = HEADER + plain.len();
        let mut at = match self.under_way.take() {
            Some(at) => at,
            None => {
                out.resize(out.len() + frame, 0);
                UnderWay::default()
            }
        };
        let start = out.len() - frame;
        // More room than the bytes themselves take is not wanted: then they go as they are.
        let room = &mut out[start + HEADER..];
        let squeezed = match plain.len() < LEAST {
            true => None,
            false => self.squeeze(plain, room, &mut at),
        };
        let (length, before) = match squeezed {
            Some(false) => {
                self.under_way = Some(at);
                return None;
            }
            Some(true) if at.made < plain.len() => (at.made, plain.len()),
            _ => {
                room.copy_from_slice(plain);
                (plain.len(), 0)
            }
        };
        out.truncate(start + HEADER + length);
        let [l0, l1, l2, _] = (length as u32).to_le_bytes();
        let [b0, b1, b2, _] = (before as u32).to_le_bytes();
        out[start..start + HEADER].copy_from_slice(&[l0, l1, l2, number, b0, b1, b2]);
        Some(plain.len())
    }

    /// Squeezes some more; whether that was all. `None`: it does not fit.
    fn squeeze(&mut self, plain: &[u8], room: &mut [u8], at: &mut UnderWay) -> Option<bool> {
        let begins = at.taken == 0;
        let piece = &plain[at.taken..plain.len().min(at.taken + STEP)];
        let last = at.taken + piece.len() == plain.len();
        let room = &mut room[at.made..];
        let ends = if let Some(zstd) = &mut self.zstd {
            if begins {
                zstd.reinit().ok()?;
                zstd.set_pledged_src_size(Some(plain.len() as u64)).ok()?;
            }
            let (mut from, mut to) = (InBuffer::around(piece), OutBuffer::around(room));
            while from.pos() < piece.len() {
                let before = (from.pos(), to.pos());
                zstd.run(&mut from, &mut to).ok()?;
                if (from.pos(), to.pos()) == before {
                    return None;
                }
            }
            let left = match last {
                true => zstd.finish(&mut to, true).ok()?,
                false => 0,
            };
            at.made += to.pos();
            left == 0
        } else {
            let zlib = self.zlib.as_mut()?;
            if begins {
                zlib.reset();
            }
            let (took, made) = (zlib.total_in(), zlib.total_out());
            let flush = match last {
                true => flate2::FlushCompress::Finish,
                false => flate2::FlushCompress::None,
            };
            let status = zlib.compress(piece, room, flush).ok()?;
            at.made += (zlib.total_out() - made) as usize;
            let all = zlib.total_in() - took == piece.len() as u64;
            all && (!last || status == Status::StreamEnd)
        };
        at.taken += piece.len();
        ends.then_some(last)
    }
}

fn encoder(level: i32) -> std::io::Result<Encoder<'static>> {
    let mut zstd = Encoder::new(level)?;
    for size in SIZES {
        zstd.set_parameter(size)?;
    }
    Ok(zstd)
}

/// A decoder whose windows are no larger than that.
fn decoder(window: u32) -> Result<Decoder<'static>, ProtocolError> {
    let made = Decoder::new().and_then(|mut zstd| {
        zstd.set_parameter(DParameter::WindowLogMax(window))?;
        Ok(zstd)
    });
    made.map_err(|_| ProtocolError::Uncompress)
}

/// What is inside of the frame under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    /// Its header, of which so many bytes are there.
    Header(usize),
    Plain,
    Squeezed,
}

/// Unsqueezes what is received.
pub struct Unpacker {
    zlib: Option<Decompress>,
    zstd: Option<Decoder<'static>>,
    /// The logarithm of the largest window that zstd may ask for.
    window: u32,
    inside: Inside,
    header: [u8; HEADER],
    /// Bytes of the frame still to come, and bytes that they may still become.
    coming: usize,
    owed: usize,
    /// Bytes that all of the frame is to become.
    announced: usize,
    /// The frame's stream has said its end.
    ended: bool,
    /// The number of the last frame.
    number: u8,
}

impl std::fmt::Debug for Unpacker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unpacker")
            .field("inside", &self.inside)
            .finish()
    }
}

impl Unpacker {
    /// One for a method. `max_packet` limits the window that zstd may ask for.
    ///
    /// # Errors
    /// [`ProtocolError::Uncompress`] where there is no room for it.
    pub fn new(method: Method, max_packet: usize) -> Result<Unpacker, ProtocolError> {
        let window = max_packet.max(1).ilog2() + 1;
        let window = window.clamp(*WINDOWS.start(), *WINDOWS.end());
        let zstd = match method {
            Method::Zlib => None,
            Method::Zstd(_) => Some(decoder(window)?),
        };
        Ok(Unpacker {
            zlib: (method == Method::Zlib).then(|| Decompress::new(true)),
            zstd,
            window,
            inside: Inside::Header(0),
            header: [0; HEADER],
            coming: 0,
            owed: 0,
            announced: 0,
            ended: false,
            number: 0,
        })
    }

    /// The number of the frame that is or was last under way: the answer's is the next.
    pub fn number(&self) -> u8 {
        self.number
    }

    /// Bytes that the frame under way may have it hold, beyond what the method always takes.
    pub fn holds(&self) -> usize {
        match self.zstd.is_some() && self.inside == Inside::Squeezed {
            true => self.announced.min(1 << self.window),
            false => 0,
        }
    }

    /// Unsqueezes from `input` into `output`: how many bytes were taken, and how many made. Where both are 0, more is to come first.
    ///
    /// # Errors
    /// [`ProtocolError::Uncompress`] for what is not squeezed, or not as announced.
    pub fn unpack(
        &mut self,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(usize, usize), ProtocolError> {
        match self.inside {
            Inside::Header(have) => {
                let n = input.len().min(HEADER - have);
                self.header[have..have + n].copy_from_slice(&input[..n]);
                self.inside = Inside::Header(have + n);
                if have + n == HEADER {
                    self.begin();
                }
                Ok((n, 0))
            }
            Inside::Plain => {
                let n = input.len().min(output.len()).min(self.coming);
                output[..n].copy_from_slice(&input[..n]);
                self.coming -= n;
                if self.coming == 0 {
                    self.inside = Inside::Header(0);
                }
                Ok((n, n))
            }
            Inside::Squeezed => self.unsqueeze(input, output),
        }
    }

    /// A header is there.
    fn begin(&mut self) {
        let [l0, l1, l2, number, b0, b1, b2] = self.header;
        self.coming = u32::from_le_bytes([l0, l1, l2, 0]) as usize;
        self.owed = u32::from_le_bytes([b0, b1, b2, 0]) as usize;
        self.announced = self.owed;
        self.number = number;
        self.ended = false;
        self.inside = match (self.owed, self.coming) {
            (0, 0) => Inside::Header(0),
            (0, _) => Inside::Plain,
            _ => {
                if let Some(zlib) = &mut self.zlib {
                    zlib.reset(true);
                }
                if let Some(zstd) = &mut self.zstd {
                    // It cannot fail for the decoder that it is called for.
                    let _same = zstd.reinit();
                }
                Inside::Squeezed
            }
        };
    }

    fn unsqueeze(
        &mut self,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(usize, usize), ProtocolError> {
        let wrong = ProtocolError::Uncompress;
        let input = &input[..input.len().min(self.coming)];
        if input.is_empty() && self.coming > 0 {
            return Ok((0, 0));
        }
        // Once all is there that was announced, a byte more shows that there is too much.
        let mut beyond = [0];
        let over = self.owed == 0;
        let room = match over {
            true => &mut beyond[..],
            false => {
                let n = output.len().min(self.owed);
                &mut output[..n]
            }
        };
        let (taken, made) = self.step(input, room)?;
        if over && made > 0 {
            return Err(wrong);
        }
        self.coming -= taken;
        self.owed -= made;
        if self.ended {
            if self.coming > 0 || self.owed > 0 {
                return Err(wrong);
            }
            self.inside = Inside::Header(0);
            if self.zstd.is_some() && self.announced > KEPT {
                self.zstd = Some(decoder(self.window)?);
            }
        } else if taken == 0 && made == 0 {
            // All of the frame is there, and it does not end.
            return Err(wrong);
        }
        Ok((taken, made))
    }

    fn step(&mut self, input: &[u8], room: &mut [u8]) -> Result<(usize, usize), ProtocolError> {
        let wrong = |_| ProtocolError::Uncompress;
        if let Some(zstd) = &mut self.zstd {
            let mut from = InBuffer::around(input);
            let mut to = OutBuffer::around(room);
            let left = zstd
                .run(&mut from, &mut to)
                .map_err(|_| ProtocolError::Uncompress)?;
            self.ended = left == 0;
            let made = to.pos();
            return Ok((from.pos(), made));
        }
        let Some(zlib) = &mut self.zlib else {
            return Err(ProtocolError::Uncompress);
        };
        let (in_before, out_before) = (zlib.total_in(), zlib.total_out());
        let status = zlib
            .decompress(input, room, FlushDecompress::None)
            .map_err(wrong)?;
        self.ended = status == Status::StreamEnd;
        let taken = (zlib.total_in() - in_before) as usize;
        Ok((taken, (zlib.total_out() - out_before) as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Unpacks in pieces of these sizes; `None` where it is refused.
    fn unpacked(method: Method, input: &[u8], piece: usize, room: usize) -> Option<Vec<u8>> {
        let mut unpacker = Unpacker::new(method, 1 << 20).unwrap();
        let mut out = Vec::new();
        let mut buffer = vec![0; room];
        for mut part in input.chunks(piece) {
            loop {
                let (taken, made) = unpacker.unpack(part, &mut buffer).ok()?;
                out.extend_from_slice(&buffer[..made]);
                part = &part[taken..];
                if taken == 0 && made == 0 || part.is_empty() && made < room {
                    break;
                }
            }
        }
        Some(out)
    }

    fn packed(method: Method, plain: &[u8]) -> Vec<u8> {
        let mut packer = Packer::new(method);
        let (mut out, mut at) = (Vec::new(), 0);
        let mut number = 0;
        while at < plain.len() {
            let taken = loop {
                if let Some(taken) = packer.pack(&plain[at..], number, &mut out) {
                    break taken;
                }
            };
            at += taken;
            number += 1;
        }
        out
    }

    /// At any level a step is short, and what does not become smaller goes as it is.
    #[test]
    fn large_frames_are_made_step_by_step() {
        let mut n = 1u64;
        let mut noise = || {
            n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (n >> 56) as u8
        };
        let noisy: Vec<u8> = (0..3 << 20).map(|_| noise()).collect();
        let text: Vec<u8> = (0..3u32 << 20).map(|i| (i / 3 % 251) as u8).collect();
        for method in METHODS {
            for (plain, smaller) in [(&noisy, false), (&text, true)] {
                let (mut packer, mut out, mut steps) = (Packer::new(method), Vec::new(), 1);
                // Twice, as what was given up is begun anew.
                for _ in 0..2 {
                    out.clear();
                    while packer.pack(plain, 0, &mut out).is_none() {
                        steps += 1;
                    }
                    assert_eq!(out.len() < plain.len() / 2, smaller, "{method:?}");
                    assert_eq!(
                        unpacked(method, &out, 1 << 14, 1 << 14).as_ref(),
                        Some(plain)
                    );
                }
                assert!(steps > 100, "{method:?} {steps}");
            }
        }
    }

    /// What a client's frames have the decoder hold is known before, and given back.
    #[test]
    fn a_window_is_held_as_long_as_its_frame() {
        let plain = vec![7; 3 << 20];
        let frame = packed(Method::Zstd(1), &plain);
        let mut unpacker = Unpacker::new(Method::Zstd(1), 64 << 20).unwrap();
        let mut room = vec![0; 1 << 16];
        let (mut at, mut most) = (0, 0);
        while at < frame.len() {
            let (taken, _) = unpacker
                .unpack(&frame[at..frame.len().min(at + 9)], &mut room)
                .unwrap();
            at += taken;
            most = most.max(unpacker.holds());
        }
        while unpacker.holds() > 0 {
            unpacker.unpack(&[], &mut room).unwrap();
        }
        assert_eq!(most, 3 << 20);
    }

    const METHODS: [Method; 3] = [Method::Zlib, Method::Zstd(3), Method::Zstd(22)];

    #[test]
    fn large_and_small_come_back() {
        for method in METHODS {
            for n in [0, 1, 49, 50, 51, 65_535, 65_536, 200_000] {
                let plain: Vec<u8> = (0..n).map(|i: usize| (i * i / 7) as u8).collect();
                let there = packed(method, &plain);
                for (piece, room) in [(1 << 20, 1 << 20), (1000, 333), (7, 1 << 16)] {
                    assert_eq!(unpacked(method, &there, piece, room).as_ref(), Some(&plain));
                }
            }
            let zeros = packed(method, &[0; 60_000]);
            assert!(zeros.len() < 200);
        }
    }

    #[test]
    fn what_is_not_as_announced_is_refused() {
        for method in METHODS {
            let good = packed(method, &[7; 1000]);
            assert!(good.len() < 100);
            for (at, by) in [(4, 1), (4, 255), (0, 255), (0, 1)] {
                let mut bad = good.clone();
                bad[at] = bad[at].wrapping_add(by);
                bad.extend_from_slice(&good);
                assert_ne!(
                    unpacked(method, &bad, 1000, 4096).map(|b| b.len()),
                    Some(2000),
                    "{method:?} {at} {by}"
                );
            }
            // Sixteen megabytes of zeros that say they are a thousand.
            let mut bomb = good[..HEADER].to_vec();
            let squeezed = match method {
                Method::Zlib => {
                    let mut zlib = flate2::Compress::new(flate2::Compression::new(9), true);
                    let mut out = vec![0; 1 << 20];
                    zlib.compress(&vec![0; 16 << 20], &mut out, flate2::FlushCompress::Finish)
                        .unwrap();
                    out.truncate(zlib.total_out() as usize);
                    out
                }
                Method::Zstd(_) => zstd::bulk::compress(&vec![0; 16 << 20], 1).unwrap(),
            };
            bomb[..3].copy_from_slice(&(squeezed.len() as u32).to_le_bytes()[..3]);
            bomb.extend_from_slice(&squeezed);
            assert_eq!(
                unpacked(method, &bomb, 1 << 20, 1 << 16),
                None,
                "{method:?}"
            );
        }
    }

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn any_bytes_end(bytes in any::<Vec<u8>>(), piece in 1usize..40, squeezed in any::<bool>()) {
            for method in METHODS {
                let mut input = packed(method, &[5; 300]);
                if squeezed {
                    input.truncate(HEADER + 4);
                } else {
                    input.clear();
                }
                input.extend_from_slice(&bytes);
                let _ = unpacked(method, &input, piece, 64);
            }
        }
    }
}
