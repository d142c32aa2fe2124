//! A page as it lies in a compressed tablespace: compressed, behind a header that tells how, or plain where compression gains nothing.
//!
//! Header: crc u32 @0 | page u32 @4 | space u32 @8 | method u8 @12 | arranged u8 @13 | dictionary u16 @14 | length u32 @16 |
//! reserved u32 @20 | lsn u64 @24. The checksum covers the rest of the header and the `length` bytes behind it. What is compressed is the
//! page behind its own checksum, which it gets anew when it is decompressed: as it is, or, a 1 at 13, as [`columns`] arranges it.
//! Of the bytes that may come from a device none is trusted.

use super::columns::{self, Cells, CellsOf, Slots};
use super::dictionary::{self, Dictionary};
use super::format::{CompressedFormat, Method};
use super::widths::Widths;
use crate::page::{self, PAGE_SIZE};
use base::checksum::crc32c;
use base::{AlignedBuf, PageNo, SpaceId, le};
use std::cell::RefCell;
use std::io;
use zstd::zstd_safe::{CCtx, DCtx};

/// Bytes in front of a compressed page.
pub const HEADER: usize = 32;

/// A page ready to be written: in whole units, the rest of the last one zeros.
pub struct CompressedPage {
    /// What goes to the device.
    pub bytes: AlignedBuf,
    /// It is the page itself, sealed.
    pub plain: bool,
}

/// Compresses pages, reusing what it needs for that.
pub struct PageCompressor {
    cells_of: CellsOf,
    cells: Cells,
    widths: Widths,
    arranged: Box<[u8; columns::MOST]>,
    body: Vec<u8>,
    zstd: Option<(u8, zstd::bulk::Compressor<'static>)>,
    /// For compression with dictionaries.
    context: Option<CCtx<'static>>,
    zlib: Option<(u32, flate2::Compress)>,
}

impl PageCompressor {
    /// One that learns from `cells_of` where the entries of a page lie.
    pub fn new(cells_of: CellsOf) -> PageCompressor {
        PageCompressor {
            cells_of,
            cells: Cells::new(),
            widths: Widths::default(),
            arranged: Box::new([0; columns::MOST]),
            body: vec![0; lz4_flex::block::get_maximum_output_size(columns::MOST)],
            zstd: None,
            context: None,
            zlib: None,
        }
    }

    /// Compresses a sealed page where that saves a unit, by zstd with `dictionary` if there is one.
    ///
    /// # Errors
    /// The library found no memory; it is no page.
    pub fn compress(
        &mut self,
        page: &[u8],
        format: CompressedFormat,
        dictionary: Option<&Dictionary>,
    ) -> io::Result<CompressedPage> {
        let page: &[u8; PAGE_SIZE] = page
            .try_into()
            .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        let unit = format.unit as usize;
        let most = (PAGE_SIZE - unit).saturating_sub(HEADER);
        let slots = self.cells.read(page, self.cells_of);
        let how = How {
            most,
            format,
            dictionary: dictionary.filter(|_| format.method == Method::Zstd),
        };
        let compressed = match (most, &slots) {
            (0, _) => None,
            (_, None) => self.compress_as(What::Page(page), how)?,
            (_, Some(slots)) => self.compress_arranged((page, slots), how)?,
        };
        let Some(n) = compressed else {
            return Ok(CompressedPage {
                bytes: AlignedBuf::copy_of(page),
                plain: true,
            });
        };
        let mut out = AlignedBuf::zeroed((HEADER + n).div_ceil(unit) * unit);
        out[4..12].copy_from_slice(&page[4..12]);
        out[12] = format.method as u8;
        out[13] = u8::from(slots.is_some());
        let number = how.dictionary.map_or(0, |_| dictionary::NUMBER);
        le::put_u16(&mut out, 14, number);
        le::put_u32(&mut out, 16, n as u32);
        out[24..32].copy_from_slice(&page[16..24]);
        out[HEADER..HEADER + n].copy_from_slice(&self.body[..n]);
        let crc = crc32c(&out[4..HEADER + n]);
        le::put_u32(&mut out, 0, crc);
        Ok(CompressedPage {
            bytes: out,
            plain: false,
        })
    }

