//! A dictionary of a compressed tablespace: what its pages have in common, which zstd takes for what went before each of them.
//!
//! Trained from pages that were about to be written (zstd's own trainer: Liao, Petri, Moffat, Wirth, "Effective Construction of Relative
//! Lempel-Ziv Dictionaries", WWW 2016), tried on others, and kept only if it pays. A file has one at most and keeps it: page headers say
//! whether it was used, so what was compressed before it came stays readable.

use std::fmt;
use zstd::zstd_safe::{CCtx, CDict, DCtx, DDict};

/// The number that a page compressed with a dictionary has in its header: a file has no second one.
pub(super) const NUMBER: u16 = 1;
/// Most bytes of one. Of 4, 16 and 64 KiB, 16 gave nearly all that the largest did (`docs/decisions/0016`).
pub(super) const BYTES_MAX: usize = 16 << 10;
/// Samples that are needed: half of them to train with, half to see whether it pays.
pub(super) const SAMPLES_MIN: usize = 16;

/// One that can be used.
pub struct Dictionary {
    bytes: Vec<u8>,
    for_compression: CDict<'static>,
    for_decompression: DDict<'static>,
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dictionary of {} bytes", self.bytes.len())
    }
}

impl Dictionary {
    /// Makes bytes ready, for compression at a level of MySQL's scale; `None` if there is no memory for it.
    pub(super) fn new(bytes: Vec<u8>, level: u8) -> Option<Dictionary> {
        let level = match level {
            0..=6 => 1,
            7 => 3,
            8 => 5,
            _ => 6,
        };
        Some(Dictionary {
            for_compression: CDict::try_create(&bytes, level)?,
            for_decompression: DDict::try_create(&bytes)?,
            bytes,
        })
    }

    /// What is kept in the file.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Compresses; gives the length, or nothing where `to` is too small.
    pub(super) fn compress(
        &self,
        by: &mut CCtx<'static>,
        from: &[u8],
        to: &mut [u8],
    ) -> Option<usize> {
        by.compress_using_cdict(to, from, &self.for_compression)
            .ok()
    }

    /// Decompresses; gives the length, or nothing where the bytes make no sense.
    pub(super) fn decompress(
        &self,
        by: &mut DCtx<'static>,
        from: &[u8],
        to: &mut [u8],
    ) -> Option<usize> {
        by.decompress_using_ddict(to, from, &self.for_decompression)
            .ok()
    }

    /// Trains one from pages as they are compressed, if it `pays` for the pages it was not trained from: what they compress into with it, and
    /// without. `alone` says what such a page compresses into by itself.
    pub(super) fn train(
        samples: &[Vec<u8>],
        level: u8,
        mut alone: impl FnMut(&[u8]) -> Option<usize>,
        pays: impl Fn(usize, usize) -> bool,
    ) -> Option<Dictionary> {
        if samples.len() < SAMPLES_MIN {
            return None;
        }
        let of_turn = |turn: usize| samples.iter().skip(turn).step_by(2);
        let to_learn: Vec<&[u8]> = of_turn(0).map(Vec::as_slice).collect();
        // The trainer wants much more to learn from than it is to make.
        let all: usize = to_learn.iter().map(|s| s.len()).sum();
        let bytes = zstd::dict::from_samples(&to_learn, BYTES_MAX.min(all / 8)).ok()?;
        let made = Dictionary::new(bytes, level)?;
        let mut by = CCtx::try_create()?;
        let mut to = vec![0; super::columns::MOST + 1024];
        let (mut with, mut without) = (0, 0);
        for s in of_turn(1) {
            with += made.compress(&mut by, s, &mut to)?;
            without += alone(s)?;
        }
        pays(with, without).then_some(made)
    }
}