    /// Looks for a dictionary for pages like these; `None` if none pays, see [`Dictionary::train`].
    ///
    /// # Errors
    /// The library found no memory.
    pub(crate) fn train(
        &mut self,
        pages: &[&[u8]],
        format: CompressedFormat,
        pays: impl Fn(usize, usize) -> bool,
    ) -> io::Result<Option<Dictionary>> {
        if format.method != Method::Zstd {
            return Ok(None);
        }
        let mut samples = Vec::new();
        for page in pages {
            let Some(page) = page.first_chunk::<PAGE_SIZE>() else {
                continue;
            };
            let slots = self.cells.read(page, self.cells_of);
            samples.push(match slots {
                None => page[4..].to_vec(),
                Some(slots) => {
                    let of = (le::get_u32(page, 8), le::get_u32(page, 24));
                    let width = self.widths.known(of);
                    let n =
                        columns::arrange(page, (&self.cells, &slots), width, &mut self.arranged);
                    self.arranged[..n].to_vec()
                }
            });
        }
        let mut by_itself = zstd_of(format.level)?;
        let mut to = vec![0; columns::MOST + 1024];
        let alone = |s: &[u8]| by_itself.compress_to_buffer(s, &mut to[..]).ok();
        Ok(Dictionary::train(&samples, format.level, alone, pays))
    }

    /// Compresses a leaf by columns, as many as were best for its index when that was last tried.
    fn compress_arranged(
        &mut self,
        (page, slots): (&[u8; PAGE_SIZE], &Slots),
        how: How<'_>,
    ) -> io::Result<Option<usize>> {
        let of = (le::get_u32(page, 8), le::get_u32(page, 24));
        let mut tried = Vec::new();
        for width in self.widths.next_widths(of) {
            let n = columns::arrange(page, (&self.cells, slots), width, &mut self.arranged);
            let compressed = self.compress_as(What::Arranged(n), how)?;
            tried.push((compressed.unwrap_or(usize::MAX), width, n));
        }
        let last = tried.last().copied();
        let best = tried.iter().min().copied();
        let Some((compressed, width, n)) = best else {
            return Ok(None);
        };
        if tried.len() > 1 {
            self.widths.learn(of, width);
        }
        if best != last {
            columns::arrange(page, (&self.cells, slots), width, &mut self.arranged);
            return self.compress_as(What::Arranged(n), how);
        }
        Ok((compressed <= how.most).then_some(compressed))
    }

    /// Compresses into the body; gives the length, or nothing where it would be more than `most`.
    fn compress_as(&mut self, what: What<'_>, how: How<'_>) -> io::Result<Option<usize>> {
        let (most, format) = (how.most, how.format);
        let plain = match what {
            What::Page(page) => &page[4..],
            What::Arranged(n) => &self.arranged[..n],
        };
        let n = match format.method {
            Method::Lz4 => lz4_flex::block::compress_into(plain, &mut self.body).ok(),
            Method::Zlib => {
                let level = u32::from(format.level);
                if self.zlib.as_ref().is_none_or(|(l, _)| *l != level) {
                    let how = flate2::Compression::new(level);
                    self.zlib = Some((level, flate2::Compress::new(how, true)));
                }
                let Some((_, c)) = &mut self.zlib else {
                    return Ok(None);
                };
                c.reset();
                let to = &mut self.body[..most];
                let done = c.compress(plain, to, flate2::FlushCompress::Finish);
                matches!(done, Ok(flate2::Status::StreamEnd)).then(|| c.total_out() as usize)
            }
            Method::Zstd if let Some(d) = how.dictionary => {
                if self.context.is_none() {
                    self.context = CCtx::try_create();
                }
                let by = self.context.as_mut();
                by.and_then(|by| d.compress(by, plain, &mut self.body[..most]))
            }
            Method::Zstd => {
                let level = format.level;
                if self.zstd.as_ref().is_none_or(|(l, _)| *l != level) {
                    self.zstd = Some((level, zstd_of(level)?));
                }
                let Some((_, c)) = &mut self.zstd else {
                    return Ok(None);
                };
                c.compress_to_buffer(plain, &mut self.body[..most]).ok()
            }
        };
        Ok(n.filter(|n| *n <= most))
    }
}

/// How something is compressed.
#[derive(Clone, Copy)]
struct How<'d> {
    /// Into so many bytes, or not at all.
    most: usize,
    format: CompressedFormat,
    dictionary: Option<&'d Dictionary>,
}

/// What is compressed.
enum What<'a> {
    /// This page, as it is.
    Page(&'a [u8; PAGE_SIZE]),
    /// The first so many bytes of what the compressor has arranged.
    Arranged(usize),
}

/// From MySQL's scale, whose middle is 6, to what zstd does with pages.
///
/// Matches of fewer than 6 bytes are not looked for: in rows they are chance, and cost more than the literals that they stand for. Of eight
/// tables' pages (sysbench's, six of TPC-C, English text), 16 KiB each for itself, zstd's own level 3 makes 0.505 sysbench, 0.570 stock, 0.206
/// orders and 0.219 text; `fast` with matches of 6 makes 0.475, 0.572, 0.206 and 0.225 at nearly twice the rate; `dfast` 0.474, 0.566, 0.205 and
/// 0.222 at the same; `greedy` 0.475, 0.565, 0.205 and 0.215 at 0.6 of it.
fn zstd_of(level: u8) -> io::Result<zstd::bulk::Compressor<'static>> {
    use zstd::zstd_safe::{CParameter, Strategy};
    let (base, strategy) = match level {
        0..=6 => (1, Strategy::ZSTD_fast),
        7 => (3, Strategy::ZSTD_dfast),
        8 => (3, Strategy::ZSTD_greedy),
        _ => (6, Strategy::ZSTD_lazy),
    };
    let mut c = zstd::bulk::Compressor::new(base)?;
    c.set_parameter(CParameter::Strategy(strategy))?;
    c.set_parameter(CParameter::MinMatch(6))?;
    Ok(c)
}

/// What a thread needs to decompress pages.
struct PageDecompressor {
    zstd: Option<DCtx<'static>>,
    arranged: Box<[u8; columns::MOST]>,
    cells: Cells,
}

thread_local! {
    static DECOMPRESSOR: RefCell<Option<PageDecompressor>> = const { RefCell::new(None) };
}

impl PageDecompressor {
    fn new() -> PageDecompressor {
        PageDecompressor {
            zstd: None,
            arranged: Box::new([0; columns::MOST]),
            cells: Cells::new(),
        }
    }

    /// Undoes a method; gives the bytes there were.
    fn decompress_by(
        zstd: &mut Option<DCtx<'static>>,
        (method, dictionary): (Method, Option<&Dictionary>),
        body: &[u8],
        to: &mut [u8],
    ) -> Option<usize> {
        match method {
            Method::Lz4 => lz4_flex::block::decompress_into(body, to).ok(),
            Method::Zlib => {
                let mut d = flate2::Decompress::new(true);
                let end = d.decompress(body, to, flate2::FlushDecompress::Finish);
                matches!(end, Ok(flate2::Status::StreamEnd)).then(|| d.total_out() as usize)
            }
            Method::Zstd => {
                if zstd.is_none() {
                    *zstd = DCtx::try_create();
                }
                let by = zstd.as_mut()?;
                match dictionary {
                    Some(d) => d.decompress(by, body, to),
                    None => by.decompress(to, body).ok(),
                }
            }
        }
    }
}

/// Decompresses what was compressed as this page into `out`, and seals it; what follows it in `bytes` is not looked at. `cells_of` is what the
/// compressor was told, `dictionary` what it may have used.
///
/// # Errors
/// What is wrong with the bytes.
pub fn decompress(
    bytes: &[u8],
    (space, page): (SpaceId, PageNo),
    (cells_of, dictionary): (CellsOf, Option<&Dictionary>),
    out: &mut [u8],
) -> Result<(), &'static str> {
    let Ok(out) = <&mut [u8; PAGE_SIZE]>::try_from(out) else {
        return Err("no place for a page");
    };
    if bytes.len() < HEADER {
        return Err("too short for a compressed page");
    }
    let length = le::get_u32(bytes, 16) as usize;
    let Some(body) = bytes[HEADER..].get(..length) else {
        return Err("a compressed page longer than its place");
    };
    let crc = crc32c(&bytes[4..HEADER + length]);
    if le::get_u32(bytes, 0) != crc && !base::mutant!("checksum-not-looked-at") {
        return Err("checksum mismatch");
    }
    page::check_identity(bytes, space, page)?;
    let method = Method::from_u8(bytes[12]).ok_or("compressed by an unknown method")?;
    let dictionary = match (le::get_u16(bytes, 14), dictionary) {
        (0, _) => None,
        (dictionary::NUMBER, Some(d)) => Some(d),
        _ => return Err("compressed with a dictionary that is not there"),
    };
    let method = (method, dictionary);
    DECOMPRESSOR.with_borrow_mut(|u| {
        let u = u.get_or_insert_with(PageDecompressor::new);
        match bytes[13] {
            0 => match PageDecompressor::decompress_by(&mut u.zstd, method, body, &mut out[4..]) {
                Some(n) if n == PAGE_SIZE - 4 => Ok(()),
                _ => Err("a page that cannot be decompressed"),
            },
            1 => match PageDecompressor::decompress_by(
                &mut u.zstd,
                method,
                body,
                &mut u.arranged[..],
            ) {
                Some(n) => columns::restore(&mut u.arranged[..n], &mut u.cells, cells_of, out),
                None => Err("a page that cannot be decompressed"),
            },
            _ => Err("a page in an unknown arrangement"),
        }
    })?;
    page::seal(out);
    page::check_identity(out, space, page)
}

#[cfg(test)]
mod tests {
    use super::super::columns::tests::{page_of, pairs};
    use super::*;
    use crate::page::{Page, PageKind};
    use proptest::prelude::*;

    fn sealed(fill: impl Fn(usize) -> u8) -> AlignedBuf {
        let mut p = Page::boxed();
        p.set_identity(SpaceId(7), PageNo(9));
        p.format(PageKind::Leaf, 0, 3);
        for (i, b) in p.bytes_mut()[64..].iter_mut().enumerate() {
            *b = fill(i);
        }
        let mut b = AlignedBuf::copy_of(&p.bytes()[..]);
        page::seal(&mut b);
        b
    }

    const HERE: (SpaceId, PageNo) = (SpaceId(7), PageNo(9));
    const METHODS: [Method; 3] = [Method::Lz4, Method::Zlib, Method::Zstd];

    fn noise(i: usize) -> u8 {
        ((i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u8
    }

    #[test]
    fn what_was_compressed_comes_back_and_noise_stays_plain() {
        let mut compressor = PageCompressor::new(columns::unknown);
        for method in METHODS {
            for unit in [512u32, 1024, 2048, 4096, 8192, 16384] {
                for noisy in [0usize, 1000, 6000, 16384] {
                    let page = sealed(|i| if i < noisy { noise(i) } else { (i / 100) as u8 });
                    let format = CompressedFormat {
                        unit,
                        block: unit,
                        method,
                        level: 6,
                    };
                    let compressed = compressor.compress(&page, format, None).expect("memory");
                    assert_eq!(compressed.bytes.len() % unit as usize, 0);
                    if compressed.plain {
                        assert_eq!(&compressed.bytes[..], &page[..]);
                        assert!(noisy > 5000 || unit >= 8192, "{method:?} {unit} {noisy}");
                        continue;
                    }
                    assert!(compressed.bytes.len() < PAGE_SIZE);
                    let mut out = AlignedBuf::zeroed(PAGE_SIZE);
                    decompress(&compressed.bytes, HERE, (columns::unknown, None), &mut out)
                        .expect("a page");
                    assert_eq!(&out[..], &page[..]);
                    let other = (SpaceId(7), PageNo(8));
                    assert!(
                        decompress(&compressed.bytes, other, (columns::unknown, None), &mut out)
                            .is_err()
                    );
                }
            }
        }
    }

    #[test]
    fn entries_are_compressed_by_columns_where_that_is_shorter() {
        let digit = |i: usize| b'0' + noise(i) % 10;
        // Digits between dashes at the same places of each row; and text in which words come again.
        let digits = |i: usize, c: usize| {
            if c % 12 == 11 {
                b'-'
            } else {
                digit(i * 300 + c)
            }
        };
        let text = |i: usize, c: usize| WORDS[(noise(i * 40 + c / 8) % 16) as usize][c % 8];
        let mut compressor = PageCompressor::new(pairs);
        let format = CompressedFormat {
            unit: 512,
            block: 512,
            method: Method::Zstd,
            level: 6,
        };
        let mut lens = |index: u32, fill: &dyn Fn(usize, usize) -> u8| {
            let mut page = page_of(&[201; 70], 0xEE, fill);
            page[4..12].copy_from_slice(&[9, 0, 0, 0, 7, 0, 0, 0]);
            le::put_u32(&mut page[..], 24, index);
            page::seal(&mut page[..]);
            let mut as_it_is = PageCompressor::new(columns::unknown);
            let plain = as_it_is
                .compress(&page[..], format, None)
                .expect("memory")
                .bytes
                .len();
            for method in METHODS {
                let compressed =
                    compressor.compress(&page[..], CompressedFormat { method, ..format }, None);
                let mut out = AlignedBuf::zeroed(PAGE_SIZE);
                let bytes = compressed.expect("memory").bytes;
                decompress(&bytes, HERE, (pairs, None), &mut out).expect("a page");
                page[64 + 70 * 4..PAGE_SIZE - 70 * 201].fill(0);
                assert_eq!(out[4..], page[4..], "{method:?}");
                assert!(decompress(&bytes, HERE, (columns::unknown, None), &mut out).is_err());
            }
            // What was learned holds for the next page.
            let compressed = compressor
                .compress(&page[..], format, None)
                .expect("memory")
                .bytes
                .len();
            (plain, compressed)
        };
        let (plain, compressed) = lens(1, &digits);
        assert!(compressed * 10 < plain * 9, "{compressed} of {plain}");
        let (plain, compressed) = lens(2, &text);
        assert!(compressed <= plain, "{compressed} of {plain}");
    }

    const WORDS: [&[u8; 8]; 16] = [
        b"account ",
        b"balance ",
        b"closing ",
        b"deposit ",
        b"estates ",
        b"forward ",
        b"grossed ",
        b"holding ",
        b"insured ",
        b"journal ",
        b"kilobit ",
        b"ledgers ",
        b"manager ",
        b"nominal ",
        b"overrun ",
        b"payable ",
    ];

    #[test]
    fn a_dictionary_is_made_where_it_pays() {
        let format = CompressedFormat {
            unit: 512,
            block: 512,
            method: Method::Zstd,
            level: 6,
        };
        let sealed = |n: usize, fill: &dyn Fn(usize, usize) -> u8| {
            let lens: Vec<usize> = (0..60).map(|i| 100 + i * 7 % 130).collect();
            let mut page = page_of(&lens, 0, |i, c| fill(n * 60 + i, c));
            page[4..12].copy_from_slice(&[9, 0, 0, 0, 7, 0, 0, 0]);
            page::seal(&mut page[..]);
            page
        };
        // `noise` repeats itself too much for this.
        let noisy =
            |i: usize, c: usize| (base::SplitMix64::new((i * 300 + c) as u64).next() >> 40) as u8;
        // Each row a few of five hundred words.
        let letter = |w: usize, c: usize| b'a' + noise(w * 20 + c) % 26;
        let wordy = |i: usize, c: usize| letter(noise(i * 40 + c / 12) as usize * 2, c % 12);
        let mut compressor = PageCompressor::new(pairs);
        let mut train = |fill: &dyn Fn(usize, usize) -> u8| {
            let pages: Vec<_> = (0..32).map(|n| sealed(n, fill)).collect();
            let pages: Vec<&[u8]> = pages.iter().map(|p| &p[..]).collect();
            let pays = |with, without| with + without / 30 <= without;
            compressor.train(&pages, format, pays).expect("memory")
        };
        assert!(train(&noisy).is_none());
        let made = train(&wordy).expect("a dictionary");
        let page = sealed(99, &wordy);
        let mut compressed = |with| {
            compressor
                .compress(&page[..], format, with)
                .expect("memory")
                .bytes
        };
        let (without, with) = (compressed(None), compressed(Some(&made)));
        assert!(
            with.len() < without.len(),
            "{} {}",
            with.len(),
            without.len()
        );
        let mut out = AlignedBuf::zeroed(PAGE_SIZE);
        decompress(&with, HERE, (pairs, Some(&made)), &mut out).expect("a page");
        assert_eq!(out[..], page[..]);
        assert!(decompress(&with, HERE, (pairs, None), &mut out).is_err());
        // What was compressed before it came is read as it was.
        decompress(&without, HERE, (pairs, Some(&made)), &mut out).expect("a page");
        assert_eq!(out[..], page[..]);
    }

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn bytes_that_are_no_page_are_refused(
            mut bytes in prop::collection::vec(any::<u8>(), 0..600),
            method in 0u8..5,
            arranged in 0u8..3,
            honest in any::<bool>(),
        ) {
            if honest && bytes.len() >= HEADER {
                // Everything but what is compressed is right.
                let n = bytes.len() - HEADER;
                le::put_u32(&mut bytes, 4, 9);
                le::put_u32(&mut bytes, 8, 7);
                bytes[12] = method;
                bytes[13] = arranged;
                le::put_u32(&mut bytes, 16, n as u32);
                let crc = crc32c(&bytes[4..]);
                le::put_u32(&mut bytes, 0, crc);
            }
            let mut out = AlignedBuf::zeroed(PAGE_SIZE);
            prop_assert!(decompress(&bytes, HERE, (pairs, None), &mut out).is_err());
        }
    }
}
